/*
 * memory.cu
 *	  What a join holds of the device, and the way of bytes to it and back.
 *
 * Device memory is taken piece by piece, counted against the join's budget and
 * given back at its end; a pool keeps a small part of the card for the next join
 * while the device is open, since mapping fresh memory costs more than filling it.
 * When the card is full because other sessions use it we wait a little, for joins
 * are short and idle sessions give all back.
 *
 * The host's arrays are ordinary memory, which a device reads at a tenth of the
 * bus's speed.  To pin them costs more than to copy them, so all bytes go through
 * a few pinned pieces that live as long as the process: all cores copy into one
 * piece while another is on its way.  Memory that is pinned already goes straight.
 */
#include "rb_cuda.cuh"
#include "rb_parallel.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COPY_THREADS 8
#define COPY_GRAIN ((size_t) 256 << 10)
#define COPY_FROM (4 * COPY_GRAIN) /* bytes that deserve more than one thread */

static pthread_mutex_t lanes_lock = PTHREAD_MUTEX_INITIALIZER;
static rb_lane *lanes;

static void
doze(long ns)
{
	struct timespec t = {0, ns};

	nanosleep(&t, NULL);
}

rb_status
rb_cuda_failed(rb_run *run, cudaError_t error, const char *call)
{
	char text[200];
	int length = (int) strcspn(call, "(");

	cudaGetLastError(); /* forget it, unless it is one that stays */
	if (error == cudaErrorMemoryAllocation)
		return RB_DEVICE_FULL;
	snprintf(text, sizeof(text), "%.*s: %s", length, call, cudaGetErrorString(error));
	return rb_fail(run->ctx, RB_DEVICE_FAILED, 0, 0, text);
}

/* ---- lanes ---- */

static void
lane_destroy(rb_lane *lane)
{
	for (int i = 0; i < RB_MARKS; i++)
		if (lane->mark[i] != NULL)
			cudaEventDestroy(lane->mark[i]);
	if (lane->done != NULL)
		cudaEventDestroy(lane->done);
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < RB_LAUNCH_EVENTS; i++)
			if (lane->launch[k][i] != NULL)
				cudaEventDestroy(lane->launch[k][i]);
	for (int i = 0; i < RB_SLOTS; i++)
	{
		if (lane->slot_from[i] != NULL)
			cudaEventDestroy(lane->slot_from[i]);
		if (lane->slot_done[i] != NULL)
			cudaEventDestroy(lane->slot_done[i]);
		cudaFreeHost(lane->slot[i]);
	}
	cudaFreeHost(lane->report);
	cudaFree((void *) lane->stop);
	if (lane->compute != NULL)
		cudaStreamDestroy(lane->compute);
	if (lane->copy != NULL)
		cudaStreamDestroy(lane->copy);
	cudaGetLastError();
	free(lane);
}

static rb_status
lane_fill(rb_run *run, rb_lane *lane)
{
	RB_CUDA(run, cudaStreamCreateWithFlags(&lane->compute, cudaStreamNonBlocking));
	RB_CUDA(run, cudaStreamCreateWithFlags(&lane->copy, cudaStreamNonBlocking));
	for (int i = 0; i < RB_MARKS; i++)
		RB_CUDA(run, cudaEventCreate(&lane->mark[i]));
	RB_CUDA(run, cudaEventCreateWithFlags(&lane->done, cudaEventDisableTiming));
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < RB_LAUNCH_EVENTS; i++)
			RB_CUDA(run, cudaEventCreate(&lane->launch[k][i]));
	for (int i = 0; i < RB_SLOTS; i++)
	{
		RB_CUDA(run, cudaEventCreate(&lane->slot_from[i]));
		RB_CUDA(run, cudaEventCreate(&lane->slot_done[i]));
		RB_CUDA(run, cudaHostAlloc((void **) &lane->slot[i], RB_SLOT_BYTES, cudaHostAllocDefault));
	}
	RB_CUDA(run, cudaHostAlloc((void **) &lane->report, sizeof(rb_report), cudaHostAllocMapped));
	RB_CUDA(run, cudaMalloc((void **) &lane->stop, sizeof(uint32_t)));
	return RB_OK;
}

/* Two joins of one process never wait for each other: each has a lane of its own. */
rb_status
rb_lane_take(rb_run *run)
{
	rb_lane *lane;
	rb_status status;

	pthread_mutex_lock(&lanes_lock);
	lane = lanes;
	if (lane != NULL)
		lanes = lane->next;
	pthread_mutex_unlock(&lanes_lock);
	if (lane == NULL)
	{
		lane = (rb_lane *) calloc(1, sizeof(rb_lane));
		if (lane == NULL)
			return rb_fail(run->ctx, RB_OUT_OF_MEMORY, sizeof(rb_lane), 0, NULL);
		status = lane_fill(run, lane);
		if (status != RB_OK)
		{
			lane_destroy(lane);
			return status;
		}
	}
	run->lane = lane;
	run->stopping = false;
	RB_CUDA(run, cudaMemsetAsync((void *) lane->stop, 0, sizeof(uint32_t), lane->compute));
	return RB_OK;
}

/* a lane on which a call failed is not used again */
void
rb_lane_give(rb_run *run, bool healthy)
{
	rb_lane *lane = run->lane;

	run->lane = NULL;
	if (lane == NULL)
		return;
	if (!healthy)
	{
		lane_destroy(lane);
		return;
	}
	pthread_mutex_lock(&lanes_lock);
	lane->next = lanes;
	lanes = lane;
	pthread_mutex_unlock(&lanes_lock);
}

void
rb_lanes_release(void)
{
	pthread_mutex_lock(&lanes_lock);
	while (lanes != NULL)
	{
		rb_lane *lane = lanes;

		lanes = lane->next;
		lane_destroy(lane);
	}
	pthread_mutex_unlock(&lanes_lock);
}

/* ---- device memory ---- */

static cudaError_t
take(rb_run *run, void **block, uint64_t bytes)
{
	if (run->card->pools)
		return cudaMallocFromPoolAsync(block, bytes, run->card->pool, run->lane->compute);
	return cudaMalloc(block, bytes);
}

static void
give(rb_run *run, void *block)
{
	if (run->card->pools)
		cudaFreeAsync(block, run->lane->compute);
	else
		cudaFree(block);
}

uint64_t
rb_device_budget(rb_run *run)
{
	uint64_t kept = 0, used = 0;

	if (run->card->pool != NULL)
	{
		cudaMemPoolGetAttribute(run->card->pool, cudaMemPoolAttrReservedMemCurrent, &kept);
		cudaMemPoolGetAttribute(run->card->pool, cudaMemPoolAttrUsedMemCurrent, &used);
		cudaGetLastError();
	}
	return run->free + (kept > used ? kept - used : 0);
}

rb_status
rb_device_alloc(rb_run *run, void **block, uint64_t bytes)
{
	int i = 0;

	*block = NULL;
	bytes = (bytes + 255) / 256 * 256;
	if (bytes == 0)
		bytes = 256;
	while (i < RB_BLOCKS && run->block[i] != NULL)
		i++;
	if (i == RB_BLOCKS)
		return rb_fail(run->ctx, RB_DEVICE_FAILED, 0, 0, "too many blocks of device memory");
	run->need = run->used + bytes;
	if (run->need > run->budget)
		return RB_DEVICE_FULL;
	for (;;)
	{
		cudaError_t error = take(run, block, bytes);

		if (error == cudaSuccess)
			break;
		if (error != cudaErrorMemoryAllocation)
			return rb_cuda_failed(run, error, "cudaMalloc()");
		cudaGetLastError();
		if (rb_should_stop(run->ctx))
			return RB_STOPPED;
		if (rb_now_ms() > run->until)
			return RB_DEVICE_FULL;
		doze(10000000);
	}
	run->block[i] = *block;
	run->size[i] = bytes;
	run->used += bytes;
	return RB_OK;
}

void
rb_device_free(rb_run *run, void **block)
{
	if (*block == NULL)
		return;
	for (int i = 0; i < RB_BLOCKS; i++)
		if (run->block[i] == *block)
		{
			run->block[i] = NULL;
			run->used -= run->size[i];
			give(run, *block);
		}
	*block = NULL;
}

void
rb_device_free_all(rb_run *run)
{
	for (int i = 0; i < RB_BLOCKS; i++)
	{
		if (run->block[i] != NULL)
			give(run, run->block[i]);
		run->block[i] = NULL;
	}
	run->used = 0;
	cudaGetLastError();
}

/* ---- time and waiting ---- */

/* add up the times between marks; the compute stream is idle */
static rb_status
marks_read(rb_run *run)
{
	for (int i = 1; i < run->nmarks; i++)
	{
		float ms;

		if (run->mark_stage[i] < 0)
			continue;
		RB_CUDA(run, cudaEventElapsedTime(&ms, run->lane->mark[i - 1], run->lane->mark[i]));
		if (run->mark_stage[i] < RB_STAGES)
			run->ctx->stats.stage[run->mark_stage[i]].ms += ms;
		else
		{
			run->ctx->stats.grid_ms[run->mark_stage[i] - RB_PART_PLAN] += ms;
			run->ctx->stats.stage[RB_STAGE_GRID].ms += ms;
		}
	}
	/* the last one is where the next time begins */
	if (run->nmarks > 1)
	{
		cudaEvent_t last = run->lane->mark[run->nmarks - 1];

		run->lane->mark[run->nmarks - 1] = run->lane->mark[0];
		run->lane->mark[0] = last;
		run->nmarks = 1;
	}
	return RB_OK;
}

rb_status
rb_mark(rb_run *run, int stage)
{
	if (run->nmarks == RB_MARKS)
		RB_TRY(rb_sync(run));
	run->mark_stage[run->nmarks] = stage;
	RB_CUDA(run, cudaEventRecord(run->lane->mark[run->nmarks], run->lane->compute));
	run->nmarks++;
	return RB_OK;
}

/*
 * The flag lies on the device: thousands of blocks that ask over the bus would
 * queue there, a microsecond each.
 */
void
rb_stop_kernels(rb_run *run)
{
	if (!run->stopping)
		cudaMemsetAsync((void *) run->lane->stop, 0xff, sizeof(uint32_t), run->lane->copy);
	run->stopping = true;
}

/* first without sleep, for most of what we wait for takes microseconds */
rb_status
rb_wait(rb_run *run, cudaEvent_t event)
{
	double began = rb_now_ms();
	cudaError_t error;

	while ((error = cudaEventQuery(event)) == cudaErrorNotReady)
	{
		if (rb_should_stop(run->ctx))
			rb_stop_kernels(run);
		if (rb_now_ms() - began > 2)
			doze(50000);
	}
	if (error != cudaSuccess)
		return rb_cuda_failed(run, error, "cudaEventQuery()");
	return rb_should_stop(run->ctx) ? RB_STOPPED : RB_OK;
}

rb_status
rb_sync(rb_run *run)
{
	RB_CUDA(run, cudaEventRecord(run->lane->done, run->lane->compute));
	RB_TRY(rb_wait(run, run->lane->done));
	return marks_read(run);
}

/* ---- bytes to the device and back ---- */

static bool
is_pinned(const void *p)
{
	struct cudaPointerAttributes a;

	if (cudaPointerGetAttributes(&a, p) != cudaSuccess)
	{
		cudaGetLastError();
		return false;
	}
	return a.type == cudaMemoryTypeHost;
}

typedef struct rb_copy
{
	char *to;
	const char *from;
} rb_copy;

static void
copy_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const rb_copy *copy = (const rb_copy *) arg;

	(void) me;
	memcpy(copy->to + from, copy->from + from, to - from);
}

static rb_status
upload_in_pieces(rb_run *run, rb_thread *me, void *to, const void *from, size_t bytes)
{
	rb_lane *lane = run->lane;
	int k = 0;

	for (size_t at = 0; at < bytes; at += RB_SLOT_BYTES, k++)
	{
		size_t n = bytes - at < RB_SLOT_BYTES ? bytes - at : RB_SLOT_BYTES;
		int s = k % RB_SLOTS;
		rb_copy copy = {lane->slot[s], (const char *) from + at};

		/* the piece's last use, by this call or an earlier one */
		RB_TRY(rb_wait(run, lane->slot_done[s]));
		RB_TRY(rb_loop(me, n, COPY_GRAIN, copy_piece, &copy));
		RB_CUDA(run, cudaMemcpyAsync((char *) to + at, lane->slot[s], n, cudaMemcpyHostToDevice,
									 lane->compute));
		RB_CUDA(run, cudaEventRecord(lane->slot_done[s], lane->compute));
		rb_progress(run->ctx, RB_STAGE_UPLOAD, at + n, bytes);
	}
	return RB_OK;
}

rb_status
rb_upload(rb_run *run, void *to, const void *from, size_t bytes)
{
	int threads = run->ctx->threads < COPY_THREADS ? run->ctx->threads : COPY_THREADS;
	rb_thread *me;
	rb_status status;

	run->ctx->stats.stage[RB_STAGE_UPLOAD].count += bytes;
	if (is_pinned(from))
	{
		RB_CUDA(run, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, run->lane->compute));
		return RB_OK; /* the caller keeps it until the join ends */
	}
	RB_TRY(rb_team_open(run->ctx, bytes < COPY_FROM ? 1 : threads, &me));
	status = upload_in_pieces(run, me, to, from, bytes);
	rb_team_close(&me);
	return status;
}

rb_status
rb_download(rb_run *run, const void *from, size_t bytes, size_t element, rb_consume consume,
			void *arg)
{
	rb_lane *lane = run->lane;
	const size_t piece = RB_SLOT_BYTES / element * element;
	size_t asked = 0, taken = 0;
	int ask = 0, get = 0;

	run->ctx->stats.stage[RB_STAGE_DOWNLOAD].count += bytes;
	while (taken < bytes)
	{
		size_t n = bytes - taken < piece ? bytes - taken : piece;
		float ms;

		for (; asked < bytes && ask - get < RB_SLOTS; ask++)
		{
			size_t m = bytes - asked < piece ? bytes - asked : piece;
			int s = ask % RB_SLOTS;

			RB_TRY(rb_wait(run, lane->slot_done[s]));
			RB_CUDA(run, cudaEventRecord(lane->slot_from[s], lane->copy));
			RB_CUDA(run, cudaMemcpyAsync(lane->slot[s], (const char *) from + asked, m,
										 cudaMemcpyDeviceToHost, lane->copy));
			RB_CUDA(run, cudaEventRecord(lane->slot_done[s], lane->copy));
			asked += m;
		}
		RB_TRY(rb_wait(run, lane->slot_done[get % RB_SLOTS]));
		RB_CUDA(run, cudaEventElapsedTime(&ms, lane->slot_from[get % RB_SLOTS],
										  lane->slot_done[get % RB_SLOTS]));
		run->ctx->stats.stage[RB_STAGE_DOWNLOAD].ms += ms;
		RB_TRY(consume(run, arg, lane->slot[get % RB_SLOTS], n / element));
		taken += n;
		get++;
	}
	return RB_OK;
}
