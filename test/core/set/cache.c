/*
 * cache.c
 *	  Tests cached sets: they are found by key, used, and evicted if room is needed, but never while
 *	  they are held.
 */
#include "fixtures.h"
#include "core/base/base.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static rb_memory *memory;

/* Builds n rows of one triangle each. */
static const rb_set *
make_triangles(uint32_t n)
{
	return build_rows(memory, &(row_series){.kind = RB_TRIANGLE3, .n = n, .step = 1, .spacing = 1});
}

static rb_status
put(rb_cache *cache, uint64_t key, const rb_set *set, rb_error *error)
{
	const uint64_t card = key * 3;

	return rb_cache_put(cache, &key, sizeof key, set, &card, sizeof card, error);
}

static rb_cache_entry *
find(rb_cache *cache, uint64_t key)
{
	rb_cache_entry *kept = rb_cache_find(cache, &key, sizeof key);

	if (kept != NULL)
		CHECK(*(uint64_t *) kept->card == key * 3 && kept->card_size == sizeof(uint64_t),
			  "its card");
	return kept;
}

static int
count(const rb_cache *cache)
{
	int n = 0;

	for (rb_cache_entry *kept = rb_cache_next(cache, NULL); kept != NULL;
		 kept = rb_cache_next(cache, kept))
		n++;
	return n;
}

static void
kept_and_found(void)
{
	rb_cache *cache = rb_cache_create((uint64_t) 64 << 20);
	rb_error error;
	const rb_set *set = build_rows(memory, &(row_series){.kind = RB_TRIANGLE3,
														 .n = 5000,
														 .every = 3,
														 .parts = 2,
														 .first_id = 7,
														 .step = 3,
														 .spacing = 1});
	const rb_set *held;
	uint64_t bytes = rb_set_bytes(set);

	CHECK(find(cache, 1) == NULL, "nothing yet");
	CHECK(put(cache, 1, set, &error) == RB_OK, "put");
	CHECK(rb_memory_used(memory) == 0 && rb_cache_used(cache) >= bytes, "it has moved");
	rb_set_release(&set);
	CHECK(find(cache, 1) != NULL && find(cache, 1)->hits == 0 && find(cache, 2) == NULL, "found");
	held = rb_cache_use(cache, find(cache, 1));
	CHECK(find(cache, 1)->hits == 1 && held->nrows == 5000 && held->ids[10] == 37, "used");

	/* Replace the set; the holder still has the old one. */
	set = make_triangles(10);
	CHECK(put(cache, 1, set, &error) == RB_OK && find(cache, 1)->set == set, "replaced");
	CHECK(find(cache, 1)->hits == 1 && count(cache) == 1, "its hits stay");
	CHECK(held->coords[0] == 7 && rb_cache_used(cache) > bytes, "still held");
	rb_set_release(&held);
	CHECK(rb_cache_used(cache) < bytes, "gone");
	rb_set_release(&set);
	rb_cache_drop(cache, find(cache, 1));
	CHECK(rb_cache_used(cache) == 0 && count(cache) == 0, "given up");
	rb_cache_destroy(cache);
}

static void
room(void)
{
	const uint64_t limit = (uint64_t) 4 << 20;
	rb_cache *cache = rb_cache_create(limit);
	rb_error error;
	const rb_set *set;
	const rb_set *held;

	/* About 720 kB each */
	for (uint64_t key = 0; key < 20; key++)
	{
		set = make_triangles(10000);
		CHECK(put(cache, key, set, &error) == RB_OK, "put %d", (int) key);
		rb_set_release(&set);
		CHECK(rb_cache_used(cache) <= limit, "within the limit");
		if (key > 0) /* The first set is always the most recently used one */
		{
			held = rb_cache_use(cache, find(cache, 0));
			rb_set_release(&held);
		}
	}
	CHECK(find(cache, 0) != NULL && find(cache, 19) != NULL && find(cache, 1) == NULL,
		  "the last ones used stay");

	/* A set that is held cannot be evicted: there is no room until it is released. */
	held = rb_set_hold(find(cache, 0)->set);
	set = make_triangles(50000);
	CHECK(put(cache, 99, set, &error) == RB_OVER_BUDGET && find(cache, 99) == NULL, "no room");
	CHECK(rb_memory_used(memory) > 0 && set->coords[9] == 1, "as it was");
	rb_set_release(&held);
	CHECK(put(cache, 99, set, &error) == RB_OK, "now there is");
	rb_set_release(&set);

	/* Larger than the whole cache: nothing is evicted. */
	set = make_triangles(100000);
	CHECK(put(cache, 100, set, &error) == RB_OVER_BUDGET && find(cache, 99) != NULL, "too large");
	CHECK(error.limit == limit && error.need > limit, "needs %lu", (unsigned long) error.need);
	rb_set_release(&set);
	rb_cache_set_limit(cache, 1000);
	CHECK(count(cache) == 0 && rb_cache_used(cache) == 0, "a lower limit");
	CHECK(rb_memory_used(memory) == 0, "memory left");
	rb_cache_destroy(cache);
}

/*
 * Tests that no set is evicted unnecessarily: neither for a set that does not fit while others are
 * held, nor if it is held itself.
 */
static void
held_by_others(void)
{
	rb_cache *cache = rb_cache_create((uint64_t) 4 << 20);
	const rb_set *held[2];
	const rb_set *set;
	rb_error error;

	/* 3.6 MB in five sets */
	for (uint64_t key = 0; key < 5; key++)
	{
		set = make_triangles(10000);
		CHECK(put(cache, key, set, &error) == RB_OK, "put %d", (int) key);
		rb_set_release(&set);
	}
	held[0] = rb_set_hold(find(cache, 0)->set);
	held[1] = rb_set_hold(find(cache, 1)->set);

	/*
	 * It does not fit beside the two sets that are held, neither as a new entry nor in place of one
	 * of them.
	 */
	set = make_triangles(45000);
	for (uint64_t key = 0; key < 10; key += 9)
	{
		CHECK(put(cache, key, set, &error) == RB_OVER_BUDGET && count(cache) == 5, "too large");
		CHECK(error.limit == (uint64_t) 4 << 20 && error.need > error.limit, "needs %lu",
			  (unsigned long) error.need);
	}
	rb_set_release(&set);

	/* It fits in place of the third one, which is not held. */
	set = make_triangles(12000);
	CHECK(put(cache, 9, set, &error) == RB_OK, "put");
	CHECK(find(cache, 0) != NULL && find(cache, 1) != NULL && find(cache, 2) == NULL &&
			  count(cache) == 5,
		  "those that are held stay");
	rb_set_release(&set);

	/* Another set with the key of a held one replaces it. */
	set = make_triangles(12000);
	CHECK(put(cache, 0, set, &error) == RB_OK && find(cache, 0)->set == set, "replaced");
	CHECK(find(cache, 1) != NULL && find(cache, 9) != NULL && find(cache, 3) == NULL,
		  "and they stay");
	rb_set_release(&set);

	rb_set_release(&held[0]);
	rb_set_release(&held[1]);
	rb_cache_destroy(cache);
	CHECK(rb_memory_used(memory) == 0, "memory left");
}

/* Uses sets in a join while another thread evicts them. */
static void *
use_and_release(void *arg)
{
	for (int i = 0; i < 300; i++)
	{
		const rb_set *set = rb_set_hold(arg);

		CHECK(set->coords[9] == 1 && set->nrows == 1000, "there as long as it is held");
		rb_set_release(&set);
	}
	rb_set_release((const rb_set **) &arg);
	return NULL;
}

static void
given_up_while_held(void)
{
	rb_cache *cache = rb_cache_create((uint64_t) 1 << 20);
	pthread_t thread[8];
	rb_error error;

	for (int t = 0; t < 8; t++)
	{
		const rb_set *set = make_triangles(1000);

		CHECK(put(cache, (uint64_t) t, set, &error) == RB_OK, "put");
		pthread_create(&thread[t], NULL, use_and_release, (void *) set);
	}
	while (rb_cache_next(cache, NULL) != NULL)
		rb_cache_drop(cache, rb_cache_next(cache, NULL));
	for (int t = 0; t < 8; t++)
		pthread_join(thread[t], NULL);
	CHECK(rb_cache_used(cache) == 0, "memory left");
	rb_cache_destroy(cache);
}

/* Tests that a set that cannot be moved is unchanged, whichever of its arrays did not fit. */
static void
moved(void)
{
	rb_memory *to = rb_memory_create(0);
	const rb_set *set = build_rows(memory, &(row_series){.kind = RB_SEGMENT3,
														 .n = 3000,
														 .every = 3,
														 .parts = 2,
														 .first_id = 5,
														 .step = 2,
														 .spacing = 1});
	const uint64_t used = rb_memory_used(memory);
	rb_error error;

	for (uint64_t limit = 0; limit < used; limit += 4096)
	{
		rb_memory_set_limit(to, limit);
		CHECK(rb_memory_move(memory, to, (void *) set->coords, &error) ==
				  (rb_memory_used(to) > 0 ? RB_OK : RB_OVER_BUDGET),
			  "as it says");
		if (rb_memory_used(to) > 0)
			break;
		CHECK(rb_memory_used(memory) == used, "as it was");
	}
	CHECK(rb_memory_used(to) + rb_memory_used(memory) == used && rb_memory_used(to) > 0, "moved");
	CHECK(rb_memory_move(to, memory, (void *) set->coords, &error) == RB_OK, "and back");
	CHECK(rb_memory_move(to, memory, NULL, &error) == RB_OK, "nothing moves nowhere");
	CHECK(rb_memory_used(to) == 0 && rb_memory_used(memory) == used, "as it was");
	rb_set_release(&set);
	rb_memory_destroy(to);
	CHECK(rb_memory_used(memory) == 0, "memory left");
}

/*
 * Tests that a set has a number while it is cached, larger than all earlier ones and than the given
 * start.
 */
static void
numbered(void)
{
	const uint64_t first = (uint64_t) 7 << 32;
	rb_cache *cache = rb_cache_create((uint64_t) 1 << 20);
	const rb_set *set[3];
	rb_error error;

	for (int i = 0; i < 3; i++)
		set[i] = build_rows(
			memory,
			&(row_series){.kind = RB_SEGMENT2, .n = 10, .first_id = i, .step = 1, .spacing = 1});
	CHECK(set[0]->number == 0, "not kept");
	CHECK(put(cache, 1, set[0], &error) == RB_OK && set[0]->number != 0, "the first one");
	rb_cache_set_last_number(first);
	CHECK(put(cache, 2, set[1], &error) == RB_OK && set[1]->number == first + 1, "from there on");
	CHECK(put(cache, 1, set[2], &error) == RB_OK && set[2]->number == first + 2, "a key again");
	for (int i = 0; i < 3; i++)
		rb_set_release(&set[i]);
	rb_cache_destroy(cache);
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 30);
	CHECK_RUN(kept_and_found);
	CHECK_RUN(room);
	CHECK_RUN(held_by_others);
	CHECK_RUN(given_up_while_held);
	CHECK_RUN(moved);
	CHECK_RUN(numbered);
	rb_memory_destroy(memory);
	rb_memory_trim(0);
	return check_done();
}
