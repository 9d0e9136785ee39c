/*
 * box_arguments.c
 *	  Reads arguments that are points, boxes and tiles.
 *
 * A point is an array of two or three float8 values, none of them null or NaN. A box or tile is
 * given by its low and high corner. A corner may be null, and its coordinates may be infinite; the
 * box is then unbounded on that side.
 */
#include "pg/base/box_arguments.h"

#include "utils/array.h"

#include <math.h>

void
rb_refuse_null_argument(const char *function, const char *argument)
{
	ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					errmsg("%s: argument \"%s\" must not be null", function, argument)));
}

void
rb_refuse_empty(const char *function, const char *argument)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("%s: argument \"%s\" must not be an empty string", function, argument),
					errhint("Omit the argument to have the column chosen automatically.")));
}

void
rb_refuse_distance(const char *function, const char *argument, double distance)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		 errmsg("%s: invalid value for argument \"%s\": %g", function, argument, distance),
		 errdetail("The distance must be finite, 0 or more, in the units of the coordinates.")));
}

void
rb_refuse_tolerance(const char *function, double tolerance)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: invalid value for argument \"face_tolerance\": %g", function, tolerance),
			 errdetail(
				 "The tolerance must be a distance, 0 or more, in the units of the coordinates.")));
}

void
rb_refuse_null(const char *function, const char *argument)
{
	ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					errmsg("%s: argument \"%s\" must not contain nulls", function, argument)));
}

void
rb_refuse_dims(const char *function, const char *a, int dims_a, const char *b, int dims_b)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: %s has %d dimensions, but %s has %d", function, a, dims_a, b, dims_b)));
}

void
rb_tile_refuse_dims(const char *function, const rb_box *tile, int dims)
{
	rb_refuse_dims(function, "the tile", tile->dims, "the join", dims);
}

/* ---- points ---- */

typedef enum point_fault
{
	POINT_FINE,
	POINT_SHAPE, /* The array does not have two or three elements */
	POINT_NULL,
	POINT_NAN
} point_fault;

/* Reads a point and its number of dimensions. Returns what is wrong with the point. */
static point_fault
parse_point(Datum value, double *x, int *n)
{
	ArrayType *array = DatumGetArrayTypeP(value);

	*n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	if (ARR_NDIM(array) != 1 || (*n != 2 && *n != 3))
		return POINT_SHAPE;
	if (array_contains_nulls(array))
		return POINT_NULL;
	memcpy(x, ARR_DATA_PTR(array), (size_t) *n * sizeof(double));
	for (int a = 0; a < *n; a++)
		if (isnan(x[a]))
			return POINT_NAN;
	return POINT_FINE;
}

/* Reads a point and returns its number of dimensions, or raises an error. */
static int
read_point(const char *function, const char *argument, Datum value, double *x)
{
	int n;

	switch (parse_point(value, x, &n))
	{
		case POINT_SHAPE:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: argument \"%s\" has %d element%s", function, argument, n,
							n == 1 ? "" : "s"),
					 errdetail("The argument must be a point with two or three coordinates.")));
		case POINT_NULL:
			rb_refuse_null(function, argument);
		case POINT_NAN:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: argument \"%s\" must not contain NaN", function, argument)));
		case POINT_FINE:
			break;
	}
	return n;
}

/* ---- boxes ---- */

static void
all_of_space(rb_box *e)
{
	e->dims = 0;
	for (int a = 0; a < 3; a++)
	{
		e->low[a] = -INFINITY;
		e->high[a] = INFINITY;
	}
}

/* Reads the box given by two arguments. */
void
rb_ends_read(const NullableDatum *args, const char *function, const char *low, const char *high,
			 rb_box *e)
{
	int dims[2] = {0, 0};

	all_of_space(e);
	if (!args[0].isnull)
		dims[0] = read_point(function, low, args[0].value, e->low);
	if (!args[1].isnull)
		dims[1] = read_point(function, high, args[1].value, e->high);
	if (dims[0] != 0 && dims[1] != 0 && dims[0] != dims[1])
		rb_refuse_dims(function, low, dims[0], high, dims[1]);
	e->dims = Max(dims[0], dims[1]);
}

void
rb_tile_read(const NullableDatum *args, const char *function, rb_box *tile)
{
	rb_ends_read(args, function, "tile_low", "tile_high", tile);
}

bool
rb_tile_try(const NullableDatum *args, rb_box *tile)
{
	int dims[2] = {0, 0};

	all_of_space(tile);
	if ((!args[0].isnull && parse_point(args[0].value, tile->low, &dims[0]) != POINT_FINE) ||
		(!args[1].isnull && parse_point(args[1].value, tile->high, &dims[1]) != POINT_FINE) ||
		(dims[0] != 0 && dims[1] != 0 && dims[0] != dims[1]))
		return false;
	tile->dims = Max(dims[0], dims[1]);
	return true;
}
