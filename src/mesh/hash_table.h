/*
 * hash_table.h
 *	  Implements a hash table that maps edges and faces, given as two or three point indices in any
 *	  order, to a 32-bit word.
 *
 * It uses open addressing with a power of two of slots, at most two thirds of them occupied. Single
 * entries are never removed; the table can only be cleared. The order of entries is unspecified.
 */
#ifndef RB_MESH_HASH_TABLE_H
#define RB_MESH_HASH_TABLE_H

#include "core/base/base.h"
#include "mesh/plc.h"

typedef struct rb_entry
{
	/* point indices, ascending; key[2] is RB_NONE for an edge, key[0] in an empty slot */
	uint32_t key[3];
	uint32_t value;
} rb_entry;

typedef struct rb_table
{
	rb_entry *entries;
	uint32_t places; /* number of slots: a power of two, or 0 */
	uint32_t used;
} rb_table;

static inline void
rb_table_key(uint32_t *key, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t t;

#define RB_ORDER(x, y) \
	if (x > y)         \
	t = x, x = y, y = t
	RB_ORDER(a, b);
	RB_ORDER(b, c);
	RB_ORDER(a, b);
#undef RB_ORDER
	key[0] = a;
	key[1] = b;
	key[2] = c;
}

static inline uint32_t
rb_table_slot(const rb_table *t, const uint32_t *key)
{
	uint64_t h = (key[0] * UINT64_C(0x9e3779b97f4a7c15)) ^ (key[1] * UINT64_C(0xc2b2ae3d27d4eb4f)) ^
				 (key[2] * UINT64_C(0x165667b19e3779f9));
	uint32_t place;

	h ^= h >> 32;
	h *= UINT64_C(0xd6e8feb86659fd93);
	place = (uint32_t) (h >> 32) & (t->places - 1);
	while (t->entries[place].key[0] != RB_NONE &&
		   (t->entries[place].key[0] != key[0] || t->entries[place].key[1] != key[1] ||
			t->entries[place].key[2] != key[2]))
		place = (place + 1) & (t->places - 1);
	return place;
}

/* Returns the value of a face, or of an edge if c is RB_NONE; NULL if it is not in the table. */
static inline uint32_t *
rb_table_find(const rb_table *t, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t key[3];
	uint32_t place;

	if (t->used == 0)
		return NULL;
	rb_table_key(key, a, b, c);
	place = rb_table_slot(t, key);
	return t->entries[place].key[0] == RB_NONE ? NULL : &t->entries[place].value;
}

static inline rb_status
rb_table_reserve(rb_context *ctx, rb_table *t, uint64_t n)
{
	uint32_t old = t->places;
	uint64_t places = old > 0 ? old : 16;
	rb_entry *from = t->entries;
	rb_table wide = {NULL, 0, 0};
	rb_status status;

	while (places < n + n / 2 + 2)
		places *= 2;
	if (places == old)
		return RB_OK;
	if (places > (uint64_t) 1 << 31)
		return rb_fail(ctx, RB_TOO_MANY_OBJECTS, n, (uint64_t) 1 << 30, NULL);
	status = RB_ALLOCATE(ctx, wide.entries, places);
	if (status != RB_OK)
		return status;
	wide.places = (uint32_t) places;
	wide.used = t->used;
	memset(wide.entries, 0xff, places * sizeof(rb_entry));
	for (uint32_t i = 0; i < old; i++)
		if (from[i].key[0] != RB_NONE)
			wide.entries[rb_table_slot(&wide, from[i].key)] = from[i];
	RB_FREE(ctx->memory, t->entries);
	*t = wide;
	return RB_OK;
}

/*
 * Inserts value if the key is new. If `there` is not NULL, *there points to the key's value until
 * the next insertion.
 */
static inline rb_status
rb_table_insert(rb_context *ctx, rb_table *t, uint32_t a, uint32_t b, uint32_t c, uint32_t value,
				uint32_t **there, bool *fresh)
{
	uint32_t key[3];
	uint32_t place;
	rb_status status = rb_table_reserve(ctx, t, (uint64_t) t->used + 1);

	if (status != RB_OK)
		return status;
	rb_table_key(key, a, b, c);
	place = rb_table_slot(t, key);
	if (fresh != NULL)
		*fresh = t->entries[place].key[0] == RB_NONE;
	if (t->entries[place].key[0] == RB_NONE)
	{
		memcpy(t->entries[place].key, key, sizeof key);
		t->entries[place].value = value;
		t->used++;
	}
	if (there != NULL)
		*there = &t->entries[place].value;
	return RB_OK;
}

/*
 * Removes all entries; also shrinks the part in use if the table is much larger than its contents
 * were.
 */
static inline void
rb_table_clear(rb_table *t)
{
	uint32_t used = t->used;

	if (used == 0)
		return;
	memset(t->entries, 0xff, (size_t) t->places * sizeof(rb_entry));
	t->used = 0;
	while (t->places > 64 && t->places / 8 > used)
		t->places /= 2;
}

static inline void
rb_table_free(rb_memory *memory, rb_table *t)
{
	RB_FREE(memory, t->entries);
	t->places = t->used = 0;
}

#endif /* RB_MESH_HASH_TABLE_H */
