/*
 * validity.c
 *	  Checks whether a set of triangles is the boundary of a solid.
 *
 * Vertices are identified if their coordinates are equal, and edges if their endpoints are.
 *
 * Closed: every edge is used an even number of times, by two faces, four faces, and so on. Then the
 * numbers of triangles crossed by any two rays from the same point have the same parity. It
 * suffices that either the triangles with an area or all triangles together meet this condition. A
 * triangle without area may fill the gap where a vertex lies on the edge of another triangle, or it
 * may be superfluous.
 *
 * Oriented: every edge is used equally often in both directions, and the winding number is 1 inside
 * and 0 outside. So normals point outward, which also means into cavities. The normals of a part
 * inside a cavity point outward from that part. The winding number changes only at triangles, and
 * two triangles that share an edge with no third triangle have consistent normals. So for each
 * connected component of such triangles, the winding number is computed on the two sides of one
 * triangle:
 *
 *		q = c + d n + (e, e^2),		c its centroid, n its normal, 0 < e << d << 1,
 *
 * and likewise for -d. An upward ray starts at q, and each triangle that it crosses counts 1 if its
 * normal points up and -1 if it points down. The position of q relative to an edge ab in the xy
 * projection, and relative to the plane of another triangle with normal m, is the first nonzero
 * value of
 *
 *		3 orient2d(a, b, c) = sum of orient2d(a, b, vertex), then (b - a) x n, then as in ray.h;
 *		3 m . (c - a)       = sum of m . (vertex - a), then m . n, then as in ray.h.
 *
 * A solid can have many components. To avoid testing all triangles for each of them, the triangles
 * are stored in a hierarchical grid of squares in the xy plane, with one level for each power of
 * two. A triangle is stored in the square of the lower corner of its bounding rectangle. It lies
 * within that square and the next ones to the right and above.
 *
 * Two coincident triangles with opposite normals do not change the winding number. This file does
 * not check whether triangles cross each other.
 */
#include "core/solid/solid.h"
#include "core/base/point_hash.h"
#include "core/base/union_find.h"
#include "core/base/base.h"
#include "core/primitive/ray.h"

#define NONE UINT32_MAX
#define CHECK_INTERVAL 4096 /* Cheap steps between checks for cancellation */

typedef struct edge
{
	uint32_t from; /* Vertices, each given by its first occurrence; from < to */
	uint32_t to;
	uint32_t first;     /* First triangle that uses the edge */
	uint32_t uses[2];   /* Uses by triangles with an area, from -> to and to -> from */
	uint32_t others[2]; /* Uses by triangles without area */
} edge;

/* Packs the vertices of an edge, from < to, into the key of the edge table. */
static inline uint64_t
ends_of_triangle_edge(const edge *e)
{
	return (uint64_t) e->from << 32 | e->to;
}

/* Finds the number of an edge by its ends, from << 32 | to */
#define RB_HASH edge_table
#define RB_HASH_SLOT uint32_t
#define RB_HASH_KEY uint64_t
#define RB_HASH_ARG const edge *
#define RB_HASH_OF(edges, ends) rb_mix(ends)
#define RB_HASH_EQUAL(edges, slot, ends) (ends_of_triangle_edge(&(edges)[slot]) == (ends))
#define RB_HASH_KEY_OF(edges, slot) ends_of_triangle_edge(&(edges)[slot])
#define RB_HASH_NUMBERED
#include "core/base/hash.h"

typedef struct check
{
	rb_context *ctx;
	const double *t;
	uint32_t n;
	rb_solid_report *report;
	bool closed_only;
	const uint32_t *face_of; /* Polygon of each triangle; NULL if each triangle is a face */
	rb_point_hash corners;
	uint32_t *side; /* For each vertex of a triangle, the edge to the next vertex */
	edge_table table;
	RB_VEC(edge) edges;
	uint8_t *flat;
	uint32_t *lot; /* Union-find parent of each triangle, for connected components */
	/* Grid of squares */
	rb_chains squares;
	uint32_t *next;  /* Next triangle in the same chain, or NONE */
	int finest;      /* Size of the smallest squares, as a power of two */
	int coarsest;    /* Highest level; the squares of level k have the size 2^(finest + k) */
	uint64_t levels; /* Bitmap of the levels that contain triangles */
	uint32_t looks;
} check;

/* ---- edges ---- */

/*
 * Returns the number of an edge of the surface that is checked for open edges, which is added if
 * it is new.
 */
static rb_status
find_or_add_surface_edge(check *c, uint32_t from, uint32_t to, uint32_t triangle, uint32_t *found)
{
	uint32_t *slot;

	RB_TRY(edge_table_reserve(c->ctx, &c->table, c->edges.at, 1));
	slot = edge_table_find(&c->table, c->edges.at, (uint64_t) from << 32 | to);
	if (*slot == RB_HASH_FREE)
	{
		RB_TRY(rb_vec_append(c->ctx, &c->edges, (edge){.from = from, .to = to, .first = triangle}));
		*slot = (uint32_t) c->table.n++;
	}
	*found = *slot;
	return RB_OK;
}

/* Counts the uses of each edge in both directions. */
static rb_status
count_uses_of_edges(check *c)
{
	rb_status status = edge_table_reset(c->ctx, &c->table, (size_t) 3 * c->n / 2);
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};

	for (uint32_t i = 0; i < c->n && status == RB_OK; i++)
	{
		const double *t = c->t + 9 * (size_t) i;

		c->flat[i] = rb_projection_axis(&env, t, t + 3, t + 6) == -1;
		c->report->flat += c->flat[i];
		for (uint32_t k = 0; k < 3 && status == RB_OK; k++)
		{
			uint32_t a = c->corners.first[3 * i + k], b = c->corners.first[3 * i + (k + 1) % 3];
			uint32_t found;

			c->side[3 * i + k] = NONE;
			if (a == b)
				continue;
			status = find_or_add_surface_edge(c, a < b ? a : b, a < b ? b : a, i, &found);
			if (status != RB_OK)
				break;
			c->side[3 * i + k] = found;
			(c->flat[i] ? c->edges.at[found].others : c->edges.at[found].uses)[a > b]++;
		}
		if (rb_stop_due(c->ctx, i, CHECK_INTERVAL))
			status = RB_STOPPED;
	}
	return status;
}

/*
 * Returns how often an edge is used in one direction, optionally including uses by triangles
 * without area.
 */
static uint32_t
uses_of_surface_edge(const edge *e, int direction, bool all)
{
	return e->uses[direction] + (all ? e->others[direction] : 0);
}

/*
 * Returns the first edge with an odd number of uses or, if `directions` is set, with unequal
 * numbers of uses in the two directions.
 */
static uint32_t
find_first_edge_fault(const check *c, bool all, bool directions)
{
	for (uint32_t i = 0; i < c->edges.n; i++)
	{
		uint32_t there = uses_of_surface_edge(&c->edges.at[i], 0, all),
				 back = uses_of_surface_edge(&c->edges.at[i], 1, all);

		if (directions ? there != back : (there + back) % 2 == 1)
			return i;
	}
	return NONE;
}

/* Reports a fault at an edge. */
static void
report_edge_fault(check *c, rb_solid_fault fault, uint32_t at)
{
	const edge *e = &c->edges.at[at];

	c->report->fault = fault;
	c->report->triangle = e->first;
	c->report->uses = uses_of_surface_edge(e, 0, true) + uses_of_surface_edge(e, 1, true);
	memcpy(c->report->edge, c->t + 3 * (size_t) e->from, 3 * sizeof(double));
	memcpy(c->report->edge + 3, c->t + 3 * (size_t) e->to, 3 * sizeof(double));
}

/* ---- vertices on edges ---- */

/*
 * The triangles of a polygon can have edges that no ring has. This happens if a ring runs back over
 * itself within the tolerated distance from its plane. One of its vertices, r, then lies on one of
 * its edges pq when projected along the axis of the triangulation. So the triangles of the polygon
 * have the edges pr and rq, while its neighbor has pq. The same happens if r lies on an edge of a
 * neighbor that lacks this vertex. The code detects this case by its effect: two edges with an odd
 * number of uses share an endpoint and overlap when projected along an axis, and some face has all
 * their vertices and one of the edges but not the other.
 */

/* Returns true if a triangle of the face of a solid that is checked has the corner. */
static bool
is_corner_of_checked_face(const check *c, uint32_t face, uint32_t first, uint32_t corner)
{
	for (uint32_t i = first; i < c->n && c->face_of[i] == face; i++)
		for (uint32_t k = 0; k < 3; k++)
			if (c->corners.first[3 * i + k] == corner)
				return true;
	return false;
}

/* Returns a triangle of the face that has the edge, or NONE. */
static uint32_t
find_face_triangle_with_edge(const check *c, uint32_t face, uint32_t first, uint32_t edge)
{
	for (uint32_t i = first; i < c->n && c->face_of[i] == face; i++)
		for (uint32_t k = 0; k < 3; k++)
			if (c->side[3 * i + k] == edge)
				return i;
	return NONE;
}

/* Returns true if a triangle of the checked surface has an area when projected along the axis. */
static bool
has_checked_triangle_area(rb_exact_env *env, const double *t, int axis)
{
	double q[6];

	rb_project(t, 3, axis, q);
	return rb_orient2d_points(env, q, q + 2, q + 4) != 0;
}

/* Returns true if r lies strictly between p and q when projected along the axis. */
static bool
is_corner_between_ends(rb_exact_env *env, const double *p, const double *q, const double *r,
					   int axis)
{
	const int x = (axis + 1) % 3, y = (axis + 2) % 3;
	const double a[2] = {p[x], p[y]}, b[2] = {q[x], q[y]}, c[2] = {r[x], r[y]};
	const int along = a[0] != b[0] ? 0 : 1;

	return rb_orient2d_points(env, a, b, c) == 0 && ((a[along] < c[along] && c[along] < b[along]) ||
													 (b[along] < c[along] && c[along] < a[along]));
}

/*
 * Finds a face that has p, q and r as vertices and pr as an edge, but not pq. Stores its first
 * triangle and the projection axis.
 */
static bool
find_corner_on_edge(const check *c, uint32_t pr, uint32_t pq, uint32_t p, uint32_t *first,
					int *axis)
{
	const uint32_t r = c->edges.at[pr].from == p ? c->edges.at[pr].to : c->edges.at[pr].from;
	const uint32_t q = c->edges.at[pq].from == p ? c->edges.at[pq].to : c->edges.at[pq].from;
	const double *t = c->t;
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};

	for (*axis = 0; *axis < 3; (*axis)++)
	{
		if (!is_corner_between_ends(&env, t + 3 * (size_t) p, t + 3 * (size_t) q,
									t + 3 * (size_t) r, *axis))
			continue;
		for (uint32_t i = 0; i < c->n; i++)
		{
			uint32_t with;

			if (i > 0 && c->face_of[i] == c->face_of[i - 1])
				continue;
			with = find_face_triangle_with_edge(c, c->face_of[i], i, pr);
			if (with == NONE || find_face_triangle_with_edge(c, c->face_of[i], i, pq) != NONE ||
				!is_corner_of_checked_face(c, c->face_of[i], i, q) ||
				!has_checked_triangle_area(&env, t + 9 * (size_t) with, *axis))
				continue;
			*first = i;
			return true;
		}
	}
	return false;
}

/*
 * Returns true if an odd number of triangles with an area use the edge, so that the surface is open
 * there.
 */
static bool
is_edge_use_odd(const edge *e)
{
	return (uses_of_surface_edge(e, 0, false) + uses_of_surface_edge(e, 1, false)) % 2 == 1;
}

/* Stores p, q, r and the face in the report. */
static void
report_corner_on_edge(check *c, uint32_t p, uint32_t pq, uint32_t pr, uint32_t first, int axis)
{
	rb_solid_report *report = c->report;
	const uint32_t q = c->edges.at[pq].from == p ? c->edges.at[pq].to : c->edges.at[pq].from;
	const uint32_t r = c->edges.at[pr].from == p ? c->edges.at[pr].to : c->edges.at[pr].from;

	report->corner_on_edge = true;
	report->triangle = first;
	report->info.axis = axis;
	memcpy(report->info.at[0], c->t + 3 * (size_t) r, sizeof report->info.at[0]);
	memcpy(report->edge, c->t + 3 * (size_t) p, 3 * sizeof(double));
	memcpy(report->edge + 3, c->t + 3 * (size_t) q, 3 * sizeof(double));
}

/*
 * Checks whether a vertex on an edge explains why the edge `open`, or another faulty edge that
 * shares an endpoint with it, is unmatched.
 */
static rb_status
explain_open_edge(check *c, uint32_t open)
{
	const edge *e = &c->edges.at[open];

	for (uint32_t i = 0; i < c->edges.n; i++)
	{
		const edge *f = &c->edges.at[i];
		uint32_t p, first;
		int axis;

		if (i == open || !is_edge_use_odd(f))
			continue;
		if (f->from == e->from || f->to == e->from)
			p = e->from;
		else if (f->from == e->to || f->to == e->to)
			p = e->to;
		else
			continue;
		/* A search for a corner on an edge visits all faces. */
		if (rb_should_stop(c->ctx))
			return RB_STOPPED;
		if (find_corner_on_edge(c, open, i, p, &first, &axis))
		{
			report_corner_on_edge(c, p, i, open, first, axis);
			return RB_OK;
		}
		if (find_corner_on_edge(c, i, open, p, &first, &axis))
		{
			report_corner_on_edge(c, p, open, i, first, axis);
			return RB_OK;
		}
	}
	return RB_OK;
}

/* ---- winding numbers ---- */

/* A ray start next to a triangle */
typedef struct square_start
{
	const double *t;
	rb_number normal[3]; /* Normal of the triangle, or its opposite */
	double low[3];       /* Bounds on the centroid */
	double high[3];
} square_start;

void
rb_triangle_normal(rb_number normal[3], const double *t)
{
	for (int axis = 0; axis < 3; axis++)
	{
		double q[6];

		rb_project(t, 3, axis, q);
		rb_number_orient2d(&normal[axis], q, q + 2, q + 4);
	}
}

void
rb_triangle_centre(const double *t, double low[3], double high[3])
{
	for (int a = 0; a < 3; a++)
	{
		const rb_interval sum =
			rb_interval_add(rb_interval_add(rb_interval_of(t[a]), rb_interval_of(t[3 + a])),
							rb_interval_of(t[6 + a]));

		/* If the sum overflows, the bounds are those of the triangle's box. */
		low[a] = rb_max(rb_down(sum.lo / 3) - 0x1p-1070, rb_min(t[a], rb_min(t[3 + a], t[6 + a])));
		high[a] = rb_min(rb_up(sum.hi / 3) + 0x1p-1070, rb_max(t[a], rb_max(t[3 + a], t[6 + a])));
	}
}

/*
 * Sets the start of an upward ray next to the centroid of a triangle, at first on the side of its
 * normal.
 */
static void
begin_ray_beside_triangle(square_start *b, const double *t)
{
	b->t = t;
	rb_triangle_normal(b->normal, t);
	rb_triangle_centre(t, b->low, b->high);
}

/*
 * Returns the sign of the sum of a ray start's three terms, one for each corner of its triangle,
 * if their signs determine it, else 0.
 */
static int
sign_of_ray_start_terms(const int s[3])
{
	const bool plus = s[0] > 0 || s[1] > 0 || s[2] > 0, minus = s[0] < 0 || s[1] < 0 || s[2] < 0;

	return plus && minus ? 0 : plus - minus;
}

/*
 * Returns the side of the edge pq on which the ray start lies in the xy projection: 1 for left, -1
 * for right.
 */
static int
edge_side_of_winding_ray(rb_exact_env *env, const square_start *b, const double *p, const double *q)
{
	rb_number sum, x, y, det;
	int side[3];

	for (int k = 0; k < 3; k++)
		side[k] = rb_orient2d_at(env, p[0], p[1], q[0], q[1], b->t[3 * k], b->t[3 * k + 1]);
	if (sign_of_ray_start_terms(side) != 0)
		return sign_of_ray_start_terms(side);
	rb_number_of(&sum, 0); /* Not an initializer, which would clear all words on each call */
	for (int k = 0; k < 3; k++)
	{
		rb_number_orient2d(&x, p, q, b->t + 3 * k);
		rb_number_add(&sum, &sum, &x);
	}
	if (sum.sign != 0)
		return sum.sign;
	rb_number_difference(&x, q[0], p[0]);
	rb_number_difference(&y, q[1], p[1]);
	rb_number_det2(&det, &x, &y, &b->normal[0], &b->normal[1]);
	return det.sign != 0 ? det.sign : rb_edge_tie(p, q);
}

/* Returns the side of a triangle's plane on which the start of a ray lies. */
static int
plane_side_of_winding_ray(rb_exact_env *env, const square_start *b, const double *t)
{
	rb_number sum, x, normal[3];
	int side[3];

	for (int k = 0; k < 3; k++)
		side[k] = rb_orient3d_at(env, t, t + 3, t + 6, b->t + 3 * k);
	if (sign_of_ray_start_terms(side) != 0)
		return sign_of_ray_start_terms(side);
	rb_number_of(&sum, 0);
	for (int k = 0; k < 3; k++)
	{
		rb_number_orient3d(&x, t, t + 3, t + 6, b->t + 3 * k);
		rb_number_add(&sum, &sum, &x);
	}
	if (sum.sign != 0)
		return sum.sign;
	rb_triangle_normal(normal, t);
	for (int axis = 0; axis < 3; axis++)
	{
		rb_number_mul(&x, &normal[axis], &b->normal[axis]);
		rb_number_add(&sum, &sum, &x);
	}
	return sum.sign != 0 ? sum.sign : rb_normal_tie(env, t);
}

/* Returns the contribution of the triangle to the winding number at the ray start. */
static int
winding_of_triangle(rb_exact_env *env, const square_start *b, const double *t)
{
	int turn;

	for (int a = 0; a < 3; a++)
	{
		double low = rb_min(t[a], rb_min(t[3 + a], t[6 + a]));
		double high = rb_max(t[a], rb_max(t[3 + a], t[6 + a]));

		if (high < b->low[a] || (a < 2 && low > b->high[a]))
			return 0;
	}
	turn = edge_side_of_winding_ray(env, b, t, t + 3);
	if (turn == 0 || edge_side_of_winding_ray(env, b, t + 3, t + 6) != turn ||
		edge_side_of_winding_ray(env, b, t + 6, t) != turn)
		return 0;
	return plane_side_of_winding_ray(env, b, t) == -turn ? turn : 0;
}

/* ---- grid of squares ---- */

/*
 * Maximum ratio, as a power of two, of the largest coordinate to the smallest square; keeps cell
 * indices exact
 */
#define FINEST 40
#define FINEST_OF_ALL (-1060)

typedef struct square
{
	int level;
	int64_t x;
	int64_t y;
} square;

/* Returns the index, on one axis, of the square of a grid level that contains a coordinate. */
static int64_t
coordinate_of_grid_square(const check *c, double at, int level)
{
	return (int64_t) floor(ldexp(at, -(c->finest + level)));
}

/* Computes the bounds of a triangle on x and y. */
static void
bounds_on_winding_grid(const double *t, double lo[2], double hi[2])
{
	for (int a = 0; a < 2; a++)
	{
		lo[a] = rb_min(t[a], rb_min(t[3 + a], t[6 + a]));
		hi[a] = rb_max(t[a], rb_max(t[3 + a], t[6 + a]));
	}
}

/*
 * Returns the square of the triangle's lower corner. Its size is at least that of the triangle, so
 * the triangle reaches only into the next squares.
 */
static square
grid_square_of_triangle(const check *c, uint32_t triangle)
{
	square s = {.level = c->coarsest};
	double lo[2], hi[2], size;
	int exponent;

	bounds_on_winding_grid(c->t + 9 * (size_t) triangle, lo, hi);
	size = rb_max(hi[0] - lo[0], hi[1] - lo[1]);
	if (size < HUGE_VAL)
	{
		(void) frexp(size, &exponent);
		s.level = exponent - c->finest;
		if (s.level < 0 || size == 0)
			s.level = 0;
		if (s.level > c->coarsest)
			s.level = c->coarsest;
	}
	s.x = coordinate_of_grid_square(c, lo[0], s.level);
	s.y = coordinate_of_grid_square(c, lo[1], s.level);
	return s;
}

/* Returns the first triangle of the chain that contains those in a square. */
static uint32_t *
triangles_of_grid_square(const check *c, const square *s)
{
	return rb_chain_first(
		&c->squares, rb_mix(rb_mix((uint64_t) s->x * 64 + (uint64_t) s->level) ^ (uint64_t) s->y));
}

/* Builds the grid. The array of vertices, which is no longer needed, is reused. */
static rb_status
make_winding_grid(check *c)
{
	double most = 0;
	int exponent;
	rb_status status = rb_chains_reset(c->ctx, &c->squares, c->n);

	for (size_t i = 0; i < (size_t) 9 * c->n; i++)
		most = rb_max(most, fabs(c->t[i]));
	(void) frexp(most, &exponent);
	c->finest = exponent - FINEST < FINEST_OF_ALL ? FINEST_OF_ALL : exponent - FINEST;
	c->coarsest = exponent + 2 < c->finest ? 0 : exponent + 2 - c->finest;
	c->next = c->corners.first;
	for (uint32_t i = 0; i < c->n && status == RB_OK; i++)
	{
		square s = grid_square_of_triangle(c, i);
		uint32_t *first = triangles_of_grid_square(c, &s);

		c->next[i] = *first;
		*first = i;
		c->levels |= UINT64_C(1) << s.level;
		if (rb_stop_due(c->ctx, i, CHECK_INTERVAL))
			status = RB_STOPPED;
	}
	return status;
}

/* Adds the contributions of the triangles in one square to the winding number. */
static rb_status
add_windings_of_square(check *c, rb_exact_env *env, const square_start *b, const square *s,
					   int64_t *winding)
{
	for (uint32_t i = *triangles_of_grid_square(c, s); i != NONE; i = c->next[i])
	{
		const int turn = winding_of_triangle(env, b, c->t + 9 * (size_t) i);
		square its;

		if (rb_stop_due(c->ctx, c->looks++, CHECK_INTERVAL))
			return RB_STOPPED;
		/*
		 * Most triangles are not above the point, which is cheaper to find than whether they belong
		 * to the square of the grid.
		 */
		if (turn == 0)
			continue;
		its = grid_square_of_triangle(c, i);
		if (its.level == s->level && its.x == s->x && its.y == s->y)
			*winding += turn;
	}
	return RB_OK;
}

/* Adds the windings of all triangles around the start of a ray. */
static rb_status
add_windings_of_all(check *c, rb_exact_env *env, const square_start *b, int64_t *winding)
{
	for (uint32_t i = 0; i < c->n; i++)
	{
		*winding += winding_of_triangle(env, b, c->t + 9 * (size_t) i);
		if (rb_stop_due(c->ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Adds the windings of the triangles in the grid squares of the start. */
static rb_status
add_windings_of_squares(check *c, rb_exact_env *env, const square_start *b, int64_t *winding)
{
	rb_status status = RB_OK;

	/*
	 * If the sum of the coordinates overflows, the bounds on the centroid are too wide for the
	 * grid.
	 */
	for (int a = 0; a < 2; a++)
		if (!(b->high[a] - b->low[a] <= ldexp(1, c->finest)))
			return add_windings_of_all(c, env, b, winding);
	for (int level = 0; level <= c->coarsest && status == RB_OK; level++)
	{
		int64_t right = coordinate_of_grid_square(c, b->high[0], level),
				top = coordinate_of_grid_square(c, b->high[1], level);
		square s = {.level = level};

		if ((c->levels >> level & 1) == 0)
			continue;
		for (s.x = coordinate_of_grid_square(c, b->low[0], level) - 1; s.x <= right; s.x++)
			for (s.y = coordinate_of_grid_square(c, b->low[1], level) - 1;
				 s.y <= top && status == RB_OK; s.y++)
				status = add_windings_of_square(c, env, b, &s, winding);
	}
	return status;
}

/* ---- connected components ---- */

/* Sets *right if the winding numbers on both sides of a triangle are 0 or 1. */
static rb_status
check_winding_of_triangle(check *c, uint32_t of, bool *right)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	square_start b;

	begin_ray_beside_triangle(&b, c->t + 9 * (size_t) of);
	*right = true;
	for (int side = 0; side < 2 && *right; side++)
	{
		int64_t winding = 0;
		RB_TRY(add_windings_of_squares(c, &env, &b, &winding));
		*right = winding == 0 || winding == 1;
		for (int axis = 0; axis < 3; axis++)
			b.normal[axis].sign = -b.normal[axis].sign;
	}
	return RB_OK;
}

/* Merges triangles into components and checks the first triangle with an area of each component. */
static rb_status
check_surface_components(check *c)
{
	rb_status status = make_winding_grid(c);

	for (uint32_t i = 0; i < 3 * c->n; i++)
	{
		const edge *e = c->side[i] == NONE ? NULL : &c->edges.at[c->side[i]];

		if (e == NULL || e->uses[0] != 1 || e->uses[1] != 1 || e->others[0] + e->others[1] != 0)
			continue;
		rb_unite(c->lot, i / 3, e->first);
	}
	for (uint32_t i = 0; i < c->n && status == RB_OK; i++)
	{
		bool right;

		if (c->flat[i] || rb_find_root(c->lot, i) != i)
			continue;
		status = check_winding_of_triangle(c, i, &right);
		if (status == RB_OK && !right)
		{
			c->report->oriented = false;
			c->report->fault = RB_SOLID_INWARD;
			c->report->triangle = i;
			memcpy(c->report->edge, c->t + 9 * (size_t) i, sizeof c->report->edge);
			break;
		}
	}
	return status;
}

/* ---- complete check ---- */

/* Checks the edges, corners and windings of a surface and reports the first fault. */
static rb_status
check_surface_of_solid(check *c)
{
	rb_solid_report *report = c->report;
	uint32_t open, at;
	bool all = false;

	RB_TRY(rb_point_hash_find(c->ctx, c->t, 3 * c->n, &c->corners));
	RB_TRY(count_uses_of_edges(c));
	if (report->flat == c->n)
		return RB_OK;
	open = find_first_edge_fault(c, false, false);
	if (open != NONE)
	{
		if (report->flat == 0 || find_first_edge_fault(c, true, false) != NONE)
		{
			report_edge_fault(c, RB_SOLID_OPEN, open);
			if (c->face_of != NULL)
				RB_TRY(explain_open_edge(c, open));
			return RB_OK;
		}
		all = true;
	}
	report->closed = true;
	report->fault = RB_SOLID_GOOD;
	if (c->closed_only)
		return RB_OK;
	at = find_first_edge_fault(c, all, true);
	if (at != NONE)
	{
		report_edge_fault(c, RB_SOLID_TURNED, at);
		return RB_OK;
	}
	report->oriented = true;
	report->fault = RB_SOLID_GOOD;
	return check_surface_components(c);
}

/* Initializes the report and allocates the arrays of a check. */
static rb_status
begin_solid_check(check *c)
{
	memset(c->report, 0, sizeof *c->report);
	c->report->triangles = c->n;
	c->report->fault = RB_SOLID_FLAT;
	RB_TRY(RB_ALLOCATE(c->ctx, c->side, (size_t) 3 * c->n));
	RB_TRY(RB_ALLOCATE(c->ctx, c->flat, c->n));
	RB_TRY(RB_ALLOCATE(c->ctx, c->lot, c->n));
	rb_union_find_init(c->lot, c->n);
	return RB_OK;
}

/* Frees the arrays of a check. */
static void
end_solid_check(check *c)
{
	rb_memory *memory = c->ctx->memory;

	rb_point_hash_free(memory, &c->corners);
	RB_FREE(memory, c->side);
	edge_table_free(memory, &c->table);
	rb_vec_free(memory, &c->edges);
	RB_FREE(memory, c->squares.first);
	RB_FREE(memory, c->flat);
	RB_FREE(memory, c->lot);
}

/* Checks the triangles of one solid. */
static rb_status
check_triangles_of_solid(rb_context *ctx, const double *triangles, uint32_t n,
						 const uint32_t *face_of, bool closed_only, rb_solid_report *report)
{
	check c = {.ctx = ctx,
			   .t = triangles,
			   .n = n,
			   .face_of = face_of,
			   .report = report,
			   .closed_only = closed_only};
	rb_status status = begin_solid_check(&c);

	if (status == RB_OK && n > 0)
		status = check_surface_of_solid(&c);
	end_solid_check(&c);
	return status;
}

rb_status
rb_solid_check_faces(rb_context *ctx, const double *triangles, uint32_t n, const uint32_t *face_of,
					 rb_solid_report *report)
{
	return check_triangles_of_solid(ctx, triangles, n, face_of, false, report);
}

rb_status
rb_solid_check_closed(rb_context *ctx, const double *triangles, uint32_t n, rb_solid_report *report)
{
	return check_triangles_of_solid(ctx, triangles, n, NULL, true, report);
}

rb_status
rb_solid_triangles_are_apart(rb_context *ctx, const double *triangles, uint32_t n, uint32_t a,
							 uint32_t b, bool *apart)
{
	rb_solid_report report;
	check c = {.ctx = ctx, .t = triangles, .n = n, .report = &report};
	rb_status status = begin_solid_check(&c);

	if (status == RB_OK)
		status = rb_point_hash_find(ctx, triangles, 3 * n, &c.corners);
	if (status == RB_OK)
		status = count_uses_of_edges(&c);
	if (status == RB_OK)
	{
		/* Unite the triangles around each edge. */
		for (uint32_t i = 0; i < 3 * n; i++)
			if (c.side[i] != NONE)
				rb_unite(c.lot, i / 3, c.edges.at[c.side[i]].first);
		*apart = rb_find_root(c.lot, a) != rb_find_root(c.lot, b);
	}
	end_solid_check(&c);
	return status;
}
