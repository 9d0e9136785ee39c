/*
 * creases.c
 *	  Turns the edges along which a polygon bends into segments, so that a non-flat polygon keeps
 *	  its triangulation.
 *
 * The inner edges of a facet are soft, so that the mesh may have other edges in their place. If the
 * two triangles at an edge are coplanar, that changes nothing. Otherwise the other diagonal
 * encloses a different volume, and a Steiner point that refinement places in the plane of one
 * triangle is off the other. Such an edge is therefore kept. A bend that the rounding of
 * coordinates explains (flatness.h) does not count, because the Steiner points along it are
 * rounded by as much.
 */
#include "mesh/flatness.h"
#include "mesh/hash_table.h"
#include "mesh/weld.h"

#include "core/exact/orient.h"

typedef struct creasing
{
	rb_context *ctx;
	rb_welded *to;
	double height;  /* maximum height that counts as flat; 0 if only exactly coplanar points do */
	rb_table edges; /* for each edge of the facet, its first triangle << 2 | the opposite corner */
	rb_table given; /* the existing segments */
	bool listed;    /* true if `given` has been filled */
	size_t segments_cap, rows_cap;
} creasing;

static rb_status
measure_points(creasing *c)
{
	const rb_plc *plc = &c->to->plc;
	double largest = 0, extent = 0;

	for (int k = 0; k < 3; k++)
	{
		double low = INFINITY, high = -INFINITY;

		for (uint32_t i = 0; i < plc->npoints; i++)
		{
			const double x = plc->points[3 * (size_t) i + (size_t) k];

			low = x < low ? x : low;
			high = x > high ? x : high;
			if ((i & 0xffff) == 0xffff && rb_should_stop(c->ctx))
				return RB_STOPPED;
		}
		largest = fmax(largest, fmax(fabs(low), fabs(high)));
		extent = fmax(extent, high - low);
	}
	c->height = RB_FLAT_HEIGHT * rb_flat_rounds(largest, extent);
	return RB_OK;
}

/*
 * Returns true if edge ab, between corners p and q of its two triangles, bends by more than
 * rounding explains.
 */
static bool
is_crease(const creasing *c, uint32_t a, uint32_t b, uint32_t p, uint32_t q)
{
	const double *points = c->to->plc.points;
	const double *const at[4] = {points + 3 * (size_t) a, points + 3 * (size_t) b,
								 points + 3 * (size_t) p, points + 3 * (size_t) q};
	rb_exact_env env = {.filters = c->ctx->filters, .exact = true};

	if (c->height > 0)
		return !rb_four_flat(at, c->height);
	return rb_orient3d_at(&env, at[0], at[1], at[2], at[3]) != 0;
}

static rb_status
list_given(creasing *c)
{
	const rb_plc *plc = &c->to->plc;

	for (uint32_t s = 0; s < plc->nsegments; s++)
		RB_TRY(rb_table_insert(c->ctx, &c->given, plc->segments[s][0], plc->segments[s][1], RB_NONE,
							   s, NULL, NULL));
	c->listed = true;
	return RB_OK;
}

static rb_status
add_segment(creasing *c, uint32_t a, uint32_t b)
{
	rb_plc *plc = &c->to->plc;
	rb_status status = c->listed ? RB_OK : list_given(c);
	bool fresh;

	if (status == RB_OK)
		status = rb_table_insert(c->ctx, &c->given, a, b, RB_NONE, plc->nsegments, NULL, &fresh);
	if (status != RB_OK || !fresh)
		return status;
	status = RB_GROW(c->ctx, plc->segments, c->segments_cap, (size_t) plc->nsegments + 1);
	if (status == RB_OK)
		status = RB_GROW(c->ctx, c->to->segment_row, c->rows_cap, (size_t) plc->nsegments + 1);
	if (status != RB_OK)
		return status;
	memcpy((uint32_t *) plc->segments[plc->nsegments], (uint32_t[2]){a, b}, sizeof(uint32_t[2]));
	c->to->segment_row[plc->nsegments++] = RB_NONE;
	return RB_OK;
}

/* Finds the creases of the facet whose triangles are from..to. */
static rb_status
crease_facet(creasing *c, uint32_t from, uint32_t to)
{
	const rb_plc *plc = &c->to->plc;

	rb_table_empty(&c->edges);
	for (uint32_t t = from; t < to; t++)
		for (uint32_t i = 0; i < 3; i++)
		{
			const uint32_t *v = plc->triangles[t];
			const uint32_t a = v[(i + 1) % 3], b = v[(i + 2) % 3];
			uint32_t *first;
			bool fresh;

			RB_TRY(rb_table_insert(c->ctx, &c->edges, a, b, RB_NONE, t << 2 | i, &first, &fresh));
			if (!fresh && is_crease(c, a, b, plc->triangles[*first >> 2][*first & 3], v[i]))
				RB_TRY(add_segment(c, a, b));
		}
	return RB_OK;
}

rb_status
rb_weld_creases(rb_context *ctx, rb_welded *welded)
{
	const rb_plc *plc = &welded->plc;
	creasing c = {
		.ctx = ctx, .to = welded, .segments_cap = plc->nsegments, .rows_cap = plc->nsegments};
	rb_status status = RB_OK;

	if (plc->ntriangles == plc->nfacets)
		return RB_OK;
	if (plc->ntriangles >= (uint32_t) 1 << 30)
		return rb_fail(ctx, RB_TOO_MANY_OBJECTS, plc->ntriangles, (uint32_t) 1 << 30, NULL);
	status = measure_points(&c);
	for (uint32_t from = 0, to; from < plc->ntriangles && status == RB_OK; from = to)
	{
		for (to = from + 1; to < plc->ntriangles && plc->facet_of[to] == plc->facet_of[from];)
			to++;
		if (to - from > 1)
			status = crease_facet(&c, from, to);
		if (status == RB_OK && (from & 0xfff) == 0 && rb_should_stop(ctx))
			status = RB_STOPPED;
	}
	rb_table_free(ctx->memory, &c.edges);
	rb_table_free(ctx->memory, &c.given);
	return status;
}
