/*
 * tile.c
 *	  Finds the tiles that a geometry belongs to. Uses the box of its exact coordinates, not its
 *	  stored box of floats.
 */
#include "pg/base/arguments.h"
#include "pg/scalar/scalar.h"

#include "pg/call/tile_functions.h"

/* Reads the box of the geometry. Returns false if it is empty. */
static bool
read_geometry(FunctionCallInfo fcinfo, const char *function, rb_box *box)
{
	bool has_z;
	int32 srid;

	if (!rb_pairwise_box(fcinfo, function, &has_z, &srid, box->low, box->high))
		return false;
	box->dims = has_z ? 3 : 2;
	return true;
}

PG_FUNCTION_INFO_V1(redblue_geometry_meets_tile);

/* Arguments: geom, tile_low, tile_high, distance */
Datum
redblue_geometry_meets_tile(PG_FUNCTION_ARGS)
{
	static const char function[] = "redblue_meets_tile";
	rb_box box, tile;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	rb_tile_read(&fcinfo->args[1], function, &tile);
	if (!read_geometry(fcinfo, function, &box))
		PG_RETURN_BOOL(false);
	rb_reach_read(fcinfo, function, 3, &box);
	PG_RETURN_BOOL(rb_tile_needs(function, &box, true, &tile));
}

PG_FUNCTION_INFO_V1(redblue_geometry_tiles_of);

/* Arguments: geom, tile_lows, tile_highs, distance */
Datum
redblue_geometry_tiles_of(PG_FUNCTION_ARGS)
{
	static const char function[] = "redblue_tiles_of";
	rb_many_tiles tiles;
	rb_box box;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	rb_tiles_read(fcinfo, function, 1, &tiles);
	if (!read_geometry(fcinfo, function, &box))
		return (Datum) 0;
	rb_reach_read(fcinfo, function, 3, &box);
	rb_tiles_return(fcinfo, function, &box, true, &tiles);
	return (Datum) 0;
}
