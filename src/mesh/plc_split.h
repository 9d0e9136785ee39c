/*
 * plc_split.h
 *	  Finds the parts of a PLC that meet where they should not. The points where they meet are
 *	  computed in intersection.h.
 *
 * A part is a triangle of a facet, a given segment, or a point that is an end of nothing. Parts are
 * numbered in this order, points in the order of the PLC. Each part is stored as the coordinates of
 * three corners; the last ones are equal if it is not a triangle.
 */
#ifndef RB_MESH_PLC_SPLIT_H
#define RB_MESH_PLC_SPLIT_H

#include "core/intersection/intersection.h"
#include "mesh/weld.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef struct rb_parts
{
	const rb_plc *plc;
	uint32_t n;
	uint32_t first_segment; /* index of the first segment, after the triangles */
	uint32_t first_point;   /* index of the first point, after the segments */
	double *coords;         /* coordinates, nine per part */
	uint32_t *point;        /* PLC point of each part after the segments */
} rb_parts;

/* Two parts that share more than common corners and edges; red < blue */
typedef struct rb_meeting
{
	uint32_t red;
	uint32_t blue;
	uint32_t payload; /* payload bits of RB_SELF_INTERSECT */
} rb_meeting;

extern rb_status rb_parts_build(rb_context *ctx, const rb_plc *plc, rb_parts *parts);
extern void rb_parts_free(rb_memory *memory, rb_parts *parts);

/*
 * Passes each meeting to `take` exactly once, in any order. A return value of `take` other than
 * RB_OK ends the search.
 */
extern rb_status rb_parts_join(rb_context *ctx, const rb_backend *backend, const rb_parts *parts,
							   rb_status (*take)(void *user, rb_meeting meeting), void *user);

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_PLC_SPLIT_H */
