/*
 * indexes.c
 *	  Finds the primary key of a table and its unique columns, from its indexes.
 *
 * The caller has opened and locked the table, so the result remains valid.
 */
#include "pg/read/read.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "utils/rel.h"
#include "utils/syscache.h"

static bool
has_indexes(Relation rel)
{
	char kind = rel->rd_rel->relkind;

	return kind == RELKIND_RELATION || kind == RELKIND_MATVIEW || kind == RELKIND_PARTITIONED_TABLE;
}

static List *
key_columns(Form_pg_index index)
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

	if (!has_indexes(rel))
		return NIL;
	foreach (lc, RelationGetIndexList(rel))
	{
		HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(lc)));

		if (!HeapTupleIsValid(tuple))
			continue;
		if (((Form_pg_index) GETSTRUCT(tuple))->indisprimary)
			attnos = key_columns((Form_pg_index) GETSTRUCT(tuple));
		ReleaseSysCache(tuple);
	}
	return attnos;
}

/*
 * Returns true if the index enforces uniqueness of this column alone, for all rows and without
 * deferral.
 */
static bool
is_unique_index(HeapTuple tuple, AttrNumber attno)
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
	if (!has_indexes(rel) ||
		(rel->rd_rel->relhassubclass && rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE))
		return false;
	foreach (lc, RelationGetIndexList(rel))
	{
		HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(lc)));

		if (!HeapTupleIsValid(tuple))
			continue;
		unique |= is_unique_index(tuple, attno);
		ReleaseSysCache(tuple);
	}
	return unique;
}
