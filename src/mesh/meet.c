/*
 * meet.c
 *	  In which points two triangles, segments or points meet: exactly, and rounded once.
 *
 * What two convex objects share is convex, and a corner of it is a corner of one of them that
 * lies on the other, or a point where an edge of one passes through the plane of the other, or
 * where two edges of one plane cross.  Each is found by signs; its place is a ratio of
 * determinants.  With p and q the ends of an edge, and P and Q their determinants against
 * a plane or a line of its plane, it is
 *
 *		(q P - p Q) / (P - Q)
 *
 * on each axis, of degree 4 in the coordinates.  As exact numbers these ratios are rounded
 * once, so that a place has the same doubles whatever it was found from.
 */
#include "mesh/rb_crossings.h"

#include "core/exact/rb_number.h"

#include <string.h>

/* three planes: normals of degree 2, of which three are multiplied, and a coordinate */
_Static_assert(RB_NUMBER_DEGREE(7, 16) + 4 <= RB_NUMBER_WORDS, "room for a point of three planes");

/* words of a quotient: more than rounding needs */
#define RB_QUOTIENT 3

/* how many different corners it has: 3, 2 or 1 */
static inline int
corners_of(const double *part)
{
	return rb_equal3(part, part + 3) ? 1 : rb_equal3(part + 3, part + 6) ? 2 : 3;
}

static inline int
edges_of(int corners)
{
	return corners == 3 ? 3 : corners - 1;
}

static void
needle(const double *a, const double *b, double *to)
{
	for (int k = 0; k < 3; k++)
	{
		to[k] = a[k];
		to[3 + k] = to[6 + k] = b[k];
	}
}

bool
rb_meet_on(const double *point, const double *part)
{
	double p[9];

	needle(point, point, p);
	return rb_triangles_meet(p, part);
}

/* the first of the points that are there already stays */
static void
add(double (*at)[3], int *n, const double *point)
{
	for (int i = 0; i < *n; i++)
		if (rb_equal3(at[i], point))
			return;
	if (*n < RB_MEET_POINTS)
		memcpy(at[(*n)++], point, sizeof *at);
}

/* (q P - p Q) / (P - Q) */
static void
between(const double *p, const double *q, const rb_number *dp, const rb_number *dq, double *at)
{
	rb_number denominator, x, left, right;

	rb_number_sub(&denominator, dp, dq);
	for (int k = 0; k < 3; k++)
	{
		rb_number_of(&x, q[k]);
		rb_number_mul(&left, &x, dp);
		rb_number_of(&x, p[k]);
		rb_number_mul(&right, &x, dq);
		rb_number_sub(&left, &left, &right);
		rb_number_div(&x, &left, &denominator, RB_QUOTIENT);
		at[k] = rb_number_round(&x);
	}
}

/* edge pq against the plane of triangle t: does it go through t, and where? */
static bool
pierces(rb_exact_env *env, const double *p, const double *q, const double *t, double *at)
{
	int sp = rb_orient3d_at(env, t, t + 3, t + 6, p);
	int sq = rb_orient3d_at(env, t, t + 3, t + 6, q);
	rb_number dp, dq;
	double edge[9];

	if (sp * sq >= 0) /* an end in the plane is a corner, which is looked at by itself */
		return false;
	needle(p, q, edge);
	if (!rb_triangles_meet(edge, t))
		return false;
	rb_number_orient3d(&dp, t, t + 3, t + 6, p);
	rb_number_orient3d(&dq, t, t + 3, t + 6, q);
	between(p, q, &dp, &dq, at);
	return true;
}

/* edges pq and st of one plane: do they cross between their ends, and where? */
static bool
crosses(rb_exact_env *env, const double *p, const double *q, const double *s, const double *t,
		double *at)
{
	if (rb_orient3d_at(env, p, q, s, t) != 0)
		return false;
	for (int k = 0; k < 3; k++)
	{
		const int u = (k + 1) % 3, v = (k + 2) % 3;
		const double a[2] = {p[u], p[v]}, b[2] = {q[u], q[v]};
		const double c[2] = {s[u], s[v]}, d[2] = {t[u], t[v]};
		const int sa = rb_orient2d(c, d, a), sb = rb_orient2d(c, d, b);
		rb_number da, db;

		if (sa == 0 && sb == 0) /* seen so they may lie on one line, and not if seen otherwise */
			continue;
		if (sa * sb >= 0 || rb_orient2d(a, b, c) * rb_orient2d(a, b, d) >= 0)
			return false;
		rb_number_orient2d(&da, c, d, a);
		rb_number_orient2d(&db, c, d, b);
		between(p, q, &da, &db, at);
		return true;
	}
	return false;
}

/* corners and edges of red against blue */
static void
one_way(rb_exact_env *env, const double *red, const double *blue, double (*at)[3], int *n)
{
	const int corners = corners_of(red);
	double point[3];

	for (int i = 0; i < corners; i++)
		if (rb_meet_on(red + 3 * i, blue))
			add(at, n, red + 3 * i);
	if (corners_of(blue) < 3)
		return;
	for (int i = 0; i < edges_of(corners); i++)
		if (pierces(env, red + 3 * i, red + 3 * ((i + 1) % 3), blue, point))
			add(at, n, point);
}

int
rb_meet_points(rb_exact_env *env, const double *red, const double *blue, double (*at)[3])
{
	int n = 0;
	double point[3];

	one_way(env, red, blue, at, &n);
	one_way(env, blue, red, at, &n);
	for (int i = 0; i < edges_of(corners_of(red)); i++)
		for (int j = 0; j < edges_of(corners_of(blue)); j++)
			if (crosses(env, red + 3 * i, red + 3 * ((i + 1) % 3), blue + 3 * j,
						blue + 3 * ((j + 1) % 3), point))
				add(at, &n, point);
	return n;
}

/* ---- three planes ---- */

/* r = a x b */
static void
cross(rb_number *r, const rb_number *a, const rb_number *b)
{
	for (int k = 0; k < 3; k++)
		rb_number_det2(&r[k], &a[(k + 1) % 3], &a[(k + 2) % 3], &b[(k + 1) % 3], &b[(k + 2) % 3]);
}

static void
normal(rb_number *r, const double *t)
{
	for (int k = 0; k < 3; k++)
	{
		const int u = (k + 1) % 3, v = (k + 2) % 3;
		const double a[2] = {t[u], t[v]}, b[2] = {t[3 + u], t[3 + v]}, c[2] = {t[6 + u], t[6 + v]};

		rb_number_orient2d(&r[k], a, b, c);
	}
}

/* with o a corner of a, and d, e what the planes of b and c are apart from it:
 * o + (d (nc x na) + e (na x nb)) / (na . nb x nc) */
bool
rb_meet_planes(const double *a, const double *b, const double *c, double *at)
{
	rb_number na[3], nb[3], nc[3], w[3], det, d, e, x, y;

	normal(na, a);
	normal(nb, b);
	normal(nc, c);
	cross(w, nb, nc);
	rb_number_dot3(&det, na, w);
	if (det.sign == 0)
		return false;
	for (int k = 0; k < 3; k++)
		rb_number_difference(&w[k], b[k], a[k]);
	rb_number_dot3(&d, nb, w);
	for (int k = 0; k < 3; k++)
		rb_number_difference(&w[k], c[k], a[k]);
	rb_number_dot3(&e, nc, w);
	for (int k = 0; k < 3; k++)
	{
		const int u = (k + 1) % 3, v = (k + 2) % 3;

		rb_number_det2(&x, &nc[u], &nc[v], &na[u], &na[v]);
		rb_number_mul(&y, &x, &d);
		rb_number_det2(&x, &na[u], &na[v], &nb[u], &nb[v]);
		rb_number_mul(&w[0], &x, &e);
		rb_number_add(&y, &y, &w[0]);
		rb_number_of(&x, a[k]);
		rb_number_mul(&w[0], &x, &det);
		rb_number_add(&y, &y, &w[0]);
		rb_number_div(&x, &y, &det, RB_QUOTIENT);
		at[k] = rb_number_round(&x);
	}
	return true;
}
