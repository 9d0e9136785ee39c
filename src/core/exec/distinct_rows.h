/*
 * distinct_rows.h
 *	  Converts pairs of parts to distinct pairs of rows (distinct_rows.c).
 */
#ifndef RB_EXEC_DISTINCT_ROWS_H
#define RB_EXEC_DISTINCT_ROWS_H

#include "core/base/redblue.h"

typedef struct rb_unique
{
	rb_context *ctx;
	const rb_job *job;
	bool needed; /* True if some row has more than one part */
	/* True if the payload of a pair of rows is complete only after all parts are known */
	bool merges;
	uint64_t *slot;    /* Open-addressing hash table: 0 if free, otherwise key + 1 */
	uint64_t *payload; /* Merged payload of the pair in each slot, if `merges` is set */
	size_t mask;       /* Number of slots minus 1 */
	size_t used;
} rb_unique;

extern void rb_unique_init(rb_unique *u, rb_context *ctx, const rb_job *job);
extern void rb_unique_free(rb_unique *u);

/*
 * Converts n pairs of parts to pairs of rows that were not returned before, in `out`, which has
 * room for n. Calls must be serialized by the caller.
 */
extern rb_status rb_unique_rows(rb_unique *u, const rb_pair *parts, size_t n, rb_pair *out,
								size_t *nout);

/*
 * Converts n pairs of parts with payload. `out` receives the pairs of rows that have no other
 * parts; the others are merged.
 */
extern rb_status rb_unique_merge(rb_unique *u, const rb_pair *parts, const uint64_t *payload,
								 size_t n, rb_pair *out, uint64_t *out_told, size_t *nout);

/*
 * Returns the next merged pairs once all parts have been added: at most `most` pairs, starting at
 * position *at, which is 0 initially. Returns 0 at the end.
 */
extern size_t rb_unique_merged(const rb_unique *u, size_t *at, rb_pair *out, uint64_t *payload,
							   size_t most);

/* Returns true if a pair of rows with this payload belongs to the result. */
extern bool rb_unique_counts(const rb_job *job, uint64_t payload);

#endif /* RB_EXEC_DISTINCT_ROWS_H */
