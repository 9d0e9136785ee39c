/*
 * ray.h
 *	  Tests whether a point is below a triangle or on it, for the ray crossing parity that
 *	  distinguishes inside from outside.
 *
 * A ray from the point straight up crosses the boundary of a solid an odd number of times if the
 * point is inside. In city models and grids, rays run through edges and vertices, along walls, and
 * start on faces. The ray therefore starts not at the point p but at
 *
 *		p' = p + v,		v = (e, e^2, e^3),		e infinitesimal, positive,
 *
 * which lies on no triangle and whose ray meets no edge (H. Edelsbrunner, E. Muecke: Simulation of
 * Simplicity, 1990; here only one point is perturbed, the triangles are not). If p is on no
 * triangle, p' is on the same side of the solid's boundary as p.
 *
 * Seen from above, the orientation of p' relative to an edge ab is the sign of
 *
 *		orient2d(a, b, p) - (b.y - a.y) e + (b.x - a.x) e^2,
 *
 * that is, of the first of the three terms that is not zero. The two triangles of an edge get
 * opposite signs, whichever direction they traverse it. The three orientations of p add up to twice
 * the triangle's area: they give its orientation, and if all are zero, the triangle is vertical and
 * no ray crosses it. Relative to the plane with the normal n,
 *
 *		n . (p' - a) = n . (p - a) + n.x e + n.y e^2 + n.z e^3,
 *
 * and the components of n are orient2d of the vertices without one axis.
 */
#ifndef RB_PRIMITIVE_RAY_H
#define RB_PRIMITIVE_RAY_H

#include "core/primitive/triangle.h"

/*
 * Returns the sign of a component of the triangle's normal (b - a) x (c - a), which is the
 * orientation of the vertices without that axis.
 */
RB_HOST_DEVICE int
rb_normal_sign(rb_exact_env *env, const double *t, int axis)
{
	int u = (axis + 1) % 3, v = (axis + 2) % 3;

	return rb_orient2d_at(env, t[u], t[v], t[3 + u], t[3 + v], t[6 + u], t[6 + v]);
}

/*
 * Returns the side of the triangle's plane that v points to: the sign of the first nonzero
 * component of the normal.
 */
RB_HOST_DEVICE int
rb_normal_tie(rb_exact_env *env, const double *t)
{
	int s = 0;

	for (int axis = 0; axis < 3 && s == 0; axis++)
		s = rb_normal_sign(env, t, axis);
	return s;
}

/*
 * Returns the tie-breaking sign for an edge ab seen from above, or 0 if a and b have equal x and y.
 */
RB_HOST_DEVICE int
rb_edge_tie(const double *a, const double *b)
{
	if (a[1] != b[1])
		return a[1] > b[1] ? 1 : -1;
	return (b[0] > a[0]) - (b[0] < a[0]);
}

/*
 * Tests whether p lies on a vertical triangle, given that it does so seen from above. Returns 0, 1
 * or RB_UNSURE.
 */
RB_HOST_DEVICE_CALL int
rb_upright_holds(rb_exact_env *env, const double *t, const double *p)
{
	double q[6], x[2], ends[6], pp[6];
	int turn;

	if (!rb_point_boxes_meet(t, 3, p, 1, 3))
		return 0;
	for (int axis = 0; axis < 2; axis++)
	{
		rb_project(t, 3, axis, q);
		turn = rb_orient2d_points(env, q, q + 2, q + 4);
		if (turn == RB_UNSURE)
			return RB_UNSURE;
		if (turn == 0)
			continue;
		rb_project(p, 1, axis, x);
		return rb_triangle_holds2(env, q, turn, x);
	}
	rb_collinear_ends(t, ends);
	for (int i = 0; i < 6; i++)
		pp[i] = p[i % 3];
	return rb_segments_meet3(env, pp, ends);
}

/*
 * Decides RB_RAY_PARITY: `below` if the ray from p' crosses the triangle, `on` if p lies on the
 * closed triangle, whatever its shape. The box of the triangle must meet the closed ray.
 */
RB_HOST_DEVICE int
rb_ray_crossing(rb_exact_env *env, const double *p, const double *t)
{
	int turn = 0, side, tie;
	bool crosses = true;
	int s[3];

	for (int e = 0; e < 3; e++)
	{
		s[e] = rb_orient2d_points(env, t + 3 * e, t + 3 * ((e + 1) % 3), p);
		if (s[e] == RB_UNSURE)
			return RB_UNSURE;
		if (s[e] * turn < 0)
			return 0;
		turn = s[e] != 0 ? s[e] : turn;
	}
	if (turn == 0)
	{
		side = rb_upright_holds(env, t, p);
		return side == 1 ? RB_RAY_PARITY_OF(0, 1) : side;
	}
	for (int e = 0; e < 3; e++)
		crosses &= (s[e] != 0 ? s[e] : rb_edge_tie(t + 3 * e, t + 3 * ((e + 1) % 3))) == turn;
	side = rb_orient3d_at(env, t, t + 3, t + 6, p);
	if (side == RB_UNSURE)
		return RB_UNSURE;
	if (side != 0)
		return crosses && side == -turn ? RB_RAY_PARITY_OF(1, 0) : 0;
	if (!crosses)
		return RB_RAY_PARITY_OF(0, 1);
	tie = rb_normal_tie(env, t);
	return tie == RB_UNSURE ? RB_UNSURE : RB_RAY_PARITY_OF(tie == -turn, 1);
}

#endif /* RB_PRIMITIVE_RAY_H */
