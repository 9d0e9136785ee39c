/*
 * test_memory.c
 *	  The budget: blocks are aligned, keep their content when they grow from the heap
 *	  to a mapping and on, count exactly, and need the same whatever ran before.
 */
#include "check.h"
#include "core/base/redblue.h"

#include <pthread.h>
#include <string.h>

#define MIB ((uint64_t) 1 << 20)

/* content of byte i */
static uint8_t
mark(size_t i)
{
	return (uint8_t) (i * 2654435761u >> 13);
}

static void
aligned_and_kept(void)
{
	rb_memory *memory = rb_memory_create(1024 * MIB);

	for (int round = 0; round < 40; round++)
	{
		void *block = NULL;
		size_t have = 0;
		rb_error error;

		for (size_t want = 1 + (size_t) check_below(3000); want < 5 * MIB;
			 want += 1 + want / (size_t) (1 + check_below(3)))
		{
			uint8_t *p;
			bool kept = true;

			CHECK(rb_resize(memory, &block, want, &error) == RB_OK, "resize to %zu", want);
			p = block;
			CHECK((uintptr_t) block % 64 == 0, "%zu bytes at %p", want, block);
			for (size_t i = 0; i < have; i += 61)
				kept &= p[i] == mark(i);
			CHECK(kept && (have == 0 || p[have - 1] == mark(have - 1)), "%zu bytes lost", have);
			for (size_t i = have; i < want; i++)
				p[i] = mark(i);
			have = want;
			CHECK(rb_memory_used(memory) >= want, "%lu used",
				  (unsigned long) rb_memory_used(memory));
		}
		rb_free(memory, &block);
		CHECK(block == NULL && rb_memory_used(memory) == 0, "after free");
		rb_free(memory, &block);
	}
	rb_memory_destroy(memory);
}

/* what is given back can be taken by others; content and address stay */
static void
shrinks(void)
{
	rb_memory *memory = rb_memory_create(8 * MIB);
	void *block = NULL;
	void *other = NULL;
	rb_error error;
	uint8_t *p;

	rb_shrink(memory, &block, 100);
	CHECK(rb_resize(memory, &block, 6 * MIB, &error) == RB_OK, "resize");
	p = block;
	for (size_t i = 0; i < 6 * MIB; i++)
		p[i] = mark(i);
	CHECK(rb_resize(memory, &other, 4 * MIB, &error) == RB_OVER_BUDGET, "there is no room");
	rb_shrink(memory, &block, 7 * MIB);
	CHECK(rb_memory_used(memory) >= 6 * MIB, "it does not grow");
	rb_shrink(memory, &block, 2 * MIB);
	CHECK(block == p && rb_memory_used(memory) < 3 * MIB, "%lu used",
		  (unsigned long) rb_memory_used(memory));
	for (size_t i = 0; i < 2 * MIB; i++)
		CHECK(p[i] == mark(i), "byte %zu", i);
	CHECK(rb_resize(memory, &other, 4 * MIB, &error) == RB_OK, "now there is");
	rb_shrink(memory, &block, 0);
	CHECK(rb_memory_used(memory) < 5 * MIB && p[0] == mark(0), "down to nothing");
	rb_free(memory, &other);
	CHECK(rb_resize(memory, &block, 5 * MIB, &error) == RB_OK, "and it grows again");
	CHECK(((uint8_t *) block)[1000] == mark(1000), "with its content");
	rb_free(memory, &block);
	CHECK(rb_memory_used(memory) == 0, "after free");
	/* small blocks keep what they have */
	CHECK(rb_resize(memory, &block, 1000, &error) == RB_OK, "resize");
	rb_shrink(memory, &block, 10);
	CHECK(rb_memory_used(memory) >= 1000, "small");
	rb_free(memory, &block);
	rb_memory_destroy(memory);
}

static void
limits(void)
{
	rb_memory *memory = rb_memory_create(8 * MIB);
	void *a = NULL, *b = NULL;
	rb_error error;

	CHECK(rb_resize(memory, &a, 3 * MIB, &error) == RB_OK, "3 of 8");
	memset(a, 1, 3 * MIB);
	CHECK(rb_resize(memory, &b, 6 * MIB, &error) == RB_OVER_BUDGET && b == NULL, "9 of 8");
	CHECK(error.status == RB_OVER_BUDGET && error.limit == 8 * MIB && error.need > 9 * MIB &&
			  error.need < 10 * MIB,
		  "need %lu", (unsigned long) error.need);
	CHECK(rb_resize(memory, &a, 9 * MIB, &error) == RB_OVER_BUDGET && a != NULL, "grow to 9 of 8");
	CHECK(((char *) a)[3 * MIB - 1] == 1, "the block stays");
	CHECK(rb_resize(memory, &b, SIZE_MAX, &error) == RB_OVER_BUDGET && b == NULL, "SIZE_MAX");
	CHECK(rb_resize(memory, &b, SIZE_MAX - 100, NULL) == RB_OVER_BUDGET && b == NULL, "no error");
	CHECK(rb_memory_charge(memory, 6 * MIB, &error) == RB_OVER_BUDGET, "6 more");
	CHECK(rb_memory_charge(memory, UINT64_MAX - 5, &error) == RB_OVER_BUDGET, "2^64 more");
	CHECK(rb_memory_charge(memory, 4 * MIB, &error) == RB_OK, "4 more");
	CHECK(rb_memory_charge(memory, 4 * MIB, NULL) == RB_OVER_BUDGET, "4 more, twice");
	rb_memory_refund(memory, 4 * MIB);
	rb_memory_set_limit(memory, 20 * MIB);
	CHECK(rb_memory_limit(memory) == 20 * MIB, "limit");
	CHECK(rb_resize(memory, &a, 9 * MIB, &error) == RB_OK, "grow to 9 of 20");
	CHECK(((char *) a)[3 * MIB - 1] == 1, "the content stays");
	CHECK(rb_memory_peak(memory) >= 9 * MIB, "peak");
	rb_memory_destroy(memory); /* with a block still out */
	rb_memory_set_limit(memory = rb_memory_create(UINT64_MAX), UINT64_MAX);
	CHECK(rb_resize(memory, &b, (size_t) 1 << 60, &error) == RB_OUT_OF_MEMORY && b == NULL,
		  "no machine has so much");
	CHECK(rb_memory_used(memory) == 0, "left");
	rb_memory_destroy(memory);
}

/* what is used and needed does not depend on the idle blocks of earlier calls */
static void
same_every_time(void)
{
	uint64_t used[2];
	rb_error error;

	rb_memory_trim(0);
	for (int round = 0; round < 2; round++)
	{
		rb_memory *memory = rb_memory_create(64 * MIB);
		void *block[6] = {NULL};

		for (int k = 0; k < 6; k++)
			CHECK(rb_resize(memory, &block[k], (size_t) (2 * MIB + k * 100000), &error) == RB_OK,
				  "block %d", k);
		used[round] = rb_memory_used(memory);
		rb_memory_destroy(memory);
		if (round == 0)
		{
			/* leave idle blocks of other sizes, all of them larger */
			memory = rb_memory_create(64 * MIB);
			for (int k = 0; k < 6; k++)
			{
				block[k] = NULL;
				rb_resize(memory, &block[k], (size_t) (7 * MIB + k * 300000), &error);
			}
			rb_memory_trim(0);
			rb_memory_destroy(memory);
		}
	}
	CHECK(used[0] == used[1], "%lu bytes used, then %lu", (unsigned long) used[0],
		  (unsigned long) used[1]);
	rb_memory_trim(0);
}

/* ---- many threads, one budget ---- */

static rb_memory *common;
static long refused;

static void *
worker(void *arg)
{
	uint32_t random = (uint32_t) (uintptr_t) arg;
	void *block[8] = {NULL};
	size_t size[8] = {0};
	long bad = 0;

	for (int i = 0; i < 3000; i++)
	{
		int k;
		size_t want;

		random = random * 1664525 + 1013904223;
		k = random >> 29;
		want = (size_t) (random >> 9 & 0x1fff) << (random >> 5 & 0xf) % 10;
		if ((random >> 24 & 3) == 0)
			rb_free(common, &block[k]), size[k] = 0;
		else if (want > size[k])
		{
			if (rb_resize(common, &block[k], want, NULL) != RB_OK)
			{
				rb_add(&refused, 1);
				continue;
			}
			if (size[k] > 0)
				bad += ((uint8_t *) block[k])[size[k] - 1] != (uint8_t) size[k];
			size[k] = want;
			((uint8_t *) block[k])[want - 1] = (uint8_t) want;
		}
	}
	for (int k = 0; k < 8; k++)
		rb_free(common, &block[k]);
	return (void *) bad;
}

static void
many_threads(void)
{
	pthread_t thread[6];

	common = rb_memory_create(10 * MIB);
	for (uintptr_t t = 0; t < 6; t++)
		pthread_create(&thread[t], NULL, worker, (void *) (t + 1));
	for (int t = 0; t < 6; t++)
	{
		void *bad;

		pthread_join(thread[t], &bad);
		CHECK(bad == NULL, "thread %d lost bytes", t);
	}
	CHECK(rb_memory_used(common) == 0, "%lu bytes left", (unsigned long) rb_memory_used(common));
	CHECK(rb_memory_peak(common) <= 10 * MIB, "peak %lu", (unsigned long) rb_memory_peak(common));
	CHECK(refused > 0, "the budget was never short");
	rb_memory_destroy(common);
}

int
main(void)
{
	CHECK_RUN(aligned_and_kept);
	CHECK_RUN(shrinks);
	CHECK_RUN(limits);
	CHECK_RUN(same_every_time);
	CHECK_RUN(many_threads);
	rb_memory_trim(0);
	return check_done();
}
