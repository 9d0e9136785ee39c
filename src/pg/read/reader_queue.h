/*
 * reader_queue.h
 *	  Declares what the files that read one table with several processes share, grouped by the file
 *	  that defines it.
 *
 * readers.c explains the method.
 *
 *	readers.c -> reader_leader.c -> reader_pieces.c -> heap.c
 *			 reader_worker.c -> reader_pieces.c
 *
 * No other file calls the worker, because it is the entry point of a process.
 */
#ifndef RB_PG_READ_READER_QUEUE_H
#define RB_PG_READ_READER_QUEUE_H

#include "pg/read/read.h"

#include "executor/instrument.h"
#include "port/atomics.h"
#include "storage/shm_mq.h"

/* ---- data shared by the processes ---- */

#define RB_QUEUE_BYTES ((Size) 512 << 10)

/* Keys in the table of contents of the shared memory */
enum
{
	RB_KEY_READING = 1,
	RB_KEY_QUEUES,
	RB_KEY_USAGE, /* Buffer usage of each worker, for EXPLAIN */
	RB_KEY_NOTES  /* Notes of the pages or their slices, present only if requested */
};

typedef struct rb_usage
{
	BufferUsage buffers;
	WalUsage wal;
} rb_usage;

/* Parameters of the reading, known to all processes */
typedef struct rb_reading
{
	NameData function; /* Function that reads the table, for messages */
	NameData side;
	rb_kind kind;
	Oid relid;
	NameData id_name; /* Empty if not given */
	NameData geom_name;
	NameData object_name;
	double face_tolerance;
	rb_box tile;
	double distance;
	Size memory; /* Memory limit of a worker, in bytes */
	BlockNumber nblocks;
	uint32 npieces;
	uint32 piece_blocks;   /* Pages per piece, 1 if a piece is a slice of a page */
	uint32 slices;         /* Pieces per page, 1 if a piece consists of whole pages */
	pg_atomic_uint32 next; /* Next piece to claim; may exceed npieces */
} rb_reading;

/*
 * State of a piece after a message. A message consists of its header, coordinates, ids and, if
 * `ends` is true, row ends.
 */
typedef enum rb_rest
{
	RB_MORE,  /* More messages of this piece follow */
	RB_WHOLE, /* The piece ends with this message */
	RB_LEFT   /* The leader must read the rest, from tuple `at` of `block` on */
} rb_rest;

typedef struct rb_message
{
	uint32 piece;
	rb_rest rest;
	BlockNumber block;
	int at;
	bool ends;
	int width;    /* Doubles per part */
	rb_rows rows; /* Counts of the rows; the pointers are not used */
} rb_message;

StaticAssertDecl(sizeof(rb_message) == MAXALIGN(sizeof(rb_message)), "doubles follow the head");

/* Returns the number of parts that fit in `bytes`. */
static inline uint32
rb_parts_of(const rb_builder *builder, Size bytes)
{
	return (uint32) (bytes / ((Size) builder->width * sizeof(double)));
}

/* Returns the queue of a worker. */
static inline shm_mq *
rb_reader_queue(char *queues, int worker)
{
	return (shm_mq *) (queues + (Size) worker * RB_QUEUE_BYTES);
}

/* ---- reader_pieces.c ---- */

extern void rb_pieces_cut(rb_reading *reading, BlockNumber nblocks, BlockNumber toast_blocks,
						  int workers);
extern BlockNumber rb_piece_first_block(const rb_reading *reading, uint32 piece);

/*
 * Reads a piece from tuple `at` of `block` on. Returns false if it stopped before tuple heap->at of
 * heap->block.
 */
extern bool rb_piece_read(rb_heap *heap, const rb_reading *reading, uint32 piece, BlockNumber block,
						  int at);

/*
 * Reads a whole piece and may reject its rows. Returns false if it stopped before tuple heap->at of
 * heap->block.
 */
extern bool rb_piece_read_apart(rb_heap *heap, const rb_reading *reading, uint32 piece);

/* ---- reader_leader.c ---- */

/* Reads all pieces in order, together with the workers that were launched. */
struct ParallelContext;
extern void rb_readers_lead(rb_reading *reading, rb_heap *heap, rb_builder *builder,
							rb_space *space, struct ParallelContext *context, char *queues);

#endif /* RB_PG_READ_READER_QUEUE_H */
