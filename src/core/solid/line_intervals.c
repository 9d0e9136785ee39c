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

/* ---- crossings of a segment and a triangle ---- */

/*
 * Determines whether a segment crosses a triangle, lies on part of it, or does neither.
 *
 * Both ends of the segment ab are perturbed by v = (e, e^2, e^3) with an infinitesimal e
 * (ray.h). The side of a perturbed end a' relative to the plane of the triangle, with normal n
 * and a point c, is the sign of
 *
 *		n . (a' - c) = n . (a - c) + n . v.
 *
 * If the first term is zero, the first nonzero component of n decides. A segment parallel to the
 * plane has the same sign at both ends, and does not cross it. The perturbed line relative to an
 * edge cd, with u = b - a, has the sign of
 *
 *		det(u, c - a', d - a') = det(u, c - a, d - a) + (u x (d - c)) . v.
 *
 * Nothing else depends on v, since both ends move alike. If the first term is zero, the first
 * nonzero component of u x (d - c) decides. Such a component exists, because otherwise the segment
 * would be parallel to the edge and therefore to the plane. All these signs change when the edge is
 * traversed in the opposite direction. So a line crosses exactly one of the two triangles on
 * opposite sides of an edge, and either both or neither of two triangles that form a fold.
 *
 * The location of a crossing is that of the unperturbed line (line_parameter.c), which is the limit
 * for e -> 0. Several crossings can have the same location. Their order does not matter, because
 * only their number affects the side of the line after that location.
 */

/*
 * Returns the sign of one component of (b - a) x (d - c), which decides on which side of edge cd a
 * perturbed line ab passes if they meet.
 */
static int
sign_of_cross_component(const double *a, const double *b, const double *c, const double *d,
						int axis)
{
	int u = (axis + 1) % 3, v = (axis + 2) % 3;
	rb_number p[2], q[2], det;
	int sign = rb_interval_sign(
		rb_interval_det2(rb_interval_difference(b[u], a[u]), rb_interval_difference(b[v], a[v]),
						 rb_interval_difference(d[u], c[u]), rb_interval_difference(d[v], c[v])));

	if (sign != RB_UNSURE)
		return sign;
	rb_number_difference(&p[0], b[u], a[u]);
	rb_number_difference(&p[1], b[v], a[v]);
	rb_number_difference(&q[0], d[u], c[u]);
	rb_number_difference(&q[1], d[v], c[v]);
	rb_number_det2(&det, &p[0], &p[1], &q[0], &q[1]);
	return det.sign;
}

/*
 * Returns the orientation of the perturbed line through a and b of the walk relative to an edge cd
 * of a triangle, by which the walk decides whether it crosses the triangle.
 */
static int
sign_of_perturbed_line(rb_exact_env *env, const double *a, const double *b, const double *c,
					   const double *d)
{
	int sign = rb_orient3d_at(env, a, b, c, d);

	for (int axis = 0; axis < 3 && sign == 0; axis++)
		sign = sign_of_cross_component(a, b, c, d, axis);
	return sign;
}

/*
 * Clips the segment to a triangle in the same plane, using the half-planes of the triangle's edges.
 * Returns false if the intersection is empty or a single point; in the latter case both locations
 * are that point.
 */
static bool
clip_segment_to_triangle(rb_exact_env *env, const double *segment, const double *t, int axis,
						 rb_location place[2])
{
	double q[6], ab[4];
	int turn;

	rb_project(t, 3, axis, q);
	rb_project(segment, 2, axis, ab);
	turn = rb_orient2d_points(env, q, q + 2, q + 4);
	place[0] = rb_location_start(segment);
	place[1] = rb_location_end(segment);
	for (int e = 0; e < 3; e++)
	{
		const double *c = q + 2 * e, *d = q + 2 * ((e + 1) % 3);
		int at = turn * rb_orient2d_points(env, c, d, ab);
		int bt = turn * rb_orient2d_points(env, c, d, ab + 2);
		rb_location cut = {.segment = segment, .triangle = t, .of = RB_PLACE_EDGE};

		if (at < 0 && bt < 0)
			return false;
		if (at >= 0 && bt >= 0)
			continue;
		cut.axis = (uint8_t) axis;
		cut.corner = (uint8_t) e;
		if (at == 0)
			cut = rb_location_start(segment);
		else if (bt == 0)
			cut = rb_location_end(segment);
		else
			rb_location_find(&cut);
		if (at < 0 && rb_location_compare(&cut, &place[0]) > 0)
			place[0] = cut;
		if (bt < 0 && rb_location_compare(&cut, &place[1]) < 0)
			place[1] = cut;
	}
	return rb_location_compare(&place[0], &place[1]) < 0;
}

/* Returns true if all vertices of a triangle that the line meets are on the line of its segment. */
static bool
is_triangle_on_segment_line(rb_exact_env *env, const double *segment, const double *t)
{
	for (int i = 0; i < 3; i++)
		if (rb_projection_axis(env, segment, segment + 3, t + 3 * i) != -1)
			return false;
	return true;
}

/*
 * Clips a segment of the line to a triangle without area whose vertices are all on the segment's
 * line.
 */
static bool
clip_segment_to_flat_triangle(const double *segment, const double *t, rb_location place[2])
{
	const double *a = segment, *b = segment + 3;
	int axis = 0;

	while (a[axis] == b[axis])
		axis++;
	/* Clip to the range between the first and the last vertex along the segment's direction. */
	for (int end = 0; end < 2; end++)
	{
		bool largest = (a[axis] < b[axis]) == (end == 1);
		int corner = 0;
		double x;

		for (int i = 1; i < 3; i++)
			if (largest ? t[3 * i + axis] > t[3 * corner + axis]
						: t[3 * i + axis] < t[3 * corner + axis])
				corner = i;
		x = t[3 * corner + axis];
		if (a[axis] < b[axis] ? x <= a[axis] : x >= a[axis])
			place[end] = rb_location_start(segment);
		else if (a[axis] < b[axis] ? x >= b[axis] : x <= b[axis])
			place[end] = rb_location_end(segment);
		else
		{
			rb_location p = {.segment = segment, .triangle = t, .of = RB_PLACE_CORNER};

			p.axis = (uint8_t) axis;
			p.corner = (uint8_t) corner;
			place[end] = p;
			rb_location_find(&place[end]);
		}
	}
	return rb_location_compare(&place[0], &place[1]) < 0;
}

/* Returns where a segment whose ends have these signs against a triangle's plane crosses it. */
static rb_location
location_of_plane_crossing(const double *segment, const double *t, int sa, int sb)
{
	rb_location p = {.segment = segment, .triangle = t, .of = RB_PLACE_PLANE};

	if (sa == 0)
		return rb_location_start(segment);
	if (sb == 0)
		return rb_location_end(segment);
	rb_location_find(&p);
	return p;
}

rb_line_crossing
rb_segment_crosses(rb_exact_env *env, const double *segment, const double *triangle,
				   rb_location place[2])
{
	const double *a = segment, *b = segment + 3, *t = triangle;
	int sa = rb_orient3d_at(env, t, t + 3, t + 6, a);
	int sb = rb_orient3d_at(env, t, t + 3, t + 6, b);
	int side = 0, tie;

	if (sa * sb > 0)
		return RB_CROSSES_NOT;
	if (sa == 0 && sb == 0)
	{
		int axis = rb_projection_axis(env, t, t + 3, t + 6);
		bool overlaps = axis >= 0 ? clip_segment_to_triangle(env, segment, t, axis, place)
								  : is_triangle_on_segment_line(env, segment, t) &&
										clip_segment_to_flat_triangle(segment, t, place);

		return overlaps ? RB_OVERLAPS : RB_CROSSES_NOT;
	}
	if (sa == 0 || sb == 0)
	{
		tie = rb_normal_tie(env, t);
		if (sa + sb == tie)
			return RB_CROSSES_NOT;
	}
	for (int e = 0; e < 3; e++)
	{
		int s = sign_of_perturbed_line(env, a, b, t + 3 * e, t + 3 * ((e + 1) % 3));

		if (s * side < 0)
			return RB_CROSSES_NOT;
		side = s;
	}
	place[0] = location_of_plane_crossing(segment, t, sa, sb);
	return RB_CROSSES;
}

/* Returns where the segment meets a triangle without area that is not on the segment's line. */
static rb_location
location_on_needle(rb_exact_env *env, const double *segment, const double *t)
{
	rb_location p = {.segment = segment, .triangle = t, .of = RB_PLACE_EDGE};
	int axis;

	while (rb_equal3(t + 3 * p.corner, t + 3 * ((p.corner + 1) % 3)))
		p.corner++;
	axis = rb_projection_axis(env, segment, segment + 3, t + 3 * p.corner);
	if (axis < 0)
		axis = rb_projection_axis(env, segment, segment + 3, t + 3 * ((p.corner + 1) % 3));
	p.axis = (uint8_t) axis;
	rb_location_find(&p);
	return p;
}

void
rb_segment_meets(rb_exact_env *env, const double *segment, const double *triangle,
				 rb_location place[2])
{
	const double *t = triangle;
	const int sa = rb_orient3d_at(env, t, t + 3, t + 6, segment);
	const int sb = rb_orient3d_at(env, t, t + 3, t + 6, segment + 3);
	int axis;

	if (sa == 0 && sb == 0)
	{
		axis = rb_projection_axis(env, t, t + 3, t + 6);
		if (axis >= 0)
			(void) clip_segment_to_triangle(env, segment, t, axis, place);
		else if (is_triangle_on_segment_line(env, segment, t))
			(void) clip_segment_to_flat_triangle(segment, t, place);
		else
			place[0] = place[1] = location_on_needle(env, segment, t);
		return;
	}
	place[0] = place[1] = location_of_plane_crossing(segment, t, sa, sb);
}

/* ---- intervals ---- */

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

/* Orders the crossings of one segment with a solid's triangles by their exact locations on it. */
static int
by_event_location(const void *p, const void *q, const void *arg)
{
	(void) arg;
	return rb_location_compare(&((const event *) p)->place, &((const event *) q)->place);
}

/* Returns the two ends of segment i of the line that is intersected with a solid. */
static const double *
segment_of_walk(const walk *w, uint32_t i)
{
	return w->line->segments + 6 * (size_t) i;
}

/* Converts the stored length of the line up to a segment back to an exact number. */
static void
load_length_before_segment(rb_number *to, const rb_length *from)
{
	to->sign = from->n > 0;
	to->n = from->n;
	to->low = from->low;
	memcpy(to->word, from->word, (size_t) from->n * sizeof from->word[0]);
}

/*
 * Stores the exact length of the line up to a segment; its sign is not stored, as lengths are not
 * negative.
 */
static void
save_length_before_segment(rb_length *to, const rb_number *from)
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

	out->measured = 0;
	for (uint32_t i = 0; i < n; i++)
		out->measured += !rb_equal3(segments + 6 * (size_t) i, segments + 6 * (size_t) i + 3);
	if (out->measured <= 1)
		return RB_OK;
	if (out->before_cap < (size_t) n + 1)
	{
		RB_TRY(RB_ALLOCATE(ctx, out->before, (size_t) n + 1));
		out->before_cap = (size_t) n + 1;
	}
	for (uint32_t i = 0; i < n; i++)
	{
		rb_number length;

		if (rb_stop_due(ctx, i, 1024))
			return RB_STOPPED;
		save_length_before_segment(&out->before[i], &sum);
		rb_segment_length(&length, segments + 6 * (size_t) i, RB_MEASURE_WORDS);
		rb_number_add(&sum, &sum, &length);
		rb_number_truncate(&sum, RB_MEASURE_WORDS);
	}
	save_length_before_segment(&out->before[n], &sum);
	return RB_OK;
}

rb_status
rb_line_fraction_at(rb_context *ctx, const double *segments, uint32_t n, uint32_t i,
					const rb_location *place, const rb_line_intervals *measured, double *fraction)
{
	rb_number before, total;

	*fraction = place->t;
	if (measured->measured == 1)
		return RB_OK;
	load_length_before_segment(&before, &measured->before[i]);
	load_length_before_segment(&total, &measured->before[n]);
	return rb_line_fraction(ctx, segments, n, i, place, &before, &total, fraction);
}

/*
 * Computes the fraction of the line at a location of the walk, where an interval inside the solid
 * begins or ends.
 */
static rb_status
fraction_at_interval_end(walk *w, const rb_location *place, double *fraction)
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
append_current_interval(walk *w, double to)
{
	rb_line_intervals *out = w->out;

	RB_TRY(RB_GROW(w->ctx, out->at, out->cap, out->n + 1));
	out->at[out->n++] = (rb_line_interval){
		w->from, to,
		w->measured == 1 ? rb_locations_distance(&w->begin, &w->end) : rb_number_round(&w->length),
		w->state == ON_BOUNDARY};
	return RB_OK;
}

/* Ends the current interval at this location, and starts another one with the given state. */
static rb_status
change_interval_state(walk *w, const rb_location *place, state next)
{
	double here;

	RB_TRY(fraction_at_interval_end(w, place, &here));
	if (w->state != OUTSIDE)
		RB_TRY(append_current_interval(w, here));
	w->state = next;
	w->from = here;
	w->begin = *place;
	w->length.sign = w->length.n = w->length.low = 0;
	return RB_OK;
}

/*
 * Extends the current interval, or starts a new one, for a section of the current segment with the
 * given state.
 */
static rb_status
extend_line_interval(walk *w, const rb_location *from, const rb_location *to, state now)
{
	rb_status status = RB_OK;

	if (now != w->state)
		status = change_interval_state(w, from, now);
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
walk_current_segment(walk *w, const event *events, size_t n)
{
	const double *segment = segment_of_walk(w, w->at);
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
			status = extend_line_interval(w, &last, here, now);
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
collect_segment_events(walk *w, const rb_pair *meet, size_t n, size_t *found)
{
	rb_line_intervals *out = w->out;
	event *events = out->work;

	*found = 0;
	for (size_t i = 0; i < n; i++)
	{
		rb_location place[2];
		rb_line_crossing crossing;

		if (rb_stop_due(w->ctx, i, 1024))
			return RB_STOPPED;
		RB_TRY(rb_array_grow(w->ctx, &out->work, &out->work_cap, *found + 2, sizeof *events));
		events = out->work;
		crossing = rb_segment_crosses(&w->env, segment_of_walk(w, w->at),
									  w->line->triangles + 9 * (size_t) meet[i].blue, place);
		if (crossing == RB_CROSSES)
			events[(*found)++] = (event){place[0], CROSSES};
		else if (crossing == RB_OVERLAPS)
		{
			events[(*found)++] = (event){place[0], BEGINS};
			events[(*found)++] = (event){place[1], ENDS};
		}
	}
	return rb_sort(w->ctx, events, *found, sizeof *events, by_event_location, NULL);
}

/* Handles a line that is a single point. */
static rb_status
walk_line_of_one_point(walk *w)
{
	const rb_line *line = w->line;
	bool on = false;

	/* The last segment that is not connected to its predecessor determines the state at the end. */
	for (uint32_t i = 0; i < line->nsegments; i++)
		if (i == 0 || !rb_equal3(segment_of_walk(w, i) - 3, segment_of_walk(w, i)))
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
	return append_current_interval(w, 1);
}

/*
 * Returns the first segment from i on that meets a triangle or whose start may be inside, or
 * nsegments.
 */
static uint32_t
next_segment_to_walk(const rb_line *line, uint32_t i, size_t meet)
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
		return walk_line_of_one_point(&w);
	if (w.measured > 1)
		load_length_before_segment(&w.total, &out->before[line->nsegments]);
	for (uint32_t i = 0; i < line->nsegments && status == RB_OK; i++)
	{
		const double *segment;
		size_t n = 0, found;

		/* Skip ahead while outside: a long line may meet many solids, each only briefly. */
		if (!w.inside && w.state == OUTSIDE)
		{
			const uint32_t next = next_segment_to_walk(line, i, meet);

			out->leaves |= next > i;
			i = next;
			if (i == line->nsegments)
				break;
			last = i > 0 ? segment_of_walk(&w, i - 1) : NULL;
		}
		segment = segment_of_walk(&w, i);
		if (rb_stop_due(ctx, i, 1024))
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
				load_length_before_segment(&w.before, &out->before[i]);
			/* Start a new interval after a gap in the line. */
			if (jumped && w.state != OUTSIDE)
				status = change_interval_state(&w, &start, OUTSIDE);
			jumped = false;
			if (status == RB_OK)
				status = collect_segment_events(&w, line->meet + meet, n, &found);
			if (status == RB_OK)
				status = walk_current_segment(&w, out->work, found);
		}
		meet += n;
	}
	if (status == RB_OK && w.state != OUTSIDE)
		status = append_current_interval(&w, 1);
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

/* ---- spans on triangles ---- */

/*
 * Finds all spans of a line that lie on a set of triangles.
 *
 * For each pair of a segment and a triangle that meet, the exact first and last location of their
 * intersection are known. The spans between these locations are sorted by their first
 * location, and spans that share a location are merged. The ends of the merged spans are rounded
 * once.
 */

typedef struct line_point
{
	uint32_t segment;
	rb_location place;
} line_point;

/* Returns true if location a comes before b along the whole line: by segment, then within it. */
static bool
is_line_point_before(const line_point *a, const line_point *b)
{
	if (a->segment != b->segment)
		return a->segment < b->segment;
	return rb_location_compare(&a->place, &b->place) < 0;
}

/* Returns true if segment i of the line has zero length. */
static bool
is_segment_a_point(const double *segments, uint32_t i)
{
	return rb_equal3(segments + 6 * (size_t) i, segments + 6 * (size_t) i + 3);
}

/*
 * Assigns a segment of zero length to the end of the segment before it, or to the start of the next
 * one.
 */
static line_point
point_of_zero_segment(const double *segments, uint32_t n, uint32_t i)
{
	uint32_t k = i;

	while (k > 0 && is_segment_a_point(segments, k))
		k--;
	if (!is_segment_a_point(segments, k))
		return (line_point){k, rb_location_end(segments + 6 * (size_t) k)};
	while (k < n - 1 && is_segment_a_point(segments, k))
		k++;
	return (line_point){k, rb_location_start(segments + 6 * (size_t) k)};
}

/* The intersection of one pair of parts, as a range of locations on the line */
typedef struct span
{
	line_point begin;
	line_point end;
} span;

/* Orders spans by where they begin on the line. */
static int
by_span_begin(const void *a, const void *b, const void *arg)
{
	const span *spans = arg;
	const span *p = spans + *(const uint32_t *) a, *q = spans + *(const uint32_t *) b;

	return is_line_point_before(&p->begin, &q->begin) ? -1
													  : is_line_point_before(&q->begin, &p->begin);
}

/*
 * Returns true if segment j starts where segment i < j ends, with only zero-length segments between
 * them.
 */
static bool
are_segments_contiguous(const double *segments, uint32_t i, uint32_t j)
{
	uint32_t k = i + 1;

	while (k < j && is_segment_a_point(segments, k) &&
		   rb_equal3(segments + 6 * (size_t) i + 3, segments + 6 * (size_t) k))
		k++;
	return k == j && rb_equal3(segments + 6 * (size_t) i + 3, segments + 6 * (size_t) j);
}

/*
 * Returns true if a span that begins at q overlaps or continues a span that ends at p. The span at
 * q does not begin before the other one.
 */
static bool
do_spans_join(const double *segments, const line_point *p, const line_point *q)
{
	rb_location end, start;

	if (p->segment >= q->segment)
		return !is_line_point_before(p, q);
	end = rb_location_end(segments + 6 * (size_t) p->segment);
	start = rb_location_start(segments + 6 * (size_t) q->segment);
	return rb_location_compare(&p->place, &end) == 0 &&
		   rb_location_compare(&q->place, &start) == 0 &&
		   are_segments_contiguous(segments, p->segment, q->segment);
}

/* Returns the span of a line on a triangle. */
static span
span_of_line_on_triangle(rb_exact_env *env, const double *segments, uint32_t n,
						 const double *triangles, const rb_pair *pair)
{
	const double *segment = segments + 6 * (size_t) pair->red;
	rb_location place[2];
	line_point point;

	if (is_segment_a_point(segments, pair->red))
	{
		point = point_of_zero_segment(segments, n, pair->red);
		return (span){point, point};
	}
	rb_segment_meets(env, segment, triangles + 9 * (size_t) pair->blue, place);
	return (span){{pair->red, place[0]}, {pair->red, place[1]}};
}

/* Appends a span of a line on triangles, with its ends as fractions of the line's length. */
static rb_status
append_span_as_fractions(rb_context *ctx, const double *segments, uint32_t n, const span *at,
						 rb_line_intervals *out)
{
	rb_line_interval *to = out->at + out->n++;

	RB_TRY(
		rb_line_fraction_at(ctx, segments, n, at->begin.segment, &at->begin.place, out, &to->from));
	return rb_line_fraction_at(ctx, segments, n, at->end.segment, &at->end.place, out, &to->to);
}

/* Reserves memory for nmeet spans, their order and their fractions. */
static rb_status
reserve_line_spans(rb_context *ctx, size_t nmeet, rb_line_intervals *out)
{
	RB_TRY(RB_GROW(ctx, out->at, out->cap, nmeet));
	return rb_array_grow(ctx, &out->work, &out->work_cap, nmeet, sizeof(span) + sizeof(uint32_t));
}

rb_status
rb_line_spans(rb_context *ctx, const double *segments, uint32_t n, const double *triangles,
			  const rb_pair *meet, size_t nmeet, rb_line_intervals *out)
{
	rb_exact_env env = {.filters = ctx->filters, .exact = true};
	rb_status status = RB_OK;
	span *spans, current;
	uint32_t *order;

	out->n = 0;
	RB_TRY(reserve_line_spans(ctx, nmeet, out));
	spans = out->work;
	order = (uint32_t *) (spans + nmeet);
	if (out->measured == 0)
	{
		out->at[out->n++] = (rb_line_interval){0, 0, 0, false};
		return RB_OK;
	}
	for (size_t m = 0; m < nmeet; m++)
	{
		if (rb_stop_due(ctx, m, 64))
			return RB_STOPPED;
		spans[m] = span_of_line_on_triangle(&env, segments, n, triangles, &meet[m]);
		order[m] = (uint32_t) m;
	}
	RB_TRY(rb_sort(ctx, order, nmeet, sizeof *order, by_span_begin, spans));
	current = spans[order[0]];
	for (size_t m = 1; m < nmeet && status == RB_OK; m++)
	{
		const span *next = spans + order[m];

		if (!do_spans_join(segments, &current.end, &next->begin))
		{
			status = append_span_as_fractions(ctx, segments, n, &current, out);
			current = *next;
		}
		else if (is_line_point_before(&current.end, &next->end))
			current.end = next->end;
	}
	return status == RB_OK ? append_span_as_fractions(ctx, segments, n, &current, out) : status;
}
