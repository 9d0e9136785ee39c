/*
 * result.c
 *	  Cells and sites become a tetrahedralization: tetrahedra in the order of their places, faces facet by
 *	  facet, edges segment by segment.
 */
#include "refine/rb_refining.h"

typedef struct result
{
	rb_refining *r;
	uint32_t *number; /* of each place: its tetrahedron */
	rb_tets out;
} result;

static bool
stops(const result *s, uint32_t i)
{
	return (i & 0x3fff) == 0x3fff && rb_should_stop(s->r->ctx);
}

/* at each place that is counted there is an array's start: at[i] becomes where the elements of i begin */
static void
sum_up(uint32_t *at, uint32_t n)
{
	for (uint32_t i = 1; i <= n; i++)
		at[i] += at[i - 1];
}

static rb_status
put_points(result *s)
{
	rb_refining *r = s->r;
	const rb_cells *m = &r->mesh;
	rb_tets *out = &s->out;
	size_t n = r->nsites;
	rb_status status = rb_array(r->ctx, (void **) &out->points, 3 * n + 1, sizeof(double));

	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &out->kind, n + 1, 1);
	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &out->parent, n + 1, sizeof(uint32_t));
	if (status != RB_OK)
		return status;
	for (uint32_t i = 0; i < n; i++)
	{
		bool on_segment = m->kind[i] == RB_VERTEX_ON_SEGMENT;
		bool on_facet = m->kind[i] == RB_VERTEX_ON_FACET;

		memcpy(out->points + 3 * (size_t) i, m->sites[i].at, sizeof m->sites[i].at);
		out->kind[i] = m->kind[i];
		out->parent[i] = m->parent[i];
		if ((on_segment && m->parent[i] >= r->nsegments) ||
			(on_facet && m->parent[i] >= r->nfacets))
		{
			out->kind[i] = RB_VERTEX_ON_HULL;
			out->parent[i] = RB_NONE;
		}
	}
	out->npoints = (uint32_t) n;
	return RB_OK;
}

static rb_status
number_tets(result *s)
{
	rb_refining *r = s->r;
	rb_status status =
		rb_array(r->ctx, (void **) &s->number, (size_t) r->ncells + 1, sizeof(uint32_t));
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->ncells && status == RB_OK; i++)
	{
		const rb_cell *c = &r->mesh.cells[i];

		s->number[i] = c->v[0] == RB_DEAD || rb_cell_ghost(c) ? RB_NONE : n++;
	}
	s->out.ntets = n;
	return status;
}

static rb_status
put_tets(result *s)
{
	rb_refining *r = s->r;
	rb_tets *out = &s->out;
	rb_status status =
		rb_array(r->ctx, (void **) &out->tets, (size_t) out->ntets + 1, sizeof(uint32_t[4]));

	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &out->neighbours, 4 * (size_t) out->ntets + 1,
						  sizeof(uint32_t));
	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &out->region, (size_t) out->ntets + 1, sizeof(int64_t));
	for (uint32_t i = 0; i < r->ncells && status == RB_OK; i++)
	{
		const rb_cell *c = &r->mesh.cells[i];
		uint32_t t = s->number[i];

		if (t == RB_NONE)
			continue;
		memcpy(out->tets[t], c->v, sizeof c->v);
		for (uint32_t k = 0; k < 4; k++)
			out->neighbours[4 * (size_t) t + k] = s->number[c->n[k] >> 2];
		out->region[t] = r->regions[c->region];
		if (stops(s, i))
			status = RB_STOPPED;
	}
	return status;
}

/* of a wall of the input that cell i is to tell of: once, from the tetrahedron in front */
static bool
tells_face(const result *s, uint32_t i, uint32_t k)
{
	const rb_cell *c = &s->r->mesh.cells[i];
	uint32_t beyond = c->n[k] >> 2;

	return (c->bits & RB_CELL_WALL(k)) != 0 && c->facet[k] < s->r->nfacets &&
		   (s->number[beyond] == RB_NONE || i < beyond);
}

static rb_status
put_faces(result *s)
{
	rb_refining *r = s->r;
	rb_tets *out = &s->out;
	uint32_t *at = NULL;
	rb_status status = rb_array(r->ctx, (void **) &at, (size_t) r->nfacets + 2, sizeof(uint32_t));

	if (status != RB_OK)
		return status;
	memset(at, 0, ((size_t) r->nfacets + 2) * sizeof(uint32_t));
	for (int pass = 0; pass < 2 && status == RB_OK; pass++)
	{
		for (uint32_t i = 0; i < r->ncells && status == RB_OK; i++)
		{
			const rb_cell *c = &r->mesh.cells[i];

			if (s->number[i] == RB_NONE || (c->bits & RB_CELL_WALLS) == 0)
				continue;
			for (uint32_t k = 0; k < 4; k++)
				if (tells_face(s, i, k))
				{
					if (pass == 0)
						at[c->facet[k] + 1]++;
					else
					{
						uint32_t f = at[c->facet[k]]++;

						for (uint32_t j = 0; j < 3; j++)
							out->faces[f][j] = c->v[rb_cell_face_corner(k, j)];
						out->face_facet[f] = c->facet[k];
					}
				}
			if (stops(s, i))
				status = RB_STOPPED;
		}
		if (pass == 0 && status == RB_OK)
		{
			sum_up(at, r->nfacets);
			out->nfaces = at[r->nfacets];
			status = rb_array(r->ctx, (void **) &out->faces, (size_t) out->nfaces + 1,
							  sizeof(uint32_t[3]));
			if (status == RB_OK)
				status = rb_array(r->ctx, (void **) &out->face_facet, (size_t) out->nfaces + 1,
								  sizeof(uint32_t));
		}
	}
	rb_free(r->ctx->memory, (void **) &at);
	return status;
}

/* of a piece that is edge e of cell i: is i the first of the tetrahedra around it? */
static bool
tells_edge(const result *s, uint32_t i, uint32_t e)
{
	rb_ring ring = rb_ring_begin(&s->r->mesh, i, e);

	do
	{
		if (ring.cell < i && s->number[ring.cell] != RB_NONE)
			return false;
		rb_ring_next(&s->r->mesh, &ring);
	} while (ring.cell != i);
	return true;
}

static rb_status
put_edges(result *s)
{
	rb_refining *r = s->r;
	const rb_cells *m = &r->mesh;
	rb_tets *out = &s->out;
	uint32_t *at = NULL;
	rb_status status = rb_array(r->ctx, (void **) &at, (size_t) r->nsegments + 2, sizeof(uint32_t));

	if (status != RB_OK)
		return status;
	memset(at, 0, ((size_t) r->nsegments + 2) * sizeof(uint32_t));
	for (int pass = 0; pass < 2 && status == RB_OK; pass++)
	{
		for (uint32_t i = 0; i < r->ncells && status == RB_OK; i++)
		{
			const rb_cell *c = &m->cells[i];

			if (s->number[i] == RB_NONE || (c->bits & RB_CELL_SEGMENTS) == 0)
				continue;
			for (uint32_t e = 0; e < 6; e++)
			{
				uint32_t a = c->v[rb_cell_edge_from(e)], b = c->v[rb_cell_edge_to(e)], segment;

				if ((c->bits & RB_CELL_SEGMENT(e)) == 0 || !tells_edge(s, i, e))
					continue;
				segment = rb_piece_segment(m, a, b);
				if (segment >= r->nsegments)
					continue;
				if (pass == 0)
					at[segment + 1]++;
				else
				{
					out->edges[at[segment]][0] = a;
					out->edges[at[segment]][1] = b;
					out->edge_segment[at[segment]++] = segment;
				}
			}
			if (stops(s, i))
				status = RB_STOPPED;
		}
		if (pass == 0 && status == RB_OK)
		{
			sum_up(at, r->nsegments);
			out->nedges = at[r->nsegments];
			status = rb_array(r->ctx, (void **) &out->edges, (size_t) out->nedges + 1,
							  sizeof(uint32_t[2]));
			if (status == RB_OK)
				status = rb_array(r->ctx, (void **) &out->edge_segment, (size_t) out->nedges + 1,
								  sizeof(uint32_t));
		}
	}
	rb_free(r->ctx->memory, (void **) &at);
	return status;
}

/* what was added, and what stayed bad for which reason */
static rb_status
count(result *s, uint32_t points_before)
{
	rb_refining *r = s->r;
	const rb_cells *m = &r->mesh;
	rb_refine_report *report = r->report;

	for (uint32_t i = points_before; i < r->nsites; i++)
		report->added[s->out.kind[i]]++;
	for (uint32_t i = 0; i < r->ncells; i++)
	{
		const rb_cell *c = &m->cells[i];
		rb_shape shape;
		bool kept;

		if (s->number[i] == RB_NONE)
			continue;
		shape = rb_cell_shape(m, c);
		if (rb_cell_bad(m, c, &shape, &kept))
		{
			report->bad++;
			report->bad_because[(c->bits & RB_CELL_LEFT) != 0
									? (c->bits & RB_CELL_REASON) >> RB_CELL_REASON_SHIFT
								: r->full ? RB_BAD_FULL
										  : RB_BAD_INPUT]++;
		}
		if (stops(s, i))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* what goes over from the old one as it is */
static void
hand_over(rb_tets *old, rb_tets *out)
{
	out->nsegments = old->nsegments;
	out->segments = old->segments;
	out->segment_facet = old->segment_facet;
	out->nregions = old->nregions;
	out->outside_seeds = old->outside_seeds;
	out->ms_points = old->ms_points;
	out->ms_segments = old->ms_segments;
	out->ms_facets = old->ms_facets;
	out->ms_regions = old->ms_regions;
	old->segments = NULL;
	old->segment_facet = NULL;
}

rb_status
rb_refining_result(rb_refining *r, rb_tets *tets)
{
	result s;
	rb_status status;

	memset(&s, 0, sizeof s);
	s.r = r;
	status = put_points(&s);
	if (status == RB_OK)
		status = number_tets(&s);
	if (status == RB_OK)
		status = put_tets(&s);
	if (status == RB_OK)
		status = put_faces(&s);
	if (status == RB_OK)
		status = put_edges(&s);
	if (status == RB_OK)
		status = count(&s, tets->npoints);
	rb_free(r->ctx->memory, (void **) &s.number);
	if (status != RB_OK)
	{
		rb_tets_free(r->ctx->memory, &s.out);
		return status;
	}
	hand_over(tets, &s.out);
	rb_tets_free(r->ctx->memory, tets);
	*tets = s.out;
	return RB_OK;
}
