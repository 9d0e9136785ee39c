/*
 * readers.c
 *	  A plain table is read by several processes, in the order of one.
 *
 *		pages   |0 ... 31|32 ... 63|64 ... 95|96 ...      pieces, claimed in this order
 *		             |        |         |
 *		          worker 0  worker 1  worker 0             decode: tuples -> rows
 *		             \         |         /
 *		              queues in shared memory              a message: some rows
 *		                       |
 *		leader:  0, 1, 2, 3 ...  behind each other         one copy, no decoding
 *
 * Decoding a page costs several times what copying its rows does, so workers
 * decode and the leader copies, in the order of the pieces: ids of a self join come
 * in input order, and everything else is as if one process had read the table.
 * A queue holds a few messages, so shared memory is a few hundred kB a worker,
 * whatever the size of the table.  A worker whose queue is full waits; the
 * leader wants the oldest piece, whose worker can always write to its queue, so nobody
 * waits for ever.  While that piece is not there, the leader reads a later one,
 * into memory of its own.
 *
 * Nothing that a worker meets is an error there.  What it cannot take, be it a NaN, a
 * geometry of the wrong type, or one that is larger than the memory of a worker,
 * it leaves to the leader, with all that follows in the piece.  The leader comes to
 * it in order and reads it as if there were no workers: so the error, if it is
 * one, is that of the first bad row, with the same words.  (An error that
 * PostgreSQL raises, of a value that has no float8, say, comes as it does from
 * any parallel worker: from whichever row was first read.)
 *
 * Snapshot, combo command ids, user and settings come to the workers as to those of
 * any parallel query.  A worker opens its own scan of the heap, which takes the
 * predicate lock of a serializable transaction in the leader's name.
 *
 * How many workers: as many as the planner would give to a scan of that table, its
 * TOAST counted in, where that is worth it; and what is launched of them.  With
 * none the leader reads all.
 */
#include "rb_pg.h"

#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "executor/tuptable.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
#include "storage/latch.h"
#include "storage/shm_mq.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#define RB_PIECE_BLOCKS 32
#define RB_PIECES_PER_PROCESS 8
#define RB_QUEUE_BYTES ((Size) 512 << 10)
/* rows are sent when they have grown to this, and in messages of about this size */
#define RB_MESSAGE_BYTES ((Size) 48 << 10)
/* what a worker may decode at once: of one row, when that is larger than a message */
#define RB_WORKER_BYTES ((Size) 256 << 10)
#define RB_WORKER_BYTES_DECODING ((Size) 8 << 20)
/* what the leader reads ahead is never much larger than this */
#define RB_AHEAD_BYTES ((Size) 1 << 20)
/* of the memory that the join has left: all this is at most such a fraction */
#define RB_READERS_FRACTION 8
/* a page whose rows have more TOAST pages than this is read in slices */
#define RB_SLICE_BLOCKS 32
#define RB_MAX_SLICES 64
/* triangles, or rows of a table without statistics */
#define RB_ROWS_PER_BLOCK 75

/* what all processes know */
typedef struct rb_reading
{
	NameData function; /* what it is read for, for messages */
	NameData side;
	rb_kind kind;
	Oid relid;
	NameData id_name; /* "": not given */
	NameData geom_name;
	Size memory; /* of a worker */
	BlockNumber nblocks;
	uint32 npieces;
	uint32 piece_blocks;   /* pages of a piece, or: */
	uint32 slices;         /* pieces of a page */
	pg_atomic_uint32 next; /* the next piece to claim; may run beyond npieces */
} rb_reading;

enum
{
	KEY_READING = 1,
	KEY_QUEUES
};

/* the head of a message; coordinates, ids and, where `ends` is true, ends follow */
typedef enum rb_rest
{
	RB_MORE,  /* more of this piece is to come */
	RB_WHOLE, /* this is the end of the piece */
	RB_LEFT   /* its rest is left to the leader, from tuple `at` of `block` on */
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

/* ---- pieces ---- */

/* small enough that each process gets several */
static void
cut_pieces(rb_reading *reading, BlockNumber nblocks, BlockNumber toast_blocks, int workers)
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

static BlockNumber
first_block(const rb_reading *reading, uint32 piece)
{
	return piece / reading->slices * reading->piece_blocks;
}

/* reads a piece from tuple `at` of `block` on; false: it stopped before heap->at of heap->block */
static bool
read_piece(rb_heap *heap, const rb_reading *reading, uint32 piece, BlockNumber block, int at)
{
	BlockNumber end =
		Min(reading->nblocks, first_block(reading, piece) + (BlockNumber) reading->piece_blocks);

	for (; block < end; block++)
	{
		if (!rb_heap_page(heap, block, at, (int) (piece % reading->slices), (int) reading->slices))
			return false;
		at = 0;
	}
	return true;
}

/* reads a whole piece, whose rows may be refused; false as above */
static bool
read_apart(rb_heap *heap, const rb_reading *reading, uint32 piece)
{
	bool whole;

	rb_receiver_set_apart(heap->receiver, true);
	whole = read_piece(heap, reading, piece, first_block(reading, piece), 0);
	rb_receiver_set_apart(heap->receiver, false);
	return whole;
}

/* ---- a worker ---- */

typedef struct rb_reader
{
	const rb_reading *reading;
	shm_mq_handle *queue;
	rb_heap heap;
	rb_builder builder;
	rb_space space;
	uint32 piece;
	bool gone;   /* the leader wants no more */
	uint32 full; /* so many parts are worth a message */
	uint32 *ends;
} rb_reader;

/* parts of so many bytes */
static uint32
parts_of(const rb_builder *builder, Size bytes)
{
	return (uint32) (bytes / ((Size) builder->width * sizeof(double)));
}

/* the rows that end within n parts from `from` on; the first of them is row `row` */
static uint32
find_ends(const rb_builder *b, uint32 from, uint32 n, uint32 *ends)
{
	uint32 rows = 0;

	for (uint32 i = from; i < from + n; i++)
		if (i + 1 == b->nparts || b->row_of[i + 1] != b->row_of[i])
			ends[rows++] = i + 1 - from;
	return rows;
}

static void
send_message(rb_reader *w, const rb_message *message)
{
	const rb_rows *rows = &message->rows;
	shm_mq_iovec iov[4] = {
		{(const char *) message, sizeof *message},
		{(const char *) rows->coords,
		 (Size) rows->nparts * (Size) w->builder.width * sizeof(double)},
		{(const char *) rows->ids, (Size) rows->nrows * sizeof(int64)},
		{(const char *) rows->ends, message->ends ? (Size) rows->nrows * sizeof(uint32) : 0},
	};

	if (rb_shm_mq_sendv(w->queue, iov, lengthof(iov)) != SHM_MQ_SUCCESS)
		w->gone = true;
}

/* what was read goes to the leader; then there is nothing */
static void
send_rows(rb_reader *w, rb_rest rest)
{
	const rb_builder *b = &w->builder;
	uint32 most = parts_of(b, RB_MESSAGE_BYTES);
	uint32 part = 0;
	uint32 row = 0;
	rb_message whole;

	memset(&whole, 0, sizeof whole);
	rb_receiver_end_rows(w->heap.receiver, &whole.rows);
	whole.piece = w->piece;
	whole.block = w->heap.block;
	whole.at = w->heap.at;
	whole.ends = b->multi;
	whole.width = b->width;
	do
	{
		uint32 n = Min(b->nparts - part, most);
		bool last = part + n == b->nparts;
		rb_message message = whole;
		rb_rows *rows = &message.rows;

		rows->nparts = n;
		rows->nrows = b->multi ? find_ends(b, part, n, w->ends) : n;
		rows->coords = b->coords + (size_t) part * (size_t) b->width;
		rows->ids = b->ids + row;
		rows->ends = w->ends;
		message.rest = last ? rest : RB_MORE;
		if (!last)
			rows->received = rows->skipped = 0;
		send_message(w, &message);
		part += n;
		row += rows->nrows;
	} while (part < b->nparts && !w->gone);
	rb_receiver_begin_rows(w->heap.receiver);
}

static bool
send_when_full(rb_heap *heap)
{
	rb_reader *w = heap->arg;

	if (w->builder.nparts >= w->full)
		send_rows(w, RB_MORE);
	return true;
}

static const char *
name_or_null(const NameData *name)
{
	return NameStr(*name)[0] == '\0' ? NULL : NameStr(*name);
}

static void
read_pieces(rb_reader *w, rb_reading *reading)
{
	for (;;)
	{
		w->piece = pg_atomic_fetch_add_u32(&reading->next, 1);
		if (w->piece >= reading->npieces || w->gone)
			return;
		send_rows(w, read_apart(&w->heap, reading, w->piece) ? RB_WHOLE : RB_LEFT);
	}
}

extern PGDLLEXPORT void redblue_read_worker(dsm_segment *segment, shm_toc *toc);

/* where a worker starts */
void
redblue_read_worker(dsm_segment *segment, shm_toc *toc)
{
	rb_reading *reading = shm_toc_lookup(toc, KEY_READING, false);
	char *queues = shm_toc_lookup(toc, KEY_QUEUES, false);
	shm_mq *queue = (shm_mq *) (queues + (Size) ParallelWorkerNumber * RB_QUEUE_BYTES);
	rb_reader *w = palloc0(sizeof *w);
	rb_source source;
	rb_memory *memory;
	Relation rel;

	shm_mq_set_sender(queue, MyProc);
	w->queue = shm_mq_attach(queue, segment, NULL);

	memset(&source, 0, sizeof source);
	source.function = NameStr(reading->function);
	source.side = NameStr(reading->side);
	source.kind = reading->kind;
	source.id_name = name_or_null(&reading->id_name);
	source.geom_name = name_or_null(&reading->geom_name);
	/* the process ends with its work, and its memory with it */
	memory = rb_memory_open(source.function, reading->memory);
	rb_builder_init(&w->builder, memory, source.kind);
	w->ends = palloc(RB_MESSAGE_BYTES);
	w->full = parts_of(&w->builder, RB_MESSAGE_BYTES);

	rel = table_open(reading->relid, AccessShareLock);
	rb_heap_begin(&w->heap, rel, rb_receiver_create(&source, &w->builder, &w->space));
	w->heap.receiver->rStartup(w->heap.receiver, CMD_SELECT, RelationGetDescr(rel));
	w->heap.after = send_when_full;
	w->heap.arg = w;
	rb_receiver_begin_rows(w->heap.receiver);
	read_pieces(w, reading);
	rb_heap_end(&w->heap);
	table_close(rel, NoLock);
	shm_mq_detach(w->queue);
	rb_builder_free(&w->builder);
	rb_memory_destroy(memory);
}

/* ---- the leader ---- */

/* a worker's queue, and the message at its head */
typedef struct rb_queue
{
	shm_mq_handle *mq;
	const rb_message *message; /* NULL: not there yet */
	bool gone;                 /* there will be none */
} rb_queue;

typedef struct rb_leader
{
	rb_reading *reading;
	rb_heap *heap;
	rb_builder *builder;
	rb_space *space;
	int nqueues;
	rb_queue *queues;
	bool takes_part; /* reads pieces itself */

	/* a piece that it has read before its turn */
	bool ahead;
	uint32 ahead_piece;
	bool ahead_whole;
	BlockNumber ahead_block; /* where its rest starts, if it is not whole */
	int ahead_at;
	uint32 ahead_full;
	rb_builder ahead_builder;
	rb_space ahead_space;
	rb_rows ahead_rows;
	uint32 *ahead_ends;
	rb_memory *memory;
} rb_leader;

/* the next message of every queue that has one; false where none came */
static bool
look_into_queues(rb_leader *l)
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

/* a message of that piece, or NULL */
static rb_queue *
queue_of(rb_leader *l, uint32 piece)
{
	for (int i = 0; i < l->nqueues; i++)
		if (l->queues[i].message != NULL && l->queues[i].message->piece == piece)
			return &l->queues[i];
	return NULL;
}

/* true when the piece is at its end */
static bool
take_message(rb_leader *l, rb_queue *queue)
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

/* until what was read ahead is enough */
static bool
stop_when_full(rb_heap *heap)
{
	rb_leader *l = heap->arg;

	return l->ahead_builder.nparts < l->ahead_full;
}

/* a piece that nobody has claimed, before its turn; false where there is none */
static bool
read_ahead(rb_leader *l)
{
	DestReceiver *receiver = l->heap->receiver;
	rb_heap *heap = l->heap;
	uint64 rows;

	if (!l->takes_part || l->ahead || pg_atomic_read_u32(&l->reading->next) >= l->reading->npieces)
		return false;
	l->ahead_piece = pg_atomic_fetch_add_u32(&l->reading->next, 1);
	if (l->ahead_piece >= l->reading->npieces)
		return false;
	rows = rb_receiver_aim(receiver, &l->ahead_builder, &l->ahead_space, 0);
	rb_receiver_begin_rows(receiver);
	heap->after = stop_when_full;
	heap->arg = l;
	l->ahead_whole = read_apart(heap, l->reading, l->ahead_piece);
	heap->after = NULL;
	l->ahead_block = heap->block;
	l->ahead_at = heap->at;
	rb_receiver_end_rows(receiver, &l->ahead_rows);
	rb_receiver_aim(receiver, l->builder, l->space, rows);
	l->ahead = true;
	return true;
}

static void
init_ahead(rb_leader *l)
{
	rb_builder_init(&l->ahead_builder, l->memory, l->builder->kind);
	l->ahead_full = parts_of(&l->ahead_builder, RB_AHEAD_BYTES);
}

/* its turn has come */
static void
take_ahead(rb_leader *l)
{
	rb_builder *b = &l->ahead_builder;
	rb_rows *rows = &l->ahead_rows;

	if (b->multi && l->ahead_ends == NULL)
		l->ahead_ends = palloc((l->ahead_full + 1) * sizeof *l->ahead_ends);
	if (b->multi)
		find_ends(b, 0, b->nparts, l->ahead_ends);
	rows->nparts = b->nparts;
	rows->nrows = b->nrows;
	rows->coords = b->coords;
	rows->ids = b->ids;
	rows->ends = b->multi ? l->ahead_ends : NULL;
	rb_receive_rows(l->heap->receiver, rows);
	l->ahead = false;
	/* it was for small rows */
	if (b->coords_cap > 2 * (size_t) l->ahead_full)
	{
		rb_builder_free(b);
		init_ahead(l);
	}
	if (!l->ahead_whole)
		(void) read_piece(l->heap, l->reading, l->ahead_piece, l->ahead_block, l->ahead_at);
}

/* does anybody still read for us? */
static bool
is_alone(const rb_leader *l)
{
	for (int i = 0; i < l->nqueues; i++)
		if (!l->queues[i].gone || l->queues[i].message != NULL)
			return false;
	return true;
}

/* the piece whose turn it is, if nobody has claimed it */
static bool
claim(rb_leader *l, uint32 piece)
{
	return (l->takes_part || is_alone(l)) &&
		   pg_atomic_compare_exchange_u32(&l->reading->next, &piece, piece + 1);
}

/* does something about the piece whose turn it is, or about a later one; false: nothing to do */
static bool
step(rb_leader *l, uint32 *piece)
{
	rb_queue *queue;

	if (l->ahead && l->ahead_piece == *piece)
	{
		take_ahead(l);
		(*piece)++;
		return true;
	}
	if (claim(l, *piece))
	{
		(void) read_piece(l->heap, l->reading, *piece, first_block(l->reading, *piece), 0);
		(*piece)++;
		return true;
	}
	queue = queue_of(l, *piece);
	if (queue != NULL)
	{
		if (take_message(l, queue))
			(*piece)++;
		return true;
	}
	return look_into_queues(l) || read_ahead(l);
}

static void
read_in_order(rb_leader *l, ParallelContext *context)
{
	uint32 piece = 0;

	while (piece < l->reading->npieces)
	{
		CHECK_FOR_INTERRUPTS();
		if (step(l, &piece))
			continue;
		if (is_alone(l))
		{
			/* whoever claimed the piece is gone; this knows why, if anybody does */
			WaitForParallelWorkersToFinish(context);
			elog(ERROR, "%s: a reader ended without a word", NameStr(l->reading->function));
		}
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1,
						 WAIT_EVENT_EXECUTE_GATHER);
		ResetLatch(MyLatch);
	}
}

/* ---- with how many ---- */

static BlockNumber
toast_blocks(Relation rel)
{
	BlockNumber blocks;
	Relation toast;

	if (!OidIsValid(rel->rd_rel->reltoastrelid))
		return 0;
	toast = table_open(rel->rd_rel->reltoastrelid, AccessShareLock);
	blocks = RelationGetNumberOfBlocks(toast);
	table_close(toast, AccessShareLock);
	return blocks;
}

/*
 * As many as the planner would want for a scan of the table; none where what they
 * save is less than what starting them costs, in the planner's numbers.  To read a
 * row here costs half of what it costs the executor (measured).
 */
static int
wanted_workers(const rb_source *source, Relation rel, double blocks, double toast)
{
	double rows = source->rows > 0 ? source->rows : blocks * RB_ROWS_PER_BLOCK;
	RelOptInfo *info;
	int workers;
	double share;

	/* what a worker cannot see, and who cannot have any */
	if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP || !IsUnderPostmaster ||
		IsParallelWorker() || max_parallel_workers_per_gather <= 0)
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

/* the queues and the workers' memory are part of the join's; 0 where they are too much for it */
static Size
readers_bytes(rb_memory *memory, int workers, Size worker)
{
	uint64 left = rb_memory_limit(memory) - rb_memory_used(memory);
	uint64 bytes = (uint64) workers * (RB_QUEUE_BYTES + worker);

	if (bytes > left / RB_READERS_FRACTION || rb_memory_charge(memory, bytes, NULL) != RB_OK)
		return 0;
	return bytes;
}

static void
name_or_empty(NameData *to, const char *name)
{
	namestrcpy(to, name == NULL ? "" : name);
}

/* the workers are launched, the queues are there */
static void
read_with(rb_leader *l, ParallelContext *context, char *queues)
{
	l->nqueues = context->nworkers_launched;
	l->queues = palloc0(Max(l->nqueues, 1) * sizeof *l->queues);
	for (int i = 0; i < l->nqueues; i++)
		l->queues[i].mq = shm_mq_attach((shm_mq *) (queues + (Size) i * RB_QUEUE_BYTES),
										context->seg, context->worker[i].bgwhandle);
	l->takes_part = parallel_leader_participation || l->nqueues == 0;
	init_ahead(l);
	read_in_order(l, context);
	for (int i = 0; i < l->nqueues; i++)
		shm_mq_detach(l->queues[i].mq);
	rb_builder_free(&l->ahead_builder);
	WaitForParallelWorkersToFinish(context);
}

/* with so many workers, or as many as there are; how many there were */
static int
read_parallel(rb_leader *l, const rb_source *source, const rb_reading *plan, int workers)
{
	ParallelContext *context;
	rb_reading *reading;
	char *queues = NULL;

	EnterParallelMode();
	context = CreateParallelContext("$libdir/redblue", "redblue_read_worker", workers);
	shm_toc_estimate_chunk(&context->estimator, sizeof *reading);
	shm_toc_estimate_chunk(&context->estimator, mul_size(RB_QUEUE_BYTES, workers));
	shm_toc_estimate_keys(&context->estimator, 2);
	InitializeParallelDSM(context);

	reading = shm_toc_allocate(context->toc, sizeof *reading);
	*reading = *plan;
	namestrcpy(&reading->function, source->function);
	namestrcpy(&reading->side, source->side);
	reading->kind = source->kind;
	reading->relid = source->heap;
	name_or_empty(&reading->id_name, source->id_name);
	name_or_empty(&reading->geom_name, source->geom_name);
	pg_atomic_init_u32(&reading->next, 0);
	shm_toc_insert(context->toc, KEY_READING, reading);
	/* no shared memory was to be had: then there are no workers */
	if (context->seg != NULL)
	{
		queues = shm_toc_allocate(context->toc, mul_size(RB_QUEUE_BYTES, workers));
		for (int i = 0; i < workers; i++)
			shm_mq_set_receiver(shm_mq_create(queues + (Size) i * RB_QUEUE_BYTES, RB_QUEUE_BYTES),
								MyProc);
		shm_toc_insert(context->toc, KEY_QUEUES, queues);
		LaunchParallelWorkers(context);
	}
	l->reading = reading;
	read_with(l, context, queues);
	workers = context->nworkers_launched;
	DestroyParallelContext(context);
	ExitParallelMode();
	return workers;
}

int
rb_read_table(const rb_source *source, DestReceiver *receiver, rb_builder *builder, rb_space *space)
{
	/* locked when it became a source */
	Relation rel = table_open(source->heap, NoLock);
	bool decodes;
	BlockNumber blocks;
	BlockNumber more;
	int workers;
	Size bytes = 0;
	rb_reading plan;
	rb_heap heap;

	receiver->rStartup(receiver, CMD_SELECT, RelationGetDescr(rel));
	rb_heap_begin(&heap, rel, receiver);
	decodes = rb_receiver_decodes(receiver);
	blocks = rb_heap_blocks(&heap);
	more = decodes ? toast_blocks(rel) : 0;
	memset(&plan, 0, sizeof plan);
	plan.memory = decodes ? RB_WORKER_BYTES_DECODING : RB_WORKER_BYTES;
	workers = wanted_workers(source, rel, blocks, more);
	if (workers > 0)
	{
		cut_pieces(&plan, blocks, more, workers);
		workers = (int) Min((uint32) workers, plan.npieces);
		bytes = readers_bytes(builder->memory, workers, plan.memory);
	}
	if (bytes > 0)
	{
		rb_leader *l = palloc0(sizeof *l);

		l->heap = &heap;
		l->builder = builder;
		l->space = space;
		l->memory = builder->memory;
		workers = read_parallel(l, source, &plan, workers);
		rb_memory_refund(builder->memory, bytes);
	}
	else
	{
		workers = 0;
		rb_heap_all(&heap);
	}
	rb_heap_end(&heap);
	receiver->rShutdown(receiver);
	table_close(rel, NoLock);
	return workers;
}
