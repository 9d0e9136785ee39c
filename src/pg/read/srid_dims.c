/*
 * srid_dims.c
 *	  Ensures that all geometries of a join have one SRID and all of its boxes one number of
 *	  dimensions.
 *
 * Neither is known in advance: the first row that has one determines it for both sides, and all
 * others must agree. A box has two or three dimensions: coordinate columns determine it by their
 * names, a geometry by whether it has Z, and other values by their type. Until the first box has
 * arrived, the kind of a builder of boxes is irrelevant.
 */
#include "pg/read/row.h"

/*
 * Returns ", id 17" for an earlier row, or "" if rows have keys, because the key is no longer
 * available.
 */
static char *
comma_id(const rb_receiver *r, int64 id)
{
	return r->source->keys != NULL ? pstrdup("") : psprintf(", id " INT64_FORMAT, id);
}

/*
 * Returns a comma and the name of the current row. Must not be called before the first row, because
 * it takes the key from the row.
 */
static char *
comma_row(const rb_receiver *r, int64 id)
{
	return r->source->keys != NULL ? psprintf(", %s", rb_row_name(r, id)) : comma_id(r, id);
}

static const char *
type_name(uint32 type)
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

		if (r->apart || rb_leave_out(r, id, RB_GEOMETRY_SRID, &info))
			return false;
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: Operation on mixed SRID geometries (%s, %d) != (%s, %d)",
							   r->source->function, type_name(first->srid_type), first->srid,
							   type_name(type), srid),
						errdetail("SRID %d occurs in %s%s; SRID %d occurs in %s%s.", first->srid,
								  first->srid_side, comma_id(r, first->srid_id), srid, side,
								  comma_row(r, id)),
						errhint("Use ST_Transform, or ST_SetSRID if an SRID is wrong.")));
	}
	return true;
}

static char *
dims_text(const char *side, bool of_columns, const char *id, int dims)
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
					   dims_text(first->dims_side, first->dims_of_columns,
								 comma_id(r, first->dims_id), first->dims),
					   dims_text(side, of_columns, of_columns ? "" : comma_row(r, id), dims)),
			 of_columns || first->dims_of_columns
				 ? errhint("Boxes have three dimensions if there are columns lz and hz, or if the "
						   "geometry has Z.")
				 : errhint("Use ST_Force2D or ST_Force3D.")));
	}
	return true;
}
