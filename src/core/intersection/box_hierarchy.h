/*
 * box_hierarchy.h
 *	  Declares a box tree that finds all boxes that intersect a given box.
 */
#ifndef RB_INTERSECTION_BOX_HIERARCHY_H
#define RB_INTERSECTION_BOX_HIERARCHY_H

#include "core/base/redblue.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef struct rb_boxes
{
	/*
	 * Low and high corners: boxes of the items, then of groups of eight, of eight such groups, ...
	 */
	double *box;
	size_t box_cap;
	struct rb_boxes_place *order; /* Items sorted along a Morton curve */
	size_t order_cap;
	uint32_t n;
	uint32_t first[12]; /* Index of the first box of each level */
	int levels;
} rb_boxes;

/*
 * Reserves memory for n boxes, and builds the tree. Between the calls, the caller writes the boxes
 * to b->box, six doubles each.
 */
extern rb_status rb_boxes_room(rb_context *ctx, rb_boxes *b, uint32_t n);
extern rb_status rb_boxes_order(rb_context *ctx, rb_boxes *b);

/*
 * Calls `take` for each item whose box intersects the given box, until it returns a status other
 * than RB_OK.
 */
extern rb_status rb_boxes_find(const rb_boxes *b, const double *box,
							   rb_status (*take)(void *user, uint32_t item), void *user);
extern void rb_boxes_free(rb_memory *memory, rb_boxes *b);

#ifdef __cplusplus
}
#endif

#endif /* RB_INTERSECTION_BOX_HIERARCHY_H */
