/*
 * arguments.c
 *	  What an SQL function was called with becomes the sources of its sides.
 *
 *		red, blue | red_id, blue_id | red_geom, blue_geom | red_object, blue_object | face_tolerance
 *
 * Of each kind there is one for each side, and the last only where a side has faces.  In
 * the functions by key red_key and blue_key take the place of red_id and blue_id.
 */
#include "pg/base/rb_pg.h"

#include "utils/builtins.h"

#include <math.h>

/* kinds of arguments that each side has one of, in their order */
enum
{
	ARGUMENT_ROWS, /* a table or a query */
	ARGUMENT_ID,   /* or key */
	ARGUMENT_GEOM,
	ARGUMENT_OBJECT,
	ARGUMENTS_OF_A_SIDE
};

static const char *const suffixes[ARGUMENTS_OF_A_SIDE] = {"", "id", "geom", "object"};

typedef struct call
{
	const rb_join *join;
	const NullableDatum *args;
	int side;
} call;

static const NullableDatum *
argument(const call *c, int what)
{
	return &c->args[what * rb_join_sides(c->join) + c->side];
}

static void
check_not_empty(const call *c, int what, const char *value)
{
	if (value[0] == '\0')
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: argument \"%s_%s\" is an empty string", c->join->function,
							   c->join->side[c->side],
							   what == ARGUMENT_ID && c->join->keys ? "key" : suffixes[what]),
						errhint("Leave the argument out to have the column found.")));
}

/* an optional column name: NULL where it was left out */
static const char *
name_argument(const call *c, int what)
{
	const NullableDatum *arg = argument(c, what);

	if (arg->isnull)
		return NULL;
	check_not_empty(c, what, NameStr(*DatumGetName(arg->value)));
	return NameStr(*DatumGetName(arg->value));
}

/* an optional list of column names */
static const char *
list_argument(const call *c, int what)
{
	const NullableDatum *arg = argument(c, what);
	const char *list;

	if (arg->isnull)
		return NULL;
	list = TextDatumGetCString(arg->value);
	check_not_empty(c, what, list);
	return list;
}

static rb_keys *
keys_argument(const call *c)
{
	const char *key = list_argument(c, ARGUMENT_ID);
	const char *object = list_argument(c, ARGUMENT_OBJECT);

	return rb_keys_create(object != NULL ? object : key, object != NULL);
}

static double
tolerance_argument(const rb_join *join, const NullableDatum *args)
{
	const NullableDatum *arg = &args[ARGUMENTS_OF_A_SIDE * rb_join_sides(join)];
	double tolerance;

	if (!rb_join_has_faces(join) || arg->isnull)
		return -1;
	tolerance = DatumGetFloat8(arg->value);
	if (!(tolerance >= 0))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: argument \"face_tolerance\" is %g", join->function, tolerance),
						errdetail("It is a distance, in the unit of the coordinates.")));
	return tolerance;
}

void
rb_join_sources(const rb_join *join, const NullableDatum *args, rb_source *source)
{
	const double tolerance = tolerance_argument(join, args);
	call c = {join, args, 0};

	for (c.side = 0; c.side < rb_join_sides(join); c.side++)
		if (argument(&c, ARGUMENT_ROWS)->isnull)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s: argument \"%s\" is null", join->function, join->side[c.side])));
	for (c.side = 0; c.side < rb_join_sides(join); c.side++)
	{
		rb_source *s = &source[c.side];

		memset(s, 0, sizeof *s);
		s->function = join->function;
		s->side = join->side[c.side];
		s->kind = join->kind[c.side];
		s->query = join->query;
		s->geom_name = name_argument(&c, ARGUMENT_GEOM);
		s->face_tolerance = tolerance;
		if (join->keys)
			s->keys = keys_argument(&c);
		else
		{
			s->id_name = name_argument(&c, ARGUMENT_ID);
			s->object_name = name_argument(&c, ARGUMENT_OBJECT);
		}
		if (join->query)
			rb_source_query(s, TextDatumGetCString(argument(&c, ARGUMENT_ROWS)->value));
		else
			rb_source_table(s, DatumGetObjectId(argument(&c, ARGUMENT_ROWS)->value));
	}
}
