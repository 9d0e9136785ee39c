/*
 * queue.cu
 *	  Where a join's work for the device waits its turn: streams, events and pinned
 *	  pieces of memory.  What the work took, and waiting for it.
 *
 * All of it is costly to make, so it lives as long as the device is open, and the next
 * join gets what the last one gave back.  Two joins at once have one each.
 */
#include "rb_cuda.cuh"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lanes_lock = PTHREAD_MUTEX_INITIALIZER;
static rb_lane *lanes;

/* ---- calls that failed ---- */

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

/* ---- taking and giving ---- */

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

/* ---- time ---- */

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

/* ---- stopping and waiting ---- */

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

void
rb_doze(long ns)
{
	struct timespec t = {0, ns};

	nanosleep(&t, NULL);
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
			rb_doze(50000);
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
