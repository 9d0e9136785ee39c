/*
 * reference_point.h
 *	  Assigns pairs of rows to tiles of space by the reference point method, and selects the rows
 *	  that a tile needs.
 *
 * The reference point of a pair of rows is, along each axis, the larger of the low ends of their
 * two boxes; a row's box is that of all its parts. Tiles are half-open, so if they fill space
 * without overlap, each pair belongs to exactly one of them (Dittrich, Seeger: see grid.h).
 *
 * A tile needs a row if the row begins below the tile's high ends and may form a pair with a row
 * that begins at or above the low ends: the boxes of a pair overlap, or are at most the distance
 * apart along each axis.
 */
#ifndef RB_PRIMITIVE_REFERENCE_POINT_H
#define RB_PRIMITIVE_REFERENCE_POINT_H

#include "core/primitive/box.h"

/*
 * Returns a box's high end plus a distance, rounded up, so that nothing within the distance lies
 * beyond it on that axis.
 */
RB_HOST_DEVICE double
rb_reach_up(double high, double distance)
{
	double low[3] = {0, 0, 0}, to[3] = {high, 0, 0};

	if (distance > 0)
		rb_box_pad(low, to, distance);
	return to[0];
}

/*
 * Returns true if a tile needs a row with the box from `low`. reach is the high end of the box plus
 * the distance of a pair.
 */
RB_HOST_DEVICE bool
rb_tile_meets(int dims, const double *low, const double *reach, const double *tile_low,
			  const double *tile_high)
{
	bool meets = true;

	for (int a = 0; a < dims; a++)
		meets &= low[a] < tile_high[a] && reach[a] >= tile_low[a];
	return meets;
}

/* Returns true if the tile owns the pair of two rows whose boxes have the low ends red and blue. */
RB_HOST_DEVICE bool
rb_tile_owns(int dims, const rb_box *tile, const double *red, const double *blue)
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
 * Shrinks (lo, hi), the region where both sides are, to where a grid must search for the pairs of
 * parts of the job's partition and tile, if any. The padded boxes of two parts begin to overlap at
 * or above the point where their rows' boxes do, and exactly there if each row has one part. No
 * pair outside the region belongs to the tile; pairs inside may not belong to it either.
 */
RB_HOST_DEVICE void
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
 * Returns true if a part with the given box can be in a pair of the partition. A partition is a
 * tile for pairs of parts, with the reference point of their padded boxes. Sets *starts to the axes
 * on which the box begins within the partition, with the bits that a grid uses for its cells
 * (grid.h). If both parts of a pair pass this test, the pair belongs to the partition if on each
 * axis one of their boxes begins within it: both begin below its high end, so the larger of their
 * low ends is below it, too, and is not below its low end.
 */
RB_HOST_DEVICE bool
rb_partition_meets(const rb_box *share, const double lo[3], const double hi[3], uint32_t *starts)
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

#endif /* RB_PRIMITIVE_REFERENCE_POINT_H */
