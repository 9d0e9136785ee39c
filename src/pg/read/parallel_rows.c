/*
 * parallel_rows.c
 *	  Receives rows apart from the others, to be appended later: rows read out of order (readers.c)
 *	  or by an earlier call (cache.c).
 *
 * Rows that are received apart have an SRID and dimensions of their own, which are compared with
 * those of the join when the rows are appended. An invalid row among them raises no error but is
 * rejected: the reader that proceeds in order will reach it and raise the same error as if no rows
 * had been read apart.
 */
#include "pg/read/row.h"

#include "utils/memutils.h"

uint64
rb_receiver_aim(DestReceiver *self, rb_builder *builder, rb_space *space, uint64 rows)
{
	rb_receiver *r = (rb_receiver *) self;
	uint64 before = r->rows;

	r->builder = builder;
	r->space = space;
	r->rows = rows;
	return before;
}

void
rb_receiver_set_apart(DestReceiver *self, bool apart)
{
	((rb_receiver *) self)->apart = apart;
}

void
rb_receiver_begin_rows(DestReceiver *self)
{
	rb_receiver *r = (rb_receiver *) self;

	rb_receiver_tally(self, &r->gone);
	rb_builder_clear(r->builder);
	*r->space = r->empty;
	if (r->boxes && r->space->dims != 0)
		rb_builder_set_kind(r->builder, r->space->dims == 2 ? RB_BOX2 : RB_BOX3);
	r->rows = 0;
}

void
rb_receiver_end_rows(DestReceiver *self, rb_rows *rows)
{
	rb_receiver *r = (rb_receiver *) self;

	rb_builder_drop_row(r->builder);
	MemoryContextReset(r->row_context);
	rows->space = *r->space;
	rows->received = r->rows;
	rows->skipped = r->builder->skipped;
}

/* Finds the ends of the rows that end within these n parts. Returns their number. */
static uint32
find_ends(const rb_builder *b, uint32 part, uint32 n, uint32 *ends)
{
	uint32 rows = 0;

	for (uint32 i = part; i < part + n; i++)
		if (i + 1 == b->nparts || b->row_of[i + 1] != b->row_of[i])
			ends[rows++] = i + 1 - part;
	return rows;
}

void
rb_rows_slice(const rb_builder *b, uint32 part, uint32 row, uint32 n, uint32 *ends, rb_rows *rows)
{
	rows->nparts = n;
	rows->nrows = b->multi ? find_ends(b, part, n, ends) : n;
	rows->coords = b->coords + (size_t) part * (size_t) b->width;
	rows->ids = b->ids + row;
	rows->ends = b->multi ? ends : NULL;
}

/* Applies the SRID and dimensions of the first of several rows to all of them. */
static void
apply_space(rb_receiver *r, const rb_space *space)
{
	if (r->boxes && !space->dims_of_columns)
		(void) rb_space_settle_dims(r, space->dims, false, space->dims_id);
	if (space->srid_known)
		(void) rb_space_check_srid(r, space->srid, space->srid_type, space->srid_id);
}

/*
 * Appends rows that were received apart. The caller reads in order, so an invalid row is an error.
 */
void
rb_receive_rows(DestReceiver *self, const rb_rows *rows)
{
	rb_receiver *r = (rb_receiver *) self;

	if (rows->nparts > 0)
	{
		apply_space(r, &rows->space);
		if (rb_builder_append(r->builder, rows->coords, rows->nparts, rows->ids, rows->ends,
							  rows->nrows, &r->error) != RB_OK)
			(void) rb_refuse_status(r);
	}
	r->builder->skipped += rows->skipped;
	r->rows += rows->received;
	rb_check_whether_full(r);
}

/* ---- rows of an earlier call ---- */

void
rb_receive_cached_space(DestReceiver *self, const rb_cached_rows *rows)
{
	rb_receiver *r = (rb_receiver *) self;
	rb_space space;

	r->rows += rows->rows;
	if (rows->rows == 0)
		return;
	memset(&space, 0, sizeof space);
	space.srid_known = rows->srid_known;
	space.srid = rows->srid;
	space.srid_type = rows->type;
	space.srid_id = space.dims_id = rows->id;
	space.dims = rows->dims;
	space.dims_of_columns = r->columns.width > 0;
	apply_space(r, &space);
}
