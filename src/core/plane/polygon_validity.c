/*
 * polygon_validity.c
 *	  Checks whether rows are valid polygons or multipolygons by the rules of OGC.
 *
 * A row is valid if its rings are simple, share no points, and lie in the right places, which walks
 * over their trees show for most rows of maps (simple_ring.c). For all others, a sweep over the edges
 * of the row (polygon_sweep.c) finds edges that cross or overlap, rings that touch themselves, rings
 * that cross at a common point, and rings in a wrong place. Each row is swept alone, so it does not
 * matter how many rows lie in one place.
 *
 * The winding number of all rings, directed so that the interior is on their left, says in which way a
 * ring is in a wrong place: immediately to the left of each ring, it should be 1, all of it from rings of
 * the same polygon. The place is a point p of an edge pq, moved by an infinitesimal step toward q and by
 * a much smaller one to the left: signs that are 0 for p become those of the first step, then of the
 * second one.
 *
 * The interior of a polygon is connected if its rings and the points that they share form no cycle: a
 * cycle of simple curves encloses a part of it.
 */
#include "core/base/sort.h"
#include "core/base/union_find.h"
#include "core/exact/bignum.h"
#include "core/plane/plane.h"
#include "core/solid/solid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define GRAIN RB_SIZE(64, 2) /* Number of rows a thread takes at a time */
#define CHECK_INTERVAL 1024  /* Number of small steps between checks for cancellation */

typedef struct polygon_checks
{
	rb_context *ctx;
	const rb_rings *r;
	uint32_t *bad;
	pthread_mutex_t lock;
	uint32_t first; /* Bad row with the smallest id, or UINT32_MAX */
	rb_polygon_place fault;
	uint64_t because[RB_POLYGON_FAULTS];
	int status;
} polygon_checks;

/* Memory of one row */
typedef struct polygon_room
{
	rb_exact_env env;
	rb_polygon_sweep sweep;
	rb_ring_list near; /* Rings near a ring */
	uint32_t *parent;  /* Disjoint sets of rings */
	size_t parents;
} polygon_room;

/* ---- nesting ---- */

/* The place at p that is moved toward q, then to the left */
typedef struct ring_germ
{
	const double *p;
	const double *q;
} ring_germ;

/* Returns true if the point x is below the place. */
static bool
is_below_germ(const ring_germ *g, const double *x)
{
	if (x[1] != g->p[1])
		return x[1] < g->p[1];
	if (g->q[1] != g->p[1])
		return g->q[1] > g->p[1];
	return g->q[0] > g->p[0];
}

/* Returns true if the place is on the left of the line from u to v. */
static bool
is_germ_left_of(rb_exact_env *env, const ring_germ *g, const double *u, const double *v)
{
	int side = rb_orient2d_points(env, u, v, g->p);

	if (side == 0)
		side = rb_cross_sign(env, u, v, g->p, g->q);
	if (side == 0)
		return v[0] != u[0] ? (v[0] > u[0]) == (g->q[0] > g->p[0])
							: (v[1] > u[1]) == (g->q[1] > g->p[1]);
	return side > 0;
}

/* Winding numbers at a place: of its polygon's rings, of the shell of these, of other polygons */
typedef struct ring_winding
{
	int own;
	int shell;
	int others;
} ring_winding;

/* Finds the winding numbers at a place of a ring. */
static rb_status
find_winding_at_germ(const rb_context *ctx, const rb_rings *r, uint32_t row, uint32_t shell,
					 const ring_germ *g, ring_winding *found)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	ring_winding w = {0, 0, 0};

	for (uint32_t i = r->ring[r->row_ring[row]].start; i < r->row_start[row + 1]; i++)
	{
		const double *u, *v;
		const rb_ring *ring;
		bool up;

		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		if (rb_is_mark(rb_edge(r, i)))
			continue;
		ring = &r->ring[r->ring_of[i]];
		rb_directed_edge(r, i, &u, &v);
		up = is_below_germ(g, u);
		if (up == is_below_germ(g, v) || rb_max(u[0], v[0]) < g->p[0])
			continue;
		/* The ray in the direction of x meets an edge that goes up if the place is on its left. */
		if (is_germ_left_of(&env, g, u, v) != up)
			continue;
		if (ring->shell == shell)
			w.own += up ? 1 : -1;
		else
			w.others += up ? 1 : -1;
		if (r->ring_of[i] == shell)
			w.shell += up ? 1 : -1;
	}
	*found = w;
	return RB_OK;
}

/* ---- one row ---- */

/* Sets the fault of a row. */
static void
set_polygon_fault(rb_polygon_place *f, rb_polygon_fault fault, const double *at)
{
	f->fault = fault;
	f->at[0] = at[0];
	f->at[1] = at[1];
}

/* Looks for rings with too few points. */
static rb_status
find_short_rings(const rb_context *ctx, const rb_rings *r, uint32_t row, rb_polygon_place *f)
{
	uint32_t marks = 0;

	for (uint32_t i = r->row_start[row]; i < r->row_start[row + 1]; i++)
	{
		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		marks = rb_is_mark(rb_edge(r, i)) ? marks + 1 : 0;
		if (marks > RB_MARKS_OF_SHELL)
		{
			set_polygon_fault(f, RB_POLYGON_FEW, rb_edge(r, i));
			return RB_OK;
		}
	}
	for (uint32_t k = r->row_ring[row]; k < r->row_ring[row + 1]; k++)
	{
		if (rb_stop_due(ctx, k, CHECK_INTERVAL))
			return RB_STOPPED;
		if (r->ring[k].end - r->ring[k].start < 3)
		{
			set_polygon_fault(f, RB_POLYGON_FEW, rb_edge(r, r->ring[k].start));
			return RB_OK;
		}
	}
	return RB_OK;
}

/* Sets the fault of a row with a ring in a wrong place. */
static rb_status
describe_misplaced_ring(const rb_context *ctx, const rb_rings *r, uint32_t row, uint32_t ring,
						rb_polygon_place *f)
{
	const uint32_t shell = r->ring[ring].shell;
	ring_germ g;
	ring_winding at;

	rb_directed_edge(r, r->ring[ring].start, &g.p, &g.q);
	RB_TRY(find_winding_at_germ(ctx, r, row, shell, &g, &at));
	set_polygon_fault(f,
					  shell == ring || at.own == 1 ? RB_POLYGON_SHELLS
					  : at.shell == 1              ? RB_POLYGON_NESTED
												   : RB_POLYGON_OUTSIDE,
					  g.p);
	return RB_OK;
}

/* Orders points of rings by polygon, point and ring. */
static int
by_point_of_polygon(const void *a, const void *b, const void *arg)
{
	const rb_ring_touch *x = a, *y = b;

	(void) arg;
	if (x->shell != y->shell)
		return x->shell < y->shell ? -1 : 1;
	for (int k = 0; k < 2; k++)
		if (x->at[k] != y->at[k])
			return x->at[k] < y->at[k] ? -1 : 1;
	return (x->ring > y->ring) - (x->ring < y->ring);
}

/* Looks for rings that touch so that they divide the interior of a polygon. */
static rb_status
find_divided_interior(const polygon_checks *w, polygon_room *room, uint32_t row,
					  rb_polygon_place *f)
{
	const uint32_t first = w->r->row_ring[row], n = w->r->row_ring[row + 1] - first;
	const rb_ring_touch *t;

	if (room->sweep.touches.n == 0)
		return RB_OK;
	RB_TRY(rb_sort(w->ctx, room->sweep.touches.at, room->sweep.touches.n,
				   sizeof *room->sweep.touches.at, by_point_of_polygon, NULL));
	RB_TRY(RB_RENEW(w->ctx, room->parent, room->parents, n));
	rb_union_find_init(room->parent, n);
	t = room->sweep.touches.at;
	for (size_t i = 1; i < room->sweep.touches.n; i++)
	{
		bool same;

		if (rb_stop_due(w->ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		same = t[i].shell == t[i - 1].shell && t[i].at[0] == t[i - 1].at[0] &&
			   t[i].at[1] == t[i - 1].at[1];
		if (same && t[i].ring != t[i - 1].ring &&
			!rb_unite(room->parent, t[i].ring - first, t[i - 1].ring - first))
		{
			set_polygon_fault(f, RB_POLYGON_DIVIDED, t[i].at);
			return RB_OK;
		}
	}
	return RB_OK;
}

/* Finds the first fault of a row. */
static rb_status
check_polygon(const polygon_checks *w, polygon_room *room, uint32_t row, rb_polygon_place *f)
{
	bool valid;

	f->fault = RB_POLYGON_GOOD;
	RB_TRY(find_short_rings(w->ctx, w->r, row, f));
	if (f->fault != RB_POLYGON_GOOD)
		return RB_OK;
	RB_TRY(rb_find_simple_rings(w->ctx, &room->env, w->r, row, &room->near, &valid));
	if (valid)
		return RB_OK;
	RB_TRY(rb_sweep_polygon(&room->sweep, w->ctx, w->r, row, f));
	if (f->fault != RB_POLYGON_GOOD)
		return RB_OK;
	if (room->sweep.misplaced == UINT32_MAX)
		return find_divided_interior(w, room, row, f);
	return describe_misplaced_ring(w->ctx, w->r, row, room->sweep.misplaced, f);
}

/* ---- all rows ---- */

/* Records a bad row. The first one is that with the smallest id, since rows may come in any order. */
static void
note_bad_polygon(polygon_checks *w, uint32_t row, const rb_polygon_place *f)
{
	rb_mark(w->bad, row);
	pthread_mutex_lock(&w->lock);
	w->because[f->fault]++;
	if (w->first == UINT32_MAX ||
		rb_id_of_polygon(w->r->set, row) < rb_id_of_polygon(w->r->set, w->first))
	{
		w->first = row;
		w->fault = *f;
	}
	pthread_mutex_unlock(&w->lock);
}

/* Returns true if a row of a delta set comes from a set whose rows are known to be valid. */
static bool
is_row_known(const rb_rings *r, uint32_t row)
{
	uint32_t part = r->row_start[row];

	return r->set->view != NULL && rb_set_knows(rb_view_part(r->set, &part), RB_KNOWN_POLYGONS);
}

/* Checks a range of rows. */
static void
check_polygons_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	polygon_checks *w = arg;
	polygon_room room = {.env = {.filters = RB_FILTER_ALL, .exact = true}};
	rb_status status = RB_OK;
	rb_polygon_place f;

	(void) me;
	for (uint32_t row = (uint32_t) from; row < to && status == RB_OK; row++)
	{
		status = rb_should_stop(w->ctx) ? RB_STOPPED : RB_OK;
		f.fault = RB_POLYGON_GOOD;
		if (status == RB_OK && !is_row_known(w->r, row))
			status = check_polygon(w, &room, row, &f);
		if (status == RB_OK && f.fault != RB_POLYGON_GOOD)
			note_bad_polygon(w, row, &f);
	}
	rb_sweep_close(w->ctx->memory, &room.sweep);
	rb_vec_free(w->ctx->memory, &room.near);
	RB_FREE(w->ctx->memory, room.parent);
	rb_keep_failure(&w->status, status);
}

/* Returns the shortest text of a coordinate that is read as the same double. */
static void
text_of_coordinate(char to[32], double x)
{
	for (int digits = 15; digits <= 17; digits++)
	{
		snprintf(to, 32, "%.*g", digits, x);
		if (strtod(to, NULL) == x)
			return;
	}
}

/* Describes a fault in a sentence. */
static void
describe_polygon_fault(char *text, size_t size, const rb_polygon_place *f)
{
	static const char *const sentences[RB_POLYGON_FAULTS] = {
		[RB_POLYGON_FEW] = "A ring has fewer than three different points, at (%s %s).",
		[RB_POLYGON_CROSSED] = "Two edges cross or overlap at (%s %s).",
		[RB_POLYGON_TOUCHED] = "A ring touches itself at (%s %s).",
		[RB_POLYGON_OUTSIDE] = "A hole is not within its shell, near (%s %s).",
		[RB_POLYGON_NESTED] = "The hole at (%s %s) is within another hole of its polygon.",
		[RB_POLYGON_SHELLS] = "Two polygons of the multipolygon overlap at (%s %s).",
		[RB_POLYGON_DIVIDED] = "Rings that touch, as at (%s %s), divide the interior."};
	char x[32], y[32];

	text_of_coordinate(x, f->at[0]);
	text_of_coordinate(y, f->at[1]);
	snprintf(text, size, sentences[f->fault], x, y);
}

const char *
rb_polygon_fault_name(rb_polygon_fault fault)
{
	static const char *const names[RB_POLYGON_FAULTS] = {
		[RB_POLYGON_GOOD] = "valid",
		[RB_POLYGON_FEW] = "too few points",
		[RB_POLYGON_CROSSED] = "self-intersecting",
		[RB_POLYGON_TOUCHED] = "ring that touches itself",
		[RB_POLYGON_OUTSIDE] = "hole outside its shell",
		[RB_POLYGON_NESTED] = "nested holes",
		[RB_POLYGON_SHELLS] = "overlapping polygons",
		[RB_POLYGON_DIVIDED] = "divided interior"};

	return names[fault];
}

/* Counts the bad rows, and fails for the first one unless they are skipped. */
static rb_status
report_bad_polygons(polygon_checks *w, bool skip, rb_solid_side of)
{
	const rb_set *set = w->r->set;
	char text[160];

	for (int fault = 0; fault < RB_POLYGON_FAULTS; fault++)
	{
		w->ctx->stats.bad_solids += w->because[fault];
		w->ctx->stats.bad_because[of == RB_SOLID_OF_RED ? 0 : 1][fault] += w->because[fault];
	}
	if (w->first == UINT32_MAX)
		rb_set_learn(set, RB_KNOWN_POLYGONS);
	if (w->first == UINT32_MAX || skip)
		return RB_OK;
	describe_polygon_fault(text, sizeof text, &w->fault);
	return rb_fail(w->ctx, RB_BAD_POLYGON, (uint64_t) rb_id_of_polygon(set, w->first),
				   (uint64_t) of, text);
}

rb_status
rb_polygons_check(rb_context *ctx, rb_thread *team, const rb_rings *r, bool skip, rb_solid_side of,
				  uint32_t **bad)
{
	const size_t words = r->set->nrows / 32 + 1;
	polygon_checks w = {.ctx = ctx, .r = r, .first = UINT32_MAX};
	rb_status status;

	RB_TRY(RB_ALLOCATE(ctx, *bad, words));
	memset(*bad, 0, words * sizeof **bad);
	if (rb_set_knows(r->set, RB_KNOWN_POLYGONS))
		return RB_OK;
	w.bad = *bad;
	pthread_mutex_init(&w.lock, NULL);
	status = rb_each(ctx, team, r->set->nrows, GRAIN, check_polygons_piece, &w);
	status = rb_loop_failure(w.status, status);
	pthread_mutex_destroy(&w.lock);
	return status == RB_OK ? report_bad_polygons(&w, skip, of) : status;
}
