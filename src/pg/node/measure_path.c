/*
 * measure_path.c
 *	  Finds the measures of two geometries in a query that a join node computes for its pairs in batches.
 *
 * A measure is a call of redblue_overlap_volume, redblue_overlap_depth or redblue_overlap_area on both
 * geometries of the node's clause, in either order. The node's plan has a column for each one. The
 * planner then replaces equal expressions of the node's target list and clauses by that column
 * (set_customscan_references), so that the functions are not called.
 *
 * A function may raise an error, so it must not be evaluated for a pair for which the query does not
 * call it. Therefore only calls that are evaluated for every row are taken: not those in CASE, COALESCE,
 * AND, OR, or in an aggregate with FILTER.
 *
 * The arguments of aggregates and window functions are evaluated above the join. The target of the join
 * gets the measures in them as further columns, from which the node above takes them.
 */
#include "pg/node/node.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"

#define PREFIX "redblue_overlap_" /* Start of the names of all measures */

bool
rb_find_measure(Oid function, rb_measure *measure)
{
	static const PGFunction entries[] = {[RB_MEASURE_VOLUME] = redblue_geometry_overlap_volume,
										 [RB_MEASURE_DEPTH] = redblue_geometry_overlap_depth,
										 [RB_MEASURE_AREA] = redblue_geometry_overlap_area};
	const char *name = get_func_name(function);
	int found;

	if (name == NULL || strncmp(name, PREFIX, strlen(PREFIX)) != 0 ||
		get_func_rettype(function) != FLOAT8OID || get_func_nargs(function) != 2)
		return false;
	found = rb_find_entry(function, entries, lengthof(entries));
	if (found >= 0)
		*measure = (rb_measure) found;
	return found >= 0;
}

bool
rb_is_joined_geometry(const Node *node, const Node *geometry)
{
	return equal(node, geometry) || rb_same_but_for_nulling(node, geometry);
}

/* A search for the measures of two geometries */
typedef struct measure_search
{
	Node *outer;
	Node *inner;
	List *found; /* Distinct calls */
	int calls;   /* Number of calls that were found, repeated ones included */
} measure_search;

/* Returns true if the node is a measure of both geometries. */
static bool
is_measure_of_geometries(const measure_search *s, Node *node)
{
	const FuncExpr *call = (const FuncExpr *) node;
	rb_measure measure;

	if (!IsA(node, FuncExpr) || list_length(call->args) != 2)
		return false;
	return ((rb_is_joined_geometry(linitial(call->args), s->outer) &&
			 rb_is_joined_geometry(lsecond(call->args), s->inner)) ||
			(rb_is_joined_geometry(linitial(call->args), s->inner) &&
			 rb_is_joined_geometry(lsecond(call->args), s->outer))) &&
		   rb_find_measure(call->funcid, &measure) && !contain_volatile_functions(node);
}

/* Returns the expressions that are evaluated whenever this one is, or NIL if none is known. */
static List *
list_operands_always_evaluated(Node *node)
{
	switch (nodeTag(node))
	{
		case T_List:
			return (List *) node;
		case T_TargetEntry:
			return list_make1(((TargetEntry *) node)->expr);
		case T_RestrictInfo:
			return list_make1(((RestrictInfo *) node)->clause);
		case T_FuncExpr:
			return ((FuncExpr *) node)->args;
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			return ((OpExpr *) node)->args;
		case T_ScalarArrayOpExpr:
			return ((ScalarArrayOpExpr *) node)->args;
		case T_MinMaxExpr:
			return ((MinMaxExpr *) node)->args;
		case T_ArrayExpr:
			return ((ArrayExpr *) node)->elements;
		case T_RowExpr:
			return ((RowExpr *) node)->args;
		case T_RelabelType:
			return list_make1(((RelabelType *) node)->arg);
		case T_CoerceViaIO:
			return list_make1(((CoerceViaIO *) node)->arg);
		case T_NullTest:
			return list_make1(((NullTest *) node)->arg);
		case T_BooleanTest:
			return list_make1(((BooleanTest *) node)->arg);
		case T_Aggref:
			return ((Aggref *) node)->aggfilter == NULL ? ((Aggref *) node)->args : NIL;
		case T_WindowFunc:
			return ((WindowFunc *) node)->aggfilter == NULL ? ((WindowFunc *) node)->args : NIL;
		default:
			return NIL;
	}
}

/* Collects the measures that are evaluated whenever the expression is. */
static void
find_measures_always_evaluated(Node *node, measure_search *s)
{
	ListCell *lc;

	if (node == NULL)
		return;
	if (is_measure_of_geometries(s, node))
	{
		s->found = list_append_unique(s->found, node);
		s->calls++;
		return;
	}
	foreach (lc, list_operands_always_evaluated(node))
		find_measures_always_evaluated(lfirst(lc), s);
}

/* Counts all measures in an expression. */
static bool
count_measures(Node *node, void *search)
{
	measure_search *s = search;

	if (node == NULL)
		return false;
	if (is_measure_of_geometries(s, node))
	{
		s->calls++;
		return false;
	}
	return expression_tree_walker(node, count_measures, search);
}

/* Collects the measures in the arguments of aggregates and window functions. */
static bool
find_measures_of_aggregates(Node *node, void *search)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref) || IsA(node, WindowFunc))
	{
		find_measures_always_evaluated(node, search);
		return false;
	}
	return expression_tree_walker(node, find_measures_of_aggregates, search);
}

/* Returns true if the query computes aggregates or window functions over the rows of its joins. */
static bool
has_query_aggregates(const Query *parse)
{
	return parse->hasAggs || parse->hasWindowFuncs || parse->groupClause != NIL ||
		   parse->groupingSets != NIL || parse->havingQual != NULL;
}

/*
 * Returns true if an entry is a key by which rows are grouped, partitioned or sorted for windows.
 */
static bool
is_group_or_window_key(const Query *parse, const TargetEntry *entry)
{
	ListCell *lc;

	if (entry->ressortgroupref == 0)
		return false;
	if (parse->groupClause != NIL)
		return get_sortgroupref_clause_noerr(entry->ressortgroupref, parse->groupClause) != NULL;
	foreach (lc, parse->windowClause)
	{
		const WindowClause *window = lfirst_node(WindowClause, lc);

		if (get_sortgroupref_clause_noerr(entry->ressortgroupref, window->partitionClause) !=
				NULL ||
			get_sortgroupref_clause_noerr(entry->ressortgroupref, window->orderClause) != NULL)
			return true;
	}
	return false;
}

/* Collects the measures by which rows are grouped, partitioned or sorted for windows. */
static void
find_measures_of_keys(const Query *parse, List *target, measure_search *s)
{
	ListCell *lc;

	foreach (lc, target)
		if (is_group_or_window_key(parse, lfirst_node(TargetEntry, lc)))
			find_measures_always_evaluated((Node *) lfirst_node(TargetEntry, lc)->expr, s);
}

/* Collects the measures that the query evaluates for each row of its joins. */
static void
find_measures_of_target(PlannerInfo *root, measure_search *s)
{
	const Query *parse = root->parse;
	const bool grouped = parse->hasAggs || parse->groupClause != NIL;

	if (!has_query_aggregates(parse))
		find_measures_always_evaluated((Node *) root->processed_tlist, s);
	/* Window functions over groups are not evaluated for the rows of joins. */
	else if (parse->groupingSets == NIL && !(grouped && parse->hasWindowFuncs))
	{
		(void) find_measures_of_aggregates((Node *) root->processed_tlist, s);
		(void) find_measures_of_aggregates(parse->havingQual, s);
		find_measures_of_keys(parse, root->processed_tlist, s);
	}
}

List *
rb_find_measures(PlannerInfo *root, Node *outer, Node *inner, List *clauses)
{
	measure_search s = {.outer = outer, .inner = inner};
	int always;
	ListCell *lc;

	find_measures_always_evaluated((Node *) clauses, &s);
	/*
	 * Find nothing if the clauses also call measures for some pairs only, because the planner would
	 * replace these calls, too.
	 */
	always = s.calls;
	s.calls = 0;
	foreach (lc, clauses)
		(void) count_measures((Node *) lfirst_node(RestrictInfo, lc)->clause, &s);
	if (s.calls > always)
		return NIL;
	find_measures_of_target(root, &s);
	while (list_length(s.found) > RB_MEASURES)
		s.found = list_delete_last(s.found);
	return s.found;
}

void
rb_add_measures_to_target(PlannerInfo *root, Path *path, Node *outer, Node *inner)
{
	measure_search s = {.outer = outer, .inner = inner};
	ListCell *lc;

	if (!has_query_aggregates(root->parse))
		return;
	find_measures_of_target(root, &s);
	if (s.found == NIL)
		return;
	path->pathtarget = copy_pathtarget(path->pathtarget);
	foreach (lc, s.found)
		add_new_column_to_pathtarget(path->pathtarget, copyObject(lfirst(lc)));
}
