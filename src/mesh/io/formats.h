/*
 * formats.h
 *	  Writes a mesh as the bytes of a file for other programs: VTU (vtu.c) or Gmsh's MSH (gmsh.c);
 *	  extracts the surfaces of its regions (surface.c).
 *
 * Both formats are written in binary, little endian. Point indices start at 0 here; each writer
 * converts them as its format requires. Ids of regions, facets and parents are the user's.
 */
#ifndef RB_MESH_IO_FORMATS_H
#define RB_MESH_IO_FORMATS_H

#include "core/base/base.h"

#include <stdarg.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C"
{
#endif

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
	const double *quality; /* quality of each tetrahedron, or NULL to omit it from the file */
	const uint32_t (*faces)[3];
	const int64_t *facet; /* facet of each face, or NULL if all are on facet 1 */
} rb_mesh_rows;

/* A growing byte array in ctx->memory; must be zeroed before its first use */
typedef struct rb_buffer
{
	uint8_t *bytes;
	size_t n;
	size_t cap;
} rb_buffer;

/*
 * Appends the file to the buffer. Returns RB_OK; RB_BAD_GEOMETRY if a corner is not a valid point
 * index; RB_STOPPED, RB_TOO_MANY_OBJECTS or a memory error. After an error the buffer ends where it
 * did before.
 */
extern rb_status rb_mesh_vtu(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to);
extern rb_status rb_mesh_gmsh(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to);

/* Returns a close upper bound of the file's size in bytes. */
extern uint64_t rb_mesh_vtu_bytes(const rb_mesh_rows *rows);
extern uint64_t rb_mesh_gmsh_bytes(const rb_mesh_rows *rows, uint64_t regions, uint64_t facets);

/* ---- surfaces (surface.c) ---- */

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

/* ---- for the writers ---- */

/* Makes room for `more` bytes, so that writing them needs no checks. */
static inline rb_status
rb_buffer_reserve(rb_context *ctx, rb_buffer *b, uint64_t more)
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
static inline void __attribute__((format(printf, 2, 3)))
rb_buffer_append_text(rb_buffer *b, const char *format, ...)
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
static inline rb_status
rb_mesh_rows_check(rb_context *ctx, const rb_mesh_rows *rows)
{
	uint32_t worst = 0;

	for (uint32_t i = 0; i < rows->ntets; i++)
	{
		for (int j = 0; j < 4; j++)
			worst = rows->tets[i][j] > worst ? rows->tets[i][j] : worst;
		if (i % 65536 == 65535 && rb_should_stop(ctx))
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
		if (i % 65536 == 65535 && rb_should_stop(ctx))
			return RB_STOPPED;
	}
	if (rows->nfaces > 0 && worst >= rows->npoints)
		return rb_fail(ctx, RB_BAD_GEOMETRY, 0, 0,
					   "a corner of a face is not a vertex of the mesh");
	return RB_OK;
}

static inline uint8_t *
rb_le32(uint8_t *at, uint32_t x)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t) (x >> 8 * i);
	return at + 4;
}

static inline uint8_t *
rb_le64(uint8_t *at, uint64_t x)
{
	for (int i = 0; i < 8; i++)
		at[i] = (uint8_t) (x >> 8 * i);
	return at + 8;
}

static inline uint8_t *
rb_le_double(uint8_t *at, double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return rb_le64(at, bits);
}

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_IO_FORMATS_H */
