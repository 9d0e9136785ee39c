/*
 * tetrahedralize.c
 *	  Builds the constrained Delaunay tetrahedralization of a PLC: points, segments, facets,
 *	  regions.
 */
#include "mesh/recover.h"

/*
 * Minimum number of points for which several threads are used; the result does not depend on their
 * number
 */
#define LARGE RB_SIZE(1 << 14, 100)

/*
 * Recovery is abandoned after ROUNDS rounds, or after ROUNDS_WITHOUT rounds in which the number of
 * added points did not drop. In this case some facets are not as plc.h requires.
 */
#define ROUNDS 24
#define ROUNDS_WITHOUT 3

static void
recovery_free(rb_recovery *r)
{
	rb_memory *memory = r->ctx->memory;

	rb_mesh_free(&r->mesh);
	rb_recover_forget(r);
	rb_free(memory, (void **) &r->segments);
	rb_free(memory, (void **) &r->segment_facet);
	rb_table_free(memory, &r->boundary);
	rb_free(memory, (void **) &r->facet_start);
	rb_free(memory, (void **) &r->edges);
	rb_free(memory, (void **) &r->pieces);
	rb_table_free(memory, &r->piece_of);
	rb_free(memory, (void **) &r->cuts);
	rb_free(memory, (void **) &r->acute);
	rb_free(memory, (void **) &r->kind);
	rb_free(memory, (void **) &r->parent);
	rb_free(memory, (void **) &r->facet_points);
	rb_free(memory, (void **) &r->pointed);
	rb_table_free(memory, &r->halved);
	rb_free(memory, (void **) &r->subfaces);
	rb_free(memory, (void **) &r->star);
}

/*
 * State before the recovery of facets, to which a later round returns; the rest is in the journal
 * (rb_mesh_journal)
 */
typedef struct rb_snapshot
{
	uint32_t *tet_of;
	uint32_t nalive, free, recent, npoints;
} rb_snapshot;

static rb_status
take_snapshot(rb_recovery *r, rb_snapshot *s)
{
	rb_mesh *m = &r->mesh;
	rb_status status = rb_array(r->ctx, (void **) &s->tet_of, m->npoints, sizeof(uint32_t));

	if (status != RB_OK)
		return status;
	rb_mesh_journal(m);
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
	rb_status status = RB_OK;

	rb_mesh_undo(m);
	memcpy(m->tet_of, s->tet_of, (size_t) s->npoints * sizeof(uint32_t));
	m->nalive = s->nalive;
	m->free = s->free;
	m->recent = s->recent;
	for (uint32_t v = s->npoints; v < m->npoints && status == RB_OK; v++)
	{
		uint32_t parent = r->parent[v - r->plc->npoints];
		uint32_t near = r->kind[v - r->plc->npoints] == RB_VERTEX_ON_SEGMENT
							? r->segments[parent][0]
							: r->plc->triangles[r->facet_start[parent]][0];
		uint32_t same;

		status = rb_mesh_insert(m, v, m->tet_of[near], &same);
		if (status == RB_OK && same != RB_NONE)
			return rb_recover_flaw(r, RB_FLAW_TOO_NEAR, same, parent, rb_mesh_point(m, v));
		if ((v & 255) == 0 && rb_should_stop(r->ctx))
			return RB_STOPPED;
	}
	return status;
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
		rb_table_clear(&r->halved);
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
			status = rb_recover_mend(r, &again);
		if (status == RB_OK && !again)
			status = rb_recover_check_segments(r, &again);
		tets->ms_facets += rb_now_ms() - now;
		if (status == RB_OK && again)
		{
			uint32_t added = r->mesh.npoints - before.npoints;

			without = added < least ? 0 : without + 1;
			least = added < least ? added : least;
			if (without == ROUNDS_WITHOUT || round == ROUNDS)
				status = not_recovered(r);
		}
	}
	rb_free(r->ctx->memory, (void **) &before.tet_of);
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
		status = rb_recover_complex(&r);
	start = rb_now_ms();
	if (status == RB_OK)
		status = rb_mesh_init(&r.mesh, ctx, plc->points, plc->npoints);
	r.mesh.tells = true;
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
	rb_free(memory, (void **) &tets->points);
	rb_free(memory, (void **) &tets->kind);
	rb_free(memory, (void **) &tets->parent);
	rb_free(memory, (void **) &tets->tets);
	rb_free(memory, (void **) &tets->neighbours);
	rb_free(memory, (void **) &tets->region);
	rb_free(memory, (void **) &tets->faces);
	rb_free(memory, (void **) &tets->face_facet);
	rb_free(memory, (void **) &tets->edges);
	rb_free(memory, (void **) &tets->edge_segment);
	rb_free(memory, (void **) &tets->segments);
	rb_free(memory, (void **) &tets->segment_facet);
	memset(tets, 0, sizeof *tets);
}
