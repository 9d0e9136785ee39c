/*
 * hull.c
 *	  Prepares the hull of a mesh for refinement, where points lie in one plane up to rounding:
 *	  removes tetrahedra whose height is due to rounding only, and builds facets.
 *
 * The hull of rounded points is a polyhedron with many faces where a single plane is meant. The
 * edges between these faces have angles of almost 180 degrees, which reflect only the last bit of
 * the coordinates and deserve no Steiner points. So adjacent faces form one facet if all of their
 * corners lie in one plane up to rounding. Points that are added on such a facet are projected on its
 * plane (measure.h) and rounded, so it stays as flat as it was.
 *
 * Between such faces there are slivers: tetrahedra whose height is only the last bit of the
 * coordinates. No Steiner point improves them. They are removed one by one, from outside, if they
 * lie in a plane of the boundary and if their removal changes only the triangulation of the
 * boundary. A tetrahedron with one boundary face is removed if its fourth corner is inside the
 * mesh. This corner is on the boundary afterwards. A tetrahedron with two boundary faces is
 * removed if the edge opposite their common edge is inside the mesh. This edge replaces the common
 * edge on the boundary.
 *
 * Thus every point remains in the mesh, and the boundary gets no new folds or holes. Every face of
 * a facet and every edge of a segment remains, too. Therefore a tetrahedron is not removed if it
 * is the last one with such a face or edge, or if a facet separates it from another region.
 */
#include "refine/refining.h"

#include "mesh/flatness.h"
#include "mesh/hash_table.h"

/*
 * Maximum number of passes over the members of a plane, which becomes more accurate as it gains
 * members
 */
#define PASSES 8
/* Maximum number of needles in a row */
#define NEEDLES 32

/* Minimum length of a flat tetrahedron, in units of the rounding error */
#define FLAT_LENGTH 0x1p10
/*
 * Maximum height of a flat tetrahedron above its largest triangle, in units of the rounding error
 */
#define FLAT_HEIGHT 8.0
/*
 * Squared cosine of the angle between the normals of a face and of the plane, up to which the face
 * counts as upright
 */
#define MAX_UPRIGHT_COSINE2 0.25
/* Maximum height of a needle, in units of the rounding error */
#define NEEDLE 4.0
/* Tetrahedra that a thread takes at once */
#define BLOCK RB_SIZE(8192, 32)

typedef struct hull_plane
{
	double normal[3]; /* Sum of the normals of its faces; its length is twice the area */
	double middle[3]; /* A point of the plane */
} hull_plane;

/* A surface and the planes it consists of */
typedef struct hull_surface
{
	rb_context *ctx;
	const double *points;
	size_t stride; /* Doubles from one point to the next */
	double rounds; /* Maximum distance at which a point counts as on a plane; above 0 */
	uint32_t (*faces)[3];
	/* For each corner of a face, the face beyond the opposite edge, or RB_NONE */
	uint32_t (*beside)[3];
	size_t faces_cap, beside_cap;
	uint32_t n;
	uint32_t *of; /* Plane of each face */
	hull_plane *planes;
	size_t planes_cap;
	uint32_t nplanes;
	/* State while a plane grows */
	uint32_t *order;
	uint32_t *members;
	uint32_t nmembers;
	const double *origin;
	double middle[3]; /* Weighted sum of the centroids of the members, relative to origin */
	double weight;
} hull_surface;

rb_status
rb_hull_measure_rounding(rb_refining *r, const rb_tets *tets)
{
	double largest, extent;

	RB_TRY(rb_flat_measure(r->ctx, tets->points, tets->npoints, &largest, &extent));
	r->hull_rounds = rb_flat_rounds(largest, extent);
	r->hull_height = rb_flat_height(largest);
	return RB_OK;
}

bool
rb_hull_is_flat(const rb_refining *r, const double *a, const double *b, const double *c,
				const double *d)
{
	const double *const at[4] = {a, b, c, d};

	return r->hull_rounds > 0 && rb_four_flat(at, RB_FLAT_HEIGHT * r->hull_rounds);
}

/* ---- planes of a surface ---- */

/*
 * Returns true if a point lies on a plane up to rounding; no point lies on a plane whose faces have
 * no area.
 */
static bool
is_on_hull_plane(const hull_plane *p, double rounds, const double *at)
{
	const double normal2 = rb_dot(p->normal, p->normal);
	double from[3], away;

	for (int k = 0; k < 3; k++)
		from[k] = at[k] - p->middle[k];
	away = rb_dot(from, p->normal);
	return normal2 > 0 && away * away <= rounds * rounds * normal2;
}

/* Returns the coordinates of corner k of a face of the hull's surface. */
static const double *
get_hull_face_corner(const hull_surface *s, uint32_t face, uint32_t k)
{
	return s->points + s->stride * s->faces[face][k];
}

/*
 * Computes the normal of a face and the squared length *long2 of its longest edge. Returns the
 * squared length of the normal.
 */
static double
compute_hull_face_normal(const hull_surface *s, uint32_t face, double *n, double *long2)
{
	const double *a = get_hull_face_corner(s, face, 0), *b = get_hull_face_corner(s, face, 1),
				 *c = get_hull_face_corner(s, face, 2);

	rb_face_normal(a, b, c, n);
	*long2 = rb_face_long2(a, b, c);
	return rb_dot(n, n);
}

/* Adds a face to the current plane and its weighted normal. */
static void
add_face_to_hull_plane(hull_surface *s, uint32_t face)
{
	hull_plane *p = &s->planes[s->nplanes];
	double n[3], long2, weight = sqrt(compute_hull_face_normal(s, face, n, &long2));

	s->of[face] = s->nplanes;
	s->members[s->nmembers++] = face;
	s->weight += weight;
	for (int k = 0; k < 3; k++)
	{
		p->normal[k] += n[k];
		for (uint32_t i = 0; i < 3; i++)
			s->middle[k] += weight / 3 * (get_hull_face_corner(s, face, i)[k] - s->origin[k]);
		p->middle[k] = s->origin[k] + s->middle[k] / s->weight;
	}
}

/*
 * Returns true if a face that shares two corners with a member of the plane lies in the plane, too.
 */
static bool
is_neighbor_in_hull_plane(const hull_surface *s, uint32_t seed, uint32_t member, uint32_t face)
{
	const hull_plane *p = &s->planes[s->nplanes];
	const uint32_t *v = s->faces[member], *w = s->faces[face];
	rb_exact_env env = {.filters = s->ctx->filters, .exact = true};
	const double *apex;
	double n[3], long2, area2;
	uint32_t k = 0;

	while (k < 2 && (w[k] == v[0] || w[k] == v[1] || w[k] == v[2]))
		k++;
	apex = get_hull_face_corner(s, face, k);
	/* A point that is exactly coplanar with the first face is in the plane in any case. */
	if (!is_on_hull_plane(p, s->rounds, apex) &&
		rb_orient3d_at(&env, get_hull_face_corner(s, seed, 0), get_hull_face_corner(s, seed, 1),
					   get_hull_face_corner(s, seed, 2), apex) != 0)
		return false;
	area2 = compute_hull_face_normal(s, face, n, &long2);
	/* The direction of a needle's normal is determined by rounding only. */
	return area2 <= s->rounds * s->rounds * long2 || rb_dot(n, p->normal) > 0;
}

/*
 * Returns true if the face is no higher than the rounding error, so that its normal means nothing.
 */
static bool
is_hull_face_needle(const hull_surface *s, uint32_t face)
{
	double n[3], long2, area2 = compute_hull_face_normal(s, face, n, &long2);

	return area2 <= s->rounds * s->rounds * long2;
}

/* Returns the corner opposite to the longest edge of a face. */
static uint32_t
apex_of_hull_needle(const hull_surface *s, uint32_t face)
{
	const double *a = get_hull_face_corner(s, face, 0), *b = get_hull_face_corner(s, face, 1),
				 *c = get_hull_face_corner(s, face, 2);
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
assign_needles_to_planes(hull_surface *s)
{
	for (uint32_t i = 0; i < s->n; i++)
	{
		uint32_t face = i, steps = 0;

		while (face != RB_NONE && is_hull_face_needle(s, face) && steps++ < NEEDLES)
			face = s->beside[face][apex_of_hull_needle(s, face)];
		if (face != RB_NONE && !is_hull_face_needle(s, face))
			s->of[i] = s->of[face];
		if ((i & 0x3fff) == 0x3fff && rb_should_stop(s->ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Adds adjacent faces to the current plane as long as they lie in it. */
static rb_status
grow_hull_plane(hull_surface *s, uint32_t seed)
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
					is_neighbor_in_hull_plane(s, seed, s->members[i], beside))
					add_face_to_hull_plane(s, beside);
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
order_hull_faces(hull_surface *s)
{
	uint32_t at[0x801] = {0};

	for (int pass = 0; pass < 2; pass++)
	{
		for (uint32_t i = 0; i < s->n; i++)
		{
			double n[3], long2, area2 = compute_hull_face_normal(s, i, n, &long2);
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

/* Makes room for n faces. */
static rb_status
reserve_hull_faces(hull_surface *s, size_t n)
{
	RB_TRY(RB_GROW(s->ctx, s->faces, s->faces_cap, n));
	return RB_GROW(s->ctx, s->beside, s->beside_cap, n);
}

/* Finds the planes; `faces` and `beside` must be filled. */
static rb_status
find_hull_planes(hull_surface *s)
{
	rb_status status = RB_ALLOCATE(s->ctx, s->order, (size_t) s->n + 1);

	if (status == RB_OK)
		status = RB_ALLOCATE(s->ctx, s->members, (size_t) s->n + 1);
	if (status == RB_OK)
		status = RB_ALLOCATE(s->ctx, s->of, (size_t) s->n + 1);
	if (status == RB_OK)
	{
		memset(s->of, 0xff, s->n * sizeof(*s->of));
		status = order_hull_faces(s);
	}
	for (uint32_t i = 0; i < s->n && status == RB_OK; i++)
	{
		const uint32_t seed = s->order[i];

		if (s->of[seed] != RB_NONE)
			continue;
		status = RB_GROW(s->ctx, s->planes, s->planes_cap, (size_t) s->nplanes + 1);
		if (status != RB_OK)
			break;
		s->nmembers = 0;
		s->weight = 0;
		memset(s->middle, 0, sizeof s->middle);
		memset(&s->planes[s->nplanes], 0, sizeof(hull_plane));
		s->origin = get_hull_face_corner(s, seed, 0);
		add_face_to_hull_plane(s, seed);
		status = grow_hull_plane(s, seed);
		s->nplanes++;
		if ((i & 0xfff) == 0xfff && status == RB_OK && rb_should_stop(s->ctx))
			status = RB_STOPPED;
	}
	return status == RB_OK ? assign_needles_to_planes(s) : status;
}

/* Frees the arrays of the surface. */
static void
free_hull_surface(hull_surface *s)
{
	rb_memory *memory = s->ctx->memory;

	RB_FREE(memory, s->faces);
	RB_FREE(memory, s->beside);
	RB_FREE(memory, s->of);
	RB_FREE(memory, s->planes);
	RB_FREE(memory, s->order);
	RB_FREE(memory, s->members);
}

/* ---- facets that represent the hull ---- */

rb_status
rb_hull_group(rb_refining *r, uint32_t first)
{
	rb_cells *m = &r->mesh;
	hull_surface s;
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
	status = reserve_hull_faces(&s, n);
	if (status == RB_OK)
		status = RB_ALLOCATE(r->ctx, face, r->ncells - first);
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
		status = find_hull_planes(&s);
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
	RB_FREE(r->ctx->memory, face);
	free_hull_surface(&s);
	return status;
}

/* ---- slivers: initial state ---- */

typedef struct peel
{
	rb_refining *r;
	const rb_tets *tets;
	double rounds;
	uint8_t *gone;  /* For each tetrahedron, whether it was removed */
	uint32_t *list; /* Tetrahedra to examine */
	size_t list_cap;
	uint32_t n, ngone;
	rb_table input;    /* Faces of facets, and edges of segments */
	rb_table edges;    /* Number of boundary faces at each boundary edge */
	hull_surface hull; /* The original boundary and its planes */
	uint32_t *tet;     /* Tetrahedron of each boundary face */
	size_t tet_cap;
	/*
	 * Planes that each boundary point lies in, as a linked list: `at` holds the last element for
	 * each point, or RB_NONE if the point is inside, and `in` holds the plane and the previous
	 * element.
	 */
	uint32_t *at;
	uint32_t (*in)[2];
	size_t in_cap;
	uint32_t nin;
} peel;

/* States of an edge while faces are linked: two faces share it, or more */
#define LINKED (RB_NONE - 1)
#define FOLD (RB_NONE - 2)

/* Returns true if a stop was requested while slivers are removed; checks only at some elements. */
static bool
is_peeling_stopped(const peel *p, uint32_t i)
{
	return (i & 0x3fff) == 0x3fff && rb_should_stop(p->r->ctx);
}

/* Returns the coordinates of a vertex of the mesh from which slivers are removed. */
static const double *
vertex_of_peeled_mesh(const peel *p, uint32_t v)
{
	return p->tets->points + 3 * (size_t) v;
}

/* Gets pointers to the coordinates of a tetrahedron's corners. */
static void
get_corners_of_peeled_tet(const rb_tets *tets, uint32_t t, const double **at)
{
	for (int i = 0; i < 4; i++)
		at[i] = tets->points + 3 * (size_t) tets->tets[t][i];
}

/*
 * Returns true if a tetrahedron at the hull is much longer than the rounding error. If it lies
 * between two planes that are a rounding error apart, their distance is then its height.
 */
static bool
is_peeled_tet_long(const rb_tets *tets, double rounds, uint32_t t)
{
	const double *at[4];

	get_corners_of_peeled_tet(tets, t, at);
	return rb_four_long2(at) > FLAT_LENGTH * FLAT_LENGTH * rounds * rounds;
}

/* Returns true if a tetrahedron is long but only a few rounding errors high. */
static bool
is_peeled_tet_flat(const rb_tets *tets, double rounds, uint32_t t)
{
	const double *at[4];

	get_corners_of_peeled_tet(tets, t, at);
	return is_peeled_tet_long(tets, rounds, t) && rb_four_flat(at, FLAT_HEIGHT * rounds);
}

/* Returns true if a face of the tetrahedron is on the boundary of the mesh. */
static bool
does_tet_touch_boundary(const rb_tets *tets, uint32_t t)
{
	const uint32_t *n = tets->neighbours + 4 * (size_t) t;

	return n[0] == RB_NONE || n[1] == RB_NONE || n[2] == RB_NONE || n[3] == RB_NONE;
}

/* Appends a tetrahedron to those that are examined as slivers at the boundary. */
static rb_status
push_tet_to_peel(peel *p, uint32_t t)
{
	RB_TRY(RB_GROW(p->r->ctx, p->list, p->list_cap, (size_t) p->n + 1));
	p->list[p->n++] = t;
	return RB_OK;
}

/* Inserts the faces and edges of the input into tables. */
static rb_status
peel_input(peel *p)
{
	const rb_tets *tets = p->tets;
	rb_context *ctx = p->r->ctx;

	for (uint32_t i = 0; i < tets->nfaces; i++)
	{
		const uint32_t *v = tets->faces[i];

		RB_TRY(rb_table_insert(ctx, &p->input, v[0], v[1], v[2], 0, NULL, NULL));
		if (is_peeling_stopped(p, i))
			return RB_STOPPED;
	}
	for (uint32_t i = 0; i < tets->nedges; i++)
	{
		RB_TRY(rb_table_insert(ctx, &p->input, tets->edges[i][0], tets->edges[i][1], RB_NONE, 0,
							   NULL, NULL));
		if (is_peeling_stopped(p, i))
			return RB_STOPPED;
	}
	return RB_OK;
}

/*
 * Appends face i of a tetrahedron to the surface of the hull from which flat tetrahedra are
 * peeled.
 */
static rb_status
add_peeled_hull_face(peel *p, uint32_t t, uint32_t i)
{
	hull_surface *hull = &p->hull;

	if (hull->n >= FOLD / 3)
		return rb_fail(p->r->ctx, RB_TOO_MANY_OBJECTS, hull->n, FOLD / 3, NULL);
	RB_TRY(reserve_hull_faces(hull, (size_t) hull->n + 1));
	RB_TRY(RB_GROW(p->r->ctx, p->tet, p->tet_cap, (size_t) hull->n + 1));
	for (uint32_t k = 0; k < 3; k++)
	{
		hull->faces[hull->n][k] = p->tets->tets[t][rb_cell_face_corner(i, k)];
		hull->beside[hull->n][k] = RB_NONE;
	}
	p->tet[hull->n++] = t;
	return RB_OK;
}

/* Appends all faces at the boundary to the surface. */
static rb_status
add_boundary_to_hull_surface(peel *p)
{
	const rb_tets *tets = p->tets;

	for (uint32_t t = 0; t < tets->ntets; t++)
	{
		for (uint32_t i = 0; i < 4; i++)
			if (tets->neighbours[4 * (size_t) t + i] == RB_NONE)
				RB_TRY(add_peeled_hull_face(p, t, i));
		if (is_peeling_stopped(p, t))
			return RB_STOPPED;
	}
	return RB_OK;
}

/*
 * Links adjacent boundary faces, across which a plane may grow, unless a segment lies between them.
 */
static rb_status
link_hull_boundary_faces(peel *p)
{
	hull_surface *hull = &p->hull;

	for (uint32_t side = 0; side < 3 * hull->n; side++)
	{
		const uint32_t *v = hull->faces[side / 3];
		const uint32_t a = v[(side + 1) % 3], b = v[(side + 2) % 3];
		uint32_t *other;
		bool fresh;

		RB_TRY(rb_table_insert(p->r->ctx, &p->edges, a, b, RB_NONE, side, &other, &fresh));
		if (fresh)
			continue;
		if (*other >= FOLD)
			*other = FOLD;
		else
		{
			if (rb_table_get(&p->input, a, b, RB_NONE) == NULL)
			{
				hull->beside[side / 3][side % 3] = *other / 3;
				hull->beside[*other / 3][*other % 3] = side / 3;
			}
			*other = LINKED;
		}
		if (is_peeling_stopped(p, side))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Adds `more` to the number of boundary faces at an edge; UINT32_MAX subtracts one. */
static rb_status
add_to_hull_edge_count(peel *p, uint32_t a, uint32_t b, uint32_t more)
{
	uint32_t *n;

	RB_TRY(rb_table_insert(p->r->ctx, &p->edges, a, b, RB_NONE, 0, &n, NULL));
	*n += more;
	return RB_OK;
}

/* Records that a vertex lies in a plane. */
static rb_status
add_hull_plane_of_vertex(peel *p, uint32_t v, uint32_t plane)
{
	RB_TRY(RB_GROW(p->r->ctx, p->in, p->in_cap, (size_t) p->nin + 1));
	p->in[p->nin][0] = plane;
	p->in[p->nin][1] = p->at[v];
	p->at[v] = p->nin++;
	return RB_OK;
}

/* Counts the boundary faces at each edge, and lists the planes that each point lies in. */
static rb_status
count_hull_boundary(peel *p)
{
	const hull_surface *hull = &p->hull;

	RB_TRY(RB_ALLOCATE(p->r->ctx, p->at, (size_t) p->tets->npoints + 1));
	memset(p->at, 0xff, p->tets->npoints * sizeof(*p->at));
	rb_table_empty(&p->edges);
	for (uint32_t side = 0; side < 3 * hull->n; side++)
	{
		const uint32_t *v = hull->faces[side / 3];
		const uint32_t last = p->at[v[side % 3]];

		if (last == RB_NONE || p->in[last][0] != hull->of[side / 3])
			RB_TRY(add_hull_plane_of_vertex(p, v[side % 3], hull->of[side / 3]));
		RB_TRY(add_to_hull_edge_count(p, v[(side + 1) % 3], v[(side + 2) % 3], 1));
		if (is_peeling_stopped(p, side))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* ---- slivers: removal ---- */

/* Returns true if there is no tetrahedron, or one that was removed as a sliver. */
static bool
is_outside_peeled_hull(const peel *p, uint32_t t)
{
	return t == RB_NONE || p->gone[t];
}

/*
 * Returns true if, relative to the plane, the boundary faces of a tetrahedron point outward and its
 * other faces inward. Otherwise the tetrahedra on top of it have to be removed first. Needles,
 * whose direction is determined by rounding, and upright faces do not count.
 */
static bool
does_tet_lie_bare_on_hull(const peel *p, uint32_t t, const hull_plane *plane)
{
	const uint32_t *v = p->tets->tets[t];

	for (uint32_t i = 0; i < 4; i++)
	{
		const bool out = is_outside_peeled_hull(p, p->tets->neighbours[4 * (size_t) t + i]);
		const double *a = vertex_of_peeled_mesh(p, v[rb_cell_face_corner(i, 0)]);
		const double *b = vertex_of_peeled_mesh(p, v[rb_cell_face_corner(i, 1)]);
		const double *c = vertex_of_peeled_mesh(p, v[rb_cell_face_corner(i, 2)]);
		const double least = NEEDLE * p->rounds;
		double n[3], up, area2;

		rb_face_normal(a, b, c, n);
		up = rb_dot(n, plane->normal);
		area2 = rb_dot(n, n);
		if ((out ? up < 0 : up > 0) && area2 > least * least * rb_face_long2(a, b, c) &&
			up * up > MAX_UPRIGHT_COSINE2 * area2 * rb_dot(plane->normal, plane->normal))
			return false;
	}
	return true;
}

/*
 * Returns a plane that contains all corners of a tetrahedron, among the planes recorded for these
 * corners, or RB_NONE if there is no such plane.
 */
static uint32_t
hull_plane_of_tet(const peel *p, uint32_t t)
{
	const uint32_t *v = p->tets->tets[t];

	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t at = p->at[v[i]]; at != RB_NONE; at = p->in[at][1])
		{
			const hull_plane *plane = &p->hull.planes[p->in[at][0]];
			uint32_t k = 0;

			while (k < 4 && is_on_hull_plane(plane, p->rounds, vertex_of_peeled_mesh(p, v[k])))
				k++;
			if (k == 4 && does_tet_lie_bare_on_hull(p, t, plane))
				return p->in[at][0];
		}
	return RB_NONE;
}

/*
 * Returns true if a face of a tetrahedron is on a facet, and is on the boundary or separates two
 * regions.
 */
static bool
does_peeled_tet_have_facet(const peel *p, uint32_t t)
{
	const uint32_t *v = p->tets->tets[t], *n = p->tets->neighbours + 4 * (size_t) t;

	for (uint32_t i = 0; i < 4; i++)
		if ((is_outside_peeled_hull(p, n[i]) || p->tets->region[n[i]] != p->tets->region[t]) &&
			rb_table_get(&p->input, v[rb_cell_face_corner(i, 0)], v[rb_cell_face_corner(i, 1)],
						 v[rb_cell_face_corner(i, 2)]) != NULL)
			return true;
	return false;
}

/* Records that all corners of a tetrahedron lie in a plane. */
static rb_status
record_hull_plane_of_tet(peel *p, uint32_t t, uint32_t plane)
{
	const uint32_t *v = p->tets->tets[t];

	for (uint32_t i = 0; i < 4; i++)
	{
		uint32_t at = p->at[v[i]];

		while (at != RB_NONE && p->in[at][0] != plane)
			at = p->in[at][1];
		if (at == RB_NONE)
			RB_TRY(add_hull_plane_of_vertex(p, v[i], plane));
	}
	return RB_OK;
}

/* Returns the number of boundary faces at an edge, 0 if the edge is not on the boundary. */
static uint32_t
hull_edge_count(const peel *p, uint32_t a, uint32_t b)
{
	const uint32_t *n = rb_table_get(&p->edges, a, b, RB_NONE);

	return n != NULL ? *n : 0;
}

/* Removes a tetrahedron if this only changes the triangulation of the boundary. */
static rb_status
remove_boundary_tet(peel *p, uint32_t t)
{
	const uint32_t *v = p->tets->tets[t], *n = p->tets->neighbours + 4 * (size_t) t;
	uint32_t out[4], in[4], nout = 0, nin = 0, plane = RB_NONE;
	bool may;

	for (uint32_t i = 0; i < 4; i++)
		if (is_outside_peeled_hull(p, n[i]))
			out[nout++] = i;
		else
			in[nin++] = i;
	if (nout == 2)
		may = hull_edge_count(p, v[in[0]], v[in[1]]) == 2 &&
			  hull_edge_count(p, v[out[0]], v[out[1]]) == 0 &&
			  rb_table_get(&p->input, v[in[0]], v[in[1]], RB_NONE) == NULL;
	else
		may = nout == 1 && p->at[v[out[0]]] == RB_NONE;
	if (may && is_peeled_tet_long(p->tets, p->rounds, t) && !does_peeled_tet_have_facet(p, t))
		plane = hull_plane_of_tet(p, t);
	if (plane == RB_NONE)
		return RB_OK;
	RB_TRY(record_hull_plane_of_tet(p, t, plane));
	p->gone[t] = true;
	p->ngone++;
	for (uint32_t i = 0; i < 4; i++)
	{
		const bool was = is_outside_peeled_hull(p, n[i]);

		for (uint32_t k = 0; k < 3; k++)
			RB_TRY(add_to_hull_edge_count(p, v[rb_cell_face_corner(i, k)],
										  v[rb_cell_face_corner(i, (k + 1) % 3)],
										  was ? UINT32_MAX : 1));
		if (!was)
			RB_TRY(push_tet_to_peel(p, n[i]));
	}
	return RB_OK;
}

/* Peels tetrahedra off until none at the boundary is flat. */
static rb_status
peel_flat_tets(peel *p)
{
	RB_TRY(RB_ALLOCATE(p->r->ctx, p->gone, (size_t) p->tets->ntets + 1));
	memset(p->gone, 0, p->tets->ntets);
	for (uint32_t i = 0; i < p->hull.n; i++)
		RB_TRY(push_tet_to_peel(p, p->tet[i]));
	for (uint32_t k = 0; k < p->n; k++)
	{
		if (!p->gone[p->list[k]])
			RB_TRY(remove_boundary_tet(p, p->list[k]));
		if (is_peeling_stopped(p, k))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Writes the remaining tetrahedra in their order. All other arrays are shared with the original. */
static rb_status
write_unpeeled_tets(peel *p, rb_tets *rest)
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
	status = RB_ALLOCATE(ctx, number, (size_t) tets->ntets + 1);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, rest->tets, left);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, rest->neighbours, 4 * left);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, rest->region, left);
	for (uint32_t t = 0; t < tets->ntets && status == RB_OK; t++)
		number[t] = p->gone[t] ? RB_NONE : n++;
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
		if (is_peeling_stopped(p, t))
			status = RB_STOPPED;
	}
	rest->ntets = n;
	RB_FREE(ctx->memory, number);
	return status;
}

typedef struct flat_search
{
	const rb_tets *tets;
	double rounds;
	uint8_t *found; /* For each block, whether it has a flat tetrahedron at the boundary */
} flat_search;

/* Determines whether a block has a flat tetrahedron at the boundary. */
static void
find_flat_tets_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const flat_search *l = arg;
	bool found = false;

	(void) me;
	for (uint64_t t = from; t < to && !found; t++)
		found = does_tet_touch_boundary(l->tets, (uint32_t) t) &&
				is_peeled_tet_flat(l->tets, l->rounds, (uint32_t) t);
	l->found[from / BLOCK] = found;
}

/* Sets *found if there is a flat tetrahedron at the boundary, which is rare. */
static rb_status
find_flat_boundary_tet(rb_refining *r, const rb_tets *tets, bool *found)
{
	const size_t blocks = tets->ntets / BLOCK + 1;
	flat_search l = {tets, r->hull_rounds, NULL};
	rb_thread *team = NULL;
	rb_status status = RB_ALLOCATE(r->ctx, l.found, blocks);

	if (status == RB_OK)
		status = rb_refining_team(r, tets->ntets, &team);
	if (status == RB_OK)
	{
		memset(l.found, 0, blocks);
		status = rb_each(r->ctx, team, tets->ntets, BLOCK, find_flat_tets_piece, &l);
	}
	*found = status == RB_OK && memchr(l.found, 1, blocks) != NULL;
	rb_team_close(&team);
	RB_FREE(r->ctx->memory, l.found);
	return status;
}

/* Peels flat tetrahedra off the hull and writes the others to *rest. */
static rb_status
peel_hull(peel *p, rb_tets *rest)
{
	RB_TRY(peel_input(p));
	RB_TRY(add_boundary_to_hull_surface(p));
	RB_TRY(link_hull_boundary_faces(p));
	RB_TRY(find_hull_planes(&p->hull));
	RB_TRY(count_hull_boundary(p));
	RB_TRY(peel_flat_tets(p));
	return p->ngone > 0 ? write_unpeeled_tets(p, rest) : RB_OK;
}

rb_status
rb_hull_remove_slivers(rb_refining *r, const rb_tets *tets, rb_tets *rest)
{
	peel p;
	bool more = false;
	rb_status status = RB_OK;

	*rest = *tets;
	/* Flat tetrahedra do no harm if shapes do not matter or the surface must not change. */
	if (r->hull_rounds > 0 && r->options->radius_edge < INFINITY && !r->options->keep_surface)
		status = find_flat_boundary_tet(r, tets, &more);
	if (!more)
		return status;
	memset(&p, 0, sizeof p);
	p.r = r;
	p.tets = tets;
	p.rounds = r->hull_rounds;
	p.hull.ctx = r->ctx;
	p.hull.points = tets->points;
	p.hull.stride = 3;
	p.hull.rounds = p.rounds;
	status = peel_hull(&p, rest);
	RB_FREE(r->ctx->memory, p.gone);
	RB_FREE(r->ctx->memory, p.list);
	RB_FREE(r->ctx->memory, p.tet);
	RB_FREE(r->ctx->memory, p.at);
	RB_FREE(r->ctx->memory, p.in);
	free_hull_surface(&p.hull);
	rb_table_free(r->ctx->memory, &p.input);
	rb_table_free(r->ctx->memory, &p.edges);
	return status;
}
