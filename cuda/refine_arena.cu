/*
 * refine_arena.cu
 *	  Implements arrays that grow in place: addresses are reserved first, and memory is mapped as
 *	  needed.
 */
#include "refine.cuh"

#include <cuda.h>
#include <pthread.h>
#include <string.h>

#define MORE_SHARE 32 /* Minimum growth of an array: 1/n of its size */
#define BLOCK_SHARE 4 /* Minimum growth of an array that must move: 1/n of its size */

/* Memory functions of the driver, looked up by name as in device.cu */
static struct
{
	CUresult (*granularity)(size_t *, const CUmemAllocationProp *,
							CUmemAllocationGranularity_flags);
	CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
	CUresult (*unreserve)(CUdeviceptr, size_t);
	CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
					   unsigned long long);
	CUresult (*release)(CUmemGenericAllocationHandle);
	CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
	CUresult (*unmap)(CUdeviceptr, size_t);
	CUresult (*access)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
	bool there;
} driver;
static pthread_once_t driver_once = PTHREAD_ONCE_INIT;

/* Finds a function of the driver for virtual memory. Returns false if it has none. */
static bool
find_arena_driver_function(const char *name, void *function)
{
	cudaDriverEntryPointQueryResult result;

	if (cudaGetDriverEntryPointByVersion(name, (void **) function, 10020, cudaEnableDefault,
										 &result) == cudaSuccess &&
		result == cudaDriverEntryPointSuccess)
		return true;
	cudaGetLastError();
	return false;
}

/* Finds all functions of the driver that arrays growing in place need. */
static void
find_arena_driver_functions(void)
{
	driver.there =
		find_arena_driver_function("cuMemGetAllocationGranularity", &driver.granularity) &&
		find_arena_driver_function("cuMemAddressReserve", &driver.reserve) &&
		find_arena_driver_function("cuMemAddressFree", &driver.unreserve) &&
		find_arena_driver_function("cuMemCreate", &driver.create) &&
		find_arena_driver_function("cuMemRelease", &driver.release) &&
		find_arena_driver_function("cuMemMap", &driver.map) &&
		find_arena_driver_function("cuMemUnmap", &driver.unmap) &&
		find_arena_driver_function("cuMemSetAccess", &driver.access);
}

/* Returns the properties of memory on the device of the run. */
static CUmemAllocationProp
properties_of_arena_memory(const rb_device_run *run)
{
	CUmemAllocationProp prop;

	memset(&prop, 0, sizeof(prop));
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	prop.location.id = run->device->id;
	return prop;
}

/* Reserves addresses; returns false if the array must be a block. */
static bool
reserve_addresses_of_array(const rb_device_run *run, rb_refine_arena *arena)
{
	CUmemAllocationProp prop = properties_of_arena_memory(run);
	CUdeviceptr at;
	size_t step;

	pthread_once(&driver_once, find_arena_driver_functions);
	if (!driver.there ||
		driver.granularity(&step, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS)
		return false;
	arena->step = step;
	arena->reserved = (run->device->bytes + step - 1) / step * step;
	if (driver.reserve(&at, arena->reserved, 0, 0, 0) != CUDA_SUCCESS)
	{
		arena->reserved = 0;
		return false;
	}
	arena->at = (void *) at;
	return true;
}

/* Maps new memory after the end of the array. */
static CUresult
map_memory_behind_array(const rb_device_run *run, rb_refine_arena *arena, uint64_t bytes)
{
	CUmemAllocationProp prop = properties_of_arena_memory(run);
	CUdeviceptr at = (CUdeviceptr) arena->at + arena->bytes;
	CUmemAccessDesc access;
	CUmemGenericAllocationHandle handle;
	CUresult result = driver.create(&handle, bytes, &prop, 0);

	if (result != CUDA_SUCCESS)
		return result;
	result = driver.map(at, bytes, 0, handle, 0);
	/* The memory stays allocated as long as it is mapped. */
	driver.release(handle);
	if (result != CUDA_SUCCESS)
		return result;
	memset(&access, 0, sizeof(access));
	access.location = prop.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	result = driver.access(at, bytes, &access, 1);
	if (result != CUDA_SUCCESS)
		driver.unmap(at, bytes);
	return result;
}

/* Maps new memory within the budget, and waits for memory as rb_device_alloc does. */
static rb_status
map_memory_within_budget(rb_device_run *run, rb_refine_arena *arena, uint64_t bytes)
{
	run->need = run->used + bytes;
	if (run->need > run->budget || arena->bytes + bytes > arena->reserved ||
		arena->pieces == RB_REFINE_PIECES)
		return RB_DEVICE_FULL;
	for (;;)
	{
		CUresult result = map_memory_behind_array(run, arena, bytes);

		if (result == CUDA_SUCCESS)
			break;
		if (result != CUDA_ERROR_OUT_OF_MEMORY)
			return rb_cuda_failed(run, cudaErrorUnknown, "cuMemMap()");
		RB_TRY(rb_device_wait_for_memory(run));
	}
	arena->piece[arena->pieces++] = (uint32_t) (bytes / arena->step);
	arena->bytes += bytes;
	run->used += bytes;
	return RB_OK;
}

/* Moves the contents to a larger block. */
static rb_status
move_array_to_larger_block(rb_device_run *run, rb_refine_arena *arena, uint64_t used,
						   uint64_t bytes)
{
	uint64_t more = arena->bytes + arena->bytes / BLOCK_SHARE;
	void *fresh;
	rb_status status;

	/* Free the old block first if its contents are not needed. */
	if (used == 0)
	{
		rb_device_free(run, &arena->at);
		arena->bytes = 0;
	}
	more = more < bytes ? bytes : more;
	status = rb_device_alloc(run, &fresh, more);
	if (status == RB_DEVICE_FULL && more > bytes)
		status = rb_device_alloc(run, &fresh, more = bytes);
	RB_TRY(status);
	if (used > 0)
		RB_CUDA(run, cudaMemcpyAsync(fresh, arena->at, used, cudaMemcpyDeviceToDevice,
									 run->queue->compute));
	rb_device_free(run, &arena->at);
	arena->at = fresh;
	arena->bytes = more;
	return RB_OK;
}

rb_status
rb_refine_arena_grow(rb_device_run *run, rb_refine_arena *arena, uint64_t used, uint64_t bytes)
{
	uint64_t more = arena->bytes / MORE_SHARE;
	rb_status status;

	if (arena->at != NULL && bytes <= arena->bytes)
		return RB_OK;
	if (arena->at == NULL && !arena->small)
		reserve_addresses_of_array(run, arena);
	if (arena->reserved == 0)
		return move_array_to_larger_block(run, arena, used, bytes);
	bytes = bytes > arena->bytes ? bytes - arena->bytes : 1;
	bytes = (bytes + arena->step - 1) / arena->step * arena->step;
	more = (more + arena->step - 1) / arena->step * arena->step;
	if (more <= bytes)
		return map_memory_within_budget(run, arena, bytes);
	status = map_memory_within_budget(run, arena, more);
	return status == RB_DEVICE_FULL ? map_memory_within_budget(run, arena, bytes) : status;
}

void
rb_refine_arena_free(rb_device_run *run, rb_refine_arena *arena)
{
	if (arena->reserved == 0)
		rb_device_free(run, &arena->at);
	else
	{
		CUdeviceptr at = (CUdeviceptr) arena->at;

		for (uint32_t i = 0; i < arena->pieces; i++)
		{
			const uint64_t bytes = arena->piece[i] * arena->step;

			driver.unmap(at, bytes);
			at += bytes;
		}
		driver.unreserve((CUdeviceptr) arena->at, arena->reserved);
		run->used -= arena->bytes;
	}
	memset(arena, 0, sizeof(*arena));
}
