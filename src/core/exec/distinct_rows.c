/*
 * distinct_rows.c
 *	  Converts pairs of parts to distinct pairs of rows.
 *
 * A row may have many parts, for example a TIN or a line of forty segments. Two such rows meet in
 * many pairs of parts and still form one pair of rows. The pairs of rows that were returned are
 * stored in a hash table. It contains only pairs in which a row has several parts, so data with one
 * part per row has no cost, and memory is bounded by the number of resulting pairs, not of
 * contacts.
 *
 * If pairs have a payload, the payloads of their parts are merged in the same table, and the pairs
 * are returned when the join has ended:
 *
 *		RB_CONTACT, RB_SELF_INTERSECT    the highest dimension; whether any two parts cross
 *		RB_WITHIN                        the least distance
 *		RB_RAY_PARITY                    parity of the parts above; whether any contains the point
 */
#include "core/base/base.h"
#include "core/exec/distinct_rows.h"

#include <string.h>

void
rb_unique_init(rb_unique *u, rb_context *ctx, const rb_job *job)
{
	memset(u, 0, sizeof(*u));
	u->ctx = ctx;
	u->job = job;
	/* Predicates composed of several joins produce pairs of rows directly. */
	u->needed = !job->within_rows && job->predicate < RB_NEAREST &&
				(job->red->row_of != NULL || (job->blue != NULL && job->blue->row_of != NULL));
	u->merges = u->needed && rb_predicate_has_payload(job->predicate);
}

void
rb_unique_free(rb_unique *u)
{
	RB_FREE(u->ctx->memory, u->slot);
	RB_FREE(u->ctx->memory, u->payload);
}

static uint64_t
merge_payload(rb_predicate predicate, uint64_t a, uint64_t b)
{
	uint64_t dimension;

	switch (predicate)
	{
		case RB_WITHIN: /* Nonnegative doubles have the order of their bits */
			return a < b ? a : b;
		case RB_RAY_PARITY:
			return ((a ^ b) & RB_PAYLOAD(RB_RAY_PARITY_OF(1, 0))) |
				   ((a | b) & RB_PAYLOAD(RB_RAY_PARITY_OF(0, 1)));
		default:
			dimension = RB_PAYLOAD_DIMENSION(a) > RB_PAYLOAD_DIMENSION(b) ? RB_PAYLOAD_DIMENSION(a)
																		  : RB_PAYLOAD_DIMENSION(b);
			return RB_PAYLOAD(
				RB_CONTACT_OF(dimension, RB_PAYLOAD_CROSSES(a) | RB_PAYLOAD_CROSSES(b)));
	}
}

bool
rb_unique_counts(const rb_job *job, uint64_t payload)
{
	return job->predicate != RB_RAY_PARITY || payload != 0;
}

static inline uint64_t
hash_key(uint64_t x)
{
	x ^= x >> 32;
	x *= 0x9fb21c651e98df25u;
	x ^= x >> 29;
	x *= 0xd6e8feb86659fd93u;
	return x ^ (x >> 32);
}

static bool
insert_key(rb_unique *u, uint64_t key, uint64_t payload)
{
	size_t at = hash_key(key) & u->mask;

	while (u->slot[at] != 0)
	{
		if (u->slot[at] == key + 1)
		{
			if (u->merges)
				u->payload[at] = merge_payload(u->job->predicate, u->payload[at], payload);
			return false;
		}
		at = (at + 1) & u->mask;
	}
	u->slot[at] = key + 1;
	if (u->merges)
		u->payload[at] = payload;
	u->used++;
	return true;
}

/*
 * Doubles the number of slots. Moving a large table takes seconds, so the function checks for
 * cancellation.
 */
static rb_status
grow_table(rb_unique *u)
{
	const size_t stretch = (size_t) 1 << 16;
	uint64_t *old = u->slot;
	uint64_t *old_told = u->payload;
	size_t old_slots = old != NULL ? u->mask + 1 : 0;
	size_t slots = old_slots > 0 ? 2 * old_slots : RB_SIZE(4096, 4);
	rb_status status;

	u->slot = u->payload = NULL;
	status = RB_ALLOCATE(u->ctx, u->slot, slots);
	if (status == RB_OK && u->merges)
		status = RB_ALLOCATE(u->ctx, u->payload, slots);
	if (status != RB_OK)
	{
		rb_unique_free(u);
		u->slot = old;
		u->payload = old_told;
		return status;
	}
	for (size_t i = 0; i < slots && !rb_should_stop(u->ctx); i += stretch)
		memset(u->slot + i, 0, (slots - i < stretch ? slots - i : stretch) * sizeof(uint64_t));
	u->mask = slots - 1;
	u->used = 0;
	for (size_t i = 0; i < old_slots && !rb_should_stop(u->ctx); i += stretch)
		for (size_t k = i; k < i + stretch && k < old_slots; k++)
			if (old[k] != 0)
				insert_key(u, old[k] - 1, u->merges ? old_told[k] : 0);
	RB_FREE(u->ctx->memory, old);
	RB_FREE(u->ctx->memory, old_told);
	return rb_should_stop(u->ctx) ? RB_STOPPED : RB_OK;
}

/* Returns the row of a part; sets *several if the row has other parts. */
static inline uint32_t
row_of(const rb_set *side, uint32_t part, bool *several)
{
	uint32_t row;

	if (side->row_of == NULL)
		return part;
	row = side->row_of[part];
	if ((part > 0 && side->row_of[part - 1] == row) ||
		(part + 1 < side->nparts && side->row_of[part + 1] == row))
		*several = true;
	return row;
}

/* Adds a pair of parts. Sets *out if its pair of rows must be returned immediately. */
static rb_status
add_part_pair(rb_unique *u, rb_pair parts, uint64_t payload, rb_pair *rows, bool *out)
{
	const rb_set *red = u->job->red;
	const rb_set *blue = u->job->blue != NULL ? u->job->blue : red;
	bool several = false;

	rows->red = row_of(red, parts.red, &several);
	rows->blue = row_of(blue, parts.blue, &several);
	*out = !several;
	if (!several)
		return RB_OK;
	if (u->slot == NULL || u->used >= u->mask / 2)
	{
		rb_status status = grow_table(u);

		if (status != RB_OK)
			return status;
	}
	*out = insert_key(u, (uint64_t) rows->red << 32 | rows->blue, payload) && !u->merges;
	return RB_OK;
}

rb_status
rb_unique_rows(rb_unique *u, const rb_pair *parts, size_t n, rb_pair *out, size_t *nout)
{
	rb_status status = RB_OK;
	size_t k = 0;

	if (rb_should_stop(u->ctx)) /* The table may have been left partially grown */
		return RB_STOPPED;
	for (size_t i = 0; i < n && status == RB_OK; i++)
	{
		bool comes_out = false;

		status = add_part_pair(u, parts[i], 0, &out[k], &comes_out);
		k += comes_out;
	}
	*nout = k;
	return status;
}

rb_status
rb_unique_merge(rb_unique *u, const rb_pair *parts, const uint64_t *payload, size_t n, rb_pair *out,
				uint64_t *out_told, size_t *nout)
{
	rb_status status = RB_OK;
	size_t k = 0;

	if (rb_should_stop(u->ctx))
		return RB_STOPPED;
	for (size_t i = 0; i < n && status == RB_OK; i++)
	{
		bool comes_out = false;

		status = add_part_pair(u, parts[i], payload[i], &out[k], &comes_out);
		out_told[k] = payload[i];
		k += comes_out;
	}
	*nout = k;
	return status;
}

size_t
rb_unique_merged(const rb_unique *u, size_t *at, rb_pair *out, uint64_t *payload, size_t most)
{
	size_t k = 0;

	if (u->slot == NULL)
		return 0;
	for (; *at <= u->mask && k < most; (*at)++)
		if (u->slot[*at] != 0 && rb_unique_counts(u->job, u->payload[*at]))
		{
			const uint64_t key = u->slot[*at] - 1;

			out[k] = (rb_pair){(uint32_t) (key >> 32), (uint32_t) key};
			payload[k++] = u->payload[*at];
		}
	return k;
}
