/*
 * reader_worker.c
 *	  Implements a worker, which reads pieces and sends their rows to the leader (readers.c).
 *
 * Its memory is small, whatever it reads: rows are sent as soon as they fill a message. A single
 * larger row is sent in several messages.
 */
#include "pg/read/reader_queue.h"

#include "access/parallel.h"
#include "access/table.h"
#include "storage/proc.h"
#include "utils/rel.h"

/* Approximate size of a message, in bytes; rows are sent when they reach it */
#define RB_MESSAGE_BYTES ((Size) 48 << 10)

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

static void
send_message(rb_reader *r, const rb_message *message)
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
send_rows(rb_reader *r, rb_rest rest)
{
	const rb_builder *b = &r->builder;
	uint32 most = rb_parts_of(b, RB_MESSAGE_BYTES);
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
		send_message(r, &message);
		part += n;
		row += rows->nrows;
	} while (part < b->nparts && !r->gone);
	rb_receiver_begin_rows(r->heap.receiver);
}

static bool
send_when_full(rb_heap *heap)
{
	rb_reader *r = heap->arg;

	if (r->builder.nparts >= r->full)
		send_rows(r, RB_MORE);
	return true;
}

static const char *
name_or_null(const NameData *name)
{
	return NameStr(*name)[0] == '\0' ? NULL : NameStr(*name);
}

static void
read_pieces(rb_reader *r, rb_reading *reading)
{
	for (;;)
	{
		r->piece = pg_atomic_fetch_add_u32(&reading->next, 1);
		if (r->piece >= reading->npieces || r->gone)
			return;
		send_rows(r, rb_piece_read_apart(&r->heap, reading, r->piece) ? RB_WHOLE : RB_LEFT);
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
	shm_mq *queue = rb_reader_queue(queues, ParallelWorkerNumber);
	rb_reader *r = palloc0(sizeof *r);
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
	source.id_name = name_or_null(&reading->id_name);
	source.geom_name = name_or_null(&reading->geom_name);
	source.object_name = name_or_null(&reading->object_name);
	source.face_tolerance = reading->face_tolerance;
	/* The memory need not be released here, because the process ends. */
	memory = rb_memory_open(source.function, reading->memory);
	rb_builder_init(&r->builder, memory, source.kind);
	r->builder.face_tolerance = source.face_tolerance;
	r->builder.tile = reading->tile;
	r->builder.distance = reading->distance;
	r->ends = palloc(RB_MESSAGE_BYTES);
	r->full = rb_parts_of(&r->builder, RB_MESSAGE_BYTES);

	rel = table_open(reading->relid, AccessShareLock);
	rb_heap_begin(&r->heap, rel, rb_receiver_create(&source, &r->builder, &r->space));
	r->heap.receiver->rStartup(r->heap.receiver, CMD_SELECT, RelationGetDescr(rel));
	r->heap.notes = shm_toc_lookup(toc, RB_KEY_NOTES, true);
	r->heap.note_slices = reading->slices;
	r->heap.after = send_when_full;
	r->heap.arg = r;
	rb_receiver_begin_rows(r->heap.receiver);
	read_pieces(r, reading);
	rb_heap_end(&r->heap);
	table_close(rel, NoLock);
	InstrEndParallelQuery(&usage[ParallelWorkerNumber].buffers, &usage[ParallelWorkerNumber].wal);
	shm_mq_detach(r->queue);
	rb_builder_free(&r->builder);
	rb_memory_destroy(memory);
}
