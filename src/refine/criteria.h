/*
 * criteria.h
 *	  Decides what is split, and what is left alone so that refinement terminates.
 *
 * Points near a small angle of the input could trigger each other without end: a point on one side
 * of the angle encroaches upon the other side, and the point inserted there encroaches back, each
 * time nearer to the apex. So every added vertex has an insertion radius: its distance to the
 * nearest neighbor when it was inserted, or more. It is more if another vertex across such an angle
 * triggered the insertion; then it is at least the radius of that vertex. A split is refused if it
 * would create an edge shorter than the radii at its ends allow.
 *
 * After J. R. Shewchuk, H. Si: Higher-quality tetrahedral mesh generation for domains with small
 * angles by constrained Delaunay refinement, 2014.
 */
#ifndef RB_REFINE_CRITERIA_H
#define RB_REFINE_CRITERIA_H

#include "mesh/tetrahedralize.h"
#include "refine/tets.h"
#include "refine/measure.h"

/*
 * ---- sizing field ----
 *
 * The volume bound at a location is that of the nearest of the given points, which are stored in a
 * uniform grid. The search visits rings of grid cells around the cell of the query point until no
 * nearer point can lie in the next ring. Among equally near points the smallest volume counts, so
 * the order of the points does not matter.
 */

typedef struct rb_sizes
{
	double low[3];
	double cell; /* Side length of a grid cell */
	int32_t n[3];
	const uint32_t *start; /* First point of each grid cell, plus one entry at the end */
	const double *points;  /* x, y, z and volume of each point, ordered by grid cell */
} rb_sizes;

/* Returns the grid cell of a coordinate along an axis, clamped to the grid. */
RB_HOST_DEVICE int32_t
rb_sizes_cell(const rb_sizes *s, int axis, double x)
{
	double i = (x - s->low[axis]) / s->cell;

	return !(i > 0) ? 0 : i >= s->n[axis] ? s->n[axis] - 1 : (int32_t) i;
}

/* Returns the maximum volume of a tetrahedron at a location. */
RB_HOST_DEVICE double
rb_sizes_at(const rb_sizes *s, const double *at)
{
	int32_t c[3], from[3], to[3], x, y, z;
	int32_t ring, last = 0;
	double best2 = INFINITY, volume = INFINITY;
	int i;

	for (i = 0; i < 3; i++)
	{
		c[i] = rb_sizes_cell(s, i, at[i]);
		last = c[i] > last ? c[i] : last;
		last = s->n[i] - 1 - c[i] > last ? s->n[i] - 1 - c[i] : last;
	}
	for (ring = 0; ring <= last; ring++)
	{
		/*
		 * Lower bound on the distance of points in this ring. It is one cell less than the ring
		 * number, because the query point lies anywhere in its own cell.
		 */
		double far = (ring - 1) * s->cell;

		if (far > 0 && far * far > best2)
			break;
		for (i = 0; i < 3; i++)
		{
			from[i] = c[i] - ring < 0 ? 0 : c[i] - ring;
			to[i] = c[i] + ring >= s->n[i] ? s->n[i] - 1 : c[i] + ring;
		}
		for (z = from[2]; z <= to[2]; z++)
			for (y = from[1]; y <= to[1]; y++)
			{
				bool rim =
					z - c[2] == ring || c[2] - z == ring || y - c[1] == ring || c[1] - y == ring;

				for (x = from[0]; x <= to[0]; x++)
				{
					uint32_t k, cell;

					if (!rim && x - c[0] != ring && c[0] - x != ring)
						continue;
					cell = ((uint32_t) z * (uint32_t) s->n[1] + (uint32_t) y) * (uint32_t) s->n[0] +
						   (uint32_t) x;
					for (k = s->start[cell]; k < s->start[cell + 1]; k++)
					{
						const double *p = s->points + 4 * (size_t) k;
						double dx = p[0] - at[0], dy = p[1] - at[1], dz = p[2] - at[2];
						double d2 = dx * dx + dy * dy + dz * dz;

						if (d2 < best2 || (d2 == best2 && p[3] < volume))
						{
							best2 = d2;
							volume = p[3];
						}
					}
				}
			}
	}
	return volume;
}

/* ---- input angles ---- */

/* Returns true if vertex v of the input is a corner of a facet. */
RB_HOST_DEVICE bool
rb_facet_has(const rb_cells *m, uint32_t facet, uint32_t v)
{
	uint32_t from = m->facet_start[facet];
	uint32_t to = m->facet_start[facet + 1];

	while (from < to)
	{
		uint32_t middle = from + (to - from) / 2;

		if (m->facet_corners[middle] == v)
			return true;
		if (m->facet_corners[middle] < v)
			from = middle + 1;
		else
			to = middle;
	}
	return false;
}

/* Returns how many corners two facets share, counting no further than two. */
RB_HOST_DEVICE int
rb_facets_share(const rb_cells *m, uint32_t f, uint32_t g)
{
	uint32_t i = m->facet_start[f], j = m->facet_start[g];
	int shared = 0;

	while (i < m->facet_start[f + 1] && j < m->facet_start[g + 1] && shared < 2)
		if (m->facet_corners[i] == m->facet_corners[j])
		{
			shared++;
			i++;
			j++;
		}
		else if (m->facet_corners[i] < m->facet_corners[j])
			i++;
		else
			j++;
	return shared;
}

/* Returns true if vertex v lies on facet f up to rounding, by its kind and parent. */
RB_HOST_DEVICE bool
rb_site_on_facet(const rb_cells *m, uint32_t v, uint32_t f)
{
	uint32_t on = m->parent[v];

	switch (m->kind[v])
	{
		case RB_VERTEX_INPUT:
			return rb_facet_has(m, f, v);
		case RB_VERTEX_ON_SEGMENT:
			return rb_facet_has(m, f, m->segments[on][0]) && rb_facet_has(m, f, m->segments[on][1]);
		case RB_VERTEX_ON_FACET:
			return on == f;
		default:
			return false;
	}
}

/* Returns the corner that two segments share, or RB_NOWHERE if they share none. */
RB_HOST_DEVICE uint32_t
rb_segments_corner(const rb_cells *m, uint32_t s, uint32_t t)
{
	const uint32_t *a = m->segments[s];
	const uint32_t *b = m->segments[t];

	if (s == t)
		return RB_NOWHERE;
	return a[0] == b[0] || a[0] == b[1] ? a[0] : a[1] == b[0] || a[1] == b[1] ? a[1] : RB_NOWHERE;
}

/* Returns the segment whose ends are u and v, or RB_NOWHERE. */
RB_HOST_DEVICE uint32_t
rb_whole_segment(const rb_cells *m, uint32_t u, uint32_t v)
{
	uint64_t wanted = u < v ? (uint64_t) u << 32 | v : (uint64_t) v << 32 | u;
	uint32_t from = 0, to = m->nsegments;

	while (from < to)
	{
		uint32_t middle = from + (to - from) / 2;
		const uint32_t *s = m->segments[m->segment_order[middle]];
		uint64_t key = s[0] < s[1] ? (uint64_t) s[0] << 32 | s[1] : (uint64_t) s[1] << 32 | s[0];

		if (key == wanted)
			return m->segment_order[middle];
		if (key < wanted)
			from = middle + 1;
		else
			to = middle;
	}
	return RB_NOWHERE;
}

/* Returns true if vertex v is on segment s or is an end of it. */
RB_HOST_DEVICE bool
rb_site_on_segment(const rb_cells *m, uint32_t v, uint32_t s)
{
	return m->segments[s][0] == v || m->segments[s][1] == v ||
		   (m->kind[v] == RB_VERTEX_ON_SEGMENT && m->parent[v] == s);
}

/* Returns the segment that subsegment uv belongs to. */
RB_HOST_DEVICE uint32_t
rb_piece_segment(const rb_cells *m, uint32_t u, uint32_t v)
{
	if (m->kind[u] == RB_VERTEX_ON_SEGMENT && rb_site_on_segment(m, v, m->parent[u]))
		return m->parent[u];
	if (m->kind[v] == RB_VERTEX_ON_SEGMENT && rb_site_on_segment(m, u, m->parent[v]))
		return m->parent[v];
	return rb_whole_segment(m, u, v);
}

/*
 * Returns true if edge uv is already shorter than the insertion radii of its ends allow, so that it
 * must not cause a split. An edge at an input vertex never counts: it is short because of another
 * vertex, which has an edge of its own.
 */
RB_HOST_DEVICE bool
rb_edge_short(const rb_cells *m, uint32_t u, uint32_t v, double length2)
{
	double a = m->sites[u].radius, b = m->sites[v].radius;
	double r = a < b ? a : b; /* smaller of the two insertion radii; 0 at an input vertex */

	return length2 < r * r * (1 - 1e-9);
}

/* ---- tetrahedra ---- */

typedef struct rb_tet_shape
{
	rb_ball ball;
	double shortest2;
	uint32_t edge; /* The shortest edge */
} rb_tet_shape;

/* Returns the circumsphere and the shortest edge of a tetrahedron. */
RB_HOST_DEVICE rb_tet_shape
rb_cell_shape(const rb_cells *m, const rb_cell *c)
{
	rb_tet_shape s;
	uint32_t e;

	s.ball = rb_ball_of_tet(rb_site_at(m, c->v[0]), rb_site_at(m, c->v[1]), rb_site_at(m, c->v[2]),
							rb_site_at(m, c->v[3]));
	s.shortest2 = INFINITY;
	s.edge = 0;
	for (e = 0; e < 6; e++)
	{
		double l = rb_distance2(rb_site_at(m, c->v[rb_cell_edge_from(e)]),
								rb_site_at(m, c->v[rb_cell_edge_to(e)]));

		if (l < s.shortest2)
		{
			s.shortest2 = l;
			s.edge = e;
		}
	}
	return s;
}

/* Returns true if the volume of a cell exceeds the bound that applies to it. */
RB_HOST_DEVICE bool
rb_cell_large(const rb_cells *m, const rb_cell *c)
{
	const double *p[4];
	double volume, limit;
	double middle[3];
	int i;

	if (!m->has_volumes)
		return false;
	for (i = 0; i < 4; i++)
		p[i] = rb_site_at(m, c->v[i]);
	volume = rb_volume6(p[0], p[1], p[2], p[3]) / 6;
	limit = m->volume;
	if (m->region_volume != NULL && m->region_volume[c->region] < limit)
		limit = m->region_volume[c->region];
	if (volume > limit)
		return true;
	if (m->sizes == NULL)
		return false;
	for (i = 0; i < 3; i++)
		middle[i] = 0.25 * p[0][i] + 0.25 * p[1][i] + 0.25 * p[2][i] + 0.25 * p[3][i];
	return volume > rb_sizes_at(m->sizes, middle);
}

/*
 * Returns true if a cell is bad: its radius-edge ratio or its volume exceeds the bound. Sets *kept
 * if it is bad only by its ratio and must be left alone, because the input makes its shortest edge
 * short.
 */
RB_HOST_DEVICE bool
rb_cell_bad(const rb_cells *m, const rb_cell *c, const rb_tet_shape *s, bool *kept)
{
	/*
	 * The radius of a flat tetrahedron may be NaN. A radius below half the shortest edge does not
	 * exist: the tetrahedron is so small that its measures underflow.
	 */
	bool thin = m->ratio < INFINITY && !(s->ball.radius2 <= m->ratio * s->shortest2 &&
										 s->ball.radius2 >= 0.25 * s->shortest2);

	*kept = false;
	if (rb_cell_large(m, c))
		return true;
	if (!thin)
		return false;
	*kept = rb_edge_short(m, c->v[rb_cell_edge_from(s->edge)], c->v[rb_cell_edge_to(s->edge)],
						  s->shortest2);
	return true;
}

/* ---- constrained faces and subsegments ---- */

/*
 * Returns true if a subsegment may be split because of a rejected point. If `needed` is set,
 * insertion radii do not matter.
 */
RB_HOST_DEVICE bool
rb_piece_splits(const rb_cells *m, uint32_t u, uint32_t v, bool needed)
{
	if (needed)
		return !m->keep_surface;
	return !m->keep_surface &&
		   !rb_edge_short(m, u, v, rb_distance2(rb_site_at(m, u), rb_site_at(m, v)));
}

/*
 * Returns true if a constrained face with corners v may be split: not if the surface is kept,
 * always if `needed`, otherwise unless its shortest edge is too short.
 */
RB_HOST_DEVICE bool
rb_wall_splits(const rb_cells *m, const uint32_t *v, bool needed)
{
	double shortest = INFINITY;
	int i, at = 0;

	if (m->keep_surface || needed)
		return !m->keep_surface;
	for (i = 0; i < 3; i++)
	{
		double l = rb_distance2(rb_site_at(m, v[i]), rb_site_at(m, v[(i + 1) % 3]));

		if (l < shortest)
		{
			shortest = l;
			at = i;
		}
	}
	return !rb_edge_short(m, v[at], v[(at + 1) % 3], shortest);
}

/*
 * Bounds on the squared distance from vertex w to a point on a facet across an input angle,
 * relative to the squared insertion radius of w. Nearer points are refused.
 *
 * RB_WALL_NEAR applies if w itself encroaches and triggered the point. A point nearer than the
 * radius would create an edge shorter than any before, and so on without end. A bound slightly
 * above 1 saves points and leaves no more bad tetrahedra. If w is on a segment, the distance may be
 * longer by the same factor as the new radius (`raise`).
 *
 * RB_WALL_NEAR_ABSENT applies if a rejected point is the trigger. It is the circumcenter of a bad
 * tetrahedron, and is as far from all vertices as the edges of that tetrahedron are long. So it
 * cannot trigger points without end, and refusing all points within the radius would leave many
 * large bad tetrahedra for the sake of a few small ones. RB_WALL_NEAR_ABSENT_EDGE applies if the
 * facets meet along an edge: within a flat wedge, points on the two sides face each other
 * everywhere, and nearly all would be refused.
 */
#define RB_WALL_NEAR 1.4
#define RB_WALL_NEAR_ABSENT 0.35
#define RB_WALL_NEAR_ABSENT_EDGE 0.12

/*
 * Returns true if point `at` on facet f is too near to vertex w across an input angle. The point is
 * wanted because w encroaches, or because of a rejected point (`absent`) while w lies in the
 * protecting sphere as well. Sets *raise to the minimum insertion radius of the new vertex.
 */
RB_HOST_DEVICE bool
rb_wall_kept(const rb_cells *m, uint32_t f, const double *at, uint32_t w, bool absent,
			 double *raise)
{
	double r = m->sites[w].radius;
	double near = absent ? RB_WALL_NEAR_ABSENT : RB_WALL_NEAR;
	bool across = false;

	*raise = 0;
	if (r == 0)
		return false;
	if (m->kind[w] == RB_VERTEX_ON_SEGMENT)
	{
		const uint32_t *s = m->segments[m->parent[w]];

		across = rb_facet_has(m, f, s[0]) != rb_facet_has(m, f, s[1]);
		*raise = r * 1.4142135623730951;
		if (!absent)
			near *= 2;
	}
	else if (m->kind[w] == RB_VERTEX_ON_FACET)
	{
		int shared = rb_facets_share(m, f, m->parent[w]);

		across = shared > 0;
		*raise = r;
		if (absent && shared > 1)
			near = RB_WALL_NEAR_ABSENT_EDGE;
	}
	if (!across)
	{
		*raise = 0;
		return false;
	}
	return rb_distance2(at, rb_site_at(m, w)) < near * r * r;
}

/*
 * Returns a factor slightly above 1 that depends on the numbers of a segment and a vertex. Without
 * it, points on two sides of a corner at equal distances from it would be cocircular in groups of
 * four. On a facet, rounding would decide which of them lies inside which circle, with different
 * results on the two sides of the facet, and a tetrahedron without volume would appear in between.
 * The factor exceeds the rounding error, but not by more than necessary: on the long edges of a
 * needle, points must stay side by side.
 */
RB_HOST_DEVICE double
rb_corner_more(uint32_t s, uint32_t w)
{
	uint32_t hash = s * 0x9e3779b1u ^ w * 0x85ebca6bu;

	hash ^= hash >> 15;
	hash *= 0xc2b2ae35u;
	hash ^= hash >> 13;
	return 1 + 0x1p-32 * (0.5 + (hash & 0xffff) * 0x1p-17);
}

/*
 * Returns where to split subsegment uv because of vertex w, as a fraction from u to v. If the
 * segment of w shares a corner with this one, the point is as far from that corner as w, so that
 * points around the corner end up on common spheres. Otherwise the point is the projection of w. If
 * the result is near an end, the midpoint is used. Sets *raise to the minimum insertion radius of
 * the new vertex.
 */
RB_HOST_DEVICE double
rb_piece_place(const rb_cells *m, uint32_t u, uint32_t v, uint32_t w, double *raise)
{
	const double *a = rb_site_at(m, u), *b = rb_site_at(m, v), *p = rb_site_at(m, w);
	uint32_t s = rb_piece_segment(m, u, v);
	uint32_t corner = RB_NOWHERE;
	double t;
	bool across = false;

	if (m->kind[w] == RB_VERTEX_ON_SEGMENT)
	{
		corner = rb_segments_corner(m, s, m->parent[w]);
		across = corner != RB_NOWHERE;
	}
	else if (m->kind[w] == RB_VERTEX_ON_FACET)
		across = rb_facet_has(m, m->parent[w], m->segments[s][0]) !=
				 rb_facet_has(m, m->parent[w], m->segments[s][1]);
	*raise = across ? m->sites[w].radius : 0;
	if (corner != RB_NOWHERE)
	{
		const double *o = rb_site_at(m, corner);
		double far = sqrt(rb_distance2(o, p));
		double from = sqrt(rb_distance2(o, a)), to = sqrt(rb_distance2(o, b));
		double cosine;
		const double *other = to > from ? b : a;

		cosine = ((p[0] - o[0]) * (other[0] - o[0]) + (p[1] - o[1]) * (other[1] - o[1]) +
				  (p[2] - o[2]) * (other[2] - o[2])) /
				 (far * (to > from ? to : from));
		if (cosine < 0.5)
			*raise = 0;
		t = (far * rb_corner_more(s, w) - from) / (to - from);
	}
	else
		t = rb_projection(a, b, p);
	return t > 0.2 && t < 0.8 ? t : 0.5;
}

/*
 * Returns the minimum insertion radius of a point on segment s due to w, its nearest vertex when it
 * was inserted: the radius of w if w lies across an input angle, otherwise 0.
 */
RB_HOST_DEVICE double
rb_segment_raise(const rb_cells *m, uint32_t s, const double *at, uint32_t w)
{
	const double *p = rb_site_at(m, w), *o;
	uint32_t on = m->parent[w], corner;
	double dot;

	if (m->kind[w] == RB_VERTEX_ON_FACET)
		return rb_facet_has(m, on, m->segments[s][0]) != rb_facet_has(m, on, m->segments[s][1])
				   ? m->sites[w].radius
				   : 0;
	corner = m->kind[w] == RB_VERTEX_ON_SEGMENT ? rb_segments_corner(m, s, on) : RB_NOWHERE;
	if (corner == RB_NOWHERE)
		return 0;
	o = rb_site_at(m, corner);
	dot = (p[0] - o[0]) * (at[0] - o[0]) + (p[1] - o[1]) * (at[1] - o[1]) +
		  (p[2] - o[2]) * (at[2] - o[2]);
	return dot > 0 && dot * dot >= 0.25 * rb_distance2(p, o) * rb_distance2(at, o)
			   ? m->sites[w].radius
			   : 0;
}

#endif /* RB_REFINE_CRITERIA_H */
