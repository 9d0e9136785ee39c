/*
 * scatter.cu
 *	  Assigns objects to the cells of their node's grid: counts first, then fills.
 *
 * A cell with objects of only one color stores nothing. An object that covers many cells (one giant
 * over a million small objects) is assigned by a whole warp.
 *
 * Counting gives each incidence its number within the cell. If there is space for a list of
 * incidences (rb_incidences), the numbers are stored there, and filling reads the list instead of
 * coordinates. Otherwise filling computes the boxes again, and each incidence takes a new number
 * from its cell.
 */
#include "level.cuh"

#include "core/primitive/reference_point.h"

/* Work that a pass does on each incidence */
enum
{
	COUNT,
	COUNT_AND_LIST,
	FILL
};

#define STEPS 64 /* Steps that a warp takes between two checks of the stop flag */

/* ---- one incidence ---- */

/* Returns the 32 bits of a cell's count that belong to one side; both sides share 64 bits. */
static __device__ __forceinline__ uint32_t *
count_of_cell_side(const rb_grid_args *args, uint32_t side, rb_count cell)
{
	return (uint32_t *) (args->count + cell) + side;
}

/* Clamps a position in the list, which may have more than 32 bits, to the capacity. */
static __device__ __forceinline__ uint32_t
clamp_position_of_incidence(const rb_grid_args *args, rb_count at)
{
	return at < args->places.capacity ? (uint32_t) at : args->places.capacity;
}

/*
 * Appends an incidence to the list. Incidences beyond the capacity are not written, and the list is
 * then unusable.
 */
static __device__ __forceinline__ void
append_incidence_to_list(const rb_grid_args *args, uint32_t side, uint32_t at, uint32_t cell,
						 uint32_t entry, uint32_t number)
{
	if (at < args->places.capacity)
	{
		args->places.cell[at] = cell;
		args->places.entry[at] = make_uint2(entry, number | side << 31);
	}
}

/*
 * Counts or stores one incidence. The two halves of a cell's 64 bits count red and blue. Filling
 * without a list counts down to zero again: each incidence goes to start + (count before decrement)
 * - 1. The count of a cell that lacks one color was set to zero before the prefix sum, so the cell
 * has no space.
 */
template <int PASS>
static __device__ __forceinline__ void
add_incidence_to_cell(const rb_grid_args *args, uint32_t side, rb_count cell, uint32_t entry,
					  uint32_t at)
{
	if (PASS == COUNT)
		atomicAdd(count_of_cell_side(args, side, cell), 1u);
	else if (PASS == COUNT_AND_LIST)
		append_incidence_to_list(args, side, at, (uint32_t) cell, entry,
								 atomicAdd(count_of_cell_side(args, side, cell), 1u));
	else
	{
		const rb_count start = args->start[cell];

		if (args->start[cell + 1] != start)
			args->entry[side][(uint32_t) (start >> (32 * side)) +
							  atomicSub(count_of_cell_side(args, side, cell), 1u) - 1] = entry;
	}
}

/* ---- one object ---- */

/* Range of cells that an object overlaps */
typedef struct rb_reach
{
	uint32_t from[3];
	uint32_t to[3];
	rb_count n; /* Number of cells, or 0 if the object is outside */
} rb_reach;

/* Returns the entry for cell (x, y, z), with the axes on which the object starts there. */
static __device__ __forceinline__ uint32_t
entry_in_grid_cell(uint32_t entry, const rb_reach *r, uint32_t x, uint32_t y, uint32_t z)
{
	const uint32_t starts = (x == r->from[0]) | (y == r->from[1]) << 1 | (z == r->from[2]) << 2;

	return entry & (starts << RB_INDEX_BITS | RB_INDEX_MASK);
}

/*
 * Reserves one number of a cell for each lane that needs one, with one atomic operation for all
 * lanes that have the same cell. The first of these lanes gets the result, and
 * number_in_shared_cell derives the numbers of the others. Neighbors in a mesh are mostly in the
 * same cell, and separate atomic operations on one cell would be serialized.
 */
static __device__ __forceinline__ uint32_t
reserve_numbers_in_cells(const rb_grid_args *args, uint32_t side, bool mine, uint32_t cell,
						 uint32_t *sharing)
{
	const uint32_t lanes = __ballot_sync(~0u, mine);
	uint32_t number = 0;

	*sharing = 0;
	if (lanes == 0)
		return 0;
	/* Lanes with no cell form their own group and issue no atomic operation. */
	*sharing = __match_any_sync(~0u, mine ? cell : UINT32_MAX);
	if (mine && (threadIdx.x & 31) == (uint32_t) __ffs(*sharing) - 1)
		number = atomicAdd(count_of_cell_side(args, side, cell), (uint32_t) __popc(*sharing));
	return number;
}

/*
 * Derives the number of this lane from the one that the first lane with the same cell has reserved.
 */
static __device__ __forceinline__ uint32_t
number_in_shared_cell(uint32_t number, uint32_t sharing)
{
	const uint32_t before = (1u << (threadIdx.x & 31)) - 1;

	return __shfl_sync(~0u, number, sharing != 0 ? __ffs(sharing) - 1 : 0) +
		   __popc(sharing & before);
}

/* Returns true, in all lanes, if many lanes have the same cell as their neighbor. */
static __device__ __forceinline__ bool
do_lanes_share_cells(uint32_t cell)
{
	const uint32_t other = __shfl_up_sync(~0u, cell, 1);

	return __popc(__ballot_sync(~0u, other == cell)) > 8;
}

/*
 * Lists objects that cover at most two cells per axis, as most objects do, one per lane; r->n is 0
 * in lanes without an object. All atomic operations are issued before any result is used, so that
 * their latencies overlap, and the entries of all lanes are written side by side. All lanes must
 * call it; `at` is the position of the first entry.
 */
static __device__ __forceinline__ void
list_small_objects(const rb_grid_args *args, const rb_grid *grid, rb_count first, uint32_t side,
				   uint32_t entry, const rb_reach *r, uint32_t at)
{
	const uint32_t before = (1u << (threadIdx.x & 31)) - 1;
	const uint32_t two =
		(r->to[0] != r->from[0]) | (r->to[1] != r->from[1]) << 1 | (r->to[2] != r->from[2]) << 2;
	const uint32_t row = grid->n[0], layer = row * grid->n[1];
	const uint32_t cell = (uint32_t) first + r->from[2] * layer + r->from[1] * row + r->from[0];
	const bool together = do_lanes_share_cells(cell);
	uint32_t number[8], sharing[8];

	if (together)
	{
#pragma unroll
		for (uint32_t k = 0; k < 8; k++)
			number[k] = reserve_numbers_in_cells(
				args, side, r->n > 0 && (k & ~two) == 0,
				cell + (k & 1) + (k & 2 ? row : 0) + (k & 4 ? layer : 0), &sharing[k]);
#pragma unroll
		for (uint32_t k = 0; k < 8; k++)
			number[k] = number_in_shared_cell(number[k], sharing[k]);
	}
	else
	{
#pragma unroll
		for (uint32_t k = 0; k < 8; k++)
			if (r->n > 0 && (k & ~two) == 0)
				number[k] = atomicAdd(
					count_of_cell_side(args, side,
									   cell + (k & 1) + (k & 2 ? row : 0) + (k & 4 ? layer : 0)),
					1u);
	}
#pragma unroll
	for (uint32_t k = 0; k < 8; k++)
	{
		const bool there = r->n > 0 && (k & ~two) == 0;
		const uint32_t lanes = __ballot_sync(~0u, there);

		if (there)
			append_incidence_to_list(args, side, at + __popc(lanes & before),
									 cell + (k & 1) + (k & 2 ? row : 0) + (k & 4 ? layer : 0),
									 entry & ((k ^ RB_STARTS_ALL) << RB_INDEX_BITS | RB_INDEX_MASK),
									 number[k]);
		at += __popc(lanes);
	}
}

/*
 * Lists objects that cover at most 64 cells, one per lane, if not all objects are small. The lanes
 * share the incidences of all objects, because a lane that handled an object alone would wait for
 * each of its cells. All lanes must call it; `at` is the position of the first entry.
 */
static __device__ __forceinline__ void
list_objects_of_some_cells(const rb_grid_args *args, const rb_grid *grid, rb_count first,
						   uint32_t side, uint32_t entry, const rb_reach *r, uint32_t at)
{
	const uint32_t lane = threadIdx.x & 31;
	const uint32_t mine = r->n <= 64 ? (uint32_t) r->n : 0;
	const uint32_t row = grid->n[0], layer = row * grid->n[1];
	const uint32_t cell = (uint32_t) first + r->from[2] * layer + r->from[1] * row + r->from[0];
	/* Each dimension is at most 64, so it fits into eight bits. */
	const uint32_t nx = r->to[0] - r->from[0] + 1, ny = r->to[1] - r->from[1] + 1;
	const uint32_t size = mine > 0 ? nx | ny << 8 : 1 | 1 << 8;
	uint32_t end = mine, all;

	for (int d = 1; d < 32; d *= 2)
	{
		const uint32_t other = __shfl_up_sync(~0u, end, d);

		if (lane >= (uint32_t) d)
			end += other;
	}
	all = __shfl_sync(~0u, end, 31);
	for (uint32_t base = 0; base < all; base += 32)
	{
		const uint32_t i = base + lane;
		uint32_t of = 0, its_cell, its_entry, its_size, its_first, x, y, z;

		/*
		 * Find the owner of incidence i by binary search: the number of lanes whose range ends at
		 * or before i.
		 */
		for (uint32_t d = 16; d > 0; d /= 2)
			if (__shfl_sync(~0u, end, of + d - 1) <= i)
				of += d;
		its_cell = __shfl_sync(~0u, cell, of);
		its_entry = __shfl_sync(~0u, entry, of);
		its_size = __shfl_sync(~0u, size, of);
		its_first = __shfl_sync(~0u, end - mine, of);
		if (i >= all)
			continue;
		x = i - its_first;
		y = x / (its_size & 0xff);
		x -= y * (its_size & 0xff);
		z = y / (its_size >> 8);
		y -= z * (its_size >> 8);
		its_cell += z * layer + y * row + x;
		append_incidence_to_list(
			args, side, at + i, its_cell,
			its_entry &
				(((x == 0) | (y == 0) << 1 | (z == 0) << 2) << RB_INDEX_BITS | RB_INDEX_MASK),
			atomicAdd(count_of_cell_side(args, side, its_cell), 1u));
	}
}

/* Assigns an object to up to 64 cells with a single thread. */
template <int PASS>
static __device__ __forceinline__ void
scatter_to_some_cells(const rb_grid_args *args, const rb_grid *grid, rb_count first, uint32_t side,
					  uint32_t entry, const rb_reach *r)
{
	for (uint32_t z = r->from[2]; z <= r->to[2]; z++)
		for (uint32_t y = r->from[1]; y <= r->to[1]; y++)
			for (uint32_t x = r->from[0]; x <= r->to[0]; x++)
				add_incidence_to_cell<PASS>(args, side, first + rb_grid_number(grid, x, y, z),
											entry_in_grid_cell(entry, r, x, y, z), 0);
}

/*
 * Assigns an object to any number of cells with all lanes, which have the same arguments. A grid of
 * an unsuitable, user-given resolution may have millions of cells for each of millions of objects,
 * so this loop checks the stop flag. Returns false if it was stopped. The list then has gaps, and
 * its length is set to a value that makes it unusable.
 */
template <int PASS>
static __device__ __forceinline__ bool
scatter_to_many_cells(const rb_grid_args *args, const rb_grid *grid, rb_count first, uint32_t side,
					  uint32_t entry, const rb_reach *r)
{
	const uint32_t lane = threadIdx.x & 31;
	const uint32_t nx = r->to[0] - r->from[0] + 1, ny = r->to[1] - r->from[1] + 1;
	rb_count at = 0;

	if (PASS == COUNT_AND_LIST)
	{
		if (lane == 0)
			at = atomicAdd(args->places.n, r->n);
		at = __shfl_sync(~0u, at, 0);
	}
	for (rb_count base = 0; base < r->n; base += 32)
	{
		const rb_count i = base + lane, row = i / nx;
		const uint32_t x = r->from[0] + (uint32_t) (i - row * nx),
					   y = r->from[1] + (uint32_t) (row % ny),
					   z = r->from[2] + (uint32_t) (row / ny);

		if (base / 32 % STEPS == 0 && __any_sync(~0u, lane == 0 && rb_peek(args->stop) != 0))
		{
			if (PASS == COUNT_AND_LIST && lane == 0)
				atomicMax(args->places.n, (rb_count) 1 << 62);
			return false;
		}
		if (i < r->n)
			add_incidence_to_cell<PASS>(args, side, first + rb_grid_number(grid, x, y, z),
										entry_in_grid_cell(entry, r, x, y, z),
										clamp_position_of_incidence(args, at + i));
	}
	return true;
}

/*
 * Returns true if the object is assigned to cells here because it is in this device's partition.
 * In that case *entry keeps its bit only for axes on which the object begins in the partition, as
 * if there were a cell above the top (rb_partition_meets).
 */
static __device__ __forceinline__ bool
is_in_device_partition(const rb_grid_args *args, const double lo[3], const double hi[3],
					   uint32_t *entry)
{
	uint32_t starts;

	if (args->share.dims == 0)
		return true;
	{
		/* Copy the bounds, because rb_partition_meets indexes them, which puts them into memory. */
		const double from[3] = {lo[0], lo[1], lo[2]}, to[3] = {hi[0], hi[1], hi[2]};

		if (!rb_partition_meets(&args->share, from, to, &starts))
			return false;
	}
	*entry &= starts << RB_INDEX_BITS | RB_INDEX_MASK;
	return true;
}

/* ---- all objects ---- */

/* Data of the current node that a thread block caches */
typedef struct rb_scatter_node
{
	rb_grid grid;
	double meet_lo[3], meet_hi[3];
	rb_count first;
} rb_scatter_node;

/* Assigns one object per thread; all threads of a warp must call it. */
template <int PASS>
static __device__ __forceinline__ void
scatter_unit_of_objects(const rb_grid_args *args, const rb_scatter_node *at_node,
						const rb_node_chunk *c, uint32_t t)
{
	const rb_grid *grid = &at_node->grid;
	const rb_count first = at_node->first;
	const uint32_t side = c->side_number & 1;
	rb_reach r = {{0, 0, 0}, {0, 0, 0}, 0};
	uint32_t entry = 0;
	uint32_t at = 0;
	bool small = true;
	unsigned big;

	if (t < c->n)
	{
		double lo[3], hi[3];

		entry = entry_of_chunk_object(args, c, t);
		box_of_entry(&args->side[side], entry, lo, hi);
		if (rb_boxes_overlap(lo, hi, at_node->meet_lo, at_node->meet_hi) &&
			is_in_device_partition(args, lo, hi, &entry))
		{
			r.n = 1;
#pragma unroll
			for (int a = 0; a < 3; a++)
			{
				r.from[a] = rb_grid_cell(grid, a, lo[a]);
				r.to[a] = rb_grid_cell(grid, a, hi[a]);
				r.n *= r.to[a] - r.from[a] + 1;
				small &= r.to[a] - r.from[a] <= 1;
			}
		}
	}
	if (PASS == COUNT_AND_LIST)
	{
		at = clamp_position_of_incidence(
			args, rb_block_reserve(r.n <= 64 ? (uint32_t) r.n : 0, args->places.n));
		at = __shfl_sync(~0u, at, 0);
		if (__all_sync(~0u, small))
			list_small_objects(args, grid, first, side, entry, &r, at);
		else
			list_objects_of_some_cells(args, grid, first, side, entry, &r, at);
	}
	else if (r.n > 0 && r.n <= 64)
		scatter_to_some_cells<PASS>(args, grid, first, side, entry, &r);

	/* Assign large objects one after another, each with all lanes. */
	for (big = __ballot_sync(~0u, r.n > 64); big != 0; big &= big - 1)
	{
		const int from = __ffs(big) - 1;
		const uint32_t e = __shfl_sync(~0u, entry, from);
		rb_reach all;

		all.n = __shfl_sync(~0u, r.n, from);
#pragma unroll
		for (int a = 0; a < 3; a++)
		{
			all.from[a] = __shfl_sync(~0u, r.from[a], from);
			all.to[a] = __shfl_sync(~0u, r.to[a], from);
		}
		if (!scatter_to_many_cells<PASS>(args, grid, first, side, e, &all))
			break;
	}
}

/* Assigns the objects of all nodes to cells, in one pass of counting or filling. */
template <int PASS>
static __global__ void
__launch_bounds__(THREADS, RB_SCATTER_BLOCKS)
	scatter_kernel(const __grid_constant__ rb_grid_args args, const rb_turns turns)
{
	__shared__ rb_scatter_node at_node;
	const rb_count first = (rb_count) blockIdx.x * turns.step;
	uint32_t node = 0;

	for (rb_count u = first; u < turns.units; u = next_turn_of_block(&turns, u))
	{
		const rb_node_chunk c = args.chunks[u / UNITS];

		if (u == first || c.node != node)
		{
			node = c.node;
			__syncthreads();
			if (threadIdx.x == 0)
			{
				const rb_node *from = &args.nodes[node];

				at_node.grid = from->grid;
				at_node.first = from->first;
				for (int a = 0; a < 3; a++)
				{
					at_node.meet_lo[a] = from->meet_lo[a];
					at_node.meet_hi[a] = from->meet_hi[a];
				}
			}
			__syncthreads();
		}
		scatter_unit_of_objects<PASS>(&args, &at_node, &c,
									  (uint32_t) (u % UNITS) * THREADS + threadIdx.x);
	}
}

/*
 * Fills the cells from the list: n incidences, or all of them if n is 0. A cell that lacks one
 * color has no space.
 */
static __global__ void
__launch_bounds__(THREADS) fill_kernel(const __grid_constant__ rb_grid_args args, rb_count n)
{
	if (n == 0)
	{
		n = *args.places.n;
		if (n > args.places.capacity)
			return; /* The list is incomplete. */
	}
	for (rb_count i = blockIdx.x * (rb_count) THREADS + threadIdx.x; i < n;
		 i += (rb_count) gridDim.x * THREADS)
	{
		const uint32_t cell = args.places.cell[i];
		const uint2 e = args.places.entry[i];
		const uint32_t side = e.y >> 31;
		const rb_count start = args.start[cell];

		if (args.start[cell + 1] != start)
			args.entry[side][(uint32_t) (start >> (32 * side)) + (e.y & ~(1u << 31))] = e.x;
	}
}

rb_status
rb_count_launch(rb_device_run *run, const rb_grid_args *args, uint32_t nchunks)
{
	const rb_turns turns = divide_units_to_turns(run, args, nchunks, RB_SCATTER_BLOCKS);

	if (args->places.capacity > 0)
		scatter_kernel<COUNT_AND_LIST>
			<<<turns.blocks, THREADS, 0, run->queue->compute>>>(*args, turns);
	else
		scatter_kernel<COUNT><<<turns.blocks, THREADS, 0, run->queue->compute>>>(*args, turns);
	RB_LAUNCHED(run, "scatter_kernel");
	return RB_OK;
}

rb_status
rb_fill_load(rb_device_run *run)
{
	return rb_kernel_load(run, (const void *) fill_kernel);
}

rb_status
rb_fill_early(rb_device_run *run, const rb_grid_args *args)
{
	fill_kernel<<<grid_blocks_for(args->places.capacity, 8 * run->device->sms), THREADS, 0,
				  run->queue->compute>>>(*args, 0);
	RB_LAUNCHED(run, "fill_kernel");
	return RB_OK;
}

rb_status
rb_fill_launch(rb_device_run *run, const rb_grid_args *args, uint32_t nchunks, rb_count placed)
{
	const rb_turns turns = divide_units_to_turns(run, args, nchunks, RB_SCATTER_BLOCKS);

	if (placed > 0)
		fill_kernel<<<grid_blocks_for(placed, UINT32_MAX), THREADS, 0, run->queue->compute>>>(
			*args, placed);
	else
		scatter_kernel<FILL><<<turns.blocks, THREADS, 0, run->queue->compute>>>(*args, turns);
	RB_LAUNCHED(run, "fill_kernel");
	return RB_OK;
}
