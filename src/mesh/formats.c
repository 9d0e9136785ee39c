/*
 * formats.c
 *	  Writes a mesh in the formats of other programs.
 *
 * VTU: a VTK UnstructuredGrid, in XML with the bytes of each array in base64, after its length in 64
 * bits. Bytes as such, in a section of their own, would take a quarter less, but they are not XML,
 * and meshio 5 cannot read such a section with a Python whose base64 decoder reads on after
 * padding. Connectivity is written with 32 bits if all offsets and indices fit, else with 64 bits.
 *
 * Gmsh's binary MSH 4.1: regions become volumes and facets become surfaces, each with a physical
 * group. Tags in this format are positive and have 31 bits. If all region ids fit, they are the
 * tags; otherwise tags count from 1 in ascending order of ids. Facet ids are treated likewise. The
 * names of the groups contain the ids in any case. All nodes belong to the first volume, which
 * always exists.
 */
#include "mesh/formats.h"

#include "core/base/sort.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- bytes and text ---- */

/* Makes room for `more` bytes, so that writing them needs no checks. */
static rb_status
reserve_buffer_bytes(rb_context *ctx, rb_buffer *b, uint64_t more)
{
	rb_status status;

	if (more <= b->cap - b->n)
		return RB_OK;
	if (more > SIZE_MAX - b->n)
		return rb_fail(ctx, RB_OVER_BUDGET, UINT64_MAX, rb_memory_limit(ctx->memory), NULL);
	status = RB_ALLOCATE(ctx, b->bytes, b->n + (size_t) more);
	if (status == RB_OK)
		b->cap = b->n + (size_t) more;
	return status;
}

/* Appends formatted text to the buffer, which must have room for it. */
static void __attribute__((format(printf, 2, 3))) append_text(rb_buffer *b, const char *format, ...)
{
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf((char *) b->bytes + b->n, b->cap - b->n, format, list);
	va_end(list);
	if (n > 0 && (size_t) n < b->cap - b->n)
		b->n += (size_t) n;
}

/* Checks that every corner is a valid point index. */
static rb_status
check_corner_indices(rb_context *ctx, const rb_mesh_rows *rows)
{
	uint32_t worst = 0;

	for (uint32_t i = 0; i < rows->ntets; i++)
	{
		for (int j = 0; j < 4; j++)
			worst = rows->tets[i][j] > worst ? rows->tets[i][j] : worst;
		if (rb_stop_due(ctx, i, 65536))
			return RB_STOPPED;
	}
	if (rows->ntets > 0 && worst >= rows->npoints)
		return rb_fail(ctx, RB_BAD_GEOMETRY, 0, 0,
					   "a corner of a tetrahedron is not a vertex of the mesh");
	worst = 0;
	for (uint32_t i = 0; i < rows->nfaces; i++)
	{
		for (int j = 0; j < 3; j++)
			worst = rows->faces[i][j] > worst ? rows->faces[i][j] : worst;
		if (rb_stop_due(ctx, i, 65536))
			return RB_STOPPED;
	}
	if (rows->nfaces > 0 && worst >= rows->npoints)
		return rb_fail(ctx, RB_BAD_GEOMETRY, 0, 0,
					   "a corner of a face is not a vertex of the mesh");
	return RB_OK;
}

static uint8_t *
write_le32(uint8_t *at, uint32_t x)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t) (x >> 8 * i);
	return at + 4;
}

static uint8_t *
write_le64(uint8_t *at, uint64_t x)
{
	for (int i = 0; i < 8; i++)
		at[i] = (uint8_t) (x >> 8 * i);
	return at + 8;
}

static uint8_t *
write_le_double(uint8_t *at, double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return write_le64(at, bits);
}

/* ---- groups of elements ---- */

/* Numbers of ids, which are given as an array */
#define RB_HASH id_table
#define RB_HASH_SLOT uint32_t
#define RB_HASH_KEY int64_t
#define RB_HASH_ARG const int64_t *
#define RB_HASH_OF(ids, wanted) rb_mix((uint64_t) (wanted))
#define RB_HASH_EQUAL(ids, slot, wanted) (ids[slot] == (wanted))
#define RB_HASH_KEY_OF(ids, slot) (ids[slot])
#define RB_HASH_NUMBERED
#include "core/base/hash.h"

/* Groups of the elements of one dimension */
typedef struct groups
{
	const int64_t *of; /* id of each element, or NULL if all are in group 1 */
	uint32_t n;        /* number of elements */
	uint32_t corners;
	const uint32_t *corner;
	int64_t *id; /* distinct ids, in ascending order */
	uint32_t nid;
	size_t id_cap;
	id_table table;  /* numbers of the ids */
	uint32_t *count; /* number of elements per group; later the next position */
	double (*box)[6];
	bool ids_are_tags;
} groups;

static int64_t
id_of_element(const groups *g, uint32_t i)
{
	return g->of == NULL ? 1 : g->of[i];
}

/* Returns the group of an element. */
static uint32_t
group_of_element(const groups *g, uint32_t i)
{
	return *id_table_find(&g->table, g->id, id_of_element(g, i));
}

static groups
groups_of_facets(const rb_mesh_rows *rows)
{
	return (groups){.of = rows->facet,
					.n = rows->nfaces,
					.corners = 3,
					.corner = (const uint32_t *) rows->faces};
}

static groups
groups_of_regions(const rb_mesh_rows *rows)
{
	return (groups){.of = rows->region,
					.n = rows->ntets,
					.corners = 4,
					.corner = (const uint32_t *) rows->tets};
}

static void
free_groups(rb_memory *memory, groups *g)
{
	RB_FREE(memory, g->id);
	id_table_free(memory, &g->table);
	RB_FREE(memory, g->count);
	RB_FREE(memory, g->box);
}

/* Numbers the distinct ids of groups. */
static rb_status
number_group_ids(rb_context *ctx, groups *g, bool always)
{
	for (uint32_t i = 0; i < g->n; i++)
	{
		uint32_t *number;

		if (rb_stop_due(ctx, i, 65536))
			return RB_STOPPED;
		RB_TRY(id_table_reserve(ctx, &g->table, g->id, 1));
		number = id_table_find(&g->table, g->id, id_of_element(g, i));
		if (*number != RB_HASH_FREE)
			continue;
		RB_TRY(RB_GROW(ctx, g->id, g->id_cap, (size_t) g->nid + 1));
		g->id[g->nid] = id_of_element(g, i);
		*number = g->nid++;
		g->table.n++;
	}
	if (g->nid == 0 && always)
	{
		RB_TRY(RB_GROW(ctx, g->id, g->id_cap, 1));
		g->id[g->nid++] = 1;
	}
	RB_TRY(rb_sort_ids(ctx, g->id, g->nid));
	g->table.n = g->nid;
	RB_TRY(id_table_grow(ctx, &g->table, g->id, g->nid));
	g->ids_are_tags = g->nid == 0 || (g->id[0] > 0 && g->id[g->nid - 1] <= INT32_MAX);
	RB_TRY(RB_ALLOCATE(ctx, g->count, (size_t) g->nid + 1));
	return RB_ALLOCATE(ctx, g->box, (size_t) g->nid + 1);
}

/* ---- VTU ---- */

#define HEADER_ROOM 4096 /* upper bound of the header's size in bytes */
#define ELEMENT_ROOM 32  /* largest element: four indices of 64 bits */
#define VTK_TRIANGLE 5   /* VTK's cell types */
#define VTK_TETRAHEDRON 10
#define NO_ID (-1) /* region of a triangle, facet of a tetrahedron */

typedef enum array_name
{
	POINTS,
	KIND,
	PARENT,
	CONNECTIVITY,
	OFFSETS,
	TYPES,
	REGION,
	MATERIAL,
	FACET,
	RADIUS_EDGE,
	MIN_DIHEDRAL,
	ARRAYS
} array_name;

/* The arrays of a file, in order. Cells are the tetrahedra, followed by the triangles. */
static const struct
{
	const char *before; /* tags before the array, or NULL */
	const char *type;   /* VTK's type, or NULL for an index of 32 or 64 bits */
	const char *name;
	int components;
	uint32_t bytes; /* size of an element, or 0 for indices */
	bool of_points; /* one element for each point; otherwise for each cell */
} vtu_array[ARRAYS] = {
	[POINTS] = {"<Points>\n", "Float64", "Points", 3, 24, true},
	[KIND] = {"</Points>\n<PointData>\n", "UInt8", "kind", 1, 1, true},
	[PARENT] = {NULL, "Int64", "parent", 1, 8, true},
	[CONNECTIVITY] = {"</PointData>\n<Cells>\n", NULL, "connectivity", 1, 0, false},
	[OFFSETS] = {NULL, NULL, "offsets", 1, 0, false},
	[TYPES] = {NULL, "UInt8", "types", 1, 1, false},
	[REGION] = {"</Cells>\n<CellData>\n", "Int64", "region", 1, 8, false},
	[MATERIAL] = {NULL, "Int32", "MaterialIDs", 1, 4, false},
	[FACET] = {NULL, "Int64", "facet", 1, 8, false},
	[RADIUS_EDGE] = {NULL, "Float64", "radius_edge", 1, 8, false},
	[MIN_DIHEDRAL] = {NULL, "Float64", "min_dihedral", 1, 8, false},
};

/* A VTU file that is written */
typedef struct vtu_file
{
	const rb_mesh_rows *rows;
	const groups *regions; /* groups of the tetrahedra, whose numbers are the materials */
	bool has[ARRAYS];
	bool narrow; /* indices have 32 bits */
} vtu_file;

static uint64_t
count_cells(const rb_mesh_rows *rows)
{
	return (uint64_t) rows->ntets + rows->nfaces;
}

/* Selects the arrays of a file. */
static vtu_file
plan_vtu(const rb_mesh_rows *rows, const groups *regions)
{
	vtu_file file = {.rows = rows, .regions = regions};

	for (int a = 0; a < ARRAYS; a++)
		file.has[a] = true;
	file.has[KIND] = rows->kind != NULL;
	file.has[PARENT] = rows->parent != NULL;
	file.has[RADIUS_EDGE] = rows->radius_edge != NULL;
	file.has[MIN_DIHEDRAL] = rows->min_dihedral != NULL;
	file.narrow = 4 * (uint64_t) rows->ntets + 3 * (uint64_t) rows->nfaces <= INT32_MAX &&
				  rows->npoints <= INT32_MAX;
	return file;
}

/* Returns the length of an array in bytes, without its length field. */
static uint64_t
vtu_array_bytes(const vtu_file *file, array_name name)
{
	const rb_mesh_rows *rows = file->rows;
	const uint64_t word = file->narrow ? 4 : 8;

	if (name == CONNECTIVITY)
		return word * (4 * (uint64_t) rows->ntets + 3 * (uint64_t) rows->nfaces);
	if (name == OFFSETS)
		return word * count_cells(rows);
	return vtu_array[name].bytes * (vtu_array[name].of_points ? rows->npoints : count_cells(rows));
}

uint64_t
rb_mesh_vtu_bytes(const rb_mesh_rows *rows)
{
	const vtu_file file = plan_vtu(rows, NULL);
	uint64_t sum = HEADER_ROOM;

	for (int a = 0; a < ARRAYS; a++)
		if (file.has[a])
			sum += (vtu_array_bytes(&file, (array_name) a) + 8 + 2) / 3 * 4;
	return sum;
}

/*
 * An encoder to base64: the position of the next characters, and the bytes that do not fill a group
 * of three yet
 */
typedef struct base64
{
	uint8_t *at;
	uint32_t bits;
	int pending;
} base64;

/* Writes four digits. */
static void
base64_write(base64 *to)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (int i = 0; i < 4; i++)
		*to->at++ = (uint8_t) digits[to->bits >> (18 - 6 * i) & 63];
	to->bits = 0;
	to->pending = 0;
}

/* Appends n bytes. */
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

/* Appends the last digits and the padding. */
static void
base64_end(base64 *to)
{
	int bytes = to->pending;

	if (bytes == 0)
		return;
	base64_write(to);
	memset(to->at - (3 - bytes), '=', (size_t) (3 - bytes));
}

/* Writes an index. */
static inline uint8_t *
append_index(const vtu_file *file, uint64_t x, uint8_t *at)
{
	return file->narrow ? write_le32(at, (uint32_t) x) : write_le64(at, x);
}

/* Writes element i of an array of points. */
static inline uint8_t *
append_point_element(const rb_mesh_rows *rows, array_name name, uint64_t i, uint8_t *at)
{
	switch (name)
	{
		case POINTS:
			for (int j = 0; j < 3; j++)
				at = write_le_double(at, rows->points[3 * i + (uint64_t) j]);
			return at;
		case KIND:
			*at = rows->kind[i];
			return at + 1;
		default:
			return write_le64(at, (uint64_t) rows->parent[i]);
	}
}

/* Writes element i of an array of cells, for a tetrahedron. */
static inline uint8_t *
append_tet_element(const vtu_file *file, array_name name, uint32_t i, uint8_t *at)
{
	const rb_mesh_rows *rows = file->rows;

	switch (name)
	{
		case CONNECTIVITY:
			for (int j = 0; j < 4; j++)
				at = append_index(file, rows->tets[i][j], at);
			return at;
		case OFFSETS:
			return append_index(file, 4 * ((uint64_t) i + 1), at);
		case TYPES:
			*at = VTK_TETRAHEDRON;
			return at + 1;
		case REGION:
			return write_le64(at, (uint64_t) id_of_element(file->regions, i));
		case MATERIAL:
			return write_le32(at, group_of_element(file->regions, i));
		case FACET:
			return write_le64(at, (uint64_t) NO_ID);
		case RADIUS_EDGE:
			return write_le_double(at, rows->radius_edge[i]);
		default:
			return write_le_double(at, rows->min_dihedral[i]);
	}
}

/* Writes the element of an array of cells for triangle i. */
static inline uint8_t *
append_triangle_element(const vtu_file *file, array_name name, uint32_t i, uint8_t *at)
{
	const rb_mesh_rows *rows = file->rows;

	switch (name)
	{
		case CONNECTIVITY:
			for (int j = 0; j < 3; j++)
				at = append_index(file, rows->faces[i][j], at);
			return at;
		case OFFSETS:
			return append_index(file, 4 * (uint64_t) rows->ntets + 3 * ((uint64_t) i + 1), at);
		case TYPES:
			*at = VTK_TRIANGLE;
			return at + 1;
		case REGION:
			return write_le64(at, (uint64_t) NO_ID);
		case MATERIAL:
			return write_le32(at, (uint32_t) NO_ID);
		case FACET:
			return write_le64(at, rows->facet != NULL ? (uint64_t) rows->facet[i] : 1);
		default:
			return write_le_double(at, NAN);
	}
}

/*
 * Appends one array with its tags. Returns false if the call should stop. There must be room for
 * the array.
 */
static bool
append_array(rb_context *ctx, const vtu_file *file, array_name name, rb_buffer *to)
{
	const rb_mesh_rows *rows = file->rows;
	const bool of_points = vtu_array[name].of_points;
	const uint64_t elements = of_points ? rows->npoints : count_cells(rows);
	const char *type = vtu_array[name].type;
	uint8_t element[ELEMENT_ROOM];
	base64 text;

	append_text(to,
				"<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%d\" format=\"binary\">\n",
				type != NULL   ? type
				: file->narrow ? "Int32"
							   : "Int64",
				vtu_array[name].name, vtu_array[name].components);
	text = (base64){.at = to->bytes + to->n};
	base64_append(&text, element,
				  (size_t) (write_le64(element, vtu_array_bytes(file, name)) - element));
	for (uint64_t i = 0; i < elements; i++)
	{
		const uint8_t *end =
			of_points ? append_point_element(rows, name, i, element)
			: i < rows->ntets
				? append_tet_element(file, name, (uint32_t) i, element)
				: append_triangle_element(file, name, (uint32_t) (i - rows->ntets), element);

		base64_append(&text, element, (size_t) (end - element));
		if (rb_stop_due(ctx, i, 65536))
			return false;
	}
	base64_end(&text);
	to->n = (size_t) (text.at - to->bytes);
	append_text(to, "\n</DataArray>\n");
	return true;
}

/* Writes all arrays of a file, for which there must be room. */
static rb_status
write_vtu(rb_context *ctx, const vtu_file *file, rb_buffer *to)
{
	append_text(to,
				"<?xml version=\"1.0\"?>\n"
				"<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" "
				"header_type=\"UInt64\">\n<UnstructuredGrid>\n"
				"<Piece NumberOfPoints=\"%u\" NumberOfCells=\"%llu\">\n",
				file->rows->npoints, (unsigned long long) count_cells(file->rows));
	for (int a = 0; a < ARRAYS; a++)
	{
		if (vtu_array[a].before != NULL)
			append_text(to, "%s", vtu_array[a].before);
		if (file->has[a] && !append_array(ctx, file, (array_name) a, to))
			return RB_STOPPED;
	}
	append_text(to, "</CellData>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n");
	return RB_OK;
}

rb_status
rb_mesh_vtu(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to)
{
	groups regions = groups_of_regions(rows);
	const vtu_file file = plan_vtu(rows, &regions);
	const size_t start = to->n;
	rb_status status = check_corner_indices(ctx, rows);

	if (status == RB_OK)
		status = number_group_ids(ctx, &regions, false);
	if (status == RB_OK)
		status = reserve_buffer_bytes(ctx, to, rb_mesh_vtu_bytes(rows));
	if (status == RB_OK)
		status = write_vtu(ctx, &file, to);
	free_groups(ctx->memory, &regions);
	if (status != RB_OK)
		to->n = start;
	return status;
}

/* ---- Gmsh ---- */

#define GMSH_TRIANGLE 2 /* Gmsh's element types */
#define GMSH_TETRAHEDRON 4
#define GROUP_ROOM 256 /* upper bound of a group's size in all sections, in bytes */

/* Computes the number of elements and the bounding box of each group. */
static rb_status
measure_groups(rb_context *ctx, groups *g, const rb_mesh_rows *rows)
{
	for (uint32_t i = 0; i < g->nid; i++)
	{
		g->count[i] = 0;
		for (int j = 0; j < 3; j++)
		{
			g->box[i][j] = HUGE_VAL;
			g->box[i][j + 3] = -HUGE_VAL;
		}
	}
	for (uint32_t i = 0; i < g->n; i++)
	{
		uint32_t k = group_of_element(g, i);

		g->count[k]++;
		for (uint32_t c = 0; c < g->corners; c++)
			for (int j = 0; j < 3; j++)
			{
				double x =
					rows->points[3 * (size_t) g->corner[(size_t) g->corners * i + c] + (size_t) j];

				g->box[k][j] = fmin(g->box[k][j], x);
				g->box[k][j + 3] = fmax(g->box[k][j + 3], x);
			}
		if (rb_stop_due(ctx, i, 65536))
			return RB_STOPPED;
	}
	for (uint32_t i = 0; i < g->nid; i++)
		if (g->count[i] == 0)
			memset(g->box[i], 0, sizeof(g->box[i]));
	return RB_OK;
}

static uint32_t
tag_of(const groups *g, uint32_t k)
{
	return g->ids_are_tags ? (uint32_t) g->id[k] : k + 1;
}

static void
append_u64(rb_buffer *to, uint64_t x)
{
	write_le64(to->bytes + to->n, x);
	to->n += 8;
}

static void
append_u32(rb_buffer *to, uint32_t x)
{
	write_le32(to->bytes + to->n, x);
	to->n += 4;
}

static void
append_names(rb_buffer *to, const groups *g, int dimension, const char *word)
{
	for (uint32_t i = 0; i < g->nid; i++)
		append_text(to, "%d %u \"%s %lld\"\n", dimension, tag_of(g, i), word, (long long) g->id[i]);
}

/* Writes each entity with a physical group of the same tag, and without its boundary. */
static void
append_entities(rb_buffer *to, const groups *g)
{
	for (uint32_t i = 0; i < g->nid; i++)
	{
		append_u32(to, tag_of(g, i));
		for (int j = 0; j < 6; j++)
		{
			write_le_double(to->bytes + to->n, g->box[i][j]);
			to->n += 8;
		}
		append_u64(to, 1);
		append_u32(to, tag_of(g, i));
		append_u64(to, 0);
	}
}

/* Appends the section of nodes. */
static rb_status
append_nodes(rb_context *ctx, rb_buffer *to, const rb_mesh_rows *rows, uint32_t volume)
{
	uint8_t *at;

	append_text(to, "$Nodes\n");
	append_u64(to, rows->npoints > 0);
	append_u64(to, rows->npoints);
	append_u64(to, rows->npoints > 0);
	append_u64(to, rows->npoints);
	if (rows->npoints > 0)
	{
		append_u32(to, 3);
		append_u32(to, volume);
		append_u32(to, 0); /* the entity has no parametric coordinates */
		append_u64(to, rows->npoints);
	}
	at = to->bytes + to->n;
	for (uint32_t i = 0; i < rows->npoints; i++)
		at = write_le64(at, (uint64_t) i + 1);
	if (rb_should_stop(ctx))
		return RB_STOPPED;
	for (uint32_t i = 0; i < rows->npoints; i++)
	{
		for (int j = 0; j < 3; j++)
			at = write_le_double(at, rows->points[3 * (size_t) i + (size_t) j]);
		if (rb_stop_due(ctx, i, 65536))
			return RB_STOPPED;
	}
	to->n = (size_t) (at - to->bytes);
	append_text(to, "\n$EndNodes\n");
	return RB_OK;
}

/* Writes one block per group; each element is written directly to its final position. */
static rb_status
append_elements(rb_context *ctx, rb_buffer *to, groups *g, int dimension, int type, uint64_t first)
{
	size_t record = 8 * ((size_t) g->corners + 1), base = to->n;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < g->nid; i++)
	{
		uint32_t count = g->count[i];

		if (count == 0)
			continue;
		append_u32(to, (uint32_t) dimension);
		append_u32(to, tag_of(g, i));
		append_u32(to, (uint32_t) type);
		append_u64(to, count);
		to->n += count * record;
		/* The position of an element must account for the blocks before it and their headers. */
		g->count[i] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < g->n; i++)
	{
		uint32_t k = group_of_element(g, i), at = g->count[k]++;
		uint8_t *p = to->bytes + base + at * record + 20 * ((size_t) k + 1);

		p = write_le64(p, first + at);
		for (uint32_t c = 0; c < g->corners; c++)
			p = write_le64(p, (uint64_t) g->corner[(size_t) g->corners * i + c] + 1);
		if (rb_stop_due(ctx, i, 65536))
			return RB_STOPPED;
	}
	return RB_OK;
}

uint64_t
rb_mesh_gmsh_bytes(const rb_mesh_rows *rows, uint64_t regions, uint64_t facets)
{
	return 1024 + 32 * (uint64_t) rows->npoints + 40 * (uint64_t) rows->ntets +
		   32 * (uint64_t) rows->nfaces + GROUP_ROOM * (regions + facets + 1);
}

/* Writes all sections of a Gmsh file. */
static rb_status
write_all(rb_context *ctx, const rb_mesh_rows *rows, groups *facets, groups *regions, rb_buffer *to)
{
	uint64_t elements = (uint64_t) rows->ntets + rows->nfaces;

	RB_TRY(number_group_ids(ctx, facets, false));
	RB_TRY(number_group_ids(ctx, regions, true));
	RB_TRY(measure_groups(ctx, facets, rows));
	RB_TRY(measure_groups(ctx, regions, rows));
	RB_TRY(reserve_buffer_bytes(ctx, to, rb_mesh_gmsh_bytes(rows, regions->nid, facets->nid)));
	append_text(to, "$MeshFormat\n4.1 1 8\n");
	append_u32(to, 1);
	append_text(to, "\n$EndMeshFormat\n$PhysicalNames\n%u\n", facets->nid + regions->nid);
	append_names(to, facets, 2, "facet");
	append_names(to, regions, 3, "region");
	append_text(to, "$EndPhysicalNames\n$Entities\n");
	append_u64(to, 0);
	append_u64(to, 0);
	append_u64(to, facets->nid);
	append_u64(to, regions->nid);
	append_entities(to, facets);
	append_entities(to, regions);
	append_text(to, "\n$EndEntities\n");
	RB_TRY(append_nodes(ctx, to, rows, tag_of(regions, 0)));
	append_text(to, "$Elements\n");
	append_u64(to, facets->nid + (rows->ntets > 0 ? regions->nid : 0));
	append_u64(to, elements);
	append_u64(to, elements > 0);
	append_u64(to, elements);
	RB_TRY(append_elements(ctx, to, facets, 2, GMSH_TRIANGLE, 1));
	RB_TRY(append_elements(ctx, to, regions, 3, GMSH_TETRAHEDRON, (uint64_t) rows->nfaces + 1));
	append_text(to, "\n$EndElements\n");
	return RB_OK;
}

rb_status
rb_mesh_gmsh(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to)
{
	groups facets = groups_of_facets(rows), regions = groups_of_regions(rows);
	const size_t start = to->n;
	rb_status status = check_corner_indices(ctx, rows);

	if (status == RB_OK)
		status = write_all(ctx, rows, &facets, &regions, to);
	free_groups(ctx->memory, &facets);
	free_groups(ctx->memory, &regions);
	if (status != RB_OK)
		to->n = start;
	return status;
}
