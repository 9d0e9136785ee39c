/*
 * gmp_fallback.c
 *	  Decides pairs that a device left undecided because their exponents exceed its exact
 *	  arithmetic, with GMP on all cores.
 */
#include "core/join/join.h"
#include "core/primitive/dispatch.h"
#include "core/base/parallel.h"

#define BLOCK 1024 /* pairs that a thread processes at a time */

typedef struct rb_decision
{
	rb_context *ctx;
	const rb_job *job;
	rb_pair *pairs;
	uint64_t integer;
	uint64_t expansion;
	uint64_t gmp;
} rb_decision;

/*
 * Decides a block of pairs. If the predicate does not hold, the red number of a pair is set to a
 * value with all bits set, which no pair with a payload has, and rb_decide_pairs removes the pair.
 */
static void
decide_block(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_decision *d = arg;
	const rb_set *red = d->job->red, *blue = d->job->blue != NULL ? d->job->blue : red;
	const size_t red_width = rb_kind_width(red->kind), blue_width = rb_kind_width(blue->kind);
	rb_exact_env env = {.filters = d->ctx->filters, .exact = true, .distance = d->job->distance};

	(void) me;
	for (uint64_t i = from; i < to && !rb_should_stop(d->ctx); i++)
	{
		rb_pair *p = &d->pairs[i];
		const int answer =
			rb_pair_decide(&env, d->job->predicate, red->kind, blue->kind,
						   red->coords + p->red * red_width, blue->coords + p->blue * blue_width);

		if (RB_IS_YES(answer))
			p->red |= (uint32_t) RB_PAYLOAD(answer) << RB_PAYLOAD_SHIFT;
		else
			p->red = UINT32_MAX;
	}
	rb_add(&d->integer, env.integer);
	rb_add(&d->expansion, env.expansion);
	rb_add(&d->gmp, env.gmp);
}

rb_status
rb_decide_pairs(rb_context *ctx, const rb_job *job, rb_pair *pairs, size_t n, size_t *kept)
{
	rb_decision d = {ctx, job, pairs, 0, 0, 0};
	size_t blocks = (n + BLOCK - 1) / BLOCK;
	size_t k = 0;
	rb_thread *me;
	rb_status status;

	/* The host's coordinates may not have been materialized yet. */
	status = rb_set_materialize(ctx, job->red);
	if (status == RB_OK && job->blue != NULL)
		status = rb_set_materialize(ctx, job->blue);
	if (status != RB_OK)
		return status;
	/* Use at most one thread per block. */
	RB_TRY(rb_team_open(ctx, blocks < (size_t) ctx->threads ? (int) blocks : ctx->threads, &me));
	status = rb_loop(me, n, BLOCK, decide_block, &d);
	rb_team_close(&me);
	if (status != RB_OK)
		return status;
	/* Compact the remaining pairs, in order. */
	for (size_t i = 0; i < n; i++)
		if (pairs[i].red != UINT32_MAX)
			pairs[k++] = pairs[i];
	ctx->stats.exact_integer += d.integer;
	ctx->stats.exact_expansion += d.expansion;
	ctx->stats.exact_gmp += d.gmp;
	*kept = k;
	return RB_OK;
}
