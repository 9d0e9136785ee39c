/*
 * rb_geometry_join.h
 *	  a JOIN b ON redblue_intersects(a.geom, b.geom), as one node of the plan: what its files share.
 *
 *		join_replace.c	ST_3DIntersects becomes redblue_intersects, where that is asked for
 *		join_clause.c	the planner: which clause of a join can be answered so, ...
 *		join_path.c		... what it costs, the plan
 *		join_scan.c		the node: both inputs are read, their geometries joined, pairs of rows handed out
 *		join_stream.c	the sets of both inputs are joined
 *		join_input.c	an input is read to its end
 *		join_decode.c	its geometries are decoded, by a thread meanwhile
 *		join_sides.c	geometries of an input become sets
 *		join_columns.c	what is wanted again of its rows
 *		join_rows.c		rows by their numbers, in memory or in a file
 *		join_explain.c	the node in EXPLAIN
 *		join_count.c	a count of its pairs becomes the join's own answer
 */
#ifndef RB_GEOMETRY_JOIN_H
#define RB_GEOMETRY_JOIN_H

#include "pg/pair/rb_pairwise.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "portability/instr_time.h"

#define RB_JOIN_NAME "redblue join"

/* ---- join_rows.c ---- */

typedef struct rb_spool rb_spool;

/* in the current memory context; what is more than so many bytes goes to a temporary file */
extern rb_spool *rb_spool_open(Size most);
extern void rb_spool_put(rb_spool *stored, const void *bytes, Size length);
/* row i, from 0; valid until the next one is taken */
extern void *rb_spool_get(rb_spool *stored, uint64 i);
extern uint64 rb_spool_number(const rb_spool *stored);
extern void rb_spool_close(rb_spool *stored);

/* ---- join_columns.c ---- */

typedef struct rb_join_rows rb_join_rows;

/* of rows like these the wanted columns (from 0), in the current memory context; small values count against that memory */
extern rb_join_rows *rb_join_rows_open(TupleDesc desc, const Bitmapset *wanted, rb_memory *memory,
									   const char *function, Size most);
extern void rb_join_rows_put(rb_join_rows *kept, TupleTableSlot *slot);
/* those of row i, from 0; valid until the next one is taken.  What is not wanted is left as it is. */
extern void rb_join_rows_get(rb_join_rows *kept, uint64 i, Datum *values, bool *isnull);
extern void rb_join_rows_close(rb_join_rows *kept);

/* ---- join_clause.c ---- */

/* which function it is, as custom_private has it */
typedef enum rb_asked
{
	RB_ASKED_INTERSECTS,
	RB_ASKED_CROSSES,
	RB_ASKED_DWITHIN,
	RB_ASKED_INSIDE
} rb_asked;

/* what is known of the join when the path is made, for when it becomes a plan */
typedef struct rb_join_clause
{
	RestrictInfo *info;
	rb_asked asked;
	Node *outer; /* geometries */
	Node *inner;
	Node *distance; /* NULL: none */
	bool swapped;   /* the inner one is the first argument */
	bool same_srid; /* another clause asks for it: that SRIDs differ is no error */
} rb_join_clause;

/* is it one of ours, and which? */
extern bool rb_is_asked(Oid function, rb_asked *asked);
/* is it PostGIS's own, and not somebody's of that name? */
extern bool rb_is_of_postgis(Oid function);
extern bool rb_join_find_clause(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *outer,
								RelOptInfo *inner, JoinType type, JoinPathExtraData *extra,
								rb_join_clause *clause);

/* ---- join_replace.c ---- */

extern void rb_replace_install(void);

/* ---- join_path.c ---- */

/* places in the plan's custom_private */
enum
{
	RB_JOIN_FACTS, /* join type, rb_asked, is the inner geometry the first argument?, may SRIDs differ?, columns of the outer and of the inner input */
	RB_JOIN_NAMES /* of the tables whose geometries are those of the outer, and of the inner input; "" where that is more than one */
};

/* ... and in custom_exprs */
enum
{
	RB_JOIN_OUTER_GEOMETRY,
	RB_JOIN_INNER_GEOMETRY,
	RB_JOIN_DISTANCE,
	RB_JOIN_CLAUSE, /* for EXPLAIN */
	RB_JOIN_QUAL,   /* a list: what else is to hold for two rows to be joined */
	RB_JOIN_FILTER  /* a list: what is asked of the rows of an outer join */
};

extern void rb_join_install(void);
/* is it an inner join by the node, with no clause but the node's own, of which the core knows the number of pairs? */
extern bool rb_join_is_countable(const Path *path);

/* ---- join_sides.c: geometries of an input become sets ---- */

/* what a row's geometry is read as: in space, if it has Z; in the plane, if it has none; in the plane though it has Z */
typedef enum rb_lie
{
	RB_IN_SPACE,
	RB_IN_PLANE,
	RB_FLATTENED
} rb_lie;

#define RB_LIES 3

/*
 * What a side is for.  redblue_inside asks of geometries of any kind, in space, whether they lie in bodies: such a side has a
 * set of each kind in place of the three above.
 */
typedef enum rb_join_role
{
	RB_ROLE_COMPARED,
	RB_ROLE_PLACED,
	RB_ROLE_BODY
} rb_join_role;

enum
{
	RB_AT_TRIANGLES = RB_IN_SPACE,
	RB_AT_POINTS = RB_IN_PLANE,
	RB_AT_SEGMENTS = RB_FLATTENED
};

/* where a geometry is from */
typedef struct rb_join_place
{
	uint64 row;          /* of the input, from 0 */
	ItemPointerData tid; /* of the table, ... */
	Oid relid;           /* ... where it is known: this one */
} rb_join_place;

typedef struct rb_join_side
{
	rb_decoder decoder;
	rb_join_role role;
	rb_builder builder[RB_LIES];
	const rb_set *set[RB_LIES]; /* once all are read; NULL: none lies so */
	uint64 n[2];                /* geometries that are not null: without Z, with Z */
	bool srid_known;
	int32 srid;
	bool any_srid; /* they may differ: those that do are no pairs */
	bool mixed;    /* not all have the same SRID: ... */
	int32 other_srid;
	struct varlena *faulty[RB_LIES]; /* one that cannot be read so; NULL: none is known */
	rb_join_place faulty_place[RB_LIES];
	rb_join_place other_place; /* of the one that has the other SRID */
	const char *table;         /* that they are of; "": not known */
	bool flatten;              /* what has Z is to be flattened, too */
	bool may_flatten;          /* or may have to be, later */
	rb_spool *late;            /* those that are kept aside for that, ... */
	rb_spool *late_place;      /* ... and their places; NULL: there are none */
	Size late_most;
	uint64 parts; /* of its sets, once these are made */
} rb_join_side;

/* a geometry, detoasted, of that row; says nothing of what is wrong with it, as it may have nothing to be compared with */
extern void rb_join_side_add(rb_join_side *side, struct varlena *bytes, const rb_join_place *place);
/* the same of one that is plain, from any thread; false: it is not, and nothing was done */
extern bool rb_join_side_add_plain(rb_join_side *side, struct varlena *bytes,
								   const rb_join_place *place);
/* those that may have to be flattened are */
extern void rb_join_side_flatten(rb_join_side *side);
/* raises what is wrong with one of its geometries, if there is any of the other side that it is to be compared with */
extern void rb_join_side_check(rb_join_side *side, const rb_join_side *other);
extern void rb_join_side_finish(rb_join_side *side);
/* what a message calls a row of it */
extern const char *rb_join_side_row(const rb_join_side *side, uint64 row);
extern void rb_join_side_free(rb_join_side *side);

/* ---- join_decode.c: they are added to a side by a thread, in the order in which they are put ---- */

typedef struct rb_decoding rb_decoding;

/* in the current memory context; what that memory has no room for is decoded when it is put, as is everything on one thread */
extern rb_decoding *rb_join_decode_begin(rb_join_side *side, rb_memory *memory, int threads,
										 bool timed);
extern void rb_join_decode_put(rb_decoding *decoding, struct varlena *geometry,
							   const rb_join_place *place);
/* all that were put are added */
extern void rb_join_decode_flush(rb_decoding *decoding);
extern double rb_join_decode_ms(const rb_decoding *decoding); /* of the thread, where it is timed */
/* the thread ends, whatever there is left; before the side is freed */
extern void rb_join_decode_end(rb_decoding *decoding);

/* ---- join_scan.c ---- */

typedef struct rb_join_input
{
	PlanState *plan;
	ExprState *geometry;
	int column; /* of its rows, from 1, that the geometry is; 0: it is an expression */
	int first;  /* its columns in the scan tuple */
	int columns;
	Bitmapset *wanted;  /* of them, from 0 */
	rb_join_rows *kept; /* NULL: none is wanted */
	uint64 n;
	int64 at; /* the row that is in the scan tuple; -1: none */
	rb_join_side side;
	rb_decoding *decoder; /* while it is read */
	/* for EXPLAIN */
	uint64 bytes;     /* of geometries */
	double read_ms;   /* not those in which the backend decoded, or waited for it */
	double decode_ms; /* of the thread and of the backend */
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
	CustomScanState css; /* must be first */
	const char *function;
	JoinType type;
	rb_asked asked;
	rb_join_input in[2];
	ExprState *distance;
	ExprState *quals;
	ExprState *filter;
	Bitmapset *params; /* that the geometries depend on */
	rb_join_phase phase;

	/* what was read, until it is read again */
	MemoryContext context;
	MemoryContextCallback at_end;
	rb_open open;
	rb_memory *memory;
	double reach;
	bool no_pairs;

	/* a join */
	rb_context ctx;
	rb_stream *stream; /* a join in this process, or ... */
	rb_remote *remote; /* ... the worker's; NULL, both: there is none */
	rb_job job;
	int turn; /* which two lies are joined */
	rb_block block;
	size_t next;
	uint64 *matched; /* a bit for each outer row */
	uint64 rest;
	bool counting;   /* they are not wanted, only how many there are */
	bool handed_out; /* pairs of this join */
	char note[200];  /* why it is not on a device, or "" */
	rb_progress_entry *progress;

	/* for EXPLAIN: of all joins that have ended, and how many these were */
	rb_stats stats;
	int joins;
} rb_geometry_join;

/* ---- join_input.c: both inputs are read, once ---- */

extern void rb_join_read(rb_geometry_join *join);
/* what depends on the distance alone: are there pairs at all, and may there be? */
extern void rb_join_ask_distance(rb_geometry_join *join);

/* ---- join_stream.c ---- */

/* the next pair of rows of the inputs; false: there are no more */
extern bool rb_join_next_pair(rb_geometry_join *join, uint64 *outer, uint64 *inner);
/* how many pairs there are, which are not made */
extern uint64 rb_join_count_pairs(rb_geometry_join *join);
/* what is asked of two sets is over, or nobody wants more of it */
extern void rb_join_end_stream(rb_geometry_join *join);

/* ---- join_explain.c ---- */

extern void rb_join_explain(CustomScanState *node, List *ancestors, ExplainState *es);

/* ---- join_scan.c ---- */

extern const CustomScanMethods rb_join_methods;
/* instead of its rows their number: of a join that is countable, in place of ExecProcNode */
extern uint64 rb_join_count(rb_geometry_join *join);

/* ---- join_count.c ---- */

extern void rb_join_count_install(void);

#endif /* RB_GEOMETRY_JOIN_H */
