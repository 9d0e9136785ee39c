/*
 * line_intervals.c
 *	  Finds the intervals of a line that are inside a solid or on its boundary.
 *
 *		  a'                                   b'
 *		 a |---out--->x---in---[==on==]---out---| b
 *
 * The crossings and overlaps are sorted in the order of the line. The walk starts on the side of
 * the perturbed start, and each crossing changes the side. Where the line does not touch the
 * boundary, it is on the same side as the perturbed line. Where it lies on a triangle, the
 * perturbed line may be on either side, and its side is not used. A location with the same side
 * before and after it is a mere touch.
 */
#include "core/base/sort.h"
#include "core/solid/solid.h"
#include "core/primitive/ray.h"

typedef enum event_kind
{
	CROSSES,
	BEGINS, /* The line starts to lie on a triangle */
	ENDS
} event_kind;

typedef struct event
{
	rb_location place;
	event_kind kind;
} event;

typedef enum state
{
	OUTSIDE,
	INSIDE,
	ON_BOUNDARY
} state;

/* State of a walk along the line */
typedef struct walk
{
	rb_context *ctx;
	const rb_line *line;
	rb_line_intervals *out;
	rb_exact_env env;
	uint32_t at;       /* Current segment */
	uint32_t measured; /* Number of segments of nonzero length */
	rb_number total;   /* Length of the whole line, and up to the current segment */
	rb_number before;
	bool inside;
	/* The current interval */
	state state;
	double from;
	/* Length so far, if the line has several segments; otherwise `begin` and `end` determine it */
	rb_number length;
	rb_location begin;
	rb_location end;
} walk;

static int
in_order(const void *p, const void *q, const void *arg)
{
	(void) arg;
	return rb_location_compare(&((const event *) p)->place, &((const event *) q)->place);
}

static const double *
segment_at(const walk *w, uint32_t i)
{
	return w->line->segments + 6 * (size_t) i;
}

static void
load_length(rb_number *to, const rb_length *from)
{
	to->sign = from->n > 0;
	to->n = from->n;
	to->low = from->low;
	memcpy(to->word, from->word, (size_t) from->n * sizeof from->word[0]);
}

static void
save_length(rb_length *to, const rb_number *from)
{
	to->n = from->n;
	to->low = from->low;
	memcpy(to->word, from->word, (size_t) from->n * sizeof from->word[0]);
}

/*
 * A line with one segment of nonzero length needs no lengths: its fractions are segment parameters.
 */
rb_status
rb_line_measure(rb_context *ctx, const double *segments, uint32_t n, rb_line_intervals *out)
{
	rb_number sum = {.sign = 0};
	rb_status status;

	out->measured = 0;
	for (uint32_t i = 0; i < n; i++)
		out->measured += !rb_equal3(segments + 6 * (size_t) i, segments + 6 * (size_t) i + 3);
	if (out->measured <= 1)
		return RB_OK;
	if (out->before_cap < (size_t) n + 1)
	{
		status = RB_ALLOCATE(ctx, out->before, (size_t) n + 1);
		if (status != RB_OK)
			return status;
		out->before_cap = (size_t) n + 1;
	}
	for (uint32_t i = 0; i < n; i++)
	{
		rb_number length;

		if (i % 1024 == 1023 && rb_should_stop(ctx))
			return RB_STOPPED;
		save_length(&out->before[i], &sum);
		rb_segment_length(&length, segments + 6 * (size_t) i, RB_MEASURE_WORDS);
		rb_number_add(&sum, &sum, &length);
		rb_number_truncate(&sum, RB_MEASURE_WORDS);
	}
	save_length(&out->before[n], &sum);
	return RB_OK;
}

rb_status
rb_measured_fraction(rb_context *ctx, const double *segments, uint32_t n, uint32_t i,
					 const rb_location *place, const rb_line_intervals *measured, double *fraction)
{
	rb_number before, total;

	*fraction = place->t;
	if (measured->measured == 1)
		return RB_OK;
	load_length(&before, &measured->before[i]);
	load_length(&total, &measured->before[n]);
	return rb_line_fraction(ctx, segments, n, i, place, &before, &total, fraction);
}

static rb_status
fraction_at(walk *w, const rb_location *place, double *fraction)
{
	if (w->measured == 1)
	{
		*fraction = place->t;
		return RB_OK;
	}
	return rb_line_fraction(w->ctx, w->line->segments, w->line->nsegments, w->at, place, &w->before,
							&w->total, fraction);
}

/* Appends the current interval, which ends at the given fraction. */
static rb_status
append_interval(walk *w, double to)
{
	rb_line_intervals *out = w->out;

	if (out->n == out->cap)
	{
		size_t cap = out->cap == 0 ? 16 : 2 * out->cap;
		rb_status status = RB_ALLOCATE(w->ctx, out->at, cap);

		if (status != RB_OK)
			return status;
		out->cap = cap;
	}
	out->at[out->n++] = (rb_line_interval){
		w->from, to,
		w->measured == 1 ? rb_locations_distance(&w->begin, &w->end) : rb_number_round(&w->length),
		w->state == ON_BOUNDARY};
	return RB_OK;
}

/* Ends the current interval at this location, and starts another one with the given state. */
static rb_status
change_state(walk *w, const rb_location *place, state next)
{
	double here;
	rb_status status;

	status = fraction_at(w, place, &here);
	if (status == RB_OK && w->state != OUTSIDE)
		status = append_interval(w, here);
	w->state = next;
	w->from = here;
	w->begin = *place;
	w->length.sign = w->length.n = w->length.low = 0;
	return status;
}

/*
 * Extends the current interval, or starts a new one, for a section of the current segment with the
 * given state.
 */
static rb_status
extend_interval(walk *w, const rb_location *from, const rb_location *to, state now)
{
	rb_status status = RB_OK;

	if (now != w->state)
		status = change_state(w, from, now);
	w->end = *to;
	if (status == RB_OK && now != OUTSIDE && w->measured > 1)
	{
		rb_number length;

		rb_locations_length(&length, from, to, RB_MEASURE_WORDS);
		rb_number_add(&w->length, &w->length, &length);
		rb_number_truncate(&w->length, RB_MEASURE_WORDS);
	}
	return status;
}

/* Walks along the current segment, given its sorted crossings and overlaps. */
static rb_status
walk_segment(walk *w, const event *events, size_t n)
{
	const double *segment = segment_at(w, w->at);
	rb_location last = rb_location_start(segment), end = rb_location_end(segment);
	long overlaps = 0;
	rb_status status = RB_OK;

	for (size_t i = 0; i <= n && status == RB_OK; i++)
	{
		const rb_location *here = i < n ? &events[i].place : &end;

		if (rb_location_compare(&last, here) < 0)
		{
			const state now = overlaps > 0 ? ON_BOUNDARY : w->inside ? INSIDE : OUTSIDE;

			w->out->leaves |= now == OUTSIDE;
			status = extend_interval(w, &last, here, now);
			last = *here;
		}
		if (i == n)
			break;
		if (events[i].kind == CROSSES)
			w->inside = !w->inside;
		else
			overlaps += events[i].kind == BEGINS ? 1 : -1;
	}
	return status;
}

/* Collects the crossings and overlaps of the current segment with the given triangles. */
static rb_status
collect_events(walk *w, const rb_pair *meet, size_t n, size_t *found)
{
	rb_line_intervals *out = w->out;
	event *events = out->work;

	*found = 0;
	for (size_t i = 0; i < n; i++)
	{
		rb_location place[2];
		rb_line_crossing crossing;

		if (i % 1024 == 1023 && rb_should_stop(w->ctx))
			return RB_STOPPED;
		if (*found + 2 > out->work_cap)
		{
			size_t cap = out->work_cap == 0 ? 32 : 2 * out->work_cap;
			rb_status status = rb_array(w->ctx, &out->work, cap, sizeof *events);

			if (status != RB_OK)
				return status;
			out->work_cap = cap;
			events = out->work;
		}
		crossing = rb_segment_crosses(&w->env, segment_at(w, w->at),
									  w->line->triangles + 9 * (size_t) meet[i].blue, place);
		if (crossing == RB_CROSSES)
			events[(*found)++] = (event){place[0], CROSSES};
		else if (crossing == RB_OVERLAPS)
		{
			events[(*found)++] = (event){place[0], BEGINS};
			events[(*found)++] = (event){place[1], ENDS};
		}
	}
	return rb_sort(w->ctx, events, *found, sizeof *events, in_order, NULL);
}

/* Handles a line that is a single point. */
static rb_status
walk_point(walk *w)
{
	const rb_line *line = w->line;
	bool on = false;

	/* The last segment that is not connected to its predecessor determines the state at the end. */
	for (uint32_t i = 0; i < line->nsegments; i++)
		if (i == 0 || !rb_equal3(segment_at(w, i) - 3, segment_at(w, i)))
			w->out->inside_at_end = line->inside[i] != 0;
	for (size_t i = 0; i < line->nmeet && !on; i++)
	{
		int answer = rb_ray_crossing(&w->env, line->segments,
									 line->triangles + 9 * (size_t) line->meet[i].blue);

		on = answer != 0 && (RB_PAYLOAD(answer) & 2) != 0;
	}
	if (!on && !line->inside[0])
		return RB_OK;
	w->state = on ? ON_BOUNDARY : INSIDE;
	return append_interval(w, 1);
}

/*
 * Returns the first segment from i on that meets a triangle or whose start may be inside, or
 * nsegments.
 */
static uint32_t
next_of_interest(const rb_line *line, uint32_t i, size_t meet)
{
	const uint32_t end = meet < line->nmeet ? line->meet[meet].red : line->nsegments;
	const uint8_t *start = memchr(line->inside + i, 1, end - i);

	return start != NULL ? (uint32_t) (start - line->inside) : end;
}

rb_status
rb_solid_intervals(rb_context *ctx, const rb_line *line, rb_line_intervals *out)
{
	walk w = {.ctx = ctx, .line = line, .out = out, .state = OUTSIDE};
	const double *last = NULL;
	rb_status status = RB_OK;
	bool jumped = false;
	size_t meet = 0;

	w.env = (rb_exact_env){.filters = RB_FILTER_ALL, .exact = true};
	out->n = 0;
	out->leaves = false;
	w.measured = out->measured;
	if (w.measured == 0)
		return walk_point(&w);
	if (w.measured > 1)
		load_length(&w.total, &out->before[line->nsegments]);
	for (uint32_t i = 0; i < line->nsegments && status == RB_OK; i++)
	{
		const double *segment;
		size_t n = 0, found;

		/* Skip ahead while outside: a long line may meet many solids, each only briefly. */
		if (!w.inside && w.state == OUTSIDE)
		{
			const uint32_t next = next_of_interest(line, i, meet);

			out->leaves |= next > i;
			i = next;
			if (i == line->nsegments)
				break;
			last = i > 0 ? segment_at(&w, i - 1) : NULL;
		}
		segment = segment_at(&w, i);
		if (i % 1024 == 1023 && rb_should_stop(ctx))
			return RB_STOPPED;
		while (meet + n < line->nmeet && line->meet[meet + n].red == i)
			n++;
		w.at = i;
		if (last == NULL || !rb_equal3(last + 3, segment))
		{
			w.inside = line->inside[i] != 0;
			jumped = last != NULL;
		}
		last = segment;
		if (!rb_equal3(segment, segment + 3))
		{
			rb_location start = rb_location_start(segment);

			if (w.measured > 1)
				load_length(&w.before, &out->before[i]);
			/* Start a new interval after a gap in the line. */
			if (jumped && w.state != OUTSIDE)
				status = change_state(&w, &start, OUTSIDE);
			jumped = false;
			if (status == RB_OK)
				status = collect_events(&w, line->meet + meet, n, &found);
			if (status == RB_OK)
				status = walk_segment(&w, out->work, found);
		}
		meet += n;
	}
	if (status == RB_OK && w.state != OUTSIDE)
		status = append_interval(&w, 1);
	out->inside_at_end = w.inside;
	return status;
}

void
rb_line_intervals_free(rb_memory *memory, rb_line_intervals *s)
{
	RB_FREE(memory, s->at);
	rb_free(memory, &s->work);
	RB_FREE(memory, s->before);
	s->n = s->cap = s->work_cap = s->before_cap = 0;
}
