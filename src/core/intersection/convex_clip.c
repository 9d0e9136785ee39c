/*
 * convex_clip.c
 *	  Clips convex polygons, represented as lists of sides, exactly by lines.
 *
 * All operations take place in one plane, projected along an axis on which the plane's normal is
 * not 0. Vertex i is the intersection of side i with the next one. Clipping to the left of a line
 * keeps the sides that have an end strictly to its left, in their order, and inserts the line where
 * the sequence is interrupted:
 *
 *			 - - - + - - -			A side with one end on the line and the other end to its
 *		   /	   |	   \		right is removed. So no two consecutive sides are on the
 *		  /	 kept  |  gone	\		same line, and at all vertices the lines really cross.
 *
 * The side of line k on which the intersection of lines a and b lies is computed as follows. If p
 * and q are the ends of a, and P and Q their determinants against b, the intersection is (q P - p
 * Q) / (P - Q). Its determinant against k is
 *
 *		(k(q) P - k(p) Q) / (P - Q),
 *
 * which has degree 4, or degree 5 if k is a plane.
 */
#include "core/intersection/assembly.h"

#include "core/primitive/triangle.h"

_Static_assert(RB_NUMBER_DEGREE(5, 16) <= RB_NUMBER_WORDS, "room for a corner against a line");

void
rb_side_ends(const rb_curve *c, rb_curve_side s, const double **p, const double **q)
{
	const double *t = rb_triangle_at(c, s.of, s.part);
	const double *a = t + 3 * s.edge, *b = t + 3 * ((s.edge + 1) % 3);

	*p = s.turned ? b : a;
	*q = s.turned ? a : b;
}

/* Returns the common vertex of two edges of the same triangle, or NULL. */
static const double *
common_corner(const rb_curve *c, rb_curve_side a, rb_curve_side b)
{
	if (a.of != b.of || a.part != b.part || a.edge == b.edge)
		return NULL;
	return rb_triangle_at(c, a.of, a.part) + 3 * ((a.edge + 1) % 3 == b.edge ? b.edge : a.edge);
}

static int
turn_of_point(rb_curve *c, int axis, const double *p, const double *q, const double *x)
{
	const int u = (axis + 1) % 3, v = (axis + 2) % 3;

	return rb_orient2d_at(&c->env, p[u], p[v], q[u], q[v], x[u], x[v]);
}

static void
turn_number(rb_number *r, int axis, const double *p, const double *q, const double *x)
{
	const int u = (axis + 1) % 3, v = (axis + 2) % 3;
	const double a[2] = {p[u], p[v]}, b[2] = {q[u], q[v]}, d[2] = {x[u], x[v]};

	rb_number_orient2d(r, a, b, d);
}

/*
 * Returns the sign of (kq P - kp Q) / (P - Q), where kp and kq are the determinants against k of
 * the ends of side a. Side b follows side a.
 */
static int
corner_sign(const rb_curve *c, int axis, rb_curve_side a, rb_curve_side b, const rb_number *kp,
			const rb_number *kq)
{
	const double *p, *q, *s, *t;
	rb_number dp, dq, left, right;

	rb_side_ends(c, a, &p, &q);
	rb_side_ends(c, b, &s, &t);
	turn_number(&dp, axis, s, t, p);
	turn_number(&dq, axis, s, t, q);
	rb_number_mul(&left, kq, &dp);
	rb_number_mul(&right, kp, &dq);
	return rb_number_compare(&left, &right); /* P > Q, since side a starts in the interior of b */
}

int
rb_corner_turn(rb_curve *c, int axis, rb_curve_side a, rb_curve_side b, const double *k,
			   const double *l)
{
	const double *corner = common_corner(c, a, b), *p, *q;
	rb_number kp, kq;

	if (corner != NULL)
		return turn_of_point(c, axis, k, l, corner);
	rb_side_ends(c, a, &p, &q);
	turn_number(&kp, axis, k, l, p);
	turn_number(&kq, axis, k, l, q);
	return corner_sign(c, axis, a, b, &kp, &kq);
}

int
rb_corner_side(rb_curve *c, int axis, rb_curve_side a, rb_curve_side b, rb_curve_side line)
{
	const double *k, *l;

	rb_side_ends(c, line, &k, &l);
	return rb_corner_turn(c, axis, a, b, k, l);
}

int
rb_corner_plane(rb_curve *c, int axis, rb_curve_side a, rb_curve_side b, const double *t)
{
	const double *corner = common_corner(c, a, b), *p, *q;
	rb_number kp, kq;

	if (corner != NULL)
		return rb_orient3d_at(&c->env, t, t + 3, t + 6, corner);
	rb_side_ends(c, a, &p, &q);
	rb_number_orient3d(&kp, t, t + 3, t + 6, p);
	rb_number_orient3d(&kq, t, t + 3, t + 6, q);
	return corner_sign(c, axis, a, b, &kp, &kq);
}

rb_status
rb_convex_cut(rb_curve *c, int axis, uint32_t from, uint32_t n, rb_curve_side line, uint32_t *left)
{
	rb_status status =
		rb_curve_array_reserve(c->ctx, &c->sides, (size_t) n + 1, sizeof(rb_curve_side));
	rb_curve_side *side = RB_ALL(c->sides, rb_curve_side) + from,
				  *to = RB_ALL(c->sides, rb_curve_side) + c->sides.n;
	int before, first;
	bool put = false;

	*left = 0;
	if (status != RB_OK || n == 0)
		return status;
	before = first = rb_corner_side(c, axis, side[n - 1], side[0], line);
	for (uint32_t i = 0; i < n; i++)
	{
		const int after = i + 1 == n ? first : rb_corner_side(c, axis, side[i], side[i + 1], line);

		if (before > 0 || after > 0)
			to[(*left)++] = side[i];
		/*
		 * The polygon crosses to the right of the line here. Insert the line, unless nothing is to
		 * its right.
		 */
		if (before > 0 && after <= 0 && !put)
		{
			const uint32_t next = (i + 1) % n;
			const int beyond =
				after < 0 ? after : rb_corner_side(c, axis, side[next], side[(next + 1) % n], line);

			put = true;
			if (beyond <= 0)
				to[(*left)++] = line;
		}
		before = after;
	}
	c->sides.n += *left;
	return RB_OK;
}

rb_status
rb_convex_triangle(rb_curve *c, int axis, int of, uint32_t part)
{
	const double *t = rb_triangle_at(c, of, part);
	const bool turned = turn_of_point(c, axis, t, t + 3, t + 6) < 0;
	rb_status status = rb_curve_array_reserve(c->ctx, &c->sides, 3, sizeof(rb_curve_side));

	for (uint8_t i = 0; i < 3 && status == RB_OK; i++)
		RB_ALL(c->sides, rb_curve_side)
	[c->sides.n++] = (rb_curve_side){part, (uint8_t) of, turned ? (uint8_t) (2 - i) : i, turned, 0};
	return status;
}

rb_status
rb_convex_corners(rb_curve *c, uint32_t from, uint32_t n)
{
	const rb_curve_side *side = RB_ALL(c->sides, rb_curve_side) + from;
	uint32_t *vertex;
	rb_status status = RB_OK;

	c->vertex.n = from;
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->vertex, n, sizeof *vertex));
	vertex = RB_ALL(c->vertex, uint32_t) + from;
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		const rb_curve_side a = side[i], b = side[(i + 1) % n];
		const double *corner = common_corner(c, a, b), *p, *q, *s, *t;
		double at[3];

		if (corner == NULL)
		{
			rb_side_ends(c, a, &p, &q);
			rb_side_ends(c, b, &s, &t);
			if (!rb_meet_lines(p, q, s, t, at))
				return rb_fail(c->ctx, RB_UNSUPPORTED, 0, 0,
							   NULL); /* Consecutive sides are never parallel */
			corner = at;
		}
		status = rb_canonical_point(c, corner, &vertex[i]);
	}
	if (status == RB_OK)
		c->vertex.n = from + n;
	return status;
}
