/*
 * write_mesh.c
 *	  Writes a mesh to the rows of its four tables.
 *
 * A table that was just created, or that is equally plain (into.c), gets a thousand rows at a time,
 * as with COPY; its primary key is built after all rows are there. Any other table is filled by
 * INSERT from arrays, so that its triggers, constraints, indexes, partitions and policies take
 * effect as usual.
 */
#include "pg/func/func.h"
#include "pg/mesh/meshing.h"

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

/* ---- contents of a row ---- */

/* Names of rb_vertex_kind, and of two kinds that exist only in tables */
enum
{
	KIND_EDGE = RB_VERTEX_KINDS,
	KIND_CROSSING,
	KINDS
};

/* Source of the rows: a sequence of parts, each of which has numbers from 0 */
typedef struct row_source
{
	const rb_meshing_run *run;
	uint32 **polygons; /* Ordinals of the polygons of each part */
	Datum kind[KINDS];
	/*
	 * Index of the current part, the part, and the numbers of rows, vertices and segments in the
	 * parts before it
	 */
	uint32 number;
	const rb_meshing_part *part;
	uint64 rows;
	int64 vertices;
	int64 segments;
} row_source;

/* Returns the number of rows of a part in one of the tables. */
static uint64
count_part_rows(const rb_meshing_part *part, rb_meshing_kind kind)
{
	const rb_tets *tets = &part->tets;

	switch (kind)
	{
		case RB_MESH_VERTICES:
			/* Existing vertices keep their rows. */
			return tets->npoints - (part->names == NULL ? 0 : part->names->npoints);
		case RB_MESH_TETS:
			return tets->ntets;
		case RB_MESH_FACES:
			return tets->nfaces;
		default:
			return tets->nedges;
	}
}

/* Returns the number of rows of all parts in one of the tables. */
static uint64
count_mesh_rows(const rb_meshing_run *run, rb_meshing_kind kind)
{
	uint64 n = 0;

	for (uint32 i = 0; i < run->nparts; i++)
		n += count_part_rows(&run->parts[i], kind);
	return n;
}

/* Starts again at the first part of the run, before the next table is filled. */
static void
rewind_parts(row_source *of)
{
	of->number = 0;
	of->part = of->run->parts;
	of->rows = of->vertices = of->segments = 0;
}

/*
 * Moves to the part of the mesh that contains row i of all parts' rows, and returns the row's
 * number within that part. Calls must have ascending i.
 */
static uint32
advance_to_row(row_source *of, rb_meshing_kind kind, uint64 i)
{
	while (i - of->rows >= count_part_rows(of->part, kind))
	{
		of->rows += count_part_rows(of->part, kind);
		of->vertices += of->part->tets.npoints;
		of->segments += of->part->tets.nsegments;
		of->part++;
		of->number++;
	}
	return (uint32) (i - of->rows);
}

/* ---- ids, or RB_MESH_NULL ---- */

/* Returns the id of a vertex. */
static int64
id_of_written_vertex(const row_source *of, uint32 v)
{
	const rb_meshing_names *names = of->part->names;

	if (names == NULL)
		return of->vertices + v + 1;
	return v < names->npoints ? names->vertex[v] : names->last_vertex + (v - names->npoints) + 1;
}

/* Returns the id of a facet, or RB_MESH_NULL if it is none. */
static int64
facet_id(const row_source *of, uint32 facet)
{
	if (facet == RB_NONE)
		return RB_MESH_NULL;
	if (of->part->names != NULL)
		return of->part->names->facet[facet];
	return rb_meshing_id(of->run, RB_MESH_FACETS, of->part->welded.facet_row[facet]);
}

/*
 * Returns the ordinal of the polygon of a facet among those of its row, which is written to the
 * table of faces.
 */
static int64
ordinal_of_written_polygon(const row_source *of, uint32 facet)
{
	return of->part->names != NULL ? of->part->names->polygon[facet]
								   : of->polygons[of->number][facet];
}

/*
 * Returns the id of the row of segments that a segment comes from, or RB_MESH_NULL if there is
 * none.
 */
static int64
segment_id(const row_source *of, uint32 segment)
{
	const rb_welded *w = &of->part->welded;

	if (of->part->names != NULL)
		return of->part->names->segment_id[segment];
	if (segment >= w->plc.nsegments || w->segment_row[segment] == RB_NONE)
		return RB_MESH_NULL;
	return rb_meshing_id(of->run, RB_MESH_SEGMENTS, w->segment_row[segment]);
}

/* Returns the id of the facet that a segment bounds, or RB_MESH_NULL if there is none. */
static int64
segment_facet(const row_source *of, uint32 segment)
{
	return of->part->names != NULL ? of->part->names->facet_id[segment]
								   : facet_id(of, of->part->tets.segment_facet[segment]);
}

/*
 * Returns the id of the row of points, segments or facets that a vertex is on, or RB_MESH_NULL. May
 * replace *kind with a kind that exists only in tables.
 */
static int64
parent_of_written_vertex(const row_source *of, uint32 i, int *kind)
{
	const rb_tets *tets = &of->part->tets;
	const rb_welded *w = &of->part->welded;
	const uint32 parent = tets->parent[i];
	int64 id;

	switch (*kind)
	{
		case RB_VERTEX_INPUT:
			if (w->point_side[i] == RB_WELD_SPLIT)
				*kind = KIND_CROSSING;
			return w->point_side[i] == RB_WELD_POINTS
					   ? rb_meshing_id(of->run, RB_MESH_POINTS, w->point_row[i])
					   : RB_MESH_NULL;
		case RB_VERTEX_ON_FACET:
			return facet_id(of, parent);
		case RB_VERTEX_ON_SEGMENT:
			if (parent == RB_NONE)
				return RB_MESH_NULL;
			id = segment_id(of, parent);
			if (id != RB_MESH_NULL || segment_facet(of, parent) == RB_MESH_NULL)
				return id;
			*kind = KIND_EDGE;
			return segment_facet(of, parent);
		default:
			return RB_MESH_NULL;
	}
}

/* Sets a column of a mesh table to an id, or to null if it is RB_MESH_NULL. */
static void
write_id_to_mesh_row(Datum *values, bool *nulls, int column, int64 id)
{
	nulls[column] = id == RB_MESH_NULL;
	values[column] = Int64GetDatum(id);
}

/* Sets the n columns after the first to the vertex ids of a tetrahedron, face or edge. */
static void
write_corners_to_mesh_row(const row_source *of, const uint32_t *v, int n, Datum *values)
{
	for (int k = 0; k < n; k++)
		values[1 + k] = Int64GetDatum(id_of_written_vertex(of, v[k]));
}

/* Sets the columns of a tetrahedron's quality. */
static void
write_quality_to_mesh_row(const rb_tets *tets, uint32 i, Datum *values)
{
	const double *p[4];
	rb_tet_quality quality;

	for (int k = 0; k < 4; k++)
		p[k] = tets->points + 3 * (size_t) tets->tets[i][k];
	rb_tet_measure(p[0], p[1], p[2], p[3], &quality);
	values[0] = Float8GetDatum(quality.radius_edge);
	values[1] = Float8GetDatum(quality.min_dihedral);
}

/*
 * Builds row n of all rows, in the order of rb_meshing_columns, and returns its number of columns.
 */
static int
write_mesh_row(row_source *of, rb_meshing_kind kind, uint64 n, Datum *values, bool *nulls)
{
	uint32 i = advance_to_row(of, kind, n);
	const rb_tets *tets = &of->part->tets;
	int columns = 6;
	int vertex_kind;

	values[0] = Int64GetDatum((int64) n + 1);
	switch (kind)
	{
		case RB_MESH_VERTICES:
			if (of->part->names != NULL)
				i += of->part->names->npoints;
			values[0] = Int64GetDatum(id_of_written_vertex(of, i));
			for (int k = 0; k < 3; k++)
				values[1 + k] = Float8GetDatum(tets->points[3 * (size_t) i + k]);
			vertex_kind = tets->kind[i];
			write_id_to_mesh_row(values, nulls, 5, parent_of_written_vertex(of, i, &vertex_kind));
			values[4] = of->kind[vertex_kind];
			break;
		case RB_MESH_TETS:
			write_corners_to_mesh_row(of, tets->tets[i], 4, values);
			values[5] = Int64GetDatum(tets->region[i]);
			write_quality_to_mesh_row(tets, i, &values[6]);
			values[8] = BoolGetDatum(tets->not_delaunay == NULL || tets->not_delaunay[i] == 0);
			columns = 9;
			break;
		case RB_MESH_FACES:
			write_corners_to_mesh_row(of, tets->faces[i], 3, values);
			values[4] = Int64GetDatum(facet_id(of, tets->face_facet[i]));
			values[5] = Int32GetDatum((int32) ordinal_of_written_polygon(of, tets->face_facet[i]));
			break;
		default:
			write_corners_to_mesh_row(of, tets->edges[i], 2, values);
			write_id_to_mesh_row(values, nulls, 3, segment_id(of, tets->edge_segment[i]));
			write_id_to_mesh_row(values, nulls, 4, segment_facet(of, tets->edge_segment[i]));
			values[5] = Int64GetDatum(of->part->names != NULL
										  ? of->part->names->segment[tets->edge_segment[i]]
										  : of->segments + tets->edge_segment[i] + 1);
	}
	if (of->run->call->by_solid)
		values[columns++] = Int64GetDatum(of->part->solid);
	return columns;
}

/* ---- polygons of one id ---- */

typedef struct numbered
{
	int64 id;
	uint32 facet;
} numbered;

/*
 * Orders facets by the id of their row, then by number, to number the polygons of each row that is
 * written.
 */
static int
compare_facets_by_row(const void *a, const void *b)
{
	const numbered *x = a;
	const numbered *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->facet < y->facet ? -1 : x->facet > y->facet;
}

uint32 *
rb_meshing_polygons(const rb_meshing_run *run, const rb_meshing_part *part)
{
	const uint32 n = part->welded.npolygons;
	uint32 *polygon =
		MemoryContextAllocHuge(CurrentMemoryContext, (n + (Size) 1) * sizeof *polygon);
	numbered *all = MemoryContextAllocHuge(CurrentMemoryContext, (n + (Size) 1) * sizeof *all);
	bool ascend = true;

	for (uint32 i = 0; i < n; i++)
	{
		all[i].id = rb_meshing_id(run, RB_MESH_FACETS, part->welded.facet_row[i]);
		all[i].facet = i;
		ascend &= i == 0 || all[i - 1].id <= all[i].id;
	}
	if (!ascend)
		qsort(all, n, sizeof *all, compare_facets_by_row);
	for (uint32 i = 0; i < n; i++)
		polygon[all[i].facet] =
			i > 0 && all[i - 1].id == all[i].id ? polygon[all[i - 1].facet] + 1 : 1;
	pfree(all);
	return polygon;
}

/* ---- bulk insert ---- */

/*
 * Returns true if the table has exactly the mesh columns in their order, so that rows can be
 * written a thousand at a time.
 */
static bool
has_only_mesh_columns(const rb_meshing_table *t, Relation rel)
{
	const rb_meshing_column *c = rb_meshing_columns(t->kind);
	TupleDesc desc = RelationGetDescr(rel);
	int n = 0;

	for (; rb_meshing_has(t, n); n++)
		if (t->attno[n] != n + 1 || n >= desc->natts ||
			TupleDescAttr(desc, n)->atttypid != c[n].type ||
			TupleDescAttr(desc, n)->attgenerated != '\0' ||
			TupleDescAttr(desc, n)->attidentity != '\0' ||
			(c[n].null && TupleDescAttr(desc, n)->attnotnull))
			return false;
	return desc->natts == n;
}

/* Inserts all rows of a table by multi-insert. */
static void
insert_by_multi_insert(row_source *of, const rb_meshing_table *t, Relation rel)
{
	const uint64 n = count_mesh_rows(of->run, t->kind);
	const CommandId command = GetCurrentCommandId(true);
	BulkInsertState bulk = GetBulkInsertState();
	MemoryContext rows =
		AllocSetContextCreate(CurrentMemoryContext, "redblue mesh rows", ALLOCSET_DEFAULT_SIZES);
	TupleTableSlot *slots[ROWS];
	int filled = 0;

	for (int i = 0; i < ROWS; i++)
		slots[i] = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsHeapTuple);
	for (uint64 i = 0; i < n; i++)
	{
		Datum values[RB_MESH_COLUMNS];
		bool nulls[RB_MESH_COLUMNS] = {false};
		MemoryContext old = MemoryContextSwitchTo(rows);

		(void) write_mesh_row(of, t->kind, i, values, nulls);
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

/* ---- INSERT ---- */

/* Returns an array of n values, some of which may be null. */
static Datum
make_array_of_mesh_rows(Oid type, Datum *values, bool *nulls, int n)
{
	int one = 1;
	int16 len;
	bool by_value;
	char align;

	get_typlenbyvalalign(type, &len, &by_value, &align);
	return PointerGetDatum(
		construct_md_array(values, nulls, 1, &n, &one, type, len, by_value, align));
}

/* Inserts all rows of a table by INSERT statements. */
static void
fill_by_insert(row_source *of, const rb_meshing_table *t)
{
	const char *function = of->run->call->function;
	const rb_meshing_column *c = rb_meshing_columns(t->kind);
	const uint64 n = count_mesh_rows(of->run, t->kind);
	MemoryContext rows =
		AllocSetContextCreate(CurrentMemoryContext, "redblue mesh rows", ALLOCSET_DEFAULT_SIZES);
	Datum(*values)[ROWS] = palloc(RB_MESH_COLUMNS * sizeof *values);
	bool(*nulls)[ROWS] = palloc(RB_MESH_COLUMNS * sizeof *nulls);
	int arguments;
	SPIPlanPtr plan = rb_meshing_prepare_insert(t, function, &arguments);

	ereport(DEBUG1, (errmsg_internal("%s: filling %s by INSERT", function, t->quoted)));
	for (uint64 first = 0; first < n; first += ROWS)
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

			(void) write_mesh_row(of, t->kind, first + i, row, null);
			for (int j = 0; rb_meshing_has(t, j); j++)
			{
				values[j][i] = row[j];
				nulls[j][i] = null[j];
			}
		}
		for (int j = 0; rb_meshing_has(t, j); j++)
			if (t->attno[j] != 0)
				arrays[k++] = make_array_of_mesh_rows(c[j].type, values[j], nulls[j], some);
		CHECK_FOR_INTERRUPTS();
		rc = SPI_execute_plan(plan, arrays, NULL, false, 0);
		/* A rule may have turned the INSERT into another command. */
		if (rc < 0)
			elog(ERROR, "%s: SPI_execute_plan: %s", function, SPI_result_code_string(rc));
		MemoryContextSwitchTo(old);
		MemoryContextReset(rows);
	}
}

/* ---- all tables ---- */

/* Fills a table in the fastest way that it allows. */
static void
write_mesh_table(row_source *of, rb_meshing_table *t)
{
	const char *function = of->run->call->function;
	Relation rel = rb_meshing_table_open(t, function);
	bool at_once = rb_is_plain_table(rel) && has_only_mesh_columns(t, rel) &&
				   pg_class_aclcheck(t->relid, GetUserId(), ACL_INSERT) == ACLCHECK_OK &&
				   rb_inserts_are_plain(rel);

	if (at_once)
		insert_by_multi_insert(of, t, rel);
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

/*
 * Drops the mesh tables that this call created and keeps the others, since there is no mesh to
 * write.
 */
static void
drop_created_mesh_tables(rb_meshing_table *tables, const char *function)
{
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "%s: SPI_connect failed", function);
	for (int i = 0; i < RB_MESH_TABLES; i++)
		if (tables[i].made)
		{
			int rc = SPI_execute(psprintf("DROP TABLE %s", tables[i].quoted), false, 0);

			if (rc != SPI_OK_UTILITY)
				elog(ERROR, "%s: SPI_execute: %s", function, SPI_result_code_string(rc));
		}
	SPI_finish();
}

uint64
rb_meshing_fill(rb_meshing_run *run, rb_meshing_table *tables)
{
	static const char *const kinds[KINDS] = {
		[RB_VERTEX_INPUT] = "input",    [RB_VERTEX_ON_SEGMENT] = "segment",
		[RB_VERTEX_ON_FACET] = "facet", [RB_VERTEX_INSIDE] = "inside",
		[RB_VERTEX_ON_HULL] = "hull",   [KIND_EDGE] = "edge",
		[KIND_CROSSING] = "crossing"};
	row_source of = {.run = run};
	uint64 rows = 0;
	uint64 total = 0;

	/*
	 * If there are no tetrahedra, write nothing: vertices alone would block the next call with this
	 * name.
	 */
	run->empty = count_mesh_rows(run, RB_MESH_TETS) == 0;
	if (run->empty)
	{
		drop_created_mesh_tables(tables, run->call->function);
		return 0;
	}
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "%s: SPI_connect failed", run->call->function);
	of.polygons = palloc((run->nparts + (Size) 1) * sizeof *of.polygons);
	for (uint32 i = 0; i < run->nparts; i++)
		of.polygons[i] = rb_meshing_polygons(run, &run->parts[i]);
	for (int i = 0; i < KINDS; i++)
		of.kind[i] = CStringGetTextDatum(kinds[i]);
	for (int i = 0; i < RB_MESH_TABLES; i++)
		total += count_mesh_rows(run, (rb_meshing_kind) i);
	/*
	 * Existing vertices keep their rows, including any additional columns. Rows of the other tables
	 * are deleted before new vertices are inserted. The error about a snapshot that is too old to
	 * delete them thus comes first.
	 */
	for (int i = RB_MESH_TABLES - 1; i > RB_MESH_VERTICES && run->one.names != NULL; i--)
		rb_meshing_table_empty(&tables[i], run->call->function);
	for (int i = 0; i < RB_MESH_TABLES; i++)
	{
		rb_progress_note(run->progress, RB_MESH_FILL, rows, total);
		rewind_parts(&of);
		write_mesh_table(&of, &tables[i]);
		rows += count_mesh_rows(run, (rb_meshing_kind) i);
	}
	SPI_finish();
	return rows;
}
