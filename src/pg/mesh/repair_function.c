/*
 * repair_function.c
 *	  Implements redblue_surface_repair, which returns the faces of a surface after its repair, with
 *	  what was done to each.
 *
 * If a column names the solid of each face, each solid is repaired separately, on several threads.
 */
#include "pg/mesh/meshing.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

/* Columns of the result */
enum
{
	SOLID,
	FACE,
	ID,
	CORNERS, /* Nine coordinates */
	CHANGE = CORNERS + 9,
	MOVE,
	FAULTS,
	COLUMNS
};

/* Numbers of changes of the faces of a call */
typedef struct repair_sums
{
	uint64 rows;    /* Rows of the result */
	uint64 changed; /* Rows of faces that are not as they were, or not part of the result */
	uint64 moved, split, turned, filled, doubled, no_area, merged, one_sided;
	uint64 holes[RB_HOLE_RESULTS]; /* Numbers of holes with each result */
	uint64 open_edges;
	uint64 open_solids; /* Number of solids with such edges */
	double move;
} repair_sums;

/* ---- arguments ---- */

/* Returns an argument that is true unless it is given as false. */
static bool
read_repair_option(const rb_arguments *a, const char *name)
{
	const NullableDatum *arg = rb_argument(a, name);

	return arg->isnull || DatumGetBool(arg->value);
}

/* Returns the largest number of edges of a hole that is filled; 0 if the argument is null. */
static uint32
read_fill_holes(const rb_arguments *a)
{
	const NullableDatum *arg = rb_argument(a, "fill_holes");
	const int32 most = arg->isnull ? 0 : DatumGetInt32(arg->value);

	if (most < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: invalid value for argument \"fill_holes\": %d", a->function, most),
				 errdetail("The number of edges must be 0 or more."),
				 errhint("Specify the largest number of edges of a hole that is filled, such as "
						 "fill_holes => 100, or 0 to fill none.")));
	return (uint32) most;
}

/* Reads the arguments into a call. */
static rb_meshing_call *
read_repair_call(const rb_arguments *a, bool query)
{
	rb_meshing_call *call = palloc0(sizeof *call);

	(void) rb_argument_required(a, "faces");
	call->function = a->function;
	call->repair = true;
	call->split = true; /* Errors need not suggest it */
	call->repairing = (rb_repair_options){.weld = rb_meshing_weld_read(a),
										  .split = read_repair_option(a, "split"),
										  .orient = read_repair_option(a, "orient"),
										  .fill_holes = read_fill_holes(a)};
	call->number[RB_MESH_SOLID].integer = true;
	call->number[RB_MESH_SOLID].name =
		rb_argument_column(a, "solid", "Specify the name of a column of faces.");
	call->by_solid = call->number[RB_MESH_SOLID].name != NULL;
	for (int i = 0; i < RB_MESH_SIDES; i++)
		call->at[i] = -1;
	rb_meshing_side_read(call, a, "faces", query, rb_argument_tolerance(a), RB_MESH_FACETS);
	return call;
}

/* ---- rows ---- */

/* Returns the words for what was done to a face as an array. */
static Datum
make_words_of_change(uint32 change)
{
	Datum words[32];
	int n = 0;

	for (; change != 0; change &= change - 1)
		words[n++] = CStringGetTextDatum(rb_repair_word(change));
	if (n == 0)
		words[n++] = CStringGetTextDatum("kept");
	return PointerGetDatum(construct_array(words, n, TEXTOID, -1, false, TYPALIGN_INT));
}

/* Writes the result row of a face; `number` is 0 if it was dropped. */
static void
store_repaired_face(const rb_meshing_run *run, const rb_meshing_part *part,
					const rb_repaired_face *face, uint64 number, ReturnSetInfo *rsinfo)
{
	Datum values[COLUMNS] = {0};
	bool nulls[COLUMNS] = {false};

	values[SOLID] = Int64GetDatum(part->solid);
	nulls[SOLID] = !run->call->by_solid;
	values[FACE] = Int64GetDatum((int64) number);
	nulls[FACE] = number == 0;
	nulls[ID] = face->row == RB_NONE;
	if (!nulls[ID])
		values[ID] = Int64GetDatum(rb_meshing_id(run, RB_MESH_FACETS, face->row));
	for (int i = 0; i < 9; i++)
	{
		values[CORNERS + i] = Float8GetDatum(face->corners[i]);
		nulls[CORNERS + i] = number == 0;
	}
	values[CHANGE] = make_words_of_change(face->change & ~RB_REPAIR_FAULT);
	values[MOVE] = Float8GetDatum(face->move);
	nulls[MOVE] = number == 0;
	nulls[FAULTS] = (face->change & RB_REPAIR_FAULT) == 0;
	if (!nulls[FAULTS])
		values[FAULTS] = make_words_of_change(face->change & RB_REPAIR_FAULT);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Counts what was done to a face. */
static void
count_repaired_face(repair_sums *s, uint32 change)
{
	s->rows++;
	s->changed += (change & ~RB_REPAIR_FAULT) != 0;
	s->moved += (change & RB_REPAIR_MOVED) != 0;
	s->split += (change & RB_REPAIR_SPLIT) != 0;
	s->turned += (change & RB_REPAIR_TURNED) != 0;
	s->filled += (change & RB_REPAIR_FILLED) != 0;
	s->doubled += (change & RB_REPAIR_DOUBLED) != 0;
	s->no_area += (change & RB_REPAIR_NO_AREA) != 0;
	s->merged += (change & RB_REPAIR_MERGED) != 0;
	s->one_sided += (change & RB_REPAIR_ONE_SIDED) != 0;
}

/* Writes the result rows: the faces of all solids that remain, then those that were dropped. */
static repair_sums
store_repaired_faces(const rb_meshing_run *run, ReturnSetInfo *rsinfo)
{
	MemoryContext row =
		AllocSetContextCreate(CurrentMemoryContext, "redblue face", ALLOCSET_DEFAULT_SIZES);
	repair_sums s = {0};
	uint64 number = 0;

	for (int dropped = 0; dropped < 2; dropped++)
		for (uint32 p = 0; p < run->nparts; p++)
		{
			const rb_repaired *r = &run->parts[p].repaired;
			const size_t end = dropped ? r->faces.n : r->kept;

			for (size_t i = dropped ? r->kept : 0; i < end; i++)
			{
				MemoryContext old = MemoryContextSwitchTo(row);

				CHECK_FOR_INTERRUPTS();
				count_repaired_face(&s, r->faces.at[i].change);
				store_repaired_face(run, &run->parts[p], &r->faces.at[i], dropped ? 0 : ++number,
									rsinfo);
				MemoryContextSwitchTo(old);
				MemoryContextReset(row);
			}
			for (int k = 0; k < RB_HOLE_RESULTS; k++)
				s.holes[k] += dropped ? 0 : r->holes[k];
			s.open_edges += dropped ? 0 : r->open_edges;
			s.open_solids += !dropped && r->open_edges > 0;
			s.move = Max(s.move, r->move);
		}
	return s;
}

/* ---- reports ---- */

/* Raises the notices about what was done, and about what remains. */
static void
raise_repair_notices(const rb_meshing_run *run, const repair_sums *s)
{
	const char *function = run->call->function;
	uint64 wide = 0;

	for (uint32 p = 0; p < run->nparts; p++)
		wide += run->parts[p].repaired.wide_groups;
	if (s->changed > 0)
		ereport(
			NOTICE,
			(errmsg("%s: changed " UINT64_FORMAT " of " UINT64_FORMAT " faces", function,
					s->changed, s->rows),
			 errdetail("Moved: " UINT64_FORMAT "; largest move: %g; groups that were too wide "
					   "for one vertex: " UINT64_FORMAT "; pieces of split faces: " UINT64_FORMAT
					   "; turned: " UINT64_FORMAT "; dropped as doubled: " UINT64_FORMAT
					   ", without area: " UINT64_FORMAT ", merged with others: " UINT64_FORMAT ".",
					   s->moved, s->move, wide, s->split, s->turned, s->doubled, s->no_area,
					   s->merged)));
	if (s->holes[RB_HOLE_FILLED] + s->holes[RB_HOLE_LARGE] + s->holes[RB_HOLE_FLAT] +
			s->holes[RB_HOLE_BLOCKED] >
		0)
		ereport(NOTICE, (errmsg("%s: filled " UINT64_FORMAT " holes with " UINT64_FORMAT " faces",
								function, s->holes[RB_HOLE_FILLED], s->filled),
						 errdetail("Holes that stay open: " UINT64_FORMAT
								   " with more than %u edges, " UINT64_FORMAT
								   " whose corners are collinear, " UINT64_FORMAT
								   " for which no triangles were found that cross no others.",
								   s->holes[RB_HOLE_LARGE], run->call->repairing.fill_holes,
								   s->holes[RB_HOLE_FLAT], s->holes[RB_HOLE_BLOCKED])));
	if (s->open_edges + s->one_sided > 0)
		ereport(NOTICE,
				(errmsg("%s: the surface is not closed, or cannot be oriented", function),
				 errdetail("Edges with an odd number of faces: " UINT64_FORMAT ", of " UINT64_FORMAT
						   " solids; faces on one-sided surfaces: " UINT64_FORMAT ".",
						   s->open_edges, s->open_solids, s->one_sided),
				 errhint("Select the rows where faults is not null.")));
}

/* Sets what redblue_last_run() returns. */
static void
report_repair(const rb_meshing_run *run, const repair_sums *s, double ms)
{
	rb_report report = {.backend = "cpu",
						.device = rb_count_text((uint64) run->ctx.threads, "thread")};

	rb_report_add(&report, "read", run->side[0].rows, run->ms[RB_STAGE_READ], "");
	rb_report_add(&report, "repair", s->changed,
				  run->ms[RB_MESH_WELD] + run->ms[RB_MESH_TETRAHEDRALIZE],
				  psprintf("solids: %u, filled holes: " UINT64_FORMAT ", open edges: " UINT64_FORMAT
						   ", largest move: %g",
						   run->nparts, s->holes[RB_HOLE_FILLED], s->open_edges, s->move));
	rb_report_add(&report, rb_progress_stage_name(RB_MESH_FILL), s->rows, ms,
				  psprintf("peak memory: " UINT64_FORMAT " kB",
						   (uint64) (rb_memory_peak(run->memory) >> 10)));
	rb_last_report_set(&report, GetUserId());
}

/* Repairs the faces and returns them. */
static Datum
return_repaired_faces(FunctionCallInfo fcinfo, const char *function, bool query)
{
	static const char *const sides[] = {"faces"};
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext caller;
	rb_arguments a;
	rb_meshing_run *run;
	repair_sums sums;
	double start;

	InitMaterializedSRF(fcinfo, 0);
	caller = rb_call_enter();
	rb_arguments_bind(&a, function,
					  "* weld split orient fill_holes *_id *_geom face_tolerance solid", sides, 1,
					  fcinfo->args);
	run = rb_meshing_open(read_repair_call(&a, query), CurrentMemoryContext);
	rb_meshing_read(run);
	if (run->call->by_solid)
	{
		run->options.threads = rb_threads(UINT64_MAX);
		rb_meshing_make_solids(run);
	}
	else
		rb_meshing_work(run, rb_meshing_repair);
	start = rb_now_ms();
	sums = store_repaired_faces(run, rsinfo);
	raise_repair_notices(run, &sums);
	report_repair(run, &sums, rb_now_ms() - start);
	rb_call_leave(caller);
	return (Datum) 0;
}

/* ---- SQL functions ---- */

#define RB_DEFINE(name, query)                              \
	extern Datum name(PG_FUNCTION_ARGS);                    \
	PG_FUNCTION_INFO_V1(name);                              \
	Datum name(PG_FUNCTION_ARGS)                            \
	{                                                       \
		return return_repaired_faces(fcinfo, #name, query); \
	}

RB_DEFINE(redblue_surface_repair, false)
RB_DEFINE(redblue_surface_repair_query, true)
