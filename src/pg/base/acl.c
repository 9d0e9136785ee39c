/*
 * acl.c
 *	  Opens a relation that the caller named, after checking the caller's privileges.
 *
 * SQL finds a table by its name, and looking into a schema requires the privilege USAGE. A regclass
 * may be a bare OID, for which no name was looked up. The privilege on the schema is therefore
 * checked here, at each call, for the calling role.
 *
 * A role that may not use a table must not lock it either: a granted lock blocks other sessions,
 * and a waiting lock blocks all sessions that queue behind it. Nothing is therefore locked before
 * the privileges are checked. They are checked again after the lock is granted, because the wait
 * may be long.
 */
#include "pg/base/acl.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

static const char *
relkind_text(char relkind)
{
	switch (relkind)
	{
		case RELKIND_INDEX:
		case RELKIND_PARTITIONED_INDEX:
			return "an index";
		case RELKIND_SEQUENCE:
			return "a sequence";
		case RELKIND_COMPOSITE_TYPE:
			return "a composite type";
		case RELKIND_TOASTVALUE:
			return "a TOAST table";
		default:
			return NULL;
	}
}

pg_noreturn static void
raise_missing(Oid relid, const char *function, const char *argument)
{
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
					errmsg("%s: %s, the relation with OID %u, does not exist", function, argument,
						   relid)));
}

static void
refuse_kind(Form_pg_class form, AclMode right, const char *function, const char *argument)
{
	if (relkind_text(form->relkind) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("%s: %s, \"%s\", is %s", function, argument, NameStr(form->relname),
						relkind_text(form->relkind)),
				 right == ACL_SELECT
					 ? errhint("Use a table, a view, a materialized view or a foreign table.")
					 : errhint("Use a table, a view or a foreign table.")));
}

/*
 * Returns true if the role has the privilege on the relation or on any of its columns. The reader
 * later checks the columns that it needs.
 */
static bool
has_right(Oid relid, AclMode right)
{
	return pg_class_aclcheck(relid, GetUserId(), right) == ACLCHECK_OK ||
		   pg_attribute_aclcheck_all(relid, GetUserId(), right, ACLMASK_ANY) == ACLCHECK_OK;
}

/* Raises the errors that SQL raises when it looks up the name and uses the table. */
static void
ask_rights(Oid relid, AclMode right, const char *function, const char *argument)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class form;
	char *schema;

	if (!HeapTupleIsValid(tuple))
		raise_missing(relid, function, argument);
	form = (Form_pg_class) GETSTRUCT(tuple);
	schema = get_namespace_name(form->relnamespace);
	if (schema == NULL)
		raise_missing(relid, function, argument);
	(void) LookupExplicitNamespace(schema, false);
	refuse_kind(form, right, function, argument);
	if (!has_right(relid, right))
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(form->relkind),
					   NameStr(form->relname));
	ReleaseSysCache(tuple);
}

Relation
rb_relation_open(Oid relid, LOCKMODE lock, AclMode right, const char *function,
				 const char *argument)
{
	Relation rel;

	ask_rights(relid, right, function, argument);
	rel = try_relation_open(relid, lock);
	if (rel == NULL)
		raise_missing(relid, function, argument);
	ask_rights(relid, right, function, argument);
	return rel;
}
