/*
 * rb_readers.h
 *	  What the files that read one table by several processes share, grouped under the
 *	  file that defines it.  The idea is told in readers.c.
 *
 *		readers -> reader_leader -> reader_pieces -> heap
 *				   reader_worker -> reader_pieces
 *
 * The worker is called by no other file: it is the entry point of a process.
 */
#ifndef RB_READERS_H
#define RB_READERS_H

#include "pg/base/rb_pg.h"

#include "executor/instrument.h"
#include "port/atomics.h"
#include "storage/shm_mq.h"

/* ---- what goes between the processes ---- */

#define RB_QUEUE_BYTES ((Size) 512 << 10)

/* in the table of contents of their shared memory */
enum
{
	RB_KEY_READING = 1,
	RB_KEY_QUEUES,
	RB_KEY_USAGE, /* which buffers each worker has touched: EXPLAIN tells them */
	RB_KEY_NOTES  /* where somebody wants to know: what each page was, or each slice of one */
};

typedef struct rb_usage
{
	BufferUsage buffers;
	WalUsage wal;
} rb_usage;

/* what all processes know */
typedef struct rb_reading
{
	NameData function; /* what it is read for, for messages */
	NameData side;
	rb_kind kind;
	Oid relid;
	NameData id_name; /* "": not given */
	NameData geom_name;
	NameData object_name;
	double face_tolerance;
	rb_ends tile;
	double distance;
	Size memory; /* of a worker */
	BlockNumber nblocks;
	uint32 npieces;
	uint32 piece_blocks;   /* pages of a piece, or: */
	uint32 slices;         /* pieces of a page */
	pg_atomic_uint32 next; /* the next piece to claim; may run beyond npieces */
} rb_reading;

/* the head of a message; coordinates, ids and, where `ends` is true, ends follow */
typedef enum rb_rest
{
	RB_MORE,  /* more messages of this piece come */
	RB_WHOLE, /* the piece ends with this message */
	RB_LEFT   /* the rest is left to the leader, from tuple `at` of `block` on */
} rb_rest;

typedef struct rb_message
{
	uint32 piece;
	rb_rest rest;
	BlockNumber block;
	int at;
	bool ends;
	int width;    /* doubles of a part */
	rb_rows rows; /* no pointer in it counts */
} rb_message;

StaticAssertDecl(sizeof(rb_message) == MAXALIGN(sizeof(rb_message)), "doubles follow the head");

/* how many parts are in so many bytes */
static inline uint32
rb_parts_of(const rb_builder *builder, Size bytes)
{
	return (uint32) (bytes / ((Size) builder->width * sizeof(double)));
}

/* the queue of a worker */
static inline shm_mq *
rb_reader_queue(char *queues, int worker)
{
	return (shm_mq *) (queues + (Size) worker * RB_QUEUE_BYTES);
}

/* ---- reader_pieces.c ---- */

extern void rb_pieces_cut(rb_reading *reading, BlockNumber nblocks, BlockNumber toast_blocks,
						  int workers);
extern BlockNumber rb_piece_first_block(const rb_reading *reading, uint32 piece);

/* reads a piece from tuple `at` of `block` on; false: it stopped before heap->at of heap->block */
extern bool rb_piece_read(rb_heap *heap, const rb_reading *reading, uint32 piece, BlockNumber block,
						  int at);

/* reads a whole piece, whose rows may be refused; false as above */
extern bool rb_piece_read_apart(rb_heap *heap, const rb_reading *reading, uint32 piece);

/* ---- reader_leader.c ---- */

/* reads all pieces in order, with what workers were launched */
struct ParallelContext;
extern void rb_readers_lead(rb_reading *reading, rb_heap *heap, rb_builder *builder,
							rb_space *space, struct ParallelContext *context, char *queues);

#endif /* RB_READERS_H */
