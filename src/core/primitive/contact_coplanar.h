/*
 * contact_coplanar.h
 *	  Decides how two collinear or coplanar objects meet, and two segments in space; see
 *	  contact.h.
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
#ifndef RB_PRIMITIVE_CONTACT_COPLANAR_H
#define RB_PRIMITIVE_CONTACT_COPLANAR_H

#include "core/primitive/triangle.h"

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
	int os, ot, op, oq;

	if (sp | sq | tp | tq) /* only the common end, unless the segments are collinear */
	{
		ot = rb_orient2d_points(env, p, q, sp | sq ? t : s);
		if (ot != 0)
			return ot == RB_UNSURE ? RB_UNSURE : RB_CONTACT_OF(0, 0);
	}
	else
	{
		os = rb_orient2d_points(env, p, q, s);
		ot = rb_orient2d_points(env, p, q, t);
		if (os == RB_UNSURE || ot == RB_UNSURE)
			return RB_UNSURE;
		if (os * ot > 0)
			return 0;
		op = rb_orient2d_points(env, s, t, p);
		oq = rb_orient2d_points(env, s, t, q);
		if (op == RB_UNSURE || oq == RB_UNSURE)
			return RB_UNSURE;
		if (op * oq > 0)
			return 0;
		if (os != 0 || ot != 0 || op != 0 || oq != 0)
			return RB_CONTACT_OF(0, os * ot < 0 && op * oq < 0);
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
	const double *point[4] = {pq, pq + 3, st, st + 3};
	int o = rb_orient3d_at(env, pq, pq + 3, st, st + 3);

	if (o != 0)
		return o == RB_UNSURE ? RB_UNSURE : 0;
	for (int skip = 0; skip < 4; skip++)
	{
		int axis = rb_projection_axis(env, point[skip == 0], point[skip <= 1 ? 2 : 1],
									  point[skip <= 2 ? 3 : 2]);
		double p[4], s[4];

		if (axis == -2)
			return RB_UNSURE;
		if (axis < 0)
			continue;
		rb_project(pq, 2, axis, p);
		rb_project(st, 2, axis, s);
		return rb_segments_contact2(env, p, p + 2, s, s + 2);
	}
	return rb_collinear_contact(pq, pq + 3, st, st + 3);
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

#endif /* RB_PRIMITIVE_CONTACT_COPLANAR_H */
