/*
 * split_meetings.c
 *	  Finds the points and lines that the parts of a PLC share.
 *
 * A line in a triangle is its intersection with the plane of another triangle, or an edge of a
 * coplanar one. Two lines of a triangle thus meet in the point of three planes, of an edge and a
 * plane, or of two edges, and the other triangles compute the same point.
 */
#include "mesh/splitting.h"

#include <math.h>

/* ---- meetings ---- */

/*
 * Records that edge e of a triangle overlaps an edge of another part from one point to another.
 * Points on the edge between these two later divide the overlap.
 */
static rb_status
note_overlap_of_edges(rb_splitting *s, uint32_t of, int e, uint32_t from, uint32_t to)
{
	const uint32_t a = s->plc->triangles[of][e], b = s->plc->triangles[of][(e + 1) % 3];

	RB_TRY(RB_SPLIT_RESERVE(s, &s->overlaps, 1));
	s->overlaps.at[s->overlaps.n++] = (rb_split_overlap){a < b ? a : b, a < b ? b : a, from, to};
	return RB_OK;
}

/*
 * Records a line from one point to another in which part `other` cuts triangle `of`; `edges` are
 * the edges of that part that contain both points.
 */
static rb_status
note_line_in_split_triangle(rb_splitting *s, uint32_t of, uint32_t other, uint32_t from,
							uint32_t to, unsigned edges)
{
	RB_TRY(RB_SPLIT_RESERVE(s, &s->lines, 1));
	s->lines.at[s->lines.n++] = (rb_split_line){
		of, other, from, to, edges == 0 ? RB_NONE : (uint32_t) __builtin_ctz(edges)};
	return RB_OK;
}

/* Records what another part leaves in a triangle: n points, the first of which has index `base`. */
static rb_status
note_meeting_in_split_triangle(rb_splitting *s, uint32_t of, uint32_t other, const rb_meet *m,
							   int n, bool blue, uint32_t base)
{
	const uint32_t *corner = s->plc->triangles[of];
	const double *t = rb_split_get_part_corners(s, of);

	for (int i = 0; i < n; i++)
	{
		const unsigned on = blue ? m[i].on_blue : m[i].on_red;

		if (rb_equal3(m[i].at, t) || rb_equal3(m[i].at, t + 3) || rb_equal3(m[i].at, t + 6))
			continue;
		if (on == 0)
			RB_TRY(rb_split_append_triple(s, &s->inside, of, 0, base + (uint32_t) i));
		else
		{
			const int e = __builtin_ctz(on);

			RB_TRY(rb_split_append_edge_point(s, &s->on_edge, corner[e], corner[(e + 1) % 3],
											  base + (uint32_t) i));
		}
	}
	for (int e = -1; e < 3; e++)
	{
		/*
		 * Two points form a line. If there are more, each edge of the other part that contains two
		 * points forms a line.
		 */
		int from = -1, to = -1;
		unsigned own, others;

		if ((e < 0) != (n == 2))
			continue;
		for (int i = 0; i < n; i++)
			if (e < 0 || ((blue ? m[i].on_red : m[i].on_blue) >> e & 1) != 0)
			{
				if (from < 0)
					from = i;
				else
					to = i;
			}
		if (to < 0)
			continue;
		own = blue ? m[from].on_blue & m[to].on_blue : m[from].on_red & m[to].on_red;
		others = blue ? m[from].on_red & m[to].on_red : m[from].on_blue & m[to].on_blue;
		if (own == 0)
			RB_TRY(note_line_in_split_triangle(s, of, other, base + (uint32_t) from,
											   base + (uint32_t) to, others));
		else if (e < 0 && others != 0)
			RB_TRY(note_overlap_of_edges(s, of, __builtin_ctz(own), base + (uint32_t) from,
										 base + (uint32_t) to));
	}
	return RB_OK;
}

/* Records the points at which two parts meet, and the line that they share. */
static rb_status
record_meeting(rb_splitting *s, const rb_split_triple *meeting)
{
	const uint32_t part[2] = {meeting->a, meeting->b};
	rb_meet m[RB_MEET_POINTS];
	const int n = rb_meet_points(&s->env, rb_split_get_part_corners(s, part[0]),
								 rb_split_get_part_corners(s, part[1]), m);
	const uint32_t base = s->points.n;
	uint32_t number;

	for (int i = 0; i < n; i++)
		RB_TRY(rb_split_append_point(s, m[i].at, &number));
	for (int side = 0; side < 2; side++)
	{
		if (part[side] < s->parts.first_segment)
			RB_TRY(
				note_meeting_in_split_triangle(s, part[side], part[!side], m, n, side == 1, base));
		else if (part[side] < s->parts.first_point)
		{
			const uint32_t *end = s->plc->segments[part[side] - s->parts.first_segment];

			for (int i = 0; i < n; i++)
				RB_TRY(rb_split_append_edge_point(s, &s->on_edge, end[0], end[1],
												  base + (uint32_t) i));
		}
	}
	return RB_OK;
}

rb_status
rb_split_record_meetings(rb_splitting *s)
{
	RB_TRY(rb_split_sort_triples(s, &s->meetings, rb_split_by_three_numbers));
	RB_TRY(RB_SPLIT_RESERVE(s, &s->points, s->plc->npoints));
	memcpy(s->points.at, s->plc->points, 3 * (size_t) s->plc->npoints * sizeof(double));
	s->points.n = s->plc->npoints;
	for (uint32_t i = 0; i < s->meetings.n; i++)
	{
		RB_TRY(record_meeting(s, s->meetings.at + i));
		if (i % 64 == 63 && rb_should_stop(s->ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* ---- crossings of lines in a triangle ---- */

/* Gets start and end of the edge of the cutting part that contains a line of a triangle. */
static const double *
get_line_edge(const rb_splitting *s, const rb_split_line *l, const double **end)
{
	const double *t = rb_split_get_part_corners(s, l->other);

	*end = t + 3 * ((l->edge + 1) % 3);
	return t + 3 * l->edge;
}

/* Computes the point at which two lines of a triangle cross. */
static bool
find_crossing_of_lines(const rb_splitting *s, const rb_split_line *l, const rb_split_line *m,
					   double *point)
{
	const double *p, *q, *u, *v;

	if (l->edge == RB_NONE && m->edge == RB_NONE)
		return rb_meet_planes(rb_split_get_part_corners(s, l->of),
							  rb_split_get_part_corners(s, l->other),
							  rb_split_get_part_corners(s, m->other), point);
	if (l->edge != RB_NONE && m->edge != RB_NONE)
	{
		p = get_line_edge(s, l, &q);
		u = get_line_edge(s, m, &v);
		return rb_meet_lines(p, q, u, v, point);
	}
	if (l->edge == RB_NONE)
	{
		const rb_split_line *swap = l;

		l = m;
		m = swap;
	}
	p = get_line_edge(s, l, &q);
	return rb_meet_line_plane(p, q, rb_split_get_part_corners(s, m->other), point);
}

/* Returns true if p is between a and b on each axis. */
static bool
is_between_on_axes(const double *a, const double *b, const double *p)
{
	for (int k = 0; k < 3; k++)
		if (p[k] < fmin(a[k], b[k]) || p[k] > fmax(a[k], b[k]))
			return false;
	return true;
}

/*
 * Returns true if the boxes of two lines overlap and neither line is clearly on one side of the
 * other.
 */
static bool
may_cross(const rb_splitting *s, const rb_split_line *l, const rb_split_line *m)
{
	const double *a = rb_split_get_point(s, l->from), *b = rb_split_get_point(s, l->to),
				 *c = rb_split_get_point(s, m->from), *d = rb_split_get_point(s, m->to);
	int apart = 0;

	for (int k = 0; k < 3; k++)
		if (fmax(a[k], b[k]) < fmin(c[k], d[k]) || fmax(c[k], d[k]) < fmin(a[k], b[k]))
			return false;
	/*
	 * Two lines may coincide in the projection along one axis, so all three projections are tested.
	 */
	for (int k = 0; k < 3; k++)
	{
		const int u = (k + 1) % 3, v = (k + 2) % 3;
		const double *end[2][2] = {{a, b}, {c, d}};

		for (int i = 0; i < 2; i++)
		{
			const double *p = end[i][0], *q = end[i][1];
			const double x = q[u] - p[u], y = q[v] - p[v];
			double side[2], size = 0;

			for (int j = 0; j < 2; j++)
			{
				const double *r = end[1 - i][j];
				const double left = x * (r[v] - p[v]), right = y * (r[u] - p[u]);

				side[j] = left - right;
				size = fmax(size, fabs(left) + fabs(right));
			}
			size *= 1e-9;
			apart += (side[0] > size && side[1] > size) || (side[0] < -size && side[1] < -size);
		}
	}
	return apart == 0;
}

/* Orders lines by their triangle and by the part that cuts it. */
static int
by_triangle_and_other(const void *a, const void *b, const void *arg)
{
	const rb_split_line *x = a, *y = b;

	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	return rb_split_by_three_numbers(&x->other, &y->other, arg);
}

rb_status
rb_split_cross_lines(rb_splitting *s)
{
	uint64_t steps = 0;

	RB_TRY(rb_sort(s->ctx, s->lines.at, s->lines.n, sizeof *s->lines.at, by_triangle_and_other, s));
	for (uint32_t i = 0; i < s->lines.n; i++)
		for (uint32_t k = i + 1; k < s->lines.n; k++)
		{
			const rb_split_line *l = s->lines.at + i, *m = s->lines.at + k;
			double point[3];
			uint32_t number;

			if (l->of != m->of)
				break;
			if (++steps % RB_SPLIT_CHECK_INTERVAL == 0 && rb_should_stop(s->ctx))
				return RB_STOPPED;
			if (!may_cross(s, l, m) || !find_crossing_of_lines(s, l, m, point) ||
				!is_between_on_axes(rb_split_get_point(s, l->from), rb_split_get_point(s, l->to),
									point) ||
				!is_between_on_axes(rb_split_get_point(s, m->from), rb_split_get_point(s, m->to),
									point))
				continue;
			RB_TRY(rb_split_append_point(s, point, &number));
			RB_TRY(rb_split_append_triple(s, &s->cuts, i, 0, number));
			RB_TRY(rb_split_append_triple(s, &s->cuts, k, 0, number));
		}
	return RB_OK;
}
