/*
 * snap_align.h
 *	  Declares the alignment of snapped points: those near a common plane or line are moved onto it.
 */
#ifndef RB_MESH_SNAP_ALIGN_H
#define RB_MESH_SNAP_ALIGN_H

#include "mesh/plc.h"

/* Points that were moved to grids, and the inputs that use them */
typedef struct rb_snapped
{
	const rb_plc *plc;       /* the input; its points are not used */
	uint8_t *triangle_level; /* level of each triangle and segment */
	uint8_t *segment_level;
	uint8_t *point_level;
	const uint8_t *triangle_meets; /* whether each triangle and segment met others */
	const uint8_t *segment_meets;
	int step;              /* binary exponent of the grid of level 1 */
	int bits;              /* binary logarithm of the ratio of two consecutive grids */
	uint8_t last;          /* level of which all points are one */
	const uint32_t *first; /* for each point, the first one with equal coordinates */
	double *points;        /* coordinates */
} rb_snapped;

/*
 * Moves corners of triangles that are near a common plane, and ends of edges that are near a common
 * line, onto a plane or line on which they are exactly coplanar or collinear, if doubles have room
 * for this on the grid of the level of one of the inputs. The other inputs, which must have met
 * inputs or have a level, get that level. A point moves by less than four times that grid. *n is
 * the number of planes and lines. Returns RB_OK, RB_STOPPED or a memory error.
 */
extern rb_status rb_align_snapped(rb_context *ctx, const rb_snapped *snapped, uint32_t *n);

#endif /* RB_MESH_SNAP_ALIGN_H */
