/*
 * weld.c
 *	  Builds a PLC from rows: corners with equal coordinates become one point, and the triangles of
 *	  one polygon become one facet.
 *
 * The corners of all input sets are written to one array, and a hash table finds those with equal
 * coordinates (point_hash.h). The first of them becomes the point and is kept bit for bit.
 *
 * Directed edges show whether a facet is a simple polygon. The reader orients all triangles of a
 * polygon alike, so a directed edge that occurs twice belongs to three triangles, or to two that
 * overlap. A directed edge without its reverse is on the boundary.
 *
 * A triangle without area is dropped, and its middle corner splits its longest edge for all other
 * triangles. Else a closed surface would have a crack there: one neighbor has the longest edge, and
 * the others have the two short ones.
 */
#include "mesh/weld.h"

#include "core/base/base.h"
#include "core/base/point_hash.h"
#include "core/base/sort.h"
#include "core/exact/orient.h"
#include "mesh/hash_table.h"

/* Iterations between two polls for a stop */
#define RB_CHECK_INTERVAL 4096

typedef struct welding
{
	rb_context *ctx;
	const rb_weld_input *in;
	rb_welded *to;
	rb_flaw *flaw;
	rb_exact_env env;
	double *points; /* corners of all input sets; later the points */
	uint32_t ncorners;
	uint32_t first_of_segments;
	uint32_t first_of_points;
	rb_point_hash corners; /* point of each corner, once points are numbered */
	uint64_t *edges;       /* directed edges of the current facet as from << 32 | to */
	size_t edges_cap;
	rb_table segments;  /* segments by their ends */
	rb_table triangles; /* triangles by their corners, if facets that exist already are dropped */
	rb_table middles;   /* for the longest edge of a triangle without area, its middle corner */
} welding;

/* Returns the row of a part of an input set. */
static inline uint32_t
row_of(const rb_set *set, uint32_t part)
{
	return set->row_of != NULL ? set->row_of[part] : part;
}

/* Returns the number of parts of an input set, 0 if the input is missing. */
static inline uint32_t
parts_of_welded_set(const rb_set *set)
{
	return set != NULL ? set->nparts : 0;
}

/* Returns true if a stop was requested while rows are welded; checks only at some elements. */
static inline bool
should_stop_welding(const welding *w, uint32_t i)
{
	return rb_stop_due(w->ctx, i, RB_CHECK_INTERVAL);
}

/* ---- points ---- */

/* Copies the first n points of each part of a set. */
static rb_status
copy_corners_to_weld(welding *w, const rb_set *set, size_t n, double *to)
{
	const size_t width = set != NULL ? (size_t) rb_kind_width(set->kind) : 0;

	for (uint32_t i = 0; i < parts_of_welded_set(set); i++)
	{
		memcpy(to + 3 * n * i, set->coords + width * i, 3 * n * sizeof(double));
		if (should_stop_welding(w, i))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Gathers the corners of all facets, segments and points. */
static rb_status
gather_corners(welding *w)
{
	const rb_set *sets[3] = {w->in->facets, w->in->segments, w->in->points};
	uint64_t n = 3 * (uint64_t) parts_of_welded_set(sets[0]) +
				 2 * (uint64_t) parts_of_welded_set(sets[1]) + parts_of_welded_set(sets[2]);

	/* The largest indices are reserved. */

	if (n > UINT32_MAX - 16)
		return rb_fail(w->ctx, RB_TOO_MANY_OBJECTS, n, UINT32_MAX - 16, NULL);
	w->ncorners = (uint32_t) n;
	w->first_of_segments = 3 * parts_of_welded_set(sets[0]);
	w->first_of_points = w->first_of_segments + 2 * parts_of_welded_set(sets[1]);
	for (int i = 0; i < 3; i++)
		if (sets[i] != NULL)
			RB_TRY(rb_set_materialize(w->ctx, sets[i]));
	RB_TRY(RB_ALLOCATE(w->ctx, w->points, 3 * (size_t) n + 1));
	RB_TRY(copy_corners_to_weld(w, sets[0], 3, w->points));
	RB_TRY(copy_corners_to_weld(w, sets[1], 2, w->points + 3 * (size_t) w->first_of_segments));
	return copy_corners_to_weld(w, sets[2], 1, w->points + 3 * (size_t) w->first_of_points);
}

/* Sets the row and the input set of a point from its first corner. */
static void
set_origin_of_welded_point(welding *w, uint32_t point, uint32_t corner)
{
	if (corner < w->first_of_segments)
	{
		w->to->point_side[point] = RB_WELD_FACETS;
		w->to->point_row[point] = row_of(w->in->facets, corner / 3);
	}
	else if (corner < w->first_of_points)
	{
		w->to->point_side[point] = RB_WELD_SEGMENTS;
		w->to->point_row[point] = row_of(w->in->segments, (corner - w->first_of_segments) / 2);
	}
	else
	{
		w->to->point_side[point] = RB_WELD_POINTS;
		w->to->point_row[point] = row_of(w->in->points, corner - w->first_of_points);
	}
}

/* Moves the first corner of each point to the front, and sets the point of every corner. */
static rb_status
number_corner_points(welding *w)
{
	uint32_t *first;
	uint32_t n = 0;
	rb_status status = rb_point_hash_find(w->ctx, w->points, w->ncorners, &w->corners);

	first = w->corners.first;
	for (uint32_t i = 0; i < w->ncorners && status == RB_OK; i++)
	{
		n += first[i] == i;
		if (should_stop_welding(w, i))
			status = RB_STOPPED;
	}
	if (status == RB_OK)
		status = RB_ALLOCATE(w->ctx, w->to->point_row, n);
	if (status == RB_OK)
		status = RB_ALLOCATE(w->ctx, w->to->point_side, n);
	if (status != RB_OK)
		return status;
	n = 0;
	for (uint32_t i = 0; i < w->ncorners; i++)
	{
		if (first[i] == i)
		{
			memmove(w->points + 3 * (size_t) n, w->points + 3 * (size_t) i, 3 * sizeof(double));
			set_origin_of_welded_point(w, n, i);
			first[i] = n++;
		}
		else
		{
			w->to->same_points += i >= w->first_of_points;
			first[i] = first[first[i]]; /* the first corner already has its point */
		}
		if (should_stop_welding(w, i))
			return RB_STOPPED;
	}
	rb_shrink(w->ctx->memory, (void **) &w->points, 3 * (size_t) n * sizeof(double));
	w->to->plc.points = w->points;
	w->to->plc.npoints = n;
	w->points = NULL;
	return RB_OK;
}

/* Numbers the points again after rb_weld_near has joined those nearer than the distance. */
static rb_status
renumber_welded_points(welding *w)
{
	rb_plc *plc = &w->to->plc;
	double *points = (double *) plc->points;
	uint32_t *to = NULL;
	uint32_t n = 0;
	rb_status status = RB_ALLOCATE(w->ctx, to, (size_t) plc->npoints + 1);

	if (status == RB_OK)
		status = rb_weld_near(w->ctx, points, plc->npoints, w->in->distance, to, &w->to->near);
	/* A point may be joined to a later one, so number the points that stay before the others. */
	for (uint32_t i = 0; i < plc->npoints && status == RB_OK; i++)
		if (to[i] == i)
		{
			memmove(points + 3 * (size_t) n, points + 3 * (size_t) i, 3 * sizeof(double));
			w->to->point_row[n] = w->to->point_row[i];
			w->to->point_side[n] = w->to->point_side[i];
			to[i] = RB_NONE - 1 - n++;
		}
	for (uint32_t i = 0; i < w->ncorners && status == RB_OK; i++)
	{
		uint32_t *point = &w->corners.first[i];
		const uint32_t target = to[*point];

		/* Numbers of points that stay are counted down from RB_NONE. */
		*point = RB_NONE - 1 - (target >= RB_NONE - n ? target : to[target]);
		if (should_stop_welding(w, i))
			status = RB_STOPPED;
	}
	if (status == RB_OK)
		plc->npoints = n;
	RB_FREE(w->ctx->memory, to);
	return status;
}

/* Returns the coordinates of point i of the welded PLC. */
static inline const double *
get_welded_point(const welding *w, uint32_t i)
{
	return w->to->plc.points + 3 * (size_t) i;
}

/* ---- segments ---- */

/* Adds the segments of nonzero length, each once. */
static rb_status
add_welded_segments(welding *w)
{
	const rb_set *set = w->in->segments;
	const uint32_t *corner = w->corners.first + w->first_of_segments;
	uint32_t(*segments)[2] = NULL;

	if (parts_of_welded_set(set) == 0)
		return RB_OK;
	RB_TRY(rb_table_expect(w->ctx, &w->segments, set->nparts));
	RB_TRY(RB_ALLOCATE(w->ctx, segments, set->nparts));
	w->to->plc.segments = (const uint32_t(*)[2]) segments;
	RB_TRY(RB_ALLOCATE(w->ctx, w->to->segment_row, set->nparts));
	for (uint32_t i = 0; i < set->nparts; i++)
	{
		const uint32_t a = corner[2 * (size_t) i], b = corner[2 * (size_t) i + 1];
		bool fresh;

		if (should_stop_welding(w, i))
			return RB_STOPPED;
		if (a == b)
		{
			w->to->no_length++;
			continue;
		}
		RB_TRY(rb_table_insert(w->ctx, &w->segments, a, b, RB_NONE, w->to->plc.nsegments, NULL,
							   &fresh));
		if (!fresh)
		{
			w->to->same_segments++;
			continue;
		}
		segments[w->to->plc.nsegments][0] = a;
		segments[w->to->plc.nsegments][1] = b;
		w->to->segment_row[w->to->plc.nsegments++] = row_of(set, i);
	}
	return RB_OK;
}

/* ---- facets ---- */

/*
 * Returns true if three points are collinear, that is, if they are collinear in the projection
 * along each axis.
 */
bool
rb_weld_is_collinear(rb_exact_env *env, const double *points, const uint32_t *t)
{
	const double *a = points + 3 * (size_t) t[0], *b = points + 3 * (size_t) t[1],
				 *c = points + 3 * (size_t) t[2];

	if (t[0] == t[1] || t[1] == t[2] || t[2] == t[0])
		return true;
	for (int k = 0; k < 3; k++)
	{
		const int u = (k + 1) % 3, v = (k + 2) % 3;

		if (rb_orient2d_at(env, a[u], a[v], b[u], b[v], c[u], c[v]) != 0)
			return false;
	}
	return true;
}

/* Records the flaw of a facet that is to be welded, located midway between two of its points. */
static rb_status
record_flaw_of_welded_facet(welding *w, rb_flaw_kind kind, uint32_t row, uint32_t face,
							const double *a, const double *b)
{
	w->flaw->kind = kind;
	w->flaw->a = row;
	w->flaw->b = face;
	for (int k = 0; k < 3; k++)
		w->flaw->at[k] = a[k] / 2 + b[k] / 2;
	return RB_BAD_PLC;
}

void
rb_weld_find_plane(rb_exact_env *env, const double *points, const uint32_t (*t)[3], uint32_t n,
				   uint32_t *plane)
{
	const double *a = points + 3 * (size_t) t[0][0], *b = points + 3 * (size_t) t[0][1],
				 *c = points + 3 * (size_t) t[0][2];

	memcpy(plane, t[0], 3 * sizeof *plane);
	for (uint32_t i = 1; i < n; i++)
		for (int k = 0; k < 3; k++)
			if (rb_orient3d_at(env, a, b, c, points + 3 * (size_t) t[i][k]) != 0)
			{
				plane[0] = RB_NONE;
				return;
			}
}

/*
 * Completes the last facet, whose triangles start at `first`: finds its plane and checks its edges.
 */
static rb_status
finish_welded_facet(welding *w, uint32_t first)
{
	const uint32_t(*t)[3] = w->to->plc.triangles + first;
	const uint32_t m = w->to->plc.ntriangles - first;
	size_t n = 0;

	rb_weld_find_plane(&w->env, w->to->plc.points, t, m, w->to->plane[w->to->plc.nfacets - 1]);
	if (m == 1)
		return RB_OK;
	if (3 * (size_t) m > w->edges_cap)
	{
		RB_TRY(RB_ALLOCATE(w->ctx, w->edges, 6 * (size_t) m));
		w->edges_cap = 6 * (size_t) m;
	}
	for (uint32_t i = 0; i < m; i++)
		for (int k = 0; k < 3; k++)
			w->edges[n++] = (uint64_t) t[i][k] << 32 | t[i][(k + 1) % 3];
	RB_TRY(rb_sort_words(w->ctx, w->edges, n));
	for (size_t i = 0; i < n; i++)
	{
		const uint32_t from = (uint32_t) (w->edges[i] >> 32), to = (uint32_t) w->edges[i];

		if (i > 0 && w->edges[i] == w->edges[i - 1])
			return record_flaw_of_welded_facet(w, RB_FLAW_FACET_FOLDED,
											   w->to->facet_row[w->to->plc.nfacets - 1],
											   w->to->facet_face[w->to->plc.nfacets - 1],
											   get_welded_point(w, from), get_welded_point(w, to));
		if (should_stop_welding(w, (uint32_t) i))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Allocates the arrays of triangles and facets. */
static rb_status
reserve_welded_facets(welding *w)
{
	const size_t n = w->in->facets->nparts;
	rb_plc *plc = &w->to->plc;

	RB_TRY(RB_ALLOCATE(w->ctx, plc->triangles, n));
	RB_TRY(RB_ALLOCATE(w->ctx, plc->facet_of, n));
	RB_TRY(RB_ALLOCATE(w->ctx, w->to->facet_row, n));
	RB_TRY(RB_ALLOCATE(w->ctx, w->to->facet_face, n));
	return RB_ALLOCATE(w->ctx, w->to->plane, n);
}

/* Groups the rows that share an id; leaves `group` NULL if all ids differ. */
static rb_status
group_rows_by_id(welding *w)
{
	const rb_set *set = w->in->facets;
	const uint32_t n = w->to->plc.nfacets;
	uint32_t *number = NULL;
	uint32_t distinct = set->nrows;
	rb_error error = {.status = RB_OK};
	rb_status status;

	status = rb_set_materialize_ids(w->ctx, set);
	if (status != RB_OK || set->ids == NULL || rb_set_ids_ascend(set))
		return status;
	status = RB_ALLOCATE(w->ctx, number, (size_t) set->nrows + 1);
	if (status == RB_OK)
	{
		status =
			rb_ids_number(w->ctx->memory, set->ids, set->nrows, NULL, number, &distinct, &error);
		if (status != RB_OK)
			status = rb_fail(w->ctx, status, error.need, error.limit, NULL);
	}
	if (status == RB_OK && distinct < set->nrows)
		status = RB_ALLOCATE(w->ctx, w->to->group, (size_t) n + 1);
	for (uint32_t i = 0; i < n && status == RB_OK && w->to->group != NULL; i++)
		w->to->group[i] = number[w->to->facet_row[i]];
	RB_FREE(w->ctx->memory, number);
	return status;
}

/* Drops the last facet, whose triangles start at `first`, if all of them exist already. */
static rb_status
drop_same_facet(welding *w, uint32_t first)
{
	rb_plc *plc = &w->to->plc;
	bool same = true;

	for (uint32_t t = first; t < plc->ntriangles; t++)
	{
		const uint32_t *v = plc->triangles[t];
		bool fresh;

		RB_TRY(rb_table_insert(w->ctx, &w->triangles, v[0], v[1], v[2], t, NULL, &fresh));
		same &= !fresh;
	}
	w->to->same_facets += same;
	plc->ntriangles = same ? first : plc->ntriangles;
	return RB_OK;
}

/* ---- triangles without area ---- */

/* Compares two collinear points along their line, by the first coordinate in which they differ. */
static int
compare_on_line(const welding *w, uint32_t a, uint32_t b)
{
	const double *p = get_welded_point(w, a), *q = get_welded_point(w, b);

	for (int k = 0; k < 3; k++)
		if (p[k] != q[k])
			return p[k] < q[k] ? -1 : 1;
	return 0;
}

/*
 * Records that the middle corner of a triangle without area splits its longest edge. If another one
 * does already, the corner splits one of the two parts.
 */
static rb_status
note_middle_corner(welding *w, const uint32_t *t)
{
	uint32_t v[3] = {t[0], t[1], t[2]};

	w->to->no_area++;
	if (t[0] == t[1] || t[1] == t[2] || t[2] == t[0])
		return RB_OK;
	for (int i = 1; i < 3; i++)
		for (int k = i; k > 0 && compare_on_line(w, v[k - 1], v[k]) > 0; k--)
		{
			const uint32_t swap = v[k];

			v[k] = v[k - 1];
			v[k - 1] = swap;
		}
	for (;;)
	{
		uint32_t *middle;
		int side;
		bool fresh;

		RB_TRY(rb_table_insert(w->ctx, &w->middles, v[0], v[2], RB_NONE, v[1], &middle, &fresh));
		side = compare_on_line(w, v[1], *middle);
		if (side == 0)
			return RB_OK;
		v[side < 0 ? 2 : 0] = *middle;
	}
}

/* Triangles of a PLC in arrays that grow, and a stack of triangles that may have to be split */
typedef struct split_facets
{
	uint32_t (*triangles)[3], (*stack)[3];
	uint32_t *facet_of;
	size_t triangles_cap, facets_cap, stack_cap;
	uint32_t n;
} split_facets;

/* Adds a triangle, split at the middle corners on its edges. */
static rb_status
split_at_middle_corners(welding *w, split_facets *to, const uint32_t *t, uint32_t facet)
{
	size_t depth = 0;

	RB_TRY(RB_GROW(w->ctx, to->stack, to->stack_cap, 1));
	memcpy(to->stack[depth++], t, sizeof *to->stack);
	while (depth > 0)
	{
		uint32_t v[3];
		const uint32_t *middle = NULL;
		int e = -1;

		memcpy(v, to->stack[--depth], sizeof v);
		while (middle == NULL && ++e < 3)
			middle = rb_table_get(&w->middles, v[e], v[(e + 1) % 3], RB_NONE);
		if (middle == NULL)
		{
			RB_TRY(RB_GROW(w->ctx, to->triangles, to->triangles_cap, (size_t) to->n + 1));
			RB_TRY(RB_GROW(w->ctx, to->facet_of, to->facets_cap, (size_t) to->n + 1));
			memcpy(to->triangles[to->n], v, sizeof v);
			to->facet_of[to->n++] = facet;
			continue;
		}
		RB_TRY(RB_GROW(w->ctx, to->stack, to->stack_cap, depth + 2));
		for (int i = 0; i < 2; i++)
		{
			uint32_t *half = to->stack[depth++];

			half[0] = i == 0 ? *middle : v[e];
			half[1] = i == 0 ? v[(e + 1) % 3] : *middle;
			half[2] = v[(e + 2) % 3];
		}
	}
	return RB_OK;
}

/* Splits the triangles of all facets at the middle corners of triangles without area. */
static rb_status
split_facets_at_middle_corners(welding *w)
{
	rb_plc *plc = &w->to->plc;
	split_facets to = {0};
	rb_status status = RB_OK;

	if (w->middles.n == 0)
		return RB_OK;
	for (uint32_t i = 0; i < plc->ntriangles && status == RB_OK; i++)
		status = should_stop_welding(w, i)
					 ? RB_STOPPED
					 : split_at_middle_corners(w, &to, plc->triangles[i], plc->facet_of[i]);
	if (status == RB_OK && to.n > 0)
	{
		RB_FREE(w->ctx->memory, plc->triangles);
		RB_FREE(w->ctx->memory, plc->facet_of);
		plc->triangles = (const uint32_t(*)[3]) to.triangles;
		plc->facet_of = to.facet_of;
		plc->ntriangles = to.n;
		to.triangles = NULL;
		to.facet_of = NULL;
	}
	RB_FREE(w->ctx->memory, to.triangles);
	RB_FREE(w->ctx->memory, to.facet_of);
	RB_FREE(w->ctx->memory, to.stack);
	return status;
}

/* Segments with their rows, in an array that grows */
typedef struct row_segment
{
	uint32_t end[2];
	uint32_t row;
} row_segment;

/*
 * Splits the segments at the middle corners of triangles without area. A part that is another
 * segment already is dropped.
 */
static rb_status
split_segments_at_middle_corners(welding *w)
{
	rb_plc *plc = &w->to->plc;
	RB_VEC(row_segment) parts = {0};
	uint32_t(*segments)[2] = NULL;
	uint32_t *rows = NULL, n = 0;
	rb_status status = RB_OK;

	if (w->middles.n == 0 || plc->nsegments == 0)
		return RB_OK;
	for (uint32_t i = 0; i < plc->nsegments && status == RB_OK; i++)
		status = rb_vec_append(
			w->ctx, &parts,
			(row_segment){{plc->segments[i][0], plc->segments[i][1]}, w->to->segment_row[i]});
	for (uint32_t i = 0; i < parts.n && status == RB_OK; i++)
	{
		const uint32_t *middle;

		if (should_stop_welding(w, i))
			status = RB_STOPPED;
		while (status == RB_OK && (middle = rb_table_get(&w->middles, parts.at[i].end[0],
														 parts.at[i].end[1], RB_NONE)) != NULL)
		{
			const row_segment rest = {{*middle, parts.at[i].end[1]}, parts.at[i].row};

			parts.at[i].end[1] = *middle;
			status = rb_vec_append(w->ctx, &parts, rest);
		}
	}
	if (status == RB_OK)
		status = RB_ALLOCATE(w->ctx, segments, parts.n);
	if (status == RB_OK)
		status = RB_ALLOCATE(w->ctx, rows, parts.n);
	rb_table_empty(&w->segments);
	for (uint32_t i = 0; i < parts.n && status == RB_OK; i++)
	{
		const uint32_t *end = parts.at[i].end;
		bool fresh = false;

		status = rb_table_insert(w->ctx, &w->segments, end[0], end[1], RB_NONE, 0, NULL, &fresh);
		w->to->same_segments += status == RB_OK && !fresh;
		if (!fresh)
			continue;
		memcpy(segments[n], end, sizeof *segments);
		rows[n++] = parts.at[i].row;
	}
	rb_vec_free(w->ctx->memory, &parts);
	if (status == RB_OK)
	{
		RB_FREE(w->ctx->memory, plc->segments);
		RB_FREE(w->ctx->memory, w->to->segment_row);
		plc->segments = (const uint32_t(*)[2]) segments;
		w->to->segment_row = rows;
		plc->nsegments = n;
		return RB_OK;
	}
	RB_FREE(w->ctx->memory, segments);
	RB_FREE(w->ctx->memory, rows);
	return status;
}

/* Adds the triangles of all facets to the PLC. */
static rb_status
add_welded_facets(welding *w)
{
	const rb_set *set = w->in->facets;
	rb_plc *plc = &w->to->plc;
	uint32_t(*triangles)[3];
	uint32_t *facet_of;
	uint32_t face = 0;
	rb_status status;

	if (parts_of_welded_set(set) == 0)
		return RB_OK;
	status = reserve_welded_facets(w);
	triangles = (uint32_t(*)[3]) plc->triangles;
	facet_of = (uint32_t *) plc->facet_of;
	for (uint32_t i = 0; i < set->nparts && status == RB_OK;)
	{
		const uint32_t row = row_of(set, i), first = plc->ntriangles;

		if (set->face_of != NULL)
			face = set->face_of[i];
		else
			face = i > 0 && row_of(set, i - 1) == row ? face + 1 : 0;
		do
		{
			const uint32_t *t = w->corners.first + 3 * (size_t) i;

			if (!rb_weld_is_collinear(&w->env, w->to->plc.points, t))
			{
				memcpy(triangles[plc->ntriangles], t, sizeof *triangles);
				facet_of[plc->ntriangles++] = plc->nfacets;
			}
			else if (w->in->skip_flat || w->in->distance > 0)
				RB_TRY(note_middle_corner(w, t));
			else
				return record_flaw_of_welded_facet(w, RB_FLAW_FACET_AREA, row, face,
												   get_welded_point(w, t[0]),
												   get_welded_point(w, t[0]));
			if (should_stop_welding(w, i))
				return RB_STOPPED;
			i++;
		} while (i < set->nparts && set->face_of != NULL && set->face_of[i] == face &&
				 row_of(set, i) == row);
		if (plc->ntriangles > first && w->in->distance > 0 && !w->in->keep_same)
			status = drop_same_facet(w, first);
		if (plc->ntriangles == first || status != RB_OK)
			continue;
		w->to->facet_row[plc->nfacets] = row;
		w->to->facet_face[plc->nfacets++] = face;
		status = finish_welded_facet(w, first);
	}
	if (status == RB_OK)
		status = split_facets_at_middle_corners(w);
	if (status == RB_OK)
		status = split_segments_at_middle_corners(w);
	if (status == RB_OK)
	{
		rb_shrink(w->ctx->memory, (void **) &w->to->facet_row,
				  plc->nfacets * sizeof *w->to->facet_row);
		rb_shrink(w->ctx->memory, (void **) &w->to->facet_face,
				  plc->nfacets * sizeof *w->to->facet_face);
		rb_shrink(w->ctx->memory, (void **) &w->to->plane, plc->nfacets * sizeof *w->to->plane);
		w->to->npolygons = plc->nfacets;
		status = group_rows_by_id(w);
	}
	return status;
}

/* Copies the seeds of regions to the PLC. */
static rb_status
copy_seeds(welding *w)
{
	rb_plc *plc = &w->to->plc;

	if (w->in->nseeds == 0)
		return RB_OK;
	RB_TRY(RB_ALLOCATE(w->ctx, plc->seeds, w->in->nseeds));
	memcpy((rb_seed *) plc->seeds, w->in->seeds, w->in->nseeds * sizeof *plc->seeds);
	plc->nseeds = w->in->nseeds;
	return RB_OK;
}

/* Builds the PLC from the rows. */
static rb_status
weld_rows(welding *w)
{
	/* Poll often: only a few rows are welded between two polls. */
	if (rb_should_stop(w->ctx))
		return RB_STOPPED;
	RB_TRY(gather_corners(w));
	RB_TRY(number_corner_points(w));
	RB_TRY(w->in->distance > 0 ? renumber_welded_points(w) : RB_OK);
	if (w->in->corner_points != NULL && w->first_of_segments > 0)
		memcpy(w->in->corner_points, w->corners.first, w->first_of_segments * sizeof(uint32_t));
	RB_TRY(add_welded_segments(w));
	RB_TRY(add_welded_facets(w));
	return copy_seeds(w);
}

rb_status
rb_weld(rb_context *ctx, const rb_weld_input *in, rb_welded *to, rb_flaw *flaw)
{
	welding w = {.ctx = ctx,
				 .in = in,
				 .to = to,
				 .flaw = flaw,
				 .env = {.filters = ctx->filters, .exact = true}};
	rb_status status;

	memset(to, 0, sizeof *to);
	memset(flaw, 0, sizeof *flaw);
	status = weld_rows(&w);
	RB_FREE(ctx->memory, w.points);
	RB_FREE(ctx->memory, w.edges);
	rb_table_free(ctx->memory, &w.segments);
	rb_table_free(ctx->memory, &w.triangles);
	rb_table_free(ctx->memory, &w.middles);
	rb_point_hash_free(ctx->memory, &w.corners);
	if (status != RB_OK)
		rb_welded_free(ctx->memory, to);
	return status;
}

/* Copies n elements into a new array, which has room for at least one. */
static rb_status
copy_welded_array(rb_context *ctx, const void *from, uint32_t n, size_t element, void **to)
{
	RB_TRY(rb_array(ctx, to, (size_t) n + 1, element));
	if (n > 0)
		memcpy(*to, from, n * element);
	return RB_OK;
}

/* Copies a PLC with the planes of its facets. */
static rb_status
copy_welded_plc(rb_context *ctx, const rb_plc *plc, rb_welded *to)
{
	rb_exact_env env = {.filters = ctx->filters, .exact = true};
	rb_plc *copy = &to->plc;

	RB_TRY(copy_welded_array(ctx, plc->points, plc->npoints, 3 * sizeof(double),
							 (void **) &copy->points));
	RB_TRY(copy_welded_array(ctx, plc->triangles, plc->ntriangles, 3 * sizeof(uint32_t),
							 (void **) &copy->triangles));
	RB_TRY(copy_welded_array(ctx, plc->facet_of, plc->ntriangles, sizeof(uint32_t),
							 (void **) &copy->facet_of));
	RB_TRY(copy_welded_array(ctx, plc->segments, plc->nsegments, 2 * sizeof(uint32_t),
							 (void **) &copy->segments));
	RB_TRY(
		copy_welded_array(ctx, plc->seeds, plc->nseeds, sizeof(rb_seed), (void **) &copy->seeds));
	copy->npoints = plc->npoints;
	copy->ntriangles = plc->ntriangles;
	copy->nfacets = to->npolygons = plc->nfacets;
	copy->nsegments = plc->nsegments;
	copy->nseeds = plc->nseeds;
	RB_TRY(RB_ALLOCATE(ctx, to->plane, (size_t) plc->nfacets + 1));
	RB_TRY(RB_ALLOCATE(ctx, to->facet_row, (size_t) plc->nfacets + 1));
	RB_TRY(RB_ALLOCATE(ctx, to->facet_face, (size_t) plc->nfacets + 1));
	RB_TRY(RB_ALLOCATE(ctx, to->segment_row, (size_t) plc->nsegments + 1));
	for (uint32_t i = 0, next; i < plc->ntriangles; i = next)
	{
		const uint32_t f = plc->facet_of[i];

		for (next = i + 1; next < plc->ntriangles && plc->facet_of[next] == f;)
			next++;
		rb_weld_find_plane(&env, plc->points, plc->triangles + i, next - i, to->plane[f]);
		to->facet_row[f] = f;
		to->facet_face[f] = 0;
		if (rb_should_stop(ctx))
			return RB_STOPPED;
	}
	for (uint32_t i = 0; i < plc->nsegments; i++)
		to->segment_row[i] = i;
	return RB_OK;
}

rb_status
rb_weld_plc(rb_context *ctx, const rb_plc *plc, rb_welded *to)
{
	rb_status status;

	memset(to, 0, sizeof *to);
	status = copy_welded_plc(ctx, plc, to);
	if (status != RB_OK)
		rb_welded_free(ctx->memory, to);
	return status;
}

void
rb_welded_free(rb_memory *memory, rb_welded *to)
{
	RB_FREE(memory, to->plc.points);
	RB_FREE(memory, to->plc.triangles);
	RB_FREE(memory, to->plc.facet_of);
	RB_FREE(memory, to->plc.segments);
	RB_FREE(memory, to->plc.seeds);
	RB_FREE(memory, to->plc.tolerance);
	RB_FREE(memory, to->facet_row);
	RB_FREE(memory, to->facet_face);
	RB_FREE(memory, to->plane);
	RB_FREE(memory, to->group);
	RB_FREE(memory, to->surfaces);
	RB_FREE(memory, to->polygon_of);
	RB_FREE(memory, to->coplanar);
	RB_FREE(memory, to->segment_row);
	RB_FREE(memory, to->point_row);
	RB_FREE(memory, to->point_side);
	memset(to, 0, sizeof *to);
}
