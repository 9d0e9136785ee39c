/*
 * sort.h
 *	  Sorts arrays, and searches sorted ones.
 *
 * rb_sort sorts in place by comparisons: few elements by insertion sort, many by heapsort. Neither
 * is stable. rb_radix_sort sorts stably by an integer key, and needs a second array of the same
 * size. qsort() may allocate as much memory again, which no budget counts, and cannot be stopped.
 * These functions are inline so that a function known at the call site costs no call.
 */
#ifndef RB_BASE_SORT_H
#define RB_BASE_SORT_H

#include "core/base/base.h"

/* A comparison: negative, 0 or positive if a comes before, with or after b; arg is the caller's */
typedef int (*rb_compare)(const void *a, const void *b, const void *arg);

#define RB_SORT_SMALL 32            /* maximum elements for insertion sort */
#define RB_SORT_MAX_BYTES 96        /* maximum bytes per element */
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
 * Sorts n elements of `size` bytes each, at most RB_SORT_MAX_BYTES. On RB_STOPPED the array is a
 * permutation of its input. ctx may be NULL if nothing can stop the caller.
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
		if (i % RB_SORT_CHECK_INTERVAL == 0 && ctx != NULL && rb_should_stop(ctx))
			return RB_STOPPED;
	}
	while (n-- > 1)
	{
		memcpy(moved, x + n * size, size);
		memcpy(x + n * size, x, size);
		memcpy(x, moved, size);
		rb_sort_sift(x, 0, n, size, order, arg);
		if (n % RB_SORT_CHECK_INTERVAL == 0 && ctx != NULL && rb_should_stop(ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Compares two uint64_t, as rb_sort needs it. */
static inline int
rb_by_word(const void *a, const void *b, const void *arg)
{
	const uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	(void) arg;
	return (x > y) - (x < y);
}

/* Compares two uint32_t, as rb_sort needs it. */
static inline int
rb_by_number(const void *a, const void *b, const void *arg)
{
	const uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;

	(void) arg;
	return (x > y) - (x < y);
}

/* Compares two int64_t, as rb_sort needs it. */
static inline int
rb_by_id(const void *a, const void *b, const void *arg)
{
	const int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;

	(void) arg;
	return (x > y) - (x < y);
}

/* Sorts uint64_t in ascending order. Returns RB_STOPPED if the context requests a stop. */
static inline rb_status
rb_sort_words(const rb_context *ctx, uint64_t *x, size_t n)
{
	return rb_sort(ctx, x, n, sizeof *x, rb_by_word, NULL);
}

/* Sorts uint32_t in ascending order. Returns RB_STOPPED if the context requests a stop. */
static inline rb_status
rb_sort_numbers(const rb_context *ctx, uint32_t *x, size_t n)
{
	return rb_sort(ctx, x, n, sizeof *x, rb_by_number, NULL);
}

/* Sorts ids in ascending order. */
static inline rb_status
rb_sort_ids(const rb_context *ctx, int64_t *x, size_t n)
{
	return rb_sort(ctx, x, n, sizeof *x, rb_by_id, NULL);
}

/* Compares two doubles, none of which is NaN, as rb_sort needs it. */
static inline int
rb_by_double(const void *a, const void *b, const void *arg)
{
	const double x = *(const double *) a, y = *(const double *) b;

	(void) arg;
	return (x > y) - (x < y);
}

/* Sorts doubles, none of which is NaN, in ascending order. */
static inline rb_status
rb_sort_doubles(const rb_context *ctx, double *x, size_t n)
{
	return rb_sort(ctx, x, n, sizeof *x, rb_by_double, NULL);
}

/* ---- radix sort ---- */

/* Returns the key of an element; arg is the caller's. */
typedef uint64_t (*rb_radix_key)(const void *element, const void *arg);

/*
 * Sorts n elements of `size` bytes each by the low `bytes` bytes of a key, at most 8: by a counting
 * sort for each byte, from the lowest one. Bytes that are equal in all keys are skipped. Elements
 * with equal keys keep their order. *spare has room for n elements. The two arrays are exchanged if
 * the sorted elements end up in *spare.
 */
static inline __attribute__((always_inline)) rb_status
rb_radix_sort(const rb_context *ctx, void **array, void **spare, size_t n, size_t size, int bytes,
			  rb_radix_key key, const void *arg)
{
	const size_t stretch = 65536; /* elements between two polls of rb_should_stop */
	size_t start[8][256];
	char *x = (char *) *array, *y = (char *) *spare;

	memset(start, 0, (size_t) bytes * sizeof start[0]);
	for (size_t i = 0; i < n; i++)
	{
		const uint64_t k = key(x + i * size, arg);

		for (int b = 0; b < bytes; b++)
			start[b][k >> 8 * b & 255]++;
		if (rb_stop_due(ctx, i, stretch))
			return RB_STOPPED;
	}
	for (int b = 0; b < bytes && n > 0; b++)
	{
		size_t *s = start[b], sum = 0;
		char *swap = x;

		if (s[key(x, arg) >> 8 * b & 255] == n)
			continue;
		for (int d = 0; d < 256; d++)
		{
			const size_t count = s[d];

			s[d] = sum;
			sum += count;
		}
		for (size_t i = 0; i < n; i++)
		{
			memcpy(y + size * s[key(x + i * size, arg) >> 8 * b & 255]++, x + i * size, size);
			if (rb_stop_due(ctx, i, stretch))
				return RB_STOPPED;
		}
		x = y;
		y = swap;
	}
	*array = x;
	*spare = y;
	return RB_OK;
}

/* ---- binary search ---- */

/*
 * A function that returns true if element i comes before the sought position; arg is the caller's
 */
typedef bool (*rb_is_before)(size_t i, const void *arg);

/* Returns the first i in [from, to) for which `before` returns false, or `to` if there is none. */
static inline __attribute__((always_inline)) size_t
rb_lower_bound(size_t from, size_t to, rb_is_before before, const void *arg)
{
	while (from < to)
	{
		const size_t middle = from + (to - from) / 2;

		if (before(middle, arg))
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/*
 * Defines NAME_lower_bound, which returns the first i with x[i] >= value among n ascending numbers,
 * and NAME_upper_bound, which returns the first i with x[i] > value; n if there is none.
 */
#define RB_DEFINE_BOUNDS(name, type)                                             \
	static inline size_t name##_lower_bound(const type *x, size_t n, type value) \
	{                                                                            \
		size_t from = 0;                                                         \
                                                                                 \
		while (from < n)                                                         \
		{                                                                        \
			const size_t middle = from + (n - from) / 2;                         \
                                                                                 \
			if (x[middle] < value)                                               \
				from = middle + 1;                                               \
			else                                                                 \
				n = middle;                                                      \
		}                                                                        \
		return from;                                                             \
	}                                                                            \
	static inline size_t name##_upper_bound(const type *x, size_t n, type value) \
	{                                                                            \
		size_t from = 0;                                                         \
                                                                                 \
		while (from < n)                                                         \
		{                                                                        \
			const size_t middle = from + (n - from) / 2;                         \
                                                                                 \
			if (x[middle] <= value)                                              \
				from = middle + 1;                                               \
			else                                                                 \
				n = middle;                                                      \
		}                                                                        \
		return from;                                                             \
	}
RB_DEFINE_BOUNDS(rb_numbers, uint32_t)
RB_DEFINE_BOUNDS(rb_words, uint64_t)
RB_DEFINE_BOUNDS(rb_sizes, size_t)
RB_DEFINE_BOUNDS(rb_ids, int64_t)
RB_DEFINE_BOUNDS(rb_doubles, double)

#endif /* RB_BASE_SORT_H */
