/*
 * tiles.c
 *	  Joins sides that do not fit in memory: stores their rows in temporary files and joins tile by
 *	  tile.
 *
 *	rows of red and blue -> raw files, in reading order
 *	a sample of the rows -> tiles that each fit in memory -> rows of all tiles, in one file
 *	tile 1: rows -> sets -> pairs | tile 2: ...
 *
 * If the rows of a side form objects, they are merged before the tiles are made. A tile that turns
 * out to be too large is divided again (partition.c).
 *
 * Reading the next tile calls no PostgreSQL function, so any thread that consumes pairs can do it.
 */
#include "pg/spill/spill.h"

#include "common/hashfn.h"
#include "executor/instrument.h"
#include "miscadmin.h"

#include <math.h>

/*
 * Maximum size of the file of tiles, as a multiple of the raw files. A row may lie in several
 * tiles, and tiles are cut repeatedly.
 */
#define MAX_TILE_FILE_RATIO 4
#define MAX_PILES 256
#define PILE_PARTS 1024
/*
 * Memory for grouping a pile of rows into objects, as a multiple of its size: two copies of its
 * parts, plus tables of ids
 */
#define GROUPING_FACTOR 3

rb_spill *
rb_spill_create(const char *function, rb_context *ctx, int sides, const char *const name[2],
				double distance, MemoryContext context)
{
	rb_spill *s = MemoryContextAllocZero(context, sizeof *s);

	s->function = function;
	s->ctx = ctx;
	s->context = context;
	s->sides = sides;
	memcpy(s->name, name, sizeof s->name);
	s->distance = distance;
	s->cap = 16;
	s->tile = MemoryContextAllocZero(context, s->cap * sizeof *s->tile);
	s->ntiles = 1;
	for (int i = 0; i < 2; i++)
		s->tile[0].file[i] = &s->raw[i];
	for (int a = 0; a < 3; a++)
	{
		s->tile[0].ends.low[a] = -INFINITY;
		s->tile[0].ends.high[a] = INFINITY;
	}
	return s;
}

/* ---- input: rows ---- */

void
rb_spill_rows(rb_spill *s, int side, rb_builder *b)
{
	s->kind[side] = b->kind;
	rb_spill_append_all(s, &s->raw[side], &s->tile[0].rows[side], b);
}

void
rb_spill_set(rb_spill *s, int side, const rb_set *set)
{
	rb_builder b;
	int64_t *ids = NULL;

	rb_builder_init(&b, s->ctx->memory, set->kind);
	b.coords = unconstify(double *, set->coords);
	b.nparts = b.row_start = set->nparts;
	b.nrows = set->nrows;
	b.multi = set->row_of != NULL;
	b.row_of = unconstify(uint32_t *, set->row_of);
	b.ids = unconstify(int64_t *, set->ids);
	if (b.ids == NULL)
	{
		rb_spill_check(s, rb_array(s->ctx, (void **) &ids, Max(set->nrows, 1), sizeof *ids));
		for (uint32 i = 0; i < set->nrows; i++)
			ids[i] = (int64) ((uint64) set->first_id + i);
		b.ids = ids;
	}
	s->kind[side] = set->kind;
	rb_spill_append_rows(s, &s->raw[side], &s->tile[0].rows[side], &b);
	rb_free(s->ctx->memory, (void **) &ids);
}

/*
 * ---- objects of several rows ----
 *
 *	rows -> piles (hash partitions by object id) -> each pile in memory -> objects
 *
 * All rows of an object meet in one pile. Grouping fails only if a pile does not fit in memory, for
 * example because a single object is too large.
 */

/* Estimates the memory that grouping the parts of a pile into objects needs. */
static uint64
bytes_to_group_pile(rb_kind kind, uint64 parts)
{
	return GROUPING_FACTOR * parts * (rb_kind_width(kind) + 2) * sizeof(double);
}

/* Raises the error that stopped loading or writing spilled rows, or the interrupt that did. */
static void
raise_spill_failure(const rb_spill *s, rb_status status, const rb_error *error)
{
	if (status == RB_STOPPED)
		rb_rethrow_error();
	rb_raise(s->function, status, error);
}

/* Distributes the rows of a side to n piles, all rows of an object to one. */
static void
distribute_objects_to_piles(rb_spill *s, int side, rb_kind kind, rb_chunks *pile, uint32 n)
{
	const rb_chunks *rows = &s->tile[0].rows[side];
	const size_t width = (size_t) rb_kind_width(kind);
	rb_builder *b = palloc(n * sizeof *b);
	rb_error error;
	rb_status status;

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

			status = rb_spill_append_row(s, &s->objects, &pile[i], &b[i], PILE_PARTS,
										 s->rows.coords + part * width, end - part,
										 s->rows.ids[row], &error);
			if (status != RB_OK)
				raise_spill_failure(s, status, &error);
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
group_pile_of_objects(rb_spill *s, int side, rb_kind kind, const rb_chunks *pile)
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
		error.need = limit - Min(rb_spill_room(s), limit) + bytes_to_group_pile(kind, pile->parts);
		error.limit = limit;
		snprintf(error.text, sizeof error.text,
				 "On the %s side, a single object may have %llu parts.", s->name[side],
				 (unsigned long long) pile->parts);
	}
	if (status != RB_OK)
		raise_spill_failure(s, status, &error);
	rb_spill_append_all(s, &s->raw[side], &s->tile[0].rows[side], &b);
	rb_builder_free(&b);
}

/*
 * Discards all rows of a side that a spilled join has collected, once they are distributed to
 * piles of objects.
 */
static void
discard_collected_rows(rb_spill *s, int side)
{
	rb_chunks *rows = &s->tile[0].rows[side];

	rb_spill_file_close(&s->raw[side]);
	rows->n = 0;
	rows->parts = rows->rows = 0;
	rows->multi = false;
}

void
rb_spill_group(rb_spill *s, int side, rb_kind kind)
{
	const rb_chunks *rows = &s->tile[0].rows[side];
	const uint64 bytes = bytes_to_group_pile(kind, rows->parts);
	const uint64 room = Max(rb_spill_room(s), 1);
	const uint32 n = (uint32) Min(bytes / room + 1, MAX_PILES);
	rb_chunks *pile = palloc0(n * sizeof *pile);

	distribute_objects_to_piles(s, side, kind, pile, n);
	discard_collected_rows(s, side);
	for (uint32 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		group_pile_of_objects(s, side, kind, &pile[i]);
		if (pile[i].chunk != NULL)
			pfree(pile[i].chunk);
	}
	pfree(pile);
	rb_spill_file_close(&s->objects);
}

/* ---- output: tiles ---- */

void
rb_spill_cut(rb_spill *s, const rb_kind *kind, int32 srid, const rb_box *within)
{
	s->srid = srid;
	for (int i = 0; i < s->sides; i++)
		s->kind[i] = kind[i];
	if (s->sides == 1)
	{
		s->kind[1] = s->kind[0];
		s->tile[0].file[1] = s->tile[0].file[0];
	}
	s->most = MAX_TILE_FILE_RATIO * (s->raw[0].size + s->raw[1].size);
	s->tile[0].ends.dims = rb_kind_dims(s->kind[0]);
	if (within->dims != 0)
		s->tile[0].ends = *within;
	/* If one side is empty there is nothing to join. */
	for (int i = 0; i < s->sides; i++)
		if (s->tile[0].rows[i].rows == 0)
			memset(s->tile[0].rows, 0, sizeof s->tile[0].rows);
	/* A cut appends its tiles to the list, so this loop visits them too. */
	for (uint32 i = 0; i < s->ntiles; i++)
		if (rb_spill_tile_bytes(s, &s->tile[i]) > rb_spill_room(s))
			(void) rb_spill_divide_tile(s, i);
	rb_spill_free_chunk(s->ctx, &s->rows);
	rb_free(s->ctx->memory, (void **) &s->ends);
	s->ends_cap = 0;
}

/*
 * Returns the bytes that parts of one side of a spilled join take in memory once their chunk is
 * read back.
 */
static uint64
bytes_of_chunk_read_back(const rb_spill *s, int side, uint32 parts)
{
	return parts * (rb_kind_width(s->kind[side]) * sizeof(double) + sizeof(uint32));
}

/*
 * Records RB_OVER_BUDGET for a tile of a spilled join that cannot be made smaller. The error
 * states the memory that would suffice, and whether a single row needs it.
 */
static rb_status
record_tile_too_large_to_join(const rb_spill *s, const rb_spill_tile *tile)
{
	/* The recorded error describes the last allocation only. */
	const uint64 limit = rb_memory_limit(s->ctx->memory);
	uint64 need = limit - Min(rb_spill_room(s), limit) + rb_spill_tile_bytes(s, tile);
	char text[100] = "";

	for (int i = 0; i < 2; i++)
	{
		const rb_chunks *rows = &tile->rows[i];

		/* Each chunk is first read into a buffer of its own. */
		need += bytes_of_chunk_read_back(s, i, rows->largest);
		if (rows->rows == 1 && rows->parts >= tile->rows[1 - i].parts)
			snprintf(text, sizeof text, "On the %s side, a single row has %llu parts.",
					 s->name[s->sides == 1 ? 0 : i], (unsigned long long) rows->parts);
	}
	rb_forget_failure(s->ctx);
	return rb_fail(s->ctx, RB_OVER_BUDGET, need, limit, text);
}

/* Loads one side of a tile into a set. */
static rb_status
load_side_of_tile(rb_spill *s, const rb_spill_tile *tile, int side, const rb_set **set)
{
	rb_error error = {RB_OK, 0, 0, ""};
	rb_status status;
	rb_builder b;

	rb_builder_init(&b, s->ctx->memory, s->kind[side]);
	b.srid = s->srid;
	status = rb_spill_load(s, tile->file[side], &tile->rows[side], &b, &error);
	if (status == RB_OK)
		status = rb_builder_finish(&b, set, &error);
	rb_builder_free(&b);
	if (status != RB_OK && status != RB_STOPPED && s->ctx->error.status == RB_OK)
		(void) rb_fail(s->ctx, error.status, error.need, error.limit, error.text);
	return status;
}

rb_status
rb_spill_next(rb_spill *s, rb_set const *set[2], rb_box *ends)
{
	const rb_spill_tile *tile;
	rb_status status = RB_OK;

	while (s->next < s->ntiles && s->tile[s->next].rows[0].rows == 0 && s->next + 1 < s->ntiles)
		s->next++;
	if (s->next == s->ntiles)
		return RB_END;
	tile = &s->tile[s->next++];
	s->joined++;
	*ends = tile->ends;
	for (int i = 0; i < 2 && status == RB_OK; i++)
		if (i < s->sides || tile->rows[i].rows > 0)
			status = load_side_of_tile(s, tile, i, &set[i]);
	rb_spill_free_chunk(s->ctx, &s->rows);
	if (status == RB_OVER_BUDGET)
	{
		for (int i = 0; i < 2; i++)
			rb_set_release(&set[i]);
		status = record_tile_too_large_to_join(s, tile);
	}
	return status;
}

bool
rb_spill_cut_again(rb_spill *s)
{
	const uint32 last = s->next - 1;

	if (s->joined == 0)
		return false;
	rb_forget_failure(s->ctx);
	if (!rb_spill_divide_tile(s, last))
	{
		(void) record_tile_too_large_to_join(s, &s->tile[last]);
		return false;
	}
	s->joined--;
	return true;
}

/*
 * Adds the blocks that a spilled join has read or written since the last report to PostgreSQL's
 * statistics.
 */
static void
count_temp_blocks_of_join(uint64 bytes, int64 *counted, int64 *of_all)
{
	const int64 blocks = (int64) (bytes / BLCKSZ);

	*of_all += blocks - *counted;
	*counted = blocks;
}

void
rb_spill_report_blocks(rb_spill *s)
{
	if (s == NULL)
		return;
	count_temp_blocks_of_join(s->got, &s->counted[0], &pgBufferUsage.temp_blks_read);
	count_temp_blocks_of_join(s->bytes, &s->counted[1], &pgBufferUsage.temp_blks_written);
}

void
rb_spill_close(rb_spill *s)
{
	if (s == NULL)
		return;
	rb_helper_end(&s->aside);
	rb_spill_file_close(&s->raw[0]);
	rb_spill_file_close(&s->raw[1]);
	rb_spill_file_close(&s->objects);
	rb_spill_file_close(&s->cut);
}
