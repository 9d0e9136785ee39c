/*
 * nearest.c
 *	  Computes RB_NEAREST: finds for each red row its k nearest blue rows, in order.
 *
 *		a tree of blue's boxes                                        box_tree.c
 *			-> from near to far, for each red row: pairs of parts     nearest.c
 *			-> their distances: bounds in doubles, then exact order   candidate.h
 *			-> the k best rows so far, whose worst one is the bound   nearest.c
 *
 * All of this runs on the CPU, whatever the backend: the traversal of a tree depends on what was
 * found before, whereas a device needs the same work for thousands of threads at once.
 *
 * Blue's parts are in a tree. For a red row, they are visited from near to far by the gaps between
 * boxes (N. Roussopoulos, S. Kelley, F. Vincent: Nearest neighbor queries, 1995), and a branch is
 * skipped if its gap exceeds the distance of the worst of the k best rows so far. If the red row
 * has many parts, another tree is built of them, and gaps are measured to the nearest of its boxes;
 * the parts of that tree are visited for a blue part in the same way.
 *
 * The search has two rounds. The first one finds the rows that meet red, which requires only signs.
 * All of these are at the same distance, so a row is added if its rank is lower than that of the
 * last of the k rows, and a branch without such ranks is skipped. If the first round finds k rows,
 * these are the result. Otherwise all rows that meet red are known, and the second round finds the
 * others.
 *
 * Red rows are processed in the order of such a tree, so that the blue parts that one row needs are
 * in the CPU cache from the previous row.
 */
#include "core/join/join.h"
#include "core/base/parallel.h"
#include "core/nearest/candidate.h"
#include "core/set/set.h"

/* ---- the best rows so far ---- */

/*
 * Keeps the best k rows found so far in a heap with the worst at the top.
 *
 * Rows with several parts are offered more than once; only a nearer part changes the row's
 * candidate, which can then only sink in the heap. A row that was removed may be offered again with
 * a nearer part; it was worse than k rows before and must now be better than one of them.
 *
 * k may be a million, and each comparison may be one of rational numbers, so all loops poll for a
 * stop.
 */

/* A heap of candidates with the worst at the top */
typedef struct rb_best
{
	rb_distance_state *asker;
	rb_candidate *heap;
	uint32_t n;
	uint32_t cap;
	uint32_t k;
	uint32_t *place; /* position of each blue row in the heap, from 1; 0 if absent */
} rb_best;

/* Returns true if the heap holds k candidates, so that new ones must be better than the worst. */
static inline bool
rb_best_full(const rb_best *b)
{
	return b->n == b->k;
}

/* Returns the candidate of a blue row, or NULL. */
static inline const rb_candidate *
rb_best_of(const rb_best *b, uint32_t row)
{
	return b->place[row] == 0 ? NULL : &b->heap[b->place[row] - 1];
}

/* Allocates the heap positions of all blue rows. */
static rb_status
rb_best_init(rb_best *b, rb_distance_state *asker, uint32_t k)
{
	const uint32_t rows = asker->blue->nrows;

	b->asker = asker;
	b->k = k;
	RB_TRY(RB_ALLOCATE(asker->ctx, b->place, rows));
	memset(b->place, 0, (size_t) rows * sizeof *b->place);
	return RB_OK;
}

/* Frees the heap and the positions of blue rows in it. */
static void
rb_best_free(rb_best *b)
{
	RB_FREE(b->asker->ctx->memory, b->heap);
	RB_FREE(b->asker->ctx->memory, b->place);
}

/* Returns where the heap position of a candidate's blue row is stored: from 1, or 0 if absent. */
static uint32_t *
position_in_heap(const rb_best *b, const rb_candidate *c)
{
	return &b->place[rb_row_of(b->asker->blue, c->blue)];
}

/* Writes a candidate to index `at` of the heap, and notes the position of its row. */
static void
write_candidate_to_heap(rb_best *b, uint32_t at, const rb_candidate *c)
{
	b->heap[at] = *c;
	*position_in_heap(b, c) = at + 1;
}

/* Moves a candidate up from a free position of the heap. */
static void
move_candidate_up(rb_best *b, uint32_t at, rb_candidate *c)
{
	while (at > 0 && !rb_should_stop(b->asker->ctx))
	{
		const uint32_t above = (at - 1) / 2;

		if (order_candidates(b->asker, &b->heap[above], c) >= 0)
			break;
		write_candidate_to_heap(b, at, &b->heap[above]);
		at = above;
	}
	write_candidate_to_heap(b, at, c);
}

/* Moves a candidate down from a free position of the heap. */
static void
move_candidate_down(rb_best *b, uint32_t at, uint32_t n, rb_candidate *c)
{
	while (2 * (uint64_t) at + 1 < n && !rb_should_stop(b->asker->ctx))
	{
		uint32_t below = 2 * at + 1;

		if (below + 1 < n && order_candidates(b->asker, &b->heap[below], &b->heap[below + 1]) < 0)
			below++;
		if (order_candidates(b->asker, c, &b->heap[below]) >= 0)
			break;
		write_candidate_to_heap(b, at, &b->heap[below]);
		at = below;
	}
	write_candidate_to_heap(b, at, c);
}

/* Doubles the capacity of the heap, up to k. */
static rb_status
grow_heap_of_best(rb_best *b)
{
	const uint32_t twice = b->cap > 0 ? 2 * b->cap : 16;
	const uint32_t cap = twice < b->k ? twice : b->k;

	RB_TRY(RB_ALLOCATE(b->asker->ctx, b->heap, cap));
	b->cap = cap;
	return RB_OK;
}

/*
 * Adds a candidate if it is better than the worst one and within the distance of the job, or
 * replaces the candidate of its row if it is nearer. Must not be called after a stop.
 */
static rb_status
rb_best_offer(rb_best *b, rb_candidate *c, double distance)
{
	rb_candidate *same = (rb_candidate *) rb_best_of(b, rb_row_of(b->asker->blue, c->blue));
	rb_candidate *worst = rb_best_full(b) ? &b->heap[0] : NULL;

	if (same != NULL)
	{
		if (compare_candidates(b->asker, c, same) < 0)
			move_candidate_down(b, (uint32_t) (same - b->heap), b->n, c);
		return RB_OK;
	}
	if (worst != NULL && order_candidates(b->asker, c, worst) >= 0)
		return RB_OK;
	if (!is_candidate_within(b->asker, c, distance))
		return RB_OK;
	if (worst != NULL)
	{
		*position_in_heap(b, worst) = 0;
		move_candidate_down(b, 0, b->n, c);
		return RB_OK;
	}
	if (b->n == b->cap)
		RB_TRY(grow_heap_of_best(b));
	move_candidate_up(b, b->n++, c);
	return RB_OK;
}

/* Sorts the heap, best first; it must be cleared afterward. */
static void
rb_best_sort(rb_best *b)
{
	for (uint32_t n = b->n; n > 1 && !rb_should_stop(b->asker->ctx); n--)
	{
		rb_candidate worst = b->heap[0], last = b->heap[n - 1];

		move_candidate_down(b, 0, n - 1, &last);
		b->heap[n - 1] = worst;
	}
}

/* Empties the heap before the next red row, and removes the positions of its rows. */
static void
rb_best_clear(rb_best *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		*position_in_heap(b, &b->heap[i]) = 0;
	b->n = 0;
	b->asker->labels = 0;
}

/* ---- search ---- */

/* Red rows of one piece of work */
#define GRAIN RB_SIZE(64, 2)
/* Minimum number of blue parts at the worst distance for which tied branches are skipped */
#define TIES RB_SIZE(16, 2)
/* Pairs written to the sink at once, unless one row has more */
#define BATCH RB_SIZE(4096, 8)

typedef struct knn_worker
{
	rb_distance_state asker;
	rb_best best;
	rb_tree row;   /* tree of a red row's parts */
	bool touching; /* true in the first round */
	/* number of parts in this row's second round that may be as far away as the worst */
	uint32_t ties;
	rb_tie tie;
	uint32_t last; /* part of the last red row written, if it has only one, else UINT32_MAX */
	size_t nlast;  /* number of its pairs, the last ones of the batch */
	rb_pair *pair;
	uint64_t *payload;
	size_t n;
	size_t cap;
	uint64_t looks; /* pairs of parts compared */
	uint64_t boxes; /* boxes compared */
	double ms;
} knn_worker;

typedef struct nearest
{
	rb_context *ctx;
	const rb_job *job;
	const rb_row_sink *sink;
	double scale;
	const double *coords;
	uint64_t largest; /* bits of the largest coordinate */
	uint64_t least;   /* bits of the smallest nonzero coordinate */
	bool boxes;       /* true if scaled boxes are exact */
	uint32_t *rank;
	uint32_t *start; /* first part of each red row, and the end; NULL if each row has one part */
	uint32_t *order; /* first parts of all red rows, in processing order */
	rb_tree blue;
	knn_worker *worker;
	int threads;
	int status;  /* first status other than RB_OK */
	double most; /* scaled distance of the job, rounded up */
	uint64_t done;
} nearest;

/* ---- a single row ---- */

/*
 * Returns the scaled distance above which parts are not needed. `same` is the row's candidate so
 * far, or NULL.
 */
static double
most_useful_distance(const nearest *a, const knn_worker *w, const rb_candidate *same)
{
	double most = w->touching ? 0 : rb_best_full(&w->best) ? w->best.heap[0].hi : a->most;

	return same != NULL && same->hi < most ? same->hi : most;
}

/* Returns the lowest rank that is not needed: only rows of lower rank can improve the result. */
static uint32_t
least_useless_rank(const knn_worker *w)
{
	return w->touching && rb_best_full(&w->best) ? w->best.heap[0].rank : UINT32_MAX;
}

/*
 * Returns true if no pair of parts in two boxes is nearer than the worst candidate, by exact
 * arithmetic.
 */
static bool
is_box_beyond_worst(void *arg, const double lo[2][3], const double hi[2][3])
{
	knn_worker *w = arg;

	return does_candidate_separate_boxes(&w->asker, &w->best.heap[0], lo, hi);
}

/*
 * Sets the tie of a traversal. If many parts are as far away as the worst candidate, only rows of
 * lower rank are needed among them, so whole branches can be skipped. This requires exact
 * comparisons, which do not pay for a few parts.
 */
static const rb_tie *
set_tie_of_search(const nearest *a, knn_worker *w)
{
	const rb_candidate *worst = &w->best.heap[0];
	double least;

	w->tie.from = RB_INFINITY;
	if (w->touching || !a->boxes || !rb_best_full(&w->best))
		return &w->tie;
	least = worst->lo * worst->lo * (1 - 0x1p-40);
	w->tie.after = worst->rank;
	w->tie.from = w->ties >= TIES && least > 0x1p-900 ? least : RB_INFINITY;
	return &w->tie;
}

/* Offers a pair of parts to the best ones of the current row. */
static rb_status
offer_pair_to_best(const nearest *a, knn_worker *w, uint32_t red, uint32_t blue,
				   const rb_candidate *same)
{
	const bool full = rb_best_full(&w->best);

	rb_candidate c;
	bool good;

	w->looks++;
	if (w->touching)
		good = do_candidates_meet(&w->asker, red, blue, &c);
	else
		good = bound_candidate(&w->asker, red, blue, most_useful_distance(a, w, same), &c);
	w->ties += good && full && !w->touching && c.hi >= w->best.heap[0].lo;
	return good ? rb_best_offer(&w->best, &c, a->job->distance) : RB_OK;
}

/* Offers a part of blue to all parts of a red row. */
static rb_status
offer_part_to_red_row(const nearest *a, knn_worker *w, uint32_t first, uint32_t parts,
					  uint32_t blue)
{
	const uint32_t row = rb_row_of(a->job->blue, blue);
	const rb_candidate *same = rb_best_of(&w->best, row);
	rb_status status = RB_OK;
	double lo[3], hi[3], square;
	uint32_t red;
	rb_walk walk;

	if (same != NULL && same->meets)
		return RB_OK;
	if (parts == 1)
		return offer_pair_to_best(a, w, first, blue, same);
	rb_tree_box(a->job->blue, blue, a->scale, lo, hi);
	rb_walk_begin(&walk, &w->row, NULL, lo, hi);
	while (status == RB_OK && rb_walk_next(&walk, rb_tree_reach(most_useful_distance(a, w, same)),
										   UINT32_MAX, &red, &square))
	{
		status = offer_pair_to_best(a, w, red, blue, same);
		same = rb_best_of(&w->best, row);
		if (same != NULL && same->meets)
			break;
	}
	w->boxes += walk.boxes;
	return status;
}

/* Sends the batch of pairs and distances of one thread to the sink, and empties it. */
static rb_status
send_neighbors(const nearest *a, knn_worker *w)
{
	const size_t n = w->n;

	w->n = 0;
	return n > 0 ? a->sink->put(a->sink->user, w->pair, w->payload, n) : RB_OK;
}

/* Writes the best rows of a red row to the batch. */
static rb_status
write_best_rows(const nearest *a, knn_worker *w, uint32_t row)
{
	rb_status status = RB_OK;
	double distance = 0;

	w->nlast = w->best.n;
	rb_best_sort(&w->best);
	if (w->n + w->best.n > w->cap)
		status = send_neighbors(a, w);
	if (status == RB_OK && w->best.n > w->cap)
	{
		const size_t cap = w->best.n > BATCH ? w->best.n : BATCH;

		w->cap = 0;
		status = RB_ALLOCATE(a->ctx, w->pair, cap);
		if (status == RB_OK)
			status = RB_ALLOCATE(a->ctx, w->payload, cap);
		if (status == RB_OK)
			w->cap = cap;
	}
	for (uint32_t i = 0; i < w->best.n && status == RB_OK; i++)
	{
		/* Candidates at the same distance have the same double. */
		if (i == 0 || w->best.heap[i].label == 0 ||
			w->best.heap[i].label != w->best.heap[i - 1].label)
			distance = candidate_distance(&w->asker, &w->best.heap[i]);

		w->pair[w->n] = (rb_pair){row, rb_row_of(a->job->blue, w->best.heap[i].blue)};
		memcpy(&w->payload[w->n++], &distance, sizeof distance);
		if (rb_should_stop(a->ctx))
			status = RB_STOPPED;
	}
	rb_best_clear(&w->best);
	return status;
}

/* Returns true if two red parts have the same coordinates, so that they have the same neighbors. */
static bool
are_red_parts_equal(const rb_set *set, uint32_t a, uint32_t b)
{
	const size_t width = (size_t) rb_kind_width(set->kind);

	return memcmp(set->coords + a * width, set->coords + b * width, width * sizeof(double)) == 0;
}

/* Writes the pairs of the last row again, for a row with an identical part. */
static rb_status
repeat_neighbors_of_last(const nearest *a, knn_worker *w, uint32_t row)
{
	const size_t n = w->nlast;
	size_t from = w->n - n;
	rb_status status = RB_OK;

	/* The old pairs stay in place after a flush. */
	if (w->n + n > w->cap)
		status = send_neighbors(a, w);
	for (size_t i = 0; i < n && status == RB_OK; i++, from++)
	{
		w->pair[w->n] = (rb_pair){row, w->pair[from].blue};
		w->payload[w->n++] = w->payload[from];
	}
	if (status == RB_OK && rb_should_stop(a->ctx))
		status = RB_STOPPED;
	return status;
}

/* Searches the k nearest blue rows of a red row and sends them. */
static rb_status
search_nearest_of_row(rb_thread *me, const nearest *a, knn_worker *w, uint32_t row)
{
	const rb_set *red = a->job->red;
	const uint32_t first = a->start != NULL ? a->start[row] : row;
	const uint32_t parts = a->start != NULL ? a->start[row + 1] - first : 1;
	rb_status status = RB_OK;
	double lo[3], hi[3], square;
	uint32_t blue;
	rb_walk walk;

	if (parts == 1 && w->last != UINT32_MAX && are_red_parts_equal(red, w->last, first))
		return repeat_neighbors_of_last(a, w, row);
	w->ties = 0;
	w->last = parts == 1 ? first : UINT32_MAX;
	if (parts > 1)
	{
		status = rb_tree_build(me, a->ctx, &w->row, red, first, parts, a->scale, NULL, UINT32_MAX);
		if (status == RB_OK)
			rb_tree_bounds(&w->row, lo, hi);
	}
	else
		rb_tree_box(red, first, a->scale, lo, hi);
	for (int round = 0; round < 2 && status == RB_OK; round++)
	{
		w->touching = round == 0;
		/* Stop if k rows meet red, or if only rows that meet red are wanted. */
		if (round == 1 && (rb_best_full(&w->best) || a->job->distance == 0))
			break;
		rb_walk_begin(&walk, &a->blue, parts > 1 ? &w->row : NULL, lo, hi);
		walk.tie = parts > 1 ? NULL : set_tie_of_search(a, w);
		while (status == RB_OK &&
			   rb_walk_next(&walk, rb_tree_reach(most_useful_distance(a, w, NULL)),
							least_useless_rank(w), &blue, &square))
		{
			status = offer_part_to_red_row(a, w, first, parts, blue);
			if (walk.tie != NULL)
				(void) set_tie_of_search(a, w);
		}
		w->boxes += walk.boxes;
	}
	if (status == RB_OK && rb_should_stop(a->ctx))
		status = RB_STOPPED;
	return status == RB_OK ? write_best_rows(a, w, row) : status;
}

/* ---- all rows ---- */

/* Searches the nearest rows of a range of red rows. */
static void
search_nearest_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	nearest *a = arg;
	knn_worker *w = &a->worker[rb_thread_number(me)];
	const double began = rb_now_ms();

	for (uint64_t i = from; i < to && rb_load(&a->status) == RB_OK; i++)
		rb_keep_failure(&a->status,
						search_nearest_of_row(me, a, w, rb_row_of(a->job->red, a->order[i])));
	w->ms += rb_now_ms() - began;
	rb_progress(a->ctx, RB_STAGE_CANDIDATES, rb_add(&a->done, to - from) + (to - from),
				a->job->red->nrows);
}

/*
 * Finds the largest and the smallest nonzero coordinate. Positive doubles are ordered like their
 * bits.
 */
static void
find_coordinate_extremes_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	nearest *a = arg;
	double largest = 0, least = RB_INFINITY;
	uint64_t bits, known;

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		const double x = fabs(a->coords[i]);

		largest = x > largest ? x : largest;
		least = x > 0 && x < least ? x : least;
	}
	memcpy(&bits, &least, sizeof bits);
	known = rb_load(&a->least);
	while (known > bits && !rb_store_if(&a->least, &known, bits))
		;
	memcpy(&bits, &largest, sizeof bits);
	known = rb_load(&a->largest);
	while (known < bits && !rb_store_if(&a->largest, &known, bits))
		;
}

/* Computes the power of two that maps the largest coordinate to between 1/2 and 1, if possible. */
static rb_status
find_coordinate_scale(rb_thread *me, nearest *a)
{
	const rb_set *sides[2] = {a->job->red, a->job->blue};
	rb_status status = RB_OK;
	double largest, least;

	a->least = UINT64_MAX;
	for (int side = 0; side < 2 && status == RB_OK; side++)
	{
		const uint64_t width = (uint64_t) rb_kind_width(sides[side]->kind);

		a->coords = sides[side]->coords;
		status = rb_loop(me, sides[side]->nparts * width, (uint64_t) 1 << 16,
						 find_coordinate_extremes_piece, a);
	}
	memcpy(&largest, &a->largest, sizeof largest);
	memcpy(&least, &a->least, sizeof least);
	a->scale = rb_tree_scale(largest);
	a->boxes = least * a->scale >= 0x1p-1022;
	a->most = a->job->distance * a->scale * (1 + 0x1p-50) + 0x1p-1000;
	if (a->job->distance == 0)
		a->most = 0;
	return status;
}

/*
 * Orders the red rows along the box tree's curve, so that consecutive searches are near each other.
 */
static rb_status
order_red_rows(rb_thread *me, nearest *a)
{
	const rb_set *red = a->job->red;

	RB_TRY(RB_ALLOCATE(a->ctx, a->order, red->nrows));
	for (uint32_t row = 0; row < red->nrows; row++)
	{
		a->order[row] = a->start != NULL ? a->start[row] : row;
		if (row % (1 << 20) == 0 && rb_should_stop(a->ctx))
			return RB_STOPPED;
	}
	return rb_tree_order(me, a->ctx, red, a->scale, a->order, red->nrows);
}

/* Allocates the heap, the exact state and the batch of each thread. */
static rb_status
build_search_workers(nearest *a, int threads)
{
	const rb_job *job = a->job;
	const uint32_t k = job->nearest < job->blue->nrows ? job->nearest : job->blue->nrows;
	rb_status status = RB_OK;

	RB_TRY(RB_ALLOCATE(a->ctx, a->worker, (size_t) threads));
	memset(a->worker, 0, (size_t) threads * sizeof *a->worker);
	for (int t = 0; t < threads && status == RB_OK; t++)
	{
		a->threads = t + 1;
		a->worker[t].asker = (rb_distance_state){
			.ctx = a->ctx,
			.red = job->red,
			.blue = job->blue,
			.rank = a->rank,
			.scale = a->scale,
			.plane_of = UINT32_MAX,
			.square_red = UINT32_MAX,
			.square_blue = UINT32_MAX,
			.env = {.filters = a->ctx->filters, .exact = true, .distance = job->distance}};
		a->worker[t].last = UINT32_MAX;
		a->worker[t].tie.parts = is_box_beyond_worst;
		a->worker[t].tie.user = &a->worker[t];
		status = rb_best_init(&a->worker[t].best, &a->worker[t].asker, k);
	}
	return status;
}

/* Adds the statistics of all threads to those of the context. */
static void
add_search_statistics(const nearest *a)
{
	rb_stats *stats = &a->ctx->stats;

	for (int t = 0; t < a->threads; t++)
	{
		const knn_worker *w = &a->worker[t];

		stats->stage[RB_STAGE_CANDIDATES].count += w->looks;
		stats->stage[RB_STAGE_CANDIDATES].ms += w->ms / a->threads;
		stats->box_tests += w->boxes;
		rb_stats_add_signs(stats, &w->asker.env);
		stats->stage[RB_STAGE_EXACT].count +=
			w->asker.env.integer + w->asker.env.expansion + w->asker.env.gmp;
	}
}

/* Builds the tree of blue parts and searches the nearest rows of all red rows. */
static rb_status
search_nearest_of_all(rb_thread *me, nearest *a)
{
	const rb_job *job = a->job;
	const double began = rb_now_ms();
	rb_status status;

	a->ctx->stats.threads = rb_team_threads(me);
	rb_progress(a->ctx, RB_STAGE_GRID, 0, 0);
	status = find_coordinate_scale(me, a);
	if (status == RB_OK)
		status = rb_ranks(a->ctx, job->blue, &a->rank);
	if (status == RB_OK)
		status = rb_row_starts_if_several(a->ctx, job->red, &a->start);
	if (status == RB_OK)
		status = order_red_rows(me, a);
	if (status == RB_OK)
		status = rb_tree_build(me, a->ctx, &a->blue, job->blue, 0, job->blue->nparts, a->scale,
							   a->rank, job->nearest);
	a->ctx->stats.stage[RB_STAGE_GRID].count += job->blue->nparts;
	a->ctx->stats.stage[RB_STAGE_GRID].ms += rb_now_ms() - began;
	if (status == RB_OK)
		status = build_search_workers(a, rb_team_threads(me));
	if (status == RB_OK)
	{
		rb_progress(a->ctx, RB_STAGE_CANDIDATES, 0, job->red->nrows);
		status = rb_loop(me, job->red->nrows, GRAIN, search_nearest_piece, a);
		status = rb_loop_failure(a->status, status);
	}
	for (int t = 0; t < a->threads && status == RB_OK; t++)
		status = send_neighbors(a, &a->worker[t]);
	return status;
}

/* Returns the number of threads; one suffices for a small job. */
static int
threads_for_search(const rb_context *ctx, const rb_job *job)
{
	const int rows = rb_threads_for(ctx, job->red->nrows, GRAIN);
	const int parts = rb_threads_for(ctx, (uint64_t) job->red->nparts + job->blue->nparts, BATCH);

	return rows > parts ? rows : parts;
}

rb_status
rb_compose_nearest(rb_context *ctx, const rb_backend *backend, const rb_job *job,
				   const rb_row_sink *sink)
{
	nearest a = {.ctx = ctx, .job = job, .sink = sink};
	rb_thread *me;
	rb_status status;
	RB_FREE_AT_END(ctx->memory, &a.worker, &a.start, &a.order, &a.rank);

	(void) backend;
	if (job->red->nparts == 0 || job->blue->nparts == 0)
		return RB_OK;
	RB_TRY(rb_set_materialize_ids(ctx, job->blue));
	RB_TRY(rb_team_open(ctx, threads_for_search(ctx, job), &me));
	status = search_nearest_of_all(me, &a);
	add_search_statistics(&a);
	for (int t = 0; t < a.threads; t++)
	{
		knn_worker *w = &a.worker[t];

		rb_best_free(&w->best);
		rb_tree_free(ctx, &w->row);
		RB_FREE(ctx->memory, w->pair);
		RB_FREE(ctx->memory, w->payload);
	}
	rb_tree_free(ctx, &a.blue);
	rb_team_close(&me);
	return ctx->error.status != RB_OK ? ctx->error.status : status;
}
