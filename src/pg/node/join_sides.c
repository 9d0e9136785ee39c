/*
 * join_sides.c
 *	  Converts the geometries of an input into sets of triangles.
 *
 * Two geometries are compared in space if both have Z, and otherwise in the plane. A side may
 * therefore need its geometries with Z twice: in space, for geometries of the other side with Z,
 * and projected to the plane, for those without. Usually all rows of both sides have Z, or none
 * does. The first side is read before it is known whether the second one has rows without Z. If it
 * may have some, polygons with Z are saved for later, because they are triangulated differently in
 * space and in the plane; points, lines and triangles are projected as they are.
 *
 * Whether geometries lie in solids is tested in space only. A side then has one set per kind of
 * object.
 */
#include "pg/node/node.h"

#include "utils/lsyscache.h"

/*
 * Saves a copy of the first geometry that could not be decoded, and its row, for the error message.
 */
static void
save_faulty_geometry(rb_join_side *s, rb_lie lie, struct varlena *bytes, const rb_join_place *place)
{
	s->faulty_place[lie] = *place;
	s->faulty[lie] = MemoryContextAlloc(s->decoder.context, VARSIZE_ANY(bytes));
	memcpy(s->faulty[lie], bytes, VARSIZE_ANY(bytes));
}

/* Decodes a geometry into the builder of its set, and saves it if it is faulty. */
static void
add_decoded_geometry(rb_join_side *s, rb_lie lie, struct varlena *bytes, const rb_join_place *place,
					 rb_geometry_info *info)
{
	rb_builder *b = &s->builder[lie];

	if (s->faulty[lie] != NULL)
		return;
	b->any_leaf = true;
	b->flat = lie != RB_IN_SPACE;
	if (!rb_decode(&s->decoder, b, bytes, (int64) place->row, false, info))
		save_faulty_geometry(s, lie, bytes, place);
}

/* Notes the SRID of a geometry, and the first one that differs from those before. */
static void
note_srid_of_geometry(rb_join_side *s, int32 srid, const rb_join_place *place)
{
	if (s->srid_known && s->srid != srid && !s->any_srid)
	{
		if (!s->mixed)
			s->other_place = *place;
		s->other_srid = s->mixed ? s->other_srid : srid;
		s->mixed = true;
		return;
	}
	s->srid_known = true;
	s->srid = srid;
}

/*
 * Reads the SRID and the presence of Z. If the format is readable only through EWKB, decodes the
 * geometry into a temporary builder to find them.
 */
static void
note_header_of_geometry(rb_join_side *s, struct varlena *bytes, rb_geometry_header *header)
{
	rb_geometry_info info = {0};
	rb_builder nothing;

	if (rb_geometry_read_header((const uint8_t *) VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes),
								header) == RB_GEOMETRY_OK)
		return;
	rb_builder_init(&nothing, s->builder[RB_IN_PLANE].memory, RB_TRIANGLE3);
	nothing.any_leaf = nothing.flat = true;
	(void) rb_decode(&s->decoder, &nothing, bytes, 0, false, &info);
	rb_builder_free(&nothing);
	header->srid = info.srid;
	header->has_z = info.has_z;
}

/* Returns true if the geometry's parts in the plane are simply its parts in space without Z. */
static bool
is_flattened_by_dropping_z(uint32 type)
{
	return type == RB_TYPE_POINT || type == RB_TYPE_LINE || type == RB_TYPE_MULTIPOINT ||
		   type == RB_TYPE_MULTILINE || type == RB_TYPE_TRIANGLE || type == RB_TYPE_TIN;
}

/* Saves a geometry and its place, to be decoded later in the plane. */
static void
save_geometry_for_projection(rb_join_side *s, struct varlena *bytes, const rb_join_place *place)
{
	if (s->late == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(s->decoder.context);

		s->late = rb_spool_open(s->late_most);
		s->late_place = rb_spool_open(s->late_most / 4);
		MemoryContextSwitchTo(old);
	}
	rb_spool_append(s->late, bytes, VARSIZE_ANY(bytes));
	rb_spool_append(s->late_place, place, sizeof *place);
}

/* Decodes the geometry of a row with rb_decode, into the set of its kind. */
static bool
decode_into_set_of_kind(rb_join_side *s, rb_decoder *decoder, struct varlena *bytes, int64 id,
						bool raise)
{
	rb_builder *const of_kinds[] = {&s->builder[RB_AT_POINTS], &s->builder[RB_AT_SEGMENTS],
									&s->builder[RB_AT_TRIANGLES]};
	rb_geometry_info info = {0};

	if (s->role == RB_ROLE_PLACED)
		return rb_decode_placed(decoder, of_kinds, bytes, id, raise, &info);
	return rb_decode(decoder, &s->builder[RB_AT_TRIANGLES], bytes, id, raise, &info);
}

void
rb_join_side_add(rb_join_side *s, struct varlena *bytes, const rb_join_place *place)
{
	rb_geometry_header header;
	rb_geometry_info info = {0};

	note_header_of_geometry(s, bytes, &header);
	s->n[header.has_z]++;
	note_srid_of_geometry(s, header.srid, place);
	if (s->role != RB_ROLE_COMPARED)
	{
		if (s->faulty[RB_IN_SPACE] == NULL &&
			!decode_into_set_of_kind(s, &s->decoder, bytes, (int64) place->row, false))
			save_faulty_geometry(s, RB_IN_SPACE, bytes, place);
		return;
	}
	if (!header.has_z)
	{
		add_decoded_geometry(s, RB_IN_PLANE, bytes, place, &info);
		return;
	}
	add_decoded_geometry(s, RB_IN_SPACE, bytes, place, &info);
	if (s->flatten)
		add_decoded_geometry(s, RB_FLATTENED, bytes, place, &info);
	else if (s->may_flatten &&
			 (s->faulty[RB_IN_SPACE] != NULL || !is_flattened_by_dropping_z(info.type)))
		save_geometry_for_projection(s, bytes, place);
}

/* Decodes a plain geometry into the set in space or in the plane. */
static bool
decode_geometry_to_compare(rb_join_side *s, struct varlena *bytes, int64 id, bool has_z)
{
	const rb_lie lie = has_z ? RB_IN_SPACE : RB_IN_PLANE;
	rb_builder *b = &s->builder[lie];
	rb_geometry_info info = {0};
	rb_error error;

	if (s->faulty[lie] != NULL)
		return false;
	b->any_leaf = true;
	b->flat = !has_z;
	if (rb_decode_parts(NULL, b, bytes, &info, &error) == RB_GEOMETRY_OK &&
		!(has_z && s->may_flatten && !is_flattened_by_dropping_z(info.type)) &&
		rb_builder_end_row(b, id, &error) == RB_OK)
		return true;
	rb_builder_drop_row(b);
	return false;
}

/* Called from the helper thread, which must not call PostgreSQL functions. */
bool
rb_join_side_add_plain(rb_join_side *s, struct varlena *bytes, const rb_join_place *place)
{
	const int64 id = (int64) place->row;
	rb_geometry_header header;

	if (rb_geometry_read_header((const uint8_t *) VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes),
								&header) != RB_GEOMETRY_OK ||
		(header.has_z && s->flatten))
		return false;
	if (!(s->role == RB_ROLE_COMPARED ? decode_geometry_to_compare(s, bytes, id, header.has_z)
									  : s->faulty[RB_IN_SPACE] == NULL &&
											decode_into_set_of_kind(s, NULL, bytes, id, false)))
		return false;
	s->n[header.has_z]++;
	note_srid_of_geometry(s, header.srid, place);
	return true;
}

/* ---- errors ---- */

/*
 * Identifies, for a message, the input row of a join node whose geometry is faulty, as precisely
 * as is known.
 */
static const char *
text_of_input_row_place(const rb_join_side *s, const rb_join_place *place)
{
	const char *table = OidIsValid(place->relid) ? get_rel_name(place->relid) : NULL;

	if (ItemPointerIsValid(&place->tid) && table != NULL)
		return psprintf("ctid (%u,%u) of \"%s\"", ItemPointerGetBlockNumber(&place->tid),
						ItemPointerGetOffsetNumber(&place->tid), table);
	if (s->table[0] == '\0')
		return psprintf("row " UINT64_FORMAT " of the input", place->row + 1);
	return psprintf("row " UINT64_FORMAT " of \"%s\"", place->row + 1, s->table);
}

const char *
rb_join_side_row(const rb_join_side *s, uint64 row)
{
	const rb_join_place place = {.row = row};

	return text_of_input_row_place(s, &place);
}

/* Raises the ERROR about a faulty geometry that was saved, by decoding it again. */
static void
raise_faulty_geometry(rb_join_side *s, rb_lie lie)
{
	rb_geometry_info info;

	if (s->faulty[lie] == NULL)
		return;
	rb_builder_clear(&s->builder[lie]);
	s->decoder.row = text_of_input_row_place(s, &s->faulty_place[lie]);
	if (s->role == RB_ROLE_COMPARED)
		(void) rb_decode(&s->decoder, &s->builder[lie], s->faulty[lie], 0, true, &info);
	else
		(void) decode_into_set_of_kind(s, &s->decoder, s->faulty[lie], 0, true);
}

void
rb_join_side_check(rb_join_side *s, const rb_join_side *other)
{
	const uint64 n = other->n[0] + other->n[1];

	if (n > 0 && s->mixed)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: Operation on mixed SRID geometries (%d) != (%d)",
							   s->decoder.function, s->srid, s->other_srid),
						errdetail("SRID %d occurs in %s, %s.", s->other_srid, s->decoder.where,
								  text_of_input_row_place(s, &s->other_place)),
						errhint("Use ST_Transform, or ST_SetSRID if an SRID is wrong.")));
	if (n > 0)
		raise_faulty_geometry(s, RB_IN_PLANE);
	if (other->n[0] > 0)
		raise_faulty_geometry(s, RB_FLATTENED);
	if (other->n[1] > 0 || (n > 0 && s->role != RB_ROLE_COMPARED))
		raise_faulty_geometry(s, RB_IN_SPACE);
}

/* Adds a row with the projections of these parts, which are in space. */
static void
copy_row_projected(rb_join_side *s, uint32 part, uint32 end, int64 id)
{
	const double *from = s->builder[RB_IN_SPACE].coords + (size_t) part * 9;
	rb_builder *to = &s->builder[RB_FLATTENED];
	const size_t n = 9 * (size_t) (end - part);
	rb_error error;
	rb_status status = rb_builder_reserve(to, end - part, &error);

	if (status == RB_OK)
	{
		double *x = to->coords + (size_t) to->nparts * 9;

		for (size_t k = 0; k < n; k++)
			x[k] = k % 3 == 2 ? 0 : from[k];
		to->nparts += end - part;
		status = rb_builder_end_row(to, id, &error);
	}
	if (status != RB_OK)
		rb_raise(s->decoder.function, status, &error);
}

/* Projects the rows in space, except those saved for later. */
static void
flatten_rows_in_space(rb_join_side *s)
{
	const rb_builder *from = &s->builder[RB_IN_SPACE];
	const uint64 nlate = s->late_place == NULL ? 0 : rb_spool_number(s->late_place);
	rb_join_place late = {.row = 0};
	uint64 i = 0;
	uint32 part = 0;

	for (uint32 row = 0; row < from->nrows; row++)
	{
		const uint64 id = (uint64) from->ids[row];
		uint32 end = part + 1;

		CHECK_FOR_INTERRUPTS();
		while (from->multi && end < from->row_start && from->row_of[end] == row)
			end++;
		/* Skip rows that were saved. Saved and other rows are both in reading order. */
		for (; i < nlate; i++)
		{
			memcpy(&late, rb_spool_read(s->late_place, i), sizeof late);
			if (late.row >= id)
				break;
		}
		if (i == nlate || late.row != id)
			copy_row_projected(s, part, end, (int64) id);
		part = end;
	}
}

void
rb_join_side_flatten(rb_join_side *s)
{
	const uint64 n = s->late == NULL ? 0 : rb_spool_number(s->late);
	rb_geometry_info info;

	if (!s->may_flatten && s->builder[RB_IN_SPACE].nrows > 0)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("%s: geometry without Z in a column whose type requires Z",
							   s->decoder.function)));
	flatten_rows_in_space(s);
	for (uint64 i = 0; i < n; i++)
	{
		rb_join_place place;

		CHECK_FOR_INTERRUPTS();
		memcpy(&place, rb_spool_read(s->late_place, i), sizeof place);
		add_decoded_geometry(s, RB_FLATTENED, rb_spool_read(s->late, i), &place, &info);
	}
}

void
rb_join_side_finish(rb_join_side *s)
{
	rb_error error;

	s->parts = 0;
	for (int i = 0; i < RB_LIES; i++)
		if (s->builder[i].nrows > 0 && s->faulty[i] == NULL)
		{
			rb_status status = rb_builder_finish(&s->builder[i], &s->set[i], &error);

			if (status != RB_OK)
				rb_raise(s->decoder.function, status, &error);
			s->parts += s->set[i]->nparts;
		}
	if (s->late != NULL)
	{
		rb_spool_close(s->late);
		rb_spool_close(s->late_place);
	}
	s->late = s->late_place = NULL;
}

void
rb_join_side_free(rb_join_side *s)
{
	for (int i = 0; i < RB_LIES; i++)
	{
		rb_builder_free(&s->builder[i]);
		rb_set_release(&s->set[i]);
	}
}
