/*
 * rb_box.h
 *	  Boxes: all that a grid ever asks about a kind.
 */
#ifndef RB_BOX_H
#define RB_BOX_H

#include "core/base/rb_hd.h"
#include "core/base/redblue.h"

/* what n points of dims coordinates span on an axis */
RB_HD void
rb_points_span(const double *p, int n, int dims, int axis, double *lo, double *hi)
{
	*lo = *hi = p[axis];
	for (int i = 1; i < n; i++)
	{
		double x = p[i * dims + axis];

		*lo = x < *lo ? x : *lo;
		*hi = x > *hi ? x : *hi;
	}
}

/* their closed box; a missing axis is [0, 0] */
RB_HD void
rb_points_box(const double *p, int n, int dims, double lo[3], double hi[3])
{
	lo[2] = hi[2] = 0;
	for (int a = 0; a < dims; a++)
		rb_points_span(p, n, dims, a, &lo[a], &hi[a]);
}

/* closed box of object i of that kind; a case each, so that all loops have fixed lengths */
#define RB_KIND_CASE(kind, points, dims)                                            \
	case kind:                                                                      \
		rb_points_box(coords + (size_t) i * (points * dims), points, dims, lo, hi); \
		break;
RB_HD void
rb_kind_box(rb_kind kind, const double *coords, uint32_t i, double lo[3], double hi[3])
{
	switch (kind)
	{
		RB_KIND_LIST(RB_KIND_CASE)
		default:
			__builtin_unreachable();
	}
}

#undef RB_KIND_CASE

/* closed boxes overlap?  false for an empty one */
RB_HD bool
rb_boxes_overlap(const double alo[3], const double ahi[3], const double blo[3], const double bhi[3])
{
	return (alo[0] <= bhi[0]) & (blo[0] <= ahi[0]) & (alo[1] <= bhi[1]) & (blo[1] <= ahi[1]) &
		   (alo[2] <= bhi[2]) & (blo[2] <= ahi[2]);
}

/* ---- of a set ---- */

/* closed box of object i */
RB_HD void
rb_object_box(const rb_set *o, uint32_t i, double lo[3], double hi[3])
{
	rb_kind_box(o->kind, o->coords, i, lo, hi);
}

RB_HD void
rb_box_empty(double lo[3], double hi[3])
{
	for (int a = 0; a < 3; a++)
	{
		lo[a] = HUGE_VAL;
		hi[a] = -HUGE_VAL;
	}
}

RB_HD void
rb_box_add(double lo[3], double hi[3], const double plo[3], const double phi[3])
{
	for (int a = 0; a < 3; a++)
	{
		lo[a] = plo[a] < lo[a] ? plo[a] : lo[a];
		hi[a] = phi[a] > hi[a] ? phi[a] : hi[a];
	}
}

#endif /* RB_BOX_H */
