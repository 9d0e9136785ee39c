/*
 * share.cu
 *	  What of both sides is in a job's share, where several devices share a join.
 *
 * Each part is looked at once, and those of the share become the entries of the top, as if there were a cell above it: with
 * a bit for each axis on which they begin within the share (rb_share_takes).  So grids know nothing of shares, and
 * go through no more than what is theirs.
 */
#include "level.cuh"

#include "core/shape/rb_tile.h"

static __global__ void
__launch_bounds__(THREADS)
	share_kernel(const rb_device_set side, const rb_ends share, uint32_t *entry, rb_count *n)
{
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
	uint32_t starts = 0;
	bool takes = false;
	rb_count at;

	if (i < side.n)
	{
		double lo[3], hi[3];

		rb_part_box(&side, i, lo, hi);
		takes = rb_share_takes(&share, lo, hi, &starts);
	}
	at = rb_block_reserve(takes, n);
	if (takes)
		entry[at] = i | starts << RB_INDEX_BITS;
}

rb_status
rb_share_select(rb_device_run *run, const rb_device_set side[2], bool self, uint32_t *entry[2],
				uint32_t n[2])
{
	cudaStream_t stream = run->queue->compute;
	rb_totals *totals = &run->queue->mailbox->totals;
	rb_count *count;

	RB_TRY(rb_device_alloc(run, (void **) &count, 2 * sizeof(rb_count)));
	RB_CUDA(run, cudaMemsetAsync(count, 0, 2 * sizeof(rb_count), stream));
	for (int s = 0; s < (self ? 1 : 2); s++)
	{
		RB_TRY(rb_device_alloc(run, (void **) &entry[s], side[s].n * sizeof(uint32_t)));
		share_kernel<<<blocks_for(side[s].n, UINT32_MAX), THREADS, 0, stream>>>(
			side[s], run->job->share, entry[s], count + s);
		RB_LAUNCHED(run, "share_kernel");
	}
	RB_CUDA(run, cudaMemcpyAsync(totals->incidences, count, 2 * sizeof(rb_count),
								 cudaMemcpyDeviceToHost, stream));
	RB_TRY(rb_mark(run, RB_STEP_MAP));
	RB_TRY(rb_sync(run));
	for (int s = 0; s < 2; s++)
		n[s] = (uint32_t) totals->incidences[s];
	rb_device_free(run, (void **) &count);
	return RB_OK;
}
