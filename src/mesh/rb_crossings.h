/*
 * rb_crossings.h
 *	  Which parts of a PLC meet that should not; in which points is rb_meet.h.
 *
 * A part is a triangle of a facet, a given segment, or a point that is an end of nothing; in this
 * order they are numbered, points by those of the PLC.  As coordinates a part is three corners, the
 * last of which are one where it is no triangle.
 */
#ifndef RB_CROSSINGS_H
#define RB_CROSSINGS_H

#include "core/curve/rb_meet.h"
#include "mesh/rb_weld.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef struct rb_parts
{
	const rb_plc *plc;
	uint32_t n;
	uint32_t first_segment; /* behind the triangles */
	uint32_t first_point;   /* behind the segments */
	double *coords;         /* nine of each */
	uint32_t *point;        /* of each part behind the segments */
} rb_parts;

/* two parts that share more than common corners and edges; red < blue */
typedef struct rb_meeting
{
	uint32_t red;
	uint32_t blue;
	uint32_t told; /* of RB_SELF_INTERSECT */
} rb_meeting;

extern rb_status rb_parts_make(rb_context *ctx, const rb_plc *plc, rb_parts *parts);
extern void rb_parts_free(rb_memory *memory, rb_parts *parts);

/* all meetings, in any order, each once; any other answer of take than RB_OK ends it */
extern rb_status rb_parts_join(rb_context *ctx, const rb_backend *backend, const rb_parts *parts,
							   rb_status (*take)(void *user, rb_meeting meeting), void *user);

#ifdef __cplusplus
}
#endif

#endif /* RB_CROSSINGS_H */
