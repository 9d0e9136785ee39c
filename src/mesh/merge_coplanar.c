/*
 * merge_coplanar.c
 *	  Merges polygons that share an edge and are exactly coplanar into one facet. Turns the edges
 *	  along which a polygon bends into segments, so that it keeps its triangulation.
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
 *
 * The inner edges of a facet are soft, so that the mesh may have other edges in their place. If the
 * two triangles at an edge are coplanar, that changes nothing. Otherwise the other diagonal
 * encloses a different volume, and a Steiner point that refinement places in the plane of one
 * triangle is off the other. Such an edge is therefore kept. A bend that the rounding of
 * coordinates explains (flatness.h) does not count, because the Steiner points along it are
 * rounded by as much.
 */
#include "mesh/weld.h"

#include "core/base/bucket.h"
#include "core/base/sort.h"
#include "core/base/union_find.h"
#include "core/exact/orient.h"
#include "mesh/flatness.h"
#include "mesh/hash_table.h"

/* Iterations between two polls for a stop */
#define RB_CHECK_INTERVAL 4096

typedef struct merging
{
	rb_context *ctx;
	rb_welded *w;
	rb_merging how;
	rb_exact_env env;
	RB_VEC(rb_near_edge) near; /* edges between facets that are not exactly coplanar */
	rb_buckets by_end; /* triangle sides, and segments after all sides, by their lower ends */
	uint64_t *edges;   /* sides of each lower end, sorted: higher end << 32 | number of the side */
	uint32_t *sets;    /* sets of polygons that become one facet (rb_find_turned_root) */
	uint32_t *number;  /* facet of each polygon */
	double *tolerance; /* for each polygon, the tolerance of a facet that grew from it, or 0 */
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

/*
 * Returns the number at which segments begin, if triangle sides and segments are numbered together.
 */
static inline uint32_t
first_segment(const merging *m)
{
	return 3 * m->w->plc.ntriangles;
}

/* Gets the ends of a triangle side or segment, in ascending order. */
static inline void
get_merged_edge_ends(const merging *m, uint32_t what, uint32_t *low, uint32_t *high)
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

/* Returns the lower end of a triangle side or segment, by which these are listed. */
static uint32_t
lower_end_of_merged_edge(const void *arg, uint32_t what)
{
	uint32_t low, high;

	get_merged_edge_ends(arg, what, &low, &high);
	return low;
}

/* Lists the triangle sides and segments at each lower end. */
static rb_status
list_merged_edges_by_end(merging *m)
{
	const rb_plc *plc = &m->w->plc;
	const uint64_t n = 3 * (uint64_t) plc->ntriangles + plc->nsegments;
	uint32_t low, high;

	if (n > UINT32_MAX - 16)
		return rb_fail(m->ctx, RB_TOO_MANY_OBJECTS, n, UINT32_MAX - 16, NULL);
	RB_TRY(rb_buckets_build(m->ctx, &m->by_end, (uint32_t) n, plc->npoints,
							lower_end_of_merged_edge, m));
	RB_TRY(RB_ALLOCATE(m->ctx, m->edges, (size_t) n + 1));
	for (uint32_t i = 0; i < n; i++)
	{
		get_merged_edge_ends(m, m->by_end.member[i], &low, &high);
		m->edges[i] = (uint64_t) high << 32 | m->by_end.member[i];
		if (rb_stop_due(m->ctx, i, RB_CHECK_INTERVAL))
			return RB_STOPPED;
	}
	RB_FREE(m->ctx->memory, m->by_end.member);
	for (uint32_t v = 0; v < plc->npoints; v++)
	{
		const uint32_t *start = m->by_end.start + v;

		RB_TRY(rb_sort_words(m->ctx, m->edges + start[0], start[1] - start[0]));
		if (rb_stop_due(m->ctx, v, RB_CHECK_INTERVAL))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Calls `visit` for each edge, ordered by its ends. */
static rb_status
visit_merged_edges(merging *m, rb_status (*visit)(merging *m, const shared *e))
{
	const uint32_t segments = first_segment(m);

	for (uint32_t v = 0; v < m->w->plc.npoints; v++)
	{
		for (uint32_t i = m->by_end.start[v], next; i < m->by_end.start[v + 1]; i = next)
		{
			shared e = {.low = v, .high = (uint32_t) (m->edges[i] >> 32), .entries = m->edges + i};

			for (next = i; next < m->by_end.start[v + 1] && m->edges[next] >> 32 == e.high; next++)
				e.sides += (uint32_t) m->edges[next] < segments;
			e.n = next - i;
			RB_TRY(visit(m, &e));
		}
		if (rb_stop_due(m->ctx, v, RB_CHECK_INTERVAL))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Returns the triangle of entry i at an edge; the entry must be a triangle side, not a segment. */
static inline uint32_t
triangle_of_entry(const shared *e, uint32_t i)
{
	return (uint32_t) e->entries[i] / 3;
}

/* Returns true if the side runs from the lower end to the higher one. */
static inline bool
does_merged_side_run_up(const merging *m, const shared *e, uint32_t i)
{
	return m->w->plc.triangles[triangle_of_entry(e, i)][(uint32_t) e->entries[i] % 3] == e->low;
}

/* ---- merging of polygons ---- */

/* Returns true if the vertices of polygon b lie in the plane of polygon a. */
static bool
are_polygons_coplanar(merging *m, uint32_t a, uint32_t b)
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

/* Unites the two polygons at an edge if they are coplanar, or lists the edge for a tolerance. */
static rb_status
unite_at_edge(merging *m, const shared *e)
{
	const rb_welded *w = m->w;
	const uint32_t segments = first_segment(m);
	uint32_t a, b;

	if (e->sides != 2)
		return RB_OK;
	a = w->plc.facet_of[triangle_of_entry(e, 0)];
	b = w->plc.facet_of[triangle_of_entry(e, 1)];
	if (a == b || (w->group != NULL && w->group[a] != w->group[b]))
		return RB_OK;
	for (uint32_t i = e->sides; i < e->n; i++)
		if (w->segment_row[(uint32_t) e->entries[i] - segments] != RB_NONE)
			return RB_OK;
	if (!are_polygons_coplanar(m, a, b))
		return m->how.kind != RB_MERGE_NEARLY_FLAT
				   ? RB_OK
				   : rb_vec_append(
						 m->ctx, &m->near,
						 (rb_near_edge){{triangle_of_entry(e, 0), triangle_of_entry(e, 1)},
										does_merged_side_run_up(m, e, 0) ==
											does_merged_side_run_up(m, e, 1)});
	/* Two triangles with the same orientation have opposite directions along their common edge. */
	rb_unite_turned(m->sets, a, b,
					does_merged_side_run_up(m, e, 0) == does_merged_side_run_up(m, e, 1));
	return RB_OK;
}

/* Numbers the sets by their first polygons and returns their number. */
static uint32_t
number_sets(merging *m, uint32_t *number)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->w->npolygons; i++)
	{
		bool turned;
		const uint32_t first = rb_find_turned_root(m->sets, i, &turned);

		number[i] = first == i ? n++ : number[first];
	}
	return n;
}

/* Unites polygons that are coplanar to within a tolerance. */
static rb_status
unite_nearly_flat(merging *m)
{
	RB_TRY(RB_ALLOCATE(m->ctx, m->w->coplanar, (size_t) m->w->npolygons + 1));
	m->w->ncoplanar = number_sets(m, m->w->coplanar);
	RB_TRY(RB_ALLOCATE(m->ctx, m->tolerance, (size_t) m->w->npolygons + 1));
	memset(m->tolerance, 0, ((size_t) m->w->npolygons + 1) * sizeof *m->tolerance);
	return rb_merge_nearly_flat(m->ctx, m->w, m->how.degrees, m->near.at, (uint32_t) m->near.n,
								m->sets, m->tolerance, &m->w->farthest);
}

/* Gives each facet the tolerance that one of its polygons has. */
static rb_status
write_tolerances(merging *m)
{
	double *to = NULL;
	bool any = false;

	for (uint32_t i = 0; i < m->w->npolygons; i++)
		any |= m->tolerance[i] > 0;
	if (!any)
	{
		RB_FREE(m->ctx->memory, m->w->coplanar);
		return RB_OK;
	}
	RB_TRY(RB_ALLOCATE(m->ctx, to, (size_t) m->nfacets + 1));
	memset(to, 0, ((size_t) m->nfacets + 1) * sizeof *to);
	for (uint32_t i = 0; i < m->w->npolygons; i++)
		to[m->number[i]] = fmax(to[m->number[i]], m->tolerance[i]);
	m->w->plc.tolerance = to;
	return RB_OK;
}

/* Unites coplanar polygons and numbers the resulting facets. */
static rb_status
unite_polygons(merging *m)
{
	const uint32_t n = m->w->npolygons;

	RB_TRY(RB_ALLOCATE(m->ctx, m->sets, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(m->ctx, m->number, (size_t) n + 1));
	rb_turned_sets_init(m->sets, n);
	RB_TRY(m->how.kind != RB_MERGE_NONE ? visit_merged_edges(m, unite_at_edge) : RB_OK);
	if (m->how.kind == RB_MERGE_NEARLY_FLAT)
		RB_TRY(unite_nearly_flat(m));
	m->nfacets = number_sets(m, m->number);
	return m->tolerance != NULL ? write_tolerances(m) : RB_OK;
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
		*bounds = m->number[facet_of[triangle_of_entry(e, 0)]] !=
				  m->number[facet_of[triangle_of_entry(e, 1)]];
	if (e->sides <= 2)
		return RB_OK;
	RB_TRY(RB_GROW(m->ctx, m->scratch, m->scratch_cap, e->sides));
	for (uint32_t i = 0; i < e->sides; i++)
		m->scratch[i] = m->number[facet_of[triangle_of_entry(e, i)]];
	status = rb_sort_words(m->ctx, m->scratch, e->sides);
	for (uint32_t i = 0; i < e->sides && !*bounds; i++)
		*bounds = (i == 0 || m->scratch[i - 1] != m->scratch[i]) &&
				  (i + 1 == e->sides || m->scratch[i + 1] != m->scratch[i]);
	return status;
}

/*
 * Selects which segments at an edge remain. If three or more triangles share an edge that bounds no
 * facet and is no segment, appends the edge to the new segments.
 */
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

/* Writes the segments that remain and the new ones. */
static rb_status
write_merged_segments(merging *m)
{
	rb_welded *w = m->w;
	uint32_t(*segments)[2];
	uint32_t n = 0;

	RB_TRY(RB_ALLOCATE(m->ctx, m->gone, (size_t) w->plc.nsegments + 1));
	RB_TRY(visit_merged_edges(m, choose_segments));
	RB_TRY(RB_ALLOCATE(m->ctx, w->plc.segments, (size_t) w->plc.nsegments + m->nmore + 1));
	RB_TRY(RB_ALLOCATE(m->ctx, w->segment_row, (size_t) w->plc.nsegments + m->nmore + 1));
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

/*
 * Sorts triangles stably by `key`, whose values are below n and become the facets; order->member
 * lists their old numbers.
 */
static rb_status
sort_merged_triangles(rb_context *ctx, rb_plc *plc, const uint32_t *key, uint32_t n,
					  rb_buckets *order)
{
	uint32_t(*triangles)[3] = NULL, *facet_of = NULL;
	rb_status status = rb_buckets_build(ctx, order, plc->ntriangles, n, rb_bucket_in_array, key);

	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, triangles, (size_t) plc->ntriangles + 1);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, facet_of, (size_t) plc->ntriangles + 1);
	if (status != RB_OK)
	{
		RB_FREE(ctx->memory, triangles);
		return status;
	}
	for (uint32_t i = 0; i < plc->ntriangles; i++)
	{
		memcpy(triangles[i], plc->triangles[order->member[i]], sizeof *triangles);
		facet_of[i] = key[order->member[i]];
	}
	RB_FREE(ctx->memory, plc->triangles);
	RB_FREE(ctx->memory, plc->facet_of);
	plc->triangles = (const uint32_t(*)[3]) triangles;
	plc->facet_of = facet_of;
	plc->nfacets = n;
	return RB_OK;
}

/* Orders triangles by facet and polygon, all oriented like the facet's first polygon. */
static rb_status
write_merged_triangles(merging *m)
{
	rb_welded *w = m->w;
	const uint32_t n = w->plc.ntriangles;
	rb_buckets order = {0};
	uint32_t *facet = NULL;
	rb_status status = RB_ALLOCATE(m->ctx, facet, (size_t) n + 1);

	if (status == RB_OK)
		status = RB_ALLOCATE(m->ctx, w->polygon_of, (size_t) n + 1);
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		uint32_t *v = (uint32_t *) w->plc.triangles[i];
		bool turned;

		(void) rb_find_turned_root(m->sets, w->plc.facet_of[i], &turned);
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
		status = sort_merged_triangles(m->ctx, &w->plc, facet, m->nfacets, &order);
	}
	if (status == RB_OK)
	{
		memcpy(facet, w->polygon_of, n * sizeof *facet);
		for (uint32_t i = 0; i < n; i++)
			w->polygon_of[i] = facet[order.member[i]];
	}
	RB_FREE(m->ctx->memory, facet);
	rb_buckets_free(m->ctx->memory, &order);
	return status;
}

/* Makes the sets of exactly coplanar polygons facets again. */
static rb_status
keep_coplanar(rb_context *ctx, rb_welded *welded)
{
	const uint32_t n = welded->plc.ntriangles;
	uint32_t *facet = NULL, *polygon = NULL;
	rb_buckets order = {0};
	rb_status status = RB_ALLOCATE(ctx, facet, (size_t) n + 1);

	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, polygon, (size_t) n + 1);
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		polygon[i] = welded->polygon_of != NULL ? welded->polygon_of[i] : welded->plc.facet_of[i];
		facet[i] = welded->coplanar[polygon[i]];
	}
	if (status == RB_OK)
		status = sort_merged_triangles(ctx, &welded->plc, facet, welded->ncoplanar, &order);
	if (status == RB_OK && welded->polygon_of != NULL)
		for (uint32_t i = 0; i < n; i++)
			welded->polygon_of[i] = polygon[order.member[i]];
	if (status == RB_OK)
	{
		RB_FREE(ctx->memory, welded->plc.tolerance);
		RB_FREE(ctx->memory, welded->coplanar);
		welded->farthest = 0;
	}
	RB_FREE(ctx->memory, facet);
	RB_FREE(ctx->memory, polygon);
	rb_buckets_free(ctx->memory, &order);
	return status;
}

rb_status
rb_weld_unmerge(rb_context *ctx, rb_welded *welded)
{
	rb_buckets order = {0};
	rb_status status;

	if (welded->plc.tolerance != NULL)
		return keep_coplanar(ctx, welded);
	if (welded->polygon_of == NULL)
		return RB_OK;
	status =
		sort_merged_triangles(ctx, &welded->plc, welded->polygon_of, welded->npolygons, &order);
	rb_buckets_free(ctx->memory, &order);
	if (status == RB_OK)
		RB_FREE(ctx->memory, welded->polygon_of);
	return status;
}

rb_status
rb_weld_merge(rb_context *ctx, rb_welded *welded, rb_merging how)
{
	merging m = {
		.ctx = ctx, .w = welded, .how = how, .env = {.filters = ctx->filters, .exact = true}};
	rb_status status = list_merged_edges_by_end(&m);

	if (status == RB_OK)
		status = unite_polygons(&m);
	if (status == RB_OK)
		status = write_merged_segments(&m);
	if (status == RB_OK && m.nfacets < welded->npolygons)
		status = write_merged_triangles(&m);
	rb_buckets_free(ctx->memory, &m.by_end);
	RB_FREE(ctx->memory, m.edges);
	RB_FREE(ctx->memory, m.sets);
	RB_FREE(ctx->memory, m.number);
	RB_FREE(ctx->memory, m.tolerance);
	rb_vec_free(ctx->memory, &m.near);
	RB_FREE(ctx->memory, m.scratch);
	RB_FREE(ctx->memory, m.gone);
	RB_FREE(ctx->memory, m.more);
	return status;
}

/* ---- edges along which a polygon bends ---- */

typedef struct creasing
{
	rb_context *ctx;
	rb_welded *to;
	double height;  /* maximum height that counts as flat; 0 if only exactly coplanar points do */
	rb_table edges; /* for each edge of the facet, its first triangle << 2 | the opposite corner */
	rb_table given; /* the existing segments */
	bool listed;    /* true if `given` has been filled */
	size_t segments_cap, rows_cap;
} creasing;

/*
 * Returns true if edge ab, between corners p and q of its two triangles, bends by more than
 * rounding explains.
 */
static bool
is_crease(const creasing *c, uint32_t a, uint32_t b, uint32_t p, uint32_t q)
{
	const double *points = c->to->plc.points;
	const double *const at[4] = {points + 3 * (size_t) a, points + 3 * (size_t) b,
								 points + 3 * (size_t) p, points + 3 * (size_t) q};
	rb_exact_env env = {.filters = c->ctx->filters, .exact = true};

	if (c->height > 0)
		return !rb_four_flat(at, c->height);
	return rb_orient3d_at(&env, at[0], at[1], at[2], at[3]) != 0;
}

/* Inserts the segments of the PLC into the table of edges. */
static rb_status
list_segments_before_creases(creasing *c)
{
	const rb_plc *plc = &c->to->plc;

	for (uint32_t s = 0; s < plc->nsegments; s++)
		RB_TRY(rb_table_insert(c->ctx, &c->given, plc->segments[s][0], plc->segments[s][1], RB_NONE,
							   s, NULL, NULL));
	c->listed = true;
	return RB_OK;
}

/* Appends the segment ab unless the PLC has it. */
static rb_status
add_segment(creasing *c, uint32_t a, uint32_t b)
{
	rb_plc *plc = &c->to->plc;
	rb_status status = c->listed ? RB_OK : list_segments_before_creases(c);
	bool fresh;

	if (status == RB_OK)
		status = rb_table_insert(c->ctx, &c->given, a, b, RB_NONE, plc->nsegments, NULL, &fresh);
	if (status != RB_OK || !fresh)
		return status;
	status = RB_GROW(c->ctx, plc->segments, c->segments_cap, (size_t) plc->nsegments + 1);
	if (status == RB_OK)
		status = RB_GROW(c->ctx, c->to->segment_row, c->rows_cap, (size_t) plc->nsegments + 1);
	if (status != RB_OK)
		return status;
	memcpy((uint32_t *) plc->segments[plc->nsegments], (uint32_t[2]){a, b}, sizeof(uint32_t[2]));
	c->to->segment_row[plc->nsegments++] = RB_NONE;
	return RB_OK;
}

/* Finds the creases of the facet whose triangles are from..to. */
static rb_status
crease_facet(creasing *c, uint32_t from, uint32_t to)
{
	const rb_plc *plc = &c->to->plc;

	rb_table_empty(&c->edges);
	for (uint32_t t = from; t < to; t++)
		for (uint32_t i = 0; i < 3; i++)
		{
			const uint32_t *v = plc->triangles[t];
			const uint32_t a = v[(i + 1) % 3], b = v[(i + 2) % 3];
			uint32_t *first;
			bool fresh;

			RB_TRY(rb_table_insert(c->ctx, &c->edges, a, b, RB_NONE, t << 2 | i, &first, &fresh));
			if (!fresh && is_crease(c, a, b, plc->triangles[*first >> 2][*first & 3], v[i]))
				RB_TRY(add_segment(c, a, b));
		}
	return RB_OK;
}

rb_status
rb_weld_creases(rb_context *ctx, rb_welded *welded)
{
	const rb_plc *plc = &welded->plc;
	creasing c = {
		.ctx = ctx, .to = welded, .segments_cap = plc->nsegments, .rows_cap = plc->nsegments};
	double largest, extent;
	rb_status status = RB_OK;

	if (plc->ntriangles == plc->nfacets)
		return RB_OK;
	if (plc->ntriangles >= (uint32_t) 1 << 30)
		return rb_fail(ctx, RB_TOO_MANY_OBJECTS, plc->ntriangles, (uint32_t) 1 << 30, NULL);
	RB_TRY(rb_flat_measure(ctx, plc->points, plc->npoints, &largest, &extent));
	c.height = RB_FLAT_HEIGHT * rb_flat_rounds(largest, extent);
	for (uint32_t from = 0, to; from < plc->ntriangles && status == RB_OK; from = to)
	{
		for (to = from + 1; to < plc->ntriangles && plc->facet_of[to] == plc->facet_of[from];)
			to++;
		if (to - from > 1 && (plc->tolerance == NULL || plc->tolerance[plc->facet_of[from]] == 0))
			status = crease_facet(&c, from, to);
		if (status == RB_OK && (from & 0xfff) == 0 && rb_should_stop(ctx))
			status = RB_STOPPED;
	}
	rb_table_free(ctx->memory, &c.edges);
	rb_table_free(ctx->memory, &c.given);
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

/* Returns the distance of two points, without overflow of squares. */
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

/* Lists the face sides at each edge, except those at segments. */
static rb_status
list_sides_of_faces_to_merge(regrouping *g, uint32_t nfaces, const uint32_t (*edges)[2],
							 uint32_t nedges)
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
		if (rb_stop_due(g->ctx, side, RB_CHECK_INTERVAL))
			status = RB_STOPPED;
	}
	return status;
}

/*
 * Returns the distance from a common plane up to which adjacent faces are merged into one facet. It
 * is the distance that redblue_mesh_check allows between a Steiner point and its segment or facet.
 */
static double
merge_distance(const double *points, uint32_t npoints)
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
				  uint32_t nedges, const uint32_t *facet, uint32_t nfacets, bool near,
				  uint32_t *merged, uint32_t *nmerged)
{
	regrouping g = {.ctx = ctx, .points = points, .faces = faces};
	uint32_t *above = NULL;
	rb_status status = RB_ALLOCATE(ctx, above, (size_t) nfacets + 1);

	if (status == RB_OK)
		status = list_sides_of_faces_to_merge(&g, nfaces, edges, nedges);
	if (status == RB_OK)
		rb_union_find_init(above, nfacets);
	g.near = merge_distance(points, npoints);
	for (uint32_t side = 0; side < 3 * nfaces && status == RB_OK; side++)
	{
		uint32_t a, b;

		if (g.next[side] == RB_NONE || facet[side / 3] == RB_NONE ||
			facet[g.next[side] / 3] == RB_NONE)
			continue;
		a = rb_find_root(above, facet[side / 3]);
		b = rb_find_root(above, facet[g.next[side] / 3]);
		if (a != b && (near || may_be_flat(&g, side, g.next[side])))
			rb_unite(above, a, b);
		if (rb_stop_due(ctx, side, RB_CHECK_INTERVAL))
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
