/*
 * weld.h
 *	  Builds a PLC from rows, and validates it before meshing.
 *
 * Corners with equal coordinates become one point, and the triangles of one polygon become one
 * facet. Defects are found by the spatial joins of the core.
 */
#ifndef RB_MESH_WELD_H
#define RB_MESH_WELD_H

#include "core/base/base.h"
#include "core/exact/orient.h"
#include "mesh/tetrahedralize.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Input of a mesh; at least one of the sets must not be NULL */
typedef struct rb_weld_input
{
	const rb_set *facets;   /* triangles; face_of assigns them to polygons */
	const rb_set *segments; /* segments in space */
	const rb_set *points;   /* set of any 3D kind; only the first corner of each part is used */
	const rb_seed *seeds;   /* copied by rb_weld */
	uint32_t nseeds;
	/*
	 * True to drop triangles of zero area instead of returning RB_BAD_PLC. Their corners are kept.
	 */
	bool skip_flat;
	/*
	 * Distance up to which points are joined (weld_near.c), or 0. If it is positive, triangles of
	 * zero area and facets whose triangles all exist already are dropped.
	 */
	double distance;
	bool keep_same; /* true to keep facets whose triangles all exist already */
	/* If not NULL, receives the point of each corner of the facets, three for each triangle */
	uint32_t *corner_points;
} rb_weld_input;

/* Input set that contains a point; if several do, the first one */
typedef enum rb_weld_side
{
	RB_WELD_FACETS,
	RB_WELD_SEGMENTS,
	RB_WELD_POINTS,
	/*
	 * no input set: the point was created where parts cross (rb_resplit_run), and its row is
	 * RB_NONE
	 */
	RB_WELD_SPLIT
} rb_weld_side;

/* Bit of rb_welded.surfaces for a surface that need not be closed */
#define RB_SURFACE_OPEN 0x80u

/* Result of joining points that are near each other (weld_near.c) */
typedef struct rb_near_report
{
	uint32_t moved; /* number of points that become others */
	uint32_t split; /* number of groups that were too wide for one point */
	double move;    /* largest distance by which a point moves, rounded */
} rb_near_report;

/*
 * A welded PLC. Its arrays belong to ctx->memory and are freed by rb_welded_free.
 *
 * A polygon is a facet of the input rows. Each polygon is a facet of its own until rb_weld_merge
 * combines several polygons into one facet.
 */
typedef struct rb_welded
{
	rb_plc plc;
	uint32_t npolygons;
	uint32_t *facet_row;  /* for each polygon, its row in the set of facets */
	uint32_t *facet_face; /* for each polygon, its index within that row, from 0 */
	/*
	 * Three points of each polygon's plane; the first is RB_NONE if its corners are not exactly
	 * coplanar
	 */
	uint32_t (*plane)[3];
	/*
	 * Group of each polygon, or NULL. Only polygons of one group are merged; NULL allows all
	 * merges.
	 */
	uint32_t *group;
	/*
	 * For each triangle, bits of the surfaces that contain it, or NULL if the caller has not assigned
	 * triangles to surfaces. Splitting keeps one of several equal triangles, with the exclusive or of
	 * their bits, so that a surface that was closed remains closed modulo 2. Splitting is not sound
	 * until all surfaces but RB_SURFACE_OPEN are. rb_weld_merge ignores it.
	 */
	uint8_t *surfaces;
	/* polygon of each triangle; NULL if nothing was merged and polygons are facets */
	uint32_t *polygon_of;
	/*
	 * For each polygon, the facet of exactly coplanar polygons that it belongs to, numbered like
	 * facets, if plc.tolerance is set
	 */
	uint32_t *coplanar;
	uint32_t ncoplanar;
	/* Row of each given segment, or RB_NONE if it was created where facets cross or bend */
	uint32_t *segment_row;
	uint32_t *point_row; /* for each point, a row that contains it, in the set point_side */
	uint8_t *point_side; /* rb_weld_side of each point */
	/*
	 * Number of segments dropped because they were given twice or (rb_weld_merge) also bound a
	 * facet
	 */
	uint64_t same_segments;
	uint64_t same_points; /* number of rows whose point already existed */
	uint64_t no_length;   /* number of segments of zero length; their points are kept */
	uint64_t no_area;     /* number of triangles dropped (skip_flat) */
	/* number of facets dropped because all their triangles existed (distance) */
	uint64_t same_facets;
	rb_near_report near; /* points that were joined (distance) */
	/* Largest distance of a corner from the plane of its facet (RB_MERGE_NEARLY_FLAT) */
	double farthest;
} rb_welded;

/*
 * Builds a PLC from the input sets. If several rows of the facet set share an id, these rows form a
 * group; ids that differ in each row are only labels.
 *
 * Points are numbered in the order in which they appear: first those of the facets, row by row,
 * then those of the segments, then those of the points. Facets and segments are numbered likewise.
 * Returns RB_OK; RB_BAD_PLC with *flaw set for the first facet that has no area or is not a simple
 * polygon; RB_STOPPED; or a memory error. On failure *to is empty. A flaw refers to the input: a is
 * the row of the facet, b the polygon within that row.
 */
extern rb_status rb_weld(rb_context *ctx, const rb_weld_input *in, rb_welded *to, rb_flaw *flaw);

/*
 * Builds a welded PLC from an existing PLC. Each facet counts as a row; the origin of points is not
 * set.
 */
extern rb_status rb_weld_plc(rb_context *ctx, const rb_plc *plc, rb_welded *to);
/* Frees the PLC and all arrays about its rows. */
extern void rb_welded_free(rb_memory *memory, rb_welded *to);

/*
 * Searches for facets and segments that meet anywhere but in common corners and edges, and for
 * points on them, by joins on the threads of `backend`. Returns RB_OK if there are none. Otherwise
 * returns RB_BAD_PLC, and *flaw is the defect with the smallest indices of facets, segments and
 * points, compared in this order.
 */
extern rb_status rb_weld_validate(rb_context *ctx, const rb_backend *backend,
								  const rb_welded *welded, rb_flaw *flaw);

/*
 * Finds all defects that rb_weld_validate looks for, in ascending order, up to `limit` > 0 of them.
 * *n is their number, and *more is set if there are others. A pair of facets, segments or points
 * has one flaw, however many of its triangles meet. Returns RB_OK whether or not there are flaws.
 */
extern rb_status rb_weld_find_all(rb_context *ctx, const rb_backend *backend,
								  const rb_welded *welded, rb_flaw *flaws, uint32_t limit,
								  uint32_t *n, bool *more);

/* Two facets near a flaw of a mesh, and the room between them */
typedef struct rb_facet_gap
{
	uint32_t polygon[2]; /* in ascending order; equal if there are no two facets */
	double gap;          /* smallest distance of the facets, apart from what they share */
	double spacing;      /* distance of adjacent doubles at the flaw */
} rb_facet_gap;

/*
 * Finds the two facets near a flaw of a mesh that are closest to each other (facet_gap.c). Returns
 * RB_OK or RB_STOPPED.
 */
extern rb_status rb_weld_find_gap(rb_context *ctx, const rb_welded *welded, const rb_flaw *flaw,
								  rb_facet_gap *gap);

/* Changes made to a PLC so that nothing in it crosses */
typedef struct rb_split_done
{
	uint32_t points;   /* number of points created */
	uint32_t segments; /* number of segments created where facets cross */
	uint32_t dropped;  /* triangles dropped because they coincided with one of an earlier facet */
	uint32_t rounds;
	uint32_t level; /* highest level of an input; 0 if nothing had to move */
	uint32_t moved; /* number of points of the input that moved, or were merged with others */
	/* number of planes and lines to which points near them were moved */
	uint32_t aligned;
	double grid; /* grid of the highest level */
	double largest_move;
} rb_split_done;

typedef struct rb_resplit rb_resplit;

/*
 * Splits facets and segments where they cross, overlap or touch. Triangles and segments are
 * replaced by several of the same facet and row, which meet only in common corners and edges. New
 * points are computed exactly and rounded to the nearest doubles. They are appended to the existing
 * points, which keep their indices. A new point that is closer to another point than 2^-49 of the
 * largest coordinate is replaced by that point. Lines in which facets cross become segments. A
 * facet of which nothing is left coincided with others and is removed.
 *
 * Rounding can create new crossings, so the process is repeated for a few rounds, each of which
 * replaces points over a larger distance. If that does not help, corners of the input are moved to
 * grids (snap_levels.c), and equal points are merged, so that indices of points change. Returns
 * RB_OK, RB_STOPPED or a memory error; RB_BAD_PLC with *flaw set as from rb_weld_validate is not
 * expected.
 *
 * *split is NULL at first, and is allocated; it keeps a copy of the input. If rb_resplit_raise
 * returned true because a mesh failed, the input is split again, and the result replaces *welded,
 * which may have been merged since. plc.max_points limits the points of the mesh.
 */
extern rb_status rb_resplit_run(rb_context *ctx, const rb_backend *backend, rb_resplit **split,
								rb_welded *welded, rb_split_done *done, rb_flaw *flaw);
/*
 * Raises the level of the inputs that were split near a flaw of the mesh. Returns false if there
 * are none, or all of them have the last level.
 */
extern bool rb_resplit_raise(rb_resplit *split, const rb_flaw *flaw);
/*
 * Returns the coordinates to which the points of the PLC that was split have moved, or NULL if they
 * are where they were. The array belongs to the state of the split.
 */
extern const double *rb_resplit_moved(const rb_resplit *split);
/* Frees the state of a split; accepts NULL. */
extern void rb_resplit_free(rb_memory *memory, rb_resplit **split);

typedef enum rb_merge_kind
{
	RB_MERGE_COPLANAR, /* exactly coplanar polygons */
	RB_MERGE_NONE,
	RB_MERGE_NEARLY_FLAT /* in addition, those inclined by at most an angle (merge_nearly_flat.c) */
} rb_merge_kind;

/* Selection of the polygons that become one facet */
typedef struct rb_merging
{
	rb_merge_kind kind;
	double degrees; /* angle of RB_MERGE_NEARLY_FLAT: above 0, at most RB_MERGE_LARGEST */
} rb_merging;

#define RB_MERGE_LARGEST 10.0

/*
 * Merges polygons into facets. This is the last step before rb_tetrahedralize. Two polygons that
 * share an edge become one facet if no third triangle has the edge, no given segment runs along it,
 * both are in one group, and all their original corners, before any splitting, are exactly
 * coplanar. The remaining parts of the edge become soft. A facet is numbered by its first polygon,
 * its triangles are oriented like those of that polygon, and it may have holes.
 *
 * Segments that bound a facet are removed, as are those that rb_resplit_run created and that end up
 * inside one facet. An edge of three or more triangles that bounds no facet becomes a segment, like
 * those created by rb_resplit_run.
 *
 * Returns RB_OK, RB_STOPPED or a memory error. After an error the caller must free *welded.
 */
extern rb_status rb_weld_merge(rb_context *ctx, rb_welded *welded, rb_merging how);

/* Returns true if rb_weld_unmerge can undo something. */
static inline bool
rb_weld_is_merged(const rb_welded *welded)
{
	return welded->polygon_of != NULL || welded->plc.tolerance != NULL;
}

/*
 * Undoes the last kind of merging: if facets are flat only to within a tolerance, keeps only
 * exactly coplanar polygons merged; otherwise makes each polygon a facet again. Used when a merged
 * facet could not be recovered as a union of faces. Segments are unchanged, but rb_weld_creases
 * must follow. Returns RB_OK or a memory error.
 */
extern rb_status rb_weld_unmerge(rb_context *ctx, rb_welded *welded);

/* Returns true if the three points of a triangle are collinear. */
extern bool rb_weld_is_collinear(rb_exact_env *env, const double *points, const uint32_t *t);

/*
 * Finds three points of the plane that contains n triangles of a facet; plane[0] is RB_NONE if
 * there is none.
 */
extern void rb_weld_find_plane(rb_exact_env *env, const double *points, const uint32_t (*t)[3],
							   uint32_t n, uint32_t *plane);

/* Triangles of facets, with the polygon of the facet that each belongs to */
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

/* Returns the polygons of a welded PLC; valid as long as the PLC is. */
extern rb_polygons rb_weld_polygons(const rb_welded *welded);

/*
 * Replaces facet indices in *tets by polygon indices. A face gets the polygon of the triangle that
 * contains its centroid. A point on a facet gets the polygon of the triangle that contains it, or
 * the lower index if there are two. A segment gets the polygon of a triangle adjacent to it. The
 * tests are exact and take place in the facet's plane. A point that rounding has moved outside all
 * triangles gets the polygon of the nearest one.
 *
 * Returns RB_OK, RB_STOPPED or a memory error.
 */
extern rb_status rb_label_polygons(rb_context *ctx, const rb_polygons *polygons, rb_tets *tets);

/*
 * Reconstructs which polygons were merged, from the rows of a mesh. facet[i] is the polygon of face
 * i, below nfacets, or RB_NONE. merged[p] is the facet of polygon p, below *nmerged; facets are
 * ordered by their first polygons. Two polygons belong to one facet if two of their faces share an
 * edge that no third face has and that is on no segment, and if these faces are coplanar to within
 * the rounding of points, or `near` is set for a mesh of RB_MERGE_NEARLY_FLAT.
 */
extern rb_status rb_merge_by_faces(rb_context *ctx, const double *points, uint32_t npoints,
								   const uint32_t (*faces)[3], uint32_t nfaces,
								   const uint32_t (*edges)[2], uint32_t nedges,
								   const uint32_t *facet, uint32_t nfacets, bool near,
								   uint32_t *merged, uint32_t *nmerged);

/*
 * Turns edges along which a facet bends by more than rounding explains into segments without a row,
 * appended to the others. Must follow the last change to the facets.
 */
extern rb_status rb_weld_creases(rb_context *ctx, rb_welded *welded);

/* ---- parts of a PLC that meet where they should not (plc_check.c, for plc_split.c) ---- */

/*
 * A part is a triangle of a facet, a given segment, or a lone point, which no triangle or segment
 * uses. Parts are numbered in this order, points in the order of the PLC. Each part is stored as
 * the coordinates of three corners; the last ones are equal if it is not a triangle.
 */
typedef struct rb_parts
{
	const rb_plc *plc;
	uint32_t n;
	uint32_t first_segment; /* index of the first segment, after the triangles */
	uint32_t first_point;   /* index of the first point, after the segments */
	double *coords;         /* coordinates, nine per part */
	uint32_t *point;        /* PLC point of each part after the segments */
} rb_parts;

/* Two parts that share more than common corners and edges; red < blue */
typedef struct rb_meeting
{
	uint32_t red;
	uint32_t blue;
	uint32_t payload; /* payload bits of RB_SELF_INTERSECT */
} rb_meeting;

/* Copies the coordinates of all parts of a PLC. */
extern rb_status rb_parts_build(rb_context *ctx, const rb_plc *plc, rb_parts *parts);
/* Frees the parts, not the PLC. */
extern void rb_parts_free(rb_memory *memory, rb_parts *parts);

/*
 * Passes each meeting to `take` exactly once, in any order. A return value of `take` other than
 * RB_OK ends the search.
 */
extern rb_status rb_parts_join(rb_context *ctx, const rb_backend *backend, const rb_parts *parts,
							   rb_status (*take)(void *user, rb_meeting meeting), void *user);

/* ---- weld_near.c ---- */

/*
 * Sets to[i] to the point that point i becomes, or to i if it stays. Points that are connected by
 * steps of at most `distance` > 0 form a group, and become the one with the lowest number, unless
 * one of them is farther than twice the distance from it. Such a group is split: in the order of
 * their numbers, points that are within the distance of no kept point are kept, and the others
 * become the nearest kept one. Returns RB_OK, RB_STOPPED or a memory error.
 */
extern rb_status rb_weld_near(rb_context *ctx, const double *points, uint32_t n, double distance,
							  uint32_t *to, rb_near_report *report);

/* ---- merge_nearly_flat.c ---- */

/* An edge across which facets may be merged */
typedef struct rb_near_edge
{
	uint32_t triangle[2];
	bool turned; /* true if the two triangles are oriented oppositely */
} rb_near_edge;

/*
 * Unites sets of polygons (rb_find_turned_root) that are inclined by at most `degrees` to the
 * largest triangle among them and near its plane. Sets tolerance[p] of the polygon p of that
 * triangle to the distance that the facet's surface may move, where the facet is not exactly flat;
 * other elements are unchanged. *farthest is the largest distance of a corner from such a plane,
 * rounded. Returns RB_OK, RB_STOPPED or a memory error.
 */
extern rb_status rb_merge_nearly_flat(rb_context *ctx, const rb_welded *welded, double degrees,
									  const rb_near_edge *edges, uint32_t nedges, uint32_t *sets,
									  double *tolerance, double *farthest);

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_WELD_H */
