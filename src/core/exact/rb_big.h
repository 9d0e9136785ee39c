/*
 * rb_big.h
 *	  Whole numbers of a bounded size on the stack, by GMP's functions on limbs.
 *
 * A double is an integer times a power of two.  In units of the smallest power at
 * hand all coordinates are integers, of 2099 bits at worst; the rest is sums and
 * products, and what comes out is exact by construction.
 *
 * GMP's functions for numbers of growing size (mpz, mpq) ask its process-wide
 * allocator for memory, and another extension in the same server may have set
 * that to palloc, which no thread of ours may call.  So we stay on the mpn layer:
 * plain functions on limbs that lie on our stack.  mpn_mul takes its scratch
 * space from the stack at the sizes met here (the heap comes into play from
 * thousands of limbs on).  Tests watch that.
 *
 * Sizes, in limbs of 64 bits: coordinate 33; difference 33; of degree k in the
 * differences: 33 k and a few bits, and a product is first written with the sum of
 * its factors' limbs.  Who includes this file says how many there are at most: RB_BIG_LIMBS.
 */
#ifndef RB_BIG_H
#define RB_BIG_H

#include <string.h>
#include <gmp.h>

#include "core/base/rb_hd.h"

#define LIMB_BITS 64

#if GMP_NUMB_BITS != 64
#error "rb_big.h needs GMP with 64-bit limbs"
#endif

/* sign and magnitude; n limbs without leading zeros, n = 0 for zero */
typedef struct big
{
	int sign; /* 1 or -1; of no meaning when n is 0 */
	mp_size_t n;
	mp_limb_t limb[RB_BIG_LIMBS];
} big;

/* x = mantissa * 2^exponent, mantissa below 2^53 */
static inline void
decompose(double x, uint64_t *mantissa, int *exponent)
{
	uint64_t bits;
	int biased;

	memcpy(&bits, &x, sizeof bits);
	biased = (int) (bits >> 52) & 0x7ff;
	*mantissa = bits & (((uint64_t) 1 << 52) - 1);
	if (biased == 0)
		biased = 1;
	else
		*mantissa |= (uint64_t) 1 << 52;
	*exponent = biased - 1075;
}

/* the largest exponent such that x, y, ... (zeros aside) are multiples of 2^exponent */
static inline int
common_exponent(int so_far, double x)
{
	uint64_t mantissa;
	int exponent;

	if (x == 0)
		return so_far;
	decompose(x, &mantissa, &exponent);
	exponent += __builtin_ctzll(mantissa);
	return exponent < so_far ? exponent : so_far;
}

#define NO_EXPONENT 2000 /* above that of any double */

/* r = x / 2^unit, which is whole */
static inline void
big_of(big *r, double x, int unit)
{
	uint64_t mantissa;
	int exponent;
	int zeros;
	int shift;
	mp_size_t word;

	r->n = 0;
	r->sign = 1;
	if (x == 0)
		return;
	r->sign = x < 0 ? -1 : 1;
	decompose(x, &mantissa, &exponent);
	zeros = __builtin_ctzll(mantissa);
	mantissa >>= zeros;
	shift = exponent + zeros - unit;
	word = shift / LIMB_BITS;
	shift %= LIMB_BITS;
	memset(r->limb, 0, (size_t) word * sizeof(mp_limb_t));
	r->limb[word] = (mp_limb_t) mantissa << shift;
	r->n = word + 1;
	if (shift != 0 && (mantissa >> (LIMB_BITS - shift)) != 0)
		r->limb[r->n++] = (mp_limb_t) mantissa >> (LIMB_BITS - shift);
}

/* r = a + sign * b; r may be a or b */
static inline void
big_add_signed(big *r, const big *a, const big *b, int sign)
{
	const big *larger = a;
	const big *smaller = b;
	int a_sign = a->sign;
	int b_sign = b->sign * sign;
	int r_sign;
	mp_size_t n;

	if (a->n < b->n || (a->n == b->n && a->n > 0 && mpn_cmp(a->limb, b->limb, a->n) < 0))
	{
		larger = b;
		smaller = a;
	}
	r_sign = larger == a ? a_sign : b_sign;
	n = larger->n;
	if (smaller->n == 0)
	{
		if (r != larger)
			memcpy(r->limb, larger->limb, (size_t) n * sizeof(mp_limb_t));
	}
	else if (a_sign == b_sign)
	{
		mp_limb_t carry = mpn_add(r->limb, larger->limb, n, smaller->limb, smaller->n);

		if (carry != 0)
			r->limb[n++] = carry;
	}
	else
	{
		mpn_sub(r->limb, larger->limb, n, smaller->limb, smaller->n);
		while (n > 0 && r->limb[n - 1] == 0)
			n--;
	}
	r->n = n;
	r->sign = r_sign;
}

static inline void
big_add(big *r, const big *a, const big *b)
{
	big_add_signed(r, a, b, 1);
}

static inline void
big_sub(big *r, const big *a, const big *b)
{
	big_add_signed(r, a, b, -1);
}

/* r = a * b; r must be neither */
static inline void
big_mul(big *r, const big *a, const big *b)
{
	r->sign = a->sign * b->sign;
	r->n = 0;
	if (a->n == 0 || b->n == 0)
		return;
	if (a->n >= b->n)
		mpn_mul(r->limb, a->limb, a->n, b->limb, b->n);
	else
		mpn_mul(r->limb, b->limb, b->n, a->limb, a->n);
	r->n = a->n + b->n;
	if (r->limb[r->n - 1] == 0)
		r->n--;
}

static inline int
big_sign(const big *a)
{
	return a->n == 0 ? 0 : a->sign;
}

/* r = p s - q r */
static inline void
big_det2(big *det, const big *p, const big *q, const big *r, const big *s)
{
	big other;

	big_mul(det, p, s);
	big_mul(&other, q, r);
	big_sub(det, det, &other);
}

/* determinant of the rows u, v, w */
static inline void
big_det3(big *det, const big *u, const big *v, const big *w)
{
	big minor, term;

	big_det2(&minor, &u[1], &u[2], &v[1], &v[2]);
	big_mul(det, &minor, &w[0]);
	big_det2(&minor, &u[2], &u[0], &v[2], &v[0]);
	big_mul(&term, &minor, &w[1]);
	big_add(det, det, &term);
	big_det2(&minor, &u[0], &u[1], &v[0], &v[1]);
	big_mul(&term, &minor, &w[2]);
	big_add(det, det, &term);
}

#endif /* RB_BIG_H */
