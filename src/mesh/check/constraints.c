/*
 * constraints.c
 *	  Checks the edges that the mesh lists as parts of segments, and the faces that it lists as
 *	  parts of facets: that they are edges and faces of its tetrahedra; that the edges of each
 *	  segment form one path from end to end that lies on it; and that the faces of each facet tile
 *	  it. Each inner edge of a facet has two faces and each boundary edge one, nothing is folded,
 *	  and the area and the Euler characteristic are those of the facet's triangles.
 *
 * An edge or a face that is in no tetrahedron may be outside the kept part, which is tested later.
 *
 * The facet is projected along the axis nearest to its normal, where exact orient2d signs detect
 * faces without area and folds. Surfaces with the same boundary that do not fold are equal; the
 * area is also compared, up to rounding.
 */
#include "mesh/check/checking.h"

/* ---- edges ---- */

/* Checks the numbers and ends of all listed edges. */
static rb_status
check_listed_edges(rb_checking *k)
{
	const rb_check_input *in = k->in;

	RB_TRY(RB_ALLOCATE(k->ctx, k->edge_ok, (size_t) in->nedges + 1));
	RB_TRY(rb_table_reset(k->ctx, &k->claimed, in->nedges));
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
			RB_TRY(rb_check_insert_pair(k->ctx, &k->claimed, v[0], v[1], e, &was));
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

/* Returns the distance of a vertex p on the path of a segment from its line ab. */
static double
distance_from_checked_segment(const double *a, const double *b, const double *p)
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

	RB_TRY(rb_table_reset(k->ctx, &k->segments, in->nsegments));
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
		RB_TRY(rb_check_insert_pair(k->ctx, &k->segments, v[0], v[1], s, &was));
	}
	return RB_OK;
}

/* Fills in the edges that end at each point, and finds the ends of the path. */
static rb_status
list_edges_of_segment_path(rb_checking *k, segment_ends *at, uint32_t s, bool *good,
						   uint32_t tips[2], uint32_t *ntips)
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

/* Follows the path of edges of a segment and checks its points. */
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
			if (q != to && distance_from_checked_segment(a, b, c) > k->near)
				RB_TRY(rb_check_fault(k, RB_FAULT_SEGMENT_FAR, q, s, RB_NONE,
									  distance_from_checked_segment(a, b, c) / k->diagonal));
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

/* Checks the path of one segment. */
static rb_status
check_path_of_segment(rb_checking *k, segment_ends *at, uint32_t s)
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
	RB_TRY(list_edges_of_segment_path(k, at, s, &good, tips, &ntips));
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

/*
 * Returns the segment of an edge, by which edges are listed, or RB_NONE if the edge itself is
 * faulty.
 */
static uint32_t
segment_of_edge(const void *arg, uint32_t edge)
{
	const rb_checking *k = arg;

	return k->edge_ok[edge] ? k->in->edge_segment[edge] : RB_NONE;
}

/* Checks the paths of all segments. */
static rb_status
check_segments(rb_checking *k)
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
		RB_TRY(check_path_of_segment(k, &at, s));
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

/* ---- faces ---- */

/* Checks the numbers and corners of one listed face. */
static rb_status
check_listed_face(rb_checking *k, uint32_t f)
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
	/* Test the face at one of its edges that is in the mesh, or else at its first edge. */
	w.from = v[0], w.to = v[1], w.side = RB_NONE;
	for (int i = 0; i < 3; i++)
		if (rb_pair_set_has(&k->edges, v[i], v[(i + 1) % 3]))
		{
			w.from = v[i], w.to = v[(i + 1) % 3], w.side = v[(i + 2) % 3];
			break;
		}
	return rb_check_defer(k, &w);
}

/* Checks all listed faces, and that no two are equal. */
static rb_status
check_listed_faces(rb_checking *k)
{
	RB_TRY(RB_ALLOCATE(k->ctx, k->face_ok, (size_t) k->in->nfaces + 1));
	for (uint32_t f = 0; f < k->in->nfaces; f++)
	{
		uint32_t v[3], *first;
		bool fresh;

		RB_CHECK_STOP(k, f);
		RB_TRY(check_listed_face(k, f));
		if (!k->face_ok[f])
			continue;
		memcpy(v, k->in->faces[f], sizeof(v));
		rb_sort3(v);
		RB_TRY(rb_table_insert(k->ctx, &k->listed, v[0], v[1], v[2], f, &first, &fresh));
		if (!fresh)
		{
			k->face_ok[f] = 0;
			if (k->in->face_facet[f] < k->nfacets)
				k->facet_reported[k->in->face_facet[f]] |= RB_REPORTED_AREA;
			RB_TRY(rb_check_fault(k, RB_FAULT_FACE_TWICE, *first, f, RB_NONE, 0));
			continue;
		}
		RB_TRY(find_face(k, f, v));
	}
	rb_table_free(k->ctx->memory, &k->listed);
	return RB_OK;
}

/* ---- facets ---- */

/* State of the facet being checked */
typedef struct facets
{
	rb_checking *k;
	uint32_t f;
	uint32_t from, to; /* range of its triangles in the PLC */
	bool quiet;        /* true if a missing part was reported, so gaps are not reported */
	/*
	 * For each segment, 2 * (f + 1) if it is on the boundary of facet f, and 1 more if it is inside
	 */
	uint32_t *on_segment;
	uint32_t *corner; /* for each point, f + 1 if it is a corner of the triangles of facet f */
	/* for each face edge, given by its first use, its second use; a use is 3 * face + corner */
	uint32_t *side;
	uint32_t *uses;
	int axis;
	double normal[3]; /* unit normal of the facet */
	double low, high; /* range of the triangles along the normal */
	int turn;         /* sign of the first triangle, seen along the axis */
	double area;      /* twice the area seen along the axis, scaled */
	double perimeter;
	int64_t euler;
	uint32_t edges; /* number of edges on the boundary's segments */
} facets;

/* Returns the coordinates of a point of the PLC, not of the mesh. */
static const double *
get_point_of_checked_plc(const facets *c, uint32_t p)
{
	return c->k->in->plc->points + 3 * (size_t) p;
}

/* Computes the scaled normal of a triangle. */
static void
normal_of_checked_facet_triangle(const facets *f, const double *a, const double *b, const double *c,
								 double n[3])
{
	double u[3], v[3];

	for (int i = 0; i < 3; i++)
	{
		u[i] = (b[i] - a[i]) * f->k->scale;
		v[i] = (c[i] - a[i]) * f->k->scale;
	}
	for (int i = 0; i < 3; i++)
		n[i] = u[(i + 1) % 3] * v[(i + 2) % 3] - u[(i + 2) % 3] * v[(i + 1) % 3];
}

/* Chooses the axis from the sum of normals, which the caller has oriented to one side. */
static void
choose_facet_axis(facets *c, const double sum[3])
{
	double length = hypot(hypot(sum[0], sum[1]), sum[2]);

	c->axis = 0;
	for (int i = 1; i < 3; i++)
		if (fabs(sum[i]) > fabs(sum[c->axis]))
			c->axis = i;
	for (int i = 0; i < 3; i++)
		c->normal[i] = length > 0 ? sum[i] / length : 0;
	c->turn = sum[c->axis] < 0 ? -1 : 1;
}

/*
 * Returns the signed height of a vertex p of a facet's face above the plane through o that is
 * normal to the facet.
 */
static double
height_above_facet_plane(const facets *c, const double *p, const double *o)
{
	return c->normal[0] * (p[0] - o[0]) + c->normal[1] * (p[1] - o[1]) +
		   c->normal[2] * (p[2] - o[2]);
}

/*
 * Computes the normal of a facet and counts its corners and edges from its triangles in the PLC,
 * before the faces that tile it are checked.
 */
static rb_status
measure_checked_facet(facets *c)
{
	rb_checking *k = c->k;
	const rb_plc *plc = k->in->plc;
	double sum[3] = {0, 0, 0}, n[3], dot;
	uint32_t points = 0, was;

	RB_TRY(rb_table_reset(k->ctx, &k->local, 3 * (size_t) (c->to - c->from)));
	for (uint32_t t = c->from; t < c->to; t++)
	{
		const uint32_t *v = plc->triangles[t];

		RB_CHECK_STOP(k, t);
		normal_of_checked_facet_triangle(c, get_point_of_checked_plc(c, v[0]),
										 get_point_of_checked_plc(c, v[1]),
										 get_point_of_checked_plc(c, v[2]), n);
		/* Triangles may be oriented either way. */
		dot = n[0] * sum[0] + n[1] * sum[1] + n[2] * sum[2];
		for (int i = 0; i < 3; i++)
		{
			sum[i] += dot < 0 ? -n[i] : n[i];
			points += c->corner[v[i]] != c->f + 1;
			c->corner[v[i]] = c->f + 1;
			RB_TRY(rb_check_insert_pair(k->ctx, &k->local, v[i], v[(i + 1) % 3],
										3 * (t - c->from) + (uint32_t) i, &was));
			/* Each edge counts its uses at its first use. */
			c->uses[3 * (t - c->from) + (uint32_t) i] = 0;
			c->uses[was == RB_NONE ? 3 * (t - c->from) + (uint32_t) i : was]++;
		}
	}
	c->euler = (int64_t) points - (int64_t) k->local.n + (c->to - c->from);
	choose_facet_axis(c, sum);
	c->area = c->perimeter = c->low = c->high = 0;
	c->edges = 0;
	for (uint32_t t = c->from; t < c->to; t++)
	{
		const uint32_t *v = plc->triangles[t];

		RB_CHECK_STOP(k, t);
		normal_of_checked_facet_triangle(c, get_point_of_checked_plc(c, v[0]),
										 get_point_of_checked_plc(c, v[1]),
										 get_point_of_checked_plc(c, v[2]), n);
		c->area += fabs(n[c->axis]);
		for (int i = 0; i < 3; i++)
		{
			const double *p = get_point_of_checked_plc(c, v[i]),
						 *q = get_point_of_checked_plc(c, v[(i + 1) % 3]);
			double h = height_above_facet_plane(
				c, p, get_point_of_checked_plc(c, plc->triangles[c->from][0]));
			uint32_t s;

			c->low = fmin(c->low, h);
			c->high = fmax(c->high, h);
			if (c->uses[3 * (t - c->from) + (uint32_t) i] != 1)
			{
				/* Two triangles meet here; another facet or a line may adjoin this edge. */
				s = rb_check_find_pair(&k->segments, v[i], v[(i + 1) % 3]);
				if (s != RB_NONE && c->on_segment[s] != 2 * (c->f + 1))
					c->on_segment[s] = 2 * (c->f + 1) + 1;
				continue;
			}
			c->perimeter += hypot(hypot(q[0] - p[0], q[1] - p[1]), q[2] - p[2]);
			s = rb_check_find_pair(&k->segments, v[i], v[(i + 1) % 3]);
			if (s == RB_NONE)
			{
				const rb_deferred_test w = {.from = v[i],
											.to = v[(i + 1) % 3],
											.side = RB_NONE,
											.kind = RB_FAULT_SEGMENT_LIST,
											.a = v[i],
											.b = v[(i + 1) % 3]};

				/* If the mesh was read from tables, a segment entirely outside it is not listed. */
				c->quiet = true;
				if (w.from < k->in->npoints && w.to < k->in->npoints)
					RB_TRY(rb_check_defer(k, &w));
				else
					RB_TRY(rb_check_fault(k, w.kind, w.a, w.b, RB_NONE, 0));
				continue;
			}
			c->on_segment[s] = 2 * (c->f + 1);
			c->edges += k->edges_of.start[s + 1] - k->edges_of.start[s];
			if (k->segment_bad[s])
				c->quiet = true;
		}
	}
	return RB_OK;
}

/*
 * Computes the axis of a facet that has no triangles of its own from the faces of the mesh on it.
 */
static rb_status
measure_facet_by_faces(facets *c)
{
	rb_checking *k = c->k;
	double sum[3] = {0, 0, 0}, n[3];

	for (uint32_t i = k->faces_of.start[c->f]; i < k->faces_of.start[c->f + 1]; i++)
	{
		const uint32_t *v = k->in->faces[k->faces_of.member[i]];
		double dot;

		RB_CHECK_STOP(k, i);
		if (rb_check_bad(k, v[0]) || rb_check_bad(k, v[1]) || rb_check_bad(k, v[2]))
			continue;
		normal_of_checked_facet_triangle(c, rb_check_point(k, v[0]), rb_check_point(k, v[1]),
										 rb_check_point(k, v[2]), n);
		dot = n[0] * sum[0] + n[1] * sum[1] + n[2] * sum[2];
		for (int j = 0; j < 3; j++)
			sum[j] += dot < 0 ? -n[j] : n[j];
	}
	choose_facet_axis(c, sum);
	return RB_OK;
}

/* Returns the orientation of three points seen along the axis. */
static int
orientation_on_checked_facet(const facets *c, uint32_t p, uint32_t q, uint32_t r)
{
	int x = (c->axis + 1) % 3, y = (c->axis + 2) % 3;
	double v[3][2];
	uint32_t u[3] = {p, q, r};

	for (int i = 0; i < 3; i++)
	{
		v[i][0] = rb_check_point(c->k, u[i])[x];
		v[i][1] = rb_check_point(c->k, u[i])[y];
	}
	return rb_orient2d(v[0], v[1], v[2]);
}

/*
 * Returns true if vertex r of a facet's face is so close to the line through p and q that it may
 * be a rounded point on it. The side of the line on which r lies is then meaningless.
 */
static bool
is_near_facet_edge(const facets *c, uint32_t p, uint32_t q, uint32_t r)
{
	const double *a = rb_check_point(c->k, p), *b = rb_check_point(c->k, q);
	double n[3], scale = c->k->scale;

	normal_of_checked_facet_triangle(c, a, b, rb_check_point(c->k, r), n);
	return hypot(hypot(n[0], n[1]), n[2]) <=
		   c->k->near * scale *
			   hypot(hypot((b[0] - a[0]) * scale, (b[1] - a[1]) * scale), (b[2] - a[2]) * scale);
}

/*
 * Returns true if v are the vertices of a face of the mesh on the facet and are nearly collinear.
 */
static bool
is_thin_facet_face(const facets *c, const uint32_t *v)
{
	uint32_t sorted[3] = {v[0], v[1], v[2]};

	rb_sort3(sorted);
	return rb_check_find_face(c->k, sorted) != RB_NONE &&
		   (is_near_facet_edge(c, v[0], v[1], v[2]) || is_near_facet_edge(c, v[1], v[2], v[0]) ||
			is_near_facet_edge(c, v[2], v[0], v[1]));
}

/* Checks that a corner of a facet's face is a vertex on the facet. */
static rb_status
check_corner_on_facet(facets *c, uint32_t face, uint32_t p)
{
	rb_checking *k = c->k;
	const rb_check_input *in = k->in;
	rb_vertex_kind kind = rb_check_kind(k, p);
	uint32_t parent = rb_check_parent(k, p);

	if (in->plc != NULL ? c->corner[p] == c->f + 1 : kind == RB_VERTEX_INPUT)
		return RB_OK;
	if (kind == RB_VERTEX_ON_SEGMENT && parent < in->nsegments &&
		(in->plc == NULL || c->on_segment[parent] / 2 == c->f + 1 || c->quiet))
		return RB_OK;
	if (kind == RB_VERTEX_ON_FACET && parent == c->f)
	{
		double h, thick;

		if ((k->point[p] & (RB_POINT_SEEN | RB_POINT_BAD)) == 0 && in->plc != NULL)
		{
			h = height_above_facet_plane(
				c, rb_check_point(k, p),
				get_point_of_checked_plc(c, in->plc->triangles[c->from][0]));
			thick =
				fmax(c->high - c->low, in->plc->tolerance != NULL ? in->plc->tolerance[c->f] : 0);
			h = fmax(c->high - thick - h, h - c->low - thick);
			if (h > k->near)
			{
				k->facet_reported[c->f] |= RB_REPORTED_FAR;
				RB_TRY(rb_check_fault(k, RB_FAULT_FACET_FAR, p, c->f, RB_NONE, h / k->diagonal));
			}
		}
		k->point[p] |= RB_POINT_SEEN;
		return RB_OK;
	}
	if ((k->point[p] & RB_POINT_REPORTED) != 0)
		return RB_OK;
	return rb_check_fault(k, RB_FAULT_FACET_CORNER, face, c->f, p, 0);
}

/* Checks all faces: their corners, areas and shared edges. */
static rb_status
check_faces(facets *c, double *area, uint32_t *points)
{
	rb_checking *k = c->k;
	uint32_t start = k->faces_of.start[c->f], end = k->faces_of.start[c->f + 1];

	*area = 0;
	*points = 0;
	RB_TRY(rb_table_reset(k->ctx, &k->local, 3 * (size_t) (end - start) / 2 + 1));
	for (uint32_t i = start; i < end; i++)
	{
		uint32_t face = k->faces_of.member[i], was;
		const uint32_t *v = k->in->faces[face];

		RB_CHECK_STOP(k, i);
		for (uint32_t j = 0; j < 3; j++)
		{
			uint32_t side = 3 * (i - start) + j;

			RB_TRY(check_corner_on_facet(c, face, v[j]));
			RB_TRY(rb_check_insert_pair(k->ctx, &k->local, v[j], v[(j + 1) % 3], side, &was));
			c->uses[side] = 0;
			if (was == RB_NONE)
				was = side;
			else
				c->side[was] = side;
			c->uses[was]++;
		}
		if (rb_check_bad(k, v[0]) || rb_check_bad(k, v[1]) || rb_check_bad(k, v[2]))
			c->quiet = true;
		else
		{
			int turn = orientation_on_checked_facet(c, v[0], v[1], v[2]);
			double n[3];

			if (turn == 0 && !is_thin_facet_face(c, v))
				RB_TRY(rb_check_fault(k, RB_FAULT_FACE_FLAT, face, c->f, RB_NONE, 0));
			k->report->turned_faces += k->in->plc != NULL && turn == -c->turn;
			normal_of_checked_facet_triangle(c, rb_check_point(k, v[0]), rb_check_point(k, v[1]),
											 rb_check_point(k, v[2]), n);
			*area += fabs(n[c->axis]);
		}
	}
	/* Count each point once. */
	for (uint32_t i = start; i < end; i++)
		for (int j = 0; j < 3; j++)
		{
			uint32_t p = k->in->faces[k->faces_of.member[i]][j];

			RB_CHECK_STOP(k, i);
			*points += (k->point[p] & RB_POINT_HERE) == 0;
			k->point[p] |= RB_POINT_HERE;
		}
	for (uint32_t i = start; i < end; i++)
		for (int j = 0; j < 3; j++)
			k->point[k->in->faces[k->faces_of.member[i]][j]] &= (uint8_t) ~RB_POINT_HERE;
	return RB_OK;
}

/* Checks that each edge is used once on the boundary and elsewhere twice, from both sides. */
static rb_status
check_facet_edges(facets *c)
{
	rb_checking *k = c->k;
	uint32_t start = k->faces_of.start[c->f], end = k->faces_of.start[c->f + 1];
	uint32_t found = 0;
	uint64_t before = k->report->count[RB_FAULT_FACET_TILING];

	for (uint32_t side = 0; side < 3 * (end - start); side++)
	{
		const uint32_t *v = k->in->faces[k->faces_of.member[start + side / 3]], *w;
		uint32_t p = v[side % 3], q = v[(side + 1) % 3], other, e;
		bool boundary;

		RB_CHECK_STOP(k, side);
		if (c->uses[side] == 0)
			continue;
		e = rb_check_find_pair(&k->claimed, p, q);
		boundary = e != RB_NONE &&
				   (k->in->plc == NULL || c->on_segment[k->in->edge_segment[e]] == 2 * (c->f + 1));
		found += boundary;
		/* Without the PLC, inner segments cannot be distinguished from the boundary. */
		if (k->in->plc == NULL && boundary && c->uses[side] == 2)
			boundary = false;
		if (c->uses[side] != (boundary ? 1 : 2) && !c->quiet)
			RB_TRY(rb_check_fault(k, RB_FAULT_FACET_TILING, c->f, p, q, 0));
		if (c->uses[side] != 2)
			continue;
		other = c->side[side];
		w = k->in->faces[k->faces_of.member[start + other / 3]];
		if (rb_check_bad(k, p) || rb_check_bad(k, q) || rb_check_bad(k, v[(side + 2) % 3]) ||
			rb_check_bad(k, w[(other + 2) % 3]))
			continue;
		if (orientation_on_checked_facet(c, p, q, v[(side + 2) % 3]) *
					orientation_on_checked_facet(c, p, q, w[(other + 2) % 3]) >
				0 &&
			!is_near_facet_edge(c, p, q, v[(side + 2) % 3]) &&
			!is_near_facet_edge(c, p, q, w[(other + 2) % 3]))
			RB_TRY(rb_check_fault(k, RB_FAULT_FACET_FOLDED, c->f, p, q, 0));
	}
	if (k->in->plc != NULL && !c->quiet && found != c->edges &&
		k->report->count[RB_FAULT_FACET_TILING] == before)
		RB_TRY(rb_check_fault(k, RB_FAULT_FACET_TILING, c->f, RB_NONE, RB_NONE, 0));
	return RB_OK;
}

/*
 * Tests whether a facet without faces adjoins the inside of the mesh, and records this for a later
 * test.
 */
static rb_status
check_missing_facet(facets *c)
{
	rb_checking *k = c->k;
	const rb_check_input *in = k->in;

	k->facet_bad[c->f] = 1;
	for (uint32_t t = c->from; t < c->to; t++)
	{
		const uint32_t *v = in->plc->triangles[t];

		RB_CHECK_STOP(k, t);
		for (int i = 0; i < 3; i++)
		{
			uint32_t s = rb_check_find_pair(&k->segments, v[i], v[(i + 1) % 3]);

			if (s == RB_NONE || v[(i + 2) % 3] >= in->npoints)
				continue;
			for (uint32_t j = k->edges_of.start[s]; j < k->edges_of.start[s + 1]; j++)
			{
				const uint32_t *e = in->edges[k->edges_of.member[j]];
				rb_deferred_test w = {.from = e[0],
									  .to = e[1],
									  .side = v[(i + 2) % 3],
									  .kind = RB_FAULT_FACET_MISSING,
									  .a = c->f,
									  .b = RB_NONE};

				if (!rb_pair_set_has(&k->edges, e[0], e[1]))
					break;
				return rb_check_defer(k, &w);
			}
		}
	}
	k->report->outside_facets++;
	return RB_OK;
}

/* Checks that the faces of one facet tile it. */
static rb_status
check_faces_tile_facet(facets *c)
{
	rb_checking *k = c->k;
	rb_check_report *r = k->report;
	static const rb_fault_kind payload[] = {RB_FAULT_FACET_CORNER, RB_FAULT_FACET_TILING,
											RB_FAULT_FACE_FLAT, RB_FAULT_FACET_FOLDED};
	uint32_t n = k->faces_of.start[c->f + 1] - k->faces_of.start[c->f], points;
	uint64_t before = 0, after = 0;
	double area, off;
	int64_t euler;

	c->quiet = k->facet_bad[c->f] != 0;
	RB_TRY(k->in->plc != NULL ? measure_checked_facet(c) : measure_facet_by_faces(c));
	if (n == 0)
		return k->in->plc != NULL && !k->facet_bad[c->f] ? check_missing_facet(c) : RB_OK;
	for (size_t i = 0; i < sizeof(payload) / sizeof(payload[0]); i++)
		before += r->count[payload[i]];
	RB_TRY(check_faces(c, &area, &points));
	euler = (int64_t) points - (int64_t) k->local.n + n;
	RB_TRY(check_facet_edges(c));
	for (size_t i = 0; i < sizeof(payload) / sizeof(payload[0]); i++)
		after += r->count[payload[i]];
	if (c->quiet || before != after)
		k->facet_bad[c->f] = 1;
	if (k->in->plc == NULL || c->quiet || before != after)
		return RB_OK;
	if (euler != c->euler)
		return rb_check_fault(k, RB_FAULT_FACET_EULER, c->f, RB_NONE, RB_NONE,
							  (double) (euler - c->euler));
	off = fabs(area - c->area);
	if (off > 1e-9 * c->area + 0x1p-50 * (k->largest * k->scale) * (c->perimeter * k->scale))
	{
		k->facet_reported[c->f] |= RB_REPORTED_AREA;
		return rb_check_fault(k, RB_FAULT_FACET_AREA, c->f, RB_NONE, RB_NONE, off / c->area);
	}
	return RB_OK;
}

/* Allocates scratch memory for checking the largest facet. */
static rb_status
allocate_facet_scratch(facets *c)
{
	rb_checking *k = c->k;
	const rb_check_input *in = k->in;
	uint32_t most = 1, run = 0, npoints = in->npoints;

	for (uint32_t f = 0; f < k->nfacets; f++)
		if (k->faces_of.start[f + 1] - k->faces_of.start[f] > most)
			most = k->faces_of.start[f + 1] - k->faces_of.start[f];
	for (uint32_t t = 0; in->plc != NULL && t < in->plc->ntriangles; t++)
	{
		run = t > 0 && in->plc->facet_of[t] == in->plc->facet_of[t - 1] ? run + 1 : 1;
		if (run > most)
			most = run;
	}
	if (most > UINT32_MAX / 3)
		return rb_fail(k->ctx, RB_TOO_MANY_OBJECTS, most, UINT32_MAX / 3, NULL);
	if (in->plc != NULL && in->plc->npoints > npoints)
		npoints = in->plc->npoints;
	RB_TRY(rb_check_scratch(k, 0, in->nsegments));
	RB_TRY(rb_check_scratch(k, 1, npoints));
	RB_TRY(rb_check_scratch(k, 2, 3 * (size_t) most));
	RB_TRY(rb_check_scratch(k, 3, 3 * (size_t) most));
	c->on_segment = k->scratch[0];
	c->corner = k->scratch[1];
	c->side = k->scratch[2];
	c->uses = k->scratch[3];
	memset(c->on_segment, 0, in->nsegments * sizeof(uint32_t));
	memset(c->corner, 0, npoints * sizeof(uint32_t));
	return RB_OK;
}

/*
 * Returns the facet on which a face of the mesh is listed, or RB_NONE if the face is faulty;
 * groups faces by facet.
 */
static uint32_t
facet_of_checked_face(const void *arg, uint32_t face)
{
	const rb_checking *k = arg;

	return k->face_ok[face] ? k->in->face_facet[face] : RB_NONE;
}

/* Checks the faces of all facets. */
static rb_status
check_facets(rb_checking *k)
{
	const rb_check_input *in = k->in;
	facets c = {.k = k};
	uint32_t t = 0;

	RB_TRY(RB_ALLOCATE(k->ctx, k->facet_bad, (size_t) k->nfacets + 1));
	RB_TRY(RB_ALLOCATE(k->ctx, k->facet_reported, (size_t) k->nfacets + 1));
	memset(k->facet_bad, 0, (size_t) k->nfacets + 1);
	memset(k->facet_reported, 0, (size_t) k->nfacets + 1);
	RB_TRY(check_listed_faces(k));
	RB_TRY(
		rb_buckets_build(k->ctx, &k->faces_of, in->nfaces, k->nfacets, facet_of_checked_face, k));
	RB_TRY(allocate_facet_scratch(&c));
	for (uint32_t f = 0; f < k->nfacets; f++)
	{
		RB_CHECK_STOP(k, f);
		c.f = f;
		c.from = t;
		while (in->plc != NULL && t < in->plc->ntriangles && in->plc->facet_of[t] == f)
			t++;
		c.to = t;
		RB_TRY(check_faces_tile_facet(&c));
	}
	for (uint32_t i = 0; i < in->npoints; i++)
		if (rb_check_kind(k, i) == RB_VERTEX_ON_FACET &&
			(k->point[i] & (RB_POINT_SEEN | RB_POINT_REPORTED)) == 0 &&
			!k->facet_bad[in->parent[i]])
			RB_TRY(rb_check_fault(k, RB_FAULT_FACET_POINT, i, in->parent[i], RB_NONE, 0));
	return RB_OK;
}

rb_status
rb_check_constraints(rb_checking *k)
{
	RB_TRY(check_segments(k));
	return check_facets(k);
}
