/*
 * overlap_reference.h
 *	  Computes what two tetrahedra share in rationals, by clipping the faces of each by the planes of the other one.
 */
#ifndef OVERLAP_REFERENCE_H
#define OVERLAP_REFERENCE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/exact/orient.h"
#include "is_nearest.h"

#include <gmp.h>

#define MOST_CORNERS 24
#define MOST_FACES 12

/* ---- reference: convex polyhedra ---- */

typedef struct point
{
	mpq_t at[3];
} point;

/* A face: corners in order */
typedef struct face
{
	int n;
	point corner[MOST_CORNERS];
} face;

typedef struct polyhedron
{
	int n;
	face of[MOST_FACES];
} polyhedron;

static polyhedron current, next;

static void
copy_point(point *to, const point *from)
{
	for (int a = 0; a < 3; a++)
		mpq_set(to->at[a], from->at[a]);
}

/* Sets det to (b - a) x (c - a) . (p - a), where b - a and so on are differences of rationals. */
static void
find_side(mpq_t det, const double *t, const point *p)
{
	mpq_t u[3], v[3], w[3], x, y;

	mpq_init(x);
	mpq_init(y);
	mpq_set_ui(det, 0, 1);
	for (int a = 0; a < 3; a++)
	{
		mpq_init(u[a]);
		mpq_init(v[a]);
		mpq_init(w[a]);
		mpq_set_d(x, t[a]);
		mpq_set_d(u[a], t[3 + a]);
		mpq_sub(u[a], u[a], x);
		mpq_set_d(v[a], t[6 + a]);
		mpq_sub(v[a], v[a], x);
		mpq_sub(w[a], p->at[a], x);
	}
	for (int a = 0; a < 3; a++)
	{
		const int i = (a + 1) % 3, j = (a + 2) % 3;

		mpq_mul(x, u[i], v[j]);
		mpq_mul(y, u[j], v[i]);
		mpq_sub(x, x, y);
		mpq_mul(x, x, w[a]);
		mpq_add(det, det, x);
	}
	for (int a = 0; a < 3; a++)
	{
		mpq_clear(u[a]);
		mpq_clear(v[a]);
		mpq_clear(w[a]);
	}
	mpq_clear(x);
	mpq_clear(y);
}

/* Keeps the part of each face on the negative side of the plane of t. */
static void
clip(const double *t)
{
	mpq_t side[MOST_CORNERS], x, y;
	polyhedron swap;

	mpq_init(x);
	mpq_init(y);
	for (int k = 0; k < MOST_CORNERS; k++)
		mpq_init(side[k]);
	next.n = 0;
	for (int i = 0; i < current.n; i++)
	{
		const face *f = &current.of[i];
		face *g = &next.of[next.n];

		g->n = 0;
		for (int k = 0; k < f->n; k++)
			find_side(side[k], t, &f->corner[k]);
		for (int k = 0; k < f->n; k++)
		{
			const int m = (k + 1) % f->n, s = mpq_sgn(side[k]);

			if (s <= 0)
				copy_point(&g->corner[g->n++], &f->corner[k]);
			if (s * mpq_sgn(side[m]) >= 0)
				continue;
			/* The point where the edge meets the plane */
			for (int a = 0; a < 3; a++)
			{
				mpq_sub(x, f->corner[m].at[a], f->corner[k].at[a]);
				mpq_mul(x, x, side[k]);
				mpq_sub(y, side[k], side[m]);
				mpq_div(x, x, y);
				mpq_add(g->corner[g->n].at[a], f->corner[k].at[a], x);
			}
			g->n++;
		}
		next.n += g->n > 2;
	}
	swap = current;
	current = next;
	next = swap;
	mpq_clear(x);
	mpq_clear(y);
	for (int k = 0; k < MOST_CORNERS; k++)
		mpq_clear(side[k]);
}

/* Adds det(p0, p1, p2) and det (p0 + p1 + p2). */
static void
add_triangle(mpq_t volume, mpq_t moment[3], const point *p0, const point *p1, const point *p2)
{
	mpq_t det, x, y;

	mpq_init(det);
	mpq_init(x);
	mpq_init(y);
	for (int a = 0; a < 3; a++)
	{
		const int u = (a + 1) % 3, v = (a + 2) % 3;

		mpq_mul(x, p1->at[u], p2->at[v]);
		mpq_mul(y, p1->at[v], p2->at[u]);
		mpq_sub(x, x, y);
		mpq_mul(x, x, p0->at[a]);
		mpq_add(det, det, x);
	}
	mpq_add(volume, volume, det);
	for (int a = 0; a < 3; a++)
	{
		mpq_add(x, p0->at[a], p1->at[a]);
		mpq_add(x, x, p2->at[a]);
		mpq_mul(x, x, det);
		mpq_add(moment[a], moment[a], x);
	}
	mpq_clear(det);
	mpq_clear(x);
	mpq_clear(y);
}

/*
 * Adds six times the volume and 24 times the moment below the faces of one outward tetrahedron in
 * another one. With `once`, faces in the plane of a face of the other one, with the same normal, are
 * left out, because they are counted for that one.
 */
static void
add_faces_inside(mpq_t volume, mpq_t moment[3], const double *of, const double *in, bool once)
{
	current.n = 0;
	for (int i = 0; i < 4; i++)
	{
		bool common = false;

		for (int k = 0; k < 4; k++)
		{
			const double *f = of + 9 * i, *g = in + 9 * k;
			bool flat = true;
			int below = 0;

			for (int c = 0; c < 3; c++)
				flat = flat && rb_orient3d(g, g + 3, g + 6, f + 3 * c) == 0;
			for (int c = 0; c < 12; c++)
				below |= rb_orient3d(g, g + 3, g + 6, of + 3 * c) < 0;
			common = common || (flat && below);
		}
		if (common && once)
			continue;
		current.of[current.n].n = 3;
		for (int k = 0; k < 9; k++)
			mpq_set_d(current.of[current.n].corner[k / 3].at[k % 3], of[9 * i + k]);
		current.n++;
	}
	for (int i = 0; i < 4; i++)
		clip(in + 9 * i);
	for (int i = 0; i < current.n; i++)
		for (int k = 1; k + 1 < current.of[i].n; k++)
			add_triangle(volume, moment, &current.of[i].corner[0], &current.of[i].corner[k],
						 &current.of[i].corner[k + 1]);
}

/* ---- reference: areas in common ---- */

#define AREA_BITS 8192 /* Precision of a sum of roots */

/* Returns true if d is the double nearest to a sum of roots. */
static bool
is_nearest_area(double d, const mpf_t area)
{
	mpq_t x;
	bool nearest;

	mpq_init(x);
	mpq_set_f(x, area);
	nearest = is_nearest_above_zero(d, x);
	mpq_clear(x);
	return nearest;
}

/* Adds the area of a face. */
static void
add_area_of_face(mpf_t area, const face *f)
{
	mpq_t sum[3], x, y;
	mpf_t square, root;

	mpq_inits(sum[0], sum[1], sum[2], x, y, NULL);
	mpf_init2(square, AREA_BITS);
	mpf_init2(root, AREA_BITS);
	for (int k = 0; k < f->n; k++)
		for (int a = 0; a < 3; a++)
		{
			const int u = (a + 1) % 3, v = (a + 2) % 3, next_corner = (k + 1) % f->n;

			mpq_mul(x, f->corner[k].at[u], f->corner[next_corner].at[v]);
			mpq_mul(y, f->corner[k].at[v], f->corner[next_corner].at[u]);
			mpq_sub(x, x, y);
			mpq_add(sum[a], sum[a], x);
		}
	mpq_set_ui(y, 0, 1);
	for (int a = 0; a < 3; a++)
	{
		mpq_mul(x, sum[a], sum[a]);
		mpq_add(y, y, x);
	}
	/* Roots of the numerator and the denominator are exact if these are squares. */
	mpf_set_z(square, mpq_numref(y));
	mpf_sqrt(root, square);
	mpf_set_z(square, mpq_denref(y));
	mpf_sqrt(square, square);
	mpf_div(root, root, square);
	mpf_div_2exp(root, root, 1);
	mpf_add(area, area, root);
	mpq_clears(sum[0], sum[1], sum[2], x, y, NULL);
	mpf_clears(square, root, NULL);
}

/* Adds the areas that two outward tetrahedra share: [0] where they are on different sides, [1] on the same side. */
static void
add_common_areas(mpf_t area[2], const double *red, const double *blue)
{
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 4; k++)
		{
			const double *f = red + 9 * i, *g = blue + 9 * k;
			bool flat = true, above = false;

			for (int c = 0; c < 3; c++)
				flat = flat && rb_orient3d(g, g + 3, g + 6, f + 3 * c) == 0;
			if (!flat)
				continue;
			for (int c = 0; c < 12; c++)
				above = above || rb_orient3d(g, g + 3, g + 6, red + 3 * c) > 0;
			current.n = 1;
			current.of[0].n = 3;
			for (int c = 0; c < 9; c++)
				mpq_set_d(current.of[0].corner[c / 3].at[c % 3], f[c]);
			for (int other = 0; other < 4; other++)
				if (other != k)
					clip(blue + 9 * other);
			if (current.n > 0)
				add_area_of_face(area[!above], &current.of[0]);
		}
}

/* ---- reference: depth ---- */

/* Raises or lowers the least and the largest height of the corners of the current faces above a plane. */
static void
bound_heights_of_faces(mpq_t least, mpq_t most, const double *t, bool *any)
{
	mpq_t height;

	mpq_init(height);
	for (int i = 0; i < current.n; i++)
		for (int k = 0; k < current.of[i].n; k++)
		{
			find_side(height, t, &current.of[i].corner[k]);
			if (!*any || mpq_cmp(height, least) < 0)
				mpq_set(least, height);
			if (!*any || mpq_cmp(height, most) > 0)
				mpq_set(most, height);
			*any = true;
		}
	mpq_clear(height);
}

/* Sets the current faces to those of a tetrahedron in another one; with face >= 0, to this one. */
static void
clip_faces(const double *of, const double *in, int only)
{
	current.n = 0;
	for (int i = 0; i < 4; i++)
		if (only < 0 || only == i)
		{
			current.of[current.n].n = 3;
			for (int k = 0; k < 9; k++)
				mpq_set_d(current.of[current.n].corner[k / 3].at[k % 3], of[9 * i + k]);
			current.n++;
		}
	for (int i = 0; i < 4; i++)
		clip(in + 9 * i);
}

/* Sets `square` to the square of the depth of two outward tetrahedra whose interiors meet. */
static void
find_square_of_depth(mpq_t square, const double *red, const double *blue)
{
	mpq_t least, most, x, y, n[3];
	bool first = true;

	mpq_inits(least, most, x, y, n[0], n[1], n[2], NULL);
	for (int i = 0; i < 8; i++)
	{
		const double *of = i < 4 ? red : blue, *in = i < 4 ? blue : red, *t = of + 9 * (i % 4);
		mpf_t area;
		bool any = false;

		mpf_init2(area, 256);
		clip_faces(of, in, i % 4);
		if (current.n > 0)
			add_area_of_face(area, &current.of[0]);
		if (mpf_sgn(area) != 0)
		{
			clip_faces(red, blue, -1);
			bound_heights_of_faces(least, most, t, &any);
			clip_faces(blue, red, -1);
			bound_heights_of_faces(least, most, t, &any);
			/* The square of the normal's length */
			mpq_set_ui(y, 0, 1);
			for (int a = 0; a < 3; a++)
			{
				const int u = (a + 1) % 3, v = (a + 2) % 3;

				mpq_set_d(n[0], t[3 + u]);
				mpq_set_d(x, t[u]);
				mpq_sub(n[0], n[0], x);
				mpq_set_d(n[1], t[6 + v]);
				mpq_set_d(x, t[v]);
				mpq_sub(n[1], n[1], x);
				mpq_mul(n[2], n[0], n[1]);
				mpq_set_d(n[0], t[3 + v]);
				mpq_sub(n[0], n[0], x);
				mpq_set_d(n[1], t[6 + u]);
				mpq_set_d(x, t[u]);
				mpq_sub(n[1], n[1], x);
				mpq_mul(x, n[0], n[1]);
				mpq_sub(n[2], n[2], x);
				mpq_mul(n[2], n[2], n[2]);
				mpq_add(y, y, n[2]);
			}
			mpq_sub(x, most, least);
			mpq_mul(x, x, x);
			mpq_div(x, x, y);
			if (first || mpq_cmp(x, square) < 0)
				mpq_set(square, x);
			first = false;
		}
		mpf_clear(area);
	}
	mpq_clears(least, most, x, y, n[0], n[1], n[2], NULL);
}

/* Returns true if d is the double nearest to the root of a square. */
static bool
is_nearest_root(double d, const mpq_t square)
{
	uint64_t bits;
	bool even, good = true;
	mpq_t m;

	mpq_init(m);
	memcpy(&bits, &d, sizeof bits);
	even = bits % 2 == 0;
	for (int way = -1; way <= 1; way += 2)
	{
		int order;

		if (isinf(d) && way > 0)
			continue;
		if (isinf(d))
			set_midpoint(m, DBL_MAX, HUGE_VAL);
		else
			set_midpoint(m, d, way * HUGE_VAL);
		mpq_mul(m, m, m);
		order = way * mpq_cmp(m, square);
		good = good && (order > 0 || (order == 0 && even));
	}
	mpq_clear(m);
	return good;
}

/* Initializes the numbers of the reference. */
static void
prepare(void)
{
	for (int k = 0; k < 2; k++)
	{
		polyhedron *p = k == 0 ? &current : &next;

		for (int i = 0; i < MOST_FACES; i++)
			for (int c = 0; c < MOST_CORNERS; c++)
				for (int a = 0; a < 3; a++)
					mpq_init(p->of[i].corner[c].at[a]);
	}
}

#endif /* OVERLAP_REFERENCE_H */
