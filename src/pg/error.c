/*
 * error.c
 *	  The one place where a status of the core becomes an ERROR.
 *
 * Every message starts with the function, then names what the user can find
 * again: side, column, row id; DETAIL has the numbers, HINT a remedy.
 */
#include "rb_pg.h"

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

/* bytes as a person reads them: never two different numbers with the same text */
static char *
size_text(uint64 bytes)
{
	if (bytes < UINT64CONST(1) << 26)
		return psprintf("%llu kB", (unsigned long long) ((bytes + 1023) >> 10));
	return psprintf("%llu MB", (unsigned long long) ((bytes + ((1 << 20) - 1)) >> 20));
}

void
rb_raise(const char *function, rb_status status, const rb_error *error)
{
	const char *text = error->text[0] == '\0' ? rb_status_text(status) : error->text;

	/* a backend that was cancelled says so in PostgreSQL's own words */
	CHECK_FOR_INTERRUPTS();
	switch (status)
	{
		case RB_OVER_BUDGET:
			ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("%s: out of memory", function),
							errdetail("The join needs at least %s, redblue.memory_limit is %s.",
									  size_text(error->need), size_text(error->limit)),
							errhint("Raise redblue.memory_limit, or join a part of the rows.")));
			break;
		case RB_OUT_OF_MEMORY:
			ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("%s: out of memory", function),
							error->need > 0 ? errdetail("The operating system refused %s.",
														size_text(error->need))
											: errdetail("The operating system said: %s.", text),
							errhint("Lower redblue.memory_limit to what the machine can spare.")));
			break;
		case RB_NO_THREAD:
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
					 errmsg("%s: could not create a thread", function),
					 errdetail("The operating system refused it."),
					 errhint("Raise the limit on processes and threads of the server's user "
							 "(ulimit -u) or of its cgroup (pids.max), or join in fewer sessions "
							 "at once.")));
			break;
		case RB_UNSUPPORTED:
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("%s: %s", function, rb_status_text(status))));
			break;
		case RB_TOO_MANY_OBJECTS:
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("%s: too many objects on one side", function),
					 errdetail("There are %llu or more, the limit is %llu.",
							   (unsigned long long) error->need, (unsigned long long) error->limit),
					 errhint("Join a part of the rows.")));
			break;
		case RB_NO_DEVICE:
			ereport(ERROR,
					(errcode(ERRCODE_SYSTEM_ERROR), errmsg("%s: no usable GPU", function),
					 errdetail("%s", text),
					 errhint("Set redblue.backend to auto or cpu: the answer is the same.")));
			break;
		case RB_DEVICE_FULL:
			ereport(
				ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY), errmsg("%s: out of GPU memory", function),
				 errdetail("%s", text),
				 errhint(
					 "Set redblue.backend to auto or cpu, or wait until other users of the GPU end: the answer is the same.")));
			break;
		case RB_DEVICE_FAILED:
			ereport(ERROR, (errcode(ERRCODE_SYSTEM_ERROR), errmsg("%s: the GPU failed", function),
							errdetail("%s", text),
							errhint("Set redblue.backend to cpu: the answer is the same.")));
			break;
		case RB_STOPPED:
			ereport(ERROR, (errcode(ERRCODE_QUERY_CANCELED), errmsg("%s: stopped", function)));
			break;
		default:
			ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("%s: %s", function, text)));
	}
	pg_unreachable();
}

rb_memory *
rb_memory_open(const char *function, uint64 limit)
{
	rb_memory *memory = rb_memory_create(limit);
	rb_error error = {RB_OUT_OF_MEMORY, 1024, limit, ""};

	if (memory == NULL)
		rb_raise(function, RB_OUT_OF_MEMORY, &error);
	return memory;
}

void
rb_raise_geometry(const rb_source *source, const char *column, int64 id, rb_geometry_fault fault,
				  const rb_geometry_info *info, const rb_error *error)
{
	const char *where = psprintf("column \"%s\" of %s, id " INT64_FORMAT, column, source->side, id);
	const char *function = source->function;

	switch (fault)
	{
		case RB_GEOMETRY_NO_MEMORY:
			rb_raise(function, error->status, error);
			break;
		case RB_GEOMETRY_WRONG_TYPE:
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("%s: unexpected geometry type %s in %s", function,
							rb_geometry_type_name(info->bad_type), where),
					 info->type == info->bad_type
						 ? 0
						 : errdetail("It is a part of a %s.", rb_geometry_type_name(info->type)),
					 errhint("Accepted: %s.", accepted[source->kind])));
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
