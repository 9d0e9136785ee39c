/*
 * backend.cu
 *	  The CUDA backend: is there a device, and one join on it.
 *
 * The file is opened on first use, after fork, and linked to no driver: where there
 * is none, probe says so and nothing else happens.  A process that inherited a
 * device from its parent cannot use it; probe says that too.
 *
 * What is larger than the memory that a join may take is joined in blocks: every
 * block of red with every block of blue, each small enough to lie on the device
 * with its grid.  Each pair is in one pair of blocks, so nothing is found twice.
 *
 * When the card has not the memory that was hoped for, because other sessions
 * took it, the join begins again with half the budget, as long as no pair was
 * handed out.  After an error that stays with the context (a fault in a kernel, a
 * lost device) this process uses the device no more.
 */
#include "rb_cuda.cuh"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LEAST_CC 75 /* compute capability, times ten */
#define LEAST_BUDGET ((uint64_t) 24 << 20)
#define OBJECT_BYTES 128 /* coordinates, row, cells and incidences, about */

static pthread_mutex_t card_lock = PTHREAD_MUTEX_INITIALIZER;
static rb_card card;
static bool card_known;
static pid_t card_process;
static char fault[160]; /* why the device is used no more, or empty */

/* RB_NO_DEVICE and why, or the card */
static rb_status
card_find(char *text, size_t size)
{
	struct cudaDeviceProp prop;
	cudaError_t error;
	int n = 0;

	if (card_known && card_process != getpid())
	{
		snprintf(text, size, "a parent process used the GPU before it forked");
		return RB_NO_DEVICE;
	}
	if (fault[0] != '\0')
	{
		snprintf(text, size, "%s; a new session can try again", fault);
		return RB_NO_DEVICE;
	}
	if (card_known)
		return RB_OK;
	error = cudaGetDeviceCount(&n);
	if (error != cudaSuccess || n == 0)
	{
		cudaGetLastError();
		snprintf(text, size, "%s",
				 error == cudaErrorInsufficientDriver ? "no CUDA driver, or one that is too old"
				 : error == cudaSuccess               ? "no CUDA device"
													  : cudaGetErrorString(error));
		return RB_NO_DEVICE;
	}
	error = cudaGetDeviceProperties(&prop, 0);
	if (error != cudaSuccess)
	{
		cudaGetLastError();
		snprintf(text, size, "cudaGetDeviceProperties: %s", cudaGetErrorString(error));
		return RB_NO_DEVICE;
	}
	if (prop.major * 10 + prop.minor < LEAST_CC)
	{
		snprintf(text, size, "%s has compute capability %d.%d, 7.5 is needed", prop.name,
				 prop.major, prop.minor);
		return RB_NO_DEVICE;
	}
	card.id = 0;
	card.sms = prop.multiProcessorCount;
	card.bytes = prop.totalGlobalMem;
	card.pools = prop.memoryPoolsSupported != 0;
	snprintf(card.text, sizeof(card.text), "%.60s, %lu MB", prop.name,
			 (unsigned long) (prop.totalGlobalMem >> 20));
	card_process = getpid();
	card_known = true;
	return RB_OK;
}

static rb_status
card_take(char *text, size_t size)
{
	rb_status status;

	pthread_mutex_lock(&card_lock);
	status = card_find(text, size);
	pthread_mutex_unlock(&card_lock);
	return status;
}

/* an error that a next call would meet again makes the device unusable */
static void
card_check(const char *why)
{
	cudaError_t error = cudaDeviceSynchronize();

	if (error == cudaSuccess || error == cudaErrorMemoryAllocation)
	{
		cudaGetLastError();
		return;
	}
	pthread_mutex_lock(&card_lock);
	if (fault[0] == '\0')
		snprintf(fault, sizeof(fault), "the GPU failed earlier in this session (%.100s)",
				 why[0] != '\0' ? why : cudaGetErrorString(error));
	pthread_mutex_unlock(&card_lock);
}

static rb_status
probe(char *text, size_t size)
{
	rb_status status = card_take(text, size);

	if (status == RB_OK)
		snprintf(text, size, "%s", card.text);
	return status;
}

/* ---- one join ---- */

/* part [from, from + n) of a side to the device */
static rb_status
side_upload(rb_run *run, const rb_objects *o, uint32_t from, uint32_t n, bool rows, rb_side *side)
{
	const size_t width = rb_kind_width(o->kind);
	double *coords;
	uint32_t *row_of;

	memset(side, 0, sizeof(*side));
	side->n = n;
	side->base = from;
	side->kind = o->kind;
	RB_TRY(rb_device_alloc(run, (void **) &coords, n * width * sizeof(double)));
	side->coords = coords;
	RB_TRY(rb_upload(run, coords, o->coords + from * width, n * width * sizeof(double)));
	if (rows && o->row_of != NULL)
	{
		RB_TRY(rb_device_alloc(run, (void **) &row_of, n * sizeof(uint32_t)));
		side->row_of = row_of;
		RB_TRY(rb_upload(run, row_of, o->row_of + from, n * sizeof(uint32_t)));
	}
	return RB_OK;
}

static void
side_free(rb_run *run, rb_side *side)
{
	rb_device_free(run, (void **) &side->coords);
	rb_device_free(run, (void **) &side->row_of);
}

/* all blocks of red with all of blue; in a self join each unordered pair of blocks */
static rb_status
join_blocks(rb_run *run)
{
	const rb_objects *red = run->job->red;
	const bool self = run->job->blue == NULL;
	const rb_objects *blue = self ? red : run->job->blue;
	const uint64_t fit = run->budget / 4 * 3 / OBJECT_BYTES;
	uint64_t nred = red->nparts, nblue = blue->nparts;
	rb_side side[2];

	if (self ? nred > fit : nred + nblue > fit)
	{
		/* half each, but a small side leaves what it does not need */
		nred = nred < fit / 2 ? nred : self || nblue > fit / 2 ? fit / 2 : fit - nblue;
		nblue = self ? nred : nblue < fit - nred ? nblue : fit - nred;
	}
	if (nred == 0 || nblue == 0)
		return RB_OUT_OF_MEMORY;
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
	return rb_sync(run);
}

/* stop what runs, wait for it, give all memory back */
static void
run_end(rb_run *run, bool failed)
{
	if (run->lane == NULL)
		return;
	if (failed)
		rb_stop_kernels(run);
	cudaStreamSynchronize(run->lane->copy);
	cudaStreamSynchronize(run->lane->compute);
	if (run->stopping)
		cudaMemsetAsync((void *) run->lane->stop, 0, sizeof(uint32_t), run->lane->compute);
	run->stopping = false;
	run->nmarks = 0;
	rb_device_free_all(run);
	cudaStreamSynchronize(run->lane->compute);
}

/* the part of the card that this process keeps for its next join */
static void
keep_some(void)
{
	cudaMemPool_t pool;
	uint64_t keep = card.bytes / 64;

	if (card.pools && cudaDeviceGetDefaultMemPool(&pool, card.id) == cudaSuccess)
		cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);
	cudaGetLastError();
}

static rb_status
join(rb_context *ctx, const rb_job *job, const rb_sink *sink)
{
	rb_run run;
	rb_stats stats = ctx->stats;
	rb_status status;
	size_t free_bytes, all_bytes;
	uint64_t budget;
	char text[200];

	ctx->stats.threads = ctx->threads;
	if (job->red->nparts == 0 || (job->blue != NULL && job->blue->nparts == 0))
		return RB_OK;
	status = card_take(text, sizeof(text));
	if (status != RB_OK)
		return rb_fail(ctx, status, 0, 0, text);

	memset(&run, 0, sizeof(run));
	run.ctx = ctx;
	run.job = job;
	run.sink = sink;
	run.card = &card;
	RB_CUDA(&run, cudaSetDevice(card.id));
	RB_CUDA(&run, cudaMemGetInfo(&free_bytes, &all_bytes));
	keep_some();
	status = rb_lane_take(&run);
	if (status != RB_OK)
	{
		rb_lane_give(&run, false);
		card_check(ctx->error.text);
		return status;
	}

	/* what other sessions and this process's own pool hold may still become free */
	budget = ctx->gpu_memory_limit > 0 ? ctx->gpu_memory_limit : free_bytes + card.bytes / 64;
	if (budget > all_bytes)
		budget = all_bytes;
	for (;; budget /= 2)
	{
		ctx->stats = stats;
		ctx->stats.threads = ctx->threads;
		snprintf(ctx->stats.device, sizeof(ctx->stats.device), "%s", card.text);
		run.budget = budget - budget / 16;
		run.top = true;
		status = join_blocks(&run);
		run_end(&run, status != RB_OK);
		if (status != RB_OUT_OF_MEMORY || run.emitted || ctx->error.status != RB_OK ||
			budget / 2 < LEAST_BUDGET)
			break;
	}
	if (status == RB_OUT_OF_MEMORY && ctx->error.status == RB_OK)
	{
		snprintf(text, sizeof(text), "%lu MB of GPU memory were not enough",
				 (unsigned long) (budget >> 20));
		status = rb_fail(ctx, run.emitted ? RB_DEVICE_FAILED : RB_NO_DEVICE, 0, 0, text);
	}
	if (status == RB_DEVICE_FAILED)
		card_check(ctx->error.text);
	rb_lane_give(&run, status != RB_DEVICE_FAILED);
	return ctx->error.status != RB_OK ? ctx->error.status : status;
}

static void
release(void)
{
	cudaMemPool_t pool;

	if (!card_known || card_process != getpid() || fault[0] != '\0')
		return;
	rb_lanes_release();
	if (card.pools && cudaDeviceGetDefaultMemPool(&pool, card.id) == cudaSuccess)
		cudaMemPoolTrimTo(pool, 0);
	cudaGetLastError();
}

static const rb_backend backend = {RB_BACKEND_ABI, "cuda", probe, join, release};

/* the one symbol of the file */
extern "C" __attribute__((visibility("default"))) const rb_backend *
rb_cuda_backend(void)
{
	return &backend;
}
