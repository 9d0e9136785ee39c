/*
 * rb_volumes.h
 *	  Does a mesh enclose what its surface encloses, and are its points on the surface?
 *
 * A mesh can be a tetrahedralization without a fault and still be that of another body: where faces or points
 * of a facet are elsewhere than the facet's triangles.  So the volume of each region is compared with the
 * one between the triangles around it: both are sums of determinants, which are added exactly.  They may
 * differ by what the rounding of coordinates explains, times the area.
 */
#ifndef RB_VOLUMES_H
#define RB_VOLUMES_H

#include "mesh/rb_tetrahedralize.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef struct rb_volumes_input
{
	/* the mesh, whose numbers are in range */
	uint32_t npoints, ntets, nfaces, nedges, nsegments;
	const double *points;
	const uint8_t *kind;    /* rb_vertex_kind of each point */
	const uint32_t *parent; /* of each point */
	const uint32_t (*tets)[4];
	const uint32_t *neighbours; /* as in rb_tets */
	const int64_t *region;      /* of each tetrahedron */
	const uint32_t (*faces)[3];
	const uint32_t *face_facet;
	const uint32_t (*edges)[2];
	const uint32_t *edge_segment;
	const uint32_t (*segments)[2]; /* ends of each */
	const uint8_t
		*skipped; /* of each facet: it is not compared, nor is what it encloses; NULL: none */
	/* the surface: triangles of facets, with inner edges; and the edges that segments are made of there */
	uint32_t surface_npoints, ntriangles, nfacets, npieces;
	const double *surface_points;
	const uint32_t (*triangles)[3];
	const uint32_t *facet_of; /* of each triangle, ascending */
	const uint32_t (*pieces)[2];
	const uint32_t *piece_segment; /* NULL: piece i is segment i */
} rb_volumes_input;

typedef struct rb_volumes_fault
{
	bool far;       /* a point is off its facet; else a region has another volume */
	uint32_t point; /* off its facet */
	uint32_t facet; /* that facet; of a region: the facet where most of the volume is lost or won */
	int64_t region;
	double amount; /* the distance; or the mesh's volume less the surface's */
	double limit;  /* what rounding explains */
	double volume; /* of the region by its surface */
	double at[3];  /* the point */
} rb_volumes_fault;

typedef rb_status (*rb_volumes_tell)(void *arg, const rb_volumes_fault *fault);

/* the mesh as rb_tetrahedralize or rb_refine left it, the surface that of the PLC it was made of */
extern void rb_volumes_of_plc(const rb_plc *plc, const rb_tets *tets, rb_volumes_input *in);

/* triangles and pieces of a mesh before it is refined, as the surface that it should keep */
typedef struct rb_volumes_kept
{
	uint32_t npoints, ntriangles, nfacets, npieces;
	uint32_t (*triangles)[3];
	uint32_t *facet_of;
	uint32_t (*pieces)[2];
	uint32_t *piece_segment;
} rb_volumes_kept;

/* arrays are of ctx->memory; on a failure there are none.  Points keep their numbers and places, so they are not copied. */
extern rb_status rb_volumes_keep(rb_context *ctx, const rb_tets *tets, rb_volumes_kept *kept);
extern void rb_volumes_kept_free(rb_memory *memory, rb_volumes_kept *kept);
extern void rb_volumes_of_kept(const rb_volumes_kept *kept, const rb_tets *tets,
							   rb_volumes_input *in);

/* calls tell for each fault: points before regions.  Whatever it answers but RB_OK ends the comparison. */
extern rb_status rb_volumes_compare(rb_context *ctx, const rb_volumes_input *in,
									rb_volumes_tell tell, void *arg);

/* the same for the first fault, as RB_BAD_PLC with *flaw */
extern rb_status rb_volumes_look(rb_context *ctx, const rb_volumes_input *in, rb_flaw *flaw);

#ifdef __cplusplus
}
#endif

#endif /* RB_VOLUMES_H */
