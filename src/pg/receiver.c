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
 */
#include "rb_pg.h"

#include "access/htup_details.h"
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
	rb_srid *srid;
	rb_error error;
	uint64 rows;    /* received so far */
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

/* ---- errors that need a row ---- */

static const char *
column_name(const rb_receiver *r, rb_column column)
{
	return NameStr(TupleDescAttr(r->desc, column.attno - 1)->attname);
}

static void
raise_null_id(const rb_receiver *r)
{
	ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					errmsg("%s: null id in column \"%s\" of %s", r->source->join->function,
						   column_name(r, r->columns.id), rb_source_side(r->source)),
					errdetail("It is row " UINT64_FORMAT " in the order of reading.", r->rows)));
}

static void
raise_null_coordinate(const rb_receiver *r, rb_column column, int64 id)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("%s: null in column \"%s\" of %s, id " INT64_FORMAT, r->source->join->function,
					column_name(r, column), rb_source_side(r->source), id),
			 errhint("Leave such rows out.")));
}

static void
raise_not_finite(const rb_receiver *r, const double *x, int64 id)
{
	int i = 0;

	while (i < r->columns.width - 1 && isfinite(x[i]))
		i++;
	ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					errmsg("%s: %s in column \"%s\" of %s, id " INT64_FORMAT,
						   r->source->join->function, isnan(x[i]) ? "NaN" : "infinity",
						   column_name(r, r->columns.coord[i]), rb_source_side(r->source), id),
					errhint("Leave such rows out.")));
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

/* room for one more part */
static inline double *
next_part(rb_receiver *r)
{
	rb_builder *b = r->builder;

	if (b->nparts >= b->coords_cap && rb_builder_reserve(b, 1, &r->error) != RB_OK)
		rb_raise(r->source->join->function, r->error.status, &r->error);
	return b->coords + (size_t) b->nparts * (size_t) b->width;
}

static inline void
end_row(rb_receiver *r, int64 id)
{
	if (rb_builder_end_row(r->builder, id, &r->error) != RB_OK)
		rb_raise(r->source->join->function, r->error.status, &r->error);
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

/* reads the row from the tuple's bytes; false when it must be read in another way */
static inline bool
receive_raw(rb_receiver *r, TupleDesc desc, HeapTuple tuple)
{
	const char *data;
	double *to;
	int64 id;

	if (desc != r->raw_desc)
		find_offsets(r, desc);
	if (!r->raw || HeapTupleHasNulls(tuple) ||
		HeapTupleHeaderGetNatts(tuple->t_data) < r->columns.last)
		return false;

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
	if (r->together && r->columns.width == 9)
		memcpy(to, data + r->raw_coord[0], 9 * sizeof(double));
	else
		for (int i = 0; i < r->columns.width; i++)
			memcpy(&to[i], data + r->raw_coord[i], sizeof(double));
	if (!all_finite(to, r->columns.width))
		raise_not_finite(r, to, id);
	r->builder->nparts++;
	end_row(r, id);
	return true;
}

static int64
read_id(const rb_receiver *r, TupleTableSlot *slot)
{
	int i = r->columns.id.attno - 1;

	if (slot->tts_isnull[i])
		raise_null_id(r);
	switch (r->columns.id.type)
	{
		case INT8OID:
			return DatumGetInt64(slot->tts_values[i]);
		case INT4OID:
			return DatumGetInt32(slot->tts_values[i]);
		default:
			return DatumGetInt16(slot->tts_values[i]);
	}
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

static void
receive_coordinates(rb_receiver *r, TupleTableSlot *slot, int64 id)
{
	double *to = next_part(r);
	MemoryContext old = MemoryContextSwitchTo(r->row_context);

	for (int i = 0; i < r->columns.width; i++)
	{
		rb_column column = r->columns.coord[i];

		if (slot->tts_isnull[column.attno - 1])
			raise_null_coordinate(r, column, id);
		to[i] = to_float8(slot->tts_values[column.attno - 1], column.type);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(r->row_context);
	if (!all_finite(to, r->columns.width))
		raise_not_finite(r, to, id);
	r->builder->nparts++;
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
	fmgr_info_cxt(function, &r->as_ewkb, GetMemoryChunkContext(r));
	r->as_ewkb_known = true;
	return true;
}

static void
check_srid(const rb_receiver *r, const rb_geometry_info *info, int64 id)
{
	rb_srid *first = r->srid;
	const char *side = rb_source_side(r->source);

	if (!first->known)
	{
		first->known = true;
		first->srid = info->srid;
		first->type = info->type;
		first->side = side;
		first->id = id;
	}
	else if (first->srid != info->srid)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: Operation on mixed SRID geometries (%s, %d) != (%s, %d)",
							   r->source->join->function, rb_geometry_type_name(first->type),
							   first->srid, rb_geometry_type_name(info->type), info->srid),
						errdetail("SRID %d is that of %s, id " INT64_FORMAT
								  "; SRID %d is that of %s, id " INT64_FORMAT ".",
								  first->srid, first->side, first->id, info->srid, side, id),
						errhint("Use ST_Transform, or ST_SetSRID where the SRID is wrong.")));
}

static void
receive_geometry(rb_receiver *r, TupleTableSlot *slot, int64 id)
{
	rb_builder *b = r->builder;
	int i = r->columns.geom.attno - 1;
	MemoryContext old;
	struct varlena *bytes;
	rb_geometry_info info;
	rb_geometry_fault fault;

	if (slot->tts_isnull[i])
		return;
	old = MemoryContextSwitchTo(r->row_context);
	bytes = PG_DETOAST_DATUM_PACKED(slot->tts_values[i]);
	fault = rb_geometry_read_serialized(b, (const uint8_t *) VARDATA_ANY(bytes),
										VARSIZE_ANY_EXHDR(bytes), &info, &r->error);
	if (fault == RB_GEOMETRY_UNKNOWN && find_as_ewkb(r))
	{
		bytes = DatumGetByteaPP(FunctionCall1(&r->as_ewkb, slot->tts_values[i]));
		fault = rb_geometry_read_ewkb(b, (const uint8_t *) VARDATA_ANY(bytes),
									  VARSIZE_ANY_EXHDR(bytes), &info, &r->error);
	}
	MemoryContextSwitchTo(old);
	if (fault != RB_GEOMETRY_OK)
		rb_raise_geometry(r->source, column_name(r, r->columns.geom), id, fault, &info, &r->error);
	MemoryContextReset(r->row_context);
	/* an EMPTY geometry is skipped with its SRID */
	if (b->nparts > b->row_start)
		check_srid(r, &info, id);
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
	expect_rows(r);
	r->row_context =
		AllocSetContextCreate(GetMemoryChunkContext(r), "redblue row", ALLOCSET_DEFAULT_SIZES);
}

static bool
receive(TupleTableSlot *slot, DestReceiver *self)
{
	rb_receiver *r = (rb_receiver *) self;
	int64 id;

	CHECK_FOR_INTERRUPTS();
	r->rows++;
	if (slot->tts_ops == &TTSOpsBufferHeapTuple && ((HeapTupleTableSlot *) slot)->tuple != NULL &&
		receive_raw(r, slot->tts_tupleDescriptor, ((HeapTupleTableSlot *) slot)->tuple))
		return true;
	slot_getsomeattrs(slot, r->columns.last);
	id = read_id(r, slot);
	if (r->columns.geom.attno != 0)
		receive_geometry(r, slot, id);
	else
		receive_coordinates(r, slot, id);
	end_row(r, id);
	return true;
}

bool
rb_receive_tuple(DestReceiver *self, TupleDesc desc, HeapTuple tuple)
{
	rb_receiver *r = (rb_receiver *) self;

	if (!receive_raw(r, desc, tuple))
		return false;
	r->rows++;
	return true;
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
rb_receiver_create(const rb_source *source, rb_builder *builder, rb_srid *srid)
{
	rb_receiver *r = palloc0(sizeof *r);

	r->pub.receiveSlot = receive;
	r->pub.rStartup = startup;
	r->pub.rShutdown = shutdown_receiver;
	r->pub.rDestroy = destroy;
	r->pub.mydest = DestTuplestore; /* any that keeps its rows */
	r->source = source;
	r->builder = builder;
	r->srid = srid;
	return &r->pub;
}
