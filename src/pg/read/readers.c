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
 * Decoding a page costs several times what copying its rows does.  So workers decode,
 * and the leader copies in the order of the pieces.  Ids of a self join come in input
 * order, and everything else is as if one process had read the table.
 *
 * A queue holds a few messages, so shared memory is a few hundred kB a worker,
 * whatever the size of the table.  A worker whose queue is full waits.  Nobody waits
 * for ever: the leader wants the oldest piece, and empties the queue of its worker.
 * While that piece is not there, the leader reads a later one, into memory of its own.
 *
 * A worker raises no error of ours.  What it cannot take (a NaN, a geometry of the
 * wrong type, or one that is larger than a worker's memory) it leaves to the leader,
 * with all that follows in the piece.  The leader comes to it in order and reads it as
 * if there were no workers.  So the error, if it is one, is that of the first bad row,
 * in the same words.  (PostgreSQL's own errors, of a value that has no float8, say,
 * come as from any parallel worker: of whichever row was read first.)
 *
 * Snapshot, combo command ids, user and settings come to the workers as to those of
 * any parallel query.  A worker opens its own scan of the heap, which takes the
 * predicate lock of a serializable transaction in the leader's name.
 *
 * There are as many workers as the planner would give to a scan of that table, its
 * TOAST included, where that is worth it, or fewer where fewer can be launched.  With
 * none the leader reads all.
 *
 * This file decides how many, and makes their shared memory.  reader_pieces.c cuts the
 * table, reader_worker.c is a worker, reader_leader.c the leader; rb_readers.h has what
 * goes between them.
 */
#include "pg/read/rb_readers.h"

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

/* what a worker may decode at once: of one row, when that is larger than a message */
#define RB_WORKER_BYTES ((Size) 256 << 10)
#define RB_WORKER_BYTES_DECODING ((Size) 8 << 20)
/* of the memory that the join has left: queues and workers get at most such a fraction */
#define RB_READERS_FRACTION 8
/* triangles, or rows of a table without statistics */
#define RB_ROWS_PER_BLOCK 75

/* ---- how many workers ---- */

/*
 * As many as the planner would want for a scan of the table; none where they save less
 * than it costs to start them, in the planner's numbers.  A row that is read here costs
 * half of what it costs the executor (measured).
 */
static int
wanted_workers(const rb_source *source, Relation rel, double blocks, double toast)
{
	double rows = source->rows > 0 ? source->rows : blocks * RB_ROWS_PER_BLOCK;
	RelOptInfo *info;
	int workers;
	double share;

	/* a worker cannot see a temporary table, sends no keys, and knows no faces; not every process can have workers */
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

/* queues and workers count against the join's memory: so many bytes, or 0 where it has no room */
static Size
readers_bytes(rb_memory *memory, int workers, Size worker)
{
	uint64 left = rb_memory_limit(memory) - rb_memory_used(memory);
	uint64 bytes = (uint64) workers * (RB_QUEUE_BYTES + worker);

	if (bytes > left / RB_READERS_FRACTION || rb_memory_charge(memory, bytes, NULL) != RB_OK)
		return 0;
	return bytes;
}

/* ---- the shared memory of all processes ---- */

static void
name_or_empty(NameData *to, const char *name)
{
	namestrcpy(to, name == NULL ? "" : name);
}

/* with so many workers, or as many as can be launched; answers how many that were */
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
	/* without a segment (none was to be had) there is no worker */
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

/* all of the table, whatever is kept of it */
static int
read_all(const rb_source *source, rb_heap *heap, rb_builder *builder, rb_space *space,
		 rb_side *side)
{
	rb_look *look = side->look;
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
								rb_kept_notes(look, plan.slices), workers);
		rb_memory_refund(builder->memory, side->queues);
		side->queues = 0;
		return workers;
	}
	heap->notes = rb_kept_notes(look, 1);
	heap->note_slices = 1;
	rb_receiver_follow(heap->receiver, heap);
	rb_heap_all(heap);
	rb_receiver_follow(heap->receiver, NULL);
	return 0;
}

void
rb_read_table(const rb_source *source, DestReceiver *receiver, rb_builder *builder, rb_space *space,
			  rb_side *side)
{
	/* locked when it became a source */
	Relation rel = table_open(source->heap, NoLock);
	rb_heap heap;

	receiver->rStartup(receiver, CMD_SELECT, RelationGetDescr(rel));
	rb_heap_begin(&heap, rel, receiver);
	side->look = rb_kept_look(source, rel, rb_receiver_columns(receiver), rb_heap_blocks(&heap));
	if (rb_kept_is_whole(side->look))
		rb_kept_take_whole(side->look, receiver, builder->memory, side);
	else if (rb_kept_is_partly(side->look))
	{
		/* what is read is put among what is kept, which has all rows */
		builder->tile.dims = 0;
		rb_kept_read(side->look, &heap, builder, side);
	}
	else
		side->workers = read_all(source, &heap, builder, space, side);
	rb_kept_was_read(side->look, rel);
	rb_heap_end(&heap);
	receiver->rShutdown(receiver);
	table_close(rel, NoLock);
}
