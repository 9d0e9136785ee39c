/*
 * hull_slivers.c
 *	  Removes tetrahedra on the hull whose height is due to rounding only.
 *
 * Where hull points lie in one plane up to rounding (hull_planes.c), there are tetrahedra between
 * them that are only as high as the last bit of the coordinates, and no Steiner point improves
 * these. They are removed one by one from outside, if they lie in a plane of the boundary and only
 * the triangulation of the boundary changes. A tetrahedron with one boundary face is removed if its
 * fourth corner is inside; that corner is then on the boundary. One with two boundary faces is
 * removed if the edge opposite to their common edge is inside; it then replaces the common edge.
 *
 * So no point is lost, and the boundary gets no new folds or holes. Faces of facets and edges on
 * segments are not lost either: the last tetrahedron that has one of these stays, and so does one
 * that a facet separates from another region.
 */
#include "refine/hull.h"

#include "mesh/hash_table.h"

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

typedef struct peel
{
	rb_refining *r;
	const rb_tets *tets;
	double rounds;
	uint8_t *gone;  /* For each tetrahedron, whether it was removed */
	uint32_t *list; /* Tetrahedra to examine */
	size_t list_cap;
	uint32_t n, ngone;
	rb_table input;  /* Faces of facets, and edges of segments */
	rb_table edges;  /* Number of boundary faces at each boundary edge */
	rb_surface hull; /* The original boundary and its planes */
	uint32_t *tet;   /* Tetrahedron of each boundary face */
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

static void
corners_of(const rb_tets *tets, uint32_t t, const double **at)
{
	for (int i = 0; i < 4; i++)
		at[i] = tets->points + 3 * (size_t) tets->tets[t][i];
}

/*
 * Returns true if a tetrahedron is much longer than the rounding error. If it lies between two
 * planes that are a rounding error apart, their distance is then its height.
 */
static bool
is_long(const rb_tets *tets, double rounds, uint32_t t)
{
	const double *at[4];

	corners_of(tets, t, at);
	return rb_four_long2(at) > FLAT_LENGTH * FLAT_LENGTH * rounds * rounds;
}

/* Returns true if a tetrahedron is long but only a few rounding errors high. */
static bool
is_flat(const rb_tets *tets, double rounds, uint32_t t)
{
	const double *at[4];

	corners_of(tets, t, at);
	return is_long(tets, rounds, t) && rb_four_flat(at, FLAT_HEIGHT * rounds);
}

static bool
has_boundary(const rb_tets *tets, uint32_t t)
{
	const uint32_t *n = tets->neighbours + 4 * (size_t) t;

	return n[0] == RB_NONE || n[1] == RB_NONE || n[2] == RB_NONE || n[3] == RB_NONE;
}

static rb_status
peel_push(peel *p, uint32_t t)
{
	rb_status status = rb_array_grow(p->r->ctx, (void **) &p->list, &p->list_cap, (size_t) p->n + 1,
									 sizeof(*p->list));

	if (status == RB_OK)
		p->list[p->n++] = t;
	return status;
}

/* ---- initial state ---- */

static rb_status
peel_input(peel *p)
{
	const rb_tets *tets = p->tets;
	rb_context *ctx = p->r->ctx;
	rb_status status = RB_OK;

	for (uint32_t i = 0; i < tets->nfaces && status == RB_OK; i++)
	{
		const uint32_t *v = tets->faces[i];

		status = rb_table_insert(ctx, &p->input, v[0], v[1], v[2], 0, NULL, NULL);
		if (peel_stops(p, i))
			status = RB_STOPPED;
	}
	for (uint32_t i = 0; i < tets->nedges && status == RB_OK; i++)
	{
		status = rb_table_insert(ctx, &p->input, tets->edges[i][0], tets->edges[i][1], RB_NONE, 0,
								 NULL, NULL);
		if (peel_stops(p, i))
			status = RB_STOPPED;
	}
	return status;
}

static rb_status
add_face(peel *p, uint32_t t, uint32_t i)
{
	rb_surface *hull = &p->hull;
	rb_status status;

	if (hull->n >= FOLD / 3)
		return rb_fail(p->r->ctx, RB_TOO_MANY_OBJECTS, hull->n, FOLD / 3, NULL);
	status = rb_surface_reserve(hull, (size_t) hull->n + 1);
	if (status == RB_OK)
		status = rb_array_grow(p->r->ctx, (void **) &p->tet, &p->tet_cap, (size_t) hull->n + 1,
							   sizeof(*p->tet));
	if (status != RB_OK)
		return status;
	for (uint32_t k = 0; k < 3; k++)
	{
		hull->faces[hull->n][k] = p->tets->tets[t][rb_cell_face_corner(i, k)];
		hull->beside[hull->n][k] = RB_NONE;
	}
	p->tet[hull->n++] = t;
	return RB_OK;
}

static rb_status
add_boundary(peel *p)
{
	const rb_tets *tets = p->tets;
	rb_status status = RB_OK;

	for (uint32_t t = 0; t < tets->ntets && status == RB_OK; t++)
	{
		for (uint32_t i = 0; i < 4 && status == RB_OK; i++)
			if (tets->neighbours[4 * (size_t) t + i] == RB_NONE)
				status = add_face(p, t, i);
		if (peel_stops(p, t))
			status = RB_STOPPED;
	}
	return status;
}

/*
 * Links adjacent boundary faces, across which a plane may grow, unless a segment lies between them.
 */
static rb_status
link_boundary(peel *p)
{
	rb_surface *hull = &p->hull;
	rb_status status = RB_OK;

	for (uint32_t side = 0; side < 3 * hull->n && status == RB_OK; side++)
	{
		const uint32_t *v = hull->faces[side / 3];
		const uint32_t a = v[(side + 1) % 3], b = v[(side + 2) % 3];
		uint32_t *other;
		bool fresh;

		status = rb_table_insert(p->r->ctx, &p->edges, a, b, RB_NONE, side, &other, &fresh);
		if (status != RB_OK || fresh)
			continue;
		if (*other >= FOLD)
			*other = FOLD;
		else
		{
			if (rb_table_find(&p->input, a, b, RB_NONE) == NULL)
			{
				hull->beside[side / 3][side % 3] = *other / 3;
				hull->beside[*other / 3][*other % 3] = side / 3;
			}
			*other = LINKED;
		}
		if (peel_stops(p, side))
			status = RB_STOPPED;
	}
	return status;
}

/* Adds `more` to the number of boundary faces at an edge; UINT32_MAX subtracts one. */
static rb_status
count_edge(peel *p, uint32_t a, uint32_t b, uint32_t more)
{
	uint32_t *n;
	rb_status status = rb_table_insert(p->r->ctx, &p->edges, a, b, RB_NONE, 0, &n, NULL);

	if (status == RB_OK)
		*n += more;
	return status;
}

static rb_status
add_plane(peel *p, uint32_t v, uint32_t plane)
{
	rb_status status =
		rb_array_grow(p->r->ctx, (void **) &p->in, &p->in_cap, (size_t) p->nin + 1, sizeof(*p->in));

	if (status != RB_OK)
		return status;
	p->in[p->nin][0] = plane;
	p->in[p->nin][1] = p->at[v];
	p->at[v] = p->nin++;
	return RB_OK;
}

/* Counts the boundary faces at each edge, and lists the planes that each point lies in. */
static rb_status
count_boundary(peel *p)
{
	const rb_surface *hull = &p->hull;
	rb_status status =
		rb_array(p->r->ctx, (void **) &p->at, (size_t) p->tets->npoints + 1, sizeof(*p->at));

	if (status != RB_OK)
		return status;
	memset(p->at, 0xff, p->tets->npoints * sizeof(*p->at));
	rb_table_clear(&p->edges);
	for (uint32_t side = 0; side < 3 * hull->n && status == RB_OK; side++)
	{
		const uint32_t *v = hull->faces[side / 3];
		const uint32_t last = p->at[v[side % 3]];

		if (last == RB_NONE || p->in[last][0] != hull->of[side / 3])
			status = add_plane(p, v[side % 3], hull->of[side / 3]);
		if (status == RB_OK)
			status = count_edge(p, v[(side + 1) % 3], v[(side + 2) % 3], 1);
		if (peel_stops(p, side))
			status = RB_STOPPED;
	}
	return status;
}

/* ---- removal ---- */

static bool
is_outside(const peel *p, uint32_t t)
{
	return t == RB_NONE || p->gone[t];
}

/*
 * Returns true if, relative to the plane, the boundary faces of a tetrahedron point outward and its
 * other faces inward. Otherwise the tetrahedra on top of it have to be removed first. Needles,
 * whose direction is determined by rounding, and upright faces do not count.
 */
static bool
lies_bare(const peel *p, uint32_t t, const rb_plane *plane)
{
	const uint32_t *v = p->tets->tets[t];

	for (uint32_t i = 0; i < 4; i++)
	{
		const bool out = is_outside(p, p->tets->neighbours[4 * (size_t) t + i]);
		const double *a = peel_at(p, v[rb_cell_face_corner(i, 0)]);
		const double *b = peel_at(p, v[rb_cell_face_corner(i, 1)]);
		const double *c = peel_at(p, v[rb_cell_face_corner(i, 2)]);
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
plane_of(const peel *p, uint32_t t)
{
	const uint32_t *v = p->tets->tets[t];

	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t at = p->at[v[i]]; at != RB_NONE; at = p->in[at][1])
		{
			const rb_plane *plane = &p->hull.planes[p->in[at][0]];
			uint32_t k = 0;

			while (k < 4 && rb_on_plane(plane, p->rounds, peel_at(p, v[k])))
				k++;
			if (k == 4 && lies_bare(p, t, plane))
				return p->in[at][0];
		}
	return RB_NONE;
}

/*
 * Returns true if a face of a tetrahedron is on a facet, and is on the boundary or separates two
 * regions.
 */
static bool
has_facet(const peel *p, uint32_t t)
{
	const uint32_t *v = p->tets->tets[t], *n = p->tets->neighbours + 4 * (size_t) t;

	for (uint32_t i = 0; i < 4; i++)
		if ((is_outside(p, n[i]) || p->tets->region[n[i]] != p->tets->region[t]) &&
			rb_table_find(&p->input, v[rb_cell_face_corner(i, 0)], v[rb_cell_face_corner(i, 1)],
						  v[rb_cell_face_corner(i, 2)]) != NULL)
			return true;
	return false;
}

/* Records that all corners of a tetrahedron lie in a plane. */
static rb_status
record_plane(peel *p, uint32_t t, uint32_t plane)
{
	const uint32_t *v = p->tets->tets[t];
	rb_status status = RB_OK;

	for (uint32_t i = 0; i < 4 && status == RB_OK; i++)
	{
		uint32_t at = p->at[v[i]];

		while (at != RB_NONE && p->in[at][0] != plane)
			at = p->in[at][1];
		if (at == RB_NONE)
			status = add_plane(p, v[i], plane);
	}
	return status;
}

static uint32_t
count_of(const peel *p, uint32_t a, uint32_t b)
{
	const uint32_t *n = rb_table_find(&p->edges, a, b, RB_NONE);

	return n != NULL ? *n : 0;
}

/* Removes a tetrahedron if this only changes the triangulation of the boundary. */
static rb_status
peel_one(peel *p, uint32_t t)
{
	const uint32_t *v = p->tets->tets[t], *n = p->tets->neighbours + 4 * (size_t) t;
	uint32_t out[4], in[4], nout = 0, nin = 0, plane = RB_NONE;
	bool may;
	rb_status status;

	for (uint32_t i = 0; i < 4; i++)
		if (is_outside(p, n[i]))
			out[nout++] = i;
		else
			in[nin++] = i;
	if (nout == 2)
		may = count_of(p, v[in[0]], v[in[1]]) == 2 && count_of(p, v[out[0]], v[out[1]]) == 0 &&
			  rb_table_find(&p->input, v[in[0]], v[in[1]], RB_NONE) == NULL;
	else
		may = nout == 1 && p->at[v[out[0]]] == RB_NONE;
	if (may && is_long(p->tets, p->rounds, t) && !has_facet(p, t))
		plane = plane_of(p, t);
	if (plane == RB_NONE)
		return RB_OK;
	status = record_plane(p, t, plane);
	p->gone[t] = true;
	p->ngone++;
	for (uint32_t i = 0; i < 4 && status == RB_OK; i++)
	{
		const bool was = is_outside(p, n[i]);

		for (uint32_t k = 0; k < 3 && status == RB_OK; k++)
			status = count_edge(p, v[rb_cell_face_corner(i, k)],
								v[rb_cell_face_corner(i, (k + 1) % 3)], was ? UINT32_MAX : 1);
		if (!was && status == RB_OK)
			status = peel_push(p, n[i]);
	}
	return status;
}

static rb_status
peel_all(peel *p)
{
	rb_status status = rb_array(p->r->ctx, (void **) &p->gone, (size_t) p->tets->ntets + 1, 1);

	if (status != RB_OK)
		return status;
	memset(p->gone, 0, p->tets->ntets);
	for (uint32_t i = 0; i < p->hull.n && status == RB_OK; i++)
		status = peel_push(p, p->tet[i]);
	for (uint32_t k = 0; k < p->n && status == RB_OK; k++)
	{
		if (!p->gone[p->list[k]])
			status = peel_one(p, p->list[k]);
		if (peel_stops(p, k))
			status = RB_STOPPED;
	}
	return status;
}

/* Writes the remaining tetrahedra in their order. All other arrays are shared with the original. */
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
		if (peel_stops(p, t))
			status = RB_STOPPED;
	}
	rest->ntets = n;
	rb_free(ctx->memory, (void **) &number);
	return status;
}

typedef struct flat_search
{
	const rb_tets *tets;
	double rounds;
	uint8_t *found; /* For each block, whether it has a flat tetrahedron at the boundary */
} flat_search;

static void
do_find_flat(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const flat_search *l = arg;
	bool found = false;

	(void) me;
	for (uint64_t t = from; t < to && !found; t++)
		found = has_boundary(l->tets, (uint32_t) t) && is_flat(l->tets, l->rounds, (uint32_t) t);
	l->found[from / BLOCK] = found;
}

/* Sets *found if there is a flat tetrahedron at the boundary, which is rare. */
static rb_status
find_flat(rb_refining *r, const rb_tets *tets, bool *found)
{
	const size_t blocks = tets->ntets / BLOCK + 1;
	flat_search l = {tets, r->hull_rounds, NULL};
	rb_thread *team = NULL;
	rb_status status = rb_array(r->ctx, (void **) &l.found, blocks, 1);

	if (status == RB_OK)
		status = rb_refining_team(r, tets->ntets, &team);
	if (status == RB_OK)
	{
		memset(l.found, 0, blocks);
		status = rb_each(r->ctx, team, tets->ntets, BLOCK, do_find_flat, &l);
	}
	*found = status == RB_OK && memchr(l.found, 1, blocks) != NULL;
	rb_team_close(&team);
	rb_free(r->ctx->memory, (void **) &l.found);
	return status;
}

rb_status
rb_hull_peel(rb_refining *r, const rb_tets *tets, rb_tets *rest)
{
	peel p;
	bool more = false;
	rb_status status = RB_OK;

	*rest = *tets;
	/* Flat tetrahedra do no harm if shapes do not matter or the surface must not change. */
	if (r->hull_rounds > 0 && r->options->radius_edge < INFINITY && !r->options->keep_surface)
		status = find_flat(r, tets, &more);
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
	status = peel_input(&p);
	if (status == RB_OK)
		status = add_boundary(&p);
	if (status == RB_OK)
		status = link_boundary(&p);
	if (status == RB_OK)
		status = rb_surface_planes(&p.hull);
	if (status == RB_OK)
		status = count_boundary(&p);
	if (status == RB_OK)
		status = peel_all(&p);
	if (status == RB_OK && p.ngone > 0)
		status = peel_rest(&p, rest);
	rb_free(r->ctx->memory, (void **) &p.gone);
	rb_free(r->ctx->memory, (void **) &p.list);
	rb_free(r->ctx->memory, (void **) &p.tet);
	rb_free(r->ctx->memory, (void **) &p.at);
	rb_free(r->ctx->memory, (void **) &p.in);
	rb_surface_free(&p.hull);
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
