/*
 * rb_weld.h
 *	  Rows become a PLC: corners that are one become one point, triangles of one polygon one facet;
 *	  and what is wrong with it is found before there is a mesh, by the joins that there are.
 */
#ifndef RB_WELD_H
#define RB_WELD_H

#include "mesh/rb_plc.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* what is to be meshed; any of these but not all may be NULL */
typedef struct rb_weld_input
{
	const rb_set *facets;   /* triangles; face_of says which are of one polygon */
	const rb_set *segments; /* of space */
	const rb_set *points;   /* any kind of space: of each part only the first corner is looked at */
	const rb_seed *seeds;   /* copied */
	uint32_t nseeds;
	bool
		skip_flat; /* triangles without area are left out, instead of RB_BAD_PLC; their corners stay */
} rb_weld_input;

/* which of the sides a point is of: the first that names it */
typedef enum rb_weld_side
{
	RB_WELD_FACETS,
	RB_WELD_SEGMENTS,
	RB_WELD_POINTS,
	RB_WELD_SPLIT /* none: made where parts cross (rb_weld_split), its row is RB_NONE */
} rb_weld_side;

/* arrays are of ctx->memory and go with rb_welded_free */
typedef struct rb_welded
{
	rb_plc plc;
	uint32_t *facet_row;   /* of each facet: its row in the set of facets */
	uint32_t *facet_face;  /* and which polygon of that row it is, from 0 */
	uint32_t *segment_row; /* of each given segment: its row; RB_NONE: made where facets cross */
	uint32_t *point_row;   /* of each point: a row that has it, of the side ... */
	uint8_t *point_side;   /* ... rb_weld_side */
	uint64_t
		same_segments; /* that were given twice, or are the boundary of a facet, too, and are left out */
	uint64_t same_points; /* rows of points that were there already */
	uint64_t no_length;   /* segments without length: their point stays */
	uint64_t no_area;     /* triangles that were left out (skip_flat) */
} rb_welded;

/*
 * Points are numbered as they come: those of facets, row by row, of segments, of points.  So are
 * facets and segments.  RB_OK; RB_BAD_PLC with *flaw for facets without area, and polygons that
 * are not simple, the first one; RB_STOPPED or a memory error.  On a failure nothing is left in *to.
 * What a flaw is about is known by numbers of the sets then: a is a row of the facets, b the polygon
 * of it.
 */
extern rb_status rb_weld(rb_context *ctx, const rb_weld_input *in, rb_welded *to, rb_flaw *flaw);
extern void rb_welded_free(rb_memory *memory, rb_welded *to);

/*
 * Looks for facets and segments that meet elsewhere than in common corners and edges, and for
 * points on them, by joins on `backend`'s threads.  RB_OK; or RB_BAD_PLC and *flaw: of all that
 * there are, the one with the smallest numbers (facets, segments, points; in this order).
 */
extern rb_status rb_weld_validate(rb_context *ctx, const rb_backend *backend,
								  const rb_welded *welded, rb_flaw *flaw);

/*
 * The same for all flaws, in that order, up to `limit` > 0 of them: *n, and whether there are *more.
 * Two of a facet, segment or point have one flaw, however many of their triangles meet.  RB_OK
 * with flaws or without.
 */
extern rb_status rb_weld_find_all(rb_context *ctx, const rb_backend *backend,
								  const rb_welded *welded, rb_flaw *flaws, uint32_t limit,
								  uint32_t *n, bool *more);

/* what was done to a PLC so that nothing in it crosses */
typedef struct rb_split_done
{
	uint32_t points;   /* that were made */
	uint32_t segments; /* that were made, where facets cross each other */
	uint32_t dropped;  /* triangles that lay on one of an earlier facet */
	uint32_t rounds;
} rb_split_done;

/*
 * Where facets and segments cross, overlap or touch, they are cut: triangles and segments become
 * several, of the same facet and row, that meet in common corners and edges.  Points that are
 * needed besides are made where they are exactly, rounded to the nearest doubles, behind the points
 * that there are, which keep their numbers; one that is nearer to another than 2^-49 of the largest
 * coordinate becomes that one.  Lines in which facets cross become segments.  A facet of
 * which nothing is left has lain on others, and goes.  What rounding makes cross anew is cut again, a few
 * times.  RB_OK; or RB_BAD_PLC and *flaw, as of rb_weld_validate, where that does not end.
 */
extern rb_status rb_weld_split(rb_context *ctx, const rb_backend *backend, rb_welded *welded,
							   rb_split_done *split, rb_flaw *flaw);

#ifdef __cplusplus
}
#endif

#endif /* RB_WELD_H */
