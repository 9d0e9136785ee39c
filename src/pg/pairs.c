/*
 * pairs.c
 *	  The joins as functions: tables or queries in, pairs of ids out, or their number.
 *
 *		redblue_triangle_pairs('ore', 'tunnel')
 *
 *		 ore                     tunnel                       red_id | blue_id
 *		 id | ax | ay ... | cz   id | geom              ->   --------+---------
 *		 ---+----+--------+----  ---+------------------           17 |     802
 *		 17 |  0 |  0 ... |  9   802| TIN Z (...)                 17 |     803
 *
 * A function is one line in the lists at the end of this file: its name, whether it takes
 * queries, what its arguments are called and what they hold.
 */
#include "rb_pg.h"

#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

/* ---- arguments ---- */

static void
refuse_null(const rb_join *join, const char *argument)
{
	ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					errmsg("%s: argument \"%s\" is null", join->function, argument)));
}

/* an optional column name: NULL where it was left out */
static const char *
name_argument(const NullableDatum *arg, const rb_join *join, int side, const char *what)
{
	const char *name;

	if (arg->isnull)
		return NULL;
	name = NameStr(*DatumGetName(arg->value));
	if (name[0] == '\0')
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: argument \"%s_%s\" is an empty string", join->function,
							   join->side[side], what),
						errhint("Leave the argument out to have the column found.")));
	return name;
}

/* (red, blue, red_id, red_geom, blue_id, blue_geom); the query forms end after blue */
void
rb_join_sources(const rb_join *join, const NullableDatum *args, rb_source *source)
{
	int sides = rb_join_sides(join);

	for (int i = 0; i < sides; i++)
		if (args[i].isnull)
			refuse_null(join, join->side[i]);
	for (int i = 0; i < sides; i++)
	{
		const NullableDatum *names = &args[sides + 2 * i];

		if (join->query)
			rb_source_query(&source[i], join, i, TextDatumGetCString(args[i].value));
		else
			rb_source_table(&source[i], join, i, DatumGetObjectId(args[i].value),
							name_argument(&names[0], join, i, "id"),
							name_argument(&names[1], join, i, "geom"));
	}
}

/* ---- rows ---- */

/* all pairs into the tuplestore; the executor wants a set whole or row by row */
static void
store_pairs(rb_run *run, ReturnSetInfo *rsinfo)
{
	bool no_nulls[2] = {false, false};
	int64 red[RB_BLOCK];
	int64 blue[RB_BLOCK];
	rb_batch batch;

	while (rb_run_next(run, &batch))
	{
		double start = rb_clock_ms();

		for (size_t at = 0; at < batch.n; at += RB_BLOCK)
		{
			int n = (int) Min((size_t) RB_BLOCK, batch.n - at);

			CHECK_FOR_INTERRUPTS();
			rb_run_ids(run, &batch.pairs[at], n, red, blue);
			for (int i = 0; i < n; i++)
			{
				Datum values[2];

				values[0] = Int64GetDatum(red[i]);
				values[1] = Int64GetDatum(blue[i]);
				tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, no_nulls);
			}
		}
		run->emit_ms += rb_clock_ms() - start;
	}
}

/*
 * Whatever a call needs is in a context of its own, which goes when the call ends:
 * the contexts around it may live on for many calls.  An ERROR takes it along with them.
 */
static MemoryContext
enter_call(void)
{
	return MemoryContextSwitchTo(
		AllocSetContextCreate(CurrentMemoryContext, "redblue call", ALLOCSET_DEFAULT_SIZES));
}

static void
leave_call(MemoryContext caller)
{
	MemoryContextDelete(MemoryContextSwitchTo(caller));
}

static Datum
return_pairs(FunctionCallInfo fcinfo, const rb_join *join)
{
	rb_source source[2];
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext caller;
	rb_run *run;

	InitMaterializedSRF(fcinfo, 0);
	caller = enter_call();
	rb_join_sources(join, fcinfo->args, source);
	run = rb_run_open(join, source, CurrentMemoryContext);
	store_pairs(run, rsinfo);
	leave_call(caller);
	return (Datum) 0;
}

/* runs the join to its end; it makes no pairs of rows where each row has one part */
static Datum
return_count(FunctionCallInfo fcinfo, const rb_join *join)
{
	rb_source source[2];
	MemoryContext caller = enter_call();
	rb_batch batch;
	rb_run *run;
	int64 count;

	rb_join_sources(join, fcinfo->args, source);
	run = rb_run_open(join, source, CurrentMemoryContext);
	while (rb_run_next(run, &batch))
		;
	count = (int64) run->ctx.stats.stage[RB_STAGE_EMIT].count;
	leave_call(caller);
	return Int64GetDatum(count);
}

/* ---- the functions ---- */

#define TABLE false
#define QUERY true

#define RB_FUNCTIONS(X)                                                                          \
	X(redblue_triangle_pairs, TABLE, RB_TRIANGLE3, "red", RB_TRIANGLE3, "blue")                  \
	X(redblue_triangle_pairs_query, QUERY, RB_TRIANGLE3, "red", RB_TRIANGLE3, "blue")            \
	X(redblue_triangle_self_pairs, TABLE, RB_TRIANGLE3, "mesh", RB_TRIANGLE3, NULL)              \
	X(redblue_triangle_self_pairs_query, QUERY, RB_TRIANGLE3, "mesh", RB_TRIANGLE3, NULL)        \
	X(redblue_segment_triangle_pairs, TABLE, RB_SEGMENT3, "segments", RB_TRIANGLE3, "triangles") \
	X(redblue_segment_triangle_pairs_query, QUERY, RB_SEGMENT3, "segments", RB_TRIANGLE3,        \
	  "triangles")                                                                               \
	X(redblue_segment_pairs, TABLE, RB_SEGMENT2, "red", RB_SEGMENT2, "blue")                     \
	X(redblue_segment_pairs_query, QUERY, RB_SEGMENT2, "red", RB_SEGMENT2, "blue")               \
	X(redblue_segment_self_pairs, TABLE, RB_SEGMENT2, "lines", RB_SEGMENT2, NULL)                \
	X(redblue_segment_self_pairs_query, QUERY, RB_SEGMENT2, "lines", RB_SEGMENT2, NULL)          \
	X(redblue_box_pairs, TABLE, RB_BOX3, "red", RB_BOX3, "blue")                                 \
	X(redblue_box_pairs_query, QUERY, RB_BOX3, "red", RB_BOX3, "blue")                           \
	X(redblue_box_self_pairs, TABLE, RB_BOX3, "boxes", RB_BOX3, NULL)                            \
	X(redblue_box_self_pairs_query, QUERY, RB_BOX3, "boxes", RB_BOX3, NULL)

/* the same joins, of which only the number of pairs is wanted */
#define RB_COUNTS(X)                                                                           \
	X(redblue_triangle_pair_count, TABLE, RB_TRIANGLE3, "red", RB_TRIANGLE3, "blue")           \
	X(redblue_triangle_pair_count_query, QUERY, RB_TRIANGLE3, "red", RB_TRIANGLE3, "blue")     \
	X(redblue_triangle_self_pair_count, TABLE, RB_TRIANGLE3, "mesh", RB_TRIANGLE3, NULL)       \
	X(redblue_triangle_self_pair_count_query, QUERY, RB_TRIANGLE3, "mesh", RB_TRIANGLE3, NULL) \
	X(redblue_box_pair_count, TABLE, RB_BOX3, "red", RB_BOX3, "blue")                          \
	X(redblue_box_pair_count_query, QUERY, RB_BOX3, "red", RB_BOX3, "blue")                    \
	X(redblue_box_self_pair_count, TABLE, RB_BOX3, "boxes", RB_BOX3, NULL)                     \
	X(redblue_box_self_pair_count_query, QUERY, RB_BOX3, "boxes", RB_BOX3, NULL)

#define RB_DEFINE(name, query, red_kind, red, blue_kind, blue, count, answer)                     \
	static const rb_join join_##name = {#name, query, {red_kind, blue_kind}, {red, blue}, count}; \
	extern Datum name(PG_FUNCTION_ARGS);                                                          \
	PG_FUNCTION_INFO_V1(name);                                                                    \
	Datum name(PG_FUNCTION_ARGS)                                                                  \
	{                                                                                             \
		return answer(fcinfo, &join_##name);                                                      \
	}
#define RB_DEFINE_PAIRS(name, query, red_kind, red, blue_kind, blue) \
	RB_DEFINE(name, query, red_kind, red, blue_kind, blue, false, return_pairs)
#define RB_DEFINE_COUNT(name, query, red_kind, red, blue_kind, blue) \
	RB_DEFINE(name, query, red_kind, red, blue_kind, blue, true, return_count)

#define RB_ENTRY(name, query, red_kind, red, blue_kind, blue) {name, &join_##name},

RB_FUNCTIONS(RB_DEFINE_PAIRS)
RB_COUNTS(RB_DEFINE_COUNT)

static const struct
{
	PGFunction function;
	const rb_join *join;
} functions[] = {RB_FUNCTIONS(RB_ENTRY) RB_COUNTS(RB_ENTRY)};

const rb_join *
rb_join_of(PGFunction function)
{
	for (size_t i = 0; i < lengthof(functions); i++)
		if (functions[i].function == function)
			return functions[i].join;
	return NULL;
}

const rb_join *
rb_join_named(const char *function)
{
	for (size_t i = 0; i < lengthof(functions); i++)
		if (strcmp(functions[i].join->function, function) == 0)
			return functions[i].join;
	return NULL;
}
