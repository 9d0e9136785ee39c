/*
 * bignum.h
 *	  Implements exact numbers: sums and products of doubles, and quotients, roots and doubles
 *	  rounded from them.
 *
 * A number is a sequence of 64-bit words that may begin at any position,
 *
 *		sign * sum of word[i] * 2^(64 (low + i)),
 *
 * so a double is one or two words, and sums and products of doubles of similar size stay short.
 * Sums, differences and products are exact. Quotients and roots are truncated after a given number
 * of words, and numbers can be truncated to that length (rb_number_truncate), which allows
 * computing to any precision.
 *
 * Host only. The functions use no memory except the stack and may run in any number of threads at
 * once. GMP's functions for numbers of variable size (mpz, mpq) call its process-wide allocator,
 * which another extension of the server may have set to palloc, and palloc must not be called from
 * these threads. This file therefore uses the mpn layer: plain functions on words on the stack.
 * mpn_mul takes its scratch space from the stack at the sizes used here (it uses the heap from
 * thousands of words on). Tests check that.
 */
#ifndef RB_EXACT_BIGNUM_H
#define RB_EXACT_BIGNUM_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

/*
 * Maximum length of a number. A coordinate is a multiple of 2^-1074 and below 2^1024, a difference
 * of two is below 2^1025. A polynomial of degree k in such differences is a multiple of 2^(-1074 k)
 * and below 2^(1025 k + bits), where the additions contribute the bits. A product first takes the
 * words of both factors, a sum one more than the longer operand. Code that computes with numbers
 * asserts that there is room for its degree.
 */
#define RB_NUMBER_WORDS 336
#define RB_NUMBER_DEGREE(k, bits) ((1074 * (k) + 63) / 64 + (1025 * (k) + (bits)) / 64 + 1)

typedef struct rb_number
{
	int sign; /* sign of the number: -1, 0 or 1 */
	int n;    /* number of words, 0 for zero; the first and the last word are nonzero */
	int low;  /* position of word[0], which counts 2^(64 low) */
	uint64_t word[RB_NUMBER_WORDS];
} rb_number;

/* Sets r to the exact value of a double. */
extern void rb_number_of(rb_number *r, double x);

/* Splits |x| into mantissa * 2^exponent with mantissa below 2^53. */
extern void rb_number_split_double(double x, uint64_t *mantissa, int *exponent);

/* Sets r to mantissa * 2^exponent, which is at least 2^(-64 * RB_NUMBER_WORDS). */
extern void rb_number_of_parts(rb_number *r, uint64_t mantissa, int exponent);

/* Copies a number, only the words that are in use. */
extern void rb_number_copy(rb_number *r, const rb_number *a);

/* Returns 1 plus the highest k with |a| >= 2^k; -100000 if a is 0. */
extern int rb_number_bits(const rb_number *a);

/*
 * Returns the least number of binary places such that a times 2^places is an integer; 0 if a is 0.
 */
extern int rb_number_places(const rb_number *a);

/* Returns the least number of binary places of a double, as rb_number_places does for a number. */
extern int rb_double_places(double x);

/*
 * Returns true if a + b and a - b fit in RB_NUMBER_WORDS words. If there is a gap between the words
 * of a and those of b, it counts, too.
 */
extern bool rb_number_has_room_for_sum(const rb_number *a, const rb_number *b);

/* Computes the sum; r may be a or b. */
extern void rb_number_add(rb_number *r, const rb_number *a, const rb_number *b);

/* Computes the difference a - b; r may be a or b. */
extern void rb_number_sub(rb_number *r, const rb_number *a, const rb_number *b);

/* Computes the product; r must be neither a nor b. */
extern void rb_number_mul(rb_number *r, const rb_number *a, const rb_number *b);

/* Returns the sign of a - b. */
extern int rb_number_compare(const rb_number *a, const rb_number *b);

/* Returns a modulo the prime 2^61 - 1, in which 2^64 is 8. */
extern uint64_t rb_number_modulo(const rb_number *a);

/* Truncates r toward zero to its highest words, with a relative error below 2^(-64 (words - 1)). */
extern void rb_number_truncate(rb_number *r, int words);

/* Truncates r toward zero to its words from position low, with an error below 2^(64 low). */
extern void rb_number_truncate_at(rb_number *r, int low);

/*
 * Sets r = a / b, where b is not 0, truncated toward zero to at least `words` words. If the
 * quotient is inexact, sets its lowest bit, so that rounding r to fewer bits rounds a / b
 * correctly.
 */
extern void rb_number_div(rb_number *r, const rb_number *a, const rb_number *b, int words);

/* Sets r to the square root of a >= 0, truncated to at least `words` words; r must not be a. */
extern void rb_number_root(rb_number *r, const rb_number *a, int words);

/* Returns true and sets *root if a is the square of a number of this type. */
extern bool rb_number_is_square(rb_number *root, const rb_number *a);

/* Returns the nearest double, ties to even; 0 or infinity where a is too small or too large. */
extern double rb_number_round(const rb_number *a);

/* Returns the double nearest to a / b, where b is not 0, as rb_number_round does. */
extern double rb_number_round_quotient(const rb_number *a, const rb_number *b);

/* ---- determinants of differences of points ---- */

/* Sets r = (b - a) x (c - a), for points in the plane. */
extern void rb_number_orient2d(rb_number *r, const double *a, const double *b, const double *c);

/* Sets r = (b - a) x (c - a) . (d - a). */
extern void rb_number_orient3d(rb_number *r, const double *a, const double *b, const double *c,
							   const double *d);

/* Sets r = u . v, for vectors in space; r must not be an element of u or v. */
extern void rb_number_dot3(rb_number *r, const rb_number *u, const rb_number *v);

/* Sets r = b - a. */
extern void rb_number_difference(rb_number *r, double b, double a);

/* Sets r = p s - q t. */
extern void rb_number_det2(rb_number *r, const rb_number *p, const rb_number *q, const rb_number *t,
						   const rb_number *s);

#ifdef __cplusplus
}
#endif

#endif /* RB_EXACT_BIGNUM_H */
