/*
 * rb_boxes.h
 *	  Which boxes have a point in common with a box?
 */
#ifndef RB_BOXES_H
#define RB_BOXES_H

#include "core/base/redblue.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef struct rb_boxes
{
	double *box; /* low, high: of items, then of eight of these each, of eight of those, ... */
	size_t box_cap;
	struct rb_boxes_place *order; /* of items, along a curve through space */
	size_t order_cap;
	uint32_t n;
	uint32_t first[12]; /* of each level */
	int levels;
} rb_boxes;

/* n boxes of six doubles are in b->box, by rb_boxes_room */
extern rb_status rb_boxes_room(rb_context *ctx, rb_boxes *b, uint32_t n);
extern rb_status rb_boxes_order(rb_context *ctx, rb_boxes *b);

/* calls take for each item whose box and that one have a common point, until it does not answer RB_OK */
extern rb_status rb_boxes_find(const rb_boxes *b, const double *box,
							   rb_status (*take)(void *user, uint32_t item), void *user);
extern void rb_boxes_free(rb_memory *memory, rb_boxes *b);

#ifdef __cplusplus
}
#endif

#endif /* RB_BOXES_H */
