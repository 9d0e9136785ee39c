/*
 * spheres.h
 *	  Five random points on one sphere or next to it, in families that are chosen to hurt: corners of
 *	  boxes, integers up to the limit of their arithmetic, map and earth-centred coordinates, points
 *	  rounded onto a sphere or moved off it by a last place, sizes that are far apart.  Include after
 *	  points.h.
 */
#ifndef SPHERES_H
#define SPHERES_H

#include "points.h"

enum
{
	SPHERE_CORNERS, /* of a box of any size, anywhere: exactly on a sphere where the differences are exact */
	SPHERE_MIRRORED,  /* +-x, +-y, +-z: always exactly */
	SPHERE_WIDE,      /* the same, up to the 60 bits of an integer and beyond */
	SPHERE_UTM,       /* corners of buildings in millimetres, written in metres */
	SPHERE_ECEF,      /* corners, far from the origin */
	SPHERE_UNIT,      /* rounded onto the unit sphere */
	SPHERE_NEIGHBOUR, /* mirrored, and then one of them moved by a last place or two */
	SPHERE_FAR,       /* one point is very far away */
	SPHERE_MIXED,     /* each point of a magnitude of its own */
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

/* five points p of three coordinates */
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
