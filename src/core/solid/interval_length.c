/*
 * interval_length.c
 *	  Converts locations on a line to fractions of the line's length.
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
#include "core/solid/solid.h"

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
round_certainly(const rb_number *x, int words, double *down, double *up)
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
measure_line(rb_context *ctx, const double *segments, uint32_t n, uint32_t i, int words,
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

static void
fraction_of(rb_number *fraction, const rb_location *place, const rb_number *before,
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

/* Computes the sign of the exact fraction minus the midpoint of two doubles, or UNKNOWN. */
static rb_status
side_of_midpoint(rb_context *ctx, const double *segments, uint32_t n, uint32_t i,
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
	rb_status status;
	double up;
	int side;

	fraction_of(&x, place, before, total, RB_MEASURE_WORDS);
	if (round_certainly(&x, RB_MEASURE_WORDS, fraction, &up))
		return RB_OK;
	RB_TRY(side_of_midpoint(ctx, segments, n, i, place, *fraction, up, &side));
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

		status = measure_line(ctx, segments, n, i, few, &start, &whole);
		if (status != RB_OK)
			return status;
		fraction_of(&x, place, &start, &whole, few);
		if (round_certainly(&x, few, fraction, &up))
			return RB_OK;
	}
	return rb_fail(ctx, RB_BAD_GEOMETRY, 0, 0,
				   "A position on a line of several segments is so close to the midpoint of "
				   "two doubles that 10,000 bits cannot decide which one is nearer.");
}
