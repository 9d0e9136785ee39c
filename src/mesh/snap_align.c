/*
 * snap_align.c
 *	  Moves points that are near a common plane or line onto it.
 *
 * Facets that nearly coincide cross each other at tiny angles, in many places. A grid alone does
 * not help: corners of one inclined plane that are rounded to a grid are no longer in one plane,
 * whatever the grid is. The same is true for edges along one line. Here such corners are placed so
 * that they are exactly coplanar or collinear. Then overlapping facets are cut in their common
 * plane, where one of them is kept, and edges in one line share their parts.
 *
 * Not every plane contains enough points with coordinates in doubles. With 53 bits, about half of
 * them are used for the slopes of the plane, and the other half for two of the coordinates. The
 * third coordinate is then exact:
 *
 *		u = (U0 + X) 2^p		v = (V0 + Y) 2^p		w = (W0 + A X + B Y) 2^q		p = q + s
 *
 * X, Y, A and B are integers, s is the number of bits of the slopes A 2^-s and B 2^-s, which are at
 * most 1, and 2^q is the last place of the largest coordinate. A line is u = (U0 + X) 2^p, v = (V0
 * + A X) 2^q, w = (W0 + B X) 2^q.
 *
 * Planes and lines are found from the largest triangle and from the longest edge on. Each takes all
 * inputs near it.
 */
#include "mesh/splitting.h"

#include "core/base/base.h"
#include "core/base/sort.h"
#include "mesh/flatness.h"

#include <math.h>

/*
 * Distance up to which inputs join a plane or line, in units of the grid of the input that
 * determines it
 */
#define NEAR 1.5
/*
 * Minimum size of a triangle or edge that determines a direction, in units of the distance up to
 * which others join its plane or line
 */
#define WIDE 8.0
/* Range of exponents in which squares and products of lengths neither overflow nor underflow */
#define SMALLEST_EXPONENT (-300)
#define LARGEST_EXPONENT 200
#define RB_CHECK_INTERVAL 1024

/* A triangle or an edge to align */
typedef struct aligned
{
	uint32_t of; /* triangle, or segment after all triangles */
	uint32_t v[3];
	double size; /* squared area or length */
	double near; /* distance up to which others join its plane or line; 0 at level 0 */
	uint8_t level;
} aligned;

typedef RB_VEC(aligned) aligned_vec;

typedef struct aligning
{
	rb_context *ctx;
	const rb_snapped *s;
	aligned_vec faces, edges;
	bool *placed; /* for each first point, whether it is on a plane or line */
	RB_VEC(uint32_t) members;
	uint64_t steps;
	uint32_t n; /* number of planes and lines */
} aligning;

/* A plane, or a line if `flat` is false, with points of integer coordinates */
typedef struct lattice
{
	bool flat;
	int axis[3]; /* the axes of u, v and w */
	int p, q;
	int64_t origin[3]; /* U0, V0, W0 */
	int64_t a, b;
} lattice;

/* Returns the coordinates of a point. */
static inline double *
get_aligned_point(const aligning *g, uint32_t v)
{
	return g->s->points + 3 * (size_t) v;
}

/* Returns the binary exponent of the grid of a level. */
static inline int
grid_of_level(const rb_snapped *s, uint8_t level)
{
	return s->step + s->bits * (level - 1);
}

/* ---- inputs ---- */

/* Orders triangles or edges by size, the largest first. */
static int
by_aligned_size(const void *a, const void *b, const void *arg)
{
	const aligned *x = a, *y = b;

	(void) arg;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	for (int k = 0; k < 2; k++)
		if (x->v[k] != y->v[k])
			return x->v[k] < y->v[k] ? -1 : 1;
	return 0;
}

/* Lists an edge between two points, unless they are equal. */
static rb_status
list_aligned_edge(aligning *g, aligned e, uint32_t a, uint32_t b)
{
	e.v[0] = g->s->first[a];
	e.v[1] = g->s->first[b];
	if (e.v[0] == e.v[1])
		return RB_OK;
	e.size = rb_length2(get_aligned_point(g, e.v[0]), get_aligned_point(g, e.v[1]));
	return rb_vec_append(g->ctx, &g->edges, e);
}

/*
 * Lists the triangles and edges of inputs that met others or have a level, except the last level.
 */
static rb_status
list_aligned_inputs(aligning *g)
{
	const rb_snapped *s = g->s;
	const rb_plc *plc = s->plc;

	for (uint32_t i = 0; i < plc->ntriangles; i++)
	{
		aligned t = {.of = i, .level = s->triangle_level[i]};
		double n[3];

		if (rb_stop_due(g->ctx, i, RB_CHECK_INTERVAL))
			return RB_STOPPED;
		if ((t.level == 0 && s->triangle_meets[i] == 0) || t.level >= s->last)
			continue;
		t.near = t.level > 0 ? ldexp(NEAR, grid_of_level(s, t.level)) : 0;
		for (int k = 0; k < 3; k++)
			t.v[k] = s->first[plc->triangles[i][k]];
		rb_face_normal(get_aligned_point(g, t.v[0]), get_aligned_point(g, t.v[1]),
					   get_aligned_point(g, t.v[2]), n);
		t.size = rb_dot(n, n);
		RB_TRY(rb_vec_append(g->ctx, &g->faces, t));
		for (int k = 0; k < 3; k++)
			RB_TRY(list_aligned_edge(g, t, t.v[k], t.v[(k + 1) % 3]));
	}
	for (uint32_t i = 0; i < plc->nsegments; i++)
		if ((s->segment_level[i] > 0 || s->segment_meets[i] != 0) && s->segment_level[i] < s->last)
		{
			aligned e = {.of = plc->ntriangles + i, .level = s->segment_level[i]};

			e.near = e.level > 0 ? ldexp(NEAR, grid_of_level(s, e.level)) : 0;
			RB_TRY(list_aligned_edge(g, e, plc->segments[i][0], plc->segments[i][1]));
		}
	RB_TRY(rb_sort(g->ctx, g->faces.at, g->faces.n, sizeof(aligned), by_aligned_size, NULL));
	return rb_sort(g->ctx, g->edges.at, g->edges.n, sizeof(aligned), by_aligned_size, NULL);
}

/* ---- planes and lines ---- */

/*
 * Determines how many bits the slopes of a lattice get, for members of n points each. Returns false
 * if the lattice is then too coarse for the grid of the level.
 */
static bool
divide_bits(const aligning *g, const aligned *list, int n, uint8_t level, lattice *l)
{
	const int grid = grid_of_level(g->s, level);
	double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
	double largest = 0, extent = 0;
	int wide, far, bits;

	for (size_t i = 0; i < g->members.n; i++)
		for (int c = 0; c < n; c++)
			for (int k = 0; k < 3; k++)
			{
				const double x = get_aligned_point(g, list[g->members.at[i]].v[c])[k];

				low[k] = fmin(low[k], x);
				high[k] = fmax(high[k], x);
				largest = fmax(largest, fabs(x));
				extent = fmax(extent, high[k] - low[k]);
			}
	(void) frexp(extent, &wide);
	(void) frexp(largest, &far);
	if (!(extent > 0) || wide < SMALLEST_EXPONENT || far > LARGEST_EXPONENT)
		return false;
	l->q = far - 52;
	bits = (wide - l->q) / 2;
	l->p = l->q + bits;
	return bits > 0 && l->p + 2 <= grid && wide - bits + 2 <= grid;
}

/* Rounds a coordinate to a multiple of 2^exponent and returns the multiple. */
static inline int64_t
round_to_lattice(double x, int exponent)
{
	return (int64_t) rint(ldexp(x, -exponent));
}

/* Sets the origin of a lattice near a point. */
static void
set_lattice_origin(lattice *l, const double *at)
{
	l->origin[0] = round_to_lattice(at[l->axis[0]], l->p);
	l->origin[1] = round_to_lattice(at[l->axis[1]], l->flat ? l->p : l->q);
	l->origin[2] = round_to_lattice(at[l->axis[2]], l->q);
}

/* Moves a point to the nearest one of the lattice, along the axes that depend on the others. */
static void
place_on_lattice(const lattice *l, double *at)
{
	const int64_t x = round_to_lattice(at[l->axis[0]], l->p) - l->origin[0];

	at[l->axis[0]] = ldexp((double) (l->origin[0] + x), l->p);
	if (l->flat)
	{
		const int64_t y = round_to_lattice(at[l->axis[1]], l->p) - l->origin[1];

		at[l->axis[1]] = ldexp((double) (l->origin[1] + y), l->p);
		at[l->axis[2]] = ldexp((double) (l->origin[2] + l->a * x + l->b * y), l->q);
	}
	else
	{
		at[l->axis[1]] = ldexp((double) (l->origin[1] + l->a * x), l->q);
		at[l->axis[2]] = ldexp((double) (l->origin[2] + l->b * x), l->q);
	}
}

/* Raises a level to another one if that is higher. */
static inline void
raise_aligned_level(uint8_t *level, uint8_t to)
{
	*level = *level > to ? *level : to;
}

/* Moves the points of all members that are not placed yet, and raises the members' levels. */
static void
place_members(aligning *g, const aligned *list, int n, uint8_t level, const lattice *l, bool *used)
{
	const uint32_t ntriangles = g->s->plc->ntriangles;

	g->n++;
	for (size_t i = 0; i < g->members.n; i++)
	{
		const aligned *x = list + g->members.at[i];

		used[g->members.at[i]] = true;
		raise_aligned_level(x->of < ntriangles ? &g->s->triangle_level[x->of]
											   : &g->s->segment_level[x->of - ntriangles],
							level);
		for (int c = 0; c < n; c++)
		{
			raise_aligned_level(&g->s->point_level[x->v[c]], level);
			if (!g->placed[x->v[c]])
				place_on_lattice(l, get_aligned_point(g, x->v[c]));
			g->placed[x->v[c]] = true;
		}
	}
}

/* Returns true if the work must stop. */
static inline bool
stops_aligning(aligning *g)
{
	return ++g->steps % RB_CHECK_INTERVAL == 0 && rb_should_stop(g->ctx);
}

/*
 * Aligns the triangles near the plane of triangle `seed`; `used` marks triangles that are aligned
 * already.
 */
static rb_status
align_to_plane(aligning *g, uint32_t seed, bool *used)
{
	const aligned *list = g->faces.at, *t = list + seed;
	double n[3], length, at[3];
	const double *a = get_aligned_point(g, t->v[0]), *b = get_aligned_point(g, t->v[1]),
				 *c = get_aligned_point(g, t->v[2]);
	lattice l = {.flat = true};

	rb_face_normal(a, b, c, n);
	length = sqrt(rb_dot(n, n));
	if (used[seed] || t->level == 0 || !(length > WIDE * t->near * sqrt(rb_face_long2(a, b, c))))
		return RB_OK;
	g->members.n = 0;
	RB_TRY(rb_vec_append(g->ctx, &g->members, seed));
	for (uint32_t i = 0; i < g->faces.n; i++)
	{
		bool near = i != seed && !used[i];

		if (stops_aligning(g))
			return RB_STOPPED;
		for (int k = 0; k < 3 && near; k++)
		{
			const double *p = get_aligned_point(g, list[i].v[k]);
			const double d[3] = {p[0] - a[0], p[1] - a[1], p[2] - a[2]};

			near = fabs(rb_dot(n, d)) <= t->near * length;
		}
		if (!near)
			continue;
		RB_TRY(rb_vec_append(g->ctx, &g->members, i));
	}
	if (g->members.n == 1 || !divide_bits(g, list, 3, t->level, &l))
		return RB_OK;
	for (int k = 0; k < 3; k++)
		l.axis[2] = fabs(n[k]) > fabs(n[l.axis[2]]) ? k : l.axis[2];
	l.axis[0] = (l.axis[2] + 1) % 3;
	l.axis[1] = (l.axis[2] + 2) % 3;
	l.a = round_to_lattice(-n[l.axis[0]] / n[l.axis[2]], l.q - l.p);
	l.b = round_to_lattice(-n[l.axis[1]] / n[l.axis[2]], l.q - l.p);
	for (int k = 0; k < 3; k++)
		at[k] = a[k] / 3 + b[k] / 3 + c[k] / 3;
	set_lattice_origin(&l, at);
	place_members(g, list, 3, t->level, &l, used);
	return RB_OK;
}

/* Returns the squared distance of a point from the line through a with direction d. */
static double
distance2_from_line(const double *a, const double *d, double length2, const double *p)
{
	double cross[3], x[3];

	for (int k = 0; k < 3; k++)
		x[k] = p[k] - a[k];
	for (int k = 0; k < 3; k++)
		cross[k] = d[(k + 1) % 3] * x[(k + 2) % 3] - d[(k + 2) % 3] * x[(k + 1) % 3];
	return rb_dot(cross, cross) / length2;
}

/* Aligns the edges near the line of edge `seed`; `used` marks edges that are aligned already. */
static rb_status
align_to_line(aligning *g, uint32_t seed, bool *used)
{
	const aligned *list = g->edges.at, *e = list + seed;
	const double *a = get_aligned_point(g, e->v[0]), *b = get_aligned_point(g, e->v[1]);
	double d[3], at[3];
	const double near2 = e->near * e->near;
	bool others = false;
	lattice l = {.flat = false};

	if (used[seed] || e->level == 0 || g->placed[e->v[0]] || g->placed[e->v[1]] ||
		!(e->size > WIDE * e->near * WIDE * e->near))
		return RB_OK;
	for (int k = 0; k < 3; k++)
		d[k] = b[k] - a[k];
	g->members.n = 0;
	RB_TRY(rb_vec_append(g->ctx, &g->members, seed));
	for (uint32_t i = 0; i < g->edges.n; i++)
	{
		if (stops_aligning(g))
			return RB_STOPPED;
		if (i == seed || used[i] || g->placed[list[i].v[0]] || g->placed[list[i].v[1]] ||
			distance2_from_line(a, d, e->size, get_aligned_point(g, list[i].v[0])) > near2 ||
			distance2_from_line(a, d, e->size, get_aligned_point(g, list[i].v[1])) > near2)
			continue;
		others |= list[i].of != e->of;
		RB_TRY(rb_vec_append(g->ctx, &g->members, i));
	}
	if (!others || !divide_bits(g, list, 2, e->level, &l))
		return RB_OK;
	for (int k = 0; k < 3; k++)
		l.axis[0] = fabs(d[k]) > fabs(d[l.axis[0]]) ? k : l.axis[0];
	l.axis[1] = (l.axis[0] + 1) % 3;
	l.axis[2] = (l.axis[0] + 2) % 3;
	l.a = round_to_lattice(d[l.axis[1]] / d[l.axis[0]], l.q - l.p);
	l.b = round_to_lattice(d[l.axis[2]] / d[l.axis[0]], l.q - l.p);
	for (int k = 0; k < 3; k++)
		at[k] = a[k] / 2 + b[k] / 2;
	set_lattice_origin(&l, at);
	place_members(g, list, 2, e->level, &l, used);
	return RB_OK;
}

/* Aligns all listed triangles, then edges. */
static rb_status
align_listed_inputs(aligning *g)
{
	const size_t n = g->edges.n + g->faces.n + 1;
	bool *used = NULL;
	rb_status status = RB_ALLOCATE(g->ctx, used, n);

	if (status == RB_OK)
		memset(used, 0, n);
	for (uint32_t i = 0; i < g->faces.n && status == RB_OK; i++)
		status = align_to_plane(g, i, used);
	if (status == RB_OK)
		memset(used, 0, n);
	for (uint32_t i = 0; i < g->edges.n && status == RB_OK; i++)
		status = align_to_line(g, i, used);
	RB_FREE(g->ctx->memory, used);
	return status;
}

rb_status
rb_align_snapped(rb_context *ctx, const rb_snapped *s, uint32_t *number)
{
	const uint32_t n = s->plc->npoints;
	aligning g = {.ctx = ctx, .s = s};
	rb_status status = list_aligned_inputs(&g);

	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, g.placed, (size_t) n + 1);
	if (status == RB_OK)
	{
		memset(g.placed, 0, (size_t) n + 1);
		status = align_listed_inputs(&g);
	}
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
		if (s->first[i] != i)
		{
			memcpy(s->points + 3 * (size_t) i, s->points + 3 * (size_t) s->first[i],
				   3 * sizeof(double));
			raise_aligned_level(&s->point_level[i], s->point_level[s->first[i]]);
		}
	*number = g.n;
	rb_vec_free(ctx->memory, &g.faces);
	rb_vec_free(ctx->memory, &g.edges);
	rb_vec_free(ctx->memory, &g.members);
	RB_FREE(ctx->memory, g.placed);
	return status;
}
