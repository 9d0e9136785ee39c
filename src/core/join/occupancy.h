/*
 * occupancy.h
 *	  Implements an occupancy bitmap: one bit for each cell of a fine grid that a set of boxes
 *	  reaches into, small enough to stay in the fastest cache.
 *
 * Two boxes that share a point share the cell of that point, because the map is monotone
 * (grid.h). A box whose cells are all empty of the other set therefore meets no object of it. If
 * one set is sparse compared to the other, most objects are dropped before they incur any cost.
 */
#ifndef RB_JOIN_OCCUPANCY_H
#define RB_JOIN_OCCUPANCY_H

#include "core/base/atomic.h"
#include "core/join/simd.h"

typedef struct rb_occupancy
{
	rb_grid grid;
	uint64_t *word; /* bit rb_grid_number of a cell, in words of 64 */
} rb_occupancy;

static inline size_t
rb_occupancy_words(const rb_grid *g)
{
	return (size_t) (((uint64_t) g->n[0] * g->n[1] * g->n[2] + 63) / 64);
}

/* Returns the bits of word w that are in [from, to]. */
static inline uint64_t
rb_occupancy_mask(uint64_t w, uint64_t from, uint64_t to)
{
	uint64_t mask = UINT64_MAX;

	if (w == from / 64)
		mask = mask << from % 64;
	if (w == to / 64)
		mask &= UINT64_MAX >> (63 - to % 64);
	return mask;
}

/* Marks the cells of a box. Callable from several threads at once. */
static inline void
rb_occupancy_mark(const rb_occupancy *b, const rb_range *r)
{
	for (uint32_t z = r->c0[2]; z <= r->c1[2]; z++)
		for (uint32_t y = r->c0[1]; y <= r->c1[1]; y++)
		{
			uint64_t from = rb_grid_number(&b->grid, r->c0[0], y, z);
			uint64_t to = from + (r->c1[0] - r->c0[0]);

			for (uint64_t w = from / 64; w <= to / 64; w++)
			{
				uint64_t mask = rb_occupancy_mask(w, from, to);

				/* Nearly all bits are set already. */
				if ((rb_load(&b->word[w]) & mask) != mask)
					rb_or(&b->word[w], mask);
			}
		}
}

/* Returns true if any cell of a box is marked. */
static inline bool
rb_occupancy_holds(const rb_occupancy *b, const rb_range *r)
{
	for (uint32_t z = r->c0[2]; z <= r->c1[2]; z++)
		for (uint32_t y = r->c0[1]; y <= r->c1[1]; y++)
		{
			uint64_t from = rb_grid_number(&b->grid, r->c0[0], y, z);
			uint64_t to = from + (r->c1[0] - r->c0[0]);

			for (uint64_t w = from / 64; w <= to / 64; w++)
				if ((b->word[w] & rb_occupancy_mask(w, from, to)) != 0)
					return true;
		}
	return false;
}

#endif /* RB_JOIN_OCCUPANCY_H */
