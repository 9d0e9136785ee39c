/*
 * orient.h
 *	  Tests exactly on which side of a line or plane a point lies, quickly in easy cases.
 *
 * Sign convention, here and everywhere in redblue:
 *
 *	  orient3d(a, b, c, d) = sign of (b-a) x (c-a) . (d-a)
 *						   = sign of the determinant with rows b-a, c-a, d-a:
 *		  1 if a, b, c are counterclockwise seen from d; 0 if the four are coplanar
 *	  orient2d(a, b, c) = sign of (b-a) x (c-a):
 *		  1 if a, b, c turn left; 0 if they are collinear
 *
 * The steps of the cascade, each of which handles the cases that the previous one could not decide:
 *
 *	  1. plain doubles with a semi-static error bound	RB_FILTER_SIGNS
 *		 and obvious zeros: equal points, an axis on which all agree
 *	  2. 192-bit integers, where a common unit exists	RB_EXACT_INTEGER
 *	  3. interval arithmetic in double					RB_FILTER_INTERVAL
 *	  4. expansion arithmetic, where exponents allow	RB_EXACT_EXPANSION
 *	  5. GMP, on the host
 *
 * Integers come before intervals because the input that reaches them is nearly always degenerate,
 * and intervals cannot exclude zero there. Any step can be switched off without changing the
 * result. Without env->exact only steps 1 and 3 are performed, and the result may be RB_UNSURE. On
 * the device step 5 returns RB_UNSURE.
 */
#ifndef RB_EXACT_ORIENT_H
#define RB_EXACT_ORIENT_H

#include "core/exact/expansion.h"
#include "core/exact/gmp_exact.h"
#include "core/base/host_device.h"
#include "core/exact/integer.h"
#include "core/exact/interval.h"
#include "core/base/redblue.h"

typedef struct rb_exact_env
{
	uint32_t filters;   /* enabled steps: RB_FILTER_..., RB_EXACT_... */
	bool exact;         /* if false, stop with RB_UNSURE after the filters */
	uint64_t integer;   /* number of exact signs by integers */
	uint64_t expansion; /* number of exact signs by expansions */
	uint64_t gmp;       /* number of exact signs and distances by GMP */
	double *room;       /* scratch memory of a device thread for expansions; unused on the host */
	double distance;    /* RB_WITHIN: the job's distance */
} rb_exact_env;

/* Adds the numbers of exact signs to statistics. */
static inline void
rb_stats_add_signs(rb_stats *stats, const rb_exact_env *env)
{
	stats->exact_integer += env->integer;
	stats->exact_expansion += env->expansion;
	stats->exact_gmp += env->gmp;
}

/*
 * Asks the host for a sign that the device cannot compute, in kernels that support it; e is NULL
 * for orient3d.
 */
#ifdef RB_DEVICE_ASKS
static __device__ int rb_device_asks(rb_exact_env *env, const double *a, const double *b,
									 const double *c, const double *d, const double *e);
#endif

/* Device kernels without a stack omit steps 2, 4 and 5. */
#ifdef RB_FILTERS_ONLY
#define RB_WANTS_EXACT(env) false
#else
#define RB_WANTS_EXACT(env) ((env)->exact)
#endif

/*
 * The semi-static bound. Write the determinant as a sum of terms, each a product of differences. On
 * its way into the computed sum a term of orient3d is rounded at most 8 times (3 differences, 1
 * product and 1 sum in the minor, 1 product, 2 sums), so with e = 2^-53
 *
 *	  |computed - exact| <= ((1 + e)^8 - 1) P,	P: sum of the terms' magnitudes,
 *
 * and P computed in the same order is too small by at most (1 - e)^8. 9 e instead of 8 e covers
 * that and the rounding of the bound. Likewise there are 4 roundings for orient2d, and 5 e.
 *
 * Underflow: a difference is always exact. A product is off by at most 2^-1075; products in the
 * minors are later multiplied by a difference. Adding RB_BOUND_FLOOR to the magnitude of each minor
 * and once to P outweighs all of this: 9 e 2^-960 > 2^-1010.
 *
 * Overflow: P is computed from the magnitudes of the numbers that form the determinant, so if one
 * of these is infinite or NaN, so is P, and no comparison with P is true.
 */
#define RB_ORIENT3D_BOUND (9 * 0x1p-53)
#define RB_ORIENT2D_BOUND (5 * 0x1p-53)
#define RB_BOUND_FLOOR 0x1p-960

/* Returns true if two points in space have equal coordinates. */
RB_HOST_DEVICE bool
rb_equal3(const double *a, const double *b)
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* Decides orient3d in doubles (step 1). Returns -1, 0, 1 or RB_UNSURE. */
RB_HOST_DEVICE int
rb_orient3d_filter(const double *a, const double *b, const double *c, const double *d)
{
	double ux = b[0] - a[0], uy = b[1] - a[1], uz = b[2] - a[2];
	double vx = c[0] - a[0], vy = c[1] - a[1], vz = c[2] - a[2];
	double wx = d[0] - a[0], wy = d[1] - a[1], wz = d[2] - a[2];
	double uyvz = uy * vz, uzvy = uz * vy, uzvx = uz * vx, uxvz = ux * vz, uxvy = ux * vy,
		   uyvx = uy * vx;
	double det = (uyvz - uzvy) * wx + (uzvx - uxvz) * wy + (uxvy - uyvx) * wz;
	double bound = RB_ORIENT3D_BOUND *
				   ((fabs(uyvz) + fabs(uzvy) + RB_BOUND_FLOOR) * fabs(wx) +
					(fabs(uzvx) + fabs(uxvz) + RB_BOUND_FLOOR) * fabs(wy) +
					(fabs(uxvy) + fabs(uyvx) + RB_BOUND_FLOOR) * fabs(wz) + RB_BOUND_FLOOR);

	if (det > bound)
		return 1;
	if (-det > bound)
		return -1;

	/* A difference is 0 only if the numbers are equal, so these zeros are exact. */
	if ((ux == 0 && vx == 0 && wx == 0) || (uy == 0 && vy == 0 && wy == 0) ||
		(uz == 0 && vz == 0 && wz == 0) || (ux == 0 && uy == 0 && uz == 0) ||
		(vx == 0 && vy == 0 && vz == 0) || (wx == 0 && wy == 0 && wz == 0) || rb_equal3(b, c) ||
		rb_equal3(b, d) || rb_equal3(c, d))
		return 0;
	return RB_UNSURE;
}

/* Decides orient2d in doubles (step 1). Returns -1, 0, 1 or RB_UNSURE. */
RB_HOST_DEVICE int
rb_orient2d_filter(double ax, double ay, double bx, double by, double cx, double cy)
{
	double ux = bx - ax, uy = by - ay;
	double vx = cx - ax, vy = cy - ay;
	double left = ux * vy, right = uy * vx;
	double det = left - right;
	double bound = RB_ORIENT2D_BOUND * (fabs(left) + fabs(right) + RB_BOUND_FLOOR);

	if (det > bound)
		return 1;
	if (-det > bound)
		return -1;
	if ((ux == 0 && vx == 0) || (uy == 0 && vy == 0) || (ux == 0 && uy == 0) ||
		(vx == 0 && vy == 0) || (bx == cx && by == cy))
		return 0;
	return RB_UNSURE;
}

/* Decides orient3d by steps 2 to 5; out of line, because these are large and rarely needed. */
RB_HOST_DEVICE_CALL int
rb_orient3d_hard(rb_exact_env *env, const double *a, const double *b, const double *c,
				 const double *d)
{
	int sign;

	if (RB_WANTS_EXACT(env) && (env->filters & RB_EXACT_INTEGER) != 0)
	{
		sign = rb_orient3d_integer(a, b, c, d);
		if (sign != RB_UNSURE)
		{
			env->integer++;
			return sign;
		}
	}
	if ((env->filters & RB_FILTER_INTERVAL) != 0)
	{
		sign = rb_orient3d_interval(a, b, c, d);
		if (sign != RB_UNSURE)
			return sign;
	}
	if (!RB_WANTS_EXACT(env))
		return RB_UNSURE;
	if ((env->filters & RB_EXACT_EXPANSION) != 0)
	{
#ifdef __CUDA_ARCH__
		sign = rb_orient3d_expansion(a, b, c, d, env->room);
#else
		double room[RB_EXPANSION_ROOM];

		sign = rb_orient3d_expansion(a, b, c, d, room);
#endif
		if (sign != RB_UNSURE)
		{
			env->expansion++;
			return sign;
		}
	}
#if !defined(__CUDA_ARCH__) && !defined(RB_NO_GMP)
	env->gmp++;
	return rb_gmp_orient3d(a, b, c, d);
#elif defined(RB_DEVICE_ASKS)
	return rb_device_asks(env, a, b, c, d, NULL);
#else
	return RB_UNSURE;
#endif
}

/* Decides orient2d by steps 2 to 5; out of line like rb_orient3d_hard. */
RB_HOST_DEVICE_CALL int
rb_orient2d_hard(rb_exact_env *env, double ax, double ay, double bx, double by, double cx,
				 double cy)
{
	int sign;

	if (RB_WANTS_EXACT(env) && (env->filters & RB_EXACT_INTEGER) != 0)
	{
		sign = rb_orient2d_integer(ax, ay, bx, by, cx, cy);
		if (sign != RB_UNSURE)
		{
			env->integer++;
			return sign;
		}
	}
	if ((env->filters & RB_FILTER_INTERVAL) != 0)
	{
		sign = rb_orient2d_interval(ax, ay, bx, by, cx, cy);
		if (sign != RB_UNSURE)
			return sign;
	}
	if (!RB_WANTS_EXACT(env))
		return RB_UNSURE;
	if ((env->filters & RB_EXACT_EXPANSION) != 0)
	{
#ifdef __CUDA_ARCH__
		sign = rb_orient2d_expansion(ax, ay, bx, by, cx, cy, env->room);
#else
		double room[RB_EXPANSION_ROOM];

		sign = rb_orient2d_expansion(ax, ay, bx, by, cx, cy, room);
#endif
		if (sign != RB_UNSURE)
		{
			env->expansion++;
			return sign;
		}
	}
#if !defined(__CUDA_ARCH__) && !defined(RB_NO_GMP)
	env->gmp++;
	return rb_gmp_orient2d(ax, ay, bx, by, cx, cy);
#else
	return RB_UNSURE;
#endif
}

/*
 * Returns the exact sign of orient3d. Returns RB_UNSURE if the filters do not decide and env->exact
 * is false or, on the device, if only GMP could decide.
 */
RB_HOST_DEVICE int
rb_orient3d_at(rb_exact_env *env, const double *a, const double *b, const double *c,
			   const double *d)
{
	if ((env->filters & RB_FILTER_SIGNS) != 0)
	{
		int sign = rb_orient3d_filter(a, b, c, d);

		if (sign != RB_UNSURE)
			return sign;
	}
	return rb_orient3d_hard(env, a, b, c, d);
}

/*
 * Returns the exact sign of orient2d. Returns RB_UNSURE only if env does not allow the last step.
 */
RB_HOST_DEVICE int
rb_orient2d_at(rb_exact_env *env, double ax, double ay, double bx, double by, double cx, double cy)
{
	if ((env->filters & RB_FILTER_SIGNS) != 0)
	{
		int sign = rb_orient2d_filter(ax, ay, bx, by, cx, cy);

		if (sign != RB_UNSURE)
			return sign;
	}
	return rb_orient2d_hard(env, ax, ay, bx, by, cx, cy);
}

#endif /* RB_EXACT_ORIENT_H */
