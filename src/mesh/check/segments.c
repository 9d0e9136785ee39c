/*
 * segments.c
 *	  Checks the edges that the mesh lists as parts of segments: that they are edges of its
 *	  tetrahedra, and that those of each segment form one path from end to end that lies on it.
 *
 * An edge that is in no tetrahedron may be outside the kept part, which is tested later.
 */
#include "mesh/check/checking.h"

/* ---- edges ---- */

static rb_status
check_listed_edges(rb_checking *k)
{
	const rb_check_input *in = k->in;

	RB_TRY(RB_ALLOCATE(k->ctx, k->edge_ok, (size_t) in->nedges + 1));
	RB_TRY(rb_pairs_reset(k->ctx, &k->claimed, in->nedges));
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
			if (!rb_pair_set_has(&k->edges, v[0], v[1]))
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

/* ---- segments ---- */

/* Edges of the segment being checked, by their ends */
typedef struct segment_ends
{
	uint32_t *edge; /* two per point */
	uint32_t *n;
} segment_ends;

/* Returns the distance of p from line ab. */
static double
distance_to_line(const double *a, const double *b, const double *p)
{
	double u[3], w[3], c[3], length;

	length = hypot(hypot(b[0] - a[0], b[1] - a[1]), b[2] - a[2]);
	for (int i = 0; i < 3; i++)
	{
		u[i] = length > 0 ? (b[i] - a[i]) / length : 0;
		w[i] = p[i] - a[i];
	}
	for (int i = 0; i < 3; i++)
		c[i] = u[(i + 1) % 3] * w[(i + 2) % 3] - u[(i + 2) % 3] * w[(i + 1) % 3];
	return hypot(hypot(c[0], c[1]), c[2]);
}

/* Checks that the list has the segments of the PLC first, then boundaries of facets. */
static rb_status
check_listed_segments(rb_checking *k)
{
	const rb_check_input *in = k->in;
	uint32_t given = in->plc == NULL ? 0 : in->plc->nsegments;

	RB_TRY(rb_pairs_reset(k->ctx, &k->segments, in->nsegments));
	for (uint32_t s = 0; s < given || (in->segments != NULL && s < in->nsegments); s++)
	{
		const uint32_t *v = s < in->nsegments && in->segments != NULL ? in->segments[s] : NULL;
		const uint32_t *w = s < given ? in->plc->segments[s] : v;
		uint32_t was;

		RB_CHECK_STOP(k, s);
		if (v == NULL || v[0] == v[1] || v[0] >= in->npoints || v[1] >= in->npoints ||
			(v[0] ^ v[1]) != (w[0] ^ w[1]) || (v[0] != w[0] && v[0] != w[1]))
		{
			RB_TRY(rb_check_fault(k, RB_FAULT_SEGMENT_LIST, w[0], w[1], s, 0));
			if (s < in->nsegments)
				k->segment_bad[s] = 1;
			continue;
		}
		RB_TRY(rb_pairs_insert(k->ctx, &k->segments, v[0], v[1], s, &was));
	}
	return RB_OK;
}

/* Fills in the edges that end at each point, and finds the ends of the path. */
static rb_status
fill_ends(rb_checking *k, segment_ends *at, uint32_t s, bool *good, uint32_t tips[2],
		  uint32_t *ntips)
{
	const rb_check_input *in = k->in;

	for (uint32_t i = k->edges_of.start[s]; i < k->edges_of.start[s + 1]; i++)
		for (int j = 0; j < 2; j++)
		{
			uint32_t e = k->edges_of.member[i], p = in->edges[e][j];

			RB_CHECK_STOP(k, i);
			if (at->n[p] < 2)
				at->edge[2 * (size_t) p + at->n[p]] = e;
			else if (*good)
			{
				*good = false;
				RB_TRY(rb_check_fault(k, RB_FAULT_SEGMENT_PATH, s, p, RB_NONE, 0));
			}
			at->n[p]++;
		}
	*ntips = 0;
	for (uint32_t i = k->edges_of.start[s]; *good && i < k->edges_of.start[s + 1]; i++)
		for (int j = 0; j < 2; j++)
		{
			uint32_t p = in->edges[k->edges_of.member[i]][j];

			if (at->n[p] != 1)
				continue;
			if (*ntips == 2)
			{
				*good = false;
				return rb_check_fault(k, RB_FAULT_SEGMENT_PATH, s, p, RB_NONE, 0);
			}
			tips[(*ntips)++] = p;
		}
	return RB_OK;
}

static rb_status
walk_path(rb_checking *k, const segment_ends *at, uint32_t s, uint32_t from, uint32_t to)
{
	const rb_check_input *in = k->in;
	const double *a = rb_check_point(k, from), *b = rb_check_point(k, to);
	bool finite = !rb_check_bad(k, from) && !rb_check_bad(k, to);
	uint32_t edge = at->edge[2 * (size_t) from], p = from, steps = 0;
	uint32_t left = k->edges_of.start[s + 1] - k->edges_of.start[s];
	int axis = 0;

	for (int i = 1; i < 3; i++)
		if (fabs(b[i] - a[i]) > fabs(b[axis] - a[axis]))
			axis = i;
	for (;;)
	{
		uint32_t q = in->edges[edge][in->edges[edge][0] == p];
		const double *c = rb_check_point(k, q);

		RB_CHECK_STOP(k, steps);
		steps++;
		left--;
		if (finite && !rb_check_bad(k, p) && !rb_check_bad(k, q))
		{
			const double *last = rb_check_point(k, p);

			if (b[axis] > a[axis] ? !(c[axis] > last[axis]) : !(c[axis] < last[axis]))
				RB_TRY(rb_check_fault(k, RB_FAULT_SEGMENT_ORDER, s, p, q, 0));
			if (q != to && distance_to_line(a, b, c) > k->near)
				RB_TRY(rb_check_fault(k, RB_FAULT_SEGMENT_FAR, q, s, RB_NONE,
									  distance_to_line(a, b, c) / k->diagonal));
		}
		if (q == to)
			break;
		if ((rb_check_kind(k, q) != RB_VERTEX_ON_SEGMENT || rb_check_parent(k, q) != s) &&
			(k->point[q] & RB_POINT_REPORTED) == 0)
			RB_TRY(rb_check_fault(k, RB_FAULT_SEGMENT_POINT, s, q, RB_NONE, 0));
		k->point[q] |= RB_POINT_SEEN;
		/* Continue with the other edge; all points but the ends have two. */
		if (at->n[q] != 2)
			return rb_check_fault(k, RB_FAULT_SEGMENT_PATH, s, q, RB_NONE, 0);
		edge = at->edge[2 * (size_t) q + (at->edge[2 * (size_t) q] == edge)];
		p = q;
	}
	/* The remaining edges form a separate ring. */
	if (left > 0)
		return rb_check_fault(k, RB_FAULT_SEGMENT_PATH, s, RB_NONE, RB_NONE, 0);
	return RB_OK;
}

static rb_status
one_segment(rb_checking *k, segment_ends *at, uint32_t s)
{
	const rb_check_input *in = k->in;
	uint64_t faults = k->report->count[RB_FAULT_SEGMENT_PATH];
	bool good = true;
	uint32_t tips[2] = {RB_NONE, RB_NONE}, ntips;

	if (k->edges_of.start[s] == k->edges_of.start[s + 1])
	{
		rb_deferred_test w = {
			.side = RB_NONE, .kind = RB_FAULT_SEGMENT_MISSING, .a = s, .b = RB_NONE};

		k->segment_bad[s] = 1;
		if (in->segments == NULL)
			return rb_check_fault(k, RB_FAULT_SEGMENT_MISSING, s, RB_NONE, RB_NONE, 0);
		w.from = in->segments[s][0];
		w.to = in->segments[s][1];
		return rb_check_defer(k, &w);
	}
	RB_TRY(fill_ends(k, at, s, &good, tips, &ntips));
	if (good && in->segments != NULL)
		for (int i = 0; good && i < 2; i++)
		{
			uint32_t end = in->segments[s][i];

			if (at->n[end] != 1 || ntips != 2)
			{
				good = false;
				RB_TRY(rb_check_fault(k, RB_FAULT_SEGMENT_PATH, s, end, RB_NONE, 0));
			}
			tips[i] = end;
		}
	else if (good && ntips != 2)
	{
		good = false;
		RB_TRY(rb_check_fault(k, RB_FAULT_SEGMENT_PATH, s, RB_NONE, RB_NONE, 0));
	}
	if (good)
		RB_TRY(walk_path(k, at, s, tips[0], tips[1]));
	if (k->report->count[RB_FAULT_SEGMENT_PATH] > faults)
		k->segment_bad[s] = 1;
	return RB_OK;
}

static uint32_t
segment_of_edge(const void *arg, uint32_t edge)
{
	const rb_checking *k = arg;

	return k->edge_ok[edge] ? k->in->edge_segment[edge] : RB_NONE;
}

rb_status
rb_check_segments(rb_checking *k)
{
	const rb_check_input *in = k->in;
	segment_ends at;

	RB_TRY(RB_ALLOCATE(k->ctx, k->segment_bad, (size_t) in->nsegments + 1));
	memset(k->segment_bad, 0, (size_t) in->nsegments + 1);
	RB_TRY(check_listed_edges(k));
	RB_TRY(rb_buckets_build(k->ctx, &k->edges_of, in->nedges, in->nsegments, segment_of_edge, k));
	RB_TRY(check_listed_segments(k));
	RB_TRY(rb_check_scratch(k, 0, 2 * (size_t) in->npoints));
	RB_TRY(rb_check_scratch(k, 1, in->npoints));
	at.edge = k->scratch[0];
	at.n = k->scratch[1];
	memset(at.n, 0, in->npoints * sizeof(uint32_t));
	for (uint32_t s = 0; s < in->nsegments; s++)
	{
		RB_CHECK_STOP(k, s);
		if (k->segment_bad[s])
			continue;
		RB_TRY(one_segment(k, &at, s));
		for (uint32_t i = k->edges_of.start[s]; i < k->edges_of.start[s + 1]; i++)
			for (int j = 0; j < 2; j++)
				at.n[in->edges[k->edges_of.member[i]][j]] = 0;
	}
	for (uint32_t i = 0; i < in->npoints; i++)
		if (rb_check_kind(k, i) == RB_VERTEX_ON_SEGMENT &&
			(k->point[i] & (RB_POINT_SEEN | RB_POINT_REPORTED)) == 0 &&
			!k->segment_bad[in->parent[i]])
			RB_TRY(rb_check_fault(k, RB_FAULT_SEGMENT_LOOSE, i, in->parent[i], RB_NONE, 0));
	return RB_OK;
}
