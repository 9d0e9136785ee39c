/*
 * triangle_join.cu
 *	  Joins triangles with triangles: from work items to candidates, and the float tests.
 *
 * A thread block takes one work item after another: some red and some blue objects of a cell. Each
 * object is read once, converted to floats in the cell's frame (triangle_float.h), and kept in
 * shared memory. From then on the warps of the block work independently, without a barrier:
 *
 *	extents		each lane holds the extents of one red object along seven directions
 *				(the k-DOP test of kdop.h) and tests them against 32 blue ones; all lanes
 *				read the same two words, a broadcast; pairs that the cell does not own are
 *				removed (grid.h)
 *	queue		overlapping pairs, as 16-bit local numbers; lanes append in turn until
 *				32 pairs are queued
 *	float test	one pair per lane: yes, no, or unsure
 *	buffers		hits and undecided pairs, flushed with one atomic operation for
 *				several hundred pairs
 *
 * So threads are assigned to pairs, not to objects (Menezes et al. 2022, section 4.3), nothing
 * between a box and its result leaves the multiprocessor, and the warp is full at every step except
 * the last one of an item. The float test is not divided into stages with a queue between them:
 * reading a pair from shared memory again costs more than the arithmetic that a third of the lanes
 * would save.
 *
 * For distances (NEAR), each object's extents are padded by half of the distance, and there are two
 * tests. The first one compares planes, which rejects most of the pairs that are farther apart. The
 * remaining pairs pass through a second queue to the complete test, which takes ten times as long,
 * so that a full warp is worth another read of shared memory.
 *
 * The extents are rounded outward. So the candidates include all pairs that meet, most pairs whose
 * boxes overlap, and a few pairs whose boxes do not. The float test rejects these last pairs, or
 * leaves them undecided, and then their doubles reject them (decide.cuh).
 *
 * Space in the pool is reserved for all pairs of an item before the item is taken (rb_pool). A
 * block that gets no space leaves the remaining items to the next launch.
 */
#include "work_queue.cuh"
#include "core/primitive/kdop.h"

#define THREADS (32 * RB_CELLS_WARPS)
#define WORDS ((RB_TILE_F + 31) / 32)
/* Capacity of a warp's candidate queue: part of a strip, and fewer than 32 pairs from before */
#define QUEUE 288
#define NEARS 64
#define BUFFERS 256 /* Pairs that a warp buffers, of all result types together */
#define SAMPLED 16  /* One work item of every SAMPLED is timed */

template <bool NEAR> struct rb_tiles
{
	/* rb_face_f in four pieces, indexed by piece, then by side (red, blue) */
	float4 p[3][2][RB_TILE_F];
	float4 plane[2][RB_TILE_F];
	/* Extents of the blue objects: lo and hi of word 0, then of word 1 */
	uint4 slabs[32 * WORDS];
	uint32_t elsewhere[WORDS][3]; /* Ownership bits of the blue objects (work_queue.cuh) */
	uint16_t queue[RB_CELLS_WARPS][QUEUE];
	uint16_t near[RB_CELLS_WARPS][NEAR ? NEARS : 2];
	uint16_t found[RB_CELLS_WARPS][BUFFERS];
	rb_reach_f reach;
	rb_item item;
	rb_claimed_items claimed;
};

/* Result type of a pair; each type has a buffer of its own */
enum
{
	HIT,
	UNDECIDED,
	NEAR_HIT, /* Within the distance, but without an intersection */
	SORTS
};
#define ROOM(near) (BUFFERS / ((near) ? 3 : 2))

typedef struct rb_warp
{
	uint32_t queued;
	uint32_t nears;
	uint32_t found[SORTS];
	uint32_t made;
	uint32_t candidates;   /* Candidates of the current item */
	uint32_t hits;         /* Hits of the current item, if they are only counted */
	uint32_t float_clocks; /* Clock cycles; differences stay correct when 32 bits wrap */
	bool timed;
} rb_warp;

/* ---- objects to and from shared memory ---- */

/*
 * Stores a prepared triangle (corners, plane, error bounds, entry) in a slot of the tile in shared
 * memory.
 */
template <bool NEAR>
static __device__ __forceinline__ void
store_face_in_tile(rb_tiles<NEAR> *t, int side, uint32_t slot, const rb_face_f *f)
{
	t->p[0][side][slot] = make_float4(f->p[0], f->p[1], f->p[2], f->p[3]);
	t->p[1][side][slot] = make_float4(f->p[4], f->p[5], f->p[6], f->p[7]);
	t->p[2][side][slot] = make_float4(f->p[8], f->k, f->m, __uint_as_float(f->entry));
	t->plane[side][slot] = make_float4(f->n[0], f->n[1], f->n[2], f->d);
}

/* Loads the face in a slot of a tile from shared memory. */
template <bool NEAR>
static __device__ __forceinline__ void
load_face_from_tile(const rb_tiles<NEAR> *t, int side, uint32_t slot, rb_face_f *f)
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

/*
 * Loads the objects of a side, a full warp at a time; for blue, also their extents and ownership
 * bits.
 */
template <bool NEAR>
static __device__ __forceinline__ void
load_triangle_tile(rb_tiles<NEAR> *t, int side, const rb_device_set *from, const uint32_t *entry,
				   uint32_t n)
{
	const uint32_t lane = threadIdx.x & 31;

	for (uint32_t base = threadIdx.x - lane; base < n; base += THREADS)
	{
		const uint32_t slot = base + lane;
		const uint32_t e = slot < n ? entry[slot] : RB_NO_ENTRY;

		if (side == 1)
			store_ownership_of_objects(t->elsewhere[base / 32], e);
		if (slot < n)
		{
			double c[9];
			rb_face_f f;

			for (int k = 0; k < 9; k++)
				c[k] = __ldg(from->coords + (size_t) (e & RB_INDEX_MASK) * 9 + k);
			rb_face_f_init(&f, &t->item.frame, c, NEAR);
			f.entry = e;
			store_face_in_tile(t, side, slot, &f);
			if (side == 1)
			{
				rb_kdop s;

				rb_kdop_init(&s, &f, NEAR ? 0.5f * t->reach.more : 0);
				t->slabs[slot] = make_uint4(s.lo[0], s.hi[0], s.lo[1], s.hi[1]);
			}
		}
	}
}

/* ---- output of pairs ---- */

/* Writes the buffered pairs of one result type to global memory. */
template <bool NEAR>
static __device__ __forceinline__ void
flush_buffered_pairs(const rb_cells_args *args, const rb_tiles<NEAR> *t, rb_warp *w, int sort)
{
	const uint32_t lane = threadIdx.x & 31, n = w->found[sort];
	const uint16_t *found = t->found[threadIdx.x / 32] + sort * ROOM(NEAR);
	rb_launch_tally *tally = args->pool.tally;
	const uint32_t payload =
		NEAR ? (uint32_t) RB_PAYLOAD(RB_WITHIN_OF(sort == HIT)) << RB_PAYLOAD_SHIFT : args->payload;
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
				p.red |= payload;
			}
			(sort == UNDECIDED ? args->pool.undecided : args->pool.hits)[at + i] = p;
		}
	w->made += n;
	w->found[sort] = 0;
	__syncwarp();
}

/* ---- one pair ---- */

/* Appends the pair of each lane for which `mine` is true; *n is the same in all lanes. */
static __device__ __forceinline__ void
append_pair_of_lane(uint16_t *buffer, uint32_t *n, bool mine, uint32_t pair)
{
	const uint32_t lanes = __ballot_sync(~0u, mine);

	if (mine)
		buffer[*n + __popc(lanes & ((1u << (threadIdx.x & 31)) - 1))] = (uint16_t) pair;
	*n += __popc(lanes);
}

/* Buffers the pair of each lane, and writes the buffer to global memory when it is full. */
template <bool NEAR>
static __device__ __forceinline__ void
buffer_pair_of_triangles(const rb_cells_args *args, rb_tiles<NEAR> *t, rb_warp *w, int sort,
						 bool mine, uint32_t pair)
{
	append_pair_of_lane(t->found[threadIdx.x / 32] + sort * ROOM(NEAR), &w->found[sort], mine,
						pair);
	if (w->found[sort] > ROOM(NEAR) - 32)
		flush_buffered_pairs<NEAR>(args, t, w, sort);
}

/*
 * Returns true if the job asks for this pair, depending on whether it lies within a row or between
 * rows.
 */
template <bool ROWS>
static __device__ __forceinline__ bool
is_triangle_pair_wanted(const rb_cells_args *args, const rb_face_f *r, const rb_face_f *b)
{
	return !ROWS || (args->side[0].row_of[r->entry & RB_INDEX_MASK] ==
					 args->side[1].row_of[b->entry & RB_INDEX_MASK]) == args->within;
}

/* Tests one pair per lane, taken from the end of the queue. */
template <bool ROWS>
static __device__ __forceinline__ void
test_triangle_pairs(const rb_cells_args *args, rb_tiles<false> *t, rb_warp *w, uint32_t n)
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

		pair = t->queue[warp][w->queued + lane];
		load_face_from_tile(t, 0, pair >> 8, &r);
		load_face_from_tile(t, 1, pair & 255, &b);
		candidate = is_triangle_pair_wanted<ROWS>(args, &r, &b);
		meet = args->filters & RB_FILTER_FLOAT ? rb_faces_f_meet(&r, &b) : RB_UNSURE;
	}
	w->candidates += ROWS ? __popc(__ballot_sync(~0u, candidate)) : n;
	if (args->count_only)
		w->hits += __popc(__ballot_sync(~0u, candidate && meet == 1));
	else
		buffer_pair_of_triangles<false>(args, t, w, HIT, candidate && meet == 1, pair);
	buffer_pair_of_triangles<false>(args, t, w, UNDECIDED, candidate && meet == RB_UNSURE, pair);
	if (w->timed)
		w->float_clocks += (uint32_t) clock() - began;
}

/*
 * Compares the pairs of a distance join by planes. Pairs that may be near go to the second queue.
 */
template <bool ROWS>
static __device__ __forceinline__ void
test_pairs_by_planes(const rb_cells_args *args, rb_tiles<true> *t, rb_warp *w, uint32_t n)
{
	const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x & 31;
	uint32_t pair = 0;
	bool candidate = lane < n, near = false;

	w->queued -= n;
	if (candidate)
	{
		rb_face_f r, b;

		pair = t->queue[warp][w->queued + lane];
		load_face_from_tile(t, 0, pair >> 8, &r);
		load_face_from_tile(t, 1, pair & 255, &b);
		candidate = is_triangle_pair_wanted<ROWS>(args, &r, &b);
		near = candidate && !rb_face_f_beyond(&r, &b, t->reach.more) &&
			   !rb_face_f_beyond(&b, &r, t->reach.more);
	}
	w->candidates += __popc(__ballot_sync(~0u, candidate));
	if (args->filters & RB_FILTER_FLOAT)
		append_pair_of_lane(t->near[warp], &w->nears, near, pair);
	else
		buffer_pair_of_triangles<true>(args, t, w, UNDECIDED, candidate, pair);
	__syncwarp();
}

/* Applies the complete distance test to pairs from the end of the second queue. */
static __device__ __forceinline__ void
test_near_triangle_pairs(const rb_cells_args *args, rb_tiles<true> *t, rb_warp *w, uint32_t n)
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
		load_face_from_tile(t, 0, pair >> 8, &r);
		load_face_from_tile(t, 1, pair & 255, &b);
		within = rb_faces_f_within(&r, &b, &reach);
	}
	__syncwarp();
	buffer_pair_of_triangles<true>(args, t, w, HIT, within == RB_WITHIN_OF(1), pair);
	buffer_pair_of_triangles<true>(args, t, w, NEAR_HIT, within == RB_WITHIN_OF(0), pair);
	buffer_pair_of_triangles<true>(args, t, w, UNDECIDED, within == RB_UNSURE, pair);
}

/* Processes both queues in full warps, or empties them if `last` is set. */
template <bool ROWS>
static __device__ __forceinline__ void
test_queued_near_pairs(const rb_cells_args *args, rb_tiles<true> *t, rb_warp *w, bool last)
{
	const uint32_t began = w->timed ? clock() : 0;
	const uint32_t least = last ? 1 : 32;

	while (w->queued >= least || (last && w->nears > 0))
	{
		if (w->queued >= least)
			test_pairs_by_planes<ROWS>(args, t, w, w->queued < 32 ? w->queued : 32);
		if (w->nears >= 32 || (last && w->queued == 0 && w->nears > 0))
			test_near_triangle_pairs(args, t, w, w->nears < 32 ? w->nears : 32);
	}
	if (w->timed)
		w->float_clocks += (uint32_t) clock() - began;
}

/* ---- extents ---- */

/*
 * Tests whether two k-DOPs overlap, as one bit of a word. The predicate from the guard bits of word
 * 0 is combined with that of word 1, which saves a third of the instructions.
 */
static __device__ __forceinline__ void
note_kdop_overlap(uint32_t *overlap, int k, const rb_kdop *red, uint4 blue)
{
	asm("{\n\t"
		".reg .pred p, q;\n\t"
		".reg .b32 t, u;\n\t"
		"lop3.b32 t, %1, %2, %5, 0x2a;\n\t" /* ~(a & b) & c */
		"setp.ne.u32 p, t, 0;\n\t"
		"lop3.or.b32 u|q, %3, %4, %6, 0x2a, p;\n\t"
		"@!q or.b32 %0, %0, %7;\n\t"
		"}"
		: "+r"(*overlap)
		: "r"(blue.y - red->lo[0]), "r"(red->hi[0] - blue.x), "r"(blue.w - red->lo[1]),
		  "r"(red->hi[1] - blue.z), "n"(RB_KDOP_GUARDS_0), "n"(RB_KDOP_GUARDS_1), "r"(1u << k));
}

/* Returns a bit set of the 32 blue objects that overlap the lane's red one. */
static __device__ __forceinline__ uint32_t
overlaps_of_triangle_strip(const uint4 *blue, const rb_kdop *red)
{
	uint32_t overlap = 0;

#pragma unroll
	for (int k = 0; k < 32; k++)
		note_kdop_overlap(&overlap, k, red, blue[k]);
	return overlap;
}

/*
 * Returns where a lane of the triangle join appends its candidates: the sum over the lanes before
 * it. Stores the sum over all lanes in *all.
 */
static __device__ __forceinline__ uint32_t
sum_before_lane(uint32_t mine, uint32_t *all)
{
	uint32_t sum = mine;

	for (int d = 1; d < 32; d *= 2)
	{
		const uint32_t other = __shfl_up_sync(~0u, sum, d);

		if ((threadIdx.x & 31) >= (uint32_t) d)
			sum += other;
	}
	*all = __shfl_sync(~0u, sum, 31);
	return sum - mine;
}

/*
 * Appends the candidates of all lanes to the queue, keeping those of one red object together, and
 * tests full warps of them.
 */
template <bool NEAR, bool ROWS>
static __device__ __forceinline__ void
queue_triangle_candidates(const rb_cells_args *args, rb_tiles<NEAR> *t, rb_warp *w, uint32_t slot,
						  uint32_t first, uint32_t overlap)
{
	uint16_t *queue = t->queue[threadIdx.x / 32];
	uint32_t all, at;

	at = w->queued + sum_before_lane(__popc(overlap), &all);
	if (w->queued + all <= QUEUE)
		for (; overlap != 0; overlap &= overlap - 1)
			queue[at++] = (uint16_t) (slot << 8 | (first + __ffs(overlap) - 1));
	/* If the candidates exceed the queue, append them in turns, one per lane. */
	for (;;)
	{
		const uint32_t lanes = __ballot_sync(~0u, overlap != 0);

		if (lanes == 0)
			w->queued += all;
		else
		{
			if (overlap != 0)
				queue[w->queued + __popc(lanes & ((1u << (threadIdx.x & 31)) - 1))] =
					(uint16_t) (slot << 8 | (first + __ffs(overlap) - 1));
			overlap &= overlap - 1;
			w->queued += __popc(lanes);
		}
		__syncwarp();
		if constexpr (NEAR)
		{
			if (w->queued >= 32)
				test_queued_near_pairs<ROWS>(args, t, w, false);
		}
		else
			while (w->queued >= 32)
				test_triangle_pairs<ROWS>(args, t, w, 32);
		__syncwarp();
		if (lanes == 0)
			break;
		all = 0;
	}
}

/* Joins a warp's part of an item, in units of 32 red and 32 blue objects. */
template <bool NEAR, bool ROWS>
static __device__ __forceinline__ void
join_triangle_tiles(const rb_cells_args *args, rb_tiles<NEAR> *t, rb_warp *w)
{
	const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x & 31;
	const uint32_t nr = t->item.n & 0xffff, nb = t->item.n >> 16;
	const bool same = args->self && t->item.red == t->item.blue;
	const uint32_t strips = (nb + 31) / 32;
	const uint32_t units = (nr + 31) / 32 * strips;
	const uint32_t end = units * (warp + 1) / RB_CELLS_WARPS;
	uint32_t group = ~0u;
	uint32_t slot = 0, entry = 0;
	rb_kdop s = {{0, 0}, {0, 0}};

	for (uint32_t u = units * warp / RB_CELLS_WARPS; u < end; u++)
	{
		const uint32_t g = u / strips;
		const uint32_t first = (u - g * strips) * 32;
		uint32_t overlap;

		if (same && first + 31 <= g * 32)
			continue; /* The pairs of this unit are all found in reverse order. */
		if (g != group)
		{
			rb_face_f f;

			group = g;
			slot = g * 32 + lane;
			load_face_from_tile(t, 0, slot < nr ? slot : 0, &f);
			rb_kdop_init(&s, &f, NEAR ? 0.5f * t->reach.more : 0);
			entry = f.entry;
		}
		overlap = overlaps_of_triangle_strip(t->slabs + first, &s);
		/* Clear the bits of slots beyond the tile's end, whose contents are undefined. */
		if (slot >= nr)
			overlap = 0;
		if (nb - first < 32)
			overlap &= (1u << (nb - first)) - 1;
		if (same && first <= slot)
			overlap = slot - first + 1 < 32 ? overlap & ~0u << (slot - first + 1) : 0;
		overlap &= ~pairs_owned_by_other_cells(t->elsewhere[first / 32], entry);
		queue_triangle_candidates<NEAR, ROWS>(args, t, w, slot, first, overlap);
	}
	if constexpr (NEAR)
		test_queued_near_pairs<ROWS>(args, t, w, true);
	else if (w->queued > 0)
		test_triangle_pairs<ROWS>(args, t, w, w->queued);
}

/* ---- work items ---- */

/* Joins the triangles of work items until none are left. */
template <bool NEAR, bool ROWS>
static __global__ void
__launch_bounds__(THREADS) cells_join_kernel(const rb_cells_args args)
{
	extern __shared__ float4 shared_memory[];
	rb_tiles<NEAR> *t = (rb_tiles<NEAR> *) shared_memory;
	rb_warp w = {0, 0, {0, 0, 0}, 0, 0, 0, 0, false};
	rb_count candidates = 0, hits = 0, clocks = 0, float_clocks = 0;
	bool first = true;

	for (;;)
	{
		uint32_t began;

		__syncthreads();
		if (threadIdx.x == 0)
		{
			claim_next_items(&args, &t->claimed, RB_ITEM_PAIRS, first);
			if (t->claimed.number < args.nitems)
			{
				t->item = args.items[t->claimed.number];
				if (NEAR)
				{
					rb_frame_even(&t->item.frame);
					rb_reach_f_init(&t->reach, &t->item.frame, args.distance);
				}
			}
		}
		first = false;
		__syncthreads();
		if (t->claimed.number >= args.nitems)
			break;
		w.timed = t->claimed.number % SAMPLED == 0;
		w.float_clocks = w.candidates = w.hits = 0;
		began = (uint32_t) clock();
		load_triangle_tile<NEAR>(t, 0, &args.side[0], args.entry[0] + t->item.red,
								 t->item.n & 0xffff);
		load_triangle_tile<NEAR>(t, 1, &args.side[1], args.entry[1] + t->item.blue,
								 t->item.n >> 16);
		__syncthreads();
		join_triangle_tiles<NEAR, ROWS>(&args, t, &w);
#pragma unroll
		for (int sort = 0; sort < (NEAR ? SORTS : NEAR_HIT); sort++)
			if (w.found[sort] > 0)
				flush_buffered_pairs<NEAR>(&args, t, &w, sort);
		candidates += w.candidates;
		hits += w.hits;
		if (w.timed)
		{
			clocks += (uint32_t) clock() - began;
			float_clocks += w.float_clocks;
		}
		if ((threadIdx.x & 31) == 0 && w.made > 0)
			atomicAdd(&t->claimed.made, w.made);
		w.made = 0;
	}
	if ((threadIdx.x & 31) == 0)
	{
		rb_launch_tally *tally = args.pool.tally;

		if (candidates > 0)
			atomicAdd(&tally->candidates, candidates);
		if (hits > 0)
			atomicAdd(&tally->hits, hits);
		if (clocks > 0)
		{
			atomicAdd(&tally->clocks, clocks);
			atomicAdd(&tally->float_clocks, float_clocks);
		}
	}
}

typedef struct rb_cells_kernel
{
	void (*kernel)(rb_cells_args);
	size_t bytes; /* Bytes of shared memory */
} rb_cells_kernel;

/* Returns the kernel for triangles and the bytes of its shared memory. */
static rb_cells_kernel
kernel_of_triangle_join(const rb_cells_args *args)
{
	const bool rows = args->side[0].row_of != NULL;
	rb_cells_kernel k;

	if (args->predicate == RB_WITHIN)
	{
		k.kernel = rows ? cells_join_kernel<true, true> : cells_join_kernel<true, false>;
		k.bytes = sizeof(rb_tiles<true>);
	}
	else
	{
		k.kernel = rows ? cells_join_kernel<false, true> : cells_join_kernel<false, false>;
		k.bytes = sizeof(rb_tiles<false>);
	}
	return k;
}

rb_status
rb_cells_blocks(rb_device_run *run, const rb_cells_args *args, int *blocks)
{
	const rb_cells_kernel k = kernel_of_triangle_join(args);
	int per_sm;

	if (!args->faces)
		return rb_boxes_blocks(run, args, blocks);
	RB_CUDA(run, cudaFuncSetAttribute(k.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
									  (int) k.bytes));
	RB_CUDA(run,
			cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, k.kernel, THREADS, k.bytes));
	*blocks = (per_sm > 0 ? per_sm : 1) * run->device->sms;
	return RB_OK;
}

rb_status
rb_cells_launch(rb_device_run *run, const rb_cells_args *args, int blocks)
{
	const rb_cells_kernel k = kernel_of_triangle_join(args);

	if (!args->faces)
		return rb_boxes_launch(run, args, blocks);
	k.kernel<<<blocks, THREADS, k.bytes, run->queue->compute>>>(*args);
	RB_LAUNCHED(run, "cells_join_kernel");
	return RB_OK;
}
