/*
 * split_near.c
 *	  Finds what doubles do not resolve when facets are split: flat triangles, points near other
 *	  points, and points near edges and lines.
 *
 * The distance within which this holds grows with each round. Flat triangles are dropped, new
 * points become earlier ones near them, and points near an edge or line split it.
 */
#include "mesh/splitting.h"

#include <math.h>

/*
 * Triangles are flat up to the distance over which round RB_FLAT_ROUND unifies points, but at most
 * up to RB_FLAT_EXTENT times the extent, which is too little for a fault of a mesh, and at least up
 * to the distance of round 0, which doubles do not resolve
 */
#define RB_FLAT_ROUND 3
#define RB_FLAT_EXTENT 0x1p-33

/*
 * Returns the distance within which doubles do not reliably resolve points, in the given round; 0
 * if it is out of range.
 */
static double
unify_distance(const rb_splitting *s, uint32_t round)
{
	double far = 0;

	for (size_t i = 0; i < 3 * (size_t) s->plc->npoints; i++)
		far = fmax(far, fabs(s->plc->points[i]));
	far = ldexp(far, -49 + 2 * (int) round);
	return far > 0x1p-900 && far < 0x1p900 ? far : 0;
}

/* ---- flat triangles ---- */

/* Returns the distance up to which triangles are flat; 0 if it is out of range. */
static double
flat_distance(const rb_splitting *s)
{
	double extent = 0;

	for (int k = 0; k < 3; k++)
	{
		double low = INFINITY, high = -INFINITY;

		for (uint32_t i = 0; i < s->plc->npoints; i++)
		{
			low = fmin(low, s->plc->points[3 * (size_t) i + k]);
			high = fmax(high, s->plc->points[3 * (size_t) i + k]);
		}
		extent = fmax(extent, high - low);
	}
	return fmax(unify_distance(s, 0),
				fmin(unify_distance(s, RB_FLAT_ROUND), RB_FLAT_EXTENT * extent));
}

/* Returns the corner of a triangle that is within distance `far` of the opposite edge, or -1. */
static int
find_flat_corner(const rb_splitting *s, uint32_t triangle, double far)
{
	const uint32_t *v = s->plc->triangles[triangle];
	double u[3][3], n[3], long2 = -1;
	int corner = 0;

	for (int e = 0; e < 3; e++)
	{
		const double *p = s->plc->points + 3 * (size_t) v[(e + 1) % 3],
					 *q = s->plc->points + 3 * (size_t) v[(e + 2) % 3];
		double length2 = 0;

		for (int k = 0; k < 3; k++)
		{
			u[e][k] = (q[k] - p[k]) / far;
			length2 += u[e][k] * u[e][k];
		}
		if (length2 > long2)
		{
			long2 = length2;
			corner = e;
		}
	}
	for (int k = 0; k < 3; k++)
		n[k] = u[0][(k + 1) % 3] * u[1][(k + 2) % 3] - u[0][(k + 2) % 3] * u[1][(k + 1) % 3];
	return n[0] * n[0] + n[1] * n[1] + n[2] * n[2] <= long2 ? corner : -1;
}

rb_status
rb_split_find_flat_triangles(rb_splitting *s, const rb_meeting_inputs *meets)
{
	const double far = flat_distance(s);

	RB_TRY(RB_ALLOCATE(s->ctx, s->flat, (size_t) s->plc->ntriangles + 1));
	memset(s->flat, 0, (size_t) s->plc->ntriangles + 1);
	rb_table_empty(&s->found);
	for (uint32_t i = 0; i < s->plc->ntriangles && far > 0; i++)
	{
		const uint32_t *v = s->plc->triangles[i];
		int corner;
		bool taken = false;

		if (rb_stop_due(s->ctx, i, RB_SPLIT_CHECK_INTERVAL))
			return RB_STOPPED;
		if (meets->triangle[s->pieces->triangle_of[i]] == 0 ||
			(corner = find_flat_corner(s, i, far)) < 0)
			continue;
		/* The values in the table state whether an edge is split or shortens its triangle. */
		for (int e = 0; e < 3; e++)
		{
			const uint32_t *other =
				rb_table_get(&s->found, v[(e + 1) % 3], v[(e + 2) % 3], RB_NONE);

			taken |= other != NULL && (*other != 0 || e != corner);
		}
		if (taken)
			continue;
		for (int e = 0; e < 3; e++)
			RB_TRY(rb_table_insert(s->ctx, &s->found, v[(e + 1) % 3], v[(e + 2) % 3], RB_NONE,
								   e != corner, NULL, NULL));
		s->flat[i] = true;
		s->nflat++;
	}
	return RB_OK;
}

rb_status
rb_split_at_flat_corners(rb_splitting *s)
{
	const double far = flat_distance(s);

	for (uint32_t i = 0; i < s->plc->ntriangles && s->nflat > 0; i++)
		if (s->flat[i])
		{
			const uint32_t *v = s->plc->triangles[i];
			const int corner = find_flat_corner(s, i, far);

			RB_TRY(rb_split_append_edge_point(s, &s->on_edge, v[(corner + 1) % 3],
											  v[(corner + 2) % 3], v[corner]));
		}
	return RB_OK;
}

/* ---- unification of points ---- */

/*
 * Compares the positions of p and q between a and b, first along the axis on which these are
 * farthest apart. Rounding preserves the order on each axis.
 */
static int
compare_along_split_edge(const double *a, const double *b, const double *p, const double *q)
{
	int longest = 0;

	for (int k = 1; k < 3; k++)
		if (fabs(b[k] / 2 - a[k] / 2) > fabs(b[longest] / 2 - a[longest] / 2))
			longest = k;
	for (int i = 0; i < 3; i++)
	{
		const int k = (longest + i) % 3;

		if (p[k] != q[k])
			return (p[k] < q[k]) == (a[k] < b[k]) ? -1 : 1;
	}
	return 0;
}

/* Orders points on edges by edge and, on an edge, from its first end to its last. */
static int
by_split_edge(const void *a, const void *b, const void *arg)
{
	const rb_splitting *s = arg;
	const rb_split_triple *x = a, *y = b;

	if (x->a != y->a || x->b != y->b)
		return rb_split_by_three_numbers(a, b, arg);
	return compare_along_split_edge(rb_split_get_point(s, x->a), rb_split_get_point(s, x->b),
									rb_split_get_point(s, x->point),
									rb_split_get_point(s, y->point));
}

/* Orders points on lines by line and, on a line, by position. */
static int
by_line_and_position(const void *a, const void *b, const void *arg)
{
	const rb_splitting *s = arg;
	const rb_split_triple *x = a, *y = b;
	const rb_split_line *l = s->lines.at + x->a;

	if (x->a != y->a)
		return rb_split_by_three_numbers(a, b, arg);
	return compare_along_split_edge(rb_split_get_point(s, l->from), rb_split_get_point(s, l->to),
									rb_split_get_point(s, x->point),
									rb_split_get_point(s, y->point));
}

/* Replaces points by the first ones with equal coordinates. */
static void
replace_equal_split_points(rb_splitting *s, rb_split_triples *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n; i++)
	{
		rb_split_triple t = l->at[i];

		t.point = s->corners.first[t.point];
		/* An end of the edge does not split it. */
		if (l != &s->on_edge || (t.point != t.a && t.point != t.b))
			l->at[n++] = t;
	}
	l->n = n;
}

/* Returns the head of the chain of a grid cell. */
static uint32_t *
chain_of_split_grid_cell(const rb_splitting *s, const int64_t *cell)
{
	const uint64_t hash = (uint64_t) cell[0] * 0x9e3779b97f4a7c15u +
						  (uint64_t) cell[1] * 0xc2b2ae3d27d4eb4fu +
						  (uint64_t) cell[2] * 0x165667b19e3779f9u;

	return rb_chain_first(&s->cells, rb_mix(hash));
}

/* Returns the first point within distance `far` on each axis, or RB_NONE. */
static uint32_t
near_split_point(rb_splitting *s, const double *p, double far)
{
	const uint32_t *next = s->next.at;
	uint32_t best = RB_NONE;

	for (int corner = 0; corner < 8; corner++)
	{
		int64_t cell[3];

		for (int k = 0; k < 3; k++)
			cell[k] = (int64_t) floor((corner >> k & 1 ? p[k] + far : p[k] - far) / (4 * far));
		for (uint32_t i = *chain_of_split_grid_cell(s, cell); i != RB_NONE; i = next[i])
		{
			const double *q = rb_split_get_point(s, i);

			if (fabs(q[0] - p[0]) <= far && fabs(q[1] - p[1]) <= far && fabs(q[2] - p[2]) <= far &&
				i < best)
				best = i;
		}
	}
	return best;
}

/*
 * Replaces each new point by an earlier one, if there is one so near that doubles do not reliably
 * resolve the two. Otherwise slivers between the two would cross other parts through rounding
 * alone. The distance grows with each round. Points of the PLC stay. On entry first[i] is the index
 * of point i among the distinct points; on return, its new index.
 */
static rb_status
snap_split_points(rb_splitting *s, uint32_t *first, uint32_t n)
{
	double *points = (double *) s->points.at;
	const uint32_t different = s->points.n;
	uint32_t *next, *name, kept = 0;
	const double far = unify_distance(s, s->round);

	if (far == 0)
		return RB_OK;
	RB_TRY(rb_chains_reset(s->ctx, &s->cells, different));
	s->next.n = 0;
	RB_TRY(RB_SPLIT_RESERVE(s, &s->next, 2 * (size_t) different));
	next = s->next.at;
	name = next + different;
	for (uint32_t i = 0; i < different; i++)
	{
		double p[3];
		uint32_t to = RB_NONE, *chain;
		int64_t cell[3];

		memcpy(p, points + 3 * (size_t) i, sizeof p);
		if (i >= s->plc->npoints)
			to = near_split_point(s, p, far);
		name[i] = to != RB_NONE ? to : kept;
		if (rb_stop_due(s->ctx, i, RB_SPLIT_CHECK_INTERVAL))
			return RB_STOPPED;
		if (to != RB_NONE)
			continue;
		/* Move the point to its new index, under which it is found from now on. */
		memcpy(points + 3 * (size_t) kept, p, sizeof p);
		for (int k = 0; k < 3; k++)
			cell[k] = (int64_t) floor(p[k] / (4 * far));
		chain = chain_of_split_grid_cell(s, cell);
		next[kept] = *chain;
		*chain = kept++;
	}
	for (uint32_t i = 0; i < n; i++)
		first[i] = name[first[i]];
	s->points.n = kept;
	return RB_OK;
}

rb_status
rb_split_number_points(rb_splitting *s)
{
	double *points = (double *) s->points.at;
	rb_status status = rb_point_hash_find(s->ctx, points, s->points.n, &s->corners);
	uint32_t *first = s->corners.first;
	const uint32_t n = s->points.n;

	if (status != RB_OK)
		return status;
	s->points.n = 0;
	for (uint32_t i = 0; i < n; i++)
		if (first[i] == i)
		{
			memmove(points + 3 * (size_t) s->points.n, points + 3 * (size_t) i, 3 * sizeof *points);
			first[i] = s->points.n++;
		}
		else
			first[i] = first[first[i]];
	RB_TRY(snap_split_points(s, first, n));
	s->npoints = s->points.n;
	for (uint32_t i = 0; i < s->lines.n; i++)
	{
		rb_split_line *l = s->lines.at + i;

		l->from = first[l->from];
		l->to = first[l->to];
	}
	replace_equal_split_points(s, &s->on_edge);
	replace_equal_split_points(s, &s->inside);
	replace_equal_split_points(s, &s->cuts);
	for (uint32_t i = 0; i < s->hard.n; i++)
	{
		rb_split_triple *t = s->hard.at + i;

		t->a = first[t->a];
		t->b = first[t->b];
	}
	for (uint32_t i = 0; i < s->overlaps.n; i++)
	{
		rb_split_overlap *o = s->overlaps.at + i;

		o->from = first[o->from];
		o->to = first[o->to];
	}
	status = rb_split_sort_triples(s, &s->on_edge, by_split_edge);
	if (status == RB_OK)
		status = rb_split_sort_triples(s, &s->inside, rb_split_by_three_numbers);
	if (status == RB_OK)
		status = rb_split_sort_triples(s, &s->cuts, by_line_and_position);
	return status;
}

/* ---- points near lines ---- */

/*
 * Returns true if a point is within distance `far` of the edge or line from a to b, between its
 * ends.
 */
static bool
is_point_near_line(const rb_splitting *s, uint32_t a, uint32_t b, uint32_t point, double far)
{
	const double *p = rb_split_get_point(s, a), *q = rb_split_get_point(s, b),
				 *r = rb_split_get_point(s, point);
	double u[3], v[3], along = 0, length2 = 0, across2 = 0;

	if (point == a || point == b || a == b)
		return false;
	for (int k = 0; k < 3; k++)
	{
		u[k] = (q[k] - p[k]) / far;
		v[k] = (r[k] - p[k]) / far;
		along += u[k] * v[k];
		length2 += u[k] * u[k];
	}
	for (int k = 0; k < 3; k++)
	{
		const double c = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];

		across2 += c * c;
	}
	return along > 0 && along < length2 && across2 <= length2;
}

typedef struct line_search
{
	const rb_split_line *at;
	uint32_t of, other;
} line_search;

/* Returns true if line i is less than the sought one, for a binary search. */
static inline bool
is_line_before(size_t i, const void *arg)
{
	const line_search *s = arg;

	return s->at[i].of < s->of || (s->at[i].of == s->of && s->at[i].other < s->other);
}

/* Returns the first of the lines that part `other` leaves in a triangle. */
static uint32_t
find_split_line(const rb_splitting *s, uint32_t of, uint32_t other)
{
	const line_search wanted = {s->lines.at, of, other};

	return (uint32_t) rb_lower_bound(0, s->lines.n, is_line_before, &wanted);
}

/* Splits a line of a triangle at a point near it, and the same line or edge of the other part. */
static rb_status
split_line_at_point(rb_splitting *s, uint32_t line, uint32_t point)
{
	const rb_split_line l = s->lines.at[line];

	RB_TRY(rb_split_append_triple(s, &s->cuts, line, 0, point));
	if (l.other >= s->parts.first_segment)
		return RB_OK;
	if (l.edge != RB_NONE)
	{
		const uint32_t *v = s->plc->triangles[l.other];

		return rb_split_append_edge_point(s, &s->near_edge, v[l.edge], v[(l.edge + 1) % 3], point);
	}
	for (uint32_t i = find_split_line(s, l.other, l.of); i < s->lines.n; i++)
	{
		const rb_split_line *twin = s->lines.at + i;

		if (twin->of != l.other || twin->other != l.of)
			break;
		if ((twin->from == l.from && twin->to == l.to) ||
			(twin->from == l.to && twin->to == l.from))
			RB_TRY(rb_split_append_triple(s, &s->cuts, i, 0, point));
	}
	return RB_OK;
}

/* Splits the edges and lines of a triangle at its points near them. */
static rb_status
split_triangle_at_near_points(rb_splitting *s, uint32_t of, uint32_t line_from, uint32_t line_to,
							  uint32_t cut_from, uint32_t cut_to, double far)
{
	const uint32_t *corner = s->plc->triangles[of];
	uint32_t outer;

	s->ring.n = 0;
	for (int e = 0; e < 3; e++)
		RB_TRY(rb_split_append_edge_points(s, corner[e], corner[(e + 1) % 3]));
	outer = s->ring.n;
	for (uint32_t i = line_from; i < line_to; i++)
	{
		RB_TRY(rb_split_append_ring_point(s, s->lines.at[i].from));
		RB_TRY(rb_split_append_ring_point(s, s->lines.at[i].to));
	}
	for (uint32_t i = cut_from; i < cut_to; i++)
		RB_TRY(rb_split_append_ring_point(s, s->cuts.at[i].point));
	for (uint32_t i = 0; i < s->ring.n; i++)
	{
		const uint32_t point = s->ring.at[i];

		for (int e = 0; e < 3 && i >= outer; e++)
			if (is_point_near_line(s, corner[e], corner[(e + 1) % 3], point, far))
				RB_TRY(rb_split_append_edge_point(s, &s->near_edge, corner[e], corner[(e + 1) % 3],
												  point));
		for (uint32_t k = line_from; k < line_to; k++)
			if (is_point_near_line(s, s->lines.at[k].from, s->lines.at[k].to, point, far))
				RB_TRY(split_line_at_point(s, k, point));
		if (i % 64 == 63 && rb_should_stop(s->ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

rb_status
rb_split_at_near_points(rb_splitting *s)
{
	const double far = unify_distance(s, s->round);
	const uint32_t ncuts = s->cuts.n;
	uint32_t cut = 0;

	for (uint32_t from = 0, to; from < s->lines.n && far > 0; from = to)
	{
		const uint32_t of = s->lines.at[from].of, first = cut;

		for (to = from; to < s->lines.n && s->lines.at[to].of == of;)
			to++;
		while (cut < ncuts && s->cuts.at[cut].a < to)
			cut++;
		RB_TRY(split_triangle_at_near_points(s, of, from, to, first, cut, far));
	}
	for (uint32_t i = 0; i < s->near_edge.n; i++)
	{
		const rb_split_triple t = s->near_edge.at[i];

		/* The point may be an end of another triangle's edge. */
		if (t.point != t.a && t.point != t.b)
			RB_TRY(rb_split_append_triple(s, &s->on_edge, t.a, t.b, t.point));
	}
	RB_TRY(rb_split_sort_triples(s, &s->on_edge, by_split_edge));
	return rb_split_sort_triples(s, &s->cuts, by_line_and_position);
}
