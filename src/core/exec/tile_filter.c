/*
 * tile_filter.c
 *	  Tests whether a pair of rows belongs to the tile of a job.
 *
 * The reference point of a pair of rows (reference_point.h) differs from that of a pair of their
 * parts. So if rows have several parts, the lower corner of each row's bounding box is computed
 * first.
 *
 * The test applies to pairs on their way to the caller, so the result cannot depend on the backend
 * that found them, and a join without a tile has no cost. A backend may skip other pairs earlier
 * (rb_tile_clip) to save work.
 */
#include "core/base/base.h"
#include "core/base/parallel.h"
#include "core/exec/row_pairs.h"

#define GRAIN RB_SIZE(1 << 16, 7)

/* The rows of a set; a thread processes the rows whose first part is in its range */
typedef struct rb_lows
{
	rb_context *ctx;
	const rb_set *set;
	double *low;
} rb_lows;

static void
find_lows(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const rb_lows *l = arg;
	const rb_set *set = l->set;
	uint32_t i = (uint32_t) from;

	(void) me;
	if (rb_should_stop(l->ctx))
		return;
	while (i > 0 && i < to && set->row_of[i] == set->row_of[i - 1])
		i++;
	while (i < to)
	{
		const uint32_t row = set->row_of[i];
		double lo[3], hi[3];

		rb_box_empty(lo, hi);
		for (; i < set->nparts && set->row_of[i] == row; i++)
		{
			double part_lo[3], part_hi[3];

			rb_kind_box(set->kind, set->coords, i, part_lo, part_hi);
			rb_box_add(lo, hi, part_lo, part_hi);
		}
		for (int a = 0; a < 3; a++)
			l->low[3 * (size_t) row + a] = lo[a];
	}
}

/*
 * Computes the lower corners. Rows without parts, which occur in slices of a set, remain
 * uninitialized; they are in no pair.
 */
static rb_status
make_lows(rb_context *ctx, const rb_set *set, double **low)
{
	rb_lows l = {ctx, set, NULL};
	rb_thread *me;
	rb_status status;

	if (set->row_of == NULL)
		return RB_OK;
	RB_TRY(rb_array(ctx, (void **) low, (size_t) set->nrows + 1, 3 * sizeof(double)));
	RB_TRY(rb_team_open(ctx, rb_threads_for(ctx, set->nparts, GRAIN), &me));
	l.low = *low;
	status = rb_loop(me, set->nparts, GRAIN, find_lows, &l);
	rb_team_close(&me);
	return status == RB_OK && rb_should_stop(ctx) ? RB_STOPPED : status;
}

rb_status
rb_in_tile_build(rb_context *ctx, const rb_job *job, rb_in_tile *in)
{
	const bool self = job->blue == NULL || job->blue == job->red;
	rb_status status;

	*in = (rb_in_tile){.tile = job->tile, .set = {job->red, self ? job->red : job->blue}};
	in->tile.dims = rb_kind_dims(job->red->kind);
	status = make_lows(ctx, in->set[0], &in->low[0]);
	if (self)
		in->low[1] = in->low[0];
	else if (status == RB_OK)
		status = make_lows(ctx, in->set[1], &in->low[1]);
	return status;
}

void
rb_in_tile_free(rb_context *ctx, rb_in_tile *in)
{
	if (in->low[1] == in->low[0])
		in->low[1] = NULL;
	for (int i = 0; i < 2; i++)
		RB_FREE(ctx->memory, in->low[i]);
}
