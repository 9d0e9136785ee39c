/*
 * star_boxes.h
 *	  Computes boxes of directions for the triangles around a common corner or edge (a star).
 *
 * All boxes of a star's triangles overlap at the common corner, so no grid in space separates them.
 * Seen from the corner, each triangle is an arc of directions, and two triangles share a point
 * other than the corner only if their arcs do. Seen along a common edge, each triangle is a single
 * direction, perpendicular to the edge. A grid divides boxes around these arcs as it does any other
 * boxes.
 *
 * Directions are unit vectors, computed in doubles. Their errors are bounded, and each box exceeds
 * the bound on every side. A box may therefore only be too large, in which case a pair is decided
 * unnecessarily.
 *
 * This header is a part of leaf.c, the only file that includes it.
 */
#ifndef RB_JOIN_STAR_BOXES_H
#define RB_JOIN_STAR_BOXES_H

#include "core/join/join.h"
#include "core/exact/interval.h"

#define SAMPLE 48 /* number of sampled triangles of a list */
#define TRIED 8   /* number of sampled triangles whose corners are tried */

/*
 * Margin of a direction. A difference of doubles has a relative error of 2^-53, and so has each of
 * the few operations after it. The error of a unit vector is less than 2^-49 on each axis.
 */
#define MARGIN 0x1p-44

typedef struct rb_star
{
	int corners;         /* 1 for triangles around a corner, 2 for triangles around an edge */
	const double *at[2]; /* the corner, or the ends of the edge */
} rb_star;

/* Returns true if two points have equal coordinates. */
static bool
is_same_star_corner(const double *a, const double *b)
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* Returns the number of the corner of t that equals p, or -1 if there is none. */
static int
corner_of_triangle_at(const double *t, const double *p)
{
	for (int i = 0; i < 3; i++)
		if (is_same_star_corner(t + 3 * i, p))
			return i;
	return -1;
}

/* Returns true if the triangle t has the star's corner, or both ends of its edge. */
static bool
is_in_star(const rb_star *star, const double *t)
{
	for (int k = 0; k < star->corners; k++)
		if (corner_of_triangle_at(t, star->at[k]) < 0)
			return false;
	return true;
}

/* ---- finding a star ---- */

/* Returns the i-th of up to SAMPLE triangles spread evenly over a list. */
static const double *
sampled_triangle_for_star(const rb_set *set, rb_list list, uint32_t i)
{
	const uint32_t n = list.n < SAMPLE ? list.n : SAMPLE;

	return set->coords + (size_t) (list.entry[(uint64_t) i * list.n / n] & RB_INDEX_MASK) * 9;
}

/*
 * Returns the fraction of the pairs of the lists that belong to the star, estimated from samples.
 */
static double
fraction_of_pairs_in_star(const rb_set *set, rb_list red, rb_list blue, const rb_star *star)
{
	const rb_list list[2] = {red, blue};
	double share = 1;

	for (int side = 0; side < 2; side++)
	{
		const uint32_t n = list[side].n < SAMPLE ? list[side].n : SAMPLE;
		uint32_t has = 0;

		for (uint32_t i = 0; i < n; i++)
			has += is_in_star(star, sampled_triangle_for_star(set, list[side], i));
		share *= (double) has / n;
	}
	return share;
}

/*
 * Tries the corners of a few red triangles and adds to the star the one that keeps the most pairs.
 * Returns the fraction of the pairs that then belong to the star.
 */
static double
add_corner_to_star(const rb_set *set, rb_list red, rb_list blue, rb_star *star)
{
	const uint32_t n = red.n < SAMPLE ? red.n : SAMPLE;
	const uint32_t step = n / TRIED > 0 ? n / TRIED : 1;
	rb_star best = *star;
	double most = 0;

	for (uint32_t i = 0; i < n; i += step)
	{
		const double *t = sampled_triangle_for_star(set, red, i);

		for (int k = 0; k < 3 && is_in_star(star, t); k++)
		{
			rb_star more = *star;
			double share;

			if (star->corners > 0 && is_same_star_corner(t + 3 * k, star->at[0]))
				continue;
			more.at[more.corners++] = t + 3 * k;
			share = fraction_of_pairs_in_star(set, red, blue, &more);
			if (share > most)
			{
				most = share;
				best = more;
			}
		}
	}
	*star = best;
	return most;
}

/*
 * Samples both lists for a corner or an edge that many triangles of both have. Returns false if
 * none is found. The owner bits of the entries are ignored.
 */
static bool
find_star(const rb_set *set, rb_list red, rb_list blue, rb_star *star)
{
	rb_star edge;
	double share;

	star->corners = 0;
	share = add_corner_to_star(set, red, blue, star);
	if (share < 0.125)
		return false;
	/*
	 * Arcs that end at one point overlap there, so an edge that most triangles share is preferred.
	 */
	edge = *star;
	if (add_corner_to_star(set, red, blue, &edge) >= 0.25 * share)
		*star = edge;
	return true;
}

/* ---- boxes ---- */

/* Returns the scalar product of two vectors. */
static double
dot_of_directions(const double *a, const double *b)
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/*
 * Stores the direction from `from` to `to` in u. Returns false if the points are equal or too far
 * apart.
 */
static bool
direction_of_unit_length(const double *from, const double *to, double *u)
{
	double largest = 0, length;

	for (int a = 0; a < 3; a++)
	{
		u[a] = to[a] - from[a];
		largest = fabs(u[a]) > largest ? fabs(u[a]) : largest;
	}
	if (!(largest > 0) || largest == RB_INFINITY)
		return false;
	for (int a = 0; a < 3; a++)
		u[a] /= largest;
	length = sqrt(dot_of_directions(u, u));
	for (int a = 0; a < 3; a++)
		u[a] /= length;
	return true;
}

/*
 * Stores a box of the arc from u to v. The distance of a point of the arc from the chord is at most
 * the arc's height, which is 1 - cos(angle / 2), with cos(angle / 2)^2 = (1 + u . v) / 2.
 */
static void
box_of_direction_arc(const double *u, const double *v, double lo[3], double hi[3])
{
	const double square = 0.5 + 0.5 * dot_of_directions(u, v) - MARGIN;
	const double height = 1 - sqrt(square > 0 ? square : 0) + MARGIN;

	for (int a = 0; a < 3; a++)
	{
		lo[a] = (u[a] < v[a] ? u[a] : v[a]) - height;
		hi[a] = (u[a] > v[a] ? u[a] : v[a]) + height;
	}
}

/*
 * Stores a box of the direction of the third corner from the edge. Returns false if that corner is
 * on the line of the edge, or nearly so.
 */
static bool
box_of_direction_from_edge(const double *along, const double *u, double lo[3], double hi[3])
{
	const double part = dot_of_directions(u, along);
	double p[3], length, margin;

	for (int a = 0; a < 3; a++)
		p[a] = u[a] - part * along[a];
	length = sqrt(dot_of_directions(p, p));
	if (length < 0x1p-40)
		return false;
	margin = MARGIN + MARGIN / length;
	for (int a = 0; a < 3; a++)
	{
		lo[a] = p[a] / length - margin;
		hi[a] = p[a] / length + margin;
	}
	return true;
}

/*
 * Stores a box of the directions in which triangle t of the star lies. If the boxes of two such
 * triangles are disjoint, the triangles share no more than the star's corner or edge.
 */
static void
find_star_box(const rb_star *star, const double *t, double lo[3], double hi[3])
{
	const int first = corner_of_triangle_at(t, star->at[0]);
	double u[3], v[3];

	if (star->corners == 2)
	{
		const int other = corner_of_triangle_at(t, star->at[1]);

		if (direction_of_unit_length(star->at[0], star->at[1], v) &&
			direction_of_unit_length(star->at[0], t + 3 * (3 - first - other), u) &&
			box_of_direction_from_edge(v, u, lo, hi))
			return;
	}
	else
	{
		const double *b = t + 3 * ((first + 1) % 3), *c = t + 3 * ((first + 2) % 3);

		/* A degenerate triangle that has the corner twice is a single direction. */
		if (direction_of_unit_length(star->at[0], is_same_star_corner(star->at[0], b) ? c : b, u) &&
			direction_of_unit_length(star->at[0], is_same_star_corner(star->at[0], c) ? b : c, v))
		{
			box_of_direction_arc(u, v, lo, hi);
			return;
		}
	}
	/* The direction is unknown: use a box of all directions. */
	for (int a = 0; a < 3; a++)
	{
		lo[a] = -2;
		hi[a] = 2;
	}
}

#endif /* RB_JOIN_STAR_BOXES_H */
