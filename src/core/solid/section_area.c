/*
 * section_area.c
 *	  Computes the areas of sections, rounded to nearest.
 *
 * Let a triangle have the corner v on one side of the plane and p and q on the other, the heights h
 * above the plane times the length of the plane's normal n, and the normal N = (p - v) x (q - v),
 * turned outward. With a point o of the plane, twice the area between o and its cut is
 *
 *		|n| |h(v)| (v - o) . N / ((h(p) - h(v)) (h(q) - h(v)))
 *
 * because the cut is the vector n x N times |h(v)| over that denominator, and its plane has the
 * distance (v - o) . N / |N| from o. The sum of these terms over all triangles is twice the area.
 *
 * The sum is computed in double-double arithmetic with bounds first. If that does not decide, its
 * fractions are summed exactly (fractions.c). If |n| is rational, it is a factor of the numerators.
 * Otherwise the area is irrational, so it is never in the middle of two doubles, and enough words
 * of |n| decide.
 */
#include "core/solid/sections.h"
#include "core/exact/fractions.h"

#define LEAST_WORDS 3
#define MOST_WORDS 48
#define INTERVAL 256 /* Triangles between checks for cancellation */

/* Terms of an area, as fractions */
typedef struct area_terms
{
	const rb_section *s;
	rb_number factor;
} area_terms;

/* Returns the corner of a triangle that is alone on its side of the plane, or -1 if none is. */
static int
lone_corner(const rb_section *s, uint32_t triangle)
{
	const int8_t *sign = s->sign + 3 * (size_t) triangle;

	if (s->inward[triangle] == RB_SECTION_FLAT)
		return -1;
	for (int k = 0; k < 3; k++)
		if ((sign[k] < 0) != (sign[(k + 1) % 3] < 0) && (sign[k] < 0) != (sign[(k + 2) % 3] < 0))
			return sign[k] == 0 ? -1 : k;
	return -1;
}

/* Returns corner k of a triangle. */
static const double *
corner_of_triangle(const rb_section *s, uint32_t triangle, int k)
{
	return s->points + 9 * (size_t) triangle + 3 * (k % 3);
}

/* Returns the term of a triangle, without the length of the plane's normal. */
static rb_bounded
bound_term(const rb_section *s, uint32_t triangle, int lone)
{
	const double *v = corner_of_triangle(s, triangle, lone);
	rb_bounded to[2][3], from[3], normal[3], height, rise[2], term;

	rb_bounded_vector(from, v, s->plane->point);
	for (int k = 0; k < 2; k++)
	{
		rb_bounded_vector(to[k], corner_of_triangle(s, triangle, lone + 1 + k), v);
		rise[k] = rb_bounded_dot(s->plane->rough, to[k]);
	}
	rb_bounded_cross(to[0], to[1], normal);
	height = rb_bounded_dot(s->plane->rough, from);
	if (s->sign[3 * (size_t) triangle + (size_t) lone] < 0)
		height = rb_bounded_minus(height);
	term = rb_bounded_div(rb_bounded_mul(height, rb_bounded_dot(from, normal)),
						  rb_bounded_mul(rise[0], rise[1]));
	return s->inward[triangle] == RB_SECTION_INWARD ? rb_bounded_minus(term) : term;
}

/* Computes the term of a triangle times the factor, as a fraction. */
static void
find_area_term(const void *arg, size_t triangle, rb_number *numerator, rb_number *denominator)
{
	const area_terms *a = arg;
	const rb_section *s = a->s;
	const int lone = lone_corner(s, (uint32_t) triangle);
	const double *v;
	rb_number from[3], normal[3], to[3], rise[2], height, product;

	if (lone < 0)
	{
		numerator->sign = numerator->n = numerator->low = 0;
		rb_number_of(denominator, 1);
		return;
	}
	v = corner_of_triangle(s, (uint32_t) triangle, lone);
	for (int k = 0; k < 2; k++)
	{
		const double *p = corner_of_triangle(s, (uint32_t) triangle, lone + 1 + k);

		for (int i = 0; i < 3; i++)
			rb_number_difference(&to[i], p[i], v[i]);
		rb_number_dot3(&rise[k], s->plane->normal, to);
	}
	rb_number_mul(denominator, &rise[0], &rise[1]);
	for (int i = 0; i < 3; i++)
		rb_number_difference(&from[i], v[i], s->plane->point[i]);
	rb_number_dot3(&height, s->plane->normal, from);
	height.sign = 1;
	rb_triangle_normal(normal, s->points + 9 * triangle);
	rb_number_dot3(&product, from, normal);
	rb_number_mul(&rise[0], &height, &product);
	rb_number_mul(numerator, &rise[0], &a->factor);
	if (s->inward[triangle] == RB_SECTION_INWARD)
		numerator->sign = -numerator->sign;
}

/* Computes the area in double-double arithmetic. Returns false if its rounding is not decided. */
static bool
round_rough_area(const rb_section *s, double *area)
{
	const rb_bounded *n = s->plane->rough;
	rb_bounded sum = rb_bounded_of(0);

	for (uint32_t i = 0; i < s->n; i++)
	{
		const int lone = lone_corner(s, i);

		if (lone >= 0)
			sum = rb_bounded_add(sum, bound_term(s, i, lone));
	}
	sum = rb_bounded_mul(
		rb_bounded_mul(sum, rb_bounded_of(0.5)),
		s->plane->axis >= 0 ? (rb_bounded){{fabs(n[s->plane->axis].x.high),
											n[s->plane->axis].x.high < 0 ? -n[s->plane->axis].x.low
																		 : n[s->plane->axis].x.low},
										   n[s->plane->axis].error}
							: rb_bounded_root(rb_bounded_dot(n, n)));
	return isfinite(sum.error) &&
		   rb_round_within(sum.x, 1.02 * sum.error + 0x1p-104 * fabs(sum.x.high), area);
}

/* Fails if a fraction has too many words to be summed. */
static rb_status
check_sizes(const rb_section *s, const area_terms *a)
{
	rb_number numerator, denominator;

	for (uint32_t i = 0; i < s->n; i++)
	{
		if (rb_stop_due(s->ctx, i, INTERVAL))
			return RB_STOPPED;
		find_area_term(a, i, &numerator, &denominator);
		if (numerator.n > RB_FRACTION_WORDS - MOST_WORDS || denominator.n > RB_FRACTION_WORDS)
			return rb_fail(s->ctx, RB_BAD_GEOMETRY, 0, 0,
						   "The coordinates of a section differ too much in size to compute its "
						   "area.");
	}
	return RB_OK;
}

/* Computes the area exactly. */
static rb_status
find_exact_area(const rb_section *s, double *area)
{
	area_terms a = {.s = s};
	const rb_fractions f = {s->n, find_area_term, &a};
	rb_number square, root, half;

	rb_number_of(&a.factor, 1);
	RB_TRY(check_sizes(s, &a));
	rb_number_of(&half, 0.5);
	rb_number_dot3(&square, s->plane->normal, s->plane->normal);
	if (rb_number_is_square(&root, &square))
	{
		rb_number_mul(&a.factor, &root, &half);
		return rb_fractions_round(s->ctx, &f, area);
	}
	for (int words = LEAST_WORDS;; words *= 2)
	{
		rb_number least = {.sign = 1, .n = 1, .word = {1}}, above;
		double high;

		rb_number_root(&root, &square, words);
		rb_number_truncate(&root, words);
		least.low = root.low + root.n - words;
		rb_number_add(&above, &root, &least);
		rb_number_mul(&a.factor, &root, &half);
		RB_TRY(rb_fractions_round(s->ctx, &f, area));
		rb_number_mul(&a.factor, &above, &half);
		RB_TRY(rb_fractions_round(s->ctx, &f, &high));
		if (*area == high || 2 * words > MOST_WORDS)
			return RB_OK;
	}
}

rb_status
rb_section_area(rb_section *s, double *area)
{
	if (!round_rough_area(s, area))
		RB_TRY(find_exact_area(s, area));
	*area = rb_max(*area, 0x1p-1074);
	return RB_OK;
}
