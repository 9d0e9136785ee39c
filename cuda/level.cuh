/*
 * level.cuh
 *	  What the files that make a level share: uniform grids as ragged arrays, for one
 *	  region or for thousands at once.
 *
 * Menezes, Magalhaes, Aguilar, Franklin, Chichorro: Fast Parallel Evaluation of
 * Exact Geometric Predicates on GPUs, 2022, for count, prefix sum, fill.
 *
 *		bounds.cu	where both sides of a node meet: the region of its grid
 *		plan.cu		how many cells the grid gets
 *		scatter.cu	objects into cells: counted, then filled
 *		items.cu	cells into work items, and crowded ones into nodes
 *		level.cu	what the host does: the order of all that, and its memory
 *
 * A level is a list of nodes, each a set of red and blue objects with a grid of its
 * own; the cells of all its grids are numbered through (level.cu tells why).  Blocks
 * of threads work on chunks: some objects of one side of one node.  As many blocks as run at
 * once share the chunks, so that none has to wait for a place while most have ended.
 */
#ifndef RB_LEVEL_CUH
#define RB_LEVEL_CUH

#include "rb_cuda.cuh"
#include "core/shape/rb_pair.h"

#define THREADS 256

/* blocks of threads for n of them, at most that many */
static inline uint32_t
blocks_for(rb_count n, uint32_t most)
{
	rb_count blocks = (n + THREADS - 1) / THREADS;

	return (uint32_t) (blocks < 1 ? 1 : blocks < most ? blocks : most);
}

/* of a chunk: each thread of a block looks at one object of it */
#define UNITS (RB_CHUNK / THREADS)

/* how blocks take turns at all units of a level: each block takes `step` of them, then as many further on */
typedef struct rb_turns
{
	uint32_t blocks;
	uint32_t step;
	rb_count units;
} rb_turns;

/* incidences as they were counted, of both sides, so that filling need not look at boxes again */
typedef struct rb_places
{
	uint32_t *cell;
	uint2 *entry;      /* as the cell has it; its number in the cell, and its side in the top bit */
	rb_count *n;       /* on the device: how many there are, or would be */
	uint32_t capacity; /* 0: there is no list */
} rb_places;

typedef struct rb_grid_args
{
	rb_device_set side[2];
	rb_node *nodes;
	const rb_chunk *chunks;
	const uint32_t *above[2];
	rb_count *count;
	const rb_count *start;
	uint32_t *entry[2];
	rb_places places;
	const uint32_t *stop;
	uint32_t nnodes;
	bool self;
	rb_ends share; /* of several devices this one's, at the top; dims 0: all */
} rb_grid_args;

/*
 * A multiprocessor runs `most` blocks at once.  Where there is one node with few units, these go
 * one by one, so that all blocks have about as many.
 */
static inline rb_turns
turns_of(const rb_device_run *run, const rb_grid_args *args, uint32_t nchunks, uint32_t most)
{
	const rb_count units = (rb_count) nchunks * UNITS, all = (rb_count) most * run->device->sms;
	const bool few = args->nnodes == 1 && units < 8 * UNITS * all;

	return (rb_turns){(uint32_t) (units < all ? units : all), few ? 1u : UNITS, units};
}

/* the unit behind u for this block; the first one is blockIdx.x * step */
static __device__ __forceinline__ rb_count
turns_next(const rb_turns *turns, rb_count u)
{
	u++;
	return u % turns->step != 0 ? u : u + (rb_count) (gridDim.x - 1) * turns->step;
}

/* object t of a chunk: its index, and where it starts in the cell above */
static __device__ __forceinline__ uint32_t
chunk_entry(const rb_grid_args *args, const rb_chunk *c, uint32_t t)
{
	const uint32_t *above = args->above[c->side_number & 1];

	return above != NULL ? above[c->begin + t] : (c->begin + t) | RB_STARTS_ALL << RB_INDEX_BITS;
}

static __device__ __forceinline__ void
entry_box(const rb_device_set *side, uint32_t entry, double lo[3], double hi[3])
{
	rb_part_box(side, entry & RB_INDEX_MASK, lo, hi);
}

/* ---- bounds.cu ---- */

/* bounds and region of each node */
extern rb_status rb_bounds_launch(rb_device_run *run, const rb_grid_args *args, uint32_t nchunks);

/* ---- plan.cu ---- */

/* what the plan needs to know of the objects */
extern rb_status rb_moments_launch(rb_device_run *run, const rb_grid_args *args, uint32_t nchunks);

/* what putting an object into a cell costs for such sides, in box tests */
extern double rb_incidence_cost(rb_predicate predicate, const rb_device_set side[2]);

/* most cells of a grid for so many objects, if memory has room for max_cells */
RB_HD double
rb_most_cells(double objects, double max_cells)
{
	return rb_min(max_cells, 64 + 0.5 * objects);
}

/*
 * A grid for each node; cells[i], unless it is NULL: how many cells it has; totals->cells: all of
 * them.
 */
extern rb_status rb_plan_launch(rb_device_run *run, const rb_grid_args *args, uint32_t resolution,
								double incidence_cost, double max_cells, rb_count *cells,
								rb_totals *totals);

/* each node is told its first cell */
extern rb_status rb_first_launch(rb_device_run *run, const rb_grid_args *args,
								 const rb_count *first);

/* ---- scatter.cu ---- */

/* how many objects the cells have; which those are, to args->places if there is room */
extern rb_status rb_count_launch(rb_device_run *run, const rb_grid_args *args, uint32_t nchunks);

/* objects into cells: out of the first `placed` places, or, where that is 0, out of the sides */
extern rb_status rb_fill_launch(rb_device_run *run, const rb_grid_args *args, uint32_t nchunks,
								rb_count placed);

/* the same, if all places fit, before the host knows how many there are */
extern rb_status rb_fill_early(rb_device_run *run, const rb_grid_args *args);

/* what is launched behind a kernel that may be long (rb_kernel_load) */
extern rb_status rb_fill_load(rb_device_run *run);

/* ---- items.cu ---- */

/* what is launched behind a kernel that may be long (rb_kernel_load) */
extern rb_status rb_items_load(rb_device_run *run);

/* what a cell's items are made of */
typedef struct rb_making
{
	rb_item item; /* its first one, but for the number of objects */
	uint32_t r;
	uint32_t b;
	rb_count at;
} rb_making;

/*
 * What the cells hold, to totals; those without both colours are emptied.  ncells 0: as many
 * as the plan told totals.
 */
extern rb_status rb_cell_totals_launch(rb_device_run *run, const rb_grid_args *args,
									   rb_count ncells, rb_totals *totals);

/*
 * Work items of the cells; crowded ones become nodes and their chunks when refine is set.  many:
 * room for as many cells as totals told of, NULL where there are none.
 */
extern rb_status rb_items_launch(rb_device_run *run, const rb_grid_args *args, rb_count ncells,
								 bool refine, rb_item *items, rb_count nitems, rb_making *many,
								 rb_node *next_nodes, rb_chunk *next_chunks, rb_totals *totals);

#endif /* RB_LEVEL_CUH */
