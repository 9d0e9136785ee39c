/*
 * row_errors.c
 *	  Rejects invalid rows and reports what is wrong with them, by themselves or among the rows of
 *	  the join.
 *
 * Each function here handles one fault. If rows are received separately (out of order), or invalid
 * rows are left out, it returns false to reject the row. Otherwise it raises the error. In either
 * case a caller writes "return rb_refuse_...(...)".
 *
 * A message names what the user can find: the side, the column, and the id of the row.
 */
#include "pg/read/read.h"

#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"

#include <math.h>

/*
 * Raises the error in r->error. The parts of the current row are already in the builder, so the row
 * is counted, too.
 */
static void
raise_receiver_error(const rb_receiver *r)
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
		raise_receiver_error(r);
	return false;
}

/*
 * Returns true if rows with this fault are left out. Rows with a wrong SRID or id are left out only
 * by a validity report (source->count_faces), which lists them.
 */
static bool
are_rows_with_fault_left_out(const rb_receiver *r, rb_geometry_fault fault)
{
	const bool of_solid =
		fault != RB_GEOMETRY_SRID && fault != RB_GEOMETRY_NULL_ID && fault != RB_GEOMETRY_NO_ID;

	return r->source->leave_out && (of_solid || r->source->count_faces);
}

/*
 * Reads the id of the solid from the extra column of a mesh row. Returns false if it is not
 * available.
 */
static bool
read_solid_id_of_mesh_row(const rb_receiver *r, int64 *solid)
{
	const int i = r->columns.beside.attno - 1;

	if (r->slot == NULL || r->slot->tts_isnull[i])
		return false;
	switch (r->columns.beside.type)
	{
		case INT8OID:
			*solid = DatumGetInt64(r->slot->tts_values[i]);
			break;
		case INT4OID:
			*solid = DatumGetInt32(r->slot->tts_values[i]);
			break;
		default:
			*solid = DatumGetInt16(r->slot->tts_values[i]);
	}
	return true;
}

/*
 * Records the row as left out if the source requests that for this fault. `info` may be NULL.
 * Returns false if the caller must raise an error.
 */
static bool
leave_out_invalid_row(rb_receiver *r, int64 id, rb_geometry_fault fault,
					  const rb_geometry_info *info)
{
	rb_refusal refusal = {.id = id, .fault = fault};

	if (!are_rows_with_fault_left_out(r, fault))
		return false;
	if (r->columns.beside.attno != 0 && !read_solid_id_of_mesh_row(r, &refusal.id))
		return false;
	if (info != NULL)
		refusal.info = *info;
	if (rb_builder_reject(r->builder, &refusal, &r->error) != RB_OK)
		(void) rb_refuse_status(r);
	r->left_out = true;
	return true;
}

/* Returns the name of a column of the row that is read. */
static const char *
name_of_row_column(const rb_receiver *r, rb_column column)
{
	return NameStr(TupleDescAttr(r->desc, column.attno - 1)->attname);
}

/* Returns the name of the current row for messages, such as "id 17". */
static char *
name_of_current_row(const rb_receiver *r, int64 id)
{
	if (r->source->keys != NULL)
		return rb_keys_text(r->source->keys, r->slot);
	return psprintf("%s " INT64_FORMAT,
					r->source->object_name != NULL ? "object"
					: r->columns.id.attno == 0     ? "row"
												   : "id",
					id);
}

bool
rb_refuse_null_id(rb_receiver *r, rb_column column)
{
	const char *what = rb_source_has_objects(r->source) ? "object"
					   : r->source->keys != NULL        ? "key"
														: "id";

	if (!r->apart && !leave_out_invalid_row(r, 0, RB_GEOMETRY_NULL_ID, NULL))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("%s: null %s in column \"%s\" of %s", r->source->function, what,
							   name_of_row_column(r, column), r->source->side),
						errdetail("The row is number " UINT64_FORMAT
								  " in the order in which the rows were read.",
								  r->rows + 1)));
	return false;
}

bool
rb_refuse_fraction(rb_receiver *r, Datum value)
{
	Oid output;
	bool is_varlena;

	getTypeOutputInfo(r->columns.id.type, &output, &is_varlena);
	if (!r->apart && !leave_out_invalid_row(r, 0, RB_GEOMETRY_NO_ID, NULL))
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: value in column \"%s\" of %s is not a bigint: %s", r->source->function,
					name_of_row_column(r, r->columns.id), r->source->side,
					rb_shorten(OidOutputFunctionCall(output, value))),
			 errdetail("The row is number " UINT64_FORMAT
					   " in the order in which the rows were read.",
					   r->rows + 1),
			 errhint(
				 "An id must be an integer.  Cast the column in a view, or name another column.")));
	return false;
}

bool
rb_refuse_null_extra(const rb_receiver *r, int64 id)
{
	if (!r->apart)
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("%s: null in column \"%s\" of %s, %s", r->source->function,
							   name_of_row_column(r, r->columns.beside), r->source->side,
							   name_of_current_row(r, id)),
						errhint("Exclude such rows.")));
	return false;
}

bool
rb_refuse_null_coordinate(rb_receiver *r, rb_column column, int64 id)
{
	if (!r->apart && !leave_out_invalid_row(r, id, RB_GEOMETRY_NULL, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s: null in column \"%s\" of %s, %s", r->source->function,
						name_of_row_column(r, column), r->source->side, name_of_current_row(r, id)),
				 errhint("Exclude such rows.")));
	return false;
}

bool
rb_refuse_not_finite(rb_receiver *r, const double *x, int64 id)
{
	int i = 0;

	while (i < r->columns.width - 1 && isfinite(x[i]))
		i++;
	if (!r->apart && !leave_out_invalid_row(r, id, RB_GEOMETRY_NOT_FINITE, NULL))
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
						errmsg("%s: %s in column \"%s\" of %s, %s", r->source->function,
							   isnan(x[i]) ? "NaN" : "infinity",
							   name_of_row_column(r, r->columns.coord[i]), r->source->side,
							   name_of_current_row(r, id)),
						errhint("Exclude such rows.")));
	return false;
}

bool
rb_refuse_low_above_high(const rb_receiver *r, const double *x, int i, int64 id)
{
	int dims = r->columns.width / 2;
	const char *low = name_of_row_column(r, r->columns.coord[i]);
	const char *high = name_of_row_column(r, r->columns.coord[dims + i]);

	if (!r->apart)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: column \"%s\" is greater than column \"%s\" of %s, %s",
							   r->source->function, low, high, r->source->side,
							   name_of_current_row(r, id)),
						errdetail("%.17g is greater than %.17g.", x[i], x[dims + i]),
						errhint("Use least(%s, %s) and greatest(%s, %s).", low, high, low, high)));
	return false;
}

bool
rb_refuse_size(const rb_receiver *r, const double *x, int i, int64 id)
{
	const int dims = r->columns.width / 2;
	const char *size = name_of_row_column(r, r->columns.coord[dims + i]);

	if (r->apart)
		return false;
	if (x[dims + i] < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: column \"%s\" is negative in %s, %s", r->source->function, size,
							   r->source->side, name_of_current_row(r, id)),
						errdetail("The size of the block is %.17g.", x[dims + i]),
						errhint("Use abs(%s).", size)));
	ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					errmsg("%s: column \"%s\" is too large in %s, %s", r->source->function, size,
						   r->source->side, name_of_current_row(r, id)),
					errdetail("The center is %.17g and the size %.17g, so an end is not a finite "
							  "number.",
							  x[i], x[dims + i])));
}

/*
 * Returns a sentence that names the function that was probably meant by a call with geometries of
 * this type, or "".
 */
static const char *
name_function_for_type(const rb_receiver *r, int type)
{
	const bool lines = type == RB_TYPE_LINE || type == RB_TYPE_MULTILINE;
	const bool points = type == RB_TYPE_POINT || type == RB_TYPE_MULTIPOINT;
	const char *function = r->source->function;

	if (strncmp(function, "redblue_triangle_", 17) == 0 && lines)
		return strstr(function, "_self_") != NULL || strstr(function, "_nearest") != NULL
				   ? "  For lines against surfaces, use redblue_segment_triangle_pairs."
				   : psprintf("  For lines against surfaces, use redblue_segment_triangle_%s.",
							  function + 17);
	if (strncmp(function, "redblue_triangle_", 17) == 0 && points)
		return "  For points in solids, use redblue_points_in_solids.";
	if (r->source->kind == RB_SEGMENT2 && points)
		return "  For points, use redblue_box_pairs.";
	return "";
}

/*
 * Returns what to add to the hint for a geometry type that is not accepted: the sides may be
 * swapped, or another function intended.
 */
static const char *
suggest_other_geometry_types(const rb_receiver *r, const rb_geometry_info *info)
{
	if (r->source->what != NULL)
		return "";
	if (strstr(r->source->function, "_in_solids") != NULL)
		return "  Check the order of the arguments: solids come last.";
	if (strcmp(r->source->side, "segments") == 0 || strcmp(r->source->side, "triangles") == 0)
		return "  Check the order of the arguments: segments come first, then triangles.";
	return info != NULL ? name_function_for_type(r, info->bad_type) : "";
}

/* Raises the ERROR about an invalid geometry. */
pg_noreturn static void
raise_invalid_geometry(const rb_receiver *r, int64 id, rb_geometry_fault fault,
					   const rb_geometry_info *info)
{
	rb_geometry_place place = {
		.function = r->source->function,
		.what = r->source->what,
		.where = psprintf("column \"%s\" of %s, %s", name_of_row_column(r, r->columns.geom),
						  r->source->side, name_of_current_row(r, id)),
		.value = quote_identifier(name_of_row_column(r, r->columns.geom)),
		.kind = r->source->kind,
		.many_points = r->source->many_points,
		.planes = r->source->planes,
		.more_hint = suggest_other_geometry_types(r, info),
		.face_tolerance = r->builder->face_tolerance,
		.face_share = r->builder->face_share,
	};

	if (fault == RB_GEOMETRY_NO_MEMORY)
		raise_receiver_error(r);
	rb_raise_geometry(&place, fault, info);
}

bool
rb_refuse_geometry(rb_receiver *r, int64 id, rb_geometry_fault fault, const rb_geometry_info *info)
{
	if (!r->apart && (fault == RB_GEOMETRY_NO_MEMORY || !leave_out_invalid_row(r, id, fault, info)))
		raise_invalid_geometry(r, id, fault, info);
	return false;
}

bool
rb_refuse_cube_dimension(const rb_receiver *r, int dims, int64 id)
{
	if (!r->apart)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: cube of dimension %d in column \"%s\" of %s, %s",
							   r->source->function, dims, name_of_row_column(r, r->columns.geom),
							   r->source->side, name_of_current_row(r, id)),
						errdetail("A box must have two or three dimensions."),
						dims > 3 ? errhint("Use cube_subset(cube, ARRAY[1, 2, 3]).") : 0));
	return false;
}

/*
 * ---- one SRID, one number of dimensions ----
 *
 * All geometries of a join have one SRID, and all of its boxes one number of dimensions. Neither is
 * known in advance: the first row that has one determines it for both sides, and all others must
 * agree. A box has two or three dimensions: coordinate columns determine this number by their
 * names, a geometry by whether it has Z, and other values by their type. Until the first box has
 * arrived, the kind of a builder of boxes is irrelevant.
 */

/*
 * Returns ", id 17" for an earlier row, or "" if rows have keys, because the key is no longer
 * available.
 */
static char *
comma_and_earlier_id(const rb_receiver *r, int64 id)
{
	return r->source->keys != NULL ? pstrdup("") : psprintf(", id " INT64_FORMAT, id);
}

/*
 * Returns a comma and the name of the current row. Must not be called before the first row, because
 * it takes the key from the row.
 */
static char *
comma_and_current_row(const rb_receiver *r, int64 id)
{
	return r->source->keys != NULL ? psprintf(", %s", name_of_current_row(r, id))
								   : comma_and_earlier_id(r, id);
}

/* Returns the name of a geometry type or of Box3D as PostGIS writes it in its errors. */
static const char *
name_of_refused_type(uint32 type)
{
	return type == RB_TYPE_BOX3D ? "Box3D" : rb_geometry_type_name(type);
}

bool
rb_space_check_srid(rb_receiver *r, int32 srid, uint32 type, int64 id)
{
	rb_space *first = r->space;
	const char *side = r->source->side;

	if (r->gone.type == 0)
		r->gone.type = type;

	if (!first->srid_known)
	{
		first->srid_known = true;
		first->srid = srid;
		first->srid_type = type;
		first->srid_side = side;
		first->srid_id = id;
	}
	else if (first->srid != srid)
	{
		const rb_geometry_info info = {.srid = srid, .other_srid = first->srid};

		if (r->apart || leave_out_invalid_row(r, id, RB_GEOMETRY_SRID, &info))
			return false;
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: Operation on mixed SRID geometries (%s, %d) != (%s, %d)",
							   r->source->function, name_of_refused_type(first->srid_type),
							   first->srid, name_of_refused_type(type), srid),
						errdetail("SRID %d occurs in %s%s; SRID %d occurs in %s%s.", first->srid,
								  first->srid_side, comma_and_earlier_id(r, first->srid_id), srid,
								  side, comma_and_current_row(r, id)),
						errhint("Use ST_Transform, or ST_SetSRID if an SRID is wrong.")));
	}
	return true;
}

/*
 * Describes where a side's number of dimensions comes from, its columns or a row, for an error
 * detail.
 */
static char *
text_of_row_dimensions(const char *side, bool of_columns, const char *id, int dims)
{
	return of_columns ? psprintf("%s has %d according to its columns", side, dims)
					  : psprintf("%s%s%s has %d", side, id, id[0] == '\0' ? "" : ",", dims);
}

/* Sets the number of dimensions if this is the first box, otherwise checks that it agrees. */
bool
rb_space_settle_dims(rb_receiver *r, int dims, bool of_columns, int64 id)
{
	rb_space *first = r->space;
	const char *side = r->source->side;

	if (first->dims == 0)
	{
		first->dims = dims;
		first->dims_side = side;
		first->dims_of_columns = of_columns;
		first->dims_id = id;
		rb_builder_set_kind(r->builder, dims == 2 ? RB_BOX2 : RB_BOX3);
	}
	else if (first->dims != dims)
	{
		if (r->apart)
			return false;
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: boxes have both %d and %d dimensions", r->source->function, first->dims,
					dims),
			 errdetail("%s; %s.",
					   text_of_row_dimensions(first->dims_side, first->dims_of_columns,
											  comma_and_earlier_id(r, first->dims_id), first->dims),
					   text_of_row_dimensions(
						   side, of_columns, of_columns ? "" : comma_and_current_row(r, id), dims)),
			 of_columns || first->dims_of_columns
				 ? errhint("Boxes have three dimensions if there are columns lz and hz, or if the "
						   "geometry has Z.")
				 : errhint("Use ST_Force2D or ST_Force3D.")));
	}
	return true;
}
