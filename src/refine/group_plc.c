/*
 * group_plc.c
 *	  Builds a PLC from the cells around jointly inserted points, and these points.
 *
 * A constrained face of a cell becomes a triangle of the PLC, and a subsegment becomes a segment.
 * If a subsegment has a new point, it is split there, together with the faces at it. Faces between
 * the cells and the rest of the mesh are not represented: the PLC is tetrahedralized up to its
 * hull, and group_fit.c finds which part of that belongs to the mesh.
 */
#include "refine/group.h"

#include "core/base/sort.h"

/* ---- points ---- */

static rb_status
add_points(rb_joint *t)
{
	const rb_cells *m = &t->r->mesh;
	size_t n;

	for (size_t i = 0; i < t->near.n; i++)
	{
		if (rb_should_stop(t->r->ctx))
			return RB_STOPPED;
		for (uint32_t k = 0; k < 4; k++)
		{
			uint32_t site = m->cells[t->near.at[i]].v[k];
			bool fresh;

			RB_TRY(
				rb_table_insert(t->r->ctx, &t->numbers, site, RB_NONE, RB_NONE, 0, NULL, &fresh));
			if (fresh)
				RB_TRY(rb_vec_append(t->r->ctx, &t->sites, site));
		}
	}
	RB_TRY(RB_GROW(t->r->ctx, t->at, t->at_cap, 3 * (t->sites.n + t->npoints)));
	RB_TRY(rb_sort_numbers(t->r->ctx, t->sites.at, t->sites.n));
	n = t->sites.n;
	for (size_t i = 0; i < n; i++)
	{
		*rb_table_get(&t->numbers, t->sites.at[i], RB_NONE, RB_NONE) = (uint32_t) i;
		memcpy(t->at + 3 * i, rb_site_at(m, t->sites.at[i]), 3 * sizeof(double));
	}
	for (uint32_t i = 0; i < t->npoints; i++)
		memcpy(t->at + 3 * (n + i), t->points[i].at, 3 * sizeof(double));
	t->plc.npoints = (uint32_t) (n + t->npoints);
	t->plc.points = t->at;
	return RB_OK;
}

/* ---- constrained faces ---- */

/*
 * Adds a constrained face, given by its vertices. If its edges are split, it becomes several
 * triangles.
 */
static rb_status
add_constrained_face(rb_joint *t, const uint32_t *v, uint32_t facet)
{
	uint32_t stack[8][3]; /* PLC numbers */
	int n = 1;

	for (int k = 0; k < 3; k++)
		stack[0][k] = rb_joint_number(t, v[k]);
	while (n > 0)
	{
		uint32_t w[3], middle = RB_NONE;
		size_t to = t->plc.ntriangles;
		int k;

		memcpy(w, stack[--n], sizeof w);
		for (k = 0; k < 3 && middle == RB_NONE; k++)
			if (w[k] < t->sites.n && w[(k + 1) % 3] < t->sites.n)
				middle = rb_joint_middle(t, t->sites.at[w[k]], t->sites.at[w[(k + 1) % 3]]);
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
		RB_TRY(RB_GROW(t->r->ctx, t->triangles, t->triangles_cap, to + 1));
		RB_TRY(RB_GROW(t->r->ctx, t->facet_of, t->facet_of_cap, to + 1));
		memcpy(t->triangles[to], w, sizeof w);
		t->facet_of[to] = facet;
		t->plc.ntriangles++;
	}
	return RB_OK;
}

static rb_status
add_constrained_faces(rb_joint *t)
{
	const rb_cells *m = &t->r->mesh;

	for (size_t i = 0; i < t->near.n; i++)
	{
		uint32_t cell = t->near.at[i];
		const rb_cell *c = &m->cells[cell];

		if (rb_should_stop(t->r->ctx))
			return RB_STOPPED;
		for (uint32_t k = 0; k < 4; k++)
		{
			uint32_t other = c->n[k] >> 2;

			/* List the face from one of its sides only. */

			if ((c->bits & RB_CELL_WALL(k)) == 0 ||
				((t->marks[other] & RB_GROUP_NEAR) != 0 && other < cell))
				continue;
			RB_TRY(RB_GROW(t->r->ctx, t->walls, t->walls_cap, t->nwalls + 1));
			t->walls[t->nwalls++] = (uint64_t) c->facet[k] << 32 | (cell << 2 | k);
		}
	}
	if (t->nwalls > 0)
		RB_TRY(rb_sort_words(t->r->ctx, t->walls, t->nwalls));
	for (size_t i = 0; i < t->nwalls; i++)
	{
		uint32_t face = (uint32_t) t->walls[i], facet = (uint32_t) (t->walls[i] >> 32), v[3];
		const rb_cell *c = &m->cells[face >> 2];

		if (rb_should_stop(t->r->ctx))
			return RB_STOPPED;
		if (t->facets.n == 0 || t->facets.at[t->facets.n - 1] != facet)
			RB_TRY(rb_vec_append(t->r->ctx, &t->facets, facet));
		for (uint32_t j = 0; j < 3; j++)
			v[j] = c->v[rb_cell_face_corner(face & 3, j)];
		RB_TRY(add_constrained_face(t, v, (uint32_t) t->facets.n - 1));
	}
	t->plc.nfacets = (uint32_t) t->facets.n;
	t->plc.triangles = (const uint32_t(*)[3]) t->triangles;
	t->plc.facet_of = t->facet_of;
	return RB_OK;
}

/* ---- subsegments ---- */

static rb_status
add_subsegment(rb_joint *t, uint32_t a, uint32_t b, rb_entry64 entry)
{
	bool fresh;

	RB_TRY(rb_table_insert(t->r->ctx, &t->pieces, a, b, RB_NONE, t->plc.nsegments, NULL, &fresh));
	if (!fresh)
		return RB_OK;
	RB_TRY(RB_GROW(t->r->ctx, t->segments, t->segments_cap, (size_t) t->plc.nsegments + 1));
	RB_TRY(RB_GROW(t->r->ctx, t->entries, t->entries_cap, (size_t) t->plc.nsegments + 1));
	t->entries[t->plc.nsegments] = entry;
	t->segments[t->plc.nsegments][0] = a;
	t->segments[t->plc.nsegments++][1] = b;
	return RB_OK;
}

static rb_status
add_subsegments(rb_joint *t)
{
	const rb_cells *m = &t->r->mesh;

	for (size_t i = 0; i < t->near.n; i++)
	{
		const rb_cell *c = &m->cells[t->near.at[i]];

		if (rb_should_stop(t->r->ctx))
			return RB_STOPPED;
		for (uint32_t e = 0; e < 6; e++)
		{
			uint32_t u = c->v[rb_cell_edge_from(e)], v = c->v[rb_cell_edge_to(e)], a, b, middle;
			rb_entry64 entry;

			if ((c->bits & RB_CELL_SEGMENT(e)) == 0)
				continue;
			entry = rb_entry_make(m, t->near.at[i], e, RB_SPLIT_PIECE, true);
			middle = rb_joint_middle(t, u, v);
			a = rb_joint_number(t, u);
			b = rb_joint_number(t, v);
			if (middle == RB_NONE)
				RB_TRY(add_subsegment(t, a, b, entry));
			else
			{
				RB_TRY(add_subsegment(t, a, middle, entry));
				RB_TRY(add_subsegment(t, middle, b, entry));
			}
		}
	}
	t->plc.segments = (const uint32_t(*)[2]) t->segments;
	return RB_OK;
}

rb_status
rb_joint_build_plc(rb_joint *t)
{
	memset(&t->plc, 0, sizeof t->plc);
	t->sites.n = t->facets.n = 0;
	t->nwalls = 0;
	rb_table_empty(&t->numbers);
	rb_table_empty(&t->pieces);
	RB_TRY(add_points(t));
	RB_TRY(add_constrained_faces(t));
	return add_subsegments(t);
}
