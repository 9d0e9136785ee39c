/*
 * hash_table.h
 *	  Defines a hash table that maps edges and faces, given as two or three point indices in any
 *	  order, to a 32-bit word.
 */
#ifndef RB_MESH_HASH_TABLE_H
#define RB_MESH_HASH_TABLE_H

#include "core/base/base.h"
#include "mesh/plc.h"

typedef struct rb_entry
{
	/* point indices, ascending; key[2] is RB_NONE for an edge, key[0] in a free slot */
	uint32_t key[3];
	uint32_t value;
} rb_entry;

/* Sorts the point indices of an edge or a face into a key. */
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

/* Returns the hash of a key of three numbers. */
static inline uint64_t
rb_table_hash(const uint32_t *key)
{
	uint64_t h = (key[0] * UINT64_C(0x9e3779b97f4a7c15)) ^ (key[1] * UINT64_C(0xc2b2ae3d27d4eb4f)) ^
				 (key[2] * UINT64_C(0x165667b19e3779f9));

	h ^= h >> 32;
	return h * UINT64_C(0xd6e8feb86659fd93) >> 32;
}

#define RB_HASH rb_table
#define RB_HASH_SLOT rb_entry
#define RB_HASH_KEY const uint32_t *
#define RB_HASH_OF(arg, k) rb_table_hash(k)
#define RB_HASH_EQUAL(arg, slot, k) \
	((slot).key[0] == (k)[0] && (slot).key[1] == (k)[1] && (slot).key[2] == (k)[2])
#define RB_HASH_KEY_OF(arg, slot) ((slot).key)
#define RB_HASH_IS_FREE(slot) ((slot).key[0] == RB_NONE)
#include "core/base/hash.h"

/* Returns the value of a face, or of an edge if c is RB_NONE; NULL if it is not in the table. */
static inline uint32_t *
rb_table_get(const rb_table *t, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t key[3];
	rb_entry *e;

	if (t->n == 0)
		return NULL;
	rb_table_key(key, a, b, c);
	e = rb_table_find(t, NULL, key);
	return e->key[0] == RB_NONE ? NULL : &e->value;
}

/* Makes room for n entries in all. */
static inline rb_status
rb_table_expect(rb_context *ctx, rb_table *t, size_t n)
{
	return n > t->n ? rb_table_reserve(ctx, t, NULL, n - t->n) : RB_OK;
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
	rb_entry *e;
	bool is_new;

	RB_TRY(rb_table_reserve(ctx, t, NULL, 1));
	rb_table_key(key, a, b, c);
	e = rb_table_find(t, NULL, key);
	is_new = e->key[0] == RB_NONE;
	if (is_new)
	{
		*e = (rb_entry){{key[0], key[1], key[2]}, value};
		t->n++;
	}
	if (fresh != NULL)
		*fresh = is_new;
	if (there != NULL)
		*there = &e->value;
	return RB_OK;
}

/*
 * Removes all entries; also uses fewer slots if the table was much larger than its contents. Unlike
 * rb_table_clear it keeps the memory for a table that is filled again and again.
 */
static inline void
rb_table_empty(rb_table *t)
{
	if (t->n == 0)
		return;
	memset(t->slot, 0xff, (t->mask + 1) * sizeof *t->slot);
	while (t->mask >= 64 && (t->mask + 1) / 8 > t->n)
		t->mask >>= 1;
	t->n = 0;
}

#endif /* RB_MESH_HASH_TABLE_H */
