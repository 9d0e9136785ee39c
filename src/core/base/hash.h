/*
 * hash.h
 *	  Defines hash tables with open addressing and linear probing, as a template in the form of
 *	  PostgreSQL's simplehash.h.
 *
 * A file defines the parameters and includes this header, once for each type of table. This table
 * finds the number of an edge by its ends:
 *
 *		#define RB_HASH edge_table              name of the type, and prefix of its functions
 *		#define RB_HASH_SLOT uint32_t           what a slot holds
 *		#define RB_HASH_KEY uint64_t            what is searched for
 *		#define RB_HASH_ARG const edge *        what else the macros below need; optional
 *		#define RB_HASH_OF(edges, key) rb_mix(key)
 *		#define RB_HASH_EQUAL(edges, slot, key) (edges[slot].ends == (key))
 *		#define RB_HASH_KEY_OF(edges, slot) (edges[slot].ends)
 *		#include "core/base/hash.h"
 *
 * Slots may hold numbers of elements that are stored elsewhere, or the elements themselves. In a
 * free slot all bytes are 0xff; RB_HASH_IS_FREE(slot) must be defined if a slot is not an integer.
 * Without RB_HASH_KEY_OF a table cannot grow: it has room for the entries that it was reset for. If
 * the slots hold the numbers from 0 to n - 1, RB_HASH_NUMBERED saves a second table while it grows.
 * At most half of the slots are in use. A table of zeros is empty and has no memory.
 * RB_HASH_DECLARE omits the functions, in a header that needs the type; RB_HASH_DEFINE omits the
 * type.
 *
 *		edge_table_reset(ctx, &t, 100)          empties the table; makes room for 100 entries
 *		edge_table_find(&t, edges, key)         returns the slot of a key, or the free slot for it;
 *		                                        the table must have been reset or reserved for
 *		edge_table_prefetch(&t, edges, key)     fetches what a later search for a key needs
 *		edge_table_reserve(ctx, &t, edges, 1)   makes room for one more entry
 *		edge_table_clear(&t)                    empties the table until the next reservation
 *		edge_table_free(ctx->memory, &t)
 *
 * The caller fills a free slot, and counts it:
 *
 *		RB_TRY(edge_table_reserve(ctx, &t, edges, 1));
 *		slot = edge_table_find(&t, edges, key);
 *		if (*slot == RB_HASH_FREE)
 *		{
 *			*slot = number;
 *			t.n++;
 *		}
 *
 * The order of the slots depends on the hash function and on the history of the table. Results must
 * not depend on it, so a table is not scanned for its entries except where their order is free.
 */
#ifndef RB_BASE_HASH_H
#define RB_BASE_HASH_H

#include "core/base/base.h"

#define RB_HASH_FREE UINT32_MAX            /* free slot of a table of 32-bit numbers */
#define RB_HASH_SMALLEST RB_SIZE(16, 4)    /* minimum number of slots, a power of two */
#define RB_HASH_STRETCH ((size_t) 1 << 16) /* slots that are processed between two polls */

/* Returns a hash in which every bit of x affects every bit. */
static inline uint64_t
rb_mix(uint64_t x)
{
	x = (x ^ x >> 32) * 0x9fb21c651e98df25u;
	x = (x ^ x >> 29) * 0xd6e8feb86659fd93u;
	return x ^ x >> 32;
}

/*
 * Returns a pseudorandom number for x, the finalizer of SplitMix64. Samples depend on its values, so
 * they must not change.
 */
static inline uint64_t
rb_splitmix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Returns one number for an unordered pair of numbers, which can be a key. */
static inline uint64_t
rb_pair_key(uint32_t a, uint32_t b)
{
	return a < b ? (uint64_t) a << 32 | b : (uint64_t) b << 32 | a;
}

/* Returns the number of slots, a power of two, for n entries at most. */
static inline size_t
rb_hash_slots(size_t n)
{
	size_t size = RB_HASH_SMALLEST;

	while (size / 2 < n)
		size *= 2;
	return size;
}

/*
 * Chains of numbers by hash: *rb_chain_first is the number that was added last, or RB_HASH_FREE. The
 * caller stores which number follows each.
 */
typedef struct rb_chains
{
	uint32_t *first;
	size_t mask;
} rb_chains;

/* Makes empty chains for n numbers. */
static inline rb_status
rb_chains_reset(rb_context *ctx, rb_chains *c, size_t n)
{
	const size_t size = rb_hash_slots(n);

	RB_TRY(RB_ALLOCATE(ctx, c->first, size));
	memset(c->first, 0xff, size * sizeof *c->first);
	c->mask = size - 1;
	return RB_OK;
}

/* Returns the first entry of the chain for this hash, to read or to prepend to. */
static inline uint32_t *
rb_chain_first(const rb_chains *c, uint64_t hash)
{
	return &c->first[(size_t) hash & c->mask];
}

#endif /* RB_BASE_HASH_H */

#ifdef RB_HASH

#define RB_HASH_PASTE2(a, b) a##_##b
#define RB_HASH_PASTE(a, b) RB_HASH_PASTE2(a, b)
#define RB_HASH_NAME(verb) RB_HASH_PASTE(RB_HASH, verb)

#ifndef RB_HASH_ARG
#define RB_HASH_ARG const void *
#endif
#ifndef RB_HASH_IS_FREE
#define RB_HASH_IS_FREE(slot) ((slot) == (RB_HASH_SLOT) -1)
#endif

#ifndef RB_HASH_DEFINE
typedef struct RB_HASH
{
	RB_HASH_SLOT *slot;
	size_t cap;  /* number of slots that memory is allocated for */
	size_t mask; /* number of slots minus 1 */
	size_t n;    /* number of entries */
} RB_HASH;
#endif

#ifndef RB_HASH_DECLARE

/* Returns the slot of the key, or the free slot where it belongs; the table must have slots. */
static inline RB_HASH_SLOT *
RB_HASH_NAME(find)(const RB_HASH *t, RB_HASH_ARG arg, RB_HASH_KEY key)
{
	size_t at = (size_t) RB_HASH_OF(arg, key) & t->mask;

	(void) arg;
	while (!RB_HASH_IS_FREE(t->slot[at]) && !RB_HASH_EQUAL(arg, t->slot[at], key))
		at = (at + 1) & t->mask;
	return &t->slot[at];
}

/* Fetches the slot at which the search for a key will start. */
static inline void
RB_HASH_NAME(prefetch)(const RB_HASH *t, RB_HASH_ARG arg, RB_HASH_KEY key)
{
	(void) arg;
	__builtin_prefetch(&t->slot[(size_t) RB_HASH_OF(arg, key) & t->mask]);
}

/* Empties the table; the next reservation starts with a small table. */
static inline void
RB_HASH_NAME(clear)(RB_HASH *t)
{
	t->mask = t->n = 0;
}

/* Frees the slots; the table is then empty and can be used again. */
static inline void
RB_HASH_NAME(free)(rb_memory *memory, RB_HASH *t)
{
	RB_FREE(memory, t->slot);
	t->cap = t->mask = t->n = 0;
}

/*
 * Empties the table and makes room for n entries. Memory that does not suffice is freed before new
 * memory is allocated.
 */
static __attribute__((unused)) rb_status
RB_HASH_NAME(reset)(rb_context *ctx, RB_HASH *t, size_t n)
{
	const size_t size = rb_hash_slots(n);

	if (size > t->cap)
	{
		RB_HASH_NAME(free)(ctx->memory, t);
		RB_TRY(RB_ALLOCATE(ctx, t->slot, size));
		t->cap = size;
	}
	t->mask = size - 1;
	t->n = 0;
	for (size_t i = 0; i < size; i += RB_HASH_STRETCH)
	{
		const size_t stretch = size - i < RB_HASH_STRETCH ? size - i : RB_HASH_STRETCH;

		if (i > 0 && rb_should_stop(ctx))
		{
			t->mask = 0; /* Some slots are not cleared: the next reservation starts over. */
			return RB_STOPPED;
		}
		memset(t->slot + i, 0xff, stretch * sizeof *t->slot);
	}
	return RB_OK;
}

#ifdef RB_HASH_KEY_OF

#ifdef RB_HASH_NUMBERED

/* Makes room for n entries: empties the table and adds the elements again. */
static __attribute__((unused, noinline)) rb_status
RB_HASH_NAME(grow)(rb_context *ctx, RB_HASH *t, RB_HASH_ARG arg, size_t n)
{
	const size_t elements = t->n;

	RB_TRY(RB_HASH_NAME(reset)(ctx, t, n));
	for (; t->n < elements; t->n++)
	{
		*RB_HASH_NAME(find)(t, arg, RB_HASH_KEY_OF(arg, t->n)) = (RB_HASH_SLOT) t->n;
		if (rb_stop_due(ctx, t->n, RB_HASH_STRETCH))
			return RB_STOPPED;
	}
	return RB_OK;
}

#else

/* Moves the entries to a table with room for n. On failure the old table remains. */
static __attribute__((unused, noinline)) rb_status
RB_HASH_NAME(grow)(rb_context *ctx, RB_HASH *t, RB_HASH_ARG arg, size_t n)
{
	RB_HASH more = {0};
	rb_status status;

	if (t->n == 0)
		return RB_HASH_NAME(reset)(ctx, t, n);
	status = RB_HASH_NAME(reset)(ctx, &more, n);
	for (size_t i = 0; i <= t->mask && status == RB_OK; i++)
	{
		if (!RB_HASH_IS_FREE(t->slot[i]))
			*RB_HASH_NAME(find)(&more, arg, RB_HASH_KEY_OF(arg, t->slot[i])) = t->slot[i];
		if (rb_stop_due(ctx, i, RB_HASH_STRETCH))
			status = RB_STOPPED;
	}
	if (status != RB_OK)
	{
		RB_HASH_NAME(free)(ctx->memory, &more);
		return status;
	}
	more.n = t->n;
	RB_HASH_NAME(free)(ctx->memory, t);
	*t = more;
	return RB_OK;
}

#endif /* RB_HASH_NUMBERED */

/* Grows the table if needed, so that `more` further keys leave half of the slots free. */
static inline rb_status
RB_HASH_NAME(reserve)(rb_context *ctx, RB_HASH *t, RB_HASH_ARG arg, size_t more)
{
	return t->n + more <= (t->mask + 1) / 2 ? RB_OK : RB_HASH_NAME(grow)(ctx, t, arg, t->n + more);
}

#endif /* RB_HASH_KEY_OF */
#endif /* RB_HASH_DECLARE */

#undef RB_HASH
#undef RB_HASH_SLOT
#undef RB_HASH_KEY
#undef RB_HASH_ARG
#undef RB_HASH_OF
#undef RB_HASH_EQUAL
#undef RB_HASH_KEY_OF
#undef RB_HASH_IS_FREE
#undef RB_HASH_NUMBERED
#undef RB_HASH_DECLARE
#undef RB_HASH_DEFINE
#undef RB_HASH_NAME
#undef RB_HASH_PASTE
#undef RB_HASH_PASTE2

#endif /* RB_HASH */
