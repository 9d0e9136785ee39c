/*
 * contact_area.c
 *	  Computes the area that the boundaries of two solids share, rounded to nearest.
 *
 * The area is the sum of the common areas of coplanar triangles. In the projection along the axis
 * in which the normal n is longest, with both triangles counterclockwise and coordinates relative to
 * one point, twice the common area is
 *
 *		2 P = sum of cross(u, v) over the edges uv of either triangle whose end v is in the other one
 *				+ sum over crossings of a red edge e and a blue edge h of
 *					s (cross(e) t_e - cross(h) t_h)
 *
 * where s is 1 if e leaves the blue triangle, and -1 if it enters it, and t_e and t_h are the
 * fractions of the edges before the crossing. (W. R. Franklin et al.: Geometric and spatial analyses
 * with overlays of polygons, 1994.) The blue triangle is moved by (e, e^2) with an infinitesimal e,
 * as in overlap.c. The common area in space is 2 P |n| / (2 |n_axis|), a rational number times a
 * root.
 *
 * Sums in double-double arithmetic decide most results, and longer numbers the others. No precision
 * decides a sum that is exactly in the middle of two doubles. But all terms are positive, so the sum
 * is rational only if each root is (measures.c), and then it is compared exactly, by residues.
 */
#include "core/solid/contact_area.h"
#include "core/exact/bounded.h"
#include "core/exact/fractions.h"
#include "core/exact/residue.h"
#include "core/primitive/contact.h"
#include "core/solid/solid.h"

#include <math.h>

#define CHECK_INTERVAL 64 /* Pairs of triangles between checks for cancellation */

/* How two coplanar triangles lie relative to each other, in projection */
typedef struct flat_shape
{
	int axis;
	const double *corner[2][3]; /* Corners of red and of blue, counterclockwise */
	bool inside[2][3];          /* True if that corner is in the other triangle */
	int crossing[3][3]; /* 1 if red edge i leaves blue at its edge k, -1 if it enters it; or 0 */
} flat_shape;

/* Returns the axis in which the normal of a triangle is longest, or nearly so. */
static int
longest_axis(rb_exact_env *env, const double *t)
{
	double most = 0;
	int axis = -1;

	for (int a = 0; a < 3; a++)
	{
		const int u = (a + 1) % 3, v = (a + 2) % 3;
		const double n =
			fabs((t[3 + u] - t[u]) * (t[6 + v] - t[v]) - (t[3 + v] - t[v]) * (t[6 + u] - t[u]));

		if (n > most && rb_turn(env, a, t, t + 3, t + 6) != 0)
		{
			most = n;
			axis = a;
		}
	}
	return axis >= 0 ? axis : rb_projection_axis(env, t, t + 3, t + 6);
}

/* Finds the signs of all corners and edges. */
static void
find_flat_shape(rb_exact_env *env, const rb_flat_pair *pair, flat_shape *s)
{
	const double *triangle[2] = {pair->red, pair->blue};
	int side[2][3][3]; /* Side of edge i of the triangle on which corner k of the other one lies */

	s->axis = longest_axis(env, pair->red);
	for (int n = 0; n < 2; n++)
	{
		const double *t = triangle[n];
		const bool turned = rb_turn(env, s->axis, t, t + 3, t + 6) < 0;

		for (int k = 0; k < 3; k++)
			s->corner[n][k] = t + 3 * (turned ? 2 - k : k);
	}
	for (int n = 0; n < 2; n++)
		for (int i = 0; i < 3; i++)
			for (int k = 0; k < 3; k++)
				side[n][i][k] =
					rb_side_in_moved_projection(env, s->axis, s->corner[!n][k], s->corner[n][i],
												s->corner[n][(i + 1) % 3], n == 1 ? 1 : -1);
	for (int n = 0; n < 2; n++)
		for (int k = 0; k < 3; k++)
			s->inside[n][k] = side[!n][0][k] > 0 && side[!n][1][k] > 0 && side[!n][2][k] > 0;
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
		{
			const int from = side[1][k][i];
			const bool apart =
				from != side[1][k][(i + 1) % 3] && side[0][i][k] != side[0][i][(k + 1) % 3];

			s->crossing[i][k] = apart ? from : 0;
		}
}

/* ---- sums in double-double arithmetic ---- */

/* Returns (b - a) x (d - c) in the projection. */
static rb_bounded
bounded_cross(int axis, const double *a, const double *b, const double *c, const double *d)
{
	const int u = (axis + 1) % 3, v = (axis + 2) % 3;

	return rb_bounded_add(
		rb_bounded_mul(rb_bounded_difference(b[u], a[u]), rb_bounded_difference(d[v], c[v])),
		rb_bounded_minus(
			rb_bounded_mul(rb_bounded_difference(b[v], a[v]), rb_bounded_difference(d[u], c[u]))));
}

/* Returns the common area. */
static rb_bounded
bounded_area(const flat_shape *s)
{
	const double *o = s->corner[0][0], *const *red = s->corner[0], *const *blue = s->corner[1];
	rb_bounded sum = {{0, 0}, 0}, square = {{0, 0}, 0}, normal;

	for (int n = 0; n < 2; n++)
		for (int k = 0; k < 3; k++)
			if (s->inside[n][(k + 1) % 3])
				sum = rb_bounded_add(
					sum, bounded_cross(s->axis, o, s->corner[n][k], o, s->corner[n][(k + 1) % 3]));
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
		{
			const double *a = red[i], *b = red[(i + 1) % 3], *x = blue[k], *y = blue[(k + 1) % 3];
			rb_bounded top, below;

			if (s->crossing[i][k] == 0)
				continue;
			/* t_e = (y - x) x (a - x) / below, and t_h = -(b - a) x (x - a) / below */
			below = bounded_cross(s->axis, a, b, x, y);
			top = rb_bounded_add(rb_bounded_mul(bounded_cross(s->axis, o, a, o, b),
												bounded_cross(s->axis, x, y, x, a)),
								 rb_bounded_mul(bounded_cross(s->axis, o, x, o, y),
												bounded_cross(s->axis, a, b, a, x)));
			if (s->crossing[i][k] < 0)
				top = rb_bounded_minus(top);
			sum = rb_bounded_add(sum, rb_bounded_div(top, below));
		}
	for (int a = 0; a < 3; a++)
	{
		normal = bounded_cross(a, o, red[1], o, red[2]);
		square = rb_bounded_add(square, rb_bounded_mul(normal, normal));
	}
	normal = bounded_cross(s->axis, o, red[1], o, red[2]);
	return rb_bounded_div(rb_bounded_mul(sum, rb_bounded_root(square)),
						  rb_bounded_add(normal, normal));
}

/* Sums all areas. Sets *decided to false if more precision is needed. */
static rb_status
sum_areas_roughly(rb_context *ctx, rb_exact_env *env, const rb_flat_pair *pairs, size_t n,
				  double *area, bool *decided)
{
	rb_bounded sum = {{0, 0}, 0};

	for (size_t i = 0; i < n; i++)
	{
		flat_shape s;

		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		find_flat_shape(env, &pairs[i], &s);
		sum = rb_bounded_add(sum, bounded_area(&s));
	}
	*decided =
		sum.x.high > 0x1p-900 &&
		rb_round_within(sum.x, 1.01 * sum.error + 4 * RB_EPS_DOUBLE_DOUBLE * sum.x.high, area);
	return RB_OK;
}

/* ---- exact numbers ---- */

#define LEAST_WORDS 3
#define MOST_WORDS RB_SIZE(96, 12)

_Static_assert(RB_NUMBER_DEGREE(2, 8) + 2 * MOST_WORDS + 8 <= RB_NUMBER_WORDS,
			   "room for a sum of truncated quotients, times a truncated root");

/* Sets r = (b - a) x (d - c) in the projection. */
static void
find_cross(rb_number *r, int axis, const double *a, const double *b, const double *c,
		   const double *d)
{
	const int u = (axis + 1) % 3, v = (axis + 2) % 3;
	rb_number p, q, s, t;

	rb_number_difference(&p, b[u], a[u]);
	rb_number_difference(&q, b[v], a[v]);
	rb_number_difference(&s, d[u], c[u]);
	rb_number_difference(&t, d[v], c[v]);
	rb_number_det2(r, &p, &q, &s, &t);
}

/* Sets r = ((a - o) x (b - o)) ((y - x) x (to - x)) in the projection. */
static void
find_product_of_crosses(rb_number *r, int axis, const double *o, const double *a, const double *b,
						const double *x, const double *y, const double *to)
{
	rb_number first, second;

	find_cross(&first, axis, o, a, o, b);
	find_cross(&second, axis, x, y, x, to);
	rb_number_mul(r, &first, &second);
}

/* Finds the fraction that a crossing adds to twice the common area in projection. */
static void
find_crossing(rb_number *top, rb_number *below, const flat_shape *s, int i, int k)
{
	const double *o = s->corner[0][0], *const *red = s->corner[0], *const *blue = s->corner[1];
	const double *a = red[i], *b = red[(i + 1) % 3], *x = blue[k], *y = blue[(k + 1) % 3];
	rb_number other;

	find_cross(below, s->axis, a, b, x, y);
	find_product_of_crosses(top, s->axis, o, a, b, x, y, a);
	find_product_of_crosses(&other, s->axis, o, x, y, a, b, x);
	rb_number_add(top, top, &other);
	top->sign *= s->crossing[i][k];
}

/* Sums the terms of the corners, an exact number. */
static void
add_corners(rb_number *sum, const flat_shape *s)
{
	const double *o = s->corner[0][0];
	rb_number x;

	sum->sign = sum->n = sum->low = 0;
	for (int n = 0; n < 2; n++)
		for (int k = 0; k < 3; k++)
			if (s->inside[n][(k + 1) % 3])
			{
				find_cross(&x, s->axis, o, s->corner[n][k], o, s->corner[n][(k + 1) % 3]);
				rb_number_add(sum, sum, &x);
			}
}

/* Finds the square of the length of the normal, and the normal's component along the axis. */
static void
find_normal_of_shape(rb_number *square, rb_number *component, const flat_shape *s)
{
	rb_number normal[3];

	for (int a = 0; a < 3; a++)
		find_cross(&normal[a], a, s->corner[0][0], s->corner[0][1], s->corner[0][0],
				   s->corner[0][2]);
	rb_number_dot3(square, normal, normal);
	rb_number_copy(component, &normal[s->axis]);
}

/* Adds a lower and an upper bound on the common area to the sums. */
static void
add_bounds_of_area(rb_number bound[2], const flat_shape *s, int words)
{
	rb_number sum, error, top, below, x, root, least;

	add_corners(&sum, s);
	error.sign = error.n = error.low = 0;
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
		{
			if (s->crossing[i][k] == 0)
				continue;
			find_crossing(&top, &below, s, i, k);
			if (top.sign == 0)
				continue;
			rb_number_div(&x, &top, &below, words);
			rb_number_truncate(&x, words);
			rb_number_add(&sum, &sum, &x);
			/* The error is below the unit of the lowest word. */
			rb_number_of_parts(&x, 1, 64 * (x.low + x.n - words));
			rb_number_add(&error, &error, &x);
			rb_number_add(&error, &error, &x);
		}
	find_normal_of_shape(&top, &below, s);
	rb_number_root(&root, &top, words);
	rb_number_truncate(&root, words);
	rb_number_of_parts(&least, 1, 64 * (root.low + root.n - words));
	rb_number_add(&least, &least, &least);
	rb_number_add(&below, &below, &below);
	for (int k = 0; k < 2; k++)
	{
		if (k == 0)
			rb_number_sub(&x, &sum, &error);
		else
		{
			rb_number_add(&x, &sum, &error);
			rb_number_add(&root, &root, &least);
		}
		if (x.sign <= 0)
			continue;
		rb_number_mul(&top, &x, &root);
		rb_number_div(&x, &top, &below, words);
		rb_number_truncate(&x, words);
		rb_number_add(&bound[k], &bound[k], &x);
		if (k == 1)
		{
			rb_number_of_parts(&top, 1, 64 * (x.low + x.n - words));
			rb_number_add(&bound[k], &bound[k], &top);
			rb_number_add(&bound[k], &bound[k], &top);
		}
	}
}

/* Sets *rational to true if the lengths of all normals are rational. */
static rb_status
find_whether_areas_are_rational(rb_context *ctx, rb_exact_env *env, const rb_flat_pair *pairs,
								size_t n, bool *rational)
{
	rb_number square, component, root;

	*rational = true;
	for (size_t i = 0; i < n && *rational; i++)
	{
		flat_shape s;

		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		find_flat_shape(env, &pairs[i], &s);
		find_normal_of_shape(&square, &component, &s);
		*rational = rb_number_is_square(&root, &square);
	}
	return RB_OK;
}

/* ---- exact comparison of a rational sum ---- */

/*
 * Comparison of a sum with the middle of two doubles. Its integer is the product of all denominators
 * and a difference: the sum of |n| 2 P / |n_axis| minus the sum of both doubles. Coordinates times
 * 2^shift are integers.
 */
typedef struct area_comparison
{
	const rb_flat_pair *pairs;
	size_t n;
	const rb_number *middles; /* The sum of both doubles */
	int shift;
	int more; /* The sum of both doubles times 2^(2 shift + more) is an integer */
} area_comparison;

/* Computes the residue of the difference times the denominators. */
static rb_status
find_residue_of_areas(rb_context *ctx, const void *arg, const rb_prime *m, uint64_t *residue,
					  bool *usable)
{
	const area_comparison *c = arg;
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	uint64_t sum = 0, common = m->one;
	rb_number top, below, root;

	*usable = true;
	for (size_t i = 0; i < c->n; i++)
	{
		flat_shape s;
		uint64_t area;

		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		find_flat_shape(&env, &c->pairs[i], &s);
		add_corners(&top, &s);
		area = rb_residue_of_number(m, &top, 2 * c->shift);
		for (int k = 0; k < 9; k++)
		{
			uint64_t d;

			if (s.crossing[k / 3][k % 3] == 0)
				continue;
			find_crossing(&top, &below, &s, k / 3, k % 3);
			d = rb_residue_of_number(m, &below, 2 * c->shift);
			common = rb_residue_mul(m, common, d);
			if (d != 0)
				area = rb_residue_add(m, area,
									  rb_residue_mul(m, rb_residue_of_number(m, &top, 4 * c->shift),
													 rb_residue_inverse(m, d)));
		}
		find_normal_of_shape(&top, &below, &s);
		(void) rb_number_is_square(&root, &top);
		area = rb_residue_mul(m, area, rb_residue_of_number(m, &root, 2 * c->shift));
		area = rb_residue_mul(m, area, rb_residue_of(m, 1, c->more));
		{
			const uint64_t d = rb_residue_of_number(m, &below, 2 * c->shift);

			common = rb_residue_mul(m, common, d);
			if (d != 0)
				area = rb_residue_mul(m, area, rb_residue_inverse(m, d));
		}
		sum = rb_residue_add(m, sum, area);
	}
	*usable = common != 0;
	sum = rb_residue_sub(m, sum, rb_residue_of_number(m, c->middles, 2 * c->shift + c->more));
	*residue = rb_residue_mul(m, sum, common);
	return RB_OK;
}

/* Pairs whose common areas are compared */
typedef struct areas
{
	rb_exact_env *env;
	const rb_flat_pair *pairs;
	size_t n;
} areas;

/* Compares a rational sum with the middle of two doubles. */
static rb_status
compare_areas(rb_context *ctx, const void *arg, double low, double high, int *sign)
{
	const areas *all = arg;
	area_comparison c = {.pairs = all->pairs, .n = all->n};
	rb_number middles, top, below;
	bool negative = false;
	uint64_t bits;

	rb_number_of(&middles, low);
	if (high <= DBL_MAX)
		rb_number_of(&top, high);
	else
		rb_number_of_parts(&top, 1, 1024);
	rb_number_add(&middles, &middles, &top);
	c.middles = &middles;
	for (size_t i = 0; i < all->n; i++)
		for (int k = 0; k < 9; k++)
		{
			c.shift = rb_max(c.shift, rb_double_places(all->pairs[i].red[k]));
			c.shift = rb_max(c.shift, rb_double_places(all->pairs[i].blue[k]));
		}
	c.more = rb_max(rb_number_places(&middles) - 2 * c.shift, 0);
	/* The sum is at most the upper bound, and at least 0. */
	bits = (uint64_t) rb_max(2 * c.shift + c.more + 1026, 0) + 2;
	for (size_t i = 0; i < all->n; i++)
	{
		flat_shape s;

		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		find_flat_shape(all->env, &all->pairs[i], &s);
		for (int k = 0; k < 9; k++)
			if (s.crossing[k / 3][k % 3] != 0)
			{
				find_crossing(&top, &below, &s, k / 3, k % 3);
				bits += (uint64_t) (rb_number_bits(&below) + 2 * c.shift);
				negative = negative != (below.sign < 0);
			}
		find_normal_of_shape(&top, &below, &s);
		bits += (uint64_t) (rb_number_bits(&below) + 2 * c.shift);
		negative = negative != (below.sign < 0);
	}
	RB_TRY(rb_integer_sign(ctx, bits, find_residue_of_areas, &c, sign));
	*sign = negative ? -*sign : *sign;
	return RB_OK;
}

/* ---- faces that count ---- */

bool
rb_are_faces_flush(rb_exact_env *env, const rb_flat_pair *pair, bool red_inward, bool blue_inward)
{
	const double *red = pair->red, *blue = pair->blue;
	const int axis = rb_projection_axis(env, red, red + 3, red + 6);
	const bool same =
		rb_turn(env, axis, red, red + 3, red + 6) == rb_turn(env, axis, blue, blue + 3, blue + 6);

	return same == (red_inward == blue_inward);
}

/* ---- the sum ---- */

/* Sums bounds on all areas, each computed to `words` words, and rounds both sums. */
static rb_status
bound_sum_of_areas(rb_context *ctx, rb_exact_env *env, const rb_flat_pair *pairs, size_t n,
				   int words, double bounds[2])
{
	rb_number bound[2] = {{.sign = 0}, {.sign = 0}};

	for (size_t i = 0; i < n; i++)
	{
		flat_shape s;

		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		find_flat_shape(env, &pairs[i], &s);
		add_bounds_of_area(bound, &s, words);
	}
	for (int k = 0; k < 2; k++)
		bounds[k] = rb_number_round(&bound[k]);
	return RB_OK;
}

rb_status
rb_contact_area(rb_context *ctx, rb_exact_env *env, const rb_flat_pair *pairs, size_t n,
				double *area)
{
	areas all = {.env = env, .pairs = pairs, .n = n};
	bool decided, rational = false;
	double b[2];

	*area = 0;
	if (n == 0)
		return RB_OK;
	RB_TRY(sum_areas_roughly(ctx, env, pairs, n, area, &decided));
	for (int words = LEAST_WORDS; !decided; words = rb_min(2 * words, MOST_WORDS))
	{
		RB_TRY(bound_sum_of_areas(ctx, env, pairs, n, words, b));
		*area = b[0];
		decided = b[0] == b[1];
		if (decided)
			break;
		if (words == LEAST_WORDS)
			RB_TRY(find_whether_areas_are_rational(ctx, env, pairs, n, &rational));
		if (rational && (words == MOST_WORDS || nextafter(b[0], HUGE_VAL) == b[1]))
		{
			/* The bounds may have been rounded beyond the sum. */
			if (nextafter(b[0], HUGE_VAL) != b[1])
			{
				b[0] = nextafter(rb_min(b[0], DBL_MAX), 0);
				b[1] = nextafter(b[1], HUGE_VAL);
			}
			RB_TRY(rb_nearest_double(ctx, compare_areas, &all, b[0], b[1], area));
			break;
		}
		if (words == MOST_WORDS)
			return rb_fail(ctx, RB_BAD_GEOMETRY, 0, 0,
						   "An area is so close to the midpoint of two doubles that 6,000 bits "
						   "cannot decide which one is nearer.");
	}
	*area = rb_max(*area, 0x1p-1074);
	return RB_OK;
}
