/*
 * fractions.h
 *	  Rounds a sum of fractions to the nearest double, exactly.
 */
#ifndef RB_EXACT_FRACTIONS_H
#define RB_EXACT_FRACTIONS_H

#include "core/base/base.h"
#include "core/exact/bignum.h"
#include "core/base/redblue.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Fractions over denominators that are not 0 */
typedef struct rb_fractions
{
	size_t n;
	/* Computes fraction i. Both numbers have at most RB_FRACTION_WORDS words. */
	void (*get)(const void *arg, size_t i, rb_number *numerator, rb_number *denominator);
	const void *arg;
} rb_fractions;

/* Maximum length of a numerator or denominator: a polynomial of degree 4 in differences */
#define RB_FRACTION_WORDS RB_NUMBER_DEGREE(4, 64)

/*
 * Finds the double nearest to a sum >= 0; ties go to even. It is infinite if the sum is too large.
 */
extern rb_status rb_fractions_round(rb_context *ctx, const rb_fractions *f, double *nearest);

/* Finds the sign of a sum. */
extern rb_status rb_fractions_sign(rb_context *ctx, const rb_fractions *f, int *sign);

/*
 * Sets *sign to that of (number - (low + high) / 2); `low` is finite, and 2^1024 takes the place of
 * an infinite `high`.
 */
typedef rb_status (*rb_compare_with_middle)(rb_context *ctx, const void *arg, double low,
											double high, int *sign);

/*
 * Finds the double nearest to a number between two doubles, ties to even. `low` is less than `high`
 * and finite; `high` may be infinite. Needs one comparison if the two are adjacent.
 */
extern rb_status rb_nearest_double(rb_context *ctx, rb_compare_with_middle compare, const void *arg,
								   double low, double high, double *nearest);

#ifdef __cplusplus
}
#endif

#endif /* RB_EXACT_FRACTIONS_H */
