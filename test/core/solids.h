/*
 * solids.h
 *	  Provides random solids for tests: closed surfaces of triangles, in families of hard cases.
 *
 * Include it after check.h. All solids have small integer coordinates at first, so that rays pass
 * through edges and vertices, faces are coplanar, and segments run along edges. They are then moved
 * and scaled, each axis separately, so that rounding keeps coplanar points of axis-parallel planes
 * coplanar.
 */
#ifndef SOLIDS_H
#define SOLIDS_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "check.h"

enum
{
	SOLID_BOX,
	SOLID_TETRAHEDRON,
	SOLID_OCTAHEDRON,
	SOLID_STAR,   /* An octahedron whose faces are pyramids */
	SOLID_NESTED, /* Three nested boxes: solid, cavity, solid */
	SOLID_TWO,    /* Two boxes that share a face, an edge or a vertex, or a part of one */
	SOLID_VOXELS, /* The boundary of a union of cubes */
	/* The surface of a box of cubes with randomly moved vertices, which intersects itself */
	SOLID_CRUMPLED,
	SOLID_FAMILIES
};

static const char *const solid_name[] = {"box",    "tetrahedron", "octahedron", "star",
										 "nested", "two boxes",   "voxels",     "crumpled"};

/* Transformations of the integer coordinates */
enum
{
	SIZE_PLAIN,
	SIZE_UTM,
	SIZE_SMALL, /* A factor of 1e-6 */
	SIZE_POWER, /* A different power of two for each axis */
	SIZES
};

#define SOLID_MOST 512

typedef struct solid
{
	int n; /* Number of triangles */
	double t[9 * SOLID_MOST];
	int family;
	int size;
	double scale[3];
	double origin[3];
	double low[3]; /* Bounding box, in integer coordinates */
	double high[3];
	bool sound; /* True if it does not intersect itself and its normals point outward */
} solid;

__attribute__((unused)) static void
solid_triangle(solid *s, const double *a, const double *b, const double *c)
{
	double *t = s->t + 9 * s->n++;
	int first = check_below(3);
	const double *corner[3] = {a, b, c};

	if (s->n > SOLID_MOST)
		abort();
	for (int i = 0; i < 3; i++)
		memcpy(t + 3 * i, corner[(first + i) % 3], 3 * sizeof(double));
}

/* Adds a quad with a random diagonal. */
static void
solid_quad(solid *s, const double *a, const double *b, const double *c, const double *d)
{
	if (check_below(2))
	{
		solid_triangle(s, a, b, c);
		solid_triangle(s, a, c, d);
	}
	else
	{
		solid_triangle(s, b, c, d);
		solid_triangle(s, b, d, a);
	}
}

/* Adds the side of a box whose normal points along `axis`, up or down. */
static void
solid_side(solid *s, const double *lo, const double *hi, int axis, bool up, bool inward)
{
	int u = (axis + 1) % 3, v = (axis + 2) % 3;
	double p[4][3];

	for (int i = 0; i < 4; i++)
	{
		p[i][axis] = up ? hi[axis] : lo[axis];
		p[i][u] = i == 1 || i == 2 ? hi[u] : lo[u];
		p[i][v] = i >= 2 ? hi[v] : lo[v];
	}
	if (up != inward)
		solid_quad(s, p[0], p[1], p[2], p[3]);
	else
		solid_quad(s, p[3], p[2], p[1], p[0]);
}

static void
solid_box(solid *s, const double *lo, const double *hi, bool inward)
{
	for (int axis = 0; axis < 3; axis++)
	{
		solid_side(s, lo, hi, axis, false, inward);
		solid_side(s, lo, hi, axis, true, inward);
	}
}

static void
solid_whole_point(double *p, int most)
{
	for (int a = 0; a < 3; a++)
		p[a] = check_below(most + 1);
}

static double
solid_det(const double *a, const double *b, const double *c, const double *d)
{
	double u[3], v[3], w[3];

	for (int i = 0; i < 3; i++)
	{
		u[i] = b[i] - a[i];
		v[i] = c[i] - a[i];
		w[i] = d[i] - a[i];
	}
	return (u[1] * v[2] - u[2] * v[1]) * w[0] + (u[2] * v[0] - u[0] * v[2]) * w[1] +
		   (u[0] * v[1] - u[1] * v[0]) * w[2];
}

/* Adds the unit cubes in `filled`, from lo, without the sides between two of them. */
static void
solid_voxels(solid *s, int nx, const bool *filled, bool all_sides_once)
{
	for (int i = 0; i < nx * nx * nx; i++)
	{
		int at[3] = {i % nx, i / nx % nx, i / nx / nx};

		if (!filled[i])
			continue;
		for (int axis = 0; axis < 3; axis++)
			for (int up = 0; up < 2; up++)
			{
				int next[3] = {at[0], at[1], at[2]};
				double lo[3], hi[3];

				next[axis] += up ? 1 : -1;
				if (all_sides_once && next[axis] >= 0 && next[axis] < nx &&
					filled[next[0] + nx * (next[1] + nx * next[2])])
					continue;
				for (int a = 0; a < 3; a++)
				{
					lo[a] = at[a];
					hi[a] = at[a] + 1;
				}
				solid_side(s, lo, hi, axis, up, false);
			}
	}
}

static void
solid_make_shape(solid *s)
{
	double p[8][3];

	s->sound = true;
	switch (s->family)
	{
		case SOLID_BOX:
		{
			double lo[3] = {0, 0, 0}, hi[3];

			for (int a = 0; a < 3; a++)
				hi[a] = 1 + check_below(4);
			solid_box(s, lo, hi, false);
			break;
		}
		case SOLID_TETRAHEDRON:
			do
				for (int i = 0; i < 4; i++)
					solid_whole_point(p[i], 4);
			while (solid_det(p[0], p[1], p[2], p[3]) <= 0);
			solid_triangle(s, p[0], p[2], p[1]);
			solid_triangle(s, p[0], p[1], p[3]);
			solid_triangle(s, p[1], p[2], p[3]);
			solid_triangle(s, p[2], p[0], p[3]);
			break;
		case SOLID_OCTAHEDRON:
		case SOLID_STAR:
			for (int i = 0; i < 6; i++)
				for (int a = 0; a < 3; a++)
					p[i][a] = 4 + (a == i / 2 ? (i % 2 ? 2 : -2) : 0);
			for (int i = 0; i < 8; i++)
			{
				const double *x = p[i & 1], *y = p[2 + (i >> 1 & 1)], *z = p[4 + (i >> 2 & 1)];
				bool turned = ((i ^ i >> 1 ^ i >> 2) & 1) == 0;
				double top[3];

				if (turned)
				{
					const double *swap = x;

					x = y;
					y = swap;
				}
				for (int a = 0; a < 3; a++)
					top[a] = 4 + (i >> a & 1 ? 2 : -2);
				if (s->family == SOLID_OCTAHEDRON)
					solid_triangle(s, x, y, z);
				else
				{
					solid_triangle(s, x, y, top);
					solid_triangle(s, y, z, top);
					solid_triangle(s, z, x, top);
				}
			}
			break;
		case SOLID_NESTED:
			for (int i = 0; i < 3; i++)
			{
				double lo[3] = {i, i, i}, hi[3] = {7 - i, 7 - i, 7 - i};

				/* The boxes may touch. */
				if (i > 0 && check_below(3) == 0)
					lo[check_below(3)]--;
				solid_box(s, lo, hi, i % 2 == 1);
			}
			break;
		case SOLID_TWO:
		{
			double lo[3] = {0, 0, 0}, hi[3] = {2, 2, 2};

			solid_box(s, lo, hi, false);
			lo[0] = 2;
			lo[1] = check_below(3);
			lo[2] = check_below(3);
			for (int a = 0; a < 3; a++)
				hi[a] = lo[a] + 1 + check_below(2);
			solid_box(s, lo, hi, false);
			break;
		}
		case SOLID_VOXELS:
		{
			bool filled[27];
			int some = 1 + check_below(4);

			for (int i = 0; i < 27; i++)
				filled[i] = check_below(5) < some;
			filled[check_below(27)] = true;
			solid_voxels(s, 3, filled, check_below(4) > 0);
			break;
		}
		default:
		{
			double at[27][3];
			bool filled[8];
			int most = 2 + check_below(4);

			s->sound = false;
			for (int i = 0; i < 27; i++)
				solid_whole_point(at[i], most);
			for (int i = 0; i < 8; i++)
				filled[i] = check_below(3) > 0;
			filled[0] = true;
			solid_voxels(s, 2, filled, true);
			for (int i = 0; i < 3 * s->n; i++)
			{
				double *q = s->t + 3 * i;

				memcpy(q, at[(int) q[0] + 3 * (int) q[1] + 9 * (int) q[2]], 3 * sizeof(double));
			}
			break;
		}
	}
}

/* Transforms an integer (or half-integer) into a coordinate. */
static double
solid_coordinate(const solid *s, int axis, double x)
{
	return s->origin[axis] + s->scale[axis] * x;
}

__attribute__((unused)) static void
solid_place(const solid *s, double *p)
{
	for (int a = 0; a < 3; a++)
		p[a] = solid_coordinate(s, a, p[a]);
}

__attribute__((unused)) static void
solid_make(solid *s, int family, int size)
{
	static const double utm[3] = {391777.123, 5820111.456, 34.5};

	s->n = 0;
	s->family = family;
	s->size = size;
	solid_make_shape(s);
	for (int a = 0; a < 3; a++)
	{
		s->low[a] = 1000;
		s->high[a] = -1000;
		s->origin[a] = size == SIZE_UTM ? utm[a] : 0;
		s->scale[a] = size == SIZE_UTM     ? 0.1
					  : size == SIZE_SMALL ? 1e-6
					  : size == SIZE_POWER ? ldexp(1, check_below(60) - 30)
										   : 1;
	}
	for (int i = 0; i < 9 * s->n; i++)
	{
		s->low[i % 3] = fmin(s->low[i % 3], s->t[i]);
		s->high[i % 3] = fmax(s->high[i % 3], s->t[i]);
		s->t[i] = solid_coordinate(s, i % 3, s->t[i]);
	}
}

/*
 * Adds triangles without area that protrude from the solid or lie in it: needles and folded ones.
 */
__attribute__((unused)) static void
solid_add_needles(solid *s)
{
	for (int n = check_below(3); n > 0 && s->n < SOLID_MOST; n--)
	{
		double p[3][3];
		/* After rounding, points are collinear only if two of them coincide. */
		bool exact = s->size == SIZE_PLAIN || s->size == SIZE_POWER;
		int k = exact ? check_below(4) - 1 : 2 * check_below(2);

		for (int a = 0; a < 3; a++)
		{
			int at = check_below(5), step = check_below(3) - 1;

			p[0][a] = solid_coordinate(s, a, at);
			p[1][a] = solid_coordinate(s, a, at + 2 * step);
			p[2][a] = solid_coordinate(s, a, at + k * step);
		}
		solid_triangle(s, p[0], p[1], p[2]);
	}
}

__attribute__((unused)) static void
solid_shuffle(solid *s)
{
	for (int i = s->n - 1; i > 0; i--)
	{
		double swap[9], *p = s->t + 9 * i, *q = s->t + 9 * check_below(i + 1);

		memcpy(swap, p, sizeof swap);
		memmove(p, q, sizeof swap);
		memcpy(q, swap, sizeof swap);
	}
}

/* Returns a lattice point, a midpoint between two, or any point near the solid. */
__attribute__((unused)) static void
solid_point(const solid *s, double *p)
{
	int kind = check_below(8);

	if (kind == 0)
		memcpy(p, s->t + 3 * check_below(3 * s->n), 3 * sizeof(double));
	else
		for (int a = 0; a < 3; a++)
		{
			/* At most one step outside, or within its box */
			double margin = kind < 6 ? 1 : 0;
			double range = s->high[a] - s->low[a] + 2 * margin;
			double x = s->low[a] - margin + check_below((int) (2 * range) + 1) * 0.5;

			if (kind < 4)
				x = floor(x);
			else if (kind == 4)
				x += ldexp((double) check_below(1000), -12);
			p[a] = solid_coordinate(s, a, x);
		}
}

#endif /* SOLIDS_H */
