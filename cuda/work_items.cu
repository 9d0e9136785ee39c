/*
 * work_items.cu
 *	  Turns cells into work items, and crowded cells into the nodes of the next level.
 *
 * The contents of a cell are split into blocks of red times blue objects, at most RB_TILE_F a side,
 * so that thread blocks get work of bounded size, whatever the data.
 *
 * A cell in which red count times blue count is large becomes a node, unless the grid failed to
 * spread the objects of the cell that it refines. In that case all objects overlap each other, so
 * the pairs exist and refinement cannot avoid them.
 */
#include "level.cuh"

/*
 * Maximum number of items of a cell that a single thread writes, and maximum number that a block
 * writes
 */
#define FEW 64
#define MANY (1 << 14)

/* ---- contents of the cells ---- */

/* Returns the index of the node that a cell belongs to. */
static __device__ __forceinline__ uint32_t
index_of_node_of_cell(const rb_node *nodes, uint32_t nnodes, rb_count cell)
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

/* Returns true if a cell should get a grid of its own and refinement is likely to help. */
static __device__ __forceinline__ bool
is_level_cell_crowded(const rb_node *node, rb_count tests)
{
	return tests > RB_CROWDED &&
		   (rb_count) node->grid.n[0] * node->grid.n[1] * node->grid.n[2] > 1 &&
		   (node->shrunk || tests <= node->tests / 2);
}

/*
 * Returns the number of work items of a cell, pairs of tiles; each unordered pair once in a self
 * join.
 */
static __device__ __forceinline__ rb_count
count_items_of_cell(uint32_t r, uint32_t b, bool self)
{
	rb_count nr = (r + RB_TILE_F - 1) / RB_TILE_F, nb = (b + RB_TILE_F - 1) / RB_TILE_F;

	return self ? nr * (nr + 1) / 2 : nr * nb;
}

/*
 * Counts the work items and new nodes that the cells of a level become, and empties cells that do
 * not hold both colors.
 */
static __global__ void
__launch_bounds__(THREADS) cells_kernel(const rb_grid_args args, rb_count ncells, rb_totals *totals)
{
	rb_count sum[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};

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
		node =
			&args.nodes[args.nnodes > 1 ? index_of_node_of_cell(args.nodes, args.nnodes, cell) : 0];
		sum[0] += r;
		sum[8] += count_items_of_cell(r, b, args.self) > MANY;
		sum[1] += args.self ? 0 : b;
		if (is_level_cell_crowded(node, tests))
		{
			sum[4] += count_items_of_cell(r, b, args.self);
			sum[5] += tests;
			sum[6] += 1;
			sum[7] +=
				(r + RB_CHUNK - 1) / RB_CHUNK + (args.self ? 0 : (b + RB_CHUNK - 1) / RB_CHUNK);
		}
		else
		{
			sum[2] += count_items_of_cell(r, b, args.self);
			sum[3] += tests;
		}
	}
	for (int k = 0; k < 9; k++)
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
					  : k == 7 ? &totals->crowded_chunks
							   : &totals->many,
					  sum[k]);
	}
}

/* ---- items and nodes ---- */

/* Computes the box of a cell, up to rounding. */
static __device__ void
box_of_level_cell(const rb_node *node, rb_count cell, double lo[3], double hi[3])
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

/* Computes the frame for float coordinates that a work item gets with its cell of the node. */
static __device__ void
frame_of_work_item(const rb_node *node, rb_count cell, rb_frame *frame)
{
	const uint32_t *n = node->grid.n;
	const uint32_t at[3] = {(uint32_t) (cell % n[0]), (uint32_t) (cell / n[0] % n[1]),
							(uint32_t) (cell / n[0] / n[1])};

	rb_frame_of_cell(frame, node->lo, node->hi, n, at);
}

/* Makes a crowded cell a node of the next level, with the chunks of its objects. */
static __device__ void
build_node_of_crowded_cell(const rb_node *parent, rb_count cell, rb_count start, uint32_t r,
						   uint32_t b, bool self, rb_node *nodes, rb_node_chunk *chunks,
						   rb_totals *totals)
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
	box_of_level_cell(parent, cell, node->cell_lo, node->cell_hi);
	node->tests = (rb_count) r * b;
	for (int s = 0; s < (self ? 1 : 2); s++)
	{
		uint32_t n = (count[s] + RB_CHUNK - 1) / RB_CHUNK;
		rb_count at = atomicAdd(&totals->made_chunks, n);

		for (uint32_t i = 0; i < n; i++)
		{
			rb_node_chunk c;

			c.node = number;
			c.begin = node->begin[s] + i * RB_CHUNK;
			c.n = count[s] - i * RB_CHUNK < RB_CHUNK ? count[s] - i * RB_CHUNK : RB_CHUNK;
			c.side_number = s | i << 1;
			chunks[at + i] = c;
		}
	}
}

/* Maximum number of tests of a cell whose items are placed at the back */
#define LITTLE (RB_ITEM_PAIRS / 8)

/* Writes one row of a cell's items with `threads` threads, of which this one is number `thread`. */
static __device__ __forceinline__ void
write_row_of_items(rb_item *items, const rb_cell_items *m, bool self, uint32_t row, uint32_t thread,
				   uint32_t threads)
{
	const uint32_t nb = (m->b + RB_TILE_F - 1) / RB_TILE_F;
	const uint32_t from = self ? row : 0, red = row * RB_TILE_F;
	/* In a self join, each row has one item fewer than the row before. */
	const rb_count at = m->at + (rb_count) row * nb - (self ? (rb_count) row * (row + 1) / 2 : 0);
	rb_item item = m->item;

	item.red += red;
	for (uint32_t j = from + thread; j < nb; j += threads)
	{
		const uint32_t blue = j * RB_TILE_F;

		item.blue = m->item.blue + blue;
		item.n = (m->r - red < RB_TILE_F ? m->r - red : RB_TILE_F) |
				 (m->b - blue < RB_TILE_F ? m->b - blue : RB_TILE_F) << 16;
		items[at + j] = item;
	}
}

/* Returns the number of red tiles of a cell, each of which makes one row of work items. */
static __device__ __forceinline__ uint32_t
count_item_rows_of_cell(const rb_cell_items *m)
{
	return (m->r + RB_TILE_F - 1) / RB_TILE_F;
}

/*
 * Creates the work items of the cells, roughly in their order. Items of cells with little work are
 * placed last, because a large item that starts when most blocks have run out of work delays the
 * end. Crowded cells become nodes if `refine` is set.
 */
static __global__ void
__launch_bounds__(THREADS)
	items_kernel(const rb_grid_args args, rb_count ncells, bool refine, rb_item *items,
				 rb_count nitems, rb_cell_items *many, rb_node *next_nodes,
				 rb_node_chunk *next_chunks, rb_totals *totals)
{
	__shared__ rb_cell_items one;

	for (rb_count base = blockIdx.x * (rb_count) THREADS; base < ncells;
		 base += (rb_count) gridDim.x * THREADS)
	{
		const rb_count cell = base + threadIdx.x;
		uint32_t mine = 0;
		bool little;
		rb_count behind;
		rb_cell_items m;

		m.r = m.b = 0;
		if (cell < ncells)
		{
			const rb_count start = args.start[cell], both = args.start[cell + 1] - start;

			m.r = (uint32_t) both;
			m.b = args.self ? m.r : (uint32_t) (both >> 32);
			m.item.red = (uint32_t) start;
			m.item.blue = args.self ? m.item.red : (uint32_t) (start >> 32);
			m.item.unused = 0;
		}
		if (m.r > 0)
		{
			const rb_node *node =
				&args.nodes[args.nnodes > 1 ? index_of_node_of_cell(args.nodes, args.nnodes, cell)
											: 0];

			if (refine && is_level_cell_crowded(node, (rb_count) m.r * m.b))
				build_node_of_crowded_cell(node, cell - node->first, args.start[cell], m.r, m.b,
										   args.self, next_nodes, next_chunks, totals);
			else
			{
				mine = (uint32_t) count_items_of_cell(m.r, m.b, args.self);
				frame_of_work_item(node, cell - node->first, &m.item.frame);
			}
		}
		little = (rb_count) m.r * m.b < LITTLE;
		m.at = rb_block_reserve(little ? 0 : mine, &totals->made_items);
		behind = rb_block_reserve(little ? mine : 0, &totals->made_little);
		if (little)
			m.at = nitems - mine - behind;
		if (mine > 0 && mine <= FEW)
			for (uint32_t row = 0; row < count_item_rows_of_cell(&m); row++)
				write_row_of_items(items, &m, args.self, row, 0, 1);
		else if (mine > MANY)
			many[atomicAdd(&totals->made_many, 1)] = m;
		/* Let all threads of the block write a medium number of items, one cell after another. */
		if (__syncthreads_or(mine > FEW && mine <= MANY))
			for (uint32_t t = 0; t < THREADS; t++)
			{
				const bool it = threadIdx.x == t && mine > FEW && mine <= MANY;

				if (it)
					one = m;
				if (!__syncthreads_or(it))
					continue;
				for (uint32_t row = 0; row < count_item_rows_of_cell(&one); row++)
					write_row_of_items(items, &one, args.self, row, threadIdx.x, THREADS);
				__syncthreads();
			}
	}
}

/* Creates the items of the cells with more than MANY items; all blocks share their rows. */
static __global__ void
__launch_bounds__(THREADS)
	many_kernel(bool self, rb_item *items, const rb_cell_items *many, const rb_totals *totals)
{
	__shared__ rb_cell_items one;

	for (uint32_t k = 0; k < totals->made_many; k++)
	{
		__syncthreads();
		if (threadIdx.x == 0)
			one = many[k];
		__syncthreads();
		for (uint32_t row = blockIdx.x; row < count_item_rows_of_cell(&one); row += gridDim.x)
			write_row_of_items(items, &one, self, row, threadIdx.x, THREADS);
	}
}

/* ---- launches ---- */

/* Returns enough blocks to keep the device busy; each loops over the cells with a stride. */
static uint32_t
blocks_for_cells(const rb_device_run *run, rb_count ncells)
{
	return grid_blocks_for(ncells, 16 * run->device->sms);
}

rb_status
rb_items_load(rb_device_run *run)
{
	RB_TRY(rb_kernel_load(run, (const void *) cells_kernel));
	RB_TRY(rb_kernel_load(run, (const void *) items_kernel));
	return rb_kernel_load(run, (const void *) many_kernel);
}

rb_status
rb_cell_totals_launch(rb_device_run *run, const rb_grid_args *args, rb_count ncells,
					  rb_totals *totals)
{
	const uint32_t blocks = ncells > 0 ? blocks_for_cells(run, ncells) : 2 * run->device->sms;

	cells_kernel<<<blocks, THREADS, 0, run->queue->compute>>>(*args, ncells, totals);
	RB_LAUNCHED(run, "cells_kernel");
	return RB_OK;
}

rb_status
rb_items_launch(rb_device_run *run, const rb_grid_args *args, rb_count ncells, bool refine,
				rb_item *items, rb_count nitems, rb_cell_items *many, rb_node *next_nodes,
				rb_node_chunk *next_chunks, rb_totals *totals)
{
	items_kernel<<<blocks_for_cells(run, ncells), THREADS, 0, run->queue->compute>>>(
		*args, ncells, refine, items, nitems, many, next_nodes, next_chunks, totals);
	RB_LAUNCHED(run, "items_kernel");
	if (many == NULL)
		return RB_OK;
	many_kernel<<<8 * run->device->sms, THREADS, 0, run->queue->compute>>>(args->self, items, many,
																		   totals);
	RB_LAUNCHED(run, "many_kernel");
	return RB_OK;
}
