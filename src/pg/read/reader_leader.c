/*
 * reader_leader.c
 *	  Implements the leader, which appends the rows of all pieces in order (readers.c).
 *
 * The next piece in order comes from a worker's queue, or was read ahead, or is read now because no
 * process has claimed it. While a worker is still reading it, the leader reads a later piece ahead
 * into a separate builder.
 */
#include "pg/read/reader_queue.h"
#include "pg/worker/worker.h"

#include "access/parallel.h"
#include "executor/tuptable.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

/* Approximate limit of what the leader reads ahead, in bytes */
#define RB_AHEAD_BYTES ((Size) 1 << 20)

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
poll_queues(rb_leader *l)
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
queue_of(rb_leader *l, uint32 piece)
{
	for (int i = 0; i < l->nqueues; i++)
		if (l->queues[i].message != NULL && l->queues[i].message->piece == piece)
			return &l->queues[i];
	return NULL;
}

/* Appends the rows of a message. Returns true if the piece is complete. */
static bool
append_message(rb_leader *l, rb_queue *queue)
{
	const rb_message *message = queue->message;
	rb_rows rows = message->rows;
	bool end = message->rest != RB_MORE;

	rows.coords = (const double *) (message + 1);
	rows.ids = (const int64 *) (rows.coords + (size_t) rows.nparts * (size_t) message->width);
	rows.ends = message->ends ? (const uint32 *) (rows.ids + rows.nrows) : NULL;
	rb_receive_rows(l->heap->receiver, &rows);
	if (message->rest == RB_LEFT)
		(void) rb_piece_read(l->heap, l->reading, message->piece, message->block, message->at);
	queue->message = NULL;
	return end;
}

/* Returns true while reading ahead should continue. */
static bool
is_not_full(rb_heap *heap)
{
	rb_leader *l = heap->arg;

	return l->ahead_builder.nparts < l->ahead_full;
}

/* Reads an unclaimed piece ahead. Returns false if that is impossible. */
static bool
read_ahead(rb_leader *l)
{
	DestReceiver *receiver = l->heap->receiver;
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
	heap->after = is_not_full;
	heap->arg = l;
	l->ahead_whole = rb_piece_read_apart(heap, l->reading, l->ahead_piece);
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
	rb_builder_init(&l->ahead_builder, l->builder->memory, l->builder->kind);
	l->ahead_builder.face_tolerance = l->builder->face_tolerance;
	l->ahead_builder.tile = l->builder->tile;
	l->ahead_builder.distance = l->builder->distance;
	l->ahead_full = rb_parts_of(&l->ahead_builder, RB_AHEAD_BYTES);
}

/* Appends the rows of the piece that was read ahead. */
static void
append_ahead(rb_leader *l)
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
		init_ahead(l);
	}
	if (!l->ahead_whole)
		(void) rb_piece_read(l->heap, l->reading, l->ahead_piece, l->ahead_block, l->ahead_at);
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
 * Claims the next piece in order if the leader may read it and no worker has claimed it. Returns
 * true if it did.
 */
static bool
claim_piece(rb_leader *l, uint32 piece)
{
	return (l->participates || have_workers_ended(l)) &&
		   pg_atomic_compare_exchange_u32(&l->reading->next, &piece, piece + 1);
}

/*
 * Advances the next piece in order, or reads a later one ahead. Returns false if there is nothing
 * to do.
 */
static bool
advance_reading(rb_leader *l, uint32 *piece)
{
	rb_queue *queue;

	if (l->ahead && l->ahead_piece == *piece)
	{
		append_ahead(l);
		(*piece)++;
		return true;
	}
	if (claim_piece(l, *piece))
	{
		(void) rb_piece_read(l->heap, l->reading, *piece, rb_piece_first_block(l->reading, *piece),
							 0);
		(*piece)++;
		return true;
	}
	queue = queue_of(l, *piece);
	if (queue != NULL)
	{
		if (append_message(l, queue))
			(*piece)++;
		return true;
	}
	return poll_queues(l) || read_ahead(l);
}

static void
read_in_order(rb_leader *l, ParallelContext *context)
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

void
rb_readers_lead(rb_reading *reading, rb_heap *heap, rb_builder *builder, rb_space *space,
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
		l->queues[i].mq =
			shm_mq_attach(rb_reader_queue(queues, i), context->seg, context->worker[i].bgwhandle);
	l->participates = parallel_leader_participation || l->nqueues == 0;
	init_ahead(l);
	read_in_order(l, context);
	for (int i = 0; i < l->nqueues; i++)
		shm_mq_detach(l->queues[i].mq);
	rb_builder_free(&l->ahead_builder);
	WaitForParallelWorkersToFinish(context);
}
