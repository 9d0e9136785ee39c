/*
 * refine_filters.cu
 *	  Creates candidates, grows their cavities, and finds conflicts between them, as far as filters
 *	  can decide.
 *
 * Nearly all signs are decided here. A candidate with an undecided sign is added to a list, whose
 * order does not matter.
 */
#define RB_FILTERS_ONLY
#include "refine_cavity.cuh"

#define GROW_BLOCKS 4 /* Blocks per multiprocessor */
#define WARPS (RB_REFINE_THREADS / 32)
#define LARGE_WARPS 8 /* Warps of a block that grows one large cavity */

static __global__ void
__launch_bounds__(RB_REFINE_BLOCK) make_kernel(const __grid_constant__ rb_refine_args a)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < a.ncands)
		rb_round_make(&a.m, &a.cands[i], i);
}

rb_status
rb_refine_create(rb_device_run *run, const rb_refine_args *a)
{
	make_kernel<<<rb_refine_blocks(a->ncands), RB_REFINE_BLOCK, 0, run->queue->compute>>>(*a);
	RB_REFINE_LAUNCHED(run, a, "refine: make_kernel");
	return RB_OK;
}

static __global__ void
__launch_bounds__(RB_REFINE_THREADS, GROW_BLOCKS)
	grow_kernel(const __grid_constant__ rb_refine_args a)
{
	__shared__ rb_warp_room rooms[WARPS];
	const uint32_t lane = threadIdx.x & 31;
	rb_cavity_team<1> team = {NULL, 0};
	rb_workspace room = rb_warp_small(&team, &rooms[threadIdx.x / 32]);
	rb_exact_env env;

	env.filters = a.filters;
	env.exact = false;
	env.room = NULL;
	for (;;)
	{
		uint32_t i = 0;

		if (lane == 0)
			i = atomicAdd(&a.counts->next, 1u);
		i = __shfl_sync(RB_ALL_LANES, i, 0);
		if (i >= a.ncands)
			break;
		if (a.cands[i].verdict != RB_READY)
			continue;
		if (rb_team_grow_one(&team, &a, &env, i, &room) == RB_OPEN && lane == 0)
			a.list[0][atomicAdd(&a.counts->open, 1u)] = i;
	}
}

rb_status
rb_refine_grow(rb_device_run *run, const rb_refine_args *a)
{
	uint32_t blocks = (uint32_t) run->device->sms * GROW_BLOCKS;
	uint32_t most = (a->ncands + WARPS - 1) / WARPS;

	blocks = blocks < most ? blocks : most;
	grow_kernel<<<blocks, RB_REFINE_THREADS, 0, run->queue->compute>>>(*a);
	RB_REFINE_LAUNCHED(run, a, "refine: grow_kernel");
	return RB_OK;
}

/* Grows the candidates that need a larger workspace, with one block each. */
static __global__ void
__launch_bounds__(LARGE_WARPS * 32, 1)
	grow_large_kernel(const __grid_constant__ rb_refine_args a,
					  const __grid_constant__ rb_refine_some some)
{
	extern __shared__ uint4 shared[];
	__shared__ rb_team_words<LARGE_WARPS> words;
	const uint32_t end = rb_refine_end(&some);
	rb_cavity_team<LARGE_WARPS> team = {&words, 0};
	rb_workspace room = rb_team_large(&team, some.huge ? &a.huge : NULL, shared);
	rb_exact_env env;

	env.filters = a.filters;
	env.exact = false;
	env.room = NULL;
	for (uint32_t k = blockIdx.x; k < end; k += gridDim.x)
	{
		uint32_t i = some.list[k];
		rb_verdict verdict = rb_team_grow_one(&team, &a, &env, i, &room);

		if (threadIdx.x == 0 && verdict == RB_OPEN)
			a.list[0][atomicAdd(&a.counts->open, 1u)] = i;
		if (threadIdx.x == 0 && verdict == RB_LARGE && some.huge)
			rb_refine_abandon(&a.cands[i]);
	}
}

rb_status
rb_refine_grow_large(rb_device_run *run, const rb_refine_args *a, const rb_refine_some *some)
{
	const uint32_t most = some->huge ? 1 : (uint32_t) run->device->sms;
	const uint32_t blocks = some->most < most ? some->most : most;

	RB_CUDA(run,
			cudaFuncSetAttribute(grow_large_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
								 RB_REFINE_LARGE_BYTES));
	grow_large_kernel<<<blocks, LARGE_WARPS * 32, RB_REFINE_LARGE_BYTES, run->queue->compute>>>(
		*a, *some);
	RB_REFINE_LAUNCHED(run, a, "refine: grow_large_kernel");
	return RB_OK;
}

/*
 * Checks each owner with one warp. The owner gives way if any of its cells conflicts with a
 * neighboring stronger owner. Otherwise it is undecided if any of the signs is.
 */
static __global__ void
__launch_bounds__(RB_REFINE_BLOCK) beside_kernel(const __grid_constant__ rb_refine_args a)
{
	const uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
	rb_refine_candidate *cand = &a.cands[i];
	const uint32_t *cells;
	rb_exact_env env;
	bool in_way = false, unsure = false;

	if (i >= a.ncands || cand->verdict != RB_OWNS)
		return;
	cells = rb_refine_cells_of(&a, cand);
	env.filters = a.filters;
	env.exact = false;
	env.room = NULL;
	for (uint32_t from = 0; from < cand->ncells && !in_way; from += 32)
	{
		int independent = 1;

		if (from + lane < cand->ncells)
			independent = rb_star_independent_at(&a.m, &env, a.cands, cand, cells[from + lane]);
		in_way = __any_sync(RB_ALL_LANES, independent == 0) != 0;
		unsure |= __any_sync(RB_ALL_LANES, independent == RB_UNSURE) != 0;
	}
	if (lane != 0)
		return;
	cand->vertex = in_way ? 0 : unsure ? RB_UNSURE : 1;
	if (cand->vertex == RB_UNSURE)
		a.list[0][atomicAdd(&a.counts->open, 1u)] = i;
}

rb_status
rb_refine_beside(rb_device_run *run, const rb_refine_args *a)
{
	beside_kernel<<<rb_refine_blocks(a->ncands * 32), RB_REFINE_BLOCK, 0, run->queue->compute>>>(
		*a);
	RB_REFINE_LAUNCHED(run, a, "refine: beside_kernel");
	return RB_OK;
}
