/*
 * segment.h
 *	  Tests closed segments for intersection, in the plane and in space, and projects a plane in
 *	  space onto two axes. Uses only signs, as triangle.h does.
 *
 * In the plane two segments meet if neither has both ends strictly on one side of the other's line.
 * If all four signs are zero, the segments are collinear, and their boxes decide. A segment of zero
 * length is a point and needs no case of its own: the signs against its own line are zero, and the
 * other two are equal.
 */
#ifndef RB_PRIMITIVE_SEGMENT_H
#define RB_PRIMITIVE_SEGMENT_H

#include "core/exact/orient.h"

/* Returns true if the closed boxes of n and m points meet on the first `dims` axes. */
RB_HOST_DEVICE bool
rb_point_boxes_meet(const double *p, int n, const double *q, int m, int dims)
{
	for (int a = 0; a < dims; a++)
	{
		double plo = p[a], phi = p[a], qlo = q[a], qhi = q[a];

		for (int i = 1; i < n; i++)
		{
			plo = p[i * dims + a] < plo ? p[i * dims + a] : plo;
			phi = p[i * dims + a] > phi ? p[i * dims + a] : phi;
		}
		for (int i = 1; i < m; i++)
		{
			qlo = q[i * dims + a] < qlo ? q[i * dims + a] : qlo;
			qhi = q[i * dims + a] > qhi ? q[i * dims + a] : qhi;
		}
		if (plo > qhi || qlo > phi)
			return false;
	}
	return true;
}

/* Returns the exact sign of orient2d, for points. */
RB_HOST_DEVICE int
rb_orient2d_points(rb_exact_env *env, const double *a, const double *b, const double *c)
{
	return rb_orient2d_at(env, a[0], a[1], b[0], b[1], c[0], c[1]);
}

/*
 * Computes the signs of s and t against the line of pq, and of p and q against that of st. Returns 0
 * if both ends of one segment are strictly on one side, so that the segments are apart, or RB_UNSURE;
 * otherwise 1, and all four signs are set.
 */
RB_HOST_DEVICE int
rb_segments_signs(rb_exact_env *env, const double *p, const double *q, const double *s,
				  const double *t, int sign[4])
{
	sign[0] = rb_orient2d_points(env, p, q, s);
	sign[1] = rb_orient2d_points(env, p, q, t);
	if (sign[0] == RB_UNSURE || sign[1] == RB_UNSURE)
		return RB_UNSURE;
	if (sign[0] * sign[1] > 0)
		return 0;
	sign[2] = rb_orient2d_points(env, s, t, p);
	sign[3] = rb_orient2d_points(env, s, t, q);
	if (sign[2] == RB_UNSURE || sign[3] == RB_UNSURE)
		return RB_UNSURE;
	return sign[2] * sign[3] <= 0;
}

/* Tests the closed segments pq and st in the plane; each may be a point. */
RB_HOST_DEVICE int
rb_segments_meet2(rb_exact_env *env, const double *p, const double *q, const double *s,
				  const double *t)
{
	bool sp = (s[0] == p[0]) & (s[1] == p[1]), sq = (s[0] == q[0]) & (s[1] == q[1]);
	bool tp = (t[0] == p[0]) & (t[1] == p[1]), tq = (t[0] == q[0]) & (t[1] == q[1]);
	int sign[4], decided;

	/* The segments of a polyline follow each other, so most pairs that meet share an end. */
	if (sp | sq | tp | tq)
		return 1;
	decided = rb_segments_signs(env, p, q, s, t, sign);
	if (decided != 1)
		return decided;
	if (sign[0] == 0 && sign[1] == 0 && sign[2] == 0 && sign[3] == 0)
	{
		double pq[4] = {p[0], p[1], q[0], q[1]};
		double st[4] = {s[0], s[1], t[0], t[1]};

		return rb_point_boxes_meet(pq, 2, st, 2, 2);
	}
	return 1;
}

/* Projects n points in space by dropping the coordinate `axis`. */
RB_HOST_DEVICE void
rb_project(const double *p, int n, int axis, double *out)
{
	int u = (axis + 1) % 3, v = (axis + 2) % 3;

	for (int i = 0; i < n; i++)
	{
		out[2 * i] = p[3 * i + u];
		out[2 * i + 1] = p[3 * i + v];
	}
}

/*
 * Returns an axis along which the plane of a, b, c projects one-to-one, -1 if the points are
 * collinear, or -2 if unsure. Tries the axis of the largest component of the rounded normal first;
 * any axis with a nonzero sign is correct.
 */
RB_HOST_DEVICE int
rb_projection_axis(rb_exact_env *env, const double *a, const double *b, const double *c)
{
	double u[3], v[3], n[3];
	int best = 0;

	for (int k = 0; k < 3; k++)
	{
		u[k] = b[k] - a[k];
		v[k] = c[k] - a[k];
	}
	for (int k = 0; k < 3; k++)
	{
		int x = (k + 1) % 3, y = (k + 2) % 3;

		n[k] = fabs(u[x] * v[y] - u[y] * v[x]);
		if (n[k] > n[best])
			best = k;
	}
	for (int i = 0; i < 3; i++)
	{
		int k = (best + i) % 3;
		int x = (k + 1) % 3, y = (k + 2) % 3;
		int s = rb_orient2d_at(env, a[x], a[y], b[x], b[y], c[x], c[y]);

		if (s == RB_UNSURE)
			return -2;
		if (s != 0)
			return k;
	}
	return -1;
}

/*
 * Returns an axis along which the plane of two coplanar segments projects one-to-one, -1 if all
 * ends are collinear, or -2 if unsure.
 */
RB_HOST_DEVICE int
rb_segments_axis(rb_exact_env *env, const double *pq, const double *st)
{
	const double *point[4] = {pq, pq + 3, st, st + 3};
	int axis = -1;

	for (int skip = 0; skip < 4 && axis == -1; skip++)
		axis = rb_projection_axis(env, point[skip == 0], point[skip <= 1 ? 2 : 1],
								  point[skip <= 2 ? 3 : 2]);
	return axis;
}

/* Tests two closed segments in space; each may be a point. */
RB_HOST_DEVICE_CALL int
rb_segments_meet3(rb_exact_env *env, const double *pq, const double *st)
{
	double p[4], s[4];
	int o, axis;

	if (!rb_point_boxes_meet(pq, 2, st, 2, 3))
		return 0;
	o = rb_orient3d_at(env, pq, pq + 3, st, st + 3);
	if (o != 0)
		return o == RB_UNSURE ? RB_UNSURE : 0;
	axis = rb_segments_axis(env, pq, st);
	if (axis < 0)
		return axis == -2 ? RB_UNSURE : 1; /* If all are collinear, the boxes meet. */
	rb_project(pq, 2, axis, p);
	rb_project(st, 2, axis, s);
	return rb_segments_meet2(env, p, p + 2, s, s + 2);
}

#endif /* RB_PRIMITIVE_SEGMENT_H */
