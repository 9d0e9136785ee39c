/*
 * tile_functions.h
 *	  Declares what the tile functions of boxes (tile_functions.c) and of geometries (scalar/functions.c)
 *	  share. They find the tiles that a row belongs to.
 */
#ifndef RB_PG_CALL_TILE_FUNCTIONS_H
#define RB_PG_CALL_TILE_FUNCTIONS_H

#include "pg/base/pg.h"

/* The tiles given by two arrays of corners */
typedef struct rb_many_tiles
{
	int n;
	int dims;
	const double *low; /* `dims` coordinates per tile */
	const double *high;
} rb_many_tiles;

/* Reads the tiles whose low and high corners are this argument and the next one. */
extern void rb_tiles_read(FunctionCallInfo fcinfo, const char *function, int first,
						  rb_many_tiles *tiles);

/* Moves the high ends of a row's box up by the distance that the argument gives. */
extern void rb_reach_read(FunctionCallInfo fcinfo, const char *function, int argument, rb_box *box);

/*
 * Returns true if the tile needs the row. With `flattens`, a box with Z may be tested against a
 * two-dimensional tile.
 */
extern bool rb_tile_needs(const char *function, const rb_box *box, bool flattens,
						  const rb_box *tile);

/* Returns the numbers, from 1, of the tiles that need the box, as the rows of this call. */
extern void rb_tiles_return(FunctionCallInfo fcinfo, const char *function, const rb_box *box,
							bool flattens, const rb_many_tiles *tiles);

#endif /* RB_PG_CALL_TILE_FUNCTIONS_H */
