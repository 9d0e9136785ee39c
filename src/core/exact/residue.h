/*
 * residue.h
 *	  Implements arithmetic modulo primes of 62 bits, and finds the sign of an integer from residues.
 *
 * An integer of any size is determined by its residues modulo enough primes, and a residue needs
 * one word only. So the sign of a sum of fractions, multiplied by a common denominator, is found
 * without ever computing that large integer, in memory of one word per prime.
 *
 * Residues are in Montgomery form: x is represented by 2^64 x modulo p. (P. L. Montgomery: Modular
 * multiplication without trial division, 1985.)
 */
#ifndef RB_EXACT_RESIDUE_H
#define RB_EXACT_RESIDUE_H

#include "core/base/redblue.h"
#include "core/exact/bignum.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Number of bits by which each prime extends the range of integers */
#define RB_PRIME_BITS 61

typedef struct rb_prime
{
	uint64_t p;        /* Between 2^61 and 2^62 */
	uint64_t negative; /* -1 / p modulo 2^64 */
	uint64_t one;      /* Residue of 1 */
	uint64_t square;   /* Residue of 2^64 */
	uint32_t number;   /* 1 for the largest prime, 2 for the next one; 0 before it */
} rb_prime;

/* Upper end of the range of primes */
#define RB_PRIME_LIMIT (UINT64_C(1) << 62)

/* Returns a b / 2^64 modulo p, less than p; a b must be less than 2^64 p. */
static inline uint64_t
rb_residue_mul(const rb_prime *m, uint64_t a, uint64_t b)
{
	const unsigned __int128 product = (unsigned __int128) a * b;
	const uint64_t factor = (uint64_t) product * m->negative;
	const uint64_t r = (uint64_t) ((product + (unsigned __int128) factor * m->p) >> 64);

	return r >= m->p ? r - m->p : r;
}

/* Returns (a + b) mod p, for residues a and b. */
static inline uint64_t
rb_residue_add(const rb_prime *m, uint64_t a, uint64_t b)
{
	const uint64_t r = a + b;

	return r >= m->p ? r - m->p : r;
}

/* Returns (a - b) mod p, for residues a and b. */
static inline uint64_t
rb_residue_sub(const rb_prime *m, uint64_t a, uint64_t b)
{
	return a >= b ? a - b : a + m->p - b;
}

/* Replaces a prime by the next smaller one, and number 0 by the largest prime below the limit. */
extern void rb_prime_next(rb_prime *m);

/* Returns 1 / a; a must not be 0. */
extern uint64_t rb_residue_inverse(const rb_prime *m, uint64_t a);

/* Returns the residue of x 2^shift, which must be an integer. */
extern uint64_t rb_residue_of(const rb_prime *m, double x, int shift);

/* Returns the residue of the number x times 2^shift, which must be an integer. */
extern uint64_t rb_residue_of_number(const rb_prime *m, const rb_number *x, int shift);

/*
 * Computes the residue of an integer. Sets *usable to false if that is impossible for this prime,
 * which may divide a denominator.
 */
typedef rb_status (*rb_find_residue)(rb_context *ctx, const void *arg, const rb_prime *m,
									 uint64_t *residue, bool *usable);

/* Finds the sign of an integer whose absolute value is less than 2^bits. */
extern rb_status rb_integer_sign(rb_context *ctx, uint64_t bits, rb_find_residue find,
								 const void *arg, int *sign);

/* Sets *likely to false if the integer is known not to be 0; tests a single prime. */
extern rb_status rb_integer_may_be_zero(rb_context *ctx, rb_find_residue find, const void *arg,
										bool *likely);

/*
 * Replaces residue i of an integer by digit i of its mixed radix representation; the residues before
 * it are digits already. Takes time proportional to i.
 */
extern void rb_residue_to_digit(const rb_prime *primes, uint64_t *digits, uint32_t i);

/*
 * Returns the sign of an integer from its n digits. Twice its absolute value must be less than the
 * product of the primes.
 */
extern int rb_digits_sign(const rb_prime *primes, const uint64_t *digits, uint32_t n);

#ifdef __cplusplus
}
#endif

#endif /* RB_EXACT_RESIDUE_H */
