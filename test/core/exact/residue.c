/*
 * residue.c
 *	  Tests residues and the signs of integers found from them, against GMP.
 */
#include "core/exact/residue.h"

#include "check.h"

#include <gmp.h>
#include <math.h>
#include <stdlib.h>

#define MOST_PRIMES 12
#define LISTED_PRIMES 256 /* Primes that residue.c lists; smaller ones are searched for */

static rb_prime primes[MOST_PRIMES];

/* Returns the residue of x as GMP computes it. */
static uint64_t
residue_of_mpz(const rb_prime *m, const mpz_t x)
{
	/* Residues are in Montgomery form. */
	return rb_residue_mul(m, mpz_fdiv_ui(x, m->p), m->square);
}

static void
primes_below_the_limit(void)
{
	rb_prime m = {.number = 0};
	uint64_t limit = RB_PRIME_LIMIT;
	mpz_t p, next;

	mpz_init(p);
	mpz_init(next);
	for (int i = 0; i < LISTED_PRIMES + 20; i++)
	{
		rb_prime_next(&m);
		CHECK(m.p < limit && m.p > RB_PRIME_LIMIT / 2, "prime %d is out of range", i);
		mpz_set_ui(p, m.p);
		CHECK(mpz_probab_prime_p(p, 40), "%lu is not prime", (unsigned long) m.p);
		mpz_nextprime(next, p);
		CHECK(i == 0 ? mpz_get_ui(next) > limit : mpz_get_ui(next) == limit,
			  "a prime below %lu is left out", (unsigned long) limit);
		limit = m.p;
		if (i < MOST_PRIMES)
			primes[i] = m;
	}
	mpz_clear(p);
	mpz_clear(next);
}

static void
arithmetic(void)
{
	gmp_randstate_t random;
	mpz_t x, y, z;

	gmp_randinit_default(random);
	mpz_init(x);
	mpz_init(y);
	mpz_init(z);
	for (long round = 0; round < check_rounds(10000); round++)
	{
		const rb_prime *m = &primes[check_below(MOST_PRIMES)];
		uint64_t a, b;

		mpz_rrandomb(x, random, 1 + (unsigned) check_below(300));
		mpz_rrandomb(y, random, 1 + (unsigned) check_below(300));
		a = residue_of_mpz(m, x);
		b = residue_of_mpz(m, y);
		mpz_mul(z, x, y);
		CHECK(rb_residue_mul(m, a, b) == residue_of_mpz(m, z), "product");
		mpz_add(z, x, y);
		CHECK(rb_residue_add(m, a, b) == residue_of_mpz(m, z), "sum");
		mpz_sub(z, x, y);
		CHECK(rb_residue_sub(m, a, b) == residue_of_mpz(m, z), "difference");
		CHECK(a == 0 || rb_residue_mul(m, a, rb_residue_inverse(m, a)) == m->one, "inverse");
	}
	mpz_clear(x);
	mpz_clear(y);
	mpz_clear(z);
	gmp_randclear(random);
}

static void
doubles_and_numbers(void)
{
	mpz_t x;

	mpz_init(x);
	for (long round = 0; round < check_rounds(10000); round++)
	{
		const rb_prime *m = &primes[check_below(MOST_PRIMES)];
		const int exponent = check_below(900) - 500, shift = 560;
		const double d = ldexp((double) (check_below(1 << 30) - (1 << 29)), exponent);
		rb_number n, square;

		mpz_set_d(x, ldexp(d, -exponent));
		mpz_mul_2exp(x, x, (unsigned) (exponent + shift));
		CHECK(rb_residue_of(m, d, shift) == residue_of_mpz(m, x), "%a", d);
		rb_number_of(&n, d);
		CHECK(rb_residue_of_number(m, &n, shift) == residue_of_mpz(m, x), "number of %a", d);
		rb_number_mul(&square, &n, &n);
		mpz_mul(x, x, x);
		CHECK(rb_residue_of_number(m, &square, 2 * shift) == residue_of_mpz(m, x), "square of %a",
			  d);
	}
	mpz_clear(x);
}

/* Tests signs of integers of all sizes up to the largest, and near zero. */
static void
signs(void)
{
	gmp_randstate_t random;
	mpz_t x;

	gmp_randinit_default(random);
	mpz_init(x);
	for (long round = 0; round < check_rounds(20000); round++)
	{
		const uint32_t n = 1 + (uint32_t) check_below(MOST_PRIMES);
		uint64_t residues[MOST_PRIMES];
		int sign;

		mpz_rrandomb(x, random, (unsigned) check_below((int) n * RB_PRIME_BITS));
		if (check_below(3) == 0)
			mpz_set_si(x, check_below(3));
		if (check_below(2) == 0)
			mpz_neg(x, x);
		for (uint32_t i = 0; i < n; i++)
			residues[i] = residue_of_mpz(&primes[i], x);
		for (uint32_t i = 0; i < n; i++)
			rb_residue_to_digit(primes, residues, i);
		sign = rb_digits_sign(primes, residues, n);
		CHECK(sign == mpz_sgn(x), "%u primes: sign %d, not %d", n, sign, mpz_sgn(x));
	}
	mpz_clear(x);
	gmp_randclear(random);
}

int
main(void)
{
	CHECK_RUN(primes_below_the_limit);
	CHECK_RUN(arithmetic);
	CHECK_RUN(doubles_and_numbers);
	CHECK_RUN(signs);
	return check_done();
}
