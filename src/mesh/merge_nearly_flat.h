/*
 * merge_nearly_flat.h
 *	  Declares the merging of facets that are coplanar to within a tolerance (for merge_coplanar.c).
 */
#ifndef RB_MESH_MERGE_NEARLY_FLAT_H
#define RB_MESH_MERGE_NEARLY_FLAT_H

#include "mesh/weld.h"

#ifdef __cplusplus
extern "C"
{
#endif

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

#endif /* RB_MESH_MERGE_NEARLY_FLAT_H */
