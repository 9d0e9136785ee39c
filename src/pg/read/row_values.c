/*
 * row_values.c
 *	  A row of numbers, and the id of any row, from a slot.
 */
#include "pg/read/rb_receiver.h"

#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

bool
rb_receive_id(const rb_receiver *r, TupleTableSlot *slot, int64 *id)
{
	int i = r->columns.id.attno - 1;

	if (slot->tts_isnull[i])
		return rb_refuse_null_id(r);
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

bool
rb_receive_coordinates(rb_receiver *r, TupleTableSlot *slot, int64 id)
{
	double *to = rb_next_part(r);
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
			return rb_refuse_null_coordinate(r, column, id);
		}
		to[i] = to_float8(slot->tts_values[column.attno - 1], column.type);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(r->row_context);
	if (!rb_check_coordinates(r, to, id))
		return false;
	r->builder->nparts++;
	return true;
}
