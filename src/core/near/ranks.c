/*
 * ranks.c
 *	  Rows in order of their ids, for ties.
 *
 * Most columns of ids ascend, and then a row's rank is its number.  Others are sorted, by bytes from
 * the lowest to the highest (LSD radix sort): it keeps rows of one id in order, and bytes that all ids
 * have in common are left out.
 */
#include "core/near/rb_nearest.h"

#define QUIET ((uint32_t) 1 << 16) /* so many rows take a millisecond or two */

/* as unsigned numbers in the order of the signed ones */
static inline uint64_t
key_of(const rb_set *set, uint32_t row)
{
	const uint64_t id =
		set->ids != NULL ? (uint64_t) set->ids[row] : (uint64_t) set->first_id + row;

	return id ^ (uint64_t) 1 << 63;
}

static bool
ascend(const rb_set *set)
{
	bool good = true;

	/* those that count up do, unless they wrap */
	if (set->ids == NULL)
		return key_of(set, 0) <= key_of(set, set->nrows - 1);
	for (uint32_t i = 1; i < set->nrows && good; i++)
		good = set->ids[i] >= set->ids[i - 1];
	return good;
}

static inline uint32_t
byte_of(const rb_set *set, uint32_t row, int byte)
{
	return (uint32_t) (key_of(set, row) >> 8 * byte) & 0xff;
}

/* rows from one array to the other, by that byte; false: stopped */
static bool
pass(rb_context *ctx, const rb_set *set, int byte, const uint32_t *from, uint32_t *to, bool *moved)
{
	const uint32_t n = set->nrows;
	uint32_t start[257] = {0};

	*moved = false;
	for (uint32_t i = 0; i < n; i++)
	{
		start[byte_of(set, i, byte) + 1]++;
		if (i % QUIET == 0 && rb_should_stop(ctx))
			return false;
	}
	if (start[byte_of(set, 0, byte) + 1] == n)
		return true;
	for (int b = 0; b < 256; b++)
		start[b + 1] += start[b];
	for (uint32_t i = 0; i < n; i++)
	{
		to[start[byte_of(set, from[i], byte)]++] = from[i];
		if (i % QUIET == 0 && rb_should_stop(ctx))
			return false;
	}
	*moved = true;
	return true;
}

rb_status
rb_ranks(rb_context *ctx, const rb_set *set, uint32_t **rank)
{
	const uint32_t n = set->nrows;
	uint32_t *order[2] = {NULL, NULL};
	rb_status status;
	int at = 0;

	*rank = NULL;
	if (ascend(set))
		return RB_OK;
	status = rb_array(ctx, (void **) &order[0], n, sizeof(uint32_t));
	if (status == RB_OK)
		status = rb_array(ctx, (void **) &order[1], n, sizeof(uint32_t));
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		order[0][i] = i;
		if (i % QUIET == 0 && rb_should_stop(ctx))
			status = RB_STOPPED;
	}
	for (int byte = 0; byte < 8 && status == RB_OK; byte++)
	{
		bool moved;

		if (!pass(ctx, set, byte, order[at], order[1 - at], &moved))
			status = RB_STOPPED;
		else if (moved)
			at = 1 - at;
	}
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		order[1 - at][order[at][i]] = i;
		if (i % QUIET == 0 && rb_should_stop(ctx))
			status = RB_STOPPED;
	}
	if (status == RB_OK)
	{
		*rank = order[1 - at];
		order[1 - at] = NULL;
	}
	rb_free(ctx->memory, (void **) &order[0]);
	rb_free(ctx->memory, (void **) &order[1]);
	return status;
}
