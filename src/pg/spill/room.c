/*
 * room.c
 *	  Computes the memory that a tile of a spilled join needs and may use, and reports errors.
 */
#include "pg/base/join_memory.h"
#include "pg/spill/spill.h"

#include "miscadmin.h"

void
rb_spill_check(const rb_spill *s, rb_status status)
{
	if (status == RB_OK)
		return;
	if (status == RB_STOPPED)
		CHECK_FOR_INTERRUPTS();
	rb_raise(s->function, status, &s->ctx->error);
}

uint64
rb_spill_room(const rb_spill *s)
{
	const uint64 limit = rb_memory_limit(s->ctx->memory);
	const uint64 used = rb_memory_used(s->ctx->memory) + rb_need_of_join_on(s->ctx->threads, 0);

	return limit > used ? limit - used : 0;
}

/*
 * Doubles the estimate if rows have several parts, because their pairs must be remembered to remove
 * duplicates (row_pairs.c).
 */
uint64
rb_spill_tile_bytes(const rb_spill *s, const rb_spill_tile *tile)
{
	uint64 bytes = 0;
	bool multi = false;

	for (int i = 0; i < 2; i++)
	{
		const rb_chunks *rows = &tile->rows[i];

		bytes += rows->parts * (uint64) rb_kind_width(s->kind[i]) * sizeof(double) +
				 rows->rows * sizeof(int64) + (rows->multi ? rows->parts * sizeof(uint32) : 0) +
				 rb_need_of_join_on(0, rows->parts) - rb_need_of_join_on(0, 0);
		multi |= rows->multi;
	}
	return multi ? 2 * bytes : bytes;
}

static uint64
bytes_of_parts(const rb_spill *s, int side, uint32 parts)
{
	return parts * (rb_kind_width(s->kind[side]) * sizeof(double) + sizeof(uint32));
}

rb_status
rb_spill_no_room(const rb_spill *s, const rb_spill_tile *tile)
{
	/* The recorded error describes the last allocation only. */
	const uint64 limit = rb_memory_limit(s->ctx->memory);
	uint64 need = limit - Min(rb_spill_room(s), limit) + rb_spill_tile_bytes(s, tile);
	char text[100] = "";

	for (int i = 0; i < 2; i++)
	{
		const rb_chunks *rows = &tile->rows[i];

		/* Each chunk is first read into a buffer of its own. */
		need += bytes_of_parts(s, i, rows->largest);
		if (rows->rows == 1 && rows->parts >= tile->rows[1 - i].parts)
			snprintf(text, sizeof text, "On the %s side, a single row has %llu parts.",
					 s->name[s->sides == 1 ? 0 : i], (unsigned long long) rows->parts);
	}
	rb_forget_failure(s->ctx);
	return rb_fail(s->ctx, RB_OVER_BUDGET, need, limit, text);
}
