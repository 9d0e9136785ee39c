/*
 * arguments.c
 *	  What an SQL function was called with becomes the sources of its sides.
 */
#include "pg/base/rb_pg.h"

#include "utils/builtins.h"

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

		memset(&source[i], 0, sizeof source[i]);
		source[i].function = join->function;
		source[i].side = join->side[i];
		source[i].kind = join->kind[i];
		source[i].query = join->query;
		if (join->query)
			rb_source_query(&source[i], TextDatumGetCString(args[i].value));
		else
			rb_source_table(&source[i], DatumGetObjectId(args[i].value),
							name_argument(&names[0], join, i, "id"),
							name_argument(&names[1], join, i, "geom"));
	}
}
