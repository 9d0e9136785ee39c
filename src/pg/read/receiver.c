/*
 * receiver.c
 *	  Turns the rows of a SELECT into objects, as its DestReceiver.
 *
 *	tuple, its bytes as they lie in the buffer		row_raw.c: the common row
 *	slot, numbers in columns						row_values.c
 *	slot, a geometry or a box						row_geometry.c
 *
 * If nothing was projected, the executor passes the tuple as it lies in the buffer. If it is a
 * common row that can be read from there, no column is deformed. Any other row is deformed by
 * slot_getsomeattrs up to the last column that is needed.
 *
 * Rows may be received apart from the others (parallel_rows.c), and then an invalid row is rejected
 * without an error. Every function that may find a row invalid therefore returns whether it was
 * accepted.
 */
#include "pg/read/row.h"

#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/numeric.h"

#include <math.h>

/* Share of the memory limit (1/n) that may be reserved in advance */
#define RB_EXPECTED_FRACTION 8

/*
 * Reserves room at once for all rows that the statistics predict, so that an idle block of an
 * earlier call, whose pages are already mapped, can be reused. Statistics may be wrong: they get
 * only a fraction of the memory limit, and a failure is not an error.
 */
static void
expect_rows(rb_receiver *r)
{
	double bytes = r->source->rows * (double) r->builder->width * sizeof(double);

	if (bytes > 0 && bytes <= (double) rb_memory_limit(r->builder->memory) / RB_EXPECTED_FRACTION)
		(void) rb_builder_reserve(r->builder, (size_t) r->source->rows, &r->error);
}

static void
start_receiver(DestReceiver *self, int operation, TupleDesc desc)
{
	rb_receiver *r = (rb_receiver *) self;

	r->desc = desc;
	rb_columns_find(&r->columns, desc, r->source);
	r->boxes = r->builder->kind == RB_BOX3;
	if (r->boxes && r->space->dims == 2)
		rb_builder_set_kind(r->builder, RB_BOX2);
	if (r->boxes && r->columns.width > 0)
		(void) rb_space_settle_dims(r, r->columns.width / 2, true, 0);
	expect_rows(r);
	r->empty = *r->space;
	r->decoder.type = r->columns.geom.type;
	r->decoder.context = GetMemoryChunkContext(r);
	r->row_context =
		AllocSetContextCreate(GetMemoryChunkContext(r), "redblue row", ALLOCSET_DEFAULT_SIZES);
}

/*
 * Converts a numeric to a bigint. Returns false unless it is an integer in range: 17 and 17.00 are
 * accepted, 17.5 and NaN are not.
 */
static bool
integer_of_numeric(Datum value, int64 *id)
{
	char *digits = numeric_normalize(DatumGetNumeric(value));
	char *end;

	errno = 0;
	*id = strtoll(digits, &end, 10);
	return *end == '\0' && errno == 0;
}

/*
 * Reads an integer id from a column of another numeric type, which imported shapefiles often have.
 */
static bool
read_number_id(rb_receiver *r, Datum value, int64 *id)
{
	MemoryContext old = MemoryContextSwitchTo(r->row_context);
	bool whole;

	if (r->columns.id.type == FLOAT8OID)
	{
		double x = DatumGetFloat8(value);

		whole = rint(x) == x && FLOAT8_FITS_IN_INT64(x);
		*id = whole ? (int64) x : 0;
	}
	else
		whole = integer_of_numeric(value, id);
	MemoryContextSwitchTo(old);
	if (!whole)
		return rb_refuse_fraction(r, value);
	MemoryContextReset(r->row_context);
	return true;
}

static inline bool
read_id(rb_receiver *r, TupleTableSlot *slot, int64 *id)
{
	Datum value = slot->tts_values[r->columns.id.attno - 1];

	switch (r->columns.id.type)
	{
		case INT8OID:
			*id = DatumGetInt64(value);
			return true;
		case INT4OID:
			*id = DatumGetInt32(value);
			return true;
		case INT2OID:
			*id = DatumGetInt16(value);
			return true;
		default:
			return read_number_id(r, value, id);
	}
}

/*
 * Stores the key of a row and returns its number in *id. Skips rows without a part and rows outside
 * the tile.
 */
static bool
read_key(rb_receiver *r, TupleTableSlot *slot, int64 *id)
{
	MemoryContext old;
	rb_status status;

	if (r->builder->nparts == r->builder->row_start || rb_builder_is_outside(r->builder))
		return true;
	old = MemoryContextSwitchTo(r->row_context);
	status = rb_keys_store(r->source->keys, slot, r->builder->memory, id, &r->error);
	MemoryContextSwitchTo(old);
	MemoryContextReset(r->row_context);
	return status == RB_OK || rb_refuse_status(r);
}

/* Reads the id of a row, or checks that none of its key columns is null. */
static bool
read_row_id(rb_receiver *r, TupleTableSlot *slot, int64 *id)
{
	for (int i = 0; i < r->columns.nkeys; i++)
		if (slot->tts_isnull[r->columns.key[i].attno - 1])
			return rb_refuse_null_id(r, r->columns.key[i]);
	*id = r->columns.nkeys > 0 ? 0 : (int64) r->rows + 1;
	if (r->columns.nkeys > 0 || r->columns.id.attno == 0)
		return true;
	if (slot->tts_isnull[r->columns.id.attno - 1])
		return rb_refuse_null_id(r, r->columns.id);
	return read_id(r, slot, id);
}

/* Reads an object that is a single value. A null is an object without parts. */
static bool
receive_value(rb_receiver *r, TupleTableSlot *slot, int64 id)
{
	int i = r->columns.geom.attno - 1;

	if (slot->tts_isnull[i])
		return true;
	if (r->columns.shape == RB_SHAPE_GEOMETRY)
		return rb_receive_geometry(r, slot->tts_values[i], id);
	return rb_receive_box(r, slot->tts_values[i], id);
}

/* Stores the value of the extra column of a row that has a part. */
static bool
receive_extra_column(rb_receiver *r, TupleTableSlot *slot, int64 id)
{
	rb_extra_column *beside = r->source->beside;
	const rb_builder *b = r->builder;
	const int i = r->columns.beside.attno - 1;
	uint64 word;

	if (b->nparts == b->row_start)
		return true;
	if (slot->tts_isnull[i] && beside->integer)
		return rb_refuse_null_extra(r, id);
	if (b->nrows >= beside->cap)
	{
		const size_t cap = beside->cap + beside->cap / 2 + 1024;

		if (rb_resize(b->memory, (void **) &beside->words, cap * sizeof(uint64), &r->error) !=
			RB_OK)
			return rb_refuse_status(r);
		beside->cap = cap;
	}
	if (beside->integer)
		word = (uint64) (r->columns.beside.type == INT8OID   ? DatumGetInt64(slot->tts_values[i])
						 : r->columns.beside.type == INT4OID ? DatumGetInt32(slot->tts_values[i])
															 : DatumGetInt16(slot->tts_values[i]));
	else
	{
		MemoryContext old = MemoryContextSwitchTo(r->row_context);
		const double x =
			slot->tts_isnull[i]
				? INFINITY
				: rb_number_to_float8(slot->tts_values[i], r->columns.beside.type, numeric_float8);

		memcpy(&word, &x, sizeof word);
		MemoryContextSwitchTo(old);
		MemoryContextReset(r->row_context);
	}
	beside->words[b->nrows] = word;
	return true;
}

/* Receives a row from a slot. Returns false if it is rejected. */
static bool
receive_row(rb_receiver *r, TupleTableSlot *slot)
{
	int64 id;

	return read_row_id(r, slot, &id) &&
		   (r->columns.geom.attno == 0 ? rb_receive_coordinates(r, slot, id)
									   : receive_value(r, slot, id)) &&
		   (r->columns.nkeys == 0 || read_key(r, slot, &id)) &&
		   (r->columns.beside.attno == 0 || receive_extra_column(r, slot, id)) && rb_end_row(r, id);
}

/* Receives a row. Returns false if it is rejected and not left out. */
static bool
receive_slot(TupleTableSlot *slot, DestReceiver *self)
{
	rb_receiver *r = (rb_receiver *) self;

	CHECK_FOR_INTERRUPTS();
	/* Use the tuple as it lies in the buffer, unless such tuples cannot be read raw. */
	if (slot->tts_ops == &TTSOpsBufferHeapTuple && ((HeapTupleTableSlot *) slot)->tuple != NULL &&
		(r->raw || slot->tts_tupleDescriptor != r->raw_desc))
	{
		rb_received received =
			rb_receive_tuple(self, slot->tts_tupleDescriptor, ((HeapTupleTableSlot *) slot)->tuple);

		if (received != RB_ROW_UNREAD)
			return received == RB_ROW_TAKEN;
	}
	slot_getsomeattrs(slot, r->columns.last);
	r->slot = slot;
	return receive_row(r, slot) || rb_end_left_out(r);
}

bool
rb_receiver_decodes(DestReceiver *self)
{
	return ((rb_receiver *) self)->columns.geom.attno != 0;
}

const rb_columns *
rb_receiver_columns(DestReceiver *self)
{
	return &((rb_receiver *) self)->columns;
}

void
rb_receiver_begin_page(DestReceiver *self)
{
	((rb_receiver *) self)->gone.type = 0;
}

void
rb_receiver_tally(DestReceiver *self, rb_row_tally *tally)
{
	const rb_receiver *r = (const rb_receiver *) self;

	*tally = r->gone;
	tally->rows += r->builder->nrows;
	tally->parts += r->builder->row_start;
	tally->skipped += r->builder->skipped;
}

void
rb_receiver_needs(DestReceiver *self, const rb_need *need)
{
	((rb_receiver *) self)->need = need;
}

void
rb_receiver_follow(DestReceiver *self, const struct rb_heap *heap)
{
	((rb_receiver *) self)->heap = heap;
}

void
rb_receiver_ask_when_full(DestReceiver *self, uint32 at, uint32 (*full)(void *), void *arg)
{
	rb_receiver *r = (rb_receiver *) self;

	r->full_at = at;
	r->full = full;
	r->full_arg = arg;
	r->full_builder = r->builder;
}

static void
shutdown_receiver(DestReceiver *self)
{
}

static void
destroy_receiver(DestReceiver *self)
{
}

DestReceiver *
rb_receiver_create(const rb_source *source, rb_builder *builder, rb_space *space)
{
	rb_receiver *r = palloc0(sizeof *r);

	r->pub.receiveSlot = receive_slot;
	r->pub.rStartup = start_receiver;
	r->pub.rShutdown = shutdown_receiver;
	r->pub.rDestroy = destroy_receiver;
	r->pub.mydest = DestTuplestore; /* Any destination that keeps its rows */
	r->source = source;
	r->builder = builder;
	r->space = space;
	r->full_at = UINT32_MAX;
	return &r->pub;
}
