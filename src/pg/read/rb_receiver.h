/*
 * rb_receiver.h
 *	  What the files of the receiver share, grouped under the file that defines it.
 *
 *		receiver -> row_raw, row_values, row_geometry -> space, row_faults
 *		rows_apart -> space, row_faults
 *
 * A function that answers bool answers whether the row was taken.  False, which means
 * refused, comes only where rows are received apart, or where rows that cannot be taken are left out;
 * elsewhere there is an error.
 */
#ifndef RB_RECEIVER_H
#define RB_RECEIVER_H

#include "pg/base/rb_pg.h"

typedef struct rb_receiver
{
	DestReceiver pub; /* must be first */
	const rb_source *source;
	rb_builder *builder;
	rb_space *space;
	bool boxes;
	rb_error error;
	const rb_need *need; /* of the join; NULL: not known */
	const rb_heap *heap; /* that is read, by nobody else; NULL: any other way */
	uint64 rows;         /* received so far */
	bool apart;          /* a row that cannot be taken is refused, not an error */
	bool left_out;       /* the row at hand was refused, and is noted: the next one comes */
	rb_space empty;      /* the space before the first row */
	rb_tally gone;       /* rows that have left the builder; and the type of this page */
	/* asked between two rows when that builder has so many parts: it may take rows out, and says when to ask again */
	uint32 full_at;
	uint32 (*full)(void *arg);
	void *full_arg;
	const rb_builder *full_builder;
	TupleDesc desc; /* of the SELECT */
	rb_columns columns;
	struct TupleTableSlot *slot; /* the row that is received, if it is not read raw */
	MemoryContext row_context;   /* what decoding one row needs */

	/* raw tuples: where the columns lie in a tuple of that description */
	TupleDesc raw_desc; /* last one looked at */
	bool raw;           /* can its tuples be read raw? */
	bool together;      /* the coordinates are one block at raw_coord[0] */
	int raw_id;
	int raw_coord[RB_MAX_WIDTH];

	/* geometry of a form that the core does not know */
	bool as_ewkb_known;
	FmgrInfo as_ewkb;
} rb_receiver;

/* ---- row_faults.c: rows that cannot be taken; all answer false, if they return ---- */

/* "id 17", as messages call the row that is received */
extern char *rb_row_name(const rb_receiver *r, int64 id);

/*
 * Notes the row as one that is left out, where its source wants that of this fault; info may be NULL.  False: it is
 * for the caller to raise an error.
 */
extern bool rb_leave_out(rb_receiver *r, int64 id, rb_geometry_fault fault,
						 const rb_geometry_info *info);

/* the row was refused: false, unless it was left out, so that the next one comes */
static inline bool
rb_end_left_out(rb_receiver *r)
{
	const bool left_out = r->left_out;

	r->left_out = false;
	r->rows += left_out;
	return left_out;
}

/* as r->error says */
extern bool rb_refuse_status(const rb_receiver *r);
extern bool rb_refuse_null_id(rb_receiver *r, rb_column column);

extern bool rb_refuse_null_beside(const rb_receiver *r, int64 id);

/* an id of a type that may have a fraction, and this one has, or is too large */
extern bool rb_refuse_fraction(rb_receiver *r, Datum value);
extern bool rb_refuse_null_coordinate(rb_receiver *r, rb_column column, int64 id);

/* one of these coordinates is not finite */
extern bool rb_refuse_not_finite(rb_receiver *r, const double *x, int64 id);

/* these coordinates are a box whose low end is above its high end along axis i */
extern bool rb_refuse_low_above_high(const rb_receiver *r, const double *x, int i, int64 id);
extern bool rb_refuse_geometry(rb_receiver *r, int64 id, rb_geometry_fault fault,
							   const rb_geometry_info *info);

/* a cube of so many dimensions */
extern bool rb_refuse_dimension(const rb_receiver *r, int dims, int64 id);

/* ---- space.c: one SRID, one number of dimensions ---- */

/* a box3d has an SRID and no number among the types of geometry */
#define RB_TYPE_BOX3D UINT32_MAX

extern bool rb_space_check_srid(rb_receiver *r, int32 srid, uint32 type, int64 id);

/* id counts where the dimensions are not those of columns */
extern bool rb_space_settle_dims(rb_receiver *r, int dims, bool of_columns, int64 id);

/* ---- row_values.c ---- */

extern bool rb_receive_coordinates(rb_receiver *r, struct TupleTableSlot *slot, int64 id);

/* ---- row_geometry.c ---- */

extern bool rb_receive_geometry(rb_receiver *r, Datum value, int64 id);
extern bool rb_receive_box(rb_receiver *r, Datum value, int64 id);

/* ---- steps of every row ---- */

static inline bool
rb_check_coordinates(rb_receiver *r, const double *x, int64 id)
{
	int dims = r->columns.width / 2;

	if (!rb_all_finite(x, r->columns.width))
		return rb_refuse_not_finite(r, x, id);
	for (int i = 0; r->boxes && i < dims; i++)
		if (x[i] > x[dims + i])
			return rb_refuse_low_above_high(r, x, i, id);
	return true;
}

/* room for one more part; NULL: refused */
static inline double *
rb_next_part(rb_receiver *r)
{
	rb_builder *b = r->builder;

	if (b->nparts >= b->coords_cap && rb_builder_reserve(b, 1, &r->error) != RB_OK)
	{
		(void) rb_refuse_status(r);
		return NULL;
	}
	return b->coords + (size_t) b->nparts * (size_t) b->width;
}

/* rows that are read ahead, apart from the others, are few */
static inline void
rb_look_whether_full(rb_receiver *r)
{
	if (unlikely(r->builder->nparts >= r->full_at) && r->builder == r->full_builder)
		r->full_at = r->full(r->full_arg);
}

static inline bool
rb_end_row(rb_receiver *r, int64 id)
{
	if (rb_builder_end_row(r->builder, id, &r->error) != RB_OK)
		return rb_refuse_status(r);
	r->rows++;
	rb_look_whether_full(r);
	return true;
}

#endif /* RB_RECEIVER_H */
