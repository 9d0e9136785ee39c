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

#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"

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
	rb_raise_of(r->source->function, r->source->what == NULL ? "join" : r->source->what,
				error.status, &error);
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

static const char *
quoted_geometry(const rb_receiver *r)
{
	return quote_identifier(column_name(r, r->columns.geom));
}

char *
rb_row_name(const rb_receiver *r, int64 id)
{
	if (r->source->keys != NULL)
		return rb_keys_text(r->source->keys, r->slot);
	return psprintf("%s " INT64_FORMAT, r->source->object_name != NULL ? "object" : "id", id);
}

bool
rb_refuse_null_id(const rb_receiver *r, rb_column column)
{
	const bool object = r->source->object_name != NULL ||
						(r->source->keys != NULL && rb_keys_are_of_objects(r->source->keys));
	const char *what = object ? "object" : r->source->keys != NULL ? "key" : "id";

	if (!r->apart)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s: null %s in column \"%s\" of %s", r->source->function, what,
						column_name(r, column), r->source->side),
				 errdetail("It is row " UINT64_FORMAT " in the order of reading.", r->rows + 1)));
	return false;
}

bool
rb_refuse_fraction(const rb_receiver *r, Datum value)
{
	Oid output;
	bool is_varlena;

	getTypeOutputInfo(r->columns.id.type, &output, &is_varlena);
	if (!r->apart)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: column \"%s\" of %s holds %s, which is no bigint", r->source->function,
						column_name(r, r->columns.id), r->source->side,
						rb_shorten(OidOutputFunctionCall(output, value))),
				 errdetail("It is row " UINT64_FORMAT " in the order of reading.", r->rows + 1),
				 errhint("An id is an integer; cast the column in a view, or name another.")));
	return false;
}

bool
rb_refuse_null_beside(const rb_receiver *r, int64 id)
{
	if (!r->apart)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s: null in column \"%s\" of %s, %s", r->source->function,
						column_name(r, r->columns.beside), r->source->side, rb_row_name(r, id)),
				 errhint("Leave such rows out.")));
	return false;
}

bool
rb_refuse_null_coordinate(const rb_receiver *r, rb_column column, int64 id)
{
	if (!r->apart)
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("%s: null in column \"%s\" of %s, %s", r->source->function,
							   column_name(r, column), r->source->side, rb_row_name(r, id)),
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
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s: %s in column \"%s\" of %s, %s", r->source->function,
						isnan(x[i]) ? "NaN" : "infinity", column_name(r, r->columns.coord[i]),
						r->source->side, rb_row_name(r, id)),
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
						errmsg("%s: column \"%s\" is greater than \"%s\" of %s, %s",
							   r->source->function, low, high, r->source->side, rb_row_name(r, id)),
						errdetail("%.17g is greater than %.17g.", x[i], x[dims + i]),
						errhint("Use least(%s, %s) and greatest(%s, %s).", low, high, low, high)));
	return false;
}

/* what a kind reads geometry from, for messages */
static const char *const accepted[RB_KINDS] = {
	[RB_TRIANGLE3] = ("Triangle, Polygon, Tin, PolyhedralSurface, MultiPolygon, or "
					  "GeometryCollection of these, all with Z"),
	[RB_SEGMENT3] = "LineString, MultiLineString, or GeometryCollection of these, all with Z",
	[RB_SEGMENT2] =
		"LineString, MultiLineString, Polygon, MultiPolygon, or GeometryCollection of these",
	[RB_BOX3] = "any without curves",
	[RB_BOX2] = "any without curves",
	[RB_POINT3] = "Point with Z",
};

/* PostGIS's numbers */
#define RB_TYPE_POLYGON 3
#define RB_TYPE_MULTIPOLYGON 6
#define RB_TYPE_TRIANGLE 14

/* where the sides take different kinds they may have been swapped */
static const char *
order_of_sides(const rb_receiver *r)
{
	if (r->source->what != NULL)
		return "";
	if (strstr(r->source->function, "_in_bodies") != NULL)
		return "  The bodies come last.";
	return strcmp(r->source->side, "segments") == 0 || strcmp(r->source->side, "triangles") == 0
			   ? "  The segments come first, then the triangles."
			   : "";
}

/* a corner as ST_AsText writes it */
static const char *
corner(const rb_geometry_info *info, int i)
{
	return psprintf("(%s %s %s)", float8out_internal(info->at[i][0]),
					float8out_internal(info->at[i][1]), float8out_internal(info->at[i][2]));
}

/* a surface whose face is no polygon of its plane: which one, and where */
pg_noreturn static void
raise_face(const rb_receiver *r, const char *where, rb_geometry_fault fault,
		   const rb_geometry_info *info)
{
	const char *function = r->source->function;
	const char axis = "xyz"[info->axis];

	switch (fault)
	{
		case RB_GEOMETRY_CROSSING:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: face whose edges cross in %s", function, where),
					 errdetail("Seen along the %c axis, the edge from %s to %s crosses the one "
							   "from %s to %s.",
							   axis, corner(info, 0), corner(info, 1), corner(info, 2),
							   corner(info, 3)),
					 /* it works in x and y only, and splits no surface */
					 info->axis == 2 &&
							 (info->type == RB_TYPE_POLYGON || info->type == RB_TYPE_MULTIPOLYGON)
						 ? errhint("Use ST_MakeValid(%s), which adds a corner where they cross.",
								   quoted_geometry(r))
						 : errhint("Add a corner to both where they cross, or cut the face into "
								   "several.")));
			break;
		case RB_GEOMETRY_ABOVE:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: face with one corner above another in %s", function, where),
					 errdetail("Seen along the %c axis, the corners %s and %s are one point.", axis,
							   corner(info, 0), corner(info, 1)),
					 errhint("A face must be nearly flat: cut it into flat ones.")));
			break;
		case RB_GEOMETRY_HOLE_OUTSIDE:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: hole outside of its face in %s", function, where),
					 errdetail("Seen along the %c axis, hole %u leaves the outer ring at %s.", axis,
							   info->hole, corner(info, 0)),
					 errhint("Make it a face of its own, or leave it out.")));
			break;
		case RB_GEOMETRY_HOLES:
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
							errmsg("%s: holes of a face overlap in %s", function, where),
							errdetail("Seen along the %c axis, holes %u and %u overlap at %s.",
									  axis, info->hole, info->other, corner(info, 0)),
							errhint("Make them one hole; what lies within a hole is a face of its "
									"own.")));
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: face that is not flat in %s", function, where),
					 r->builder->face_tolerance >= 0
						 ? errdetail("The corner %s lies %s from the plane of its face; "
									 "face_tolerance is %s.",
									 corner(info, 0), float8out_internal(info->distance),
									 float8out_internal(r->builder->face_tolerance))
						 : errdetail("The corner %s lies %s from the plane of its face: more "
									 "than %s of its extent.",
									 corner(info, 0), float8out_internal(info->distance),
									 float8out_internal(r->builder->face_share)),
					 errhint("Cut it into flat faces, or allow more by face_tolerance.")));
	}
	pg_unreachable();
}

pg_noreturn static void
raise_geometry(const rb_receiver *r, int64 id, rb_geometry_fault fault,
			   const rb_geometry_info *info)
{
	const char *where = psprintf("column \"%s\" of %s, %s", column_name(r, r->columns.geom),
								 r->source->side, rb_row_name(r, id));
	const char *function = r->source->function;

	/* one of several faces */
	if (r->source->kind == RB_TRIANGLE3 && info != NULL && info->type != info->bad_type &&
		(info->bad_type == RB_TYPE_POLYGON || info->bad_type == RB_TYPE_TRIANGLE))
		where = psprintf("%s, face %u", where, info->face);

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
					 errhint("Accepted: %s.%s",
							 r->source->many_points ? "Point or MultiPoint, with Z"
													: accepted[r->source->kind],
							 order_of_sides(r))));
			break;
		case RB_GEOMETRY_NO_Z:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: geometry without Z in %s", function, where),
					 r->source->what == NULL
						 ? errdetail("A join in three dimensions needs the height of every corner.")
						 : errdetail("A %s needs the height of every corner.", r->source->what),
					 errhint("Use ST_Force3D(%s, z).", quoted_geometry(r))));
			break;
		case RB_GEOMETRY_CURVE:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("%s: %s in %s", function, rb_geometry_type_name(info->bad_type), where),
					 errdetail("Curves are not read."),
					 errhint("Use ST_CurveToLine(%s), whose pieces are straight.",
							 quoted_geometry(r))));
			break;
		case RB_GEOMETRY_CORNERS:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: triangle of %u corners in %s", function, info->corners, where),
					 errdetail("A TRIANGLE is four points, the last of which is the first."),
					 errhint("Store it as a POLYGON.")));
			break;
		case RB_GEOMETRY_CROSSING:
		case RB_GEOMETRY_ABOVE:
		case RB_GEOMETRY_HOLE_OUTSIDE:
		case RB_GEOMETRY_HOLES:
		case RB_GEOMETRY_NOT_FLAT:
			raise_face(r, where, fault, info);
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
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: cube of dimension %d in column \"%s\" of %s, %s", r->source->function,
						dims, column_name(r, r->columns.geom), r->source->side, rb_row_name(r, id)),
				 errdetail("A box has two dimensions or three."),
				 dims > 3 ? errhint("Use cube_subset(cube, ARRAY[1, 2, 3]).") : 0));
	return false;
}
