/*
 * rb_surface.h
 *	  The surfaces of a mesh's regions: faces of its tetrahedra behind which there is another region, or nothing.
 */
#ifndef RB_SURFACE_H
#define RB_SURFACE_H

#include "mesh/rb_files.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* triangles, counterclockwise seen from outside of their region, in the order of regions and tetrahedra */
typedef struct rb_surface_face
{
	int64_t region;
	uint32_t corner[3];
} rb_surface_face;

/* an array of ctx->memory, the caller's; all corners are points.  A face between two regions is of both. */
extern rb_status rb_mesh_surface(rb_context *ctx, const rb_mesh_rows *rows, rb_surface_face **faces,
								 uint64_t *n);

#ifdef __cplusplus
}
#endif

#endif /* RB_SURFACE_H */
