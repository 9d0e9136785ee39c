/*
 * distinct_rows.h
 *	  Converts pairs of parts to distinct pairs of rows (distinct_rows.c).
 */
#ifndef RB_EXEC_DISTINCT_ROWS_H
#define RB_EXEC_DISTINCT_ROWS_H

#include "core/base/hash.h"

#define RB_NO_PAIR UINT64_MAX /* key of a free slot; a set has fewer rows */

/* The pairs of rows that were returned, each as red << 32 | blue */
#define RB_HASH rb_row_pairs
#define RB_HASH_SLOT uint64_t
#define RB_HASH_KEY uint64_t
#define RB_HASH_OF(arg, key) rb_mix(key)
#define RB_HASH_EQUAL(arg, slot, key) ((slot) == (key))
#define RB_HASH_KEY_OF(arg, slot) (slot)
#include "core/base/hash.h"

typedef struct rb_merged_pair
{
	uint64_t key;
	uint64_t payload;
} rb_merged_pair;

/* The pairs of rows with the merged payload of their parts */
#define RB_HASH rb_merged_pairs
#define RB_HASH_SLOT rb_merged_pair
#define RB_HASH_KEY uint64_t
#define RB_HASH_OF(arg, key) rb_mix(key)
#define RB_HASH_EQUAL(arg, slot, wanted) ((slot).key == (wanted))
#define RB_HASH_KEY_OF(arg, slot) ((slot).key)
#define RB_HASH_IS_FREE(slot) ((slot).key == RB_NO_PAIR)
#include "core/base/hash.h"

typedef struct rb_unique
{
	rb_context *ctx;
	const rb_job *job;
	bool needed; /* True if some row has more than one part */
	/* True if the payload of a pair of rows is complete only after all parts are known */
	bool merges;
	rb_row_pairs known;     /* Pairs that were returned, unless `merges` is set */
	rb_merged_pairs merged; /* Pairs with their payload, if `merges` is set */
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


#endif /* RB_EXEC_DISTINCT_ROWS_H */
