/*
 * plain_scan.c
 *	  Asks the planner how it would execute a SELECT from a table, or an INSERT into it.
 *
 * The rows of a table need not be on its pages. An extension may store them on other servers,
 * compressed in another table, or behind a mask, and supply them through a hook of the analyzer,
 * the rewriter or the planner. The catalogs do not show this. The planner is therefore given the
 * very SELECT that would be run, with all hooks in place. The pages are read only if the plan is a
 * sequential scan of them that returns all rows and all columns as they are stored, with nothing
 * above it except a Gather. With any other plan, the SELECT is executed. That includes an
 * index-only scan, which returns the same rows and which PostgreSQL itself may prefer.
 *
 * Planning leaves nothing behind: no memory, and no lock, which would otherwise be held until the
 * end of the transaction even if the session only plans a statement.
 *
 * Nothing is remembered between calls. In the meantime a library may be loaded, a setting changed
 * or a table distributed, and no invalidation message of PostgreSQL would report it.
 */
#include "pg/read/read.h"

#include "catalog/pg_inherits.h"
#include "nodes/extensible.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

/* ---- planning ---- */

typedef enum plan_question
{
	SELECT_ALL,
	INSERT_ALL
} plan_question;

/* Returns the statement whose plan answers the question. */
static char *
statement_to_plan(Relation rel, plan_question question)
{
	const char *name = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
												  RelationGetRelationName(rel));

	return question == SELECT_ALL ? psprintf("SELECT * FROM %s", name)
								  : psprintf("INSERT INTO %s SELECT * FROM %s", name, name);
}

/*
 * Returns the plan of one statement, as SPI would create it, or NULL unless the statement has
 * exactly one plan.
 */
static PlannedStmt *
plan_statement_text(const char *sql)
{
	List *queries = rb_analyze_and_rewrite(linitial_node(RawStmt, pg_parse_query(sql)), sql);
	Query *query = list_length(queries) == 1 ? linitial_node(Query, queries) : NULL;

	if (query == NULL || query->commandType == CMD_UTILITY)
		return NULL;
	return rb_plan_query(query, sql, CURSOR_OPT_PARALLEL_OK);
}

/*
 * Takes the locks on the indexes of a table that planning its scan needs. Returns false if one is
 * not available at once.
 */
static bool
lock_indexes_to_plan_scan(Relation rel)
{
	ListCell *lc;

	foreach (lc, RelationGetIndexList(rel))
		if (!ConditionalLockRelationOid(lfirst_oid(lc), AccessShareLock))
			return false;
	return true;
}

/* A plan, with everything that was allocated and locked for it */
typedef struct answer
{
	PlannedStmt *planned; /* NULL if there is no plan or planning would have to wait */
	bool waits;
	MemoryContext context;
	ResourceOwner owner;
} answer;

/* Plans the statement, unless that would wait for a lock. */
static void
plan_without_waiting(Relation rel, plan_question question, bool may_wait, answer *a)
{
	const bool snapshot = ActiveSnapshotSet();

	a->waits = !may_wait && !lock_indexes_to_plan_scan(rel);
	if (a->waits)
		return;
	/* Functions that the planner calls may need a snapshot. */
	if (!snapshot)
		PushActiveSnapshot(GetTransactionSnapshot());
	a->planned = plan_statement_text(statement_to_plan(rel, question));
	if (!snapshot)
		PopActiveSnapshot();
}

/* Asks the planner in a memory context and resource owner of their own. */
static void
plan_in_own_context(Relation rel, plan_question question, bool may_wait, answer *a)
{
	const ResourceOwner owner = CurrentResourceOwner;
	MemoryContext old;

	memset(a, 0, sizeof *a);
	a->context = AllocSetContextCreate(CurrentMemoryContext, "redblue plan", ALLOCSET_SMALL_SIZES);
	a->owner = ResourceOwnerCreate(owner, "redblue plan");
	old = MemoryContextSwitchTo(a->context);
	CurrentResourceOwner = a->owner;
	PG_TRY();
	{
		plan_without_waiting(rel, question, may_wait, a);
	}
	PG_FINALLY();
	{
		CurrentResourceOwner = owner;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(old);
}

/* Frees the plan and releases its locks, because it is not executed. */
static void
forget_plan(answer *a)
{
	ResourceOwnerRelease(a->owner, RESOURCE_RELEASE_BEFORE_LOCKS, false, false);
	ResourceOwnerRelease(a->owner, RESOURCE_RELEASE_LOCKS, false, false);
	ResourceOwnerRelease(a->owner, RESOURCE_RELEASE_AFTER_LOCKS, false, false);
	ResourceOwnerDelete(a->owner);
	MemoryContextDelete(a->context);
}

/* ---- scans of a table's own pages ---- */

/* Returns the relation that a scan reads, or InvalidOid. */
static Oid
relation_of_scan_plan(const PlannedStmt *planned, const Plan *plan)
{
	const RangeTblEntry *rte =
		list_nth_node(RangeTblEntry, planned->rtable, (int) ((const Scan *) plan)->scanrelid - 1);

	return rte->rtekind == RTE_RELATION ? rte->relid : InvalidOid;
}

/*
 * Returns true if the targets are all columns of the descriptor, unchanged and in order. The
 * columns of a Gather are numbered from 1.
 */
static bool
are_targets_all_columns(const List *targets, int varno, bool gathered, TupleDesc desc)
{
	int n = 0;

	for (int i = 0; i < desc->natts; i++)
	{
		const TargetEntry *target;
		const Var *var;

		if (TupleDescAttr(desc, i)->attisdropped)
			continue;
		if (n >= list_length(targets))
			return false;
		target = list_nth_node(TargetEntry, targets, n++);
		var = (const Var *) target->expr;
		if (target->resjunk || !IsA(var, Var) || (int) var->varno != varno ||
			var->varattno != (gathered ? n : i + 1) || var->varlevelsup != 0)
			return false;
	}
	return n == list_length(targets);
}

/* Returns true if a plan returns all rows and columns of a table by a sequential scan. */
static bool
is_plan_whole_scan(const PlannedStmt *planned, const Plan *plan, Relation rel)
{
	TupleDesc desc = RelationGetDescr(rel);

	if (plan == NULL || plan->initPlan != NIL || plan->qual != NIL)
		return false;
	if (IsA(plan, Gather))
		return are_targets_all_columns(plan->targetlist, OUTER_VAR, true, desc) &&
			   plan->lefttree != NULL && IsA(plan->lefttree, SeqScan) &&
			   is_plan_whole_scan(planned, plan->lefttree, rel);
	return IsA(plan, SeqScan) && relation_of_scan_plan(planned, plan) == RelationGetRelid(rel) &&
		   are_targets_all_columns(plan->targetlist, (int) ((const Scan *) plan)->scanrelid, false,
								   desc);
}

/* Returns what the planner prefers to a scan, for messages. */
static const char *
name_of_preferred_plan(const PlannedStmt *planned)
{
	if (planned != NULL && IsA(planned->planTree, CustomScan))
		return psprintf("a Custom Scan (%s)",
						((const CustomScan *) planned->planTree)->methods->CustomName);
	return "a plan other than a scan of all its pages";
}

const char *
rb_plan_refusal(Relation rel, bool may_wait)
{
	const char *refusal = NULL;
	const PlannedStmt *planned;
	answer a;

	plan_in_own_context(rel, SELECT_ALL, may_wait, &a);
	planned = a.planned;
	if (a.waits)
		refusal = "another session has locked one of its indexes";
	else if (planned == NULL || planned->commandType != CMD_SELECT || planned->hasModifyingCTE ||
			 planned->subplans != NIL || planned->rowMarks != NIL ||
			 !is_plan_whole_scan(planned, planned->planTree, rel))
		refusal = psprintf("the planner would read it with %s", name_of_preferred_plan(planned));
	forget_plan(&a);
	return refusal;
}

/* ---- scans of a table and its children ---- */

static bool does_plan_only_read_pages(const PlannedStmt *planned, const Plan *plan,
									  const List *relids);

/* Returns true if all plans only read pages of the given tables. */
static bool
do_all_plans_read_pages(const PlannedStmt *planned, const List *plans, const List *relids)
{
	ListCell *lc;

	foreach (lc, plans)
		if (!does_plan_only_read_pages(planned, lfirst(lc), relids))
			return false;
	return true;
}

/* Returns true if a plan only reads pages of the given tables. */
static bool
does_plan_only_read_pages(const PlannedStmt *planned, const Plan *plan, const List *relids)
{
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
			return list_member_oid(relids, relation_of_scan_plan(planned, plan));
		case T_Gather:
		case T_GatherMerge:
			return does_plan_only_read_pages(planned, plan->lefttree, relids);
		case T_Append:
			return do_all_plans_read_pages(planned, ((const Append *) plan)->appendplans, relids);
		case T_MergeAppend:
			return do_all_plans_read_pages(planned, ((const MergeAppend *) plan)->mergeplans,
										   relids);
		default:
			return false;
	}
}

bool
rb_rows_are_on_pages(Relation rel)
{
	const List *relids = find_all_inheritors(RelationGetRelid(rel), AccessShareLock, NULL);
	bool on_pages;
	answer a;

	plan_in_own_context(rel, SELECT_ALL, true, &a);
	on_pages = a.planned != NULL && a.planned->commandType == CMD_SELECT &&
			   does_plan_only_read_pages(a.planned, a.planned->planTree, relids);
	forget_plan(&a);
	return on_pages;
}

/* ---- inserts into a table ---- */

/* Returns true if a plan only inserts into a table. */
static bool
does_plan_only_insert(const PlannedStmt *planned, Relation rel)
{
	const ModifyTable *modify = (const ModifyTable *) planned->planTree;
	const RangeTblEntry *target;

	if (!IsA(modify, ModifyTable) || modify->operation != CMD_INSERT ||
		list_length(modify->resultRelations) != 1)
		return false;
	target =
		list_nth_node(RangeTblEntry, planned->rtable, linitial_int(modify->resultRelations) - 1);
	return target->rtekind == RTE_RELATION && target->relid == RelationGetRelid(rel);
}

bool
rb_inserts_are_plain(Relation rel)
{
	bool plain;
	answer a;

	plan_in_own_context(rel, INSERT_ALL, true, &a);
	plain = a.planned != NULL && a.planned->commandType == CMD_INSERT &&
			does_plan_only_insert(a.planned, rel);
	forget_plan(&a);
	return plain;
}
