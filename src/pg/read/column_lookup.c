/*
 * column_lookup.c
 *	  Finds columns by name or by their indexes, and converts their values to numbers and to text
 *	  for messages.
 *
 * Dropped columns are ignored; a duplicate column name, which a query may have, is an error. A name
 * given by the caller may be quoted as in SQL.
 *
 * The caller has opened and locked the table, so what its indexes show remains valid.
 */
#include "pg/read/read.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#define RB_LISTED_COLUMNS 40
#define RB_LONGEST_TEXT 100 /* Maximum length of a value in a message, in bytes */

static const char *const coordinate_names[RB_KINDS][RB_MAX_WIDTH] = {
	[RB_TRIANGLE3] = {"ax", "ay", "az", "bx", "by", "bz", "cx", "cy", "cz"},
	[RB_SEGMENT3] = {"ax", "ay", "az", "bx", "by", "bz"},
	[RB_SEGMENT2] = {"ax", "ay", "bx", "by"},
	[RB_BOX3] = {"lx", "ly", "lz", "hx", "hy", "hz"},
	[RB_BOX2] = {"lx", "ly", "hx", "hy"},
	[RB_POINT3] = {"x", "y", "z"},
	[RB_CUBOID3] = {"x", "y", "z", "dx", "dy", "dz"},
	[RB_PLANE3] = {"x", "y", "z", "nx", "ny", "nz"},
	[RB_EDGE2] = {NULL}, /* Polygons have no coordinate columns */
};

int
rb_coordinate_columns(rb_kind kind)
{
	return coordinate_names[kind][0] != NULL ? rb_kind_width(kind) : 0;
}

const char *
rb_coordinate_name(rb_kind kind, int i)
{
	return coordinate_names[kind][i];
}

char *
rb_list_columns(TupleDesc desc)
{
	StringInfoData list;
	int listed = 0;

	initStringInfo(&list);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			continue;
		if (listed++ == RB_LISTED_COLUMNS)
		{
			appendStringInfoString(&list, ", ...");
			break;
		}
		appendStringInfo(&list, "%s%s %s", listed > 1 ? ", " : "", NameStr(att->attname),
						 format_type_be(att->atttypid));
	}
	return listed == 0 ? pstrdup("none") : list.data;
}

double
rb_number_to_float8(Datum value, Oid type, PGFunction of_numeric)
{
	switch (type)
	{
		case FLOAT8OID:
			return DatumGetFloat8(value);
		case FLOAT4OID:
			return (double) DatumGetFloat4(value);
		case INT2OID:
			return (double) DatumGetInt16(value);
		case INT4OID:
			return (double) DatumGetInt32(value);
		case INT8OID:
			return (double) DatumGetInt64(value);
		default:
			return DatumGetFloat8(DirectFunctionCall1(of_numeric, value));
	}
}

char *
rb_shorten(char *text)
{
	int length = pg_mbcliplen(text, (int) strlen(text), RB_LONGEST_TEXT);

	return text[length] == '\0' ? text : psprintf("%.*s...", length, text);
}

/* Removes the quotes of a quoted SQL identifier. */
static const char *
remove_identifier_quotes(const char *name)
{
	size_t len = strlen(name);
	char *result;
	char *to;

	if (len < 3 || name[0] != '"' || name[len - 1] != '"')
		return name;
	result = to = palloc(len);
	for (size_t i = 1; i < len - 1; i++)
	{
		*to++ = name[i];
		if (name[i] == '"' && i + 1 < len - 1 && name[i + 1] == '"')
			i++;
	}
	*to = '\0';
	return result;
}

/* Returns the first column whose name differs only in case, or NULL. */
static const char *
find_column_in_other_case(TupleDesc desc, const char *name)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && pg_strcasecmp(NameStr(att->attname), name) == 0)
			return NameStr(att->attname);
	}
	return NULL;
}

/* Returns the column of this name, or attno 0 if there is none. A duplicate name is an error. */
rb_column
rb_column_find(TupleDesc desc, const char *name, const rb_source *source)
{
	rb_column column = {0, InvalidOid};

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped || strcmp(NameStr(att->attname), name) != 0)
			continue;
		if (column.attno != 0)
			ereport(ERROR, (errcode(ERRCODE_AMBIGUOUS_COLUMN),
							errmsg("%s: %s has several columns named \"%s\"", source->function,
								   source->side, name),
							errdetail("The columns are: %s.", rb_list_columns(desc))));
		column.attno = att->attnum;
		column.type = getBaseType(att->atttypid);
	}
	return column;
}

/*
 * Finds a column by the caller's name, as given or without its quotes. Returns attno 0 if there is
 * none.
 */
static rb_column
find_column_as_given(TupleDesc desc, const char **name, const rb_source *source)
{
	rb_column column = rb_column_find(desc, *name, source);

	if (column.attno == 0)
	{
		*name = remove_identifier_quotes(*name);
		column = rb_column_find(desc, *name, source);
	}
	return column;
}

rb_column
rb_column_named(TupleDesc desc, const char *name, const rb_source *source)
{
	rb_column column = find_column_as_given(desc, &name, source);
	const char *other = column.attno == 0 ? find_column_in_other_case(desc, name) : NULL;

	if (column.attno == 0)
		ereport(
			ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("%s: %s has no column \"%s\"", source->function, source->side, name),
			 errdetail("The columns are: %s.", rb_list_columns(desc)),
			 other == NULL
				 ? 0
				 : errhint(
					   "Column names are case-sensitive here; the name of the column is \"%s\".",
					   other)));
	return column;
}

/* ---- indexes ---- */

/*
 * Returns true if the relation is of a kind that may have indexes, such as a table or a
 * materialized view.
 */
static bool
can_relation_have_indexes(Relation rel)
{
	char kind = rel->rd_rel->relkind;

	return kind == RELKIND_RELATION || kind == RELKIND_MATVIEW || kind == RELKIND_PARTITIONED_TABLE;
}

/* Returns the column numbers of the key of an index, without included columns. */
static List *
key_columns_of_index(Form_pg_index index)
{
	List *attnos = NIL;

	for (int i = 0; i < index->indnkeyatts; i++)
		attnos = lappend_int(attnos, index->indkey.values[i]);
	return attnos;
}

List *
rb_primary_key(Relation rel)
{
	List *attnos = NIL;
	ListCell *lc;

	if (!can_relation_have_indexes(rel))
		return NIL;
	foreach (lc, RelationGetIndexList(rel))
	{
		HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(lc)));

		if (!HeapTupleIsValid(tuple))
			continue;
		if (((Form_pg_index) GETSTRUCT(tuple))->indisprimary)
			attnos = key_columns_of_index((Form_pg_index) GETSTRUCT(tuple));
		ReleaseSysCache(tuple);
	}
	return attnos;
}

/*
 * Returns true if the index enforces uniqueness of this column alone, for all rows and without
 * deferral.
 */
static bool
is_unique_index_of_column(HeapTuple tuple, AttrNumber attno)
{
	Form_pg_index index = (Form_pg_index) GETSTRUCT(tuple);

	return index->indisunique && index->indimmediate && index->indisvalid &&
		   index->indnkeyatts == 1 && index->indkey.values[0] == attno &&
		   heap_attisnull(tuple, Anum_pg_index_indpred, NULL);
}

bool
rb_column_is_unique(Relation rel, AttrNumber attno)
{
	bool unique = false;
	ListCell *lc;

	/* The indexes of a table with children do not cover the rows of the children. */
	if (!can_relation_have_indexes(rel) ||
		(rel->rd_rel->relhassubclass && rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE))
		return false;
	foreach (lc, RelationGetIndexList(rel))
	{
		HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(lc)));

		if (!HeapTupleIsValid(tuple))
			continue;
		unique |= is_unique_index_of_column(tuple, attno);
		ReleaseSysCache(tuple);
	}
	return unique;
}
