/*
 * pieces.h
 *	  Declares the pieces into which crossing facets and segments are split, with the input triangle
 *	  or segment of each, and the alignment of points that were snapped.
 *
 *	  plc_split.c     splits pieces where they meet
 *	  snap_align.c    moves snapped points near a common plane or line onto it
 *	  snap_levels.c   moves the corners of inputs whose pieces still meet, and splits them again
 */
#ifndef RB_MESH_PIECES_H
#define RB_MESH_PIECES_H

#include "mesh/weld.h"

/* ---- plc_split.c ---- */

typedef struct rb_plc_pieces
{
	rb_welded *welded;
	uint32_t *triangle_of; /* for each triangle, its input triangle */
	uint32_t *segment_of;  /* for each segment, its input segment, or RB_NONE if created here */
	const uint32_t *rows;  /* row of each input segment */
} rb_plc_pieces;

#define RB_INPUT_MEETS 1 /* a piece of the input meets other pieces */
#define RB_INPUT_MET 2   /* a piece of the input met other pieces in some round */

/* RB_INPUT_MEETS and RB_INPUT_MET of each input triangle, segment and point */
typedef struct rb_meeting_inputs
{
	uint8_t *triangle;
	uint8_t *segment;
	uint8_t *point; /* by the number of the point before anything was split */
	uint32_t npoints;
} rb_meeting_inputs;

/*
 * Splits all pieces that meet, in rounds, until nothing meets or further rounds are not likely to
 * help; sets *sound to true if nothing meets and all surfaces (rb_welded) are closed modulo 2. Marks in *meets the inputs of the pieces that met and
 * of those that still meet.
 */
extern rb_status rb_pieces_split(rb_context *ctx, const rb_backend *backend, rb_plc_pieces *pieces,
								 rb_meeting_inputs *meets, rb_split_done *split, bool *sound);

/* ---- snap_align.c ---- */

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

#endif /* RB_MESH_PIECES_H */
