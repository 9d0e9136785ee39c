/*
 * weld_near.c
 *	  Finds points that are nearer to each other than a distance, and the points that they become.
 *
 * Around each point there is a box with half the distance on each side, and a self join of these
 * boxes finds the candidates. Squared distances are compared exactly. The result depends on the
 * numbers and coordinates of the points only, not on the order in which pairs are found.
 */
#include "mesh/weld.h"

#include "core/base/bucket.h"
#include "core/base/union_find.h"
#include "core/exact/bignum.h"

#include <math.h>

/* Iterations between two polls for a stop */
#define RB_CHECK_INTERVAL 4096
/*
 * Error of a computed squared distance, relative to it; at least four times the bound of its
 * roundings
 */
#define RB_SLACK 0x1p-48

typedef struct near_points
{
	rb_context *ctx;
	const double *points;
	uint32_t n;
	double distance;
	RB_VEC(uint32_t) ends; /* the two points of each pair within the distance */
	/* for each point, the entries of `ends` that hold it; the other end is at i ^ 1 */
	rb_buckets near;
	uint32_t *root; /* union-find parents; the root of a group is its lowest point */
	bool *wide;     /* for each root, whether the group must be split */
	bool *kept;     /* for each point of a group that must be split, whether it stays */
} near_points;

/* Returns the coordinates of one of the points to be welded to near ones. */
static inline const double *
get_point_to_weld_near(const near_points *s, uint32_t i)
{
	return s->points + 3 * (size_t) i;
}

/* Returns the rounded squared distance of two points, as a filter for the exact one. */
static double
distance2_of_near_points(const double *p, const double *q)
{
	const double x = p[0] - q[0], y = p[1] - q[1], z = p[2] - q[2];

	return x * x + y * y + z * z;
}

/* Computes the exact squared distance of two points. */
static void
exact_distance2_of_near_points(const double *p, const double *q, rb_number *sum)
{
	rb_number d[3];

	for (int k = 0; k < 3; k++)
		rb_number_difference(&d[k], p[k], q[k]);
	rb_number_dot3(sum, d, d);
}

/* Returns true if two points are at most `times` a distance apart. */
static bool
are_points_near_enough_to_weld(const double *p, const double *q, double distance, int times)
{
	const double d2 = distance2_of_near_points(p, q), limit = distance * distance * (times * times);
	rb_number exact, length, scale, square, scaled;

	if (limit >= 0x1p-900 && limit <= 0x1p900)
	{
		if (d2 < limit * (1 - RB_SLACK))
			return true;
		if (d2 > limit * (1 + RB_SLACK))
			return false;
	}
	exact_distance2_of_near_points(p, q, &exact);
	rb_number_of(&length, distance);
	rb_number_mul(&square, &length, &length);
	rb_number_of(&scale, times * times);
	rb_number_mul(&scaled, &square, &scale);
	return rb_number_compare(&exact, &scaled) <= 0;
}

/* Returns true if p is nearer to a than to b. */
static bool
is_nearer(const double *p, const double *a, const double *b)
{
	rb_number to_a, to_b;

	exact_distance2_of_near_points(p, a, &to_a);
	exact_distance2_of_near_points(p, b, &to_b);
	return rb_number_compare(&to_a, &to_b) < 0;
}

/* ---- pairs ---- */

/* Records the pairs that are within the distance. */
static rb_status
record_near_pairs(void *user, const rb_pair *pairs, size_t n)
{
	near_points *s = user;

	for (size_t i = 0; i < n; i++)
	{
		const uint32_t a = rb_pair_red(pairs[i]), b = pairs[i].blue;

		if (i % 1024 == 1023 && rb_should_stop(s->ctx))
			return RB_STOPPED;
		if (!are_points_near_enough_to_weld(get_point_to_weld_near(s, a),
											get_point_to_weld_near(s, b), s->distance, 1))
			continue;
		RB_TRY(rb_vec_append(s->ctx, &s->ends, a));
		RB_TRY(rb_vec_append(s->ctx, &s->ends, b));
	}
	return RB_OK;
}

/* Finds the pairs by a join of boxes. */
static rb_status
find_near_pairs(near_points *s)
{
	const double half = nextafter(s->distance / 2, INFINITY);
	const rb_sink sink = {.put = record_near_pairs, .user = s};
	double *boxes = NULL;
	const int threads = s->ctx->threads;
	rb_status status;

	if (s->n > RB_MAX_OBJECTS)
		return rb_fail(s->ctx, RB_TOO_MANY_OBJECTS, s->n, RB_MAX_OBJECTS, NULL);
	RB_TRY(RB_ALLOCATE(s->ctx, boxes, 6 * (size_t) s->n + 1));
	for (uint32_t i = 0; i < s->n; i++)
		for (int k = 0; k < 3; k++)
		{
			const double x = get_point_to_weld_near(s, i)[k];

			boxes[6 * (size_t) i + k] = fmax(nextafter(x - half, -INFINITY), -DBL_MAX);
			boxes[6 * (size_t) i + 3 + k] = fmin(nextafter(x + half, INFINITY), DBL_MAX);
		}
	{
		const rb_set set = {.kind = RB_BOX3, .nparts = s->n, .nrows = s->n, .coords = boxes};
		const rb_job job = {.red = &set, .predicate = RB_MEET, .answer = RB_PAIRS};

		/* The sink is not called from several threads at once. */
		s->ctx->threads = 1;
		status = rb_backend_cpu.join(s->ctx, &job, &sink);
		s->ctx->threads = threads;
	}
	if (status == RB_OK && rb_should_stop(s->ctx))
		status = RB_STOPPED;
	RB_FREE(s->ctx->memory, boxes);
	return status;
}

/* ---- groups ---- */

/* Returns the point at an end of a pair, by which pairs are listed. */
static uint32_t
point_of_end(const void *arg, uint32_t i)
{
	const near_points *s = arg;

	return s->ends.at[i];
}

/* Unites points into groups, and finds the groups that are too wide. */
static rb_status
group_points(near_points *s, rb_near_report *report)
{
	RB_TRY(RB_ALLOCATE(s->ctx, s->root, (size_t) s->n + 1));
	RB_TRY(RB_ALLOCATE(s->ctx, s->wide, (size_t) s->n + 1));
	RB_TRY(RB_ALLOCATE(s->ctx, s->kept, (size_t) s->n + 1));
	memset(s->wide, 0, (size_t) s->n + 1);
	memset(s->kept, 0, (size_t) s->n + 1);
	rb_union_find_init(s->root, s->n);
	for (size_t i = 0; i < s->ends.n; i += 2)
		rb_unite(s->root, s->ends.at[i], s->ends.at[i + 1]);
	for (uint32_t i = 0; i < s->n; i++)
	{
		const uint32_t root = rb_find_root(s->root, i);

		if (rb_stop_due(s->ctx, i, RB_CHECK_INTERVAL))
			return RB_STOPPED;
		if (root == i || s->wide[root] ||
			are_points_near_enough_to_weld(get_point_to_weld_near(s, i),
										   get_point_to_weld_near(s, root), s->distance, 2))
			continue;
		s->wide[root] = true;
		report->split++;
	}
	return RB_OK;
}

/* Returns the kept point that point i of a wide group becomes, or i. */
static uint32_t
nearest_kept(const near_points *s, uint32_t i)
{
	uint32_t best = i;

	if (s->kept[i])
		return i;
	for (uint32_t k = s->near.start[i]; k < s->near.start[i + 1]; k++)
	{
		const uint32_t other = s->ends.at[s->near.member[k] ^ 1];

		if (!s->kept[other])
			continue;
		if (best == i ||
			is_nearer(get_point_to_weld_near(s, i), get_point_to_weld_near(s, other),
					  get_point_to_weld_near(s, best)) ||
			(other < best &&
			 !is_nearer(get_point_to_weld_near(s, i), get_point_to_weld_near(s, best),
						get_point_to_weld_near(s, other))))
			best = other;
	}
	return best;
}

/* Selects the points that wide groups keep. */
static rb_status
keep_points(near_points *s)
{
	if (s->ends.n > UINT32_MAX - 16)
		return rb_fail(s->ctx, RB_TOO_MANY_OBJECTS, s->ends.n, UINT32_MAX - 16, NULL);
	RB_TRY(rb_buckets_build(s->ctx, &s->near, (uint32_t) s->ends.n, s->n, point_of_end, s));
	for (uint32_t i = 0; i < s->n; i++)
	{
		bool keep = s->wide[rb_find_root(s->root, i)];

		for (uint32_t k = s->near.start[i]; k < s->near.start[i + 1] && keep; k++)
			keep = !s->kept[s->ends.at[s->near.member[k] ^ 1]];
		s->kept[i] = keep;
		if (rb_stop_due(s->ctx, i, RB_CHECK_INTERVAL))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Finds what each point becomes. */
static rb_status
find_targets_of_near_points(near_points *s, uint32_t *to, rb_near_report *report)
{
	double farthest2 = 0;

	RB_TRY(find_near_pairs(s));
	RB_TRY(group_points(s, report));
	RB_TRY(report->split > 0 ? keep_points(s) : RB_OK);
	for (uint32_t i = 0; i < s->n; i++)
	{
		const uint32_t root = rb_find_root(s->root, i);

		to[i] = s->wide[root] ? nearest_kept(s, i) : root;
		if (rb_stop_due(s->ctx, i, RB_CHECK_INTERVAL))
			return RB_STOPPED;
		if (to[i] == i)
			continue;
		report->moved++;
		farthest2 = fmax(farthest2, distance2_of_near_points(get_point_to_weld_near(s, i),
															 get_point_to_weld_near(s, to[i])));
	}
	report->move = sqrt(farthest2);
	return RB_OK;
}

rb_status
rb_weld_near(rb_context *ctx, const double *points, uint32_t n, double distance, uint32_t *to,
			 rb_near_report *report)
{
	near_points s = {.ctx = ctx, .points = points, .n = n, .distance = distance};
	rb_status status;

	memset(report, 0, sizeof *report);
	status = find_targets_of_near_points(&s, to, report);
	rb_vec_free(ctx->memory, &s.ends);
	rb_buckets_free(ctx->memory, &s.near);
	RB_FREE(ctx->memory, s.root);
	RB_FREE(ctx->memory, s.wide);
	RB_FREE(ctx->memory, s.kept);
	return status;
}
