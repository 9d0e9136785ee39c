/*
 * by_key.c
 *	  Merges the rows of each object into one row if not all rows fit in memory at once.
 *
 *	rows -> piles (hash partitions by object id) -> each pile in memory -> objects
 *
 * All rows of an object meet in one pile. Grouping fails only if a pile does not fit in memory, for
 * example because a single object is too large.
 */
#include "pg/spill/spill.h"

#include "common/hashfn.h"
#include "miscadmin.h"

#define MAX_PILES 256
#define PILE_PARTS 1024
/*
 * Memory for grouping a pile, as a multiple of its size: two copies of its parts, plus tables of
 * ids
 */
#define GROUPING_FACTOR 3

static uint64
bytes_to_group(rb_kind kind, uint64 parts)
{
	return GROUPING_FACTOR * parts * (rb_kind_width(kind) + 2) * sizeof(double);
}

static void
raise_of(const rb_spill *s, rb_status status, const rb_error *error)
{
	if (status == RB_STOPPED)
		rb_rethrow_error();
	rb_raise(s->function, status, error);
}

/* Appends a row to the pile of its object. */
static void
append_row(rb_spill *s, rb_builder *pile, rb_chunks *to, const double *coords, uint32 nparts,
		   int64 id)
{
	rb_error error;
	rb_status status =
		rb_builder_append(pile, coords, nparts, &id, nparts == 1 ? NULL : &nparts, 1, &error);

	if (status != RB_OK)
		raise_of(s, status, &error);
	if (pile->nparts >= PILE_PARTS)
		rb_spill_append_all(s, &s->objects, to, pile);
}

static void
distribute_rows(rb_spill *s, int side, rb_kind kind, rb_chunks *pile, uint32 n)
{
	const rb_chunks *rows = &s->tile[0].rows[side];
	const size_t width = (size_t) rb_kind_width(kind);
	rb_builder *b = palloc(n * sizeof *b);

	for (uint32 i = 0; i < n; i++)
		rb_builder_init(&b[i], s->ctx->memory, kind);
	for (uint32 c = 0; c < rows->n; c++)
	{
		const rb_chunk *chunk = &rows->chunk[c];
		uint32 part = 0;

		CHECK_FOR_INTERRUPTS();
		rb_spill_check(s, rb_spill_read_chunk(s->ctx, &s->raw[side], chunk, (int) width, &s->rows));
		for (uint32 row = 0; row < chunk->nrows; row++)
		{
			const uint32 end = chunk->multi ? s->rows.ends[row] : row + 1;
			const uint32 i = murmurhash32((uint32) s->rows.ids[row] ^
										  (uint32) ((uint64) s->rows.ids[row] >> 32)) %
							 n;

			append_row(s, &b[i], &pile[i], s->rows.coords + part * width, end - part,
					   s->rows.ids[row]);
			part = end;
		}
	}
	for (uint32 i = 0; i < n; i++)
	{
		rb_spill_append_all(s, &s->objects, &pile[i], &b[i]);
		rb_builder_free(&b[i]);
	}
	pfree(b);
}

/* Groups a pile and appends its objects to the rows of the side. */
static void
group_pile(rb_spill *s, int side, rb_kind kind, const rb_chunks *pile)
{
	rb_error error;
	rb_status status;
	rb_builder b;

	rb_builder_init(&b, s->ctx->memory, kind);
	b.should_stop = rb_is_interrupted;
	status = rb_spill_load(s, &s->objects, pile, &b, &error);
	if (status == RB_OK)
		status = rb_builder_group(&b, &error);
	if (status == RB_OVER_BUDGET)
	{
		const uint64 limit = rb_memory_limit(s->ctx->memory);

		rb_builder_free(&b);
		rb_forget_failure(s->ctx);
		error.need = limit - Min(rb_spill_room(s), limit) + bytes_to_group(kind, pile->parts);
		error.limit = limit;
		snprintf(error.text, sizeof error.text,
				 "On the %s side, a single object may have %llu parts.", s->name[side],
				 (unsigned long long) pile->parts);
	}
	if (status != RB_OK)
		raise_of(s, status, &error);
	rb_spill_append_all(s, &s->raw[side], &s->tile[0].rows[side], &b);
	rb_builder_free(&b);
}

void
rb_spill_group(rb_spill *s, int side, rb_kind kind)
{
	const rb_chunks *rows = &s->tile[0].rows[side];
	const uint64 bytes = bytes_to_group(kind, rows->parts);
	const uint64 room = Max(rb_spill_room(s), 1);
	const uint32 n = (uint32) Min(bytes / room + 1, MAX_PILES);
	rb_chunks *pile = palloc0(n * sizeof *pile);

	distribute_rows(s, side, kind, pile, n);
	rb_spill_forget(s, side);
	for (uint32 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		group_pile(s, side, kind, &pile[i]);
		if (pile[i].chunk != NULL)
			pfree(pile[i].chunk);
	}
	pfree(pile);
	rb_spill_file_close(&s->objects);
}
