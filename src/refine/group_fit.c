/*
 * group_fit.c
 *	  Finds which tetrahedra of a group's PLC can replace which cells, and replaces these cells.
 *
 * The tetrahedra that replace cells are those that have a new point as a corner and lie inside the
 * mesh, because a new point changes a constrained Delaunay tetrahedralization in no other way. The
 * PLC is only an excerpt of the mesh, so its tetrahedra are not trusted but checked:
 *
 *	find_tets_with_new_corner	tetrahedra with a new corner, and the cavity boundary: their faces
 *								without one
 *	find_inserted_tets			those inside the mesh, as determined at the cavity boundary
 *	find_cells_to_replace		cells to remove: all from the new points to the cavity boundary
 *	pair_cells					the cavity boundary encloses them, and the Delaunay condition holds
 *								across it
 *	check_fit_of_facets			new constrained faces cover the area of the removed ones
 *
 * New cells are built first; then they are linked with each other and with the remaining cells. A
 * new cell that still lacks a neighbor is on the boundary and gets a ghost there. Ghosts are linked
 * last, along the rings around their edges.
 */
#include "refine/group.h"

/*
 * Special values of a region: nothing is known; the tetrahedron is outside the excerpt; it is
 * outside the mesh
 */
#define NOTHING UINT32_MAX
#define FOREIGN (UINT32_MAX - 1)
#define OUTSIDE (UINT32_MAX - 2)

/* ---- tetrahedra and their faces ---- */

/* Returns true if a face of a new tetrahedron has no new corner. */
static bool
is_face_without_new_corner(const rb_joint *t, uint32_t face)
{
	const uint32_t *v = t->tets.tets[face >> 2];
	uint32_t k = face & 3;

	return !rb_joint_is_new(t, v[rb_cell_face_corner(k, 0)]) &&
		   !rb_joint_is_new(t, v[rb_cell_face_corner(k, 1)]) &&
		   !rb_joint_is_new(t, v[rb_cell_face_corner(k, 2)]);
}

/*
 * Gets the numbers that the corners of an old cell's face have in the new PLC, in the order seen
 * from the cell.
 */
static void
numbers_of_old_face(const rb_joint *t, uint32_t cell, uint32_t k, uint32_t *number)
{
	const rb_cell *c = &t->r->mesh.cells[cell];

	for (uint32_t j = 0; j < 3; j++)
		number[j] = rb_cells_plc_number(&t->cells, c->v[rb_cell_face_corner(k, j)]);
}

/*
 * Returns true if the corners of a face of a tetrahedron are in the same cyclic order as `number`.
 */
static bool
has_fitted_face_corners(const rb_joint *t, uint32_t face, const uint32_t *number)
{
	const uint32_t *v = t->tets.tets[face >> 2];
	uint32_t i;

	for (i = 0; i < 3; i++)
		if (v[rb_cell_face_corner(face & 3, i)] == number[0])
			break;
	return v[rb_cell_face_corner(face & 3, (i + 1) % 3)] == number[1];
}

/* Returns a face of a tetrahedron as seen from its other side, or RB_NONE on the hull. */
static uint32_t
fitted_face_beyond(const rb_joint *t, uint32_t face)
{
	uint32_t tet = face >> 2, beyond = t->tets.neighbours[4 * (size_t) tet + (face & 3)], k;

	if (beyond == RB_NONE)
		return RB_NONE;
	for (k = 0; k < 3; k++)
		if (t->tets.neighbours[4 * (size_t) beyond + k] == tet)
			break;
	return beyond << 2 | k;
}

/* Returns a pointer to the facet that a face is on, or NULL if it is on none. */
static const uint32_t *
facet_of_fitted_face(const rb_joint *t, uint32_t face)
{
	const uint32_t *v = t->tets.tets[face >> 2];

	return rb_table_get(&t->faces, v[rb_cell_face_corner(face & 3, 0)],
						v[rb_cell_face_corner(face & 3, 1)], v[rb_cell_face_corner(face & 3, 2)]);
}

/* ---- new tetrahedra ---- */

/*
 * Marks the tetrahedra with a new corner, lists their faces without new corners, and finds which of
 * these faces exist in the mesh.
 */
static rb_status
find_tets_with_new_corner(rb_joint *t)
{
	rb_tets *tets = &t->tets;
	rb_context *ctx = t->r->ctx;

	RB_TRY(RB_GROW(ctx, t->place, t->place_cap, (size_t) tets->ntets + 1));
	for (uint32_t i = 0; i < tets->nfaces; i++)
	{
		if (rb_should_stop(t->r->ctx))
			return RB_STOPPED;
		RB_TRY(rb_table_insert(ctx, &t->faces, tets->faces[i][0], tets->faces[i][1],
							   tets->faces[i][2], t->cells.facets.at[tets->face_facet[i]], NULL,
							   NULL));
	}
	for (uint32_t i = 0; i < tets->ntets; i++)
	{
		const uint32_t *v = tets->tets[i];

		if (rb_should_stop(t->r->ctx))
			return RB_STOPPED;
		t->place[i] = rb_joint_has_new(t, i) ? RB_TET_NEW : RB_TET_UNKNOWN;
		for (uint32_t k = 0; k < 4 && t->place[i] == RB_TET_NEW; k++)
			if (is_face_without_new_corner(t, i << 2 | k))
				RB_TRY(rb_table_insert(ctx, &t->rim, v[rb_cell_face_corner(k, 0)],
									   v[rb_cell_face_corner(k, 1)], v[rb_cell_face_corner(k, 2)],
									   i << 2 | k, NULL, NULL));
	}
	for (size_t i = 0; i < t->near.n; i++)
	{
		if (rb_should_stop(t->r->ctx))
			return RB_STOPPED;
		for (uint32_t k = 0; k < 4; k++)
		{
			uint32_t number[3];

			numbers_of_old_face(t, t->near.at[i], k, number);
			if (rb_table_get(&t->rim, number[0], number[1], number[2]) != NULL)
				RB_TRY(rb_table_insert(ctx, &t->known, number[0], number[1], number[2],
									   t->near.at[i] << 2 | k, NULL, NULL));
		}
	}
	return RB_OK;
}

/*
 * Gets the cells on the inner and outer side of a cavity boundary face of a new tetrahedron.
 * Returns false if the mesh has no such face.
 */
static bool
cells_beside_cavity_face(const rb_joint *t, uint32_t face, uint32_t *in, uint32_t *out)
{
	const uint32_t *v = t->tets.tets[face >> 2];
	const uint32_t *known =
		rb_table_get(&t->known, v[rb_cell_face_corner(face & 3, 0)],
					 v[rb_cell_face_corner(face & 3, 1)], v[rb_cell_face_corner(face & 3, 2)]);
	uint32_t number[3], other;

	if (known == NULL)
		return false;
	other = t->r->mesh.cells[*known >> 2].n[*known & 3];
	numbers_of_old_face(t, *known >> 2, *known & 3, number);
	*in = has_fitted_face_corners(t, face, number) ? *known : other;
	*out = *in == other ? *known : other;
	return true;
}

/*
 * Returns the region of a new tetrahedron as far as one of its faces determines it: a region,
 * OUTSIDE, NOTHING or FOREIGN.
 */
static uint32_t
region_of_fitted_tet(const rb_joint *t, uint32_t face)
{
	const rb_cells *m = &t->r->mesh;
	bool wall = facet_of_fitted_face(t, face) != NULL;
	uint32_t in, out, other = fitted_face_beyond(t, face);

	if (!is_face_without_new_corner(t, face))
		return !wall && other == RB_NONE ? FOREIGN : NOTHING;
	/*
	 * A facet that bends by rounding may have other faces by now; on the boundary that does no
	 * harm.
	 */
	if (!cells_beside_cavity_face(t, face, &in, &out))
		return wall ? NOTHING : FOREIGN;
	if (!wall)
	{
		if (other != RB_NONE && t->place[other >> 2] != RB_TET_UNKNOWN)
			return NOTHING;
		return rb_cell_ghost(&m->cells[out >> 2]) ? OUTSIDE : m->cells[out >> 2].region;
	}
	if ((m->cells[in >> 2].bits & RB_CELL_WALL(in & 3)) == 0)
		return NOTHING;
	return rb_cell_ghost(&m->cells[in >> 2]) ? OUTSIDE : m->cells[in >> 2].region;
}

/*
 * Finds the new tetrahedra inside the mesh and their regions, one connected part between
 * constrained faces at a time.
 */
static rb_status
find_inserted_tets(rb_joint *t, bool *fits)
{
	RB_TRY(RB_GROW(t->r->ctx, t->region, t->region_cap, (size_t) t->tets.ntets + 1));
	for (uint32_t i = 0; i < t->tets.ntets && *fits; i++)
	{
		size_t from = t->fresh.n;
		uint32_t region = NOTHING;
		bool foreign = false, added = false;

		if (t->place[i] != RB_TET_NEW)
			continue;
		t->place[i] = RB_TET_SEEN;
		RB_TRY(rb_vec_append(t->r->ctx, &t->fresh, i));
		for (size_t next = from; next < t->fresh.n && *fits; next++)
		{
			if (rb_should_stop(t->r->ctx))
				return RB_STOPPED;
			for (uint32_t k = 0; k < 4; k++)
			{
				uint32_t face = t->fresh.at[next] << 2 | k, says = region_of_fitted_tet(t, face);
				uint32_t beyond = t->tets.neighbours[4 * (size_t) t->fresh.at[next] + k];

				foreign = foreign || says == FOREIGN;
				added = added || t->tets.tets[t->fresh.at[next]][k] >= t->cells.plc.npoints;
				if (says <= OUTSIDE)
				{
					*fits = *fits && (region == NOTHING || region == says);
					region = says;
				}
				if (beyond == RB_NONE || t->place[beyond] != RB_TET_NEW ||
					facet_of_fitted_face(t, face) != NULL)
					continue;
				t->place[beyond] = RB_TET_SEEN;
				RB_TRY(rb_vec_append(t->r->ctx, &t->fresh, beyond));
			}
		}
		if (region < OUTSIDE)
			*fits = *fits && !foreign && !added;
		else
			*fits = *fits && (region == OUTSIDE || foreign);
		for (size_t k = from; k < t->fresh.n; k++)
		{
			t->place[t->fresh.at[k]] = region < OUTSIDE ? RB_TET_FRESH : RB_TET_SEEN;
			t->region[t->fresh.at[k]] = region;
		}
		if (region >= OUTSIDE)
			t->fresh.n = from;
	}
	return RB_OK;
}

/* ---- removed cells ---- */

/* Adds a cell, once, to the old ones that the tetrahedra of the new PLC replace. */
static rb_status
add_cell_to_replace(rb_joint *t, uint32_t cell)
{
	if ((t->marks[cell] & RB_GROUP_OLD) != 0)
		return RB_OK;
	t->marks[cell] |= RB_GROUP_OLD;
	return rb_vec_append(t->r->ctx, &t->old, cell);
}

/*
 * Returns true if exactly two ghosts, this one and another, are around each edge of a ghost, so
 * that new ghosts are easy to link.
 */
static bool
is_ghost_easy_to_link(const rb_cells *m, uint32_t g)
{
	const rb_cell *c = &m->cells[g];
	uint32_t top = rb_cell_corner(c, RB_GHOST);

	for (uint32_t e = 0; e < 6; e++)
	{
		uint32_t from = rb_cell_edge_from(e), to = rb_cell_edge_to(e), ghosts = 0;
		rb_edge_ring ring = rb_ring_at(g, top, c->v[from], c->v[to]);

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

/*
 * Returns true if the joint insertion also removes the cell beyond face k of a removed cell, where
 * the new tetrahedra have that face, too. Sets *fits to false if there is no new tetrahedron on
 * this side.
 */
static bool
replaces_cell_beyond_face(const rb_joint *t, uint32_t cell, uint32_t k, uint32_t face, bool *fits)
{
	const rb_cells *m = &t->r->mesh;
	uint32_t number[3], other = fitted_face_beyond(t, face);
	bool ghost = rb_cell_ghost(&m->cells[m->cells[cell].n[k] >> 2]);

	numbers_of_old_face(t, cell, k, number);
	if (!has_fitted_face_corners(t, face, number))
	{
		uint32_t swap = other;

		other = face;
		face = swap;
	}
	/* The removed cell needs a new tetrahedron on its side of the face. */
	if (face == RB_NONE || t->place[face >> 2] == RB_TET_UNKNOWN)
	{
		*fits = false;
		return false;
	}
	if (!ghost)
		return other != RB_NONE && t->place[other >> 2] != RB_TET_UNKNOWN;
	return t->place[face >> 2] != RB_TET_FRESH || facet_of_fitted_face(t, face) == NULL ||
		   (other != RB_NONE && t->place[other >> 2] == RB_TET_FRESH);
}

/*
 * Lists the old cells that the tetrahedra of the new PLC replace: from the cells around the
 * blocked subsegments out to the cavity boundary.
 */
static rb_status
find_cells_to_replace(rb_joint *t, bool *fits)
{
	const rb_cells *m = &t->r->mesh;

	for (uint32_t i = 0; i < t->npoints; i++)
	{
		rb_entry64 entry = t->points[i].entry;
		rb_edge_ring ring = rb_ring_begin(m, rb_entry_cell(entry), rb_entry_part(entry));

		do
		{
			if (rb_should_stop(t->r->ctx))
				return RB_STOPPED;
			RB_TRY(add_cell_to_replace(t, ring.cell));
			rb_ring_next(m, &ring);
		} while (ring.cell != rb_entry_cell(entry));
	}
	/* A new tetrahedron outside the present boundary replaces a ghost. */
	for (size_t i = 0; i < t->fresh.n; i++)
		for (uint32_t k = 0; k < 4; k++)
		{
			uint32_t face = t->fresh.at[i] << 2 | k, in, out;

			if (is_face_without_new_corner(t, face) && cells_beside_cavity_face(t, face, &in, &out))
				RB_TRY(add_cell_to_replace(t, in >> 2));
		}
	for (size_t i = 0; i < t->old.n && *fits; i++)
	{
		uint32_t cell = t->old.at[i];

		if (rb_should_stop(t->r->ctx))
			return RB_STOPPED;
		if (rb_cell_ghost(&m->cells[cell]))
		{
			*fits = is_ghost_easy_to_link(m, cell);
			continue;
		}
		*fits = (t->marks[cell] & RB_GROUP_NEAR) != 0;
		for (uint32_t k = 0; k < 4 && *fits; k++)
		{
			uint32_t number[3];
			const uint32_t *face;

			numbers_of_old_face(t, cell, k, number);
			face = rb_table_get(&t->rim, number[0], number[1], number[2]);
			if (face == NULL || replaces_cell_beyond_face(t, cell, k, *face, fits))
				RB_TRY(add_cell_to_replace(t, m->cells[cell].n[k] >> 2));
		}
	}
	return RB_OK;
}

/* ---- comparison of the spaces ---- */

/* Counts the faces between a removed cell and a remaining cell or ghost. */
static uint32_t
count_remaining_faces(const rb_joint *t)
{
	const rb_cells *m = &t->r->mesh;
	uint32_t n = 0;

	for (size_t i = 0; i < t->old.n; i++)
	{
		const rb_cell *c = &m->cells[t->old.at[i]];
		uint32_t ghost = rb_cell_ghost(c) ? rb_cell_corner(c, RB_GHOST) : 4;

		for (uint32_t k = 0; k < 4; k++)
			n += (ghost == 4 || k == ghost) && (t->marks[c->n[k] >> 2] & RB_GROUP_OLD) == 0;
	}
	return n;
}

/*
 * Pairs each remaining cell at a removed one with its new neighbor, and checks the Delaunay
 * condition across their face. If all such faces have a pair, the new tetrahedra fill the space of
 * the removed cells.
 */
static rb_status
pair_cells(rb_joint *t, bool *fits)
{
	const rb_cells *m = &t->r->mesh;
	rb_exact_env env = {.filters = t->r->ctx->filters, .exact = true};

	for (size_t i = 0; i < t->fresh.n && *fits; i++)
		for (uint32_t k = 0; k < 4 && *fits; k++)
		{
			uint32_t tet = t->fresh.at[i], face = tet << 2 | k, other = fitted_face_beyond(t, face),
					 in, out;
			const double *p[5];
			uint32_t v[5];
			int sign;

			if (rb_should_stop(t->r->ctx))
				return RB_STOPPED;
			if (other != RB_NONE && t->place[other >> 2] == RB_TET_FRESH)
				continue;
			if (!is_face_without_new_corner(t, face) ||
				!cells_beside_cavity_face(t, face, &in, &out) ||
				(t->marks[out >> 2] & RB_GROUP_OLD) != 0)
			{
				/* The face will be on the boundary and get a ghost. */
				*fits = facet_of_fitted_face(t, face) != NULL;
				continue;
			}
			/*
			 * Where a facet bends, remaining and new cells may stem from two different
			 * triangulations of it.
			 */
			*fits = (t->marks[in >> 2] & RB_GROUP_OLD) != 0 &&
					(facet_of_fitted_face(t, face) != NULL) ==
						((m->cells[out >> 2].bits & RB_CELL_WALL(out & 3)) != 0);
			RB_TRY(rb_vec_append(t->r->ctx, &t->pairs, (uint64_t) out << 32 | face));
			if (facet_of_fitted_face(t, face) != NULL)
				continue;
			*fits = *fits && !rb_cell_ghost(&m->cells[out >> 2]);
			if (!*fits)
				continue;
			for (int j = 0; j < 4; j++)
			{
				v[j] = rb_cells_plc_site(t->r, &t->cells, t->tets.tets[tet][j]);
				p[j] = t->at + 3 * (size_t) t->tets.tets[tet][j];
			}
			v[4] = m->cells[out >> 2].v[out & 3];
			p[4] = rb_site_at(m, v[4]);
			sign = rb_insphere_at(&env, p[0], p[1], p[2], p[3], p[4]);
			if (sign == 0)
				sign = rb_insphere_ties(&env, p, v);
			*fits = sign < 0;
		}
	*fits = *fits && t->pairs.n == count_remaining_faces(t);
	return RB_OK;
}

/*
 * Toggles the edges of an old or new constrained face, except those on subsegments, to check that
 * old and new faces cover the same area of each facet. An edge that is toggled twice cancels. The
 * key of an edge contains its facet with the top bit set, so that the facet is the largest number
 * in the key. Facets with constrained faces have numbers below 2^31, because there are no more
 * faces than that.
 */
static rb_status
toggle_edges_of_constrained_face(rb_joint *t, const uint32_t *v, uint32_t facet)
{
	for (uint32_t k = 0; k < 3; k++)
	{
		uint32_t a = v[k], b = v[(k + 1) % 3], *odd;

		if (rb_table_get(&t->cells.pieces, a, b, RB_NONE) != NULL ||
			(a < t->cells.nold && b < t->cells.nold &&
			 rb_cells_plc_middle(&t->cells, t->cells.sites.at[a], t->cells.sites.at[b]) != RB_NONE))
			continue;
		RB_TRY(
			rb_table_insert(t->r->ctx, &t->edges, a, b, UINT32_C(1) << 31 | facet, 0, &odd, NULL));
		*odd ^= 1;
	}
	return RB_OK;
}

/* Checks for each facet that the new constrained faces cover the same area as the removed ones. */
static rb_status
check_fit_of_facets(rb_joint *t, bool *fits)
{
	const rb_cells *m = &t->r->mesh;

	for (size_t i = 0; i < t->old.n; i++)
	{
		const rb_cell *c = &m->cells[t->old.at[i]];

		if (rb_should_stop(t->r->ctx))
			return RB_STOPPED;
		for (uint32_t k = 0; k < 4 && !rb_cell_ghost(c); k++)
		{
			uint32_t other = c->n[k] >> 2, number[3];

			if ((c->bits & RB_CELL_WALL(k)) == 0 || (t->marks[other] & RB_GROUP_OLD) == 0 ||
				(!rb_cell_ghost(&m->cells[other]) && other < t->old.at[i]))
				continue;
			numbers_of_old_face(t, t->old.at[i], k, number);
			RB_TRY(toggle_edges_of_constrained_face(t, number, c->facet[k]));
		}
	}
	for (size_t i = 0; i < t->fresh.n; i++)
		for (uint32_t k = 0; k < 4; k++)
		{
			uint32_t tet = t->fresh.at[i], face = tet << 2 | k, other = fitted_face_beyond(t, face),
					 v[3];
			uint32_t in, out;
			const uint32_t *facet = facet_of_fitted_face(t, face);
			bool both = other != RB_NONE && t->place[other >> 2] == RB_TET_FRESH;

			if (rb_should_stop(t->r->ctx))
				return RB_STOPPED;
			if (facet == NULL || (both && other >> 2 < tet) ||
				(!both && is_face_without_new_corner(t, face) &&
				 cells_beside_cavity_face(t, face, &in, &out) &&
				 (t->marks[out >> 2] & RB_GROUP_OLD) == 0))
				continue;
			for (uint32_t j = 0; j < 3; j++)
				v[j] = t->tets.tets[tet][rb_cell_face_corner(k, j)];
			RB_TRY(toggle_edges_of_constrained_face(t, v, *facet));
		}
	for (size_t i = 0; t->edges.n > 0 && i <= t->edges.mask; i++)
		*fits = *fits && (t->edges.slot[i].key[0] == RB_NONE || t->edges.slot[i].value == 0);
	return RB_OK;
}

/*
 * Checks that every vertex of removed cells stays a corner of some cell, that every new point
 * becomes one, and that every region of the removed cells persists.
 */
static rb_status
are_vertices_and_regions_kept(rb_joint *t, bool *fits)
{
	const rb_cells *m = &t->r->mesh;

	t->held.n = 0;
	for (size_t i = 0; i < t->cells.plc.npoints + t->r->nregions; i++)
		RB_TRY(rb_vec_append(t->r->ctx, &t->held, 0));
	for (size_t i = 0; i < t->fresh.n; i++)
	{
		t->held.at[t->cells.nold + t->region[t->fresh.at[i]]] = 1;
		for (uint32_t k = 0; k < 4; k++)
		{
			const uint32_t v = t->tets.tets[t->fresh.at[i]][k];

			if (v < t->cells.nold)
				t->held.at[v] = 1;
			else if (rb_joint_is_new(t, v))
				t->held.at[v + t->r->nregions] = 1;
		}
	}
	for (uint32_t v = t->cells.nold; v < t->cells.plc.npoints; v++)
		*fits = *fits && t->held.at[v + t->r->nregions] != 0;
	for (size_t i = 0; i < t->near.n; i++)
		for (uint32_t k = 0; k < 4 && (t->marks[t->near.at[i]] & RB_GROUP_OLD) == 0; k++)
			t->held.at[rb_cells_plc_number(&t->cells, m->cells[t->near.at[i]].v[k])] = 1;
	for (size_t i = 0; i < t->old.n && *fits; i++)
	{
		const rb_cell *c = &m->cells[t->old.at[i]];

		if (rb_cell_ghost(c))
			continue;
		*fits = t->held.at[t->cells.nold + c->region] != 0;
		for (uint32_t k = 0; k < 4; k++)
			*fits = *fits && t->held.at[rb_cells_plc_number(&t->cells, c->v[k])] != 0;
	}
	t->held.n = 0;
	return RB_OK;
}

/* Finds the tetrahedra and cells to exchange. Sets *fits if the exchange is valid. */
static rb_status
check_exchange(rb_joint *t, bool *fits)
{
	rb_status status;

	*fits = true;
	t->old.n = t->fresh.n = 0;
	t->pairs.n = 0;
	rb_table_empty(&t->faces);
	rb_table_empty(&t->rim);
	rb_table_empty(&t->known);
	rb_table_empty(&t->edges);
	status = find_tets_with_new_corner(t);
	if (status == RB_OK)
		status = find_inserted_tets(t, fits);
	if (status == RB_OK && *fits)
		status = find_cells_to_replace(t, fits);
	if (status == RB_OK && *fits)
		status = pair_cells(t, fits);
	if (status == RB_OK && *fits)
		status = check_fit_of_facets(t, fits);
	if (status == RB_OK && *fits)
		status = are_vertices_and_regions_kept(t, fits);
	for (size_t i = 0; i < t->old.n; i++)
		t->marks[t->old.at[i]] &= ~RB_GROUP_OLD;
	return status;
}

/* ---- replacement ---- */

/* Returns the next cell slot: a free one, or a new one at the end. */
static uint32_t
next_slot_of_fitted_cell(rb_refining *r)
{
	return r->nfree > 0 ? r->free[--r->nfree] : r->ncells++;
}

/* Makes a cell from a new tetrahedron. */
static void
make_fitted_cell(rb_joint *t, uint32_t tet)
{
	rb_refining *r = t->r;
	const uint32_t *v = t->tets.tets[tet];
	rb_cell *c = &r->mesh.cells[t->place[tet]];

	c->bits = 0;
	c->claim = 0;
	c->region = t->region[tet];
	for (uint32_t k = 0; k < 4; k++)
	{
		const uint32_t *facet = facet_of_fitted_face(t, tet << 2 | k);

		c->v[k] = rb_cells_plc_site(t->r, &t->cells, v[k]);
		c->n[k] = RB_NOWHERE;
		c->facet[k] = facet != NULL ? *facet : RB_NOWHERE;
		if (facet != NULL)
			c->bits |= RB_CELL_WALL(k);
	}
	for (uint32_t e = 0; e < 6; e++)
		if (rb_table_get(&t->cells.pieces, v[rb_cell_edge_from(e)], v[rb_cell_edge_to(e)],
						 RB_NONE) != NULL)
			c->bits |= RB_CELL_SEGMENT(e);
}

/* Builds the ghost behind face k of a new cell on the boundary. */
static void
add_fitted_ghost(rb_refining *r, uint32_t cell, uint32_t k)
{
	uint32_t place = next_slot_of_fitted_cell(r);
	rb_cell *c = &r->mesh.cells[cell];

	rb_ghost_make(&r->mesh.cells[place], c, cell, k);
	c->n[k] = place << 2;
}

/*
 * Links a new ghost with the next one around each of its edges, at the other end of the fan of
 * cells there.
 */
static void
link_fitted_ghost(rb_cells *m, uint32_t g)
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

/* Makes the vertices of the added points. */
static void
make_fitted_vertices(rb_joint *t)
{
	rb_refining *r = t->r;
	rb_cells *m = &r->mesh;

	for (uint32_t i = 0; i < t->npoints; i++)
	{
		const rb_blocked_point *p = &t->points[i];
		uint32_t site = r->nsites + i;

		memcpy(m->sites[site].at, p->at, sizeof p->at);
		m->sites[site].radius = p->raise;
		m->kind[site] = RB_VERTEX_ON_SEGMENT;
		m->parent[site] = p->segment;
	}
}

/* Performs the exchange that check_exchange found valid. */
static rb_status
replace_cells(rb_joint *t)
{
	rb_refining *r = t->r;
	rb_cells *m = &r->mesh;
	size_t most = (size_t) r->ncells + 5 * t->fresh.n;
	uint32_t first;

	/* The last slot would have a link equal to RB_NOWHERE. */

	if (most >= RB_MAX_CELLS)
		return rb_fail(r->ctx, RB_TOO_MANY_OBJECTS, most, RB_MAX_CELLS, NULL);
	RB_TRY(rb_refining_reserve(r, most, (size_t) r->nsites + t->npoints));
	RB_TRY(RB_GROW(r->ctx, r->free, r->free_cap, (size_t) r->nfree + t->old.n));
	RB_TRY(RB_GROW(r->ctx, t->marks, t->marks_cap, most));
	t->ghosts.n = 0;
	memset(t->marks + r->ncells, 0, most - r->ncells);
	make_fitted_vertices(t);
	for (size_t i = 0; i < t->fresh.n; i++)
		t->place[t->fresh.at[i]] = r->ncells + (uint32_t) i;
	first = r->ncells;
	r->ncells += (uint32_t) t->fresh.n;
	/* The mesh is not used if the work stops from here on. */
	for (size_t i = 0; i < t->fresh.n; i++)
	{
		if (rb_should_stop(r->ctx))
			return RB_STOPPED;
		make_fitted_cell(t, t->fresh.at[i]);
	}
	RB_TRY(rb_refining_radii(r, first, r->nsites, t->npoints));
	/* Link the new cells with each other, then with the remaining cells. */
	for (size_t i = 0; i < t->fresh.n; i++)
		for (uint32_t k = 0; k < 4; k++)
		{
			uint32_t other = fitted_face_beyond(t, t->fresh.at[i] << 2 | k);

			if (other != RB_NONE && t->place[other >> 2] < RB_TET_FRESH)
				m->cells[first + i].n[k] = t->place[other >> 2] << 2 | (other & 3);
		}
	for (size_t i = 0; i < t->pairs.n; i++)
	{
		uint32_t out = (uint32_t) (t->pairs.at[i] >> 32), face = (uint32_t) t->pairs.at[i];
		uint32_t to = t->place[face >> 2] << 2 | (face & 3);

		m->cells[out >> 2].n[out & 3] = to;
		m->cells[to >> 2].n[to & 3] = out;
	}
	for (size_t i = 0; i < t->old.n; i++)
	{
		m->cells[t->old.at[i]].v[0] = RB_DEAD;
		r->free[r->nfree++] = t->old.at[i];
	}
	/* By now, only boundary faces lack a link. */
	for (size_t i = 0; i < t->fresh.n; i++)
		for (uint32_t k = 0; k < 4; k++)
			if (m->cells[first + i].n[k] == RB_NOWHERE)
			{
				add_fitted_ghost(r, first + (uint32_t) i, k);
				RB_TRY(rb_vec_append(t->r->ctx, &t->ghosts, m->cells[first + i].n[k] >> 2));
			}
	for (size_t i = 0; i < t->ghosts.n; i++)
		link_fitted_ghost(m, t->ghosts.at[i]);
	r->nsites += t->npoints;
	return RB_OK;
}

rb_status
rb_joint_exchange(rb_joint *t, bool *done)
{
	bool fits = false;
	rb_status status = check_exchange(t, &fits);

	if (status == RB_OK && fits)
	{
		status = replace_cells(t);
		*done = status == RB_OK;
	}
	return status;
}
