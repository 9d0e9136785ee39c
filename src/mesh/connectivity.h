/*
 * connectivity.h
 *	  Reconstructs the connectivity of a mesh that was loaded from rows instead of built by
 *	  rb_tetrahedralize, so that it can be refined.
 */
#ifndef RB_MESH_CONNECTIVITY_H
#define RB_MESH_CONNECTIVITY_H

#include "mesh/tetrahedralize.h"

#ifdef __cplusplus
extern "C"
{
#endif

/*
 * Fills in neighbours and segment_facet. Everything else must be present; corners are point
 * numbers, and facet numbers are below nfacets. Returns RB_OK, RB_BAD_PLC if more than two
 * tetrahedra share a face, RB_STOPPED, or a memory error. On failure both arrays are NULL.
 */
extern rb_status rb_tets_connect(rb_context *ctx, uint32_t nfacets, rb_tets *tets);

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_CONNECTIVITY_H */
