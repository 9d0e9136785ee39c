/*
 * join_count.c
 *	  Plans SELECT count(*) FROM a JOIN b ON redblue_intersects(a.geom, b.geom) without building the
 *	  rows that are counted.
 *
 *	Custom Scan (redblue join count)		returns one row with the number of pairs
 *	  ->  Custom Scan (redblue join)		reads its inputs and joins their sets
 *
 * The path is added if the join is the node's, if no other clause applies to its pairs, and if only
 * their number is needed; function_scan_aggregate.c does the same for calls of functions. Whether two
 * geometries cross, or one lies inside the other, is known only for each individual pair: the join
 * returns the ids of those pairs, but no rows are built from them.
 */
#include "pg/node/geometry_join.h"

#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "pg/node/function_scan.h"

#define NAME RB_JOIN_NAME " count"

static create_upper_paths_hook_type previous_hook;

typedef struct join_count
{
	CustomScanState css; /* Must be first */
	PlanState *join;
	bool done;
} join_count;

/* ---- the node ---- */

static void
begin_count(CustomScanState *node, EState *estate, int flags)
{
	join_count *c = (join_count *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;

	c->join = ExecInitNode(linitial(plan->custom_plans), estate, flags & ~EXEC_FLAG_REWIND);
	node->custom_ps = list_make1(c->join);
}

static TupleTableSlot *
exec_count(CustomScanState *node)
{
	join_count *c = (join_count *) node;
	TupleTableSlot *scan = node->ss.ss_ScanTupleSlot;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	uint64 pairs;

	if (c->done)
		return NULL;
	c->done = true;
	pairs = rb_join_count((rb_geometry_join *) c->join);
	ExecClearTuple(scan);
	/* count(*) may occur in several forms, each with a column of its own. */
	for (int i = 0; i < scan->tts_tupleDescriptor->natts; i++)
	{
		scan->tts_values[i] = Int64GetDatum((int64) pairs);
		scan->tts_isnull[i] = false;
	}
	ExecStoreVirtualTuple(scan);
	ResetExprContext(econtext);
	econtext->ecxt_scantuple = scan;
	if (!ExecQual(node->ss.ps.qual, econtext))
	{
		InstrCountFiltered1(node, 1);
		return NULL;
	}
	return node->ss.ps.ps_ProjInfo != NULL ? ExecProject(node->ss.ps.ps_ProjInfo) : scan;
}

static void
end_count(CustomScanState *node)
{
	ExecEndNode(((join_count *) node)->join);
}

static void
rescan_count(CustomScanState *node)
{
	join_count *c = (join_count *) node;

	c->done = false;
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(c->join, node->ss.ps.chgParam);
	/* If parameters of the child have changed, it rescans when it is executed. */
	if (c->join->chgParam == NULL)
		ExecReScan(c->join);
}

static const CustomExecMethods exec_methods = {.CustomName = NAME,
											   .BeginCustomScan = begin_count,
											   .ExecCustomScan = exec_count,
											   .EndCustomScan = end_count,
											   .ReScanCustomScan = rescan_count};

static Node *
create_state(CustomScan *plan)
{
	join_count *c = (join_count *) newNode(sizeof(join_count), T_CustomScanState);

	c->css.methods = &exec_methods;
	return (Node *) c;
}

static const CustomScanMethods count_methods = {.CustomName = NAME,
												.CreateCustomScanState = create_state};

/* ---- the path ---- */

static Plan *
plan_count(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist, List *clauses,
		   List *children)
{
	CustomScan *plan = makeNode(CustomScan);

	plan->scan.plan.targetlist = tlist;
	plan->scan.plan.qual = copyObject((List *) linitial(best->custom_private));
	plan->scan.scanrelid = 0;
	plan->flags = best->flags;
	plan->custom_plans = children;
	plan->custom_scan_tlist = lsecond(best->custom_private);
	plan->methods = &count_methods;
	return &plan->scan.plan;
}

static const CustomPathMethods path_methods = {.CustomName = NAME, .PlanCustomPath = plan_count};

/* Returns true if the path is a join whose pairs are all counted. */
static bool
is_countable(const Path *path)
{
	return path != NULL && path->param_info == NULL && rb_join_is_countable(path);
}

static void
count_join(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
		   const GroupPathExtraData *extra)
{
	const Query *parse = root->parse;
	Path *join = input->cheapest_total_path;
	PathTarget *target = output->reltarget;
	List *having = (List *) extra->havingQual;
	List *targets = NIL;
	rb_question q = {.relid = 0};
	CustomPath *path;
	QualCost cost;
	ListCell *lc;

	if (parse->groupClause != NIL || parse->groupingSets != NIL || parse->hasTargetSRFs ||
		root->rowMarks != NIL || !is_countable(join) ||
		!rb_ask_for_aggregates((Node *) target->exprs, &q) ||
		!rb_ask_for_aggregates((Node *) having, &q) || q.counts == NIL)
		return;
	foreach (lc, q.counts)
		targets =
			lappend(targets, makeTargetEntry((Expr *) copyObject(lfirst(lc)),
											 (AttrNumber) (list_length(targets) + 1), NULL, false));
	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = output;
	path->path.pathtarget = target;
	path->path.rows = 1;
	rb_set_disabled_nodes(&path->path, rb_disabled_nodes(join));
	cost_qual_eval(&cost, having, root);
	/* The cost includes finding the pairs, but nothing further for each of them. */
	path->path.startup_cost = join->startup_cost + cpu_operator_cost * join->rows + cost.startup +
							  cost.per_tuple + target->cost.startup;
	path->path.total_cost = path->path.startup_cost + target->cost.per_tuple;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(join);
	path->custom_private = list_make2(having, targets);
	path->methods = &path_methods;
	add_path(output, &path->path);
}

static void
add_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
				void *extra)
{
	if (previous_hook != NULL)
		previous_hook(root, stage, input, output, extra);
	if (stage == UPPERREL_GROUP_AGG && rb_setting_join)
		count_join(root, input, output, extra);
}

void
rb_join_count_install(void)
{
	RegisterCustomScanMethods(&count_methods);
	previous_hook = create_upper_paths_hook;
	create_upper_paths_hook = add_upper_paths;
}
