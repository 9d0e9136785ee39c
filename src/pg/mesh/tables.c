/*
 * tables.c
 *	  Finds or creates the four tables of a mesh.
 *
 *	name_vertices	id, x, y, z, kind, parent_id
 *	name_tets		id, v1, v2, v3, v4, region, radius_edge, min_dihedral, delaunay
 *	name_faces		id, v1, v2, v3, facet_id, polygon
 *	name_segments	id, v1, v2, segment_id, facet_id, segment
 *
 * If there is a mesh for each of several solids, each table also has a column solid_id.
 *
 * Missing tables are created where CREATE TABLE would create them: in the schema of the name or,
 * without one, in the first schema of the search path. Existing tables must be empty and have these
 * columns; they may have others. The SQL commands that create and read the tables check the
 * privileges of the user.
 */
#include "pg/mesh/meshing.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lock.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/varlena.h"

static const char *const suffix_of[RB_MESH_TABLES] = {
	[RB_MESH_VERTICES] = "_vertices",
	[RB_MESH_TETS] = "_tets",
	[RB_MESH_FACES] = "_faces",
	[RB_MESH_EDGES] = "_segments",
};

#define NEEDED RB_COLUMN_NEEDED
#define SOLID_ID                                      \
	{"solid_id", INT8OID, false, RB_COLUMN_OF_SOLID}, \
	{                                                 \
		NULL, InvalidOid, false, NEEDED               \
	}

/* The columns for solids come last. */
static const rb_meshing_column columns_of[RB_MESH_TABLES][RB_MESH_COLUMNS + 1] = {
	[RB_MESH_VERTICES] = {{"id", INT8OID, false, NEEDED},
						  {"x", FLOAT8OID, false, NEEDED},
						  {"y", FLOAT8OID, false, NEEDED},
						  {"z", FLOAT8OID, false, NEEDED},
						  {"kind", TEXTOID, false, NEEDED},
						  {"parent_id", INT8OID, true, NEEDED},
						  SOLID_ID},
	[RB_MESH_TETS] = {{"id", INT8OID, false, NEEDED},
					  {"v1", INT8OID, false, NEEDED},
					  {"v2", INT8OID, false, NEEDED},
					  {"v3", INT8OID, false, NEEDED},
					  {"v4", INT8OID, false, NEEDED},
					  {"region", INT8OID, false, NEEDED},
					  {"radius_edge", FLOAT8OID, true, RB_COLUMN_INFORMATIVE},
					  {"min_dihedral", FLOAT8OID, true, RB_COLUMN_INFORMATIVE},
					  {"delaunay", BOOLOID, true, RB_COLUMN_KNOWN},
					  SOLID_ID},
	[RB_MESH_FACES] = {{"id", INT8OID, false, NEEDED},
					   {"v1", INT8OID, false, NEEDED},
					   {"v2", INT8OID, false, NEEDED},
					   {"v3", INT8OID, false, NEEDED},
					   {"facet_id", INT8OID, false, NEEDED},
					   {"polygon", INT4OID, false, RB_COLUMN_OPTIONAL},
					   SOLID_ID},
	[RB_MESH_EDGES] = {{"id", INT8OID, false, NEEDED},
					   {"v1", INT8OID, false, NEEDED},
					   {"v2", INT8OID, false, NEEDED},
					   {"segment_id", INT8OID, true, NEEDED},
					   {"facet_id", INT8OID, true, RB_COLUMN_OPTIONAL},
					   {"segment", INT8OID, false, RB_COLUMN_OPTIONAL},
					   SOLID_ID},
};

const rb_meshing_column *
rb_meshing_columns(rb_meshing_kind kind)
{
	return columns_of[kind];
}

bool
rb_meshing_has(const rb_meshing_table *t, int i)
{
	const rb_meshing_column *c = rb_meshing_columns(t->kind);

	return c[i].name != NULL && (c[i].use != RB_COLUMN_OF_SOLID || t->by_solid);
}

/* ---- names ---- */

/* Raises an ERROR if a table name is too long. */
static void
check_length(const char *function, const char *name)
{
	if (strlen(name) >= NAMEDATALEN)
		ereport(ERROR, (errcode(ERRCODE_NAME_TOO_LONG),
						errmsg("%s: table name \"%s\" is too long", function, name),
						errdetail("A table name, including its suffix, can have at most %d bytes.",
								  NAMEDATALEN - 1)));
}

/* Splits the name of a mesh into its parts. Sets *schema to NULL if it has none. */
static void
split_name(const char *function, const char *mesh, char **schema, char **name)
{
	List *parts = NIL;

	if (!SplitIdentifierString(pstrdup(mesh), '.', &parts) || parts == NIL ||
		list_length(parts) > 2 || ((char *) llast(parts))[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("%s: argument \"mesh\" is not a valid name: \"%s\"", function, mesh),
				 errdetail("The name is the prefix of four tables: name_vertices, name_tets, "
						   "name_faces, name_segments."),
				 errhint("Write the name as in SQL, with or without a schema.")));
	*schema = list_length(parts) == 2 ? linitial(parts) : NULL;
	*name = llast(parts);
}

/* Sets schema, names and quoted names of the four tables. */
static const rb_meshing_table *
set_mesh_table_names(rb_meshing_table *tables, const char *function, char *schema, const char *name)
{
	memset(tables, 0, RB_MESH_TABLES * sizeof *tables);
	for (int i = 0; i < RB_MESH_TABLES; i++)
	{
		rb_meshing_table *t = &tables[i];

		t->kind = (rb_meshing_kind) i;
		t->schema = schema;
		t->name = psprintf("%s%s", name, suffix_of[i]);
		t->quoted = schema == NULL ? pstrdup(quote_identifier(t->name))
								   : quote_qualified_identifier(schema, t->name);
		check_length(function, t->name);
	}
	return tables;
}

void
rb_meshing_tables_name(rb_meshing_table *tables, const char *function, const char *mesh,
					   bool by_solid)
{
	char *schema;
	char *name;
	Oid namespace;

	split_name(function, mesh, &schema, &name);
	namespace = RangeVarGetCreationNamespace(makeRangeVar(schema, name, -1));
	schema = get_namespace_name(namespace);
	if (schema == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_SCHEMA),
						errmsg("%s: schema of mesh \"%s\" does not exist", function, mesh)));
	set_mesh_table_names(tables, function, schema, name);
	for (int i = 0; i < RB_MESH_TABLES; i++)
		tables[i].by_solid = by_solid;
}

/* ---- existing tables ---- */

/*
 * Checks the privilege to insert into a column, which may be granted for the table or for the
 * column.
 */
static void
check_column_right(Relation rel, AttrNumber attno)
{
	const Oid relid = RelationGetRelid(rel);

	if (pg_class_aclcheck(relid, GetUserId(), ACL_INSERT) != ACLCHECK_OK &&
		pg_attribute_aclcheck(relid, attno, GetUserId(), ACL_INSERT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(rel->rd_rel->relkind),
					   RelationGetRelationName(rel));
}

/* Finds the columns of a table and checks their types and rights. */
static void
find_mesh_table_columns(rb_meshing_table *t, Relation rel, AclMode right, const char *function)
{
	TupleDesc desc = RelationGetDescr(rel);
	const rb_meshing_column *c = columns_of[t->kind];

	for (int i = 0; rb_meshing_has(t, i); i++)
	{
		AttrNumber attno = get_attnum(RelationGetRelid(rel), c[i].name);
		Oid type;

		t->attno[i] = Max(attno, 0);
		if (attno <= 0 && (c[i].use == RB_COLUMN_INFORMATIVE || c[i].use == RB_COLUMN_KNOWN ||
						   (c[i].use == RB_COLUMN_OPTIONAL && right == ACL_INSERT)))
			continue;
		if (attno <= 0)
			ereport(
				ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("%s: table %s has no column \"%s\"", function, t->quoted, c[i].name),
				 errdetail("The columns are: %s.", rb_list_columns(desc)),
				 right == ACL_INSERT ? errhint("Drop the table to have it created again.") : 0));
		if (right == ACL_INSERT)
			check_column_right(rel, attno);
		type = getBaseType(TupleDescAttr(desc, attno - 1)->atttypid);
		if (type != c[i].type && (c[i].use != RB_COLUMN_INFORMATIVE || right == ACL_INSERT))
			ereport(
				ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s: column \"%s\" of table %s is of type %s", function, c[i].name,
						t->quoted, format_type_be(TupleDescAttr(desc, attno - 1)->atttypid)),
				 errdetail("The column must be of type %s.", format_type_be(c[i].type)),
				 right == ACL_INSERT
					 ? errhint(
						   "Alter the type of the column, or drop the table to have it created again.")
					 : errhint("Use a view that casts the column.")));
	}
}

void
rb_meshing_tables_find(rb_meshing_table *tables, const char *function, const char *mesh)
{
	char *schema;
	char *name;

	split_name(function, mesh, &schema, &name);
	set_mesh_table_names(tables, function, schema, name);
	for (int i = 0; i < RB_MESH_TABLES; i++)
	{
		Relation rel;

		tables[i].relid = RangeVarGetRelid(makeRangeVar(schema, tables[i].name, -1), NoLock, true);
		if (!OidIsValid(tables[i].relid))
			ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
							errmsg("%s: table \"%s\" of mesh \"%s\" does not exist", function,
								   tables[i].quoted, mesh),
							errhint("Use redblue_tetrahedralize(..., mesh => %s) to create it.",
									quote_literal_cstr(mesh))));
		rel = rb_relation_open(tables[i].relid, AccessShareLock, ACL_SELECT, function,
							   tables[i].quoted);
		find_mesh_table_columns(&tables[i], rel, ACL_SELECT, function);
		relation_close(rel, NoLock);
	}
}

/*
 * Returns true if the user's own SELECT finds a row. Rows that an earlier call in the same command
 * added count, and so do rows of transactions that have committed by now, regardless of this
 * statement's snapshot.
 */
static bool
is_any_row_visible(const rb_meshing_table *t, const char *function)
{
	SPIPlanPtr plan = SPI_prepare(psprintf("SELECT 1 FROM %s LIMIT 1", t->quoted), 0, NULL);
	int rc;

	if (plan == NULL)
		elog(ERROR, "%s: SPI_prepare: %s", function, SPI_result_code_string(SPI_result));
	CommandCounterIncrement();
	rc = SPI_execute_snapshot(plan, NULL, NULL, GetLatestSnapshot(), InvalidSnapshot,
							  true /* read only */, false, 1);
	if (rc != SPI_OK_SELECT)
		elog(ERROR, "%s: SPI_execute_snapshot: %s", function, SPI_result_code_string(rc));
	return SPI_processed > 0;
}

/* ---- INSERT ---- */

/* Returns the array type of the type of a mesh table's column, for the INSERT from arrays. */
static Oid
array_type_of_mesh_column(Oid type)
{
	return type == INT8OID   ? INT8ARRAYOID
		   : type == INT4OID ? INT4ARRAYOID
		   : type == TEXTOID ? TEXTARRAYOID
		   : type == BOOLOID ? BOOLARRAYOID
							 : FLOAT8ARRAYOID;
}

SPIPlanPtr
rb_meshing_prepare_insert(const rb_meshing_table *t, const char *function, int *n)
{
	const rb_meshing_column *c = rb_meshing_columns(t->kind);
	Oid types[RB_MESH_COLUMNS];
	StringInfoData into;
	StringInfoData from;
	SPIPlanPtr plan;

	initStringInfo(&into);
	initStringInfo(&from);
	*n = 0;
	for (int i = 0; rb_meshing_has(t, i); i++)
	{
		if (t->attno[i] == 0)
			continue;
		appendStringInfo(&into, "%s%s", *n > 0 ? ", " : "", c[i].name);
		appendStringInfo(&from, "%spg_catalog.unnest($%d)", *n > 0 ? ", " : "", *n + 1);
		types[(*n)++] = array_type_of_mesh_column(c[i].type);
	}
	plan = SPI_prepare(psprintf("INSERT INTO %s (%s) SELECT * FROM ROWS FROM (%s)", t->quoted,
								into.data, from.data),
					   *n, types);
	if (plan == NULL)
		elog(ERROR, "%s: SPI_prepare: %s", function, SPI_result_code_string(SPI_result));
	return plan;
}

Relation
rb_meshing_table_open(rb_meshing_table *t, const char *function)
{
	Relation rel = rb_relation_open(t->relid, RowExclusiveLock, ACL_INSERT, function, t->quoted);

	find_mesh_table_columns(t, rel, ACL_INSERT, function);
	return rel;
}

/* Checks that rows can be inserted into an existing table. */
static void
check_existing_table(rb_meshing_table *t, const char *function)
{
	Relation rel = rb_meshing_table_open(t, function);
	int n;

	if (rel->rd_rel->relpersistence != RELPERSISTENCE_TEMP)
		PreventCommandIfReadOnly(psprintf("%s()", function));
	relation_close(rel, NoLock);
	/* Report a generated column, or a view that takes no rows, before the mesh is built. */
	SPI_freeplan(rb_meshing_prepare_insert(t, function, &n));
	if (is_any_row_visible(t, function))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s: table %s is not empty", function, t->quoted),
				 errhint("Truncate or drop the table, or use another name for the mesh.%s",
						 strncmp(function, "redblue_refine", 14) == 0
							 ? "  Omit facets, points and segments to refine the existing mesh."
							 : "")));
}

/* ---- missing tables ---- */

/* Returns the name of a column's type, to create a table of a mesh. */
static const char *
sql_type_name(Oid type)
{
	return type == INT8OID   ? "int8"
		   : type == INT4OID ? "int4"
		   : type == TEXTOID ? "text"
		   : type == BOOLOID ? "bool"
							 : "float8";
}

/* Creates a table of the mesh. */
static void
make_table(rb_meshing_table *t, const char *function)
{
	const rb_meshing_column *c = columns_of[t->kind];
	StringInfoData sql;
	int rc;

	initStringInfo(&sql);
	appendStringInfo(&sql, "CREATE TABLE %s (", t->quoted);
	for (int i = 0; rb_meshing_has(t, i); i++)
	{
		appendStringInfo(&sql, "%s%s pg_catalog.%s%s", i > 0 ? ", " : "", c[i].name,
						 sql_type_name(c[i].type), c[i].null ? "" : " NOT NULL");
		t->attno[i] = (AttrNumber) (i + 1);
	}
	appendStringInfoChar(&sql, ')');
	rc = SPI_execute(sql.data, false, 0);
	if (rc != SPI_OK_UTILITY)
		elog(ERROR, "%s: SPI_execute: %s", function, SPI_result_code_string(rc));
	t->made = true;
}

/*
 * Locks the name of a mesh until the end of the transaction, so that two transactions cannot both
 * find the same tables empty or create the same tables. It is an advisory lock, not one on a
 * relation, because other writers to the tables need not wait. Its last field is 3; in the locks of
 * users it is 1 or 2.
 */
static void
lock_name(const rb_meshing_table *first)
{
	const char *schema = first->schema;
	LOCKTAG tag;

	SET_LOCKTAG_ADVISORY(
		tag, MyDatabaseId,
		DatumGetUInt32(hash_any((const unsigned char *) schema, (int) strlen(schema))),
		DatumGetUInt32(hash_any((const unsigned char *) first->name, (int) strlen(first->name))),
		3);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
	AcceptInvalidationMessages();
}

/*
 * Finds and locks the tables of a mesh that is to be replaced. All of them are in the schema of the
 * first one. They are looked up after the name is locked, because a trigger of the first table may
 * drop another one, and a transaction that held the lock may have dropped all of them.
 */
void
rb_meshing_tables_continue(rb_meshing_table *tables, const char *function, const char *mesh)
{
	char *schema;
	char *name;
	Oid first;

	PreventCommandIfParallelMode(psprintf("%s()", function));
	split_name(function, mesh, &schema, &name);
	set_mesh_table_names(tables, function, schema, name);
	first = RangeVarGetRelid(makeRangeVar(schema, tables[0].name, -1), NoLock, true);
	if (!OidIsValid(first))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("%s: table \"%s\" of mesh \"%s\" does not exist", function,
						tables[0].quoted, mesh),
				 errdetail(
					 "Without facets, points and segments, the function refines an existing mesh."),
				 errhint("Specify at least one of these arguments to build a mesh.")));
	schema = get_namespace_name(get_rel_namespace(first));
	if (schema == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_SCHEMA),
						errmsg("%s: schema of mesh \"%s\" does not exist", function, mesh)));
	lock_name(set_mesh_table_names(tables, function, schema, name));
	rb_meshing_tables_find(tables, function, quote_qualified_identifier(schema, name));
	for (int i = 0; i < RB_MESH_TABLES; i++)
	{
		rb_meshing_table *t = &tables[i];
		Relation rel =
			rb_relation_open(t->relid, ShareRowExclusiveLock,
							 i == RB_MESH_VERTICES ? ACL_INSERT : ACL_DELETE, function, t->quoted);

		if (rel->rd_rel->relpersistence != RELPERSISTENCE_TEMP)
			PreventCommandIfReadOnly(psprintf("%s()", function));
		if (get_attnum(t->relid, "solid_id") > 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("%s: mesh \"%s\" consists of several solids and cannot be refined",
							function, mesh),
					 errdetail("Table %s has a column \"solid_id\".", t->quoted),
					 errhint("Build it again from its facets, with argument solid.")));
		find_mesh_table_columns(t, rel, ACL_INSERT, function);
		relation_close(rel, NoLock);
	}
}

void
rb_meshing_table_empty(const rb_meshing_table *t, const char *function)
{
	int rc = SPI_execute(psprintf("DELETE FROM %s", t->quoted), false, 0);

	if (rc < 0)
		elog(ERROR, "%s: SPI_execute: %s", function, SPI_result_code_string(rc));
	/* The remaining rows and the new ones would be two meshes in one table. */
	if (is_any_row_visible(t, function))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s: cannot replace rows of table %s", function, t->quoted),
				 errdetail("Some rows were left after a DELETE of all rows: a trigger, a rule or a "
						   "policy prevents their deletion.")));
}

void
rb_meshing_tables_make(rb_meshing_table *tables, const char *function)
{
	Oid namespace;

	PreventCommandIfParallelMode(psprintf("%s()", function));
	lock_name(&tables[0]);
	namespace = get_namespace_oid(tables[0].schema, false);
	for (int i = 0; i < RB_MESH_TABLES; i++)
		tables[i].relid = get_relname_relid(tables[i].name, namespace);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "%s: SPI_connect failed", function);
	for (int i = 0; i < RB_MESH_TABLES; i++)
		if (OidIsValid(tables[i].relid))
			check_existing_table(&tables[i], function);
	for (int i = 0; i < RB_MESH_TABLES; i++)
		if (!OidIsValid(tables[i].relid))
		{
			make_table(&tables[i], function);
			tables[i].relid =
				RangeVarGetRelid(makeRangeVar(tables[i].schema, tables[i].name, -1), NoLock, false);
		}
	SPI_finish();
}
