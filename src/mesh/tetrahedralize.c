/*
 * tetrahedralize.c
 *	  The way from a PLC to its constrained Delaunay tetrahedralization: points, segments, facets,
 *	  regions.
 */
#include "mesh/rb_recover.h"

#define ROUNDS 16 /* after so many, what could not be recovered is said to be so */

static void
recovery_free(rb_recovery *r)
{
	rb_memory *memory = r->ctx->memory;

	rb_mesh_free(&r->mesh);
	rb_free(memory, (void **) &r->segments);
	rb_free(memory, (void **) &r->segment_facet);
	rb_table_free(memory, &r->boundary);
	rb_free(memory, (void **) &r->facet_start);
	rb_free(memory, (void **) &r->pieces);
	rb_table_free(memory, &r->piece_of);
	rb_free(memory, (void **) &r->cuts);
	rb_free(memory, (void **) &r->acute);
	rb_free(memory, (void **) &r->kind);
	rb_free(memory, (void **) &r->parent);
	rb_free(memory, (void **) &r->facet_points);
	rb_free(memory, (void **) &r->subfaces);
	rb_free(memory, (void **) &r->star);
}

/* a Delaunay tetrahedralization of the PLC's points, and of those that earlier rounds added */
static rb_status
insert_points(rb_recovery *r, const double *added, uint32_t nadded)
{
	rb_mesh *m = &r->mesh;
	bool flat;
	rb_status status = rb_mesh_init(m, r->ctx, r->plc->points, r->plc->npoints);

	if (status == RB_OK)
		status = rb_mesh_delaunay(m, &flat);
	if (status == RB_OK && flat)
	{
		static const double nowhere[3] = {0, 0, 0};

		return rb_recover_flaw(r, RB_FLAW_NO_VOLUME, RB_NONE, RB_NONE,
							   r->plc->npoints > 0 ? r->plc->points : nowhere);
	}
	for (uint32_t i = 0; i < nadded && status == RB_OK; i++)
	{
		uint32_t v, same;

		status = rb_mesh_add_point(m, added + 3 * (size_t) i, &v);
		if (status == RB_OK)
			status = rb_mesh_insert(m, v, m->recent, &same);
		if (status == RB_OK && same != RB_NONE)
			return rb_recover_flaw(r, RB_FLAW_TOO_NEAR, same, r->parent[i], added + 3 * (size_t) i);
		if ((i & 255) == 0 && rb_should_stop(r->ctx))
			return RB_STOPPED;
	}
	return status;
}

/* one round; *again: points were added, which the next one begins with */
static rb_status
one_round(rb_recovery *r, rb_tets *tets, double **added, uint32_t *nadded, bool *again)
{
	double start = rb_now_ms(), now;
	rb_status status = insert_points(r, *added, *nadded);

	now = rb_now_ms();
	tets->ms_points += now - start;
	start = now;
	if (status == RB_OK)
		status = rb_recover_segments(r);
	now = rb_now_ms();
	tets->ms_segments += now - start;
	start = now;
	if (status == RB_OK)
		status = rb_recover_facets(r, again);
	if (status == RB_OK && *again)
	{
		*nadded = r->mesh.npoints - r->plc->npoints;
		status = rb_array(r->ctx, (void **) added, *nadded, 3 * sizeof(double));
		if (status == RB_OK)
			memcpy(*added, r->mesh.points + 3 * (size_t) r->plc->npoints,
				   *nadded * 3 * sizeof(double));
		rb_mesh_free(&r->mesh);
	}
	tets->ms_facets += rb_now_ms() - start;
	return status;
}

rb_status
rb_tetrahedralize(rb_context *ctx, const rb_plc *plc, rb_keep keep, rb_tets *tets, rb_flaw *flaw)
{
	rb_recovery r;
	double *added = NULL;
	uint32_t nadded = 0;
	bool again = true;
	double start;
	rb_status status;

	memset(tets, 0, sizeof *tets);
	memset(flaw, 0, sizeof *flaw);
	memset(&r, 0, sizeof r);
	r.ctx = ctx;
	r.plc = plc;
	r.flaw = flaw;
	r.mesh.ctx = ctx;
	status = rb_recover_complex(&r);
	for (int round = 0; again && status == RB_OK; round++)
	{
		again = false;
		status = one_round(&r, tets, &added, &nadded, &again);
		if (status == RB_OK && again && round == ROUNDS)
			status = rb_recover_flaw(&r, RB_FLAW_NOT_RECOVERED, r.parent[nadded - 1], RB_NONE,
									 added + 3 * (size_t) (nadded - 1));
	}
	rb_free(ctx->memory, (void **) &added);
	start = rb_now_ms();
	if (status == RB_OK)
		status = rb_recover_result(&r, keep, tets);
	tets->ms_regions = rb_now_ms() - start;
	recovery_free(&r);
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
