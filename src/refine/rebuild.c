/*
 * rebuild.c
 *	  Rebuilds the whole mesh to insert points that can only be inserted jointly.
 *
 * A point on a segment may lie in the circumsphere of a tetrahedron of which it sees only a part,
 * next to another segment that it encroaches upon as well. Then no constrained Delaunay
 * tetrahedralization exists with that point alone. In most cases the other segment is blocked for
 * the same reason: each would have to be split before the other one. So all blocked subsegments are
 * split at once, and the mesh is tetrahedralized again from all its points, with constrained faces
 * as facets and subsegments as segments.
 */
#include "refine/cells_plc.h"

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

/* Exclusive maximum of counts; larger numbers have special meanings */
#define MAX_COUNT (UINT32_MAX - 8)

/* Returns true if the work should stop. It is a single load, so it can be polled for every item. */
static bool
is_stopped(const rebuild *b)
{
	return rb_should_stop(b->r->ctx);
}

static bool
is_live_tet(const rb_cell *c)
{
	return c->v[0] != RB_DEAD && !rb_cell_ghost(c);
}

/* Collects the points of the mesh, and one on each blocked subsegment. */
static rb_status
add_points(rebuild *b)
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
		if (is_stopped(b))
			return RB_STOPPED;
		memcpy(b->points + 3 * (size_t) i, m->sites[i].at, sizeof m->sites[i].at);
	}
	b->npoints = r->nsites;
	for (uint32_t i = 0; i < r->nblocked; i++)
	{
		rb_refine_candidate cand;
		uint32_t u, v;
		bool fresh;

		if (is_stopped(b))
			return RB_STOPPED;
		if (b->npoints >= (r->options->max_points > 0 ? r->options->max_points : MAX_COUNT))
		{
			r->full = true;
			break;
		}
		if (!rb_refining_blocked_point(r, r->blocked[i], &cand, &u, &v))
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

/* Builds the PLC of all tetrahedra, and finds the segments that its segments are parts of. */
static rb_status
build_plc(rebuild *b)
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

		if (is_stopped(b))
			return RB_STOPPED;
		b->segment_of[i] =
			rb_piece_segment(&r->mesh, c->v[rb_cell_edge_from(e)], c->v[rb_cell_edge_to(e)]);
	}
	return RB_OK;
}

/*
 * Places a seed in each part that constrained faces enclose: the centroid of its largest
 * tetrahedron.
 */
static rb_status
add_seeds(rebuild *b)
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

		if (seen[i] || !is_live_tet(&m->cells[i]))
			continue;
		stack[n++] = i;
		seen[i] = 1;
		while (n > 0 && !is_stopped(b))
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
		if (is_stopped(b))
			status = RB_STOPPED;
	}
	RB_FREE(ctx->memory, seen);
	RB_FREE(ctx->memory, stack);
	return status;
}

/*
 * Sets *all if every seed still has a part of its own. A part as thin as the rounding error may
 * have vanished.
 */
static rb_status
check_parts(const rebuild *b, const rb_tets *tets, bool *all)
{
	uint8_t *seen = NULL;
	uint32_t n = 0;

	RB_TRY(RB_ALLOCATE(b->r->ctx, seen, (size_t) b->nseeds + 1));
	memset(seen, 0, b->nseeds);
	for (uint32_t i = 0; i < tets->ntets && !is_stopped(b); i++)
		if (tets->region[i] >= 0 && tets->region[i] < (int64_t) b->nseeds && !seen[tets->region[i]])
		{
			seen[tets->region[i]] = 1;
			n++;
		}
	*all = n == b->nseeds;
	RB_FREE(b->r->ctx->memory, seen);
	return is_stopped(b) ? RB_STOPPED : RB_OK;
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
	for (uint32_t i = 0; i < tets->ntets && !is_stopped(b); i++)
		number[i] = tets->region[i] >= 0 && tets->region[i] < (int64_t) b->nseeds ? n++ : RB_NONE;
	for (uint32_t i = 0; i < tets->ntets && !is_stopped(b); i++)
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
	for (uint32_t i = 0; i < tets->npoints && !is_stopped(b); i++)
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
	return is_stopped(b) ? RB_STOPPED : RB_OK;
}

static void
rebuild_free(rebuild *b)
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

rb_status
rb_refining_rebuild(rb_refining *r, bool *done)
{
	rebuild b;
	rb_tets tets;
	rb_flaw flaw;
	bool room = true;
	rb_status status;

	*done = false;
	memset(&b, 0, sizeof b);
	memset(&tets, 0, sizeof tets);
	b.r = r;
	status = add_points(&b);
	if (status == RB_OK && b.npoints > r->nsites)
		status = build_plc(&b);
	if (status == RB_OK && b.npoints > r->nsites)
		status = add_seeds(&b);
	if (status == RB_OK && b.npoints > r->nsites)
	{
		b.cells.plc.npoints = b.npoints;
		b.cells.plc.points = b.points;
		b.cells.plc.nseeds = b.nseeds;
		b.cells.plc.seeds = b.seeds;
		status = rb_tetrahedralize(r->ctx, &b.cells.plc, RB_KEEP_INSIDE, &tets, &flaw);
		/* The tetrahedralization may have added more points than max_points allows. */
		room = status != RB_OK || r->options->max_points == 0 ||
			   tets.npoints <= r->options->max_points;
		if (status == RB_OK && room)
			status = check_parts(&b, &tets, done);
		if (*done && status == RB_OK)
			status = restore_numbers(&b, &tets);
		if (*done && status == RB_OK)
			status = rb_refining_replace(r, &tets, b.raise, b.npoints - r->nsites);
		/* If the mesh cannot be rebuilt, keep the present one. */
		if (status == RB_BAD_PLC)
		{
			rb_forget_failure(r->ctx);
			status = RB_OK;
		}
		else if (!room)
			r->full = true;
		rb_tets_free(r->ctx->memory, &tets);
	}
	r->nblocked = 0;
	rebuild_free(&b);
	return status;
}
