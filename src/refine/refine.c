/*
 * refine.c
 *	  The whole way: a tetrahedralization in, rounds, a refined one out.
 */
#include "refine/rb_refining.h"

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
	status = rb_refining_start(&r, tets);
	report->ms_start = lap(&start);
	if (status == RB_OK)
		status = rb_refining_rounds(&r);
	report->ms_rounds = lap(&start);
	if (status == RB_OK)
		status = rb_refining_result(&r, tets);
	report->ms_result = lap(&start);
	rb_refining_free(&r);
	return status;
}
