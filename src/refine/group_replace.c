/*
 * group_replace.c
 *	  Replaces cells by the tetrahedra that contain jointly inserted points.
 *
 * New cells are built first; then they are linked with each other and with the remaining cells. A
 * new cell that still lacks a neighbor is on the boundary and gets a ghost there. Ghosts are linked
 * last, along the rings around their edges.
 */
#include "refine/group.h"

/* Returns the next cell slot: a free one, or a new one at the end. */
static uint32_t
take_slot(rb_refining *r)
{
	return r->nfree > 0 ? r->free[--r->nfree] : r->ncells++;
}

static void
make_cell(rb_together *t, uint32_t tet)
{
	rb_refining *r = t->r;
	const uint32_t *v = t->tets.tets[tet];
	rb_cell *c = &r->mesh.cells[t->place[tet]];

	c->bits = 0;
	c->claim = 0;
	c->region = t->region[tet];
	for (uint32_t k = 0; k < 4; k++)
	{
		const uint32_t *facet = rb_together_wall(t, tet << 2 | k);

		c->v[k] = rb_together_site(t, v[k]);
		c->n[k] = RB_NOWHERE;
		c->facet[k] = facet != NULL ? *facet : RB_NOWHERE;
		if (facet != NULL)
			c->bits |= RB_CELL_WALL(k);
	}
	for (uint32_t e = 0; e < 6; e++)
		if (rb_table_find(&t->pieces, v[rb_cell_edge_from(e)], v[rb_cell_edge_to(e)], RB_NONE) !=
			NULL)
			c->bits |= RB_CELL_SEGMENT(e);
}

/* Builds the ghost behind face k of a new cell on the boundary. */
static void
make_ghost(rb_refining *r, uint32_t cell, uint32_t k)
{
	uint32_t place = take_slot(r);
	rb_cell *c = &r->mesh.cells[cell], *g = &r->mesh.cells[place];

	memset(g, 0, sizeof *g);
	g->v[0] = RB_GHOST;
	g->v[1] = c->v[rb_cell_face_corner(k, 0)];
	g->v[2] = c->v[rb_cell_face_corner(k, 2)];
	g->v[3] = c->v[rb_cell_face_corner(k, 1)];
	g->bits = RB_CELL_WALL(0);
	for (uint32_t e = 3; e < 6; e++)
	{
		uint32_t a = rb_cell_corner(c, g->v[rb_cell_edge_from(e)]);
		uint32_t b = rb_cell_corner(c, g->v[rb_cell_edge_to(e)]);

		if ((c->bits & RB_CELL_SEGMENT(rb_cell_edge(a, b))) != 0)
			g->bits |= RB_CELL_SEGMENT(e);
	}
	for (uint32_t i = 0; i < 4; i++)
	{
		g->n[i] = RB_NOWHERE;
		g->facet[i] = RB_NOWHERE;
	}
	g->facet[0] = c->facet[k];
	g->n[0] = cell << 2 | k;
	c->n[k] = place << 2;
}

/*
 * Links a new ghost with the next one around each of its edges, at the other end of the fan of
 * cells there.
 */
static void
link_ghost(rb_cells *m, uint32_t g)
{
	for (uint32_t k = 1; k < 4; k++)
	{
		const rb_cell *c = &m->cells[g];
		uint32_t a = c->v[k == 1 ? 2 : 1], b = c->v[k == 3 ? 2 : 3], other;
		rb_edge_ring ring = rb_ring_at(g, 0, a, b);

		do
			rb_ring_next(m, &ring);
		while (!rb_cell_ghost(&m->cells[ring.cell]));
		c = &m->cells[ring.cell];
		other = ring.cell << 2 |
				(6 - rb_cell_corner(c, a) - rb_cell_corner(c, b) - rb_cell_corner(c, RB_GHOST));
		m->cells[g].n[k] = other;
		m->cells[other >> 2].n[other & 3] = g << 2 | k;
	}
}

static void
make_sites(rb_together *t)
{
	rb_refining *r = t->r;
	rb_cells *m = &r->mesh;

	for (uint32_t i = 0; i < t->npoints; i++)
	{
		const rb_stuck_point *p = &t->points[i];
		uint32_t site = r->nsites + i;

		memcpy(m->sites[site].at, p->at, sizeof p->at);
		m->sites[site].radius = p->raise;
		m->kind[site] = RB_VERTEX_ON_SEGMENT;
		m->parent[site] = p->segment;
	}
}

rb_status
rb_together_replace(rb_together *t)
{
	rb_refining *r = t->r;
	rb_cells *m = &r->mesh;
	size_t most = (size_t) r->ncells + 5 * t->fresh.n;
	uint32_t first;
	rb_status status;

	/* The last slot would have a link equal to RB_NOWHERE. */
	if (most >= RB_MAX_CELLS)
		return rb_fail(r->ctx, RB_TOO_MANY_OBJECTS, most, RB_MAX_CELLS, NULL);
	status = rb_refining_reserve(r, most, (size_t) r->nsites + t->npoints);
	if (status == RB_OK)
		status = rb_array_grow(r->ctx, (void **) &r->free, &r->free_cap,
							   (size_t) r->nfree + t->old.n, sizeof(uint32_t));
	if (status == RB_OK)
		status = rb_array_grow(r->ctx, (void **) &t->marks, &t->marks_cap, most, 1);
	if (status != RB_OK)
		return status;
	t->ghosts.n = 0;
	memset(t->marks + r->ncells, 0, most - r->ncells);
	make_sites(t);
	for (size_t i = 0; i < t->fresh.n; i++)
		t->place[t->fresh.e[i]] = r->ncells + (uint32_t) i;
	first = r->ncells;
	r->ncells += (uint32_t) t->fresh.n;
	/* The mesh is not used if the work stops from here on. */
	for (size_t i = 0; i < t->fresh.n; i++)
	{
		if (rb_should_stop(r->ctx))
			return RB_STOPPED;
		make_cell(t, t->fresh.e[i]);
	}
	status = rb_refining_radii(r, first, r->nsites, t->npoints);
	if (status != RB_OK)
		return status;
	/* Link the new cells with each other, then with the remaining cells. */
	for (size_t i = 0; i < t->fresh.n; i++)
		for (uint32_t k = 0; k < 4; k++)
		{
			uint32_t other = rb_together_beyond(t, t->fresh.e[i] << 2 | k);

			if (other != RB_NONE && t->place[other >> 2] < RB_TET_FRESH)
				m->cells[first + i].n[k] = t->place[other >> 2] << 2 | (other & 3);
		}
	for (size_t i = 0; i < t->npairs; i++)
	{
		uint32_t out = (uint32_t) (t->pairs[i] >> 32), face = (uint32_t) t->pairs[i];
		uint32_t to = t->place[face >> 2] << 2 | (face & 3);

		m->cells[out >> 2].n[out & 3] = to;
		m->cells[to >> 2].n[to & 3] = out;
	}
	for (size_t i = 0; i < t->old.n; i++)
	{
		m->cells[t->old.e[i]].v[0] = RB_DEAD;
		r->free[r->nfree++] = t->old.e[i];
	}
	/* By now, only boundary faces lack a link. */
	for (size_t i = 0; i < t->fresh.n; i++)
		for (uint32_t k = 0; k < 4; k++)
			if (m->cells[first + i].n[k] == RB_NOWHERE)
			{
				make_ghost(r, first + (uint32_t) i, k);
				status = rb_numbers_add(t->r->ctx, &t->ghosts, m->cells[first + i].n[k] >> 2);
				if (status != RB_OK)
					return status;
			}
	for (size_t i = 0; i < t->ghosts.n; i++)
		link_ghost(m, t->ghosts.e[i]);
	r->nsites += t->npoints;
	return RB_OK;
}
