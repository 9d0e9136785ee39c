/*
 * overlap.h
 *	  Declares the measures of what two solids share, grouped by the file that defines them.
 *
 *		pairs of rows, crossings, sides of corners -> terms		overlap.c
 *		terms -> sums -> rounded results						overlap_sums.c
 *		faces near the overlap -> its depth						depth.c
 */
#ifndef RB_SOLID_OVERLAP_H
#define RB_SOLID_OVERLAP_H

#include "core/base/base.h"
#include "core/solid/solid.h"
#include "core/exact/orient.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* The point where the line from b to c meets the plane of a triangle, or b if `plane` is NULL */
typedef struct rb_overlap_point
{
	const double *b;
	const double *c;
	const double *plane;
} rb_overlap_point;

/*
 * The difference of two tetrahedra over the segment pq: that with `plus` and the origin, minus that
 * with `minus` and the origin
 */
typedef struct rb_overlap_term
{
	const double *plus;
	const double *minus; /* NULL if there is only one */
	rb_overlap_point p;
	rb_overlap_point q;
} rb_overlap_term;

/* All terms of a pair of solids whose interiors meet; zero-initialize */
typedef struct rb_overlap_terms
{
	RB_VEC(rb_overlap_term) terms;
	double origin[3];
	rb_number extent; /* Bound on the coordinates relative to the origin */
} rb_overlap_terms;

/* ---- overlap_sums.c ---- */

/* Computes volume and centroid from the terms. */
extern rb_status rb_overlap_sum(rb_context *ctx, const rb_overlap_terms *t, rb_overlap *overlap);

/* Sets *reaches to true if the exact volume, which rounds to `volume`, is not below `least`. */
extern rb_status rb_overlap_reaches(rb_context *ctx, const rb_overlap_terms *t, double volume,
									double least, bool *reaches);

/* ---- depth.c ---- */

/* A triangle of a solid, and whether its normal points into the solid */
typedef struct rb_depth_face
{
	const double *triangle;
	bool inward;
} rb_depth_face;

typedef struct rb_depth_faces
{
	RB_VEC(rb_depth_face) at;
} rb_depth_faces;

/*
 * Computes the depth of what two solids share if their interiors meet, from the faces of each that
 * meet their common box, which is given by its corners `low` and `high`.
 */
extern rb_status rb_overlap_depth(rb_context *ctx, const rb_depth_faces faces[2], const double *low,
								  const double *high, double *depth);

/* ---- contact_area.c ---- */

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

#endif /* RB_SOLID_OVERLAP_H */
