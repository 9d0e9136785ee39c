/*
 * triangle.h
 *	  Tests whether two closed triangles share a point, using only signs.
 *
 * After Guigue and Devillers, Fast and robust triangle-triangle overlap test using orientation
 * predicates, 2003: the test evaluates only signs of orient3d and orient2d on input points and
 * constructs nothing, so exact signs give the exact result. All degenerate cases are added here in
 * closed form.
 *
 *	0. A common vertex: they meet.
 *	1. The vertices of blue against the plane of red, and vice versa. Three
 *	   equal nonzero signs: disjoint.
 *	2. Both triples mixed. Both triangles have an area, and their planes meet in a
 *	   line L. Name the vertices so that p is alone on one (closed) side of the
 *	   other's plane, and orient the triangles so that that side is the positive
 *	   one. Each triangle intersects L in an interval with one end on pq, one on
 *	   pr; two more orientations decide whether the intervals overlap. Vertices on
 *	   the plane need no special case: the interval then ends in, or is, a vertex.
 *
 *		      p            L-----i=====k--j-----l-----
 *		     / \                 |_red_|  |
 *		----i---j---- L             |__blue__|
 *		   q     r
 *
 *	3. One triple all zero, the other mixed: the triangle whose vertices are
 *	   mixed has no area (otherwise coplanarity would be mutual). It is a
 *	   segment that pierces the other's plane in a point.
 *	4. Both all zero: coplanar, or without area. If one has an area, a projection
 *	   along some axis is one-to-one on its plane and reduces the test to 2D.
 *	   Two triangles without area are segments: skew, coplanar or collinear.
 *
 * A sign may be RB_UNSURE if env->exact is false; then so is the result.
 */
#ifndef RB_PRIMITIVE_TRIANGLE_H
#define RB_PRIMITIVE_TRIANGLE_H

#include "core/primitive/segment.h"

/* Tests on the three signs of a triangle's vertices against a plane */
#define RB_ALL_SAME(s) ((s)[0] == (s)[1] && (s)[1] == (s)[2])
#define RB_ANY_UNSURE(s) ((s)[0] == RB_UNSURE || (s)[1] == RB_UNSURE || (s)[2] == RB_UNSURE)

/* Tests whether point x is in the closed triangle t, whose orientation is turn (not 0). */
RB_HOST_DEVICE int
rb_triangle_holds2(rb_exact_env *env, const double *t, int turn, const double *x)
{
	for (int e = 0; e < 3; e++)
	{
		int o = rb_orient2d_points(env, t + 2 * e, t + 2 * ((e + 1) % 3), x);

		if (o == RB_UNSURE)
			return RB_UNSURE;
		if (o == -turn)
			return 0;
	}
	return 1;
}

/*
 * Tests whether an edge of t, whose orientation is turn (not 0), has all of the other triangle
 * strictly on its outer side.
 */
RB_HOST_DEVICE int
rb_edge_separates2(rb_exact_env *env, const double *t, int turn, const double *other)
{
	for (int e = 0; e < 3; e++)
	{
		bool outside = true;

		for (int v = 0; v < 3 && outside; v++)
		{
			int o = rb_orient2d_points(env, t + 2 * e, t + 2 * ((e + 1) % 3), other + 2 * v);

			if (o == RB_UNSURE)
				return RB_UNSURE;
			outside = o == -turn;
		}
		if (outside)
			return 1;
	}
	return 0;
}

/*
 * Tests two closed triangles in the plane. If both have an area, disjoint convex sets are separated
 * by the line of an edge. A triangle without area is the union of its edges, so the edges are then
 * tested against edges, and a vertex for containment in the triangle that has an area.
 */
RB_HOST_DEVICE_CALL int
rb_triangles_meet2(rb_exact_env *env, const double *p, const double *q)
{
	int turn_p = rb_orient2d_points(env, p, p + 2, p + 4);
	int turn_q = rb_orient2d_points(env, q, q + 2, q + 4);
	int s;

	if (turn_p == RB_UNSURE || turn_q == RB_UNSURE)
		return RB_UNSURE;
	if (!rb_point_boxes_meet(p, 3, q, 3, 2))
		return 0;
	if (turn_p != 0 && turn_q != 0)
	{
		s = rb_edge_separates2(env, p, turn_p, q);
		if (s == 0)
			s = rb_edge_separates2(env, q, turn_q, p);
		return s == RB_UNSURE ? RB_UNSURE : !s;
	}
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
		{
			s = rb_segments_meet2(env, p + 2 * i, p + 2 * ((i + 1) % 3), q + 2 * j,
								  q + 2 * ((j + 1) % 3));
			if (s != 0)
				return s;
		}
	if (turn_p != 0)
		return rb_triangle_holds2(env, p, turn_p, q);
	if (turn_q != 0)
		return rb_triangle_holds2(env, q, turn_q, p);
	return 0;
}

/* Compares points lexicographically, which orders the points of any line along it. */
RB_HOST_DEVICE bool
rb_point_before(const double *p, const double *q)
{
	for (int a = 0; a < 3; a++)
		if (p[a] != q[a])
			return p[a] < q[a];
	return false;
}

/* Finds the two extreme points of three collinear points, six doubles. */
RB_HOST_DEVICE void
rb_collinear_ends(const double *t, double *ends)
{
	int lo = 0, hi = 0;

	for (int i = 1; i < 3; i++)
	{
		if (rb_point_before(t + 3 * i, t + 3 * lo))
			lo = i;
		if (rb_point_before(t + 3 * hi, t + 3 * i))
			hi = i;
	}
	for (int a = 0; a < 3; a++)
	{
		ends[a] = t[3 * lo + a];
		ends[3 + a] = t[3 * hi + a];
	}
}

/* Decides case 4: the triangles are coplanar, or neither has an area. */
RB_HOST_DEVICE_CALL int
rb_triangles_meet_flat(rb_exact_env *env, const double *r, const double *b)
{
	int axis = rb_projection_axis(env, r, r + 3, r + 6);
	double p[6], q[6];

	if (axis == -1)
		axis = rb_projection_axis(env, b, b + 3, b + 6);
	if (axis == -2)
		return RB_UNSURE;
	if (axis == -1)
	{
		rb_collinear_ends(r, p);
		rb_collinear_ends(b, q);
		return rb_segments_meet3(env, p, q);
	}
	rb_project(r, 3, axis, p);
	rb_project(b, 3, axis, q);
	return rb_triangles_meet2(env, p, q);
}

/*
 * Returns whether closed objects share a point, given -1 for no, 0 for boundary only, 1 for
 * interior.
 */
RB_HOST_DEVICE int
rb_closed(int how)
{
	return how == RB_UNSURE ? RB_UNSURE : how >= 0;
}

/*
 * Decides case 3: whether the line through p and q, whose signs against the plane of t differ,
 * intersects t. Returns -1 for no, 0 if in an edge or a vertex, 1 if in the interior, or RB_UNSURE.
 */
RB_HOST_DEVICE int
rb_line_pierces(rb_exact_env *env, const double *p, const double *q, const double *t)
{
	int seen = 0, how = 1;

	for (int e = 0; e < 3; e++)
	{
		int o = rb_orient3d_at(env, p, q, t + 3 * e, t + 3 * ((e + 1) % 3));

		if (o == RB_UNSURE)
			return RB_UNSURE;
		if (o * seen < 0)
			return -1;
		if (o != 0)
			seen = o;
		else
			how = 0;
	}
	return how;
}

/*
 * Decides case 3 for the degenerate triangle t, whose vertices are collinear with mixed signs s,
 * and the triangle u.
 */
RB_HOST_DEVICE int
rb_needle_pierces(rb_exact_env *env, const double *t, const int s[3], const double *u)
{
	int i = s[0] != s[1] ? 1 : 2;

	return rb_line_pierces(env, t, t + 3 * i, u);
}

/*
 * Returns the vertex that is alone on one closed side of a plane, for mixed signs: 0, 1 or 2, plus
 * 4 if that side is the negative one.
 */
RB_HOST_DEVICE int
rb_lone_corner(const int s[3])
{
	int pos = (s[0] > 0) + (s[1] > 0) + (s[2] > 0);
	int neg = (s[0] < 0) + (s[1] < 0) + (s[2] < 0);
	int want, side;

	if (pos == 1)
	{
		want = 1;
		side = 0;
	}
	else if (neg == 1)
	{
		want = -1;
		side = 4;
	}
	else
	{
		want = 0; /* (0,+,+) or (0,-,-) */
		side = pos == 2 ? 4 : 0;
	}
	return side | (s[0] == want ? 0 : s[1] == want ? 1 : 2);
}

/*
 * Decides case 2: whether the two intervals on L overlap, with lone_* from rb_lone_corner. Returns
 * -1 for no, 0 if they only touch at their ends, 1 if they share more or one of them is a vertex.
 */
RB_HOST_DEVICE int
rb_intervals_overlap(rb_exact_env *env, const double *r, int lone_r, const double *b, int lone_b)
{
	int i = lone_r & 3, j = lone_b & 3;
	const double *p1 = r + 3 * i, *q1 = r + 3 * ((i + 1) % 3), *r1 = r + 3 * ((i + 2) % 3);
	const double *p2 = b + 3 * j, *q2 = b + 3 * ((j + 1) % 3), *r2 = b + 3 * ((j + 2) % 3);
	const double *swap;
	int o, o2;

	if (lone_r & 4) /* red's lone vertex is below blue's plane: reverse blue */
	{
		swap = q2;
		q2 = r2;
		r2 = swap;
	}
	if (lone_b & 4)
	{
		swap = q1;
		q1 = r1;
		r1 = swap;
	}
	o = rb_orient3d_at(env, p1, q1, p2, q2);
	if (o == RB_UNSURE || o > 0)
		return o == RB_UNSURE ? RB_UNSURE : -1;
	o2 = rb_orient3d_at(env, p1, r1, r2, p2);
	if (o2 == RB_UNSURE || o2 > 0)
		return o2 == RB_UNSURE ? RB_UNSURE : -1;
	return o < 0 && o2 < 0;
}

/*
 * Returns true if the triangles have a common vertex, which is the most frequent contact in real
 * meshes and settles the test.
 */
RB_HOST_DEVICE bool
rb_share_corner(const double *r, const double *b)
{
	for (int i = 0; i < 9; i += 3)
		for (int j = 0; j < 9; j += 3)
			if (r[i] == b[j] && r[i + 1] == b[j + 1] && r[i + 2] == b[j + 2])
				return true;
	return false;
}

/*
 * Tests whether two closed triangles, whose boxes must overlap, share a point. sb holds the signs
 * of blue's vertices against red's plane, and sr those of red's vertices against blue's plane; a
 * sign that is not known is RB_UNSURE. Returns 0, 1 or RB_UNSURE.
 */
RB_HOST_DEVICE int
rb_triangle_triangle(rb_exact_env *env, const double *r, const double *b, int sb[3], int sr[3])
{
	if (rb_share_corner(r, b))
		return 1;
	for (int i = 0; i < 3; i++)
		if (sb[i] == RB_UNSURE)
			sb[i] = rb_orient3d_at(env, r, r + 3, r + 6, b + 3 * i);
	if (RB_ALL_SAME(sb) && sb[0] != 0 && sb[0] != RB_UNSURE)
		return 0;
	for (int i = 0; i < 3; i++)
		if (sr[i] == RB_UNSURE)
			sr[i] = rb_orient3d_at(env, b, b + 3, b + 6, r + 3 * i);
	if (RB_ALL_SAME(sr) && sr[0] != 0 && sr[0] != RB_UNSURE)
		return 0;
	if (RB_ANY_UNSURE(sb) || RB_ANY_UNSURE(sr))
		return RB_UNSURE;
	if (!RB_ALL_SAME(sb) && !RB_ALL_SAME(sr))
		return rb_closed(rb_intervals_overlap(env, r, rb_lone_corner(sr), b, rb_lone_corner(sb)));
	if (!RB_ALL_SAME(sb))
		return rb_closed(rb_needle_pierces(env, b, sb, r));
	if (!RB_ALL_SAME(sr))
		return rb_closed(rb_needle_pierces(env, r, sr, b));
	return rb_triangles_meet_flat(env, r, b);
}

/*
 * Tests the closed segment ab against the closed triangle t, with the five orientations of Menezes
 * et al., Employing GPUs to Accelerate Exact Geometric Predicates for 3D Geospatial Processing,
 * 2020: both ends against the plane, then the line against the edges. A segment in the plane and a
 * triangle without area, for which all orientations are zero, are handled as case 4 with the
 * triangle a, b, b.
 */
RB_HOST_DEVICE int
rb_segment_triangle(rb_exact_env *env, const double *ab, const double *t)
{
	int sa = rb_orient3d_at(env, t, t + 3, t + 6, ab);
	int sb = rb_orient3d_at(env, t, t + 3, t + 6, ab + 3);

	if (sa == RB_UNSURE || sb == RB_UNSURE)
		return RB_UNSURE;
	if (sa * sb > 0)
		return 0;
	if (sa == 0 && sb == 0)
	{
		double abb[9];

		for (int i = 0; i < 9; i++)
			abb[i] = ab[i < 6 ? i : i - 3];
		return rb_triangles_meet_flat(env, abb, t);
	}
	return rb_closed(rb_line_pierces(env, ab, ab + 3, t));
}

#endif /* RB_PRIMITIVE_TRIANGLE_H */
