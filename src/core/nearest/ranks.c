/*
 * ranks.c
 *	  Computes ranks of rows by id, which break ties.
 *
 * Most id columns ascend, and then a row's rank is its number. Others are sorted by a radix
 * sort, which is stable for equal ids.
 */
#include "core/nearest/nearest.h"
#include "core/base/sort.h"

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

static uint64_t
key_of_row(const void *row, const void *set)
{
	return key_of(set, *(const uint32_t *) row);
}

rb_status
rb_ranks(rb_context *ctx, const rb_set *set, uint32_t **rank)
{
	const uint32_t n = set->nrows;
	uint32_t *order = NULL, *other = NULL;
	rb_status status;

	*rank = NULL;
	if (do_ids_ascend(set))
		return RB_OK;
	status = RB_ALLOCATE(ctx, order, n);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, other, n);
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
		order[i] = i;
	if (status == RB_OK)
		status = rb_radix_sort(ctx, (void **) &order, (void **) &other, n, sizeof *order, 8,
							   key_of_row, set);
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		other[order[i]] = i;
		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			status = RB_STOPPED;
	}
	if (status == RB_OK)
		*rank = other;
	else
		RB_FREE(ctx->memory, other);
	RB_FREE(ctx->memory, order);
	return status;
}
