/*
 * row_values.c
 *	  A row of numbers in columns, from a slot.
 *
 * They need not be float8: what PostgreSQL casts to it counts as it would there.
 */
#include "pg/read/rb_receiver.h"

#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

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
	const rb_column *columns = r->columns.coord;
	int width = r->columns.width;
	double *to = rb_next_part(r);
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
		to[i] = to_float8(slot->tts_values[j], columns[i].type);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(r->row_context);
	if (!rb_check_coordinates(r, to, id))
		return false;
	r->builder->nparts++;
	return true;
}
