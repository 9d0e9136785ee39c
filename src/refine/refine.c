/*
 * refine.c
 *	  The whole way: a tetrahedralization in, rounds, a refined one out.
 */
#include "refine/rb_refining.h"

#include <stdio.h>

/* at most: each makes the mesh anew */
#define REBUILDS 20
/* and of these, when all else is done */
#define REBUILDS_LATE 1

static double
lap(double *start)
{
	double now = rb_now_ms();
	double ms = now - *start;

	*start = now;
	return ms;
}

static bool
is_left_to_threads(rb_status status)
{
	return status == RB_NO_DEVICE || status == RB_DEVICE_FULL || status == RB_DEVICE_FAILED;
}

/*
 * On a device, if one is named that can; whatever keeps it from that, threads here come to the same bits.
 * Then it is asked no more: *backend becomes NULL.
 */
static rb_status
make_rounds(rb_refining *r, const rb_backend **backend)
{
	rb_context *ctx = r->ctx;

	if (*backend != NULL && (*backend)->refine != NULL)
	{
		const uint32_t before = r->report->rounds;
		rb_status status = (*backend)->refine(ctx, r, sizeof(*r));

		if (r->options->backend_only || !is_left_to_threads(status))
		{
			r->report->device_rounds += r->report->rounds - before;
			return status;
		}
		snprintf(ctx->stats.note, sizeof(ctx->stats.note), "%s",
				 ctx->error.text[0] != '\0' ? ctx->error.text : rb_status_text(status));
		rb_forget_failure(ctx);
		*backend = NULL;
	}
	return rb_refining_rounds(r);
}

rb_status
rb_refine(rb_context *ctx, const rb_refine_options *options, rb_tets *tets,
		  rb_refine_report *report)
{
	const rb_backend *backend = options->backend;
	rb_refining r;
	int late = 0;
	double start = rb_now_ms();
	rb_status status;

	memset(report, 0, sizeof(*report));
	memset(&r, 0, sizeof r);
	r.ctx = ctx;
	r.options = options;
	r.report = report;
	r.protect = true;
	status = rb_refining_start(&r, tets);
	report->ms_start = lap(&start);
	for (int i = 0; status == RB_OK; i++)
	{
		bool again;

		status = make_rounds(&r, &backend);
		late += r.done;
		if (status != RB_OK || !rb_round_rebuilds(r.nstuck, r.nsites) || i > REBUILDS ||
			late > REBUILDS_LATE)
			break;
		again = false;
		if (i < REBUILDS)
			status = rb_refining_rebuild(&r, &again);
		r.nstuck = 0;
		if (status != RB_OK || (!again && r.done))
			break;
		/* what could not be done at first will not be later; then the rest is done around it */
		r.protect = again;
	}
	report->ms_rounds = lap(&start);
	if (status == RB_OK)
		status = rb_refining_result(&r, tets);
	report->ms_result = lap(&start);
	rb_refining_free(&r);
	return status;
}
