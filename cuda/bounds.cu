/*
 * bounds.cu
 *	  Finds the region that the grid of a node covers.
 *
 * A grid covers only the intersection of both sides' bounds, because objects outside it cannot be
 * in a pair. Bounds are minima of lo and of -hi, stored as bits that have the order of the doubles,
 * so that one kind of atomic operation finds both.
 */
#include "level.cuh"

#include "core/primitive/reference_point.h"

/* Box outside of which no pair is reported, if the job asks for the pairs of one tile */
typedef struct rb_clip
{
	double lo[3];
	double hi[3];
} rb_clip;

/* Combines the bounds that the threads of a block found for one side of a node. */
static __device__ __forceinline__ void
bounds_put(rb_count key[6], double v[6])
{
	__shared__ double least[THREADS / 32][6];

#pragma unroll
	for (int k = 0; k < 6; k++)
		for (int d = 16; d > 0; d /= 2)
		{
			double other = __shfl_down_sync(~0u, v[k], d);

			v[k] = other < v[k] ? other : v[k];
		}
	__syncthreads();
	if ((threadIdx.x & 31) == 0)
#pragma unroll
		for (int k = 0; k < 6; k++)
			least[threadIdx.x / 32][k] = v[k];
	__syncthreads();
	if (threadIdx.x < 6)
	{
		double x = least[0][threadIdx.x];

		for (int w = 1; w < THREADS / 32; w++)
			x = least[w][threadIdx.x] < x ? least[w][threadIdx.x] : x;
		atomicMin(&key[threadIdx.x], rb_key_of(x));
	}
}

static __global__ void
__launch_bounds__(THREADS, RB_BOUNDS_BLOCKS)
	bounds_kernel(const __grid_constant__ rb_grid_args args, const rb_turns turns)
{
	const rb_count first = (rb_count) blockIdx.x * turns.step;
	uint32_t node = 0, side = 0;
	double v[6];

	for (rb_count u = first; u < turns.units; u = turns_next(&turns, u))
	{
		const rb_node_chunk c = args.chunks[u / UNITS];
		const uint32_t t = (uint32_t) (u % UNITS) * THREADS + threadIdx.x;

		if (u == first || c.node != node || (c.side_number & 1) != side)
		{
			if (u > first)
				bounds_put(args.nodes[node].key[side], v);
			node = c.node;
			side = c.side_number & 1;
#pragma unroll
			for (int k = 0; k < 6; k++)
				v[k] = INFINITY;
		}
		if (t < c.n)
		{
			double lo[3], hi[3];

			entry_box(&args.side[side], chunk_entry(&args, &c, t), lo, hi);
#pragma unroll
			for (int a = 0; a < 3; a++)
			{
				v[a] = lo[a] < v[a] ? lo[a] : v[a];
				v[3 + a] = -hi[a] < v[3 + a] ? -hi[a] : v[3 + a];
			}
		}
	}
	if (first < turns.units)
		bounds_put(args.nodes[node].key[side], v);
}

/* Computes the region of each node's grid from its bounds. */
static __global__ void
__launch_bounds__(THREADS)
	region_kernel(rb_node *nodes, uint32_t nnodes, bool self, const rb_clip clip)
{
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
	rb_node *node = &nodes[i];
	uint32_t shrunk = 0;

	if (i >= nnodes)
		return;
	for (int a = 0; a < 3; a++)
	{
		const rb_count *red = node->key[0], *blue = node->key[self ? 0 : 1];
		double lo = rb_max(rb_key_value(red[a]), rb_key_value(blue[a]));
		double hi = -rb_max(rb_key_value(red[3 + a]), rb_key_value(blue[3 + a]));
		const double was = 0.5 * node->cell_hi[a] - 0.5 * node->cell_lo[a];

		lo = rb_max(lo, clip.lo[a]);
		hi = rb_min(hi, clip.hi[a]);
		node->meet_lo[a] = lo;
		node->meet_hi[a] = hi;
		lo = rb_max(lo, node->cell_lo[a]);
		hi = rb_min(hi, node->cell_hi[a]);
		hi = rb_max(lo, hi); /* The cell's box is rounded; it only guides the grid. */
		node->lo[a] = lo;
		node->hi[a] = hi;
		shrunk |= 0.5 * hi - 0.5 * lo < 0.5 * was;
	}
	node->shrunk = shrunk;
}

rb_status
rb_bounds_launch(rb_device_run *run, const rb_grid_args *args, uint32_t nchunks)
{
	cudaStream_t stream = run->queue->compute;
	const rb_turns turns = turns_of(run, args, nchunks, RB_BOUNDS_BLOCKS);
	rb_clip clip;

	for (int a = 0; a < 3; a++)
	{
		clip.lo[a] = -HUGE_VAL;
		clip.hi[a] = HUGE_VAL;
	}
	rb_tile_clip(run->job, clip.lo, clip.hi);
	bounds_kernel<<<turns.blocks, THREADS, 0, stream>>>(*args, turns);
	RB_LAUNCHED(run, "bounds_kernel");
	region_kernel<<<blocks_for(args->nnodes, UINT32_MAX), THREADS, 0, stream>>>(
		args->nodes, args->nnodes, args->self, clip);
	RB_LAUNCHED(run, "region_kernel");
	return RB_OK;
}
