/*
 * rb_answer.h
 *	  What is made of pairs of rows where they are not wanted themselves.
 *
 *		answer.c	a count or a bit for each row, added to by all threads
 *		groups.c	pairs brought together by row
 */
#ifndef RB_ANSWER_H
#define RB_ANSWER_H

#include "core/base/redblue.h"

#include <pthread.h>

/* ---- groups.c ---- */

typedef struct rb_grouped
{
	uint64_t *start;
	uint32_t *member;
	uint32_t n;
} rb_grouped;

/*
 * The pairs by the rows or numbers that job->of names.  Out of memory is a status and no
 * error of the context, and then nothing was made.
 */
extern rb_status rb_groups_make(rb_context *ctx, const rb_job *job, const rb_pair *pairs,
								uint64_t n, rb_grouped *groups);
extern void rb_groups_free(rb_context *ctx, rb_grouped *groups);

/* ---- answer.c ---- */

typedef struct rb_answers
{
	rb_context *ctx;
	const rb_job *job;
	uint32_t rows;  /* of the side that is told of */
	uint32_t *word; /* a count for each, or a bit */
	uint64_t added; /* counts that a device made, summed up */

	/* RB_GROUPS */
	bool collecting; /* there was room so far */
	pthread_mutex_t lock;
	pthread_cond_t quiet; /* nobody writes pairs, so they may move */
	uint32_t writing;
	rb_pair *pairs;
	uint64_t n;
	uint64_t room;
	rb_grouped groups;
} rb_answers;

/* frees nothing on a failure: rb_answers_free does */
extern rb_status rb_answers_init(rb_answers *a, rb_context *ctx, const rb_job *job);
extern void rb_answers_free(rb_answers *a);

/* in the thread of the join: before it, and after all pairs are there */
extern rb_status rb_answers_begin(rb_answers *a);
extern rb_status rb_answers_end(rb_answers *a);

/* pairs of rows, each once; from any thread */
extern rb_status rb_answers_add(rb_answers *a, const rb_pair *rows, size_t n);

/* RB_HITS: pairs of parts, as often as you like */
extern void rb_answers_mark(rb_answers *a, const rb_pair *parts, size_t n);

/* what a device has made (put_words of rb_sink), and of how many pairs it made all counts */
extern void rb_answers_add_words(rb_answers *a, const uint32_t *words, size_t first, size_t n);
extern uint64_t rb_answers_added(const rb_answers *a);

/* RB_HITS: how many rows are hit */
extern uint64_t rb_answers_marked(const rb_answers *a);

#endif /* RB_ANSWER_H */
