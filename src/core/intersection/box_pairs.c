/*
 * box_pairs.c
 *	  Finds the pairs of parts of two geometries whose bounding boxes overlap, for callers without a
 *	  join that has found them.
 */
#include "core/intersection/assembly.h"

#include <math.h>

static void
box_of(const rb_curve_parts *of, uint32_t i, double *box)
{
	const int points = rb_kind_points(of->kind), dims = rb_kind_dims(of->kind);
	const double *x = of->coords + (size_t) i * (size_t) rb_kind_width(of->kind);

	for (int k = 0; k < 3; k++)
	{
		box[k] = box[3 + k] = k < dims ? x[k] : 0;
		for (int p = 1; p < points && k < dims; p++)
		{
			box[k] = fmin(box[k], x[p * dims + k]);
			box[3 + k] = fmax(box[3 + k], x[p * dims + k]);
		}
	}
}

typedef struct pairing
{
	rb_curve *c;
	uint32_t red;
} pairing;

static rb_status
add_pair(void *user, uint32_t blue)
{
	pairing *p = user;

	return rb_curve_add(p->c, p->red, blue);
}

rb_status
rb_curve_add_all(rb_curve *c)
{
	pairing p = {.c = c};
	rb_status status = rb_boxes_room(c->ctx, &c->boxes, c->side[1].n);
	double box[6];

	for (uint32_t i = 0; i < c->side[1].n && status == RB_OK; i++)
		box_of(&c->side[1], i, c->boxes.box + 6 * (size_t) i);
	if (status == RB_OK)
		status = rb_boxes_order(c->ctx, &c->boxes);
	for (; p.red < c->side[0].n && status == RB_OK; p.red++)
	{
		box_of(&c->side[0], p.red, box);
		status = rb_boxes_find(&c->boxes, box, add_pair, &p);
		if (p.red % 64 == 63 && rb_should_stop(c->ctx))
			status = RB_STOPPED;
	}
	return status == RB_STOPPED ? rb_why_stopped(c->ctx) : status;
}
