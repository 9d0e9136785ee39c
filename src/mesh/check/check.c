/*
 * check.c
 *	  Runs the parts of the mesh checker one after the other.
 */
#include "mesh/check/checking.h"

/* Sorts the listed faults by kind; `spare` has room for all of them. */
static void
sort_by_kind(rb_checking *k, rb_fault *spare)
{
	rb_check_report *r = k->report;
	uint32_t start[RB_FAULT_KINDS + 1] = {0};

	for (uint32_t i = 0; i < r->nlist; i++)
		start[r->list[i].kind + 1]++;
	for (int i = 0; i < RB_FAULT_KINDS; i++)
		start[i + 1] += start[i];
	for (uint32_t i = 0; i < r->nlist; i++)
		spare[start[r->list[i].kind]++] = r->list[i];
	if (r->nlist > 0)
		memcpy(r->list, spare, r->nlist * sizeof(rb_fault));
}

static rb_status
run_checks(rb_checking *k)
{
	const rb_check_input *in = k->in;

	if (in->ntets >= (uint32_t) 1 << 30)
		return rb_fail(k->ctx, RB_TOO_MANY_OBJECTS, in->ntets, (uint32_t) 1 << 30, NULL);
	k->nfacets = in->plc != NULL ? in->plc->nfacets : in->nfacets;
	k->has_holes = in->plc == NULL;
	for (uint32_t i = 0; in->plc != NULL && i < in->plc->nseeds; i++)
		k->has_holes |= in->plc->seeds[i].hole;
	RB_TRY(rb_check_tets(k));
	RB_TRY(rb_check_segments(k));
	RB_TRY(rb_check_facets(k));
	RB_TRY(rb_check_delaunay(k));
	RB_TRY(rb_check_boundary(k));
	return rb_check_deferred(k);
}

static rb_status
order_faults(rb_checking *k)
{
	void *spare = NULL;

	if (k->report->nlist == 0)
		return RB_OK;
	RB_TRY(rb_array(k->ctx, &spare, k->report->nlist, sizeof(rb_fault)));
	sort_by_kind(k, (rb_fault *) spare);
	rb_free(k->ctx->memory, &spare);
	return RB_OK;
}

static void
free_checking(rb_checking *k)
{
	rb_memory *memory = k->ctx->memory;
	void **blocks[] = {(void **) &k->point,     (void **) &k->sign,      (void **) &k->mate,
					   (void **) &k->on_facet,  (void **) &k->face_ok,   (void **) &k->edge_ok,
					   (void **) &k->facet_bad, (void **) &k->facet_far, (void **) &k->segment_bad,
					   (void **) &k->wanted};

	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		rb_free(memory, blocks[i]);
	for (size_t i = 0; i < sizeof(k->scratch) / sizeof(k->scratch[0]); i++)
		RB_FREE(memory, k->scratch[i]);
	rb_point_hash_free(memory, &k->equal);
	rb_table_free(memory, &k->listed);
	RB_FREE(memory, k->faces.slot);
	rb_pair_set_free(memory, &k->edges);
	rb_pairs_free(memory, &k->claimed);
	rb_pairs_free(memory, &k->segments);
	rb_pairs_free(memory, &k->local);
	rb_buckets_free(memory, &k->edges_of);
	rb_buckets_free(memory, &k->faces_of);
}

rb_status
rb_check_mesh(rb_context *ctx, const rb_check_input *in, rb_check_report *report)
{
	rb_checking k = {.ctx = ctx, .in = in, .report = report};
	rb_status status;

	memset(report, 0, sizeof(*report));
	status = run_checks(&k);
	if (status == RB_OK)
		status = order_faults(&k);
	free_checking(&k);
	if (status != RB_OK)
		rb_check_report_free(ctx->memory, report);
	return status;
}
