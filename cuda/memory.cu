/*
 * memory.cu
 *	  Manages the device memory that a join holds.
 *
 * Each block is counted against the join's budget, and all blocks are freed when the join ends.
 * While the device is open, a pool retains part of its memory for the next join, because mapping
 * new memory costs more than filling it. If the device is full because other sessions use it, an
 * allocation waits a little, because joins are short and idle sessions free all their memory.
 */
#include "cuda.cuh"

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
	return run->free + (kept > used ? kept - used : 0) + rb_copies_idle(run->device);
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
		cudaError_t error = rb_device_alloc_block(run, block, bytes);

		if (error == cudaSuccess)
			break;
		if (error != cudaErrorMemoryAllocation)
			return rb_cuda_failed(run, error, "cudaMalloc()");
		cudaGetLastError();
		if (rb_copies_evict(run))
			continue;
		if (rb_should_stop(run->ctx))
			return RB_STOPPED;
		if (rb_now_ms() > run->until)
			return RB_DEVICE_FULL;
		rb_sleep_ns(10000000);
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
			rb_device_free_block(run, *block);
		}
	*block = NULL;
}

void
rb_device_free_all(rb_device_run *run)
{
	for (int i = 0; i < RB_BLOCKS; i++)
	{
		if (run->block[i] != NULL)
			rb_device_free_block(run, run->block[i]);
		run->block[i] = NULL;
	}
	run->used = 0;
	cudaGetLastError();
}
