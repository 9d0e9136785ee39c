/*
 * gmp_distance.c
 *	  Distances of two convex hulls of up to three corners each, exactly.
 *
 * The squared distance is a fraction p / q of whole numbers, and whatever is asked of
 * it is a sign: of p - d^2 q against a number d, of p q' - p' q against another pair.
 * So nothing is divided, and no root is taken: the nearest double is found by bisection
 * with the midpoints between doubles as d.
 *
 * Which fraction?  x in red and y in blue are nearest points if, with g = x - y,
 *
 *		g . (a - x) >= 0 for each corner a of red,	g . (b - y) <= 0 for each b of blue,
 *
 * for then the slab between the planes through x and y across g has red on one side and
 * blue on the other, and no two points of theirs are nearer than |g|.  The pairs (x, y) of
 * nearest points are a polytope.  Take a vertex of it: x and y lie in the relative
 * interiors of the hulls F of some corners of red and G of some of blue, of as few as can
 * be, and are the only nearest points of the two flats that F and G span, or one could go
 * on along a line.  So, where the hulls do not meet, F and G are
 *
 *		corner, corner		g = r, their difference
 *		corner, edge u		g = (u . u) r - (u . r) u
 *		corner, face u v	g = u x v, up to the sign
 *		edge u, edge v		g = u x v, and not 0
 *
 * and the conditions above are signs of whole numbers.  The first F and G that fulfil
 * them give the distance; needles and points need no case of their own, for the hull of
 * few corners is also found among these.  Where none do, the hulls meet.
 *
 * Sizes: p has degree 6 in the differences of coordinates, q has 4, and p q' 10.
 */
#include "core/exact/rb_gmp_distance.h"

#define RB_BIG_LIMBS 336
#include "core/exact/rb_big.h"

/* two hulls in units of 2^unit, their first corner in the origin, and their squared distance */
typedef struct measure
{
	int unit;
	int n[2];
	big corner[2][3][3];
	big p; /* in units of 2^(2 unit) */
	big q;
} measure;

/* ---- vectors ---- */

static void
sub3(big *r, const big *a, const big *b)
{
	for (int i = 0; i < 3; i++)
		big_sub(&r[i], &a[i], &b[i]);
}

static void
dot3(big *r, const big *a, const big *b)
{
	big term;

	big_mul(r, &a[0], &b[0]);
	for (int i = 1; i < 3; i++)
	{
		big_mul(&term, &a[i], &b[i]);
		big_add(r, r, &term);
	}
}

static void
cross3(big *r, const big *a, const big *b)
{
	for (int i = 0; i < 3; i++)
	{
		int j = (i + 1) % 3, k = (i + 2) % 3;

		big_det2(&r[i], &a[j], &a[k], &b[j], &b[k]);
	}
}

/* 0 <= x <= y? */
static bool
within(const big *x, const big *y)
{
	big rest;

	if (big_sign(x) < 0)
		return false;
	big_sub(&rest, y, x);
	return big_sign(&rest) >= 0;
}

/* r = x * 2^bits */
static void
shift_left(big *r, const big *x, int bits)
{
	mp_size_t words = bits / LIMB_BITS;
	mp_limb_t carry = 0;

	r->sign = x->sign;
	r->n = 0;
	if (x->n == 0)
		return;
	memset(r->limb, 0, (size_t) words * sizeof(mp_limb_t));
	if (bits % LIMB_BITS != 0)
		carry = mpn_lshift(r->limb + words, x->limb, x->n, (unsigned) (bits % LIMB_BITS));
	else
		memcpy(r->limb + words, x->limb, (size_t) x->n * sizeof(mp_limb_t));
	r->n = words + x->n;
	if (carry != 0)
		r->limb[r->n++] = carry;
}

/* ---- the features that are nearest ---- */

static const big *
corner_of(const measure *m, int side, int i)
{
	return m->corner[side][i < m->n[side] ? i : i - m->n[side]];
}

/* no corner of that side is behind corner `at` when one looks along sign * g? */
static bool
in_front(const measure *m, int side, int at, const big *g, int sign)
{
	for (int i = 0; i < m->n[side]; i++)
	{
		big w[3], height;

		if (i == at)
			continue;
		sub3(w, m->corner[side][i], m->corner[side][at]);
		dot3(&height, w, g);
		if (big_sign(&height) * sign < 0)
			return false;
	}
	return true;
}

/*
 * Is the perpendicular foot of r in that face?  u and v are two of its edges and g = u x v;
 * r begins where they do.
 */
static bool
over_face(const big *r, const big *u, const big *v, const big *g, const big *q)
{
	big w[3], s, t;

	cross3(w, r, v);
	dot3(&s, w, g);
	cross3(w, u, r);
	dot3(&t, w, g);
	if (big_sign(&s) < 0 || big_sign(&t) < 0)
		return false;
	big_add(&s, &s, &t);
	return within(&s, q);
}

/* do the lines from 0 along u and from r along v, g = u x v, come nearest on edges u and v? */
static bool
over_edges(const big *r, const big *u, const big *v, const big *g, const big *q)
{
	big w[3], s;

	cross3(w, v, g);
	dot3(&s, w, r);
	if (!within(&s, q))
		return false;
	cross3(w, u, g);
	dot3(&s, w, r);
	return within(&s, q);
}

/* are these two features the nearest ones?  Then p and q are theirs */
static bool
nearest_are(measure *m, rb_feature red, rb_feature blue)
{
	const rb_feature of[2] = {red, blue};
	big g[3], u[2][3], v[3], r[3], height, rest;

	for (int side = 0; side < 2; side++)
		if (of[side].dim > 0)
			sub3(u[side], corner_of(m, side, of[side].at + 1), corner_of(m, side, of[side].at));
	/* from blue to red, as g */
	sub3(r, corner_of(m, 0, red.at), corner_of(m, 1, blue.at));

	if (red.dim + blue.dim == 0)
	{
		sub3(g, corner_of(m, 0, red.at), corner_of(m, 1, blue.at));
		dot3(&m->p, g, g);
		big_of(&m->q, 1, 0);
	}
	else if (red.dim + blue.dim == 1)
	{
		const big *edge = u[blue.dim];

		dot3(&m->q, edge, edge);
		dot3(&height, edge, r);
		if (big_sign(&m->q) == 0)
			return false;
		if (red.dim == 1)
			height.sign = -height.sign;
		if (!within(&height, &m->q))
			return false;
		if (red.dim == 1)
			height.sign = -height.sign;
		for (int i = 0; i < 3; i++)
		{
			big_mul(&g[i], &r[i], &m->q);
			big_mul(&rest, &edge[i], &height);
			big_sub(&g[i], &g[i], &rest);
		}
		/* the part of |r|^2 that is not along the edge */
		dot3(&m->p, g, r);
	}
	else
	{
		bool faced;

		if (red.dim == 1)
		{
			cross3(g, u[0], u[1]);
			dot3(&m->q, g, g);
			if (big_sign(&m->q) == 0)
				return false;
			for (int i = 0; i < 3; i++)
				r[i].sign = -r[i].sign;
			faced = over_edges(r, u[0], u[1], g, &m->q);
			for (int i = 0; i < 3; i++)
				r[i].sign = -r[i].sign;
		}
		else
		{
			int side = red.dim == 2 ? 0 : 1;

			sub3(v, corner_of(m, side, of[side].at + 2), corner_of(m, side, of[side].at));
			cross3(g, u[side], v);
			dot3(&m->q, g, g);
			if (big_sign(&m->q) == 0)
				return false;
			for (int i = 0; i < 3 && side == 0; i++)
				r[i].sign = -r[i].sign;
			faced = over_face(r, u[side], v, g, &m->q);
			for (int i = 0; i < 3 && side == 0; i++)
				r[i].sign = -r[i].sign;
		}
		if (!faced)
			return false;
		dot3(&height, r, g);
		big_mul(&m->p, &height, &height);
		for (int i = 0; i < 3 && big_sign(&height) < 0; i++)
			g[i].sign = -g[i].sign;
	}
	return big_sign(&m->p) != 0 && in_front(m, 0, red.at, g, 1) && in_front(m, 1, blue.at, g, -1);
}

static int
features(int n, int dim)
{
	return dim == 0 ? n : dim == 1 ? (n == 3 ? 3 : n - 1) : n == 3;
}

static void
find_nearest(measure *m, const rb_feature *guess)
{
	static const int dims[6][2] = {{0, 2}, {2, 0}, {0, 1}, {1, 0}, {0, 0}, {1, 1}};

	if (nearest_are(m, guess[0], guess[1]))
		return;
	for (int k = 0; k < 6; k++)
		for (int i = 0; i < features(m->n[0], dims[k][0]); i++)
			for (int j = 0; j < features(m->n[1], dims[k][1]); j++)
			{
				rb_feature red = {dims[k][0], i}, blue = {dims[k][1], j};

				if (nearest_are(m, red, blue))
					return;
			}
	m->p.n = 0;
	big_of(&m->q, 1, 0);
}

/* a unit of both hulls, or of more if `unit` was one already */
static int
unit_of(int unit, const rb_hulls *h)
{
	for (int i = 0; i < h->n[0] + h->n[1]; i++)
		for (int a = 0; a < 3; a++)
			unit = common_exponent(unit, h->corner[i][a]);
	return unit;
}

static __attribute__((noinline)) void
measure_hulls(measure *m, const rb_hulls *h, int unit)
{
	big origin[3], x;

	m->unit = unit == NO_EXPONENT ? 0 : unit;
	for (int a = 0; a < 3; a++)
		big_of(&origin[a], h->corner[0][a], m->unit);
	for (int side = 0; side < 2; side++)
	{
		m->n[side] = h->n[side];
		for (int i = 0; i < h->n[side]; i++)
			for (int a = 0; a < 3; a++)
			{
				big_of(&x, h->corner[side == 0 ? i : h->n[0] + i][a], m->unit);
				big_sub(&m->corner[side][i][a], &x, &origin[a]);
			}
	}
	find_nearest(m, h->guess);
}

/* ---- against a number ---- */

/* sign of the distance minus mantissa * 2^exponent, mantissa below 2^54 */
static int
sign_against(const measure *m, uint64_t mantissa, int exponent)
{
	big square, product, shifted;
	int shift = 2 * (exponent - m->unit);

	if (mantissa == 0)
		return big_sign(&m->p);
	square.sign = 1;
	square.n = 2;
	mpn_mul_n(square.limb, &mantissa, &mantissa, 1);
	if (square.limb[1] == 0)
		square.n = 1;
	big_mul(&product, &m->q, &square);
	if (shift >= 0)
	{
		shift_left(&shifted, &product, shift);
		big_sub(&product, &m->p, &shifted);
	}
	else
	{
		shift_left(&shifted, &m->p, -shift);
		big_sub(&product, &shifted, &product);
	}
	return big_sign(&product);
}

int
rb_gmp_distance_sign(const rb_hulls *hulls, double distance)
{
	measure m;
	uint64_t mantissa;
	int exponent;

	measure_hulls(&m, hulls, unit_of(NO_EXPONENT, hulls));
	decompose(distance, &mantissa, &exponent);
	return sign_against(&m, mantissa, exponent);
}

static uint64_t
bits_of(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof bits);
	return bits;
}

static double
double_of(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

/* Positive doubles and their bits, read as an integer, are in the same order, without gaps. */
double
rb_gmp_distance(const rb_hulls *hulls, double lo, double hi)
{
	measure m;
	uint64_t low = bits_of(lo > 0 ? lo : 0x1p-1074), high = bits_of(hi);

	measure_hulls(&m, hulls, unit_of(NO_EXPONENT, hulls));
	if (big_sign(&m.p) == 0)
		return 0;
	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;
		uint64_t mantissa;
		int exponent, sign;

		/* halfway to the next double */
		decompose(double_of(middle), &mantissa, &exponent);
		sign = sign_against(&m, 2 * mantissa + 1, exponent - 1);
		if (sign < 0 || (sign == 0 && middle % 2 == 0))
			high = middle;
		else
			low = middle + 1;
	}
	return double_of(low);
}

/* ---- against another pair ---- */

int
rb_gmp_distance_order(const rb_hulls *first, const rb_hulls *second)
{
	int unit = unit_of(unit_of(NO_EXPONENT, first), second);
	measure m;
	big p, q, left, right;

	measure_hulls(&m, first, unit);
	p = m.p;
	q = m.q;
	measure_hulls(&m, second, unit);
	big_mul(&left, &p, &m.q);
	big_mul(&right, &m.p, &q);
	big_sub(&left, &left, &right);
	return big_sign(&left);
}
