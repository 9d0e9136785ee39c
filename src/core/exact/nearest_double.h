/*
 * nearest_double.h
 *	  Declares the search for the double nearest to a number that can only be compared.
 */
#ifndef RB_EXACT_NEAREST_DOUBLE_H
#define RB_EXACT_NEAREST_DOUBLE_H

#include "core/base/redblue.h"

#ifdef __cplusplus
extern "C"
{
#endif

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

#endif /* RB_EXACT_NEAREST_DOUBLE_H */
