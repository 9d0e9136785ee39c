/*
 * geometry_errors.c
 *	  Raises errors about geometries that are not accepted.
 *
 * A message names what the user can find, and its hint names a PostGIS function that repairs the
 * geometry, if there is one.
 */
#include "pg/read/read.h"

#include "utils/builtins.h"
#include "utils/float.h"

/* Geometry types that each kind accepts, for messages */
static const char *const accepted[RB_KINDS] = {
	[RB_TRIANGLE3] = ("Triangle, Polygon, Tin, PolyhedralSurface, MultiPolygon, or "
					  "GeometryCollection of these, all with Z"),
	[RB_SEGMENT3] = "LineString, MultiLineString, or GeometryCollection of these, all with Z",
	[RB_SEGMENT2] =
		"LineString, MultiLineString, Polygon, MultiPolygon, or GeometryCollection of these",
	[RB_BOX3] = "any type without curves",
	[RB_BOX2] = "any type without curves",
	[RB_POINT3] = "Point with Z",
};

/* Returns a corner in the format of ST_AsText. */
static const char *
corner_text(const rb_geometry_info *info, int i)
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
			 errdetail("The geometries are compared in the plane, where the face at %s in %s is "
					   "not a valid polygon.",
					   corner_text(info, 0), where),
			 errhint("Use ST_Force3D(geometry, z) for the geometry without Z.")));
	switch (fault)
	{
		case RB_GEOMETRY_CROSSING:
			ereport(
				ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: face with crossing edges in %s", function, where),
				 errdetail(
					 "Seen along the %c axis, the edge from %s to %s crosses the edge from %s to %s.",
					 axis, corner_text(info, 0), corner_text(info, 1), corner_text(info, 2),
					 corner_text(info, 3)),
				 /* ST_MakeValid considers only x and y and does not split surfaces. */
				 info->axis == 2 &&
						 (info->type == RB_TYPE_POLYGON || info->type == RB_TYPE_MULTIPOLYGON)
					 ? errhint("Use ST_MakeValid(%s), which adds a vertex where the edges cross.",
							   p->value)
					 : errhint("Add a vertex to both edges where they cross, or split the face.")));
			break;
		case RB_GEOMETRY_ABOVE:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: face with coincident projected vertices in %s", function, where),
					 errdetail("Seen along the %c axis, the vertices %s and %s are the same point.",
							   axis, corner_text(info, 0), corner_text(info, 1)),
					 errhint("Split the face into nearly planar faces.")));
			break;
		case RB_GEOMETRY_HOLE_OUTSIDE:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: hole outside its face in %s", function, where),
					 errdetail("Seen along the %c axis, hole %u leaves the outer ring at %s.", axis,
							   info->hole, corner_text(info, 0)),
					 errhint("Make the hole a separate face, or remove it.")));
			break;
		case RB_GEOMETRY_HOLES:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: face with overlapping holes in %s", function, where),
					 errdetail("Seen along the %c axis, holes %u and %u overlap at %s.", axis,
							   info->hole, info->other, corner_text(info, 0)),
					 errhint("Merge the holes; store anything inside a hole as a separate face.")));
			break;
		default:
			ereport(
				ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: non-planar face in %s", function, where),
				 p->face_tolerance >= 0
					 ? errdetail(
						   "The vertex %s is %s away from the plane of its face, but face_tolerance is %s.",
						   corner_text(info, 0), float8out_internal(info->distance),
						   float8out_internal(p->face_tolerance))
					 : errdetail(
						   "The vertex %s is %s away from the plane of its face, more than %s times "
						   "the extent of the face.",
						   corner_text(info, 0), float8out_internal(info->distance),
						   float8out_internal(p->face_share)),
				 errhint("Split the face into planar faces, or increase face_tolerance.")));
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
						 : errdetail("It is part of a %s.", rb_geometry_type_name(info->type)),
					 errhint("Accepted: %s.%s",
							 p->many_points ? "Point or MultiPoint, with Z" : accepted[p->kind],
							 p->more_hint)));
			break;
		case RB_GEOMETRY_NO_Z:
			ereport(
				ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: geometry without Z in %s", function, where),
				 p->what == NULL
					 ? errdetail(
						   "A join in three dimensions requires the Z coordinate of every vertex.")
					 : errdetail("A %s requires the Z coordinate of every vertex.", p->what),
				 errhint("Use ST_Force3D(%s, z).", p->value)));
			break;
		case RB_GEOMETRY_CURVE:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("%s: unsupported geometry type %s in %s", function,
							rb_geometry_type_name(info->bad_type), where),
					 errdetail("Curves are not supported."),
					 errhint("Use ST_CurveToLine(%s) to approximate curves by straight segments.",
							 p->value)));
			break;
		case RB_GEOMETRY_CORNERS:
			ereport(
				ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: triangle with %u vertices in %s", function, info->corners, where),
				 errdetail("A TRIANGLE must have four points, and the last must equal the first."),
				 errhint("Store the face as a POLYGON.")));
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
					 errmsg("%s: unclosed ring in %s", function, where),
					 errdetail("The last point of a ring must equal its first, Z included.")));
			break;
		case RB_GEOMETRY_NOT_FINITE:
			ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
							errmsg("%s: NaN or infinite coordinate in %s", function, where)));
			break;
		case RB_GEOMETRY_UNKNOWN:
			ereport(
				ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s: unknown geometry format in %s", function, where),
				 errdetail(
					 "Neither the internal format of the geometry nor its EWKB could be read.")));
			break;
		default:
			ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
							errmsg("%s: malformed geometry bytes in %s", function, where)));
	}
	pg_unreachable();
}
