/*
 * rb_box.h
 *	  Boxes: all that a grid ever asks about a kind.
 */
#ifndef RB_BOX_H
#define RB_BOX_H

#include "core/base/rb_hd.h"
#include "core/base/redblue.h"

/* the least and the largest coordinate of n points of dims coordinates on an axis */
RB_HD double
rb_points_least(const double *p, int n, int dims, int axis)
{
	double least = p[axis];

	for (int i = 1; i < n; i++)
		least = p[i * dims + axis] < least ? p[i * dims + axis] : least;
	return least;
}

RB_HD double
rb_points_largest(const double *p, int n, int dims, int axis)
{
	double largest = p[axis];

	for (int i = 1; i < n; i++)
		largest = p[i * dims + axis] > largest ? p[i * dims + axis] : largest;
	return largest;
}

/* their closed box; a missing axis is [0, 0] */
RB_HD void
rb_points_box(const double *p, int n, int dims, double lo[3], double hi[3])
{
	lo[2] = hi[2] = 0;
	for (int a = 0; a < dims; a++)
		lo[a] = hi[a] = p[a];
	for (int i = 1; i < n; i++)
		for (int a = 0; a < dims; a++)
		{
			double x = p[i * dims + a];

			lo[a] = x < lo[a] ? x : lo[a];
			hi[a] = x > hi[a] ? x : hi[a];
		}
}

/*
 * Closed box of object i of that kind.  Loops of fixed lengths for each shape that there
 * is; and ifs, for from a switch over kinds nvcc makes code that spills registers.
 */
RB_HD void
rb_kind_box(rb_kind kind, const double *coords, uint32_t i, double lo[3], double hi[3])
{
	const int points = rb_kind_points(kind), dims = rb_kind_dims(kind);

	if (points == 3)
		rb_points_box(coords + (size_t) i * 9, 3, 3, lo, hi);
	else if (points == 1)
		rb_points_box(coords + (size_t) i * 3, 1, 3, lo, hi);
	else if (dims == 3)
		rb_points_box(coords + (size_t) i * 6, 2, 3, lo, hi);
	else
		rb_points_box(coords + (size_t) i * 4, 2, 2, lo, hi);
}

/* closed boxes overlap?  false for an empty one */
RB_HD bool
rb_boxes_overlap(const double alo[3], const double ahi[3], const double blo[3], const double bhi[3])
{
	return (alo[0] <= bhi[0]) & (blo[0] <= ahi[0]) & (alo[1] <= bhi[1]) & (blo[1] <= ahi[1]) &
		   (alo[2] <= bhi[2]) & (blo[2] <= ahi[2]);
}

/*
 * A box of any kind with D >= 0 more on all sides, rounded outward: what is within D of
 * something in the box is in the padded one.  For two boxes this means that their objects
 * can be within D only if one box overlaps the other one padded by the whole of D.
 *
 * A sum is moved by an ulp or two where its rounding error (Knuth) lies outside.  Where it is infinite,
 * no finite coordinate is further out than the largest double.  An empty box stays empty.
 */
RB_HD void
rb_box_pad(double lo[3], double hi[3], double distance)
{
	for (int a = 0; a < 3; a++)
		for (int side = 0; side < 2; side++)
		{
			double x = side == 0 ? -lo[a] : hi[a]; /* outward is upward */
			double sum = x + distance;
			double v = sum - x;
			double rest = (x - (sum - v)) + (distance - v);

			if (rest > 0)
				sum += DBL_EPSILON * fabs(sum);
			if (sum > DBL_MAX && x <= DBL_MAX)
				sum = DBL_MAX;
			if (side == 0)
				lo[a] = -sum;
			else
				hi[a] = sum;
		}
}

/* ---- of a set ---- */

/*
 * How much the boxes of both sides are padded for a predicate: if both are, by half of a
 * distance, boxes of objects within it overlap.  Half of the smallest doubles is rounded.
 */
RB_HD double
rb_pad_of(rb_predicate predicate, double distance)
{
	if (predicate != RB_WITHIN)
		return 0;
	return distance > 0x1p-1000 ? 0.5 * distance : distance;
}

/* the box of an object of that kind, on the axes that it has */
RB_HD void
rb_kind_pad(rb_kind kind, double pad, double lo[3], double hi[3])
{
	if (pad == 0)
		return;
	rb_box_pad(lo, hi, pad);
	if (rb_kind_dims(kind) == 2)
		lo[2] = hi[2] = 0;
}

/* closed box of object i, padded */
RB_HD void
rb_object_box(const rb_set *o, uint32_t i, double pad, double lo[3], double hi[3])
{
	rb_kind_box(o->kind, o->coords, i, lo, hi);
	rb_kind_pad(o->kind, pad, lo, hi);
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
