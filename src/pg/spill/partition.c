/*
 * partition.c
 *	  Divides a tile into several tiles: cuts its space, or splits its rows where that does not
 *	  help.
 *
 * Cutting gives each new tile the rows that may have pairs in it:
 *
 *	a sample of the tile's rows		-> kd_tiles.c computes the cuts
 *	each row of the tile			-> a pile (buffer) for each tile that the row meets
 *	a pile that is large enough		-> the file of tiles
 *
 * A pair of rows belongs to the tile that contains its reference point (Dittrich and Seeger 2000;
 * reference_point.h). A row that crosses a border is therefore written to several tiles, but no
 * pair is found twice. Tiles in which one side has no rows are dropped.
 *
 * A cut is abandoned if it would write rows too often, because too many rows extend over too much
 * of the tile.
 */
#include "pg/spill/spill.h"

#include "core/base/hash.h"
#include "core/primitive/reference_point.h"
#include "core/set/set.h"

#include "miscadmin.h"

#include <math.h>

#define MIN_SAMPLE 1024
#define MAX_SAMPLE 65536
/*
 * Bytes of the memory limit for each sampled row: what the cuts store about the row and its pairs
 */
#define BYTES_OF_A_SAMPLE 4096
#define MAX_TILES 256 /* Maximum number of tiles of one cut */
#define GROUP 8       /* Tiles per group; consecutive tiles of a cut lie close together */
#define PILE_PARTS 1024
#define SPARE 1.5 /* Factor for unequal tiles and duplicated rows */
/* Fraction of a tile's parts; a new tile with more of them is not cut again */
#define TOO_ALIKE 0.9
#define TOO_OFTEN 3 /* Maximum number of copies of a row, on average */

/* ---- the tiles that a row meets ---- */

typedef struct tile_groups
{
	int dims;
	uint32 n;
	rb_kd_tile *tile;
	rb_box *group; /* Bounding box of each GROUP consecutive tiles */
} tile_groups;

/* Computes the boxes of groups of new tiles, by which rows are distributed to them faster. */
static void
make_boxes_of_new_tile_groups(tile_groups *t)
{
	t->group = palloc((t->n / GROUP + 1) * sizeof *t->group);
	for (uint32 i = 0; i < t->n; i++)
	{
		rb_box *g = &t->group[i / GROUP];

		for (int a = 0; a < t->dims; a++)
		{
			g->low[a] = i % GROUP == 0 ? t->tile[i].low[a] : Min(g->low[a], t->tile[i].low[a]);
			g->high[a] = i % GROUP == 0 ? t->tile[i].high[a] : Max(g->high[a], t->tile[i].high[a]);
		}
	}
}

/*
 * Returns the index of the next tile, from `from` on, to which a row is distributed because it
 * meets the tile, or t->n if there is none.
 */
static uint32
next_tile_for_distributed_row(const tile_groups *t, uint32 from, const double *low,
							  const double *reach)
{
	uint32 i = from;

	while (i < t->n)
	{
		const rb_box *g = &t->group[i / GROUP];

		if (i % GROUP == 0 && !rb_tile_meets(t->dims, low, reach, g->low, g->high))
			i += GROUP;
		else if (rb_tile_meets(t->dims, low, reach, t->tile[i].low, t->tile[i].high))
			return i;
		else
			i++;
	}
	return t->n;
}

/*
 * Computes the box of a row that is distributed to new tiles, with its upper corner moved up by
 * the distance.
 */
static void
find_box_of_distributed_row(const rb_spill *s, rb_kind kind, const double *coords, uint32 part,
							uint32 end, double low[3], double reach[3])
{
	rb_parts_box(kind, coords, part, end, low, reach);
	for (int a = 0; a < 3; a++)
		reach[a] = rb_reach_up(reach[a], s->distance);
}

/* ---- a sample ---- */

/* Returns how many rows of a side to sample to cut a tile, within the memory limit. */
static uint32
count_rows_to_sample(const rb_spill *s, const rb_chunks *rows)
{
	const uint64 wanted = rb_memory_limit(s->ctx->memory) / BYTES_OF_A_SAMPLE;

	return (uint32) Min(rows->rows, Min(Max(wanted, MIN_SAMPLE), MAX_SAMPLE));
}

/* Clips a box to the tile, because anything outside the tile must not influence the cuts. */
static void
clip_box_to_tile(const rb_spill_tile *tile, int dims, double *low, double *high)
{
	for (int a = 0; a < dims; a++)
	{
		low[a] = Max(low[a], tile->ends.low[a]);
		high[a] = Max(low[a], Min(high[a], tile->ends.high[a]));
	}
}

/* Computes the box of one row of a chunk for the sample. */
static void
sample_box_of_chunk_row(rb_spill *s, const rb_spill_tile *tile, int side, const rb_chunk *chunk,
						uint32 row, double *box)
{
	const rb_kind kind = s->kind[side];
	const int width = rb_kind_width(kind), dims = rb_kind_dims(kind);
	const uint32 part = !chunk->multi ? row : row == 0 ? 0 : s->rows.ends[row - 1];
	const uint32 end = !chunk->multi ? row + 1 : s->rows.ends[row];
	double low[3], high[3];

	rb_box_empty(low, high);
	for (uint32 i = part; i < end; i++)
	{
		double coords[RB_MAX_WIDTH], lo[3], hi[3];

		rb_spill_check(s,
					   rb_spill_read_parts(s->ctx, tile->file[side], chunk, width, i, 1, coords));
		rb_kind_box(kind, coords, 0, lo, hi);
		rb_box_add(low, high, lo, hi);
	}
	clip_box_to_tile(tile, dims, low, high);
	for (int a = 0; a < dims; a++)
	{
		box[a] = low[a];
		box[dims + a] = high[a];
	}
}

/*
 * Returns the boxes of randomly chosen rows, one of each `step` consecutive rows, allocated from
 * the context's memory.
 */
static double *
sample_boxes_of_tile_rows(rb_spill *s, const rb_spill_tile *tile, int side, uint32 wanted,
						  uint32 *n)
{
	const rb_chunks *rows = &tile->rows[side];
	const int dims = rb_kind_dims(s->kind[side]);
	const double step = (double) rows->rows / wanted;
	double *box = NULL;
	uint64 before = 0; /* Rows of the preceding chunks */
	uint32 chunk = 0;
	bool ends = false;

	*n = 0;
	rb_spill_check(s, rb_array(s->ctx, (void **) &box, Max(wanted, 1), 2 * dims * sizeof *box));
	for (uint32 i = 0; i < wanted && rows->rows > 0; i++)
	{
		const double shift = (double) (rb_splitmix(i + 1) >> 11) * 0x1p-53;
		const uint64 row = Min((uint64) ((i + shift) * step), rows->rows - 1);

		if (i % 256 == 0)
			CHECK_FOR_INTERRUPTS();
		while (row >= before + rows->chunk[chunk].nrows)
		{
			before += rows->chunk[chunk++].nrows;
			ends = false;
		}
		if (rows->chunk[chunk].multi && !ends)
			rb_spill_check(s, rb_spill_read_ends(s->ctx, tile->file[side], &rows->chunk[chunk],
												 rb_kind_width(s->kind[side]), &s->rows));
		ends = true;
		sample_box_of_chunk_row(s, tile, side, &rows->chunk[chunk], (uint32) (row - before),
								box + (size_t) 2 * dims * (*n)++);
	}
	return box;
}

/* ---- cuts ---- */

typedef struct tile_cutting
{
	rb_spill *s;
	rb_kd_job job;
	rb_set sample[2];
	rb_kd_tile *tile;
} tile_cutting;

/* Computes the cuts of a tile from samples of its rows, as work of the helper thread. */
static rb_status
find_cuts_by_samples(void *arg)
{
	tile_cutting *c = arg;

	return rb_kd_tiles(c->s->ctx, &c->job, c->tile);
}

/* Returns the number of tiles into which a tile should be cut. */
static uint32
count_tiles_to_cut(const rb_spill *s, const rb_spill_tile *tile)
{
	const uint64 room = rb_spill_room(s);
	const int width = Max(rb_kind_width(s->kind[0]), rb_kind_width(s->kind[1]));
	const uint64 pile = 2 * PILE_PARTS * (width + 2) * sizeof(double);
	const double n = SPARE * (double) rb_spill_tile_bytes(s, tile) / (double) Max(room, 1);

	return (uint32) Max(Min(Min(ceil(n), MAX_TILES), (double) (room / 2 / pile)), 2);
}

/* Computes the cuts of a tile into c->tile. */
static void
compute_cuts_of_tile(tile_cutting *c, const rb_spill_tile *tile)
{
	rb_spill *s = c->s;
	double *box[2] = {NULL, NULL};
	rb_status status;

	for (int i = 0; i < s->sides; i++)
	{
		uint32 n;

		box[i] = sample_boxes_of_tile_rows(s, tile, i, count_rows_to_sample(s, &tile->rows[i]), &n);
		c->sample[i].kind = rb_kind_dims(s->kind[i]) == 2 ? RB_BOX2 : RB_BOX3;
		c->sample[i].nparts = c->sample[i].nrows = n;
		c->sample[i].coords = box[i];
		c->job.sample[i] = &c->sample[i];
		c->job.rows[i] = (double) tile->rows[i].rows;
	}
	if (s->sides == 1)
		c->job.rows[1] = c->job.rows[0];
	c->job.self = s->sides == 1;
	c->job.distance = s->distance;
	s->aside.ctx = s->ctx;
	s->aside.work = find_cuts_by_samples;
	s->aside.arg = c;
	status = rb_helper_run(&s->aside);
	for (int i = 0; i < s->sides; i++)
		rb_free(s->ctx->memory, (void **) &box[i]);
	rb_spill_check(s, status);
}

/* ---- distribution of rows to tiles ---- */

/*
 * Distributes the rows of a side to the tiles. Returns false if the file exceeds `most` bytes or a
 * row does not fit in memory.
 */
static bool
distribute_rows_to_tiles(rb_spill *s, const rb_spill_tile *from, int side, const tile_groups *t,
						 rb_spill_tile *to, rb_builder *pile, int64 most)
{
	const rb_kind kind = s->kind[side];
	const size_t width = (size_t) rb_kind_width(kind);
	const uint64 room = rb_spill_room(s) / 4 / t->n / ((width + 2) * sizeof(double));
	const uint32 pile_parts = (uint32) Max(Min(room, 16 * PILE_PARTS), PILE_PARTS);
	rb_status status = RB_OK;
	rb_error error;

	for (uint32 i = 0; i < t->n; i++)
		rb_builder_init(&pile[i], s->ctx->memory, kind);
	for (uint32 c = 0; c < from->rows[side].n && s->cut.size <= most && status == RB_OK; c++)
	{
		const rb_chunk *chunk = &from->rows[side].chunk[c];
		uint32 part = 0;

		CHECK_FOR_INTERRUPTS();
		status = rb_spill_read_chunk(s->ctx, from->file[side], chunk, (int) width, &s->rows);
		if (status == RB_OVER_BUDGET)
		{
			rb_forget_failure(s->ctx);
			break;
		}
		rb_spill_check(s, status);
		for (uint32 row = 0; row < chunk->nrows && status == RB_OK; row++)
		{
			const uint32 end = chunk->multi ? s->rows.ends[row] : row + 1;
			double low[3], reach[3];

			find_box_of_distributed_row(s, kind, s->rows.coords, part, end, low, reach);
			for (uint32 i = next_tile_for_distributed_row(t, 0, low, reach);
				 i < t->n && status == RB_OK;
				 i = next_tile_for_distributed_row(t, i + 1, low, reach))
				status = rb_spill_append_row(s, &s->cut, &to[i].rows[side], &pile[i], pile_parts,
											 s->rows.coords + part * width, end - part,
											 s->rows.ids[row], &error);
			part = end;
		}
	}
	if (status != RB_OK && status != RB_OVER_BUDGET)
		rb_raise(s->function, status, &error);
	for (uint32 i = 0; i < t->n; i++)
	{
		if (s->cut.size <= most && status == RB_OK)
			rb_spill_append_all(s, &s->cut, &to[i].rows[side], &pile[i]);
		rb_builder_free(&pile[i]);
	}
	return s->cut.size <= most && status == RB_OK;
}

/* Frees one side's list of chunks, unless another list owns the array, and empties it. */
static void
free_chunk_list(rb_chunks *chunks)
{
	if (chunks->chunk != NULL && !chunks->shared)
		pfree(chunks->chunk);
	memset(chunks, 0, sizeof *chunks);
}

/* Returns the number of parts of both sides in a tile, before or after it is divided. */
static uint64
count_parts_to_divide(const rb_spill_tile *tile)
{
	return tile->rows[0].parts + tile->rows[1].parts;
}

/* Appends a tile to the list. */
static void
add_spill_tile(rb_spill *s, const rb_spill_tile *tile)
{
	if (s->ntiles == s->cap)
	{
		s->cap *= 2;
		s->tile = repalloc_huge(s->tile, s->cap * sizeof *s->tile);
	}
	s->tile[s->ntiles++] = *tile;
}

/* Appends the tiles that may have pairs to the list. */
static void
add_spill_tiles(rb_spill *s, rb_spill_tile *more, uint32 n, uint64 parts)
{
	for (uint32 i = 0; i < n; i++)
	{
		rb_spill_tile *tile = &more[i];

		if (tile->rows[0].rows == 0 || (s->sides == 2 && tile->rows[1].rows == 0))
		{
			free_chunk_list(&tile->rows[0]);
			free_chunk_list(&tile->rows[1]);
			continue;
		}
		tile->whole = (double) count_parts_to_divide(tile) >= TOO_ALIKE * (double) parts;
		add_spill_tile(s, tile);
	}
}

/* Returns the maximum size of the file of tiles after this tile has been cut. */
static int64
most_file_bytes_after_cut(const rb_spill *s, const rb_spill_tile *tile)
{
	double bytes = 0;

	for (int i = 0; i < s->sides; i++)
		bytes += (double) tile->rows[i].parts * rb_kind_width(s->kind[i]) * sizeof(double) +
				 (double) tile->rows[i].rows * sizeof(int64);
	return Min(s->most, s->cut.size + (int64) (TOO_OFTEN * bytes));
}

/*
 * Cuts the tile into several smaller ones, appended to the list. Returns false, and marks the tile
 * as whole, if cutting would not help.
 */
static bool
cut_spill_tile(rb_spill *s, uint32 number)
{
	MemoryContext mine =
		AllocSetContextCreate(CurrentMemoryContext, "redblue cut", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(mine);
	rb_spill_tile tile = s->tile[number]; /* Copied because the array may be reallocated */
	const uint64 parts = count_parts_to_divide(&tile);
	const int64 size = s->cut.size, most = most_file_bytes_after_cut(s, &tile);
	bool done = true;
	tile_cutting c;
	tile_groups t;
	rb_spill_tile *to;
	rb_builder *pile;

	memset(&c, 0, sizeof c);
	c.s = s;
	t.dims = tile.ends.dims;
	t.n = c.job.n = count_tiles_to_cut(s, &tile);
	t.tile = c.tile = palloc(t.n * sizeof *c.tile);
	compute_cuts_of_tile(&c, &tile);
	to = palloc0(t.n * sizeof *to);
	for (uint32 i = 0; i < t.n; i++)
	{
		rb_kd_tile *k = &c.tile[i];

		for (int a = 0; a < t.dims; a++)
		{
			k->low[a] = Max(k->low[a], tile.ends.low[a]);
			k->high[a] = Min(k->high[a], tile.ends.high[a]);
		}
		to[i].ends.dims = t.dims;
		memcpy(to[i].ends.low, k->low, sizeof k->low);
		memcpy(to[i].ends.high, k->high, sizeof k->high);
		to[i].file[0] = to[i].file[1] = &s->cut;
	}
	make_boxes_of_new_tile_groups(&t);
	pile = palloc(t.n * sizeof *pile);
	for (int i = 0; i < s->sides && done; i++)
		done = distribute_rows_to_tiles(s, &tile, i, &t, to, pile, most);
	if (done)
	{
		free_chunk_list(&tile.rows[0]);
		free_chunk_list(&tile.rows[1]);
		memset(&s->tile[number].rows, 0, sizeof s->tile[number].rows);
		add_spill_tiles(s, to, t.n, parts);
		/* The raw files are no longer needed: all of their rows are now in tiles. */
		rb_spill_file_close(&s->raw[0]);
		rb_spill_file_close(&s->raw[1]);
	}
	else
	{
		for (uint32 i = 0; i < t.n; i++)
		{
			free_chunk_list(&to[i].rows[0]);
			free_chunk_list(&to[i].rows[1]);
		}
		rb_spill_file_cut(&s->cut, size);
		s->tile[number].whole = true;
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(mine);
	return done;
}

/*
 * ---- split by rows ----
 *
 * The rows of each side are divided into groups, and each group of one side is joined with each
 * group of the other:
 *
 *	red		| 1 | 2 | 3 |		tiles:  1 a, 1 b, 2 a, 2 b, 3 a, 3 b
 *	blue	|   a   |  b  |
 *
 * All of these tiles cover the same space, and each pair of rows belongs to exactly one of them.
 * Nothing is rewritten: the rows of a file are stored in chunks, and a tile is a list of chunks.
 * The chunks are read more than once instead.
 *
 * This is needed for rows that extend over all of space, such as objects with scattered parts,
 * because every tile of a cut would contain a copy of them.
 *
 * A self join of three groups becomes the tiles 1, 2, 3, 1 with 2, 1 with 3, and 2 with 3.
 */

/* Appends the chunk at index `at` to the list. */
static void
add_chunk_to_list(rb_chunks *some, const rb_chunks *rows, uint32 at)
{
	const rb_chunk *chunk = &rows->chunk[at];

	if (some->n++ == 0)
		some->chunk = rows->chunk + at;
	some->shared = true;
	some->parts += chunk->nparts;
	some->rows += chunk->nrows;
	some->largest = Max(some->largest, chunk->nparts);
	some->multi |= chunk->multi;
}

/*
 * Returns the chunks from index `from` on that fit in `bytes`, but at least one. If any row of the
 * tile has several parts, the memory is estimated as if all rows had several.
 */
static rb_chunks
collect_chunks_of_piece(const rb_spill *s, const rb_spill_tile *tile, int side, uint32 from,
						uint64 bytes)
{
	const rb_chunks *rows = &tile->rows[side];
	rb_spill_tile piece = {0};
	rb_chunks some = {0};

	for (uint32 i = from; i < rows->n; i++)
	{
		add_chunk_to_list(&piece.rows[side], rows, i);
		piece.rows[side].multi |= tile->rows[0].multi || tile->rows[1].multi;
		if (i > from && rb_spill_tile_bytes(s, &piece) > bytes)
			break;
		add_chunk_to_list(&some, rows, i);
	}
	return some;
}

/* Returns the memory in bytes that one side of a tile that is divided needs. */
static uint64
bytes_of_side_to_divide(const rb_spill *s, const rb_spill_tile *tile, int side)
{
	rb_spill_tile one = {0};

	one.rows[side] = tile->rows[side];
	one.rows[side].multi |= tile->rows[0].multi || tile->rows[1].multi;
	return rb_spill_tile_bytes(s, &one);
}

/*
 * Computes how many bytes of each side form a piece. A side that fits in half of the available
 * memory stays whole, so that the other side is read only once.
 */
static void
find_piece_bytes_of_sides(const rb_spill *s, const rb_spill_tile *tile, uint64 piece[2])
{
	const uint64 bytes[2] = {bytes_of_side_to_divide(s, tile, 0),
							 bytes_of_side_to_divide(s, tile, 1)};
	const uint64 room = Min(rb_spill_room(s), (bytes[0] + bytes[1]) / 2);
	const int small = bytes[0] < bytes[1] ? 0 : 1, large = 1 - small;

	piece[0] = piece[1] = room / 2;
	if (tile->rows[large].n == 1)
		piece[small] = room > bytes[large] ? room - bytes[large] : 0;
	else if (bytes[small] <= room / 2)
	{
		piece[small] = UINT64_MAX;
		piece[large] = room - bytes[small];
	}
}

/* Appends a tile that joins a list of red chunks with a list of blue ones. */
static void
add_tile_of_chunk_pairs(rb_spill *s, const rb_spill_tile *tile, const rb_chunks *red,
						const rb_chunks *blue)
{
	rb_spill_tile piece = *tile;

	CHECK_FOR_INTERRUPTS();
	piece.rows[0] = *red;
	piece.rows[1] = *blue;
	piece.whole = true;
	add_spill_tile(s, &piece);
}

/* Splits a tile into the pairs of a red piece and a blue one. */
static void
split_tile_of_two_sides(rb_spill *s, const rb_spill_tile *tile)
{
	uint64 bytes[2];
	rb_chunks red, blue;

	find_piece_bytes_of_sides(s, tile, bytes);
	for (uint32 i = 0; i < tile->rows[0].n; i += red.n)
	{
		red = collect_chunks_of_piece(s, tile, 0, i, bytes[0]);
		for (uint32 j = 0; j < tile->rows[1].n; j += blue.n)
		{
			blue = collect_chunks_of_piece(s, tile, 1, j, bytes[1]);
			add_tile_of_chunk_pairs(s, tile, &red, &blue);
		}
	}
}

/*
 * Splits a tile whose rows are all of one side into pieces, and adds a tile for each piece and
 * each pair of pieces.
 */
static void
split_tile_of_one_side(rb_spill *s, const rb_spill_tile *tile)
{
	const uint64 bytes = Min(rb_spill_room(s), bytes_of_side_to_divide(s, tile, 0)) / 2;
	const rb_chunks none = {0};
	rb_chunks first, second;

	for (uint32 i = 0; i < tile->rows[0].n; i += first.n)
	{
		first = collect_chunks_of_piece(s, tile, 0, i, bytes);
		add_tile_of_chunk_pairs(s, tile, &first, &none);
		for (uint32 j = i + first.n; j < tile->rows[0].n; j += second.n)
		{
			second = collect_chunks_of_piece(s, tile, 0, j, bytes);
			add_tile_of_chunk_pairs(s, tile, &first, &second);
		}
	}
}

/* Splits the tile by its rows. Returns false if there is nothing to split. */
static bool
split_tile_by_rows(rb_spill *s, uint32 number)
{
	rb_spill_tile tile = s->tile[number]; /* Copied because the array may be reallocated */

	if (tile.rows[0].n <= 1 && tile.rows[1].n <= 1)
		return false;
	/* In a self join, both lists may hold rows of the same side. */
	if (tile.rows[1].n > 0)
		split_tile_of_two_sides(s, &tile);
	else
		split_tile_of_one_side(s, &tile);
	memset(&s->tile[number].rows, 0, sizeof s->tile[number].rows);
	return true;
}

bool
rb_spill_divide_tile(rb_spill *s, uint32 number)
{
	return (!s->tile[number].whole && cut_spill_tile(s, number)) || split_tile_by_rows(s, number);
}
