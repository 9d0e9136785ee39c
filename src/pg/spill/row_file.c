/*
 * row_file.c
 *	  Stores the rows of a side in a temporary file, in chunks of several thousand parts, and
 *	  computes the memory that they need when they are read.
 *
 *	chunk	| coordinates of all parts | ids of all rows | end of each row |		chunk	| ...
 *
 * The file is a temporary file of PostgreSQL. It lies in base/pgsql_tmp (files that no transaction
 * owns are never placed in temp_tablespaces), counts against temp_file_limit and in
 * pg_stat_database, and is removed when the server restarts after a crash. It belongs to the join,
 * not to the transaction's resource owner, because the join closes it in every case.
 *
 * The consumer of the join's pairs reads the file and may run in a thread. Reading therefore uses a
 * duplicated descriptor, which stays open even if the server closes its own descriptor to open
 * another file.
 */
#include "pg/spill/spill.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include <errno.h>
#include <unistd.h>

/* Approximate parts per chunk, exceeded if the last row is larger */
#define CHUNK_PARTS 16384
#define WRITE_BYTES ((size_t) 1 << 20) /* Bytes written between two interrupt checks */

/* ---- memory of a tile ---- */

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

/* ---- files ---- */

/* Opens the temporary file unless it is open. */
static void
open_spill_file(rb_spill *s, rb_spill_file *file)
{
	if (file->open)
		return;
	/*
	 * Open the file first, because OpenTemporaryFile raises an error if it fails. A descriptor
	 * reserved before that would leak for the rest of the session.
	 */
	file->file = OpenTemporaryFile(true);
	/* Reserve the descriptor that dup_spill_descriptor creates. */
	if (!AcquireExternalFD())
	{
		const int why = errno;

		FileClose(file->file);
		errno = why;
		ereport(ERROR, (errcode_for_file_access(),
						errmsg("%s: could not open a temporary file: %m", s->function)));
	}
	file->fd = -1;
	file->size = 0;
	file->got = &s->got;
	file->open = true;
}

void
rb_spill_file_close(rb_spill_file *file)
{
	if (!file->open)
		return;
	file->open = false;
	if (file->fd >= 0)
		(void) close(file->fd);
	ReleaseExternalFD();
	FileClose(file->file);
}

void
rb_spill_file_cut(rb_spill_file *file, int64 size)
{
	if (!file->open || file->size == size)
		return;
	/* If truncation fails, later writes overwrite the old data. */
	(void) FileTruncate(file->file, size, WAIT_EVENT_BUFFILE_TRUNCATE);
	file->size = size;
}

/*
 * Duplicates the file's descriptor. Must be called right after a write, because the server may have
 * closed the descriptor at other times.
 */
static void
dup_spill_descriptor(rb_spill_file *file, const char *function)
{
	file->fd = dup(FileGetRawDesc(file->file));
	if (file->fd < 0)
		ereport(ERROR, (errcode_for_file_access(),
						errmsg("%s: could not open a temporary file: %m", function)));
}

/* Appends bytes to a temporary file. */
static void
append_file_bytes(rb_spill *s, rb_spill_file *file, const void *from, size_t bytes)
{
	const char *next = from;

	while (bytes > 0)
	{
		const size_t n = Min(bytes, WRITE_BYTES);
		int64 written;

		CHECK_FOR_INTERRUPTS();
		written = FileWrite(file->file, unconstify(char *, next), (int) n, file->size,
							WAIT_EVENT_BUFFILE_WRITE);
		if (written <= 0)
			ereport(
				ERROR,
				(errcode_for_file_access(),
				 errmsg("%s: could not write to a temporary file: %m", s->function),
				 errdetail("Rows that do not fit in memory are stored there; %lld kB were written.",
						   (long long) (s->bytes >> 10)),
				 errhint("Free disk space, or increase redblue.memory_limit.")));
		if (file->fd < 0)
			dup_spill_descriptor(file, s->function);
		file->size += written;
		s->bytes += (uint64) written;
		next += written;
		bytes -= (size_t) written;
	}
}

/* Reads bytes at a position of a temporary file. */
static rb_status
read_file_bytes(rb_context *ctx, const rb_spill_file *file, int64 at, void *to, size_t bytes)
{
	char *next = to;

	while (bytes > 0)
	{
		const ssize_t got = pread(file->fd, next, bytes, (off_t) at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
		{
			char text[100];

			snprintf(text, sizeof text, "could not read a temporary file: %s",
					 got == 0 ? "unexpected end of file" : strerror(errno));
			return rb_fail(ctx, RB_BAD_FILE, 0, 0, text);
		}
		at += got;
		*file->got += (uint64) got;
		next += got;
		bytes -= (size_t) got;
	}
	return RB_OK;
}

/* ---- chunks ---- */

/* Appends a chunk to a list and returns it. */
static rb_chunk *
append_chunk_to_list(const rb_spill *s, rb_chunks *chunks)
{
	if (chunks->n == chunks->cap)
	{
		chunks->cap = Max(chunks->cap * 2, 16);
		chunks->chunk = chunks->chunk == NULL
							? MemoryContextAllocHuge(s->context, chunks->cap * sizeof(rb_chunk))
							: repalloc_huge(chunks->chunk, chunks->cap * sizeof(rb_chunk));
	}
	return &chunks->chunk[chunks->n++];
}

/* Stores the end of each row from `row` on, counted from the first part of `row`. */
static void
store_row_ends_in_buffer(rb_spill *s, const rb_builder *b, uint32 row, uint32 nrows, uint32 part,
						 uint32 nparts)
{
	rb_spill_check(s,
				   rb_array_grow(s->ctx, (void **) &s->ends, &s->ends_cap, nrows, sizeof *s->ends));
	for (uint32 i = part; i < part + nparts; i++)
		s->ends[b->row_of[i] - row] = i + 1 - part;
}

/* Writes `nrows` rows from `row` on, whose first part is `part`, as one chunk. */
static void
append_chunk_to_file(rb_spill *s, rb_spill_file *file, rb_chunks *chunks, const rb_builder *b,
					 uint32 row, uint32 nrows, uint32 part, uint32 nparts)
{
	const size_t width = (size_t) b->width;
	rb_chunk *chunk;

	if (nrows == 0)
		return;
	open_spill_file(s, file);
	chunk = append_chunk_to_list(s, chunks);
	*chunk = (rb_chunk){file->size, nparts, nrows, nparts != nrows};
	append_file_bytes(s, file, b->coords + part * width, nparts * width * sizeof(double));
	append_file_bytes(s, file, b->ids + row, nrows * sizeof *b->ids);
	if (chunk->multi)
	{
		store_row_ends_in_buffer(s, b, row, nrows, part, nparts);
		append_file_bytes(s, file, s->ends, nrows * sizeof *s->ends);
	}
	chunks->parts += nparts;
	chunks->rows += nrows;
	chunks->largest = Max(chunks->largest, nparts);
	chunks->multi |= chunk->multi;
}

void
rb_spill_append_rows(rb_spill *s, rb_spill_file *file, rb_chunks *chunks, const rb_builder *b)
{
	uint32 row = 0, part = 0;

	while (row < b->nrows)
	{
		uint32 end_part = Min(part + CHUNK_PARTS, b->row_start), end_row = end_part;

		if (b->multi)
		{
			/* Extend the chunk to the end of the last row. */
			while (end_part < b->row_start && b->row_of[end_part] == b->row_of[end_part - 1])
				end_part++;
			end_row = b->row_of[end_part - 1] + 1;
		}
		append_chunk_to_file(s, file, chunks, b, row, end_row - row, part, end_part - part);
		row = end_row;
		part = end_part;
	}
}

void
rb_spill_append_all(rb_spill *s, rb_spill_file *file, rb_chunks *chunks, rb_builder *b)
{
	rb_spill_append_rows(s, file, chunks, b);
	rb_builder_drop_ended(b);
}

rb_status
rb_spill_append_row(rb_spill *s, rb_spill_file *file, rb_chunks *chunks, rb_builder *pile,
					uint32 pile_parts, const double *coords, uint32 nparts, int64 id,
					rb_error *error)
{
	RB_TRY(rb_builder_append(pile, coords, nparts, &id, nparts == 1 ? NULL : &nparts, 1, error));
	if (pile->nparts >= pile_parts)
		rb_spill_append_all(s, file, chunks, pile);
	/* Release the memory of a large row, because there are many piles. */
	if (pile->coords_cap > 2 * pile_parts && pile->nparts == 0)
		rb_builder_trim(pile);
	return RB_OK;
}

/* Makes room for `bytes` bytes. */
static rb_status
reserve_file_buffer(rb_context *ctx, void **block, size_t *have, size_t bytes)
{
	if (bytes <= *have)
		return RB_OK;
	RB_TRY(rb_array(ctx, block, bytes, 1));
	*have = bytes;
	return RB_OK;
}

/* Returns the file position of a chunk's ids, which follow its coordinates. */
static int64
file_position_of_ids(const rb_chunk *chunk, int width)
{
	return chunk->at + (int64) chunk->nparts * width * (int64) sizeof(double);
}

rb_status
rb_spill_read_parts(rb_context *ctx, const rb_spill_file *file, const rb_chunk *chunk, int width,
					uint32 part, uint32 nparts, double *coords)
{
	const int64 bytes = width * (int64) sizeof(double);

	return read_file_bytes(ctx, file, chunk->at + part * bytes, coords, (size_t) (nparts * bytes));
}

rb_status
rb_spill_read_ends(rb_context *ctx, const rb_spill_file *file, const rb_chunk *chunk, int width,
				   rb_chunk_rows *rows)
{
	const size_t bytes = chunk->nrows * sizeof *rows->ends;

	RB_TRY(reserve_file_buffer(ctx, (void **) &rows->ends, &rows->ends_bytes, bytes));
	return read_file_bytes(
		ctx, file, file_position_of_ids(chunk, width) + (int64) (chunk->nrows * sizeof *rows->ids),
		rows->ends, bytes);
}

rb_status
rb_spill_read_chunk(rb_context *ctx, const rb_spill_file *file, const rb_chunk *chunk, int width,
					rb_chunk_rows *rows)
{
	const size_t ids = chunk->nrows * sizeof *rows->ids;

	RB_TRY(reserve_file_buffer(ctx, (void **) &rows->coords, &rows->coords_bytes,
							   chunk->nparts * (size_t) width * sizeof(double)));
	RB_TRY(rb_spill_read_parts(ctx, file, chunk, width, 0, chunk->nparts, rows->coords));
	RB_TRY(reserve_file_buffer(ctx, (void **) &rows->ids, &rows->ids_bytes, ids));
	RB_TRY(read_file_bytes(ctx, file, file_position_of_ids(chunk, width), rows->ids, ids));
	return chunk->multi ? rb_spill_read_ends(ctx, file, chunk, width, rows) : RB_OK;
}

void
rb_spill_free_chunk(rb_context *ctx, rb_chunk_rows *rows)
{
	rb_free(ctx->memory, (void **) &rows->coords);
	rb_free(ctx->memory, (void **) &rows->ids);
	rb_free(ctx->memory, (void **) &rows->ends);
	memset(rows, 0, sizeof *rows);
}

rb_status
rb_spill_load(rb_spill *s, const rb_spill_file *file, const rb_chunks *rows, rb_builder *b,
			  rb_error *error)
{
	rb_status status = RB_OK;

	if (rows->parts > RB_MAX_OBJECTS)
	{
		*error = (rb_error){RB_TOO_MANY_OBJECTS, rows->parts, RB_MAX_OBJECTS, ""};
		return RB_TOO_MANY_OBJECTS;
	}
	if (rows->parts > 0)
		status = rb_builder_reserve(b, rows->parts, error);
	for (uint32 c = 0; c < rows->n && status == RB_OK; c++)
	{
		const rb_chunk *chunk = &rows->chunk[c];

		if (rb_should_stop(s->ctx))
			status = rb_why_stopped(s->ctx);
		else
			status = rb_spill_read_chunk(s->ctx, file, chunk, b->width, &s->rows);
		if (status != RB_OK)
			*error = s->ctx->error;
		else
			status = rb_builder_append(b, s->rows.coords, chunk->nparts, s->rows.ids,
									   chunk->multi ? s->rows.ends : NULL, chunk->nrows, error);
	}
	return status;
}
