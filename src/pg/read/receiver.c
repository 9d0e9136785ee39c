/*
 * receiver.c
 *	  Turns the rows of a SELECT into objects, as its DestReceiver.
 *
 *	tuple, its bytes as they lie in the buffer		the common row: nine float8 and an id
 *	slot, numbers in columns
 *	slot, a geometry or a box
 *
 * If nothing was projected, the executor passes the tuple as it lies in the buffer. If it is a
 * common row that can be read from there, no column is deformed. Any other row is deformed by
 * slot_getsomeattrs up to the last column that is needed.
 *
 * Rows may be received separately from the others, and then an invalid row is rejected without an
 * error. Every function that may find a row invalid therefore returns whether it was accepted.
 */
#include "pg/read/read.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/numeric.h"

#include <math.h>

/* Share of the memory limit (1/n) that may be reserved in advance */
#define RB_EXPECTED_FRACTION 8
/*
 * Size in bytes above which a geometry that is received apart is rejected without being read,
 * because a parallel worker may lack the memory for it
 */
#define RB_APART_BYTES ((Size) 12 << 20)

/* ---- steps for every row ---- */

/* Ends a rejected row. Returns true if it was left out, so that the next row can follow. */
static bool
end_row_left_out(rb_receiver *r)
{
	const bool left_out = r->left_out;

	r->left_out = false;
	r->rows += left_out;
	return left_out;
}

/* Returns true if coordinates are finite and boxes are not inverted; otherwise refuses the row. */
static inline bool
check_received_coordinates(rb_receiver *r, const double *x, int64 id)
{
	int dims = r->columns.width / 2;

	if (!rb_all_finite(x, r->columns.width))
		return rb_refuse_not_finite(r, x, id);
	for (int i = 0; r->boxes && i < dims; i++)
		if (x[i] > x[dims + i])
			return rb_refuse_low_above_high(r, x, i, id);
	for (int i = 0; r->cuboids && i < dims; i++)
		if (x[dims + i] < 0 || fabs(x[i]) + x[dims + i] / 2 > DBL_MAX)
			return rb_refuse_size(r, x, i, id);
	return true;
}

/* Returns room for one more part, or NULL if the row is rejected. */
static inline double *
reserve_next_part(rb_receiver *r)
{
	rb_builder *b = r->builder;

	if (b->nparts >= b->coords_cap && rb_builder_reserve(b, 1, &r->error) != RB_OK)
	{
		(void) rb_refuse_status(r);
		return NULL;
	}
	return b->coords + (size_t) b->nparts * (size_t) b->width;
}

/*
 * Calls the callback if the builder is full. Rows that are read ahead into another builder are few
 * and need no check.
 */
static inline void
report_full_builder(rb_receiver *r)
{
	if (unlikely(r->builder->nparts >= r->full_at) && r->builder == r->full_builder)
		r->full_at = r->full(r->full_arg);
}

/* Ends a row of the builder. Returns false if that fails. */
static inline bool
end_received_row(rb_receiver *r, int64 id)
{
	if (rb_builder_end_row(r->builder, id, &r->error) != RB_OK)
		return rb_refuse_status(r);
	r->rows++;
	report_full_builder(r);
	return true;
}

/*
 * ---- the common row ----
 *
 * If the columns of coordinates and id, and all columns before them, have fixed widths, they lie at
 * the same offsets in every tuple without nulls. The offsets are computed once. After that, reading
 * a row takes two copies, and no column is deformed.
 */

/* Finds the offsets of the columns in a tuple without nulls, if they are the same in all tuples. */
static void
find_offsets_in_tuple(rb_receiver *r, TupleDesc desc)
{
	const rb_columns *c = &r->columns;
	int offset = 0;
	int n = 0; /* Number of id and coordinate columns found */

	r->raw_desc = desc;
	r->raw = false;
	if (c->width == 0 || desc->natts < c->last || c->nkeys > 0 ||
		(c->id.type != INT2OID && c->id.type != INT4OID && c->id.type != INT8OID))
		return;
	for (AttrNumber attno = 1; attno <= c->last; attno++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, attno - 1);

		if (att->attlen <= 0 || att->attisdropped ||
			att->atttypid != TupleDescAttr(r->desc, attno - 1)->atttypid)
			return;
		offset = att_align_nominal(offset, att->attalign);
		if (attno == c->id.attno)
		{
			r->raw_id = offset;
			n++;
		}
		for (int i = 0; i < c->width; i++)
			if (attno == c->coord[i].attno)
			{
				if (c->coord[i].type != FLOAT8OID)
					return;
				r->raw_coord[i] = offset;
				n++;
			}
		offset += att->attlen;
	}
	r->raw = n == c->width + 1 && c->beside.attno == 0;
	r->together = true;
	for (int i = 1; i < c->width; i++)
		if (r->raw_coord[i] != r->raw_coord[0] + i * (int) sizeof(double))
			r->together = false;
}

/* Reads a row from the bytes of its tuple, if that is possible. */
rb_received
rb_receive_tuple(rb_receiver *r, TupleDesc desc, HeapTuple tuple)
{
	int width = r->columns.width;
	const char *data;
	double *to;
	int64 id;

	if (desc != r->raw_desc)
		find_offsets_in_tuple(r, desc);
	if (!r->raw || HeapTupleHasNulls(tuple) ||
		HeapTupleHeaderGetNatts(tuple->t_data) < r->columns.last)
		return RB_ROW_UNREAD;

	data = (const char *) tuple->t_data + tuple->t_data->t_hoff;
	switch (r->columns.id.type)
	{
		case INT8OID:
			memcpy(&id, data + r->raw_id, sizeof id);
			break;
		case INT4OID:
		{
			int32 id4;

			memcpy(&id4, data + r->raw_id, sizeof id4);
			id = id4;
			break;
		}
		default:
		{
			int16 id2;

			memcpy(&id2, data + r->raw_id, sizeof id2);
			id = id2;
		}
	}

	to = reserve_next_part(r);
	if (to == NULL)
		return RB_ROW_REFUSED;
	if (r->together && width == 9)
		memcpy(to, data + r->raw_coord[0], 9 * sizeof(double));
	else
		for (int i = 0; i < width; i++)
			memcpy(&to[i], data + r->raw_coord[i], sizeof(double));
	if (!check_received_coordinates(r, to, id))
		return end_row_left_out(r) ? RB_ROW_TAKEN : RB_ROW_REFUSED;
	r->builder->nparts++;
	return end_received_row(r, id) ? RB_ROW_TAKEN : RB_ROW_REFUSED;
}

/* ---- numbers in columns, a geometry, a box ---- */

/*
 * Receives a row of coordinate columns. They need not be float8: types that PostgreSQL casts to
 * float8 are converted in the same way.
 */
static bool
receive_coordinate_columns(rb_receiver *r, TupleTableSlot *slot, int64 id)
{
	const rb_column *columns = r->columns.coord;
	int width = r->columns.width;
	double *to = reserve_next_part(r);
	/*
	 * A numeric that is too large for float8 becomes infinite if the row can be left out. Otherwise
	 * PostgreSQL raises its own error.
	 */
	const PGFunction of_numeric =
		r->source->leave_out ? numeric_float8_no_overflow : numeric_float8;
	MemoryContext old;

	if (to == NULL)
		return false;
	old = MemoryContextSwitchTo(r->row_context);
	for (int i = 0; i < width; i++)
	{
		int j = columns[i].attno - 1;

		if (slot->tts_isnull[j])
		{
			MemoryContextSwitchTo(old);
			return rb_refuse_null_coordinate(r, columns[i], id);
		}
		to[i] = rb_number_to_float8(slot->tts_values[j], columns[i].type, of_numeric);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(r->row_context);
	if (!check_received_coordinates(r, to, id))
		return false;
	r->builder->nparts++;
	return true;
}

/* Decodes a value. The row context must be the current one. */
static rb_geometry_fault
decode_received_value(rb_receiver *r, Datum value, rb_geometry_info *info)
{
	/*
	 * If a worker must not call ST_AsEWKB, the format stays unknown, and the value is left to the
	 * leader.
	 */
	r->decoder.parallel_safe = r->apart && IsParallelWorker();
	return rb_decode_parts(&r->decoder, r->builder, PG_DETOAST_DATUM_PACKED(value), info,
						   &r->error);
}

/* Adds the parts of a geometry as a row. Returns false if it is refused. */
static bool
receive_geometry_value(rb_receiver *r, Datum value, int64 id)
{
	rb_builder *b = r->builder;
	MemoryContext old;
	rb_geometry_info info;
	rb_geometry_fault fault;

	if (r->apart && !r->boxes && toast_raw_datum_size(value) > RB_APART_BYTES)
		return false;
	old = MemoryContextSwitchTo(r->row_context);
	fault = decode_received_value(r, value, &info);
	/*
	 * The geometry was read as a box with a different number of dimensions. If its own number is
	 * that of the join, read it again.
	 */
	if (r->boxes && (fault == RB_GEOMETRY_NO_Z || fault == RB_GEOMETRY_Z) &&
		rb_space_settle_dims(r, fault == RB_GEOMETRY_NO_Z ? 2 : 3, false, id))
		fault = decode_received_value(r, value, &info);
	MemoryContextSwitchTo(old);
	MemoryContextReset(r->row_context);
	if (fault != RB_GEOMETRY_OK)
		return rb_refuse_geometry(r, id, fault, &info);
	/* An EMPTY geometry is skipped, and its SRID is ignored. */
	if (b->nparts == b->row_start)
		return true;
	return rb_space_check_srid(r, info.srid, info.type, id) &&
		   (!r->boxes || rb_space_settle_dims(r, b->kind == RB_BOX2 ? 2 : 3, false, id));
}

/* Receives a value of a box type (box_types.c). */
static bool
receive_box_value(rb_receiver *r, Datum value, int64 id)
{
	MemoryContext old = MemoryContextSwitchTo(r->row_context);
	rb_box_value box;
	double *to;

	rb_box_read(r->columns.shape, value, &box);
	MemoryContextSwitchTo(old);
	MemoryContextReset(r->row_context);
	if (box.dims != 2 && box.dims != 3)
		return rb_refuse_cube_dimension(r, box.dims, id);
	if (!rb_all_finite(box.low, box.dims) || !rb_all_finite(box.high, box.dims))
		return rb_refuse_geometry(r, id, RB_GEOMETRY_NOT_FINITE, NULL);
	if (!rb_space_settle_dims(r, box.dims, false, id) ||
		(r->columns.shape == RB_SHAPE_BOX3D &&
		 !rb_space_check_srid(r, box.srid, RB_TYPE_BOX3D, id)))
		return false;
	to = reserve_next_part(r);
	if (to == NULL)
		return false;
	memcpy(to, box.low, (size_t) box.dims * sizeof(double));
	memcpy(to + box.dims, box.high, (size_t) box.dims * sizeof(double));
	r->builder->nparts++;
	return true;
}

/* ---- ids and keys ---- */

/*
 * Converts a numeric to a bigint. Returns false unless it is an integer in range: 17 and 17.00 are
 * accepted, 17.5 and NaN are not.
 */
static bool
bigint_of_numeric(Datum value, int64 *id)
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
read_id_of_number_type(rb_receiver *r, Datum value, int64 *id)
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
		whole = bigint_of_numeric(value, id);
	MemoryContextSwitchTo(old);
	if (!whole)
		return rb_refuse_fraction(r, value);
	MemoryContextReset(r->row_context);
	return true;
}

/* Reads the id of a row. Returns false if it is refused. */
static inline bool
read_id_of_row(rb_receiver *r, TupleTableSlot *slot, int64 *id)
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
			return read_id_of_number_type(r, value, id);
	}
}

/*
 * Stores the key of a row and returns its number in *id. Skips rows without a part and rows outside
 * the tile.
 */
static bool
store_key_of_row(rb_receiver *r, TupleTableSlot *slot, int64 *id)
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
read_id_or_check_keys(rb_receiver *r, TupleTableSlot *slot, int64 *id)
{
	for (int i = 0; i < r->columns.nkeys; i++)
		if (slot->tts_isnull[r->columns.key[i].attno - 1])
			return rb_refuse_null_id(r, r->columns.key[i]);
	*id = r->columns.nkeys > 0 ? 0 : (int64) r->rows + 1;
	if (r->columns.nkeys > 0 || r->columns.id.attno == 0)
		return true;
	if (slot->tts_isnull[r->columns.id.attno - 1])
		return rb_refuse_null_id(r, r->columns.id);
	return read_id_of_row(r, slot, id);
}

/* ---- rows ---- */

/* Reads an object that is a single value. A null is an object without parts. */
static bool
receive_object_value(rb_receiver *r, TupleTableSlot *slot, int64 id)
{
	int i = r->columns.geom.attno - 1;

	if (slot->tts_isnull[i])
		return true;
	if (r->columns.shape == RB_SHAPE_GEOMETRY)
		return receive_geometry_value(r, slot->tts_values[i], id);
	return receive_box_value(r, slot->tts_values[i], id);
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
	if (rb_grow_array(b->memory, (void **) &beside->words, &beside->cap, (size_t) b->nrows + 1,
					  sizeof(uint64), &r->error) != RB_OK)
		return rb_refuse_status(r);
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
receive_row_of_slot(rb_receiver *r, TupleTableSlot *slot)
{
	int64 id;

	return read_id_or_check_keys(r, slot, &id) &&
		   (r->columns.geom.attno == 0 ? receive_coordinate_columns(r, slot, id)
									   : receive_object_value(r, slot, id)) &&
		   (r->columns.nkeys == 0 || store_key_of_row(r, slot, &id)) &&
		   (r->columns.beside.attno == 0 || receive_extra_column(r, slot, id)) &&
		   end_received_row(r, id);
}

/* Receives a row. Returns false if it is rejected and not left out. */
static bool
receive_slot_of_select(TupleTableSlot *slot, DestReceiver *self)
{
	rb_receiver *r = (rb_receiver *) self;

	CHECK_FOR_INTERRUPTS();
	/* Use the tuple as it lies in the buffer, unless such tuples cannot be read raw. */
	if (slot->tts_ops == &TTSOpsBufferHeapTuple && ((HeapTupleTableSlot *) slot)->tuple != NULL &&
		(r->raw || slot->tts_tupleDescriptor != r->raw_desc))
	{
		rb_received received =
			rb_receive_tuple(r, slot->tts_tupleDescriptor, ((HeapTupleTableSlot *) slot)->tuple);

		if (received != RB_ROW_UNREAD)
			return received == RB_ROW_TAKEN;
	}
	slot_getsomeattrs(slot, r->columns.last);
	r->slot = slot;
	return receive_row_of_slot(r, slot) || end_row_left_out(r);
}

/*
 * ---- rows apart ----
 *
 * Rows may be received separately from the others, to be appended later: rows read out of order
 * (readers.c) or by an earlier call (side_cache.c). They have an SRID and dimensions of their own,
 * which are compared with those of the join when the rows are appended. An invalid row among them
 * raises no error but is rejected: the reader that proceeds in order will reach it and raise the
 * same error as if no rows had been read separately.
 */

uint64
rb_receiver_aim(rb_receiver *r, rb_builder *builder, rb_space *space, uint64 rows)
{
	uint64 before = r->rows;

	r->builder = builder;
	r->space = space;
	r->rows = rows;
	return before;
}

void
rb_receiver_begin_rows(rb_receiver *r)
{
	rb_receiver_tally(r, &r->gone);
	rb_builder_clear(r->builder);
	*r->space = r->empty;
	if (r->boxes && r->space->dims != 0)
		rb_builder_set_kind(r->builder, r->space->dims == 2 ? RB_BOX2 : RB_BOX3);
	r->rows = 0;
}

void
rb_receiver_end_rows(rb_receiver *r, rb_rows *rows)
{
	rb_builder_drop_row(r->builder);
	MemoryContextReset(r->row_context);
	rows->space = *r->space;
	rows->received = r->rows;
	rows->skipped = r->builder->skipped;
}

/* Finds the ends of the rows that end within these n parts. Returns their number. */
static uint32
find_ends_of_received_rows(const rb_builder *b, uint32 part, uint32 n, uint32 *ends)
{
	uint32 rows = 0;

	for (uint32 i = part; i < part + n; i++)
		if (i + 1 == b->nparts || b->row_of[i + 1] != b->row_of[i])
			ends[rows++] = i + 1 - part;
	return rows;
}

void
rb_rows_slice(const rb_builder *b, uint32 part, uint32 row, uint32 n, uint32 *ends, rb_rows *rows)
{
	rows->nparts = n;
	rows->nrows = b->multi ? find_ends_of_received_rows(b, part, n, ends) : n;
	rows->coords = b->coords + (size_t) part * (size_t) b->width;
	rows->ids = b->ids + row;
	rows->ends = b->multi ? ends : NULL;
}

/* Applies the SRID and dimensions of the first of several rows to all of them. */
static void
apply_space_to_rows(rb_receiver *r, const rb_space *space)
{
	if (r->boxes && !space->dims_of_columns)
		(void) rb_space_settle_dims(r, space->dims, false, space->dims_id);
	if (space->srid_known)
		(void) rb_space_check_srid(r, space->srid, space->srid_type, space->srid_id);
}

/*
 * Appends rows that were received separately. The caller reads in order, so an invalid row is an
 * error.
 */
void
rb_receive_rows(rb_receiver *r, const rb_rows *rows)
{
	if (rows->nparts > 0)
	{
		apply_space_to_rows(r, &rows->space);
		if (rb_builder_append(r->builder, rows->coords, rows->nparts, rows->ids, rows->ends,
							  rows->nrows, &r->error) != RB_OK)
			(void) rb_refuse_status(r);
	}
	r->builder->skipped += rows->skipped;
	r->rows += rows->received;
	report_full_builder(r);
}

void
rb_receive_space(rb_receiver *r, uint32 n, const rb_space *space)
{
	r->rows += n;
	if (n > 0)
		apply_space_to_rows(r, space);
}

/* ---- the receiver ---- */

/*
 * Reserves room at once for all rows that the statistics predict, so that an idle block of an
 * earlier call, whose pages are already mapped, can be reused. Because statistics may be wrong,
 * reserves at most a fraction of the memory limit, and ignores a failure.
 */
static void
reserve_expected_rows(rb_receiver *r)
{
	double bytes = r->source->rows * (double) r->builder->width * sizeof(double);

	if (bytes > 0 && bytes <= (double) rb_memory_limit(r->builder->memory) / RB_EXPECTED_FRACTION)
		(void) rb_builder_reserve(r->builder, (size_t) r->source->rows, &r->error);
}

/* Finds the columns of the SELECT and prepares the builder. */
static void
start_row_receiver(DestReceiver *self, int operation, TupleDesc desc)
{
	rb_receiver *r = (rb_receiver *) self;

	r->desc = desc;
	rb_columns_find(&r->columns, desc, r->source);
	r->cuboids = r->columns.width > 0 && r->columns.kind == RB_CUBOID3;
	if (r->cuboids || (r->columns.width > 0 && r->columns.kind == RB_PLANE3))
		rb_builder_set_kind(r->builder, r->columns.kind);
	r->boxes = r->builder->kind == RB_BOX3;
	if (r->boxes && r->space->dims == 2)
		rb_builder_set_kind(r->builder, RB_BOX2);
	if (r->boxes && r->columns.width > 0)
		(void) rb_space_settle_dims(r, r->columns.width / 2, true, 0);
	reserve_expected_rows(r);
	r->empty = *r->space;
	r->decoder.type = r->columns.geom.type;
	r->decoder.context = GetMemoryChunkContext(r);
	r->row_context =
		AllocSetContextCreate(GetMemoryChunkContext(r), "redblue row", ALLOCSET_DEFAULT_SIZES);
}

void
rb_receiver_tally(const rb_receiver *r, rb_row_tally *tally)
{
	*tally = r->gone;
	tally->rows += r->builder->nrows;
	tally->parts += r->builder->row_start;
	tally->skipped += r->builder->skipped;
}

/* Does nothing; a DestReceiver must have this callback. */
static void
shutdown_row_receiver(DestReceiver *self)
{
}

/*
 * Does nothing: a DestReceiver must have this callback, but the memory context frees the receiver.
 */
static void
destroy_row_receiver(DestReceiver *self)
{
}

rb_receiver *
rb_receiver_create(const rb_source *source, rb_builder *builder, rb_space *space)
{
	rb_receiver *r = palloc0(sizeof *r);

	r->pub.receiveSlot = receive_slot_of_select;
	r->pub.rStartup = start_row_receiver;
	r->pub.rShutdown = shutdown_row_receiver;
	r->pub.rDestroy = destroy_row_receiver;
	r->pub.mydest = DestTuplestore; /* Any destination that keeps its rows */
	r->source = source;
	r->full_builder = r->builder = builder;
	r->space = space;
	r->full_at = UINT32_MAX;
	return r;
}
