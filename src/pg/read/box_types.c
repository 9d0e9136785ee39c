/*
 * box_types.c
 *	  Reads values of box types: PostGIS's box3d and box2d, and contrib's cube.
 *
 * Their headers are not available when redblue is compiled. Each type is therefore recognized by
 * its name and the extension that owns it, and its values are read from their bytes:
 *
 *	box3d	low x y z, high x y z, SRID		52 bytes
 *	box2d	flags, low x, high x, low y, high y, ...	doubles from byte 8
 *	cube	varlena: dimensions and a flag in 4 bytes, one corner, the other
 *
 * The two corners of a cube may be any two opposite ones, and a cube that is a point has only one.
 * The bytes may be unaligned.
 */
#include "pg/read/read.h"

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "utils/syscache.h"

#define CUBE_POINT UINT32_C(0x80000000)
#define CUBE_DIMS UINT32_C(0x7fffffff)

static const struct
{
	const char *name;
	int16 len;
	const char *extension; /* Extension that must own the type, or NULL for any */
	rb_box_shape shape;
} types[] = {{"geometry", -1, NULL, RB_SHAPE_GEOMETRY},
			 {"box3d", 52, "postgis", RB_SHAPE_BOX3D},
			 {"box2d", 65, "postgis", RB_SHAPE_BOX2D},
			 {"cube", -1, "cube", RB_SHAPE_CUBE}};

/* Returns true if a box type belongs to the named extension, whatever its schema. */
static bool
is_type_of_extension(Oid type, const char *extension)
{
	Oid owner = getExtensionOfObject(TypeRelationId, type);
	char *name = OidIsValid(owner) ? get_extension_name(owner) : NULL;

	return name != NULL && strcmp(name, extension) == 0;
}

rb_box_shape
rb_shape_of(Oid type, rb_kind kind)
{
	HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	rb_box_shape shape = RB_SHAPE_NONE;

	if (!HeapTupleIsValid(tuple))
		return RB_SHAPE_NONE;
	for (size_t i = 0; i < lengthof(types); i++)
	{
		Form_pg_type form = (Form_pg_type) GETSTRUCT(tuple);

		if (form->typtype == TYPTYPE_BASE && form->typlen == types[i].len &&
			strcmp(NameStr(form->typname), types[i].name) == 0 &&
			(types[i].extension == NULL || is_type_of_extension(type, types[i].extension)))
			shape = types[i].shape;
	}
	ReleaseSysCache(tuple);
	return shape == RB_SHAPE_GEOMETRY || kind == RB_BOX3 ? shape : RB_SHAPE_NONE;
}

/* Reads the corners of a cube with two or three dimensions; of others, only their number. */
static void
read_cube_value(Datum value, rb_box_value *box)
{
	struct varlena *cube = PG_DETOAST_DATUM_PACKED(value);
	const char *data = VARDATA_ANY(cube);
	uint32 head;

	memcpy(&head, data, sizeof head);
	box->dims = (int) (head & CUBE_DIMS);
	if (box->dims != 2 && box->dims != 3)
		return;
	data += sizeof head;
	memcpy(box->low, data, (size_t) box->dims * sizeof(double));
	if ((head & CUBE_POINT) == 0)
		data += (size_t) box->dims * sizeof(double);
	memcpy(box->high, data, (size_t) box->dims * sizeof(double));
}

void
rb_box_read(rb_box_shape shape, Datum value, rb_box_value *box)
{
	const char *data;

	box->srid = 0;
	switch (shape)
	{
		case RB_SHAPE_BOX3D:
			data = DatumGetPointer(value);
			box->dims = 3;
			memcpy(box->low, data, sizeof box->low);
			memcpy(box->high, data + 24, sizeof box->high);
			memcpy(&box->srid, data + 48, sizeof box->srid);
			break;
		case RB_SHAPE_BOX2D:
			data = DatumGetPointer(value);
			box->dims = 2;
			for (int k = 0; k < 2; k++)
			{
				memcpy(&box->low[k], data + 8 + 16 * k, sizeof(double));
				memcpy(&box->high[k], data + 16 + 16 * k, sizeof(double));
			}
			break;
		default:
			read_cube_value(value, box);
	}
	for (int k = 0; k < 3 && k < box->dims; k++)
		if (box->low[k] > box->high[k])
		{
			double x = box->low[k];

			box->low[k] = box->high[k];
			box->high[k] = x;
		}
}
