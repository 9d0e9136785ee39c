/*
 * line_merge.c
 *	  Finds, along each line, the maximal runs that are present and not covered by a polygon.
 *
 * The starts and ends of intervals are sorted along each line, and counters track how many
 * intervals are open. Overlapping intervals are merged, and adjacent ones are joined. Vertices that
 * exist only because a face consists of several triangles disappear exactly, since the line has the
 * same canonical id on both sides.
 */
#include "core/intersection/assembly.h"

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
	rb_status status;

	changes->n = 0;
	status =
		rb_curve_array_reserve(c->ctx, changes, 2 * (size_t) c->stretches.n, sizeof(run_change));
	for (uint32_t i = 0; i < c->stretches.n && status == RB_OK; i++)
	{
		const int32_t covers = s[i].covers != 0, segments = !covers;

		RB_ALL(*changes, run_change)
		[changes->n++] = (run_change){s[i].line, s[i].from, segments, covers};
		RB_ALL(*changes, run_change)
		[changes->n++] = (run_change){s[i].line, s[i].to, -segments, -covers};
		if (i % RB_CURVE_CHECK_INTERVAL == RB_CURVE_CHECK_INTERVAL - 1 && rb_should_stop(c->ctx))
			status = RB_STOPPED;
	}
	if (status == RB_OK)
		status = rb_sort(c->ctx, changes->at, changes->n, sizeof(run_change), by_line, c);
	return status;
}

static rb_status
find_runs(rb_curve *c)
{
	const run_change *x = RB_ALL(c->work[0], run_change);
	const uint32_t n = c->work[0].n;
	int32_t segments = 0, covers = 0;
	bool open = false;
	rb_status status = RB_OK;

	for (uint32_t i = 0; i < n && status == RB_OK;)
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
			status = rb_curve_array_reserve(c->ctx, &c->runs, 1, sizeof(rb_curve_run));
			if (status == RB_OK)
				RB_ALL(c->runs, rb_curve_run)
			[c->runs.n++] = (rb_curve_run){line, point, point, c->inner.n, 0};
		}
		else if (there)
		{
			status = rb_curve_array_reserve(c->ctx, &c->inner, 1, sizeof(uint32_t));
			if (status == RB_OK)
				RB_ALL(c->inner, uint32_t)[c->inner.n++] = point;
			RB_ALL(c->runs, rb_curve_run)[c->runs.n - 1].ninner++;
		}
		else if (open)
			RB_ALL(c->runs, rb_curve_run)[c->runs.n - 1].to = point;
		open = there;
		if (i % 64 == 0 && rb_should_stop(c->ctx))
			status = RB_STOPPED;
	}
	return status;
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
	rb_status status = make_changes(c);

	if (status == RB_OK)
		status = find_runs(c);
	return status == RB_OK ? keep_inner(c) : status;
}
