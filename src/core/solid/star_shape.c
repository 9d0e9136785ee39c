/*
 * star_shape.c
 *	  Proves that a surface does not intersect itself if all of it is visible from one point.
 *
 * Suppose that every edge has two triangles that traverse it in opposite directions, and that all
 * triangles have the same strict orientation relative to a point c. Seen from c, the two triangles
 * of an edge are on opposite sides of it, and the triangles around a vertex surround it. So every
 * direction, except those of edges, is covered by the same number of triangles. If one direction is
 * covered once, all are.
 *
 * Then no direction is in the interior of one triangle and also in another triangle. If two
 * triangles meet, the meeting point is on an edge or vertex of both. The other triangles there
 * cover all remaining directions, so the two triangles share that edge or vertex. Houses and the
 * shells of many solids are star-shaped in this sense, and this test is much cheaper than a self
 * join.
 *
 * The point c is the rounded mean of the vertices, which is inside any convex surface. If a
 * floating-point filter cannot determine a sign, the result is false.
 */
#include "core/solid/solid.h"
#include "core/primitive/ray.h"

static void
find_mean(const double *t, uint32_t n, double c[3])
{
	double sum[3] = {0, 0, 0};

	for (size_t i = 0; i < (size_t) 3 * n; i++)
		for (int a = 0; a < 3; a++)
			sum[a] += t[3 * i + a];
	for (int a = 0; a < 3; a++)
		c[a] = sum[a] / (3.0 * n);
}

/* Returns true if the upward ray from c meets the triangle's bounding box. */
static bool
may_be_above(const double *t, const double *c)
{
	for (int a = 0; a < 3; a++)
		if (rb_max(t[a], rb_max(t[3 + a], t[6 + a])) < c[a])
			return false;
	return rb_min(t[0], rb_min(t[3], t[6])) <= c[0] && rb_min(t[1], rb_min(t[4], t[7])) <= c[1];
}

/*
 * Returns true if all triangles have the same orientation relative to c, and exactly one of them is
 * above c.
 */
static bool
is_seen_once(rb_context *ctx, const double *triangles, uint32_t n)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	int turn = 0, above = 0;
	double c[3];

	find_mean(triangles, n, c);
	for (uint32_t i = 0; i < n; i++)
	{
		const double *t = triangles + 9 * (size_t) i;
		const int side = rb_orient3d_filter(t, t + 3, t + 6, c);

		if (side == 0 || side == RB_UNSURE || side == -turn || (rb_stop_due(ctx, i, 65536)))
			return false;
		turn = side;
		if (may_be_above(t, c) &&
			(rb_ray_crossing(&env, c, t) & RB_RAY_PARITY_OF(1, 0)) == RB_RAY_PARITY_OF(1, 0))
			above++;
	}
	return above == 1;
}

static uint32_t
next_of(uint32_t corner)
{
	return corner % 3 == 2 ? corner - 2 : corner + 1;
}

static uint32_t
previous_of(uint32_t corner)
{
	return corner % 3 == 0 ? corner + 2 : corner - 1;
}

/*
 * Checks whether every edge has two triangles, which traverse it in opposite directions. The edges
 * that leave a vertex must lead to distinct vertices, and the edges that enter it must come from
 * exactly the same vertices.
 */
static rb_status
find_pairs(rb_context *ctx, const uint32_t *first, uint32_t n, uint32_t *links, bool *paired)
{
	uint32_t *link = links; /* For each corner, the previous corner at the same vertex, or itself */
	uint32_t *last = links + 3 * (size_t) n; /* Last corner at each vertex */
	/* For each vertex, the start of the last edge found that ends there */
	uint32_t *leads = links + 6 * (size_t) n;

	memset(leads, 0xff, 3 * (size_t) n * sizeof *leads);
	for (uint32_t i = 0; i < 3 * n; i++)
	{
		link[i] = first[i] == i ? i : last[first[i]];
		last[first[i]] = i;
		if (rb_stop_due(ctx, i, 65536))
			return RB_STOPPED;
	}
	*paired = false;
	for (uint32_t at = 0; at < 3 * n; at++)
	{
		uint32_t i;

		if (rb_stop_due(ctx, at, 4096))
			return RB_STOPPED;
		if (first[at] != at)
			continue;
		for (i = last[at];; i = link[i])
		{
			const uint32_t to = first[next_of(i)];

			if (leads[to] == at)
				return RB_OK;
			leads[to] = at;
			if (link[i] == i)
				break;
		}
		for (i = last[at];; i = link[i])
		{
			const uint32_t from = first[previous_of(i)];

			if (leads[from] != at)
				return RB_OK;
			leads[from] = UINT32_MAX;
			if (link[i] == i)
				break;
		}
	}
	*paired = true;
	return RB_OK;
}

rb_status
rb_solid_is_star(rb_context *ctx, const double *triangles, uint32_t n, rb_star_room *room,
				 bool *star)
{
	*star = false;
	if (!is_seen_once(ctx, triangles, n))
		return rb_should_stop(ctx) ? RB_STOPPED : RB_OK;
	RB_TRY(rb_point_hash_find(ctx, triangles, 3 * n, &room->corners));
	RB_TRY(RB_RENEW(ctx, room->links, room->links_cap, 9 * (size_t) n));
	return find_pairs(ctx, room->corners.first, n, room->links, star);
}

void
rb_star_room_free(rb_memory *memory, rb_star_room *room)
{
	rb_point_hash_free(memory, &room->corners);
	RB_FREE(memory, room->links);
	room->links_cap = 0;
}
