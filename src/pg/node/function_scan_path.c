/*
 * function_scan_path.c
 *	  Replaces the planner's path for a redblue function in FROM with a custom scan.
 *
 * The library need not be preloaded. Before the planner builds the paths of a function, it calls
 * the function's support function to estimate the number of rows. The support function lives in
 * this library and thereby loads it, so the hook is in place in time for that same query.
 */
#include "pg/node/function_scan.h"
#include "pg/plan/plan.h"

#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"

/* Size of a pair in bytes; a scan gets as many workers as a table with rows of this size */
#define RB_PAIR_BYTES 40

static set_rel_pathlist_hook_type previous_hook;

static Plan *plan_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist,
					   List *clauses, List *children);

static const CustomPathMethods path_methods = {.CustomName = RB_SCAN_NAME,
											   .PlanCustomPath = plan_scan};

/*
 * Returns the columns of the relation that the clauses or the expressions above it reference,
 * numbered as by pull_varattnos.
 */
static Bitmapset *
wanted_columns(RelOptInfo *rel, List *clauses)
{
	Bitmapset *columns = NULL;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &columns);
	pull_varattnos((Node *) clauses, rel->relid, &columns);
	return columns;
}

/* Returns true if the whole row, or anything else that is not a column, is referenced. */
static bool
wants_whole_row(RelOptInfo *rel)
{
	List *clauses = extract_actual_clauses(rel->baserestrictinfo, false);
	int column = bms_next_member(wanted_columns(rel, clauses), -1);

	return column >= 0 && column + FirstLowInvalidHeapAttributeNumber <= 0;
}

FuncExpr *
rb_call_of_relation(RelOptInfo *rel, RangeTblEntry *rte)
{
	RangeTblFunction *function;
	const rb_join *join;

	if (rte->rtekind != RTE_FUNCTION || rte->funcordinality || list_length(rte->functions) != 1)
		return NULL;
	function = linitial_node(RangeTblFunction, rte->functions);
	if (function->funcexpr == NULL || !IsA(function->funcexpr, FuncExpr))
		return NULL;
	join = rb_join_of_function(((FuncExpr *) function->funcexpr)->funcid);
	if (join == NULL || join->keys || join->result == RB_RESULT_COUNT || wants_whole_row(rel) ||
		function->funccolcount != rb_row_shape_of(join->result)->columns)
		return NULL;
	return (FuncExpr *) function->funcexpr;
}

/*
 * Returns true if workers may take rows of the scan. The function's own label is irrelevant,
 * because only the leader runs the join. Children of an appended relation are excluded: PostgreSQL
 * has decided from the function's label whether their parent is parallel.
 */
static bool
can_share(PlannerInfo *root, RelOptInfo *rel, FuncExpr *call)
{
	return rb_row_shape_of(rb_join_of_function(call->funcid)->result)->from == RB_ROWS_STREAM &&
		   root->glob->parallelModeOK && max_parallel_workers_per_gather > 0 &&
		   rel->reloptkind == RELOPT_BASEREL && bms_is_empty(rel->lateral_relids) &&
		   is_parallel_safe(root, (Node *) rel->baserestrictinfo) &&
		   is_parallel_safe(root, (Node *) rel->reltarget->exprs) &&
		   rb_sides_are_tables(rb_join_of_function(call->funcid), call->args, false);
}

/*
 * Adds a parallel path in which the leader joins and all processes take rows, with as many workers
 * as for a table of that size.
 */
static void
add_shared_scan(PlannerInfo *root, RelOptInfo *rel, const CustomPath *serial, FuncExpr *call)
{
	int workers;
	double share;
	CustomPath *path;

	if (!can_share(root, rel, call))
		return;
	workers = compute_parallel_worker(rel, serial->path.rows * RB_PAIR_BYTES / BLCKSZ, -1,
									  max_parallel_workers_per_gather);
	if (workers <= 0)
		return;
	share = 1.0 / (workers + 1);
	path = makeNode(CustomPath);
	*path = *serial;
	path->path.parallel_aware = true;
	path->path.parallel_safe = true;
	path->path.parallel_workers = workers;
	path->path.rows = clamp_row_est(serial->path.rows * share);
	path->path.total_cost =
		serial->path.startup_cost + (serial->path.total_cost - serial->path.startup_cost) * share;
	rel->consider_parallel = true;
	add_partial_path(rel, &path->path);
}

/* Replaces the stock path with a custom path of the same cost, since it does the same work. */
static void
add_scan(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	FuncExpr *call;
	ListCell *lc;

	if (previous_hook != NULL)
		previous_hook(root, rel, rti, rte);
	/*
	 * UPDATE, DELETE, MERGE and FOR UPDATE recheck rows that another session has changed
	 * concurrently. The stock scan supports rechecks. The custom scan does not, because it does not
	 * scan a range table entry, and rechecked rows belong to one.
	 */
	if (!rb_setting_custom_scan || root->rowMarks != NIL)
		return;
	call = rb_call_of_relation(rel, rte);
	if (call == NULL)
		return;
	foreach (lc, rel->pathlist)
	{
		Path *stock = lfirst(lc);
		CustomPath *path;

		if (stock->pathtype != T_FunctionScan)
			continue;
		path = makeNode(CustomPath);
		path->path = *stock;
		path->path.type = T_CustomPath;
		path->path.pathtype = T_CustomScan;
		path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
		path->custom_private = list_make1(call);
		path->methods = &path_methods;
		lfirst(lc) = path;
		add_shared_scan(root, rel, path, call);
		break;
	}
}

/*
 * Builds the target entries of the columns that are referenced, and the list of their indices in
 * the result.
 */
static void
scan_columns(Index relid, const FuncExpr *call, rb_result result, Bitmapset *wanted, List **targets,
			 List **columns)
{
	const rb_row_shape *shape = rb_row_shape_of(result);
	AttrNumber at = 1;

	for (int i = 0; i < shape->columns; i++)
		if (bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, wanted))
		{
			Var *var = makeVar(relid, (AttrNumber) (i + 1), rb_column_type(call, shape, i), -1,
							   InvalidOid, 0);

			*targets = lappend(*targets, makeTargetEntry((Expr *) var, at++, NULL, false));
			*columns = lappend_int(*columns, i);
		}
}

/*
 * Creates the plan. It contains the call as an expression, so that parameters in its arguments are
 * replaced and the plan depends on the function and on the tables it names.
 */
static Plan *
plan_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist, List *clauses,
		  List *children)
{
	CustomScan *plan = makeNode(CustomScan);
	FuncExpr *call = linitial_node(FuncExpr, best->custom_private);
	const rb_join *join = rb_join_of_function(call->funcid);
	List *asked = list_make2_int(join->result, RB_OF_RED);

	plan->scan.plan.targetlist = tlist;
	plan->scan.plan.qual = extract_actual_clauses(clauses, false);
	plan->scan.scanrelid = 0;
	plan->flags = best->flags;
	plan->custom_exprs = list_make1(copyObject(call));
	/* Let rows have exactly the referenced columns, which avoids a projection. */
	scan_columns(rel->relid, call, join->result, wanted_columns(rel, plan->scan.plan.qual),
				 &plan->custom_scan_tlist, &asked);
	plan->custom_private = list_make1(asked);
	plan->methods = &rb_scan_methods;
	return &plan->scan.plan;
}

void
rb_scan_install(void)
{
	RegisterCustomScanMethods(&rb_scan_methods);
	previous_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = add_scan;
}
