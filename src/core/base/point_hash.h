/*
 * point_hash.h
 *	  Identifies points with equal coordinates, mostly vertices of triangles.
 *
 * A closed surface has half as many distinct vertices as triangles; unconnected triangles have
 * three times as many. The table starts small, which is fast, and grows.
 */
#ifndef RB_BASE_POINT_HASH_H
#define RB_BASE_POINT_HASH_H

#include "core/base/hash.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Hashes one coordinate of a point; 0 and -0 have the same hash. */
static inline uint64_t
rb_hash_coordinate(double x, uint64_t factor)
{
	uint64_t bits;

	x += 0.0; /* turns -0 into 0 */
	memcpy(&bits, &x, sizeof bits);
	return (bits ^ bits >> 32) * factor;
}

/* Returns the hash of three coordinates; equal points have equal hashes, also 0 and -0. */
static inline uint64_t
rb_hash_point(const double *p)
{
	return rb_mix(rb_hash_coordinate(p[0], 0x9e3779b97f4a7c15u) +
				  rb_hash_coordinate(p[1], 0xc2b2ae3d27d4eb4fu) +
				  rb_hash_coordinate(p[2], 0x165667b19e3779f9u));
}

/* Returns true if all three coordinates are equal. */
static inline bool
rb_points_equal(const double *a, const double *b)
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* Finds the number of a point in an array of points */
#define RB_HASH rb_point_table
#define RB_HASH_SLOT uint32_t
#define RB_HASH_KEY const double *
#define RB_HASH_ARG const double *
#define RB_HASH_OF(points, p) rb_hash_point(p)
#define RB_HASH_EQUAL(points, slot, p) rb_points_equal((points) + 3 * (size_t) (slot), p)
#define RB_HASH_KEY_OF(points, slot) ((points) + 3 * (size_t) (slot))
#include "core/base/hash.h"

/*
 * Result and scratch memory of rb_point_hash_find, reused between calls; zeros before the first
 * call
 */
typedef struct rb_point_hash
{
	/* for each point, the first point with equal coordinates, which is its canonical id */
	uint32_t *first;
	size_t first_cap;
	rb_point_table table;
} rb_point_hash;

/*
 * Sets corners->first for n points of x, y, z, three for each triangle. Treats 0 and -0 as equal. A
 * point with a NaN equals no other one, and is not searched for: all NaNs have the same hash.
 */
static inline rb_status
rb_point_hash_find(rb_context *ctx, const double *points, uint32_t n, rb_point_hash *c)
{
	RB_TRY(RB_RENEW(ctx, c->first, c->first_cap, n));
	RB_TRY(rb_point_table_reset(ctx, &c->table, n / 3));
	for (uint32_t i = 0; i < n; i++)
	{
		const double *p = points + 3 * (size_t) i;

		c->first[i] = i;
		if (p[0] == p[0] && p[1] == p[1] && p[2] == p[2])
		{
			uint32_t *slot;

			RB_TRY(rb_point_table_reserve(ctx, &c->table, points, 1));
			slot = rb_point_table_find(&c->table, points, p);
			if (*slot == RB_HASH_FREE)
			{
				*slot = i;
				c->table.n++;
			}
			c->first[i] = *slot;
		}
		if (rb_stop_due(ctx, i, 4096))
			return RB_STOPPED;
	}
	return rb_should_stop(ctx) ? RB_STOPPED : RB_OK;
}

/* Frees the table and its arrays. */
static inline void
rb_point_hash_free(rb_memory *memory, rb_point_hash *c)
{
	RB_FREE(memory, c->first);
	rb_point_table_free(memory, &c->table);
	c->first_cap = 0;
}

#ifdef __cplusplus
}
#endif

#endif /* RB_BASE_POINT_HASH_H */
