/*
 * polygon_rings.c
 *	  Finds the rings of polygons, the side of their interiors, and the edges near a value of y.
 *
 * The range of y of a row is divided into slots of equal height, and each slot lists the edges that
 * reach into it. A slot is found by a monotonic function of y, rounded, so that an edge is listed in
 * the slot of each y that it has. There are as many slots as keep the lists short: about one entry
 * for each edge, plus one for each slot that an edge passes.
 */
#include "core/plane/plane.h"

#define ROW_GRAIN RB_SIZE(16, 2) /* Number of rows a thread takes at a time */
#define EDGES_PER_SLOT 4

typedef struct ring_rows
{
	rb_context *ctx;
	rb_rings *r;
	int pass; /* 0 to count slots, 1 to count the edges in them, 2 to list the edges */
} ring_rows;

/* Chooses the number of slots of a row. */
static uint32_t
choose_slots(rb_rings *r, uint32_t row)
{
	const uint32_t from = r->row_start[row], to = r->row_start[row + 1];
	const double *box = r->row_box + 6 * (size_t) row;
	const double height = box[4] - box[1];
	double sum = 0, slots = (to - from) / (double) EDGES_PER_SLOT;

	r->scale[row] = 0;
	if (!(height > 0 && height <= DBL_MAX) || slots < 2)
		return 1;
	for (uint32_t i = from; i < to; i++)
		sum += fabs(rb_edge(r, i)[3] - rb_edge(r, i)[1]);
	/* Each edge passes slots * its height / height slots. */
	if (sum / height > EDGES_PER_SLOT)
		slots *= EDGES_PER_SLOT / (sum / height);
	slots = floor(slots);
	if (!(slots >= 2 && slots / height <= DBL_MAX))
		return 1;
	r->scale[row] = slots / height;
	return (uint32_t) slots;
}

/* Counts or lists the edges of a row in its slots. */
static void
list_edges_of_row(rb_rings *r, uint32_t row, bool count)
{
	for (uint32_t i = r->row_start[row]; i < r->row_start[row + 1]; i++)
	{
		const double *e = rb_edge(r, i);
		uint32_t low, high;

		if (rb_is_mark(e))
			continue;
		low = rb_slot_of_y(r, row, rb_min(e[1], e[3]));
		high = rb_slot_of_y(r, row, rb_max(e[1], e[3]));
		for (uint32_t k = low; k <= high; k++)
			if (count)
				r->first[k + 1]++;
			else
				r->listed[r->first[k + 1]++] = i;
	}
}

/* Works on the slots of a range of rows. */
static void
list_edges_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const ring_rows *w = arg;

	(void) me;
	for (uint32_t row = (uint32_t) from; row < to && !rb_should_stop(w->ctx); row++)
		if (w->pass == 0)
			w->r->slot[row] = choose_slots(w->r, row);
		else
			list_edges_of_row(w->r, row, w->pass == 1);
}

/* Lists the edges of all rows in slots. */
static rb_status
list_edges_in_slots(rb_context *ctx, rb_thread *team, rb_rings *r)
{
	const uint32_t rows = r->set->nrows;
	ring_rows w = {ctx, r, 0};
	uint64_t all = 0;
	uint32_t slots;

	RB_TRY(RB_ALLOCATE(ctx, r->slot, (size_t) rows + 1));
	RB_TRY(RB_ALLOCATE(ctx, r->scale, (size_t) rows + 1));
	RB_TRY(rb_each(ctx, team, rows, ROW_GRAIN, list_edges_piece, &w));
	r->slot[rows] = 0;
	slots = rb_counts_to_starts(r->slot, (size_t) rows + 1);
	/* Entry k + 1 is the count of slot k, then its start, which listing advances to its end. */
	RB_TRY(RB_ALLOCATE(ctx, r->first, (size_t) slots + 2));
	memset(r->first, 0, ((size_t) slots + 2) * sizeof *r->first);
	w.pass = 1;
	RB_TRY(rb_each(ctx, team, rows, ROW_GRAIN, list_edges_piece, &w));
	for (size_t k = 1; k <= slots; k++)
	{
		const uint32_t count = r->first[k];

		r->first[k] = (uint32_t) all;
		all += count;
		if (all > UINT32_MAX)
			return rb_fail(ctx, RB_TOO_MANY_OBJECTS, all, UINT32_MAX, NULL);
	}
	RB_TRY(RB_ALLOCATE(ctx, r->listed, all + 1));
	w.pass = 2;
	return rb_each(ctx, team, rows, ROW_GRAIN, list_edges_piece, &w);
}

/* ---- rings ---- */

/* Finds the box of a ring, and the side of the interior, by the turn at its first point by x and y. */
static void
measure_ring(rb_rings *r, uint32_t ring, bool shell)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	rb_ring *g = &r->ring[ring];
	uint32_t least = g->start;
	int turn;

	g->box[0] = g->box[1] = HUGE_VAL;
	g->box[2] = g->box[3] = -HUGE_VAL;
	for (uint32_t i = g->start; i < g->end; i++)
	{
		const double *e = rb_edge(r, i);

		for (int a = 0; a < 2; a++)
		{
			g->box[a] = rb_min(g->box[a], e[a]);
			g->box[2 + a] = rb_max(g->box[2 + a], e[a]);
		}
		if (rb_is_point_before(e, rb_edge(r, least)))
			least = i;
	}
	g->least = least;
	turn = rb_orient2d_points(&env, rb_edge(r, rb_previous_edge(r, least)), rb_edge(r, least),
							  rb_edge(r, least) + 2);
	g->reversed = shell ? turn < 0 : turn > 0;
}

/* Finds the rings of all rows: first counts them, then stores them. */
static rb_status
find_rings(rb_context *ctx, rb_rings *r, bool count)
{
	const uint32_t rows = r->set->nrows;
	uint32_t n = 0;

	for (uint32_t row = 0; row < rows; row++)
	{
		uint32_t shell = 0;

		r->row_ring[row] = n;
		for (uint32_t i = r->row_start[row]; i < r->row_start[row + 1];)
		{
			const uint32_t from = i;

			while (i < r->row_start[row + 1] && rb_is_mark(rb_edge(r, i)))
				i++;
			if (i == r->row_start[row + 1])
				break;
			if (i - from > RB_MARKS_OF_HOLE || n == r->row_ring[row])
				shell = n;
			if (!count)
				r->ring[n] = (rb_ring){.start = i, .shell = shell};
			for (; i < r->row_start[row + 1] && !rb_is_mark(rb_edge(r, i)); i++)
				if (!count)
					r->ring_of[i] = n;
			if (!count)
				r->ring[n].end = i;
			n++;
		}
		if (rb_stop_due(ctx, row, 1024))
			return RB_STOPPED;
	}
	r->row_ring[rows] = r->nrings = n;
	return RB_OK;
}

/* Measures a range of rings. */
static void
measure_rings_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const ring_rows *w = arg;

	(void) me;
	for (uint32_t ring = (uint32_t) from; ring < to && !rb_should_stop(w->ctx); ring++)
		measure_ring(w->r, ring, w->r->ring[ring].shell == ring);
}

rb_status
rb_rings_open(rb_context *ctx, rb_thread *team, const rb_set *set, rb_rings *r)
{
	const size_t rows = (size_t) set->nrows + 1;
	ring_rows w = {ctx, r, 0};

	*r = (rb_rings){.set = set};
	RB_TRY(RB_ALLOCATE(ctx, r->row_start, rows));
	RB_TRY(RB_ALLOCATE(ctx, r->row_box, 6 * rows));
	RB_TRY(RB_ALLOCATE(ctx, r->row_ring, rows));
	RB_TRY(RB_ALLOCATE(ctx, r->ring_of, (size_t) set->nparts + 1));
	RB_TRY(rb_row_boxes(team, set, r->row_start, r->row_box));
	RB_TRY(find_rings(ctx, r, true));
	RB_TRY(RB_ALLOCATE(ctx, r->ring, (size_t) r->nrings + 1));
	RB_TRY(find_rings(ctx, r, false));
	RB_TRY(rb_each(ctx, team, r->nrings, ROW_GRAIN, measure_rings_piece, &w));
	return list_edges_in_slots(ctx, team, r);
}

void
rb_rings_close(rb_memory *memory, rb_rings *r)
{
	RB_FREE(memory, r->row_start);
	RB_FREE(memory, r->row_box);
	RB_FREE(memory, r->row_ring);
	RB_FREE(memory, r->ring_of);
	RB_FREE(memory, r->ring);
	RB_FREE(memory, r->slot);
	RB_FREE(memory, r->scale);
	RB_FREE(memory, r->first);
	RB_FREE(memory, r->listed);
}

int
rb_cross_sign(rb_exact_env *env, const double *a, const double *b, const double *c, const double *d)
{
	/*
	 * Each difference has a relative error of at most e = 2^-53, and so has each product and their
	 * difference: together less than 4 e of the sum of both products, plus underflow.
	 */
	const double p = (b[0] - a[0]) * (d[1] - c[1]), q = (b[1] - a[1]) * (d[0] - c[0]);
	const double bound = 0x1p-50 * (fabs(p) + fabs(q)) + 0x1p-1000;
	rb_number x[4], det;

	if (a == c || (a[0] == c[0] && a[1] == c[1]))
		return rb_orient2d_points(env, a, b, d);
	if (fabs(p - q) > bound && fabs(p - q) <= DBL_MAX)
		return p > q ? 1 : -1;
	rb_number_difference(&x[0], b[0], a[0]);
	rb_number_difference(&x[1], b[1], a[1]);
	rb_number_difference(&x[2], d[0], c[0]);
	rb_number_difference(&x[3], d[1], c[1]);
	rb_number_det2(&det, &x[0], &x[1], &x[2], &x[3]);
	return det.sign;
}
