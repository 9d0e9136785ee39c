/*
 * surface_repair.c
 *	  Repairs a surface of triangles, so that it bounds a solid, and records what was done to each.
 *
 *		triangles of all rows, by id
 *			-> points, triangles with an area				weld.c
 *			-> one of those with equal corners, or none
 *			-> pieces that meet only in corners and edges	plc_split.c
 *			-> triangles that fill holes					fill_holes.c
 *			-> turned triangles								core/solid/sheets.c
 *
 * An edge is odd if an odd number of triangles have it. A surface without odd edges divides space
 * into an inside and an outside, whatever else its triangles do.
 *
 * Two triangles with equal corners cancel each other in this sense. The first is still needed if it
 * was entered twice by mistake, but not if two solids share it. Their edges decide, for all that are
 * connected: an edge that is odd without them needs one of them, and any other needs none or two.
 */
#include "mesh/surface_repair.h"

#include "core/base/bucket.h"
#include "core/base/sort.h"
#include "core/base/union_find.h"
#include "core/set/set.h"
#include "core/solid/solid.h"
#include "mesh/hash_table.h"

#include <math.h>

#define CHECK_INTERVAL 4096 /* triangles or edges between two polls for a stop */

typedef struct repair
{
	rb_context *ctx;
	const rb_backend *backend;
	const rb_repair_options *how;
	rb_repaired *to;
	rb_welded *welded;
	rb_flaw *flaw;
	rb_set faces;     /* the triangles of the input by id, each of which is a row */
	double *coords;   /* their coordinates, in the end those to which their corners moved */
	double *original; /* their coordinates in the input */
	uint32_t *row;    /* the row of each in the input */
	uint32_t *points; /* the point of each of their corners */
	/* The edges of the triangles that remain */
	uint32_t *edge_of; /* the edge of each side of a triangle, or RB_NONE */
	uint32_t nedges;
	rb_buckets sides; /* the sides at each edge */
	/* For each triangle of the PLC: */
	uint32_t *change; /* bits of its repair; ignored once it is dropped */
	uint8_t *even;    /* true if it stands for an even number of triangles */
	uint8_t *closed;  /* true if it belongs to a closed surface */
	uint8_t *turn;    /* true if it is to be turned */
	uint32_t *sheet;  /* sets of triangles, in some steps with orientation */
	bool *odd;        /* for the root of a set, a fault or the result of a vote */
	int32_t *votes;   /* for the root of a set */
	/* Faces of the input, and pieces of them, that are not part of the result */
	RB_VEC(rb_repaired_face) dropped;
	uint8_t *twice; /* for each face of the input, true if others have the same corners */
	uint8_t *known; /* for each face of the input, true if a piece remains or is in that list */
} repair;

/* Returns true if a stop was requested; checks only at some elements. */
static inline bool
should_stop_repair(const repair *r, uint32_t i)
{
	return rb_stop_due(r->ctx, i, CHECK_INTERVAL);
}

/* Returns the corners of triangle t of the PLC. */
static inline uint32_t *
get_repaired_triangle(const repair *r, uint32_t t)
{
	return (uint32_t *) r->welded->plc.triangles[t];
}

/* Returns the face of the input to which a triangle of the PLC belongs. */
static inline uint32_t
get_face_of_triangle(const repair *r, uint32_t t)
{
	return r->welded->facet_row[r->welded->plc.facet_of[t]];
}

/* Returns true if triangle t of the PLC was dropped. */
static inline bool
is_dropped(const repair *r, uint32_t t)
{
	return (r->change[t] & RB_REPAIR_DROPPED) != 0;
}

/* ---- the input ---- */

typedef struct row_to_repair
{
	int64_t id;
	uint32_t row;
} row_to_repair;

/* Orders rows by id, then by number. */
static int
compare_repaired_rows(const void *a, const void *b, const void *arg)
{
	const row_to_repair *x = a, *y = b;

	(void) arg;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* Copies the triangles of all rows in the order of the ids of the rows. */
static rb_status
copy_faces_by_id(repair *r, const rb_set *set)
{
	const size_t n = set->nparts;
	row_to_repair *order = NULL;
	uint32_t *start = NULL, at = 0;
	RB_FREE_AT_END(r->ctx->memory, &order, &start);

	RB_TRY(rb_set_materialize(r->ctx, set));
	RB_TRY(rb_set_materialize_ids(r->ctx, set));
	RB_TRY(RB_ALLOCATE(r->ctx, order, (size_t) set->nrows + 1));
	RB_TRY(RB_ALLOCATE(r->ctx, start, (size_t) set->nrows + 1));
	RB_TRY(RB_ALLOCATE(r->ctx, r->coords, 9 * n + 1));
	RB_TRY(RB_ALLOCATE(r->ctx, r->original, 9 * n + 1));
	RB_TRY(RB_ALLOCATE(r->ctx, r->row, n + 1));
	RB_TRY(RB_ALLOCATE(r->ctx, r->points, 3 * n + 1));
	RB_TRY(RB_ALLOCATE(r->ctx, r->known, n + 1));
	RB_TRY(RB_ALLOCATE(r->ctx, r->twice, n + 1));
	memset(r->known, 0, n);
	memset(r->twice, 0, n);
	RB_TRY(rb_row_starts(r->ctx, set, start));
	for (uint32_t i = 0; i < set->nrows; i++)
		order[i] = (row_to_repair){set->ids != NULL ? set->ids[i] : 0, i};
	if (set->ids != NULL && !rb_set_ids_ascend(set))
		RB_TRY(rb_sort(r->ctx, order, set->nrows, sizeof *order, compare_repaired_rows, NULL));
	for (uint32_t i = 0; i < set->nrows; i++)
		for (uint32_t part = start[order[i].row]; part < start[order[i].row + 1]; part++)
		{
			memcpy(r->coords + 9 * (size_t) at, set->coords + 9 * (size_t) part,
				   9 * sizeof(double));
			r->row[at++] = order[i].row;
			if (should_stop_repair(r, at))
				return RB_STOPPED;
		}
	memcpy(r->original, r->coords, 9 * n * sizeof(double));
	r->faces = (rb_set){.kind = RB_TRIANGLE3, .nparts = at, .nrows = at, .coords = r->coords};
	return RB_OK;
}

/* ---- arrays ---- */

/* Prepares the arrays about the triangles of the PLC. */
static rb_status
reset_triangles(repair *r)
{
	const size_t n = (size_t) r->welded->plc.ntriangles + 1;

	RB_TRY(RB_ALLOCATE(r->ctx, r->edge_of, 3 * n));
	RB_TRY(RB_ALLOCATE(r->ctx, r->change, n));
	RB_TRY(RB_ALLOCATE(r->ctx, r->even, n));
	RB_TRY(RB_ALLOCATE(r->ctx, r->closed, n));
	RB_TRY(RB_ALLOCATE(r->ctx, r->turn, n));
	RB_TRY(RB_ALLOCATE(r->ctx, r->sheet, n));
	RB_TRY(RB_ALLOCATE(r->ctx, r->odd, n));
	RB_TRY(RB_ALLOCATE(r->ctx, r->votes, n));
	memset(r->change, 0, n * sizeof *r->change);
	memset(r->even, 0, n);
	return RB_OK;
}

/* Frees everything but the result and the PLC. */
static void
free_repair(repair *r)
{
	rb_memory *memory = r->ctx->memory;

	RB_FREE(memory, r->coords);
	RB_FREE(memory, r->original);
	RB_FREE(memory, r->row);
	RB_FREE(memory, r->points);
	RB_FREE(memory, r->known);
	RB_FREE(memory, r->twice);
	rb_vec_free(memory, &r->dropped);
	RB_FREE(memory, r->edge_of);
	RB_FREE(memory, r->change);
	RB_FREE(memory, r->even);
	RB_FREE(memory, r->closed);
	RB_FREE(memory, r->turn);
	RB_FREE(memory, r->sheet);
	RB_FREE(memory, r->odd);
	RB_FREE(memory, r->votes);
	rb_buckets_free(memory, &r->sides);
}

/* ---- edges ---- */

/*
 * Numbers the edges of the triangles that were not dropped, and lists the sides at each. With
 * `odd_only`, triangles that stand for an even number have no edges.
 */
static rb_status
find_edges(repair *r, bool odd_only)
{
	const uint32_t n = r->welded->plc.ntriangles;
	rb_table edges = {0};
	rb_status status = rb_table_expect(r->ctx, &edges, 3 * (uint64_t) n / 2);

	r->nedges = 0;
	for (uint32_t t = 0; t < n && status == RB_OK; t++)
		for (int k = 0; k < 3 && status == RB_OK; k++)
		{
			const uint32_t *v = get_repaired_triangle(r, t);
			uint32_t *edge = NULL;
			bool fresh = false;

			r->edge_of[3 * t + k] = RB_NONE;
			if (is_dropped(r, t) || (odd_only && r->even[t]))
				continue;
			status = rb_table_insert(r->ctx, &edges, v[k], v[(k + 1) % 3], RB_NONE, r->nedges,
									 &edge, &fresh);
			if (status != RB_OK)
				break;
			r->edge_of[3 * t + k] = *edge;
			r->nedges += fresh;
			if (should_stop_repair(r, t))
				status = RB_STOPPED;
		}
	rb_table_free(r->ctx->memory, &edges);
	if (status == RB_OK)
		status =
			rb_buckets_build(r->ctx, &r->sides, 3 * n, r->nedges, rb_bucket_in_array, r->edge_of);
	return status;
}

/* Returns the start of the point at which a side of a triangle begins. */
static inline uint32_t
get_start_of_side(const repair *r, uint32_t side)
{
	return get_repaired_triangle(r, side / 3)[side % 3];
}

/* ---- triangles with equal corners ---- */

/* Drops all but the first of the triangles with equal corners, and marks it if they are even. */
static rb_status
drop_equal_triangles(repair *r)
{
	const uint32_t n = r->welded->plc.ntriangles;
	rb_table known = {0};
	rb_status status = rb_table_expect(r->ctx, &known, n);

	for (uint32_t t = 0; t < n && status == RB_OK; t++)
	{
		const uint32_t *v = get_repaired_triangle(r, t);
		uint32_t *first = NULL;
		bool fresh = true;

		status = rb_table_insert(r->ctx, &known, v[0], v[1], v[2], t, &first, &fresh);
		if (!fresh)
		{
			r->change[t] |= RB_REPAIR_DOUBLED;
			r->even[*first] ^= 1;
			r->twice[get_face_of_triangle(r, *first)] = true;
		}
		if (should_stop_repair(r, t))
			status = RB_STOPPED;
	}
	rb_table_free(r->ctx->memory, &known);
	return status;
}

/*
 * Looks at an edge with one or two even triangles. Both or none of two are needed there, or exactly
 * one of them if the number of other triangles is odd: this unites them. A single one votes for
 * whether its set is needed.
 */
static void
consider_edge_of_even(repair *r, uint32_t edge, bool vote)
{
	uint32_t triangle[2], even = 0, others = 0;

	for (uint32_t i = r->sides.start[edge]; i < r->sides.start[edge + 1]; i++)
	{
		const uint32_t t = r->sides.member[i] / 3;

		if (!r->even[t])
			others++;
		else if (even++ < 2)
			triangle[even - 1] = t;
	}
	if (even == 2 && !vote)
		rb_unite_turned(r->sheet, triangle[0], triangle[1], others % 2 == 1);
	else if (even == 1 && vote)
	{
		bool opposite;
		const uint32_t root = rb_find_turned_root(r->sheet, triangle[0], &opposite);

		r->votes[root] += (others % 2 == 1) != opposite ? 1 : -1;
	}
}

/* Drops an even triangle. */
static void
drop_even_triangle(repair *r, uint32_t t)
{
	r->change[t] |= r->twice[get_face_of_triangle(r, t)] ? RB_REPAIR_DOUBLED : RB_REPAIR_MERGED;
}

/*
 * Looks at the even triangles at an edge: unites them, or counts whether the edge is odd because some
 * of them were dropped and others not.
 */
static void
compare_edge_of_even(repair *r, uint32_t edge, bool count)
{
	uint32_t first = RB_NONE, kept = 0, others = 0;

	for (uint32_t i = r->sides.start[edge]; i < r->sides.start[edge + 1]; i++)
	{
		const uint32_t t = r->sides.member[i] / 3;

		if (!r->even[t])
		{
			others++;
			continue;
		}
		kept += !is_dropped(r, t);
		if (first != RB_NONE && !count)
			(void) rb_unite(r->sheet, first, t);
		first = t;
	}
	if (first != RB_NONE && count && kept % 2 == 1)
		r->votes[rb_find_root(r->sheet, first)] += others % 2 == 0 ? 1 : -1;
}

/*
 * Drops all even triangles that are connected by edges if fewer edges are odd then. This keeps closed
 * surfaces closed where three or more even triangles meet, which rules about two cannot decide.
 */
static rb_status
drop_harmful_triangles(repair *r)
{
	const uint32_t n = r->welded->plc.ntriangles;

	rb_union_find_init(r->sheet, n);
	memset(r->votes, 0, n * sizeof *r->votes);
	for (int count = 0; count < 2; count++)
		for (uint32_t edge = 0; edge < r->nedges; edge++)
		{
			compare_edge_of_even(r, edge, count != 0);
			if (should_stop_repair(r, edge))
				return RB_STOPPED;
		}
	for (uint32_t t = 0; t < n; t++)
		if (r->even[t] && !is_dropped(r, t) && r->votes[rb_find_root(r->sheet, t)] > 0)
			drop_even_triangle(r, t);
	return RB_OK;
}

/* Drops the even triangles that are not needed. */
static rb_status
drop_even_triangles(repair *r)
{
	const uint32_t n = r->welded->plc.ntriangles;
	bool any = false;

	for (uint32_t t = 0; t < n && !any; t++)
		any = r->even[t] != 0;
	if (!any)
		return RB_OK;
	RB_TRY(find_edges(r, false));
	rb_turned_sets_init(r->sheet, n);
	memset(r->votes, 0, n * sizeof *r->votes);
	for (int vote = 0; vote < 2; vote++)
		for (uint32_t edge = 0; edge < r->nedges; edge++)
		{
			consider_edge_of_even(r, edge, vote != 0);
			if (should_stop_repair(r, edge))
				return RB_STOPPED;
		}
	for (uint32_t t = 0; t < n; t++)
	{
		bool opposite;
		const uint32_t root = rb_find_turned_root(r->sheet, t, &opposite);

		if (r->even[t] && (r->votes[root] >= 0) == opposite)
			drop_even_triangle(r, t);
	}
	return drop_harmful_triangles(r);
}

/* Lists a face of the input, or a piece of it, that is not part of the result. */
static rb_status
list_dropped_face(repair *r, uint32_t face, uint32_t change)
{
	r->known[face] = true;
	return rb_vec_append(r->ctx, &r->dropped,
						 (rb_repaired_face){.row = r->row[face], .change = change});
}

/* Lists dropped triangles, and removes them and facets of which nothing is left from the PLC. */
static rb_status
remove_dropped_triangles(repair *r)
{
	rb_welded *w = r->welded;
	uint32_t(*triangles)[3] = (uint32_t(*)[3]) w->plc.triangles;
	uint32_t *facet_of = (uint32_t *) w->plc.facet_of, n = 0, facets = 0, last = RB_NONE;

	for (uint32_t t = 0; t < w->plc.ntriangles; t++)
	{
		if (is_dropped(r, t))
		{
			RB_TRY(list_dropped_face(r, get_face_of_triangle(r, t), r->change[t]));
			continue;
		}
		if (facet_of[t] != last)
		{
			last = facet_of[t];
			w->facet_row[facets] = w->facet_row[last];
			w->facet_face[facets] = w->facet_face[last];
			memmove(w->plane[facets++], w->plane[last], sizeof *w->plane);
		}
		memmove(triangles[n], triangles[t], sizeof *triangles);
		r->change[n] = r->change[t];
		r->even[n] = r->even[t];
		facet_of[n++] = facets - 1;
	}
	w->plc.ntriangles = n;
	w->plc.nfacets = w->npolygons = facets;
	return RB_OK;
}

/* ---- closed surfaces ---- */

/*
 * Removes triangles with an edge of their own, until there are none. r->odd marks those that are
 * removed.
 */
static rb_status
remove_fins(repair *r)
{
	const uint32_t n = r->welded->plc.ntriangles;
	uint32_t *left = NULL, *stack = NULL, depth = 0;
	RB_FREE_AT_END(r->ctx->memory, &left, &stack);

	RB_TRY(RB_ALLOCATE(r->ctx, left, (size_t) r->nedges + 1));
	RB_TRY(RB_ALLOCATE(r->ctx, stack, (size_t) n + 1));
	memset(r->odd, 0, n * sizeof *r->odd);
	for (uint32_t edge = 0; edge < r->nedges; edge++)
	{
		const uint32_t t = r->sides.member[r->sides.start[edge]] / 3;

		left[edge] = r->sides.start[edge + 1] - r->sides.start[edge];
		if (left[edge] == 1 && !r->odd[t])
		{
			r->odd[t] = true;
			stack[depth++] = t;
		}
	}
	for (uint32_t steps = 0; depth > 0; steps++)
	{
		const uint32_t t = stack[--depth];

		for (int k = 0; k < 3; k++)
		{
			const uint32_t edge = r->edge_of[3 * t + k];

			if (--left[edge] != 1)
				continue;
			for (uint32_t i = r->sides.start[edge]; i < r->sides.start[edge + 1]; i++)
			{
				const uint32_t other = r->sides.member[i] / 3;

				if (r->odd[other])
					continue;
				r->odd[other] = true;
				stack[depth++] = other;
			}
		}
		if (should_stop_repair(r, steps))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Finds the triangles of closed surfaces, which are connected by edges without odd ones. */
static rb_status
find_closed_surfaces(repair *r)
{
	const uint32_t n = r->welded->plc.ntriangles;

	RB_TRY(remove_fins(r));
	for (uint32_t t = 0; t < n; t++)
		r->closed[t] = r->edge_of[3 * t] != RB_NONE && !r->odd[t];
	memset(r->odd, 0, n * sizeof *r->odd);
	rb_union_find_init(r->sheet, n);
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t edge = 0; edge < r->nedges; edge++)
		{
			uint32_t first = RB_NONE, count = 0;

			for (uint32_t i = r->sides.start[edge]; i < r->sides.start[edge + 1]; i++)
			{
				const uint32_t t = r->sides.member[i] / 3;

				if (!r->closed[t])
					continue;
				if (first != RB_NONE && pass == 0)
					(void) rb_unite(r->sheet, first, t);
				first = t;
				count++;
			}
			if (pass == 1 && count % 2 == 1)
				r->odd[rb_find_root(r->sheet, first)] = true;
			if (should_stop_repair(r, edge))
				return RB_STOPPED;
		}
	for (uint32_t t = 0; t < n; t++)
		r->closed[t] = r->closed[t] && !r->odd[rb_find_root(r->sheet, t)];
	return RB_OK;
}

/* ---- cutting ---- */

/* Stores to where the corners of the input moved. */
static void
move_corners(repair *r, const double *points)
{
	for (size_t i = 0; i < 3 * (size_t) r->faces.nparts; i++)
		memcpy(r->coords + 3 * i, points + 3 * (size_t) r->points[i], 3 * sizeof(double));
}

/*
 * Cuts triangles where they meet. Of pieces with equal corners the first remains, and is even if
 * they stand for an even number of triangles.
 */
static rb_status
cut_faces_of_surface(repair *r)
{
	rb_welded *w = r->welded;
	rb_resplit *split = NULL;
	rb_split_done done;
	rb_status status;

	RB_TRY(find_edges(r, true));
	RB_TRY(find_closed_surfaces(r));
	RB_TRY(RB_ALLOCATE(r->ctx, w->surfaces, (size_t) w->plc.ntriangles + 1));
	for (uint32_t t = 0; t < w->plc.ntriangles; t++)
		w->surfaces[t] = r->even[t] ? 0 : (uint8_t) (RB_SURFACE_OPEN | r->closed[t]);
	status = rb_resplit_run(r->ctx, r->backend, &split, w, &done, r->flaw);
	if (status == RB_OK)
		move_corners(r, rb_resplit_moved(split) != NULL ? rb_resplit_moved(split) : w->plc.points);
	rb_resplit_free(r->ctx->memory, &split);
	RB_TRY(status);
	RB_TRY(reset_triangles(r));
	for (uint32_t t = 0; t < w->plc.ntriangles; t++)
		r->even[t] = (w->surfaces[t] & RB_SURFACE_OPEN) == 0;
	return RB_OK;
}

/* ---- holes ---- */

/*
 * Marks the triangles at the edges of holes that were not filled with the reason. The edges of the
 * surface before are the first ones of the surface now, because its triangles are.
 */
static void
mark_unfilled_holes(repair *r, const rb_filled_holes *filled, uint32_t nedges)
{
	static const uint32_t reason[RB_HOLE_RESULTS] = {0, RB_REPAIR_LARGE_HOLE, RB_REPAIR_FLAT_HOLE,
													 RB_REPAIR_BLOCKED_HOLE, 0};

	for (uint32_t edge = 0; edge < nedges; edge++)
		for (uint32_t i = r->sides.start[edge]; i < r->sides.start[edge + 1]; i++)
			r->change[r->sides.member[i] / 3] |= reason[filled->result[edge]];
}

/* Appends the triangles that fill holes to the PLC, without facets. */
static rb_status
append_filled_triangles(repair *r, const rb_filled_holes *filled)
{
	rb_plc *plc = &r->welded->plc;
	uint32_t(*triangles)[3] = (uint32_t(*)[3]) plc->triangles;
	uint32_t *facet_of = (uint32_t *) plc->facet_of;
	const uint64_t n = (uint64_t) plc->ntriangles + filled->triangles.n;
	rb_status status;

	if (n > RB_MAX_OBJECTS)
		return rb_fail(r->ctx, RB_TOO_MANY_OBJECTS, n, RB_MAX_OBJECTS, NULL);
	status = RB_ALLOCATE(r->ctx, triangles, n + 1);
	plc->triangles = (const uint32_t(*)[3]) triangles;
	RB_TRY(status);
	status = RB_ALLOCATE(r->ctx, facet_of, n + 1);
	plc->facet_of = facet_of;
	RB_TRY(status);
	for (size_t i = 0; i < filled->triangles.n; i++)
	{
		memcpy(triangles[plc->ntriangles], filled->triangles.at[i].point, sizeof *triangles);
		facet_of[plc->ntriangles++] = RB_NONE;
	}
	RB_TRY(reset_triangles(r));
	for (size_t i = plc->ntriangles - filled->triangles.n; i < plc->ntriangles; i++)
		r->change[i] = RB_REPAIR_FILLED;
	return RB_OK;
}

/* Fills the holes of the surface. */
static rb_status
fill_holes_of_surface(repair *r)
{
	const rb_plc *plc = &r->welded->plc;
	const rb_edged_surface surface = {.npoints = plc->npoints,
									  .ntriangles = plc->ntriangles,
									  .nedges = r->nedges,
									  .points = plc->points,
									  .triangles = plc->triangles,
									  .edge_of = r->edge_of,
									  .sides = &r->sides};
	rb_filled_holes filled;
	rb_status status = rb_holes_fill(r->ctx, &surface, r->how->fill_holes, &filled);

	if (status != RB_OK)
		return status;
	memcpy(r->to->holes, filled.holes, sizeof r->to->holes);
	status = append_filled_triangles(r, &filled);
	if (status == RB_OK)
		status = find_edges(r, false);
	if (status == RB_OK)
		mark_unfilled_holes(r, &filled, surface.nedges);
	rb_filled_holes_free(r->ctx->memory, &filled);
	return status;
}

/* ---- orientation ---- */

/*
 * Returns true if exactly two triangles at an edge are connected by it, and sets their sides.
 * Triangles of closed surfaces are not connected with others.
 */
static bool
find_connected_sides(const repair *r, uint32_t edge, uint32_t side[2])
{
	const uint32_t *from = r->sides.member + r->sides.start[edge];
	const uint32_t *end = r->sides.member + r->sides.start[edge + 1];
	uint32_t n = 0;
	bool closed = false;

	for (const uint32_t *s = from; s < end; s++)
		closed |= r->closed[*s / 3] != 0;
	for (const uint32_t *s = from; s < end; s++)
	{
		if (closed && !r->closed[*s / 3])
			continue;
		if (n < 2)
			side[n] = *s;
		n++;
	}
	return n == 2;
}

/* Unites triangles to sheets, and marks in r->odd those that cannot be oriented. */
static rb_status
find_sheets(repair *r)
{
	const uint32_t n = r->welded->plc.ntriangles;

	rb_turned_sets_init(r->sheet, n);
	memset(r->odd, 0, n * sizeof *r->odd);
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t edge = 0; edge < r->nedges; edge++)
		{
			uint32_t side[2], root;
			bool same, a, b;

			if (should_stop_repair(r, edge))
				return RB_STOPPED;
			if (!find_connected_sides(r, edge, side))
				continue;
			same = get_start_of_side(r, side[0]) == get_start_of_side(r, side[1]);
			if (pass == 0)
				rb_unite_turned(r->sheet, side[0] / 3, side[1] / 3, same);
			root = rb_find_turned_root(r->sheet, side[0] / 3, &a);
			(void) rb_find_turned_root(r->sheet, side[1] / 3, &b);
			if (pass == 1 && (a != b) != same)
				r->odd[root] = true;
		}
	return RB_OK;
}

/* Finds the triangles of closed surfaces whose normals point inward. */
static rb_status
find_inward_triangles(repair *r)
{
	static const uint32_t no_bad_rows[1] = {0};
	const rb_plc *plc = &r->welded->plc;
	double *coords = NULL;
	uint32_t *row_of = NULL, n = 0;
	rb_fans fans = {0};
	rb_set set;
	rb_status status;
	RB_FREE_AT_END(r->ctx->memory, &coords, &row_of);

	RB_TRY(RB_ALLOCATE(r->ctx, coords, 9 * (size_t) plc->ntriangles + 1));
	RB_TRY(RB_ALLOCATE(r->ctx, row_of, (size_t) plc->ntriangles + 1));
	memset(row_of, 0, plc->ntriangles * sizeof *row_of);
	for (uint32_t t = 0; t < plc->ntriangles; t++)
		if (r->closed[t])
		{
			for (int k = 0; k < 3; k++)
				memcpy(coords + 9 * (size_t) n + 3 * k,
					   plc->points + 3 * (size_t) plc->triangles[t][k], 3 * sizeof(double));
			n++;
		}
	if (n == 0)
		return RB_OK;
	set =
		(rb_set){.kind = RB_TRIANGLE3, .nparts = n, .nrows = 1, .coords = coords, .row_of = row_of};
	status = rb_fans_find(r->ctx, &set, no_bad_rows, &fans);
	if (status == RB_OK)
		status = rb_fans_find_inner(r->ctx, r->backend, &fans, NULL);
	n = 0;
	for (uint32_t t = 0; t < plc->ntriangles && status == RB_OK; t++)
		if (r->closed[t])
			r->turn[t] = rb_points_inward(&fans, n++);
	rb_fans_free(r->ctx->memory, &fans);
	return status;
}

/* Finds the triangles of other surfaces that disagree with most of their sheet. */
static void
find_disagreeing_triangles(repair *r)
{
	const uint32_t n = r->welded->plc.ntriangles;

	memset(r->votes, 0, n * sizeof *r->votes);
	for (uint32_t t = 0; t < n; t++)
	{
		bool turned;
		const uint32_t root = rb_find_turned_root(r->sheet, t, &turned);

		r->votes[root] += turned ? 1 : -1;
	}
	for (uint32_t t = 0; t < n; t++)
	{
		bool turned;
		const uint32_t root = rb_find_turned_root(r->sheet, t, &turned);

		if (!r->closed[t])
			r->turn[t] = turned != (r->votes[root] > 0);
	}
}

/* Turns triangles, except on sheets that cannot be oriented. */
static rb_status
orient_surface(repair *r)
{
	RB_TRY(find_closed_surfaces(r));
	RB_TRY(find_sheets(r));
	find_disagreeing_triangles(r);
	RB_TRY(find_inward_triangles(r));
	for (uint32_t t = 0; t < r->welded->plc.ntriangles; t++)
	{
		uint32_t *v = get_repaired_triangle(r, t);
		const uint32_t second = v[1];
		bool turned;

		if (r->odd[rb_find_turned_root(r->sheet, t, &turned)])
			r->change[t] |= RB_REPAIR_ONE_SIDED;
		else if (r->turn[t])
		{
			v[1] = v[2];
			v[2] = second;
			r->change[t] |= RB_REPAIR_TURNED;
		}
	}
	return RB_OK;
}

/* ---- the result ---- */

/* Marks the triangles at edges of an odd number of triangles. */
static void
mark_open_edges(repair *r)
{
	for (uint32_t edge = 0; edge < r->nedges; edge++)
	{
		if ((r->sides.start[edge + 1] - r->sides.start[edge]) % 2 == 0)
			continue;
		r->to->open_edges++;
		for (uint32_t i = r->sides.start[edge]; i < r->sides.start[edge + 1]; i++)
			r->change[r->sides.member[i] / 3] |= RB_REPAIR_OPEN;
	}
}

/* Returns the largest distance by which a corner of a face of the input moved. */
static double
move_of_face(const repair *r, uint32_t face)
{
	double largest = 0;

	for (size_t i = 9 * (size_t) face; i < 9 * (size_t) face + 9; i += 3)
	{
		const double *p = r->original + i, *q = r->coords + i;

		largest = fmax(largest, hypot(hypot(p[0] - q[0], p[1] - q[1]), p[2] - q[2]));
	}
	return largest;
}

/* Appends a triangle that fills a hole to the result, as kept even if it was turned. */
static rb_status
append_filled_face(repair *r, uint32_t t)
{
	rb_repaired_face to = {.row = RB_NONE, .change = r->change[t] & ~RB_REPAIR_TURNED};

	for (int k = 0; k < 3; k++)
		memcpy(to.corners + 3 * k,
			   r->welded->plc.points + 3 * (size_t) get_repaired_triangle(r, t)[k],
			   3 * sizeof(double));
	r->to->kept++;
	return rb_vec_append(r->ctx, &r->to->faces, to);
}

/* Appends a triangle of the PLC to the result. */
static rb_status
append_repaired_face(repair *r, uint32_t t)
{
	const uint32_t face = get_face_of_triangle(r, t), *v = get_repaired_triangle(r, t);
	const double *was = r->coords + 9 * (size_t) face;
	const bool turned = (r->change[t] & RB_REPAIR_TURNED) != 0;
	rb_repaired_face to = {.row = r->row[face], .change = r->change[t]};
	bool whole = false;

	for (int k = 0; k < 3; k++)
		memcpy(to.corners + 3 * k, r->welded->plc.points + 3 * (size_t) v[k], 3 * sizeof(double));
	/* A piece with the corners of its face, in their order but for the turn, is the face. */
	for (int first = 0; first < 3 && !whole; first++)
	{
		whole = true;
		for (int k = 0; k < 3 && whole; k++)
			whole =
				rb_points_equal(was + 3 * k, to.corners + 3 * ((first + (turned ? 3 - k : k)) % 3));
	}
	to.move = move_of_face(r, face);
	to.change |= (whole ? 0 : RB_REPAIR_SPLIT) | (to.move > 0 ? RB_REPAIR_MOVED : 0);
	r->to->move = fmax(r->to->move, to.move);
	r->to->kept++;
	return rb_vec_append(r->ctx, &r->to->faces, to);
}

/* Lists the faces of the input of which nothing is left for another reason. */
static rb_status
list_vanished_faces(repair *r)
{
	static const uint32_t corners[3] = {0, 1, 2};
	rb_exact_env env = {.filters = r->ctx->filters, .exact = true};

	for (uint32_t face = 0; face < r->faces.nparts; face++)
	{
		if (should_stop_repair(r, face))
			return RB_STOPPED;
		if (!r->known[face])
			RB_TRY(
				list_dropped_face(r, face,
								  rb_weld_is_collinear(&env, r->coords + 9 * (size_t) face, corners)
									  ? RB_REPAIR_NO_AREA
									  : RB_REPAIR_MERGED));
	}
	return RB_OK;
}

/* Collects the faces that remain, then those that were dropped. */
static rb_status
collect_repaired_faces(repair *r)
{
	const uint32_t n = r->welded->plc.ntriangles;

	mark_open_edges(r);
	for (uint32_t t = 0; t < n; t++)
	{
		if (r->change[t] & RB_REPAIR_FILLED)
			RB_TRY(append_filled_face(r, t));
		else
		{
			r->known[get_face_of_triangle(r, t)] = true;
			RB_TRY(append_repaired_face(r, t));
		}
		if (should_stop_repair(r, t))
			return RB_STOPPED;
	}
	RB_TRY(list_vanished_faces(r));
	RB_TRY(rb_vec_reserve(r->ctx, &r->to->faces, r->dropped.n));
	for (size_t i = 0; i < r->dropped.n; i++)
		r->to->faces.at[r->to->faces.n++] = r->dropped.at[i];
	return RB_OK;
}

/* ---- all steps ---- */

/* Repairs the triangles, except that the result is not collected. */
static rb_status
repair_triangles(repair *r)
{
	const rb_weld_input in = {.facets = &r->faces,
							  .skip_flat = true,
							  .distance = r->how->weld,
							  .keep_same = true,
							  .corner_points = r->points};

	RB_TRY(rb_weld(r->ctx, &in, r->welded, r->flaw));
	r->to->wide_groups = r->welded->near.split;
	move_corners(r, r->welded->plc.points);
	RB_TRY(reset_triangles(r));
	RB_TRY(drop_equal_triangles(r));
	RB_TRY(remove_dropped_triangles(r));
	if (r->how->split && r->welded->plc.ntriangles > 0)
		RB_TRY(cut_faces_of_surface(r));
	RB_TRY(drop_even_triangles(r));
	RB_TRY(remove_dropped_triangles(r));
	RB_TRY(find_edges(r, false));
	if (r->how->fill_holes > 0)
		RB_TRY(fill_holes_of_surface(r));
	return r->how->orient ? orient_surface(r) : RB_OK;
}

/* Replaces the numbers of faces in the PLC by those of rows, for the error about its flaw. */
static void
translate_faces_to_rows(repair *r)
{
	rb_welded *w = r->welded;

	for (uint32_t i = 0; i < w->npolygons; i++)
		w->facet_row[i] = r->row[w->facet_row[i]];
	for (uint32_t i = 0; i < w->plc.npoints; i++)
		if (w->point_side[i] == RB_WELD_FACETS)
			w->point_row[i] = r->row[w->point_row[i]];
}

rb_status
rb_surface_repair(rb_context *ctx, const rb_backend *backend, const rb_set *set,
				  const rb_repair_options *how, rb_repaired *to, rb_welded *welded, rb_flaw *flaw)
{
	repair r = {
		.ctx = ctx, .backend = backend, .how = how, .to = to, .welded = welded, .flaw = flaw};
	rb_status status;

	memset(to, 0, sizeof *to);
	memset(welded, 0, sizeof *welded);
	memset(flaw, 0, sizeof *flaw);
	status = copy_faces_by_id(&r, set);
	if (status == RB_OK)
		status = repair_triangles(&r);
	if (status == RB_OK)
		status = collect_repaired_faces(&r);
	if (status == RB_BAD_PLC)
		translate_faces_to_rows(&r);
	else
		rb_welded_free(ctx->memory, welded);
	free_repair(&r);
	if (status != RB_OK)
		rb_repaired_free(ctx->memory, to);
	return status;
}

void
rb_repaired_free(rb_memory *memory, rb_repaired *to)
{
	rb_vec_free(memory, &to->faces);
	memset(to, 0, sizeof *to);
}

const char *
rb_repair_word(uint32_t change)
{
	switch (change & -change)
	{
		case RB_REPAIR_MOVED:
			return "moved";
		case RB_REPAIR_SPLIT:
			return "split";
		case RB_REPAIR_TURNED:
			return "turned";
		case RB_REPAIR_FILLED:
			return "filled";
		case RB_REPAIR_DOUBLED:
			return "doubled";
		case RB_REPAIR_NO_AREA:
			return "no area";
		case RB_REPAIR_MERGED:
			return "merged";
		case RB_REPAIR_OPEN:
			return "open edge";
		case RB_REPAIR_ONE_SIDED:
			return "one-sided";
		case RB_REPAIR_LARGE_HOLE:
			return "large hole";
		case RB_REPAIR_FLAT_HOLE:
			return "flat hole";
		case RB_REPAIR_BLOCKED_HOLE:
			return "blocked hole";
		default:
			return NULL;
	}
}
