/*
 * rings.c
 *	  Merges disjoint convex polygons: their common sides cancel, and the remaining sides form
 *	  rings.
 *
 * The sides are sorted along each line of each plane. Where polygons lie on both sides of the line,
 * they are connected. Where a polygon lies on one side only, that interval is an edge of a ring.
 * Connected polygons are merged, and a ring belongs to the polygon to its left, so no search is
 * needed to assign holes to polygons. The outer ring of a polygon is the one with the largest
 * bounding box. The other rings touch it and each other at single points at most, because otherwise
 * the interior would not be connected. So the decomposition into rings does not depend on which
 * edge is followed at a point where several start. When the path reaches one of its points again,
 * the edges in between form a ring.
 *
 * Vertices on a straight line are removed, unless a polygon in the same plane has a true vertex
 * there.
 */
#include "core/base/union_find.h"
#include "core/intersection/assembly.h"

#include <math.h>

/* ---- vertices inside edges ---- */

/*
 * Splits edges of polygons at the vertices of other edges in their interior.
 *
 *		   \  /|
 *		____\/_|______		Two edges end on the lower one, which may belong to a single piece.
 *							The three sides of the triangle on the right form a ring, a hole.
 *
 * If neither triangulation has vertices in the interior of edges, pieces already have vertices at
 * such points. Otherwise some of these vertices may be missing. The ends of edges are vertices of
 * pieces, where two sides intersect. The exact position of a vertex is known, so the test whether a
 * third line contains the point is exact.
 */

/* Vertex k of a polygon */
typedef struct polygon_corner
{
	uint32_t piece;
	uint32_t k;
} polygon_corner;

typedef struct edge_cutting
{
	rb_curve *c;
	rb_edge edge;
	uint32_t steps;
} edge_cutting;

/*
 * Returns the canonical id of the point at a vertex of one of the convex polygons that are merged.
 */
static uint32_t
point_of_vertex_in_plane(const rb_curve *c, polygon_corner x)
{
	return RB_ALL(c->vertex, uint32_t)[RB_ALL(c->pieces, rb_curve_piece)[x.piece].from + x.k];
}

/*
 * Lists, for each plane and each end of an edge, a polygon vertex at that point. A vertex may be
 * listed more than once if pieces of several planes alternate; that is harmless.
 */
static rb_status
list_vertices_of_planes(rb_curve *c)
{
	const rb_edge *edge = RB_ALL(c->work[2], rb_edge);
	uint32_t *mark;

	c->mark.n = c->work[3].n = 0;
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->mark, (size_t) c->points.rows.n + 1, sizeof *mark));
	mark = RB_ALL(c->mark, uint32_t);
	memset(mark, 0, c->points.rows.n * sizeof *mark);
	for (uint32_t i = 0; i < c->work[2].n; i++)
		mark[edge[i].from] = 1;
	for (uint32_t i = 0; i < c->pieces.n; i++)
	{
		const rb_curve_piece *piece = RB_ALL(c->pieces, rb_curve_piece) + i;

		for (uint32_t k = 0; piece->dimension == 2 && k < piece->to; k++)
		{
			const polygon_corner x = {i, k};
			uint32_t *m = mark + point_of_vertex_in_plane(c, x);

			if (*m == 0 || *m == piece->what + 2)
				continue;
			*m = piece->what + 2;
			RB_TRY(rb_curve_array_reserve(c->ctx, &c->work[3], 1, sizeof x));
			RB_ALL(c->work[3], polygon_corner)[c->work[3].n++] = x;
		}
		if (rb_stop_due(c->ctx, i, RB_CURVE_CHECK_INTERVAL))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Builds the box tree of all corners of polygons. */
static rb_status
build_tree_of_corners(rb_curve *c)
{
	RB_TRY(rb_boxes_room(c->ctx, &c->boxes, c->work[3].n));
	for (uint32_t i = 0; i < c->work[3].n; i++)
	{
		double *box = c->boxes.box + 6 * (size_t) i;

		memcpy(box,
			   rb_point_at(c, point_of_vertex_in_plane(c, RB_ALL(c->work[3], polygon_corner)[i])),
			   3 * sizeof *box);
		memcpy(box + 3, box, 3 * sizeof *box);
	}
	return rb_boxes_order(c->ctx, &c->boxes);
}

/* Returns true if the point lies between the ends of the edge in the order of the edge's line. */
static bool
is_point_between_edge_ends(const rb_curve *c, const rb_edge *e, uint32_t point)
{
	return rb_line_order(c, e->line, e->from, point) * rb_line_order(c, e->line, point, e->to) > 0;
}

/*
 * Records a vertex of another polygon that lies within the current edge, which is then split
 * there; visits one box of the tree.
 */
static rb_status
test_vertex_on_ring_edge(void *user, uint32_t item)
{
	edge_cutting *cut = user;
	rb_curve *c = cut->c;
	const polygon_corner x = RB_ALL(c->work[3], polygon_corner)[item];
	const rb_curve_piece *piece = RB_ALL(c->pieces, rb_curve_piece) + x.piece;
	const rb_curve_side *side = RB_ALL(c->sides, rb_curve_side);
	const uint32_t point = point_of_vertex_in_plane(c, x);

	if (piece->what != RB_ALL(c->pieces, rb_curve_piece)[cut->edge.of].what ||
		!is_point_between_edge_ends(c, &cut->edge, point))
		return RB_OK;
	if (++cut->steps % 64 == 0 && rb_should_stop(c->ctx))
		return RB_STOPPED;
	if (rb_corner_side(c, piece->axis, side[piece->from + x.k],
					   side[piece->from + (x.k + 1) % piece->to], side[cut->edge.side]) != 0)
		return RB_OK;
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->work[0], 1, sizeof point));
	RB_ALL(c->work[0], uint32_t)[c->work[0].n++] = point;
	return RB_OK;
}

typedef struct along
{
	const rb_curve *c;
	const rb_edge *edge;
} along;

/* Compares points by their order from the start of the edge. */
static int
by_point_along_edge(const void *a, const void *b, const void *arg)
{
	const along *on = arg;
	const int order =
		rb_line_order(on->c, on->edge->line, *(const uint32_t *) a, *(const uint32_t *) b);

	return rb_line_order(on->c, on->edge->line, on->edge->from, on->edge->to) < 0 ? order : -order;
}

/* Splits an edge at the points in work[0]; the last section keeps index i. */
static rb_status
split_edge_at_points(rb_curve *c, uint32_t i)
{
	const uint32_t *point = RB_ALL(c->work[0], uint32_t), n = c->work[0].n;
	rb_edge edge = RB_ALL(c->work[2], rb_edge)[i];
	const along on = {c, &edge};

	RB_TRY(rb_sort(c->ctx, c->work[0].at, n, sizeof *point, by_point_along_edge, &on));
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->work[2], n, sizeof edge));
	for (uint32_t k = 0; k < n; k++)
	{
		if (point[k] == edge.from) /* Found in two ways */
			continue;
		RB_ALL(c->work[2], rb_edge)[c->work[2].n] = edge;
		RB_ALL(c->work[2], rb_edge)[c->work[2].n++].to = point[k];
		RB_ALL(c->work[2], rb_edge)[i].from = point[k];
		edge.from = point[k];
	}
	return RB_OK;
}

/*
 * Splits the edges in c->work[2] where vertices lie on them; overwrites c->work[0], c->work[3] and
 * c->mark.
 */
static rb_status
rb_curve_nodes(rb_curve *c)
{
	edge_cutting cut = {.c = c};
	const uint32_t n = c->work[2].n;

	RB_TRY(list_vertices_of_planes(c));
	RB_TRY(build_tree_of_corners(c));
	for (uint32_t i = 0; i < n; i++)
	{
		double box[6];

		cut.edge = RB_ALL(c->work[2], rb_edge)[i];
		for (int k = 0; k < 3; k++)
		{
			const double a = rb_point_at(c, cut.edge.from)[k], b = rb_point_at(c, cut.edge.to)[k];

			box[k] = fmin(a, b);
			box[3 + k] = fmax(a, b);
		}
		c->work[0].n = 0;
		RB_TRY(rb_boxes_find(&c->boxes, box, test_vertex_on_ring_edge, &cut));
		if (c->work[0].n > 0)
			RB_TRY(split_edge_at_points(c, i));
		if (rb_stop_due(c->ctx, i, 64))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* ---- order of edges ---- */

#define FORWARD 1u
#define BEGINS 2u
/* Flag of a ring's point that is a true vertex; point numbers are smaller (assembly.h) */
#define CORNER (1u << 31)

/* Start or end of a side */
typedef struct side_change
{
	uint32_t line;
	uint32_t plane;
	uint32_t point;
	uint32_t piece;
	uint32_t side;
	uint32_t how;
} side_change;

/* Orders changes of sides by line, plane and point. */
static int
by_change_on_line(const void *a, const void *b, const void *arg)
{
	const side_change *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->plane != y->plane)
		return x->plane < y->plane ? -1 : 1;
	return rb_line_order(arg, x->line, x->point, y->point);
}

/* Orders edges by plane, start and end. */
static int
by_edge_start(const void *a, const void *b, const void *arg)
{
	const rb_edge *x = a, *y = b;

	(void) arg;
	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

/* ---- sides ---- */

/* Appends the two changes of side i of a polygon. */
static rb_status
append_changes_of_side(rb_curve *c, uint32_t piece, uint32_t i)
{
	const rb_curve_piece *polygon = RB_ALL(c->pieces, rb_curve_piece) + piece;
	const uint32_t *vertex = RB_ALL(c->vertex, uint32_t) + polygon->from;
	const uint32_t from = vertex[i > 0 ? i - 1 : polygon->to - 1], to = vertex[i];
	side_change x = {.plane = polygon->what, .piece = piece, .side = polygon->from + i};
	const double *p, *q;

	if (from == to)
		return RB_OK;
	rb_side_ends(c, RB_ALL(c->sides, rb_curve_side)[polygon->from + i], &p, &q);
	RB_TRY(rb_canonical_line(c, p, q, &x.line));
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->work[0], 2, sizeof x));
	x.how = rb_line_order(c, x.line, from, to) < 0 ? FORWARD : 0;
	for (int k = 0; k < 2; k++)
	{
		x.point = k == 0 ? from : to;
		x.how = (x.how & FORWARD) | ((k == 0) == (x.how & FORWARD) ? BEGINS : 0);
		RB_ALL(c->work[0], side_change)[c->work[0].n++] = x;
	}
	return RB_OK;
}

/*
 * The open sides of one direction: their count, and the XOR of their numbers, which is the number
 * itself if exactly one side is open. More than one side is open only if different lines have the
 * same canonical id. The last side then represents all of them.
 */
typedef struct open
{
	int32_t n;
	uint32_t pieces;
	uint32_t sides;
	side_change last;
} open;

/*
 * Returns a polygon with an open side at the current point of the sweep along the line. If exactly
 * one side is open, it is polygon number `pieces`.
 */
static uint32_t
piece_of_open_sides(const open *o)
{
	return o->n == 1 ? o->pieces : o->last.piece;
}

/* Appends the edges that remain where opposite sides cancel. */
static rb_status
append_uncanceled_edges(rb_curve *c, const open *o, uint32_t line, uint32_t from, uint32_t to)
{
	const int32_t net = o[1].n - o[0].n;
	const open *more = &o[net > 0];
	const uint32_t side = more->n == 1 ? more->sides : more->last.side;

	for (int32_t i = 0; i < (net < 0 ? -net : net); i++)
	{
		RB_TRY(rb_curve_array_reserve(c->ctx, &c->work[2], 1, sizeof(rb_edge)));
		RB_ALL(c->work[2], rb_edge)
		[c->work[2].n++] = (rb_edge){piece_of_open_sides(more), net > 0 ? from : to,
									 net > 0 ? to : from, line, side};
	}
	return RB_OK;
}

/* Scans along each line; merges connected pieces in work[1] and stores the edges in work[2]. */
static rb_status
cancel_sides_on_lines(rb_curve *c)
{
	const side_change *x = RB_ALL(c->work[0], side_change);
	const uint32_t n = c->work[0].n;
	uint32_t *parent = RB_ALL(c->work[1], uint32_t);
	open o[2]; /* [0]: backward, [1]: forward */
	rb_status status = RB_OK;

	memset(o, 0, sizeof o);
	for (uint32_t i = 0; i < n && status == RB_OK;)
	{
		const side_change at = x[i];

		for (; i < n && x[i].line == at.line && x[i].plane == at.plane && x[i].point == at.point;
			 i++)
		{
			open *one = &o[x[i].how & FORWARD];

			one->n += x[i].how & BEGINS ? 1 : -1;
			one->pieces ^= x[i].piece;
			one->sides ^= x[i].side;
			if (x[i].how & BEGINS)
				one->last = x[i];
		}
		if (o[0].n > 0 && o[1].n > 0)
			(void) rb_unite(parent, piece_of_open_sides(&o[0]), piece_of_open_sides(&o[1]));
		if (o[0].n != o[1].n)
			status = append_uncanceled_edges(c, o, at.line, at.point, x[i].point);
		if (i % 64 == 0 && rb_should_stop(c->ctx))
			status = RB_STOPPED;
	}
	return status;
}

/* Makes the edges of all rings from the sides of the polygons. */
static rb_status
make_edges_of_rings(rb_curve *c)
{
	rb_edge *e;
	uint32_t *parent;

	for (int i = 0; i < 3; i++)
		c->work[i].n = 0;
	for (uint32_t i = 0; i < c->pieces.n; i++)
	{
		const rb_curve_piece piece = RB_ALL(c->pieces, rb_curve_piece)[i];

		for (uint32_t k = 0; piece.dimension == 2 && k < piece.to; k++)
			RB_TRY(append_changes_of_side(c, i, k));
		if (rb_stop_due(c->ctx, i, 64))
			return RB_STOPPED;
	}
	RB_TRY(rb_sort(c->ctx, c->work[0].at, c->work[0].n, sizeof(side_change), by_change_on_line, c));
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->work[1], (size_t) c->pieces.n + 1, sizeof *parent));
	parent = RB_ALL(c->work[1], uint32_t);
	rb_union_find_init(parent, c->pieces.n);
	RB_TRY(cancel_sides_on_lines(c));
	RB_TRY(rb_curve_nodes(c));
	e = RB_ALL(c->work[2], rb_edge);
	for (uint32_t i = 0; i < c->work[2].n; i++)
		e[i].of = rb_find_root(parent, e[i].of);
	return rb_sort(c->ctx, e, c->work[2].n, sizeof *e, by_edge_start, NULL);
}

/* ---- rings ---- */

typedef struct edge_search
{
	const rb_edge *edges;
	uint32_t of;
	uint32_t from;
} edge_search;

/*
 * Returns true if edge i of the merged polygons sorts before those of the sought polygon and
 * start, for the binary search that follows a ring.
 */
static bool
is_ring_edge_before(size_t i, const void *arg)
{
	const edge_search *s = arg;
	const rb_edge *e = &s->edges[i];

	return e->of < s->of || (e->of == s->of && e->from < s->from);
}

/*
 * Returns an unused edge of the polygon that starts at the point, or RB_NOTHING. next[i] counts the
 * used edges of the group that starts at index i.
 */
static uint32_t
use_edge_from_point(const rb_curve *c, uint32_t *next, uint32_t of, uint32_t from)
{
	const rb_edge *e = RB_ALL(c->work[2], rb_edge);
	const edge_search search = {e, of, from};
	const uint32_t first = (uint32_t) rb_lower_bound(0, c->work[2].n, is_ring_edge_before, &search);
	uint32_t low;

	if (first == c->work[2].n || e[first].of != of || e[first].from != from)
		return RB_NOTHING;
	low = first + next[first];
	if (low == c->work[2].n || e[low].of != of || e[low].from != from)
		return RB_NOTHING;
	next[first]++;
	return low;
}

/* Appends a ring of n edges, and marks the points where it does not continue straight. */
static rb_status
append_ring_of_edges(rb_curve *c, const uint32_t *path, uint32_t n)
{
	const rb_edge *e = RB_ALL(c->work[2], rb_edge);
	uint32_t corners = 0;

	for (uint32_t i = 0; i < n; i++)
		corners += e[path[i]].line != e[path[i > 0 ? i - 1 : n - 1]].line;
	if (corners < 3)
		return RB_OK; /* Nothing is left after rounding */
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->rings, 1, sizeof(rb_curve_ring)));
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->ring_points, n, sizeof(uint32_t)));
	RB_ALL(c->rings, rb_curve_ring)
	[c->rings.n++] = (rb_curve_ring){e[path[0]].of, c->ring_points.n, n, 0};
	for (uint32_t i = 0; i < n; i++)
	{
		const bool corner = e[path[i]].line != e[path[i > 0 ? i - 1 : n - 1]].line;

		RB_ALL(c->ring_points, uint32_t)
		[c->ring_points.n++] = e[path[i]].from | (corner ? CORNER : 0);
	}
	return RB_OK;
}

/* Follows edges from the first one until all rings on the way are closed. */
static rb_status
follow_edges_to_rings(rb_curve *c, uint32_t first, uint32_t *next, uint32_t *on_path)
{
	const rb_edge *e = RB_ALL(c->work[2], rb_edge);
	rb_curve_array *path = &c->work[1];
	rb_status status = RB_OK;

	path->n = 0;
	for (uint32_t at = first; at != RB_NOTHING && status == RB_OK;)
	{
		const uint32_t to = e[at].to;

		RB_TRY(rb_curve_array_reserve(c->ctx, path, 1, sizeof(uint32_t)));
		RB_ALL(*path, uint32_t)[path->n++] = at;
		on_path[e[at].from] = path->n;
		if (on_path[to] != 0)
		{
			const uint32_t start = on_path[to] - 1;

			status = append_ring_of_edges(c, RB_ALL(*path, uint32_t) + start, path->n - start);
			for (uint32_t i = start; i < path->n; i++)
				on_path[e[RB_ALL(*path, uint32_t)[i]].from] = 0;
			path->n = start;
		}
		at = path->n == 0 ? RB_NOTHING : use_edge_from_point(c, next, e[at].of, to);
		if (path->n % RB_CURVE_CHECK_INTERVAL == 0 && rb_should_stop(c->ctx))
			status = RB_STOPPED;
	}
	for (uint32_t i = 0; i < path->n; i++)
		on_path[e[RB_ALL(*path, uint32_t)[i]].from] = 0;
	return status;
}

/* Makes rings from the edges: follows each path and separates loops at shared points. */
static rb_status
make_rings_of_edges(rb_curve *c)
{
	const uint32_t npoints = c->points.rows.n, nedges = c->work[2].n;
	uint32_t *next, *on_path;
	rb_status status = RB_OK;

	c->work[3].n = c->mark.n = 0;
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->work[3], (size_t) nedges + 1, sizeof *next));
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->mark, (size_t) npoints + 1, sizeof *on_path));
	next = RB_ALL(c->work[3], uint32_t);
	on_path = RB_ALL(c->mark, uint32_t);
	memset(next, 0, nedges * sizeof *next);
	memset(on_path, 0, npoints * sizeof *on_path);
	for (uint32_t i = 0; i < nedges && status == RB_OK;)
	{
		const rb_edge e = RB_ALL(c->work[2], rb_edge)[i];
		const uint32_t first = use_edge_from_point(c, next, e.of, e.from);

		if (first == RB_NOTHING)
			i++;
		else
			status = follow_edges_to_rings(c, first, next, on_path);
		if (i % RB_CURVE_CHECK_INTERVAL == 0 && rb_should_stop(c->ctx))
			status = RB_STOPPED;
	}
	return status;
}

/* ---- polygons ---- */

/* Compares two boxes. If one contains the other and they differ, the larger one comes first. */
static int
by_ring_box(const double *a, const double *b)
{
	for (int k = 0; k < 6; k++)
		if (a[k] != b[k])
			return (a[k] < b[k]) == (k < 3) ? -1 : 1;
	return 0;
}

/* Computes the box of a ring. */
static void
box_of_polygon_ring(const rb_curve *c, const rb_curve_ring *ring, double *box)
{
	for (uint32_t i = 0; i < ring->n; i++)
	{
		const double *p =
			rb_point_at(c, RB_ALL(c->ring_points, uint32_t)[ring->from + i] & ~CORNER);

		for (int k = 0; k < 3; k++)
		{
			box[k] = i == 0 || p[k] < box[k] ? p[k] : box[k];
			box[3 + k] = i == 0 || p[k] > box[3 + k] ? p[k] : box[3 + k];
		}
	}
}

/* Moves the outer ring of each polygon to the front. The rings of a polygon are consecutive. */
static rb_status
order_rings_of_polygons(rb_curve *c)
{
	rb_curve_ring *ring = RB_ALL(c->rings, rb_curve_ring);

	for (uint32_t i = 0, k; i < c->rings.n; i = k)
	{
		double best[6], box[6];

		box_of_polygon_ring(c, &ring[i], best);
		for (k = i + 1; k < c->rings.n && ring[k].polygon == ring[i].polygon; k++)
		{
			box_of_polygon_ring(c, &ring[k], box);
			if (by_ring_box(box, best) < 0)
			{
				const rb_curve_ring swap = ring[i];

				ring[i] = ring[k];
				ring[k] = swap;
				memcpy(best, box, sizeof best);
			}
		}
		if (rb_should_stop(c->ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

/*
 * Orients the rings of each merged polygon like its red triangles: clockwise along the axis only
 * if none of them is counterclockwise.
 */
static rb_status
orient_rings_of_polygons(rb_curve *c, const uint32_t *parent)
{
	const rb_curve_piece *piece = RB_ALL(c->pieces, rb_curve_piece);
	rb_curve_ring *ring = RB_ALL(c->rings, rb_curve_ring);
	uint8_t *left;

	c->work[3].n = 0;
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->work[3], (size_t) c->pieces.n + 1, sizeof *left));
	left = c->work[3].at;
	memset(left, 0, c->pieces.n);
	for (uint32_t i = 0; i < c->pieces.n; i++)
		if (piece[i].dimension == 2 && piece[i].to > 0 && piece[i].turn > 0)
			left[parent[i]] = 1;
	for (uint32_t i = 0; i < c->rings.n; i++)
		ring[i].turned = !left[ring[i].polygon];
	return rb_should_stop(c->ctx) ? RB_STOPPED : RB_OK;
}

/* Returns the canonical id of the plane in which the ring lies. */
static uint32_t
plane_of_ring(const rb_curve *c, const rb_curve_ring *ring)
{
	return RB_ALL(c->pieces, rb_curve_piece)[ring->polygon].what;
}

/* Returns a key for a true vertex in the plane of its ring. */
static uint64_t
key_of_corner_in_plane(const rb_curve *c, const rb_curve_ring *ring, uint32_t point)
{
	return (uint64_t) plane_of_ring(c, ring) << 32 | point;
}

/* Collects the true vertices of all rings in work[0]. */
static rb_status
collect_polygon_corners(rb_curve *c)
{
	const rb_curve_ring *ring = RB_ALL(c->rings, rb_curve_ring);
	const uint32_t *point = RB_ALL(c->ring_points, uint32_t);
	rb_curve_array *corners = &c->work[0];

	corners->n = 0;
	RB_TRY(
		rb_curve_array_reserve(c->ctx, corners, (size_t) c->ring_points.n + 1, sizeof(uint64_t)));
	for (uint32_t i = 0; i < c->rings.n; i++)
	{
		for (uint32_t k = ring[i].from; k < ring[i].from + ring[i].n; k++)
			if (point[k] & CORNER)
				RB_ALL(*corners, uint64_t)
		[corners->n++] = key_of_corner_in_plane(c, &ring[i], point[k] & ~CORNER);
		if (rb_stop_due(c->ctx, i, 64))
			return RB_STOPPED;
	}
	return rb_sort_words(c->ctx, corners->at, corners->n);
}

/* Returns true if a plane and point, packed to a key, are a true vertex of some ring in work[0]. */
static bool
is_polygon_corner(const rb_curve *c, uint64_t x)
{
	const uint64_t *corners = RB_ALL(c->work[0], uint64_t);
	const size_t at = rb_words_lower_bound(corners, c->work[0].n, x);

	return at < c->work[0].n && corners[at] == x;
}

/*
 * Removes vertices where a ring continues straight, unless they are true vertices of some ring in
 * the same plane. Such a vertex is rounded, so it could end up on the other side of the longer
 * edge.
 */
static rb_status
drop_straight_corners(rb_curve *c)
{
	rb_curve_ring *ring = RB_ALL(c->rings, rb_curve_ring);
	uint32_t *point = RB_ALL(c->ring_points, uint32_t);

	RB_TRY(collect_polygon_corners(c));
	for (uint32_t i = 0; i < c->rings.n; i++)
	{
		uint32_t n = 0;

		for (uint32_t k = ring[i].from; k < ring[i].from + ring[i].n; k++)
		{
			const bool corner_here = (point[k] & CORNER) != 0;

			point[k] &= ~CORNER;
			if (corner_here || is_polygon_corner(c, key_of_corner_in_plane(c, &ring[i], point[k])))
				point[ring[i].from + n++] = point[k];
		}
		ring[i].n = n;
		if (rb_stop_due(c->ctx, i, 64))
			return RB_STOPPED;
	}
	return RB_OK;
}

rb_status
rb_curve_rings(rb_curve *c)
{
	rb_curve_array parents = {NULL, 0, 0};
	RB_FREE_AT_END(c->ctx->memory, &parents.at);

	RB_TRY(make_edges_of_rings(c));
	/* make_rings_of_edges overwrites work[1], so move it away */
	parents = c->work[1];
	memset(&c->work[1], 0, sizeof c->work[1]);
	for (uint32_t i = 0; i < c->pieces.n; i++)
		RB_ALL(parents, uint32_t)[i] = rb_find_root(RB_ALL(parents, uint32_t), i);
	RB_TRY(make_rings_of_edges(c));
	RB_TRY(order_rings_of_polygons(c));
	RB_TRY(drop_straight_corners(c));
	return orient_rings_of_polygons(c, RB_ALL(parents, uint32_t));
}
