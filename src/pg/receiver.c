/*
 * receiver.c
 *	  Rows become objects: the end of a SELECT, as a DestReceiver.
 *
 * The common row is nine float8 and an id in a table of fixed-width columns.  When
 * the executor hands over the tuple as it lies in the buffer (nothing was
 * projected), the offsets of these columns are the same in every tuple without
 * a null, so the row is read by two copies and no column is taken apart.  Any
 * other row goes through slot_getsomeattrs up to the last column that counts.
 *
 * Geometry is decoded from its own bytes (src/core/geometry.c).  Where these are
 * of a form not known there, the type's own ST_AsEWKB is asked.
 *
 * Boxes have two dimensions or three: numbers by their columns, geometries by
 * whether they have Z, other values by their type.  The first box of the join
 * decides and all others must agree; until then a builder of boxes has no kind
 * that matters.
 *
 * Rows may be received apart (readers.c), to be put behind others later.  Such a
 * receiver begins a space of its own with each chunk, which is compared with that
 * of the join when the chunk's turn comes; and a row that it cannot take raises
 * no error but is refused: whoever reads in order will come to it, and raises the
 * same error as if nobody had read apart.  So what can find fault with a row answers
 * whether the row was taken.
 */
#include "rb_pg.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/tupmacs.h"
#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include <math.h>

/* of the budget, at most this part is taken on the word of statistics */
#define RB_EXPECTED_PART 8

typedef struct rb_receiver
{
	DestReceiver pub; /* must be first */
	const rb_source *source;
	rb_builder *builder;
	rb_space *space;
	bool boxes;
	rb_error error;
	uint64 rows;    /* received so far */
	bool apart;     /* a row that cannot be taken is refused, not an error */
	rb_space empty; /* the space before the first row */
	TupleDesc desc; /* of the SELECT */
	rb_columns columns;
	MemoryContext row_context; /* what decoding one row needs */

	/* raw tuples: where the columns lie in a tuple of that description */
	TupleDesc raw_desc; /* last one looked at */
	bool raw;           /* can its tuples be read raw? */
	bool together;      /* the coordinates are one block at raw_coord[0] */
	int raw_id;
	int raw_coord[RB_MAX_WIDTH];

	/* geometry of a form that the core does not know */
	bool as_ewkb_known;
	FmgrInfo as_ewkb;
} rb_receiver;

/* ---- rows that cannot be taken: each of these raises, or answers false ---- */

static bool
refuse_status(const rb_receiver *r)
{
	if (!r->apart)
		rb_raise(r->source->function, r->error.status, &r->error);
	return false;
}

static const char *
column_name(const rb_receiver *r, rb_column column)
{
	return NameStr(TupleDescAttr(r->desc, column.attno - 1)->attname);
}

static bool
refuse_null_id(const rb_receiver *r)
{
	if (!r->apart)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s: null id in column \"%s\" of %s", r->source->function,
						column_name(r, r->columns.id), r->source->side),
				 errdetail("It is row " UINT64_FORMAT " in the order of reading.", r->rows + 1)));
	return false;
}

static bool
refuse_null_coordinate(const rb_receiver *r, rb_column column, int64 id)
{
	if (!r->apart)
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("%s: null in column \"%s\" of %s, id " INT64_FORMAT,
							   r->source->function, column_name(r, column), r->source->side, id),
						errhint("Leave such rows out.")));
	return false;
}

static bool
refuse_not_finite(const rb_receiver *r, const double *x, int64 id)
{
	int i = 0;

	while (i < r->columns.width - 1 && isfinite(x[i]))
		i++;
	if (!r->apart)
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
						errmsg("%s: %s in column \"%s\" of %s, id " INT64_FORMAT,
							   r->source->function, isnan(x[i]) ? "NaN" : "infinity",
							   column_name(r, r->columns.coord[i]), r->source->side, id),
						errhint("Leave such rows out.")));
	return false;
}

static bool
refuse_low_above_high(const rb_receiver *r, const double *x, int i, int64 id)
{
	int dims = r->columns.width / 2;
	const char *low = column_name(r, r->columns.coord[i]);
	const char *high = column_name(r, r->columns.coord[dims + i]);

	if (!r->apart)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: column \"%s\" is greater than \"%s\" of %s, id " INT64_FORMAT,
							   r->source->function, low, high, r->source->side, id),
						errdetail("%.17g is greater than %.17g.", x[i], x[dims + i]),
						errhint("Use least(%s, %s) and greatest(%s, %s).", low, high, low, high)));
	return false;
}

static bool
refuse_geometry(const rb_receiver *r, int64 id, rb_geometry_fault fault,
				const rb_geometry_info *info)
{
	if (!r->apart)
		rb_raise_geometry(r->source, column_name(r, r->columns.geom), id, fault, info, &r->error);
	return false;
}

static bool
refuse_dimension(const rb_receiver *r, int dims, int64 id)
{
	if (!r->apart)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: cube of dimension %d in column \"%s\" of %s, id " INT64_FORMAT,
							   r->source->function, dims, column_name(r, r->columns.geom),
							   r->source->side, id),
						errdetail("A box has two dimensions or three."),
						dims > 3 ? errhint("Use cube_subset(cube, ARRAY[1, 2, 3]).") : 0));
	return false;
}

/* ---- coordinate columns ---- */

/* x - x is +0 for a finite x and NaN for any other: no branch, no call */
static inline bool
all_finite(const double *x, int n)
{
	uint64 bad = 0;

	for (int i = 0; i < n; i++)
	{
		double zero = x[i] - x[i];
		uint64 bits;

		memcpy(&bits, &zero, sizeof bits);
		bad |= bits;
	}
	return bad == 0;
}

static inline bool
check_coordinates(const rb_receiver *r, const double *x, int64 id)
{
	int dims = r->columns.width / 2;

	if (!all_finite(x, r->columns.width))
		return refuse_not_finite(r, x, id);
	for (int i = 0; r->boxes && i < dims; i++)
		if (x[i] > x[dims + i])
			return refuse_low_above_high(r, x, i, id);
	return true;
}

/* room for one more part; NULL: refused */
static inline double *
next_part(rb_receiver *r)
{
	rb_builder *b = r->builder;

	if (b->nparts >= b->coords_cap && rb_builder_reserve(b, 1, &r->error) != RB_OK)
	{
		(void) refuse_status(r);
		return NULL;
	}
	return b->coords + (size_t) b->nparts * (size_t) b->width;
}

static inline bool
end_row(rb_receiver *r, int64 id)
{
	if (rb_builder_end_row(r->builder, id, &r->error) != RB_OK)
		return refuse_status(r);
	r->rows++;
	return true;
}

/* the columns' offsets in a tuple without nulls, if they are the same in all of them */
static void
find_offsets(rb_receiver *r, TupleDesc desc)
{
	const rb_columns *c = &r->columns;
	int offset = 0;
	int n = 0; /* columns seen, of id and coordinates */

	r->raw_desc = desc;
	r->raw = false;
	if (c->width == 0 || desc->natts < c->last)
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
	r->raw = n == c->width + 1;
	r->together = true;
	for (int i = 1; i < c->width; i++)
		if (r->raw_coord[i] != r->raw_coord[0] + i * (int) sizeof(double))
			r->together = false;
}

/* reads the row from the tuple's bytes, where it can be read so */
static inline rb_received
receive_raw(rb_receiver *r, TupleDesc desc, HeapTuple tuple)
{
	const char *data;
	double *to;
	int64 id;

	if (desc != r->raw_desc)
		find_offsets(r, desc);
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

	to = next_part(r);
	if (to == NULL)
		return RB_ROW_REFUSED;
	if (r->together && r->columns.width == 9)
		memcpy(to, data + r->raw_coord[0], 9 * sizeof(double));
	else
		for (int i = 0; i < r->columns.width; i++)
			memcpy(&to[i], data + r->raw_coord[i], sizeof(double));
	if (!check_coordinates(r, to, id))
		return RB_ROW_REFUSED;
	r->builder->nparts++;
	return end_row(r, id) ? RB_ROW_TAKEN : RB_ROW_REFUSED;
}

static bool
read_id(const rb_receiver *r, TupleTableSlot *slot, int64 *id)
{
	int i = r->columns.id.attno - 1;

	if (slot->tts_isnull[i])
		return refuse_null_id(r);
	switch (r->columns.id.type)
	{
		case INT8OID:
			*id = DatumGetInt64(slot->tts_values[i]);
			break;
		case INT4OID:
			*id = DatumGetInt32(slot->tts_values[i]);
			break;
		default:
			*id = DatumGetInt16(slot->tts_values[i]);
	}
	return true;
}

/* PostgreSQL's own cast to float8 */
static inline double
to_float8(Datum value, Oid type)
{
	switch (type)
	{
		case FLOAT8OID:
			return DatumGetFloat8(value);
		case FLOAT4OID:
			return (double) DatumGetFloat4(value);
		case INT2OID:
			return (double) DatumGetInt16(value);
		case INT4OID:
			return (double) DatumGetInt32(value);
		case INT8OID:
			return (double) DatumGetInt64(value);
		default:
			return DatumGetFloat8(DirectFunctionCall1(numeric_float8, value));
	}
}

static bool
receive_coordinates(rb_receiver *r, TupleTableSlot *slot, int64 id)
{
	double *to = next_part(r);
	MemoryContext old;

	if (to == NULL)
		return false;
	old = MemoryContextSwitchTo(r->row_context);
	for (int i = 0; i < r->columns.width; i++)
	{
		rb_column column = r->columns.coord[i];

		if (slot->tts_isnull[column.attno - 1])
		{
			MemoryContextSwitchTo(old);
			return refuse_null_coordinate(r, column, id);
		}
		to[i] = to_float8(slot->tts_values[column.attno - 1], column.type);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(r->row_context);
	if (!check_coordinates(r, to, id))
		return false;
	r->builder->nparts++;
	return true;
}

/* ---- geometry columns ---- */

/*
 * ST_AsEWKB of the type's own schema.  The function is called as the user, so it
 * must come with the type, from the same extension: anybody can make a function
 * of that name.
 */
static bool
find_as_ewkb(rb_receiver *r)
{
	Oid type = r->columns.geom.type;
	Oid extension = getExtensionOfObject(TypeRelationId, type);
	HeapTuple tuple;
	Oid schema;
	Oid function;

	if (r->as_ewkb_known)
		return true;
	if (!OidIsValid(extension))
		return false;
	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	if (!HeapTupleIsValid(tuple))
		return false;
	schema = ((Form_pg_type) GETSTRUCT(tuple))->typnamespace;
	ReleaseSysCache(tuple);
	function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum("st_asewkb"),
							   PointerGetDatum(buildoidvector(&type, 1)), ObjectIdGetDatum(schema));
	if (!OidIsValid(function) || get_func_rettype(function) != BYTEAOID ||
		getExtensionOfObject(ProcedureRelationId, function) != extension ||
		!rb_may_execute(function))
		return false;
	/* a worker leaves such a value to the leader: to it, the form is unknown */
	if (r->apart && IsParallelWorker() && func_parallel(function) != PROPARALLEL_SAFE)
		return false;
	fmgr_info_cxt(function, &r->as_ewkb, GetMemoryChunkContext(r));
	r->as_ewkb_known = true;
	return true;
}

/* a box3d has an SRID and no number among the types of geometry */
#define RB_TYPE_BOX3D UINT32_MAX

static const char *
type_name(uint32 type)
{
	return type == RB_TYPE_BOX3D ? "Box3D" : rb_geometry_type_name(type);
}

static bool
check_srid(const rb_receiver *r, int32 srid, uint32 type, int64 id)
{
	rb_space *first = r->space;
	const char *side = r->source->side;

	if (!first->srid_known)
	{
		first->srid_known = true;
		first->srid = srid;
		first->srid_type = type;
		first->srid_side = side;
		first->srid_id = id;
	}
	else if (first->srid != srid)
	{
		if (r->apart)
			return false;
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: Operation on mixed SRID geometries (%s, %d) != (%s, %d)",
							   r->source->function, type_name(first->srid_type), first->srid,
							   type_name(type), srid),
						errdetail("SRID %d is that of %s, id " INT64_FORMAT
								  "; SRID %d is that of %s, id " INT64_FORMAT ".",
								  first->srid, first->srid_side, first->srid_id, srid, side, id),
						errhint("Use ST_Transform, or ST_SetSRID where the SRID is wrong.")));
	}
	return true;
}

static char *
dims_text(const char *side, bool of_columns, int64 id, int dims)
{
	return of_columns ? psprintf("%s has %d by its columns", side, dims)
					  : psprintf("%s, id " INT64_FORMAT ", has %d", side, id, dims);
}

/* the first box decides, the others agree */
static bool
settle_dims(rb_receiver *r, int dims, bool of_columns, int64 id)
{
	rb_space *first = r->space;
	const char *side = r->source->side;

	if (first->dims == 0)
	{
		first->dims = dims;
		first->dims_side = side;
		first->dims_of_columns = of_columns;
		first->dims_id = id;
		rb_builder_set_kind(r->builder, dims == 2 ? RB_BOX2 : RB_BOX3);
	}
	else if (first->dims != dims)
	{
		if (r->apart)
			return false;
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: boxes of %d and of %d dimensions", r->source->function,
							   first->dims, dims),
						errdetail("%s; %s.",
								  dims_text(first->dims_side, first->dims_of_columns,
											first->dims_id, first->dims),
								  dims_text(side, of_columns, id, dims)),
						of_columns || first->dims_of_columns
							? errhint("Columns lz and hz, and Z in a geometry, make three.")
							: errhint("Use ST_Force2D or ST_Force3D.")));
	}
	return true;
}

/* of a geometry that is not even looked at apart: decoded it would be too much for a worker */
#define RB_APART_BYTES ((Size) 12 << 20)

/*
 * Asked in the middle of a long value: serves interrupts, as is done between rows.
 * The error that this may raise (a cancel, say) must not jump through the core.  So
 * it is caught and kept here, the core is told to stop, and read_bytes throws it on.
 */
static bool
is_interrupted(void)
{
	volatile bool raised = false;

	if (!INTERRUPTS_PENDING_CONDITION())
		return false;
	PG_TRY();
	{
		CHECK_FOR_INTERRUPTS();
	}
	PG_CATCH();
	{
		raised = true;
	}
	PG_END_TRY();
	return raised;
}

typedef rb_geometry_fault (*geometry_reader)(rb_builder *b, const uint8_t *bytes, size_t len,
											 rb_geometry_info *info, rb_error *error);

static rb_geometry_fault
read_bytes(rb_receiver *r, geometry_reader read, struct varlena *bytes, rb_geometry_info *info)
{
	rb_geometry_fault fault;

	r->builder->should_stop = is_interrupted;
	fault = read(r->builder, (const uint8_t *) VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes), info,
				 &r->error);
	if (fault == RB_GEOMETRY_STOPPED)
		PG_RE_THROW();
	return fault;
}

/* from the value's own bytes, else through ST_AsEWKB; the row context is the current one */
static rb_geometry_fault
read_geometry(rb_receiver *r, Datum value, rb_geometry_info *info)
{
	rb_geometry_fault fault =
		read_bytes(r, rb_geometry_read_serialized, PG_DETOAST_DATUM_PACKED(value), info);

	if (fault == RB_GEOMETRY_UNKNOWN && find_as_ewkb(r))
		fault = read_bytes(r, rb_geometry_read_ewkb,
						   DatumGetByteaPP(FunctionCall1(&r->as_ewkb, value)), info);
	return fault;
}

static bool
receive_geometry(rb_receiver *r, Datum value, int64 id)
{
	rb_builder *b = r->builder;
	MemoryContext old;
	rb_geometry_info info;
	rb_geometry_fault fault;

	if (r->apart && !r->boxes && toast_raw_datum_size(value) > RB_APART_BYTES)
		return false;
	old = MemoryContextSwitchTo(r->row_context);
	fault = read_geometry(r, value, &info);
	if (r->boxes && (fault == RB_GEOMETRY_NO_Z || fault == RB_GEOMETRY_Z))
	{
		if (settle_dims(r, fault == RB_GEOMETRY_NO_Z ? 2 : 3, false, id))
			fault = read_geometry(r, value, &info);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(r->row_context);
	if (fault != RB_GEOMETRY_OK)
		return refuse_geometry(r, id, fault, &info);
	/* an EMPTY geometry is skipped with its SRID */
	if (b->nparts == b->row_start)
		return true;
	return check_srid(r, info.srid, info.type, id) &&
		   (!r->boxes || settle_dims(r, b->kind == RB_BOX2 ? 2 : 3, false, id));
}

/* a value of a type of boxes */
static bool
receive_box(rb_receiver *r, Datum value, int64 id)
{
	MemoryContext old = MemoryContextSwitchTo(r->row_context);
	rb_box box;
	double *to;

	rb_box_read(r->columns.shape, value, &box);
	MemoryContextSwitchTo(old);
	MemoryContextReset(r->row_context);
	if (box.dims != 2 && box.dims != 3)
		return refuse_dimension(r, box.dims, id);
	if (!all_finite(box.low, box.dims) || !all_finite(box.high, box.dims))
		return refuse_geometry(r, id, RB_GEOMETRY_NOT_FINITE, NULL);
	if (!settle_dims(r, box.dims, false, id) ||
		(r->columns.shape == RB_SHAPE_BOX3D && !check_srid(r, box.srid, RB_TYPE_BOX3D, id)))
		return false;
	to = next_part(r);
	if (to == NULL)
		return false;
	memcpy(to, box.low, (size_t) box.dims * sizeof(double));
	memcpy(to + box.dims, box.high, (size_t) box.dims * sizeof(double));
	r->builder->nparts++;
	return true;
}

/* ---- the DestReceiver ---- */

/*
 * Room for the rows that the statistics promise, at once: an idle block of an
 * earlier call then serves again, with its pages in place.  Statistics may be
 * wrong, so no more than a part of the budget, and no error.
 */
static void
expect_rows(rb_receiver *r)
{
	double bytes = r->source->rows * (double) r->builder->width * sizeof(double);

	if (bytes > 0 && bytes <= (double) rb_memory_limit(r->builder->memory) / RB_EXPECTED_PART)
		(void) rb_builder_reserve(r->builder, (size_t) r->source->rows, &r->error);
}

static void
startup(DestReceiver *self, int operation, TupleDesc desc)
{
	rb_receiver *r = (rb_receiver *) self;

	r->desc = desc;
	rb_columns_find(&r->columns, desc, r->source);
	r->boxes = r->builder->kind == RB_BOX3;
	if (r->boxes && r->space->dims == 2)
		rb_builder_set_kind(r->builder, RB_BOX2);
	if (r->boxes && r->columns.width > 0)
		(void) settle_dims(r, r->columns.width / 2, true, 0);
	expect_rows(r);
	r->empty = *r->space;
	r->row_context =
		AllocSetContextCreate(GetMemoryChunkContext(r), "redblue row", ALLOCSET_DEFAULT_SIZES);
}

/* what else than numbers makes the object; a null is an object without parts */
static bool
receive_value(rb_receiver *r, TupleTableSlot *slot, int64 id)
{
	int i = r->columns.geom.attno - 1;

	if (slot->tts_isnull[i])
		return true;
	if (r->columns.shape == RB_SHAPE_GEOMETRY)
		return receive_geometry(r, slot->tts_values[i], id);
	return receive_box(r, slot->tts_values[i], id);
}

/* false: the row is refused */
static bool
receive(TupleTableSlot *slot, DestReceiver *self)
{
	rb_receiver *r = (rb_receiver *) self;
	int64 id;

	CHECK_FOR_INTERRUPTS();
	if (slot->tts_ops == &TTSOpsBufferHeapTuple && ((HeapTupleTableSlot *) slot)->tuple != NULL)
	{
		rb_received received =
			receive_raw(r, slot->tts_tupleDescriptor, ((HeapTupleTableSlot *) slot)->tuple);

		if (received != RB_ROW_UNREAD)
			return received == RB_ROW_TAKEN;
	}
	slot_getsomeattrs(slot, r->columns.last);
	return read_id(r, slot, &id) &&
		   (r->columns.geom.attno == 0 ? receive_coordinates(r, slot, id)
									   : receive_value(r, slot, id)) &&
		   end_row(r, id);
}

rb_received
rb_receive_tuple(DestReceiver *self, TupleDesc desc, HeapTuple tuple)
{
	rb_receiver *r = (rb_receiver *) self;

	return receive_raw(r, desc, tuple);
}

/* ---- rows received apart ---- */

bool
rb_receiver_decodes(DestReceiver *self)
{
	return ((rb_receiver *) self)->columns.geom.attno != 0;
}

/* what comes goes there, behind so many rows; tells how many there were before it */
uint64
rb_receiver_aim(DestReceiver *self, rb_builder *builder, rb_space *space, uint64 rows)
{
	rb_receiver *r = (rb_receiver *) self;
	uint64 before = r->rows;

	r->builder = builder;
	r->space = space;
	r->rows = rows;
	return before;
}

/* from now on, are rows that cannot be taken refused, or errors? */
void
rb_receiver_set_apart(DestReceiver *self, bool apart)
{
	((rb_receiver *) self)->apart = apart;
}

void
rb_receiver_begin_chunk(DestReceiver *self)
{
	rb_receiver *r = (rb_receiver *) self;

	rb_builder_clear(r->builder);
	*r->space = r->empty;
	if (r->boxes && r->space->dims != 0)
		rb_builder_set_kind(r->builder, r->space->dims == 2 ? RB_BOX2 : RB_BOX3);
	r->rows = 0;
}

/* what has been received since; a refused row is dropped */
void
rb_receiver_end_chunk(DestReceiver *self, rb_chunk *chunk)
{
	rb_receiver *r = (rb_receiver *) self;

	rb_builder_drop_row(r->builder);
	MemoryContextReset(r->row_context);
	chunk->space = *r->space;
	chunk->rows = r->rows;
	chunk->skipped = r->builder->skipped;
}

/*
 * Puts rows that were received apart behind those that are there.  What the first
 * of them says of the space stands for all.  Whoever calls this reads in order, so
 * what is wrong is an error.
 */
void
rb_receive_chunk(DestReceiver *self, const rb_chunk *chunk)
{
	rb_receiver *r = (rb_receiver *) self;
	const rb_space *space = &chunk->space;

	if (chunk->nparts > 0)
	{
		if (r->boxes && !space->dims_of_columns)
			(void) settle_dims(r, space->dims, false, space->dims_id);
		if (space->srid_known)
			(void) check_srid(r, space->srid, space->srid_type, space->srid_id);
		if (rb_builder_append(r->builder, chunk->coords, chunk->nparts, chunk->ids, chunk->ends,
							  chunk->nrows, &r->error) != RB_OK)
			(void) refuse_status(r);
	}
	r->builder->skipped += chunk->skipped;
	r->rows += chunk->rows;
}

static void
shutdown_receiver(DestReceiver *self)
{
}

static void
destroy(DestReceiver *self)
{
}

DestReceiver *
rb_receiver_create(const rb_source *source, rb_builder *builder, rb_space *space)
{
	rb_receiver *r = palloc0(sizeof *r);

	r->pub.receiveSlot = receive;
	r->pub.rStartup = startup;
	r->pub.rShutdown = shutdown_receiver;
	r->pub.rDestroy = destroy;
	r->pub.mydest = DestTuplestore; /* any that keeps its rows */
	r->source = source;
	r->builder = builder;
	r->space = space;
	return &r->pub;
}
