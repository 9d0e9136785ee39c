/*
 * polygon_validity.c
 *	  Checks whether rows are valid polygons or multipolygons by the rules of OGC.
 *
 * A self join of the edges within each row finds all pairs of edges that share a point. If none
 * cross, overlap, or belong to one ring without being neighbors, all rings are simple curves that
 * share isolated points only. Where two rings share a point, they must not cross there: both edges of
 * one ring must leave the point on the same side of the other ring.
 *
 * Then rings are apart or nested, and one place each suffices to see how: the winding number of all
 * rings, directed so that the interior is on their left, must be 1 immediately to the left of each
 * ring, all of it from rings of the same polygon. The place is a point p of an edge pq, moved by an
 * infinitesimal step toward q and by a much smaller one to the left: signs that are 0 for p become
 * those of the first step, then of the second one.
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

#define BATCH RB_SIZE(512, 3)        /* Number of pairs processed at a time */
#define GRAIN RB_SIZE(64, 2)         /* Number of rows a thread takes at a time */
#define CHECK_INTERVAL 1024          /* Number of small steps between checks for cancellation */
#define PART_GRAIN RB_SIZE(4096, 64) /* Number of edges that justify a thread */

/* A fault of a row, and where it is */
typedef struct polygon_fault
{
	rb_polygon_fault fault;
	double at[2];
} polygon_fault;

/* A point that a ring of a polygon shares with another ring of the same polygon */
typedef struct ring_touch
{
	double at[2];
	uint32_t shell;
	uint32_t ring;
} ring_touch;

typedef struct polygon_checks
{
	rb_context *ctx;
	const rb_rings *r;
	rb_notes pairs; /* Edges of one row that share a point, except the common point of neighbors */
	uint32_t *bad;
	pthread_mutex_t lock;
	uint32_t first; /* First bad row */
	polygon_fault fault;
	uint64_t because[RB_POLYGON_FAULTS];
	int status;
} polygon_checks;

/* Memory of one row */
typedef struct polygon_room
{
	RB_VEC(ring_touch) touches;
	uint32_t *parent; /* Disjoint sets of rings */
	size_t parents;
} polygon_room;

/* ---- pairs of edges ---- */

/* Returns true if two edges follow each other on a ring. */
static bool
are_neighbors_on_ring(const rb_rings *r, uint32_t a, uint32_t b)
{
	return r->ring_of[a] == r->ring_of[b] && (rb_next_edge(r, a) == b || rb_next_edge(r, b) == a);
}

/* Collects pairs of edges, except marks and neighbors that share their common end only. */
static rb_status
collect_pairs_of_edges(void *user, const rb_pair *pairs, size_t n)
{
	polygon_checks *w = user;
	rb_pair some[BATCH];
	size_t nsome = 0;

	for (size_t i = 0; i < n; i++)
	{
		const uint32_t a = rb_pair_red(pairs[i]), b = pairs[i].blue;

		if (rb_is_mark(rb_edge(w->r, a)) || rb_is_mark(rb_edge(w->r, b)) ||
			(RB_PAYLOAD_DIMENSION(rb_pair_payload(pairs[i])) == 0 &&
			 are_neighbors_on_ring(w->r, a, b)))
			continue;
		some[nsome++] = pairs[i];
		if (nsome == BATCH)
		{
			RB_TRY(rb_notes_add(&w->pairs, some, nsome));
			nsome = 0;
		}
	}
	RB_TRY(rb_notes_add(&w->pairs, some, nsome));
	return rb_should_stop(w->ctx) ? RB_STOPPED : RB_OK;
}

/* Finds the pairs of edges of each row that share a point. */
static rb_status
join_edges_within_rows(polygon_checks *w, const rb_backend *backend)
{
	rb_set edges = *w->r->set;
	const rb_job job = {.red = &edges, .predicate = RB_CONTACT, .within_rows = true};
	const rb_sink sink = {.put = collect_pairs_of_edges, .user = w};

	edges.kind = RB_SEGMENT2;
	edges.number = 0;
	edges.view = NULL;
	edges.owner = NULL;
	RB_TRY(rb_join_step(w->ctx, backend, &job, &sink, PART_GRAIN));
	/* By parts of both sides, which also orders them by row */
	return rb_notes_sort(&w->pairs, NULL, NULL);
}

/* Returns the end of one edge that lies on another one, which shares a single point with it. */
static const double *
common_end_of_edges(rb_exact_env *env, const double *a, const double *b)
{
	const double *end[4] = {a, a + 2, b, b + 2};

	for (int k = 0; k < 4; k++)
	{
		const double *p = end[k], *e = k < 2 ? b : a;

		if (p[0] >= rb_min(e[0], e[2]) && p[0] <= rb_max(e[0], e[2]) &&
			p[1] >= rb_min(e[1], e[3]) && p[1] <= rb_max(e[1], e[3]) &&
			rb_orient2d_points(env, e, e + 2, p) == 0)
			return p;
	}
	return a;
}

/* Computes the point where two edges cross, rounded. */
static void
find_crossing_of_edges(const double *a, const double *b, double at[2])
{
	rb_number w[2], h[2], from, below, t, d, x, y;

	for (int k = 0; k < 2; k++)
	{
		rb_number_difference(&w[k], b[k], a[k]);
		rb_number_difference(&h[k], b[2 + k], b[k]);
	}
	rb_number_det2(&from, &w[0], &w[1], &h[0], &h[1]);
	rb_number_difference(&x, a[2], a[0]);
	rb_number_difference(&y, a[3], a[1]);
	rb_number_det2(&below, &x, &y, &h[0], &h[1]);
	for (int k = 0; k < 2; k++)
	{
		rb_number_difference(&d, a[2 + k], a[k]);
		rb_number_mul(&t, &from, &d);
		rb_number_of(&x, a[k]);
		rb_number_mul(&y, &x, &below);
		rb_number_add(&t, &t, &y);
		rb_number_div(&x, &t, &below, 3);
		at[k] = rb_number_round(&x) + 0.0;
	}
}

/* ---- rings that share a point ---- */

/* The edges of a ring at a point: the points from which it comes and to which it goes */
typedef struct ring_corner
{
	const double *from;
	const double *to;
} ring_corner;

/* Finds the corner of the ring of an edge at a point of that edge. */
static ring_corner
corner_of_ring(const rb_rings *r, uint32_t edge, const double *p)
{
	const double *e = rb_edge(r, edge);

	if (e[0] == p[0] && e[1] == p[1])
		return (ring_corner){rb_edge(r, rb_previous_edge(r, edge)), e + 2};
	if (e[2] == p[0] && e[3] == p[1])
		return (ring_corner){e, rb_edge(r, rb_next_edge(r, edge)) + 2};
	return (ring_corner){e, e + 2};
}

/* Returns true if the direction from p to x is on the left of a corner at p. */
static bool
is_left_of_corner(rb_exact_env *env, const ring_corner *c, const double *p, const double *x)
{
	const bool left_of_to = rb_orient2d_points(env, p, c->to, x) > 0;
	const bool left_of_from = rb_orient2d_points(env, c->from, p, x) > 0;

	return rb_orient2d_points(env, c->from, p, c->to) > 0 ? left_of_to && left_of_from
														  : left_of_to || left_of_from;
}

/* Returns true if the rings of two edges cross at their common point p. */
static bool
do_rings_cross_at(rb_exact_env *env, const rb_rings *r, uint32_t a, uint32_t b, const double *p)
{
	const ring_corner c = corner_of_ring(r, a, p), d = corner_of_ring(r, b, p);

	return is_left_of_corner(env, &c, p, d.from) != is_left_of_corner(env, &c, p, d.to);
}

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
static ring_winding
find_winding_at_germ(rb_exact_env *env, const rb_rings *r, uint32_t row, uint32_t shell,
					 const ring_germ *g)
{
	const uint32_t *edges, n = rb_edges_at(r, row, g->p[1], &edges);
	ring_winding w = {0, 0, 0};

	for (uint32_t i = 0; i < n; i++)
	{
		const double *u, *v;
		const rb_ring *ring = &r->ring[r->ring_of[edges[i]]];
		bool up;

		rb_directed_edge(r, edges[i], &u, &v);
		up = is_below_germ(g, u);
		if (up == is_below_germ(g, v) || rb_max(u[0], v[0]) < g->p[0])
			continue;
		/* The ray in the direction of x meets an edge that goes up if the place is on its left. */
		if (is_germ_left_of(env, g, u, v) != up)
			continue;
		if (ring->shell == shell)
			w.own += up ? 1 : -1;
		else
			w.others += up ? 1 : -1;
		if (r->ring_of[edges[i]] == shell)
			w.shell += up ? 1 : -1;
	}
	return w;
}

/* ---- one row ---- */

/* Sets the fault of a row. */
static void
set_polygon_fault(polygon_fault *f, rb_polygon_fault fault, const double *at)
{
	f->fault = fault;
	f->at[0] = at[0];
	f->at[1] = at[1];
}

/* Looks for rings with too few points. */
static void
find_short_rings(const rb_rings *r, uint32_t row, polygon_fault *f)
{
	uint32_t marks = 0;

	for (uint32_t i = r->row_start[row]; i < r->row_start[row + 1]; i++)
	{
		marks = rb_is_mark(rb_edge(r, i)) ? marks + 1 : 0;
		if (marks > RB_MARKS_OF_SHELL)
		{
			set_polygon_fault(f, RB_POLYGON_FEW, rb_edge(r, i));
			return;
		}
	}
	for (uint32_t k = r->row_ring[row]; k < r->row_ring[row + 1]; k++)
		if (r->ring[k].end - r->ring[k].start < 3)
		{
			set_polygon_fault(f, RB_POLYGON_FEW, rb_edge(r, r->ring[k].start));
			return;
		}
}

/* Looks for edges that cross or overlap, and for rings that touch themselves. */
static rb_status
find_meeting_edges(const polygon_checks *w, const rb_pair *pairs, size_t n, polygon_fault *f)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};

	for (size_t i = 0; i < n; i++)
	{
		const uint32_t a = rb_pair_red(pairs[i]), b = pairs[i].blue;
		const double *e = rb_edge(w->r, a), *h = rb_edge(w->r, b);
		const unsigned payload = rb_pair_payload(pairs[i]);
		double at[2];

		if (rb_stop_due(w->ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		if (RB_PAYLOAD_DIMENSION(payload) == 0 && RB_PAYLOAD_CROSSES(payload))
		{
			find_crossing_of_edges(e, h, at);
			set_polygon_fault(f, RB_POLYGON_CROSSED, at);
			return RB_OK;
		}
		if (RB_PAYLOAD_DIMENSION(payload) > 0)
		{
			set_polygon_fault(f, RB_POLYGON_CROSSED, common_end_of_edges(&env, e, h));
			return RB_OK;
		}
		if (w->r->ring_of[a] == w->r->ring_of[b] && f->fault == RB_POLYGON_GOOD)
			set_polygon_fault(f, RB_POLYGON_TOUCHED, common_end_of_edges(&env, e, h));
	}
	return RB_OK;
}

/* Looks for rings that cross at a common point, and collects the points that rings share. */
static rb_status
find_meeting_rings(const polygon_checks *w, polygon_room *room, const rb_pair *pairs, size_t n,
				   polygon_fault *f)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};

	rb_vec_clear(&room->touches);
	for (size_t i = 0; i < n; i++)
	{
		const uint32_t a = rb_pair_red(pairs[i]), b = pairs[i].blue;
		const uint32_t ring[2] = {w->r->ring_of[a], w->r->ring_of[b]};
		const double *p = common_end_of_edges(&env, rb_edge(w->r, a), rb_edge(w->r, b));

		if (rb_stop_due(w->ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		if (do_rings_cross_at(&env, w->r, a, b, p))
		{
			set_polygon_fault(f, RB_POLYGON_CROSSED, p);
			return RB_OK;
		}
		if (w->r->ring[ring[0]].shell != w->r->ring[ring[1]].shell)
			continue;
		for (int k = 0; k < 2; k++)
			RB_TRY(rb_vec_append(
				w->ctx, &room->touches,
				(ring_touch){{p[0] + 0.0, p[1] + 0.0}, w->r->ring[ring[k]].shell, ring[k]}));
	}
	return RB_OK;
}

/* Looks for rings that are nested in a wrong way. */
static rb_status
find_wrong_nesting(const polygon_checks *w, uint32_t row, polygon_fault *f)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	const rb_rings *r = w->r;

	/* A single ring cannot be wrong. */
	if (r->row_ring[row + 1] - r->row_ring[row] < 2)
		return RB_OK;
	for (uint32_t k = r->row_ring[row]; k < r->row_ring[row + 1]; k++)
	{
		const rb_ring *ring = &r->ring[k];
		ring_germ g;
		ring_winding at;

		if (rb_stop_due(w->ctx, k, 64))
			return RB_STOPPED;
		rb_directed_edge(r, ring->start, &g.p, &g.q);
		at = find_winding_at_germ(&env, r, row, ring->shell, &g);
		if (at.own == 1 && at.others == 0)
			continue;
		set_polygon_fault(f,
						  at.own == 1                         ? RB_POLYGON_SHELLS
						  : at.shell == 1 && ring->shell != k ? RB_POLYGON_NESTED
															  : RB_POLYGON_OUTSIDE,
						  g.p);
		return RB_OK;
	}
	return RB_OK;
}

/* Orders points of rings by polygon, point and ring. */
static int
by_point_of_polygon(const void *a, const void *b, const void *arg)
{
	const ring_touch *x = a, *y = b;

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
find_divided_interior(const polygon_checks *w, polygon_room *room, uint32_t row, polygon_fault *f)
{
	const uint32_t first = w->r->row_ring[row], n = w->r->row_ring[row + 1] - first;
	const ring_touch *t;

	if (room->touches.n == 0)
		return RB_OK;
	RB_TRY(rb_sort(w->ctx, room->touches.at, room->touches.n, sizeof *room->touches.at,
				   by_point_of_polygon, NULL));
	RB_TRY(RB_RENEW(w->ctx, room->parent, room->parents, n));
	rb_union_find_init(room->parent, n);
	t = room->touches.at;
	for (size_t i = 1; i < room->touches.n; i++)
	{
		const bool same = t[i].shell == t[i - 1].shell && t[i].at[0] == t[i - 1].at[0] &&
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

/* The pairs of edges before a row */
typedef struct pairs_before
{
	const rb_pair *pairs;
	uint32_t part; /* First part of the row */
} pairs_before;

/* Returns true if pair i belongs to a row before. */
static bool
is_pair_before(size_t i, const void *arg)
{
	const pairs_before *p = arg;

	return rb_pair_red(p->pairs[i]) < p->part;
}

/* Finds the first pair of edges of a row. */
static size_t
find_pairs_of_row(const polygon_checks *w, uint32_t row)
{
	const pairs_before p = {w->pairs.at, w->r->row_start[row]};

	return rb_lower_bound(0, w->pairs.n, is_pair_before, &p);
}

/* Finds the first fault of a row. */
static rb_status
check_polygon(const polygon_checks *w, polygon_room *room, uint32_t row, polygon_fault *f)
{
	const size_t from = find_pairs_of_row(w, row), n = find_pairs_of_row(w, row + 1) - from;
	const rb_pair *pairs = w->pairs.at + from;

	f->fault = RB_POLYGON_GOOD;
	find_short_rings(w->r, row, f);
	if (f->fault == RB_POLYGON_GOOD)
		RB_TRY(find_meeting_edges(w, pairs, n, f));
	rb_vec_clear(&room->touches);
	if (f->fault == RB_POLYGON_GOOD)
		RB_TRY(find_meeting_rings(w, room, pairs, n, f));
	if (f->fault == RB_POLYGON_GOOD)
		RB_TRY(find_wrong_nesting(w, row, f));
	if (f->fault == RB_POLYGON_GOOD)
		RB_TRY(find_divided_interior(w, room, row, f));
	return RB_OK;
}

/* ---- all rows ---- */

/* Records a bad row. */
static void
note_bad_polygon(polygon_checks *w, uint32_t row, const polygon_fault *f)
{
	rb_mark(w->bad, row);
	pthread_mutex_lock(&w->lock);
	w->because[f->fault]++;
	if (row < w->first)
	{
		w->first = row;
		w->fault = *f;
	}
	pthread_mutex_unlock(&w->lock);
}

/* Checks a range of rows. */
static void
check_polygons_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	polygon_checks *w = arg;
	polygon_room room = {.parents = 0};
	rb_status status = RB_OK;
	polygon_fault f;

	(void) me;
	for (uint32_t row = (uint32_t) from; row < to && status == RB_OK; row++)
	{
		status = rb_should_stop(w->ctx) ? RB_STOPPED : check_polygon(w, &room, row, &f);
		if (status == RB_OK && f.fault != RB_POLYGON_GOOD)
			note_bad_polygon(w, row, &f);
	}
	rb_vec_free(w->ctx->memory, &room.touches);
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
describe_polygon_fault(char *text, size_t size, const polygon_fault *f)
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
	int64_t id;

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
	id = set->ids != NULL ? set->ids[w->first] : (int64_t) ((uint64_t) set->first_id + w->first);
	return rb_fail(w->ctx, RB_BAD_POLYGON, (uint64_t) id, (uint64_t) of, text);
}

rb_status
rb_polygons_check(rb_context *ctx, rb_thread *team, const rb_backend *backend, const rb_rings *r,
				  bool skip, rb_solid_side of, uint32_t **bad)
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
	rb_notes_open(&w.pairs, ctx);
	status = join_edges_within_rows(&w, backend);
	if (status == RB_OK)
		status = rb_each(ctx, team, r->set->nrows, GRAIN, check_polygons_piece, &w);
	status = rb_loop_failure(w.status, status);
	rb_notes_close(&w.pairs);
	pthread_mutex_destroy(&w.lock);
	return status == RB_OK ? report_bad_polygons(&w, skip, of) : status;
}
