/*
 * serial.c
 *	  Views and policies are read without parallel mode.
 *
 * A statement whose plan has a Gather runs in parallel mode from its first row to its
 * last, in the leader too, and there much is forbidden: nextval(), in older servers a
 * block with EXCEPTION, every function that is PARALLEL UNSAFE.  The planner knows by
 * their labels which functions need that, but not what stands in a view that one of
 * ours will read.  The functions over query texts are labelled UNSAFE themselves.  The
 * pairs of tables are not: below a Gather they are what counting and grouping wants.
 *
 * So when a plan is to start in parallel mode, we look at its joins.  Where a side is
 * not a constant that names a table without policies, the statement starts without:
 * the leader does alone what workers would have shared.  The tables that were looked
 * at stay locked, as after any SELECT, so that none of them gets a policy meanwhile.
 *
 * Functions that return sets are called in two kinds of nodes and scanned in ours.
 */
#include "rb_pg.h"

#include "executor/executor.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"

static ExecutorStart_hook_type previous_hook;

/* is the expression a join of ours that may read more than tables? */
static bool
may_run_sql(Node *expression)
{
	FuncExpr *call = (FuncExpr *) expression;
	const rb_join *join;

	if (!IsA(call, FuncExpr))
		return false;
	join = rb_join_of_function(call->funcid);
	return join != NULL && !rb_sides_are_tables(join, call->args, true);
}

static bool
node_may_run_sql(PlanState *node, void *context)
{
	ListCell *lc;

	switch (nodeTag(node->plan))
	{
		case T_CustomScan:
			foreach (lc, ((CustomScan *) node->plan)->custom_exprs)
				if (may_run_sql(lfirst(lc)))
					return true;
			break;
		case T_FunctionScan:
			foreach (lc, ((FunctionScan *) node->plan)->functions)
				if (may_run_sql(lfirst_node(RangeTblFunction, lc)->funcexpr))
					return true;
			break;
		case T_ProjectSet:
			foreach (lc, node->plan->targetlist)
				if (may_run_sql((Node *) lfirst_node(TargetEntry, lc)->expr))
					return true;
			break;
		default:
			break;
	}
	return planstate_tree_walker(node, node_may_run_sql, context);
}

static void
start(QueryDesc *query, int eflags)
{
	PlannedStmt *serial;

	if (previous_hook != NULL)
		previous_hook(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	if (!query->plannedstmt->parallelModeNeeded || (eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0 ||
		!node_may_run_sql(query->planstate, NULL))
		return;
	/* the plan itself may be kept for other executions, by other roles */
	serial = MemoryContextAlloc(GetMemoryChunkContext(query), sizeof *serial);
	*serial = *query->plannedstmt;
	serial->parallelModeNeeded = false;
	query->plannedstmt = serial;
}

void
rb_serial_install(void)
{
	previous_hook = ExecutorStart_hook;
	ExecutorStart_hook = start;
}
