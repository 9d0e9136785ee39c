/*
 * group_insert.c
 *	  Inserts points that can only be inserted jointly: in small groups where that affects few
 *	  cells, otherwise by rebuilding the whole mesh.
 *
 * A point on a segment may lie in the circumsphere of a tetrahedron of which it sees only a part,
 * next to another segment that it encroaches upon as well. Then no constrained Delaunay
 * tetrahedralization exists with that point alone. In most cases the other segment is blocked for
 * the same reason: each would have to be split before the other one. So they are split at once.
 *
 * A group consists of blocked subsegments that lie in each other's cavities. The cells whose
 * circumspheres contain its points, and some layers of cells around them, form a PLC of their own:
 * their corners and the new points, their constrained faces and their subsegments (cells_plc.c).
 * The tetrahedra of its tetrahedralization that have a new point as a corner replace the cells
 * whose space they fill (group_fit.c).
 *
 * That is valid under three conditions, which are checked. The faces around the new tetrahedra are
 * exactly the faces around the replaced cells, seen from the same side; the Delaunay condition
 * holds across each of them, by exact signs; and no point was added. If a condition fails, more
 * cells are included and, where points were added on subsegments, the group gets points on these.
 * After a few tries the group is abandoned until other work is done.
 *
 * To rebuild the mesh, all blocked subsegments are split, and the mesh is tetrahedralized again
 * from all its points, with constrained faces as facets and subsegments as segments.
 */
#include "refine/group.h"

#include "core/base/sort.h"

/*
 * Maximum number of cells in a group, and the layers of cells around its cavities at the first try;
 * each further try adds one layer
 */
#define GROUP_CELLS 20000
#define LAYERS 2
/* Maximum number of tries for a group, each with more points or more cells */
#define TRIES 4
/* Maximum number of constrained faces around a subsegment whose facets are crossed */
#define MAX_FACETS 16
/* Exclusive maximum of counts; larger numbers have special meanings */
#define MAX_COUNT (UINT32_MAX - 8)
/* Cells that a thread resets at a time */
#define CELLS 16384

/* ---- points ---- */

/*
 * Computes the split point of a blocked subsegment, and its ends. Returns false if the entry is
 * stale or no longer needs a point.
 */
static bool
find_split_point(rb_refining *r, rb_entry64 entry, rb_refine_candidate *cand, uint32_t *u,
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
	rb_candidate_build_piece(m, cand, c, e, &measure);
	*u = c->v[rb_cell_edge_from(e)];
	*v = c->v[rb_cell_edge_to(e)];
	return cand->verdict == RB_READY;
}

/*
 * Indexes the blocked and the abandoned subsegments. Of two entries for the same subsegment, the
 * first counts.
 */
static rb_status
index_blocked_subsegments(rb_joint *t)
{
	rb_refining *r = t->r;

	for (uint32_t i = 0; i < r->nabandoned; i++)
		RB_TRY(rb_table_insert(r->ctx, &t->abandoned, r->abandoned[i][0], r->abandoned[i][1],
							   RB_NONE, i, NULL, NULL));
	for (uint32_t i = 0; i < r->nblocked; i++)
	{
		const rb_cell *c = &r->mesh.cells[rb_entry_cell(r->blocked[i])];
		uint32_t e = rb_entry_part(r->blocked[i]);

		if (rb_should_stop(r->ctx))
			return RB_STOPPED;
		if (rb_entry_alive(&r->mesh, r->blocked[i]))
			RB_TRY(rb_table_insert(r->ctx, &t->blocked, c->v[rb_cell_edge_from(e)],
								   c->v[rb_cell_edge_to(e)], RB_NONE, i, NULL, NULL));
	}
	return RB_OK;
}

/* ---- cells of a group ---- */

/* Adds a cell, once, to the group of cells that a joint insertion tetrahedralizes again. */
static rb_status
add_cell_to_group(rb_joint *t, uint32_t cell)
{
	if ((t->marks[cell] & RB_GROUP_NEAR) == 0)
		RB_TRY(rb_vec_append(t->r->ctx, &t->near, cell));
	t->marks[cell] |= RB_GROUP_NEAR;
	return RB_OK;
}

/* Adds a point to the group unless its subsegment has one already. */
static rb_status
add_group_point(rb_joint *t, const rb_blocked_point *p, bool *fresh)
{
	RB_TRY(
		rb_table_insert(t->r->ctx, &t->cells.split, p->u, p->v, RB_NONE, t->npoints, NULL, fresh));
	if (!*fresh)
		return RB_OK;
	RB_TRY(RB_GROW(t->r->ctx, t->points, t->points_cap, (size_t) t->npoints + 1));
	t->points[t->npoints++] = *p;
	return RB_OK;
}

/* Adds the split point of a blocked entry to the group. */
static rb_status
add_blocked_point(rb_joint *t, rb_entry64 entry)
{
	rb_refine_candidate cand;
	rb_blocked_point p;
	bool fresh;

	if (!find_split_point(t->r, entry, &cand, &p.u, &p.v))
		return RB_OK;
	memcpy(p.at, cand.at, sizeof p.at);
	p.raise = cand.raise;
	p.segment = rb_piece_segment(&t->r->mesh, p.u, p.v);
	p.entry = entry;
	return add_group_point(t, &p, &fresh);
}

/* Adds the split points of those subsegments of a cell that are blocked, too. */
static rb_status
add_blocked_points_of(rb_joint *t, uint32_t cell)
{
	for (uint32_t e = 0; e < 6; e++)
	{
		const rb_cell *c = &t->r->mesh.cells[cell];
		uint32_t u = c->v[rb_cell_edge_from(e)], v = c->v[rb_cell_edge_to(e)];
		const uint32_t *at;

		/* Only the first of the many cells around a subsegment adds its point. */

		if ((c->bits & RB_CELL_SEGMENT(e)) == 0 ||
			rb_table_get(&t->cells.split, u, v, RB_NONE) != NULL)
			continue;
		at = rb_table_get(&t->blocked, u, v, RB_NONE);
		if (at != NULL)
			RB_TRY(add_blocked_point(t, t->r->blocked[*at]));
	}
	return RB_OK;
}

/*
 * Records that the circumsphere of a cell contains the current point; must be called once per cell.
 */
static rb_status
record_cell_holding_point(rb_joint *t, uint32_t cell)
{
	RB_TRY(rb_vec_append(t->r->ctx, &t->held, cell));
	t->marks[cell] |= RB_GROUP_HELD;
	return RB_OK;
}

/*
 * Finds the cells whose circumspheres contain point k. The search does not cross constrained faces,
 * except those of facets that the point is on. Sets *enough if the group becomes too large.
 *
 * Of the faces around the point's subsegment, only the facets of the first MAX_FACETS are crossed.
 * That is harmless: cells that are not found here enter the group with its layers, or the exchange
 * does not fit (group_fit.c) and the point is inserted by rebuilding the mesh.
 */
static rb_status
find_group_cavity(rb_joint *t, uint32_t k, bool *enough)
{
	const rb_cells *m = &t->r->mesh;
	rb_exact_env env = {.filters = t->r->ctx->filters, .exact = true};
	rb_entry64 entry = t->points[k].entry;
	uint32_t start = rb_entry_cell(entry), facets[MAX_FACETS], nfacets = 0;
	rb_edge_ring ring = rb_ring_begin(m, start, rb_entry_part(entry));

	t->held.n = 0;
	do
	{
		const rb_cell *c = &m->cells[ring.cell];

		if (rb_should_stop(t->r->ctx))
			return RB_STOPPED;
		if ((c->bits & RB_CELL_WALL(ring.to)) != 0 && nfacets < MAX_FACETS)
			facets[nfacets++] = c->facet[ring.to];
		if (!rb_cell_ghost(c))
			RB_TRY(record_cell_holding_point(t, ring.cell));
		rb_ring_next(m, &ring);
	} while (ring.cell != start);
	for (size_t i = 0; i < t->held.n; i++)
	{
		uint32_t cell = t->held.at[i];
		const rb_cell *c = &m->cells[cell];

		if (rb_should_stop(t->r->ctx))
			return RB_STOPPED;
		RB_TRY(add_cell_to_group(t, cell));
		RB_TRY(add_blocked_points_of(t, cell));
		*enough = *enough || t->near.n > GROUP_CELLS;
		for (uint32_t j = 0; j < 4 && !*enough; j++)
		{
			uint32_t beyond = c->n[j] >> 2, f = 0;

			if ((c->bits & RB_CELL_WALL(j)) != 0)
			{
				while (f < nfacets && facets[f] != c->facet[j])
					f++;
				if (f == nfacets)
					continue;
			}
			if (!rb_cell_ghost(&m->cells[beyond]) && (t->marks[beyond] & RB_GROUP_HELD) == 0 &&
				rb_cell_holds(m, &env, beyond, t->points[k].at) == 1)
				RB_TRY(record_cell_holding_point(t, beyond));
		}
	}
	for (size_t i = 0; i < t->held.n; i++)
		t->marks[t->held.at[i]] &= ~RB_GROUP_HELD;
	return RB_OK;
}

/*
 * Finds the cells and further points that points from number k on require. Sets *enough if they are
 * too many.
 */
static rb_status
find_cells_of_group(rb_joint *t, uint32_t k, bool *enough)
{
	uint64_t most = t->r->options->max_points > 0 ? t->r->options->max_points : MAX_COUNT;

	for (; k < t->npoints && !*enough; k++)
		RB_TRY(find_group_cavity(t, k, enough));
	if (t->r->nsites + (uint64_t) t->npoints > most)
		t->r->full = *enough = true;
	return RB_OK;
}

/* Adds layers of cells around the group. */
static rb_status
add_layers(rb_joint *t, int layers)
{
	const rb_cells *m = &t->r->mesh;

	for (size_t from = 0; layers > 0; layers--)
	{
		size_t to = t->near.n;

		for (; from < to; from++)
		{
			if (rb_should_stop(t->r->ctx))
				return RB_STOPPED;
			for (uint32_t j = 0; j < 4; j++)
			{
				uint32_t beyond = m->cells[t->near.at[from]].n[j] >> 2;

				if (!rb_cell_ghost(&m->cells[beyond]))
					RB_TRY(add_cell_to_group(t, beyond));
			}
		}
	}
	return RB_OK;
}

/* ---- points that were added ---- */

/*
 * Adds to the group the points that the tetrahedralization added on other subsegments, next to new
 * points.
 */
static rb_status
add_added_points(rb_joint *t)
{
	uint32_t nsites = (uint32_t) t->cells.sites.n;

	for (uint32_t i = 0; i < t->tets.ntets; i++)
		for (uint32_t k = 0; k < 4 && rb_joint_has_new(t, i); k++)
		{
			uint32_t v = t->tets.tets[i][k], on;
			rb_blocked_point p;
			bool fresh;

			if (rb_should_stop(t->r->ctx))
				return RB_STOPPED;
			if (v < t->cells.plc.npoints || t->tets.kind[v] != RB_VERTEX_ON_SEGMENT)
				continue;
			on = t->tets.parent[v];
			if (on >= t->cells.plc.nsegments || t->cells.segments[on][0] >= nsites ||
				t->cells.segments[on][1] >= nsites)
				continue;
			p.u = t->cells.sites.at[t->cells.segments[on][0]];
			p.v = t->cells.sites.at[t->cells.segments[on][1]];
			p.raise = 0;
			memcpy(p.at, t->tets.points + 3 * (size_t) v, sizeof p.at);
			p.segment = rb_piece_segment(&t->r->mesh, p.u, p.v);
			p.entry = t->cells.entries[on];
			RB_TRY(add_group_point(t, &p, &fresh));
		}
	return RB_OK;
}

/* ---- the PLC of a group ---- */

/* Numbers the vertices of the cells, ascending, and then the points of the group. */
static rb_status
number_group_points(rb_joint *t)
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

			RB_TRY(rb_table_insert(t->r->ctx, &t->cells.numbers, site, RB_NONE, RB_NONE, 0, NULL,
								   &fresh));
			if (fresh)
				RB_TRY(rb_vec_append(t->r->ctx, &t->cells.sites, site));
		}
	}
	RB_TRY(RB_GROW(t->r->ctx, t->at, t->at_cap, 3 * (t->cells.sites.n + t->npoints)));
	RB_TRY(rb_sort_numbers(t->r->ctx, t->cells.sites.at, t->cells.sites.n));
	n = t->cells.sites.n;
	t->cells.nold = (uint32_t) n;
	for (size_t i = 0; i < n; i++)
	{
		*rb_table_get(&t->cells.numbers, t->cells.sites.at[i], RB_NONE, RB_NONE) = (uint32_t) i;
		memcpy(t->at + 3 * i, rb_site_at(m, t->cells.sites.at[i]), 3 * sizeof(double));
	}
	for (uint32_t i = 0; i < t->npoints; i++)
		memcpy(t->at + 3 * (n + i), t->points[i].at, 3 * sizeof(double));
	t->cells.plc.npoints = (uint32_t) (n + t->npoints);
	t->cells.plc.points = t->at;
	return RB_OK;
}

/* Builds the PLC of the group's cells, with the new points of its blocked subsegments. */
static rb_status
build_plc(rb_joint *t)
{
	t->cells.sites.n = 0;
	rb_table_empty(&t->cells.numbers);
	RB_TRY(number_group_points(t));
	return rb_cells_plc_build(t->r, &t->cells, t->near.at, t->near.n, t->marks, RB_GROUP_NEAR);
}

/* ---- a group ---- */

/* Tries to insert the points of a group. Sets *done on success. */
static rb_status
try_inserting_group(rb_joint *t, bool *done)
{
	rb_flaw flaw;
	rb_status status = build_plc(t);

	if (status == RB_OK)
		status = rb_tetrahedralize(t->r->ctx, &t->cells.plc, RB_KEEP_HULL, &t->tets, &flaw);
	if (status == RB_BAD_PLC)
	{
		rb_forget_failure(t->r->ctx);
		return RB_OK;
	}
	if (status == RB_OK)
		status = rb_joint_exchange(t, done);
	if (status == RB_OK && !*done)
		status = add_added_points(t);
	rb_tets_free(t->r->ctx->memory, &t->tets);
	return status;
}

/*
 * Marks the subsegments of the group as abandoned until all other work is done: starting with
 * another one of them would give the same group.
 */
static rb_status
mark_abandoned(rb_joint *t)
{
	rb_refining *r = t->r;

	RB_TRY(RB_GROW(r->ctx, r->abandoned, r->abandoned_cap, (size_t) r->nabandoned + t->npoints));
	for (uint32_t i = 0; i < t->npoints; i++)
	{
		const rb_blocked_point *p = &t->points[i];

		r->abandoned[r->nabandoned][0] = p->u;
		r->abandoned[r->nabandoned][1] = p->v;
		RB_TRY(rb_table_insert(r->ctx, &t->abandoned, p->u, p->v, RB_NONE, r->nabandoned++, NULL,
							   NULL));
	}
	return RB_OK;
}

/* Inserts a blocked point with others near it, in growing groups of cells. */
static rb_status
insert_group(rb_joint *t, rb_entry64 blocked, bool *done)
{
	bool enough = false;
	uint32_t known = 0;

	t->near.n = 0;
	t->npoints = 0;
	rb_table_empty(&t->cells.split);
	RB_TRY(add_blocked_point(t, blocked));
	/* Each try takes in more points and more cells. */
	for (int i = 0; i < TRIES && t->npoints > 0 && !*done; i++)
	{
		RB_TRY(find_cells_of_group(t, known, &enough));
		known = t->npoints;
		if (enough)
			break;
		RB_TRY(add_layers(t, i == 0 ? LAYERS : 1));
		RB_TRY(try_inserting_group(t, done));
	}
	if (!*done && t->npoints > 0)
		RB_TRY(mark_abandoned(t));
	for (size_t i = 0; i < t->near.n; i++)
		t->marks[t->near.at[i]] = 0;
	return RB_OK;
}

/* Returns true if an entry is abandoned. */
static bool
is_abandoned(const rb_joint *t, rb_entry64 entry)
{
	const rb_cell *c = &t->r->mesh.cells[rb_entry_cell(entry)];
	uint32_t e = rb_entry_part(entry);

	return rb_table_get(&t->abandoned, c->v[rb_cell_edge_from(e)], c->v[rb_cell_edge_to(e)],
						RB_NONE) != NULL;
}

/* Frees the arrays of the joint insertion. */
static void
free_joint(rb_joint *t)
{
	rb_memory *memory = t->r->ctx->memory;
	rb_numbers *lists[] = {&t->near, &t->old, &t->fresh, &t->held, &t->ghosts};
	rb_table *tables[] = {&t->blocked, &t->abandoned, &t->edges, &t->faces, &t->rim, &t->known};

	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
		rb_vec_free(memory, lists[i]);
	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
		rb_table_free(memory, tables[i]);
	rb_cells_plc_free(memory, &t->cells);
	RB_FREE(memory, t->marks);
	RB_FREE(memory, t->points);
	RB_FREE(memory, t->at);
	RB_FREE(memory, t->place);
	RB_FREE(memory, t->region);
	rb_vec_free(memory, &t->pairs);
}

/*
 * Clears the bits that mark cells as listed or abandoned, so that they are examined again after a
 * joint insertion.
 */
static void
reset_cells_after_insertion_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_cell *cells = arg;
	const uint32_t keep = RB_CELL_WALLS | RB_CELL_SEGMENTS | RB_CELL_FINE;

	(void) me;
	for (uint64_t i = from; i < to; i++)
		if ((cells[i].bits & ~keep) != 0)
			cells[i].bits &= keep;
}

/* Clears the marks of all cells after joint insertions, on several threads. */
static rb_status
reset_cells_after_insertion(rb_refining *r)
{
	rb_thread *team;
	rb_status status = rb_refining_team(r, r->ncells, &team);

	if (status == RB_OK)
		status = rb_each(r->ctx, team, r->ncells, CELLS, reset_cells_after_insertion_piece,
						 r->mesh.cells);
	rb_team_close(&team);
	return status;
}

rb_status
rb_refining_insert_jointly(rb_refining *r, bool *any)
{
	rb_joint t;
	uint32_t left = 0;
	rb_status status;

	memset(&t, 0, sizeof t);
	t.r = r;
	*any = false;
	status = RB_GROW(r->ctx, t.marks, t.marks_cap, r->ncells);
	if (status == RB_OK)
		memset(t.marks, 0, r->ncells);
	if (status == RB_OK)
		status = index_blocked_subsegments(&t);
	for (uint32_t i = 0; i < r->nblocked && status == RB_OK; i++)
	{
		bool done = false;

		if (rb_should_stop(r->ctx))
		{
			status = RB_STOPPED;
			break;
		}
		if (!rb_entry_alive(&r->mesh, r->blocked[i]) || is_abandoned(&t, r->blocked[i]))
			continue;
		status = insert_group(&t, r->blocked[i], &done);
		*any = *any || done;
	}
	/* Keep the entries of points that are still blocked. */
	for (uint32_t i = 0; i < r->nblocked; i++)
		if (rb_entry_alive(&r->mesh, r->blocked[i]))
			r->blocked[left++] = r->blocked[i];
	r->nblocked = left;
	if (*any && status == RB_OK)
		status = reset_cells_after_insertion(r);
	free_joint(&t);
	return status;
}

/* ---- the whole mesh ---- */

typedef struct rebuild
{
	rb_refining *r;
	double *points;
	size_t points_cap;
	uint32_t npoints;
	/*
	 * For points from r->nsites on: the segment that each splits, and its minimum insertion radius
	 */
	uint32_t *parent;
	double *raise;
	size_t parent_cap, raise_cap;
	rb_cells_plc cells;   /* The PLC of all tetrahedra and the new points */
	uint32_t *segment_of; /* Mesh segment of each segment of the PLC */
	rb_seed *seeds;
	size_t seeds_cap;
	uint32_t nseeds;
	uint32_t *seed_region;
	size_t seed_region_cap;
} rebuild;

/* Returns true if the work should stop. It is a single load, so it can be polled for every item. */
static bool
is_rebuild_stopped(const rebuild *b)
{
	return rb_should_stop(b->r->ctx);
}

/*
 * Returns true if the cell is a tetrahedron of the mesh that is rebuilt, neither a free slot nor a
 * ghost.
 */
static bool
is_rebuilt_tet(const rb_cell *c)
{
	return c->v[0] != RB_DEAD && !rb_cell_ghost(c);
}

/* Collects the points of the mesh, and one on each blocked subsegment. */
static rb_status
add_all_points(rebuild *b)
{
	rb_refining *r = b->r;
	const rb_cells *m = &r->mesh;
	rb_context *ctx = r->ctx;
	size_t most = (size_t) r->nsites + r->nblocked;

	RB_TRY(RB_GROW(ctx, b->points, b->points_cap, 3 * most));
	RB_TRY(RB_GROW(ctx, b->parent, b->parent_cap, r->nblocked));
	RB_TRY(RB_GROW(ctx, b->raise, b->raise_cap, r->nblocked));
	for (uint32_t i = 0; i < r->nsites; i++)
	{
		if (is_rebuild_stopped(b))
			return RB_STOPPED;
		memcpy(b->points + 3 * (size_t) i, m->sites[i].at, sizeof m->sites[i].at);
	}
	b->npoints = r->nsites;
	for (uint32_t i = 0; i < r->nblocked; i++)
	{
		rb_refine_candidate cand;
		uint32_t u, v;
		bool fresh;

		if (is_rebuild_stopped(b))
			return RB_STOPPED;
		if (b->npoints >= (r->options->max_points > 0 ? r->options->max_points : MAX_COUNT))
		{
			r->full = true;
			break;
		}
		if (!find_split_point(r, r->blocked[i], &cand, &u, &v))
			continue;
		RB_TRY(rb_table_insert(ctx, &b->cells.split, u, v, RB_NONE, b->npoints - r->nsites, NULL,
							   &fresh));
		if (!fresh)
			continue;
		b->parent[b->npoints - r->nsites] = rb_piece_segment(m, u, v);
		b->raise[b->npoints - r->nsites] = cand.raise;
		memcpy(b->points + 3 * (size_t) b->npoints++, cand.at, sizeof cand.at);
	}
	return RB_OK;
}

/*
 * Builds the PLC of all tetrahedra, and finds the segment of the mesh that each of its segments is
 * part of.
 */
static rb_status
build_whole_plc(rebuild *b)
{
	rb_refining *r = b->r;
	rb_cells_plc *p = &b->cells;

	p->nold = r->nsites;
	RB_TRY(rb_cells_plc_build(r, p, NULL, 0, NULL, 0));
	RB_TRY(RB_ALLOCATE(r->ctx, b->segment_of, (size_t) p->plc.nsegments + 1));
	for (uint32_t i = 0; i < p->plc.nsegments; i++)
	{
		const rb_cell *c = &r->mesh.cells[rb_entry_cell(p->entries[i])];
		const uint32_t e = rb_entry_part(p->entries[i]);

		if (is_rebuild_stopped(b))
			return RB_STOPPED;
		b->segment_of[i] =
			rb_piece_segment(&r->mesh, c->v[rb_cell_edge_from(e)], c->v[rb_cell_edge_to(e)]);
	}
	return RB_OK;
}

/*
 * Places a seed in each part that constrained faces enclose, before the whole mesh is rebuilt: the
 * centroid of its largest tetrahedron.
 */
static rb_status
place_seeds_for_rebuild(rebuild *b)
{
	rb_refining *r = b->r;
	const rb_cells *m = &r->mesh;
	rb_context *ctx = r->ctx;
	uint8_t *seen = NULL;
	uint32_t *stack = NULL;
	rb_status status = RB_ALLOCATE(ctx, seen, (size_t) r->ncells + 1);

	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, stack, (size_t) r->ncells + 1);
	if (status == RB_OK)
		memset(seen, 0, r->ncells);
	for (uint32_t i = 0; i < r->ncells && status == RB_OK; i++)
	{
		uint32_t n = 0, best = i;
		double largest = -1;
		rb_seed *seed;

		if (seen[i] || !is_rebuilt_tet(&m->cells[i]))
			continue;
		stack[n++] = i;
		seen[i] = 1;
		while (n > 0 && !is_rebuild_stopped(b))
		{
			uint32_t cell = stack[--n];
			const rb_cell *c = &m->cells[cell];
			double volume = rb_volume6(rb_site_at(m, c->v[0]), rb_site_at(m, c->v[1]),
									   rb_site_at(m, c->v[2]), rb_site_at(m, c->v[3]));

			if (volume > largest)
			{
				largest = volume;
				best = cell;
			}
			for (uint32_t k = 0; k < 4; k++)
				if ((c->bits & RB_CELL_WALL(k)) == 0 && !seen[c->n[k] >> 2])
				{
					seen[c->n[k] >> 2] = 1;
					stack[n++] = c->n[k] >> 2;
				}
		}
		status = RB_GROW(ctx, b->seeds, b->seeds_cap, (size_t) b->nseeds + 1);
		if (status == RB_OK)
			status = RB_GROW(ctx, b->seed_region, b->seed_region_cap, (size_t) b->nseeds + 1);
		if (status != RB_OK)
			break;
		seed = &b->seeds[b->nseeds];
		memset(seed, 0, sizeof *seed);
		for (int k = 0; k < 3; k++)
		{
			const rb_cell *c = &m->cells[best];

			seed->at[k] = 0.25 * rb_site_at(m, c->v[0])[k] + 0.25 * rb_site_at(m, c->v[1])[k] +
						  0.25 * rb_site_at(m, c->v[2])[k] + 0.25 * rb_site_at(m, c->v[3])[k];
		}
		seed->region = b->nseeds;
		b->seed_region[b->nseeds++] = m->cells[best].region;
		if (is_rebuild_stopped(b))
			status = RB_STOPPED;
	}
	RB_FREE(ctx->memory, seen);
	RB_FREE(ctx->memory, stack);
	return status;
}

/*
 * Sets *all to true if every seed still lies in a region of its own in the rebuilt mesh. A region
 * as thin as the rounding error may have disappeared.
 */
static rb_status
check_rebuilt_regions(const rebuild *b, const rb_tets *tets, bool *all)
{
	uint8_t *seen = NULL;
	uint32_t n = 0;

	RB_TRY(RB_ALLOCATE(b->r->ctx, seen, (size_t) b->nseeds + 1));
	memset(seen, 0, b->nseeds);
	for (uint32_t i = 0; i < tets->ntets && !is_rebuild_stopped(b); i++)
		if (tets->region[i] >= 0 && tets->region[i] < (int64_t) b->nseeds && !seen[tets->region[i]])
		{
			seen[tets->region[i]] = 1;
			n++;
		}
	*all = n == b->nseeds;
	RB_FREE(b->r->ctx->memory, seen);
	return is_rebuild_stopped(b) ? RB_STOPPED : RB_OK;
}

/*
 * Removes tetrahedra of regions without a seed, which lie in holes. Restores the numbers of
 * regions, segments and facets, and the kinds and parents of points.
 */
static rb_status
restore_numbers(rebuild *b, rb_tets *tets)
{
	rb_refining *r = b->r;
	const rb_cells *m = &r->mesh;
	uint32_t *number = NULL;
	uint32_t n = 0;

	RB_TRY(RB_ALLOCATE(r->ctx, number, (size_t) tets->ntets + 1));
	for (uint32_t i = 0; i < tets->ntets && !is_rebuild_stopped(b); i++)
		number[i] = tets->region[i] >= 0 && tets->region[i] < (int64_t) b->nseeds ? n++ : RB_NONE;
	for (uint32_t i = 0; i < tets->ntets && !is_rebuild_stopped(b); i++)
	{
		uint32_t to = number[i];

		if (to == RB_NONE)
			continue;
		memcpy(tets->tets[to], tets->tets[i], sizeof tets->tets[i]);
		tets->region[to] = r->regions[b->seed_region[tets->region[i]]];
		for (uint32_t k = 0; k < 4; k++)
		{
			uint32_t beyond = tets->neighbours[4 * (size_t) i + k];

			tets->neighbours[4 * (size_t) to + k] = beyond == RB_NONE ? RB_NONE : number[beyond];
		}
	}
	tets->ntets = n;
	RB_FREE(r->ctx->memory, number);
	for (uint32_t i = 0; i < tets->nfaces; i++)
		tets->face_facet[i] = b->cells.facets.at[tets->face_facet[i]];
	/*
	 * If one hull facet collapsed into another, what remains of it may have an edge that is not a
	 * subsegment.
	 */
	n = 0;
	for (uint32_t i = 0; i < tets->nedges; i++)
		if (tets->edge_segment[i] < b->cells.plc.nsegments)
		{
			memcpy(tets->edges[n], tets->edges[i], sizeof tets->edges[n]);
			tets->edge_segment[n++] = b->segment_of[tets->edge_segment[i]];
		}
	tets->nedges = n;
	for (uint32_t i = 0; i < tets->npoints && !is_rebuild_stopped(b); i++)
		if (i < r->nsites)
		{
			tets->kind[i] = m->kind[i];
			tets->parent[i] = m->parent[i];
		}
		else if (i < b->npoints)
		{
			tets->kind[i] = RB_VERTEX_ON_SEGMENT;
			tets->parent[i] = b->parent[i - r->nsites];
		}
		else if (tets->kind[i] == RB_VERTEX_ON_SEGMENT && tets->parent[i] < b->cells.plc.nsegments)
			tets->parent[i] = b->segment_of[tets->parent[i]];
		else if (tets->kind[i] == RB_VERTEX_ON_SEGMENT)
		{
			tets->kind[i] = RB_VERTEX_ON_FACET;
			tets->parent[i] = b->cells.facets.at[tets->segment_facet[tets->parent[i]]];
		}
		else if (tets->kind[i] == RB_VERTEX_ON_FACET)
			tets->parent[i] = b->cells.facets.at[tets->parent[i]];
	return is_rebuild_stopped(b) ? RB_STOPPED : RB_OK;
}

/* Frees the arrays of a rebuild. */
static void
free_rebuild(rebuild *b)
{
	rb_memory *memory = b->r->ctx->memory;

	RB_FREE(memory, b->points);
	RB_FREE(memory, b->parent);
	RB_FREE(memory, b->raise);
	rb_cells_plc_free(memory, &b->cells);
	RB_FREE(memory, b->segment_of);
	RB_FREE(memory, b->seeds);
	RB_FREE(memory, b->seed_region);
}

/* Returns true if a rebuilt mesh has no more vertices than the options allow, and only where they may be. */
static bool
is_rebuild_allowed(const rebuild *b, const rb_tets *tets)
{
	const rb_refine_options *o = b->r->options;

	if (o->max_points > 0 && tets->npoints > o->max_points)
		return false;
	for (uint32_t i = b->npoints; i < tets->npoints && o->keep_surface; i++)
		if (tets->kind[i] != RB_VERTEX_INSIDE)
			return false;
	return true;
}

/*
 * Tetrahedralizes the points of the mesh and those added to it, and replaces the mesh. Sets *done to
 * false and keeps the mesh if that is not possible.
 */
static rb_status
rebuild_from_points(rebuild *b, bool *done)
{
	rb_refining *r = b->r;
	rb_tets tets;
	rb_flaw flaw;
	rb_status status;

	RB_TRY(build_whole_plc(b));
	RB_TRY(place_seeds_for_rebuild(b));
	b->cells.plc.npoints = b->npoints;
	b->cells.plc.points = b->points;
	b->cells.plc.nseeds = b->nseeds;
	b->cells.plc.seeds = b->seeds;
	memset(&tets, 0, sizeof tets);
	status = rb_tetrahedralize(r->ctx, &b->cells.plc, RB_KEEP_INSIDE, &tets, &flaw);
	if (status == RB_OK && is_rebuild_allowed(b, &tets))
		status = check_rebuilt_regions(b, &tets, done);
	else if (status == RB_OK)
		r->full = r->options->max_points > 0 && tets.npoints > r->options->max_points;
	if (*done && status == RB_OK)
		status = restore_numbers(b, &tets);
	if (*done && status == RB_OK)
		status = rb_refining_replace(r, &tets, b->raise, b->npoints - r->nsites);
	/* If the mesh cannot be rebuilt, keep the present one. */
	if (status == RB_BAD_PLC)
	{
		rb_forget_failure(r->ctx);
		*done = false;
		status = RB_OK;
	}
	rb_tets_free(r->ctx->memory, &tets);
	return status;
}

rb_status
rb_refining_rebuild(rb_refining *r, bool *done)
{
	rebuild b = {.r = r};
	rb_status status = add_all_points(&b);

	*done = false;
	if (status == RB_OK && b.npoints > r->nsites)
		status = rebuild_from_points(&b, done);
	r->nblocked = 0;
	free_rebuild(&b);
	return status;
}

rb_status
rb_refining_restore_delaunay(rb_refining *r)
{
	rebuild b = {.r = r};
	bool done = false;
	rb_status status = add_all_points(&b);

	if (status == RB_OK)
		status = rebuild_from_points(&b, &done);
	free_rebuild(&b);
	if (status != RB_OK || done)
		return status;
	r->report->not_rebuilt = true;
	return rb_fail(r->ctx, RB_BAD_PLC, 0, 0, NULL);
}
