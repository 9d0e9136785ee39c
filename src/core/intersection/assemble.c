/*
 * assemble.c
 *	  Assembles pairs of parts into one shape whose order does not depend on the order of the input.
 *
 * Points are numbered by their coordinates. An open line starts with the end that makes its
 * sequence of numbers smaller. A closed line or a ring starts with its lowest number. Lines and
 * polygons are sorted by their sequences of numbers.
 */
#include "core/intersection/assembly.h"

/* ---- linework ---- */

/*
 * Where the ends of exactly two runs coincide, the runs belong to the same line. Lines with ends
 * are followed first, then closed lines.
 */

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

/* Orders changes of runs by line and, on a line, by point. */
static int
by_run_change(const void *a, const void *b, const void *arg)
{
	const run_change *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return rb_line_order(arg, x->line, x->point, y->point);
}

/* Appends two changes for each interval: its start and its end. */
static rb_status
make_run_changes(rb_curve *c)
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
	return rb_sort(c->ctx, changes->at, changes->n, sizeof(run_change), by_run_change, c);
}

/* Collects the maximal runs that segments, but no polygons, cover, from the sorted changes. */
static rb_status
collect_runs_of_lines(rb_curve *c)
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
drop_inner_points_of_runs(rb_curve *c)
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

/*
 * Computes the maximal runs of the shape along each line, without interior points that are not
 * needed.
 */
static rb_status
find_runs_of_lines(rb_curve *c)
{
	RB_TRY(make_run_changes(c));
	RB_TRY(collect_runs_of_lines(c));
	return drop_inner_points_of_runs(c);
}

/* ---- lines ---- */

/* An end of a run: run i has the ends 2 i and 2 i + 1 */
typedef struct end
{
	uint32_t point;
	uint32_t end;
} end;

/* Orders ends of runs by point. */
static int
by_run_end_point(const void *a, const void *b, const void *arg)
{
	const end *x = a, *y = b;

	(void) arg;
	if (x->point != y->point)
		return x->point < y->point ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

/* Orders runs by their ends, in any direction, so that duplicates are adjacent. */
static int
by_run_ends(const void *a, const void *b, const void *arg)
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
drop_duplicate_runs(rb_curve *c)
{
	rb_curve_run *run = RB_ALL(c->runs, rb_curve_run);
	uint32_t n = 0;

	RB_TRY(rb_sort(c->ctx, run, c->runs.n, sizeof *run, by_run_ends, NULL));
	for (uint32_t i = 0; i < c->runs.n; i++)
		if (n == 0 || run[i].ninner > 0 || by_run_ends(&run[n - 1], &run[i], NULL) != 0)
			run[n++] = run[i];
	c->runs.n = n;
	return RB_OK;
}

/* Finds for each end of a run the end that continues it, where exactly two meet. */
static rb_status
find_partners_of_run_ends(rb_curve *c)
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
	RB_TRY(rb_sort(c->ctx, x, n, sizeof *x, by_run_end_point, NULL));
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

/* Appends the id of a point to the line of the shape that is being followed. */
static rb_status
append_point_to_line(rb_curve *c, uint32_t point)
{
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->line_points, 1, sizeof point));
	RB_ALL(c->line_points, uint32_t)[c->line_points.n++] = point;
	return RB_OK;
}

/* Appends the line that starts with the given end of a run, and marks its runs. */
static rb_status
follow_runs_of_line(rb_curve *c, uint32_t first, uint8_t *seen)
{
	const rb_curve_run *run = RB_ALL(c->runs, rb_curve_run);
	const uint32_t *partner = RB_ALL(c->work[1], uint32_t), *inner = RB_ALL(c->inner, uint32_t);

	RB_TRY(rb_curve_array_reserve(c->ctx, &c->line_start, 1, sizeof(uint32_t)));
	RB_ALL(c->line_start, uint32_t)[c->line_start.n++] = c->line_points.n;
	RB_TRY(append_point_to_line(c, first % 2 == 0 ? run[first / 2].from : run[first / 2].to));
	for (uint32_t at = first; at != RB_NOTHING && !seen[at / 2];)
	{
		const rb_curve_run *r = &run[at / 2];

		seen[at / 2] = 1;
		for (uint32_t i = 0; i < r->ninner; i++)
			RB_TRY(
				append_point_to_line(c, inner[r->inner + (at % 2 == 0 ? i : r->ninner - 1 - i)]));
		RB_TRY(append_point_to_line(c, at % 2 == 0 ? r->to : r->from));
		at = partner[at ^ 1];
	}
	return RB_OK;
}

/* Joins runs to lines, open ones first and then closed ones. */
static rb_status
join_runs_to_lines(rb_curve *c)
{
	uint8_t *seen;

	RB_TRY(drop_duplicate_runs(c));
	RB_TRY(find_partners_of_run_ends(c));
	c->work[2].n = 0;
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->work[2], (size_t) c->runs.n + 1, sizeof *seen));
	seen = c->work[2].at;
	memset(seen, 0, c->runs.n);
	for (int closed = 0; closed < 2; closed++)
	{
		c->first_closed = c->line_start.n;
		for (uint32_t i = 0; i < 2 * c->runs.n; i++)
		{
			if (!seen[i / 2] && (closed || RB_ALL(c->work[1], uint32_t)[i] == RB_NOTHING))
				RB_TRY(follow_runs_of_line(c, i, seen));
			if (rb_stop_due(c->ctx, i, RB_CURVE_CHECK_INTERVAL))
				return RB_STOPPED;
		}
	}
	return RB_OK;
}

/* A range of vertices in an array */
typedef struct sequence
{
	uint32_t from;
	uint32_t n;
	uint32_t of; /* Number of the line, or of the first ring */
} sequence;

/* ---- input and setup ---- */

void
rb_curve_again(rb_curve *c, const rb_curve_parts *red, const rb_curve_parts *blue)
{
	rb_curve_array *many[] = {&c->pieces,     &c->sides,       &c->vertex, &c->stretches,
							  &c->runs,       &c->inner,       &c->lone,   &c->line_points,
							  &c->line_start, &c->ring_points, &c->rings};

	for (size_t i = 0; i < sizeof many / sizeof *many; i++)
		many[i]->n = 0;
	rb_canonical_ids_clear(&c->points);
	rb_canonical_ids_clear(&c->lines);
	rb_canonical_ids_clear(&c->planes);
	c->points.width = RB_POINT_WIDTH;
	c->lines.width = RB_LINE_WIDTH;
	c->planes.width = RB_PLANE_WIDTH;
	memset(c->count, 0, sizeof c->count);
	c->first_closed = 0;
	c->side[0] = *red;
	c->side[1] = *blue;
}

rb_status
rb_curve_open(rb_context *ctx, const rb_curve_parts *red, const rb_curve_parts *blue,
			  rb_curve **curve)
{
	*curve = NULL;
	RB_TRY(rb_array(ctx, (void **) curve, 1, sizeof **curve));
	memset(*curve, 0, sizeof **curve);
	(*curve)->ctx = ctx;
	(*curve)->env.filters = ctx->filters;
	(*curve)->env.exact = true;
	rb_curve_again(*curve, red, blue);
	return RB_OK;
}

void
rb_curve_close(rb_curve **curve)
{
	rb_curve *c = *curve;
	rb_memory *memory;

	if (c == NULL)
		return;
	memory = c->ctx->memory;
	{
		rb_curve_array *many[] = {&c->pieces,      &c->sides, &c->vertex,      &c->stretches,
								  &c->runs,        &c->inner, &c->lone,        &c->mark,
								  &c->line_points, &c->rings, &c->ring_points, &c->line_start};

		for (size_t i = 0; i < sizeof many / sizeof *many; i++)
			rb_free(memory, &many[i]->at);
	}
	for (size_t i = 0; i < sizeof c->work / sizeof *c->work; i++)
		rb_free(memory, &c->work[i].at);
	for (size_t i = 0; i < sizeof c->out / sizeof *c->out; i++)
		rb_free(memory, &c->out[i].at);
	rb_canonical_ids_free(memory, &c->points);
	rb_canonical_ids_free(memory, &c->lines);
	rb_canonical_ids_free(memory, &c->planes);
	rb_boxes_free(memory, &c->boxes);
	RB_FREE(memory, *curve);
}

rb_status
rb_curve_add(rb_curve *c, uint32_t red, uint32_t blue)
{
	rb_status status = rb_should_stop(c->ctx) ? RB_STOPPED : rb_curve_piece_build(c, red, blue);

	return status == RB_STOPPED ? rb_why_stopped(c->ctx) : status;
}

/* ---- order ---- */

/*
 * Orders the points of an intersection by coordinates, to number them independently of the input's
 * order.
 */
static int
by_coordinates_in_shape(const void *a, const void *b, const void *arg)
{
	const rb_curve *c = arg;
	const double *p = rb_point_at(c, *(const uint32_t *) a);
	const double *q = rb_point_at(c, *(const uint32_t *) b);

	for (int k = 0; k < 3; k++)
		if (p[k] != q[k])
			return p[k] < q[k] ? -1 : 1;
	return 0;
}

/* Compares two sequences of points lexicographically by their numbers, and a prefix as less. */
static int
compare_point_sequences(const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m)
{
	for (uint32_t i = 0; i < n && i < m; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return (n > m) - (n < m);
}

/* Orders sequences by the numbers of their points. */
static int
by_sequence_of_points(const void *a, const void *b, const void *arg)
{
	const sequence *x = a, *y = b;
	const uint32_t *number = arg;
	const int order = compare_point_sequences(number + x->from, x->n, number + y->from, y->n);

	return order != 0 ? order : (x->of > y->of) - (x->of < y->of);
}

/*
 * Sorts the points by coordinates into work[0] and their numbers into work[1], and replaces point
 * ids by numbers in points, lines and rings.
 */
static rb_status
number_points_of_shape(rb_curve *c)
{
	const uint32_t n = c->points.rows.n;
	uint32_t *order, *number;
	rb_curve_array *many[] = {&c->lone, &c->line_points, &c->ring_points};

	c->work[0].n = c->work[1].n = 0;
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->work[0], (size_t) n + 1, sizeof *order));
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->work[1], (size_t) n + 1, sizeof *number));
	order = RB_ALL(c->work[0], uint32_t);
	number = RB_ALL(c->work[1], uint32_t);
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	RB_TRY(rb_sort(c->ctx, order, n, sizeof *order, by_coordinates_in_shape, c));
	for (uint32_t i = 0; i < n; i++)
		number[order[i]] = i;
	for (size_t i = 0; i < sizeof many / sizeof *many; i++)
		for (uint32_t k = 0; k < many[i]->n; k++)
			RB_ALL(*many[i], uint32_t)[k] = number[RB_ALL(*many[i], uint32_t)[k]];
	return rb_should_stop(c->ctx) ? RB_STOPPED : RB_OK;
}

/* Reverses a sequence of n point numbers. */
static void
reverse_point_sequence(uint32_t *x, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++)
	{
		const uint32_t swap = x[i];

		x[i] = x[n - 1 - i];
		x[n - 1 - i] = swap;
	}
}

/* Returns element i of a cyclic sequence, counted from `start` forward or backward. */
static uint32_t
element_of_cyclic_sequence(const uint32_t *x, uint32_t n, uint32_t start, bool back, uint32_t i)
{
	return x[back ? (start + n - i) % n : (start + i) % n];
}

/*
 * Rotates a cyclic sequence of n points to its lexicographically smallest form, reversing it if
 * both_ways allows this.
 */
static rb_status
turn_cyclic_sequence(rb_curve *c, uint32_t *x, uint32_t n, bool both_ways)
{
	uint32_t least = RB_NOTHING, best = RB_NOTHING, *copy;
	bool best_back = false;

	c->work[2].n = 0;
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->work[2], n, sizeof *copy));
	copy = RB_ALL(c->work[2], uint32_t);
	for (uint32_t i = 0; i < n; i++)
		least = x[i] < least ? x[i] : least;
	for (uint32_t start = 0; start < n; start++)
		for (int back = 0; x[start] == least && back < 1 + both_ways; back++)
		{
			uint32_t i = 0;

			if (best != RB_NOTHING)
				while (i < n && element_of_cyclic_sequence(x, n, start, back, i) ==
									element_of_cyclic_sequence(x, n, best, best_back, i))
					i++;
			if (best != RB_NOTHING &&
				(i == n || element_of_cyclic_sequence(x, n, start, back, i) >
							   element_of_cyclic_sequence(x, n, best, best_back, i)))
				continue;
			best = start;
			best_back = back;
		}
	for (uint32_t i = 0; i < n; i++)
		copy[i] = element_of_cyclic_sequence(x, n, best, best_back, i);
	memcpy(x, copy, n * sizeof *x);
	return RB_OK;
}

/* ---- output ---- */

/* Appends the coordinates of n points of a sequence to a line or ring of the assembled shape. */
static rb_status
append_coordinates_of_shape(rb_curve *c, rb_curve_array *to, const uint32_t *number, uint32_t n)
{
	const uint32_t *order = RB_ALL(c->work[0], uint32_t);

	RB_TRY(rb_curve_array_reserve(c->ctx, to, n, 3 * sizeof(double)));
	for (uint32_t i = 0; i < n; i++)
		memcpy(RB_ALL(*to, double) + 3 * (size_t) (to->n + i), rb_point_at(c, order[number[i]]),
			   3 * sizeof(double));
	to->n += n;
	return RB_OK;
}

/* Appends a number to one of the shape's arrays: start of a line, a polygon or a ring. */
static rb_status
append_number_to_shape(rb_curve *c, rb_curve_array *to, uint32_t number)
{
	RB_TRY(rb_curve_array_reserve(c->ctx, to, 1, sizeof number));
	RB_ALL(*to, uint32_t)[to->n++] = number;
	return RB_OK;
}

/*
 * Appends n points, from index `from` on, to work[3], the lines or rings to be sorted; `of` is
 * their number.
 */
static rb_status
append_point_sequence(rb_curve *c, uint32_t from, uint32_t n, uint32_t of)
{
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->work[3], 1, sizeof(sequence)));
	RB_ALL(c->work[3], sequence)[c->work[3].n++] = (sequence){from, n, of};
	return RB_OK;
}

/* Writes the isolated points of the shape, which no line or polygon covers, in canonical order. */
static rb_status
write_points_of_shape(rb_curve *c, rb_intersection *shape)
{
	RB_TRY(rb_sort_numbers(c->ctx, RB_ALL(c->lone, uint32_t), c->lone.n));
	RB_TRY(append_coordinates_of_shape(c, &c->out[0], RB_ALL(c->lone, uint32_t), c->lone.n));
	shape->npoints = c->lone.n;
	return RB_OK;
}

/* Writes the lines in their canonical direction and order. */
static rb_status
write_lines_of_shape(rb_curve *c, rb_intersection *shape)
{
	uint32_t n;

	RB_TRY(append_number_to_shape(c, &c->line_start, c->line_points.n));
	n = c->line_start.n - 1;
	c->work[3].n = 0;
	for (uint32_t i = 0; i < n; i++)
	{
		const uint32_t from = RB_ALL(c->line_start, uint32_t)[i];
		const uint32_t m = RB_ALL(c->line_start, uint32_t)[i + 1] - from;
		uint32_t *x = RB_ALL(c->line_points, uint32_t) + from;
		uint32_t k = 0;

		if (i >= c->first_closed)
		{
			RB_TRY(turn_cyclic_sequence(c, x, m - 1, true));
			x[m - 1] = x[0];
		}
		else
		{
			while (k < m / 2 && x[k] == x[m - 1 - k])
				k++;
			if (x[k] > x[m - 1 - k])
				reverse_point_sequence(x, m);
		}
		RB_TRY(append_point_sequence(c, from, m, i));
		if (rb_stop_due(c->ctx, i, 64))
			return RB_STOPPED;
	}
	RB_TRY(rb_sort(c->ctx, c->work[3].at, n, sizeof(sequence), by_sequence_of_points,
				   c->line_points.at));
	for (uint32_t i = 0; i < n; i++)
	{
		const sequence s = RB_ALL(c->work[3], sequence)[i];

		RB_TRY(append_number_to_shape(c, &c->out[1], c->out[2].n));
		RB_TRY(append_coordinates_of_shape(c, &c->out[2], RB_ALL(c->line_points, uint32_t) + s.from,
										   s.n));
	}
	shape->nlines = n;
	return append_number_to_shape(c, &c->out[1], c->out[2].n);
}

/* Appends a closed ring. */
static rb_status
append_ring_of_shape(rb_curve *c, const rb_curve_ring *ring)
{
	const uint32_t *x = RB_ALL(c->ring_points, uint32_t) + ring->from;

	RB_TRY(append_number_to_shape(c, &c->out[4], c->out[5].n));
	RB_TRY(append_coordinates_of_shape(c, &c->out[5], x, ring->n));
	return append_coordinates_of_shape(c, &c->out[5], x, 1);
}

/*
 * Returns the end of the sequence of rings, starting at i, that form one polygon of the assembled
 * shape.
 */
static uint32_t
end_of_rings_of_polygon(const rb_curve *c, uint32_t i)
{
	const rb_curve_ring *ring = RB_ALL(c->rings, rb_curve_ring);
	uint32_t k = i + 1;

	while (k < c->rings.n && ring[k].polygon == ring[i].polygon)
		k++;
	return k;
}

/* Orders the holes of a polygon by the numbers of their points. */
static int
by_ring_of_points(const void *a, const void *b, const void *arg)
{
	const rb_curve_ring *x = a, *y = b;
	const uint32_t *number = arg;

	return compare_point_sequences(number + x->from, x->n, number + y->from, y->n);
}

/* Writes the rings of all polygons, each from its smallest point on. */
static rb_status
write_polygons_of_shape(rb_curve *c, rb_intersection *shape)
{
	rb_curve_ring *ring = RB_ALL(c->rings, rb_curve_ring);

	for (uint32_t i = 0; i < c->rings.n; i++)
	{
		uint32_t *x = RB_ALL(c->ring_points, uint32_t) + ring[i].from;

		if (ring[i].turned)
			reverse_point_sequence(x, ring[i].n);
		RB_TRY(turn_cyclic_sequence(c, x, ring[i].n, false));
		if (rb_stop_due(c->ctx, i, 64))
			return RB_STOPPED;
	}
	c->work[3].n = 0;
	for (uint32_t i = 0, k; i < c->rings.n; i = k)
	{
		k = end_of_rings_of_polygon(c, i);
		RB_TRY(rb_sort(c->ctx, ring + i + 1, k - i - 1, sizeof *ring, by_ring_of_points,
					   c->ring_points.at));
		RB_TRY(append_point_sequence(c, ring[i].from, ring[i].n, i));
	}
	RB_TRY(rb_sort(c->ctx, c->work[3].at, c->work[3].n, sizeof(sequence), by_sequence_of_points,
				   c->ring_points.at));
	shape->npolygons = c->work[3].n;
	for (uint32_t i = 0; i < shape->npolygons; i++)
	{
		const uint32_t first = RB_ALL(c->work[3], sequence)[i].of,
					   end = end_of_rings_of_polygon(c, first);

		RB_TRY(append_number_to_shape(c, &c->out[3], c->out[4].n));
		for (uint32_t k = first; k < end; k++)
			RB_TRY(append_ring_of_shape(c, &ring[k]));
	}
	shape->nrings = c->out[4].n;
	RB_TRY(append_number_to_shape(c, &c->out[3], c->out[4].n));
	return append_number_to_shape(c, &c->out[4], c->out[5].n);
}

/* Assembles the shape from the pieces of all pairs of parts. */
static rb_status
assemble_shape_of_pieces(rb_curve *c, rb_intersection *shape)
{
	if (c->pieces.n > 1 && c->count[1] + c->count[2] > 0)
		RB_TRY(rb_curve_boxes(c));
	RB_TRY(rb_curve_covers(c));
	if (c->count[2] > 1)
		RB_TRY(rb_curve_overlap(c));
	RB_TRY(find_runs_of_lines(c));
	RB_TRY(join_runs_to_lines(c));
	if (c->count[2] > 0)
		RB_TRY(rb_curve_rings(c));
	RB_TRY(number_points_of_shape(c));
	RB_TRY(write_points_of_shape(c, shape));
	RB_TRY(write_lines_of_shape(c, shape));
	return write_polygons_of_shape(c, shape);
}

rb_status
rb_curve_finish(rb_curve *c, rb_intersection *shape)
{
	rb_status status;

	memset(shape, 0, sizeof *shape);
	for (size_t i = 0; i < sizeof c->out / sizeof *c->out; i++)
		c->out[i].n = 0;
	status = assemble_shape_of_pieces(c, shape);
	shape->points = RB_ALL(c->out[0], double);
	shape->line = RB_ALL(c->out[1], uint32_t);
	shape->line_corners = RB_ALL(c->out[2], double);
	shape->polygon = RB_ALL(c->out[3], uint32_t);
	shape->ring = RB_ALL(c->out[4], uint32_t);
	shape->ring_corners = RB_ALL(c->out[5], double);
	/* rb_should_stop also returns true after a failure, so RB_STOPPED may hide one. */
	return status == RB_STOPPED ? rb_why_stopped(c->ctx) : status;
}

/* ---- pairs of parts with overlapping boxes ---- */

/*
 * Finds the pairs of parts of two geometries whose bounding boxes overlap, for callers without a
 * join that has found them.
 */

/* Computes the box of part i, with zeros for the axes that its kind does not have. */
static void
box_of_shape_part(const rb_curve_parts *of, uint32_t i, double *box)
{
	const int points = rb_kind_points(of->kind), dims = rb_kind_dims(of->kind);
	const double *x = of->coords + (size_t) i * (size_t) rb_kind_width(of->kind);

	for (int k = 0; k < 3; k++)
	{
		box[k] = box[3 + k] = k < dims ? x[k] : 0;
		for (int p = 1; p < points && k < dims; p++)
		{
			box[k] = fmin(box[k], x[p * dims + k]);
			box[3 + k] = fmax(box[3 + k], x[p * dims + k]);
		}
	}
}

typedef struct pairing
{
	rb_curve *c;
	uint32_t red;
} pairing;

/*
 * Adds the intersection of a red part and a blue part whose boxes overlap to the shape; called by
 * the search in the box tree.
 */
static rb_status
add_pair_to_shape(void *user, uint32_t blue)
{
	pairing *p = user;

	return rb_curve_add(p->c, p->red, blue);
}

rb_status
rb_curve_add_all(rb_curve *c)
{
	pairing p = {.c = c};
	rb_status status = rb_boxes_room(c->ctx, &c->boxes, c->side[1].n);
	double box[6];

	for (uint32_t i = 0; i < c->side[1].n && status == RB_OK; i++)
		box_of_shape_part(&c->side[1], i, c->boxes.box + 6 * (size_t) i);
	if (status == RB_OK)
		status = rb_boxes_order(c->ctx, &c->boxes);
	for (; p.red < c->side[0].n && status == RB_OK; p.red++)
	{
		box_of_shape_part(&c->side[0], p.red, box);
		status = rb_boxes_find(&c->boxes, box, add_pair_to_shape, &p);
		if (rb_stop_due(c->ctx, p.red, 64))
			status = RB_STOPPED;
	}
	return status == RB_STOPPED ? rb_why_stopped(c->ctx) : status;
}
