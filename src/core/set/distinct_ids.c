/*
 * distinct_ids.c
 *	  Counts the distinct ids of rows and numbers the rows by id.
 *
 *        ids     17 17 4 17 9        numbers     0 0 1 0 2       three distinct ids
 *
 * A new id gets the next number when it first appears. Most columns need no hash table: ids filled
 * by a sequence ascend, and ids within a small range are counted in a bitmap. All others go into a
 * hash table with open addressing, whose slots are prefetched, because its cost is dominated by
 * cache misses.
 */
#include "core/base/base.h"
#include "core/set/set.h"

/* Maximum size of the bitmap, in bits per id */
#define RB_BITS_PER_ID 64
#define RB_AHEAD 16
/* Number of ids between two calls of should_stop: a millisecond or two */
#define RB_CHECK_INTERVAL_IDS ((uint32_t) 1 << 16)

typedef struct id_table
{
	rb_memory *memory;
	const int64_t *ids;
	uint32_t n;
	uint32_t distinct;
	bool (*should_stop)(void);
	uint32_t *slot; /* number + 1, or 0 if free */
	uint32_t mask;
	uint32_t *first; /* first row with each number */
} id_table;

static inline bool
is_stopped(const id_table *t, uint32_t row)
{
	return row % RB_CHECK_INTERVAL_IDS == RB_CHECK_INTERVAL_IDS - 1 && t->should_stop != NULL &&
		   t->should_stop();
}

/* Returns true if each id is larger than the one before. */
static bool
ids_ascend(const int64_t *ids, uint32_t n)
{
	uint32_t wrong = 0;

	for (uint32_t i = 1; i < n; i++)
		wrong |= ids[i] <= ids[i - 1];
	return wrong == 0;
}

/* Counts with one bit for each possible id, or returns false if their range is too large. */
static bool
count_in_bitmap(id_table *t, rb_status *status, rb_error *error)
{
	int64_t low = t->ids[0];
	int64_t high = t->ids[0];
	uint64_t *bits = NULL;
	uint64_t range;

	for (uint32_t i = 1; i < t->n; i++)
	{
		low = t->ids[i] < low ? t->ids[i] : low;
		high = t->ids[i] > high ? t->ids[i] : high;
	}
	range = (uint64_t) high - (uint64_t) low;
	if (range / RB_BITS_PER_ID >= t->n)
		return false;
	*status = rb_resize(t->memory, (void **) &bits, (range / 64 + 1) * sizeof *bits, error);
	if (*status != RB_OK)
		return true;
	memset(bits, 0, (range / 64 + 1) * sizeof *bits);
	for (uint32_t i = 0; i < t->n && *status == RB_OK; i++)
	{
		uint64_t at = (uint64_t) t->ids[i] - (uint64_t) low;

		bits[at / 64] |= UINT64_C(1) << at % 64;
		if (is_stopped(t, i))
			*status = RB_STOPPED;
	}
	for (uint64_t i = 0; i <= range / 64; i++)
		t->distinct += (uint32_t) __builtin_popcountll(bits[i]);
	RB_FREE(t->memory, bits);
	return true;
}

/* Returns a hash in which every bit of the id affects every bit (the finalizer of MurmurHash3). */
static inline uint64_t
mix_bits(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	x ^= x >> 33;
	x *= UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

static inline uint32_t
home_slot(const id_table *t, int64_t id)
{
	return (uint32_t) mix_bits((uint64_t) id) & t->mask;
}

static inline uint32_t
number_of(id_table *t, uint32_t row)
{
	int64_t id = t->ids[row];
	uint32_t at = home_slot(t, id);

	while (t->slot[at] != 0)
	{
		if (t->ids[t->first[t->slot[at] - 1]] == id)
			return t->slot[at] - 1;
		at = (at + 1) & t->mask;
	}
	t->first[t->distinct] = row;
	t->slot[at] = ++t->distinct;
	return t->distinct - 1;
}

static rb_status
number_all(id_table *t, uint32_t *number, rb_error *error)
{
	size_t slots = 1024;

	while (slots < (size_t) t->n * 2)
		slots *= 2;
	t->mask = (uint32_t) (slots - 1);
	RB_TRY(rb_resize(t->memory, (void **) &t->slot, slots * sizeof *t->slot, error));
	RB_TRY(rb_resize(t->memory, (void **) &t->first, (size_t) t->n * sizeof *t->first, error));
	memset(t->slot, 0, slots * sizeof *t->slot);
	for (uint32_t i = 0; i < t->n; i++)
	{
		/* Most rows of one object are adjacent. */
		bool again = i > 0 && t->ids[i] == t->ids[i - 1];
		uint32_t k;

		if (i + RB_AHEAD < t->n)
			__builtin_prefetch(&t->slot[home_slot(t, t->ids[i + RB_AHEAD])]);
		if (again && number != NULL)
			number[i] = number[i - 1];
		else if (!again)
		{
			k = number_of(t, i);
			if (number != NULL)
				number[i] = k;
		}
		if (is_stopped(t, i))
			return RB_STOPPED;
	}
	return RB_OK;
}

rb_status
rb_ids_number(rb_memory *memory, const int64_t *ids, uint32_t n, bool (*should_stop)(void),
			  uint32_t *number, uint32_t *distinct, rb_error *error)
{
	id_table t = {.memory = memory, .ids = ids, .n = n, .should_stop = should_stop};
	rb_status status = RB_OK;

	*distinct = 0;
	if (n == 0)
		return RB_OK;
	if (ids_ascend(ids, n))
	{
		for (uint32_t i = 0; number != NULL && i < n; i++)
			number[i] = i;
		t.distinct = n;
	}
	else if (number != NULL || !count_in_bitmap(&t, &status, error))
		status = number_all(&t, number, error);
	RB_FREE(memory, t.slot);
	RB_FREE(memory, t.first);
	if (status == RB_OK)
		*distinct = t.distinct;
	else
		error->status = status;
	return status;
}
