/*
 * star_boxes.h
 *	  Represents the triangles around a common corner or edge (a star) as boxes of directions.
 *
 * All boxes of a star's triangles overlap at the common corner, so no grid in space separates them.
 * Seen from the corner, each triangle is an arc of directions, and two triangles share a point
 * other than the corner only if their arcs do. Seen along a common edge, each triangle is a single
 * direction, perpendicular to the edge. A grid divides boxes around these arcs as it does any other
 * boxes.
 */
#ifndef RB_STAR_BOXES_H
#define RB_STAR_BOXES_H

#include "core/join/join.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef struct rb_star
{
	int corners;         /* 1 for triangles around a corner, 2 for triangles around an edge */
	const double *at[2]; /* the corner, or the ends of the edge */
} rb_star;

/*
 * Samples both lists for a corner or an edge that many triangles of both have. Returns false if
 * none is found. The owner bits of the entries are ignored.
 */
extern bool rb_star_find(const rb_set *set, rb_list red, rb_list blue, rb_star *star);

/* Returns true if the triangle t has the star's corner, or both ends of its edge. */
extern bool rb_star_has(const rb_star *star, const double *t);

/*
 * Stores a box of the directions in which triangle t of the star lies. If the boxes of two such
 * triangles are disjoint, the triangles share no more than the star's corner or edge.
 */
extern void rb_star_box(const rb_star *star, const double *t, double lo[3], double hi[3]);

#ifdef __cplusplus
}
#endif

#endif /* RB_STAR_BOXES_H */
