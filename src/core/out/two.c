/*
 * two.c
 *	  Two rows alone: are they a pair?
 *
 * What a join asks of all rows of two tables is asked here of two of them, thousands of times in a statement.  To
 * begin a join costs as much as to look at some thousand pairs of boxes; so few parts are compared each with each, by
 * their boxes first, and only many are joined.
 */
#include "core/base/rb_base.h"
#include "core/near/rb_tree.h"
#include "core/shape/rb_pair.h"

#include <string.h>

/* pairs of parts that are compared each with each */
#define FEW ((uint64_t) RB_SIZE(4096, 6))
/* pairs of parts that are decided until should_stop is asked: exact distances may take some 50 us */
#define QUIET 64
#define WAIT 10 /* ms */

typedef struct box
{
	double lo[3];
	double hi[3];
} box;

typedef struct two
{
	const rb_job *job;
	rb_exact_env env;
	bool flat;   /* both kinds are of the plane */
	double most; /* square of the gap between boxes, above which there is nothing to ask */
	bool any;
	uint64_t told;
} two;

static const double *
part_of(const rb_set *set, uint32_t part)
{
	return set->coords + (size_t) part * (size_t) rb_kind_width(set->kind);
}

static box
box_of(const rb_set *set, uint32_t part)
{
	box b;

	rb_kind_box(set->kind, set->coords, part, b.lo, b.hi);
	return b;
}

/* of two that overlap 0 */
static double
gap(const two *t, const box *a, const box *b)
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

static bool
apart(const two *t, const box *a, const box *b)
{
	if (t->most == 0)
		return !rb_boxes_overlap(a->lo, a->hi, b->lo, b->hi);
	return gap(t, a, b) > t->most;
}

/* is there nothing that another pair of parts could tell? */
static bool
is_known(const two *t)
{
	switch (t->job->predicate)
	{
		case RB_CONTACT:
			return RB_TOLD_DIMENSION(t->told) == 2 && RB_TOLD_CROSSES(t->told);
		case RB_NEAREST:
			return t->any && t->told == 0;
		default:
			return t->any;
	}
}

static void
ask_contact(two *t, uint32_t red, uint32_t blue)
{
	const int answer = rb_pair_decide(&t->env, RB_CONTACT, t->job->red->kind, t->job->blue->kind,
									  part_of(t->job->red, red), part_of(t->job->blue, blue));
	const unsigned told = RB_TOLD(answer);
	unsigned dimension = RB_TOLD_DIMENSION(t->told);

	if (!RB_IS_YES(answer))
		return;
	if (RB_TOLD_DIMENSION(told) > dimension)
		dimension = RB_TOLD_DIMENSION(told);
	t->told = RB_TOLD(RB_CONTACT_OF(dimension, RB_TOLD_CROSSES(told) | RB_TOLD_CROSSES(t->told)));
	t->any = true;
}

/* rounding keeps the order of distances */
static void
ask_distance(two *t, uint32_t red, uint32_t blue)
{
	double distance, least;

	rb_pair_distance(&t->env, t->job->red->kind, t->job->blue->kind, part_of(t->job->red, red),
					 part_of(t->job->blue, blue), &distance);
	memcpy(&least, &t->told, sizeof least);
	if (t->any && distance >= least)
		return;
	memcpy(&t->told, &distance, sizeof t->told);
	t->any = true;
	t->most = rb_tree_reach(distance);
}

static void
ask(two *t, uint32_t red, uint32_t blue)
{
	const rb_predicate predicate = t->job->predicate;

	if (predicate == RB_CONTACT)
		ask_contact(t, red, blue);
	else if (predicate == RB_NEAREST)
		ask_distance(t, red, blue);
	else
		t->any = RB_IS_YES(rb_pair_decide(&t->env, predicate, t->job->red->kind, t->job->blue->kind,
										  part_of(t->job->red, red), part_of(t->job->blue, blue)));
}

static rb_status
each_with_each(two *t, bool (*should_stop)(void))
{
	const rb_set *red = t->job->red, *blue = t->job->blue;
	uint32_t asked = 0;

	for (uint32_t i = 0; i < red->nparts && !is_known(t); i++)
	{
		const box a = box_of(red, i);

		for (uint32_t k = 0; k < blue->nparts && !is_known(t); k++)
		{
			const box b = box_of(blue, k);

			if (apart(t, &a, &b))
				continue;
			ask(t, i, k);
			if (++asked % QUIET == 0 && should_stop != NULL && should_stop())
				return RB_STOPPED;
		}
	}
	return RB_OK;
}

static rb_status
join(rb_context *ctx, two *t, bool (*should_stop)(void), rb_stream **stream)
{
	rb_block block;
	rb_status status = rb_stream_open(ctx, &rb_backend_cpu, t->job, stream);

	while (status == RB_OK && !t->any)
	{
		status = rb_stream_next(*stream, WAIT, &block);
		if (status == RB_OK && block.n > 0)
		{
			t->any = true;
			t->told = block.told != NULL ? block.told[0] : 0;
		}
		if (should_stop != NULL && should_stop())
			status = RB_STOPPED;
	}
	rb_stream_close(*stream);
	*stream = NULL;
	return status == RB_END ? RB_OK : status;
}

rb_status
rb_two_ask(rb_context *ctx, const rb_job *job, bool (*should_stop)(void), rb_stream **stream,
		   bool *any, uint64_t *told)
{
	two t = {.job = job,
			 .env = {.filters = ctx->filters, .exact = true, .distance = job->distance}};
	rb_status status;

	*stream = NULL;
	t.flat = rb_kind_dims(job->red->kind) == 2;
	t.most = job->predicate == RB_WITHIN    ? rb_tree_reach(job->distance)
			 : job->predicate == RB_NEAREST ? INFINITY
											: 0;
	if ((uint64_t) job->red->nparts * job->blue->nparts <= FEW)
		status = each_with_each(&t, should_stop);
	else
		status = join(ctx, &t, should_stop, stream);
	*any = t.any;
	*told = t.told;
	return status;
}
