/*
 * simd_face.h
 *	  Prepares a triangle for plane side tests: computes its normal and the error bound
 *	  (simd.h).
 */
#ifndef RB_JOIN_SIMD_FACE_H
#define RB_JOIN_SIMD_FACE_H

#include "core/exact/orient.h"
#include "core/join/simd.h"

/*
 * Turns the normal of a face that is flat on an axis into the unit vector of that axis if its sign
 * is proved. A difference is 0 only if two coordinates are equal, so the products involve only the
 * two other axes, and the permanent is that of orient2d there.
 */
static inline void
rb_face_flat(rb_plane_face *f, int axis, double permanent)
{
	double *normal[3] = {&f->x[3], &f->y[3], &f->z[3]};
	double n = *normal[axis];

	if (!(fabs(n) > RB_ORIENT2D_BOUND * (permanent + RB_BOUND_FLOOR)))
		return;
	*normal[0] = *normal[1] = *normal[2] = 0;
	*normal[axis] = n > 0 ? 1 : -1;
	f->k = 0;
	f->ke = RB_EXACT;
}

static inline void
rb_face_bounds(rb_plane_face *f, double extent, double permanent)
{
	f->e = extent <= RB_E_MOST ? extent : HUGE_VAL;
	f->k = 10 * RB_EPS * (permanent + 0x1p-1000);
	if (!(f->k <= DBL_MAX))
		f->k = HUGE_VAL;
	f->ke = f->k * f->e + RB_TINY;
	f->margin = 0;
}

/*
 * Initializes a face. A corner counts as beyond its plane only if it is farther from it than
 * `margin`. Since |n . w| is compared with margin |n|, an upper bound on |n| is needed: the length
 * of the rounded normal plus the errors of its components, which k bounds, up to a few roundings.
 */
static inline void
rb_face_init(rb_plane_face *f, const double *p, const double lo[3], const double hi[3],
			 double margin)
{
	double u[3], v[3], w[3] = {hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2]};
	double permanent = 0, extent;
	int flat = -1;

	for (int i = 0; i < 3; i++)
	{
		f->x[i] = p[3 * i];
		f->y[i] = p[3 * i + 1];
		f->z[i] = p[3 * i + 2];
		u[i] = p[3 + i] - p[i];
		v[i] = p[6 + i] - p[i];
	}
	f->x[3] = u[1] * v[2] - u[2] * v[1];
	f->y[3] = u[2] * v[0] - u[0] * v[2];
	f->z[3] = u[0] * v[1] - u[1] * v[0];
	for (int i = 0; i < 3; i++)
	{
		int j = (i + 1) % 3, k = (i + 2) % 3;

		permanent += fabs(u[j] * v[k]) + fabs(u[k] * v[j]);
		flat = u[i] == 0 && v[i] == 0 ? i : flat;
	}
	extent = w[0] > w[1] ? w[0] : w[1];
	rb_face_bounds(f, extent > w[2] ? extent : w[2], permanent);
	if (flat >= 0 && margin == 0)
		rb_face_flat(f, flat, permanent);
	if (margin > 0)
		f->margin =
			margin * (1 + 16 * RB_EPS) *
			(sqrt(f->x[3] * f->x[3] + f->y[3] * f->y[3] + f->z[3] * f->z[3] + RB_TINY) + f->k);
}

#endif /* RB_JOIN_SIMD_FACE_H */
