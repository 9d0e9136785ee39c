/*
 * function_scan.h
 *	  Declares what the files of the scan share, grouped by the file that defines it.
 */
#ifndef RB_PG_NODE_FUNCTION_SCAN_H
#define RB_PG_NODE_FUNCTION_SCAN_H

#include "pg/exec/exec.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

/* ---- parallel_queue.c: a queue of pairs for parallel workers ---- */

typedef struct rb_pair_queue rb_pair_queue;
typedef struct rb_pump rb_pump;

#define RB_QUEUE_PAIRS 512 /* Maximum number of pairs read at once */

extern Size rb_pair_queue_size(void);
extern void rb_pair_queue_init(rb_pair_queue *share);
extern rb_pump *rb_pump_start(rb_join_run *run, rb_pair_queue *share);
extern void rb_pump_stop(rb_pump *pump);
/* Reads the next block into arrays of RB_QUEUE_PAIRS. Its n is 0 at the end. payload may be NULL. */
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

extern void rb_scan_install(void);

/* The columns and the aggregates of pairs that some expressions need */
typedef struct rb_question
{
	Index relid; /* Relation of the pairs, or 0 if they have no columns */
	/*
	 * NIL if the relation has each pair once. If it has both directions of each pair of a self join:
	 * for each column, which column of the pairs is its value in the first direction, or 0
	 */
	List *directions;
	AttrNumber column; /* Column by which the pairs are grouped, or 0 if they form one group */
	Var *group;
	List *counts; /* Distinct expressions equivalent to count(*) */
	List *arrays; /* Distinct expressions that collect the other column of a group */
} rb_question;

/*
 * Adds what an expression needs. Returns false if it needs something that only the pairs themselves
 * provide.
 */
extern bool rb_ask_for_aggregates(Node *node, rb_question *question);

#endif /* RB_PG_NODE_FUNCTION_SCAN_H */
