/*
 * section_points.c
 *	  Computes with planes of sections and their nodes: signs, order, sides, nearest doubles.
 *
 * A node on the edge from p, below the plane, to q, above it, is
 *
 *		x = (h(q) p - h(p) q) / (h(q) - h(p))
 *
 * with h the height above the plane times the length of the normal. Both weights are positive, so
 * the side of x is known if p and q are on one side.
 *
 * Each number is computed with a bound on its error first, and exactly if that does not decide. The
 * normal of three points has degree 2 in differences of coordinates, heights have degree 3, and
 * coordinates of nodes degree 4 over 3. Their comparison has degree 7, and a side degree 6. The
 * coordinates u and v have directions of degrees 2 and 4, so v has degree 8.
 */
#include "core/solid/sections.h"
#include "core/exact/double_double.h"

_Static_assert(RB_NUMBER_DEGREE(8, 64) + 2 <= RB_NUMBER_WORDS, "room for coordinates in the plane");

/* ---- planes ---- */

/* Sets a number to 0. */
static void
clear_number(rb_number *x)
{
	x->sign = x->n = x->low = 0;
}

/* Returns an interval that contains a bounded number. */
static rb_interval
interval_of_bounded(rb_bounded x)
{
	const double slack = 1.02 * x.error + 0x1p-50 * fabs(x.x.high) + 0x1p-1074;

	if (x.x.low == 0 && x.error == 0)
		return rb_interval_of(x.x.high);
	return (rb_interval){rb_lower(x.x.high - slack), rb_upper(x.x.high + slack)};
}

/* Finds the directions of u and v of a plane that has a normal. */
static void
set_directions(rb_section_plane *p)
{
	rb_number *u = p->direction[0], *v = p->direction[1], square;
	rb_bounded *ru = p->rough_direction[0], *rv = p->rough_direction[1];
	const rb_bounded zero = rb_bounded_of(0);

	/* u is horizontal, and v points upward: u = z x n, v = n x u. */
	if (p->normal[0].sign != 0 || p->normal[1].sign != 0)
	{
		rb_number_copy(&u[0], &p->normal[1]);
		u[0].sign = -u[0].sign;
		rb_number_copy(&u[1], &p->normal[0]);
		clear_number(&u[2]);
		ru[0] = rb_bounded_minus(p->rough[1]);
		ru[1] = p->rough[0];
		ru[2] = zero;
		rb_number_mul(&v[0], &p->normal[0], &p->normal[2]);
		rb_number_mul(&v[1], &p->normal[1], &p->normal[2]);
		v[0].sign = -v[0].sign;
		v[1].sign = -v[1].sign;
		rb_number_mul(&v[2], &p->normal[0], &p->normal[0]);
		rb_number_mul(&square, &p->normal[1], &p->normal[1]);
		rb_number_add(&v[2], &v[2], &square);
		rb_bounded_cross(p->rough, ru, rv);
		/* The square of v is the product of those of u and the normal. */
		rb_number_copy(&p->square[0], &v[2]);
		rb_number_mul(&square, &p->normal[2], &p->normal[2]);
		rb_number_add(&square, &square, &v[2]);
		rb_number_mul(&p->square[1], &square, &v[2]);
	}
	else
	{
		for (int k = 0; k < 3; k++)
		{
			rb_number_of(&u[k], k == 0);
			rb_number_of(&v[k], k == 1 ? p->normal[2].sign : 0);
			ru[k] = rb_bounded_of(k == 0);
			rv[k] = rb_bounded_of(k == 1 ? p->normal[2].sign : 0);
		}
		rb_number_of(&p->square[0], 1);
		rb_number_of(&p->square[1], 1);
	}
	for (int k = 0; k < 2; k++)
		p->rough_length[k] =
			rb_bounded_root(rb_bounded_dot(p->rough_direction[k], p->rough_direction[k]));
}

bool
rb_section_plane_set(rb_section_plane *p, rb_kind kind, const double *coords)
{
	int nonzero = 0;

	p->point = coords;
	if (kind == RB_TRIANGLE3)
	{
		rb_bounded u[3], v[3];

		rb_triangle_normal(p->normal, coords);
		rb_bounded_vector(u, coords + 3, coords);
		rb_bounded_vector(v, coords + 6, coords);
		rb_bounded_cross(u, v, p->rough);
	}
	else
		for (int k = 0; k < 3; k++)
		{
			rb_number_of(&p->normal[k], coords[3 + k]);
			p->rough[k] = rb_bounded_of(coords[3 + k]);
		}
	p->axis = -1;
	p->drop = 0;
	for (int k = 0; k < 3; k++)
	{
		if (p->normal[k].sign == 0)
		{
			p->rough[k] = rb_bounded_of(0);
			continue;
		}
		p->axis = nonzero++ == 0 ? k : -1;
		p->sign = p->normal[k].sign;
		if (p->normal[p->drop].sign == 0 ||
			fabs(p->rough[k].x.high) > fabs(p->rough[p->drop].x.high))
			p->drop = k;
	}
	p->turn = p->normal[p->drop].sign;
	for (int k = 0; k < 3; k++)
		p->range[k] = interval_of_bounded(p->rough[k]);
	if (nonzero > 0)
		set_directions(p);
	return nonzero > 0;
}

/* Computes the height of a point with a bound. */
static rb_bounded
bound_height(const rb_section_plane *plane, const double *p)
{
	rb_bounded from[3];

	rb_bounded_vector(from, p, plane->point);
	return rb_bounded_dot(plane->rough, from);
}

/* Computes the exact height of a point above a plane, times the length of the normal. */
static void
compute_height(rb_number *height, const rb_section_plane *plane, const double *p)
{
	rb_number from[3];

	for (int k = 0; k < 3; k++)
		rb_number_difference(&from[k], p[k], plane->point[k]);
	rb_number_dot3(height, plane->normal, from);
}

int
rb_section_sign(const rb_section_plane *plane, const double *p)
{
	rb_number height;
	int sign;

	if (plane->axis >= 0)
		return plane->sign * ((p[plane->axis] > plane->point[plane->axis]) -
							  (p[plane->axis] < plane->point[plane->axis]));
	sign = rb_bounded_sign(bound_height(plane, p), 0);
	if (sign != 0)
		return sign;
	compute_height(&height, plane, p);
	return height.sign;
}

bool
rb_section_may_cut_box(const rb_section_plane *plane, const double lo[3], const double hi[3])
{
	rb_interval height = rb_interval_of(0);

	for (int k = 0; k < 3; k++)
	{
		const rb_interval from = {rb_sub_lo(lo[k], plane->point[k]),
								  rb_sub_hi(hi[k], plane->point[k])};

		if (plane->normal[k].sign != 0)
			height = rb_interval_add(height, rb_interval_mul(plane->range[k], from));
	}
	return height.lo < 0 && height.hi >= 0;
}

/* ---- nodes ---- */

/* Returns true if a node is a corner in the plane. */
static bool
is_corner(const rb_section_node *node)
{
	return node->below == node->above;
}

/* Computes the positive weights of both ends of a node's edge, and their sum. */
static void
find_weights(const rb_section_plane *plane, const rb_section_node *node, rb_number weight[2],
			 rb_number *sum)
{
	compute_height(&weight[0], plane, node->above);
	compute_height(&weight[1], plane, node->below);
	weight[1].sign = -weight[1].sign;
	rb_number_add(sum, &weight[0], &weight[1]);
}

/* Computes a coordinate of a node as numerator and positive denominator. */
static void
find_coordinate(const rb_section_plane *plane, const rb_section_node *node, int axis,
				rb_number *numerator, rb_number *denominator)
{
	rb_number weight[2], x, product;

	if (is_corner(node))
	{
		rb_number_of(numerator, node->below[axis]);
		rb_number_of(denominator, 1);
		return;
	}
	find_weights(plane, node, weight, denominator);
	rb_number_of(&x, node->below[axis]);
	rb_number_mul(numerator, &weight[0], &x);
	rb_number_of(&x, node->above[axis]);
	rb_number_mul(&product, &weight[1], &x);
	rb_number_add(numerator, numerator, &product);
}

/* Rounds a number within its bound, as rb_round_within does. */
static bool
round_bounded(rb_bounded x, double *result)
{
	return isfinite(x.error) &&
		   rb_round_within(x.x, 1.02 * x.error + 0x1p-104 * fabs(x.x.high), result);
}

/* Computes the fraction of an edge that is below the plane. */
static rb_bounded
bound_fraction(const rb_section_plane *plane, const rb_section_node *node)
{
	const rb_bounded below = bound_height(plane, node->below);

	return rb_bounded_div(rb_bounded_minus(below),
						  rb_bounded_sub(bound_height(plane, node->above), below));
}

void
rb_section_round(const rb_section_plane *plane, rb_section_node *node)
{
	rb_bounded part = rb_bounded_of(0);

	if (!is_corner(node))
		part = bound_fraction(plane, node);
	for (int k = 0; k < 3; k++)
	{
		const double p = node->below[k], q = node->above[k];
		rb_number numerator, denominator;

		/* Adding 0 turns -0 into 0. */
		if (p == q)
			node->at[k] = p + 0.0;
		else if (k == plane->axis)
			node->at[k] = plane->point[k] + 0.0;
		else if (!round_bounded(rb_bounded_add(rb_bounded_of(p),
											   rb_bounded_mul(part, rb_bounded_difference(q, p))),
								&node->at[k]))
		{
			find_coordinate(plane, node, k, &numerator, &denominator);
			node->at[k] = rb_number_round_quotient(&numerator, &denominator) + 0.0;
		}
	}
}

int
rb_section_compare(const rb_section_plane *plane, const rb_section_node *a,
				   const rb_section_node *b, int axis)
{
	rb_number p[2], q[2], left, right;

	/* Rounding preserves the order. */
	if (a->at[axis] != b->at[axis])
		return a->at[axis] < b->at[axis] ? -1 : 1;
	if (a == b || (is_corner(a) && is_corner(b)) || axis == plane->axis)
		return 0;
	find_coordinate(plane, a, axis, &p[0], &p[1]);
	find_coordinate(plane, b, axis, &q[0], &q[1]);
	rb_number_mul(&left, &p[0], &q[1]);
	rb_number_mul(&right, &q[0], &p[1]);
	return rb_number_compare(&left, &right);
}

int
rb_section_side(rb_exact_env *env, const rb_section_plane *plane, const double *t,
				const rb_section_node *node)
{
	const int below = rb_orient3d_at(env, t, t + 3, t + 6, node->below);
	const int above = is_corner(node) ? below : rb_orient3d_at(env, t, t + 3, t + 6, node->above);
	rb_number weight[2], sum, volume, part;

	if (below == above || above == 0)
		return below;
	if (below == 0)
		return above;
	find_weights(plane, node, weight, &sum);
	rb_number_orient3d(&volume, t, t + 3, t + 6, node->below);
	rb_number_mul(&sum, &weight[0], &volume);
	rb_number_orient3d(&volume, t, t + 3, t + 6, node->above);
	rb_number_mul(&part, &weight[1], &volume);
	rb_number_add(&sum, &sum, &part);
	return sum.sign;
}

/* ---- coordinates in the plane ---- */

/*
 * Returns the double nearest to numerator / (denominator * root of square). The root is either
 * rational, or so is no middle of two doubles times it, so that more words decide in the end.
 */
static double
round_over_root(const rb_number *numerator, const rb_number *denominator, const rb_number *square)
{
	rb_number root, product;

	if (numerator->sign == 0)
		return 0;
	if (rb_number_is_square(&root, square))
	{
		rb_number_mul(&product, denominator, &root);
		return rb_number_round_quotient(numerator, &product);
	}
	for (int words = 3;; words *= 2)
	{
		rb_number least = {.sign = 1, .n = 1, .word = {1}}, above;
		double low, high;

		rb_number_root(&root, square, words);
		rb_number_truncate(&root, words);
		least.low = root.low + root.n - words;
		rb_number_add(&above, &root, &least);
		rb_number_mul(&product, denominator, &root);
		low = rb_number_round_quotient(numerator, &product);
		rb_number_mul(&product, denominator, &above);
		high = rb_number_round_quotient(numerator, &product);
		if (low == high || words >= 48)
			return low;
	}
}

void
rb_section_flatten(const rb_section_plane *plane, const rb_section_node *node, double uv[2])
{
	rb_bounded at[3], part = rb_bounded_of(0);

	if (!is_corner(node))
		part = bound_fraction(plane, node);
	for (int k = 0; k < 3; k++)
	{
		at[k] = rb_bounded_difference(node->below[k], plane->point[k]);
		if (node->below[k] != node->above[k])
			at[k] = rb_bounded_add(
				at[k], rb_bounded_mul(part, rb_bounded_difference(node->above[k], node->below[k])));
	}
	for (int i = 0; i < 2; i++)
	{
		rb_number weight[2], sum, from[3], one, other, numerator;

		if (round_bounded(rb_bounded_div(rb_bounded_dot(plane->rough_direction[i], at),
										 plane->rough_length[i]),
						  &uv[i]))
			continue;
		if (is_corner(node))
		{
			rb_number_of(&weight[0], 1);
			clear_number(&weight[1]);
			rb_number_of(&sum, 1);
		}
		else
			find_weights(plane, node, weight, &sum);
		for (int k = 0; k < 3; k++)
		{
			rb_number_difference(&other, node->below[k], plane->point[k]);
			rb_number_mul(&one, &weight[0], &other);
			rb_number_difference(&other, node->above[k], plane->point[k]);
			rb_number_mul(&from[k], &weight[1], &other);
			rb_number_add(&from[k], &from[k], &one);
		}
		rb_number_dot3(&numerator, plane->direction[i], from);
		uv[i] = round_over_root(&numerator, &sum, &plane->square[i]) + 0.0;
	}
}
