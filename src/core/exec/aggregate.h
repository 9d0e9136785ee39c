/*
 * aggregate.h
 *	  Declares aggregates that are computed from pairs of rows when the pairs themselves are not
 *	  requested: a count or a bit for each row, or pairs grouped by row (aggregate.c).
 */
#ifndef RB_EXEC_AGGREGATE_H
#define RB_EXEC_AGGREGATE_H

#include "core/base/redblue.h"

#include <pthread.h>

/* ---- grouping ---- */

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

/* ---- aggregates (aggregate.c) ---- */

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
extern void rb_aggregate_free(rb_aggregate *a);

/*
 * Starts and finishes the aggregate in the join's thread: before the join, and after all pairs have
 * arrived.
 */
extern rb_status rb_aggregate_begin(rb_aggregate *a);
extern rb_status rb_aggregate_end(rb_aggregate *a);

/* Adds distinct pairs of rows; callable from any thread. */
extern rb_status rb_aggregate_add(rb_aggregate *a, const rb_pair *rows, size_t n);

/* RB_HITS: marks the rows of pairs of parts, which may contain duplicates. */
extern void rb_aggregate_mark(rb_aggregate *a, const rb_pair *parts, size_t n);

/*
 * Adds words computed by a device (put_words of rb_sink). rb_aggregate_added returns the number of
 * pairs in all counts added this way.
 */
extern void rb_aggregate_add_words(rb_aggregate *a, const uint32_t *words, size_t first, size_t n);
extern uint64_t rb_aggregate_added(const rb_aggregate *a);

/* RB_HITS: returns the number of matched rows. */
extern uint64_t rb_aggregate_marked(const rb_aggregate *a);

#endif /* RB_EXEC_AGGREGATE_H */
