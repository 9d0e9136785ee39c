/*
 * row_values.c
 *	  Reads a row of coordinate columns from a slot.
 *
 * The columns need not be float8: types that PostgreSQL casts to float8 are converted in the same
 * way.
 */
#include "pg/read/row.h"

#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

bool
rb_receive_coordinates(rb_receiver *r, TupleTableSlot *slot, int64 id)
{
	const rb_column *columns = r->columns.coord;
	int width = r->columns.width;
	double *to = rb_next_part(r);
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
	if (!rb_check_coordinates(r, to, id))
		return false;
	r->builder->nparts++;
	return true;
}
