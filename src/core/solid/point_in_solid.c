/*
 * point_in_solid.c
 *	  Builds upward rays from points; the triangles above a point determine on which side of a solid
 *	  it is.
 *
 * A ray points in the direction of z. It is stored as a segment and joined with triangles like any
 * segment, so it should be short. A point outside the bounding box of a solid is known to be
 * outside the solid:
 *
 *		points x boxes of solids	-> top of each ray: the highest box around its start
 *
 * Triangles of other solids that the ray happens to cross are ignored.
 */
#include "core/base/parallel.h"
#include "core/solid/solid.h"
#include "core/join/join.h"
#include "core/set/set.h"

#include <string.h>

#define GRAIN 16             /* Number of solids a thread takes at a time */
#define CHECK_INTERVAL 65536 /* Number of points between checks for cancellation */

typedef struct rays_build
{
	rb_context *ctx;
	const rb_set *solids;
	const uint32_t *start; /* First part of each solid, with one extra entry at the end */
	double *box;           /* Bounding box of each solid: low, high */
	/* Ends of each ray; until its top is known, the point twice, which is a valid box */
	double *coords;
	double *top;
	pthread_mutex_t lock;
} rays_build;

static void
find_boxes(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rays_build *m = arg;

	(void) me;
	for (uint64_t row = from; row < to; row++)
	{
		double *lo = m->box + 6 * row, *hi = lo + 3;

		rb_box_empty(lo, hi);
		for (uint32_t i = m->start[row]; i < m->start[row + 1]; i++)
		{
			double plo[3], phi[3];

			rb_kind_box(RB_TRIANGLE3, m->solids->coords, i, plo, phi);
			rb_box_add(lo, hi, plo, phi);
		}
	}
}

static rb_status
find_all_boxes(rays_build *m)
{
	uint32_t *start = NULL;
	rb_thread *me;
	rb_status status = RB_ALLOCATE(m->ctx, start, (size_t) m->solids->nrows + 1);

	if (status == RB_OK)
	{
		rb_row_starts(m->solids, start);
		m->start = start;
		status = rb_team_open(m->ctx, rb_threads_for(m->ctx, m->solids->nrows, GRAIN), &me);
	}
	if (status == RB_OK)
	{
		status = rb_loop(me, m->solids->nrows, GRAIN, find_boxes, m);
		rb_team_close(&me);
	}
	RB_FREE(m->ctx->memory, start);
	return status;
}

/* Receives pairs of a point and a solid whose box contains it. */
static rb_status
put_tops(void *user, const rb_pair *pairs, size_t n)
{
	rays_build *m = user;

	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < n; i++)
	{
		const double top = m->box[6 * (size_t) pairs[i].blue + 5];

		if (top > m->top[pairs[i].red])
			m->top[pairs[i].red] = top;
	}
	pthread_mutex_unlock(&m->lock);
	return rb_should_stop(m->ctx) ? RB_STOPPED : RB_OK;
}

static rb_status
find_tops(rays_build *m, const rb_backend *backend, uint32_t n)
{
	const rb_set points = {.kind = RB_BOX3, .nparts = n, .nrows = n, .coords = m->coords};
	const rb_set boxes = {
		.kind = RB_BOX3, .nparts = m->solids->nrows, .nrows = m->solids->nrows, .coords = m->box};
	const rb_job job = {.red = &points, .blue = &boxes, .predicate = RB_MEET};
	const rb_sink sink = {.put = put_tops, .user = m};

	return n > 0 && boxes.nrows > 0 ? rb_join_step(m->ctx, backend, &job, &sink, RB_TILE) : RB_OK;
}

static rb_status
make_rays(rays_build *m, const rb_backend *backend, const rb_set *points)
{
	const uint32_t n = points->nparts;

	RB_TRY(find_all_boxes(m));
	for (uint32_t i = 0; i < n; i++)
	{
		const double *p = points->coords + (size_t) i * 3;

		if (i % CHECK_INTERVAL == 0 && rb_should_stop(m->ctx))
			return RB_STOPPED;
		memcpy(m->coords + (size_t) i * 6, p, 3 * sizeof(double));
		memcpy(m->coords + (size_t) i * 6 + 3, p, 3 * sizeof(double));
		m->top[i] = p[2];
	}
	RB_TRY(find_tops(m, backend, n));
	for (uint32_t i = 0; i < n; i++)
		m->coords[(size_t) i * 6 + 5] = m->top[i];
	return RB_OK;
}

rb_status
rb_rays_build(rb_context *ctx, const rb_backend *backend, const rb_set *points,
			  const rb_set *solids, rb_rays *rays)
{
	const uint32_t n = points->nparts;
	rays_build m = {.ctx = ctx, .solids = solids};
	rb_set arrays = *points;
	int64_t *ids = NULL;
	rb_status status = rb_array(ctx, (void **) &m.coords, n > 0 ? n : 1, 6 * sizeof(double));

	memset(rays, 0, sizeof *rays);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, m.top, n > 0 ? n : 1);
	if (status == RB_OK)
		status = rb_array(ctx, (void **) &m.box, (size_t) solids->nrows + 1, 6 * sizeof(double));
	if (status == RB_OK && points->ids != NULL)
		status = RB_ALLOCATE(ctx, ids, n > 0 ? n : 1);
	if (status == RB_OK)
	{
		if (ids != NULL)
			memcpy(ids, points->ids, points->nrows * sizeof *ids);
		pthread_mutex_init(&m.lock, NULL);
		status = make_rays(&m, backend, points);
		pthread_mutex_destroy(&m.lock);
	}
	RB_FREE(ctx->memory, m.top);
	arrays.kind = RB_SEGMENT3;
	arrays.coords = m.coords;
	arrays.ids = ids;
	arrays.faces = NULL;
	arrays.number = 0; /* The new set is not the cached one */
	arrays.view = NULL;
	arrays.owner = NULL;
	if (status == RB_OK)
		status = rb_set_own(ctx->memory, &arrays, &rays->set, &ctx->error);
	if (status != RB_OK)
	{
		RB_FREE(ctx->memory, m.coords);
		RB_FREE(ctx->memory, m.box);
		RB_FREE(ctx->memory, ids);
		return status;
	}
	rays->box = m.box;
	return RB_OK;
}

void
rb_rays_free(rb_context *ctx, rb_rays *rays)
{
	rb_set_release(&rays->set);
	RB_FREE(ctx->memory, rays->box);
}
