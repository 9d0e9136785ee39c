/*
 * intersection.h
 *	  Computes the geometry of an intersection: the common points of two sets of parts, as points,
 *	  lines and polygons.
 *
 * The parts are triangles or segments of two geometries or of two tables. The caller finds the
 * pairs of parts that meet or may meet, in any order. A pair without common points adds nothing:
 *
 *	  rb_curve_open(ctx, &red, &blue, &curve);
 *	  rb_curve_add(curve, i, j);								for each pair, or rb_curve_add_all
 *	  rb_curve_finish(curve, &shape);							shape belongs to the curve until ...
 *	  rb_curve_again(curve, &red, &blue);						... the next two geometries start
 *	  rb_curve_close(&curve);
 *
 * The result is the set of all points that are in a red part and in a blue part. It does not depend
 * on the order of the pairs.
 *
 * - Polygons: the common areas of coplanar triangles. There is one polygon, with its holes, for
 *   each area with a connected interior. Its orientation is that of the red triangles on which it
 *   lies. If these have both orientations, the polygon is counterclockwise along the axis on which
 *   the plane's normal has its largest component.
 * - Lines: the remaining one-dimensional parts. A line continues straight as far as possible, past
 *   anything that meets it. Where a straight run ends, the line continues with the only other run
 *   that ends there. If no other run ends there, or several do, the line ends. So curves that cross
 *   each other continue, and a curve that ends in the middle of a run does not interrupt the run.
 *   Three walls that meet at an edge produce three lines, or two lines if two of the walls are in
 *   one plane.
 * - Points: everything else.
 *
 * Nothing is reported twice: anything that lies on a larger object is removed exactly, before
 * rounding. Every vertex has the double coordinates nearest to its exact position, and points with
 * equal double coordinates are identical. Vertices inside a straight run or edge are removed, so
 * the triangulation of a face is not visible in the result. Such a vertex is kept if it is a vertex
 * of a polygon in the same plane, or an end of another run. An end where a polygon cuts off a run
 * is not necessarily kept. A polygon that has no area after rounding becomes a line, or nothing if
 * a side of another polygon is the same line. A line that has no length after rounding becomes a
 * point.
 *
 * The running time is nearly linear in the number of pairs. The memory is nearly linear in the
 * number of pairs that share points.
 */
#ifndef RB_INTERSECTION_INTERSECTION_H
#define RB_INTERSECTION_INTERSECTION_H

#include "core/base/redblue.h"
#include "core/exact/orient.h"

#ifdef __cplusplus
extern "C"
{
#endif

/*
 * Parts of kind RB_TRIANGLE3, RB_SEGMENT3 or RB_SEGMENT2 (with z = 0), stored as in a set; they
 * belong to the caller and must remain valid
 */
typedef struct rb_curve_parts
{
	rb_kind kind;
	uint32_t n;
	const double *coords;
} rb_curve_parts;

/*
 * The result of an intersection. Vertices are x y z. The vertices of line i have the indices
 * line[i] to line[i + 1] - 1. The last vertex of a closed line or ring repeats the first one. The
 * rings of polygon i have the indices polygon[i] to polygon[i + 1] - 1, the outer ring first.
 * Points, lines and polygons are sorted by their coordinates.
 */
typedef struct rb_intersection
{
	uint32_t npoints;
	uint32_t nlines;
	uint32_t npolygons;
	uint32_t nrings;
	const double *points;
	/* first vertex of each line, and the end of the last: nlines + 1 indices */
	const uint32_t *line;
	const double *line_corners;
	/* first ring of each polygon, and the end of the last: npolygons + 1 indices */
	const uint32_t *polygon;
	/* first vertex of each ring, and the end of the last: nrings + 1 indices */
	const uint32_t *ring;
	const double *ring_corners;
} rb_intersection;

typedef struct rb_curve rb_curve;

/*
 * Starts the computation of an intersection. After a failure or cancellation, only rb_curve_again
 * and rb_curve_close may be called.
 */
extern rb_status rb_curve_open(rb_context *ctx, const rb_curve_parts *red,
							   const rb_curve_parts *blue, rb_curve **curve);

/* Adds the intersection of one red and one blue part. */
extern rb_status rb_curve_add(rb_curve *curve, uint32_t red, uint32_t blue);
/* Adds each pair of parts whose bounding boxes overlap. */
extern rb_status rb_curve_add_all(rb_curve *curve);

/* Assembles all pieces to the shape, which belongs to the curve. */
extern rb_status rb_curve_finish(rb_curve *curve, rb_intersection *shape);

/* Starts another computation with the memory of the last one. */
extern void rb_curve_again(rb_curve *curve, const rb_curve_parts *red, const rb_curve_parts *blue);
extern void rb_curve_close(rb_curve **curve); /* Sets *curve to NULL; accepts NULL */

/* ---- common points of two parts (intersect.c) ---- */

/*
 * Computes the points in which two triangles, segments or points meet, exactly and with a single
 * rounding (intersect.c).
 *
 * A part has three vertices. If it is not a triangle, the last vertices are equal.
 */

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
 * Computes the vertices of the intersection of two parts and returns their number. The coordinates
 * of a vertex are the doubles nearest to its exact position, so they do not depend on the parts
 * from which they were computed.
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
 * Computes the intersection of the line pq with the plane of a triangle. Returns false if it is
 * not a single point.
 */
extern bool rb_meet_line_plane(const double *p, const double *q, const double *t, double *at);

/*
 * Computes the intersection of the lines pq and st in one plane. Returns false if it is not a
 * single point.
 */
extern bool rb_meet_lines(const double *p, const double *q, const double *s, const double *t,
						  double *at);

/* ---- box tree that finds all boxes that intersect a given box (box_overlap.c) ---- */

typedef struct rb_boxes
{
	/*
	 * Low and high corners: boxes of the items, then of groups of eight, of eight such groups, ...
	 */
	double *box;
	size_t box_cap;
	struct rb_boxes_place *order; /* Items sorted along a Morton curve */
	size_t order_cap;
	uint32_t n;
	uint32_t first[12]; /* Index of the first box of each level */
	int levels;         /* Number of levels of the tree */
} rb_boxes;

/* Reserves memory for n boxes, which the caller then writes to b->box, six doubles each. */
extern rb_status rb_boxes_room(rb_context *ctx, rb_boxes *b, uint32_t n);

/* Builds the tree of the boxes that the caller has written to b->box. */
extern rb_status rb_boxes_order(rb_context *ctx, rb_boxes *b);

/*
 * Builds the tree as rb_boxes_order does, but keeps the items of each row together: row r has the
 * items start[r] to start[r + 1] - 1, at the same positions of the order.
 */
extern rb_status rb_boxes_order_rows(rb_context *ctx, rb_boxes *b, const uint32_t *start,
									 uint32_t nrows);

/*
 * Calls `take` for each item whose box intersects the given box, until it returns a status other
 * than RB_OK.
 */
extern rb_status rb_boxes_find(const rb_boxes *b, const double *box,
							   rb_status (*take)(void *user, uint32_t item), void *user);

/*
 * Calls `take` as rb_boxes_find does, but only for items at positions `from` to `to` - 1 of the
 * order.
 */
extern rb_status rb_boxes_find_in_row(const rb_boxes *b, uint32_t from, uint32_t to,
									  const double *box,
									  rb_status (*take)(void *user, uint32_t item), void *user);

/* Frees the memory of a tree of boxes. */
extern void rb_boxes_free(rb_memory *memory, rb_boxes *b);

#ifdef __cplusplus
}
#endif

#endif /* RB_INTERSECTION_INTERSECTION_H */
