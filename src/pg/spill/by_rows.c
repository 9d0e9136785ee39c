/*
 * by_rows.c
 *	  Splits a tile by its rows where cutting its space does not help.
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
#include "pg/spill/spill.h"

#include "miscadmin.h"

/* Appends the chunk at index `at` to the list. */
static void
add_chunk(rb_chunks *some, const rb_chunks *rows, uint32 at)
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
collect_chunks(const rb_spill *s, const rb_spill_tile *tile, int side, uint32 from, uint64 bytes)
{
	const rb_chunks *rows = &tile->rows[side];
	rb_spill_tile piece = {0};
	rb_chunks some = {0};

	for (uint32 i = from; i < rows->n; i++)
	{
		add_chunk(&piece.rows[side], rows, i);
		piece.rows[side].multi |= tile->rows[0].multi || tile->rows[1].multi;
		if (i > from && rb_spill_tile_bytes(s, &piece) > bytes)
			break;
		add_chunk(&some, rows, i);
	}
	return some;
}

static uint64
side_bytes(const rb_spill *s, const rb_spill_tile *tile, int side)
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
find_pieces(const rb_spill *s, const rb_spill_tile *tile, uint64 piece[2])
{
	const uint64 bytes[2] = {side_bytes(s, tile, 0), side_bytes(s, tile, 1)};
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

static void
add_piece(rb_spill *s, const rb_spill_tile *tile, const rb_chunks *red, const rb_chunks *blue)
{
	rb_spill_tile piece = *tile;

	CHECK_FOR_INTERRUPTS();
	piece.rows[0] = *red;
	piece.rows[1] = *blue;
	piece.whole = true;
	rb_spill_add_tile(s, &piece);
}

static void
split_two(rb_spill *s, const rb_spill_tile *tile)
{
	uint64 bytes[2];
	rb_chunks red, blue;

	find_pieces(s, tile, bytes);
	for (uint32 i = 0; i < tile->rows[0].n; i += red.n)
	{
		red = collect_chunks(s, tile, 0, i, bytes[0]);
		for (uint32 j = 0; j < tile->rows[1].n; j += blue.n)
		{
			blue = collect_chunks(s, tile, 1, j, bytes[1]);
			add_piece(s, tile, &red, &blue);
		}
	}
}

static void
split_one(rb_spill *s, const rb_spill_tile *tile)
{
	const uint64 bytes = Min(rb_spill_room(s), side_bytes(s, tile, 0)) / 2;
	const rb_chunks none = {0};
	rb_chunks first, second;

	for (uint32 i = 0; i < tile->rows[0].n; i += first.n)
	{
		first = collect_chunks(s, tile, 0, i, bytes);
		add_piece(s, tile, &first, &none);
		for (uint32 j = i + first.n; j < tile->rows[0].n; j += second.n)
		{
			second = collect_chunks(s, tile, 0, j, bytes);
			add_piece(s, tile, &first, &second);
		}
	}
}

bool
rb_spill_split_tile(rb_spill *s, uint32 number)
{
	rb_spill_tile tile = s->tile[number]; /* Copied because the array may be reallocated */

	if (tile.rows[0].n <= 1 && tile.rows[1].n <= 1)
		return false;
	/* In a self join, both lists may hold rows of the same side. */
	if (tile.rows[1].n > 0)
		split_two(s, &tile);
	else
		split_one(s, &tile);
	memset(&s->tile[number].rows, 0, sizeof s->tile[number].rows);
	return true;
}
