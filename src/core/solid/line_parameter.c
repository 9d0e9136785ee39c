/*
 * line_parameter.c
 *	  Computes locations on a segment, their order, their nearest doubles, and the lengths between
 *	  them.
 *
 * A location on ab is a + t (b - a), where t is a ratio of determinants:
 *
 *		n . (c - a) / n . (b - a)					plane with normal n through a point c
 *		(c - a) x (d - c) / (b - a) x (d - c)		edge cd, projected along one axis
 *		(c - a) / (b - a)							vertex, on one axis
 *
 * The ratio is first computed in double-double arithmetic (double_double.h). With e = 2^-106, the
 * terms of a determinant have a relative error of up to 8 e for each product and 4 e for each sum
 * that contributes to them, 30 e in total. So the error of the determinant is at most 2^-100 times
 * the sum of the magnitudes of its terms. This is twice the required bound, which also covers the
 * rounding errors of that sum. The bound holds while no difference is so small or so large that an
 * operation could underflow or overflow. With numerator N, denominator D, 0 <= t <= 1, and errors
 * that are small relative to D, the error of t is less than 2 (error of N + error of D) / D +
 * 2^-100. If this leaves two candidates for the nearest double, exact arithmetic decides.
 */
#include "core/solid/solid.h"
#include "core/exact/double_double.h"
#include "core/primitive/segment.h"

/* ---- exact arithmetic ---- */

void
rb_location_ratio(const rb_location *p, rb_number *numerator, rb_number *denominator)
{
	const double *a = p->segment, *b = p->segment + 3, *t = p->triangle;
	const double *c = t + 3 * p->corner, *d = t + 3 * ((p->corner + 1) % 3);
	int u = (p->axis + 1) % 3, v = (p->axis + 2) % 3;
	rb_number x, y, term;

	switch ((rb_location_kind) p->of)
	{
		case RB_PLACE_START:
		case RB_PLACE_END:
			rb_number_of(numerator, p->of == RB_PLACE_END);
			rb_number_of(denominator, 1);
			return;
		case RB_PLACE_PLANE:
			rb_number_of(numerator, 0);
			rb_number_of(denominator, 0);
			for (int axis = 0; axis < 3; axis++)
			{
				double q[6];

				rb_project(t, 3, axis, q);
				rb_number_orient2d(&x, q, q + 2, q + 4);
				rb_number_difference(&y, t[axis], a[axis]);
				rb_number_mul(&term, &x, &y);
				rb_number_add(numerator, numerator, &term);
				rb_number_difference(&y, b[axis], a[axis]);
				rb_number_mul(&term, &x, &y);
				rb_number_add(denominator, denominator, &term);
			}
			break;
		case RB_PLACE_EDGE:
		{
			rb_number cd[2], ca[2], ba[2];

			for (int i = 0; i < 2; i++)
			{
				int axis = i == 0 ? u : v;

				rb_number_difference(&cd[i], d[axis], c[axis]);
				rb_number_difference(&ca[i], c[axis], a[axis]);
				rb_number_difference(&ba[i], b[axis], a[axis]);
			}
			rb_number_det2(numerator, &ca[0], &ca[1], &cd[0], &cd[1]);
			rb_number_det2(denominator, &ba[0], &ba[1], &cd[0], &cd[1]);
			break;
		}
		default:
			rb_number_difference(numerator, c[p->axis], a[p->axis]);
			rb_number_difference(denominator, b[p->axis], a[p->axis]);
			break;
	}
	numerator->sign *= denominator->sign;
	denominator->sign *= denominator->sign;
}

/* ---- approximate arithmetic ---- */

#define DET_ERROR 0x1p-100

/* A determinant, and the sum of the magnitudes of its terms */
typedef struct near
{
	rb_double_double value;
	double size;
} near;

/* Computes q - p. Returns false if later operations on the result could underflow or overflow. */
static bool
subtract_points(rb_double_double *r, const double *p, const double *q, int n)
{
	bool good = true;

	for (int i = 0; i < n; i++)
	{
		double size;

		r[i] = rb_double_double_difference(q[i], p[i]);
		size = fabs(r[i].high);
		good &= (size >= 0x1p-150 && size <= 0x1p150) || size == 0;
	}
	return good;
}

static near
near_det2(rb_double_double p, rb_double_double q, rb_double_double t, rb_double_double s)
{
	near r;

	r.value = rb_double_double_sub(rb_double_double_mul(p, s), rb_double_double_mul(q, t));
	r.size = fabs(p.high * s.high) + fabs(q.high * t.high);
	return r;
}

static near
near_dot(const near *n, const rb_double_double *w)
{
	near r = {{0, 0}, 0};

	for (int i = 0; i < 3; i++)
	{
		r.value = rb_double_double_add(r.value, rb_double_double_mul(n[i].value, w[i]));
		r.size += n[i].size * fabs(w[i].high);
	}
	return r;
}

static bool
find_nearly(rb_location *p)
{
	const double *a = p->segment, *t = p->triangle;
	const double *c = t + 3 * p->corner, *d = t + 3 * ((p->corner + 1) % 3);
	int i = (p->axis + 1) % 3, j = (p->axis + 2) % 3;
	rb_double_double ba[3], ca[3], u[3], v[3], ratio;
	near numerator, denominator, n[3];
	double error, slack;
	bool good = subtract_points(ba, a, a + 3, 3) && subtract_points(ca, a, c, 3);

	switch ((rb_location_kind) p->of)
	{
		case RB_PLACE_PLANE:
			good = good && subtract_points(u, t, t + 3, 3) && subtract_points(v, t, t + 6, 3);
			if (!good)
				return false;
			for (int k = 0; k < 3; k++)
			{
				int x = (k + 1) % 3, y = (k + 2) % 3;

				n[k] = near_det2(u[x], u[y], v[x], v[y]);
			}
			numerator = near_dot(n, ca);
			denominator = near_dot(n, ba);
			break;
		case RB_PLACE_EDGE:
			if (!good || !subtract_points(u, c, d, 3))
				return false;
			numerator = near_det2(ca[i], ca[j], u[i], u[j]);
			denominator = near_det2(ba[i], ba[j], u[i], u[j]);
			break;
		default:
			if (!good)
				return false;
			numerator = (near){ca[p->axis], 0};
			denominator = (near){ba[p->axis], 0};
			break;
	}
	error = DET_ERROR * (numerator.size + denominator.size);
	if (!(error <= 0x1p-10 * fabs(denominator.value.high)))
		return false;
	ratio = rb_double_double_div(numerator.value, denominator.value);
	error = 2 * error / fabs(denominator.value.high) + 0x1p-100;
	slack = 2 * error + 0x1p-50 * fabs(ratio.low);
	p->t = ratio.high;
	p->low = ratio.low;
	p->error = error;
	return ratio.high + (ratio.low + slack) == ratio.high &&
		   ratio.high + (ratio.low - slack) == ratio.high;
}

/* ---- locations ---- */

void
rb_location_find(rb_location *p)
{
	rb_number numerator, denominator, ratio;

	if (find_nearly(p))
		return;
	rb_location_ratio(p, &numerator, &denominator);
	rb_number_div(&ratio, &numerator, &denominator, 3);
	p->t = rb_number_round(&ratio);
	p->low = 0;
	p->error = INFINITY;
}

rb_location
rb_location_start(const double *segment)
{
	rb_location p = {.segment = segment, .t = 0, .of = RB_PLACE_START};

	return p;
}

rb_location
rb_location_end(const double *segment)
{
	rb_location p = {.segment = segment, .t = 1, .of = RB_PLACE_END};

	return p;
}

int
rb_location_compare(const rb_location *p, const rb_location *q)
{
	rb_number pn, pd, qn, qd, left, right;
	double apart;

	if (p->t != q->t)
		return p->t < q->t ? -1 : 1;
	apart = p->low - q->low;
	if (fabs(apart) > 2 * (p->error + q->error))
		return apart < 0 ? -1 : 1;
	if (p->of == q->of && p->triangle == q->triangle && p->corner == q->corner)
		return 0;
	rb_location_ratio(p, &pn, &pd);
	rb_location_ratio(q, &qn, &qd);
	rb_number_mul(&left, &pn, &qd);
	rb_number_mul(&right, &qn, &pd);
	return rb_number_compare(&left, &right);
}

/* ---- lengths ---- */

void
rb_segment_square(rb_number *square, const double *segment)
{
	rb_number d, term;

	square->sign = square->n = square->low = 0;
	for (int axis = 0; axis < 3; axis++)
	{
		rb_number_difference(&d, segment[3 + axis], segment[axis]);
		rb_number_mul(&term, &d, &d);
		rb_number_add(square, square, &term);
	}
}

void
rb_segment_length(rb_number *length, const double *segment, int words)
{
	rb_number square;

	rb_segment_square(&square, segment);
	rb_number_root(length, &square, words);
	rb_number_truncate(length, words);
}

void
rb_locations_length(rb_number *length, const rb_location *from, const rb_location *to, int words)
{
	rb_number fn, fd, tn, td, left, right, whole;

	rb_segment_length(&whole, from->segment, words);
	if (from->of == RB_PLACE_START && to->of == RB_PLACE_END)
	{
		rb_number_copy(length, &whole);
		return;
	}
	rb_location_ratio(from, &fn, &fd);
	rb_location_ratio(to, &tn, &td);
	rb_number_mul(&left, &tn, &fd);
	rb_number_mul(&right, &fn, &td);
	rb_number_sub(&left, &left, &right);
	rb_number_mul(&right, &fd, &td);
	rb_number_div(&fn, &left, &right, words);
	rb_number_truncate(&fn, words);
	rb_number_mul(length, &fn, &whole);
	rb_number_truncate(length, words);
}

double
rb_locations_distance(const rb_location *from, const rb_location *to)
{
	rb_double_double share = rb_double_double_sub((rb_double_double){to->t, to->low},
												  (rb_double_double){from->t, from->low});
	rb_double_double d[3];
	rb_number length;

	/*
	 * The remaining relative error of at most about 2^-60 is far below the half unit in the last
	 * place that rounding adds.
	 */
	if (from->error + to->error <= 0x1p-62 * share.high &&
		subtract_points(d, from->segment, from->segment + 3, 3))
		return rb_double_double_mul(share, rb_double_double_sqrt(rb_double_double_dot(d, d))).high;
	rb_locations_length(&length, from, to, RB_MEASURE_WORDS);
	return rb_number_round(&length);
}
