/*
 * items.cu
 *	  Cells into work items, and crowded cells into the nodes of the next level.
 *
 * What a cell holds is cut into red times blue of at most RB_TILE_F a side, so that
 * blocks of threads have work of one size, whatever the data.
 *
 * A cell in which red times blue is large becomes a node, unless the grid did not
 * spread what its own cell held: there everything covers everything, and the pairs
 * are there.
 */
#include "level.cuh"

#define CROWDED ((rb_count) 1 << 20) /* red times blue that may deserve a grid */

/* ---- what the cells hold ---- */

/* the node that a cell belongs to */
static __device__ __forceinline__ uint32_t
node_of_cell(const rb_node *nodes, uint32_t nnodes, rb_count cell)
{
	uint32_t lo = 0, hi = nnodes;

	while (hi - lo > 1)
	{
		uint32_t mid = (lo + hi) / 2;

		if (nodes[mid].first <= cell)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* a cell that should get a grid of its own, if that can be hoped to help */
static __device__ __forceinline__ bool
is_crowded(const rb_node *node, rb_count tests)
{
	return tests > CROWDED && (rb_count) node->grid.n[0] * node->grid.n[1] * node->grid.n[2] > 1 &&
		   (node->shrunk || tests <= node->tests / 2);
}

static __device__ __forceinline__ rb_count
items_of(uint32_t r, uint32_t b, bool self)
{
	rb_count nr = (r + RB_TILE_F - 1) / RB_TILE_F, nb = (b + RB_TILE_F - 1) / RB_TILE_F;

	return self ? nr * (nr + 1) / 2 : nr * nb;
}

/* what the cells hold; empties those without both colours */
static __global__ void
__launch_bounds__(THREADS) cells_kernel(const rb_grid_args args, rb_count ncells, rb_totals *totals)
{
	rb_count sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};

	if (ncells == 0)
		ncells = totals->cells;
	for (rb_count cell = blockIdx.x * (rb_count) THREADS + threadIdx.x; cell < ncells;
		 cell += (rb_count) gridDim.x * THREADS)
	{
		rb_count both = args.count[cell];
		uint32_t r = (uint32_t) both, b = args.self ? r : (uint32_t) (both >> 32);
		rb_count tests = (rb_count) r * b;
		const rb_node *node;

		if (r == 0 || b == 0 || (args.self && r < 2))
		{
			if (both != 0)
				args.count[cell] = 0;
			continue;
		}
		node = &args.nodes[args.nnodes > 1 ? node_of_cell(args.nodes, args.nnodes, cell) : 0];
		sum[0] += r;
		sum[1] += args.self ? 0 : b;
		if (is_crowded(node, tests))
		{
			sum[4] += items_of(r, b, args.self);
			sum[5] += tests;
			sum[6] += 1;
			sum[7] +=
				(r + RB_CHUNK - 1) / RB_CHUNK + (args.self ? 0 : (b + RB_CHUNK - 1) / RB_CHUNK);
		}
		else
		{
			sum[2] += items_of(r, b, args.self);
			sum[3] += tests;
		}
	}
	for (int k = 0; k < 8; k++)
	{
		sum[k] = rb_warp_sum(sum[k]);
		if ((threadIdx.x & 31) == 0 && sum[k] != 0)
			atomicAdd(k == 0   ? &totals->incidences[0]
					  : k == 1 ? &totals->incidences[1]
					  : k == 2 ? &totals->items
					  : k == 3 ? &totals->item_tests
					  : k == 4 ? &totals->crowded_items
					  : k == 5 ? &totals->crowded_tests
					  : k == 6 ? &totals->crowded
							   : &totals->crowded_chunks,
					  sum[k]);
	}
}

/* ---- items and nodes ---- */

/* the box of a cell, as far as rounding goes */
static __device__ void
cell_box(const rb_node *node, rb_count cell, double lo[3], double hi[3])
{
	uint32_t at[3];

	at[0] = (uint32_t) (cell % node->grid.n[0]);
	at[1] = (uint32_t) (cell / node->grid.n[0] % node->grid.n[1]);
	at[2] = (uint32_t) (cell / node->grid.n[0] / node->grid.n[1]);
	for (int a = 0; a < 3; a++)
	{
		double f = (double) at[a] / node->grid.n[a], t = (double) (at[a] + 1) / node->grid.n[a];

		lo[a] = at[a] == 0 ? node->lo[a] : node->lo[a] * (1 - f) + node->hi[a] * f;
		hi[a] =
			at[a] == node->grid.n[a] - 1 ? node->hi[a] : node->lo[a] * (1 - t) + node->hi[a] * t;
	}
}

/* where floats are taken from in a cell of the node */
static __device__ void
item_frame(const rb_node *node, rb_count cell, rb_frame *frame)
{
	const uint32_t *n = node->grid.n;
	const uint32_t at[3] = {(uint32_t) (cell % n[0]), (uint32_t) (cell / n[0] % n[1]),
							(uint32_t) (cell / n[0] / n[1])};

	rb_frame_of_cell(frame, node->lo, node->hi, n, at);
}

static __device__ void
make_node(const rb_node *parent, rb_count cell, rb_count start, uint32_t r, uint32_t b, bool self,
		  rb_node *nodes, rb_chunk *chunks, rb_totals *totals)
{
	const uint32_t number = (uint32_t) atomicAdd(&totals->made_nodes, 1);
	const uint32_t count[2] = {r, b};
	rb_node *node = &nodes[number];

	for (int s = 0; s < 2; s++)
	{
		for (int k = 0; k < 6; k++)
			node->key[s][k] = ~(rb_count) 0;
		for (int k = 0; k < 9; k++)
			node->sum[s][k] = 0;
		node->begin[s] = (uint32_t) (start >> (32 * s));
		node->count[s] = count[s];
	}
	cell_box(parent, cell, node->cell_lo, node->cell_hi);
	node->tests = (rb_count) r * b;
	for (int s = 0; s < (self ? 1 : 2); s++)
	{
		uint32_t n = (count[s] + RB_CHUNK - 1) / RB_CHUNK;
		rb_count at = atomicAdd(&totals->made_chunks, n);

		for (uint32_t i = 0; i < n; i++)
		{
			rb_chunk c;

			c.node = number;
			c.begin = node->begin[s] + i * RB_CHUNK;
			c.n = count[s] - i * RB_CHUNK < RB_CHUNK ? count[s] - i * RB_CHUNK : RB_CHUNK;
			c.side_number = s | i << 1;
			chunks[at + i] = c;
		}
	}
}

#define MANY 64 /* items of a cell that its thread does not write alone */

/* work items of one cell, in order, by so many lanes of which this is one */
static __device__ __forceinline__ void
write_items(rb_item *items, rb_count at, rb_item item, uint32_t r, uint32_t b, bool self,
			uint32_t lane, uint32_t lanes)
{
	const uint32_t red0 = item.red, blue0 = item.blue;
	const uint32_t nb = (b + RB_TILE_F - 1) / RB_TILE_F;

	for (uint32_t i = 0; i * RB_TILE_F < r; i++)
	{
		const uint32_t from = self ? i : 0, red = i * RB_TILE_F;

		for (uint32_t j = from + lane; j < nb; j += lanes)
		{
			const uint32_t blue = j * RB_TILE_F;

			item.red = red0 + red;
			item.blue = blue0 + blue;
			item.n = (r - red < RB_TILE_F ? r - red : RB_TILE_F) |
					 (b - blue < RB_TILE_F ? b - blue : RB_TILE_F) << 16;
			items[at + (j - from)] = item;
		}
		at += nb - from;
	}
}

/* work items of the cells, in about their order; crowded ones become nodes when refine is set */
static __global__ void
__launch_bounds__(THREADS)
	items_kernel(const rb_grid_args args, rb_count ncells, bool refine, rb_item *items,
				 rb_node *next_nodes, rb_chunk *next_chunks, rb_totals *totals)
{
	for (rb_count base = blockIdx.x * (rb_count) THREADS; base < ncells;
		 base += (rb_count) gridDim.x * THREADS)
	{
		const rb_count cell = base + threadIdx.x;
		uint32_t r = 0, b = 0, mine = 0, many;
		rb_count start = 0, at;
		rb_item item;

		if (cell < ncells)
		{
			rb_count both;

			start = args.start[cell];
			both = args.start[cell + 1] - start;
			r = (uint32_t) both;
			b = args.self ? r : (uint32_t) (both >> 32);
		}
		if (r > 0)
		{
			const rb_node *node =
				&args.nodes[args.nnodes > 1 ? node_of_cell(args.nodes, args.nnodes, cell) : 0];

			if (refine && is_crowded(node, (rb_count) r * b))
				make_node(node, cell - node->first, start, r, b, args.self, next_nodes, next_chunks,
						  totals);
			else
			{
				mine = (uint32_t) items_of(r, b, args.self);
				item.red = (uint32_t) start;
				item.blue = args.self ? item.red : (uint32_t) (start >> 32);
				item.unused = 0;
				item_frame(node, cell - node->first, &item.frame);
			}
		}
		at = rb_block_reserve(mine, &totals->made_items);
		if (mine > 0 && mine <= MANY)
			write_items(items, at, item, r, b, args.self, 0, 1);
		/* those of a cell in which much meets much by all lanes, one cell after the other */
		for (many = __ballot_sync(~0u, mine > MANY); many != 0; many &= many - 1)
		{
			const int from = __ffs(many) - 1;
			rb_item its;

			its.red = __shfl_sync(~0u, item.red, from);
			its.blue = __shfl_sync(~0u, item.blue, from);
			its.unused = 0;
			for (int a = 0; a < 3; a++)
			{
				its.frame.origin[a] = __shfl_sync(~0u, item.frame.origin[a], from);
				its.frame.scale[a] = __shfl_sync(~0u, item.frame.scale[a], from);
			}
			write_items(items, __shfl_sync(~0u, at, from), its, __shfl_sync(~0u, r, from),
						__shfl_sync(~0u, b, from), args.self, threadIdx.x & 31, 32);
		}
	}
}

/* ---- launches ---- */

/* as many as keep the device busy: each goes on to cells further on */
static uint32_t
cell_blocks(const rb_device_run *run, rb_count ncells)
{
	return blocks_for(ncells, 16 * run->device->sms);
}

rb_status
rb_cell_totals_launch(rb_device_run *run, const rb_grid_args *args, rb_count ncells,
					  rb_totals *totals)
{
	const uint32_t blocks = ncells > 0 ? cell_blocks(run, ncells) : 2 * run->device->sms;

	cells_kernel<<<blocks, THREADS, 0, run->queue->compute>>>(*args, ncells, totals);
	RB_LAUNCHED(run, "cells_kernel");
	return RB_OK;
}

rb_status
rb_items_launch(rb_device_run *run, const rb_grid_args *args, rb_count ncells, bool refine,
				rb_item *items, rb_node *next_nodes, rb_chunk *next_chunks, rb_totals *totals)
{
	items_kernel<<<cell_blocks(run, ncells), THREADS, 0, run->queue->compute>>>(
		*args, ncells, refine, items, next_nodes, next_chunks, totals);
	RB_LAUNCHED(run, "items_kernel");
	return RB_OK;
}
