/*
 * angles.h
 *	  Measures the smallest dihedral angle of a tetrahedron, with equal results on all machines.
 *
 * The measure is 1 - cos of the angle, which increases with the angle from 0 to 2 and, unlike the
 * cosine, keeps its digits near 0. It needs only + - * / and square roots of doubles. With 6 V from
 * measure.h, an edge of length l between faces of areas A and B has sin = 3 V l / (2 A B), and
 * 1 - cos = sin^2 / (1 + cos).
 *
 * Only the host measures angles: slivers are removed there (slivers.c).
 */
#ifndef RB_REFINE_ANGLES_H
#define RB_REFINE_ANGLES_H

#include "refine/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Exponent of the largest coordinate, up or down to which products of coordinates neither overflow
 * nor underflow in doubles: the largest are of the eighth degree, and differences may be smaller
 * than the coordinates by 53 bits.
 */
#define RB_EXPONENT_KEPT 60

/* Returns the exponent of the largest of n coordinates, or 0 if doubles suffice for products. */
static inline int
rb_exponent_to_remove(const double *coords, size_t n)
{
	double largest = 0;
	int exponent;

	for (size_t i = 0; i < n; i++)
		largest = fabs(coords[i]) > largest ? fabs(coords[i]) : largest;
	(void) frexp(largest, &exponent);
	return abs(exponent) <= RB_EXPONENT_KEPT ? 0 : exponent;
}

/*
 * Copies the corners of a tetrahedron, divided by a power of two if they are extreme, so that it
 * can be measured. Returns the exponent of that power.
 */
static inline int
rb_tet_scale(const double *a, const double *b, const double *c, const double *d, double to[4][3])
{
	int exponent;

	memcpy(to[0], a, sizeof to[0]);
	memcpy(to[1], b, sizeof to[1]);
	memcpy(to[2], c, sizeof to[2]);
	memcpy(to[3], d, sizeof to[3]);
	exponent = rb_exponent_to_remove(to[0], 12);
	for (int i = 0; i < 12 && exponent != 0; i++)
		to[i / 3][i % 3] = ldexp(to[i / 3][i % 3], -exponent);
	return exponent;
}

/* Returns 1 - cos of an angle in degrees between 0 and 90, alike on all machines. */
static inline double
rb_angle_measure(double degrees)
{
	const double x = degrees * (0.5 * 3.14159265358979323846 / 180), x2 = x * x;
	double term = x, sine = 0;

	/* 2 sin^2 of half the angle, from its Taylor series */
	for (int i = 1; i < 24; i += 2)
	{
		sine += term;
		term *= -x2 / ((i + 1) * (i + 2));
	}
	return 2 * sine * sine;
}

/*
 * Returns 1 - cos of the smallest dihedral angle of a tetrahedron, or 0 if that cannot be computed.
 * Sets *edge, unless it is NULL, to the edge with that angle, numbered as in tets.h.
 */
static inline double
rb_tet_angle(const double *a, const double *b, const double *c, const double *d, uint32_t *edge)
{
	/* The two faces at an edge are opposite to the corners that are not on it. */
	static const uint8_t across[6][2] = {{2, 3}, {1, 3}, {1, 2}, {0, 3}, {0, 2}, {0, 1}};
	const double *const p[4] = {a, b, c, d};
	const double volume6 = rb_spans_of(a, b, c, d).volume6;
	double n[4][3], inverse[4], least = 2;
	uint32_t e = 0;

	for (int i = 0; i < 4; i++)
	{
		const double *o = p[(i + 1) & 3], *q = p[(i + 2) & 3], *r = p[(i + 3) & 3];
		const double u[3] = {q[0] - o[0], q[1] - o[1], q[2] - o[2]};
		const double v[3] = {r[0] - o[0], r[1] - o[1], r[2] - o[2]};
		const double sign = (i & 1) != 0 ? -1 : 1;

		n[i][0] = sign * (u[1] * v[2] - u[2] * v[1]);
		n[i][1] = sign * (u[2] * v[0] - u[0] * v[2]);
		n[i][2] = sign * (u[0] * v[1] - u[1] * v[0]);
		inverse[i] = 1 / sqrt(n[i][0] * n[i][0] + n[i][1] * n[i][1] + n[i][2] * n[i][2]);
	}
	for (int i = 0; i < 4; i++)
		for (int j = i + 1; j < 4; j++, e++)
		{
			const int f = across[e][0], g = across[e][1];
			const double scale = inverse[f] * inverse[g];
			const double cosine =
				-scale * (n[f][0] * n[g][0] + n[f][1] * n[g][1] + n[f][2] * n[g][2]);
			const double sine = scale * volume6;
			double one = 1 - cosine;

			if (cosine > 0)
				one = sine * sine * rb_distance2(p[i], p[j]) / (1 + cosine);
			one = one >= 0 ? one : 0; /* 0 for a NaN, too */
			if (one < least)
			{
				least = one;
				if (edge != NULL)
					*edge = e;
			}
		}
	return least;
}

#endif /* RB_REFINE_ANGLES_H */
