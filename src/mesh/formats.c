/*
 * formats.c
 *	  Writes a mesh in the formats of other programs.
 *
 * VTU: a VTK UnstructuredGrid, in XML with the bytes of each array in base64, after its length in
 * 64 bits. Raw bytes, in a section of their own, would take a quarter less, but they are not XML,
 * and meshio 5 cannot read such a section with a Python whose base64 decoder reads on after
 * padding. Connectivity is written with 32 bits if all offsets and indices fit, else with 64 bits.
 *
 * Gmsh's binary MSH 4.1: groups of tetrahedra become volumes and groups of faces become surfaces,
 * each with a physical group. Its name is the label of the group, or contains the id of the region
 * or facet. Elements without a label form a group, too, because meshio 5 needs one for each
 * element. All nodes belong to the first volume, which always exists.
 */
#include "mesh/formats.h"

#include "mesh/plc.h"
#include "core/base/sort.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/*
 * ---- bytes, text and groups of elements ----
 *
 * Tags of groups are positive and have 31 bits, as Gmsh and FEniCS need them. If all ids fit, they
 * are the tags; otherwise tags count from 1 in ascending order of ids.
 */

/* ---- bytes and text ---- */

rb_status
rb_file_reserve(rb_context *ctx, rb_buffer *b, uint64_t more)
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

void
rb_file_text(rb_buffer *b, const char *format, ...)
{
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf((char *) b->bytes + b->n, b->cap - b->n, format, list);
	va_end(list);
	if (n > 0 && (size_t) n < b->cap - b->n)
		b->n += (size_t) n;
}

/* ---- elements ---- */

rb_status
rb_file_check_corners(rb_context *ctx, const rb_mesh_rows *rows)
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

rb_file_groups
rb_file_facet_groups(const rb_mesh_rows *rows)
{
	return (rb_file_groups){.word = "facet",
							.of = rows->facet_labels != NULL ? rows->facet_labels->of : rows->facet,
							.labels = rows->facet_labels,
							.n = rows->nfaces,
							.corners = 3,
							.corner = (const uint32_t *) rows->faces};
}

rb_file_groups
rb_file_region_groups(const rb_mesh_rows *rows)
{
	return (rb_file_groups){.word = "region",
							.of = rows->region_labels != NULL ? rows->region_labels->of
															  : rows->region,
							.labels = rows->region_labels,
							.n = rows->ntets,
							.corners = 4,
							.corner = (const uint32_t *) rows->tets};
}

rb_status
rb_file_groups_number(rb_context *ctx, rb_file_groups *g, bool always)
{
	for (uint32_t i = 0; i < g->n; i++)
	{
		const int64_t id = g->of == NULL ? 1 : g->of[i];
		uint32_t *number;

		if (rb_stop_due(ctx, i, 65536))
			return RB_STOPPED;
		if (g->labels != NULL && id == RB_MESH_NO_LABEL)
		{
			g->has_rest = true;
			continue;
		}
		RB_TRY(rb_file_ids_reserve(ctx, &g->table, g->id, 1));
		number = rb_file_ids_find(&g->table, g->id, id);
		if (*number != RB_HASH_FREE)
			continue;
		RB_TRY(RB_GROW(ctx, g->id, g->id_cap, (size_t) g->nid + 1));
		g->id[g->nid] = id;
		*number = g->nid++;
		g->table.n++;
	}
	if (g->nid == 0 && !g->has_rest && always)
	{
		RB_TRY(RB_GROW(ctx, g->id, g->id_cap, 1));
		g->id[g->nid++] = 1;
	}
	RB_TRY(rb_sort_ids(ctx, g->id, g->nid));
	g->table.n = g->nid;
	RB_TRY(rb_file_ids_grow(ctx, &g->table, g->id, g->nid));
	g->ids_are_tags =
		g->nid == 0 || (g->id[0] > 0 && g->id[g->nid - 1] <= INT32_MAX - (int64_t) g->has_rest);
	return RB_OK;
}

void
rb_file_groups_free(rb_memory *memory, rb_file_groups *g)
{
	RB_FREE(memory, g->id);
	rb_file_ids_free(memory, &g->table);
}

uint32_t
rb_file_group_tag(const rb_file_groups *g, uint32_t k)
{
	if (!g->ids_are_tags || g->nid == 0)
		return k + 1;
	return k < g->nid ? (uint32_t) g->id[k] : (uint32_t) g->id[k - 1] + 1;
}

const char *
rb_file_group_label(const rb_file_groups *g, uint32_t k)
{
	size_t i;

	if (g->labels == NULL)
		return NULL;
	if (k >= g->nid)
		return "no group";
	i = rb_ids_lower_bound(g->labels->id, g->labels->n, g->id[k]);
	return i < g->labels->n && g->labels->id[i] == g->id[k] ? g->labels->text[i] : NULL;
}

uint64_t
rb_file_groups_label_bytes(const rb_file_groups *g)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; g->labels != NULL && i < g->labels->n; i++)
		sum += strlen(g->labels->text[i]);
	return sum;
}

/* ---- VTU and Gmsh ---- */

/* ---- VTU ---- */

#define HEADER_ROOM 4096 /* upper bound on the header's size in bytes */
#define ELEMENT_ROOM 32  /* largest element: four indices of 64 bits */
#define VTK_TRIANGLE 5   /* VTK's cell types */
#define VTK_TETRAHEDRON 10
#define NO_ID (-1) /* region of a triangle, facet of a tetrahedron */

typedef enum array_name
{
	POINTS,
	KIND,
	PARENT,
	BULK_NODE,
	CONNECTIVITY,
	OFFSETS,
	TYPES,
	REGION,
	MATERIAL,
	FACET,
	RADIUS_EDGE,
	MIN_DIHEDRAL,
	BULK_ELEMENT,
	BULK_FACE,
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
	[BULK_NODE] = {NULL, "UInt64", "bulk_node_ids", 1, 8, true},
	[CONNECTIVITY] = {"</PointData>\n<Cells>\n", NULL, "connectivity", 1, 0, false},
	[OFFSETS] = {NULL, NULL, "offsets", 1, 0, false},
	[TYPES] = {NULL, "UInt8", "types", 1, 1, false},
	[REGION] = {"</Cells>\n<CellData>\n", "Int64", "region", 1, 8, false},
	[MATERIAL] = {NULL, "Int32", "MaterialIDs", 1, 4, false},
	[FACET] = {NULL, "Int64", "facet", 1, 8, false},
	[RADIUS_EDGE] = {NULL, "Float64", "radius_edge", 1, 8, false},
	[MIN_DIHEDRAL] = {NULL, "Float64", "min_dihedral", 1, 8, false},
	[BULK_ELEMENT] = {NULL, "UInt64", "bulk_element_ids", 1, 8, false},
	[BULK_FACE] = {NULL, "UInt64", "bulk_face_ids", 1, 8, false},
};

/* A VTU file that is written */
typedef struct vtu_file
{
	const rb_mesh_rows *rows;
	const rb_file_groups *regions; /* groups of the tetrahedra, whose numbers are the materials */
	const uint32_t *bulk_node;     /* number of each point in the file of tetrahedra, or NULL */
	/* four times the tetrahedron of each face, plus the opposite corner, or NULL */
	const uint32_t *bulk_side;
	bool has[ARRAYS];
	bool narrow; /* true if indices have 32 bits */
} vtu_file;

/* Returns the number of cells of a VTU file: tetrahedra and faces. */
static uint64_t
count_vtu_cells(const rb_mesh_rows *rows)
{
	return (uint64_t) rows->ntets + rows->nfaces;
}

/* Selects the arrays of a file. */
static vtu_file
plan_vtu(const rb_mesh_rows *rows, const rb_file_groups *regions)
{
	vtu_file file = {.rows = rows, .regions = regions};

	for (int a = 0; a < ARRAYS; a++)
		file.has[a] = a != BULK_NODE && a != BULK_ELEMENT && a != BULK_FACE;
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
		return word * count_vtu_cells(rows);
	return vtu_array[name].bytes *
		   (vtu_array[name].of_points ? rows->npoints : count_vtu_cells(rows));
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

/* Writes the four digits of a group of three bytes. */
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
	return file->narrow ? rb_file_le32(at, (uint32_t) x) : rb_file_le64(at, x);
}

/* Writes element i of an array of points. */
static inline uint8_t *
append_point_element(const vtu_file *file, array_name name, uint64_t i, uint8_t *at)
{
	const rb_mesh_rows *rows = file->rows;

	switch (name)
	{
		case POINTS:
			for (int j = 0; j < 3; j++)
				at = rb_file_le_double(at, rows->points[3 * i + (uint64_t) j]);
			return at;
		case KIND:
			*at = rows->kind[i];
			return at + 1;
		case PARENT:
			return rb_file_le64(at, (uint64_t) rows->parent[i]);
		default:
			return rb_file_le64(at, file->bulk_node[i]);
	}
}

/* Returns the material of a tetrahedron: the number of its group, or NO_ID. */
static inline uint32_t
material_of_vtu_tet(const rb_file_groups *regions, uint32_t i)
{
	const uint32_t k = rb_file_group_of(regions, i);

	return k < regions->nid ? k : (uint32_t) NO_ID;
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
			return rb_file_le64(at, rows->region != NULL ? (uint64_t) rows->region[i] : 1);
		case MATERIAL:
			return rb_file_le32(at, material_of_vtu_tet(file->regions, i));
		case FACET:
			return rb_file_le64(at, (uint64_t) NO_ID);
		case RADIUS_EDGE:
			return rb_file_le_double(at, rows->radius_edge[i]);
		default:
			return rb_file_le_double(at, rows->min_dihedral[i]);
	}
}

/* Number of a tetrahedron's face in OpenGeoSys, by the corner opposite to it */
static const uint8_t ogs_face[4] = {2, 3, 1, 0};

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
			return rb_file_le64(at, (uint64_t) NO_ID);
		case MATERIAL:
			return rb_file_le32(at, (uint32_t) NO_ID);
		case FACET:
			return rb_file_le64(at, rows->facet != NULL ? (uint64_t) rows->facet[i] : 1);
		case BULK_ELEMENT:
			return rb_file_le64(at, file->bulk_side[i] / 4);
		case BULK_FACE:
			return rb_file_le64(at, ogs_face[file->bulk_side[i] % 4]);
		default:
			return rb_file_le_double(at, NAN);
	}
}

/*
 * Appends one array with its tags. Returns false if the call should stop. There must be room for
 * the array.
 */
static bool
append_vtu_array(rb_context *ctx, const vtu_file *file, array_name name, rb_buffer *to)
{
	const rb_mesh_rows *rows = file->rows;
	const bool of_points = vtu_array[name].of_points;
	const uint64_t elements = of_points ? rows->npoints : count_vtu_cells(rows);
	const char *type = vtu_array[name].type;
	uint8_t element[ELEMENT_ROOM];
	base64 text;

	rb_file_text(
		to, "<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%d\" format=\"binary\">\n",
		type != NULL   ? type
		: file->narrow ? "Int32"
					   : "Int64",
		vtu_array[name].name, vtu_array[name].components);
	text = (base64){.at = to->bytes + to->n};
	base64_append(&text, element,
				  (size_t) (rb_file_le64(element, vtu_array_bytes(file, name)) - element));
	for (uint64_t i = 0; i < elements; i++)
	{
		const uint8_t *end =
			of_points ? append_point_element(file, name, i, element)
			: i < rows->ntets
				? append_tet_element(file, name, (uint32_t) i, element)
				: append_triangle_element(file, name, (uint32_t) (i - rows->ntets), element);

		base64_append(&text, element, (size_t) (end - element));
		if (rb_stop_due(ctx, i, 65536))
			return false;
	}
	base64_end(&text);
	to->n = (size_t) (text.at - to->bytes);
	rb_file_text(to, "\n</DataArray>\n");
	return true;
}

/* Writes all arrays of a file, for which there must be room. */
static rb_status
write_vtu(rb_context *ctx, const vtu_file *file, rb_buffer *to)
{
	rb_file_text(to,
				 "<?xml version=\"1.0\"?>\n"
				 "<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" "
				 "header_type=\"UInt64\">\n<UnstructuredGrid>\n"
				 "<Piece NumberOfPoints=\"%u\" NumberOfCells=\"%llu\">\n",
				 file->rows->npoints, (unsigned long long) count_vtu_cells(file->rows));
	for (int a = 0; a < ARRAYS; a++)
	{
		if (vtu_array[a].before != NULL)
			rb_file_text(to, "%s", vtu_array[a].before);
		if (file->has[a] && !append_vtu_array(ctx, file, (array_name) a, to))
			return RB_STOPPED;
	}
	rb_file_text(to, "</CellData>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n");
	return RB_OK;
}

rb_status
rb_mesh_vtu(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to)
{
	rb_file_groups regions = rb_file_region_groups(rows);
	const vtu_file file = plan_vtu(rows, &regions);
	const size_t start = to->n;
	rb_status status = rb_file_check_corners(ctx, rows);

	if (status == RB_OK)
		status = rb_file_groups_number(ctx, &regions, false);
	if (status == RB_OK)
		status = rb_file_reserve(ctx, to, rb_mesh_vtu_bytes(rows));
	if (status == RB_OK)
		status = write_vtu(ctx, &file, to);
	rb_file_groups_free(ctx->memory, &regions);
	if (status != RB_OK)
		to->n = start;
	return status;
}

/* ---- OpenGeoSys ---- */

/* Writes a VTU file of the given arrays. */
static rb_status
write_ogs(rb_context *ctx, vtu_file *file, const array_name *arrays, int n, rb_buffer *to)
{
	uint64_t room = HEADER_ROOM;

	memset(file->has, 0, sizeof file->has);
	for (int i = 0; i < n; i++)
	{
		file->has[arrays[i]] = true;
		room += (vtu_array_bytes(file, arrays[i]) + 8 + 2) / 3 * 4;
	}
	RB_TRY(rb_file_reserve(ctx, to, room));
	return write_vtu(ctx, file, to);
}

/* Writes the tetrahedra with their materials. */
static rb_status
write_ogs_tets(rb_context *ctx, const rb_mesh_rows *rows, rb_file_groups *regions, rb_buffer *to)
{
	static const array_name arrays[] = {POINTS, CONNECTIVITY, OFFSETS, TYPES, MATERIAL};
	rb_mesh_rows tets = *rows;
	vtu_file file;

	tets.nfaces = 0;
	file = plan_vtu(&tets, regions);
	RB_TRY(rb_file_groups_number(ctx, regions, false));
	return write_ogs(ctx, &file, arrays, sizeof(arrays) / sizeof(*arrays), to);
}

/* Faces of one group, with points of their own */
typedef struct ogs_surface
{
	rb_mesh_rows rows;
	uint32_t (*sides)[2];
	uint32_t *number; /* new number of each point, or RB_NONE */
	uint32_t *node;   /* old number of each point */
	uint32_t *side;
	double *points;
	uint32_t (*faces)[3];
} ogs_surface;

/* Collects the faces of a surface that a tetrahedron has, and numbers their points by first use. */
static rb_status
collect_ogs_surface(rb_context *ctx, const rb_mesh_rows *rows, ogs_surface *s)
{
	const int64_t *of = rows->facet_labels != NULL ? rows->facet_labels->of : rows->facet;

	RB_TRY(RB_ALLOCATE(ctx, s->sides, (size_t) rows->nfaces + 1));
	RB_TRY(RB_ALLOCATE(ctx, s->number, (size_t) rows->npoints + 1));
	RB_TRY(RB_ALLOCATE(ctx, s->node, (size_t) rows->npoints + 1));
	RB_TRY(RB_ALLOCATE(ctx, s->side, (size_t) rows->nfaces + 1));
	RB_TRY(RB_ALLOCATE(ctx, s->faces, (size_t) rows->nfaces + 1));
	RB_TRY(rb_mesh_face_sides(ctx, rows, s->sides));
	memset(s->number, 0xff, (size_t) rows->npoints * sizeof *s->number);
	for (uint32_t i = 0; i < rows->nfaces; i++)
	{
		const uint32_t to = s->rows.nfaces;

		if (rb_stop_due(ctx, i, 65536))
			return RB_STOPPED;
		if ((of == NULL ? 1 : of[i]) != *rows->surface || s->sides[i][0] == RB_NONE)
			continue;
		for (int j = 0; j < 3; j++)
		{
			const uint32_t v = rows->faces[i][j];

			if (s->number[v] == RB_NONE)
			{
				s->node[s->rows.npoints] = v;
				s->number[v] = s->rows.npoints++;
			}
			s->faces[to][j] = s->number[v];
		}
		s->side[to] = s->sides[i][0];
		s->rows.nfaces++;
	}
	RB_TRY(RB_ALLOCATE(ctx, s->points, 3 * (size_t) s->rows.npoints + 1));
	for (uint32_t i = 0; i < s->rows.npoints; i++)
		memcpy(s->points + 3 * (size_t) i, rows->points + 3 * (size_t) s->node[i],
			   3 * sizeof *s->points);
	s->rows.points = s->points;
	s->rows.faces = (const uint32_t(*)[3]) s->faces;
	return RB_OK;
}

/* Writes a group of faces. */
static rb_status
write_ogs_surface(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to)
{
	static const array_name arrays[] = {POINTS, BULK_NODE,    CONNECTIVITY, OFFSETS,
										TYPES,  BULK_ELEMENT, BULK_FACE};
	ogs_surface s = {.rows = {.npoints = 0}};
	vtu_file file;
	RB_FREE_AT_END(ctx->memory, &s.sides, &s.number, &s.node, &s.side, &s.points, &s.faces);

	RB_TRY(collect_ogs_surface(ctx, rows, &s));
	file = plan_vtu(&s.rows, NULL);
	file.bulk_node = s.node;
	file.bulk_side = s.side;
	return write_ogs(ctx, &file, arrays, sizeof(arrays) / sizeof(*arrays), to);
}

rb_status
rb_mesh_ogs(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to)
{
	rb_file_groups regions = rb_file_region_groups(rows);
	const size_t start = to->n;
	rb_status status = rb_file_check_corners(ctx, rows);

	if (status == RB_OK)
		status = rows->surface != NULL ? write_ogs_surface(ctx, rows, to)
									   : write_ogs_tets(ctx, rows, &regions, to);
	rb_file_groups_free(ctx->memory, &regions);
	if (status != RB_OK)
		to->n = start;
	return status;
}

/* ---- Gmsh ---- */

#define GMSH_TRIANGLE 2 /* Gmsh's element types */
#define GMSH_TETRAHEDRON 4
#define GROUP_ROOM 256 /* upper bound on a group's size in all sections, in bytes */

/* The groups of one dimension as entities of a Gmsh file */
typedef struct entities
{
	rb_file_groups groups;
	uint32_t *count; /* number of elements per group; later the next position */
	double (*box)[6];
} entities;

/* Numbers the groups, and computes the number of elements and the bounding box of each. */
static rb_status
measure_entities(rb_context *ctx, entities *e, const rb_mesh_rows *rows, bool always)
{
	rb_file_groups *g = &e->groups;
	uint32_t ngroups;

	RB_TRY(rb_file_groups_number(ctx, g, always));
	ngroups = rb_file_groups_count(g);
	RB_TRY(RB_ALLOCATE(ctx, e->count, (size_t) ngroups + 1));
	RB_TRY(RB_ALLOCATE(ctx, e->box, (size_t) ngroups + 1));
	for (uint32_t i = 0; i < ngroups; i++)
	{
		e->count[i] = 0;
		for (int j = 0; j < 3; j++)
		{
			e->box[i][j] = HUGE_VAL;
			e->box[i][j + 3] = -HUGE_VAL;
		}
	}
	for (uint32_t i = 0; i < g->n; i++)
	{
		uint32_t k = rb_file_group_of(g, i);

		e->count[k]++;
		for (uint32_t c = 0; c < g->corners; c++)
			for (int j = 0; j < 3; j++)
			{
				double x =
					rows->points[3 * (size_t) g->corner[(size_t) g->corners * i + c] + (size_t) j];

				e->box[k][j] = fmin(e->box[k][j], x);
				e->box[k][j + 3] = fmax(e->box[k][j + 3], x);
			}
		if (rb_stop_due(ctx, i, 65536))
			return RB_STOPPED;
	}
	for (uint32_t i = 0; i < ngroups; i++)
		if (e->count[i] == 0)
			memset(e->box[i], 0, sizeof(e->box[i]));
	return RB_OK;
}

/* Frees the groups, counts and boxes of the entities of a Gmsh file. */
static void
free_entities(rb_memory *memory, entities *e)
{
	rb_file_groups_free(memory, &e->groups);
	RB_FREE(memory, e->count);
	RB_FREE(memory, e->box);
}

/*
 * Appends a little-endian 64-bit number to the buffer of a binary Gmsh file, which must have room.
 */
static void
append_gmsh_u64(rb_buffer *to, uint64_t x)
{
	rb_file_le64(to->bytes + to->n, x);
	to->n += 8;
}

/*
 * Appends a little-endian 32-bit number to the buffer of a binary Gmsh file, which must have room.
 */
static void
append_gmsh_u32(rb_buffer *to, uint32_t x)
{
	rb_file_le32(to->bytes + to->n, x);
	to->n += 4;
}

/* Appends the names of groups: labels without quotes and control characters, or words and ids. */
static void
append_gmsh_names(rb_buffer *to, const rb_file_groups *g, int dimension)
{
	const uint32_t ngroups = rb_file_groups_count(g);

	for (uint32_t i = 0; i < ngroups; i++)
	{
		const char *label = rb_file_group_label(g, i);

		rb_file_text(to, "%d %u \"", dimension, rb_file_group_tag(g, i));
		if (label == NULL)
			rb_file_text(to, "%s %lld", g->word, (long long) g->id[i]);
		for (; label != NULL && *label != '\0'; label++)
			to->bytes[to->n++] = (uint8_t) (*label == '"'                  ? '\''
											: (unsigned char) *label < ' ' ? ' '
																		   : *label);
		rb_file_text(to, "\"\n");
	}
}

/* Writes each entity with a physical group of the same tag, and without its boundary. */
static void
append_entities(rb_buffer *to, const entities *e)
{
	const uint32_t ngroups = rb_file_groups_count(&e->groups);

	for (uint32_t i = 0; i < ngroups; i++)
	{
		append_gmsh_u32(to, rb_file_group_tag(&e->groups, i));
		for (int j = 0; j < 6; j++)
		{
			rb_file_le_double(to->bytes + to->n, e->box[i][j]);
			to->n += 8;
		}
		append_gmsh_u64(to, 1);
		append_gmsh_u32(to, rb_file_group_tag(&e->groups, i));
		append_gmsh_u64(to, 0);
	}
}

/* Appends the section of nodes. */
static rb_status
append_nodes(rb_context *ctx, rb_buffer *to, const rb_mesh_rows *rows, uint32_t volume)
{
	uint8_t *at;

	rb_file_text(to, "$Nodes\n");
	append_gmsh_u64(to, rows->npoints > 0);
	append_gmsh_u64(to, rows->npoints);
	append_gmsh_u64(to, rows->npoints > 0);
	append_gmsh_u64(to, rows->npoints);
	if (rows->npoints > 0)
	{
		append_gmsh_u32(to, 3);
		append_gmsh_u32(to, volume);
		append_gmsh_u32(to, 0); /* the entity has no parametric coordinates */
		append_gmsh_u64(to, rows->npoints);
	}
	at = to->bytes + to->n;
	for (uint32_t i = 0; i < rows->npoints; i++)
		at = rb_file_le64(at, (uint64_t) i + 1);
	if (rb_should_stop(ctx))
		return RB_STOPPED;
	for (uint32_t i = 0; i < rows->npoints; i++)
	{
		for (int j = 0; j < 3; j++)
			at = rb_file_le_double(at, rows->points[3 * (size_t) i + (size_t) j]);
		if (rb_stop_due(ctx, i, 65536))
			return RB_STOPPED;
	}
	to->n = (size_t) (at - to->bytes);
	rb_file_text(to, "\n$EndNodes\n");
	return RB_OK;
}

/* Writes one block per group; each element is written directly to its final position. */
static rb_status
append_elements(rb_context *ctx, rb_buffer *to, entities *e, int dimension, int type,
				uint64_t first)
{
	const rb_file_groups *g = &e->groups;
	const uint32_t ngroups = rb_file_groups_count(g);
	size_t record = 8 * ((size_t) g->corners + 1), base = to->n;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < ngroups; i++)
	{
		uint32_t count = e->count[i];

		if (count == 0)
			continue;
		append_gmsh_u32(to, (uint32_t) dimension);
		append_gmsh_u32(to, rb_file_group_tag(g, i));
		append_gmsh_u32(to, (uint32_t) type);
		append_gmsh_u64(to, count);
		to->n += count * record;
		/* The position of an element must account for the blocks before it and their headers. */
		e->count[i] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < g->n; i++)
	{
		uint32_t k = rb_file_group_of(g, i), at = e->count[k]++;
		uint8_t *p = to->bytes + base + at * record + 20 * ((size_t) k + 1);

		p = rb_file_le64(p, first + at);
		for (uint32_t c = 0; c < g->corners; c++)
			p = rb_file_le64(p, (uint64_t) g->corner[(size_t) g->corners * i + c] + 1);
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
write_gmsh(rb_context *ctx, const rb_mesh_rows *rows, entities *facets, entities *regions,
		   rb_buffer *to)
{
	const uint64_t elements = (uint64_t) rows->ntets + rows->nfaces;
	uint32_t nfacets, nregions;

	RB_TRY(measure_entities(ctx, facets, rows, false));
	RB_TRY(measure_entities(ctx, regions, rows, true));
	nfacets = rb_file_groups_count(&facets->groups);
	nregions = rb_file_groups_count(&regions->groups);
	RB_TRY(rb_file_reserve(ctx, to,
						   rb_mesh_gmsh_bytes(rows, nregions, nfacets) +
							   rb_file_groups_label_bytes(&facets->groups) +
							   rb_file_groups_label_bytes(&regions->groups)));
	rb_file_text(to, "$MeshFormat\n4.1 1 8\n");
	append_gmsh_u32(to, 1);
	rb_file_text(to, "\n$EndMeshFormat\n$PhysicalNames\n%u\n", nfacets + nregions);
	append_gmsh_names(to, &facets->groups, 2);
	append_gmsh_names(to, &regions->groups, 3);
	rb_file_text(to, "$EndPhysicalNames\n$Entities\n");
	append_gmsh_u64(to, 0);
	append_gmsh_u64(to, 0);
	append_gmsh_u64(to, nfacets);
	append_gmsh_u64(to, nregions);
	append_entities(to, facets);
	append_entities(to, regions);
	rb_file_text(to, "\n$EndEntities\n");
	RB_TRY(append_nodes(ctx, to, rows, rb_file_group_tag(&regions->groups, 0)));
	rb_file_text(to, "$Elements\n");
	append_gmsh_u64(to, nfacets + (rows->ntets > 0 ? nregions : 0));
	append_gmsh_u64(to, elements);
	append_gmsh_u64(to, elements > 0);
	append_gmsh_u64(to, elements);
	RB_TRY(append_elements(ctx, to, facets, 2, GMSH_TRIANGLE, 1));
	RB_TRY(append_elements(ctx, to, regions, 3, GMSH_TETRAHEDRON, (uint64_t) rows->nfaces + 1));
	rb_file_text(to, "\n$EndElements\n");
	return RB_OK;
}

rb_status
rb_mesh_gmsh(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to)
{
	entities facets = {.groups = rb_file_facet_groups(rows)};
	entities regions = {.groups = rb_file_region_groups(rows)};
	const size_t start = to->n;
	rb_status status = rb_file_check_corners(ctx, rows);

	if (status == RB_OK)
		status = write_gmsh(ctx, rows, &facets, &regions, to);
	free_entities(ctx->memory, &facets);
	free_entities(ctx->memory, &regions);
	if (status != RB_OK)
		to->n = start;
	return status;
}
