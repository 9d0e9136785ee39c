/*
 * cache.cu
 *	  Caches on the device the coordinates of sets that the host has cached.
 *
 * Each cached set has a unique number that is never reused. After its first join, the coordinates
 * stay on the device under that number, within a limit, so that the next join need not upload them.
 *
 * Any number of joins may use a copy at once. Unused copies are evicted if memory is needed for
 * another copy (the least recently used one first) or for a join. A new copy belongs to the join
 * that builds it until that join ends, because only then is it known to be complete.
 */
#include "cuda.cuh"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The cached copies use at most 1/QUARTER of the device's memory by default */
#define QUARTER 4

struct rb_device_copy
{
	struct rb_device_copy *next;
	uint64_t number;
	double *coords;
	uint64_t bytes;
	uint32_t users;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the copies of a device, most recently used first; the caller holds the lock ---- */

static rb_device_copy *
find_copy(rb_device *device, uint64_t number)
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

static void
unlink_copy(rb_device *device, rb_device_copy **link)
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
	unlink_copy(device, last);
	return copy;
}

static void
free_copy(rb_device_run *run, rb_device_copy *copy)
{
	rb_device_free_block(run, copy->coords);
	free(copy);
}

/* Reserves `bytes` more bytes within the limit, and evicts idle copies to make room. */
static bool
reserve_bytes(rb_device_run *run, uint64_t bytes)
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
		free_copy(run, idle);
	}
	device->copied += bytes;
	return true;
}

/* ---- for a join ---- */

bool
rb_copies_evict(rb_device_run *run)
{
	rb_device_copy *idle;

	pthread_mutex_lock(&lock);
	idle = unlink_idle_copy(run->device);
	pthread_mutex_unlock(&lock);
	if (idle == NULL)
		return false;
	free_copy(run, idle);
	return true;
}

uint64_t
rb_copies_idle(rb_device *device)
{
	uint64_t bytes = 0;

	pthread_mutex_lock(&lock);
	for (const rb_device_copy *copy = device->copies; copy != NULL; copy = copy->next)
		if (copy->users == 0)
			bytes += copy->bytes;
	pthread_mutex_unlock(&lock);
	return bytes;
}

static rb_status
make_copy(rb_device_run *run, const rb_set *set, uint64_t bytes, rb_device_copy **made)
{
	rb_device_copy *copy = (rb_device_copy *) calloc(1, sizeof(*copy));
	rb_status status;

	*made = NULL;
	if (copy == NULL || rb_device_alloc_block(run, (void **) &copy->coords, bytes) != cudaSuccess)
	{
		cudaGetLastError();
		free(copy);
		return RB_OK; /* The caller falls back to a copy of its own. */
	}
	copy->number = set->number;
	copy->bytes = bytes;
	status = rb_upload(run, copy->coords, set->coords, bytes);
	if (status == RB_OK)
		*made = copy;
	else
		free_copy(run, copy);
	return status;
}

rb_status
rb_copy_take(rb_device_run *run, const rb_set *set, const double **coords)
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
			return RB_OK;
		}
	pthread_mutex_lock(&lock);
	copy = find_copy(device, set->number);
	if (copy != NULL)
		copy->users++;
	else
		room = reserve_bytes(run, bytes);
	pthread_mutex_unlock(&lock);
	if (copy == NULL && !room)
		return RB_OK;
	if (copy == NULL)
	{
		status = make_copy(run, set, bytes, &copy);
		if (copy == NULL)
		{
			pthread_mutex_lock(&lock);
			device->copied -= bytes;
			pthread_mutex_unlock(&lock);
			return status;
		}
	}
	run->copy[run->ncopies++] = copy;
	*coords = copy->coords;
	return RB_OK;
}

void
rb_copies_give(rb_device_run *run, bool failed)
{
	rb_device *device = run->device;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < run->ncopies; i++)
	{
		rb_device_copy *copy = run->copy[i];

		if (copy->users > 0)
			copy->users--;
		else if (failed || find_copy(device, copy->number) != NULL)
		{
			/* The copy is incomplete, or another join has published one in the meantime. */
			device->copied -= copy->bytes;
			free_copy(run, copy);
		}
		else
		{
			copy->next = device->copies;
			device->copies = copy;
		}
	}
	run->ncopies = 0;
	pthread_mutex_unlock(&lock);
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

	pthread_mutex_lock(&lock);
	for (rb_device_copy **link = &device->copies; *link != NULL; link = &(*link)->next)
		if ((*link)->number == number)
		{
			if (drop && (*link)->users == 0)
			{
				dropped = *link;
				unlink_copy(device, link);
			}
			else
				bytes = (*link)->bytes;
			break;
		}
	pthread_mutex_unlock(&lock);
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
	pthread_mutex_lock(&lock);
	while (device->copies != NULL)
	{
		rb_device_copy *copy = device->copies;

		device->copies = copy->next;
		cudaFree(copy->coords);
		free(copy);
	}
	device->copied = 0;
	pthread_mutex_unlock(&lock);
	cudaGetLastError();
}
