/*
 * table_stats.c
 *	  Inspects the sides before the statement runs: their sizes, and whether reading them runs SQL
 *	  written by others (a view, a policy) or the plan of an extension.
 *
 * A statement that is only planned (EXPLAIN, PREPARE) must cause no error and no wait that planning
 * a SELECT from the same tables would not cause. These functions therefore raise no errors, do not
 * wait for locks, and lock no relation that the caller may not read. A relation that cannot be
 * inspected is treated as unknown.
 */
#include "pg/exec/exec.h"
#include "pg/plan/plan.h"
#include "pg/read/read.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "nodes/primnodes.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/*
 * Returns true if the caller may read at least one column. Whether it may read the required ones is
 * checked when the table is read.
 */
static bool
can_read(Oid relid)
{
	Oid schema = get_rel_namespace(relid);
	bool missing = false;

	if (!OidIsValid(schema) || !rb_may_use_schema(schema))
		return false;
	return (pg_class_aclcheck_ext(relid, GetUserId(), ACL_SELECT, &missing) == ACLCHECK_OK &&
			!missing) ||
		   pg_attribute_aclcheck_all(relid, GetUserId(), ACL_SELECT, ACLMASK_ANY) == ACLCHECK_OK;
}

Relation
rb_open_child(Oid relid)
{
	Relation rel;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return NULL;
	rel = try_relation_open(relid, NoLock);
	if (rel == NULL)
		UnlockRelationOid(relid, AccessShareLock);
	return rel;
}

Relation
rb_open_if_readable(Oid relid)
{
	return can_read(relid) ? rb_open_child(relid) : NULL;
}

bool
rb_is_plain_rel(Relation rel)
{
	return rb_table_refusal(rel) == NULL && rb_plan_refusal(rel, false) == NULL;
}

/*
 * Returns true if reading the relation runs no SQL written by others: no view, no policy, no plan
 * of an extension.
 */
static bool
is_table(Relation rel)
{
	char kind = rel->rd_rel->relkind;

	return (kind == RELKIND_RELATION || kind == RELKIND_MATVIEW ||
			kind == RELKIND_PARTITIONED_TABLE || kind == RELKIND_FOREIGN_TABLE) &&
		   !rel->rd_rel->relrowsecurity && (rb_table_refusal(rel) != NULL || rb_is_plain_rel(rel));
}

bool
rb_sides_are_tables(const rb_join *join, List *args, bool stay)
{
	for (int i = 0; i < rb_join_sides(join); i++)
	{
		Const *arg = list_nth(args, i);
		Relation rel;
		bool table;

		if (join->query || !IsA(arg, Const) || arg->constisnull)
			return false;
		rel = rb_open_if_readable(DatumGetObjectId(arg->constvalue));
		if (rel == NULL)
			return false;
		table = is_table(rel);
		relation_close(rel, stay && table ? NoLock : AccessShareLock);
		if (!table)
			return false;
	}
	return true;
}
