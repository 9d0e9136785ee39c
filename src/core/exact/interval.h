/*
 * interval.h
 *	  Implements interval arithmetic in double, rounded outward.
 *
 * An interval [lo, hi] always contains the real number that the computation represents. If an
 * interval lies on one side of zero, its sign is therefore correct regardless of rounding.
 *
 * On the device each instruction selects its rounding mode. On the host the rounding mode is never
 * changed: an operation is rounded to nearest, and the result is then moved outward. With u half an
 * ulp of 1 (2^-53), the rounded result r of an exact x satisfies |x - r| <= u ufp(r), where ufp(r)
 * is the largest power of two not above |r|. The step 2u|r|, itself rounded, is at least 2u ufp(r),
 * a whole ulp of r (by monotonicity: that bound is a floating-point number wherever r is normal),
 * hence r - 2u|r| is rounded to x or below. Denormal results remain:
 *
 * - a sum or difference is exact (both operands are multiples of the smallest denormal), and the
 *   step 2u|r| vanishes or is harmless;
 * - a product is off by at most half of the smallest denormal, so a product is also moved by that
 *   number, unless a factor is [0, 0] and the product exact.
 *
 * The method follows S. M. Rump, P. Zimmermann, S. Boldo, G. Melquiond: Computing predecessor and
 * successor in rounding to nearest, BIT 2009. The steps used here are sometimes an ulp longer, but
 * keep [0, 0] for exact zeros.
 *
 * An operation that overflows or has an infinite operand returns infinite bounds; no function of
 * this file returns a NaN.
 */
#ifndef RB_EXACT_INTERVAL_H
#define RB_EXACT_INTERVAL_H

#include "core/base/host_device.h"

#if !defined(__CUDACC__) && defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "float and double must be evaluated in their own precision (-mfpmath=sse)"
#endif

typedef struct rb_interval
{
	double lo;
	double hi;
} rb_interval;

#define RB_INFINITY ((double) INFINITY)

/* ---- replacement of NaN, which bounds nothing, by an infinite bound ---- */

/* Returns x, or -infinity if x is NaN. */
RB_HOST_DEVICE double
rb_lower(double x)
{
	return x > -RB_INFINITY ? x : -RB_INFINITY;
}

/* Returns x, or infinity if x is NaN. */
RB_HOST_DEVICE double
rb_upper(double x)
{
	return x < RB_INFINITY ? x : RB_INFINITY;
}

/* ---- directed sums, differences and products of numbers ---- */

/* The _lo functions return a lower bound on the exact result, the _hi functions an upper bound. */
/* clang-format off */
#ifdef __CUDA_ARCH__

RB_HOST_DEVICE double rb_add_lo(double x, double y) { return rb_lower(__dadd_rd(x, y)); }
RB_HOST_DEVICE double rb_add_hi(double x, double y) { return rb_upper(__dadd_ru(x, y)); }
RB_HOST_DEVICE double rb_sub_lo(double x, double y) { return rb_lower(__dsub_rd(x, y)); }
RB_HOST_DEVICE double rb_sub_hi(double x, double y) { return rb_upper(__dsub_ru(x, y)); }

#else

#define RB_STEP		DBL_EPSILON	/* 2u */

/* Returns a lower bound on the exact result of an operation that was rounded to r. */
RB_HOST_DEVICE double rb_down(double r) { return rb_lower(r - RB_STEP * fabs(r)); }
/* Returns an upper bound on the exact result of an operation that was rounded to r. */
RB_HOST_DEVICE double rb_up(double r) { return rb_upper(r + RB_STEP * fabs(r)); }

RB_HOST_DEVICE double rb_add_lo(double x, double y) { return rb_down(x + y); }
RB_HOST_DEVICE double rb_add_hi(double x, double y) { return rb_up(x + y); }
RB_HOST_DEVICE double rb_sub_lo(double x, double y) { return rb_down(x - y); }
RB_HOST_DEVICE double rb_sub_hi(double x, double y) { return rb_up(x - y); }

#endif

/* Returns the smaller of two numbers, neither of which is NaN. */
RB_HOST_DEVICE double rb_min(double x, double y) { return x < y ? x : y; }
/* Returns the larger of two numbers, neither of which is NaN. */
RB_HOST_DEVICE double rb_max(double x, double y) { return x > y ? x : y; }
/* clang-format on */

/* ---- intervals ---- */

/* Returns the interval that contains just x. */
RB_HOST_DEVICE rb_interval
rb_interval_of(double x)
{
	rb_interval r;

	r.lo = rb_lower(x);
	r.hi = rb_upper(x);
	return r;
}

/* Returns the interval of all numbers. */
RB_HOST_DEVICE rb_interval
rb_interval_line(void)
{
	rb_interval r;

	r.lo = -RB_INFINITY;
	r.hi = RB_INFINITY;
	return r;
}

/* Returns an interval that contains all sums. */
RB_HOST_DEVICE rb_interval
rb_interval_add(rb_interval a, rb_interval b)
{
	rb_interval r;

	r.lo = rb_add_lo(a.lo, b.lo);
	r.hi = rb_add_hi(a.hi, b.hi);
	return r;
}

/* Returns an interval that contains all differences. */
RB_HOST_DEVICE rb_interval
rb_interval_sub(rb_interval a, rb_interval b)
{
	rb_interval r;

	r.lo = rb_sub_lo(a.lo, b.hi);
	r.hi = rb_sub_hi(a.hi, b.lo);
	return r;
}

/* Returns an interval that contains all products. */
RB_HOST_DEVICE rb_interval
rb_interval_mul(rb_interval a, rb_interval b)
{
	rb_interval r;

	/* 0 times infinity is undefined; with finite bounds no product is NaN. */
	if (!(a.lo >= -DBL_MAX && a.hi <= DBL_MAX && b.lo >= -DBL_MAX && b.hi <= DBL_MAX))
		return rb_interval_line();

#ifdef __CUDA_ARCH__
	r.lo = rb_min(rb_min(__dmul_rd(a.lo, b.lo), __dmul_rd(a.lo, b.hi)),
				  rb_min(__dmul_rd(a.hi, b.lo), __dmul_rd(a.hi, b.hi)));
	r.hi = rb_max(rb_max(__dmul_ru(a.lo, b.lo), __dmul_ru(a.lo, b.hi)),
				  rb_max(__dmul_ru(a.hi, b.lo), __dmul_ru(a.hi, b.hi)));
#else
	{
		double p = a.lo * b.lo;
		double q = a.lo * b.hi;
		double s = a.hi * b.lo;
		double t = a.hi * b.hi;
		double lo = rb_min(rb_min(p, q), rb_min(s, t));
		double hi = rb_max(rb_max(p, q), rb_max(s, t));
		bool zero = (a.lo == 0 && a.hi == 0) || (b.lo == 0 && b.hi == 0);
		double eta = zero ? 0 : 0x1p-1074;

		r.lo = rb_lower(lo - (RB_STEP * fabs(lo) + eta));
		r.hi = rb_upper(hi + (RB_STEP * fabs(hi) + eta));
	}
#endif
	return r;
}

/*
 * Returns x - y of two doubles, as a single point where the rounded difference is exact (shared
 * coordinates, lattices).
 */
RB_HOST_DEVICE rb_interval
rb_interval_difference(double x, double y)
{
	rb_interval r;

#ifdef __CUDA_ARCH__
	r.lo = rb_sub_lo(x, y);
	r.hi = rb_sub_hi(x, y);
#else
	double d = x - y;
	double v = x - d;
	double rest = (x - (d + v)) + (v - y); /* Knuth's error term of d; NaN after an overflow */

	r.lo = rest >= 0 ? d : rb_down(d);
	r.hi = rest <= 0 ? d : rb_up(d);
#endif
	return r;
}

/* Returns 1, -1, 0 for exactly [0, 0], or RB_UNSURE. */
RB_HOST_DEVICE int
rb_interval_sign(rb_interval a)
{
	if (a.lo > 0)
		return 1;
	if (a.hi < 0)
		return -1;
	return a.lo == 0 && a.hi == 0 ? 0 : RB_UNSURE;
}

/* ---- determinants of differences ---- */

/* Returns a d - b c. */
RB_HOST_DEVICE rb_interval
rb_interval_det2(rb_interval a, rb_interval b, rb_interval c, rb_interval d)
{
	return rb_interval_sub(rb_interval_mul(a, d), rb_interval_mul(b, c));
}

/* Returns the scalar product of two vectors. */
RB_HOST_DEVICE rb_interval
rb_interval_dot3(const rb_interval *u, const rb_interval *v)
{
	return rb_interval_add(
		rb_interval_add(rb_interval_mul(u[0], v[0]), rb_interval_mul(u[1], v[1])),
		rb_interval_mul(u[2], v[2]));
}

/* Returns the sign of (b-a) x (c-a) . (d-a), or RB_UNSURE. */
RB_HOST_DEVICE int
rb_orient3d_interval(const double *a, const double *b, const double *c, const double *d)
{
	rb_interval u[3], v[3], w[3], det;
	int i;

	for (i = 0; i < 3; i++)
	{
		u[i] = rb_interval_difference(b[i], a[i]);
		v[i] = rb_interval_difference(c[i], a[i]);
		w[i] = rb_interval_difference(d[i], a[i]);
	}
	det = rb_interval_mul(rb_interval_det2(u[1], u[2], v[1], v[2]), w[0]);
	det = rb_interval_add(det, rb_interval_mul(rb_interval_det2(u[2], u[0], v[2], v[0]), w[1]));
	det = rb_interval_add(det, rb_interval_mul(rb_interval_det2(u[0], u[1], v[0], v[1]), w[2]));
	return rb_interval_sign(det);
}

/* Returns the sign of (b-a) x (c-a), or RB_UNSURE. */
RB_HOST_DEVICE int
rb_orient2d_interval(double ax, double ay, double bx, double by, double cx, double cy)
{
	return rb_interval_sign(
		rb_interval_det2(rb_interval_difference(bx, ax), rb_interval_difference(by, ay),
						 rb_interval_difference(cx, ax), rb_interval_difference(cy, ay)));
}

#endif /* RB_EXACT_INTERVAL_H */
