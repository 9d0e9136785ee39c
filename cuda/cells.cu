/*
 * cells.cu
 *	  From work items to candidates, and the float tests: triangles against triangles.
 *
 * A block of threads takes one work item after the other: some red and some blue
 * objects of a cell.  Each object is read once, put into the cell's frame as floats
 * (rb_float.h), and stays in shared memory.  From then on the warps of the block
 * work alone, without a barrier:
 *
 *		boxes		a lane holds the box of a red object and meets a strip of blue
 *					ones; all lanes read the same blue box, a broadcast
 *		queue		the pairs that overlap, local numbers in 16 bits; as soon as
 *					there are 32 of them
 *		float test	a lane a pair; yes, no, or not sure
 *		buffers		hits and undecided pairs, flushed with one atomic operation for some
 *					hundred pairs
 *
 * So threads are assigned to pairs, not to objects (Menezes et al. 2022, section
 * 4.3), nothing between a box and its answer leaves the multiprocessor, and the
 * warp is full at each step but the item's last.  The float test is not cut into
 * stages with a queue between them: to read a pair from shared memory again costs
 * more than the arithmetic that a third of the lanes would be spared.
 *
 * Distances (NEAR) have boxes padded by half of theirs, and two tests: planes first, which
 * drop most of what is farther apart; what they leave goes through a second queue to the
 * whole test, ten times as long, where a full warp pays for another look at the shared memory.
 *
 * Floats of the frame are a monotone image of the doubles.  Where two bounds
 * differ as floats they differ as doubles in the same way, so a strict comparison
 * decides; where they are equal the doubles are compared.  The candidates are
 * exactly the pairs whose closed boxes overlap and that the cell owns (rb_grid.h).  Padded
 * boxes are floats only, rounded outward: few pairs more.
 *
 * Room in the pool is reserved for all pairs of an item before it is taken
 * (rb_pool); a block that gets none leaves the rest to the next launch.
 */
#include "take.cuh"

#ifndef RB_WARPS
#define RB_WARPS 4
#endif
#ifndef RB_STRIP
#define RB_STRIP 16 /* blue boxes that a lane meets before candidates are queued */
#endif
#define THREADS (32 * RB_WARPS)
#define QUEUE (32 * RB_STRIP + 32)
#define NEARS 64
#define BUFFERS 512 /* of all kinds of pairs that a warp has found */
#define SAMPLED 16  /* one work item in so many is timed */

typedef struct rb_tiles
{
	float4 p[3][2][RB_TILE_F]; /* rb_face_f in four pieces; red, then blue */
	float4 plane[2][RB_TILE_F];
	float4 lo[RB_TILE_F]; /* of blue's boxes; in w the owner bits that are not set */
	float4 hi[RB_TILE_F];
	uint16_t queue[RB_WARPS][QUEUE];
	uint16_t near[RB_WARPS][NEARS];
	uint16_t found[RB_WARPS][BUFFERS];
	rb_reach_f reach;
	rb_item item;
	rb_taken taken;
} rb_tiles;

/* what is found of a pair, and how many of a sort wait for the others */
enum
{
	HIT,
	UNDECIDED,
	NEAR_HIT, /* within the distance, but the two do not meet */
	SORTS
};
#define ROOM(near) (BUFFERS / ((near) ? 3 : 2))

typedef struct rb_warp
{
	uint32_t queued;
	uint32_t nears;
	uint32_t found[SORTS];
	uint32_t made;
	rb_count candidates;
	uint32_t float_clocks; /* 32 bits wrap, differences do not mind */
	bool timed;
} rb_warp;

/* ---- objects to shared memory and back ---- */

static __device__ __forceinline__ void
face_store(rb_tiles *t, int side, uint32_t slot, const rb_face_f *f)
{
	t->p[0][side][slot] = make_float4(f->p[0], f->p[1], f->p[2], f->p[3]);
	t->p[1][side][slot] = make_float4(f->p[4], f->p[5], f->p[6], f->p[7]);
	t->p[2][side][slot] = make_float4(f->p[8], f->k, f->m, __uint_as_float(f->entry));
	t->plane[side][slot] = make_float4(f->n[0], f->n[1], f->n[2], f->d);
}

static __device__ __forceinline__ void
face_load(const rb_tiles *t, int side, uint32_t slot, rb_face_f *f)
{
	const float4 p0 = t->p[0][side][slot], p1 = t->p[1][side][slot], p2 = t->p[2][side][slot],
				 n = t->plane[side][slot];

	f->p[0] = p0.x;
	f->p[1] = p0.y;
	f->p[2] = p0.z;
	f->p[3] = p0.w;
	f->p[4] = p1.x;
	f->p[5] = p1.y;
	f->p[6] = p1.z;
	f->p[7] = p1.w;
	f->p[8] = p2.x;
	f->k = p2.y;
	f->m = p2.z;
	f->entry = __float_as_uint(p2.w);
	f->n[0] = n.x;
	f->n[1] = n.y;
	f->n[2] = n.z;
	f->d = n.w;
}

template <bool NEAR>
static __device__ __forceinline__ void
face_box(const rb_tiles *t, const rb_face_f *f, float lo[3], float hi[3])
{
	if (NEAR)
		rb_face_f_pad(f, 0.5f * t->reach.more, lo, hi);
	else
		rb_face_f_box(f, lo, hi);
}

template <bool NEAR>
static __device__ __forceinline__ void
tile_load(rb_tiles *t, int side, const rb_device_set *from, const uint32_t *entry, uint32_t n)
{
	for (uint32_t slot = threadIdx.x; slot < n; slot += THREADS)
	{
		const uint32_t e = entry[slot];
		double c[9];
		rb_face_f f;

		for (int k = 0; k < 9; k++)
			c[k] = __ldg(from->coords + (size_t) (e & RB_INDEX_MASK) * 9 + k);
		rb_face_f_init(&f, &t->item.frame, c, NEAR);
		f.entry = e;
		face_store(t, side, slot, &f);
		if (side == 1)
		{
			float lo[3], hi[3];

			face_box<NEAR>(t, &f, lo, hi);
			t->lo[slot] = make_float4(lo[0], lo[1], lo[2],
									  __uint_as_float(~(e >> RB_INDEX_BITS) & RB_STARTS_ALL));
			t->hi[slot] = make_float4(hi[0], hi[1], hi[2], 0);
		}
	}
}

/* ---- pairs out ---- */

/* the pairs of a sort to places of their own in global memory */
template <bool NEAR>
static __device__ __forceinline__ void
flush(const rb_cells_args *args, const rb_tiles *t, rb_warp *w, int sort)
{
	const uint32_t lane = threadIdx.x & 31, n = w->found[sort];
	const uint16_t *found = t->found[threadIdx.x / 32] + sort * ROOM(NEAR);
	rb_tally *tally = args->pool.tally;
	const uint32_t told =
		NEAR ? (uint32_t) RB_TOLD(RB_WITHIN_OF(sort == HIT)) << RB_TOLD_SHIFT : args->told;
	rb_count at = 0;

	__syncwarp();
	if (lane == 0 && n > 0)
		at = atomicAdd(sort == UNDECIDED ? &tally->float_undecided : &tally->hits, (rb_count) n);
	at = __shfl_sync(~0u, at, 0);
	if (sort == UNDECIDED || !args->count_only)
		for (uint32_t i = lane; i < n; i += 32)
		{
			const uint32_t pair = found[i];
			const uint32_t r = __float_as_uint(t->p[2][0][pair >> 8].w) & RB_INDEX_MASK,
						   b = __float_as_uint(t->p[2][1][pair & 255].w) & RB_INDEX_MASK;
			rb_pair p = {r, b};

			if (sort != UNDECIDED)
			{
				p = rb_pair_of(args, r, b);
				p.red |= told;
			}
			(sort == UNDECIDED ? args->pool.undecided : args->pool.hits)[at + i] = p;
		}
	w->made += n;
	w->found[sort] = 0;
	__syncwarp();
}

/* ---- a pair ---- */

/* the boxes overlap on the axes where their floats touch? */
static __device__ __forceinline__ bool
touch(const rb_cells_args *args, uint32_t r, uint32_t b, uint32_t axes)
{
	/* only what is asked for: three coordinates a side, seldom six */
	const double *p = args->side[0].coords + (size_t) r * 9,
				 *q = args->side[1].coords + (size_t) b * 9;

	for (int a = 0; a < 3; a++)
		if (axes >> a & 1)
		{
			if (rb_points_least(p, 3, 3, a) > rb_points_largest(q, 3, 3, a) ||
				rb_points_least(q, 3, 3, a) > rb_points_largest(p, 3, 3, a))
				return false;
		}
	return true;
}

/* append for the lanes that want it; `n` is the same in all lanes */
static __device__ __forceinline__ void
append(uint16_t *buffer, uint32_t *n, bool mine, uint32_t pair)
{
	const uint32_t lanes = __ballot_sync(~0u, mine);

	if (mine)
		buffer[*n + __popc(lanes & ((1u << (threadIdx.x & 31)) - 1))] = (uint16_t) pair;
	*n += __popc(lanes);
}

template <bool NEAR>
static __device__ __forceinline__ void
find(const rb_cells_args *args, rb_tiles *t, rb_warp *w, int sort, bool mine, uint32_t pair)
{
	append(t->found[threadIdx.x / 32] + sort * ROOM(NEAR), &w->found[sort], mine, pair);
	if (w->found[sort] > ROOM(NEAR) - 32)
		flush<NEAR>(args, t, w, sort);
}

/* is it a pair that the job wants? */
static __device__ __forceinline__ bool
wanted(const rb_cells_args *args, const rb_face_f *r, const rb_face_f *b)
{
	return args->side[0].row_of == NULL ||
		   (args->side[0].row_of[r->entry & RB_INDEX_MASK] ==
			args->side[1].row_of[b->entry & RB_INDEX_MASK]) == args->within;
}

/* a pair a lane, off the end of the queue */
static __device__ __forceinline__ void
settle(const rb_cells_args *args, rb_tiles *t, rb_warp *w, uint32_t n)
{
	const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x & 31;
	const uint32_t began = w->timed ? clock() : 0;
	uint32_t pair = 0;
	bool candidate = lane < n;
	int meet = 0;

	w->queued -= n;
	if (candidate)
	{
		rb_face_f r, b;
		float rlo[3], rhi[3], blo[3], bhi[3];
		uint32_t equal = 0;

		pair = t->queue[warp][w->queued + lane];
		face_load(t, 0, pair >> 8, &r);
		face_load(t, 1, pair & 255, &b);
		rb_face_f_box(&r, rlo, rhi);
		rb_face_f_box(&b, blo, bhi);
		for (int a = 0; a < 3; a++)
			equal |= (uint32_t) !(rlo[a] < bhi[a] && blo[a] < rhi[a]) << a;
		if (equal != 0)
			candidate = touch(args, r.entry & RB_INDEX_MASK, b.entry & RB_INDEX_MASK, equal);
		candidate &= wanted(args, &r, &b);
		meet = args->filters & RB_FILTER_FLOAT ? rb_faces_f_meet(&r, &b) : RB_UNSURE;
	}
	w->candidates += __popc(__ballot_sync(~0u, candidate));
	find<false>(args, t, w, HIT, candidate && meet == 1, pair);
	find<false>(args, t, w, UNDECIDED, candidate && meet == RB_UNSURE, pair);
	if (w->timed)
		w->float_clocks += (uint32_t) clock() - began;
}

/* the same with a distance: planes drop what is beyond it, the rest is near */
static __device__ __forceinline__ void
settle_planes(const rb_cells_args *args, rb_tiles *t, rb_warp *w, uint32_t n)
{
	const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x & 31;
	uint32_t pair = 0;
	bool candidate = lane < n, near = false;

	w->queued -= n;
	if (candidate)
	{
		rb_face_f r, b;

		pair = t->queue[warp][w->queued + lane];
		face_load(t, 0, pair >> 8, &r);
		face_load(t, 1, pair & 255, &b);
		candidate = wanted(args, &r, &b);
		near = candidate && !rb_face_f_beyond(&r, &b, t->reach.more) &&
			   !rb_face_f_beyond(&b, &r, t->reach.more);
	}
	w->candidates += __popc(__ballot_sync(~0u, candidate));
	if (args->filters & RB_FILTER_FLOAT)
		append(t->near[warp], &w->nears, near, pair);
	else
		find<true>(args, t, w, UNDECIDED, candidate, pair);
	__syncwarp();
}

/* and what is near, off the end of theirs */
static __device__ __forceinline__ void
settle_near(const rb_cells_args *args, rb_tiles *t, rb_warp *w, uint32_t n)
{
	const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x & 31;
	uint32_t pair = 0;
	int within = 0;

	w->nears -= n;
	if (lane < n)
	{
		rb_face_f r, b;
		const rb_reach_f reach = t->reach;

		pair = t->near[warp][w->nears + lane];
		face_load(t, 0, pair >> 8, &r);
		face_load(t, 1, pair & 255, &b);
		within = rb_faces_f_within(&r, &b, &reach);
	}
	__syncwarp();
	find<true>(args, t, w, HIT, within == RB_WITHIN_OF(1), pair);
	find<true>(args, t, w, NEAR_HIT, within == RB_WITHIN_OF(0), pair);
	find<true>(args, t, w, UNDECIDED, within == RB_UNSURE, pair);
}

/* all that makes full warps; last: all that there is */
static __device__ __forceinline__ void
settle_all_near(const rb_cells_args *args, rb_tiles *t, rb_warp *w, bool last)
{
	const uint32_t began = w->timed ? clock() : 0;
	const uint32_t least = last ? 1 : 32;

	while (w->queued >= least || (last && w->nears > 0))
	{
		if (w->queued >= least)
			settle_planes(args, t, w, w->queued < 32 ? w->queued : 32);
		if (w->nears >= 32 || (last && w->queued == 0 && w->nears > 0))
			settle_near(args, t, w, w->nears < 32 ? w->nears : 32);
	}
	if (w->timed)
		w->float_clocks += (uint32_t) clock() - began;
}

/* ---- boxes ---- */

/* a warp's share of an item */
template <bool NEAR>
static __device__ __forceinline__ void
join_tiles(const rb_cells_args *args, rb_tiles *t, rb_warp *w)
{
	const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x & 31;
	const uint32_t nr = t->item.n & 0xffff, nb = t->item.n >> 16;
	const bool same = args->self && t->item.red == t->item.blue;
	const uint32_t strips = (nb + RB_STRIP - 1) / RB_STRIP;
	const uint32_t units = (nr + 31) / 32 * strips;
	const uint32_t end = units * (warp + 1) / RB_WARPS;
	uint32_t group = ~0u;
	uint32_t slot = 0, missing = 0;
	float lo[3], hi[3];

	/* where there are two queues one round more empties them: the tests are in the code once */
	for (uint32_t u = units * warp / RB_WARPS; u < end + NEAR; u++)
	{
		const uint32_t g = u / strips;
		const uint32_t first = (u - g * strips) * RB_STRIP;
		uint32_t overlap = 0, n, at;

		if (NEAR && u == end)
		{
			settle_all_near(args, t, w, true);
			break;
		}
		if (same && first + RB_STRIP - 1 <= g * 32)
			continue; /* pairs of which each is looked at the other way round */
		if (g != group)
		{
			rb_face_f f;

			group = g;
			slot = g * 32 + lane;
			face_load(t, 0, slot < nr ? slot : 0, &f);
			face_box<NEAR>(t, &f, lo, hi);
			missing = ~(f.entry >> RB_INDEX_BITS) & RB_STARTS_ALL;
		}
#pragma unroll
		for (int k = 0; k < RB_STRIP; k++)
		{
			const float4 l = t->lo[first + k], h = t->hi[first + k];
			const bool o = (lo[0] <= h.x) & (l.x <= hi[0]) & (lo[1] <= h.y) & (l.y <= hi[1]) &
						   (lo[2] <= h.z) & (l.z <= hi[2]) &
						   ((missing & __float_as_uint(l.w)) == 0);

			overlap |= (uint32_t) o << k;
		}
		/* slots beyond the tile's end hold anything */
		if (slot >= nr)
			overlap = 0;
		if (nb - first < RB_STRIP)
			overlap &= (1u << (nb - first)) - 1;
		if (same && first <= slot)
			overlap = slot - first + 1 < RB_STRIP ? overlap & ~0u << (slot - first + 1) : 0;

		/* lane after lane, so that pairs of one red object lie side by side */
		n = __popc(overlap);
		at = n;
		for (int d = 1; d < 32; d *= 2)
		{
			uint32_t other = __shfl_up_sync(~0u, at, d);

			if (lane >= (uint32_t) d)
				at += other;
		}
		n = __shfl_sync(~0u, at, 31);
		at += w->queued - __popc(overlap);
		for (; overlap != 0; overlap &= overlap - 1)
			t->queue[warp][at++] = (uint16_t) (slot << 8 | (first + __ffs(overlap) - 1));
		w->queued += n;
		__syncwarp();
		while (!NEAR && w->queued >= 32)
			settle(args, t, w, 32);
		if (NEAR && w->queued >= 32)
			settle_all_near(args, t, w, false);
		__syncwarp();
	}
	if (!NEAR && w->queued > 0)
		settle(args, t, w, w->queued);
}

/* ---- work items ---- */

template <bool NEAR>
static __global__ void
__launch_bounds__(THREADS) cells_join_kernel(const rb_cells_args args)
{
	extern __shared__ float4 shared_memory[];
	rb_tiles *t = (rb_tiles *) shared_memory;
	rb_warp w = {0, 0, {0, 0, 0}, 0, 0, 0, false};
	rb_count clocks = 0, float_clocks = 0;
	bool first = true;

	for (;;)
	{
		uint32_t began;

		__syncthreads();
		if (threadIdx.x == 0)
		{
			items_take(&args, &t->taken, RB_ITEM_PAIRS, first);
			if (t->taken.number < args.nitems)
			{
				t->item = args.items[t->taken.number];
				if (NEAR)
				{
					rb_frame_even(&t->item.frame);
					rb_reach_f_init(&t->reach, &t->item.frame, args.distance);
				}
			}
		}
		first = false;
		__syncthreads();
		if (t->taken.number >= args.nitems)
			break;
		w.timed = t->taken.number % SAMPLED == 0;
		w.float_clocks = 0;
		began = (uint32_t) clock();
		tile_load<NEAR>(t, 0, &args.side[0], args.entry[0] + t->item.red, t->item.n & 0xffff);
		tile_load<NEAR>(t, 1, &args.side[1], args.entry[1] + t->item.blue, t->item.n >> 16);
		__syncthreads();
		join_tiles<NEAR>(&args, t, &w);
#pragma unroll
		for (int sort = 0; sort < (NEAR ? SORTS : NEAR_HIT); sort++)
			if (w.found[sort] > 0)
				flush<NEAR>(&args, t, &w, sort);
		if (w.timed)
		{
			clocks += (uint32_t) clock() - began;
			float_clocks += w.float_clocks;
		}
		if ((threadIdx.x & 31) == 0 && w.made > 0)
			atomicAdd(&t->taken.made, w.made);
		w.made = 0;
	}
	if ((threadIdx.x & 31) == 0)
	{
		rb_tally *tally = args.pool.tally;

		if (w.candidates > 0)
			atomicAdd(&tally->candidates, w.candidates);
		if (clocks > 0)
		{
			atomicAdd(&tally->clocks, clocks);
			atomicAdd(&tally->float_clocks, float_clocks);
		}
	}
}

static bool
is_near(const rb_cells_args *args)
{
	return args->predicate == RB_WITHIN;
}

rb_status
rb_cells_blocks(rb_device_run *run, const rb_cells_args *args, int *blocks)
{
	void (*kernel)(rb_cells_args) =
		is_near(args) ? cells_join_kernel<true> : cells_join_kernel<false>;
	int per_sm;

	if (!args->faces)
		return rb_boxes_blocks(run, args, blocks);
	RB_CUDA(run, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
									  (int) sizeof(rb_tiles)));
	RB_CUDA(run, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, THREADS,
															   sizeof(rb_tiles)));
	*blocks = (per_sm > 0 ? per_sm : 1) * run->device->sms;
	return RB_OK;
}

rb_status
rb_cells_launch(rb_device_run *run, const rb_cells_args *args, int blocks)
{
	cudaStream_t stream = run->queue->compute;

	if (!args->faces)
		return rb_boxes_launch(run, args, blocks);
	if (is_near(args))
		cells_join_kernel<true><<<blocks, THREADS, sizeof(rb_tiles), stream>>>(*args);
	else
		cells_join_kernel<false><<<blocks, THREADS, sizeof(rb_tiles), stream>>>(*args);
	RB_LAUNCHED(run, "cells_join_kernel");
	return RB_OK;
}
