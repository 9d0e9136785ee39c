/*
 * side_store.c
 *	  Manages the sides that the worker caches, and the list of them that sessions read.
 *
 *	worker		sets and page manifests, in its own memory (core's cache.c), under one lock
 *				   | after each change
 *	block		list: key, number, sizes		<-  any session, without a lock
 *
 * Cached sides stay in the process that uses them. A session looks up its side in the list,
 * requests the page manifest, and refers to the side by its number. Numbers are never reused, so an
 * entry can only be outdated, and then the worker reports that.
 *
 * The lock belongs to the threads of this process. It is held to change lists and to copy a page
 * manifest, never during a join or a driver call. No session waits for the worker to read the list:
 * an entry that the worker is writing, or died while writing, counts as empty.
 */
#include "pg/worker/protocol.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define TRIES 100 /* Attempts to read an entry that is being written */
/* Maximum number of evicted sides that may still have a copy on the device */
#define GONE (2 * RB_STORED)
/* PostgreSQL's epoch, 2000-01-01, in seconds since 1970 */
#define EPOCH INT64CONST(946684800)

static struct
{
	pthread_mutex_t lock;
	rb_cache *cache;
	rb_service_block *block;   /* NULL if nothing is listed */
	rb_stored list[RB_STORED]; /* Entries as in the block; number 0 if empty */
	uint64 gone[GONE];         /* Numbers of evicted sides, or 0 */
	uint64 device_limit;
} store = {.lock = PTHREAD_MUTEX_INITIALIZER};

/*
 * Returns the current time as a TimestampTz, to record when a cached side was last used. Callable
 * from any thread, unlike GetCurrentTimestamp.
 */
static int64
time_of_use_as_timestamp(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return ((int64) t.tv_sec - EPOCH) * 1000000 + t.tv_nsec / 1000;
}

/* ---- the list, in the worker; the caller holds the lock ---- */

/* Copies an entry of the list to shared memory. */
static void
publish_cached_side(int i)
{
	rb_stored_entry *e;
	uint32 change;

	if (store.block == NULL)
		return;
	e = &store.block->stored[i];
	/* The counter is already odd if a worker died while writing */
	change = rb_load(&e->change) | 1;
	rb_release(&e->change, change);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	e->stored = store.list[i];
	rb_release(&e->change, change + 1);
}

/* Returns the index of a side in the list, or -1; number 0 finds an empty entry. */
static int
find_index_of_cached_side(uint64 number)
{
	for (int i = 0; i < RB_STORED; i++)
		if (store.list[i].number == number)
			return i;
	return -1;
}

/* Returns the cached side with that number, or NULL. */
static rb_cache_entry *
find_cached_side(uint64 number)
{
	rb_cache_entry *kept = NULL;

	if (store.cache == NULL || number == 0)
		return NULL;
	while ((kept = rb_cache_next(store.cache, kept)) != NULL)
		if (kept->set->number == number)
			return kept;
	return NULL;
}

/*
 * Notes that a side was evicted. If the array is full, the device evicts its copy when it needs the
 * memory.
 */
static void
note_evicted_side(uint64 number)
{
	int place = -1;

	for (int i = 0; i < GONE; i++)
	{
		if (store.gone[i] == number)
			return;
		if (store.gone[i] == 0)
			place = i;
	}
	if (place >= 0)
		store.gone[place] = number;
}

/* Removes a side from the evicted ones whose copies on devices are still to be freed. */
static void
forget_evicted_side(uint64 number)
{
	for (int i = 0; i < GONE; i++)
		if (store.gone[i] == number)
			store.gone[i] = 0;
}

/* Removes from the list the sides that the cache has evicted. */
static void
unlist_evicted_sides(void)
{
	for (int i = 0; i < RB_STORED; i++)
		if (store.list[i].number != 0 && find_cached_side(store.list[i].number) == NULL)
		{
			note_evicted_side(store.list[i].number);
			memset(&store.list[i], 0, sizeof store.list[i]);
			publish_cached_side(i);
		}
}

/* Adds a cached side to the list. */
static void
list_cached_side(const rb_to_keep *keep, const rb_cache_entry *kept, bool ascend)
{
	const int i = find_index_of_cached_side(0);
	const rb_set *set = kept->set;

	Assert(i >= 0);
	store.list[i] = (rb_stored){.number = set->number,
								.keep = *keep,
								.kind = set->kind,
								.nparts = set->nparts,
								.nrows = set->nrows,
								.has_row_of = set->row_of != NULL,
								.has_ids = set->ids != NULL,
								.first_id = set->first_id,
								.skipped = set->skipped,
								.srid = set->srid,
								.bytes = kept->bytes,
								.hits = kept->hits,
								.used = time_of_use_as_timestamp(),
								.ascend = ascend};
	publish_cached_side(i);
}

/* ---- functions for the worker ---- */

void
rb_store_open(rb_service_block *block, uint32 number)
{
	pthread_mutex_lock(&store.lock);
	if (store.cache == NULL)
		store.cache = rb_cache_create(0);
	rb_cache_set_last_number((uint64) number << 32);
	store.block = block;
	for (int i = 0; i < RB_STORED; i++)
		publish_cached_side(i);
	pthread_mutex_unlock(&store.lock);
}

void
rb_store_close(void)
{
	pthread_mutex_lock(&store.lock);
	memset(store.list, 0, sizeof store.list);
	for (int i = 0; i < RB_STORED; i++)
		publish_cached_side(i);
	store.block = NULL;
	pthread_mutex_unlock(&store.lock);
}

void
rb_store_set_limits(uint64 host_bytes, uint64 device_bytes)
{
	pthread_mutex_lock(&store.lock);
	store.device_limit = device_bytes;
	if (store.cache != NULL)
		rb_cache_set_limit(store.cache, host_bytes);
	unlist_evicted_sides();
	pthread_mutex_unlock(&store.lock);
}

uint64
rb_store_device_limit(void)
{
	uint64 limit;

	pthread_mutex_lock(&store.lock);
	limit = store.device_limit;
	pthread_mutex_unlock(&store.lock);
	return limit;
}

const rb_set *
rb_store_use(uint64 number, bool hit)
{
	const rb_set *set = NULL;
	rb_cache_entry *kept;

	pthread_mutex_lock(&store.lock);
	kept = find_cached_side(number);
	if (kept != NULL && hit)
	{
		int i = find_index_of_cached_side(number);

		set = rb_cache_use(store.cache, kept);
		if (i >= 0)
		{
			store.list[i].hits = kept->hits;
			store.list[i].used = time_of_use_as_timestamp();
			publish_cached_side(i);
		}
	}
	else if (kept != NULL)
		set = rb_set_hold(kept->set);
	pthread_mutex_unlock(&store.lock);
	return set;
}

void *
rb_store_manifest(uint64 number, uint64 from, size_t bytes)
{
	const rb_cache_entry *kept;
	void *card = NULL;

	pthread_mutex_lock(&store.lock);
	kept = find_cached_side(number);
	if (kept != NULL && from <= kept->card_size && bytes <= kept->card_size - from)
		card = malloc(bytes);
	if (card != NULL)
		memcpy(card, (const char *) kept->card + from, bytes);
	pthread_mutex_unlock(&store.lock);
	return card;
}

/* Evicts the least recently used side if there are more sides than the list can hold. */
static void
free_slot_for_cached_side(void)
{
	rb_cache_entry *last = NULL;
	rb_cache_entry *next = NULL;
	int n = 0;

	while ((next = rb_cache_next(store.cache, next)) != NULL)
	{
		last = next;
		n++;
	}
	if (n > RB_STORED)
		rb_cache_drop(store.cache, last);
}

rb_status
rb_store_put(const rb_to_keep *keep, const void *card, const rb_set *set, rb_error *error)
{
	const bool ascend = rb_set_ids_ascend(set);
	rb_status status = RB_OUT_OF_MEMORY;

	*error = (rb_error){RB_OUT_OF_MEMORY, sizeof *keep, 0, ""};
	pthread_mutex_lock(&store.lock);
	if (store.cache != NULL)
	{
		status = rb_cache_put(store.cache, keep->key, sizeof keep->key, set, card, keep->card_bytes,
							  error);
		free_slot_for_cached_side();
		unlist_evicted_sides();
	}
	if (status == RB_OK)
		list_cached_side(keep, find_cached_side(set->number), ascend);
	pthread_mutex_unlock(&store.lock);
	return status;
}

bool
rb_store_set_manifest(uint64 number, const rb_to_keep *keep, const void *card)
{
	rb_cache_entry *kept;
	int i;
	bool fits;

	pthread_mutex_lock(&store.lock);
	kept = find_cached_side(number);
	i = find_index_of_cached_side(number);
	fits = kept != NULL && i >= 0 && kept->card_size == keep->card_bytes &&
		   memcmp(store.list[i].keep.key, keep->key, sizeof keep->key) == 0;
	if (fits)
	{
		memcpy(kept->card, card, kept->card_size);
		store.list[i].keep = *keep;
		publish_cached_side(i);
	}
	pthread_mutex_unlock(&store.lock);
	return fits;
}

void
rb_store_drop(uint64 number)
{
	rb_cache_entry *kept;

	pthread_mutex_lock(&store.lock);
	if (number != 0)
	{
		if ((kept = find_cached_side(number)) != NULL)
			rb_cache_drop(store.cache, kept);
	}
	else
		while (store.cache != NULL && (kept = rb_cache_next(store.cache, NULL)) != NULL)
			rb_cache_drop(store.cache, kept);
	unlist_evicted_sides();
	pthread_mutex_unlock(&store.lock);
}

/* ---- copies on the device ---- */

void
rb_store_was_used(uint64 number)
{
	if (number == 0)
		return;
	pthread_mutex_lock(&store.lock);
	if (find_cached_side(number) == NULL)
		note_evicted_side(number);
	pthread_mutex_unlock(&store.lock);
}

/* Calls the driver without holding the lock. */
void
rb_store_note_device(const rb_backend *device)
{
	uint64 number[RB_STORED];
	uint64 bytes[RB_STORED];
	uint64 gone[GONE];

	if (device->copy_bytes == NULL)
		return;
	pthread_mutex_lock(&store.lock);
	memcpy(gone, store.gone, sizeof gone);
	for (int i = 0; i < RB_STORED; i++)
		number[i] = store.list[i].number;
	pthread_mutex_unlock(&store.lock);
	for (int i = 0; i < GONE; i++)
		if (gone[i] != 0 && device->copy_bytes(gone[i], true) > 0)
			gone[i] = 0; /* The copy is in use; try again later. */
	for (int i = 0; i < RB_STORED; i++)
		bytes[i] = number[i] != 0 ? device->copy_bytes(number[i], false) : 0;
	pthread_mutex_lock(&store.lock);
	for (int i = 0; i < GONE; i++)
		if (gone[i] != 0)
			forget_evicted_side(gone[i]);
	for (int i = 0; i < RB_STORED; i++)
		if (store.list[i].number == number[i] && store.list[i].device_bytes != bytes[i])
		{
			store.list[i].device_bytes = bytes[i];
			publish_cached_side(i);
		}
	pthread_mutex_unlock(&store.lock);
}

/* ---- functions for sessions ---- */

/* Copies an entry; returns true if it is valid and belongs to the running worker. */
static bool
copy_shared_entry_of_side(rb_service_block *block, int i, rb_stored *stored)
{
	rb_stored_entry *e = &block->stored[i];
	uint64 word = rb_acquire(&block->worker);

	for (int k = 0; k < TRIES; k++)
	{
		uint32 change = rb_acquire(&e->change);

		if ((change & 1) == 0)
		{
			*stored = e->stored;
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			if (rb_load(&e->change) == change)
				return stored->number != 0 && RB_WORKER_STATE(word) == RB_WORKER_RUNNING &&
					   stored->number >> 32 == RB_WORKER_NUMBER(word);
		}
		sched_yield();
	}
	return false;
}

bool
rb_stored_find(const void *key, rb_stored *stored)
{
	rb_service_block *block = rb_service_find();

	for (int i = 0; block != NULL && i < RB_STORED; i++)
		if (copy_shared_entry_of_side(block, i, stored) &&
			memcmp(stored->keep.key, key, RB_KEY_BYTES) == 0)
			return true;
	memset(stored, 0, sizeof *stored);
	return false;
}

bool
rb_stored_get(int i, rb_stored *stored)
{
	rb_service_block *block = rb_service_find();
	const bool there = block != NULL && i >= 0 && i < RB_STORED;

	if (!there || !copy_shared_entry_of_side(block, i, stored))
		memset(stored, 0, sizeof *stored);
	return there;
}

/* Two tables may share a slot; then repeated reads are recognized less often. */
bool
rb_stored_was_seen(uint64 key, uint64 state)
{
	rb_service_block *block = rb_service_find();
	rb_seen_table *seen;
	bool was;

	if (block == NULL || key == 0)
		return false;
	seen = &block->seen[key % RB_SEEN];
	was = rb_load(&seen->key) == key && rb_load(&seen->state) == state;
	rb_store(&seen->key, key);
	rb_store(&seen->state, state);
	return was;
}
