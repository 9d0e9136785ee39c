/*
 * rb_scan.h
 *	  What the files of the scan share, grouped under the file that defines it.
 */
#ifndef RB_SCAN_H
#define RB_SCAN_H

#include "pg/base/rb_pg.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "storage/dsm.h"
#include "utils/tuplestore.h"

#define RB_SCAN_NAME "redblue pairs"

typedef struct rb_scan
{
	CustomScanState css; /* must be first */
	const rb_join *join;
	rb_result result; /* what is wanted of it: the rows of the scan */
	const rb_row_shape *shape;
	rb_of of;        /* and of whose rows */
	int ncolumns;    /* of the scan's rows: those that are wanted, ... */
	int *columns;    /* ... and which of the result's each is, */
	rb_value *value; /* and where that is in a block */
	FuncExpr *call;
	List *args;        /* ExprStates of its arguments */
	Bitmapset *params; /* that these depend on */

	/* the arguments' values, until a parameter changes: a volatile one is computed once, too */
	MemoryContext values_context;
	NullableDatum *values; /* NULL: not yet computed */

	MemoryContext context; /* of the run; reset before each */
	rb_run *run;           /* the last one, NULL before the first */
	rb_answer_rows *rows;  /* of it, unless pairs are wanted */
	bool reported;         /* redblue_last_run() knows it */
	bool done;             /* nothing left in it */

	/* below a Gather: the pairs come from a ring, which the leader's pump fills */
	rb_share *share;
	rb_pump *pump;        /* NULL in workers */
	dsm_segment *segment; /* where the ring lies; leader only */

	bool keep; /* the next run goes into the tuplestore */
	Tuplestorestate *store;
	TupleTableSlot *stored;

	rb_block block;            /* of the run, or: */
	size_t next;               /* in it */
	int64 red[RB_SHARE_PAIRS]; /* copied out of the ring or the tuplestore */
	int64 blue[RB_SHARE_PAIRS];
	uint64 told[RB_SHARE_PAIRS];
} rb_scan;

/* ---- scan_path.c ---- */

/* the only function of the relation, if it is one of ours and can be scanned */
extern FuncExpr *rb_call_of_relation(RelOptInfo *rel, RangeTblEntry *rte);

/* ---- scan.c ---- */

/*
 * A plan's custom_private says what is asked, which need not be what the function answers: an
 * rb_result, an rb_of, and for each column of custom_scan_tlist which one of the result it is.
 * These integers are a list of their own in it: extensions that look for custom scans of theirs
 * (Citus) take what comes first there for a node.
 */
extern Node *rb_scan_create_state(CustomScan *plan);
extern const CustomScanMethods rb_scan_methods;

/* ---- upper_path.c ---- */

/* what some expressions want of pairs */
typedef struct rb_question
{
	Index relid;       /* of the pairs, where they have columns; else 0 */
	AttrNumber column; /* that they are grouped by; 0: all are one group */
	Var *group;
	List *counts; /* different ways to say count(*) */
} rb_question;

/* adds what an expression wants; false: something that is not to be had without the pairs */
extern bool rb_ask_for_counts(Node *node, rb_question *question);

/* ---- scan_explain.c ---- */

extern void rb_scan_explain(CustomScanState *node, List *ancestors, ExplainState *es);

#endif /* RB_SCAN_H */
