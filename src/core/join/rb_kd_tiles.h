/*
 * rb_kd_tiles.h
 *	  All of space as tiles of about the same cost, by a sample of the rows of a join.
 *
 *		kd_tiles.c		the cuts: a k-d tree
 *		tile_pairs.c	where the pairs are, by a join of the samples
 *
 * A tile costs what whoever joins it must do: he reads each row that may be in one of its pairs, and looks at each pair
 * whose boxes overlap and that lies in the tile (its reference point: along each axis the larger of the two low ends).
 */
#ifndef RB_KD_TILES_H
#define RB_KD_TILES_H

#include "core/base/redblue.h"
#include "core/shape/rb_tile.h"

/*
 * What a pair costs, if a row that is read costs 1.  Measured on one core, see doc/scale.md.
 */
#define RB_TILE_PAIR_COST 0.1

#define RB_MAX_TILES ((uint32_t) 1 << 20)

typedef struct rb_kd_job
{
	/*
	 * Boxes of rows, RB_BOX3 or both RB_BOX2, one part a row.  [1] NULL: the join is of one table with itself, and that is its
	 * sample.  Where not all rows of such a table are in it, two samples tell more (self): what lies
	 * beside each other in a table is in one sample together, or not at all.
	 */
	const rb_set *sample[2];
	double rows
		[2]; /* that there are, of which the samples were taken; of such a table both are the same */
	bool self; /* both samples are of one table, of which each pair counts once */
	double
		distance; /* of the pairs that are wanted, in units of the coordinates; 0: their boxes overlap */
	uint32_t n; /* tiles that are wanted, 1 to RB_MAX_TILES */
} rb_kd_job;

typedef struct rb_kd_tile
{
	double low
		[3]; /* half open, low <= x < high; ends may be infinite, and in the plane the first two count */
	double high[3];
	double cost; /* about, of all rows, if one that is read costs 1 */
} rb_kd_tile;

/* job->n tiles that fill space without an overlap; the same ones for the same samples */
extern rb_status rb_kd_tiles(rb_context *ctx, const rb_kd_job *job, rb_kd_tile *tiles);

/* ---- tile_pairs.c ---- */

/* places of pairs, each for so many pairs of all rows */
typedef struct rb_tile_pairs
{
	uint32_t n;
	size_t cap;
	double *at; /* three of each */
	double weight;
} rb_tile_pairs;

extern rb_status rb_tile_pairs_find(rb_context *ctx, const rb_kd_job *job, rb_tile_pairs *pairs);

#endif /* RB_KD_TILES_H */
