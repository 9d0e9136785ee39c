/*
 * cuboid_clip.h
 *	  Declares the part of a triangle in a cuboid, and the sums and results of all parts.
 */
#ifndef RB_SOLID_CUBOID_CLIP_H
#define RB_SOLID_CUBOID_CLIP_H

#include "core/solid/cuboid_signs.h"

#ifdef __cplusplus
extern "C"
{
#endif

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

#ifdef __cplusplus
}
#endif

#endif /* RB_SOLID_CUBOID_CLIP_H */
