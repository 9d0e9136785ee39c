/*
 * together.c
 *	  Points that can be inserted together only (rebuild.c says why), where that concerns few cells.
 *
 * Pieces that are stuck and in each other's cavities are a group.  The cells that its points are in the spheres of,
 * and some around them, are a PLC of their own: their corners and the new points, their walls and their
 * pieces.  Of its tetrahedralization those with a new point for a corner take the place of as many cells here
 * as they fill the space of; for a constrained Delaunay tetrahedralization changes by a new point in no
 * other way.
 *
 * That PLC is a cutting, so what it says is not believed but looked at: the faces around the new
 * tetrahedra are faces around cells that are here, seen from the same side, all of them; across each of them
 * Delaunay's condition holds, by exact signs; and no point was added.  Where that is not so
 * more cells around are taken, and then the group is left for others to insert.
 */
#include "refine/rb_refining.h"

#include "mesh/rb_table.h"

#include <stdlib.h>

/* a group has no more cells than this, and so many layers of them around it, and one more each time */
#define GROUP_CELLS 20000
#define LAYERS 2
/* so often it is tried, with more points */
#define TRIES 4

typedef struct list
{
	uint32_t *e;
	size_t n;
	size_t cap;
} list;

typedef struct stuck_point
{
	double at[3];
	double raise;
	uint32_t u, v; /* ends of the piece */
	uint32_t segment;
	rb_entry64 entry;
} stuck_point;

typedef struct together
{
	rb_refining *r;
	rb_table stuck;    /* pieces that wait: to their places in r->stuck */
	rb_table hopeless; /* and those that have been tried in vain */
	uint8_t *marks;    /* of each cell: NEAR, ... */
	size_t marks_cap;
	list near;           /* cells of the PLC */
	list old;            /* of these, those that make place */
	stuck_point *points; /* the group */
	size_t points_cap;
	uint32_t npoints;
	rb_table split;  /* pieces to the points on them */
	rb_table pieces; /* of the PLC */
	rb_table edges;  /* of walls that go or come, with their facets */
	list sites;      /* of the PLC, ascending: its points but the new ones */
	rb_plc plc;
	double *at;
	size_t at_cap;
	uint64_t *walls; /* facet << 32 | face */
	size_t walls_cap;
	size_t nwalls;
	list facets; /* of each facet of the PLC: its number */
	uint32_t (*triangles)[3];
	uint32_t *facet_of;
	size_t triangles_cap, facet_of_cap;
	uint32_t (*segments)[2];
	size_t segments_cap;
	/* its tetrahedralization */
	rb_tets tets;
	rb_table faces; /* on facets: to the number of the facet */
	rb_table rim;   /* faces of new tetrahedra that have no new corner: tetrahedron << 2 | corner */
	rb_table known; /* of these, those that are faces here: cell << 2 | corner */
	uint32_t *place; /* of each tetrahedron: its new cell, or a mark */
	size_t place_cap;
	uint32_t *region;
	size_t region_cap;
	list fresh; /* the new tetrahedra; a stack while they are found */
	list stack;
	list ghosts; /* new ones */
	uint64_t *
		pairs; /* faces between what stays and what is new: cell << 2 | corner, tetrahedron << 2 | corner */
	size_t pairs_cap;
	size_t npairs;
} together;

#define NEAR 1u
#define HELD 2u
#define OLD 4u
/* instead of a place: no new corner; a new corner; that, and seen; inside of the mesh */
#define UNKNOWN UINT32_MAX
#define NEW (UINT32_MAX - 1)
#define SEEN (UINT32_MAX - 2)
#define FRESH (UINT32_MAX - 3)
/* instead of a region */
#define NOTHING UINT32_MAX
#define FOREIGN (UINT32_MAX - 1)
#define OUTSIDE (UINT32_MAX - 2)

static rb_status
add(together *t, list *l, uint32_t x)
{
	rb_status status = rb_array_grow(t->r->ctx, (void **) &l->e, &l->cap, l->n + 1, sizeof(*l->e));

	if (status == RB_OK)
		l->e[l->n++] = x;
	return status;
}

/* ---- the points ---- */

bool
rb_refining_stuck_point(rb_refining *r, rb_entry64 entry, rb_candidate *cand, uint32_t *u,
						uint32_t *v)
{
	const rb_cells *m = &r->mesh;
	const rb_cell *c = &m->cells[rb_entry_cell(entry)];
	uint32_t e = rb_entry_part(entry);
	double measure;

	if (!rb_entry_alive(m, entry))
		return false;
	memset(cand, 0, sizeof *cand);
	cand->entry = entry;
	cand->verdict = RB_READY;
	rb_candidate_make_piece(m, cand, c, e, &measure);
	*u = c->v[rb_cell_edge_from(e)];
	*v = c->v[rb_cell_edge_to(e)];
	return cand->verdict == RB_READY;
}

/* all that is stuck, by its pieces; of two entries for one the first */
static rb_status
find_stuck(together *t)
{
	rb_refining *r = t->r;
	rb_status status = RB_OK;

	for (uint32_t i = 0; i < r->nhopeless && status == RB_OK; i++)
		status = rb_table_put(r->ctx, &t->hopeless, r->hopeless[i][0], r->hopeless[i][1], RB_NONE,
							  i, NULL, NULL);
	for (uint32_t i = 0; i < r->nstuck && status == RB_OK; i++)
	{
		const rb_cell *c = &r->mesh.cells[rb_entry_cell(r->stuck[i])];
		uint32_t e = rb_entry_part(r->stuck[i]);

		if (rb_entry_alive(&r->mesh, r->stuck[i]))
			status = rb_table_put(r->ctx, &t->stuck, c->v[rb_cell_edge_from(e)],
								  c->v[rb_cell_edge_to(e)], RB_NONE, i, NULL, NULL);
	}
	return status;
}

/* ---- cells of a group ---- */

static rb_status
add_near(together *t, uint32_t cell, uint32_t mark)
{
	rb_status status = RB_OK;

	if ((t->marks[cell] & NEAR) == 0)
		status = add(t, &t->near, cell);
	t->marks[cell] |= NEAR | mark;
	return status;
}

/* a point joins the group, if there is none on its piece */
static rb_status
join_point(together *t, const stuck_point *p, bool *fresh)
{
	rb_status status =
		rb_table_put(t->r->ctx, &t->split, p->u, p->v, RB_NONE, t->npoints, NULL, fresh);

	if (status != RB_OK || !*fresh)
		return status;
	status = rb_array_grow(t->r->ctx, (void **) &t->points, &t->points_cap, (size_t) t->npoints + 1,
						   sizeof(*t->points));
	if (status == RB_OK)
		t->points[t->npoints++] = *p;
	return status;
}

static rb_status
join(together *t, rb_entry64 entry)
{
	rb_candidate cand;
	stuck_point p;
	bool fresh;

	if (!rb_refining_stuck_point(t->r, entry, &cand, &p.u, &p.v))
		return RB_OK;
	memcpy(p.at, cand.at, sizeof p.at);
	p.raise = cand.raise;
	p.segment = rb_piece_segment(&t->r->mesh, p.u, p.v);
	p.entry = entry;
	return join_point(t, &p, &fresh);
}

/* pieces of a cell that are stuck, too, join */
static rb_status
join_pieces(together *t, uint32_t cell)
{
	rb_status status = RB_OK;

	for (uint32_t e = 0; e < 6 && status == RB_OK; e++)
	{
		/* cells stay where they are, but joining asks for them again */
		const rb_cell *c = &t->r->mesh.cells[cell];
		const uint32_t *at;

		if ((c->bits & RB_CELL_SEGMENT(e)) == 0)
			continue;
		at =
			rb_table_find(&t->stuck, c->v[rb_cell_edge_from(e)], c->v[rb_cell_edge_to(e)], RB_NONE);
		if (at != NULL)
			status = join(t, t->r->stuck[*at]);
	}
	return status;
}

/* the cells whose spheres hold point number k, as far as no wall is in between but those it is on */
static rb_status
hold(together *t, uint32_t k, bool *enough)
{
	const rb_cells *m = &t->r->mesh;
	rb_exact_env env = {.filters = t->r->ctx->filters, .exact = true};
	rb_entry64 entry = t->points[k].entry;
	uint32_t start = rb_entry_cell(entry), facets[16], nfacets = 0;
	rb_ring ring = rb_ring_begin(m, start, rb_entry_part(entry));
	size_t from = t->stack.n;
	rb_status status = RB_OK;

	do
	{
		const rb_cell *c = &m->cells[ring.cell];

		if ((c->bits & RB_CELL_WALL(ring.to)) != 0 && nfacets < 16)
			facets[nfacets++] = c->facet[ring.to];
		if (!rb_cell_ghost(c))
			status = add(t, &t->stack, ring.cell);
		t->marks[ring.cell] |= rb_cell_ghost(c) ? 0 : HELD;
		rb_ring_next(m, &ring);
	} while (ring.cell != start && status == RB_OK);
	/* a cell is looked at once for each point: those seen are behind `from` */
	for (size_t i = from; i < t->stack.n && status == RB_OK; i++)
	{
		uint32_t cell = t->stack.e[i];
		const rb_cell *c = &m->cells[cell];

		status = add_near(t, cell, HELD);
		if (status == RB_OK)
			status = join_pieces(t, cell);
		*enough = *enough || t->near.n > GROUP_CELLS;
		for (uint32_t j = 0; j < 4 && status == RB_OK && !*enough; j++)
		{
			uint32_t beyond = c->n[j] >> 2, f = 0;
			bool seen = false;

			if ((c->bits & RB_CELL_WALL(j)) != 0)
			{
				while (f < nfacets && facets[f] != c->facet[j])
					f++;
				if (f == nfacets)
					continue;
			}
			if (rb_cell_ghost(&m->cells[beyond]))
				continue;
			if ((t->marks[beyond] & HELD) != 0)
				for (size_t s = from; s < t->stack.n && !seen; s++)
					seen = t->stack.e[s] == beyond;
			if (!seen && rb_cell_holds(m, &env, beyond, t->points[k].at) == 1)
			{
				t->marks[beyond] |= HELD;
				status = add(t, &t->stack, beyond);
			}
		}
	}
	t->stack.n = from;
	return status;
}

/* what has to do with the points from number k on; *enough: it is too much */
static rb_status
find_group(together *t, uint32_t k, bool *enough)
{
	uint64_t most = t->r->options->max_points > 0 ? t->r->options->max_points : UINT32_MAX - 8;
	rb_status status = RB_OK;

	for (; k < t->npoints && status == RB_OK && !*enough; k++)
		status = hold(t, k, enough);
	if (t->r->nsites + (uint64_t) t->npoints > most)
		t->r->full = *enough = true;
	return status;
}

/* so many layers around what there is */
static rb_status
add_layers(together *t, int layers)
{
	const rb_cells *m = &t->r->mesh;
	rb_status status = RB_OK;

	for (size_t from = 0; layers > 0 && status == RB_OK; layers--)
	{
		size_t to = t->near.n;

		for (; from < to && status == RB_OK; from++)
			for (uint32_t j = 0; j < 4 && status == RB_OK; j++)
			{
				uint32_t beyond = m->cells[t->near.e[from]].n[j] >> 2;

				if (!rb_cell_ghost(&m->cells[beyond]))
					status = add_near(t, beyond, 0);
			}
	}
	return status;
}

/* ---- the PLC ---- */

static int
by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;

	return (x > y) - (x < y);
}

static int
by_word(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/* the PLC's number of a site that is in it */
static uint32_t
number_of(const together *t, uint32_t site)
{
	size_t from = 0, to = t->sites.n;

	while (to - from > 1)
	{
		size_t middle = from + (to - from) / 2;

		if (t->sites.e[middle] <= site)
			from = middle;
		else
			to = middle;
	}
	return (uint32_t) from;
}

static uint32_t
site_of(const together *t, uint32_t number)
{
	return number < t->sites.n ? t->sites.e[number]
							   : t->r->nsites + (number - (uint32_t) t->sites.n);
}

static rb_status
put_points(together *t)
{
	const rb_cells *m = &t->r->mesh;
	size_t n = 0;
	rb_status status = RB_OK;

	for (size_t i = 0; i < t->near.n; i++)
		for (uint32_t k = 0; k < 4 && status == RB_OK; k++)
			status = add(t, &t->sites, m->cells[t->near.e[i]].v[k]);
	if (status == RB_OK)
		status = rb_array_grow(t->r->ctx, (void **) &t->at, &t->at_cap,
							   3 * (t->sites.n + t->npoints), sizeof(double));
	if (status != RB_OK)
		return status;
	qsort(t->sites.e, t->sites.n, sizeof(uint32_t), by_number);
	for (size_t i = 0; i < t->sites.n; i++)
		if (i == 0 || t->sites.e[i] != t->sites.e[i - 1])
			t->sites.e[n++] = t->sites.e[i];
	t->sites.n = n;
	for (size_t i = 0; i < n; i++)
		memcpy(t->at + 3 * i, rb_site_at(m, t->sites.e[i]), 3 * sizeof(double));
	for (uint32_t i = 0; i < t->npoints; i++)
		memcpy(t->at + 3 * (n + i), t->points[i].at, 3 * sizeof(double));
	t->plc.npoints = (uint32_t) (n + t->npoints);
	t->plc.points = t->at;
	return RB_OK;
}

/* the PLC's number of the point on this piece; RB_NONE: there is none */
static uint32_t
middle_of(const together *t, uint32_t u, uint32_t v)
{
	const uint32_t *at = rb_table_find(&t->split, u, v, RB_NONE);

	return at != NULL ? (uint32_t) t->sites.n + *at : RB_NONE;
}

/* a wall, by its sites; edges that are split make it more than one triangle */
static rb_status
put_wall(together *t, const uint32_t *v, uint32_t facet)
{
	uint32_t stack[8][3]; /* numbers of the PLC */
	int n = 1;
	rb_status status = RB_OK;

	for (int k = 0; k < 3; k++)
		stack[0][k] = number_of(t, v[k]);
	while (n > 0 && status == RB_OK)
	{
		uint32_t w[3], middle = RB_NONE;
		size_t to = t->plc.ntriangles;
		int k;

		memcpy(w, stack[--n], sizeof w);
		for (k = 0; k < 3 && middle == RB_NONE; k++)
			if (w[k] < t->sites.n && w[(k + 1) % 3] < t->sites.n)
				middle = middle_of(t, t->sites.e[w[k]], t->sites.e[w[(k + 1) % 3]]);
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
		status = rb_array_grow(t->r->ctx, (void **) &t->triangles, &t->triangles_cap, to + 1,
							   sizeof(*t->triangles));
		if (status == RB_OK)
			status = rb_array_grow(t->r->ctx, (void **) &t->facet_of, &t->facet_of_cap, to + 1,
								   sizeof(*t->facet_of));
		if (status != RB_OK)
			break;
		memcpy(t->triangles[to], w, sizeof w);
		t->facet_of[to] = facet;
		t->plc.ntriangles++;
	}
	return status;
}

static rb_status
put_walls(together *t)
{
	const rb_cells *m = &t->r->mesh;
	rb_status status = RB_OK;

	for (size_t i = 0; i < t->near.n && status == RB_OK; i++)
	{
		uint32_t cell = t->near.e[i];
		const rb_cell *c = &m->cells[cell];

		for (uint32_t k = 0; k < 4 && status == RB_OK; k++)
		{
			uint32_t other = c->n[k] >> 2;

			/* from one of its sides */
			if ((c->bits & RB_CELL_WALL(k)) == 0 || ((t->marks[other] & NEAR) != 0 && other < cell))
				continue;
			status = rb_array_grow(t->r->ctx, (void **) &t->walls, &t->walls_cap, t->nwalls + 1,
								   sizeof(*t->walls));
			if (status == RB_OK)
				t->walls[t->nwalls++] = (uint64_t) c->facet[k] << 32 | (cell << 2 | k);
		}
	}
	if (status == RB_OK && t->nwalls > 0)
		qsort(t->walls, t->nwalls, sizeof(*t->walls), by_word);
	for (size_t i = 0; i < t->nwalls && status == RB_OK; i++)
	{
		uint32_t face = (uint32_t) t->walls[i], facet = (uint32_t) (t->walls[i] >> 32), v[3];
		const rb_cell *c = &m->cells[face >> 2];

		if (t->facets.n == 0 || t->facets.e[t->facets.n - 1] != facet)
			status = add(t, &t->facets, facet);
		for (uint32_t j = 0; j < 3; j++)
			v[j] = c->v[rb_cell_face_corner(face & 3, j)];
		if (status == RB_OK)
			status = put_wall(t, v, (uint32_t) t->facets.n - 1);
	}
	t->plc.nfacets = (uint32_t) t->facets.n;
	t->plc.triangles = (const uint32_t(*)[3]) t->triangles;
	t->plc.facet_of = t->facet_of;
	return status;
}

static rb_status
put_piece(together *t, uint32_t a, uint32_t b)
{
	bool fresh;
	rb_status status =
		rb_table_put(t->r->ctx, &t->pieces, a, b, RB_NONE, t->plc.nsegments, NULL, &fresh);

	if (status != RB_OK || !fresh)
		return status;
	status = rb_array_grow(t->r->ctx, (void **) &t->segments, &t->segments_cap,
						   (size_t) t->plc.nsegments + 1, sizeof(*t->segments));
	if (status != RB_OK)
		return status;
	t->segments[t->plc.nsegments][0] = a;
	t->segments[t->plc.nsegments++][1] = b;
	return RB_OK;
}

static rb_status
put_pieces(together *t)
{
	const rb_cells *m = &t->r->mesh;
	rb_status status = RB_OK;

	for (size_t i = 0; i < t->near.n && status == RB_OK; i++)
	{
		const rb_cell *c = &m->cells[t->near.e[i]];

		for (uint32_t e = 0; e < 6 && status == RB_OK; e++)
		{
			uint32_t u = c->v[rb_cell_edge_from(e)], v = c->v[rb_cell_edge_to(e)], a, b, middle;

			if ((c->bits & RB_CELL_SEGMENT(e)) == 0)
				continue;
			middle = middle_of(t, u, v);
			a = number_of(t, u);
			b = number_of(t, v);
			if (middle == RB_NONE)
				status = put_piece(t, a, b);
			else
			{
				status = put_piece(t, a, middle);
				if (status == RB_OK)
					status = put_piece(t, middle, b);
			}
		}
	}
	t->plc.segments = (const uint32_t(*)[2]) t->segments;
	return status;
}

/* ---- what is new of its tetrahedralization ---- */

/* one of the group's points; not one that was added */
static bool
is_new(const together *t, uint32_t number)
{
	return number >= t->sites.n && number < t->plc.npoints;
}

static bool
has_new(const together *t, uint32_t tet)
{
	const uint32_t *v = t->tets.tets[tet];

	return is_new(t, v[0]) || is_new(t, v[1]) || is_new(t, v[2]) || is_new(t, v[3]);
}

/* a face of a new tetrahedron without a new corner */
static bool
on_rim(const together *t, uint32_t face)
{
	const uint32_t *v = t->tets.tets[face >> 2];
	uint32_t k = face & 3;

	return !is_new(t, v[rb_cell_face_corner(k, 0)]) && !is_new(t, v[rb_cell_face_corner(k, 1)]) &&
		   !is_new(t, v[rb_cell_face_corner(k, 2)]);
}

/* the numbers of a cell's face in the PLC, in the order seen from the cell */
static void
face_numbers(const together *t, uint32_t cell, uint32_t k, uint32_t *number)
{
	const rb_cell *c = &t->r->mesh.cells[cell];

	for (uint32_t j = 0; j < 3; j++)
		number[j] = number_of(t, c->v[rb_cell_face_corner(k, j)]);
}

/* does the face of a tetrahedron have these corners in this order, or one that is turned? */
static bool
same_side(const together *t, uint32_t face, const uint32_t *number)
{
	const uint32_t *v = t->tets.tets[face >> 2];
	uint32_t i;

	for (i = 0; i < 3; i++)
		if (v[rb_cell_face_corner(face & 3, i)] == number[0])
			break;
	return v[rb_cell_face_corner(face & 3, (i + 1) % 3)] == number[1];
}

/* the face of a tetrahedron from its other side; RB_NONE: there is nothing */
static uint32_t
other_side(const together *t, uint32_t face)
{
	uint32_t tet = face >> 2, beyond = t->tets.neighbours[4 * (size_t) tet + (face & 3)], k;

	if (beyond == RB_NONE)
		return RB_NONE;
	for (k = 0; k < 3; k++)
		if (t->tets.neighbours[4 * (size_t) beyond + k] == tet)
			break;
	return beyond << 2 | k;
}

/* the facet that it is on; NULL: none */
static const uint32_t *
wall_of(const together *t, uint32_t face)
{
	const uint32_t *v = t->tets.tets[face >> 2];

	return rb_table_find(&t->faces, v[rb_cell_face_corner(face & 3, 0)],
						 v[rb_cell_face_corner(face & 3, 1)], v[rb_cell_face_corner(face & 3, 2)]);
}

/* its tetrahedra with a new corner: marked, and their faces without one listed; and cells' faces by their numbers */
static rb_status
find_new(together *t)
{
	rb_tets *tets = &t->tets;
	rb_context *ctx = t->r->ctx;
	rb_status status = rb_array_grow(ctx, (void **) &t->place, &t->place_cap,
									 (size_t) tets->ntets + 1, sizeof(uint32_t));

	for (uint32_t i = 0; i < tets->nfaces && status == RB_OK; i++)
		status = rb_table_put(ctx, &t->faces, tets->faces[i][0], tets->faces[i][1],
							  tets->faces[i][2], t->facets.e[tets->face_facet[i]], NULL, NULL);
	for (uint32_t i = 0; i < tets->ntets && status == RB_OK; i++)
	{
		const uint32_t *v = tets->tets[i];

		t->place[i] = has_new(t, i) ? NEW : UNKNOWN;
		for (uint32_t k = 0; k < 4 && status == RB_OK && t->place[i] == NEW; k++)
			if (on_rim(t, i << 2 | k))
				status = rb_table_put(ctx, &t->rim, v[rb_cell_face_corner(k, 0)],
									  v[rb_cell_face_corner(k, 1)], v[rb_cell_face_corner(k, 2)],
									  i << 2 | k, NULL, NULL);
	}
	for (size_t i = 0; i < t->near.n && status == RB_OK; i++)
		for (uint32_t k = 0; k < 4 && status == RB_OK; k++)
		{
			uint32_t number[3];

			face_numbers(t, t->near.e[i], k, number);
			if (rb_table_find(&t->rim, number[0], number[1], number[2]) != NULL)
				status = rb_table_put(ctx, &t->known, number[0], number[1], number[2],
									  t->near.e[i] << 2 | k, NULL, NULL);
		}
	return status;
}

/* of a rim face of a new tetrahedron: the cells that are there, on its side of it and on the other; false: none */
static bool
cells_at(const together *t, uint32_t face, uint32_t *in, uint32_t *out)
{
	const uint32_t *v = t->tets.tets[face >> 2];
	const uint32_t *known =
		rb_table_find(&t->known, v[rb_cell_face_corner(face & 3, 0)],
					  v[rb_cell_face_corner(face & 3, 1)], v[rb_cell_face_corner(face & 3, 2)]);
	uint32_t number[3], other;

	if (known == NULL)
		return false;
	other = t->r->mesh.cells[*known >> 2].n[*known & 3];
	face_numbers(t, *known >> 2, *known & 3, number);
	*in = same_side(t, face, number) ? *known : other;
	*out = *in == other ? *known : other;
	return true;
}

/* what a face says of the region that a new tetrahedron is in; NOTHING: it says nothing; FOREIGN: it is elsewhere */
static uint32_t
region_at(const together *t, uint32_t face)
{
	const rb_cells *m = &t->r->mesh;
	bool wall = wall_of(t, face) != NULL;
	uint32_t in, out, other = other_side(t, face);

	if (!on_rim(t, face))
		return !wall && other == RB_NONE ? FOREIGN : NOTHING;
	/* a facet that bends by rounding may have other faces by now; of a boundary that does no harm */
	if (!cells_at(t, face, &in, &out))
		return wall ? NOTHING : FOREIGN;
	if (!wall)
	{
		if (other != RB_NONE && t->place[other >> 2] != UNKNOWN)
			return NOTHING;
		return rb_cell_ghost(&m->cells[out >> 2]) ? OUTSIDE : m->cells[out >> 2].region;
	}
	if ((m->cells[in >> 2].bits & RB_CELL_WALL(in & 3)) == 0)
		return NOTHING;
	return rb_cell_ghost(&m->cells[in >> 2]) ? OUTSIDE : m->cells[in >> 2].region;
}

/* the new tetrahedra that lie inside of the mesh, part by part between walls, and the region of each */
static rb_status
find_fresh(together *t, bool *fits)
{
	rb_status status = rb_array_grow(t->r->ctx, (void **) &t->region, &t->region_cap,
									 (size_t) t->tets.ntets + 1, sizeof(uint32_t));

	for (uint32_t i = 0; i < t->tets.ntets && status == RB_OK && *fits; i++)
	{
		size_t from = t->fresh.n;
		uint32_t region = NOTHING;
		bool foreign = false, added = false;

		if (t->place[i] != NEW)
			continue;
		t->place[i] = SEEN;
		status = add(t, &t->fresh, i);
		for (size_t next = from; next < t->fresh.n && status == RB_OK && *fits; next++)
			for (uint32_t k = 0; k < 4 && status == RB_OK; k++)
			{
				uint32_t face = t->fresh.e[next] << 2 | k, says = region_at(t, face);
				uint32_t beyond = t->tets.neighbours[4 * (size_t) t->fresh.e[next] + k];

				foreign = foreign || says == FOREIGN;
				added = added || t->tets.tets[t->fresh.e[next]][k] >= t->plc.npoints;
				if (says <= OUTSIDE)
				{
					*fits = *fits && (region == NOTHING || region == says);
					region = says;
				}
				if (beyond == RB_NONE || t->place[beyond] != NEW || wall_of(t, face) != NULL)
					continue;
				t->place[beyond] = SEEN;
				status = add(t, &t->fresh, beyond);
			}
		if (region < OUTSIDE)
			*fits = *fits && !foreign && !added;
		else
			*fits = *fits && (region == OUTSIDE || foreign);
		for (size_t k = from; k < t->fresh.n; k++)
		{
			t->place[t->fresh.e[k]] = region < OUTSIDE ? FRESH : SEEN;
			t->region[t->fresh.e[k]] = region;
		}
		if (region >= OUTSIDE)
			t->fresh.n = from;
	}
	return status;
}

static rb_status
add_old(together *t, uint32_t cell)
{
	if ((t->marks[cell] & OLD) != 0)
		return RB_OK;
	t->marks[cell] |= OLD;
	return add(t, &t->old, cell);
}

/* is it the only ghost but one around each of its edges?  Then new ones are easily linked */
static bool
simple_ghost(const rb_cells *m, uint32_t g)
{
	const rb_cell *c = &m->cells[g];
	uint32_t top = rb_cell_corner(c, RB_GHOST);

	for (uint32_t e = 0; e < 6; e++)
	{
		uint32_t from = rb_cell_edge_from(e), to = rb_cell_edge_to(e), ghosts = 0;
		rb_ring ring = rb_ring_at(g, top, c->v[from], c->v[to]);

		if (from == top || to == top)
			continue;
		do
		{
			ghosts += rb_cell_ghost(&m->cells[ring.cell]);
			rb_ring_next(m, &ring);
		} while (ring.cell != g);
		if (ghosts != 2)
			return false;
	}
	return true;
}

/* from a cell that goes across its face k, where the new tetrahedra have that face, too: does what is there go as well? */
static bool
goes_beyond(const together *t, uint32_t cell, uint32_t k, uint32_t face, bool *fits)
{
	const rb_cells *m = &t->r->mesh;
	uint32_t number[3], other = other_side(t, face);
	bool ghost = rb_cell_ghost(&m->cells[m->cells[cell].n[k] >> 2]);

	face_numbers(t, cell, k, number);
	if (!same_side(t, face, number))
	{
		uint32_t swap = other;

		other = face;
		face = swap;
	}
	/* there would have to be something new here, for this one goes */
	if (face == RB_NONE || t->place[face >> 2] == UNKNOWN)
	{
		*fits = false;
		return false;
	}
	if (!ghost)
		return other != RB_NONE && t->place[other >> 2] != UNKNOWN;
	return t->place[face >> 2] != FRESH || wall_of(t, face) == NULL ||
		   (other != RB_NONE && t->place[other >> 2] == FRESH);
}

/* cells that make place: from those around the pieces on, as far as the rim */
static rb_status
find_old(together *t, bool *fits)
{
	const rb_cells *m = &t->r->mesh;
	rb_status status = RB_OK;

	for (uint32_t i = 0; i < t->npoints && status == RB_OK; i++)
	{
		rb_entry64 entry = t->points[i].entry;
		rb_ring ring = rb_ring_begin(m, rb_entry_cell(entry), rb_entry_part(entry));

		do
		{
			status = add_old(t, ring.cell);
			rb_ring_next(m, &ring);
		} while (ring.cell != rb_entry_cell(entry) && status == RB_OK);
	}
	/* what is new behind a boundary takes the place of a ghost */
	for (size_t i = 0; i < t->fresh.n && status == RB_OK; i++)
		for (uint32_t k = 0; k < 4 && status == RB_OK; k++)
		{
			uint32_t face = t->fresh.e[i] << 2 | k, in, out;

			if (on_rim(t, face) && cells_at(t, face, &in, &out))
				status = add_old(t, in >> 2);
		}
	for (size_t i = 0; i < t->old.n && status == RB_OK && *fits; i++)
	{
		uint32_t cell = t->old.e[i];

		if (rb_cell_ghost(&m->cells[cell]))
		{
			*fits = simple_ghost(m, cell);
			continue;
		}
		*fits = (t->marks[cell] & NEAR) != 0;
		for (uint32_t k = 0; k < 4 && status == RB_OK && *fits; k++)
		{
			uint32_t number[3];
			const uint32_t *face;

			face_numbers(t, cell, k, number);
			face = rb_table_find(&t->rim, number[0], number[1], number[2]);
			if (face == NULL || goes_beyond(t, cell, k, *face, fits))
				status = add_old(t, m->cells[cell].n[k] >> 2);
		}
	}
	return status;
}

/* is that face between a cell that goes and one, or a ghost, that stays? */
static uint32_t
staying(const together *t)
{
	const rb_cells *m = &t->r->mesh;
	uint32_t n = 0;

	for (size_t i = 0; i < t->old.n; i++)
	{
		const rb_cell *c = &m->cells[t->old.e[i]];
		uint32_t ghost = rb_cell_ghost(c) ? rb_cell_corner(c, RB_GHOST) : 4;

		for (uint32_t k = 0; k < 4; k++)
			n += (ghost == 4 || k == ghost) && (t->marks[c->n[k] >> 2] & OLD) == 0;
	}
	return n;
}

/*
 * Every face of what stays gets a new neighbour where its old one goes; and the two bear each other.  Then the
 * new ones fill the space of the old ones.
 */
static rb_status
find_pairs(together *t, bool *fits)
{
	const rb_cells *m = &t->r->mesh;
	rb_exact_env env = {.filters = t->r->ctx->filters, .exact = true};
	rb_status status = RB_OK;

	for (size_t i = 0; i < t->fresh.n && status == RB_OK && *fits; i++)
		for (uint32_t k = 0; k < 4 && status == RB_OK && *fits; k++)
		{
			uint32_t tet = t->fresh.e[i], face = tet << 2 | k, other = other_side(t, face), in, out;
			const double *p[5];
			uint32_t v[5];
			int sign;

			if (other != RB_NONE && t->place[other >> 2] == FRESH)
				continue;
			if (!on_rim(t, face) || !cells_at(t, face, &in, &out) ||
				(t->marks[out >> 2] & OLD) != 0)
			{
				/* a ghost will be there */
				*fits = wall_of(t, face) != NULL;
				continue;
			}
			/* where a facet bends, what stays may be of one way to cut it, and what is new of another one */
			*fits = (t->marks[in >> 2] & OLD) != 0 &&
					(wall_of(t, face) != NULL) ==
						((m->cells[out >> 2].bits & RB_CELL_WALL(out & 3)) != 0);
			status = rb_array_grow(t->r->ctx, (void **) &t->pairs, &t->pairs_cap, t->npairs + 1,
								   sizeof(*t->pairs));
			if (status != RB_OK)
				return status;
			t->pairs[t->npairs++] = (uint64_t) out << 32 | face;
			if (wall_of(t, face) != NULL)
				continue;
			*fits = *fits && !rb_cell_ghost(&m->cells[out >> 2]);
			if (!*fits)
				continue;
			for (int j = 0; j < 4; j++)
			{
				v[j] = site_of(t, t->tets.tets[tet][j]);
				p[j] = t->at + 3 * (size_t) t->tets.tets[tet][j];
			}
			v[4] = m->cells[out >> 2].v[out & 3];
			p[4] = rb_site_at(m, v[4]);
			sign = rb_insphere_at(&env, p[0], p[1], p[2], p[3], p[4]);
			if (sign == 0)
				sign = rb_insphere_ties(&env, p, v);
			*fits = sign < 0;
		}
	*fits = *fits && t->npairs == staying(t);
	return status;
}

/* the edges of a wall that goes or comes, but those on pieces: each is noted where it was not, and else forgotten */
static rb_status
note_wall(together *t, const uint32_t *v, uint32_t facet)
{
	rb_status status = RB_OK;

	for (uint32_t k = 0; k < 3 && status == RB_OK; k++)
	{
		uint32_t a = v[k], b = v[(k + 1) % 3], *odd;

		if (rb_table_find(&t->pieces, a, b, RB_NONE) != NULL ||
			(a < t->sites.n && b < t->sites.n &&
			 middle_of(t, t->sites.e[a], t->sites.e[b]) != RB_NONE))
			continue;
		status = rb_table_put(t->r->ctx, &t->edges, a, b, UINT32_C(1) << 31 | facet, 0, &odd, NULL);
		if (status == RB_OK)
			*odd ^= 1;
	}
	return status;
}

/* do walls that come fill, facet by facet, what those that go leave? */
static rb_status
fill_facets(together *t, bool *fits)
{
	const rb_cells *m = &t->r->mesh;
	rb_status status = RB_OK;

	for (size_t i = 0; i < t->old.n && status == RB_OK; i++)
	{
		const rb_cell *c = &m->cells[t->old.e[i]];

		for (uint32_t k = 0; k < 4 && status == RB_OK && !rb_cell_ghost(c); k++)
		{
			uint32_t other = c->n[k] >> 2, number[3];

			if ((c->bits & RB_CELL_WALL(k)) == 0 || (t->marks[other] & OLD) == 0 ||
				(!rb_cell_ghost(&m->cells[other]) && other < t->old.e[i]))
				continue;
			face_numbers(t, t->old.e[i], k, number);
			status = note_wall(t, number, c->facet[k]);
		}
	}
	for (size_t i = 0; i < t->fresh.n && status == RB_OK; i++)
		for (uint32_t k = 0; k < 4 && status == RB_OK; k++)
		{
			uint32_t tet = t->fresh.e[i], face = tet << 2 | k, other = other_side(t, face), v[3];
			uint32_t in, out;
			const uint32_t *facet = wall_of(t, face);
			bool both = other != RB_NONE && t->place[other >> 2] == FRESH;

			if (facet == NULL || (both && other >> 2 < tet) ||
				(!both && on_rim(t, face) && cells_at(t, face, &in, &out) &&
				 (t->marks[out >> 2] & OLD) == 0))
				continue;
			for (uint32_t j = 0; j < 3; j++)
				v[j] = t->tets.tets[tet][rb_cell_face_corner(k, j)];
			status = note_wall(t, v, *facet);
		}
	for (uint32_t i = 0; i < t->edges.places && t->edges.used > 0; i++)
		*fits = *fits && (t->edges.entries[i].key[0] == RB_NONE || t->edges.entries[i].value == 0);
	return status;
}

/* does every point of cells that go stay a corner, and every region of them stay? */
static rb_status
keep_all(together *t, bool *fits)
{
	const rb_cells *m = &t->r->mesh;
	rb_status status = RB_OK;

	t->stack.n = 0;
	for (size_t i = 0; i < t->sites.n + t->r->nregions && status == RB_OK; i++)
		status = add(t, &t->stack, 0);
	if (status != RB_OK)
		return status;
	for (size_t i = 0; i < t->fresh.n; i++)
	{
		t->stack.e[t->sites.n + t->region[t->fresh.e[i]]] = 1;
		for (uint32_t k = 0; k < 4; k++)
			if (t->tets.tets[t->fresh.e[i]][k] < t->sites.n)
				t->stack.e[t->tets.tets[t->fresh.e[i]][k]] = 1;
	}
	for (size_t i = 0; i < t->near.n; i++)
		for (uint32_t k = 0; k < 4 && (t->marks[t->near.e[i]] & OLD) == 0; k++)
			t->stack.e[number_of(t, m->cells[t->near.e[i]].v[k])] = 1;
	for (size_t i = 0; i < t->old.n && *fits; i++)
	{
		const rb_cell *c = &m->cells[t->old.e[i]];

		if (rb_cell_ghost(c))
			continue;
		*fits = t->stack.e[t->sites.n + c->region] != 0;
		for (uint32_t k = 0; k < 4; k++)
			*fits = *fits && t->stack.e[number_of(t, c->v[k])] != 0;
	}
	t->stack.n = 0;
	return RB_OK;
}

/* ---- points that were added ---- */

/* a cell of the PLC with that edge, as an entry; 0: there is none */
static rb_entry64
entry_of(const together *t, uint32_t u, uint32_t v)
{
	const rb_cells *m = &t->r->mesh;

	for (size_t i = 0; i < t->near.n; i++)
		for (uint32_t e = 0; e < 6; e++)
		{
			const rb_cell *c = &m->cells[t->near.e[i]];
			uint32_t a = c->v[rb_cell_edge_from(e)], b = c->v[rb_cell_edge_to(e)];

			if ((c->bits & RB_CELL_SEGMENT(e)) != 0 && ((a == u && b == v) || (a == v && b == u)))
				return rb_entry_make(m, t->near.e[i], e, RB_SPLIT_PIECE, true);
		}
	return 0;
}

/* points that were added on other pieces, next to new ones, join the group */
static rb_status
join_added(together *t)
{
	uint32_t nsites = (uint32_t) t->sites.n;
	rb_status status = RB_OK;

	for (uint32_t i = 0; i < t->tets.ntets && status == RB_OK; i++)
		for (uint32_t k = 0; k < 4 && status == RB_OK && has_new(t, i); k++)
		{
			uint32_t v = t->tets.tets[i][k], on;
			stuck_point p;
			bool fresh;

			if (v < t->plc.npoints || t->tets.kind[v] != RB_VERTEX_ON_SEGMENT)
				continue;
			on = t->tets.parent[v];
			if (on >= t->plc.nsegments || t->segments[on][0] >= nsites ||
				t->segments[on][1] >= nsites)
				continue;
			p.u = t->sites.e[t->segments[on][0]];
			p.v = t->sites.e[t->segments[on][1]];
			p.raise = -1;
			memcpy(p.at, t->tets.points + 3 * (size_t) v, sizeof p.at);
			p.segment = rb_piece_segment(&t->r->mesh, p.u, p.v);
			p.entry = entry_of(t, p.u, p.v);
			status = join_point(t, &p, &fresh);
		}
	return status;
}

/* ---- they take their places ---- */

/* the next place: those that are free, then others */
static uint32_t
take_place(rb_refining *r)
{
	return r->nfree > 0 ? r->free[--r->nfree] : r->ncells++;
}

static void
make_cell(together *t, uint32_t tet)
{
	rb_refining *r = t->r;
	const uint32_t *v = t->tets.tets[tet];
	rb_cell *c = &r->mesh.cells[t->place[tet]];

	c->bits = 0;
	c->claim = 0;
	c->region = t->region[tet];
	for (uint32_t k = 0; k < 4; k++)
	{
		const uint32_t *facet = wall_of(t, tet << 2 | k);

		c->v[k] = site_of(t, v[k]);
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

/* behind face k of a new cell there is nothing: a ghost */
static void
make_ghost(rb_refining *r, uint32_t cell, uint32_t k)
{
	uint32_t place = take_place(r);
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

/* a new ghost and the next one around each of its edges, on the other side of what is inside there */
static void
link_ghost(rb_cells *m, uint32_t g)
{
	for (uint32_t k = 1; k < 4; k++)
	{
		const rb_cell *c = &m->cells[g];
		uint32_t a = c->v[k == 1 ? 2 : 1], b = c->v[k == 3 ? 2 : 3], other;
		rb_ring ring = rb_ring_at(g, 0, a, b);

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
make_sites(together *t)
{
	rb_refining *r = t->r;
	rb_cells *m = &r->mesh;

	for (uint32_t i = 0; i < t->npoints; i++)
	{
		const stuck_point *p = &t->points[i];
		uint32_t site = r->nsites + i;
		double from = sqrt(rb_distance2(p->at, rb_site_at(m, p->u)));
		double to = sqrt(rb_distance2(p->at, rb_site_at(m, p->v)));

		memcpy(m->sites[site].at, p->at, sizeof p->at);
		m->sites[site].radius = p->raise < 0 ? 0 : fmax(p->raise, fmin(from, to));
		m->kind[site] = RB_VERTEX_ON_SEGMENT;
		m->parent[site] = p->segment;
	}
}

static rb_status
replace(together *t)
{
	rb_refining *r = t->r;
	rb_cells *m = &r->mesh;
	size_t most = (size_t) r->ncells + 5 * t->fresh.n;
	rb_status status = rb_refining_reserve(r, most, (size_t) r->nsites + t->npoints);
	uint32_t first;

	if (status == RB_OK)
		status = rb_array_grow(r->ctx, (void **) &r->free, &r->free_cap,
							   (size_t) r->nfree + t->old.n, sizeof(uint32_t));
	if (status == RB_OK)
		status = rb_array_grow(r->ctx, (void **) &t->marks, &t->marks_cap, most, 1);
	if (status == RB_OK && most > RB_MAX_CELLS)
		status = rb_fail(r->ctx, RB_TOO_MANY_OBJECTS, most, RB_MAX_CELLS, NULL);
	if (status != RB_OK)
		return status;
	memset(t->marks + r->ncells, 0, most - r->ncells);
	make_sites(t);
	for (size_t i = 0; i < t->fresh.n; i++)
		t->place[t->fresh.e[i]] = r->ncells + (uint32_t) i;
	first = r->ncells;
	r->ncells += (uint32_t) t->fresh.n;
	for (size_t i = 0; i < t->fresh.n; i++)
		make_cell(t, t->fresh.e[i]);
	/* links between new cells; then those to what stays */
	for (size_t i = 0; i < t->fresh.n; i++)
		for (uint32_t k = 0; k < 4; k++)
		{
			uint32_t other = other_side(t, t->fresh.e[i] << 2 | k);

			if (other != RB_NONE && t->place[other >> 2] < FRESH)
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
	/* only what is behind a wall has no link by now */
	for (size_t i = 0; i < t->fresh.n; i++)
		for (uint32_t k = 0; k < 4; k++)
			if (m->cells[first + i].n[k] == RB_NOWHERE)
			{
				make_ghost(r, first + (uint32_t) i, k);
				status = add(t, &t->ghosts, m->cells[first + i].n[k] >> 2);
				if (status != RB_OK)
					return status;
			}
	for (size_t i = 0; i < t->ghosts.n; i++)
		link_ghost(m, t->ghosts.e[i]);
	r->nsites += t->npoints;
	return RB_OK;
}

/* ---- a group ---- */

/* *done: its points are there */
static rb_status
try_group(together *t, bool *done)
{
	rb_flaw flaw;
	bool fits = true;
	rb_status status;

	memset(&t->plc, 0, sizeof t->plc);
	t->sites.n = t->facets.n = t->old.n = t->fresh.n = t->ghosts.n = 0;
	t->nwalls = t->npairs = 0;
	rb_table_clear(&t->pieces);
	rb_table_clear(&t->faces);
	rb_table_clear(&t->rim);
	rb_table_clear(&t->known);
	rb_table_clear(&t->edges);
	status = put_points(t);
	if (status == RB_OK)
		status = put_walls(t);
	if (status == RB_OK)
		status = put_pieces(t);
	if (status == RB_OK)
		status = rb_tetrahedralize(t->r->ctx, &t->plc, RB_KEEP_HULL, &t->tets, &flaw);
	if (status == RB_BAD_PLC)
	{
		rb_forget_failure(t->r->ctx);
		return RB_OK;
	}
	if (status == RB_OK)
		status = find_new(t);
	if (status == RB_OK)
		status = find_fresh(t, &fits);
	if (status == RB_OK && fits)
		status = find_old(t, &fits);
	if (status == RB_OK && fits)
		status = find_pairs(t, &fits);
	if (status == RB_OK && fits)
		status = fill_facets(t, &fits);
	if (status == RB_OK && fits)
		status = keep_all(t, &fits);
	if (status == RB_OK && fits)
	{
		status = replace(t);
		*done = status == RB_OK;
	}
	else if (status == RB_OK)
		status = join_added(t);
	for (size_t i = 0; i < t->old.n; i++)
		t->marks[t->old.e[i]] &= ~OLD;
	rb_tets_free(t->r->ctx->memory, &t->tets);
	return status;
}

/* the piece that the group began with: it is not tried again before all else is done */
static rb_status
note_hopeless(together *t)
{
	rb_refining *r = t->r;
	rb_status status = rb_array_grow(r->ctx, (void **) &r->hopeless, &r->hopeless_cap,
									 (size_t) r->nhopeless + 1, sizeof(*r->hopeless));

	if (status != RB_OK)
		return status;
	r->hopeless[r->nhopeless][0] = t->points[0].u;
	r->hopeless[r->nhopeless++][1] = t->points[0].v;
	return RB_OK;
}

static rb_status
one_group(together *t, rb_entry64 stuck, bool *done)
{
	bool enough = false;
	uint32_t known = 0;
	rb_status status;

	t->near.n = 0;
	t->npoints = 0;
	rb_table_clear(&t->split);
	status = join(t, stuck);
	/* as long as others join */
	for (int i = 0; i < TRIES && known < t->npoints && status == RB_OK && !*done; i++)
	{
		status = find_group(t, known, &enough);
		known = t->npoints;
		if (enough)
			break;
		if (status == RB_OK)
			status = add_layers(t, i == 0 ? LAYERS : 1);
		if (status == RB_OK)
			status = try_group(t, done);
	}
	if (status == RB_OK && !*done && t->npoints > 0)
		status = note_hopeless(t);
	for (size_t i = 0; i < t->near.n; i++)
		t->marks[t->near.e[i]] = 0;
	if (status == RB_OK && rb_should_stop(t->r->ctx))
		status = RB_STOPPED;
	return status;
}

static bool
is_hopeless(const together *t, rb_entry64 entry)
{
	const rb_cell *c = &t->r->mesh.cells[rb_entry_cell(entry)];
	uint32_t e = rb_entry_part(entry);

	return rb_table_find(&t->hopeless, c->v[rb_cell_edge_from(e)], c->v[rb_cell_edge_to(e)],
						 RB_NONE) != NULL;
}

static void
together_free(together *t)
{
	rb_memory *memory = t->r->ctx->memory;
	list *lists[] = {&t->near, &t->old, &t->sites, &t->facets, &t->fresh, &t->stack, &t->ghosts};
	rb_table *tables[] = {&t->stuck,  &t->hopeless, &t->edges, &t->split,
						  &t->pieces, &t->faces,    &t->rim,   &t->known};

	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
		rb_free(memory, (void **) &lists[i]->e);
	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
		rb_table_free(memory, tables[i]);
	rb_free(memory, (void **) &t->marks);
	rb_free(memory, (void **) &t->points);
	rb_free(memory, (void **) &t->at);
	rb_free(memory, (void **) &t->walls);
	rb_free(memory, (void **) &t->triangles);
	rb_free(memory, (void **) &t->facet_of);
	rb_free(memory, (void **) &t->segments);
	rb_free(memory, (void **) &t->place);
	rb_free(memory, (void **) &t->region);
	rb_free(memory, (void **) &t->pairs);
}

rb_status
rb_refining_together(rb_refining *r, bool *any)
{
	together t;
	uint32_t left = 0;
	rb_status status;

	memset(&t, 0, sizeof t);
	t.r = r;
	*any = false;
	status = rb_array_grow(r->ctx, (void **) &t.marks, &t.marks_cap, r->ncells, 1);
	if (status == RB_OK)
		memset(t.marks, 0, r->ncells);
	if (status == RB_OK)
		status = find_stuck(&t);
	for (uint32_t i = 0; i < r->nstuck && status == RB_OK; i++)
	{
		bool done = false;

		if (!rb_entry_alive(&r->mesh, r->stuck[i]) || is_hopeless(&t, r->stuck[i]))
			continue;
		status = one_group(&t, r->stuck[i], &done);
		*any = *any || done;
	}
	/* what is still there is still stuck */
	for (uint32_t i = 0; i < r->nstuck; i++)
		if (rb_entry_alive(&r->mesh, r->stuck[i]))
			r->stuck[left++] = r->stuck[i];
	r->nstuck = left;
	/* all begins anew: nothing is listed, nothing given up */
	for (uint32_t i = 0; i < r->ncells && *any; i++)
		r->mesh.cells[i].bits &= RB_CELL_WALLS | RB_CELL_SEGMENTS | RB_CELL_FINE;
	together_free(&t);
	return status;
}
