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
#ifdef DBG
#include <stdio.h>
#endif

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

/* ---- faces of one plane ---- */

typedef struct plane
{
	double normal[3]; /* those of its faces together: as long as their area is large, twice */
	double middle[3]; /* a point of it */
} plane;

typedef struct ranked
{
	double height2; /* of the triangle, above its longest side */
	uint32_t face;
} ranked;

/* a surface, and the planes it consists of */
typedef struct surface
{
	rb_context *ctx;
	const double *points;
	size_t stride; /* from one point to the next */
	double rounds;
	uint32_t (*faces)[3];
	uint32_t (*beside)[3]; /* the face across the edge opposite to that corner; RB_NONE: not to be looked at */
	size_t faces_cap, beside_cap;
	uint32_t n;
	uint32_t *of; /* the plane of each face */
	plane *planes;
	size_t planes_cap;
	uint32_t nplanes;
	/* while one grows */
	ranked *order;
	uint32_t *members;
	uint32_t nmembers;
	const double *origin;
	double middle[3]; /* from the origin, times weight */
	double weight;
} surface;

static const double *
surface_at(const surface *s, uint32_t v)
{
	return s->points + s->stride * v;
}

static double
face_normal(const surface *s, uint32_t face, double *n, double *long2)
{
	const double *a = surface_at(s, s->faces[face][0]), *b = surface_at(s, s->faces[face][1]),
				 *c = surface_at(s, s->faces[face][2]);

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
	return x->face < y->face ? -1 : x->face > y->face;
}

static void
take_member(surface *s, uint32_t face)
{
	plane *p = &s->planes[s->nplanes];
	double n[3], long2, weight = sqrt(face_normal(s, face, n, &long2));

	s->of[face] = s->nplanes;
	s->members[s->nmembers++] = face;
	s->weight += weight;
	for (int k = 0; k < 3; k++)
	{
		p->normal[k] += n[k];
		for (uint32_t i = 0; i < 3; i++)
			s->middle[k] += weight / 3 * (surface_at(s, s->faces[face][i])[k] - s->origin[k]);
		p->middle[k] = s->origin[k] + s->middle[k] / s->weight;
	}
}

/* up to rounding */
static bool
on_plane(const plane *p, double rounds, const double *at)
{
	double from[3], away;

	for (int k = 0; k < 3; k++)
		from[k] = at[k] - p->middle[k];
	away = dot(from, p->normal);
	return away * away <= rounds * rounds * dot(p->normal, p->normal);
}

/* does the face beside a member lie in the plane, too? */
static bool
in_plane(const surface *s, uint32_t member, uint32_t face)
{
	const plane *p = &s->planes[s->nplanes];
	const uint32_t *v = s->faces[member], *w = s->faces[face];
	rb_exact_env env = {.filters = s->ctx->filters, .exact = true};
	const double *apex;
	double n[3], long2, area2;
	int k = 0;

	while (k < 2 && (w[k] == v[0] || w[k] == v[1] || w[k] == v[2]))
		k++;
	apex = surface_at(s, w[k]);
	if (rb_orient3d_at(&env, surface_at(s, v[0]), surface_at(s, v[1]), surface_at(s, v[2]), apex) ==
		0)
		return true;
	if (!on_plane(p, s->rounds, apex))
		return false;
	area2 = face_normal(s, face, n, &long2);
	/* the way a needle looks is that of rounding */
	return area2 <= s->rounds * s->rounds * long2 || dot(n, p->normal) > 0;
}

static rb_status
grow_plane(surface *s)
{
	uint32_t before;

	/* its plane is surer, the more it has: those that were looked at too early are so again */
	do
	{
		before = s->nmembers;
		for (uint32_t i = 0; i < s->nmembers; i++)
		{
			for (uint32_t k = 0; k < 3; k++)
			{
				uint32_t beside = s->beside[s->members[i]][k];

				if (beside != RB_NONE && s->of[beside] == RB_NONE &&
					in_plane(s, s->members[i], beside))
					take_member(s, beside);
			}
			if ((i & 0xfff) == 0xfff && rb_should_stop(s->ctx))
				return RB_STOPPED;
		}
	} while (s->nmembers > before);
	return RB_OK;
}

static rb_status
surface_reserve(surface *s, uint32_t n)
{
	rb_status status =
		rb_array_grow(s->ctx, (void **) &s->faces, &s->faces_cap, n, sizeof(*s->faces));

	if (status == RB_OK)
		status =
			rb_array_grow(s->ctx, (void **) &s->beside, &s->beside_cap, n, sizeof(*s->beside));
	return status;
}

/* its faces are there, and what is beside them */
static rb_status
find_planes(surface *s)
{
	rb_status status = rb_array(s->ctx, (void **) &s->order, (size_t) s->n + 1, sizeof(*s->order));

	if (status == RB_OK)
		status =
			rb_array(s->ctx, (void **) &s->members, (size_t) s->n + 1, sizeof(*s->members));
	if (status == RB_OK)
		status = rb_array(s->ctx, (void **) &s->of, (size_t) s->n + 1, sizeof(*s->of));
	for (uint32_t i = 0; i < s->n && status == RB_OK; i++)
	{
		double normal[3], long2, area2 = face_normal(s, i, normal, &long2);

		s->order[i].height2 = area2 / long2;
		s->order[i].face = i;
		s->of[i] = RB_NONE;
	}
	if (status == RB_OK)
		qsort(s->order, s->n, sizeof(*s->order), by_rank);
	for (uint32_t i = 0; i < s->n && status == RB_OK; i++)
	{
		uint32_t face = s->order[i].face;

		if (s->of[face] != RB_NONE)
			continue;
		status = rb_array_grow(s->ctx, (void **) &s->planes, &s->planes_cap,
							   (size_t) s->nplanes + 1, sizeof(*s->planes));
		if (status != RB_OK)
			break;
		s->nmembers = 0;
		s->weight = 0;
		memset(s->middle, 0, sizeof s->middle);
		memset(&s->planes[s->nplanes], 0, sizeof(plane));
		s->origin = surface_at(s, s->faces[face][0]);
		take_member(s, face);
		status = grow_plane(s);
#ifdef DBG
		if (s->stride == 4) fprintf(stderr, "group %u: %u members, height %g\n", s->nplanes, s->nmembers, sqrt(s->order[i].height2));
#endif
		s->nplanes++;
	}
	return status;
}

static void
surface_free(surface *s)
{
	rb_memory *memory = s->ctx->memory;

	rb_free(memory, (void **) &s->faces);
	rb_free(memory, (void **) &s->beside);
	rb_free(memory, (void **) &s->of);
	rb_free(memory, (void **) &s->planes);
	rb_free(memory, (void **) &s->order);
	rb_free(memory, (void **) &s->members);
}

/* ---- tetrahedra without a height ---- */

/*
 * All that lie in a plane of the boundary go at once; then what is left is looked at. Each of its points must be
 * in it still, and its edges on segments, and its boundary has to be a surface without a fold: where it is not,
 * those around come back, until it is.
 */
typedef struct peel
{
	rb_refining *r;
	const rb_tets *tets;
	double rounds;
	uint8_t *gone;  /* of each tetrahedron: 1: it is, 2: it is in the list and came back, 3: in the skin */
	uint32_t *list; /* tetrahedra without a height */
	uint32_t in;    /* the plane where the last one was found */
	uint32_t n, ngone;
	uint32_t *skin; /* tetrahedra that may have a face on the boundary of what is left; not gone at first */
	uint32_t nskin;
	size_t list_cap, skin_cap;
	rb_table input; /* faces of facets, and edges of segments */
	surface hull;   /* the boundary: at first, for its planes; */
	uint32_t *tet;  /* of each face */
	size_t tet_cap;
	/* then that of what is left, again each time: */
	uint32_t *fan; /* of corner i of face f, 3 f + i: another one of its fan, or itself */
	size_t fan_cap;
	rb_table edges;  /* of the boundary: 3 f + i of the first face that has it; FOLD: more than two have */
	uint32_t *first; /* of each point: a corner of the boundary there, its fan's root; RB_NONE; FOLD: of two fans */
} peel;

#define FOLD (RB_NONE - 1)
#define TAKEN (RB_NONE - 2) /* an edge of two faces */

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
	/* four on a line: no face is large enough for a height */
	return (volume6 * volume6 <= p->rounds * p->rounds * largest2 ||
			largest2 <= p->rounds * p->rounds * long2) &&
		   FLAT_LENGTH * FLAT_LENGTH * p->rounds * p->rounds < long2;
}

static rb_status
peel_push(peel *p, uint32_t **list, size_t *cap, uint32_t *n, uint32_t t)
{
	rb_status status =
		rb_array_grow(p->r->ctx, (void **) list, cap, (size_t) *n + 1, sizeof(**list));

	if (status == RB_OK)
		(*list)[(*n)++] = t;
	return status;
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

/* a face of a facet is one of its own */
static bool
has_facet(const peel *p, uint32_t t)
{
	const uint32_t *v = p->tets->tets[t];

	for (uint32_t i = 0; i < 4; i++)
		if (rb_table_find(&p->input, v[rb_cell_face_corner(i, 0)], v[rb_cell_face_corner(i, 1)],
						  v[rb_cell_face_corner(i, 2)]) != NULL)
			return true;
	return false;
}

static uint32_t
fan_of(peel *p, uint32_t i)
{
	while (p->fan[i] != i)
	{
		p->fan[i] = p->fan[p->fan[i]];
		i = p->fan[i];
	}
	return i;
}

static void
join_fans(peel *p, uint32_t i, uint32_t j)
{
	i = fan_of(p, i);
	j = fan_of(p, j);
	p->fan[i > j ? i : j] = i > j ? j : i;
}

/* the boundary faces of a tetrahedron that is left */
static rb_status
put_faces(peel *p, uint32_t t)
{
	rb_status status = RB_OK;

	for (uint32_t i = 0; i < 4 && status == RB_OK; i++)
	{
		uint32_t beyond = p->tets->neighbours[4 * (size_t) t + i];

		if (beyond != RB_NONE && p->gone[beyond] != 1)
			continue;
		status = surface_reserve(&p->hull, p->hull.n + 1);
		if (status == RB_OK)
			status = rb_array_grow(p->r->ctx, (void **) &p->tet, &p->tet_cap,
								   (size_t) p->hull.n + 1, sizeof(*p->tet));
		if (status == RB_OK)
			p->tet[p->hull.n] = t;
		if (status == RB_OK)
			status = rb_array_grow(p->r->ctx, (void **) &p->fan, &p->fan_cap,
								   3 * (size_t) p->hull.n + 3, sizeof(*p->fan));
		for (uint32_t k = 0; k < 3 && status == RB_OK; k++)
		{
			p->hull.faces[p->hull.n][k] = p->tets->tets[t][rb_cell_face_corner(i, k)];
			p->hull.beside[p->hull.n][k] = RB_NONE;
			p->fan[3 * p->hull.n + k] = 3 * p->hull.n + k;
		}
		p->hull.n += status == RB_OK;
	}
	return status;
}

/* the boundary of what is left: where its faces meet, and where it has folds */
static rb_status
put_boundary(peel *p)
{
	rb_status status = RB_OK;

	p->hull.n = 0;
	rb_table_clear(&p->edges);
	for (uint32_t k = 0; k < p->nskin && status == RB_OK; k++)
	{
		if (p->gone[p->skin[k]] == 3)
			status = put_faces(p, p->skin[k]);
		if (peel_stops(p, k))
			status = RB_STOPPED;
	}
	for (uint32_t k = 0; k < p->n && status == RB_OK; k++)
		if (p->gone[p->list[k]] != 1)
			status = put_faces(p, p->list[k]);
	for (uint32_t side = 0; side < 3 * p->hull.n && status == RB_OK; side++)
	{
		const uint32_t *v = p->hull.faces[side / 3];
		uint32_t i = side % 3, next = side - i + (i + 1) % 3;
		uint32_t *first;
		bool fresh;

		status = rb_table_put(p->r->ctx, &p->edges, v[i], v[(i + 1) % 3], RB_NONE, side, &first,
							  &fresh);
		if (status != RB_OK || fresh)
			continue;
		if (*first == TAKEN || *first == FOLD)
			*first = FOLD;
		else
		{
			uint32_t other = *first, beside = other - other % 3 + (other % 3 + 1) % 3;

			if (p->hull.faces[other / 3][other % 3] != v[i])
			{
				uint32_t swap = other;

				other = beside;
				beside = swap;
			}
			p->hull.beside[side / 3][(i + 2) % 3] = *first / 3;
			p->hull.beside[*first / 3][(*first % 3 + 2) % 3] = side / 3;
			join_fans(p, side, other);
			join_fans(p, next, beside);
			*first = TAKEN;
		}
		if (peel_stops(p, side))
			status = RB_STOPPED;
	}
	memset(p->first, 0xff, p->tets->npoints * sizeof(*p->first));
	for (uint32_t i = 0; i < 3 * p->hull.n && status == RB_OK; i++)
	{
		uint32_t v = p->hull.faces[i / 3][i % 3], root = fan_of(p, i);

		if (p->first[v] == RB_NONE)
			p->first[v] = root;
		else if (p->first[v] != root)
			p->first[v] = FOLD;
	}
	return status;
}

/* three of its corners lie on one line */
static bool
has_needle(const peel *p, uint32_t t)
{
	for (uint32_t i = 0; i < 4; i++)
	{
		const double *a = peel_at(p, p->tets->tets[t][rb_cell_face_corner(i, 0)]);
		const double *b = peel_at(p, p->tets->tets[t][rb_cell_face_corner(i, 1)]);
		const double *c = peel_at(p, p->tets->tets[t][rb_cell_face_corner(i, 2)]);
		double n[3];

		normal_of(a, b, c, n);
		if (dot(n, n) <= p->rounds * p->rounds * longest2(a, b, c))
			return true;
	}
	return false;
}

/* or all of them in one of the planes */
static bool
lies_in_plane(peel *p, uint32_t t)
{
	for (uint32_t k = 0; k < p->hull.nplanes; k++)
	{
		/* mostly it is the same one as before */
		uint32_t in = k == 0 ? p->in : k <= p->in ? k - 1 : k, i = 0;

		while (i < 4 &&
			   on_plane(&p->hull.planes[in], p->rounds, peel_at(p, p->tets->tets[t][i])))
			i++;
		if (i == 4)
		{
			p->in = in;
			return true;
		}
	}
	return false;
}

/* it goes, if it lies in a plane of the hull, or has three corners on a line; and its neighbours are looked at later */
static rb_status
peel_list(peel *p, uint32_t t)
{
	if (p->gone[t] == 1 || p->gone[t] == 2 || !is_flat(p, t) ||
		!(has_needle(p, t) || lies_in_plane(p, t)))
		return RB_OK;
	p->gone[t] = has_facet(p, t) ? 2 : 1;
	p->ngone += p->gone[t] == 1;
	return peel_push(p, &p->list, &p->list_cap, &p->n, t);
}

/* tetrahedra that the boundary has a face of; *flat: some have no height */
static rb_status
peel_skin(peel *p, bool *flat)
{
	const rb_tets *tets = p->tets;
	rb_status status = rb_array(p->r->ctx, (void **) &p->gone, (size_t) tets->ntets + 1, 1);

	*flat = false;
	if (status != RB_OK)
		return status;
	memset(p->gone, 0, tets->ntets);
	for (uint32_t t = 0; t < tets->ntets && status == RB_OK; t++)
	{
		const uint32_t *n = tets->neighbours + 4 * (size_t) t;

		if (n[0] == RB_NONE || n[1] == RB_NONE || n[2] == RB_NONE || n[3] == RB_NONE)
		{
			p->gone[t] = 3;
			*flat = *flat || is_flat(p, t);
			status = peel_push(p, &p->skin, &p->skin_cap, &p->nskin, t);
		}
		if (peel_stops(p, t))
			status = RB_STOPPED;
	}
	return status;
}

/* of the boundary as it is: planes, and what lies in them without a height */
static rb_status
peel_begin(peel *p)
{
	rb_status status = peel_input(p);

	if (status == RB_OK)
		status = put_boundary(p);
	for (uint32_t i = 0; i < p->hull.n && status == RB_OK; i++)
		for (uint32_t k = 0; k < 3; k++)
		{
			const uint32_t *v = p->hull.faces[i];

			if (rb_table_find(&p->input, v[(k + 1) % 3], v[(k + 2) % 3], RB_NONE) != NULL)
				p->hull.beside[i][k] = RB_NONE;
		}
	if (status == RB_OK)
		status = find_planes(&p->hull);
	for (uint32_t i = 0; i < p->hull.n && status == RB_OK; i++)
		status = peel_list(p, p->tet[i]);
	for (uint32_t k = 0; k < p->n && status == RB_OK; k++)
	{
		const uint32_t *n = p->tets->neighbours + 4 * (size_t) p->list[k];

		for (uint32_t i = 0; i < 4 && status == RB_OK && p->gone[p->list[k]] == 1; i++)
		{
			if (n[i] == RB_NONE)
				continue;
			status = peel_list(p, n[i]);
			if (status == RB_OK && p->gone[n[i]] == 0)
			{
				p->gone[n[i]] = 3;
				status = peel_push(p, &p->skin, &p->skin_cap, &p->nskin, n[i]);
			}
		}
		if (peel_stops(p, k))
			status = RB_STOPPED;
	}
	return status;
}

/* has it a corner, or an edge of a segment, that is lost, or at which the boundary folds? */
static bool
comes_back(const peel *p, uint32_t t)
{
	const uint32_t *v = p->tets->tets[t];

	for (uint32_t i = 0; i < 4; i++)
		if (p->first[v[i]] == RB_NONE || p->first[v[i]] == FOLD)
			return true;
	for (uint32_t e = 0; e < 6; e++)
	{
		uint32_t a = v[rb_cell_edge_from(e)], b = v[rb_cell_edge_to(e)];
		const uint32_t *there = rb_table_find(&p->edges, a, b, RB_NONE);

		if (there != NULL ? *there == FOLD : rb_table_find(&p->input, a, b, RB_NONE) != NULL)
			return true;
	}
	return false;
}

/* *any: some came back */
static rb_status
peel_back(peel *p, bool *any)
{
	rb_status status = put_boundary(p);

	*any = false;
	for (uint32_t k = 0; k < p->n && status == RB_OK; k++)
	{
		uint32_t t = p->list[k];

		if (p->gone[t] == 1 && comes_back(p, t))
		{
			p->gone[t] = 2;
			p->ngone--;
			*any = true;
		}
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
	bool more;
	rb_status status;

	memset(&p, 0, sizeof p);
	p.r = r;
	p.tets = tets;
	p.rounds = hull_rounds(tets->points, 3, tets->npoints);
	*rest = *tets;
	p.hull.ctx = r->ctx;
	p.hull.points = tets->points;
	p.hull.stride = 3;
	p.hull.rounds = p.rounds;
	status = peel_skin(&p, &more);
	if (status == RB_OK && more)
		status = rb_array(r->ctx, (void **) &p.first, (size_t) tets->npoints + 1, sizeof(*p.first));
	if (status == RB_OK && more)
		status = peel_begin(&p);
	while (status == RB_OK && p.ngone > 0 && more)
		status = peel_back(&p, &more);
#ifdef DBG
	fprintf(stderr,"flat %u gone %u\n", p.n, p.ngone);
#endif
	if (status == RB_OK && p.ngone > 0)
		status = peel_rest(&p, rest);
	rb_free(r->ctx->memory, (void **) &p.gone);
	rb_free(r->ctx->memory, (void **) &p.list);
	rb_free(r->ctx->memory, (void **) &p.skin);
	rb_free(r->ctx->memory, (void **) &p.fan);
	rb_free(r->ctx->memory, (void **) &p.tet);
	surface_free(&p.hull);
	rb_free(r->ctx->memory, (void **) &p.first);
	rb_table_free(r->ctx->memory, &p.input);
	rb_table_free(r->ctx->memory, &p.edges);
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

/* ---- facets that stand for the hull ---- */

rb_status
rb_hull_group(rb_refining *r, uint32_t first)
{
	rb_cells *m = &r->mesh;
	surface s;
	uint32_t *face = NULL; /* of each ghost */
	uint32_t n = 0;
	rb_status status;

	memset(&s, 0, sizeof s);
	s.ctx = r->ctx;
	for (uint32_t i = first; i < r->ncells; i++)
		n += m->cells[i].facet[0] == RB_NOWHERE;
	if (n == 0)
		return RB_OK;
	s.points = m->sites[0].at;
	s.stride = sizeof(rb_site) / sizeof(double);
	s.rounds = hull_rounds(s.points, s.stride, r->nsites);
	status = surface_reserve(&s, n);
	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &face, r->ncells - first, sizeof(*face));
	for (uint32_t i = first; i < r->ncells && status == RB_OK; i++)
	{
		face[i - first] = RB_NONE;
		if (m->cells[i].facet[0] == RB_NOWHERE)
			face[i - first] = s.n++;
	}
	for (uint32_t i = first; i < r->ncells && status == RB_OK; i++)
	{
		const rb_cell *c = &m->cells[i];

		for (uint32_t k = 1; k < 4 && face[i - first] != RB_NONE; k++)
		{
			uint32_t e = rb_cell_edge(k == 1 ? 2 : 1, k == 3 ? 2 : 3);

			s.faces[face[i - first]][k - 1] = c->v[k];
			s.beside[face[i - first]][k - 1] =
				(c->bits & RB_CELL_SEGMENT(e)) != 0 ? RB_NONE : face[(c->n[k] >> 2) - first];
		}
	}
	if (status == RB_OK)
		status = find_planes(&s);
	for (uint32_t i = first; i < r->ncells && status == RB_OK; i++)
	{
		rb_cell *c = &m->cells[i];

		if (face[i - first] == RB_NONE)
			continue;
		c->facet[0] = r->all_facets + s.of[face[i - first]];
		m->cells[c->n[0] >> 2].facet[c->n[0] & 3] = c->facet[0];
	}
	r->all_facets += s.nplanes;
	rb_free(r->ctx->memory, (void **) &face);
	surface_free(&s);
	return status;
}
