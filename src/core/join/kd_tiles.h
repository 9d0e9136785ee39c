/*
 * kd_tiles.h
 *	  Partitions space into tiles of about equal cost, based on a sample of the rows of a join.
 *
 * The cost of a tile is the work to join it: reading each row that may be in one of its pairs, and
 * testing each pair of overlapping boxes whose reference point lies in the tile. The reference
 * point is, along each axis, the larger of the two low ends.
 */
#ifndef RB_JOIN_KD_TILES_H
#define RB_JOIN_KD_TILES_H

#include "core/base/redblue.h"
#include "core/primitive/reference_point.h"

/* Cost of a pair, relative to the cost of reading a row. Measured on one core, see doc/scale.md. */
#define RB_TILE_PAIR_COST 0.1

#define RB_MAX_TILES ((uint32_t) 1 << 20)

typedef struct rb_kd_job
{
	/*
	 * Boxes of rows, both RB_BOX3 or both RB_BOX2, with one part per row. [1] is NULL if a table is
	 * joined with itself and its sample is in [0]. If that sample does not have all rows, two
	 * samples of the table (self) are more accurate: rows that are adjacent in a table are together
	 * in one sample, or in none.
	 */
	const rb_set *sample[2];
	double rows[2]; /* total rows of the sampled tables; equal if both are the same table */
	bool self;      /* true if both samples are of one table, each of whose pairs counts once */
	double
		distance; /* maximum distance of a pair, in units of the coordinates; 0 if boxes must overlap */
	uint32_t n; /* number of tiles, 1 to RB_MAX_TILES */
} rb_kd_job;

typedef struct rb_kd_tile
{
	double low
		[3]; /* half open, low <= x < high; may be infinite; in the plane only the first two are used */
	double high[3];
	double cost; /* approximate cost for all rows, relative to reading one row */
} rb_kd_tile;

/* Computes job->n tiles that fill space without overlapping. Equal samples give equal tiles. */
extern rb_status rb_kd_tiles(rb_context *ctx, const rb_kd_job *job, rb_kd_tile *tiles);

#endif /* RB_JOIN_KD_TILES_H */
