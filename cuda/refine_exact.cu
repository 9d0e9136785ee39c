/*
 * refine_exact.cu
 *	  Decides by exact signs (integers, expansions) what the filters left, and grows cavities that
 *	  need a larger workspace.
 *
 * If neither method can compute a sign, its points are written to a table for the host, which uses
 * GMP (rb_refine_signs). Once the sign is known, the candidate starts again. The mesh has not
 * changed, so it reaches the same test, finds the sign, and continues.
 */
#define RB_DEVICE_ASKS
#include "refine_cavity.cuh"

/*
 * Each block is one warp, because there are few candidates and their work diverges. EXACT_WARPS run
 * at once.
 */
#define EXACT_THREADS 32
#define EXACT_WARPS 128
#define LARGE_WARPS 8 /* Warps of a block that grows one large cavity */

/* Everything that a thread needs to request signs */
typedef struct sign_worker
{
	rb_exact_env env; /* First member, because rb_device_asks gets only a pointer to it */
	const rb_refine_signs *asked;
} sign_worker;

/* Returns true if two sign queries in the table for the host have the same points, bit by bit. */
static __device__ __forceinline__ bool
are_query_points_same(const rb_refine_query *q, const rb_refine_query *r)
{
	if (q->n != r->n)
		return false;
	for (int i = 0; i < 15; i++)
		if (__double_as_longlong(q->p[i]) != __double_as_longlong(r->p[i]))
			return false;
	return true;
}

/*
 * Returns the sign that the host has computed for these points, or asks for it and returns
 * RB_UNSURE.
 */
static __device__ int
rb_device_asks(rb_exact_env *env, const double *a, const double *b, const double *c,
			   const double *d, const double *e)
{
	const rb_refine_signs *asked = ((sign_worker *) env)->asked;
	rb_refine_query q;
	uint64_t h = 0;
	uint32_t at, i;

	for (int k = 0; k < 3; k++)
	{
		q.p[k] = a[k];
		q.p[3 + k] = b[k];
		q.p[6 + k] = c[k];
		q.p[9 + k] = d[k];
		q.p[12 + k] = e != NULL ? e[k] : 0;
	}
	q.n = e != NULL ? 5 : 4;
	q.unused = 0;
	for (int k = 0; k < 15; k++)
		h = (h ^ (uint64_t) __double_as_longlong(q.p[k])) * UINT64_C(0x9e3779b97f4a7c15) +
			(h >> 29);
	at = (uint32_t) (h >> 40) % RB_REFINE_ASKED_TABLE;
	while ((i = rb_peek(&asked->table[at])) != RB_NOWHERE)
	{
		/* Two concurrent threads may add the same query twice, which does no harm. */
		if (i < asked->answers && are_query_points_same(&asked->query[i], &q))
			return asked->answer[i];
		at = (at + 1) % RB_REFINE_ASKED_TABLE;
	}
	i = atomicAdd(asked->n, 1u);
	if (i >= RB_REFINE_ASKED)
		return RB_UNSURE;
	asked->query[i] = q;
	while (atomicCAS(&asked->table[at], RB_NOWHERE, i) != RB_NOWHERE)
		at = (at + 1) % RB_REFINE_ASKED_TABLE;
	return RB_UNSURE;
}

uint32_t
rb_refine_exact_warps(void)
{
	return EXACT_WARPS;
}

uint32_t
rb_refine_exact_teams(void)
{
	return EXACT_WARPS / LARGE_WARPS;
}

/* Returns the state of a thread for exact signs, with its part of the expansion memory. */
static __device__ __forceinline__ sign_worker
begin_sign_worker(const rb_refine_args *a, uint32_t worker)
{
	sign_worker me;

	me.env.filters = a->filters;
	me.env.exact = true;
	me.env.integer = me.env.expansion = me.env.gmp = 0;
	me.env.room = a->expansions + (size_t) (worker / 32) * RB_EXPANSION_ROOM * 32 + worker % 32;
	me.asked = &a->asked;
	return me;
}

/*
 * Makes candidate i wait for signs, and adds it to the list of waiting candidates unless it is
 * already there.
 */
static __device__ __forceinline__ void
wait_for_signs_of_host(const rb_refine_args *a, const rb_refine_some *some, uint32_t i)
{
	if (some->asking)
		atomicAdd(&a->counts->waiting, 1u);
	else
		a->list[1][atomicAdd(&a->counts->asks, 1u)] = i;
}

/*
 * Grows the candidates of a list, with one team per block. Each block handles every gridDim.x-th
 * candidate.
 */
template <int TEAM>
static __device__ __forceinline__ void
grow_candidates_of_list(rb_cavity_team<TEAM> *team, const rb_refine_args *a,
						const rb_refine_some *some, rb_workspace *room)
{
	const uint32_t end = rb_refine_end(some);
	sign_worker me = begin_sign_worker(a, blockIdx.x * 32 * TEAM + threadIdx.x);

	for (uint32_t k = blockIdx.x; k < end; k += gridDim.x)
	{
		uint32_t i = some->list != NULL ? some->list[k] : k;
		rb_verdict verdict = (rb_verdict) a->cands[i].verdict;

		/* Skip candidates that need no more signs or that have no point. */
		if ((some->asking && verdict != RB_OPEN) || (some->list == NULL && verdict != RB_READY))
			continue;
		verdict = rb_team_grow_one(team, a, &me.env, i, room);
		if (team->rank() == 0)
		{
			if (verdict == RB_OPEN)
				wait_for_signs_of_host(a, some, i);
			if (verdict == RB_LARGE && some->huge)
				rb_refine_abandon(&a->cands[i]);
		}
		team->sync();
	}
}

/* Grows the candidates of a list with exact signs, one warp each. */
static __global__ void
__launch_bounds__(EXACT_THREADS) grow_exact_kernel(const __grid_constant__ rb_refine_args a,
												   const __grid_constant__ rb_refine_some some)
{
	__shared__ rb_warp_room shared;
	rb_cavity_team<1> team = {NULL, 0};
	rb_workspace room = rb_warp_small(&team, &shared);

	grow_candidates_of_list(&team, &a, &some, &room);
}

/* Grows candidates with exact signs in large workspaces, one block each. */
static __global__ void
__launch_bounds__(LARGE_WARPS * 32, 1)
	grow_large_exact_kernel(const __grid_constant__ rb_refine_args a,
							const __grid_constant__ rb_refine_some some)
{
	extern __shared__ uint4 large[];
	__shared__ rb_team_words<LARGE_WARPS> words;
	rb_cavity_team<LARGE_WARPS> team = {&words, 0};
	rb_workspace room = rb_team_large(&team, some.huge ? &a.huge : NULL, large);

	grow_candidates_of_list(&team, &a, &some, &room);
}

rb_status
rb_refine_grow_exact(rb_device_run *run, const rb_refine_args *a, const rb_refine_some *some)
{
	uint32_t blocks = some->huge ? 1 : some->large ? EXACT_WARPS / LARGE_WARPS : EXACT_WARPS;

	blocks = some->most < blocks ? some->most : blocks;
	if (some->large)
	{
		RB_CUDA(run, cudaFuncSetAttribute(grow_large_exact_kernel,
										  cudaFuncAttributeMaxDynamicSharedMemorySize,
										  RB_REFINE_LARGE_BYTES));
		grow_large_exact_kernel<<<blocks, LARGE_WARPS * 32, RB_REFINE_LARGE_BYTES,
								  run->queue->compute>>>(*a, *some);
	}
	else
		grow_exact_kernel<<<blocks, EXACT_THREADS, 0, run->queue->compute>>>(*a, *some);
	RB_REFINE_LAUNCHED(run, a, "refine: grow_exact_kernel");
	return RB_OK;
}

/* Decides by exact signs the owners that the filters left undecided next to stronger ones. */
static __global__ void
__launch_bounds__(EXACT_THREADS)
	find_conflicts_exact_kernel(const __grid_constant__ rb_refine_args a,
								const __grid_constant__ rb_refine_some some)
{
	const uint32_t end = rb_refine_end(&some);
	const uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
	sign_worker me = begin_sign_worker(&a, t);

	for (uint32_t k = t; k < end; k += gridDim.x * blockDim.x)
	{
		uint32_t i = some.list[k];
		rb_refine_candidate *cand = &a.cands[i];

		if (cand->vertex != RB_UNSURE)
			continue;
		rb_round_find_conflicts(&a.m, &me.env, a.cands, cand, rb_refine_cells_of(&a, cand));
		if (cand->vertex == RB_UNSURE)
			wait_for_signs_of_host(&a, &some, i);
	}
}

rb_status
rb_refine_find_conflicts_exact(rb_device_run *run, const rb_refine_args *a,
							   const rb_refine_some *some)
{
	find_conflicts_exact_kernel<<<EXACT_WARPS, EXACT_THREADS, 0, run->queue->compute>>>(*a, *some);
	RB_REFINE_LAUNCHED(run, a, "refine: find_conflicts_exact_kernel");
	return RB_OK;
}
