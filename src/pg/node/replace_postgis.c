/*
 * replace_postgis.c
 *	  Implements redblue.replace_postgis: replaces ST_3DIntersects and ST_3DDWithin with
 *	  redblue_intersects and redblue_dwithin in a statement that is about to be planned.
 *
 * The call itself is replaced, not only the join; otherwise the result would depend on the plan.
 * Planning then proceeds as if the statement called redblue's function, including the use of
 * indexes and of the join node.
 *
 * Calls that protect rows are not replaced: policies, check options, and the contents of security
 * barrier views. Their author has chosen the function, and is not the role that enables the
 * setting. Calls that run with the privileges of another role are not replaced either, as in
 * SECURITY DEFINER functions and in the refresh of a materialized view. Bodies of functions that
 * are inlined later are not replaced. ON CONFLICT identifies an index by its expressions, which are
 * left as they were when the index was created.
 */
#include "pg/node/node.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

static planner_hook_type previous_hook;

static const struct
{
	const char *theirs;
	const char *ours;
} replaced[] = {{"st_3dintersects", "redblue_intersects"}, {"st_3ddwithin", "redblue_dwithin"}};

/*
 * Returns redblue's function of this name with the same argument types as the function `theirs`, or
 * InvalidOid.
 */
static Oid
find_redblue_function(const char *name, Oid theirs)
{
	CatCList *list = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum(name));
	Oid *types, *wanted;
	int n, nwanted;
	Oid found = InvalidOid;

	(void) get_func_signature(theirs, &wanted, &nwanted);
	for (int i = 0; i < list->n_members && !OidIsValid(found); i++)
	{
		const Oid one = ((Form_pg_proc) GETSTRUCT(&list->members[i]->tuple))->oid;
		rb_join_function asked;

		(void) get_func_signature(one, &types, &n);
		if (n == nwanted && memcmp(types, wanted, (Size) n * sizeof *types) == 0 &&
			rb_find_join_function(one, &asked))
			found = one;
	}
	ReleaseCatCacheList(list);
	return found;
}

/* State of a walk through a statement */
typedef struct replacing
{
	bool kept; /* True if calls are only searched for */
	bool found;
} replacing;

/* Replaces the function of a call by redblue's, if it is one of PostGIS. */
static void
replace_postgis_call(FuncExpr *call, replacing *r)
{
	const char *name = get_func_name(call->funcid);

	for (int i = 0; i < (int) lengthof(replaced) && name != NULL; i++)
		if (strcmp(name, replaced[i].theirs) == 0 && rb_is_of_postgis(call->funcid))
		{
			const Oid ours = find_redblue_function(replaced[i].ours, call->funcid);

			if (!OidIsValid(ours))
				continue;
			r->found = true;
			if (!r->kept)
				call->funcid = ours;
		}
}

static bool replace_calls_in_node(Node *node, void *context);

/* Replaces the calls in a query, except where indexes and policies must match. */
static void
replace_calls_in_query(Query *query, void *context)
{
	List *checks = query->withCheckOptions;
	OnConflictExpr none = {.type = T_OnConflictExpr};
	OnConflictExpr *conflict = query->onConflict != NULL ? query->onConflict : &none;
	const OnConflictExpr index = *conflict;
	ListCell *lc;

	query->withCheckOptions = NIL;
	conflict->arbiterElems = NIL;
	conflict->arbiterWhere = NULL;
	(void) query_tree_walker(query, replace_calls_in_node, context, QTW_IGNORE_RANGE_TABLE);
	query->withCheckOptions = checks;
	conflict->arbiterElems = index.arbiterElems;
	conflict->arbiterWhere = index.arbiterWhere;
	foreach (lc, query->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);
		List *policies = entry->securityQuals;

		if (entry->rtekind == RTE_SUBQUERY && entry->security_barrier)
			continue;
		entry->securityQuals = NIL;
		(void) range_table_entry_walker(entry, replace_calls_in_node, context, 0);
		entry->securityQuals = policies;
	}
}

/* Replaces the calls in an expression or query. */
static bool
replace_calls_in_node(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		replace_calls_in_query((Query *) node, context);
		return false;
	}
	if (IsA(node, FuncExpr))
		replace_postgis_call((FuncExpr *) node, context);
	return expression_tree_walker(node, replace_calls_in_node, context);
}

/*
 * Returns true if the statement runs with the privileges of a role other than the one that enabled
 * the setting. A function owned by the current role does not count, however it is declared. The
 * decision depends on the role alone, because cached plans depend on the role.
 */
static bool
is_statement_of_another_role(void)
{
	return GetUserId() != GetOuterUserId() || InSecurityRestrictedOperation();
}

/*
 * Replaces the calls and plans the statement. The planner may modify the query tree, so the hook
 * may, too.
 *
 * Plans are cached, and the statement of a function may next run with the privileges of another
 * role. dependsOnRole causes the statement to be planned again in that case.
 */
static PlannedStmt *
plan_replaced_statement(Query *query, const char *text, int options,
						ParamListInfo params RB_PLANNER_PARAMETER)
{
	replacing r = {.kept = is_statement_of_another_role()};
	PlannedStmt *planned;

	if (rb_setting_replace_postgis)
		replace_calls_in_query(query, &r);
	planned = previous_hook != NULL
				  ? previous_hook(query, text, options, params RB_PLANNER_ARGUMENT)
				  : standard_planner(query, text, options, params RB_PLANNER_ARGUMENT);
	planned->dependsOnRole |= r.found;
	return planned;
}

void
rb_replace_install(void)
{
	previous_hook = planner_hook;
	planner_hook = plan_replaced_statement;
}
