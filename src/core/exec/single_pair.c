/*
 * single_pair.c
 *	  Tests whether two single rows form a pair of a job.
 *
 * A join answers this question for all rows of two tables. This file answers it for two rows,
 * possibly thousands of times in one statement. There are three methods, and the cheapest one is
 * chosen by the estimated number of box comparisons:
 *
 *		each with each		red parts x blue parts
 *		tree walk			a box tree (box_tree.h) of one row's parts, searched for each other part
 *		join				as for two tables, on as many threads as the context has
 *
 * A row that is tested repeatedly keeps its tree. Building a tree costs as much as about two dozen
 * scans of the row, so it is built once the row has been scanned that often. So no row costs more
 * than twice what it would cost if all queries were known in advance, and the time grows smoothly
 * with the number of parts.
 */
#include "core/join/join.h"
#include "core/nearest/box_tree.h"
#include "core/primitive/dispatch.h"

#include <pthread.h>
#include <string.h>

/*
 * Costs in box comparisons: for each part of a tree to be built, and for each part searched in a
 * tree
 */
#define TREE_COST ((uint64_t) RB_SIZE(24, 2))
#define WALK_COST ((uint64_t) RB_SIZE(64, 2))
/* Costs in box comparisons: for each part in a join, and for a join of any size */
#define PART_COST ((uint64_t) RB_SIZE(24, 2))
#define JOIN_COST ((uint64_t) RB_SIZE(400000, 60))
/* Number of box comparisons between checks for cancellation */
#define CHECK_INTERVAL_BOXES 4096
/* Number of exact tests between checks for cancellation; an exact distance may take about 50 us */
#define CHECK_INTERVAL 64

typedef struct box
{
	double lo[3];
	double hi[3];
} box;

typedef struct two
{
	rb_context *ctx;
	const rb_job *job;
	rb_exact_env env;
	bool flat;   /* True if both kinds are two-dimensional */
	double most; /* Square of the largest gap between boxes whose parts need to be tested */
	bool any;
	uint64_t payload;
	uint32_t asked;
	pthread_mutex_t lock; /* Protects the result while a join delivers pairs */
} two;

/* Returns the coordinates of a part of a single row. */
static const double *
coords_of_row_part(const rb_set *set, uint32_t part)
{
	return set->coords + (size_t) part * (size_t) rb_kind_width(set->kind);
}

/* Computes the bounding box of a part of a single row. */
static box
box_of_row_part(const rb_set *set, uint32_t part)
{
	box b;

	rb_kind_box(set->kind, set->coords, part, b.lo, b.hi);
	return b;
}

/* Returns the squared distance of two boxes, or 0 if they overlap. */
static double
gap_of_part_boxes(const two *t, const box *a, const box *b)
{
	double square = 0;

	for (int k = 0; k < (t->flat ? 2 : 3); k++)
	{
		double x = a->lo[k] - b->hi[k], y = b->lo[k] - a->hi[k];

		x = x > y ? x : y;
		square += x > 0 ? x * x : 0;
	}
	return square;
}

/* Returns true if the boxes of two parts prove that the parts need no exact test. */
static bool
are_part_boxes_apart(const two *t, const box *a, const box *b)
{
	if (t->most == 0)
		return !rb_boxes_overlap(a->lo, a->hi, b->lo, b->hi);
	return gap_of_part_boxes(t, a, b) > t->most;
}

/* Returns true if no other pair of parts can change the result. */
static bool
is_pair_result_final(const two *t)
{
	switch (t->job->predicate)
	{
		case RB_CONTACT:
			return RB_PAYLOAD_DIMENSION(t->payload) == 2 && RB_PAYLOAD_CROSSES(t->payload);
		case RB_NEAREST:
			return t->any && t->payload == 0;
		default:
			return t->any;
	}
}

/* Adds the payload of a contact of two parts to the result. */
static void
add_contact_to_result(two *t, unsigned payload)
{
	unsigned dimension = RB_PAYLOAD_DIMENSION(t->payload);

	if (RB_PAYLOAD_DIMENSION(payload) > dimension)
		dimension = RB_PAYLOAD_DIMENSION(payload);
	t->payload = RB_PAYLOAD(
		RB_CONTACT_OF(dimension, RB_PAYLOAD_CROSSES(payload) | RB_PAYLOAD_CROSSES(t->payload)));
	t->any = true;
}

/* Adds the contact of two parts to the result. */
static void
test_contact_of_parts(two *t, uint32_t red, uint32_t blue)
{
	const int answer = rb_pair_decide(&t->env, RB_CONTACT, t->job->red->kind, t->job->blue->kind,
									  coords_of_row_part(t->job->red, red),
									  coords_of_row_part(t->job->blue, blue));

	if (RB_IS_YES(answer))
		add_contact_to_result(t, RB_PAYLOAD(answer));
}

/*
 * Lowers the least distance to that of two parts, if it is less. Rounding preserves the order of
 * distances.
 */
static void
test_distance_of_parts(two *t, uint32_t red, uint32_t blue)
{
	double distance, least;

	rb_pair_distance(&t->env, t->job->red->kind, t->job->blue->kind,
					 coords_of_row_part(t->job->red, red), coords_of_row_part(t->job->blue, blue),
					 &distance);
	memcpy(&least, &t->payload, sizeof least);
	if (t->any && distance >= least)
		return;
	memcpy(&t->payload, &distance, sizeof t->payload);
	t->any = true;
	t->most = rb_tree_reach(distance);
}

/* Tests one pair of parts. Returns false if the join must stop. */
static bool
test_pair_of_parts(two *t, uint32_t red, uint32_t blue)
{
	const rb_predicate predicate = t->job->predicate;

	if (predicate == RB_CONTACT)
		test_contact_of_parts(t, red, blue);
	else if (predicate == RB_NEAREST)
		test_distance_of_parts(t, red, blue);
	else
		t->any = RB_IS_YES(rb_pair_decide(&t->env, predicate, t->job->red->kind, t->job->blue->kind,
										  coords_of_row_part(t->job->red, red),
										  coords_of_row_part(t->job->blue, blue)));
	return ++t->asked % CHECK_INTERVAL != 0 || !rb_should_stop(t->ctx);
}

/* ---- each with each ---- */

/* Tests the pair with the smallest gap first, so that its distance rules out most other pairs. */
static bool
test_pair_of_least_gap(two *t)
{
	const rb_set *red = t->job->red, *blue = t->job->blue;
	uint32_t least_red = 0, least_blue = 0;
	uint64_t looks = 0;
	double least = HUGE_VAL;

	for (uint32_t i = 0; i < red->nparts && least > 0; i++)
	{
		const box a = box_of_row_part(red, i);

		for (uint32_t k = 0; k < blue->nparts && least > 0; k++)
		{
			const box b = box_of_row_part(blue, k);
			const double square = gap_of_part_boxes(t, &a, &b);

			if (++looks % CHECK_INTERVAL_BOXES == 0 && rb_should_stop(t->ctx))
				return false;
			if (square >= least)
				continue;
			least = square;
			least_red = i;
			least_blue = k;
		}
	}
	return test_pair_of_parts(t, least_red, least_blue);
}

/* Tests each part of red with each part of blue until the result is known. */
static rb_status
test_each_part_with_each(two *t)
{
	const rb_set *red = t->job->red, *blue = t->job->blue;
	uint64_t looks = 0;

	if (t->job->predicate == RB_NEAREST && !test_pair_of_least_gap(t))
		return RB_STOPPED;
	for (uint32_t i = 0; i < red->nparts && !is_pair_result_final(t); i++)
	{
		const box a = box_of_row_part(red, i);

		for (uint32_t k = 0; k < blue->nparts && !is_pair_result_final(t); k++)
		{
			const box b = box_of_row_part(blue, k);

			if (++looks % CHECK_INTERVAL_BOXES == 0 && rb_should_stop(t->ctx))
				return RB_STOPPED;
			if (!are_part_boxes_apart(t, &a, &b) && !test_pair_of_parts(t, i, k))
				return RB_STOPPED;
		}
	}
	return RB_OK;
}

/* ---- tree walk ---- */

/*
 * Returns the power of two that scales the largest coordinate into [1/2, 1), as far as the exponent
 * range allows.
 */
static double
scale_of_row_tree(const rb_set *set)
{
	const size_t n = (size_t) set->nparts * (size_t) rb_kind_width(set->kind);
	double largest = 0;

	for (size_t i = 0; i < n; i++)
	{
		const double x = fabs(set->coords[i]);

		largest = x > largest ? x : largest;
	}
	return rb_tree_scale(largest);
}

/* Builds the box tree of all parts of a set. */
static rb_status
build_tree_of_row(rb_context *ctx, const rb_set *set, rb_tree **made)
{
	rb_tree *tree = NULL;
	rb_thread *me;
	rb_status status;

	RB_TRY(RB_ALLOCATE(ctx, tree, 1));
	memset(tree, 0, sizeof *tree);
	status = rb_team_open(ctx, ctx->threads, &me);
	if (status == RB_OK)
	{
		status = rb_tree_build(me, ctx, tree, set, 0, set->nparts, scale_of_row_tree(set), NULL,
							   UINT32_MAX);
		rb_team_close(&me);
		RB_FREE(ctx->memory, tree->centre);
	}
	if (status == RB_OK)
	{
		*made = tree;
		return RB_OK;
	}
	rb_tree_free(ctx, tree);
	RB_FREE(ctx->memory, tree);
	return status;
}

/*
 * Searches the tree of one side for each part of the other side. The scale of the tree is that of
 * its own side. Coordinates of the other side that are too large for it become infinite, which
 * still places them out of reach.
 */
static rb_status
walk_tree_for_parts(two *t, const rb_tree *tree, bool red)
{
	const rb_set *other = red ? t->job->blue : t->job->red;
	const double distance = t->job->distance;

	for (uint32_t i = 0; i < other->nparts && !is_pair_result_final(t); i++)
	{
		uint32_t part;
		double lo[3], hi[3], square, nearest;
		rb_walk w;

		rb_tree_box(other, i, tree->scale, lo, hi);
		rb_walk_begin(&w, tree, NULL, lo, hi);
		for (;;)
		{
			double reach = 0;

			memcpy(&nearest, &t->payload, sizeof nearest);
			if (t->job->predicate == RB_NEAREST)
				reach = t->any ? rb_tree_reach(nearest * tree->scale) : INFINITY;
			else if (t->job->predicate == RB_WITHIN)
				reach = rb_tree_reach(distance * tree->scale);
			if (is_pair_result_final(t) || !rb_walk_next(&w, reach, UINT32_MAX, &part, &square))
				break;
			if (!(red ? test_pair_of_parts(t, part, i) : test_pair_of_parts(t, i, part)))
				return RB_STOPPED;
		}
		if (rb_should_stop(t->ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* ---- join ---- */

/* Adds pairs of parts from the backend to the result, and ends the join when it is known. */
static rb_status
add_pairs_to_result(void *user, const rb_pair *pairs, size_t n)
{
	two *t = user;
	bool known;

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < n; i++)
		if (t->job->predicate == RB_CONTACT)
			add_contact_to_result(t, rb_pair_payload(pairs[i]));
	t->any |= n > 0;
	known = is_pair_result_final(t);
	pthread_mutex_unlock(&t->lock);
	return known || rb_should_stop(t->ctx) ? RB_STOPPED : RB_OK;
}

/* Receives at most one pair of rows. */
static rb_status
receive_nearest_row(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	two *t = user;

	(void) rows;
	if (n == 0)
		return RB_OK;
	t->any = true;
	t->payload = payload[0];
	return RB_OK;
}

/* Joins the parts of both rows on the CPU. */
static rb_status
join_parts_of_two_rows(two *t)
{
	const rb_sink sink = {.put = add_pairs_to_result, .user = t};
	const rb_row_sink row_sink = {.put = receive_nearest_row, .user = t};
	rb_status status;

	if (t->job->predicate == RB_NEAREST)
		return rb_compose_nearest(t->ctx, &rb_backend_cpu, t->job, &row_sink);
	pthread_mutex_init(&t->lock, NULL);
	status = rb_backend_cpu.join(t->ctx, t->job, &sink);
	pthread_mutex_destroy(&t->lock);
	/* The result is complete, so the join was stopped on purpose. */
	return status == RB_STOPPED && is_pair_result_final(t) ? RB_OK : status;
}

/* ---- choice of the method ---- */

/*
 * Estimates the cost of walking the box tree of one row for the parts of the other. If the tree is
 * not built yet, adds the cost to build it, less the box comparisons spent on the row so far.
 */
static uint64_t
cost_of_tree_walk(const rb_set *set, const rb_row_cache *known, uint64_t others)
{
	const uint64_t made = known->tree != NULL ? 0 : TREE_COST * set->nparts;

	return others * WALK_COST + (made > known->looks ? made - known->looks : 0);
}

/* Walks the cached tree of one row for each part of the other. */
static rb_status
walk_cached_tree_of_row(two *t, const rb_set *set, rb_row_cache *known, bool red)
{
	rb_status status = RB_OK;

	if (known->tree == NULL)
		status = build_tree_of_row(t->ctx, set, &known->tree);
	if (status != RB_OK)
		return status;
	known->tree->ctx = t->ctx;
	known->tree->set = set;
	return walk_tree_for_parts(t, known->tree, red);
}

rb_status
rb_row_pair_test(rb_context *ctx, const rb_job *job, rb_row_cache *red, rb_row_cache *blue,
				 bool *any, uint64_t *payload)
{
	const uint64_t nred = job->red->nparts, nblue = job->blue->nparts, scan = nred * nblue;
	const bool composed = job->predicate == RB_NEAREST;
	const uint64_t by_red = cost_of_tree_walk(job->red, red, nblue);
	const uint64_t by_blue = cost_of_tree_walk(job->blue, blue, nred);
	const uint64_t least = by_red < by_blue ? by_red : by_blue;
	two t = {.ctx = ctx,
			 .job = job,
			 .env = {.filters = ctx->filters, .exact = true, .distance = job->distance}};
	uint64_t joined = JOIN_COST + (composed ? TREE_COST : PART_COST) * (nred + nblue);
	rb_status status;

	t.flat = rb_kind_dims(job->red->kind) == 2;
	t.most = job->predicate == RB_WITHIN    ? rb_tree_reach(job->distance)
			 : job->predicate == RB_NEAREST ? INFINITY
											: 0;
	if (composed && !rb_composed_exists(job->predicate, job->red->kind, job->blue->kind))
		joined = UINT64_MAX;
	if (scan <= least && scan <= joined)
	{
		red->looks += scan;
		blue->looks += scan;
		status = test_each_part_with_each(&t);
	}
	else if (joined < least)
		status = join_parts_of_two_rows(&t);
	else if (by_red < by_blue)
		status = walk_cached_tree_of_row(&t, job->red, red, true);
	else
		status = walk_cached_tree_of_row(&t, job->blue, blue, false);
	*any = t.any;
	*payload = t.payload;
	return status;
}

void
rb_row_cache_free(rb_memory *memory, rb_row_cache *known)
{
	if (known->tree != NULL)
	{
		RB_FREE(memory, known->tree->part);
		RB_FREE(memory, known->tree->node);
		RB_FREE(memory, known->tree->centre);
	}
	RB_FREE(memory, known->tree);
	known->looks = 0;
}
