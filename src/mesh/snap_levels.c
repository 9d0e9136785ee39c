/*
 * snap_levels.c
 *	  Splits facets and segments where they cross, and moves corners of those that still cross after
 *	  rounding.
 *
 * The points at which facets cross are rounded to doubles. The pieces between them are therefore
 * slightly displaced, and can cross again where two facets are nearer than rounding. Splitting them
 * again ends in most cases, but not if many facets are nearly coplanar. Then coarser coordinates
 * help: corners on a grid are either equal or far apart in units of rounding.
 *
 * Each input triangle, segment and lone point has a level, at first 0. If pieces of it still meet
 * others, its level rises. The corners of an input of level l > 0 are moved to the nearest point of
 * a grid whose step is 16 times that of level l - 1, and all points in the same cell with them. All
 * inputs are then split again, from the moved corners, so that points do not accumulate. Corners
 * that become equal are merged, and triangles without area are dropped.
 *
 * This ends: each round raises the level of at least one input, and all corners of the last level
 * are one point, so that nothing of these inputs is left. The grid of the first level is about as
 * fine as doubles. A corner moves at most half a step of its grid along each axis.
 *
 * Rounding to a grid does not make facets coplanar that nearly are. As soon as a grid is so coarse
 * that its points are not needed to all bits, corners are also moved to common planes and lines
 * (snap_align.c), by less than four times the grid.
 *
 * A mesh can fail where facets are too near to each other. Their levels then rise, up to a grid
 * that is finer than details of the model. If that does not help, the mesh may have more points,
 * and if it still fails, levels rise up to the last.
 *
 * Grids are relative to the lower corner of the model, if all differences from it are exact. So a
 * model that is moved to another place is split alike, up to the rounding of coordinates there.
 */
#include "mesh/splitting.h"

#include "core/base/base.h"
#include "core/base/point_hash.h"
#include "mesh/hash_table.h"

#include <math.h>

#define RB_CHECK_INTERVAL 4096
#define LEVEL_BITS 4 /* power of two by which each grid is coarser than the one before */
/*
 * Distance from a flaw of the mesh up to which inputs rise first, as a power of two of the first
 * grid
 */
#define REACH_BITS 28
/*
 * Coarsest grid to which a flaw of the mesh raises inputs at first, as a power of two of the
 * model's size; finer than details
 */
#define COARSEST_BITS 16
/* Number of points of a mesh, per point of its input, beyond which the input is split again */
#define POINTS_PER_POINT 50
#define POINTS_FREE 1000
/* Work in the recovery of facets beyond which the input is split again */
#define WORK_PER_POINT 5000
#define WORK_FREE 1000000
/*
 * Factor by which the limits of points and work grow, at most POINTS_GROWTHS times, before inputs
 * rise beyond that coarsest grid
 */
#define POINTS_GROWTH 4
#define POINTS_GROWTHS 3
/* Limits of points if no pieces met: valid input moves only if doubles have no room for its mesh */
#define POINTS_PER_POINT_WHOLE 200
#define POINTS_FREE_WHOLE 20000

struct rb_resplit
{
	rb_context *ctx;
	rb_welded input; /* the input before anything was split or moved */
	rb_meeting_inputs meets;
	/*
	 * Level of each input triangle, segment and point; a point's level is at least that of the
	 * inputs it belongs to
	 */
	uint8_t *triangle_level, *segment_level, *point_level;
	uint8_t last; /* level of which all corners are one point */
	uint8_t most; /* highest level to which a flaw of the mesh raises inputs at first */
	double origin[3];
	double low[3];
	int step;       /* binary exponent of the step of level 1 */
	double *moved;  /* coordinates of the points of the input, moved */
	double *cells;  /* scratch: points rounded to the grid of one level */
	uint32_t *name; /* number of each input point in the moved input */
	rb_point_hash equal;
	uint32_t aligned; /* number of planes and lines to which points were moved */
	uint8_t growths;  /* number of times that the limits of the mesh were increased */
	bool started;
	bool cut; /* true if any pieces met at first */
};

/* ---- the input ---- */

/* Copies an array of the welded PLC to a new block *to, unless there is none. */
static rb_status
copy_plc_array_to_snap(rb_context *ctx, const void *from, size_t n, size_t element, void *to)
{
	void **block = to;

	if (from == NULL)
		return RB_OK;
	RB_TRY(rb_array(ctx, block, n + 1, element));
	memcpy(*block, from, n * element);
	return RB_OK;
}

#define COPY(array, n) \
	RB_TRY(copy_plc_array_to_snap(ctx, from->array, n, sizeof *from->array, (void *) &to->array))

/* Copies a welded PLC that has not been merged. */
static rb_status
copy_welded_plc_to_snap(rb_context *ctx, const rb_welded *from, rb_welded *to)
{
	memset(to, 0, sizeof *to);
	COPY(plc.points, 3 * (size_t) from->plc.npoints);
	COPY(plc.triangles, from->plc.ntriangles);
	COPY(plc.facet_of, from->plc.ntriangles);
	COPY(plc.segments, from->plc.nsegments);
	COPY(plc.seeds, from->plc.nseeds);
	COPY(facet_row, from->npolygons);
	COPY(facet_face, from->npolygons);
	COPY(plane, from->npolygons);
	COPY(group, from->npolygons);
	COPY(surfaces, from->plc.ntriangles);
	COPY(segment_row, from->plc.nsegments);
	COPY(point_row, from->plc.npoints);
	COPY(point_side, from->plc.npoints);
	to->plc.npoints = from->plc.npoints;
	to->plc.ntriangles = from->plc.ntriangles;
	to->plc.nfacets = from->plc.nfacets;
	to->plc.nsegments = from->plc.nsegments;
	to->plc.nseeds = from->plc.nseeds;
	to->npolygons = from->npolygons;
	to->same_segments = from->same_segments;
	to->same_points = from->same_points;
	to->no_length = from->no_length;
	to->no_area = from->no_area;
	return RB_OK;
}

/* Allocates an array of n zeros. */
static rb_status
allocate_snap_zeros(rb_context *ctx, void *array, size_t n, size_t element)
{
	void **block = array;

	RB_TRY(rb_array(ctx, block, n + 1, element));
	memset(*block, 0, (n + 1) * element);
	return RB_OK;
}

/* Returns true if y - x is exact. */
static bool
is_difference_exact(double x, double y)
{
	const double d = y - x, back = d + x, error = (d - (back - x)) + (y - back);

	return isfinite(d) && error == 0 && back == y;
}

/* Determines the origin of the grids and their steps. */
static void
place_grids(rb_resplit *s)
{
	const double *p = s->input.plc.points;
	double high[3] = {-INFINITY, -INFINITY, -INFINITY}, largest = 0, extent = 0;
	bool exact = true;
	int far, wide;

	for (int k = 0; k < 3; k++)
		s->low[k] = INFINITY;
	for (size_t i = 0; i < 3 * (size_t) s->input.plc.npoints; i++)
	{
		s->low[i % 3] = fmin(s->low[i % 3], p[i]);
		high[i % 3] = fmax(high[i % 3], p[i]);
		largest = fmax(largest, fabs(p[i]));
	}
	for (size_t i = 0; i < 3 * (size_t) s->input.plc.npoints && exact; i++)
		exact = is_difference_exact(s->low[i % 3], p[i]);
	for (int k = 0; k < 3; k++)
	{
		s->origin[k] = exact ? s->low[k] : 0;
		extent = fmax(extent, high[k] / 2 - s->low[k] / 2);
	}
	(void) frexp(largest, &far);
	(void) frexp(extent, &wide);
	wide++; /* halves were subtracted */
	s->step = (wide > far - 1 ? wide : far - 1) - 52;
	s->step = s->step > -1074 ? s->step : -1074;
	s->last = 2;
	while (s->step + LEVEL_BITS * (s->last - 1) <= wide)
		s->last++;
	s->most = 1;
	while (s->step + LEVEL_BITS * s->most <= wide - COARSEST_BITS)
		s->most++;
}

/* Copies the input and sets all levels to 0. */
static rb_status
begin_snap_levels(rb_resplit *s, const rb_welded *welded)
{
	const rb_plc *plc = &s->input.plc;

	RB_TRY(copy_welded_plc_to_snap(s->ctx, welded, &s->input));
	RB_TRY(allocate_snap_zeros(s->ctx, &s->meets.triangle, plc->ntriangles, 1));
	RB_TRY(allocate_snap_zeros(s->ctx, &s->meets.segment, plc->nsegments, 1));
	RB_TRY(allocate_snap_zeros(s->ctx, &s->meets.point, plc->npoints, 1));
	RB_TRY(allocate_snap_zeros(s->ctx, &s->triangle_level, plc->ntriangles, 1));
	RB_TRY(allocate_snap_zeros(s->ctx, &s->segment_level, plc->nsegments, 1));
	RB_TRY(allocate_snap_zeros(s->ctx, &s->point_level, plc->npoints, 1));
	RB_TRY(allocate_snap_zeros(s->ctx, &s->name, plc->npoints, sizeof *s->name));
	s->meets.npoints = plc->npoints;
	for (uint32_t i = 0; i < plc->npoints; i++)
		s->name[i] = i;
	place_grids(s);
	s->started = true;
	return RB_OK;
}

/* ---- levels ---- */

/* Rounds a coordinate to the grid of a level. */
static double
round_to_snap_grid(const rb_resplit *s, double x, int axis, int level)
{
	const int step = s->step + LEVEL_BITS * (level - 1);
	const double from = s->origin[axis];

	if (level >= s->last)
		return s->low[axis];
	/* Halves avoid an overflow of the difference; the smallest steps need none. */
	if (step < -1000)
		return from + ldexp(rint(ldexp(x - from, -step)), step) + 0.0;
	return 2 * (from / 2 + ldexp(rint(ldexp(x / 2 - from / 2, 1 - step)), step - 1)) + 0.0;
}

/* Raises the level of a point to that of a triangle or segment at it, if that is higher. */
static inline void
raise_to(uint8_t *level, uint8_t to)
{
	*level = *level > to ? *level : to;
}

/* Raises points that share a cell of a level with a point of that level. */
static rb_status
raise_neighbors(rb_resplit *s, uint8_t level)
{
	const uint32_t n = s->input.plc.npoints;
	uint8_t *at = s->point_level;
	bool any = false;

	for (uint32_t i = 0; i < n; i++)
		any |= at[i] == level;
	if (!any)
		return RB_OK;
	RB_TRY(rb_array(s->ctx, (void **) &s->cells, 3 * (size_t) n + 1, sizeof(double)));
	for (uint32_t i = 0; i < n; i++)
	{
		for (int k = 0; k < 3; k++)
			s->cells[3 * (size_t) i + k] =
				round_to_snap_grid(s, s->input.plc.points[3 * (size_t) i + k], k, level);
		if (rb_stop_due(s->ctx, i, RB_CHECK_INTERVAL))
			return RB_STOPPED;
	}
	RB_TRY(rb_point_hash_find(s->ctx, s->cells, n, &s->equal));
	for (uint32_t i = 0; i < n; i++)
		if (at[i] == level && at[s->equal.first[i]] < level)
			at[s->equal.first[i]] = level;
	for (uint32_t i = 0; i < n; i++)
		if (at[i] < level && at[s->equal.first[i]] == level)
			at[i] = level;
	return RB_OK;
}

/* Computes the levels of points from those of the inputs, and moves the points. */
static rb_status
move_points_to_snap_grids(rb_resplit *s)
{
	const rb_plc *plc = &s->input.plc;

	for (uint32_t i = 0; i < plc->ntriangles; i++)
		for (int k = 0; k < 3; k++)
			raise_to(&s->point_level[plc->triangles[i][k]], s->triangle_level[i]);
	for (uint32_t i = 0; i < plc->nsegments; i++)
		for (int k = 0; k < 2; k++)
			raise_to(&s->point_level[plc->segments[i][k]], s->segment_level[i]);
	for (uint8_t level = s->last; level > 0; level--)
		RB_TRY(raise_neighbors(s, level));
	RB_TRY(rb_array(s->ctx, (void **) &s->moved, 3 * (size_t) plc->npoints + 1, sizeof(double)));
	for (uint32_t i = 0; i < plc->npoints; i++)
		for (int k = 0; k < 3; k++)
		{
			const double x = plc->points[3 * (size_t) i + k];

			s->moved[3 * (size_t) i + k] =
				s->point_level[i] == 0 ? x : round_to_snap_grid(s, x, k, s->point_level[i]);
		}
	RB_TRY(rb_point_hash_find(s->ctx, s->moved, plc->npoints, &s->equal));
	return rb_align_snapped(s->ctx,
							&(rb_snapped){plc, s->triangle_level, s->segment_level, s->point_level,
										  s->meets.triangle, s->meets.segment, s->step, LEVEL_BITS,
										  s->last, s->equal.first, s->moved},
							&s->aligned);
}

/* ---- the moved input ---- */

/* Adds the moved points, each once. */
static rb_status
write_snapped_points(rb_resplit *s, rb_welded *to)
{
	const rb_welded *from = &s->input;
	const uint32_t n = from->plc.npoints;
	double *points = NULL;
	uint32_t kept = 0;

	RB_TRY(rb_point_hash_find(s->ctx, s->moved, n, &s->equal));
	RB_TRY(RB_ALLOCATE(s->ctx, to->plc.points, 3 * (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(s->ctx, to->point_row, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(s->ctx, to->point_side, (size_t) n + 1));
	points = (double *) to->plc.points;
	for (uint32_t i = 0; i < n; i++)
	{
		const uint32_t first = s->equal.first[i];

		if (first != i)
		{
			s->name[i] = s->name[first];
			continue;
		}
		memcpy(points + 3 * (size_t) kept, s->moved + 3 * (size_t) i, 3 * sizeof(double));
		to->point_row[kept] = from->point_row[i];
		to->point_side[kept] = from->point_side[i];
		s->name[i] = kept++;
	}
	to->plc.npoints = kept;
	return RB_OK;
}

/* Adds the triangles that still have an area. */
static rb_status
write_snapped_triangles(rb_resplit *s, rb_welded *to, rb_plc_pieces *pieces)
{
	const rb_welded *from = &s->input;
	const uint32_t n = from->plc.ntriangles;
	rb_exact_env env = {.filters = s->ctx->filters, .exact = true};
	uint32_t(*triangles)[3];
	uint32_t *facet_of, last = RB_NONE, m = 0;

	RB_TRY(RB_ALLOCATE(s->ctx, to->plc.triangles, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(s->ctx, to->plc.facet_of, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(s->ctx, pieces->triangle_of, (size_t) n + 1));
	RB_TRY(copy_plc_array_to_snap(s->ctx, from->facet_row, from->npolygons, sizeof(uint32_t),
								  &to->facet_row));
	RB_TRY(copy_plc_array_to_snap(s->ctx, from->facet_face, from->npolygons, sizeof(uint32_t),
								  &to->facet_face));
	RB_TRY(copy_plc_array_to_snap(s->ctx, from->plane, from->npolygons, sizeof *from->plane,
								  &to->plane));
	RB_TRY(
		copy_plc_array_to_snap(s->ctx, from->group, from->npolygons, sizeof(uint32_t), &to->group));
	RB_TRY(
		copy_plc_array_to_snap(s->ctx, from->surfaces, n, sizeof *from->surfaces, &to->surfaces));
	triangles = (uint32_t(*)[3]) to->plc.triangles;
	facet_of = (uint32_t *) to->plc.facet_of;
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t *t = triangles[m];

		for (int k = 0; k < 3; k++)
			t[k] = s->name[from->plc.triangles[i][k]];
		if (rb_stop_due(s->ctx, i, RB_CHECK_INTERVAL))
			return RB_STOPPED;
		if (rb_weld_is_collinear(&env, to->plc.points, t))
		{
			to->no_area++;
			continue;
		}
		if (from->plc.facet_of[i] != last)
		{
			last = from->plc.facet_of[i];
			to->facet_row[to->npolygons] = from->facet_row[last];
			to->facet_face[to->npolygons] = from->facet_face[last];
			if (to->group != NULL)
				to->group[to->npolygons] = from->group[last];
			to->npolygons++;
		}
		if (to->surfaces != NULL)
			to->surfaces[m] = from->surfaces[i];
		pieces->triangle_of[m] = i;
		facet_of[m++] = to->npolygons - 1;
	}
	to->plc.ntriangles = m;
	to->plc.nfacets = to->npolygons;
	for (uint32_t i = 0, next; i < m; i = next)
	{
		for (next = i + 1; next < m && facet_of[next] == facet_of[i];)
			next++;
		rb_weld_find_plane(&env, to->plc.points, to->plc.triangles + i, next - i,
						   to->plane[facet_of[i]]);
	}
	return RB_OK;
}

/* Adds to the pieces, once each, the segments that still have a nonzero length after snapping. */
static rb_status
write_snapped_segments(rb_resplit *s, rb_welded *to, rb_plc_pieces *pieces)
{
	const rb_welded *from = &s->input;
	const uint32_t n = from->plc.nsegments;
	uint32_t(*segments)[2];
	rb_table known = {0};
	rb_status status;

	RB_TRY(RB_ALLOCATE(s->ctx, pieces->segment_of, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(s->ctx, to->plc.segments, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(s->ctx, to->segment_row, (size_t) n + 1));
	segments = (uint32_t(*)[2]) to->plc.segments;
	status = rb_table_expect(s->ctx, &known, n);
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		const uint32_t a = s->name[from->plc.segments[i][0]];
		const uint32_t b = s->name[from->plc.segments[i][1]];
		bool fresh = false;

		if (a != b)
			status = rb_table_insert(s->ctx, &known, a, b, RB_NONE, 0, NULL, &fresh);
		if (!fresh)
			continue;
		segments[to->plc.nsegments][0] = a;
		segments[to->plc.nsegments][1] = b;
		pieces->segment_of[to->plc.nsegments] = i;
		to->segment_row[to->plc.nsegments++] = from->segment_row[i];
	}
	rb_table_free(s->ctx->memory, &known);
	return status;
}

/* Replaces the welded PLC by the moved input. */
static rb_status
write_moved(rb_resplit *s, rb_welded *to, rb_plc_pieces *pieces)
{
	rb_welded_free(s->ctx->memory, to);
	to->same_segments = s->input.same_segments;
	to->same_points = s->input.same_points;
	to->no_length = s->input.no_length;
	to->no_area = s->input.no_area;
	RB_TRY(copy_plc_array_to_snap(s->ctx, s->input.plc.seeds, s->input.plc.nseeds, sizeof(rb_seed),
								  &to->plc.seeds));
	to->plc.nseeds = s->input.plc.nseeds;
	RB_TRY(write_snapped_points(s, to));
	RB_TRY(write_snapped_triangles(s, to, pieces));
	return write_snapped_segments(s, to, pieces);
}

/* ---- rounds ---- */

/* Raises the level of an input if it is marked, and removes the mark. */
static bool
raise_marked(uint8_t *mark, uint8_t *level, uint8_t last)
{
	const bool rises = (*mark & RB_INPUT_MEETS) != 0 && *level < last;

	*level += rises;
	*mark &= (uint8_t) ~RB_INPUT_MEETS;
	return rises;
}

/* Raises all marked inputs below level `last` by one level; returns true if there were any. */
static bool
raise_levels(rb_resplit *s, uint8_t last)
{
	const rb_plc *plc = &s->input.plc;
	bool any = false;

	for (uint32_t i = 0; i < plc->ntriangles; i++)
		any |= raise_marked(&s->meets.triangle[i], &s->triangle_level[i], last);
	for (uint32_t i = 0; i < plc->nsegments; i++)
		any |= raise_marked(&s->meets.segment[i], &s->segment_level[i], last);
	for (uint32_t i = 0; i < plc->npoints; i++)
	{
		uint8_t mark = s->meets.point[s->name[i]];

		any |= raise_marked(&mark, &s->point_level[i], last);
	}
	for (uint32_t i = 0; i < plc->npoints; i++)
		s->meets.point[i] &= (uint8_t) ~RB_INPUT_MEETS;
	return any;
}

/* Returns true if `at` is in the box of n input points, enlarged by `reach`. */
static bool
is_near_snap_input(const rb_resplit *s, const uint32_t *points, int n, const double *at,
				   double reach)
{
	const double *all = s->moved != NULL ? s->moved : s->input.plc.points;

	for (int k = 0; k < 3; k++)
	{
		double low = INFINITY, high = -INFINITY;

		for (int i = 0; i < n; i++)
		{
			low = fmin(low, all[3 * (size_t) points[i] + k]);
			high = fmax(high, all[3 * (size_t) points[i] + k]);
		}
		if (at[k] < low - reach || at[k] > high + reach)
			return false;
	}
	return true;
}

/*
 * Marks the inputs near a location; `reach` may be infinite. Only inputs that met others count,
 * unless `all` is set.
 */
static void
mark_snap_inputs_near(rb_resplit *s, const double *at, double reach, bool all)
{
	const rb_plc *plc = &s->input.plc;

	for (uint32_t i = 0; i < plc->ntriangles; i++)
		if ((all || s->meets.triangle[i] != 0) &&
			is_near_snap_input(s, plc->triangles[i], 3, at, reach))
			s->meets.triangle[i] |= RB_INPUT_MEETS;
	for (uint32_t i = 0; i < plc->nsegments; i++)
		if ((all || s->meets.segment[i] != 0) &&
			is_near_snap_input(s, plc->segments[i], 2, at, reach))
			s->meets.segment[i] |= RB_INPUT_MEETS;
}

/*
 * Raises inputs by one level, up to level `last`, because of a flaw: inputs near the flaw before
 * others, and in either case inputs that met others before the rest.
 */
static bool
raise_for_flaw(rb_resplit *s, const rb_flaw *flaw, uint8_t last)
{
	for (int i = 0; i < 4; i++)
	{
		mark_snap_inputs_near(s, flaw->at, i < 2 ? ldexp(1, s->step + REACH_BITS) : INFINITY,
							  i % 2 == 1);
		if (raise_levels(s, last))
			return true;
	}
	return false;
}

bool
rb_resplit_raise(rb_resplit *s, const rb_flaw *flaw)
{
	if (s == NULL || flaw->kind == RB_FLAW_NO_VOLUME)
		return false;
	if (raise_for_flaw(s, flaw, s->most))
		return true;
	if ((flaw->kind == RB_FLAW_TOO_MANY_POINTS || flaw->kind == RB_FLAW_NOT_RECOVERED) &&
		s->growths < POINTS_GROWTHS)
	{
		s->growths++;
		return true;
	}
	return raise_for_flaw(s, flaw, s->last);
}

/* Describes how far points moved. */
static void
measure_moves(const rb_resplit *s, rb_split_done *done)
{
	const rb_plc *plc = &s->input.plc;

	for (uint32_t i = 0; i < plc->npoints; i++)
	{
		const double *p = plc->points + 3 * (size_t) i, *q = s->moved + 3 * (size_t) i;
		const double move = hypot(hypot(p[0] - q[0], p[1] - q[1]), p[2] - q[2]);

		done->moved += move > 0;
		done->largest_move = fmax(done->largest_move, move);
		done->level = s->point_level[i] > done->level ? s->point_level[i] : done->level;
	}
	done->aligned = s->aligned;
	done->grid = ldexp(1, s->step + LEVEL_BITS * ((int) done->level - 1));
}

/* Sets the number of points and the work beyond which the input is split again. */
static void
limit_mesh_of_split(const rb_resplit *s, rb_plc *plc)
{
	const uint64_t n = plc->npoints;
	uint64_t points = s->cut ? POINTS_FREE + POINTS_PER_POINT * n
							 : POINTS_FREE_WHOLE + POINTS_PER_POINT_WHOLE * n;
	uint64_t work = s->cut ? WORK_FREE + WORK_PER_POINT * n : 0;

	for (uint8_t i = 0; i < s->growths; i++)
	{
		points *= POINTS_GROWTH;
		work *= POINTS_GROWTH;
	}
	plc->max_points = points < UINT32_MAX ? (uint32_t) points : 0;
	plc->max_work = work;
}

/* Splits the input, raising levels until nothing meets. */
static rb_status
split_and_raise(rb_resplit *s, const rb_backend *backend, rb_welded *welded, rb_plc_pieces *pieces,
				rb_split_done *done, rb_flaw *flaw)
{
	const bool first = !s->started;
	bool sound = false, raised = !first;
	uint32_t npoints = welded->plc.npoints;

	if (first)
	{
		RB_TRY(begin_snap_levels(s, welded));
		RB_TRY(allocate_snap_zeros(s->ctx, &pieces->triangle_of, welded->plc.ntriangles,
								   sizeof(uint32_t)));
		RB_TRY(allocate_snap_zeros(s->ctx, &pieces->segment_of, welded->plc.nsegments,
								   sizeof(uint32_t)));
		for (uint32_t i = 0; i < welded->plc.ntriangles; i++)
			pieces->triangle_of[i] = i;
		for (uint32_t i = 0; i < welded->plc.nsegments; i++)
			pieces->segment_of[i] = i;
	}
	pieces->welded = welded;
	pieces->rows = s->input.segment_row;
	while (!sound)
	{
		if (raised)
		{
			RB_TRY(move_points_to_snap_grids(s));
			RB_TRY(write_moved(s, welded, pieces));
			npoints = welded->plc.npoints;
			done->dropped = 0;
		}
		RB_TRY(rb_pieces_split(s->ctx, backend, pieces, &s->meets, done, &sound));
		s->cut |= done->rounds > 0;
		raised = !sound && raise_levels(s, s->last);
		if (!sound && !raised)
			return rb_weld_validate(s->ctx, backend, welded, flaw);
	}
	done->points = welded->plc.npoints - npoints;
	for (uint32_t i = 0; i < welded->plc.nsegments; i++)
		done->segments += welded->segment_row[i] == RB_NONE;
	if (s->moved != NULL)
		measure_moves(s, done);
	limit_mesh_of_split(s, &welded->plc);
	return RB_OK;
}

rb_status
rb_resplit_run(rb_context *ctx, const rb_backend *backend, rb_resplit **split, rb_welded *welded,
			   rb_split_done *done, rb_flaw *flaw)
{
	rb_plc_pieces pieces = {0};
	rb_status status = RB_OK;

	memset(done, 0, sizeof *done);
	if (*split == NULL)
		status = allocate_snap_zeros(ctx, split, 1, sizeof **split);
	if (status != RB_OK)
		return status;
	(*split)->ctx = ctx;
	status = split_and_raise(*split, backend, welded, &pieces, done, flaw);
	RB_FREE(ctx->memory, pieces.triangle_of);
	RB_FREE(ctx->memory, pieces.segment_of);
	return status;
}

const double *
rb_resplit_moved(const rb_resplit *split)
{
	return split->moved;
}

void
rb_resplit_free(rb_memory *memory, rb_resplit **split)
{
	rb_resplit *s = *split;

	if (s == NULL)
		return;
	rb_welded_free(memory, &s->input);
	RB_FREE(memory, s->meets.triangle);
	RB_FREE(memory, s->meets.segment);
	RB_FREE(memory, s->meets.point);
	RB_FREE(memory, s->triangle_level);
	RB_FREE(memory, s->segment_level);
	RB_FREE(memory, s->point_level);
	RB_FREE(memory, s->moved);
	RB_FREE(memory, s->cells);
	RB_FREE(memory, s->name);
	rb_point_hash_free(memory, &s->equal);
	RB_FREE(memory, *split);
}
