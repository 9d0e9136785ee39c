/*
 * weld_rows.h
 *	  Provides the rows that tests weld into a PLC: triangles, polygons, segments and points, and
 *	  the result.
 *
 * There is one current input, `it`. Include this file after those of the mesh.
 */
#ifndef WELD_ROWS_H
#define WELD_ROWS_H

#include "check.h"
#include "mesh/weld.h"

#include <string.h>

#define MOST 16384

static struct
{
	double triangles[MOST][9];
	uint32_t row[MOST];
	uint32_t face[MOST];
	int64_t ids[MOST]; /* Used if a test sets facets.ids */
	double segments[MOST][6];
	double points[MOST][3];
	rb_set facets;
	rb_set lines;
	rb_set lone;
	rb_weld_input in;
	uint32_t nfaces; /* Number of faces of the last row */
} it;

static void
clear(void)
{
	memset(&it, 0, sizeof it);
	it.facets = (rb_set){
		.kind = RB_TRIANGLE3, .coords = it.triangles[0], .row_of = it.row, .face_of = it.face};
	it.lines = (rb_set){.kind = RB_SEGMENT3, .coords = it.segments[0]};
	it.lone = (rb_set){.kind = RB_POINT3, .coords = it.points[0]};
	it.in = (rb_weld_input){.facets = &it.facets, .segments = &it.lines, .points = &it.lone};
}

static void
put_triangle(const double *a, const double *b, const double *c)
{
	uint32_t n = it.facets.nparts++;

	memcpy(it.triangles[n], a, 24);
	memcpy(it.triangles[n] + 3, b, 24);
	memcpy(it.triangles[n] + 6, c, 24);
	it.row[n] = it.facets.nrows - 1;
	it.face[n] = it.nfaces - 1;
}

static void
begin_row(void)
{
	it.facets.nrows++;
	it.nfaces = 0;
}

static void
add_triangle(const double *a, const double *b, const double *c)
{
	begin_row();
	it.nfaces = 1;
	put_triangle(a, b, c);
}

static void
add_face(const double *a, const double *b, const double *c, const double *d)
{
	it.nfaces++;
	put_triangle(a, b, c);
	put_triangle(a, c, d);
}

__attribute__((unused)) static void
add_quad(const double *a, const double *b, const double *c, const double *d)
{
	begin_row();
	add_face(a, b, c, d);
}

__attribute__((unused)) static void
add_segment(const double *a, const double *b)
{
	memcpy(it.segments[it.lines.nparts], a, 24);
	memcpy(it.segments[it.lines.nparts] + 3, b, 24);
	it.lines.nrows = ++it.lines.nparts;
}

#define P(x, y, z) ((const double[3]){x, y, z})

/* ---- the result ---- */

static rb_memory *memory;
static rb_welded welded;
static rb_flaw flaw;

static rb_context
context(int threads)
{
	rb_context ctx;

	rb_context_init(&ctx, memory);
	ctx.threads = threads;
	return ctx;
}

/* Splits the welded PLC where it crosses. */
__attribute__((unused)) static rb_status
split_welded(rb_context *ctx, rb_split_done *split)
{
	rb_resplit *resplit = NULL;
	const rb_status status = rb_resplit_run(ctx, &rb_backend_cpu, &resplit, &welded, split, &flaw);

	rb_resplit_free(ctx->memory, &resplit);
	return status;
}

static void
done(void)
{
	rb_welded_free(memory, &welded);
	CHECK(rb_memory_used(memory) == 0, "%lu bytes left", (unsigned long) rb_memory_used(memory));
}

/*
 * Welds and calls `next` within growing memory limits until both succeed. Before that, they must be
 * refused, and nothing may be left behind.
 */
__attribute__((unused)) static void
try_limits(uint64_t first, uint64_t part, rb_status (*next)(rb_context *ctx))
{
	rb_status status = RB_OVER_BUDGET;
	int refused = 0;

	for (uint64_t limit = first; status != RB_OK; limit += limit / part)
	{
		rb_memory *small = rb_memory_create(limit);
		rb_context ctx;

		rb_context_init(&ctx, small);
		ctx.threads = 2;
		status = rb_weld(&ctx, &it.in, &welded, &flaw);
		if (status == RB_OK)
			status = next(&ctx);
		CHECK(status == RB_OK || (status == RB_OVER_BUDGET && ctx.error.status == status),
			  "status %d, error %d", status, ctx.error.status);
		rb_welded_free(small, &welded);
		CHECK(rb_memory_used(small) == 0, "%lu bytes left", (unsigned long) rb_memory_used(small));
		rb_memory_destroy(small);
		refused += status != RB_OK;
	}
	CHECK(refused > 3, "%d refusals", refused);
}

#endif /* WELD_ROWS_H */
