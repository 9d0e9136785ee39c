/*
 * formats.c
 *	  Tests mesh files: their sizes and structure, byte by byte where it matters.
 *
 * With a folder as its argument, the program writes its files there, for other readers:
 *
 *	  python3 -c 'import meshio, sys; print(meshio.read(sys.argv[1]))' folder/grid.vtu
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "mesh/formats.h"

static void
free_buffer(rb_memory *memory, rb_buffer *b)
{
	rb_free(memory, (void **) &b->bytes);
	b->n = b->cap = 0;
}

static rb_context context;
static const char *folder;

/* Cubes in a row, of six tetrahedra each, with a face between any two */
typedef struct row
{
	rb_mesh_rows rows;
	double (*points)[3];
	uint8_t *kind;
	int64_t *parent;
	uint32_t (*tets)[4];
	int64_t *region;
	double *radius_edge;
	double *min_dihedral;
	uint32_t (*faces)[3];
	int64_t *facet;
} row;

static row
make(uint32_t n, int64_t first_region)
{
	static const uint8_t corners[6][4] = {{0, 1, 3, 7}, {0, 2, 6, 7}, {0, 4, 5, 7},
										  {0, 3, 2, 7}, {0, 6, 4, 7}, {0, 5, 1, 7}};
	row r = {.rows.npoints = 4 * (n + 1), .rows.ntets = 6 * n, .rows.nfaces = 2 * (n + 1)};

	r.points = malloc(r.rows.npoints * sizeof(*r.points));
	r.kind = malloc(r.rows.npoints);
	r.parent = malloc(r.rows.npoints * sizeof(int64_t));
	r.tets = malloc((r.rows.ntets + 1) * sizeof(*r.tets));
	r.region = malloc((r.rows.ntets + 1) * sizeof(int64_t));
	r.radius_edge = malloc((r.rows.ntets + 1) * sizeof(double));
	r.min_dihedral = malloc((r.rows.ntets + 1) * sizeof(double));
	r.faces = malloc(r.rows.nfaces * sizeof(*r.faces));
	r.facet = malloc(r.rows.nfaces * sizeof(int64_t));
	for (uint32_t i = 0; i < r.rows.npoints; i++)
	{
		r.points[i][0] = i / 4 + 0.25;
		r.points[i][1] = i & 1;
		r.points[i][2] = i >> 1 & 1;
		r.kind[i] = i % 4;
		r.parent[i] = i % 4 == 0 ? -1 : (int64_t) i << 33;
	}
	for (uint32_t t = 0; t < r.rows.ntets; t++)
	{
		for (int j = 0; j < 4; j++)
			r.tets[t][j] = 4 * (t / 6) + corners[t % 6][j];
		r.region[t] = first_region + t / 6 % 3;
		r.radius_edge[t] = 1.0 / (t + 1);
		r.min_dihedral[t] = 45.0 / (t + 1);
	}
	for (uint32_t f = 0; f < r.rows.nfaces; f++)
	{
		r.faces[f][0] = f / 2 * 4;
		r.faces[f][1] = f / 2 * 4 + (f & 1 ? 3 : 1);
		r.faces[f][2] = f / 2 * 4 + (f & 1 ? 2 : 3);
		r.facet[f] = 10 + f / 2;
	}
	r.rows.points = &r.points[0][0];
	r.rows.kind = r.kind;
	r.rows.parent = r.parent;
	r.rows.tets = (const uint32_t(*)[4]) r.tets;
	r.rows.region = r.region;
	r.rows.radius_edge = r.radius_edge;
	r.rows.min_dihedral = r.min_dihedral;
	r.rows.faces = (const uint32_t(*)[3]) r.faces;
	r.rows.facet = r.facet;
	return r;
}

static void
drop(row *r)
{
	free(r->points);
	free(r->kind);
	free(r->parent);
	free(r->tets);
	free(r->region);
	free(r->radius_edge);
	free(r->min_dihedral);
	free(r->faces);
	free(r->facet);
}

static void
save(const char *name, const rb_buffer *b)
{
	char path[1000];
	FILE *f;

	if (folder == NULL)
		return;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "wb");
	CHECK(f != NULL && fwrite(b->bytes, 1, b->n, f) == b->n && fclose(f) == 0, "%s", path);
}

/* Returns the position of a text in the buffer, from an offset on, or -1. */
static long
find(const rb_buffer *b, size_t from, const char *text)
{
	size_t n = strlen(text);

	for (size_t i = from; i + n <= b->n; i++)
		if (memcmp(b->bytes + i, text, n) == 0)
			return (long) i;
	return -1;
}

static uint64_t
number(const rb_buffer *b, size_t at, int bytes)
{
	uint64_t x = 0;

	for (int i = 0; i < bytes; i++)
		x |= (uint64_t) b->bytes[at + (size_t) i] << 8 * i;
	return x;
}

static double
real(const rb_buffer *b, size_t at)
{
	uint64_t bits = number(b, at, 8);
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* Decodes an array from base64 and returns its bytes, which are valid until the next call. Checks its length. */
static const rb_buffer *
array_of(const rb_buffer *b, const char *name, uint64_t length)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	static uint8_t bytes[4096];
	static rb_buffer array = {.bytes = bytes, .cap = sizeof(bytes)};
	char text[100];
	long at;
	uint32_t bits = 0;
	int pad = 0;

	snprintf(text, sizeof(text), "Name=\"%s\"", name);
	at = find(b, 0, text);
	CHECK(at > 0, "no %s", name);
	at = at < 0 ? 0 : find(b, (size_t) at, "format=\"binary\">\n");
	CHECK(at > 0, "%s is not in base64", name);
	array.n = 0;
	memset(bytes, 0, sizeof(bytes));
	if (at < 0)
		return &array;
	at += (long) strlen("format=\"binary\">\n");
	for (int i = 1; b->bytes[at] != '\n' && array.n + 3 <= sizeof(bytes); i++, at++)
	{
		const char *digit = b->bytes[at] == '=' ? digits : strchr(digits, b->bytes[at]);

		pad += b->bytes[at] == '=';
		CHECK(digit != NULL && (pad == 0 || b->bytes[at] == '='), "%s: character %d", name, i);
		bits = bits << 6 | (uint32_t) (digit - digits);
		for (int j = 0; i % 4 == 0 && j < 3; j++)
			bytes[array.n++] = (uint8_t) (bits >> (16 - 8 * j));
	}
	array.n -= (size_t) pad;
	CHECK(pad <= 2 && find(b, (size_t) at, "\n</DataArray>\n") == at, "%s ends otherwise", name);
	CHECK(array.n == length + 8 && number(&array, 0, 8) == length, "%s: %d, %d bytes", name,
		  (int) number(&array, 0, 8), (int) array.n);
	memmove(bytes, bytes + 8, array.n -= 8);
	return &array;
}

static void
vtu(void)
{
	row r = make(5, 1);
	rb_buffer b = {NULL, 0, 0};
	rb_status status = rb_mesh_vtu(&context, &r.rows, &b);
	const rb_buffer *array;
	size_t at;

	CHECK(status == RB_OK, "%s", rb_status_text(status));
	CHECK(b.n <= rb_mesh_vtu_bytes(&r.rows) && b.n + 4096 > rb_mesh_vtu_bytes(&r.rows), "%zu", b.n);
	CHECK(find(&b, 0, "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\"") == 0, "!");
	CHECK(find(&b, 0, "NumberOfPoints=\"24\" NumberOfCells=\"42\"") > 0, "!");
	CHECK(find(&b, 0, "\n</UnstructuredGrid>\n</VTKFile>\n") == (long) b.n - 32, "!");
	array = array_of(&b, "Points", 24 * 24);
	for (uint32_t i = 0; i < 72; i++)
		CHECK(real(array, 8 * i) == r.points[i / 3][i % 3], "%u", i);
	array = array_of(&b, "connectivity", 30 * 16 + 12 * 12);
	for (uint32_t i = 0; i < 120; i++)
		CHECK(number(array, 4 * i, 4) == r.tets[i / 4][i % 4], "%u", i);
	for (uint32_t i = 0; i < 36; i++)
		CHECK(number(array, 480 + 4 * i, 4) == r.faces[i / 3][i % 3], "%u", i);
	array = array_of(&b, "offsets", 42 * 4);
	for (uint32_t i = 0; i < 42; i++)
		CHECK(number(array, 4 * i, 4) == (i < 30 ? 4 * (i + 1) : 120 + 3 * (i - 29)), "%u", i);
	array = array_of(&b, "types", 42);
	for (uint32_t i = 0; i < 42; i++)
		CHECK(array->bytes[i] == (i < 30 ? 10 : 5), "%u", i);
	array = array_of(&b, "region", 42 * 8);
	for (uint32_t i = 0; i < 42; i++)
		CHECK((int64_t) number(array, 8 * i, 8) == (i < 30 ? r.region[i] : -1), "%u", i);
	array = array_of(&b, "MaterialIDs", 42 * 4);
	for (uint32_t i = 0; i < 42; i++)
		CHECK((int32_t) number(array, 4 * i, 4) == (i < 30 ? (int32_t) r.region[i] - 1 : -1), "%u",
			  i);
	array = array_of(&b, "facet", 42 * 8);
	for (uint32_t i = 0; i < 42; i++)
		CHECK((int64_t) number(array, 8 * i, 8) == (i < 30 ? -1 : r.facet[i - 30]), "%u", i);
	array = array_of(&b, "radius_edge", 42 * 8);
	for (uint32_t i = 0; i < 42; i++)
		CHECK(i < 30 ? real(array, 8 * i) == r.radius_edge[i] : isnan(real(array, 8 * i)), "%u", i);
	array = array_of(&b, "min_dihedral", 42 * 8);
	for (uint32_t i = 0; i < 42; i++)
		CHECK(i < 30 ? real(array, 8 * i) == r.min_dihedral[i] : isnan(real(array, 8 * i)), "%u",
			  i);
	array = array_of(&b, "kind", 24);
	CHECK(memcmp(array->bytes, r.kind, 24) == 0, "!");
	array = array_of(&b, "parent", 24 * 8);
	for (uint32_t i = 0; i < 24; i++)
		CHECK((int64_t) number(array, 8 * i, 8) == r.parent[i], "%u", i);
	save("row.vtu", &b);
	/* After existing contents, and without optional arrays */
	at = b.n;
	r.rows.kind = NULL;
	r.rows.parent = NULL;
	r.rows.radius_edge = NULL;
	r.rows.min_dihedral = NULL;
	r.rows.facet = NULL;
	r.rows.region = NULL;
	CHECK(rb_mesh_vtu(&context, &r.rows, &b) == RB_OK, "!");
	CHECK(find(&b, 1, "<?xml") == (long) at, "!");
	CHECK(find(&b, at, "radius_edge") < 0 && find(&b, at, "min_dihedral") < 0 &&
			  find(&b, at, "parent") < 0 && find(&b, at, "kind") < 0,
		  "!");
	memmove(b.bytes, b.bytes + at, b.n - at);
	b.n -= at;
	array = array_of(&b, "region", 42 * 8);
	CHECK(number(array, 8, 8) == 1, "!");
	array = array_of(&b, "MaterialIDs", 42 * 4);
	CHECK(number(array, 4, 4) == 0, "!");
	array = array_of(&b, "facet", 42 * 8);
	CHECK(number(array, 8 * 41, 8) == 1, "!");
	save("bare.vtu", &b);
	free_buffer(context.memory, &b);
	drop(&r);
}

/* Files for OpenGeoSys: tetrahedra with materials, and a facet with its own points */
static void
ogs(void)
{
	row r = make(5, 1);
	const int64_t surface = 12; /* between the second and the third cube */
	rb_buffer b = {NULL, 0, 0};
	uint64_t node[4], corner[6];
	const rb_buffer *array;

	CHECK(rb_mesh_ogs(&context, &r.rows, &b) == RB_OK, "!");
	CHECK(find(&b, 0, "NumberOfPoints=\"24\" NumberOfCells=\"30\"") > 0, "!");
	array = array_of(&b, "types", 30);
	for (uint32_t i = 0; i < 30; i++)
		CHECK(array->bytes[i] == 10, "%u", i);
	array = array_of(&b, "MaterialIDs", 30 * 4);
	for (uint32_t i = 0; i < 30; i++)
		CHECK(number(array, 4 * i, 4) == (uint64_t) r.region[i] - 1, "%u", i);
	CHECK(find(&b, 0, "\"region\"") < 0 && find(&b, 0, "\"kind\"") < 0, "!");
	save("ogs.vtu", &b);
	b.n = 0;
	r.rows.surface = &surface;
	CHECK(rb_mesh_ogs(&context, &r.rows, &b) == RB_OK, "!");
	CHECK(find(&b, 0, "NumberOfPoints=\"4\" NumberOfCells=\"2\"") > 0, "!");
	array = array_of(&b, "bulk_node_ids", 4 * 8);
	for (uint32_t i = 0; i < 4; i++)
		node[i] = number(array, 8 * i, 8);
	array = array_of(&b, "Points", 4 * 24);
	for (uint32_t i = 0; i < 12; i++)
		CHECK(real(array, 8 * i) == r.points[node[i / 3]][i % 3], "%u", i);
	array = array_of(&b, "connectivity", 6 * 4);
	for (uint32_t i = 0; i < 6; i++)
	{
		corner[i] = number(array, 4 * i, 4);
		CHECK(node[corner[i]] == r.faces[4 + i / 3][i % 3], "%u", i);
	}
	array = array_of(&b, "bulk_element_ids", 2 * 8);
	for (uint32_t i = 0; i < 2; i++)
	{
		/* Corners of the faces of a tetrahedron in OpenGeoSys */
		static const uint8_t face_of[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 0, 3}};
		const uint64_t tet = number(array, 8 * i, 8);
		const rb_buffer *faces = array_of(&b, "bulk_face_ids", 2 * 8);
		const uint64_t face = number(faces, 8 * i, 8);
		int same = 0;

		for (int k = 0; k < 9; k++)
			same += r.tets[tet][face_of[face][k / 3]] == r.faces[4 + i][k % 3];
		CHECK(same == 3, "face %u is not face %d of tetrahedron %d", i, (int) face, (int) tet);
		array = array_of(&b, "bulk_element_ids", 2 * 8);
	}
	save("ogs_surface.vtu", &b);
	free_buffer(context.memory, &b);
	drop(&r);
}

/* Checks a Gmsh file. The tags number the groups of volumes. */
static void
one_gmsh(const char *name, uint32_t cubes, int64_t first_region, uint64_t first_tag)
{
	row r = make(cubes, first_region);
	rb_buffer b = {NULL, 0, 0};
	rb_status status = rb_mesh_gmsh(&context, &r.rows, &b);
	uint32_t regions = cubes < 3 ? cubes : 3, facets = cubes + 1, seen = 0;
	char text[100];
	long at;

	CHECK(status == RB_OK, "%s", rb_status_text(status));
	CHECK(b.n <= rb_mesh_gmsh_bytes(&r.rows, regions, facets) &&
			  b.n + 1024 + 256 * (regions + facets + 1) >
				  rb_mesh_gmsh_bytes(&r.rows, regions, facets),
		  "%zu", b.n);
	CHECK(find(&b, 0, "$MeshFormat\n4.1 1 8\n\1\0\0\0\n$EndMeshFormat\n") == 0, "!");
	snprintf(text, sizeof(text), "$PhysicalNames\n%u\n2 10 \"facet 10\"\n", regions + facets);
	CHECK(find(&b, 0, text) > 0, "%s", text);
	snprintf(text, sizeof(text), "\n3 %u \"region %lld\"\n", (unsigned) first_tag,
			 (long long) first_region);
	CHECK(find(&b, 0, text) > 0, "%s", text);
	at = find(&b, 0, "$Entities\n");
	CHECK(number(&b, (size_t) at + 10 + 16, 8) == facets &&
			  number(&b, (size_t) at + 34, 8) == regions,
		  "!");
	at = find(&b, 0, "$Nodes\n");
	CHECK(number(&b, (size_t) at + 7 + 8, 8) == r.rows.npoints, "!");
	at += 7 + 32 + 20 + 8 * (long) r.rows.npoints;
	for (uint32_t i = 0; i < 3 * r.rows.npoints; i++)
		CHECK(real(&b, (size_t) at + 8 * i) == r.points[i / 3][i % 3], "%u", i);
	at = find(&b, 0, "$Elements\n") + 10;
	CHECK(number(&b, (size_t) at, 8) == regions + facets, "!");
	CHECK(number(&b, (size_t) at + 8, 8) == r.rows.ntets + r.rows.nfaces, "!");
	at += 32;
	/* Block by block: each element occurs once, in order, and in the right group. */
	for (uint32_t k = 0; k < regions + facets; k++)
	{
		bool volume = k >= facets;
		uint64_t n = number(&b, (size_t) at + 12, 8), corners = volume ? 4 : 3, i = 0;

		CHECK(number(&b, (size_t) at, 4) == (volume ? 3 : 2), "%u", k);
		CHECK(number(&b, (size_t) at + 4, 4) == (volume ? first_tag + k - facets : 10 + k), "%u",
			  k);
		CHECK(number(&b, (size_t) at + 8, 4) == (volume ? 4 : 2), "%u", k);
		at += 20;
		for (uint32_t e = 0; e < (volume ? r.rows.ntets : r.rows.nfaces); e++)
		{
			if (volume ? r.region[e] != first_region + (int64_t) (k - facets)
					   : r.facet[e] != 10 + k)
				continue;
			CHECK(number(&b, (size_t) at, 8) == ++seen, "%u", seen);
			for (uint32_t c = 0; c < corners; c++)
				CHECK(number(&b, (size_t) at + 8 + 8 * c, 8) ==
						  1 + (volume ? r.tets[e][c] : r.faces[e][c]),
					  "%u", seen);
			at += 8 + 8 * (long) corners;
			i++;
		}
		CHECK(i == n, "%d not %d", (int) i, (int) n);
	}
	CHECK(seen == r.rows.ntets + r.rows.nfaces, "%u", seen);
	CHECK(find(&b, (size_t) at, "\n$EndElements\n") == at && (size_t) at + 14 == b.n, "!");
	save(name, &b);
	free_buffer(context.memory, &b);
	drop(&r);
}

static void
gmsh(void)
{
	one_gmsh("row.msh", 5, 1, 1);
	one_gmsh("many.msh", 300, 77, 77);
	one_gmsh("negative.msh", 4, -1, 1);
	one_gmsh("large.msh", 4, INT64_MAX - 2, 1);
	one_gmsh("last.msh", 4, INT32_MAX - 2, INT32_MAX - 2);
	one_gmsh("beyond.msh", 4, INT32_MAX - 1, 1);
}

/* Groups by label: elements without label are in the last group. */
static void
labels(void)
{
	static const int64_t facet_id[] = {1, 2}, region_id[] = {7, 9};
	static const char *const facet_text[] = {"top \"A\"", "fault\n2"};
	static const char *const region_text[] = {"7", "9"};
	row r = make(5, 1);
	rb_buffer b = {NULL, 0, 0};
	int64_t of_face[12], of_tet[30];
	rb_mesh_labels facets = {of_face, 2, facet_id, facet_text};
	rb_mesh_labels regions = {of_tet, 2, region_id, region_text};
	const rb_buffer *array;
	long at;

	for (uint32_t i = 0; i < 12; i++)
		of_face[i] = i % 4 == 3 ? RB_MESH_NO_LABEL : 1 + i % 2;
	for (uint32_t i = 0; i < 30; i++)
		of_tet[i] = i == 4 ? RB_MESH_NO_LABEL : i < 20 ? 9 : 7;
	r.rows.facet_labels = &facets;
	r.rows.region_labels = &regions;
	CHECK(rb_mesh_gmsh(&context, &r.rows, &b) == RB_OK, "!");
	CHECK(
		find(
			&b, 0,
			"$PhysicalNames\n6\n2 1 \"top 'A'\"\n2 2 \"fault 2\"\n2 3 \"no group\"\n3 7 \"7\"\n3 9 \"9\"\n3 10 \"no group\"\n$EndPhysicalNames\n") >
			0,
		"!");
	at = find(&b, 0, "$Entities\n") + 10;
	CHECK(number(&b, (size_t) at + 16, 8) == 3 && number(&b, (size_t) at + 24, 8) == 3, "!");
	at += 32;
	for (uint32_t i = 0; i < 6; i++)
	{
		static const uint64_t tags[] = {1, 2, 3, 7, 9, 10};
		CHECK(number(&b, (size_t) at, 4) == tags[i], "%u", i);
		CHECK(number(&b, (size_t) at + 52, 8) == 1, "%u", i);
		CHECK(number(&b, (size_t) at + 60, 4) == tags[i], "%u", i);
		at += 72;
	}
	CHECK(find(&b, (size_t) at, "\n$EndEntities\n") == at, "!");
	at = find(&b, 0, "$Elements\n") + 10 + 32;
	for (uint32_t i = 0; i < 6; i++)
	{
		static const uint64_t counts[] = {6, 3, 3, 10, 19, 1};

		CHECK(number(&b, (size_t) at + 12, 8) == counts[i], "%u", i);
		at += 20 + (i < 3 ? 32 : 40) * (long) counts[i];
	}
	CHECK(find(&b, (size_t) at, "\n$EndElements\n") == at, "!");
	save("labels.msh", &b);
	b.n = 0;
	CHECK(rb_mesh_vtu(&context, &r.rows, &b) == RB_OK, "!");
	array = array_of(&b, "MaterialIDs", 42 * 4);
	for (uint32_t i = 0; i < 30; i++)
		CHECK((int32_t) number(array, 4 * i, 4) == (i == 4 ? -1 : i < 20 ? 1 : 0), "%u", i);
	/* The tag after the last one would not fit, so groups are numbered. */
	regions.id = (const int64_t[]){7, INT32_MAX};
	for (uint32_t i = 0; i < 30; i++)
		of_tet[i] = of_tet[i] == 9 ? INT32_MAX : of_tet[i];
	b.n = 0;
	CHECK(rb_mesh_gmsh(&context, &r.rows, &b) == RB_OK, "!");
	CHECK(find(&b, 0, "3 1 \"7\"\n3 2 \"9\"\n") > 0, "!");
	free_buffer(context.memory, &b);
	drop(&r);
}

static void
nothing(void)
{
	row r = make(1, 1);
	rb_buffer b = {NULL, 0, 0};

	r.rows.ntets = 0;
	r.rows.nfaces = 0;
	CHECK(rb_mesh_vtu(&context, &r.rows, &b) == RB_OK, "!");
	save("points.vtu", &b);
	b.n = 0;
	CHECK(rb_mesh_gmsh(&context, &r.rows, &b) == RB_OK, "!");
	save("points.msh", &b);
	b.n = 0;
	r.rows.npoints = 0;
	CHECK(rb_mesh_vtu(&context, &r.rows, &b) == RB_OK, "!");
	b.n = 0;
	CHECK(rb_mesh_gmsh(&context, &r.rows, &b) == RB_OK, "!");
	free_buffer(context.memory, &b);
	drop(&r);
}

static void
refusals(void)
{
	row r = make(20, 1);
	rb_memory *memory = rb_memory_create(UINT64_MAX);
	rb_buffer b = {NULL, 0, 0};

	for (int which = 0; which < 2; which++)
	{
		uint32_t *v = which ? &r.faces[7][2] : &r.tets[33][3], was = *v;
		rb_context ctx;

		*v = r.rows.npoints;
		for (int format = 0; format < 2; format++)
		{
			rb_context_init(&ctx, memory);
			CHECK((format ? rb_mesh_gmsh : rb_mesh_vtu)(&ctx, &r.rows, &b) == RB_BAD_GEOMETRY &&
					  b.n == 0,
				  "corner %d", which);
			CHECK(ctx.error.text[0] != 0, "no text");
		}
		*v = was;
	}
	for (int format = 0; format < 2; format++)
	{
		rb_status status = RB_OVER_BUDGET;

		for (uint64_t limit = 0; status == RB_OVER_BUDGET; limit += 777)
		{
			rb_context ctx;

			rb_memory_set_limit(memory, limit);
			rb_context_init(&ctx, memory);
			status = (format ? rb_mesh_gmsh : rb_mesh_vtu)(&ctx, &r.rows, &b);
			CHECK(status == RB_OK || (status == RB_OVER_BUDGET && b.n == 0), "%s",
				  rb_status_text(status));
			free_buffer(memory, &b);
			CHECK(rb_memory_used(memory) == 0, "%d bytes", (int) rb_memory_used(memory));
		}
		CHECK(status == RB_OK, "%s", rb_status_text(status));
	}
	rb_memory_destroy(memory);
	drop(&r);
	r = make(30000, 1);
	rb_context_stop(&context);
	CHECK(rb_mesh_vtu(&context, &r.rows, &b) == RB_STOPPED && b.n == 0, "it goes on");
	CHECK(rb_mesh_gmsh(&context, &r.rows, &b) == RB_STOPPED && b.n == 0, "it goes on");
	rb_context_init(&context, context.memory);
	free_buffer(context.memory, &b);
	drop(&r);
}

int
main(int argc, char **argv)
{
	folder = argc > 1 ? argv[1] : NULL;
	rb_context_init(&context, rb_memory_create(UINT64_MAX));
	CHECK_RUN(vtu);
	CHECK_RUN(ogs);
	CHECK_RUN(gmsh);
	CHECK_RUN(labels);
	CHECK_RUN(nothing);
	CHECK_RUN(refusals);
	CHECK(rb_memory_used(context.memory) == 0, "%d bytes", (int) rb_memory_used(context.memory));
	rb_memory_destroy(context.memory);
	return check_done();
}
