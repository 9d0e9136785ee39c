/*
 * refine_fill.cu
 *	  Claims cells and, once the winners are known, creates their new cells, links them, and finds
 *	  the splits that they need.
 */
#define RB_FILTERS_ONLY
#include "refine.cuh"

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

static __global__ void
__launch_bounds__(RB_REFINE_BLOCK) needs_kernel(const __grid_constant__ rb_refine_args a)
{
	EACH(i, a.nfresh);
	rb_cell *c = &a.m.cells[rb_place(&a.places, i)];

	a.needs[i] = c->v[0] == RB_DEAD ? 0 : (uint16_t) rb_cell_needs(&a.m, c);
}

#define LAUNCH(kernel, n)                                                                 \
	do                                                                                    \
	{                                                                                     \
		if ((n) > 0)                                                                      \
			kernel<<<rb_refine_blocks(n), RB_REFINE_BLOCK, 0, run->queue->compute>>>(*a); \
		RB_REFINE_LAUNCHED(run, a, "refine: " #kernel);                                   \
	} while (0)

rb_status
rb_refine_claim(rb_device_run *run, const rb_refine_args *a)
{
	LAUNCH(claim_kernel, a->ncands * 32);
	LAUNCH(own_kernel, a->ncands * 32);
	return RB_OK;
}

rb_status
rb_refine_fill(rb_device_run *run, const rb_refine_args *a)
{
	LAUNCH(release_kernel, a->ncands * 32);
	LAUNCH(star_kernel, a->nwinners * 32);
	LAUNCH(link_kernel, a->nfresh);
	LAUNCH(finish_kernel, a->nwinners * 32);
	return RB_OK;
}

rb_status
rb_refine_needs(rb_device_run *run, const rb_refine_args *a)
{
	LAUNCH(needs_kernel, a->nfresh);
	return RB_OK;
}
