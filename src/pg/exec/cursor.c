/*
 * cursor.c
 *	  Returns the result of a join, whatever it is: pairs and aggregates, as blocks or as rows.
 *
 *	pairs			blocks of the stream
 *	counts, matched	blocks with a value for each row (aggregates.c)
 *	groups			rows: for each row the rows that it is paired with (aggregates.c)
 *	shapes			rows: the intersection of each pair of rows (intersections.c)
 *	sections		rows: the section of each solid by each plane (section_rows.c)
 *	solids			rows: the intersection of each pair of solids, or the difference of each solid
 *					and all that meet it (solid_rows.c)
 *	blocks			rows: pairs as arrays, for programs that want these: the stream's own
 *					blocks, without a copy
 *
 * Most results come in blocks of ids (rb_block), and each row is built from one entry of each of
 * the block's columns. A column is therefore described by where its value lies in a block and by
 * its type. Functions, scans and tuplestores need nothing else.
 */
#include "pg/exec/exec.h"

#include "core/solid/solid.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* ---- the rows of a result ---- */

/*
 * Fields: source of the rows, number of block columns needed, number of output columns, the output
 * columns
 */
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
	[RB_RESULT_NEAREST] = {RB_ROWS_STREAM, 3, 3, {RB_VALUE_RED, RB_VALUE_BLUE, RB_VALUE_DISTANCE}},
	[RB_RESULT_FIRST_HITS] = {RB_ROWS_STREAM,
							  2 + RB_FIRST_HITS_WORDS,
							  6,
							  {RB_VALUE_RED, RB_VALUE_BLUE, RB_VALUE_HIT_FRACTION, RB_VALUE_HIT_X,
							   RB_VALUE_HIT_Y, RB_VALUE_HIT_Z}},
	[RB_RESULT_STRETCHES] = {RB_ROWS_STREAM,
							 6,
							 6,
							 {RB_VALUE_RED, RB_VALUE_BLUE, RB_VALUE_FROM, RB_VALUE_TO,
							  RB_VALUE_LENGTH, RB_VALUE_ON_BOUNDARY}},
	[RB_RESULT_RELATIONS] =
		{RB_ROWS_STREAM, 3, 3, {RB_VALUE_RED, RB_VALUE_BLUE, RB_VALUE_RELATION}, true},
	[RB_RESULT_SOLIDS] = {RB_ROWS_STREAM,
						  RB_BLOCK_COLUMNS,
						  11,
						  {RB_VALUE_SOLID, RB_VALUE_FACES, RB_VALUE_CLOSED, RB_VALUE_ORIENTED,
						   RB_VALUE_CROSSINGS, RB_VALUE_REASON, RB_VALUE_VALID, RB_VALUE_CODE,
						   RB_VALUE_X, RB_VALUE_Y, RB_VALUE_Z},
						  true},
	[RB_RESULT_MEASURES] = {RB_ROWS_STREAM,
							2 + RB_MEASURES_WORDS,
							12,
							{RB_VALUE_RED, RB_VALUE_VOLUME, RB_VALUE_AREA, RB_VALUE_CENTROID_X,
							 RB_VALUE_CENTROID_Y, RB_VALUE_CENTROID_Z, RB_VALUE_LOW_X,
							 RB_VALUE_LOW_Y, RB_VALUE_LOW_Z, RB_VALUE_HIGH_X, RB_VALUE_HIGH_Y,
							 RB_VALUE_HIGH_Z}},
	[RB_RESULT_OVERLAPS] = {RB_ROWS_STREAM,
							2 + RB_OVERLAP_WORDS,
							8,
							{RB_VALUE_RED, RB_VALUE_BLUE, RB_VALUE_SHARED, RB_VALUE_SHARED_X,
							 RB_VALUE_SHARED_Y, RB_VALUE_SHARED_Z, RB_VALUE_SHARED_CONTACT,
							 RB_VALUE_SHARED_DEPTH},
							true},
	[RB_RESULT_CUBOIDS] = {RB_ROWS_STREAM,
						   2 + RB_CUBOID_WORDS,
						   4,
						   {RB_VALUE_RED, RB_VALUE_BLUE, RB_VALUE_PART_VOLUME,
							RB_VALUE_PART_FRACTION}},
	[RB_RESULT_AREAS] = {RB_ROWS_STREAM, 3, 3, {RB_VALUE_RED, RB_VALUE_BLUE, RB_VALUE_DISTANCE}},
	[RB_RESULT_LENGTHS] = {RB_ROWS_STREAM, 3, 3, {RB_VALUE_RED, RB_VALUE_BLUE, RB_VALUE_DISTANCE}},
	[RB_RESULT_SIDES] = {RB_ROWS_STREAM, 3, 3, {RB_VALUE_RED, RB_VALUE_BLUE, RB_VALUE_SIDE}, true},
	[RB_RESULT_COUNTS] = {RB_ROWS_BLOCKS, 2, 2, {RB_VALUE_RED, RB_VALUE_BLUE}},
	[RB_RESULT_HITS] = {RB_ROWS_BLOCKS, 1, 1, {RB_VALUE_RED}},
	[RB_RESULT_COUNT] = {RB_ROWS_SINGLE, 0, 1, {RB_VALUE_INT8}},
	[RB_RESULT_GROUPS] = {RB_ROWS_SINGLE,
						  0,
						  3,
						  {RB_VALUE_INT8, RB_VALUE_INT8_ARRAY, RB_VALUE_INT8}},
	[RB_RESULT_BLOCKS] = {RB_ROWS_SINGLE, 0, 3, {RB_VALUE_INT4, RB_VALUE_BYTES, RB_VALUE_BYTES}},
	[RB_RESULT_SHAPES] = {RB_ROWS_SINGLE, 0, 3, {RB_VALUE_INT8, RB_VALUE_INT8, RB_VALUE_GEOMETRY}},
	[RB_RESULT_SPANS] = {RB_ROWS_SINGLE,
						 0,
						 6,
						 {RB_VALUE_INT8, RB_VALUE_INT8, RB_VALUE_GEOMETRY, RB_VALUE_FLOAT8,
						  RB_VALUE_FLOAT8, RB_VALUE_FLOAT8_ARRAY}},
	[RB_RESULT_SECTIONS] = {RB_ROWS_SINGLE,
							0,
							4,
							{RB_VALUE_INT8, RB_VALUE_INT8, RB_VALUE_GEOMETRY, RB_VALUE_FLOAT8}},
	[RB_RESULT_SOLID_INTERSECTIONS] =
		{RB_ROWS_SINGLE, 0, 4, {RB_VALUE_INT8, RB_VALUE_INT8, RB_VALUE_GEOMETRY, RB_VALUE_FLOAT8}},
	[RB_RESULT_SOLID_DIFFERENCES] = {RB_ROWS_SINGLE,
									 0,
									 3,
									 {RB_VALUE_INT8, RB_VALUE_GEOMETRY, RB_VALUE_FLOAT8}},
};

const rb_row_shape *
rb_row_shape_of(rb_result result)
{
	return &shapes[result];
}

/* Types of values; a geometry has the type that its extension gave it */
static const Oid value_types[] = {
	[RB_VALUE_RED] = INT8OID,
	[RB_VALUE_BLUE] = INT8OID,
	[RB_VALUE_PART1] = INT4OID,
	[RB_VALUE_PART2] = INT4OID,
	[RB_VALUE_DIMENSION] = INT2OID,
	[RB_VALUE_CROSSES] = BOOLOID,
	[RB_VALUE_DISTANCE] = FLOAT8OID,
	[RB_VALUE_SIDE] = TEXTOID,
	[RB_VALUE_FROM] = FLOAT8OID,
	[RB_VALUE_TO] = FLOAT8OID,
	[RB_VALUE_LENGTH] = FLOAT8OID,
	[RB_VALUE_ON_BOUNDARY] = BOOLOID,
	[RB_VALUE_RELATION] = TEXTOID,
	[RB_VALUE_SOLID] = INT8OID,
	[RB_VALUE_FACES] = INT4OID,
	[RB_VALUE_CLOSED] = BOOLOID,
	[RB_VALUE_ORIENTED] = BOOLOID,
	[RB_VALUE_CROSSINGS] = INT8OID,
	[RB_VALUE_REASON] = TEXTOID,
	[RB_VALUE_VALID] = BOOLOID,
	[RB_VALUE_CODE] = INT4OID,
	[RB_VALUE_X] = FLOAT8OID,
	[RB_VALUE_Y] = FLOAT8OID,
	[RB_VALUE_Z] = FLOAT8OID,
	[RB_VALUE_VOLUME] = FLOAT8OID,
	[RB_VALUE_AREA] = FLOAT8OID,
	[RB_VALUE_CENTROID_X] = FLOAT8OID,
	[RB_VALUE_CENTROID_Y] = FLOAT8OID,
	[RB_VALUE_CENTROID_Z] = FLOAT8OID,
	[RB_VALUE_LOW_X] = FLOAT8OID,
	[RB_VALUE_LOW_Y] = FLOAT8OID,
	[RB_VALUE_LOW_Z] = FLOAT8OID,
	[RB_VALUE_HIGH_X] = FLOAT8OID,
	[RB_VALUE_HIGH_Y] = FLOAT8OID,
	[RB_VALUE_HIGH_Z] = FLOAT8OID,
	[RB_VALUE_SHARED] = FLOAT8OID,
	[RB_VALUE_SHARED_X] = FLOAT8OID,
	[RB_VALUE_SHARED_Y] = FLOAT8OID,
	[RB_VALUE_SHARED_Z] = FLOAT8OID,
	[RB_VALUE_SHARED_CONTACT] = FLOAT8OID,
	[RB_VALUE_SHARED_DEPTH] = FLOAT8OID,
	[RB_VALUE_PART_VOLUME] = FLOAT8OID,
	[RB_VALUE_PART_FRACTION] = FLOAT8OID,
	[RB_VALUE_HIT_FRACTION] = FLOAT8OID,
	[RB_VALUE_HIT_X] = FLOAT8OID,
	[RB_VALUE_HIT_Y] = FLOAT8OID,
	[RB_VALUE_HIT_Z] = FLOAT8OID,
	[RB_VALUE_INT8] = INT8OID,
	[RB_VALUE_INT4] = INT4OID,
	[RB_VALUE_FLOAT8] = FLOAT8OID,
	[RB_VALUE_INT8_ARRAY] = INT8ARRAYOID,
	[RB_VALUE_FLOAT8_ARRAY] = FLOAT8ARRAYOID,
	[RB_VALUE_BYTES] = BYTEAOID,
};

Oid
rb_column_type(const FuncExpr *call, const rb_row_shape *shape, int i)
{
	TupleDesc desc;

	if (shape->column[i] != RB_VALUE_GEOMETRY)
		return value_types[shape->column[i]];
	desc = get_expr_result_tupdesc((Node *) call, false);
	return TupleDescAttr(desc, i)->atttypid;
}

/* Returns a text that lives until the process ends. */
static Datum
cache_text_for_process(text **kept, const char *name)
{
	if (*kept == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

		*kept = cstring_to_text(name);
		MemoryContextSwitchTo(old);
	}
	return PointerGetDatum(*kept);
}

/* Returns the side of a point as text, from the payload of RB_RAY_PARITY. */
static Datum
text_of_point_side(uint64 payload)
{
	static text *names[2];
	const bool on = (payload & RB_PAYLOAD(RB_RAY_PARITY_OF(0, 1))) != 0;

	return cache_text_for_process(&names[on], on ? "boundary" : "inside");
}

/* Returns the name of a relation of two solids as text. */
static Datum
name_of_solids_relation(uint64 payload)
{
	static const char *const names[] = {[RB_SOLIDS_TOUCH] = "touches",
										[RB_SOLIDS_CROSS] = "crosses",
										[RB_RED_INSIDE] = "inside",
										[RB_RED_CONTAINS] = "contains",
										[RB_SOLIDS_EQUAL] = "equal"};
	static text *texts[lengthof(names)];

	return cache_text_for_process(&texts[payload], names[payload]);
}

/* Returns the reason for a solid's fault, or null if it has none. */
static Datum
reason_of_solid_fault(const rb_solid_report *report, bool *null)
{
	char reason[RB_SOLID_REASON];

	rb_solid_reason(report, reason);
	*null = reason[0] == '\0';
	return *null ? (Datum) 0 : CStringGetTextDatum(reason);
}

/*
 * Returns one coordinate of the fault in a validity report, or null if the fault has no location.
 */
static Datum
coordinate_of_solid_fault(const rb_solid_report *report, int axis, bool *null)
{
	double at[3] = {0, 0, 0};

	*null = !rb_solid_fault_location(report, at);
	return Float8GetDatum(at[axis]);
}

/* Returns one value of a solid's report. */
static Datum
value_of_solid_report(const rb_solid_report *report, rb_value value, bool *null)
{
	const bool unread = report->fault == RB_SOLID_UNREADABLE;

	switch (value)
	{
		case RB_VALUE_FACES:
			*null = unread;
			return Int32GetDatum((int32) report->faces);
		case RB_VALUE_CLOSED:
			return BoolGetDatum(report->closed);
		case RB_VALUE_ORIENTED:
			return BoolGetDatum(report->oriented);
		case RB_VALUE_CROSSINGS:
			*null = unread;
			return Int64GetDatum((int64) report->self_intersections);
		case RB_VALUE_VALID:
			return BoolGetDatum(report->fault == RB_SOLID_GOOD && report->self_intersections == 0);
		case RB_VALUE_CODE:
			*null = rb_solid_code(report) == 0;
			return Int32GetDatum(rb_solid_code(report));
		case RB_VALUE_X:
		case RB_VALUE_Y:
		case RB_VALUE_Z:
			return coordinate_of_solid_fault(report, value - RB_VALUE_X, null);
		default:
			return reason_of_solid_fault(report, null);
	}
}

Datum
rb_value_build(const rb_block *block, rb_value value, size_t i, bool *null)
{
	rb_solid_report report;

	*null = false;
	if (value == RB_VALUE_SIDE)
		return text_of_point_side(block->payload[i]);
	if (value == RB_VALUE_RELATION)
		return name_of_solids_relation(block->payload[i]);
	if (value >= RB_VALUE_SHARED && value <= RB_VALUE_SHARED_DEPTH)
	{
		const Datum shared = (Datum) block->payload[i * block->words + (value - RB_VALUE_SHARED)];

		*null = isnan(DatumGetFloat8(shared));
		return shared;
	}
	if (value < RB_VALUE_SOLID || value > RB_VALUE_Z)
		return rb_value_in(block, value, i);
	rb_solid_of_words(&report, block->payload + i * block->words);
	if (value != RB_VALUE_SOLID)
		return value_of_solid_report(&report, value, null);
	*null = report.why == RB_GEOMETRY_NULL_ID || report.why == RB_GEOMETRY_NO_ID;
	return Int64GetDatum(block->red[i]);
}

/* ---- blocks as arrays ---- */

/*
 * Returns a column of a block as a bytea value. The column has space for the header in front of it.
 */
static Datum
pack_block_column(int64 *ids, size_t n)
{
	bytea *packed = (bytea *) ((char *) ids - VARHDRSZ);

#ifdef WORDS_BIGENDIAN
	for (size_t i = 0; i < n; i++)
		ids[i] = (int64) pg_bswap64((uint64) ids[i]);
#endif
	SET_VARSIZE(packed, VARHDRSZ + n * sizeof *ids);
	return PointerGetDatum(packed);
}

/* Returns the next block of pairs as two packed columns. */
static bool
next_block_as_packed_columns(rb_cursor *rows, Datum *values)
{
	rb_block block;

	if (!rb_run_next(rows->run, &block))
		return false;
	values[0] = Int32GetDatum((int32) block.n);
	values[1] = pack_block_column(block.red, block.n);
	values[2] = pack_block_column(block.blue, block.n);
	return true;
}

/* ---- the cursor ---- */

rb_join_run *
rb_cursor_run(const rb_cursor *rows)
{
	return rows->run;
}

void
rb_cursor_close(rb_cursor *rows)
{
	rb_aggregate_close(rows);
	rb_run_close(rows->run);
}

rb_cursor *
rb_cursor_open(const rb_join *join, rb_result result, rb_result_side of, const rb_call_args *call,
			   MemoryContext context)
{
	rb_cursor *rows = MemoryContextAllocZero(context, sizeof *rows);
	rb_job job;

	rows->result = result;
	rows->of = of;
	rows->run =
		rb_run_read(join, call, context, result != RB_RESULT_SHAPES && result != RB_RESULT_SPANS);
	switch (result)
	{
		case RB_RESULT_COUNTS:
		case RB_RESULT_HITS:
		case RB_RESULT_GROUPS:
			rb_aggregate_open(rows);
			return rows;
		case RB_RESULT_SHAPES:
		case RB_RESULT_SPANS:
			rb_shapes_open(rows, context);
			return rows;
		case RB_RESULT_SOLID_INTERSECTIONS:
		case RB_RESULT_SOLID_DIFFERENCES:
			rb_solid_rows_open(rows, context);
			return rows;
		default:
			break;
	}
	if (result == RB_RESULT_SECTIONS)
		rb_sections_open(rows, context);
	job = rb_run_job(rows->run);
	job.whole = result == RB_RESULT_BLOCKS;
	if (result == RB_RESULT_COUNT)
	{
		job.answer = RB_COUNT;
		(void) rb_aggregate_run_to_end(rows, &job);
	}
	else
		rb_run_start(rows->run, &job);
	return rows;
}

bool
rb_cursor_next_block(rb_cursor *rows, rb_block *block)
{
	if (shapes[rows->result].from == RB_ROWS_STREAM)
		return rb_run_next(rows->run, block);
	return rb_aggregate_next_block(rows, block);
}

bool
rb_cursor_next_row(rb_cursor *rows, Datum *values)
{
	switch (rows->result)
	{
		case RB_RESULT_COUNT:
			values[0] = Int64GetDatum((int64) rows->run->ctx.stats.stage[RB_STAGE_EMIT].count);
			return rows->row++ == 0;
		case RB_RESULT_GROUPS:
			return rb_aggregate_next_group(rows, values);
		case RB_RESULT_SHAPES:
		case RB_RESULT_SPANS:
			return rb_shapes_next(rows, values);
		case RB_RESULT_SECTIONS:
			return rb_sections_next(rows, values);
		case RB_RESULT_SOLID_INTERSECTIONS:
		case RB_RESULT_SOLID_DIFFERENCES:
			return rb_solid_rows_next(rows, values);
		default:
			return next_block_as_packed_columns(rows, values);
	}
}
