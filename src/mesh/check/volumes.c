/*
 * volumes.c
 *	  Checks that regions have the volumes that their facets enclose, and that points on facets are
 *	  as near as rounding allows.
 *
 * Facets that already have faults are excluded, as are the regions they bound, because a volume
 * that lacks a face would be reported twice.
 */
#include "mesh/check/checking.h"
#include "mesh/volumes.h"

/* Returns true after faults that invalidate corners or neighbors, or that change the surface. */
static bool
is_broken(const rb_checking *k)
{
	static const rb_fault_kind kinds[] = {
		RB_FAULT_POINT_NOT_FINITE, RB_FAULT_TET_NUMBER,  RB_FAULT_TET_CORNERS,
		RB_FAULT_TET_TWICE,        RB_FAULT_SHARED,      RB_FAULT_SAME_SIDE,
		RB_FAULT_FACE_NUMBER,      RB_FAULT_EDGE_NUMBER, RB_FAULT_EDGE_SEGMENT,
		RB_FAULT_INPUT_MISSING,    RB_FAULT_REGIONS,     RB_FAULT_BOUNDARY,
		RB_FAULT_NOT_CONVEX,       RB_FAULT_CAVITY};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (k->report->count[kinds[i]] > 0)
			return true;
	return false;
}

static uint32_t
find_tet(const rb_checking *k, int64_t region)
{
	uint32_t t = 0;

	while (t + 1 < k->in->ntets && k->in->region[t] != region)
		t++;
	return t;
}

static rb_status
report_fault(void *arg, const rb_volumes_fault *fault)
{
	rb_checking *k = arg;

	if (!fault->far)
		return rb_check_fault(k, RB_FAULT_VOLUME, find_tet(k, fault->region), fault->facet, RB_NONE,
							  fault->volume != 0 ? fault->amount / fault->volume : fault->amount);
	/* Points far beyond rounding were already reported one by one. */
	if (k->facet_far[fault->facet])
		return RB_OK;
	return rb_check_fault(k, RB_FAULT_FACET_FAR, fault->point, fault->facet, RB_NONE,
						  fault->amount / k->diagonal);
}

rb_status
rb_check_volumes(rb_checking *k)
{
	const rb_check_input *in = k->in;
	const size_t n = 4 * (size_t) in->ntets;
	rb_volumes_input v;

	if (in->plc == NULL || in->region == NULL || in->kind == NULL || in->segments == NULL ||
		is_broken(k))
		return RB_OK;
	RB_TRY(rb_check_scratch(k, 4, n));
	for (size_t i = 0; i < n; i++)
		k->scratch[4][i] = k->mate[i] < RB_NO_TEST ? k->mate[i] >> 2 : RB_NONE;
	v = (rb_volumes_input){.npoints = in->npoints,
						   .ntets = in->ntets,
						   .nfaces = in->nfaces,
						   .nedges = in->nedges,
						   .nsegments = in->nsegments,
						   .points = in->points,
						   .kind = in->kind,
						   .parent = in->parent,
						   .tets = in->tets,
						   .neighbours = k->scratch[4],
						   .region = in->region,
						   .faces = in->faces,
						   .face_facet = in->face_facet,
						   .edges = in->edges,
						   .edge_segment = in->edge_segment,
						   .segments = in->segments,
						   .skipped = k->facet_bad,
						   .surface_npoints = in->plc->npoints,
						   .ntriangles = in->plc->ntriangles,
						   .nfacets = in->plc->nfacets,
						   .npieces = in->nsegments,
						   .surface_points = in->plc->points,
						   .triangles = in->plc->triangles,
						   .facet_of = in->plc->facet_of,
						   .pieces = in->segments};
	return rb_volumes_compare(k->ctx, &v, report_fault, k);
}
