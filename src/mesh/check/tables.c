/*
 * tables.c
 *	  Implements growing hash tables of point pairs.
 */
#include "mesh/check/checking.h"

#define FREE UINT64_MAX

static inline uint64_t
key_of(uint32_t a, uint32_t b)
{
	return a < b ? (uint64_t) a << 32 | b : (uint64_t) b << 32 | a;
}

static inline size_t
first_slot(uint64_t key, size_t cap)
{
	uint64_t x = (key ^ key >> 32) * 0xd6e8feb86659fd93u;

	x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
	return (size_t) (x ^ x >> 32) & (cap - 1);
}

static rb_status
allocate_slots(rb_context *ctx, rb_pairs *t, size_t cap)
{
	RB_TRY(RB_ALLOCATE(ctx, t->key, cap));
	if (!t->set)
		RB_TRY(RB_ALLOCATE(ctx, t->value, cap));
	memset(t->key, 0xff, cap * sizeof(uint64_t));
	t->cap = cap;
	t->n = 0;
	return RB_OK;
}

/* Initializes an empty table, discarding previous contents */
rb_status
rb_pairs_init(rb_context *ctx, rb_pairs *t, size_t expected, bool set)
{
	size_t cap = 16;

	while (cap < expected + expected / 2)
		cap *= 2;
	t->set = set;
	/*
	 * Allocate no more than needed: clearing a large table for each of many small sets would be
	 * slow.
	 */
	return allocate_slots(ctx, t, cap);
}

void
rb_pairs_free(rb_memory *memory, rb_pairs *t)
{
	RB_FREE(memory, t->key);
	RB_FREE(memory, t->value);
	t->cap = t->n = 0;
}

static size_t
find_slot(const rb_pairs *t, uint64_t key)
{
	size_t at = first_slot(key, t->cap);

	while (t->key[at] != FREE && t->key[at] != key)
		at = (at + 1) & (t->cap - 1);
	return at;
}

static rb_status
grow_table(rb_context *ctx, rb_pairs *t)
{
	rb_pairs more = {.set = t->set};
	rb_status status = allocate_slots(ctx, &more, 2 * t->cap);

	for (size_t i = 0; status == RB_OK && i < t->cap; i++)
	{
		if (t->key[i] != FREE)
		{
			size_t at = find_slot(&more, t->key[i]);

			more.key[at] = t->key[i];
			if (!t->set)
				more.value[at] = t->value[i];
		}
		if (i % 65536 == 65535 && rb_should_stop(ctx))
			status = RB_STOPPED;
	}
	if (status != RB_OK)
	{
		rb_pairs_free(ctx->memory, &more);
		return status;
	}
	more.n = t->n;
	rb_pairs_free(ctx->memory, t);
	*t = more;
	return RB_OK;
}

rb_status
rb_pairs_insert(rb_context *ctx, rb_pairs *t, uint32_t a, uint32_t b, uint32_t value, uint32_t *was)
{
	uint64_t key = key_of(a, b);
	size_t at;

	if (t->n >= t->cap / 4 * 3)
		RB_TRY(grow_table(ctx, t));
	at = find_slot(t, key);
	*was = RB_NONE;
	if (t->key[at] == key)
		*was = t->set ? 0 : t->value[at];
	else
	{
		t->key[at] = key;
		if (!t->set)
			t->value[at] = value;
		t->n++;
	}
	return RB_OK;
}

uint32_t
rb_pairs_get(const rb_pairs *t, uint32_t a, uint32_t b)
{
	uint64_t key = key_of(a, b);
	size_t at = find_slot(t, key);

	return t->key[at] != key ? RB_NONE : t->set ? 0 : t->value[at];
}
