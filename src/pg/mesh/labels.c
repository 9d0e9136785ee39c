/*
 * labels.c
 *	  Reads the labels by which a file groups the faces or tetrahedra of a mesh: the values of a
 *	  column, as texts.
 *
 * The column belongs to the rows that the mesh was built from, whose ids are those of facets or
 * regions, or else to the table of the mesh itself. If all labels are positive integers of 31 bits,
 * they are the ids of their groups; otherwise groups are numbered from 1 in the order of labels.
 */
#include "pg/mesh/meshing.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/portal.h"
#include "utils/rel.h"

#define FETCH 10000 /* Rows fetched at a time */

typedef struct label
{
	const char *text; /* Key; must be first */
	uint32 number;    /* Number in the order of appearance */
	int64 id;
} label;

/* Labels that were read, in a hash table by text and in a list by number */
typedef struct label_list
{
	HTAB *table;
	label **of;
	uint32 n;
	uint32 cap;
} label_list;

/* Hashes the text of a label; the key is a pointer to it. */
static uint32
hash_label(const void *key, Size size)
{
	const char *text = *(const char *const *) key;

	return DatumGetUInt32(hash_any((const unsigned char *) text, (int) strlen(text)));
}

/* Compares the texts of two labels, for the hash table. */
static int
match_labels(const void *a, const void *b, Size size)
{
	return strcmp(*(const char *const *) a, *(const char *const *) b);
}

/* Returns the number of a label, which is added if it is new. */
static uint32
number_label(label_list *list, char *text)
{
	bool found;
	label *l = hash_search(list->table, &text, HASH_ENTER, &found);

	if (found)
		return l->number;
	l->text = pstrdup(text);
	l->number = list->n;
	if (list->n == list->cap)
	{
		list->cap = Max(64, 2 * list->cap);
		list->of = list->of == NULL ? palloc_extended(list->cap * sizeof *list->of, MCXT_ALLOC_HUGE)
									: repalloc_huge(list->of, list->cap * sizeof *list->of);
	}
	list->of[list->n] = l;
	return list->n++;
}

/* Reads a label as a positive integer of 31 bits, written as PostgreSQL writes it, or returns 0. */
static int64
integer_label(const char *text)
{
	int64 x = 0;

	if (text[0] < '1' || text[0] > '9')
		return 0;
	for (; *text >= '0' && *text <= '9'; text++)
	{
		x = 10 * x + (*text - '0');
		if (x > PG_INT32_MAX)
			return 0;
	}
	return *text == '\0' ? x : 0;
}

/* Orders labels by id, then by text. */
static int
compare_labels(const void *a, const void *b)
{
	const label *x = *(label *const *) a;
	const label *y = *(label *const *) b;

	return x->id != y->id ? (x->id < y->id ? -1 : 1) : strcmp(x->text, y->text);
}

/* Gives the labels their ids, and sorts the list by id. */
static void
sort_labels(label_list *list)
{
	bool integers = true;

	for (uint32 i = 0; i < list->n; i++)
		integers &= integer_label(list->of[i]->text) > 0;
	for (uint32 i = 0; i < list->n; i++)
		list->of[i]->id = integers ? integer_label(list->of[i]->text) : 0;
	if (list->n > 0)
		qsort(list->of, list->n, sizeof *list->of, compare_labels);
	for (uint32 i = 0; i < list->n && !integers; i++)
		list->of[i]->id = (int64) i + 1;
}

/* Returns the quoted name of the id column of rows. */
static const char *
find_id_column_of_labels(Relation rel, const rb_source *source)
{
	const TupleDesc desc = RelationGetDescr(rel);
	rb_column column;

	if (source->id_name != NULL)
		column = rb_column_named(desc, source->id_name, source);
	else
	{
		List *key = rb_primary_key(rel);

		column = list_length(key) == 1 ? (rb_column){(AttrNumber) linitial_int(key), InvalidOid}
									   : rb_column_named(desc, "id", source);
	}
	return quote_identifier(NameStr(TupleDescAttr(desc, column.attno - 1)->attname));
}

/*
 * Writes the query of the labels of all rows of a table of the mesh, in the order of their ids. Its
 * columns are the label, whether rows with one id differ in it, and that id. Removes quotes from the
 * name of the column.
 */
static char *
make_label_query(const rb_meshing_table *t, rb_meshing_label_source *from, const char *function)
{
	const char *key = t->kind == RB_MESH_FACES ? "facet_id" : "region";
	const bool own = !OidIsValid(from->relid);
	Relation rel = rb_relation_open(own ? t->relid : from->relid, AccessShareLock, ACL_SELECT,
									function, own ? "mesh" : from->side);
	const TupleDesc desc = RelationGetDescr(rel);
	const rb_source source = {
		.function = function, .side = own ? t->quoted : from->side, .id_name = from->id_name};
	const rb_column column = rb_column_named(desc, from->column, &source);
	const char *name = quote_identifier(NameStr(TupleDescAttr(desc, column.attno - 1)->attname));
	StringInfoData sql;

	from->column = pstrdup(NameStr(TupleDescAttr(desc, column.attno - 1)->attname));
	initStringInfo(&sql);
	if (own)
		appendStringInfo(&sql, "SELECT %s::pg_catalog.text, false, %s FROM %s ORDER BY id", name,
						 key, t->quoted);
	else
		appendStringInfo(
			&sql,
			"SELECT r.low, r.low OPERATOR(pg_catalog.<>) r.high"
			" OR r.labels NOT IN (0, r.n), m.%s"
			" FROM %s m LEFT JOIN (SELECT id, min(label) AS low, max(label) AS high,"
			" count(label) AS labels, count(*) AS n FROM (SELECT %s::pg_catalog.int8 AS id,"
			" %s::pg_catalog.text COLLATE \"C\" AS label FROM %s) l GROUP BY id) r"
			" ON r.id OPERATOR(pg_catalog.=) m.%s ORDER BY m.id",
			key, t->quoted, find_id_column_of_labels(rel, &source), name,
			quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
									   RelationGetRelationName(rel)),
			key);
	relation_close(rel, NoLock);
	return sql.data;
}

/* Reads one row of the query, and returns the number of its label, or RB_NONE. */
static uint32
read_label(const rb_meshing_run *run, const rb_meshing_label_source *from, label_list *list,
		   HeapTuple row, TupleDesc desc)
{
	bool null;
	char *text;
	uint32 number;
	Datum differ = SPI_getbinval(row, desc, 2, &null);

	if (!null && DatumGetBool(differ))
	{
		const int64 id = DatumGetInt64(SPI_getbinval(row, desc, 3, &null));

		ereport(ERROR, (errcode(ERRCODE_CARDINALITY_VIOLATION),
						errmsg("%s: rows of %s with id " INT64_FORMAT
							   " have different values in column \"%s\"",
							   run->call->function, from->side, id, from->column),
						errdetail("A facet or region can belong to only one group.")));
	}
	text = SPI_getvalue(row, desc, 1);
	if (text == NULL)
		return RB_NONE;
	number = number_label(list, text);
	pfree(text);
	return number;
}

/* Reads the number of the label of each row. */
static void
read_numbers(const rb_meshing_run *run, const rb_meshing_table *t, rb_meshing_label_source *from,
			 label_list *list, int64 *number, uint32 n)
{
	MemoryContext own = CurrentMemoryContext;
	uint64 read = 0;
	Portal portal;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "%s: SPI_connect failed", run->call->function);
	portal = SPI_cursor_open_with_args(NULL, make_label_query(t, from, run->call->function), 0,
									   NULL, NULL, NULL, true, 0);
	do
	{
		CHECK_FOR_INTERRUPTS();
		SPI_cursor_fetch(portal, true, FETCH);
		MemoryContextSwitchTo(own); /* Labels outlive SPI. */
		for (uint64 i = 0; i < SPI_processed; i++, read++)
			if (read < n)
			{
				const uint32 k =
					read_label(run, from, list, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);

				number[read] = k == RB_NONE ? RB_MESH_NO_LABEL : (int64) k;
			}
		SPI_freetuptable(SPI_tuptable);
	} while (SPI_processed > 0);
	SPI_cursor_close(portal);
	SPI_finish();
	MemoryContextSwitchTo(own);
	if (read != n)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("%s: table %s was altered during execution", run->call->function,
							   t->quoted)));
}

const rb_mesh_labels *
rb_meshing_labels_read(rb_meshing_run *run, const rb_meshing_table *t,
					   rb_meshing_label_source *from, uint32 n)
{
	HASHCTL control = {.keysize = sizeof(char *),
					   .entrysize = sizeof(label),
					   .hash = hash_label,
					   .match = match_labels,
					   .hcxt = CurrentMemoryContext};
	label_list list = {.table =
						   hash_create("redblue labels", 64, &control,
									   HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT)};
	rb_mesh_labels *labels = palloc0(sizeof *labels);
	int64 *of = rb_meshing_array(run, n, sizeof *of);
	int64 *id;
	int64 *id_of_number;
	const char **text;

	read_numbers(run, t, from, &list, of, n);
	sort_labels(&list);
	id = rb_meshing_array(run, list.n, sizeof *id);
	id_of_number = rb_meshing_array(run, list.n, sizeof *id_of_number);
	text = rb_meshing_array(run, list.n, sizeof *text);
	for (uint32 i = 0; i < list.n; i++)
	{
		id[i] = list.of[i]->id;
		text[i] = pg_server_to_any(list.of[i]->text, (int) strlen(list.of[i]->text), PG_UTF8);
		id_of_number[list.of[i]->number] = id[i];
	}
	for (uint32 i = 0; i < n; i++)
		if (of[i] != RB_MESH_NO_LABEL)
			of[i] = id_of_number[of[i]];
	rb_free(run->memory, (void **) &id_of_number);
	*labels = (rb_mesh_labels){.of = of, .n = list.n, .id = id, .text = text};
	return labels;
}
