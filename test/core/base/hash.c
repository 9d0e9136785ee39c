/*
 * hash.c
 *	  Tests hash tables: those of numbers, with elements stored elsewhere, and those of elements.
 */
#include "check.h"
#include "core/base/hash.h"
#include "core/base/point_hash.h"
#include "core/base/base.h"

#include <math.h>

typedef struct pair
{
	uint64_t key;
	uint64_t value;
} pair;

/* A poor hash function, so that entries collide */
#define RB_HASH number_table
#define RB_HASH_SLOT uint32_t
#define RB_HASH_KEY uint64_t
#define RB_HASH_ARG const uint64_t *
#define RB_HASH_OF(keys, key) ((key) % 61)
#define RB_HASH_EQUAL(keys, slot, key) ((keys)[slot] == (key))
#define RB_HASH_KEY_OF(keys, slot) ((keys)[slot])
#define RB_HASH_NUMBERED
#include "core/base/hash.h"

#define RB_HASH pair_table
#define RB_HASH_SLOT pair
#define RB_HASH_KEY uint64_t
#define RB_HASH_OF(arg, key) rb_mix(key)
#define RB_HASH_EQUAL(arg, slot, wanted) ((slot).key == (wanted))
#define RB_HASH_KEY_OF(arg, slot) ((slot).key)
#define RB_HASH_IS_FREE(slot) ((slot).key == UINT64_MAX)
#include "core/base/hash.h"

/* Inserts random keys; each is found under the number of its first occurrence. */
static void
numbered(void)
{
	rb_memory *memory = rb_memory_create(UINT64_MAX);
	rb_context ctx;
	number_table t = {0};
	RB_VEC(uint64_t) keys = {0};

	rb_context_init(&ctx, memory);
	for (long round = 0; round < check_rounds(60); round++)
	{
		const uint32_t n = (uint32_t) check_below(400), most = 1 + (uint32_t) check_below(500);
		bool right = true;

		rb_vec_clear(&keys);
		if (round % 2 == 0)
			number_table_clear(&t);
		else
			CHECK(number_table_reset(&ctx, &t, n / 4) == RB_OK, "reset");
		for (uint32_t i = 0; i < n; i++)
		{
			const uint64_t key = check_below(most);
			uint32_t *slot, first = 0;

			while (first < keys.n && keys.at[first] != key)
				first++;
			CHECK(number_table_reserve(&ctx, &t, keys.at, 1) == RB_OK, "reserve");
			number_table_prefetch(&t, keys.at, key);
			slot = number_table_find(&t, keys.at, key);
			right &= first == keys.n ? *slot == RB_HASH_FREE : *slot == first;
			if (*slot != RB_HASH_FREE)
				continue;
			CHECK(rb_vec_append(&ctx, &keys, key) == RB_OK, "append");
			*slot = (uint32_t) t.n++;
		}
		CHECK(right && t.n == keys.n && 2 * t.n <= t.mask + 1, "%u keys below %u", n, most);
	}
	number_table_free(memory, &t);
	rb_vec_free(memory, &keys);
	CHECK(rb_memory_used(memory) == 0, "memory is left");
	rb_memory_destroy(memory);
}

/* Counts how often keys occur, in a table that holds the counts. */
static void
elements(void)
{
	enum
	{
		KEYS = 3000
	};
	static uint64_t count[KEYS];
	rb_memory *memory = rb_memory_create(UINT64_MAX);
	rb_context ctx;
	pair_table t = {0};
	uint64_t sum = 0;
	bool right = true;

	rb_context_init(&ctx, memory);
	for (long i = 0; i < check_rounds(100000); i++)
	{
		const uint64_t key = check_below(KEYS);
		pair *slot;

		CHECK(pair_table_reserve(&ctx, &t, NULL, 1) == RB_OK, "reserve");
		slot = pair_table_find(&t, NULL, key);
		if (slot->key == UINT64_MAX)
		{
			*slot = (pair){key, 0};
			t.n++;
		}
		slot->value++;
		count[key]++;
		sum++;
	}
	for (uint64_t key = 0; key < KEYS; key++)
	{
		const pair *slot = pair_table_find(&t, NULL, key);

		right &= count[key] == 0 ? slot->key == UINT64_MAX : slot->value == count[key];
		sum -= count[key];
	}
	CHECK(right && sum == 0, "counts differ");
	pair_table_free(memory, &t);
	CHECK(rb_memory_used(memory) == 0, "memory is left");
	rb_memory_destroy(memory);
}

/* A table that may not grow, or whose context was stopped, keeps its entries. */
static void
refused(void)
{
	rb_memory *memory = rb_memory_create(40000);
	rb_context ctx;
	pair_table t = {0};
	rb_status status = RB_OK;
	uint64_t n = 0;
	bool right = true;

	rb_context_init(&ctx, memory);
	while (status == RB_OK && n < 100000)
	{
		status = pair_table_reserve(&ctx, &t, NULL, 1);
		if (status == RB_OK)
			*pair_table_find(&t, NULL, n) = (pair){n, 3 * n}, n = ++t.n;
	}
	CHECK(status == RB_OVER_BUDGET && ctx.error.status == RB_OVER_BUDGET, "status %d", status);
	for (uint64_t key = 0; key < n; key++)
		right &= pair_table_find(&t, NULL, key)->value == 3 * key;
	CHECK(right && n > 0, "entries are lost");
	pair_table_free(memory, &t);
	rb_memory_destroy(memory);

	memory = rb_memory_create(UINT64_MAX);
	rb_context_init(&ctx, memory);
	rb_context_stop(&ctx);
	CHECK(pair_table_reset(&ctx, &t, 1 << 20) == RB_STOPPED, "not stopped");
	pair_table_free(memory, &t);
	CHECK(rb_memory_used(memory) == 0, "memory is left");
	rb_memory_destroy(memory);
}

/* Points with a NaN are all different, and take no longer than others. */
static void
nan_points(void)
{
	const uint32_t n = (uint32_t) check_rounds(400000);
	rb_memory *memory = rb_memory_create(UINT64_MAX);
	double *points = malloc(3 * (size_t) n * sizeof *points);
	rb_point_hash hash = {0};
	rb_context ctx;
	uint32_t wrong = 0;

	rb_context_init(&ctx, memory);
	for (size_t i = 0; i < 3 * (size_t) n; i++)
		points[i] = i % 9 < 6 ? NAN : 0.5; /* two of three points */
	CHECK(rb_point_hash_find(&ctx, points, n, &hash) == RB_OK, "failed");
	for (uint32_t i = 0; i < n; i++)
		wrong += hash.first[i] != (i % 3 == 2 ? 2 : i);
	CHECK(wrong == 0, "%u of %u points", wrong, n);
	rb_point_hash_free(memory, &hash);
	free(points);
	rb_memory_destroy(memory);
}

int
main(void)
{
	CHECK_RUN(numbered);
	CHECK_RUN(elements);
	CHECK_RUN(refused);
	CHECK_RUN(nan_points);
	return check_done();
}
