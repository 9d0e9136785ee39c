/*
 * facet_gap.c
 *	  Finds the two facets between which doubles leave no room for a mesh, so that an error can name
 *	  them.
 *
 * Candidates are the triangles nearest to the location of the flaw. Each of them is compared with
 * all triangles of other facets, and the pair with the smallest gap is the result. The gap of two
 * triangles is the distance between one of them and what the other does not share with it: the
 * corners that are not common, and the edges between these. So triangles with a common edge have a
 * gap, too, which is small if their angle is.
 *
 * Distances are rounded to the nearest doubles; of equal gaps, the one found first counts. Boxes
 * rule out most pairs: if a rounded difference of coordinates exceeds a distance, so does the exact
 * difference.
 */
#include "mesh/weld.h"

#include "core/base/base.h"
#include "core/primitive/dispatch.h"

/* Number of triangles near a flaw that are compared with all others */
#define CANDIDATES 8

/* Triangles between two polls for a stop */
#define RB_CHECK_INTERVAL 1024

typedef struct near_triangle
{
	double distance;
	uint32_t triangle;
} near_triangle;

typedef struct gap_search
{
	rb_context *ctx;
	const rb_plc *plc;
	rb_exact_env env;
	near_triangle near[CANDIDATES]; /* candidates, by ascending distance */
	uint32_t n;
	uint32_t of[2]; /* triangles of the smallest gap so far */
	double gap;
} gap_search;

/* Returns a corner of a triangle. */
static inline const double *
get_gap_corner(const gap_search *s, uint32_t triangle, int i)
{
	return s->plc->points + 3 * (size_t) s->plc->triangles[triangle][i];
}

/* Returns true if the boxes of n points and of a triangle are farther than `distance` apart. */
static bool
is_box_beyond(const gap_search *s, const double *const *points, int n, uint32_t triangle,
			  double distance)
{
	for (int k = 0; k < 3; k++)
	{
		double low = INFINITY, high = -INFINITY, from = INFINITY, to = -INFINITY;

		for (int i = 0; i < n; i++)
		{
			low = fmin(low, points[i][k]);
			high = fmax(high, points[i][k]);
		}
		for (int i = 0; i < 3; i++)
		{
			from = fmin(from, get_gap_corner(s, triangle, i)[k]);
			to = fmax(to, get_gap_corner(s, triangle, i)[k]);
		}
		if (from - high > distance || low - to > distance)
			return true;
	}
	return false;
}

/* Returns the distance of the hull of one to three points from a triangle. */
static double
measure_distance(gap_search *s, const double *const *points, int n, uint32_t triangle)
{
	double parts[2][9], distance;

	for (int i = 0; i < 3; i++)
	{
		memcpy(parts[0] + 3 * i, points[i < n ? i : n - 1], 3 * sizeof(double));
		memcpy(parts[1] + 3 * i, get_gap_corner(s, triangle, i), 3 * sizeof(double));
	}
	(void) rb_pair_distance(&s->env, RB_TRIANGLE3, RB_TRIANGLE3, parts[0], parts[1], &distance);
	return distance;
}

/* Adds a triangle to the candidates if it is nearer to a location than one of them. */
static void
offer_candidate(gap_search *s, const double *at, uint32_t triangle)
{
	const bool full = s->n == CANDIDATES;
	double distance;
	uint32_t i;

	if (full && is_box_beyond(s, &at, 1, triangle, s->near[s->n - 1].distance))
		return;
	distance = measure_distance(s, &at, 1, triangle);
	if (full && distance >= s->near[s->n - 1].distance)
		return;
	s->n += !full;
	for (i = s->n - 1; i > 0 && s->near[i - 1].distance > distance; i--)
		s->near[i] = s->near[i - 1];
	s->near[i] = (near_triangle){distance, triangle};
}

/* Compares the gap of two triangles with the smallest one so far. */
static void
compare_gap(gap_search *s, uint32_t first, uint32_t second)
{
	const uint32_t of[2] = {first, second};

	for (int side = 0; side < 2; side++)
	{
		const uint32_t *other = s->plc->triangles[of[!side]];
		const double *points[3];
		int n = 0;
		double gap;

		for (int i = 0; i < 3; i++)
		{
			const uint32_t v = s->plc->triangles[of[side]][i];

			if (v != other[0] && v != other[1] && v != other[2])
				points[n++] = get_gap_corner(s, of[side], i);
		}
		if (n == 0 || is_box_beyond(s, points, n, of[!side], s->gap))
			continue;
		gap = measure_distance(s, points, n, of[!side]);
		if (gap < s->gap)
		{
			s->gap = gap;
			memcpy(s->of, of, sizeof of);
		}
	}
}

/* Returns the distance of a location's largest coordinate from the next double away from 0. */
static double
get_spacing_of_doubles(const double *at)
{
	int power;

	(void) frexp(fmax(fabs(at[0]), fmax(fabs(at[1]), fabs(at[2]))), &power);
	return ldexp(1, power - 53 > -1074 ? power - 53 : -1074);
}

rb_status
rb_weld_find_gap(rb_context *ctx, const rb_welded *welded, const rb_flaw *flaw, rb_facet_gap *gap)
{
	const rb_plc *plc = &welded->plc;
	gap_search s = {
		.ctx = ctx, .plc = plc, .env = {.filters = ctx->filters, .exact = true}, .gap = INFINITY};
	uint32_t polygon[2] = {0, 0};

	for (uint32_t t = 0; t < plc->ntriangles; t++)
	{
		offer_candidate(&s, flaw->at, t);
		if (rb_stop_due(ctx, t, RB_CHECK_INTERVAL))
			return RB_STOPPED;
	}
	for (uint32_t i = 0; i < s.n; i++)
		for (uint32_t t = 0; t < plc->ntriangles; t++)
		{
			if (plc->facet_of[t] != plc->facet_of[s.near[i].triangle])
				compare_gap(&s, s.near[i].triangle, t);
			if (rb_stop_due(ctx, t, RB_CHECK_INTERVAL))
				return RB_STOPPED;
		}
	for (int i = 0; i < 2 && s.gap < INFINITY; i++)
		polygon[i] =
			welded->polygon_of != NULL ? welded->polygon_of[s.of[i]] : plc->facet_of[s.of[i]];
	*gap = (rb_facet_gap){{polygon[0] < polygon[1] ? polygon[0] : polygon[1],
						   polygon[0] < polygon[1] ? polygon[1] : polygon[0]},
						  s.gap,
						  get_spacing_of_doubles(flaw->at)};
	return RB_OK;
}
