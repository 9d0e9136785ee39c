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

/*
 * Computes q - p in double-double for the approximate parameter of a location. Returns false if
 * later operations on the result could underflow or overflow.
 */
static bool
subtract_location_points(rb_double_double *r, const double *p, const double *q, int n)
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

/* Computes p * s - q * t and the size of its terms. */
static near
approximate_det2_of_location(rb_double_double p, rb_double_double q, rb_double_double t,
							 rb_double_double s)
{
	near r;

	r.value = rb_double_double_sub(rb_double_double_mul(p, s), rb_double_double_mul(q, t));
	r.size = fabs(p.high * s.high) + fabs(q.high * t.high);
	return r;
}

/*
 * Computes the dot product of n and w in double-double, and the size of its terms, for the
 * approximate parameter of a location.
 */
static near
approximate_dot(const near *n, const rb_double_double *w)
{
	near r = {{0, 0}, 0};

	for (int i = 0; i < 3; i++)
	{
		r.value = rb_double_double_add(r.value, rb_double_double_mul(n[i].value, w[i]));
		r.size += n[i].size * fabs(w[i].high);
	}
	return r;
}

/* Computes a location approximately with a bound on its error. */
static bool
find_location_nearly(rb_location *p)
{
	const double *a = p->segment, *t = p->triangle;
	const double *c = t + 3 * p->corner, *d = t + 3 * ((p->corner + 1) % 3);
	int i = (p->axis + 1) % 3, j = (p->axis + 2) % 3;
	rb_double_double ba[3], ca[3], u[3], v[3], ratio;
	near numerator, denominator, n[3];
	double error, slack;
	bool good = subtract_location_points(ba, a, a + 3, 3) && subtract_location_points(ca, a, c, 3);

	switch ((rb_location_kind) p->of)
	{
		case RB_PLACE_PLANE:
			good = good && subtract_location_points(u, t, t + 3, 3) &&
				   subtract_location_points(v, t, t + 6, 3);
			if (!good)
				return false;
			for (int k = 0; k < 3; k++)
			{
				int x = (k + 1) % 3, y = (k + 2) % 3;

				n[k] = approximate_det2_of_location(u[x], u[y], v[x], v[y]);
			}
			numerator = approximate_dot(n, ca);
			denominator = approximate_dot(n, ba);
			break;
		case RB_PLACE_EDGE:
			if (!good || !subtract_location_points(u, c, d, 3))
				return false;
			numerator = approximate_det2_of_location(ca[i], ca[j], u[i], u[j]);
			denominator = approximate_det2_of_location(ba[i], ba[j], u[i], u[j]);
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
	rb_number numerator, denominator;

	if (find_location_nearly(p))
		return;
	rb_location_ratio(p, &numerator, &denominator);
	p->t = rb_number_round_quotient(&numerator, &denominator);
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

/* Computes the exact square of a segment's length, and its length truncated to `words` words. */
static void
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
		subtract_location_points(d, from->segment, from->segment + 3, 3))
		return rb_double_double_mul(share, rb_double_double_sqrt(rb_double_double_dot(d, d))).high;
	rb_locations_length(&length, from, to, RB_MEASURE_WORDS);
	return rb_number_round(&length);
}

/* ---- fractions of the length ---- */

/*
 * Converts locations on a line to fractions of the line's length.
 *
 * If only one segment of the line has a nonzero length, a fraction is a ratio of determinants, and
 * one division rounds it. Otherwise it is
 *
 *		(L1 + ... + t Lk) / (L1 + ... + Ln),	where each L is the square root of a sum of squares.
 *
 * This is computed to many more digits than a double has. All numbers are positive, so each
 * operation adds 2^-(64 (words - 1)) to the relative error, and after 2^32 operations the upper
 * words - 2 words are still correct. If the result is so close to the midpoint of two doubles that
 * the error bound does not determine its side, it may be that midpoint. An exact test decides
 * whether it is, and in many cases also on which side it lies. If this test fails, the computation
 * is repeated with more digits.
 *
 * The exact test asks whether f is the exact fraction, that is, whether a sum of square roots with
 * rational factors is zero:
 *
 *		(1 - f) L1 + ... + (t - f) Lk - f L(k+1) - ... = 0
 *
 * The square roots of two integers are rational multiples of each other if and only if the product
 * of the integers is a square. Roots of different classes are linearly independent (A. Besicovitch:
 * On the linear independence of fractional powers of integers, 1940). So the sum is zero if and
 * only if the sum of each class is zero. If no two classes have sums of opposite signs, the common
 * sign is the sign of the whole.
 *
 * If two classes have sums of opposite signs, the required precision is not known, because no
 * practical lower bound exists for the distance between sums of many square roots. The computation
 * then uses up to the maximum size of a number, about 10,000 bits, and raises an error if that is
 * not enough.
 */

#define MAX_WORDS 160

/*
 * Maximum sizes of intermediate results. The ratio of a location has degree 3, and two ratios are
 * multiplied. Lengths have up to MAX_WORDS words each, and two are multiplied. The square of a
 * length has degree 2. The factors of roots are products of ratios and sums of two doubles of at
 * most 1, and up to 2^32 of their products with roots are added.
 */
_Static_assert(2 * RB_NUMBER_DEGREE(3, 3) + 1 <= RB_NUMBER_WORDS, "room for two ratios");
_Static_assert(2 * MAX_WORDS + 1 <= RB_NUMBER_WORDS, "room for two lengths");
_Static_assert(2 * RB_NUMBER_DEGREE(2, 2) + 1 <= RB_NUMBER_WORDS &&
				   RB_NUMBER_DEGREE(2, 2) + RB_NUMBER_DEGREE(3, 3) + 19 + 1 + 1 <= RB_NUMBER_WORDS,
			   "room for factors and roots");

/*
 * Rounds x down and up within its error bound. Returns true if both results are equal, which is
 * then the nearest double.
 */
static bool
round_fraction_certainly(const rb_number *x, int words, double *down, double *up)
{
	rb_number least = {.sign = 1, .n = 1, .low = x->low + x->n - words + 2, .word = {1}};
	rb_number moved;

	if (x->sign == 0)
	{
		*down = *up = 0;
		return true;
	}
	rb_number_sub(&moved, x, &least);
	*down = rb_number_round(&moved);
	rb_number_add(&moved, x, &least);
	*up = rb_number_round(&moved);
	return *down == *up;
}

/* Computes the length of the line up to segment i, and its total length. */
static rb_status
measure_line_up_to(rb_context *ctx, const double *segments, uint32_t n, uint32_t i, int words,
				   rb_number *before, rb_number *total)
{
	rb_number length;

	before->sign = before->n = before->low = 0;
	total->sign = total->n = total->low = 0;
	for (uint32_t k = 0; k < n; k++)
	{
		if (k % 256 == 0 && rb_should_stop(ctx))
			return RB_STOPPED;
		if (k == i)
			rb_number_copy(before, total);
		rb_segment_length(&length, segments + 6 * (size_t) k, words);
		rb_number_add(total, total, &length);
		rb_number_truncate(total, words);
	}
	return RB_OK;
}

/* Computes the exact fraction of a line at a location. */
static void
find_exact_line_fraction(rb_number *fraction, const rb_location *place, const rb_number *before,
						 const rb_number *total, int words)
{
	rb_location start = rb_location_start(place->segment);
	rb_number length;

	rb_locations_length(&length, &start, place, words);
	rb_number_add(&length, &length, before);
	rb_number_div(fraction, &length, total, words);
	rb_number_truncate(fraction, words);
}

#define UNKNOWN 2

/*
 * Computes the sign of the exact fraction of a line at a location minus the midpoint of two
 * doubles, or UNKNOWN, to round the fraction.
 */
static rb_status
side_of_fraction_midpoint(rb_context *ctx, const double *segments, uint32_t n, uint32_t i,
						  const rb_location *place, double down, double up, int *side)
{
	rb_number twice, two, numerator, denominator, factor[3];
	uint8_t *seen = NULL;
	rb_status status = RB_OK;

	RB_TRY(rb_array(ctx, (void **) &seen, n, 1));
	memset(seen, 0, n);
	rb_number_of(&twice, down);
	rb_number_of(&two, up);
	rb_number_add(&twice, &twice, &two);
	rb_number_of(&two, 2);
	rb_location_ratio(place, &numerator, &denominator);
	/*
	 * Factors of the roots before, at and after the location, multiplied by twice the denominator
	 */
	rb_number_sub(&factor[1], &two, &twice);
	rb_number_mul(&factor[0], &factor[1], &denominator);
	rb_number_mul(&factor[2], &twice, &denominator);
	factor[2].sign = -factor[2].sign;
	rb_number_mul(&factor[1], &numerator, &two);
	rb_number_add(&factor[1], &factor[1], &factor[2]);

	*side = 0;
	for (uint32_t c = 0; c < n && *side != UNKNOWN; c++)
	{
		rb_number square, other, product, root, sum = {.sign = 0};

		if (rb_should_stop(ctx))
		{
			status = RB_STOPPED;
			break;
		}
		if (seen[c])
			continue;
		rb_segment_square(&square, segments + 6 * (size_t) c);
		for (uint32_t k = c; k < n; k++)
		{
			if (seen[k])
				continue;
			rb_segment_square(&other, segments + 6 * (size_t) k);
			rb_number_mul(&product, &square, &other);
			if (!rb_number_is_square(&root, &product))
				continue;
			seen[k] = 1;
			rb_number_mul(&product, &root, &factor[k < i ? 0 : k == i ? 1 : 2]);
			rb_number_add(&sum, &sum, &product);
		}
		*side = sum.sign * *side < 0 ? UNKNOWN : sum.sign != 0 ? sum.sign : *side;
	}
	RB_FREE(ctx->memory, seen);
	return status;
}

rb_status
rb_line_fraction(rb_context *ctx, const double *segments, uint32_t n, uint32_t i,
				 const rb_location *place, const rb_number *before, const rb_number *total,
				 double *fraction)
{
	rb_number x, start, whole;
	double up;
	int side;

	find_exact_line_fraction(&x, place, before, total, RB_MEASURE_WORDS);
	if (round_fraction_certainly(&x, RB_MEASURE_WORDS, fraction, &up))
		return RB_OK;
	RB_TRY(side_of_fraction_midpoint(ctx, segments, n, i, place, *fraction, up, &side));
	if (side == 0)
	{
		rb_number y;

		/* Choose the even one of the two doubles, which is how half their sum is rounded. */
		rb_number_of(&x, *fraction);
		rb_number_of(&y, up);
		rb_number_add(&x, &x, &y);
		rb_number_of(&y, 0.5);
		rb_number_mul(&whole, &x, &y);
		*fraction = rb_number_round(&whole);
		return RB_OK;
	}
	if (side != UNKNOWN)
	{
		*fraction = side < 0 ? *fraction : up;
		return RB_OK;
	}
	for (int words = 2 * RB_MEASURE_WORDS; words < 2 * MAX_WORDS; words *= 2)
	{
		const int few = words < MAX_WORDS ? words : MAX_WORDS;

		RB_TRY(measure_line_up_to(ctx, segments, n, i, few, &start, &whole));
		find_exact_line_fraction(&x, place, &start, &whole, few);
		if (round_fraction_certainly(&x, few, fraction, &up))
			return RB_OK;
	}
	return rb_fail(ctx, RB_BAD_GEOMETRY, 0, 0,
				   "A position on a line of several segments is so close to the midpoint of "
				   "two doubles that 10,000 bits cannot decide which one is nearer.");
}
