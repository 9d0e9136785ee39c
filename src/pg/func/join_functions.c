/*
 * join_functions.c
 *	  Defines the SQL functions: the joins, one per line, with the forms of their results, and the
 *	  exact predicates.
 *
 *	redblue_triangle_pairs('ore', 'tunnel')
 *
 *	 ore                     tunnel                       red_id | blue_id
 *	 id | ax | ay ... | cz   id | geom              ->   --------+---------
 *	 ---+----+--------+----  ---+------------------           17 |     802
 *	 17 |  0 |  0 ... |  9   802| TIN Z (...)                 17 |     803
 *
 * A line of the list gives the function's name, its predicate, and for each side the kind of the
 * objects and the name of the argument. A self join has one side. All other code is common to all
 * joins (join_arguments.c, execution.c, cursor.c, function_scan.c). A result is returned as a set
 * of rows, as pairs of keys, or as the number of pairs.
 */
#include "pg/func/func.h"

#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include <math.h>

/* ---- rows ---- */

/* Stores the rows of all blocks of a join in the tuplestore. */
static void
store_blocks_of_join(rb_cursor *cursor, const rb_row_shape *shape, ReturnSetInfo *rsinfo)
{
	rb_join_run *run = rb_cursor_run(cursor);
	MemoryContext texts = AllocSetContextCreate(CurrentMemoryContext, "redblue texts of a block",
												ALLOCSET_DEFAULT_SIZES);
	bool nulls[RB_RESULT_COLUMNS] = {false};
	rb_block block;

	while (rb_cursor_next_block(cursor, &block))
	{
		double start = rb_now_ms();
		MemoryContext old = MemoryContextSwitchTo(texts);

		for (size_t i = 0; i < block.n; i++)
		{
			Datum values[RB_RESULT_COLUMNS];

			for (int k = 0; k < shape->columns; k++)
				values[k] = shape->made ? rb_value_build(&block, shape->column[k], i, &nulls[k])
										: rb_value_in(&block, shape->column[k], i);
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(texts);
		run->emit_ms += rb_now_ms() - start;
	}
}

/* Stores all rows of a result without blocks in the tuplestore. */
static void
store_rows_of_join(rb_cursor *cursor, ReturnSetInfo *rsinfo)
{
	bool no_nulls[RB_RESULT_COLUMNS] = {false};
	Datum values[RB_RESULT_COLUMNS];

	while (rb_cursor_next_row(cursor, values))
	{
		CHECK_FOR_INTERRUPTS();
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, no_nulls);
	}
}

/*
 * Returns all rows of the result in a tuplestore. The executor accepts a set either as a whole or
 * row by row.
 */
static Datum
return_join_rows(FunctionCallInfo fcinfo, const rb_join *join)
{
	const rb_row_shape *shape = rb_row_shape_of(join->result);
	rb_call_args call;
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext caller;
	rb_cursor *cursor;

	InitMaterializedSRF(fcinfo, 0);
	caller = rb_call_enter();
	rb_call_args_read(join, fcinfo->flinfo->fn_oid, fcinfo->args, &call);
	cursor = rb_cursor_open(join, join->result, RB_OF_RED, &call, CurrentMemoryContext);
	if (shape->raw > 0)
		store_blocks_of_join(cursor, shape, rsinfo);
	else
		store_rows_of_join(cursor, rsinfo);
	rb_last_run_set(rb_cursor_run(cursor));
	rb_call_leave(caller);
	return (Datum) 0;
}

/* ---- rows of keys ---- */

/*
 * State for returning keys. Their types are those of the tables' columns, which a function cannot
 * declare. The function therefore returns records, and the caller writes a column definition list,
 * as for dblink or crosstab:
 *
 *	FROM redblue_triangle_pairs_by_key('building', 'tunnel') AS (gml_id uuid, code text, part int)
 *
 * The columns of the red key come first, then those of the blue key.
 */
typedef struct key_rows
{
	const rb_keys *keys[2];
	TupleTableSlot *slot[2];
	int n[2]; /* Number of columns of each key */
	Datum *values;
	bool *nulls;
} key_rows;

/*
 * Returns an unused name such as code_2, because a column definition list must not repeat a name.
 */
static char *
unused_key_column_name(char *name, List *used)
{
	char *free_name = name;

	for (int k = 2; list_member(used, makeString(free_name)); k++)
		free_name = psprintf("%s_%d", name, k);
	return free_name;
}

/* Returns the columns as a column definition list that can be pasted into the query. */
static char *
list_key_columns(const key_rows *rows)
{
	StringInfoData text;
	List *used = NIL;

	initStringInfo(&text);
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < rows->n[side]; i++)
		{
			Form_pg_attribute att = TupleDescAttr(rows->keys[side]->desc, i);
			char *name = unused_key_column_name(NameStr(att->attname), used);

			used = lappend(used, makeString(name));
			appendStringInfo(&text, "%s%s %s", text.len > 0 ? ", " : "", quote_identifier(name),
							 format_type_with_typemod(att->atttypid, att->atttypmod));
		}
	return text.data;
}

/*
 * Returns true if a key column can be returned as the wanted type. Binary-coercible types are
 * allowed.
 */
static bool
is_key_type_convertible(Form_pg_attribute wanted, Form_pg_attribute att)
{
	return IsBinaryCoercible(att->atttypid, wanted->atttypid) &&
		   (wanted->atttypmod == -1 || wanted->atttypmod == att->atttypmod);
}

/* Raises an ERROR unless the column definition list of the call matches the key columns. */
static void
check_key_column_definition(const rb_join *join, TupleDesc wanted, const key_rows *rows)
{
	bool same = wanted != NULL && wanted->natts == rows->n[0] + rows->n[1];

	for (int side = 0, i = 0; side < 2; side++)
		for (int k = 0; same && k < rows->n[side]; k++, i++)
			same = is_key_type_convertible(TupleDescAttr(wanted, i),
										   TupleDescAttr(rows->keys[side]->desc, k));
	if (same)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("%s: column definition list does not match the key columns", join->function),
			 errhint("Write FROM %s(...) AS (%s); you can choose the column names.", join->function,
					 list_key_columns(rows))));
}

/* Prepares the slots and the values for rows of keys. */
static void
begin_key_rows(key_rows *rows, const rb_source *source, int sides)
{
	for (int side = 0; side < 2; side++)
	{
		rows->keys[side] = source[side % sides].keys;
		rows->n[side] = rows->keys[side]->desc->natts;
		rows->slot[side] = MakeSingleTupleTableSlot(rows->keys[side]->desc, &TTSOpsMinimalTuple);
	}
	rows->values = palloc((rows->n[0] + rows->n[1]) * sizeof *rows->values);
	rows->nulls = palloc0((rows->n[0] + rows->n[1]) * sizeof *rows->nulls);
}

/* Stores the keys of both rows of each pair in the tuplestore. */
static void
store_key_rows(rb_cursor *cursor, key_rows *rows, ReturnSetInfo *rsinfo)
{
	rb_join_run *run = rb_cursor_run(cursor);
	rb_block block;

	while (rb_cursor_next_block(cursor, &block))
	{
		double start = rb_now_ms();

		for (size_t i = 0; i < block.n; i++)
		{
			/* Check for interrupts for each row, because keys may be megabytes long. */
			CHECK_FOR_INTERRUPTS();
			for (int side = 0; side < 2; side++)
			{
				rb_keys_get(rows->keys[side], side == 0 ? block.red[i] : block.blue[i],
							rows->slot[side]);
				memcpy(rows->values + (side == 0 ? 0 : rows->n[0]), rows->slot[side]->tts_values,
					   rows->n[side] * sizeof *rows->values);
			}
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, rows->values, rows->nulls);
		}
		run->emit_ms += rb_now_ms() - start;
	}
	rb_last_run_set(run);
}

/* Returns the pairs of a join as rows of the key columns of both sides, in a tuplestore. */
static Datum
return_pairs_by_key(FunctionCallInfo fcinfo, const rb_join *join)
{
	rb_call_args call;
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext caller;
	key_rows rows;
	rb_cursor *cursor;

	if (rsinfo == NULL || !IsA(rsinfo, ReturnSetInfo) || rsinfo->expectedDesc == NULL)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s: a column definition list for the keys is required", join->function),
			 errhint(
				 "Call the function in FROM: SELECT * FROM %s(...) AS (red_key ..., blue_key ...).",
				 join->function)));
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	caller = rb_call_enter();
	rb_call_args_read(join, fcinfo->flinfo->fn_oid, fcinfo->args, &call);
	begin_key_rows(&rows, call.source, rb_join_sides(join));
	check_key_column_definition(join, rsinfo->setDesc, &rows);
	cursor = rb_cursor_open(join, RB_RESULT_PAIRS, RB_OF_RED, &call, CurrentMemoryContext);
	store_key_rows(cursor, &rows, rsinfo);
	rb_call_leave(caller);
	return (Datum) 0;
}

/* ---- numbers ---- */

/* Returns the number of pairs. No pairs are built if each row has one part. */
static Datum
return_pair_count(FunctionCallInfo fcinfo, const rb_join *join)
{
	rb_call_args call;
	MemoryContext caller = rb_call_enter();
	rb_cursor *cursor;
	Datum count;

	rb_call_args_read(join, fcinfo->flinfo->fn_oid, fcinfo->args, &call);
	cursor = rb_cursor_open(join, RB_RESULT_COUNT, RB_OF_RED, &call, CurrentMemoryContext);
	(void) rb_cursor_next_row(cursor, &count);
	rb_last_run_set(rb_cursor_run(cursor));
	rb_call_leave(caller);
	return count;
}

/* ---- the joins ---- */

/*
 * Joins with all forms of results: NAME_pairs returns the pairs, and the other functions return
 * aggregate results (rb_result). Each function also has a variant that takes query texts,
 * NAME..._query. NAME_pairs_by_key returns pairs of keys of any type.
 */
#define RB_JOINS(X)                                                                          \
	X(redblue_triangle, RB_MEET, RB_TRIANGLE3, "red", RB_TRIANGLE3, "blue")                  \
	X(redblue_triangle_self, RB_MEET, RB_TRIANGLE3, "mesh", RB_TRIANGLE3, NULL)              \
	X(redblue_segment_triangle, RB_MEET, RB_SEGMENT3, "segments", RB_TRIANGLE3, "triangles") \
	X(redblue_segment, RB_MEET, RB_SEGMENT2, "red", RB_SEGMENT2, "blue")                     \
	X(redblue_segment_self, RB_MEET, RB_SEGMENT2, "lines", RB_SEGMENT2, NULL)                \
	X(redblue_box, RB_MEET, RB_BOX3, "red", RB_BOX3, "blue")                                 \
	X(redblue_box_self, RB_MEET, RB_BOX3, "boxes", RB_BOX3, NULL)

/* Joins whose pairs carry a payload: the function, the result, the predicate, the sides */
#define RB_TELLING_JOINS(X)                                                                        \
	X(redblue_triangle_contacts, RB_RESULT_CONTACTS, RB_CONTACT, RB_TRIANGLE3, "red",              \
	  RB_TRIANGLE3, "blue")                                                                        \
	X(redblue_triangle_self_contacts, RB_RESULT_CONTACTS, RB_CONTACT, RB_TRIANGLE3, "mesh",        \
	  RB_TRIANGLE3, NULL)                                                                          \
	X(redblue_segment_triangle_contacts, RB_RESULT_CONTACTS, RB_CONTACT, RB_SEGMENT3, "segments",  \
	  RB_TRIANGLE3, "triangles")                                                                   \
	X(redblue_segment_contacts, RB_RESULT_CONTACTS, RB_CONTACT, RB_SEGMENT2, "red", RB_SEGMENT2,   \
	  "blue")                                                                                      \
	X(redblue_segment_self_contacts, RB_RESULT_CONTACTS, RB_CONTACT, RB_SEGMENT2, "lines",         \
	  RB_SEGMENT2, NULL)                                                                           \
	X(redblue_triangle_self_intersections, RB_RESULT_DIMENSIONS, RB_SELF_INTERSECT, RB_TRIANGLE3,  \
	  "mesh", RB_TRIANGLE3, NULL)                                                                  \
	X(redblue_part_self_intersections, RB_RESULT_PARTS, RB_SELF_INTERSECT, RB_TRIANGLE3, "mesh",   \
	  RB_TRIANGLE3, NULL)                                                                          \
	X(redblue_triangle_pairs_within, RB_RESULT_DISTANCES, RB_WITHIN, RB_TRIANGLE3, "red",          \
	  RB_TRIANGLE3, "blue")                                                                        \
	X(redblue_triangle_self_pairs_within, RB_RESULT_DISTANCES, RB_WITHIN, RB_TRIANGLE3, "mesh",    \
	  RB_TRIANGLE3, NULL)                                                                          \
	X(redblue_segment_triangle_pairs_within, RB_RESULT_DISTANCES, RB_WITHIN, RB_SEGMENT3,          \
	  "segments", RB_TRIANGLE3, "triangles")                                                       \
	X(redblue_segment_pairs_within, RB_RESULT_DISTANCES, RB_WITHIN, RB_SEGMENT2, "red",            \
	  RB_SEGMENT2, "blue")                                                                         \
	X(redblue_points_in_solids, RB_RESULT_SIDES, RB_RAY_PARITY, RB_POINT3, "points", RB_TRIANGLE3, \
	  "solids")                                                                                    \
	X(redblue_triangle_nearest, RB_RESULT_NEAREST, RB_NEAREST, RB_TRIANGLE3, "red", RB_TRIANGLE3,  \
	  "blue")                                                                                      \
	X(redblue_segment_first_hits, RB_RESULT_FIRST_HITS, RB_FIRST_HITS, RB_SEGMENT3, "segments",    \
	  RB_TRIANGLE3, "triangles")                                                                   \
	X(redblue_solid_pairs, RB_RESULT_RELATIONS, RB_RELATION, RB_TRIANGLE3, "red", RB_TRIANGLE3,    \
	  "blue")                                                                                      \
	X(redblue_segments_in_solids, RB_RESULT_STRETCHES, RB_INSIDE, RB_SEGMENT3, "segments",         \
	  RB_TRIANGLE3, "solids")                                                                      \
	X(redblue_solid_overlaps, RB_RESULT_OVERLAPS, RB_OVERLAP, RB_TRIANGLE3, "red", RB_TRIANGLE3,   \
	  "blue")                                                                                      \
	X(redblue_solid_self_overlaps, RB_RESULT_OVERLAPS, RB_OVERLAP, RB_TRIANGLE3, "solids",         \
	  RB_TRIANGLE3, NULL)                                                                          \
	X(redblue_boxes_in_solids, RB_RESULT_CUBOIDS, RB_CUBOID, RB_BOX3, "boxes", RB_TRIANGLE3,       \
	  "solids")                                                                                    \
	X(redblue_polygon_overlaps, RB_RESULT_AREAS, RB_AREA, RB_EDGE2, "red", RB_EDGE2, "blue")       \
	X(redblue_polygon_self_overlaps, RB_RESULT_AREAS, RB_AREA, RB_EDGE2, "polygons", RB_EDGE2,     \
	  NULL)                                                                                        \
	X(redblue_lines_in_polygons, RB_RESULT_LENGTHS, RB_LENGTH, RB_SEGMENT2, "lines", RB_EDGE2,     \
	  "polygons")                                                                                  \
	X(redblue_solid_check, RB_RESULT_SOLIDS, RB_VALIDITY, RB_TRIANGLE3, "solids", RB_TRIANGLE3,    \
	  NULL)                                                                                        \
	X(redblue_solid_measures, RB_RESULT_MEASURES, RB_MEASURES, RB_TRIANGLE3, "solids",             \
	  RB_TRIANGLE3, NULL)                                                                          \
	X(redblue_segment_self_pairs_within, RB_RESULT_DISTANCES, RB_WITHIN, RB_SEGMENT2, "lines",     \
	  RB_SEGMENT2, NULL)

/* Joins that return geometries (redblue_postgis) */
#define RB_SHAPE_JOINS(X)                                                                        \
	X(redblue_triangle_intersections, RB_RESULT_SHAPES, RB_MEET, RB_TRIANGLE3, "red",            \
	  RB_TRIANGLE3, "blue")                                                                      \
	X(redblue_segment_triangle_intersections, RB_RESULT_SPANS, RB_MEET, RB_SEGMENT3, "segments", \
	  RB_TRIANGLE3, "triangles")                                                                 \
	X(redblue_segment_intersections, RB_RESULT_SHAPES, RB_MEET, RB_SEGMENT2, "red", RB_SEGMENT2, \
	  "blue")                                                                                    \
	X(redblue_sections, RB_RESULT_SECTIONS, RB_SECTION, RB_TRIANGLE3, "solids", RB_TRIANGLE3,    \
	  "planes")                                                                                  \
	X(redblue_solid_intersections, RB_RESULT_SOLID_INTERSECTIONS, RB_RELATION, RB_TRIANGLE3,     \
	  "red", RB_TRIANGLE3, "blue")                                                               \
	X(redblue_solid_differences, RB_RESULT_SOLID_DIFFERENCES, RB_RELATION, RB_TRIANGLE3, "red",  \
	  RB_TRIANGLE3, "blue")

/* Joins that count the pairs within a distance */
#define RB_COUNT_JOINS(X)                                                                        \
	X(redblue_triangle_pair_count_within, RB_RESULT_COUNT, RB_WITHIN, RB_TRIANGLE3, "red",       \
	  RB_TRIANGLE3, "blue")                                                                      \
	X(redblue_triangle_self_pair_count_within, RB_RESULT_COUNT, RB_WITHIN, RB_TRIANGLE3, "mesh", \
	  RB_TRIANGLE3, NULL)                                                                        \
	X(redblue_segment_triangle_pair_count_within, RB_RESULT_COUNT, RB_WITHIN, RB_SEGMENT3,       \
	  "segments", RB_TRIANGLE3, "triangles")                                                     \
	X(redblue_segment_pair_count_within, RB_RESULT_COUNT, RB_WITHIN, RB_SEGMENT2, "red",         \
	  RB_SEGMENT2, "blue")                                                                       \
	X(redblue_segment_self_pair_count_within, RB_RESULT_COUNT, RB_WITHIN, RB_SEGMENT2, "lines",  \
	  RB_SEGMENT2, NULL)

#define RB_DEFINE(name, result, query, keys, answer, predicate, red_kind, red, blue_kind, blue) \
	static const rb_join join_##name = {#name,       query,  keys,     {red_kind, blue_kind},   \
										{red, blue}, result, predicate};                        \
	extern Datum name(PG_FUNCTION_ARGS);                                                        \
	PG_FUNCTION_INFO_V1(name);                                                                  \
	Datum name(PG_FUNCTION_ARGS)                                                                \
	{                                                                                           \
		return answer(fcinfo, &join_##name);                                                    \
	}
#define RB_DEFINE_BOTH(name, result, answer, ...)              \
	RB_DEFINE(name, result, false, false, answer, __VA_ARGS__) \
	RB_DEFINE(name##_query, result, true, false, answer, __VA_ARGS__)
#define RB_DEFINE_ALL(name, ...)                                                                   \
	RB_DEFINE_BOTH(name##_pairs, RB_RESULT_PAIRS, return_join_rows, __VA_ARGS__)                   \
	RB_DEFINE(name##_pairs_by_key, RB_RESULT_PAIRS, false, true, return_pairs_by_key, __VA_ARGS__) \
	RB_DEFINE_BOTH(name##_pair_count, RB_RESULT_COUNT, return_pair_count, __VA_ARGS__)             \
	RB_DEFINE_BOTH(name##_pair_blocks, RB_RESULT_BLOCKS, return_join_rows, __VA_ARGS__)

RB_JOINS(RB_DEFINE_ALL)

#define RB_DEFINE_TELLING(name, result, ...) \
	RB_DEFINE_BOTH(name, result, return_join_rows, __VA_ARGS__)
RB_TELLING_JOINS(RB_DEFINE_TELLING)

#define RB_DEFINE_SHAPES(name, result, ...) \
	RB_DEFINE_BOTH(name, result, return_join_rows, __VA_ARGS__)
RB_SHAPE_JOINS(RB_DEFINE_SHAPES)

#define RB_DEFINE_COUNT(name, result, ...) \
	RB_DEFINE_BOTH(name, result, return_pair_count, __VA_ARGS__)
RB_COUNT_JOINS(RB_DEFINE_COUNT)

#define RB_ENTRY(name) {name, &join_##name},
#define RB_ENTRIES(name) RB_ENTRY(name) RB_ENTRY(name##_query)
#define RB_ALL_ENTRIES(name, ...) \
	RB_ENTRIES(name##_pairs)      \
	RB_ENTRY(name##_pairs_by_key) \
	RB_ENTRIES(name##_pair_count) \
	RB_ENTRIES(name##_pair_blocks)

#define RB_TELLING_ENTRIES(name, ...) RB_ENTRIES(name)

static const struct
{
	PGFunction function;
	const rb_join *join;
} functions[] = {RB_JOINS(RB_ALL_ENTRIES) RB_TELLING_JOINS(RB_TELLING_ENTRIES)
					 RB_SHAPE_JOINS(RB_TELLING_ENTRIES) RB_COUNT_JOINS(RB_TELLING_ENTRIES)};

const rb_join *
rb_join_of(PGFunction function)
{
	for (size_t i = 0; i < lengthof(functions); i++)
		if (functions[i].function == function)
			return functions[i].join;
	return NULL;
}

/* ---- exact predicates: functions of float8 that return -1, 0 or 1 ---- */

/*
 * Reads all arguments as points of `dims` dimensions, named a, b, c ..., and checks that they are
 * finite.
 */
static void
get_predicate_points(FunctionCallInfo fcinfo, int dims, double *x, const char *function)
{
	for (int i = 0; i < PG_NARGS(); i++)
	{
		x[i] = PG_GETARG_FLOAT8(i);
		if (!isfinite(x[i]))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("%s: argument \"%c%c\" must be finite, but is %s", function,
							'a' + i / dims, "xyz"[i % dims], isnan(x[i]) ? "NaN" : "infinite")));
	}
}

PG_FUNCTION_INFO_V1(redblue_orient2d);

Datum
redblue_orient2d(PG_FUNCTION_ARGS)
{
	double x[6];

	get_predicate_points(fcinfo, 2, x, "redblue_orient2d");
	PG_RETURN_INT32(rb_orient2d(x, x + 2, x + 4));
}

PG_FUNCTION_INFO_V1(redblue_orient3d);

Datum
redblue_orient3d(PG_FUNCTION_ARGS)
{
	double x[12];

	get_predicate_points(fcinfo, 3, x, "redblue_orient3d");
	PG_RETURN_INT32(rb_orient3d(x, x + 3, x + 6, x + 9));
}

PG_FUNCTION_INFO_V1(redblue_incircle);

Datum
redblue_incircle(PG_FUNCTION_ARGS)
{
	double x[8];

	get_predicate_points(fcinfo, 2, x, "redblue_incircle");
	PG_RETURN_INT32(rb_incircle(x, x + 2, x + 4, x + 6));
}

PG_FUNCTION_INFO_V1(redblue_insphere);

Datum
redblue_insphere(PG_FUNCTION_ARGS)
{
	double x[15];

	get_predicate_points(fcinfo, 3, x, "redblue_insphere");
	PG_RETURN_INT32(rb_insphere(x, x + 3, x + 6, x + 9, x + 12));
}
