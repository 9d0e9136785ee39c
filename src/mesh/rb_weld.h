/*
 * rb_weld.h
 *	  Rows become a PLC: corners that are one become one point, triangles of one polygon one facet;
 *	  and what is wrong with it is found before there is a mesh, by the joins that there are.
 */
#ifndef RB_WELD_H
#define RB_WELD_H

#include "mesh/rb_tetrahedralize.h"

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

/*
 * Arrays are of ctx->memory and go with rb_welded_free.
 *
 * A polygon is a facet as the rows have it.  Each is a facet of its own until rb_weld_merge makes one
 * facet of several.
 */
typedef struct rb_welded
{
	rb_plc plc;
	uint32_t npolygons;
	uint32_t *facet_row;  /* of each polygon: its row in the set of facets */
	uint32_t *facet_face; /* and which polygon of that row it is, from 0 */
	uint32_t (*plane)[3]; /* of each polygon: three points of its plane; the first one RB_NONE: its
							* corners are not exactly in one plane */
	uint32_t *group;      /* of each polygon: only those of one group are merged; NULL: all are */
	uint32_t *polygon_of; /* of each triangle; NULL: polygons are facets, nothing was merged */
	uint32_t
		*segment_row; /* of each given segment: its row; RB_NONE: made where facets cross or bend */
	uint32_t *point_row;    /* of each point: a row that has it, of the side ... */
	uint8_t *point_side;    /* ... rb_weld_side */
	uint64_t same_segments; /* that were given twice, or (rb_weld_merge) bound a facet, too, and are
							 * left out */
	uint64_t same_points;   /* rows of points that were there already */
	uint64_t no_length;     /* segments without length: their point stays */
	uint64_t no_area;       /* triangles that were left out (skip_flat) */
} rb_welded;

/*
 * Ids of the set of facets that several rows share make groups of these rows; ids that differ in
 * each row only name them.
 *
 * Points are numbered as they come: those of facets, row by row, of segments, of points.  So are
 * facets and segments.  RB_OK; RB_BAD_PLC with *flaw for facets without area, and polygons that
 * are not simple, the first one; RB_STOPPED or a memory error.  On a failure nothing is left in *to.
 * What a flaw is about is known by numbers of the sets then: a is a row of the facets, b the polygon
 * of it.
 */
extern rb_status rb_weld(rb_context *ctx, const rb_weld_input *in, rb_welded *to, rb_flaw *flaw);

/* the same of a PLC that is there: each facet is a row; whose points are is not said */
extern rb_status rb_weld_plc(rb_context *ctx, const rb_plc *plc, rb_welded *to);
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
 * times.  RB_OK; or RB_BAD_PLC and *flaw where that does not end: RB_FLAW_NOT_CUT of a facet that could
 * not be cut in the last round; else as of rb_weld_validate.
 */
extern rb_status rb_weld_split(rb_context *ctx, const rb_backend *backend, rb_welded *welded,
							   rb_split_done *split, rb_flaw *flaw);

/*
 * Merges polygons into facets, the last step before rb_tetrahedralize: two that share an edge become one
 * facet if no third triangle has the edge, no given segment runs along it, both are of one group
 * and all their corners, as they were before they were cut, lie exactly in one plane.  What is left of the
 * edge is soft.  A facet is numbered by its first polygon, its triangles are turned as those of that
 * polygon, and it may have holes.
 *
 * Segments that bound a facet go, as do those made by rb_weld_split that end up inside of one facet.  An
 * edge of three triangles or more that bounds no facet becomes a segment, as rb_weld_split makes them.
 *
 * RB_OK; RB_STOPPED or a memory error, then *welded is to be freed.
 */
extern rb_status rb_weld_merge(rb_context *ctx, rb_welded *welded);

/*
 * Each polygon is a facet again, for a facet that large could not be made of faces.  Segments stay as they are.
 * RB_OK, or a memory error.
 */
extern rb_status rb_weld_unmerge(rb_context *ctx, rb_welded *welded);

/* triangles of facets, and which polygon of the facet each is of */
typedef struct rb_polygons
{
	uint32_t npoints;
	uint32_t ntriangles;
	uint32_t nfacets;
	const double *points;
	const uint32_t (*triangles)[3];
	const uint32_t *facet_of;
	const uint32_t *polygon_of;
} rb_polygons;

/* those of a welded PLC; valid as long as it is */
extern rb_polygons rb_weld_polygons(const rb_welded *welded);

/*
 * Numbers of facets in *tets become numbers of polygons: of a face that of the triangle in which its
 * centroid lies, of a point on a facet that of the triangle in which it lies, of two the one with the
 * lower number; of a segment that of a triangle at it.  In its facet's plane, by exact signs; what
 * rounding put beside all triangles is of the nearest one.
 *
 * RB_OK; RB_STOPPED or a memory error.
 */
extern rb_status rb_name_polygons(rb_context *ctx, const rb_polygons *polygons, rb_tets *tets);

/*
 * Finds what was merged in a mesh of which only rows are left.  facet: of each face its polygon, a
 * number below nfacets, or RB_NONE; merged: of each polygon its facet, below *nmerged, in the order of
 * their first polygons.  Two polygons are of one facet if two of their faces share an edge that no
 * third one has and that is no edge of a segment, and lie in one plane as far as rounded points can.
 */
extern rb_status rb_merge_by_faces(rb_context *ctx, const double *points, uint32_t npoints,
								   const uint32_t (*faces)[3], uint32_t nfaces,
								   const uint32_t (*edges)[2], uint32_t nedges,
								   const uint32_t *facet, uint32_t nfacets, uint32_t *merged,
								   uint32_t *nmerged);

/*
 * creases.c: edges along which a facet bends by more than rounding explains become segments, without a row, behind the
 * others.  After the last change to facets.
 */
extern rb_status rb_weld_creases(rb_context *ctx, rb_welded *welded);

#ifdef __cplusplus
}
#endif

#endif /* RB_WELD_H */
