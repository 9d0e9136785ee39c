/*
 * join_arguments.c
 *	  Converts the arguments of an SQL function into the sources of its sides.
 */
#include "pg/base/arguments.h"
#include "pg/func/func.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include <math.h>

/* ---- the arguments of each family of functions ---- */

/* Returns the names of the arguments in SQL order (rb_arguments_bind). */
static const char *
list_join_arguments(const rb_join *join)
{
	const bool faces = rb_join_has_faces(join);

	if (join->keys)
		return faces ? "* *_key *_geom *_object face_tolerance tile_low tile_high"
					 : "* *_key *_geom *_object tile_low tile_high";
	switch (join->predicate)
	{
		case RB_WITHIN:
			return faces ? "* distance *_id *_geom *_object face_tolerance tile_low tile_high"
						 : "* distance *_id *_geom *_object tile_low tile_high";
		case RB_NEAREST:
			return "* k max_distance *_id *_geom *_object face_tolerance";
		case RB_FIRST_HITS:
			return "* limit_hits *_id *_geom *_object face_tolerance";
		case RB_RAY_PARITY:
		case RB_INSIDE:
			return "* *_id *_geom solid face_tolerance on_bad tile_low tile_high";
		case RB_CUBOID:
			return "* *_id *_geom solid face_tolerance on_bad azimuth dip plunge origin rotation "
				   "tile_low tile_high";
		case RB_SECTION:
			return "* *_id *_geom solid face_tolerance on_bad flat";
		case RB_RELATION:
			return rb_join_has_tile(join)
					   ? "* *_id *_geom *_solid face_tolerance on_bad tile_low tile_high"
					   : "* *_id *_geom *_solid face_tolerance on_bad";
		case RB_OVERLAP:
			return rb_join_sides(join) == 1
					   ? "* *_id *_geom solid face_tolerance on_bad contact depth min_volume tile_low tile_high"
					   : "* *_id *_geom *_solid face_tolerance on_bad contact depth min_volume tile_low tile_high";
		case RB_AREA:
		case RB_LENGTH:
			return "* *_id *_geom on_bad tile_low tile_high";
		case RB_VALIDITY:
			return "* *_id *_geom solid face_tolerance";
		case RB_MEASURES:
			return "* *_id *_geom solid face_tolerance on_bad";
		default:
			return faces ? "* *_id *_geom *_object face_tolerance tile_low tile_high"
						 : "* *_id *_geom *_object tile_low tile_high";
	}
}

/*
 * Returns true if the SQL function is from redblue 0.1.0, whose functions have other arguments, and
 * binds those. Such a function calls this library after the library is installed, until ALTER
 * EXTENSION ... UPDATE replaces the function.
 */
static bool
bind_arguments_of_0_1(const rb_join *join, int count, rb_arguments *a)
{
	const int sides = rb_join_sides(join);

	if (join->predicate != RB_MEET || join->keys ||
		(join->result != RB_RESULT_PAIRS && join->result != RB_RESULT_COUNT))
		return false;
	rb_arguments_bind(a, join->function, "*", join->side, sides, a->value);
	for (int i = 0; !join->query && i < sides; i++)
		rb_arguments_append(a, "*_id *_geom", &join->side[i], 1);
	return a->n == count;
}

/*
 * Binds the names of the arguments of an SQL function, whose number shows the version of the
 * function.
 */
static void
bind_join_arguments(const rb_join *join, Oid function, const NullableDatum *args, rb_arguments *a)
{
	/* Arguments that a plan has added do not count. */
	const int count = get_func_nargs(function);
	int expected;

	rb_arguments_bind(a, join->function, list_join_arguments(join), join->side, rb_join_sides(join),
					  args);
	expected = a->n;
	if (count == expected || bind_arguments_of_0_1(join, count, a))
		return;
	ereport(ERROR, (errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
					errmsg("%s: the SQL function has %d arguments, but the library expects %d",
						   join->function, count, expected),
					errhint("Run ALTER EXTENSION redblue UPDATE; to install the functions of the "
							"library's version, %s.",
							RB_VERSION)));
}

/* ---- values ---- */

/* Reads the distance of a join: 0 if it has none, infinity if there is no limit. */
static double
read_distance_argument(const rb_join *join, const rb_arguments *a)
{
	if (rb_join_has_distance(join))
		return rb_distance_read(rb_argument(a, "distance"), a->function, "distance");
	if (!rb_join_is_nearest(join))
		return 0;
	return rb_argument(a, "max_distance")->isnull
			   ? INFINITY
			   : rb_distance_read(rb_argument(a, "max_distance"), a->function, "max_distance");
}

/* Reads the maximum number of rows for each row of the first side, or returns 0 for other joins. */
static uint32
read_limit_argument(const rb_join *join, const rb_arguments *a)
{
	const bool nearest = rb_join_is_nearest(join);
	const char *name = nearest ? "k" : "limit_hits";
	int32 k;

	if (!rb_join_is_ranked(join))
		return 0;
	k = DatumGetInt32(rb_argument_required(a, name));
	if (k < 1)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: invalid value for argument \"%s\": %d", join->function, name, k),
			 nearest
				 ? errdetail(
					   "The number of neighbors to return for each row of %s must be 1 or more.",
					   join->side[0])
				 : errdetail("The number of hits to return for each row of %s must be 1 or more.",
							 join->side[0])));
	return (uint32) k;
}

/* Reads which faces count as contact of an overlap. */
static rb_contact_faces
read_contact_argument(const rb_join *join, const rb_arguments *a)
{
	static const char *const names[] = {
		[RB_FACES_BOTH] = "both", [RB_FACES_AGAINST] = "against", [RB_FACES_FLUSH] = "flush"};
	const char *value;

	if (join->predicate != RB_OVERLAP || rb_argument(a, "contact")->isnull)
		return RB_FACES_BOTH;
	value = TextDatumGetCString(rb_argument(a, "contact")->value);
	for (size_t i = 0; i < lengthof(names); i++)
		if (strcmp(value, names[i]) == 0)
			return (rb_contact_faces) i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: invalid value for argument \"contact\": \"%s\"", join->function, value),
			 errhint("Available values: both, against, flush.")));
}

/* Reads the least volume of an overlap: 0 if there is none. */
static double
read_min_volume_argument(const rb_join *join, const rb_arguments *a)
{
	double min_volume;

	if (join->predicate != RB_OVERLAP || rb_argument(a, "min_volume")->isnull)
		return 0;
	min_volume = DatumGetFloat8(rb_argument(a, "min_volume")->value);
	if (!(min_volume >= 0 && isfinite(min_volume)))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: invalid value for argument \"min_volume\": %g", join->function,
							   min_volume),
						errdetail("The volume must be finite, 0 or more, in cubic units of the "
								  "coordinates.")));
	return min_volume == 0 ? 0 : min_volume; /* Turn -0 into 0 */
}

/* Reads the tile. The dimensions of boxes are not known yet; sides.c checks them. */
static void
read_tile_argument(const rb_join *join, const rb_arguments *a, rb_box *tile)
{
	const int dims = rb_kind_dims(join->kind[0]);

	rb_tile_read(rb_argument(a, "tile_low"), join->function, tile);
	if (tile->dims != 0 && tile->dims != dims && join->kind[0] != RB_BOX3)
		rb_tile_refuse_dims(join->function, tile, dims);
}

/* Reads the axes of a block model; a tile of rotated blocks is refused. */
static void
read_frame_argument(const rb_join *join, const rb_arguments *a, rb_call_args *call)
{
	if (join->predicate != RB_CUBOID)
		return;
	rb_frame_read(a, &call->frame);
	if (call->frame.rotated && call->tile.dims != 0)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s: a tile cannot be combined with the axes of a block model", join->function),
			 errhint("Use redblue_boxes_in_solids_query, and select some of the blocks in "
					 "the query.")));
}

/* Returns true if a side has polygons, whose rows cannot be grouped into objects. */
static bool
has_side_polygons(const rb_source *s)
{
	return s->kind == RB_EDGE2;
}

/*
 * Returns true if only one side has solids (rb_join_solid_side). Another side then has no object
 * column.
 */
static bool
is_one_solid(const rb_join *join)
{
	return rb_join_has_solids(join) && (!rb_join_relates_solids(join) || rb_join_sides(join) == 1);
}

/* Reads the columns of a side that identify its rows and the objects that they form. */
static void
read_column_arguments(const rb_join *join, const rb_arguments *a, rb_source *s)
{
	const char *object =
		rb_join_has_polygons(join) ? ""
		: is_one_solid(join)
			? (s->solid ? "solid" : "")
			: psprintf("%s_%s", s->side, rb_join_has_solids(join) ? "solid" : "object");

	s->geom_name = rb_argument_column(a, psprintf("%s_geom", s->side), NULL);
	if (join->keys)
	{
		const char *key = rb_argument_text(a, psprintf("%s_key", s->side));
		const char *objects = rb_argument_text(a, object);

		s->keys = rb_keys_create(objects != NULL ? objects : key, objects != NULL);
		return;
	}
	s->id_name = rb_argument_column(a, psprintf("%s_id", s->side), NULL);
	s->object_name = rb_argument_column(a, object, NULL);
}

/* Reads the arguments of one side into its source. */
static void
read_side_arguments(const rb_join *join, const rb_arguments *a, double tolerance, int side,
					rb_call_args *call)
{
	rb_source *s = &call->source[side];
	const Datum rows = rb_argument(a, join->side[side])->value;

	s->function = join->function;
	s->side = join->side[side];
	s->kind = join->kind[side];
	s->query = join->query;
	s->face_tolerance = tolerance;
	s->solid =
		rb_join_has_solids(join) && (!is_one_solid(join) || side == rb_join_solid_side(join));
	s->only_rows = (is_one_solid(join) && !s->solid) || rb_join_has_polygons(join);
	s->count_faces = join->predicate == RB_VALIDITY;
	s->leave_out = (s->solid && (call->skip_bad || join->predicate == RB_VALIDITY)) ||
				   (has_side_polygons(s) && call->skip_bad);
	s->blocks = join->predicate == RB_CUBOID && side == 0;
	s->planes = join->predicate == RB_SECTION && side == 1;
	s->tile = call->tile;
	s->distance = call->distance;
	read_column_arguments(join, a, s);
	if (join->query)
		rb_source_query(s, TextDatumGetCString(rows));
	else
		rb_source_table(s, DatumGetObjectId(rows));
	if (!join->query && rb_columns_are_other(RelationGetDescr(s->rel), s))
		s->kind = rb_source_other_kind(s);
}

void
rb_call_args_read(const rb_join *join, Oid function, const NullableDatum *args, rb_call_args *call)
{
	rb_arguments a;
	double tolerance;

	bind_join_arguments(join, function, args, &a);
	memset(call, 0, sizeof *call);
	tolerance = rb_argument_tolerance(&a);
	call->distance = read_distance_argument(join, &a);
	call->nearest = read_limit_argument(join, &a);
	call->skip_bad = rb_argument_choice(&a, "on_bad", "error", "skip");
	call->flat = join->predicate == RB_SECTION && !rb_argument(&a, "flat")->isnull &&
				 DatumGetBool(rb_argument(&a, "flat")->value);
	call->contact = read_contact_argument(join, &a);
	call->depth = join->predicate == RB_OVERLAP && !rb_argument(&a, "depth")->isnull &&
				  DatumGetBool(rb_argument(&a, "depth")->value);
	call->min_volume = read_min_volume_argument(join, &a);
	read_tile_argument(join, &a, &call->tile);
	read_frame_argument(join, &a, call);
	for (int i = 0; i < rb_join_sides(join); i++)
		(void) rb_argument_required(&a, join->side[i]);
	for (int i = 0; i < rb_join_sides(join); i++)
		read_side_arguments(join, &a, tolerance, i, call);
}
