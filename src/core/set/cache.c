/*
 * cache.c
 *	  Caches sets from one join to the next, within a memory budget.
 *
 * Reading a table costs many times what joining it costs, and most tables have not changed since
 * they were last read. The cache does not know whether a table has changed. The user of the cache
 * attaches a manifest (`card`) to each set, and later decides from the manifest whether the table
 * has changed.
 *
 * A set never changes, so a join may hold one while it is evicted. Its bytes are counted until the
 * last holder releases it. Eviction removes whole sets, the least recently used first. This is
 * simple and leaves no holes, and a join needs the whole set anyway. Sets that others hold are not
 * evicted, since that would free no memory. If evicting all other sets would not make enough room,
 * none is evicted.
 *
 * Only one thread at a time may call these functions. Sets may be released from any thread.
 */
#include "core/base/base.h"
#include "core/set/set.h"

#include <stdlib.h>
#include <string.h>

typedef struct cache_entry
{
	rb_cache_entry pub; /* must be first */
	struct cache_entry *next;
	size_t key_size;
	void *key; /* follows this struct in the same block */
} cache_entry;

struct rb_cache
{
	rb_memory *memory;
	cache_entry *first; /* list of entries, most recently used first */
};

/*
 * The last number assigned to a cached set. A device identifies its copy of a set by this number.
 */
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

/* Returns the address of the pointer to an entry. */
static cache_entry **
link_of_cache_entry(rb_cache *cache, const rb_cache_entry *kept)
{
	cache_entry **link = &cache->first;

	while (&(*link)->pub != kept)
		link = &(*link)->next;
	return link;
}

void
rb_cache_drop(rb_cache *cache, rb_cache_entry *kept)
{
	cache_entry **link = link_of_cache_entry(cache, kept);
	cache_entry *k = *link;

	*link = k->next;
	rb_set_release(&k->pub.set);
	rb_free(cache->memory, &k->pub.card);
	RB_FREE(cache->memory, k);
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

/* Evicts the least recently used entry, or returns false if the cache is empty. */
static bool
evict_last_cache_entry(rb_cache *cache)
{
	cache_entry *k = cache->first;

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
	while (rb_cache_used(cache) > limit_bytes && evict_last_cache_entry(cache))
		;
}

/*
 * Returns true if evicting the entry would free memory for `set`, which may be a delta set built on
 * the entry's set.
 */
static bool
is_eviction_useful(const cache_entry *k, const rb_set *set)
{
	const bool part = set->view != NULL && set->view->kept == k->pub.set;

	return rb_set_holders(k->pub.set) == (part ? 2 : 1);
}

/* Returns the bytes that eviction cannot free. Other threads may release their sets meanwhile. */
static uint64_t
held_cache_bytes(const rb_cache *cache, const rb_set *set)
{
	uint64_t bytes = rb_cache_used(cache);

	for (const cache_entry *k = cache->first; k != NULL; k = k->next)
	{
		uint64_t taken =
			rb_set_block_bytes(k->pub.set) + rb_block_bytes(k->pub.card) + rb_block_bytes(k);

		if (is_eviction_useful(k, set))
			bytes -= taken < bytes ? taken : bytes;
	}
	return bytes;
}

/*
 * Evicts the least recently used entry that nothing else holds, or returns false if there is none.
 */
static bool
evict_unheld_cache_entry(rb_cache *cache, const rb_set *set)
{
	rb_cache_entry *last = NULL;

	for (cache_entry *k = cache->first; k != NULL; k = k->next)
		if (is_eviction_useful(k, set))
			last = &k->pub;
	if (last != NULL)
		rb_cache_drop(cache, last);
	return last != NULL;
}

/*
 * Moves a set that is put into the cache, with its manifest and key, to the cache's memory,
 * without evicting another one.
 */
static rb_status
move_set_to_cache_memory(rb_cache *cache, const void *key, size_t key_size, const rb_set *set,
						 size_t card_size, cache_entry **kept, rb_error *error)
{
	cache_entry *k = NULL;
	rb_status status;

	RB_TRY(rb_resize(cache->memory, (void **) &k, sizeof *k + key_size, error));
	memset(k, 0, sizeof *k);
	status = rb_resize(cache->memory, &k->pub.card, card_size, error);
	if (status == RB_OK)
		status = rb_set_move(set, cache->memory, error);
	if (status != RB_OK)
	{
		rb_free(cache->memory, &k->pub.card);
		RB_FREE(cache->memory, k);
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
	rb_cache_entry *old = rb_cache_find(cache, key, key_size);
	const uint64_t hits = old != NULL ? old->hits : 0;
	const uint64_t need =
		bytes > limit ? bytes : rb_set_block_bytes(set) + card_size + held_cache_bytes(cache, set);
	cache_entry *k = NULL;
	rb_status status;

	/* Evict nothing for a set that cannot fit at all. */
	if (need > limit)
	{
		*error = (rb_error){RB_OVER_BUDGET, need, limit, ""};
		return RB_OVER_BUDGET;
	}

	if (old != NULL && is_eviction_useful((const cache_entry *) old, set))
		rb_cache_drop(cache, old);
	do
		status = move_set_to_cache_memory(cache, key, key_size, set, card_size, &k, error);
	while (status == RB_OVER_BUDGET && evict_unheld_cache_entry(cache, set));
	if (status != RB_OK)
		return status;
	/* evict_unheld_cache_entry may have evicted the old entry. */
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

rb_cache_entry *
rb_cache_find(rb_cache *cache, const void *key, size_t key_size)
{
	for (cache_entry *k = cache->first; k != NULL; k = k->next)
		if (k->key_size == key_size && memcmp(k->key, key, key_size) == 0)
			return &k->pub;
	return NULL;
}

const rb_set *
rb_cache_use(rb_cache *cache, rb_cache_entry *kept)
{
	cache_entry **link = link_of_cache_entry(cache, kept);
	cache_entry *k = *link;

	*link = k->next;
	k->next = cache->first;
	cache->first = k;
	kept->hits++;
	return rb_set_hold(kept->set);
}

rb_cache_entry *
rb_cache_next(const rb_cache *cache, const rb_cache_entry *kept)
{
	cache_entry *k = kept == NULL ? cache->first : ((const cache_entry *) kept)->next;

	return k == NULL ? NULL : &k->pub;
}
