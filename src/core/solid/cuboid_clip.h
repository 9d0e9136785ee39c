/*
 * cuboid_clip.h
 *	  Declares a cuboid, the triangles of solids near it, and the signs that relate them.
 *
 *		cuboids, exact coordinates, signs
 *			triangle, cuboid -> polygon -> sums -> results	cuboid_clip.c
 *		results too close to the middle of two doubles		cuboid_exact.c
 *		columns, triangles that meet a cuboid, all results	cuboid.c
 *
 * Each of these files depends only on those listed above it. A cuboid is a block of a block model:
 * a box in the axes of that model (rb_model_frame), which are called local.
 */
#ifndef RB_SOLID_CUBOID_CLIP_H
#define RB_SOLID_CUBOID_CLIP_H

#include "core/base/base.h"
#include "core/exact/bounded.h"
#include "core/exact/orient.h"
#include "core/solid/solid.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* The triangles of solids in local coordinates */
typedef struct rb_cuboid_space
{
	const rb_model_frame *frame;
	const double *coords;    /* Nine of each triangle, not rotated */
	rb_double_double *local; /* Nine of each triangle, or NULL if the frame is not rotated */
	double *error;           /* Bound on the errors of each triangle's local coordinates */
} rb_cuboid_space;

/*
 * Planes of a cuboid have the number 2 axis + side, where the side is 0 for the low and 1 for the
 * high one.
 */
#define RB_CUBOID_PLANE(axis, side) (2 * (axis) + (side))

typedef struct rb_cuboid
{
	const rb_cuboid_space *space;
	const double *box;   /* Low and high corner, or center and size */
	bool centered;       /* True if `box` is a center and a size */
	rb_bounded bound[6]; /* Coordinate of each plane */
	rb_bounded size[3];
	bool exact; /* True if corners of the cuboid and of triangles are doubles */
} rb_cuboid;

/* Returns local coordinate a of a corner of a triangle. */
static inline rb_bounded
rb_cuboid_corner(const rb_cuboid_space *s, uint32_t triangle, int corner, int a)
{
	const size_t i = 9 * (size_t) triangle + 3 * (size_t) corner + (size_t) a;

	return s->local == NULL ? rb_bounded_of(s->coords[i])
							: (rb_bounded){s->local[i], s->error[triangle]};
}

/*
 * Prepares a cuboid. Returns false if it has no volume.
 */
extern bool rb_cuboid_open(rb_cuboid *b, const rb_cuboid_space *space, const double *box,
						   bool centered);

/* Compute exact local coordinates: of a corner of a triangle, and of a plane of a cuboid. */
extern void rb_cuboid_number_of_corner(rb_number *r, const rb_cuboid_space *s, uint32_t triangle,
									   int corner, int a);
extern void rb_cuboid_number_of_plane(rb_number *r, const rb_cuboid *b, int plane);

/* Sets r to the difference of coordinate a of two corners of a triangle. */
extern void rb_cuboid_number_of_edge(rb_number *r, const rb_cuboid *b, uint32_t triangle, int from,
									 int to, int a);

/* Sets r to component a of the normal of a triangle. */
extern void rb_cuboid_number_of_normal(rb_number *r, const rb_cuboid *b, uint32_t triangle, int a);

/*
 * Return exact signs for a triangle: orientation of a side and the low corner of the cuboid, seen from
 * above; side of the triangle's plane on which the low corner lies; component of the normal; order
 * of the coordinates of two corners of the triangle.
 */
extern int rb_cuboid_turn(rb_exact_env *env, const rb_cuboid *b, uint32_t triangle, int corner);
extern int rb_cuboid_side(rb_exact_env *env, const rb_cuboid *b, uint32_t triangle);
extern int rb_cuboid_normal(rb_exact_env *env, const rb_cuboid *b, uint32_t triangle, int a);
extern int rb_cuboid_order(const rb_cuboid *b, uint32_t triangle, int corner, int other, int a);

typedef enum rb_cuboid_point_kind
{
	RB_CUBOID_CORNER, /* Corner of the triangle */
	RB_CUBOID_EDGE,   /* Point where an edge of the triangle meets a plane of the cuboid */
	RB_CUBOID_LINE    /* Point where the plane of the triangle meets two planes of the cuboid */
} rb_cuboid_point_kind;

/* A corner of a triangle's part in a cuboid */
typedef struct rb_cuboid_point
{
	uint8_t kind;  /* Value of rb_cuboid_point_kind */
	uint8_t of;    /* Corner, or edge from that corner to the next one */
	uint8_t fixed; /* Bits of the planes that define it */
	uint8_t on;    /* Bits of all planes on which it lies */
} rb_cuboid_point;

#define RB_CUBOID_POINTS 12

/* A triangle's part in a cuboid: a convex polygon, in the order of the triangle's corners */
typedef struct rb_cuboid_polygon
{
	uint32_t triangle;
	int outward; /* 1 if its local normal points out of the solid, else -1 */
	int n;
	rb_cuboid_point at[RB_CUBOID_POINTS];
} rb_cuboid_polygon;

/* The sum of the terms of a cuboid and a solid, six times the volume */
typedef struct rb_cuboid_sum
{
	rb_bounded sum;
	double terms;
	bool meets; /* True if a triangle meets the interior of the cuboid */
} rb_cuboid_sum;

/*
 * Clips triangle p->triangle to a cuboid. Returns false if it does not meet the interior of the
 * cuboid. Adds the terms of the clipped part to *sum, unless sum is NULL.
 */
extern bool rb_cuboid_clip(rb_exact_env *env, const rb_cuboid *b, rb_cuboid_polygon *p,
						   rb_cuboid_sum *sum);

/* Volume and fraction of a cuboid inside a solid, rounded to nearest: the payload of RB_CUBOID */
typedef struct rb_cuboid_share
{
	double volume; /* Positive, like the fraction: 2^-1074 instead of 0 */
	double fraction;
} rb_cuboid_share;

/* Measures a cuboid that is entirely inside a solid. */
extern void rb_cuboid_measure_whole(const rb_cuboid *b, rb_cuboid_share *share);

/*
 * Computes the results of a cuboid of which only a part is inside, and rounds them. Returns false
 * if a rounding is not decided. `inside` is true if its low corner is inside.
 */
extern bool rb_cuboid_round(const rb_cuboid *b, const rb_cuboid_sum *s, bool inside,
							rb_cuboid_share *share);

/* Polygons of a cuboid and a solid */
typedef RB_VEC(rb_cuboid_polygon) rb_cuboid_polygons;

/* Rounds the results of a cuboid of which only a part is inside. */
extern rb_status rb_cuboid_round_exactly(rb_context *ctx, const rb_cuboid *b,
										 const rb_cuboid_polygons *polygons, bool inside,
										 rb_cuboid_share *share);

#ifdef __cplusplus
}
#endif

#endif /* RB_SOLID_CUBOID_CLIP_H */
