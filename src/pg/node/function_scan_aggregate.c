/*
 * function_scan_aggregate.c
 *	  Lets the join itself compute aggregates of pairs, so that the pairs need not be produced.
 *
 *	SELECT count(*) FROM redblue_..._pairs(...)					redblue count
 *	SELECT red_id, count(*) FROM ... GROUP BY red_id			redblue counts
 *	SELECT DISTINCT red_id FROM ..., GROUP BY red_id alone		redblue hits
 *	SELECT red_id, array_agg(blue_id) FROM ... GROUP BY red_id	redblue groups
 *
 * The same applies to blue_id, and to id1 and id2 of a self join. The plan uses the scan of
 * function_scan.c, which requests another result of the join (cursor.c) and returns what an
 * aggregate above it would return: the same groups, with distinct ids, and the same values. No
 * column of a pair is ever null, so count(red_id) and count(1) equal count(*). The arrays are
 * ascending, which is one of the orders that array_agg(blue_id) may have, and the order of
 * array_agg(blue_id ORDER BY blue_id). HAVING becomes the filter of the scan, and the select list
 * is computed from the values as it would be from those of an aggregate. Everything later, such as
 * ORDER BY, LIMIT and window functions, is left to the plan above.
 *
 * A self join has each pair once, in one of its two directions. A list that contains both
 * directions is recognized, too:
 *
 *	SELECT id, count(*), array_agg(other)
 *	FROM redblue_..._self_pairs(...), LATERAL (VALUES (id1, id2), (id2, id1)) AS p (id, other)
 *	GROUP BY id
 *
 * If anything else stands between the pairs and their aggregate, such as WHERE, another table,
 * FILTER, another aggregate or a second grouping column, the pairs are needed and this file does
 * nothing.
 */
#include "pg/node/function_scan.h"
#include "pg/plan/plan.h"

#include "catalog/pg_operator_d.h"
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
	{.CustomName = "redblue hits", .CreateCustomScanState = rb_scan_create_state},
	{.CustomName = "redblue groups", .CreateCustomScanState = rb_scan_create_state}};

static Plan *plan_answer(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist,
						 List *clauses, List *children);

static const CustomPathMethods path_methods = {.CustomName = "redblue answer",
											   .PlanCustomPath = plan_answer};

static const CustomScanMethods *
methods_of(rb_result result)
{
	return &scan_methods[result == RB_RESULT_COUNT    ? 0
						 : result == RB_RESULT_COUNTS ? 1
						 : result == RB_RESULT_HITS   ? 2
													  : 3];
}

/* ---- the requested result ---- */

/* Returns the column of the pairs, 1 or 2, to which this column of the relation is equal, or 0. */
static AttrNumber
column_of(const Node *node, const rb_question *q)
{
	const Var *var = (const Var *) node;

	if (!IsA(node, Var) || (Index) var->varno != q->relid || var->varlevelsup != 0 ||
		var->varattno < 1)
		return 0;
	if (q->directions == NIL)
		return var->varattno <= 2 ? var->varattno : 0;
	return (AttrNumber) list_nth_int(q->directions, var->varattno - 1);
}

/* Returns true if an aggregate is computed from all rows of a group. */
static bool
is_of_all_rows(const Aggref *aggregate)
{
	return aggregate->agglevelsup == 0 && aggregate->aggsplit == AGGSPLIT_SIMPLE &&
		   aggregate->aggfilter == NULL && aggregate->aggdistinct == NIL &&
		   aggregate->aggdirectargs == NIL;
}

/* Returns true if the aggregate counts each pair exactly once. */
static bool
counts_pairs(const Aggref *aggregate, const rb_question *q)
{
	const Node *arg;

	if (!is_of_all_rows(aggregate) || aggregate->aggorder != NIL)
		return false;
	if (aggregate->aggfnoid == F_COUNT_)
		return true;
	if (aggregate->aggfnoid != F_COUNT_ANY)
		return false;
	arg = (const Node *) linitial_node(TargetEntry, aggregate->args)->expr;
	return column_of(arg, q) != 0 || (IsA(arg, Const) && !((const Const *) arg)->constisnull);
}

/* Returns true if the aggregate collects the other ids of a group in any or in ascending order. */
static bool
collects_partners(const Aggref *aggregate, const rb_question *q)
{
	const SortGroupClause *order;

	if (aggregate->aggfnoid != F_ARRAY_AGG_ANYNONARRAY || !is_of_all_rows(aggregate) ||
		list_length(aggregate->args) != 1 || list_length(aggregate->aggorder) > 1 ||
		q->column == 0 ||
		column_of((Node *) linitial_node(TargetEntry, aggregate->args)->expr, q) != 3 - q->column)
		return false;
	if (aggregate->aggorder == NIL)
		return true;
	order = linitial_node(SortGroupClause, aggregate->aggorder);
	return order->sortop == Int8LessOperator && !order->nulls_first;
}

static bool
collect_aggregates(Node *node, void *arg)
{
	rb_question *q = arg;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Aggref:
			if (counts_pairs((Aggref *) node, q))
				q->counts = list_append_unique(q->counts, node);
			else if (collects_partners((Aggref *) node, q))
				q->arrays = list_append_unique(q->arrays, node);
			else
				return true;
			return false;
		case T_Var:
			return q->column == 0 || column_of(node, q) != q->column;
		case T_PlaceHolderVar:
		case T_GroupingFunc:
		case T_WindowFunc:
			return true;
		default:
			return expression_tree_walker(node, collect_aggregates, arg);
	}
}

bool
rb_ask_for_aggregates(Node *node, rb_question *q)
{
	return !collect_aggregates(node, q);
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

/* Returns true if nothing filters the rows of the relation, or relates them to other rows. */
static bool
is_whole(const RelOptInfo *rel)
{
	return rel->reloptkind == RELOPT_BASEREL && rel->baserestrictinfo == NIL &&
		   rel->joininfo == NIL && !rel->has_eclass_joins;
}

/* Returns the call if the relation has all of its pairs, else NULL. */
static FuncExpr *
call_of(PlannerInfo *root, RelOptInfo *rel, AttrNumber column)
{
	FuncExpr *call;

	if (!is_whole(rel) || rel->rtekind != RTE_FUNCTION || !bms_is_empty(rel->lateral_relids))
		return NULL;
	call = rb_call_of_relation(rel, planner_rt_fetch(rel->relid, root));
	if (call == NULL || !is_answered(rb_join_of_function(call->funcid)->result, column))
		return NULL;
	return call;
}

/*
 * Returns, for each column of a list of two rows, the column of the pairs to which it is equal in
 * the first row if it is equal to the other one in the second row, else 0.
 */
static List *
directions_of(const List *rows, Index pairs)
{
	const rb_question q = {.relid = pairs};
	List *directions = NIL;
	ListCell *first;
	ListCell *second;

	forboth(first, (List *) linitial(rows), second, (List *) lsecond(rows))
	{
		const AttrNumber column = column_of(lfirst(first), &q);
		const bool turned = column != 0 && column_of(lfirst(second), &q) == 3 - column;

		directions = lappend_int(directions, turned ? column : 0);
	}
	return directions;
}

/*
 * Sets q->relid to the relation that has the pairs: the function, or for a self join a list of two
 * rows for each pair, one for each direction. Returns the relation of the function, or NULL if there
 * is anything else.
 */
static RelOptInfo *
relation_of_pairs(PlannerInfo *root, RelOptInfo *input, rb_question *q)
{
	RelOptInfo *pairs;
	RelOptInfo *list;
	RangeTblEntry *rte;
	int first;

	q->relid = input->relid;
	if (input->reloptkind == RELOPT_BASEREL)
		return input;
	if (input->reloptkind != RELOPT_JOINREL || bms_num_members(input->relids) != 2 ||
		root->join_info_list != NIL)
		return NULL;
	first = bms_next_member(input->relids, -1);
	pairs = root->simple_rel_array[first];
	list = root->simple_rel_array[bms_next_member(input->relids, first)];
	if (pairs->rtekind == RTE_VALUES)
	{
		RelOptInfo *other = pairs;

		pairs = list;
		list = other;
	}
	rte = planner_rt_fetch(list->relid, root);
	if (list->rtekind != RTE_VALUES || !is_whole(list) || list_length(rte->values_lists) != 2 ||
		!bms_equal(list->lateral_relids, pairs->relids))
		return NULL;
	q->relid = list->relid;
	q->directions = directions_of(rte->values_lists, pairs->relid);
	return pairs;
}

/*
 * Returns the call if all of its pairs, grouped by the only clause of GROUP BY or DISTINCT, are the
 * only input, else NULL. Without such clauses, they form one group.
 */
static FuncExpr *
call_below(PlannerInfo *root, RelOptInfo *input, List *clauses, rb_question *q)
{
	RelOptInfo *rel;
	FuncExpr *call;
	Node *group;

	/* Exclude rowMarks for the reason given in add_scan (function_scan_path.c). */
	if (!rb_setting_custom_scan || root->rowMarks != NIL || root->parse->hasTargetSRFs ||
		input->cheapest_total_path == NULL || input->cheapest_total_path->param_info != NULL ||
		IS_DUMMY_REL(input))
		return NULL;
	rel = relation_of_pairs(root, input, q);
	if (rel == NULL || list_length(clauses) > 1)
		return NULL;
	if (clauses != NIL)
	{
		group = get_sortgroupclause_expr(linitial_node(SortGroupClause, clauses),
										 root->processed_tlist);
		q->column = column_of(group, q);
		if (q->column == 0)
			return NULL;
		q->group = (Var *) group;
	}
	call = call_of(root, rel, q->column);
	if (call == NULL || q->directions == NIL)
		return call;
	return q->column != 0 && rb_join_sides(rb_join_of_function(call->funcid)) == 1 ? call : NULL;
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

/* Appends a target entry of the scan, and its index in the result. */
static void
add_column(Node *expr, int index, List **targets, List **columns)
{
	const AttrNumber n = (AttrNumber) (list_length(*targets) + 1);

	*targets = lappend(*targets, makeTargetEntry((Expr *) copyObject(expr), n, NULL, false));
	*columns = lappend_int(*columns, index);
}

/* Builds the target entries of the scan and the list of their indices in the result. */
static void
scan_columns(rb_result result, const rb_question *q, List **targets, List **columns)
{
	const int count = result == RB_RESULT_COUNT ? 0 : result == RB_RESULT_COUNTS ? 1 : 2;
	ListCell *lc;

	if (q->group != NULL)
		add_column((Node *) q->group, 0, targets, columns);
	foreach (lc, q->arrays)
		add_column(lfirst(lc), 1, targets, columns);
	foreach (lc, q->counts)
		add_column(lfirst(lc), count, targets, columns);
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
							 : q->arrays != NIL ? RB_RESULT_GROUPS
							 : q->counts != NIL ? RB_RESULT_COUNTS
												: RB_RESULT_HITS;
	const rb_result_side of = q->directions != NIL ? RB_OF_BOTH
							  : q->column == 2     ? RB_OF_BLUE
												   : RB_OF_RED;
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
	rb_question q = {.relid = 0};
	List *having = (List *) extra->havingQual;
	FuncExpr *call;

	if (parse->groupingSets != NIL)
		return;
	call = call_below(root, input, parse->groupClause, &q);
	if (call == NULL)
		return;
	if (!rb_ask_for_aggregates((Node *) output->reltarget->exprs, &q) ||
		!rb_ask_for_aggregates((Node *) having, &q))
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
	rb_question q = {.relid = 0};
	FuncExpr *call;
	PathTarget *target;

	if (parse->hasDistinctOn || parse->hasAggs || parse->hasWindowFuncs ||
		parse->groupClause != NIL || parse->groupingSets != NIL || parse->havingQual != NULL)
		return;
	call = call_below(root, input, parse->distinctClause, &q);
	if (call == NULL || q.group == NULL)
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
