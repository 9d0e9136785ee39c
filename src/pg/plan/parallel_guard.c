/*
 * parallel_guard.c
 *	  Disables parallel mode for statements whose joins may read views or tables with policies.
 *
 * A statement whose plan has a Gather node runs in parallel mode from its first row to its last, in
 * the leader, too. Parallel mode forbids nextval(), in older servers also a block with EXCEPTION,
 * and every function that is PARALLEL UNSAFE. The planner knows from their labels which functions
 * this affects, but not what a view or a query text that redblue reads may contain.
 *
 * When a plan is about to start in parallel mode, its joins are therefore inspected. If a side is
 * not a constant that names a table without policies, the statement starts without parallel mode,
 * and the leader does all the work alone. The inspected tables stay locked, as after any SELECT, so
 * that none of them gets a policy in the meantime.
 */
#include "pg/exec/exec.h"
#include "pg/plan/plan.h"

#include "executor/executor.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"

static ExecutorStart_hook_type previous_hook;

/* Returns true if the expression has a redblue function that may read more than plain tables. */
static bool
can_expression_run_sql(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) && rb_is_supported(((FuncExpr *) node)->funcid))
	{
		FuncExpr *call = (FuncExpr *) node;
		const rb_join *join = rb_join_of_function(call->funcid);

		if (join == NULL || !rb_sides_are_tables(join, call->args, true))
			return true;
	}
	return expression_tree_walker(node, can_expression_run_sql, context);
}

/*
 * Returns true if a node has a function that may read more than plain tables in an expression other
 * than its target list and its filter.
 */
static bool
can_own_expression_run_sql(const Plan *plan)
{
#define FIND(x) can_expression_run_sql((Node *) (x), NULL)
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			return FIND(((CustomScan *) plan)->custom_exprs);
		case T_FunctionScan:
			return FIND(((FunctionScan *) plan)->functions);
		case T_ValuesScan:
			return FIND(((ValuesScan *) plan)->values_lists);
		case T_SampleScan:
			return FIND(((SampleScan *) plan)->tablesample);
		case T_IndexScan:
			return FIND(((IndexScan *) plan)->indexqual);
		case T_IndexOnlyScan:
			return FIND(((IndexOnlyScan *) plan)->indexqual);
		case T_BitmapIndexScan:
			return FIND(((BitmapIndexScan *) plan)->indexqual);
		case T_Result:
			return FIND(((Result *) plan)->resconstantqual);
		case T_NestLoop:
			return FIND(((Join *) plan)->joinqual);
		case T_MergeJoin:
			return FIND(((Join *) plan)->joinqual) || FIND(((MergeJoin *) plan)->mergeclauses);
		case T_HashJoin:
			return FIND(((Join *) plan)->joinqual) || FIND(((HashJoin *) plan)->hashclauses);
		case T_Limit:
			return FIND(((Limit *) plan)->limitCount) || FIND(((Limit *) plan)->limitOffset);
		case T_WindowAgg:
			return FIND(((WindowAgg *) plan)->startOffset) || FIND(((WindowAgg *) plan)->endOffset);
		default:
			return false;
	}
#undef FIND
}

/* Returns true if a plan node, or one below it, has a function that can run SQL. */
static bool
can_plan_node_run_sql(PlanState *node, void *context)
{
	const Plan *plan = node->plan;

	return can_expression_run_sql((Node *) plan->targetlist, NULL) ||
		   can_expression_run_sql((Node *) plan->qual, NULL) || can_own_expression_run_sql(plan) ||
		   planstate_tree_walker(node, can_plan_node_run_sql, context);
}

/* Starts the executor, and disables parallel mode if the plan calls a function that can run SQL. */
static void
disable_parallel_mode_at_start(QueryDesc *query, int eflags)
{
	PlannedStmt *serial;

	if (previous_hook != NULL)
		previous_hook(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	if (!query->plannedstmt->parallelModeNeeded || (eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0 ||
		!can_plan_node_run_sql(query->planstate, NULL))
		return;
	/*
	 * Copy the plan. The cached plan must not change, because other executions, possibly by other
	 * roles, may use it.
	 */
	serial = MemoryContextAlloc(GetMemoryChunkContext(query), sizeof *serial);
	*serial = *query->plannedstmt;
	serial->parallelModeNeeded = false;
	query->plannedstmt = serial;
}

void
rb_serial_install(void)
{
	previous_hook = ExecutorStart_hook;
	ExecutorStart_hook = disable_parallel_mode_at_start;
}
