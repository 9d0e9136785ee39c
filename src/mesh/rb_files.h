/*
 * rb_files.h
 *	  A mesh as the bytes of a file that other programs read: VTU (vtu.c) and Gmsh's MSH (gmsh.c).
 *
 * Both are little endian and binary.  Numbers of points count from 0 here; what the format wants is
 * its own matter.  Ids of regions, facets and parents are the user's.
 */
#ifndef RB_FILES_H
#define RB_FILES_H

#include "core/base/rb_base.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef struct rb_mesh_rows
{
	uint32_t npoints;
	uint32_t ntets;
	uint32_t nfaces;
	const double *points; /* x y z of each */
	const uint8_t *kind;  /* of each point; NULL: the file has none */
	const int64_t *parent;
	const uint32_t (*tets)[4];
	const int64_t *region; /* of each tetrahedron; NULL: all are of region 1 */
	const double *quality; /* NULL: the file has none */
	const uint32_t (*faces)[3];
	const int64_t *facet; /* of each face; NULL: all are of facet 1 */
} rb_mesh_rows;

/* bytes of ctx->memory; zeros before the first use */
typedef struct rb_buffer
{
	uint8_t *bytes;
	size_t n;
	size_t cap;
} rb_buffer;

extern void rb_buffer_free(rb_memory *memory, rb_buffer *b);

/*
 * The file goes behind what is in the buffer.  RB_OK; RB_BAD_GEOMETRY when a corner is no point;
 * RB_STOPPED, RB_TOO_MANY_OBJECTS or a memory error, then the buffer ends where it did.
 */
extern rb_status rb_mesh_vtu(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to);
extern rb_status rb_mesh_gmsh(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to);

/* no less than the file will have, and hardly more: for those who must know before */
extern uint64_t rb_mesh_vtu_bytes(const rb_mesh_rows *rows);
extern uint64_t rb_mesh_gmsh_bytes(const rb_mesh_rows *rows, uint64_t regions, uint64_t facets);

/* ---- for those that write (files.c) ---- */

/* room for more bytes: what is written afterwards is not looked at */
extern rb_status rb_buffer_reserve(rb_context *ctx, rb_buffer *b, uint64_t more);
/* does every corner name a point? */
extern rb_status rb_rows_look(rb_context *ctx, const rb_mesh_rows *rows);
/* behind the buffer's end, where there is room */
extern void rb_put_text(rb_buffer *b, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

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

#endif /* RB_FILES_H */
