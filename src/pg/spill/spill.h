/*
 * spill.h
 *	  Declares the spill module, and what its files share.
 *
 * A join spills its rows to temporary files if they do not fit in memory.
 *
 *	row_file.c		rows in temporary files, in chunks, and the memory that they need
 *	partition.c		divides a tile into smaller tiles
 *	tiles.c			accepts the rows of both sides, merges those of one object, returns tiles
 */
#ifndef RB_PG_SPILL_SPILL_H
#define RB_PG_SPILL_SPILL_H

#include "pg/base/helper_thread.h"

#include "core/join/join.h"

#include "storage/fd.h"

/* ---- memory that a join needs in addition to its sides ---- */

/*
 * Memory in bytes, as measured: the stream, the workspace of one thread, and the lists and grids
 * per part
 */
#define RB_JOIN_BYTES (3 << 20)
#define RB_JOIN_THREAD_BYTES (3 << 20)
#define RB_JOIN_PART_BYTES 32

/* Returns the bytes that a join of `parts` parts needs in addition to its inputs. */
static inline uint64
rb_need_of_join_on(int threads, uint64 parts)
{
	return RB_JOIN_BYTES + (uint64) threads * RB_JOIN_THREAD_BYTES + RB_JOIN_PART_BYTES * parts;
}

/*
 * Returns the bytes that a join of `parts` parts needs in addition to its sets, if it uses all
 * threads that the settings allow.
 */
static inline uint64
rb_need_of_join(uint64 parts)
{
	return rb_need_of_join_on(rb_threads(parts), parts);
}

/* ---- tiles.c: rows wait in temporary files and become sets tile by tile ---- */

typedef struct rb_spill rb_spill;

/*
 * Creates the spill of a join of `sides` sides with these names, for pairs within `distance` (or
 * 0). It lives in `context`, holds nothing until rows are added, and must be closed even after an
 * error.
 */
extern rb_spill *rb_spill_create(const char *function, rb_context *ctx, int sides,
								 const char *const name[2], double distance, MemoryContext context);
extern void rb_spill_close(rb_spill *spill); /* NULL is allowed */

/* Moves finished rows of the builder to the spill. */
extern void rb_spill_rows(rb_spill *spill, int side, rb_builder *b);
/* Writes all rows of a local, materialized set to the spill. */
extern void rb_spill_set(rb_spill *spill, int side, const rb_set *set);
/* Merges the rows of a side that have the same id. Called once all of its rows are spilled. */
extern void rb_spill_group(rb_spill *spill, int side, rb_kind kind);

/*
 * Begins a spilled join once all its rows are collected (tiles.c): partitions `within`, or all of
 * space if its dims are 0, into tiles that fit in memory.
 */
extern void rb_spill_cut(rb_spill *spill, const rb_kind *kind, int32 srid, const rb_box *within);

/*
 * Returns the sets of the next tile, each with one reference, or RB_END after the last tile.
 * Callable from any thread. A self join may return two sets, which hold different rows of its one
 * side.
 */
extern rb_status rb_spill_next(rb_spill *spill, const rb_set *set[2], rb_box *tile);

/*
 * Continues a spilled join whose last tile did not fit in memory (tiles.c): splits the tile into
 * smaller ones. Returns false and records the failure if it cannot be split.
 */
extern bool rb_spill_cut_again(rb_spill *spill);

/*
 * Adds the I/O of a spilled join since the last call to the temporary blocks of EXPLAIN (BUFFERS)
 * (tiles.c). NULL is allowed.
 */
extern void rb_spill_report_blocks(rb_spill *spill);

/* ---- row_file.c ---- */

/*
 * A temporary file, written by PostgreSQL functions. Any thread may read it through a separate
 * descriptor.
 */
typedef struct rb_spill_file
{
	bool open;
	File file;
	int fd; /* Descriptor for reading, or -1 if nothing has been written yet */
	int64 size;
	uint64 *got; /* Total number of bytes read from all files of the join */
} rb_spill_file;

/*
 * A chunk: consecutive rows of one side, stored as the coordinates of their parts, their ids and,
 * if any row has several parts, the end of each row (see rb_builder_append).
 */
typedef struct rb_chunk
{
	int64 at;
	uint32 nparts;
	uint32 nrows;
	bool multi;
} rb_chunk;

/* The rows of one side in a file */
typedef struct rb_chunks
{
	rb_chunk *chunk; /* NULL if there are no chunks */
	uint32 n;
	uint32 cap;
	uint64 parts;
	uint64 rows;
	uint32 largest; /* Number of parts of the largest chunk */
	bool multi;
	bool shared; /* True if another list owns the array */
} rb_chunks;

/* A chunk read into memory */
typedef struct rb_chunk_rows
{
	double *coords;
	int64_t *ids;
	uint32_t *ends;
	size_t coords_bytes; /* Capacity in bytes */
	size_t ids_bytes;
	size_t ends_bytes;
} rb_chunk_rows;

/* Closes the file, which deletes it. Does nothing if it is closed. */
extern void rb_spill_file_close(rb_spill_file *file);
/* Truncates the file to `size` bytes. */
extern void rb_spill_file_cut(rb_spill_file *file, int64 size);

/* Appends all complete rows of a builder to the file and to the list of chunks. */
extern void rb_spill_append_rows(rb_spill *s, rb_spill_file *file, rb_chunks *chunks,
								 const rb_builder *b);

/*
 * Appends all complete rows to the file and removes them from the builder, which keeps only the
 * incomplete row.
 */
extern void rb_spill_append_all(rb_spill *s, rb_spill_file *file, rb_chunks *chunks, rb_builder *b);

/* Appends a row to a pile, a builder whose rows go to the file once it has `pile_parts` parts. */
extern rb_status rb_spill_append_row(rb_spill *s, rb_spill_file *file, rb_chunks *chunks,
									 rb_builder *pile, uint32 pile_parts, const double *coords,
									 uint32 nparts, int64 id, rb_error *error);

/* Reads a chunk into memory, including the row ends if it has any. Callable from any thread. */
extern rb_status rb_spill_read_chunk(rb_context *ctx, const rb_spill_file *file,
									 const rb_chunk *chunk, int width, rb_chunk_rows *rows);

/* Frees the arrays of a chunk that was read into memory. */
extern void rb_spill_free_chunk(rb_context *ctx, rb_chunk_rows *rows);

/* Reads some of a chunk's coordinates. */
extern rb_status rb_spill_read_parts(rb_context *ctx, const rb_spill_file *file,
									 const rb_chunk *chunk, int width, uint32 part, uint32 nparts,
									 double *coords);

/* Reads only the row ends of a chunk. */
extern rb_status rb_spill_read_ends(rb_context *ctx, const rb_spill_file *file,
									const rb_chunk *chunk, int width, rb_chunk_rows *rows);

/* Appends rows of a file to a builder. Callable from any thread. */
extern rb_status rb_spill_load(rb_spill *s, const rb_spill_file *file, const rb_chunks *rows,
							   rb_builder *b, rb_error *error);

/* ---- tiles.c: a spilled join ---- */

typedef struct rb_spill_tile
{
	rb_box ends;
	/* Rows of each side; in a self join, [1] holds other rows of the only side or is empty */
	rb_chunks rows[2];
	const rb_spill_file *file[2]; /* Files that hold the rows */
	bool whole;                   /* True if cutting its space would not help */
} rb_spill_tile;

struct rb_spill
{
	const char *function;
	rb_context *ctx;
	MemoryContext context;
	int sides;
	const char *name[2]; /* Names of the sides */
	double distance;
	bool begun;
	rb_kind kind[2];
	int32 srid;
	rb_spill_file raw[2];
	rb_spill_file objects;
	rb_spill_file cut;
	rb_spill_tile *tile; /* The tiles; a single one until it is cut */
	uint32 ntiles;
	uint32 cap;
	uint32 next;      /* Index of the next tile to join */
	uint32 joined;    /* Number of tiles joined so far */
	int64 most;       /* Maximum size of the file of tiles, in bytes */
	uint64 bytes;     /* Total bytes written */
	uint64 got;       /* Total bytes read */
	int64 counted[2]; /* Blocks read and written that pgBufferUsage already includes */
	uint32_t *ends;   /* Row ends of the chunk being written */
	size_t ends_cap;
	rb_chunk_rows rows; /* The chunk last read */
	rb_helper aside;
};

/* Starts spilling: from now on all rows go to the spill. */
static inline void
rb_spill_begin(rb_spill *s)
{
	s->begun = true;
}

/* Returns true if rows go to the spill. NULL is allowed. */
static inline bool
rb_spill_has_begun(const rb_spill *s)
{
	return s != NULL && s->begun;
}

/* Returns all spilled rows of a side, before the tiles are cut. */
static inline const rb_chunks *
rb_spill_side(const rb_spill *s, int side)
{
	return &s->tile[0].rows[side];
}

/* ---- row_file.c: memory of a tile ---- */

/* Raises an error unless the status is RB_OK. */
extern void rb_spill_check(const rb_spill *s, rb_status status);

/*
 * Returns the memory available for both sides of a tile, including what their join needs per part.
 */
extern uint64 rb_spill_room(const rb_spill *s);

/*
 * Estimates the bytes that joining a tile needs; twice as many if rows have several parts, because
 * their pairs must be remembered to remove duplicates (row_file.c).
 */
extern uint64 rb_spill_tile_bytes(const rb_spill *s, const rb_spill_tile *tile);

/* ---- partition.c ---- */

/*
 * Replaces the tile with several smaller ones, appended to the list. Returns false if the tile
 * cannot be divided.
 */
extern bool rb_spill_divide_tile(rb_spill *s, uint32 number);

#endif /* RB_PG_SPILL_SPILL_H */
