/*
 * linework.c
 *	  Finds the maximal runs along each line, and joins them into lines, as few as possible.
 *
 * Where the ends of exactly two runs coincide, the runs belong to the same line. Lines with ends
 * are followed first, then closed lines.
 */
#include "core/intersection/assembly.h"

/* ---- maximal runs ---- */

/*
 * Finds, along each line, the maximal runs that are present and not covered by a polygon.
 *
 * The starts and ends of intervals are sorted along each line, and counters track how many
 * intervals are open. Overlapping intervals are merged, and adjacent ones are joined. Vertices that
 * exist only because a face consists of several triangles disappear exactly, since the line has the
 * same canonical id on both sides.
 */

/* Changes of the number of open intervals at a point of a line */
typedef struct run_change
{
	uint32_t line;
	uint32_t point;
	int32_t segments;
	int32_t covers;
} run_change;

static int
by_line(const void *a, const void *b, const void *arg)
{
	const run_change *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return rb_line_order(arg, x->line, x->point, y->point);
}

static rb_status
make_changes(rb_curve *c)
{
	const rb_curve_interval *s = RB_ALL(c->stretches, rb_curve_interval);
	rb_curve_array *changes = &c->work[0];

	changes->n = 0;
	RB_TRY(
		rb_curve_array_reserve(c->ctx, changes, 2 * (size_t) c->stretches.n, sizeof(run_change)));
	for (uint32_t i = 0; i < c->stretches.n; i++)
	{
		const int32_t covers = s[i].covers != 0, segments = !covers;

		RB_ALL(*changes, run_change)
		[changes->n++] = (run_change){s[i].line, s[i].from, segments, covers};
		RB_ALL(*changes, run_change)
		[changes->n++] = (run_change){s[i].line, s[i].to, -segments, -covers};
		if (rb_stop_due(c->ctx, i, RB_CURVE_CHECK_INTERVAL))
			return RB_STOPPED;
	}
	return rb_sort(c->ctx, changes->at, changes->n, sizeof(run_change), by_line, c);
}

static rb_status
find_runs(rb_curve *c)
{
	const run_change *x = RB_ALL(c->work[0], run_change);
	const uint32_t n = c->work[0].n;
	int32_t segments = 0, covers = 0;
	bool open = false;

	for (uint32_t i = 0; i < n;)
	{
		const uint32_t line = x[i].line, point = x[i].point;
		bool there;

		for (; i < n && x[i].line == line && x[i].point == point; i++)
		{
			segments += x[i].segments;
			covers += x[i].covers;
		}
		there = segments > 0 && covers == 0;
		if (there && !open)
		{
			RB_TRY(rb_curve_array_reserve(c->ctx, &c->runs, 1, sizeof(rb_curve_run)));
			RB_ALL(c->runs, rb_curve_run)
			[c->runs.n++] = (rb_curve_run){line, point, point, c->inner.n, 0};
		}
		else if (there)
		{
			RB_TRY(rb_curve_array_reserve(c->ctx, &c->inner, 1, sizeof(uint32_t)));
			RB_ALL(c->inner, uint32_t)[c->inner.n++] = point;
			RB_ALL(c->runs, rb_curve_run)[c->runs.n - 1].ninner++;
		}
		else if (open)
			RB_ALL(c->runs, rb_curve_run)[c->runs.n - 1].to = point;
		open = there;
		if (i % 64 == 0 && rb_should_stop(c->ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Removes interior points of runs, except those where another run ends. */
static rb_status
keep_inner(rb_curve *c)
{
	rb_curve_run *run = RB_ALL(c->runs, rb_curve_run);
	uint32_t *mark, *inner = RB_ALL(c->inner, uint32_t);

	RB_TRY(rb_unmark_points(c));
	mark = RB_ALL(c->mark, uint32_t);
	for (uint32_t i = 0; i < c->runs.n; i++)
		mark[run[i].from] = mark[run[i].to] = 1;
	if (rb_should_stop(c->ctx))
		return RB_STOPPED;
	for (uint32_t i = 0; i < c->runs.n; i++)
	{
		uint32_t n = 0;

		for (uint32_t k = 0; k < run[i].ninner; k++)
			if (mark[inner[run[i].inner + k]] != 0)
				inner[run[i].inner + n++] = inner[run[i].inner + k];
		run[i].ninner = n;
	}
	return rb_should_stop(c->ctx) ? RB_STOPPED : RB_OK;
}

rb_status
rb_curve_runs(rb_curve *c)
{
	RB_TRY(make_changes(c));
	RB_TRY(find_runs(c));
	return keep_inner(c);
}

/* ---- lines ---- */

/* An end of a run: run i has the ends 2 i and 2 i + 1 */
typedef struct end
{
	uint32_t point;
	uint32_t end;
} end;

static int
by_point(const void *a, const void *b, const void *arg)
{
	const end *x = a, *y = b;

	(void) arg;
	if (x->point != y->point)
		return x->point < y->point ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

static int
by_ends(const void *a, const void *b, const void *arg)
{
	const rb_curve_run *x = a, *y = b;
	const uint32_t xl = x->from < x->to ? x->from : x->to, xh = x->from ^ x->to ^ xl;
	const uint32_t yl = y->from < y->to ? y->from : y->to, yh = y->from ^ y->to ^ yl;

	(void) arg;
	if (xl != yl)
		return xl < yl ? -1 : 1;
	if (xh != yh)
		return xh < yh ? -1 : 1;
	return (x->ninner > y->ninner) - (x->ninner < y->ninner);
}

/* Removes runs that differ exactly but coincide after rounding. */
static rb_status
drop_duplicates(rb_curve *c)
{
	rb_curve_run *run = RB_ALL(c->runs, rb_curve_run);
	uint32_t n = 0;

	RB_TRY(rb_sort(c->ctx, run, c->runs.n, sizeof *run, by_ends, NULL));
	for (uint32_t i = 0; i < c->runs.n; i++)
		if (n == 0 || run[i].ninner > 0 || by_ends(&run[n - 1], &run[i], NULL) != 0)
			run[n++] = run[i];
	c->runs.n = n;
	return RB_OK;
}

static rb_status
find_partners(rb_curve *c)
{
	const rb_curve_run *run = RB_ALL(c->runs, rb_curve_run);
	const uint32_t n = 2 * c->runs.n;
	rb_curve_array *ends = &c->work[0], *partner = &c->work[1];
	end *x;

	if (c->runs.n > RB_CURVE_MAX / 2)
		return rb_fail(c->ctx, RB_TOO_MANY_OBJECTS, c->runs.n, RB_CURVE_MAX / 2, NULL);
	ends->n = partner->n = 0;
	RB_TRY(rb_curve_array_reserve(c->ctx, ends, n, sizeof *x));
	RB_TRY(rb_curve_array_reserve(c->ctx, partner, n, sizeof(uint32_t)));
	x = RB_ALL(*ends, end);
	for (uint32_t i = 0; i < n; i++)
	{
		x[i].point = i % 2 == 0 ? run[i / 2].from : run[i / 2].to;
		x[i].end = i;
	}
	RB_TRY(rb_sort(c->ctx, x, n, sizeof *x, by_point, NULL));
	for (uint32_t i = 0, k; i < n; i = k)
	{
		for (k = i + 1; k < n && x[k].point == x[i].point; k++)
			;
		for (uint32_t j = i; j < k; j++)
			RB_ALL(*partner, uint32_t)
		[x[j].end] = k - i == 2 ? x[i].end ^ x[i + 1].end ^ x[j].end : RB_NOTHING;
	}
	return RB_OK;
}

static rb_status
append_point(rb_curve *c, uint32_t point)
{
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->line_points, 1, sizeof point));
	RB_ALL(c->line_points, uint32_t)[c->line_points.n++] = point;
	return RB_OK;
}

/* Appends the line that starts with the given end of a run, and marks its runs. */
static rb_status
follow_runs(rb_curve *c, uint32_t first, uint8_t *seen)
{
	const rb_curve_run *run = RB_ALL(c->runs, rb_curve_run);
	const uint32_t *partner = RB_ALL(c->work[1], uint32_t), *inner = RB_ALL(c->inner, uint32_t);

	RB_TRY(rb_curve_array_reserve(c->ctx, &c->line_start, 1, sizeof(uint32_t)));
	RB_ALL(c->line_start, uint32_t)[c->line_start.n++] = c->line_points.n;
	RB_TRY(append_point(c, first % 2 == 0 ? run[first / 2].from : run[first / 2].to));
	for (uint32_t at = first; at != RB_NOTHING && !seen[at / 2];)
	{
		const rb_curve_run *r = &run[at / 2];

		seen[at / 2] = 1;
		for (uint32_t i = 0; i < r->ninner; i++)
			RB_TRY(append_point(c, inner[r->inner + (at % 2 == 0 ? i : r->ninner - 1 - i)]));
		RB_TRY(append_point(c, at % 2 == 0 ? r->to : r->from));
		at = partner[at ^ 1];
	}
	return RB_OK;
}

rb_status
rb_curve_chains(rb_curve *c)
{
	rb_status status = drop_duplicates(c);
	uint8_t *seen;

	if (status == RB_OK)
		status = find_partners(c);
	c->work[2].n = 0;
	if (status == RB_OK)
		status = rb_curve_array_reserve(c->ctx, &c->work[2], (size_t) c->runs.n + 1, sizeof *seen);
	if (status != RB_OK)
		return status;
	seen = c->work[2].at;
	memset(seen, 0, c->runs.n);
	for (int closed = 0; closed < 2; closed++)
	{
		c->first_closed = c->line_start.n;
		for (uint32_t i = 0; i < 2 * c->runs.n && status == RB_OK; i++)
		{
			if (!seen[i / 2] && (closed || RB_ALL(c->work[1], uint32_t)[i] == RB_NOTHING))
				status = follow_runs(c, i, seen);
			if (rb_stop_due(c->ctx, i, RB_CURVE_CHECK_INTERVAL))
				status = RB_STOPPED;
		}
	}
	return status;
}
