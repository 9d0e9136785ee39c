/*
 * refine.c
 *	  The whole way: a tetrahedralization in, rounds, a refined one out.
 */
#include "refine/rb_refining.h"
#ifdef RB_TRACE
#include <stdio.h>
#endif

/* at most: each makes the mesh anew */
#define REBUILDS 20

static double
lap(double *start)
{
	double now = rb_now_ms();
	double ms = now - *start;

	*start = now;
	return ms;
}

rb_status
rb_refine(rb_context *ctx, const rb_refine_options *options, rb_tets *tets,
		  rb_refine_report *report)
{
	rb_refining r;
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

		status = rb_refining_rounds(&r);
#ifdef RB_TRACE
		fprintf(stderr, "PHASE %d ended at round %u: stuck %u, sites %u\n", i, report->rounds, r.nstuck, r.nsites);
#endif
		if (status != RB_OK || r.nstuck == 0 || i > REBUILDS)
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
