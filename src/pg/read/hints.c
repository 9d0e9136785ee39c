/*
 * hints.c
 *	  Suggests what the caller may have intended, in hints that can be pasted.
 *
 * Real tables call their key gid, ogc_fid or fid, and it may be a uuid; their geometry may be a
 * geography, or imported text. If a column is missing or has the wrong type, the hint considers the
 * columns that exist.
 */
#include "pg/read/read.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/* ---- names ---- */

char *
rb_list_names(TupleDesc desc, List *attnos)
{
	StringInfoData list;
	ListCell *lc;

	initStringInfo(&list);
	foreach (lc, attnos)
		appendStringInfo(
			&list, "%s%s", list.len > 0 ? ", " : "",
			quote_identifier(NameStr(TupleDescAttr(desc, lfirst_int(lc) - 1)->attname)));
	return list.data;
}

/* Returns the first few columns whose type is suitable for an id, except coordinates. */
static List *
id_columns(TupleDesc desc, rb_kind kind)
{
	List *attnos = NIL;

	for (int i = 0; i < desc->natts && list_length(attnos) < 5; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Oid type;
		bool coordinate = false;

		if (att->attisdropped)
			continue;
		type = getBaseType(att->atttypid);
		for (int k = 0; k < rb_kind_width(kind); k++)
			coordinate |= strcmp(NameStr(att->attname), rb_coordinate_name(kind, k)) == 0;
		if (!coordinate && (type == INT2OID || type == INT4OID || type == INT8OID))
			attnos = lappend_int(attnos, att->attnum);
	}
	return attnos;
}

/* Returns the name of the corresponding function for keys of any type, or NULL if there is none. */
static char *
function_by_key(const rb_source *source)
{
	char *name = pstrdup(source->function);
	size_t len = strlen(name);

	if (len > 6 && strcmp(name + len - 6, "_query") == 0)
		name[len - 6] = '\0';
	len = strlen(name);
	if (len <= 6 || strcmp(name + len - 6, "_pairs") != 0)
		return NULL;
	return psprintf("%s_by_key", name);
}

/* Returns the relation as SQL writes it, or "..." for a query. */
static const char *
relation_name(const rb_source *source)
{
	return source->rel == NULL
			   ? "..."
			   : quote_qualified_identifier(get_namespace_name(RelationGetNamespace(source->rel)),
											RelationGetRelationName(source->rel));
}

/* ---- ids ---- */

/* Returns the first of the columns that has a unique index of its own, or 0. */
static AttrNumber
first_unique(const rb_source *source, List *attnos)
{
	ListCell *lc;

	foreach (lc, attnos)
		if (source->rel != NULL && rb_column_is_unique(source->rel, (AttrNumber) lfirst_int(lc)))
			return (AttrNumber) lfirst_int(lc);
	return 0;
}

/*
 * Returns the name of an argument, such as red_id. The single side of redblue_cache needs no
 * prefix, and the objects of a solid side are called solids.
 */
const char *
rb_source_argument(const rb_source *source, const char *what)
{
	if (source->solid && strcmp(what, "object") == 0)
		return "solid";
	return source->keep ? what : psprintf("%s_%s", source->side, what);
}

static char *
way_to_name_id(TupleDesc desc, const rb_source *source, AttrNumber attno)
{
	const char *name = NameStr(TupleDescAttr(desc, attno - 1)->attname);

	if (source->query)
		return psprintf("Write SELECT %s AS id, ... in the query, or use %s_id => %s in the call.",
						quote_identifier(name), source->side, quote_literal_cstr(name));
	return psprintf("Name the column in the call: %s => %s.", rb_source_argument(source, "id"),
					quote_literal_cstr(name));
}

/*
 * Suggests the function for keys of any type with these columns. Returns NULL if there is no such
 * function.
 */
static char *
way_to_keys(const rb_source *source, const char *columns)
{
	const char *function = function_by_key(source);

	if (function == NULL || source->query)
		return NULL;
	return psprintf("For keys of any type, use %s(..., %s_%s => %s) AS (...).", function,
					source->side, source->object_name != NULL ? "object" : "key",
					quote_literal_cstr(columns));
}

static char *
way_to_number(const rb_source *source)
{
	if (source->query)
		return pstrdup("Number the rows: SELECT row_number() OVER () AS id, ...");
	return psprintf("Number the rows: CREATE VIEW numbered AS SELECT row_number() OVER () AS id, * "
					"FROM %s;",
					relation_name(source));
}

/*
 * Returns true if the primary key is a single column of type numeric or double precision, as
 * shapefile imports create it.
 */
static bool
is_key_of_numbers(TupleDesc desc, List *key)
{
	Oid type = list_length(key) != 1
				   ? InvalidOid
				   : getBaseType(TupleDescAttr(desc, linitial_int(key) - 1)->atttypid);

	return type == NUMERICOID || type == FLOAT8OID;
}

/*
 * Returns the best suggestion. `column` is one that cannot be an id, or NULL; `key` is the primary
 * key.
 */
static char *
way_to_id(TupleDesc desc, const rb_source *source, const char *column, List *key, List *ids)
{
	AttrNumber unique = first_unique(source, ids);
	char *way = NULL;

	if (source->object_name == NULL && unique != 0)
		return way_to_name_id(desc, source, unique);
	if (source->object_name == NULL && is_key_of_numbers(desc, key))
		return way_to_name_id(desc, source, (AttrNumber) linitial_int(key));
	if (column != NULL || key != NIL)
		way = way_to_keys(source,
						  column != NULL ? quote_identifier(column) : rb_list_names(desc, key));
	if (way == NULL && source->object_name == NULL && ids != NIL)
		return way_to_name_id(desc, source, (AttrNumber) linitial_int(ids));
	return way != NULL ? way : way_to_number(source);
}

int
rb_hint_id(TupleDesc desc, const rb_source *source, const char *column)
{
	List *key = source->rel == NULL ? NIL : rb_primary_key(source->rel);
	List *ids = id_columns(desc, source->kind);
	StringInfoData text;

	initStringInfo(&text);
	if (ids != NIL)
		appendStringInfo(&text, "The %s has the integer column%s %s",
						 source->query ? "query" : "table", list_length(ids) > 1 ? "s" : "",
						 rb_list_names(desc, ids));
	if (key != NIL)
		appendStringInfo(&text, "%s primary key is %s", ids != NIL ? "; its" : "Its",
						 rb_list_names(desc, key));
	if (text.len > 0)
		appendStringInfoString(&text, ". ");
	return errhint("%s%s", text.data, way_to_id(desc, source, column, key, ids));
}

/* ---- geometry ---- */

/* Returns how to convert a value of this type to a geometry, or NULL. */
static const char *
conversion_to_geometry(Oid type)
{
	char *name = get_typtype(type) == TYPTYPE_BASE ? format_type_be(type) : NULL;
	const char *unqualified = name == NULL ? NULL : strrchr(name, '.');

	if (type == TEXTOID || type == VARCHAROID || type == BPCHAROID)
		return "ST_GeomFromText(%s)";
	if (type == BYTEAOID)
		return "ST_GeomFromWKB(%s)";
	if (type == JSONOID || type == JSONBOID)
		return "ST_GeomFromGeoJSON(%s)";
	if (name != NULL && strcmp(unqualified == NULL ? name : unqualified + 1, "geography") == 0)
		return "%s::geometry";
	return NULL;
}

/* Returns true if text, bytes or JSON in a column of this name are probably a geometry. */
static bool
sounds_like_geometry(const char *name)
{
	static const char *const names[] = {"geom",         "geometry", "the_geom", "wkt",    "wkb",
										"wkb_geometry", "shape",    "geog",     "geojson"};

	for (size_t i = 0; i < lengthof(names); i++)
		if (pg_strcasecmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Returns a column that can be converted to a geometry, or 0. */
static AttrNumber
find_convertible(TupleDesc desc)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Oid type = att->attisdropped ? InvalidOid : getBaseType(att->atttypid);
		const char *how = att->attisdropped ? NULL : conversion_to_geometry(type);

		if (how != NULL && (how[0] == '%' || sounds_like_geometry(NameStr(att->attname))))
			return att->attnum;
	}
	return 0;
}

/* Returns the columns that identify the rows, for a view that contains them and the geometry. */
static const char *
identifying_columns(const rb_source *source)
{
	TupleDesc key = source->keys == NULL ? NULL : rb_keys_desc(source->keys);
	List *attnos = NIL;

	if (key != NULL)
	{
		for (int i = 1; i <= key->natts; i++)
			attnos = lappend_int(attnos, i);
		return rb_list_names(key, attnos);
	}
	if (source->object_name != NULL)
		return quote_identifier(source->object_name);
	if (source->id_name == NULL || strcmp(source->id_name, "id") == 0)
		return "id";
	return psprintf("%s AS id", quote_identifier(source->id_name));
}

int
rb_hint_geometry(TupleDesc desc, const rb_source *source, AttrNumber column, const char *otherwise)
{
	AttrNumber attno = column != 0 ? column : find_convertible(desc);
	const char *how =
		attno == 0 ? NULL
				   : conversion_to_geometry(getBaseType(TupleDescAttr(desc, attno - 1)->atttypid));
	const char *name;
	char *made;

	if (how == NULL)
		return otherwise == NULL ? 0 : errhint("%s", otherwise);
	name = quote_identifier(NameStr(TupleDescAttr(desc, attno - 1)->attname));
	made = how[0] == '%' ? psprintf("%s::geometry", name)
						 : psprintf("%.*s(%s)", (int) (strchr(how, '(') - how), how, name);
	if (source->query)
		return errhint("Write SELECT ..., %s AS geom in the query.", made);
	return errhint("Convert the column to a geometry in a view: CREATE VIEW shapes AS "
				   "SELECT %s, %s AS geom FROM %s;",
				   identifying_columns(source), made, relation_name(source));
}

/* ---- coordinates ---- */

/*
 * Common names of coordinate columns; X stands for the axis, and there is one name for each corner
 */
static const char *const other_names[][3] = {
	{"X1", "X2", "X3"},       {"X0", "X1", "X2"},         {"X_1", "X_2", "X_3"},
	{"Xmin", "Xmax", NULL},   {"X_min", "X_max", NULL},   {"minX", "maxX", NULL},
	{"min_X", "max_X", NULL}, {"X_start", "X_end", NULL}, {"start_X", "end_X", NULL},
	{"Xstart", "Xend", NULL},
};

/* Returns the number of the column that a pattern names, ignoring case, or 0. */
static AttrNumber
find_by_pattern(TupleDesc desc, const char *pattern, char axis)
{
	char *name = pstrdup(pattern);

	*strchr(name, 'X') = axis;
	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped &&
			pg_strcasecmp(NameStr(TupleDescAttr(desc, i)->attname), name) == 0)
			return (AttrNumber) (i + 1);
	return 0;
}

/*
 * Returns "x1 AS ax, y1 AS ay, ..." if the table has all coordinates of the kind by these names,
 * else NULL.
 */
static char *
rename_coordinates(TupleDesc desc, rb_kind kind, const char *const *names)
{
	const int width = rb_kind_width(kind), dims = kind == RB_SEGMENT2 || kind == RB_BOX2 ? 2 : 3;
	StringInfoData list;

	initStringInfo(&list);
	for (int k = 0; k < width; k++)
	{
		AttrNumber attno =
			names[k / dims] == NULL ? 0 : find_by_pattern(desc, names[k / dims], "xyz"[k % dims]);

		if (attno == 0)
			return NULL;
		appendStringInfo(&list, "%s%s AS %s", k > 0 ? ", " : "",
						 quote_identifier(NameStr(TupleDescAttr(desc, attno - 1)->attname)),
						 rb_coordinate_name(kind, k));
	}
	return list.data;
}

char *
rb_way_to_coordinates(TupleDesc desc, const rb_source *source)
{
	const rb_kind kinds[] = {source->kind, source->kind == RB_BOX3 ? RB_BOX2 : source->kind};

	if (source->kind == RB_POINT3)
		return NULL;
	for (size_t i = 0; i < lengthof(kinds) * lengthof(other_names); i++)
	{
		char *renamed = rename_coordinates(desc, kinds[i / lengthof(other_names)],
										   other_names[i % lengthof(other_names)]);

		if (renamed != NULL && source->query)
			return psprintf("Write SELECT ..., %s in the query.", renamed);
		if (renamed != NULL)
			return psprintf(
				"Rename the columns in a view: CREATE VIEW shapes AS SELECT %s, %s FROM %s;",
				identifying_columns(source), renamed, relation_name(source));
	}
	return NULL;
}
