/*
 * pieces.h
 *	  Declares the pieces into which crossing facets and segments are split, with the input triangle
 *	  or segment of each.
 *
 *	  plc_split.c     splits pieces where they meet
 *	  snap_levels.c   moves the corners of inputs whose pieces still meet, and splits them again
 */
#ifndef RB_MESH_PIECES_H
#define RB_MESH_PIECES_H

#include "mesh/weld.h"

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
 * help; sets *sound to true if nothing meets. Marks in *meets the inputs of the pieces that met and
 * of those that still meet.
 */
extern rb_status rb_pieces_split(rb_context *ctx, const rb_backend *backend, rb_plc_pieces *pieces,
								 rb_meeting_inputs *meets, rb_split_done *split, bool *sound);

#endif /* RB_MESH_PIECES_H */
