/*
 * boundary_polygons.c
 *	  Merges the triangles of a closed surface into polygons with holes.
 *
 *		triangles -> facets of coplanar triangles connected by edges		merge_coplanar.c
 *		facet -> walks along its boundary, with the facet on their left
 *		walk -> rings that do not visit a point twice
 *		rings -> without points on straight edges
 *
 * The surface remains closed: polygons of adjacent facets have the same edges, because a point on a
 * straight edge is removed from all rings or from none. A facet stays a list of triangles if one
 * polygon cannot represent it: if other faces touch an edge or a point in its interior, or if its
 * boundary has several outer rings.
 */
#include "core/base/bucket.h"
#include "core/exact/orient.h"
#include "mesh/hash_table.h"
#include "mesh/solid_boolean.h"

#define CHECK_INTERVAL 4096 /* elements between two polls for a stop */

typedef struct polygon_maker
{
	rb_context *ctx;
	rb_welded surface; /* the triangles, merged into facets */
	rb_exact_env env;
	rb_table edges; /* number of triangles at each edge */
	uint32_t *uses; /* number of triangles at each point */
	/* The current facet */
	rb_table sides; /* maps an edge to its first side, numbered 3 * triangle + k */
	/*
	 * For each side of the facet's triangles, the side of the other one at its edge; RB_NONE for a
	 * side on the boundary, and for one that a walk has visited
	 */
	uint32_t *mate;
	uint8_t *visited;
	uint32_t *at;          /* for each point, its position in the walk, or RB_NONE */
	RB_VEC(uint32_t) walk; /* points of the current walk that are not in a ring yet */
	/* The result, before points are numbered again */
	RB_VEC(uint32_t) ring_of;
	RB_VEC(uint32_t) corner_of;
	RB_VEC(uint32_t) corners;
	uint8_t *pinned; /* for each point, whether a triangle that was not merged has it */
} polygon_maker;

/* ---- what other faces use ---- */

/* Counts the triangles at each edge and point of the surface. */
static rb_status
count_triangles_at_edges(polygon_maker *m)
{
	const rb_plc *plc = &m->surface.plc;

	RB_TRY(RB_ALLOCATE(m->ctx, m->uses, (size_t) plc->npoints + 1));
	memset(m->uses, 0, ((size_t) plc->npoints + 1) * sizeof *m->uses);
	RB_TRY(rb_table_expect(m->ctx, &m->edges, 3 * (uint64_t) plc->ntriangles / 2));
	for (uint32_t i = 0; i < plc->ntriangles; i++)
	{
		const uint32_t *v = plc->triangles[i];

		for (int k = 0; k < 3; k++)
		{
			uint32_t *count;

			m->uses[v[k]]++;
			RB_TRY(
				rb_table_insert(m->ctx, &m->edges, v[k], v[(k + 1) % 3], RB_NONE, 0, &count, NULL));
			++*count;
		}
		if (rb_stop_due(m->ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Returns the point at which a side begins; sides are numbered 3 * triangle + k. */
static inline uint32_t
start_of_side(const polygon_maker *m, uint32_t side)
{
	return m->surface.plc.triangles[side / 3][side % 3];
}

/* Returns the side that follows on the same triangle. */
static inline uint32_t
next_side_of_triangle(uint32_t side)
{
	return side - side % 3 + (side + 1) % 3;
}

/*
 * Pairs the sides of a facet's triangles. Sets *whole to false if other triangles have an edge in
 * the facet's interior.
 */
static rb_status
pair_sides_of_facet(polygon_maker *m, uint32_t from, uint32_t to, bool *whole)
{
	rb_table_empty(&m->sides);
	for (uint32_t side = 3 * from; side < 3 * to; side++)
	{
		const uint32_t a = start_of_side(m, side),
					   b = start_of_side(m, next_side_of_triangle(side));
		uint32_t *first;
		bool fresh;

		m->mate[side] = RB_NONE;
		m->visited[side] = 0;
		RB_TRY(rb_table_insert(m->ctx, &m->sides, a, b, RB_NONE, side, &first, &fresh));
		if (fresh)
			continue;
		m->mate[side] = *first;
		m->mate[*first] = side;
		*whole &= *rb_table_get(&m->edges, a, b, RB_NONE) == 2;
	}
	return RB_OK;
}

/*
 * Returns true if a point in the interior of a facet belongs to other facets, too. Uses m->at for
 * counts, and restores it.
 */
static bool
do_others_touch_interior(polygon_maker *m, uint32_t from, uint32_t to)
{
	bool touched = false;

	for (uint32_t side = 3 * from; side < 3 * to; side++)
		m->at[start_of_side(m, side)] = 0;
	for (uint32_t side = 3 * from; side < 3 * to; side++)
		m->at[start_of_side(m, side)]++;
	/* A point on the boundary of the facet may belong to others. */
	for (uint32_t side = 3 * from; side < 3 * to; side++)
		if (m->mate[side] == RB_NONE)
		{
			const uint32_t a = start_of_side(m, side),
						   b = start_of_side(m, next_side_of_triangle(side));

			m->at[a] = m->uses[a];
			m->at[b] = m->uses[b];
		}
	for (uint32_t side = 3 * from; side < 3 * to && !touched; side++)
	{
		const uint32_t a = start_of_side(m, side);

		touched = m->at[a] != m->uses[a];
	}
	for (uint32_t side = 3 * from; side < 3 * to; side++)
		m->at[start_of_side(m, side)] = RB_NONE;
	return touched;
}

/* ---- rings ---- */

/* Appends a ring with the points of the walk from position `from` on, and removes them. */
static rb_status
cut_ring_from_walk(polygon_maker *m, size_t from)
{
	RB_TRY(rb_vec_append(m->ctx, &m->corner_of, (uint32_t) m->corners.n));
	for (size_t i = from; i < m->walk.n; i++)
	{
		m->at[m->walk.at[i]] = RB_NONE;
		RB_TRY(rb_vec_append(m->ctx, &m->corners, m->walk.at[i]));
	}
	m->walk.n = from;
	return RB_OK;
}

/*
 * Walks along the boundary from a side, with the facet on the left, until it returns to it. Appends
 * the rings of the walk: whenever the walk returns to a point, what lies between is a ring.
 */
static rb_status
walk_along_boundary(polygon_maker *m, uint32_t from)
{
	uint32_t side = from;

	do
	{
		const uint32_t point = start_of_side(m, side);

		if (m->at[point] != RB_NONE)
			RB_TRY(cut_ring_from_walk(m, m->at[point]));
		m->at[point] = (uint32_t) m->walk.n;
		RB_TRY(rb_vec_append(m->ctx, &m->walk, point));
		m->visited[side] = 1;
		/* Turn around the end of the side, through the facet, to the next side on the boundary. */
		side = next_side_of_triangle(side);
		while (m->mate[side] != RB_NONE)
			side = next_side_of_triangle(m->mate[side]);
	} while (side != from);
	return cut_ring_from_walk(m, 0);
}

/* Returns the orientation of three points of the surface seen along an axis. */
static int
orient_points(polygon_maker *m, uint32_t a, uint32_t b, uint32_t c, int axis)
{
	const int x = (axis + 1) % 3, y = (axis + 2) % 3;
	const double *p = m->surface.plc.points + 3 * (size_t) a,
				 *q = m->surface.plc.points + 3 * (size_t) b,
				 *r = m->surface.plc.points + 3 * (size_t) c;

	return rb_orient2d_at(&m->env, p[x], p[y], q[x], q[y], r[x], r[y]);
}

/*
 * Returns the orientation of a ring of n points seen along an axis, which is the orientation of its
 * smallest point, by coordinates, and the points before and after it.
 */
static int
orient_ring(polygon_maker *m, const uint32_t *ring, uint32_t n, int axis)
{
	const int x = (axis + 1) % 3, y = (axis + 2) % 3;
	const double *points = m->surface.plc.points;
	uint32_t low = 0;

	for (uint32_t i = 1; i < n; i++)
	{
		const double *p = points + 3 * (size_t) ring[i], *q = points + 3 * (size_t) ring[low];

		if (p[x] < q[x] || (p[x] == q[x] && p[y] < q[y]))
			low = i;
	}
	return orient_points(m, ring[(low + n - 1) % n], ring[low], ring[(low + 1) % n], axis);
}

/* Returns an axis along which a triangle is seen with an area; *turn is its orientation there. */
static int
choose_axis(polygon_maker *m, const uint32_t *v, int *turn)
{
	int axis = 2;

	*turn = orient_points(m, v[0], v[1], v[2], axis);
	while (*turn == 0 && axis > 0)
		*turn = orient_points(m, v[0], v[1], v[2], --axis);
	return axis;
}

/*
 * Makes the outer ring, which has the orientation of the facet's triangles, the first of the rings
 * from `ring` on. Returns false unless there is exactly one outer ring.
 */
static rb_status
put_outer_ring_first(polygon_maker *m, uint32_t triangle, uint32_t ring, bool *whole)
{
	int turn;
	const int axis = choose_axis(m, m->surface.plc.triangles[triangle], &turn);
	const uint32_t first = m->corner_of.at[ring];
	uint32_t outer = RB_NONE, start = 0, length = 0;

	for (uint32_t r = ring; r < m->corner_of.n; r++)
	{
		const uint32_t from = m->corner_of.at[r], to = r + 1 < m->corner_of.n
														   ? m->corner_of.at[r + 1]
														   : (uint32_t) m->corners.n;

		if (orient_ring(m, m->corners.at + from, to - from, axis) != turn)
			continue;
		*whole &= outer == RB_NONE;
		outer = r;
		start = from;
		length = to - from;
	}
	*whole &= outer != RB_NONE;
	if (!*whole || outer == ring)
		return RB_OK;
	/* Move the rings before it up by its length. */
	RB_TRY(rb_vec_reserve(m->ctx, &m->corners, length));
	memmove(m->corners.at + first + length, m->corners.at + first,
			((size_t) m->corners.n - first) * sizeof *m->corners.at);
	memcpy(m->corners.at + first, m->corners.at + start + length, length * sizeof *m->corners.at);
	memmove(m->corners.at + start + length, m->corners.at + start + 2 * (size_t) length,
			((size_t) m->corners.n - start - length) * sizeof *m->corners.at);
	for (uint32_t r = outer; r > ring; r--)
		m->corner_of.at[r] = m->corner_of.at[r - 1] + length;
	return RB_OK;
}

/* ---- polygons ---- */

/* Appends each triangle of a facet as a polygon of its own. */
static rb_status
append_triangles_of_facet(polygon_maker *m, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
	{
		RB_TRY(rb_vec_append(m->ctx, &m->ring_of, (uint32_t) m->corner_of.n));
		RB_TRY(rb_vec_append(m->ctx, &m->corner_of, (uint32_t) m->corners.n));
		for (int k = 0; k < 3; k++)
		{
			const uint32_t point = m->surface.plc.triangles[i][k];

			RB_TRY(rb_vec_append(m->ctx, &m->corners, point));
			m->pinned[point] |= to - from > 1;
		}
	}
	return RB_OK;
}

/* Appends a facet as a polygon, or as triangles if that is not possible. */
static rb_status
append_facet(polygon_maker *m, uint32_t from, uint32_t to)
{
	const size_t ring = m->corner_of.n, corner = m->corners.n;
	bool whole = to - from > 1;

	if (whole)
		RB_TRY(pair_sides_of_facet(m, from, to, &whole));
	whole = whole && !do_others_touch_interior(m, from, to);
	for (uint32_t side = 3 * from; side < 3 * to && whole; side++)
		if (m->mate[side] == RB_NONE && !m->visited[side])
			RB_TRY(walk_along_boundary(m, side));
	if (whole)
		RB_TRY(put_outer_ring_first(m, from, (uint32_t) ring, &whole));
	if (whole)
		return rb_vec_append(m->ctx, &m->ring_of, (uint32_t) ring);
	m->corner_of.n = ring;
	m->corners.n = corner;
	return append_triangles_of_facet(m, from, to);
}

/* Appends the polygons of all facets, and the ends of the lists. */
static rb_status
append_all_facets(polygon_maker *m)
{
	const rb_plc *plc = &m->surface.plc;

	RB_TRY(rb_array(m->ctx, (void **) &m->mate, (size_t) plc->ntriangles + 1, 3 * sizeof *m->mate));
	RB_TRY(rb_array(m->ctx, (void **) &m->visited, (size_t) plc->ntriangles + 1, 3));
	RB_TRY(RB_ALLOCATE(m->ctx, m->at, (size_t) plc->npoints + 1));
	memset(m->at, 0xff, ((size_t) plc->npoints + 1) * sizeof *m->at);
	RB_TRY(RB_ALLOCATE(m->ctx, m->pinned, (size_t) plc->npoints + 1));
	memset(m->pinned, 0, (size_t) plc->npoints + 1);
	for (uint32_t from = 0, to; from < plc->ntriangles; from = to)
	{
		for (to = from + 1; to < plc->ntriangles && plc->facet_of[to] == plc->facet_of[from];)
			to++;
		RB_TRY(append_facet(m, from, to));
		if (rb_should_stop(m->ctx))
			return RB_STOPPED;
	}
	RB_TRY(rb_vec_append(m->ctx, &m->ring_of, (uint32_t) m->corner_of.n));
	return rb_vec_append(m->ctx, &m->corner_of, (uint32_t) m->corners.n);
}

/* ---- points on straight edges ---- */

/* Corners of all rings as linked lists */
typedef struct ring_links
{
	const uint32_t *corners;
	uint32_t *next;
	uint32_t *before;
	rb_buckets at; /* corners at each point */
	bool *gone;
} ring_links;

/*
 * Returns true if a point can be removed from all rings: each ring passes straight through it, and
 * all of them between the same two points.
 */
static bool
is_point_on_straight_edge(polygon_maker *m, const ring_links *l, uint32_t point)
{
	const uint32_t from = l->at.start[point], to = l->at.start[point + 1];
	uint32_t ends[2] = {RB_NONE, RB_NONE};

	if (m->pinned[point])
		return false;
	for (uint32_t i = from; i < to; i++)
	{
		const uint32_t corner = l->at.member[i], a = l->corners[l->before[corner]],
					   b = l->corners[l->next[corner]];

		if (i == from)
		{
			ends[0] = a;
			ends[1] = b;
			if (!rb_weld_is_collinear(&m->env, m->surface.plc.points, (uint32_t[3]){a, point, b}))
				return false;
		}
		else if (!(a == ends[0] && b == ends[1]) && !(a == ends[1] && b == ends[0]))
			return false;
	}
	return to > from;
}

/* Marks corners at points on straight edges as gone. */
static rb_status
mark_straight_corners(polygon_maker *m, ring_links *l)
{
	for (uint32_t point = 0; point < m->surface.plc.npoints; point++)
	{
		if (rb_stop_due(m->ctx, point, CHECK_INTERVAL))
			return RB_STOPPED;
		if (!is_point_on_straight_edge(m, l, point))
			continue;
		for (uint32_t i = l->at.start[point]; i < l->at.start[point + 1]; i++)
		{
			const uint32_t corner = l->at.member[i];

			l->gone[corner] = true;
			l->next[l->before[corner]] = l->next[corner];
			l->before[l->next[corner]] = l->before[corner];
		}
	}
	return RB_OK;
}

/* Removes points on straight edges from all rings. */
static rb_status
remove_straight_corners(polygon_maker *m)
{
	const uint32_t n = (uint32_t) m->corners.n;
	ring_links l = {.corners = m->corners.at};
	uint32_t kept = 0;
	rb_status status;
	RB_FREE_AT_END(m->ctx->memory, &l.next, &l.before, &l.gone, &l.at.start, &l.at.member);

	RB_TRY(RB_ALLOCATE(m->ctx, l.next, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(m->ctx, l.before, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(m->ctx, l.gone, (size_t) n + 1));
	memset(l.gone, 0, (size_t) n + 1);
	for (size_t r = 0; r + 1 < m->corner_of.n; r++)
	{
		const uint32_t from = m->corner_of.at[r], to = m->corner_of.at[r + 1];

		for (uint32_t i = from; i < to; i++)
		{
			l.next[i] = i + 1 < to ? i + 1 : from;
			l.before[i] = i > from ? i - 1 : to - 1;
		}
	}
	RB_TRY(rb_buckets_build(m->ctx, &l.at, n, m->surface.plc.npoints, rb_bucket_in_array,
							m->corners.at));
	status = mark_straight_corners(m, &l);
	for (size_t r = 0; r + 1 < m->corner_of.n && status == RB_OK; r++)
	{
		const uint32_t from = m->corner_of.at[r], to = m->corner_of.at[r + 1];

		m->corner_of.at[r] = kept;
		for (uint32_t i = from; i < to; i++)
			if (!l.gone[i])
				m->corners.at[kept++] = m->corners.at[i];
	}
	m->corner_of.at[m->corner_of.n - 1] = kept;
	m->corners.n = kept;
	return status;
}

/* ---- the result ---- */

/* Moves the polygons to the result, with the points that they use, numbered by first use. */
static rb_status
move_polygons(polygon_maker *m, rb_solid_boundary *to)
{
	uint32_t *number = m->at, n = 0;

	for (size_t i = 0; i < m->corners.n; i++)
		if (number[m->corners.at[i]] == RB_NONE)
			number[m->corners.at[i]] = n++;
	RB_TRY(rb_array(m->ctx, (void **) &to->points, (size_t) n + 1, 3 * sizeof(double)));
	for (size_t i = 0; i < m->corners.n; i++)
	{
		const uint32_t point = m->corners.at[i];

		m->corners.at[i] = number[point];
		memcpy(to->points + 3 * (size_t) number[point], m->surface.plc.points + 3 * (size_t) point,
			   3 * sizeof(double));
	}
	to->npoints = n;
	to->npolygons = (uint32_t) m->ring_of.n - 1;
	to->ring_of = m->ring_of.at;
	to->corner_of = m->corner_of.at;
	to->corners = m->corners.at;
	m->ring_of.at = m->corner_of.at = m->corners.at = NULL;
	return RB_OK;
}

/* Makes the polygons of a surface that has been merged. */
static rb_status
make_polygons(polygon_maker *m, rb_solid_boundary *to)
{
	RB_TRY(count_triangles_at_edges(m));
	RB_TRY(append_all_facets(m));
	RB_TRY(remove_straight_corners(m));
	return move_polygons(m, to);
}

rb_status
rb_boundary_polygons(rb_context *ctx, const rb_plc *surface, rb_solid_boundary *to)
{
	const rb_merging how = {.kind = RB_MERGE_COPLANAR};
	polygon_maker m = {.ctx = ctx, .env = {.filters = ctx->filters, .exact = true}};
	rb_memory *memory = ctx->memory;
	rb_status status;

	if (surface->ntriangles > UINT32_MAX / 3 - 16)
		return rb_fail(ctx, RB_TOO_MANY_OBJECTS, surface->ntriangles, UINT32_MAX / 3 - 16, NULL);
	status = rb_weld_plc(ctx, surface, &m.surface);
	if (status == RB_OK)
		status = rb_weld_merge(ctx, &m.surface, how);
	if (status == RB_OK)
		status = make_polygons(&m, to);
	rb_welded_free(memory, &m.surface);
	rb_table_free(memory, &m.edges);
	rb_table_free(memory, &m.sides);
	RB_FREE(memory, m.uses);
	RB_FREE(memory, m.mate);
	RB_FREE(memory, m.visited);
	RB_FREE(memory, m.at);
	RB_FREE(memory, m.pinned);
	rb_vec_free(memory, &m.walk);
	rb_vec_free(memory, &m.ring_of);
	rb_vec_free(memory, &m.corner_of);
	rb_vec_free(memory, &m.corners);
	return status;
}

void
rb_solid_boundary_free(rb_memory *memory, rb_solid_boundary *boundary)
{
	RB_FREE(memory, boundary->points);
	RB_FREE(memory, boundary->ring_of);
	RB_FREE(memory, boundary->corner_of);
	RB_FREE(memory, boundary->corners);
	boundary->npoints = boundary->npolygons = 0;
}
