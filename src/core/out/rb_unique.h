/*
 * rb_unique.h
 *	  Pairs of parts to pairs of rows, each once (unique.c).
 */
#ifndef RB_UNIQUE_H
#define RB_UNIQUE_H

#include "core/base/redblue.h"

typedef struct rb_unique
{
	rb_context *ctx;
	const rb_job *job;
	bool needed;    /* some row has more than one part */
	uint64_t *slot; /* open addressing; 0 is free, else key + 1 */
	size_t mask;    /* slots - 1 */
	size_t used;
} rb_unique;

extern void rb_unique_init(rb_unique *u, rb_context *ctx, const rb_job *job);
extern void rb_unique_free(rb_unique *u);

/*
 * Turns n pairs of parts into pairs of rows that were not seen before, in out
 * (room for n).  The caller serialises.
 */
extern rb_status rb_unique_rows(rb_unique *u, const rb_pair *parts, size_t n, rb_pair *out,
								size_t *nout);

#endif /* RB_UNIQUE_H */
