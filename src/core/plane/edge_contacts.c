/*
 * edge_contacts.c
 *	  Finds the pairs of rows whose boxes overlap, and edges that enter the interior of a polygon in the
 *	  stored position; measures the pairs in batches.
 *
 * Edges that meet in the moved position (polygon_rings.c) share a point in the stored one, where a walk
 * finds them (edge_walk.c).
 *
 * Where the position of an edge relative to a polygon matters in the stored position, it is found
 * at the common points of their boundaries: the edge enters the interior if the first edge of the
 * polygon to the left of its direction leads to the point.
 */
#include "core/base/sort.h"
#include "core/plane/plane.h"

#include <math.h>

#define RB_NO_EDGE UINT32_MAX
#define BATCH RB_SIZE(512, 3) /* Number of pairs processed at a time */
#define CHECK_INTERVAL 1024   /* Number of small steps between checks for cancellation */
/* Work at which a batch of pairs of rows is complete; an edge of the smaller row counts as 1 */
#define WORK_OF_BATCH RB_SIZE(4096, 8)
/* Work of a pair of rows in addition to that of its edges */
#define WORK_OF_PAIR 16
#define BATCHES_OF_ROUND 256 /* Number of batches whose measures are passed on at once */

/* ---- contacts in the stored position ---- */

/* Returns true if p is on the closed edge e. */
static bool
is_on_edge(rb_exact_env *env, const double *e, const double *p)
{
	return p[0] >= rb_min(e[0], e[2]) && p[0] <= rb_max(e[0], e[2]) && p[1] >= rb_min(e[1], e[3]) &&
		   p[1] <= rb_max(e[1], e[3]) && rb_orient2d_points(env, e, e + 2, p) == 0;
}

/* Returns true if the directions from p to d and from p to x, which are parallel, are equal. */
static bool
is_same_direction(const double *p, const double *d, const double *x)
{
	return d[0] != p[0] ? (d[0] > p[0]) == (x[0] > p[0]) : (d[1] > p[1]) == (x[1] > p[1]);
}

/* The direction from p that comes first when turning left from the direction from p to d */
typedef struct first_direction
{
	const double *p;
	const double *d;
	const double *to; /* NULL if there is none yet */
	bool along;       /* True if the edge goes away from p */
	bool parallel;    /* True if some edge lies in the direction of d */
} first_direction;

/* Takes the direction from p to x into account. */
static void
include_direction(rb_exact_env *env, first_direction *f, const double *x, bool along)
{
	const int turn = rb_orient2d_points(env, f->p, f->d, x);

	if (turn == 0 && is_same_direction(f->p, f->d, x))
		f->parallel = true;
	else if (f->to != NULL)
	{
		const int best = rb_orient2d_points(env, f->p, f->d, f->to);

		if (turn < best || (turn == best && rb_orient2d_points(env, f->p, x, f->to) <= 0))
			return;
	}
	f->to = x;
	f->along = along;
}

/*
 * Sets *enters if an edge of one side, from its point p toward its end d, lies in the interior of
 * the other polygon. The n edges of the other polygon are those at p.
 */
static rb_status
test_edge_enters(const rb_context *ctx, rb_exact_env *env, const rb_rings *other,
				 const rb_common_point *at, size_t n, const double *d, bool *enters)
{
	first_direction f = {.p = at->at, .d = d};

	if (d[0] == at->at[0] && d[1] == at->at[1])
		return RB_OK;
	for (size_t i = 0; i < n; i++)
	{
		const double *u, *v;

		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		rb_directed_edge(other, at[i].other, &u, &v);
		if (u[0] != at->at[0] || u[1] != at->at[1])
			include_direction(env, &f, u, false);
		if (v[0] != at->at[0] || v[1] != at->at[1])
			include_direction(env, &f, v, true);
	}
	if (!f.parallel && f.to != NULL && !f.along)
		*enters = true;
	return RB_OK;
}

/* Orders points by coordinates, then by the edge of the other side. */
static int
by_common_point(const void *a, const void *b, const void *arg)
{
	const rb_common_point *x = a, *y = b;

	(void) arg;
	for (int k = 0; k < 2; k++)
		if (x->at[k] != y->at[k])
			return x->at[k] < y->at[k] ? -1 : 1;
	return (x->other > y->other) - (x->other < y->other);
}

/*
 * Lists the points that an edge shares with the edges of the other side in its n pairs, if they are
 * ends of either edge.
 */
static rb_status
list_common_points(const rb_plane_join *w, rb_contact_room *room, const double *e,
				   const rb_rings *other, const rb_pair *pairs, size_t n)
{
	rb_vec_clear(&room->points);
	for (size_t i = 0; i < n; i++)
	{
		const double *h = rb_edge(other, pairs[i].blue);
		const bool overlaps = RB_PAYLOAD_DIMENSION(rb_pair_payload(pairs[i])) > 0;

		if (rb_stop_due(w->ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		for (int k = 0; k < 4; k++)
		{
			const double *p = (k < 2 ? e : h) + k % 2 * 2;

			if (is_on_edge(&room->env, k < 2 ? h : e, p))
				RB_TRY(rb_vec_append(w->ctx, &room->points,
									 (rb_common_point){{p[0], p[1]}, pairs[i].blue, overlaps}));
		}
	}
	return rb_sort(w->ctx, room->points.at, room->points.n, sizeof(rb_common_point),
				   by_common_point, NULL);
}

/*
 * Returns true if an edge overlaps an edge of the other side on both sides of a common point, so
 * that it does not enter the interior there. The n edges of the other side are those that end at
 * the point, or that contain it if this edge ends there. *over is the edge that overlaps this one
 * before the point, and then the one after it, or RB_NO_EDGE.
 */
static bool
is_point_within_overlap(const rb_common_point *at, size_t n, uint32_t *over)
{
	const uint32_t before = *over;
	bool ends = false;

	for (size_t i = 0; i < n; i++)
		ends = ends || at[i].other == before;
	if (before != RB_NO_EDGE && !ends)
		return true;
	*over = RB_NO_EDGE;
	for (size_t i = 0; i < n; i++)
		if (at[i].overlaps && at[i].other != before)
			*over = at[i].other;
	return false;
}

rb_status
rb_contacts_enter(const rb_plane_join *w, rb_contact_room *room, int side, bool *enters)
{
	const rb_rings *mine = w->side[side], *other = w->side[!side];
	const rb_pair *p = side == 0 ? room->contacts.at : room->turned.at;
	const size_t n = room->contacts.n;

	for (size_t i = 0; i < n && !*enters;)
	{
		const uint32_t edge = rb_pair_red(p[i]);
		const double *e = rb_edge(mine, edge);
		const size_t from = i;
		const rb_common_point *c;
		size_t npoints, nth = 0;
		uint32_t over = RB_NO_EDGE;

		if (rb_should_stop(w->ctx))
			return RB_STOPPED;
		while (i < n && rb_pair_red(p[i]) == edge)
			i++;
		RB_TRY(list_common_points(w, room, e, other, p + from, i - from));
		c = room->points.at;
		npoints = room->points.n;
		for (size_t k = 0; k < npoints && !*enters;)
		{
			const size_t first = k;

			if (rb_stop_due(w->ctx, nth++, CHECK_INTERVAL))
				return RB_STOPPED;
			while (k < npoints && c[k].at[0] == c[first].at[0] && c[k].at[1] == c[first].at[1])
				k++;
			if (is_point_within_overlap(c + first, k - first, &over))
				continue;
			for (int end = 0; end < 2 && !*enters; end++)
				RB_TRY(test_edge_enters(w->ctx, &room->env, other, c + first, k - first,
										e + 2 * end, enters));
		}
	}
	return RB_OK;
}

/* ---- a pair of rows ---- */

/* Orders pairs of edges by the first, then by the second edge. */
static int
by_both_edges(const void *a, const void *b, const void *arg)
{
	const rb_pair *x = a, *y = b;
	const uint32_t i = rb_pair_red(*x), j = rb_pair_red(*y);

	(void) arg;
	if (i != j)
		return i < j ? -1 : 1;
	return (x->blue > y->blue) - (x->blue < y->blue);
}

rb_status
rb_contacts_find(const rb_plane_join *w, rb_contact_room *room, rb_pair rows)
{
	rb_vec_clear(&room->turned);
	RB_TRY(rb_edges_walk(w->ctx, w->side, rows, room));
	for (size_t i = 0; i < room->contacts.n; i++)
	{
		const rb_pair p = room->contacts.at[i];

		if (rb_stop_due(w->ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		RB_TRY(rb_vec_append(
			w->ctx, &room->turned,
			(rb_pair){p.blue | rb_pair_payload(p) << RB_PAYLOAD_SHIFT, rb_pair_red(p)}));
	}
	RB_TRY(
		rb_sort(w->ctx, room->contacts.at, room->contacts.n, sizeof(rb_pair), by_both_edges, NULL));
	return rb_sort(w->ctx, room->turned.at, room->turned.n, sizeof(rb_pair), by_both_edges, NULL);
}

/* ---- the order of rows ---- */

/* A row and its id */
typedef struct row_by_id
{
	int64_t id;
	uint32_t row;
} row_by_id;

/* Orders rows by id, then by number. */
static int
by_id_of_row(const void *a, const void *b, const void *arg)
{
	const row_by_id *x = a, *y = b;

	(void) arg;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/*
 * Ranks the rows of a side by their ids, so that the order of the result does not depend on the
 * order in which the rows were read. *rank stays NULL if the ids ascend.
 */
static rb_status
rank_rows_by_id(rb_context *ctx, const rb_rings *r, uint32_t **rank)
{
	const uint32_t rows = r->set->nrows;
	row_by_id *order = NULL;
	bool ascend = true;
	RB_FREE_AT_END(ctx->memory, &order);

	RB_TRY(RB_ALLOCATE(ctx, order, (size_t) rows + 1));
	for (uint32_t row = 0; row < rows; row++)
	{
		if (rb_stop_due(ctx, row, CHECK_INTERVAL))
			return RB_STOPPED;
		order[row] = (row_by_id){rb_id_of_polygon(r->set, row), row};
		ascend = ascend && (row == 0 || order[row].id >= order[row - 1].id);
	}
	if (ascend)
		return RB_OK;
	RB_TRY(rb_sort(ctx, order, rows, sizeof *order, by_id_of_row, NULL));
	RB_TRY(RB_ALLOCATE(ctx, *rank, rows));
	for (uint32_t i = 0; i < rows; i++)
	{
		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		(*rank)[order[i].row] = i;
	}
	return RB_OK;
}

/* Returns the position of a row in the order of ids. */
static uint32_t
rank_of_row(const rb_plane_join *w, int side, uint32_t row)
{
	const uint32_t *rank = w->rank[w->job->blue != NULL ? side : 0];

	return rank != NULL ? rank[row] : row;
}

/* Exchanges the rows of a pair of a self join if the second one comes first by its id. */
static rb_pair
order_pair_by_id(const rb_plane_join *w, rb_pair p)
{
	if (w->job->blue != NULL || rank_of_row(w, 0, p.red) <= rank_of_row(w, 1, p.blue))
		return p;
	return (rb_pair){p.blue, p.red};
}

/* ---- all pairs ---- */

/* Returns true if a row is to be skipped. */
static bool
is_row_skipped(const rb_plane_join *w, int side, uint32_t row)
{
	return w->skipped[side] != NULL && rb_is_marked(w->skipped[side], row);
}

/* Collects pairs of valid rows. */
static rb_status
collect_rows_with_boxes(void *user, const rb_pair *pairs, size_t n)
{
	rb_plane_join *w = user;
	rb_pair some[BATCH];
	size_t nsome = 0;

	for (size_t i = 0; i < n; i++)
	{
		const rb_pair rows = {rb_pair_red(pairs[i]), pairs[i].blue};

		if (is_row_skipped(w, 0, rows.red) || is_row_skipped(w, 1, rows.blue))
			continue;
		some[nsome++] = order_pair_by_id(w, rows);
		if (nsome == BATCH)
		{
			RB_TRY(rb_notes_add(&w->pairs, some, nsome));
			nsome = 0;
		}
	}
	RB_TRY(rb_notes_add(&w->pairs, some, nsome));
	return rb_should_stop(w->ctx) ? RB_STOPPED : RB_OK;
}

/* Joins the boxes of the rows of both sides. */
static rb_status
join_boxes_of_rows(rb_plane_join *w)
{
	rb_set boxes[2] = {{.kind = RB_BOX2}, {.kind = RB_BOX2}};
	const rb_job job = {
		.red = &boxes[0], .blue = w->job->blue != NULL ? &boxes[1] : NULL, .predicate = RB_MEET};
	const rb_sink sink = {.put = collect_rows_with_boxes, .user = w};
	double *coords[2] = {NULL, NULL};
	RB_FREE_AT_END(w->ctx->memory, &coords[0], &coords[1]);

	for (int side = 0; side < (w->job->blue != NULL ? 2 : 1); side++)
	{
		const rb_rings *r = w->side[side];
		const uint32_t rows = r->set->nrows;

		RB_TRY(RB_ALLOCATE(w->ctx, coords[side], 4 * (size_t) rows + 1));
		for (size_t row = 0; row < rows; row++)
		{
			if (rb_stop_due(w->ctx, row, CHECK_INTERVAL))
				return RB_STOPPED;
			for (int k = 0; k < 4; k++)
				coords[side][4 * row + k] = r->row_box[6 * row + (k < 2 ? k : k + 1)];
		}
		boxes[side].coords = coords[side];
		boxes[side].nrows = boxes[side].nparts = rows;
	}
	return rb_join_step(w->ctx, w->backend, &job, &sink, RB_EDGES_PER_THREAD);
}

/* ---- measuring ---- */

/* A measure of all pairs of a join */
typedef struct pair_measures
{
	rb_plane_join *join;
	rb_measure_rows measure;
	void *user;
	RB_VEC(size_t) batch; /* First pair of each batch, and the end of the last one */
	double *value;        /* Measures of the pairs from number `first` */
	size_t first;
	size_t done; /* Number of batches before pair `first` */
	int status;
} pair_measures;

/* Returns the number of parts of a row. */
static uint32_t
count_parts_of_row(const rb_rings *r, uint32_t row)
{
	return r->row_start[row + 1] - r->row_start[row];
}

/* Divides the pairs into batches of about equal work. */
static rb_status
divide_pairs_into_batches(pair_measures *m)
{
	const rb_plane_join *w = m->join;
	size_t work = 0;

	RB_TRY(rb_vec_append(w->ctx, &m->batch, 0));
	for (size_t i = 0; i < w->pairs.n; i++)
	{
		const rb_pair p = w->pairs.at[i];
		const uint32_t red = count_parts_of_row(w->side[0], p.red);
		const uint32_t blue = count_parts_of_row(w->side[1], p.blue);

		if (rb_stop_due(w->ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		work += (size_t) rb_min(red, blue) + WORK_OF_PAIR;
		if (work < WORK_OF_BATCH && i + 1 < w->pairs.n)
			continue;
		RB_TRY(rb_vec_append(w->ctx, &m->batch, i + 1));
		work = 0;
	}
	return RB_OK;
}

/* Measures the pairs of a range of batches. */
static void
measure_batches_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	pair_measures *m = arg;
	const uint32_t thread = (uint32_t) rb_thread_number(me);
	rb_status status = RB_OK;

	for (size_t i = m->batch.at[m->done + from]; i < m->batch.at[m->done + to] && status == RB_OK;
		 i++)
		status = rb_should_stop(m->join->ctx)
					 ? RB_STOPPED
					 : m->measure(m->user, thread, m->join->pairs.at[i], &m->value[i - m->first]);
	rb_keep_failure(&m->status, status);
}

/* Passes on the pairs from `first` up to, not including, `end` whose measures are not 0. */
static rb_status
put_measured_pairs(const pair_measures *m, size_t end, const rb_row_sink *sink)
{
	rb_pair rows[BATCH];
	uint64_t payload[BATCH];
	size_t n = 0;

	for (size_t i = m->first; i < end; i++)
	{
		if (rb_stop_due(m->join->ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		if (m->value[i - m->first] != 0)
		{
			rows[n] = m->join->pairs.at[i];
			memcpy(&payload[n++], &m->value[i - m->first], sizeof *payload);
		}
		if (n > 0 && (n == BATCH || i + 1 == end))
		{
			RB_TRY(sink->put(sink->user, rows, payload, n));
			n = 0;
		}
	}
	return RB_OK;
}

/*
 * Measures the batches in rounds. The pairs of a round are passed on in their order, whichever thread
 * measured them.
 */
static rb_status
measure_batches_in_rounds(pair_measures *m, rb_thread *team, const rb_row_sink *sink)
{
	const size_t nbatches = m->batch.n - 1;
	size_t values = 0;
	rb_status status;

	for (m->done = 0; m->done < nbatches; m->done += BATCHES_OF_ROUND)
	{
		const size_t n =
			nbatches - m->done < BATCHES_OF_ROUND ? nbatches - m->done : BATCHES_OF_ROUND;
		const size_t end = m->batch.at[m->done + n];

		m->first = m->batch.at[m->done];
		RB_TRY(RB_RENEW(m->join->ctx, m->value, values, end - m->first));
		status = rb_loop(team, n, 1, measure_batches_piece, m);
		RB_TRY(rb_loop_failure(m->status, status));
		RB_TRY(put_measured_pairs(m, end, sink));
	}
	return RB_OK;
}

rb_status
rb_plane_join_measure(rb_plane_join *w, rb_thread *team, rb_measure_rows measure, void *user,
					  const rb_row_sink *sink)
{
	pair_measures m = {.join = w, .measure = measure, .user = user};
	rb_status status = divide_pairs_into_batches(&m);

	if (status == RB_OK)
		status = measure_batches_in_rounds(&m, team, sink);
	rb_vec_free(w->ctx->memory, &m.batch);
	RB_FREE(w->ctx->memory, m.value);
	return status;
}

/* Finds the rings of both sides, and checks all polygons. */
static rb_status
open_sides_of_join(rb_plane_join *w, rb_thread *team)
{
	const int sides = w->job->blue != NULL ? 2 : 1;

	for (int i = 0; i < sides; i++)
	{
		const rb_set *set = i == 0 ? w->job->red : w->job->blue;
		const bool lines = w->job->red->kind != RB_EDGE2;
		const rb_solid_side of = sides == 1 || (lines && i == 1) ? RB_SOLID_OF_SOLIDS
								 : i == 0                        ? RB_SOLID_OF_RED
																 : RB_SOLID_OF_BLUE;

		RB_TRY(rb_rings_open(w->ctx, team, set, &w->rings[i]));
		if (set->kind == RB_EDGE2)
			RB_TRY(rb_polygons_check(w->ctx, team, &w->rings[i], w->job->skip_bad, of, &w->bad[i]));
	}
	for (int i = 0; i < 2; i++)
	{
		w->side[i] = &w->rings[i % sides];
		w->skipped[i] = w->bad[i % sides];
	}
	return RB_OK;
}

/* Opens a thread's memory. */
static rb_status
open_contact_rooms(rb_plane_join *w, uint32_t threads)
{
	RB_TRY(RB_ALLOCATE(w->ctx, w->rooms, threads));
	memset(w->rooms, 0, threads * sizeof *w->rooms);
	w->nrooms = threads;
	for (uint32_t i = 0; i < threads; i++)
		w->rooms[i].env = (rb_exact_env){.filters = RB_FILTER_ALL, .exact = true};
	return RB_OK;
}

rb_status
rb_plane_join_open(rb_plane_join *w, rb_context *ctx, rb_thread *team, const rb_backend *backend,
				   const rb_job *job)
{
	*w = (rb_plane_join){.ctx = ctx, .backend = backend, .job = job};
	rb_notes_open(&w->pairs, ctx);
	RB_TRY(open_contact_rooms(w, (uint32_t) rb_team_threads(team)));
	RB_TRY(open_sides_of_join(w, team));
	for (int i = 0; i < (job->blue != NULL ? 2 : 1); i++)
		RB_TRY(rank_rows_by_id(ctx, &w->rings[i], &w->rank[i]));
	RB_TRY(join_boxes_of_rows(w));
	return rb_notes_sort(&w->pairs, w->rank[0], w->rank[job->blue != NULL ? 1 : 0]);
}

void
rb_plane_join_close(rb_plane_join *w)
{
	rb_memory *memory = w->ctx->memory;

	for (uint32_t i = 0; i < w->nrooms; i++)
	{
		rb_vec_free(memory, &w->rooms[i].contacts);
		rb_vec_free(memory, &w->rooms[i].turned);
		rb_vec_free(memory, &w->rooms[i].points);
		rb_vec_free(memory, &w->rooms[i].rings);
		rb_vec_free(memory, &w->rooms[i].others);
	}
	RB_FREE(memory, w->rooms);
	for (int side = 0; side < 2; side++)
	{
		rb_rings_close(memory, &w->rings[side]);
		RB_FREE(memory, w->bad[side]);
		RB_FREE(memory, w->rank[side]);
	}
	rb_notes_close(&w->pairs);
}
