/*
 * decode.c
 *	  Decodes a geometry passed as a value into the parts of an object.
 */
#include "pg/read/read.h"
#include "pg/scalar/scalar.h"

pg_noreturn static void
raise_geometry(const rb_decoder *d, const rb_builder *b, rb_geometry_fault fault,
			   const rb_geometry_info *info, const rb_error *error)
{
	rb_geometry_place place = {
		.function = d->function,
		.what = "comparison",
		.where = d->row == NULL ? d->where : psprintf("%s, %s", d->where, d->row),
		.value = "geom",
		.kind = b->kind == RB_POINT3 || b->kind == RB_SEGMENT3 ? b->kind : RB_TRIANGLE3,
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

static bool
find_as_ewkb(rb_decoder *d)
{
	if (!d->as_ewkb_known && OidIsValid(d->type))
		d->as_ewkb_known = rb_find_as_ewkb(d->type, false, d->context, &d->as_ewkb);
	return d->as_ewkb_known;
}

/* Decodes a geometry, or returns false with the fault. */
static bool
decode_geometry(rb_decoder *d, rb_builder *b, struct varlena *bytes, int64 id,
				rb_geometry_info *info, rb_geometry_fault *reason, rb_error *error)
{
	rb_geometry_fault fault;

	b->should_stop = rb_is_interrupted;
	fault = rb_geometry_read_serialized(b, (const uint8_t *) VARDATA_ANY(bytes),
										VARSIZE_ANY_EXHDR(bytes), info, error);
	if (fault == RB_GEOMETRY_UNKNOWN && find_as_ewkb(d))
		fault = rb_read_as_ewkb(&d->as_ewkb, b, bytes, info, error);
	if (fault == RB_GEOMETRY_STOPPED)
		rb_rethrow_error();
	if (fault == RB_GEOMETRY_OK && rb_builder_end_row(b, id, error) != RB_OK)
		fault = RB_GEOMETRY_NO_MEMORY;
	*reason = fault;
	return fault == RB_GEOMETRY_OK;
}

void
rb_decode(rb_decoder *d, rb_builder *b, struct varlena *bytes, int64 id, rb_geometry_info *info)
{
	rb_geometry_fault fault;
	rb_error error;

	if (!decode_geometry(d, b, bytes, id, info, &fault, &error))
		raise_geometry(d, b, fault, info, &error);
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
		if (decode_geometry(d, b, bytes, id, info, &fault, &error))
			return true;
		rb_builder_drop_row(b);
		if (fault == RB_GEOMETRY_NO_MEMORY)
			break;
		/*
		 * The geometry is of this builder's kind, so the next builder would not accept it either.
		 */
		if (i == 0 && (info->type == RB_TYPE_POINT || info->type == RB_TYPE_MULTIPOINT))
			break;
		if (i == 1 && (info->type == RB_TYPE_LINE || info->type == RB_TYPE_MULTILINE))
			break;
	}
	if (raise || fault == RB_GEOMETRY_NO_MEMORY)
		raise_geometry(d, b, fault, info, &error);
	return false;
}

bool
rb_try_decode(rb_decoder *d, rb_builder *b, struct varlena *bytes, int64 id, rb_geometry_info *info)
{
	rb_geometry_fault fault;
	rb_error error;

	if (decode_geometry(d, b, bytes, id, info, &fault, &error))
		return true;
	if (fault == RB_GEOMETRY_NO_MEMORY)
		raise_geometry(d, b, fault, info, &error);
	return false;
}
