/*
 * backend.cu
 *	  The CUDA backend: one join on the device.
 *
 * The file is linked to no driver: where there is none, probe says so and nothing
 * else happens (device.cu).
 *
 * What is larger than the memory that a join may take is joined in blocks: every
 * block of red with every block of blue, each small enough to lie on the device
 * with its grid.  Each pair is in one pair of blocks, so nothing is found twice.
 *
 * When the device has not the memory that was hoped for, because other sessions
 * took it, the join begins again with half the budget, as long as no pair was
 * handed out; for what others may give back it waits once, not at every step.
 * After an error that stays with the context (a fault in a kernel, a lost device)
 * this process uses the device no more.
 */
#include "rb_cuda.cuh"

#include <stdio.h>
#include <string.h>

#define WAIT_MS 2000.0 /* for memory that other sessions hold, in all */
#define BELIEVED_MS 20 /* what the driver said of free memory */
#define LEAST_BUDGET ((uint64_t) 24 << 20)
#define OBJECT_BYTES 128 /* coordinates, row, cells and incidences, about */

/* ---- one join ---- */

/* parts [from, from + n) of a side to the device */
static rb_status
side_upload(rb_device_run *run, const rb_set *o, uint32_t from, uint32_t n, bool rows,
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
	if (from == 0 && n == o->nparts && o->view == NULL)
		RB_TRY(rb_copy_take(run, o, &copied));
	else if (from == 0 && n == o->nparts && o->coords == NULL)
		RB_TRY(rb_view_gather(run, o, &copied));
	side->coords = copied;
	if (copied == NULL)
	{
		RB_TRY(rb_set_compose(run->ctx, o));
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

/* coordinates that are a copy's are no block of this join, and stay */
static void
side_free(rb_device_run *run, rb_device_set *side)
{
	rb_device_free(run, (void **) &side->coords);
	rb_device_free(run, (void **) &side->row_of);
}

/* all blocks of red with all of blue; in a self join each unordered pair of blocks */
static rb_status
join_blocks(rb_device_run *run)
{
	const rb_set *red = run->job->red;
	const bool self = run->job->blue == NULL;
	const rb_set *blue = self ? red : run->job->blue;
	const uint64_t fit = run->budget / 4 * 3 / OBJECT_BYTES;
	uint64_t nred = red->nparts, nblue = blue->nparts;
	rb_device_set side[2];

	if (self ? nred > fit : nred + nblue > fit)
	{
		/* half each, but a small side leaves what it does not need */
		nred = nred < fit / 2 ? nred : self || nblue > fit / 2 ? fit / 2 : fit - nblue;
		nblue = self ? nred : nblue < fit - nred ? nblue : fit - nred;
	}
	if (nred == 0 || nblue == 0)
		return RB_DEVICE_FULL;
	RB_TRY(rb_words_make(run));
	for (uint64_t i = 0; i < red->nparts; i += nred)
	{
		uint32_t ni = (uint32_t) (red->nparts - i < nred ? red->nparts - i : nred);

		RB_TRY(rb_mark(run, -1));
		RB_TRY(side_upload(run, red, (uint32_t) i, ni, self, &side[0]));
		for (uint64_t k = self ? i : 0; k < blue->nparts; k += nblue)
		{
			uint32_t nk = (uint32_t) (blue->nparts - k < nblue ? blue->nparts - k : nblue);
			const bool same = self && k == i;

			if (!same)
				RB_TRY(side_upload(run, blue, (uint32_t) k, nk, self, &side[1]));
			RB_TRY(rb_mark(run, RB_STAGE_UPLOAD));
			RB_TRY(rb_join_sides(run, side, same));
			RB_TRY(rb_mark(run, -1));
			if (!same)
				side_free(run, &side[1]);
		}
		side_free(run, &side[0]);
	}
	RB_TRY(rb_sync(run));
	return rb_words_put(run);
}

/* stop what runs, wait for it, give all memory back; what did not fail was waited for */
static void
run_end(rb_device_run *run, bool failed)
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

/* with half the budget again and again, as long as nothing was handed out */
static rb_status
join_within(rb_device_run *run, uint64_t budget)
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
		status = join_blocks(run);
		run_end(run, status != RB_OK);
		if (status != RB_OK && !run->emitted)
			ctx->stats.hits = 0; /* of words that nobody got */
		if (status != RB_DEVICE_FULL || run->emitted || rb_should_stop(ctx) ||
			budget / 2 < LEAST_BUDGET)
			return status;
	}
}

/*
 * Bytes of the device that are free.  To ask the driver takes as long as two kernels of a small join,
 * so what it said is believed for a little: with what our pool had then, for that may have
 * grown since.
 */
static rb_status
find_free(rb_device_run *run)
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

static rb_status
join_on_device(rb_device_run *run)
{
	const uint64_t limit = run->ctx->gpu_memory_limit;
	rb_status status;

	RB_TRY(find_free(run));
	RB_TRY(rb_queue_take(run));
	/* what other sessions and this process's own pool hold may still become free */
	if (limit > 0)
		status = join_within(run, limit < run->device->bytes ? limit : run->device->bytes);
	else
		status = join_within(run, rb_device_budget(run));
	rb_queue_give(run, status != RB_DEVICE_FAILED);
	return status;
}

/* how much was wanted, how much was there */
static rb_status
full(rb_device_run *run)
{
	const uint64_t limit = run->ctx->gpu_memory_limit;
	char text[200];
	int n;

	if (run->need == 0) /* no block of ours: what the runtime itself wanted, pinned memory too */
		return rb_fail(run->ctx, RB_DEVICE_FULL, 0, run->free,
					   "The GPU, or the host for its transfers, had no memory left.");
	n = snprintf(text, sizeof(text), "The join needs at least %lu MB of GPU memory",
				 (unsigned long) (run->need >> 20) + 1);
	if (limit > 0 && run->need > limit - limit / 16)
		snprintf(text + n, sizeof(text) - n, ", redblue.gpu_memory_limit is %lu MB.",
				 (unsigned long) (limit >> 20));
	else if (run->free > 0)
		snprintf(text + n, sizeof(text) - n, ", %lu MB were free.",
				 (unsigned long) (run->free >> 20));
	else
		snprintf(text + n, sizeof(text) - n, ", less was free.");
	return rb_fail(run->ctx, RB_DEVICE_FULL, run->need, run->free, text);
}

static rb_status
join(rb_context *ctx, const rb_job *job, const rb_sink *sink)
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
		status = join_on_device(&run);
		if (status == RB_DEVICE_FAILED)
			rb_device_check(&run, ctx->error.text);
		rb_device_give(&run);
	}
	if (status == RB_DEVICE_FULL && ctx->error.status == RB_OK)
		status = full(&run);
	return ctx->error.status != RB_OK ? ctx->error.status : status;
}

/* it stays open for a while then */
static rb_status
open_device(rb_context *ctx)
{
	rb_device_run run;
	rb_status status;

	memset(&run, 0, sizeof(run));
	run.ctx = ctx;
	run.until = rb_now_ms() + WAIT_MS;
	status = rb_device_take(&run);
	if (status == RB_OK)
		rb_device_give(&run);
	return status == RB_DEVICE_FULL ? full(&run) : status;
}

/* of a kept set, on all devices that are open */
static uint64_t
copy_bytes(uint64_t number, bool drop)
{
	uint64_t bytes = 0;

	for (int i = 0; i < RB_DEVICES; i++)
	{
		rb_device *device = rb_device_borrow(i);

		if (device == NULL)
			continue;
		bytes += rb_copy_bytes(device, number, drop);
		rb_device_return(device);
	}
	return bytes;
}

static const rb_backend backend = {RB_ABI,         "cuda",        rb_device_probe,  join,
								   rb_device_warm, copy_bytes,    rb_device_refine, rb_device_count,
								   open_device,    RB_SHARE_PARTS};

/* the one symbol of the file: the functions of the core in, the backend out */
extern "C" __attribute__((visibility("default"))) const rb_backend *
rb_cuda_backend(const rb_services *services)
{
	rb_services_use(services);
	return &backend;
}
