/*
 * base.h
 *	  Provides what any file of the core may need: sizes, a clock, arrays, a test for finite
 *	  numbers.
 */
#ifndef RB_BASE_BASE_H
#define RB_BASE_BASE_H

#include "core/base/redblue.h"

#include <string.h>
#include <time.h>

/*
 * Selects the sizes of tiles, batches and slots. In a test build with RB_SMALL they are so small
 * that a few hundred objects cross every boundary that otherwise takes millions.
 */
#ifdef RB_SMALL
#define RB_SIZE(usual, small) (small)
#else
#define RB_SIZE(usual, small) (usual)
#endif

#ifdef __cplusplus
extern "C"
{
#endif

/* Returns the time of a monotonic clock in milliseconds, for stage times. */
static inline double
rb_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

/* Resizes an array to n elements and records a failure in the context (rb_resize and rb_fail). */
static inline rb_status
rb_array(rb_context *ctx, void **block, size_t n, size_t element)
{
	rb_error error;
	rb_status status;

	if (n > SIZE_MAX / element)
		return rb_fail(ctx, RB_OVER_BUDGET, UINT64_MAX, rb_memory_limit(ctx->memory), NULL);
	status = rb_resize(ctx->memory, block, n * element, &error);
	if (status != RB_OK)
		return rb_fail(ctx, error.status, error.need, error.limit, NULL);
	return RB_OK;
}

/* Grows an array of *cap elements to at least `need` elements, and by at least half. */
static inline rb_status
rb_array_grow(rb_context *ctx, void **block, size_t *cap, size_t need, size_t element)
{
	size_t more = *cap + *cap / 2 + 64;
	rb_status status;

	if (need <= *cap)
		return RB_OK;
	if (more < need)
		more = need;
	status = rb_array(ctx, block, more, element);
	if (status == RB_OK)
		*cap = more;
	return status;
}

/*
 * Returns true if all numbers are finite. x - x is +0 for a finite x and NaN otherwise: no branch,
 * no call.
 */
static inline bool
rb_all_finite(const double *x, int n)
{
	uint64_t bad = 0;

	for (int i = 0; i < n; i++)
	{
		double zero = x[i] - x[i];
		uint64_t bits;

		memcpy(&bits, &zero, sizeof(bits));
		bad |= bits;
	}
	return bad == 0;
}

#ifdef __cplusplus
}
#endif

#endif /* RB_BASE_BASE_H */
