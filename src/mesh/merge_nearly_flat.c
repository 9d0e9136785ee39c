/*
 * merge_nearly_flat.c
 *	  Merges facets that are coplanar to within a tolerance given by the user.
 *
 * A facet grows from its largest triangle, the seed. Facets adjacent to it join if all their
 * corners are near the plane of the seed and all their triangles are inclined to it by no more than
 * the angle given. Every condition refers to the seed, not to the neighbor, so a facet cannot
 * follow a curved surface step by step, and the order in which facets are visited does not matter.
 *
 * A tolerance is a distance: the length of the seed's longest side times the tangent of the angle,
 * which is how far the plane moves at that distance if it is turned by the angle. All corners of a
 * facet are within half of it. Any triangle between corners then is, too, so whichever edges the
 * mesh has inside the facet, its surface is within the tolerance of the given one. The distances
 * and slopes of the input are compared exactly, as squares.
 */
#include "mesh/weld.h"

#include "core/base/bucket.h"
#include "core/base/sort.h"
#include "core/base/union_find.h"
#include "core/exact/bignum.h"
#include "mesh/flatness.h"

#include <math.h>

/* Iterations between two polls for a stop */
#define RB_CHECK_INTERVAL 4096
/*
 * Error of a computed determinant or squared slope, relative to the product of the lengths in it;
 * at least ten times the bound of its few dozen roundings
 */
#define RB_SLACK 0x1p-43
/*
 * Smallest error bound for which the comparison in doubles is trusted; underflow may falsify
 * smaller ones
 */
#define RB_SLACK_LEAST 0x1p-960

/*
 * Triangle from which a facet may grow; seeds are ordered by area, largest first, then by triangle
 */
typedef struct seed
{
	double area; /* squared length of the normal */
	uint32_t triangle;
	uint32_t unit;
} seed;

typedef struct growing
{
	rb_context *ctx;
	const rb_welded *w;
	const rb_near_edge *edges;
	uint32_t nedges;
	uint32_t *sets;
	double *tolerance;
	double tangent;  /* tangent of the angle */
	double farthest; /* largest distance of a merged corner from the plane of its seed */
	/* Units: the facets before they grow, identified by their first polygons */
	uint32_t *unit_of;  /* for each triangle */
	rb_buckets members; /* triangles of each unit */
	rb_buckets links;   /* ends of edges at each unit: edge << 1 | end */
	bool *used;         /* for each unit, whether it is part of a facet that has grown */
	/* for each unit, bit 1 << turned for each orientation in which the seed refused it */
	uint8_t *refused;
	uint32_t *queue; /* units of the facet that grows */
	uint32_t *seen;  /* units that the facet that grows has refused */
	uint32_t nqueue, nseen;
	seed *seeds;
	/* The seed */
	double a[3], b[3], c[3];
	double n[3];   /* its normal, rounded */
	double length; /* length of its longest side */
	double within; /* maximum distance of a corner from its plane */
	double reach;  /* largest distance of the corners compared last */
} growing;

/* ---- exact comparisons ---- */

/* Returns the coordinates of corner i of a triangle of the PLC. */
static inline const double *
get_nearly_flat_corner(const growing *g, uint32_t t, int i)
{
	return g->w->plc.points + 3 * (size_t) g->w->plc.triangles[t][i];
}

/* Computes the exact normal of a triangle. */
static void
exact_normal(const double *a, const double *b, const double *c, rb_number *n)
{
	rb_number u[3], v[3];

	for (int k = 0; k < 3; k++)
	{
		rb_number_difference(&u[k], b[k], a[k]);
		rb_number_difference(&v[k], c[k], a[k]);
	}
	for (int k = 0; k < 3; k++)
		rb_number_det2(&n[k], &u[(k + 1) % 3], &u[(k + 2) % 3], &v[(k + 1) % 3], &v[(k + 2) % 3]);
}

/* Returns true if a point is within the tolerance of the seed's plane, by exact numbers. */
static bool
is_near_flat_seed_exactly(const growing *g, const double *p)
{
	rb_number n[3], det, left, right, scaled, tolerance;

	exact_normal(g->a, g->b, g->c, n);
	rb_number_orient3d(&det, g->a, g->b, g->c, p);
	rb_number_mul(&left, &det, &det);
	rb_number_dot3(&scaled, n, n);
	rb_number_of(&det, g->within);
	rb_number_mul(&tolerance, &det, &det);
	rb_number_mul(&right, &scaled, &tolerance);
	return rb_number_compare(&left, &right) <= 0;
}

/* Returns true if a point is within the tolerance of the seed's plane. */
static bool
is_near_flat_seed(growing *g, const double *p)
{
	double d[3], away, limit, slack;
	bool within;

	for (int k = 0; k < 3; k++)
		d[k] = p[k] - g->a[k];
	away = fabs(rb_dot(g->n, d));
	limit = g->within * sqrt(rb_dot(g->n, g->n));
	slack = RB_SLACK * (g->length * g->length * sqrt(rb_dot(d, d)) + limit);
	if (!(slack >= RB_SLACK_LEAST))
		within = is_near_flat_seed_exactly(g, p);
	else if (away + slack < limit)
		within = true;
	else if (away - slack > limit)
		within = false;
	else
		within = is_near_flat_seed_exactly(g, p);
	if (limit > 0)
		g->reach = fmax(g->reach, away / limit * g->within);
	return within;
}

/*
 * Returns true if a triangle is inclined to the seed's plane by no more than the angle, by exact
 * numbers. `sign` is 1 if its corners run in the seed's direction, -1 if against it.
 */
static bool
is_level_with_flat_seed_exactly(const growing *g, const double *a, const double *b, const double *c,
								int sign)
{
	rb_number n[3], m[3], along, cross, square, left, right, factor;

	exact_normal(g->a, g->b, g->c, n);
	exact_normal(a, b, c, m);
	rb_number_dot3(&along, n, m);
	if (along.sign * sign <= 0)
		return false;
	rb_number_of(&left, 0);
	for (int k = 0; k < 3; k++)
	{
		rb_number_det2(&cross, &n[(k + 1) % 3], &n[(k + 2) % 3], &m[(k + 1) % 3], &m[(k + 2) % 3]);
		rb_number_mul(&square, &cross, &cross);
		rb_number_add(&left, &left, &square);
	}
	rb_number_of(&factor, g->tangent);
	rb_number_mul(&right, &along, &factor);
	rb_number_mul(&square, &right, &right);
	return rb_number_compare(&left, &square) <= 0;
}

/*
 * Returns true if a triangle is inclined to the seed's plane by no more than the angle, its corners
 * running in the seed's direction, or against it if `turned`.
 */
static bool
is_level_with_flat_seed(const growing *g, uint32_t t, bool turned)
{
	const double *a = get_nearly_flat_corner(g, t, 0), *b = get_nearly_flat_corner(g, t, 1),
				 *c = get_nearly_flat_corner(g, t, 2);
	const double long2 = rb_face_long2(a, b, c);
	double m[3], cross[3], along, across, slack;

	rb_face_normal(a, b, c, m);
	for (int k = 0; k < 3; k++)
		cross[k] = g->n[(k + 1) % 3] * m[(k + 2) % 3] - g->n[(k + 2) % 3] * m[(k + 1) % 3];
	along = turned ? -rb_dot(g->n, m) : rb_dot(g->n, m);
	across = hypot(hypot(cross[0], cross[1]), cross[2]);
	slack = RB_SLACK * g->length * g->length * long2;
	if (slack >= RB_SLACK_LEAST && across + slack < g->tangent * (along - slack))
		return true;
	if (slack >= RB_SLACK_LEAST &&
		(across - slack > g->tangent * (along + slack) || along + slack < 0))
		return false;
	return is_level_with_flat_seed_exactly(g, a, b, c, turned ? -1 : 1);
}

/* ---- units ---- */

/*
 * Returns the unit on one side of a near edge, by which links are listed: even i mean the first
 * side.
 */
static uint32_t
unit_of_link(const void *arg, uint32_t i)
{
	const growing *g = arg;

	return g->unit_of[g->edges[i >> 1].triangle[i & 1]];
}

/*
 * Orders seeds by the areas of their triangles, the largest first, so that facets grow from there.
 */
static int
order_of_seeds(const void *a, const void *b, const void *arg)
{
	const seed *x = a, *y = b;

	(void) arg;
	if (x->area != y->area)
		return x->area > y->area ? -1 : 1;
	return (x->triangle > y->triangle) - (x->triangle < y->triangle);
}

/* Lists the triangles and neighbors of each unit, and its largest triangle as a seed. */
static rb_status
list_nearly_flat_units(growing *g)
{
	const rb_plc *plc = &g->w->plc;
	const uint32_t n = g->w->npolygons;

	if (2 * (uint64_t) g->nedges > UINT32_MAX - 16)
		return rb_fail(g->ctx, RB_TOO_MANY_OBJECTS, 2 * (uint64_t) g->nedges, UINT32_MAX, NULL);
	RB_TRY(RB_ALLOCATE(g->ctx, g->unit_of, (size_t) plc->ntriangles + 1));
	RB_TRY(RB_ALLOCATE(g->ctx, g->seeds, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(g->ctx, g->used, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(g->ctx, g->refused, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(g->ctx, g->queue, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(g->ctx, g->seen, (size_t) n + 1));
	memset(g->used, 0, (size_t) n + 1);
	memset(g->refused, 0, (size_t) n + 1);
	for (uint32_t i = 0; i < n; i++)
		g->seeds[i] = (seed){-1, RB_NONE, i};
	for (uint32_t t = 0; t < plc->ntriangles; t++)
	{
		double normal[3], area;
		bool turned;
		seed *s;

		g->unit_of[t] = rb_find_turned_root(g->sets, plc->facet_of[t], &turned);
		s = &g->seeds[g->unit_of[t]];
		rb_face_normal(get_nearly_flat_corner(g, t, 0), get_nearly_flat_corner(g, t, 1),
					   get_nearly_flat_corner(g, t, 2), normal);
		area = rb_dot(normal, normal);
		if (area > s->area && area < INFINITY)
		{
			s->area = area;
			s->triangle = t;
		}
		if (rb_stop_due(g->ctx, t, RB_CHECK_INTERVAL))
			return RB_STOPPED;
	}
	RB_TRY(
		rb_buckets_build(g->ctx, &g->members, plc->ntriangles, n, rb_bucket_in_array, g->unit_of));
	RB_TRY(rb_buckets_build(g->ctx, &g->links, 2 * g->nedges, n, unit_of_link, g));
	return rb_sort(g->ctx, g->seeds, n, sizeof *g->seeds, order_of_seeds, NULL);
}

/*
 * Sets *near to whether all triangles in the unit of triangle t are near the seed's plane. `turned`
 * states whether t is oriented opposite to the seed.
 */
static rb_status
find_unit_near(growing *g, uint32_t t, bool turned, bool *near)
{
	const uint32_t unit = g->unit_of[t];
	bool of_t, opposite;

	*near = false;
	(void) rb_find_turned_root(g->sets, g->w->plc.facet_of[t], &of_t);
	for (uint32_t i = g->members.start[unit]; i < g->members.start[unit + 1]; i++)
	{
		const uint32_t other = g->members.member[i];

		if (rb_stop_due(g->ctx, i, RB_CHECK_INTERVAL))
			return RB_STOPPED;
		(void) rb_find_turned_root(g->sets, g->w->plc.facet_of[other], &opposite);
		for (int k = 0; k < 3; k++)
			if (!is_near_flat_seed(g, get_nearly_flat_corner(g, other, k)))
				return RB_OK;
		if (!is_level_with_flat_seed(g, other, (opposite != of_t) != turned))
			return RB_OK;
	}
	*near = true;
	return RB_OK;
}

/* ---- growth ---- */

/* Sets the plane of a seed. */
static void
begin_flat_seed(growing *g, uint32_t t)
{
	memcpy(g->a, get_nearly_flat_corner(g, t, 0), sizeof g->a);
	memcpy(g->b, get_nearly_flat_corner(g, t, 1), sizeof g->b);
	memcpy(g->c, get_nearly_flat_corner(g, t, 2), sizeof g->c);
	rb_face_normal(g->a, g->b, g->c, g->n);
	g->length = sqrt(rb_face_long2(g->a, g->b, g->c));
	g->within = g->length * g->tangent / 2;
}

/*
 * Returns true if a triangle is oriented opposite to the seed; its unit is part of the seed's
 * facet.
 */
static bool
is_turned_from_flat_seed(const growing *g, uint32_t seed_triangle, uint32_t t)
{
	bool of_seed, of_triangle;

	(void) rb_find_turned_root(g->sets, g->w->plc.facet_of[seed_triangle], &of_seed);
	(void) rb_find_turned_root(g->sets, g->w->plc.facet_of[t], &of_triangle);
	return of_seed != of_triangle;
}

/* Unites the unit beyond an edge with the facet of a seed if it is near the seed's plane. */
static rb_status
try_nearly_flat_unit(growing *g, const seed *s, uint32_t link)
{
	const rb_near_edge *e = &g->edges[link >> 1];
	const uint32_t from = e->triangle[link & 1], t = e->triangle[~link & 1], unit = g->unit_of[t];
	const bool turned = is_turned_from_flat_seed(g, s->triangle, from) != e->turned;
	bool near;

	if (g->used[unit] || (g->refused[unit] & 1 << turned) != 0)
		return RB_OK;
	g->reach = 0;
	RB_TRY(find_unit_near(g, t, turned, &near));
	if (!near)
	{
		if (g->refused[unit] == 0)
			g->seen[g->nseen++] = unit;
		g->refused[unit] |= (uint8_t) (1 << turned);
		return RB_OK;
	}
	g->farthest = fmax(g->farthest, g->reach);
	g->used[unit] = true;
	g->queue[g->nqueue++] = unit;
	rb_unite_turned(g->sets, g->w->plc.facet_of[from], g->w->plc.facet_of[t], e->turned);
	return RB_OK;
}

/* Grows a facet from its seed. */
static rb_status
grow_nearly_flat_facet(growing *g, const seed *s)
{
	const uint32_t nmembers = g->members.start[s->unit + 1] - g->members.start[s->unit];
	const uint32_t polygon = s->triangle != RB_NONE ? g->w->plc.facet_of[s->triangle] : 0;
	bool near;

	if (g->used[s->unit] || !(s->area > 0))
		return RB_OK;
	begin_flat_seed(g, s->triangle);
	g->used[s->unit] = true;
	g->reach = 0;
	RB_TRY(find_unit_near(g, s->triangle, false, &near));
	if (!near)
		return RB_OK;
	g->nseen = 0;
	g->nqueue = 1;
	g->queue[0] = s->unit;
	if (g->w->plane[polygon][0] == RB_NONE && nmembers > 1)
	{
		g->farthest = fmax(g->farthest, g->reach);
		g->tolerance[polygon] = 2 * g->within;
	}
	for (uint32_t i = 0; i < g->nqueue; i++)
	{
		const uint32_t unit = g->queue[i];

		for (uint32_t k = g->links.start[unit]; k < g->links.start[unit + 1]; k++)
			RB_TRY(try_nearly_flat_unit(g, s, g->links.member[k]));
		if (rb_should_stop(g->ctx))
			return RB_STOPPED;
	}
	for (uint32_t i = 0; i < g->nseen; i++)
		g->refused[g->seen[i]] = 0;
	if (g->nqueue > 1)
		g->tolerance[polygon] = 2 * g->within;
	return RB_OK;
}

/*
 * Returns the tangent of an angle in degrees, at most RB_MERGE_LARGEST, the same on all machines.
 */
static double
tangent_of(double degrees)
{
	const double x = degrees * (3.14159265358979323846 / 180), x2 = x * x;
	double sine = 1, cosine = 1;

	for (int k = 8; k > 0; k--)
	{
		sine = 1 - x2 / (2 * k * (2 * k + 1)) * sine;
		cosine = 1 - x2 / (2 * k * (2 * k - 1)) * cosine;
	}
	return x * sine / cosine;
}

rb_status
rb_merge_nearly_flat(rb_context *ctx, const rb_welded *welded, double degrees,
					 const rb_near_edge *edges, uint32_t nedges, uint32_t *sets, double *tolerance,
					 double *farthest)
{
	growing g = {.ctx = ctx,
				 .w = welded,
				 .edges = edges,
				 .nedges = nedges,
				 .sets = sets,
				 .tolerance = tolerance,
				 .tangent = tangent_of(degrees)};
	rb_status status = list_nearly_flat_units(&g);

	for (uint32_t i = 0; i < welded->npolygons && status == RB_OK; i++)
		status = grow_nearly_flat_facet(&g, &g.seeds[i]);
	*farthest = g.farthest;
	RB_FREE(ctx->memory, g.unit_of);
	rb_buckets_free(ctx->memory, &g.members);
	rb_buckets_free(ctx->memory, &g.links);
	RB_FREE(ctx->memory, g.used);
	RB_FREE(ctx->memory, g.refused);
	RB_FREE(ctx->memory, g.queue);
	RB_FREE(ctx->memory, g.seen);
	RB_FREE(ctx->memory, g.seeds);
	return status;
}
