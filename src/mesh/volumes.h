/*
 * volumes.h
 *	  Compares the volumes that a mesh and its surface enclose, and the areas of facets, and checks
 *	  that points on facets are near them.
 *
 * A mesh can be a flawless tetrahedralization of a different solid if faces or points of a facet
 * are not where the facet's triangles are. The volume of each region is therefore compared with the
 * volume enclosed by the triangles around it. Both are sums of determinants that are added exactly.
 * They may differ by what the rounding of coordinates explains, times the area.
 */
#ifndef RB_MESH_VOLUMES_H
#define RB_MESH_VOLUMES_H

#include "core/base/base.h"
#include "mesh/tetrahedralize.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef struct rb_volumes_input
{
	/* The mesh; all its indices are in range */
	uint32_t npoints, ntets, nfaces, nedges, nsegments;
	const double *points;
	const uint8_t *kind;    /* rb_vertex_kind of each point */
	const uint32_t *parent; /* parent of each point */
	const uint32_t (*tets)[4];
	const uint32_t *neighbours; /* neighbors of each tetrahedron, as in rb_tets */
	const int64_t *region;      /* region of each tetrahedron */
	const uint32_t (*faces)[3];
	const uint32_t *face_facet;
	const uint32_t (*edges)[2];
	const uint32_t *edge_segment;
	const uint32_t (*segments)[2]; /* ends of each segment */
	/*
	 * For each facet, whether it is excluded from the comparison together with the regions it
	 * bounds. NULL if no facet is.
	 */
	const uint8_t *skipped;
	/*
	 * The surface: triangles of facets, including inner edges, and the subsegments that its
	 * segments consist of
	 */
	uint32_t surface_npoints, ntriangles, nfacets, npieces;
	const double *surface_points;
	const uint32_t (*triangles)[3];
	const uint32_t *facet_of; /* facet of each triangle, ascending */
	const double *tolerance;  /* tolerance of each facet, as in rb_plc; or NULL */
	const uint32_t (*pieces)[2];
	/* segment of each subsegment; NULL if subsegment i is segment i */
	const uint32_t *piece_segment;
} rb_volumes_input;

typedef enum rb_volumes_kind
{
	RB_VOLUMES_FAR,   /* a point is off its facet */
	RB_VOLUMES_AREA,  /* the faces on a facet do not cover it exactly once */
	RB_VOLUMES_REGION /* a region has the wrong volume */
} rb_volumes_kind;

typedef struct rb_volumes_fault
{
	rb_volumes_kind kind;
	uint32_t point; /* point off its facet */
	/* For a region, the facet at which most of the volume is lost or gained */
	uint32_t facet;
	int64_t region;
	/* distance; or the mesh's area, seen along an axis, or volume minus the surface's */
	double amount;
	double limit;  /* largest amount that rounding explains */
	double volume; /* volume of the region, or area of the facet's triangles */
	double at[3];  /* coordinates of the point, or of a corner of the facet */
} rb_volumes_fault;

typedef rb_status (*rb_volumes_report)(void *arg, const rb_volumes_fault *fault);

/*
 * Sets up a comparison of the result of rb_tetrahedralize or rb_refine with the PLC it was built
 * from.
 */
extern void rb_volumes_of_plc(const rb_plc *plc, const rb_tets *tets, rb_volumes_input *in);

/*
 * Triangles and subsegments of a mesh before refinement, the surface that refinement must preserve
 */
typedef struct rb_volumes_surface
{
	uint32_t npoints, ntriangles, nfacets, npieces;
	uint32_t (*triangles)[3];
	uint32_t *facet_of;
	uint32_t (*pieces)[2];
	uint32_t *piece_segment;
} rb_volumes_surface;

/*
 * Copies the surface of a mesh into arrays of ctx->memory. On failure there are none. Points are
 * not copied because they keep their indices and coordinates.
 */
extern rb_status rb_volumes_copy_surface(rb_context *ctx, const rb_tets *tets,
										 rb_volumes_surface *before);

/* Frees the copy of a surface. */
static inline void
rb_volumes_surface_free(rb_memory *memory, rb_volumes_surface *before)
{
	RB_FREE(memory, before->triangles);
	RB_FREE(memory, before->facet_of);
	RB_FREE(memory, before->pieces);
	RB_FREE(memory, before->piece_segment);
}

/* Sets the input of a comparison to a surface that was copied before, and a mesh of it. */
extern void rb_volumes_of_surface(const rb_volumes_surface *before, const rb_tets *tets,
								  rb_volumes_input *in);

/*
 * Calls `report` for each fault, points before facets and facets before regions. A return value
 * other than RB_OK ends the comparison.
 */
extern rb_status rb_volumes_compare(rb_context *ctx, const rb_volumes_input *in,
									rb_volumes_report report, void *arg);

/* Compares volumes until the first fault, which is returned as RB_BAD_PLC with *flaw set. */
extern rb_status rb_volumes_check(rb_context *ctx, const rb_volumes_input *in, rb_flaw *flaw);

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_VOLUMES_H */
