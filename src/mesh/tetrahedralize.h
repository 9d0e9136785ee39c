/*
 * tetrahedralize.h
 *	  Computes a constrained Delaunay tetrahedralization of a PLC.
 *
 * All guarantees refer to the doubles that are returned. Each tetrahedron is positively oriented
 * (orient.h). Every face is shared by two tetrahedra or is on the boundary. Each facet is a
 * union of faces and each segment a union of edges, through the Steiner points on it. For a face on
 * no facet, the opposite vertex on one side is not inside the circumsphere of the tetrahedron on
 * the other side. Of cospherical points, those with larger indices are farther out.
 */
#ifndef RB_MESH_TETRAHEDRALIZE_H
#define RB_MESH_TETRAHEDRALIZE_H

#include "mesh/plc.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef enum rb_vertex_kind
{
	RB_VERTEX_INPUT, /* a point of the PLC, with the same index in the mesh */
	/* Steiner point on a segment; parent is the segment's index in the result */
	RB_VERTEX_ON_SEGMENT,
	RB_VERTEX_ON_FACET, /* Steiner point on a facet; parent is the facet's index */
	RB_VERTEX_INSIDE,   /* Steiner point elsewhere, added by refinement; no parent */
	RB_VERTEX_ON_HULL,  /* Steiner point on a part of the hull that is on no facet; no parent */
	RB_VERTEX_KINDS
} rb_vertex_kind;

/* Selects the tetrahedra to keep */
typedef enum rb_keep
{
	RB_KEEP_INSIDE, /* tetrahedra enclosed by facets, minus holes marked by seeds */
	RB_KEEP_HULL    /* all tetrahedra in the convex hull, minus holes marked by seeds */
} rb_keep;

/*
 * The resulting mesh. Its arrays belong to ctx->memory and are freed by rb_tets_free. The order of
 * all elements depends only on the input.
 */
typedef struct rb_tets
{
	uint32_t npoints;
	uint32_t ntets;
	uint32_t nfaces;
	uint32_t nedges;
	uint32_t nsegments;
	double *points;      /* the PLC's points, bit for bit, then the Steiner points */
	uint8_t *kind;       /* rb_vertex_kind of each point */
	uint32_t *parent;    /* parent of each point, or RB_NONE */
	uint32_t (*tets)[4]; /* positively oriented */
	/* four per tetrahedron: the one across the face opposite corner i, or RB_NONE */
	uint32_t *neighbours;
	/* Region of each tetrahedron: its seed's number, else a positive number that no seed uses */
	int64_t *region;
	uint32_t (*faces)[3]; /* faces that make up the facets */
	uint32_t *face_facet; /* facet of each face */
	/* 1 for each tetrahedron with a face on no facet that is not Delaunay; NULL if all faces are */
	uint8_t *not_delaunay;
	uint32_t (*edges)[2];   /* edges that make up the segments */
	uint32_t *edge_segment; /* segment of each edge */
	/* All segments: first those of the PLC, then the boundaries of facets, each once */
	uint32_t (*segments)[2];
	uint32_t *segment_facet; /* first facet whose boundary contains the segment, or RB_NONE */
	uint32_t nregions;
	uint32_t outside_seeds; /* number of seeds that lie in no region */
	double ms_points, ms_segments, ms_facets, ms_regions;
} rb_tets;

/*
 * Builds the mesh with up to ctx->threads threads, if that pays off. The result does not depend
 * on their number.
 *
 * Returns RB_OK; RB_BAD_PLC with *flaw set to the defect; RB_STOPPED; or a memory error. On failure
 * *tets is empty. The PLC must have been checked for crossing facets (weld.h); if crossings
 * remain, the result is some flaw.
 */
extern rb_status rb_tetrahedralize(rb_context *ctx, const rb_plc *plc, rb_keep keep, rb_tets *tets,
								   rb_flaw *flaw);
/* Frees all arrays of a mesh. */
extern void rb_tets_free(rb_memory *memory, rb_tets *tets);

/*
 * Reconstructs the connectivity of a mesh that was loaded from rows, so that it can be refined
 * (result.c): fills in neighbours and segment_facet. Everything else must be present; corners
 * are point numbers, and facet numbers are below nfacets. Returns RB_OK, RB_BAD_PLC if more than
 * two tetrahedra share a face, RB_STOPPED, or a memory error. On failure both arrays are NULL.
 */
extern rb_status rb_tets_connect(rb_context *ctx, uint32_t nfacets, rb_tets *tets);

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_TETRAHEDRALIZE_H */
