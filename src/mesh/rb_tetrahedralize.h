/*
 * rb_tetrahedralize.h
 *	  A constrained Delaunay tetrahedralization of a PLC: what it is made of, and the one call
 *	  that makes it.
 *
 * Every guarantee is one about the doubles that are returned: each tetrahedron is positively
 * oriented (rb_orient.h), every face is shared by two tetrahedra or is on the boundary, each facet
 * is a union of faces and each segment one of edges (through the points that were added on it),
 * and no vertex opposite a face that is on no facet lies inside the sphere of the tetrahedron on
 * its other side.  Of cospherical points, those with the larger numbers are the farther out.
 */
#ifndef RB_TETRAHEDRALIZE_H
#define RB_TETRAHEDRALIZE_H

#include "mesh/rb_plc.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef enum rb_vertex_kind
{
	RB_VERTEX_INPUT,      /* a point of the PLC; its number there is its number here */
	RB_VERTEX_ON_SEGMENT, /* added on a segment: parent is the segment's number in the result */
	RB_VERTEX_ON_FACET,   /* added on a facet: parent is its number */
	RB_VERTEX_INSIDE,     /* added elsewhere, by refinement; no parent */
	RB_VERTEX_ON_HULL,    /* added on the hull, where that is on no facet; no parent */
	RB_VERTEX_KINDS
} rb_vertex_kind;

/* which tetrahedra are wanted */
typedef enum rb_keep
{
	RB_KEEP_INSIDE, /* those that facets shut off from outside, without holes that a seed says */
	RB_KEEP_HULL    /* all, to the convex hull; without holes that a seed says */
} rb_keep;

/*
 * The result.  Its arrays are of ctx->memory and go with rb_tets_free.  The order of everything
 * depends on the input only.
 */
typedef struct rb_tets
{
	uint32_t npoints;
	uint32_t ntets;
	uint32_t nfaces;
	uint32_t nedges;
	uint32_t nsegments;
	double *points;         /* the PLC's, bit for bit, then corners of tets that were added */
	uint8_t *kind;          /* rb_vertex_kind of each */
	uint32_t *parent;       /* of each, or RB_NONE */
	uint32_t (*tets)[4];    /* positively oriented */
	uint32_t *neighbours;   /* 4 of each: across the face opposite to corner i, or RB_NONE */
	int64_t *region;        /* of each: its seed's, else numbers that no seed has, from 1 up */
	uint32_t (*faces)[3];   /* those that facets are made of */
	uint32_t *face_facet;   /* and of which facet */
	uint32_t (*edges)[2];   /* those that segments are made of */
	uint32_t *edge_segment; /* and of which segment */
	/* all segments: first those of the PLC, then boundaries of facets, each once */
	uint32_t (*segments)[2];
	uint32_t *segment_facet; /* the first facet whose boundary it is on, or RB_NONE */
	uint32_t nregions;
	uint32_t outside_seeds; /* seeds that lie in no region */
	double ms_points, ms_segments, ms_facets, ms_regions;
} rb_tets;

/*
 * On ctx->threads threads, where that is worth it; the result does not depend on how many there are.
 *
 * RB_OK; RB_BAD_PLC, and *flaw says what is wrong; RB_STOPPED; or the memory errors.  On a failure
 * nothing is left in *tets.  plc must have been looked at for facets that cross
 * (rb_weld.h does); one that was not ends with some flaw.
 */
extern rb_status rb_tetrahedralize(rb_context *ctx, const rb_plc *plc, rb_keep keep, rb_tets *tets,
								   rb_flaw *flaw);
extern void rb_tets_free(rb_memory *memory, rb_tets *tets);

#ifdef __cplusplus
}
#endif

#endif /* RB_TETRAHEDRALIZE_H */
