/*
 * points.h
 *	  Provides random points for tests, in families of hard cases: lattices, nearly and exactly
 *	  degenerate positions, denormals, huge numbers, any bit pattern, equal vertices, map and
 *	  earth-centered coordinates, and the limits of each arithmetic.
 *
 * Include it after check.h.
 */
#ifndef POINTS_H
#define POINTS_H

#include <math.h>
#include <string.h>

#include "check.h"

enum
{
	POINTS_UNIFORM,
	POINTS_LATTICE,        /* Integers -3 .. 3 */
	POINTS_SCALED_LATTICE, /* The lattice times a power of two, different for each axis */
	POINTS_DECIMAL,        /* Multiples of 0.1: nearly a lattice */
	POINTS_UTM,            /* Easting, northing and height in mm, written in meters */
	POINTS_ECEF,           /* Earth-centered, in centimeters, a few meters apart */
	POINTS_DENORMAL,
	POINTS_TINY, /* Magnitudes up to 1e-300 */
	POINTS_HUGE, /* Magnitudes up to 1e300 */
	POINTS_BITS, /* Any finite double */
	POINTS_SPECIAL,
	POINTS_POWERS, /* Powers of two within a window of exponents */
	POINTS_LIMITS, /* Around the exponents at which an arithmetic fails */
	POINTS_FAMILIES
};

static const char *const points_family_name[] = {
	"uniform", "lattice", "scaled lattice", "decimal", "UTM",           "ECEF",  "denormal",
	"1e-300",  "1e300",   "any bits",       "special", "powers of two", "limits"};

static double
points_bits(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

/* Returns a random number in -1 .. 1. */
static double
points_unit(void)
{
	return (double) (int64_t) check_random() * 0x1p-63;
}

static double
points_any(void)
{
	double x;

	do
		x = points_bits(check_random());
	while (!isfinite(x));
	return x;
}

static double
points_special(void)
{
	static const double values[] = {0,
									0x1p-1074,
									0x1.8p-1073,
									0x1p-1022,
									0x0.fffffffffffffp-1022,
									0x1p-1021,
									0x1p-969,
									0x1p-538,
									0x1p-537,
									0x1p-300,
									0.1,
									1,
									0x1.fffffffffffffp-1,
									0x1.0000000000001p0,
									2,
									3,
									0x1p52,
									0x1p53,
									0x1.fffffffffffffp299,
									0x1p300,
									0x1p511,
									0x1p512,
									0x1p1022,
									0x1.fffffffffffffp1023};
	double x = values[check_below(sizeof values / sizeof values[0])];

	return check_below(2) ? x : -x;
}

/* Returns one coordinate. `shift` is the family's parameter for this axis and set of points. */
static double
points_coordinate(int family, int axis, int shift)
{
	static const double utm[3] = {391777.123, 5820111.456, 34.5};
	static const double ecef[3] = {3782970.1, 902154.92, 5038375.59};

	switch (family)
	{
		case POINTS_LATTICE:
			return check_below(7) - 3;
		case POINTS_SCALED_LATTICE:
			return ldexp(check_below(7) - 3, shift % 1000);
		case POINTS_DECIMAL:
			return 0.1 * (check_below(41) - 20);
		case POINTS_UTM:
			return round((utm[axis] + 0.02 * check_below(20)) * 1000) / 1000;
		case POINTS_ECEF:
			return ecef[axis] + 0.01 * (check_below(7) - 3);
		case POINTS_DENORMAL:
			return points_bits((check_random() >> (12 + check_below(52))) |
							   (check_random() & ((uint64_t) 1 << 63)));
		case POINTS_TINY:
			return 1e-300 * points_unit();
		case POINTS_HUGE:
			return 1e300 * points_unit();
		case POINTS_BITS:
			return points_any();
		case POINTS_SPECIAL:
			return points_special();
		case POINTS_POWERS:
			return ldexp(check_below(3) - 1, shift % 900 + check_below(120));
		case POINTS_LIMITS:
		{
			static const int exponents[] = {-1022, -1021, -964, -963, -962, -960, -301,
											-300,  -299,  -53,  -1,   0,    7,    8,
											60,    62,    298,  299,  300,  1022, 1023};
			int base = exponents[(unsigned) shift % 21];

			if (check_below(4) == 0)
				base = exponents[check_below(21)];
			return ldexp(check_below(2) ? points_unit() : check_below(5) - 2,
						 base > 1020 ? 1020 : base);
		}
		default:
			return points_unit();
	}
}

/* Moves x by up to two ulps; finite numbers stay finite. */
static double
points_nudge(double x)
{
	int steps = check_below(5) - 2;
	double y = x;

	for (; steps > 0; steps--)
		y = nextafter(y, INFINITY);
	for (; steps < 0; steps++)
		y = nextafter(y, -INFINITY);
	return isfinite(y) ? y : x;
}

/*
 * Stores n points with `dim` coordinates each in p. After the family's random points have been
 * drawn, one of several degenerations may be applied; usually none is.
 */
__attribute__((unused)) static void
points_make(int family, int n, int dim, double *p)
{
	int shift[3];
	int i;
	int axis;

	for (axis = 0; axis < 3; axis++)
		shift[axis] = check_below(2000) - 1000;
	if (check_below(2))
		shift[1] = shift[2] = shift[0];
	for (i = 0; i < n; i++)
		for (axis = 0; axis < dim; axis++)
			p[i * dim + axis] = points_coordinate(family, axis, shift[axis]);

	switch (check_below(10))
	{
		case 0: /* Two equal points */
			memcpy(p + check_below(n) * dim, p, (size_t) dim * sizeof(double));
			break;
		case 1: /* All points in one axis-parallel plane */
			axis = check_below(dim);
			for (i = 1; i < n; i++)
				p[i * dim + axis] = p[axis];
			break;
		case 2: /* The fourth corner of a parallelogram, rounded and moved by a few ulps */
		case 3:
			for (axis = 0; axis < dim; axis++)
			{
				double x = p[axis] - p[dim + axis] + p[2 * dim + axis];

				if (isfinite(x))
					p[(n - 1) * dim + axis] = check_below(2) ? x : points_nudge(x);
			}
			break;
		case 4: /* A point in the plane of the first three, rounded and moved */
		case 5:
		{
			double s = 0.25 * check_below(8);
			double t = check_below(2) ? points_unit() : 0.5;

			for (axis = 0; axis < dim; axis++)
			{
				double x =
					p[axis] + s * (p[dim + axis] - p[axis]) + t * (p[2 * dim + axis] - p[axis]);

				if (isfinite(x))
					p[(n - 1) * dim + axis] = check_below(2) ? x : points_nudge(x);
			}
		}
		break;
		case 6: /* Points adjacent to one point */
			for (i = 1; i < n; i++)
				for (axis = 0; axis < dim; axis++)
					p[i * dim + axis] = points_nudge(p[axis]);
			break;
		default:
			break;
	}
}

#endif /* POINTS_H */
