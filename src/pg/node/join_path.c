/*
 * join_path.c
 *	  Adds a path for a join whose clause is one of redblue's functions of two geometries. The path
 *	  computes the whole join at once, or counts its pairs.
 *
 * The library need not be preloaded: before the planner builds paths for a join, it estimates the
 * number of rows with the support function of the clause, which loads this library.
 *
 * The path uses the cheapest path of each input, whatever it is (a view, a join, a subquery, with
 * its own filters and policies), reads both inputs once, and stores the needed columns of their
 * rows.
 */
#include "pg/node/node.h"

#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/subselect.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"

#include <math.h>

/* Cost per row, in operators, for decoding it, sorting it into a grid, and storing it */
#define RB_OPERATORS_PER_ROW 70
#define RB_OPERATORS_PER_BYTE 0.05
/* Cost per join, in operators, for threads and memory */
#define RB_OPERATORS_PER_JOIN 20000

static set_join_pathlist_hook_type previous_join_hook;
static create_upper_paths_hook_type previous_upper_hook;

static Plan *plan_join_node(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist,
							List *clauses, List *children);

static const CustomPathMethods path_methods = {.CustomName = RB_JOIN_NAME,
											   .PlanCustomPath = plan_join_node};

/* Returns the alias of the table whose columns the expression uses, or "" if there are several. */
static char *
alias_of_expression_table(PlannerInfo *root, Node *geometry)
{
	Relids of = pull_varnos(root, geometry);
	int relid;

	if (!bms_get_singleton_member(of, &relid) || root->simple_rte_array[relid] == NULL ||
		root->simple_rte_array[relid]->eref == NULL)
		return pstrdup("");
	return root->simple_rte_array[relid]->eref->aliasname;
}

/* ---- the clause that the node evaluates ---- */

/* The clause of a join that the node evaluates, and the facts about it that the plan needs */
typedef struct join_clause
{
	RestrictInfo *info;
	rb_join_function asked;
	Node *outer; /* Geometry expressions of the outer and of the inner input */
	Node *inner;
	Node *distance; /* NULL if the function has no distance */
	bool swapped;   /* True if the inner geometry is the first argument */
	/* True if another clause compares the SRIDs, so that different SRIDs are not an error */
	bool same_srid;
} join_clause;

bool
rb_find_join_function(Oid function, rb_join_function *asked)
{
	static const PGFunction geometry_support = redblue_geometry_support;
	static const PGFunction entries[] = {[RB_ASKED_INTERSECTS] = redblue_geometry_intersects,
										 [RB_ASKED_CROSSES] = redblue_geometry_crosses,
										 [RB_ASKED_DWITHIN] = redblue_geometry_dwithin,
										 [RB_ASKED_INSIDE] = redblue_geometry_inside};
	Oid support = get_func_support(function);
	int found;

	if (!OidIsValid(support) || rb_find_entry(support, &geometry_support, 1) < 0)
		return false;
	found = rb_find_entry(function, entries, lengthof(entries));
	if (found >= 0)
		*asked = (rb_join_function) found;
	return found >= 0;
}

bool
rb_is_of_postgis(Oid function)
{
	const Oid postgis = get_extension_oid("postgis", true);

	return OidIsValid(postgis) && getExtensionOfObject(ProcedureRelationId, function) == postgis;
}

/*
 * Returns true if the expression depends on at least one column of this input and on no other
 * input, and is neither volatile nor a subplan.
 */
static bool
is_expression_of_input(PlannerInfo *root, Node *node, Relids relids)
{
	Relids wanted = pull_varnos(root, node);

	return !bms_is_empty(wanted) && bms_is_subset(wanted, relids) &&
		   !contain_volatile_functions(node) && !contain_subplans(node);
}

/* Returns true if a clause compares a geometry of each relation, and describes it. */
static bool
is_join_clause(PlannerInfo *root, RestrictInfo *info, Relids outer, Relids inner,
			   join_clause *clause)
{
	FuncExpr *call = (FuncExpr *) info->clause;
	Node *a, *b;

	if (!IsA(call, FuncExpr) || list_length(call->args) < 2 ||
		!rb_find_join_function(call->funcid, &clause->asked))
		return false;
	a = linitial(call->args);
	b = lsecond(call->args);
	clause->distance = list_length(call->args) > 2 ? lthird(call->args) : NULL;
	if (clause->distance != NULL &&
		(!bms_is_empty(pull_varnos(root, clause->distance)) ||
		 contain_volatile_functions(clause->distance) || contain_subplans(clause->distance)))
		return false;
	clause->info = info;
	clause->swapped = false;
	if (is_expression_of_input(root, a, outer) && is_expression_of_input(root, b, inner))
	{
		clause->outer = a;
		clause->inner = b;
		return true;
	}
	clause->outer = b;
	clause->inner = a;
	clause->swapped = true;
	return is_expression_of_input(root, b, outer) && is_expression_of_input(root, a, inner);
}

/* Returns true if the node is ST_SRID of this geometry. */
static bool
is_srid_of(Node *node, Node *geometry)
{
	const FuncExpr *call = (const FuncExpr *) node;
	const char *name;

	if (!IsA(node, FuncExpr) || list_length(call->args) != 1 ||
		!equal(linitial(call->args), geometry))
		return false;
	name = get_func_name(call->funcid);
	return name != NULL && strcmp(name, "st_srid") == 0 && rb_is_of_postgis(call->funcid);
}

/*
 * Returns true if the clause requires equal SRIDs of the two geometries. Different SRIDs are then
 * not an error.
 */
static bool
is_clause_of_equal_srids(const RestrictInfo *info, const join_clause *clause)
{
	const OpExpr *same = (const OpExpr *) info->clause;
	Node *a, *b;

	if (!IsA(same, OpExpr) || list_length(same->args) != 2 ||
		!op_mergejoinable(same->opno, exprType(linitial(same->args))))
		return false;
	a = linitial(same->args);
	b = lsecond(same->args);
	return (is_srid_of(a, clause->outer) && is_srid_of(b, clause->inner)) ||
		   (is_srid_of(a, clause->inner) && is_srid_of(b, clause->outer));
}

/*
 * Chooses the clause that the node evaluates. If several clauses qualify, the node takes the one
 * with the fewest expected pairs, and the other clauses are evaluated on these pairs. No clause is
 * chosen if the clauses of the join differ in their security levels, because a clause must not be
 * evaluated before one of a lower level.
 */
static bool
find_join_clause(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *outer, RelOptInfo *inner,
				 JoinType type, JoinPathExtraData *extra, join_clause *best)
{
	List *clauses = extra->restrictlist;
	double least = 2;
	ListCell *lc;

	memset(best, 0, sizeof *best);
	foreach (lc, clauses)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, lc);
		join_clause clause;
		double left;

		if (info->pseudoconstant ||
			info->security_level != linitial_node(RestrictInfo, clauses)->security_level)
			return false;
		if ((IS_OUTER_JOIN(type) && RINFO_IS_PUSHED_DOWN(info, rel->relids)) ||
			!is_join_clause(root, info, outer->relids, inner->relids, &clause))
			continue;
		left = clause_selectivity(root, (Node *) info, 0, type, extra->sjinfo);
		/*
		 * If the estimates are equal, prefer an intersection to a distance, because a distance
		 * matches more pairs.
		 */
		if (left < least || (left == least && best->distance != NULL && clause.distance == NULL))
		{
			*best = clause;
			least = left;
		}
	}
	best->same_srid = false;
	foreach (lc, clauses)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, lc);

		best->same_srid |= least < 2 &&
						   !(IS_OUTER_JOIN(type) && RINFO_IS_PUSHED_DOWN(info, rel->relids)) &&
						   is_clause_of_equal_srids(info, best);
	}
	return least < 2;
}

/* ---- the row identity of a table with children ---- */

/*
 * Returns true if the node is a row identity of an inheritance tree.
 *
 * In UPDATE, DELETE and MERGE of such a table, the row identity is a ROWID_VAR, which is a column
 * of no table until the row's child is known. A custom scan must not have such a column: EXPLAIN
 * finds no name for it, and a server with assertions aborts. The node therefore uses the identity's
 * Var of the first child. An Append above it, with the node as its only child, uses the planner's
 * ROWID_VAR. It is removed from the final plan, as is every Append with one child.
 */
static bool
is_row_identity(const Node *node)
{
	return IsA(node, Var) && ((const Var *) node)->varno == ROWID_VAR;
}

/* Returns true if an expression is a row identity of inherited tables. */
static bool
has_row_identities(const List *exprs)
{
	ListCell *lc;

	foreach (lc, exprs)
		if (is_row_identity(lfirst(lc)))
			return true;
	return false;
}

/* Replaces a row identity by the column of the child table. */
static Node *
name_identity_as_child_column(PlannerInfo *root, Node *node)
{
	const RowIdentityVarInfo *info;
	Var *var;

	if (!is_row_identity(node))
		return node;
	var = copyObject((Var *) node);
	info = list_nth(root->row_identity_vars, var->varattno - 1);
	var->varno = bms_next_member(info->rowidrels, -1);
	var->varattno = info->rowidvar->varattno;
	return (Node *) var;
}

/* Copies a target with the columns of the child table in place of row identities. */
static PathTarget *
copy_target_for_child(PlannerInfo *root, const PathTarget *target)
{
	PathTarget *named = copy_pathtarget((PathTarget *) target);
	ListCell *lc;

	foreach (lc, named->exprs)
		lfirst(lc) = name_identity_as_child_column(root, lfirst(lc));
	return named;
}

/* ---- the path ---- */

/*
 * Computes the cost. The quals are evaluated on the pairs of the clause that the node handles.
 *
 * Each pair found costs as much as a row of any join. This slightly disadvantages the node: for a
 * nested loop with an index, the planner counts one function call for each row that the index is
 * expected to return, and these are often fewer than the pairs.
 */
static void
cost_join_path(PlannerInfo *root, CustomPath *path, const Path *outer, const Path *inner,
			   double pairs, List *quals)
{
	const double rows = outer->rows + inner->rows;
	const double bytes =
		outer->rows * outer->pathtarget->width + inner->rows * inner->pathtarget->width;
	QualCost cost;

	cost_qual_eval(&cost, quals, root);
	rb_set_disabled_nodes(&path->path, rb_disabled_nodes(outer) + rb_disabled_nodes(inner));
	path->path.rows = path->path.parent->rows;
	path->path.startup_cost =
		outer->total_cost + inner->total_cost + cost.startup +
		cpu_operator_cost *
			(RB_OPERATORS_PER_JOIN + RB_OPERATORS_PER_ROW * rows + RB_OPERATORS_PER_BYTE * bytes);
	path->path.total_cost = path->path.startup_cost + cost.per_tuple * pairs +
							cpu_tuple_cost * path->path.rows + path->path.pathtarget->cost.startup +
							path->path.pathtarget->cost.per_tuple * path->path.rows;
}

/* Adds the path of a join node to a join relation. */
static void
add_join_node_path(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *outerrel, RelOptInfo *innerrel,
				   JoinType type, JoinPathExtraData *extra)
{
	Path *outer = outerrel->cheapest_total_path, *inner = innerrel->cheapest_total_path;
	join_clause clause;
	CustomPath *path;
	bool identities = has_row_identities(rel->reltarget->exprs);

	if (previous_join_hook != NULL)
		previous_join_hook(root, rel, outerrel, innerrel, type, extra);
	if (!rb_setting_join ||
		(type != JOIN_INNER && type != JOIN_LEFT && type != JOIN_SEMI && type != JOIN_ANTI) ||
		outer == NULL || inner == NULL || !bms_is_empty(PATH_REQ_OUTER(outer)) ||
		!bms_is_empty(PATH_REQ_OUTER(inner)) || !bms_is_empty(rel->lateral_relids) ||
		!find_join_clause(root, rel, outerrel, innerrel, type, extra, &clause))
		return;
	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget =
		identities ? copy_target_for_child(root, rel->reltarget) : rel->reltarget;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make2(outer, inner);
	path->custom_private = list_make4(
		list_make4_int(type, clause.asked, clause.swapped, clause.same_srid),
		list_make3(clause.outer, clause.inner, clause.distance), clause.info, extra->restrictlist);
	path->methods = &path_methods;
	cost_join_path(root, path, outer, inner,
				   outer->rows * inner->rows *
					   clause_selectivity(root, (Node *) clause.info, 0, JOIN_INNER, extra->sjinfo),
				   list_delete_ptr(list_copy(extra->restrictlist), clause.info));
	if (identities)
	{
		Path *over = rb_append_of_one(root, rel, &path->path);

		/* Copy the number of disabled nodes, which an Append with one child does not do. */
		rb_set_disabled_nodes(over, rb_disabled_nodes(&path->path));
		add_path(rel, over);
	}
	else
		add_path(rel, &path->path);
}

/* ---- the plan ---- */

/*
 * Renames columns as they appear above the join. From PostgreSQL 16 on, a column of the inner side
 * of an outer join has different nulling relations above the join and below it, but the planner
 * wants a single form for each column of the scan tuple. The form above the join is used, also in
 * the expressions on the inputs.
 */
static void
name_columns_as_above_join(List *columns, List *above)
{
	const int flags = PVC_RECURSE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS | PVC_INCLUDE_PLACEHOLDERS;
	List *wanted = pull_var_clause((Node *) above, flags);

	/* Compare with the current length, because the loop appends to the list. */
	for (int i = 0; i < list_length(wanted); i++)
	{
		Node *node = list_nth(wanted, i);
		bool found = false;
		ListCell *lc;

		foreach (lc, columns)
		{
			TargetEntry *column = lfirst_node(TargetEntry, lc);

			if (!rb_same_but_for_nulling(node, (Node *) column->expr))
				continue;
			column->expr = (Expr *) copyObject(node);
			found = true;
		}
		/* The PlaceHolderVar is computed here, from the columns that it contains. */
		if (!found && IsA(node, PlaceHolderVar))
			wanted = list_concat(
				wanted, pull_var_clause((Node *) ((PlaceHolderVar *) node)->phexpr, flags));
	}
}

/* Replaces expressions by the columns of the plan that hold them. */
static Node *
name_expressions_as_columns(Node *node, void *columns)
{
	ListCell *lc;

	if (node == NULL)
		return NULL;
	foreach (lc, (List *) columns)
	{
		TargetEntry *column = lfirst_node(TargetEntry, lc);

		if (rb_same_but_for_nulling(node, (Node *) column->expr))
			return (Node *) copyObject(column->expr);
	}
	return expression_tree_mutator(node, name_expressions_as_columns, columns);
}

/* Returns the cost of evaluating a join clause once, by which the clauses are sorted. */
static Cost
cost_of_join_clause(PlannerInfo *root, RestrictInfo *clause)
{
	QualCost cost;

	cost_qual_eval_node(&cost, (Node *) clause, root);
	return cost.per_tuple;
}

/* Sorts the other clauses by cost, as the planner does in its own joins. */
static List *
sort_clauses_by_cost(PlannerInfo *root, List *clauses)
{
	List *sorted = NIL;
	ListCell *lc;

	foreach (lc, clauses)
	{
		int i = list_length(sorted);

		while (i > 0 && cost_of_join_clause(root, list_nth(sorted, i - 1)) >
							cost_of_join_clause(root, lfirst(lc)))
			i--;
		sorted = list_insert_nth(sorted, i, lfirst(lc));
	}
	return sorted;
}

/* Returns true if the node computes measures in joins of a type. */
static bool
can_join_compute_measures(JoinType type)
{
	return type == JOIN_INNER || type == JOIN_LEFT;
}

/* Makes the plan of a join node. */
static Plan *
plan_join_node(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist, List *clauses,
			   List *children)
{
	CustomScan *plan = makeNode(CustomScan);
	List *facts = linitial(best->custom_private), *exprs = lsecond(best->custom_private);
	RestrictInfo *clause = lthird(best->custom_private);
	List *all = sort_clauses_by_cost(
		root, list_delete_ptr(list_copy(lfourth(best->custom_private)), clause));
	JoinType type = (JoinType) linitial_int(facts);
	List *outer = ((Plan *) linitial(children))->targetlist;
	List *inner = ((Plan *) lsecond(children))->targetlist;
	List *columns = NIL, *join_quals, *other_quals;
	Node *distance = lthird(exprs);
	List *swapped = NIL;
	ListCell *lc;

	if (IS_OUTER_JOIN(type))
		extract_actual_join_clauses(all, rel->relids, &join_quals, &other_quals);
	else
	{
		join_quals = extract_actual_clauses(all, false);
		other_quals = NIL;
	}
	foreach (lc, list_concat_copy(outer, inner))
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);

		columns =
			lappend(columns, makeTargetEntry(copyObject(entry->expr),
											 (AttrNumber) (list_length(columns) + 1), NULL, false));
	}
	/* The final target list may differ from the one that the path promises. */
	name_columns_as_above_join(
		columns, list_make3(rel->reltarget->exprs, best->path.pathtarget->exprs, other_quals));
	foreach (lc, columns)
	{
		TargetEntry *column = lfirst_node(TargetEntry, lc);

		column->expr = (Expr *) name_identity_as_child_column(root, (Node *) column->expr);
	}
	plan->scan.plan.targetlist = tlist;
	plan->scan.scanrelid = 0;
	plan->flags = best->flags;
	plan->custom_plans = children;
	if (distance == NULL)
		distance = (Node *) makeNullConst(FLOAT8OID, -1, InvalidOid);
	plan->custom_exprs = (List *) name_expressions_as_columns(
		(Node *) list_make5(linitial(exprs), lsecond(exprs), distance, clause->clause, join_quals),
		columns);
	/*
	 * Keep these clauses out of the plan's own qual. EXPLAIN would show them there without table
	 * names, as for a scan of one table.
	 */
	plan->custom_exprs = lappend(plan->custom_exprs, other_quals);
	/*
	 * The measures are not columns of an input, so the node computes them. It does so before the filter of
	 * an outer join, which may be there to avoid errors.
	 */
	if (can_join_compute_measures(type) && other_quals == NIL)
		foreach (lc, rb_find_measures(root, linitial(exprs), lsecond(exprs), all))
		{
			FuncExpr *call = (FuncExpr *) name_expressions_as_columns(
				(Node *) lfirst_node(FuncExpr, lc), columns);

			swapped =
				lappend_int(swapped, !rb_is_joined_geometry(linitial(call->args), linitial(exprs)));
			columns = lappend(columns, makeTargetEntry((Expr *) call,
													   (AttrNumber) (list_length(columns) + 1),
													   NULL, false));
		}
	plan->custom_scan_tlist = columns;
	plan->custom_private = list_make3(
		list_concat(list_copy(facts), list_make2_int(list_length(outer), list_length(inner))),
		list_make2(makeString(alias_of_expression_table(root, linitial(exprs))),
				   makeString(alias_of_expression_table(root, lsecond(exprs)))),
		swapped);
	plan->methods = &rb_join_methods;
	return &plan->scan.plan;
}

/*
 * ---- count(*) ----
 *
 *	Custom Scan (redblue join count)		returns one row with the number of pairs
 *	  ->  Custom Scan (redblue join)		reads its inputs and joins their sets
 *
 * The path is added if the node performs the join, if no other clause applies to its pairs, and if
 * only their number is needed; function_scan_path.c does the same for calls of functions. Whether
 * two geometries cross, or one lies inside the other, is known only for each individual pair: the
 * join returns the ids of those pairs, but no rows are built from them.
 */

/* Makes the plan of a node that counts the pairs of a join. */
static Plan *
plan_join_count(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist, List *clauses,
				List *children)
{
	CustomScan *plan = makeNode(CustomScan);

	plan->scan.plan.targetlist = tlist;
	plan->scan.plan.qual = copyObject((List *) linitial(best->custom_private));
	plan->scan.scanrelid = 0;
	plan->flags = best->flags;
	plan->custom_plans = children;
	plan->custom_scan_tlist = lsecond(best->custom_private);
	plan->methods = &rb_join_count_methods;
	return &plan->scan.plan;
}

static const CustomPathMethods count_path_methods = {.CustomName = RB_JOIN_COUNT_NAME,
													 .PlanCustomPath = plan_join_count};

/*
 * Returns true if the path is an inner join by the node, without other clauses, so that its rows
 * need not be built to count them.
 */
static bool
is_join_path_countable(const Path *path)
{
	const CustomPath *join = (const CustomPath *) path;
	const List *facts;

	if (path == NULL || path->param_info != NULL || !IsA(path, CustomPath) ||
		join->methods != &path_methods)
		return false;
	facts = linitial(join->custom_private);
	return linitial_int(facts) == JOIN_INNER && list_length(lfourth(join->custom_private)) == 1;
}

/* Adds a path that counts the pairs of a join for count(*). */
static void
add_join_count_path(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
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
		root->rowMarks != NIL || !is_join_path_countable(join) ||
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
	path->methods = &count_path_methods;
	add_path(output, &path->path);
}

/* Adds the measures that a node above needs to the targets of the topmost join nodes. */
static void
add_measures_to_join_paths(PlannerInfo *root, RelOptInfo *input)
{
	ListCell *lc;

	foreach (lc, input->pathlist)
	{
		Path *path = lfirst(lc);
		const CustomPath *join =
			(const CustomPath *) (IsA(path, ProjectionPath) ? ((ProjectionPath *) path)->subpath
															: path);

		if (IsA(join, CustomPath) && join->methods == &path_methods &&
			can_join_compute_measures(
				(JoinType) linitial_int((List *) linitial(join->custom_private))))
			rb_add_measures_to_target(root, path, linitial((List *) lsecond(join->custom_private)),
									  lsecond((List *) lsecond(join->custom_private)));
	}
}

/* Adds paths for count(*) of join nodes, and measures of pairs to the targets of join nodes. */
static void
add_join_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
					 RelOptInfo *output, void *extra)
{
	if (previous_upper_hook != NULL)
		previous_upper_hook(root, stage, input, output, extra);
	if (!rb_setting_join)
		return;
	if (stage == UPPERREL_GROUP_AGG)
		add_join_count_path(root, input, output, extra);
	if (stage == UPPERREL_GROUP_AGG || stage == UPPERREL_WINDOW)
		add_measures_to_join_paths(root, input);
}

void
rb_join_install(void)
{
	RegisterCustomScanMethods(&rb_join_methods);
	RegisterCustomScanMethods(&rb_join_count_methods);
	previous_join_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = add_join_node_path;
	previous_upper_hook = create_upper_paths_hook;
	create_upper_paths_hook = add_join_upper_paths;
}
