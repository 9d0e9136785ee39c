/*
 * ring_nodes.c
 *	  Splits edges of polygons at the vertices of other edges in their interior.
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
#include "core/intersection/assembly.h"

#include <math.h>

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

static uint32_t
point_of(const rb_curve *c, polygon_corner x)
{
	return RB_ALL(c->vertex, uint32_t)[RB_ALL(c->pieces, rb_curve_piece)[x.piece].from + x.k];
}

/* Lists, for each plane and each end of an edge, a polygon vertex at that point. */
static rb_status
find_corners(rb_curve *c)
{
	const rb_edge *edge = RB_ALL(c->work[2], rb_edge);
	uint32_t *mark;
	rb_status status;

	c->mark.n = c->work[3].n = 0;
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->mark, (size_t) c->points.rows.n + 1, sizeof *mark));
	mark = RB_ALL(c->mark, uint32_t);
	memset(mark, 0, c->points.rows.n * sizeof *mark);
	for (uint32_t i = 0; i < c->work[2].n; i++)
		mark[edge[i].from] = 1;
	for (uint32_t i = 0; i < c->pieces.n && status == RB_OK; i++)
	{
		const rb_curve_piece *piece = RB_ALL(c->pieces, rb_curve_piece) + i;

		for (uint32_t k = 0; piece->dimension == 2 && k < piece->to && status == RB_OK; k++)
		{
			const polygon_corner x = {i, k};
			uint32_t *m = mark + point_of(c, x);

			if (*m == 0 || *m == piece->what + 2)
				continue;
			*m = piece->what + 2;
			status = rb_curve_array_reserve(c->ctx, &c->work[3], 1, sizeof x);
			if (status == RB_OK)
				RB_ALL(c->work[3], polygon_corner)[c->work[3].n++] = x;
		}
		if (i % RB_CURVE_CHECK_INTERVAL == RB_CURVE_CHECK_INTERVAL - 1 && rb_should_stop(c->ctx))
			status = RB_STOPPED;
	}
	return status;
}

static rb_status
put_boxes(rb_curve *c)
{
	rb_status status = rb_boxes_room(c->ctx, &c->boxes, c->work[3].n);

	for (uint32_t i = 0; i < c->work[3].n && status == RB_OK; i++)
	{
		double *box = c->boxes.box + 6 * (size_t) i;

		memcpy(box, rb_point_at(c, point_of(c, RB_ALL(c->work[3], polygon_corner)[i])),
			   3 * sizeof *box);
		memcpy(box + 3, box, 3 * sizeof *box);
	}
	return status == RB_OK ? rb_boxes_order(c->ctx, &c->boxes) : status;
}

/* Returns true if the point lies between the ends of the edge in the order of the edge's line. */
static bool
is_between(const rb_curve *c, const rb_edge *e, uint32_t point)
{
	return rb_line_order(c, e->line, e->from, point) * rb_line_order(c, e->line, point, e->to) > 0;
}

static rb_status
test_corner(void *user, uint32_t item)
{
	edge_cutting *cut = user;
	rb_curve *c = cut->c;
	const polygon_corner x = RB_ALL(c->work[3], polygon_corner)[item];
	const rb_curve_piece *piece = RB_ALL(c->pieces, rb_curve_piece) + x.piece;
	const rb_curve_side *side = RB_ALL(c->sides, rb_curve_side);
	const uint32_t point = point_of(c, x);
	rb_status status;

	if (piece->what != RB_ALL(c->pieces, rb_curve_piece)[cut->edge.of].what ||
		!is_between(c, &cut->edge, point))
		return RB_OK;
	if (++cut->steps % 64 == 0 && rb_should_stop(c->ctx))
		return RB_STOPPED;
	if (rb_corner_side(c, piece->axis, side[piece->from + x.k],
					   side[piece->from + (x.k + 1) % piece->to], side[cut->edge.side]) != 0)
		return RB_OK;
	status = rb_curve_array_reserve(c->ctx, &c->work[0], 1, sizeof point);
	if (status == RB_OK)
		RB_ALL(c->work[0], uint32_t)[c->work[0].n++] = point;
	return status;
}

typedef struct along
{
	const rb_curve *c;
	const rb_edge *edge;
} along;

/* Compares points by their order from the start of the edge. */
static int
by_way(const void *a, const void *b, const void *arg)
{
	const along *on = arg;
	const int order =
		rb_line_order(on->c, on->edge->line, *(const uint32_t *) a, *(const uint32_t *) b);

	return rb_line_order(on->c, on->edge->line, on->edge->from, on->edge->to) < 0 ? order : -order;
}

/* Splits an edge at the points in work[0]; the last section keeps index i. */
static rb_status
cut_edge(rb_curve *c, uint32_t i)
{
	const uint32_t *point = RB_ALL(c->work[0], uint32_t), n = c->work[0].n;
	rb_edge edge = RB_ALL(c->work[2], rb_edge)[i];
	const along on = {c, &edge};
	rb_status status = rb_sort(c->ctx, c->work[0].at, n, sizeof *point, by_way, &on);

	if (status == RB_OK)
		status = rb_curve_array_reserve(c->ctx, &c->work[2], n, sizeof edge);
	for (uint32_t k = 0; k < n && status == RB_OK; k++)
	{
		if (point[k] == edge.from) /* Found in two ways */
			continue;
		RB_ALL(c->work[2], rb_edge)[c->work[2].n] = edge;
		RB_ALL(c->work[2], rb_edge)[c->work[2].n++].to = point[k];
		RB_ALL(c->work[2], rb_edge)[i].from = point[k];
		edge.from = point[k];
	}
	return status;
}

rb_status
rb_curve_nodes(rb_curve *c)
{
	edge_cutting cut = {.c = c};
	const uint32_t n = c->work[2].n;
	rb_status status = find_corners(c);

	if (status == RB_OK)
		status = put_boxes(c);
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
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
		status = rb_boxes_find(&c->boxes, box, test_corner, &cut);
		if (status == RB_OK && c->work[0].n > 0)
			status = cut_edge(c, i);
		if (i % 64 == 63 && rb_should_stop(c->ctx))
			status = RB_STOPPED;
	}
	return status;
}
