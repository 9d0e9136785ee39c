/*
 * wide_integer.h
 *	  Implements 320-bit integers with the operations that insphere needs: sums of products.
 *
 * Differences of coordinates are integers in a common unit, below 2^60 in magnitude. Then
 *
 *		p q - r s, a 2x2 minor					is below 2 * 2^120 = 2^121
 *		p m + q n + r o, a 3x3 minor			is below 3 * 2^181 < 2^183
 *		p^2 + q^2 + r^2, a squared length		is below 3 * 2^120 < 2^122
 *		the product of the last two				is below 2^305
 *		four such products						are below 2^307,
 *
 * so nothing overflows: minors have 128 and 192 bits, the sum has five words.
 */
#ifndef RB_EXACT_WIDE_INTEGER_H
#define RB_EXACT_WIDE_INTEGER_H

#include "core/exact/expansion.h"
#include "core/exact/integer.h"

#define RB_WIDE_WORDS 5

/* A 320-bit integer in two's complement, lowest word first */
typedef struct rb_wide
{
	uint64_t word[RB_WIDE_WORDS];
} rb_wide;

/* A 3x3 minor, high * 2^64 + low, below 2^183 in magnitude */
typedef struct rb_wide_minor
{
	rb_int128 high;
	uint64_t low;
} rb_wide_minor;

/*
 * Sets n[i] = p[i] - q[i] in a common unit, below 2^60 in magnitude. Returns false if there is no
 * such unit.
 *
 * Differences are computed exactly as two doubles. The unit depends on the size of the differences,
 * not of the coordinates, since real coordinates are far from the origin. high is a double below
 * 2^60 units, so at most 2^60 - 2^7, and low is at most half of its last place.
 */
RB_HOST_DEVICE bool
rb_wide_differences(int count, const double *const *p, const double *q, int64_t (*n)[3])
{
	double largest = 0, scale, unit;
	int i, axis;

	for (i = 0; i < count; i++)
		for (axis = 0; axis < 3; axis++)
			largest = rb_larger(largest, p[i][axis] - q[axis]);
	if (!rb_integer_unit(largest, &scale, &unit))
		return false;
	for (i = 0; i < count; i++)
		for (axis = 0; axis < 3; axis++)
		{
			double high, low;
			int64_t m;

			rb_two_sum(p[i][axis], -q[axis], &high, &low);
			if (!rb_integer_of(high, scale, unit, &n[i][axis]))
				return false;
			if (low == 0)
				continue;
			/*
			 * This also fails for a NaN, which coordinates near the largest double could produce.
			 */
			if (!(fabs(low) < fabs(high)) || !rb_integer_of(low, scale, unit, &m))
				return false;
			n[i][axis] += m;
		}
	return true;
}

/*
 * Returns the 3x3 minor p m + q n + r o; the 2x2 minors m, n, o are below 2^121 and p, q, r below
 * 2^60.
 */
RB_HOST_DEVICE rb_wide_minor
rb_wide_minor_of(int64_t p, rb_int128 m, int64_t q, rb_int128 n, int64_t r, rb_int128 o)
{
	rb_int128 high = 0, low = 0;
	rb_wide_minor sum;

	rb_integer_add_product(m, p, &high, &low);
	rb_integer_add_product(n, q, &high, &low);
	rb_integer_add_product(o, r, &high, &low);
	sum.high = high + (low >> 64);
	sum.low = (uint64_t) low;
	return sum;
}

RB_HOST_DEVICE rb_uint128
rb_wide_norm(const int64_t *n)
{
	return (rb_uint128) ((rb_int128) n[0] * n[0] + (rb_int128) n[1] * n[1] +
						 (rb_int128) n[2] * n[2]);
}

/* Adds norm * minor to the sum, or subtracts it. */
RB_HOST_DEVICE void
rb_wide_add_product(rb_wide *sum, rb_uint128 norm, rb_wide_minor minor, bool minus)
{
	bool below = minor.high < 0;
	/* the magnitude of the minor: x2, x1, x0 */
	rb_uint128 high = below ? ~(rb_uint128) minor.high + (minor.low == 0) : (rb_uint128) minor.high;
	uint64_t x0 = below ? -minor.low : minor.low;
	uint64_t x1 = (uint64_t) high, x2 = (uint64_t) (high >> 64);
	uint64_t y0 = (uint64_t) norm, y1 = (uint64_t) (norm >> 64);
	uint64_t flip = below != minus ? ~(uint64_t) 0 : 0;
	uint64_t product[RB_WIDE_WORDS];
	rb_uint128 t;
	int i;

	/* Multiply row by row: a product of words plus two words fits in 128 bits. */
	t = (rb_uint128) x0 * y0;
	product[0] = (uint64_t) t;
	t = (rb_uint128) x1 * y0 + (uint64_t) (t >> 64);
	product[1] = (uint64_t) t;
	t = (rb_uint128) x2 * y0 + (uint64_t) (t >> 64);
	product[2] = (uint64_t) t;
	product[3] = (uint64_t) (t >> 64);
	t = (rb_uint128) x0 * y1 + product[1];
	product[1] = (uint64_t) t;
	t = (rb_uint128) x1 * y1 + product[2] + (uint64_t) (t >> 64);
	product[2] = (uint64_t) t;
	t = (rb_uint128) x2 * y1 + product[3] + (uint64_t) (t >> 64);
	product[3] = (uint64_t) t;
	product[4] = (uint64_t) (t >> 64);

	/* -x = ~x + 1 */
	t = flip & 1;
	for (i = 0; i < RB_WIDE_WORDS; i++)
	{
		t += (rb_uint128) sum->word[i] + (product[i] ^ flip);
		sum->word[i] = (uint64_t) t;
		t >>= 64;
	}
}

RB_HOST_DEVICE int
rb_wide_sign(const rb_wide *x)
{
	uint64_t any = 0;
	int i;

	if (x->word[RB_WIDE_WORDS - 1] >> 63 != 0)
		return -1;
	for (i = 0; i < RB_WIDE_WORDS; i++)
		any |= x->word[i];
	return any != 0;
}

#endif /* RB_EXACT_WIDE_INTEGER_H */
