/*
 * join_path.c
 *	  Adds a path for a join whose clause is one of redblue's functions of two geometries. The path
 *	  computes the whole join at once.
 *
 * The library need not be preloaded: before the planner builds paths for a join, it estimates the
 * number of rows with the support function of the clause, which loads this library.
 *
 * The path uses the cheapest path of each input, whatever it is (a view, a join, a subquery, with
 * its own filters and policies), reads both inputs once, and stores the needed columns of their
 * rows.
 */
#include "pg/node/geometry_join.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
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

static set_join_pathlist_hook_type previous_hook;

static Plan *plan_join(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist,
					   List *clauses, List *children);

static const CustomPathMethods path_methods = {.CustomName = RB_JOIN_NAME,
											   .PlanCustomPath = plan_join};

/* Returns the alias of the table whose columns the expression uses, or "" if there are several. */
static char *
table_of(PlannerInfo *root, Node *geometry)
{
	Relids of = pull_varnos(root, geometry);
	int relid;

	if (!bms_get_singleton_member(of, &relid) || root->simple_rte_array[relid] == NULL ||
		root->simple_rte_array[relid]->eref == NULL)
		return pstrdup("");
	return root->simple_rte_array[relid]->eref->aliasname;
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
is_identity(const Node *node)
{
	return IsA(node, Var) && ((const Var *) node)->varno == ROWID_VAR;
}

static bool
has_identities(const List *exprs)
{
	ListCell *lc;

	foreach (lc, exprs)
		if (is_identity(lfirst(lc)))
			return true;
	return false;
}

static Node *
name_of_child(PlannerInfo *root, Node *node)
{
	const RowIdentityVarInfo *info;
	Var *var;

	if (!is_identity(node))
		return node;
	var = copyObject((Var *) node);
	info = list_nth(root->row_identity_vars, var->varattno - 1);
	var->varno = bms_next_member(info->rowidrels, -1);
	var->varattno = info->rowidvar->varattno;
	return (Node *) var;
}

static PathTarget *
with_names_of_child(PlannerInfo *root, const PathTarget *target)
{
	PathTarget *named = copy_pathtarget((PathTarget *) target);
	ListCell *lc;

	foreach (lc, named->exprs)
		lfirst(lc) = name_of_child(root, lfirst(lc));
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
cost_join(PlannerInfo *root, CustomPath *path, const Path *outer, const Path *inner, double pairs,
		  List *quals)
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

static void
add_join(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *outerrel, RelOptInfo *innerrel,
		 JoinType type, JoinPathExtraData *extra)
{
	Path *outer = outerrel->cheapest_total_path, *inner = innerrel->cheapest_total_path;
	rb_join_clause clause;
	CustomPath *path;
	bool identities = has_identities(rel->reltarget->exprs);

	if (previous_hook != NULL)
		previous_hook(root, rel, outerrel, innerrel, type, extra);
	if (!rb_setting_join ||
		(type != JOIN_INNER && type != JOIN_LEFT && type != JOIN_SEMI && type != JOIN_ANTI) ||
		outer == NULL || inner == NULL || !bms_is_empty(PATH_REQ_OUTER(outer)) ||
		!bms_is_empty(PATH_REQ_OUTER(inner)) || !bms_is_empty(rel->lateral_relids) ||
		!rb_join_find_clause(root, rel, outerrel, innerrel, type, extra, &clause))
		return;
	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = identities ? with_names_of_child(root, rel->reltarget) : rel->reltarget;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make2(outer, inner);
	path->custom_private = list_make4(
		list_make4_int(type, clause.asked, clause.swapped, clause.same_srid),
		list_make3(clause.outer, clause.inner, clause.distance), clause.info, extra->restrictlist);
	path->methods = &path_methods;
	cost_join(root, path, outer, inner,
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
name_as_above(List *columns, List *above)
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

static Node *
name_as_columns(Node *node, void *columns)
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
	return expression_tree_mutator(node, name_as_columns, columns);
}

static Cost
cost_of(PlannerInfo *root, RestrictInfo *clause)
{
	QualCost cost;

	cost_qual_eval_node(&cost, (Node *) clause, root);
	return cost.per_tuple;
}

/* Sorts the other clauses by cost, as the planner does in its own joins. */
static List *
cheap_first(PlannerInfo *root, List *clauses)
{
	List *sorted = NIL;
	ListCell *lc;

	foreach (lc, clauses)
	{
		int i = list_length(sorted);

		while (i > 0 && cost_of(root, list_nth(sorted, i - 1)) > cost_of(root, lfirst(lc)))
			i--;
		sorted = list_insert_nth(sorted, i, lfirst(lc));
	}
	return sorted;
}

static Plan *
plan_join(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist, List *clauses,
		  List *children)
{
	CustomScan *plan = makeNode(CustomScan);
	List *facts = linitial(best->custom_private), *exprs = lsecond(best->custom_private);
	RestrictInfo *clause = lthird(best->custom_private);
	List *all =
		cheap_first(root, list_delete_ptr(list_copy(lfourth(best->custom_private)), clause));
	JoinType type = (JoinType) linitial_int(facts);
	List *outer = ((Plan *) linitial(children))->targetlist;
	List *inner = ((Plan *) lsecond(children))->targetlist;
	List *columns = NIL, *join_quals, *other_quals;
	Node *distance = lthird(exprs);
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
	name_as_above(columns,
				  list_make3(rel->reltarget->exprs, best->path.pathtarget->exprs, other_quals));
	foreach (lc, columns)
	{
		TargetEntry *column = lfirst_node(TargetEntry, lc);

		column->expr = (Expr *) name_of_child(root, (Node *) column->expr);
	}
	plan->scan.plan.targetlist = tlist;
	plan->scan.scanrelid = 0;
	plan->flags = best->flags;
	plan->custom_plans = children;
	plan->custom_scan_tlist = columns;
	if (distance == NULL)
		distance = (Node *) makeNullConst(FLOAT8OID, -1, InvalidOid);
	plan->custom_exprs = (List *) name_as_columns(
		(Node *) list_make5(linitial(exprs), lsecond(exprs), distance, clause->clause, join_quals),
		columns);
	/*
	 * Keep these clauses out of the plan's own qual. EXPLAIN would show them there without table
	 * names, as for a scan of one table.
	 */
	plan->custom_exprs = lappend(plan->custom_exprs, other_quals);
	plan->custom_private = list_make2(
		list_concat(list_copy(facts), list_make2_int(list_length(outer), list_length(inner))),
		list_make2(makeString(table_of(root, linitial(exprs))),
				   makeString(table_of(root, lsecond(exprs)))));
	plan->methods = &rb_join_methods;
	return &plan->scan.plan;
}

bool
rb_join_is_countable(const Path *path)
{
	const CustomPath *join = (const CustomPath *) path;
	const List *facts;

	if (!IsA(path, CustomPath) || join->methods != &path_methods)
		return false;
	facts = linitial(join->custom_private);
	return linitial_int(facts) == JOIN_INNER && list_length(lfourth(join->custom_private)) == 1;
}

void
rb_join_install(void)
{
	RegisterCustomScanMethods(&rb_join_methods);
	previous_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = add_join;
}
