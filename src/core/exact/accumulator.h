/*
 * accumulator.h
 *	  Computes exact sums of products of doubles with Kulisch's long accumulator.
 *
 * A product of two doubles is an integer of 106 bits times a power of two, and all possible powers
 * span 4200 bits. The accumulator is one fixed-point number wide enough for all of them; adding a
 * product touches three words and the carries. Positive and negative terms are summed separately,
 * so that no borrow runs through all words at every change of sign.
 *
 * U. Kulisch: Computer Arithmetic and Validity, 2008.
 */
#ifndef RB_EXACT_ACCUMULATOR_H
#define RB_EXACT_ACCUMULATOR_H

#include "core/base/host_device.h"
#include "core/exact/integer.h"

#include <string.h>

/*
 * Bit 0 represents 2^-2148; products end below bit 4197, and sums of 2^32 products below bit 4229.
 */
#define RB_ACCUMULATOR_WORDS 68

typedef struct rb_accumulator
{
	uint64_t plus[RB_ACCUMULATOR_WORDS];
	uint64_t minus[RB_ACCUMULATOR_WORDS];
} rb_accumulator;

/* Returns the mantissa of |x| = mantissa * 2^(shift - 1074), and sets *shift. */
static inline uint64_t
rb_accumulator_mantissa(double x, int *shift)
{
	uint64_t bits;
	int biased = rb_exponent(x);

	memcpy(&bits, &x, sizeof bits);
	bits &= ((uint64_t) 1 << 52) - 1;
	*shift = biased > 0 ? biased - 1 : 0;
	return biased > 0 ? bits | (uint64_t) 1 << 52 : bits;
}

/* Adds a * b to the sum. */
static inline void
rb_accumulator_add(rb_accumulator *sum, double a, double b)
{
	int a_shift, b_shift;
	rb_uint128 product =
		(rb_uint128) rb_accumulator_mantissa(a, &a_shift) * rb_accumulator_mantissa(b, &b_shift);
	uint64_t *to = (a < 0) == (b < 0) ? sum->plus : sum->minus;
	int shift = a_shift + b_shift;
	int bits = shift % 64;
	uint64_t word[3];
	uint64_t carry = 0;

	if (product == 0)
		return;
	to += shift / 64;
	word[0] = (uint64_t) product << bits;
	word[1] = (uint64_t) (product >> (64 - bits));
	word[2] = bits > 0 ? (uint64_t) (product >> 64) >> (64 - bits) : 0;
	for (int i = 0; i < 3 || carry != 0; i++)
	{
		rb_uint128 s = (rb_uint128) to[i] + (i < 3 ? word[i] : 0) + carry;

		to[i] = (uint64_t) s;
		carry = (uint64_t) (s >> 64);
	}
}

static inline int
rb_accumulator_compare_words(const uint64_t *a, const uint64_t *b)
{
	for (int i = RB_ACCUMULATOR_WORDS - 1; i >= 0; i--)
		if (a[i] != b[i])
			return a[i] > b[i] ? 1 : -1;
	return 0;
}

static inline int
rb_accumulator_sign(const rb_accumulator *sum)
{
	return rb_accumulator_compare_words(sum->plus, sum->minus);
}

static inline void
rb_accumulator_magnitude(const rb_accumulator *sum, uint64_t *to)
{
	bool negative = rb_accumulator_sign(sum) < 0;
	const uint64_t *larger = negative ? sum->minus : sum->plus;
	const uint64_t *smaller = negative ? sum->plus : sum->minus;
	uint64_t borrow = 0;

	for (int i = 0; i < RB_ACCUMULATOR_WORDS; i++)
	{
		rb_uint128 d = (rb_uint128) larger[i] - smaller[i] - borrow;

		to[i] = (uint64_t) d;
		borrow = (uint64_t) (d >> 64) & 1;
	}
}

/* Returns the sign of |a| - |b|. */
static inline int
rb_accumulator_compare(const rb_accumulator *a, const rb_accumulator *b)
{
	uint64_t x[RB_ACCUMULATOR_WORDS], y[RB_ACCUMULATOR_WORDS];

	rb_accumulator_magnitude(a, x);
	rb_accumulator_magnitude(b, y);
	return rb_accumulator_compare_words(x, y);
}

#endif /* RB_EXACT_ACCUMULATOR_H */
