/*
 * geometry_errors.c
 *	  Raises errors about geometries that are not accepted.
 *
 * A message names what the user can find, and its hint names a PostGIS function that repairs the
 * geometry, if there is one.
 */
#include "pg/base/pg.h"

#include "utils/builtins.h"
#include "utils/float.h"

/* Geometry types that each kind accepts, for messages */
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

/* Returns a corner in the format of ST_AsText. */
static const char *
corner(const rb_geometry_info *info, int i)
{
	return psprintf("(%s %s %s)", float8out_internal(info->at[i][0]),
					float8out_internal(info->at[i][1]), float8out_internal(info->at[i][2]));
}

/*
 * Raises the error that a face is not a valid polygon of its plane, with the location of the fault.
 */
pg_noreturn static void
raise_face(const rb_geometry_place *p, const char *where, rb_geometry_fault fault,
		   const rb_geometry_info *info)
{
	const char *function = p->function;
	const char axis = "xyz"[info->axis];

	/* The face may be valid in space, so repairing its edges would not help. */
	if (p->flattened)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: only one of the two geometries has Z", function),
			 errdetail("They are compared as they lie in the plane, and there the face at %s in "
					   "%s is no polygon.",
					   corner(info, 0), where),
			 errhint("Use ST_Force3D(geometry, z) on the one without Z.")));
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
					 /* ST_MakeValid considers only x and y and does not split surfaces. */
					 info->axis == 2 &&
							 (info->type == RB_TYPE_POLYGON || info->type == RB_TYPE_MULTIPOLYGON)
						 ? errhint("Use ST_MakeValid(%s), which adds a corner where they cross.",
								   p->value)
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
					 p->face_tolerance >= 0
						 ? errdetail("The corner %s lies %s from the plane of its face; "
									 "face_tolerance is %s.",
									 corner(info, 0), float8out_internal(info->distance),
									 float8out_internal(p->face_tolerance))
						 : errdetail("The corner %s lies %s from the plane of its face: more "
									 "than %s of its extent.",
									 corner(info, 0), float8out_internal(info->distance),
									 float8out_internal(p->face_share)),
					 errhint("Cut it into flat faces, or allow more by face_tolerance.")));
	}
	pg_unreachable();
}

void
rb_raise_geometry(const rb_geometry_place *p, rb_geometry_fault fault, const rb_geometry_info *info)
{
	const char *where = p->where;
	const char *function = p->function;

	/* Name the face if there are several. */
	if (p->kind == RB_TRIANGLE3 && info != NULL && info->type != info->bad_type &&
		(info->bad_type == RB_TYPE_POLYGON || info->bad_type == RB_TYPE_TRIANGLE))
		where = psprintf("%s, face %u", where, info->face);

	switch (fault)
	{
		case RB_GEOMETRY_WRONG_TYPE:
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("%s: unexpected geometry type %s in %s", function,
							rb_geometry_type_name(info->bad_type), where),
					 info->type == info->bad_type
						 ? 0
						 : errdetail("It is a part of a %s.", rb_geometry_type_name(info->type)),
					 errhint("Accepted: %s.%s",
							 p->many_points ? "Point or MultiPoint, with Z" : accepted[p->kind],
							 p->more_hint)));
			break;
		case RB_GEOMETRY_NO_Z:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: geometry without Z in %s", function, where),
					 p->what == NULL
						 ? errdetail("A join in three dimensions needs the height of every corner.")
						 : errdetail("A %s needs the height of every corner.", p->what),
					 errhint("Use ST_Force3D(%s, z).", p->value)));
			break;
		case RB_GEOMETRY_CURVE:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("%s: %s in %s", function, rb_geometry_type_name(info->bad_type), where),
					 errdetail("Curves are not read."),
					 errhint("Use ST_CurveToLine(%s), whose pieces are straight.", p->value)));
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
			raise_face(p, where, fault, info);
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
