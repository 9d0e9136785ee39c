/*
 * row_pairs.h
 *	  Declares the steps between the pairs of parts that a backend finds and the results of a
 *	  stream, grouped by the file that defines them.
 */
#ifndef RB_EXEC_ROW_PAIRS_H
#define RB_EXEC_ROW_PAIRS_H

#include "core/base/hash.h"
#include "core/primitive/reference_point.h"

#include <pthread.h>

/* ---- from pairs of parts to distinct pairs of rows (row_pairs.c) ---- */

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

/* Initializes the state for the pairs of a job, without pairs. */
extern void rb_unique_init(rb_unique *u, rb_context *ctx, const rb_job *job);
/* Frees all pairs of the state. */
extern void rb_unique_free(rb_unique *u);

/*
 * Converts n pairs of parts to the pairs of rows that were not returned before, and stores them in
 * `out`, which has room for n. If the pairs have a payload, stores only pairs of rows with one part
 * each, with their payloads in `out_payload`, and merges the payloads of the other pairs. `payload`
 * is NULL if the pairs have none. The caller must serialize calls.
 */
extern rb_status rb_unique_rows(rb_unique *u, const rb_pair *parts, const uint64_t *payload,
								size_t n, rb_pair *out, uint64_t *out_payload, size_t *nout);

/*
 * Returns the next merged pairs once all parts have been added: at most `most` pairs, starting at
 * position *at, which is 0 initially. Returns 0 at the end.
 */
extern size_t rb_unique_merged(const rb_unique *u, size_t *at, rb_pair *out, uint64_t *payload,
							   size_t most);

/* ---- a count or a bit for each row, or groups, instead of pairs (aggregate.c) ---- */

typedef struct rb_grouped
{
	uint64_t *start;
	uint32_t *member;
	uint32_t n;
} rb_grouped;

/*
 * Groups the pairs by the rows or numbers that job->of selects. If memory runs out, returns a
 * status without setting the context's error, and creates nothing.
 */
extern rb_status rb_groups_build(rb_context *ctx, const rb_job *job, const rb_pair *pairs,
								 uint64_t n, rb_grouped *groups);

typedef struct rb_aggregate
{
	rb_context *ctx;
	const rb_job *job;
	uint32_t rows;  /* Number of rows of the reported side */
	uint32_t *word; /* A count or a bit for each row */
	uint64_t added; /* Sum of the counts computed by a device */

	/* Fields for RB_GROUPS */
	bool collecting; /* True as long as memory has sufficed */
	pthread_mutex_t lock;
	pthread_cond_t quiet; /* Signaled when no thread is writing pairs, so that they may move */
	uint32_t writing;
	rb_pair *pairs;
	uint64_t n;
	uint64_t room;
	rb_grouped groups;
} rb_aggregate;

/* Initializes an aggregate. After a failure, the caller must still call rb_aggregate_free. */
extern rb_status rb_aggregate_init(rb_aggregate *a, rb_context *ctx, const rb_job *job);

/* Frees the arrays of an aggregate, also after a failure. */
extern void rb_aggregate_free(rb_aggregate *a);

/* Starts the aggregate in the join's thread, before the join. */
extern rb_status rb_aggregate_begin(rb_aggregate *a);

/* Finishes the aggregate in the join's thread, after all pairs have arrived. */
extern rb_status rb_aggregate_end(rb_aggregate *a);

/* Adds distinct pairs of rows; callable from any thread. */
extern rb_status rb_aggregate_add(rb_aggregate *a, const rb_pair *rows, size_t n);

/* Marks the rows of pairs of parts, which may contain duplicates (RB_HITS). */
extern void rb_aggregate_mark(rb_aggregate *a, const rb_pair *parts, size_t n);

/* Adds words computed by a device (put_words of rb_sink). */
extern void rb_aggregate_add_words(rb_aggregate *a, const uint32_t *words, size_t first, size_t n);

/* Returns the number of pairs in all counts that a device has added. */
extern uint64_t rb_aggregate_added(const rb_aggregate *a);

/* Returns the number of matched rows (RB_HITS). */
extern uint64_t rb_aggregate_marked(const rb_aggregate *a);

/* ---- whether a pair of rows belongs to the tile of a job (row_pairs.c) ---- */

typedef struct rb_in_tile
{
	rb_box tile;
	/* Red and blue, or the same set twice in a self join; the sets must outlive this struct */
	const rb_set *set[2];
	double *low[2]; /* Lower corner of each row's bounding box; NULL if each row has one part */
} rb_in_tile;

/*
 * Prepares the test. The job has a tile, and its sets have their coordinates. Call rb_in_tile_free
 * even after a failure.
 */
extern rb_status rb_in_tile_build(rb_context *ctx, const rb_job *job, rb_in_tile *in);

/* Frees the boxes for the test of a job's tile, also after a failure. */
extern void rb_in_tile_free(rb_context *ctx, rb_in_tile *in);

/* Computes the lower corner of the bounding box of a row of red (0) or blue (1). */
static inline void
rb_in_tile_low(const rb_in_tile *in, int side, uint32_t row, double low[3])
{
	const rb_set *set = in->set[side];
	double high[3];

	if (in->low[side] == NULL)
		rb_kind_box(set->kind, set->coords, row, low, high);
	else
		for (int a = 0; a < 3; a++)
			low[a] = in->low[side][3 * (size_t) row + a];
}

/* Returns true if a pair of rows belongs to the tile. */
static inline bool
rb_in_tile_owns(const rb_in_tile *in, uint32_t red, uint32_t blue)
{
	double low[2][3];

	rb_in_tile_low(in, 0, red, low[0]);
	rb_in_tile_low(in, 1, blue, low[1]);
	return rb_tile_owns(in->tile.dims, &in->tile, low[0], low[1]);
}

#endif /* RB_EXEC_ROW_PAIRS_H */
