/*
 * memory.cu
 *	  Manages device memory: the blocks that a join holds, and copies of the coordinates of sets
 *	  that the host has cached.
 *
 * Each block is counted against the join's budget, and all blocks are freed when the join ends.
 * While the device is open, a pool retains part of its memory for the next join, because mapping
 * new memory costs more than filling it. If the device is full because other sessions use it, an
 * allocation waits a little, because joins are short and idle sessions free all their memory.
 *
 * Each cached set has a unique number that is never reused. After its first join, the coordinates
 * stay on the device under that number, within a limit, so that the next join need not upload them.
 *
 * Any number of joins may use a copy at once. Unused copies are evicted if memory is needed for
 * another copy (the least recently used one first) or for a join. A new copy belongs to the join
 * that builds it until that join ends, because only then is it known to be complete.
 *
 * A delta set (delta_set.c) of a cached set is built on the device: only the cuts and the few new
 * rows are uploaded. A kernel copies the cached rows at memory speed, which takes a third of a
 * millisecond for half a gigabyte.
 */
#include "level.cuh"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The cached copies use at most 1/QUARTER of the device's memory by default */
#define QUARTER 4

/* A copy of a cached set; `users` joins are using it */
typedef struct rb_device_copy
{
	struct rb_device_copy *next;
	uint64_t number;
	double *coords;
	uint64_t bytes;
	double bounds[6]; /* Bounds of all parts (rb_device_set.bounds) */
	uint32_t users;
} rb_device_copy;

static pthread_mutex_t copies_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- from the device's pool, if it has one, in the order of the join's stream ---- */

/*
 * Allocates device memory from the pool, in the order of the compute stream, or directly if the
 * device has no pool.
 */
static cudaError_t
allocate_in_stream(rb_device_run *run, void **block, uint64_t bytes)
{
	if (run->device->pools)
		return cudaMallocFromPoolAsync(block, bytes, run->device->pool, run->queue->compute);
	return cudaMalloc(block, bytes);
}

/*
 * Frees device memory that allocate_in_stream allocated, in the order of the compute stream if the
 * device has a pool.
 */
static void
free_in_stream(rb_device_run *run, void *block)
{
	if (run->device->pools)
		cudaFreeAsync(block, run->queue->compute);
	else
		cudaFree(block);
}

/* ---- the copies of a device, most recently used first; the caller holds the lock ---- */

/* Finds the copy of a set and moves it to the front, or returns NULL. */
static rb_device_copy *
find_copy_of_set(rb_device *device, uint64_t number)
{
	for (rb_device_copy **link = &device->copies; *link != NULL; link = &(*link)->next)
		if ((*link)->number == number)
		{
			rb_device_copy *copy = *link;

			*link = copy->next;
			copy->next = device->copies;
			device->copies = copy;
			return copy;
		}
	return NULL;
}

/*
 * Removes the copy of a set from the device's list, and its bytes from those that count toward the
 * cache limit.
 */
static void
unlink_copy_of_set(rb_device *device, rb_device_copy **link)
{
	rb_device_copy *copy = *link;

	*link = copy->next;
	device->copied -= copy->bytes;
}

/* Removes the least recently used idle copy from the list and returns it, or NULL. */
static rb_device_copy *
unlink_idle_copy(rb_device *device)
{
	rb_device_copy **last = NULL;
	rb_device_copy *copy;

	for (rb_device_copy **link = &device->copies; *link != NULL; link = &(*link)->next)
		if ((*link)->users == 0)
			last = link;
	if (last == NULL)
		return NULL;
	copy = *last;
	unlink_copy_of_set(device, last);
	return copy;
}

/* Frees the device memory of a copy that is no longer in the list. */
static void
free_copy_of_set(rb_device_run *run, rb_device_copy *copy)
{
	free_in_stream(run, copy->coords);
	free(copy);
}

/* Reserves `bytes` more bytes within the limit, and evicts idle copies to make room. */
static bool
reserve_device_bytes(rb_device_run *run, uint64_t bytes)
{
	rb_device *device = run->device;
	uint64_t limit = run->ctx->settings.gpu_cache_limit;

	if (limit == UINT64_MAX)
		limit = device->bytes / QUARTER;
	if (bytes > limit)
		return false;
	while (device->copied + bytes > limit)
	{
		rb_device_copy *idle = unlink_idle_copy(device);

		if (idle == NULL)
			return false;
		free_copy_of_set(run, idle);
	}
	device->copied += bytes;
	return true;
}

bool
rb_copies_evict(rb_device_run *run)
{
	rb_device_copy *idle;

	pthread_mutex_lock(&copies_lock);
	idle = unlink_idle_copy(run->device);
	pthread_mutex_unlock(&copies_lock);
	if (idle == NULL)
		return false;
	free_copy_of_set(run, idle);
	return true;
}

/* Returns the bytes of the copies that no join uses. */
static uint64_t
idle_bytes_of_copies(rb_device *device)
{
	uint64_t bytes = 0;

	pthread_mutex_lock(&copies_lock);
	for (const rb_device_copy *copy = device->copies; copy != NULL; copy = copy->next)
		if (copy->users == 0)
			bytes += copy->bytes;
	pthread_mutex_unlock(&copies_lock);
	return bytes;
}

/* ---- the blocks of a join ---- */

uint64_t
rb_device_reserved(rb_device_run *run)
{
	uint64_t kept = 0;

	if (run->device->pool != NULL)
	{
		cudaMemPoolGetAttribute(run->device->pool, cudaMemPoolAttrReservedMemCurrent, &kept);
		cudaGetLastError();
	}
	return kept;
}

uint64_t
rb_device_budget(rb_device_run *run)
{
	uint64_t kept = rb_device_reserved(run), used = 0;

	if (run->device->pool != NULL)
	{
		cudaMemPoolGetAttribute(run->device->pool, cudaMemPoolAttrUsedMemCurrent, &used);
		cudaGetLastError();
	}
	return run->free + (kept > used ? kept - used : 0) + idle_bytes_of_copies(run->device);
}

rb_status
rb_device_wait_for_memory(rb_device_run *run)
{
	if (rb_copies_evict(run))
		return RB_OK;
	if (rb_should_stop(run->ctx))
		return RB_STOPPED;
	if (rb_now_ms() > run->until)
		return RB_DEVICE_FULL;
	rb_sleep_ns(10000000);
	return RB_OK;
}

rb_status
rb_device_alloc(rb_device_run *run, void **block, uint64_t bytes)
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
		cudaError_t error = allocate_in_stream(run, block, bytes);

		if (error == cudaSuccess)
			break;
		if (error != cudaErrorMemoryAllocation)
			return rb_cuda_failed(run, error, "cudaMalloc()");
		cudaGetLastError();
		RB_TRY(rb_device_wait_for_memory(run));
	}
	run->block[i] = *block;
	run->size[i] = bytes;
	run->used += bytes;
	return RB_OK;
}

void
rb_device_free(rb_device_run *run, void **block)
{
	if (*block == NULL)
		return;
	for (int i = 0; i < RB_BLOCKS; i++)
		if (run->block[i] == *block)
		{
			run->block[i] = NULL;
			run->used -= run->size[i];
			free_in_stream(run, *block);
		}
	*block = NULL;
}

void
rb_device_free_all(rb_device_run *run)
{
	for (int i = 0; i < RB_BLOCKS; i++)
	{
		if (run->block[i] != NULL)
			free_in_stream(run, run->block[i]);
		run->block[i] = NULL;
	}
	run->used = 0;
	cudaGetLastError();
}

/* ---- coordinates of a set ---- */

/* Computes the bounds of all parts of a copy of a set that is about to be cached, not padded. */
static __global__ void
__launch_bounds__(THREADS, RB_BOUNDS_BLOCKS)
	bounds_of_set_kernel(const rb_device_set side, rb_count *bounds)
{
	double v[6];

#pragma unroll
	for (int k = 0; k < 6; k++)
		v[k] = INFINITY;
	for (rb_count i = (rb_count) blockIdx.x * THREADS + threadIdx.x; i < side.n;
		 i += (rb_count) gridDim.x * THREADS)
	{
		double lo[3], hi[3];

		rb_kind_box(side.kind, side.coords, i, lo, hi);
#pragma unroll
		for (int a = 0; a < 3; a++)
		{
			v[a] = lo[a] < v[a] ? lo[a] : v[a];
			v[3 + a] = -hi[a] < v[3 + a] ? -hi[a] : v[3 + a];
		}
	}
	rb_combine_bounds(bounds, v);
}

/*
 * Writes the bounds of a cached copy's coordinates, reduced as order keys, to the mailbox that the
 * host reads.
 */
static __global__ void
report_bounds_kernel(const rb_count *bounds, rb_mailbox *mailbox)
{
	if (threadIdx.x < 6)
		mailbox->bounds[threadIdx.x] = rb_key_value(bounds[threadIdx.x]);
}

/*
 * Finds the bounds of a copy of a set that is about to be cached: the minima of lo and of -hi over
 * the boxes of all parts, which are not padded. Waits for them.
 */
static rb_status
find_bounds_of_cached_copy(rb_device_run *run, const rb_device_set *side, double bounds[6])
{
	const rb_count most = (rb_count) RB_BOUNDS_BLOCKS * run->device->sms;
	cudaStream_t stream = run->queue->compute;
	rb_count *key;

	RB_TRY(rb_device_alloc(run, (void **) &key, 6 * sizeof(rb_count)));
	RB_CUDA(run, cudaMemsetAsync(key, 0xff, 6 * sizeof(rb_count), stream));
	bounds_of_set_kernel<<<grid_blocks_for(side->n, (uint32_t) most), THREADS, 0, stream>>>(*side,
																							key);
	RB_LAUNCHED(run, "bounds_of_set_kernel");
	report_bounds_kernel<<<1, 32, 0, stream>>>(key, run->queue->mailbox);
	RB_LAUNCHED(run, "report_bounds_kernel");
	rb_device_free(run, (void **) &key);
	RB_TRY(rb_sync(run));
	memcpy(bounds, run->queue->mailbox->bounds, 6 * sizeof(double));
	return RB_OK;
}

/* Allocates and uploads a copy of a set and finds its bounds; *made is NULL if there is no room. */
static rb_status
make_copy_of_set(rb_device_run *run, const rb_set *set, uint64_t bytes, rb_device_copy **made)
{
	rb_device_copy *copy = (rb_device_copy *) calloc(1, sizeof(*copy));
	rb_device_set side;
	rb_status status;

	*made = NULL;
	if (copy == NULL || allocate_in_stream(run, (void **) &copy->coords, bytes) != cudaSuccess)
	{
		cudaGetLastError();
		free(copy);
		return RB_OK; /* The caller falls back to a copy of its own. */
	}
	copy->number = set->number;
	copy->bytes = bytes;
	memset(&side, 0, sizeof(side));
	side.kind = set->kind;
	side.n = set->nparts;
	side.coords = copy->coords;
	status = rb_upload(run, copy->coords, set->coords, bytes);
	if (status == RB_OK)
		status = find_bounds_of_cached_copy(run, &side, copy->bounds);
	if (status == RB_OK)
		*made = copy;
	else
		free_copy_of_set(run, copy);
	return status;
}

/*
 * Finds or builds the copy of a cached set; *coords is NULL if there is none and none can be built.
 */
static rb_status
use_or_make_copy_of_set(rb_device_run *run, const rb_set *set, const double **coords,
						const double **bounds)
{
	const uint64_t bytes =
		(uint64_t) set->nparts * (uint64_t) rb_kind_width(set->kind) * sizeof(double);
	rb_device *device = run->device;
	rb_device_copy *copy;
	rb_status status;
	bool room = false;

	*coords = NULL;
	if (set->number == 0 || set->nparts == 0 || run->ctx->settings.gpu_cache_limit == 0)
		return RB_OK;
	/* Both sides may be the same set. */
	for (int i = 0; i < run->ncopies; i++)
		if (run->copy[i]->number == set->number)
		{
			*coords = run->copy[i]->coords;
			*bounds = run->copy[i]->bounds;
			return RB_OK;
		}
	pthread_mutex_lock(&copies_lock);
	copy = find_copy_of_set(device, set->number);
	if (copy != NULL)
		copy->users++;
	else
		room = reserve_device_bytes(run, bytes);
	pthread_mutex_unlock(&copies_lock);
	if (copy == NULL && !room)
		return RB_OK;
	if (copy == NULL)
	{
		status = make_copy_of_set(run, set, bytes, &copy);
		if (copy == NULL)
		{
			pthread_mutex_lock(&copies_lock);
			device->copied -= bytes;
			pthread_mutex_unlock(&copies_lock);
			return status;
		}
	}
	run->copy[run->ncopies++] = copy;
	*coords = copy->coords;
	*bounds = copy->bounds;
	return RB_OK;
}

#define GATHER_THREADS 256

/* Gathers the coordinates of a delta set from its cached set and its new rows. */
static __global__ void
gather_cuts_kernel(const rb_cut *cuts, uint32_t ncuts, const double *kept, const double *fresh,
				   double *to, uint64_t n, uint32_t width)
{
	const uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
	{
		const uint32_t part = (uint32_t) (i / width);
		uint32_t low = 0, high = ncuts;
		uint64_t from;

		while (high - low > 1)
		{
			const uint32_t mid = low + (high - low) / 2;

			if (cuts[mid].part <= part)
				low = mid;
			else
				high = mid;
		}
		from = (uint64_t) (cuts[low].from_part + (part - cuts[low].part)) * width + i % width;
		to[i] = cuts[low].fresh ? fresh[from] : kept[from];
	}
}

/*
 * Builds the coordinates of a delta set in memory of this join; *coords is NULL if its cached base
 * set has no copy on the device.
 */
static rb_status
gather_coords_of_delta_set(rb_device_run *run, const rb_set *set, const double **coords)
{
	const rb_view *view = set->view;
	const uint32_t width = (uint32_t) rb_kind_width(set->kind);
	const uint64_t n = (uint64_t) set->nparts * width;
	const size_t cuts_bytes = (view->ncuts + 1) * sizeof(rb_cut);
	const size_t fresh_bytes = (size_t) view->fresh->nparts * width * sizeof(double);
	const double *kept;
	const double *bounds;
	rb_cut *cuts;
	double *fresh = NULL;
	double *to;
	uint64_t blocks = (n + GATHER_THREADS - 1) / GATHER_THREADS;

	*coords = NULL;
	RB_TRY(use_or_make_copy_of_set(run, view->kept, &kept, &bounds));
	if (kept == NULL)
		return RB_OK;
	RB_TRY(rb_device_alloc(run, (void **) &to, n * sizeof(double)));
	RB_TRY(rb_device_alloc(run, (void **) &cuts, cuts_bytes));
	RB_TRY(rb_upload(run, cuts, view->cuts, cuts_bytes));
	if (fresh_bytes > 0)
	{
		RB_TRY(rb_device_alloc(run, (void **) &fresh, fresh_bytes));
		RB_TRY(rb_upload(run, fresh, view->fresh->coords, fresh_bytes));
	}
	if (blocks > (uint64_t) run->device->sms * 64)
		blocks = (uint64_t) run->device->sms * 64;
	gather_cuts_kernel<<<(unsigned) blocks, GATHER_THREADS, 0, run->queue->compute>>>(
		cuts, view->ncuts, kept, fresh, to, n, width);
	RB_LAUNCHED(run, "gather");
	/* Memory is freed in stream order, so the kernel ends first. */
	rb_device_free(run, (void **) &cuts);
	rb_device_free(run, (void **) &fresh);
	*coords = to;
	return RB_OK;
}

rb_status
rb_cached_coords(rb_device_run *run, const rb_set *set, const double **coords,
				 const double **bounds)
{
	*coords = NULL;
	*bounds = NULL;
	if (set->view == NULL)
		return use_or_make_copy_of_set(run, set, coords, bounds);
	return set->coords == NULL ? gather_coords_of_delta_set(run, set, coords) : RB_OK;
}

void
rb_copies_give(rb_device_run *run, bool failed)
{
	rb_device *device = run->device;

	pthread_mutex_lock(&copies_lock);
	for (int i = 0; i < run->ncopies; i++)
	{
		rb_device_copy *copy = run->copy[i];

		if (copy->users > 0)
			copy->users--;
		else if (failed || find_copy_of_set(device, copy->number) != NULL)
		{
			/* The copy is incomplete, or another join has published one in the meantime. */
			device->copied -= copy->bytes;
			free_copy_of_set(run, copy);
		}
		else
		{
			copy->next = device->copies;
			device->copies = copy;
		}
	}
	run->ncopies = 0;
	pthread_mutex_unlock(&copies_lock);
}

/* ---- for the owner of the cached sets ---- */

/*
 * Returns the bytes of a set's copy. With drop, evicts an idle copy; no work on the device refers
 * to it, so it is freed at once.
 */
uint64_t
rb_copy_bytes(rb_device *device, uint64_t number, bool drop)
{
	rb_device_copy *dropped = NULL;
	uint64_t bytes = 0;

	pthread_mutex_lock(&copies_lock);
	for (rb_device_copy **link = &device->copies; *link != NULL; link = &(*link)->next)
		if ((*link)->number == number)
		{
			if (drop && (*link)->users == 0)
			{
				dropped = *link;
				unlink_copy_of_set(device, link);
			}
			else
				bytes = (*link)->bytes;
			break;
		}
	pthread_mutex_unlock(&copies_lock);
	if (dropped != NULL)
	{
		cudaFree(dropped->coords);
		cudaGetLastError();
		free(dropped);
	}
	return bytes;
}

void
rb_copies_close(rb_device *device)
{
	pthread_mutex_lock(&copies_lock);
	while (device->copies != NULL)
	{
		rb_device_copy *copy = device->copies;

		device->copies = copy->next;
		cudaFree(copy->coords);
		free(copy);
	}
	device->copied = 0;
	pthread_mutex_unlock(&copies_lock);
	cudaGetLastError();
}
