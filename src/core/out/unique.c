/*
 * unique.c
 *	  Pairs of parts in, pairs of rows out, each once.
 *
 * A row may have many parts: a TIN, a line of forty pieces.  Two such rows meet
 * in many pairs of parts and are still one pair of rows.  The rows that were
 * reported are kept in a hash set; only pairs in which a row has several parts
 * go there, so data of one part a row pays nothing, and memory is bounded by
 * the answer, not by the contacts.
 */
#include "core/base/rb_base.h"
#include "core/out/rb_unique.h"

#include <string.h>

void
rb_unique_init(rb_unique *u, rb_context *ctx, const rb_job *job)
{
	memset(u, 0, sizeof(*u));
	u->ctx = ctx;
	u->job = job;
	u->needed = job->red->row_of != NULL || (job->blue != NULL && job->blue->row_of != NULL);
}

void
rb_unique_free(rb_unique *u)
{
	rb_free(u->ctx->memory, (void **) &u->slot);
}

static inline uint64_t
spread(uint64_t x)
{
	x ^= x >> 32;
	x *= 0x9fb21c651e98df25u;
	x ^= x >> 29;
	x *= 0xd6e8feb86659fd93u;
	return x ^ (x >> 32);
}

static bool
insert(rb_unique *u, uint64_t key)
{
	size_t at = spread(key) & u->mask;

	while (u->slot[at] != 0)
	{
		if (u->slot[at] == key + 1)
			return false;
		at = (at + 1) & u->mask;
	}
	u->slot[at] = key + 1;
	u->used++;
	return true;
}

/* twice the slots; a large set takes seconds to move, so it looks on the way whether to stop */
static rb_status
grow(rb_unique *u)
{
	const size_t stretch = (size_t) 1 << 16;
	uint64_t *old = u->slot;
	size_t old_slots = old != NULL ? u->mask + 1 : 0;
	size_t slots = old_slots > 0 ? 2 * old_slots : RB_SIZE(4096, 4);
	rb_status status;

	u->slot = NULL;
	status = rb_array(u->ctx, (void **) &u->slot, slots, sizeof(uint64_t));
	if (status != RB_OK)
	{
		u->slot = old;
		return status;
	}
	for (size_t i = 0; i < slots && !rb_should_stop(u->ctx); i += stretch)
		memset(u->slot + i, 0, (slots - i < stretch ? slots - i : stretch) * sizeof(uint64_t));
	u->mask = slots - 1;
	u->used = 0;
	for (size_t i = 0; i < old_slots && !rb_should_stop(u->ctx); i += stretch)
		for (size_t k = i; k < i + stretch && k < old_slots; k++)
			if (old[k] != 0)
				insert(u, old[k] - 1);
	rb_free(u->ctx->memory, (void **) &old);
	return rb_should_stop(u->ctx) ? RB_STOPPED : RB_OK;
}

/* the row of a part, and whether it has other parts */
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

rb_status
rb_unique_rows(rb_unique *u, const rb_pair *parts, size_t n, rb_pair *out, size_t *nout)
{
	const rb_set *red = u->job->red;
	const rb_set *blue = u->job->blue != NULL ? u->job->blue : red;
	size_t k = 0;

	if (rb_should_stop(u->ctx)) /* the set may be left half grown */
		return RB_STOPPED;
	for (size_t i = 0; i < n; i++)
	{
		bool several = false;
		rb_pair rows;

		rows.red = row_of(red, parts[i].red, &several);
		rows.blue = row_of(blue, parts[i].blue, &several);
		if (several)
		{
			if (u->slot == NULL || u->used >= u->mask / 2)
			{
				rb_status status = grow(u);

				if (status != RB_OK)
					return status;
			}
			if (!insert(u, (uint64_t) rows.red << 32 | rows.blue))
				continue;
		}
		out[k++] = rows;
	}
	*nout = k;
	return RB_OK;
}
