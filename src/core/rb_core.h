/*
 * rb_core.h
 *	  What the files of the core share with each other and with nobody else.
 *	  Grouped under the file that defines it.
 */
#ifndef RB_CORE_H
#define RB_CORE_H

#include "redblue.h"

#include <time.h>

/* a clock for stage times, in milliseconds */
static inline double
rb_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

/* rb_resize and rb_fail in one, for the common case of an array of n elements */
static inline rb_status
rb_array(rb_context *ctx, void **block, size_t n, size_t element)
{
	rb_error	error;
	rb_status	status;

	if (n > SIZE_MAX / element)
		return rb_fail(ctx, RB_OVER_BUDGET, UINT64_MAX, rb_memory_limit(ctx->memory), NULL);
	status = rb_resize(ctx->memory, block, n * element, &error);
	if (status != RB_OK)
		return rb_fail(ctx, error.status, error.need, error.limit, NULL);
	return RB_OK;
}

/* ---- unique.c ---- */

typedef struct rb_unique
{
	rb_context *ctx;
	const rb_job *job;
	bool		needed;			/* some row has more than one part */
	uint64_t   *slot;			/* open addressing; 0 is free, else key + 1 */
	size_t		mask;			/* slots - 1 */
	size_t		used;
} rb_unique;

extern void rb_unique_init(rb_unique *u, rb_context *ctx, const rb_job *job);
extern void rb_unique_free(rb_unique *u);

/*
 * Turns n pairs of parts into pairs of rows that were not seen before, in out
 * (room for n).  The caller serialises.
 */
extern rb_status rb_unique_rows(rb_unique *u, const rb_pair *parts, size_t n, rb_pair *out,
								size_t *nout);

#endif							/* RB_CORE_H */
