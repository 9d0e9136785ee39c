/*
 * cache.c
 *	  Sets that are kept from one join to the next, within a budget.
 *
 * Reading a side costs many times what joining it costs, and most tables have not
 * changed since they were read last.  Whether that is so is not known here: whoever
 * keeps a set puts a card to it, on which he finds later what he needs to decide it.
 *
 * A set never changes, so a join may hold one while it is given up: its bytes are
 * counted until the last holder is gone.  When room is needed, what has not been used
 * for the longest time goes, whole.  That is simple, leaves no holes, and a join needs
 * a set whole anyway.  What others hold stays: giving it up makes no room.  And where there is
 * not room enough without it, nothing goes.
 *
 * One thread at a time may call these functions; sets are released from any thread.
 */
#include "core/base/rb_base.h"
#include "core/set/rb_set.h"

#include <stdlib.h>
#include <string.h>

typedef struct kept_set
{
	rb_kept pub; /* must be first */
	struct kept_set *next;
	size_t key_size;
	void *key; /* behind this struct, in one block with it */
} kept_set;

struct rb_cache
{
	rb_memory *memory;
	kept_set *first; /* the last one used */
};

/* a device that has a copy of a set knows it by this */
static uint64_t last_number;

rb_cache *
rb_cache_create(uint64_t limit_bytes)
{
	rb_cache *cache = calloc(1, sizeof *cache);

	if (cache == NULL)
		return NULL;
	cache->memory = rb_memory_create(limit_bytes);
	if (cache->memory == NULL)
	{
		free(cache);
		return NULL;
	}
	return cache;
}

uint64_t
rb_cache_used(const rb_cache *cache)
{
	return rb_memory_used(cache->memory);
}

void
rb_cache_set_last_number(uint64_t number)
{
	last_number = number;
}

/* where the pointer to that one is */
static kept_set **
link_of(rb_cache *cache, const rb_kept *kept)
{
	kept_set **link = &cache->first;

	while (&(*link)->pub != kept)
		link = &(*link)->next;
	return link;
}

void
rb_cache_drop(rb_cache *cache, rb_kept *kept)
{
	kept_set **link = link_of(cache, kept);
	kept_set *k = *link;

	*link = k->next;
	rb_set_release(&k->pub.set);
	rb_free(cache->memory, &k->pub.card);
	rb_free(cache->memory, (void **) &k);
}

void
rb_cache_destroy(rb_cache *cache)
{
	if (cache == NULL)
		return;
	while (cache->first != NULL)
		rb_cache_drop(cache, &cache->first->pub);
	rb_memory_destroy(cache->memory);
	free(cache);
}

/* the one that was not used for the longest time goes; false where there is none */
static bool
drop_last(rb_cache *cache)
{
	kept_set *k = cache->first;

	if (k == NULL)
		return false;
	while (k->next != NULL)
		k = k->next;
	rb_cache_drop(cache, &k->pub);
	return true;
}

void
rb_cache_set_limit(rb_cache *cache, uint64_t limit_bytes)
{
	rb_memory_set_limit(cache->memory, limit_bytes);
	while (rb_cache_used(cache) > limit_bytes && drop_last(cache))
		;
}

/* would that make room for a set, which may have been put together of this one? */
static bool
may_go(const kept_set *k, const rb_set *set)
{
	const bool part = set->view != NULL && set->view->kept == k->pub.set;

	return rb_set_holders(k->pub.set) == (part ? 2 : 1);
}

/* what stays, whatever goes; others may let go of theirs meanwhile */
static uint64_t
held_bytes(const rb_cache *cache, const rb_set *set)
{
	uint64_t bytes = rb_cache_used(cache);

	for (const kept_set *k = cache->first; k != NULL; k = k->next)
	{
		uint64_t taken = rb_set_taken(k->pub.set) + rb_block_bytes(k->pub.card) + rb_block_bytes(k);

		if (may_go(k, set))
			bytes -= taken < bytes ? taken : bytes;
	}
	return bytes;
}

/* of those that may go, the one that was not used for the longest time; false where there is none */
static bool
make_room(rb_cache *cache, const rb_set *set)
{
	rb_kept *last = NULL;

	for (kept_set *k = cache->first; k != NULL; k = k->next)
		if (may_go(k, set))
			last = &k->pub;
	if (last != NULL)
		rb_cache_drop(cache, last);
	return last != NULL;
}

/* room for a set with its card and key, and nothing else */
static rb_status
move_in(rb_cache *cache, const void *key, size_t key_size, const rb_set *set, size_t card_size,
		kept_set **kept, rb_error *error)
{
	kept_set *k = NULL;
	rb_status status = rb_resize(cache->memory, (void **) &k, sizeof *k + key_size, error);

	if (status != RB_OK)
		return status;
	memset(k, 0, sizeof *k);
	status = rb_resize(cache->memory, &k->pub.card, card_size, error);
	if (status == RB_OK)
		status = rb_set_move(set, cache->memory, error);
	if (status != RB_OK)
	{
		rb_free(cache->memory, &k->pub.card);
		rb_free(cache->memory, (void **) &k);
		return status;
	}
	k->key = k + 1;
	k->key_size = key_size;
	memcpy(k->key, key, key_size);
	k->pub.card_size = card_size;
	k->pub.bytes = rb_set_bytes(set) + card_size;
	*kept = k;
	return RB_OK;
}

rb_status
rb_cache_put(rb_cache *cache, const void *key, size_t key_size, const rb_set *set, const void *card,
			 size_t card_size, rb_error *error)
{
	const uint64_t bytes = rb_set_bytes(set) + card_size;
	const uint64_t limit = rb_memory_limit(cache->memory);
	rb_kept *old = rb_cache_find(cache, key, key_size);
	const uint64_t hits = old != NULL ? old->hits : 0;
	const uint64_t need =
		bytes > limit ? bytes : rb_set_taken(set) + card_size + held_bytes(cache, set);
	kept_set *k = NULL;
	rb_status status;

	/* nobody has to go for what has no room at all */
	if (need > limit)
	{
		*error = (rb_error){RB_OVER_BUDGET, need, limit, ""};
		return RB_OVER_BUDGET;
	}

	if (old != NULL && may_go((const kept_set *) old, set))
		rb_cache_drop(cache, old);
	do
		status = move_in(cache, key, key_size, set, card_size, &k, error);
	while (status == RB_OVER_BUDGET && make_room(cache, set));
	if (status != RB_OK)
		return status;
	/* it may be gone by now */
	old = rb_cache_find(cache, key, key_size);
	if (old != NULL)
		rb_cache_drop(cache, old);
	memcpy(k->pub.card, card, card_size);
	k->pub.hits = hits;
	rb_set_writable(set)->number = ++last_number;
	k->pub.set = rb_set_hold(set);
	k->next = cache->first;
	cache->first = k;
	return RB_OK;
}

rb_kept *
rb_cache_find(rb_cache *cache, const void *key, size_t key_size)
{
	for (kept_set *k = cache->first; k != NULL; k = k->next)
		if (k->key_size == key_size && memcmp(k->key, key, key_size) == 0)
			return &k->pub;
	return NULL;
}

const rb_set *
rb_cache_use(rb_cache *cache, rb_kept *kept)
{
	kept_set **link = link_of(cache, kept);
	kept_set *k = *link;

	*link = k->next;
	k->next = cache->first;
	cache->first = k;
	kept->hits++;
	return rb_set_hold(kept->set);
}

rb_kept *
rb_cache_next(const rb_cache *cache, const rb_kept *kept)
{
	kept_set *k = kept == NULL ? cache->first : ((const kept_set *) kept)->next;

	return k == NULL ? NULL : &k->pub;
}

const void *
rb_kept_key(const rb_kept *kept)
{
	return ((const kept_set *) kept)->key;
}
