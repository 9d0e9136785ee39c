/*
 * solid_boolean.h
 *	  Computes the boundary of the intersection, union or difference of two solids.
 */
#ifndef RB_MESH_SOLID_BOOLEAN_H
#define RB_MESH_SOLID_BOOLEAN_H

#include "mesh/weld.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef enum rb_solid_operation
{
	RB_SOLID_INTERSECTION,
	RB_SOLID_UNION,
	RB_SOLID_DIFFERENCE, /* the first solid without the second */
	RB_SOLID_SYMDIFFERENCE
} rb_solid_operation;

/* The boundary of a solid: polygons with holes, oriented counterclockwise seen from outside */
typedef struct rb_solid_boundary
{
	uint32_t npoints;
	uint32_t npolygons;
	double *points; /* coordinates x, y, z of each point */
	/* first ring of each polygon, with one more entry at the end; it is the outer ring */
	uint32_t *ring_of;
	/* first corner of each ring, with one more entry at the end */
	uint32_t *corner_of;
	uint32_t *corners;   /* points; a ring does not repeat its first corner */
	double largest_move; /* largest distance by which a corner of the input moved; usually 0 */
} rb_solid_boundary;

/*
 * Computes the boundary of a regularized boolean combination of two solids. `faces` has two rows,
 * the faces of the first and of the second solid; both must be solids (validity.h). The result is
 * closed and does not cross itself; it has no polygons if nothing is left. Returns RB_OK,
 * RB_STOPPED, a memory error, or RB_BAD_PLC with *flaw set if the faces could not be cut.
 */
extern rb_status rb_solid_combine(rb_context *ctx, const rb_backend *backend, const rb_set *faces,
								  rb_solid_operation operation, rb_solid_boundary *to,
								  rb_flaw *flaw);
/*
 * Merges the triangles of a closed surface, oriented outward, that are exactly coplanar and share an
 * edge into polygons (boundary_polygons.c). Fills all of *to but largest_move. On failure the caller
 * must free *to.
 */
extern rb_status rb_boundary_polygons(rb_context *ctx, const rb_plc *surface,
									  rb_solid_boundary *to);
/* Frees the arrays of a boundary; accepts one that was zeroed. */
extern void rb_solid_boundary_free(rb_memory *memory, rb_solid_boundary *boundary);

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_SOLID_BOOLEAN_H */
