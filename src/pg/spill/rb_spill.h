/*
 * rb_spill.h
 *	  What the files share that join what has no room in memory (rb_pg.h has what others see).
 *
 *		spill_room.c	how much has room, and errors
 *		spill_file.c	rows in temporary files: chunks
 *		spill_cut.c		a tile of space becomes several
 *		spill_split.c	a tile becomes several by its rows
 *		spill_group.c	rows of one object become one
 *		spill.c			rows of both sides come in, tiles come out
 */
#ifndef RB_SPILL_H
#define RB_SPILL_H

#include "pg/base/rb_pg.h"

#include "core/join/rb_kd_tiles.h"

#include "storage/fd.h"

/* ---- spill_file.c ---- */

/* it is written by functions of PostgreSQL, and read through a descriptor of our own, by any thread */
typedef struct rb_spill_file
{
	bool open;
	File file;
	int fd; /* -1: nothing is written yet */
	int64 size;
	uint64 *got; /* bytes that were read of any */
} rb_spill_file;

/* some rows of one side: their parts, ids, and where each row ends (rb_builder_append), if rows have several parts */
typedef struct rb_chunk
{
	int64 at;
	uint32 nparts;
	uint32 nrows;
	bool multi;
} rb_chunk;

/* rows of one side in a file */
typedef struct rb_chunks
{
	rb_chunk *chunk; /* NULL: none */
	uint32 n;
	uint32 cap;
	uint64 parts;
	uint64 rows;
	uint32 largest; /* parts of a chunk */
	bool multi;
	bool shared; /* the list is another one's */
} rb_chunks;

/* a chunk in memory */
typedef struct rb_chunk_rows
{
	double *coords;
	int64_t *ids;
	uint32_t *ends;
	size_t coords_bytes; /* room */
	size_t ids_bytes;
	size_t ends_bytes;
} rb_chunk_rows;

extern void rb_spill_file_open(rb_spill *s, rb_spill_file *file);
extern void rb_spill_file_close(rb_spill_file *file);
/* what is behind that place is given up */
extern void rb_spill_file_cut(rb_spill_file *file, int64 size);

/* all ended rows of a builder, behind those that are there */
extern void rb_spill_put_rows(rb_spill *s, rb_spill_file *file, rb_chunks *chunks,
							  const rb_builder *b);

/* and then the builder keeps what is behind them */
extern void rb_spill_put_all(rb_spill *s, rb_spill_file *file, rb_chunks *chunks, rb_builder *b);

/* a chunk into memory; its ends only if it has some.  From any thread. */
extern rb_status rb_spill_get(rb_context *ctx, const rb_spill_file *file, const rb_chunk *chunk,
							  int width, rb_chunk_rows *rows);
extern void rb_spill_get_free(rb_context *ctx, rb_chunk_rows *rows);

/* some of its coordinates, or its ends */
extern rb_status rb_spill_get_parts(rb_context *ctx, const rb_spill_file *file,
									const rb_chunk *chunk, int width, uint32 part, uint32 nparts,
									double *coords);
extern rb_status rb_spill_get_ends(rb_context *ctx, const rb_spill_file *file,
								   const rb_chunk *chunk, int width, rb_chunk_rows *rows);

/* rows out of a file into a builder, behind those that are there.  From any thread. */
extern rb_status rb_spill_load(rb_spill *s, const rb_spill_file *file, const rb_chunks *rows,
							   rb_builder *b, rb_error *error);

/* ---- all of it ---- */

typedef struct rb_spill_tile
{
	rb_ends ends;
	rb_chunks rows[2];            /* of a join of one side: [1] is others of its rows, or none */
	const rb_spill_file *file[2]; /* where they are */
	bool whole;                   /* as space it is cut no further */
} rb_spill_tile;

struct rb_spill
{
	const char *function;
	rb_context *ctx;
	MemoryContext context;
	int sides;
	const char *name[2]; /* of the sides */
	double distance;
	bool begun;
	rb_kind kind[2];
	int32 srid;
	rb_spill_file raw[2];
	rb_spill_file objects;
	rb_spill_file cut;
	rb_spill_tile *tile; /* until they are cut there is one */
	uint32 ntiles;
	uint32 cap;
	uint32 next; /* to be joined */
	uint32 joined;
	int64 most;     /* bytes that the file of tiles may have */
	uint64 bytes;   /* written, in all */
	uint64 got;     /* and read; */
	int64 told[2];  /* so many blocks of both are in the counts that EXPLAIN (BUFFERS) shows */
	uint32_t *ends; /* where rows end, on their way to a file */
	size_t ends_cap;
	rb_chunk_rows rows; /* a chunk that is read */
	rb_aside aside;
};

/* ---- spill_room.c ---- */

/* raises what is no success */
extern void rb_spill_check(const rb_spill *s, rb_status status);

/* how much memory there is for the sides of a tile, with what their join needs for each part */
extern uint64 rb_spill_room(const rb_spill *s);
extern uint64 rb_spill_tile_bytes(const rb_spill *s, const rb_spill_tile *tile);

/* a tile that is no smaller for being cut or split has no room: says how much is enough, and if that is for one row */
extern rb_status rb_spill_no_room(const rb_spill *s, const rb_spill_tile *tile);

/* ---- spill_cut.c ---- */

/* that tile becomes several, behind the others; false: it is still there, and whole, for that would not help */
extern bool rb_spill_cut_tile(rb_spill *s, uint32 number);
extern void rb_spill_add_tile(rb_spill *s, const rb_spill_tile *tile);

/* ---- spill_split.c ---- */

/* the same by rows; false: there is nothing to split */
extern bool rb_spill_split_tile(rb_spill *s, uint32 number);

#endif /* RB_SPILL_H */
