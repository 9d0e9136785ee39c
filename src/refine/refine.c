/*
 * refine.c
 *	  The whole way: a tetrahedralization in, rounds, a refined one out.
 */
#include "refine/rb_refining.h"

#include <stdio.h>

/* so often at most what is stuck is inserted together */
#define REBUILDS 20
/* and of these, when all else is done */
#define REBUILDS_LATE 12
/* above one of so many points it is not done group by group; above one of so many what is left is worth it that all is made anew */
#define TOGETHER 32
#define REBUILT 200

/* a device has the mesh come and go as a whole: it is asked again if more than one of so many cells may have to be split */
#define DEVICE_SHARE 32
/* so many of them are counted at a time */
#define CELLS 16384

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

typedef struct coarse
{
	const rb_cell *cells;
	uint64_t n;
} coarse;

/* cells that may have to be split */
static void
do_coarse(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	coarse *s = arg;
	uint64_t n = 0;

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		const rb_cell *c = &s->cells[i];

		n += c->v[0] != RB_DEAD && !rb_cell_ghost(c) && (c->bits & RB_CELL_FINE) == 0;
	}
	rb_add(&s->n, n);
}

/* *worth: the way there and back */
static rb_status
is_for_device(rb_refining *r, bool *worth)
{
	coarse s = {r->mesh.cells, 0};
	rb_thread *team;
	rb_status status = rb_refining_team(r, r->ncells, &team);

	if (status == RB_OK)
		status = rb_refining_each(r, team, r->ncells, CELLS, do_coarse, &s);
	rb_team_close(&team);
	*worth = s.n * DEVICE_SHARE > r->ncells || r->options->backend_always;
	return status;
}

/*
 * On a device, if one is named that can; whatever keeps it from that, threads here come to the same bits.
 * Then it is asked no more: *backend becomes NULL.
 */
static rb_status
make_rounds(rb_refining *r, const rb_backend **backend)
{
	rb_context *ctx = r->ctx;
	bool worth = false;
	rb_status status = RB_OK;

	if (*backend != NULL && (*backend)->refine != NULL)
		status = is_for_device(r, &worth);
	if (status == RB_OK && worth)
	{
		const uint32_t before = r->report->rounds;

		status = (*backend)->refine(ctx, r, sizeof(*r));
		if (r->options->backend_only || !is_left_to_threads(status))
		{
			r->report->device_rounds += r->report->rounds - before;
			return status;
		}
		snprintf(ctx->stats.note, sizeof(ctx->stats.note), "%s",
				 ctx->error.text[0] != '\0' ? ctx->error.text : rb_status_text(status));
		rb_forget_failure(ctx);
		*backend = NULL;
		status = RB_OK;
	}
	return status == RB_OK ? rb_refining_rounds(r) : status;
}

/* few cells are made anew where that will do, else all; *again: there is something new */
static rb_status
insert_stuck(rb_refining *r, bool *again)
{
	bool made;
	rb_status status = RB_OK;

	*again = false;
	/* around it there may be something else by now */
	if (r->done)
		r->nhopeless = 0;
	if ((uint64_t) r->nstuck * TOGETHER < r->nsites)
		status = rb_refining_together(r, again);
	if (status == RB_OK && (uint64_t) r->nstuck * REBUILT > r->nsites)
	{
		status = rb_refining_rebuild(r, &made);
		*again = *again || made;
		r->nhopeless = 0;
	}
	return status;
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
		if (status != RB_OK || r.nstuck == 0 || i >= REBUILDS || late > REBUILDS_LATE)
			break;
		status = insert_stuck(&r, &again);
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
