/*
 * exchange.c
 *	  Exchanges cells of a mesh for other cells of the same space (exchange.h).
 *
 * New cells are checked by exact signs and by matching their faces, so the way in which a caller
 * found them does not matter. Old slots are reused in order; further cells are appended.
 */
#include "refine/exchange.h"

#include "refine/angles.h"

/* ---- measures ---- */

double
rb_exchange_angle(rb_exchange *x, const uint32_t *v)
{
	const double *p[4];

	for (int k = 0; k < 4; k++)
		p[k] = rb_exchange_at(x, v[k]);
	if (rb_orient3d_at(&x->env, p[0], p[1], p[2], p[3]) <= 0)
		return -1;
	return rb_tet_angle(p[0], p[1], p[2], p[3], NULL);
}

double
rb_exchange_old_angle(rb_exchange *x)
{
	double least = 2;

	for (uint32_t i = 0; i < x->nold; i++)
	{
		const rb_cell *c = &x->r->mesh.cells[x->old[i]];
		const double angle = rb_cell_ghost(c) ? least : rb_exchange_angle(x, c->v);

		least = angle < least ? angle : least;
	}
	return least;
}

double
rb_exchange_new_angle(rb_exchange *x, double least, uint32_t *first)
{
	const uint32_t start = *first < x->ntets ? *first : 0;
	double found = 2;

	for (uint32_t i = 0; i < x->ntets; i++)
	{
		const uint32_t k = i == 0 ? start : i <= start ? i - 1 : i;
		const double angle = rb_exchange_angle(x, x->tets[k]);

		found = angle < found ? angle : found;
		if (found <= least)
		{
			*first = k;
			return found;
		}
	}
	return found;
}

/* ---- bounds ---- */

/*
 * Returns true if a tetrahedron that an exchange adds or removes is bad; it need not be a cell of
 * the mesh.
 */
static bool
is_exchanged_tet_bad(const rb_exchange *x, const uint32_t *v, uint32_t region)
{
	rb_cells m = x->r->mesh;
	rb_site corners[4];
	rb_cell c = {.v = {0, 1, 2, 3}, .region = region};
	rb_tet_shape shape;
	bool kept;

	for (int k = 0; k < 4; k++)
	{
		memcpy(corners[k].at, rb_exchange_at(x, v[k]), sizeof corners[k].at);
		corners[k].radius = 0;
	}
	m.sites = corners;
	shape = rb_cell_shape(&m, &c);
	return rb_cell_bad(&m, &c, &shape, &kept);
}

/* Returns true if a new cell is a ghost. */
static bool
is_new_cell_ghost(const rb_exchange *x, uint32_t i)
{
	return x->tets[i][0] == RB_GHOST;
}

/* Returns the region of a new cell. */
static uint32_t
region_of_new_cell(const rb_exchange *x, uint32_t i)
{
	const bool first = x->facet == RB_NOWHERE || i < x->nfirst;

	return x->r->mesh.cells[x->old[first ? 0 : x->nold - 1]].region;
}

bool
rb_exchange_keeps_bounds(const rb_exchange *x)
{
	const rb_cells *m = &x->r->mesh;
	int more = 0;

	if (!(m->ratio < INFINITY) && !m->has_volumes)
		return true;
	for (uint32_t i = 0; i < x->nold; i++)
	{
		const rb_cell *c = &m->cells[x->old[i]];

		more -= !rb_cell_ghost(c) && is_exchanged_tet_bad(x, c->v, c->region);
	}
	for (uint32_t i = 0; i < x->ntets; i++)
		more += !is_new_cell_ghost(x, i) &&
				is_exchanged_tet_bad(x, x->tets[i], region_of_new_cell(x, i));
	return more <= 0;
}

/* ---- boundary ---- */

bool
rb_exchange_has(const rb_exchange *x, uint32_t cell)
{
	for (uint32_t i = 0; i < x->nold; i++)
		if (x->old[i] == cell)
			return true;
	return false;
}

bool
rb_exchange_star(rb_exchange *x, uint32_t vertex)
{
	const rb_cells *m = &x->r->mesh;

	x->ntets = 0;
	for (uint32_t i = 0; i < x->nold; i++)
	{
		const rb_cell *c = &m->cells[x->old[i]];

		for (uint32_t k = 0; k < 4; k++)
		{
			bool on = false;

			for (uint32_t j = 0; j < 4; j++)
				on = on || (j != k && c->v[j] == vertex);
			if (on || rb_exchange_has(x, c->n[k] >> 2))
				continue;
			if (x->ntets == RB_EXCHANGE_TETS)
				return false;
			memcpy(x->tets[x->ntets], c->v, sizeof c->v);
			x->tets[x->ntets++][k] = vertex;
		}
	}
	return true;
}

/*
 * Lists the faces around the old cells, and the subsegments that are edges of old cells. Returns
 * false if a constrained face that is not on x->facet lies between two old cells, or if there are
 * too many faces.
 */
static bool
list_exchange_rim(rb_exchange *x)
{
	const rb_cells *m = &x->r->mesh;

	x->nrim = x->nsegments = 0;
	for (uint32_t i = 0; i < x->nold; i++)
	{
		const rb_cell *c = &m->cells[x->old[i]];

		for (uint32_t k = 0; k < 4; k++)
		{
			const bool wall = (c->bits & RB_CELL_WALL(k)) != 0;
			rb_exchange_face *f = &x->rim[x->nrim];

			if (rb_exchange_has(x, c->n[k] >> 2))
			{
				if (wall && (x->facet == RB_NOWHERE || c->facet[k] != x->facet))
					return false;
				continue;
			}
			if (++x->nrim == 2 * RB_EXCHANGE_TETS)
				return false;
			for (uint32_t j = 0; j < 3; j++)
				f->v[j] = c->v[rb_cell_face_corner(k, j)];
			f->beyond = c->n[k];
			f->facet = c->facet[k];
			f->wall = wall;
			f->matched = false;
		}
		for (uint32_t e = 0; e < 6; e++)
			if ((c->bits & RB_CELL_SEGMENT(e)) != 0)
			{
				x->segments[x->nsegments][0] = c->v[rb_cell_edge_from(e)];
				x->segments[x->nsegments++][1] = c->v[rb_cell_edge_to(e)];
			}
	}
	return true;
}

/*
 * Returns 1 if two faces are the same and run in the same direction, -1 if opposite, otherwise 0.
 */
static int
compare_exchange_faces(const uint32_t *a, const uint32_t *b)
{
	for (int i = 0; i < 3; i++)
		if (a[0] == b[i])
			return a[1] == b[(i + 1) % 3] && a[2] == b[(i + 2) % 3]   ? 1
				   : a[1] == b[(i + 2) % 3] && a[2] == b[(i + 1) % 3] ? -1
																	  : 0;
	return 0;
}

/* Sets a face of a new cell, as in rb_cell_face_corner. */
static void
set_exchanged_face(const rb_exchange *x, uint32_t face, uint32_t *v)
{
	for (uint32_t j = 0; j < 3; j++)
		v[j] = x->tets[face >> 2][rb_cell_face_corner(face & 3, j)];
}

/*
 * Flag of an entry of `mates` for a face on the rim; the other bits are the index of the rim face
 */
#define ON_RIM 0x80000000u

/*
 * Matches each face of the new cells with one of the rim or of another new cell. Returns false if a
 * face of a new cell or of the rim has no match.
 */
static bool
match_exchange_faces(rb_exchange *x)
{
	for (uint32_t face = 0; face < 4 * x->ntets; face++)
		x->mates[face >> 2][face & 3] = RB_NOWHERE;
	for (uint32_t face = 0; face < 4 * x->ntets; face++)
	{
		uint32_t *mate = &x->mates[face >> 2][face & 3];
		uint32_t v[3], w[3];

		if (*mate != RB_NOWHERE)
			continue;
		set_exchanged_face(x, face, v);
		for (uint32_t i = 0; i < x->nrim && *mate == RB_NOWHERE; i++)
			if (!x->rim[i].matched && compare_exchange_faces(v, x->rim[i].v) == 1)
			{
				x->rim[i].matched = true;
				*mate = ON_RIM | i;
			}
		for (uint32_t other = (face | 3) + 1; other < 4 * x->ntets && *mate == RB_NOWHERE; other++)
		{
			if (x->mates[other >> 2][other & 3] != RB_NOWHERE)
				continue;
			set_exchanged_face(x, other, w);
			if (compare_exchange_faces(v, w) == -1)
			{
				x->mates[other >> 2][other & 3] = face;
				*mate = other;
			}
		}
		if (*mate == RB_NOWHERE)
			return false;
	}
	for (uint32_t i = 0; i < x->nrim; i++)
		if (!x->rim[i].matched)
			return false;
	return true;
}

/* Returns true if some new cell has both vertices, which may be equal. */
static bool
is_edge_of_new_cells(const rb_exchange *x, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < x->ntets; i++)
	{
		const uint32_t *v = x->tets[i];

		if ((v[0] == a || v[1] == a || v[2] == a || v[3] == a) &&
			(v[0] == b || v[1] == b || v[2] == b || v[3] == b))
			return true;
	}
	return false;
}

/* Returns true if the new cells have all vertices and subsegments of the old ones. */
static bool
are_vertices_and_subsegments_kept(const rb_exchange *x)
{
	const rb_cells *m = &x->r->mesh;

	for (uint32_t i = 0; i < x->nold; i++)
		for (int k = 0; k < 4; k++)
			if (!is_edge_of_new_cells(x, m->cells[x->old[i]].v[k], m->cells[x->old[i]].v[k]))
				return false;
	for (uint32_t i = 0; i < x->nsegments; i++)
		if (!is_edge_of_new_cells(x, x->segments[i][0], x->segments[i][1]))
			return false;
	return true;
}

/* ---- the exchange ---- */

/* Selects a slot for each new cell: those of the old ones, spare ones, then new ones. */
static rb_status
select_slots(rb_exchange *x)
{
	rb_refining *r = x->r;

	RB_TRY(rb_vec_reserve(r->ctx, &x->spare, x->nold));
	RB_TRY(rb_refining_reserve(r, (size_t) r->ncells + x->ntets, r->nsites));
	if (r->ncells + x->ntets >= RB_MAX_CELLS)
		return rb_fail(r->ctx, RB_TOO_MANY_OBJECTS, (uint64_t) r->ncells + x->ntets, RB_MAX_CELLS,
					   NULL);
	for (uint32_t i = 0; i < x->ntets; i++)
		x->slots[i] = i < x->nold      ? x->old[i]
					  : x->spare.n > 0 ? x->spare.at[--x->spare.n]
									   : r->ncells++;
	return RB_OK;
}

/* Sets the bits of the subsegments of a new cell that an exchange has put into the mesh. */
static void
mark_segments_of_exchanged_cell(const rb_exchange *x, rb_cell *c)
{
	for (uint32_t e = 0; e < 6; e++)
	{
		const uint32_t a = c->v[rb_cell_edge_from(e)], b = c->v[rb_cell_edge_to(e)];

		for (uint32_t i = 0; i < x->nsegments; i++)
			if ((x->segments[i][0] == a && x->segments[i][1] == b) ||
				(x->segments[i][0] == b && x->segments[i][1] == a))
			{
				c->bits |= RB_CELL_SEGMENT(e);
				break;
			}
	}
}

/* Returns true if a face of a new cell is one of the two new faces of the exchanged facet. */
static bool
is_new_wall(const rb_exchange *x, uint32_t face)
{
	uint32_t v[3];

	if (x->facet == RB_NOWHERE)
		return false;
	set_exchanged_face(x, face, v);
	return compare_exchange_faces(v, x->walls[0]) != 0 ||
		   compare_exchange_faces(v, x->walls[1]) != 0;
}

/* Makes face k of a cell a face of a facet. */
static void
set_exchanged_wall(rb_cell *c, uint32_t k, uint32_t facet)
{
	c->bits |= RB_CELL_WALL(k);
	c->facet[k] = facet;
}

/* Writes new cell i to its slot and links it. `bits` are its bits before constraints are added. */
static void
write_exchange_cell(rb_exchange *x, uint32_t i, uint32_t region, uint32_t bits)
{
	rb_cells *m = &x->r->mesh;
	rb_cell *c = &m->cells[x->slots[i]];

	memcpy(c->v, x->tets[i], sizeof c->v);
	c->bits = bits;
	c->claim = 0;
	c->region = region;
	for (uint32_t k = 0; k < 4; k++)
	{
		const uint32_t mate = x->mates[i][k];
		const bool wall = is_new_wall(x, i << 2 | k);
		const rb_exchange_face *f;
		rb_cell *beyond;

		c->facet[k] = RB_NOWHERE;
		if ((mate & ON_RIM) == 0)
			c->n[k] = x->slots[mate >> 2] << 2 | (mate & 3);
		else
		{
			f = &x->rim[mate & ~ON_RIM];
			beyond = &m->cells[f->beyond >> 2];
			c->n[k] = f->beyond;
			beyond->n[f->beyond & 3] = x->slots[i] << 2 | k;
			if (f->wall)
				set_exchanged_wall(c, k, f->facet);
			if (wall)
				set_exchanged_wall(beyond, f->beyond & 3, x->facet);
		}
		if (wall)
			set_exchanged_wall(c, k, x->facet);
	}
	mark_segments_of_exchanged_cell(x, c);
}

rb_status
rb_exchange_cells(rb_exchange *x, bool *done)
{
	rb_cells *m = &x->r->mesh;
	uint32_t regions[2], left = 0;

	*done = list_exchange_rim(x) && match_exchange_faces(x) && are_vertices_and_subsegments_kept(x);
	if (!*done)
		return RB_OK;
	RB_TRY(select_slots(x));
	/* A cell that is bad may replace one whose reason is known. */
	for (uint32_t i = 0; i < x->nold && left == 0; i++)
	{
		const uint32_t bits = m->cells[x->old[i]].bits;

		left = (bits & RB_CELL_LEFT) != 0 ? bits & (RB_CELL_LEFT | RB_CELL_REASON) : 0;
	}
	/* Old cells are overwritten. */
	regions[0] = region_of_new_cell(x, 0);
	regions[1] = region_of_new_cell(x, x->ntets - 1);
	for (uint32_t i = 0; i < x->ntets; i++)
		write_exchange_cell(x, i, regions[x->facet != RB_NOWHERE && i >= x->nfirst],
							is_new_cell_ghost(x, i) ? 0 : left);
	for (uint32_t i = x->ntets; i < x->nold; i++)
	{
		m->cells[x->old[i]].v[0] = RB_DEAD;
		m->cells[x->old[i]].bits = 0;
		x->spare.at[x->spare.n++] = x->old[i];
	}
	return RB_OK;
}
