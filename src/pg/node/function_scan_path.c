/*
 * function_scan_path.c
 *	  Replaces the planner's paths for a redblue function in FROM, and for aggregates of its pairs,
 *	  with custom scans.
 *
 * The library need not be preloaded. Before the planner builds the paths of a function, it calls
 * the function's support function to estimate the number of rows. The support function lives in
 * this library and thereby loads it, so the hook is in place in time for that same query.
 *
 * The join itself computes some aggregates, so that the pairs need not be produced:
 *
 *	SELECT count(*) FROM redblue_..._pairs(...)					redblue count
 *	SELECT red_id, count(*) FROM ... GROUP BY red_id			redblue counts
 *	SELECT DISTINCT red_id FROM ..., GROUP BY red_id alone		redblue matched rows
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
 * FILTER, another aggregate or a second grouping column, the pairs are needed and the plan stays as
 * it is.
 */
#include "pg/node/node.h"
#include "pg/plan/plan.h"

#include "catalog/pg_operator_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/selfuncs.h"

static set_rel_pathlist_hook_type previous_rel_hook;
static create_upper_paths_hook_type previous_upper_hook;

/* ---- the paths for functions in FROM ---- */

/* Size of a pair in bytes; a scan gets as many workers as a table with rows of this size */
#define RB_PAIR_BYTES 40

static Plan *plan_function_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist,
								List *clauses, List *children);

static const CustomPathMethods scan_path_methods = {.CustomName = RB_SCAN_NAME,
													.PlanCustomPath = plan_function_scan};

/*
 * Returns the columns of the relation that the clauses or the expressions above it reference,
 * numbered as by pull_varattnos.
 */
static Bitmapset *
referenced_columns_of_call(RelOptInfo *rel, List *clauses)
{
	Bitmapset *columns = NULL;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &columns);
	pull_varattnos((Node *) clauses, rel->relid, &columns);
	return columns;
}

/* Returns true if the whole row, or anything else that is not a column, is referenced. */
static bool
is_whole_row_referenced(RelOptInfo *rel)
{
	List *clauses = extract_actual_clauses(rel->baserestrictinfo, false);
	int column = bms_next_member(referenced_columns_of_call(rel, clauses), -1);

	return column >= 0 && column + FirstLowInvalidHeapAttributeNumber <= 0;
}

/*
 * Returns the only function of the relation if it is a redblue function that can be scanned, else
 * NULL.
 */
static FuncExpr *
scannable_call_of_relation(RelOptInfo *rel, RangeTblEntry *rte)
{
	RangeTblFunction *function;
	const rb_join *join;

	if (rte->rtekind != RTE_FUNCTION || rte->funcordinality || list_length(rte->functions) != 1)
		return NULL;
	function = linitial_node(RangeTblFunction, rte->functions);
	if (function->funcexpr == NULL || !IsA(function->funcexpr, FuncExpr))
		return NULL;
	join = rb_join_of_function(((FuncExpr *) function->funcexpr)->funcid);
	if (join == NULL || join->keys || join->result == RB_RESULT_COUNT ||
		is_whole_row_referenced(rel) ||
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
can_workers_share_scan(PlannerInfo *root, RelOptInfo *rel, FuncExpr *call)
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
add_parallel_function_scan(PlannerInfo *root, RelOptInfo *rel, const CustomPath *serial,
						   FuncExpr *call)
{
	int workers;
	double share;
	CustomPath *path;

	if (!can_workers_share_scan(root, rel, call))
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
add_function_scan_path(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	FuncExpr *call;
	ListCell *lc;

	if (previous_rel_hook != NULL)
		previous_rel_hook(root, rel, rti, rte);
	/*
	 * UPDATE, DELETE, MERGE and FOR UPDATE recheck rows that another session has changed
	 * concurrently. The stock scan supports rechecks. The custom scan does not, because it does not
	 * scan a range table entry, and rechecked rows belong to one.
	 */
	if (!rb_setting_custom_scan || root->rowMarks != NIL)
		return;
	call = scannable_call_of_relation(rel, rte);
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
		path->methods = &scan_path_methods;
		lfirst(lc) = path;
		add_parallel_function_scan(root, rel, path, call);
		break;
	}
}

/*
 * Builds the target entries of the columns that are referenced, and the list of their indices in
 * the result.
 */
static void
add_columns_of_call(Index relid, const FuncExpr *call, rb_result result, Bitmapset *wanted,
					List **targets, List **columns)
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
plan_function_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist, List *clauses,
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
	add_columns_of_call(rel->relid, call, join->result,
						referenced_columns_of_call(rel, plan->scan.plan.qual),
						&plan->custom_scan_tlist, &asked);
	plan->custom_private = list_make1(asked);
	plan->methods = &rb_scan_methods;
	return &plan->scan.plan;
}

/* ---- aggregates that the join computes instead of its pairs ---- */

static const CustomScanMethods aggregate_scan_methods[] = {
	{.CustomName = "redblue count", .CreateCustomScanState = rb_scan_create_state},
	{.CustomName = "redblue counts", .CreateCustomScanState = rb_scan_create_state},
	{.CustomName = "redblue matched rows", .CreateCustomScanState = rb_scan_create_state},
	{.CustomName = "redblue groups", .CreateCustomScanState = rb_scan_create_state}};

static Plan *plan_aggregate_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist,
								 List *clauses, List *children);

static const CustomPathMethods aggregate_path_methods = {.CustomName = "redblue aggregate",
														 .PlanCustomPath = plan_aggregate_scan};

/* Returns the methods of the aggregate scan for a result, which name it in EXPLAIN. */
static const CustomScanMethods *
scan_methods_of_result(rb_result result)
{
	return &aggregate_scan_methods[result == RB_RESULT_COUNT    ? 0
								   : result == RB_RESULT_COUNTS ? 1
								   : result == RB_RESULT_HITS   ? 2
																: 3];
}

/* ---- the requested result ---- */

/* Returns the column of the pairs, 1 or 2, to which this column of the relation is equal, or 0. */
static AttrNumber
pair_column_equal_to(const Node *node, const rb_question *q)
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
is_aggregate_of_all_rows(const Aggref *aggregate)
{
	return aggregate->agglevelsup == 0 && aggregate->aggsplit == AGGSPLIT_SIMPLE &&
		   aggregate->aggfilter == NULL && aggregate->aggdistinct == NIL &&
		   aggregate->aggdirectargs == NIL;
}

/*
 * Returns true if an aggregate of the query counts each pair of the call in FROM exactly once, so
 * that a custom scan may return the count.
 */
static bool
does_aggregate_count_pairs(const Aggref *aggregate, const rb_question *q)
{
	const Node *arg;

	if (!is_aggregate_of_all_rows(aggregate) || aggregate->aggorder != NIL)
		return false;
	if (aggregate->aggfnoid == F_COUNT_)
		return true;
	if (aggregate->aggfnoid != F_COUNT_ANY)
		return false;
	arg = (const Node *) linitial_node(TargetEntry, aggregate->args)->expr;
	return pair_column_equal_to(arg, q) != 0 ||
		   (IsA(arg, Const) && !((const Const *) arg)->constisnull);
}

/* Returns true if the aggregate collects the other ids of a group in any or in ascending order. */
static bool
does_collect_partners(const Aggref *aggregate, const rb_question *q)
{
	const SortGroupClause *order;

	if (aggregate->aggfnoid != F_ARRAY_AGG_ANYNONARRAY || !is_aggregate_of_all_rows(aggregate) ||
		list_length(aggregate->args) != 1 || list_length(aggregate->aggorder) > 1 ||
		q->column == 0 ||
		pair_column_equal_to((Node *) linitial_node(TargetEntry, aggregate->args)->expr, q) !=
			3 - q->column)
		return false;
	if (aggregate->aggorder == NIL)
		return true;
	order = linitial_node(SortGroupClause, aggregate->aggorder);
	return order->sortop == Int8LessOperator && !order->nulls_first;
}

/* Collects the aggregates that a scan can return. Returns true if there are others. */
static bool
collect_aggregates(Node *node, void *arg)
{
	rb_question *q = arg;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Aggref:
			if (does_aggregate_count_pairs((Aggref *) node, q))
				q->counts = list_append_unique(q->counts, node);
			else if (does_collect_partners((Aggref *) node, q))
				q->arrays = list_append_unique(q->arrays, node);
			else
				return true;
			return false;
		case T_Var:
			return q->column == 0 || pair_column_equal_to(node, q) != q->column;
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

/* ---- the paths for aggregates ---- */

/*
 * Returns true if the join can compute the counts for this result. For pairs with a payload the
 * core knows only their total number.
 */
static bool
can_join_compute_aggregate(rb_result result, AttrNumber column)
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
is_relation_unfiltered(const RelOptInfo *rel)
{
	return rel->reloptkind == RELOPT_BASEREL && rel->baserestrictinfo == NIL &&
		   rel->joininfo == NIL && !rel->has_eclass_joins;
}

/* Returns the call if the relation has all of its pairs, else NULL. */
static FuncExpr *
call_with_all_pairs(PlannerInfo *root, RelOptInfo *rel, AttrNumber column)
{
	FuncExpr *call;

	if (!is_relation_unfiltered(rel) || rel->rtekind != RTE_FUNCTION ||
		!bms_is_empty(rel->lateral_relids))
		return NULL;
	call = scannable_call_of_relation(rel, planner_rt_fetch(rel->relid, root));
	if (call == NULL ||
		!can_join_compute_aggregate(rb_join_of_function(call->funcid)->result, column))
		return NULL;
	return call;
}

/*
 * Returns, for each column of a VALUES list of two rows, 1 or 2 if the column equals that column
 * of the pairs in the first row and the other one in the second row, otherwise 0.
 */
static List *
directions_of_pair_list(const List *rows, Index pairs)
{
	const rb_question q = {.relid = pairs};
	List *directions = NIL;
	ListCell *first;
	ListCell *second;

	forboth(first, (List *) linitial(rows), second, (List *) lsecond(rows))
	{
		const AttrNumber column = pair_column_equal_to(lfirst(first), &q);
		const bool turned = column != 0 && pair_column_equal_to(lfirst(second), &q) == 3 - column;

		directions = lappend_int(directions, turned ? column : 0);
	}
	return directions;
}

/*
 * Sets q->relid to the relation that has the pairs: the function, or for a self join a list of two
 * rows for each pair, one for each direction. Returns the relation of the function, or NULL if
 * there is anything else.
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
	if (list->rtekind != RTE_VALUES || !is_relation_unfiltered(list) ||
		list_length(rte->values_lists) != 2 || !bms_equal(list->lateral_relids, pairs->relids))
		return NULL;
	q->relid = list->relid;
	q->directions = directions_of_pair_list(rte->values_lists, pairs->relid);
	return pairs;
}

/*
 * Returns the redblue call of an aggregate query if its unfiltered pairs are the only input,
 * grouped by the only GROUP BY or DISTINCT clause or not at all. Otherwise returns NULL.
 */
static FuncExpr *
call_with_all_pairs_below(PlannerInfo *root, RelOptInfo *input, List *clauses, rb_question *q)
{
	RelOptInfo *rel;
	FuncExpr *call;
	Node *group;

	/* Exclude rowMarks for the reason given in add_function_scan_path. */
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
		q->column = pair_column_equal_to(group, q);
		if (q->column == 0)
			return NULL;
		q->group = (Var *) group;
	}
	call = call_with_all_pairs(root, rel, q->column);
	if (call == NULL || q->directions == NIL)
		return call;
	return q->column != 0 && rb_join_sides(rb_join_of_function(call->funcid)) == 1 ? call : NULL;
}

/*
 * Estimates the rows before HAVING: from the sizes of the sides if they are known, otherwise with
 * the planner's own estimate of groups.
 */
static double
estimate_rows_of_aggregate(PlannerInfo *root, rb_result result, rb_result_side of, FuncExpr *call,
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
add_column_to_scan(Node *expr, int index, List **targets, List **columns)
{
	const AttrNumber n = (AttrNumber) (list_length(*targets) + 1);

	*targets = lappend(*targets, makeTargetEntry((Expr *) copyObject(expr), n, NULL, false));
	*columns = lappend_int(*columns, index);
}

/* Builds the target entries of the scan and the list of their indices in the result. */
static void
add_columns_of_aggregate(rb_result result, const rb_question *q, List **targets, List **columns)
{
	const int count = result == RB_RESULT_COUNT ? 0 : result == RB_RESULT_COUNTS ? 1 : 2;
	ListCell *lc;

	if (q->group != NULL)
		add_column_to_scan((Node *) q->group, 0, targets, columns);
	foreach (lc, q->arrays)
		add_column_to_scan(lfirst(lc), 1, targets, columns);
	foreach (lc, q->counts)
		add_column_to_scan(lfirst(lc), count, targets, columns);
}

/*
 * Adds the path. Its cost is that of reading and joining, which the scan below pays before its
 * first row, plus a little for each row of the result. Every other path produces the pairs first.
 * All other paths are removed, whatever they seem to cost, because they may merely expect fewer
 * groups.
 */
static void
add_aggregate_path(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, PathTarget *target,
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
	double rows = estimate_rows_of_aggregate(root, result, of, call, q, input->rows);
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
	path->methods = &aggregate_path_methods;
	add_columns_of_aggregate(result, q, &targets, &private);
	path->custom_private = list_make4(call, having, targets, private);
	output->pathlist = list_make1(path);
	output->partial_pathlist = NIL;
}

/* Adds a path for a GROUP BY of a join function, if a scan can return its result. */
static void
add_path_for_group_by(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
					  const GroupPathExtraData *extra)
{
	const Query *parse = root->parse;
	rb_question q = {.relid = 0};
	List *having = (List *) extra->havingQual;
	FuncExpr *call;

	if (parse->groupingSets != NIL)
		return;
	call = call_with_all_pairs_below(root, input, parse->groupClause, &q);
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
	add_aggregate_path(root, input, output, output->reltarget, call, &q, having);
}

/* Adds a path for a DISTINCT of a join function, if a scan can return its result. */
static void
add_path_for_distinct(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output)
{
	const Query *parse = root->parse;
	rb_question q = {.relid = 0};
	FuncExpr *call;
	PathTarget *target;

	if (parse->hasDistinctOn || parse->hasAggs || parse->hasWindowFuncs ||
		parse->groupClause != NIL || parse->groupingSets != NIL || parse->havingQual != NULL)
		return;
	call = call_with_all_pairs_below(root, input, parse->distinctClause, &q);
	if (call == NULL || q.group == NULL)
		return;
	target = input->cheapest_total_path->pathtarget;
	if (list_length(target->exprs) != 1 || !equal(linitial(target->exprs), q.group))
		return;
	add_aggregate_path(root, input, output, target, call, &q, NIL);
}

/* Adds paths for aggregates of join functions in FROM. */
static void
add_function_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
						 RelOptInfo *output, void *extra)
{
	if (previous_upper_hook != NULL)
		previous_upper_hook(root, stage, input, output, extra);
	if (stage == UPPERREL_GROUP_AGG)
		add_path_for_group_by(root, input, output, extra);
	else if (stage == UPPERREL_DISTINCT)
		add_path_for_distinct(root, input, output);
}

/* ---- the plan for aggregates ---- */

/* Makes the plan of a scan that returns aggregates. */
static Plan *
plan_aggregate_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist,
					List *clauses, List *children)
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
	plan->methods = scan_methods_of_result((rb_result) linitial_int(private));
	return &plan->scan.plan;
}

void
rb_scan_install(void)
{
	RegisterCustomScanMethods(&rb_scan_methods);
	for (size_t i = 0; i < lengthof(aggregate_scan_methods); i++)
		RegisterCustomScanMethods(&aggregate_scan_methods[i]);
	previous_rel_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = add_function_scan_path;
	previous_upper_hook = create_upper_paths_hook;
	create_upper_paths_hook = add_function_upper_paths;
}
