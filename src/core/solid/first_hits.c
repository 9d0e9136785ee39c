/*
 * first_hits.c
 *	  Computes RB_FIRST_HITS: finds for each line the first k rows of triangles that it meets.
 *
 *		a tree of the triangles' boxes                               box_tree.c
 *			-> from a segment's start on: triangles that it meets    first_hits.c
 *			-> where it enters them: doubles, then exact ratios      line_parameter.c
 *			-> the first k rows so far, whose last one is the bound  first_hits.c
 *
 * All of this runs on the CPU, whatever the backend: how far a traversal must go depends on what it
 * has found.
 *
 * The segments of a line are processed in order. The tree is traversed for a segment from front to
 * back by the parameter at which the segment enters a box, which is bounded from below in doubles
 * (A. Williams, S. Barrus, R. K. Morley, P. Shirley: An efficient and robust ray-box intersection
 * algorithm, 2005). A branch is skipped if that bound exceeds the parameter of the last of the
 * first k rows. A bound only skips work: whether a segment meets a triangle is decided by the leaf
 * of RB_MEET, and the order of two hits by the exact ratios of their locations.
 *
 * The end of a segment and the start of the next one are the same fraction of the line, and
 * segments of zero length have no extent on it. Each hit is therefore ordered by an anchor, which
 * is unique for each fraction: the first segment of nonzero length that contains it after its
 * start or at it, or the end of the last segment.
 */
#include "core/base/base.h"
#include "core/base/parallel.h"
#include "core/base/sort.h"
#include "core/exact/double_double.h"
#include "core/join/join.h"
#include "core/nearest/box_tree.h"
#include "core/primitive/dispatch.h"
#include "core/set/set.h"
#include "core/solid/solid.h"

/* Lines of one piece of work */
#define GRAIN RB_SIZE(64, 2)
/* Number of hits from which a batch is sent to the sink */
#define BATCH RB_SIZE(4096, 8)
/* Number of hits below which they are sorted as soon as there are k */
#define FEW_HITS 16

/* A location on a line */
typedef struct hit_place
{
	uint32_t segment; /* Counted from the first one of the line */
	rb_location at;
} hit_place;

/* A row of triangles that a line meets */
typedef struct line_hit
{
	rb_location place; /* Location on the segment that was tested, which gives the point */
	uint32_t segment;
	uint32_t anchor; /* Segment of the anchor */
	uint32_t row;
	uint32_t rank;
	bool anchored; /* True if the anchor is the start or end of a segment instead of the location */
	bool at_end;   /* True if the anchor is the end of its segment */
} line_hit;

typedef struct hit_worker
{
	rb_exact_env env;
	/* The current line */
	const double *segments;
	uint32_t nsegments;
	uint32_t last;   /* Last segment of nonzero length, or UINT32_MAX */
	uint32_t at;     /* Current segment */
	hit_place begin; /* Anchors of both ends of the current segment */
	hit_place end;
	bool repeats; /* True if a row may be hit more than once */
	/* The first hits, if full: k distinct rows, in order, followed by newer hits */
	line_hit *hits;
	size_t n;
	size_t cap;
	bool full;
	rb_line_intervals measure; /* Lengths of the line up to its segments */
	/* The batch */
	rb_pair *pair;
	size_t pair_cap;
	uint64_t *payload;
	size_t payload_cap;
	size_t npairs;
	uint64_t looks; /* Pairs of a segment and a triangle compared */
	uint64_t boxes; /* Boxes compared */
	double ms;
} hit_worker;

typedef struct first_hits
{
	rb_context *ctx;
	const rb_job *job;
	const rb_row_sink *sink;
	uint32_t k;
	uint32_t *rank;
	uint32_t
		*start; /* First segment of each line, and the end; NULL if each line has one segment */
	rb_tree tree;
	hit_worker *worker;
	int threads;
	int status; /* First status other than RB_OK */
	uint64_t done;
} first_hits;

/* ---- order along the line ---- */

/* Returns the two ends of segment i of the current line. */
static const double *
segment_of_line(const hit_worker *w, uint32_t i)
{
	return w->segments + 6 * (size_t) i;
}

/* Returns true if segment i of the current line has zero length. */
static bool
is_segment_of_line_a_point(const hit_worker *w, uint32_t i)
{
	return rb_equal3(segment_of_line(w, i), segment_of_line(w, i) + 3);
}

/* Compares two anchors by their order on the line. */
static int
compare_anchors(const hit_place *a, const hit_place *b)
{
	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	return rb_location_compare(&a->at, &b->at);
}

/* Returns the anchor of a hit. */
static hit_place
anchor_of_hit(const hit_worker *w, const line_hit *h)
{
	const double *segment = segment_of_line(w, h->anchor);

	return (hit_place){h->anchor, !h->anchored ? h->place
								  : h->at_end  ? rb_location_end(segment)
											   : rb_location_start(segment)};
}

/* Compares two hits by their anchors. */
static int
compare_hits(const hit_worker *w, const line_hit *a, const line_hit *b)
{
	const hit_place x = anchor_of_hit(w, a), y = anchor_of_hit(w, b);

	return compare_anchors(&x, &y);
}

/* Orders hits by their anchors, then by rank. */
static int
by_anchor_and_rank(const void *p, const void *q, const void *worker)
{
	const line_hit *a = p, *b = q;
	const int order = compare_hits(worker, a, b);

	return order != 0 ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

/* Orders hits by rank, then by their anchors, then by the segments that were tested. */
static int
by_rank_and_anchor(const void *p, const void *q, const void *worker)
{
	const line_hit *a = p, *b = q;
	int order;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	order = compare_hits(worker, a, b);
	return order != 0 ? order : (a->segment > b->segment) - (a->segment < b->segment);
}

/*
 * Returns the anchor of the start of segment i, which may be the number of segments, for the end of
 * the line. Segments before `known` are known to have zero length from i on.
 */
static hit_place
anchor_of_segment_start(const hit_worker *w, uint32_t i, uint32_t known)
{
	uint32_t j = i > known ? i : known;

	/* A line that is a single point has one anchor. */
	if (w->last == UINT32_MAX)
		return (hit_place){0, rb_location_start(w->segments)};
	if (j > w->last)
		return (hit_place){w->last, rb_location_end(segment_of_line(w, w->last))};
	while (is_segment_of_line_a_point(w, j))
		j++;
	return (hit_place){j, rb_location_start(segment_of_line(w, j))};
}

/* ---- the first hits so far ---- */

/* Keeps the first hit of each row, in any order. */
static rb_status
drop_later_hits_of_rows(rb_context *ctx, hit_worker *w)
{
	size_t kept = 0;

	RB_TRY(rb_sort(ctx, w->hits, w->n, sizeof *w->hits, by_rank_and_anchor, w));
	for (size_t i = 0; i < w->n; i++)
		if (i == 0 || w->hits[i].rank != w->hits[i - 1].rank)
			w->hits[kept++] = w->hits[i];
	w->n = kept;
	return RB_OK;
}

/* Sorts the hits, and keeps those of the first k rows. */
static rb_status
keep_first_hits(const first_hits *a, hit_worker *w)
{
	if (w->repeats)
		RB_TRY(drop_later_hits_of_rows(a->ctx, w));
	RB_TRY(rb_sort(a->ctx, w->hits, w->n, sizeof *w->hits, by_anchor_and_rank, w));
	w->n = w->n < a->k ? w->n : a->k;
	w->full = w->n == a->k;
	return RB_OK;
}

/* Adds a hit. Sorting only when there are 1.5 k hits makes the number of sorts independent of k. */
static rb_status
add_hit_of_line(const first_hits *a, hit_worker *w, const line_hit *h)
{
	const size_t most = a->k + (size_t) (a->k / 2);

	if (w->full && by_anchor_and_rank(h, &w->hits[a->k - 1], w) >= 0)
		return RB_OK;
	RB_TRY(RB_GROW(a->ctx, w->hits, w->cap, w->n + 1));
	w->hits[w->n++] = *h;
	return w->n > most || (!w->full && w->n == a->k && (!w->repeats || a->k < FEW_HITS))
			   ? keep_first_hits(a, w)
			   : RB_OK;
}

/* ---- a single segment ---- */

/* Tests whether the current segment meets a triangle, and if so, adds the hit. */
static rb_status
test_triangle_of_segment(const first_hits *a, hit_worker *w, uint32_t triangle)
{
	const double *segment = segment_of_line(w, w->at);
	const double *t = a->job->blue->coords + 9 * (size_t) triangle;
	const uint32_t row = rb_row_of(a->job->blue, triangle);
	line_hit h = {.row = row, .rank = a->rank != NULL ? a->rank[row] : row};
	rb_location place[2], end = rb_location_end(segment);
	const hit_place *anchor;

	w->looks++;
	if (!RB_IS_YES(rb_pair_decide(&w->env, RB_MEET, RB_SEGMENT3, RB_TRIANGLE3, segment, t)))
		return RB_OK;
	h.segment = w->at;
	h.place = rb_location_start(segment);
	anchor = &w->begin;
	if (!is_segment_of_line_a_point(w, w->at))
	{
		rb_segment_meets(&w->env, segment, t, place);
		h.place = place[0];
		anchor = rb_location_compare(&place[0], &end) == 0 ? &w->end : NULL;
	}
	h.anchored = anchor != NULL;
	h.anchor = anchor != NULL ? anchor->segment : w->at;
	h.at_end = anchor != NULL && anchor->at.of == RB_PLACE_END;
	return add_hit_of_line(a, w, &h);
}

/* A pending node or triangle of a traversal */
typedef struct hit_step
{
	double enters; /* Lower bound on the parameter at which the segment enters the box */
	uint32_t least;
	uint32_t index;
	int level;
} hit_step;

/*
 * Bounds the parameters at which a segment enters and leaves a box. Returns false if they are
 * certain to be disjoint. A quotient of two differences has a relative error below 2^-51, and below
 * 2^-1074 if it underflows.
 */
static bool
bound_parameters_in_box(const double *segment, const double lo[3], const double hi[3],
						double *enters)
{
	double leaves = 1;

	*enters = 0;
	for (int axis = 0; axis < 3; axis++)
	{
		const double p = segment[axis], q = segment[3 + axis], length = q - p;
		const double first = q >= p ? lo[axis] : hi[axis], last = q >= p ? hi[axis] : lo[axis];
		double from, to;

		if ((p < lo[axis] && q < lo[axis]) || (p > hi[axis] && q > hi[axis]))
			return false;
		if (p == q || !isfinite(length))
			continue;
		from = (first - p) / length;
		to = (last - p) / length;
		if (from > 0)
			from = from * (1 - 0x1p-50) - 0x1p-1070;
		if (to < 1)
			to = to * (1 + 0x1p-50) + 0x1p-1070;
		*enters = from > *enters ? from : *enters;
		leaves = to < leaves ? to : leaves;
	}
	return *enters <= leaves;
}

/*
 * Returns true if no triangle of a step is among the first k rows: its parameter is behind that of
 * the last one, or not before it and with a higher rank.
 */
static bool
is_step_behind_last_hit(const first_hits *a, const hit_worker *w, const hit_step *s)
{
	hit_place last;

	if (!w->full)
		return false;
	last = anchor_of_hit(w, &w->hits[a->k - 1]);
	/* The double nearest to a number below a double does not exceed that double. */
	if (last.segment == w->at && w->begin.segment == w->at && s->enters > last.at.t)
		return true;
	return s->least > w->hits[a->k - 1].rank && compare_anchors(&last, &w->begin) == 0;
}

/* Adds the children of a node to the steps of a traversal, the one that is entered first last. */
static int
open_node_of_segment(const first_hits *a, hit_worker *w, const hit_step *s, hit_step *steps, int n)
{
	const rb_tree *tree = &a->tree;
	const rb_tree_node *node = &tree->node[tree->first[s->level] + s->index];
	const uint32_t child = s->index * RB_TREE_FAN;
	const uint32_t count = tree->count[s->level - 1] - child;
	const int begin = n;

	for (uint32_t c = 0; c < RB_TREE_FAN && c < count; c++)
	{
		const double lo[3] = {node->lo[0][c], node->lo[1][c], node->lo[2][c]};
		const double hi[3] = {node->hi[0][c], node->hi[1][c], node->hi[2][c]};
		hit_step step = {0, node->least[c], child + c, s->level - 1};
		int at;

		w->boxes++;
		if (!bound_parameters_in_box(segment_of_line(w, w->at), lo, hi, &step.enters) ||
			is_step_behind_last_hit(a, w, &step))
			continue;
		for (at = n++; at > begin; at--)
		{
			const hit_step *other = &steps[at - 1];

			if (other->enters > step.enters ||
				(other->enters == step.enters && other->least >= step.least))
				break;
			steps[at] = *other;
		}
		steps[at] = step;
	}
	return n;
}

/* Finds the hits of the current segment that may be among the first k rows of the line. */
static rb_status
search_hits_of_segment(const first_hits *a, hit_worker *w)
{
	/* Three pending children for each level, and one more */
	hit_step steps[3 * RB_TREE_LEVELS + 2] = {{0, 0, 0, a->tree.top}};
	int n = 1;

	while (n > 0)
	{
		const hit_step s = steps[--n];

		if (rb_should_stop(a->ctx))
			return RB_STOPPED;
		if (is_step_behind_last_hit(a, w, &s))
			continue;
		if (s.level == 0)
			RB_TRY(test_triangle_of_segment(a, w, a->tree.part[s.index]));
		else
			n = open_node_of_segment(a, w, &s, steps, n);
	}
	return RB_OK;
}

/* ---- a single line ---- */

/* Returns the double nearest to a coordinate of a location. */
static double
coordinate_of_location(const rb_location *p, int axis)
{
	const double a = p->segment[axis], b = p->segment[3 + axis];
	const rb_double_double length = rb_double_double_difference(b, a);
	const rb_double_double part = rb_double_double_mul((rb_double_double){p->t, p->low}, length);
	const rb_double_double x = rb_double_double_add(part, rb_double_double_of(a));
	const double error =
		p->error * fabs(length.high) + 0x1p-100 * (fabs(part.high) + fabs(x.high)) + 0x1p-1060;
	const double slack = 2 * error + 0x1p-50 * fabs(x.low);
	rb_number numerator, denominator, rest, end, from, to;

	/* Adding 0 turns -0 into 0. */
	if (p->of == RB_PLACE_START || a == b)
		return a + 0.0;
	if (p->of == RB_PLACE_END)
		return b + 0.0;
	if (x.high + (x.low + slack) == x.high && x.high + (x.low - slack) == x.high &&
		isfinite(x.high))
		return x.high + 0.0;
	rb_location_ratio(p, &numerator, &denominator);
	rb_number_sub(&rest, &denominator, &numerator);
	rb_number_of(&end, a);
	rb_number_mul(&from, &rest, &end);
	rb_number_of(&end, b);
	rb_number_mul(&to, &numerator, &end);
	rb_number_add(&from, &from, &to);
	return rb_number_round_quotient(&from, &denominator) + 0.0;
}

/* Sends the batch of a thread to the sink, and empties it. */
static rb_status
send_hits(const first_hits *a, hit_worker *w)
{
	const size_t n = w->npairs;

	w->npairs = 0;
	return n > 0 ? a->sink->put(a->sink->user, w->pair, w->payload, n) : RB_OK;
}

/* Writes the first hits of a line to the batch. */
static rb_status
write_hits_of_line(const first_hits *a, hit_worker *w, uint32_t row)
{
	double value[RB_FIRST_HITS_WORDS] = {0};

	if (w->n == 0)
		return RB_OK;
	RB_TRY(rb_line_measure(a->ctx, w->segments, w->nsegments, &w->measure));
	RB_TRY(RB_GROW(a->ctx, w->pair, w->pair_cap, w->npairs + w->n));
	RB_TRY(RB_GROW(a->ctx, w->payload, w->payload_cap, (w->npairs + w->n) * RB_FIRST_HITS_WORDS));
	for (size_t i = 0; i < w->n; i++)
	{
		const line_hit *h = &w->hits[i];
		const hit_place anchor = anchor_of_hit(w, h);

		if (rb_stop_due(a->ctx, (uint32_t) i, 64))
			return RB_STOPPED;
		if (w->measure.measured > 0 && (i == 0 || compare_hits(w, h, h - 1) != 0))
			RB_TRY(rb_line_fraction_at(a->ctx, w->segments, w->nsegments, anchor.segment,
									   &anchor.at, &w->measure, &value[0]));
		for (int axis = 0; axis < 3; axis++)
			value[1 + axis] = coordinate_of_location(&h->place, axis);
		w->pair[w->npairs] = (rb_pair){row, h->row};
		memcpy(w->payload + w->npairs++ * RB_FIRST_HITS_WORDS, value, sizeof value);
	}
	return w->npairs >= BATCH ? send_hits(a, w) : RB_OK;
}

/* Searches the first hits of a line and sends them. */
static rb_status
search_hits_of_line(const first_hits *a, hit_worker *w, uint32_t row)
{
	const uint32_t first = a->start != NULL ? a->start[row] : row;

	w->segments = a->job->red->coords + 6 * (size_t) first;
	w->nsegments = a->start != NULL ? a->start[row + 1] - first : 1;
	w->repeats = w->nsegments > 1 || a->job->blue->row_of != NULL;
	w->n = 0;
	w->full = false;
	w->last = UINT32_MAX;
	for (uint32_t i = w->nsegments; i > 0 && w->last == UINT32_MAX; i--)
		if (!is_segment_of_line_a_point(w, i - 1))
			w->last = i - 1;
	if (w->nsegments == 0)
		return RB_OK;
	w->end = anchor_of_segment_start(w, 0, 0);
	for (w->at = 0; w->at < w->nsegments; w->at++)
	{
		w->begin = w->end;
		w->end = anchor_of_segment_start(w, w->at + 1, w->begin.segment);
		if (w->full)
		{
			const hit_place last = anchor_of_hit(w, &w->hits[a->k - 1]);

			if (compare_anchors(&last, &w->begin) < 0)
				break;
		}
		RB_TRY(search_hits_of_segment(a, w));
		if (w->n > a->k)
			RB_TRY(keep_first_hits(a, w));
	}
	RB_TRY(keep_first_hits(a, w));
	return write_hits_of_line(a, w, row);
}

/* ---- all lines ---- */

/* Searches the first hits of a range of lines. */
static void
search_hits_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	first_hits *a = arg;
	hit_worker *w = &a->worker[rb_thread_number(me)];
	const double began = rb_now_ms();

	for (uint64_t i = from; i < to && rb_load(&a->status) == RB_OK; i++)
		rb_keep_failure(&a->status, search_hits_of_line(a, w, (uint32_t) i));
	w->ms += rb_now_ms() - began;
	rb_progress(a->ctx, RB_STAGE_CANDIDATES, rb_add(&a->done, to - from) + (to - from),
				a->job->red->nrows);
}

/* Adds the statistics of all threads to those of the context. */
static void
add_hit_statistics(const first_hits *a)
{
	rb_stats *stats = &a->ctx->stats;

	for (int t = 0; t < a->threads; t++)
	{
		const hit_worker *w = &a->worker[t];

		stats->stage[RB_STAGE_CANDIDATES].count += w->looks;
		stats->stage[RB_STAGE_CANDIDATES].ms += w->ms / a->threads;
		stats->box_tests += w->boxes;
		rb_stats_add_signs(stats, &w->env);
		stats->stage[RB_STAGE_EXACT].count += w->env.integer + w->env.expansion + w->env.gmp;
	}
}

/* Allocates the state of each thread. */
static rb_status
build_hit_workers(first_hits *a, int threads)
{
	RB_TRY(RB_ALLOCATE(a->ctx, a->worker, (size_t) threads));
	a->threads = threads;
	for (int t = 0; t < threads; t++)
		a->worker[t] = (hit_worker){.env = {.filters = a->ctx->filters, .exact = true}};
	return RB_OK;
}

/* Builds the tree of triangles and searches the first hits of all lines. */
static rb_status
search_hits_of_all(rb_thread *me, first_hits *a)
{
	const rb_job *job = a->job;
	const double began = rb_now_ms();
	rb_status status;

	a->ctx->stats.threads = rb_team_threads(me);
	rb_progress(a->ctx, RB_STAGE_GRID, 0, 0);
	status = rb_ranks(a->ctx, job->blue, &a->rank);
	if (status == RB_OK)
		status = rb_row_starts_if_several(a->ctx, job->red, &a->start);
	if (status == RB_OK)
		status =
			rb_tree_build(me, a->ctx, &a->tree, job->blue, 0, job->blue->nparts, 1, a->rank, a->k);
	a->ctx->stats.stage[RB_STAGE_GRID].count += job->blue->nparts;
	a->ctx->stats.stage[RB_STAGE_GRID].ms += rb_now_ms() - began;
	if (status == RB_OK)
		status = build_hit_workers(a, rb_team_threads(me));
	if (status == RB_OK)
	{
		rb_progress(a->ctx, RB_STAGE_CANDIDATES, 0, job->red->nrows);
		status = rb_loop(me, job->red->nrows, GRAIN, search_hits_piece, a);
		status = rb_loop_failure(a->status, status);
	}
	for (int t = 0; t < a->threads && status == RB_OK; t++)
		status = send_hits(a, &a->worker[t]);
	return status;
}

rb_status
rb_compose_first_hits(rb_context *ctx, const rb_backend *backend, const rb_job *job,
					  const rb_row_sink *sink)
{
	first_hits a = {.ctx = ctx, .job = job, .sink = sink};
	rb_thread *me;
	rb_status status;
	RB_FREE_AT_END(ctx->memory, &a.worker, &a.start, &a.rank);

	(void) backend;
	if (job->red->nparts == 0 || job->blue->nparts == 0)
		return RB_OK;
	a.k = job->nearest < job->blue->nrows ? job->nearest : job->blue->nrows;
	RB_TRY(rb_set_materialize_ids(ctx, job->blue));
	RB_TRY(rb_team_open(ctx, rb_threads_for(ctx, job->red->nrows, GRAIN), &me));
	status = search_hits_of_all(me, &a);
	add_hit_statistics(&a);
	for (int t = 0; t < a.threads; t++)
	{
		hit_worker *w = &a.worker[t];

		RB_FREE(ctx->memory, w->hits);
		RB_FREE(ctx->memory, w->pair);
		RB_FREE(ctx->memory, w->payload);
		rb_line_intervals_free(ctx->memory, &w->measure);
	}
	rb_tree_free(ctx, &a.tree);
	rb_team_close(&me);
	return ctx->error.status != RB_OK ? ctx->error.status : status;
}
