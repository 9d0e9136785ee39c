/*
 * level.cuh
 *	  Declares what the files that build a level share: uniform grids as ragged arrays, for one
 *	  region or for thousands at once.
 *
 * Counting, prefix sums and filling follow Menezes, Magalhaes, Aguilar, Franklin, Chichorro: Fast
 * Parallel Evaluation of Exact Geometric Predicates on GPUs, 2022.
 *
 *	level.cu	finds where both sides of a node meet, the region of its grid; chooses the number of
 *				cells; runs all steps on the host and manages their memory
 *	scatter.cu	assigns objects to cells: counts, then fills
 *	work_items.cu	turns cells into work items, and crowded cells into nodes
 *
 * A level is a list of nodes, each a set of red and blue objects with a grid of its own. The cells
 * of all grids are numbered consecutively (level.cu explains why). Thread blocks process chunks,
 * which are some objects of one side of one node. The launch has as many blocks as can be resident
 * at once, and they share the chunks evenly, so that no block waits for a slot while most others
 * have ended.
 */
#ifndef RB_LEVEL_CUH
#define RB_LEVEL_CUH

#include "cuda.cuh"
#include "core/primitive/dispatch.h"

#define THREADS 256

/* Returns the number of thread blocks for n elements, at least 1 and at most `most`. */
static inline uint32_t
grid_blocks_for(rb_count n, uint32_t most)
{
	rb_count blocks = (n + THREADS - 1) / THREADS;

	return (uint32_t) (blocks < 1 ? 1 : blocks < most ? blocks : most);
}

/* Units of a chunk; a block processes one unit at a time, one object per thread */
#define UNITS (RB_CHUNK / THREADS)

/*
 * How blocks divide the units of a level: each block takes `step` units, then skips those of the
 * others
 */
typedef struct rb_turns
{
	uint32_t blocks;
	uint32_t step;
	rb_count units;
} rb_turns;

/* Incidences of both sides found by counting, so that filling need not read boxes again */
typedef struct rb_incidences
{
	uint32_t *cell;
	/*
	 * x: entry as stored in the cell; y: position of the entry in the cell, with its side in the
	 * top bit
	 */
	uint2 *entry;
	rb_count *n;       /* Number of incidences found, on the device; may exceed `capacity` */
	uint32_t capacity; /* 0 if there is no list */
} rb_incidences;

typedef struct rb_grid_args
{
	rb_device_set side[2];
	rb_node *nodes;
	const rb_node_chunk *chunks;
	const uint32_t *above[2];
	rb_count *count;
	const rb_count *start;
	uint32_t *entry[2];
	rb_incidences places;
	const uint32_t *stop;
	uint32_t nnodes;
	bool self;
	/*
	 * This device's partition of space, used at the top; dims is 0 if the partition is all of space
	 */
	rb_box share;
} rb_grid_args;

/*
 * Divides the units of a level among blocks, at most `most` per multiprocessor. If there is only
 * one node, and it has few units, each block takes single units, so that all blocks have about the
 * same amount of work.
 */
static inline rb_turns
divide_units_to_turns(const rb_device_run *run, const rb_grid_args *args, uint32_t nchunks,
					  uint32_t most)
{
	const rb_count units = (rb_count) nchunks * UNITS, all = (rb_count) most * run->device->sms;
	const bool few = args->nnodes == 1 && units < 8 * UNITS * all;

	return (rb_turns){(uint32_t) (units < all ? units : all), few ? 1u : UNITS, units};
}

/* Returns the unit that follows u for this block. The first unit is blockIdx.x * step. */
static __device__ __forceinline__ rb_count
next_turn_of_block(const rb_turns *turns, rb_count u)
{
	u++;
	return u % turns->step != 0 ? u : u + (rb_count) (gridDim.x - 1) * turns->step;
}

/*
 * Returns the entry of object t of a chunk: its index and the axes on which it starts in the cell
 * above.
 */
static __device__ __forceinline__ uint32_t
entry_of_chunk_object(const rb_grid_args *args, const rb_node_chunk *c, uint32_t t)
{
	const uint32_t *above = args->above[c->side_number & 1];

	return above != NULL ? above[c->begin + t] : (c->begin + t) | RB_STARTS_ALL << RB_INDEX_BITS;
}

/* Computes the box of the part of a list entry. */
static __device__ __forceinline__ void
box_of_entry(const rb_device_set *side, uint32_t entry, double lo[3], double hi[3])
{
	rb_part_box(side, entry & RB_INDEX_MASK, lo, hi);
}

/* Combines the bounds that the threads of a block found, minima of lo and of -hi, with the keys. */
static __device__ __forceinline__ void
rb_combine_bounds(rb_count key[6], double v[6])
{
	__shared__ double least[THREADS / 32][6];

#pragma unroll
	for (int k = 0; k < 6; k++)
		for (int d = 16; d > 0; d /= 2)
		{
			double other = __shfl_down_sync(~0u, v[k], d);

			v[k] = other < v[k] ? other : v[k];
		}
	__syncthreads();
	if ((threadIdx.x & 31) == 0)
#pragma unroll
		for (int k = 0; k < 6; k++)
			least[threadIdx.x / 32][k] = v[k];
	__syncthreads();
	if (threadIdx.x < 6)
	{
		double x = least[0][threadIdx.x];

		for (int w = 1; w < THREADS / 32; w++)
			x = least[w][threadIdx.x] < x ? least[w][threadIdx.x] : x;
		atomicMin(&key[threadIdx.x], rb_key_of(x));
	}
}

/* ---- scatter.cu ---- */

/* Counts the objects of each cell, and lists the incidences in args->places if it has space. */
extern rb_status rb_count_launch(rb_device_run *run, const rb_grid_args *args, uint32_t nchunks);

/*
 * Fills the cells from the first `placed` incidences of the list, or from the objects if `placed`
 * is 0.
 */
extern rb_status rb_fill_launch(rb_device_run *run, const rb_grid_args *args, uint32_t nchunks,
								rb_count placed);

/*
 * Fills the cells from the list before the host knows the number of incidences. Does nothing if the
 * list does not hold all of them.
 */
extern rb_status rb_fill_early(rb_device_run *run, const rb_grid_args *args);

/* Loads the kernel that is queued behind a long one (rb_kernel_load). */
extern rb_status rb_fill_load(rb_device_run *run);

/* ---- work_items.cu ---- */

/* Loads the kernels that are queued behind a long one (rb_kernel_load). */
extern rb_status rb_items_load(rb_device_run *run);

/* A cell, as needed to create its work items */
typedef struct rb_cell_items
{
	rb_item item; /* The cell's first item, without the numbers of objects */
	uint32_t r;
	uint32_t b;
	rb_count at;
} rb_cell_items;

/*
 * Adds up the contents of the cells in totals, and empties cells that do not hold both colors. If
 * ncells is 0, totals->cells gives the number of cells.
 */
extern rb_status rb_cell_totals_launch(rb_device_run *run, const rb_grid_args *args,
									   rb_count ncells, rb_totals *totals);

/*
 * Creates the work items of the cells; crowded cells become nodes and chunks if refine is set.
 * `many` has space for totals->many cells, and is NULL if there are none.
 */
extern rb_status rb_items_launch(rb_device_run *run, const rb_grid_args *args, rb_count ncells,
								 bool refine, rb_item *items, rb_count nitems, rb_cell_items *many,
								 rb_node *next_nodes, rb_node_chunk *next_chunks,
								 rb_totals *totals);

#endif /* RB_LEVEL_CUH */
