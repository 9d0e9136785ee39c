/*
 * results.c
 *	  What the rows of each result look like: a line of the list below for each.
 *
 * Most results come in blocks of ids (rb_block), and a row of them is made of one place in
 * each of the block's columns.  So a column is where its value lies in a block, and what
 * type it is given; functions, scans and tuplestores need to know nothing else of it.
 */
#include "pg/base/rb_pg.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* result, where its rows come from, columns of a block that they need, columns */
static const rb_row_shape shapes[] = {
	[RB_RESULT_PAIRS] = {RB_ROWS_STREAM, 2, 2, {RB_VALUE_RED, RB_VALUE_BLUE}},
	[RB_RESULT_CONTACTS] = {RB_ROWS_STREAM,
							3,
							4,
							{RB_VALUE_RED, RB_VALUE_BLUE, RB_VALUE_DIMENSION, RB_VALUE_CROSSES}},
	[RB_RESULT_DIMENSIONS] = {RB_ROWS_STREAM,
							  3,
							  3,
							  {RB_VALUE_RED, RB_VALUE_BLUE, RB_VALUE_DIMENSION}},
	[RB_RESULT_PARTS] = {RB_ROWS_STREAM,
						 3,
						 4,
						 {RB_VALUE_RED, RB_VALUE_PART1, RB_VALUE_PART2, RB_VALUE_DIMENSION}},
	[RB_RESULT_DISTANCES] = {RB_ROWS_STREAM,
							 3,
							 3,
							 {RB_VALUE_RED, RB_VALUE_BLUE, RB_VALUE_DISTANCE}},
	[RB_RESULT_SIDES] = {RB_ROWS_STREAM, 3, 3, {RB_VALUE_RED, RB_VALUE_BLUE, RB_VALUE_SIDE}},
	[RB_RESULT_COUNTS] = {RB_ROWS_BLOCKS, 2, 2, {RB_VALUE_RED, RB_VALUE_BLUE}},
	[RB_RESULT_HITS] = {RB_ROWS_BLOCKS, 1, 1, {RB_VALUE_RED}},
	[RB_RESULT_COUNT] = {RB_ROWS_SINGLE, 0, 1, {RB_VALUE_INT8}},
	[RB_RESULT_GROUPS] = {RB_ROWS_SINGLE, 0, 2, {RB_VALUE_INT8, RB_VALUE_INT8_ARRAY}},
	[RB_RESULT_BLOCKS] = {RB_ROWS_SINGLE, 0, 3, {RB_VALUE_INT4, RB_VALUE_BYTES, RB_VALUE_BYTES}},
};

const rb_row_shape *
rb_row_shape_of(rb_result result)
{
	return &shapes[result];
}

Oid
rb_value_type(rb_value value)
{
	switch (value)
	{
		case RB_VALUE_RED:
		case RB_VALUE_BLUE:
		case RB_VALUE_INT8:
			return INT8OID;
		case RB_VALUE_PART1:
		case RB_VALUE_PART2:
		case RB_VALUE_INT4:
			return INT4OID;
		case RB_VALUE_DIMENSION:
			return INT2OID;
		case RB_VALUE_CROSSES:
			return BOOLOID;
		case RB_VALUE_DISTANCE:
			return FLOAT8OID;
		case RB_VALUE_SIDE:
			return TEXTOID;
		case RB_VALUE_INT8_ARRAY:
			return INT8ARRAYOID;
		case RB_VALUE_BYTES:
			return BYTEAOID;
	}
	pg_unreachable();
}

Datum
rb_side_name(uint64 told)
{
	static text *names[2];
	const bool on = (told & RB_TOLD(RB_UNDER_OF(0, 1))) != 0;

	if (names[on] == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

		names[on] = cstring_to_text(on ? "boundary" : "inside");
		MemoryContextSwitchTo(old);
	}
	return PointerGetDatum(names[on]);
}
