/*
 * point_hash.c
 *	  Finds points with equal coordinates, by a hash table.
 *
 * A closed surface has half as many distinct vertices as triangles; unconnected triangles have
 * three times as many. The table starts small, which is fast, and grows.
 */
#include "core/base/point_hash.h"

#define NONE UINT32_MAX

rb_status
rb_array_reserve(rb_context *ctx, uint32_t **array, size_t *cap, size_t n)
{
	rb_status status = RB_OK;

	if (n > *cap)
	{
		rb_free(ctx->memory, (void **) array);
		status = rb_array(ctx, (void **) array, n, sizeof **array);
		*cap = status == RB_OK ? n : 0;
	}
	return status;
}

static bool
is_same(const double *a, const double *b)
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* Returns the slot of a point in the table: that of its first occurrence, or an empty one. */
static uint32_t
find_slot(const rb_point_hash *c, const double *t, uint32_t mask, uint32_t point)
{
	const double *p = t + 3 * (size_t) point;
	uint32_t at = (uint32_t) rb_hash_point(p) & mask;

	while (c->table[at] != NONE && !is_same(t + 3 * (size_t) c->table[at], p))
		at = (at + 1) & mask;
	return at;
}

/* Builds a table of that size, a power of two, of the distinct points among the first n. */
static rb_status
build_table(rb_context *ctx, rb_point_hash *c, const double *t, size_t size, uint32_t n)
{
	rb_status status = rb_array_reserve(ctx, &c->table, &c->table_cap, size);

	if (status != RB_OK)
		return status;
	memset(c->table, 0xff, size * sizeof *c->table);
	for (uint32_t i = 0; i < n; i++)
		if (c->first[i] == i)
			c->table[find_slot(c, t, (uint32_t) size - 1, i)] = i;
	return rb_should_stop(ctx) ? RB_STOPPED : RB_OK;
}

rb_status
rb_point_hash_find(rb_context *ctx, const double *points, uint32_t n, rb_point_hash *c)
{
	size_t size = 16, different = 0;
	rb_status status = rb_array_reserve(ctx, &c->first, &c->first_cap, n);

	while (size < (size_t) n / 3 * 2)
		size *= 2;
	if (status == RB_OK)
		status = build_table(ctx, c, points, size, 0);
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		const uint32_t at = find_slot(c, points, (uint32_t) size - 1, i);

		if (c->table[at] == NONE)
		{
			c->table[at] = i;
			different++;
		}
		c->first[i] = c->table[at];
		if (different > size / 2)
		{
			size *= 4;
			status = build_table(ctx, c, points, size, i + 1);
		}
		if (i % 4096 == 4095 && rb_should_stop(ctx))
			status = RB_STOPPED;
	}
	return status;
}

void
rb_point_hash_free(rb_memory *memory, rb_point_hash *c)
{
	rb_free(memory, (void **) &c->first);
	rb_free(memory, (void **) &c->table);
	c->first_cap = c->table_cap = 0;
}
