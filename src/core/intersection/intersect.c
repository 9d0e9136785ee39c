/*
 * intersect.c
 *	  Computes the points in which two triangles, segments or points meet, exactly and with a single
 *	  rounding.
 *
 * The intersection of two convex objects is convex. Each of its vertices is a vertex of one object
 * that lies on the other, a point where an edge of one passes through the plane of the other, or
 * the crossing of two coplanar edges. Signs of determinants identify these cases, and the position
 * is a ratio of determinants. With p and q the ends of an edge, and P and Q their determinants
 * against a plane, or against a line in the plane of the edge, it is
 *
 *		(q P - p Q) / (P - Q)
 *
 * on each axis, of degree 4 in the coordinates. These ratios are computed exactly and rounded once,
 * so a position has the same doubles however it was computed.
 */
#include "core/intersection/intersection.h"
#include "core/exact/bignum.h"
#include "core/primitive/triangle.h"

#include <string.h>

/* Three planes: products of three normals, each of degree 2, and a coordinate */
_Static_assert(RB_NUMBER_DEGREE(7, 16) + 4 <= RB_NUMBER_WORDS, "room for a point of three planes");

bool
rb_triangles_meet(const double red[9], const double blue[9])
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	int sb[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};
	int sr[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};

	return rb_point_boxes_meet(red, 3, blue, 3, 3) &&
		   rb_triangle_triangle(&env, red, blue, sb, sr) == 1;
}

/*
 * Returns the number of distinct vertices of a part whose meeting points are computed: 3, 2 or 1.
 */
static inline int
count_vertices_of_part(const double *part)
{
	return rb_equal3(part, part + 3) ? 1 : rb_equal3(part + 3, part + 6) ? 2 : 3;
}

/*
 * Returns the number of edges of a part with `corners` distinct vertices: a triangle, segment or
 * point.
 */
static inline int
count_part_edges(int corners)
{
	return corners == 3 ? 3 : corners - 1;
}

/*
 * Writes an edge ab of a part, or a vertex, as a degenerate triangle, to test which edges of the
 * other part it meets.
 */
static void
write_edge_as_needle(const double *a, const double *b, double *to)
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

	write_edge_as_needle(point, point, p);
	return rb_triangles_meet(p, part);
}

/* Adds a point; if it is already present, adds only its edges. */
static void
add_meeting_point(rb_meet *to, int *n, const double *point, unsigned on_red, unsigned on_blue)
{
	int i = 0;

	while (i < *n && !rb_equal3(to[i].at, point))
		i++;
	if (i == RB_MEET_POINTS)
		return;
	if (i == *n)
	{
		memcpy(to[i].at, point, sizeof to[i].at);
		to[i].on_red = to[i].on_blue = 0;
		++*n;
	}
	to[i].on_red |= (uint8_t) on_red;
	to[i].on_blue |= (uint8_t) on_blue;
}

/*
 * Returns a bitmask of the edges of a part that a needle meets: a vertex or an edge of the other
 * part, given as a degenerate triangle.
 */
static unsigned
edges_met_by_needle(const double *needle_of, const double *part)
{
	const int edges = count_part_edges(count_vertices_of_part(part));
	unsigned met = 0;
	double edge[9];

	for (int i = 0; i < edges; i++)
	{
		write_edge_as_needle(part + 3 * i, part + 3 * ((i + 1) % 3), edge);
		met |= rb_triangles_meet(needle_of, edge) ? 1u << i : 0;
	}
	return met;
}

/* Computes (q P - p Q) / (P - Q), rounded. */
static void
interpolate_meeting_point(const double *p, const double *q, const rb_number *dp,
						  const rb_number *dq, double *at)
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
		at[k] = rb_number_round_quotient(&left, &denominator);
	}
}

/* Tests whether edge pq passes through triangle t, and computes the point. */
static bool
find_piercing_point(rb_exact_env *env, const double *p, const double *q, const double *t,
					double *at)
{
	int sp = rb_orient3d_at(env, t, t + 3, t + 6, p);
	int sq = rb_orient3d_at(env, t, t + 3, t + 6, q);
	rb_number dp, dq;
	double edge[9];

	if (sp * sq >= 0) /* An end in the plane is handled as a vertex */
		return false;
	write_edge_as_needle(p, q, edge);
	if (!rb_triangles_meet(edge, t))
		return false;
	rb_number_orient3d(&dp, t, t + 3, t + 6, p);
	rb_number_orient3d(&dq, t, t + 3, t + 6, q);
	interpolate_meeting_point(p, q, &dp, &dq, at);
	return true;
}

/* Tests whether the coplanar edges pq and st cross between their ends, and computes the point. */
static bool
find_edge_crossing(rb_exact_env *env, const double *p, const double *q, const double *s,
				   const double *t, double *at)
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

		if (sa == 0 && sb == 0) /* Collinear in this projection; try the next one */
			continue;
		if (sa * sb >= 0 || rb_orient2d(a, b, c) * rb_orient2d(a, b, d) >= 0)
			return false;
		rb_number_orient2d(&da, c, d, a);
		rb_number_orient2d(&db, c, d, b);
		interpolate_meeting_point(p, q, &da, &db, at);
		return true;
	}
	return false;
}

/* Tests the vertices and edges of t against u; `turned` means that t is blue. */
static void
meet_triangles_one_way(rb_exact_env *env, const double *t, const double *u, bool turned,
					   rb_meet *to, int *n)
{
	const int corners = count_vertices_of_part(t);
	double point[3], edge[9];

	for (int i = 0; i < corners; i++)
	{
		unsigned of, on;

		if (!rb_meet_on(t + 3 * i, u))
			continue;
		write_edge_as_needle(t + 3 * i, t + 3 * i, edge);
		of = corners == 3 ? 1u << i | 1u << (i + 2) % 3 : 1u;
		on = edges_met_by_needle(edge, u);
		add_meeting_point(to, n, t + 3 * i, turned ? on : of, turned ? of : on);
	}
	if (count_vertices_of_part(u) < 3)
		return;
	for (int i = 0; i < count_part_edges(corners); i++)
	{
		const double *p = t + 3 * i, *q = t + 3 * ((i + 1) % 3);
		unsigned on;

		if (!find_piercing_point(env, p, q, u, point))
			continue;
		write_edge_as_needle(p, q, edge);
		on = edges_met_by_needle(edge, u);
		add_meeting_point(to, n, point, turned ? on : 1u << i, turned ? 1u << i : on);
	}
}

int
rb_meet_points(rb_exact_env *env, const double *red, const double *blue, rb_meet *to)
{
	int n = 0;
	double point[3];

	meet_triangles_one_way(env, red, blue, false, to, &n);
	meet_triangles_one_way(env, blue, red, true, to, &n);
	for (int i = 0; i < count_part_edges(count_vertices_of_part(red)); i++)
		for (int j = 0; j < count_part_edges(count_vertices_of_part(blue)); j++)
			if (find_edge_crossing(env, red + 3 * i, red + 3 * ((i + 1) % 3), blue + 3 * j,
								   blue + 3 * ((j + 1) % 3), point))
				add_meeting_point(to, &n, point, 1u << i, 1u << j);
	return n;
}

/* ---- lines and planes ---- */

bool
rb_meet_line_plane(const double *p, const double *q, const double *t, double *at)
{
	rb_number dp, dq;

	rb_number_orient3d(&dp, t, t + 3, t + 6, p);
	rb_number_orient3d(&dq, t, t + 3, t + 6, q);
	if (rb_number_compare(&dp, &dq) == 0)
		return false;
	interpolate_meeting_point(p, q, &dp, &dq, at);
	return true;
}

bool
rb_meet_lines(const double *p, const double *q, const double *s, const double *t, double *at)
{
	for (int k = 0; k < 3; k++)
	{
		const int u = (k + 1) % 3, v = (k + 2) % 3;
		const double a[2] = {p[u], p[v]}, b[2] = {q[u], q[v]};
		const double c[2] = {s[u], s[v]}, d[2] = {t[u], t[v]};
		rb_number da, db;

		rb_number_orient2d(&da, c, d, a);
		rb_number_orient2d(&db, c, d, b);
		if (rb_number_compare(&da, &db) == 0)
			continue;
		interpolate_meeting_point(p, q, &da, &db, at);
		return true;
	}
	return false;
}

/* ---- three planes ---- */

/* Computes r = a x b of two exact normals, whose planes meet with a third one. */
static void
cross_plane_normals(rb_number *r, const rb_number *a, const rb_number *b)
{
	for (int k = 0; k < 3; k++)
		rb_number_det2(&r[k], &a[(k + 1) % 3], &a[(k + 2) % 3], &b[(k + 1) % 3], &b[(k + 2) % 3]);
}

/* Computes the exact normal of a triangle, whose plane meets two others. */
static void
normal_of_meeting_plane(rb_number *r, const double *t)
{
	for (int k = 0; k < 3; k++)
	{
		const int u = (k + 1) % 3, v = (k + 2) % 3;
		const double a[2] = {t[u], t[v]}, b[2] = {t[3 + u], t[3 + v]}, c[2] = {t[6 + u], t[6 + v]};

		rb_number_orient2d(&r[k], a, b, c);
	}
}

/*
 * Computes o + (d (nc x na) + e (na x nb)) / (na . (nb x nc)), where o is a vertex of a, d = nb .
 * (b - o) and e = nc . (c - o).
 */
bool
rb_meet_planes(const double *a, const double *b, const double *c, double *at)
{
	rb_number na[3], nb[3], nc[3], w[3], det, d, e, x, y;

	normal_of_meeting_plane(na, a);
	normal_of_meeting_plane(nb, b);
	normal_of_meeting_plane(nc, c);
	cross_plane_normals(w, nb, nc);
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
		at[k] = rb_number_round_quotient(&y, &det);
	}
	return true;
}
