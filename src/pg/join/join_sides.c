/*
 * join_sides.c
 *	  The geometries of an input become sets of triangles.
 *
 * Two geometries are compared in space where both have Z, else in the plane.  So a side may have to be there twice: what
 * has Z in space, for those of the other side that have it, and flattened, for those that have none.  Mostly all
 * rows of both have Z, or none has.  The first side is read before it is known whether the second one has rows
 * without Z; where that may be, what has Z is kept aside.
 */
#include "pg/join/rb_geometry_join.h"

static void
put(rb_join_side *s, rb_lie lie, struct varlena *bytes, uint64 row, rb_geometry_info *info)
{
	rb_builder *b = &s->builder[lie];

	if (s->faulty[lie] != NULL)
		return;
	b->any_leaf = true;
	b->flat = lie != RB_IN_SPACE;
	if (rb_try_decode(&s->decoder, b, bytes, (int64) row, info))
		return;
	s->faulty[lie] = MemoryContextAlloc(s->decoder.context, VARSIZE_ANY(bytes));
	memcpy(s->faulty[lie], bytes, VARSIZE_ANY(bytes));
}

static void
see_srid(rb_join_side *s, int32 srid)
{
	if (s->srid_known && s->srid != srid)
	{
		s->mixed = true;
		s->other_srid = srid;
		return;
	}
	s->srid_known = true;
	s->srid = srid;
}

/* of a form that only EWKB tells of it is known when it was read: once for that, into nothing */
static void
see_header(rb_join_side *s, struct varlena *bytes, rb_geometry_header *header)
{
	rb_geometry_info info = {0};
	rb_builder nothing;

	if (rb_geometry_read_header((const uint8_t *) VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes),
								header) == RB_GEOMETRY_OK)
		return;
	rb_builder_init(&nothing, s->builder[RB_IN_PLANE].memory, RB_TRIANGLE3);
	nothing.any_leaf = nothing.flat = true;
	(void) rb_try_decode(&s->decoder, &nothing, bytes, 0, &info);
	rb_builder_free(&nothing);
	header->srid = info.srid;
	header->has_z = info.has_z;
}

void
rb_join_side_add(rb_join_side *s, struct varlena *bytes, uint64 row)
{
	rb_geometry_header header;
	rb_geometry_info info;

	see_header(s, bytes, &header);
	s->n[header.has_z]++;
	see_srid(s, header.srid);
	if (!header.has_z)
	{
		put(s, RB_IN_PLANE, bytes, row, &info);
		return;
	}
	put(s, RB_IN_SPACE, bytes, row, &info);
	if (s->flatten)
		put(s, RB_FLATTENED, bytes, row, &info);
	else if (s->late != NULL)
	{
		rb_spool_put(s->late, bytes, VARSIZE_ANY(bytes));
		rb_spool_put(s->late_row, &row, sizeof row);
	}
}

static void
raise_faulty(rb_join_side *s, rb_lie lie)
{
	rb_geometry_info info;

	if (s->faulty[lie] == NULL)
		return;
	rb_builder_clear(&s->builder[lie]);
	rb_decode(&s->decoder, &s->builder[lie], s->faulty[lie], 0, &info);
}

void
rb_join_side_check(rb_join_side *s, const rb_join_side *other)
{
	const uint64 n = other->n[0] + other->n[1];

	if (n > 0 && s->mixed)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: Operation on mixed SRID geometries (%d) != (%d)",
							   s->decoder.function, s->srid, s->other_srid),
						errhint("Use ST_Transform, or ST_SetSRID where the SRID is wrong.")));
	if (n > 0)
		raise_faulty(s, RB_IN_PLANE);
	if (other->n[0] > 0)
		raise_faulty(s, RB_FLATTENED);
	if (other->n[1] > 0)
		raise_faulty(s, RB_IN_SPACE);
}

void
rb_join_side_flatten(rb_join_side *s)
{
	const uint64 n = s->late == NULL ? 0 : rb_spool_number(s->late);
	rb_geometry_info info;

	if (s->late == NULL && s->builder[RB_IN_SPACE].nrows > 0)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("%s: geometry without Z in a column whose type says that it has Z",
							   s->decoder.function)));
	for (uint64 i = 0; i < n; i++)
	{
		uint64 row;

		CHECK_FOR_INTERRUPTS();
		memcpy(&row, rb_spool_get(s->late_row, i), sizeof row);
		put(s, RB_FLATTENED, rb_spool_get(s->late, i), row, &info);
	}
}

void
rb_join_side_finish(rb_join_side *s)
{
	rb_error error;

	for (int i = 0; i < RB_LIES; i++)
		if (s->builder[i].nrows > 0 && s->faulty[i] == NULL)
		{
			rb_status status = rb_builder_finish(&s->builder[i], &s->set[i], &error);

			if (status != RB_OK)
				rb_raise(s->decoder.function, status, &error);
		}
	if (s->late != NULL)
	{
		rb_spool_close(s->late);
		rb_spool_close(s->late_row);
	}
	s->late = s->late_row = NULL;
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
