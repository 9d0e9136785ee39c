/*
 * row_faults.c
 *	  Rows that cannot be taken, and what is said of them.
 *
 * Each function here is about one fault.  Where rows are received apart it answers
 * false, for the row is refused.  Elsewhere it raises the error.  Either way a
 * caller writes "return rb_refuse_...(...)".
 *
 * A message names what the user can find again: side, column, id of the row.
 */
#include "pg/read/rb_receiver.h"

#include <math.h>

/* the parts of the row at fault are among those of the builder, so that is one more */
static void
raise_status(const rb_receiver *r)
{
	rb_error error = r->error;
	rb_so_far so_far = {r->rows + 1, 0};

	if (r->heap != NULL && r->heap->tuples > 0)
		so_far.share = (r->heap->block + (r->heap->at + 1.0) / r->heap->tuples) / r->heap->blocks;
	if (r->need != NULL && error.status == RB_OVER_BUDGET)
		error.need =
			Max(error.need, rb_need_while_reading(r->need, r->builder, &so_far, error.need));
	rb_raise(r->source->function, error.status, &error);
}

bool
rb_refuse_status(const rb_receiver *r)
{
	if (!r->apart)
		raise_status(r);
	return false;
}

static const char *
column_name(const rb_receiver *r, rb_column column)
{
	return NameStr(TupleDescAttr(r->desc, column.attno - 1)->attname);
}

bool
rb_refuse_null_id(const rb_receiver *r)
{
	if (!r->apart)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s: null id in column \"%s\" of %s", r->source->function,
						column_name(r, r->columns.id), r->source->side),
				 errdetail("It is row " UINT64_FORMAT " in the order of reading.", r->rows + 1)));
	return false;
}

bool
rb_refuse_null_coordinate(const rb_receiver *r, rb_column column, int64 id)
{
	if (!r->apart)
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("%s: null in column \"%s\" of %s, id " INT64_FORMAT,
							   r->source->function, column_name(r, column), r->source->side, id),
						errhint("Leave such rows out.")));
	return false;
}

bool
rb_refuse_not_finite(const rb_receiver *r, const double *x, int64 id)
{
	int i = 0;

	while (i < r->columns.width - 1 && isfinite(x[i]))
		i++;
	if (!r->apart)
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
						errmsg("%s: %s in column \"%s\" of %s, id " INT64_FORMAT,
							   r->source->function, isnan(x[i]) ? "NaN" : "infinity",
							   column_name(r, r->columns.coord[i]), r->source->side, id),
						errhint("Leave such rows out.")));
	return false;
}

bool
rb_refuse_low_above_high(const rb_receiver *r, const double *x, int i, int64 id)
{
	int dims = r->columns.width / 2;
	const char *low = column_name(r, r->columns.coord[i]);
	const char *high = column_name(r, r->columns.coord[dims + i]);

	if (!r->apart)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: column \"%s\" is greater than \"%s\" of %s, id " INT64_FORMAT,
							   r->source->function, low, high, r->source->side, id),
						errdetail("%.17g is greater than %.17g.", x[i], x[dims + i]),
						errhint("Use least(%s, %s) and greatest(%s, %s).", low, high, low, high)));
	return false;
}

/* what a kind reads geometry from, for messages */
static const char *const accepted[RB_KINDS] = {
	[RB_TRIANGLE3] = ("Triangle, Polygon of three corners, Tin, PolyhedralSurface, MultiPolygon, "
					  "or GeometryCollection of these, all with Z"),
	[RB_SEGMENT3] = "LineString, MultiLineString, or GeometryCollection of these, all with Z",
	[RB_SEGMENT2] =
		"LineString, MultiLineString, Polygon, MultiPolygon, or GeometryCollection of these",
	[RB_BOX3] = "any without curves",
	[RB_BOX2] = "any without curves",
};

pg_noreturn static void
raise_geometry(const rb_receiver *r, int64 id, rb_geometry_fault fault,
			   const rb_geometry_info *info)
{
	const char *where = psprintf("column \"%s\" of %s, id " INT64_FORMAT,
								 column_name(r, r->columns.geom), r->source->side, id);
	const char *function = r->source->function;

	switch (fault)
	{
		case RB_GEOMETRY_NO_MEMORY:
			raise_status(r);
			break;
		case RB_GEOMETRY_WRONG_TYPE:
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("%s: unexpected geometry type %s in %s", function,
							rb_geometry_type_name(info->bad_type), where),
					 info->type == info->bad_type
						 ? 0
						 : errdetail("It is a part of a %s.", rb_geometry_type_name(info->type)),
					 errhint("Accepted: %s.", accepted[r->source->kind])));
			break;
		case RB_GEOMETRY_NO_Z:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: geometry without Z in %s", function, where),
					 errdetail("A join in three dimensions needs the height of every corner."),
					 errhint("Use ST_Force3D(geom, z).")));
			break;
		case RB_GEOMETRY_CURVE:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("%s: %s in %s", function, rb_geometry_type_name(info->bad_type), where),
					 errdetail("Curves are not read."),
					 errhint("Use ST_CurveToLine(geom), whose pieces are straight.")));
			break;
		case RB_GEOMETRY_CORNERS:
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
							errmsg("%s: face of %u corners in %s", function, info->corners, where),
							errdetail("A face must be a triangle."),
							info->corners > 3 ? errhint("Use ST_Tesselate(geom) of the extension "
														"postgis_sfcgal.")
											  : 0));
			break;
		case RB_GEOMETRY_HOLE:
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
							errmsg("%s: face with a hole in %s", function, where),
							errdetail("A face must be a triangle."),
							errhint("Use ST_Tesselate(geom) of the extension postgis_sfcgal.")));
			break;
		case RB_GEOMETRY_NOT_CLOSED:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: ring that is not closed in %s", function, where),
					 errdetail("The last point of a ring must equal its first, Z included.")));
			break;
		case RB_GEOMETRY_NOT_FINITE:
			ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
							errmsg("%s: NaN or infinite coordinate in %s", function, where)));
			break;
		case RB_GEOMETRY_UNKNOWN:
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("%s: geometry of an unknown form in %s", function, where),
							errdetail("Neither its bytes nor its EWKB are understood.")));
			break;
		default:
			ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
							errmsg("%s: malformed geometry bytes in %s", function, where)));
	}
	pg_unreachable();
}

bool
rb_refuse_geometry(const rb_receiver *r, int64 id, rb_geometry_fault fault,
				   const rb_geometry_info *info)
{
	if (!r->apart)
		raise_geometry(r, id, fault, info);
	return false;
}

bool
rb_refuse_dimension(const rb_receiver *r, int dims, int64 id)
{
	if (!r->apart)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: cube of dimension %d in column \"%s\" of %s, id " INT64_FORMAT,
							   r->source->function, dims, column_name(r, r->columns.geom),
							   r->source->side, id),
						errdetail("A box has two dimensions or three."),
						dims > 3 ? errhint("Use cube_subset(cube, ARRAY[1, 2, 3]).") : 0));
	return false;
}
