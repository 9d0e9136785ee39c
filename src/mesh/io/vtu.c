/*
 * vtu.c
 *	  Writes tetrahedra as a VTK UnstructuredGrid: an XML header followed by all arrays in binary,
 *	  each preceded by its length in 64 bits.
 *
 * Connectivity is written with 32 bits if all offsets and indices fit, else with 64 bits.
 */
#include "mesh/io/files.h"

#define HEADER_ROOM 4096 /* upper bound of the header's size in bytes */
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
		sum += n[i] + 8;
	return sum;
}

/*
 * Writes the XML line of one array. Array data are appended in reverse order, so that offsets
 * descend. Some readers (meshio 5) search for the line of an offset after they have changed the
 * offsets of preceding data, which fails if the lines of these data come first.
 */
static void
write_array_line(rb_buffer *to, const char *type, const char *name, int components, uint64_t n,
				 uint64_t *offset)
{
	rb_buffer_append_text(
		to,
		"<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%d\" format=\"appended\" "
		"offset=\"%llu\"/>\n",
		type, name, components, (unsigned long long) (*offset -= n + 8));
}

static void
append_header(const rb_mesh_rows *rows, const bool *has, const uint64_t *n, rb_buffer *to)
{
	const char *word = fits_int32(rows) ? "Int32" : "Int64";
	uint64_t offset = 0;

	for (int i = 0; i < ARRAYS; i++)
		offset += has[i] ? n[i] + 8 : 0;
	rb_buffer_append_text(
		to,
		"<?xml version=\"1.0\"?>\n"
		"<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" "
		"header_type=\"UInt64\">\n<UnstructuredGrid>\n"
		"<Piece NumberOfPoints=\"%u\" NumberOfCells=\"%u\">\n<Points>\n",
		rows->npoints, rows->ntets);
	write_array_line(to, "Float64", "Points", 3, n[POINTS], &offset);
	rb_buffer_append_text(to, "</Points>\n<PointData>\n");
	if (rows->kind != NULL)
		write_array_line(to, "UInt8", "kind", 1, n[KIND], &offset);
	if (rows->parent != NULL)
		write_array_line(to, "Int64", "parent", 1, n[PARENT], &offset);
	rb_buffer_append_text(to, "</PointData>\n<Cells>\n");
	write_array_line(to, word, "connectivity", 1, n[CONNECTIVITY], &offset);
	write_array_line(to, word, "offsets", 1, n[OFFSETS], &offset);
	write_array_line(to, "UInt8", "types", 1, n[TYPES], &offset);
	rb_buffer_append_text(to, "</Cells>\n<CellData>\n");
	write_array_line(to, "Int64", "region", 1, n[REGION], &offset);
	if (rows->quality != NULL)
		write_array_line(to, "Float64", "quality", 1, n[QUALITY], &offset);
	rb_buffer_append_text(
		to, "</CellData>\n</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_");
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

rb_status
rb_mesh_vtu(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to)
{
	const bool has[ARRAYS] = {true, rows->kind != NULL,   rows->parent != NULL, true, true, true,
							  true, rows->quality != NULL};
	uint64_t n[ARRAYS];
	size_t start = to->n;
	rb_status status = rb_mesh_rows_check(ctx, rows);

	if (status == RB_OK)
		status = rb_buffer_reserve(ctx, to, rb_mesh_vtu_bytes(rows));
	if (status != RB_OK)
		return status;
	array_lengths(rows, n);
	append_header(rows, has, n, to);
	for (int a = ARRAYS - 1; a >= 0; a--)
	{
		uint32_t elements = a <= PARENT ? rows->npoints : rows->ntets;
		uint8_t *at = to->bytes + to->n;

		if (!has[a])
			continue;
		at = rb_le64(at, n[a]);
		for (uint32_t i = 0; i < elements; i++)
		{
			at = append_element(rows, (array_name) a, i, at);
			if (i % 65536 == 65535 && rb_should_stop(ctx))
			{
				to->n = start;
				return RB_STOPPED;
			}
		}
		to->n += 8 + (size_t) n[a];
	}
	rb_buffer_append_text(to, "\n</AppendedData>\n</VTKFile>\n");
	return RB_OK;
}
