/*
 * load.c
 *	  Reads the tables of a mesh into arrays, and matches them with the facets, segments and points
 *	  of the rows.
 *
 * A SELECT returns the rows ordered by id, and each column value becomes one word. Then corners,
 * which are ids of vertices, are replaced by vertex numbers from 0 on. The ids need not start at 1
 * and may have gaps.
 *
 * A mesh is checked against rows that are read again, perhaps in another order than when it was
 * built. So numbers cannot be compared: a polygon is identified by its id and its ordinal within
 * the id, a point by its coordinates, and a segment by its ends, which are the vertices that only
 * one of its pieces has. Unmatched objects get no number, or one after those of the rows.
 *
 * The rows determine which polygons form one facet (rb_weld_merge). Without rows, faces do that: if
 * two of them share an edge that is not on a segment, they belong to the same facet.
 */
#include "pg/mesh/meshing.h"

#include "core/base/point_hash.h"
#include "core/base/sort.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* All columns except the informative ones of tetrahedra */
static const char *const needed_of[RB_MESH_TABLES][RB_MESH_COLUMNS] = {
	[RB_MESH_VERTICES] = {"id", "x", "y", "z", "kind", "parent_id"},
	[RB_MESH_TETS] = {"id", "v1", "v2", "v3", "v4", "region", "delaunay"},
	[RB_MESH_FACES] = {"id", "v1", "v2", "v3", "facet_id", "polygon"},
	[RB_MESH_EDGES] = {"id", "v1", "v2", "segment", "segment_id", "facet_id"},
};

/* ---- rows to words ---- */

typedef struct word_receiver
{
	DestReceiver pub; /* Must be first */
	rb_meshing_run *run;
	const rb_meshing_table *table;
	int columns;
	const rb_meshing_column *column[RB_MESH_COLUMNS];
	uint64 *words; /* In the run's memory */
	size_t n;      /* Number of rows */
	size_t cap;
} word_receiver;

/* Resizes a block of memory, or raises an ERROR. */
static void
resize_loaded_block(rb_meshing_run *run, void **block, size_t bytes)
{
	rb_error error;
	rb_status status = rb_resize(run->memory, block, bytes, &error);

	if (status == RB_OVER_BUDGET)
		error.need += error.need / 2;
	if (status != RB_OK)
		rb_raise_of(run->call->function, RB_MESH_WHAT, status, &error);
}

void *
rb_meshing_array(rb_meshing_run *run, size_t n, size_t element)
{
	void *block = NULL;

	resize_loaded_block(run, &block, (n + 1) * element);
	return block;
}

/* Returns the kind of a vertex as a word. */
static uint64
word_of_loaded_vertex_kind(const char *kind)
{
	static const char *const names[] = {"input", "crossing", "segment", "edge",
										"facet", "inside",   "hull"};
	static const rb_vertex_kind kinds[] = {
		RB_VERTEX_INPUT,    RB_VERTEX_INPUT,  RB_VERTEX_ON_SEGMENT, RB_VERTEX_ON_SEGMENT,
		RB_VERTEX_ON_FACET, RB_VERTEX_INSIDE, RB_VERTEX_ON_HULL};

	for (size_t i = 0; i < lengthof(names); i++)
		if (strcmp(kind, names[i]) == 0)
			return kinds[i];
	return RB_VERTEX_KINDS; /* Unknown kind */
}

/* Returns the index of a column of a mesh table that a SELECT reads, by its name, which must exist. */
static int
find_loaded_column(rb_meshing_kind kind, const char *name)
{
	const rb_meshing_column *c = rb_meshing_columns(kind);
	int i = 0;

	while (strcmp(c[i].name, name) != 0)
		i++;
	return i;
}

/* Appends the columns of a received row of a mesh table to the array of rows, as 64-bit words. */
static bool
receive_row_words(TupleTableSlot *slot, DestReceiver *self)
{
	word_receiver *r = (word_receiver *) self;
	uint64 *to;

	CHECK_FOR_INTERRUPTS();
	slot_getallattrs(slot);
	if (r->n == r->cap)
	{
		r->cap = Max(1024, r->cap + r->cap / 2);
		resize_loaded_block(r->run, (void **) &r->words, r->cap * r->columns * sizeof *r->words);
	}
	if (r->n >= UINT32_MAX - 1)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("%s: table %s has too many rows", r->run->call->function,
							   r->table->quoted)));
	to = r->words + r->n++ * r->columns;
	for (int i = 0; i < r->columns; i++)
	{
		if (slot->tts_isnull[i] && r->column[i]->null)
		{
			/*
			 * A parent id is only displayed, so -1 is sufficient. Ids in the edge table may have
			 * any value and need RB_MESH_NULL.
			 */
			to[i] = r->table->kind == RB_MESH_EDGES ? (uint64) RB_MESH_NULL : (uint64) -1;
			continue;
		}
		if (slot->tts_isnull[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
							errmsg("%s: null in column \"%s\" of table %s%s",
								   r->run->call->function, r->column[i]->name, r->table->quoted,
								   i == 0 ? "" : psprintf(", id " INT64_FORMAT, (int64) to[0]))));
		switch (TupleDescAttr(slot->tts_tupleDescriptor, i)->atttypid)
		{
			case INT4OID:
				to[i] = (uint64) DatumGetInt32(slot->tts_values[i]);
				break;
			case TEXTOID:
				to[i] = word_of_loaded_vertex_kind(TextDatumGetCString(slot->tts_values[i]));
				break;
			default:
				to[i] = (uint64) slot->tts_values[i];
		}
	}
	return true;
}

/*
 * Checks the column types again: a view that was read in between may have altered the table, and
 * then the words would be pointers.
 */
static void
check_types_of_loaded_columns(DestReceiver *self, int operation, TupleDesc desc)
{
	const word_receiver *r = (word_receiver *) self;

	for (int i = 0; i < r->columns; i++)
		if (getBaseType(TupleDescAttr(desc, i)->atttypid) != r->column[i]->type)
			ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
							errmsg("%s: table %s was altered during execution",
								   r->run->call->function, r->table->quoted)));
}

/* Does nothing, as shutdown and as destructor; a DestReceiver must have both callbacks. */
static void
do_nothing_after_loading(DestReceiver *self)
{
}

/* Reads all rows of a table, ordered by id, and returns their number. */
static uint32
read_mesh_table(rb_meshing_run *run, const rb_meshing_table *t, int *columns, uint64 **words)
{
	const char *function = run->call->function;
	SPIExecuteOptions options;
	word_receiver r;
	StringInfoData sql;
	int rc;

	memset(&r, 0, sizeof r);
	r.pub.receiveSlot = receive_row_words;
	r.pub.rStartup = check_types_of_loaded_columns;
	r.pub.rShutdown = do_nothing_after_loading;
	r.pub.rDestroy = do_nothing_after_loading;
	r.pub.mydest = DestTuplestore; /* Any destination that keeps its rows */
	r.run = run;
	r.table = t;
	initStringInfo(&sql);
	/* Casts remove domains, so that the columns have the expected types. */
	for (const char *const *name = needed_of[t->kind]; *name != NULL; name++)
	{
		const int i = find_loaded_column(t->kind, *name);

		appendStringInfo(&sql, "%s%s%s", r.columns == 0 ? "SELECT " : ", ",
						 t->attno[i] == 0 ? "null" : *name,
						 strcmp(*name, "polygon") == 0    ? "::pg_catalog.int4"
						 : strcmp(*name, "kind") == 0     ? "::pg_catalog.text"
						 : strcmp(*name, "delaunay") == 0 ? "::pg_catalog.bool"
														  : "");
		r.column[r.columns++] = &rb_meshing_columns(t->kind)[i];
	}
	appendStringInfo(&sql, " FROM %s ORDER BY id", t->quoted);
	memset(&options, 0, sizeof options);
	/*
	 * A mesh that is replaced must be read in its latest state, regardless of the statement's
	 * snapshot.
	 */
	options.read_only = !run->call->refine;
	options.must_return_tuples = true;
	options.dest = &r.pub;
	rc = SPI_execute_extended(sql.data, &options);
	if (rc < 0)
		elog(ERROR, "%s: SPI_execute_extended: %s", function, SPI_result_code_string(rc));
	*columns = r.columns;
	*words = r.words;
	return (uint32) r.n;
}

/* ---- words to arrays ---- */

/* Copies column i of the words to an array. */
static int64 *
copy_loaded_column(rb_meshing_run *run, const uint64 *words, uint32 n, int columns, int i)
{
	int64 *to = rb_meshing_array(run, n, sizeof *to);

	for (uint32 k = 0; k < n; k++)
		to[k] = (int64) words[(size_t) k * columns + i];
	return to;
}

/* Returns the number of the vertex with an id, or RB_NONE. */
static uint32
find_loaded_vertex(const rb_meshing_loaded *mesh, int64 id)
{
	const int64 *ids = mesh->id[RB_MESH_VERTICES];
	const uint32 n = mesh->n[RB_MESH_VERTICES];
	uint32 at;

	/* If the ids are consecutive, the id itself gives the position. */
	if (n > 0 && id >= ids[0] && id - ids[0] < n && ids[id - ids[0]] == id)
		return (uint32) (id - ids[0]);
	at = (uint32) rb_ids_lower_bound(ids, n, id);
	return at < n && ids[at] == id ? at : RB_NONE;
}

/* Copies `corners` columns from column 1 on, as vertex numbers. */
static void *
copy_loaded_corners(rb_meshing_run *run, const rb_meshing_loaded *mesh, const uint64 *words,
					uint32 n, int columns, int corners)
{
	uint32 *to = rb_meshing_array(run, n, corners * sizeof *to);

	for (uint32 k = 0; k < n; k++)
		for (int i = 0; i < corners; i++)
			to[(size_t) k * corners + i] =
				find_loaded_vertex(mesh, (int64) words[(size_t) k * columns + 1 + i]);
	return to;
}

/* Moves the words of the rows to the arrays of vertices. */
static void
move_loaded_vertices(rb_meshing_run *run, rb_meshing_loaded *mesh, const uint64 *words, uint32 n,
					 int columns)
{
	mesh->points = rb_meshing_array(run, n, 3 * sizeof(double));
	mesh->kind = rb_meshing_array(run, n, 1);
	for (uint32 k = 0; k < n; k++)
	{
		const uint64 *row = words + (size_t) k * columns;

		for (int i = 0; i < 3; i++)
			mesh->points[3 * (size_t) k + i] = DatumGetFloat8((Datum) row[1 + i]);
		mesh->kind[k] = (uint8) row[4];
	}
	mesh->parent_id = copy_loaded_column(run, words, n, columns, 5);
}

/* Returns for each tetrahedron 1 if column i of the words records that it is not Delaunay. */
static uint8_t *
copy_loaded_not_delaunay(rb_meshing_run *run, const uint64 *words, uint32 n, int columns, int i)
{
	uint8_t *to = rb_meshing_array(run, n, 1);

	/* The word of null, also where there is no such column, is neither true nor false. */
	for (uint32 k = 0; k < n; k++)
		to[k] = words[(size_t) k * columns + i] == (uint64) BoolGetDatum(false);
	return to;
}

void
rb_meshing_load(rb_meshing_run *run, const rb_meshing_table *tables, rb_meshing_loaded *mesh)
{
	double start = rb_now_ms();

	memset(mesh, 0, sizeof *mesh);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "%s: SPI_connect failed", run->call->function);
	for (int i = 0; i < RB_MESH_TABLES; i++)
	{
		int columns;
		uint64 *words;
		uint32 n;

		rb_progress_note(run->progress, RB_MESH_LOAD, i, RB_MESH_TABLES);
		n = mesh->n[i] = read_mesh_table(run, &tables[i], &columns, &words);
		mesh->id[i] = copy_loaded_column(run, words, n, columns, 0);
		switch (tables[i].kind)
		{
			case RB_MESH_VERTICES:
				move_loaded_vertices(run, mesh, words, n, columns);
				break;
			case RB_MESH_TETS:
				mesh->tets = copy_loaded_corners(run, mesh, words, n, columns, 4);
				mesh->region = copy_loaded_column(run, words, n, columns, 5);
				mesh->not_delaunay = copy_loaded_not_delaunay(run, words, n, columns, 6);
				break;
			case RB_MESH_FACES:
				mesh->faces = copy_loaded_corners(run, mesh, words, n, columns, 3);
				mesh->facet_id = copy_loaded_column(run, words, n, columns, 4);
				mesh->polygon = copy_loaded_column(run, words, n, columns, 5);
				break;
			default:
				mesh->edges = copy_loaded_corners(run, mesh, words, n, columns, 2);
				mesh->segment = copy_loaded_column(run, words, n, columns, 3);
				mesh->segment_id = copy_loaded_column(run, words, n, columns, 4);
				mesh->segment_facet = copy_loaded_column(run, words, n, columns, 5);
		}
		rb_free(run->memory, (void **) &words);
	}
	SPI_finish();
	run->ms[RB_MESH_LOAD] = rb_now_ms() - start;
}

/* ---- matching: points ---- */

/* Returns true if the vertices begin with the points of the rows, in the same order. */
static bool
are_points_of_rows_first(const rb_plc *plc, const rb_meshing_loaded *mesh)
{
	if (mesh->n[RB_MESH_VERTICES] < plc->npoints)
		return false;
	for (size_t i = 0; i < 3 * (size_t) plc->npoints; i++)
		if (mesh->points[i] != plc->points[i])
			return false;
	return true;
}

/*
 * Numbers the vertices. A vertex at a point of the rows gets the number of that point. The other
 * vertices get the numbers of points without a vertex, and then numbers after those of the points.
 * So a vertex that was moved is reported as a single fault.
 */
static void
order_points(rb_meshing_run *run, const rb_meshing_loaded *mesh, uint32 *number)
{
	const rb_plc *plc = &run->part->welded.plc;
	const uint32 n = mesh->n[RB_MESH_VERTICES];
	const uint32 all = plc->npoints + n;
	double *points = rb_meshing_array(run, all, 3 * sizeof *points);
	bool *taken = MemoryContextAllocExtended(CurrentMemoryContext, plc->npoints + (Size) 1,
											 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	rb_point_hash corners;
	uint32 next = 0;
	rb_status status;

	memcpy(points, plc->points, 3 * (size_t) plc->npoints * sizeof *points);
	memcpy(points + 3 * (size_t) plc->npoints, mesh->points, 3 * (size_t) n * sizeof *points);
	memset(&corners, 0, sizeof corners);
	status = rb_point_hash_find(&run->ctx, points, all, &corners);
	if (status != RB_OK)
		rb_raise_of(run->call->function, RB_MESH_WHAT, status, &run->ctx.error);
	for (uint32 v = 0; v < n; v++)
	{
		const uint32 first = corners.first[plc->npoints + v];

		number[v] = RB_NONE;
		if (first < plc->npoints && !taken[first])
		{
			taken[first] = true;
			number[v] = first;
		}
	}
	for (int pass = 0; pass < 2; pass++)
		for (uint32 v = 0; v < n; v++)
		{
			if (number[v] != RB_NONE || (pass == 0 && mesh->kind[v] != RB_VERTEX_INPUT))
				continue;
			while (next < plc->npoints && taken[next])
				next++;
			number[v] = next++;
		}
	rb_point_hash_free(run->memory, &corners);
	rb_free(run->memory, (void **) &points);
	pfree(taken);
}

/* Replaces the corners of loaded tetrahedra, faces or edges by new numbers; RB_NONE remains. */
static void
renumber_corners(uint32_t *corner, size_t n, const uint32 *number)
{
	for (size_t i = 0; i < n; i++)
		if (corner[i] != RB_NONE)
			corner[i] = number[corner[i]];
}

/* Reorders the vertices so that those of the PLC come first. */
static void
match_points(rb_meshing_run *run, rb_meshing_loaded *mesh)
{
	const uint32 n = mesh->n[RB_MESH_VERTICES];
	rb_meshing_loaded now = *mesh;
	uint32 *number;

	/* If vertices are missing, the numbers would have gaps, so the vertices keep their order. */
	if (are_points_of_rows_first(&run->part->welded.plc, mesh) || n < run->part->welded.plc.npoints)
		return;
	number = rb_meshing_array(run, n, sizeof *number);
	order_points(run, mesh, number);
	now.points = rb_meshing_array(run, n, 3 * sizeof(double));
	now.kind = rb_meshing_array(run, n, 1);
	now.id[RB_MESH_VERTICES] = rb_meshing_array(run, n, sizeof(int64));
	for (uint32 v = 0; v < n; v++)
	{
		memcpy(now.points + 3 * (size_t) number[v], mesh->points + 3 * (size_t) v,
			   3 * sizeof(double));
		now.kind[number[v]] = mesh->kind[v];
		now.id[RB_MESH_VERTICES][number[v]] = mesh->id[RB_MESH_VERTICES][v];
	}
	renumber_corners(&mesh->tets[0][0], 4 * (size_t) mesh->n[RB_MESH_TETS], number);
	renumber_corners(&mesh->faces[0][0], 3 * (size_t) mesh->n[RB_MESH_FACES], number);
	renumber_corners(&mesh->edges[0][0], 2 * (size_t) mesh->n[RB_MESH_EDGES], number);
	*mesh = now;
	rb_free(run->memory, (void **) &number);
}

/* ---- facets ---- */

/* Orders facets by id and polygon. */
static int
compare_facets(const void *a, const void *b)
{
	const rb_meshing_facet *x = a;
	const rb_meshing_facet *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->polygon < y->polygon ? -1 : x->polygon > y->polygon;
}

/*
 * Lists the polygons with which faces of the tables are matched, sorted by key: those of the rows
 * or, without rows, those that faces refer to.
 */
static rb_meshing_facet *
list_polygons_to_match(rb_meshing_run *run, const rb_meshing_loaded *mesh, uint32 *n)
{
	const bool of_rows = run->part->is_welded;
	const uint32 all = of_rows ? run->part->welded.npolygons : mesh->n[RB_MESH_FACES];
	rb_meshing_facet *list = rb_meshing_array(run, all, sizeof *list);
	uint32 *polygon = of_rows ? rb_meshing_polygons(run, run->part) : NULL;
	uint32 kept = 0;

	for (uint32 i = 0; i < all; i++)
	{
		list[i].number = i;
		list[i].id = of_rows ? rb_meshing_id(run, RB_MESH_FACETS, run->part->welded.facet_row[i])
							 : mesh->facet_id[i];
		list[i].polygon = of_rows ? polygon[i] : mesh->polygon[i];
	}
	qsort(list, all, sizeof *list, compare_facets);
	for (uint32 i = 0; !of_rows && i < all; i++)
		if (kept == 0 || compare_facets(&list[kept - 1], &list[i]) != 0)
		{
			list[kept] = list[i];
			list[kept].number = kept;
			kept++;
		}
	*n = of_rows ? all : kept;
	return list;
}

/* Sets the facet of each polygon of the tables as the rows were merged. */
static void
merge_loaded_polygons_by_rows(const rb_welded *welded, rb_meshing_matched *to, uint32 *facet)
{
	to->nfacets = welded->plc.nfacets;
	for (uint32 i = 0; i < to->npolygons; i++)
		facet[i] = i;
	for (uint32 i = 0; welded->polygon_of != NULL && i < welded->plc.ntriangles; i++)
		facet[welded->polygon_of[i]] = welded->plc.facet_of[i];
}

/* Merges coplanar polygons that are connected by faces of the mesh read from its tables. */
static void
merge_loaded_polygons_by_faces(rb_meshing_run *run, const rb_meshing_loaded *mesh,
							   rb_meshing_matched *to, uint32 *facet)
{
	const rb_status status = rb_merge_by_faces(
		&run->ctx, mesh->points, mesh->n[RB_MESH_VERTICES], (const uint32_t(*)[3]) mesh->faces,
		mesh->n[RB_MESH_FACES], (const uint32_t(*)[2]) mesh->edges, mesh->n[RB_MESH_EDGES],
		to->face_polygon, to->npolygons, run->call->merge.kind == RB_MERGE_NEARLY_FLAT, facet,
		&to->nfacets);

	if (status != RB_OK)
		rb_raise_of(run->call->function, RB_MESH_WHAT, status, &run->ctx.error);
}

/* Merges polygons of the mesh read from its tables into facets, and sets the facet of each face. */
static void
merge_loaded_polygons(rb_meshing_run *run, const rb_meshing_loaded *mesh, rb_meshing_matched *to)
{
	uint32 *facet = rb_meshing_array(run, to->npolygons, sizeof *facet);

	if (run->part->is_welded)
		merge_loaded_polygons_by_rows(&run->part->welded, to, facet);
	else
		merge_loaded_polygons_by_faces(run, mesh, to, facet);
	to->facets = rb_meshing_array(run, to->nfacets, sizeof *to->facets);
	for (uint32 i = to->npolygons; i-- > 0;)
		to->facets[facet[i]] = to->polygons[i];
	to->face_facet = rb_meshing_array(run, mesh->n[RB_MESH_FACES], sizeof(uint32));
	for (uint32 i = 0; i < mesh->n[RB_MESH_FACES]; i++)
		to->face_facet[i] = to->face_polygon[i] == RB_NONE ? RB_NONE : facet[to->face_polygon[i]];
	rb_free(run->memory, (void **) &facet);
}

/* Finds the facet of each face. */
static void
match_facets(rb_meshing_run *run, const rb_meshing_loaded *mesh, rb_meshing_matched *to)
{
	rb_meshing_facet *list = list_polygons_to_match(run, mesh, &to->npolygons);

	to->face_polygon = rb_meshing_array(run, mesh->n[RB_MESH_FACES], sizeof(uint32));
	for (uint32 i = 0; i < mesh->n[RB_MESH_FACES]; i++)
	{
		const rb_meshing_facet key = {mesh->facet_id[i], mesh->polygon[i], 0};
		const rb_meshing_facet *found =
			bsearch(&key, list, to->npolygons, sizeof *list, compare_facets);

		to->face_polygon[i] = found == NULL ? RB_NONE : found->number;
	}
	/* From here on, polygons are ordered by number. */
	to->polygons = rb_meshing_array(run, to->npolygons, sizeof *to->polygons);
	for (uint32 i = 0; i < to->npolygons; i++)
		to->polygons[list[i].number] = list[i];
	rb_free(run->memory, (void **) &list);
	merge_loaded_polygons(run, mesh, to);
}

/* ---- segments ---- */

typedef struct edge_ends
{
	uint32 low;
	uint32 high;
	uint32 number;
} edge_ends;

/* Orders edges by their ends. */
static int
compare_ends_of_loaded_edges(const void *a, const void *b)
{
	const edge_ends *x = a;
	const edge_ends *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->high < y->high ? -1 : x->high > y->high;
}

/*
 * Returns the ends of a segment in ascending order with its number, to find loaded segments in the
 * PLC.
 */
static edge_ends
sorted_ends_of_segment(const uint32_t *v, uint32 number)
{
	return (edge_ends){Min(v[0], v[1]), Max(v[0], v[1]), number};
}

typedef struct segment_piece
{
	int64 segment;
	uint32 edge;
} segment_piece;

/* Orders edges by segment, then by number. */
static int
compare_loaded_subsegments(const void *a, const void *b)
{
	const segment_piece *x = a;
	const segment_piece *y = b;

	if (x->segment != y->segment)
		return x->segment < y->segment ? -1 : 1;
	return x->edge < y->edge ? -1 : x->edge > y->edge;
}

static int
compare_loaded_numbers(const void *a, const void *b)
{
	const uint32 x = *(const uint32 *) a;
	const uint32 y = *(const uint32 *) b;

	return x < y ? -1 : x > y;
}

/*
 * Finds the two ends of a segment of the mesh that was read: the vertices that belong to only one
 * of its pieces. If their number is not two, returns some of the vertices.
 */
static void
find_ends_of_loaded_segment(const rb_meshing_loaded *mesh, const segment_piece *pieces, uint32 n,
							uint32 *scratch, uint32_t *v)
{
	uint32 single = 0;

	for (uint32 i = 0; i < n; i++)
		memcpy(scratch + 2 * (size_t) i, mesh->edges[pieces[i].edge], 2 * sizeof *scratch);
	if (n > 1)
		qsort(scratch, 2 * (size_t) n, sizeof *scratch, compare_loaded_numbers);
	v[0] = scratch[0];
	v[1] = scratch[2 * (size_t) n - 1];
	for (size_t i = 0; i < 2 * (size_t) n; i++)
		if ((i == 0 || scratch[i - 1] != scratch[i]) &&
			(i == 2 * (size_t) n - 1 || scratch[i + 1] != scratch[i]) && single < 2)
			v[single++] = scratch[i];
}

/* Finds the segment of each edge. */
static void
match_segments(rb_meshing_run *run, const rb_meshing_loaded *mesh, rb_meshing_matched *to)
{
	const rb_plc *plc = &run->part->welded.plc;
	const uint32 given = run->part->is_welded ? plc->nsegments : 0;
	const uint32 n = mesh->n[RB_MESH_EDGES];
	edge_ends *list = rb_meshing_array(run, given, sizeof *list);
	segment_piece *pieces = rb_meshing_array(run, n, sizeof *pieces);
	uint32 *scratch = rb_meshing_array(run, n, 2 * sizeof *scratch);

	to->nsegments = given;
	to->segments = rb_meshing_array(run, (size_t) given + n, 2 * sizeof(uint32));
	to->segment = rb_meshing_array(run, (size_t) given + n, sizeof(int64));
	to->edge_segment = rb_meshing_array(run, n, sizeof(uint32));
	for (uint32 i = 0; i < given; i++)
	{
		list[i] = sorted_ends_of_segment(plc->segments[i], i);
		memcpy(to->segments[i], plc->segments[i], 2 * sizeof(uint32));
		to->segment[i] = 0;
	}
	qsort(list, given, sizeof *list, compare_ends_of_loaded_edges);
	for (uint32 i = 0; i < n; i++)
		pieces[i] = (segment_piece){mesh->segment[i], i};
	qsort(pieces, n, sizeof *pieces, compare_loaded_subsegments);
	for (uint32 i = 0, next; i < n; i = next)
	{
		uint32_t v[2];
		edge_ends key;
		const edge_ends *found;
		uint32 number;

		for (next = i + 1; next < n && pieces[next].segment == pieces[i].segment;)
			next++;
		find_ends_of_loaded_segment(mesh, pieces + i, next - i, scratch, v);
		key = sorted_ends_of_segment(v, 0);
		found = bsearch(&key, list, given, sizeof *list, compare_ends_of_loaded_edges);
		number = found != NULL && to->segment[found->number] == 0 ? found->number : to->nsegments++;
		if (number >= given)
			memcpy(to->segments[number], v, sizeof v);
		to->segment[number] = pieces[i].segment;
		for (uint32 k = i; k < next; k++)
			to->edge_segment[pieces[k].edge] = number;
	}
	rb_free(run->memory, (void **) &scratch);
	rb_free(run->memory, (void **) &pieces);
	rb_free(run->memory, (void **) &list);
}

/* ---- parents ---- */

/*
 * Finds the parent of each vertex that was read: the segment or facet of an edge or face that has
 * the vertex as a corner.
 */
static void
find_parents_of_loaded_vertices(rb_meshing_run *run, const rb_meshing_loaded *mesh,
								rb_meshing_matched *to)
{
	const uint32 n = mesh->n[RB_MESH_VERTICES];

	to->parent = rb_meshing_array(run, n, sizeof(uint32));
	memset(to->parent, 0xff, (size_t) n * sizeof(uint32));
	for (uint32 i = 0; i < mesh->n[RB_MESH_EDGES]; i++)
		for (int k = 0; k < 2; k++)
		{
			const uint32 v = mesh->edges[i][k];

			if (v < n && mesh->kind[v] == RB_VERTEX_ON_SEGMENT)
				to->parent[v] = to->edge_segment[i];
		}
	for (uint32 i = 0; i < mesh->n[RB_MESH_FACES]; i++)
		for (int k = 0; k < 3; k++)
		{
			const uint32 v = mesh->faces[i][k];

			if (v < n && mesh->kind[v] == RB_VERTEX_ON_FACET)
				to->parent[v] = to->face_facet[i];
		}
}

void
rb_meshing_match(rb_meshing_run *run, rb_meshing_loaded *mesh, rb_meshing_matched *to)
{
	memset(to, 0, sizeof *to);
	if (run->part->is_welded)
		match_points(run, mesh);
	match_facets(run, mesh, to);
	CHECK_FOR_INTERRUPTS();
	match_segments(run, mesh, to);
	CHECK_FOR_INTERRUPTS();
	find_parents_of_loaded_vertices(run, mesh, to);
}

rb_check_input
rb_meshing_check_input(const rb_meshing_loaded *mesh, const rb_meshing_matched *to)
{
	return (rb_check_input){.npoints = mesh->n[RB_MESH_VERTICES],
							.ntets = mesh->n[RB_MESH_TETS],
							.nfaces = mesh->n[RB_MESH_FACES],
							.nedges = mesh->n[RB_MESH_EDGES],
							.nsegments = to->nsegments,
							.nfacets = to->nfacets,
							.points = mesh->points,
							.kind = mesh->kind,
							.parent = to->parent,
							.tets = (const uint32_t(*)[4]) mesh->tets,
							.region = mesh->region,
							.tet_not_delaunay = mesh->not_delaunay,
							.faces = (const uint32_t(*)[3]) mesh->faces,
							.face_facet = to->face_facet,
							.edges = (const uint32_t(*)[2]) mesh->edges,
							.edge_segment = to->edge_segment,
							.segments = (const uint32_t(*)[2]) to->segments};
}
