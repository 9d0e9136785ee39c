/*
 * plan.h
 *	  Declares support for the planner, grouped by the file that defines it.
 */
#ifndef RB_PG_PLAN_PLAN_H
#define RB_PG_PLAN_PLAN_H

#include "pg/base/pg.h"

struct rb_join;

/* ---- support.c: planner support functions ---- */

/* Supports all join functions: estimates their rows and cost, and defers constant folding. */
extern Datum redblue_support(PG_FUNCTION_ARGS);

/* Returns true if the function is one of redblue's, whatever its own settings. */
extern bool rb_is_supported(Oid function);

/*
 * Returns the join whose pairs an SQL function with redblue's planner support returns, or NULL
 * (support.c).
 */
extern const struct rb_join *rb_join_of_function(Oid function);

/*
 * Estimates the number of rows of a side that occur in `pairs` pairs of the call. Returns false if
 * the sizes of the sides are unknown.
 */
extern bool rb_expect_ids(const FuncExpr *call, rb_result_side of, double pairs, double *ids);

/* ---- selectivity.c: tables before the statement runs, and estimated numbers of pairs ---- */

/*
 * Opens the relation with AccessShareLock. Returns NULL if it does not exist, if the caller may not
 * read it, or if the lock is not available at once.
 */
extern Relation rb_open_if_readable(Oid relid);

/*
 * Opens a child or a partition whose size or pages the planner inspects, to which the privileges
 * of its parent apply.
 */
extern Relation rb_open_child(Oid relid);

/*
 * Returns true if all sides are constants that name tables without policies. With `stay`, the
 * tables stay locked.
 */
extern bool rb_sides_are_tables(const struct rb_join *join, List *args, bool stay);

/* Average number of neighbors that a mesh triangle shares a vertex with, each pair counted once */
#define RB_SELF_PAIRS 6

/*
 * Returns the join that an SQL function stands for, identified by its entry point, or NULL, to
 * estimate its pairs (selectivity.c). Its support function must have been called or identified.
 */
extern const struct rb_join *rb_join_of_entry(Oid function);

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

/*
 * Estimates the number of pairs of two geometry columns from samples of their tables. Returns false
 * if it is unknown.
 */
extern bool rb_expect_geometries(const rb_geometry_column *column, rb_predicate predicate,
								 double distance, double *pairs);

/* ---- parallel_guard.c: plans that must not run in parallel mode ---- */

/* Installs the executor hook that turns parallel mode off. */
extern void rb_serial_install(void);

#endif /* RB_PG_PLAN_PLAN_H */
