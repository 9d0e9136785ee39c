/*
 * functions.c
 *	  Lists the joins that SQL can call, one line per function.
 *
 * A line gives the function's name, its predicate, and for each side the kind of the objects and
 * the name of the argument. A self join has one side. All other code is common to all joins
 * (arguments.c, execution.c, cursor.c, results.c, function_scan.c).
 */
#include "pg/func/func.h"

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
	X(redblue_solid_pairs, RB_RESULT_RELATIONS, RB_RELATION, RB_TRIANGLE3, "red", RB_TRIANGLE3,    \
	  "blue")                                                                                      \
	X(redblue_segments_in_solids, RB_RESULT_STRETCHES, RB_INSIDE, RB_SEGMENT3, "segments",         \
	  RB_TRIANGLE3, "solids")                                                                      \
	X(redblue_solid_check, RB_RESULT_SOLIDS, RB_VALIDITY, RB_TRIANGLE3, "solids", RB_TRIANGLE3,    \
	  NULL)                                                                                        \
	X(redblue_segment_self_pairs_within, RB_RESULT_DISTANCES, RB_WITHIN, RB_SEGMENT2, "lines",     \
	  RB_SEGMENT2, NULL)

/* Joins that return the intersections of pairs (redblue_postgis) */
#define RB_SHAPE_JOINS(X)                                                                        \
	X(redblue_triangle_intersections, RB_RESULT_SHAPES, RB_MEET, RB_TRIANGLE3, "red",            \
	  RB_TRIANGLE3, "blue")                                                                      \
	X(redblue_segment_triangle_intersections, RB_RESULT_SPANS, RB_MEET, RB_SEGMENT3, "segments", \
	  RB_TRIANGLE3, "triangles")                                                                 \
	X(redblue_segment_intersections, RB_RESULT_SHAPES, RB_MEET, RB_SEGMENT2, "red", RB_SEGMENT2, \
	  "blue")

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
#define RB_DEFINE_ALL(name, ...)                                                         \
	RB_DEFINE_BOTH(name##_pairs, RB_RESULT_PAIRS, rb_return_rows, __VA_ARGS__)           \
	RB_DEFINE(name##_pairs_by_key, RB_RESULT_PAIRS, false, true, rb_return_pairs_by_key, \
			  __VA_ARGS__)                                                               \
	RB_DEFINE_BOTH(name##_pair_count, RB_RESULT_COUNT, rb_return_count, __VA_ARGS__)     \
	RB_DEFINE_BOTH(name##_pair_blocks, RB_RESULT_BLOCKS, rb_return_rows, __VA_ARGS__)

RB_JOINS(RB_DEFINE_ALL)

#define RB_DEFINE_TELLING(name, result, ...) \
	RB_DEFINE_BOTH(name, result, rb_return_rows, __VA_ARGS__)
RB_TELLING_JOINS(RB_DEFINE_TELLING)

#define RB_DEFINE_SHAPES(name, result, ...) \
	RB_DEFINE_BOTH(name, result, rb_return_rows, __VA_ARGS__)
RB_SHAPE_JOINS(RB_DEFINE_SHAPES)

#define RB_DEFINE_COUNT(name, result, ...) \
	RB_DEFINE_BOTH(name, result, rb_return_count, __VA_ARGS__)
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
