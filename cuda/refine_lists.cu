/*
 * refine_lists.cu
 *	  Maintains the work lists on the device and numbers the winners; all positions come from prefix
 *	  sums.
 *
 * The entries that a candidate or a new cell adds to the lists are counted and summed, within
 * thread blocks and then over blocks. The sums within blocks are computed again when the entries
 * are written to their positions.
 */
#define RB_FILTERS_ONLY
#include "refine.cuh"

#define SCAN_THREADS 1024

/* Adds four counters component by component; the prefix sums compute all four at once. */
static __device__ __forceinline__ uint4
add_sums_of_lists(uint4 a, uint4 b)
{
	return make_uint4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/*
 * Returns the sum over the threads before this one, and the sum over the block in *all. All threads
 * must call it.
 */
static __device__ uint4
sum_before_thread_in_block(uint4 mine, uint4 *all)
{
	__shared__ uint4 warp_sum[33];
	const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x / 32;
	uint4 sum = mine;

	for (uint32_t d = 1; d < 32; d *= 2)
	{
		uint4 other = make_uint4(__shfl_up_sync(~0u, sum.x, d), __shfl_up_sync(~0u, sum.y, d),
								 __shfl_up_sync(~0u, sum.z, d), __shfl_up_sync(~0u, sum.w, d));

		if (lane >= d)
			sum = add_sums_of_lists(sum, other);
	}
	__syncthreads();
	if (lane == 31)
		warp_sum[warp] = sum;
	__syncthreads();
	if (threadIdx.x == 0)
	{
		uint4 s = make_uint4(0, 0, 0, 0);

		for (uint32_t w = 0; w < warps; w++)
		{
			uint4 n = warp_sum[w];

			warp_sum[w] = s;
			s = add_sums_of_lists(s, n);
		}
		warp_sum[32] = s;
	}
	__syncthreads();
	*all = warp_sum[32];
	sum = add_sums_of_lists(sum, warp_sum[warp]);
	return make_uint4(sum.x - mine.x, sum.y - mine.y, sum.z - mine.z, sum.w - mine.w);
}

/* Replaces the sums of n blocks with their exclusive prefix sums; runs as one block. */
static __global__ void
__launch_bounds__(SCAN_THREADS) scan_kernel(uint4 *sums, uint32_t n, uint4 *all)
{
	uint4 carry = make_uint4(0, 0, 0, 0);

	for (uint32_t from = 0; from < n; from += SCAN_THREADS)
	{
		uint32_t i = from + threadIdx.x;
		uint4 mine = i < n ? sums[i] : make_uint4(0, 0, 0, 0);
		uint4 total;
		uint4 before = sum_before_thread_in_block(mine, &total);

		if (i < n)
			sums[i] = add_sums_of_lists(carry, before);
		carry = add_sums_of_lists(carry, total);
	}
	if (threadIdx.x == 0)
		*all = carry;
}

/*
 * Stores the sum of a block. If there is only one block, its sum is the total, and its prefix sum
 * is zero.
 */
static __device__ __forceinline__ void
store_sum_of_block(uint4 mine, uint4 *sums, uint4 *all)
{
	if (threadIdx.x != 0)
		return;
	sums[blockIdx.x] = gridDim.x > 1 ? mine : make_uint4(0, 0, 0, 0);
	if (gridDim.x == 1)
		*all = mine;
}

/* Replaces the sums of n blocks with their exclusive prefix sums, if there are several. */
static rb_status
scan_sums_of_blocks(rb_device_run *run, const rb_refine_args *a, uint4 *sums, uint32_t n,
					uint4 *all)
{
	if (n <= 1)
		return RB_OK;
	scan_kernel<<<1, SCAN_THREADS, 0, run->queue->compute>>>(sums, n, all);
	RB_REFINE_LAUNCHED(run, a, "refine: scan_kernel");
	return RB_OK;
}

/* ---- candidates ---- */

/* Copies entries of a work list to the candidates of the round. */
static __global__ void
gather_candidates_kernel(rb_refine_candidate *to, const rb_entry64 *from, uint32_t n)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		to[i].entry = from[i];
}

rb_status
rb_refine_gather(rb_device_run *run, const rb_refine_args *a, const rb_entry64 *from, uint32_t n,
				 uint32_t to)
{
	RB_REFINE_LAUNCH(run, a, gather_candidates_kernel, n, a->cands + to, from, n);
	return RB_OK;
}

/*
 * Takes a regular subsample of n entries of a list as candidates, and writes the others to `left`.
 */
static __global__ void
spread_kernel(rb_refine_candidate *to, const rb_entry64 *from, uint32_t all, uint32_t step,
			  uint32_t turn, uint32_t n, rb_entry64 *left)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
	/* Number of entries before i that are taken */
	uint32_t taken = i > turn ? (i - turn + step - 1) / step : 0;

	if (i >= all)
		return;
	if (taken < n && i % step == turn)
		to[taken].entry = from[i];
	else
		left[i - (taken < n ? taken : n)] = from[i];
}

rb_status
rb_refine_subsample(rb_device_run *run, const rb_refine_args *a, const rb_entry64 *from,
					uint32_t all, uint32_t step, uint32_t turn, uint32_t n, rb_entry64 *left)
{
	RB_REFINE_LAUNCH(run, a, spread_kernel, all, a->cands + a->ncands, from, all, step, turn, n,
					 left);
	return RB_OK;
}

/*
 * Makes all candidates of the round that have a key ready, so that the next launch grows their
 * cavities again.
 */
static __global__ void
again_kernel(rb_refine_candidate *cands, uint32_t n)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n && cands[i].key != 0)
		cands[i].verdict = RB_READY;
}

rb_status
rb_refine_again(rb_device_run *run, const rb_refine_args *a)
{
	RB_REFINE_LAUNCH(run, a, again_kernel, a->ncands, a->cands, a->ncands);
	return RB_OK;
}

/*
 * Lists the candidates with large cavities in order, cyclically from the strongest one
 * (list_large_cavities in src/refine/rounds.c explains why). Runs as one block.
 */
static __global__ void
__launch_bounds__(SCAN_THREADS)
	large_kernel(const __grid_constant__ rb_refine_args a, uint32_t most)
{
	__shared__ unsigned long long strongest;
	__shared__ uint32_t first;
	uint32_t n = 0;

	if (threadIdx.x == 0)
	{
		strongest = 0;
		first = 0;
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < a.ncands; i += SCAN_THREADS)
		if (a.cands[i].verdict == RB_LARGE)
			atomicMax(&strongest, (unsigned long long) a.cands[i].key);
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < a.ncands; i += SCAN_THREADS)
		if (a.cands[i].verdict == RB_LARGE && a.cands[i].key == strongest)
			first = i; /* At most one thread writes this, because keys are unique. */
	__syncthreads();
	for (uint32_t from = 0; from < a.ncands && n < most; from += SCAN_THREADS)
	{
		uint32_t k = from + threadIdx.x;
		uint32_t i = k < a.ncands - first ? first + k : k - (a.ncands - first);
		bool is = k < a.ncands && a.cands[i].verdict == RB_LARGE;
		uint4 total;
		uint4 before = sum_before_thread_in_block(make_uint4(is ? 1 : 0, 0, 0, 0), &total);

		if (is && n + before.x < most)
			a.list[2][n + before.x] = i;
		n += total.x;
	}
	if (threadIdx.x == 0)
		a.counts->listed = n < most ? n : most;
}

rb_status
rb_refine_list_large(rb_device_run *run, const rb_refine_args *a, uint32_t most)
{
	large_kernel<<<1, SCAN_THREADS, 0, run->queue->compute>>>(*a, most);
	RB_REFINE_LAUNCHED(run, a, "refine: large_kernel");
	return RB_OK;
}

/* ---- winners ---- */

/* Returns what candidate i adds to the sums: winner, new cells, old cells, competing candidate. */
static __device__ __forceinline__ uint4
count_winner_of_candidate(const rb_refine_args *a, uint32_t i)
{
	const rb_refine_candidate *cand = &a->cands[i];

	if (i >= a->ncands || !rb_round_vies(cand))
		return make_uint4(0, 0, 0, 0);
	return cand->verdict == RB_OWNS && cand->vertex == 1
			   ? make_uint4(1, cand->nrim, cand->ncells, 1)
			   : make_uint4(0, 0, 0, 1);
}

/* Sums by block what the candidates add: winners, new cells, old cells. */
static __global__ void
__launch_bounds__(RB_REFINE_BLOCK) sum_winners_kernel(const __grid_constant__ rb_refine_args a)
{
	uint4 all;

	sum_before_thread_in_block(count_winner_of_candidate(&a, blockIdx.x * blockDim.x + threadIdx.x),
							   &all);
	store_sum_of_block(all, a.sums, &a.counts->winners);
}

rb_status
rb_refine_sum_winners(rb_device_run *run, const rb_refine_args *a)
{
	RB_REFINE_LAUNCH(run, a, sum_winners_kernel, a->ncands, *a);
	return scan_sums_of_blocks(run, a, a->sums, rb_refine_blocks(a->ncands), &a->counts->winners);
}

/* Numbers the winners, unless some candidates still wait for signs. */
static __global__ void
__launch_bounds__(RB_REFINE_BLOCK) number_kernel(const __grid_constant__ rb_refine_args a)
{
	const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
	uint4 mine, all, before;
	rb_refine_candidate *cand = &a.cands[i];

	if (a.counts->asks != 0)
		return;
	mine = count_winner_of_candidate(&a, i);
	before = add_sums_of_lists(sum_before_thread_in_block(mine, &all), a.sums[blockIdx.x]);
	if (i >= a.ncands)
		return;
	rb_round_decide(cand);
	if (mine.x == 0)
		return;
	if (before.x >= a.most_winners)
	{
		cand->verdict = RB_LOST;
		/* This is the first winner without a number: the sums before it become the totals. */
		if (before.x == a.most_winners)
		{
			before.w = a.counts->winners.w;
			a.counts->winners = before;
			a.counts->full = 1;
		}
		return;
	}
	cand->vertex = a.nsites + before.x;
	cand->slots = before.y;
	a.freed_at[before.x] = before.z;
	a.winners[before.x] = i;
}

rb_status
rb_refine_number_winners(rb_device_run *run, const rb_refine_args *a)
{
	RB_REFINE_LAUNCH(run, a, number_kernel, a->ncands, *a);
	return RB_OK;
}

/* ---- entries put back by candidates ---- */

/*
 * Returns true if the candidate goes to the list of blocked subsegments, those that cannot be
 * split alone.
 */
static __device__ __forceinline__ bool
is_listed_as_blocked(const rb_refine_args *a, const rb_refine_candidate *cand)
{
	return cand->verdict == RB_BLOCKED && rb_entry_what(cand->entry) == RB_SPLIT_PIECE &&
		   (a->protecting || rb_entry_blocked(cand->entry) > 0);
}

/*
 * Returns the number of entries, 0 or 1, that candidate i puts back on each work list at the end
 * of a round.
 */
static __device__ __forceinline__ uint4
count_entry_put_back(const rb_refine_args *a, uint32_t i)
{
	const rb_refine_candidate *cand = &a->cands[i];
	uint4 n = make_uint4(0, 0, 0, 0);
	rb_what what;

	if (i >= a->ncands)
		return n;
	switch ((rb_verdict) cand->verdict)
	{
		case RB_LOST:
		case RB_LARGE:
		case RB_ASKEW:
			what = rb_entry_what(cand->entry);
			n.x = what == RB_SPLIT_PIECE;
			n.y = what == RB_SPLIT_WALL;
			n.z = what == RB_SPLIT_TET;
			break;
		case RB_BLOCKED:
			if (is_listed_as_blocked(a, cand))
				break;
			n.w = 1;
			if (cand->first != 0)
			{
				n.x = rb_entry_what(cand->first) == RB_SPLIT_PIECE;
				n.y = n.x == 0;
			}
			break;
		default:
			break;
	}
	return n;
}

/* Sums the entries that go back to the lists, by block, and counts the blocked ones. */
static __global__ void
__launch_bounds__(RB_REFINE_BLOCK) sum_back_kernel(const __grid_constant__ rb_refine_args a)
{
	const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
	uint4 all;

	sum_before_thread_in_block(count_entry_put_back(&a, i), &all);
	if (i < a.ncands && is_listed_as_blocked(&a, &a.cands[i]))
		atomicAdd(&a.counts->blocked, 1u);
	store_sum_of_block(all, a.sums, &a.counts->back);
}

rb_status
rb_refine_sum_back(rb_device_run *run, const rb_refine_args *a)
{
	RB_REFINE_LAUNCH(run, a, sum_back_kernel, a->ncands, *a);
	return scan_sums_of_blocks(run, a, a->sums, rb_refine_blocks(a->ncands), &a->counts->back);
}

/* Writes the entries that go back to the lists. */
static __global__ void
__launch_bounds__(RB_REFINE_BLOCK) put_back_kernel(const __grid_constant__ rb_refine_args a)
{
	const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
	const rb_refine_candidate *cand = &a.cands[i];
	uint4 mine = count_entry_put_back(&a, i), all;
	uint4 at = add_sums_of_lists(sum_before_thread_in_block(mine, &all), a.sums[blockIdx.x]);
	rb_entry64 entry;

	if (i >= a.ncands || mine.x + mine.y + mine.z + mine.w == 0)
		return;
	entry = cand->entry;
	if (cand->verdict == RB_ASKEW)
		entry = rb_entry_more_askew(entry);
	else if (cand->verdict == RB_BLOCKED)
	{
		a.later[a.nlater + at.w] = rb_entry_more_blocked(entry);
		entry = cand->first;
	}
	if (mine.x != 0)
		a.pieces[a.npieces + at.x] = entry;
	if (mine.y != 0)
		a.walls[a.nwalls + at.y] = entry;
	if (mine.z != 0)
		a.tets[a.ntets + at.z] = entry;
}

rb_status
rb_refine_append_back(rb_device_run *run, const rb_refine_args *a)
{
	RB_REFINE_LAUNCH(run, a, put_back_kernel, a->ncands, *a);
	return RB_OK;
}

/*
 * Appends the subsegments that cannot be split alone, in the order of candidates; runs as one
 * block.
 */
static __global__ void
__launch_bounds__(SCAN_THREADS)
	stuck_kernel(const __grid_constant__ rb_refine_args a, rb_entry64 *to)
{
	uint32_t n = 0;

	for (uint32_t from = 0; from < a.ncands; from += SCAN_THREADS)
	{
		uint32_t i = from + threadIdx.x;
		bool is = i < a.ncands && is_listed_as_blocked(&a, &a.cands[i]);
		uint4 total;
		uint4 before = sum_before_thread_in_block(make_uint4(is ? 1 : 0, 0, 0, 0), &total);

		if (is)
			to[n + before.x] = a.cands[i].entry;
		n += total.x;
	}
}

rb_status
rb_refine_append_blocked(rb_device_run *run, const rb_refine_args *a, rb_entry64 *to)
{
	stuck_kernel<<<1, SCAN_THREADS, 0, run->queue->compute>>>(*a, to);
	RB_REFINE_LAUNCHED(run, a, "refine: stuck_kernel");
	return RB_OK;
}

/* ---- entries that new cells need ---- */

/*
 * Returns how many entries a new cell appends to each work list on the device; these numbers are
 * then summed.
 */
static __device__ __forceinline__ uint4
count_list_entries_of_cell(const rb_refine_args *a, uint32_t i)
{
	uint32_t needs = i < a->nfresh ? a->needs[i] : 0;

	return make_uint4(__popc(needs & 0x3f), __popc(needs & 0x3c0), needs >> 10 & 1, 0);
}

/* Sums the needs of new cells, by block. */
static __global__ void
__launch_bounds__(RB_REFINE_BLOCK)
	sum_needs_kernel(const __grid_constant__ rb_refine_args a, uint4 *sums)
{
	uint4 all;

	sum_before_thread_in_block(
		count_list_entries_of_cell(&a, blockIdx.x * blockDim.x + threadIdx.x), &all);
	store_sum_of_block(all, sums, &a.counts->needs);
}

rb_status
rb_refine_sum_needs(rb_device_run *run, const rb_refine_args *a, uint4 *sums)
{
	RB_REFINE_LAUNCH(run, a, sum_needs_kernel, a->nfresh, *a, sums);
	return scan_sums_of_blocks(run, a, sums, rb_refine_blocks(a->nfresh), &a->counts->needs);
}

/* Writes the needs of new cells to the lists. */
static __global__ void
__launch_bounds__(RB_REFINE_BLOCK)
	put_needs_kernel(const __grid_constant__ rb_refine_args a, const uint4 *sums)
{
	const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
	uint4 all,
		at = add_sums_of_lists(sum_before_thread_in_block(count_list_entries_of_cell(&a, i), &all),
							   sums[blockIdx.x]);
	uint32_t needs, cell;

	if (i >= a.nfresh || a.needs[i] == 0)
		return;
	needs = a.needs[i];
	cell = rb_place(&a.places, i);
	for (uint32_t e = 0; e < 6; e++)
		if ((needs & 1u << e) != 0)
			a.pieces[a.npieces + at.x++] = rb_entry_make(&a.m, cell, e, RB_SPLIT_PIECE, false);
	for (uint32_t k = 0; k < 4; k++)
		if ((needs & RB_NEED_WALL(k)) != 0)
			a.walls[a.nwalls + at.y++] = rb_entry_make(&a.m, cell, k, RB_SPLIT_WALL, false);
	if ((needs & RB_NEED_TET) != 0)
		a.tets[a.ntets + at.z] = rb_entry_make(&a.m, cell, 0, RB_SPLIT_TET, false);
}

rb_status
rb_refine_append_needs(rb_device_run *run, const rb_refine_args *a, const uint4 *sums)
{
	RB_REFINE_LAUNCH(run, a, put_needs_kernel, a->nfresh, *a, sums);
	return RB_OK;
}
