/*
 * claims.c
 *	  Checks that the faces that the mesh lists as parts of facets, and the edges it lists as parts
 *	  of segments, belong to its tetrahedra.
 *
 * A face or edge that is in no tetrahedron may be outside the kept part, which is tested later.
 */
#include "mesh/check/checking.h"

static rb_status
one_face(rb_checking *k, uint32_t f)
{
	const rb_check_input *in = k->in;
	const uint32_t *v = in->faces[f];
	uint32_t facet = in->face_facet[f];

	k->face_ok[f] = 0;
	for (int i = 0; i < 3; i++)
		if (v[i] >= in->npoints)
		{
			if (facet < k->nfacets)
				k->facet_bad[facet] = 1;
			return rb_check_fault(k, RB_FAULT_FACE_NUMBER, f, v[i], RB_NONE, 0);
		}
	for (int i = 0; i < 3; i++)
		if (v[i] == v[(i + 1) % 3])
		{
			if (facet < k->nfacets)
				k->facet_bad[facet] = 1;
			return rb_check_fault(k, RB_FAULT_FACE_CORNERS, f, v[i], RB_NONE, 0);
		}
	k->face_ok[f] = 1;
	if (facet >= k->nfacets)
		return rb_check_fault(k, RB_FAULT_FACE_FACET, f, facet, RB_NONE, 0);
	return RB_OK;
}

/*
 * Marks both sides of a face that is in the mesh; otherwise records a test of whether it should be.
 */
static rb_status
find_face(rb_checking *k, uint32_t f, const uint32_t v[3])
{
	rb_deferred_test w = {.kind = RB_FAULT_FACE_NOT_IN_MESH, .a = f, .b = k->in->face_facet[f]};
	uint32_t face = rb_check_find_face(k, v);

	if (face != RB_NONE)
	{
		uint32_t other = k->mate[face];

		k->on_facet[face >> 2] |= (uint8_t) (1 << (face & 3));
		if (other < RB_NO_TEST)
			k->on_facet[other >> 2] |= (uint8_t) (1 << (other & 3));
		return RB_OK;
	}
	/* Test the face beside one of its edges that is in the mesh, or else its first edge. */
	w.from = v[0], w.to = v[1], w.side = RB_NONE;
	for (int i = 0; i < 3; i++)
		if (rb_pairs_get(&k->edges, v[i], v[(i + 1) % 3]) != RB_NONE)
		{
			w.from = v[i], w.to = v[(i + 1) % 3], w.side = v[(i + 2) % 3];
			break;
		}
	return rb_check_defer(k, &w);
}

static rb_status
check_faces(rb_checking *k)
{
	uint32_t n = k->in->nfaces;
	size_t want = (size_t) n + n / 2 + 16;
	uint32_t cap = want > UINT32_MAX ? UINT32_MAX : (uint32_t) want;
	uint32_t *table;

	RB_TRY(rb_array(k->ctx, (void **) &k->face_ok, (size_t) n + 1, 1));
	RB_TRY(rb_array(k->ctx, (void **) &k->table, cap, sizeof(uint32_t)));
	table = k->table;
	memset(table, 0xff, (size_t) cap * sizeof(uint32_t));
	for (uint32_t f = 0; f < n; f++)
	{
		uint32_t v[3], at;

		RB_CHECK_STOP(k, f);
		RB_TRY(one_face(k, f));
		if (!k->face_ok[f])
			continue;
		memcpy(v, k->in->faces[f], sizeof(v));
		rb_sort3(v);
		at = rb_hash_slot(rb_hash_triple(v[0], v[1], v[2]), cap);
		while (table[at] != RB_NONE)
		{
			uint32_t w[3];

			memcpy(w, k->in->faces[table[at]], sizeof(w));
			rb_sort3(w);
			if (w[0] == v[0] && w[1] == v[1] && w[2] == v[2])
				break;
			at = at + 1 < cap ? at + 1 : 0;
		}
		if (table[at] != RB_NONE)
		{
			k->face_ok[f] = 0;
			RB_TRY(rb_check_fault(k, RB_FAULT_FACE_TWICE, table[at], f, RB_NONE, 0));
			continue;
		}
		table[at] = f;
		RB_TRY(find_face(k, f, v));
	}
	rb_free(k->ctx->memory, (void **) &k->table);
	return RB_OK;
}

static rb_status
check_edges(rb_checking *k)
{
	const rb_check_input *in = k->in;

	RB_TRY(rb_array(k->ctx, (void **) &k->edge_ok, (size_t) in->nedges + 1, 1));
	RB_TRY(rb_pairs_init(k->ctx, &k->claimed, in->nedges, false));
	for (uint32_t e = 0; e < in->nedges; e++)
	{
		const uint32_t *v = in->edges[e];
		uint32_t s = in->edge_segment[e], was;

		RB_CHECK_STOP(k, e);
		k->edge_ok[e] = 0;
		if (v[0] >= in->npoints || v[1] >= in->npoints)
			RB_TRY(rb_check_fault(k, RB_FAULT_EDGE_NUMBER, e, v[v[0] < in->npoints], RB_NONE, 0));
		else if (v[0] == v[1])
			RB_TRY(rb_check_fault(k, RB_FAULT_EDGE_CORNERS, e, v[0], RB_NONE, 0));
		else if (s >= in->nsegments)
			RB_TRY(rb_check_fault(k, RB_FAULT_EDGE_SEGMENT, e, s, RB_NONE, 0));
		else
		{
			RB_TRY(rb_pairs_insert(k->ctx, &k->claimed, v[0], v[1], e, &was));
			if (was != RB_NONE)
			{
				RB_TRY(rb_check_fault(k, RB_FAULT_EDGE_TWICE, was, e, RB_NONE, 0));
				/*
				 * If two segments overlap, the second one has a gap here, which was reported with
				 * the edge.
				 */
				if (in->edge_segment[was] != s)
					k->segment_bad[s] = 1;
				continue;
			}
			k->edge_ok[e] = 1;
			if (rb_pairs_get(&k->edges, v[0], v[1]) == RB_NONE)
			{
				rb_deferred_test w = {.from = v[0],
									  .to = v[1],
									  .side = RB_NONE,
									  .kind = RB_FAULT_EDGE_NOT_IN_MESH,
									  .a = e,
									  .b = s};

				RB_TRY(rb_check_defer(k, &w));
			}
			continue;
		}
		if (s < in->nsegments)
			k->segment_bad[s] = 1;
	}
	return RB_OK;
}

rb_status
rb_check_claims(rb_checking *k)
{
	const rb_check_input *in = k->in;

	RB_TRY(rb_array(k->ctx, (void **) &k->facet_bad, (size_t) k->nfacets + 1, 1));
	RB_TRY(rb_array(k->ctx, (void **) &k->segment_bad, (size_t) in->nsegments + 1, 1));
	RB_TRY(rb_array(k->ctx, (void **) &k->facet_far, (size_t) k->nfacets + 1, 1));
	memset(k->facet_bad, 0, (size_t) k->nfacets + 1);
	memset(k->facet_far, 0, (size_t) k->nfacets + 1);
	memset(k->segment_bad, 0, (size_t) in->nsegments + 1);
	RB_TRY(check_faces(k));
	RB_TRY(check_edges(k));
	RB_TRY(
		rb_buckets_build(k->ctx, &k->faces_of, in->face_facet, k->face_ok, in->nfaces, k->nfacets));
	return rb_buckets_build(k->ctx, &k->edges_of, in->edge_segment, k->edge_ok, in->nedges,
							in->nsegments);
}
