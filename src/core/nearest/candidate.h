/*
 * candidate.h
 *	  Bounds and compares the distances of pairs of parts that are candidates for the nearest ones.
 *
 * Most pairs are rejected or ordered by the first bounds, from the search for the nearest points in
 * doubles (distance.h, step 1). If two bounds overlap, the nearest doubles of both are computed
 * with double-double arithmetic, and if these may be equal, rational numbers decide. Two kinds of
 * ties are detected earlier: identical parts, and nearest points on a vertex or edge that two parts
 * share.
 *
 * Steps 1 and 2 fail if coordinates are too large or too small. Step 1 therefore uses coordinates
 * multiplied by a power of two. The resulting error in the last bit, 2^-1075, is far below the
 * bounds of step 1, 2^-45 times sizes above 2^-100.
 *
 * This header is a part of nearest.c, the only file that includes it.
 */
#ifndef RB_NEAREST_CANDIDATE_H
#define RB_NEAREST_CANDIDATE_H

#include "core/base/base.h"
#include "core/nearest/box_tree.h"
#include "core/primitive/dispatch.h"

/* State shared by all candidates of one thread */
typedef struct rb_distance_state
{
	rb_context *ctx;
	const rb_set *red;
	const rb_set *blue;
	const uint32_t *rank; /* rank of blue's rows by id; NULL if ranks are row numbers */
	double scale;         /* a power of two, as in box_tree.h */
	rb_exact_env env;
	rb_feet last;      /* a recent near candidate, of which only g and square are used */
	uint32_t plane_of; /* red part for which planar, minor and size are valid, or UINT32_MAX */
	bool planar;       /* true if minor and size are those of the part's plane */
	double minor[3];
	double size[3];
	uint32_t labels;      /* last label assigned for this red row */
	uint32_t square_red;  /* red part of the pair in `square`, or UINT32_MAX */
	uint32_t square_blue; /* blue part of the pair in `square`, or UINT32_MAX */
	rb_square square;     /* cached exact distance of a pair, which is compared with many */
} rb_distance_state;

/*
 * A blue row, represented by the parts of both rows that are nearest so far. Bounds of the distance
 * exist in two forms: lo and hi from doubles, in scaled coordinates; and least and most, which
 * enclose the nearest double in unscaled coordinates and are computed on demand.
 */
typedef struct rb_candidate
{
	uint32_t red;
	uint32_t blue;
	uint32_t rank;
	uint32_t label; /* candidates with the same label are at the same distance; 0 if unlabeled */
	bool meets;     /* true if the parts meet; all bounds are 0 then */
	bool asked;     /* true if least, most, proved and guess are valid */
	bool proved;
	uint8_t guess[4]; /* probable nearest features: dim and at of red's, then of blue's */
	double lo;
	double hi;
	double least;
	double most;
} rb_candidate;

/* Returns the coordinates of a part. */
static const double *
part_of_candidate(const rb_set *set, uint32_t part)
{
	return set->coords + (size_t) part * (size_t) rb_kind_width(set->kind);
}

/* Sets the hulls of a candidate's parts, with the guess of their nearest features if known. */
static void
hulls_of_candidate(const rb_distance_state *a, const rb_candidate *c, rb_hulls *h)
{
	rb_pair_hulls(h, a->red->kind, a->blue->kind, part_of_candidate(a->red, c->red),
				  part_of_candidate(a->blue, c->blue));
	if (!c->asked)
		return;
	for (int side = 0; side < 2; side++)
	{
		h->guess[side].dim = c->guess[2 * side];
		h->guess[side].at = c->guess[2 * side + 1];
	}
}

/* Returns an upper bound on the distance between any two points of the boxes of the parts. */
static double
find_most_candidate_distance(const rb_distance_state *a, uint32_t red, uint32_t blue)
{
	double lo[2][3], hi[2][3], square = 0;

	rb_tree_box(a->red, red, a->scale, lo[0], hi[0]);
	rb_tree_box(a->blue, blue, a->scale, lo[1], hi[1]);
	for (int k = 0; k < 3; k++)
	{
		double x = hi[0][k] - lo[1][k], y = hi[1][k] - lo[0][k];

		x = x > y ? x : y;
		square += x * x;
	}
	return sqrt(square) * (1 + 0x1p-46) + 0x1p-490;
}

/*
 * Computes the bounds of rb_square_bounds (distance.h), solved for D:
 *
 *		distance <= root(square) / (1 - 32 u) + 256 u M
 *		distance >= slab / root(square (1 + 32 u))
 *
 * with u = 2^-53 and a margin for the roundings of these lines. Returns false if the distance is
 * more than `most`.
 */
static bool
find_candidate_bounds(rb_distance_state *a, double most, rb_candidate *c)
{
	rb_hulls h;
	rb_local_hulls apart;
	rb_square_bounds clear = {.within = -1, .beyond = RB_INFINITY};
	rb_feet feet;
	double slab, root;

	c->lo = 0;
	hulls_of_candidate(a, c, &h);
	for (int i = 0; i < h.n[0] + h.n[1]; i++)
		for (int k = 0; k < 3; k++)
			h.corner[i][k] *= a->scale;
	if ((a->env.filters & RB_FILTER_SIGNS) == 0 || !rb_apart_init(&apart, &h))
	{
		c->hi = find_most_candidate_distance(a, c->red, c->blue);
		return true;
	}
	if (most < RB_INFINITY)
	{
		clear.beyond = most * most * (1 + 0x1p-48) + RB_APART_FLOOR;
		/*
		 * The slab that separates red from a recent near candidate separates it from most
		 * neighbors.
		 */
		if (rb_clear_beyond(&clear, &a->last, rb_slab(&apart, a->last.g)))
			return false;
	}
	if (rb_feet_find(&apart, &clear, &feet) == 0)
		return false;
	a->last = feet;
	root = sqrt(feet.square);
	c->hi = root * (1 + 0x1p-47) + 0x1p-45 * apart.size;
	slab = rb_slab(&apart, feet.g);
	if (slab > 0 && feet.square >= RB_APART_SQUARE)
		c->lo = slab / root * (1 - 0x1p-47);
	return true;
}

/*
 * Caches the plane of a red triangle: the minors of rb_orient3d_filter and their magnitudes, for
 * its error bound.
 */
static void
cache_plane_of_candidate(rb_distance_state *a, uint32_t red)
{
	const double *p = part_of_candidate(a->red, red);

	a->plane_of = red;
	a->planar = a->red->kind == RB_TRIANGLE3 && a->blue->kind == RB_TRIANGLE3 &&
				(a->env.filters & RB_FILTER_SIGNS) != 0;
	for (int k = 0; k < 3 && a->planar; k++)
	{
		const int i = (k + 1) % 3, j = (k + 2) % 3;
		const double ui = p[3 + i] - p[i], uj = p[3 + j] - p[j];
		const double vi = p[6 + i] - p[i], vj = p[6 + j] - p[j];

		a->minor[k] = ui * vj - uj * vi;
		a->size[k] = fabs(ui * vj) + fabs(uj * vi) + RB_BOUND_FLOOR;
	}
}

/*
 * Tests whether two parts with overlapping or nearly overlapping boxes meet. For two triangles,
 * first computes the signs of blue's vertices against red's plane, where these are certain.
 */
static bool
do_candidate_parts_meet(rb_distance_state *a, uint32_t red, uint32_t blue)
{
	const double *p = part_of_candidate(a->red, red), *b = part_of_candidate(a->blue, blue);
	int of_blue[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};
	int of_red[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};

	if (a->plane_of != red)
		cache_plane_of_candidate(a, red);
	if (!a->planar)
		return rb_pair_meets(&a->env, a->red->kind, a->blue->kind, p, b) == 1;
	for (int i = 0; i < 3; i++)
	{
		const double x = b[3 * i] - p[0], y = b[3 * i + 1] - p[1], z = b[3 * i + 2] - p[2];
		const double det = a->minor[0] * x + a->minor[1] * y + a->minor[2] * z;
		const double bound = RB_ORIENT3D_BOUND * (a->size[0] * fabs(x) + a->size[1] * fabs(y) +
												  a->size[2] * fabs(z) + RB_BOUND_FLOOR);

		of_blue[i] = det > bound ? 1 : -det > bound ? -1 : RB_UNSURE;
	}
	if (RB_ALL_SAME(of_blue) && of_blue[0] != RB_UNSURE)
		return false;
	return rb_triangle_triangle(&a->env, p, b, of_blue, of_red) == 1;
}

/* Initializes a candidate and returns true if its parts meet. */
static bool
do_candidates_meet(rb_distance_state *a, uint32_t red, uint32_t blue, rb_candidate *c)
{
	const uint32_t row = rb_row_of(a->blue, blue);

	*c = (rb_candidate){.red = red, .blue = blue, .rank = a->rank != NULL ? a->rank[row] : row};
	c->meets = do_candidate_parts_meet(a, red, blue);
	return c->meets;
}

/*
 * Computes bounds lo and hi for two disjoint parts. Returns false if they are farther apart than
 * `most` (scaled).
 */
static bool
bound_candidate(rb_distance_state *a, uint32_t red, uint32_t blue, double most, rb_candidate *c)
{
	const uint32_t row = rb_row_of(a->blue, blue);

	*c = (rb_candidate){.red = red, .blue = blue, .rank = a->rank != NULL ? a->rank[row] : row};
	return find_candidate_bounds(a, most, c);
}

/* ---- exact comparison ---- */

/* Computes the bracket of a candidate's distance once, and caches the guessed features. */
static void
compute_candidate_bracket(rb_distance_state *a, rb_candidate *c)
{
	rb_hulls h;

	if (c->asked)
		return;
	hulls_of_candidate(a, c, &h);
	c->proved = rb_hulls_bracket(&a->env, &h, &c->least, &c->most);
	for (int side = 0; side < 2; side++)
	{
		c->guess[2 * side] = (uint8_t) h.guess[side].dim;
		c->guess[2 * side + 1] = (uint8_t) h.guess[side].at;
	}
	c->asked = true;
}

/* Returns true if the cached exact distance is that of the candidate. */
static bool
is_exact_square_cached(const rb_distance_state *a, const rb_candidate *c)
{
	return a->square_red == c->red && a->square_blue == c->blue;
}

/* Stores the exact squared distance of a candidate pair, with its parts. */
static void
cache_exact_square(rb_distance_state *a, const rb_candidate *c, const rb_hulls *h)
{
	rb_gmp_square_of(&a->square, h);
	a->square_red = c->red;
	a->square_blue = c->blue;
}

/*
 * Compares the distances of c and d exactly. If neither is cached, caches that of d, which is one
 * of the best rows.
 */
static int
order_candidates_exactly(rb_distance_state *a, const rb_candidate *c, const rb_candidate *d,
						 const rb_hulls h[2])
{
	a->env.gmp++;
	if (is_exact_square_cached(a, c))
		return rb_gmp_square_order(&a->square, &h[1]);
	if (!is_exact_square_cached(a, d))
		cache_exact_square(a, d, &h[1]);
	return -rb_gmp_square_order(&a->square, &h[0]);
}

/*
 * Labels two candidates as being at the same distance, so that this need not be computed again for
 * them or others with the label.
 */
static void
label_tied_candidates(rb_distance_state *a, rb_candidate *c, rb_candidate *d)
{
	uint32_t least = c->label == 0 || (d->label != 0 && d->label < c->label) ? d->label : c->label;

	if (least == 0)
		least = ++a->labels;
	c->label = d->label = least;
}

/*
 * Compares two disjoint pairs by cached bounds, doubles and shared features, and finally by
 * rational numbers.
 */
static int
compare_disjoint_candidates(rb_distance_state *a, rb_candidate *c, rb_candidate *d)
{
	const size_t bytes = (size_t) rb_kind_width(a->blue->kind) * sizeof(double);
	rb_hulls h[2];

	if (c->hi < d->lo)
		return -1;
	if (c->lo > d->hi)
		return 1;
	if (c->red == d->red && memcmp(part_of_candidate(a->blue, c->blue),
								   part_of_candidate(a->blue, d->blue), bytes) == 0)
		return 0;
	compute_candidate_bracket(a, c);
	compute_candidate_bracket(a, d);
	/* Rounding preserves the order. */
	if (c->most < d->least)
		return -1;
	if (c->least > d->most)
		return 1;
	hulls_of_candidate(a, c, &h[0]);
	hulls_of_candidate(a, d, &h[1]);
	if (c->proved && d->proved && rb_hulls_share_guess(&h[0], &h[1]))
		return 0;
	return order_candidates_exactly(a, c, d, h);
}

/* Returns the sign of the distance of c minus that of d. */
static int
compare_candidates(rb_distance_state *a, rb_candidate *c, rb_candidate *d)
{
	int sign;

	if (c->meets || d->meets)
		return d->meets - c->meets;
	if (c->label != 0 && c->label == d->label)
		return 0;
	sign = compare_disjoint_candidates(a, c, d);
	if (sign == 0)
		label_tied_candidates(a, c, d);
	return sign;
}

/*
 * Returns true if every point of one box is at least as far from the other box as the parts of c
 * are from each other. Exact; the boxes are in scaled coordinates.
 */
static bool
does_candidate_separate_boxes(rb_distance_state *a, const rb_candidate *c, const double lo[2][3],
							  const double hi[2][3])
{
	double from[2][3], to[2][3];
	rb_hulls h;

	if (!is_exact_square_cached(a, c))
	{
		hulls_of_candidate(a, c, &h);
		cache_exact_square(a, c, &h);
	}
	for (int side = 0; side < 2; side++)
		for (int k = 0; k < 3; k++)
		{
			from[side][k] = lo[side][k] / a->scale;
			to[side][k] = hi[side][k] / a->scale;
		}
	a->env.gmp++;
	return rb_gmp_square_separates(&a->square, from, to);
}

/* Compares candidates in output order: by distance, then by rank. */
static int
order_candidates(rb_distance_state *a, rb_candidate *c, rb_candidate *d)
{
	int sign = compare_candidates(a, c, d);

	return sign != 0 ? sign : (c->rank > d->rank) - (c->rank < d->rank);
}

/* Returns true if a candidate is within the distance of the job. */
static bool
is_candidate_within(rb_distance_state *a, const rb_candidate *c, double distance)
{
	rb_hulls h;

	if (c->meets || distance == RB_INFINITY)
		return true;
	if (distance == 0)
		return false;
	/* The product has a rounding error or an underflow error of 2^-1075. */
	if (c->hi < distance * a->scale * (1 - 0x1p-50) - 0x1p-1000)
		return true;
	if (c->lo > distance * a->scale * (1 + 0x1p-50) + 0x1p-1000)
		return false;
	hulls_of_candidate(a, c, &h);
	return rb_hulls_against(&a->env, &h, distance) < 0;
}

/* Returns the double nearest to the distance. */
static double
candidate_distance(rb_distance_state *a, rb_candidate *c)
{
	rb_hulls h;

	if (c->meets)
		return 0;
	compute_candidate_bracket(a, c);
	if (c->least == c->most)
		return c->least;
	hulls_of_candidate(a, c, &h);
	a->env.gmp++;
	return rb_gmp_distance(&h, c->least, c->most);
}

#endif /* RB_NEAREST_CANDIDATE_H */
