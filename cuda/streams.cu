/*
 * streams.cu
 *	  Manages the queues of joins: their streams, events and pinned buffers. Measures times, waits
 *	  for the device, and transfers bytes to it and back.
 *
 * Queues are expensive to create, so they live as long as the device is open, and the next join
 * reuses the queue that the last one returned. Two concurrent joins have a queue each.
 *
 * The host's arrays are pageable memory, which a device reads at a tenth of the bus's speed.
 * Pinning them costs more than copying them, so all bytes pass through the pinned buffers of a
 * queue: all threads copy into one buffer while another is being transferred. Memory that is
 * already pinned is transferred directly.
 */
#include "cuda.cuh"
#include "core/base/parallel.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COPY_THREADS 8
#define COPY_GRAIN ((size_t) 256 << 10)
/*
 * Bytes per task of a download into new memory: two threads that start in one huge page would both
 * clear it
 */
#define FETCH_GRAIN ((size_t) 2 << 20)

static pthread_mutex_t queues_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- failed calls ---- */

rb_status
rb_cuda_failed(rb_device_run *run, cudaError_t error, const char *call)
{
	char text[200];
	int length = (int) strcspn(call, "(");

	cudaGetLastError(); /* Clear the error, unless it persists in the context. */
	if (error == cudaErrorMemoryAllocation)
		return RB_DEVICE_FULL;
	snprintf(text, sizeof(text), "%.*s: %s", length, call, cudaGetErrorString(error));
	return rb_fail(run->ctx, RB_DEVICE_FAILED, 0, 0, text);
}

rb_status
rb_kernel_load(rb_device_run *run, const void *kernel)
{
	struct cudaFuncAttributes what;

	RB_CUDA(run, cudaFuncGetAttributes(&what, kernel));
	return RB_OK;
}

/* ---- queues ---- */

/*
 * Destroys the streams, events and buffers of a queue that have been created, and frees the queue.
 */
static void
destroy_device_queue(rb_device_queue *queue)
{
	for (int i = 0; i < RB_MARKS; i++)
		if (queue->mark[i] != NULL)
			cudaEventDestroy(queue->mark[i]);
	if (queue->done != NULL)
		cudaEventDestroy(queue->done);
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < RB_LAUNCH_EVENTS; i++)
			if (queue->launch[k][i] != NULL)
				cudaEventDestroy(queue->launch[k][i]);
	for (int i = 0; i < RB_SLOTS; i++)
	{
		if (queue->slot_from[i] != NULL)
			cudaEventDestroy(queue->slot_from[i]);
		if (queue->slot_done[i] != NULL)
			cudaEventDestroy(queue->slot_done[i]);
		cudaFreeHost(queue->slot[i]);
	}
	cudaFreeHost(queue->mailbox);
	cudaFree(queue->stop);
	if (queue->compute != NULL)
		cudaStreamDestroy(queue->compute);
	if (queue->copy != NULL)
		cudaStreamDestroy(queue->copy);
	cudaGetLastError();
	free(queue);
}

/* Creates the streams, events and buffers of a queue. */
static rb_status
create_parts_of_device_queue(rb_device_run *run, rb_device_queue *queue)
{
	RB_CUDA(run, cudaStreamCreateWithFlags(&queue->compute, cudaStreamNonBlocking));
	RB_CUDA(run, cudaStreamCreateWithFlags(&queue->copy, cudaStreamNonBlocking));
	for (int i = 0; i < RB_MARKS; i++)
		RB_CUDA(run, cudaEventCreate(&queue->mark[i]));
	RB_CUDA(run, cudaEventCreateWithFlags(&queue->done, cudaEventDisableTiming));
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < RB_LAUNCH_EVENTS; i++)
			RB_CUDA(run, cudaEventCreate(&queue->launch[k][i]));
	for (int i = 0; i < RB_SLOTS; i++)
	{
		RB_CUDA(run, cudaEventCreate(&queue->slot_from[i]));
		RB_CUDA(run, cudaEventCreate(&queue->slot_done[i]));
		RB_CUDA(run, cudaHostAlloc((void **) &queue->slot[i], RB_SLOT_BYTES, cudaHostAllocDefault));
	}
	RB_CUDA(run, cudaHostAlloc((void **) &queue->mailbox, sizeof(rb_mailbox), cudaHostAllocMapped));
	RB_CUDA(run, cudaMalloc((void **) &queue->stop, sizeof(uint32_t)));
	/*
	 * Clear the flag now, because later joins rely on it being zero (rb_queue_idle), and a stop
	 * request sets it through the other stream.
	 */
	RB_CUDA(run, cudaMemsetAsync(queue->stop, 0, sizeof(uint32_t), queue->compute));
	RB_CUDA(run, cudaStreamSynchronize(queue->compute));
	return RB_OK;
}

/*
 * Takes an idle queue or creates one. Each join has a queue of its own, so joins of one process
 * never wait for each other.
 */
rb_status
rb_queue_take(rb_device_run *run)
{
	rb_device_queue *queue;
	rb_status status;

	pthread_mutex_lock(&queues_lock);
	queue = run->device->queues;
	if (queue != NULL)
		run->device->queues = queue->next;
	pthread_mutex_unlock(&queues_lock);
	if (queue == NULL)
	{
		queue = (rb_device_queue *) calloc(1, sizeof(rb_device_queue));
		if (queue == NULL)
			return rb_fail(run->ctx, RB_OUT_OF_MEMORY, sizeof(rb_device_queue), 0, NULL);
		status = create_parts_of_device_queue(run, queue);
		if (status != RB_OK)
		{
			destroy_device_queue(queue);
			return status;
		}
	}
	run->queue = queue;
	run->stopping = false;
	return RB_OK;
}

/* Returns a queue for reuse, or destroys it if a call on it failed. */
void
rb_queue_give(rb_device_run *run, bool healthy)
{
	rb_device_queue *queue = run->queue;

	run->queue = NULL;
	if (queue == NULL)
		return;
	if (!healthy)
	{
		destroy_device_queue(queue);
		return;
	}
	pthread_mutex_lock(&queues_lock);
	queue->next = run->device->queues;
	run->device->queues = queue;
	pthread_mutex_unlock(&queues_lock);
}

void
rb_queues_release(rb_device *device)
{
	pthread_mutex_lock(&queues_lock);
	while (device->queues != NULL)
	{
		rb_device_queue *queue = device->queues;

		device->queues = queue->next;
		destroy_device_queue(queue);
	}
	pthread_mutex_unlock(&queues_lock);
}

/* ---- timing ---- */

/* Adds the times between marks to the statistics. The compute stream must be idle. */
static rb_status
add_times_between_marks(rb_device_run *run)
{
	for (int i = 1; i < run->nmarks; i++)
	{
		float ms;

		if (run->mark_stage[i] < 0)
			continue;
		RB_CUDA(run, cudaEventElapsedTime(&ms, run->queue->mark[i - 1], run->queue->mark[i]));
		if (run->mark_stage[i] < RB_STAGES)
			run->ctx->stats.stage[run->mark_stage[i]].ms += ms;
		else
		{
			run->ctx->stats.grid_ms[run->mark_stage[i] - RB_STEP_PLAN] += ms;
			run->ctx->stats.stage[RB_STAGE_GRID].ms += ms;
		}
	}
	/* The last mark becomes the start of the next interval. */
	if (run->nmarks > 1)
	{
		cudaEvent_t last = run->queue->mark[run->nmarks - 1];

		run->queue->mark[run->nmarks - 1] = run->queue->mark[0];
		run->queue->mark[0] = last;
		run->nmarks = 1;
	}
	return RB_OK;
}

rb_status
rb_mark(rb_device_run *run, int stage)
{
	if (run->nmarks == RB_MARKS)
		RB_TRY(rb_sync(run));
	run->mark_stage[run->nmarks] = stage;
	RB_CUDA(run, cudaEventRecord(run->queue->mark[run->nmarks], run->queue->compute));
	run->nmarks++;
	return RB_OK;
}

/* ---- stopping and waiting ---- */

/*
 * Sets the stop flag. The flag lies on the device, because reads of host memory by thousands of
 * blocks would queue on the bus and take a microsecond each.
 */
void
rb_stop_kernels(rb_device_run *run)
{
	if (!run->stopping)
		cudaMemsetAsync(run->queue->stop, 0xff, sizeof(uint32_t), run->queue->copy);
	run->stopping = true;
}

void
rb_queue_idle(rb_device_run *run)
{
	cudaStreamSynchronize(run->queue->copy);
	cudaStreamSynchronize(run->queue->compute);
	if (run->stopping)
		cudaMemsetAsync(run->queue->stop, 0, sizeof(uint32_t), run->queue->compute);
	run->stopping = false;
}

void
rb_sleep_ns(long ns)
{
	struct timespec t = {0, ns};

	nanosleep(&t, NULL);
}

/* Polls without sleeping for the first two milliseconds, because most waits take microseconds. */
rb_status
rb_wait(rb_device_run *run, cudaEvent_t event)
{
	double began = rb_now_ms();
	cudaError_t error;

	while ((error = cudaEventQuery(event)) == cudaErrorNotReady)
	{
		if (rb_should_stop(run->ctx))
			rb_stop_kernels(run);
		if (rb_now_ms() - began > 2)
			rb_sleep_ns(50000);
	}
	if (error != cudaSuccess)
		return rb_cuda_failed(run, error, "cudaEventQuery()");
	return rb_should_stop(run->ctx) ? RB_STOPPED : RB_OK;
}

rb_status
rb_sync(rb_device_run *run)
{
	RB_CUDA(run, cudaEventRecord(run->queue->done, run->queue->compute));
	RB_TRY(rb_wait(run, run->queue->done));
	return add_times_between_marks(run);
}

/* ---- to the device ---- */

/* Returns true if the driver can copy from or to this host memory directly. */
static bool
is_host_memory_pinned(const void *p)
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

/* Copies a piece of the bytes between pinned and ordinary host memory, on one thread of a loop. */
static void
copy_bytes_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const rb_copy *copy = (const rb_copy *) arg;

	(void) me;
	memcpy(copy->to + from, copy->from + from, to - from);
}

/*
 * Opens a team of threads that copies `bytes` bytes in pieces of `grain` bytes. If there are few
 * pieces, one thread copies them.
 */
static rb_status
open_copying_team(rb_device_run *run, size_t bytes, size_t grain, rb_thread **team)
{
	const int threads = run->ctx->threads < COPY_THREADS ? run->ctx->threads : COPY_THREADS;

	return rb_team_open(run->ctx, bytes < 4 * grain ? 1 : threads, team);
}

/* Uploads bytes in pieces through the pinned buffers of the queue, with several threads. */
static rb_status
upload_through_pinned_slots(rb_device_run *run, rb_thread *me, void *to, const void *from,
							size_t bytes)
{
	rb_device_queue *queue = run->queue;
	int k = 0;

	for (size_t at = 0; at < bytes; at += RB_SLOT_BYTES, k++)
	{
		size_t n = bytes - at < RB_SLOT_BYTES ? bytes - at : RB_SLOT_BYTES;
		int s = k % RB_SLOTS;
		rb_copy copy = {queue->slot[s], (const char *) from + at};

		/* Wait for the last transfer from this buffer, by this or an earlier call. */
		RB_TRY(rb_wait(run, queue->slot_done[s]));
		RB_TRY(rb_loop(me, n, COPY_GRAIN, copy_bytes_piece, &copy));
		RB_CUDA(run, cudaMemcpyAsync((char *) to + at, queue->slot[s], n, cudaMemcpyHostToDevice,
									 queue->compute));
		RB_CUDA(run, cudaEventRecord(queue->slot_done[s], queue->compute));
		rb_progress(run->ctx, RB_STAGE_UPLOAD, at + n, bytes);
	}
	return RB_OK;
}

rb_status
rb_upload(rb_device_run *run, void *to, const void *from, size_t bytes)
{
	rb_thread *me;
	rb_status status;

	run->ctx->stats.stage[RB_STAGE_UPLOAD].count += bytes;
	if (is_host_memory_pinned(from))
	{
		RB_CUDA(run, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, run->queue->compute));
		return RB_OK; /* The caller leaves the memory unchanged until the join ends. */
	}
	RB_TRY(open_copying_team(run, bytes, COPY_GRAIN, &me));
	status = upload_through_pinned_slots(run, me, to, from, bytes);
	rb_team_close(&me);
	return status;
}

/* ---- from the device ---- */

rb_status
rb_download(rb_device_run *run, const void *from, size_t bytes, size_t element, rb_consume consume,
			void *arg)
{
	rb_device_queue *queue = run->queue;
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

			RB_TRY(rb_wait(run, queue->slot_done[s]));
			RB_CUDA(run, cudaEventRecord(queue->slot_from[s], queue->copy));
			RB_CUDA(run, cudaMemcpyAsync(queue->slot[s], (const char *) from + asked, m,
										 cudaMemcpyDeviceToHost, queue->copy));
			RB_CUDA(run, cudaEventRecord(queue->slot_done[s], queue->copy));
			asked += m;
		}
		RB_TRY(rb_wait(run, queue->slot_done[get % RB_SLOTS]));
		RB_CUDA(run, cudaEventElapsedTime(&ms, queue->slot_from[get % RB_SLOTS],
										  queue->slot_done[get % RB_SLOTS]));
		run->ctx->stats.stage[RB_STAGE_DOWNLOAD].ms += ms;
		RB_TRY(consume(run, arg, queue->slot[get % RB_SLOTS], n / element));
		taken += n;
		get++;
	}
	return RB_OK;
}

typedef struct rb_fetched
{
	rb_thread *me;
	char *to;
} rb_fetched;

/* Copies a piece of downloaded bytes to its position in host memory. */
static rb_status
store_fetched_bytes(rb_device_run *run, void *arg, const void *bytes, size_t n)
{
	rb_fetched *fetched = (rb_fetched *) arg;
	rb_copy copy = {fetched->to, (const char *) bytes};

	(void) run;
	RB_TRY(rb_loop(fetched->me, n, FETCH_GRAIN, copy_bytes_piece, &copy));
	fetched->to += n;
	return RB_OK;
}

rb_status
rb_fetch(rb_device_run *run, void *to, const void *from, size_t bytes)
{
	rb_fetched fetched = {NULL, (char *) to};
	rb_status status;

	RB_TRY(open_copying_team(run, bytes, FETCH_GRAIN, &fetched.me));
	status = rb_download(run, from, bytes, 1, store_fetched_bytes, &fetched);
	rb_team_close(&fetched.me);
	return status;
}
