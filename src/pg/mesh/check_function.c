/*
 * check_function.c
 *	  Implements redblue_mesh_check, which returns a row for each fault in the tables of a mesh. Finds
 *	  open ends of a mesh that is to be refined, because a user may have changed it.
 *
 * If facets, points or segments are given, the mesh is compared with them; otherwise only its own
 * consistency is checked.
 */
#include "pg/mesh/meshing.h"

#include "core/base/base.h"
#include "catalog/pg_type.h"
#include "mesh/check/check.h"
#include "mesh/hash_table.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include <math.h>

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
	NullableDatum delaunay; /* Whether faces must be Delaunay; null if the mesh says where */
} checking;

/* ---- work functions ---- */

/* Builds the PLC of the rows with which the mesh is compared. */
static rb_status
weld_checked_rows(rb_meshing_run *run)
{
	double start = 0;
	rb_status status;

	rb_meshing_stage(run, RB_MESH_WELD, &start);
	status = rb_meshing_weld(run);
	if (status == RB_OK)
		status = rb_meshing_finish_plc(run);
	rb_meshing_stage(run, RB_MESH_LOAD, &start);
	return status;
}

/* Checks the mesh on the helper thread. */
static rb_status
check_loaded_mesh(rb_meshing_run *run)
{
	checking *c = run->arg;
	double start = 0;
	rb_status status;
	rb_check_input in = rb_meshing_check_input(&c->mesh, &c->matched);

	in.plc = run->part->is_welded ? &run->part->welded.plc : NULL;
	in.keep = run->call->keep;
	in.not_delaunay = !c->delaunay.isnull && !DatumGetBool(c->delaunay.value);
	if (!c->delaunay.isnull)
		in.tet_not_delaunay = NULL;
	in.most = UINT32_MAX;
	rb_meshing_stage(run, RB_MESH_CHECK, &start);
	status = rb_check_mesh(&run->ctx, &in, &c->report);
	rb_meshing_stage(run, RB_MESH_FILL, &start);
	return status;
}

/* ---- rows ---- */

/* Returns an array of n ids. */
static Datum
make_ids_of_fault(const int64 *ids, int n)
{
	Datum values[3];

	for (int i = 0; i < n; i++)
		values[i] = Int64GetDatum(ids[i]);
	return PointerGetDatum(
		construct_array(values, n, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/* Sets the columns of a fault's row that name a facet and its polygon. */
static void
set_facet_of_fault(const checking *c, uint32 facet, Datum *values, bool *nulls)
{
	if (facet >= c->matched.nfacets)
		return;
	values[FACET_ID] = Int64GetDatum(c->matched.facets[facet].id);
	values[POLYGON] = Int32GetDatum((int32) c->matched.facets[facet].polygon);
	nulls[FACET_ID] = nulls[POLYGON] = false;
}

/*
 * Sets the columns of a fault's row that name the row of segments that a segment comes from, and
 * the number that its pieces share. Either stays null if it does not exist.
 */
static void
set_segment_of_fault(const rb_meshing_run *run, const checking *c, uint32 segment, Datum *values,
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

/* Writes the result row of a fault. */
static void
store_fault_row(const rb_meshing_run *run, const checking *c, const rb_fault *fault,
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
			set_facet_of_fault(c, number[i], values, nulls);
		else if (what[i] == 'S')
			set_segment_of_fault(run, c, number[i], values, nulls);
	}
	values[FAULT] = CStringGetTextDatum(rb_fault_text(fault->kind));
	nulls[FAULT] = false;
	for (int kind = 0; kind < RB_MESH_TABLES; kind++)
	{
		nulls[VERTICES + kind] = n[kind] == 0;
		if (n[kind] > 0)
			values[VERTICES + kind] = make_ids_of_fault(ids[kind], n[kind]);
	}
	values[AMOUNT] = Float8GetDatum(fault->amount);
	nulls[AMOUNT] = fault->amount == 0;
	nulls[REGION] = fault->kind != RB_FAULT_VOLUME;
	if (!nulls[REGION])
		values[REGION] = Int64GetDatum(c->mesh.region[fault->a]);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Writes the result rows of all faults. */
static void
store_fault_rows(const rb_meshing_run *run, const checking *c, ReturnSetInfo *rsinfo)
{
	MemoryContext row =
		AllocSetContextCreate(CurrentMemoryContext, "redblue fault", ALLOCSET_DEFAULT_SIZES);

	for (uint32 i = 0; i < c->report.nlist; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(row);

		CHECK_FOR_INTERRUPTS();
		store_fault_row(run, c, &c->report.list[i], rsinfo);
		MemoryContextSwitchTo(old);
		MemoryContextReset(row);
	}
}

/* Writes the report of the check. */
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
	rb_meshing_arguments_bind(&a, FUNCTION, "mesh * " RB_MESH_ARGUMENTS " delaunay", fcinfo->args);
	mesh = TextDatumGetCString(rb_argument_required(&a, "mesh"));
	c->delaunay = *rb_argument(&a, "delaunay");
	call = rb_meshing_call_read(&a, fcinfo->flinfo, false, false);
	rb_meshing_tables_find(tables, FUNCTION, mesh);
	run = rb_meshing_open(call, CurrentMemoryContext);
	run->arg = c;
	if (call->sides > 0)
	{
		rb_meshing_read(run);
		rb_meshing_work(run, weld_checked_rows);
	}
	rb_meshing_load(run, tables, &c->mesh);
	rb_meshing_match(run, &c->mesh, &c->matched);
	rb_meshing_work(run, check_loaded_mesh);
	store_fault_rows(run, c, rsinfo);
	report_check(run, c);
	rb_call_leave(caller);
	return (Datum) 0;
}

/*
 * ---- open ends ----
 *
 * A mesh may end on facets or at the convex hull. Refinement relies on that: at any other boundary
 * it might never terminate. Beyond a face that is on no facet there must be nothing, so the mesh
 * must be convex at each edge of such a face, along the fan of tetrahedra around the edge. Points
 * that were added on the hull are rounded and split its faces, so the hull has dents; these are
 * accepted if they are no deeper than rounding explains.
 */

/* Tolerances, relative to the extent and to the largest coordinate */
#define NEAR 1e-6
#define NEAR_OF_LARGEST 0x1p-40

typedef struct boundary_search
{
	const rb_tets *tets;
	rb_table faces; /* Faces on facets */
	double scale;   /* Scales differences of coordinates to at most about 1 */
	double near;    /* Tolerance after scaling */
} boundary_search;

/* Returns the coordinates of a vertex of the mesh that is checked. */
static const double *
get_point_near_open_end(const boundary_search *e, uint32 v)
{
	return e->tets->points + 3 * (size_t) v;
}

/* Returns the tetrahedron beyond the face opposite to corner i, or RB_NONE at the boundary. */
static uint32
get_neighbor_near_open_end(const boundary_search *e, uint32 tet, int i)
{
	return e->tets->neighbours[4 * (size_t) tet + i];
}

/* Returns the corner of a tetrahedron that is vertex v. */
static int
find_corner_near_open_end(const boundary_search *e, uint32 tet, uint32 v)
{
	int i = 0;

	while (i < 3 && e->tets->tets[tet][i] != v)
		i++;
	return i;
}

/* Computes scale and tolerance of flatness from the extent of the mesh, to find its open ends. */
static void
measure_mesh_for_open_end(boundary_search *e)
{
	double low[3] = {INFINITY, INFINITY, INFINITY};
	double high[3] = {-INFINITY, -INFINITY, -INFINITY};
	double largest = 0;
	double extent = DBL_MIN;

	for (uint32 t = 0; t < e->tets->ntets; t++)
		for (int i = 0; i < 4; i++)
			for (int k = 0; k < 3; k++)
			{
				const double x = get_point_near_open_end(e, e->tets->tets[t][i])[k];

				low[k] = fmin(low[k], x);
				high[k] = fmax(high[k], x);
				largest = fmax(largest, fabs(x));
			}
	for (int k = 0; k < 3; k++)
		extent = fmax(extent, fmin(high[k] - low[k], DBL_MAX));
	e->scale = 1 / extent;
	e->near = NEAR + NEAR_OF_LARGEST * (largest / extent);
}

/*
 * Returns the squared norm of u x v, the square of twice the area of a boundary triangle near an
 * open end.
 */
static double
squared_norm_of_cross(const double *u, const double *v)
{
	const double x = u[1] * v[2] - u[2] * v[1];
	const double y = u[2] * v[0] - u[0] * v[2];
	const double z = u[0] * v[1] - u[1] * v[0];

	return x * x + y * y + z * z;
}

/*
 * Returns true if one of four vertices near a possible open end is within the tolerance of the plane
 * of the others.
 */
static bool
is_nearly_flat_near_open_end(const boundary_search *e, const uint32 *v)
{
	double u[3][3];
	double w[2][3];
	double det;
	double largest;

	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
			u[i][k] =
				(get_point_near_open_end(e, v[i + 1])[k] - get_point_near_open_end(e, v[0])[k]) *
				e->scale;
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 3; k++)
			w[i][k] = u[i + 1][k] - u[0][k];
	det = u[0][0] * (u[1][1] * u[2][2] - u[1][2] * u[2][1]) -
		  u[0][1] * (u[1][0] * u[2][2] - u[1][2] * u[2][0]) +
		  u[0][2] * (u[1][0] * u[2][1] - u[1][1] * u[2][0]);
	largest = fmax(fmax(squared_norm_of_cross(u[0], u[1]), squared_norm_of_cross(u[1], u[2])),
				   fmax(squared_norm_of_cross(u[2], u[0]), squared_norm_of_cross(w[0], w[1])));
	return fabs(det) <= e->near * sqrt(largest);
}

/*
 * Returns true if the boundary of the mesh is convex at an edge near an open end. The edge is
 * opposite to v in a boundary face, which is the face of tet opposite to corner i.
 */
static bool
is_boundary_convex_at_open_end(const boundary_search *e, uint32 tet, int i, uint32 v)
{
	const uint32_t *first = e->tets->tets[tet];
	uint32 face[4];
	uint32 pivot = first[i]; /* Corner that the traversal around the edge has reached */
	uint32 behind = v;       /* Corner before it */
	uint32 t = tet;
	int sides[2];

	for (;;)
	{
		const uint32 next =
			get_neighbor_near_open_end(e, t, find_corner_near_open_end(e, t, behind));
		const uint32_t *w;
		uint32 beyond = RB_NONE;

		if (next == RB_NONE)
			break;
		/* Find the corner of the next tetrahedron that this one lacks. */
		w = e->tets->tets[next];
		for (int k = 0; k < 4; k++)
			if (e->tets->tets[t][0] != w[k] && e->tets->tets[t][1] != w[k] &&
				e->tets->tets[t][2] != w[k] && e->tets->tets[t][3] != w[k])
				beyond = w[k];
		t = next;
		behind = pivot;
		pivot = beyond;
	}
	if (t == tet)
		return true;
	for (int k = 0, n = 0; k < 4; k++)
		if (k != i)
			face[n++] = first[k];
	sides[0] =
		rb_orient3d(get_point_near_open_end(e, face[0]), get_point_near_open_end(e, face[1]),
					get_point_near_open_end(e, face[2]), get_point_near_open_end(e, first[i]));
	sides[1] = rb_orient3d(get_point_near_open_end(e, face[0]), get_point_near_open_end(e, face[1]),
						   get_point_near_open_end(e, face[2]), get_point_near_open_end(e, pivot));
	face[3] = pivot;
	return sides[0] * sides[1] >= 0 || is_nearly_flat_near_open_end(e, face);
}

rb_status
rb_meshing_find_open_end(rb_context *ctx, const rb_tets *tets, uint32 *tet)
{
	boundary_search e = {.tets = tets};
	rb_status status = rb_table_expect(ctx, &e.faces, tets->nfaces);

	*tet = RB_NONE;
	for (uint32 i = 0; i < tets->nfaces && status == RB_OK; i++)
		status = rb_table_insert(ctx, &e.faces, tets->faces[i][0], tets->faces[i][1],
								 tets->faces[i][2], 0, NULL, NULL);
	if (status == RB_OK)
		measure_mesh_for_open_end(&e);
	for (uint32 t = 0; t < tets->ntets && status == RB_OK && *tet == RB_NONE; t++)
	{
		const uint32_t *v = tets->tets[t];

		if (t % 4096 == 0 && rb_should_stop(ctx))
			status = RB_STOPPED;
		for (int i = 0; i < 4; i++)
		{
			if (get_neighbor_near_open_end(&e, t, i) != RB_NONE ||
				rb_table_get(&e.faces, v[(i + 1) % 4], v[(i + 2) % 4], v[(i + 3) % 4]) != NULL)
				continue;
			for (int k = 0; k < 4; k++)
				if (k != i && !is_boundary_convex_at_open_end(&e, t, i, v[k]))
					*tet = t;
		}
	}
	rb_table_free(ctx->memory, &e.faces);
	return status;
}
