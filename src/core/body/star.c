/*
 * star.c
 *	  A surface that is seen whole from one point does not cross itself.
 *
 * Let every edge have two triangles, which run along it in opposite directions, and let all
 * triangles turn the same way, none seen from its edge, from a point c.  Seen from there the two of
 * an edge lie on its two sides, and those around a corner go around it.  So every direction,
 * but for edges, is covered by equally many triangles; if one direction is covered once, all are.
 *
 * Then no direction is inside of one triangle and also on another.  And where two meet that is on
 * an edge or a corner of both, whose other triangles leave no room for any but themselves:
 * so they share that edge or corner.  Houses and the shells of many bodies are such stars, and to
 * look is far cheaper than to join the triangles with each other.
 *
 * c is the mean of the triangles' corners, or a double near it, which is inside of what is convex.  Signs that are not obvious mean no.
 */
#include "core/body/rb_body.h"
#include "core/shape/rb_ray.h"

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

/* does the ray from c straight up meet the triangle's box? */
static bool
may_be_above(const double *t, const double *c)
{
	for (int a = 0; a < 3; a++)
		if (rb_max(t[a], rb_max(t[3 + a], t[6 + a])) < c[a])
			return false;
	return rb_min(t[0], rb_min(t[3], t[6])) <= c[0] && rb_min(t[1], rb_min(t[4], t[7])) <= c[1];
}

/* do all triangles turn the same way, and is one of them above c? */
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

		if (side == 0 || side == RB_UNSURE || side == -turn ||
			(i % 65536 == 65535 && rb_should_stop(ctx)))
			return false;
		turn = side;
		if (may_be_above(t, c) &&
			(rb_point_under(&env, c, t) & RB_UNDER_OF(1, 0)) == RB_UNDER_OF(1, 0))
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
 * Has every edge two triangles, which run along it in opposite directions?  The edges that leave a
 * place go to different ones, and it is these that edges come from.
 */
static rb_status
find_pairs(rb_context *ctx, const uint32_t *first, uint32_t n, uint32_t *links, bool *paired)
{
	uint32_t *link = links; /* of each corner the one before it in the same place, or itself */
	uint32_t *last = links + 3 * (size_t) n; /* corner in each place */
	uint32_t *leads =
		links + 6 * (size_t) n; /* to each place: from which it was left for that one */

	memset(leads, 0xff, 3 * (size_t) n * sizeof *leads);
	for (uint32_t i = 0; i < 3 * n; i++)
	{
		link[i] = first[i] == i ? i : last[first[i]];
		last[first[i]] = i;
		if (i % 65536 == 65535 && rb_should_stop(ctx))
			return RB_STOPPED;
	}
	*paired = false;
	for (uint32_t at = 0; at < 3 * n; at++)
	{
		uint32_t i;

		if (at % 4096 == 4095 && rb_should_stop(ctx))
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
rb_body_is_star(rb_context *ctx, const double *triangles, uint32_t n, rb_star_room *room,
				bool *star)
{
	rb_status status;

	*star = false;
	if (!is_seen_once(ctx, triangles, n))
		return rb_should_stop(ctx) ? RB_STOPPED : RB_OK;
	status = rb_corners_find(ctx, triangles, 3 * n, &room->corners);
	if (status == RB_OK)
		status = rb_room(ctx, &room->links, &room->links_cap, 9 * (size_t) n);
	if (status == RB_OK)
		status = find_pairs(ctx, room->corners.first, n, room->links, star);
	return status;
}

void
rb_star_room_free(rb_memory *memory, rb_star_room *room)
{
	rb_corners_free(memory, &room->corners);
	rb_free(memory, (void **) &room->links);
	room->links_cap = 0;
}
