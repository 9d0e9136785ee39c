/*
 * contact.h
 *	  Decides how two objects meet: the dimension of their intersection, and whether they cross,
 *	  that is, whether their relative interiors share a point. Uses only signs.
 *
 * An object is considered as a set of points: a triangle of zero area is the segment between its
 * extreme vertices, or a point, and a segment of zero length is a point. The relative interior of a
 * point is the point itself.
 *
 * The cases and signs are those of triangle.h, except that zeros matter, too.
 *
 *	2. The planes of two triangles meet in a line L, and each triangle intersects L in an
 *	   interval. The intervals share more than a point if both of their orientations are
 *	   strict and neither is a single vertex. An interval belongs to the triangle's interior
 *	   if the triangle has vertices on both sides of the other's plane.
 *	3. A segment that pierces the plane shares at most a point; they cross if its ends are
 *	   on both sides and it passes all edges on the same side.
 *	4. Coplanar triangles or triangles of zero area: as in a plane, below.
 *
 * Neighbors in a mesh are the most frequent pairs, and their common vertices lie in both planes
 * without any arithmetic. With two common vertices, the intersection is the common edge unless the
 * other two vertices are coplanar with it; this takes one sign. With one common vertex and the
 * other vertices of one triangle on one side of the other's plane, it is that vertex; this takes
 * two signs. Otherwise both intervals begin at the common vertex, and the predicate depends on
 * whether they run in the same direction; this takes four signs.
 */
#ifndef RB_PRIMITIVE_CONTACT_H
#define RB_PRIMITIVE_CONTACT_H

#include "core/primitive/triangle.h"

/* ---- on a line and in a plane ---- */

/*
 * Decides how two collinear or coplanar objects meet, and two segments in space.
 *
 * On a line, lexicographic order is sufficient. In a plane, the relative interiors of two convex
 * polygons, one of which has an area, are disjoint if and only if the line of an edge of one has
 * all of the other on its outer side or on it. (Their Minkowski difference is a polygon whose edges
 * are parallel to theirs, and the origin is in its interior unless one of these edges separates
 * them.)
 *
 *		   /\
 *		  /  \		  The intersection then lies on that line, where one polygon has
 *		 /____\____	  its edge and the other an edge, a vertex or nothing:
 *		   \      /	  a one-dimensional problem.
 *		    \    /
 *		     \  /	  If no edge separates them, they cross, and the intersection has
 *		      \/		  the smaller of their dimensions.
 *
 * A segment is a polygon with two opposite edges, a point one without edges.
 */

/* ---- intervals on a line ---- */

/*
 * Intersects the intervals ab and cd of one line. Returns -1 if they are disjoint, 0 if they share
 * a point, 1 if more. Sets *at to the start of the intersection.
 */
RB_HOST_DEVICE int
rb_collinear_share(const double *a, const double *b, const double *c, const double *d,
				   const double **at)
{
	const double *swap, *to;

	if (rb_point_before(b, a))
	{
		swap = a;
		a = b;
		b = swap;
	}
	if (rb_point_before(d, c))
	{
		swap = c;
		c = d;
		d = swap;
	}
	*at = rb_point_before(a, c) ? c : a;
	to = rb_point_before(b, d) ? b : d;
	return rb_point_before(*at, to) ? 1 : rb_point_before(to, *at) ? -1 : 0;
}

/* Returns true if x, a point of the segment ab, is in its relative interior. */
RB_HOST_DEVICE bool
rb_is_inner(const double *a, const double *b, const double *x)
{
	return rb_equal3(a, b) || (!rb_equal3(a, x) && !rb_equal3(b, x));
}

/* Decides RB_CONTACT for two segments on one line; each may be a point. */
RB_HOST_DEVICE int
rb_collinear_contact(const double *a, const double *b, const double *c, const double *d)
{
	const double *at;
	int share = rb_collinear_share(a, b, c, d, &at);

	if (share < 0)
		return 0;
	return RB_CONTACT_OF(share, share == 1 || (rb_is_inner(a, b, at) && rb_is_inner(c, d, at)));
}

/* ---- segments ---- */

/* Decides RB_CONTACT for the segments pq and st in the plane; each may be a point. */
RB_HOST_DEVICE int
rb_segments_contact2(rb_exact_env *env, const double *p, const double *q, const double *s,
					 const double *t)
{
	bool sp = (s[0] == p[0]) & (s[1] == p[1]), sq = (s[0] == q[0]) & (s[1] == q[1]);
	bool tp = (t[0] == p[0]) & (t[1] == p[1]), tq = (t[0] == q[0]) & (t[1] == q[1]);
	int o[4], decided;

	if (sp | sq | tp | tq) /* only the common end, unless the segments are collinear */
	{
		o[0] = rb_orient2d_points(env, p, q, sp | sq ? t : s);
		if (o[0] != 0)
			return o[0] == RB_UNSURE ? RB_UNSURE : RB_CONTACT_OF(0, 0);
	}
	else
	{
		decided = rb_segments_signs(env, p, q, s, t, o);
		if (decided != 1)
			return decided;
		if (o[0] != 0 || o[1] != 0 || o[2] != 0 || o[3] != 0)
			return RB_CONTACT_OF(0, o[0] * o[1] < 0 && o[2] * o[3] < 0);
	}
	{
		const double a[3] = {p[0], p[1], 0}, b[3] = {q[0], q[1], 0};
		const double c[3] = {s[0], s[1], 0}, d[3] = {t[0], t[1], 0};

		return rb_collinear_contact(a, b, c, d);
	}
}

/* Decides RB_CONTACT for two segments in space; each may be a point. */
RB_HOST_DEVICE_CALL int
rb_segments_contact3(rb_exact_env *env, const double *pq, const double *st)
{
	double p[4], s[4];
	int o = rb_orient3d_at(env, pq, pq + 3, st, st + 3), axis;

	if (o != 0)
		return o == RB_UNSURE ? RB_UNSURE : 0;
	axis = rb_segments_axis(env, pq, st);
	if (axis < 0)
		return axis == -2 ? RB_UNSURE : rb_collinear_contact(pq, pq + 3, st, st + 3);
	rb_project(pq, 2, axis, p);
	rb_project(st, 2, axis, s);
	return rb_segments_contact2(env, p, p + 2, s, s + 2);
}

/* ---- coplanar polygons ---- */

/* Returns the orientation of points in space projected along an axis. */
RB_HOST_DEVICE int
rb_turn(rb_exact_env *env, int axis, const double *a, const double *b, const double *c)
{
	int u = (axis + 1) % 3, v = (axis + 2) % 3;

	return rb_orient2d_at(env, a[u], a[v], b[u], b[v], c[u], c[v]);
}

/*
 * Searches for an edge of the first polygon, whose orientation is `turn`, that has all of the
 * second polygon on its outer side or on its line. Returns -1 if there is none. Otherwise the
 * intersection lies on that line, and its contact is returned.
 */
RB_HOST_DEVICE int
rb_edge_contact(rb_exact_env *env, int axis, const double *t, int nt, int turn, const double *o,
				int no)
{
	for (int e = 0; e < nt; e++)
	{
		const double *a = t + 3 * e, *b = t + 3 * ((e + 1) % nt);
		const double *from = NULL, *to = NULL, *at;
		int v, share;

		for (v = 0; v < no; v++)
		{
			int s = rb_turn(env, axis, a, b, o + 3 * v);

			if (s == RB_UNSURE)
				return RB_UNSURE;
			if (s == turn)
				break;
			if (s == 0)
			{
				to = o + 3 * v;
				from = from == NULL ? to : from;
			}
		}
		if (v < no)
			continue;
		if (from == NULL)
			return 0;
		share = rb_collinear_share(a, b, from, to, &at);
		return share < 0 ? 0 : RB_CONTACT_OF(share, 0);
	}
	return -1;
}

/*
 * Decides RB_CONTACT for triangle t and the hull of no coplanar points, 3 or 2. Returns -1 if t has
 * no area.
 */
RB_HOST_DEVICE_CALL int
rb_flat_contact(rb_exact_env *env, const double *t, const double *o, int no)
{
	int axis = rb_projection_axis(env, t, t + 3, t + 6);
	int turn, turn_o = 1, answer;
	double ends[6];

	if (axis < 0)
		return axis == -1 ? -1 : RB_UNSURE;
	turn = rb_turn(env, axis, t, t + 3, t + 6);
	if (no == 3)
	{
		turn_o = rb_turn(env, axis, o, o + 3, o + 6);
		if (turn_o == 0)
		{
			rb_collinear_ends(o, ends);
			o = ends;
			no = 2;
			turn_o = 1; /* two opposite edges: either orientation works */
		}
	}
	if (turn == RB_UNSURE || turn_o == RB_UNSURE)
		return RB_UNSURE;
	if (no == 2 && rb_equal3(o, o + 3))
		no = 1;
	answer = rb_edge_contact(env, axis, t, 3, turn, o, no);
	if (answer == -1 && no > 1)
		answer = rb_edge_contact(env, axis, o, no, turn_o, t, 3);
	return answer == -1 ? RB_CONTACT_OF(no - 1, 1) : answer;
}

/* ---- in space ---- */

/* Returns true if the triangle has vertices strictly on both sides of the plane. */
RB_HOST_DEVICE bool
rb_on_both_sides(const int s[3])
{
	return (s[0] > 0 || s[1] > 0 || s[2] > 0) && (s[0] < 0 || s[1] < 0 || s[2] < 0);
}

/* Returns true if one vertex is in the plane and the others are on one side of it. */
RB_HOST_DEVICE bool
rb_only_a_corner(const int s[3])
{
	return s[0] + s[1] + s[2] == 2 || s[0] + s[1] + s[2] == -2;
}

/* ---- triangles ---- */

/* The vertices that are also vertices of the other triangle, by coordinates: one bit each */
typedef struct rb_common
{
	unsigned r;
	unsigned b;
} rb_common;

/* Returns the corners that each of two triangles shares with the other. */
RB_HOST_DEVICE rb_common
rb_common_corners(const double *r, const double *b)
{
	rb_common common = {0, 0};

	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			if (rb_equal3(r + 3 * i, b + 3 * j))
			{
				common.r |= 1u << i;
				common.b |= 1u << j;
			}
	return common;
}

/* Returns true if at least two bits are set. */
RB_HOST_DEVICE bool
rb_two_or_more(unsigned bits)
{
	return (bits & (bits - 1)) != 0;
}

/*
 * Decides case 2 for triangles with one common vertex, where both intervals begin or end: returns
 * true if they run in the same direction from there. With the ends along L named as in
 * rb_intervals_overlap, the vertex is then q's end of one interval and r's end of the other.
 */
RB_HOST_DEVICE bool
rb_same_way(int lone_r, int lone_b, rb_common common)
{
	bool q_of_r = common.r == 1u << ((lone_r & 3) + 1) % 3;
	bool q_of_b = common.b == 1u << ((lone_b & 3) + 1) % 3;

	return (q_of_r != ((lone_b & 4) != 0)) != (q_of_b != ((lone_r & 4) != 0));
}

/* Decides case 3: the degenerate triangle t, which is a segment, against the triangle u. */
RB_HOST_DEVICE int
rb_needle_contact(rb_exact_env *env, const double *t, const int s[3], const double *u)
{
	int how = rb_needle_pierces(env, t, s, u);

	if (how < 0 || how == RB_UNSURE)
		return how < 0 ? 0 : RB_UNSURE;
	return RB_CONTACT_OF(0, how == 1 && rb_on_both_sides(s));
}

/*
 * Computes the unknown signs of t's vertices against a plane; the signs of common vertices are 0.
 */
RB_HOST_DEVICE void
rb_signs_of_corners(rb_exact_env *env, const double *plane, const double *t, unsigned common,
					int s[3])
{
	for (int i = 0; i < 3; i++)
		if (s[i] == RB_UNSURE)
			s[i] =
				common >> i & 1 ? 0 : rb_orient3d_at(env, plane, plane + 3, plane + 6, t + 3 * i);
}

/*
 * Decides case 4 for triangles with two common vertices: tests whether both triangles lie on the
 * same side of the common edge. If not, or if blue has no area, the intersection is the edge.
 * Returns -1 if red has no area.
 */
RB_HOST_DEVICE int
rb_flat_neighbours_contact(rb_exact_env *env, const double *r, const double *b, rb_common common)
{
	int i = common.r == 6 ? 0 : common.r == 5 ? 1 : 2;
	int j = common.b == 6 ? 0 : common.b == 5 ? 1 : 2;
	const double *p = r + 3 * ((i + 1) % 3), *q = r + 3 * ((i + 2) % 3);
	int axis = rb_projection_axis(env, p, q, r + 3 * i);
	int side_r, side_b;

	if (axis < 0)
		return axis == -1 ? -1 : RB_UNSURE;
	side_r = rb_turn(env, axis, p, q, r + 3 * i);
	side_b = rb_turn(env, axis, p, q, b + 3 * j);
	if (side_r == RB_UNSURE || side_b == RB_UNSURE)
		return RB_UNSURE;
	return side_r == side_b ? RB_CONTACT_OF(2, 1) : RB_CONTACT_OF(1, 0);
}

/* Decides case 4, and case 3 where blue is in the plane of red or red has no area. */
RB_HOST_DEVICE_CALL int
rb_flat_triangles_contact(rb_exact_env *env, const double *r, const double *b, rb_common common,
						  int sr[3])
{
	int answer = -1;
	double of_r[6], of_b[6];

	if (rb_two_or_more(common.r) && common.r != 7)
		answer = rb_flat_neighbours_contact(env, r, b, common);
	if (answer == -1)
		answer = rb_flat_contact(env, r, b, 3);
	if (answer != -1)
		return answer;
	rb_signs_of_corners(env, b, r, common.r, sr);
	if (RB_ANY_UNSURE(sr))
		return RB_UNSURE;
	if (!RB_ALL_SAME(sr))
		return rb_needle_contact(env, r, sr, b);
	if (sr[0] != 0)
		return 0;
	rb_collinear_ends(r, of_r);
	answer = rb_flat_contact(env, b, of_r, 2);
	if (answer != -1)
		return answer;
	rb_collinear_ends(b, of_b);
	return rb_segments_contact3(env, of_r, of_b);
}

/* Decides RB_CONTACT for two triangles whose common vertices are known. */
RB_HOST_DEVICE int
rb_triangle_contact_of(rb_exact_env *env, const double *r, const double *b, rb_common common,
					   int sb[3], int sr[3])
{
	int share;

	rb_signs_of_corners(env, r, b, common.b, sb);
	if (RB_ALL_SAME(sb) && sb[0] != 0 && sb[0] != RB_UNSURE)
		return 0;
	if (!RB_ANY_UNSURE(sb))
	{
		if (RB_ALL_SAME(sb))
			return rb_flat_triangles_contact(env, r, b, common, sr);
		/* Red has an area, so its vertices are distinct. */
		if (rb_two_or_more(common.r))
			return RB_CONTACT_OF(1, 0);
		if (common.r != 0 && rb_only_a_corner(sb))
			return RB_CONTACT_OF(0, 0);
	}
	rb_signs_of_corners(env, b, r, common.r, sr);
	if (RB_ALL_SAME(sr) && sr[0] != 0 && sr[0] != RB_UNSURE)
		return 0;
	if (RB_ANY_UNSURE(sb) || RB_ANY_UNSURE(sr))
		return RB_UNSURE;
	if (RB_ALL_SAME(sr))
		return rb_needle_contact(env, b, sb, r);

	if (common.r != 0)
		share = rb_same_way(rb_lone_corner(sr), rb_lone_corner(sb), common);
	else
		share = rb_intervals_overlap(env, r, rb_lone_corner(sr), b, rb_lone_corner(sb));
	if (share < 0 || share == RB_UNSURE)
		return share < 0 ? 0 : RB_UNSURE;
	if (rb_only_a_corner(sb) || rb_only_a_corner(sr))
		share = 0;
	return RB_CONTACT_OF(share, share == 1 && rb_on_both_sides(sb) && rb_on_both_sides(sr));
}

/* Decides RB_CONTACT, with sb and sr as in rb_triangle_triangle. The boxes need not overlap. */
RB_HOST_DEVICE int
rb_triangle_contact(rb_exact_env *env, const double *r, const double *b, int sb[3], int sr[3])
{
	return rb_triangle_contact_of(env, r, b, rb_common_corners(r, b), sb, sr);
}

/*
 * Decides RB_CONTACT for the segment ab, which may be a point, and triangle t, with the signs of
 * rb_segment_triangle.
 */
RB_HOST_DEVICE int
rb_segment_triangle_contact(rb_exact_env *env, const double *ab, const double *t)
{
	int sa = rb_orient3d_at(env, t, t + 3, t + 6, ab);
	int sb = rb_orient3d_at(env, t, t + 3, t + 6, ab + 3);
	int how;

	if (sa == RB_UNSURE || sb == RB_UNSURE)
		return RB_UNSURE;
	if (sa * sb > 0)
		return 0;
	if (sa == 0 && sb == 0)
	{
		double ends[6];

		how = rb_flat_contact(env, t, ab, 2);
		if (how != -1)
			return how;
		rb_collinear_ends(t, ends);
		return rb_segments_contact3(env, ab, ends);
	}
	how = rb_line_pierces(env, ab, ab + 3, t);
	if (how < 0 || how == RB_UNSURE)
		return how < 0 ? 0 : RB_UNSURE;
	return RB_CONTACT_OF(0, how == 1 && sa * sb < 0);
}

/* ---- triangles of one mesh ---- */

/*
 * Tests whether the common segment of two triangles with two or more common vertices extends beyond
 * the edge between common vertices. It does not if one triangle has an area, since a triangle
 * contains no more of the edge's line than the edge. Two triangles without area are segments and
 * share the intersection of these.
 */
RB_HOST_DEVICE_CALL int
rb_longer_than_edge(rb_exact_env *env, const double *r, const double *b, rb_common common)
{
	int axis = rb_projection_axis(env, r, r + 3, r + 6);
	int one = common.r & 1 ? 0 : 3;
	double corners[9], edge[6], of_r[6], of_b[6];

	if (axis == -1)
		axis = rb_projection_axis(env, b, b + 3, b + 6);
	if (axis != -1)
		return axis == -2 ? RB_UNSURE : 0;
	for (int i = 0; i < 9; i++)
		corners[i] = common.r >> i / 3 & 1 ? r[i] : r[one + i % 3];
	rb_collinear_ends(corners, edge);
	rb_collinear_ends(r, of_r);
	rb_collinear_ends(b, of_b);
	return (rb_point_before(of_r, edge) && rb_point_before(of_b, edge)) ||
		   (rb_point_before(edge + 3, of_r + 3) && rb_point_before(edge + 3, of_b + 3));
}

/*
 * Decides RB_SELF_INTERSECT: returns the result of RB_CONTACT if the intersection is more than
 * common vertices and the edges between them, else 0. Two triangles with the same vertices always
 * intersect: a mesh that contains a triangle twice is invalid even if the triangle has no area.
 */
RB_HOST_DEVICE int
rb_triangle_self_intersect_of(rb_exact_env *env, const double *r, const double *b, rb_common common,
							  int sb[3], int sr[3])
{
	int answer = rb_triangle_contact_of(env, r, b, common, sb, sr);
	int dimension, longer;

	if (answer == 0 || answer == RB_UNSURE || common.r == 0 || (common.r & common.b) == 7)
		return answer;
	dimension = RB_PAYLOAD_DIMENSION(RB_PAYLOAD(answer));
	if (dimension != 1)
		return dimension == 2 ? answer : 0;
	if (!rb_two_or_more(common.r) || !rb_two_or_more(common.b))
		return answer; /* a segment in common, but only one vertex */
	if (!RB_ALL_SAME(sb))
		return 0; /* the common edge, since red has an area */
	longer = rb_longer_than_edge(env, r, b, common);
	return longer == 1 ? answer : longer;
}

/*
 * Decides RB_SELF_INTERSECT for two triangles; sb and sr hold known signs of corners, or RB_UNSURE.
 */
RB_HOST_DEVICE int
rb_triangle_self_intersect(rb_exact_env *env, const double *r, const double *b, int sb[3],
						   int sr[3])
{
	return rb_triangle_self_intersect_of(env, r, b, rb_common_corners(r, b), sb, sr);
}

#endif /* RB_PRIMITIVE_CONTACT_H */
