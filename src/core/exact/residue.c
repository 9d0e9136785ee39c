/*
 * residue.c
 *	  Implements residues: primes, inverses, residues of doubles, signs; see residue.h.
 */
#include "core/exact/residue.h"

#include "core/base/base.h"

/* Returns a^exponent. */
static uint64_t
raise_residue(const rb_prime *m, uint64_t a, uint64_t exponent)
{
	uint64_t r = m->one;

	for (; exponent > 0; exponent >>= 1)
	{
		if (exponent & 1)
			r = rb_residue_mul(m, r, a);
		a = rb_residue_mul(m, a, a);
	}
	return r;
}

/* Prepares the arithmetic modulo an odd p. */
static void
set_modulus(rb_prime *m, uint64_t p)
{
	uint64_t inverse = p; /* Correct modulo 8; each step doubles the number of correct bits. */

	for (int i = 0; i < 5; i++)
		inverse *= 2 - p * inverse;
	m->p = p;
	m->negative = -inverse;
	m->one = (uint64_t) (((unsigned __int128) 1 << 64) % p);
	m->square = (uint64_t) ((unsigned __int128) m->one * m->one % p);
}

/*
 * Returns true if p is prime. These bases decide for all numbers below 3.1e23. (J. Sorenson, J.
 * Webster: Strong pseudoprimes to twelve prime bases, 2017.)
 */
static bool
is_prime(const rb_prime *m)
{
	static const uint8_t bases[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
	const int twos = __builtin_ctzll(m->p - 1);
	const uint64_t odd = (m->p - 1) >> twos, minus_one = m->p - m->one;

	for (unsigned i = 0; i < sizeof bases; i++)
	{
		uint64_t x;
		int k = 0;

		if (m->p % bases[i] == 0)
			return false;
		x = raise_residue(m, rb_residue_mul(m, bases[i], m->square), odd);
		if (x == m->one)
			continue;
		while (x != minus_one && ++k < twos)
			x = rb_residue_mul(m, x, x);
		if (x != minus_one)
			return false;
	}
	return true;
}

/* Distances of the largest primes from RB_PRIME_LIMIT */
static const uint16_t distances[] = {
	57,    87,    117,   143,   153,   167,   171,   195,   203,   273,   287,   317,   443,
	483,   495,   575,   581,   603,   633,   663,   765,   773,   777,   791,   813,   831,
	923,   981,   993,   1001,  1007,  1017,  1197,  1241,  1293,  1353,  1433,  1515,  1553,
	1575,  1581,  1595,  1617,  1673,  1697,  1701,  1703,  1823,  1881,  1911,  1923,  2043,
	2073,  2103,  2141,  2187,  2217,  2247,  2285,  2351,  2367,  2375,  2397,  2421,  2511,
	2541,  2583,  2661,  2675,  2753,  2777,  2793,  2861,  2891,  2927,  3023,  3041,  3221,
	3251,  3255,  3257,  3263,  3317,  3377,  3521,  3537,  3545,  3551,  3563,  3671,  3705,
	3767,  3797,  3803,  3873,  3933,  4163,  4247,  4275,  4301,  4377,  4403,  4485,  4557,
	4595,  4641,  4661,  4707,  4781,  4815,  4821,  4857,  4881,  4917,  4941,  4971,  4991,
	4997,  5003,  5055,  5103,  5133,  5153,  5265,  5355,  5393,  5445,  5465,  5475,  5483,
	5547,  5571,  5637,  5645,  5693,  5771,  5805,  5817,  5883,  5885,  5915,  5927,  5943,
	5991,  6027,  6035,  6057,  6063,  6077,  6123,  6135,  6147,  6225,  6237,  6273,  6281,
	6323,  6327,  6333,  6411,  6425,  6525,  6573,  6597,  6617,  6627,  6665,  6827,  6905,
	7007,  7043,  7071,  7113,  7283,  7335,  7371,  7395,  7415,  7521,  7535,  7541,  7547,
	7601,  7637,  7707,  7757,  7815,  7821,  7841,  7845,  7911,  8015,  8115,  8121,  8135,
	8151,  8183,  8231,  8253,  8261,  8321,  8325,  8351,  8373,  8393,  8457,  8567,  8585,
	8601,  8613,  8631,  8645,  8687,  8703,  8763,  8823,  8847,  8871,  8895,  8907,  8975,
	8997,  9005,  9033,  9063,  9095,  9287,  9347,  9435,  9513,  9593,  9731,  9753,  9777,
	9791,  9821,  9855,  9905,  9977,  10023, 10163, 10197, 10227, 10233, 10251, 10323, 10361,
	10373, 10425, 10431, 10433, 10457, 10503, 10523, 10565, 10613};
#define NDISTANCES (sizeof distances / sizeof distances[0])

void
rb_prime_next(rb_prime *m)
{
	uint64_t p = m->number == 0 ? RB_PRIME_LIMIT + 1 : m->p;

	m->number++;
	if (m->number <= NDISTANCES)
	{
		set_modulus(m, RB_PRIME_LIMIT - distances[m->number - 1]);
		return;
	}
	do
		set_modulus(m, p -= 2);
	while (!is_prime(m));
}

uint64_t
rb_residue_inverse(const rb_prime *m, uint64_t a)
{
	return raise_residue(m, a, m->p - 2);
}

/* Returns x 2^exponent; x is a plain number, the result a residue. */
static uint64_t
scale_residue(const rb_prime *m, uint64_t x, int exponent)
{
	uint64_t r = rb_residue_mul(m, x, m->square);

	if (exponent < 61)
		return rb_residue_mul(m, r, rb_residue_mul(m, UINT64_C(1) << exponent, m->square));
	return rb_residue_mul(m, r,
						  raise_residue(m, rb_residue_add(m, m->one, m->one), (uint64_t) exponent));
}

uint64_t
rb_residue_of(const rb_prime *m, double x, int shift)
{
	uint64_t mantissa, r;
	int exponent;

	rb_number_split_double(x, &mantissa, &exponent);
	if (mantissa == 0)
		return 0;
	exponent += shift;
	if (exponent < 0)
	{
		mantissa >>= -exponent;
		exponent = 0;
	}
	r = scale_residue(m, mantissa, exponent);
	return x < 0 ? rb_residue_sub(m, 0, r) : r;
}

uint64_t
rb_residue_of_number(const rb_prime *m, const rb_number *x, int shift)
{
	const uint64_t word = m->square; /* Residue of 2^64 */
	int exponent = 64 * x->low + shift;
	uint64_t r = 0;

	for (int i = x->n - 1; i >= 0; i--)
		r = rb_residue_add(m, rb_residue_mul(m, r, word), rb_residue_mul(m, x->word[i], m->square));
	/* Low bits of the lowest word that are below 1 are 0: divide by a power of two. */
	if (exponent < 0)
		r = rb_residue_mul(m, r, rb_residue_inverse(m, scale_residue(m, 1, -exponent)));
	else
		r = rb_residue_mul(m, r, scale_residue(m, 1, exponent));
	return x->sign < 0 ? rb_residue_sub(m, 0, r) : r;
}

/*
 * The integer, or the integer plus the product of all primes if it is negative, is digit[0] +
 * digit[1] p[0] + digit[2] p[0] p[1] + ..., so the highest digit shows on which side of half the
 * product it is. (H. L. Garner: The residue number system, 1959.)
 */
void
rb_residue_to_digit(const rb_prime *primes, uint64_t *digits, uint32_t i)
{
	const rb_prime *m = &primes[i];
	uint64_t product = m->one, below = 0, digit;

	/* `below` and digits are plain numbers, `product` is a residue. */
	for (uint32_t k = 0; k < i; k++)
	{
		below = rb_residue_add(m, below, rb_residue_mul(m, digits[k], product));
		product = rb_residue_mul(m, product, rb_residue_mul(m, primes[k].p, m->square));
	}
	digit = rb_residue_sub(m, rb_residue_mul(m, digits[i], 1), below);
	digits[i] = rb_residue_mul(m, digit, rb_residue_inverse(m, product));
}

int
rb_digits_sign(const rb_prime *primes, const uint64_t *digits, uint32_t n)
{
	bool zero = true;

	for (uint32_t i = 0; i < n; i++)
		zero = zero && digits[i] == 0;
	if (zero)
		return 0;
	return digits[n - 1] > primes[n - 1].p / 2 ? -1 : 1;
}

/* Replaces a prime by the next smaller one that can be used, and finds the residue. */
static rb_status
find_next_residue(rb_context *ctx, rb_find_residue find, const void *arg, rb_prime *m,
				  uint64_t *residue)
{
	bool usable = false;

	while (!usable)
	{
		if (rb_should_stop(ctx))
			return RB_STOPPED;
		rb_prime_next(m);
		RB_TRY(find(ctx, arg, m, residue, &usable));
	}
	return RB_OK;
}

rb_status
rb_integer_sign(rb_context *ctx, uint64_t bits, rb_find_residue find, const void *arg, int *sign)
{
	const uint32_t n = (uint32_t) ((bits + 1) / RB_PRIME_BITS) + 1;
	rb_prime *primes = NULL;
	uint64_t *residues = NULL;
	RB_FREE_AT_END(ctx->memory, &primes, &residues);

	RB_TRY(RB_ALLOCATE(ctx, primes, n));
	RB_TRY(RB_ALLOCATE(ctx, residues, n));
	for (uint32_t i = 0; i < n; i++)
	{
		primes[i] = i == 0 ? (rb_prime){.number = 0} : primes[i - 1];
		RB_TRY(find_next_residue(ctx, find, arg, &primes[i], &residues[i]));
	}
	for (uint32_t i = 0; i < n; i++)
	{
		if (rb_stop_due(ctx, i, 64))
			return RB_STOPPED;
		rb_residue_to_digit(primes, residues, i);
	}
	*sign = rb_digits_sign(primes, residues, n);
	return RB_OK;
}

rb_status
rb_integer_may_be_zero(rb_context *ctx, rb_find_residue find, const void *arg, bool *likely)
{
	rb_prime m = {.number = 0};
	uint64_t residue;

	RB_TRY(find_next_residue(ctx, find, arg, &m, &residue));
	*likely = residue == 0;
	return RB_OK;
}
