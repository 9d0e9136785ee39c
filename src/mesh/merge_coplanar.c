/*
 * merge_coplanar.c
 *	  Merges polygons that share an edge and are exactly coplanar into one facet.
 *
 * Triangulated surfaces divide planar faces into triangles. If each triangle were a facet, each
 * diagonal would be a segment, and segments in one plane that meet at small angles would need
 * unnecessary Steiner points.
 *
 * Edges are listed by their lower end: for each point, all triangle sides and segments that run
 * from it to points of higher index, sorted. Everything that shares an edge is thus adjacent.
 * Polygons are united in a union-find structure whose roots are the polygons with the lowest
 * indices. Each polygon stores whether its triangles are oriented opposite to those of its parent.
 *
 * Whether two polygons are coplanar is tested with three corners of each that existed before
 * anything was split. Split parts are bent by rounding, as those of a single polygon are.
 */
#include "mesh/weld.h"

#include "core/base/base.h"
#include "core/base/sort.h"
#include "core/base/union_find.h"
#include "core/exact/orient.h"
#include "mesh/hash_table.h"

/* Iterations between two polls for a stop */
#define RB_CHECK_INTERVAL 4096

typedef struct merging
{
	rb_context *ctx;
	rb_welded *w;
	rb_exact_env env;
	uint32_t *start; /* for each point, the position of its first edge */
	/* other end << 32 | index of a triangle side, or of a segment after all sides */
	uint64_t *edges;
	uint32_t *above;   /* union-find parent of each polygon, with a lower index, or itself */
	bool *turned;      /* for each polygon, whether it is oriented opposite to its parent */
	uint32_t *number;  /* facet of each polygon */
	uint64_t *scratch; /* facets of the triangles at one edge */
	size_t scratch_cap;
	bool *gone;          /* for each segment, whether it must be removed */
	uint32_t (*more)[2]; /* edges that become segments */
	size_t more_cap;
	uint32_t nmore;
	uint32_t nfacets;
} merging;

/* Triangle sides and segments that share an edge */
typedef struct shared
{
	uint32_t low, high;
	const uint64_t *entries;
	uint32_t n;
	uint32_t sides; /* number of triangle sides, which come first */
} shared;

/* ---- edges ---- */

static inline uint32_t
first_segment(const merging *m)
{
	return 3 * m->w->plc.ntriangles;
}

static inline void
ends_of(const merging *m, uint32_t what, uint32_t *low, uint32_t *high)
{
	const uint32_t segments = first_segment(m);
	uint32_t a, b;

	if (what < segments)
	{
		a = m->w->plc.triangles[what / 3][what % 3];
		b = m->w->plc.triangles[what / 3][(what % 3 + 1) % 3];
	}
	else
	{
		a = m->w->plc.segments[what - segments][0];
		b = m->w->plc.segments[what - segments][1];
	}
	*low = a < b ? a : b;
	*high = a < b ? b : a;
}

static rb_status
list_edges(merging *m)
{
	const rb_plc *plc = &m->w->plc;
	const uint64_t n = 3 * (uint64_t) plc->ntriangles + plc->nsegments;
	uint32_t low, high, sum = 0;

	if (n > UINT32_MAX - 16)
		return rb_fail(m->ctx, RB_TOO_MANY_OBJECTS, n, UINT32_MAX - 16, NULL);
	RB_TRY(RB_ALLOCATE(m->ctx, m->start, (size_t) plc->npoints + 2));
	RB_TRY(RB_ALLOCATE(m->ctx, m->edges, (size_t) n + 1));
	memset(m->start, 0, ((size_t) plc->npoints + 2) * sizeof *m->start);
	for (uint32_t i = 0; i < n; i++)
	{
		ends_of(m, i, &low, &high);
		m->start[low + 1]++;
	}
	/*
	 * start[v + 1] is the position of the next entry of v, and finally the first position of v + 1.
	 */
	for (uint32_t v = 0; v <= plc->npoints; v++)
	{
		const uint32_t here = m->start[v + 1];

		m->start[v + 1] = sum;
		sum += here;
	}
	for (uint32_t i = 0; i < n; i++)
	{
		ends_of(m, i, &low, &high);
		m->edges[m->start[low + 1]++] = (uint64_t) high << 32 | i;
		if (i % RB_CHECK_INTERVAL == RB_CHECK_INTERVAL - 1 && rb_should_stop(m->ctx))
			return RB_STOPPED;
	}
	for (uint32_t v = 0; v < plc->npoints; v++)
	{
		RB_TRY(rb_sort_words(m->ctx, m->edges + m->start[v], m->start[v + 1] - m->start[v]));
		if (v % RB_CHECK_INTERVAL == RB_CHECK_INTERVAL - 1 && rb_should_stop(m->ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Calls `visit` for each edge, ordered by its ends. */
static rb_status
visit_edges(merging *m, rb_status (*visit)(merging *m, const shared *e))
{
	const uint32_t segments = first_segment(m);

	for (uint32_t v = 0; v < m->w->plc.npoints; v++)
	{
		for (uint32_t i = m->start[v], next; i < m->start[v + 1]; i = next)
		{
			shared e = {.low = v, .high = (uint32_t) (m->edges[i] >> 32), .entries = m->edges + i};

			for (next = i; next < m->start[v + 1] && m->edges[next] >> 32 == e.high; next++)
				e.sides += (uint32_t) m->edges[next] < segments;
			e.n = next - i;
			RB_TRY(visit(m, &e));
		}
		if (v % RB_CHECK_INTERVAL == RB_CHECK_INTERVAL - 1 && rb_should_stop(m->ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

static inline uint32_t
triangle_of(const shared *e, uint32_t i)
{
	return (uint32_t) e->entries[i] / 3;
}

/* Returns true if the side runs from the lower end to the higher one. */
static inline bool
runs_up(const merging *m, const shared *e, uint32_t i)
{
	return m->w->plc.triangles[triangle_of(e, i)][(uint32_t) e->entries[i] % 3] == e->low;
}

/* ---- merging of polygons ---- */

/* Returns the root of a polygon; *turned is set if the polygon is oriented opposite to it. */
static uint32_t
first_of(merging *m, uint32_t polygon, bool *turned)
{
	uint32_t first = polygon;
	bool turn = false;

	while (m->above[first] != first)
	{
		turn ^= m->turned[first];
		first = m->above[first];
	}
	*turned = turn;
	while (m->above[polygon] != polygon)
	{
		const uint32_t next = m->above[polygon];
		const bool mine = m->turned[polygon];

		m->above[polygon] = first;
		m->turned[polygon] = turn;
		turn ^= mine;
		polygon = next;
	}
	return first;
}

static bool
in_one_plane(merging *m, uint32_t a, uint32_t b)
{
	const uint32_t *p = m->w->plane[a], *q = m->w->plane[b];
	const double *points = m->w->plc.points;

	if (p[0] == RB_NONE || q[0] == RB_NONE)
		return false;
	for (int k = 0; k < 3; k++)
		if (rb_orient3d_at(&m->env, points + 3 * (size_t) p[0], points + 3 * (size_t) p[1],
						   points + 3 * (size_t) p[2], points + 3 * (size_t) q[k]) != 0)
			return false;
	return true;
}

static rb_status
unite_at_edge(merging *m, const shared *e)
{
	const rb_welded *w = m->w;
	const uint32_t segments = first_segment(m);
	uint32_t a, b;
	bool a_turned, b_turned, turned;

	if (e->sides != 2)
		return RB_OK;
	a = w->plc.facet_of[triangle_of(e, 0)];
	b = w->plc.facet_of[triangle_of(e, 1)];
	if (a == b || (w->group != NULL && w->group[a] != w->group[b]))
		return RB_OK;
	for (uint32_t i = e->sides; i < e->n; i++)
		if (w->segment_row[(uint32_t) e->entries[i] - segments] != RB_NONE)
			return RB_OK;
	if (!in_one_plane(m, a, b))
		return RB_OK;
	/* Two triangles with the same orientation have opposite directions along their common edge. */
	turned = runs_up(m, e, 0) == runs_up(m, e, 1);
	a = first_of(m, a, &a_turned);
	b = first_of(m, b, &b_turned);
	turned ^= a_turned ^ b_turned;
	if (a == b)
		return RB_OK;
	m->above[a > b ? a : b] = a < b ? a : b;
	m->turned[a > b ? a : b] = turned;
	return RB_OK;
}

static rb_status
unite_polygons(merging *m)
{
	const uint32_t n = m->w->npolygons;

	RB_TRY(RB_ALLOCATE(m->ctx, m->above, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(m->ctx, m->turned, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(m->ctx, m->number, (size_t) n + 1));
	for (uint32_t i = 0; i < n; i++)
	{
		m->above[i] = i;
		m->turned[i] = false;
	}
	RB_TRY(visit_edges(m, unite_at_edge));
	for (uint32_t i = 0; i < n; i++)
	{
		bool turned;
		const uint32_t first = first_of(m, i, &turned);

		m->number[i] = first == i ? m->nfacets++ : m->number[first];
	}
	return RB_OK;
}

/* ---- segments ---- */

/* Determines whether some facet has exactly one side at the edge. */
static rb_status
bounds_facet(merging *m, const shared *e, bool *bounds)
{
	const uint32_t *facet_of = m->w->plc.facet_of;
	rb_status status;

	*bounds = e->sides == 1;
	if (e->sides == 2)
		*bounds = m->number[facet_of[triangle_of(e, 0)]] != m->number[facet_of[triangle_of(e, 1)]];
	if (e->sides <= 2)
		return RB_OK;
	RB_TRY(RB_GROW(m->ctx, m->scratch, m->scratch_cap, e->sides));
	for (uint32_t i = 0; i < e->sides; i++)
		m->scratch[i] = m->number[facet_of[triangle_of(e, i)]];
	status = rb_sort_words(m->ctx, m->scratch, e->sides);
	for (uint32_t i = 0; i < e->sides && !*bounds; i++)
		*bounds = (i == 0 || m->scratch[i - 1] != m->scratch[i]) &&
				  (i + 1 == e->sides || m->scratch[i + 1] != m->scratch[i]);
	return status;
}

static rb_status
choose_segments(merging *m, const shared *e)
{
	const uint32_t segments = first_segment(m);
	bool bounds;

	RB_TRY(bounds_facet(m, e, &bounds));
	for (uint32_t i = e->sides; i < e->n; i++)
	{
		const uint32_t s = (uint32_t) e->entries[i] - segments;
		const bool given = m->w->segment_row[s] != RB_NONE;

		m->gone[s] = bounds || (!given && e->sides == 2);
		m->w->same_segments += given && bounds;
	}
	if (bounds || e->sides <= 2 || e->n > e->sides)
		return RB_OK;
	RB_TRY(RB_GROW(m->ctx, m->more, m->more_cap, (size_t) m->nmore + 1));
	m->more[m->nmore][0] = e->low;
	m->more[m->nmore++][1] = e->high;
	return RB_OK;
}

static rb_status
write_segments(merging *m)
{
	rb_welded *w = m->w;
	uint32_t(*segments)[2];
	uint32_t n = 0;
	rb_status status = RB_ALLOCATE(m->ctx, m->gone, (size_t) w->plc.nsegments + 1);

	if (status == RB_OK)
		status = visit_edges(m, choose_segments);
	if (status == RB_OK)
		status = RB_ALLOCATE(m->ctx, w->plc.segments, (size_t) w->plc.nsegments + m->nmore + 1);
	if (status == RB_OK)
		status = RB_ALLOCATE(m->ctx, w->segment_row, (size_t) w->plc.nsegments + m->nmore + 1);
	if (status != RB_OK)
		return status;
	segments = (uint32_t(*)[2]) w->plc.segments;
	for (uint32_t i = 0; i < w->plc.nsegments; i++)
		if (!m->gone[i])
		{
			memmove(segments[n], segments[i], sizeof *segments);
			w->segment_row[n++] = w->segment_row[i];
		}
	for (uint32_t i = 0; i < m->nmore; i++)
	{
		memcpy(segments[n], m->more[i], sizeof *segments);
		w->segment_row[n++] = RB_NONE;
	}
	w->plc.nsegments = n;
	return RB_OK;
}

/* ---- triangles ---- */

/* Sorts triangles stably by `key`, whose values are below n and become the facets. */
static rb_status
sort_triangles(rb_context *ctx, rb_plc *plc, const uint32_t *key, uint32_t n, uint32_t **order)
{
	uint32_t(*triangles)[3] = NULL, *facet_of = NULL, *start = NULL;
	uint32_t sum = 0;
	rb_status status = RB_ALLOCATE(ctx, triangles, (size_t) plc->ntriangles + 1);

	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, facet_of, (size_t) plc->ntriangles + 1);
	if (status == RB_OK)
		status = rb_array(ctx, (void **) order, (size_t) plc->ntriangles + 1, sizeof **order);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, start, (size_t) n + 1);
	if (status != RB_OK)
	{
		RB_FREE(ctx->memory, triangles);
		RB_FREE(ctx->memory, facet_of);
		return status;
	}
	memset(start, 0, ((size_t) n + 1) * sizeof *start);
	for (uint32_t i = 0; i < plc->ntriangles; i++)
		start[key[i]]++;
	for (uint32_t f = 0; f < n; f++)
	{
		const uint32_t here = start[f];

		start[f] = sum;
		sum += here;
	}
	for (uint32_t i = 0; i < plc->ntriangles; i++)
	{
		const uint32_t to = start[key[i]]++;

		memcpy(triangles[to], plc->triangles[i], sizeof *triangles);
		facet_of[to] = key[i];
		(*order)[to] = i;
	}
	RB_FREE(ctx->memory, start);
	RB_FREE(ctx->memory, plc->triangles);
	RB_FREE(ctx->memory, plc->facet_of);
	plc->triangles = (const uint32_t(*)[3]) triangles;
	plc->facet_of = facet_of;
	plc->nfacets = n;
	return RB_OK;
}

/* Orders triangles by facet and polygon, all oriented like the facet's first polygon. */
static rb_status
write_triangles(merging *m)
{
	rb_welded *w = m->w;
	const uint32_t n = w->plc.ntriangles;
	uint32_t *facet = NULL, *order = NULL;
	rb_status status = RB_ALLOCATE(m->ctx, facet, (size_t) n + 1);

	if (status == RB_OK)
		status = RB_ALLOCATE(m->ctx, w->polygon_of, (size_t) n + 1);
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		uint32_t *v = (uint32_t *) w->plc.triangles[i];
		bool turned;

		(void) first_of(m, w->plc.facet_of[i], &turned);
		facet[i] = m->number[w->plc.facet_of[i]];
		if (turned)
		{
			const uint32_t last = v[2];

			v[2] = v[1];
			v[1] = last;
		}
	}
	if (status == RB_OK)
	{
		const uint32_t *polygon = w->plc.facet_of;

		/* Save the polygons of triangles; they are permuted below. */
		memcpy(w->polygon_of, polygon, n * sizeof *polygon);
		status = sort_triangles(m->ctx, &w->plc, facet, m->nfacets, &order);
	}
	if (status == RB_OK)
	{
		memcpy(facet, w->polygon_of, n * sizeof *facet);
		for (uint32_t i = 0; i < n; i++)
			w->polygon_of[i] = facet[order[i]];
	}
	RB_FREE(m->ctx->memory, facet);
	RB_FREE(m->ctx->memory, order);
	return status;
}

rb_status
rb_weld_unmerge(rb_context *ctx, rb_welded *welded)
{
	uint32_t *order = NULL;
	rb_status status = RB_OK;

	if (welded->polygon_of == NULL)
		return RB_OK;
	status = sort_triangles(ctx, &welded->plc, welded->polygon_of, welded->npolygons, &order);
	RB_FREE(ctx->memory, order);
	if (status == RB_OK)
		RB_FREE(ctx->memory, welded->polygon_of);
	return status;
}

rb_status
rb_weld_merge(rb_context *ctx, rb_welded *welded)
{
	merging m = {.ctx = ctx, .w = welded, .env = {.filters = ctx->filters, .exact = true}};
	rb_status status = list_edges(&m);

	if (status == RB_OK)
		status = unite_polygons(&m);
	if (status == RB_OK)
		status = write_segments(&m);
	if (status == RB_OK && m.nfacets < welded->npolygons)
		status = write_triangles(&m);
	RB_FREE(ctx->memory, m.start);
	RB_FREE(ctx->memory, m.edges);
	RB_FREE(ctx->memory, m.above);
	RB_FREE(ctx->memory, m.turned);
	RB_FREE(ctx->memory, m.number);
	RB_FREE(ctx->memory, m.scratch);
	RB_FREE(ctx->memory, m.gone);
	RB_FREE(ctx->memory, m.more);
	return status;
}

/* ---- reconstruction from the rows of a mesh ---- */

typedef struct regrouping
{
	rb_context *ctx;
	const double *points;
	const uint32_t (*faces)[3];
	double near;    /* maximum distance by which rounding moves a Steiner point */
	rb_table edges; /* maps an edge to its first side, or to MANY */
	uint32_t *next; /* for each side, the second one at its edge, or RB_NONE */
} regrouping;

/* value for a segment or an edge of three faces, across which nothing is united */
#define MANY UINT32_MAX

static double
length_between(const double *a, const double *b)
{
	return hypot(hypot(b[0] - a[0], b[1] - a[1]), b[2] - a[2]);
}

/* Returns true if two faces are coplanar to within the rounding of points. */
static bool
may_be_flat(const regrouping *g, uint32_t side, uint32_t other)
{
	const uint32_t *v = g->faces[side / 3];
	const double *a = g->points + 3 * (size_t) v[0], *b = g->points + 3 * (size_t) v[1],
				 *c = g->points + 3 * (size_t) v[2],
				 *d = g->points + 3 * (size_t) g->faces[other / 3][(other % 3 + 2) % 3];
	double u[3], w[3], x[3], longest, volume;

	longest = fmax(length_between(a, b), fmax(length_between(b, c), length_between(c, a)));
	longest = fmax(longest, length_between(a, d));
	if (!(longest > 0) || !isfinite(longest))
		return false;
	for (int k = 0; k < 3; k++)
	{
		u[k] = (b[k] - a[k]) / longest;
		w[k] = (c[k] - a[k]) / longest;
		x[k] = (d[k] - a[k]) / longest;
	}
	volume = (u[1] * w[2] - u[2] * w[1]) * x[0] + (u[2] * w[0] - u[0] * w[2]) * x[1] +
			 (u[0] * w[1] - u[1] * w[0]) * x[2];
	return fabs(volume) * longest <= g->near;
}

static rb_status
list_sides(regrouping *g, uint32_t nfaces, const uint32_t (*edges)[2], uint32_t nedges)
{
	rb_status status = RB_ALLOCATE(g->ctx, g->next, 3 * (size_t) nfaces + 1);

	if (status == RB_OK)
		status = rb_table_expect(g->ctx, &g->edges, nedges + 3 * (uint64_t) nfaces / 2);
	for (uint32_t i = 0; i < nedges && status == RB_OK; i++)
		if (edges[i][0] != RB_NONE && edges[i][1] != RB_NONE)
			status = rb_table_insert(g->ctx, &g->edges, edges[i][0], edges[i][1], RB_NONE, MANY,
									 NULL, NULL);
	for (uint32_t side = 0; side < 3 * nfaces && status == RB_OK; side++)
	{
		const uint32_t *v = g->faces[side / 3];
		const uint32_t a = v[side % 3], b = v[(side % 3 + 1) % 3];
		uint32_t *first;
		bool fresh;

		g->next[side] = RB_NONE;
		if (a == RB_NONE || b == RB_NONE || a == b)
			continue;
		status = rb_table_insert(g->ctx, &g->edges, a, b, RB_NONE, side, &first, &fresh);
		if (status == RB_OK && !fresh && *first != MANY)
		{
			if (g->next[*first] == RB_NONE)
				g->next[*first] = side;
			else
			{
				g->next[*first] = RB_NONE;
				*first = MANY;
			}
		}
		if (side % RB_CHECK_INTERVAL == RB_CHECK_INTERVAL - 1 && rb_should_stop(g->ctx))
			status = RB_STOPPED;
	}
	return status;
}

/*
 * Returns the distance that redblue_mesh_check allows between a Steiner point and its segment or
 * facet.
 */
static double
rounding_of(const double *points, uint32_t npoints)
{
	double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
	double largest = 0;

	for (uint32_t i = 0; i < npoints; i++)
		for (int k = 0; k < 3; k++)
		{
			const double x = points[3 * (size_t) i + k];

			if (!isfinite(x))
				continue;
			low[k] = fmin(low[k], x);
			high[k] = fmax(high[k], x);
			largest = fmax(largest, fabs(x));
		}
	return npoints == 0 ? 0 : 1e-9 * length_between(low, high) + 0x1p-50 * largest;
}

rb_status
rb_merge_by_faces(rb_context *ctx, const double *points, uint32_t npoints,
				  const uint32_t (*faces)[3], uint32_t nfaces, const uint32_t (*edges)[2],
				  uint32_t nedges, const uint32_t *facet, uint32_t nfacets, uint32_t *merged,
				  uint32_t *nmerged)
{
	regrouping g = {.ctx = ctx, .points = points, .faces = faces};
	uint32_t *above = NULL;
	rb_status status = RB_ALLOCATE(ctx, above, (size_t) nfacets + 1);

	if (status == RB_OK)
		status = list_sides(&g, nfaces, edges, nedges);
	if (status == RB_OK)
		rb_union_find_init(above, nfacets);
	g.near = rounding_of(points, npoints);
	for (uint32_t side = 0; side < 3 * nfaces && status == RB_OK; side++)
	{
		uint32_t a, b;

		if (g.next[side] == RB_NONE || facet[side / 3] == RB_NONE ||
			facet[g.next[side] / 3] == RB_NONE)
			continue;
		a = rb_find_root(above, facet[side / 3]);
		b = rb_find_root(above, facet[g.next[side] / 3]);
		if (a != b && may_be_flat(&g, side, g.next[side]))
			rb_unite(above, a, b);
		if (side % RB_CHECK_INTERVAL == RB_CHECK_INTERVAL - 1 && rb_should_stop(ctx))
			status = RB_STOPPED;
	}
	*nmerged = 0;
	for (uint32_t i = 0; i < nfacets && status == RB_OK; i++)
	{
		const uint32_t root = rb_find_root(above, i);

		merged[i] = root == i ? (*nmerged)++ : merged[root];
	}
	rb_table_free(ctx->memory, &g.edges);
	RB_FREE(ctx->memory, g.next);
	RB_FREE(ctx->memory, above);
	return status;
}
