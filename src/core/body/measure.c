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
 * either side, it may be that middle: whether it is, is decided exactly.  If not, more
 * digits tell.
 *
 * Is f a fraction's exact value?  That is, do the roots, with rational factors, sum up to zero?
 *
 *		(1 - f) L1 + ... + (t - f) Lk - f L(k+1) - ... = 0
 *
 * The roots of two whole numbers are rational multiples of each other if their product is a
 * square.  Roots of different classes are linearly independent (A. Besicovitch: On the linear
 * independence of fractional powers of integers, 1940): so the sum is zero if it is in each class.
 */
#include "core/body/rb_body.h"

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

/* is the middle between two doubles the exact fraction? */
static rb_status
is_middle(rb_context *ctx, const double *segments, uint32_t n, uint32_t i, const rb_place *place,
		  double down, double up, bool *middle)
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

	*middle = true;
	for (uint32_t c = 0; c < n && *middle; c++)
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
		*middle = sum.sign == 0;
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
	double up;

	fraction_of(&x, place, before, total, RB_MEASURE_WORDS);
	if (round_certainly(&x, RB_MEASURE_WORDS, fraction, &up))
		return RB_OK;
	for (int words = 2 * RB_MEASURE_WORDS;; words *= 2)
	{
		bool middle;
		rb_status status;

		if (words == 2 * RB_MEASURE_WORDS)
		{
			status = is_middle(ctx, segments, n, i, place, *fraction, up, &middle);
			if (status != RB_OK)
				return status;
			if (middle)
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
		}
		status = measure(ctx, segments, n, i, words, &start, &whole);
		if (status != RB_OK)
			return status;
		fraction_of(&x, place, &start, &whole, words);
		/* roots that differ by less than 2^-5000 would need more: there are none among doubles */
		if (round_certainly(&x, words, fraction, &up) || words > 64)
			return RB_OK;
	}
}
