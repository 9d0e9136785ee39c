/*
 * load.c
 *	  Reads the tables of a mesh into arrays.
 *
 * A SELECT returns the rows ordered by id, and each column value becomes one word. Then corners,
 * which are ids of vertices, are replaced by vertex numbers from 0 on. The ids need not start at 1
 * and may have gaps.
 */
#include "pg/mesh/meshing.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* All columns except the informative ones of tetrahedra */
static const char *const needed_of[RB_MESH_TABLES][RB_MESH_COLUMNS] = {
	[RB_MESH_VERTICES] = {"id", "x", "y", "z", "kind", "parent_id"},
	[RB_MESH_TETS] = {"id", "v1", "v2", "v3", "v4", "region"},
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

static void
resize_block(rb_meshing_run *run, void **block, size_t bytes)
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

	resize_block(run, &block, (n + 1) * element);
	return block;
}

static uint64
kind_word(const char *kind)
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

static const rb_meshing_column *
find_column(rb_meshing_kind kind, const char *name)
{
	const rb_meshing_column *c = rb_meshing_columns(kind);

	while (strcmp(c->name, name) != 0)
		c++;
	return c;
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	word_receiver *r = (word_receiver *) self;
	uint64 *to;

	CHECK_FOR_INTERRUPTS();
	slot_getallattrs(slot);
	if (r->n == r->cap)
	{
		r->cap = Max(1024, r->cap + r->cap / 2);
		resize_block(r->run, (void **) &r->words, r->cap * r->columns * sizeof *r->words);
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
				to[i] = kind_word(TextDatumGetCString(slot->tts_values[i]));
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
check_types(DestReceiver *self, int operation, TupleDesc desc)
{
	const word_receiver *r = (word_receiver *) self;

	for (int i = 0; i < r->columns; i++)
		if (getBaseType(TupleDescAttr(desc, i)->atttypid) != r->column[i]->type)
			ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
							errmsg("%s: table %s was altered during execution",
								   r->run->call->function, r->table->quoted)));
}

static void
do_nothing(DestReceiver *self)
{
}

/* Reads all rows of a table, ordered by id, and returns their number. */
static uint32
read_words(rb_meshing_run *run, const rb_meshing_table *t, int *columns, uint64 **words)
{
	const char *function = run->call->function;
	SPIExecuteOptions options;
	word_receiver r;
	StringInfoData sql;
	int rc;

	memset(&r, 0, sizeof r);
	r.pub.receiveSlot = receive_row;
	r.pub.rStartup = check_types;
	r.pub.rShutdown = do_nothing;
	r.pub.rDestroy = do_nothing;
	r.pub.mydest = DestTuplestore; /* Any destination that keeps its rows */
	r.run = run;
	r.table = t;
	initStringInfo(&sql);
	/* Casts remove domains, so that the columns have the expected types. */
	for (const char *const *name = needed_of[t->kind]; *name != NULL; name++)
	{
		appendStringInfo(&sql, "%s%s%s", r.columns == 0 ? "SELECT " : ", ", *name,
						 strcmp(*name, "polygon") == 0 ? "::pg_catalog.int4"
						 : strcmp(*name, "kind") == 0  ? "::pg_catalog.text"
													   : "");
		r.column[r.columns++] = find_column(t->kind, *name);
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
take_column(rb_meshing_run *run, const uint64 *words, uint32 n, int columns, int i)
{
	int64 *to = rb_meshing_array(run, n, sizeof *to);

	for (uint32 k = 0; k < n; k++)
		to[k] = (int64) words[(size_t) k * columns + i];
	return to;
}

/* Returns the number of the vertex with an id, or RB_NONE. */
static uint32
find_vertex(const rb_meshing_loaded *mesh, int64 id)
{
	const int64 *ids = mesh->id[RB_MESH_VERTICES];
	uint32 low = 0;
	uint32 high = mesh->n[RB_MESH_VERTICES];

	/* If the ids are consecutive, the id itself gives the position. */
	if (high > 0 && id >= ids[0] && id - ids[0] < high && ids[id - ids[0]] == id)
		return (uint32) (id - ids[0]);
	while (low < high)
	{
		const uint32 middle = low + (high - low) / 2;

		if (ids[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < mesh->n[RB_MESH_VERTICES] && ids[low] == id ? low : RB_NONE;
}

/* Copies `corners` columns from column 1 on, as vertex numbers. */
static void *
take_corners(rb_meshing_run *run, const rb_meshing_loaded *mesh, const uint64 *words, uint32 n,
			 int columns, int corners)
{
	uint32 *to = rb_meshing_array(run, n, corners * sizeof *to);

	for (uint32 k = 0; k < n; k++)
		for (int i = 0; i < corners; i++)
			to[(size_t) k * corners + i] =
				find_vertex(mesh, (int64) words[(size_t) k * columns + 1 + i]);
	return to;
}

static void
take_vertices(rb_meshing_run *run, rb_meshing_loaded *mesh, const uint64 *words, uint32 n,
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
	mesh->parent_id = take_column(run, words, n, columns, 5);
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
		n = mesh->n[i] = read_words(run, &tables[i], &columns, &words);
		mesh->id[i] = take_column(run, words, n, columns, 0);
		switch (tables[i].kind)
		{
			case RB_MESH_VERTICES:
				take_vertices(run, mesh, words, n, columns);
				break;
			case RB_MESH_TETS:
				mesh->tets = take_corners(run, mesh, words, n, columns, 4);
				mesh->region = take_column(run, words, n, columns, 5);
				break;
			case RB_MESH_FACES:
				mesh->faces = take_corners(run, mesh, words, n, columns, 3);
				mesh->facet_id = take_column(run, words, n, columns, 4);
				mesh->polygon = take_column(run, words, n, columns, 5);
				break;
			default:
				mesh->edges = take_corners(run, mesh, words, n, columns, 2);
				mesh->segment = take_column(run, words, n, columns, 3);
				mesh->segment_id = take_column(run, words, n, columns, 4);
				mesh->segment_facet = take_column(run, words, n, columns, 5);
		}
		rb_free(run->memory, (void **) &words);
	}
	SPI_finish();
	run->ms[RB_MESH_LOAD] = rb_now_ms() - start;
}
