/*
 * memory.c
 *	  Tests the memory limit and the pool of idle blocks.
 *
 * Blocks are aligned, keep their contents when they grow from the heap to a mapping and beyond, are
 * counted exactly, and need the same amount whatever ran before. A caller that returns finds its
 * pages in place, and idle memory stays within bounds. Scratch memory is freed at the end of its
 * block.
 */
#include "check.h"
#include "core/base/base.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define MIB ((uint64_t) 1 << 20)

/* Returns the expected content of byte i. */
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

/*
 * Tests that memory released by shrinking is available to others; contents and address do not
 * change.
 */
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
	/* Small blocks keep their size. */
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
	rb_memory_destroy(memory); /* With a block still allocated */
	rb_memory_set_limit(memory = rb_memory_create(UINT64_MAX), UINT64_MAX);
	CHECK(rb_resize(memory, &b, (size_t) 1 << 60, &error) == RB_OUT_OF_MEMORY && b == NULL,
		  "no machine has so much");
	CHECK(rb_memory_used(memory) == 0, "left");
	rb_memory_destroy(memory);
}

/* Tests that memory used and needed does not depend on idle blocks of earlier calls. */
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
			/* Leave idle blocks of other sizes, all of them larger. */
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

/* ---- idle blocks ---- */

static long
faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

static void
fill(void *block, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 512)
		((uint8_t *) block)[i] = 1;
}

/*
 * Allocates two arrays per side, one of unknown and one of known length, and writes to all of them.
 */
static void
like_a_join(rb_memory *memory, size_t bytes)
{
	void *side[2] = {NULL}, *ids[2] = {NULL}, *grid = NULL, *small = NULL;
	rb_error error;

	for (int k = 0; k < 2; k++)
	{
		for (size_t n = 4096; n < bytes; n += n / 2)
		{
			CHECK(rb_resize(memory, &side[k], n, &error) == RB_OK, "%zu", n);
			fill(side[k], n);
			CHECK(rb_resize(memory, &ids[k], n / 9, &error) == RB_OK, "%zu", n);
			fill(ids[k], n / 9);
		}
		rb_shrink(memory, &side[k], bytes / 8 * 7);
		rb_shrink(memory, &ids[k], bytes / 80 * 7);
	}
	CHECK(rb_resize(memory, &grid, bytes * 2, &error) == RB_OK, "grid");
	fill(grid, bytes * 2);
	CHECK(rb_resize(memory, &small, bytes / 100, &error) == RB_OK, "small");
	fill(small, bytes / 100);
	for (int k = 0; k < 2; k++)
	{
		rb_free(memory, &side[1 - k]);
		rb_free(memory, &ids[k]);
	}
	rb_free(memory, &grid);
	rb_free(memory, &small);
}

static void
same_pages_again(void)
{
	size_t bytes = 20 * MIB;
	long fresh = 0;
	/* Minimum of the page faults in rounds before any offer of idle memory, and after one */
	long least[2] = {LONG_MAX, LONG_MAX};
	uint64_t idle = 0;

	/* Use small pages, so that each new one is counted. */
	CHECK(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0, "prctl");
	rb_memory_trim(0);
	rb_memory_set_idle(512 * MIB);
	for (int round = 0; round < 12; round++)
	{
		rb_memory *memory = rb_memory_create(512 * MIB);
		long before = faults();
		long now;

		/* Slightly different sizes must make no difference. */
		like_a_join(memory, bytes - (round % 3 == 2 ? MIB : 0));
		CHECK(rb_memory_used(memory) == 0, "used");
		rb_memory_destroy(memory);
		now = faults() - before;
		if (round == 0)
			fresh = now;
		else if (round != 6 && now < least[round > 6])
			least[round > 6] = now;
		/*
		 * A kernel may take what it was offered, or move pages, which then count as new, but not in
		 * every round.
		 */
		if (round >= 6)
			rb_memory_offer_idle();
		if (round == 1)
			idle = rb_memory_idle();
		CHECK(round < 2 || rb_memory_idle() <= idle + MIB, "round %d: %lu bytes are idle", round,
			  (unsigned long) rb_memory_idle());
	}
	CHECK(least[0] < fresh / 50, "%ld of %ld pages are new", least[0], fresh);
	CHECK(least[1] < fresh / 50, "%ld of %ld pages are new after an offer", least[1], fresh);
	CHECK(fresh > (long) (80 * MIB / 4096), "%ld pages in the first round", fresh);
	CHECK(rb_memory_drop_idle() && rb_memory_idle() == 0, "all is given back");
	prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
	rb_memory_set_idle(64 * MIB);
}

static void
idle_within_limit(void)
{
	rb_memory *memory;
	void *block[16] = {NULL};
	size_t size[16] = {0};
	rb_error error;

	rb_memory_trim(0);
	rb_memory_set_idle(40 * MIB);
	memory = rb_memory_create(40 * MIB);
	for (int i = 0; i < 4000; i++)
	{
		int k = check_below(16);
		size_t want = (size_t) 1 << check_below(25);

		want += (size_t) check_below((int) want);
		if (check_below(3) == 0)
			rb_free(memory, &block[k]), size[k] = 0;
		else if (check_below(5) == 0)
			rb_shrink(memory, &block[k], want), size[k] = want < size[k] ? want : size[k];
		else if (rb_resize(memory, &block[k], want, &error) == RB_OK)
		{
			uint8_t *p = block[k];

			for (size_t at = 0; at < size[k] && at < want; at += 4001)
				CHECK(p[at] == mark(at + (size_t) k), "block %d lost byte %zu", k, at);
			size[k] = want > size[k] ? want : size[k];
			for (size_t at = 0; at < size[k]; at += 4001)
				p[at] = mark(at + (size_t) k);
		}
		if (check_below(50) == 0)
			rb_memory_offer_idle();
		CHECK(rb_memory_used(memory) + rb_memory_idle() <= 40 * MIB, "%lu used, %lu idle",
			  (unsigned long) rb_memory_used(memory), (unsigned long) rb_memory_idle());
	}
	rb_memory_destroy(memory);
	CHECK(rb_memory_idle() > 0, "something is kept");
	rb_memory_set_idle(5 * MIB);
	CHECK(rb_memory_idle() <= 5 * MIB, "%lu idle", (unsigned long) rb_memory_idle());
	/* A limit of 0 keeps no idle memory. */
	rb_memory_set_idle(0);
	memory = rb_memory_create(40 * MIB);
	block[0] = NULL;
	CHECK(rb_resize(memory, &block[0], 8 * MIB, &error) == RB_OK, "8 MiB");
	rb_memory_destroy(memory);
	CHECK(rb_memory_idle() == 0, "nothing is kept");
	rb_memory_set_idle(64 * MIB);
}

/* Tests that it does not matter which pages of an offered block the kernel takes. */
static void
taken_by_the_kernel(void)
{
	rb_memory *memory = rb_memory_create(256 * MIB);
	void *block = NULL;
	void *was;
	rb_error error;
	size_t bytes = 32 * MIB;

	rb_memory_trim(0);
	for (int round = 0; round < 3; round++)
	{
		CHECK(rb_resize(memory, &block, bytes, &error) == RB_OK, "resize");
		memset(block, 1, bytes);
		was = block;
		rb_free(memory, &block);
		CHECK(rb_memory_idle() >= bytes, "%lu idle", (unsigned long) rb_memory_idle());
		rb_memory_offer_idle();
#ifdef MADV_PAGEOUT
		madvise((char *) was - 64, bytes, MADV_PAGEOUT);
#endif
	}
	CHECK(rb_resize(memory, &block, bytes, &error) == RB_OK && block == was, "the same block");
	rb_memory_destroy(memory);
	rb_memory_trim(0);
	CHECK(rb_memory_idle() == 0, "%lu idle", (unsigned long) rb_memory_idle());
}

/* ---- many threads, one limit ---- */

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

/* Allocates three arrays, of which one is freed early and one is kept unless `fails`. */
static rb_status
allocate_scratch(rb_context *ctx, bool fails, uint32_t **kept)
{
	struct
	{
		uint64_t *a;
		char *b;
	} of = {NULL, NULL};
	uint32_t *c = NULL;
	RB_FREE_AT_END(ctx->memory, &of.a, &of.b, &c);

	RB_TRY(RB_ALLOCATE(ctx, of.a, 1000));
	RB_TRY(RB_ALLOCATE(ctx, c, 10));
	for (int i = 0; i < 3; i++)
	{
		double *d = NULL;
		const uint64_t used = rb_memory_used(ctx->memory);
		RB_FREE_AT_END(ctx->memory, &d);

		CHECK(i == 0 || used < 3 * MIB, "%lu used in iteration %d", (unsigned long) used, i);
		RB_TRY(RB_ALLOCATE(ctx, d, 3 * MIB / sizeof *d));
		if (i == 1)
			continue;
	}
	RB_FREE(ctx->memory, of.a);
	RB_TRY(RB_ALLOCATE(ctx, of.b, fails ? 64 * MIB : 100));
	*kept = c;
	c = NULL;
	return RB_OK;
}

static void
freed_at_end(void)
{
	rb_memory *memory = rb_memory_create(10 * MIB);
	uint32_t *kept = NULL;
	rb_context ctx;

	rb_context_init(&ctx, memory);
	CHECK(allocate_scratch(&ctx, true, &kept) == RB_OVER_BUDGET && kept == NULL, "no failure");
	CHECK(rb_memory_used(memory) == 0, "%lu bytes left", (unsigned long) rb_memory_used(memory));
	rb_context_init(&ctx, memory);
	CHECK(allocate_scratch(&ctx, false, &kept) == RB_OK && kept != NULL, "failure");
	CHECK(rb_memory_used(memory) == rb_block_bytes(kept), "%lu bytes left",
		  (unsigned long) rb_memory_used(memory));
	RB_FREE(memory, kept);
	rb_memory_destroy(memory);
}

int
main(void)
{
	CHECK_RUN(aligned_and_kept);
	CHECK_RUN(shrinks);
	CHECK_RUN(limits);
	CHECK_RUN(same_every_time);
	CHECK_RUN(same_pages_again);
	CHECK_RUN(idle_within_limit);
	CHECK_RUN(taken_by_the_kernel);
	CHECK_RUN(many_threads);
	CHECK_RUN(freed_at_end);
	rb_memory_trim(0);
	return check_done();
}
