/*
 * contact_area.h
 *	  Declares the area that the boundaries of two solids share, and sides in the moved position of blue.
 */
#ifndef RB_SOLID_CONTACT_AREA_H
#define RB_SOLID_CONTACT_AREA_H

#include "core/base/base.h"
#include "core/exact/orient.h"

#ifdef __cplusplus
extern "C"
{
#endif

/*
 * Returns the side of the edge xy on which p lies, in the projection along an axis. `moved` is 1 if
 * xy is blue, -1 if p is: blue is moved by (e, e^2) with an infinitesimal e.
 */
static inline int
rb_side_in_moved_projection(rb_exact_env *env, int axis, const double *p, const double *x,
							const double *y, int moved)
{
	const int u = (axis + 1) % 3, v = (axis + 2) % 3;
	const int sign = rb_orient2d_at(env, p[u], p[v], x[u], x[v], y[u], y[v]);

	if (sign != 0)
		return sign;
	/* Decide by the coefficients of e and e^2, which are those of the axis x (x - y). */
	if (x[v] != y[v])
		return x[v] < y[v] ? moved : -moved;
	return x[u] == y[u] ? 0 : x[u] > y[u] ? moved : -moved;
}

/* Two coplanar triangles that share an area */
typedef struct rb_flat_pair
{
	const double *red;
	const double *blue;
} rb_flat_pair;

/*
 * Returns true if both solids are on the same side of two coplanar triangles. The normal of a triangle
 * may point into its solid.
 */
extern bool rb_are_faces_flush(rb_exact_env *env, const rb_flat_pair *pair, bool red_inward,
							   bool blue_inward);

/* Computes the sum of the areas that n pairs of triangles share, 0 if there are none. */
extern rb_status rb_contact_area(rb_context *ctx, rb_exact_env *env, const rb_flat_pair *pairs,
								 size_t n, double *area);

#ifdef __cplusplus
}
#endif

#endif /* RB_SOLID_CONTACT_AREA_H */
