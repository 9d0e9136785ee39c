/*
 * solids.h
 *	  Locates points, lines and surfaces relative to solids that are queried repeatedly.
 *
 *		solids -> validated, with a box tree of the triangles of each		solids.c
 *			point: an upward ray through the tree
 *			line: triangles it meets, then its intervals (line_intervals.c)
 *			triangle of a surface: surroundings of the curves that it shares
 *				with the boundary (facets_around_edge.c), or a ray if there are none (sidedness.c)
 *		one row against one solid, or all rows against all solids			position.c
 */
#ifndef RB_SOLID_SOLIDS_H
#define RB_SOLID_SOLIDS_H

#include "core/solid/solid.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Rows of a set prepared for queries */
typedef struct rb_solids rb_solids;

/* Bits for the parts of an object that exist: inside, outside, on the boundary */
#define RB_SOME_INSIDE 1u
#define RB_SOME_OUTSIDE 2u
#define RB_SOME_ON 4u

/*
 * Validates all rows as solids (RB_BAD_SOLID, or omitted if `skip` is set) and builds their trees.
 * Takes no reference to the set, which must outlive the result.
 */
extern rb_status rb_solids_build(rb_context *ctx, const rb_backend *backend,
								 const rb_set *solid_set, bool skip, rb_solids **solids);
/* Prepares the data for surface queries; does nothing if it is already present. */
extern rb_status rb_solids_add_sides(rb_context *ctx, const rb_backend *backend, rb_solids *solids);
extern void rb_solids_free(rb_memory *memory,
						   rb_solids **solids); /* Sets *solids to NULL; accepts NULL */
/* Makes later queries poll this context for cancellation. */
extern void rb_solids_use(rb_solids *solids, rb_context *ctx);
/* Returns true if the row was left out as invalid. */
extern bool rb_solids_is_bad(const rb_solids *solids, uint32_t row);

/* Scratch memory of one thread for queries; zero-initialize before the first call */
typedef struct rb_solids_room
{
	rb_line_intervals stretches;
	rb_pair *meet;
	size_t meet_cap;
	uint8_t *inside;
	size_t inside_cap;
} rb_solids_room;

extern void rb_solids_room_free(rb_memory *memory, rb_solids_room *room);

/*
 * Computes the RB_SOME_* bits of an object, given its parts (points, segments or triangles),
 * relative to one solid. Their bounding boxes must overlap. Once some part is inside and some part
 * outside, further bits may be missing.
 */
extern rb_status rb_solids_test(rb_context *ctx, rb_solids_room *room, const rb_solids *solids,
								uint32_t row, rb_kind kind, const double *parts, uint32_t nparts,
								unsigned *some);

/* ---- one row (position.c) ---- */

/*
 * Cached facts about a row that is compared with several others in turn; zero-initialize before use
 */
typedef struct rb_placed
{
	bool boxed;
	double low[3];
	double high[3];
	bool sorted; /* For triangles, true if `open` is known */
	bool open;
	rb_solids *solids; /* The row prepared as a solid, if it was queried before */
} rb_placed;

/*
 * Computes the position (RB_LIES_*) of the only row of red relative to the only row of blue, as
 * rb_compose_positions does for all rows, and caches what it learns about both. Returns
 * RB_BAD_SOLID, with the side in error.limit, if blue is not a solid, or if red is closed but not a
 * valid solid.
 */
extern rb_status rb_position_test(rb_context *ctx, const rb_set *red, rb_placed *red_known,
								  const rb_set *blue, rb_placed *blue_known, int *position);
extern void rb_position_forget(rb_memory *memory, rb_placed *known);

#ifdef __cplusplus
}
#endif

#endif /* RB_SOLID_SOLIDS_H */
