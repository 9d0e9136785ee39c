/*
 * mesh_fill.c
 *	  A mesh becomes rows of its four tables.
 *
 * A table that was made just now, or is as plain (into.c), takes a thousand rows at once, as COPY
 * does it; its primary key is made when all are there.  Any other table gets them by INSERT, from
 * arrays: its triggers, constraints, indexes, partitions and policies do what they always do.
 */
#include "pg/mesh/rb_meshing.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#define ROWS 1000

/* ---- what is in a row ---- */

/* what rows are made of */
typedef struct rb_rows_of
{
	const rb_meshing_run *run;
	const uint32 *polygon;
	Datum kind[RB_VERTEX_INSIDE + 3]; /* texts; the last ones are "edge" and "crossing" */
} rb_rows_of;

#define KIND_EDGE (RB_VERTEX_INSIDE + 1)
#define KIND_CROSSING (RB_VERTEX_INSIDE + 2)

static int64
facet_id(const rb_rows_of *of, uint32 facet)
{
	return rb_meshing_id(of->run, RB_MESH_FACETS, of->run->welded.facet_row[facet]);
}

static int64
segment_id(const rb_rows_of *of, uint32 segment)
{
	return rb_meshing_id(of->run, RB_MESH_SEGMENTS, of->run->welded.segment_row[segment]);
}

/* a row of points, segments or facets, or none */
static void
vertex(const rb_rows_of *of, uint32 i, Datum *values, bool *nulls)
{
	const rb_tets *tets = &of->run->tets;
	const rb_welded *w = &of->run->welded;
	const uint32 parent = tets->parent[i];
	int kind = tets->kind[i];

	nulls[5] = false;
	values[5] = (Datum) 0;
	if (kind == RB_VERTEX_INPUT && w->point_side[i] == RB_WELD_POINTS)
		values[5] = Int64GetDatum(rb_meshing_id(of->run, RB_MESH_POINTS, w->point_row[i]));
	else if (kind == RB_VERTEX_ON_FACET && parent != RB_NONE)
		values[5] = Int64GetDatum(facet_id(of, parent));
	else if (kind == RB_VERTEX_ON_SEGMENT && parent < w->plc.nsegments &&
			 w->segment_row[parent] != RB_NONE)
		values[5] = Int64GetDatum(segment_id(of, parent));
	else if (kind == RB_VERTEX_ON_SEGMENT && parent >= w->plc.nsegments && parent != RB_NONE)
	{
		kind = KIND_EDGE;
		values[5] = Int64GetDatum(facet_id(of, tets->segment_facet[parent]));
	}
	else
		nulls[5] = true;
	if (kind == RB_VERTEX_INPUT && w->point_side[i] == RB_WELD_SPLIT)
		kind = KIND_CROSSING;
	for (int k = 0; k < 3; k++)
		values[1 + k] = Float8GetDatum(tets->points[3 * (size_t) i + k]);
	values[4] = of->kind[kind];
}

static void
corners(const uint32_t *v, int n, Datum *values)
{
	for (int k = 0; k < n; k++)
		values[1 + k] = Int64GetDatum((int64) v[k] + 1);
}

static void
edge(const rb_rows_of *of, uint32 i, Datum *values, bool *nulls)
{
	const rb_tets *tets = &of->run->tets;
	const uint32 segment = tets->edge_segment[i];

	corners(tets->edges[i], 2, values);
	nulls[3] =
		segment >= of->run->welded.plc.nsegments || of->run->welded.segment_row[segment] == RB_NONE;
	values[3] = nulls[3] ? (Datum) 0 : Int64GetDatum(segment_id(of, segment));
	nulls[4] = tets->segment_facet[segment] == RB_NONE;
	values[4] = nulls[4] ? (Datum) 0 : Int64GetDatum(facet_id(of, tets->segment_facet[segment]));
	values[5] = Int64GetDatum((int64) segment + 1);
}

/* in the order of rb_meshing_columns */
static void
make_row(const rb_rows_of *of, rb_meshing_kind kind, uint32 i, Datum *values, bool *nulls)
{
	const rb_tets *tets = &of->run->tets;

	values[0] = Int64GetDatum((int64) i + 1);
	switch (kind)
	{
		case RB_MESH_VERTICES:
			vertex(of, i, values, nulls);
			break;
		case RB_MESH_TETS:
			corners(tets->tets[i], 4, values);
			values[5] = Int64GetDatum(tets->region[i]);
			break;
		case RB_MESH_FACES:
			corners(tets->faces[i], 3, values);
			values[4] = Int64GetDatum(facet_id(of, tets->face_facet[i]));
			values[5] = Int32GetDatum((int32) of->polygon[tets->face_facet[i]]);
			break;
		default:
			edge(of, i, values, nulls);
	}
}

static uint32
rows_of(const rb_tets *tets, rb_meshing_kind kind)
{
	switch (kind)
	{
		case RB_MESH_VERTICES:
			return tets->npoints;
		case RB_MESH_TETS:
			return tets->ntets;
		case RB_MESH_FACES:
			return tets->nfaces;
		default:
			return tets->nedges;
	}
}

/* ---- polygons of one id ---- */

typedef struct numbered
{
	int64 id;
	uint32 facet;
} numbered;

static int
compare(const void *a, const void *b)
{
	const numbered *x = a;
	const numbered *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->facet < y->facet ? -1 : x->facet > y->facet;
}

uint32 *
rb_meshing_polygons(const rb_meshing_run *run)
{
	const uint32 n = run->welded.plc.nfacets;
	uint32 *polygon =
		MemoryContextAllocHuge(CurrentMemoryContext, (n + (Size) 1) * sizeof *polygon);
	numbered *all = MemoryContextAllocHuge(CurrentMemoryContext, (n + (Size) 1) * sizeof *all);
	bool ascend = true;

	for (uint32 i = 0; i < n; i++)
	{
		all[i].id = rb_meshing_id(run, RB_MESH_FACETS, run->welded.facet_row[i]);
		all[i].facet = i;
		ascend &= i == 0 || all[i - 1].id <= all[i].id;
	}
	if (!ascend)
		qsort(all, n, sizeof *all, compare);
	for (uint32 i = 0; i < n; i++)
		polygon[all[i].facet] =
			i > 0 && all[i - 1].id == all[i].id ? polygon[all[i - 1].facet] + 1 : 1;
	pfree(all);
	return polygon;
}

/* ---- many at once ---- */

/* are these columns all that it has, in this order? */
static bool
has_only_these(const rb_meshing_table *t, Relation rel)
{
	const rb_meshing_column *c = rb_meshing_columns(t->kind);
	TupleDesc desc = RelationGetDescr(rel);
	int n = 0;

	for (; c[n].name != NULL; n++)
		if (t->attno[n] != n + 1 || n >= desc->natts ||
			TupleDescAttr(desc, n)->atttypid != c[n].type ||
			TupleDescAttr(desc, n)->attgenerated != '\0' ||
			TupleDescAttr(desc, n)->attidentity != '\0' ||
			(c[n].null && TupleDescAttr(desc, n)->attnotnull))
			return false;
	return desc->natts == n;
}

static void
fill_at_once(const rb_rows_of *of, const rb_meshing_table *t, Relation rel)
{
	const uint32 n = rows_of(&of->run->tets, t->kind);
	const CommandId command = GetCurrentCommandId(true);
	BulkInsertState bulk = GetBulkInsertState();
	MemoryContext rows =
		AllocSetContextCreate(CurrentMemoryContext, "redblue mesh rows", ALLOCSET_DEFAULT_SIZES);
	TupleTableSlot *slots[ROWS];
	int filled = 0;

	for (int i = 0; i < ROWS; i++)
		slots[i] = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsHeapTuple);
	for (uint32 i = 0; i < n; i++)
	{
		Datum values[RB_MESH_COLUMNS];
		bool nulls[RB_MESH_COLUMNS] = {false};
		MemoryContext old = MemoryContextSwitchTo(rows);

		make_row(of, t->kind, i, values, nulls);
		ExecStoreHeapTuple(heap_form_tuple(RelationGetDescr(rel), values, nulls), slots[filled++],
						   false);
		if (filled == ROWS || i == n - 1)
		{
			CHECK_FOR_INTERRUPTS();
			table_multi_insert(rel, slots, filled, command, 0, bulk);
			for (int k = 0; k < filled; k++)
				ExecClearTuple(slots[k]);
			filled = 0;
		}
		MemoryContextSwitchTo(old);
		if (filled == 0)
			MemoryContextReset(rows);
	}
	FreeBulkInsertState(bulk);
	table_finish_bulk_insert(rel, 0);
	for (int i = 0; i < ROWS; i++)
		ExecDropSingleTupleTableSlot(slots[i]);
	MemoryContextDelete(rows);
}

/* ---- by INSERT ---- */

static Datum
make_array(Oid type, Datum *values, bool *nulls, int n)
{
	int one = 1;
	int16 len;
	bool by_value;
	char align;

	get_typlenbyvalalign(type, &len, &by_value, &align);
	return PointerGetDatum(
		construct_md_array(values, nulls, 1, &n, &one, type, len, by_value, align));
}

static void
fill_by_insert(const rb_rows_of *of, const rb_meshing_table *t)
{
	const char *function = of->run->call->function;
	const rb_meshing_column *c = rb_meshing_columns(t->kind);
	const uint32 n = rows_of(&of->run->tets, t->kind);
	MemoryContext rows =
		AllocSetContextCreate(CurrentMemoryContext, "redblue mesh rows", ALLOCSET_DEFAULT_SIZES);
	Datum(*values)[ROWS] = palloc(RB_MESH_COLUMNS * sizeof *values);
	bool(*nulls)[ROWS] = palloc(RB_MESH_COLUMNS * sizeof *nulls);
	int arguments;
	SPIPlanPtr plan = rb_meshing_prepare_insert(t, function, &arguments);

	ereport(DEBUG1, (errmsg_internal("%s: %s takes rows by INSERT", function, t->quoted)));
	for (uint32 first = 0; first < n; first += ROWS)
	{
		const int some = (int) Min(n - first, ROWS);
		Datum arrays[RB_MESH_COLUMNS];
		MemoryContext old = MemoryContextSwitchTo(rows);
		int k = 0;
		int rc;

		for (int i = 0; i < some; i++)
		{
			Datum row[RB_MESH_COLUMNS];
			bool null[RB_MESH_COLUMNS] = {false};

			make_row(of, t->kind, first + i, row, null);
			for (int j = 0; c[j].name != NULL; j++)
			{
				values[j][i] = row[j];
				nulls[j][i] = null[j];
			}
		}
		for (int j = 0; c[j].name != NULL; j++)
			if (t->attno[j] != 0)
				arrays[k++] = make_array(c[j].type, values[j], nulls[j], some);
		CHECK_FOR_INTERRUPTS();
		rc = SPI_execute_plan(plan, arrays, NULL, false, 0);
		/* or what a rule has made of it */
		if (rc < 0)
			elog(ERROR, "%s: SPI_execute_plan: %s", function, SPI_result_code_string(rc));
		MemoryContextSwitchTo(old);
		MemoryContextReset(rows);
	}
}

/* ---- all ---- */

static void
fill_table(const rb_rows_of *of, rb_meshing_table *t)
{
	const char *function = of->run->call->function;
	Relation rel = rb_meshing_table_open(t, function);
	bool at_once = rb_is_plain_table(rel) && has_only_these(t, rel) &&
				   pg_class_aclcheck(t->relid, GetUserId(), ACL_INSERT) == ACLCHECK_OK;

	if (at_once)
		fill_at_once(of, t, rel);
	relation_close(rel, NoLock);
	if (!at_once)
		fill_by_insert(of, t);
	if (t->made)
	{
		int rc = SPI_execute(psprintf("ALTER TABLE %s ADD PRIMARY KEY (id)", t->quoted), false, 0);

		if (rc != SPI_OK_UTILITY)
			elog(ERROR, "%s: SPI_execute: %s", function, SPI_result_code_string(rc));
	}
}

uint64
rb_meshing_fill(const rb_meshing_run *run, rb_meshing_table *tables)
{
	rb_rows_of of = {.run = run};
	uint64 rows = 0;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "%s: SPI_connect failed", run->call->function);
	of.polygon = rb_meshing_polygons(run);
	of.kind[RB_VERTEX_INPUT] = CStringGetTextDatum("input");
	of.kind[RB_VERTEX_ON_SEGMENT] = CStringGetTextDatum("segment");
	of.kind[RB_VERTEX_ON_FACET] = CStringGetTextDatum("facet");
	of.kind[RB_VERTEX_INSIDE] = CStringGetTextDatum("inside");
	of.kind[KIND_EDGE] = CStringGetTextDatum("edge");
	of.kind[KIND_CROSSING] = CStringGetTextDatum("crossing");
	for (int i = 0; i < RB_MESH_TABLES; i++)
	{
		rb_progress_note(run->progress, RB_MESH_FILL, rows,
						 (uint64) run->tets.npoints + run->tets.ntets + run->tets.nfaces +
							 run->tets.nedges);
		fill_table(&of, &tables[i]);
		rows += rows_of(&run->tets, (rb_meshing_kind) i);
	}
	SPI_finish();
	return rows;
}
