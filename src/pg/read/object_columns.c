/*
 * object_columns.c
 *	  Determines which columns of a row form an object, by their names, in any order, ignoring all
 *	  others.
 *
 *	1. The id: the column of objects, if the caller named one; else the column named by
 *	   the caller; else a table's primary key, if source.c found it to be one integer;
 *	   else "id".  It is an integer, or a number that holds one.  Instead of an id there
 *	   may be the columns of a key (composite_keys.c).  If rows need no id (nameless), one that
 *	   exists is still used.
 *	2. The object: the geometry column named by the caller; else all coordinate columns
 *	   of the kind, if they exist (ax, ay, ...: such a set of names is no coincidence,
 *	   and needs no decoding); else the geometry column "geom"; else the only geometry
 *	   column.  For boxes, a column of a box type counts as a geometry column, and
 *	   coordinate columns form boxes in the plane if neither lz nor hz exists.
 *
 * A column that is missing, of a wrong type, or ambiguous raises an error that lists the columns
 * found.
 *
 * The hints of these errors suggest what the caller may have intended, and can be pasted. Real
 * tables call their key gid, ogc_fid or fid, and it may be a uuid; their geometry may be a
 * geography, or imported text. If a column is missing or has the wrong type, the hint considers the
 * columns that exist.
 *
 * A geometry is recognized by the name of its type (box_types.c), so nothing here depends on
 * PostGIS. A domain counts as its base type.
 */
#include "pg/read/read.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* ---- hints: names ---- */

/* Returns a comma-separated list of column names. */
static char *
list_column_names(TupleDesc desc, List *attnos)
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
list_id_candidates(TupleDesc desc, rb_kind kind)
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
		for (int k = 0; k < rb_coordinate_columns(kind); k++)
			coordinate |= strcmp(NameStr(att->attname), rb_coordinate_name(kind, k)) == 0;
		if (!coordinate && (type == INT2OID || type == INT4OID || type == INT8OID))
			attnos = lappend_int(attnos, att->attnum);
	}
	return attnos;
}

/* Returns the name of the corresponding function for keys of any type, or NULL if there is none. */
static char *
name_of_function_by_key(const rb_source *source)
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
sql_name_of_relation(const rb_source *source)
{
	return source->rel == NULL
			   ? "..."
			   : quote_qualified_identifier(get_namespace_name(RelationGetNamespace(source->rel)),
											RelationGetRelationName(source->rel));
}

/* ---- hints: ids ---- */

/* Returns the first of the columns that has a unique index of its own, or 0. */
static AttrNumber
first_unique_column(const rb_source *source, List *attnos)
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

/* Returns a hint that names a column as the id, in the call or in the query. */
static char *
suggest_naming_id(TupleDesc desc, const rb_source *source, AttrNumber attno)
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
suggest_function_by_key(const rb_source *source, const char *columns)
{
	const char *function = name_of_function_by_key(source);

	if (function == NULL || source->query)
		return NULL;
	return psprintf("For keys of any type, use %s(..., %s_%s => %s) AS (...).", function,
					source->side, source->object_name != NULL ? "object" : "key",
					quote_literal_cstr(columns));
}

/* Returns a hint to number the rows, in a view or in the query. */
static char *
suggest_numbering_rows(const rb_source *source)
{
	if (source->query)
		return pstrdup("Number the rows: SELECT row_number() OVER () AS id, ...");
	return psprintf("Number the rows: CREATE VIEW numbered AS SELECT row_number() OVER () AS id, * "
					"FROM %s;",
					sql_name_of_relation(source));
}

/*
 * Returns true if the primary key is a single column of type numeric or double precision, as
 * shapefile imports create it.
 */
static bool
is_primary_key_numeric(TupleDesc desc, List *key)
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
suggest_id_column(TupleDesc desc, const rb_source *source, const char *column, List *key, List *ids)
{
	AttrNumber unique = first_unique_column(source, ids);
	char *way = NULL;

	if (source->object_name == NULL && unique != 0)
		return suggest_naming_id(desc, source, unique);
	if (source->object_name == NULL && is_primary_key_numeric(desc, key))
		return suggest_naming_id(desc, source, (AttrNumber) linitial_int(key));
	if (column != NULL || key != NIL)
		way = suggest_function_by_key(source, column != NULL ? quote_identifier(column)
															 : list_column_names(desc, key));
	if (way == NULL && source->object_name == NULL && ids != NIL)
		return suggest_naming_id(desc, source, (AttrNumber) linitial_int(ids));
	return way != NULL ? way : suggest_numbering_rows(source);
}

/* For ereport: adds a hint about a missing id, or about a column that cannot be an id. */
static int
hint_id_column(TupleDesc desc, const rb_source *source, const char *column)
{
	List *key = source->rel == NULL ? NIL : rb_primary_key(source->rel);
	List *ids = list_id_candidates(desc, source->kind);
	StringInfoData text;

	initStringInfo(&text);
	if (ids != NIL)
		appendStringInfo(&text, "The %s has the integer column%s %s",
						 source->query ? "query" : "table", list_length(ids) > 1 ? "s" : "",
						 list_column_names(desc, ids));
	if (key != NIL)
		appendStringInfo(&text, "%s primary key is %s", ids != NIL ? "; its" : "Its",
						 list_column_names(desc, key));
	if (text.len > 0)
		appendStringInfoString(&text, ". ");
	return errhint("%s%s", text.data, suggest_id_column(desc, source, column, key, ids));
}

/* ---- hints: geometry ---- */

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
is_name_like_geometry(const char *name)
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
find_convertible_column(TupleDesc desc)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Oid type = att->attisdropped ? InvalidOid : getBaseType(att->atttypid);
		const char *how = att->attisdropped ? NULL : conversion_to_geometry(type);

		if (how != NULL && (how[0] == '%' || is_name_like_geometry(NameStr(att->attname))))
			return att->attnum;
	}
	return 0;
}

/* Returns the columns that identify the rows, for a view that contains them and the geometry. */
static const char *
list_identifying_columns(const rb_source *source)
{
	TupleDesc key = source->keys == NULL ? NULL : source->keys->desc;
	List *attnos = NIL;

	if (key != NULL)
	{
		for (int i = 1; i <= key->natts; i++)
			attnos = lappend_int(attnos, i);
		return list_column_names(key, attnos);
	}
	if (source->object_name != NULL)
		return quote_identifier(source->object_name);
	if (source->id_name == NULL || strcmp(source->id_name, "id") == 0)
		return "id";
	return psprintf("%s AS id", quote_identifier(source->id_name));
}

/*
 * For ereport: adds a hint about a column (0 if none) that is not a geometry; `otherwise` is the
 * fallback text.
 */
static int
hint_geometry_column(TupleDesc desc, const rb_source *source, AttrNumber column,
					 const char *otherwise)
{
	AttrNumber attno = column != 0 ? column : find_convertible_column(desc);
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
				   list_identifying_columns(source), made, sql_name_of_relation(source));
}

/* ---- hints: coordinates ---- */

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
find_column_by_pattern(TupleDesc desc, const char *pattern, char axis)
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
suggest_coordinate_aliases(TupleDesc desc, rb_kind kind, const char *const *names)
{
	const int width = rb_kind_width(kind), dims = kind == RB_SEGMENT2 || kind == RB_BOX2 ? 2 : 3;
	StringInfoData list;

	initStringInfo(&list);
	for (int k = 0; k < width; k++)
	{
		AttrNumber attno = names[k / dims] == NULL
							   ? 0
							   : find_column_by_pattern(desc, names[k / dims], "xyz"[k % dims]);

		if (attno == 0)
			return NULL;
		appendStringInfo(&list, "%s%s AS %s", k > 0 ? ", " : "",
						 quote_identifier(NameStr(TupleDescAttr(desc, attno - 1)->attname)),
						 rb_coordinate_name(kind, k));
	}
	return list.data;
}

/*
 * Returns a sentence that suggests how to rename columns to the coordinate names, in a view or in
 * the query, or NULL if the columns do not look like coordinates.
 */
static char *
suggest_renaming_coordinates(TupleDesc desc, const rb_source *source)
{
	const rb_kind kinds[] = {source->kind, source->kind == RB_BOX3 ? RB_BOX2 : source->kind};

	if (source->kind == RB_POINT3 || source->kind == RB_EDGE2)
		return NULL;
	for (size_t i = 0; i < lengthof(kinds) * lengthof(other_names); i++)
	{
		char *renamed = suggest_coordinate_aliases(desc, kinds[i / lengthof(other_names)],
												   other_names[i % lengthof(other_names)]);

		if (renamed != NULL && source->query)
			return psprintf("Write SELECT ..., %s in the query.", renamed);
		if (renamed != NULL)
			return psprintf(
				"Rename the columns in a view: CREATE VIEW shapes AS SELECT %s, %s FROM %s;",
				list_identifying_columns(source), renamed, sql_name_of_relation(source));
	}
	return NULL;
}

/* ---- errors about columns ---- */

/* Returns the names of the coordinate columns of a kind, separated by spaces. */
static char *
list_coordinate_names(rb_kind kind)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < rb_coordinate_columns(kind); i++)
		appendStringInfo(&list, "%s%s", i > 0 ? " " : "", rb_coordinate_name(kind, i));
	return list.data;
}

/* Returns the names of the coordinate columns that a source accepts. */
static char *
list_accepted_coordinates(const rb_source *source)
{
	char *names = list_coordinate_names(source->kind);

	if (rb_source_other_kind(source) != source->kind)
		return psprintf("%s, or %s", names, list_coordinate_names(rb_source_other_kind(source)));
	return source->kind == RB_BOX3 ? psprintf("%s, or %s", names, list_coordinate_names(RB_BOX2))
								   : names;
}

/* Returns the types of columns that contain whole objects, for messages. */
static const char *
names_of_geometry_types(rb_kind kind)
{
	return kind == RB_BOX3 ? "geometry, box3d, box2d or cube" : "geometry";
}

/* Adds a hint on how to name one of several geometry columns. */
static int
hint_geometry_name(const rb_source *source, const char *name)
{
	if (source->query)
		return errhint("Name one of them in the query: SELECT ..., %s AS geom.",
					   quote_identifier(name));
	return errhint("Name one of them in the call: %s => %s.", rb_source_argument(source, "geom"),
				   quote_literal_cstr(name));
}

/*
 * Returns true if these are the columns of a segment but not of a triangle, which suggests that the
 * arguments are swapped.
 */
static bool
are_columns_of_segments(TupleDesc desc)
{
	int found = 0;

	for (int i = 0; i < desc->natts; i++)
		for (int k = 0; k < rb_kind_width(RB_TRIANGLE3); k++)
			if (!TupleDescAttr(desc, i)->attisdropped &&
				strcmp(NameStr(TupleDescAttr(desc, i)->attname),
					   rb_coordinate_name(RB_TRIANGLE3, k)) == 0)
				found |= 1 << k;
	return found == (1 << rb_kind_width(RB_SEGMENT3)) - 1;
}

/* Returns what an object can be read from, for hints. */
static char *
describe_accepted_inputs(const rb_source *source, TupleDesc desc)
{
	char *way;

	if (source->kind == RB_TRIANGLE3 && strcmp(source->side, "triangles") == 0 &&
		are_columns_of_segments(desc))
		return pstrdup("These are columns of segments.  Check the order of the arguments: "
					   "segments come first, then triangles.");
	/* The coordinates may be present under other names. */
	way = suggest_renaming_coordinates(desc, source);
	if (way != NULL)
		return way;
	/* Name all kinds, because any of them is accepted. */
	if (source->nameless)
		return psprintf(
			"The table needs a column of type %s, or the columns %s, or %s, or %s, or %s, or %s.",
			names_of_geometry_types(source->kind), list_coordinate_names(RB_TRIANGLE3),
			list_coordinate_names(RB_SEGMENT3), list_coordinate_names(RB_SEGMENT2),
			psprintf("%s, or %s", list_coordinate_names(RB_BOX3), list_coordinate_names(RB_BOX2)),
			list_coordinate_names(RB_POINT3));
	if (source->kind == RB_EDGE2)
		return pstrdup("The table needs a column of type geometry.");
	return psprintf("The table needs a column of type %s, or the columns %s.",
					names_of_geometry_types(source->kind), list_accepted_coordinates(source));
}

/* ---- lookup ---- */

/* Returns true if an id may be of this type. */
static bool
is_id_type(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID || type == NUMERICOID ||
		   type == FLOAT8OID;
}

/* Returns true if PostgreSQL has a built-in cast from the type to float8. */
static bool
is_number_type(Oid type)
{
	return is_id_type(type) || type == FLOAT4OID;
}

/* Raises an ERROR unless the column can be an id. */
static void
check_id_column(rb_column id, TupleDesc desc, const rb_source *source)
{
	const char *name = NameStr(TupleDescAttr(desc, id.attno - 1)->attname);

	if (!is_id_type(id.type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s: column \"%s\" of %s is of type %s", source->function, name,
						source->side, format_type_be(id.type)),
				 errdetail("An id must be of type smallint, integer or bigint, or of type numeric "
						   "or double precision with integer values."),
				 rb_shape_of(id.type, source->kind) == RB_SHAPE_NONE
					 ? hint_id_column(desc, source, name)
					 : errhint("To name a geometry column, use %s => %s.",
							   rb_source_argument(source, "geom"), quote_literal_cstr(name))));
}

/* Finds the id column, or the column of objects if one is named, and checks its type. */
static void
find_id_column(rb_columns *columns, TupleDesc desc, const rb_source *source)
{
	rb_column id;

	if (source->keys != NULL)
		return;
	if (source->nameless && source->object_name == NULL)
	{
		/* The id is optional, because it is used only in messages. */
		id = rb_column_find(desc, source->id_name == NULL ? "id" : source->id_name, source);
		if (id.attno != 0 && is_id_type(id.type))
			columns->id = id;
		return;
	}
	if (source->id_name != NULL)
		id = rb_column_named(desc, source->id_name, source);
	else if (source->object_name == NULL)
	{
		id = rb_column_find(desc, "id", source);
		if (id.attno == 0)
			ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
							errmsg("%s: %s has no column \"id\"", source->function, source->side),
							errdetail("The columns are: %s.", rb_list_columns(desc)),
							hint_id_column(desc, source, NULL)));
	}
	if (source->object_name != NULL)
		id = rb_column_named(desc, source->object_name, source);
	check_id_column(id, desc, source);
	columns->id = id;
}

/*
 * Finds the key columns by name, because their numbers may differ: only some columns of a view are
 * read, and dropped columns of a partitioned table are omitted.
 */
static void
find_key_columns(rb_columns *columns, TupleDesc desc, const rb_source *source)
{
	TupleDesc key;

	if (source->keys == NULL)
		return;
	key = source->keys->desc;
	columns->nkeys = key->natts;
	columns->key = palloc(key->natts * sizeof *columns->key);
	for (int i = 0; i < key->natts; i++)
	{
		columns->key[i] = rb_column_find(desc, NameStr(TupleDescAttr(key, i)->attname), source);
		source->keys->attno[i] = columns->key[i].attno;
	}
}

/* Raises the ERROR that a column is not a geometry. */
static void
refuse_geometry_column(const rb_source *source, TupleDesc desc, rb_column column)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_DATATYPE_MISMATCH),
		 errmsg("%s: column \"%s\" of %s is of type %s", source->function,
				NameStr(TupleDescAttr(desc, column.attno - 1)->attname), source->side,
				format_type_be(column.type)),
		 rb_coordinate_columns(source->kind) == 0
			 ? errdetail("The column must be of type geometry.")
			 : errdetail("The column must be of type %s, or the table must have the columns %s.",
						 names_of_geometry_types(source->kind), list_accepted_coordinates(source)),
		 hint_geometry_column(desc, source, column.attno, NULL)));
}

/*
 * Returns the geometry column named "geom", or else the first one, with attno 0 if there is none.
 * Stores the number of candidates in *n.
 */
static rb_column
search_geometry_column(TupleDesc desc, const rb_source *source, rb_kind kind, int *n)
{
	rb_column found = rb_column_find(desc, "geom", source);

	*n = 1;
	if (found.attno != 0 && rb_shape_of(found.type, kind) != RB_SHAPE_NONE)
		return found;
	*n = 0;
	found.attno = 0;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Oid type;

		if (att->attisdropped)
			continue;
		type = getBaseType(att->atttypid);
		if (rb_shape_of(type, kind) == RB_SHAPE_NONE)
			continue;
		if ((*n)++ == 0)
			found = (rb_column){att->attnum, type};
	}
	return found;
}

/* Finds the geometry column if the caller named none. Returns attno 0 if there is none. */
static rb_column
find_geometry_column(TupleDesc desc, const rb_source *source)
{
	int n;
	const rb_column only = search_geometry_column(desc, source, source->kind, &n);

	if (n > 1)
		ereport(ERROR, (errcode(ERRCODE_AMBIGUOUS_COLUMN),
						errmsg("%s: %s has %d geometry columns, but none is named \"geom\"",
							   source->function, source->side, n),
						errdetail("The columns are: %s.", rb_list_columns(desc)),
						hint_geometry_name(source,
										   NameStr(TupleDescAttr(desc, only.attno - 1)->attname))));
	if (n == 0)
	{
		const rb_column geom = rb_column_find(desc, "geom", source);

		if (geom.attno != 0)
			refuse_geometry_column(source, desc, geom);
	}
	return only;
}

/*
 * Looks up the coordinate columns of a kind. Returns how many exist; *missing is the first that
 * does not, or NULL.
 */
static int
find_coordinate_names(rb_columns *columns, TupleDesc desc, const rb_source *source, rb_kind kind,
					  const char **missing)
{
	int found = 0;

	*missing = NULL;
	columns->kind = kind;
	if (rb_coordinate_columns(kind) == 0)
		*missing = "geom";
	for (int i = 0; i < rb_coordinate_columns(kind); i++)
	{
		columns->coord[i] = rb_column_find(desc, rb_coordinate_name(kind, i), source);
		if (columns->coord[i].attno != 0)
			found++;
		else if (*missing == NULL)
			*missing = rb_coordinate_name(kind, i);
	}
	return found;
}

bool
rb_columns_are_other(TupleDesc desc, const rb_source *source)
{
	rb_columns columns;
	const char *missing;

	if (source->geom_name != NULL || rb_source_other_kind(source) == source->kind)
		return false;
	(void) find_coordinate_names(&columns, desc, source, source->kind, &missing);
	if (missing == NULL)
		return false;
	(void) find_coordinate_names(&columns, desc, source, rb_source_other_kind(source), &missing);
	return missing == NULL;
}

/* Returns true if all coordinate columns of the source's kind exist. */
static bool
find_coordinate_columns(rb_columns *columns, TupleDesc desc, const rb_source *source, int *found,
						const char **missing)
{
	rb_kind kind = source->kind;

	*found = find_coordinate_names(columns, desc, source, kind, missing);
	if (*missing != NULL && rb_columns_are_other(desc, source))
		find_coordinate_names(columns, desc, source, rb_source_other_kind(source), missing);
	/* Four of the six names form a box in the plane. */
	if (kind == RB_BOX3 && *found == 4 && columns->coord[2].attno == 0 &&
		columns->coord[5].attno == 0)
		find_coordinate_names(columns, desc, source, RB_BOX2, missing);
	if (*missing != NULL)
		return false;
	kind = columns->kind;
	for (int i = 0; i < rb_kind_width(kind); i++)
		if (!is_number_type(columns->coord[i].type))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("%s: column \"%s\" of %s is of type %s", source->function,
							rb_coordinate_name(kind, i), source->side,
							format_type_be(columns->coord[i].type)),
					 errdetail(
						 "A coordinate must be of type double precision, real, smallint, integer, "
						 "bigint or numeric.")));
	columns->width = rb_kind_width(kind);
	return true;
}

/* Returns true if a column contains geometries or boxes. */
static bool
is_geometry_or_box_column(TupleDesc desc)
{
	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped &&
			rb_shape_of(getBaseType(TupleDescAttr(desc, i)->atttypid), RB_BOX3) != RB_SHAPE_NONE)
			return true;
	return false;
}

rb_kind
rb_columns_kind(TupleDesc desc, const rb_source *source)
{
	static const rb_kind kinds[] = {RB_TRIANGLE3, RB_SEGMENT3, RB_SEGMENT2,
									RB_BOX3,      RB_BOX2,     RB_POINT3};
	rb_columns columns;
	const char *missing;

	if (source->geom_name != NULL)
		return RB_BOX3;
	for (size_t i = 0; i < lengthof(kinds); i++)
	{
		(void) find_coordinate_names(&columns, desc, source, kinds[i], &missing);
		if (missing != NULL)
			continue;
		if (kinds[i] == RB_BOX2)
			return RB_BOX3;
		/* If there is a geometry, columns x, y, z merely repeat its position. */
		return kinds[i] == RB_POINT3 && is_geometry_or_box_column(desc) ? RB_BOX3 : kinds[i];
	}
	return RB_BOX3;
}

/* Finds the extra column. */
static rb_column
find_extra_column(TupleDesc desc, const rb_source *source)
{
	const bool integer = source->beside->integer;
	rb_column column = rb_column_named(desc, source->beside->name, source);

	if (integer ? column.type != INT2OID && column.type != INT4OID && column.type != INT8OID
				: !is_number_type(column.type))
		ereport(
			ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("%s: column \"%s\" of %s is of type %s", source->function,
					NameStr(TupleDescAttr(desc, column.attno - 1)->attname), source->side,
					format_type_be(column.type)),
			 errdetail(
				 integer ? "The column must be of type smallint, integer or bigint."
						 : "The column must be of type double precision, real, smallint, integer, "
						   "bigint or numeric.")));
	return column;
}

void
rb_columns_find(rb_columns *columns, TupleDesc desc, const rb_source *source)
{
	const char *function = source->function;
	const char *side = source->side;

	memset(columns, 0, sizeof *columns);
	find_id_column(columns, desc, source);
	find_key_columns(columns, desc, source);
	if (source->geom_name != NULL)
	{
		columns->geom = rb_column_named(desc, source->geom_name, source);
		if (rb_shape_of(columns->geom.type, source->kind) == RB_SHAPE_NONE)
			refuse_geometry_column(source, desc, columns->geom);
	}
	else
	{
		const char *missing;
		int found;

		if (!find_coordinate_columns(columns, desc, source, &found, &missing))
		{
			columns->geom = find_geometry_column(desc, source);
			if (columns->geom.attno == 0 && found > 0)
				ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
								errmsg("%s: %s has no column \"%s\"", function, side, missing),
								errdetail("The columns are: %s.", rb_list_columns(desc)),
								hint_geometry_column(desc, source, 0,
													 describe_accepted_inputs(source, desc))));
			if (columns->geom.attno == 0)
				ereport(ERROR,
						(errcode(ERRCODE_UNDEFINED_COLUMN),
						 source->kind == RB_EDGE2
							 ? errmsg("%s: %s has no geometry column", function, side)
							 : errmsg("%s: %s has neither a geometry column nor coordinate columns",
									  function, side),
						 errdetail("The columns are: %s.", rb_list_columns(desc)),
						 hint_geometry_column(desc, source, 0,
											  describe_accepted_inputs(source, desc))));
		}
	}

	if (source->beside != NULL)
		columns->beside = find_extra_column(desc, source);
	if (columns->geom.attno != 0)
		columns->shape = rb_shape_of(columns->geom.type, source->kind);
	columns->last = Max(Max(columns->id.attno, columns->geom.attno), columns->beside.attno);
	for (int i = 0; i < columns->nkeys; i++)
		columns->last = Max(columns->last, columns->key[i].attno);
	for (int i = 0; i < columns->width; i++)
		columns->last = Max(columns->last, columns->coord[i].attno);
}

/* Finds the coordinate columns of a kind if all of them exist and hold numbers. */
static bool
try_coordinate_columns(rb_columns *columns, TupleDesc desc, rb_kind kind)
{
	const char *missing;

	(void) find_coordinate_names(columns, desc, NULL, kind, &missing);
	for (int i = 0; i < rb_kind_width(kind) && missing == NULL; i++)
		if (!is_number_type(columns->coord[i].type))
			return false;
	columns->width = missing == NULL ? rb_kind_width(kind) : 0;
	return missing == NULL;
}

bool
rb_columns_try(rb_columns *columns, TupleDesc desc, rb_kind kind, const char *geom_name)
{
	int n;

	memset(columns, 0, sizeof *columns);
	if (geom_name != NULL)
		columns->geom = rb_column_find(desc, geom_name, NULL);
	else if (try_coordinate_columns(columns, desc, kind) ||
			 (kind == RB_BOX3 && try_coordinate_columns(columns, desc, RB_BOX2)))
		return true;
	else
		columns->geom = search_geometry_column(desc, NULL, kind, &n);
	if (columns->geom.attno != 0)
		columns->shape = rb_shape_of(columns->geom.type, kind);
	return columns->shape != RB_SHAPE_NONE;
}
