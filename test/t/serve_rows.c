/*
 * serve_rows.c
 *	  Implements an extension that returns other rows for some tables, as Citus, TimescaleDB and
 *	  masking extensions do.
 *
 * Each table of schema "here" stands for the table of the same name in schema "there". The setting
 * serve_rows.way determines how a statement on the former gets the rows of the latter:
 *
 *	query		planner_hook: the plan is that of another query
 *	custom		planner_hook: as query, below a custom scan
 *	path		set_rel_pathlist_hook: a custom scan replaces all paths of the table
 *	rewrite		post_parse_analyze_hook: another query is rewritten and planned
 *	mask		post_parse_analyze_hook: the table itself, with its column id negated
 *	filter		post_parse_analyze_hook: the table itself, but only ids above 5
 *	error		planner_hook: an error
 *	off			none: the rows are those in the table's pages
 *
 * Like Citus, it searches each plan for its own scans, by inspecting the first private datum of
 * every custom scan.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "pg/base/compat.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "parser/analyze.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

typedef enum way
{
	OFF,
	QUERY,
	CUSTOM,
	PATH,
	REWRITE,
	MASK,
	FILTER,
	ERROR_OF_PLANNER
} way;

static const struct config_enum_entry ways[] = {{"off", OFF, false},
												{"query", QUERY, false},
												{"custom", CUSTOM, false},
												{"path", PATH, false},
												{"rewrite", REWRITE, false},
												{"mask", MASK, false},
												{"filter", FILTER, false},
												{"error", ERROR_OF_PLANNER, false},
												{NULL, 0, false}};

static int setting = OFF;

static planner_hook_type previous_planner;
static set_rel_pathlist_hook_type previous_pathlist;
static post_parse_analyze_hook_type previous_analyze;

/* ---- the table that stands for another one ---- */

/* Returns the table, or InvalidOid if it is not in schema "here". */
static Oid
relation_there(Oid relid)
{
	const char *schema = get_namespace_name(get_rel_namespace(relid));

	if (schema == NULL || strcmp(schema, "here") != 0)
		return InvalidOid;
	return get_relname_relid(get_rel_name(relid), get_namespace_oid("there", false));
}

/* Replaces all tables of a query, or finds whether there is one */
typedef struct replacing
{
	bool only_find;
	bool found;
} replacing;

static bool
replace_tables(Node *node, void *context)
{
	replacing *r = context;
	Query *query = (Query *) node;
	ListCell *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, replace_tables, context);
	foreach (lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
		const Oid there = rte->rtekind == RTE_RELATION ? relation_there(rte->relid) : InvalidOid;

		if (!OidIsValid(there))
			continue;
		r->found = true;
		if (r->only_find)
			continue;
		LockRelationOid(there, rte->rellockmode);
#if PG_VERSION_NUM >= 160000
		if (rte->perminfoindex > 0)
			list_nth_node(RTEPermissionInfo, query->rteperminfos, (int) rte->perminfoindex - 1)
				->relid = there;
#endif
		rte->relid = there;
	}
	return query_tree_walker(query, replace_tables, context, 0);
}

static bool
names_tables(Query *query)
{
	replacing r = {true, false};

	(void) replace_tables((Node *) query, &r);
	return r.found;
}

/* ---- a custom scan above the plan of another query ---- */

typedef struct scan_state
{
	CustomScanState css;
	Relation there; /* Table to be scanned, or NULL if the child is executed */
	TableScanDesc scan;
	TupleTableSlot *slot;
} scan_state;

static TupleTableSlot *
next_row(ScanState *ss)
{
	scan_state *s = (scan_state *) ss;

	if (!table_scan_getnextslot(s->scan, ForwardScanDirection, s->slot))
		return ExecClearTuple(ss->ss_ScanTupleSlot);
	return ExecCopySlot(ss->ss_ScanTupleSlot, s->slot);
}

static bool
recheck_row(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

static void
begin_scan(CustomScanState *css, EState *estate, int eflags)
{
	scan_state *s = (scan_state *) css;
	CustomScan *plan = (CustomScan *) css->ss.ps.plan;

	if (plan->custom_plans != NIL)
	{
		css->custom_ps = list_make1(ExecInitNode(linitial(plan->custom_plans), estate, eflags));
		return;
	}
	s->there =
		table_open(relation_there(RelationGetRelid(css->ss.ss_currentRelation)), AccessShareLock);
	s->slot = table_slot_create(s->there, NULL);
	s->scan = table_beginscan_strat(s->there, estate->es_snapshot, 0, NULL, true, true);
}

static TupleTableSlot *
exec_scan(CustomScanState *css)
{
	if (css->custom_ps != NIL)
		return ExecProcNode(linitial(css->custom_ps));
	return ExecScan(&css->ss, next_row, recheck_row);
}

static void
end_scan(CustomScanState *css)
{
	scan_state *s = (scan_state *) css;

	if (css->custom_ps != NIL)
	{
		ExecEndNode(linitial(css->custom_ps));
		return;
	}
	table_endscan(s->scan);
	ExecDropSingleTupleTableSlot(s->slot);
	table_close(s->there, NoLock);
}

static void
rescan(CustomScanState *css)
{
	scan_state *s = (scan_state *) css;

	if (css->custom_ps != NIL)
		ExecReScan(linitial(css->custom_ps));
	else
		table_rescan(s->scan, NULL);
}

static const CustomExecMethods exec_methods = {.CustomName = "Served Rows",
											   .BeginCustomScan = begin_scan,
											   .ExecCustomScan = exec_scan,
											   .EndCustomScan = end_scan,
											   .ReScanCustomScan = rescan};

static Node *
create_state(CustomScan *plan)
{
	scan_state *s = palloc0(sizeof *s);

	NodeSetTag(s, T_CustomScanState);
	s->css.methods = &exec_methods;
	return (Node *) s;
}

static const CustomScanMethods scan_methods = {.CustomName = "Served Rows",
											   .CreateCustomScanState = create_state};

static void
put_below_scan(PlannedStmt *planned)
{
	CustomScan *scan = makeNode(CustomScan);
	Plan *child = planned->planTree;
	ListCell *lc;

	scan->scan.plan.startup_cost = child->startup_cost;
	scan->scan.plan.total_cost = child->total_cost;
	scan->scan.plan.plan_rows = child->plan_rows;
	scan->scan.plan.plan_width = child->plan_width;
	scan->custom_plans = list_make1(child);
	scan->methods = &scan_methods;
	foreach (lc, child->targetlist)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, lc);
		Var *var = makeVarFromTargetEntry(1, unconstify(TargetEntry *, entry));

		scan->custom_scan_tlist =
			lappend(scan->custom_scan_tlist,
					makeTargetEntry((Expr *) var, entry->resno, entry->resname, entry->resjunk));
		var = copyObject(var);
		var->varno = INDEX_VAR;
		scan->scan.plan.targetlist =
			lappend(scan->scan.plan.targetlist,
					makeTargetEntry((Expr *) var, entry->resno, entry->resname, entry->resjunk));
	}
	planned->planTree = &scan->scan.plan;
}

static int
count_nodes(const Plan *node)
{
	const List *private;

	if (node == NULL)
		return 0;
	private = IsA(node, CustomScan) ? ((const CustomScan *) node)->custom_private : NIL;
	return (private != NIL && nodeTag(linitial(private)) == T_ExtensibleNode) +
		   count_nodes(node->lefttree) + count_nodes(node->righttree);
}

static PlannedStmt *
plan(Query *query, const char *text, int options, ParamListInfo params RB_PLANNER_PARAMETER)
{
	const bool served = names_tables(query);
	replacing r = {false, false};
	PlannedStmt *planned;

	if (served && setting == ERROR_OF_PLANNER)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("served rows are away")));
	if (setting == QUERY || setting == CUSTOM)
		(void) replace_tables((Node *) query, &r);
	planned = previous_planner != NULL
				  ? previous_planner(query, text, options, params RB_PLANNER_ARGUMENT)
				  : standard_planner(query, text, options, params RB_PLANNER_ARGUMENT);
	if (count_nodes(planned->planTree) > 0)
		elog(ERROR, "a custom scan of Citus");
	if (served && setting == CUSTOM && planned->commandType == CMD_SELECT)
		put_below_scan(planned);
	return planned;
}

/* ---- a custom scan in the place of all paths of a table ---- */

static Plan *
plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist, List *clauses,
		  List *children)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = extract_actual_clauses(clauses, false);
	scan->scan.scanrelid = rel->relid;
	scan->flags = best->flags;
	scan->methods = &scan_methods;
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {.CustomName = "Served Rows",
											   .PlanCustomPath = plan_path};

static void
replace_paths(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	CustomPath *path;

	if (previous_pathlist != NULL)
		previous_pathlist(root, rel, rti, rte);
	/* A sample is one of the table's own pages, because such extensions do not support sampling. */
	if (setting != PATH || rte->rtekind != RTE_RELATION || rte->tablesample != NULL ||
		!OidIsValid(relation_there(rte->relid)) ||
		bms_is_member((int) rti, root->all_result_relids))
		return;
	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.rows = rel->rows;
	path->path.total_cost = 100;
	path->methods = &path_methods;
#if PG_VERSION_NUM >= 150000
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
#endif
	rel->pathlist = list_make1(path);
	rel->partial_pathlist = NIL;
}

/* ---- another query, before it is rewritten ---- */

/* Returns the column id of the table of schema "here" that the query reads, or NULL. */
static Var *
find_id(Query *query)
{
	for (int i = 1; i <= list_length(query->rtable); i++)
	{
		const RangeTblEntry *rte = list_nth_node(RangeTblEntry, query->rtable, i - 1);
		const AttrNumber id = rte->rtekind == RTE_RELATION && OidIsValid(relation_there(rte->relid))
								  ? get_attnum(rte->relid, "id")
								  : InvalidAttrNumber;

		if (id != InvalidAttrNumber)
			return makeVar(i, id, INT8OID, -1, InvalidOid, 0);
	}
	return NULL;
}

static Node *
negate_id(Node *node, void *id)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varno == ((Var *) id)->varno &&
		((Var *) node)->varattno == ((Var *) id)->varattno)
		return (Node *) makeFuncExpr(F_INT8UM, INT8OID, list_make1(copyObject(node)), InvalidOid,
									 InvalidOid, COERCE_EXPLICIT_CALL);
	return expression_tree_mutator(node, negate_id, id);
}

static void
analyze(ParseState *state, Query *query, RB_JUMBLE_CONST JumbleState *jumble)
{
	replacing r = {false, false};
	Var *id = setting == MASK || setting == FILTER ? find_id(query) : NULL;

	if (previous_analyze != NULL)
		previous_analyze(state, query, jumble);
	if (setting == REWRITE)
		(void) replace_tables((Node *) query, &r);
	if (id == NULL || query->commandType != CMD_SELECT)
		return;
	if (setting == MASK)
		query->targetList = (List *) negate_id((Node *) query->targetList, id);
	else
		query->jointree->quals = (Node *) makeFuncExpr(
			F_INT8GT, BOOLOID,
			list_make2(id, makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(5),
									 false, FLOAT8PASSBYVAL)),
			InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

void
_PG_init(void)
{
	DefineCustomEnumVariable("serve_rows.way", "How rows of tables in schema here are served.",
							 NULL, &setting, OFF, ways, PGC_USERSET, 0, NULL, NULL, NULL);
	RegisterCustomScanMethods(&scan_methods);
	previous_planner = planner_hook;
	planner_hook = plan;
	previous_pathlist = set_rel_pathlist_hook;
	set_rel_pathlist_hook = replace_paths;
	previous_analyze = post_parse_analyze_hook;
	post_parse_analyze_hook = analyze;
}
