/*
 * tetrahedra_functions.c
 *	  Converts the arguments of a mesh function to the sources of its sides and to options.
 *	  Implements redblue_tetrahedra, which returns a mesh as rows, and redblue_tetrahedralize, which
 *	  stores it in four tables.
 *
 * Any side may be omitted, but one of facets, points and segments must be given. Rows of facets may
 * share an id: they are facets of one object. If the mesh is stored, an extra column may name the
 * solid of each facet. If it is refined, there are also sizes, and extra columns with the maximum
 * volume of tetrahedra for regions and sizes.
 *
 * A row of redblue_tetrahedra contains the coordinates of the corners in addition to their numbers,
 * because there is no table in which to look up the numbers. Volumes, boxes and sections can thus
 * be computed from the row alone, and corners with the same number are the same point.
 */
#include "pg/mesh/meshing.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include <math.h>

/* ---- arguments ---- */

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
	const char *argument;
	rb_meshing_side side;
	bool integer;
} number_column[RB_MESH_NUMBERS] = {
	[RB_MESH_SOLID] = {"solid", RB_MESH_FACETS, true},
	[RB_MESH_REGION_VOLUME] = {"regions_volume", RB_MESH_REGIONS, false},
	[RB_MESH_SIZE] = {"sizes_volume", RB_MESH_SIZES, false}};

void
rb_meshing_arguments_bind(rb_arguments *a, const char *function, const char *list,
						  const NullableDatum *args)
{
	const char *sides[RB_MESH_GIVEN];

	for (int i = 0; i < RB_MESH_GIVEN; i++)
		sides[i] = side_of[i].name;
	rb_arguments_bind(a, function, list, sides, RB_MESH_GIVEN, args);
}

/* ---- arguments: options of refinement ---- */

/*
 * Reads the argument of a mesh function that names an extra column of a side, such as the volume
 * of a region; the side must be given.
 */
static void
read_extra_column_of_mesh_side(rb_meshing_call *call, const rb_arguments *a,
							   rb_meshing_number number)
{
	const char *argument = number_column[number].argument;
	const char *side = side_of[number_column[number].side].name;
	rb_extra_column *column = &call->number[number];

	column->integer = number_column[number].integer;
	column->name =
		rb_argument_column(a, argument, psprintf("Specify the name of a column of %s.", side));
}

/* Raises an ERROR if an argument is given without its side. */
static void
check_side_given(const rb_arguments *a, rb_meshing_number number)
{
	const char *argument = number_column[number].argument;
	const char *side = side_of[number_column[number].side].name;

	if (!rb_argument(a, argument)->isnull && rb_argument(a, side)->isnull)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: argument \"%s\" requires argument \"%s\"", a->function,
							   argument, side)));
}

/*
 * Returns a positive number that is an argument of a mesh function. It may be infinite, and NULL
 * means infinity.
 */
static double
read_positive_mesh_argument(const rb_arguments *a, const char *name, const char *what)
{
	const NullableDatum *arg = rb_argument(a, name);
	const double x = arg->isnull ? INFINITY : DatumGetFloat8(arg->value);

	if (!(x > 0))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: invalid value for argument \"%s\": %g", a->function, name, x),
						errdetail("%s", what)));
	return x;
}

/* Radius-edge ratio of a regular tetrahedron, sqrt(6) / 4, which is the smallest possible one */
#define MIN_RADIUS_EDGE 0.6123724356957945

/*
 * Reads the argument radius_edge of a mesh function that refines, the maximum ratio of
 * circumradius to shortest edge.
 */
static double
read_radius_edge_of_refinement(const rb_arguments *a)
{
	const double x = read_positive_mesh_argument(
		a, "radius_edge",
		"The argument is the maximum ratio of a tetrahedron's circumradius to "
		"its shortest edge; it must be greater than 0.");

	if (x < MIN_RADIUS_EDGE)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: invalid value for argument \"radius_edge\": %g", a->function, x),
			 errdetail(
				 "The ratio of a regular tetrahedron is %g, and no tetrahedron has a smaller ratio.",
				 MIN_RADIUS_EDGE),
			 errhint("Use 2, which can be reached everywhere except near sharp angles of the "
					 "input.  A value below 2 needs more points, and refinement may not "
					 "terminate.")));
	return x;
}

/* Reads the argument max_points of a mesh function that refines. */
static uint64
read_max_points_of_refinement(const rb_arguments *a)
{
	const NullableDatum *arg = rb_argument(a, "max_points");
	const int64 n = arg->isnull ? 1 : DatumGetInt64(arg->value);

	if (n <= 0)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: invalid value for argument \"max_points\": " INT64_FORMAT, a->function, n),
			 errdetail("The argument is the maximum number of vertices, including those of the "
					   "input; it must be 1 or more.")));
	return arg->isnull ? 0 : (uint64) n;
}

/* Largest min_dihedral in degrees; all angles of a regular tetrahedron are 70.5 */
#define MOST_DIHEDRAL 60

/* Reads the argument min_dihedral of a mesh function that refines; NULL means 0. */
static double
read_min_dihedral_of_refinement(const rb_arguments *a)
{
	const NullableDatum *arg = rb_argument(a, "min_dihedral");
	const double x = arg->isnull ? 0 : DatumGetFloat8(arg->value);

	if (!(x >= 0 && x <= MOST_DIHEDRAL))
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: invalid value for argument \"min_dihedral\": %g", a->function, x),
			 errdetail("The argument is the smallest dihedral angle of a tetrahedron in degrees; "
					   "it must be between 0 and %d.",
					   MOST_DIHEDRAL),
			 errhint("Use 10, which can be reached nearly everywhere except near sharp angles of "
					 "the input, or 0 to keep all angles.")));
	return x;
}

/* Reads the arguments of a mesh function that are options of refinement. */
static void
read_options_of_refinement(rb_meshing_call *call, const rb_arguments *a)
{
	const NullableDatum *keep = rb_argument(a, "keep_surface");

	call->refine = true;
	call->options.radius_edge = read_radius_edge_of_refinement(a);
	call->options.max_volume = read_positive_mesh_argument(
		a, "max_volume",
		"The argument is the maximum volume of a tetrahedron; it must be greater than 0.");
	call->options.max_points = read_max_points_of_refinement(a);
	call->options.min_dihedral = read_min_dihedral_of_refinement(a);
	call->options.keep_surface = !keep->isnull && DatumGetBool(keep->value);
	for (int i = RB_MESH_REGION_VOLUME; i < RB_MESH_NUMBERS; i++)
		check_side_given(a, (rb_meshing_number) i);
	for (int i = RB_MESH_REGION_VOLUME; i < RB_MESH_NUMBERS; i++)
		read_extra_column_of_mesh_side(call, a, (rb_meshing_number) i);
	if (call->number[RB_MESH_SIZE].name == NULL)
		call->number[RB_MESH_SIZE].name = "volume";
}

/* Reads the arguments about solids. */
static void
read_solid_arguments(rb_meshing_call *call, const rb_arguments *a)
{
	check_side_given(a, RB_MESH_SOLID);
	read_extra_column_of_mesh_side(call, a, RB_MESH_SOLID);
	call->by_solid = call->number[RB_MESH_SOLID].name != NULL;
	call->skip_bad = rb_argument_choice(a, "on_bad", "error", "skip");
}

/* Checks that a call with solids has no sides except facets and sizes. */
static void
check_sides_of_solids(const rb_meshing_call *call)
{
	for (int i = RB_MESH_POINTS; call->by_solid && i < RB_MESH_GIVEN; i++)
		if (call->at[i] >= 0)
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("%s: argument \"solid\" cannot be combined with argument \"%s\"",
								   call->function, side_of[i].name),
							errhint("Omit that argument, or mesh each solid in a separate call.")));
}

/* ---- arguments: the call ---- */

void
rb_meshing_side_read(rb_meshing_call *call, const rb_arguments *a, const char *name, bool query,
					 double tolerance, rb_meshing_side i)
{
	const NullableDatum *rows = rb_argument(a, name);
	rb_source *s = &call->source[call->sides];

	call->at[i] = -1;
	if (rows->isnull)
		return;
	s->function = a->function;
	s->what = call->repair ? RB_REPAIR_WHAT : RB_MESH_WHAT;
	s->side = name;
	s->kind = side_of[i].kind;
	s->query = query;
	s->id_name = rb_argument_column(a, psprintf("%s_id", s->side), NULL);
	s->geom_name = rb_argument_column(a, psprintf("%s_geom", s->side), NULL);
	s->face_tolerance = tolerance;
	s->face_share = RB_MESH_FACE_TOLERANCE;
	s->only_rows = true;
	s->polygons = s->kind == RB_TRIANGLE3;
	s->many_points = s->kind == RB_POINT3;
	s->leave_out = call->skip_bad && call->by_solid && i == RB_MESH_FACETS;
	/* Bypass the cache, because the side is read once and used briefly. */
	s->again = true;
	for (int k = 0; k < RB_MESH_NUMBERS; k++)
		if (number_column[k].side == i && call->number[k].name != NULL)
			s->beside = &call->number[k];
	if (query)
		rb_source_query(s, TextDatumGetCString(rows->value));
	else
		rb_source_table(s, DatumGetObjectId(rows->value));
	s->unique = true; /* Uniqueness of ids does not matter */
	call->at[i] = call->sides++;
}

/* ---- arguments: welding and merging ---- */

double
rb_meshing_weld_read(const rb_arguments *a)
{
	const NullableDatum *arg = rb_argument(a, "weld");

	return arg->isnull ? 0 : rb_distance_read(arg, a->function, "weld");
}

/*
 * Returns the value of a mesh function's argument that may have any type, as text, or NULL. A
 * literal without a type is a C string.
 */
static const char *
read_mesh_argument_as_text(const rb_arguments *a, FmgrInfo *called, const char *name)
{
	const NullableDatum *arg = rb_argument(a, name);
	const Oid type = get_fn_expr_argtype(called, (int) (arg - a->value));
	Oid output;
	bool varlena;

	if (arg->isnull)
		return NULL;
	if (!OidIsValid(type))
		elog(ERROR, "%s: could not determine the type of argument \"%s\"", a->function, name);
	getTypeOutputInfo(type, &output, &varlena);
	return OidOutputFunctionCall(output, arg->value);
}

/* Reads which facets are merged: a word, or an angle in degrees. */
static rb_merging
read_merging(const rb_arguments *a, FmgrInfo *called)
{
	const char *value = read_mesh_argument_as_text(a, called, "merge");
	rb_merging merge = {RB_MERGE_COPLANAR, 0};
	char *end;

	if (value == NULL || strcmp(value, "coplanar") == 0)
		return merge;
	merge.kind = strcmp(value, "none") == 0 ? RB_MERGE_NONE : RB_MERGE_NEARLY_FLAT;
	if (merge.kind == RB_MERGE_NONE)
		return merge;
	merge.degrees = strtod(value, &end);
	if (end == value || *end != '\0' || !(merge.degrees > 0 && merge.degrees <= RB_MERGE_LARGEST))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: invalid value for argument \"merge\": \"%s\"", a->function, value),
				 errdetail("An angle in degrees must be greater than 0 and at most %g.",
						   RB_MERGE_LARGEST),
				 errhint("Available values: coplanar, none, or an angle such as 0.1.")));
	return merge;
}

rb_meshing_call *
rb_meshing_call_read(const rb_arguments *a, FmgrInfo *called, bool query, bool refine)
{
	rb_meshing_call *call = palloc0(sizeof *call);
	double tolerance;

	call->function = a->function;
	if (refine)
		read_options_of_refinement(call, a);
	read_solid_arguments(call, a);
	tolerance = rb_argument_tolerance(a);
	for (int i = 0; i < RB_MESH_SIDES; i++)
		rb_meshing_side_read(call, a, side_of[i].name, query, tolerance, (rb_meshing_side) i);
	call->keep = rb_argument_choice(a, "keep", "inside", "hull") ? RB_KEEP_HULL : RB_KEEP_INSIDE;
	call->split = rb_argument_choice(a, "on_crossing", "error", "split");
	call->merge = read_merging(a, called);
	call->weld = rb_meshing_weld_read(a);
	check_sides_of_solids(call);
	return call;
}

/* Raises an error if no facets, points or segments are given. */
static void
check_any_side_given(const rb_meshing_call *call)
{
	if (call->at[RB_MESH_FACETS] < 0 && call->at[RB_MESH_POINTS] < 0 &&
		call->at[RB_MESH_SEGMENTS] < 0)
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("%s: no facets, points or segments are given", call->function),
						errhint("Specify at least one of these arguments.")));
}

/* ---- rows ---- */

enum
{
	TETRAHEDRON_COLUMNS = 18 /* id, v1 to v4, region, x1 to z4 */
};

/* Writes the tetrahedra as result rows. */
static void
store_tetrahedra(const rb_meshing_run *run, ReturnSetInfo *rsinfo)
{
	const rb_tets *tets = &run->part->tets;
	bool nulls[TETRAHEDRON_COLUMNS] = {false};

	for (uint32 i = 0; i < tets->ntets; i++)
	{
		Datum values[TETRAHEDRON_COLUMNS];

		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		values[0] = Int64GetDatum((int64) i + 1);
		values[5] = Int64GetDatum(tets->region[i]);
		for (int k = 0; k < 4; k++)
		{
			const uint32 v = tets->tets[i][k];

			values[1 + k] = Int64GetDatum((int64) v + 1);
			for (int j = 0; j < 3; j++)
				values[6 + 3 * k + j] = Float8GetDatum(tets->points[3 * (size_t) v + j]);
		}
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
}

/* Builds a mesh and returns its tetrahedra. */
static Datum
return_tetrahedra(FunctionCallInfo fcinfo, const char *function, bool query)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext caller;
	rb_arguments a;
	rb_meshing_call *call;
	rb_meshing_run *run;
	double start;

	InitMaterializedSRF(fcinfo, 0);
	caller = rb_call_enter();
	rb_meshing_arguments_bind(&a, function, "* " RB_MESH_ARGUMENTS, fcinfo->args);
	call = rb_meshing_call_read(&a, fcinfo->flinfo, query, false);
	check_any_side_given(call);
	run = rb_meshing_open(call, CurrentMemoryContext);
	rb_meshing_read(run);
	rb_meshing_work(run, rb_meshing_make);
	start = rb_now_ms();
	store_tetrahedra(run, rsinfo);
	rb_meshing_notices(run);
	rb_meshing_report(run, run->part->tets.ntets, rb_now_ms() - start);
	rb_call_leave(caller);
	return (Datum) 0;
}

/* ---- tables ---- */

/* Returns the counts and times of a mesh as a row. */
static Datum
make_mesh_counts_row(FunctionCallInfo fcinfo, const rb_meshing_run *run, double fill_ms)
{
	const rb_meshing_sums s = rb_meshing_sum(run);
	const uint64 counts[] = {s.vertices,
							 s.tets,
							 s.faces,
							 s.edges,
							 s.added[RB_VERTEX_ON_SEGMENT],
							 s.added[RB_VERTEX_ON_FACET],
							 s.added[RB_VERTEX_INSIDE],
							 s.crossings,
							 s.regions,
							 run->nparts};
	const double ms[] = {run->ms[RB_STAGE_READ],
						 run->ms[RB_MESH_WELD],
						 run->ms[RB_MESH_VALIDATE],
						 s.ms_points,
						 s.ms_segments,
						 s.ms_facets,
						 s.ms_regions,
						 fill_ms};

	return rb_meshing_counts_row(fcinfo, counts, lengthof(counts), ms, lengthof(ms));
}

/* Builds a mesh, stores it and returns its counts. */
static Datum
return_counts(FunctionCallInfo fcinfo, const char *function, bool query)
{
	rb_arguments a;
	rb_meshing_table tables[RB_MESH_TABLES];
	MemoryContext caller;
	MemoryContext own;
	rb_meshing_call *call;
	rb_meshing_run *run;
	uint64 rows;
	double start;
	const char *mesh;
	Datum result;

	caller = rb_call_enter();
	rb_meshing_arguments_bind(&a, function, RB_MESH_STORE_ARGUMENTS " solid on_bad", fcinfo->args);
	mesh = TextDatumGetCString(rb_argument_required(&a, "mesh"));
	call = rb_meshing_call_read(&a, fcinfo->flinfo, query, false);
	rb_meshing_tables_name(tables, function, mesh, call->by_solid);
	check_any_side_given(call);
	run = rb_meshing_open(call, CurrentMemoryContext);
	rb_meshing_read(run);
	/*
	 * Create the tables before the long work, but after reading the sides, which must not be these
	 * tables.
	 */
	rb_meshing_tables_make(tables, function);
	if (call->by_solid)
	{
		run->options.threads = rb_threads(UINT64_MAX);
		rb_meshing_make_solids(run);
	}
	else
		rb_meshing_work(run, rb_meshing_make);
	start = rb_now_ms();
	rows = rb_meshing_fill(run, tables);
	rb_meshing_notices(run);
	rb_meshing_report(run, rows, rb_now_ms() - start);
	own = MemoryContextSwitchTo(caller);
	result = make_mesh_counts_row(fcinfo, run, rb_now_ms() - start);
	MemoryContextDelete(own);
	return result;
}

/* ---- SQL functions ---- */

#define RB_DEFINE(name, answer, query)       \
	extern Datum name(PG_FUNCTION_ARGS);     \
	PG_FUNCTION_INFO_V1(name);               \
	Datum name(PG_FUNCTION_ARGS)             \
	{                                        \
		return answer(fcinfo, #name, query); \
	}

RB_DEFINE(redblue_tetrahedra, return_tetrahedra, false)
RB_DEFINE(redblue_tetrahedra_query, return_tetrahedra, true)
RB_DEFINE(redblue_tetrahedralize, return_counts, false)
RB_DEFINE(redblue_tetrahedralize_query, return_counts, true)
