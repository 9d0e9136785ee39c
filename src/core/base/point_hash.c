/*
 * point_hash.c
 *	  Finds points with equal coordinates, by a hash table.
 *
 * A closed surface has half as many distinct vertices as triangles; unconnected triangles have
 * three times as many. The table starts small, which is fast, and grows.
 */
#include "core/base/point_hash.h"

rb_status
rb_point_hash_find(rb_context *ctx, const double *points, uint32_t n, rb_point_hash *c)
{
	RB_TRY(RB_RENEW(ctx, c->first, c->first_cap, n));
	RB_TRY(rb_point_table_reset(ctx, &c->table, n / 3));
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t *slot;

		RB_TRY(rb_point_table_reserve(ctx, &c->table, points, 1));
		slot = rb_point_table_find(&c->table, points, points + 3 * (size_t) i);
		if (*slot == RB_HASH_FREE)
		{
			*slot = i;
			c->table.n++;
		}
		c->first[i] = *slot;
		if (rb_stop_due(ctx, i, 4096))
			return RB_STOPPED;
	}
	return RB_OK;
}

void
rb_point_hash_free(rb_memory *memory, rb_point_hash *c)
{
	RB_FREE(memory, c->first);
	rb_point_table_free(memory, &c->table);
	c->first_cap = 0;
}
