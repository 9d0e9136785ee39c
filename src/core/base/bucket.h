/*
 * bucket.h
 *	  Lists numbers by key: counts the members of each bucket, sums the counts, and scatters the
 *	  members.
 *
 *		key of 0, 1, 2, 3, 4:   2 0 2 1 0		start   0 2 3 5
 *												member  1 4 | 3 | 0 2
 *
 * The members of a bucket are in ascending order. An element with several keys, such as a triangle
 * with three corners, is listed by numbers that stand for one of its keys each: 3 t + k.
 */
#ifndef RB_BASE_BUCKET_H
#define RB_BASE_BUCKET_H

#include "core/base/base.h"

#define RB_BUCKET_CHECK_INTERVAL 65536 /* members between two polls of rb_should_stop */

/* Members by bucket: those of bucket k are member[start[k]] to member[start[k + 1] - 1] */
typedef struct rb_buckets
{
	uint32_t *start;
	uint32_t *member;
} rb_buckets;

/* Returns the bucket of i, or any number beyond the last bucket if i belongs to none. */
typedef uint32_t (*rb_bucket_of)(const void *arg, uint32_t i);

/* Returns the bucket of i if arg is the array of buckets. */
static inline uint32_t
rb_bucket_in_array(const void *arg, uint32_t i)
{
	return ((const uint32_t *) arg)[i];
}

/*
 * Lists the numbers below n by bucket. It is inline so that a function known at the call site costs
 * no call. The memory of an earlier call is used again.
 */
static inline __attribute__((always_inline)) rb_status
rb_buckets_build(rb_context *ctx, rb_buckets *b, uint32_t n, uint32_t nbuckets, rb_bucket_of of,
				 const void *arg)
{
	RB_TRY(RB_ALLOCATE(ctx, b->start, (size_t) nbuckets + 2));
	RB_TRY(RB_ALLOCATE(ctx, b->member, (size_t) n + 1));
	memset(b->start, 0, ((size_t) nbuckets + 2) * sizeof *b->start);
	for (uint32_t i = 0; i < n; i++)
	{
		const uint32_t k = of(arg, i);

		if (k < nbuckets)
			b->start[(size_t) k + 2]++;
		if (rb_stop_due(ctx, i, RB_BUCKET_CHECK_INTERVAL))
			return RB_STOPPED;
	}
	/*
	 * The count of bucket k is at k + 2. After summing, the start of bucket k is at k + 1.
	 * Scattering advances it to the end of the bucket, which is the start of bucket k + 1.
	 */
	for (size_t k = 2; k < (size_t) nbuckets + 2; k++)
		b->start[k] += b->start[k - 1];
	for (uint32_t i = 0; i < n; i++)
	{
		const uint32_t k = of(arg, i);

		if (k < nbuckets)
			b->member[b->start[(size_t) k + 1]++] = i;
		if (rb_stop_due(ctx, i, RB_BUCKET_CHECK_INTERVAL))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Frees the arrays of the lists. */
static inline void
rb_buckets_free(rb_memory *memory, rb_buckets *b)
{
	RB_FREE(memory, b->start);
	RB_FREE(memory, b->member);
}

/*
 * Replaces n counts by their running sums: x[k] becomes the sum of the counts before it. Returns the
 * sum of all counts.
 */
static inline uint32_t
rb_counts_to_starts(uint32_t *x, size_t n)
{
	uint32_t sum = 0;

	for (size_t k = 0; k < n; k++)
	{
		const uint32_t count = x[k];

		x[k] = sum;
		sum += count;
	}
	return sum;
}

#endif /* RB_BASE_BUCKET_H */
