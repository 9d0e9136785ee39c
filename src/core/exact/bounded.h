/*
 * bounded.h
 *	  Implements double-double numbers with a bound on their error.
 *
 * Each operation adds a bound on its own rounding error (double_double.h) to the errors of its
 * operands. The bounds are doubles rounded to nearest: after fewer than 2^20 operations they are
 * accurate to a factor of 1.01. Sums and differences do not underflow. An underflow of a product or
 * quotient is at most RB_BOUNDED_UNDERFLOW if operands are below 2^150; it is not part of the error. If
 * something overflows, the error is infinite or not a number, and decides nothing.
 */
#ifndef RB_EXACT_BOUNDED_H
#define RB_EXACT_BOUNDED_H

#include "core/exact/double_double.h"

/* A quotient by less than this is not computed, so that what underflows in it remains tiny. */
#define RB_BOUNDED_LEAST_DIVISOR 0x1p-300
#define RB_BOUNDED_UNDERFLOW 0x1p-600

typedef struct rb_bounded
{
	rb_double_double x;
	double error;
} rb_bounded;

static inline rb_bounded
rb_bounded_of(double x)
{
	return (rb_bounded){{x, 0}, 0};
}

static inline rb_bounded
rb_bounded_minus(rb_bounded a)
{
	return (rb_bounded){rb_double_double_minus(a.x), a.error};
}

static inline rb_bounded
rb_bounded_add(rb_bounded a, rb_bounded b)
{
	const rb_double_double x = rb_double_double_add(a.x, b.x);

	return (rb_bounded){x, a.error + b.error + 4 * RB_EPS_DOUBLE_DOUBLE * fabs(x.high)};
}

static inline rb_bounded
rb_bounded_sub(rb_bounded a, rb_bounded b)
{
	return rb_bounded_add(a, rb_bounded_minus(b));
}

static inline rb_bounded
rb_bounded_mul(rb_bounded a, rb_bounded b)
{
	const rb_double_double x = rb_double_double_mul(a.x, b.x);

	return (rb_bounded){x, fabs(a.x.high) * b.error + fabs(b.x.high) * a.error + a.error * b.error +
							   8 * RB_EPS_DOUBLE_DOUBLE * fabs(x.high)};
}

/* Divides a by b; the error is infinite if b is too close to 0. */
static inline rb_bounded
rb_bounded_div(rb_bounded a, rb_bounded b)
{
	const double below = fabs(b.x.high);
	rb_double_double x;

	if (!(below > 4 * b.error && below >= RB_BOUNDED_LEAST_DIVISOR))
		return (rb_bounded){{0, 0}, HUGE_VAL};
	x = rb_double_double_div(a.x, b.x);
	return (rb_bounded){x, (a.error + fabs(x.high) * b.error) / (below - 2 * b.error) +
							   24 * RB_EPS_DOUBLE_DOUBLE * fabs(x.high)};
}

/* Returns the sign of a number, or 0 if it is not decided; `underflow` bounds what was lost. */
static inline int
rb_bounded_sign(rb_bounded a, double underflow)
{
	const double error = 1.02 * a.error + underflow;

	return a.x.high > error ? 1 : a.x.high < -error ? -1 : 0;
}

#endif /* RB_EXACT_BOUNDED_H */
