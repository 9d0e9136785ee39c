/*
 * surface_repair.h
 *	  Declares the repair of a surface of triangles, so that it bounds a solid.
 */
#ifndef RB_MESH_SURFACE_REPAIR_H
#define RB_MESH_SURFACE_REPAIR_H

#include "core/base/bucket.h"
#include "mesh/weld.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef struct rb_repair_options
{
	double weld;         /* distance up to which corners are joined, or 0 */
	bool split;          /* true to cut faces where they cross */
	bool orient;         /* true to turn faces */
	uint32_t fill_holes; /* largest number of edges of a hole that is filled, or 0 */
} rb_repair_options;

/* Bits of the changes of a face; a face with one of the RB_REPAIR_DROPPED bits has no corners */
#define RB_REPAIR_MOVED 1u
#define RB_REPAIR_SPLIT 2u  /* it is a piece of a face of the input */
#define RB_REPAIR_TURNED 4u /* it has the opposite orientation */
#define RB_REPAIR_FILLED 8u /* it was added to fill a hole, and belongs to no row */
#define RB_REPAIR_DOUBLED 16u
#define RB_REPAIR_NO_AREA 32u
#define RB_REPAIR_MERGED 64u /* its pieces are also pieces of other faces, or are too thin */
#define RB_REPAIR_DROPPED (RB_REPAIR_DOUBLED | RB_REPAIR_NO_AREA | RB_REPAIR_MERGED)

/* Faults that remain, as further bits */
#define RB_REPAIR_OPEN 256u      /* an odd number of faces have one of its edges */
#define RB_REPAIR_ONE_SIDED 512u /* it is on a surface that cannot be oriented */
/* Reasons for which a hole at one of its edges was not filled */
#define RB_REPAIR_LARGE_HOLE 1024u
#define RB_REPAIR_FLAT_HOLE 2048u
#define RB_REPAIR_BLOCKED_HOLE 4096u
#define RB_REPAIR_FAULT                                                                  \
	(RB_REPAIR_OPEN | RB_REPAIR_ONE_SIDED | RB_REPAIR_LARGE_HOLE | RB_REPAIR_FLAT_HOLE | \
	 RB_REPAIR_BLOCKED_HOLE)

/* Result for a hole, which is a loop of open edges without repeated corners */
typedef enum rb_hole_result
{
	RB_HOLE_FILLED,
	RB_HOLE_LARGE,   /* it has too many edges */
	RB_HOLE_FLAT,    /* its corners are on one line */
	RB_HOLE_BLOCKED, /* all triangulations that were tried meet other triangles or themselves */
	RB_HOLE_DIVIDED, /* it was blocked, and its edges were divided into other holes */
	RB_HOLE_RESULTS
} rb_hole_result;

typedef struct rb_repaired_face
{
	double corners[9]; /* x, y, z of each corner; zeros if the face was dropped */
	double move;       /* largest distance by which a corner of the face of the input moved */
	uint32_t row;      /* row of the input, or RB_NONE if the face fills a hole */
	uint32_t change;   /* bits of what was done */
} rb_repaired_face;

/* Faces of a repaired surface, those that were dropped last; memory of the context */
typedef struct rb_repaired
{
	RB_VEC(rb_repaired_face) faces;
	uint32_t kept;       /* number of faces that were not dropped */
	uint32_t open_edges; /* number of edges that an odd number of faces have */
	double move;         /* largest distance by which a corner moved */
	/* number of groups of near corners that were too wide for one (rb_near_report) */
	uint32_t wide_groups;
	uint32_t holes[RB_HOLE_RESULTS]; /* number of holes with each result */
} rb_repaired;

/*
 * Repairs the surface that consists of all rows of a set of triangles. In the order of the ids of
 * their rows, and otherwise of the parts:
 *
 *	1. Corners nearer than a distance become one (weld_near.c). Triangles without area are dropped.
 *	2. One of several triangles with equal corners is kept. If their number is even, it is kept only
 *	   if most edges then have an even number of triangles, but not if it is a wall between two
 *	   solids.
 *	3. Triangles that meet outside common corners and edges are cut. Of pieces with equal corners
 *	   those of step 2 are kept.
 *	4. Holes of at most a number of edges are filled (rb_holes_fill). The new triangles come after the
 *	   others, in the order of the first edges of the holes.
 *	5. A closed surface, in which an even number of triangles share each edge, is turned so that all
 *	   normals point to where a ray crosses an even number of its triangles. Triangles with an edge of
 *	   their own are not part of it, nor are those that lose their neighbors thereby. The triangles of
 *	   all other surfaces are turned to agree with most of those that are connected with them by
 *	   edges of two triangles.
 *
 * Returns RB_OK, RB_STOPPED or a memory error, or RB_BAD_PLC with *flaw set if the triangles could not
 * be cut. Only then the caller must free *welded, which is the PLC with the flaw.
 */
extern rb_status rb_surface_repair(rb_context *ctx, const rb_backend *backend, const rb_set *set,
								   const rb_repair_options *how, rb_repaired *to, rb_welded *welded,
								   rb_flaw *flaw);
/* Frees the faces. */
extern void rb_repaired_free(rb_memory *memory, rb_repaired *to);

/* Returns the word for the lowest bit of what was done to a face, or NULL if there is no bit. */
extern const char *rb_repair_word(uint32_t change);

/* ---- holes (fill_holes.c, for surface_repair.c) ---- */

/* Triangles and their edges, numbered in any order that depends only on the triangles */
typedef struct rb_edged_surface
{
	uint32_t npoints;
	uint32_t ntriangles;
	uint32_t nedges;
	const double *points;
	const uint32_t (*triangles)[3];
	const uint32_t *edge_of; /* the edge of side 3 t + k, from corner k of triangle t to the next */
	const rb_buckets *sides; /* the sides at each edge */
} rb_edged_surface;

typedef struct rb_new_triangle
{
	uint32_t point[3];
} rb_new_triangle;

/* The triangles that fill holes, and the result for each hole; memory of the context */
typedef struct rb_filled_holes
{
	RB_VEC(rb_new_triangle) triangles;
	uint8_t *result; /* rb_hole_result of the hole at each edge; RB_HOLE_FILLED if there is none */
	uint32_t holes[RB_HOLE_RESULTS]; /* number of holes with each result */
} rb_filled_holes;

/*
 * Fills the holes of at most `most` edges with triangles between their corners. The triangles meet
 * those of the surface and each other in common corners and edges only, and are turned to agree with
 * most of those around the hole. Returns RB_OK, RB_STOPPED or a memory error.
 */
extern rb_status rb_holes_fill(rb_context *ctx, const rb_edged_surface *surface, uint32_t most,
							   rb_filled_holes *to);
/* Frees the triangles and the results. */
extern void rb_filled_holes_free(rb_memory *memory, rb_filled_holes *to);

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_SURFACE_REPAIR_H */
