/*
 * rb_solids.h
 *	  How points, lines and surfaces lie to bodies that are asked many times.
 *
 *		bodies -> checked, a tree of the triangles of each		solids.c
 *			a point: a ray upward through the tree
 *			a line: what it meets, and its stretches (stretches.c)
 *			a triangle of a surface: what is beside the curves that it shares with the boundary (around.c);
 *				if there are none, a ray (beside.c)
 *		one row to one body, or all rows to all bodies			positions.c
 */
#ifndef RB_SOLIDS_H
#define RB_SOLIDS_H

#include "core/body/rb_body.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* the rows of a set, made ready to be asked */
typedef struct rb_solids rb_solids;

/* what there is of an object */
#define RB_SOME_INSIDE 1u
#define RB_SOME_OUTSIDE 2u
#define RB_SOME_ON 4u

/*
 * Checks that all rows are bodies (RB_BAD_BODY, or left out with `skip`), and makes their trees.  Holds no set: that is to stay
 * as long as the solids.
 */
extern rb_status rb_solids_make(rb_context *ctx, const rb_backend *backend, const rb_set *bodies,
								bool skip, rb_solids **solids);
/* what surfaces need to be asked; nothing is done where it is there */
extern rb_status rb_solids_add_sides(rb_context *ctx, const rb_backend *backend, rb_solids *solids);
extern void rb_solids_free(rb_memory *memory,
						   rb_solids **solids); /* leaves NULL; NULL is allowed */
/* from now on that context says whether to stop */
extern void rb_solids_use(rb_solids *solids, rb_context *ctx);
/* was that row left out? */
extern bool rb_solids_is_bad(const rb_solids *solids, uint32_t row);
extern void rb_solids_box(const rb_solids *solids, uint32_t row, double low[3], double high[3]);

/* what a thread needs for that; zeros before the first call */
typedef struct rb_solids_room
{
	rb_stretches stretches;
	rb_pair *meet;
	size_t meet_cap;
	uint8_t *inside;
	size_t inside_cap;
} rb_solids_room;

extern void rb_solids_room_free(rb_memory *memory, rb_solids_room *room);

/*
 * Parts of an object, points, segments or triangles, and a body, whose boxes overlap: which of RB_SOME_* there are.  All of
 * them need not be found once it is known that some is inside and some outside.
 */
extern rb_status rb_solids_ask(rb_context *ctx, rb_solids_room *room, const rb_solids *solids,
							   uint32_t row, rb_kind kind, const double *parts, uint32_t nparts,
							   unsigned *some);

/* ---- one row (positions.c) ---- */

/* what is known of a row that is compared with several others, one after the other; zeros at first */
typedef struct rb_placed
{
	bool boxed;
	double low[3];
	double high[3];
	bool sorted; /* triangles: it is known whether they are closed */
	bool open;
	rb_solids *solids; /* a body that was asked before */
} rb_placed;

/*
 * How does the only row of red lie to the only row of blue (RB_LIES_*)?  As rb_compose_positions has it for all rows; notes what it
 * has learned.  RB_BAD_BODY, with the side as error.limit, where blue is no body, or red is closed and none.
 */
extern rb_status rb_position_ask(rb_context *ctx, const rb_set *red, rb_placed *red_known,
								 const rb_set *blue, rb_placed *blue_known, int *position);
extern void rb_position_forget(rb_memory *memory, rb_placed *known);

#ifdef __cplusplus
}
#endif

#endif /* RB_SOLIDS_H */
