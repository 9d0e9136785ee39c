/*
 * backend.cu
 *	  Implements the CUDA backend: runs one join on the device.
 *
 * This plugin is not linked against the driver. If there is no driver, the probe reports that and
 * nothing else happens (device.cu).
 *
 * If the input exceeds the memory that a join may use, it is joined block by block: every block of
 * red with every block of blue. Each pair of blocks and its grid fit on the device. Each pair of
 * objects lies in exactly one pair of blocks, so it is found only once.
 *
 * If other sessions take memory that was expected to be free, the join restarts with half the
 * budget, as long as no pair was sent to the sink. It waits for memory held by others only until
 * one deadline for the whole join, not at every allocation. After an error that persists in the
 * context (a fault in a kernel, a lost device) this process no longer uses the device.
 */
#include "cuda.cuh"

#include <stdio.h>
#include <string.h>

#define WAIT_MS 2000.0 /* Total wait for memory that other sessions hold, in ms */
#define BELIEVED_MS 20 /* Milliseconds for which a measurement of free memory stays valid */
#define LEAST_BUDGET ((uint64_t) 24 << 20)
/* Approximate size of an object in bytes: coordinates, row, cells and incidences */
#define OBJECT_BYTES 128

/* ---- one join ---- */

/* Uploads parts [from, from + n) of a side to the device. */
static rb_status
upload_side(rb_device_run *run, const rb_set *o, uint32_t from, uint32_t n, bool rows,
			rb_device_set *side)
{
	const size_t width = rb_kind_width(o->kind);
	double *coords;
	const double *copied = NULL;
	uint32_t *row_of;

	memset(side, 0, sizeof(*side));
	side->n = n;
	side->base = from;
	side->kind = o->kind;
	side->pad = rb_pad_of(run->job->predicate, run->job->distance);
	if (from == 0 && n == o->nparts)
		RB_TRY(rb_cached_coords(run, o, &copied, &side->bounds));
	side->coords = copied;
	if (copied == NULL)
	{
		RB_TRY(rb_set_materialize(run->ctx, o));
		RB_TRY(rb_device_alloc(run, (void **) &coords, n * width * sizeof(double)));
		side->coords = coords;
		RB_TRY(rb_upload(run, coords, o->coords + from * width, n * width * sizeof(double)));
	}
	if (rows && o->row_of != NULL)
	{
		RB_TRY(rb_device_alloc(run, (void **) &row_of, n * sizeof(uint32_t)));
		side->row_of = row_of;
		RB_TRY(rb_upload(run, row_of, o->row_of + from, n * sizeof(uint32_t)));
	}
	return RB_OK;
}

/*
 * Frees what upload_side allocated. Coordinates of a cached copy are not a block of this join, so
 * they stay.
 */
static void
free_uploaded_side(rb_device_run *run, rb_device_set *side)
{
	rb_device_free(run, (void **) &side->coords);
	rb_device_free(run, (void **) &side->row_of);
}

/*
 * Joins all blocks of red with all blocks of blue; in a self join, each unordered pair of blocks.
 */
static rb_status
join_blocks_of_sides(rb_device_run *run)
{
	const rb_set *red = run->job->red;
	const bool self = run->job->blue == NULL;
	const rb_set *blue = self ? red : run->job->blue;
	const uint64_t fit = run->budget / 4 * 3 / OBJECT_BYTES;
	uint64_t nred = red->nparts, nblue = blue->nparts;
	rb_device_set side[2];

	if (self ? nred > fit : nred + nblue > fit)
	{
		/*
		 * Each side gets half of the capacity, but a small side leaves the rest of its half to the
		 * other.
		 */
		nred = nred < fit / 2 ? nred : self || nblue > fit / 2 ? fit / 2 : fit - nblue;
		nblue = self ? nred : nblue < fit - nred ? nblue : fit - nred;
	}
	if (nred == 0 || nblue == 0)
		return RB_DEVICE_FULL;
	RB_TRY(rb_words_alloc(run));
	for (uint64_t i = 0; i < red->nparts; i += nred)
	{
		uint32_t ni = (uint32_t) (red->nparts - i < nred ? red->nparts - i : nred);

		RB_TRY(rb_mark(run, -1));
		RB_TRY(upload_side(run, red, (uint32_t) i, ni, self, &side[0]));
		for (uint64_t k = self ? i : 0; k < blue->nparts; k += nblue)
		{
			uint32_t nk = (uint32_t) (blue->nparts - k < nblue ? blue->nparts - k : nblue);
			const bool same = self && k == i;

			if (!same)
				RB_TRY(upload_side(run, blue, (uint32_t) k, nk, self, &side[1]));
			RB_TRY(rb_mark(run, RB_STAGE_UPLOAD));
			RB_TRY(rb_join_sides(run, side, same));
			RB_TRY(rb_mark(run, -1));
			if (!same)
				free_uploaded_side(run, &side[1]);
		}
		free_uploaded_side(run, &side[0]);
	}
	RB_TRY(rb_sync(run));
	return rb_words_send(run);
}

/*
 * Stops running kernels after a failure, waits for them, and frees all memory of the join. Without
 * a failure all work has already ended.
 */
static void
end_device_run(rb_device_run *run, bool failed)
{
	if (run->queue == NULL)
		return;
	if (failed || run->stopping)
	{
		rb_stop_kernels(run);
		rb_queue_idle(run);
	}
	run->nmarks = 0;
	rb_copies_give(run, failed);
	rb_device_free_all(run);
	cudaStreamSynchronize(run->queue->compute);
}

/*
 * Joins within a budget, and again within half of it whenever memory runs out, as long as nothing
 * has been sent to the sink.
 */
static rb_status
join_within_budget(rb_device_run *run, uint64_t budget)
{
	rb_context *ctx = run->ctx;
	const rb_stats stats = ctx->stats;
	rb_status status;

	for (;; budget /= 2)
	{
		ctx->stats = stats;
		snprintf(ctx->stats.device, sizeof(ctx->stats.device), "%s", run->device->text);
		run->budget = budget - budget / 16;
		run->top = true;
		status = join_blocks_of_sides(run);
		end_device_run(run, status != RB_OK);
		if (status != RB_OK && !run->emitted)
			ctx->stats.hits = 0; /* Discard the hits counted so far, because none was sent. */
		if (status != RB_DEVICE_FULL || run->emitted || rb_should_stop(ctx) ||
			budget / 2 < LEAST_BUDGET)
			return status;
	}
}

/*
 * Measures the free memory of the device before the backend starts a join, in bytes. Asking the
 * driver takes as long as two kernels of a small join, so its reply is reused for a short time.
 * The stored value includes the pool's memory, because the pool may grow meanwhile.
 */
static rb_status
measure_free_device_memory(rb_device_run *run)
{
	rb_device *device = run->device;
	const uint32_t now = (uint32_t) (uint64_t) rb_now_ms();
	const uint64_t kept = rb_device_reserved(run);
	uint64_t seen = rb_load(&device->seen);

	if (seen == 0 || now - (uint32_t) (seen >> 32) > BELIEVED_MS)
	{
		size_t free_bytes, all_bytes;

		RB_CUDA(run, cudaMemGetInfo(&free_bytes, &all_bytes));
		seen = (uint64_t) now << 32 | (free_bytes + kept) >> 20;
		rb_store(&device->seen, seen);
	}
	run->free = (seen & UINT32_MAX) << 20;
	run->free -= kept < run->free ? kept : run->free;
	return RB_OK;
}

/* Joins with a queue of the device that was taken, within the memory limit or the free memory. */
static rb_status
join_on_taken_device(rb_device_run *run)
{
	const uint64_t limit = run->ctx->settings.gpu_memory_limit;
	rb_status status;

	RB_TRY(measure_free_device_memory(run));
	RB_TRY(rb_queue_take(run));
	/*
	 * With a limit, allow all of it: memory of other sessions and of this process's pool may still
	 * become free.
	 */
	if (limit > 0)
		status = join_within_budget(run, limit < run->device->bytes ? limit : run->device->bytes);
	else
		status = join_within_budget(run, rb_device_budget(run));
	rb_queue_give(run, status != RB_DEVICE_FAILED);
	return status;
}

/* Reports how much memory was needed and how much was free. */
static rb_status
report_device_full(rb_device_run *run)
{
	const uint64_t limit = run->ctx->settings.gpu_memory_limit;
	char text[200];
	int n;

	/*
	 * No block of the join failed: the runtime itself ran out of memory, possibly pinned host
	 * memory.
	 */
	if (run->need == 0)
		return rb_fail(run->ctx, RB_DEVICE_FULL, 0, run->free,
					   "The GPU ran out of memory, or the host ran out of memory for transfers.");
	n = snprintf(text, sizeof(text), "The join needs at least %lu MB of GPU memory",
				 (unsigned long) (run->need >> 20) + 1);
	if (limit > 0 && run->need > limit - limit / 16)
		snprintf(text + n, sizeof(text) - n, ", but redblue.gpu_memory_limit is %lu MB.",
				 (unsigned long) (limit >> 20));
	else if (run->free > 0)
		snprintf(text + n, sizeof(text) - n, ", but only %lu MB were free.",
				 (unsigned long) (run->free >> 20));
	else
		snprintf(text + n, sizeof(text) - n, ", but less was free.");
	return rb_fail(run->ctx, RB_DEVICE_FULL, run->need, run->free, text);
}

/* Takes a device, joins on it and gives it back; the entry point of the backend. */
static rb_status
run_join_on_device(rb_context *ctx, const rb_job *job, const rb_sink *sink)
{
	rb_device_run run;
	rb_status status;

	ctx->stats.threads = ctx->threads;
	if (job->red->nparts == 0 || (job->blue != NULL && job->blue->nparts == 0))
		return RB_OK;
	memset(&run, 0, sizeof(run));
	run.ctx = ctx;
	run.job = job;
	run.sink = sink;
	run.until = rb_now_ms() + WAIT_MS;
	status = rb_device_take(&run);
	if (status == RB_OK)
	{
		status = join_on_taken_device(&run);
		if (status == RB_DEVICE_FAILED)
			rb_device_check(&run, ctx->error.text);
		rb_device_give(&run);
	}
	if (status == RB_DEVICE_FULL && ctx->error.status == RB_OK)
		status = report_device_full(&run);
	return ctx->error.status != RB_OK ? ctx->error.status : status;
}

/*
 * Opens the device ahead of joins, for which it stays open for a while; implements
 * rb_backend.open.
 */
static rb_status
open_device_for_later_joins(rb_context *ctx)
{
	rb_device_run run;
	rb_status status;

	memset(&run, 0, sizeof(run));
	run.ctx = ctx;
	run.until = rb_now_ms() + WAIT_MS;
	status = rb_device_take(&run);
	if (status == RB_OK)
		rb_device_give(&run);
	return status == RB_DEVICE_FULL ? report_device_full(&run) : status;
}

static const rb_backend backend = {RB_ABI,
								   "cuda",
								   rb_device_probe,
								   run_join_on_device,
								   rb_device_warm,
								   rb_device_copy_bytes,
								   rb_device_refine,
								   rb_device_count,
								   open_device_for_later_joins,
								   RB_MULTI_DEVICE_PARTS};

/*
 * Receives the table of core functions and returns the backend. This is the only exported symbol of
 * the plugin.
 */
extern "C" __attribute__((visibility("default"))) const rb_backend *
rb_cuda_backend(const rb_services *services)
{
	rb_services_use(services);
	return &backend;
}
