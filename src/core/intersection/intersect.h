/*
 * intersect.h
 *	  Computes the points in which two triangles, segments or points meet, exactly and with a single
 *	  rounding (intersect.c).
 *
 * A part has three vertices. If it is not a triangle, the last vertices are equal.
 */
#ifndef RB_INTERSECTION_INTERSECT_H
#define RB_INTERSECTION_INTERSECT_H

#include "core/exact/orient.h"

#ifdef __cplusplus
extern "C"
{
#endif

/*
 * Capacity for points: a convex polygon has at most six vertices, but rounding may make one vertex
 * appear as several
 */
#define RB_MEET_POINTS 24

typedef struct rb_meet
{
	double at[3];
	uint8_t on_red; /* Bitmask of the edges that contain the point; edge i starts at vertex i */
	uint8_t on_blue;
} rb_meet;

/*
 * Computes the vertices of the intersection of two parts and returns their number. Each vertex has
 * the doubles nearest to its exact position, so it does not depend on the parts from which it was
 * computed.
 */
extern int rb_meet_points(rb_exact_env *env, const double *red, const double *blue, rb_meet *to);

/* Returns true if the point lies on the part. */
extern bool rb_meet_on(const double *point, const double *part);

/*
 * Computes the common point of the planes of three triangles. Returns false if there is none or
 * more than one.
 */
extern bool rb_meet_planes(const double *a, const double *b, const double *c, double *at);

/*
 * Computes the intersection of the line pq with the plane of a triangle, and of two lines in one
 * plane. Returns false if it is not a single point.
 */
extern bool rb_meet_line_plane(const double *p, const double *q, const double *t, double *at);
extern bool rb_meet_lines(const double *p, const double *q, const double *s, const double *t,
						  double *at);

#ifdef __cplusplus
}
#endif

#endif /* RB_INTERSECTION_INTERSECT_H */
