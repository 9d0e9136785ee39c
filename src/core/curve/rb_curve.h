/*
 * rb_curve.h
 *	  The geometry of an intersection: what two sets of parts share, as points, lines and polygons.
 *
 * Parts are triangles or segments, those of two geometries or of two tables.  Whoever calls finds the pairs
 * of parts that meet (or may meet: a pair that shares nothing adds nothing), in any order:
 *
 *	  rb_curve_open(ctx, &red, &blue, &curve);
 *	  rb_curve_add(curve, i, j);								for each pair, or rb_curve_add_all
 *	  rb_curve_finish(curve, &shape);							it is the curve's, until ...
 *	  rb_curve_again(curve, &red, &blue);						... the next two geometries
 *	  rb_curve_close(&curve);
 *
 * The answer is the set of all points that are in a red part and in a blue part; it does not depend on the
 * order of the pairs.
 *
 *		polygons	what coplanar triangles share: one for each piece whose inside is connected, with its
 *					holes, turned as the red triangles are that it lies on (where some are turned one way and
 *					some the other: counterclockwise along the axis that the plane is steepest against)
 *		lines		what else is one-dimensional.  A line goes straight on as far as it can, past whatever
 *					meets it.  Where such a straight run ends it goes on with the only other run that ends
 *					there; if there is none, or there are several, the line ends.  So curves that cross go on,
 *					one that ends on the middle of a run does not end that, and of three walls that meet at
 *					an edge come three lines, but two if two of the walls are in one plane
 *		points		what is left
 *
 * Nothing is there twice: what lies on something larger is left out, exactly, before anything is rounded.
 * Every corner is the doubles nearest to where it is, and points of the same doubles are one.  Along a straight
 * run or edge corners are left out, so nothing shows how a face was cut into triangles; they are kept where
 * they are a corner of a polygon of the same plane, or an end of another run (those that a polygon cuts off need not be).
 * A polygon that has no area when it is rounded is a line (or nothing, where a side of another polygon is the same line
 * then), a line that has no length is a point.
 *
 * It takes time that is nearly linear in the number of pairs, and memory in that of those that share something.
 */
#ifndef RB_CURVE_H
#define RB_CURVE_H

#include "core/base/redblue.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* RB_TRIANGLE3, RB_SEGMENT3 or RB_SEGMENT2 (z is 0), as they lie in a set; the caller's until the end */
typedef struct rb_curve_parts
{
	rb_kind kind;
	uint32_t n;
	const double *coords;
} rb_curve_parts;

/*
 * Corners are x y z.  Those of line i are line[i] to line[i + 1]; of a closed one the last is the first again,
 * and so it is of a ring.  Rings of polygon i are polygon[i] to polygon[i + 1], the outer one first.
 * Points, lines and polygons are in the order of their coordinates.
 */
typedef struct rb_shape
{
	uint32_t npoints;
	uint32_t nlines;
	uint32_t npolygons;
	uint32_t nrings;
	const double *points;
	const uint32_t *line; /* nlines + 1 */
	const double *line_corners;
	const uint32_t *polygon; /* npolygons + 1 */
	const uint32_t *ring;    /* nrings + 1 */
	const double *ring_corners;
} rb_shape;

typedef struct rb_curve rb_curve;

/* after a failure, or a stop, nothing is left but rb_curve_again or rb_curve_close */
extern rb_status rb_curve_open(rb_context *ctx, const rb_curve_parts *red,
							   const rb_curve_parts *blue, rb_curve **curve);
extern rb_status rb_curve_add(rb_curve *curve, uint32_t red, uint32_t blue);
/* each pair of parts whose boxes overlap */
extern rb_status rb_curve_add_all(rb_curve *curve);
extern rb_status rb_curve_finish(rb_curve *curve, rb_shape *shape);
extern void rb_curve_again(rb_curve *curve, const rb_curve_parts *red, const rb_curve_parts *blue);
extern void rb_curve_close(rb_curve **curve); /* leaves NULL; NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif /* RB_CURVE_H */
