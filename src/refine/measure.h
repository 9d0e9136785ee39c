/*
 * measure.h
 *	  Computes lengths, spheres and split points in doubles.
 *
 * Nothing here decides whether a mesh is valid, only which points are added to it. So rounding is
 * allowed, but all machines must round alike: the code uses only + - * / and square roots of
 * doubles, without contraction.
 *
 * If a tetrahedron is so flat that its volume is below the rounding error, plain doubles would give
 * it an arbitrary circumsphere, even if the exact one is ordinary. An example is four corners of a
 * polygon inscribed in a circle, which rounding keeps from being coplanar. So such a tetrahedron is
 * measured with twice as many digits, and only tetrahedra that really are bad count as bad.
 */
#ifndef RB_REFINE_MEASURE_H
#define RB_REFINE_MEASURE_H

#include "core/exact/double_double.h"

/* Returns the squared distance of two points. */
RB_HOST_DEVICE double
rb_distance2(const double *a, const double *b)
{
	double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];

	return x * x + y * y + z * z;
}

/*
 * Squared radius of the protecting sphere of a subsegment or constrained face, relative to that of
 * its smallest enclosing sphere. No vertex should lie in the protecting sphere.
 *
 * The factor is less than 1, because a vertex just inside the enclosing sphere does no harm, while
 * each split triggers others at the ends of the segment and across the angles of the facet.
 * Moreover, a subsegment is split at the foot of the perpendicular from a vertex. This point lies
 * exactly on the enclosing spheres of the edges from the vertex to both ends, so that rounding
 * would decide.
 *
 * A vertex that is not kept out may be as near to the center as sqrt(RB_SPHERE_KEPT) times the
 * radius. The center is where a point is inserted if the circumcenter of a bad tetrahedron lies
 * beyond the subsegment or face. The new edge is then as short as sqrt(RB_SPHERE_KEPT) times the
 * radius, and it was triggered by an edge of length at most radius / ratio. So if the factor were
 * below 1 / ratio^2, edges could become shorter and shorter without end. With 0.5 this cannot
 * happen for ratios of at least 1.42.
 */
#define RB_SPHERE_KEPT 0.5

/* Returns a negative number if p lies in the protecting sphere of ab. */
RB_HOST_DEVICE double
rb_diameter_dot(const double *a, const double *b, const double *p)
{
	return (a[0] - p[0]) * (b[0] - p[0]) + (a[1] - p[1]) * (b[1] - p[1]) +
		   (a[2] - p[2]) * (b[2] - p[2]) + 0.25 * (1 - RB_SPHERE_KEPT) * rb_distance2(a, b);
}

typedef struct rb_ball
{
	double at[3];
	double radius2;
} rb_ball;

/*
 * Volume and circumcenter of a tetrahedron. With the edges u, v, w from d, six times the signed
 * volume is u . (v x w), and the circumcenter is d + m / (2 u . (v x w)) with m = |u|^2 v x w +
 * |v|^2 w x u + |w|^2 u x v.
 */
typedef struct rb_spans
{
	double volume6;
	double m[3];
} rb_spans;

/*
 * Computes volume and circumcenter of a tetrahedron in double-double arithmetic of 106 bits.
 * Relative to |u| |v| |w|, the error is about the square of the error in doubles.
 */
RB_HOST_DEVICE_CALL rb_spans
rb_spans_fine(const double *a, const double *b, const double *c, const double *d)
{
	const double *p[3];
	rb_double_double e[3][3], n[3][3], squares[3];
	rb_spans s;
	int i, k;

	p[0] = a;
	p[1] = b;
	p[2] = c;
	for (k = 0; k < 3; k++)
	{
		for (i = 0; i < 3; i++)
			e[k][i] = rb_double_double_difference(p[k][i], d[i]);
		squares[k] = rb_double_double_dot(e[k], e[k]);
	}
	for (k = 0; k < 3; k++)
		rb_double_double_cross(e[(k + 1) % 3], e[(k + 2) % 3], n[k]);
	s.volume6 = rb_double_double_dot(e[0], n[0]).high;
	for (i = 0; i < 3; i++)
	{
		rb_double_double sum = rb_double_double_mul(squares[0], n[0][i]);

		sum = rb_double_double_add(sum, rb_double_double_mul(squares[1], n[1][i]));
		s.m[i] = rb_double_double_add(sum, rb_double_double_mul(squares[2], n[2][i])).high;
	}
	return s;
}

/*
 * Bound on volume6^2 : |u|^2 |v|^2 |w|^2, below which double-double arithmetic is used. Above it,
 * doubles leave at least 33 correct bits.
 */
#define RB_SPANS_FLAT 0x1p-40

/* Returns volume and circumcenter of the tetrahedron a, b, c, d, in double-double if it is flat. */
RB_HOST_DEVICE rb_spans
rb_spans_of(const double *a, const double *b, const double *c, const double *d)
{
	double ux = a[0] - d[0], uy = a[1] - d[1], uz = a[2] - d[2];
	double vx = b[0] - d[0], vy = b[1] - d[1], vz = b[2] - d[2];
	double wx = c[0] - d[0], wy = c[1] - d[1], wz = c[2] - d[2];
	double uu = ux * ux + uy * uy + uz * uz;
	double vv = vx * vx + vy * vy + vz * vz;
	double ww = wx * wx + wy * wy + wz * wz;
	double vwx = vy * wz - vz * wy, vwy = vz * wx - vx * wz, vwz = vx * wy - vy * wx;
	double wux = wy * uz - wz * uy, wuy = wz * ux - wx * uz, wuz = wx * uy - wy * ux;
	double uvx = uy * vz - uz * vy, uvy = uz * vx - ux * vz, uvz = ux * vy - uy * vx;
	rb_spans s;

	s.volume6 = ux * vwx + uy * vwy + uz * vwz;
	s.m[0] = uu * vwx + vv * wux + ww * uvx;
	s.m[1] = uu * vwy + vv * wuy + ww * uvy;
	s.m[2] = uu * vwz + vv * wuz + ww * uvz;
	if (s.volume6 * s.volume6 < RB_SPANS_FLAT * (uu * vv * ww))
	{
		rb_spans fine = rb_spans_fine(a, b, c, d);

		s = fine;
	}
	return s;
}

/* Returns the sphere through four points. Its radius is infinite or NaN if they are coplanar. */
RB_HOST_DEVICE rb_ball
rb_ball_of_tet(const double *a, const double *b, const double *c, const double *d)
{
	rb_spans s = rb_spans_of(a, b, c, d);
	double half = 0.5 / s.volume6;
	double x = s.m[0] * half, y = s.m[1] * half, z = s.m[2] * half;
	rb_ball ball;

	ball.at[0] = d[0] + x;
	ball.at[1] = d[1] + y;
	ball.at[2] = d[2] + z;
	ball.radius2 = x * x + y * y + z * z;
	return ball;
}

/* Returns six times the volume of a tetrahedron. */
RB_HOST_DEVICE double
rb_volume6(const double *a, const double *b, const double *c, const double *d)
{
	double ux = a[0] - d[0], uy = a[1] - d[1], uz = a[2] - d[2];
	double vx = b[0] - d[0], vy = b[1] - d[1], vz = b[2] - d[2];
	double wx = c[0] - d[0], wy = c[1] - d[1], wz = c[2] - d[2];

	return fabs(ux * (vy * wz - vz * wy) + uy * (vz * wx - vx * wz) + uz * (vx * wy - vy * wx));
}

/* Returns the smallest sphere through three points, whose center is that of their circumcircle. */
RB_HOST_DEVICE rb_ball
rb_ball_of_triangle(const double *a, const double *b, const double *c)
{
	double ux = a[0] - c[0], uy = a[1] - c[1], uz = a[2] - c[2];
	double vx = b[0] - c[0], vy = b[1] - c[1], vz = b[2] - c[2];
	double uu = ux * ux + uy * uy + uz * uz;
	double vv = vx * vx + vy * vy + vz * vz;
	double nx = uy * vz - uz * vy, ny = uz * vx - ux * vz, nz = ux * vy - uy * vx;
	double half = 0.5 / (nx * nx + ny * ny + nz * nz);
	/* (|u|^2 v - |v|^2 u) x n / 2 |n|^2 */
	double qx = uu * vx - vv * ux, qy = uu * vy - vv * uy, qz = uu * vz - vv * uz;
	double x = (qy * nz - qz * ny) * half;
	double y = (qz * nx - qx * nz) * half;
	double z = (qx * ny - qy * nx) * half;
	rb_ball ball;

	ball.at[0] = c[0] + x;
	ball.at[1] = c[1] + y;
	ball.at[2] = c[2] + z;
	ball.radius2 = x * x + y * y + z * z;
	return ball;
}

/* Returns the position of the projection of p on ab, as a fraction from a (0) to b (1). */
RB_HOST_DEVICE double
rb_projection(const double *a, const double *b, const double *p)
{
	double x = b[0] - a[0], y = b[1] - a[1], z = b[2] - a[2];

	return ((p[0] - a[0]) * x + (p[1] - a[1]) * y + (p[2] - a[2]) * z) / (x * x + y * y + z * z);
}

/* Computes the point at fraction t from a to b. */
RB_HOST_DEVICE void
rb_point_along(const double *a, const double *b, double t, double *at)
{
	int i;

	for (i = 0; i < 3; i++)
		at[i] = t == 0.5 ? 0.5 * a[i] + 0.5 * b[i] : a[i] + t * (b[i] - a[i]);
}

/*
 * Moves a point to its projection on the plane through `origin` with this normal, rounded to the
 * nearest doubles.
 *
 * A point that splits a face of a facet is computed from the corners of the face, which are rounded
 * themselves. Without a projection, their errors would add up from round to round, and a
 * circumcenter outside of its triangle would multiply them. With it, the distance of a point from
 * the plane does not depend on the points around it. Let L be the largest coordinate of the result
 * and d the distance of the given point from the origin. Double-double arithmetic computes the
 * projection with an error below 2^-96 d: the difference is exact, and the scalar products, the
 * quotient and the last product and sum have errors below 2^-100 of the product of the lengths. The
 * final rounding moves each coordinate by at most 2^-53 L. So the result is at most
 *
 *		sqrt(3) 2^-53 L + 2^-96 d < 2 * 2^-53 L
 *
 * from the plane if d < 2^40 L, which holds for all points of a facet. A point that lies exactly on
 * the plane does not move.
 */
RB_HOST_DEVICE_CALL void
rb_project_on_plane(const double *origin, const double *normal, double *at)
{
	rb_double_double from[3], n[3], away;
	int i;

	for (i = 0; i < 3; i++)
	{
		from[i] = rb_double_double_difference(at[i], origin[i]);
		n[i] = rb_double_double_of(normal[i]);
	}
	away = rb_double_double_div(rb_double_double_dot(from, n), rb_double_double_dot(n, n));
	for (i = 0; i < 3; i++)
		at[i] =
			rb_double_double_sub(rb_double_double_of(at[i]), rb_double_double_mul(away, n[i])).high;
}

/*
 * Moves a point to its projection on the line through a and b, rounded to the nearest doubles. Its
 * distance from the line is at most 2 * 2^-53 of its largest coordinate, for the reason stated at
 * rb_project_on_plane: the midpoint of two midpoints would add up their errors.
 */
RB_HOST_DEVICE_CALL void
rb_project_on_line(const double *a, const double *b, double *at)
{
	rb_double_double from[3], along[3], t;
	int i;

	for (i = 0; i < 3; i++)
	{
		from[i] = rb_double_double_difference(at[i], a[i]);
		along[i] = rb_double_double_difference(b[i], a[i]);
	}
	t = rb_double_double_div(rb_double_double_dot(from, along), rb_double_double_dot(along, along));
	for (i = 0; i < 3; i++)
		at[i] =
			rb_double_double_add(rb_double_double_of(a[i]), rb_double_double_mul(t, along[i])).high;
}

#endif /* RB_REFINE_MEASURE_H */
