/*
 * refine_round.cu
 *	  Implements the kernels of a round: they create candidates, grow their cavities and find
 *	  conflicts between them, as far as filters can decide, and create the new cells of the winners.
 *
 * Nearly all signs are decided here. A candidate with an undecided sign is added to a list, whose
 * order does not matter.
 */
#define RB_FILTERS_ONLY
#include "refine_cavity.cuh"

#define GROW_BLOCKS 4 /* Blocks per multiprocessor */
#define WARPS (RB_REFINE_THREADS / 32)
#define LARGE_WARPS 8 /* Warps of a block that grows one large cavity */

#define EACH(i, n)                                            \
	const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; \
	if (i >= (n))                                             \
	return

/* Assigns one warp to each element. */
#define EACH_WARP(i, n)                                              \
	const uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; \
	const uint32_t lane = threadIdx.x & 31;                          \
	if (i >= (n))                                                    \
	return

/* ---- candidates and their cavities ---- */

/* Creates the candidates of a round from the entries that were gathered for them. */
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
	RB_REFINE_LAUNCH(run, a, make_kernel, a->ncands, *a);
	return RB_OK;
}

/* Grows the cavities of all ready candidates by filters, one warp each. */
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

/* Grows by filters the cavities of candidates that need a larger workspace, one block each. */
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
__launch_bounds__(RB_REFINE_BLOCK) find_conflicts_kernel(const __grid_constant__ rb_refine_args a)
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
rb_refine_find_conflicts(rb_device_run *run, const rb_refine_args *a)
{
	RB_REFINE_LAUNCH(run, a, find_conflicts_kernel, a->ncands * 32, *a);
	return RB_OK;
}

/* ---- owners and winners: claims, new cells, and the splits that these need ---- */

/* Claims the cells of each cavity; the strongest candidate that wants a cell gets it. */
static __global__ void
__launch_bounds__(RB_REFINE_BLOCK) claim_kernel(const __grid_constant__ rb_refine_args a)
{
	EACH_WARP(i, a.ncands);
	const rb_refine_candidate *cand = &a.cands[i];
	const uint32_t *cells = rb_refine_cells_of(&a, cand);

	if (cand->verdict == RB_FITS)
		for (uint32_t k = lane; k < cand->ncells; k += 32)
			rb_word_max(&a.m.cells[cells[k]].claim, cand->key);
}

/* Determines which candidates own all of their cells. */
static __global__ void
__launch_bounds__(RB_REFINE_BLOCK) own_kernel(const __grid_constant__ rb_refine_args a)
{
	EACH_WARP(i, a.ncands);
	rb_refine_candidate *cand = &a.cands[i];
	const uint32_t *cells = rb_refine_cells_of(&a, cand);
	bool owns = true;

	if (cand->verdict != RB_FITS)
		return;
	for (uint32_t from = 0; from < cand->ncells && owns; from += 32)
		owns = __all_sync(~0u, from + lane >= cand->ncells ||
								   a.m.cells[cells[from + lane]].claim == cand->key);
	__syncwarp();
	if (lane == 0)
		cand->verdict = owns ? RB_OWNS : RB_LOST;
}

/* Releases the claims of losing candidates, and marks what cannot be split. */
static __global__ void
__launch_bounds__(RB_REFINE_BLOCK) release_kernel(const __grid_constant__ rb_refine_args a)
{
	EACH_WARP(i, a.ncands);
	const rb_refine_candidate *cand = &a.cands[i];
	const uint32_t *cells = rb_refine_cells_of(&a, cand);

	if (rb_round_claimed(cand))
		for (uint32_t k = lane; k < cand->ncells; k += 32)
			rb_round_unclaim(&a.m, a.cands, cells[k]);
	if (lane == 0)
		rb_round_release_seeds(&a.m, a.cands, cand);
}

/*
 * Creates the star of a winner with one warp, like rb_star_build: 8 cells with 4 faces each at a
 * time. The thread that creates a new cell also links it, in both directions.
 */
static __global__ void
__launch_bounds__(RB_REFINE_BLOCK) star_kernel(const __grid_constant__ rb_refine_args a)
{
	const uint32_t w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
	const uint32_t i = lane & 3;
	const rb_refine_candidate *cand;
	const uint32_t *cells;
	uint32_t u = 0, v = 0, next;
	double nearest2 = INFINITY;

	if (w >= a.nwinners)
		return;
	cand = &a.cands[a.winners[w]];
	cells = rb_refine_cells_of(&a, cand);
	next = cand->slots;
	if (lane == 0)
		rb_star_site(&a.m, cand, &u, &v);
	u = __shfl_sync(~0u, u, 0);
	v = __shfl_sync(~0u, v, 0);
	for (uint32_t from = 0; from < cand->ncells; from += 8)
	{
		uint32_t k = from + lane / 4;
		bool rim = k < cand->ncells && rb_star_rim(&a.m, cand, cells[k], i);
		uint32_t rims = __ballot_sync(~0u, rim);

		if (rim)
		{
			uint32_t slot = next + (uint32_t) __popc(rims & ((1u << lane) - 1));
			double d2 = rb_star_cell(&a.m, cand, cells[k], i, rb_place(&a.places, slot), u, v);

			nearest2 = d2 < nearest2 ? d2 : nearest2;
		}
		next += (uint32_t) __popc(rims);
	}
	__syncwarp();
	for (uint32_t k = lane / 4; k < cand->ncells; k += 8)
	{
		rb_cell *c = &a.m.cells[a.m.cells[cells[k]].n[i] >> 2];

		if (c->claim == cand->key)
			continue;
		for (uint32_t j = 0; j < 3; j++)
		{
			uint32_t facet;

			c->n[j + 1] = rb_star_next(&a.m, cand, cells[k], i, j, &facet);
			if (facet != RB_NOWHERE)
			{
				c->facet[j + 1] = facet;
				c->bits |= RB_CELL_WALL(j + 1);
			}
		}
	}
	for (int d = 16; d > 0; d /= 2)
	{
		double other = __shfl_down_sync(~0u, nearest2, d);

		nearest2 = other < nearest2 ? other : nearest2;
	}
	if (lane == 0)
		rb_star_radius(&a.m, cand, nearest2);
}

static __global__ void
__launch_bounds__(RB_REFINE_BLOCK) link_kernel(const __grid_constant__ rb_refine_args a)
{
	EACH(i, a.nfresh);
	rb_star_link(&a.m, a.cands, rb_place(&a.places, i));
}

/* Removes the old cells of the winners and lists their slots as free. */
static __global__ void
__launch_bounds__(RB_REFINE_BLOCK) finish_kernel(const __grid_constant__ rb_refine_args a)
{
	EACH_WARP(i, a.nwinners);
	const rb_refine_candidate *cand = &a.cands[a.winners[i]];
	const uint32_t *cells = rb_refine_cells_of(&a, cand);

	for (uint32_t k = lane; k < cand->ncells; k += 32)
	{
		a.m.cells[cells[k]].v[0] = RB_DEAD;
		a.m.cells[cells[k]].claim = 0;
		a.freed[a.freed_at[i] + k] = cells[k];
	}
}

/* Finds the splits that each new cell needs. */
static __global__ void
__launch_bounds__(RB_REFINE_BLOCK) needs_kernel(const __grid_constant__ rb_refine_args a)
{
	EACH(i, a.nfresh);
	rb_cell *c = &a.m.cells[rb_place(&a.places, i)];

	a.needs[i] = c->v[0] == RB_DEAD ? 0 : (uint16_t) rb_cell_needs(&a.m, c);
}

rb_status
rb_refine_claim(rb_device_run *run, const rb_refine_args *a)
{
	RB_REFINE_LAUNCH(run, a, claim_kernel, a->ncands * 32, *a);
	RB_REFINE_LAUNCH(run, a, own_kernel, a->ncands * 32, *a);
	return RB_OK;
}

rb_status
rb_refine_fill(rb_device_run *run, const rb_refine_args *a)
{
	RB_REFINE_LAUNCH(run, a, release_kernel, a->ncands * 32, *a);
	RB_REFINE_LAUNCH(run, a, star_kernel, a->nwinners * 32, *a);
	RB_REFINE_LAUNCH(run, a, link_kernel, a->nfresh, *a);
	RB_REFINE_LAUNCH(run, a, finish_kernel, a->nwinners * 32, *a);
	return RB_OK;
}

rb_status
rb_refine_needs(rb_device_run *run, const rb_refine_args *a)
{
	RB_REFINE_LAUNCH(run, a, needs_kernel, a->nfresh, *a);
	return RB_OK;
}
