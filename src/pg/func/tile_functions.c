/*
 * tile_functions.c
 *	  Implements redblue_tiles, which partitions space into tiles of about equal join cost, and
 *	  redblue_meets_tile and redblue_tiles_of, which find the tiles that a row belongs to.
 *
 * redblue_tiles reads a sample of the rows of each side (table_sample.c). The core partitions space
 * by the sample (kd_tiles.c) on a helper thread, while the main thread processes interrupts.
 *
 * A tile needs a row if the row may be in a pair of the tile: if its box begins below the high ends
 * of the tile and does not end below its low ends. For pairs within a distance, the box may end
 * that much lower, because the other row may begin that much higher.
 *
 * A box is given by two arrays, or is the box of a geometry (scalar/geometry_functions.c). A tile
 * is given by two arrays, as redblue_tiles returns them. Several tiles are given by two-dimensional
 * arrays, as array_agg(tile_low ORDER BY tile) builds them.
 */
#include "pg/base/arguments.h"
#include "pg/base/cleanup.h"
#include "pg/base/helper_thread.h"
#include "pg/func/func.h"
#include "pg/read/read.h"

#include "core/join/join.h"
#include "core/primitive/reference_point.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include <math.h>

/* Number of rows sampled per side: the minimum, the number per tile, and the maximum */
#define LEAST_ROWS 65536
#define ROWS_OF_A_TILE 1024
#define MOST_ROWS (1 << 20)
/*
 * Memory per sampled row of either side, in bytes, for the row and its pairs; limits the sample to
 * redblue.memory_limit
 */
#define BYTES_OF_A_ROW 1024

#define MOST_TILES 1000000

typedef struct tiling
{
	const char *function;
	bool query;
	bool self;
	int dimensions; /* Requested number of dimensions, or 0 for that of the rows */
	rb_source source[2];
	rb_box_sample sample[2];
	rb_memory *memory;
	rb_context ctx;
	rb_kd_job job;
	rb_kd_tile *tile;
	rb_helper aside;
	rb_cleanup open;
} tiling;

static const char *const side_names[2] = {"red", "blue"};

/* ---- arguments ---- */

/* Reads the number of tiles, the distance and the number of dimensions. */
static void
read_tiling_numbers(tiling *t, const rb_arguments *a)
{
	const int32 n = DatumGetInt32(rb_argument_required(a, "n"));
	const NullableDatum *dimensions = rb_argument(a, "dimensions");

	(void) rb_argument_required(a, "distance");
	if (n < 1 || n > MOST_TILES)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: invalid value for argument \"n\": %d", t->function, n),
						errdetail("The number of tiles must be between 1 and %d.", MOST_TILES)));
	t->job.n = (uint32) n;
	t->job.distance = rb_distance_read(rb_argument(a, "distance"), t->function, "distance");
	t->dimensions = dimensions->isnull ? 0 : DatumGetInt32(dimensions->value);
	if (!dimensions->isnull && t->dimensions != 2 && t->dimensions != 3)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: invalid value for argument \"dimensions\": %d", t->function,
					t->dimensions),
			 errdetail(
				 "The number of dimensions must be 2 for joins in the plane or 3 for joins in space.")));
}

/* Returns true if both column names in calls of redblue_tiles are equal or both are missing. */
static bool
are_tile_columns_equal(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Returns true if red and blue are the same rows, so that one of them is sampled for both. */
static bool
is_tiling_of_one_side(const tiling *t, const rb_arguments *a)
{
	const rb_source *red = &t->source[0], *blue = &t->source[1];
	const NullableDatum *rows[2] = {rb_argument(a, "red"), rb_argument(a, "blue")};

	if (rows[1]->isnull)
		return true;
	return are_tile_columns_equal(red->geom_name, blue->geom_name) &&
		   are_tile_columns_equal(red->object_name, blue->object_name) &&
		   (t->query ? strcmp(TextDatumGetCString(rows[0]->value),
							  TextDatumGetCString(rows[1]->value)) == 0
					 : DatumGetObjectId(rows[0]->value) == DatumGetObjectId(rows[1]->value));
}

/* Sets a source to a table, whose kind its columns determine. */
static void
set_tiling_source_to_table(rb_source *s, Oid relid)
{
	Relation rel = rb_relation_open(relid, AccessShareLock, ACL_SELECT, s->function, s->side);

	s->kind = rb_columns_kind(RelationGetDescr(rel), s);
	relation_close(rel, NoLock);
	rb_source_table(s, relid);
	/* Read the table by its SELECT. */
	s->heap = InvalidOid;
}

/* Reads the arguments of redblue_tiles into the sources of both sides. */
static void
read_tiling_arguments(tiling *t, const NullableDatum *args)
{
	rb_arguments a;

	rb_arguments_bind(&a, t->function, "* n *_geom *_object distance dimensions", side_names, 2,
					  args);
	read_tiling_numbers(t, &a);
	(void) rb_argument_required(&a, "red");
	for (int i = 0; i < 2; i++)
	{
		rb_source *s = &t->source[i];

		s->function = t->function;
		s->side = side_names[i];
		s->what = "sample";
		s->kind = RB_BOX3;
		s->query = t->query;
		s->nameless = true;
		s->face_tolerance = -1;
		s->geom_name = rb_argument_column(&a, psprintf("%s_geom", s->side), NULL);
		s->object_name = rb_argument_column(&a, psprintf("%s_object", s->side), NULL);
	}
	t->self = is_tiling_of_one_side(t, &a);
	for (int i = 0; i < (t->self ? 1 : 2); i++)
	{
		const Datum rows = rb_argument(&a, side_names[i])->value;

		if (t->query)
			rb_source_query(&t->source[i], TextDatumGetCString(rows));
		else
			set_tiling_source_to_table(&t->source[i], DatumGetObjectId(rows));
	}
}

/* ---- samples ---- */

/* Returns how many rows to sample for the wanted number of tiles, within the memory limit. */
static size_t
wanted_rows_of_tile_sample(const tiling *t)
{
	uint64 wanted = Max((uint64) ROWS_OF_A_TILE * t->job.n, LEAST_ROWS);

	wanted = Min(wanted, MOST_ROWS);
	return Max(Min(wanted, rb_memory_limit(t->memory) / BYTES_OF_A_ROW), 1);
}

/* Raises an ERROR if a side has fewer dimensions than are requested or than the other side has. */
static void
check_tiling_dimensions(const tiling *t, int side, int dims, int other)
{
	if (dims == 0 || other == 0 || dims == other)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 t->dimensions == 3
				 ? errmsg("%s: %s has only %d dimensions", t->function, side_names[side], dims)
				 : errmsg("%s: red has %d dimensions, but blue has %d", t->function, other, dims),
			 errhint("Use dimensions => 2 for the tiles of a join in the plane.")));
}

/* Samples both sides, or takes two samples of a single table. */
static void
read_samples_for_tiles(tiling *t)
{
	const size_t wanted = wanted_rows_of_tile_sample(t);
	rb_space space;
	int dims = t->dimensions == 3 ? 3 : 0;

	memset(&space, 0, sizeof space);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "%s: SPI_connect failed", t->function);
	for (int i = 0; i < 2; i++)
	{
		rb_source *s = &t->source[t->self ? 0 : i];
		rb_box_sample *sample = &t->sample[i];

		/*
		 * Take a second sample of a single table only if it was sampled by pages. Rows of one page
		 * are usually close together, so the pairs within one such sample would be overrepresented.
		 */
		if (t->self && i == 1 && !t->sample[0].paged)
			break;
		sample->wanted = wanted;
		sample->flat = t->dimensions == 2;
		rb_box_sample_read(s, &space, t->memory, (uint32) i + 1, sample);
		/* In the plane, the sides may have different numbers of dimensions. */
		if (sample->flat)
			space.dims = 0;
		else
			check_tiling_dimensions(t, i, sample->dims, dims);
		dims = dims == 0 ? sample->dims : dims;
	}
	SPI_finish();
	/* A side without rows gets the dimensions of the other side. */
	for (int i = 0; i < 2; i++)
		t->sample[i].set.kind = t->dimensions == 2 || dims == 2 ? RB_BOX2 : RB_BOX3;
	for (int i = 0; i < 2; i++)
		if (t->source[i].rel != NULL)
			relation_close(t->source[i].rel, NoLock);
}

/* ---- tiles ---- */

/* Computes tiles of equal cost from the samples of both sides, as work of the helper thread. */
static rb_status
compute_tiles_of_samples(void *arg)
{
	tiling *t = arg;

	return rb_kd_tiles(&t->ctx, &t->job, t->tile);
}

/* Cuts the space of the samples into tiles on the helper thread. */
static void
find_tiles_by_helper(tiling *t)
{
	const bool two = !t->self || t->sample[1].set.nrows > 0;
	double both = 0;
	rb_status status = rb_array(&t->ctx, (void **) &t->tile, t->job.n, sizeof(rb_kd_tile));

	t->job.self = t->self;
	for (int i = 0; i < (two ? 2 : 1); i++)
	{
		t->job.sample[i] = &t->sample[i].set;
		t->job.rows[i] = t->sample[i].rows;
		both += t->sample[i].rows;
	}
	if (t->self && two)
		t->job.rows[0] = t->job.rows[1] = 0.5 * both;
	t->aside.ctx = &t->ctx;
	t->aside.work = compute_tiles_of_samples;
	t->aside.arg = t;
	if (status == RB_OK)
		status = rb_helper_run(&t->aside);
	if (status != RB_OK)
		rb_raise_of(t->function, "sample", status, &t->ctx.error);
}

/* Returns a corner of a tile as an array of float8. */
static Datum
make_tile_corner_array(const double *x, int dims)
{
	Datum values[3];

	for (int a = 0; a < dims; a++)
		values[a] = Float8GetDatum(x[a]);
	return PointerGetDatum(
		construct_array(values, dims, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/* Stores number, corners and cost of each tile in the tuplestore. */
static void
store_tile_rows(const tiling *t, ReturnSetInfo *rsinfo)
{
	const int dims = rb_kind_dims(t->sample[0].set.kind);
	MemoryContext row =
		AllocSetContextCreate(CurrentMemoryContext, "redblue tile", ALLOCSET_DEFAULT_SIZES);
	bool nulls[4] = {false};

	for (uint32 i = 0; i < t->job.n; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(row);
		Datum values[4];

		CHECK_FOR_INTERRUPTS();
		values[0] = Int32GetDatum((int32) i + 1);
		values[1] = make_tile_corner_array(t->tile[i].low, dims);
		values[2] = make_tile_corner_array(t->tile[i].high, dims);
		/* The cost is an estimate, in units of one pair, rounded to tenths. */
		values[3] = Float8GetDatum(rint(t->tile[i].cost * 10) / 10);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		MemoryContextSwitchTo(old);
		MemoryContextReset(row);
	}
}

/* Ends the helper thread and frees the memory of a tiling. Safe to call twice. */
static void
close_tiling(void *arg)
{
	tiling *t = arg;

	rb_cleanup_unregister(&t->open);
	if (t->memory == NULL)
		return;
	rb_helper_end(&t->aside);
	rb_memory_destroy(t->memory);
	t->memory = NULL;
	rb_cleanup_release_idle();
}

/* Samples both sides, cuts tiles and returns them as rows. */
static Datum
return_tiles_of_join(FunctionCallInfo fcinfo, const char *function, bool query)
{
	MemoryContext caller;
	tiling *t;

	InitMaterializedSRF(fcinfo, 0);
	caller = rb_call_enter();
	t = palloc0(sizeof *t);
	t->function = function;
	t->query = query;
	read_tiling_arguments(t, fcinfo->args);
	t->memory = rb_memory_open(function, (uint64) rb_setting_memory_limit * 1024);
	rb_context_init(&t->ctx, t->memory);
	rb_cleanup_register(&t->open, CurrentMemoryContext, close_tiling, t);
	read_samples_for_tiles(t);
	find_tiles_by_helper(t);
	store_tile_rows(t, (ReturnSetInfo *) fcinfo->resultinfo);
	rb_call_leave(caller);
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(redblue_tiles);

Datum
redblue_tiles(PG_FUNCTION_ARGS)
{
	return return_tiles_of_join(fcinfo, "redblue_tiles", false);
}

PG_FUNCTION_INFO_V1(redblue_tiles_query);

Datum
redblue_tiles_query(PG_FUNCTION_ARGS)
{
	return return_tiles_of_join(fcinfo, "redblue_tiles_query", true);
}

/* ---- which tiles a row belongs to: arguments ---- */

/* Reads the box of a row from two arguments, or raises an ERROR if it is not finite. */
static void
read_row_box_argument(FunctionCallInfo fcinfo, const char *function, rb_box *box)
{
	rb_ends_read(fcinfo->args, function, "low", "high", box);
	for (int a = 0; a < box->dims; a++)
		if (isinf(box->low[a]) || isinf(box->high[a]) || box->low[a] > box->high[a])
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
							errmsg("%s: low and high do not form a finite box", function),
							errdetail("Coordinate %d is %g in low and %g in high.", a + 1,
									  box->low[a], box->high[a])));
}

void
rb_reach_read(FunctionCallInfo fcinfo, const char *function, int argument, rb_box *box)
{
	const double distance = rb_distance_read(&fcinfo->args[argument], function, "distance");

	for (int a = 0; a < box->dims; a++)
		box->high[a] = rb_reach_up(box->high[a], distance);
}

/* ---- one tile ---- */

bool
rb_tile_needs(const char *function, const rb_box *box, bool flattens, const rb_box *tile)
{
	/* A geometry with Z may be tested against a two-dimensional tile. */
	if (tile->dims != 0 && box->dims != tile->dims && !(flattens && box->dims > tile->dims))
		rb_refuse_dims(function, flattens ? "the geometry" : "the box", box->dims, "the tile",
					   tile->dims);
	return rb_tile_meets(tile->dims, box->low, box->high, tile->low, tile->high);
}

PG_FUNCTION_INFO_V1(redblue_meets_tile);

/* Implements redblue_meets_tile(low, high, tile_low, tile_high, distance). */
Datum
redblue_meets_tile(PG_FUNCTION_ARGS)
{
	static const char function[] = "redblue_meets_tile";
	rb_box box, tile;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	read_row_box_argument(fcinfo, function, &box);
	rb_reach_read(fcinfo, function, 4, &box);
	rb_tile_read(&fcinfo->args[2], function, &tile);
	PG_RETURN_BOOL(rb_tile_needs(function, &box, false, &tile));
}

/* ---- several tiles ---- */

/*
 * Reads an array of the corners of tiles. Returns the coordinates, and stores the number of points
 * and their dimensions.
 */
static const double *
read_tile_corners_argument(FunctionCallInfo fcinfo, const char *function, int argument,
						   const char *name, int *n, int *dims)
{
	ArrayType *array;

	/*
	 * array_agg over a table without tiles returns null. Raise an error instead of silently
	 * dropping the row.
	 */
	if (PG_ARGISNULL(argument))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("%s: argument \"%s\" must not be null", function, name),
						errdetail("The argument must list the corners of the tiles.")));
	array = PG_GETARG_ARRAYTYPE_P(argument);
	if (array_contains_nulls(array))
		rb_refuse_null(function, name);
	if (ARR_NDIM(array) != 2 || (ARR_DIMS(array)[1] != 2 && ARR_DIMS(array)[1] != 3))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: argument \"%s\" is not an array of points", function, name),
				 errdetail("The array must have two dimensions: one point per tile, and two or "
						   "three coordinates per point."),
				 errhint("Use an expression such as array_agg(tile_low ORDER BY tile).")));
	*n = ARR_DIMS(array)[0];
	*dims = ARR_DIMS(array)[1];
	return (const double *) ARR_DATA_PTR(array);
}

void
rb_tiles_read(FunctionCallInfo fcinfo, const char *function, int first, rb_many_tiles *tiles)
{
	int n, dims;

	tiles->low =
		read_tile_corners_argument(fcinfo, function, first, "tile_lows", &tiles->n, &tiles->dims);
	tiles->high = read_tile_corners_argument(fcinfo, function, first + 1, "tile_highs", &n, &dims);
	if (n != tiles->n)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg_plural("%s: tile_lows has %d point, but tile_highs has %d",
									  "%s: tile_lows has %d points, but tile_highs has %d",
									  (unsigned long) tiles->n, function, tiles->n, n)));
	if (dims != tiles->dims)
		rb_refuse_dims(function, "tile_lows", tiles->dims, "tile_highs", dims);
}

void
rb_tiles_return(FunctionCallInfo fcinfo, const char *function, const rb_box *box, bool flattens,
				const rb_many_tiles *tiles)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	rb_box tile = {.dims = tiles->dims};

	for (int i = 0; i < tiles->n; i++)
	{
		Datum value = Int32GetDatum(i + 1);
		bool null = false;

		if (i % 65536 == 65535)
			CHECK_FOR_INTERRUPTS();
		memcpy(tile.low, tiles->low + (size_t) i * (size_t) tiles->dims,
			   (size_t) tiles->dims * sizeof(double));
		memcpy(tile.high, tiles->high + (size_t) i * (size_t) tiles->dims,
			   (size_t) tiles->dims * sizeof(double));
		for (int a = 0; a < tiles->dims; a++)
			if (isnan(tile.low[a]) || isnan(tile.high[a]))
				ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
								errmsg("%s: tile %d has a NaN coordinate", function, i + 1)));
		if (rb_tile_needs(function, box, flattens, &tile))
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, &value, &null);
	}
}

PG_FUNCTION_INFO_V1(redblue_tiles_of);

/* Implements redblue_tiles_of(low, high, tile_lows, tile_highs, distance). */
Datum
redblue_tiles_of(PG_FUNCTION_ARGS)
{
	static const char function[] = "redblue_tiles_of";
	rb_many_tiles tiles;
	rb_box box;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return (Datum) 0;
	read_row_box_argument(fcinfo, function, &box);
	rb_reach_read(fcinfo, function, 4, &box);
	rb_tiles_read(fcinfo, function, 2, &tiles);
	rb_tiles_return(fcinfo, function, &box, false, &tiles);
	return (Datum) 0;
}
