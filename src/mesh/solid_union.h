/*
 * solid_union.h
 *	  Declares operations on two solids that are not rows of one set, and the union of many.
 */
#ifndef RB_MESH_SOLID_UNION_H
#define RB_MESH_SOLID_UNION_H

#include "mesh/solid_boolean.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Triangles of a solid: nine coordinates each */
typedef struct rb_solid_triangles
{
	const double *coords;
	uint32_t n;
} rb_solid_triangles;

/* Combines two solids as rb_solid_combine does. */
extern rb_status rb_solid_combine_two(rb_context *ctx, const rb_backend *backend,
									  const rb_solid_triangles solid[2],
									  rb_solid_operation operation, rb_solid_boundary *to,
									  rb_flaw *flaw);

/*
 * Computes the boundary of the union of all rows of a set of triangles, which must be solids
 * (validity.h). Neighbors in the order of rows are united first, so rounded corners depend on this
 * order. Returns what rb_solid_combine returns.
 */
extern rb_status rb_solid_unite(rb_context *ctx, const rb_backend *backend, const rb_set *solids,
								rb_solid_boundary *to, rb_flaw *flaw);

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_SOLID_UNION_H */
