/*
 * rb_measure.h
 *	  Lengths, spheres and the points at which something is split: in doubles.
 *
 * None of this decides what is a valid mesh, only which points are added to it; so rounding is allowed,
 * but all machines have to round the same.  There is nothing here but + - * / and square roots of
 * doubles, without contraction.
 *
 * Where a tetrahedron is so flat that its volume is less than what rounding does to it, its sphere would be any: four
 * corners of a polygon on a circle, which rounding keeps from lying in one plane, have a sphere like all others
 * there.  So it is measured with twice as many digits, that what is called bad is so.
 */
#ifndef RB_MEASURE_H
#define RB_MEASURE_H

#include "core/exact/rb_twofold.h"

RB_HD double
rb_distance2(const double *a, const double *b)
{
	double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];

	return x * x + y * y + z * z;
}

/*
 * Of the smallest sphere around a piece or a wall, that much of its radius' square is the one that nothing should be
 * in.  Less than 1, for what is hardly inside does no harm, but each split calls for others, at the corners of the
 * segment and across the angles of the facet; and the foot of a perpendicular, which is where pieces are split, lies on
 * the spheres around the edges from both of its ends, and rounding would decide.
 *
 * What is not kept out may be that near to the middle, where a point comes when a bad tetrahedron's centre is beyond: an
 * edge of sqrt(this) of the radius, because of one that is the radius : the ratio at most.  So with less than 1 / ratio^2
 * edges might become shorter and shorter, and points without end; with a half not for ratios of 1.41 and more.
 */
#define RB_SPHERE_KEPT 0.5

/* below 0: p lies in that sphere around ab */
RB_HD double
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
 * With the edges u, v, w from d: six times the volume is u . (v x w), with a sign, and the centre of the sphere lies by
 * (|u|^2 v x w + |v|^2 w x u + |w|^2 u x v) / 2 u . (v x w) from d.
 */
typedef struct rb_spans
{
	double volume6;
	double m[3];
} rb_spans;

/* with 106 bits: the square of what |u| |v| |w| is rounded by */
RB_HD_CALL rb_spans
rb_spans_fine(const double *a, const double *b, const double *c, const double *d)
{
	const double *p[3];
	rb_twofold e[3][3], n[3][3], squares[3];
	rb_spans s;
	int i, k;

	p[0] = a;
	p[1] = b;
	p[2] = c;
	for (k = 0; k < 3; k++)
	{
		for (i = 0; i < 3; i++)
			e[k][i] = rb_twofold_difference(p[k][i], d[i]);
		squares[k] = rb_twofold_dot(e[k], e[k]);
	}
	for (k = 0; k < 3; k++)
		rb_twofold_cross(e[(k + 1) % 3], e[(k + 2) % 3], n[k]);
	s.volume6 = rb_twofold_dot(e[0], n[0]).high;
	for (i = 0; i < 3; i++)
	{
		rb_twofold sum = rb_twofold_mul(squares[0], n[0][i]);

		sum = rb_twofold_add(sum, rb_twofold_mul(squares[1], n[1][i]));
		s.m[i] = rb_twofold_add(sum, rb_twofold_mul(squares[2], n[2][i])).high;
	}
	return s;
}

/* of |u|^2 |v|^2 |w|^2: whose square is less, of that 33 bits are left at least */
#define RB_SPANS_FLAT 0x1p-40

RB_HD rb_spans
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

/* through four points; its radius is infinite or NaN where they lie in one plane */
RB_HD rb_ball
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

/* six times the volume */
RB_HD double
rb_volume6(const double *a, const double *b, const double *c, const double *d)
{
	double ux = a[0] - d[0], uy = a[1] - d[1], uz = a[2] - d[2];
	double vx = b[0] - d[0], vy = b[1] - d[1], vz = b[2] - d[2];
	double wx = c[0] - d[0], wy = c[1] - d[1], wz = c[2] - d[2];

	return fabs(ux * (vy * wz - vz * wy) + uy * (vz * wx - vx * wz) + uz * (vx * wy - vy * wx));
}

/* the smallest one through three points: its centre is that of their circle */
RB_HD rb_ball
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

/* how far along ab, of 0 to 1, is what lies next to p */
RB_HD double
rb_projection(const double *a, const double *b, const double *p)
{
	double x = b[0] - a[0], y = b[1] - a[1], z = b[2] - a[2];

	return ((p[0] - a[0]) * x + (p[1] - a[1]) * y + (p[2] - a[2]) * z) / (x * x + y * y + z * z);
}

RB_HD void
rb_point_along(const double *a, const double *b, double t, double *at)
{
	int i;

	for (i = 0; i < 3; i++)
		at[i] = t == 0.5 ? 0.5 * a[i] + 0.5 * b[i] : a[i] + t * (b[i] - a[i]);
}

#endif /* RB_MEASURE_H */
