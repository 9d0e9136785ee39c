/*
 * span.c
 *	  Where on a line does what it shares with some triangles begin, and where does it end?
 *
 * Each pair of a segment and a triangle has a first and a last place, exactly (crossing.c); the first of all first ones
 * and the last of all last ones are rounded, once.
 */
#include "core/body/rb_body.h"

typedef struct spot
{
	uint32_t segment;
	rb_place place;
} spot;

static bool
is_before(const spot *a, const spot *b)
{
	if (a->segment != b->segment)
		return a->segment < b->segment;
	return rb_place_compare(&a->place, &b->place) < 0;
}

static bool
is_point(const double *segments, uint32_t i)
{
	return rb_equal3(segments + 6 * (size_t) i, segments + 6 * (size_t) i + 3);
}

/* a segment that is a point lies at the end of the one before it, or at the beginning of the next */
static spot
spot_of_point(const double *segments, uint32_t n, uint32_t i)
{
	uint32_t k = i;

	while (k > 0 && is_point(segments, k))
		k--;
	if (!is_point(segments, k))
		return (spot){k, rb_place_end(segments + 6 * (size_t) k)};
	while (k < n - 1 && is_point(segments, k))
		k++;
	return (spot){k, rb_place_start(segments + 6 * (size_t) k)};
}

rb_status
rb_line_span(rb_context *ctx, const double *segments, uint32_t n, const double *triangles,
			 const rb_pair *meet, size_t nmeet, const rb_stretches *measured, double *from,
			 double *to)
{
	rb_exact_env env = {.filters = ctx->filters, .exact = true};
	spot first, last;
	rb_status status;

	*from = *to = 0;
	if (measured->measured == 0)
		return RB_OK;
	for (size_t m = 0; m < nmeet; m++)
	{
		const uint32_t i = meet[m].red;
		const double *segment = segments + 6 * (size_t) i;
		rb_place place[2];
		spot begin, end;

		if (m % 64 == 63 && rb_should_stop(ctx))
			return RB_STOPPED;
		if (is_point(segments, i))
			begin = end = spot_of_point(segments, n, i);
		else
		{
			rb_segment_meets(&env, segment, triangles + 9 * (size_t) meet[m].blue, place);
			begin = (spot){i, place[0]};
			end = (spot){i, place[1]};
		}
		if (m == 0 || is_before(&begin, &first))
			first = begin;
		if (m == 0 || is_before(&last, &end))
			last = end;
	}
	status = rb_measured_fraction(ctx, segments, n, first.segment, &first.place, measured, from);
	if (status == RB_OK)
		status = rb_measured_fraction(ctx, segments, n, last.segment, &last.place, measured, to);
	return status;
}
