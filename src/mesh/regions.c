/*
 * regions.c
 *	  The result: which tetrahedra are wanted, in which regions they lie, and everything else in the
 *	  order of the input.
 *
 * Facets shut regions off from each other and from outside, where the ghosts are.  A seed names
 * the region that it lies in, or makes a hole of it.
 */
#include "mesh/rb_recover.h"

#include "core/base/rb_sort.h"

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

/* regions without a name are counted from 1 up, past names that seeds gave */
static rb_status
count_regions(rb_recovery *r, rb_regions *g, rb_tets *tets)
{
	const rb_plc *plc = r->plc;
	int64_t *taken = NULL;
	int64_t next = 1;
	uint32_t n = 0, at = 0;
	rb_status status =
		rb_array(r->ctx, (void **) &taken, (size_t) plc->nseeds + 1, sizeof(int64_t));

	if (status != RB_OK)
		return status;
	for (uint32_t i = 0; i < plc->nseeds; i++)
		if (!plc->seeds[i].hole)
			taken[n++] = plc->seeds[i].region;
	status = rb_sort_ids(r->ctx, taken, n);
	for (uint32_t i = OUTSIDE + 1; i < g->count && status == RB_OK; i++)
	{
		if (g->dropped[i])
			continue;
		tets->nregions++;
		if (g->named[i])
			continue;
		for (; at < n && taken[at] <= next; at++)
			next += taken[at] == next;
		g->name[i] = next++;
	}
	rb_free(r->ctx->memory, (void **) &taken);
	return status;
}

/* seeds give names and make holes */
static rb_status
name_regions(rb_recovery *r, rb_regions *g, rb_tets *tets)
{
	const rb_plc *plc = r->plc;
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

		if (i % 64 == 63 && rb_should_stop(r->ctx))
			return RB_STOPPED;
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
	return count_regions(r, g, tets);
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

		if (rb_recover_stops(r, t))
			status = RB_STOPPED;
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
	{
		if (rb_recover_stops(r, s))
			status = RB_STOPPED;
		for (uint32_t p = s; p != RB_NONE; p = r->pieces[p].next)
			if ((all && r->segment_facet[s] != RB_NONE) ||
				rb_table_find(&used, r->pieces[p].u, r->pieces[p].v, RB_NONE) != NULL)
			{
				tets->edges[n][0] = r->pieces[p].u;
				tets->edges[n][1] = r->pieces[p].v;
				tets->edge_segment[n++] = s;
			}
	}
	tets->nedges = n;
	rb_table_free(r->ctx->memory, &used);
	return status;
}

/*
 * Points and segments: what the recovery has of them becomes the result's.  Points that were added
 * outside of what is wanted are left out.
 */
static rb_status
put_points(rb_recovery *r, rb_regions *g, rb_tets *tets)
{
	rb_mesh *m = &r->mesh;
	uint32_t given = r->plc->npoints, n = given;
	uint32_t *number = g->of; /* its content is of no use any more */
	rb_status status = rb_array(r->ctx, (void **) &tets->kind, (size_t) m->npoints + 1, 1);

	if (status == RB_OK)
		status =
			rb_array(r->ctx, (void **) &tets->parent, (size_t) m->npoints + 1, sizeof(uint32_t));
	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &number, (size_t) m->npoints + 1, sizeof(uint32_t));
	g->of = number;
	if (status != RB_OK)
		return status;
	for (uint32_t v = 0; v < m->npoints; v++)
		number[v] = v < given ? v : RB_NONE;
	for (uint32_t t = 0; t < tets->ntets; t++)
		for (int k = 0; k < 4; k++)
			number[tets->tets[t][k]] = 0;
	for (uint32_t v = 0; v < m->npoints; v++)
	{
		if (v >= given && number[v] == RB_NONE)
			continue;
		number[v] = v < given ? v : n++;
		tets->kind[number[v]] = v < given ? RB_VERTEX_INPUT : r->kind[v - given];
		tets->parent[number[v]] = v < given ? RB_NONE : r->parent[v - given];
		memmove(m->points + 3 * (size_t) number[v], m->points + 3 * (size_t) v, sizeof(double[3]));
	}
	for (uint32_t t = 0; t < tets->ntets && n < m->npoints; t++)
		for (int k = 0; k < 4; k++)
			tets->tets[t][k] = number[tets->tets[t][k]];
	for (uint32_t f = 0; f < tets->nfaces && n < m->npoints; f++)
		for (int k = 0; k < 3; k++)
			tets->faces[f][k] = number[tets->faces[f][k]];
	for (uint32_t e = 0; e < tets->nedges && n < m->npoints; e++)
		for (int k = 0; k < 2; k++)
			tets->edges[e][k] = number[tets->edges[e][k]];
	tets->npoints = n;
	tets->points = m->points;
	m->points = NULL;
	tets->nsegments = r->nsegments;
	tets->segments = r->segments;
	tets->segment_facet = r->segment_facet;
	r->segments = NULL;
	r->segment_facet = NULL;
	return RB_OK;
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
		status = put_points(r, &g, tets);
	rb_free(memory, (void **) &g.of);
	rb_free(memory, (void **) &g.stack);
	rb_free(memory, (void **) &g.name);
	rb_free(memory, (void **) &g.named);
	rb_free(memory, (void **) &g.dropped);
	rb_free(memory, (void **) &g.number);
	return status;
}
