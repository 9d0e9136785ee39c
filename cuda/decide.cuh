/*
 * decide.cuh
 *	  Decides the pairs that the float test left, by rb_pair_decide: the same source that the CPU
 *	  compiles.
 *
 * This file is included twice. filters.cu (EXACT false) computes signs by filters only. That
 * decides nearly all pairs of clean data and, because structural zeros are detected, most pairs of
 * lattice and axis-aligned data. exact.cu (EXACT true) uses integers and expansions. It is a
 * separate kernel, so that its registers and its memory burden only the pairs that need it. Pairs
 * whose coordinates have exponents beyond the range of expansions are left to GMP on the host.
 *
 * The lists lie in the two arrays of the pool and never overlap, because each array has space for
 * all pairs that are still undecided:
 *
 *	hits		[ hits of the float test | of the filters >		< left by the filters ]
 *	undecided	[ read by the filters ]
 *	undecided	[ hits of exact signs >							< for the host ]
 */
#include "cuda.cuh"
#include "core/primitive/dispatch.h"

#define THREADS 128

#define HELD 128 /* Hits that a warp buffers, so that it reserves space for many at once */

typedef struct rb_desk
{
	double coords[THREADS / RB_WARP][2][RB_WARP * 9];
	rb_pair held[THREADS / RB_WARP][HELD];
} rb_desk;

/*
 * Loads the coordinates of 32 objects, one per lane, with coalesced accesses, in which neighboring
 * lanes read neighboring words.
 */
template <int WIDTH>
static __device__ __forceinline__ void
fetch_coords_of_objects(const rb_device_set *side, uint32_t index, double *to)
{
	const uint32_t lane = threadIdx.x % RB_WARP;

	for (uint32_t k = 0; k < WIDTH; k++)
	{
		const uint32_t at = k * RB_WARP + lane, object = at / WIDTH;
		const uint32_t of = __shfl_sync(~0u, index, object);

		to[at] = __ldg(side->coords + (size_t) of * WIDTH + (at - object * WIDTH));
	}
}

/*
 * Loads the objects of a warp and returns the coordinates of this lane's object. They stay in
 * shared memory, because their corners are selected by an index at run time; arrays in registers
 * would be copied to local memory for that.
 */
static __device__ __forceinline__ const double *
load_objects_of_warp(const rb_device_set *side, uint32_t index, double *desk)
{
	/* rb_kind_width of the kinds that occur here */
	const int width = side->kind == RB_TRIANGLE3 ? 9 : side->kind == RB_SEGMENT3 ? 6 : 4;

	if (width == 9)
		fetch_coords_of_objects<9>(side, index, desk);
	else if (width == 6)
		fetch_coords_of_objects<6>(side, index, desk);
	else
		fetch_coords_of_objects<4>(side, index, desk);
	return desk + threadIdx.x % RB_WARP * width;
}

/*
 * Returns this lane's position in an array that fills from *n, if `mine` is set. All lanes of the
 * warp must call it.
 */
static __device__ __forceinline__ uint32_t
position_in_warp_array(bool mine, uint32_t *n)
{
	const uint32_t lanes = __ballot_sync(~0u, mine);
	const uint32_t at = *n + __popc(lanes & ((1u << threadIdx.x % RB_WARP) - 1));

	*n += __popc(lanes);
	return at;
}

/* Reserves n elements at a counter for the warp, and returns the first of them to all lanes. */
static __device__ __forceinline__ rb_count
reserve_range_for_warp(uint32_t n, rb_count *counter)
{
	rb_count at = 0;

	if (threadIdx.x % RB_WARP == 0 && n > 0)
		at = atomicAdd(counter, (rb_count) n);
	return __shfl_sync(~0u, at, 0);
}

/* Writes the pairs that a warp has buffered to their final position. */
static __device__ __forceinline__ void
write_buffered_hits(const rb_pair *held, uint32_t n, rb_pair *to, rb_count *counter)
{
	const rb_count at = reserve_range_for_warp(n, counter);

	__syncwarp();
	for (uint32_t i = threadIdx.x % RB_WARP; i < n; i += RB_WARP)
		to[at + i] = held[i];
	__syncwarp();
}

/* Decides the predicate on a pair of objects, after testing the boxes of triangles. */
template <rb_predicate PREDICATE>
static __device__ __forceinline__ int
decide_pair_of_objects(const rb_cells_args *args, const double *r, const double *b,
					   rb_exact_env *env)
{
	/*
	 * The extents used in a cell are coarser than boxes. Test the boxes here, because
	 * rb_pair_decide requires that they overlap.
	 */
	if (PREDICATE != RB_WITHIN && !EXACT && args->faces)
	{
		double rlo[3], rhi[3], blo[3], bhi[3];

		rb_kind_box(RB_TRIANGLE3, r, 0, rlo, rhi);
		rb_kind_box(RB_TRIANGLE3, b, 0, blo, bhi);
		if (!rb_boxes_overlap(rlo, rhi, blo, bhi))
			return 0;
	}
	return rb_pair_decide(env, PREDICATE, args->side[0].kind, args->side[1].kind, r, b);
}

/*
 * Decides pairs; there is one kernel for each predicate, so that none burdens another. With MARKS,
 * pairs whose parts are already marked are skipped.
 */
template <rb_predicate PREDICATE, bool MARKS>
static __global__ void
__launch_bounds__(THREADS, EXACT ? 1 : RB_FILTERS_RESIDENT)
	decide_kernel(const rb_cells_args args, double *room)
{
	__shared__ rb_desk desk;
	const rb_pool *pool = &args.pool;
	rb_launch_tally *tally = pool->tally;
	const rb_count n = EXACT ? tally->filter_undecided : tally->float_undecided;
	const uint32_t lane = threadIdx.x % RB_WARP, local = threadIdx.x / RB_WARP;
	const uint32_t warp = blockIdx.x * (THREADS / RB_WARP) + local;
	rb_pair *hits = EXACT ? pool->undecided : pool->hits;
	rb_count *nhits = EXACT ? &tally->exact_hits : &tally->hits;
	rb_exact_env env = {args.filters, EXACT, 0, 0, 0, NULL, args.distance};
	rb_count exact = 0, counted = 0;
	uint32_t steps = 0, stop = 0, held = 0;

	if (EXACT) /* The expansions of a warp's threads are interleaved. */
		env.room = room + (size_t) warp * RB_WARP * RB_EXPANSION_ROOM + lane;
	for (rb_count base = (rb_count) warp * RB_WARP; base < n;
		 base += (rb_count) gridDim.x * THREADS)
	{
		const rb_count i = base + lane;
		rb_pair p = {0, 0};
		const double *r, *b;
		bool open = i < n;
		int answer = 0;
		uint32_t left = 0, at;
		rb_count first;

		if (steps++ % 16 == 0)
			stop = rb_peek(args.stop);
		if (__any_sync(~0u, stop != 0))
			break;
		if (open)
			p = EXACT ? pool->hits[pool->capacity - 1 - i] : pool->undecided[i];
		if (MARKS)
			open &= !rb_words_are_marked(&args, rb_pair_of(&args, p.red, p.blue));
		__syncwarp();
		r = load_objects_of_warp(&args.side[0], p.red, desk.coords[local][0]);
		b = load_objects_of_warp(&args.side[1], p.blue, desk.coords[local][1]);
		__syncwarp();
		if (open)
		{
			const rb_count before = env.integer + env.expansion;

			answer = decide_pair_of_objects<PREDICATE>(&args, r, b, &env);
			exact += env.integer + env.expansion != before || (EXACT && answer == RB_UNSURE);
		}
		if (args.count_only)
			counted += RB_IS_YES(answer);
		else
		{
			at = position_in_warp_array(RB_IS_YES(answer), &held);
			if (RB_IS_YES(answer))
			{
				rb_pair hit = rb_pair_of(&args, p.red, p.blue);

				hit.red |= (uint32_t) RB_PAYLOAD(answer) << RB_PAYLOAD_SHIFT;
				desk.held[local][at] = hit;
			}
			if (held > HELD - RB_WARP)
			{
				write_buffered_hits(desk.held[local], held, hits, nhits);
				held = 0;
			}
		}
		at = position_in_warp_array(answer == RB_UNSURE, &left);
		if (left > 0)
		{
			first = reserve_range_for_warp(left, EXACT ? &tally->host_undecided
													   : &tally->filter_undecided);
			if (answer == RB_UNSURE)
				hits[pool->capacity - 1 - (first + at)] = p;
		}
	}
	if (held > 0)
		write_buffered_hits(desk.held[local], held, hits, nhits);
	counted = rb_warp_sum(counted);
	if (lane == 0 && counted > 0)
		atomicAdd(nhits, counted);
	if (EXACT)
	{
		exact = rb_warp_sum(exact);
		env.integer = rb_warp_sum(env.integer);
		env.expansion = rb_warp_sum(env.expansion);
		if (lane == 0 && exact > 0)
		{
			atomicAdd(&tally->exact, exact);
			atomicAdd(&tally->integer, (rb_count) env.integer);
			atomicAdd(&tally->expansion, (rb_count) env.expansion);
		}
	}
}

typedef void (*rb_decide_kernel)(rb_cells_args, double *);

/* Returns the kernel that decides the predicate of the job. */
static rb_decide_kernel
kernel_of_predicate(const rb_cells_args *args)
{
	switch (args->predicate)
	{
		case RB_CONTACT:
			return decide_kernel<RB_CONTACT, false>;
		case RB_SELF_INTERSECT:
			return decide_kernel<RB_SELF_INTERSECT, false>;
		case RB_WITHIN:
			return decide_kernel<RB_WITHIN, false>;
		case RB_RAY_PARITY:
			return decide_kernel<RB_RAY_PARITY, false>;
		default:
			return args->marks != NULL ? decide_kernel<RB_MEET, true>
									   : decide_kernel<RB_MEET, false>;
	}
}
