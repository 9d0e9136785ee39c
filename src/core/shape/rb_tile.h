/*
 * rb_tile.h
 *	  A tile of space: which rows it has use for, and which pairs are its own.
 *
 * The reference point of a pair of rows is, along each axis, the larger of the low ends of their two
 * boxes; a row's box is that of all its parts.  Tiles are half open, so where they fill space without an
 * overlap each pair is of one of them (Dittrich, Seeger: see rb_grid.h).
 *
 * A row is of use if it begins below the tile's high ends, and if another one that begins above the
 * low ends may be near enough: the boxes of a pair overlap, or are at most the distance apart
 * along each axis.
 */
#ifndef RB_TILE_H
#define RB_TILE_H

#include "core/shape/rb_box.h"

/* a box's high end, moved up by a distance, rounded up: along an axis nothing is farther from the box */
RB_HD double
rb_reach_up(double high, double distance)
{
	double low[3] = {0, 0, 0}, to[3] = {high, 0, 0};

	if (distance > 0)
		rb_box_pad(low, to, distance);
	return to[0];
}

/* has a tile use for a row with that box?  reach: the high end of it, moved up by the distance of a pair */
RB_HD bool
rb_tile_meets(int dims, const double *low, const double *reach, const double *tile_low,
			  const double *tile_high)
{
	bool meets = true;

	for (int a = 0; a < dims; a++)
		meets &= low[a] < tile_high[a] && reach[a] >= tile_low[a];
	return meets;
}

/* is a pair of two rows whose boxes begin there the tile's? */
RB_HD bool
rb_tile_owns(int dims, const rb_ends *tile, const double *red, const double *blue)
{
	bool owns = true;

	for (int a = 0; a < dims; a++)
	{
		const double at = red[a] > blue[a] ? red[a] : blue[a];

		owns &= at >= tile->low[a] && at < tile->high[a];
	}
	return owns;
}

/*
 * Where a grid need look for the pairs of parts of the job's share and tile, if it has any: (lo, hi), where both sides
 * are, becomes smaller.  Where the padded boxes of two parts begin to overlap is above where their rows' do,
 * and there if each row has one part.  What is left out there is in no pair of the tile; what is not may be.
 */
RB_HD void
rb_tile_clip(const rb_job *job, double lo[3], double hi[3])
{
	const bool single =
		job->red->row_of == NULL && (job->blue == NULL || job->blue->row_of == NULL);
	const int dims = rb_kind_dims(job->red->kind);
	double low[3] = {0, 0, 0}, high[3] = {0, 0, 0}, no[3] = {0, 0, 0};

	for (int a = 0; a < dims && job->share.dims != 0; a++)
	{
		lo[a] = job->share.low[a] > lo[a] ? job->share.low[a] : lo[a];
		hi[a] = job->share.high[a] < hi[a] ? job->share.high[a] : hi[a];
	}
	if (job->tile.dims == 0)
		return;
	for (int a = 0; a < dims; a++)
	{
		low[a] = job->tile.low[a];
		high[a] = job->tile.high[a];
	}
	rb_kind_pad(job->red->kind, rb_pad_of(job->predicate, job->distance), low, no);
	for (int a = 0; a < dims; a++)
	{
		lo[a] = low[a] > lo[a] ? low[a] : lo[a];
		hi[a] = single && high[a] < hi[a] ? high[a] : hi[a];
	}
}

/*
 * A share is a tile for pairs of parts: theirs is the reference point of the two padded boxes.  Is a part with that box
 * in any of the share's pairs?  Then *starts has the axes on which it begins within the share, as a grid has bits
 * for its cells (rb_grid.h).  By the same rule a pair lies in the share if on each axis one of the two
 * begins there: both begin below the high end, so the larger low end does, and it is not below the low end.
 */
RB_HD bool
rb_share_takes(const rb_ends *share, const double lo[3], const double hi[3], uint32_t *starts)
{
	uint32_t before = 0;
	bool takes = true;

	for (int a = 0; a < share->dims; a++)
	{
		takes &= lo[a] < share->high[a] && hi[a] >= share->low[a];
		before |= (uint32_t) (lo[a] < share->low[a]) << a;
	}
	*starts = ~before & 7u;
	return takes;
}

#endif /* RB_TILE_H */
