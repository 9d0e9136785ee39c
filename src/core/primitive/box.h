/*
 * box.h
 *	  Computes bounding boxes, the only property of a kind that a grid uses.
 */
#ifndef RB_PRIMITIVE_BOX_H
#define RB_PRIMITIVE_BOX_H

#include "core/base/host_device.h"
#include "core/base/redblue.h"

/* Computes the closed box of n points. A missing axis is [0, 0]. */
RB_HOST_DEVICE void
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
 * Computes the box of a cuboid from its center and size. Its exact ends are sums of two doubles; each
 * end is moved outward by an ulp or two.
 */
static inline void
rb_cuboid_box(const double *cuboid, double lo[3], double hi[3])
{
	for (int a = 0; a < 3; a++)
	{
		const double half = cuboid[3 + a] / 2, low = cuboid[a] - half, high = cuboid[a] + half;
		const double step = DBL_EPSILON * (fabs(cuboid[a]) + half) + DBL_MIN * DBL_EPSILON;

		lo[a] = low - step < -DBL_MAX ? -DBL_MAX : low - step;
		hi[a] = high + step > DBL_MAX ? DBL_MAX : high + step;
	}
}

/*
 * Computes the closed box of object i of the given kind. Uses a loop of fixed length for each
 * shape, and if statements because nvcc compiles a switch over kinds to code that spills registers.
 */
RB_HOST_DEVICE void
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
#ifndef __CUDA_ARCH__
	/* No device joins cuboids. */
	if (kind == RB_CUBOID3)
		rb_cuboid_box(coords + (size_t) i * 6, lo, hi);
#endif
}

/* Returns true if two closed boxes overlap; false if one is empty. */
RB_HOST_DEVICE bool
rb_boxes_overlap(const double alo[3], const double ahi[3], const double blo[3], const double bhi[3])
{
	return (alo[0] <= bhi[0]) & (blo[0] <= ahi[0]) & (alo[1] <= bhi[1]) & (blo[1] <= ahi[1]) &
		   (alo[2] <= bhi[2]) & (blo[2] <= ahi[2]);
}

/*
 * Pads a box of any kind by `distance` on all sides, rounded outward: everything within that
 * distance of a point of the box lies in the padded box. The objects of two boxes can thus be
 * within D only if one box overlaps the other one padded by the whole of D.
 *
 * A sum is moved by an ulp or two if its rounding error (Knuth) lies outside. An infinite sum is
 * replaced by the largest double, which no finite coordinate exceeds. An empty box stays empty.
 */
RB_HOST_DEVICE void
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

/* ---- boxes of a set's objects ---- */

/*
 * Returns the padding of the boxes of both sides for a predicate. If both are padded by half of a
 * distance, the boxes of objects within that distance overlap. Tiny distances are not halved,
 * because their halves would be rounded.
 */
RB_HOST_DEVICE double
rb_pad_of(rb_predicate predicate, double distance)
{
	if (predicate != RB_WITHIN)
		return 0;
	return distance > 0x1p-1000 ? 0.5 * distance : distance;
}

/* Pads the box of an object on the axes of its kind. */
RB_HOST_DEVICE void
rb_kind_pad(rb_kind kind, double pad, double lo[3], double hi[3])
{
	if (pad == 0)
		return;
	rb_box_pad(lo, hi, pad);
	if (rb_kind_dims(kind) == 2)
		lo[2] = hi[2] = 0;
}

/* Computes the padded closed box of object i. */
RB_HOST_DEVICE void
rb_object_box(const rb_set *o, uint32_t i, double pad, double lo[3], double hi[3])
{
	rb_kind_box(o->kind, o->coords, i, lo, hi);
	rb_kind_pad(o->kind, pad, lo, hi);
}

/* Makes a box empty: its low corner is at infinity, its high one at -infinity. */
RB_HOST_DEVICE void
rb_box_empty(double lo[3], double hi[3])
{
	for (int a = 0; a < 3; a++)
	{
		lo[a] = HUGE_VAL;
		hi[a] = -HUGE_VAL;
	}
}

/* Extends a box to contain another one. */
RB_HOST_DEVICE void
rb_box_add(double lo[3], double hi[3], const double plo[3], const double phi[3])
{
	for (int a = 0; a < 3; a++)
	{
		lo[a] = plo[a] < lo[a] ? plo[a] : lo[a];
		hi[a] = phi[a] > hi[a] ? phi[a] : hi[a];
	}
}

#endif /* RB_PRIMITIVE_BOX_H */
