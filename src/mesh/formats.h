/*
 * formats.h
 *	  Writes a mesh as the bytes of a file for other programs: VTU, Gmsh's MSH, XDMF or Abaqus
 *	  input; extracts the surfaces of its regions.
 *
 * VTU and MSH are written in binary, little endian; the others are text. Point indices start at 0
 * here; each writer converts them as its format requires. Ids of regions, facets and parents are
 * the user's.
 */
#ifndef RB_MESH_FORMATS_H
#define RB_MESH_FORMATS_H

#include "core/base/base.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define RB_MESH_NO_LABEL INT64_MIN /* id of elements without label */

/* Labels that group elements: an id for each element, and a text for each id */
typedef struct rb_mesh_labels
{
	const int64_t *of; /* id of each element, or RB_MESH_NO_LABEL */
	uint32_t n;
	const int64_t *id; /* ids, in ascending order */
	const char *const *text;
} rb_mesh_labels;

typedef struct rb_mesh_rows
{
	uint32_t npoints;
	uint32_t ntets;
	uint32_t nfaces;
	const double *points; /* coordinates x, y, z of each point */
	const uint8_t *kind;  /* kind of each point, or NULL to omit it from the file */
	const int64_t *parent;
	const uint32_t (*tets)[4];
	const int64_t *region; /* region of each tetrahedron, or NULL if all are in region 1 */
	/*
	 * ratio of circumradius to shortest edge, and smallest dihedral angle in degrees, of each
	 * tetrahedron, or NULL to omit them
	 */
	const double *radius_edge;
	const double *min_dihedral;
	const uint32_t (*faces)[3];
	const int64_t *facet; /* facet of each face, or NULL if all are on facet 1 */
	/* labels by which faces and tetrahedra form groups, or NULL for a group per facet or region */
	const rb_mesh_labels *facet_labels;
	const rb_mesh_labels *region_labels;
	/* id of the group of faces that rb_mesh_ogs writes, or NULL for the tetrahedra */
	const int64_t *surface;
} rb_mesh_rows;

/* A growing byte array in ctx->memory; must be zeroed before its first use */
typedef struct rb_buffer
{
	uint8_t *bytes;
	size_t n;
	size_t cap;
} rb_buffer;

/*
 * Appends a VTU file to the buffer. Returns RB_OK; RB_BAD_GEOMETRY if a corner is not a valid point
 * index; RB_STOPPED, RB_TOO_MANY_OBJECTS or a memory error. After an error the buffer ends where it
 * did before.
 */
extern rb_status rb_mesh_vtu(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to);

/* Appends a Gmsh file to the buffer; returns what rb_mesh_vtu does. */
extern rb_status rb_mesh_gmsh(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to);

/*
 * Appends a VTU file for OpenGeoSys: the tetrahedra with their materials, or a group of faces with
 * the numbers of their points, tetrahedra and sides in the file of tetrahedra. Returns what
 * rb_mesh_vtu does.
 */
extern rb_status rb_mesh_ogs(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to);

/* Appends an XDMF file of the tetrahedra to the buffer; returns what rb_mesh_vtu does. */
extern rb_status rb_mesh_xdmf(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to);

/* Appends an XDMF file of the faces to the buffer; returns what rb_mesh_vtu does. */
extern rb_status rb_mesh_xdmf_facets(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to);

/* Appends an Abaqus file to the buffer; returns what rb_mesh_vtu does. */
extern rb_status rb_mesh_abaqus(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to);

/* Returns a close upper bound on the size of a VTU file, in bytes. */
extern uint64_t rb_mesh_vtu_bytes(const rb_mesh_rows *rows);

/*
 * Returns a close upper bound on the size, in bytes, of a Gmsh file with these numbers of groups.
 */
extern uint64_t rb_mesh_gmsh_bytes(const rb_mesh_rows *rows, uint64_t regions, uint64_t facets);

/*
 * A triangle of a region's surface, counterclockwise seen from outside the region. Triangles are
 * ordered by region, then by tetrahedron.
 */
typedef struct rb_surface_face
{
	int64_t region;
	uint32_t corner[3];
} rb_surface_face;

/*
 * Returns the surface triangles of all regions as an array of ctx->memory that the caller frees.
 * All corners must be valid point indices. A face between two regions appears once for each.
 */
extern rb_status rb_mesh_surface(rb_context *ctx, const rb_mesh_rows *rows, rb_surface_face **faces,
								 uint64_t *n);

/*
 * Finds the tetrahedra on both sides of each face: four times the number of the tetrahedron, plus
 * the number of the corner opposite to the face, or RB_NONE. The smaller tetrahedron is first.
 */
extern rb_status rb_mesh_face_sides(rb_context *ctx, const rb_mesh_rows *rows,
									uint32_t (*sides)[2]);

/* The arrays of a mesh with doubled vertices, in ctx->memory */
typedef struct rb_mesh_split
{
	uint32_t doubled; /* number of new vertices */
	uint32_t *origin; /* vertex that each new vertex doubles */
	double *points;
	uint8_t *kind;
	int64_t *parent;
	uint32_t (*tets)[4];
	uint32_t nfaces;
	uint32_t (*faces)[3];
	int64_t *facet;
	int64_t *label;
	rb_mesh_labels labels;
} rb_mesh_split;

/*
 * Doubles the vertices along faults, which are faces with the same region on both sides, except on
 * their rims. Sets `to` to the resulting mesh, which uses the arrays of s and those of `rows`.
 * Faces of the second sides follow the others. All corners must be valid point indices. The caller
 * frees the arrays by rb_mesh_split_free, also after an error.
 */
extern rb_status rb_mesh_split_faults(rb_context *ctx, const rb_mesh_rows *rows, rb_mesh_split *s,
									  rb_mesh_rows *to);

/* Frees the arrays of a mesh with split faults, also after a failure. */
extern void rb_mesh_split_free(rb_memory *memory, rb_mesh_split *s);

/* ---- bytes and text ---- */

/* Makes room for `more` bytes, so that writing them needs no checks. */
extern rb_status rb_file_reserve(rb_context *ctx, rb_buffer *b, uint64_t more);

/* Appends formatted text to the buffer, which must have room for it. */
extern void rb_file_text(rb_buffer *b, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Writes a number of 32 bits with its lowest byte first, and returns the position after it. */
static inline uint8_t *
rb_file_le32(uint8_t *at, uint32_t x)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t) (x >> 8 * i);
	return at + 4;
}

/* Writes a number of 64 bits with its lowest byte first, and returns the position after it. */
static inline uint8_t *
rb_file_le64(uint8_t *at, uint64_t x)
{
	for (int i = 0; i < 8; i++)
		at[i] = (uint8_t) (x >> 8 * i);
	return at + 8;
}

/* Writes a double with its lowest byte first, and returns the position after it. */
static inline uint8_t *
rb_file_le_double(uint8_t *at, double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return rb_file_le64(at, bits);
}

/* ---- elements ---- */

/* Returns RB_BAD_GEOMETRY if a corner is not a valid point index. */
extern rb_status rb_file_check_corners(rb_context *ctx, const rb_mesh_rows *rows);

/* Hash table that maps ids, given as an array, to their numbers */
#define RB_HASH rb_file_ids
#define RB_HASH_SLOT uint32_t
#define RB_HASH_KEY int64_t
#define RB_HASH_ARG const int64_t *
#define RB_HASH_OF(ids, wanted) rb_mix((uint64_t) (wanted))
#define RB_HASH_EQUAL(ids, slot, wanted) (ids[slot] == (wanted))
#define RB_HASH_KEY_OF(ids, slot) (ids[slot])
#define RB_HASH_NUMBERED
#include "core/base/hash.h"

/* Groups of the elements of one dimension. Elements without a label are in the last group. */
typedef struct rb_file_groups
{
	const char *word;  /* noun that the name of a group without label begins with */
	const int64_t *of; /* id of each element, or NULL if all are in group 1 */
	const rb_mesh_labels *labels;
	uint32_t n; /* number of elements */
	uint32_t corners;
	const uint32_t *corner;
	int64_t *id;   /* distinct ids, in ascending order, without RB_MESH_NO_LABEL */
	uint32_t nid;  /* number of distinct ids */
	bool has_rest; /* true if some elements have no label; their group has the number nid */
	size_t id_cap;
	rb_file_ids table; /* numbers of the ids */
	bool ids_are_tags;
} rb_file_groups;

/* Returns the groups of faces, by facet or by label, whose ids are not yet numbered. */
extern rb_file_groups rb_file_facet_groups(const rb_mesh_rows *rows);

/* Returns the groups of tetrahedra, by region or by label, whose ids are not yet numbered. */
extern rb_file_groups rb_file_region_groups(const rb_mesh_rows *rows);

/* Numbers the distinct ids in ascending order. With `always`, there is at least one group. */
extern rb_status rb_file_groups_number(rb_context *ctx, rb_file_groups *g, bool always);

/* Frees the arrays of groups of elements. */
extern void rb_file_groups_free(rb_memory *memory, rb_file_groups *g);

/* Returns the number of groups, including that of elements without label. */
static inline uint32_t
rb_file_groups_count(const rb_file_groups *g)
{
	return g->nid + g->has_rest;
}

/* Returns the number of the group of an element. */
static inline uint32_t
rb_file_group_of(const rb_file_groups *g, uint32_t i)
{
	const int64_t id = g->of == NULL ? 1 : g->of[i];

	if (g->labels != NULL && id == RB_MESH_NO_LABEL)
		return g->nid;
	return *rb_file_ids_find(&g->table, g->id, id);
}

/* Returns the tag of a group, from 1 to INT32_MAX. */
extern uint32_t rb_file_group_tag(const rb_file_groups *g, uint32_t k);

/*
 * Returns the label of a group, or NULL if no element has one; that of elements without label is
 * "no group".
 */
extern const char *rb_file_group_label(const rb_file_groups *g, uint32_t k);

/* Returns an upper bound on the total length of all labels. */
extern uint64_t rb_file_groups_label_bytes(const rb_file_groups *g);

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_FORMATS_H */
