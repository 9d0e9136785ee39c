/*
 * flatness.h
 *	  Tests whether points are coplanar to within the rounding of their coordinates.
 *
 * Coordinates that a user computes for points of one plane are off by a few units in the last place
 * of the largest of them. A deviation that such an error explains is taken as flat; a larger one is
 * a real bend of the model.
 */
#ifndef RB_MESH_FLATNESS_H
#define RB_MESH_FLATNESS_H

#include "core/base/base.h"

#include <math.h>

/* Error of a point, in rounding errors of the largest coordinate */
#define RB_FLAT_ROUNDINGS 16.0
/*
 * Upper limit of that error, as a fraction of the model's extent; without it, a model that is only
 * a few rounding errors in size would be flat
 */
#define RB_FLAT_PART 0x1p-26
/* Bounds of the model's size beyond which areas and volumes overflow or underflow */
#define RB_FLAT_SMALLEST 0x1p-100
#define RB_FLAT_LARGEST 0x1p100
/*
 * Maximum height of four points above their largest triangle, in units of their maximum distance
 * from a common plane.
 *
 * Four points within a distance d of a plane are no higher than 4 d: if their projections on the
 * plane cover an area Q, their volume is at most 2 d Q / 3, and the largest triangle has at least the
 * area Q / 2. The factor is twice that, because at the segment between two facets each of them
 * contributes an error d. So this limit, with an error of RB_FLAT_ROUNDINGS, also holds for a refined
 * mesh: the corners of a flat facet have that error, and points that are added on it an error below
 * 2 (rb_project_on_plane in measure.h).
 */
#define RB_FLAT_HEIGHT 8.0
/* Error of a computed volume, as a fraction of the cube of the longest edge */
#define RB_VOLUME_ROUNDS 0x1p-49

/*
 * Computes the largest coordinate of n points, and the extent of their box along its longest side.
 */
static inline rb_status
rb_flat_measure(const rb_context *ctx, const double *points, uint32_t n, double *largest,
				double *extent)
{
	*largest = *extent = 0;
	for (int k = 0; k < 3; k++)
	{
		double low = INFINITY, high = -INFINITY;

		for (uint32_t i = 0; i < n; i++)
		{
			const double x = points[3 * (size_t) i + (size_t) k];

			low = x < low ? x : low;
			high = x > high ? x : high;
			if (rb_stop_due(ctx, i, 65536))
				return RB_STOPPED;
		}
		*largest = fmax(*largest, fmax(fabs(low), fabs(high)));
		*extent = fmax(*extent, high - low);
	}
	return RB_OK;
}

/*
 * Returns the error of a point in a model with the given largest coordinate and extent; 0 if only
 * exactly coplanar points are to count as flat.
 */
static inline double
rb_flat_rounds(double largest, double extent)
{
	return extent >= RB_FLAT_SMALLEST && largest <= RB_FLAT_LARGEST
			   ? fmin(RB_FLAT_ROUNDINGS * 0x1p-53 * largest, RB_FLAT_PART * extent)
			   : 0;
}

/*
 * Returns the maximum height of four points above their largest triangle that rounding explains, if
 * this is the largest coordinate.
 */
static inline double
rb_flat_height(double largest)
{
	return RB_FLAT_HEIGHT * RB_FLAT_ROUNDINGS * 0x1p-53 * largest;
}

/* Computes a normal of the triangle; its length is twice the triangle's area. */
static inline void
rb_face_normal(const double *a, const double *b, const double *c, double *n)
{
	double u[3], v[3];

	for (int k = 0; k < 3; k++)
	{
		u[k] = b[k] - a[k];
		v[k] = c[k] - a[k];
	}
	n[0] = u[1] * v[2] - u[2] * v[1];
	n[1] = u[2] * v[0] - u[0] * v[2];
	n[2] = u[0] * v[1] - u[1] * v[0];
}

/* Returns the rounded scalar product of two vectors. */
static inline double
rb_dot(const double *u, const double *v)
{
	return u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
}

/* Returns the squared distance of two points. */
static inline double
rb_length2(const double *a, const double *b)
{
	const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];

	return x * x + y * y + z * z;
}

/* Returns the squared length of the longest side. */
static inline double
rb_face_long2(const double *a, const double *b, const double *c)
{
	const double x = rb_length2(a, b), y = rb_length2(b, c), z = rb_length2(c, a);

	return x > y ? (x > z ? x : z) : y > z ? y : z;
}

/* Returns the squared length of the longest edge of four points. */
static inline double
rb_four_long2(const double *const *at)
{
	const double x = rb_face_long2(at[0], at[1], at[2]), y = rb_length2(at[0], at[3]),
				 z = rb_length2(at[1], at[3]), w = rb_length2(at[2], at[3]);
	const double far = y > z ? (y > w ? y : w) : z > w ? z : w;

	return x > far ? x : far;
}

/* Returns six times the volume of four points, and twice the area of their largest triangle. */
static inline double
rb_four_volume6(const double *const *at, double *area)
{
	double largest2 = 0, d[3], n[3];

	for (int i = 0; i < 4; i++)
	{
		double area2;

		rb_face_normal(at[(i + 1) & 3], at[(i + 2) & 3], at[(i + 3) & 3], n);
		area2 = rb_dot(n, n);
		largest2 = area2 > largest2 ? area2 : largest2;
	}
	for (int k = 0; k < 3; k++)
		d[k] = at[0][k] - at[1][k];
	rb_face_normal(at[1], at[2], at[3], n);
	*area = sqrt(largest2);
	return fabs(rb_dot(n, d));
}

/* Returns the height of four points above their largest triangle, rounded. */
static inline double
rb_four_height(const double *const *at)
{
	double area;
	const double volume6 = rb_four_volume6(at, &area);

	return area > 0 ? volume6 / area : 0;
}

/* Returns true if the four points may be no more than `height` above their largest triangle. */
static inline bool
rb_four_flat(const double *const *at, double height)
{
	const double long2 = rb_four_long2(at);
	double area;
	const double volume6 = rb_four_volume6(at, &area);

	return volume6 <= height * area + RB_VOLUME_ROUNDS * long2 * sqrt(long2);
}

#endif /* RB_MESH_FLATNESS_H */
