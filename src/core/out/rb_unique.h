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
	bool merges;    /* what is told of a pair of rows is known when all of their parts are */
	uint64_t *slot; /* open addressing; 0 is free, else key + 1 */
	uint64_t *told; /* where it merges, of the pair in that slot */
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

/*
 * The same with what is told of each: out gets those pairs of rows that have no other parts; the
 * others are merged.
 */
extern rb_status rb_unique_merge(rb_unique *u, const rb_pair *parts, const uint64_t *told, size_t n,
								 rb_pair *out, uint64_t *out_told, size_t *nout);

/* when there are no more parts: some of the merged pairs, from *at on, which begins at 0; 0 at the end */
extern size_t rb_unique_merged(const rb_unique *u, size_t *at, rb_pair *out, uint64_t *told,
							   size_t most);

/* does a pair of rows of which that is told belong to the answer? */
extern bool rb_unique_counts(const rb_job *job, uint64_t told);

#endif /* RB_UNIQUE_H */
