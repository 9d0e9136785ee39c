/*
 * spill.c
 *	  Joins sides that do not fit in memory: stores their rows in temporary files and joins tile by
 *	  tile.
 *
 *	rows of red and blue -> raw files, in reading order
 *	a sample of the rows -> tiles that each fit in memory -> rows of all tiles, in one file
 *	tile 1: rows -> sets -> pairs | tile 2: ...
 *
 * A tile that turns out to be too large is cut again (partition.c), or split by its rows if cutting
 * does not help (by_rows.c).
 *
 * Reading the next tile calls no PostgreSQL function, so any thread that consumes pairs can do it.
 */
#include "pg/spill/spill.h"

#include "executor/instrument.h"
#include "miscadmin.h"

#include <math.h>

/*
 * Maximum size of the file of tiles, as a multiple of the raw files. A row may lie in several
 * tiles, and tiles are cut repeatedly.
 */
#define MAX_TILE_FILE_RATIO 4

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

bool
rb_spill_has_begun(const rb_spill *s)
{
	return s != NULL && s->begun;
}

/* ---- input: rows ---- */

void
rb_spill_begin(rb_spill *s)
{
	s->begun = true;
}

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

void
rb_spill_forget(rb_spill *s, int side)
{
	rb_chunks *rows = &s->tile[0].rows[side];

	rb_spill_file_close(&s->raw[side]);
	rows->n = 0;
	rows->parts = rows->rows = 0;
	rows->multi = false;
}

uint64
rb_spill_parts(const rb_spill *s, int side)
{
	return s->tile[0].rows[side].parts;
}

uint64
rb_spill_rows_of(const rb_spill *s, int side)
{
	return s->tile[0].rows[side].rows;
}

/* ---- output: tiles ---- */

/*
 * Replaces the tile with several smaller ones, appended to the list. Returns false if the tile
 * could not be divided.
 */
static bool
divide_tile(rb_spill *s, uint32 number)
{
	return (!s->tile[number].whole && rb_spill_cut_tile(s, number)) ||
		   rb_spill_split_tile(s, number);
}

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
			(void) divide_tile(s, i);
	rb_spill_free_chunk(s->ctx, &s->rows);
	rb_free(s->ctx->memory, (void **) &s->ends);
	s->ends_cap = 0;
}

static rb_status
load_side(rb_spill *s, const rb_spill_tile *tile, int side, const rb_set **set)
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
			status = load_side(s, tile, i, &set[i]);
	rb_spill_free_chunk(s->ctx, &s->rows);
	if (status == RB_OVER_BUDGET)
	{
		for (int i = 0; i < 2; i++)
			rb_set_release(&set[i]);
		status = rb_spill_no_room(s, tile);
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
	if (!divide_tile(s, last))
	{
		(void) rb_spill_no_room(s, &s->tile[last]);
		return false;
	}
	s->joined--;
	return true;
}

uint32
rb_spill_tiles(const rb_spill *s)
{
	return s->joined;
}

uint64
rb_spill_bytes(const rb_spill *s)
{
	return s->bytes;
}

static void
report_blocks(uint64 bytes, int64 *counted, int64 *of_all)
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
	report_blocks(s->got, &s->counted[0], &pgBufferUsage.temp_blks_read);
	report_blocks(s->bytes, &s->counted[1], &pgBufferUsage.temp_blks_written);
}

void
rb_spill_close(rb_spill *s)
{
	if (s == NULL)
		return;
	rb_background_end(&s->aside);
	rb_spill_file_close(&s->raw[0]);
	rb_spill_file_close(&s->raw[1]);
	rb_spill_file_close(&s->objects);
	rb_spill_file_close(&s->cut);
}
