/*
 * hull_planes.c
 *	  Builds facets for the hull, where points lie in one plane up to rounding.
 *
 * The hull of rounded points is a polyhedron with many faces where a single plane is meant. The
 * edges between these faces have angles of almost 180 degrees, which reflect only the last bit of
 * the coordinates and deserve no Steiner points. So adjacent faces form one facet if all of their
 * corners lie in one plane up to rounding. Points that are added on such a facet are rounded, too,
 * so it stays as flat as it was.
 */
#include "refine/hull.h"

/*
 * Maximum number of passes over the members of a plane, which becomes more accurate as it gains
 * members
 */
#define PASSES 8
/* Maximum number of needles in a row */
#define NEEDLES 32

rb_status
rb_hull_rounds(rb_refining *r, const rb_tets *tets)
{
	double most = 0, across = 0, low[3], high[3];

	for (int k = 0; k < 3; k++)
	{
		low[k] = INFINITY;
		high[k] = -INFINITY;
	}
	for (uint32_t i = 0; i < tets->npoints; i++)
	{
		const double *at = tets->points + 3 * (size_t) i;

		for (int k = 0; k < 3; k++)
		{
			low[k] = at[k] < low[k] ? at[k] : low[k];
			high[k] = at[k] > high[k] ? at[k] : high[k];
		}
		if ((i & 0xffff) == 0xffff && rb_should_stop(r->ctx))
			return RB_STOPPED;
	}
	for (int k = 0; k < 3; k++)
	{
		most = fmax(most, fmax(fabs(low[k]), fabs(high[k])));
		across = fmax(across, high[k] - low[k]);
	}
	r->hull_rounds = rb_flat_rounds(most, across);
	return RB_OK;
}

bool
rb_hull_near(const rb_refining *r, const double *a, const double *b, const double *c,
			 const double *d)
{
	const double *const at[4] = {a, b, c, d};

	return r->hull_rounds > 0 && rb_four_flat(at, RB_FLAT_HEIGHT * r->hull_rounds);
}

/* ---- planes of a surface ---- */

static const double *
corner_at(const rb_surface *s, uint32_t face, uint32_t k)
{
	return s->points + s->stride * s->faces[face][k];
}

static double
normal_of(const rb_surface *s, uint32_t face, double *n, double *long2)
{
	const double *a = corner_at(s, face, 0), *b = corner_at(s, face, 1), *c = corner_at(s, face, 2);

	rb_face_normal(a, b, c, n);
	*long2 = rb_face_long2(a, b, c);
	return rb_dot(n, n);
}

static void
add_member(rb_surface *s, uint32_t face)
{
	rb_plane *p = &s->planes[s->nplanes];
	double n[3], long2, weight = sqrt(normal_of(s, face, n, &long2));

	s->of[face] = s->nplanes;
	s->members[s->nmembers++] = face;
	s->weight += weight;
	for (int k = 0; k < 3; k++)
	{
		p->normal[k] += n[k];
		for (uint32_t i = 0; i < 3; i++)
			s->middle[k] += weight / 3 * (corner_at(s, face, i)[k] - s->origin[k]);
		p->middle[k] = s->origin[k] + s->middle[k] / s->weight;
	}
}

/*
 * Returns true if the face adjacent to a member lies in the plane, too. It shares its other two
 * corners with the member.
 */
static bool
in_plane(const rb_surface *s, uint32_t seed, uint32_t member, uint32_t face)
{
	const rb_plane *p = &s->planes[s->nplanes];
	const uint32_t *v = s->faces[member], *w = s->faces[face];
	rb_exact_env env = {.filters = s->ctx->filters, .exact = true};
	const double *apex;
	double n[3], long2, area2;
	uint32_t k = 0;

	while (k < 2 && (w[k] == v[0] || w[k] == v[1] || w[k] == v[2]))
		k++;
	apex = corner_at(s, face, k);
	/* A point that is exactly coplanar with the first face is in the plane in any case. */
	if (!rb_on_plane(p, s->rounds, apex) &&
		rb_orient3d_at(&env, corner_at(s, seed, 0), corner_at(s, seed, 1), corner_at(s, seed, 2),
					   apex) != 0)
		return false;
	area2 = normal_of(s, face, n, &long2);
	/* The direction of a needle's normal is determined by rounding only. */
	return area2 <= s->rounds * s->rounds * long2 || rb_dot(n, p->normal) > 0;
}

static bool
is_needle(const rb_surface *s, uint32_t face)
{
	double n[3], long2, area2 = normal_of(s, face, n, &long2);

	return area2 <= s->rounds * s->rounds * long2;
}

/* Returns the corner opposite to the longest edge of a face. */
static uint32_t
apex_of_needle(const rb_surface *s, uint32_t face)
{
	const double *a = corner_at(s, face, 0), *b = corner_at(s, face, 1), *c = corner_at(s, face, 2);
	const double x = rb_distance2(b, c), y = rb_distance2(c, a), z = rb_distance2(a, b);

	return x >= y && x >= z ? 0 : y >= z ? 1 : 2;
}

/*
 * Assigns each needle to a plane. A needle at the edge between two planes lies in both. It joins
 * the plane beyond its longest edge, so that the border between the planes follows its two short
 * edges. If the border followed the longest edge, the vertex between the short edges would lie
 * right next to it.
 */
static rb_status
place_needles(rb_surface *s)
{
	for (uint32_t i = 0; i < s->n; i++)
	{
		uint32_t face = i, steps = 0;

		while (face != RB_NONE && is_needle(s, face) && steps++ < NEEDLES)
			face = s->beside[face][apex_of_needle(s, face)];
		if (face != RB_NONE && !is_needle(s, face))
			s->of[i] = s->of[face];
		if ((i & 0x3fff) == 0x3fff && rb_should_stop(s->ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

static rb_status
grow_plane(rb_surface *s, uint32_t seed)
{
	uint32_t before = 0;

	for (int pass = 0; pass < PASSES && s->nmembers > before; pass++)
	{
		before = s->nmembers;
		for (uint32_t i = 0; i < s->nmembers; i++)
		{
			for (uint32_t k = 0; k < 3; k++)
			{
				const uint32_t beside = s->beside[s->members[i]][k];

				if (beside != RB_NONE && s->of[beside] == RB_NONE &&
					in_plane(s, seed, s->members[i], beside))
					add_member(s, beside);
			}
			if ((i & 0xfff) == 0xfff && rb_should_stop(s->ctx))
				return RB_STOPPED;
		}
	}
	return RB_OK;
}

/*
 * Orders faces by the exponents of their squared heights, highest first, because the planes of high
 * triangles are the most accurate.
 */
static rb_status
order_faces(rb_surface *s)
{
	uint32_t at[0x801] = {0};

	for (int pass = 0; pass < 2; pass++)
	{
		for (uint32_t i = 0; i < s->n; i++)
		{
			double n[3], long2, area2 = normal_of(s, i, n, &long2);
			double height2 = long2 > 0 ? area2 / long2 : 0;
			uint64_t bits;
			uint32_t place;

			memcpy(&bits, &height2, sizeof bits);
			place = 0x7ff - (uint32_t) (bits >> 52 & 0x7ff);
			if (pass == 0)
				at[place + 1]++;
			else
				s->order[at[place]++] = i;
			if ((i & 0x3fff) == 0x3fff && rb_should_stop(s->ctx))
				return RB_STOPPED;
		}
		for (uint32_t k = 0; k < 0x800 && pass == 0; k++)
			at[k + 1] += at[k];
	}
	return RB_OK;
}

rb_status
rb_surface_reserve(rb_surface *s, size_t n)
{
	rb_status status =
		rb_array_grow(s->ctx, (void **) &s->faces, &s->faces_cap, n, sizeof(*s->faces));

	if (status == RB_OK)
		status = rb_array_grow(s->ctx, (void **) &s->beside, &s->beside_cap, n, sizeof(*s->beside));
	return status;
}

rb_status
rb_surface_planes(rb_surface *s)
{
	rb_status status = rb_array(s->ctx, (void **) &s->order, (size_t) s->n + 1, sizeof(*s->order));

	if (status == RB_OK)
		status = rb_array(s->ctx, (void **) &s->members, (size_t) s->n + 1, sizeof(*s->members));
	if (status == RB_OK)
		status = rb_array(s->ctx, (void **) &s->of, (size_t) s->n + 1, sizeof(*s->of));
	if (status == RB_OK)
	{
		memset(s->of, 0xff, s->n * sizeof(*s->of));
		status = order_faces(s);
	}
	for (uint32_t i = 0; i < s->n && status == RB_OK; i++)
	{
		const uint32_t seed = s->order[i];

		if (s->of[seed] != RB_NONE)
			continue;
		status = rb_array_grow(s->ctx, (void **) &s->planes, &s->planes_cap,
							   (size_t) s->nplanes + 1, sizeof(*s->planes));
		if (status != RB_OK)
			break;
		s->nmembers = 0;
		s->weight = 0;
		memset(s->middle, 0, sizeof s->middle);
		memset(&s->planes[s->nplanes], 0, sizeof(rb_plane));
		s->origin = corner_at(s, seed, 0);
		add_member(s, seed);
		status = grow_plane(s, seed);
		s->nplanes++;
		if ((i & 0xfff) == 0xfff && status == RB_OK && rb_should_stop(s->ctx))
			status = RB_STOPPED;
	}
	return status == RB_OK ? place_needles(s) : status;
}

void
rb_surface_free(rb_surface *s)
{
	rb_memory *memory = s->ctx->memory;

	rb_free(memory, (void **) &s->faces);
	rb_free(memory, (void **) &s->beside);
	rb_free(memory, (void **) &s->of);
	rb_free(memory, (void **) &s->planes);
	rb_free(memory, (void **) &s->order);
	rb_free(memory, (void **) &s->members);
}

/* ---- facets that represent the hull ---- */

rb_status
rb_hull_group(rb_refining *r, uint32_t first)
{
	rb_cells *m = &r->mesh;
	rb_surface s;
	uint32_t *face = NULL; /* Face of each ghost */
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
	s.rounds = r->hull_rounds;
	status = rb_surface_reserve(&s, n);
	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &face, r->ncells - first, sizeof(*face));
	for (uint32_t i = first; i < r->ncells && status == RB_OK; i++)
	{
		if ((i & 0x3fff) == 0x3fff && rb_should_stop(r->ctx))
			status = RB_STOPPED;
		face[i - first] = RB_NONE;
		if (m->cells[i].facet[0] == RB_NOWHERE)
			face[i - first] = s.n++;
	}
	for (uint32_t i = first; i < r->ncells && status == RB_OK; i++)
	{
		const rb_cell *c = &m->cells[i];

		if ((i & 0x3fff) == 0x3fff && rb_should_stop(r->ctx))
			status = RB_STOPPED;
		for (uint32_t k = 1; k < 4 && face[i - first] != RB_NONE; k++)
		{
			uint32_t e = rb_cell_edge(k == 1 ? 2 : 1, k == 3 ? 2 : 3);

			s.faces[face[i - first]][k - 1] = c->v[k];
			s.beside[face[i - first]][k - 1] =
				(c->bits & RB_CELL_SEGMENT(e)) != 0 ? RB_NONE : face[(c->n[k] >> 2) - first];
		}
	}
	if (status == RB_OK)
		status = rb_surface_planes(&s);
	for (uint32_t i = first; i < r->ncells && status == RB_OK; i++)
	{
		rb_cell *c = &m->cells[i];

		if ((i & 0x3fff) == 0x3fff && rb_should_stop(r->ctx))
			status = RB_STOPPED;
		if (face[i - first] == RB_NONE)
			continue;
		c->facet[0] = r->all_facets + s.of[face[i - first]];
		m->cells[c->n[0] >> 2].facet[c->n[0] & 3] = c->facet[0];
	}
	r->all_facets += s.nplanes;
	rb_free(r->ctx->memory, (void **) &face);
	rb_surface_free(&s);
	return status;
}
