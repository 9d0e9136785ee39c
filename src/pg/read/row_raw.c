/*
 * row_raw.c
 *	  Reads the common row, nine float8 and an id, directly from the bytes of its tuple.
 *
 * If these columns and all columns before them have fixed widths, they lie at the same offsets in
 * every tuple without nulls. The offsets are computed once. After that, reading a row takes two
 * copies, and no column is deformed.
 */
#include "pg/read/row.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "catalog/pg_type.h"

/* Finds the offsets of the columns in a tuple without nulls, if they are the same in all tuples. */
static void
find_offsets(rb_receiver *r, TupleDesc desc)
{
	const rb_columns *c = &r->columns;
	int offset = 0;
	int n = 0; /* Number of id and coordinate columns found */

	r->raw_desc = desc;
	r->raw = false;
	if (c->width == 0 || desc->natts < c->last || c->nkeys > 0 ||
		(c->id.type != INT2OID && c->id.type != INT4OID && c->id.type != INT8OID))
		return;
	for (AttrNumber attno = 1; attno <= c->last; attno++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, attno - 1);

		if (att->attlen <= 0 || att->attisdropped ||
			att->atttypid != TupleDescAttr(r->desc, attno - 1)->atttypid)
			return;
		offset = att_align_nominal(offset, att->attalign);
		if (attno == c->id.attno)
		{
			r->raw_id = offset;
			n++;
		}
		for (int i = 0; i < c->width; i++)
			if (attno == c->coord[i].attno)
			{
				if (c->coord[i].type != FLOAT8OID)
					return;
				r->raw_coord[i] = offset;
				n++;
			}
		offset += att->attlen;
	}
	r->raw = n == c->width + 1 && c->beside.attno == 0;
	r->together = true;
	for (int i = 1; i < c->width; i++)
		if (r->raw_coord[i] != r->raw_coord[0] + i * (int) sizeof(double))
			r->together = false;
}

/* Reads a row from the bytes of its tuple, if that is possible. */
rb_received
rb_receive_tuple(DestReceiver *self, TupleDesc desc, HeapTuple tuple)
{
	rb_receiver *r = (rb_receiver *) self;
	int width = r->columns.width;
	const char *data;
	double *to;
	int64 id;

	if (desc != r->raw_desc)
		find_offsets(r, desc);
	if (!r->raw || HeapTupleHasNulls(tuple) ||
		HeapTupleHeaderGetNatts(tuple->t_data) < r->columns.last)
		return RB_ROW_UNREAD;

	data = (const char *) tuple->t_data + tuple->t_data->t_hoff;
	switch (r->columns.id.type)
	{
		case INT8OID:
			memcpy(&id, data + r->raw_id, sizeof id);
			break;
		case INT4OID:
		{
			int32 id4;

			memcpy(&id4, data + r->raw_id, sizeof id4);
			id = id4;
			break;
		}
		default:
		{
			int16 id2;

			memcpy(&id2, data + r->raw_id, sizeof id2);
			id = id2;
		}
	}

	to = rb_next_part(r);
	if (to == NULL)
		return RB_ROW_REFUSED;
	if (r->together && width == 9)
		memcpy(to, data + r->raw_coord[0], 9 * sizeof(double));
	else
		for (int i = 0; i < width; i++)
			memcpy(&to[i], data + r->raw_coord[i], sizeof(double));
	if (!rb_check_coordinates(r, to, id))
		return rb_end_left_out(r) ? RB_ROW_TAKEN : RB_ROW_REFUSED;
	r->builder->nparts++;
	return rb_end_row(r, id) ? RB_ROW_TAKEN : RB_ROW_REFUSED;
}
