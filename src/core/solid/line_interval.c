/*
 * line_interval.c
 *	  Finds all spans of a line that lie on a set of triangles.
 *
 * For each pair of a segment and a triangle that meet, line_crossing.c computes the exact first and
 * last location of their intersection. The spans between these locations are sorted by their first
 * location, and spans that share a location are merged. The ends of the merged spans are rounded
 * once.
 */
#include "core/base/sort.h"
#include "core/solid/solid.h"

typedef struct line_point
{
	uint32_t segment;
	rb_location place;
} line_point;

static bool
is_before(const line_point *a, const line_point *b)
{
	if (a->segment != b->segment)
		return a->segment < b->segment;
	return rb_location_compare(&a->place, &b->place) < 0;
}

static bool
is_point(const double *segments, uint32_t i)
{
	return rb_equal3(segments + 6 * (size_t) i, segments + 6 * (size_t) i + 3);
}

/*
 * Assigns a segment of zero length to the end of the segment before it, or to the start of the next
 * one.
 */
static line_point
spot_of_point(const double *segments, uint32_t n, uint32_t i)
{
	uint32_t k = i;

	while (k > 0 && is_point(segments, k))
		k--;
	if (!is_point(segments, k))
		return (line_point){k, rb_location_end(segments + 6 * (size_t) k)};
	while (k < n - 1 && is_point(segments, k))
		k++;
	return (line_point){k, rb_location_start(segments + 6 * (size_t) k)};
}

/* The intersection of one pair of parts, as a range of locations on the line */
typedef struct span
{
	line_point begin;
	line_point end;
} span;

static int
compare_spans(const void *a, const void *b, const void *arg)
{
	const span *spans = arg;
	const span *p = spans + *(const uint32_t *) a, *q = spans + *(const uint32_t *) b;

	return is_before(&p->begin, &q->begin) ? -1 : is_before(&q->begin, &p->begin);
}

/*
 * Returns true if segment j starts where segment i < j ends, with only zero-length segments between
 * them.
 */
static bool
is_contiguous(const double *segments, uint32_t i, uint32_t j)
{
	uint32_t k = i + 1;

	while (k < j && is_point(segments, k) &&
		   rb_equal3(segments + 6 * (size_t) i + 3, segments + 6 * (size_t) k))
		k++;
	return k == j && rb_equal3(segments + 6 * (size_t) i + 3, segments + 6 * (size_t) j);
}

/*
 * Returns true if a span that begins at q overlaps or continues a span that ends at p. The span at
 * q does not begin before the other one.
 */
static bool
is_joined(const double *segments, const line_point *p, const line_point *q)
{
	rb_location end, start;

	if (p->segment >= q->segment)
		return !is_before(p, q);
	end = rb_location_end(segments + 6 * (size_t) p->segment);
	start = rb_location_start(segments + 6 * (size_t) q->segment);
	return rb_location_compare(&p->place, &end) == 0 &&
		   rb_location_compare(&q->place, &start) == 0 &&
		   is_contiguous(segments, p->segment, q->segment);
}

static span
span_of_pair(rb_exact_env *env, const double *segments, uint32_t n, const double *triangles,
			 const rb_pair *pair)
{
	const double *segment = segments + 6 * (size_t) pair->red;
	rb_location place[2];
	line_point point;

	if (is_point(segments, pair->red))
	{
		point = spot_of_point(segments, n, pair->red);
		return (span){point, point};
	}
	rb_segment_meets(env, segment, triangles + 9 * (size_t) pair->blue, place);
	return (span){{pair->red, place[0]}, {pair->red, place[1]}};
}

/* Appends a span as fractions of the line's length. */
static rb_status
write_span(rb_context *ctx, const double *segments, uint32_t n, const span *at,
		   rb_line_intervals *out)
{
	rb_line_interval *to = out->at + out->n++;

	RB_TRY(rb_measured_fraction(ctx, segments, n, at->begin.segment, &at->begin.place, out,
								&to->from));
	return rb_measured_fraction(ctx, segments, n, at->end.segment, &at->end.place, out, &to->to);
}

/* Reserves memory for nmeet spans, their order and their fractions. */
static rb_status
reserve_spans(rb_context *ctx, size_t nmeet, rb_line_intervals *out)
{
	rb_status status = RB_OK;

	if (nmeet > out->cap)
	{
		status = RB_ALLOCATE(ctx, out->at, nmeet);
		if (status != RB_OK)
			return status;
		out->cap = nmeet;
	}
	if (nmeet > out->work_cap)
	{
		status = rb_array(ctx, &out->work, nmeet, sizeof(span) + sizeof(uint32_t));
		if (status == RB_OK)
			out->work_cap = nmeet;
	}
	return status;
}

rb_status
rb_line_spans(rb_context *ctx, const double *segments, uint32_t n, const double *triangles,
			  const rb_pair *meet, size_t nmeet, rb_line_intervals *out)
{
	rb_exact_env env = {.filters = ctx->filters, .exact = true};
	rb_status status = reserve_spans(ctx, nmeet, out);
	span *spans = out->work;
	uint32_t *order = (uint32_t *) (spans + nmeet);
	span current;

	out->n = 0;
	if (status != RB_OK)
		return status;
	if (out->measured == 0)
	{
		out->at[out->n++] = (rb_line_interval){0, 0, 0, false};
		return RB_OK;
	}
	for (size_t m = 0; m < nmeet; m++)
	{
		if (m % 64 == 63 && rb_should_stop(ctx))
			return RB_STOPPED;
		spans[m] = span_of_pair(&env, segments, n, triangles, &meet[m]);
		order[m] = (uint32_t) m;
	}
	RB_TRY(rb_sort(ctx, order, nmeet, sizeof *order, compare_spans, spans));
	current = spans[order[0]];
	for (size_t m = 1; m < nmeet && status == RB_OK; m++)
	{
		const span *next = spans + order[m];

		if (!is_joined(segments, &current.end, &next->begin))
		{
			status = write_span(ctx, segments, n, &current, out);
			current = *next;
		}
		else if (is_before(&current.end, &next->end))
			current.end = next->end;
	}
	return status == RB_OK ? write_span(ctx, segments, n, &current, out) : status;
}
