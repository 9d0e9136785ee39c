/*
 * join_replace.c
 *	  redblue.replace_postgis: in a statement that is about to be planned ST_3DIntersects and ST_3DDWithin become
 *	  redblue_intersects and redblue_dwithin.
 *
 * The call is replaced, not only the join: else the answer would depend on the plan.  What follows (which index serves it, a join
 * as one node) is as if our function had been written.
 *
 * What protects rows is left as it is: policies, their checks, and what stands in a view that is a security barrier.  Who
 * wrote these has chosen the function, and who sets the setting is another one.  So is all that runs with the rights of
 * another one: another's function that is SECURITY DEFINER and what it calls, a materialized view that is filled.  So are
 * functions' bodies that are put into the statement later.  And ON CONFLICT names an index by its expressions, which are as
 * they were made.
 */
#include "pg/join/rb_geometry_join.h"

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

/* the function of that name which is of this library and has the arguments of the other one, or InvalidOid */
static Oid
find_ours(const char *name, Oid theirs)
{
	CatCList *list = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum(name));
	Oid *types, *wanted;
	int n, nwanted;
	Oid found = InvalidOid;

	(void) get_func_signature(theirs, &wanted, &nwanted);
	for (int i = 0; i < list->n_members && !OidIsValid(found); i++)
	{
		const Oid one = ((Form_pg_proc) GETSTRUCT(&list->members[i]->tuple))->oid;
		rb_asked asked;

		(void) get_func_signature(one, &types, &n);
		if (n == nwanted && memcmp(types, wanted, (Size) n * sizeof *types) == 0 &&
			rb_is_asked(one, &asked))
			found = one;
	}
	ReleaseCatCacheList(list);
	return found;
}

/* of a walk through a statement */
typedef struct replacing
{
	bool kept; /* they are only looked for */
	bool found;
} replacing;

static void
replace(FuncExpr *call, replacing *r)
{
	const char *name = get_func_name(call->funcid);

	for (int i = 0; i < (int) lengthof(replaced) && name != NULL; i++)
		if (strcmp(name, replaced[i].theirs) == 0 && rb_is_of_postgis(call->funcid))
		{
			const Oid ours = find_ours(replaced[i].ours, call->funcid);

			if (!OidIsValid(ours))
				continue;
			r->found = true;
			if (!r->kept)
				call->funcid = ours;
		}
}

static bool walk(Node *node, void *context);

static void
walk_query(Query *query, void *context)
{
	List *checks = query->withCheckOptions;
	OnConflictExpr none = {.type = T_OnConflictExpr};
	OnConflictExpr *conflict = query->onConflict != NULL ? query->onConflict : &none;
	const OnConflictExpr index = *conflict;
	ListCell *lc;

	query->withCheckOptions = NIL;
	conflict->arbiterElems = NIL;
	conflict->arbiterWhere = NULL;
	(void) query_tree_walker(query, walk, context, QTW_IGNORE_RANGE_TABLE);
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
		(void) range_table_entry_walker(entry, walk, context, 0);
		entry->securityQuals = policies;
	}
}

static bool
walk(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		walk_query((Query *) node, context);
		return false;
	}
	if (IsA(node, FuncExpr))
		replace((FuncExpr *) node, context);
	return expression_tree_walker(node, walk, context);
}

/*
 * Does this run with the rights of another one than who set the setting?  A function of one's own does not, whatever it is
 * declared as: so it is the role alone that decides, which is what a plan is kept for.
 */
static bool
is_for_another(void)
{
	return GetUserId() != GetOuterUserId() || InSecurityRestrictedOperation();
}

/*
 * The planner may write to the tree that it is given, and so may we.
 *
 * Plans are kept, and what a function asks may be asked next with the rights of another one: then it is planned anew.
 */
static PlannedStmt *
plan(Query *query, const char *text, int options, ParamListInfo params RB_PLANNER_PARAMETER)
{
	replacing r = {.kept = is_for_another()};
	PlannedStmt *planned;

	if (rb_setting_replace_postgis)
		walk_query(query, &r);
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
	planner_hook = plan;
}
