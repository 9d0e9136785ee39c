/*
 * decode.c
 *	  Decodes geometries into the parts of an object, and raises errors about geometries that are
 *	  not accepted.
 *
 * A geometry is decoded from its own bytes (src/core/set/wkb.c). If their format is unknown, they
 * are first converted by the type's own ST_AsEWKB. PostGIS trusts the counts in its serialized
 * bytes and reads nested collections recursively, so that damaged bytes can crash the server. It is
 * therefore given only bytes that were checked before.
 *
 * Any thread may decode without an rb_decoder. A geometry is then decoded only from its own bytes,
 * no function of PostgreSQL is called, and no error is raised.
 *
 * A message names what the user can find, and its hint names a PostGIS function that repairs the
 * geometry, if there is one.
 */
#include "pg/read/read.h"

#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* ---- errors ---- */

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
	[RB_EDGE2] = "Polygon, MultiPolygon, or GeometryCollection of these",
};

static const char planes_accepted[] = "LineString of two points; Triangle, Polygon, Tin, "
									  "PolyhedralSurface, MultiPolygon, or GeometryCollection of "
									  "these, all with Z";

/*
 * Raises the error that a face is not a valid polygon of its plane, with the location of the fault.
 */
pg_noreturn static void
raise_invalid_face(const rb_geometry_place *p, const char *where, rb_geometry_fault fault,
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
					   rb_point_text(info->at[0]), where),
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
					 axis, rb_point_text(info->at[0]), rb_point_text(info->at[1]),
					 rb_point_text(info->at[2]), rb_point_text(info->at[3])),
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
							   axis, rb_point_text(info->at[0]), rb_point_text(info->at[1])),
					 errhint("Split the face into nearly planar faces.")));
			break;
		case RB_GEOMETRY_HOLE_OUTSIDE:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: hole outside its face in %s", function, where),
					 errdetail("Seen along the %c axis, hole %u leaves the outer ring at %s.", axis,
							   info->hole, rb_point_text(info->at[0])),
					 errhint("Make the hole a separate face, or remove it.")));
			break;
		case RB_GEOMETRY_HOLES:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: face with overlapping holes in %s", function, where),
					 errdetail("Seen along the %c axis, holes %u and %u overlap at %s.", axis,
							   info->hole, info->other, rb_point_text(info->at[0])),
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
						   rb_point_text(info->at[0]), float8out_internal(info->distance),
						   float8out_internal(p->face_tolerance))
					 : errdetail(
						   "The vertex %s is %s away from the plane of its face, more than %s times "
						   "the extent of the face.",
						   rb_point_text(info->at[0]), float8out_internal(info->distance),
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
							 p->many_points ? "Point or MultiPoint, with Z"
							 : p->planes    ? planes_accepted
											: accepted[p->kind],
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
			if (info->bad_type == RB_TYPE_LINE)
				ereport(
					ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg_plural("%s: line with %u point in %s", "%s: line with %u points in %s",
								   info->corners, function, info->corners, where),
					 errdetail("A vertical plane is given by a line of two points."),
					 errhint("Use ST_DumpSegments(%s) for one plane per segment.", p->value)));
			ereport(
				ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg_plural("%s: triangle with %u point in %s",
							   "%s: triangle with %u points in %s", info->corners, function,
							   info->corners, where),
				 errdetail("A TRIANGLE must have four points, and the last must equal the first."),
				 errhint("Store the face as a POLYGON.")));
			break;
		case RB_GEOMETRY_CROSSING:
		case RB_GEOMETRY_ABOVE:
		case RB_GEOMETRY_HOLE_OUTSIDE:
		case RB_GEOMETRY_HOLES:
		case RB_GEOMETRY_NOT_FLAT:
			raise_invalid_face(p, where, fault, info);
			break;
		case RB_GEOMETRY_NOT_CLOSED:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: unclosed ring in %s", function, where),
					 errdetail("The last point of a ring must equal the first, including Z.")));
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

/* Raises the ERROR that a geometry could not be decoded, with its row and the reason. */
pg_noreturn static void
raise_decoding_fault(const rb_decoder *d, const rb_builder *b, rb_geometry_fault fault,
					 const rb_geometry_info *info, const rb_error *error)
{
	rb_geometry_place place = {
		.function = d->function,
		.what = "comparison",
		.where = d->row == NULL ? d->where : psprintf("%s, %s", d->where, d->row),
		.value = "geom",
		.kind = b->kind == RB_POINT3 || b->kind == RB_SEGMENT3 || b->kind == RB_EDGE2
					? b->kind
					: RB_TRIANGLE3,
		.many_points = b->many_points,
		.more_hint = "",
		.face_tolerance = b->face_tolerance,
		.face_share = b->face_share,
		.flattened = b->flat && info->has_z,
	};

	if (fault == RB_GEOMETRY_NO_MEMORY)
		rb_raise_of(d->function, "comparison", error->status, error);
	rb_raise_geometry(&place, fault, info);
}

/* ---- decoding ---- */

/*
 * Finds ST_AsEWKB in the schema of the type. Since it is called as the user, it must belong to the
 * same extension as the type: anyone can create a function of that name.
 */
static bool
find_ewkb_function(rb_decoder *d)
{
	const Oid type = d->type;
	Oid extension;
	HeapTuple tuple;
	Oid schema;
	Oid function;

	if (d->as_ewkb_known)
		return true;
	if (!OidIsValid(type))
		return false;
	extension = getExtensionOfObject(TypeRelationId, type);
	if (!OidIsValid(extension))
		return false;
	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	if (!HeapTupleIsValid(tuple))
		return false;
	schema = ((Form_pg_type) GETSTRUCT(tuple))->typnamespace;
	ReleaseSysCache(tuple);
	function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum("st_asewkb"),
							   PointerGetDatum(buildoidvector(&type, 1)), ObjectIdGetDatum(schema));
	if (!OidIsValid(function) || get_func_rettype(function) != BYTEAOID ||
		getExtensionOfObject(ProcedureRelationId, function) != extension ||
		!rb_may_execute(function))
		return false;
	if (d->parallel_safe && func_parallel(function) != PROPARALLEL_SAFE)
		return false;
	fmgr_info_cxt(function, &d->as_ewkb, d->context);
	d->as_ewkb_known = true;
	return true;
}

/* Decodes a geometry through ST_AsEWKB, after checking its serialized form. */
static rb_geometry_fault
decode_through_ewkb(rb_decoder *d, rb_builder *b, struct varlena *value, rb_geometry_info *info,
					rb_error *error)
{
	rb_geometry_fault fault = rb_geometry_check_serialized(b, (const uint8_t *) VARDATA_ANY(value),
														   VARSIZE_ANY_EXHDR(value));

	if (fault != RB_GEOMETRY_OK)
		return fault;
	value = DatumGetByteaPP(FunctionCall1(&d->as_ewkb, PointerGetDatum(value)));
	return rb_geometry_read_ewkb(b, (const uint8_t *) VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value),
								 info, error);
}

/* Called by any thread. */
static bool
is_interrupt_pending(void)
{
	return INTERRUPTS_PENDING_CONDITION();
}

rb_geometry_fault
rb_decode_parts(rb_decoder *d, rb_builder *b, struct varlena *bytes, rb_geometry_info *info,
				rb_error *error)
{
	rb_geometry_fault fault;

	b->should_stop = d == NULL ? is_interrupt_pending : rb_is_interrupted;
	fault = rb_decode_plain(b, bytes, info, error);
	if (d == NULL)
		return fault;
	if (fault == RB_GEOMETRY_UNKNOWN && find_ewkb_function(d))
		fault = decode_through_ewkb(d, b, bytes, info, error);
	if (fault == RB_GEOMETRY_STOPPED)
		rb_rethrow_error();
	return fault;
}

/* Decodes a geometry into a row. On a fault the row is dropped. */
static rb_geometry_fault
decode_geometry_to_row(rb_decoder *d, rb_builder *b, struct varlena *bytes, int64 id,
					   rb_geometry_info *info, rb_error *error)
{
	rb_geometry_fault fault = rb_decode_parts(d, b, bytes, info, error);

	if (fault == RB_GEOMETRY_OK && rb_builder_end_row(b, id, error) != RB_OK)
		fault = RB_GEOMETRY_NO_MEMORY;
	if (fault != RB_GEOMETRY_OK)
		rb_builder_drop_row(b);
	return fault;
}

bool
rb_decode(rb_decoder *d, rb_builder *b, struct varlena *bytes, int64 id, bool raise,
		  rb_geometry_info *info)
{
	rb_error error;
	const rb_geometry_fault fault = decode_geometry_to_row(d, b, bytes, id, info, &error);

	if (fault != RB_GEOMETRY_OK && d != NULL && (raise || fault == RB_GEOMETRY_NO_MEMORY))
		raise_decoding_fault(d, b, fault, info, &error);
	return fault == RB_GEOMETRY_OK;
}

bool
rb_decode_placed(rb_decoder *d, rb_builder *const builders[3], struct varlena *bytes, int64 id,
				 bool raise, rb_geometry_info *info)
{
	static const rb_kind kinds[] = {RB_POINT3, RB_SEGMENT3, RB_TRIANGLE3};
	rb_geometry_fault fault = RB_GEOMETRY_OK;
	rb_builder *b = NULL;
	rb_error error;

	for (int i = 0; i < 3; i++)
	{
		b = builders[i];
		if (b->kind != kinds[i])
			rb_builder_set_kind(b, kinds[i]);
		b->any_leaf = b->flat = false;
		b->many_points = kinds[i] == RB_POINT3;
		fault = decode_geometry_to_row(d, b, bytes, id, info, &error);
		if (fault == RB_GEOMETRY_OK)
			return true;
		if (fault == RB_GEOMETRY_NO_MEMORY || fault == RB_GEOMETRY_STOPPED)
			break;
		/*
		 * The geometry is of this builder's kind, so the next builder would not accept it either.
		 */
		if (i == 0 && (info->type == RB_TYPE_POINT || info->type == RB_TYPE_MULTIPOINT))
			break;
		if (i == 1 && (info->type == RB_TYPE_LINE || info->type == RB_TYPE_MULTILINE))
			break;
	}
	if (d != NULL && (raise || fault == RB_GEOMETRY_NO_MEMORY))
		raise_decoding_fault(d, b, fault, info, &error);
	return false;
}
