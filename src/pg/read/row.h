/*
 * row.h
 *	  Declares what the files of the receiver share, grouped by the file that defines it.
 *
 *	receiver.c -> row_raw.c, row_values.c, row_geometry.c -> srid_dims.c, row_errors.c
 *	parallel_rows.c -> srid_dims.c, row_errors.c
 *
 * A function that returns bool returns whether the row was accepted. It returns false, for a
 * rejected row, only if rows are received apart (parallel_rows.c) or invalid rows are left out;
 * otherwise it raises an error.
 */
#ifndef RB_PG_READ_ROW_H
#define RB_PG_READ_ROW_H

#include "pg/read/read.h"

typedef struct rb_receiver
{
	DestReceiver pub; /* Must be first */
	const rb_source *source;
	rb_builder *builder;
	rb_space *space;
	bool boxes;
	rb_error error;
	const rb_need *need; /* Memory estimate of the join, or NULL if unknown */
	const rb_heap *heap; /* Table that this process alone reads, or NULL */
	uint64 rows;         /* Number of rows received so far */
	bool apart;          /* True if invalid rows are rejected without an error */
	/* True if the current row was rejected and recorded, so that reading continues */
	bool left_out;
	rb_space empty; /* SRID and dimensions before the first row */
	/* Rows that were removed from the builder, and the type of the first geometry on this page */
	rb_row_tally gone;
	/*
	 * Callback that is called between two rows once full_builder has full_at parts. It may remove
	 * rows from the builder, and it returns the number of parts at which it is to be called next.
	 */
	uint32 full_at;
	uint32 (*full)(void *arg);
	void *full_arg;
	const rb_builder *full_builder;
	TupleDesc desc; /* Description of the rows of the SELECT */
	rb_columns columns;
	struct TupleTableSlot *slot; /* Current row, unless it is read raw */
	MemoryContext row_context;   /* Memory for decoding one row */

	/* Raw tuples: offsets of the columns in tuples with the description raw_desc */
	TupleDesc raw_desc; /* Description examined last */
	bool raw;           /* True if tuples of raw_desc can be read raw */
	bool together;      /* True if the coordinates are contiguous from raw_coord[0] on */
	int raw_id;
	int raw_coord[RB_MAX_WIDTH];

	rb_decoder decoder; /* Without names for messages, which row_errors.c composes */
} rb_receiver;

/* ---- row_errors.c: invalid rows; functions that return at all return false ---- */

/* Returns the name of the current row for messages, such as "id 17". */
extern char *rb_row_name(const rb_receiver *r, int64 id);

/*
 * Records the row as left out if the source requests that for this fault. `info` may be NULL.
 * Returns false if the caller must raise an error.
 */
extern bool rb_leave_out(rb_receiver *r, int64 id, rb_geometry_fault fault,
						 const rb_geometry_info *info);

/* Ends a rejected row. Returns true if it was left out, so that the next row can follow. */
static inline bool
rb_end_left_out(rb_receiver *r)
{
	const bool left_out = r->left_out;

	r->left_out = false;
	r->rows += left_out;
	return left_out;
}

/* Rejects the row because of the status in r->error. */
extern bool rb_refuse_status(const rb_receiver *r);
extern bool rb_refuse_null_id(rb_receiver *r, rb_column column);

extern bool rb_refuse_null_extra(const rb_receiver *r, int64 id);

/* Rejects an id that has a fraction or is out of range, for the types that allow this. */
extern bool rb_refuse_fraction(rb_receiver *r, Datum value);
extern bool rb_refuse_null_coordinate(rb_receiver *r, rb_column column, int64 id);

/* Rejects a row with a coordinate that is not finite. */
extern bool rb_refuse_not_finite(rb_receiver *r, const double *x, int64 id);

/* Rejects a box whose lower bound exceeds its upper bound along axis i. */
extern bool rb_refuse_low_above_high(const rb_receiver *r, const double *x, int i, int64 id);
extern bool rb_refuse_geometry(rb_receiver *r, int64 id, rb_geometry_fault fault,
							   const rb_geometry_info *info);

/* Rejects a cube of this number of dimensions. */
extern bool rb_refuse_dimension(const rb_receiver *r, int dims, int64 id);

/* ---- srid_dims.c: one SRID, one number of dimensions ---- */

/* Pseudo-type of a box3d, which has an SRID but no geometry type */
#define RB_TYPE_BOX3D UINT32_MAX

extern bool rb_space_check_srid(rb_receiver *r, int32 srid, uint32 type, int64 id);

/*
 * Sets or checks the number of dimensions. `id` is ignored if the dimensions are those of columns.
 */
extern bool rb_space_settle_dims(rb_receiver *r, int dims, bool of_columns, int64 id);

/* ---- row_values.c ---- */

extern bool rb_receive_coordinates(rb_receiver *r, struct TupleTableSlot *slot, int64 id);

/* ---- row_geometry.c ---- */

extern bool rb_receive_geometry(rb_receiver *r, Datum value, int64 id);
extern bool rb_receive_box(rb_receiver *r, Datum value, int64 id);

/* ---- steps for every row ---- */

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

/* Returns room for one more part, or NULL if the row is rejected. */
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

/*
 * Calls the callback if the builder is full. Rows that are read ahead into another builder are few
 * and need no check.
 */
static inline void
rb_check_whether_full(rb_receiver *r)
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
	rb_check_whether_full(r);
	return true;
}

#endif /* RB_PG_READ_ROW_H */
