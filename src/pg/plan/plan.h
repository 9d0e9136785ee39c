/*
 * plan.h
 *	  Declares support for the planner, grouped by the file that defines it.
 */
#ifndef RB_PG_PLAN_PLAN_H
#define RB_PG_PLAN_PLAN_H

#include "pg/base/pg.h"

struct rb_join;

/* ---- function.c: functions in the catalog ---- */

/* Returns the join whose pairs an SQL function returns, or NULL. */
extern const struct rb_join *rb_join_of_function(Oid function);

/* Returns true if the function is one of redblue's, whatever its own settings. */
extern bool rb_is_supported(Oid function);

/* ---- support.c: planner support functions ---- */

extern Datum redblue_support(PG_FUNCTION_ARGS);

/*
 * Estimates the number of rows of a side that occur in `pairs` pairs of the call. Returns false if
 * the sizes of the sides are unknown.
 */
extern bool rb_expect_ids(const FuncExpr *call, rb_result_side of, double pairs, double *ids);

/* ---- table_stats.c: relations, before the statement runs ---- */

/*
 * Opens the relation with AccessShareLock. Returns NULL if it does not exist, if the caller may not
 * read it, or if the lock is not available at once.
 */
extern Relation rb_open_if_readable(Oid relid);

/* Opens a child or a partition, to which the privileges of its parent apply. */
extern Relation rb_open_child(Oid relid);

/*
 * Returns true if the catalogs and the planner allow its pages to be read directly. Returns false,
 * too, if asking the planner would have to wait for a lock.
 */
extern bool rb_is_plain_rel(Relation rel);

/*
 * Returns true if all sides are constants that name tables without policies. With `stay`, the
 * tables stay locked.
 */
extern bool rb_sides_are_tables(const struct rb_join *join, List *args, bool stay);

/* ---- sample.c: a sample of a table's rows ---- */

typedef struct rb_sampled
{
	bool any_leaf; /* True if triangles of any geometries are needed */
	bool flat;     /* True to project to the plane; also set if the first geometry has no Z */
	/*
	 * Sample only rows that can be in a pair of this tile, within `distance`; dims is 0 for all
	 * rows
	 */
	rb_box tile;
	double distance;
	const rb_set *set; /* With one reference; its ids distinguish rows and are not the user's */
	double rows;       /* Estimated number of such rows with parts in the table */
	bool all;          /* True if the set has all rows */
} rb_sampled;

/*
 * Samples the rows of a readable plain table that the active snapshot sees. A different seed
 * selects other rows. Returns false if the table cannot be sampled.
 */
extern bool rb_sample_rows(Relation rel, rb_kind kind, const char *geom_name, uint32 seed,
						   rb_memory *memory, rb_sampled *sampled);

/* ---- selectivity.c: estimated number of pairs ---- */

/* Average number of neighbors that a mesh triangle shares a vertex with, each pair counted once */
#define RB_SELF_PAIRS 6

/*
 * Returns the join of a call whose support function was invoked, or NULL if the call is to a
 * different function.
 */
extern const struct rb_join *rb_join_of_call(const FuncExpr *call);

/* Estimates the number of pairs. Returns false if no estimate is possible. */
extern bool rb_expect_pairs(const FuncExpr *call, double *pairs);

/*
 * A geometry column. rb_expect_geometries estimates the pairs of two such columns, or of one with
 * itself, for RB_MEET or RB_WITHIN.
 */
typedef struct rb_geometry_column
{
	Oid relid;
	const char *name;
} rb_geometry_column;

extern bool rb_expect_geometries(const rb_geometry_column *column, rb_predicate predicate,
								 double distance, double *pairs);

/* ---- defer_constant_folding.c: no counting of pairs during planning ---- */

/*
 * Returns the call in a form that the planner does not evaluate, or NULL if it already has that
 * form.
 */
extern Node *rb_not_while_planning(const FuncExpr *call);

/* ---- parallel_guard.c: plans that must not run in parallel mode ---- */

extern void rb_serial_install(void);

#endif /* RB_PG_PLAN_PLAN_H */
