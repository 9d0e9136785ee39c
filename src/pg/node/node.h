/*
 * node.h
 *	  Declares what the files of the two plan nodes share.
 *
 * The node for a JOIN b ON redblue_intersects(a.geom, b.geom):
 *
 *	replace_postgis.c	replaces ST_3DIntersects with redblue_intersects, if enabled
 *	join_path.c		planner: chooses the clause, computes the cost and builds the plan
 *	measure_path.c	planner: finds the measures that the node computes for its pairs
 *	join_scan.c		the node: reads both inputs, joins their sets, returns pairs of rows or counts them
 *	join_measures.c	measures the pairs in batches
 *	join_input.c	reads an input to its end
 *	join_decode.c	decodes the geometries of an input on a helper thread
 *	join_sides.c	converts the geometries of an input into sets
 *	join_rows.c		stores rows, and columns of rows, by number, in memory or in a file
 *
 * The scan of a function in FROM:
 *
 *	function_scan_path.c	planner: replaces the paths of functions and of aggregates of their pairs
 *	function_scan.c			the scan
 *	parallel_queue.c		passes pairs to parallel workers
 */
#ifndef RB_PG_NODE_NODE_H
#define RB_PG_NODE_NODE_H

#include "pg/base/cleanup.h"
#include "pg/exec/exec.h"
#include "pg/scalar/scalar.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "portability/instr_time.h"

/* ======== joins on functions of two geometries ======== */

#define RB_JOIN_NAME "redblue join"
#define RB_JOIN_COUNT_NAME RB_JOIN_NAME " count"

/* ---- join_rows.c: rows of any length, and columns of rows ---- */

typedef struct rb_spool rb_spool;

/* Opens a spool in the current memory context. Rows beyond `most` bytes go to a temporary file. */
extern rb_spool *rb_spool_open(Size most);

/* Appends a row to the spool. */
extern void rb_spool_append(rb_spool *stored, const void *bytes, Size length);
/* Returns row i, from 0. The pointer is valid until the next call. */
extern void *rb_spool_read(rb_spool *stored, uint64 i);

/* Returns the number of rows in the spool. */
extern uint64 rb_spool_number(const rb_spool *stored);

/* Frees the spool and its temporary file. */
extern void rb_spool_close(rb_spool *stored);

typedef struct rb_join_rows rb_join_rows;

/*
 * Opens storage for the wanted columns (from 0) of rows with this descriptor, in the current memory
 * context. Values stored in arrays are allocated from `memory`; tuples beyond `most` bytes go to a
 * temporary file.
 */
extern rb_join_rows *rb_join_rows_open(TupleDesc desc, const Bitmapset *wanted, rb_memory *memory,
									   const char *function, Size most);

/* Appends the wanted columns of a row. */
extern void rb_join_rows_append(rb_join_rows *kept, TupleTableSlot *slot);
/*
 * Reads the wanted columns of row i, from 0. Values are valid until the next call. Other columns
 * are not changed.
 */
extern void rb_join_rows_read(rb_join_rows *kept, uint64 i, Datum *values, bool *isnull);

/* Frees the stored columns of rows and their temporary file. */
extern void rb_join_rows_close(rb_join_rows *kept);

/* ---- join_path.c ---- */

/* Function of the clause, as stored in custom_private */
typedef enum rb_join_function
{
	RB_ASKED_INTERSECTS,
	RB_ASKED_CROSSES,
	RB_ASKED_DWITHIN,
	RB_ASKED_INSIDE
} rb_join_function;

/*
 * Returns true if a join node can evaluate this SQL function of redblue as its clause, and sets
 * *asked.
 */
extern bool rb_find_join_function(Oid function, rb_join_function *asked);
/*
 * Returns true if a function in the query belongs to the extension postgis, and is not another
 * function with the same name (join_path.c).
 */
extern bool rb_is_of_postgis(Oid function);

/* ---- measure_path.c ---- */

/* Measures of what two geometries share */
typedef enum rb_measure
{
	RB_MEASURE_VOLUME,
	RB_MEASURE_DEPTH,
	RB_MEASURE_AREA
} rb_measure;

/* Maximum number of measures of a node: each one for both orders of the geometries */
#define RB_MEASURES (2 * (RB_MEASURE_AREA + 1))

/* Returns true if an SQL function measures what two geometries share, and sets *measure. */
extern bool rb_find_measure(Oid function, rb_measure *measure);
/* Returns true if an expression, which may be above an outer join, is a geometry of the join condition. */
extern bool rb_is_joined_geometry(const Node *node, const Node *geometry);
/*
 * Returns the measures of two geometries that the query, or the clauses of their join, evaluate for
 * every pair that passes the preceding clauses. Returns NIL if the clauses also evaluate measures
 * for some of these pairs only.
 */
extern List *rb_find_measures(PlannerInfo *root, Node *outer, Node *inner, List *clauses);
/*
 * Adds the measures of both geometries that aggregates or window functions need to the target of a
 * path of the topmost join.
 */
extern void rb_add_measures_to_target(PlannerInfo *root, Path *path, Node *outer, Node *inner);

/* Positions in the plan's custom_private */
enum
{
	/*
	 * Integers: the join type; the rb_join_function; whether the inner geometry is the first
	 * argument; whether SRIDs may differ; the numbers of columns of the outer and of the inner
	 * input
	 */
	RB_JOIN_FACTS,
	RB_JOIN_NAMES, /* Tables of the outer and of the inner geometries, "" if there are several */
	/* For each measure, whether the inner geometry is the first argument */
	RB_JOIN_MEASURES
};

/* Positions in the plan's custom_exprs */
enum
{
	RB_JOIN_OUTER_GEOMETRY,
	RB_JOIN_INNER_GEOMETRY,
	RB_JOIN_DISTANCE,
	RB_JOIN_CLAUSE, /* For EXPLAIN */
	RB_JOIN_QUAL,   /* List of the other join clauses */
	RB_JOIN_FILTER  /* List of filter clauses, applied to the rows of an outer join */
};

/* Installs the planner hooks and the methods of the join node. */
extern void rb_join_install(void);
/* ---- replace_postgis.c ---- */

/* Installs the planner hook that replaces PostGIS functions by redblue's. */
extern void rb_replace_install(void);

/* ---- join_sides.c: geometries of an input become sets ---- */

/*
 * How a geometry is read: in space if it has Z, in the plane if it has no Z, or projected to the
 * plane although it has Z
 */
typedef enum rb_lie
{
	RB_IN_SPACE,
	RB_IN_PLANE,
	RB_FLATTENED
} rb_lie;

#define RB_LIES 3

/*
 * Role of a side. redblue_inside tests whether geometries of any kind lie in solids, in space. Its
 * sides have one set per kind of object instead of one per rb_lie.
 */
typedef enum rb_join_role
{
	RB_ROLE_COMPARED,
	RB_ROLE_PLACED,
	RB_ROLE_SOLID
} rb_join_role;

enum
{
	RB_AT_TRIANGLES = RB_IN_SPACE,
	RB_AT_POINTS = RB_IN_PLANE,
	RB_AT_SEGMENTS = RB_FLATTENED
};

/* Origin of a geometry */
typedef struct rb_join_place
{
	uint64 row;          /* Row of the input, from 0 */
	ItemPointerData tid; /* Row of the table */
	Oid relid;           /* Table of the row, or InvalidOid if unknown */
} rb_join_place;

typedef struct rb_join_side
{
	rb_decoder decoder;
	rb_join_role role;
	rb_builder builder[RB_LIES];
	/* Sets, valid after all rows are read; NULL if there are no such geometries */
	const rb_set *set[RB_LIES];
	uint64 n[2]; /* Number of geometries that are not null, without Z and with Z */
	bool srid_known;
	int32 srid;
	bool any_srid; /* True if SRIDs may differ; geometries with different SRIDs are not pairs */
	bool mixed;    /* True if SRIDs differ, which is an error */
	int32 other_srid;
	/* For each rb_lie, a geometry that cannot be read in this way, or NULL if none is known */
	struct varlena *faulty[RB_LIES];
	rb_join_place faulty_place[RB_LIES];
	rb_join_place other_place; /* Origin of the geometry with the other SRID */
	const char *table;         /* Table of the geometries, "" if unknown */
	bool flatten;              /* True if geometries with Z are also projected to the plane */
	bool may_flatten;          /* True if geometries with Z may have to be projected later */
	rb_spool *late;            /* Geometries saved for later projection */
	rb_spool *late_place;      /* Origins of the saved geometries, NULL if there are none */
	Size late_most;
	uint64 parts; /* Number of parts in the sets, valid once they are built */
} rb_join_side;

/*
 * Adds the detoasted geometry of a row. Does not raise errors about the geometry yet, because there
 * may be nothing to compare it with.
 */
extern void rb_join_side_add(rb_join_side *side, struct varlena *bytes, const rb_join_place *place);
/*
 * Adds a plain geometry, from any thread. Returns false and does nothing if the geometry is not
 * plain.
 */
extern bool rb_join_side_add_plain(rb_join_side *side, struct varlena *bytes,
								   const rb_join_place *place);
/* Projects the geometries that may have to be projected. */
extern void rb_join_side_flatten(rb_join_side *side);
/*
 * Raises an error about one of the side's geometries if the other side has a geometry to compare it
 * with.
 */
extern void rb_join_side_check(rb_join_side *side, const rb_join_side *other);
/* Builds the sets of a side after its last geometry. */
extern void rb_join_side_finish(rb_join_side *side);
/* Returns the text by which messages identify a row. */
extern const char *rb_join_side_row(const rb_join_side *side, uint64 row);
/* Frees the sets and files of a side. */
extern void rb_join_side_free(rb_join_side *side);

/*
 * ---- join_decode.c: a helper thread adds geometries to a side, in the order in which they are
 * written ----
 */

typedef struct rb_decoding rb_decoding;

/*
 * Starts decoding, in the current memory context. Geometries are decoded at once if the memory
 * account has no room for batches, or if `threads` is 1.
 */
extern rb_decoding *rb_join_decode_begin(rb_join_side *side, rb_memory *memory, int threads,
										 bool timed);
/* Passes on a detoasted geometry to be decoded; copies it if it is not decoded at once. */
extern void rb_join_decode_write(rb_decoding *decoding, struct varlena *geometry,
								 const rb_join_place *place);
/* Waits until all geometries written so far have been added. */
extern void rb_join_decode_flush(rb_decoding *decoding);
/* Returns the time that the helper thread has worked, in milliseconds, or 0 if it is not timed. */
extern double rb_join_decode_ms(const rb_decoding *decoding);
/* Ends the thread and discards pending geometries. Must be called before the side is freed. */
extern void rb_join_decode_end(rb_decoding *decoding);

/* ---- join_input.c, join_measures.c, join_scan.c ---- */

typedef struct rb_join_measures rb_join_measures;

typedef struct rb_join_input
{
	PlanState *plan;
	ExprState *geometry;
	/* Number of the input's column that is the geometry, from 1, or 0 for an expression */
	int column;
	int first; /* Number of the input's first column in the scan tuple */
	int columns;
	Bitmapset *wanted;  /* Columns that are needed, numbered from 0 */
	rb_join_rows *kept; /* Stored rows, NULL if no column is needed */
	uint64 n;
	int64 at; /* Row that is in the scan tuple, or -1 if there is none */
	rb_join_side side;
	rb_decoding *decoder; /* Valid while the input is read */
	/* For EXPLAIN */
	uint64 bytes; /* Bytes of geometries */
	/*
	 * Time to read the input, without the time that the backend spent on decoding or waiting for it
	 */
	double read_ms;
	double decode_ms; /* Time of decoding, by the helper thread and by the backend */
} rb_join_input;

typedef enum rb_join_phase
{
	RB_JOIN_READ,
	RB_JOIN_START,
	RB_JOIN_PAIRS,
	RB_JOIN_REST,
	RB_JOIN_DONE
} rb_join_phase;

typedef struct rb_geometry_join
{
	CustomScanState css; /* Must be first */
	const char *function;
	JoinType type;
	rb_join_function asked;
	rb_join_input in[2];
	ExprState *distance;
	ExprState *quals;
	ExprState *filter;
	Bitmapset *params; /* Parameters on which the geometries depend */
	rb_join_phase phase;

	/* Memory context of the data read from the inputs; it lives until they are read again */
	MemoryContext context;
	rb_cleanup open;
	rb_memory *memory;
	double reach;
	bool no_pairs;

	/* The current join */
	rb_context ctx;
	rb_job job;
	rb_placement placement;
	int turn; /* Index of the next combination of sets to join */
	rb_block block;
	size_t next;
	uint64 *matched; /* A bit for each outer row */
	uint64 rest;
	bool counting; /* True if only the number of pairs is needed */
	rb_progress_entry *progress;
	rb_join_measures *measures; /* NULL if none is needed */

	/*
	 * For EXPLAIN: statistics summed over all joins that have ended, and the number of these joins
	 */
	rb_stats stats;
	int joins;
} rb_geometry_join;

/* ---- join_input.c: both inputs are read once ---- */

/* Reads both inputs to their ends and builds the sides. */
extern void rb_join_read(rb_geometry_join *join);
/*
 * Evaluates the distance, determines whether there can be any pairs, and raises the errors that a
 * pair would raise.
 */
extern void rb_join_check_distance(rb_geometry_join *join);

/*
 * Prepares the scan slot for the next row, even if the node above has materialized the slot of the
 * last one.
 */
extern void rb_join_reset_slot(rb_geometry_join *join);
/* Copies the columns of a row of an input into the scan slot. */
extern void rb_join_load_row(rb_geometry_join *join, rb_join_input *in, uint64 row);
/* Sets the columns of one input in the scan slot to null, as for a row without a partner. */
extern void rb_join_clear_columns(rb_geometry_join *join, rb_join_input *in);

/* ---- join_measures.c: pairs wait until they are measured in batches ---- */

/*
 * Prepares the measures that the node's target list and its other clauses need. Returns the clauses
 * that need none, and adds the columns of the scan tuple that the measures need to *wanted.
 */
extern List *rb_join_measures_begin(rb_geometry_join *join, List *clauses, Bitmapset **wanted);
/* Adds a pair that has passed the clauses without measures. Returns false if no more fit. */
extern bool rb_join_measures_add(rb_join_measures *measures, uint64 outer, uint64 inner);
/* Returns the next of the pairs that were added, or false if there is none. */
extern bool rb_join_measures_next(rb_join_measures *measures, uint64 *outer, uint64 *inner);
/*
 * Evaluates the clauses with measures for the pair in the scan slot, which rb_join_measures_next
 * returned, and stores the measures in the slot. Returns false if the pair fails a clause.
 */
extern bool rb_join_measures_store(rb_join_measures *measures);
/* Stores null for the measures of an outer row without a pair in the slot. */
extern void rb_join_measures_set_null(rb_join_measures *measures);
/* Discards all pairs. */
extern void rb_join_measures_clear(rb_join_measures *measures);
/* Frees the pairs, and stops the work on them. Called before the memory account is closed. */
extern void rb_join_measures_free(rb_join_measures *measures);
/* Adds the measures and how they were computed to EXPLAIN. */
extern void rb_join_measures_explain(const rb_join_measures *measures, List *deparse,
									 ExplainState *es);

/* ---- join_scan.c ---- */

extern const CustomScanMethods rb_join_methods;
extern const CustomScanMethods rb_join_count_methods;

/* ======== functions in FROM ======== */

/* ---- parallel_queue.c: a queue of pairs for parallel workers ---- */

typedef struct rb_pair_queue rb_pair_queue;
typedef struct rb_pump rb_pump;

#define RB_QUEUE_PAIRS 512 /* Maximum number of pairs read at once */

/* Returns the bytes of a queue in shared memory. */
extern Size rb_pair_queue_size(void);
/* Initializes an empty queue in zeroed or used memory. */
extern void rb_pair_queue_init(rb_pair_queue *share);
/*
 * Starts a thread that moves the pairs of a run into the queue. Must be called in the run's memory
 * context; the queue must outlive the pump.
 */
extern rb_pump *rb_pump_start(rb_join_run *run, rb_pair_queue *share);
/* Stops the thread, which afterwards accesses neither the run nor the queue. */
extern void rb_pump_stop(rb_pump *pump);
/*
 * Reads the next block into arrays of RB_QUEUE_PAIRS. Sets block->n to 0 at the end. payload may be
 * NULL.
 */
extern void rb_pair_queue_read(rb_pair_queue *share, const char *function, rb_block *block);

/* ---- function_scan.c: the scan ---- */

#define RB_SCAN_NAME "redblue pairs"

/*
 * The custom_private of a plan states the requested result, which may differ from that of the
 * function. It contains an rb_result, an rb_result_side, and for each column of custom_scan_tlist
 * its index in the result. These integers form a nested list, because extensions that look for
 * their own custom scans (Citus) expect the first element of custom_private to be a node.
 */
extern Node *rb_scan_create_state(CustomScan *plan);
extern const CustomScanMethods rb_scan_methods;

/* ---- function_scan_path.c: paths for the functions in FROM and for aggregates ---- */

/* Installs the planner hooks and the methods of the function scan nodes. */
extern void rb_scan_install(void);

/* The columns and the aggregates of pairs that some expressions need */
typedef struct rb_question
{
	Index relid; /* Relation of the pairs, or 0 if they have no columns */
	/*
	 * For a relation that has both directions of each pair of a self join: for each of its columns,
	 * the column of the pairs that is its value in the first direction, or 0. NIL if the relation
	 * has each pair once
	 */
	List *directions;
	AttrNumber column; /* Column by which the pairs are grouped, or 0 if they form one group */
	Var *group;
	List *counts; /* Distinct expressions equivalent to count(*) */
	List *arrays; /* Distinct expressions that collect the other column of a group */
} rb_question;

/*
 * Adds the aggregates that an expression uses to the wanted ones. Returns false if it needs the
 * pairs themselves.
 */
extern bool rb_ask_for_aggregates(Node *node, rb_question *question);

#endif /* RB_PG_NODE_NODE_H */
