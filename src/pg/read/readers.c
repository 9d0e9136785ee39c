/*
 * readers.c
 *	  Reads a plain table with several processes, but in the order of a single one.
 *
 *	pages   |0 ... 31|32 ... 63|64 ... 95|96 ...      pieces, claimed in this order
 *	             |        |         |
 *	          worker 0  worker 1  worker 0             decode: tuples -> rows
 *	             \         |         /
 *	              queues in shared memory              a message: some rows
 *	                       |
 *	leader:  0, 1, 2, 3 ...  one after the other       one copy, no decoding
 *
 * Decoding a page costs several times as much as copying its rows. Therefore workers decode, and
 * the leader copies in the order of the pieces. Ids of a self join come in input order, and
 * everything else is as if one process had read the table.
 *
 * A queue holds a few messages, so each worker needs only a few hundred kB of shared memory,
 * whatever the size of the table. A worker whose queue is full waits. No process waits forever: the
 * leader needs the oldest piece and empties the queue of its worker. Until that piece arrives, the
 * leader reads a later one into its own memory.
 *
 * A worker raises none of redblue's errors. When it meets a row that it cannot accept (a NaN, a
 * geometry of the wrong type, or one larger than a worker's memory), it leaves that row and the
 * rest of the piece to the leader. The leader reaches it in order and reads it as if there were no
 * workers. The error, if it is one, is therefore that of the first invalid row, in the same words.
 * (PostgreSQL's own errors, for example for a value without a float8 equivalent, appear as with any
 * parallel worker: for whichever row was read first.)
 *
 * The snapshot, combo command ids, user and settings reach the workers as in any parallel query. A
 * worker opens its own scan of the heap, which takes the predicate lock of a serializable
 * transaction on behalf of the leader.
 *
 * The number of workers is the number that the planner would choose for a scan of the table
 * including its TOAST data, provided that this is worthwhile. If fewer can be launched, fewer are
 * used; without any, the leader reads everything.
 *
 * A piece is a run of consecutive pages, or a slice of one page if the rows of a page have much
 * TOAST data. Pieces are small enough that each process gets several, so that all processes end at
 * about the same time.
 */
#include "pg/read/read.h"
#include "pg/worker/worker.h"

#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "executor/instrument.h"
#include "executor/tuptable.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/shm_mq.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/wait_event.h"

#define RB_QUEUE_BYTES ((Size) 512 << 10)
/* Memory of a worker for decoding; a single row may be larger than a message */
#define RB_WORKER_BYTES ((Size) 256 << 10)
#define RB_WORKER_BYTES_DECODING ((Size) 8 << 20)
/* Share of the join's remaining memory (1/n) for queues and workers */
#define RB_READERS_FRACTION 8
/* Estimated triangles per page, or rows if the table has no statistics */
#define RB_ROWS_PER_BLOCK 75
#define RB_TELL_PAGES 256 /* Number of pages between two updates of redblue_progress */
#define RB_PIECE_BLOCKS 32
#define RB_PIECES_PER_PROCESS 8
/* Average number of TOAST pages per page above which pages are read in slices */
#define RB_SLICE_BLOCKS 32
#define RB_MAX_SLICES 64
/* Approximate size of a message, in bytes; rows are sent when they reach it */
#define RB_MESSAGE_BYTES ((Size) 48 << 10)
/* Approximate limit of what the leader reads ahead, in bytes */
#define RB_AHEAD_BYTES ((Size) 1 << 20)

/* ---- data shared by the processes ---- */

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

/*
 * Returns the number of parts whose coordinates fit in `bytes`, the size of a message of a
 * parallel reader or of the leader's own builder.
 */
static inline uint32
parts_per_reader_message(const rb_builder *builder, Size bytes)
{
	return (uint32) (bytes / ((Size) builder->width * sizeof(double)));
}

/* Returns the queue of a worker. */
static inline shm_mq *
queue_of_reading_worker(char *queues, int worker)
{
	return (shm_mq *) (queues + (Size) worker * RB_QUEUE_BYTES);
}

/* ---- pieces ---- */

/*
 * Divides the pages of a table into pieces for the readers, or into slices if its rows are in
 * TOAST.
 */
static void
cut_table_into_pieces(rb_reading *reading, BlockNumber nblocks, BlockNumber toast_blocks,
					  int workers)
{
	BlockNumber share = nblocks / ((BlockNumber) (workers + 1) * RB_PIECES_PER_PROCESS);

	reading->nblocks = nblocks;
	reading->slices = Min(Max(toast_blocks / Max(nblocks, 1) / RB_SLICE_BLOCKS, 1), RB_MAX_SLICES);
	if (nblocks > UINT32_MAX / 2 / RB_MAX_SLICES)
		reading->slices = 1;
	reading->piece_blocks = reading->slices > 1 ? 1 : Min(Max(share, 1), RB_PIECE_BLOCKS);
	reading->npieces = reading->slices > 1 ? nblocks * reading->slices
										   : nblocks / reading->piece_blocks +
												 (nblocks % reading->piece_blocks > 0);
}

/* Returns the first page of a piece; pieces that are slices share a page. */
static BlockNumber
first_block_of_piece(const rb_reading *reading, uint32 piece)
{
	return piece / reading->slices * reading->piece_blocks;
}

/*
 * Reads a piece from tuple `at` of `block` on. Returns false if it stopped before tuple heap->at of
 * heap->block.
 */
static bool
read_piece(rb_heap *heap, const rb_reading *reading, uint32 piece, BlockNumber block, int at)
{
	BlockNumber end = Min(reading->nblocks, first_block_of_piece(reading, piece) +
												(BlockNumber) reading->piece_blocks);

	for (; block < end; block++)
	{
		if (!rb_heap_page(heap, block, at, (int) (piece % reading->slices), (int) reading->slices))
			return false;
		at = 0;
	}
	return true;
}

/* Reads a whole piece as read_piece does, but rejects invalid rows without an error. */
static bool
read_piece_apart(rb_heap *heap, const rb_reading *reading, uint32 piece)
{
	bool whole;

	heap->receiver->apart = true;
	whole = read_piece(heap, reading, piece, first_block_of_piece(reading, piece), 0);
	heap->receiver->apart = false;
	return whole;
}

/*
 * ---- the worker ----
 *
 * Its memory is small, whatever it reads: rows are sent as soon as they fill a message. A single
 * larger row is sent in several messages.
 */

typedef struct rb_reader
{
	const rb_reading *reading;
	shm_mq_handle *queue;
	rb_heap heap;
	rb_builder builder;
	rb_space space;
	uint32 piece;
	bool gone;    /* True if the leader has detached */
	uint32 full;  /* Number of parts that fill a message */
	uint32 *ends; /* Buffer for the row ends of one message */
} rb_reader;

/* Sends a message with its rows through the queue, and notes if the leader is gone. */
static void
send_message_to_leader(rb_reader *r, const rb_message *message)
{
	const rb_rows *rows = &message->rows;
	shm_mq_iovec iov[4] = {
		{(const char *) message, sizeof *message},
		{(const char *) rows->coords,
		 (Size) rows->nparts * (Size) r->builder.width * sizeof(double)},
		{(const char *) rows->ids, (Size) rows->nrows * sizeof(int64)},
		{(const char *) rows->ends, message->ends ? (Size) rows->nrows * sizeof(uint32) : 0},
	};

	if (rb_shm_mq_sendv(r->queue, iov, lengthof(iov)) != SHM_MQ_SUCCESS)
		r->gone = true;
}

/* Sends the rows read so far to the leader and empties the builder. */
static void
send_rows_to_leader(rb_reader *r, rb_rest rest)
{
	const rb_builder *b = &r->builder;
	uint32 most = parts_per_reader_message(b, RB_MESSAGE_BYTES);
	uint32 part = 0;
	uint32 row = 0;
	rb_message whole;

	memset(&whole, 0, sizeof whole);
	rb_receiver_end_rows(r->heap.receiver, &whole.rows);
	whole.piece = r->piece;
	whole.block = r->heap.block;
	whole.at = r->heap.at;
	whole.ends = b->multi;
	whole.width = b->width;
	do
	{
		uint32 n = Min(b->nparts - part, most);
		bool last = part + n == b->nparts;
		rb_message message = whole;
		rb_rows *rows = &message.rows;

		rb_rows_slice(b, part, row, n, r->ends, rows);
		message.rest = last ? rest : RB_MORE;
		if (!last)
			rows->received = rows->skipped = 0;
		send_message_to_leader(r, &message);
		part += n;
		row += rows->nrows;
	} while (part < b->nparts && !r->gone);
	rb_receiver_begin_rows(r->heap.receiver);
}

/* Sends the rows read so far to the leader if the builder is full. */
static bool
send_rows_when_full(rb_heap *heap)
{
	rb_reader *r = heap->arg;

	if (r->builder.nparts >= r->full)
		send_rows_to_leader(r, RB_MORE);
	return true;
}

/* Returns a column name from shared memory, or NULL if it is empty, as a source represents it. */
static const char *
column_name_or_null(const NameData *name)
{
	return NameStr(*name)[0] == '\0' ? NULL : NameStr(*name);
}

/* Claims one piece after another, reads it and sends its rows to the leader. */
static void
read_claimed_pieces(rb_reader *r, rb_reading *reading)
{
	for (;;)
	{
		r->piece = pg_atomic_fetch_add_u32(&reading->next, 1);
		if (r->piece >= reading->npieces || r->gone)
			return;
		send_rows_to_leader(r, read_piece_apart(&r->heap, reading, r->piece) ? RB_WHOLE : RB_LEFT);
	}
}

extern PGDLLEXPORT void redblue_read_worker(dsm_segment *segment, shm_toc *toc);

/* Entry point of a worker process. */
void
redblue_read_worker(dsm_segment *segment, shm_toc *toc)
{
	rb_reading *reading = shm_toc_lookup(toc, RB_KEY_READING, false);
	rb_usage *usage = shm_toc_lookup(toc, RB_KEY_USAGE, false);
	char *queues = shm_toc_lookup(toc, RB_KEY_QUEUES, false);
	shm_mq *queue = queue_of_reading_worker(queues, ParallelWorkerNumber);
	rb_reader *r = palloc0(sizeof *r);
	rb_receiver *receiver;
	rb_source source;
	rb_memory *memory;
	Relation rel;

	InstrStartParallelQuery();
	shm_mq_set_sender(queue, MyProc);
	r->queue = shm_mq_attach(queue, segment, NULL);

	memset(&source, 0, sizeof source);
	source.function = NameStr(reading->function);
	source.side = NameStr(reading->side);
	source.kind = reading->kind;
	source.id_name = column_name_or_null(&reading->id_name);
	source.geom_name = column_name_or_null(&reading->geom_name);
	source.object_name = column_name_or_null(&reading->object_name);
	source.face_tolerance = reading->face_tolerance;
	/* The memory need not be released here, because the process ends. */
	memory = rb_memory_open(source.function, reading->memory);
	rb_builder_init(&r->builder, memory, source.kind);
	r->builder.face_tolerance = source.face_tolerance;
	r->builder.tile = reading->tile;
	r->builder.distance = reading->distance;
	r->ends = palloc(RB_MESSAGE_BYTES);
	r->full = parts_per_reader_message(&r->builder, RB_MESSAGE_BYTES);

	rel = table_open(reading->relid, AccessShareLock);
	receiver = rb_receiver_create(&source, &r->builder, &r->space);
	rb_heap_begin(&r->heap, rel, receiver);
	receiver->pub.rStartup(&receiver->pub, CMD_SELECT, RelationGetDescr(rel));
	r->heap.notes = shm_toc_lookup(toc, RB_KEY_NOTES, true);
	r->heap.note_slices = reading->slices;
	r->heap.after = send_rows_when_full;
	r->heap.arg = r;
	rb_receiver_begin_rows(receiver);
	read_claimed_pieces(r, reading);
	rb_heap_end(&r->heap);
	table_close(rel, NoLock);
	InstrEndParallelQuery(&usage[ParallelWorkerNumber].buffers, &usage[ParallelWorkerNumber].wal);
	shm_mq_detach(r->queue);
	rb_builder_free(&r->builder);
	rb_memory_destroy(memory);
}

/*
 * ---- the leader ----
 *
 * The next piece in order comes from a worker's queue, or was read ahead, or is read now because no
 * process has claimed it. While a worker is still reading it, the leader reads a later piece ahead
 * into a separate builder.
 */

/* A worker's queue and the message at its head */
typedef struct rb_queue
{
	shm_mq_handle *mq;
	const rb_message *message; /* NULL if no message has arrived */
	/* True if the worker has ended, so that no further message will arrive */
	bool gone;
} rb_queue;

typedef struct rb_leader
{
	rb_reading *reading;
	rb_heap *heap;
	rb_builder *builder;
	rb_space *space;
	int nqueues;
	rb_queue *queues;
	bool participates; /* True if the leader reads pieces itself */

	/* A piece that was read ahead */
	bool ahead;
	uint32 ahead_piece;
	bool ahead_whole;
	BlockNumber ahead_block; /* Page at which the remaining rows start if the piece is incomplete */
	int ahead_at;
	uint32 ahead_full;
	rb_builder ahead_builder;
	rb_space ahead_space;
	rb_rows ahead_rows;
	uint32 *ahead_ends;
} rb_leader;

/*
 * Receives the next message of every queue that has none pending. Returns false if no queue has
 * changed.
 */
static bool
poll_queues_of_workers(rb_leader *l)
{
	bool any = false;

	for (int i = 0; i < l->nqueues; i++)
	{
		rb_queue *q = &l->queues[i];
		shm_mq_result result;
		Size size;
		void *data;

		if (q->message != NULL || q->gone)
			continue;
		result = shm_mq_receive(q->mq, &size, &data, true);
		if (result == SHM_MQ_SUCCESS)
			q->message = data;
		else if (result == SHM_MQ_DETACHED)
			q->gone = true;
		any |= result != SHM_MQ_WOULD_BLOCK;
	}
	return any;
}

/* Returns a queue whose pending message belongs to the piece, or NULL. */
static rb_queue *
queue_with_rows_of_piece(rb_leader *l, uint32 piece)
{
	for (int i = 0; i < l->nqueues; i++)
		if (l->queues[i].message != NULL && l->queues[i].message->piece == piece)
			return &l->queues[i];
	return NULL;
}

/* Appends the rows of a message. Returns true if the piece is complete. */
static bool
append_rows_of_message(rb_leader *l, rb_queue *queue)
{
	const rb_message *message = queue->message;
	rb_rows rows = message->rows;
	bool end = message->rest != RB_MORE;

	rows.coords = (const double *) (message + 1);
	rows.ids = (const int64 *) (rows.coords + (size_t) rows.nparts * (size_t) message->width);
	rows.ends = message->ends ? (const uint32 *) (rows.ids + rows.nrows) : NULL;
	rb_receive_rows(l->heap->receiver, &rows);
	if (message->rest == RB_LEFT)
		(void) read_piece(l->heap, l->reading, message->piece, message->block, message->at);
	queue->message = NULL;
	return end;
}

/* Returns true if the builder that reads ahead has room for more rows. */
static bool
is_builder_ahead_not_full(rb_heap *heap)
{
	rb_leader *l = heap->arg;

	return l->ahead_builder.nparts < l->ahead_full;
}

/* Reads an unclaimed piece ahead. Returns false if that is impossible. */
static bool
read_piece_ahead(rb_leader *l)
{
	rb_receiver *receiver = l->heap->receiver;
	rb_heap *heap = l->heap;
	uint64 rows;

	if (!l->participates || l->ahead ||
		pg_atomic_read_u32(&l->reading->next) >= l->reading->npieces)
		return false;
	l->ahead_piece = pg_atomic_fetch_add_u32(&l->reading->next, 1);
	if (l->ahead_piece >= l->reading->npieces)
		return false;
	rows = rb_receiver_aim(receiver, &l->ahead_builder, &l->ahead_space, 0);
	rb_receiver_begin_rows(receiver);
	heap->after = is_builder_ahead_not_full;
	heap->arg = l;
	l->ahead_whole = read_piece_apart(heap, l->reading, l->ahead_piece);
	heap->after = NULL;
	l->ahead_block = heap->block;
	l->ahead_at = heap->at;
	rb_receiver_end_rows(receiver, &l->ahead_rows);
	rb_receiver_aim(receiver, l->builder, l->space, rows);
	l->ahead = true;
	return true;
}

/* Initializes the builder for pieces that the leader reads ahead. */
static void
init_builder_for_ahead(rb_leader *l)
{
	rb_builder_init(&l->ahead_builder, l->builder->memory, l->builder->kind);
	l->ahead_builder.face_tolerance = l->builder->face_tolerance;
	l->ahead_builder.tile = l->builder->tile;
	l->ahead_builder.distance = l->builder->distance;
	l->ahead_full = parts_per_reader_message(&l->ahead_builder, RB_AHEAD_BYTES);
}

/* Appends the rows of the piece that was read ahead. */
static void
append_piece_read_ahead(rb_leader *l)
{
	rb_builder *b = &l->ahead_builder;
	rb_rows *rows = &l->ahead_rows;

	if (b->multi && l->ahead_ends == NULL)
		l->ahead_ends = palloc((l->ahead_full + 1) * sizeof *l->ahead_ends);
	rb_rows_slice(b, 0, 0, b->nparts, l->ahead_ends, rows);
	rb_receive_rows(l->heap->receiver, rows);
	l->ahead = false;
	/* A large row may have made the builder larger than necessary. */
	if (b->coords_cap > 2 * (size_t) l->ahead_full)
	{
		rb_builder_free(b);
		init_builder_for_ahead(l);
	}
	if (!l->ahead_whole)
		(void) read_piece(l->heap, l->reading, l->ahead_piece, l->ahead_block, l->ahead_at);
}

/* Returns true if all workers have ended and all of their messages were processed. */
static bool
have_workers_ended(const rb_leader *l)
{
	for (int i = 0; i < l->nqueues; i++)
		if (!l->queues[i].gone || l->queues[i].message != NULL)
			return false;
	return true;
}

/*
 * Claims a piece for the leader if the leader may read pieces and no process has claimed this one.
 * Returns true if the leader now owns the piece.
 */
static bool
claim_piece(rb_leader *l, uint32 piece)
{
	return (l->participates || have_workers_ended(l)) &&
		   pg_atomic_compare_exchange_u32(&l->reading->next, &piece, piece + 1);
}

/*
 * Takes one step towards appending the rows of *piece, the next piece in order. Appends its rows if
 * they have been read ahead, can be read now, or have arrived from a worker, and increments *piece
 * once all of them are appended. Otherwise receives messages of the workers or reads a later piece
 * ahead. Returns false if neither is possible, so that the leader has to wait.
 */
static bool
advance_reading(rb_leader *l, uint32 *piece)
{
	rb_queue *queue;

	if (l->ahead && l->ahead_piece == *piece)
	{
		append_piece_read_ahead(l);
		(*piece)++;
		return true;
	}
	if (claim_piece(l, *piece))
	{
		(void) read_piece(l->heap, l->reading, *piece, first_block_of_piece(l->reading, *piece), 0);
		(*piece)++;
		return true;
	}
	queue = queue_with_rows_of_piece(l, *piece);
	if (queue != NULL)
	{
		if (append_rows_of_message(l, queue))
			(*piece)++;
		return true;
	}
	return poll_queues_of_workers(l) || read_piece_ahead(l);
}

/* Appends the rows of all pieces in order, and waits for the workers that read them. */
static void
read_pieces_in_order(rb_leader *l, ParallelContext *context)
{
	uint32 piece = 0;

	while (piece < l->reading->npieces)
	{
		CHECK_FOR_INTERRUPTS();
		rb_progress_read(piece, l->reading->npieces);
		if (advance_reading(l, &piece))
			continue;
		if (have_workers_ended(l))
		{
			/*
			 * The worker that claimed the piece is gone. This call raises its error, if there was
			 * one.
			 */
			WaitForParallelWorkersToFinish(context);
			elog(ERROR, "%s: parallel worker exited before it had sent its rows",
				 NameStr(l->reading->function));
		}
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1,
						 WAIT_EVENT_EXECUTE_GATHER);
		ResetLatch(MyLatch);
	}
}

/* Reads all pieces in order, together with the workers that were launched. */
static void
read_pieces_as_leader(rb_reading *reading, rb_heap *heap, rb_builder *builder, rb_space *space,
					  ParallelContext *context, char *queues)
{
	rb_leader *l = palloc0(sizeof *l);

	l->reading = reading;
	l->heap = heap;
	l->builder = builder;
	l->space = space;
	l->nqueues = context->nworkers_launched;
	l->queues = palloc0(Max(l->nqueues, 1) * sizeof *l->queues);
	for (int i = 0; i < l->nqueues; i++)
		l->queues[i].mq = shm_mq_attach(queue_of_reading_worker(queues, i), context->seg,
										context->worker[i].bgwhandle);
	l->participates = parallel_leader_participation || l->nqueues == 0;
	init_builder_for_ahead(l);
	read_pieces_in_order(l, context);
	for (int i = 0; i < l->nqueues; i++)
		shm_mq_detach(l->queues[i].mq);
	rb_builder_free(&l->ahead_builder);
	WaitForParallelWorkersToFinish(context);
}

/* ---- number of workers ---- */

/*
 * Returns the number of workers that the planner would choose for a scan of the table, or 0 if they
 * save less than their startup costs, in the planner's units. Reading a row here costs half as much
 * as in the executor (measured).
 */
static int
choose_reading_workers(const rb_source *source, Relation rel, double blocks, double toast)
{
	double rows = source->rows > 0 ? source->rows : blocks * RB_ROWS_PER_BLOCK;
	RelOptInfo *info;
	int workers;
	double share;

	/*
	 * Read without workers anything that they cannot read or send: temporary tables, keys, extra
	 * columns, faces, planes. Some processes cannot launch workers at all.
	 */
	if (source->keys != NULL || source->count_faces || source->polygons || source->beside != NULL ||
		source->planes || rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP ||
		!IsUnderPostmaster || IsParallelWorker() || max_parallel_workers_per_gather <= 0)
		return 0;
	info = makeNode(RelOptInfo);
	info->reloptkind = RELOPT_BASEREL;
	info->rel_parallel_workers = RelationGetParallelWorkers(rel, -1);
	workers = compute_parallel_worker(info, blocks + toast, -1, max_parallel_workers_per_gather);
	share = 1.0 / (workers + 1);
	if ((rows + toast * RB_ROWS_PER_BLOCK) * (cpu_tuple_cost / 2) * (1 - share) <
		parallel_setup_cost)
		return 0;
	return workers;
}

/*
 * Charges the memory of queues and workers to the join. Returns the number of bytes, or 0 if they
 * do not fit.
 */
static Size
charge_memory_of_readers(rb_memory *memory, int workers, Size worker)
{
	uint64 left = rb_memory_limit(memory) - rb_memory_used(memory);
	uint64 bytes = (uint64) workers * (RB_QUEUE_BYTES + worker);

	if (bytes > left / RB_READERS_FRACTION || rb_memory_charge(memory, bytes, NULL) != RB_OK)
		return 0;
	return bytes;
}

/* ---- shared memory of all processes ---- */

/* Copies a column name, which may be NULL, to shared memory for the parallel readers. */
static void
copy_column_name(NameData *to, const char *name)
{
	namestrcpy(to, name == NULL ? "" : name);
}

/* Reads the table with at most `workers` workers. Returns the number that were launched. */
static int
read_table_in_parallel(const rb_source *source, const rb_reading *plan, rb_heap *heap,
					   rb_builder *builder, rb_space *space, rb_page_note *notes, int workers)
{
	const Size notes_size =
		notes != NULL ? mul_size((Size) plan->nblocks * plan->slices, sizeof *notes) : 0;
	ParallelContext *context;
	rb_reading *reading;
	rb_usage *usage;
	char *queues = NULL;

	EnterParallelMode();
	context = CreateParallelContext("$libdir/redblue", "redblue_read_worker", workers);
	shm_toc_estimate_chunk(&context->estimator, sizeof *reading);
	shm_toc_estimate_chunk(&context->estimator, mul_size(RB_QUEUE_BYTES, workers));
	shm_toc_estimate_chunk(&context->estimator, mul_size(sizeof *usage, workers));
	shm_toc_estimate_chunk(&context->estimator, notes_size);
	shm_toc_estimate_keys(&context->estimator, 4);
	InitializeParallelDSM(context);

	reading = shm_toc_allocate(context->toc, sizeof *reading);
	*reading = *plan;
	namestrcpy(&reading->function, source->function);
	namestrcpy(&reading->side, source->side);
	reading->kind = source->kind;
	reading->relid = source->heap;
	copy_column_name(&reading->id_name, source->id_name);
	copy_column_name(&reading->geom_name, source->geom_name);
	copy_column_name(&reading->object_name, source->object_name);
	reading->face_tolerance = source->face_tolerance;
	reading->tile = builder->tile;
	reading->distance = builder->distance;
	pg_atomic_init_u32(&reading->next, 0);
	shm_toc_insert(context->toc, RB_KEY_READING, reading);
	usage = shm_toc_allocate(context->toc, mul_size(sizeof *usage, workers));
	memset(usage, 0, mul_size(sizeof *usage, workers));
	shm_toc_insert(context->toc, RB_KEY_USAGE, usage);
	if (notes != NULL)
	{
		heap->notes = shm_toc_allocate(context->toc, notes_size);
		heap->note_slices = plan->slices;
		memset(heap->notes, 0, notes_size);
		shm_toc_insert(context->toc, RB_KEY_NOTES, heap->notes);
	}
	/* Without a shared memory segment there are no workers. */
	if (context->seg != NULL)
	{
		queues = shm_toc_allocate(context->toc, mul_size(RB_QUEUE_BYTES, workers));
		for (int i = 0; i < workers; i++)
			shm_mq_set_receiver(shm_mq_create(queue_of_reading_worker(queues, i), RB_QUEUE_BYTES),
								MyProc);
		shm_toc_insert(context->toc, RB_KEY_QUEUES, queues);
		LaunchParallelWorkers(context);
	}
	read_pieces_as_leader(reading, heap, builder, space, context, queues);
	workers = context->nworkers_launched;
	for (int i = 0; i < workers; i++)
		InstrAccumParallelQuery(&usage[i].buffers, &usage[i].wal);
	if (notes != NULL)
		memcpy(notes, heap->notes, notes_size);
	heap->notes = NULL;
	DestroyParallelContext(context);
	ExitParallelMode();
	return workers;
}

/* Reads the whole table, ignoring any cached rows. */
static int
read_all_pieces(const rb_source *source, rb_heap *heap, rb_builder *builder, rb_space *space,
				rb_side_data *side)
{
	rb_cache_lookup *look = side->look;
	const bool decodes = heap->receiver->columns.geom.attno != 0;
	const BlockNumber blocks = heap->blocks;
	const BlockNumber more = decodes ? rb_toast_blocks(heap->rel) : 0;
	int workers = choose_reading_workers(source, heap->rel, blocks, more);
	rb_reading plan;

	memset(&plan, 0, sizeof plan);
	plan.memory = decodes ? RB_WORKER_BYTES_DECODING : RB_WORKER_BYTES;
	if (workers > 0)
	{
		cut_table_into_pieces(&plan, blocks, more, workers);
		workers = (int) Min((uint32) workers, plan.npieces);
		side->queues = charge_memory_of_readers(builder->memory, workers, plan.memory);
	}
	if (side->queues > 0)
	{
		workers = read_table_in_parallel(source, &plan, heap, builder, space,
										 rb_side_cache_page_notes(look, plan.slices), workers);
		rb_memory_refund(builder->memory, side->queues);
		side->queues = 0;
		return workers;
	}
	heap->notes = rb_side_cache_page_notes(look, 1);
	heap->note_slices = 1;
	heap->receiver->heap = heap;
	for (BlockNumber block = 0; block < blocks; block++)
	{
		if (block % RB_TELL_PAGES == 0)
			rb_progress_read(block, blocks);
		(void) rb_heap_page(heap, block, 0, 0, 1);
	}
	heap->receiver->heap = NULL;
	return 0;
}

void
rb_read_table(const rb_source *source, rb_receiver *receiver, rb_builder *builder, rb_space *space,
			  rb_side_data *side)
{
	/* The relation was locked when it became a source. */
	Relation rel = table_open(source->heap, NoLock);
	rb_heap heap;

	receiver->pub.rStartup(&receiver->pub, CMD_SELECT, RelationGetDescr(rel));
	rb_heap_begin(&heap, rel, receiver);
	side->look = rb_side_cache_begin(source, rel, &receiver->columns, heap.blocks);
	if (rb_side_cache_is_whole(side->look))
		rb_side_cache_use_whole(side->look, receiver, builder->memory, side);
	else if (rb_side_cache_is_partial(side->look))
	{
		/*
		 * Read the rows outside the tile, too, because new rows are merged with cached ones, which
		 * include them.
		 */
		builder->tile.dims = 0;
		rb_side_cache_read_changed(side->look, &heap, builder, side);
	}
	else
		side->workers = read_all_pieces(source, &heap, builder, space, side);
	rb_side_cache_note_read(side->look, rel);
	rb_heap_end(&heap);
	receiver->pub.rShutdown(&receiver->pub);
	table_close(rel, NoLock);
}
