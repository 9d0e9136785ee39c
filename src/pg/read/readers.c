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
 * The number of workers is that which the planner would choose for a scan of the table including
 * its TOAST data, provided that this is worthwhile. If fewer can be launched, fewer are used;
 * without any, the leader reads everything.
 *
 * This file determines the number of workers and creates their shared memory. reader_pieces.c
 * divides the table, reader_worker.c is the worker, reader_leader.c the leader, and reader_queue.h
 * declares the shared data.
 */
#include "pg/read/reader_queue.h"

#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "storage/bufmgr.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/rel.h"

/* Memory of a worker for decoding; a single row may be larger than a message */
#define RB_WORKER_BYTES ((Size) 256 << 10)
#define RB_WORKER_BYTES_DECODING ((Size) 8 << 20)
/* Share of the join's remaining memory (1/n) for queues and workers */
#define RB_READERS_FRACTION 8
/* Estimated triangles per page, or rows if the table has no statistics */
#define RB_ROWS_PER_BLOCK 75

/* ---- number of workers ---- */

/*
 * Returns the number of workers that the planner would choose for a scan of the table, or 0 if they
 * save less than their startup costs, in the planner's units. Reading a row here costs half as much
 * as in the executor (measured).
 */
static int
wanted_workers(const rb_source *source, Relation rel, double blocks, double toast)
{
	double rows = source->rows > 0 ? source->rows : blocks * RB_ROWS_PER_BLOCK;
	RelOptInfo *info;
	int workers;
	double share;

	/*
	 * Read without workers what they cannot read or send: temporary tables, keys, extra columns,
	 * faces. Some processes cannot launch workers at all.
	 */
	if (source->keys != NULL || source->count_faces || source->polygons || source->beside != NULL ||
		rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP || !IsUnderPostmaster ||
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

/*
 * Charges the memory of queues and workers to the join. Returns the number of bytes, or 0 if they
 * do not fit.
 */
static Size
readers_bytes(rb_memory *memory, int workers, Size worker)
{
	uint64 left = rb_memory_limit(memory) - rb_memory_used(memory);
	uint64 bytes = (uint64) workers * (RB_QUEUE_BYTES + worker);

	if (bytes > left / RB_READERS_FRACTION || rb_memory_charge(memory, bytes, NULL) != RB_OK)
		return 0;
	return bytes;
}

/* ---- shared memory of all processes ---- */

static void
name_or_empty(NameData *to, const char *name)
{
	namestrcpy(to, name == NULL ? "" : name);
}

/* Reads the table with at most `workers` workers. Returns the number that were launched. */
static int
read_parallel(const rb_source *source, const rb_reading *plan, rb_heap *heap, rb_builder *builder,
			  rb_space *space, rb_page_note *notes, int workers)
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
	name_or_empty(&reading->id_name, source->id_name);
	name_or_empty(&reading->geom_name, source->geom_name);
	name_or_empty(&reading->object_name, source->object_name);
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
			shm_mq_set_receiver(shm_mq_create(rb_reader_queue(queues, i), RB_QUEUE_BYTES), MyProc);
		shm_toc_insert(context->toc, RB_KEY_QUEUES, queues);
		LaunchParallelWorkers(context);
	}
	rb_readers_lead(reading, heap, builder, space, context, queues);
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
read_all(const rb_source *source, rb_heap *heap, rb_builder *builder, rb_space *space,
		 rb_side_data *side)
{
	rb_cache_lookup *look = side->look;
	const bool decodes = rb_receiver_decodes(heap->receiver);
	const BlockNumber blocks = rb_heap_blocks(heap);
	const BlockNumber more = decodes ? rb_toast_blocks(heap->rel) : 0;
	int workers = wanted_workers(source, heap->rel, blocks, more);
	rb_reading plan;

	memset(&plan, 0, sizeof plan);
	plan.memory = decodes ? RB_WORKER_BYTES_DECODING : RB_WORKER_BYTES;
	if (workers > 0)
	{
		rb_pieces_cut(&plan, blocks, more, workers);
		workers = (int) Min((uint32) workers, plan.npieces);
		side->queues = readers_bytes(builder->memory, workers, plan.memory);
	}
	if (side->queues > 0)
	{
		workers = read_parallel(source, &plan, heap, builder, space,
								rb_cache_page_notes(look, plan.slices), workers);
		rb_memory_refund(builder->memory, side->queues);
		side->queues = 0;
		return workers;
	}
	heap->notes = rb_cache_page_notes(look, 1);
	heap->note_slices = 1;
	rb_receiver_follow(heap->receiver, heap);
	rb_heap_all(heap);
	rb_receiver_follow(heap->receiver, NULL);
	return 0;
}

void
rb_read_table(const rb_source *source, DestReceiver *receiver, rb_builder *builder, rb_space *space,
			  rb_side_data *side)
{
	/* The relation was locked when it became a source. */
	Relation rel = table_open(source->heap, NoLock);
	rb_heap heap;

	receiver->rStartup(receiver, CMD_SELECT, RelationGetDescr(rel));
	rb_heap_begin(&heap, rel, receiver);
	side->look = rb_cache_begin(source, rel, rb_receiver_columns(receiver), rb_heap_blocks(&heap));
	if (rb_cache_is_whole(side->look))
		rb_cache_use_whole(side->look, receiver, builder->memory, side);
	else if (rb_cache_is_partial(side->look))
	{
		/*
		 * Read the rows outside the tile, too, because new rows are merged with cached ones, which
		 * include them.
		 */
		builder->tile.dims = 0;
		rb_cache_read_changed(side->look, &heap, builder, side);
	}
	else
		side->workers = read_all(source, &heap, builder, space, side);
	rb_cache_note_read(side->look, rel);
	rb_heap_end(&heap);
	receiver->rShutdown(receiver);
	table_close(rel, NoLock);
}
