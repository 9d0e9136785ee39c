/*
 * box_join.cu
 *	  Finds pairs of overlapping boxes from work items. For boxes these are the result; for segments
 *	  they are the candidates that the filters decide (decide.cuh).
 *
 * The approach is that of Lo, Lee, Chung, Chung: Optimizing Pairwise Box Intersection Checking on
 * GPUs for Large-Scale Simulations, 2013: tiles in shared memory, half of the matrix if a cell is
 * joined with itself, and pairs as object numbers within their cell.
 *
 *	load		reads each box once, converts it to the cell's frame (triangle_float.h) and packs
 *				its upper and lower corners into two words, nine or ten bits per axis
 *	check		each lane holds two red boxes and tests 32 blue ones, which are the same
 *				for all lanes; the overlaps are the bits of two words
 *	sift		removes the pairs that this cell does not own, using bit sets of the boxes
 *				that start in it (grid.h); a remaining pair with an equal comparison
 *				waits until the warp has 32 such pairs
 *	settle		compares the doubles of one waiting pair per lane
 *	write		counts the bits of the item, and writes that many pairs, or a record of
 *				that size (pair_coding.h)
 *
 * The packed words are those of kdop.h: numbers that differ decide as the doubles would, and
 * only equal ones are undecided. Equality is tested for the few pairs that overlap, not for the
 * many that do not, and ownership is tested for 32 pairs at once.
 */
#include "work_queue.cuh"
#include "core/primitive/kdop.h"

#define WARPS RB_BOXES_WARPS
#define THREADS (32 * WARPS)
#define WORDS ((RB_TILE_F + 31) / 32)
#define TILE (32 * WORDS) /* Slots of a tile, a multiple of 32 because whole strips are read */
#define ROWS RB_BOXES_ROWS
#define WAITING 64 /* Capacity for a warp's waiting pairs: fewer than 32, and up to 32 more */

static_assert(RB_TILE_F <= RB_RECORD_SIDE && RB_TILE_F <= ROWS * THREADS && RB_TILE_F <= 255,
			  "counts of a record have eight bits; a thread writes the words of two red boxes");

/* Output of the kernel */
enum
{
	COUNT,
	ADD_WORDS, /* Boxes: a count or a bit for each part */
	PAIRS,     /* Boxes: pairs for the host */
	CANDIDATES,
	RECORDS
};

typedef struct rb_box_tiles
{
	uint2 corner[2][TILE]; /* x: upper corner with its guard bits; y: lower corner */
	uint32_t entry[2][TILE];
	uint32_t elsewhere[2][WORDS][3]; /* Ownership bits (work_queue.cuh) */
	uint2 waiting[WARPS][WAITING];   /* Pairs whose doubles must be compared */
	uint32_t scan[WARPS];
	rb_count at; /* Position of the item's output */
	rb_claimed_items claimed;
	/* Used unless pairs are only counted */
	uint32_t bits[TILE][WORDS]; /* For each red box, a bit set of the blue boxes it overlaps */
	/* Used only for records */
	uint32_t lists[TILE * WORDS];
} rb_box_tiles;

/* Bytes of rb_box_tiles that a mode uses */
#define TILES_BYTES(mode)                               \
	((mode) == COUNT     ? offsetof(rb_box_tiles, bits) \
	 : (mode) == RECORDS ? sizeof(rb_box_tiles)         \
						 : offsetof(rb_box_tiles, lists))

/* Counters of one thread */
typedef struct rb_box_counts
{
	rb_count candidates;
	rb_count redundant;
	uint32_t waiting; /* Number of waiting pairs of the warp, the same in all its threads */
} rb_box_counts;

/* ---- load ---- */

/* Loads the boxes of n entries to one side of the tiles in shared memory. */
static __device__ __forceinline__ void
load_boxes_to_tile(rb_box_tiles *t, int side, const rb_frame *frame, const rb_device_set *from,
				   const uint32_t *entry, uint32_t n)
{
	const uint32_t lane = threadIdx.x & 31;

	for (uint32_t base = threadIdx.x - lane; base < n; base += THREADS)
	{
		const uint32_t slot = base + lane;
		const uint32_t e = slot < n ? entry[slot] : RB_NO_ENTRY;

		store_ownership_of_objects(t->elsewhere[side][base / 32], e);
		if (slot < n)
		{
			double lo[3], hi[3];

			rb_part_box(from, e & RB_INDEX_MASK, lo, hi);
			t->corner[side][slot] = make_uint2(rb_packed_corner(frame, hi) | RB_PACKED_GUARDS,
											   rb_packed_corner(frame, lo));
			t->entry[side][slot] = e;
		}
	}
}

/* ---- check and sift ---- */

/*
 * Decides whether two boxes overlap by their doubles, after the packed comparison gave equal
 * numbers; rows paired with themselves do not.
 */
static __device__ __noinline__ bool
do_boxes_overlap_exactly(const rb_device_set *red, const rb_device_set *blue, uint32_t r,
						 uint32_t b)
{
	double plo[3], phi[3], qlo[3], qhi[3];

	if (red->row_of != NULL && red->row_of[r] == blue->row_of[b])
		return false;
	rb_part_box(red, r, plo, phi);
	rb_part_box(blue, b, qlo, qhi);
	return rb_boxes_overlap(plo, phi, qlo, qhi);
}

/*
 * Returns those of the pairs `bits` of a red box that the packed numbers cannot decide, because
 * some of the numbers are equal.
 */
static __device__ __forceinline__ uint32_t
find_unsure_packed_pairs(const uint2 *blue, uint2 red, uint32_t steps, uint32_t bits)
{
	uint32_t unsure = 0;

	/* Shrink the red box by one step: pairs that no longer overlap had an equal comparison. */
	red.x -= steps;
	red.y += steps;

	while (bits != 0)
	{
		const int k = 31 - __clz((int) bits);
		const uint2 b = blue[k];

		bits ^= 1u << k;
		if (rb_packed_apart(red.x, red.y, b.x, b.y) != 0)
			unsure |= 1u << k;
	}
	return unsure;
}

/*
 * Decides the last n waiting pairs, one per lane. If pairs are only counted, the waiting pairs may
 * come from any cell and are stored as object indices; otherwise they belong to the current cell
 * and are stored as slots.
 */
template <int MODE>
static __device__ __forceinline__ void
decide_waiting_pairs(const rb_cells_args *args, rb_box_tiles *t, int blue_side, uint32_t n,
					 rb_box_counts *counts)
{
	const uint32_t lane = threadIdx.x & 31;

	counts->waiting -= n;
	if (lane < n)
	{
		const uint2 w = t->waiting[threadIdx.x / 32][counts->waiting + lane];
		const uint32_t red = MODE == COUNT ? w.x : t->entry[0][w.x] & RB_INDEX_MASK;
		const uint32_t blue = MODE == COUNT ? w.y : t->entry[blue_side][w.y] & RB_INDEX_MASK;

		if (do_boxes_overlap_exactly(&args->side[0], &args->side[1], red, blue))
		{
			if (MODE == COUNT)
				counts->candidates++;
			else
				atomicOr(&t->bits[w.x][w.y / 32], 1u << w.y % 32);
		}
	}
	__syncwarp();
}

/*
 * Adds the unsure pairs of a red box with blue boxes from `first` to the waiting ones. All lanes of
 * the warp must call it.
 */
template <int MODE>
static __device__ __forceinline__ void
queue_unsure_pairs_of_box(const rb_cells_args *args, rb_box_tiles *t, int blue_side, uint32_t slot,
						  uint32_t first, uint32_t unsure, rb_box_counts *counts)
{
	const uint32_t lane = threadIdx.x & 31;
	uint32_t lanes;

	while ((lanes = __ballot_sync(~0u, unsure != 0)) != 0)
	{
		if (unsure != 0)
		{
			const uint32_t other = first + __ffs(unsure) - 1;
			uint2 w = make_uint2(slot, other);

			if (MODE == COUNT)
				w = make_uint2(t->entry[0][slot] & RB_INDEX_MASK,
							   t->entry[blue_side][other] & RB_INDEX_MASK);
			t->waiting[threadIdx.x / 32][counts->waiting + __popc(lanes & ((1u << lane) - 1))] = w;
			unsure &= unsure - 1;
		}
		counts->waiting += __popc(lanes);
		__syncwarp();
		if (counts->waiting >= 32)
			decide_waiting_pairs<MODE>(args, t, blue_side, 32, counts);
	}
}

/*
 * Tests 32 blue boxes from `first` against 32 or 64 red ones. Slots beyond a tile's end are
 * undefined; their bits are cleared.
 */
template <int MODE, int N>
static __device__ __forceinline__ void
check_strip_of_boxes(const rb_cells_args *args, rb_box_tiles *t, bool same, uint32_t group,
					 uint32_t strip, uint32_t nr, uint32_t nb, rb_box_counts *counts)
{
	const int blue_side = same ? 0 : 1;
	const uint32_t first = strip * 32;
	const uint4 *blue = (const uint4 *) (t->corner[blue_side] + first);
	const uint32_t steps = RB_PACKED_STEPS((args->axes & 4) == 0);
	uint2 red[N];
	uint32_t bits[N];

	for (int i = 0; i < N; i++)
	{
		const uint32_t slot = group * 64 + i * 32 + (threadIdx.x & 31);

		red[i] = t->corner[0][slot];
		bits[i] = 0;
	}
#pragma unroll
	for (int k = 0; k < 32; k += 2)
	{
		const uint4 two = blue[k / 2];

		for (int i = 0; i < N; i++)
		{
			if (rb_packed_apart(red[i].x, red[i].y, two.x, two.y) == 0)
				bits[i] |= 1u << k;
			if (rb_packed_apart(red[i].x, red[i].y, two.z, two.w) == 0)
				bits[i] |= 2u << k;
		}
	}
	for (int i = 0; i < N; i++)
	{
		const uint32_t slot = group * 64 + i * 32 + (threadIdx.x & 31);
		uint32_t others, unsure = 0;

		if (nb - first < 32)
			bits[i] &= (1u << (nb - first)) - 1;
		/* If a cell is joined with itself, test each pair only from its smaller slot. */
		if (same && first <= slot)
			bits[i] = slot - first + 1 < 32 ? bits[i] & ~0u << (slot - first + 1) : 0;
		if (slot >= nr)
			bits[i] = 0;
		if (bits[i] != 0)
		{
			others = pairs_owned_by_other_cells(t->elsewhere[blue_side][strip], t->entry[0][slot]);
			counts->redundant += __popc(bits[i] & others);
			bits[i] &= ~others;
			/* Parts of one row are not a pair, and only do_boxes_overlap_exactly compares rows. */
			unsure = args->side[0].row_of != NULL
						 ? bits[i]
						 : find_unsure_packed_pairs(t->corner[blue_side] + first, red[i], steps,
													bits[i]);
		}
		if (MODE == COUNT)
			counts->candidates += __popc(bits[i] & ~unsure);
		else
			t->bits[slot][strip] = bits[i] & ~unsure;
		queue_unsure_pairs_of_box<MODE>(args, t, blue_side, slot, first, unsure, counts);
	}
}

/* Tests all strips for all groups of 64 red boxes. The warps of the block take turns. */
template <int MODE>
static __device__ __forceinline__ void
check_strips_of_boxes(const rb_cells_args *args, rb_box_tiles *t, bool same, uint32_t nr,
					  uint32_t nb, rb_box_counts *counts)
{
	const uint32_t strips = (nb + 31) / 32;
	uint32_t turn = threadIdx.x / 32;

	for (uint32_t g = 0; g * 64 < nr; g++)
	{
		uint32_t s = (same ? 2 * g : 0) + turn;

		for (; s < strips; s += WARPS)
			if (nr - g * 64 > 32)
				check_strip_of_boxes<MODE, 2>(args, t, same, g, s, nr, nb, counts);
			else
				check_strip_of_boxes<MODE, 1>(args, t, same, g, s, nr, nb, counts);
		turn = s - strips;
	}
	if (MODE != COUNT && counts->waiting > 0)
		decide_waiting_pairs<MODE>(args, t, same ? 0 : 1, counts->waiting, counts);
}

/* ---- write ---- */

/* Returns the first word of a red box that was computed. */
static __device__ __forceinline__ uint32_t
first_word_of_red_box(bool same, uint32_t slot)
{
	return same ? slot / 64 * 2 : 0;
}

/*
 * Counts the pairs of each row (ROWS per thread) and those before the thread's rows. Returns the
 * total of the item.
 */
static __device__ __forceinline__ uint32_t
count_pairs_of_box_rows(rb_box_tiles *t, bool same, uint32_t nr, uint32_t strips,
						uint32_t count[ROWS], uint32_t *before)
{
	const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x / 32;
	uint32_t mine = 0, sum, all = 0;

	for (int i = 0; i < ROWS; i++)
	{
		const uint32_t slot = ROWS * threadIdx.x + i;

		count[i] = 0;
		if (slot < nr)
			for (uint32_t s = first_word_of_red_box(same, slot); s < strips; s++)
				count[i] += __popc(t->bits[slot][s]);
		mine += count[i];
	}
	sum = mine;
	for (int d = 1; d < 32; d *= 2)
	{
		uint32_t other = __shfl_up_sync(~0u, sum, d);

		if (lane >= (uint32_t) d)
			sum += other;
	}
	if (lane == 31)
		t->scan[warp] = sum;
	__syncthreads();
	*before = sum - mine;
	for (uint32_t w = 0; w < WARPS; w++)
	{
		if (w < warp)
			*before += t->scan[w];
		all += t->scan[w];
	}
	return all;
}

/* Returns the index of the box in a slot of the tile in shared memory, without its start bits. */
static __device__ __forceinline__ uint32_t
index_of_tile_slot(const rb_box_tiles *t, int side, uint32_t slot)
{
	return t->entry[side][slot] & RB_INDEX_MASK;
}

/*
 * Writes the pairs. For boxes, these are the pairs that the job reports; for other kinds, they are
 * candidates for the filters, as indices within the sides.
 */
template <int MODE>
static __device__ __forceinline__ void
write_pairs_of_boxes(const rb_cells_args *args, rb_box_tiles *t, bool same, uint32_t nr,
					 uint32_t strips, uint32_t before, uint32_t all)
{
	const int blue_side = same ? 0 : 1;
	rb_launch_tally *tally = args->pool.tally;
	rb_pair *to;

	if (threadIdx.x == 0)
	{
		t->at = atomicAdd(MODE == PAIRS ? &tally->hits : &tally->float_undecided, (rb_count) all);
		t->claimed.made += all;
	}
	__syncthreads();
	to = (MODE == PAIRS ? args->pool.hits : args->pool.undecided) + t->at + before;
	for (int i = 0; i < ROWS; i++)
	{
		const uint32_t slot = ROWS * threadIdx.x + i;

		if (slot >= nr)
			continue;
		for (uint32_t s = first_word_of_red_box(same, slot); s < strips; s++)
			for (uint32_t bits = t->bits[slot][s]; bits != 0; bits &= bits - 1)
			{
				const uint32_t red = index_of_tile_slot(t, 0, slot);
				const uint32_t blue = index_of_tile_slot(t, blue_side, 32 * s + __ffs(bits) - 1);

				*to++ = MODE == PAIRS ? rb_pair_of(args, red, blue) : rb_pair{red, blue};
			}
	}
}

/* Counts or marks the parts of all pairs of boxes (join.cu). */
static __device__ __forceinline__ void
add_words_of_box_pairs(const rb_cells_args *args, const rb_box_tiles *t, bool same, uint32_t nr,
					   uint32_t strips, const uint32_t count[ROWS])
{
	const int blue_side = same ? 0 : 1;

	for (int i = 0; i < ROWS; i++)
	{
		const uint32_t slot = ROWS * threadIdx.x + i;

		if (slot >= nr || count[i] == 0)
			continue;
		/* If only red parts are needed, add all pairs of a red box at once. */
		if (!args->self && args->of == RB_OF_RED)
		{
			const uint32_t part = index_of_tile_slot(t, 0, slot) + args->side[0].base;

			if (args->counts != NULL)
				atomicAdd(&args->counts[part], count[i]);
			else
				rb_word_mark(args->marks, part);
			continue;
		}
		for (uint32_t s = first_word_of_red_box(same, slot); s < strips; s++)
			for (uint32_t bits = t->bits[slot][s]; bits != 0; bits &= bits - 1)
				rb_words_add(
					args, rb_pair_of(args, index_of_tile_slot(t, 0, slot),
									 index_of_tile_slot(t, blue_side, 32 * s + __ffs(bits) - 1)));
	}
}

/* Writes the pairs of boxes as a record, in the shorter of its two forms. */
static __device__ __forceinline__ void
write_record_of_boxes(const rb_cells_args *args, rb_box_tiles *t, bool same, uint32_t nr,
					  uint32_t nb, const uint32_t count[ROWS], uint32_t before, uint32_t all)
{
	const uint32_t strips = (nb + 31) / 32;
	const uint32_t ids = same ? nr : nr + nb;
	const uint32_t words = nr * strips;
	const bool lists = nr + all < words * 4;
	const uint32_t data = lists ? (nr + all + 3) / 4 : words;
	const uint32_t bytes = (uint32_t) sizeof(rb_record) + (ids + data) * 4;
	const uint32_t size = (bytes + RB_RECORD_ALIGN - 1) / RB_RECORD_ALIGN * RB_RECORD_ALIGN;
	rb_count at = 0;
	uint32_t *to;

	/* Build the lists while the atomic operation is in flight. */
	if (threadIdx.x == 0)
		at = atomicAdd(&args->pool.tally->bytes, (rb_count) size);
	if (lists)
	{
		uint8_t *counts = (uint8_t *) t->lists, *number = counts + nr + before;

		for (int i = 0; i < ROWS; i++)
		{
			const uint32_t slot = ROWS * threadIdx.x + i;

			if (slot >= nr)
				continue;
			counts[slot] = (uint8_t) count[i];
			for (uint32_t s = first_word_of_red_box(same, slot); s < strips; s++)
				for (uint32_t bits = t->bits[slot][s]; bits != 0; bits &= bits - 1)
					*number++ = (uint8_t) (32 * s + __ffs(bits) - 1);
		}
	}
	if (threadIdx.x == 0)
	{
		rb_record *record = (rb_record *) (args->pool.records + at);

		t->at = at;
		t->claimed.made += size;
		record->bytes = size;
		record->pairs = all;
		record->red = (uint16_t) nr;
		record->blue = (uint16_t) nb;
		record->form = (lists ? 0 : RB_RECORD_BITS) | (same ? RB_RECORD_SAME : 0) |
					   (args->self ? RB_RECORD_ORDER : 0);
	}
	__syncthreads();
	to = (uint32_t *) (args->pool.records + t->at + sizeof(rb_record));
	for (uint32_t i = threadIdx.x; i < ids; i += THREADS)
		to[i] = i < nr ? index_of_tile_slot(t, 0, i) + args->side[0].base
					   : index_of_tile_slot(t, 1, i - nr) + args->side[1].base;
	to += ids;
	if (lists)
		for (uint32_t i = threadIdx.x; i < data; i += THREADS)
			to[i] = t->lists[i];
	else
		for (uint32_t i = threadIdx.x; i < words; i += THREADS)
		{
			const uint32_t slot = i / strips, s = i - slot * strips;

			to[i] = s < first_word_of_red_box(same, slot) ? 0 : t->bits[slot][s];
		}
}

/* ---- work items ---- */

/* Joins the lists of one work item, and stores or counts its pairs. */
template <int MODE>
static __device__ __forceinline__ void
join_boxes_of_item(const rb_cells_args *args, rb_box_tiles *t, const rb_item *item,
				   rb_box_counts *counts)
{
	const uint32_t red = item->red, blue = item->blue, n = item->n;
	const uint32_t nr = n & 0xffff, nb = n >> 16, strips = (nb + 31) / 32;
	const bool same = args->self && red == blue;
	uint32_t all, before, count[ROWS];

	{
		const rb_frame frame = item->frame;

		load_boxes_to_tile(t, 0, &frame, &args->side[0], args->entry[0] + red, nr);
		if (!same)
			load_boxes_to_tile(t, 1, &frame, &args->side[1], args->entry[1] + blue, nb);
	}
	__syncthreads();
	check_strips_of_boxes<MODE>(args, t, same, nr, nb, counts);
	if (MODE == COUNT)
		return;
	__syncthreads();
	all = count_pairs_of_box_rows(t, same, nr, strips, count, &before);
	if (threadIdx.x == 0)
		counts->candidates += all;
	if (all == 0)
		return;
	if (MODE == ADD_WORDS)
		add_words_of_box_pairs(args, t, same, nr, strips, count);
	else if (MODE == RECORDS)
		write_record_of_boxes(args, t, same, nr, nb, count, before, all);
	else
		write_pairs_of_boxes<MODE>(args, t, same, nr, strips, before, all);
}

/* Joins work items until none are left. */
template <int MODE>
static __global__ void
__launch_bounds__(THREADS, RB_BOXES_BLOCKS)
	boxes_join_kernel(const __grid_constant__ rb_cells_args args)
{
	__shared__ __align__(16) char room[TILES_BYTES(MODE)];
	rb_box_tiles *t = (rb_box_tiles *) room;
	rb_box_counts counts = {0, 0, 0};
	bool first = true;

	for (;;)
	{
		rb_count number, end;

		if (threadIdx.x == 0)
			claim_next_items(&args, &t->claimed, args.reserve, first);
		first = false;
		__syncthreads();
		number = t->claimed.number;
		end = t->claimed.end;
		if (number >= args.nitems)
			break;
		for (; number < end; number++)
		{
			join_boxes_of_item<MODE>(&args, t, &args.items[number], &counts);
			__syncthreads();
		}
	}
	if (MODE == COUNT && counts.waiting > 0)
		decide_waiting_pairs<MODE>(&args, t, 0, counts.waiting, &counts);
	counts.redundant = rb_warp_sum(counts.redundant);
	counts.candidates = rb_warp_sum(counts.candidates);
	if ((threadIdx.x & 31) == 0 && counts.redundant > 0)
		atomicAdd(&args.pool.tally->redundant, counts.redundant);
	if ((threadIdx.x & 31) == 0 && counts.candidates > 0)
	{
		atomicAdd(&args.pool.tally->candidates, counts.candidates);
		if (MODE == COUNT || MODE == ADD_WORDS || MODE == RECORDS)
			atomicAdd(&args.pool.tally->hits, counts.candidates);
	}
}

typedef void (*rb_boxes_kernel)(rb_cells_args);

/* Returns the kernel for what the job needs. */
static rb_boxes_kernel
kernel_of_box_join(const rb_cells_args *args)
{
	if (!args->boxes)
		return boxes_join_kernel<CANDIDATES>;
	if (args->counts != NULL || args->marks != NULL)
		return boxes_join_kernel<ADD_WORDS>;
	if (args->count_only)
		return boxes_join_kernel<COUNT>;
	return args->records ? boxes_join_kernel<RECORDS> : boxes_join_kernel<PAIRS>;
}

rb_status
rb_boxes_blocks(rb_device_run *run, const rb_cells_args *args, int *blocks)
{
	int per_sm;

	RB_CUDA(run, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel_of_box_join(args),
															   THREADS, 0));
	*blocks = (per_sm > 0 ? per_sm : 1) * run->device->sms;
	return RB_OK;
}

rb_status
rb_boxes_launch(rb_device_run *run, const rb_cells_args *args, int blocks)
{
	const rb_boxes_kernel kernel = kernel_of_box_join(args);

	kernel<<<blocks, THREADS, 0, run->queue->compute>>>(*args);
	RB_LAUNCHED(run, "boxes_join_kernel");
	return RB_OK;
}
