/*
 * start.c
 *	  A tetrahedralization becomes cells and sites (rb_cells.h).
 *
 * Where its boundary is on no facet, for the mesh goes to the hull, faces of one plane that are next to each
 * other become a facet of their own (hull.c), and edges between two such facets segments: they are refined like
 * those of the input, but nothing of them is told in the result.
 */
#include "refine/rb_refining.h"

#include "mesh/rb_table.h"

#include <stdlib.h>

/* ---- room ---- */

rb_status
rb_refining_reserve(rb_refining *r, size_t cells, size_t sites)
{
	rb_cells *m = &r->mesh;
	rb_status status =
		rb_array_grow(r->ctx, (void **) &m->cells, &r->cells_cap, cells, sizeof(*m->cells));

	if (status == RB_OK)
		status =
			rb_array_grow(r->ctx, (void **) &m->sites, &r->sites_cap, sites, sizeof(*m->sites));
	if (status == RB_OK)
		status = rb_array_grow(r->ctx, (void **) &m->kind, &r->kind_cap, sites, 1);
	if (status == RB_OK)
		status =
			rb_array_grow(r->ctx, (void **) &m->parent, &r->parent_cap, sites, sizeof(*m->parent));
	return status;
}

void
rb_refining_free(rb_refining *r)
{
	rb_memory *memory = r->ctx->memory;

	rb_free(memory, (void **) &r->mesh.cells);
	rb_free(memory, (void **) &r->mesh.sites);
	rb_free(memory, (void **) &r->mesh.kind);
	rb_free(memory, (void **) &r->mesh.parent);
	rb_free(memory, (void **) &r->free);
	rb_free(memory, (void **) &r->stuck);
	rb_free(memory, (void **) &r->hopeless);
	rb_free(memory, (void **) &r->segments);
	rb_free(memory, (void **) &r->segment_order);
	rb_free(memory, (void **) &r->facet_start);
	rb_free(memory, (void **) &r->facet_corners);
	rb_free(memory, (void **) &r->regions);
	rb_free(memory, (void **) &r->region_volume);
	rb_free(memory, (void **) &r->sizes_start);
	rb_free(memory, (void **) &r->sizes_points);
}

/* scratch of the start */
typedef struct start
{
	rb_refining *r;
	const rb_tets *tets;
	rb_table faces;  /* of facets */
	rb_table edges;  /* of segments */
	uint8_t *marks;  /* of each site: 1 a face of a facet has it, 2 an edge of a segment */
	rb_table
		chains; /* edges of the boundary to the ghost where the ring of cells there ends by now */
	uint32_t *ends; /* of each such edge: where it began, and where it ends: cell << 2 | corner */
	size_t ends_cap;
	uint32_t nends;
} start;

static bool
stops(const start *s, uint32_t i)
{
	return (i & 0x3fff) == 0x3fff && rb_should_stop(s->r->ctx);
}

/* ---- sites and cells ---- */

static rb_status
make_sites(start *s)
{
	rb_refining *r = s->r;
	const rb_tets *tets = s->tets;

	for (uint32_t i = 0; i < tets->npoints; i++)
	{
		rb_site *site = &r->mesh.sites[i];

		memcpy(site->at, tets->points + 3 * (size_t) i, sizeof site->at);
		site->radius = 0;
		r->mesh.kind[i] = tets->kind[i] == RB_VERTEX_ON_HULL ? RB_VERTEX_INSIDE : tets->kind[i];
		r->mesh.parent[i] = tets->parent[i];
	}
	r->nsites = tets->npoints;
	return RB_OK;
}

/* the place of a region in the list of them */
static rb_status
region_place(rb_refining *r, int64_t region, size_t *cap, uint32_t *place)
{
	uint32_t from = 0, to = r->nregions;
	rb_status status;

	if (*place < r->nregions && r->regions[*place] == region)
		return RB_OK;
	while (from < to)
	{
		uint32_t middle = from + (to - from) / 2;

		if (r->regions[middle] < region)
			from = middle + 1;
		else
			to = middle;
	}
	*place = from;
	if (from < r->nregions && r->regions[from] == region)
		return RB_OK;
	status = rb_array_grow(r->ctx, (void **) &r->regions, cap, (size_t) r->nregions + 1,
						   sizeof(*r->regions));
	if (status != RB_OK)
		return status;
	memmove(r->regions + from + 1, r->regions + from, (r->nregions - from) * sizeof(*r->regions));
	r->regions[from] = region;
	r->nregions++;
	return RB_OK;
}

static rb_status
make_regions(start *s)
{
	rb_refining *r = s->r;
	const rb_refine_options *o = r->options;
	size_t cap = r->nregions;
	uint32_t place = 0;
	rb_status status = RB_OK;

	for (uint32_t i = 0; i < s->tets->ntets && status == RB_OK; i++)
		status = region_place(r, s->tets->region[i], &cap, &place);
	for (uint32_t i = 0; i < s->tets->ntets && status == RB_OK; i++)
	{
		status = region_place(r, s->tets->region[i], &cap, &place);
		r->mesh.cells[i].region = place;
	}
	if (status != RB_OK || o->nregion_volumes == 0)
		return status;
	status = rb_array(r->ctx, (void **) &r->region_volume, r->nregions + 1, sizeof(double));
	if (status != RB_OK)
		return status;
	for (uint32_t i = 0, k = 0; i < r->nregions; i++)
	{
		while (k < o->nregion_volumes && o->region_volumes[k].region < r->regions[i])
			k++;
		r->region_volume[i] = k < o->nregion_volumes && o->region_volumes[k].region == r->regions[i]
								  ? o->region_volumes[k].volume
								  : INFINITY;
	}
	return RB_OK;
}

static uint32_t
corner_towards(const rb_tets *tets, uint32_t tet, uint32_t from)
{
	uint32_t k = 0;

	while (k < 3 && tets->neighbours[4 * (size_t) tet + k] != from)
		k++;
	return k;
}

static rb_status
mark_input(start *s)
{
	const rb_tets *tets = s->tets;
	rb_context *ctx = s->r->ctx;
	rb_status status = rb_array(ctx, (void **) &s->marks, (size_t) tets->npoints + 1, 1);

	if (status == RB_OK)
		status = rb_table_reserve(ctx, &s->faces, tets->nfaces);
	if (status == RB_OK)
		status = rb_table_reserve(ctx, &s->edges, tets->nedges);
	if (status == RB_OK)
		memset(s->marks, 0, tets->npoints);
	for (uint32_t i = 0; i < tets->nfaces && status == RB_OK; i++)
	{
		const uint32_t *v = tets->faces[i];

		s->marks[v[0]] |= 1;
		s->marks[v[1]] |= 1;
		s->marks[v[2]] |= 1;
		status = rb_table_put(ctx, &s->faces, v[0], v[1], v[2], tets->face_facet[i], NULL, NULL);
		if (stops(s, i))
			status = RB_STOPPED;
	}
	for (uint32_t i = 0; i < tets->nedges && status == RB_OK; i++)
	{
		const uint32_t *v = tets->edges[i];

		s->marks[v[0]] |= 2;
		s->marks[v[1]] |= 2;
		status =
			rb_table_put(ctx, &s->edges, v[0], v[1], RB_NONE, tets->edge_segment[i], NULL, NULL);
	}
	return status;
}

/* the tetrahedra, and a ghost behind each face of the boundary: links of ghosts to each other come later */
static rb_status
make_cells(start *s)
{
	rb_refining *r = s->r;
	const rb_tets *tets = s->tets;
	rb_cell *cells = r->mesh.cells;
	uint32_t ghost = tets->ntets;

	for (uint32_t t = 0; t < tets->ntets; t++)
	{
		rb_cell *c = &cells[t];

		memcpy(c->v, tets->tets[t], sizeof c->v);
		c->bits = 0;
		c->claim = 0;
		for (uint32_t i = 0; i < 4; i++)
		{
			uint32_t beyond = tets->neighbours[4 * (size_t) t + i];
			uint32_t v[3];
			uint32_t *facet = NULL;

			for (uint32_t k = 0; k < 3; k++)
				v[k] = c->v[rb_cell_face_corner(i, k)];
			c->facet[i] = RB_NOWHERE;
			if ((s->marks[v[0]] & s->marks[v[1]] & s->marks[v[2]] & 1) != 0)
				facet = rb_table_find(&s->faces, v[0], v[1], v[2]);
			if (facet != NULL)
			{
				c->facet[i] = *facet;
				c->bits |= RB_CELL_WALL(i);
			}
			if (beyond != RB_NONE)
				c->n[i] = beyond << 2 | corner_towards(tets, beyond, t);
			else
			{
				rb_cell *g = &cells[ghost];

				c->bits |= RB_CELL_WALL(i);
				c->n[i] = ghost << 2;
				g->v[0] = RB_GHOST;
				g->v[1] = v[0];
				g->v[2] = v[2];
				g->v[3] = v[1];
				g->n[0] = t << 2 | i;
				g->bits = RB_CELL_WALL(0);
				g->claim = 0;
				g->region = 0;
				g->facet[0] = c->facet[i];
				for (uint32_t k = 1; k < 4; k++)
				{
					g->n[k] = RB_NOWHERE;
					g->facet[k] = RB_NOWHERE;
				}
				ghost++;
			}
		}
		for (uint32_t e = 0; e < 6; e++)
		{
			uint32_t a = c->v[rb_cell_edge_from(e)], b = c->v[rb_cell_edge_to(e)];

			if ((s->marks[a] & s->marks[b] & 2) != 0 &&
				rb_table_find(&s->edges, a, b, RB_NONE) != NULL)
				c->bits |= RB_CELL_SEGMENT(e);
		}
		if (stops(s, t))
			return RB_STOPPED;
	}
	for (uint32_t g = tets->ntets; g < ghost; g++)
	{
		rb_cell *c = &cells[g];

		for (uint32_t e = 3; e < 6; e++)
		{
			uint32_t a = c->v[rb_cell_edge_from(e)], b = c->v[rb_cell_edge_to(e)];

			if ((s->marks[a] & s->marks[b] & 2) != 0 &&
				rb_table_find(&s->edges, a, b, RB_NONE) != NULL)
				c->bits |= RB_CELL_SEGMENT(e);
		}
	}
	r->ncells = ghost;
	return RB_OK;
}

/* ---- rings around edges of the boundary ---- */

/* the ghost at the other end of the cells that are around edge (a, b), from ghost g's face on; and its corner opposite to the face there */
static uint32_t
other_end(const rb_cells *m, uint32_t g, uint32_t corner)
{
	const rb_cell *c = &m->cells[g];
	uint32_t a = c->v[corner == 1 ? 2 : 1], b = c->v[corner == 3 ? 2 : 3];
	rb_ring ring = rb_ring_at(g, 0, a, b);

	do
		rb_ring_next(m, &ring);
	while (!rb_cell_ghost(&m->cells[ring.cell]));
	c = &m->cells[ring.cell];
	return ring.cell << 2 | (6 - rb_cell_corner(c, a) - rb_cell_corner(c, b));
}

static void
link_faces(rb_cells *m, uint32_t f, uint32_t g)
{
	m->cells[f >> 2].n[f & 3] = g;
	m->cells[g >> 2].n[g & 3] = f;
}

/*
 * Ghosts are linked where two boundary faces meet in an edge; where more than two do, all that is around
 * the edge becomes one ring.
 */
static rb_status
link_ghosts(start *s)
{
	rb_refining *r = s->r;
	rb_cells *m = &r->mesh;
	rb_status status = RB_OK;

	for (uint32_t g = s->tets->ntets; g < r->ncells && status == RB_OK; g++)
		for (uint32_t k = 1; k < 4 && status == RB_OK; k++)
		{
			const rb_cell *c = &m->cells[g];
			uint32_t from = g << 2 | k, to = other_end(m, g, k);
			uint32_t *known;
			bool fresh;

			if (to < from)
				continue; /* it was seen from there */
			status = rb_array_grow(r->ctx, (void **) &s->ends, &s->ends_cap,
								   2 * (size_t) s->nends + 2, sizeof(uint32_t));
			if (status == RB_OK)
				status = rb_table_put(r->ctx, &s->chains, c->v[k == 1 ? 2 : 1],
									  c->v[k == 3 ? 2 : 3], RB_NONE, s->nends, &known, &fresh);
			if (status != RB_OK)
				break;
			if (fresh)
			{
				s->ends[2 * s->nends] = from;
				s->ends[2 * s->nends + 1] = to;
				s->nends++;
				link_faces(m, from, to);
			}
			else
			{
				link_faces(m, s->ends[2 * *known + 1], from);
				s->ends[2 * *known + 1] = to;
				link_faces(m, s->ends[2 * *known], to);
			}
			if (stops(s, g))
				status = RB_STOPPED;
		}
	return status;
}

/* ---- facets and segments that stand for the hull ---- */

/* of corner k of ghost g: the bit of the edge opposite to it on g's face */
static uint32_t
edge_beside(uint32_t k)
{
	return RB_CELL_SEGMENT(rb_cell_edge(k == 1 ? 2 : 1, k == 3 ? 2 : 3));
}

/* edges between two such facets, or one and one of the input, become segments */
static rb_status
crease_hull(start *s)
{
	rb_refining *r = s->r;
	rb_cells *m = &r->mesh;

	for (uint32_t g = s->tets->ntets; g < r->ncells; g++)
		for (uint32_t k = 1; k < 4; k++)
		{
			const rb_cell *c = &m->cells[g];
			uint32_t a = c->v[k == 1 ? 2 : 1], b = c->v[k == 3 ? 2 : 3];
			rb_ring ring;
			rb_status status;

			if ((c->bits & edge_beside(k)) != 0 || m->cells[c->n[k] >> 2].facet[0] == c->facet[0])
				continue;
			status = rb_array_grow(r->ctx, (void **) &r->segments, &r->segments_cap,
								   (size_t) m->nsegments + 1, sizeof(uint32_t[2]));
			if (status != RB_OK)
				return status;
			r->segments[m->nsegments][0] = a;
			r->segments[m->nsegments++][1] = b;
			ring = rb_ring_at(g, k, a, b);
			do
			{
				rb_cell *o = &m->cells[ring.cell];

				o->bits |=
					RB_CELL_SEGMENT(rb_cell_edge(rb_cell_corner(o, a), rb_cell_corner(o, b)));
				rb_ring_next(m, &ring);
			} while (ring.cell != g);
			if (stops(s, g))
				return RB_STOPPED;
		}
	return RB_OK;
}

/* ---- what points and pieces are on ---- */

static int
by_word(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

typedef struct keyed
{
	uint64_t key;
	uint32_t segment;
} keyed;

static int
by_key(const void *a, const void *b)
{
	const keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->segment < y->segment ? -1 : x->segment > y->segment;
}

static rb_status
order_segments(start *s)
{
	rb_refining *r = s->r;
	uint32_t n = r->mesh.nsegments;
	keyed *keys = NULL;
	rb_status status = rb_array(r->ctx, (void **) &keys, (size_t) n + 1, sizeof(*keys));

	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &r->segment_order, (size_t) n + 1,
						  sizeof(*r->segment_order));
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		uint32_t a = r->segments[i][0], b = r->segments[i][1];

		keys[i].key = a < b ? (uint64_t) a << 32 | b : (uint64_t) b << 32 | a;
		keys[i].segment = i;
	}
	if (status == RB_OK)
	{
		qsort(keys, n, sizeof(*keys), by_key);
		for (uint32_t i = 0; i < n; i++)
			r->segment_order[i] = keys[i].segment;
	}
	rb_free(r->ctx->memory, (void **) &keys);
	return status;
}

/* corners of each facet: sites of the input on its faces; of those that stand for the hull, all sites */
static rb_status
list_corners(start *s)
{
	rb_refining *r = s->r;
	const rb_tets *tets = s->tets;
	rb_cells *m = &r->mesh;
	uint32_t nfacets = r->all_facets;
	uint64_t *pairs = NULL;
	size_t n = 0, unique = 0;
	rb_status status =
		rb_array(r->ctx, (void **) &pairs,
				 3 * ((size_t) tets->nfaces + (r->ncells - tets->ntets)) + 1, sizeof(*pairs));

	if (status == RB_OK)
		status =
			rb_array(r->ctx, (void **) &r->facet_start, (size_t) nfacets + 2, sizeof(uint32_t));
	if (status != RB_OK)
	{
		rb_free(r->ctx->memory, (void **) &pairs);
		return status;
	}
	for (uint32_t i = 0; i < tets->nfaces; i++)
		for (uint32_t k = 0; k < 3; k++)
			if (tets->kind[tets->faces[i][k]] == RB_VERTEX_INPUT)
				pairs[n++] = (uint64_t) tets->face_facet[i] << 32 | tets->faces[i][k];
	for (uint32_t g = tets->ntets; g < r->ncells; g++)
		for (uint32_t k = 1; k < 4; k++)
			if (m->cells[g].facet[0] >= r->nfacets)
				pairs[n++] = (uint64_t) m->cells[g].facet[0] << 32 | m->cells[g].v[k];
	qsort(pairs, n, sizeof(*pairs), by_word);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || pairs[i] != pairs[i - 1])
			pairs[unique++] = pairs[i];
	status = rb_array(r->ctx, (void **) &r->facet_corners, unique + 1, sizeof(uint32_t));
	for (size_t i = 0, f = 0; i <= unique && status == RB_OK; i++)
	{
		uint64_t facet = i < unique ? pairs[i] >> 32 : nfacets;

		while (f <= facet)
			r->facet_start[f++] = (uint32_t) i;
		if (i < unique)
			r->facet_corners[i] = (uint32_t) pairs[i];
	}
	rb_free(r->ctx->memory, (void **) &pairs);
	return status;
}

/* ---- sizes ---- */

/* about one point in a cell of the grid */
static rb_status
make_sizes(rb_refining *r)
{
	const rb_refine_options *o = r->options;
	rb_sizes *z = &r->sizes;
	double high[3], largest = 0;
	uint64_t cells = 1;
	uint32_t *at = NULL;
	rb_status status;

	if (o->nsizes == 0)
		return RB_OK;
	for (int i = 0; i < 3; i++)
	{
		z->low[i] = high[i] = o->sizes[0].at[i];
		for (uint32_t k = 1; k < o->nsizes; k++)
		{
			z->low[i] = fmin(z->low[i], o->sizes[k].at[i]);
			high[i] = fmax(high[i], o->sizes[k].at[i]);
		}
		largest = fmax(largest, high[i] - z->low[i]);
	}
	z->cell = largest / ceil(cbrt((double) o->nsizes) + 1);
	if (!(z->cell > 0))
		z->cell = 1;
	for (int i = 0; i < 3; i++)
	{
		z->n[i] = (int32_t) ((high[i] - z->low[i]) / z->cell) + 1;
		cells *= (uint64_t) z->n[i];
	}
	status = rb_array(r->ctx, (void **) &r->sizes_start, cells + 2, sizeof(uint32_t));
	if (status == RB_OK)
		status =
			rb_array(r->ctx, (void **) &r->sizes_points, 4 * (size_t) o->nsizes, sizeof(double));
	if (status == RB_OK)
		status = rb_array(r->ctx, (void **) &at, o->nsizes, sizeof(uint32_t));
	if (status != RB_OK)
		return status;
	memset(r->sizes_start, 0, (cells + 2) * sizeof(uint32_t));
	for (uint32_t k = 0; k < o->nsizes; k++)
	{
		const double *p = o->sizes[k].at;

		at[k] = (uint32_t) ((rb_sizes_cell(z, 2, p[2]) * (int64_t) z->n[1] +
							 rb_sizes_cell(z, 1, p[1])) *
								z->n[0] +
							rb_sizes_cell(z, 0, p[0]));
		r->sizes_start[at[k] + 2]++;
	}
	for (uint64_t c = 2; c < cells + 2; c++)
		r->sizes_start[c] += r->sizes_start[c - 1];
	for (uint32_t k = 0; k < o->nsizes; k++)
	{
		double *to = r->sizes_points + 4 * (size_t) r->sizes_start[at[k] + 1]++;

		memcpy(to, o->sizes[k].at, sizeof o->sizes[k].at);
		to[3] = o->sizes[k].volume;
	}
	rb_free(r->ctx->memory, (void **) &at);
	z->start = r->sizes_start;
	z->points = r->sizes_points;
	return RB_OK;
}

/* ---- all of it ---- */

/* cells, as the tetrahedralization has them; facets and segments that stand for the hull, where it asks for some */
static rb_status
make_mesh(rb_refining *r, const rb_tets *tets)
{
	rb_cells *m = &r->mesh;
	rb_memory *memory = r->ctx->memory;
	start s;
	size_t ghosts = 0;
	rb_status status;

	memset(&s, 0, sizeof s);
	s.r = r;
	s.tets = tets;
	for (size_t i = 0; i < 4 * (size_t) tets->ntets; i++)
		ghosts += tets->neighbours[i] == RB_NONE;
	if (tets->ntets + ghosts >= RB_MAX_CELLS)
		return rb_fail(r->ctx, RB_TOO_MANY_OBJECTS, tets->ntets + ghosts, RB_MAX_CELLS, NULL);
	status = rb_refining_reserve(r, tets->ntets + ghosts, tets->npoints);
	if (status == RB_OK)
		status = make_sites(&s);
	if (status == RB_OK)
		status = make_regions(&s);
	if (status == RB_OK)
		status = mark_input(&s);
	if (status == RB_OK)
		status = make_cells(&s);
	if (status == RB_OK)
		status = link_ghosts(&s);
	if (status == RB_OK)
		status = rb_hull_group(r, tets->ntets);
	if (status == RB_OK)
		status = crease_hull(&s);
	if (status == RB_OK)
		status = order_segments(&s);
	if (status == RB_OK)
		status = list_corners(&s);
	m->segments = (const uint32_t(*)[2]) r->segments;
	m->segment_order = r->segment_order;
	m->facet_start = r->facet_start;
	m->facet_corners = r->facet_corners;
	m->region_volume = r->region_volume;
	rb_table_free(memory, &s.faces);
	rb_table_free(memory, &s.edges);
	rb_table_free(memory, &s.chains);
	rb_free(memory, (void **) &s.marks);
	rb_free(memory, (void **) &s.ends);
	return status;
}

rb_status
rb_refining_start(rb_refining *r, const rb_tets *tets)
{
	const rb_refine_options *o = r->options;
	rb_cells *m = &r->mesh;
	uint32_t nfacets = 0;
	rb_tets rest;
	rb_status status;

	for (uint32_t i = 0; i < tets->nfaces; i++)
		if (tets->face_facet[i] >= nfacets)
			nfacets = tets->face_facet[i] + 1;
	for (uint32_t i = 0; i < tets->npoints; i++)
		if (tets->kind[i] == RB_VERTEX_ON_FACET && tets->parent[i] >= nfacets)
			nfacets = tets->parent[i] + 1;
	r->nfacets = r->all_facets = nfacets;
	r->nsegments = m->nsegments = tets->nsegments;
	status = rb_array_grow(r->ctx, (void **) &r->segments, &r->segments_cap, tets->nsegments,
						   sizeof(uint32_t[2]));
	if (status == RB_OK)
	{
		if (tets->nsegments > 0)
			memcpy(r->segments, tets->segments, tets->nsegments * sizeof(uint32_t[2]));
		status = rb_hull_peel(r, tets, &rest);
		if (status == RB_OK)
			status = make_mesh(r, &rest);
		rb_hull_peel_free(r, tets, &rest);
	}
	if (status == RB_OK)
		status = make_sizes(r);
	m->ratio = o->radius_edge * o->radius_edge;
	m->volume = o->max_volume;
	m->sizes = o->nsizes > 0 ? &r->sizes : NULL;
	m->has_volumes = o->max_volume < INFINITY || r->region_volume != NULL || o->nsizes > 0;
	m->keep_surface = o->keep_surface;
	return status;
}

rb_status
rb_refining_again(rb_refining *r, const rb_tets *tets, const double *radius, uint32_t nradius)
{
	uint32_t before = r->nsites;
	double *kept = NULL;
	rb_status status = rb_array(r->ctx, (void **) &kept, (size_t) before + 1, sizeof(double));

	if (status != RB_OK)
		return status;
	for (uint32_t i = 0; i < before; i++)
		kept[i] = r->mesh.sites[i].radius;
	r->nfree = 0;
	status = make_mesh(r, tets);
	for (uint32_t i = 0; i < r->nsites && status == RB_OK; i++)
		r->mesh.sites[i].radius = i < before             ? kept[i]
								  : i - before < nradius ? radius[i - before]
														 : 0;
	rb_free(r->ctx->memory, (void **) &kept);
	return status;
}
