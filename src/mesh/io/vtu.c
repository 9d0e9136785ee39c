/*
 * vtu.c
 *	  Writes tetrahedra as a VTK UnstructuredGrid: XML with the bytes of each array in base64, after
 *	  its length in 64 bits.
 *
 * Bytes as such, in a section of their own, would take a quarter less, but they are not XML, and
 * meshio 5 cannot read such a section with a Python whose base64 decoder reads on after padding.
 *
 * Connectivity is written with 32 bits if all offsets and indices fit, else with 64 bits.
 */
#include "mesh/io/formats.h"

#define HEADER_ROOM 4096 /* upper bound of the header's size in bytes */
#define ELEMENT_ROOM 32  /* largest element: four indices of 64 bits */
#define TETRAHEDRON 10   /* VTK's cell type */

typedef enum array_name
{
	POINTS,
	KIND,
	PARENT,
	CONNECTIVITY,
	OFFSETS,
	TYPES,
	REGION,
	QUALITY,
	ARRAYS
} array_name;

static bool
fits_int32(const rb_mesh_rows *rows)
{
	return rows->ntets <= INT32_MAX / 4 && rows->npoints <= INT32_MAX;
}

/* Computes the length of each array in bytes, without its length field; 0 for an omitted array. */
static void
array_lengths(const rb_mesh_rows *rows, uint64_t n[ARRAYS])
{
	uint64_t points = rows->npoints, tets = rows->ntets, word = fits_int32(rows) ? 4 : 8;

	n[POINTS] = 24 * points;
	n[KIND] = rows->kind != NULL ? points : 0;
	n[PARENT] = rows->parent != NULL ? 8 * points : 0;
	n[CONNECTIVITY] = 4 * word * tets;
	n[OFFSETS] = word * tets;
	n[TYPES] = tets;
	n[REGION] = 8 * tets;
	n[QUALITY] = rows->quality != NULL ? 8 * tets : 0;
}

uint64_t
rb_mesh_vtu_bytes(const rb_mesh_rows *rows)
{
	uint64_t n[ARRAYS], sum = HEADER_ROOM;

	array_lengths(rows, n);
	for (int i = 0; i < ARRAYS; i++)
		sum += (n[i] + 8 + 2) / 3 * 4;
	return sum;
}

/* An encoder to base64: where the next characters go, and the bytes that do not make four yet */
typedef struct base64
{
	uint8_t *at;
	uint32_t bits;
	int pending;
} base64;

static void
base64_write(base64 *to)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (int i = 0; i < 4; i++)
		*to->at++ = (uint8_t) digits[to->bits >> (18 - 6 * i) & 63];
	to->bits = 0;
	to->pending = 0;
}

static inline void
base64_append(base64 *to, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		to->bits |= (uint32_t) bytes[i] << (16 - 8 * to->pending);
		if (++to->pending == 3)
			base64_write(to);
	}
}

static void
base64_end(base64 *to)
{
	int bytes = to->pending;

	if (bytes == 0)
		return;
	base64_write(to);
	memset(to->at - (3 - bytes), '=', (size_t) (3 - bytes));
}

/* Writes element i of an array. */
static inline uint8_t *
append_element(const rb_mesh_rows *rows, array_name name, uint32_t i, uint8_t *at)
{
	switch (name)
	{
		case POINTS:
			for (int j = 0; j < 3; j++)
				at = rb_le_double(at, rows->points[3 * (size_t) i + (size_t) j]);
			return at;
		case KIND:
			*at = rows->kind[i];
			return at + 1;
		case PARENT:
			return rb_le64(at, (uint64_t) rows->parent[i]);
		case CONNECTIVITY:
			for (int j = 0; j < 4; j++)
				at = fits_int32(rows) ? rb_le32(at, rows->tets[i][j])
									  : rb_le64(at, rows->tets[i][j]);
			return at;
		case OFFSETS:
			return fits_int32(rows) ? rb_le32(at, 4 * (i + 1))
									: rb_le64(at, 4 * ((uint64_t) i + 1));
		case TYPES:
			*at = TETRAHEDRON;
			return at + 1;
		case REGION:
			return rb_le64(at, rows->region != NULL ? (uint64_t) rows->region[i] : 1);
		case QUALITY:
			return rb_le_double(at, rows->quality[i]);
		default:
			return at;
	}
}

/*
 * Appends one array with its tags, and counts its bytes in `to`. Returns false if the call should
 * stop. There must be room for the array.
 */
static bool
append_array(rb_context *ctx, const rb_mesh_rows *rows, array_name name, uint64_t length,
			 rb_buffer *to)
{
	const char *word = fits_int32(rows) ? "Int32" : "Int64";
	const struct
	{
		const char *type, *name;
		int components;
	} about[ARRAYS] = {
		[POINTS] = {"Float64", "Points", 3}, [KIND] = {"UInt8", "kind", 1},
		[PARENT] = {"Int64", "parent", 1},   [CONNECTIVITY] = {word, "connectivity", 1},
		[OFFSETS] = {word, "offsets", 1},    [TYPES] = {"UInt8", "types", 1},
		[REGION] = {"Int64", "region", 1},   [QUALITY] = {"Float64", "quality", 1},
	};
	uint32_t elements = name <= PARENT ? rows->npoints : rows->ntets;
	uint8_t element[ELEMENT_ROOM];
	base64 text;

	rb_buffer_append_text(
		to, "<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%d\" format=\"binary\">\n",
		about[name].type, about[name].name, about[name].components);
	text = (base64){.at = to->bytes + to->n};
	base64_append(&text, element, (size_t) (rb_le64(element, length) - element));
	for (uint32_t i = 0; i < elements; i++)
	{
		base64_append(&text, element, (size_t) (append_element(rows, name, i, element) - element));
		if (i % 65536 == 65535 && rb_should_stop(ctx))
			return false;
	}
	base64_end(&text);
	to->n = (size_t) (text.at - to->bytes);
	rb_buffer_append_text(to, "\n</DataArray>\n");
	return true;
}

rb_status
rb_mesh_vtu(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to)
{
	/* The tags before each array */
	static const char *const before[ARRAYS] = {
		[POINTS] = "<Points>\n",
		[KIND] = "</Points>\n<PointData>\n",
		[CONNECTIVITY] = "</PointData>\n<Cells>\n",
		[REGION] = "</Cells>\n<CellData>\n",
	};
	const bool has[ARRAYS] = {true, rows->kind != NULL,   rows->parent != NULL, true, true, true,
							  true, rows->quality != NULL};
	uint64_t n[ARRAYS];
	size_t start = to->n;

	RB_TRY(rb_mesh_rows_check(ctx, rows));
	RB_TRY(rb_buffer_reserve(ctx, to, rb_mesh_vtu_bytes(rows)));
	array_lengths(rows, n);
	rb_buffer_append_text(
		to,
		"<?xml version=\"1.0\"?>\n"
		"<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" "
		"header_type=\"UInt64\">\n<UnstructuredGrid>\n"
		"<Piece NumberOfPoints=\"%u\" NumberOfCells=\"%u\">\n",
		rows->npoints, rows->ntets);
	for (int a = 0; a < ARRAYS; a++)
	{
		if (before[a] != NULL)
			rb_buffer_append_text(to, "%s", before[a]);
		if (has[a] && !append_array(ctx, rows, (array_name) a, n[a], to))
		{
			to->n = start;
			return RB_STOPPED;
		}
	}
	rb_buffer_append_text(to, "</CellData>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n");
	return RB_OK;
}
