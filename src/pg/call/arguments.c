/*
 * arguments.c
 *	  Converts the arguments of an SQL function into the sources of its sides.
 *
 *	red, blue | distance | red_id, blue_id | red_geom, blue_geom | red_object, blue_object |
 *		face_tolerance
 *	red, blue | k, max_distance | ...
 *
 * Each kind of argument occurs once per side. face_tolerance is present only if a side has faces,
 * and the distance only if the function compares distances. In the functions by key, red_key and
 * blue_key replace red_id and blue_id. If rows are solids, the object column is called the solid
 * column. If only the last side has solids, the other side has no such column:
 *
 *	points, solids | points_id, solids_id | points_geom, solids_geom | solid |
 *		face_tolerance | on_bad
 *	red, blue | red_id, blue_id | red_geom, blue_geom | red_solid, blue_solid |
 *		face_tolerance | on_bad
 *
 * The last arguments are tile_low and tile_high, if the join can be restricted to a tile
 * (rb_join_has_tile).
 */
#include "pg/base/box_arguments.h"
#include "pg/call/call.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include <float.h>
#include <math.h>

/* Kinds of arguments that occur once per side, in their order */
enum
{
	ARGUMENT_ROWS, /* Table or query */
	ARGUMENT_ID,   /* Id or key column */
	ARGUMENT_GEOM,
	ARGUMENT_OBJECT,
	ARGUMENTS_OF_A_SIDE
};

static const char *const suffixes[ARGUMENTS_OF_A_SIDE] = {"", "id", "geom", "object"};

/* Arguments of one side */
typedef struct side_arguments
{
	const rb_join *join;
	const NullableDatum *args;
	int side;
} side_arguments;

/* Returns true if only the last side has solids. */
static bool
is_one_solid(const rb_join *join)
{
	return rb_join_has_solids(join) && join->predicate != RB_RELATION;
}

/* Returns the number of arguments between the sides and their columns. */
static int
own_arguments(const rb_join *join)
{
	return rb_join_has_distance(join) ? 1 : rb_join_is_nearest(join) ? 2 : 0;
}

/* Returns the position of the first argument of a kind. */
static int
argument_position(const rb_join *join, int what)
{
	const int sides = rb_join_sides(join);

	return what * sides + (what > ARGUMENT_ROWS ? own_arguments(join) : 0) -
		   (what > ARGUMENT_OBJECT && is_one_solid(join) ? sides - 1 : 0);
}

static const NullableDatum *
get_argument(const side_arguments *c, int what)
{
	static const NullableDatum none = {0, true};

	if (what == ARGUMENT_OBJECT && is_one_solid(c->join))
		return c->side == rb_join_sides(c->join) - 1 ? &c->args[argument_position(c->join, what)]
													 : &none;
	return &c->args[argument_position(c->join, what) + c->side];
}

static const char *
argument_name(const side_arguments *c, int what)
{
	const char *suffix = what == ARGUMENT_ID && c->join->keys                     ? "key"
						 : what == ARGUMENT_OBJECT && rb_join_has_solids(c->join) ? "solid"
																				  : suffixes[what];

	if (what == ARGUMENT_OBJECT && is_one_solid(c->join))
		return suffix;
	return psprintf("%s_%s", c->join->side[c->side], suffix);
}

static void
check_not_empty(const side_arguments *c, int what, const char *value)
{
	if (value[0] == '\0')
		rb_refuse_empty(c->join->function, argument_name(c, what));
}

/* Returns an optional column name, or NULL if it is not given. */
static const char *
name_argument(const side_arguments *c, int what)
{
	const NullableDatum *arg = get_argument(c, what);

	if (arg->isnull)
		return NULL;
	check_not_empty(c, what, NameStr(*DatumGetName(arg->value)));
	return NameStr(*DatumGetName(arg->value));
}

/* Returns an optional list of column names, or NULL if it is not given. */
static const char *
list_argument(const side_arguments *c, int what)
{
	const NullableDatum *arg = get_argument(c, what);
	const char *list;

	if (arg->isnull)
		return NULL;
	list = TextDatumGetCString(arg->value);
	check_not_empty(c, what, list);
	return list;
}

static rb_keys *
keys_argument(const side_arguments *c)
{
	const char *key = list_argument(c, ARGUMENT_ID);
	const char *object = list_argument(c, ARGUMENT_OBJECT);

	return rb_keys_create(object != NULL ? object : key, object != NULL);
}

static double
tolerance_argument(const rb_join *join, const NullableDatum *args)
{
	const NullableDatum *arg = &args[argument_position(join, ARGUMENTS_OF_A_SIDE)];
	double tolerance;

	if (!rb_join_has_faces(join) || arg->isnull)
		return -1;
	tolerance = DatumGetFloat8(arg->value);
	if (!(tolerance >= 0))
		rb_refuse_tolerance(join->function, tolerance);
	return tolerance;
}

/* Returns the distance. It is optional for nearest neighbors. */
static double
distance_argument(const rb_join *join, const NullableDatum *args)
{
	const bool nearest = rb_join_is_nearest(join);
	const char *name = nearest ? "max_distance" : "distance";
	const NullableDatum *arg = &args[rb_join_sides(join) + nearest];
	double distance;

	if (!rb_join_has_distance(join) && !nearest)
		return 0;
	if (arg->isnull && nearest)
		return INFINITY;
	if (arg->isnull)
		rb_refuse_null_argument(join->function, name);
	distance = DatumGetFloat8(arg->value);
	if (!(distance >= 0 && distance <= DBL_MAX))
		rb_refuse_distance(join->function, name, distance);
	return distance == 0 ? 0 : distance; /* Turn -0 into 0 */
}

static uint32
nearest_argument(const rb_join *join, const NullableDatum *args)
{
	const NullableDatum *arg = &args[rb_join_sides(join)];

	if (!rb_join_is_nearest(join))
		return 0;
	if (arg->isnull)
		rb_refuse_null_argument(join->function, "k");
	if (DatumGetInt32(arg->value) < 1)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: invalid value for argument \"k\": %d", join->function,
					DatumGetInt32(arg->value)),
			 errdetail("The number of neighbors to return for each row of %s must be 1 or more.",
					   join->side[0])));
	return (uint32) DatumGetInt32(arg->value);
}

static bool
skip_argument(const rb_join *join, const NullableDatum *args)
{
	const NullableDatum *arg = &args[argument_position(join, ARGUMENTS_OF_A_SIDE) + 1];
	const char *what;

	if (!rb_join_has_solids(join) || join->predicate == RB_VALIDITY || arg->isnull)
		return false;
	what = TextDatumGetCString(arg->value);
	if (strcmp(what, "skip") != 0 && strcmp(what, "error") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: invalid value for argument \"on_bad\": \"%s\"", join->function, what),
				 errhint("Available values: error, skip.")));
	return strcmp(what, "skip") == 0;
}

/* Returns the position of the tile arguments, which follow those of the sides. */
static int
tile_place(const rb_join *join)
{
	return argument_position(join, ARGUMENTS_OF_A_SIDE) + (rb_join_has_faces(join) ? 1 : 0) +
		   (rb_join_has_solids(join) && join->predicate != RB_VALIDITY ? 1 : 0);
}

/* Reads the tile. The dimensions of boxes are not known yet; sides.c checks them. */
static void
tile_argument(const rb_join *join, const NullableDatum *args, rb_box *tile)
{
	const int dims = rb_kind_dims(join->kind[0]);

	tile->dims = 0;
	if (!rb_join_has_tile(join))
		return;
	rb_tile_read(&args[tile_place(join)], join->function, tile);
	if (tile->dims != 0 && tile->dims != dims && join->kind[0] != RB_BOX3)
		rb_tile_refuse_dims(join->function, tile, dims);
}

static void
read_arguments(const rb_join *join, const NullableDatum *args, rb_call_args *call)
{
	const double tolerance = tolerance_argument(join, args);
	side_arguments c = {join, args, 0};

	memset(call, 0, sizeof *call);
	call->distance = distance_argument(join, args);
	call->nearest = nearest_argument(join, args);
	call->skip_bad = skip_argument(join, args);
	tile_argument(join, args, &call->tile);
	for (c.side = 0; c.side < rb_join_sides(join); c.side++)
		if (get_argument(&c, ARGUMENT_ROWS)->isnull)
			rb_refuse_null_argument(join->function, join->side[c.side]);
	for (c.side = 0; c.side < rb_join_sides(join); c.side++)
	{
		rb_source *s = &call->source[c.side];

		s->function = join->function;
		s->side = join->side[c.side];
		s->kind = join->kind[c.side];
		s->query = join->query;
		s->geom_name = name_argument(&c, ARGUMENT_GEOM);
		s->face_tolerance = tolerance;
		s->solid =
			rb_join_has_solids(join) && (!is_one_solid(join) || c.side == rb_join_sides(join) - 1);
		s->only_rows = is_one_solid(join) && !s->solid;
		s->count_faces = join->predicate == RB_VALIDITY;
		s->leave_out = s->solid && (call->skip_bad || join->predicate == RB_VALIDITY);
		s->tile = call->tile;
		s->distance = call->distance;
		if (join->keys)
			s->keys = keys_argument(&c);
		else
		{
			s->id_name = name_argument(&c, ARGUMENT_ID);
			s->object_name = name_argument(&c, ARGUMENT_OBJECT);
		}
		if (join->query)
			rb_source_query(s, TextDatumGetCString(get_argument(&c, ARGUMENT_ROWS)->value));
		else
			rb_source_table(s, DatumGetObjectId(get_argument(&c, ARGUMENT_ROWS)->value));
	}
}

/* Returns the number of arguments. */
static int
arguments_of(const rb_join *join)
{
	return tile_place(join) + (rb_join_has_tile(join) ? 2 : 0);
}

/*
 * Returns true if the SQL function is from redblue 0.1.0. Such a function calls this library after
 * it is installed and until ALTER EXTENSION ... UPDATE replaces the function. Its arguments were
 *
 *	red, blue | red_id, red_geom | blue_id, blue_geom
 *
 * and, in the query functions, only the queries.
 */
static bool
is_of_first_version(const rb_join *join, int count)
{
	return join->predicate == RB_MEET && !join->keys &&
		   (join->result == RB_RESULT_PAIRS || join->result == RB_RESULT_COUNT) &&
		   count == rb_join_sides(join) * (join->query ? 1 : 3);
}

static void
arguments_of_first_version(const rb_join *join, const NullableDatum *args, NullableDatum *to)
{
	const int sides = rb_join_sides(join);

	for (int i = 0; i < arguments_of(join); i++)
		to[i] = (NullableDatum){0, true};
	for (int side = 0; side < sides; side++)
	{
		to[argument_position(join, ARGUMENT_ROWS) + side] = args[side];
		if (join->query)
			continue;
		to[argument_position(join, ARGUMENT_ID) + side] = args[sides + 2 * side];
		to[argument_position(join, ARGUMENT_GEOM) + side] = args[sides + 2 * side + 1];
	}
}

/*
 * Identifies the version of the SQL function by its definition. Arguments that a plan has added do
 * not count.
 */
void
rb_call_args_read(const rb_join *join, Oid function, const NullableDatum *args, rb_call_args *call)
{
	const int count = get_func_nargs(function);
	NullableDatum *now;

	if (count == arguments_of(join))
	{
		read_arguments(join, args, call);
		return;
	}
	if (!is_of_first_version(join, count))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
				 errmsg("%s: the SQL function has %d arguments, but the library expects %d",
						join->function, count, arguments_of(join)),
				 errhint("Run ALTER EXTENSION redblue UPDATE; to install the functions of the "
						 "library's version, %s.",
						 RB_VERSION)));
	now = palloc(arguments_of(join) * sizeof *now);
	arguments_of_first_version(join, args, now);
	read_arguments(join, now, call);
}
