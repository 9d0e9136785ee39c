/*
 * rays.c
 *	  Points become rays: what is above them says on which side of a body they are.
 *
 * A ray goes up in z.  It ends where no body is any more, so that it is a segment, and joined
 * with triangles as segments are.
 */
#include "core/body/rb_body.h"
#include "core/set/rb_set.h"

#include <string.h>

#define STRETCH 65536 /* points between two looks whether to stop */

static double
highest(const rb_set *bodies)
{
	const size_t n = (size_t) bodies->nparts * 9;
	double top = -HUGE_VAL;

	for (size_t i = 2; i < n; i += 3)
		top = bodies->coords[i] > top ? bodies->coords[i] : top;
	return top;
}

rb_status
rb_body_rays(rb_context *ctx, const rb_set *points, const rb_set *bodies, const rb_set **rays)
{
	const uint32_t n = points->nparts;
	const double top = highest(bodies);
	rb_set arrays = *points;
	double *coords = NULL;
	int64_t *ids = NULL;
	rb_status status = rb_array(ctx, (void **) &coords, n > 0 ? n : 1, 6 * sizeof(double));

	*rays = NULL;
	if (status == RB_OK && points->ids != NULL)
		status = rb_array(ctx, (void **) &ids, n > 0 ? n : 1, sizeof(int64_t));
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		const double *p = points->coords + (size_t) i * 3;
		double *ray = coords + (size_t) i * 6;

		if (i % STRETCH == 0 && rb_should_stop(ctx))
			status = RB_STOPPED;
		memcpy(ray, p, 3 * sizeof(double));
		memcpy(ray + 3, p, 3 * sizeof(double));
		if (top > p[2])
			ray[5] = top;
		if (ids != NULL)
			ids[i] = points->ids[i];
	}
	arrays.kind = RB_SEGMENT3;
	arrays.coords = coords;
	arrays.ids = ids;
	arrays.number = 0; /* it is not the set that is kept */
	arrays.view = NULL;
	arrays.owner = NULL;
	if (status == RB_OK)
		status = rb_set_own(ctx->memory, &arrays, rays, &ctx->error);
	if (status != RB_OK)
	{
		rb_free(ctx->memory, (void **) &coords);
		rb_free(ctx->memory, (void **) &ids);
	}
	return status;
}
