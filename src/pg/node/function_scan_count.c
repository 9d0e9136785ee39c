/*
 * function_scan_count.c
 *	  Lets the join itself compute counts of pairs, so that the pairs need not be produced.
 *
 *	SELECT count(*) FROM redblue_..._pairs(...)					redblue count
 *	SELECT red_id, count(*) FROM ... GROUP BY red_id			redblue counts
 *	SELECT DISTINCT red_id FROM ..., GROUP BY red_id alone		redblue hits
 *
 * The same applies to blue_id, and to id1 and id2 of a self join. The plan uses the scan of
 * function_scan.c, which requests another result of the join (aggregates.c) and returns what an
 * aggregate above it would return: the same groups, with distinct ids, and the same counts. No
 * column of a pair is ever null, so count(red_id) and count(1) equal count(*). HAVING becomes the
 * filter of the scan, and the select list is computed from the counts as it would be from those of
 * an aggregate. Everything later, such as ORDER BY, LIMIT and window functions, is left to the plan
 * above.
 *
 * If anything else stands between the pairs and their count, such as WHERE, another table, FILTER,
 * another aggregate or a second grouping column, the pairs are needed and this file does nothing.
 */
#include "pg/node/function_scan.h"
#include "pg/plan/plan.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/selfuncs.h"

static create_upper_paths_hook_type previous_hook;

static const CustomScanMethods scan_methods[] = {
	{.CustomName = "redblue count", .CreateCustomScanState = rb_scan_create_state},
	{.CustomName = "redblue counts", .CreateCustomScanState = rb_scan_create_state},
	{.CustomName = "redblue hits", .CreateCustomScanState = rb_scan_create_state}};

static Plan *plan_answer(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist,
						 List *clauses, List *children);

static const CustomPathMethods path_methods = {.CustomName = "redblue answer",
											   .PlanCustomPath = plan_answer};

static const CustomScanMethods *
methods_of(rb_result result)
{
	return &scan_methods[result == RB_RESULT_COUNT ? 0 : result == RB_RESULT_COUNTS ? 1 : 2];
}

/* ---- the requested result ---- */

static bool
is_column(const Node *node, Index relid)
{
	const Var *var = (const Var *) node;

	return IsA(node, Var) && (Index) var->varno == relid && var->varlevelsup == 0 &&
		   (var->varattno == 1 || var->varattno == 2);
}

/* Returns true if the aggregate counts each pair exactly once. */
static bool
counts_pairs(const Aggref *aggregate, Index relid)
{
	const Node *arg;

	if (aggregate->agglevelsup != 0 || aggregate->aggsplit != AGGSPLIT_SIMPLE ||
		aggregate->aggfilter != NULL || aggregate->aggdistinct != NIL ||
		aggregate->aggorder != NIL || aggregate->aggdirectargs != NIL)
		return false;
	if (aggregate->aggfnoid == F_COUNT_)
		return true;
	if (aggregate->aggfnoid != F_COUNT_ANY)
		return false;
	arg = (const Node *) linitial_node(TargetEntry, aggregate->args)->expr;
	return is_column(arg, relid) || (IsA(arg, Const) && !((const Const *) arg)->constisnull);
}

static bool
collect_counts(Node *node, void *arg)
{
	rb_question *q = arg;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Aggref:
			if (!counts_pairs((Aggref *) node, q->relid))
				return true;
			q->counts = list_append_unique(q->counts, node);
			return false;
		case T_Var:
			return !is_column(node, q->relid) || ((Var *) node)->varattno != q->column;
		case T_PlaceHolderVar:
		case T_GroupingFunc:
		case T_WindowFunc:
			return true;
		default:
			return expression_tree_walker(node, collect_counts, arg);
	}
}

bool
rb_ask_for_counts(Node *node, rb_question *q)
{
	return !collect_counts(node, q);
}

/* ---- the path ---- */

/*
 * Returns true if the join can compute the counts for this result. For pairs with a payload the
 * core knows only their total number.
 */
static bool
is_answered(rb_result result, AttrNumber column)
{
	switch (result)
	{
		case RB_RESULT_PAIRS:
			return true;
		case RB_RESULT_CONTACTS:
		case RB_RESULT_DIMENSIONS:
		case RB_RESULT_DISTANCES:
			return column == 0;
		default:
			return false;
	}
}

/* Returns the call if all of its pairs are the only input, else NULL. */
static FuncExpr *
call_below(PlannerInfo *root, RelOptInfo *input, AttrNumber column)
{
	FuncExpr *call;

	/* Exclude rowMarks for the reason given in add_scan (function_scan_path.c). */
	if (!rb_setting_custom_scan || root->rowMarks != NIL || root->parse->hasTargetSRFs ||
		input->reloptkind != RELOPT_BASEREL || input->rtekind != RTE_FUNCTION ||
		input->baserestrictinfo != NIL || input->joininfo != NIL ||
		!bms_is_empty(input->lateral_relids) || input->cheapest_total_path == NULL ||
		input->cheapest_total_path->param_info != NULL || IS_DUMMY_REL(input))
		return NULL;
	call = rb_call_of_relation(input, planner_rt_fetch(input->relid, root));
	if (call == NULL || !is_answered(rb_join_of_function(call->funcid)->result, column))
		return NULL;
	return call;
}

/* Returns the column named by the only clause of GROUP BY or DISTINCT, or NULL. */
static Var *
column_of_clause(List *clauses, List *targets, Index relid)
{
	Node *node;

	if (list_length(clauses) != 1)
		return NULL;
	node = get_sortgroupclause_expr(linitial_node(SortGroupClause, clauses), targets);
	return is_column(node, relid) ? (Var *) node : NULL;
}

/*
 * Estimates the rows before HAVING: from the sizes of the sides if they are known, otherwise with
 * the planner's own estimate of groups.
 */
static double
rows_of_answer(PlannerInfo *root, rb_result result, rb_result_side of, FuncExpr *call,
			   const rb_question *q, double pairs)
{
	double rows;

	if (result == RB_RESULT_COUNT)
		return 1;
	if (!rb_expect_ids(call, of, pairs, &rows))
		rows = estimate_num_groups(root, list_make1(q->group), pairs, NULL, NULL);
	return clamp_row_est(Min(rows, pairs));
}

/* Builds the target entries of the scan and the list of their indices in the result. */
static void
scan_columns(rb_result result, const rb_question *q, List **targets, List **columns)
{
	ListCell *lc;
	AttrNumber n = 1;

	if (q->group != NULL)
	{
		*targets =
			lappend(*targets, makeTargetEntry((Expr *) copyObject(q->group), n++, NULL, false));
		*columns = lappend_int(*columns, 0);
	}
	foreach (lc, q->counts)
	{
		*targets =
			lappend(*targets, makeTargetEntry((Expr *) copyObject(lfirst(lc)), n++, NULL, false));
		*columns = lappend_int(*columns, result == RB_RESULT_COUNT ? 0 : 1);
	}
}

/*
 * Adds the path. Its cost is that of reading and joining, which the scan below pays before its
 * first row, plus a little for each row of the result. Every other path produces the pairs first.
 * All other paths are removed, whatever they seem to cost, because they may merely expect fewer
 * groups.
 */
static void
add_answer(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, PathTarget *target,
		   FuncExpr *call, const rb_question *q, List *having)
{
	const rb_result result = q->column == 0     ? RB_RESULT_COUNT
							 : q->counts != NIL ? RB_RESULT_COUNTS
												: RB_RESULT_HITS;
	const rb_result_side of = q->column == 2 ? RB_OF_BLUE : RB_OF_RED;
	CustomPath *path = makeNode(CustomPath);
	List *targets = NIL;
	List *private = list_make2_int(result, of);
	Cost startup = input->cheapest_startup_path->startup_cost;
	double rows = rows_of_answer(root, result, of, call, q, input->rows);
	QualCost cost;

	path->path.pathtype = T_CustomScan;
	path->path.parent = output;
	path->path.pathtarget = target;
	path->path.startup_cost = startup + target->cost.startup;
	path->path.total_cost = path->path.startup_cost + rows * cpu_operator_cost;
	path->path.rows = rows;
	if (having != NIL)
	{
		cost_qual_eval(&cost, having, root);
		path->path.startup_cost += cost.startup;
		path->path.total_cost += cost.startup + rows * cost.per_tuple;
		path->path.rows =
			clamp_row_est(rows * clauselist_selectivity(root, having, 0, JOIN_INNER, NULL));
	}
	path->path.total_cost += path->path.rows * target->cost.per_tuple;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->methods = &path_methods;
	scan_columns(result, q, &targets, &private);
	path->custom_private = list_make4(call, having, targets, private);
	output->pathlist = list_make1(path);
	output->partial_pathlist = NIL;
}

static void
answer_groups(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
			  const GroupPathExtraData *extra)
{
	const Query *parse = root->parse;
	rb_question q = {.relid = input->relid};
	List *having = (List *) extra->havingQual;
	FuncExpr *call;

	if (parse->groupingSets != NIL)
		return;
	if (parse->groupClause != NIL)
	{
		q.group = column_of_clause(parse->groupClause, root->processed_tlist, input->relid);
		if (q.group == NULL)
			return;
		q.column = q.group->varattno;
	}
	call = call_below(root, input, q.column);
	if (call == NULL)
		return;
	if (!rb_ask_for_counts((Node *) output->reltarget->exprs, &q) ||
		!rb_ask_for_counts((Node *) having, &q))
		return;
	/*
	 * Without GROUP BY and without a count, the aggregate has been optimized away, and its result
	 * is computed elsewhere.
	 */
	if (q.column == 0 && q.counts == NIL)
		return;
	add_answer(root, input, output, output->reltarget, call, &q, having);
}

static void
answer_distinct(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output)
{
	const Query *parse = root->parse;
	rb_question q = {.relid = input->relid};
	FuncExpr *call;
	PathTarget *target;

	if (parse->hasDistinctOn || parse->hasAggs || parse->hasWindowFuncs ||
		parse->groupClause != NIL || parse->groupingSets != NIL || parse->havingQual != NULL)
		return;
	q.group = column_of_clause(parse->distinctClause, root->processed_tlist, input->relid);
	if (q.group == NULL)
		return;
	q.column = q.group->varattno;
	call = call_below(root, input, q.column);
	if (call == NULL)
		return;
	target = input->cheapest_total_path->pathtarget;
	if (list_length(target->exprs) != 1 || !equal(linitial(target->exprs), q.group))
		return;
	add_answer(root, input, output, target, call, &q, NIL);
}

static void
add_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
				void *extra)
{
	if (previous_hook != NULL)
		previous_hook(root, stage, input, output, extra);
	if (stage == UPPERREL_GROUP_AGG)
		answer_groups(root, input, output, extra);
	else if (stage == UPPERREL_DISTINCT)
		answer_distinct(root, input, output);
}

/* ---- the plan ---- */

static Plan *
plan_answer(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist, List *clauses,
			List *children)
{
	CustomScan *plan = makeNode(CustomScan);
	List *private = lfourth(best->custom_private);

	plan->scan.plan.targetlist = tlist;
	plan->scan.plan.qual = copyObject((List *) lsecond(best->custom_private));
	plan->scan.scanrelid = 0;
	plan->flags = best->flags;
	plan->custom_exprs = list_make1(copyObject((Node *) linitial(best->custom_private)));
	plan->custom_scan_tlist = lthird(best->custom_private);
	plan->custom_private = list_make1(private);
	plan->methods = methods_of((rb_result) linitial_int(private));
	return &plan->scan.plan;
}

void
rb_upper_install(void)
{
	for (size_t i = 0; i < lengthof(scan_methods); i++)
		RegisterCustomScanMethods(&scan_methods[i]);
	previous_hook = create_upper_paths_hook;
	create_upper_paths_hook = add_upper_paths;
}
