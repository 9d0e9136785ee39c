/*
 * exec.h
 *	  Declares the execution of a join, with its description, result and report, grouped by the file
 *	  that defines them.
 */
#ifndef RB_PG_EXEC_EXEC_H
#define RB_PG_EXEC_EXEC_H

#include "pg/base/cleanup.h"
#include "pg/base/helper_thread.h"
#include "pg/read/read.h"
#include "pg/worker/worker.h"
#include "core/intersection/intersection.h"
#include "mesh/solid_boolean.h"
#include "utils/array.h"

/* ---- the join of a function ---- */

/* Result that a function or a plan returns for the pairs, with its columns (cursor.c) */
typedef enum rb_result
{
	RB_RESULT_PAIRS,      /* red_id, blue_id */
	RB_RESULT_CONTACTS,   /* red_id, blue_id, dimension, crosses */
	RB_RESULT_DIMENSIONS, /* id1, id2, dimension */
	RB_RESULT_PARTS,      /* id, part1, part2, dimension */
	RB_RESULT_DISTANCES,  /* red_id, blue_id, distance */
	RB_RESULT_NEAREST,    /* red_id, blue_id, distance */
	RB_RESULT_FIRST_HITS, /* segment_id, triangle_id, fraction, x, y, z */
	RB_RESULT_SIDES,      /* point_id, solid_id, side */
	RB_RESULT_STRETCHES, /* segment_id, solid_id, from_fraction, to_fraction, length, on_boundary */
	RB_RESULT_RELATIONS, /* red_id, blue_id, relation */
	RB_RESULT_SOLIDS,    /* id, faces, closed, oriented, self_intersections, reason */
	RB_RESULT_MEASURES,  /* id, volume, area, cx, cy, cz, lx, ly, lz, hx, hy, hz */
	RB_RESULT_OVERLAPS,  /* red_id, blue_id, volume, cx, cy, cz, contact_area, depth */
	RB_RESULT_CUBOIDS,   /* box_id, solid_id, volume, fraction */
	RB_RESULT_AREAS,     /* red_id, blue_id, area */
	RB_RESULT_LENGTHS,   /* line_id, polygon_id, length */
	RB_RESULT_COUNT,     /* Number of pairs, not a set */
	RB_RESULT_COUNTS,    /* red_id, its number of pairs; only in a plan */
	RB_RESULT_HITS,      /* red_id; only in a plan */
	RB_RESULT_GROUPS,    /* red_id, its blue_ids, their number; only in a plan */
	RB_RESULT_BLOCKS,    /* n, red, blue as packed bytes */
	RB_RESULT_SHAPES,    /* red_id, blue_id, geom */
	RB_RESULT_SPANS,     /* segment_id, triangle_id, geom, from_fraction, to_fraction, fractions */
	RB_RESULT_SECTIONS,  /* solid_id, plane_id, geom, area */
	RB_RESULT_SOLID_INTERSECTIONS, /* red_id, blue_id, geom, volume */
	RB_RESULT_SOLID_DIFFERENCES    /* red_id, geom, volume */
} rb_result;

/*
 * The join of one SQL function. Each function is one line of this type in join_functions.c and
 * shares all other code.
 */
typedef struct rb_join
{
	const char *function; /* SQL name, for messages */
	bool query;           /* True if the arguments are query texts, not tables */
	bool keys;            /* True if pairs of keys of any type are returned instead of ids */
	rb_kind kind[2];      /* RB_BOX3 for boxes; the data decide whether they are RB_BOX2 */
	const char *side[2];  /* Names of the arguments; side[1] is NULL in a self join */
	rb_result result;
	rb_predicate predicate;
} rb_join;

/*
 * Returns true if the arguments include a distance. The arguments are the sides, then a distance or
 * a count with a maximum distance, then columns of the sides.
 */
static inline bool
rb_join_has_distance(const rb_join *join)
{
	return join->predicate == RB_WITHIN;
}

/* Returns true if the join finds nearest neighbors. */
static inline bool
rb_join_is_nearest(const rb_join *join)
{
	return join->predicate == RB_NEAREST;
}

/* Returns true if the join finds a number of first rows for each row of the first side. */
static inline bool
rb_join_is_ranked(const rb_join *join)
{
	return join->predicate == RB_NEAREST || join->predicate == RB_FIRST_HITS;
}

/* Returns true if each row of the only side is a solid that is reported on its own. */
static inline bool
rb_join_is_of_each_solid(const rb_join *join)
{
	return join->predicate == RB_VALIDITY || join->predicate == RB_MEASURES;
}

/* Returns true if each row of both sides is a solid. */
static inline bool
rb_join_relates_solids(const rb_join *join)
{
	return join->predicate == RB_RELATION || join->predicate == RB_OVERLAP;
}

/* Returns true if each row of a side is a solid. */
static inline bool
rb_join_has_solids(const rb_join *join)
{
	return join->predicate == RB_RAY_PARITY || join->predicate == RB_INSIDE ||
		   join->predicate == RB_CUBOID || join->predicate == RB_SECTION ||
		   rb_join_relates_solids(join) || rb_join_is_of_each_solid(join);
}

/* Returns true if each row of the last side is a polygon of the plane. */
static inline bool
rb_join_has_polygons(const rb_join *join)
{
	return join->predicate == RB_AREA || join->predicate == RB_LENGTH;
}

/* Returns true if the join always runs on the CPU of this process. */
static inline bool
rb_join_is_local(const rb_join *join)
{
	return join->predicate == RB_VALIDITY || join->predicate == RB_SECTION ||
		   rb_join_is_ranked(join);
}

/*
 * Returns true if the join can be restricted to a tile. It cannot if each row is reported on its
 * own or with all its partners, if the rows of the other side are ranked, or if they are planes,
 * which have no ends.
 */
static inline bool
rb_join_has_tile(const rb_join *join)
{
	return !rb_join_is_ranked(join) && !rb_join_is_of_each_solid(join) &&
		   join->predicate != RB_SECTION && join->result != RB_RESULT_SOLID_DIFFERENCES;
}

/* Returns true if each pair consists of two parts of one row. */
static inline bool
rb_join_is_within_rows(const rb_join *join)
{
	return join->result == RB_RESULT_PARTS;
}

/* Returns the number of inputs: 1 for a self join, otherwise 2. */
static inline int
rb_join_sides(const rb_join *join)
{
	return join->side[1] == NULL ? 1 : 2;
}

/* Returns the side whose rows are solids, if not all are: the last one, or the one that is cut. */
static inline int
rb_join_solid_side(const rb_join *join)
{
	return join->predicate == RB_SECTION ? 0 : rb_join_sides(join) - 1;
}

/* Returns true if a side has triangles, and therefore faces. */
static inline bool
rb_join_has_faces(const rb_join *join)
{
	return join->kind[0] == RB_TRIANGLE3 || join->kind[1] == RB_TRIANGLE3;
}

/* ---- cursor.c: the rows of a result ---- */

/* The source of a column's value within a block, or only a type if the value is not in a block */
typedef enum rb_value
{
	RB_VALUE_RED,
	RB_VALUE_BLUE,
	RB_VALUE_PART1, /* Upper half of blue */
	RB_VALUE_PART2,
	RB_VALUE_DIMENSION, /* From the payload */
	RB_VALUE_CROSSES,
	RB_VALUE_DISTANCE,
	RB_VALUE_SIDE, /* Side of a solid */
	RB_VALUE_FROM, /* Start of an interval */
	RB_VALUE_TO,
	RB_VALUE_LENGTH,
	RB_VALUE_ON_BOUNDARY,
	RB_VALUE_RELATION, /* Relation of two solids */
	RB_VALUE_SOLID,    /* Id of a checked solid, or NULL */
	RB_VALUE_FACES,    /* NULL if the row could not be read */
	RB_VALUE_CLOSED,
	RB_VALUE_ORIENTED,
	RB_VALUE_CROSSINGS, /* NULL if the row could not be read */
	RB_VALUE_REASON,    /* NULL if the solid is valid, as are the values below */
	RB_VALUE_VALID,     /* Never NULL */
	RB_VALUE_CODE,
	RB_VALUE_X,
	RB_VALUE_Y,
	RB_VALUE_Z,
	RB_VALUE_VOLUME, /* Fields of rb_measures, through RB_VALUE_HIGH_Z */
	RB_VALUE_AREA,
	RB_VALUE_CENTROID_X,
	RB_VALUE_CENTROID_Y,
	RB_VALUE_CENTROID_Z,
	RB_VALUE_LOW_X,
	RB_VALUE_LOW_Y,
	RB_VALUE_LOW_Z,
	RB_VALUE_HIGH_X,
	RB_VALUE_HIGH_Y,
	RB_VALUE_HIGH_Z,
	RB_VALUE_SHARED, /* Fields of rb_overlap, through RB_VALUE_SHARED_DEPTH; NULL if not a number */
	RB_VALUE_SHARED_X,
	RB_VALUE_SHARED_Y,
	RB_VALUE_SHARED_Z,
	RB_VALUE_SHARED_CONTACT,
	RB_VALUE_SHARED_DEPTH,
	RB_VALUE_PART_VOLUME, /* Fields of rb_cuboid_share */
	RB_VALUE_PART_FRACTION,
	RB_VALUE_HIT_FRACTION, /* Words of RB_FIRST_HITS */
	RB_VALUE_HIT_X,
	RB_VALUE_HIT_Y,
	RB_VALUE_HIT_Z,
	RB_VALUE_INT8,
	RB_VALUE_INT4,
	RB_VALUE_FLOAT8,
	RB_VALUE_INT8_ARRAY,
	RB_VALUE_FLOAT8_ARRAY,
	RB_VALUE_BYTES,
	RB_VALUE_GEOMETRY /* Type known only to the SQL function: rb_column_type */
} rb_value;

typedef enum rb_row_from
{
	RB_ROWS_STREAM, /* Blocks of the join's stream (rb_run_next) */
	RB_ROWS_BLOCKS, /* Blocks of counts */
	RB_ROWS_SINGLE  /* Single rows */
} rb_row_from;

#define RB_RESULT_COLUMNS 12                     /* Maximum number of output columns */
#define RB_BLOCK_COLUMNS (2 + RB_VALIDITY_WORDS) /* Columns of a block: red, blue, payload words */

typedef struct rb_row_shape
{
	rb_row_from from;
	int raw; /* Number of block columns needed: red, blue, payload words */
	int columns;
	rb_value column[RB_RESULT_COLUMNS];
	bool made; /* True if values may be texts or null: rb_value_build */
} rb_row_shape;

/* Returns the columns of a result. */
extern const rb_row_shape *rb_row_shape_of(rb_result result);
/* Returns the type of column i of the call's result. */
extern Oid rb_column_type(const FuncExpr *call, const rb_row_shape *shape, int i);

/*
 * Returns a value of row i of a block that may be null or a text, allocated in the current memory
 * context.
 */
extern Datum rb_value_build(const rb_block *block, rb_value value, size_t i, bool *null);

/* Returns a value of row i of a block whose values are all numbers. */
static inline Datum
rb_value_in(const rb_block *block, rb_value value, size_t i)
{
	switch (value)
	{
		case RB_VALUE_RED:
			return Int64GetDatum(block->red[i]);
		case RB_VALUE_BLUE:
			return Int64GetDatum(block->blue[i]);
		case RB_VALUE_PART1:
			return Int32GetDatum((int32) (block->blue[i] >> 32));
		case RB_VALUE_PART2:
			return Int32GetDatum((int32) block->blue[i]);
		case RB_VALUE_DIMENSION:
			return Int16GetDatum((int16) RB_PAYLOAD_DIMENSION(block->payload[i]));
		case RB_VALUE_CROSSES:
			return BoolGetDatum(RB_PAYLOAD_CROSSES(block->payload[i]));
		case RB_VALUE_DISTANCE:
			return (Datum) block->payload[i]; /* Bits of a float8, which is passed by value */
		case RB_VALUE_FROM:
		case RB_VALUE_PART_VOLUME:
			return (Datum) block->payload[i * block->words];
		case RB_VALUE_TO:
		case RB_VALUE_PART_FRACTION:
			return (Datum) block->payload[i * block->words + 1];
		case RB_VALUE_LENGTH:
			return (Datum) block->payload[i * block->words + 2];
		case RB_VALUE_ON_BOUNDARY:
			return BoolGetDatum((block->payload[i * block->words + 3] & RB_INTERVAL_OF(1, 0)) != 0);
		default:
			if (value >= RB_VALUE_VOLUME && value <= RB_VALUE_HIGH_Z)
				return (Datum) block->payload[i * block->words + (value - RB_VALUE_VOLUME)];
			if (value >= RB_VALUE_HIT_FRACTION && value <= RB_VALUE_HIT_Z)
				return (Datum) block->payload[i * block->words + (value - RB_VALUE_HIT_FRACTION)];
			return (Datum) 0;
	}
}

/* ---- the arguments of a call ---- */

/* Arguments of a call */
typedef struct rb_call_args
{
	rb_source source[2]; /* Source of each side */
	/* Maximum distance, for rb_join_has_distance and rb_join_is_nearest; infinite if not given */
	double distance;
	uint32 nearest;           /* Maximum number of rows, for rb_join_is_ranked */
	rb_contact_faces contact; /* Faces that count as contact of an overlap */
	bool depth;               /* True if the depth of an overlap is wanted */
	double min_volume;        /* Least volume of an overlap that is returned */
	bool flat;                /* True if sections have coordinates in their planes */
	bool skip_bad;            /* True if invalid solids are skipped instead of raising an error */
	rb_box tile;              /* Tile, for rb_join_has_tile; dims is 0 if not given */
	rb_model_frame frame;     /* Frame of the model, for RB_CUBOID */
} rb_call_args;

/* ---- placement.c: where a join or a mesh refinement runs ---- */

/*
 * Raises an error if redblue.backend is known to be impossible to satisfy, and starts the worker if
 * it is likely to be needed. Called before the sides are read.
 */
extern void rb_placement_prepare(const char *function, const rb_source *source, int sides);

/* A join or refinement, in the worker or in this process */
typedef struct rb_placement
{
	const char *function;
	MemoryContext context; /* Context of requests to the worker */
	rb_context *ctx;
	rb_progress_entry *progress;
	const rb_job *job;
	const rb_backend *backend;
	rb_remote *remote; /* Request to the worker, NULL if it was not asked */
	rb_stream *stream; /* Local stream, NULL if the worker runs the join */
	bool demanded;     /* True if work without a device is an error */
	bool handed_out;   /* True if pairs of the join have been returned */
	char note[200];    /* Why the work runs there, or "" */
} rb_placement;

/* Initializes a placement. The context and the progress entry must exist as long as it is used. */
extern void rb_placement_init(rb_placement *placement, const char *function, MemoryContext context,
							  rb_context *ctx, rb_progress_entry *progress);

/*
 * Return true if the worker should run a join of `parts` parts, or refine a mesh that will have
 * about `tets` tetrahedra. Otherwise placement->note says why not, or is "" if the CPU was
 * requested.
 */
extern bool rb_placement_wants_join(rb_placement *placement, uint64 parts);
extern bool rb_placement_wants_refinement(rb_placement *placement, uint64 tets, int threads);

/* Ends the current join, and prepares for the next one. The job must exist until its end. */
extern void rb_placement_begin(rb_placement *placement, const rb_job *job);

/*
 * Submits the work to the worker. Returns false and writes the reason to placement->note if this
 * process must do it.
 */
extern bool rb_placement_submit(rb_placement *placement, rb_submission *order);

/*
 * Chooses the backend of this process. Raises an error if redblue.backend requires a device and
 * this process cannot open it either.
 */
extern void rb_placement_choose_here(rb_placement *placement);

/* Starts the join in threads of this process. Callable from any thread. */
extern rb_status rb_placement_run_here(rb_placement *placement);

/* Behaves as rb_stream_next. Callable from any thread, but only from one at a time. */
extern rb_status rb_placement_next(rb_placement *placement, int wait_ms, rb_block *block);

/* Returns true if the status is that of a worker whose join this process may run instead. */
extern bool rb_placement_can_take_over(const rb_placement *placement, rb_status status);

/*
 * Clears the failure of a join, and the statistics of all its stages except reading, so that
 * another join can take its place.
 */
extern void rb_forget_join(rb_context *ctx);

/* Runs the join on the CPU of this process after the worker could not. The sets must be local. */
extern rb_status rb_placement_take_over(rb_placement *placement);

/* Return what rb_stream_words and rb_stream_groups return. */
extern const uint32_t *rb_placement_words(const rb_placement *placement);
extern bool rb_placement_groups(const rb_placement *placement, rb_groups *groups);

/* Ends the current join; its result is freed with it. */
extern void rb_placement_stop(rb_placement *placement);

/* ---- execution.c: open a join, read blocks, close ---- */

/* Identity of a snapshot: equal values see the same rows */
typedef struct rb_moment
{
	TransactionId xmin;
	TransactionId xmax;
	uint32 xcnt;
	CommandId curcid;
} rb_moment;

/*
 * The join of one call. It lives in a memory context and ends with it at the latest, even after an
 * error; rb_run_close ends it sooner.
 */
typedef struct rb_join_run
{
	const rb_join *join;
	Oid user; /* Role with whose privileges the sides were read */
	rb_cleanup open;
	rb_memory *memory;
	rb_context ctx;
	/*
	 * Results of reading the sides, with their sets, which exist until the run is closed or loads
	 * the next tile. side[1].set is NULL in a self join that is not spilled
	 */
	rb_side_data side[2];
	rb_call_args call;
	const rb_set *elsewhere[2]; /* Remote sets whose sides were read again locally */
	struct rb_spill *spill; /* Spilled rows, of which the sides are a tile; NULL without spilling */
	rb_box tile;            /* The current tile */
	rb_stats before;        /* Statistics of earlier tiles */
	uint32 tiles;           /* Number of tiles so far */
	uint64 spilled;         /* Bytes spilled */
	/* True if tiles are joined in this process, because another thread may read them */
	bool here;
	/*
	 * True if the caller can compute the result in another way when the join needs too much memory
	 */
	bool may_give_up;
	bool gave_up;     /* True if the caller must compute the result in another way */
	rb_moment moment; /* Snapshot with which the sides were read */
	rb_job job;
	rb_placement placement;
	struct rb_progress_entry *progress;
	/*
	 * Function that stops the thread that reads blocks of this run, called before the run is
	 * closed; NULL if there is none
	 */
	void (*stop_reader)(void *);
	void *reader;
	uint64 parts;                    /* Parts of both sides */
	uint64 skipped;                  /* Rows without parts, of both sides */
	uint64 need;                     /* Estimated need in bytes, known when the sides are read */
	struct rb_refused_rows *refused; /* RB_VALIDITY: rows that could not be read, NULL if none */
	bool left_out_reported;          /* Set by rb_run_report_skipped */
	double emit_ms;                  /* Time spent converting pairs to rows, in ms */
} rb_join_run;

/*
 * Open a join in two steps: rb_run_read reads the sides, rb_run_start starts the join. rb_run_start
 * may be called again with another job, which ends the previous one. `by_tiles` allows the sides to
 * be those of a tile, with more tiles to follow.
 */
extern rb_join_run *rb_run_read(const rb_join *join, const rb_call_args *call,
								MemoryContext context, bool by_tiles);
/*
 * Starts a job on the sides that were read, in the worker or in this process. Raises an error if it
 * cannot start.
 */
extern void rb_run_start(rb_join_run *run, const rb_job *job);

/* Returns the job that the join function implies. The caller only adds the kind of result. */
extern rb_job rb_run_job(const rb_join_run *run);

/* Makes the ids of a side available in this process. */
extern void rb_run_ensure_ids(rb_join_run *run, int side);

/* Makes all rows of a side available in this process. */
extern void rb_run_need_rows(rb_join_run *run, int side);

/*
 * Makes all parts and ids of both sides available in this process, on a helper thread if that may
 * take long. The sets are not cached, because the join treats parts as rows, or row numbers as ids.
 */
extern void rb_run_bring_sides(rb_join_run *run, rb_helper *helper);

/* Returns the next pairs, at least one. Returns false after the last one. Can be canceled. */
extern bool rb_run_next(rb_join_run *run, rb_block *block);

/*
 * Behaves as rb_stream_next, wherever the join runs. Callable from any thread, but only from one at
 * a time.
 */
extern rb_status rb_run_wait(rb_join_run *run, int wait_ms, rb_block *block);

/*
 * Makes later tiles run in this process. Called before rb_run_wait is called from another thread.
 */
extern void rb_run_stay_here(rb_join_run *run);

/* Returns the failure of the join. Callable from any thread. */
extern rb_error rb_run_error(const rb_join_run *run);

/* Stops the join and frees all its memory. Its statistics can still be reported. */
extern void rb_run_close(rb_join_run *run);

/* ---- cursor.c: the result of a join, whatever it is ---- */

/*
 * The result of one call. It lives in a memory context, as its run does, and ends with it. Counts,
 * matched rows and grouped pairs come in the order in which the rows of the selected side were
 * read, once for each distinct id. A row of counts is therefore a row of GROUP BY.
 *
 *	rb_cursor *cursor = rb_cursor_open(join, RB_RESULT_GROUPS, RB_OF_BLUE, call, context);
 *	Datum values[RB_RESULT_COLUMNS];
 *
 *	while (rb_cursor_next_row(cursor, values))
 *		use(values);
 *	rb_last_run_set(rb_cursor_run(cursor));
 */
typedef struct rb_cursor rb_cursor;

/*
 * Reads the sides and starts the join, or computes an aggregate. Can be canceled. For an aggregate,
 * `of` selects the side whose ids are returned. In a self join, RB_OF_BOTH uses each pair for both
 * of its ids, RB_OF_RED only for the first (id1), and RB_OF_BLUE for the second. Other results do
 * not depend on `of`.
 */
extern rb_cursor *rb_cursor_open(const rb_join *join, rb_result result, rb_result_side of,
								 const rb_call_args *call, MemoryContext context);

/*
 * Returns the next block, if the rows of the result come in blocks (rb_row_shape). Returns false
 * after the last one. Can be canceled.
 */
extern bool rb_cursor_next_block(rb_cursor *cursor, rb_block *block);

/*
 * Returns the next row, without nulls, if the rows come one by one. Values passed by reference are
 * valid until the next call.
 */
extern bool rb_cursor_next_row(rb_cursor *cursor, Datum *values);

/* Returns the run, for its statistics. */
extern rb_join_run *rb_cursor_run(const rb_cursor *cursor);

/* Closes the cursor early. After an error, its memory context closes it. */
extern void rb_cursor_close(rb_cursor *cursor);

/* ---- report.c: what a join or another operation did ---- */

/* A line of a report: a stage, or the part of a device */
typedef struct rb_report_line
{
	const char *stage;
	uint64 count;
	double ms;
	const char *detail; /* Text in parentheses, or "" */
	const char *backend;
	const char *device; /* Device, or number of threads and why no device was used */
	bool optional;      /* True if EXPLAIN omits the line when nothing was done */
} rb_report_line;

#define RB_REPORT_LINES (RB_STAGES + RB_MAX_DEVICES + 4)

/* A report. Its texts are in the memory context in which they were added. */
typedef struct rb_report
{
	const char *backend; /* Backend and device of the lines to add */
	const char *device;
	const char *note; /* Why no device was used, or "" */
	int n;
	rb_report_line line[RB_REPORT_LINES];
} rb_report;

/* Begins a report without lines. `note` says why no device was used, or is "". */
extern void rb_report_begin(rb_report *report, const rb_stats *stats, const char *note);
/* Appends a line to a report. `count` and `ms` are those of the stage; detail may be NULL. */
extern rb_report_line *rb_report_add(rb_report *report, const char *stage, uint64 count, double ms,
									 const char *detail);
/* Adds the stages of the core after reading. */
extern void rb_report_add_stages(rb_report *report, const rb_stats *stats);

/* Fills the report of a run. */
extern void rb_report_run(rb_report *report, const rb_join_run *run);

struct ExplainState;

/* Shows the lines in EXPLAIN. */
extern void rb_report_explain(const rb_report *report, struct ExplainState *es);

/* Makes the report of a run the result of redblue_last_run(). */
extern void rb_last_run_set(const rb_join_run *run);
/* Makes a copy of a report the result of redblue_last_run(), which `user` may read. */
extern void rb_last_report_set(const rb_report *report, Oid user);

/* A solid that an operation skipped */
typedef struct rb_skipped_solid
{
	int64 solid;
	const char *reason;  /* Short description of the fault */
	const char *message; /* Description of the fault with rows and locations */
	const char *detail;  /* Further sentences, or NULL */
} rb_skipped_solid;

/*
 * Sets what redblue_last_skipped() returns, until the next report is set. Call it after
 * rb_last_report_set.
 */
extern void rb_last_skipped_set(const rb_skipped_solid *solids, uint32 n);

/* Installs the hook that clears the last report at DISCARD ALL. */
extern void rb_report_install(void);

/* Reasons why solids are skipped, counted by their names, which may repeat */
#define RB_MAX_REASONS 48

typedef struct rb_reason
{
	const char *name;
	uint64 count;
} rb_reason;

typedef struct rb_reasons
{
	rb_reason at[RB_MAX_REASONS];
	int n;
	uint64 sum;
} rb_reasons;

/* Adds n solids that were skipped for this reason; n may be 0. */
extern void rb_reasons_add(rb_reasons *reasons, const char *name, uint64 n);

/*
 * Returns the most frequent reasons, as in "132: not closed; 24: crossing itself". Sorts the
 * reasons.
 */
extern char *rb_reasons_text(rb_reasons *reasons);

/* Raises a notice about skipped solids, once. Called after the join has ended or stopped. */
extern void rb_run_report_skipped(rb_join_run *run);

/* ---- gserialized_write.c: geometries in PostGIS's storage format; nodes in prefix order ---- */

typedef struct rb_writer
{
	const char *function;
	int dims;
	char *bytes; /* In the memory context that was current at the start */
	Size n, cap;
	Size box; /* Offset of the box, in bytes */
	double low[3], high[3];
} rb_writer;

/*
 * Starts a serialized geometry. `function` begins error messages; points have two or three
 * coordinates.
 */
extern void rb_write_begin(rb_writer *w, const char *function, int32 srid, bool has_z);
/* Writes the head of a geometry: its PostGIS type, and the number of its points or members. */
extern void rb_write_node(rb_writer *w, uint32 type, uint32 count);
/* Writes a point and extends the box. */
extern void rb_write_point(rb_writer *w, const double *at);
/* Writes the box and returns the geometry as a datum. */
extern Datum rb_write_end(rb_writer *w);

/*
 * Writes a shape. One part becomes a simple geometry, several parts of one type a multi geometry,
 * parts of several types a collection, and an empty shape an empty collection.
 */
extern Datum rb_write_shape(const rb_intersection *shape, const char *function, int32 srid,
							bool has_z);

/*
 * Writes the boundary of a solid as a POLYHEDRALSURFACE Z with the flag that PostGIS's ST_MakeSolid
 * sets. A boundary without polygons becomes POLYHEDRALSURFACE Z EMPTY.
 */
extern Datum rb_write_solid(const rb_solid_boundary *boundary, const char *function, int32 srid);

/* ---- solid_rows.c: results of operations on solids ---- */

/*
 * Raises the error that the faces of some solids, such as "the solids" or "id 1 of red and id 2 of
 * blue", could not be cut where they cross.
 */
pg_noreturn extern void rb_raise_uncut_solids(const char *function, const char *which,
											  const rb_flaw *flaw);

/*
 * ---- aggregates of pairs, and geometries of pairs ----
 *
 *	cursor.c				the choice between all results
 *	aggregates.c			counts, matched rows, grouped pairs
 *	intersections.c			intersections of the pairs
 *	section_rows.c			sections by planes
 *	solid_rows.c			intersections and differences of solids
 */

#define RB_BLOCK_ROWS 1024 /* Number of rows per output block */

struct rb_cursor
{
	rb_join_run *run;
	rb_result result;
	rb_result_side of;
	const rb_set *side;  /* Side whose rows are returned */
	const rb_set *other; /* Side whose rows are the partners */

	uint32_t *number; /* Number of each row's id (rb_ids_number), NULL if ids are unique */
	uint32_t numbers;
	uint32 seen; /* Number of distinct ids seen so far */
	uint32 row;  /* Next row */

	const uint32_t *word;       /* Counts or marks computed by the core */
	uint64_t *sum;              /* Sum of the counts of all rows of each id, if rows are numbered */
	int64 id[RB_BLOCK_ROWS];    /* Ids of the output block */
	int64 value[RB_BLOCK_ROWS]; /* Values of the output block */

	/* Grouped pairs of the rows from `base` on, or of numbered ids */
	rb_groups groups;
	uint32 base;
	uint32 end;       /* End of the joined rows; all rows unless memory is short */
	uint32_t *counts; /* Counts of all rows, NULL if all pairs fit in memory */
	rb_set slice;     /* Joined rows */
	uint64 emitted;
	bool ascending; /* True if the other side's ids ascend with its rows */
	ArrayType *array;
	uint64 room; /* Capacity in ids */

	struct rb_sorting *sorting; /* NULL unless the pairs are sorted */

	/* True for intersections: the join treats each part as a row */
	bool of_parts;
	rb_set part[2];
	struct rb_shaping *shaping;

	struct rb_section_rows *sections; /* For sections */
	struct rb_solid_rows *solids;     /* For intersections and differences of solids */
};

/* Returns the id of a row. Ids that count up from first_id may wrap around. */
static inline int64
rb_id_of(const rb_set *set, uint32 row)
{
	return set->ids != NULL ? set->ids[row] : (int64) ((uint64) set->first_id + row);
}

/* ---- aggregates.c ---- */

/*
 * Sets the sides to the current sets of the run. A remote set may have been replaced by a local
 * one.
 */
extern void rb_aggregate_sides(rb_cursor *rows);

/*
 * Returns the job of the run (rb_run_job). If the join treats parts as rows (of_parts), the job is
 * not restricted to the tile.
 */
extern rb_job rb_aggregate_job(const rb_cursor *rows);

/*
 * Runs a job to its end and ignores its pairs. Returns false if it needs more memory than the limit
 * and its pairs can be sorted instead; otherwise that is an error.
 */
extern bool rb_aggregate_run_to_end(rb_cursor *rows, const rb_job *job);

/* Computes counts, matched rows or grouped pairs. Sorts the pairs if memory does not suffice. */
extern void rb_aggregate_open(rb_cursor *rows);
/* Returns the next counts or matched rows. Returns false after the last ones. */
extern bool rb_aggregate_next_block(rb_cursor *rows, rb_block *block);

/* Returns the next group of pairs as a result row. Returns false after the last one. */
extern bool rb_aggregate_next_group(rb_cursor *rows, Datum *values);
/* Ends the sort, if there is one. May be called twice. */
extern void rb_aggregate_close(rb_cursor *rows);

/*
 * Groups all pairs, or prepares to group them slice by slice. Returns false if the pairs do not fit
 * in memory and slices do not help, because a slice may lack pairs of its groups or because too
 * many slices would be needed. Never returns false for intersections.
 */
extern bool rb_groups_open(rb_cursor *rows, rb_job *job);

/* Joins the next rows, from rows->end on. Returns false if there are no more rows. */
extern bool rb_groups_more(rb_cursor *rows);

/*
 * Finds the members of a row's group among the pairs that a cursor has joined and grouped, and
 * returns their number (aggregates.c).
 */
extern uint64 rb_groups_of(const rb_cursor *rows, uint32 row, const uint32_t **member);

/* ---- intersections.c ---- */

/* Makes all parts of both sides available in this process, and starts the join. */
extern void rb_shapes_open(rb_cursor *rows, MemoryContext context);
/* Returns the next intersection as a row. Returns false after the last one. */
extern bool rb_shapes_next(rb_cursor *rows, Datum *values);

/* ---- section_rows.c ---- */

/* Prepares a cursor for sections by planes, before the join starts. */
extern void rb_sections_open(rb_cursor *rows, MemoryContext context);
/* Computes the next output row. Returns false after the last one. */
extern bool rb_sections_next(rb_cursor *rows, Datum *values);

/* ---- solid_rows.c ---- */

/* Joins the solids of both sides, and prepares operations on the pairs. */
extern void rb_solid_rows_open(rb_cursor *rows, MemoryContext context);
/* Computes the next output row. Returns false after the last one. */
extern bool rb_solid_rows_next(rb_cursor *rows, Datum *values);

#endif /* RB_PG_EXEC_EXEC_H */
