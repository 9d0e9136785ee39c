/*
 * decide.c
 *	  Pairs that a device had to leave: their exponents are beyond its exact
 *	  arithmetic.  Here they are decided with GMP, on all cores.
 */
#include "rb_core.h"
#include "rb_pair.h"

#define BLOCK 1024 /* pairs that a thread takes at once */

rb_status
rb_decide_pairs(rb_context *ctx, const rb_objects *red, const rb_objects *blue, rb_pair *pairs,
				size_t n, size_t *kept)
{
	uint64_t integer = 0, expansion = 0, gmp = 0;
	const size_t red_width = rb_kind_width(red->kind), blue_width = rb_kind_width(blue->kind);
	size_t k = 0;
	int threads;
	rb_status status = rb_count_threads(ctx, &threads);

	if (status != RB_OK)
		return status;

		/* blocks are emptied in place; they are moved together afterwards, in order */
#pragma omp parallel for schedule(dynamic) num_threads(threads) \
	reduction(+ : integer, expansion, gmp)
	for (size_t from = 0; from < n; from += BLOCK)
	{
		size_t to = n - from < BLOCK ? n : from + BLOCK;
		rb_exact_env env = {.filters = ctx->filters, .exact = true};

		for (size_t i = from; i < to && !rb_should_stop(ctx); i++)
		{
			if (rb_pair_meet(&env, red->kind, blue->kind, red->coords + pairs[i].red * red_width,
							 blue->coords + pairs[i].blue * blue_width) != 1)
				pairs[i].red = UINT32_MAX;
		}
		integer += env.integer;
		expansion += env.expansion;
		gmp += env.gmp;
	}
	if (rb_should_stop(ctx))
		return RB_STOPPED;
	for (size_t i = 0; i < n; i++)
		if (pairs[i].red != UINT32_MAX)
			pairs[k++] = pairs[i];
	ctx->stats.exact_integer += integer;
	ctx->stats.exact_expansion += expansion;
	ctx->stats.exact_gmp += gmp;
	*kept = k;
	return RB_OK;
}
