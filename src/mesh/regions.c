/*
 * regions.c
 *	  The result: which tetrahedra are wanted, in which regions they lie, and everything else in the
 *	  order of the input.
 *
 * Facets shut regions off from each other and from outside, where the ghosts are.  A seed names
 * the region that it lies in, or makes a hole of it.
 */
#include "mesh/rb_recover.h"

#define OUTSIDE 0 /* the number of what facets do not shut off; regions count from 1 */

typedef struct rb_regions
{
	uint32_t *of; /* of each tetrahedron: RB_NONE not known yet */
	uint32_t *stack;
	uint32_t count; /* with the outside */
	uint32_t wanted;
	int64_t *name; /* of each */
	bool *named;
	bool *dropped;
	uint32_t *number; /* of each wanted tetrahedron in the result */
} rb_regions;

/* all that is reached from tetrahedron `from` without crossing a facet is of this region */
static rb_status
flood(rb_recovery *r, rb_regions *g, uint32_t from, uint32_t region)
{
	const rb_mesh *m = &r->mesh;
	uint32_t n = 0;
	uint32_t steps = 0;

	if (g->of[from] != RB_NONE)
		return RB_OK;
	g->of[from] = region;
	g->stack[n++] = from;
	while (n > 0)
	{
		uint32_t t = g->stack[--n];

		if ((++steps & 0xffff) == 0 && rb_should_stop(r->ctx))
			return RB_STOPPED;
		for (uint32_t k = 0; k < 4; k++)
		{
			uint32_t other = rb_face_tet(m->tets[t].n[k]);

			if ((m->bits[t] & RB_FACE_BIT(k)) != 0 || g->of[other] != RB_NONE ||
				rb_tet_ghost(&m->tets[other]))
				continue;
			g->of[other] = region;
			g->stack[n++] = other;
		}
	}
	return RB_OK;
}

static rb_status
find_regions(rb_recovery *r, rb_regions *g, rb_keep keep)
{
	const rb_mesh *m = &r->mesh;
	rb_status status = rb_array(r->ctx, (void **) &g->of, m->ntets, sizeof(uint32_t));

	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &g->stack, m->ntets, sizeof(uint32_t));
	if (status != RB_OK)
		return status;
	memset(g->of, 0xff, (size_t) m->ntets * sizeof(uint32_t));
	g->count = OUTSIDE + 1;
	if (keep == RB_KEEP_INSIDE)
		for (uint32_t t = 0; t < m->ntets && status == RB_OK; t++)
		{
			uint32_t ghost = rb_tet_dead(m, t) ? 4 : rb_tet_corner(&m->tets[t], RB_GHOST);

			if (ghost < 4 && (m->bits[t] & RB_FACE_BIT(ghost)) == 0)
				status = flood(r, g, rb_face_tet(m->tets[t].n[ghost]), OUTSIDE);
		}
	for (uint32_t t = 0; t < m->ntets && status == RB_OK; t++)
		if (!rb_tet_dead(m, t) && !rb_tet_ghost(&m->tets[t]) && g->of[t] == RB_NONE)
			status = flood(r, g, t, g->count++);
	return status;
}

/* seeds give names and make holes; the other regions are counted from 1 up, past names that seeds gave */
static rb_status
name_regions(rb_recovery *r, rb_regions *g, rb_tets *tets)
{
	const rb_plc *plc = r->plc;
	int64_t next = 1;
	rb_status status = rb_array(r->ctx, (void **) &g->name, g->count, sizeof(int64_t));

	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &g->named, g->count, sizeof(bool));
	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &g->dropped, g->count, sizeof(bool));
	if (status != RB_OK)
		return status;
	memset(g->named, 0, g->count * sizeof(bool));
	memset(g->dropped, 0, g->count * sizeof(bool));
	for (uint32_t i = 0; i < plc->nseeds; i++)
	{
		uint32_t t = rb_mesh_locate(&r->mesh, plc->seeds[i].at, r->mesh.recent);
		uint32_t region = rb_tet_ghost(&r->mesh.tets[t]) ? OUTSIDE : g->of[t];

		if (region == OUTSIDE)
			tets->outside_seeds++;
		else if (plc->seeds[i].hole)
			g->dropped[region] = true;
		else if (!g->named[region])
		{
			g->named[region] = true;
			g->name[region] = plc->seeds[i].region;
		}
	}
	g->dropped[OUTSIDE] = true;
	for (uint32_t i = OUTSIDE + 1; i < g->count; i++)
	{
		bool taken = true;

		if (g->dropped[i])
			continue;
		tets->nregions++;
		if (g->named[i])
			continue;
		while (taken)
		{
			taken = false;
			for (uint32_t k = 0; k < plc->nseeds && !taken; k++)
				taken = !plc->seeds[k].hole && plc->seeds[k].region == next;
			next += taken;
		}
		g->name[i] = next++;
	}
	return RB_OK;
}

static rb_status
put_tets(rb_recovery *r, rb_regions *g, rb_tets *tets)
{
	const rb_mesh *m = &r->mesh;
	uint32_t n = 0;
	rb_status status = rb_array(r->ctx, (void **) &g->number, m->ntets, sizeof(uint32_t));

	if (status != RB_OK)
		return status;
	for (uint32_t t = 0; t < m->ntets; t++)
		g->number[t] = g->of[t] == RB_NONE || g->dropped[g->of[t]] ? RB_NONE : n++;
	tets->ntets = n;
	status = rb_array(r->ctx, (void **) &tets->tets, (size_t) n + 1, sizeof(uint32_t[4]));
	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &tets->neighbours, (size_t) n + 1, sizeof(uint32_t[4]));
	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &tets->region, (size_t) n + 1, sizeof(int64_t));
	if (status != RB_OK)
		return status;
	for (uint32_t t = 0; t < m->ntets; t++)
	{
		uint32_t i = g->number[t];

		if (rb_recover_stops(r, t))
			return RB_STOPPED;
		if (i == RB_NONE)
			continue;
		memcpy(tets->tets[i], m->tets[t].v, sizeof m->tets[t].v);
		tets->region[i] = g->name[g->of[t]];
		for (int k = 0; k < 4; k++)
			tets->neighbours[4 * (size_t) i + k] = g->number[rb_face_tet(m->tets[t].n[k])];
	}
	return RB_OK;
}

/* faces of facets that a wanted tetrahedron has, in the order of the facets */
static rb_status
put_faces(rb_recovery *r, const rb_regions *g, rb_tets *tets)
{
	const rb_mesh *m = &r->mesh;
	rb_table number = {NULL, 0, 0};
	uint8_t *used = NULL;
	uint32_t n = 0;
	rb_status status = rb_array(r->ctx, (void **) &used, (size_t) r->nsubfaces + 1, 1);

	if (status == RB_OK)
		status = rb_table_reserve(r->ctx, &number, r->nsubfaces);
	for (uint32_t i = 0; i < r->nsubfaces && status == RB_OK; i++)
	{
		const uint32_t *v = r->subfaces[i].v;

		used[i] = 0;
		status = rb_recover_stops(r, i)
					 ? RB_STOPPED
					 : rb_table_put(r->ctx, &number, v[0], v[1], v[2], i, NULL, NULL);
	}
	for (uint32_t t = 0; t < m->ntets && status == RB_OK; t++)
	{
		if (rb_recover_stops(r, t))
			status = RB_STOPPED;
		for (uint32_t k = 0; k < 4 && g->number[t] != RB_NONE; k++)
		{
			const uint32_t *v = m->tets[t].v;
			const uint8_t *c = rb_face_corners[k];

			if ((m->bits[t] & RB_FACE_BIT(k)) != 0)
				used[*rb_table_find(&number, v[c[0]], v[c[1]], v[c[2]])] = 1;
		}
	}
	for (uint32_t i = 0; i < r->nsubfaces && status == RB_OK; i++)
		n += used[i];
	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &tets->faces, (size_t) n + 1, sizeof(uint32_t[3]));
	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &tets->face_facet, (size_t) n + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < r->nsubfaces && status == RB_OK; i++)
		if (used[i])
		{
			memcpy(tets->faces[tets->nfaces], r->subfaces[i].v, sizeof r->subfaces[i].v);
			tets->face_facet[tets->nfaces++] = r->subfaces[i].facet;
		}
	rb_table_free(r->ctx->memory, &number);
	rb_free(r->ctx->memory, (void **) &used);
	return status;
}

/* edges of a wanted tetrahedron that are pieces of segments which are on no facet's boundary */
static rb_status
find_loose_edges(rb_recovery *r, const rb_regions *g, rb_table *used)
{
	const rb_mesh *m = &r->mesh;
	bool *ends = NULL;
	bool any = false;
	rb_status status = rb_array(r->ctx, (void **) &ends, (size_t) m->npoints + 1, sizeof(bool));

	if (status == RB_OK)
		memset(ends, 0, m->npoints);
	for (uint32_t i = 0; i < r->npieces && status == RB_OK; i++)
		if (r->segment_facet[r->pieces[i].segment] == RB_NONE)
			any = ends[r->pieces[i].u] = ends[r->pieces[i].v] = true;
	if (any)
		status = rb_recover_pieces(r);
	for (uint32_t t = 0; t < m->ntets && any && status == RB_OK; t++)
	{
		const uint32_t *v = m->tets[t].v;

		if (g->number[t] == RB_NONE)
			continue;
		if ((t & 0xffff) == 0 && rb_should_stop(r->ctx))
			status = RB_STOPPED;
		for (int i = 0; i < 4; i++)
			for (int k = i + 1; k < 4 && status == RB_OK; k++)
				if (ends[v[i]] && ends[v[k]] && rb_table_find(&r->piece_of, v[i], v[k], RB_NONE))
					status = rb_table_put(r->ctx, used, v[i], v[k], RB_NONE, 0, NULL, NULL);
	}
	rb_free(r->ctx->memory, (void **) &ends);
	return status;
}

/*
 * Pieces of segments that are edges of a wanted tetrahedron, segment by segment and along each.  Those
 * on the boundary of a facet are so with a face of it; where all faces are, all these pieces are.
 */
static rb_status
put_edges(rb_recovery *r, const rb_regions *g, rb_tets *tets)
{
	bool all = tets->nfaces == r->nsubfaces;
	rb_table used = {NULL, 0, 0};
	uint32_t n = 0;
	rb_status status =
		rb_array(r->ctx, (void **) &tets->edges, (size_t) r->npieces + 1, sizeof(uint32_t[2]));

	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &tets->edge_segment, (size_t) r->npieces + 1,
						  sizeof(uint32_t));
	for (uint32_t i = 0; i < tets->nfaces && !all && status == RB_OK; i++)
		for (int k = 0; k < 3 && status == RB_OK; k++)
			status = rb_table_put(r->ctx, &used, tets->faces[i][k], tets->faces[i][(k + 1) % 3],
								  RB_NONE, 0, NULL, NULL);
	if (status == RB_OK)
		status = find_loose_edges(r, g, &used);
	for (uint32_t s = 0; s < r->nsegments && status == RB_OK; s++)
		for (uint32_t p = s; p != RB_NONE; p = r->pieces[p].next)
			if ((all && r->segment_facet[s] != RB_NONE) ||
				rb_table_find(&used, r->pieces[p].u, r->pieces[p].v, RB_NONE) != NULL)
			{
				tets->edges[n][0] = r->pieces[p].u;
				tets->edges[n][1] = r->pieces[p].v;
				tets->edge_segment[n++] = s;
			}
	tets->nedges = n;
	rb_table_free(r->ctx->memory, &used);
	return status;
}

/* points and segments: what the recovery has of them becomes the result's */
static rb_status
put_points(rb_recovery *r, rb_tets *tets)
{
	rb_mesh *m = &r->mesh;
	uint32_t given = r->plc->npoints;
	rb_status status = rb_array(r->ctx, (void **) &tets->kind, (size_t) m->npoints + 1, 1);

	if (status == RB_OK)
		status =
			rb_array(r->ctx, (void **) &tets->parent, (size_t) m->npoints + 1, sizeof(uint32_t));
	if (status != RB_OK)
		return status;
	for (uint32_t v = 0; v < m->npoints; v++)
	{
		tets->kind[v] = v < given ? RB_VERTEX_INPUT : r->kind[v - given];
		tets->parent[v] = v < given ? RB_NONE : r->parent[v - given];
	}
	tets->npoints = m->npoints;
	tets->points = m->points;
	m->points = NULL;
	tets->nsegments = r->nsegments;
	tets->segments = r->segments;
	tets->segment_facet = r->segment_facet;
	r->segments = NULL;
	r->segment_facet = NULL;
	return RB_OK;
}

/* points that were added where no tetrahedron is wanted go; those behind them move up */
static rb_status
drop_points(rb_recovery *r, rb_tets *tets)
{
	const uint32_t given = r->plc->npoints;
	const uint32_t added = tets->npoints - given;
	uint32_t *number = NULL;
	uint32_t n = given;
	rb_status status = rb_array(r->ctx, (void **) &number, (size_t) added + 1, sizeof(uint32_t));

	if (status != RB_OK)
		return status;
	memset(number, 0xff, (size_t) added * sizeof(uint32_t));
	for (uint32_t t = 0; t < tets->ntets && status == RB_OK; t++)
	{
		for (int k = 0; k < 4; k++)
			if (tets->tets[t][k] >= given)
				number[tets->tets[t][k] - given] = 0;
		if (rb_recover_stops(r, t))
			status = RB_STOPPED;
	}
	for (uint32_t v = given; v < tets->npoints && status == RB_OK; v++)
	{
		if (number[v - given] == RB_NONE)
			continue;
		number[v - given] = n;
		memmove(tets->points + 3 * (size_t) n, tets->points + 3 * (size_t) v, 3 * sizeof(double));
		tets->kind[n] = tets->kind[v];
		tets->parent[n++] = tets->parent[v];
	}
	if (status == RB_OK && n < tets->npoints)
	{
		uint32_t *corner[3] = {&tets->tets[0][0], &tets->faces[0][0], &tets->edges[0][0]};
		const size_t corners[3] = {4 * (size_t) tets->ntets, 3 * (size_t) tets->nfaces,
								   2 * (size_t) tets->nedges};

		for (int i = 0; i < 3 && status == RB_OK; i++)
			for (size_t k = 0; k < corners[i]; k++)
			{
				if (corner[i][k] >= given)
					corner[i][k] = number[corner[i][k] - given];
				if ((k & 0xffff) == 0 && rb_should_stop(r->ctx))
				{
					status = RB_STOPPED;
					break;
				}
			}
		tets->npoints = n;
	}
	rb_free(r->ctx->memory, (void **) &number);
	return status;
}

rb_status
rb_recover_result(rb_recovery *r, rb_keep keep, rb_tets *tets)
{
	rb_memory *memory = r->ctx->memory;
	rb_regions g;
	rb_status status;

	memset(&g, 0, sizeof g);
	/* the tables of the recovery are large, and what is left to do needs only one of them */
	rb_table_free(memory, &r->boundary);
	rb_table_free(memory, &r->halved);
	rb_free(memory, (void **) &r->facet_start);
	rb_free(memory, (void **) &r->acute);
	rb_free(memory, (void **) &r->cuts);
	rb_free(memory, (void **) &r->edges);
	rb_progress(r->ctx, RB_STAGE_MESH_REGIONS, 0, r->mesh.nalive);
	status = find_regions(r, &g, keep);
	if (status == RB_OK)
		status = name_regions(r, &g, tets);
	rb_free(memory, (void **) &g.stack);
	if (status == RB_OK)
		status = put_tets(r, &g, tets);
	if (status == RB_OK)
		status = put_faces(r, &g, tets);
	if (status == RB_OK)
		status = put_edges(r, &g, tets);
	if (status == RB_OK)
		status = put_points(r, tets);
	if (status == RB_OK && tets->npoints > r->plc->npoints)
		status = drop_points(r, tets);
	rb_free(memory, (void **) &g.of);
	rb_free(memory, (void **) &g.stack);
	rb_free(memory, (void **) &g.name);
	rb_free(memory, (void **) &g.named);
	rb_free(memory, (void **) &g.dropped);
	rb_free(memory, (void **) &g.number);
	return status;
}
