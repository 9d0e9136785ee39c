/*
 * pool.cu
 *	  Device memory as it comes: out of the device's pool, where it has one, in the order of a
 *	  join's stream.  Who counts it against what is the business of those who take it:
 *	  a join (memory.cu), or what is kept (cache.cu).
 */
#include "rb_cuda.cuh"

cudaError_t
rb_device_take_block(rb_device_run *run, void **block, uint64_t bytes)
{
	if (run->device->pools)
		return cudaMallocFromPoolAsync(block, bytes, run->device->pool, run->queue->compute);
	return cudaMalloc(block, bytes);
}

void
rb_device_give_block(rb_device_run *run, void *block)
{
	if (run->device->pools)
		cudaFreeAsync(block, run->queue->compute);
	else
		cudaFree(block);
}
