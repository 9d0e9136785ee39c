/*
 * rb_tiles.h
 *	  To which tiles does a row belong?  What the functions of boxes (tiles_of.c) and of geometries
 *	  (pair/pair_tiles.c) share.
 */
#ifndef RB_TILES_H
#define RB_TILES_H

#include "pg/base/rb_pg.h"

/* several tiles */
typedef struct rb_many_tiles
{
	int n;
	int dims;
	const double *low; /* dims of each */
	const double *high;
} rb_many_tiles;

/* the tiles that this argument and the next one are the corners of */
extern void rb_tiles_read(FunctionCallInfo fcinfo, const char *function, int first,
						  rb_many_tiles *tiles);

/* moves the high ends of a row's box up by the distance, which is that argument */
extern void rb_reach_read(FunctionCallInfo fcinfo, const char *function, int argument,
						  rb_ends *box);

/* has the tile use for the row?  flattens: of a box with z it may ask for less */
extern bool rb_tile_asks(const char *function, const rb_ends *box, bool flattens,
						 const rb_ends *tile);

/* the numbers of such tiles, from 1, as the rows of this call */
extern void rb_tiles_return(FunctionCallInfo fcinfo, const char *function, const rb_ends *box,
							bool flattens, const rb_many_tiles *tiles);

#endif /* RB_TILES_H */
