/*
 * tetrahedralize.c
 *	  Builds the constrained Delaunay tetrahedralization of a PLC: finds its segments, inserts its
 *	  points, recovers segments and facets, and extracts the regions.
 *
 * The segments are those given and the boundaries of facets. An edge of exactly one triangle of a
 * facet is on the facet's boundary; an edge of two triangles is soft. Facets that meet along an
 * edge share its segment.
 */
#include "core/base/bucket.h"
#include "mesh/recover.h"

/*
 * Minimum number of points for which several threads are used; the result does not depend on their
 * number
 */
#define LARGE RB_SIZE(1 << 14, 100)

/*
 * Recovery is abandoned after ROUNDS repetitions, or after ROUNDS_WITHOUT rounds in a row in which
 * the number of added points did not drop below its previous minimum and was above FEW_POINTS. In
 * this case some facets are not as plc.h requires, or doubles are too coarse for them.
 */
#define ROUNDS 24
#define ROUNDS_WITHOUT 3
#define FEW_POINTS 4

/* ---- segments of the PLC ---- */

/*
 * Adds an edge to the segments to be recovered, if it is new; *which is its number. `facet` is a
 * facet that it bounds, or RB_NONE for a segment of the PLC, which must be new.
 */
static rb_status
segment_add(rb_recovery *r, uint32_t u, uint32_t v, uint32_t facet, uint32_t *which)
{
	uint32_t *number;
	bool fresh;

	RB_TRY(rb_table_insert(r->ctx, &r->boundary, u, v, RB_NONE, r->nsegments, &number, &fresh));
	if (which != NULL)
		*which = *number;
	if (!fresh && facet == RB_NONE)
		return rb_recover_flaw(r, RB_FLAW_SEGMENTS_CROSS, *number, r->nsegments,
							   r->plc->points + 3 * (size_t) u);
	if (!fresh)
	{
		if (r->segment_facet[*number] == RB_NONE)
			r->segment_facet[*number] = facet;
		return RB_OK;
	}
	if (r->nsegments >= r->segments_cap)
	{
		size_t cap = r->segments_cap;

		RB_TRY(RB_GROW(r->ctx, r->segments, cap, r->nsegments + 1));
		RB_TRY(RB_ALLOCATE(r->ctx, r->segment_facet, cap));
		r->segments_cap = cap;
	}
	r->segments[r->nsegments][0] = u;
	r->segments[r->nsegments][1] = v;
	r->segment_facet[r->nsegments++] = facet;
	return RB_OK;
}

/* Adds the boundary edges of one facet; the table counts the triangles at each edge. */
static rb_status
facet_boundary(rb_recovery *r, uint32_t facet, rb_table *uses)
{
	const rb_plc *plc = r->plc;
	uint32_t from = r->facet_start[facet], to = r->facet_start[facet + 1];

	if (to - from == 1)
	{
		const uint32_t *v = plc->triangles[from];

		for (int i = 0; i < 3; i++)
			RB_TRY(segment_add(r, v[i], v[(i + 1) % 3], facet, &r->edges[from][i]));
		return RB_OK;
	}
	rb_table_empty(uses);
	for (uint32_t t = from; t < to; t++)
		for (int i = 0; i < 3; i++)
		{
			const uint32_t *v = plc->triangles[t];
			uint32_t *n;

			RB_TRY(rb_table_insert(r->ctx, uses, v[i], v[(i + 1) % 3], RB_NONE, 0, &n, NULL));
			if (++*n > 2)
				return rb_recover_flaw(r, RB_FLAW_FACET_FOLDED, facet, RB_NONE,
									   plc->points + 3 * (size_t) v[i]);
		}
	for (uint32_t t = from; t < to; t++)
		for (int i = 0; i < 3; i++)
		{
			const uint32_t *v = plc->triangles[t];

			if (*rb_table_get(uses, v[i], v[(i + 1) % 3], RB_NONE) == 1)
				RB_TRY(segment_add(r, v[i], v[(i + 1) % 3], facet, NULL));
		}
	return RB_OK;
}

/* Returns a point of a segment: its first for an even number, its second for an odd one. */
static inline uint32_t
end_of_segment(const void *arg, uint32_t i)
{
	const rb_recovery *r = arg;

	return r->segments[i / 2][i & 1];
}

/* Returns true if the segments with ends i and j form an angle below 90 degrees at point v. */
static bool
is_acute(const rb_recovery *r, uint32_t v, uint32_t i, uint32_t j)
{
	const double *p = r->plc->points + 3 * (size_t) v;
	const double *a = r->plc->points + 3 * (size_t) end_of_segment(r, i ^ 1);
	const double *b = r->plc->points + 3 * (size_t) end_of_segment(r, j ^ 1);
	double la = 0, lb = 0, dot = 0;

	for (int k = 0; k < 3; k++)
	{
		la = fmax(la, fabs(a[k] - p[k]));
		lb = fmax(lb, fabs(b[k] - p[k]));
	}
	for (int k = 0; k < 3; k++)
		dot += (a[k] - p[k]) / la * ((b[k] - p[k]) / lb);
	return !(dot < 0x1p-40);
}

/*
 * Finds the points at which two segments form an angle below 90 degrees; with more than six
 * segments, two always do. Lists the ends of segments at each point for this.
 */
static rb_status
find_acute(rb_recovery *r, rb_buckets *ends)
{
	const uint32_t n = r->plc->npoints;

	RB_TRY(rb_buckets_build(r->ctx, ends, 2 * r->nsegments, n, end_of_segment, r));
	RB_TRY(RB_ALLOCATE(r->ctx, r->acute, (size_t) n + 1));
	for (uint32_t v = 0; v < n; v++)
	{
		const uint32_t from = ends->start[v], to = ends->start[v + 1];

		if (rb_recover_stops(r, v))
			return RB_STOPPED;
		r->acute[v] = to - from > 6;
		for (uint32_t i = from; i < to && !r->acute[v]; i++)
			for (uint32_t j = i + 1; j < to && !r->acute[v]; j++)
				r->acute[v] = is_acute(r, v, ends->member[i], ends->member[j]);
	}
	return RB_OK;
}

/* Fills in the segments, facet_start, edges and acute points. */
static rb_status
find_segments(rb_recovery *r)
{
	const rb_plc *plc = r->plc;
	rb_table uses = {0};
	rb_buckets ends = {NULL, NULL};
	rb_status status = RB_ALLOCATE(r->ctx, r->facet_start, (size_t) plc->nfacets + 1);

	if (status == RB_OK)
		status = RB_ALLOCATE(r->ctx, r->edges, (size_t) plc->ntriangles + 1);
	if (status != RB_OK)
		return status;
	for (uint32_t t = 0, f = 0; f <= plc->nfacets; f++)
	{
		while (t < plc->ntriangles && plc->facet_of[t] < f)
			t++;
		r->facet_start[f] = t;
	}
	/*
	 * A facet has about two more boundary edges than triangles, and most edges bound two or more
	 * facets.
	 */
	status = rb_table_expect(r->ctx, &r->boundary,
							 plc->nsegments +
								 ((uint64_t) plc->ntriangles + 2 * (uint64_t) plc->nfacets) / 2);
	for (uint32_t s = 0; s < plc->nsegments && status == RB_OK; s++)
		status = segment_add(r, plc->segments[s][0], plc->segments[s][1], RB_NONE, NULL);
	for (uint32_t f = 0; f < plc->nfacets && status == RB_OK; f++)
	{
		if (f % 4096 == 0 && rb_should_stop(r->ctx))
			status = RB_STOPPED;
		else
			status = facet_boundary(r, f, &uses);
	}
	rb_table_free(r->ctx->memory, &uses);
	if (status == RB_OK)
		status = find_acute(r, &ends);
	rb_buckets_free(r->ctx->memory, &ends);
	return status;
}

/* ---- recovery ---- */

/* Frees the mesh under construction and all tables for the recovery of segments and facets. */
static void
recovery_free(rb_recovery *r)
{
	rb_memory *memory = r->ctx->memory;

	rb_mesh_free(&r->mesh);
	rb_recover_free_complete(r);
	RB_FREE(memory, r->segments);
	RB_FREE(memory, r->segment_facet);
	rb_table_free(memory, &r->boundary);
	RB_FREE(memory, r->facet_start);
	RB_FREE(memory, r->edges);
	RB_FREE(memory, r->pieces);
	rb_table_free(memory, &r->piece_of);
	RB_FREE(memory, r->cuts);
	RB_FREE(memory, r->acute);
	RB_FREE(memory, r->kind);
	RB_FREE(memory, r->parent);
	RB_FREE(memory, r->facet_points);
	RB_FREE(memory, r->pointed);
	rb_table_free(memory, &r->halved);
	RB_FREE(memory, r->subfaces);
	RB_FREE(memory, r->star);
}

/*
 * State before the recovery of facets, to which a later round returns; the rest is in the journal
 * (rb_mesh_open_journal)
 */
typedef struct rb_snapshot
{
	uint32_t *tet_of;
	uint32_t nalive, free, recent, npoints;
} rb_snapshot;

/*
 * Saves the state of the mesh before facets are recovered, and opens the journal of changes, so
 * that the next round can start from it.
 */
static rb_status
take_snapshot(rb_recovery *r, rb_snapshot *s)
{
	rb_mesh *m = &r->mesh;

	RB_TRY(RB_ALLOCATE(r->ctx, s->tet_of, m->npoints));
	rb_mesh_open_journal(m);
	memcpy(s->tet_of, m->tet_of, (size_t) m->npoints * sizeof(uint32_t));
	s->nalive = m->nalive;
	s->free = m->free;
	s->recent = m->recent;
	s->npoints = m->npoints;
	return RB_OK;
}

/* Restores the snapshot, then inserts the points added since. */
static rb_status
restore_snapshot(rb_recovery *r, const rb_snapshot *s)
{
	rb_mesh *m = &r->mesh;

	rb_mesh_undo(m);
	memcpy(m->tet_of, s->tet_of, (size_t) s->npoints * sizeof(uint32_t));
	m->nalive = s->nalive;
	m->free = s->free;
	m->recent = s->recent;
	for (uint32_t v = s->npoints; v < m->npoints; v++)
	{
		uint32_t parent = r->parent[v - r->plc->npoints];
		uint32_t near = r->kind[v - r->plc->npoints] == RB_VERTEX_ON_SEGMENT
							? r->segments[parent][0]
							: r->plc->triangles[r->facet_start[parent]][0];
		uint32_t same;

		RB_TRY(rb_mesh_insert(m, v, m->tet_of[near], &same));
		if (same != RB_NONE)
			return rb_recover_flaw(r, RB_FLAW_TOO_NEAR, same, parent, rb_mesh_point(m, v));
		if ((v & 255) == 0 && rb_should_stop(r->ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Reports the failure at the last point that was added. */
static rb_status
not_recovered(rb_recovery *r)
{
	uint32_t v = r->mesh.npoints - 1, parent = r->parent[v - r->plc->npoints];

	if (r->kind[v - r->plc->npoints] == RB_VERTEX_ON_SEGMENT)
		return rb_recover_flaw(r, RB_FLAW_TOO_NEAR, r->segments[parent][0], RB_NONE,
							   rb_mesh_point(&r->mesh, v));
	return rb_recover_flaw(r, RB_FLAW_NOT_RECOVERED, parent, RB_NONE, rb_mesh_point(&r->mesh, v));
}

/* Reports a point that is in no tetrahedron: it equals another one, which a valid PLC excludes. */
static rb_status
find_equal_points(rb_recovery *r)
{
	for (uint32_t v = 0; v < r->mesh.npoints; v++)
		if (r->mesh.tet_of[v] == RB_NONE)
			return rb_recover_flaw(r, RB_FLAW_TOO_NEAR, v, RB_NONE, rb_mesh_point(&r->mesh, v));
	return RB_OK;
}

/* Recovers segments and facets, repeating both when that required new points. */
static rb_status
recover_constraints(rb_recovery *r, rb_tets *tets)
{
	rb_snapshot before;
	bool again = true;
	uint32_t least = UINT32_MAX; /* minimum number of points added in a round */
	int without = 0;
	rb_status status = RB_OK;

	memset(&before, 0, sizeof before);
	for (int round = 0; again && status == RB_OK; round++)
	{
		double start = rb_now_ms(), now;

		again = false;
		rb_table_empty(&r->halved);
		r->carved = false;
		if (round > 0)
			status = restore_snapshot(r, &before);
		if (status == RB_OK)
			status = rb_recover_segments(r);
		now = rb_now_ms();
		tets->ms_segments += now - start;
		if (status == RB_OK)
			status = take_snapshot(r, &before);
		if (status == RB_OK)
			status = rb_recover_facets(r, &again);
		if (status == RB_OK && !again)
			status = rb_recover_repair(r, &again);
		if (status == RB_OK && !again)
			status = rb_recover_check_segments(r, &again);
		tets->ms_facets += rb_now_ms() - now;
		if (status == RB_OK && again)
		{
			uint32_t added = r->mesh.npoints - before.npoints;

			without = added < least ? 0 : without + 1;
			least = added < least ? added : least;
			if ((without >= ROUNDS_WITHOUT && added > FEW_POINTS) || round == ROUNDS)
				status = not_recovered(r);
		}
	}
	RB_FREE(r->ctx->memory, before.tet_of);
	return status;
}

rb_status
rb_tetrahedralize(rb_context *ctx, const rb_plc *plc, rb_keep keep, rb_tets *tets, rb_flaw *flaw)
{
	static const double nowhere[3] = {0, 0, 0};
	rb_recovery r;
	bool flat = false;
	rb_thread *team = NULL;
	double start;
	rb_status status = RB_OK;

	memset(tets, 0, sizeof *tets);
	memset(flaw, 0, sizeof *flaw);
	memset(&r, 0, sizeof r);
	r.ctx = ctx;
	r.plc = plc;
	r.flaw = flaw;
	r.mesh.ctx = ctx;
	if (plc->npoints >= LARGE && ctx->threads > 1)
		status = rb_team_open(ctx, ctx->threads, &team);
	if (status == RB_OK)
		status = find_segments(&r);
	start = rb_now_ms();
	if (status == RB_OK)
		status = rb_mesh_init(&r.mesh, ctx, plc->points, plc->npoints);
	r.mesh.reports_progress = true;
	r.mesh.large = plc->npoints >= LARGE;
	r.mesh.team = team;
	if (status == RB_OK)
		status = rb_mesh_delaunay(&r.mesh, &flat);
	if (status == RB_OK && flat)
		status = rb_recover_flaw(&r, RB_FLAW_NO_VOLUME, RB_NONE, RB_NONE,
								 plc->npoints > 0 ? plc->points : nowhere);
	if (status == RB_OK)
		status = find_equal_points(&r);
	tets->ms_points = rb_now_ms() - start;
	if (status == RB_OK)
		status = recover_constraints(&r, tets);
	start = rb_now_ms();
	if (status == RB_OK)
		status = rb_recover_result(&r, keep, tets);
	tets->ms_regions = rb_now_ms() - start;
	recovery_free(&r);
	rb_team_close(&team);
	if (status != RB_OK)
		rb_tets_free(ctx->memory, tets);
	return status;
}

void
rb_tets_free(rb_memory *memory, rb_tets *tets)
{
	RB_FREE(memory, tets->points);
	RB_FREE(memory, tets->kind);
	RB_FREE(memory, tets->parent);
	RB_FREE(memory, tets->tets);
	RB_FREE(memory, tets->neighbours);
	RB_FREE(memory, tets->region);
	RB_FREE(memory, tets->not_delaunay);
	RB_FREE(memory, tets->faces);
	RB_FREE(memory, tets->face_facet);
	RB_FREE(memory, tets->edges);
	RB_FREE(memory, tets->edge_segment);
	RB_FREE(memory, tets->segments);
	RB_FREE(memory, tets->segment_facet);
	memset(tets, 0, sizeof *tets);
}
