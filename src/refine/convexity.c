/*
 * convexity.c
 *	  Tests whether refinement kept the boundary of a mesh convex.
 *
 * Points that are added on the boundary are rounded, so the boundary of a convex mesh does not
 * remain convex exactly. But it must remain so up to the rounding that flatness.h explains. The
 * initial mesh shows where that can be expected: everywhere, or at least at the edges of faces that
 * are on no facet of the input, as on a hull with holes, or nowhere.
 *
 * The surface of a facet that is flat only within a tolerance may be anywhere between its corners, and
 * refinement flips its edges. So edges at such a facet, which has no plane, are not tested.
 *
 * The two faces at an edge are the ends of a fan of tetrahedra. An edge with several fans, where the
 * boundary touches itself, is tested once for each of them.
 */
#include "refine/refining.h"

#include "mesh/flatness.h"

#include <math.h>

/* Cells that a thread takes at once */
#define BLOCK RB_SIZE(8192, 32)

/* An edge of a boundary face */
typedef struct boundary_edge
{
	uint32_t face; /* Cell << 2 | corner opposite to the face */
	uint32_t next; /* The edge begins at this corner of the face */
} boundary_edge;

typedef struct reflex_search
{
	const rb_refining *r;
	bool off_facets;      /* True to test only edges with a face that is on no facet of the input */
	boundary_edge *found; /* For each block, its first reflex edge; its face may be RB_NOWHERE */
} reflex_search;

/* Gets the coordinates of the corners of a boundary face, seen counterclockwise from outside. */
static void
get_boundary_face(const rb_cells *m, uint32_t face, const double **at)
{
	for (uint32_t k = 0; k < 3; k++)
		at[k] = rb_site_at(m, m->cells[face >> 2].v[rb_cell_face_corner(face & 3, k)]);
}

/*
 * Finds the boundary face at the other end of the fan of tetrahedra around an edge of a boundary
 * face. Returns its corner that is not on the edge, and sets *other to the face.
 */
static uint32_t
cross_fan(const rb_cells *m, const boundary_edge *e, uint32_t *other)
{
	const rb_cell *c = &m->cells[e->face >> 2];
	const uint32_t a = rb_cell_face_corner(e->face & 3, e->next);
	const uint32_t b = rb_cell_face_corner(e->face & 3, (e->next + 1) % 3);
	const uint32_t beside = rb_cell_face_corner(e->face & 3, (e->next + 2) % 3);
	rb_edge_ring ring = rb_ring_at(e->face >> 2, beside, c->v[a], c->v[b]);

	do
	{
		*other = ring.cell << 2 | ring.to;
		rb_ring_next(m, &ring);
	} while (!rb_cell_ghost(&m->cells[ring.cell]));
	return m->cells[ring.cell].v[ring.to];
}

/* Returns true if a face is on a facet that is not flat and has no plane. */
static bool
is_face_uneven(const rb_cells *m, uint32_t face)
{
	const double *n = m->planes[m->cells[face >> 2].facet[face & 3]].normal;

	return n[0] == 0 && n[1] == 0 && n[2] == 0;
}

/* Returns true if the boundary is reflex at an edge, beyond what rounding explains. */
static bool
is_edge_reflex(const reflex_search *s, const boundary_edge *e)
{
	const rb_cells *m = &s->r->mesh;
	const uint32_t nfacets = s->r->nfacets;
	rb_exact_env env = {.filters = s->r->ctx->filters, .exact = true};
	const double *at[4];
	uint32_t other, apex = cross_fan(m, e, &other);

	/* Each edge is tested from one of its faces. */
	if (other < e->face)
		return false;
	if (s->off_facets && m->cells[e->face >> 2].facet[e->face & 3] < nfacets &&
		m->cells[other >> 2].facet[other & 3] < nfacets)
		return false;
	if (is_face_uneven(m, e->face) || is_face_uneven(m, other))
		return false;
	get_boundary_face(m, e->face, at);
	at[3] = rb_site_at(m, apex);
	return rb_orient3d_at(&env, at[0], at[1], at[2], at[3]) > 0 &&
		   !rb_four_flat(at, s->r->hull_height);
}

/* Finds the first reflex edge of a block of cells. */
static void
find_reflex_edge_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const reflex_search *s = arg;
	const rb_cells *m = &s->r->mesh;
	boundary_edge *found = &s->found[from / BLOCK];

	(void) me;
	found->face = RB_NOWHERE;
	for (uint64_t i = from; i < to && found->face == RB_NOWHERE; i++)
	{
		const rb_cell *c = &m->cells[i];

		if (c->v[0] == RB_DEAD || (c->bits & RB_CELL_WALLS) == 0 || rb_cell_ghost(c))
			continue;
		for (uint32_t k = 0; k < 12 && found->face == RB_NOWHERE; k++)
		{
			const boundary_edge e = {(uint32_t) i << 2 | k / 3, k % 3};

			if (rb_cell_ghost(&m->cells[c->n[k / 3] >> 2]) && is_edge_reflex(s, &e))
				*found = e;
		}
	}
}

/* Finds the first reflex edge of the boundary; its face is RB_NOWHERE if there is none. */
static rb_status
find_reflex_edge(rb_refining *r, bool off_facets, boundary_edge *edge)
{
	const size_t blocks = r->ncells / BLOCK + 1;
	reflex_search s = {r, off_facets, NULL};
	rb_thread *team = NULL;
	rb_status status = RB_ALLOCATE(r->ctx, s.found, blocks);

	edge->face = RB_NOWHERE;
	if (status == RB_OK)
		status = rb_refining_team(r, r->ncells, &team);
	if (status == RB_OK)
		status = rb_each(r->ctx, team, r->ncells, BLOCK, find_reflex_edge_piece, &s);
	for (size_t i = 0; i * BLOCK < r->ncells && status == RB_OK && edge->face == RB_NOWHERE; i++)
		*edge = s.found[i];
	rb_team_close(&team);
	RB_FREE(r->ctx->memory, s.found);
	return status;
}

rb_status
rb_refining_find_convexity(rb_refining *r)
{
	boundary_edge edge;

	r->convex = RB_CONVEX;
	RB_TRY(find_reflex_edge(r, false, &edge));
	if (edge.face == RB_NOWHERE)
		return RB_OK;
	r->convex = RB_CONVEX_OFF_FACETS;
	RB_TRY(find_reflex_edge(r, true, &edge));
	if (edge.face != RB_NOWHERE)
		r->convex = RB_CONVEX_NOWHERE;
	return RB_OK;
}

rb_status
rb_refining_check_convexity(rb_refining *r)
{
	const rb_cells *m = &r->mesh;
	rb_reflex_edge *reflex = &r->report->reflex;
	const double *at[4];
	boundary_edge edge;
	uint32_t other;

	if (r->convex == RB_CONVEX_NOWHERE)
		return RB_OK;
	RB_TRY(find_reflex_edge(r, r->convex == RB_CONVEX_OFF_FACETS, &edge));
	if (edge.face == RB_NOWHERE)
		return RB_OK;
	get_boundary_face(m, edge.face, at);
	at[3] = rb_site_at(m, cross_fan(m, &edge, &other));
	for (int k = 0; k < 3; k++)
		reflex->at[k] = 0.5 * at[edge.next][k] + 0.5 * at[(edge.next + 1) % 3][k];
	reflex->depth = rb_four_height(at);
	reflex->limit = r->hull_height;
	return rb_fail(r->ctx, RB_BAD_PLC, 0, 0, NULL);
}
