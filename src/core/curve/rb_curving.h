/*
 * rb_curving.h
 *	  What the files share that make one shape out of pieces.
 *
 *		pair of parts -> a piece: point, segment, convex polygon			pieces.c, convex.c
 *		points, lines and planes have names: the doubles nearest to
 *			numbers that are exactly the same whatever they are found of	names.c
 *		polygons that overlap are cut, so that none do						overlap.c
 *		what of segments and points lies on something larger				covers.c, by boxes.c
 *		along each line: what is covered, and the longest runs of the rest	runs.c
 *		runs -> lines														chains.c
 *		edges of polygons that have a polygon on one side only -> rings		rings.c, nodes.c
 *		all of it in order													curve.c
 *
 * Names are why nothing is compared with everything: segments overlap only on the same line, polygons in
 * the same plane, and the order of points along a line is the order of their doubles, since rounding
 * never turns an order around.  Two points of the same doubles are one; lines and planes are not one because their
 * doubles are: so a name has what is left of its numbers modulo a prime, too.
 *
 * A convex polygon is the list of its sides, and a side is an edge of an input triangle, turned so that the
 * inside is to its left.  Corners are where neighbouring sides meet.  So however often polygons are
 * cut, everything remains a sign of determinants of input points.
 */
#ifndef RB_CURVING_H
#define RB_CURVING_H

#include "core/base/rb_base.h"
#include "core/base/rb_sort.h"
#include "core/curve/rb_boxes.h"
#include "core/curve/rb_curve.h"
#include "core/curve/rb_meet.h"
#include "core/exact/rb_number.h"

#include <string.h>

#ifdef __cplusplus
extern "C"
{
#endif

#define RB_NOTHING UINT32_MAX
#define RB_CURVE_MOST (UINT32_MAX - 16) /* of anything that has a number */
#define RB_CURVE_QUIET 1024             /* light steps until it looks whether to stop */
#define RB_QUOTIENT 3                   /* words: more than rounding needs */

/* an array that grows */
typedef struct rb_many
{
	void *at;
	size_t cap; /* bytes: what was of one thing may be of another one next */
	uint32_t n;
} rb_many;

#define RB_ALL(many, type) ((type *) (many).at)

/* room for so many more */
extern rb_status rb_many_more(rb_context *ctx, rb_many *many, size_t more, size_t element);

/* ---- names (names.c) ---- */

/* rows of `width` doubles, each once */
typedef struct rb_names
{
	rb_many rows;
	uint32_t *table;
	size_t table_cap;
	uint32_t mask;
	int width;
} rb_names;

/* a point is its place; -0 is 0 */
#define RB_POINT_WIDTH 3
/* direction and moment of a line, divided by the direction's largest component, and what is left of them */
#define RB_LINE_WIDTH 7
/* normal of a plane, and its product with a point of it, divided by the normal's largest component; likewise */
#define RB_PLANE_WIDTH 5

/* of a part, as three corners; what has no area is a segment or a point */
typedef struct rb_part
{
	double at[9];
	int corners; /* 1, 2, 3 */
} rb_part;

typedef enum rb_along
{
	RB_ALONG_PLANES, /* the planes of both */
	RB_ALONG_RED,    /* an edge of red */
	RB_ALONG_BLUE,
	RB_ALONG_ROUNDED /* a polygon of which rounding has left a segment */
} rb_along;

/* what two parts share */
typedef struct rb_piece
{
	uint32_t part[2];
	uint32_t what; /* the point, the line, or the plane */
	uint32_t from; /* ends of the segment, or where the polygon's sides begin, and how many */
	uint32_t to;
	uint8_t dimension;
	uint8_t along; /* of a segment: rb_along, and which edge */
	uint8_t edge;
	uint8_t axis; /* of a polygon: along which it is looked at */
	int8_t turn;  /* of red, looked at so */
	/* of a segment that rounding has left of a polygon: a bit for each edge of its parts that it lies on */
	uint8_t on[2];
} rb_piece;

/* an edge of a part; turned: from its end to its beginning */
typedef struct rb_side
{
	uint32_t part;
	uint8_t of; /* 0: red, 1: blue */
	uint8_t edge;
	uint8_t turned;
	uint8_t unused;
} rb_side;

/* ends of a stretch of a line, which add up */
typedef struct rb_stretch
{
	uint32_t line;
	uint32_t from; /* before to, along the line */
	uint32_t to;
	uint32_t covers; /* else it is a segment */
} rb_stretch;

/* a longest run, from before to */
typedef struct rb_run
{
	uint32_t line;
	uint32_t from;
	uint32_t to;
	uint32_t inner; /* corners between the ends that are kept, ... */
	uint32_t ninner;
} rb_run;

/* ---- the curve ---- */

struct rb_curve
{
	rb_context *ctx;
	rb_exact_env env;
	rb_curve_parts side[2];
	rb_names points;
	rb_names lines;
	rb_names planes;
	rb_many pieces;
	rb_many sides;     /* of polygons */
	rb_many vertex;    /* where a side meets the next one */
	uint32_t count[3]; /* pieces by dimension */
	rb_boxes boxes;    /* of pieces */
	rb_many stretches;
	rb_many runs;
	rb_many inner;
	rb_many lone; /* points that stay */
	rb_many mark; /* words for points, or others */
	rb_many work[4];
	/* the answer: corners by their points, and where lines begin; rb_ring, those of a polygon in a row */
	rb_many line_points, line_start;
	uint32_t first_closed; /* lines from there on have no ends */
	rb_many ring_points, rings;
	rb_many out[6];
};

extern void rb_names_clear(rb_names *names);
extern void rb_names_free(rb_memory *memory, rb_names *names);

/* the number of the row; it is put in if it is not there */
extern rb_status rb_name_row(rb_context *ctx, rb_names *names, const double *row, uint32_t *number);

extern rb_status rb_name_point(rb_curve *c, const double *at, uint32_t *point);
/* of the line through two points of the input; of that in which two planes meet; of a triangle's plane */
extern rb_status rb_name_line(rb_curve *c, const double *p, const double *q, uint32_t *line);
extern rb_status rb_name_planes_line(rb_curve *c, const double *r, const double *b, uint32_t *line);
extern rb_status rb_name_plane(rb_curve *c, const double *t, uint32_t *plane);
/* an axis on which the plane's normal is not 0 */
extern int rb_plane_axis(const rb_curve *c, uint32_t plane);

static inline const double *
rb_point_at(const rb_curve *c, uint32_t point)
{
	return RB_ALL(c->points.rows, double) + RB_POINT_WIDTH * (size_t) point;
}

/* along a line, is p before q: below, at or above 0 */
extern int rb_line_order(const rb_curve *c, uint32_t line, uint32_t p, uint32_t q);

/* ---- pieces (pieces.c) ---- */

extern void rb_part_load(const rb_curve_parts *of, uint32_t i, rb_part *part);

/* corners of a triangle of the input */
static inline const double *
rb_triangle_at(const rb_curve *c, int side, uint32_t part)
{
	return c->side[side].coords + 9 * (size_t) part;
}

extern rb_status rb_piece_make(rb_curve *c, uint32_t red, uint32_t blue);

/* ---- convex polygons (convex.c) ---- */

/* from where side s begins to where it ends */
extern void rb_side_ends(const rb_curve *c, rb_side s, const double **p, const double **q);

/* on which side of `line` is the corner where two sides meet?  1: left; looked at along the axis */
extern int rb_corner_side(rb_curve *c, int axis, rb_side a, rb_side b, rb_side line);
/* the same for the line kl, and for the plane of a triangle */
extern int rb_corner_turn(rb_curve *c, int axis, rb_side a, rb_side b, const double *k,
						  const double *l);
extern int rb_corner_plane(rb_curve *c, int axis, rb_side a, rb_side b, const double *t);

/*
 * What is to the left of that line of the polygon of n sides from c->sides on is put at their end;
 * *left: so many sides, 0 if it has no area.
 */
extern rb_status rb_convex_cut(rb_curve *c, int axis, uint32_t from, uint32_t n, rb_side line,
							   uint32_t *left);

/* sides of a triangle at the end of c->sides, counterclockwise along the axis */
extern rb_status rb_convex_triangle(rb_curve *c, int axis, int of, uint32_t part);

/* corners of a polygon get their names, in c->vertex */
extern rb_status rb_convex_corners(rb_curve *c, uint32_t from, uint32_t n);

/* ---- points as they are before they are rounded (spot.c) ---- */

typedef struct rb_spot
{
	bool corner; /* of a part: at is exact */
	double at[3];
	rb_number x[3]; /* else it is x / w, w > 0 */
	rb_number w;
} rb_spot;

/* the corner of what two parts share that has these doubles */
extern void rb_spot_make(rb_curve *c, const rb_part *red, const rb_part *blue, const double *at,
						 rb_spot *spot);
extern bool rb_spot_on(rb_curve *c, const rb_spot *spot, const rb_part *part);

/* ---- the steps ---- */

extern rb_status rb_curve_boxes(rb_curve *c);   /* covers.c */
extern rb_status rb_curve_overlap(rb_curve *c); /* overlap.c */
extern rb_status rb_curve_covers(rb_curve *c);  /* covers.c */
extern rb_status rb_curve_runs(rb_curve *c);    /* runs.c */
extern rb_status rb_curve_chains(rb_curve *c);  /* chains.c */
extern rb_status rb_curve_rings(rb_curve *c);   /* rings.c */

/* an edge of a ring: what is inside is to its left */
typedef struct rb_edge
{
	uint32_t of; /* a piece; then one that stands for all that it is connected with */
	uint32_t from;
	uint32_t to;
	uint32_t line;
	uint32_t side; /* of a piece, that it lies on */
} rb_edge;

/* the edges in c->work[2] are cut; c->work[0], [3] and c->mark are used */
extern rb_status rb_curve_nodes(rb_curve *c); /* nodes.c */

/* a ring, and of which polygon */
typedef struct rb_ring
{
	uint32_t polygon; /* some number */
	uint32_t from;    /* in ring_points; its last corner is not its first */
	uint32_t n;
	uint32_t turned; /* against that in which it was found */
} rb_ring;

/* a mark for each point, none of them set */
static inline rb_status
rb_unmark_points(rb_curve *c)
{
	rb_status status;

	c->mark.n = 0;
	status = rb_many_more(c->ctx, &c->mark, (size_t) c->points.rows.n + 1, sizeof(uint32_t));
	if (status == RB_OK)
		memset(RB_ALL(c->mark, uint32_t), 0, c->points.rows.n * sizeof(uint32_t));
	return status;
}

#ifdef __cplusplus
}
#endif

#endif /* RB_CURVING_H */
