/*
 * diametric.h
 *	  Tests exactly whether a point lies inside the smallest sphere around a segment; for CPU and
 *	  GPU.
 *
 *	  diametric(a, b, p): 1 if p lies inside the sphere with diameter ab, 0 if on it,
 *		  -1 if outside. From inside, the segment subtends more than a right angle, so the
 *		  result is the sign of -(a - p) . (b - p). If a = b, the sphere has no interior.
 *
 * The cascade is that of orient.h, with the same switches and counters:
 *
 *	  1. plain doubles with a semi-static error bound	RB_FILTER_SIGNS
 *		 and the ends of the segment, which lie on the sphere
 *	  2. 128-bit integers, where a common unit exists	RB_EXACT_INTEGER
 *	  3. interval arithmetic in double					RB_FILTER_INTERVAL
 *	  4. GMP, on the host
 */
#ifndef RB_EXACT_DIAMETRIC_H
#define RB_EXACT_DIAMETRIC_H

#include "core/exact/orient.h"
#include "core/exact/wide_integer.h"

/*
 * The semi-static bound is derived as in orient.h: a product is rounded at most 5 times on its
 * way into the sum (2 differences, the product, 2 sums). 6 e covers that and the rounding of the
 * bound. No underflowed value is multiplied later, so the floor outweighs underflow.
 */
#define RB_DIAMETRIC_BOUND (6 * 0x1p-53)

/* Performs step 1. Returns -1, 0, 1 or RB_UNSURE. */
RB_HOST_DEVICE int
rb_diametric_filter(const double *a, const double *b, const double *p)
{
	double x = (a[0] - p[0]) * (b[0] - p[0]);
	double y = (a[1] - p[1]) * (b[1] - p[1]);
	double z = (a[2] - p[2]) * (b[2] - p[2]);
	double dot = x + y + z;
	double bound = RB_DIAMETRIC_BOUND * (fabs(x) + fabs(y) + fabs(z) + RB_BOUND_FLOOR);

	if (dot > bound)
		return -1;
	if (-dot > bound)
		return 1;
	return rb_equal3(a, p) || rb_equal3(b, p) ? 0 : RB_UNSURE;
}

/*
 * Performs step 2: differences are below 2^60 in a common unit, and the sum is below 3 * 2^120 <
 * 2^122.
 */
RB_HOST_DEVICE int
rb_diametric_integer(const double *a, const double *b, const double *p)
{
	const double *ends[2];
	int64_t n[2][3];
	rb_int128 dot;

	ends[0] = a;
	ends[1] = b;
	if (!rb_wide_differences(2, ends, p, n))
		return RB_UNSURE;
	dot = (rb_int128) n[0][0] * n[1][0] + (rb_int128) n[0][1] * n[1][1] +
		  (rb_int128) n[0][2] * n[1][2];
	return (dot < 0) - (dot > 0);
}

RB_HOST_DEVICE int
rb_diametric_interval(const double *a, const double *b, const double *p)
{
	rb_interval u[3], v[3];
	int sign, i;

	for (i = 0; i < 3; i++)
	{
		u[i] = rb_interval_difference(a[i], p[i]);
		v[i] = rb_interval_difference(b[i], p[i]);
	}
	sign = rb_interval_sign(rb_interval_dot3(u, v));
	return sign == RB_UNSURE ? sign : -sign;
}

/* Performs steps 2 to 4; out of line, because they are large and rarely needed. */
RB_HOST_DEVICE_CALL int
rb_diametric_hard(rb_exact_env *env, const double *a, const double *b, const double *p)
{
	int sign;

	if (RB_WANTS_EXACT(env) && (env->filters & RB_EXACT_INTEGER) != 0)
	{
		sign = rb_diametric_integer(a, b, p);
		if (sign != RB_UNSURE)
		{
			env->integer++;
			return sign;
		}
	}
	if ((env->filters & RB_FILTER_INTERVAL) != 0)
	{
		sign = rb_diametric_interval(a, b, p);
		if (sign != RB_UNSURE)
			return sign;
	}
	if (!RB_WANTS_EXACT(env))
		return RB_UNSURE;
#if !defined(__CUDA_ARCH__) && !defined(RB_NO_GMP)
	env->gmp++;
	return rb_gmp_diametric(a, b, p);
#else
	return RB_UNSURE;
#endif
}

/*
 * Returns -1, 0 or 1. Returns RB_UNSURE if the filters do not decide and env->exact is false or, on
 * the device, if only GMP could decide.
 */
RB_HOST_DEVICE int
rb_diametric_at(rb_exact_env *env, const double *a, const double *b, const double *p)
{
	if ((env->filters & RB_FILTER_SIGNS) != 0)
	{
		int sign = rb_diametric_filter(a, b, p);

		if (sign != RB_UNSURE)
			return sign;
	}
	return rb_diametric_hard(env, a, b, p);
}

#endif /* RB_EXACT_DIAMETRIC_H */
