/*
 * plc_segments.c
 *	  Finds the segments of a PLC: those given, and the boundaries of its facets.
 *
 * An edge of exactly one triangle of a facet is on the facet's boundary; an edge of two triangles
 * is soft. Facets that meet along an edge share its segment.
 */
#include "mesh/recover.h"

rb_status
rb_recover_order(rb_context *ctx, const uint32_t *key, uint32_t n, uint32_t keys, uint32_t **order)
{
	uint32_t *start = NULL;
	uint32_t buckets, sum = 0;
	int shift = 0;
	rb_status status;

	while ((keys >> shift) > n)
		shift++;
	buckets = (keys >> shift) + 1;
	status = rb_array(ctx, (void **) &start, buckets, sizeof(uint32_t));
	if (status == RB_OK)
		status = rb_array(ctx, (void **) order, (size_t) n + 1, sizeof(uint32_t));
	if (status == RB_OK)
	{
		memset(start, 0, buckets * sizeof(uint32_t));
		for (uint32_t i = 0; i < n; i++)
			start[key[i] >> shift]++;
		for (uint32_t b = 0; b < buckets; b++)
		{
			uint32_t here = start[b];

			start[b] = sum;
			sum += here;
		}
		for (uint32_t i = 0; i < n; i++)
			(*order)[start[key[i] >> shift]++] = i;
	}
	rb_free(ctx->memory, (void **) &start);
	return status;
}

static rb_status
segment_add(rb_recovery *r, uint32_t u, uint32_t v, uint32_t facet, uint32_t *which)
{
	uint32_t *number;
	bool fresh;
	rb_status status =
		rb_table_insert(r->ctx, &r->boundary, u, v, RB_NONE, r->nsegments, &number, &fresh);

	if (status != RB_OK)
		return status;
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

		status = rb_array_grow(r->ctx, (void **) &r->segments, &cap, r->nsegments + 1,
							   sizeof(uint32_t[2]));
		if (status == RB_OK)
			status = rb_array(r->ctx, (void **) &r->segment_facet, cap, sizeof(uint32_t));
		if (status != RB_OK)
			return status;
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
	rb_status status = RB_OK;

	if (to - from == 1)
	{
		const uint32_t *v = plc->triangles[from];

		for (int i = 0; i < 3 && status == RB_OK; i++)
			status = segment_add(r, v[i], v[(i + 1) % 3], facet, &r->edges[from][i]);
		return status;
	}
	rb_table_clear(uses);
	for (uint32_t t = from; t < to; t++)
		for (int i = 0; i < 3; i++)
		{
			const uint32_t *v = plc->triangles[t];
			uint32_t *n;

			status = rb_table_insert(r->ctx, uses, v[i], v[(i + 1) % 3], RB_NONE, 0, &n, NULL);
			if (status != RB_OK)
				return status;
			if (++*n > 2)
				return rb_recover_flaw(r, RB_FLAW_FACET_FOLDED, facet, RB_NONE,
									   plc->points + 3 * (size_t) v[i]);
		}
	for (uint32_t t = from; t < to && status == RB_OK; t++)
		for (int i = 0; i < 3 && status == RB_OK; i++)
		{
			const uint32_t *v = plc->triangles[t];

			if (*rb_table_find(uses, v[i], v[(i + 1) % 3], RB_NONE) == 1)
				status = segment_add(r, v[i], v[(i + 1) % 3], facet, NULL);
		}
	return status;
}

/*
 * Finds the points at which two segments form an angle below 90 degrees; with more than six
 * segments, two always do.
 */
static rb_status
find_acute(rb_recovery *r)
{
	uint32_t n = r->plc->npoints;
	uint32_t *start = NULL, *end = NULL;
	rb_status status = rb_array(r->ctx, (void **) &start, (size_t) n + 1, sizeof(uint32_t));

	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &end, 2 * (size_t) r->nsegments + 1, sizeof(uint32_t));
	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &r->acute, (size_t) n + 1, sizeof(bool));
	if (status == RB_OK)
	{
		memset(start, 0, ((size_t) n + 1) * sizeof(uint32_t));
		memset(r->acute, 0, n + 1);
		for (uint32_t s = 0; s < r->nsegments; s++)
			start[r->segments[s][0]]++, start[r->segments[s][1]]++;
		for (uint32_t v = 0, sum = 0; v <= n; v++)
		{
			uint32_t here = v < n ? start[v] : 0;

			sum += here;
			/* End of the point's list; filling it backward moves this to its start. */
			start[v] = sum;
		}
		for (uint32_t s = 0; s < r->nsegments; s++)
		{
			end[--start[r->segments[s][0]]] = r->segments[s][1];
			end[--start[r->segments[s][1]]] = r->segments[s][0];
		}
		for (uint32_t v = 0; v < n; v++)
		{
			const double *p = r->plc->points + 3 * (size_t) v;
			uint32_t from = start[v], to = start[v + 1];

			if (rb_recover_stops(r, v))
			{
				status = RB_STOPPED;
				break;
			}
			if (to - from > 6)
				r->acute[v] = true;
			for (uint32_t i = from; i < to && !r->acute[v]; i++)
				for (uint32_t j = i + 1; j < to && !r->acute[v]; j++)
				{
					const double *a = r->plc->points + 3 * (size_t) end[i];
					const double *b = r->plc->points + 3 * (size_t) end[j];
					double la = 0, lb = 0, dot = 0;

					for (int k = 0; k < 3; k++)
					{
						la = fmax(la, fabs(a[k] - p[k]));
						lb = fmax(lb, fabs(b[k] - p[k]));
					}
					for (int k = 0; k < 3; k++)
						dot += (a[k] - p[k]) / la * ((b[k] - p[k]) / lb);
					r->acute[v] = !(dot < 0x1p-40);
				}
		}
	}
	rb_free(r->ctx->memory, (void **) &start);
	rb_free(r->ctx->memory, (void **) &end);
	return status;
}

rb_status
rb_recover_complex(rb_recovery *r)
{
	const rb_plc *plc = r->plc;
	rb_table uses = {NULL, 0, 0};
	rb_status status =
		rb_array(r->ctx, (void **) &r->facet_start, (size_t) plc->nfacets + 1, sizeof(uint32_t));

	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &r->edges, (size_t) plc->ntriangles + 1,
						  sizeof(uint32_t[3]));
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
	status = rb_table_reserve(r->ctx, &r->boundary,
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
		status = find_acute(r);
	return status;
}
