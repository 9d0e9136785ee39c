/*
 * bucket.c
 *	  Tests lists by key, and disjoint sets against a naive implementation.
 */
#include "check.h"
#include "core/base/bucket.h"
#include "core/base/union_find.h"

enum
{
	MOST = 500
};

static uint32_t
key_at(const void *arg, uint32_t i)
{
	return ((const uint32_t *) arg)[i];
}

/* Each number is in the list of its key, and the lists ascend. Keys that are too large are omitted. */
static void
lists(void)
{
	rb_memory *memory = rb_memory_create(UINT64_MAX);
	rb_context ctx;
	rb_buckets b = {NULL, NULL};
	uint32_t key[MOST];

	rb_context_init(&ctx, memory);
	for (long round = 0; round < check_rounds(200); round++)
	{
		const uint32_t n = (uint32_t) check_below(MOST), groups = (uint32_t) check_below(60);
		uint32_t at = 0;
		bool right = true;

		for (uint32_t i = 0; i < n; i++)
			key[i] = check_below(10) == 0 ? UINT32_MAX : (uint32_t) check_below(60);
		CHECK(rb_buckets_build(&ctx, &b, n, groups, key_at, key) == RB_OK, "build");
		for (uint32_t k = 0; k < groups; k++)
		{
			right &= b.start[k] == at;
			for (uint32_t i = 0; i < n; i++)
				if (key[i] == k)
					right &= b.member[at++] == i;
		}
		CHECK(right && b.start[groups] == at, "%u numbers in %u lists", n, groups);
	}
	rb_buckets_free(memory, &b);
	CHECK(rb_memory_used(memory) == 0, "memory is left");
	rb_memory_destroy(memory);
}

/* The root of each number is the smallest one that is connected to it. */
static void
sets(void)
{
	uint32_t parent[MOST], shared[MOST], least[MOST];

	for (long round = 0; round < check_rounds(60); round++)
	{
		const uint32_t n = 1 + (uint32_t) check_below(MOST);
		bool right = true;

		rb_union_find_init(parent, n);
		rb_union_find_init(shared, n);
		for (uint32_t i = 0; i < n; i++)
			least[i] = i;
		for (uint32_t k = (uint32_t) check_below(n); k-- > 0;)
		{
			const uint32_t a = (uint32_t) check_below(n), b = (uint32_t) check_below(n);
			const uint32_t from = least[a] > least[b] ? least[a] : least[b];
			const uint32_t to = least[a] < least[b] ? least[a] : least[b];

			right &= rb_unite(parent, a, b) == (from != to);
			rb_unite_shared(shared, a, b);
			for (uint32_t i = 0; i < n; i++)
				least[i] = least[i] == from ? to : least[i];
		}
		for (uint32_t i = 0; i < n; i++)
			right &= rb_find_root(parent, i) == least[i] && rb_find_root(shared, i) == least[i];
		CHECK(right, "%u numbers", n);
	}
}

int
main(void)
{
	CHECK_RUN(lists);
	CHECK_RUN(sets);
	return check_done();
}
