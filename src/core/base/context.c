/*
 * context.c
 *	  Implements the context of a call: names of statuses and stages, the first error.
 */
#include "core/base/redblue.h"

#include <pthread.h>
#include <string.h>

const char *
rb_status_text(rb_status status)
{
	switch (status)
	{
		case RB_OK:
			return "success";
		case RB_END:
			return "end of stream";
		case RB_STOPPED:
			return "stopped on request";
		case RB_OVER_BUDGET:
			return "memory limit exceeded";
		case RB_OUT_OF_MEMORY:
			return "out of memory";
		case RB_NO_THREAD:
			return "could not create a thread";
		case RB_UNSUPPORTED:
			return "this join is not supported for these kinds of input";
		case RB_TOO_MANY_OBJECTS:
			return "too many objects";
		case RB_BAD_GEOMETRY:
			return "invalid geometry";
		case RB_NO_DEVICE:
			return "no usable device";
		case RB_DEVICE_FULL:
			return "not enough device memory";
		case RB_DEVICE_FAILED:
			return "device call failed";
		case RB_BAD_SOLID:
			return "a row is not a valid solid";
		case RB_BAD_POLYGON:
			return "a row is not a valid polygon";
		case RB_BAD_PLANE:
			return "a row has no plane";
		case RB_BAD_PLC:
			return "could not build a mesh from the input";
		case RB_BAD_FILE:
			return "could not read a temporary file";
		case RB_BAD_REPLY:
			return "the background worker returned an inconsistent result";
		case RB_GONE:
			return "the process that ran the join has exited";
	}
	return "unknown status";
}

const char *
rb_stage_name(rb_stage stage)
{
	static const char *const name[] = {
		"read",          "upload",      "grid",         "candidates", "float filter",
		"double filter", "exact",       "download",     "emit",       "mesh points",
		"mesh segments", "mesh facets", "mesh regions", "mesh refine"};

	return (size_t) stage < sizeof name / sizeof *name ? name[stage] : "?";
}

void
rb_stats_add(rb_stats *sum, const rb_stats *more)
{
	rb_stats one = *more;

	for (int i = 0; i < RB_STAGES; i++)
	{
		one.stage[i].count += sum->stage[i].count;
		one.stage[i].ms += sum->stage[i].ms;
	}
	one.cells += sum->cells;
	one.box_tests += sum->box_tests;
	one.redundant_tests += sum->redundant_tests;
	one.bad_solids += sum->bad_solids;
	for (int side = 0; side < 2; side++)
		for (int fault = 0; fault < RB_FAULTS; fault++)
			one.bad_because[side][fault] += sum->bad_because[side][fault];
	one.hits += sum->hits;
	one.record_bytes += sum->record_bytes;
	one.exact_integer += sum->exact_integer;
	one.exact_expansion += sum->exact_expansion;
	one.exact_gmp += sum->exact_gmp;
	for (int i = 0; i <= RB_MAX_DEVICES; i++)
	{
		one.card[i].shares += sum->card[i].shares;
		one.card[i].ms += sum->card[i].ms;
		one.card[i].hits += sum->card[i].hits;
	}
	*sum = one;
}

void
rb_context_init(rb_context *ctx, rb_memory *memory)
{
	memset(ctx, 0, sizeof(*ctx));
	ctx->memory = memory;
	ctx->threads = 1;
	ctx->filters = RB_FILTER_ALL;
}

void
rb_context_stop(rb_context *ctx)
{
	rb_or(&ctx->stop, RB_STOP_REQUESTED);
}

static pthread_mutex_t error_lock = PTHREAD_MUTEX_INITIALIZER;

rb_status
rb_fail(rb_context *ctx, rb_status status, uint64_t need, uint64_t limit, const char *text)
{
	pthread_mutex_lock(&error_lock);
	if (ctx->error.status == RB_OK)
	{
		ctx->error.need = need;
		ctx->error.limit = limit;
		if (text == NULL)
			text = "";
		strncpy(ctx->error.text, text, sizeof(ctx->error.text) - 1);
		ctx->error.text[sizeof(ctx->error.text) - 1] = '\0';
		ctx->error.status = status;
	}
	rb_or(&ctx->stop, RB_STOP_FAILED);
	pthread_mutex_unlock(&error_lock);
	return status;
}

rb_status
rb_why_stopped(const rb_context *ctx)
{
	rb_status status;

	pthread_mutex_lock(&error_lock);
	status = ctx->error.status;
	pthread_mutex_unlock(&error_lock);
	return status != RB_OK ? status : RB_STOPPED;
}

void
rb_forget_failure(rb_context *ctx)
{
	pthread_mutex_lock(&error_lock);
	memset(&ctx->error, 0, sizeof(ctx->error));
	rb_and(&ctx->stop, ~RB_STOP_FAILED);
	pthread_mutex_unlock(&error_lock);
}
