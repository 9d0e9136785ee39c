/*
 * delaunay_flips.c
 *	  Finds faces that are not Delaunay, and flips them until all are, as far as that is possible.
 *
 * A face on no facet is not Delaunay if the circumsphere of the cell on one side contains the opposite
 * corner on the other side. A flip replaces the cells around it by the other triangulation of the same
 * corners:
 *
 *	2 by 3	the line between the two opposite corners d and e passes through the face abc
 *	3 by 2	it passes an edge ab of the face, around which there are only three cells
 *	4 by 4	it meets the edge ab, around which there are four cells
 *
 * In all three cases, the new cells connect e with the faces around the old ones. Lifted to the
 * paraboloid, the new cells are below the old ones, so the flips end. In space they may end at faces
 * that no flip removes (B. Joe: Three-dimensional triangulations from local transformations, 1989).
 * Diagonals of flat facets are not flipped: where four corners are on a circle up to rounding, the two
 * sides of a facet may disagree on which diagonal is Delaunay.
 *
 * Flips are few and are made one after the other; only scans of all cells run on several threads. So
 * the result is the same for any number of threads.
 */
#include "refine/exchange.h"

/* Cells that a thread takes at once */
#define CELLS RB_SIZE(8192, 64)

/* ---- faces that are not Delaunay ---- */

/* Returns true if face k of a cell is on no facet and is not Delaunay. */
static bool
is_face_not_delaunay(const rb_cells *m, rb_exact_env *env, uint32_t cell, uint32_t k)
{
	const rb_cell *c = &m->cells[cell];
	const rb_cell *other = &m->cells[c->n[k] >> 2];

	return (rb_load(&c->bits) & RB_CELL_WALL(k)) == 0 && !rb_cell_ghost(other) &&
		   rb_insphere_at(env, rb_site_at(m, c->v[0]), rb_site_at(m, c->v[1]),
						  rb_site_at(m, c->v[2]), rb_site_at(m, c->v[3]),
						  rb_site_at(m, other->v[c->n[k] & 3])) > 0;
}

typedef struct face_search
{
	rb_refining *r;
	uint64_t n;
} face_search;

/* Marks the cells on both sides of faces that are not Delaunay; a face is tested from one side. */
static void
mark_not_delaunay_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	face_search *s = arg;
	const rb_cells *m = &s->r->mesh;
	rb_exact_env env = {.filters = s->r->ctx->filters, .exact = true};
	uint64_t n = 0;

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		rb_cell *c = &m->cells[i];

		for (uint32_t k = 0; k < 4 && c->v[0] != RB_DEAD && !rb_cell_ghost(c); k++)
		{
			if (c->n[k] >> 2 < i || !is_face_not_delaunay(m, &env, (uint32_t) i, k))
				continue;
			rb_or(&c->bits, RB_CELL_NOT_DELAUNAY);
			rb_or(&m->cells[c->n[k] >> 2].bits, RB_CELL_NOT_DELAUNAY);
			n++;
		}
	}
	rb_add(&s->n, n);
}

rb_status
rb_refining_mark_not_delaunay(rb_refining *r, uint64_t *faces)
{
	face_search s = {r, 0};
	rb_thread *team = NULL;
	rb_status status = rb_refining_team(r, r->ncells, &team);

	if (status == RB_OK)
		status = rb_each(r->ctx, team, r->ncells, CELLS, mark_not_delaunay_piece, &s);
	rb_team_close(&team);
	*faces = s.n;
	return status;
}

/* ---- flips ---- */

/* A cell that may have a face that is not Delaunay; stale if its corners are others now */
typedef struct listed_cell
{
	uint32_t cell;
	uint32_t v[4];
} listed_cell;

typedef RB_VEC(listed_cell) listed_cells;

typedef struct restoring
{
	rb_refining *r;
	rb_exchange x;
	listed_cells list; /* Cells to be treated, the last one first */
	listed_cells left; /* Cells with faces that no flip removed */
	bool flipped;      /* True if there was a flip since the first cell in `left` */
} restoring;

/* Appends a cell to a list. */
static rb_status
list_cell(const restoring *s, listed_cells *list, uint32_t cell)
{
	listed_cell one = {.cell = cell};

	memcpy(one.v, s->r->mesh.cells[cell].v, sizeof one.v);
	return rb_vec_append(s->r->ctx, list, one);
}

/*
 * Replaces the old cells of the exchange by those that connect a vertex with the faces around them, if
 * all of these are positively oriented.
 */
static rb_status
flip_old_cells(restoring *s, uint32_t vertex, bool *done)
{
	rb_exchange *x = &s->x;
	uint32_t first = 0;

	*done = false;
	x->facet = RB_NOWHERE;
	/* The measure of an angle is at least 0. */
	if (!rb_exchange_star(x, vertex) || rb_exchange_new_angle(x, -0.5, &first) < 0)
		return RB_OK;
	RB_TRY(rb_exchange_cells(x, done));
	for (uint32_t i = 0; i < x->ntets && *done; i++)
		RB_TRY(list_cell(s, &s->list, x->slots[i]));
	return RB_OK;
}

/* Returns true if the ring of old cells around edge ab may be flipped, given the opposite corners. */
static bool
is_ring_flippable(restoring *s, uint32_t a, uint32_t b, uint32_t d, uint32_t e)
{
	const rb_cells *m = &s->r->mesh;

	return s->x.nold == 3 ||
		   (s->x.nold == 4 && rb_orient3d_at(&s->x.env, rb_site_at(m, a), rb_site_at(m, b),
											 rb_site_at(m, d), rb_site_at(m, e)) == 0);
}

/* Flips face k of a cell, which is not Delaunay. */
static rb_status
flip_face(restoring *s, uint32_t cell, uint32_t k, bool *done)
{
	rb_exchange *x = &s->x;
	const rb_cell c = s->r->mesh.cells[cell];
	const uint32_t beyond = s->r->mesh.cells[c.n[k] >> 2].v[c.n[k] & 3];

	x->old[0] = cell;
	x->old[1] = c.n[k] >> 2;
	x->nold = 2;
	RB_TRY(flip_old_cells(s, beyond, done));
	for (uint32_t i = 0; i < 3 && !*done; i++)
	{
		const uint32_t a = rb_cell_face_corner(k, i), b = rb_cell_face_corner(k, (i + 1) % 3);

		if (rb_exchange_collect_ring(x, cell, rb_cell_edge(a, b)) &&
			is_ring_flippable(s, c.v[a], c.v[b], c.v[k], beyond))
			RB_TRY(flip_old_cells(s, beyond, done));
	}
	return RB_OK;
}

/* Flips one of the faces of a cell that are not Delaunay. */
static rb_status
flip_faces_of_cell(restoring *s, const listed_cell *one)
{
	const rb_cells *m = &s->r->mesh;
	bool any = false, done = false;

	if (memcmp(m->cells[one->cell].v, one->v, sizeof one->v) != 0)
		return RB_OK;
	for (uint32_t k = 0; k < 4 && !done; k++)
	{
		if (!is_face_not_delaunay(m, &s->x.env, one->cell, k))
			continue;
		any = true;
		RB_TRY(flip_face(s, one->cell, k, &done));
	}
	s->flipped = s->flipped || done;
	return any && !done ? rb_vec_append(s->r->ctx, &s->left, *one) : RB_OK;
}

/* Flips faces of listed cells until none is left that can be flipped. */
static rb_status
flip_listed_cells(restoring *s)
{
	do
	{
		const listed_cells list = s->list;

		s->list = s->left;
		s->left = list;
		rb_vec_clear(&s->left);
		s->flipped = false;
		while (s->list.n > 0)
		{
			const listed_cell one = s->list.at[--s->list.n];

			if (rb_should_stop(s->r->ctx))
				return RB_STOPPED;
			RB_TRY(flip_faces_of_cell(s, &one));
		}
	} while (s->flipped && s->left.n > 0);
	return RB_OK;
}

/* Lists the marked cells and clears their marks. */
static rb_status
list_marked_cells(restoring *s)
{
	rb_cell *cells = s->r->mesh.cells;

	for (uint32_t i = 0; i < s->r->ncells; i++)
		if ((cells[i].bits & RB_CELL_NOT_DELAUNAY) != 0)
		{
			cells[i].bits &= ~RB_CELL_NOT_DELAUNAY;
			RB_TRY(list_cell(s, &s->left, i));
		}
	return RB_OK;
}

/* Adds the slots that became free to those of the mesh. */
static rb_status
free_spare_slots(restoring *s)
{
	rb_refining *r = s->r;

	RB_TRY(RB_GROW(r->ctx, r->free, r->free_cap, r->nfree + s->x.spare.n + 1));
	for (size_t i = 0; i < s->x.spare.n; i++)
		r->free[r->nfree++] = s->x.spare.at[i];
	return RB_OK;
}

rb_status
rb_refining_flip_to_delaunay(rb_refining *r, bool *all)
{
	restoring *s = NULL;
	uint64_t faces;
	rb_status status = RB_ALLOCATE(r->ctx, s, 1);

	*all = false;
	if (status != RB_OK)
		return status;
	memset(s, 0, sizeof *s);
	s->r = s->x.r = r;
	s->x.env = (rb_exact_env){.filters = r->ctx->filters, .exact = true};
	status = rb_refining_mark_not_delaunay(r, &faces);
	if (status == RB_OK)
		status = list_marked_cells(s);
	if (status == RB_OK)
		status = flip_listed_cells(s);
	if (status == RB_OK)
		status = free_spare_slots(s);
	*all = status == RB_OK && s->left.n == 0;
	rb_vec_free(r->ctx->memory, &s->list);
	rb_vec_free(r->ctx->memory, &s->left);
	rb_vec_free(r->ctx->memory, &s->x.spare);
	RB_FREE(r->ctx->memory, s);
	return status;
}
