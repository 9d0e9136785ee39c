/*
 * rb_rules.h
 *	  What is to be split, and what is left alone so that the work ends.
 *
 * Points near a small angle of the input would call for each other without end: a point on one side of the
 * angle encroaches upon the other side, and the one that is put there encroaches back, each time
 * nearer to the corner.  So every point that is added knows a radius: the distance to its nearest
 * neighbour when it came, or more, where another point called for it and lies across such an angle: then
 * that point's radius.  What would make an edge shorter than the radii at its ends allow is not done.
 *
 * After J. R. Shewchuk, H. Si: Higher-quality tetrahedral mesh generation for domains with small
 * angles by constrained Delaunay refinement, 2014.
 */
#ifndef RB_RULES_H
#define RB_RULES_H

#include "mesh/rb_tetrahedralize.h"
#include "refine/rb_cells.h"
#include "refine/rb_measure.h"
#include "refine/rb_sizes.h"

/* is site v, one of the input, a corner of facet f? */
RB_HD bool
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

/* how many corners they share, of two at most */
RB_HD int
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

/* does site v lie on facet f, as far as doubles can? */
RB_HD bool
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

/* the corner that two segments share; RB_NOWHERE: they share none */
RB_HD uint32_t
rb_segments_corner(const rb_cells *m, uint32_t s, uint32_t t)
{
	const uint32_t *a = m->segments[s];
	const uint32_t *b = m->segments[t];

	if (s == t)
		return RB_NOWHERE;
	return a[0] == b[0] || a[0] == b[1] ? a[0] : a[1] == b[0] || a[1] == b[1] ? a[1] : RB_NOWHERE;
}

/* the segment that is the edge uv as a whole, of the input */
RB_HD uint32_t
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

/* is site v on segment s, or an end of it? */
RB_HD bool
rb_site_on_segment(const rb_cells *m, uint32_t v, uint32_t s)
{
	return m->segments[s][0] == v || m->segments[s][1] == v ||
		   (m->kind[v] == RB_VERTEX_ON_SEGMENT && m->parent[v] == s);
}

/* the segment that piece uv belongs to */
RB_HD uint32_t
rb_piece_segment(const rb_cells *m, uint32_t u, uint32_t v)
{
	if (m->kind[u] == RB_VERTEX_ON_SEGMENT && rb_site_on_segment(m, v, m->parent[u]))
		return m->parent[u];
	if (m->kind[v] == RB_VERTEX_ON_SEGMENT && rb_site_on_segment(m, u, m->parent[v]))
		return m->parent[v];
	return rb_whole_segment(m, u, v);
}

/*
 * May nothing shorter than it come of the edge uv, by the radii of its ends?  Edges to a corner of the input are
 * as short as they are because of another point, which has an edge of its own.
 */
RB_HD bool
rb_edge_short(const rb_cells *m, uint32_t u, uint32_t v, double length2)
{
	double a = m->sites[u].radius, b = m->sites[v].radius;
	double r = a < b ? a : b; /* 0: of the input */

	return length2 < r * r * (1 - 1e-9);
}

/* ---- tetrahedra ---- */

typedef struct rb_shape
{
	rb_ball ball;
	double shortest2;
	uint32_t edge; /* the shortest */
} rb_shape;

RB_HD rb_shape
rb_cell_shape(const rb_cells *m, const rb_cell *c)
{
	rb_shape s;
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

/* is its volume more than it may be there? */
RB_HD bool
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
 * Bad: the ratio is above the bound, or the volume above its.  *kept: it is, but is to be left alone, for
 * its shortest edge is short because of the input.
 */
RB_HD bool
rb_cell_bad(const rb_cells *m, const rb_cell *c, const rb_shape *s, bool *kept)
{
	/* where it is flat the radius may be NaN */
	bool thin = m->ratio < INFINITY && !(s->ball.radius2 <= m->ratio * s->shortest2);

	*kept = false;
	if (rb_cell_large(m, c))
		return true;
	if (!thin)
		return false;
	*kept = rb_edge_short(m, c->v[rb_cell_edge_from(s->edge)], c->v[rb_cell_edge_to(s->edge)],
						  s->shortest2);
	return true;
}

/* ---- walls and pieces ---- */

/* may a piece be split because of a point that is not there?  needed: whatever the radii are */
RB_HD bool
rb_piece_splits(const rb_cells *m, uint32_t u, uint32_t v, bool needed)
{
	if (needed)
		return !m->keep_surface;
	return !m->keep_surface &&
		   !rb_edge_short(m, u, v, rb_distance2(rb_site_at(m, u), rb_site_at(m, v)));
}

RB_HD bool
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
 * What is too near to site w across an angle of the input, by the square of its distance : w's radius.
 *
 * Where w itself encroaches, and has called for the point: what is nearer than the radius would have a
 * shorter edge than there is, and so on without end; a bit more than that saves points, and leaves no more bad.
 * Of a segment's point the distance may be as much longer as the new radius is (`raise`).
 *
 * A point that is not there is the centre of a bad tetrahedron, and as far from all others as its edges are long;
 * so it does not call without end, and to refuse all within the radius would leave many large bad tetrahedra for the
 * sake of a few small ones.  Least of all is refused where the facets meet along an edge: within a flat wedge
 * points of both sides face each other everywhere, and nearly all would be refused.
 */
#define RB_WALL_NEAR 1.4
#define RB_WALL_NEAR_ABSENT 0.35
#define RB_WALL_NEAR_ABSENT_EDGE 0.12

/*
 * Point `at` on facet f is wanted because of site w, or of a point that is not there, with w in the sphere as well.
 * True: it is too near to w, across an angle of the input.  *raise: the radius that the new point gets at least.
 */
RB_HD bool
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
 * A little more than 1, by numbers.  Points on two sides of a corner at the same distances from it lie on circles,
 * four by four; on a facet rounding would decide which of them is inside of which circle, and from one side of
 * the facet it looks otherwise than from the other: a tetrahedron without a volume is in between.  It is more than
 * rounding does, and no more than that: on the long edges of a needle places have to stay side by side.
 */
RB_HD double
rb_corner_more(uint32_t s, uint32_t w)
{
	uint32_t hash = s * 0x9e3779b1u ^ w * 0x85ebca6bu;

	hash ^= hash >> 15;
	hash *= 0xc2b2ae35u;
	hash ^= hash >> 13;
	return 1 + 0x1p-32 * (0.5 + (hash & 0xffff) * 0x1p-17);
}

/*
 * Where piece uv is split because of site w: at the distance that w has from the corner which its
 * segment shares with this one, so that what is around that corner ends up on spheres around it; else
 * next to w; in the middle, where that is near an end.  *raise: the radius that the new point gets at least.
 */
RB_HD double
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
 * The radius that a point on segment s gets at least because of w, the nearest there was when it came: that of w,
 * if that is across an angle of the input.
 */
RB_HD double
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

#endif /* RB_RULES_H */
