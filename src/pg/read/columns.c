/*
 * columns.c
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
 * A geometry is recognized by the name of its type (box_types.c), so nothing here depends on
 * PostGIS. A domain counts as its base type.
 */
#include "pg/read/read.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* ---- messages ---- */

static char *
list_coordinates(rb_kind kind)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < rb_kind_width(kind); i++)
		appendStringInfo(&list, "%s%s", i > 0 ? " " : "", rb_coordinate_name(kind, i));
	if (kind == RB_BOX3)
		appendStringInfo(&list, ", or %s", list_coordinates(RB_BOX2));
	return list.data;
}

/* Returns the types of columns that contain whole objects, for messages. */
static const char *
geometry_types(rb_kind kind)
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
are_segments(TupleDesc desc)
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
		are_segments(desc))
		return pstrdup("These are columns of segments. Check the order of the arguments: "
					   "segments come first, then triangles.");
	/* The coordinates may be present under other names. */
	way = rb_way_to_coordinates(desc, source);
	if (way != NULL)
		return way;
	/* Name all kinds, because any of them is accepted. */
	if (source->nameless)
		return psprintf(
			"The table needs a column of type %s, or the columns %s, or %s, or %s, or %s, or %s.",
			geometry_types(source->kind), list_coordinates(RB_TRIANGLE3),
			list_coordinates(RB_SEGMENT3), list_coordinates(RB_SEGMENT2), list_coordinates(RB_BOX3),
			list_coordinates(RB_POINT3));
	return psprintf("The table needs a column of type %s, or the columns %s.",
					geometry_types(source->kind), list_coordinates(source->kind));
}

/* ---- lookup ---- */

bool
rb_is_id_type(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID || type == NUMERICOID ||
		   type == FLOAT8OID;
}

bool
rb_is_number_type(Oid type)
{
	return rb_is_id_type(type) || type == FLOAT4OID;
}

static void
check_id(rb_column id, TupleDesc desc, const rb_source *source)
{
	const char *name = NameStr(TupleDescAttr(desc, id.attno - 1)->attname);

	if (!rb_is_id_type(id.type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s: column \"%s\" of %s is of type %s", source->function, name,
						source->side, format_type_be(id.type)),
				 errdetail("An id must be of type smallint, integer or bigint, or of type numeric "
						   "or double precision with integer values."),
				 rb_shape_of(id.type, source->kind) == RB_SHAPE_NONE
					 ? rb_hint_id(desc, source, name)
					 : errhint("To name a geometry column, use %s => %s.",
							   rb_source_argument(source, "geom"), quote_literal_cstr(name))));
}

static void
find_id(rb_columns *columns, TupleDesc desc, const rb_source *source)
{
	rb_column id;

	if (source->keys != NULL)
		return;
	if (source->nameless && source->object_name == NULL)
	{
		/* The id is optional, because it is used only in messages. */
		id = rb_column_find(desc, source->id_name == NULL ? "id" : source->id_name, source);
		if (id.attno != 0 && rb_is_id_type(id.type))
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
							rb_hint_id(desc, source, NULL)));
	}
	if (source->object_name != NULL)
		id = rb_column_named(desc, source->object_name, source);
	check_id(id, desc, source);
	columns->id = id;
}

/*
 * Finds the key columns by name, because their numbers may differ: only some columns of a view are
 * read, and dropped columns of a partitioned table are omitted.
 */
static void
find_keys(rb_columns *columns, TupleDesc desc, const rb_source *source)
{
	TupleDesc key;

	if (source->keys == NULL)
		return;
	key = rb_keys_desc(source->keys);
	columns->nkeys = key->natts;
	columns->key = palloc(key->natts * sizeof *columns->key);
	for (int i = 0; i < key->natts; i++)
	{
		columns->key[i] = rb_column_find(desc, NameStr(TupleDescAttr(key, i)->attname), source);
		rb_keys_locate(source->keys, i, columns->key[i].attno);
	}
}

static void
refuse_geometry(const rb_source *source, TupleDesc desc, rb_column column)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("%s: column \"%s\" of %s is of type %s", source->function,
					NameStr(TupleDescAttr(desc, column.attno - 1)->attname), source->side,
					format_type_be(column.type)),
			 errdetail("The column must be of type %s, or the table must have the columns %s.",
					   geometry_types(source->kind), list_coordinates(source->kind)),
			 rb_hint_geometry(desc, source, column.attno, NULL)));
}

/* Finds the geometry column if the caller named none. Returns attno 0 if there is none. */
static rb_column
find_geometry(TupleDesc desc, const rb_source *source)
{
	rb_kind kind = source->kind;
	rb_column geom = rb_column_find(desc, "geom", source);
	rb_column only = {0, InvalidOid};
	int n = 0;

	if (geom.attno != 0 && rb_shape_of(geom.type, kind) != RB_SHAPE_NONE)
		return geom;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Oid type;

		if (att->attisdropped)
			continue;
		type = getBaseType(att->atttypid);
		if (rb_shape_of(type, kind) == RB_SHAPE_NONE)
			continue;
		if (n++ > 0)
			continue;
		only.attno = att->attnum;
		only.type = type;
	}
	if (n > 1)
		ereport(ERROR, (errcode(ERRCODE_AMBIGUOUS_COLUMN),
						errmsg("%s: %s has %d geometry columns, but none is named \"geom\"",
							   source->function, source->side, n),
						errdetail("The columns are: %s.", rb_list_columns(desc)),
						hint_geometry_name(source,
										   NameStr(TupleDescAttr(desc, only.attno - 1)->attname))));
	if (n == 0 && geom.attno != 0)
		refuse_geometry(source, desc, geom);
	return only;
}

/*
 * Looks up the coordinate columns of a kind. Returns how many exist; *missing is the first that
 * does not, or NULL.
 */
static int
find_names(rb_columns *columns, TupleDesc desc, const rb_source *source, rb_kind kind,
		   const char **missing)
{
	int found = 0;

	*missing = NULL;
	for (int i = 0; i < rb_kind_width(kind); i++)
	{
		columns->coord[i] = rb_column_find(desc, rb_coordinate_name(kind, i), source);
		if (columns->coord[i].attno != 0)
			found++;
		else if (*missing == NULL)
			*missing = rb_coordinate_name(kind, i);
	}
	columns->kind = kind;
	return found;
}

/* Returns true if all coordinate columns of the source's kind exist. */
static bool
find_coordinates(rb_columns *columns, TupleDesc desc, const rb_source *source, int *found,
				 const char **missing)
{
	rb_kind kind = source->kind;

	*found = find_names(columns, desc, source, kind, missing);
	/* Four of the six names form a box in the plane. */
	if (kind == RB_BOX3 && *found == 4 && columns->coord[2].attno == 0 &&
		columns->coord[5].attno == 0)
		find_names(columns, desc, source, RB_BOX2, missing);
	if (*missing != NULL)
		return false;
	kind = columns->kind;
	for (int i = 0; i < rb_kind_width(kind); i++)
		if (!rb_is_number_type(columns->coord[i].type))
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
has_geometry(TupleDesc desc)
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
		(void) find_names(&columns, desc, source, kinds[i], &missing);
		if (missing != NULL)
			continue;
		if (kinds[i] == RB_BOX2)
			return RB_BOX3;
		/* If there is a geometry, columns x, y, z merely repeat its position. */
		return kinds[i] == RB_POINT3 && has_geometry(desc) ? RB_BOX3 : kinds[i];
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
				: !rb_is_number_type(column.type))
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
	find_id(columns, desc, source);
	find_keys(columns, desc, source);
	if (source->geom_name != NULL)
	{
		columns->geom = rb_column_named(desc, source->geom_name, source);
		if (rb_shape_of(columns->geom.type, source->kind) == RB_SHAPE_NONE)
			refuse_geometry(source, desc, columns->geom);
	}
	else
	{
		const char *missing;
		int found;

		if (!find_coordinates(columns, desc, source, &found, &missing))
		{
			columns->geom = find_geometry(desc, source);
			if (columns->geom.attno == 0 && found > 0)
				ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
								errmsg("%s: %s has no column \"%s\"", function, side, missing),
								errdetail("The columns are: %s.", rb_list_columns(desc)),
								rb_hint_geometry(desc, source, 0,
												 describe_accepted_inputs(source, desc))));
			if (columns->geom.attno == 0)
				ereport(
					ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("%s: %s has neither a geometry column nor coordinate columns", function,
							side),
					 errdetail("The columns are: %s.", rb_list_columns(desc)),
					 rb_hint_geometry(desc, source, 0, describe_accepted_inputs(source, desc))));
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
