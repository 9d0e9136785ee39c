/*
 * receiver.h
 *	  Declares the receiver of rows, and the errors about them.
 *
 * A function that returns bool returns whether the row was accepted. It returns false, for a
 * rejected row, only if rows are received separately or invalid rows are left out; otherwise it
 * raises an error.
 */
#ifndef RB_PG_READ_RECEIVER_H
#define RB_PG_READ_RECEIVER_H

#include "pg/read/read.h"

/* Counts of the rows finished so far, wherever they were stored */
typedef struct rb_row_tally
{
	uint64 rows; /* Rows with at least one part */
	uint64 parts;
	uint64 skipped;
	uint32 type; /* Type of the first nonempty geometry on this page, 0 if none */
} rb_row_tally;

struct rb_receiver
{
	DestReceiver pub; /* Must be first */
	const rb_source *source;
	rb_builder *builder;
	rb_space *space;
	bool boxes;
	bool cuboids; /* True if boxes are given by center and size */
	rb_error error;
	/* Memory estimate and position of the scan for out-of-memory errors */
	const rb_need *need; /* NULL if unknown */
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
};

/* ---- receiver.c ---- */

/* Creates a receiver that fills this builder. The destination of the rows is its first field. */
extern rb_receiver *rb_receiver_create(const rb_source *source, rb_builder *builder,
									   rb_space *space);

/* Returns the counts of the rows finished so far. */
extern void rb_receiver_tally(const rb_receiver *r, rb_row_tally *tally);

typedef enum rb_received
{
	RB_ROW_TAKEN,
	RB_ROW_REFUSED, /* Only if rows are received separately */
	RB_ROW_UNREAD   /* The bytes do not suffice; the row must come in a slot */
} rb_received;

/* Receives a row from the bytes of its tuple. */
extern rb_received rb_receive_tuple(rb_receiver *r, TupleDesc desc, HeapTuple tuple);

/* Rows received separately from the others, to be appended later */
typedef struct rb_rows
{
	uint64 received; /* Including rows without parts */
	uint64 skipped;  /* Rows without parts */
	uint32 nparts;
	uint32 nrows;
	const double *coords;
	const int64 *ids;
	const uint32 *ends; /* See rb_builder_append */
	rb_space space;     /* As set by the first part */
} rb_rows;

/*
 * Redirects the receiver to this builder and space, after `rows` rows. Returns the number of rows
 * received before.
 */
extern uint64 rb_receiver_aim(rb_receiver *r, rb_builder *builder, rb_space *space, uint64 rows);

/* Clears builder and space for the next rows, and adds the previous ones to the tally. */
extern void rb_receiver_begin_rows(rb_receiver *r);

/*
 * Returns the counts and the space of what was received since rb_receiver_begin_rows, and drops a
 * refused row.
 */
extern void rb_receiver_end_rows(rb_receiver *r, rb_rows *rows);

/*
 * Sets the arrays to n parts of the builder, starting with this part and row. The array `ends` must
 * have room for their row ends.
 */
extern void rb_rows_slice(const rb_builder *b, uint32 part, uint32 row, uint32 n, uint32 *ends,
						  rb_rows *rows);

/* Appends rows that were received separately. */
extern void rb_receive_rows(rb_receiver *r, const rb_rows *rows);

/* Counts n rows that an earlier call read, and whose first row determined this space. */
extern void rb_receive_space(rb_receiver *r, uint32 n, const rb_space *space);

/*
 * ---- row_errors.c: invalid rows; functions that return without raising an error return false ----
 */

/* Rejects the row because of the status in r->error. */
extern bool rb_refuse_status(const rb_receiver *r);
/* Rejects the row because this column of its id or key is null. */
extern bool rb_refuse_null_id(rb_receiver *r, rb_column column);

/* Rejects the row because its extra column is null. */
extern bool rb_refuse_null_extra(const rb_receiver *r, int64 id);

/* Rejects an id that has a fraction or is out of range, for the types that allow this. */
extern bool rb_refuse_fraction(rb_receiver *r, Datum value);
/* Rejects the row because this coordinate is null. */
extern bool rb_refuse_null_coordinate(rb_receiver *r, rb_column column, int64 id);

/* Rejects a row with a coordinate that is not finite. */
extern bool rb_refuse_not_finite(rb_receiver *r, const double *x, int64 id);

/* Rejects a block whose size along axis i is negative, or so large that its ends are not finite. */
extern bool rb_refuse_size(const rb_receiver *r, const double *x, int i, int64 id);

/* Rejects a box whose lower bound exceeds its upper bound along axis i. */
extern bool rb_refuse_low_above_high(const rb_receiver *r, const double *x, int i, int64 id);
/* Rejects the row because of the fault of its geometry. */
extern bool rb_refuse_geometry(rb_receiver *r, int64 id, rb_geometry_fault fault,
							   const rb_geometry_info *info);

/* Rejects a cube of this number of dimensions. */
extern bool rb_refuse_cube_dimension(const rb_receiver *r, int dims, int64 id);

/* ---- row_errors.c: one SRID, one number of dimensions ---- */

/* Pseudo-type of a box3d, which has an SRID but no geometry type */
#define RB_TYPE_BOX3D UINT32_MAX

/* Rejects the row if its SRID differs from that of the first row. Returns true if it does not. */
extern bool rb_space_check_srid(rb_receiver *r, int32 srid, uint32 type, int64 id);

/*
 * Sets or checks the number of dimensions. `id` is ignored if the dimensions are those of columns.
 */
extern bool rb_space_settle_dims(rb_receiver *r, int dims, bool of_columns, int64 id);

#endif /* RB_PG_READ_RECEIVER_H */
