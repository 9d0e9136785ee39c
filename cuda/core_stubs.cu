/*
 * core_stubs.cu
 *	  Defines the core's functions under their own names; each forwards to the table of host
 *	  functions that this plugin was opened with (plugin.h).
 *
 * The other files thus call the core as if it were linked in, and there is only one copy of the
 * core in the process.
 */
#include "cuda.cuh"
#include "core/base/parallel.h"
#include "core/exact/gmp_exact.h"

static const rb_services *core;

void
rb_services_use(const rb_services *services)
{
	core = services;
}

/* ---- redblue.h ---- */

rb_status
rb_fail(rb_context *ctx, rb_status status, uint64_t need, uint64_t limit, const char *text)
{
	return core->fail(ctx, status, need, limit, text);
}

uint64_t
rb_memory_limit(const rb_memory *memory)
{
	return core->memory_limit(memory);
}

rb_status
rb_resize(rb_memory *memory, void **block, size_t bytes, rb_error *error)
{
	return core->resize(memory, block, bytes, error);
}

void
rb_free(rb_memory *memory, void **block)
{
	core->free(memory, block);
}

rb_status
rb_set_materialize(rb_context *ctx, const rb_set *set)
{
	return core->set_compose(ctx, set);
}

/* ---- parallel.h ---- */

rb_status
rb_team_open(rb_context *ctx, int want, rb_thread **me)
{
	return core->team_open(ctx, want, me);
}

void
rb_team_close(rb_thread **me)
{
	core->team_close(me);
}

rb_status
rb_loop(rb_thread *me, uint64_t n, uint64_t grain, rb_work work, void *arg)
{
	return core->loop(me, n, grain, work, arg);
}

int
rb_thread_start(pthread_t *thread, size_t stack, void *(*body)(void *), void *arg)
{
	return core->thread_start(thread, stack, body, arg);
}

/* ---- gmp_exact.h ---- */

int
rb_gmp_orient3d(const double *a, const double *b, const double *c, const double *d)
{
	return core->gmp_orient3d(a, b, c, d);
}

int
rb_gmp_insphere(const double *a, const double *b, const double *c, const double *d, const double *e)
{
	return core->gmp_insphere(a, b, c, d, e);
}

/* ---- join.h ---- */

rb_status
rb_decide_pairs(rb_context *ctx, const rb_job *job, rb_pair *pairs, size_t n, size_t *kept)
{
	return core->decide_pairs(ctx, job, pairs, n, kept);
}
