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

#ifdef __cplusplus
}
#endif

#endif /* RB_SOLID_OVERLAP_H */
