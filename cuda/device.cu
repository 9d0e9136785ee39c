/*
 * device.cu
 *	  Manages the devices of this process: each is found once, and is open while joins need it.
 *
 * An open device costs half a gigabyte of its memory before anything is computed, and a database
 * has many sessions. So the first join opens a device, and the device stays open while joins
 * arrive. A background thread closes it after about a second without a join, or after the idle time
 * that the last join asked for. An idle session thus holds no device memory. Reopening a device
 * takes about 150 milliseconds.
 *
 * The device is opened with a CUDA context and a memory pool of its own instead of the default
 * ones, which all users of a device in one process share. Another library may be using the device
 * in the same session, and closing the device must not free that library's memory.
 *
 *	joins	take ... give      take ... give
 *	device	[ open ......................... 1 s ] closed
 *
 * A device may be full because other sessions use it. Opening it waits for them until the join's
 * deadline, as every allocation does (memory.cu).
 */
#include "cuda.cuh"
#include "core/base/parallel.h"

#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAST_CC 75 /* Minimum compute capability, times ten */
#define IDLE_MS 700
#define POLL_MS 10
/* Stack size in bytes; the CUDA driver runs on this stack */
#define KEEPER_STACK ((size_t) 1 << 20)
/* Approximate memory that an open device takes for itself, in bytes */
#define OPEN_BYTES ((uint64_t) 550 << 20)

typedef enum rb_slot_state
{
	CLOSED,
	WANTED,
	OPENING,
	OPEN
} rb_slot_state;

/* State of one device; the lock protects everything that changes */
typedef struct rb_device_slot
{
	rb_device device;
	bool known;
	char fault[160]; /* Reason why the device is no longer used, or empty */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	CUcontext context;
	rb_slot_state state;
	rb_status refusal; /* Status and reason of the last failed attempt to open the device */
	char refusal_text[200];
	int users;      /* Number of joins that use the device or wait for it */
	double idle_ms; /* Milliseconds that the device stays open without users */
	double left_ms; /* Time at which the last user returned the device (rb_now_ms) */
	bool trimmed;   /* True if the memory pool was trimmed after left_ms */
	pthread_t keeper;
	bool keeper_made;  /* True if a background thread was started and has not been joined */
	bool keeper_lives; /* True if the background thread will check the state again */
	bool ending;       /* True if the process is exiting */
} rb_device_slot;

static rb_device_slot slots[RB_DEVICES];
static pthread_once_t slots_once = PTHREAD_ONCE_INIT;

/* State of the driver, common to all devices */
static pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;
static int driver_devices;
static pid_t driver_process; /* Process that initialized the driver, or 0 if none has */

/*
 * Context functions of the driver. They are looked up by name, so that the plugin loads without a
 * driver.
 */
static CUresult (*context_create)(CUcontext *, unsigned, CUdevice);
static CUresult (*context_destroy)(CUcontext);
static CUresult (*context_set)(CUcontext);

/* ---- finding devices ---- */

/* Initializes the locks of all device slots. */
static void
init_device_slots(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	for (int i = 0; i < RB_DEVICES; i++)
	{
		slots[i].device.id = i;
		pthread_mutex_init(&slots[i].lock, NULL);
		pthread_cond_init(&slots[i].changed, &attr);
	}
	pthread_condattr_destroy(&attr);
}

/* Returns the slot of a device, or NULL if no slot has this number. */
static rb_device_slot *
slot_of_device(int device)
{
	pthread_once(&slots_once, init_device_slots);
	return device >= 0 && device < RB_DEVICES ? &slots[device] : NULL;
}

/*
 * Returns true if this process initialized the driver. It takes no lock, because a fork may have
 * left the lock held forever.
 */
static bool
is_driver_of_this_process(void)
{
	return rb_load(&driver_process) == getpid();
}

/*
 * Finds a function of the driver by name and version, such as those that create and destroy the
 * context of a device. Returns false if the driver has none.
 */
static bool
find_driver_entry_point(const char *name, unsigned version, void *function)
{
	cudaDriverEntryPointQueryResult result;

	if (cudaGetDriverEntryPointByVersion(name, (void **) function, version, cudaEnableDefault,
										 &result) == cudaSuccess &&
		result == cudaDriverEntryPointSuccess)
		return true;
	cudaGetLastError();
	return false;
}

/*
 * Initializes the driver and stores the number of devices, or returns RB_NO_DEVICE and stores the
 * reason. The caller holds driver_lock.
 */
static rb_status
initialize_driver(char *text, size_t size)
{
	cudaError_t error = cudaGetDeviceCount(&driver_devices);

	if (error != cudaSuccess || driver_devices == 0)
	{
		cudaGetLastError();
		snprintf(text, size, "%s",
				 error == cudaErrorInsufficientDriver ? "the CUDA driver is missing or too old"
				 : error == cudaSuccess               ? "no CUDA device"
													  : cudaGetErrorString(error));
		return RB_NO_DEVICE;
	}
	if (!find_driver_entry_point("cuCtxCreate", 3020, &context_create) ||
		!find_driver_entry_point("cuCtxDestroy", 4000, &context_destroy) ||
		!find_driver_entry_point("cuCtxSetCurrent", 4000, &context_set))
	{
		snprintf(text, size, "the CUDA driver lacks functions for contexts");
		return RB_NO_DEVICE;
	}
	rb_store(&driver_process, getpid());
	return RB_OK;
}

/* Initializes the driver once in this process, or returns RB_NO_DEVICE and stores the reason. */
static rb_status
find_driver(char *text, size_t size)
{
	rb_status status = RB_OK;

	pthread_mutex_lock(&driver_lock);
	if (driver_process == 0)
		status = initialize_driver(text, size);
	else if (driver_process != getpid())
	{
		snprintf(text, size, "a parent process used the GPU before it forked");
		status = RB_NO_DEVICE;
	}
	pthread_mutex_unlock(&driver_lock);
	return status;
}

/*
 * Finds a device and fills slot->device, or returns RB_NO_DEVICE and stores the reason. The caller
 * holds the slot's lock.
 */
static rb_status
find_device(rb_device_slot *slot, char *text, size_t size)
{
	rb_device *device = &slot->device;
	struct cudaDeviceProp prop;
	cudaError_t error;
	rb_status status = find_driver(text, size);

	if (status != RB_OK)
		return status;
	if (slot->fault[0] != '\0')
	{
		snprintf(text, size, "%s; retry in a new session", slot->fault);
		return RB_NO_DEVICE;
	}
	if (slot->known)
		return RB_OK;
	if (device->id >= driver_devices)
	{
		snprintf(text, size, "CUDA device %d does not exist: there are %d, numbered from 0",
				 device->id, driver_devices);
		return RB_NO_DEVICE;
	}
	error = cudaGetDeviceProperties(&prop, device->id);
	if (error != cudaSuccess)
	{
		cudaGetLastError();
		snprintf(text, size, "cudaGetDeviceProperties: %s", cudaGetErrorString(error));
		return RB_NO_DEVICE;
	}
	if (prop.major * 10 + prop.minor < LEAST_CC)
	{
		snprintf(text, size, "%s has compute capability %d.%d, but 7.5 is required", prop.name,
				 prop.major, prop.minor);
		return RB_NO_DEVICE;
	}
	device->sms = prop.multiProcessorCount;
	device->bytes = prop.totalGlobalMem;
	device->pools = prop.memoryPoolsSupported != 0;
	snprintf(device->text, sizeof(device->text), "%.60s, %lu MB", prop.name,
			 (unsigned long) (prop.totalGlobalMem >> 20));
	slot->known = true;
	return RB_OK;
}

/* Writes the error for a device number that has no slot. */
static void
report_device_without_slot(int device, char *text, size_t size)
{
	snprintf(text, size, "CUDA device %d does not exist: redblue supports devices 0 to %d", device,
			 RB_DEVICES - 1);
}

rb_status
rb_device_probe(int device, char *text, size_t size)
{
	rb_device_slot *slot = slot_of_device(device);
	rb_status status;

	if (slot == NULL)
	{
		report_device_without_slot(device, text, size);
		return RB_NO_DEVICE;
	}
	pthread_mutex_lock(&slot->lock);
	status = find_device(slot, text, size);
	if (status == RB_OK)
		snprintf(text, size, "%s", slot->device.text);
	pthread_mutex_unlock(&slot->lock);
	return status;
}

int
rb_device_count(void)
{
	char text[200];

	return find_driver(text, sizeof(text)) == RB_OK ? driver_devices : 0;
}

bool
rb_device_warm(int device)
{
	rb_device_slot *slot = slot_of_device(device);
	bool warm;

	if (slot == NULL)
		return false;
	pthread_mutex_lock(&slot->lock);
	warm = slot->state == OPEN && is_driver_of_this_process();
	pthread_mutex_unlock(&slot->lock);
	return warm;
}

/* ---- opening and closing; called by one thread at a time, without the lock ---- */

/* Creates the memory pool of a device if it supports pools. Returns false on failure. */
static bool
make_memory_pool_of_device(rb_device *device)
{
	struct cudaMemPoolProps props;
	uint64_t keep = device->bytes / RB_POOL_FRACTION;

	device->pool = NULL;
	if (!device->pools)
		return true;
	memset(&props, 0, sizeof(props));
	props.allocType = cudaMemAllocationTypePinned;
	props.location.type = cudaMemLocationTypeDevice;
	props.location.id = device->id;
	return cudaMemPoolCreate(&device->pool, &props) == cudaSuccess &&
		   cudaMemPoolSetAttribute(device->pool, cudaMemPoolAttrReleaseThreshold, &keep) ==
			   cudaSuccess;
}

/* Closes a device that no join uses. */
static void
close_device(rb_device_slot *slot)
{
	rb_device *device = &slot->device;

	context_set(slot->context);
	rb_queues_release(device);
	rb_copies_close(device);
	if (device->pool != NULL)
		cudaMemPoolDestroy(device->pool);
	device->pool = NULL;
	context_set(NULL);
	context_destroy(slot->context);
	slot->context = NULL;
	cudaGetLastError();
}

/*
 * Creates the context and the memory pool of a device. Returns RB_DEVICE_FULL if its memory does not
 * suffice, or RB_NO_DEVICE and stores the reason.
 */
static rb_status
open_device_context(rb_device_slot *slot, char *text, size_t size)
{
	CUresult result = context_create(&slot->context, 0, (CUdevice) slot->device.id);
	bool made;

	if (result == CUDA_ERROR_OUT_OF_MEMORY)
		return RB_DEVICE_FULL;
	if (result != CUDA_SUCCESS)
	{
		snprintf(text, size, "cuCtxCreate: error %d", (int) result);
		return RB_NO_DEVICE;
	}
	/*
	 * Shrink the 250 MB that the driver reserves for device stacks, heap and printf; the kernels
	 * here need none of it.
	 */
	cudaDeviceSetLimit(cudaLimitStackSize, 0);
	cudaDeviceSetLimit(cudaLimitMallocHeapSize, 0);
	cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 0);
	slot->device.tried = 0;
	made = make_memory_pool_of_device(&slot->device);
	cudaGetLastError();
	context_set(NULL);
	if (made)
		return RB_OK;
	close_device(slot);
	return RB_DEVICE_FULL;
}

/* ---- the thread that opens and closes the device ---- */

/* Opens the device. The caller holds the lock, which is released while the driver works. */
static void
open_device_of_slot(rb_device_slot *slot)
{
	char text[sizeof(slot->refusal_text)] = "";
	rb_status status;

	slot->state = OPENING;
	pthread_mutex_unlock(&slot->lock);
	status = open_device_context(slot, text, sizeof(text));
	pthread_mutex_lock(&slot->lock);
	slot->state = status == RB_OK ? OPEN : CLOSED;
	slot->refusal = status;
	memcpy(slot->refusal_text, text, sizeof(text));
	pthread_cond_broadcast(&slot->changed);
}

/*
 * Returns memory that no join has needed for a while to the driver; copies of cached sets stay. The
 * caller holds the lock, which is released while the driver works.
 */
static void
trim_memory_of_device(rb_device_slot *slot)
{
	slot->trimmed = true;
	if (slot->device.pool == NULL)
		return;
	pthread_mutex_unlock(&slot->lock);
	context_set(slot->context);
	cudaMemPoolTrimTo(slot->device.pool, 0);
	cudaGetLastError();
	context_set(NULL);
	pthread_mutex_lock(&slot->lock);
}

/* Waits until the slot changes or until the given time (rb_now_ms). The caller holds the lock. */
static void
wait_for_slot_until(rb_device_slot *slot, double ms)
{
	struct timespec t;

	t.tv_sec = (time_t) (ms / 1e3);
	t.tv_nsec = (long) ((ms - 1e3 * (double) t.tv_sec) * 1e6);
	pthread_cond_timedwait(&slot->changed, &slot->lock, &t);
}

/* Opens the device of a slot if a join wants it, and closes it after a period without joins. */
static void *
run_keeper_thread(void *arg)
{
	rb_device_slot *slot = (rb_device_slot *) arg;

	pthread_mutex_lock(&slot->lock);
	while (!slot->ending && slot->state != CLOSED)
	{
		if (slot->state == WANTED)
			open_device_of_slot(slot);
		else if (slot->users > 0) /* The end of a join does not wake this thread, so poll. */
			wait_for_slot_until(slot, rb_now_ms() + IDLE_MS);
		else if (rb_now_ms() < slot->left_ms + fmin(slot->idle_ms, IDLE_MS))
			wait_for_slot_until(slot, slot->left_ms + fmin(slot->idle_ms, IDLE_MS));
		else if (rb_now_ms() < slot->left_ms + slot->idle_ms)
		{
			if (!slot->trimmed)
				trim_memory_of_device(slot);
			else
				wait_for_slot_until(slot, slot->left_ms + slot->idle_ms);
		}
		else
		{
			close_device(slot);
			slot->state = CLOSED;
		}
	}
	slot->keeper_lives = false;
	pthread_mutex_unlock(&slot->lock);
	return NULL;
}

/*
 * Stops the background threads before the runtime's own exit handlers run, so that no thread closes
 * a device while the runtime shuts down.
 */
static void
end_keeper_threads(void)
{
	if (!is_driver_of_this_process())
		return;
	for (int i = 0; i < RB_DEVICES; i++)
	{
		rb_device_slot *slot = &slots[i];

		pthread_mutex_lock(&slot->lock);
		slot->ending = true;
		pthread_cond_broadcast(&slot->changed);
		pthread_mutex_unlock(&slot->lock);
		if (slot->keeper_made)
			pthread_join(slot->keeper, NULL);
		slot->keeper_made = false;
	}
}

/*
 * Registers end_keeper_threads once the runtime is initialized, so that it runs before the
 * runtime's own exit handler.
 */
static void
end_keeper_threads_at_exit(void)
{
	atexit(end_keeper_threads);
}

/*
 * Starts the background thread if it is not running. Returns false if no thread could be started.
 * The caller holds the lock.
 */
static bool
start_keeper_thread(rb_device_slot *slot)
{
	int rc;

	if (slot->keeper_lives)
		return true;
	if (slot->keeper_made)
		pthread_join(slot->keeper, NULL); /* The previous thread no longer needs the lock. */
	rc = rb_thread_start(&slot->keeper, KEEPER_STACK, run_keeper_thread, slot);
	slot->keeper_made = slot->keeper_lives = rc == 0;
	return rc == 0;
}

/* ---- for a join ---- */

/*
 * Waits until the device is open. Opening may take a long time if many sessions do it at once,
 * because the driver serves them one after another. A background thread therefore opens the device,
 * so that the join can still react to a stop request. The caller holds the lock.
 */
static rb_status
wait_for_open_device(rb_device_run *run, rb_device_slot *slot)
{
	if (slot->state == CLOSED)
	{
		slot->state = WANTED;
		pthread_cond_broadcast(&slot->changed);
		if (!start_keeper_thread(slot))
			open_device_of_slot(slot);
	}
	while (slot->state == WANTED || slot->state == OPENING)
	{
		if (rb_should_stop(run->ctx))
			return RB_STOPPED;
		wait_for_slot_until(slot, rb_now_ms() + POLL_MS);
	}
	return slot->state == OPEN ? RB_OK : slot->refusal;
}

rb_status
rb_device_take(rb_device_run *run)
{
	static pthread_once_t exit_once = PTHREAD_ONCE_INIT;
	rb_device_slot *slot = slot_of_device(run->ctx->device);
	char text[200] = "";
	rb_status status;

	if (slot == NULL)
	{
		report_device_without_slot(run->ctx->device, text, sizeof(text));
		return rb_fail(run->ctx, RB_NO_DEVICE, 0, 0, text);
	}
	pthread_mutex_lock(&slot->lock);
	status = find_device(slot, text, sizeof(text));
	if (status == RB_OK)
	{
		pthread_once(&exit_once, end_keeper_threads_at_exit);
		slot->users++;
		slot->idle_ms =
			run->ctx->settings.device_idle_ms > 0 ? run->ctx->settings.device_idle_ms : IDLE_MS;
		while ((status = wait_for_open_device(run, slot)) == RB_DEVICE_FULL &&
			   rb_now_ms() < run->until)
			wait_for_slot_until(slot, rb_now_ms() + POLL_MS);
		if (status != RB_OK)
		{
			slot->users--;
			memcpy(text, slot->refusal_text, sizeof(text));
		}
	}
	pthread_mutex_unlock(&slot->lock);
	if (status == RB_DEVICE_FULL)
		run->need = OPEN_BYTES;
	if (status == RB_NO_DEVICE)
		return rb_fail(run->ctx, status, 0, 0, text);
	if (status == RB_OK)
	{
		context_set(slot->context);
		run->device = &slot->device;
	}
	return status;
}

/* Makes an open device current in this thread without a join; returns NULL if it is not open. */
static rb_device *
borrow_device(int device)
{
	rb_device_slot *slot = slot_of_device(device);
	bool open;

	if (slot == NULL || !is_driver_of_this_process())
		return NULL;
	pthread_mutex_lock(&slot->lock);
	open = slot->state == OPEN;
	if (open)
		slot->users++;
	pthread_mutex_unlock(&slot->lock);
	if (!open)
		return NULL;
	context_set(slot->context);
	return &slot->device;
}

/* Ends the use of a device by a join, and leaves closing it to the keeper thread. */
static void
return_device(rb_device *device)
{
	rb_device_slot *slot = &slots[device->id];

	context_set(NULL);
	pthread_mutex_lock(&slot->lock);
	slot->users--;
	slot->left_ms = rb_now_ms();
	slot->trimmed = false;
	if (slot->users == 0 && !start_keeper_thread(slot))
	{
		close_device(slot);
		slot->state = CLOSED;
	}
	pthread_mutex_unlock(&slot->lock);
}

void
rb_device_give(rb_device_run *run)
{
	return_device(run->device);
	run->device = NULL;
}

uint64_t
rb_device_copy_bytes(uint64_t number, bool drop)
{
	uint64_t bytes = 0;

	for (int i = 0; i < RB_DEVICES; i++)
	{
		rb_device *device = borrow_device(i);

		if (device == NULL)
			continue;
		bytes += rb_copy_bytes(device, number, drop);
		return_device(device);
	}
	return bytes;
}

/* Marks the device as unusable if the error persists in the context. */
void
rb_device_check(rb_device_run *run, const char *why)
{
	rb_device_slot *slot = &slots[run->device->id];
	cudaError_t error = cudaDeviceSynchronize();

	if (error == cudaSuccess || error == cudaErrorMemoryAllocation)
	{
		cudaGetLastError();
		return;
	}
	pthread_mutex_lock(&slot->lock);
	if (slot->fault[0] == '\0')
		snprintf(slot->fault, sizeof(slot->fault),
				 "the GPU failed earlier in this session (%.100s)",
				 why[0] != '\0' ? why : cudaGetErrorString(error));
	pthread_mutex_unlock(&slot->lock);
}
