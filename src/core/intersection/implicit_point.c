/*
 * implicit_point.c
 *	  Tests whether a vertex of the intersection of two parts lies on another part, exactly and
 *	  before rounding.
 *
 * A vertex of the intersection of two convex parts is a vertex of one of them, or the point where
 * an edge pq of one crosses an edge or the plane of the other. In the second case, with the
 * determinants P and Q of p and q against that edge or plane, it is
 *
 *		x / w,		x = q P - p Q,		w = P - Q,
 *
 * and its determinant against the plane of a triangle has degree 6.
 */
#include "core/intersection/assembly.h"

#include "core/primitive/triangle.h"

_Static_assert(RB_NUMBER_DEGREE(6, 24) <= RB_NUMBER_WORDS, "room for a plane against a point");

static bool
is_corner(const double *at, const rb_part *part)
{
	return rb_equal3(at, part->at) || rb_equal3(at, part->at + 3) || rb_equal3(at, part->at + 6);
}

/*
 * Evaluates p and q against the plane of t or, if `plane` is false, against the line of one of its
 * edges.
 */
static void
evaluate_ends(const rb_part *t, bool plane, int edge, const double *p, const double *q,
			  rb_number *dp, rb_number *dq)
{
	const double *s = t->at + 3 * edge, *e = t->at + 3 * ((edge + 1) % 3);

	if (plane)
	{
		rb_number_orient3d(dp, t->at, t->at + 3, t->at + 6, p);
		rb_number_orient3d(dq, t->at, t->at + 3, t->at + 6, q);
		return;
	}
	for (int k = 0; k < 3; k++)
	{
		const int u = (k + 1) % 3, v = (k + 2) % 3;
		const double a[2] = {p[u], p[v]}, b[2] = {q[u], q[v]};
		const double d[2] = {s[u], s[v]}, f[2] = {e[u], e[v]};

		rb_number_orient2d(dp, d, f, a);
		rb_number_orient2d(dq, d, f, b);
		if (rb_number_compare(dp, dq) != 0)
			return;
	}
}

void
rb_implicit_point_build(rb_curve *c, const rb_part *red, const rb_part *blue, const double *at,
						rb_implicit_point *spot)
{
	rb_meet meets[RB_MEET_POINTS], *meet = meets;
	const double *p, *q;
	rb_number dp, dq, a, b;
	bool of_red;
	int edge, n;

	n = rb_meet_points(&c->env, red->at, blue->at, meets);
	while (meet < meets + n - 1 && !rb_equal3(meet->at, at))
		meet++;
	memcpy(spot->at, meet->at, sizeof spot->at);
	spot->corner = is_corner(spot->at, red) || is_corner(spot->at, blue);
	if (spot->corner)
		return;
	of_red = meet->on_red != 0;
	edge = __builtin_ctz(of_red ? meet->on_red : meet->on_blue | 8u) % 3;
	p = (of_red ? red : blue)->at + 3 * edge;
	q = (of_red ? red : blue)->at + 3 * ((edge + 1) % 3);
	if (of_red && meet->on_blue != 0)
		evaluate_ends(blue, false, __builtin_ctz(meet->on_blue), p, q, &dp, &dq);
	else
		evaluate_ends(of_red ? blue : red, true, 0, p, q, &dp, &dq);
	rb_number_sub(&spot->w, &dp, &dq);
	spot->corner = spot->w.sign == 0; /* Rounding merged several points */
	for (int k = 0; k < 3; k++)
	{
		rb_number x;

		rb_number_of(&x, q[k]);
		rb_number_mul(&a, &x, &dp);
		rb_number_of(&x, p[k]);
		rb_number_mul(&b, &x, &dq);
		rb_number_sub(&spot->x[k], &a, &b);
		spot->x[k].sign *= spot->w.sign;
	}
	spot->w.sign *= spot->w.sign;
}

/* Computes y = x - a w. */
static void
offset_from(const rb_implicit_point *spot, const double *a, rb_number *y)
{
	rb_number x, term;

	for (int k = 0; k < 3; k++)
	{
		rb_number_of(&x, a[k]);
		rb_number_mul(&term, &x, &spot->w);
		rb_number_sub(&y[k], &spot->x[k], &term);
	}
}

/*
 * Returns the side of ab on which the point lies in a projection along an axis; y is relative to a.
 */
static int
turn_of_spot(const double *a, const double *b, const rb_number *y, int axis)
{
	const int u = (axis + 1) % 3, v = (axis + 2) % 3;
	rb_number du, dv, det;

	rb_number_difference(&du, b[u], a[u]);
	rb_number_difference(&dv, b[v], a[v]);
	rb_number_det2(&det, &du, &dv, &y[u], &y[v]);
	return det.sign;
}

static bool
on_segment(const double *a, const double *b, const rb_implicit_point *spot)
{
	rb_number y[3], z[3];

	offset_from(spot, a, y);
	offset_from(spot, b, z);
	for (int k = 0; k < 3; k++)
		if (turn_of_spot(a, b, y, k) != 0 || y[k].sign * z[k].sign > 0)
			return false;
	return true;
}

static bool
on_triangle(rb_curve *c, const double *t, const rb_implicit_point *spot)
{
	const int axis = rb_projection_axis(&c->env, t, t + 3, t + 6);
	const int u = (axis + 1) % 3, v = (axis + 2) % 3;
	const int way = rb_orient2d_at(&c->env, t[u], t[v], t[3 + u], t[3 + v], t[6 + u], t[6 + v]);
	rb_number y[3], n[3], dot;

	offset_from(spot, t, y);
	for (int k = 0; k < 3; k++)
	{
		const int i = (k + 1) % 3, j = (k + 2) % 3;
		const double a[2] = {t[i], t[j]}, b[2] = {t[3 + i], t[3 + j]}, d[2] = {t[6 + i], t[6 + j]};

		rb_number_orient2d(&n[k], a, b, d);
	}
	rb_number_dot3(&dot, n, y);
	if (dot.sign != 0)
		return false;
	for (int e = 0; e < 3; e++)
	{
		offset_from(spot, t + 3 * e, y);
		if (turn_of_spot(t + 3 * e, t + 3 * ((e + 1) % 3), y, axis) * way < 0)
			return false;
	}
	return true;
}

bool
rb_implicit_point_on(rb_curve *c, const rb_implicit_point *spot, const rb_part *part)
{
	if (spot->corner)
		return rb_meet_on(spot->at, part->at);
	if (part->corners == 3)
		return on_triangle(c, part->at, spot);
	/* If the part is a point, the intersection is a vertex, which was handled above. */
	return part->corners == 2 && on_segment(part->at, part->at + 3, spot);
}
