/*
 * sort.c
 *	  Tests that arrays are sorted in place, and that a request to stop is noticed.
 */
#include "check.h"
#include "core/base/sort.h"

#include <string.h>

typedef struct element
{
	uint32_t key, was;
	uint64_t check;
	uint32_t more;
} element;

static long calls;

/* Compares by descending key, then by position. `arg` shows that the argument is passed. */
static int
downwards(const void *a, const void *b, const void *arg)
{
	const element *x = a, *y = b;

	calls += *(const long *) arg;
	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	return (x->was > y->was) - (x->was < y->was);
}

static void
any_length(void)
{
	enum
	{
		MOST = 5000
	};
	static element x[MOST];
	static bool seen[MOST];
	const long one = 1;
	rb_context ctx;

	rb_context_init(&ctx, NULL);
	for (long round = 0; round < check_rounds(400); round++)
	{
		const uint32_t n = round < 130 ? (uint32_t) round : (uint32_t) check_below(MOST);
		const uint32_t keys = 1 + (uint32_t) check_below(round % 3 == 0 ? 3 : 1000000);
		bool right = true;

		for (uint32_t i = 0; i < n; i++)
		{
			x[i].key = (uint32_t) check_below(keys);
			x[i].was = i;
			x[i].check = (uint64_t) x[i].key << 32 | i;
			x[i].more = ~i;
		}
		calls = 0;
		CHECK(rb_sort(&ctx, x, n, sizeof *x, downwards, &one) == RB_OK, "%u elements", n);
		CHECK(n < 2 || calls > 0, "the caller's argument did not arrive");
		memset(seen, 0, n);
		for (uint32_t i = 0; i < n; i++)
		{
			right &= i == 0 || downwards(&x[i - 1], &x[i], &one) < 0;
			right &= x[i].was < n && !seen[x[i].was];
			seen[x[i].was] = true;
			right &= x[i].check == ((uint64_t) x[i].key << 32 | x[i].was) && x[i].more == ~x[i].was;
		}
		CHECK(right, "%u elements of %u keys", n, keys);
	}
}

static void
numbers(void)
{
	uint64_t words[100];
	uint32_t small[100];
	int64_t ids[100];
	bool right = true;
	rb_context ctx;

	rb_context_init(&ctx, NULL);
	for (uint32_t i = 0; i < 100; i++)
	{
		words[i] = i % 7 == 0 ? UINT64_MAX - i : (uint64_t) i * 7919 % 101 << i % 60;
		small[i] = i % 7 == 0 ? UINT32_MAX - i : i * 7919 % 101;
		ids[i] = i % 7 == 0 ? INT64_MIN + (int64_t) i : (int64_t) (i * 7919 % 101) - 50;
	}
	CHECK(rb_sort_words(&ctx, words, 100) == RB_OK && rb_sort_numbers(&ctx, small, 100) == RB_OK &&
			  rb_sort_ids(&ctx, ids, 100) == RB_OK,
		  "sorted");
	for (uint32_t i = 1; i < 100; i++)
		right &= words[i - 1] <= words[i] && small[i - 1] <= small[i] && ids[i - 1] <= ids[i];
	CHECK(right && ids[0] == INT64_MIN && words[99] == UINT64_MAX, "in order");
}

static void
stopped(void)
{
	enum
	{
		MANY = 100000
	};
	uint32_t *x = malloc(MANY * sizeof *x);
	uint64_t sum = 0, left = 0;
	rb_context ctx;

	rb_context_init(&ctx, NULL);
	rb_context_stop(&ctx);
	for (uint32_t i = 0; i < MANY; i++)
		sum += x[i] = (uint32_t) check_below(MANY);
	CHECK(rb_sort_numbers(&ctx, x, MANY) == RB_STOPPED, "not heard");
	for (uint32_t i = 0; i < MANY; i++)
		left += x[i];
	CHECK(sum == left, "something got lost");
	free(x);
}

static uint64_t
key_of(const void *x, const void *arg)
{
	return ((const element *) x)->key ^ *(const uint32_t *) arg;
}

/* Sorts by the bytes of a key: stably, and the same elements end up in the array. */
static void
radix(void)
{
	enum
	{
		MOST = 3000
	};
	static element room[2][MOST];
	static const uint32_t all[] = {1, 256, 65536, UINT32_MAX};
	rb_context ctx;

	rb_context_init(&ctx, NULL);
	for (long round = 0; round < check_rounds(400); round++)
	{
		const uint32_t n = round < 100 ? (uint32_t) round : (uint32_t) check_below(MOST);
		const uint32_t most = all[check_below(4)], turn = check_below(2) == 0 ? 0 : 0x01020304;
		void *array = room[0], *spare = room[1];
		const element *x;
		bool right = true;

		for (uint32_t i = 0; i < n; i++)
			room[0][i] = (element){(uint32_t) check_below(most), i, i, ~i};
		CHECK(rb_radix_sort(&ctx, &array, &spare, n, sizeof(element), 4, key_of, &turn) == RB_OK,
			  "%u elements", n);
		CHECK(array != spare, "one array twice");
		x = array;
		for (uint32_t i = 1; i < n; i++)
		{
			const uint64_t a = key_of(&x[i - 1], &turn), b = key_of(&x[i], &turn);

			right &= a < b || (a == b && x[i - 1].was < x[i].was);
		}
		for (uint32_t i = 0; i < n; i++)
			right &= x[i].check == x[i].was && x[i].more == ~x[i].was;
		CHECK(right, "%u elements below %u", n, most);
	}
}

static bool
is_below(size_t i, const void *arg)
{
	return ((const uint32_t *) arg)[1 + i] < ((const uint32_t *) arg)[0];
}

/* Searches ascending numbers, with equal ones among them, for each possible value. */
static void
bounds(void)
{
	uint32_t x[1 + 40];

	for (long round = 0; round < check_rounds(200); round++)
	{
		const uint32_t n = (uint32_t) check_below(41);
		rb_context ctx;

		rb_context_init(&ctx, NULL);
		for (uint32_t i = 0; i < n; i++)
			x[1 + i] = (uint32_t) check_below(12);
		CHECK(rb_sort_numbers(&ctx, x + 1, n) == RB_OK, "sort");
		for (uint32_t value = 0; value < 13; value++)
		{
			size_t low = 0, high;

			while (low < n && x[1 + low] < value)
				low++;
			for (high = low; high < n && x[1 + high] <= value;)
				high++;
			x[0] = value;
			CHECK(rb_numbers_lower_bound(x + 1, n, value) == low, "lower bound of %u", value);
			CHECK(rb_numbers_upper_bound(x + 1, n, value) == high, "upper bound of %u", value);
			CHECK(rb_lower_bound(0, n, is_below, x) == low, "searched by a function: %u", value);
		}
	}
}

int
main(void)
{
	CHECK_RUN(any_length);
	CHECK_RUN(numbers);
	CHECK_RUN(radix);
	CHECK_RUN(bounds);
	CHECK_RUN(stopped);
	return check_done();
}
