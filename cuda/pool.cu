/*
 * pool.cu
 *	  Allocates device memory from the device's pool, if it has one, in the order of a join's
 *	  stream. The callers count the memory against their budgets: a join in memory.cu, cached copies
 *	  in cache.cu.
 */
#include "cuda.cuh"

cudaError_t
rb_device_alloc_block(rb_device_run *run, void **block, uint64_t bytes)
{
	if (run->device->pools)
		return cudaMallocFromPoolAsync(block, bytes, run->device->pool, run->queue->compute);
	return cudaMalloc(block, bytes);
}

void
rb_device_free_block(rb_device_run *run, void *block)
{
	if (run->device->pools)
		cudaFreeAsync(block, run->queue->compute);
	else
		cudaFree(block);
}
