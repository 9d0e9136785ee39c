/*
 * rb_corners.h
 *	  Points, corners of triangles mostly, are one where their coordinates are equal (corners.c).
 */
#ifndef RB_CORNERS_H
#define RB_CORNERS_H

#include "core/base/rb_base.h"

#include <string.h>

#ifdef __cplusplus
extern "C"
{
#endif

/* zeros before the first call; what was allocated for some points serves the next ones */
typedef struct rb_corners
{
	uint32_t *first; /* of each point the first one in its place: that is its name */
	size_t first_cap;
	uint32_t *table;
	size_t table_cap;
} rb_corners;

/* n points of x y z, three for each triangle; 0 and -0 are equal */
extern rb_status rb_corners_find(rb_context *ctx, const double *points, uint32_t n,
								 rb_corners *corners);
extern void rb_corners_free(rb_memory *memory, rb_corners *corners);

/* an array that has room for n at least; what was in it may be lost */
extern rb_status rb_room(rb_context *ctx, uint32_t **array, size_t *cap, size_t n);

static inline uint64_t
rb_mix(uint64_t x)
{
	x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
	return x ^ (x >> 32);
}

static inline uint64_t
rb_hash_coordinate(double x, uint64_t factor)
{
	uint64_t bits;

	x += 0.0; /* -0 is 0 */
	memcpy(&bits, &x, sizeof bits);
	return (bits ^ bits >> 32) * factor;
}

static inline uint64_t
rb_hash_point(const double *p)
{
	return rb_mix(rb_hash_coordinate(p[0], 0x9e3779b97f4a7c15u) +
				  rb_hash_coordinate(p[1], 0xc2b2ae3d27d4eb4fu) +
				  rb_hash_coordinate(p[2], 0x165667b19e3779f9u));
}

#ifdef __cplusplus
}
#endif

#endif /* RB_CORNERS_H */
