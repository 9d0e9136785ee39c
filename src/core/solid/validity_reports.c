/*
 * validity_reports.c
 *	  Reports for each row of a set whether it is a solid, and what is wrong if it is not;
 *	  validity_reasons.c converts the reports to text.
 *
 * A row is checked in two independent ways: whether it is closed and oriented outward (validity.c),
 * and how many pairs of its triangles cross, which is a self join of the set within its rows.
 */
#include "core/base/parallel.h"
#include "core/solid/solid.h"
#include "core/join/join.h"
#include "core/set/set.h"

#include <string.h>

#define GRAIN 16 /* Number of rows a thread takes at a time */

_Static_assert(sizeof(rb_solid_report) == RB_VALIDITY_WORDS * sizeof(uint64_t),
			   "a report has RB_VALIDITY_WORDS words");

/* ---- conversion to payload words ---- */

void
rb_solid_to_words(const rb_solid_report *report, uint64_t *words)
{
	memcpy(words, report, sizeof *report);
}

void
rb_solid_of_words(rb_solid_report *report, const uint64_t *words)
{
	memcpy(report, words, sizeof *report);
}

void
rb_solid_of_refusal(rb_solid_report *report, const rb_refusal *refusal, double face_tolerance)
{
	memset(report, 0, sizeof *report);
	report->fault = RB_SOLID_UNREADABLE;
	report->why = refusal->fault;
	report->info = refusal->info;
	report->face_tolerance = face_tolerance;
}

/* ---- all rows ---- */

typedef struct crossings
{
	uint64_t n;
	rb_pair first;
} crossings;

typedef struct solid_reports
{
	rb_context *ctx;
	const rb_set *solids;
	const rb_row_sink *sink;
	uint32_t *start;
	crossings *of;  /* Crossings of each row */
	bool by_object; /* True if rows are already grouped into objects */
	bool together;  /* True if no row is closed, and all rows together are */
	int closed;     /* Nonzero if some row is closed; set by several threads */
	pthread_mutex_t lock;
	int status;
} solid_reports;

static bool
have_same_corners(const double *a, const double *b)
{
	for (int i = 0; i < 9; i += 3)
		if (memcmp(a + i, b, 3 * sizeof *a) != 0 && memcmp(a + i, b + 3, 3 * sizeof *a) != 0 &&
			memcmp(a + i, b + 6, 3 * sizeof *a) != 0)
			return false;
	return true;
}

static rb_status
put_crossing(void *user, const rb_pair *pairs, size_t n)
{
	solid_reports *a = user;

	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < n; i++)
	{
		const rb_pair p = {rb_pair_red(pairs[i]), pairs[i].blue};
		crossings *c = &a->of[rb_row_of(a->solids, p.red)];

		if (c->n++ == 0 || p.red < c->first.red ||
			(p.red == c->first.red && p.blue < c->first.blue))
			c->first = p;
	}
	pthread_mutex_unlock(&a->lock);
	return rb_should_stop(a->ctx) ? RB_STOPPED : RB_OK;
}

static rb_status
count_crossings(solid_reports *a, const rb_backend *backend)
{
	const rb_job job = {.red = a->solids, .predicate = RB_SELF_INTERSECT, .within_rows = true};
	const rb_sink sink = {.put = put_crossing, .user = a};

	memset(a->of, 0, a->solids->nrows * sizeof *a->of);
	return a->solids->row_of != NULL ? rb_join_step(a->ctx, backend, &job, &sink, RB_TILE) : RB_OK;
}

/* Reports the first two triangles that cross. */
static rb_status
report_crossing(const solid_reports *a, const crossings *c, uint32_t first, uint32_t parts,
				rb_solid_report *report)
{
	const double *t = a->solids->coords + (size_t) first * 9;
	const double *red = a->solids->coords + (size_t) c->first.red * 9;
	const double *blue = a->solids->coords + (size_t) c->first.blue * 9;

	report->self_intersections = c->n;
	report->crossing[0] = c->first.red - first;
	report->crossing[1] = c->first.blue - first;
	report->crossing_equal = have_same_corners(red, blue);
	rb_triangles_crossing_point(red, blue, report->crossing_at);
	return rb_solid_are_apart(a->ctx, t, parts, report->crossing[0], report->crossing[1],
							  &report->crossing_apart);
}

/* Replaces triangle numbers by polygon numbers if the triangles come from polygons. */
static void
name_faces(const rb_set *solids, uint32_t first, rb_solid_report *report)
{
	if (solids->face_of == NULL)
		return;
	report->of_faces = true;
	report->triangle = solids->face_of[first + report->triangle];
	for (int i = 0; i < 2; i++)
		report->crossing[i] = solids->face_of[first + report->crossing[i]];
}

static void
report_rows(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	solid_reports *a = arg;
	rb_pair rows[GRAIN];
	uint64_t payload[GRAIN * RB_VALIDITY_WORDS];
	rb_status status = RB_OK;
	size_t n = 0;
	int ok = RB_OK;

	(void) me;
	for (uint64_t row = from; row < to && status == RB_OK; row++)
	{
		const uint32_t first = a->start[row];
		const uint32_t parts = a->start[row + 1] - first;
		const crossings *c = &a->of[row];
		rb_solid_report report;

		status = rb_should_stop(a->ctx)
					 ? RB_STOPPED
					 : rb_solid_check_faces(
						   a->ctx, a->solids->coords + (size_t) first * 9, parts,
						   a->solids->face_of != NULL ? a->solids->face_of + first : NULL, &report);
		if (status == RB_OK && c->n > 0)
			status = report_crossing(a, c, first, parts, &report);
		if (status != RB_OK)
			break;
		report.faces = a->solids->faces != NULL ? a->solids->faces[row] : parts;
		report.together = a->together;
		name_faces(a->solids, first, &report);
		rows[n] = (rb_pair){(uint32_t) row, (uint32_t) row};
		rb_solid_to_words(&report, payload + n++ * RB_VALIDITY_WORDS);
	}
	if (status == RB_OK && n > 0)
		status = a->sink->put(a->sink->user, rows, payload, n);
	if (status != RB_OK)
		rb_store_if(&a->status, &ok, (int) status);
}

/* Searches for a closed row, and stops at the first one. */
static void
find_closed_row(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	solid_reports *a = arg;
	rb_solid_report report;
	rb_status status = RB_OK;
	int ok = RB_OK;

	(void) me;
	for (uint64_t row = from; row < to && status == RB_OK && rb_load(&a->closed) == 0; row++)
	{
		const uint32_t first = a->start[row];

		status = rb_should_stop(a->ctx)
					 ? RB_STOPPED
					 : rb_solid_check_closed(a->ctx, a->solids->coords + (size_t) first * 9,
											 a->start[row + 1] - first, &report);
		if (status == RB_OK && report.closed)
			rb_store(&a->closed, 1);
	}
	if (status != RB_OK)
		rb_store_if(&a->status, &ok, (int) status);
}

/* Detects a missing solid column: each row is a face, and all rows together are closed. */
static rb_status
check_closed_together(solid_reports *a)
{
	rb_thread *me;
	rb_status status;

	if (a->solids->nrows < 2 || a->by_object)
		return RB_OK;
	RB_TRY(rb_team_open(a->ctx, rb_threads_for(a->ctx, a->solids->nrows, GRAIN), &me));
	status = rb_loop(me, a->solids->nrows, GRAIN, find_closed_row, a);
	rb_team_close(&me);
	if (a->status != RB_OK)
		status = (rb_status) a->status;
	if (status == RB_OK && a->closed == 0)
		status = rb_solids_are_closed_together(a->ctx, a->solids, &a->together);
	return status;
}

static rb_status
report_all(solid_reports *a)
{
	rb_thread *me;
	rb_status status;

	RB_TRY(rb_team_open(a->ctx, rb_threads_for(a->ctx, a->solids->nrows, GRAIN), &me));
	status = rb_loop(me, a->solids->nrows, GRAIN, report_rows, a);
	rb_team_close(&me);
	return a->status != RB_OK ? (rb_status) a->status : status;
}

rb_status
rb_compose_solids(rb_context *ctx, const rb_backend *backend, const rb_job *job,
				  const rb_row_sink *sink)
{
	const size_t rows = job->red->nrows;
	solid_reports a = {.ctx = ctx, .solids = job->red, .sink = sink, .by_object = job->by_object};
	rb_status status = RB_ALLOCATE(ctx, a.start, rows + 1);

	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, a.of, rows + 1);
	pthread_mutex_init(&a.lock, NULL);
	if (status == RB_OK)
	{
		rb_row_starts(job->red, a.start);
		status = count_crossings(&a, backend);
	}
	if (status == RB_OK)
		status = check_closed_together(&a);
	if (status == RB_OK)
		status = report_all(&a);
	pthread_mutex_destroy(&a.lock);
	RB_FREE(ctx->memory, a.start);
	RB_FREE(ctx->memory, a.of);
	return status;
}
