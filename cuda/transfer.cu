/*
 * transfer.cu
 *	  Transfers bytes to the device and back.
 *
 * The host's arrays are pageable memory, which a device reads at a tenth of the bus's speed.
 * Pinning them costs more than copying them, so all bytes pass through a few pinned buffers that
 * live as long as the device is open: all threads copy into one buffer while another is being
 * transferred. Memory that is already pinned is transferred directly.
 */
#include "cuda.cuh"
#include "core/base/parallel.h"

#include <string.h>

#define COPY_THREADS 8
#define COPY_GRAIN ((size_t) 256 << 10)
/*
 * Bytes per task of a download into new memory: two threads that start in one huge page would both
 * clear it
 */
#define FETCH_GRAIN ((size_t) 2 << 20)

/* ---- to the device ---- */

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

/*
 * Opens a team of threads that copies `bytes` bytes in pieces of `grain` bytes. If there are few
 * pieces, one thread copies them.
 */
static rb_status
copy_team(rb_device_run *run, size_t bytes, size_t grain, rb_thread **team)
{
	const int threads = run->ctx->threads < COPY_THREADS ? run->ctx->threads : COPY_THREADS;

	return rb_team_open(run->ctx, bytes < 4 * grain ? 1 : threads, team);
}

static rb_status
upload_in_pieces(rb_device_run *run, rb_thread *me, void *to, const void *from, size_t bytes)
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
		RB_TRY(rb_loop(me, n, COPY_GRAIN, copy_piece, &copy));
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
	if (is_pinned(from))
	{
		RB_CUDA(run, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, run->queue->compute));
		return RB_OK; /* The caller leaves the memory unchanged until the join ends. */
	}
	RB_TRY(copy_team(run, bytes, COPY_GRAIN, &me));
	status = upload_in_pieces(run, me, to, from, bytes);
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

static rb_status
consume_copy(rb_device_run *run, void *arg, const void *bytes, size_t n)
{
	rb_fetched *fetched = (rb_fetched *) arg;
	rb_copy copy = {fetched->to, (const char *) bytes};

	(void) run;
	RB_TRY(rb_loop(fetched->me, n, FETCH_GRAIN, copy_piece, &copy));
	fetched->to += n;
	return RB_OK;
}

rb_status
rb_fetch(rb_device_run *run, void *to, const void *from, size_t bytes)
{
	rb_fetched fetched = {NULL, (char *) to};
	rb_status status;

	RB_TRY(copy_team(run, bytes, FETCH_GRAIN, &fetched.me));
	status = rb_download(run, from, bytes, 1, consume_copy, &fetched);
	rb_team_close(&fetched.me);
	return status;
}
