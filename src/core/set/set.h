/*
 * set.h
 *	  Declares how a set owns its arrays and what the core records about it (set.c, delta_set.c).
 */
#ifndef RB_SET_SET_H
#define RB_SET_SET_H

#include "core/base/parallel.h"
#include "core/primitive/box.h"

/*
 * Creates a set with one holder that takes over arrays allocated in `memory`. On failure the arrays
 * remain the caller's.
 */
extern rb_status rb_set_own(rb_memory *memory, const rb_set *arrays, const rb_set **set,
							rb_error *error);

/*
 * Moves a set into another memory. The set must have one holder and must not be an unmaterialized
 * delta set. On failure nothing has changed.
 */
extern rb_status rb_set_move(const rb_set *set, rb_memory *to, rb_error *error);

/* Returns the memory of a set with an owner. */
extern rb_memory *rb_set_memory(const rb_set *set);
/* Returns a set with an owner to one of the few functions that may modify it. */
extern rb_set *rb_set_writable(const rb_set *set);

/* Facts established about all rows of a set, visible to its later holders (rb_set_learn) */
#define RB_KNOWN_SOLIDS 1u   /* each row is closed and does not intersect itself */
#define RB_KNOWN_POLYGONS 2u /* each row is a valid polygon */
/* Records a fact about a set. Does nothing for a set without an owner. Callable from any thread. */
extern void rb_set_learn(const rb_set *set, uint32_t fact);
/* Returns true if the fact is recorded about the set. Callable from any thread. */
extern bool rb_set_knows(const rb_set *set, uint32_t fact);

/*
 * Numbers of marks in front of the edges of a ring of a polygon (RB_EDGE2). A mark is a part of zero
 * length at the first point of the ring; edges have positive length. A ring without an edge has
 * further marks, so any row with more marks in succession than those of a shell has such a ring.
 */
#define RB_MARKS_OF_HOLE 1
#define RB_MARKS_OF_SHELL 2
#define RB_MARKS_OF_POINT 3

/* Makes the parts of a builder from `from` to the last one a single face. */
extern rb_status rb_builder_one_face(rb_builder *b, uint32_t from, rb_error *error);

/*
 * Stores where the parts of each row start, and the end of the last row: nrows + 1 numbers. Polls for
 * a stop unless ctx is NULL.
 */
extern rb_status rb_row_starts(const rb_context *ctx, const rb_set *set, uint32_t *start);

/*
 * Allocates *start and stores where the parts of each row start, as rb_row_starts does. If each row
 * has one part, *start remains NULL.
 */
extern rb_status rb_row_starts_if_several(rb_context *ctx, const rb_set *set, uint32_t **start);

/* Computes the bounding box of the parts from `from` to `to` - 1. */
static inline void
rb_parts_box(rb_kind kind, const double *coords, uint32_t from, uint32_t to, double low[3],
			 double high[3])
{
	rb_box_empty(low, high);
	for (uint32_t i = from; i < to; i++)
	{
		double lo[3], hi[3];

		rb_kind_box(kind, coords, i, lo, hi);
		rb_box_add(low, high, lo, hi);
	}
}

/*
 * Stores where the parts of each row start (rb_row_starts), and the bounding box of each row: six
 * numbers, low and high.
 */
extern rb_status rb_row_boxes(const rb_context *ctx, rb_thread *me, const rb_set *set,
							  uint32_t *start, double *box);

/* Returns the current number of holders of a set with an owner. */
extern uint32_t rb_set_holders(const rb_set *set);

/*
 * Returns the bytes charged for the blocks of a set, which must not be an unmaterialized delta set.
 */
extern uint64_t rb_set_block_bytes(const rb_set *set);

/* Returns the bytes of the coordinates, materialized or not. */
extern uint64_t rb_coords_bytes(const rb_set *set);

/* Stops charging `memory` for the unmaterialized coordinates of a delta set. */
extern void rb_view_uncount(rb_memory *memory, const rb_set *set);

/*
 * Returns the source set that has the coordinates of a part of a delta set. Replaces *part, the
 * number of the part in the delta set, by its number in the source set.
 */
extern const rb_set *rb_view_part(const rb_set *set, uint32_t *part);

#endif /* RB_SET_SET_H */
