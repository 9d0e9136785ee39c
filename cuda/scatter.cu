/*
 * scatter.cu
 *	  Objects into the cells of their node's grid: counted first, then filled.
 *
 * A cell with objects of one colour stores nothing.  Objects that reach into many
 * cells (one giant over a million small ones) are put there by a whole warp.
 */
#include "level.cuh"

/*
 * The two halves of a cell's 64 bits count red and blue.  Filling takes the
 * counts back to zero: each incidence goes to start + (what the count was) - 1.  A
 * cell whose other colour is missing was set to zero before it was summed up, so it
 * has no room.
 */
template <bool FILL>
static __device__ __forceinline__ void
put(const rb_grid_args *args, uint32_t side, rb_count cell, uint32_t index, uint32_t starts)
{
	uint32_t *count = (uint32_t *) (args->count + cell) + side;

	if (!FILL)
		atomicAdd(count, 1u);
	else
	{
		const rb_count start = args->start[cell];

		if (args->start[cell + 1] != start)
		{
			uint32_t at = (uint32_t) (start >> (32 * side)) + atomicSub(count, 1u) - 1;

			args->entry[side][at] = index | starts << RB_INDEX_BITS;
		}
	}
}

template <bool FILL>
static __global__ void
__launch_bounds__(THREADS) scatter_kernel(const rb_grid_args args)
{
	__shared__ rb_grid grid;
	__shared__ double meet_lo[3], meet_hi[3];
	__shared__ rb_count first;
	const rb_chunk c = args.chunks[blockIdx.x];
	const uint32_t side = c.side_number & 1;
	const uint32_t lane = threadIdx.x & 31;

	if (threadIdx.x == 0)
	{
		const rb_node *node = &args.nodes[c.node];

		grid = node->grid;
		first = node->first;
		for (int a = 0; a < 3; a++)
		{
			meet_lo[a] = node->meet_lo[a];
			meet_hi[a] = node->meet_hi[a];
		}
	}
	__syncthreads();
	for (uint32_t base = 0; base < c.n; base += THREADS)
	{
		const uint32_t t = base + threadIdx.x;
		uint32_t c0[3] = {0, 0, 0}, c1[3] = {0, 0, 0};
		uint32_t entry = 0;
		rb_count n = 0;
		unsigned big;

		if (t < c.n)
		{
			double lo[3], hi[3];

			entry = chunk_entry(&args, &c, t);
			entry_box(&args.side[side], entry, lo, hi);
			if (rb_boxes_overlap(lo, hi, meet_lo, meet_hi))
			{
				n = 1;
				for (int a = 0; a < 3; a++)
				{
					c0[a] = rb_grid_cell(&grid, a, lo[a]);
					c1[a] = rb_grid_cell(&grid, a, hi[a]);
					n *= c1[a] - c0[a] + 1;
				}
			}
		}
		if (n > 0 && n <= 64)
			for (uint32_t z = c0[2]; z <= c1[2]; z++)
				for (uint32_t y = c0[1]; y <= c1[1]; y++)
					for (uint32_t x = c0[0]; x <= c1[0]; x++)
						put<FILL>(&args, side, first + rb_grid_number(&grid, x, y, z),
								  entry & RB_INDEX_MASK,
								  entry >> RB_INDEX_BITS &
									  ((x == c0[0]) | (y == c0[1]) << 1 | (z == c0[2]) << 2));

		/* the large ones by all lanes, one after the other */
		for (big = __ballot_sync(~0u, n > 64); big != 0; big &= big - 1)
		{
			int from = __ffs(big) - 1;
			uint32_t e = __shfl_sync(~0u, entry, from);
			uint32_t b0[3], w[3];
			rb_count all = __shfl_sync(~0u, n, from);

			for (int a = 0; a < 3; a++)
			{
				b0[a] = __shfl_sync(~0u, c0[a], from);
				w[a] = __shfl_sync(~0u, c1[a], from) - b0[a] + 1;
			}
			for (rb_count i = lane; i < all; i += 32)
			{
				rb_count row = i / w[0];
				uint32_t x = (uint32_t) (i - row * w[0]), y = (uint32_t) (row % w[1]),
						 z = (uint32_t) (row / w[1]);

				put<FILL>(&args, side,
						  first + rb_grid_number(&grid, b0[0] + x, b0[1] + y, b0[2] + z),
						  e & RB_INDEX_MASK,
						  e >> RB_INDEX_BITS & ((x == 0) | (y == 0) << 1 | (z == 0) << 2));
			}
		}
	}
}

rb_status
rb_scatter_launch(rb_device_run *run, const rb_grid_args *args, uint32_t nchunks, bool fill)
{
	if (fill)
		scatter_kernel<true><<<nchunks, THREADS, 0, run->queue->compute>>>(*args);
	else
		scatter_kernel<false><<<nchunks, THREADS, 0, run->queue->compute>>>(*args);
	RB_LAUNCHED(run, "scatter_kernel");
	return RB_OK;
}
