/*
 * hull.c
 *	  The hull, where points lie in one plane up to rounding.
 *
 * Of points that were rounded the hull is a polyhedron of many faces where one plane is meant, with edges and
 * tetrahedra between them that have an angle of almost 180 degrees, or no height: what
 * stands there is the last bit of coordinates.  Nothing of that is worth points.  So tetrahedra without a
 * height go, as far as only the way in which the boundary is made of triangles changes; and faces that are
 * left lie in one facet, if all corners are in one plane up to rounding.  Points that are
 * added on such a facet are rounded, too: it is as even after as before.
 */
#include "refine/rb_refining.h"

#include "mesh/rb_table.h"

#include <stdlib.h>

/* roundings of the largest coordinate: what lies so near a plane is meant to be on it */
#define ROUNDINGS 16.0
/* and that is at most such a part of the model: one of a few roundings only is taken as it is */
#define LEAST_PART 0x1p-26
/* a tetrahedron without a height is at least so many times as long */
#define FLAT_LENGTH 0x1p10

/* what is between a point and a plane that it is meant to be on, at most */
static double
hull_rounds(const double *points, size_t stride, uint32_t npoints)
{
	double most = 0, across = 0;

	for (int k = 0; k < 3; k++)
	{
		double low = INFINITY, high = -INFINITY;

		for (uint32_t i = 0; i < npoints; i++)
		{
			low = fmin(low, points[stride * i + (size_t) k]);
			high = fmax(high, points[stride * i + (size_t) k]);
		}
		most = fmax(most, fmax(fabs(low), fabs(high)));
		across = fmax(across, high - low);
	}
	return fmin(ROUNDINGS * 0x1p-53 * most, LEAST_PART * across);
}

/* a normal of the triangle, twice as long as its area is large */
static void
normal_of(const double *a, const double *b, const double *c, double *n)
{
	double u[3], v[3];

	for (int k = 0; k < 3; k++)
	{
		u[k] = b[k] - a[k];
		v[k] = c[k] - a[k];
	}
	n[0] = u[1] * v[2] - u[2] * v[1];
	n[1] = u[2] * v[0] - u[0] * v[2];
	n[2] = u[0] * v[1] - u[1] * v[0];
}

static double
dot(const double *u, const double *v)
{
	return u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
}

static double
longest2(const double *a, const double *b, const double *c)
{
	return fmax(rb_distance2(a, b), fmax(rb_distance2(b, c), rb_distance2(c, a)));
}

/* ---- tetrahedra without a height ---- */

typedef struct peel
{
	rb_refining *r;
	const rb_tets *tets;
	double rounds;
	uint8_t *gone;    /* of each tetrahedron: 1 it is, 2 it is in the list */
	uint8_t *outside; /* of each point: the boundary has it */
	uint32_t *list;   /* tetrahedra without a height, the boundary has a face of each */
	size_t list_cap;
	uint32_t n, ngone;
	rb_table input; /* faces of facets, and edges of segments */
} peel;

static bool
peel_stops(const peel *p, uint32_t i)
{
	return (i & 0x3fff) == 0x3fff && rb_should_stop(p->r->ctx);
}

static const double *
peel_at(const peel *p, uint32_t v)
{
	return p->tets->points + 3 * (size_t) v;
}

/* the height above its largest face is that of rounding */
static bool
is_flat(const peel *p, uint32_t t)
{
	const uint32_t *v = p->tets->tets[t];
	double largest2 = 0, long2 = 0, volume6;

	for (uint32_t i = 0; i < 4; i++)
	{
		const double *a = peel_at(p, v[rb_cell_face_corner(i, 0)]);
		const double *b = peel_at(p, v[rb_cell_face_corner(i, 1)]);
		const double *c = peel_at(p, v[rb_cell_face_corner(i, 2)]);
		double n[3];

		normal_of(a, b, c, n);
		largest2 = fmax(largest2, dot(n, n));
		long2 = fmax(long2, longest2(a, b, c));
	}
	volume6 = rb_volume6(peel_at(p, v[0]), peel_at(p, v[1]), peel_at(p, v[2]), peel_at(p, v[3]));
	return volume6 * volume6 <= p->rounds * p->rounds * largest2 &&
		   FLAT_LENGTH * FLAT_LENGTH * p->rounds * p->rounds < long2;
}

/* across face i: RB_NONE too where that one is gone */
static uint32_t
peel_beyond(const peel *p, uint32_t t, uint32_t i)
{
	uint32_t beyond = p->tets->neighbours[4 * (size_t) t + i];

	return beyond == RB_NONE || p->gone[beyond] == 1 ? RB_NONE : beyond;
}

static rb_status
peel_list(peel *p, uint32_t t)
{
	rb_status status;

	if (p->gone[t] != 0 || !is_flat(p, t))
		return RB_OK;
	status = rb_array_grow(p->r->ctx, (void **) &p->list, &p->list_cap, (size_t) p->n + 1,
						   sizeof(*p->list));
	if (status != RB_OK)
		return status;
	p->gone[t] = 2;
	p->list[p->n++] = t;
	return RB_OK;
}

/* is edge ab inside of what is left?  The way around it begins in tetrahedron t, across the face opposite to corner `to` */
static bool
edge_inside(const peel *p, uint32_t t, uint32_t a, uint32_t b, uint32_t to)
{
	uint32_t at = t;

	do
	{
		uint32_t next = peel_beyond(p, at, to), from = 0;

		if (next == RB_NONE)
			return false;
		while (from < 3 && p->tets->neighbours[4 * (size_t) next + from] != at)
			from++;
		to = 0;
		while (to == from || p->tets->tets[next][to] == a || p->tets->tets[next][to] == b)
			to++;
		at = next;
	} while (at != t);
	return true;
}

static bool
on_input(peel *p, uint32_t a, uint32_t b, uint32_t c)
{
	return rb_table_find(&p->input, a, b, c) != NULL;
}

/*
 * May it go?  With one face outside: then the fourth corner comes to the boundary, which must not be there yet; with two: then
 * the edge between them becomes the one opposite, which must not be there either.  What is on facets and
 * segments stays.
 */
static bool
may_go(peel *p, uint32_t t)
{
	const uint32_t *v = p->tets->tets[t];
	uint32_t out[4], in[4], nout = 0, nin = 0;

	for (uint32_t i = 0; i < 4; i++)
	{
		if (on_input(p, v[rb_cell_face_corner(i, 0)], v[rb_cell_face_corner(i, 1)],
					 v[rb_cell_face_corner(i, 2)]))
			return false;
		if (peel_beyond(p, t, i) == RB_NONE)
			out[nout++] = i;
		else
			in[nin++] = i;
	}
	if (nout == 1)
		return !p->outside[v[out[0]]];
	/* the edge between the two faces that are outside is that of corners in[], and the other way round */
	return nout == 2 && !on_input(p, v[in[0]], v[in[1]], RB_NONE) &&
		   edge_inside(p, t, v[out[0]], v[out[1]], in[0]);
}

static rb_status
peel_input(peel *p)
{
	const rb_tets *tets = p->tets;
	rb_context *ctx = p->r->ctx;
	rb_status status = RB_OK;

	for (uint32_t i = 0; i < tets->nfaces && status == RB_OK; i++)
	{
		const uint32_t *v = tets->faces[i];

		status = rb_table_put(ctx, &p->input, v[0], v[1], v[2], 0, NULL, NULL);
		if (peel_stops(p, i))
			status = RB_STOPPED;
	}
	for (uint32_t i = 0; i < tets->nedges && status == RB_OK; i++)
	{
		status = rb_table_put(ctx, &p->input, tets->edges[i][0], tets->edges[i][1], RB_NONE, 0,
							  NULL, NULL);
		if (peel_stops(p, i))
			status = RB_STOPPED;
	}
	return status;
}

/* what the boundary has, and what of it has no height */
static rb_status
peel_begin(peel *p)
{
	const rb_tets *tets = p->tets;
	rb_context *ctx = p->r->ctx;
	rb_status status = rb_array(ctx, (void **) &p->gone, (size_t) tets->ntets + 1, 1);

	if (status == RB_OK)
		status = rb_array(ctx, (void **) &p->outside, (size_t) tets->npoints + 1, 1);
	if (status != RB_OK)
		return status;
	memset(p->gone, 0, tets->ntets);
	memset(p->outside, 0, tets->npoints);
	for (uint32_t t = 0; t < tets->ntets && status == RB_OK; t++)
	{
		bool any = false;

		for (uint32_t i = 0; i < 4; i++)
			if (tets->neighbours[4 * (size_t) t + i] == RB_NONE)
			{
				any = true;
				for (uint32_t k = 0; k < 3; k++)
					p->outside[tets->tets[t][rb_cell_face_corner(i, k)]] = 1;
			}
		if (any)
			status = peel_list(p, t);
		if (peel_stops(p, t))
			status = RB_STOPPED;
	}
	return status;
}

/* those in the list, in its order, and what comes to it; *more: some went */
static rb_status
peel_once(peel *p, bool *more)
{
	rb_status status = RB_OK;

	*more = false;
	for (uint32_t k = 0; k < p->n && status == RB_OK; k++)
	{
		uint32_t t = p->list[k];

		if (p->gone[t] != 1 && may_go(p, t))
		{
			p->gone[t] = 1;
			p->ngone++;
			*more = true;
			for (uint32_t i = 0; i < 4 && status == RB_OK; i++)
			{
				uint32_t beyond = peel_beyond(p, t, i);

				p->outside[p->tets->tets[t][i]] = 1;
				if (beyond != RB_NONE)
					status = peel_list(p, beyond);
			}
		}
		if (peel_stops(p, k))
			status = RB_STOPPED;
	}
	return status;
}

/* the tetrahedra that are left, in their order; all else is shared with the others */
static rb_status
peel_rest(peel *p, rb_tets *rest)
{
	const rb_tets *tets = p->tets;
	rb_context *ctx = p->r->ctx;
	uint32_t *number = NULL;
	uint32_t n = 0;
	size_t left = (size_t) tets->ntets - p->ngone + 1;
	rb_status status;

	rest->tets = NULL;
	rest->neighbours = NULL;
	rest->region = NULL;
	status = rb_array(ctx, (void **) &number, (size_t) tets->ntets + 1, sizeof(uint32_t));
	if (status == RB_OK)
		status = rb_array(ctx, (void **) &rest->tets, left, sizeof(uint32_t[4]));
	if (status == RB_OK)
		status = rb_array(ctx, (void **) &rest->neighbours, 4 * left, sizeof(uint32_t));
	if (status == RB_OK)
		status = rb_array(ctx, (void **) &rest->region, left, sizeof(int64_t));
	for (uint32_t t = 0; t < tets->ntets && status == RB_OK; t++)
		number[t] = p->gone[t] == 1 ? RB_NONE : n++;
	for (uint32_t t = 0; t < tets->ntets && status == RB_OK; t++)
	{
		uint32_t to = number[t];

		if (to == RB_NONE)
			continue;
		memcpy(rest->tets[to], tets->tets[t], sizeof rest->tets[to]);
		rest->region[to] = tets->region[t];
		for (uint32_t i = 0; i < 4; i++)
		{
			uint32_t beyond = tets->neighbours[4 * (size_t) t + i];

			rest->neighbours[4 * (size_t) to + i] = beyond == RB_NONE ? RB_NONE : number[beyond];
		}
		if (peel_stops(p, t))
			status = RB_STOPPED;
	}
	rest->ntets = n;
	rb_free(ctx->memory, (void **) &number);
	return status;
}

rb_status
rb_hull_peel(rb_refining *r, const rb_tets *tets, rb_tets *rest)
{
	peel p;
	bool more = true;
	rb_status status;

	memset(&p, 0, sizeof p);
	p.r = r;
	p.tets = tets;
	p.rounds = hull_rounds(tets->points, 3, tets->npoints);
	*rest = *tets;
	status = peel_begin(&p);
	if (status == RB_OK && p.n > 0)
		status = peel_input(&p);
	while (status == RB_OK && p.n > 0 && more)
		status = peel_once(&p, &more);
	if (status == RB_OK && p.ngone > 0)
		status = peel_rest(&p, rest);
	rb_free(r->ctx->memory, (void **) &p.gone);
	rb_free(r->ctx->memory, (void **) &p.outside);
	rb_free(r->ctx->memory, (void **) &p.list);
	rb_table_free(r->ctx->memory, &p.input);
	return status;
}

void
rb_hull_peel_free(rb_refining *r, const rb_tets *tets, rb_tets *rest)
{
	if (rest->tets == tets->tets)
		return;
	rb_free(r->ctx->memory, (void **) &rest->tets);
	rb_free(r->ctx->memory, (void **) &rest->neighbours);
	rb_free(r->ctx->memory, (void **) &rest->region);
}

/* ---- faces of one plane ---- */

typedef struct ranked
{
	double height2; /* of the triangle, above its longest side */
	uint32_t ghost;
} ranked;

typedef struct group
{
	rb_refining *r;
	double rounds;
	ranked *order;
	uint32_t *members;
	uint32_t n;
	const double *origin;
	double normal[3]; /* of all members, as long as their area is large, twice */
	double middle[3]; /* from the origin, times weight */
	double weight;
} group;

static const double *
corner_at(const group *g, uint32_t ghost, uint32_t k)
{
	return rb_site_at(&g->r->mesh, g->r->mesh.cells[ghost].v[k]);
}

static double
face_normal(const group *g, uint32_t ghost, double *n, double *long2)
{
	const double *a = corner_at(g, ghost, 1), *b = corner_at(g, ghost, 2),
				 *c = corner_at(g, ghost, 3);

	normal_of(a, b, c, n);
	*long2 = longest2(a, b, c);
	return dot(n, n);
}

/* highest triangles first, for their planes are the surest */
static int
by_rank(const void *a, const void *b)
{
	const ranked *x = a, *y = b;

	if (x->height2 != y->height2)
		return x->height2 > y->height2 ? -1 : 1;
	return x->ghost < y->ghost ? -1 : x->ghost > y->ghost;
}

static void
take_member(group *g, uint32_t ghost, uint32_t facet)
{
	rb_cell *c = &g->r->mesh.cells[ghost];
	double n[3], long2, weight = sqrt(face_normal(g, ghost, n, &long2));

	c->facet[0] = facet;
	g->r->mesh.cells[c->n[0] >> 2].facet[c->n[0] & 3] = facet;
	g->members[g->n++] = ghost;
	for (int k = 0; k < 3; k++)
	{
		g->normal[k] += n[k];
		for (uint32_t i = 1; i < 4; i++)
			g->middle[k] += weight / 3 * (corner_at(g, ghost, i)[k] - g->origin[k]);
	}
	g->weight += weight;
}

/* is the face of ghost `other`, across the edge opposite to corner k of one in the group, in its plane? */
static bool
in_plane(const group *g, uint32_t ghost, uint32_t other, uint32_t apex)
{
	const double *p = corner_at(g, other, apex);
	rb_exact_env env = {.filters = g->r->ctx->filters, .exact = true};
	double from[3], n[3], long2, away, area2, length2 = dot(g->normal, g->normal);

	if (rb_orient3d_at(&env, corner_at(g, ghost, 1), corner_at(g, ghost, 2),
					   corner_at(g, ghost, 3), p) == 0)
		return true;
	for (int k = 0; k < 3; k++)
		from[k] = p[k] - g->origin[k] - g->middle[k] / g->weight;
	away = dot(from, g->normal);
	if (!(away * away <= g->rounds * g->rounds * length2))
		return false;
	area2 = face_normal(g, other, n, &long2);
	/* the way a needle looks is that of rounding */
	return area2 <= g->rounds * g->rounds * long2 || dot(n, g->normal) > 0;
}

static rb_status
grow_group(group *g, uint32_t facet)
{
	rb_cells *m = &g->r->mesh;
	uint32_t before;

	/* its plane is surer, the more it has: those that were looked at too early are so again */
	do
	{
		before = g->n;
		for (uint32_t i = 0; i < g->n; i++)
		{
			uint32_t ghost = g->members[i];
			const rb_cell *c = &m->cells[ghost];

			for (uint32_t k = 1; k < 4; k++)
			{
				uint32_t other = c->n[k] >> 2;
				uint32_t e = rb_cell_edge(k == 1 ? 2 : 1, k == 3 ? 2 : 3);

				if (m->cells[other].facet[0] == RB_NOWHERE && (c->bits & RB_CELL_SEGMENT(e)) == 0 &&
					in_plane(g, ghost, other, c->n[k] & 3))
					take_member(g, other, facet);
			}
			if ((i & 0xfff) == 0xfff && rb_should_stop(g->r->ctx))
				return RB_STOPPED;
		}
	} while (g->n > before);
	return RB_OK;
}

rb_status
rb_hull_group(rb_refining *r, uint32_t first)
{
	rb_context *ctx = r->ctx;
	rb_cells *m = &r->mesh;
	uint32_t n = 0;
	group g;
	rb_status status;

	memset(&g, 0, sizeof g);
	g.r = r;
	for (uint32_t i = first; i < r->ncells; i++)
		n += m->cells[i].facet[0] == RB_NOWHERE;
	if (n == 0)
		return RB_OK;
	status = rb_array(ctx, (void **) &g.order, n, sizeof(*g.order));
	if (status == RB_OK)
		status = rb_array(ctx, (void **) &g.members, n, sizeof(*g.members));
	if (status == RB_OK)
	{
		uint32_t k = 0;

		g.rounds = hull_rounds(m->sites[0].at, sizeof(rb_site) / sizeof(double), r->nsites);
		for (uint32_t i = first; i < r->ncells; i++)
			if (m->cells[i].facet[0] == RB_NOWHERE)
			{
				double normal[3], long2, area2 = face_normal(&g, i, normal, &long2);

				g.order[k].height2 = area2 / long2;
				g.order[k++].ghost = i;
			}
		qsort(g.order, n, sizeof(*g.order), by_rank);
	}
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		uint32_t ghost = g.order[i].ghost;

		if (m->cells[ghost].facet[0] != RB_NOWHERE)
			continue;
		g.n = 0;
		g.weight = 0;
		memset(g.normal, 0, sizeof g.normal);
		memset(g.middle, 0, sizeof g.middle);
		g.origin = corner_at(&g, ghost, 1);
		take_member(&g, ghost, r->all_facets);
		status = grow_group(&g, r->all_facets++);
	}
	rb_free(ctx->memory, (void **) &g.order);
	rb_free(ctx->memory, (void **) &g.members);
	return status;
}
