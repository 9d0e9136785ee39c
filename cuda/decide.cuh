/*
 * decide.cuh
 *	  What the float test left, decided by rb_pair_decide: the very lines that the CPU
 *	  compiles.
 *
 * Included twice.  filters.cu (EXACT false) takes signs from filters only, which
 * settles nearly all pairs of clean data and, by zeros that can be seen, most of
 * lattices and walls.  exact.cu (EXACT true) has integers and expansions.  It is a
 * kernel of its own so that its registers and its memory burden only the pairs that
 * want it.  Pairs whose exponents are beyond expansions are left for GMP on the host.
 *
 * The lists lie in the two arrays of the pool and never overlap, for no array has
 * room for less than all pairs that are still open:
 *
 *		hits		[ hits of the float test | of the filters >		< left by the filters ]
 *		undecided	[ read by the filters ]
 *		undecided	[ hits of exact signs >							< for the host ]
 */
#include "rb_cuda.cuh"
#include "core/shape/rb_pair.h"

#define THREADS 128
#define RESIDENT 4 /* of them at once: as many as registers should let be */

static __device__ __forceinline__ void
object_load(const rb_device_set *side, uint32_t index, double c[9])
{
	/* rb_kind_width of those that come here; with that function nvcc makes slower loads */
	const int width = side->kind == RB_TRIANGLE3 ? 9 : side->kind == RB_SEGMENT3 ? 6 : 4;

	for (int k = 0; k < 9; k++)
		if (k < width)
			c[k] = __ldg(side->coords + (size_t) index * width + k);
}

template <rb_predicate PREDICATE>
static __device__ __forceinline__ int
decide(const rb_cells_args *args, rb_pair p, rb_exact_env *env)
{
	double r[9], b[9];

	object_load(&args->side[0], p.red, r);
	object_load(&args->side[1], p.blue, b);
	return rb_pair_decide(env, PREDICATE, args->side[0].kind, args->side[1].kind, r, b);
}

/*
 * A kernel for each predicate, so that none burdens another.  MARKS: hits are marked, and a
 * pair from which there is nothing to learn is left out.
 */
template <rb_predicate PREDICATE, bool MARKS>
static __global__ void
__launch_bounds__(THREADS, EXACT ? 1 : RESIDENT)
	decide_kernel(const rb_cells_args args, double *room)
{
	const rb_pool *pool = &args.pool;
	rb_tally *tally = pool->tally;
	const rb_count n = EXACT ? tally->filter_undecided : tally->float_undecided;
	const uint32_t warp = (blockIdx.x * THREADS + threadIdx.x) / RB_WARP;
	rb_exact_env env = {args.filters, EXACT, 0, 0, 0, NULL, args.distance};
	rb_count exact = 0;
	uint32_t steps = 0, stop = 0;

	if (EXACT) /* those of a warp's threads are interleaved */
		env.room = room + (size_t) warp * RB_WARP * RB_EXPANSION_ROOM + threadIdx.x % RB_WARP;
	for (rb_count base = (rb_count) blockIdx.x * THREADS; base < n;
		 base += (rb_count) gridDim.x * THREADS)
	{
		const rb_count i = base + threadIdx.x;
		rb_pair p = {0, 0};
		int answer = 0;
		rb_count at;

		if (steps++ % 16 == 0)
			stop = rb_peek(args.stop);
		if (i < n && stop == 0)
		{
			const rb_count before = env.integer + env.expansion;

			p = EXACT ? pool->hits[pool->capacity - 1 - i] : pool->undecided[i];
			answer = MARKS && rb_words_know(&args, rb_pair_of(&args, p.red, p.blue))
						 ? 0
						 : decide<PREDICATE>(&args, p, &env);
			exact += env.integer + env.expansion != before || (EXACT && answer == RB_UNSURE);
		}
		at = rb_block_reserve(RB_IS_YES(answer), EXACT ? &tally->exact_hits : &tally->hits);
		if (RB_IS_YES(answer) && !args.count_only)
		{
			rb_pair hit = rb_pair_of(&args, p.red, p.blue);

			hit.red |= (uint32_t) RB_TOLD(answer) << RB_TOLD_SHIFT;
			(EXACT ? pool->undecided : pool->hits)[at] = hit;
		}
		at = rb_block_reserve(answer == RB_UNSURE,
							  EXACT ? &tally->host_undecided : &tally->filter_undecided);
		if (answer == RB_UNSURE)
			(EXACT ? pool->undecided : pool->hits)[pool->capacity - 1 - at] = p;
	}
	if (EXACT)
	{
		exact = rb_warp_sum(exact);
		env.integer = rb_warp_sum(env.integer);
		env.expansion = rb_warp_sum(env.expansion);
		if ((threadIdx.x & 31) == 0 && exact > 0)
		{
			atomicAdd(&tally->exact, exact);
			atomicAdd(&tally->integer, (rb_count) env.integer);
			atomicAdd(&tally->expansion, (rb_count) env.expansion);
		}
	}
}

static void
decide_launch(const rb_cells_args *args, int blocks, cudaStream_t stream, double *room)
{
	switch (args->predicate)
	{
		case RB_CONTACT:
			decide_kernel<RB_CONTACT, false><<<blocks, THREADS, 0, stream>>>(*args, room);
			break;
		case RB_SELF_INTERSECT:
			decide_kernel<RB_SELF_INTERSECT, false><<<blocks, THREADS, 0, stream>>>(*args, room);
			break;
		case RB_WITHIN:
			decide_kernel<RB_WITHIN, false><<<blocks, THREADS, 0, stream>>>(*args, room);
			break;
		case RB_UNDER:
			decide_kernel<RB_UNDER, false><<<blocks, THREADS, 0, stream>>>(*args, room);
			break;
		default:
			if (args->marks != NULL)
				decide_kernel<RB_MEET, true><<<blocks, THREADS, 0, stream>>>(*args, room);
			else
				decide_kernel<RB_MEET, false><<<blocks, THREADS, 0, stream>>>(*args, room);
	}
}
