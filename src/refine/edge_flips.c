/*
 * edge_flips.c
 *	  Prepares exchanges of the cells around an edge for others without it (exchange.h).
 *
 * An edge inside of a region disappears: its ends are connected with the triangles of the best
 * triangulation of the polygon around it.
 *
 * An edge between two faces of a flat facet is a diagonal of their quadrilateral. The other diagonal
 * replaces it, and the polygon on each side of the facet is triangulated, with the other diagonal as
 * one side. If the facet is on the boundary of the mesh, one side consists of two ghosts:
 *
 *		    d            d
 *		  /   \        / | \      On the facet, edge ab becomes edge cd.
 *		 a-----b  ->  a  |  b     Seen along ab, the polygon c, p, q, d of three cells is on one side
 *		  \   /        \ | /      of the facet, and the polygon d, ghost, c of two ghosts on the other.
 *		    c            c
 *
 * The corners of a facet lie in its plane up to rounding only. So a, b, c and d may be the corners of
 * a tetrahedron, which changes from one side of the facet to the other. It is never added to the
 * mesh on the boundary, where it might overlap what is near. A flat tetrahedron of the mesh with two
 * faces on a facet is the only cell on its side: no cells replace it there. If its other faces are
 * on the convex hull, the facet is on the hull afterwards.
 */
#include "refine/exchange.h"

/* Maximum number of corners of a polygon */
#define RING 12

/*
 * A polygon around an edge, or the part of it on one side of a facet, and its best triangulation.
 * Cell i of n, or of n - 1 on one side of a facet, is (a, b, p[i], p[i + 1]).
 */
typedef struct polygon
{
	uint32_t a, b; /* Ends of the edge, in the order that makes these cells positive */
	uint32_t p[RING];
	int n;
	/*
	 * For each chord, the smallest angle of the best triangulation of what it cuts off, and the
	 * third corner of the triangle there
	 */
	double angle[RING][RING];
	int8_t apex[RING][RING];
} polygon;

/* Sets the ends of the edge so that a cell that is (a, b, p, q) or (b, a, p, q) is positive. */
static void
set_ends_of_edge(rb_exchange *x, uint32_t a, uint32_t b, uint32_t p, uint32_t q, polygon *g)
{
	const rb_cells *m = &x->r->mesh;
	const bool positive = rb_orient3d_at(&x->env, rb_site_at(m, a), rb_site_at(m, b),
										 rb_site_at(m, p), rb_site_at(m, q)) > 0;

	g->a = positive ? a : b;
	g->b = positive ? b : a;
}

/*
 * Makes the cells around an edge the old cells of the exchange. Returns false if the edge lies on a
 * segment or a facet, or if there are too many cells.
 */
static bool
collect_ring(rb_exchange *x, uint32_t cell, uint32_t e, polygon *g)
{
	const rb_cells *m = &x->r->mesh;
	rb_edge_ring ring = rb_ring_begin(m, cell, e);

	if ((m->cells[cell].bits & RB_CELL_SEGMENT(e)) != 0)
		return false;
	g->n = 0;
	x->facet = RB_NOWHERE;
	x->nold = 0;
	do
	{
		const rb_cell *c = &m->cells[ring.cell];

		if (g->n == RING || rb_cell_ghost(c) || (c->bits & RB_CELL_WALL(ring.to)) != 0)
			return false;
		x->old[x->nold++] = ring.cell;
		g->p[g->n++] = c->v[ring.to];
		rb_ring_next(m, &ring);
	} while (ring.cell != cell);
	if (g->n < 3)
		return false;
	set_ends_of_edge(x, ring.a, ring.b, g->p[0], g->p[1], g);
	return true;
}

bool
rb_exchange_collect_ring(rb_exchange *x, uint32_t cell, uint32_t e)
{
	polygon g;

	return collect_ring(x, cell, e, &g);
}

/* ---- triangulation of a polygon ---- */

/* Sets v to the new cell on one side of triangle ijk of the polygon, where i < j < k. */
static void
set_polygon_cell(const polygon *g, int i, int j, int k, bool at_b, uint32_t *v)
{
	v[0] = at_b ? g->p[k] : g->a;
	v[1] = at_b ? g->b : g->p[k];
	v[2] = g->p[i];
	v[3] = g->p[j];
}

/*
 * Returns the smallest angle of the two cells at triangle ijk or, if this is not greater than
 * `least`, any value that is not greater.
 */
static double
measure_polygon_triangle(rb_exchange *x, const polygon *g, int i, int j, int k, double least)
{
	uint32_t v[4];
	double angle, other;

	set_polygon_cell(g, i, j, k, false, v);
	angle = rb_exchange_angle(x, v);
	if (angle <= least)
		return angle;
	set_polygon_cell(g, i, j, k, true, v);
	other = rb_exchange_angle(x, v);
	return other < angle ? other : angle;
}

/*
 * Finds the triangulation of the polygon whose cells have the largest smallest angle, by dynamic
 * programming over its chords. Returns that angle or, if it is not greater than `least`, any value
 * that is not greater.
 */
static double
triangulate_polygon(rb_exchange *x, polygon *g, double least)
{
	for (int i = 0; i + 1 < g->n; i++)
		g->angle[i][i + 1] = 2;
	for (int span = 2; span < g->n; span++)
		for (int i = 0; i + span < g->n; i++)
		{
			const int k = i + span;
			double best = -1;

			for (int j = i + 1; j < k; j++)
			{
				double angle = g->angle[i][j] < g->angle[j][k] ? g->angle[i][j] : g->angle[j][k];
				double own;

				if (angle <= best || angle <= least)
					continue;
				own = measure_polygon_triangle(x, g, i, j, k, best > least ? best : least);
				angle = own < angle ? own : angle;
				if (angle > best)
				{
					best = angle;
					g->apex[i][k] = (int8_t) j;
				}
			}
			g->angle[i][k] = best;
		}
	return g->angle[0][g->n - 1];
}

/* Appends the new cells of the triangles that chord ik cuts off. */
static void
append_polygon_cells(rb_exchange *x, const polygon *g, int i, int k)
{
	const int j = g->apex[i][k];

	if (k - i < 2)
		return;
	set_polygon_cell(g, i, j, k, false, x->tets[x->ntets++]);
	set_polygon_cell(g, i, j, k, true, x->tets[x->ntets++]);
	append_polygon_cells(x, g, i, j);
	append_polygon_cells(x, g, j, k);
}

/* ---- edges inside of a region ---- */

/*
 * Prepares the removal of an edge. Returns the smallest new angle, or -1 if nothing is gained.
 */
static double
prepare_edge_removal(rb_exchange *x, polygon *g)
{
	const double before = rb_exchange_old_angle(x);
	const double after = triangulate_polygon(x, g, before);

	if (!(after > before))
		return -1;
	x->ntets = 0;
	append_polygon_cells(x, g, 0, g->n - 1);
	return rb_exchange_keeps_bounds(x) ? after : -1;
}

/* ---- diagonals of a facet ---- */

/* The cells around an edge between two faces of a facet */
typedef struct diagonal
{
	/*
	 * The part of the polygon on each side of the facet. Its first and last corners are those of the
	 * quadrilateral that are not on the edge.
	 */
	polygon side[2];
	uint32_t facet;
	bool ghosts; /* True if side 1 consists of ghosts */
} diagonal;

/*
 * Sets *ring to the first cell of the mesh behind a constrained face at an edge. Returns false if
 * there is none, or if there are too many cells.
 */
static bool
begin_ring_behind_wall(const rb_cells *m, uint32_t cell, uint32_t e, rb_edge_ring *ring)
{
	*ring = rb_ring_begin(m, cell, e);
	for (int i = 0; i < 2 * RING; i++)
	{
		const bool wall = (m->cells[ring->cell].bits & RB_CELL_WALL(ring->to)) != 0;

		rb_ring_next(m, ring);
		if (wall && !rb_cell_ghost(&m->cells[ring->cell]))
			return true;
	}
	return false;
}

/*
 * Makes the cells around an edge the old cells of the exchange. Returns false if the edge does not
 * lie between exactly two faces, of one facet, or if there are too many cells.
 */
static bool
collect_diagonal(rb_exchange *x, uint32_t cell, uint32_t e, diagonal *d)
{
	const rb_cells *m = &x->r->mesh;
	rb_edge_ring ring;
	uint32_t first, walls = 0;

	if ((m->cells[cell].bits & RB_CELL_SEGMENT(e)) != 0 ||
		!begin_ring_behind_wall(m, cell, e, &ring))
		return false;
	first = ring.cell;
	x->nold = 0;
	d->ghosts = false;
	d->side[0].n = d->side[1].n = 0;
	do
	{
		const rb_cell *c = &m->cells[ring.cell];
		polygon *g = &d->side[walls];

		if (walls == 2 || g->n == RING - 1)
			return false;
		d->ghosts = d->ghosts || rb_cell_ghost(c);
		x->old[x->nold++] = ring.cell;
		g->p[g->n++] = c->v[ring.to];
		if ((c->bits & RB_CELL_WALL(ring.to)) != 0)
		{
			if (walls == 1 && c->facet[ring.to] != d->facet)
				return false;
			d->facet = c->facet[ring.to];
			walls++;
		}
		rb_ring_next(m, &ring);
	} while (ring.cell != first);
	if (walls != 2)
		return false;
	for (int i = 0; i < 2; i++)
		d->side[i].p[d->side[i].n++] = d->side[1 - i].p[0];
	set_ends_of_edge(x, ring.a, ring.b, d->side[0].p[0], d->side[0].p[1], &d->side[0]);
	d->side[1].a = d->side[0].a;
	d->side[1].b = d->side[0].b;
	return true;
}

/* Returns the orientation of three vertices, seen along an axis. */
static int
get_turn_along_axis(rb_exchange *x, int axis, uint32_t a, uint32_t b, uint32_t c)
{
	const rb_cells *m = &x->r->mesh;
	const double *p = rb_site_at(m, a), *q = rb_site_at(m, b), *r = rb_site_at(m, c);
	const int i = (axis + 1) % 3, j = (axis + 2) % 3;

	return rb_orient2d_at(&x->env, p[i], p[j], q[i], q[j], r[i], r[j]);
}

/*
 * Returns true if quadrilateral adbc is convex, so that both ab and cd are diagonals, seen along each
 * axis that is not far from the normal of the plane.
 */
static bool
is_quadrilateral_convex(rb_exchange *x, const rb_facet_plane *plane, uint32_t a, uint32_t b,
						uint32_t c, uint32_t d)
{
	const double *n = plane->normal;
	const double largest = fmax(fabs(n[0]), fmax(fabs(n[1]), fabs(n[2])));

	for (int axis = 0; axis < 3; axis++)
	{
		const int turn = get_turn_along_axis(x, axis, a, b, c);

		if (2 * fabs(n[axis]) >= largest &&
			(turn == 0 || get_turn_along_axis(x, axis, a, d, b) != turn ||
			 get_turn_along_axis(x, axis, a, d, c) != turn ||
			 get_turn_along_axis(x, axis, d, b, c) != turn))
			return false;
	}
	return largest > 0;
}

/*
 * Returns true if the edge between two corners of a flat tetrahedron can become a diagonal of a facet:
 * either no segment or facet contains it and it is inside of the mesh; or, if there are other
 * tetrahedra behind the facet, this is the only one at the edge, whose faces there are on the
 * boundary of the mesh but on no facet of the input.
 */
static bool
can_be_diagonal(const rb_refining *r, uint32_t tet, uint32_t a, uint32_t b, bool others)
{
	const rb_cells *m = &r->mesh;
	const rb_cell *c = &m->cells[tet];
	const uint32_t e = rb_cell_edge(rb_cell_corner(c, a), rb_cell_corner(c, b));
	rb_edge_ring ring = rb_ring_begin(m, tet, e);
	uint32_t n = 0, nghosts = 0, nwalls = 0;

	if ((c->bits & RB_CELL_SEGMENT(e)) != 0)
		return false;
	do
	{
		c = &m->cells[ring.cell];
		n++;
		nghosts += rb_cell_ghost(c);
		if ((c->bits & RB_CELL_WALL(ring.to)) != 0)
		{
			nwalls++;
			if (c->facet[ring.to] < r->nfacets)
				return false;
		}
		rb_ring_next(m, &ring);
	} while (ring.cell != tet);
	return nwalls == 0 || (others && n == 3 && nghosts == 2);
}

/*
 * Returns true if the diagonal may be exchanged for the other one: the facet is flat there up to
 * rounding, the mesh gains no space on the boundary, and the other diagonal is not an edge on a facet
 * or segment already.
 */
static bool
is_diagonal_exchangeable(rb_exchange *x, const diagonal *of)
{
	const rb_refining *r = x->r;
	const rb_cells *m = &r->mesh;
	const polygon *g = of->side;
	const uint32_t a = g->a, b = g->b, c = g->p[0], d = g->p[g->n - 1];
	const double *const p[4] = {rb_site_at(m, a), rb_site_at(m, b), rb_site_at(m, c),
								rb_site_at(m, d)};
	const int sign = rb_orient3d_at(&x->env, p[0], p[1], p[2], p[3]);

	if (of->ghosts && (sign < 0 || of->side[1].n != 3))
		return false;
	if (sign != 0 && !rb_hull_is_flat(r, p[0], p[1], p[2], p[3]))
		return false;
	if (!is_quadrilateral_convex(x, &m->planes[of->facet], a, b, c, d))
		return false;
	return (of->side[0].n > 2 || can_be_diagonal(r, x->old[0], c, d, !of->ghosts)) &&
		   (of->side[1].n > 2 || can_be_diagonal(r, x->old[x->nold - 1], c, d, true));
}

/* Appends a new ghost with the given other corners, in the order that makes it positive. */
static void
append_new_ghost(rb_exchange *x, uint32_t a, uint32_t b, uint32_t c)
{
	const uint32_t v[4] = {RB_GHOST, a, b, c};

	memcpy(x->tets[x->ntets++], v, sizeof v);
}

/*
 * Prepares the exchange of a diagonal of a facet for the other one. Returns the smallest new angle,
 * or -1 if nothing is gained.
 */
static double
prepare_diagonal(rb_exchange *x, diagonal *of)
{
	polygon *g = of->side;
	const uint32_t a = g->a, b = g->b, c = g->p[0], d = g->p[g->n - 1];
	const uint32_t walls[2][3] = {{a, c, d}, {b, c, d}};
	const double before = rb_exchange_old_angle(x);
	double after = triangulate_polygon(x, &g[0], before);

	if (!of->ghosts && after > before)
		after = fmin(after, triangulate_polygon(x, &g[1], before));
	if (!(after > before))
		return -1;
	x->facet = of->facet;
	memcpy(x->walls, walls, sizeof x->walls);
	x->ntets = 0;
	append_polygon_cells(x, &g[0], 0, g[0].n - 1);
	x->nfirst = x->ntets;
	if (of->ghosts)
	{
		append_new_ghost(x, c, a, d);
		append_new_ghost(x, b, c, d);
	}
	else
		append_polygon_cells(x, &g[1], 0, g[1].n - 1);
	return rb_exchange_keeps_bounds(x) ? after : -1;
}

double
rb_exchange_flip_edge(rb_exchange *x, uint32_t cell, uint32_t e)
{
	polygon g;
	diagonal d;

	if (collect_ring(x, cell, e, &g))
		return prepare_edge_removal(x, &g);
	if (!x->r->options->keep_surface && collect_diagonal(x, cell, e, &d) &&
		is_diagonal_exchangeable(x, &d))
		return prepare_diagonal(x, &d);
	return -1;
}
