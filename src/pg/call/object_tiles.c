/*
 * object_tiles.c
 *	  Implements redblue_meets_tile and redblue_tiles_of, which find the tiles that a row belongs
 *	  to.
 *
 * A tile needs a row if the row may be in a pair of the tile: if its box begins below the high ends
 * of the tile and does not end below its low ends. For pairs within a distance, the box may end
 * that much lower, because the other row may begin that much higher.
 *
 * A box is given by two arrays, or is the box of a geometry (scalar/tile.c). A tile is given by
 * two arrays, as redblue_tiles returns them. Several tiles are given by two-dimensional arrays, as
 * array_agg(tile_low ORDER BY tile) builds them.
 */
#include "pg/base/arguments.h"
#include "pg/call/tile_functions.h"

#include "core/primitive/reference_point.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/tuplestore.h"

#include <math.h>

/* ---- arguments ---- */

static void
read_box(FunctionCallInfo fcinfo, const char *function, rb_box *box)
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

/* Arguments: low, high, tile_low, tile_high, distance */
Datum
redblue_meets_tile(PG_FUNCTION_ARGS)
{
	static const char function[] = "redblue_meets_tile";
	rb_box box, tile;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	read_box(fcinfo, function, &box);
	rb_reach_read(fcinfo, function, 4, &box);
	rb_tile_read(&fcinfo->args[2], function, &tile);
	PG_RETURN_BOOL(rb_tile_needs(function, &box, false, &tile));
}

/* ---- several tiles ---- */

static const double *
read_points(FunctionCallInfo fcinfo, const char *function, int argument, const char *name, int *n,
			int *dims)
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

	tiles->low = read_points(fcinfo, function, first, "tile_lows", &tiles->n, &tiles->dims);
	tiles->high = read_points(fcinfo, function, first + 1, "tile_highs", &n, &dims);
	if (n != tiles->n)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: tile_lows has %d points, but tile_highs has %d", function,
							   tiles->n, n)));
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

/* Arguments: low, high, tile_lows, tile_highs, distance */
Datum
redblue_tiles_of(PG_FUNCTION_ARGS)
{
	static const char function[] = "redblue_tiles_of";
	rb_many_tiles tiles;
	rb_box box;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return (Datum) 0;
	read_box(fcinfo, function, &box);
	rb_reach_read(fcinfo, function, 4, &box);
	rb_tiles_read(fcinfo, function, 2, &tiles);
	rb_tiles_return(fcinfo, function, &box, false, &tiles);
	return (Datum) 0;
}
