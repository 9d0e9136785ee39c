/*
 * bounded.h
 *	  Implements double-double arithmetic in which each number has a bound on its error.
 *
 * Bounds are computed in double arithmetic. A bound from fewer than 2^40 operations must be
 * multiplied by 1.01 to cover their rounding. A result that may be undefined, or that overflows,
 * has an infinite bound or one that is not a number; no comparison with it holds.
 */
#ifndef RB_EXACT_BOUNDED_H
#define RB_EXACT_BOUNDED_H

#include "core/exact/double_double.h"

#include <math.h>

typedef struct rb_bounded
{
	rb_double_double x;
	double error;
} rb_bounded;

/* Bound on what underflows in one operation */
#define RB_BOUNDED_TINY 0x1p-1060

/* Bound on what underflows in a computation with operands below 2^150, for other arithmetic */
#define RB_BOUNDED_UNDERFLOW 0x1p-600

/* Returns x, exactly. */
static inline rb_bounded
rb_bounded_of(double x)
{
	return (rb_bounded){{x, 0}, 0};
}

/* Returns a - b, exactly. */
static inline rb_bounded
rb_bounded_difference(double a, double b)
{
	return (rb_bounded){rb_double_double_difference(a, b), 0};
}

/* Returns a + b. */
static inline rb_bounded
rb_bounded_add(rb_bounded a, rb_bounded b)
{
	const rb_double_double x = rb_double_double_add(a.x, b.x);

	return (rb_bounded){x, a.error + b.error + 4 * RB_EPS_DOUBLE_DOUBLE * fabs(x.high) +
							   RB_BOUNDED_TINY};
}

/* Returns -a, exactly. */
static inline rb_bounded
rb_bounded_minus(rb_bounded a)
{
	return (rb_bounded){rb_double_double_minus(a.x), a.error};
}

/* Returns a - b. */
static inline rb_bounded
rb_bounded_sub(rb_bounded a, rb_bounded b)
{
	return rb_bounded_add(a, rb_bounded_minus(b));
}

/* Returns a b. */
static inline rb_bounded
rb_bounded_mul(rb_bounded a, rb_bounded b)
{
	const rb_double_double x = rb_double_double_mul(a.x, b.x);
	const double error = fabs(a.x.high) * b.error + fabs(b.x.high) * a.error + a.error * b.error;

	return (rb_bounded){x,
						1.01 * error + 8 * RB_EPS_DOUBLE_DOUBLE * fabs(x.high) + RB_BOUNDED_TINY};
}

/* Returns a / b; the bound is infinite if b may be 0. */
static inline rb_bounded
rb_bounded_div(rb_bounded a, rb_bounded b)
{
	const double least = fabs(b.x.high) - 2 * b.error;
	rb_bounded r = {{0, 0}, HUGE_VAL};

	if (!(least > 0))
		return r;
	r.x = rb_double_double_div(a.x, b.x);
	r.error = (a.error + fabs(r.x.high) * b.error + RB_BOUNDED_TINY) / least * 1.01 +
			  24 * RB_EPS_DOUBLE_DOUBLE * fabs(r.x.high) + RB_BOUNDED_TINY;
	return r;
}

/* Returns the root of a; the bound is infinite if a may be 0. */
static inline rb_bounded
rb_bounded_root(rb_bounded a)
{
	rb_bounded r = {{0, 0}, HUGE_VAL};

	if (!(a.x.high > 2 * a.error && a.x.high > 0x1p-900))
		return r;
	r.x = rb_double_double_sqrt(a.x);
	r.error = a.error / r.x.high * 1.01 + 4 * RB_EPS_DOUBLE_DOUBLE * r.x.high;
	return r;
}

/* Returns the sign of a number, or 0 if it is not decided; `underflow` bounds what was lost. */
static inline int
rb_bounded_sign(rb_bounded a, double underflow)
{
	const double error = 1.02 * a.error + underflow;

	return a.x.high > error ? 1 : a.x.high < -error ? -1 : 0;
}

/* ---- vectors in space ---- */

/* Sets r to the vector from b to a. */
static inline void
rb_bounded_vector(rb_bounded *r, const double *a, const double *b)
{
	for (int i = 0; i < 3; i++)
		r[i] = rb_bounded_difference(a[i], b[i]);
}

/* Returns the scalar product of two vectors in space. */
static inline rb_bounded
rb_bounded_dot(const rb_bounded *u, const rb_bounded *v)
{
	return rb_bounded_add(rb_bounded_add(rb_bounded_mul(u[0], v[0]), rb_bounded_mul(u[1], v[1])),
						  rb_bounded_mul(u[2], v[2]));
}

/* Computes the cross product of two vectors in space. */
static inline void
rb_bounded_cross(const rb_bounded *u, const rb_bounded *v, rb_bounded *n)
{
	for (int i = 0; i < 3; i++)
	{
		const int j = (i + 1) % 3, k = (i + 2) % 3;

		n[i] = rb_bounded_sub(rb_bounded_mul(u[j], v[k]), rb_bounded_mul(u[k], v[j]));
	}
}

#endif /* RB_EXACT_BOUNDED_H */
