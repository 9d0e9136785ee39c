/*
 * star_boxes.h
 *	  The triangles around one corner or one edge, as boxes of directions.
 *
 * All boxes of a star's triangles overlap at the common corner, so no grid in space separates them.  Seen
 * from the corner each triangle is an arc of directions, and two triangles share a point besides the
 * corner only if their arcs do.  Seen along a common edge each triangle is one direction, across the edge.
 * Boxes around these arcs are cut by a grid as any other boxes are.
 */
#ifndef RB_STAR_BOXES_H
#define RB_STAR_BOXES_H

#include "core/join/rb_join.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef struct rb_star
{
	int corners;         /* 1: triangles around a corner; 2: around an edge */
	const double *at[2]; /* the corner, or the ends of the edge */
} rb_star;

/*
 * Looks, in samples, for a corner or an edge that many triangles of both lists have.  False: there is
 * none.  The entries' owner bits do not matter.
 */
extern bool rb_star_find(const rb_set *set, rb_list red, rb_list blue, rb_star *star);

/* Returns true if the triangle t has the star's corner, or both ends of its edge. */
extern bool rb_star_has(const rb_star *star, const double *t);

/*
 * Sets a box of the directions in which t lies, a triangle that the star has.  Where the boxes of two such
 * triangles are disjoint, the triangles share no more than the star's corner or edge.
 */
extern void rb_star_box(const rb_star *star, const double *t, double lo[3], double hi[3]);

#ifdef __cplusplus
}
#endif

#endif /* RB_STAR_BOXES_H */
