/*
 * group_by_id.c
 *	  Groups pairs by row: count, prefix sum, scatter, and sort within each group.
 *
 * This is a counting sort on all threads. As in the grid (grid.c), one atomic counter per group
 * assigns the positions, so threads need no lists of their own. Pairs of one red row arrive
 * together from the join, so a run of them reserves its positions with one operation. The threads
 * store the members of a group in an arbitrary order. Sorting them afterwards makes the result
 * reproducible and costs little, since most groups are small.
 */
#include "core/base/parallel.h"
#include "core/base/sort.h"
#include "core/base/thread_count.h"
#include "core/join/join.h"
#include "core/exec/aggregate.h"

#define GRAIN RB_SIZE(65536, 10)       /* Number of pairs a thread takes at a time */
#define GROUP_GRAIN RB_SIZE(4096, 3)   /* Number of groups a thread takes at a time */
#define WORD_GRAIN RB_SIZE(1 << 20, 5) /* Number of words cleared at a time */

typedef struct rb_grouping
{
	rb_context *ctx;
	const rb_job *job;
	const rb_pair *pairs;
	/* Start of each group, shifted by up to two entries during the counting sort */
	uint64_t *start;
	uint32_t *member;
} rb_grouping;

static inline uint32_t
group_of(const rb_job *job, uint32_t row)
{
	return job->number != NULL ? job->number[row] : row;
}

static void
clear_words(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_grouping *g = arg;

	(void) me;
	memset(g->start + from, 0, (to - from) * sizeof(uint64_t));
}

/*
 * Returns how many of the first n pairs of rows belong to the same group; `row` points to the
 * grouped side of the first pair.
 */
static inline uint64_t
run_of(const rb_job *job, const uint32_t *row, uint64_t n)
{
	const uint32_t group = group_of(job, row[0]);
	uint64_t k = 1;

	while (k < n && group_of(job, row[2 * k]) == group)
		k++;
	return k;
}

static void
count_side(rb_grouping *g, const uint32_t *row, uint64_t n)
{
	for (uint64_t i = 0, run; i < n; i += run)
	{
		run = run_of(g->job, row + 2 * i, n - i);
		rb_add(&g->start[(uint64_t) group_of(g->job, row[2 * i]) + 2], run);
	}
}

static void
count_members(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_grouping *g = arg;

	(void) me;
	if (g->job->of != RB_OF_BLUE)
		count_side(g, &g->pairs[from].red, to - from);
	if (g->job->of != RB_OF_RED)
		count_side(g, &g->pairs[from].blue, to - from);
}

static void
scatter_side(rb_grouping *g, const uint32_t *row, const uint32_t *partner, uint64_t n)
{
	for (uint64_t i = 0, run; i < n; i += run)
	{
		uint32_t *member;

		run = run_of(g->job, row + 2 * i, n - i);
		member = g->member + rb_add(&g->start[(uint64_t) group_of(g->job, row[2 * i]) + 1], run);
		for (uint64_t k = 0; k < run; k++)
			member[k] = partner[2 * (i + k)];
	}
}

static void
scatter_members(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_grouping *g = arg;
	const rb_pair *first = &g->pairs[from];

	(void) me;
	if (g->job->of != RB_OF_BLUE)
		scatter_side(g, &first->red, &first->blue, to - from);
	if (g->job->of != RB_OF_RED)
		scatter_side(g, &first->blue, &first->red, to - from);
}

/* ---- sorting of members ---- */

static void
sort_members(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_grouping *g = arg;

	(void) me;
	for (uint64_t i = from; i < to && !rb_should_stop(g->ctx); i++)
		(void) rb_sort_numbers(g->ctx, g->member + g->start[i], g->start[i + 1] - g->start[i]);
}

/* ---- complete grouping ---- */

static rb_status
group_pairs(rb_grouping *g, uint64_t n, uint32_t groups)
{
	rb_context *ctx = g->ctx;
	const int by_pairs = rb_threads_for(ctx, n, GRAIN);
	const int by_groups = rb_threads_for(ctx, groups, GROUP_GRAIN);
	rb_thread *me = NULL;
	rb_status status = rb_team_open(ctx, by_pairs > by_groups ? by_pairs : by_groups, &me);

	if (status == RB_OVER_BUDGET || status == RB_OUT_OF_MEMORY)
		rb_forget_failure(ctx); /* The join itself is finished and has not failed */
	if (status == RB_OK)
		status = rb_loop(me, (uint64_t) groups + 2, WORD_GRAIN, clear_words, g);
	if (status == RB_OK)
		status = rb_loop(me, n, GRAIN, count_members, g);
	/*
	 * The size of group i is at i + 2. The prefix sum turns it into the start of group i at i + 1,
	 * and scattering into its end.
	 */
	for (uint64_t i = 2; i < (uint64_t) groups + 2 && status == RB_OK; i++)
	{
		g->start[i] += g->start[i - 1];
		if (i % WORD_GRAIN == 0 && rb_should_stop(ctx))
			status = RB_STOPPED;
	}
	if (status == RB_OK)
		status = rb_loop(me, n, GRAIN, scatter_members, g);
	if (status == RB_OK)
		status = rb_loop(me, groups, GROUP_GRAIN, sort_members, g);
	rb_team_close(&me);
	return status == RB_OK && rb_should_stop(ctx) ? RB_STOPPED : status;
}

rb_status
rb_groups_build(rb_context *ctx, const rb_job *job, const rb_pair *pairs, uint64_t n,
				rb_grouped *groups)
{
	const rb_set *side = job->of == RB_OF_BLUE ? rb_job_blue(job) : job->red;
	const uint64_t members = job->of == RB_OF_BOTH ? 2 * n : n;
	rb_grouping g = {ctx, job, pairs, NULL, NULL};
	rb_error error;
	rb_status status;

	groups->n = job->number != NULL ? job->numbers : side->nrows;
	status = rb_resize(ctx->memory, (void **) &g.start, ((size_t) groups->n + 2) * sizeof(uint64_t),
					   &error);
	if (status == RB_OK && members > 0)
		status = rb_resize(ctx->memory, (void **) &g.member, members * sizeof(uint32_t), &error);
	if (status == RB_OK)
		status = group_pairs(&g, n, groups->n);
	groups->start = g.start;
	groups->member = g.member;
	if (status != RB_OK)
		rb_groups_free(ctx, groups);
	return status;
}

void
rb_groups_free(rb_context *ctx, rb_grouped *groups)
{
	RB_FREE(ctx->memory, groups->start);
	RB_FREE(ctx->memory, groups->member);
}
