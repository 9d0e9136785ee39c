/*
 * bignum.c
 *	  Implements exact numbers on GMP's mpn layer; see bignum.h.
 */
#include <math.h>
#include <string.h>
#include <gmp.h>

#include "core/exact/bignum.h"

#define WORD_BITS 64

#if GMP_NUMB_BITS != 64
#error "bignum.c needs GMP with 64-bit limbs"
#endif

/* Removes zero words at both ends. */
static void
strip_zero_words(rb_number *r)
{
	int zeros = 0;

	while (r->n > 0 && r->word[r->n - 1] == 0)
		r->n--;
	if (r->n == 0)
	{
		r->sign = r->low = 0;
		return;
	}
	while (r->word[zeros] == 0)
		zeros++;
	if (zeros == 0)
		return;
	memmove(r->word, r->word + zeros, (size_t) (r->n - zeros) * sizeof r->word[0]);
	r->n -= zeros;
	r->low += zeros;
}

void
rb_number_split_double(double x, uint64_t *mantissa, int *exponent)
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

void
rb_number_of_parts(rb_number *r, uint64_t mantissa, int exponent)
{
	/* rounded down, also for the exponents of any number of RB_NUMBER_WORDS words below 1 */
	const int low = (exponent + RB_NUMBER_WORDS * WORD_BITS) / WORD_BITS - RB_NUMBER_WORDS;
	const int shift = exponent - low * WORD_BITS;

	r->low = low;
	r->sign = 1;
	r->word[0] = mantissa << shift;
	r->word[1] = shift > 0 ? mantissa >> (WORD_BITS - shift) : 0;
	r->n = 2;
	strip_zero_words(r);
}

void
rb_number_of(rb_number *r, double x)
{
	uint64_t mantissa;
	int exponent;

	rb_number_split_double(x, &mantissa, &exponent);
	rb_number_of_parts(r, mantissa, exponent);
	if (x < 0)
		r->sign = -1;
}

void
rb_number_copy(rb_number *r, const rb_number *a)
{
	r->sign = a->sign;
	r->n = a->n;
	r->low = a->low;
	memcpy(r->word, a->word, (size_t) a->n * sizeof a->word[0]);
}

int
rb_number_bits(const rb_number *a)
{
	return a->sign == 0 ? -100000 : 64 * (a->low + a->n) - __builtin_clzll(a->word[a->n - 1]);
}

int
rb_number_places(const rb_number *a)
{
	return a->sign == 0 ? 0 : -(64 * a->low + __builtin_ctzll(a->word[0]));
}

int
rb_double_places(double x)
{
	uint64_t mantissa;
	int exponent;

	rb_number_split_double(x, &mantissa, &exponent);
	return mantissa == 0 ? 0 : -(exponent + __builtin_ctzll(mantissa));
}

/*
 * Sets r = |a| + |b|, where a begins below b or at the same word. The words below b are those of a;
 * there may be a gap between the two.
 */
static void
add_magnitudes(rb_number *r, const rb_number *a, const rb_number *b)
{
	const int low = a->low, below = b->low - a->low;
	const int an = a->n, bn = b->n;

	if (below >= an)
	{
		memmove(r->word + below, b->word, (size_t) bn * sizeof *r->word);
		if (r != a)
			memcpy(r->word, a->word, (size_t) an * sizeof *r->word);
		memset(r->word + an, 0, (size_t) (below - an) * sizeof *r->word);
		r->n = below + bn;
	}
	else
	{
		const int above = an - below;
		mp_limb_t carry;
		rb_number copy;

		/* Words move upward here, so b must not be overwritten. */
		if (r == b && below > 0)
		{
			rb_number_copy(&copy, b);
			b = &copy;
		}
		r->n = above >= bn ? an : below + bn;
		if (above >= bn)
			carry = mpn_add(r->word + below, a->word + below, above, b->word, bn);
		else
			carry = mpn_add(r->word + below, b->word, bn, a->word + below, above);
		if (r != a && below > 0)
			memcpy(r->word, a->word, (size_t) below * sizeof *r->word);
		if (carry != 0)
			r->word[r->n++] = carry;
	}
	r->low = low;
}

/*
 * Sets r = a + sign * b for nonzero numbers that begin at the same word, which is the most frequent
 * case.
 */
static void
add_aligned_numbers(rb_number *r, const rb_number *a, const rb_number *b, int sign)
{
	const rb_number *larger = a, *smaller = b;
	int larger_sign = a->sign, n;

	if (a->n < b->n || (a->n == b->n && mpn_cmp(a->word, b->word, a->n) < 0))
	{
		larger = b;
		smaller = a;
		larger_sign = b->sign * sign;
	}
	n = larger->n;
	if (a->sign == b->sign * sign)
	{
		const mp_limb_t carry = mpn_add(r->word, larger->word, n, smaller->word, smaller->n);

		if (carry != 0)
			r->word[n++] = carry;
	}
	else
	{
		mpn_sub(r->word, larger->word, n, smaller->word, smaller->n);
		while (n > 0 && r->word[n - 1] == 0)
			n--;
	}
	r->low = a->low;
	r->n = n;
	r->sign = larger_sign;
	if (n == 0 || r->word[0] == 0)
		strip_zero_words(r);
}

/* Writes the n words from position `low` of a, including zeros outside of it. */
static void
copy_number_words(uint64_t *to, const rb_number *a, int low, int n)
{
	int below = a->low - low;

	memset(to, 0, (size_t) below * sizeof *to);
	memcpy(to + below, a->word, (size_t) a->n * sizeof *to);
	memset(to + below + a->n, 0, (size_t) (n - below - a->n) * sizeof *to);
}

/* Returns the sign of |a| - |b|, both nonzero. */
static int
compare_number_words(const rb_number *a, const rb_number *b)
{
	const int n = a->n < b->n ? a->n : b->n;
	int sign;

	if (a->low + a->n != b->low + b->n)
		return a->low + a->n < b->low + b->n ? -1 : 1;
	sign = mpn_cmp(a->word + a->n - n, b->word + b->n - n, n);
	/* The lowest word is not 0, so the longer number is larger. */
	return sign != 0 ? sign : (a->n > b->n) - (a->n < b->n);
}

/* Sets r = |a| - |b|, which must be positive. */
static void
subtract_magnitudes(rb_number *r, const rb_number *a, const rb_number *b)
{
	const int low = a->low < b->low ? a->low : b->low, n = a->low + a->n - low;

	if (a->low <= b->low)
	{
		const int below = b->low - a->low;
		rb_number copy;

		if (r == b && below > 0)
		{
			rb_number_copy(&copy, b);
			b = &copy;
		}
		mpn_sub(r->word + below, a->word + below, a->n - below, b->word, b->n);
		if (r != a && below > 0)
			memcpy(r->word, a->word, (size_t) below * sizeof *r->word);
	}
	else
	{
		uint64_t x[RB_NUMBER_WORDS];

		copy_number_words(x, a, low, n);
		mpn_sub(r->word, x, n, b->word, b->n);
	}
	r->low = low;
	r->n = n;
}

/* Sets r = a + sign * b. */
static void
add_signed_numbers(rb_number *r, const rb_number *a, const rb_number *b, int sign)
{
	const int a_sign = a->sign, b_sign = b->sign * sign;
	int order;

	if (b_sign == 0 || a_sign == 0)
	{
		const rb_number *other = b_sign == 0 ? a : b;

		if (r != other)
			rb_number_copy(r, other);
		r->sign = a_sign + b_sign;
		return;
	}
	if (a->low == b->low)
	{
		add_aligned_numbers(r, a, b, sign);
		return;
	}
	if (a_sign == b_sign)
	{
		r->sign = a_sign;
		if (a->low <= b->low)
			add_magnitudes(r, a, b);
		else
			add_magnitudes(r, b, a);
		strip_zero_words(r);
		return;
	}
	order = compare_number_words(a, b);
	if (order == 0)
	{
		r->sign = r->n = r->low = 0;
		return;
	}
	if (order > 0)
		subtract_magnitudes(r, a, b);
	else
		subtract_magnitudes(r, b, a);
	r->sign = order > 0 ? a_sign : b_sign;
	strip_zero_words(r);
}

void
rb_number_add(rb_number *r, const rb_number *a, const rb_number *b)
{
	add_signed_numbers(r, a, b, 1);
}

void
rb_number_sub(rb_number *r, const rb_number *a, const rb_number *b)
{
	add_signed_numbers(r, a, b, -1);
}

/* Multiplies two words by two words, faster than a call to GMP. */
static void
multiply_two_words(uint64_t *r, const uint64_t *x, const uint64_t *y)
{
	const unsigned __int128 ll = (unsigned __int128) x[0] * y[0];
	const unsigned __int128 lh = (unsigned __int128) x[0] * y[1];
	const unsigned __int128 hl = (unsigned __int128) x[1] * y[0];
	const unsigned __int128 hh = (unsigned __int128) x[1] * y[1];
	const unsigned __int128 middle = (ll >> 64) + (uint64_t) lh + (uint64_t) hl;
	const unsigned __int128 high = hh + (lh >> 64) + (hl >> 64) + (middle >> 64);

	r[0] = (uint64_t) ll;
	r[1] = (uint64_t) middle;
	r[2] = (uint64_t) high;
	r[3] = (uint64_t) (high >> 64);
}

void
rb_number_mul(rb_number *r, const rb_number *a, const rb_number *b)
{
	r->sign = a->sign * b->sign;
	r->low = a->low + b->low;
	r->n = 0;
	if (r->sign != 0)
	{
		const rb_number *longer = a->n >= b->n ? a : b;
		const rb_number *shorter = a->n >= b->n ? b : a;

		r->n = a->n + b->n;
		if (longer->n == 1)
		{
			const unsigned __int128 both = (unsigned __int128) a->word[0] * b->word[0];

			r->word[0] = (uint64_t) both;
			r->word[1] = (uint64_t) (both >> 64);
		}
		else if (shorter->n == 1)
			r->word[longer->n] = mpn_mul_1(r->word, longer->word, longer->n, shorter->word[0]);
		else if (longer->n == 2)
			multiply_two_words(r->word, longer->word, shorter->word);
		else
			mpn_mul(r->word, longer->word, longer->n, shorter->word, shorter->n);
		r->n -= r->word[r->n - 1] == 0;
	}
	if (r->n == 0 || r->word[0] == 0)
		strip_zero_words(r);
}

bool
rb_number_has_room_for_sum(const rb_number *a, const rb_number *b)
{
	const int high = a->low + a->n > b->low + b->n ? a->low + a->n : b->low + b->n;
	const int low = a->low < b->low ? a->low : b->low;

	return a->sign == 0 || b->sign == 0 || high - low + 1 <= RB_NUMBER_WORDS;
}

int
rb_number_compare(const rb_number *a, const rb_number *b)
{
	if (a->sign != b->sign)
		return a->sign < b->sign ? -1 : 1;
	return a->sign == 0 ? 0 : a->sign * compare_number_words(a, b);
}

#define PRIME ((UINT64_C(1) << 61) - 1)

/* Returns x * 2^by modulo PRIME for the residue of an exact number, for x below 2^61. */
static uint64_t
multiply_by_power_modulo(uint64_t x, int by)
{
	return by == 0 ? x : (x << by & PRIME) | x >> (61 - by);
}

uint64_t
rb_number_modulo(const rb_number *a)
{
	uint64_t left = 0;

	for (int i = a->n - 1; i >= 0; i--)
	{
		left = multiply_by_power_modulo(left, 3) + (a->word[i] & PRIME) + (a->word[i] >> 61);
		while (left >= PRIME)
			left -= PRIME;
	}
	left = multiply_by_power_modulo(left, (3 * a->low % 61 + 61) % 61);
	return a->sign < 0 && left > 0 ? PRIME - left : left;
}

void
rb_number_truncate(rb_number *r, int words)
{
	int less = r->n - words;

	if (less <= 0)
		return;
	memmove(r->word, r->word + less, (size_t) words * sizeof r->word[0]);
	r->n = words;
	r->low += less;
	strip_zero_words(r);
}

void
rb_number_truncate_at(rb_number *r, int low)
{
	const int words = r->low + r->n - low;

	if (words <= 0)
		r->sign = r->n = r->low = 0;
	else
		rb_number_truncate(r, words);
}

void
rb_number_div(rb_number *r, const rb_number *a, const rb_number *b, int words)
{
	uint64_t above[2 * RB_NUMBER_WORDS], rest[RB_NUMBER_WORDS], quotient[2 * RB_NUMBER_WORDS];
	int n = a->n > b->n + words ? a->n : b->n + words;
	int sign = a->sign * b->sign;

	if (sign == 0)
	{
		r->sign = r->n = r->low = 0;
		return;
	}
	/* Append low zero words until the quotient is long enough. */
	memset(above, 0, (size_t) (n - a->n) * sizeof *above);
	memcpy(above + n - a->n, a->word, (size_t) a->n * sizeof *above);
	mpn_tdiv_qr(quotient, rest, 0, above, n, b->word, b->n);
	r->n = n - b->n + 1;
	r->low = a->low - (n - a->n) - b->low;
	r->sign = sign;
	memcpy(r->word, quotient, (size_t) r->n * sizeof *r->word);
	for (int i = 0; i < b->n; i++)
		if (rest[i] != 0)
		{
			r->word[0] |= 1;
			break;
		}
	strip_zero_words(r);
}

/*
 * Copies the words of a and appends low zeros, for at least 2 * words in all and an even lowest
 * position. Returns their number.
 */
static int
copy_to_even_words(uint64_t *to, int *low, const rb_number *a, int words)
{
	int zeros = a->n < 2 * words ? 2 * words - a->n : 0;

	zeros += (a->low - zeros) & 1;
	memset(to, 0, (size_t) zeros * sizeof *to);
	memcpy(to + zeros, a->word, (size_t) a->n * sizeof *to);
	*low = a->low - zeros;
	return a->n + zeros;
}

void
rb_number_root(rb_number *r, const rb_number *a, int words)
{
	uint64_t square[2 * RB_NUMBER_WORDS], rest[2 * RB_NUMBER_WORDS];
	int low, n;

	r->sign = a->sign;
	r->n = r->low = 0;
	if (a->sign == 0)
		return;
	n = copy_to_even_words(square, &low, a, words);
	mpn_sqrtrem(r->word, rest, square, n);
	r->n = (n + 1) / 2;
	r->low = low / 2;
	strip_zero_words(r);
}

bool
rb_number_is_square(rb_number *root, const rb_number *a)
{
	uint64_t square[RB_NUMBER_WORDS + 1], rest[RB_NUMBER_WORDS + 1];
	int low, n;

	if (a->sign <= 0)
	{
		rb_number_copy(root, a);
		return a->sign == 0;
	}
	n = copy_to_even_words(square, &low, a, 0);
	if (!mpn_perfect_square_p(square, n))
		return false;
	mpn_sqrtrem(root->word, rest, square, n);
	root->sign = 1;
	root->n = (n + 1) / 2;
	root->low = low / 2;
	strip_zero_words(root);
	return true;
}

/* Returns bits `from` to from + 63 of a number; bits outside its words are 0. */
static uint64_t
bits_of_number(const rb_number *a, long from)
{
	long at = from - (long) a->low * WORD_BITS;
	long i = at >= 0 ? at / WORD_BITS : -((WORD_BITS - 1 - at) / WORD_BITS);
	int shift = (int) (at - i * WORD_BITS);
	uint64_t here = i >= 0 && i < a->n ? a->word[i] : 0;
	uint64_t next = i + 1 >= 0 && i + 1 < a->n ? a->word[i + 1] : 0;

	return shift == 0 ? here : here >> shift | next << (WORD_BITS - shift);
}

double
rb_number_round(const rb_number *a)
{
	long top, last;
	uint64_t mantissa, half;
	bool more;

	if (a->sign == 0)
		return 0;
	top = (long) (a->low + a->n) * WORD_BITS - 1 - __builtin_clzll(a->word[a->n - 1]);
	/* position of the lowest bit of the double */
	last = top - 52 < -1074 ? -1074 : top - 52;
	if (top < last - 1)
		return 0;
	mantissa = top < last ? 0 : bits_of_number(a, last);
	half = bits_of_number(a, last - 1) & 1;
	/* True if there are bits below `half`; the lowest word is not 0. */
	more = (long) a->low * WORD_BITS + __builtin_ctzll(a->word[0]) < last - 1;
	mantissa += half & (more | (mantissa & 1));
	return a->sign * ldexp((double) mantissa, last > 2000 ? 2000 : (int) last);
}

double
rb_number_round_quotient(const rb_number *a, const rb_number *b)
{
	rb_number q;

	/* Two words have at least 65 bits, and a double has 53. */
	rb_number_div(&q, a, b, 2);
	return rb_number_round(&q);
}

void
rb_number_difference(rb_number *r, double b, double a)
{
	rb_number y;

	rb_number_of(r, b);
	rb_number_of(&y, a);
	rb_number_sub(r, r, &y);
}

void
rb_number_det2(rb_number *r, const rb_number *p, const rb_number *q, const rb_number *t,
			   const rb_number *s)
{
	rb_number other;

	rb_number_mul(r, p, s);
	rb_number_mul(&other, q, t);
	rb_number_sub(r, r, &other);
}

void
rb_number_dot3(rb_number *r, const rb_number *u, const rb_number *v)
{
	rb_number term;

	rb_number_mul(r, &u[0], &v[0]);
	for (int i = 1; i < 3; i++)
	{
		rb_number_mul(&term, &u[i], &v[i]);
		rb_number_add(r, r, &term);
	}
}

void
rb_number_orient2d(rb_number *r, const double *a, const double *b, const double *c)
{
	rb_number u[2], v[2];

	for (int i = 0; i < 2; i++)
	{
		rb_number_difference(&u[i], b[i], a[i]);
		rb_number_difference(&v[i], c[i], a[i]);
	}
	rb_number_det2(r, &u[0], &u[1], &v[0], &v[1]);
}

void
rb_number_orient3d(rb_number *r, const double *a, const double *b, const double *c, const double *d)
{
	rb_number u[3], v[3], w, minor, term;

	for (int i = 0; i < 3; i++)
	{
		rb_number_difference(&u[i], b[i], a[i]);
		rb_number_difference(&v[i], c[i], a[i]);
	}
	r->sign = r->n = r->low = 0;
	for (int i = 0; i < 3; i++)
	{
		int j = (i + 1) % 3, k = (i + 2) % 3;

		rb_number_det2(&minor, &u[j], &u[k], &v[j], &v[k]);
		rb_number_difference(&w, d[i], a[i]);
		rb_number_mul(&term, &minor, &w);
		rb_number_add(r, r, &term);
	}
}
