/*
 * validity_rows.c
 *	  Checks whether all rows of a set are solids, before any point is reported to be inside one.
 *
 * All threads check the rows individually: whether a row is closed (validity.c), and whether a
 * cheap test proves that it does not intersect itself (star_shape.c). The remaining rows are
 * checked by a self join of the set within its rows, on the backend that the rest of the join uses.
 * If all rows are solids, the set remembers this result.
 */
#include "core/base/parallel.h"
#include "core/solid/solid.h"
#include "core/join/join.h"
#include "core/set/set.h"

#include <string.h>

#define GRAIN 16 /* Number of rows a thread takes at a time */

typedef struct solid_checks
{
	rb_context *ctx;
	const rb_set *solids;
	const uint32_t *start; /* First part of each row, with one extra entry at the end */
	uint32_t *bad;
	uint32_t *stars; /* Bitmap of rows known not to intersect themselves */
	uint32_t *open;  /* Bitmap of rows that are not closed; NULL if such rows are bad */
	pthread_mutex_t lock;
	uint64_t because[RB_SOLID_FAULTS]; /* Number of bad rows by their first fault */
	uint32_t first;                    /* First bad row */
	rb_solid_report report;            /* Report of the first bad row */
	/* Part of the set for each joined triangle; NULL if the whole set is joined */
	const uint32_t *part;
	rb_pair crossing; /* First pair of triangles that cross */
	int status;
} solid_checks;

static void
note_bad(solid_checks *a, uint32_t row, const rb_solid_report *report)
{
	rb_mark(a->bad, row);
	pthread_mutex_lock(&a->lock);
	a->because[report->fault == RB_SOLID_GOOD ? RB_SOLID_CROSSED : report->fault]++;
	if (row < a->first)
	{
		a->first = row;
		a->report = *report;
	}
	pthread_mutex_unlock(&a->lock);
}

static rb_status
check_row(solid_checks *a, uint32_t row, rb_star_room *room)
{
	const double *triangles = a->solids->coords + (size_t) a->start[row] * 9;
	const uint32_t n = a->start[row + 1] - a->start[row];
	rb_solid_report report;
	bool star;
	rb_status status = rb_solid_is_star(a->ctx, triangles, n, room, &star);

	if (status == RB_OK && star)
		rb_mark(a->stars, row);
	else if (status == RB_OK)
	{
		status = rb_solid_check_closed(a->ctx, triangles, n, &report);
		if (status == RB_OK && report.fault != RB_SOLID_GOOD && a->open != NULL)
			rb_mark(a->open, row);
		else if (status == RB_OK && report.fault != RB_SOLID_GOOD)
			note_bad(a, row, &report);
	}
	return status;
}

static void
check_rows(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	solid_checks *a = arg;
	rb_star_room room = {.links = NULL};
	rb_status status = RB_OK;
	int ok = RB_OK;

	(void) me;
	for (uint64_t row = from; row < to && status == RB_OK && !rb_should_stop(a->ctx); row++)
		status = check_row(a, (uint32_t) row, &room);
	if (status != RB_OK)
		rb_store_if(&a->status, &ok, (int) status);
	rb_star_room_free(a->ctx->memory, &room);
}

static rb_status
check_closed(solid_checks *a)
{
	rb_thread *me;
	rb_status status;

	RB_TRY(rb_team_open(a->ctx, rb_threads_for(a->ctx, a->solids->nrows, GRAIN), &me));
	status = rb_loop(me, a->solids->nrows, GRAIN, check_rows, a);
	rb_team_close(&me);
	return a->status != RB_OK ? (rb_status) a->status : status;
}

/* Receives pairs of triangles of one solid that cross. */
static rb_status
note_crossings(void *user, const rb_pair *pairs, size_t n)
{
	solid_checks *a = user;
	rb_pair least = {UINT32_MAX, UINT32_MAX};

	for (size_t i = 0; i < n; i++)
	{
		rb_pair p = {rb_pair_red(pairs[i]), pairs[i].blue};

		if (a->part != NULL)
			p = (rb_pair){a->part[p.red], a->part[p.blue]};
		rb_mark(a->bad, rb_row_of(a->solids, p.red));
		if (p.red < least.red || (p.red == least.red && p.blue < least.blue))
			least = p;
	}
	pthread_mutex_lock(&a->lock);
	if (least.red < a->crossing.red ||
		(least.red == a->crossing.red && least.blue < a->crossing.blue))
		a->crossing = least;
	pthread_mutex_unlock(&a->lock);
	return rb_should_stop(a->ctx) ? RB_STOPPED : RB_OK;
}

/* Records the first crossing pair and counts the bad rows that note_crossings marked. */
static void
note_crossing(solid_checks *a)
{
	rb_solid_report report = {.fault = RB_SOLID_GOOD, .self_intersections = 1};
	uint64_t open = a->because[RB_SOLID_FLAT] + a->because[RB_SOLID_OPEN], bad = 0;
	const double *t[2];
	uint32_t row;

	if (a->crossing.red == UINT32_MAX)
		return;
	row = rb_row_of(a->solids, a->crossing.red);
	report.crossing[0] = a->crossing.red - a->start[row];
	report.crossing[1] = a->crossing.blue - a->start[row];
	t[0] = a->solids->coords + (size_t) a->crossing.red * 9;
	t[1] = a->solids->coords + (size_t) a->crossing.blue * 9;
	rb_triangles_crossing_point(t[0], t[1], report.crossing_at);
	note_bad(a, row, &report);
	for (uint32_t i = 0; i < a->solids->nrows; i++)
		bad += rb_is_marked(a->bad, i);
	a->because[RB_SOLID_CROSSED] = bad - open;
}

static rb_status
join_rows(solid_checks *a, const rb_backend *backend, const rb_set *set)
{
	const rb_job job = {.red = set, .predicate = RB_SELF_INTERSECT, .within_rows = true};
	const rb_sink sink = {.put = note_crossings, .user = a};

	return rb_join_step(a->ctx, backend, &job, &sink, RB_TILE);
}

/* Returns true if the row could still intersect itself. */
static bool
is_in_doubt(const solid_checks *a, uint32_t row)
{
	return a->start[row + 1] - a->start[row] > 1 && !rb_is_marked(a->bad, row) &&
		   (a->open == NULL || !rb_is_marked(a->open, row)) && !rb_is_marked(a->stars, row);
}

/* Joins the undecided rows, copied to a set of their own. */
static rb_status
join_some(solid_checks *a, const rb_backend *backend, uint32_t n)
{
	rb_set some = {.kind = RB_TRIANGLE3, .nrows = a->solids->nrows};
	double *coords = NULL;
	uint32_t *row_of = NULL, *part = NULL;
	rb_status status = rb_array(a->ctx, (void **) &coords, n, 9 * sizeof *coords);

	if (status == RB_OK)
		status = RB_ALLOCATE(a->ctx, row_of, n);
	if (status == RB_OK)
		status = RB_ALLOCATE(a->ctx, part, n);
	for (uint32_t row = 0; row < a->solids->nrows && status == RB_OK; row++)
		if (is_in_doubt(a, row))
		{
			const uint32_t first = a->start[row], many = a->start[row + 1] - first;

			if (rb_should_stop(a->ctx))
				status = RB_STOPPED;
			memcpy(coords + (size_t) some.nparts * 9, a->solids->coords + (size_t) first * 9,
				   (size_t) many * 9 * sizeof *coords);
			for (uint32_t i = 0; i < many; i++)
			{
				row_of[some.nparts + i] = row;
				part[some.nparts + i] = first + i;
			}
			some.nparts += many;
		}
	some.coords = coords;
	some.row_of = row_of;
	a->part = part;
	if (status == RB_OK)
		status = join_rows(a, backend, &some);
	a->part = NULL;
	RB_FREE(a->ctx->memory, coords);
	RB_FREE(a->ctx->memory, row_of);
	RB_FREE(a->ctx->memory, part);
	return status;
}

static rb_status
check_crossing(solid_checks *a, const rb_backend *backend)
{
	uint32_t n = 0;
	rb_status status = RB_OK;

	for (uint32_t row = 0; row < a->solids->nrows; row++)
		n += is_in_doubt(a, row) ? a->start[row + 1] - a->start[row] : 0;
	if (n > 0)
		status =
			n == a->solids->nparts ? join_rows(a, backend, a->solids) : join_some(a, backend, n);
	note_crossing(a);
	return status;
}

/* Counts the bad rows, and raises an error for the first one unless they are skipped. */
static rb_status
report_bad(solid_checks *a, bool skip, rb_solid_side of)
{
	const rb_set *solids = a->solids;
	char text[RB_SOLID_REASON];
	bool together = false;
	int64_t id;
	rb_status status = RB_OK;

	for (int fault = 0; fault < RB_SOLID_FAULTS; fault++)
	{
		a->ctx->stats.bad_solids += a->because[fault];
		a->ctx->stats.bad_because[of == RB_SOLID_OF_RED ? 0 : 1][fault] += a->because[fault];
	}
	if (a->first == UINT32_MAX || skip)
		return RB_OK;
	if (a->report.fault == RB_SOLID_OPEN && solids->nrows > 1)
		status = rb_solids_are_closed_together(a->ctx, solids, &together);
	if (status != RB_OK)
		return status;
	rb_solid_reason(&a->report, text);
	id = solids->ids != NULL ? solids->ids[a->first]
							 : (int64_t) ((uint64_t) solids->first_id + a->first);
	return rb_fail(a->ctx, RB_BAD_SOLID, (uint64_t) id,
				   (uint64_t) of | (together ? RB_SOLID_TOGETHER : 0), text);
}

static bool
any_marked(const uint32_t *marks, size_t words)
{
	for (size_t i = 0; i < words; i++)
		if (marks[i] != 0)
			return true;
	return false;
}

/* Checks all rows; `open` receives the rows that are not closed, or is NULL. */
static rb_status
check_all(rb_context *ctx, const rb_backend *backend, const rb_set *solids, bool skip,
		  rb_solid_side of, uint32_t **bad, uint32_t *open)
{
	const size_t words = solids->nrows / 32 + 1;
	solid_checks a = {.ctx = ctx,
					  .solids = solids,
					  .open = open,
					  .first = UINT32_MAX,
					  .crossing = {UINT32_MAX, UINT32_MAX}};
	uint32_t *start = NULL;
	rb_status status = RB_ALLOCATE(ctx, *bad, words);

	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, start, (size_t) solids->nrows + 1);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, a.stars, words);
	if (status == RB_OK)
	{
		memset(*bad, 0, words * sizeof(uint32_t));
		memset(a.stars, 0, words * sizeof(uint32_t));
		rb_row_starts(solids, start);
		a.start = start;
		a.bad = *bad;
	}
	if (status == RB_OK && !rb_set_knows(solids, RB_KNOWN_SOLIDS))
	{
		pthread_mutex_init(&a.lock, NULL);
		status = check_closed(&a);
		if (status == RB_OK)
			status = check_crossing(&a, backend);
		pthread_mutex_destroy(&a.lock);
	}
	if (status == RB_OK && a.first == UINT32_MAX && (open == NULL || !any_marked(open, words)))
		rb_set_learn(solids, RB_KNOWN_SOLIDS);
	if (status == RB_OK)
		status = report_bad(&a, skip, of);
	RB_FREE(ctx->memory, start);
	RB_FREE(ctx->memory, a.stars);
	return status;
}

rb_status
rb_solids_are_closed_together(rb_context *ctx, const rb_set *solids, bool *together)
{
	rb_solid_report report;
	rb_status status = rb_solid_check_closed(ctx, solids->coords, solids->nparts, &report);

	*together = status == RB_OK && report.fault == RB_SOLID_GOOD;
	if (status == RB_OVER_BUDGET || status == RB_OUT_OF_MEMORY)
	{
		rb_forget_failure(ctx);
		return RB_OK;
	}
	return status;
}

rb_status
rb_solids_check(rb_context *ctx, const rb_backend *backend, const rb_set *solids, bool skip,
				rb_solid_side of, uint32_t **bad)
{
	return check_all(ctx, backend, solids, skip, of, bad, NULL);
}

rb_status
rb_solids_sort(rb_context *ctx, const rb_backend *backend, const rb_set *surfaces, bool skip,
			   rb_solid_side of, uint32_t **bad, uint32_t **open)
{
	const size_t words = surfaces->nrows / 32 + 1;

	RB_TRY(RB_ALLOCATE(ctx, *open, words));
	memset(*open, 0, words * sizeof(uint32_t));
	return check_all(ctx, backend, surfaces, skip, of, bad, *open);
}
