/*
 * predicates.c
 *	  Implements the exact predicates as SQL functions of float8 that return -1, 0 or 1.
 */
#include "pg/base/pg.h"

#include <math.h>

/*
 * Reads all arguments as points of `dims` dimensions, named a, b, c ..., and checks that they are
 * finite.
 */
static void
get_points(FunctionCallInfo fcinfo, int dims, double *x, const char *function)
{
	for (int i = 0; i < PG_NARGS(); i++)
	{
		x[i] = PG_GETARG_FLOAT8(i);
		if (!isfinite(x[i]))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("%s: argument \"%c%c\" must be finite, but is %s", function,
							'a' + i / dims, "xyz"[i % dims], isnan(x[i]) ? "NaN" : "infinite")));
	}
}

PG_FUNCTION_INFO_V1(redblue_orient2d);

Datum
redblue_orient2d(PG_FUNCTION_ARGS)
{
	double x[6];

	get_points(fcinfo, 2, x, "redblue_orient2d");
	PG_RETURN_INT32(rb_orient2d(x, x + 2, x + 4));
}

PG_FUNCTION_INFO_V1(redblue_orient3d);

Datum
redblue_orient3d(PG_FUNCTION_ARGS)
{
	double x[12];

	get_points(fcinfo, 3, x, "redblue_orient3d");
	PG_RETURN_INT32(rb_orient3d(x, x + 3, x + 6, x + 9));
}

PG_FUNCTION_INFO_V1(redblue_incircle);

Datum
redblue_incircle(PG_FUNCTION_ARGS)
{
	double x[8];

	get_points(fcinfo, 2, x, "redblue_incircle");
	PG_RETURN_INT32(rb_incircle(x, x + 2, x + 4, x + 6));
}

PG_FUNCTION_INFO_V1(redblue_insphere);

Datum
redblue_insphere(PG_FUNCTION_ARGS)
{
	double x[15];

	get_points(fcinfo, 3, x, "redblue_insphere");
	PG_RETURN_INT32(rb_insphere(x, x + 3, x + 6, x + 9, x + 12));
}
