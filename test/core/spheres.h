/*
 * spheres.h
 *	  Provides five random points on or near one sphere, in families of hard cases: corners of
 *	  boxes, integers up to the limit of their arithmetic, map and earth-centered coordinates,
 *	  points rounded onto a sphere or moved off it by the last bit, and very different magnitudes.
 *
 * Include it after points.h.
 */
#ifndef SPHERES_H
#define SPHERES_H

#include "points.h"

enum
{
	/* Corners of a box of any size, anywhere: exactly on a sphere if the differences are exact */
	SPHERE_CORNERS,
	SPHERE_MIRRORED,  /* +-x, +-y, +-z: always exactly on a sphere */
	SPHERE_WIDE,      /* Mirrored, with 60-bit integers and larger ones */
	SPHERE_UTM,       /* Corners of buildings in millimeters, written in meters */
	SPHERE_ECEF,      /* Corners far from the origin */
	SPHERE_UNIT,      /* Rounded onto the unit sphere */
	SPHERE_NEIGHBOUR, /* Mirrored, with one point moved by one or two ulps */
	SPHERE_FAR,       /* One point is very far away */
	SPHERE_MIXED,     /* Each point has a magnitude of its own */
	SPHERE_FAMILIES
};

__attribute__((unused)) static const char *const sphere_family_name[] = {
	"corners",     "mirrored",   "wide", "buildings", "corners on earth",
	"unit sphere", "neighbours", "far",  "mixed"};

static void
sphere_mirrored(double *p, const double *half)
{
	for (int i = 0; i < 15; i++)
		p[i] = check_below(2) ? half[i % 3] : -half[i % 3];
}

/* Stores five points with three coordinates each in p. */
__attribute__((unused)) static void
sphere_make(int family, double *p)
{
	static const double utm[3] = {391777.123, 5820111.456, 34.5};
	static const double ecef[3] = {3782970.1, 902154.92, 5038375.59};
	double half[3];
	int shift = check_below(1900) - 950;

	for (int i = 0; i < 3; i++)
		half[i] = points_unit();
	switch (family)
	{
		case SPHERE_CORNERS:
			for (int i = 0; i < 3; i++)
			{
				double from = ldexp(points_unit(), check_below(12));

				for (int k = 0; k < 5; k++)
					p[3 * k + i] = check_below(2) ? from : from + half[i];
			}
			break;
		case SPHERE_WIDE:
			for (int i = 0; i < 3; i++)
				half[i] = ldexp(floor(ldexp(half[i], check_below(54))), check_below(12));
			sphere_mirrored(p, half);
			break;
		case SPHERE_UTM:
		case SPHERE_ECEF:
			for (int i = 0; i < 15; i++)
				p[i] = round(((family == SPHERE_UTM ? utm : ecef)[i % 3] +
							  (check_below(2) ? half[i % 3] * 50 : 0)) *
							 1000) /
					   1000;
			break;
		case SPHERE_UNIT:
			for (int k = 0; k < 5; k++)
			{
				double s = points_unit(), t = points_unit(), r = 1 + s * s + t * t;

				p[3 * k] = 2 * s / r;
				p[3 * k + 1] = 2 * t / r;
				p[3 * k + 2] = (1 - s * s - t * t) / r;
			}
			break;
		case SPHERE_NEIGHBOUR:
			sphere_mirrored(p, half);
			for (int i = check_below(5) * 3, end = i + 3; i < end; i++)
				p[i] = points_nudge(p[i]);
			break;
		case SPHERE_FAR:
			for (int i = 0; i < 15; i++)
				p[i] = points_unit();
			for (int i = check_below(5) * 3, end = i + 3, far = check_below(60); i < end; i++)
				p[i] = ldexp(p[i], far);
			break;
		case SPHERE_MIXED:
			for (int k = 0; k < 5; k++)
				for (int i = 0, size = check_below(400) - 200; i < 3; i++)
					p[3 * k + i] = ldexp(points_unit(), size);
			break;
		default:
			sphere_mirrored(p, half);
	}
	if (check_below(8) == 0)
		memcpy(p + 3 * check_below(5), p + 3 * check_below(5), 3 * sizeof *p);
	if (check_below(4) == 0)
		for (int i = 0; i < 15; i++)
		{
			double x = ldexp(p[i], shift);

			p[i] = isfinite(x) ? x : p[i];
		}
}

#endif /* SPHERES_H */
