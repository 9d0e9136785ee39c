/*
 * rb_number.h
 *	  Numbers that are exact: sums and products of doubles, and what is rounded from them once.
 *
 * A number is a run of 64-bit words that may begin anywhere,
 *
 *		sign * sum of word[i] * 2^(64 (low + i)),
 *
 * so a double is one or two words, and sums and products of doubles of like size stay
 * short.  Sums, differences and products are exact.  Quotients and roots are cut off after
 * so many words, and numbers can be cut to that length (rb_number_cut): that is how
 * something is computed to any precision.
 *
 * Host only, any number of threads at once, no memory but the stack.  GMP's functions for numbers of
 * growing size (mpz, mpq) ask its process-wide allocator for memory, and another extension in the same
 * server may have set that to palloc, which no thread of ours may call.  So this is on the mpn layer: plain
 * functions on words that lie on our stack.  mpn_mul takes its scratch space from the stack at the sizes
 * met here (the heap comes into play from thousands of words on).  Tests watch that.
 */
#ifndef RB_NUMBER_H
#define RB_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

/*
 * How long can a number be?  A coordinate is a multiple of 2^-1074 and below 2^1024, a difference of two
 * below 2^1025.  So what is of degree k in such differences is a multiple of 2^(-1074 k) and below
 * 2^(1025 k + bits), where the sums that made it add the bits.  A product is first written with the words
 * of both factors, a sum with one more than the longer: whoever computes something says of what degree
 * it is, and asserts that there is room.
 */
#define RB_NUMBER_WORDS 336
#define RB_NUMBER_DEGREE(k, bits) ((1074 * (k) + 63) / 64 + (1025 * (k) + (bits)) / 64 + 1)

typedef struct rb_number
{
	int sign; /* -1, 0, 1 */
	int n;    /* words, none for 0; the first and the last one are not 0 */
	int low;
	uint64_t word[RB_NUMBER_WORDS];
} rb_number;

extern void rb_number_of(rb_number *r, double x);

/* x = mantissa * 2^exponent without its sign, mantissa below 2^53; and that as a number */
extern void rb_number_take_apart(double x, uint64_t *mantissa, int *exponent);
extern void rb_number_put_together(rb_number *r, uint64_t mantissa, int exponent);

extern void rb_number_copy(rb_number *r, const rb_number *a);

/* r may be a or b */
extern void rb_number_add(rb_number *r, const rb_number *a, const rb_number *b);
extern void rb_number_sub(rb_number *r, const rb_number *a, const rb_number *b);

/* r must be neither */
extern void rb_number_mul(rb_number *r, const rb_number *a, const rb_number *b);

/* sign of a - b */
extern int rb_number_compare(const rb_number *a, const rb_number *b);

/* what is left of a modulo the prime 2^61 - 1, in which 2^64 is 8 */
extern uint64_t rb_number_modulo(const rb_number *a);

/* only the highest words stay: toward zero, off by less than 2^(-64 (words - 1)) of it */
extern void rb_number_cut(rb_number *r, int words);

/*
 * r = a / b, b not 0, toward zero, of at least that many words.  If something is cut off, the
 * lowest bit is set: then rounding r to fewer bits is rounding a / b.
 */
extern void rb_number_div(rb_number *r, const rb_number *a, const rb_number *b, int words);

/* r = the root of a >= 0, of at least that many words, toward zero; r must not be a */
extern void rb_number_root(rb_number *r, const rb_number *a, int words);

/* the root is taken if it is a number of this kind; else false */
extern bool rb_number_is_square(rb_number *root, const rb_number *a);

/* the nearest double, of two the even one; 0 and infinity where a is too small or large */
extern double rb_number_round(const rb_number *a);

/* ---- determinants of differences of points ---- */

/* r = (b - a) x (c - a), on two axes each */
extern void rb_number_orient2d(rb_number *r, const double *a, const double *b, const double *c);

/* r = (b - a) x (c - a) . (d - a) */
extern void rb_number_orient3d(rb_number *r, const double *a, const double *b, const double *c,
							   const double *d);

/* r = u . v of two vectors in space; r must be none of them */
extern void rb_number_dot3(rb_number *r, const rb_number *u, const rb_number *v);

/* r = b - a */
extern void rb_number_difference(rb_number *r, double b, double a);

/* r = p s - q t */
extern void rb_number_det2(rb_number *r, const rb_number *p, const rb_number *q, const rb_number *t,
						   const rb_number *s);

#ifdef __cplusplus
}
#endif

#endif /* RB_NUMBER_H */
