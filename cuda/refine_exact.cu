/*
 * refine_exact.cu
 *	  What filters left, by exact signs: integers, expansions; and cavities that need a larger room.
 *
 * A sign that neither can tell is written down for the host, which has GMP, and the candidate's work begins again
 * when the answer is there: it comes to the same question, for nothing has changed, finds the
 * answer and goes on, perhaps to the next question.
 */
#define RB_DEVICE_ASKS
#include "refine_warp.cuh"

/* a block is a warp, for there is not much to do, and what is differs; so many at once */
#define EXACT_THREADS 32
#define EXACT_WARPS 128

/* how a candidate asks */
typedef struct asking
{
	rb_exact_env env; /* first, for that is all that is known where a sign is wanted */
	rb_refine_query *query;
	const int8_t *answers;
	uint32_t taken;
} asking;

static __device__ int
rb_device_asks(rb_exact_env *env, const double *a, const double *b, const double *c,
			   const double *d, const double *e)
{
	asking *me = (asking *) env;
	rb_refine_query *q = me->query;

	if (q == NULL)
		return RB_UNSURE;
	if (me->taken < q->answers)
		return me->answers[me->taken++];
	for (int i = 0; i < 3; i++)
	{
		q->p[i] = a[i];
		q->p[3 + i] = b[i];
		q->p[6 + i] = c[i];
		q->p[9 + i] = d[i];
		q->p[12 + i] = e != NULL ? e[i] : 0;
	}
	q->kind = e != NULL ? 5 : 4;
	return RB_UNSURE;
}

uint32_t
rb_refine_exact_warps(const rb_device_run *run)
{
	(void) run;
	return EXACT_WARPS;
}

/* member k of those is candidate i; begins to ask where that is wanted.  False: it has its answer */
static __device__ __forceinline__ bool
begin(const rb_refine_args *a, const rb_refine_some *some, uint32_t k, asking *me)
{
	me->env.filters = a->filters;
	me->env.exact = true;
	me->query = NULL;
	me->taken = 0;
	if (!some->asking)
		return true;
	me->query = &a->queries[k - some->from];
	me->answers = a->answers + (size_t) (k - some->from) * RB_REFINE_ANSWERS;
	if (me->query->kind == 0)
		return false;
	me->query->kind = 0;
	return true;
}

static __device__ __forceinline__ uint32_t
end_of(const rb_refine_some *some)
{
	uint32_t n = *some->n;

	return n < some->from ? some->from : n - some->from < some->most ? n : some->from + some->most;
}

/* room for expansions of worker t */
static __device__ __forceinline__ double *
expansions_of(const rb_refine_args *a, uint32_t t)
{
	return a->expansions + (size_t) (t / 32) * RB_EXPANSION_ROOM * 32 + t % 32;
}

static __device__ __forceinline__ void
give_up(const rb_refine_args *a, const rb_refine_some *some, uint32_t i)
{
	if (some->last && a->cands[i].verdict == RB_LARGE)
	{
		a->cands[i].verdict = RB_KEPT;
		a->cands[i].reason = RB_BAD_TOO_FINE;
	}
}

static __global__ void
__launch_bounds__(EXACT_THREADS)
	grow_exact_kernel(const __grid_constant__ rb_refine_args a,
					  const __grid_constant__ rb_refine_some some)
{
	__shared__ rb_warp_room shared;
	const uint32_t end = end_of(&some);
	rb_room room =
		some.large ? rb_refine_room(&a.large, blockIdx.x) : rb_warp_small(&shared);
	asking me;

	me.env.room = expansions_of(&a, blockIdx.x * EXACT_THREADS + threadIdx.x);
	for (uint32_t k = some.from + blockIdx.x; k < end; k += gridDim.x)
	{
		uint32_t i = some.list[k];

		begin(&a, &some, k, &me);
		if (rb_warp_grow_one(&a, &me.env, i, &room) == RB_OPEN && threadIdx.x == 0)
			a.list[1][atomicAdd(&a.counts->asks, 1u)] = i;
		if (threadIdx.x == 0)
			give_up(&a, &some, i);
		__syncwarp();
	}
}

/* those that ask do it one sign after the other: one thread of a warp */
static __global__ void
__launch_bounds__(EXACT_THREADS)
	grow_ask_kernel(const __grid_constant__ rb_refine_args a,
					const __grid_constant__ rb_refine_some some)
{
	const uint32_t end = end_of(&some);
	rb_room room = rb_refine_room(some.large ? &a.large : &a.small, blockIdx.x);
	asking me;

	if (threadIdx.x != 0)
		return;
	me.env.room = expansions_of(&a, blockIdx.x);
	for (uint32_t k = some.from + blockIdx.x; k < end; k += gridDim.x)
	{
		uint32_t i = some.list[k];

		if (!begin(&a, &some, k, &me))
			continue;
		rb_refine_grow_one(&a, &me.env, i, &room);
		give_up(&a, &some, i);
	}
}

rb_status
rb_refine_grow_exact(rb_device_run *run, const rb_refine_args *a, const rb_refine_some *some)
{
	uint32_t rooms = some->large ? a->large.number : EXACT_WARPS;
	uint32_t blocks = some->most < rooms ? some->most : rooms;

	if (some->asking)
		grow_ask_kernel<<<blocks, EXACT_THREADS, 0, run->queue->compute>>>(*a, *some);
	else
		grow_exact_kernel<<<blocks, EXACT_THREADS, 0, run->queue->compute>>>(*a, *some);
	RB_LAUNCHED(run, "refine: grow_exact_kernel");
	return RB_OK;
}

static __global__ void
__launch_bounds__(EXACT_THREADS)
	beside_exact_kernel(const __grid_constant__ rb_refine_args a,
						const __grid_constant__ rb_refine_some some)
{
	const uint32_t end = end_of(&some);
	asking me;

	me.env.room = expansions_of(&a, blockIdx.x * blockDim.x + threadIdx.x);
	for (uint32_t k = some.from + blockIdx.x * blockDim.x + threadIdx.x; k < end;
		 k += gridDim.x * blockDim.x)
	{
		uint32_t i = some.list[k];
		rb_candidate *cand = &a.cands[i];

		if (!begin(&a, &some, k, &me))
			continue;
		rb_round_beside(&a.m, &me.env, a.cands, cand, rb_refine_cells_of(&a, cand));
		if (cand->vertex == RB_UNSURE && !some.asking)
			a.list[1][atomicAdd(&a.counts->asks, 1u)] = i;
	}
}

rb_status
rb_refine_beside_exact(rb_device_run *run, const rb_refine_args *a, const rb_refine_some *some)
{
	beside_exact_kernel<<<EXACT_WARPS, EXACT_THREADS, 0, run->queue->compute>>>(
		*a, *some);
	RB_LAUNCHED(run, "refine: beside_exact_kernel");
	return RB_OK;
}
