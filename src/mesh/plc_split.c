/*
 * plc_split.c
 *	  Splits facets and segments where they cross, so that the parts meet only in common corners and
 *	  edges.
 *
 * Each triangle is split separately:
 *
 *		what it shares with each other part that it meets (rb_meet_points):
 *			points on its edges		-> vertices of its polygon
 *			points inside			-> isolated points of the polygon
 *			a line					-> an edge of the polygon, split where two lines cross
 *
 * The polygon, with lines as holes of two points and isolated points as holes of one, is passed to
 * the geometry reader, which triangulates it. A point has the same doubles whatever it is computed
 * from (intersect.c). The two triangles at an edge, and two triangles that cross in a line, are
 * therefore split at the same points. Points on an edge are recorded by edge, for all triangles
 * that have it.
 *
 * A line in a triangle is its intersection with the plane of another triangle, or an edge of a
 * coplanar one. Two lines of a triangle thus meet in the point of three planes, of an edge and a
 * plane, or of two edges, and the other triangles compute the same point.
 *
 * Points are rounded, so the parts are slightly displaced and may cross something that was very
 * near. They are then split again, in rounds that snap new points over increasing distances. Parts
 * that are thinner than such a distance are dropped, and their neighbors meet in their place.
 */
#include "mesh/pieces.h"

#include "core/base/base.h"
#include "core/intersection/intersection.h"
#include "core/base/point_hash.h"
#include "core/base/sort.h"
#include "mesh/hash_table.h"

#include <math.h>

#define RB_CHECK_INTERVAL 1024
#define RB_ROUNDS 8
#define RB_ROUNDS_FREE 3 /* rounds in which meetings need not become fewer */
#define RB_FLAT_ROUNDS 3 /* rounds in which flat triangles are dropped */
/*
 * Triangles are flat up to the distance over which round RB_FLAT_ROUND unifies points, but at most
 * up to RB_FLAT_EXTENT times the extent, which is too little for a fault of a mesh, and at least up
 * to the distance of round 0, which doubles do not resolve
 */
#define RB_FLAT_ROUND 3
#define RB_FLAT_EXTENT 0x1p-33

/* The line between two points in which a part meets a triangle */
typedef struct triangle_line
{
	uint32_t of;    /* index of the triangle */
	uint32_t other; /* index of the part */
	uint32_t from, to;
	/* edge of the part that contains the line, or RB_NONE if the line is in the part's plane */
	uint32_t edge;
} triangle_line;

/* The part that a triangle edge from `low` to `high` shares with an edge of another part */
typedef struct edge_overlap
{
	uint32_t low, high;
	uint32_t from, to;
} edge_overlap;

/* Two numbers and a point, sorted in this order: a point on an edge, in a triangle or on a line */
typedef struct triple
{
	uint32_t a, b, point;
} triple;

typedef RB_VEC(triple) triple_vec;
typedef double coordinates[3];
typedef uint32_t corners[3];

typedef struct splitting
{
	rb_context *ctx;
	rb_plc_pieces *pieces;
	rb_welded *welded;
	const rb_plc *plc;
	rb_parts parts;
	rb_exact_env env;
	rb_split_done *split;
	uint32_t round; /* number of rounds before this one since the pieces were whole */
	triple_vec meetings;
	/* x, y, z: points of the PLC, then computed points; later without duplicates */
	RB_VEC(coordinates) points;
	RB_VEC(triangle_line) lines;   /* ordered by triangle */
	triple_vec on_edge;            /* triples: lower end of the edge, higher end, point on it */
	triple_vec near_edge;          /* like on_edge, for points near edges, which are found later */
	triple_vec inside;             /* triples: triangle, 0, point inside it */
	triple_vec cuts;               /* triples: line, 0, point that splits it */
	triple_vec hard;               /* triples: two points, 0; edges that must become segments */
	RB_VEC(edge_overlap) overlaps; /* overlaps of edges, which become segments */
	RB_VEC(uint32_t) ring;         /* points around the current triangle */
	RB_VEC(uint8_t) bytes;         /* polygon of the current triangle */
	rb_point_hash corners;
	uint32_t npoints;
	bool *flat; /* for each triangle, whether it is dropped as flat; NULL if none is */
	uint32_t nflat;
	/* The result */
	RB_VEC(corners) triangles; /* three corners of each new triangle */
	RB_VEC(uint32_t) facet_of;
	RB_VEC(uint32_t) triangle_of; /* input triangle of each new triangle */
	triple_vec segments;          /* triples: two ends, input segment or RB_NONE */
	rb_table found;               /* triangles or segments, by their points */
	rb_chains cells;              /* points by grid cell */
	RB_VEC(uint32_t) next;        /* chains of points in a grid cell, then new indices of points */
	triple_vec borders;           /* triples: segment that is a triangle edge, facet, 0 */
	uint32_t *ends;               /* ends of the remaining segments */
	uint32_t *rows;
	uint32_t *segment_of;
	bool changed;
} splitting;

/* Makes room for `more` elements of a list; fails if their indices would not fit in 32 bits. */
#define RESERVE(s, list, more)                                                      \
	((uint64_t) (list)->n + (more) > UINT32_MAX - 16                                \
		 ? rb_fail((s)->ctx, RB_TOO_MANY_OBJECTS, (list)->n, UINT32_MAX - 16, NULL) \
		 : rb_vec_reserve((s)->ctx, list, more))

/* Appends a triple of numbers to one of the lists of the split. */
static rb_status
append_split_triple(splitting *s, triple_vec *l, uint32_t a, uint32_t b, uint32_t point)
{
	RB_TRY(RESERVE(s, l, 1));
	l->at[l->n++] = (triple){a, b, point};
	return RB_OK;
}

/* Returns the coordinates of a point of the PLC or of one that the split has computed. */
static inline const double *
get_split_point(const splitting *s, uint32_t point)
{
	return s->points.at[point];
}

/* Returns the corners of a part (triangle, segment or point) of the PLC. */
static inline const double *
get_split_part_corners(const splitting *s, uint32_t part)
{
	return s->parts.coords + 9 * (size_t) part;
}

/* Appends a computed point, and returns its number; equal points are merged later. */
static rb_status
append_split_point(splitting *s, const double *point, uint32_t *number)
{
	RB_TRY(RESERVE(s, &s->points, 1));
	*number = s->points.n++;
	memcpy(s->points.at[*number], point, 3 * sizeof(double));
	return RB_OK;
}

/* ---- order ---- */

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

/* Orders triples of numbers. */
static int
by_three_numbers(const void *a, const void *b, const void *arg)
{
	const uint32_t *x = a, *y = b;

	(void) arg;
	for (int i = 0; i < 3; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

/* Orders points on edges by edge and, on an edge, from its first end to its last. */
static int
by_split_edge(const void *a, const void *b, const void *arg)
{
	const splitting *s = arg;
	const triple *x = a, *y = b;

	if (x->a != y->a || x->b != y->b)
		return by_three_numbers(a, b, arg);
	return compare_along_split_edge(get_split_point(s, x->a), get_split_point(s, x->b),
									get_split_point(s, x->point), get_split_point(s, y->point));
}

/* Orders points on lines by line and, on a line, by position. */
static int
by_line_and_position(const void *a, const void *b, const void *arg)
{
	const splitting *s = arg;
	const triple *x = a, *y = b;
	const triangle_line *l = s->lines.at + x->a;

	if (x->a != y->a)
		return by_three_numbers(a, b, arg);
	return compare_along_split_edge(get_split_point(s, l->from), get_split_point(s, l->to),
									get_split_point(s, x->point), get_split_point(s, y->point));
}

/* Orders lines by their triangle and by the part that cuts it. */
static int
by_triangle_and_other(const void *a, const void *b, const void *arg)
{
	const triangle_line *x = a, *y = b;

	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	return by_three_numbers(&x->other, &y->other, arg);
}

/* Sorts a list of the split in the given order. */
static rb_status
sort_split_triples(const splitting *s, triple_vec *l, rb_compare order)
{
	return rb_sort(s->ctx, l->at, l->n, sizeof *l->at, order, s);
}

typedef struct triple_search
{
	const triple *at;
	uint32_t a, b;
} triple_search;

/* Returns true if triple i is less than the sought pair (a, b), for a binary search. */
static inline bool
is_triple_before(size_t i, const void *arg)
{
	const triple_search *s = arg;

	return s->at[i].a < s->a || (s->at[i].a == s->a && s->at[i].b < s->b);
}

/* Returns the position of the first triple not below (a, b). */
static uint32_t
find_split_triple(const triple_vec *l, uint32_t a, uint32_t b)
{
	const triple_search wanted = {l->at, a, b};

	return (uint32_t) rb_lower_bound(0, l->n, is_triple_before, &wanted);
}

/* ---- meetings ---- */

/* Records two parts of the PLC that meet, as the self join finds them. */
static rb_status
note_meeting(void *user, rb_meeting meeting)
{
	splitting *s = user;

	return append_split_triple(s, &s->meetings, meeting.red, meeting.blue, meeting.payload);
}

/* Records a point that splits the triangle edge or segment from a to b. */
static rb_status
note_on_edge(splitting *s, uint32_t a, uint32_t b, uint32_t point)
{
	return append_split_triple(s, &s->on_edge, a < b ? a : b, a < b ? b : a, point);
}

/*
 * Records that edge e of a triangle overlaps an edge of another part from one point to another.
 * Points on the edge between these two later divide the overlap.
 */
static rb_status
note_overlap_of_edges(splitting *s, uint32_t of, int e, uint32_t from, uint32_t to)
{
	const uint32_t a = s->plc->triangles[of][e], b = s->plc->triangles[of][(e + 1) % 3];

	RB_TRY(RESERVE(s, &s->overlaps, 1));
	s->overlaps.at[s->overlaps.n++] = (edge_overlap){a < b ? a : b, a < b ? b : a, from, to};
	return RB_OK;
}

/*
 * Records a line from one point to another in which part `other` cuts triangle `of`; `edges` are
 * the edges of that part that contain both points.
 */
static rb_status
note_line_in_split_triangle(splitting *s, uint32_t of, uint32_t other, uint32_t from, uint32_t to,
							unsigned edges)
{
	RB_TRY(RESERVE(s, &s->lines, 1));
	s->lines.at[s->lines.n++] = (triangle_line){
		of, other, from, to, edges == 0 ? RB_NONE : (uint32_t) __builtin_ctz(edges)};
	return RB_OK;
}

/* Records what another part leaves in a triangle: n points, the first of which has index `base`. */
static rb_status
note_meeting_in_split_triangle(splitting *s, uint32_t of, uint32_t other, const rb_meet *m, int n,
							   bool blue, uint32_t base)
{
	const uint32_t *corner = s->plc->triangles[of];
	const double *t = get_split_part_corners(s, of);

	for (int i = 0; i < n; i++)
	{
		const unsigned on = blue ? m[i].on_blue : m[i].on_red;

		if (rb_equal3(m[i].at, t) || rb_equal3(m[i].at, t + 3) || rb_equal3(m[i].at, t + 6))
			continue;
		if (on == 0)
			RB_TRY(append_split_triple(s, &s->inside, of, 0, base + (uint32_t) i));
		else
		{
			const int e = __builtin_ctz(on);

			RB_TRY(note_on_edge(s, corner[e], corner[(e + 1) % 3], base + (uint32_t) i));
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
record_meeting(splitting *s, const triple *meeting)
{
	const uint32_t part[2] = {meeting->a, meeting->b};
	rb_meet m[RB_MEET_POINTS];
	const int n = rb_meet_points(&s->env, get_split_part_corners(s, part[0]),
								 get_split_part_corners(s, part[1]), m);
	const uint32_t base = s->points.n;
	uint32_t number;

	for (int i = 0; i < n; i++)
		RB_TRY(append_split_point(s, m[i].at, &number));
	for (int side = 0; side < 2; side++)
	{
		if (part[side] < s->parts.first_segment)
			RB_TRY(
				note_meeting_in_split_triangle(s, part[side], part[!side], m, n, side == 1, base));
		else if (part[side] < s->parts.first_point)
		{
			const uint32_t *end = s->plc->segments[part[side] - s->parts.first_segment];

			for (int i = 0; i < n; i++)
				RB_TRY(note_on_edge(s, end[0], end[1], base + (uint32_t) i));
		}
	}
	return RB_OK;
}

/* ---- triangles that doubles do not resolve ---- */

/*
 * Returns the distance within which doubles do not reliably resolve points, in the given round; 0
 * if it is out of range.
 */
static double
unify_distance(const splitting *s, uint32_t round)
{
	double far = 0;

	for (size_t i = 0; i < 3 * (size_t) s->plc->npoints; i++)
		far = fmax(far, fabs(s->plc->points[i]));
	far = ldexp(far, -49 + 2 * (int) round);
	return far > 0x1p-900 && far < 0x1p900 ? far : 0;
}

/* Returns the distance up to which triangles are flat; 0 if it is out of range. */
static double
flat_distance(const splitting *s)
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
find_flat_corner(const splitting *s, uint32_t triangle, double far)
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

/*
 * Finds triangles that are so flat that a point on their longest edge, rounded, may be beyond the
 * opposite corner. Such a triangle is dropped, and the corner splits the edge for all others. Only
 * pieces of inputs that met others count. Of flat triangles that share an edge, some have to wait
 * for the next round.
 */
static rb_status
find_flat_triangles(splitting *s, const rb_meeting_inputs *meets)
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

		if (rb_stop_due(s->ctx, i, RB_CHECK_INTERVAL))
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

/* Splits the longest edges of flat triangles at the opposite corners. */
static rb_status
split_at_flat_corners(splitting *s)
{
	const double far = flat_distance(s);

	for (uint32_t i = 0; i < s->plc->ntriangles && s->nflat > 0; i++)
		if (s->flat[i])
		{
			const uint32_t *v = s->plc->triangles[i];
			const int corner = find_flat_corner(s, i, far);

			RB_TRY(note_on_edge(s, v[(corner + 1) % 3], v[(corner + 2) % 3], v[corner]));
		}
	return RB_OK;
}

/* ---- crossings of lines in a triangle ---- */

/* Gets start and end of the edge of the cutting part that contains a line of a triangle. */
static const double *
get_line_edge(const splitting *s, const triangle_line *l, const double **end)
{
	const double *t = get_split_part_corners(s, l->other);

	*end = t + 3 * ((l->edge + 1) % 3);
	return t + 3 * l->edge;
}

/* Computes the point at which two lines of a triangle cross. */
static bool
find_crossing_of_lines(const splitting *s, const triangle_line *l, const triangle_line *m,
					   double *point)
{
	const double *p, *q, *u, *v;

	if (l->edge == RB_NONE && m->edge == RB_NONE)
		return rb_meet_planes(get_split_part_corners(s, l->of), get_split_part_corners(s, l->other),
							  get_split_part_corners(s, m->other), point);
	if (l->edge != RB_NONE && m->edge != RB_NONE)
	{
		p = get_line_edge(s, l, &q);
		u = get_line_edge(s, m, &v);
		return rb_meet_lines(p, q, u, v, point);
	}
	if (l->edge == RB_NONE)
	{
		const triangle_line *swap = l;

		l = m;
		m = swap;
	}
	p = get_line_edge(s, l, &q);
	return rb_meet_line_plane(p, q, get_split_part_corners(s, m->other), point);
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
may_cross(const splitting *s, const triangle_line *l, const triangle_line *m)
{
	const double *a = get_split_point(s, l->from), *b = get_split_point(s, l->to),
				 *c = get_split_point(s, m->from), *d = get_split_point(s, m->to);
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

/* Finds the crossings of lines on the same triangle. */
static rb_status
cross_split_lines(splitting *s)
{
	uint64_t steps = 0;

	for (uint32_t i = 0; i < s->lines.n; i++)
		for (uint32_t k = i + 1; k < s->lines.n; k++)
		{
			const triangle_line *l = s->lines.at + i, *m = s->lines.at + k;
			double point[3];
			uint32_t number;

			if (l->of != m->of)
				break;
			if (++steps % RB_CHECK_INTERVAL == 0 && rb_should_stop(s->ctx))
				return RB_STOPPED;
			if (!may_cross(s, l, m) || !find_crossing_of_lines(s, l, m, point) ||
				!is_between_on_axes(get_split_point(s, l->from), get_split_point(s, l->to),
									point) ||
				!is_between_on_axes(get_split_point(s, m->from), get_split_point(s, m->to), point))
				continue;
			RB_TRY(append_split_point(s, point, &number));
			RB_TRY(append_split_triple(s, &s->cuts, i, 0, number));
			RB_TRY(append_split_triple(s, &s->cuts, k, 0, number));
		}
	return RB_OK;
}

/* ---- unification of points ---- */

/* Replaces points by the first ones with equal coordinates. */
static void
replace_equal_split_points(splitting *s, triple_vec *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n; i++)
	{
		triple t = l->at[i];

		t.point = s->corners.first[t.point];
		/* An end of the edge does not split it. */
		if (l != &s->on_edge || (t.point != t.a && t.point != t.b))
			l->at[n++] = t;
	}
	l->n = n;
}

/* Returns the head of the chain of a grid cell. */
static uint32_t *
chain_of_split_grid_cell(const splitting *s, const int64_t *cell)
{
	const uint64_t hash = (uint64_t) cell[0] * 0x9e3779b97f4a7c15u +
						  (uint64_t) cell[1] * 0xc2b2ae3d27d4eb4fu +
						  (uint64_t) cell[2] * 0x165667b19e3779f9u;

	return rb_chain_first(&s->cells, rb_mix(hash));
}

/* Returns the first point within distance `far` on each axis, or RB_NONE. */
static uint32_t
near_split_point(splitting *s, const double *p, double far)
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
			const double *q = get_split_point(s, i);

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
snap_split_points(splitting *s, uint32_t *first, uint32_t n)
{
	double *points = (double *) s->points.at;
	const uint32_t different = s->points.n;
	uint32_t *next, *name, kept = 0;
	const double far = unify_distance(s, s->round);

	if (far == 0)
		return RB_OK;
	RB_TRY(rb_chains_reset(s->ctx, &s->cells, different));
	s->next.n = 0;
	RB_TRY(RESERVE(s, &s->next, 2 * (size_t) different));
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
		if (rb_stop_due(s->ctx, i, RB_CHECK_INTERVAL))
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

/* Numbers the distinct points and replaces all others. */
static rb_status
number_distinct_points(splitting *s)
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
		triangle_line *l = s->lines.at + i;

		l->from = first[l->from];
		l->to = first[l->to];
	}
	replace_equal_split_points(s, &s->on_edge);
	replace_equal_split_points(s, &s->inside);
	replace_equal_split_points(s, &s->cuts);
	for (uint32_t i = 0; i < s->hard.n; i++)
	{
		triple *t = s->hard.at + i;

		t->a = first[t->a];
		t->b = first[t->b];
	}
	for (uint32_t i = 0; i < s->overlaps.n; i++)
	{
		edge_overlap *o = s->overlaps.at + i;

		o->from = first[o->from];
		o->to = first[o->to];
	}
	status = sort_split_triples(s, &s->on_edge, by_split_edge);
	if (status == RB_OK)
		status = sort_split_triples(s, &s->inside, by_three_numbers);
	if (status == RB_OK)
		status = sort_split_triples(s, &s->cuts, by_line_and_position);
	return status;
}

/* ---- splitting of a triangle ---- */

/*
 * Appends a point to the ring around the current triangle, or to the current segment, unless it
 * repeats the last one.
 */
static rb_status
append_ring_point(splitting *s, uint32_t point)
{
	RB_TRY(RESERVE(s, &s->ring, 1));
	if (s->ring.n == 0 || s->ring.at[s->ring.n - 1] != point)
		s->ring.at[s->ring.n++] = point;
	return RB_OK;
}

/* Appends a and the points on the edge from a to b, in this order. */
static rb_status
append_edge_points(splitting *s, uint32_t a, uint32_t b)
{
	const uint32_t low = a < b ? a : b, high = a < b ? b : a;
	const triple *t = s->on_edge.at;
	const uint32_t from = find_split_triple(&s->on_edge, low, high);
	uint32_t to = from;

	RB_TRY(append_ring_point(s, a));
	while (to < s->on_edge.n && t[to].a == low && t[to].b == high)
		to++;
	for (uint32_t i = 0; i < to - from; i++)
		RB_TRY(append_ring_point(s, t[a == low ? from + i : to - 1 - i].point));
	return RB_OK;
}

/* Appends bytes to the EWKB polygon from which the current triangle is triangulated again. */
static rb_status
append_split_polygon_bytes(splitting *s, const void *bytes, size_t n)
{
	RB_TRY(RESERVE(s, &s->bytes, n));
	memcpy(s->bytes.at + s->bytes.n, bytes, n);
	s->bytes.n += (uint32_t) n;
	return RB_OK;
}

/*
 * Appends a closed ring of n points, outer or hole, to the polygon of the triangle that is split.
 */
static rb_status
append_split_polygon_ring(splitting *s, const uint32_t *point, uint32_t n, uint32_t *rings)
{
	const uint32_t count = n > 1 ? n + 1 : n;

	RB_TRY(append_split_polygon_bytes(s, &count, sizeof count));
	for (uint32_t i = 0; i < count; i++)
		RB_TRY(append_split_polygon_bytes(s, get_split_point(s, point[i % n]), 3 * sizeof(double)));
	++*rings;
	return RB_OK;
}

/*
 * Adds a line between two points of a triangle that is split: as a segment, and as an edge of the
 * triangle's polygon.
 */
static rb_status
append_split_line(splitting *s, uint32_t from, uint32_t to, uint32_t outer, uint32_t *rings)
{
	const uint32_t *ring = s->ring.at;
	const uint32_t piece[2] = {from, to};

	if (from == to)
		return RB_OK;
	RB_TRY(append_split_triple(s, &s->hard, from, to, 0));
	for (uint32_t i = 0; i < outer; i++)
	{
		const uint32_t next = ring[i + 1 < outer ? i + 1 : 0];

		if ((ring[i] == from && next == to) || (ring[i] == to && next == from))
			return RB_OK;
	}
	RB_TRY(append_split_polygon_ring(s, piece, 2, rings));
	/* Append the ends after the outer ring, where the corners of new triangles are looked up. */
	for (int i = 0; i < 2; i++)
	{
		RB_TRY(RESERVE(s, &s->ring, 1));
		s->ring.at[s->ring.n++] = piece[i];
	}
	return RB_OK;
}

/* Appends a triangle that is part of the given one. */
static rb_status
add_split_triangle(splitting *s, uint32_t of, const uint32_t *corner)
{
	RB_TRY(RESERVE(s, &s->triangles, 1));
	RB_TRY(RESERVE(s, &s->facet_of, 1));
	RB_TRY(RESERVE(s, &s->triangle_of, 1));
	memcpy(s->triangles.at[s->triangles.n++], corner, 3 * sizeof *corner);
	s->facet_of.at[s->facet_of.n++] = s->plc->facet_of[of];
	s->triangle_of.at[s->triangle_of.n++] = s->pieces->triangle_of[of];
	return RB_OK;
}

/*
 * Triangulates the polygon in `bytes`. If that fails, the triangle is kept unsplit and recorded. It
 * still crosses others, so another round follows, in which nearby points are unified.
 */
static rb_status
triangulate_split_polygon(splitting *s, uint32_t of)
{
	const uint32_t *known = s->ring.at;
	rb_builder b;
	rb_geometry_info info;
	rb_error error = {.status = RB_OK};
	rb_geometry_fault fault;
	rb_status status = RB_OK;

	rb_builder_init(&b, s->ctx->memory, RB_TRIANGLE3);
	fault = rb_geometry_read_ewkb(&b, s->bytes.at, s->bytes.n, &info, &error);
	if (fault == RB_GEOMETRY_NO_MEMORY)
		status = rb_fail(s->ctx, error.status, error.need, error.limit, NULL);
	else if (fault != RB_GEOMETRY_OK || b.nparts == 0)
	{
		status = add_split_triangle(s, of, s->plc->triangles[of]);
	}
	else
		s->changed = true;
	for (uint32_t i = 0; i < b.nparts && fault == RB_GEOMETRY_OK && status == RB_OK; i++)
	{
		uint32_t corner[3];

		for (int k = 0; k < 3; k++)
		{
			uint32_t j = 0;

			while (j + 1 < s->ring.n &&
				   !rb_equal3(get_split_point(s, known[j]), b.coords + 9 * (size_t) i + 3 * k))
				j++;
			corner[k] = known[j];
		}
		if (corner[0] != corner[1] && corner[1] != corner[2] && corner[2] != corner[0])
			status = add_split_triangle(s, of, corner);
		if (rb_stop_due(s->ctx, i, RB_CHECK_INTERVAL))
			status = RB_STOPPED;
	}
	rb_builder_free(&b);
	return status;
}

/*
 * Splits a triangle at its lines line_from up to line_to - 1. *cut is the position of the first cut
 * of these lines and is advanced past the last one.
 */
static rb_status
split_triangle_at_lines(splitting *s, uint32_t of, uint32_t line_from, uint32_t line_to,
						uint32_t *cut)
{
	const uint32_t *corner = s->plc->triangles[of];
	const uint16_t one = 1;
	const uint8_t order =
		*(const uint8_t *) &one; /* byte order of the machine: 1 if little endian */
	const uint32_t type = UINT32_C(0x80000003);
	uint32_t outer, rings = 0, inside = find_split_triple(&s->inside, of, 0);

	s->ring.n = s->bytes.n = 0;
	for (int e = 0; e < 3; e++)
		RB_TRY(append_edge_points(s, corner[e], corner[(e + 1) % 3]));
	outer = s->ring.n;
	if (outer == 3 && line_from == line_to &&
		(inside == s->inside.n || s->inside.at[inside].a != of))
		return add_split_triangle(s, of, corner);
	RB_TRY(append_split_polygon_bytes(s, &order, 1));
	RB_TRY(append_split_polygon_bytes(s, &type, sizeof type));
	RB_TRY(append_split_polygon_bytes(s, &rings, sizeof rings));
	RB_TRY(append_split_polygon_ring(s, s->ring.at, outer, &rings));
	for (uint32_t i = line_from; i < line_to; i++)
	{
		const triangle_line *l = s->lines.at + i;
		uint32_t from = l->from;

		for (; *cut < s->cuts.n && s->cuts.at[*cut].a == i; ++*cut)
		{
			RB_TRY(append_split_line(s, from, s->cuts.at[*cut].point, outer, &rings));
			from = s->cuts.at[*cut].point;
		}
		RB_TRY(append_split_line(s, from, l->to, outer, &rings));
	}
	for (; inside < s->inside.n && s->inside.at[inside].a == of; inside++)
	{
		const uint32_t point = s->inside.at[inside].point;
		uint32_t i = 0;

		while (i < s->ring.n && s->ring.at[i] != point)
			i++;
		if (i < s->ring.n)
			continue;
		RB_TRY(append_split_polygon_ring(s, &point, 1, &rings));
		RB_TRY(RESERVE(s, &s->ring, 1));
		s->ring.at[s->ring.n++] = point;
	}
	memcpy(s->bytes.at + 5, &rings, sizeof rings);
	return triangulate_split_polygon(s, of);
}

/* ---- points near lines ---- */

/*
 * Returns true if a point is within distance `far` of the edge or line from a to b, between its
 * ends.
 */
static bool
is_point_near_line(const splitting *s, uint32_t a, uint32_t b, uint32_t point, double far)
{
	const double *p = get_split_point(s, a), *q = get_split_point(s, b),
				 *r = get_split_point(s, point);
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
	const triangle_line *at;
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
find_split_line(const splitting *s, uint32_t of, uint32_t other)
{
	const line_search wanted = {s->lines.at, of, other};

	return (uint32_t) rb_lower_bound(0, s->lines.n, is_line_before, &wanted);
}

/* Records a point near the edge from a to b. */
static rb_status
note_near_edge(splitting *s, uint32_t a, uint32_t b, uint32_t point)
{
	return append_split_triple(s, &s->near_edge, a < b ? a : b, a < b ? b : a, point);
}

/* Splits a line of a triangle at a point near it, and the same line or edge of the other part. */
static rb_status
split_line_at_point(splitting *s, uint32_t line, uint32_t point)
{
	const triangle_line l = s->lines.at[line];

	RB_TRY(append_split_triple(s, &s->cuts, line, 0, point));
	if (l.other >= s->parts.first_segment)
		return RB_OK;
	if (l.edge != RB_NONE)
	{
		const uint32_t *v = s->plc->triangles[l.other];

		return note_near_edge(s, v[l.edge], v[(l.edge + 1) % 3], point);
	}
	for (uint32_t i = find_split_line(s, l.other, l.of); i < s->lines.n; i++)
	{
		const triangle_line *twin = s->lines.at + i;

		if (twin->of != l.other || twin->other != l.of)
			break;
		if ((twin->from == l.from && twin->to == l.to) ||
			(twin->from == l.to && twin->to == l.from))
			RB_TRY(append_split_triple(s, &s->cuts, i, 0, point));
	}
	return RB_OK;
}

/* Splits the edges and lines of a triangle at its points near them. */
static rb_status
split_triangle_at_near_points(splitting *s, uint32_t of, uint32_t line_from, uint32_t line_to,
							  uint32_t cut_from, uint32_t cut_to, double far)
{
	const uint32_t *corner = s->plc->triangles[of];
	uint32_t outer;

	s->ring.n = 0;
	for (int e = 0; e < 3; e++)
		RB_TRY(append_edge_points(s, corner[e], corner[(e + 1) % 3]));
	outer = s->ring.n;
	for (uint32_t i = line_from; i < line_to; i++)
	{
		RB_TRY(append_ring_point(s, s->lines.at[i].from));
		RB_TRY(append_ring_point(s, s->lines.at[i].to));
	}
	for (uint32_t i = cut_from; i < cut_to; i++)
		RB_TRY(append_ring_point(s, s->cuts.at[i].point));
	for (uint32_t i = 0; i < s->ring.n; i++)
	{
		const uint32_t point = s->ring.at[i];

		for (int e = 0; e < 3 && i >= outer; e++)
			if (is_point_near_line(s, corner[e], corner[(e + 1) % 3], point, far))
				RB_TRY(note_near_edge(s, corner[e], corner[(e + 1) % 3], point));
		for (uint32_t k = line_from; k < line_to; k++)
			if (is_point_near_line(s, s->lines.at[k].from, s->lines.at[k].to, point, far))
				RB_TRY(split_line_at_point(s, k, point));
		if (i % 64 == 63 && rb_should_stop(s->ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

/*
 * Splits edges and lines at points of their triangles that are so near that rounding may have put
 * the points beyond them: lines would then cross, and the triangle could not be split.
 */
static rb_status
split_at_near_points(splitting *s)
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
		const triple t = s->near_edge.at[i];

		/* The point may be an end of another triangle's edge. */
		if (t.point != t.a && t.point != t.b)
			RB_TRY(append_split_triple(s, &s->on_edge, t.a, t.b, t.point));
	}
	RB_TRY(sort_split_triples(s, &s->on_edge, by_split_edge));
	return sort_split_triples(s, &s->cuts, by_line_and_position);
}

/* Cuts all triangles along their lines. */
static rb_status
split_triangles_at_lines(splitting *s)
{
	uint32_t from = 0, cut = 0;

	for (uint32_t i = 0; i < s->plc->ntriangles; i++)
	{
		uint32_t to = from;

		while (to < s->lines.n && s->lines.at[to].of == i)
			to++;
		if (s->flat != NULL && s->flat[i])
			while (cut < s->cuts.n && s->cuts.at[cut].a < to)
				cut++;
		else
			RB_TRY(split_triangle_at_lines(s, i, from, to, &cut));
		s->changed |= s->nflat > 0;
		from = to;
		if (i % 64 == 63 && rb_should_stop(s->ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Adds the parts of an overlap of two edges between the points on the edge as segments. */
static rb_status
cut_overlap(splitting *s, const edge_overlap *o)
{
	uint32_t last = RB_NONE;
	bool inside = false;

	s->ring.n = 0;
	RB_TRY(append_edge_points(s, o->low, o->high));
	RB_TRY(append_ring_point(s, o->high));
	for (uint32_t i = 0; i < s->ring.n && o->from != o->to; i++)
	{
		const uint32_t point = s->ring.at[i];

		if (inside)
			RB_TRY(append_split_triple(s, &s->segments, last, point, RB_NONE));
		if (point == o->from || point == o->to)
		{
			if (inside)
				return RB_OK;
			inside = true;
		}
		last = point;
	}
	return RB_OK;
}

/* Cuts all segments at the points on them. */
static rb_status
cut_segments(splitting *s)
{
	for (uint32_t i = 0; i < s->plc->nsegments; i++)
	{
		const uint32_t *end = s->plc->segments[i];

		s->ring.n = 0;
		RB_TRY(append_edge_points(s, end[0], end[1]));
		RB_TRY(append_ring_point(s, end[1]));
		s->changed |= s->ring.n > 2;
		for (uint32_t k = 0; k + 1 < s->ring.n; k++)
			RB_TRY(append_split_triple(s, &s->segments, s->ring.at[k], s->ring.at[k + 1],
									   s->pieces->segment_of[i]));
	}
	for (uint32_t i = 0; i < s->hard.n; i++)
	{
		const triple *t = s->hard.at + i;

		if (t->a != t->b)
			RB_TRY(append_split_triple(s, &s->segments, t->a, t->b, RB_NONE));
	}
	for (uint32_t i = 0; i < s->overlaps.n; i++)
		RB_TRY(cut_overlap(s, s->overlaps.at + i));
	return RB_OK;
}

/* ---- assembly of the result ---- */

/* Removes all but the first of the triangles with equal corners. */
static rb_status
drop_equal_split_triangles(splitting *s)
{
	uint32_t *t = (uint32_t *) s->triangles.at, *facet_of = s->facet_of.at,
			 *triangle_of = s->triangle_of.at;
	uint32_t n = 0;

	rb_table_empty(&s->found);
	RB_TRY(rb_table_expect(s->ctx, &s->found, s->triangles.n));
	for (uint32_t i = 0; i < s->triangles.n; i++)
	{
		const uint32_t *v = t + 3 * (size_t) i;
		bool fresh;

		RB_TRY(rb_table_insert(s->ctx, &s->found, v[0], v[1], v[2], n, NULL, &fresh));
		if (fresh)
		{
			memmove(t + 3 * (size_t) n, v, 3 * sizeof *t);
			facet_of[n] = facet_of[i];
			triangle_of[n++] = triangle_of[i];
		}
		if (rb_stop_due(s->ctx, i, RB_CHECK_INTERVAL))
			return RB_STOPPED;
	}
	s->changed |= n < s->triangles.n;
	s->split->dropped += s->triangles.n - n;
	s->triangles.n = s->facet_of.n = s->triangle_of.n = n;
	return RB_OK;
}

/*
 * Removes duplicate segments, and those created here on the boundary of a facet. Given segments are
 * kept, because polygons are not merged across them.
 */
static rb_status
drop_segments(splitting *s)
{
	triple *segment = s->segments.at;
	uint32_t n = 0;

	rb_table_empty(&s->found);
	RB_TRY(rb_table_expect(s->ctx, &s->found, s->segments.n));
	for (uint32_t i = 0; i < s->segments.n; i++)
	{
		bool fresh;

		RB_TRY(rb_table_insert(s->ctx, &s->found, segment[i].a, segment[i].b, RB_NONE, n, NULL,
							   &fresh));
		if (fresh)
			segment[n++] = segment[i];
	}
	s->segments.n = n;
	/*
	 * Collect triangle edges that are segments created here. An edge that occurs once in a facet is
	 * on the facet's boundary.
	 */
	for (uint32_t i = 0; i < s->triangles.n && n > 0; i++)
	{
		const uint32_t *t = s->triangles.at[i];

		for (int k = 0; k < 3; k++)
		{
			const uint32_t *place = rb_table_get(&s->found, t[k], t[(k + 1) % 3], RB_NONE);

			if (place != NULL && segment[*place].point == RB_NONE)
				RB_TRY(append_split_triple(s, &s->borders, *place, s->facet_of.at[i], 0));
		}
		if (rb_stop_due(s->ctx, i, RB_CHECK_INTERVAL))
			return RB_STOPPED;
	}
	RB_TRY(sort_split_triples(s, &s->borders, by_three_numbers));
	for (uint32_t i = 0; i < s->borders.n; i++)
	{
		const triple *t = s->borders.at + i;
		const bool first = i == 0 || t[-1].a != t->a || t[-1].b != t->b;
		const bool last = i + 1 == s->borders.n || t[1].a != t->a || t[1].b != t->b;

		if (first && last)
			segment[t->a].a = segment[t->a].b = RB_NONE;
	}
	n = 0;
	for (uint32_t i = 0; i < s->segments.n; i++)
		if (segment[i].a != RB_NONE)
			segment[n++] = segment[i];
	s->segments.n = n;
	return RB_OK;
}

/* Allocates everything that can fail before the PLC is changed. */
static rb_status
reserve_result(splitting *s)
{
	rb_welded *w = s->welded;
	const size_t n = s->npoints, m = (size_t) s->segments.n + 1;

	RB_TRY(RB_ALLOCATE(s->ctx, w->point_row, n));
	RB_TRY(RB_ALLOCATE(s->ctx, w->point_side, n));
	RB_TRY(rb_array(s->ctx, (void **) &s->ends, m, 2 * sizeof *s->ends));
	RB_TRY(RB_ALLOCATE(s->ctx, s->segment_of, m));
	return RB_ALLOCATE(s->ctx, s->rows, m);
}

/* Replaces an array of the PLC by the one of the split PLC, and frees the old one. */
static void
swap_blocks(rb_memory *memory, void **old, void **made)
{
	rb_free(memory, old);
	*old = *made;
	*made = NULL;
}

/* Removes facets without triangles and renumbers the others. */
static void
number_split_facets(splitting *s)
{
	uint32_t *facet_of = s->facet_of.at;
	rb_welded *w = s->welded;
	uint32_t last = RB_NONE, n = 0;

	for (uint32_t i = 0; i < s->facet_of.n; i++)
	{
		if (facet_of[i] != last)
		{
			last = facet_of[i];
			w->facet_row[n] = w->facet_row[last];
			w->facet_face[n] = w->facet_face[last];
			memmove(w->plane[n], w->plane[last], sizeof *w->plane);
			if (w->group != NULL)
				w->group[n] = w->group[last];
			n++;
		}
		facet_of[i] = n - 1;
	}
	w->plc.nfacets = w->npolygons = n;
}

/* Moves points, segments and triangles to the PLC. */
static rb_status
move_result(splitting *s)
{
	rb_memory *memory = s->ctx->memory;
	rb_welded *w = s->welded;
	rb_plc *plc = &w->plc;

	RB_TRY(reserve_result(s));
	for (uint32_t i = plc->npoints; i < s->npoints; i++)
	{
		w->point_row[i] = RB_NONE;
		w->point_side[i] = RB_WELD_SPLIT;
	}
	for (uint32_t i = 0; i < s->segments.n; i++)
	{
		const triple *t = s->segments.at + i;

		s->ends[2 * (size_t) i] = t->a;
		s->ends[2 * (size_t) i + 1] = t->b;
		s->segment_of[i] = t->point;
		s->rows[i] = t->point == RB_NONE ? RB_NONE : s->pieces->rows[t->point];
	}
	number_split_facets(s);
	plc->npoints = s->npoints;
	plc->ntriangles = s->triangles.n;
	plc->nsegments = s->segments.n;
	swap_blocks(memory, (void **) &plc->points, (void **) &s->points.at);
	swap_blocks(memory, (void **) &plc->triangles, (void **) &s->triangles.at);
	swap_blocks(memory, (void **) &plc->facet_of, (void **) &s->facet_of.at);
	swap_blocks(memory, (void **) &plc->segments, (void **) &s->ends);
	swap_blocks(memory, (void **) &w->segment_row, (void **) &s->rows);
	swap_blocks(memory, (void **) &s->pieces->triangle_of, (void **) &s->triangle_of.at);
	swap_blocks(memory, (void **) &s->pieces->segment_of, (void **) &s->segment_of);
	return RB_OK;
}

/* Frees the arrays of the splitting. */
static void
free_splitting(splitting *s)
{
	rb_memory *memory = s->ctx->memory;

	rb_vec_free(memory, &s->meetings);
	rb_vec_free(memory, &s->points);
	rb_vec_free(memory, &s->lines);
	rb_vec_free(memory, &s->on_edge);
	rb_vec_free(memory, &s->near_edge);
	rb_vec_free(memory, &s->inside);
	rb_vec_free(memory, &s->cuts);
	rb_vec_free(memory, &s->hard);
	rb_vec_free(memory, &s->overlaps);
	rb_vec_free(memory, &s->ring);
	rb_vec_free(memory, &s->bytes);
	rb_vec_free(memory, &s->triangles);
	rb_vec_free(memory, &s->facet_of);
	rb_vec_free(memory, &s->triangle_of);
	rb_vec_free(memory, &s->segments);
	rb_vec_free(memory, &s->next);
	rb_vec_free(memory, &s->borders);
	RB_FREE(memory, s->ends);
	RB_FREE(memory, s->rows);
	RB_FREE(memory, s->segment_of);
	RB_FREE(memory, s->flat);
	rb_table_free(memory, &s->found);
	RB_FREE(memory, s->cells.first);
	rb_point_hash_free(memory, &s->corners);
	rb_parts_free(memory, &s->parts);
}

/* Splits all parts that meet other parts. */
static rb_status
split_parts(splitting *s)
{
	RB_TRY(sort_split_triples(s, &s->meetings, by_three_numbers));
	RB_TRY(RESERVE(s, &s->points, s->plc->npoints));
	memcpy(s->points.at, s->plc->points, 3 * (size_t) s->plc->npoints * sizeof(double));
	s->points.n = s->plc->npoints;
	for (uint32_t i = 0; i < s->meetings.n; i++)
	{
		RB_TRY(record_meeting(s, s->meetings.at + i));
		if (i % 64 == 63 && rb_should_stop(s->ctx))
			return RB_STOPPED;
	}
	RB_TRY(split_at_flat_corners(s));
	RB_TRY(rb_sort(s->ctx, s->lines.at, s->lines.n, sizeof *s->lines.at, by_triangle_and_other, s));
	RB_TRY(cross_split_lines(s));
	RB_TRY(number_distinct_points(s));
	RB_TRY(split_at_near_points(s));
	RB_TRY(split_triangles_at_lines(s));
	RB_TRY(cut_segments(s));
	RB_TRY(drop_equal_split_triangles(s));
	RB_TRY(drop_segments(s));
	return move_result(s);
}

/* Marks the inputs of the pieces that meet others. */
static void
mark_meeting_inputs(const splitting *s, uint8_t mark, rb_meeting_inputs *meets)
{
	const rb_parts *parts = &s->parts;

	for (uint32_t i = 0; i < s->meetings.n; i++)
	{
		const uint32_t part[2] = {s->meetings.at[i].a, s->meetings.at[i].b};

		for (int side = 0; side < 2; side++)
			if (part[side] < parts->first_segment)
				meets->triangle[s->pieces->triangle_of[part[side]]] |= mark;
			else if (part[side] < parts->first_point)
			{
				const uint32_t of = s->pieces->segment_of[part[side] - parts->first_segment];

				if (of != RB_NONE)
					meets->segment[of] |= mark;
			}
			else if (parts->point[part[side] - parts->first_point] < meets->npoints)
				meets->point[parts->point[part[side] - parts->first_point]] |= mark;
	}
}

/*
 * Returns true if further rounds are not likely to help. The first rounds may increase the number
 * of meetings a little: two triangles that overlap are cut into pieces that overlap with other
 * diagonals.
 */
static bool
is_hopeless(uint32_t round, uint32_t before, uint32_t meetings)
{
	return round < RB_ROUNDS_FREE ? meetings / 2 > before + 32 : meetings > before / 2;
}

rb_status
rb_pieces_split(rb_context *ctx, const rb_backend *backend, rb_plc_pieces *pieces,
				rb_meeting_inputs *meets, rb_split_done *split, bool *sound)
{
	bool done = false, changed = true;
	uint32_t before = 0; /* number of meetings in the previous round */
	rb_status status = RB_OK;

	*sound = false;
	for (uint32_t round = 0; !done && status == RB_OK; round++)
	{
		splitting s = {.ctx = ctx,
					   .pieces = pieces,
					   .welded = pieces->welded,
					   .plc = &pieces->welded->plc,
					   .env = {.filters = ctx->filters, .exact = true},
					   .split = split,
					   .round = round};

		status = rb_parts_build(ctx, s.plc, &s.parts);
		if (status == RB_OK)
			status = rb_parts_join(ctx, backend, &s.parts, note_meeting, &s);
		if (status == RB_OK && round < RB_FLAT_ROUNDS)
			status = find_flat_triangles(&s, meets);
		*sound = status == RB_OK && s.meetings.n == 0;
		done = s.meetings.n + s.nflat == 0 || !changed || round == RB_ROUNDS ||
			   (round > 0 && is_hopeless(round, before, s.meetings.n + s.nflat));
		before = s.meetings.n + s.nflat;
		if (status == RB_OK)
			mark_meeting_inputs(&s, done ? RB_INPUT_MEETS | RB_INPUT_MET : RB_INPUT_MET, meets);
		if (status == RB_OK && !done)
		{
			status = split_parts(&s);
			split->rounds++;
		}
		changed = s.changed;
		free_splitting(&s);
	}
	return status;
}
