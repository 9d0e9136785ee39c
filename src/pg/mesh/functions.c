/*
 * functions.c
 *	  Implements redblue_tetrahedra, which returns a mesh as rows, and redblue_tetrahedralize, which
 *	  stores it in four tables.
 *
 * A row of redblue_tetrahedra contains the coordinates of the corners in addition to their numbers,
 * because there is no table in which to look up the numbers. Volumes, boxes and sections can thus
 * be computed from the row alone, and corners with the same number are the same point.
 */
#include "pg/mesh/meshing.h"

#include "access/htup_details.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include <math.h>

/* ---- rows ---- */

enum
{
	TETRAHEDRON_COLUMNS = 18 /* id, v1 to v4, region, x1 to z4 */
};

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
	call = rb_meshing_call_read(&a, query, false);
	rb_meshing_call_not_empty(call);
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

/* Counts the points of one kind. */
static uint64
count_kind(const rb_tets *tets, rb_vertex_kind kind)
{
	uint64 n = 0;

	for (uint32 i = 0; i < tets->npoints; i++)
		n += tets->kind[i] == kind;
	return n;
}

static Datum
counts_row(FunctionCallInfo fcinfo, const rb_meshing_run *run, double fill_ms)
{
	const rb_tets *tets = &run->part->tets;
	const uint64 counts[] = {tets->npoints,
							 tets->ntets,
							 tets->nfaces,
							 tets->nedges,
							 count_kind(tets, RB_VERTEX_ON_SEGMENT),
							 count_kind(tets, RB_VERTEX_ON_FACET),
							 count_kind(tets, RB_VERTEX_INSIDE),
							 run->part->split.points,
							 tets->nregions};
	const double ms[] = {
		run->ms[RB_STAGE_READ], run->ms[RB_MESH_WELD], run->ms[RB_MESH_VALIDATE], tets->ms_points,
		tets->ms_segments,      tets->ms_facets,       tets->ms_regions,          fill_ms};
	Datum values[lengthof(counts) + lengthof(ms)];
	bool nulls[lengthof(values)] = {false};
	TupleDesc desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	desc = BlessTupleDesc(desc);
	for (size_t i = 0; i < lengthof(counts); i++)
		values[i] = Int64GetDatum((int64) counts[i]);
	for (size_t i = 0; i < lengthof(ms); i++)
		values[lengthof(counts) + i] = Float8GetDatum(rint(ms[i] * 1000) / 1000);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

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
	rb_meshing_arguments_bind(&a, function, RB_MESH_STORE_ARGUMENTS, fcinfo->args);
	mesh = TextDatumGetCString(rb_argument_required(&a, "mesh"));
	call = rb_meshing_call_read(&a, query, false);
	rb_meshing_tables_name(tables, function, mesh, false);
	rb_meshing_call_not_empty(call);
	run = rb_meshing_open(call, CurrentMemoryContext);
	rb_meshing_read(run);
	/*
	 * Create the tables before the long work, but after reading the sides, which must not be these
	 * tables.
	 */
	rb_meshing_tables_make(tables, function);
	rb_meshing_work(run, rb_meshing_make);
	start = rb_now_ms();
	rows = rb_meshing_fill(run, tables);
	rb_meshing_notices(run);
	rb_meshing_report(run, rows, rb_now_ms() - start);
	own = MemoryContextSwitchTo(caller);
	result = counts_row(fcinfo, run, rb_now_ms() - start);
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
