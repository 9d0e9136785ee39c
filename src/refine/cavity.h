/*
 * cavity.h
 *	  Grows the cavity of a candidate, and decides whether its point may be inserted.
 *
 * The cavity consists of the cells whose circumspheres contain the point, as far as no constrained
 * face lies in between. All signs are exact, and only the candidate and its workspace are written.
 * So after any insertion the mesh is exactly constrained Delaunay. A cavity that is not entirely
 * visible from the point is not shrunk until it is, because that would leave faces that are not
 * Delaunay; instead, the elements that are in the way are split first.
 *
 * A point on a facet opens constrained faces of this facet. They form the facet's own cavity, which
 * is found first, from face to face across edges that are not on segments: a face opens if the
 * circumspheres on both sides contain the point. Because of rounding only one of the two may
 * contain it. The face would then stay, with a flat tetrahedron on it, so the point counts as
 * misplaced and another point near it is tried.
 *
 * This is the algorithm of Bowyer and Watson with constrained faces. The cells are in breadth-first
 * order, which determines the numbers of the new cells.
 */
#ifndef RB_REFINE_CAVITY_H
#define RB_REFINE_CAVITY_H

#include "refine/steiner.h"

/* Capacity that suffices for most cavities; larger ones need a larger workspace */
#define RB_ROOM_CELLS 128
#define RB_ROOM_WALLS 24
/* Maximum steps of a walk to a point, never reached in practice */
#define RB_WALK_STEPS 100000

/* The workspace of a candidate */
typedef struct rb_workspace
{
	uint32_t *cells;
	/*
	 * Faces of each cell at which the cavity ends, as bits; until the cell is processed, the face
	 * through which it was reached
	 */
	uint8_t *rims;
	uint32_t *walls; /* Constrained faces that open, by canonical id */
	/*
	 * Hash table of cells with 2 * cells_cap entries, initially RB_NOWHERE; NULL for a small
	 * workspace
	 */
	uint32_t *table;
	uint32_t cells_cap;
	uint32_t walls_cap;
	/* State while the cavity grows */
	uint32_t n;
	uint32_t nwalls;
	uint32_t nfirst;  /* Number of leading entries of walls that contain the point itself */
	uint64_t seen[2]; /* Bloom filter in front of the linear search */
} rb_workspace;

/* Returns the hash of a cell number for the workspace's table. */
RB_HOST_DEVICE uint32_t
rb_room_hash(uint32_t cell)
{
	uint32_t h = cell * 0x9e3779b1u;

	return h ^ h >> 16;
}

/* Returns true if the cavity contains the cell. */
RB_HOST_DEVICE bool
rb_room_has(const rb_workspace *room, uint32_t cell)
{
	uint32_t h = rb_room_hash(cell), i;

	if (room->table != NULL)
	{
		uint32_t mask = 2 * room->cells_cap - 1;

		for (i = h & mask; room->table[i] != RB_NOWHERE; i = (i + 1) & mask)
			if (room->cells[room->table[i]] == cell)
				return true;
		return false;
	}
	if (((h & 64) != 0 ? room->seen[1] : room->seen[0]) >> (h & 63) & 1)
		for (i = 0; i < room->n; i++)
			if (room->cells[i] == cell)
				return true;
	return false;
}

/* Returns the index of a cell that is in the workspace. */
RB_HOST_DEVICE uint32_t
rb_room_find(const rb_workspace *room, uint32_t cell)
{
	uint32_t i;

	if (room->table != NULL)
	{
		uint32_t mask = 2 * room->cells_cap - 1;

		for (i = rb_room_hash(cell) & mask; room->cells[room->table[i]] != cell; i = (i + 1) & mask)
			;
		return room->table[i];
	}
	for (i = 0; room->cells[i] != cell; i++)
		;
	return i;
}

/*
 * Appends a cell to the workspace. Returns RB_READY; RB_LOST if a stronger candidate claims the
 * cell; or RB_LARGE if the workspace is full.
 */
RB_HOST_DEVICE rb_verdict
rb_room_add(const rb_cells *m, rb_workspace *room, const rb_refine_candidate *cand, uint32_t cell)
{
	uint32_t h = rb_room_hash(cell), i;

	if (m->cells[cell].claim > cand->key)
		return RB_LOST;
	if (room->n == room->cells_cap)
		return RB_LARGE;
	if (room->table != NULL)
	{
		uint32_t mask = 2 * room->cells_cap - 1;

		for (i = h & mask; room->table[i] != RB_NOWHERE; i = (i + 1) & mask)
			;
		room->table[i] = room->n;
	}
	else if ((h & 64) != 0)
		room->seen[1] |= UINT64_C(1) << (h & 63);
	else
		room->seen[0] |= UINT64_C(1) << (h & 63);
	for (i = 0; i < 4; i++)
		RB_SOON(&m->cells[m->cells[cell].n[i] >> 2]);
	room->cells[room->n] = cell;
	room->rims[room->n++] = 0;
	return RB_READY;
}

/* Empties the hash table after use. */
RB_HOST_DEVICE void
rb_room_clear(rb_workspace *room)
{
	uint32_t mask = 2 * room->cells_cap - 1, i, k;

	if (room->table != NULL)
		for (k = room->n; k-- > 0;)
		{
			/*
			 * Remove in reverse order, since a later entry lies further along its probe sequence.
			 */
			i = rb_room_hash(room->cells[k]) & mask;
			while (room->table[i] != k)
				i = (i + 1) & mask;
			room->table[i] = RB_NOWHERE;
		}
}

/* Returns true if the constrained face is in the list of open ones. */
RB_HOST_DEVICE bool
rb_room_opens(const rb_workspace *room, uint32_t wall)
{
	uint32_t i;

	for (i = 0; i < room->nwalls; i++)
		if (room->walls[i] == wall)
			return true;
	return false;
}

/* Appends a constrained face to the open ones. Returns RB_LARGE if there is no space. */
RB_HOST_DEVICE rb_verdict
rb_room_open(rb_workspace *room, uint32_t wall)
{
	if (room->nwalls == room->walls_cap)
		return RB_LARGE;
	room->walls[room->nwalls++] = wall;
	return RB_READY;
}

/* Returns true if the point lies on a facet because it is on one of its constrained faces. */
RB_HOST_DEVICE bool
rb_room_on_facet(const rb_cells *m, const rb_workspace *room, uint32_t facet)
{
	uint32_t i;

	for (i = 0; i < room->nfirst; i++)
		if (m->cells[room->walls[i] >> 2].facet[room->walls[i] & 3] == facet)
			return true;
	return false;
}

/* ---- signs ---- */

/*
 * Returns 1 if the circumsphere of a cell that is not a ghost contains the point, 0 if not, or
 * RB_UNSURE. A point that is not in the mesh yet has the largest number, so it counts as outside a
 * sphere that it lies on.
 */
RB_HOST_DEVICE int
rb_cell_holds(const rb_cells *m, rb_exact_env *env, uint32_t cell, const double *at)
{
	const rb_cell *c = &m->cells[cell];
	int sign = rb_insphere_at(env, rb_site_at(m, c->v[0]), rb_site_at(m, c->v[1]),
							  rb_site_at(m, c->v[2]), rb_site_at(m, c->v[3]), at);

	return sign == RB_UNSURE ? sign : sign > 0;
}

/*
 * Returns 1 if a cell is a ghost, is in the workspace or has a circumsphere that contains the
 * point, 0 if not, or RB_UNSURE.
 */
RB_HOST_DEVICE int
rb_room_holds(const rb_cells *m, rb_exact_env *env, const rb_workspace *room, uint32_t cell,
			  const double *at)
{
	if (rb_cell_ghost(&m->cells[cell]) || rb_room_has(room, cell))
		return 1;
	return rb_cell_holds(m, env, cell, at);
}

/* ---- steps ---- */

/* Requests another point after rounding misplaced this one, or gives up if no tries are left. */
RB_HOST_DEVICE rb_verdict
rb_grow_askew(rb_refine_candidate *cand)
{
	if (rb_entry_what(cand->entry) != RB_SPLIT_TET && rb_entry_askew(cand->entry) < RB_TRIES_ASKEW)
		return RB_ASKEW;
	cand->reason = RB_BAD_TOO_FINE;
	return RB_KEPT;
}

/*
 * Adds the cells around the element to be split, and opens the constrained faces that the point is
 * on.
 */
RB_HOST_DEVICE rb_verdict
rb_grow_seeds(const rb_cells *m, const rb_refine_candidate *cand, rb_workspace *room)
{
	uint32_t cell = rb_entry_cell(cand->entry), part = rb_entry_part(cand->entry);
	rb_verdict verdict = rb_room_add(m, room, cand, cell);

	if (rb_entry_what(cand->entry) == RB_SPLIT_WALL && verdict == RB_READY)
	{
		verdict = rb_room_add(m, room, cand, m->cells[cell].n[part] >> 2);
		if (verdict == RB_READY)
			verdict = rb_room_open(room, rb_face_id(m, cell << 2 | part));
	}
	else if (rb_entry_what(cand->entry) == RB_SPLIT_PIECE)
	{
		rb_edge_ring ring = rb_ring_begin(m, cell, part);

		while (verdict == RB_READY)
		{
			if ((m->cells[ring.cell].bits & RB_CELL_WALL(ring.to)) != 0)
				verdict = rb_room_open(room, rb_face_id(m, ring.cell << 2 | ring.to));
			rb_ring_next(m, &ring);
			if (ring.cell == cell)
				break;
			if (verdict == RB_READY)
				verdict = rb_room_add(m, room, cand, ring.cell);
		}
	}
	room->nfirst = room->nwalls;
	return verdict;
}

/*
 * Checks that the circumsphere of cell k, one of those around the element to be split, contains the
 * point.
 */
RB_HOST_DEVICE rb_verdict
rb_grow_seed(const rb_cells *m, rb_exact_env *env, rb_refine_candidate *cand,
			 const rb_workspace *room, uint32_t k)
{
	int holds;

	if (rb_cell_ghost(&m->cells[room->cells[k]]))
		return RB_READY;
	holds = rb_cell_holds(m, env, room->cells[k], cand->at);
	return holds == RB_UNSURE ? RB_OPEN : holds == 0 ? rb_grow_askew(cand) : RB_READY;
}

/*
 * Puts the cells around the candidate's entry into the cavity, and checks that the circumsphere of
 * each that is not a ghost contains the point.
 */
RB_HOST_DEVICE rb_verdict
rb_grow_begin(const rb_cells *m, rb_exact_env *env, rb_refine_candidate *cand, rb_workspace *room)
{
	rb_verdict verdict = rb_grow_seeds(m, cand, room);
	uint32_t k;

	for (k = 0; k < room->n && verdict == RB_READY; k++)
		verdict = rb_grow_seed(m, env, cand, room, k);
	return verdict;
}

/*
 * Returns the constrained face of the same facet beyond edge k of an open one, and the cells on its
 * two sides. Returns RB_NOWHERE if there is none. With `past`, faces of other facets may be in
 * between: those of a facet of the hull that lies on one of the input.
 */
RB_HOST_DEVICE uint32_t
rb_grow_beyond(const rb_cells *m, uint32_t wall, uint32_t k, bool past, uint32_t *side)
{
	const rb_cell *c = &m->cells[wall >> 2];
	uint32_t i = wall & 3;
	uint32_t a = rb_cell_face_corner(i, k), b = rb_cell_face_corner(i, (k + 1) % 3);
	rb_edge_ring ring;
	uint32_t beyond;

	if ((c->bits & RB_CELL_SEGMENT(rb_cell_edge(a, b))) != 0)
		return RB_NOWHERE;
	ring = rb_ring_at(wall >> 2, 6 - i - a - b, c->v[a], c->v[b]);
	while ((m->cells[ring.cell].bits & RB_CELL_WALL(ring.to)) == 0 ||
		   (past && m->cells[ring.cell].facet[ring.to] != c->facet[i]))
		rb_ring_next(m, &ring);
	if (m->cells[ring.cell].facet[ring.to] != c->facet[i])
		return RB_NOWHERE;
	side[0] = ring.cell;
	side[1] = m->cells[ring.cell].n[ring.to] >> 2;
	beyond = rb_face_id(m, ring.cell << 2 | ring.to);
	return beyond == wall ? RB_NOWHERE : beyond;
}

/*
 * Returns 1 if the circumspheres on both sides of a constrained face contain the point, so that it
 * opens, 0 if not, or RB_UNSURE.
 */
RB_HOST_DEVICE int
rb_grow_opens(const rb_cells *m, rb_exact_env *env, const rb_refine_candidate *cand,
			  const rb_workspace *room, const uint32_t *side)
{
	int holds = rb_room_holds(m, env, room, side[0], cand->at);

	return holds == 1 ? rb_room_holds(m, env, room, side[1], cand->at) : holds;
}

/* Opens a constrained face and adds the cells on both sides to the cavity. */
RB_HOST_DEVICE rb_verdict
rb_grow_open(const rb_cells *m, const rb_refine_candidate *cand, rb_workspace *room, uint32_t wall,
			 const uint32_t *side)
{
	rb_verdict verdict = rb_room_open(room, wall);
	int s;

	for (s = 0; s < 2 && verdict == RB_READY; s++)
		if (!rb_room_has(room, side[s]))
			verdict = rb_room_add(m, room, cand, side[s]);
	return verdict;
}

/*
 * Opens the constrained face beyond edge k of an open one if the circumspheres on both of its sides
 * contain the point.
 */
RB_HOST_DEVICE rb_verdict
rb_grow_wall(const rb_cells *m, rb_exact_env *env, rb_refine_candidate *cand, rb_workspace *room,
			 uint32_t wall, uint32_t k)
{
	uint32_t side[2], beyond = rb_grow_beyond(m, wall, k, false, side);
	int opens;

	if (beyond == RB_NOWHERE || rb_room_opens(room, beyond))
		return RB_READY;
	opens = rb_grow_opens(m, env, cand, room, side);
	if (opens != 1)
		return opens == RB_UNSURE ? RB_OPEN : RB_READY;
	return rb_grow_open(m, cand, room, beyond, side);
}

/*
 * Adds cells from neighbor to neighbor, as long as their circumspheres contain the point and no
 * constrained face lies in between.
 */
RB_HOST_DEVICE rb_verdict
rb_grow_cells(const rb_cells *m, rb_exact_env *env, rb_refine_candidate *cand, rb_workspace *room)
{
	uint32_t k, i;

	for (k = 0; k < room->n; k++)
	{
		uint32_t cell = room->cells[k], rims = 0, came = room->rims[k];
		const rb_cell *c = &m->cells[cell];
		bool ghost = rb_cell_ghost(c);

		for (i = 0; i < 4; i++)
		{
			uint32_t beyond = c->n[i] >> 2;

			if ((came & 1u << i) != 0)
				continue;
			if ((c->bits & RB_CELL_WALL(i)) != 0)
			{
				if (!rb_room_opens(room, rb_face_id(m, cell << 2 | i)))
					rims |= 1u << i;
			}
			else if (!rb_room_has(room, beyond))
			{
				/*
				 * A ghost joins the cavity only when its boundary face opens, never from a
				 * neighbor.
				 */
				int holds = ghost ? 0 : rb_cell_holds(m, env, beyond, cand->at);

				if (holds == 1)
				{
					rb_verdict verdict = rb_room_add(m, room, cand, beyond);

					if (verdict != RB_READY)
						return verdict;
					room->rims[room->n - 1] = (uint8_t) (1u << (c->n[i] & 3));
				}
				else if (holds == RB_UNSURE)
					return RB_OPEN;
				else
					rims |= 1u << i;
			}
		}
		room->rims[k] = (uint8_t) rims;
		cand->nrim += (rims & 1) + (rims >> 1 & 1) + (rims >> 2 & 1) + (rims >> 3 & 1);
	}
	return RB_READY;
}

/*
 * Returns true if the subsegment that is edge e of cell k would lie inside the cavity and vanish.
 */
RB_HOST_DEVICE bool
rb_grow_swallows(const rb_cells *m, const rb_workspace *room, uint32_t k, uint32_t e)
{
	uint32_t start = room->cells[k];
	rb_edge_ring ring = rb_ring_begin(m, start, e);

	do
	{
		if ((room->rims[k] & 1u << ring.to) != 0)
			return false;
		rb_ring_next(m, &ring);
		k = rb_room_find(room, ring.cell);
	} while (ring.cell != start);
	return true;
}

/*
 * Constrained faces and subsegments that block a cavity and could be split; subsegments come first
 */
typedef struct rb_obstacle
{
	bool any;
	bool needed;      /* True to split regardless of insertion radii */
	rb_entry64 piece; /* Subsegment to be split first, or 0 if none blocks the cavity */
	rb_entry64 wall;
} rb_obstacle;

/* Records a subsegment, edge e of the cell, as an obstacle. */
RB_HOST_DEVICE void
rb_grow_piece_in_way(const rb_cells *m, uint32_t cell, uint32_t e, rb_obstacle *o)
{
	const rb_cell *c = &m->cells[cell];

	o->any = true;
	if (o->piece == 0 && (c->bits & RB_CELL_KEPT_SEGMENT(e)) == 0 &&
		rb_piece_splits(m, c->v[rb_cell_edge_from(e)], c->v[rb_cell_edge_to(e)], o->needed))
		o->piece = rb_entry_need(rb_entry_make(m, cell, e, RB_SPLIT_PIECE, true), o->needed);
}

/* Records a constrained face, face i of the cell, as an obstacle. */
RB_HOST_DEVICE void
rb_grow_wall_in_way(const rb_cells *m, uint32_t cell, uint32_t i, rb_obstacle *o)
{
	const rb_cell *c = &m->cells[cell];
	uint32_t v[3], k;

	o->any = true;
	for (k = 0; k < 3; k++)
		v[k] = c->v[rb_cell_face_corner(i, k)];
	if (o->wall == 0 && (c->bits & RB_CELL_KEPT_WALL(i)) == 0 && rb_wall_splits(m, v, o->needed))
		o->wall = rb_entry_need(rb_entry_make(m, cell, i, RB_SPLIT_WALL, true), o->needed);
}

/*
 * Collects the subsegments and constrained faces of cell k that the point encroaches upon, or that
 * would vanish. With keep_surface, only those that would vanish count: encroachment does no harm
 * then, since it causes no split.
 */
RB_HOST_DEVICE void
rb_grow_encroaches_at(const rb_cells *m, const rb_refine_candidate *cand, const rb_workspace *room,
					  uint32_t k, rb_obstacle *o)
{
	rb_what what = rb_entry_what(cand->entry);
	const rb_cell *first = &m->cells[rb_entry_cell(cand->entry)];
	uint32_t part = rb_entry_part(cand->entry), u = RB_NOWHERE, v = RB_NOWHERE;
	uint32_t cell = room->cells[k], i, e;
	const rb_cell *c = &m->cells[cell];

	if (what == RB_SPLIT_PIECE)
	{
		u = first->v[rb_cell_edge_from(part)];
		v = first->v[rb_cell_edge_to(part)];
	}
	if ((c->bits & (RB_CELL_SEGMENTS | RB_CELL_WALLS)) == 0 || rb_cell_ghost(c))
		return;
	for (e = 0; e < 6; e++)
		if ((c->bits & RB_CELL_SEGMENT(e)) != 0)
		{
			uint32_t from = rb_cell_edge_from(e), to = rb_cell_edge_to(e);
			uint32_t a = c->v[from], b = c->v[to];

			if ((a == u && b == v) || (a == v && b == u))
				continue;
			if ((what != RB_SPLIT_PIECE && !m->keep_surface &&
				 rb_diameter_dot(rb_site_at(m, a), rb_site_at(m, b), cand->at) < 0) ||
				((room->rims[k] & ~(1u << from | 1u << to)) == 0 &&
				 rb_grow_swallows(m, room, k, e)))
				rb_grow_piece_in_way(m, cell, e, o);
		}
	if (what == RB_SPLIT_TET && !m->keep_surface)
		for (i = 0; i < 4; i++)
			if ((c->bits & RB_CELL_WALL(i)) != 0)
			{
				rb_ball ball = rb_wall_ball(m, c, i);

				if (rb_distance2(ball.at, cand->at) < ball.radius2)
					rb_grow_wall_in_way(m, cell, i, o);
			}
}

/*
 * Records all subsegments and constrained faces that the point encroaches upon, or that would
 * vanish.
 */
RB_HOST_DEVICE void
rb_grow_encroaches(const rb_cells *m, const rb_refine_candidate *cand, const rb_workspace *room,
				   rb_obstacle *o)
{
	uint32_t k;

	for (k = 0; k < room->n; k++)
		rb_grow_encroaches_at(m, cand, room, k, o);
}

/*
 * Tests the Delaunay condition between two new tetrahedra that share a face: the one on boundary
 * face i of cell k, and the one on the next boundary face around their common edge xy. Returns 1 if
 * the condition is violated, 0 if it holds, or RB_UNSURE.
 *
 * The choice of the cavity guarantees the condition, with two exceptions. First, the boundary face
 * may be constrained, and four corners of its facet may be nearly cocircular. Then rounding decides
 * whether the condition holds. Second, the edge xy may be on a segment at which a constrained face
 * outside the cavity ends. Until now, that face has hidden the two tetrahedra from each other.
 */
RB_HOST_DEVICE int
rb_grow_folds(const rb_cells *m, rb_exact_env *env, const rb_refine_candidate *cand,
			  const rb_workspace *room, uint32_t k, uint32_t i, uint32_t from)
{
	const rb_cell *c = &m->cells[room->cells[k]];
	uint32_t x = c->v[rb_cell_face_corner(i, (from + 1) % 3)];
	uint32_t y = c->v[rb_cell_face_corner(i, (from + 2) % 3)];
	rb_edge_ring ring = rb_ring_at(room->cells[k], rb_cell_face_corner(i, from), x, y);
	const double *p[5];
	uint32_t v[5];
	int sign, j;

	while ((room->rims[k] & 1u << ring.to) == 0)
	{
		if ((m->cells[ring.cell].bits & RB_CELL_WALL(ring.to)) != 0)
			return 0; /* A new constrained face will separate the two */
		rb_ring_next(m, &ring);
		k = rb_room_find(room, ring.cell);
	}
	p[0] = cand->at;
	v[0] = RB_GHOST - 1;
	for (j = 0; j < 3; j++)
	{
		v[j + 1] = c->v[rb_cell_face_corner(i, (uint32_t) j)];
		p[j + 1] = rb_site_at(m, v[j + 1]);
	}
	c = &m->cells[ring.cell];
	v[4] = c->v[6 - ring.to - rb_cell_corner(c, x) - rb_cell_corner(c, y)];
	p[4] = rb_site_at(m, v[4]);
	sign = rb_insphere_at(env, p[0], p[1], p[2], p[3], p[4]);
	if (sign == 0)
		sign = rb_insphere_ties(env, p, v);
	return sign == RB_UNSURE ? sign : sign > 0;
}

/*
 * Returns 1 if the point is on the inner side of an edge that bounds the opened part of a facet, 0
 * if not, or RB_UNSURE: seen from a point above the open face with corners `from`, `to` and
 * `inner`, the point must be on the same side of the edge between the first two as the face.
 */
RB_HOST_DEVICE int
rb_grow_within(const rb_cells *m, rb_exact_env *env, const rb_refine_candidate *cand, uint32_t from,
			   uint32_t to, uint32_t inner)
{
	const double *p[2] = {rb_site_at(m, from), rb_site_at(m, to)};
	const double *z = rb_site_at(m, inner);
	double u[3], v[3], n[3], above[3], length, scale;
	int a, b, j;

	for (j = 0; j < 3; j++)
	{
		u[j] = p[1][j] - p[0][j];
		v[j] = z[j] - p[0][j];
	}
	n[0] = u[1] * v[2] - u[2] * v[1];
	n[1] = u[2] * v[0] - u[0] * v[2];
	n[2] = u[0] * v[1] - u[1] * v[0];
	length = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
	scale = sqrt((u[0] * u[0] + u[1] * u[1] + u[2] * u[2]) / length);
	if (!(scale < INFINITY))
		return 0;
	for (j = 0; j < 3; j++)
		above[j] = p[0][j] + n[j] * scale;
	a = rb_orient3d_at(env, cand->at, p[0], p[1], above);
	b = rb_orient3d_at(env, z, p[0], p[1], above);
	if (a == RB_UNSURE || b == RB_UNSURE)
		return RB_UNSURE;
	return a == b && a != 0;
}

/*
 * Checks those faces of a ghost cell in the cavity that will get new ghost cells, given as bits in
 * `rims`. There is no space behind an open boundary face from which visibility could be tested, so
 * each edge around the opened part is tested instead. Records a subsegment that is in the way.
 */
RB_HOST_DEVICE rb_verdict
rb_grow_sees_ghost(const rb_cells *m, rb_exact_env *env, rb_refine_candidate *cand, uint32_t cell,
				   uint32_t rims, rb_obstacle *o)
{
	const rb_cell *c = &m->cells[cell];
	uint32_t g = rb_cell_corner(c, RB_GHOST), i;

	for (i = 0; i < 4; i++)
		if ((rims & 1u << i) != 0)
		{
			/* Find the other two corners; the four indices sum to 6. */
			uint32_t a = g != 0 && i != 0 ? 0 : g != 1 && i != 1 ? 1 : 2, b = 6 - a - g - i;
			uint32_t e = rb_cell_edge(a, b);
			int within = rb_grow_within(m, env, cand, c->v[a], c->v[b], c->v[i]);

			if (within == RB_UNSURE)
				return RB_OPEN;
			if (within)
				continue;
			if ((c->bits & RB_CELL_SEGMENT(e)) == 0)
				return rb_grow_askew(cand);
			rb_grow_piece_in_way(m, cell, e, o);
		}
	return RB_READY;
}

/*
 * Returns true if a constrained face would become a triangle of three points of one segment. This
 * happens if a constrained face opens that ends on a subsegment next to the one being split:
 * rounding puts the point off the common line, and the tetrahedron at the face is so flat that its
 * circumsphere contains the point nevertheless. Every facet that ends there would get this
 * triangle.
 */
RB_HOST_DEVICE bool
rb_grow_straight(const rb_cells *m, const rb_refine_candidate *cand, const rb_cell *c,
				 uint32_t rims)
{
	const rb_cell *first = &m->cells[rb_entry_cell(cand->entry)];
	uint32_t part = rb_entry_part(cand->entry), segment = RB_NOWHERE, u, v, i, k;

	if (rb_entry_what(cand->entry) != RB_SPLIT_PIECE || (c->bits & RB_CELL_SEGMENTS) == 0)
		return false;
	u = first->v[rb_cell_edge_from(part)];
	v = first->v[rb_cell_edge_to(part)];
	for (i = 0; i < 4; i++)
		for (k = 0; k < 3 && (c->bits & ~rims & RB_CELL_WALL(i)) != 0; k++)
		{
			uint32_t from = rb_cell_face_corner(i, k), to = rb_cell_face_corner(i, (k + 1) % 3);
			uint32_t a = c->v[from], b = c->v[to];

			if ((c->bits & RB_CELL_SEGMENT(rb_cell_edge(from, to))) == 0 || (a == u && b == v) ||
				(a == v && b == u))
				continue;
			if (segment == RB_NOWHERE)
				segment = rb_piece_segment(m, u, v);
			if (rb_site_on_segment(m, a, segment) && rb_site_on_segment(m, b, segment))
				return true;
		}
	return false;
}

/* Tests whether the boundary faces of the cavity at cell k are visible from the point inside. */
RB_HOST_DEVICE rb_verdict
rb_grow_sees_at(const rb_cells *m, rb_exact_env *env, rb_refine_candidate *cand,
				const rb_workspace *room, uint32_t k, rb_obstacle *o)
{
	bool on_facet = room->nfirst > 0 && rb_entry_askew(cand->entry) < RB_TRIES_ASKEW;
	uint32_t cell = room->cells[k], i;
	const rb_cell *c = &m->cells[cell];

	if (rb_cell_ghost(c))
		return rb_grow_sees_ghost(m, env, cand, cell, room->rims[k], o);
	if (rb_grow_straight(m, cand, c, room->rims[k]))
		return rb_grow_askew(cand);
	for (i = 0; i < 4; i++)
		if ((room->rims[k] & 1u << i) != 0)
		{
			bool wall = (c->bits & RB_CELL_WALL(i)) != 0;
			int side = rb_orient3d_at(env, cand->at, rb_site_at(m, c->v[rb_cell_face_corner(i, 0)]),
									  rb_site_at(m, c->v[rb_cell_face_corner(i, 1)]),
									  rb_site_at(m, c->v[rb_cell_face_corner(i, 2)]));

			if (side == RB_UNSURE)
				return RB_OPEN;
			if (wall && on_facet && rb_room_on_facet(m, room, c->facet[i]))
				return RB_ASKEW;
			if (side > 0)
				continue;
			if (!wall)
				return rb_grow_askew(cand);
			rb_grow_wall_in_way(m, cell, i, o);
		}
	return RB_READY;
}

/*
 * Tests whether the new tetrahedra of the boundary faces at cell k satisfy the Delaunay condition
 * with their neighbors.
 */
RB_HOST_DEVICE rb_verdict
rb_grow_folds_at(const rb_cells *m, rb_exact_env *env, const rb_refine_candidate *cand,
				 const rb_workspace *room, uint32_t k, rb_obstacle *o)
{
	uint32_t cell = room->cells[k], i, j;
	const rb_cell *c = &m->cells[cell];

	if ((c->bits & (RB_CELL_SEGMENTS | RB_CELL_WALLS)) == 0 || rb_cell_ghost(c))
		return RB_READY;
	for (i = 0; i < 4; i++)
		for (j = 0; j < 3 && (room->rims[k] & 1u << i) != 0; j++)
		{
			uint32_t x = rb_cell_face_corner(i, (j + 1) % 3);
			uint32_t y = rb_cell_face_corner(i, (j + 2) % 3), e = rb_cell_edge(x, y);
			bool segment = (c->bits & RB_CELL_SEGMENT(e)) != 0;
			int folds;

			/*
			 * Test an edge on a segment from only one of its two boundary faces, and other edges
			 * only from constrained faces.
			 */
			if (segment ? c->v[x] > c->v[y] : (c->bits & RB_CELL_WALL(i)) == 0)
				continue;
			folds = rb_grow_folds(m, env, cand, room, k, i, j);
			if (folds == RB_UNSURE)
				return RB_OPEN;
			if (folds && segment)
				rb_grow_piece_in_way(m, cell, e, o);
			else if (folds)
				rb_grow_wall_in_way(m, cell, i, o);
		}
	return RB_READY;
}

/*
 * Checks that the point sees all boundary faces of the cavity from the inside, and that no two new
 * cells fold over each other; records what is in the way.
 */
RB_HOST_DEVICE rb_verdict
rb_grow_sees(const rb_cells *m, rb_exact_env *env, rb_refine_candidate *cand,
			 const rb_workspace *room, rb_obstacle *o)
{
	rb_verdict verdict = RB_READY;
	uint32_t k;

	for (k = 0; k < room->n && verdict == RB_READY; k++)
		verdict = rb_grow_sees_at(m, env, cand, room, k, o);
	if (o->any)
		return verdict;
	for (k = 0; k < room->n && verdict == RB_READY; k++)
		verdict = rb_grow_folds_at(m, env, cand, room, k, o);
	return verdict;
}

/*
 * Returns true if one of the boundary faces of the cavity has this vertex as a corner, so that it
 * stays a corner of cells.
 */
RB_HOST_DEVICE bool
rb_grow_keeps(const rb_cells *m, const rb_workspace *room, uint32_t v)
{
	uint32_t k, j;

	for (k = 0; k < room->n; k++)
		for (j = 0; j < 4; j++)
			if (m->cells[room->cells[k]].v[j] == v && (room->rims[k] & ~(1u << j)) != 0)
				return true;
	return false;
}

/*
 * Checks a constrained face of the workspace that opens: all of its corners have to be kept, and
 * its facet may not fold. Both can fail on a facet that is flat only up to rounding. Tetrahedra on
 * it may be so flat that the circumspheres of all those around a vertex contain the point; a vertex
 * on no open face is always kept, because the point is not in the circumspheres of all Delaunay
 * tetrahedra around it. A misplaced point that is accepted after many tries may lie beyond an edge
 * at which the opened part of its facet ends.
 */
RB_HOST_DEVICE rb_verdict
rb_grow_open_fits(const rb_cells *m, rb_exact_env *env, rb_refine_candidate *cand,
				  const rb_workspace *room, uint32_t wall)
{
	const rb_cell *c = &m->cells[wall >> 2];
	uint32_t v[3], side[2], k;

	for (k = 0; k < 3; k++)
	{
		v[k] = c->v[rb_cell_face_corner(wall & 3, k)];
		if (!rb_grow_keeps(m, room, v[k]))
			return rb_grow_askew(cand);
	}
	for (k = 0; k < 3 && rb_entry_askew(cand->entry) >= RB_TRIES_ASKEW; k++)
	{
		uint32_t beyond = rb_grow_beyond(m, wall, k, true, side);
		int within;

		if (beyond == RB_NOWHERE || rb_room_opens(room, beyond))
			continue;
		within = rb_grow_within(m, env, cand, v[k], v[(k + 1) % 3], v[(k + 2) % 3]);
		if (within != 1)
			return within == RB_UNSURE ? RB_OPEN : rb_grow_askew(cand);
	}
	return RB_READY;
}

/*
 * Sets the candidate's verdict from the obstacles in its way. If none of them may be split, waiting
 * is pointless: in practice one in a thousand such candidates succeeded later. Subsegments wait
 * nevertheless, because joint insertion may split them.
 */
RB_HOST_DEVICE rb_verdict
rb_grow_blocked(const rb_cells *m, rb_refine_candidate *cand, const rb_obstacle *o)
{
	cand->first = o->piece != 0 ? o->piece : o->wall;
	if (!m->keep_surface && rb_entry_blocked(cand->entry) < RB_ENTRY_BLOCKED &&
		(cand->first != 0 || rb_entry_what(cand->entry) == RB_SPLIT_PIECE))
		return RB_BLOCKED;
	cand->reason = m->keep_surface ? RB_BAD_SURFACE : RB_BAD_INPUT;
	return RB_KEPT;
}

/*
 * Walks from a bad tetrahedron to its circumcenter, from cell to cell. The circumsphere of every
 * cell on the way contains the circumcenter, because each step across a Delaunay face toward a
 * point moves that point deeper into the spheres; so the walk terminates. A constrained face on the
 * way is encroached upon and must be split first.
 */
RB_HOST_DEVICE rb_verdict
rb_grow_walk(const rb_cells *m, rb_exact_env *env, rb_refine_candidate *cand, rb_obstacle *o)
{
	uint32_t cell = rb_entry_cell(cand->entry), from = 4, steps, i;

	for (steps = 0; steps < RB_WALK_STEPS; steps++)
	{
		const rb_cell *c = &m->cells[cell];

		for (i = 0; i < 4; i++)
		{
			int side;

			if (i == from)
				continue;
			side = rb_orient3d_at(env, cand->at, rb_site_at(m, c->v[rb_cell_face_corner(i, 0)]),
								  rb_site_at(m, c->v[rb_cell_face_corner(i, 1)]),
								  rb_site_at(m, c->v[rb_cell_face_corner(i, 2)]));
			if (side == RB_UNSURE)
				return RB_OPEN;
			if (side < 0)
				break;
		}
		if (i == 4)
			return RB_READY;
		if ((c->bits & RB_CELL_WALL(i)) != 0)
		{
			rb_grow_wall_in_way(m, cell, i, o);
			return RB_READY;
		}
		from = c->n[i] & 3;
		cell = c->n[i] >> 2;
	}
	cand->reason = RB_BAD_TOO_FINE;
	return RB_KEPT;
}

/*
 * Returns RB_LOST if growing is pointless, because a stronger candidate claims the cell of the
 * entry or an adjacent cell that the cavity would contain.
 */
RB_HOST_DEVICE rb_verdict
rb_grow_check_claims(const rb_cells *m, rb_exact_env *env, const rb_refine_candidate *cand)
{
	const rb_cell *c = &m->cells[rb_entry_cell(cand->entry)];
	uint32_t i;

	if (c->claim > cand->key)
		return RB_LOST;
	for (i = 0; i < 4; i++)
		if ((c->bits & RB_CELL_WALL(i)) == 0 && m->cells[c->n[i] >> 2].claim > cand->key)
		{
			int holds = rb_cell_holds(m, env, c->n[i] >> 2, cand->at);

			if (holds != 0)
				return holds == RB_UNSURE ? RB_OPEN : RB_LOST;
		}
	return RB_READY;
}

/* Determines the cavity of a candidate's point, and whether the point may be inserted. */
RB_HOST_DEVICE rb_verdict
rb_grow(const rb_cells *m, rb_exact_env *env, rb_refine_candidate *cand, rb_workspace *room)
{
	rb_obstacle o;
	rb_verdict verdict;
	uint32_t wall, k;

	room->n = room->nwalls = room->nfirst = 0;
	room->seen[0] = room->seen[1] = 0;
	cand->nrim = 0;
	cand->ncells = 0;
	o.any = false;
	o.piece = o.wall = 0;
	o.needed = rb_entry_what(cand->entry) == RB_SPLIT_TET
				   ? rb_cell_large(m, &m->cells[rb_entry_cell(cand->entry)])
				   : rb_entry_needed(cand->entry);
	if (rb_entry_what(cand->entry) == RB_SPLIT_TET)
	{
		verdict = rb_grow_check_claims(m, env, cand);
		if (verdict == RB_READY)
			verdict = rb_grow_walk(m, env, cand, &o);
		if (verdict != RB_READY)
			return verdict;
		if (o.any)
			return rb_grow_blocked(m, cand, &o);
	}
	verdict = rb_grow_begin(m, env, cand, room);
	for (wall = 0; wall < room->nwalls && verdict == RB_READY; wall++)
		for (k = 0; k < 3 && verdict == RB_READY; k++)
			verdict = rb_grow_wall(m, env, cand, room, room->walls[wall], k);
	if (verdict == RB_READY)
		verdict = rb_grow_cells(m, env, cand, room);
	cand->ncells = room->n;
	if (verdict != RB_READY)
		return verdict;
	rb_grow_encroaches(m, cand, room, &o);
	if (!o.any)
	{
		verdict = rb_grow_sees(m, env, cand, room, &o);
		if (verdict != RB_READY)
			return verdict;
	}
	if (o.any)
		return rb_grow_blocked(m, cand, &o);
	for (wall = 0; wall < room->nwalls && verdict == RB_READY; wall++)
		verdict = rb_grow_open_fits(m, env, cand, room, room->walls[wall]);
	return verdict == RB_READY ? RB_FITS : verdict;
}

#endif /* RB_REFINE_CAVITY_H */
