/*
 * tile_filter.h
 *	  Tests whether a pair of rows belongs to the tile of a job (tile_filter.c).
 */
#ifndef RB_EXEC_TILE_FILTER_H
#define RB_EXEC_TILE_FILTER_H

#include "core/primitive/reference_point.h"

typedef struct rb_in_tile
{
	rb_box tile;
	/* Red and blue, or the same set twice in a self join; the sets must outlive this struct */
	const rb_set *set[2];
	double *low[2]; /* Lower corner of each row's bounding box; NULL if each row has one part */
} rb_in_tile;

/*
 * Prepares the test. The job has a tile, and its sets have their coordinates. Call rb_in_tile_free
 * even after a failure.
 */
extern rb_status rb_in_tile_build(rb_context *ctx, const rb_job *job, rb_in_tile *in);
extern void rb_in_tile_free(rb_context *ctx, rb_in_tile *in);

/* Computes the lower corner of the bounding box of a row of red (0) or blue (1). */
static inline void
rb_in_tile_low(const rb_in_tile *in, int side, uint32_t row, double low[3])
{
	const rb_set *set = in->set[side];
	double high[3];

	if (in->low[side] == NULL)
		rb_kind_box(set->kind, set->coords, row, low, high);
	else
		for (int a = 0; a < 3; a++)
			low[a] = in->low[side][3 * (size_t) row + a];
}

/* Returns true if a pair of rows belongs to the tile. */
static inline bool
rb_in_tile_owns(const rb_in_tile *in, uint32_t red, uint32_t blue)
{
	double low[2][3];

	rb_in_tile_low(in, 0, red, low[0]);
	rb_in_tile_low(in, 1, blue, low[1]);
	return rb_tile_owns(in->tile.dims, &in->tile, low[0], low[1]);
}

#endif /* RB_EXEC_TILE_FILTER_H */
