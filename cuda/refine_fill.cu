/*
 * refine_fill.cu
 *	  Claims, and after it is known who wins: new cells, links, and what they need.
 */
#define RB_FILTERS_ONLY
#include "rb_refine.cuh"

#define EACH(i, n)                                              \
	const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; \
	if (i >= (n))                                             \
	return

static __global__ void
__launch_bounds__(RB_REFINE_BLOCK) claim_kernel(const __grid_constant__ rb_refine_args a)
{
	EACH(i, a.ncands);
	if (a.cands[i].verdict == RB_FITS)
		rb_round_claim(&a.m, &a.cands[i], rb_refine_cells_of(&a, &a.cands[i]));
}

static __global__ void
__launch_bounds__(RB_REFINE_BLOCK) own_kernel(const __grid_constant__ rb_refine_args a)
{
	EACH(i, a.ncands);
	if (a.cands[i].verdict == RB_FITS)
		rb_round_own(&a.m, &a.cands[i], rb_refine_cells_of(&a, &a.cands[i]));
}

static __global__ void
__launch_bounds__(RB_REFINE_BLOCK) release_kernel(const __grid_constant__ rb_refine_args a)
{
	EACH(i, a.ncands);
	rb_round_release(&a.m, a.cands, &a.cands[i], rb_refine_cells_of(&a, &a.cands[i]));
}

static __global__ void
__launch_bounds__(RB_REFINE_BLOCK) star_kernel(const __grid_constant__ rb_refine_args a)
{
	EACH(i, a.nwinners);
	const rb_candidate *cand = &a.cands[a.winners[i]];

	rb_star_make(&a.m, cand, rb_refine_cells_of(&a, cand), &a.places);
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
	EACH(i, a.nwinners);
	const rb_candidate *cand = &a.cands[a.winners[i]];

	rb_round_finish(&a.m, cand, rb_refine_cells_of(&a, cand), a.freed + a.freed_at[i]);
}

static __global__ void
__launch_bounds__(RB_REFINE_BLOCK) needs_kernel(const __grid_constant__ rb_refine_args a)
{
	EACH(i, a.nfresh);
	rb_cell *c = &a.m.cells[rb_place(&a.places, i)];

	a.needs[i] = c->v[0] == RB_DEAD ? 0 : (uint16_t) rb_cell_needs(&a.m, c);
}

#define LAUNCH(kernel, n)                                                                     \
	do                                                                                        \
	{                                                                                         \
		if ((n) > 0)                                                                          \
			kernel<<<rb_refine_blocks(n), RB_REFINE_BLOCK, 0, run->queue->compute>>>(*a); \
		RB_LAUNCHED(run, "refine: " #kernel);                                                 \
	} while (0)

rb_status
rb_refine_claim(rb_device_run *run, const rb_refine_args *a)
{
	LAUNCH(claim_kernel, a->ncands);
	LAUNCH(own_kernel, a->ncands);
	return RB_OK;
}

rb_status
rb_refine_fill(rb_device_run *run, const rb_refine_args *a)
{
	LAUNCH(release_kernel, a->ncands);
	LAUNCH(star_kernel, a->nwinners);
	LAUNCH(link_kernel, a->nfresh);
	LAUNCH(finish_kernel, a->nwinners);
	return RB_OK;
}

rb_status
rb_refine_needs(rb_device_run *run, const rb_refine_args *a)
{
	LAUNCH(needs_kernel, a->nfresh);
	return RB_OK;
}
