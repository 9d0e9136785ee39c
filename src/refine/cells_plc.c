/*
 * cells_plc.c
 *	  Builds a PLC from cells of a mesh, and points that split subsegments.
 *
 * A constrained face of a cell becomes a triangle of the PLC, and a subsegment becomes a segment.
 * If a subsegment has a new point, it is split there, together with the faces at it. Faces between
 * the cells and the rest of the mesh are not represented.
 */
#include "refine/group.h"

#include "core/base/sort.h"

/* Exclusive maximum of counts; larger numbers have special meanings */
#define MAX_COUNT (UINT32_MAX - 8)

/* The cells that become a PLC */
typedef struct cell_list
{
	rb_refining *r;
	rb_cells_plc *p;
	const uint32_t *cells; /* NULL for all tetrahedra */
	size_t n;
	const uint8_t *marks;
	uint8_t listed;
} cell_list;

/* Returns a cell of the list, or RB_NONE for a slot without a tetrahedron. */
static inline uint32_t
cell_of_plc_slot(const cell_list *l, size_t i)
{
	const rb_cell *c = &l->r->mesh.cells[i];

	if (l->cells != NULL)
		return l->cells[i];
	return c->v[0] == RB_DEAD || rb_cell_ghost(c) ? RB_NONE : (uint32_t) i;
}

/* Returns true if a cell belongs to those that become a PLC. */
static inline bool
is_cell_of_plc(const cell_list *l, uint32_t cell)
{
	return l->cells == NULL ? !rb_cell_ghost(&l->r->mesh.cells[cell])
							: (l->marks[cell] & l->listed) != 0;
}

/* Fails if the PLC has reached the maximum number of triangles or segments. */
static rb_status
check_cells_plc_count(const cell_list *l, uint64_t n)
{
	return n >= MAX_COUNT ? rb_fail(l->r->ctx, RB_TOO_MANY_OBJECTS, n, MAX_COUNT, NULL) : RB_OK;
}

/* ---- constrained faces ---- */

/*
 * Adds a constrained face, given by its vertices. If its edges are split, it becomes several
 * triangles: each of the three may be split once, which gives at most four.
 */
static rb_status
add_constrained_face(const cell_list *l, const uint32_t *v, uint32_t facet)
{
	rb_context *ctx = l->r->ctx;
	rb_cells_plc *p = l->p;
	uint32_t stack[8][3]; /* PLC numbers */
	int n = 1;

	for (int k = 0; k < 3; k++)
		stack[0][k] = rb_cells_plc_number(p, v[k]);
	while (n > 0)
	{
		uint32_t w[3], middle = RB_NONE;
		const uint32_t to = p->plc.ntriangles;
		int k;

		memcpy(w, stack[--n], sizeof w);
		for (k = 0; k < 3 && middle == RB_NONE; k++)
			if (w[k] < p->nold && w[(k + 1) % 3] < p->nold)
				middle = rb_cells_plc_middle(p, rb_cells_plc_site(l->r, p, w[k]),
											 rb_cells_plc_site(l->r, p, w[(k + 1) % 3]));
		if (middle != RB_NONE)
		{
			uint32_t a = w[k - 1], b = w[k % 3], c = w[(k + 1) % 3];

			stack[n][0] = a;
			stack[n][1] = middle;
			stack[n++][2] = c;
			stack[n][0] = middle;
			stack[n][1] = b;
			stack[n++][2] = c;
			continue;
		}
		RB_TRY(check_cells_plc_count(l, to));
		RB_TRY(RB_GROW(ctx, p->triangles, p->triangles_cap, (size_t) to + 1));
		RB_TRY(RB_GROW(ctx, p->facet_of, p->facet_of_cap, (size_t) to + 1));
		memcpy(p->triangles[to], w, sizeof w);
		p->facet_of[to] = facet;
		p->plc.ntriangles++;
	}
	return RB_OK;
}

/*
 * Returns the facet of a constrained face that becomes a triangle of the PLC, the radix sort key.
 */
static inline uint64_t
facet_of_plc_face(const void *element, const void *arg)
{
	const uint64_t *wall = element;

	(void) arg;
	return *wall >> 32;
}

/*
 * Lists the constrained faces of the cells from which a PLC is built, by facet and, within one, by
 * cell.
 */
static rb_status
list_faces_for_plc(const cell_list *l, size_t *nwalls)
{
	const rb_cells *m = &l->r->mesh;
	rb_context *ctx = l->r->ctx;
	rb_cells_plc *p = l->p;
	void *walls, *spare;
	size_t cap, n = 0;

	for (size_t i = 0; i < l->n; i++)
	{
		const uint32_t cell = cell_of_plc_slot(l, i);

		if (rb_should_stop(ctx))
			return RB_STOPPED;
		for (uint32_t k = 0; k < 4 && cell != RB_NONE; k++)
		{
			const rb_cell *c = &m->cells[cell];
			const uint32_t other = c->n[k] >> 2;

			/* List the face from one of its sides only. */
			if ((c->bits & RB_CELL_WALL(k)) == 0 || (other < cell && is_cell_of_plc(l, other)))
				continue;
			RB_TRY(RB_GROW(ctx, p->walls, p->walls_cap, n + 1));
			p->walls[n++] = (uint64_t) c->facet[k] << 32 | (cell << 2 | k);
		}
	}
	*nwalls = n;
	if (l->cells != NULL)
		return rb_sort_words(ctx, p->walls, n);
	/* The faces of all tetrahedra are many, and in order within each facet. */
	RB_TRY(RB_GROW(ctx, p->spare, p->spare_cap, n));
	walls = p->walls;
	spare = p->spare;
	RB_TRY(rb_radix_sort(ctx, &walls, &spare, n, sizeof(uint64_t), 4, facet_of_plc_face, NULL));
	if (walls == p->walls)
		return RB_OK;
	p->walls = walls;
	p->spare = spare;
	cap = p->walls_cap;
	p->walls_cap = p->spare_cap;
	p->spare_cap = cap;
	return RB_OK;
}

/* Adds the constrained faces of the cells to the PLC, as triangles of numbered facets. */
static rb_status
add_constrained_faces(const cell_list *l)
{
	rb_context *ctx = l->r->ctx;
	rb_cells_plc *p = l->p;
	size_t nwalls;

	RB_TRY(list_faces_for_plc(l, &nwalls));
	for (size_t i = 0; i < nwalls; i++)
	{
		uint32_t face = (uint32_t) p->walls[i], facet = (uint32_t) (p->walls[i] >> 32), v[3];
		const rb_cell *c = &l->r->mesh.cells[face >> 2];

		if (rb_should_stop(ctx))
			return RB_STOPPED;
		if (p->facets.n == 0 || p->facets.at[p->facets.n - 1] != facet)
			RB_TRY(rb_vec_append(ctx, &p->facets, facet));
		for (uint32_t j = 0; j < 3; j++)
			v[j] = c->v[rb_cell_face_corner(face & 3, j)];
		RB_TRY(add_constrained_face(l, v, (uint32_t) p->facets.n - 1));
	}
	p->plc.nfacets = (uint32_t) p->facets.n;
	p->plc.triangles = (const uint32_t(*)[3]) p->triangles;
	p->plc.facet_of = p->facet_of;
	return RB_OK;
}

/* ---- subsegments ---- */

/*
 * Adds a subsegment to the PLC when called for the first cell around it; does nothing for the
 * other cells.
 */
static rb_status
add_subsegment(const cell_list *l, uint32_t a, uint32_t b, rb_entry64 entry)
{
	rb_context *ctx = l->r->ctx;
	rb_cells_plc *p = l->p;
	const uint32_t n = p->plc.nsegments;
	bool fresh;

	RB_TRY(rb_table_insert(ctx, &p->pieces, a, b, RB_NONE, n, NULL, &fresh));
	if (!fresh)
		return RB_OK;
	RB_TRY(check_cells_plc_count(l, n));
	RB_TRY(RB_GROW(ctx, p->segments, p->segments_cap, (size_t) n + 1));
	RB_TRY(RB_GROW(ctx, p->entries, p->entries_cap, (size_t) n + 1));
	p->entries[n] = entry;
	p->segments[n][0] = a;
	p->segments[n][1] = b;
	p->plc.nsegments++;
	return RB_OK;
}

/* Adds the subsegments of the cells to the PLC, each as two halves if it is split. */
static rb_status
add_subsegments(const cell_list *l)
{
	const rb_cells *m = &l->r->mesh;
	rb_cells_plc *p = l->p;

	for (size_t i = 0; i < l->n; i++)
	{
		const uint32_t cell = cell_of_plc_slot(l, i);

		if (rb_should_stop(l->r->ctx))
			return RB_STOPPED;
		for (uint32_t e = 0; e < 6 && cell != RB_NONE; e++)
		{
			const rb_cell *c = &m->cells[cell];
			uint32_t u = c->v[rb_cell_edge_from(e)], v = c->v[rb_cell_edge_to(e)], a, b, middle;
			rb_entry64 entry;

			if ((c->bits & RB_CELL_SEGMENT(e)) == 0)
				continue;
			entry = rb_entry_make(m, cell, e, RB_SPLIT_PIECE, true);
			middle = rb_cells_plc_middle(p, u, v);
			a = rb_cells_plc_number(p, u);
			b = rb_cells_plc_number(p, v);
			if (middle == RB_NONE)
				RB_TRY(add_subsegment(l, a, b, entry));
			else
			{
				RB_TRY(add_subsegment(l, a, middle, entry));
				RB_TRY(add_subsegment(l, middle, b, entry));
			}
		}
	}
	p->plc.segments = (const uint32_t(*)[2]) p->segments;
	return RB_OK;
}

rb_status
rb_cells_plc_build(rb_refining *r, rb_cells_plc *p, const uint32_t *cells, size_t n,
				   const uint8_t *marks, uint8_t listed)
{
	const cell_list l = {r, p, cells, cells != NULL ? n : r->ncells, marks, listed};

	p->facets.n = 0;
	p->plc.ntriangles = p->plc.nsegments = 0;
	rb_table_empty(&p->pieces);
	RB_TRY(add_constrained_faces(&l));
	return add_subsegments(&l);
}

void
rb_cells_plc_free(rb_memory *memory, rb_cells_plc *p)
{
	rb_table_free(memory, &p->split);
	rb_table_free(memory, &p->numbers);
	rb_table_free(memory, &p->pieces);
	rb_vec_free(memory, &p->sites);
	rb_vec_free(memory, &p->facets);
	RB_FREE(memory, p->triangles);
	RB_FREE(memory, p->facet_of);
	RB_FREE(memory, p->segments);
	RB_FREE(memory, p->entries);
	RB_FREE(memory, p->walls);
	RB_FREE(memory, p->spare);
}
