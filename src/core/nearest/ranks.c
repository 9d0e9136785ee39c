/*
 * ranks.c
 *	  Computes ranks of rows by id, which break ties.
 *
 * Most id columns ascend, and then a row's rank is its number. Others are sorted by an LSD radix
 * sort on bytes, which is stable for equal ids and skips bytes that are equal in all ids.
 */
#include "core/nearest/nearest.h"

#define CHECK_INTERVAL ((uint32_t) 1 << 16) /* rows between two polls; one or two milliseconds */

/* Maps ids to unsigned numbers with the order of the signed ids. */
static inline uint64_t
key_of(const rb_set *set, uint32_t row)
{
	const uint64_t id =
		set->ids != NULL ? (uint64_t) set->ids[row] : (uint64_t) set->first_id + row;

	return id ^ (uint64_t) 1 << 63;
}

static bool
do_ids_ascend(const rb_set *set)
{
	bool good = true;

	/* Consecutive ids ascend unless they wrap. */
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

/* Distributes rows from one array to the other by a byte of the id. Returns false if stopped. */
static bool
distribute_by_byte(rb_context *ctx, const rb_set *set, int byte, const uint32_t *from, uint32_t *to,
				   bool *moved)
{
	const uint32_t n = set->nrows;
	uint32_t start[257] = {0};

	*moved = false;
	for (uint32_t i = 0; i < n; i++)
	{
		start[byte_of(set, i, byte) + 1]++;
		if (i % CHECK_INTERVAL == 0 && rb_should_stop(ctx))
			return false;
	}
	if (start[byte_of(set, 0, byte) + 1] == n)
		return true;
	for (int b = 0; b < 256; b++)
		start[b + 1] += start[b];
	for (uint32_t i = 0; i < n; i++)
	{
		to[start[byte_of(set, from[i], byte)]++] = from[i];
		if (i % CHECK_INTERVAL == 0 && rb_should_stop(ctx))
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
	if (do_ids_ascend(set))
		return RB_OK;
	status = rb_array(ctx, (void **) &order[0], n, sizeof(uint32_t));
	if (status == RB_OK)
		status = rb_array(ctx, (void **) &order[1], n, sizeof(uint32_t));
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		order[0][i] = i;
		if (i % CHECK_INTERVAL == 0 && rb_should_stop(ctx))
			status = RB_STOPPED;
	}
	for (int byte = 0; byte < 8 && status == RB_OK; byte++)
	{
		bool moved;

		if (!distribute_by_byte(ctx, set, byte, order[at], order[1 - at], &moved))
			status = RB_STOPPED;
		else if (moved)
			at = 1 - at;
	}
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		order[1 - at][order[at][i]] = i;
		if (i % CHECK_INTERVAL == 0 && rb_should_stop(ctx))
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
