/*
 * assembly.h
 *	  Declares what the files share that assemble the pieces of an intersection into one shape.
 *
 *		pair of parts -> a piece: point, segment, convex polygon       clip.c
 *		canonical ids of points, lines and planes, which do not depend
 *			on how an object was computed                              clip.c
 *		overlapping polygons are cut until they are disjoint; parts
 *			of segments and points that lie on larger pieces           overlay.c, box_overlap.c
 *		along each line: covered parts, and maximal runs of the rest,
 *			which form lines                                           assemble.c
 *		edges of polygons with a polygon on one side only -> rings     rings.c
 *		sorted output                                                  assemble.c
 *
 * Canonical ids avoid comparing everything with everything: segments can overlap only on the same
 * line, and polygons only in the same plane. Points along a line have the order of their double
 * coordinates, since rounding never reverses an order. Two points with equal doubles are identical.
 * Lines and planes with equal doubles may differ, so their canonical ids also contain a residue of
 * the exact numbers modulo a prime.
 *
 * A convex polygon is a list of its sides. Each side is an edge of an input triangle, oriented so
 * that the interior is to its left. Vertices are the intersections of consecutive sides. So however
 * often polygons are cut, all tests remain signs of determinants of input points.
 */
#ifndef RB_INTERSECTION_ASSEMBLY_H
#define RB_INTERSECTION_ASSEMBLY_H

#include "core/base/hash.h"
#include "core/base/sort.h"
#include "core/intersection/intersection.h"
#include "core/exact/bignum.h"

#include <string.h>

#ifdef __cplusplus
extern "C"
{
#endif

#define RB_NOTHING UINT32_MAX
#define RB_CURVE_MAX (UINT32_MAX - 16) /* Maximum number of items in any numbered list */
#define RB_CURVE_CHECK_INTERVAL 1024   /* Number of cheap steps between checks for cancellation */

/* A growing array */
typedef struct rb_curve_array
{
	void *at;
	size_t cap; /* Capacity in bytes, because the buffer is reused for different element types */
	uint32_t n;
} rb_curve_array;

#define RB_ALL(many, type) ((type *) (many).at)

/*
 * Reserves memory for `more` additional elements of an array of pieces, sides, ids or other items
 * (clip.c).
 */
extern rb_status rb_curve_array_reserve(rb_context *ctx, rb_curve_array *many, size_t more,
										size_t element);

/* ---- canonical ids (clip.c) ---- */

#define RB_HASH rb_row_table
#define RB_HASH_SLOT uint32_t
#define RB_HASH_DECLARE
#include "core/base/hash.h"

/* A table of distinct rows of `width` doubles */
typedef struct rb_canonical_ids
{
	rb_curve_array rows;
	rb_row_table table;
	int width;
} rb_canonical_ids;

/* Width of the canonical form of a point: its coordinates, with -0 replaced by 0 */
#define RB_POINT_WIDTH 3
/*
 * Width of the canonical form of a line: direction and moment, divided by the largest component of
 * the direction, and their residue
 */
#define RB_LINE_WIDTH 7
/*
 * Width of the canonical form of a plane: the normal and its dot product with a point of the plane,
 * divided by the largest component of the normal, and their residue
 */
#define RB_PLANE_WIDTH 5

/* A part as three vertices; a triangle without area is stored as a segment or a point */
typedef struct rb_part
{
	double at[9];
	int corners; /* Number of distinct vertices: 1, 2 or 3 */
} rb_part;

typedef enum rb_along
{
	RB_ALONG_PLANES, /* The intersection of the planes of both parts */
	RB_ALONG_RED,    /* An edge of red */
	RB_ALONG_BLUE,
	RB_ALONG_ROUNDED /* A polygon that rounding has collapsed to a segment */
} rb_along;

/* The intersection of two parts */
typedef struct rb_curve_piece
{
	uint32_t part[2];
	uint32_t what; /* Canonical id of the point, line or plane */
	/* Ends of the segment; for a polygon, index of its first side and number of sides */
	uint32_t from;
	uint32_t to;
	uint8_t dimension;
	uint8_t along; /* For a segment: an rb_along; if it is an edge, `edge` is its number */
	uint8_t edge;
	uint8_t axis; /* Projection axis of a polygon */
	int8_t turn;  /* Orientation of the red triangle in the projection along `axis` */
	/*
	 * For a polygon that rounding has collapsed to a segment: bitmasks of the edges of both parts
	 * on which the segment lies
	 */
	uint8_t on[2];
} rb_curve_piece;

/* An edge of a part; `turned` means that it runs from its end to its start */
typedef struct rb_curve_side
{
	uint32_t part;
	uint8_t of; /* Side of the part: 0 for red, 1 for blue */
	uint8_t edge;
	uint8_t turned;
	uint8_t unused;
} rb_curve_side;

/* An interval of a line */
typedef struct rb_curve_interval
{
	uint32_t line;
	uint32_t from; /* Precedes `to` along the line */
	uint32_t to;
	uint32_t covers; /* Nonzero if a polygon covers the interval, 0 for a segment */
} rb_curve_interval;

/* A maximal run along a line, from `from` to `to` */
typedef struct rb_curve_run
{
	uint32_t line;
	uint32_t from;
	uint32_t to;
	uint32_t inner; /* First of the `ninner` interior vertices that are kept */
	uint32_t ninner;
} rb_curve_run;

/* ---- state of a computation ---- */

struct rb_curve
{
	rb_context *ctx;
	rb_exact_env env;
	rb_curve_parts side[2];
	rb_canonical_ids points;
	rb_canonical_ids lines;
	rb_canonical_ids planes;
	rb_curve_array pieces;
	rb_curve_array sides;  /* Sides of polygons */
	rb_curve_array vertex; /* Intersection of each side with the next one */
	uint32_t count[3];     /* Number of pieces of each dimension */
	rb_boxes boxes;        /* Box tree of the pieces */
	rb_curve_array stretches;
	rb_curve_array runs;
	rb_curve_array inner;
	rb_curve_array lone; /* Points not covered by anything larger */
	rb_curve_array mark; /* One word for each point, or for other uses */
	rb_curve_array work[4];
	/*
	 * The result: point ids of lines and the start of each line; rings of type rb_curve_ring, those
	 * of a polygon in sequence
	 */
	rb_curve_array line_points, line_start;
	uint32_t first_closed; /* Index of the first closed line; later lines are closed too */
	rb_curve_array ring_points, rings;
	rb_curve_array out[6];
};

/* Removes all canonical ids, but keeps their memory. */
extern void rb_canonical_ids_clear(rb_canonical_ids *names);

/* Frees the tables of canonical ids. */
extern void rb_canonical_ids_free(rb_memory *memory, rb_canonical_ids *names);

/* Looks up the canonical id of the point with these coordinates. */
extern rb_status rb_canonical_point(rb_curve *c, const double *at, uint32_t *point);
/* Looks up the canonical id of the line through two input points. */
extern rb_status rb_canonical_line(rb_curve *c, const double *p, const double *q, uint32_t *line);

/* Returns the coordinates of a canonical point. */
static inline const double *
rb_point_at(const rb_curve *c, uint32_t point)
{
	return RB_ALL(c->points.rows, double) + RB_POINT_WIDTH * (size_t) point;
}

/*
 * Compares two points along a canonical line: negative if p precedes q, 0 if they are equal,
 * positive otherwise.
 */
extern int rb_line_order(const rb_curve *c, uint32_t line, uint32_t p, uint32_t q);

/* ---- pieces (clip.c) ---- */

/* Loads part i as three vertices; a triangle without area becomes a segment or a point. */
extern void rb_part_load(const rb_curve_parts *of, uint32_t i, rb_part *part);

/* Returns the vertices of an input triangle. */
static inline const double *
rb_triangle_at(const rb_curve *c, int side, uint32_t part)
{
	return c->side[side].coords + 9 * (size_t) part;
}

/* Computes the piece that two parts share, and appends it if there is one. */
extern rb_status rb_curve_piece_build(rb_curve *c, uint32_t red, uint32_t blue);

/* ---- convex polygons (clip.c) ---- */

/* Sets the start and end point of side s. */
extern void rb_side_ends(const rb_curve *c, rb_curve_side s, const double **p, const double **q);

/*
 * Returns on which side of the line through side `line` the corner between sides a and b of a
 * clipped polygon lies, in the projection along the axis: 1 for left, -1 for right.
 */
extern int rb_corner_side(rb_curve *c, int axis, rb_curve_side a, rb_curve_side b,
						  rb_curve_side line);
/*
 * Returns on which side of the line kl the corner between sides a and b of a clipped polygon lies,
 * in the projection along the axis: 1 for left, -1 for right.
 */
extern int rb_corner_turn(rb_curve *c, int axis, rb_curve_side a, rb_curve_side b, const double *k,
						  const double *l);

/*
 * Returns on which side of the plane of triangle t the corner between sides a and b of a clipped
 * polygon lies.
 */
extern int rb_corner_plane(rb_curve *c, int axis, rb_curve_side a, rb_curve_side b,
						   const double *t);

/*
 * Clips the polygon with n sides from c->sides[from] to the left of the line. Appends the result to
 * c->sides and sets *left to its number of sides, or to 0 if it has no area.
 */
extern rb_status rb_convex_cut(rb_curve *c, int axis, uint32_t from, uint32_t n, rb_curve_side line,
							   uint32_t *left);

/* Looks up the canonical ids of a polygon's vertices and stores them in c->vertex. */
extern rb_status rb_convex_corners(rb_curve *c, uint32_t from, uint32_t n);

/* ---- steps of the computation ---- */

/* Builds the box tree of all pieces (overlay.c). */
extern rb_status rb_curve_boxes(rb_curve *c);
/* Cuts overlapping polygons in the same plane until none overlap (overlay.c). */
extern rb_status rb_curve_overlap(rb_curve *c);
/* Finds the points, intervals of lines and segments that lie on larger pieces (overlay.c). */
extern rb_status rb_curve_covers(rb_curve *c);
/* Merges the disjoint convex polygons, and makes rings of the remaining sides (rings.c). */
extern rb_status rb_curve_rings(rb_curve *c);

/* An edge of a ring, with the interior to its left */
typedef struct rb_edge
{
	uint32_t of; /* A piece; later the representative of its connected component */
	uint32_t from;
	uint32_t to;
	uint32_t line;
	uint32_t side; /* Side of a piece on which the edge lies */
} rb_edge;

/* A ring of a polygon */
typedef struct rb_curve_ring
{
	uint32_t polygon; /* A number that identifies the polygon */
	uint32_t from;    /* Start in ring_points; the first vertex is not repeated at the end */
	uint32_t n;
	uint32_t turned; /* Nonzero if the order of the vertices must be reversed */
} rb_curve_ring;

/* Clears the marks of all points. */
static inline rb_status
rb_unmark_points(rb_curve *c)
{
	rb_status status;

	c->mark.n = 0;
	status =
		rb_curve_array_reserve(c->ctx, &c->mark, (size_t) c->points.rows.n + 1, sizeof(uint32_t));
	if (status == RB_OK)
		memset(RB_ALL(c->mark, uint32_t), 0, c->points.rows.n * sizeof(uint32_t));
	return status;
}

#ifdef __cplusplus
}
#endif

#endif /* RB_INTERSECTION_ASSEMBLY_H */
