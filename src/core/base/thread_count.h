/*
 * thread_count.h
 *	  Computes how many threads a loop can use.
 */
#ifndef RB_THREAD_COUNT_H
#define RB_THREAD_COUNT_H

#include "core/base/redblue.h"

/*
 * Returns the number of threads that have work in a loop over n in pieces of `grain`, at most those
 * of the context. Starting a thread takes longer than many small loops.
 */
static inline int
rb_threads_for(const rb_context *ctx, uint64_t n, uint64_t grain)
{
	const uint64_t pieces = n / grain + (n % grain != 0);

	return ctx->threads > 1 && pieces < (uint64_t) ctx->threads ? (int) pieces : ctx->threads;
}

/*
 * Runs a join that is a step of a larger operation, with no more threads than it can use. `part` is
 * the number of parts that justify one thread.
 */
static inline rb_status
rb_join_step(rb_context *ctx, const rb_backend *backend, const rb_job *job, const rb_sink *sink,
			 uint32_t part)
{
	const uint64_t parts =
		(uint64_t) job->red->nparts + (job->blue != NULL ? job->blue->nparts : 0);
	const int threads = ctx->threads;
	rb_status status;

	ctx->threads = rb_threads_for(ctx, parts, part);
	status = backend->join(ctx, job, sink);
	ctx->threads = threads;
	return status;
}

#endif /* RB_THREAD_COUNT_H */
