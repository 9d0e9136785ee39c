/*
 * joins.c
 *	  The joins that SQL can ask for: a function is one line of the lists below.
 *
 * A line tells the function's name, what it asks of two objects, and of each side what
 * its objects are and what the argument is called; a self join has one side.  Everything
 * else is the same for all of them (arguments.c, run.c, pairs.c, scan.c).
 */
#include "pg/base/rb_pg.h"

/*
 * Functions that return the pairs.  Each has a form that takes query texts, of that name
 * and _query, and one that returns keys of any type, of that name and _by_key.
 */
#define RB_PAIRS(X)                                                                                \
	X(redblue_triangle_pairs, RB_MEET, RB_TRIANGLE3, "red", RB_TRIANGLE3, "blue")                  \
	X(redblue_triangle_self_pairs, RB_MEET, RB_TRIANGLE3, "mesh", RB_TRIANGLE3, NULL)              \
	X(redblue_segment_triangle_pairs, RB_MEET, RB_SEGMENT3, "segments", RB_TRIANGLE3, "triangles") \
	X(redblue_segment_pairs, RB_MEET, RB_SEGMENT2, "red", RB_SEGMENT2, "blue")                     \
	X(redblue_segment_self_pairs, RB_MEET, RB_SEGMENT2, "lines", RB_SEGMENT2, NULL)                \
	X(redblue_box_pairs, RB_MEET, RB_BOX3, "red", RB_BOX3, "blue")                                 \
	X(redblue_box_self_pairs, RB_MEET, RB_BOX3, "boxes", RB_BOX3, NULL)

/* and those that return only their number */
#define RB_COUNTS(X)                                                                       \
	X(redblue_triangle_pair_count, RB_MEET, RB_TRIANGLE3, "red", RB_TRIANGLE3, "blue")     \
	X(redblue_triangle_self_pair_count, RB_MEET, RB_TRIANGLE3, "mesh", RB_TRIANGLE3, NULL) \
	X(redblue_box_pair_count, RB_MEET, RB_BOX3, "red", RB_BOX3, "blue")                    \
	X(redblue_box_self_pair_count, RB_MEET, RB_BOX3, "boxes", RB_BOX3, NULL)

#define RB_DEFINE(name, query, keys, predicate, red_kind, red, blue_kind, blue, count, answer) \
	static const rb_join join_##name = {#name,       query, keys,     {red_kind, blue_kind},   \
										{red, blue}, count, predicate};                        \
	extern Datum name(PG_FUNCTION_ARGS);                                                       \
	PG_FUNCTION_INFO_V1(name);                                                                 \
	Datum name(PG_FUNCTION_ARGS)                                                               \
	{                                                                                          \
		return answer(fcinfo, &join_##name);                                                   \
	}
#define RB_DEFINE_PAIRS(name, ...)                                            \
	RB_DEFINE(name, false, false, __VA_ARGS__, false, rb_return_pairs)        \
	RB_DEFINE(name##_query, true, false, __VA_ARGS__, false, rb_return_pairs) \
	RB_DEFINE(name##_by_key, false, true, __VA_ARGS__, false, rb_return_pairs_by_key)
#define RB_DEFINE_COUNT(name, ...)                                    \
	RB_DEFINE(name, false, false, __VA_ARGS__, true, rb_return_count) \
	RB_DEFINE(name##_query, true, false, __VA_ARGS__, true, rb_return_count)

RB_PAIRS(RB_DEFINE_PAIRS)
RB_COUNTS(RB_DEFINE_COUNT)

#define RB_ENTRY(name, ...) {name, &join_##name}, {name##_query, &join_##name##_query},
#define RB_ENTRY_BY_KEY(name, ...) {name##_by_key, &join_##name##_by_key},

static const struct
{
	PGFunction function;
	const rb_join *join;
} functions[] = {RB_PAIRS(RB_ENTRY) RB_PAIRS(RB_ENTRY_BY_KEY) RB_COUNTS(RB_ENTRY)};

const rb_join *
rb_join_of(PGFunction function)
{
	for (size_t i = 0; i < lengthof(functions); i++)
		if (functions[i].function == function)
			return functions[i].join;
	return NULL;
}
