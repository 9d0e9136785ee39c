/*
 * gmp_distance.c
 *	  Computes distances between two convex hulls of up to three vertices each, exactly.
 *
 * The squared distance is a fraction p / q of integers, and every predicate on it is a sign: of p -
 * d^2 q for a number d, or of p q' - p' q for another pair. So there is no division and no square
 * root: the nearest double is found by bisection, with the midpoints between doubles as d.
 *
 * Points x in red and y in blue are nearest points if, with g = x - y,
 *
 *		g . (a - x) >= 0 for each vertex a of red,	g . (b - y) <= 0 for each b of blue,
 *
 * because the slab between the planes through x and y normal to g then has red on one side and blue
 * on the other, so no two of their points are closer than |g|. The pairs (x, y) of nearest points
 * form a polytope. Take a vertex of it: x and y lie in the relative interiors of the hulls F of
 * some vertices of red and G of some of blue, with as few vertices as possible. They are then the
 * only nearest points of the two flats spanned by F and G; otherwise one could move on along a
 * line. Where the hulls do not meet, F and G are therefore
 *
 *		vertex, vertex		g = r, their difference
 *		vertex, edge u		g = (u . u) r - (u . r) u
 *		vertex, face u v	g = u x v, up to the sign
 *		edge u, edge v		g = u x v, and not 0
 *
 * and the conditions above are signs of integers. The first F and G that satisfy them give the
 * distance. Degenerate triangles and points need no special case, because the hulls of fewer
 * vertices are among these. If no F and G satisfy them, the hulls meet.
 *
 * All numbers are exact (bignum.h), in units of the largest power of two that divides all
 * coordinates; they thus start at word 0 and are one word shorter. p has degree 6 in the
 * differences of coordinates, q has degree 4.
 */
#include "core/exact/gmp_exact.h"
#include "core/exact/bignum.h"

#include <string.h>

/*
 * A term of u x v is a sum of two products, a dot product a sum of three: 3 bits for g . r, so 6
 * for p; 2 + 2 for q. The longest numbers are p q' and a difference of two such products. A number
 * d has two words.
 */
_Static_assert(RB_NUMBER_DEGREE(6, 6) + RB_NUMBER_DEGREE(4, 4) <= RB_NUMBER_WORDS &&
				   RB_NUMBER_DEGREE(10, 10) + 2 <= RB_NUMBER_WORDS &&
				   RB_NUMBER_DEGREE(4, 4) + 4 <= RB_NUMBER_WORDS &&
				   RB_NUMBER_DEGREE(6, 6) + 4 <= RB_NUMBER_WORDS,
			   "room for all that is compared");

/*
 * Two hulls in units of 2^unit, translated so that the first vertex is the origin, and their
 * squared distance p / q
 */
typedef struct measure
{
	int unit;
	int n[2];
	rb_number corner[2][3][3];
	rb_number p;
	rb_number q;
} measure;

/* ---- vectors ---- */

/* Subtracts two vectors of exact coordinates of hulls: r = a - b. */
static void
subtract_hull_vectors(rb_number *r, const rb_number *a, const rb_number *b)
{
	for (int i = 0; i < 3; i++)
		rb_number_sub(&r[i], &a[i], &b[i]);
}

/* Computes the cross product of two vectors of exact numbers. */
static void
cross_exact_vectors(rb_number *r, const rb_number *a, const rb_number *b)
{
	for (int i = 0; i < 3; i++)
	{
		int j = (i + 1) % 3, k = (i + 2) % 3;

		rb_number_det2(&r[i], &a[j], &a[k], &b[j], &b[k]);
	}
}

/* Returns true if 0 <= x <= y. */
static bool
is_number_between(const rb_number *x, const rb_number *y)
{
	rb_number rest;

	if (x->sign < 0)
		return false;
	rb_number_sub(&rest, y, x);
	return rest.sign >= 0;
}

/* ---- the nearest features ---- */

/* Returns corner i of a hull, counted cyclically. */
static const rb_number *
get_hull_corner(const measure *m, int side, int i)
{
	return m->corner[side][i < m->n[side] ? i : i - m->n[side]];
}

/* Returns true if no vertex of the side lies behind vertex `at` in the direction sign * g. */
static bool
is_hull_in_front(const measure *m, int side, int at, const rb_number *g, int sign)
{
	for (int i = 0; i < m->n[side]; i++)
	{
		rb_number w[3], height;

		if (i == at)
			continue;
		subtract_hull_vectors(w, m->corner[side][i], m->corner[side][at]);
		rb_number_dot3(&height, w, g);
		if (height.sign * sign < 0)
			return false;
	}
	return true;
}

/*
 * Returns true if the foot of the perpendicular from r lies in a face. u and v are two edges of the
 * face with a common origin, from which r is measured, and g = u x v.
 */
static bool
is_foot_over_face(const rb_number *r, const rb_number *u, const rb_number *v, const rb_number *g,
				  const rb_number *q)
{
	rb_number w[3], s, t;

	cross_exact_vectors(w, r, v);
	rb_number_dot3(&s, w, g);
	cross_exact_vectors(w, u, r);
	rb_number_dot3(&t, w, g);
	if (s.sign < 0 || t.sign < 0)
		return false;
	rb_number_add(&s, &s, &t);
	return is_number_between(&s, q);
}

/*
 * Returns true if the lines from 0 along u and from r along v, g = u x v, are nearest to each other
 * within the edges u and v.
 */
static bool
is_nearest_over_edges(const rb_number *r, const rb_number *u, const rb_number *v,
					  const rb_number *g, const rb_number *q)
{
	rb_number w[3], s;

	cross_exact_vectors(w, v, g);
	rb_number_dot3(&s, w, r);
	if (!is_number_between(&s, q))
		return false;
	cross_exact_vectors(w, u, g);
	rb_number_dot3(&s, w, r);
	return is_number_between(&s, q);
}

/*
 * Returns true if the two features are the nearest ones of the hulls, and sets p and q from them.
 */
static bool
are_features_nearest(measure *m, rb_feature red, rb_feature blue)
{
	const rb_feature of[2] = {red, blue};
	rb_number g[3], u[2][3], v[3], r[3], height, rest;

	for (int side = 0; side < 2; side++)
		if (of[side].dim > 0)
			subtract_hull_vectors(u[side], get_hull_corner(m, side, of[side].at + 1),
								  get_hull_corner(m, side, of[side].at));
	/* r points from blue to red, like g */
	subtract_hull_vectors(r, get_hull_corner(m, 0, red.at), get_hull_corner(m, 1, blue.at));

	if (red.dim + blue.dim == 0)
	{
		subtract_hull_vectors(g, get_hull_corner(m, 0, red.at), get_hull_corner(m, 1, blue.at));
		rb_number_dot3(&m->p, g, g);
		rb_number_of(&m->q, 1);
	}
	else if (red.dim + blue.dim == 1)
	{
		const rb_number *edge = u[blue.dim];

		rb_number_dot3(&m->q, edge, edge);
		rb_number_dot3(&height, edge, r);
		if (m->q.sign == 0)
			return false;
		if (red.dim == 1)
			height.sign = -height.sign;
		if (!is_number_between(&height, &m->q))
			return false;
		if (red.dim == 1)
			height.sign = -height.sign;
		for (int i = 0; i < 3; i++)
		{
			rb_number_mul(&g[i], &r[i], &m->q);
			rb_number_mul(&rest, &edge[i], &height);
			rb_number_sub(&g[i], &g[i], &rest);
		}
		/* the part of |r|^2 normal to the edge */
		rb_number_dot3(&m->p, g, r);
	}
	else
	{
		bool faced;

		if (red.dim == 1)
		{
			cross_exact_vectors(g, u[0], u[1]);
			rb_number_dot3(&m->q, g, g);
			if (m->q.sign == 0)
				return false;
			for (int i = 0; i < 3; i++)
				r[i].sign = -r[i].sign;
			faced = is_nearest_over_edges(r, u[0], u[1], g, &m->q);
			for (int i = 0; i < 3; i++)
				r[i].sign = -r[i].sign;
		}
		else
		{
			int side = red.dim == 2 ? 0 : 1;

			subtract_hull_vectors(v, get_hull_corner(m, side, of[side].at + 2),
								  get_hull_corner(m, side, of[side].at));
			cross_exact_vectors(g, u[side], v);
			rb_number_dot3(&m->q, g, g);
			if (m->q.sign == 0)
				return false;
			for (int i = 0; i < 3 && side == 0; i++)
				r[i].sign = -r[i].sign;
			faced = is_foot_over_face(r, u[side], v, g, &m->q);
			for (int i = 0; i < 3 && side == 0; i++)
				r[i].sign = -r[i].sign;
		}
		if (!faced)
			return false;
		rb_number_dot3(&height, r, g);
		rb_number_mul(&m->p, &height, &height);
		for (int i = 0; i < 3 && height.sign < 0; i++)
			g[i].sign = -g[i].sign;
	}
	return m->p.sign != 0 && is_hull_in_front(m, 0, red.at, g, 1) &&
		   is_hull_in_front(m, 1, blue.at, g, -1);
}

/* Returns how many vertices, edges or faces (dim 0, 1 or 2) a hull of n corners has. */
static int
count_hull_features(int n, int dim)
{
	return dim == 0 ? n : dim == 1 ? (n == 3 ? 3 : n - 1) : n == 3;
}

/*
 * Finds the nearest features of both hulls: those of the guess, or else the first pair that passes.
 */
static void
find_nearest_features(measure *m, const rb_feature *guess)
{
	static const int dims[6][2] = {{0, 2}, {2, 0}, {0, 1}, {1, 0}, {0, 0}, {1, 1}};

	if (are_features_nearest(m, guess[0], guess[1]))
		return;
	for (int k = 0; k < 6; k++)
		for (int i = 0; i < count_hull_features(m->n[0], dims[k][0]); i++)
			for (int j = 0; j < count_hull_features(m->n[1], dims[k][1]); j++)
			{
				rb_feature red = {dims[k][0], i}, blue = {dims[k][1], j};

				if (are_features_nearest(m, red, blue))
					return;
			}
	rb_number_of(&m->p, 0);
	rb_number_of(&m->q, 1);
}

#define NO_UNIT 2000 /* above the exponent of any double */

/* Returns the exponent of the common unit of both hulls and of `unit`. */
static int
common_unit_of_hulls(int unit, const rb_hulls *h)
{
	for (int i = 0; i < h->n[0] + h->n[1]; i++)
		for (int a = 0; a < 3; a++)
		{
			uint64_t mantissa;
			int exponent;

			rb_number_split_double(h->corner[i][a], &mantissa, &exponent);
			if (mantissa == 0)
				continue;
			exponent += __builtin_ctzll(mantissa);
			unit = exponent < unit ? exponent : unit;
		}
	return unit;
}

/*
 * Converts a coordinate to an exact number of units of 2^unit, the common grid of two hulls whose
 * distance is computed.
 */
static void
count_distance_units(rb_number *r, double x, int unit)
{
	uint64_t mantissa;
	int exponent;

	rb_number_split_double(x, &mantissa, &exponent);
	rb_number_of_parts(r, mantissa, exponent - unit);
	if (x < 0)
		r->sign = -1;
}

/* Converts the corners of two hulls to exact numbers and finds their nearest features. */
static __attribute__((noinline)) void
measure_hulls_exactly(measure *m, const rb_hulls *h, int unit)
{
	rb_number origin[3], x;

	m->unit = unit;
	for (int a = 0; a < 3; a++)
		count_distance_units(&origin[a], h->corner[0][a], unit);
	for (int side = 0; side < 2; side++)
	{
		m->n[side] = h->n[side];
		for (int i = 0; i < h->n[side]; i++)
			for (int a = 0; a < 3; a++)
			{
				count_distance_units(&x, h->corner[side == 0 ? i : h->n[0] + i][a], unit);
				rb_number_sub(&m->corner[side][i][a], &x, &origin[a]);
			}
	}
	find_nearest_features(m, h->guess);
}

/* ---- comparisons with a number ---- */

/* Returns the sign of the distance minus mantissa * 2^exponent. */
static int
sign_of_distance_minus(const measure *m, uint64_t mantissa, int exponent)
{
	rb_number d, square, product;

	rb_number_of_parts(&d, mantissa, exponent - m->unit);
	rb_number_mul(&square, &d, &d);
	rb_number_mul(&product, &m->q, &square);
	return rb_number_compare(&m->p, &product);
}

int
rb_gmp_distance_sign(const rb_hulls *hulls, double distance)
{
	measure m;
	uint64_t mantissa;
	int exponent;

	measure_hulls_exactly(&m, hulls, common_unit_of_hulls(NO_UNIT, hulls));
	rb_number_split_double(distance, &mantissa, &exponent);
	return sign_of_distance_minus(&m, mantissa, exponent);
}

/*
 * Returns the bits of a distance as an integer; those of two distances have the same order, so the
 * correctly rounded distance is found by bisection.
 */
static uint64_t
bits_of_distance(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof bits);
	return bits;
}

/* Returns the double with the given bits, the inverse of bits_of_distance. */
static double
distance_of_bits(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

/*
 * Returns the double nearest to the distance of two hulls, which lies between lo and hi. Bisects
 * the bit patterns, since positive doubles are ordered like their bits read as integers, without
 * gaps.
 */
double
rb_gmp_distance(const rb_hulls *hulls, double lo, double hi)
{
	measure m;
	uint64_t low = bits_of_distance(lo > 0 ? lo : 0x1p-1074), high = bits_of_distance(hi);

	measure_hulls_exactly(&m, hulls, common_unit_of_hulls(NO_UNIT, hulls));
	if (m.p.sign == 0)
		return 0;
	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;
		uint64_t mantissa;
		int exponent, sign;

		/* halfway to the next double */
		rb_number_split_double(distance_of_bits(middle), &mantissa, &exponent);
		sign = sign_of_distance_minus(&m, 2 * mantissa + 1, exponent - 1);
		if (sign < 0 || (sign == 0 && middle % 2 == 0))
			high = middle;
		else
			low = middle + 1;
	}
	return distance_of_bits(low);
}

/* ---- comparisons with another pair ---- */

void
rb_gmp_square_of(rb_square *s, const rb_hulls *hulls)
{
	measure m;
	rb_number unit;

	measure_hulls_exactly(&m, hulls, common_unit_of_hulls(NO_UNIT, hulls));
	rb_number_of_parts(&unit, 1, m.p.sign != 0 ? 2 * m.unit : 0);
	rb_number_mul(&s->p, &m.p, &unit);
	rb_number_copy(&s->q, &m.q);
}

int
rb_gmp_square_order(const rb_square *s, const rb_hulls *hulls)
{
	rb_square other;
	rb_number left, right;

	rb_gmp_square_of(&other, hulls);
	rb_number_mul(&left, &s->p, &other.q);
	rb_number_mul(&right, &other.p, &s->q);
	return rb_number_compare(&left, &right);
}

bool
rb_gmp_square_separates(const rb_square *s, const double lo[2][3], const double hi[2][3])
{
	rb_number gap, square, sum, product;

	rb_number_of(&sum, 0);
	for (int a = 0; a < 3; a++)
	{
		const int above = lo[0][a] > hi[1][a] ? 0 : 1;

		if (lo[above][a] <= hi[1 - above][a])
			continue;
		rb_number_difference(&gap, lo[above][a], hi[1 - above][a]);
		rb_number_mul(&square, &gap, &gap);
		rb_number_add(&sum, &sum, &square);
	}
	rb_number_mul(&product, &sum, &s->q);
	return rb_number_compare(&product, &s->p) >= 0;
}
