/*
 * source.c
 *	  Turns an argument into a SELECT.
 *
 * A table of which the caller may read every column becomes SELECT *: the executor then has nothing
 * to project and passes the receiver the tuple as it lies on the page. For views and foreign
 * tables, whose columns may be expensive, and for tables of which the caller may read only some
 * columns, the SELECT lists only the columns needed.
 *
 * A plain table is read without its SELECT (heap.c), which then appears only in messages.
 *
 * A query is used as it is, after its parse tree has been checked: it must be one SELECT that
 * writes and locks nothing. It then runs as the calling user, read-only.
 */
#include "pg/base/arguments.h"
#include "pg/read/read.h"

#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/varlena.h"

/* ---- tables ---- */

/*
 * Appends a column unless it was appended before, because one column may be both id and coordinate.
 */
static void
append_column_to_select(StringInfo sql, TupleDesc desc, AttrNumber attno, Bitmapset **appended)
{
	if (bms_is_member(attno, *appended))
		return;
	*appended = bms_add_member(*appended, attno);
	appendStringInfo(sql, "%s%s", sql->data[sql->len - 1] == ' ' ? "" : ", ",
					 quote_identifier(NameStr(TupleDescAttr(desc, attno - 1)->attname)));
}

/* Appends the columns that the receiver will look for, each once. */
static void
append_columns_to_select(StringInfo sql, TupleDesc desc, const rb_source *source)
{
	rb_columns columns;
	Bitmapset *appended = NULL;

	rb_columns_find(&columns, desc, source);
	if (columns.id.attno != 0)
		append_column_to_select(sql, desc, columns.id.attno, &appended);
	/* Append the id column even if there is an object column: it is not used, but it must exist. */
	if (source->id_name != NULL && source->object_name != NULL)
		append_column_to_select(sql, desc, rb_column_named(desc, source->id_name, source).attno,
								&appended);
	for (int i = 0; i < columns.nkeys; i++)
		append_column_to_select(sql, desc, columns.key[i].attno, &appended);
	if (columns.beside.attno != 0)
		append_column_to_select(sql, desc, columns.beside.attno, &appended);
	if (columns.geom.attno != 0)
		append_column_to_select(sql, desc, columns.geom.attno, &appended);
	for (int i = 0; i < columns.width; i++)
		append_column_to_select(sql, desc, columns.coord[i].attno, &appended);
}

/*
 * Uses the primary key of a table argument as the id of the source if it is a single integer
 * column.
 */
static void
use_primary_key_of_source(rb_source *source, Relation rel)
{
	List *key = rb_primary_key(rel);
	Form_pg_attribute att;
	Oid type;

	if (list_length(key) != 1)
		return;
	att = TupleDescAttr(RelationGetDescr(rel), linitial_int(key) - 1);
	type = getBaseType(att->atttypid);
	if (type == INT2OID || type == INT4OID || type == INT8OID)
		source->id_name = pstrdup(NameStr(att->attname));
}

/* Returns true if a unique index guarantees that no two rows of the table have the same id. */
static bool
is_id_column_unique(const rb_source *source, Relation rel)
{
	const char *name = source->id_name == NULL ? "id" : source->id_name;
	AttrNumber attno = get_attnum(RelationGetRelid(rel), name);

	return attno > 0 && rb_column_is_unique(rel, attno);
}

void
rb_source_table(rb_source *source, Oid relid)
{
	Relation rel;
	StringInfoData sql;
	bool plain, external;
	char kind;

	/* Like any SELECT, hold the lock until the end of the transaction. */
	rel = rb_relation_open(relid, AccessShareLock, ACL_SELECT, source->function, source->side);
	kind = rel->rd_rel->relkind;
	source->rel = rel;
	if (source->keys != NULL)
		rb_keys_find(source->keys, rel, source);
	else if (source->id_name == NULL && source->object_name == NULL)
		use_primary_key_of_source(source, rel);
	plain = rb_table_refusal(rel) == NULL;
	/* If only the planner rules out reading the pages, an extension supplies the rows. */
	external = plain && rb_plan_refusal(rel, true) != NULL;
	source->heap = plain && !external ? relid : InvalidOid;
	/* Indexes do not cover rows that an extension supplies. */
	source->unique = !external && is_id_column_unique(source, rel);

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ");
	if ((kind == RELKIND_RELATION || kind == RELKIND_MATVIEW ||
		 kind == RELKIND_PARTITIONED_TABLE) &&
		pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK)
		appendStringInfoChar(&sql, '*');
	else
		append_columns_to_select(&sql, RelationGetDescr(rel), source);
	appendStringInfo(&sql, " FROM %s",
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
												RelationGetRelationName(rel)));
	source->sql = sql.data;
	source->relid = relid;
	source->rows = Max(rel->rd_rel->reltuples, 0);
}

/* ---- queries ---- */

typedef struct query_check
{
	const rb_source *source;
	const char *text;
} query_check;

/*
 * Makes the position of an error relative to this query text instead of the surrounding statement.
 */
static void
locate_error_in_query_text(void *arg)
{
	const query_check *check = arg;
	int position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery(check->text);
	}
	errcontext("%s query of %s", check->source->side, check->source->function);
}

/* Raises the ERROR that the query of a side is not a single read-only SELECT. */
static void
refuse_writing_query(const query_check *check, int sqlstate, const char *detail)
{
	ereport(ERROR, (errcode(sqlstate),
					errmsg("%s: the %s query is not a single read-only SELECT",
						   check->source->function, check->source->side),
					errdetail("%s", detail),
					errhint("Use SELECT, VALUES or TABLE, optionally preceded by WITH.")));
}

/* Raises an error for anything that writes or locks, at any depth. */
static bool
refuse_writes_in_query(Node *node, void *arg)
{
	const query_check *check = arg;

	if (node == NULL)
		return false;
	if (IsA(node, SelectStmt))
	{
		if (((SelectStmt *) node)->intoClause != NULL)
			refuse_writing_query(check, ERRCODE_FEATURE_NOT_SUPPORTED,
								 "The query contains SELECT INTO.");
		if (((SelectStmt *) node)->lockingClause != NIL)
			refuse_writing_query(check, ERRCODE_FEATURE_NOT_SUPPORTED,
								 "The query contains a locking clause (FOR UPDATE or FOR SHARE).");
	}
	else if (IsA(node, InsertStmt) || IsA(node, UpdateStmt) || IsA(node, DeleteStmt) ||
			 rb_is_merge(node))
		refuse_writing_query(
			check, ERRCODE_FEATURE_NOT_SUPPORTED,
			psprintf("The query contains %s in WITH.", GetCommandTagName(CreateCommandTag(node))));
	return raw_expression_tree_walker(node, refuse_writes_in_query, arg);
}

/*
 * Raises an error if the query is the name of a table, which would otherwise be reported as a
 * syntax error.
 */
static void
refuse_table_name_as_query(const query_check *check)
{
	List *names;

	if (!SplitIdentifierString(pstrdup(check->text), '.', &names) || names == NIL ||
		list_length(names) > 2)
		return;
	for (int i = 0; i < list_length(names); i++)
		lfirst(list_nth_cell(names, i)) = makeString(lfirst(list_nth_cell(names, i)));
	if (OidIsValid(RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock, true)))
		ereport(
			ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 errmsg("%s: the %s query is not a single read-only SELECT", check->source->function,
					check->source->side),
			 errdetail("The text is the name of a table, %s.", check->text),
			 errhint("Write 'TABLE %s', or use the function without _query, which accepts tables.",
					 check->text)));
}

void
rb_source_query(rb_source *source, const char *text)
{
	query_check check = {source, text};
	ErrorContextCallback context;
	List *statements;
	Node *statement;

	source->sql = text;
	source->heap = InvalidOid;
	source->rel = NULL;
	source->rows = 0;

	refuse_table_name_as_query(&check);
	context.callback = locate_error_in_query_text;
	context.arg = &check;
	context.previous = error_context_stack;
	error_context_stack = &context;

	statements = pg_parse_query(text);
	if (statements == NIL)
		refuse_writing_query(&check, ERRCODE_SYNTAX_ERROR, "The query is empty.");
	if (list_length(statements) > 1)
		refuse_writing_query(&check, ERRCODE_SYNTAX_ERROR,
							 psprintf("The query has %d statements.", list_length(statements)));
	statement = linitial_node(RawStmt, statements)->stmt;
	if (!IsA(statement, SelectStmt))
		refuse_writing_query(
			&check, ERRCODE_FEATURE_NOT_SUPPORTED,
			psprintf("The query is %s.", GetCommandTagName(CreateCommandTag(statement))));
	refuse_writes_in_query(statement, &check);

	error_context_stack = context.previous;
}
