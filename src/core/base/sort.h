/*
 * sort.h
 *	  Sorts an array in place: few elements by insertion sort, many by heapsort.
 *
 * qsort() may allocate as much memory again, which no budget counts, and cannot be stopped. These
 * functions are inline so that a comparison known at the call site costs no call.
 */
#ifndef RB_BASE_SORT_H
#define RB_BASE_SORT_H

#include "core/base/redblue.h"

#include <string.h>

/* A comparison: negative, 0 or positive if a comes before, with or after b; arg is the caller's */
typedef int (*rb_compare)(const void *a, const void *b, const void *arg);

#define RB_SORT_SMALL 32            /* maximum elements for insertion sort */
#define RB_SORT_MAX_BYTES 32        /* maximum bytes per element */
#define RB_SORT_CHECK_INTERVAL 1024 /* steps between two polls of rb_should_stop */

/* Moves x[i] down in the heap of n elements until no child is larger. */
static inline __attribute__((always_inline)) void
rb_sort_sift(char *x, size_t i, size_t n, size_t size, rb_compare order, const void *arg)
{
	uint64_t moved[RB_SORT_MAX_BYTES / sizeof(uint64_t)];
	size_t child;

	memcpy(moved, x + i * size, size);
	for (; (child = 2 * i + 1) < n; i = child)
	{
		child += child + 1 < n && order(x + child * size, x + (child + 1) * size, arg) < 0;
		if (order(x + child * size, moved, arg) <= 0)
			break;
		memcpy(x + i * size, x + child * size, size);
	}
	memcpy(x + i * size, moved, size);
}

/*
 * Sorts n elements of that size, RB_SORT_MAX_BYTES bytes at most. On RB_STOPPED the array is a
 * permutation of its input.
 */
static inline __attribute__((always_inline)) rb_status
rb_sort(const rb_context *ctx, void *array, size_t n, size_t size, rb_compare order,
		const void *arg)
{
	uint64_t moved[RB_SORT_MAX_BYTES / sizeof(uint64_t)];
	char *x = (char *) array;

	if (n <= RB_SORT_SMALL)
	{
		for (size_t i = 1; i < n; i++)
		{
			size_t k = i;

			memcpy(moved, x + i * size, size);
			for (; k > 0 && order(x + (k - 1) * size, moved, arg) > 0; k--)
				memcpy(x + k * size, x + (k - 1) * size, size);
			memcpy(x + k * size, moved, size);
		}
		return RB_OK;
	}
	for (size_t i = n / 2; i-- > 0;)
	{
		rb_sort_sift(x, i, n, size, order, arg);
		if (i % RB_SORT_CHECK_INTERVAL == 0 && rb_should_stop(ctx))
			return RB_STOPPED;
	}
	while (n-- > 1)
	{
		memcpy(moved, x + n * size, size);
		memcpy(x + n * size, x, size);
		memcpy(x, moved, size);
		rb_sort_sift(x, 0, n, size, order, arg);
		if (n % RB_SORT_CHECK_INTERVAL == 0 && rb_should_stop(ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Comparisons of numbers, ascending */
static inline int
rb_by_word(const void *a, const void *b, const void *arg)
{
	const uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	(void) arg;
	return (x > y) - (x < y);
}

static inline int
rb_by_number(const void *a, const void *b, const void *arg)
{
	const uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;

	(void) arg;
	return (x > y) - (x < y);
}

static inline int
rb_by_id(const void *a, const void *b, const void *arg)
{
	const int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;

	(void) arg;
	return (x > y) - (x < y);
}

static inline rb_status
rb_sort_words(const rb_context *ctx, uint64_t *x, size_t n)
{
	return rb_sort(ctx, x, n, sizeof *x, rb_by_word, NULL);
}

static inline rb_status
rb_sort_numbers(const rb_context *ctx, uint32_t *x, size_t n)
{
	return rb_sort(ctx, x, n, sizeof *x, rb_by_number, NULL);
}

static inline rb_status
rb_sort_ids(const rb_context *ctx, int64_t *x, size_t n)
{
	return rb_sort(ctx, x, n, sizeof *x, rb_by_id, NULL);
}

#endif /* RB_BASE_SORT_H */
