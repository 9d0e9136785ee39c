/*
 * arguments.c
 *	  Converts the arguments of a mesh function to the sources of its sides.
 *
 *	facets, points, segments, regions, holes | facets_id, ... | facets_geom, ... | face_tolerance
 *
 * Any side may be omitted, but one of the first three must be given. Rows of facets may share an
 * id: they are facets of one object. If the mesh is refined, there are also sizes, and extra
 * columns: the solid of each facet, and the maximum volume of tetrahedra for regions and sizes.
 */
#include "pg/base/box_arguments.h"
#include "pg/mesh/meshing.h"

#include "utils/builtins.h"

#include <math.h>

static const struct
{
	const char *name;
	rb_kind kind;
} side_of[RB_MESH_SIDES] = {
	[RB_MESH_FACETS] = {"facets", RB_TRIANGLE3},    [RB_MESH_POINTS] = {"points", RB_POINT3},
	[RB_MESH_SEGMENTS] = {"segments", RB_SEGMENT3}, [RB_MESH_REGIONS] = {"regions", RB_POINT3},
	[RB_MESH_HOLES] = {"holes", RB_POINT3},         [RB_MESH_SIZES] = {"sizes", RB_POINT3}};

static const struct
{
	rb_meshing_side side;
	bool integer;
} number_of[RB_MESH_NUMBERS] = {[RB_MESH_SOLID] = {RB_MESH_FACETS, true},
								[RB_MESH_REGION_VOLUME] = {RB_MESH_REGIONS, false},
								[RB_MESH_SIZE] = {RB_MESH_SIZES, false}};

/* Returns an optional column name, or NULL if it was omitted. */
static const char *
name_argument(const char *function, const char *side, const char *what, const NullableDatum *arg)
{
	const char *name;

	if (arg->isnull)
		return NULL;
	name = NameStr(*DatumGetName(arg->value));
	if (name[0] == '\0')
		rb_refuse_empty(function, psprintf("%s_%s", side, what));
	return name;
}

static double
tolerance_argument(const char *function, const NullableDatum *arg)
{
	double tolerance;

	if (arg->isnull)
		return -1;
	tolerance = DatumGetFloat8(arg->value);
	if (!(tolerance >= 0))
		rb_refuse_tolerance(function, tolerance);
	return tolerance;
}

void
rb_meshing_call_sides(rb_meshing_call *call, const char *function, bool query,
					  const NullableDatum *args, int n)
{
	const double tolerance = tolerance_argument(function, &args[3 * n]);

	call->function = function;
	for (int i = 0; i < RB_MESH_SIDES; i++)
	{
		rb_source *s = &call->source[call->sides];

		call->at[i] = -1;
		if (i >= n || args[i].isnull)
			continue;
		s->function = function;
		s->what = RB_MESH_WHAT;
		s->side = side_of[i].name;
		s->kind = side_of[i].kind;
		s->query = query;
		s->id_name = name_argument(function, s->side, "id", &args[n + i]);
		s->geom_name = name_argument(function, s->side, "geom", &args[2 * n + i]);
		s->face_tolerance = tolerance;
		s->face_share = RB_MESH_FACE_TOLERANCE;
		s->only_rows = true;
		s->polygons = s->kind == RB_TRIANGLE3;
		s->many_points = s->kind == RB_POINT3;
		s->leave_out = call->skip_bad && call->by_solid && i == RB_MESH_FACETS;
		/* Bypass the cache, because the side is read once and used briefly. */
		s->again = true;
		for (int k = 0; k < RB_MESH_NUMBERS; k++)
			if (number_of[k].side == (rb_meshing_side) i && call->number[k].name != NULL)
				s->beside = &call->number[k];
		if (query)
			rb_source_query(s, TextDatumGetCString(args[i].value));
		else
			rb_source_table(s, DatumGetObjectId(args[i].value));
		s->unique = true; /* Uniqueness of ids does not matter */
		call->at[i] = call->sides++;
	}
}

void
rb_meshing_call_keep(rb_meshing_call *call, const NullableDatum *arg)
{
	const char *what = arg->isnull ? "inside" : TextDatumGetCString(arg->value);

	if (strcmp(what, "inside") != 0 && strcmp(what, "hull") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: invalid value for argument \"keep\": \"%s\"", call->function, what),
				 errhint("Available values: inside, hull.")));
	call->keep = strcmp(what, "hull") == 0 ? RB_KEEP_HULL : RB_KEEP_INSIDE;
}

void
rb_meshing_call_not_empty(const rb_meshing_call *call)
{
	if (call->at[RB_MESH_FACETS] < 0 && call->at[RB_MESH_POINTS] < 0 &&
		call->at[RB_MESH_SEGMENTS] < 0)
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("%s: no facets, points or segments are given", call->function),
						errhint("Specify at least one of these arguments.")));
}

void
rb_meshing_call_crossing(rb_meshing_call *call, const NullableDatum *arg)
{
	const char *what = arg->isnull ? "error" : TextDatumGetCString(arg->value);

	if (strcmp(what, "error") != 0 && strcmp(what, "split") != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: invalid value for argument \"on_crossing\": \"%s\"",
							   call->function, what),
						errhint("Available values: error, split.")));
	call->split = strcmp(what, "split") == 0;
}

/* ---- arguments of refinement ---- */

void
rb_meshing_call_number(rb_meshing_call *call, rb_meshing_number number, const char *argument,
					   const NullableDatum *name)
{
	rb_extra_column *beside = &call->number[number];

	beside->integer = number_of[number].integer;
	if (name->isnull)
		return;
	beside->name = NameStr(*DatumGetName(name->value));
	if (beside->name[0] == '\0')
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: argument \"%s\" must not be an empty string", call->function, argument),
			 errhint("Specify the name of a column of %s.", side_of[number_of[number].side].name)));
}

/* Returns a positive number, which may be infinity; NULL means infinity. */
static double
positive_argument(const rb_meshing_call *call, const char *argument, const NullableDatum *arg,
				  const char *what)
{
	const double x = arg->isnull ? INFINITY : DatumGetFloat8(arg->value);

	if (!(x > 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: invalid value for argument \"%s\": %g", call->function, argument, x),
				 errdetail("%s", what)));
	return x;
}

/* Radius-edge ratio of a regular tetrahedron, sqrt(6) / 4, which is the smallest possible one */
#define MIN_RADIUS_EDGE 0.6123724356957945

void
rb_meshing_call_radius_edge(rb_meshing_call *call, const NullableDatum *arg)
{
	const double x =
		positive_argument(call, "radius_edge", arg,
						  "The argument is the maximum ratio of a tetrahedron's circumradius to "
						  "its shortest edge; it must be greater than 0.");

	if (x < MIN_RADIUS_EDGE)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: invalid value for argument \"radius_edge\": %g", call->function, x),
			 errdetail(
				 "The ratio of a regular tetrahedron is %g, and no tetrahedron has a smaller ratio.",
				 MIN_RADIUS_EDGE),
			 errhint("Use 2, which can be reached everywhere except near sharp angles of the "
					 "input. A value below 2 needs more points, and refinement may not "
					 "terminate.")));
	call->options.radius_edge = x;
}

void
rb_meshing_call_max_volume(rb_meshing_call *call, const NullableDatum *arg)
{
	call->options.max_volume = positive_argument(
		call, "max_volume", arg,
		"The argument is the maximum volume of a tetrahedron; it must be greater than 0.");
}

void
rb_meshing_call_max_points(rb_meshing_call *call, const NullableDatum *arg)
{
	const int64 n = arg->isnull ? 1 : DatumGetInt64(arg->value);

	if (n <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: invalid value for argument \"max_points\": " INT64_FORMAT,
						call->function, n),
				 errdetail("The argument is the maximum number of vertices, including those of the "
						   "input; it must be 1 or more.")));
	call->options.max_points = arg->isnull ? 0 : (uint64) n;
}

void
rb_meshing_call_on_bad(rb_meshing_call *call, const NullableDatum *arg)
{
	const char *what = arg->isnull ? "error" : TextDatumGetCString(arg->value);

	if (strcmp(what, "error") != 0 && strcmp(what, "skip") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: invalid value for argument \"on_bad\": \"%s\"", call->function, what),
				 errhint("Available values: error, skip.")));
	call->skip_bad = strcmp(what, "skip") == 0;
}
