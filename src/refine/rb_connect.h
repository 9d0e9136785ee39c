/*
 * rb_connect.h
 *	  A mesh that comes from elsewhere than rb_tetrahedralize: what follows from its rows is found
 *	  again, so that it can be refined.
 */
#ifndef RB_CONNECT_H
#define RB_CONNECT_H

#include "mesh/rb_tetrahedralize.h"

#ifdef __cplusplus
extern "C"
{
#endif

/*
 * Makes neighbours and segment_facet; all else is there, corners are numbers of points, and numbers
 * of facets are below nfacets.  RB_OK; RB_BAD_PLC where more than two tetrahedra share a face;
 * RB_STOPPED; or a memory error: then both are NULL.
 */
extern rb_status rb_tets_connect(rb_context *ctx, uint32_t nfacets, rb_tets *tets);

#ifdef __cplusplus
}
#endif

#endif /* RB_CONNECT_H */
