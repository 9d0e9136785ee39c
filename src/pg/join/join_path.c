/*
 * join_path.c
 *	  A join whose clause is one of our functions of two geometries gets a path more: the whole of it at once.
 *
 * Nothing is preloaded: before the planner makes paths for a join it asks how many rows the join leaves, and with that
 * the support function of the clause, which lives in this library and so loads it.
 *
 * The path takes the cheapest path of either input, whatever it is (a view, a join, a subquery: with its own
 * filters and policies), reads both once, and stores what is wanted of their rows.  It is not taken where a
 * clause of the join has another security level than ours, for then one must not be asked before the other.
 */
#include "pg/join/rb_geometry_join.h"

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

/* operators that a row costs: it is decoded, put into a grid, and stored */
#define RB_OPERATORS_PER_ROW 40
#define RB_OPERATORS_PER_BYTE 0.05
/* and a join, however small: threads, memory */
#define RB_OPERATORS_PER_JOIN 20000

static set_join_pathlist_hook_type previous_hook;

static Plan *plan_join(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist,
					   List *clauses, List *children);

static const CustomPathMethods path_methods = {.CustomName = RB_JOIN_NAME,
											   .PlanCustomPath = plan_join};

/* what is known of the join when the path is made, for when it becomes a plan */
typedef struct rb_clause
{
	RestrictInfo *info;
	rb_asked asked;
	Node *outer; /* geometries */
	Node *inner;
	Node *distance; /* NULL: none */
	bool swapped;   /* the inner one is the first argument */
} rb_clause;

/* ---- the clause ---- */

static bool
is_asked(Oid function, rb_asked *asked)
{
	static const struct
	{
		PGFunction function;
		rb_asked asked;
	} functions[] = {{redblue_geometry_intersects, RB_ASKED_INTERSECTS},
					 {redblue_geometry_crosses, RB_ASKED_CROSSES},
					 {redblue_geometry_dwithin, RB_ASKED_DWITHIN}};
	Oid support = get_func_support(function);
	FmgrInfo info;

	if (!OidIsValid(support))
		return false;
	fmgr_info(support, &info);
	if (info.fn_addr != redblue_geometry_support)
		return false;
	fmgr_info(function, &info);
	for (int i = 0; i < (int) lengthof(functions); i++)
		if (info.fn_addr == functions[i].function)
		{
			*asked = functions[i].asked;
			return true;
		}
	return false;
}

/* the table whose columns an expression is of, as the statement calls it; "" where that is more than one */
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

/* is it of columns of that input, of some, and computed from them alone? */
static bool
is_of(PlannerInfo *root, Node *node, Relids relids)
{
	Relids wanted = pull_varnos(root, node);

	return !bms_is_empty(wanted) && bms_is_subset(wanted, relids) &&
		   !contain_volatile_functions(node) && !contain_subplans(node);
}

static bool
is_clause(PlannerInfo *root, RestrictInfo *info, Relids outer, Relids inner, rb_clause *clause)
{
	FuncExpr *call = (FuncExpr *) info->clause;
	Node *a, *b;

	if (!IsA(call, FuncExpr) || list_length(call->args) < 2 ||
		!is_asked(call->funcid, &clause->asked))
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
	if (is_of(root, a, outer) && is_of(root, b, inner))
	{
		clause->outer = a;
		clause->inner = b;
		return true;
	}
	clause->outer = b;
	clause->inner = a;
	clause->swapped = true;
	return is_of(root, b, outer) && is_of(root, a, inner);
}

/* the first clause that is one; false as well where the clauses forbid it */
static bool
find_clause(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
			List *clauses, rb_clause *clause)
{
	bool found = false;
	ListCell *lc;

	foreach (lc, clauses)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, lc);

		if (info->pseudoconstant ||
			info->security_level != linitial_node(RestrictInfo, clauses)->security_level)
			return false;
		if (found || (IS_OUTER_JOIN(type) && RINFO_IS_PUSHED_DOWN(info, rel->relids)))
			continue;
		found = is_clause(root, info, outer->relids, inner->relids, clause);
	}
	return found;
}

/* ---- the path ---- */

static void
cost_join(PlannerInfo *root, CustomPath *path, const Path *outer, const Path *inner, List *quals)
{
	const double rows = outer->rows + inner->rows;
	const double bytes =
		outer->rows * outer->pathtarget->width + inner->rows * inner->pathtarget->width;
	QualCost cost;

	cost_qual_eval(&cost, quals, root);
	path->path.rows = path->path.parent->rows;
	path->path.startup_cost =
		outer->total_cost + inner->total_cost + cost.startup +
		cpu_operator_cost *
			(RB_OPERATORS_PER_JOIN + RB_OPERATORS_PER_ROW * rows + RB_OPERATORS_PER_BYTE * bytes);
	path->path.total_cost = path->path.startup_cost +
							(cpu_tuple_cost + cost.per_tuple) * path->path.rows +
							path->path.pathtarget->cost.startup +
							path->path.pathtarget->cost.per_tuple * path->path.rows;
}

static void
add_join(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *outerrel, RelOptInfo *innerrel,
		 JoinType type, JoinPathExtraData *extra)
{
	Path *outer = outerrel->cheapest_total_path, *inner = innerrel->cheapest_total_path;
	rb_clause clause;
	CustomPath *path;

	if (previous_hook != NULL)
		previous_hook(root, rel, outerrel, innerrel, type, extra);
	if (!rb_setting_join ||
		(type != JOIN_INNER && type != JOIN_LEFT && type != JOIN_SEMI && type != JOIN_ANTI) ||
		outer == NULL || inner == NULL || !bms_is_empty(PATH_REQ_OUTER(outer)) ||
		!bms_is_empty(PATH_REQ_OUTER(inner)) || !bms_is_empty(rel->lateral_relids) ||
		!find_clause(root, rel, outerrel, innerrel, type, extra->restrictlist, &clause))
		return;
	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make2(outer, inner);
	path->custom_private = list_make4(list_make3_int(type, clause.asked, clause.swapped),
									  list_make3(clause.outer, clause.inner, clause.distance),
									  clause.info, extra->restrictlist);
	path->methods = &path_methods;
	cost_join(root, path, outer, inner,
			  list_delete_ptr(list_copy(extra->restrictlist), clause.info));
	add_path(rel, &path->path);
}

/* ---- the plan ---- */

/*
 * From PostgreSQL 16 on a column of the inner side of an outer join has another name above the join than below, and the
 * planner wants one name for each column of the scan tuple.  That is the one above; what is asked of the inputs takes it, too.
 */
static void
name_as_above(List *columns, List *above)
{
	const int flags = PVC_RECURSE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS | PVC_INCLUDE_PLACEHOLDERS;
	List *wanted = pull_var_clause((Node *) above, flags);

	/* this gets longer as it is read */
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
		/* computed here, of what it contains */
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

static Plan *
plan_join(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist, List *clauses,
		  List *children)
{
	CustomScan *plan = makeNode(CustomScan);
	List *facts = linitial(best->custom_private), *exprs = lsecond(best->custom_private);
	RestrictInfo *clause = lthird(best->custom_private);
	List *all = list_delete_ptr(list_copy(lfourth(best->custom_private)), clause);
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
	/* tlist may be another one in the end, of what the path promises */
	name_as_above(columns,
				  list_make3(rel->reltarget->exprs, best->path.pathtarget->exprs, other_quals));
	plan->scan.plan.targetlist = tlist;
	plan->scan.plan.qual = other_quals;
	plan->scan.scanrelid = 0;
	plan->flags = best->flags;
	plan->custom_plans = children;
	plan->custom_scan_tlist = columns;
	if (distance == NULL)
		distance = (Node *) makeNullConst(FLOAT8OID, -1, InvalidOid);
	plan->custom_exprs = (List *) name_as_columns(
		(Node *) list_make5(linitial(exprs), lsecond(exprs), distance, clause->clause, join_quals),
		columns);
	plan->custom_private = list_make2(
		list_concat(list_copy(facts), list_make2_int(list_length(outer), list_length(inner))),
		list_make2(makeString(table_of(root, linitial(exprs))),
				   makeString(table_of(root, lsecond(exprs)))));
	plan->methods = &rb_join_methods;
	return &plan->scan.plan;
}

void
rb_join_install(void)
{
	RegisterCustomScanMethods(&rb_join_methods);
	previous_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = add_join;
}
