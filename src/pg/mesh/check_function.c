/*
 * check_function.c
 *	  Implements redblue_mesh_check, which returns a row for each fault in the tables of a mesh.
 *
 * If facets, points or segments are given, the mesh is compared with them; otherwise only its own
 * consistency is checked.
 */
#include "pg/mesh/meshing.h"

#include "catalog/pg_type.h"
#include "mesh/check/check.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

/*
 * Meaning of the numbers of each fault: V vertex, T tetrahedron, F face, E edge, A facet, S
 * segment, - a number without an id
 */
static const char *const numbers_of[RB_FAULT_KINDS] = {
	[RB_FAULT_POINT_NOT_FINITE] = "V",
	[RB_FAULT_POINTS_EQUAL] = "VV",
	[RB_FAULT_POINT_KIND] = "V-",
	[RB_FAULT_POINT_PARENT] = "V-",
	[RB_FAULT_POINT_UNUSED] = "V",
	[RB_FAULT_INPUT_MISSING] = "V",
	[RB_FAULT_INPUT_MOVED] = "V",
	[RB_FAULT_TET_NUMBER] = "T-",
	[RB_FAULT_TET_CORNERS] = "TV",
	[RB_FAULT_TET_FLAT] = "T",
	[RB_FAULT_TET_INVERTED] = "T",
	[RB_FAULT_TET_TWICE] = "TT",
	[RB_FAULT_SHARED] = "TTV",
	[RB_FAULT_SAME_SIDE] = "TTV",
	[RB_FAULT_NOT_DELAUNAY] = "TTV",
	[RB_FAULT_REGIONS] = "TT",
	[RB_FAULT_BOUNDARY] = "TV",
	[RB_FAULT_NOT_CONVEX] = "VVT",
	[RB_FAULT_CAVITY] = "T",
	[RB_FAULT_EULER] = "",
	[RB_FAULT_FACE_NUMBER] = "F-",
	[RB_FAULT_FACE_CORNERS] = "FV",
	[RB_FAULT_FACE_FACET] = "F-",
	[RB_FAULT_FACE_TWICE] = "FF",
	[RB_FAULT_FACE_NOT_IN_MESH] = "FA",
	[RB_FAULT_FACET_MISSING] = "A",
	[RB_FAULT_FACET_CORNER] = "FAV",
	[RB_FAULT_FACET_TILING] = "AVV",
	[RB_FAULT_FACE_FLAT] = "FA",
	[RB_FAULT_FACET_FOLDED] = "AVV",
	[RB_FAULT_FACET_EULER] = "A",
	[RB_FAULT_FACET_AREA] = "A",
	[RB_FAULT_FACET_FAR] = "VA",
	[RB_FAULT_VOLUME] = "-A",
	[RB_FAULT_FACET_POINT] = "VA",
	[RB_FAULT_EDGE_NUMBER] = "E-",
	[RB_FAULT_EDGE_CORNERS] = "EV",
	[RB_FAULT_EDGE_SEGMENT] = "E-",
	[RB_FAULT_EDGE_TWICE] = "EE",
	[RB_FAULT_EDGE_NOT_IN_MESH] = "ES",
	[RB_FAULT_SEGMENT_LIST] = "VVS",
	[RB_FAULT_SEGMENT_MISSING] = "S",
	[RB_FAULT_SEGMENT_PATH] = "SV",
	[RB_FAULT_SEGMENT_POINT] = "SV",
	[RB_FAULT_SEGMENT_ORDER] = "SVV",
	[RB_FAULT_SEGMENT_FAR] = "VS",
	[RB_FAULT_SEGMENT_LOOSE] = "VS",
};

/* Columns of the result */
enum
{
	FAULT,
	VERTICES,
	TETS,
	FACES,
	EDGES,
	FACET_ID,
	POLYGON,
	SEGMENT_ID,
	SEGMENT,
	AMOUNT,
	REGION,
	COLUMNS
};

typedef struct checking
{
	rb_meshing_loaded mesh;
	rb_meshing_matched matched;
	rb_check_report report;
} checking;

/* ---- work functions ---- */

static rb_status
weld_rows(rb_meshing_run *run)
{
	double start = 0;
	rb_status status;

	rb_meshing_stage(run, RB_MESH_WELD, &start);
	status = rb_meshing_weld(run);
	if (status == RB_OK)
		status = rb_weld_merge(&run->ctx, &run->part->welded);
	if (status == RB_OK)
		status = rb_weld_creases(&run->ctx, &run->part->welded);
	rb_meshing_stage(run, RB_MESH_LOAD, &start);
	return status;
}

static rb_status
check_mesh(rb_meshing_run *run)
{
	checking *c = run->arg;
	double start = 0;
	rb_status status;
	rb_check_input in = rb_meshing_check_input(&c->mesh, &c->matched);

	in.plc = run->part->is_welded ? &run->part->welded.plc : NULL;
	in.keep = run->call->keep;
	in.most = UINT32_MAX;
	rb_meshing_stage(run, RB_MESH_CHECK, &start);
	status = rb_check_mesh(&run->ctx, &in, &c->report);
	rb_meshing_stage(run, RB_MESH_FILL, &start);
	return status;
}

/* ---- rows ---- */

static Datum
make_ids(const int64 *ids, int n)
{
	Datum values[3];

	for (int i = 0; i < n; i++)
		values[i] = Int64GetDatum(ids[i]);
	return PointerGetDatum(
		construct_array(values, n, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

static void
set_facet(const checking *c, uint32 facet, Datum *values, bool *nulls)
{
	if (facet >= c->matched.nfacets)
		return;
	values[FACET_ID] = Int64GetDatum(c->matched.facets[facet].id);
	values[POLYGON] = Int32GetDatum((int32) c->matched.facets[facet].polygon);
	nulls[FACET_ID] = nulls[POLYGON] = false;
}

/*
 * Sets the row of segments that a segment comes from, and the number that its pieces share. Either
 * stays null if it does not exist.
 */
static void
set_segment(const rb_meshing_run *run, const checking *c, uint32 segment, Datum *values,
			bool *nulls)
{
	if (segment >= c->matched.nsegments)
		return;
	if (run->part->is_welded && segment < run->part->welded.plc.nsegments &&
		run->part->welded.segment_row[segment] != RB_NONE)
	{
		values[SEGMENT_ID] = Int64GetDatum(
			rb_meshing_id(run, RB_MESH_SEGMENTS, run->part->welded.segment_row[segment]));
		nulls[SEGMENT_ID] = false;
	}
	values[SEGMENT] = Int64GetDatum(c->matched.segment[segment]);
	nulls[SEGMENT] = c->matched.segment[segment] == 0;
}

static void
put_fault(const rb_meshing_run *run, const checking *c, const rb_fault *fault,
		  ReturnSetInfo *rsinfo)
{
	static const char letters[] = "VTFE"; /* In the order of rb_meshing_kind */
	const uint32 number[3] = {fault->a, fault->b, fault->c};
	const char *what = numbers_of[fault->kind] == NULL ? "" : numbers_of[fault->kind];
	int64 ids[RB_MESH_TABLES][3];
	int n[RB_MESH_TABLES] = {0};
	Datum values[COLUMNS] = {0};
	bool nulls[COLUMNS];

	memset(nulls, true, sizeof nulls);
	for (int i = 0; i < 3 && what[i] != '\0'; i++)
	{
		const char *letter = strchr(letters, what[i]);

		if (letter != NULL)
		{
			const int kind = (int) (letter - letters);

			/* A point that does not exist is reported with the id that it would have. */
			if (number[i] < c->mesh.n[kind])
				ids[kind][n[kind]++] = c->mesh.id[kind][number[i]];
			else if (number[i] != RB_NONE)
				ids[kind][n[kind]++] = (int64) number[i] + 1;
		}
		else if (what[i] == 'A')
			set_facet(c, number[i], values, nulls);
		else if (what[i] == 'S')
			set_segment(run, c, number[i], values, nulls);
	}
	values[FAULT] = CStringGetTextDatum(rb_fault_text(fault->kind));
	nulls[FAULT] = false;
	for (int kind = 0; kind < RB_MESH_TABLES; kind++)
	{
		nulls[VERTICES + kind] = n[kind] == 0;
		if (n[kind] > 0)
			values[VERTICES + kind] = make_ids(ids[kind], n[kind]);
	}
	values[AMOUNT] = Float8GetDatum(fault->amount);
	nulls[AMOUNT] = fault->amount == 0;
	nulls[REGION] = fault->kind != RB_FAULT_VOLUME;
	if (!nulls[REGION])
		values[REGION] = Int64GetDatum(c->mesh.region[fault->a]);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

static void
put_faults(const rb_meshing_run *run, const checking *c, ReturnSetInfo *rsinfo)
{
	MemoryContext row =
		AllocSetContextCreate(CurrentMemoryContext, "redblue fault", ALLOCSET_DEFAULT_SIZES);

	for (uint32 i = 0; i < c->report.nlist; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(row);

		CHECK_FOR_INTERRUPTS();
		put_fault(run, c, &c->report.list[i], rsinfo);
		MemoryContextSwitchTo(old);
		MemoryContextReset(row);
	}
}

static void
report_check(const rb_meshing_run *run, const checking *c)
{
	rb_report report = {.backend = "cpu",
						.device = rb_count_text((uint64) run->ctx.threads, "thread")};
	uint64 rows = 0;
	uint64 loaded = 0;

	for (int i = 0; i < run->call->sides; i++)
		rows += run->side[i].rows;
	for (int i = 0; i < RB_MESH_TABLES; i++)
		loaded += c->mesh.n[i];
	rb_report_add(&report, "read", rows, run->ms[RB_STAGE_READ], "");
	rb_meshing_report_stage(&report, run, RB_MESH_WELD, run->part->welded.plc.npoints, "");
	rb_meshing_report_stage(&report, run, RB_MESH_LOAD, loaded, "");
	rb_meshing_report_stage(&report, run, RB_MESH_CHECK, c->report.faults,
							psprintf("volume %.17g, Euler characteristic %lld", c->report.volume,
									 (long long) c->report.euler));
	rb_last_report_set(&report, GetUserId());
}

/* ---- the SQL function ---- */

#define FUNCTION "redblue_mesh_check"

PG_FUNCTION_INFO_V1(redblue_mesh_check);

extern Datum redblue_mesh_check(PG_FUNCTION_ARGS);

Datum
redblue_mesh_check(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext caller;
	rb_meshing_table tables[RB_MESH_TABLES];
	rb_arguments a;
	rb_meshing_call *call;
	rb_meshing_run *run;
	const char *mesh;
	checking *c;

	InitMaterializedSRF(fcinfo, 0);
	caller = rb_call_enter();
	c = palloc0(sizeof *c);
	rb_meshing_arguments_bind(&a, FUNCTION, "mesh * " RB_MESH_ARGUMENTS, fcinfo->args);
	mesh = TextDatumGetCString(rb_argument_required(&a, "mesh"));
	call = rb_meshing_call_read(&a, false, false);
	rb_meshing_tables_find(tables, FUNCTION, mesh);
	run = rb_meshing_open(call, CurrentMemoryContext);
	run->arg = c;
	if (call->sides > 0)
	{
		rb_meshing_read(run);
		rb_meshing_work(run, weld_rows);
	}
	rb_meshing_load(run, tables, &c->mesh);
	rb_meshing_match(run, &c->mesh, &c->matched);
	rb_meshing_work(run, check_mesh);
	put_faults(run, c, rsinfo);
	report_check(run, c);
	rb_call_leave(caller);
	return (Datum) 0;
}
