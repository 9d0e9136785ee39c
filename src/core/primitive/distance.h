/*
 * distance.h
 *	  Compares and computes the distance between two convex hulls of two or three vertices each.
 *
 * The functions compare the distance with a given bound, compute the double nearest to the
 * distance, and compare the distances of two pairs. The search for the nearest points is not
 * trusted. It uses plain doubles and the usual formulas, and its result is then proved from both
 * sides:
 *
 *		from above		|x - y| for the points x of red and y of blue that it found: they
 *						are given by fractions along edges, and any fractions in
 *						[0, 1] define two points, so only the subtraction has an error
 *		from below		for any vector g, with the vertices a of red and b of blue,
 *						( min g . a  -  max g . b ) / |g|
 *						is the width of a slab normal to g that has red on one side and
 *						blue on the other, so their distance is at least that
 *
 *			red  \ a                     b /  blue
 *			------x=====>==== g ====<=====y------
 *			     /   |      slab      |    \
 *
 * With g = x - y of the true nearest points, both bounds equal the distance. An error in g reduces
 * the slab proportionally, an error in x and y has a quadratic effect. The steps, each for the
 * cases that the previous one could not decide:
 *
 *	  1. g = x - y in doubles, with forward error bounds			RB_FILTER_SIGNS
 *	  2. double-double arithmetic (double_double.h)					RB_FILTER_INTERVAL
 *		 for the flats through the features on which x and y lie, if these are
 *		 proved to be the nearest ones; else for both bounds, with g recomputed
 *		 from the vertices
 *	  3. GMP, on the host (gmp_distance.c)
 *
 * The steps can be switched off without changing the result. Without env->exact, and on the device
 * where only step 3 could decide, the result is RB_UNSURE.
 *
 * The nearest double is the same on every machine, whichever step found it. It compares correctly
 * with each bound D that is itself a double: rounding is monotone and leaves D unchanged, so a true
 * distance of at most D is rounded to at most D. A distance above D may be rounded to D, however,
 * so whether a pair is within D is never decided from a rounded distance.
 */
#ifndef RB_PRIMITIVE_DISTANCE_H
#define RB_PRIMITIVE_DISTANCE_H

#include "core/exact/gmp_exact.h"
#include "core/exact/double_double.h"
#include "core/primitive/triangle.h"

/*
 * Limits of steps 1 and 2: the size M, the largest coordinate of a vertex relative to red's first
 * vertex, must be in [2^-100, 2^100]. Then nothing overflows, and underflow is far below the error
 * bounds, which are 2^-96 M and more.
 */
#define RB_APART_SMALLEST 0x1p-100
#define RB_APART_LARGEST 0x1p100

/* Two hulls in rounded doubles, relative to red's first vertex */
typedef struct rb_local_hulls
{
	int n[2];
	double size; /* M */
	double corner[2][3][3];
	double edge[2][3][3]; /* vector from each vertex to the next */
	double square[2][3];  /* squared length of each edge */
} rb_local_hulls;

/* A point of each hull, and the vector between them */
typedef struct rb_feet
{
	rb_feature of[2];
	double s[2]; /* fraction of the edge from vertex `at` to the next */
	double t[2]; /* on a face: fraction of the edge from `at` to the vertex after the next */
	double g[3]; /* red's point minus blue's */
	double square;
	bool proved; /* true if the features are proved to be the nearest ones */
} rb_feet;

/* Returns the rounded scalar product of two vectors. */
RB_HOST_DEVICE double
rb_dot3(const double *u, const double *v)
{
	return u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
}

/* Computes the rounded cross product of two vectors. */
RB_HOST_DEVICE void
rb_cross3(const double *u, const double *v, double *n)
{
	n[0] = u[1] * v[2] - u[2] * v[1];
	n[1] = u[2] * v[0] - u[0] * v[2];
	n[2] = u[0] * v[1] - u[1] * v[0];
}

/* Returns the number of edges of a hull of one, two or three corners. */
RB_HOST_DEVICE int
rb_edges_of(int corners)
{
	return corners == 3 ? 3 : corners - 1;
}

/*
 * Computes both hulls relative to red's first vertex. Returns false if their size is out of the
 * range of steps 1 and 2.
 */
RB_HOST_DEVICE bool
rb_apart_init(rb_local_hulls *a, const rb_hulls *h)
{
	a->size = 0;
	for (int side = 0; side < 2; side++)
	{
		int n = h->n[side];

		a->n[side] = n;
		for (int i = 0; i < n; i++)
			for (int k = 0; k < 3; k++)
			{
				double x = h->corner[(side == 0 ? 0 : h->n[0]) + i][k] - h->corner[0][k];

				a->corner[side][i][k] = x;
				a->size = fabs(x) > a->size ? fabs(x) : a->size;
			}
		for (int i = 0; i < rb_edges_of(n); i++)
		{
			int j = i + 1 < n ? i + 1 : 0;

			for (int k = 0; k < 3; k++)
				a->edge[side][i][k] = a->corner[side][j][k] - a->corner[side][i][k];
			a->square[side][i] = rb_dot3(a->edge[side][i], a->edge[side][i]);
		}
	}
	return a->size >= RB_APART_SMALLEST && a->size <= RB_APART_LARGEST;
}

/* ---- step 1: doubles ---- */

/*
 * Bounds on squares that prove that a distance is at most D or more than D.
 *
 * u = 2^-53. From above: vertices of rb_local_hulls are off by u M, edges (below 2 M) by 4 u M, a
 * fraction of an edge by 6 u M, and with its sums a point by 25 u M; so x - y is off by 56 u M on
 * each axis and by 98 u M in all, while the root of its computed square is off by a factor of 1 + 4
 * u. Hence
 *
 *		distance <= root(square) (1 + 4 u) + 98 u M,
 *
 * and square <= ((D - 256 u M) (1 - 32 u))^2 proves that it is at most D.
 *
 * From below: g is taken as exact, however it was computed. g . a for a vertex is rounded four
 * times in each term, including the vertex's own difference, so it is off by 4.01 u |g|1 M; the
 * difference of two such values by 8.02 u |g|1 M, and by 2.01 u |g|1 M from its own rounding. The
 * code uses 12.
 *
 *		slab = (min g . a - max g . b) - 12 u |g|1 M > 0	and
 *		slab^2 > D^2 square (1 + 32 u)
 *
 * prove that it is more than D. Squares below 2^-400 are left to the next step. 2^-1000 outweighs
 * underflow in D^2 and in its product.
 */
typedef struct rb_square_bounds
{
	double within; /* upper limit of square; -1 if it proves nothing */
	double beyond; /* D^2, rounded up; RB_INFINITY if there is no bound */
} rb_square_bounds;

#define RB_APART_FLOOR 0x1p-1000
#define RB_APART_SQUARE 0x1p-400
/* Width of the slab relative to square above which the search may end */
#define RB_APART_BEST (1 - 0x1p-30)

/* Computes the bounds for `distance`; `size` is M, the largest coordinate difference. */
RB_HOST_DEVICE void
rb_clear_of(rb_square_bounds *c, double distance, double size)
{
	double most = (distance - 0x1p-45 * size) * (1 - 0x1p-48);

	c->within = most > 0 ? most * most : -1;
	c->beyond = distance * distance * (1 + 0x1p-48) + RB_APART_FLOOR;
}

/* Returns the unnormalized width of the slab normal to g, rounded down; it may be negative. */
RB_HOST_DEVICE double
rb_slab(const rb_local_hulls *a, const double *g)
{
	double red = 0, blue = rb_dot3(g, a->corner[1][0]); /* red's first vertex is 0 */

	for (int i = 1; i < a->n[0]; i++)
	{
		double x = rb_dot3(g, a->corner[0][i]);

		red = x < red ? x : red;
	}
	for (int i = 1; i < a->n[1]; i++)
	{
		double x = rb_dot3(g, a->corner[1][i]);

		blue = x > blue ? x : blue;
	}
	return red - blue - 12 * 0x1p-53 * (fabs(g[0]) + fabs(g[1]) + fabs(g[2])) * a->size;
}

/* Returns true if the distance is proved to be more than D. */
RB_HOST_DEVICE bool
rb_clear_beyond(const rb_square_bounds *c, const rb_feet *f, double slab)
{
	return slab > 0 && f->square >= RB_APART_SQUARE &&
		   slab * slab > c->beyond * f->square + RB_APART_FLOOR;
}

/*
 * Finds the nearest points of edge i of red and edge j of blue, after C. Ericson, Real-Time
 * Collision Detection, 2004. For almost parallel edges only their ends are considered.
 */
RB_HOST_DEVICE void
rb_feet_of_edges(const rb_local_hulls *a, int i, int j, rb_feet *f)
{
	const double *u = a->edge[0][i], *v = a->edge[1][j];
	double uu = a->square[0][i], vv = a->square[1][j];
	double r[3], uv, ur, vr, rest, s = 0, t;

	for (int k = 0; k < 3; k++)
		r[k] = a->corner[0][i][k] - a->corner[1][j][k];
	uv = rb_dot3(u, v);
	ur = rb_dot3(u, r);
	vr = rb_dot3(v, r);
	rest = uu * vv - uv * uv;
	if (rest > 0x1p-40 * (uu * vv))
	{
		s = (uv * vr - ur * vv) / rest;
		s = s < 0 ? 0 : s > 1 ? 1 : s;
	}
	t = uv * s + vr;
	if (t > 0 && t < vv)
		t /= vv;
	else
	{
		t = t > 0 && vv > 0;
		s = uu > 0 ? ((t > 0 ? uv : 0) - ur) / uu : 0;
		s = s < 0 ? 0 : s > 1 ? 1 : s;
	}
	for (int k = 0; k < 3; k++)
		f->g[k] = r[k] + s * u[k] - t * v[k];
	f->square = rb_dot3(f->g, f->g);
	f->s[0] = s;
	f->s[1] = t;
}

/*
 * Sets the feature of a side to the edge from vertex `at`, or to a vertex if the point is an end of
 * that edge.
 */
RB_HOST_DEVICE void
rb_feet_name(const rb_local_hulls *a, rb_feet *f, int side, int at)
{
	double s = f->s[side];

	f->of[side].dim = s > 0 && s < 1;
	f->of[side].at = s < 1 ? at : at + 1 < a->n[side] ? at + 1 : 0;
	if (!(s < 1))
		f->s[side] = 0;
	f->t[side] = 0;
}

/*
 * Finds the projection of vertex i of a side on the face of the other. Returns false if it is not
 * in the face or not nearer than `best`. n is the normal of the face, from its vertex 0.
 */
RB_HOST_DEVICE bool
rb_feet_of_face(const rb_local_hulls *a, int side, int i, const double *n, double nn, double best,
				rb_feet *f)
{
	int face = 1 - side;
	const double *u = a->edge[face][0], *last = a->edge[face][2];
	double r[3], w[3], v[3], height, s, t, most;

	for (int k = 0; k < 3; k++)
		r[k] = a->corner[side][i][k] - a->corner[face][0][k];
	height = rb_dot3(n, r);
	if (!(height * height < best * nn))
		return false;
	for (int k = 0; k < 3; k++)
		v[k] = -last[k];
	rb_cross3(r, v, w);
	s = rb_dot3(n, w);
	rb_cross3(u, r, w);
	t = rb_dot3(n, w);
	if (!(s >= 0 && t >= 0 && s + t <= nn))
		return false;
	/* Keep s + t at most 1, exactly: each of the two differences is off by at most 2^-54. */
	s = s < nn ? s / nn : 1;
	t /= nn;
	most = (1 - s) - 0x1p-53;
	t = t < most ? t : most;
	t = t > 0 ? t : 0;
	for (int k = 0; k < 3; k++)
	{
		double g = r[k] - s * u[k] - t * v[k];

		f->g[k] = side == 0 ? g : -g;
	}
	f->square = rb_dot3(f->g, f->g);
	f->of[side].dim = 0;
	f->of[side].at = i;
	f->s[side] = f->t[side] = 0;
	f->of[face].dim = 2;
	f->of[face].at = 0;
	f->s[face] = s;
	f->t[face] = t;
	return f->square < best;
}

/*
 * Proves by doubles that the distance is that of the flats through the two features: their nearest
 * points are in the features' interiors, and all other vertices are behind them. These are the
 * conditions of gmp_distance.c with error margins.
 *
 * u = 2^-53. Vectors between vertices are below 2 M on each axis and off by 4 u M, so their dot
 * products are below 12 M^2 and off by 2^7 u M^2. Their cross products are below 8 M^2 on each axis
 * and off by 2^6 u M^2; dot products of these and a vector by 2^10 u M^3, of two of these by 2^12 u
 * M^4. The difference of two products of dot products is off by 2^13 u M^4. The largest sum whose
 * sign is tested is off by three times 2^12 u M^4, and three more roundings.
 */
RB_HOST_DEVICE bool
rb_feet_proved(const rb_local_hulls *a, const rb_feet *f)
{
	double m2 = a->size * a->size;
	const double off2 = 0x1p-46 * m2, off3 = 0x1p-43 * m2 * a->size, off4 = 0x1p-39 * m2 * m2;
	const rb_feature *of = f->of;
	const double *base[2], *edge[2];
	double r[3], n[3], w[3];

	for (int side = 0; side < 2; side++)
	{
		base[side] = a->corner[side][of[side].at];
		edge[side] = a->edge[side][of[side].at];
	}
	for (int k = 0; k < 3; k++)
		r[k] = base[0][k] - base[1][k];
	if (of[0].dim + of[1].dim == 2)
	{
		double height;

		if (of[0].dim == 1)
		{
			double uu = a->square[0][of[0].at], vv = a->square[1][of[1].at];
			double uv = rb_dot3(edge[0], edge[1]);
			double ur = rb_dot3(edge[0], r), vr = rb_dot3(edge[1], r);
			double s = uv * vr - ur * vv, t = uu * vr - uv * ur, all = uu * vv - uv * uv;

			if (!(s > off4 && t > off4 && s < all - off4 && t < all - off4))
				return false;
			rb_cross3(edge[0], edge[1], n);
		}
		else
		{
			int face = of[0].dim == 2 ? 0 : 1;
			const double *u = a->edge[face][0], *last = a->edge[face][2];
			double sign = face == 1 ? 1 : -1, q[3], s, t;

			rb_cross3(u, a->edge[face][1], n);
			for (int k = 0; k < 3; k++)
				q[k] = sign * r[k];
			rb_cross3(last, q, w); /* -last is the other edge */
			s = rb_dot3(n, w);
			rb_cross3(u, q, w);
			t = rb_dot3(n, w);
			if (!(s > off4 && t > off4 && s + t < rb_dot3(n, n) - off4))
				return false;
		}
		height = rb_dot3(n, r);
		if (!(fabs(height) > off3))
			return false;
		for (int side = 0; side < 2; side++)
			for (int i = of[side].dim + 1; i < a->n[side]; i++)
			{
				int j = of[side].at + i;
				const double *c = a->corner[side][j < a->n[side] ? j : j - a->n[side]];

				for (int k = 0; k < 3; k++)
					w[k] = c[k] - base[side][k];
				if (!((side == 0 ? height : -height) * rb_dot3(n, w) > fabs(height) * off3))
					return false;
			}
		return true;
	}
	/* g = (u . u) r - (u . r) u; for two vertices g = r */
	{
		int along = of[0].dim == 1 ? 0 : 1;
		bool corners = of[0].dim + of[1].dim == 0;
		double uu = corners ? 1 : a->square[along][of[along].at];
		double ur = corners ? 0 : rb_dot3(edge[along], r);
		double part = along == 0 ? -ur : ur;

		if (!corners && !(part > off2 && part < uu - off2))
			return false;
		for (int side = 0; side < 2; side++)
			for (int i = of[side].dim + 1; i < a->n[side]; i++)
			{
				int j = of[side].at + i;
				const double *c = a->corner[side][j < a->n[side] ? j : j - a->n[side]];
				double height;

				for (int k = 0; k < 3; k++)
					w[k] = c[k] - base[side][k];
				height = rb_dot3(r, w) * uu;
				if (!corners)
					height -= rb_dot3(edge[along], w) * ur;
				if (!((side == 0 ? height : -height) > (corners ? off2 : off4)))
					return false;
			}
	}
	return true;
}

/* Returns true if the search can end with these points; sets *answer as rb_feet_find does. */
RB_HOST_DEVICE bool
rb_feet_suffice(const rb_local_hulls *a, const rb_square_bounds *c, rb_feet *f, int *answer)
{
	double slab;

	*answer = 1;
	if (f->square <= c->within)
		return true;
	slab = rb_slab(a, f->g);
	*answer = 0;
	if (rb_clear_beyond(c, f, slab))
		return true;
	*answer = RB_UNSURE;
	f->proved = slab > RB_APART_BEST * f->square && rb_feet_proved(a, f);
	return f->proved;
}

/*
 * Finds the nearest points, as far as doubles can determine them. Returns 0 as soon as the hulls
 * are proved to be farther apart than the bound in c, 1 if they are proved to be within it, else
 * RB_UNSURE with the points.
 */
RB_HOST_DEVICE_CALL int
rb_feet_find(const rb_local_hulls *a, const rb_square_bounds *c, rb_feet *best)
{
	rb_feet f;
	bool done;
	int answer;

	best->square = RB_INFINITY;
	for (int i = 0; i < rb_edges_of(a->n[0]); i++)
		for (int j = 0; j < rb_edges_of(a->n[1]); j++)
		{
			rb_feet_of_edges(a, i, j, &f);
			if (!(f.square < best->square))
				continue;
			rb_feet_name(a, &f, 0, i);
			rb_feet_name(a, &f, 1, j);
			done = rb_feet_suffice(a, c, &f, &answer);
			*best = f;
			if (done)
				return answer;
		}
	for (int face = 0; face < 2; face++)
	{
		double n[3], nn;

		if (a->n[face] < 3)
			continue;
		rb_cross3(a->edge[face][0], a->edge[face][1], n);
		nn = rb_dot3(n, n);
		/* The normal of a face with almost no area is only noise. */
		if (!(nn > 0x1p-90 * (a->square[face][0] * a->square[face][1])))
			continue;
		for (int i = 0; i < a->n[1 - face]; i++)
		{
			if (!rb_feet_of_face(a, 1 - face, i, n, nn, best->square, &f))
				continue;
			done = rb_feet_suffice(a, c, &f, &answer);
			*best = f;
			if (done)
				return answer;
		}
	}
	return RB_UNSURE;
}

/* ---- step 2: double-double arithmetic ---- */

/* Bounds of a distance: it is in [lo - error, hi + error] */
typedef struct rb_bracket
{
	rb_double_double lo;
	rb_double_double hi;
	double error;
} rb_bracket;

/* Returns corner i of a side's hull; after the last corner, i continues with the first. */
RB_HOST_DEVICE const double *
rb_hull_corner(const rb_hulls *h, int side, int i)
{
	int n = h->n[side];

	return h->corner[(side == 0 ? 0 : h->n[0]) + (i < n ? i : i - n)];
}

/* Computes to - from, exactly. */
RB_HOST_DEVICE void
rb_double_double_between(const double *to, const double *from, rb_double_double *r)
{
	for (int k = 0; k < 3; k++)
		r[k] = rb_double_double_difference(to[k], from[k]);
}

/* Computes a vector from blue to red normal to both features, of any sign and length. */
RB_HOST_DEVICE void
rb_feet_direction(const rb_hulls *h, const rb_feet *f, rb_double_double *g)
{
	int dims = f->of[0].dim + f->of[1].dim;
	rb_double_double u[2][3], r[3];

	for (int side = 0; side < 2; side++)
		if (f->of[side].dim > 0)
			rb_double_double_between(rb_hull_corner(h, side, f->of[side].at + 1),
									 rb_hull_corner(h, side, f->of[side].at), u[side]);
	rb_double_double_between(rb_hull_corner(h, 0, f->of[0].at), rb_hull_corner(h, 1, f->of[1].at),
							 r);
	if (dims == 2)
	{
		int face = f->of[0].dim == 2 ? 0 : 1;

		if (f->of[0].dim != 1)
			rb_double_double_between(rb_hull_corner(h, face, f->of[face].at + 2),
									 rb_hull_corner(h, face, f->of[face].at), u[1 - face]);
		rb_double_double_cross(u[0], u[1], g);
		if (rb_double_double_dot(g, r).high < 0)
			for (int k = 0; k < 3; k++)
				g[k] = rb_double_double_minus(g[k]);
	}
	else if (dims == 1)
	{
		const rb_double_double *edge = u[f->of[1].dim];
		rb_double_double part =
			rb_double_double_div(rb_double_double_dot(edge, r), rb_double_double_dot(edge, edge));

		for (int k = 0; k < 3; k++)
			g[k] = rb_double_double_sub(r[k], rb_double_double_mul(part, edge[k]));
	}
	else
		for (int k = 0; k < 3; k++)
			g[k] = r[k];
}

/* Computes the point of a side that f describes, relative to red's first vertex. */
RB_HOST_DEVICE void
rb_foot_point(const rb_hulls *h, const rb_feet *f, int side, rb_double_double *x)
{
	const double *at = rb_hull_corner(h, side, f->of[side].at);

	rb_double_double_between(at, h->corner[0], x);
	for (int step = 1; step <= f->of[side].dim; step++)
	{
		const double *to = rb_hull_corner(h, side, f->of[side].at + step);
		rb_double_double part = rb_double_double_of(step == 1 ? f->s[side] : f->t[side]);

		for (int k = 0; k < 3; k++)
			x[k] = rb_double_double_add(
				x[k], rb_double_double_mul(part, rb_double_double_difference(to[k], at[k])));
	}
}

/*
 * Computes the distance of the flats of both features, which is that of the hulls if rb_feet_proved
 * has succeeded. e = 2^-106; differences of coordinates are exact.
 *
 * If both features are vertices, the distance is the length of r. The squares are off by 8 e, and
 * their sums by another 8 e. The root halves this to 8 e, and its own rounding adds 4 e. So |r| is
 * off by a factor of 1 + 12 e. It is below 3.5 M.
 *
 * If one of them is an edge u, the distance is the length of g, the part of r normal to u. The
 * fraction of r along u is off by 192 e M^2 / |u|^2 + 40 e. This error changes g by 192 e M
 * (M / |u|) + 140 e M. The product and the difference that yield g add 56 e M.
 *
 * If both are edges u and v, or one is a face with the edges u and v, the distance is the length
 * of r in the direction of g = u x v. On each axis g is off by 96 e M^2, which is 167 e M^2 in
 * all, and its direction is off by twice that divided by its length. Since |r| is below 3.5 M,
 * this changes the distance by 1170 e M (M^2 / |u x v|). The product of g and r is off by 64 e M
 * |g|, the length of g by a factor of 1 + 12 e, and the division by one of 1 + 24 e. Since the
 * quotient is below 3.5 M, these three add 190 e M.
 *
 * The bound is 2^-96 M = 1024 e M, plus 1024 e M (M / |u|) for an edge, or 2048 e M (M^2 / |u x v|)
 * for u x v. It exceeds the errors of each case.
 */
RB_HOST_DEVICE void
rb_feet_flats(const rb_hulls *h, double size, const rb_feet *f, rb_bracket *b)
{
	rb_double_double g[3], r[3], length;
	double proportion = 0;

	rb_feet_direction(h, f, g);
	length = rb_double_double_sqrt(rb_double_double_dot(g, g));
	b->lo = length;
	if (f->of[0].dim + f->of[1].dim == 2)
	{
		rb_double_double_between(rb_hull_corner(h, 0, f->of[0].at),
								 rb_hull_corner(h, 1, f->of[1].at), r);
		b->lo = rb_double_double_div(rb_double_double_dot(g, r), length);
		proportion = 2 * size / length.high * size;
	}
	else if (f->of[0].dim + f->of[1].dim == 1)
	{
		int side = f->of[1].dim;

		rb_double_double_between(rb_hull_corner(h, side, f->of[side].at + 1),
								 rb_hull_corner(h, side, f->of[side].at), r);
		proportion =
			size / sqrt(r[0].high * r[0].high + r[1].high * r[1].high + r[2].high * r[2].high);
	}
	b->hi = b->lo;
	b->error = 0x1p-96 * size * (1 + proportion);
}

/*
 * Computes both bounds, with e = 2^-106. Differences of coordinates are exact.
 *
 * From below: g . a is off by 8 e |g|1 M in its products and 8 e |g|1 M in its sums; the slab by
 * twice that and 8 e |g|1 M: 40 e |g|1 M in all. |g| is off by a factor of 1 + 12 e (8 e from each
 * square, 8 e from the sums, half of it under the root, and 4 e for the root), the quotient by 24 e
 * more; and |g|1 is below 1.8 |g|, the quotient below 3.5 M. The total is 200 e M.
 *
 * From above: a fraction of an edge is off by 16 e M on each axis, two of them with their sums by
 * 64 e M, and x - y by 136 e M, 236 e M in all; its length by 12 e of 3.5 M more. The total is 280
 * e M.
 *
 * So 2^-96 M = 1024 e M outweighs either, including the subsequent roundings.
 */
RB_HOST_DEVICE_CALL void
rb_feet_bounds(const rb_hulls *h, double size, const rb_feet *f, rb_bracket *b)
{
	rb_double_double g[3], x[3], y[3], red, blue, square;
	double length;

	b->lo = b->hi = rb_double_double_of(0);
	b->error = 0x1p-96 * size;

	rb_feet_direction(h, f, g);
	length = fabs(g[0].high) + fabs(g[1].high) + fabs(g[2].high);
	blue = rb_double_double_of(0);
	if (length >= 0x1p-400 && length <= 0x1p400)
	{
		red = rb_double_double_of(0);
		for (int i = 1; i < h->n[0] + h->n[1]; i++)
		{
			rb_double_double height;

			rb_double_double_between(h->corner[i], h->corner[0], x);
			height = rb_double_double_dot(g, x);
			if (i < h->n[0])
				red = rb_double_double_sub(height, red).high < 0 ? height : red;
			else if (i == h->n[0])
				blue = height;
			else
				blue = rb_double_double_sub(height, blue).high > 0 ? height : blue;
		}
		b->lo = rb_double_double_div(rb_double_double_sub(red, blue),
									 rb_double_double_sqrt(rb_double_double_dot(g, g)));
	}

	rb_foot_point(h, f, 0, x);
	rb_foot_point(h, f, 1, y);
	for (int k = 0; k < 3; k++)
		x[k] = rb_double_double_sub(x[k], y[k]);
	square = rb_double_double_dot(x, x);
	/* Smaller squares vanish in the error. */
	if (square.high > 0x1p-800)
		b->hi = rb_double_double_sqrt(square);
}

/* Computes a bracket of the distance from its nearest features. */
RB_HOST_DEVICE_CALL void
rb_feet_bracket(const rb_hulls *h, double size, const rb_feet *f, rb_bracket *b)
{
	if (f->proved)
		rb_feet_flats(h, size, f, b);
	else
		rb_feet_bounds(h, size, f, b);
}

/*
 * Rounds both ends of a bracket, so that the double nearest to the distance is between the results.
 * 0 is excluded, because the hulls do not meet.
 */
RB_HOST_DEVICE void
rb_bracket_doubles(const rb_bracket *b, double *lo, double *hi)
{
	*lo = b->lo.high + (b->lo.low - b->error);
	*hi = b->hi.high + (b->hi.low + b->error);
	*lo = *lo > 0x1p-1074 ? *lo : 0x1p-1074;
	*hi = *hi > *lo ? *hi : *lo;
}

/*
 * Returns the sign of x + rest - D. If the rounded sum is not D, it is on the same side of D as the
 * sum. Otherwise x - D is exact, unless rest is more than half of x: then rest is nearly all error,
 * which has room for another rounding.
 */
RB_HOST_DEVICE int
rb_sum_against(double x, double rest, double distance)
{
	double sum = x + rest;

	if (sum == distance)
	{
		sum = (x - distance) + rest;
		distance = 0;
	}
	return (sum > distance) - (sum < distance);
}

/* ---- the three predicates, for hulls that do not meet ---- */

#if !defined(__CUDA_ARCH__) && !defined(RB_NO_GMP)
#define RB_HAS_GMP(env) RB_WANTS_EXACT(env)
#else
#define RB_HAS_GMP(env) false
#endif

/* Returns 1 if the distance is more than D > 0, -1 if it is at most D, or RB_UNSURE. */
RB_HOST_DEVICE int
rb_hulls_against(rb_exact_env *env, rb_hulls *h, double distance)
{
	rb_local_hulls a;
	rb_square_bounds c;
	rb_feet f;

	if (rb_apart_init(&a, h) && (env->filters & (RB_FILTER_SIGNS | RB_FILTER_INTERVAL)) != 0)
	{
		int within;

		if ((env->filters & RB_FILTER_SIGNS) != 0)
			rb_clear_of(&c, distance, a.size);
		else
		{
			c.within = -1;
			c.beyond = RB_INFINITY;
		}
		within = rb_feet_find(&a, &c, &f);
		if (within != RB_UNSURE)
			return within ? -1 : 1;
		h->guess[0] = f.of[0];
		h->guess[1] = f.of[1];
		if ((env->filters & RB_FILTER_INTERVAL) != 0)
		{
			rb_bracket b;

			rb_feet_bracket(h, a.size, &f, &b);
			if (rb_sum_against(b.hi.high, b.hi.low + b.error, distance) <= 0)
				return -1;
			if (rb_sum_against(b.lo.high, b.lo.low - b.error, distance) > 0)
				return 1;
		}
	}
	if (!RB_HAS_GMP(env))
		return RB_UNSURE;
#if !defined(__CUDA_ARCH__) && !defined(RB_NO_GMP)
	env->gmp++;
	return rb_gmp_distance_sign(h, distance) > 0 ? 1 : -1;
#else
	return RB_UNSURE;
#endif
}

/*
 * Bounds the double nearest to the distance: it is in [lo, hi], and lo equals hi where doubles
 * suffice. Returns true if h->guess is proved to be the features of the nearest points.
 */
RB_HOST_DEVICE bool
rb_hulls_bracket(rb_exact_env *env, rb_hulls *h, double *lo, double *hi)
{
	rb_local_hulls a;
	rb_square_bounds c;
	rb_feet f;
	rb_bracket b;

	*lo = 0x1p-1074;
	*hi = RB_INFINITY;
	if ((env->filters & RB_FILTER_INTERVAL) == 0 || !rb_apart_init(&a, h))
		return false;
	c.within = -1;
	c.beyond = RB_INFINITY;
	rb_feet_find(&a, &c, &f);
	h->guess[0] = f.of[0];
	h->guess[1] = f.of[1];
	rb_feet_bracket(h, a.size, &f, &b);
	rb_bracket_doubles(&b, lo, hi);
	return f.proved;
}

/* Returns true if the guesses of both pairs have the same vertices. */
RB_HOST_DEVICE bool
rb_hulls_share_guess(const rb_hulls *first, const rb_hulls *second)
{
	for (int side = 0; side < 2; side++)
	{
		const rb_feature *f = &first->guess[side], *s = &second->guess[side];

		if (f->dim != s->dim)
			return false;
		for (int i = 0; i <= f->dim; i++)
		{
			bool found = false;

			for (int j = 0; j <= s->dim && !found; j++)
				found = rb_equal3(rb_hull_corner(first, side, f->at + i),
								  rb_hull_corner(second, side, s->at + j));
			if (!found)
				return false;
		}
	}
	return true;
}

/* Sets *distance to the double nearest to the distance, never 0. Returns RB_YES or RB_UNSURE. */
RB_HOST_DEVICE int
rb_hulls_distance(rb_exact_env *env, rb_hulls *h, double *distance)
{
	double lo, hi;

	rb_hulls_bracket(env, h, &lo, &hi);
	*distance = lo;
	if (lo == hi)
		return RB_YES;
	if (!RB_HAS_GMP(env))
		return RB_UNSURE;
#if !defined(__CUDA_ARCH__) && !defined(RB_NO_GMP)
	env->gmp++;
	*distance = rb_gmp_distance(h, lo, hi);
#endif
	return RB_YES;
}

#endif /* RB_PRIMITIVE_DISTANCE_H */
