/*
 * surface.h
 *	  Extracts the surfaces of a mesh's regions: the faces of tetrahedra behind which there is
 *	  another region or nothing.
 */
#ifndef RB_MESH_IO_SURFACE_H
#define RB_MESH_IO_SURFACE_H

#include "mesh/io/files.h"

#ifdef __cplusplus
extern "C"
{
#endif

/*
 * A triangle of a region's surface, counterclockwise seen from outside the region. Triangles are
 * ordered by region, then by tetrahedron.
 */
typedef struct rb_surface_face
{
	int64_t region;
	uint32_t corner[3];
} rb_surface_face;

/*
 * Returns the surface triangles of all regions as an array of ctx->memory that the caller frees.
 * All corners must be valid point indices. A face between two regions appears once for each.
 */
extern rb_status rb_mesh_surface(rb_context *ctx, const rb_mesh_rows *rows, rb_surface_face **faces,
								 uint64_t *n);

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_IO_SURFACE_H */
