/*
 * aggregate.c
 *	  Computes a count or a bit for each row instead of pairs, or groups the pairs by row.
 *
 * All threads share one array. Separate arrays would multiply the memory, and two threads rarely
 * update the same row at the same time. Pairs of the same row arrive together (leaf.c processes one
 * red object after the other), so they are added to the row in one operation.
 *
 * For groups, the pairs are first collected as long as the memory limit allows. When memory runs
 * out, these pairs and all later ones are only counted. The caller then knows how many pairs each
 * row has, and can request fewer rows at a time. If it wants groups or nothing, the join ends
 * there.
 */
#include "core/base/base.h"
#include "core/base/parallel.h"
#include "core/join/join.h"
#include "core/exec/row_pairs.h"
#include "core/base/sort.h"

#define CHECK_INTERVAL ((size_t) 1 << 20) /* Number of words between checks for cancellation */
#define FIRST_PAIRS RB_SIZE((uint64_t) 1 << 16, 3) /* Initial capacity; grows by half each time */

/*
 * Returns the number of 32-bit words of the aggregate: a bit per matched row, or one count per row.
 */
static size_t
count_aggregate_words(const rb_aggregate *a)
{
	return a->job->answer == RB_HITS ? ((size_t) a->rows + 31) / 32 : a->rows;
}

/* Allocates the words of the aggregate and sets them to zero. */
static rb_status
allocate_aggregate_words(rb_aggregate *a)
{
	const size_t n = count_aggregate_words(a);

	RB_TRY(RB_ALLOCATE(a->ctx, a->word, n > 0 ? n : 1));
	for (size_t i = 0; i < n; i += CHECK_INTERVAL)
	{
		memset(a->word + i, 0,
			   (n - i < CHECK_INTERVAL ? n - i : CHECK_INTERVAL) * sizeof(uint32_t));
		if (rb_should_stop(a->ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

rb_status
rb_aggregate_init(rb_aggregate *a, rb_context *ctx, const rb_job *job)
{
	memset(a, 0, sizeof(*a));
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->quiet, NULL);
	a->ctx = ctx;
	a->job = job;
	a->rows = job->of == RB_OF_BLUE ? rb_job_blue(job)->nrows : job->red->nrows;
	a->collecting = job->answer == RB_GROUPS;
	if (job->of == RB_OF_BOTH && job->blue != NULL)
		return rb_fail(ctx, RB_UNSUPPORTED, 0, 0, NULL);
	return RB_OK;
}

static void free_grouped_pairs(rb_context *ctx, rb_grouped *groups);

void
rb_aggregate_free(rb_aggregate *a)
{
	if (a->ctx == NULL)
		return;
	RB_FREE(a->ctx->memory, a->word);
	RB_FREE(a->ctx->memory, a->pairs);
	free_grouped_pairs(a->ctx, &a->groups);
	pthread_cond_destroy(&a->quiet);
	pthread_mutex_destroy(&a->lock);
}

rb_status
rb_aggregate_begin(rb_aggregate *a)
{
	return a->job->answer == RB_PAIRS || a->job->answer == RB_COUNT ? RB_OK
																	: allocate_aggregate_words(a);
}

/* ---- counts ---- */

/* Adds the n pairs to the counts of their rows; consecutive pairs of a row take one addition. */
static void
count_pairs_per_row(rb_aggregate *a, const uint32_t *row, size_t n)
{
	for (size_t i = 0; i < n;)
	{
		const uint32_t r = row[2 * i];
		size_t end = i + 1;

		while (end < n && row[2 * end] == r)
			end++;
		rb_add(&a->word[r], (uint32_t) (end - i));
		i = end;
	}
}

/* Adds pairs of rows to the aggregate of the side or sides that the job names. */
static void
add_pairs_to_counts(rb_aggregate *a, const rb_pair *rows, size_t n)
{
	if (n > 0 && a->job->of != RB_OF_BLUE)
		count_pairs_per_row(a, &rows->red, n);
	if (n > 0 && a->job->of != RB_OF_RED)
		count_pairs_per_row(a, &rows->blue, n);
}

/* ---- groups: collected or only counted ---- */

/* Converts the collected pairs to counts when memory runs out, or fails if groups are required. */
static rb_status
stop_collecting_pairs(rb_aggregate *a)
{
	rb_status status = RB_OK;

	a->collecting = false;
	if (a->job->whole)
		return rb_fail(a->ctx, RB_OVER_BUDGET,
					   rb_memory_used(a->ctx->memory) + a->n * sizeof(rb_pair),
					   rb_memory_limit(a->ctx->memory), NULL);
	for (uint64_t i = 0; i < a->n && status == RB_OK; i += CHECK_INTERVAL)
	{
		add_pairs_to_counts(a, a->pairs + i, a->n - i < CHECK_INTERVAL ? a->n - i : CHECK_INTERVAL);
		if (rb_should_stop(a->ctx))
			status = RB_STOPPED;
	}
	RB_FREE(a->ctx->memory, a->pairs);
	a->n = a->room = 0;
	return status;
}

/* Makes room for n more pairs if memory allows; the pairs may move. */
static bool
grow_collected_pairs(rb_aggregate *a, uint64_t n)
{
	uint64_t room = a->room > 0 ? a->room : FIRST_PAIRS;
	rb_error error;

	while (room < a->n + n)
		room += room / 2;
	if (rb_resize(a->ctx->memory, (void **) &a->pairs, room * sizeof(rb_pair), &error) != RB_OK)
		return false;
	a->room = room;
	return true;
}

/*
 * Appends pairs to the collected ones. Reserves a range under the lock and writes it without the
 * lock, because most of the time for a large result is spent on first-touch page faults.
 */
static rb_status
collect_pairs_for_groups(rb_aggregate *a, const rb_pair *rows, size_t n)
{
	rb_status status = RB_OK;
	rb_pair *to = NULL;

	if (n == 0)
		return RB_OK;
	pthread_mutex_lock(&a->lock);
	while (a->collecting && a->n + n > a->room)
		if (a->writing > 0)
			pthread_cond_wait(&a->quiet, &a->lock);
		else if (!grow_collected_pairs(a, n))
			status = stop_collecting_pairs(a);
	if (a->collecting)
	{
		to = a->pairs + a->n;
		a->n += n;
		a->writing++;
	}
	pthread_mutex_unlock(&a->lock);
	if (to == NULL)
	{
		if (status == RB_OK)
			add_pairs_to_counts(a, rows, n);
		return status;
	}
	memcpy(to, rows, n * sizeof(rb_pair));
	pthread_mutex_lock(&a->lock);
	if (--a->writing == 0)
		pthread_cond_broadcast(&a->quiet);
	pthread_mutex_unlock(&a->lock);
	return RB_OK;
}

rb_status
rb_aggregate_end(rb_aggregate *a)
{
	rb_status status;

	if (!a->collecting)
		return RB_OK;
	if (a->n < a->room)
		rb_shrink(a->ctx->memory, (void **) &a->pairs, a->n * sizeof(rb_pair));
	status = rb_groups_build(a->ctx, a->job, a->pairs, a->n, &a->groups);
	if (status == RB_OVER_BUDGET || status == RB_OUT_OF_MEMORY)
		return stop_collecting_pairs(a);
	RB_FREE(a->ctx->memory, a->pairs);
	RB_FREE(a->ctx->memory, a->word);
	return status;
}

/* ---- called by the sink ---- */

rb_status
rb_aggregate_add(rb_aggregate *a, const rb_pair *rows, size_t n)
{
	if (a->job->answer == RB_COUNTS)
		add_pairs_to_counts(a, rows, n);
	else if (a->job->answer == RB_GROUPS)
		return collect_pairs_for_groups(a, rows, n);
	return RB_OK;
}

void
rb_aggregate_mark(rb_aggregate *a, const rb_pair *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rb_mark_pair(a->job, a->word, parts[i].red, parts[i].blue);
}

void
rb_aggregate_add_words(rb_aggregate *a, const uint32_t *words, size_t first, size_t n)
{
	const rb_set *set = a->job->of == RB_OF_BLUE ? rb_job_blue(a->job) : a->job->red;

	for (size_t i = 0; i < n; i++)
		if (a->job->answer == RB_COUNTS)
		{
			a->word[first + i] += words[i];
			a->added += words[i];
		}
		else if (set->row_of == NULL)
			a->word[first + i] |= words[i];
		else
			for (uint32_t bits = words[i]; bits != 0; bits &= bits - 1)
				rb_mark(a->word, rb_row_of(set, (uint32_t) (32 * (first + i)) +
													(uint32_t) __builtin_ctz(bits)));
}

uint64_t
rb_aggregate_added(const rb_aggregate *a)
{
	/* Each pair is in two counts, which may have arrived in different pieces. */
	return a->job->of == RB_OF_BOTH ? a->added / 2 : a->added;
}

uint64_t
rb_aggregate_marked(const rb_aggregate *a)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count_aggregate_words(a); i++)
		sum += (uint64_t) __builtin_popcount(a->word[i]);
	return sum;
}

/* ---- groups of pairs ---- */

/*
 * Groups pairs by row: count, prefix sum, scatter, and sort within each group.
 *
 * This is a counting sort on all threads. Unlike in the grid (grid_build.c), one atomic counter per
 * group assigns the positions, so threads need no counts of their own. Pairs of one red row arrive
 * together from the join, so a run of them reserves its positions with one operation. The threads
 * store the members of a group in an arbitrary order. Sorting them afterwards makes the result
 * reproducible and costs little, since most groups are small.
 */

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

/*
 * Returns the group to which the aggregate of a job adds a row's pairs: the number of its id if
 * rows share ids, otherwise the row itself.
 */
static inline uint32_t
group_of_aggregated_row(const rb_job *job, uint32_t row)
{
	return job->number != NULL ? job->number[row] : row;
}

/*
 * Sets a range of the group starts to zero, on one thread, before the counting sort of the members.
 */
static void
clear_group_starts_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_grouping *g = arg;

	(void) me;
	memset(g->start + from, 0, (to - from) * sizeof(uint64_t));
}

/*
 * Returns the length of the run of pairs, among the n next ones, that belong to the group of the
 * first; `row` points to the grouped side of the first pair.
 */
static inline uint64_t
length_of_group_run(const rb_job *job, const uint32_t *row, uint64_t n)
{
	const uint32_t group = group_of_aggregated_row(job, row[0]);
	uint64_t k = 1;

	while (k < n && group_of_aggregated_row(job, row[2 * k]) == group)
		k++;
	return k;
}

/* Adds the pairs of one side to the sizes of its groups. */
static void
count_members_of_side(rb_grouping *g, const uint32_t *row, uint64_t n)
{
	for (uint64_t i = 0, run; i < n; i += run)
	{
		run = length_of_group_run(g->job, row + 2 * i, n - i);
		rb_add(&g->start[(uint64_t) group_of_aggregated_row(g->job, row[2 * i]) + 2], run);
	}
}

/* Counts the members of each group among the pairs of a range. */
static void
count_group_members_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_grouping *g = arg;

	(void) me;
	if (g->job->of != RB_OF_BLUE)
		count_members_of_side(g, &g->pairs[from].red, to - from);
	if (g->job->of != RB_OF_RED)
		count_members_of_side(g, &g->pairs[from].blue, to - from);
}

/* Stores the partners of one side in the groups of its rows. */
static void
scatter_members_of_side(rb_grouping *g, const uint32_t *row, const uint32_t *partner, uint64_t n)
{
	for (uint64_t i = 0, run; i < n; i += run)
	{
		uint32_t *member;

		run = length_of_group_run(g->job, row + 2 * i, n - i);
		member = g->member +
				 rb_add(&g->start[(uint64_t) group_of_aggregated_row(g->job, row[2 * i]) + 1], run);
		for (uint64_t k = 0; k < run; k++)
			member[k] = partner[2 * (i + k)];
	}
}

/* Stores the members of each group among the pairs of a range. */
static void
scatter_group_members_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_grouping *g = arg;
	const rb_pair *first = &g->pairs[from];

	(void) me;
	if (g->job->of != RB_OF_BLUE)
		scatter_members_of_side(g, &first->red, &first->blue, to - from);
	if (g->job->of != RB_OF_RED)
		scatter_members_of_side(g, &first->blue, &first->red, to - from);
}

/* ---- sorting of members ---- */

/* Sorts the members of each group in a range. */
static void
sort_group_members_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_grouping *g = arg;

	(void) me;
	for (uint64_t i = from; i < to && !rb_should_stop(g->ctx); i++)
		(void) rb_sort_numbers(g->ctx, g->member + g->start[i], g->start[i + 1] - g->start[i]);
}

/* ---- complete grouping ---- */

/* Groups all pairs: counts, starts, members, in ascending order within each group. */
static rb_status
group_collected_pairs(rb_grouping *g, uint64_t n, uint32_t groups)
{
	rb_context *ctx = g->ctx;
	const int by_pairs = rb_threads_for(ctx, n, GRAIN);
	const int by_groups = rb_threads_for(ctx, groups, GROUP_GRAIN);
	rb_thread *me = NULL;
	rb_status status = rb_team_open(ctx, by_pairs > by_groups ? by_pairs : by_groups, &me);

	if (status == RB_OVER_BUDGET || status == RB_OUT_OF_MEMORY)
		rb_forget_failure(ctx); /* The join itself is finished and has not failed */
	if (status == RB_OK)
		status = rb_loop(me, (uint64_t) groups + 2, WORD_GRAIN, clear_group_starts_piece, g);
	if (status == RB_OK)
		status = rb_loop(me, n, GRAIN, count_group_members_piece, g);
	/*
	 * The size of group i is at i + 2. After the prefix sum, the start of group i is at i + 1.
	 * Scattering advances it to the end of the group, which is the start of group i + 1.
	 */
	for (uint64_t i = 2; i < (uint64_t) groups + 2 && status == RB_OK; i++)
	{
		g->start[i] += g->start[i - 1];
		if (i % WORD_GRAIN == 0 && rb_should_stop(ctx))
			status = RB_STOPPED;
	}
	if (status == RB_OK)
		status = rb_loop(me, n, GRAIN, scatter_group_members_piece, g);
	if (status == RB_OK)
		status = rb_loop(me, groups, GROUP_GRAIN, sort_group_members_piece, g);
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
		status = group_collected_pairs(&g, n, groups->n);
	groups->start = g.start;
	groups->member = g.member;
	if (status != RB_OK)
		free_grouped_pairs(ctx, groups);
	return status;
}

/* Frees the starts and members of grouped pairs. */
static void
free_grouped_pairs(rb_context *ctx, rb_grouped *groups)
{
	RB_FREE(ctx->memory, groups->start);
	RB_FREE(ctx->memory, groups->member);
}
