/*
 * device.cu
 *	  The device of this process: found once, open while joins need it.
 *
 * An open device costs its card half a gigabyte before anything is computed, and a
 * database has many sessions.  So the device is opened by the first join, stays open
 * while joins come, and is closed by a thread of ours when there was none for about
 * a second: an idle session holds nothing of the card.  Opening it again takes about
 * 150 milliseconds.
 *
 * What is opened is a context of our own and a pool of memory of our own, not those
 * that all users of a device in one process share: another library may be at work in
 * the same session, and closing ours must not take its memory away.
 *
 *		joins	take ... give      take ... give
 *		device	[ open ......................... 1 s ] closed
 *
 * A card may be full because other sessions work on it.  Opening it waits for them,
 * as every allocation does (memory.cu), until the join's one deadline.
 */
#include "rb_cuda.cuh"
#include "rb_parallel.h"

#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAST_CC 75 /* compute capability, times ten */
#define IDLE_MS 700
#define POLL_MS 10
#define KEEPER_STACK ((size_t) 1 << 20) /* the driver works on it */
/* of the card: what stays in the pool between two joins, for mapping memory is slow */
#define KEPT_PART 64
/* what an open device takes of a card, about */
#define OPEN_BYTES ((uint64_t) 550 << 20)

static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static rb_device card;
static bool card_known;
static pid_t card_process;
static char fault[160]; /* why the device is used no more, or empty */

static CUcontext context;
static enum { CLOSED, WANTED, OPENING, OPEN } state;
static rb_status refusal; /* why it was closed again, and in words */
static char refusal_text[200];
static int users;      /* joins that have it or wait for it */
static double left_ms; /* when the last one gave it back */

static pthread_cond_t changed;
static pthread_t keeper;
static bool keeper_made;  /* must be joined */
static bool keeper_lives; /* will look at all this again */
static bool ending;       /* the process ends */

/* the driver's functions for contexts: asked for by name, so that no driver need be there */
static CUresult (*context_create)(CUcontext *, unsigned, CUdevice);
static CUresult (*context_destroy)(CUcontext);
static CUresult (*context_set)(CUcontext);

/* ---- finding it ---- */

static bool
driver_function(const char *name, unsigned version, void *function)
{
	cudaDriverEntryPointQueryResult result;

	if (cudaGetDriverEntryPointByVersion(name, (void **) function, version, cudaEnableDefault,
										 &result) == cudaSuccess &&
		result == cudaDriverEntryPointSuccess)
		return true;
	cudaGetLastError();
	return false;
}

/* RB_NO_DEVICE and why, or the card; the lock is held */
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
	if (!driver_function("cuCtxCreate", 3020, &context_create) ||
		!driver_function("cuCtxDestroy", 4000, &context_destroy) ||
		!driver_function("cuCtxSetCurrent", 4000, &context_set))
	{
		snprintf(text, size, "the CUDA driver lacks functions for contexts");
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

rb_status
rb_device_probe(char *text, size_t size)
{
	rb_status status;

	pthread_mutex_lock(&device_lock);
	status = card_find(text, size);
	if (status == RB_OK)
		snprintf(text, size, "%s", card.text);
	pthread_mutex_unlock(&device_lock);
	return status;
}

bool
rb_device_warm(void)
{
	bool warm;

	pthread_mutex_lock(&device_lock);
	warm = state == OPEN && card_process == getpid();
	pthread_mutex_unlock(&device_lock);
	return warm;
}

/* ---- open and closed; one thread at a time, without the lock ---- */

static bool
pool_make(void)
{
	struct cudaMemPoolProps props;
	uint64_t keep = card.bytes / KEPT_PART;

	card.pool = NULL;
	if (!card.pools)
		return true;
	memset(&props, 0, sizeof(props));
	props.allocType = cudaMemAllocationTypePinned;
	props.location.type = cudaMemLocationTypeDevice;
	props.location.id = card.id;
	return cudaMemPoolCreate(&card.pool, &props) == cudaSuccess &&
		   cudaMemPoolSetAttribute(card.pool, cudaMemPoolAttrReleaseThreshold, &keep) ==
			   cudaSuccess;
}

/* nothing of it is in use */
static void
device_close(void)
{
	context_set(context);
	rb_queues_release();
	if (card.pool != NULL)
		cudaMemPoolDestroy(card.pool);
	card.pool = NULL;
	context_set(NULL);
	context_destroy(context);
	context = NULL;
	cudaGetLastError();
}

static rb_status
device_open(char *text, size_t size)
{
	CUresult result = context_create(&context, 0, (CUdevice) card.id);
	bool made;

	if (result == CUDA_ERROR_OUT_OF_MEMORY)
		return RB_DEVICE_FULL;
	if (result != CUDA_SUCCESS)
	{
		snprintf(text, size, "cuCtxCreate: error %d", (int) result);
		return RB_NO_DEVICE;
	}
	/* room for what a kernel might want and none of ours does: 250 MB */
	cudaDeviceSetLimit(cudaLimitStackSize, 0);
	cudaDeviceSetLimit(cudaLimitMallocHeapSize, 0);
	cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 0);
	made = pool_make();
	cudaGetLastError();
	context_set(NULL);
	if (made)
		return RB_OK;
	device_close();
	return RB_DEVICE_FULL;
}

/* ---- the thread that opens and closes it ---- */

/* the lock is held, and let go while the driver works */
static void
open_now(void)
{
	char text[sizeof(refusal_text)] = "";
	rb_status status;

	state = OPENING;
	pthread_mutex_unlock(&device_lock);
	status = device_open(text, sizeof(text));
	pthread_mutex_lock(&device_lock);
	state = status == RB_OK ? OPEN : CLOSED;
	refusal = status;
	memcpy(refusal_text, text, sizeof(text));
	pthread_cond_broadcast(&changed);
}

static void
wait_until(double ms)
{
	struct timespec t;

	t.tv_sec = (time_t) (ms / 1e3);
	t.tv_nsec = (long) ((ms - 1e3 * (double) t.tv_sec) * 1e6);
	pthread_cond_timedwait(&changed, &device_lock, &t);
}

static void *
keep(void *arg)
{
	(void) arg;
	pthread_mutex_lock(&device_lock);
	while (!ending && state != CLOSED)
	{
		if (state == WANTED)
			open_now();
		else if (users > 0) /* nobody wakes us at the end of every join */
			wait_until(rb_now_ms() + IDLE_MS);
		else if (rb_now_ms() < left_ms + IDLE_MS)
			wait_until(left_ms + IDLE_MS);
		else
		{
			device_close();
			state = CLOSED;
		}
	}
	keeper_lives = false;
	pthread_mutex_unlock(&device_lock);
	return NULL;
}

/* before the runtime's own exit handlers: nobody is to close what they take apart */
static void
end_keeper(void)
{
	if (card_process != getpid())
		return;
	pthread_mutex_lock(&device_lock);
	ending = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&device_lock);
	if (keeper_made)
		pthread_join(keeper, NULL);
	keeper_made = false;
}

static void
keeper_init(void)
{
	static bool known;
	pthread_condattr_t attr;

	if (known)
		return;
	known = true;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &attr);
	pthread_condattr_destroy(&attr);
	atexit(end_keeper);
}

/* the lock is held; false: no thread was to be had */
static bool
keeper_start(void)
{
	int rc;

	if (keeper_lives)
		return true;
	if (keeper_made)
		pthread_join(keeper, NULL); /* it has let go of the lock for good */
	rc = rb_thread_start(&keeper, KEEPER_STACK, keep, NULL);
	keeper_made = keeper_lives = rc == 0;
	return rc == 0;
}

/* ---- for a join ---- */

/*
 * Opening may take long where many sessions do it at once, for the driver lets one in
 * after the other: so it is done apart, and a join that is to stop does not wait for it.
 * The lock is held.
 */
static rb_status
wait_for_open(rb_device_run *run)
{
	if (state == CLOSED)
	{
		state = WANTED;
		pthread_cond_broadcast(&changed);
		if (!keeper_start())
			open_now();
	}
	while (state == WANTED || state == OPENING)
	{
		if (rb_should_stop(run->ctx))
			return RB_STOPPED;
		wait_until(rb_now_ms() + POLL_MS);
	}
	return state == OPEN ? RB_OK : refusal;
}

rb_status
rb_device_take(rb_device_run *run)
{
	char text[200] = "";
	rb_status status;

	pthread_mutex_lock(&device_lock);
	status = card_find(text, sizeof(text));
	if (status == RB_OK)
	{
		keeper_init();
		users++;
		while ((status = wait_for_open(run)) == RB_DEVICE_FULL && rb_now_ms() < run->until)
			wait_until(rb_now_ms() + POLL_MS);
		if (status != RB_OK)
		{
			users--;
			memcpy(text, refusal_text, sizeof(text));
		}
	}
	pthread_mutex_unlock(&device_lock);
	if (status == RB_DEVICE_FULL)
		run->need = OPEN_BYTES;
	if (status == RB_NO_DEVICE)
		return rb_fail(run->ctx, status, 0, 0, text);
	if (status == RB_OK)
	{
		context_set(context);
		run->device = &card;
	}
	return status;
}

void
rb_device_give(rb_device_run *run)
{
	context_set(NULL);
	run->device = NULL;
	pthread_mutex_lock(&device_lock);
	users--;
	left_ms = rb_now_ms();
	if (users == 0 && !keeper_start())
	{
		device_close();
		state = CLOSED;
	}
	pthread_mutex_unlock(&device_lock);
}

/* an error that a next call would meet again makes the device unusable */
void
rb_device_check(const char *why)
{
	cudaError_t error = cudaDeviceSynchronize();

	if (error == cudaSuccess || error == cudaErrorMemoryAllocation)
	{
		cudaGetLastError();
		return;
	}
	pthread_mutex_lock(&device_lock);
	if (fault[0] == '\0')
		snprintf(fault, sizeof(fault), "the GPU failed earlier in this session (%.100s)",
				 why[0] != '\0' ? why : cudaGetErrorString(error));
	pthread_mutex_unlock(&device_lock);
}

void
rb_device_release(void)
{
	pthread_mutex_lock(&device_lock);
	if (card_known && card_process == getpid() && users == 0 && state == OPEN)
	{
		device_close();
		state = CLOSED;
	}
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&device_lock);
}
