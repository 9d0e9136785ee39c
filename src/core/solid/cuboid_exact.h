/*
 * cuboid_exact.h
 *	  Declares the exact rounding of how much of a cuboid is inside a solid.
 */
#ifndef RB_SOLID_CUBOID_EXACT_H
#define RB_SOLID_CUBOID_EXACT_H

#include "core/solid/cuboid_clip.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Polygons of a cuboid and a solid */
typedef RB_VEC(rb_cuboid_polygon) rb_cuboid_polygons;

/* Rounds the results of a cuboid of which only a part is inside. */
extern rb_status rb_cuboid_round_exactly(rb_context *ctx, const rb_cuboid *b,
										 const rb_cuboid_polygons *polygons, bool inside,
										 rb_cuboid_share *share);

#ifdef __cplusplus
}
#endif

#endif /* RB_SOLID_CUBOID_EXACT_H */
