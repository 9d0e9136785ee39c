/*
 * files.c
 *	  Provides what all mesh writers need: a growing byte buffer, and a check that corners are valid
 *	  points.
 */
#include "mesh/io/files.h"

#include <stdarg.h>
#include <stdio.h>

rb_status
rb_buffer_reserve(rb_context *ctx, rb_buffer *b, uint64_t more)
{
	rb_status status;

	if (more <= b->cap - b->n)
		return RB_OK;
	if (more > SIZE_MAX - b->n)
		return rb_fail(ctx, RB_OVER_BUDGET, UINT64_MAX, rb_memory_limit(ctx->memory), NULL);
	status = rb_array(ctx, (void **) &b->bytes, b->n + (size_t) more, 1);
	if (status == RB_OK)
		b->cap = b->n + (size_t) more;
	return status;
}

void
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

rb_status
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
