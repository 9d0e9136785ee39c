/*
 * columns.c
 *	  Which columns of a row description make an object: by name, in any order,
 *	  others ignored.
 *
 *	  1. The id: the column of objects, if the caller named one; else the column named by
 *		 the caller; else a table's primary key, where source.c found it to be one
 *		 integer; else "id".  An integer, or a number that holds one.  Or the columns of a
 *		 key (keys.c).  Where rows need none (nameless), it is used if there is one.
 *	  2. The object: the geometry column named by the caller; else all coordinate
 *		 columns of the kind, if they are there (ax, ay, ...: such a set of names is
 *		 no accident, and needs no decoding); else the geometry column "geom"; else
 *		 the only geometry column.  For boxes, a column of a type of boxes counts as
 *		 one of geometry; and coordinate columns make boxes in the plane where neither
 *		 lz nor hz is there.
 *
 * Whatever is missing, of a wrong type, or could mean two columns, is an error
 * that lists what was found.
 *
 * A geometry is recognised by the name of its type (boxes.c), so that nothing here
 * depends on PostGIS.  A domain counts as its base type.
 */
#include "pg/base/rb_pg.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* ---- for messages ---- */

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

/* the types of a column that holds whole objects, for messages */
static const char *
geometry_types(rb_kind kind)
{
	return kind == RB_BOX3 ? "geometry, box3d, box2d or cube" : "geometry";
}

/* one of several geometries, as the caller can name it */
static int
hint_geometry_name(const rb_source *source, const char *name)
{
	if (source->query)
		return errhint("Name one in the query: SELECT ..., %s AS geom.", quote_identifier(name));
	return errhint("Name one in the call: %s => %s.", rb_source_argument(source, "geom"),
				   quote_literal_cstr(name));
}

/* the columns of a segment and of no triangle: was the other argument meant? */
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

/* what an object can be read from, for hints */
static char *
accepted(const rb_source *source, TupleDesc desc)
{
	char *way;

	if (source->kind == RB_TRIANGLE3 && strcmp(source->side, "triangles") == 0 &&
		are_segments(desc))
		return pstrdup("These are the columns of segments: are the two arguments swapped?  The "
					   "segments come first, then the triangles.");
	/* the coordinates by other names */
	way = rb_way_to_coordinates(desc, source);
	if (way != NULL)
		return way;
	/* any kind will do */
	if (source->nameless)
		return psprintf("Accepted are a %s, or the columns %s, or %s, or %s, or %s, or %s.",
						geometry_types(source->kind), list_coordinates(RB_TRIANGLE3),
						list_coordinates(RB_SEGMENT3), list_coordinates(RB_SEGMENT2),
						list_coordinates(RB_BOX3), list_coordinates(RB_POINT3));
	return psprintf("Accepted are a %s, or the columns %s.", geometry_types(source->kind),
					list_coordinates(source->kind));
}

/* ---- finding ---- */

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
				 errdetail("An id is smallint, integer or bigint; or numeric or double "
						   "precision, where these hold integers."),
				 rb_shape_of(id.type, source->kind) == RB_SHAPE_NONE
					 ? rb_hint_id(desc, source, name)
					 : errhint("A geometry column is named so: %s => %s.",
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
		/* it is only for messages */
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
							errdetail("Its columns are: %s.", rb_list_columns(desc)),
							rb_hint_id(desc, source, NULL)));
	}
	if (source->object_name != NULL)
		id = rb_column_named(desc, source->object_name, source);
	check_id(id, desc, source);
	columns->id = id;
}

/* by their names: of a view only some columns are read, of a partitioned table all but the dropped ones */
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
	ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
					errmsg("%s: column \"%s\" of %s is of type %s", source->function,
						   NameStr(TupleDescAttr(desc, column.attno - 1)->attname), source->side,
						   format_type_be(column.type)),
					errdetail("Expected is a %s, or the columns %s.", geometry_types(source->kind),
							  list_coordinates(source->kind)),
					rb_hint_geometry(desc, source, column.attno, NULL)));
}

/* the geometry column that nobody named, or attno 0 */
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
						errmsg("%s: %s has %d geometry columns and none is called \"geom\"",
							   source->function, source->side, n),
						errdetail("Its columns are: %s.", rb_list_columns(desc)),
						hint_geometry_name(source,
										   NameStr(TupleDescAttr(desc, only.attno - 1)->attname))));
	if (n == 0 && geom.attno != 0)
		refuse_geometry(source, desc, geom);
	return only;
}

/* looks for the columns of that kind: how many there are; *missing: the first that is not there */
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

/* the coordinate columns of the source's kind: are all there? */
static bool
find_coordinates(rb_columns *columns, TupleDesc desc, const rb_source *source, int *found,
				 const char **missing)
{
	rb_kind kind = source->kind;

	*found = find_names(columns, desc, source, kind, missing);
	/* the four of these six names that make a box in the plane */
	if (kind == RB_BOX3 && *found == 4 && columns->coord[2].attno == 0 &&
		columns->coord[5].attno == 0)
		find_names(columns, desc, source, RB_BOX2, missing);
	if (*missing != NULL)
		return false;
	kind = columns->kind;
	for (int i = 0; i < rb_kind_width(kind); i++)
		if (!rb_is_number_type(columns->coord[i].type))
			ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
							errmsg("%s: column \"%s\" of %s is of type %s", source->function,
								   rb_coordinate_name(kind, i), source->side,
								   format_type_be(columns->coord[i].type)),
							errdetail("A coordinate is double precision, real, smallint, integer, "
									  "bigint or numeric.")));
	columns->width = rb_kind_width(kind);
	return true;
}

/* is there a column whose values are geometries or boxes? */
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
		/* x, y, z beside a geometry say where it is */
		return kinds[i] == RB_POINT3 && has_geometry(desc) ? RB_BOX3 : kinds[i];
	}
	return RB_BOX3;
}

/* a number that is wanted besides */
static rb_column
find_beside(TupleDesc desc, const rb_source *source)
{
	const bool integer = source->beside->integer;
	rb_column column = rb_column_named(desc, source->beside->name, source);

	if (integer ? column.type != INT2OID && column.type != INT4OID && column.type != INT8OID
				: !rb_is_number_type(column.type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s: column \"%s\" of %s is of type %s", source->function,
						NameStr(TupleDescAttr(desc, column.attno - 1)->attname), source->side,
						format_type_be(column.type)),
				 errdetail(integer ? "Expected is smallint, integer or bigint."
								   : "Expected is a number: double precision, real, smallint, "
									 "integer, bigint or numeric.")));
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
								errdetail("Its columns are: %s.", rb_list_columns(desc)),
								rb_hint_geometry(desc, source, 0, accepted(source, desc))));
			if (columns->geom.attno == 0)
				ereport(ERROR,
						(errcode(ERRCODE_UNDEFINED_COLUMN),
						 errmsg("%s: %s has neither a geometry column nor coordinate columns",
								function, side),
						 errdetail("Its columns are: %s.", rb_list_columns(desc)),
						 rb_hint_geometry(desc, source, 0, accepted(source, desc))));
		}
	}

	if (source->beside != NULL)
		columns->beside = find_beside(desc, source);
	if (columns->geom.attno != 0)
		columns->shape = rb_shape_of(columns->geom.type, source->kind);
	columns->last = Max(Max(columns->id.attno, columns->geom.attno), columns->beside.attno);
	for (int i = 0; i < columns->nkeys; i++)
		columns->last = Max(columns->last, columns->key[i].attno);
	for (int i = 0; i < columns->width; i++)
		columns->last = Max(columns->last, columns->coord[i].attno);
}
