/*
 * measure.c
 *	  Places of a line as fractions of its length.
 *
 * Where a line has one segment that is no point, a fraction is a ratio of determinants, and
 * rounding it is one division.  Else it is
 *
 *		(L1 + ... + t Lk) / (L1 + ... + Ln),	each L the root of a sum of squares,
 *
 * computed to many more digits than a double has: every number is positive, so each operation
 * adds 2^-(64 (words - 1)) to the relative error, and 2^32 of them leave the upper words - 2 words
 * right.  If the result is so close to the middle between two doubles that it could be on
 * either side, it may be that middle: whether it is, is decided exactly, and often on which side it is.
 * If not, more digits tell.
 *
 * Is f a fraction's exact value?  That is, do the roots, with rational factors, sum up to zero?
 *
 *		(1 - f) L1 + ... + (t - f) Lk - f L(k+1) - ... = 0
 *
 * The roots of two whole numbers are rational multiples of each other if their product is a
 * square.  Roots of different classes are linearly independent (A. Besicovitch: On the linear
 * independence of fractional powers of integers, 1940): so the sum is zero if it is in each class.  And
 * where no two classes have sums of different signs, theirs is the sign of the whole.
 *
 * How many digits are needed where two classes have different signs is not known: no useful bound is, for
 * how close sums of many roots can come to each other.  All words that a number has room for are tried,
 * 10,000 bits, and what these do not tell is refused.
 */
#include "core/body/rb_body.h"

#define MOST_WORDS 160

/*
 * A place's ratio is of degree 3, and two are multiplied; lengths have so many words each, and are
 * multiplied by one.  The square of a length is of degree 2, the factors of roots are ratios times sums of
 * two doubles up to 1, and at most 2^32 of their products with roots are added.
 */
_Static_assert(2 * RB_NUMBER_DEGREE(3, 3) + 1 <= RB_NUMBER_WORDS, "room for two ratios");
_Static_assert(2 * MOST_WORDS + 1 <= RB_NUMBER_WORDS, "room for two lengths");
_Static_assert(2 * RB_NUMBER_DEGREE(2, 2) + 1 <= RB_NUMBER_WORDS &&
				   RB_NUMBER_DEGREE(2, 2) + RB_NUMBER_DEGREE(3, 3) + 19 + 1 + 1 <= RB_NUMBER_WORDS,
			   "room for factors and roots");

/* if all numbers that near are rounded to one double, it is the one; else those to both sides */
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

/* the lengths of the line up to segment i, and of all of it */
static rb_status
measure(rb_context *ctx, const double *segments, uint32_t n, uint32_t i, int words,
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
		rb_number_cut(total, words);
	}
	return RB_OK;
}

static void
fraction_of(rb_number *fraction, const rb_place *place, const rb_number *before,
			const rb_number *total, int words)
{
	rb_place start = rb_place_start(place->segment);
	rb_number length;

	rb_places_length(&length, &start, place, words);
	rb_number_add(&length, &length, before);
	rb_number_div(fraction, &length, total, words);
	rb_number_cut(fraction, words);
}

#define UNKNOWN 2

/* sign of the exact fraction minus the middle between two doubles, or UNKNOWN */
static rb_status
beside_middle(rb_context *ctx, const double *segments, uint32_t n, uint32_t i,
			  const rb_place *place, double down, double up, int *side)
{
	rb_number twice, two, numerator, denominator, factor[3];
	uint8_t *seen = NULL;
	rb_status status = rb_array(ctx, (void **) &seen, n, 1);

	if (status != RB_OK)
		return status;
	memset(seen, 0, n);
	rb_number_of(&twice, down);
	rb_number_of(&two, up);
	rb_number_add(&twice, &twice, &two);
	rb_number_of(&two, 2);
	rb_place_ratio(place, &numerator, &denominator);
	/* factors of roots before, at and behind the place, twice, and times the denominator */
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
	rb_free(ctx->memory, (void **) &seen);
	return status;
}

rb_status
rb_line_fraction(rb_context *ctx, const double *segments, uint32_t n, uint32_t i,
				 const rb_place *place, const rb_number *before, const rb_number *total,
				 double *fraction)
{
	rb_number x, start, whole;
	rb_status status;
	double up;
	int side;

	fraction_of(&x, place, before, total, RB_MEASURE_WORDS);
	if (round_certainly(&x, RB_MEASURE_WORDS, fraction, &up))
		return RB_OK;
	status = beside_middle(ctx, segments, n, i, place, *fraction, up, &side);
	if (status != RB_OK)
		return status;
	if (side == 0)
	{
		rb_number y;

		/* of the two the even one: that is what rounding their sum's half gives */
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
	for (int words = 2 * RB_MEASURE_WORDS; words < 2 * MOST_WORDS; words *= 2)
	{
		const int few = words < MOST_WORDS ? words : MOST_WORDS;

		status = measure(ctx, segments, n, i, few, &start, &whole);
		if (status != RB_OK)
			return status;
		fraction_of(&x, place, &start, &whole, few);
		if (round_certainly(&x, few, fraction, &up))
			return RB_OK;
	}
	return rb_fail(ctx, RB_BAD_GEOMETRY, 0, 0,
				   "A place on a line of several segments is so close to the middle between two "
				   "doubles that 10,000 bits do not tell which one is nearer.");
}
