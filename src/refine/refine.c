/*
 * refine.c
 *	  Controls refinement: imports a tetrahedralization, runs rounds, and exports the refined mesh.
 *	  Measures the quality of a tetrahedron.
 */
#include "refine/refining.h"

#include <math.h>
#include <stdio.h>

/* Maximum number of passes of joint insertion */
#define REBUILDS 20
/* Maximum number of these passes after all other work is done */
#define REBUILDS_LATE 12
/*
 * Thresholds on the number of blocked points relative to the number of vertices. They are inserted
 * group by group if they are fewer than one in JOINT. The whole mesh is rebuilt for the
 * remaining ones only if they are more than one in REBUILT.
 */
#define JOINT 32
#define REBUILT 200

/*
 * A device is used only if more than one cell in DEVICE_SHARE may have to be split, because the
 * whole mesh is copied there and back.
 */
#define DEVICE_SHARE 32
/* Cells that a thread counts at a time */
#define CELLS 16384

static double
lap_ms(double *start)
{
	double now = rb_now_ms();
	double ms = now - *start;

	*start = now;
	return ms;
}

typedef struct coarse
{
	const rb_cell *cells;
	uint64_t n;
} coarse;

/* Counts the cells that may have to be split. */
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

/* Sets *worth if the rounds are worth copying the mesh to the device and back. */
static rb_status
is_for_device(rb_refining *r, bool *worth)
{
	coarse s = {r->mesh.cells, 0};
	rb_thread *team;
	rb_status status = rb_refining_team(r, r->ncells, &team);

	if (status == RB_OK)
		status = rb_each(r->ctx, team, r->ncells, CELLS, do_coarse, &s);
	rb_team_close(&team);
	*worth = s.n * DEVICE_SHARE > r->ncells || r->options->backend_always;
	return status;
}

/*
 * Runs rounds on the device if the backend supports that and the work is worth it. If the device
 * fails, host threads produce the same bits; then *backend becomes NULL, so that the device is not
 * tried again.
 */
static rb_status
run_rounds(rb_refining *r, const rb_backend **backend)
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
		if (r->options->backend_only || !rb_is_device_failure(status))
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

/*
 * Inserts blocked points: in small groups where that is enough, otherwise by rebuilding the whole
 * mesh. Sets *again if the mesh changed.
 */
static rb_status
insert_blocked(rb_refining *r, bool *again)
{
	bool made;

	*again = false;
	/* The mesh around abandoned subsegments may have changed. */
	if (r->done)
		r->nabandoned = 0;
	if ((uint64_t) r->nblocked * JOINT < r->nsites)
		RB_TRY(rb_refining_insert_jointly(r, again));
	if ((uint64_t) r->nblocked * REBUILT > r->nsites)
	{
		RB_TRY(rb_refining_rebuild(r, &made));
		*again = *again || made;
		r->nabandoned = 0;
	}
	return RB_OK;
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
	status = rb_refining_import(&r, tets);
	report->ms_start = lap_ms(&start);
	for (int i = 0; status == RB_OK; i++)
	{
		bool again;

		status = run_rounds(&r, &backend);
		late += r.done;
		if (status != RB_OK || r.nblocked == 0 || i >= REBUILDS || late > REBUILDS_LATE)
			break;
		status = insert_blocked(&r, &again);
		r.nblocked = 0;
		if (status != RB_OK || (!again && r.done))
			break;
		/*
		 * If nothing was inserted now, trying again will not help; do the remaining work around the
		 * blocked points.
		 */
		r.protect = again;
	}
	report->ms_rounds = lap_ms(&start);
	if (status == RB_OK)
		status = rb_refining_export(&r, tets);
	report->ms_result = lap_ms(&start);
	rb_refining_free(&r);
	return status;
}

/* ---- quality of a tetrahedron, for reports; criteria.h decides which ones are bad ---- */

static void
subtract_points(const double *a, const double *b, double *d)
{
	for (int i = 0; i < 3; i++)
		d[i] = a[i] - b[i];
}

static void
cross_product(const double *a, const double *b, double *n)
{
	n[0] = a[1] * b[2] - a[2] * b[1];
	n[1] = a[2] * b[0] - a[0] * b[2];
	n[2] = a[0] * b[1] - a[1] * b[0];
}

static double
dot_product(const double *a, const double *b)
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/*
 * Computes the quality of a tetrahedron. With volume6 = 6 V and m of measure.h, the circumradius
 * is R = |m| / 12 V. The dihedral angle at the edge of two faces is 180 degrees minus the angle
 * between their outward normals. It is computed by atan2, which is accurate for flat angles, too.
 */
void
rb_tet_measure(const double *a, const double *b, const double *c, const double *d,
			   rb_tet_quality *quality)
{
	const double *p[4];
	double u[3], v[3], w[3], n[4][3], shortest = INFINITY;
	rb_spans spans = rb_spans_of(a, b, c, d);

	p[0] = a;
	p[1] = b;
	p[2] = c;
	p[3] = d;
	subtract_points(a, d, u);
	subtract_points(b, d, v);
	subtract_points(c, d, w);
	cross_product(v, w, n[0]);
	cross_product(w, u, n[1]);
	cross_product(u, v, n[2]);
	for (int i = 0; i < 3; i++)
		n[3][i] = -(n[0][i] + n[1][i] + n[2][i]);
	quality->volume = fabs(spans.volume6) / 6;
	quality->min_dihedral = 180;
	quality->max_dihedral = 0;
	for (int i = 0; i < 4; i++)
		for (int j = i + 1; j < 4; j++)
		{
			double edge[3], angle;

			subtract_points(p[i], p[j], edge);
			shortest = fmin(shortest, dot_product(edge, edge));
			cross_product(n[i], n[j], edge);
			angle =
				180 - atan2(sqrt(dot_product(edge, edge)), dot_product(n[i], n[j])) * (180 / M_PI);
			quality->min_dihedral = fmin(quality->min_dihedral, angle);
			quality->max_dihedral = fmax(quality->max_dihedral, angle);
		}
	quality->radius_edge =
		sqrt(dot_product(spans.m, spans.m)) / (2 * fabs(spans.volume6)) / sqrt(shortest);
}
