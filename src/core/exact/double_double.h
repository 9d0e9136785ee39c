/*
 * double_double.h
 *	  Implements double-double arithmetic (unevaluated sums of two doubles, 106 bits) with proved
 *	  error bounds.
 *
 * high is the value rounded to nearest. With e = 2^-106 and the exact result x of an operation, the
 * error of the computed result is at most
 *
 *		difference of two doubles		0
 *		sum, difference					4 e |x|
 *		product							8 e |x|
 *		quotient						24 e |x|
 *		square root						4 e |x|
 *
 * if nothing overflows, plus 2^-1070 if something underflows. The bounds follow M. Joldes, J.-M.
 * Muller, V. Popescu: Tight and rigorous error bounds for basic building blocks of double-word
 * arithmetic, 2017 (AccurateDWPlusDW 3 e, DWTimesDW1 5 e; DWDivDW2 15 e, where the product used
 * here is slightly less accurate). The root follows V. Lefevre, N. Louvet, J.-M. Muller, J. Picot,
 * L. Rideau: Accurate calculation of Euclidean norms using double-word arithmetic, 2023 (25/8 e).
 */
#ifndef RB_EXACT_DOUBLE_DOUBLE_H
#define RB_EXACT_DOUBLE_DOUBLE_H

#include "core/exact/expansion.h"

typedef struct rb_double_double
{
	double high;
	double low;
} rb_double_double;

#define RB_EPS_DOUBLE_DOUBLE 0x1p-106

/* Returns x, exactly. */
RB_HOST_DEVICE rb_double_double
rb_double_double_of(double x)
{
	rb_double_double r;

	r.high = x;
	r.low = 0;
	return r;
}

/* Returns x - y of two doubles, exactly. */
RB_HOST_DEVICE rb_double_double
rb_double_double_difference(double x, double y)
{
	rb_double_double r;

	rb_two_sum(x, -y, &r.high, &r.low);
	return r;
}

/* Returns -x, exactly. */
RB_HOST_DEVICE rb_double_double
rb_double_double_minus(rb_double_double x)
{
	x.high = -x.high;
	x.low = -x.low;
	return x;
}

/* Returns x + y, with the error bound of the header. */
RB_HOST_DEVICE rb_double_double
rb_double_double_add(rb_double_double x, rb_double_double y)
{
	rb_double_double r;
	double s, e, t, f;

	rb_two_sum(x.high, y.high, &s, &e);
	rb_two_sum(x.low, y.low, &t, &f);
	rb_two_sum_ordered(s, e + t, &s, &e);
	rb_two_sum_ordered(s, e + f, &r.high, &r.low);
	return r;
}

/* Returns x - y. */
RB_HOST_DEVICE rb_double_double
rb_double_double_sub(rb_double_double x, rb_double_double y)
{
	return rb_double_double_add(x, rb_double_double_minus(y));
}

/* Returns x y. */
RB_HOST_DEVICE rb_double_double
rb_double_double_mul(rb_double_double x, rb_double_double y)
{
	rb_double_double r;
	double p, e;

	rb_two_product(x.high, y.high, &p, &e);
	rb_two_sum_ordered(p, e + (x.high * y.low + x.low * y.high), &r.high, &r.low);
	return r;
}

/* Returns x / y. */
RB_HOST_DEVICE rb_double_double
rb_double_double_div(rb_double_double x, rb_double_double y)
{
	double q = x.high / y.high;
	rb_double_double back = rb_double_double_mul(y, rb_double_double_of(q));
	rb_double_double r;

	rb_two_sum_ordered(q, ((x.high - back.high) + (x.low - back.low)) / y.high, &r.high, &r.low);
	return r;
}

/* Returns the square root of x > 0. */
RB_HOST_DEVICE rb_double_double
rb_double_double_sqrt(rb_double_double x)
{
	double s = sqrt(x.high);
	rb_double_double r;
	double p, e;

	rb_two_product(s, s, &p, &e);
	rb_two_sum_ordered(s, (((x.high - p) - e) + x.low) / (2 * s), &r.high, &r.low);
	return r;
}

/* ---- vectors in space ---- */

/* Returns the scalar product of two vectors. */
RB_HOST_DEVICE rb_double_double
rb_double_double_dot(const rb_double_double *u, const rb_double_double *v)
{
	return rb_double_double_add(
		rb_double_double_add(rb_double_double_mul(u[0], v[0]), rb_double_double_mul(u[1], v[1])),
		rb_double_double_mul(u[2], v[2]));
}

/* Computes the cross product of two vectors. */
RB_HOST_DEVICE void
rb_double_double_cross(const rb_double_double *u, const rb_double_double *v, rb_double_double *n)
{
	for (int i = 0; i < 3; i++)
	{
		int j = (i + 1) % 3, k = (i + 2) % 3;

		n[i] = rb_double_double_sub(rb_double_double_mul(u[j], v[k]),
									rb_double_double_mul(u[k], v[j]));
	}
}

#endif /* RB_EXACT_DOUBLE_DOUBLE_H */
