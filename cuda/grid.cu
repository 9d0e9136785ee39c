/*
 * grid.cu
 *	  Uniform grids as ragged arrays, for one region or for thousands at once.
 *
 * Menezes, Magalhaes, Aguilar, Franklin, Chichorro: Fast Parallel Evaluation of
 * Exact Geometric Predicates on GPUs, 2022, for count, prefix sum, fill.  Lo, Lee,
 * Chung, Chung: Optimizing Pairwise Box Intersection Checking on GPUs for
 * Large-Scale Simulations, 2013, for the plan: cells so large that the box tests
 * that they cause and the incidences that they avoid are in balance.
 *
 * What is different.
 *
 * - A grid covers only where the bounds of both sides meet, and a cell with objects
 *	 of one colour stores nothing.
 *
 * - The plan needs no loop over a sample.  An object of extents x, y, z (in widths
 *	 of the region) falls into (x nx + 1)(y ny + 1)(z nz + 1) cells of a grid nx, ny,
 *	 nz on average; multiplied out, the mean over many objects is a polynomial in
 *	 nx, ny, nz whose coefficients are seven means, taken once.
 *
 * - Levels.  A level is a list of nodes, each a set of red and blue objects with a
 *	 grid of its own; the cells of all its grids are numbered through.  The top has
 *	 one node, everything.  Cells in which red times blue is large become the nodes
 *	 of the next level, all in the same few launches, be it one or ten thousand.
 *	 So clusters that are tiny beside their distance, or surfaces that leave most
 *	 cells empty, cost a pass more and not a square.  A grid that did not spread
 *	 what its cell held has no children: there everything covers everything, and
 *	 the pairs are there.
 *
 * - Work items.  What is left is cut into red times blue of at most RB_TILE_F a
 *	 side, so that blocks of threads have work of one size, whatever the data.
 *
 * Objects that reach into many cells (one giant over a million small ones) are
 * put there by a whole warp.
 */
#include "rb_cuda.cuh"
#include "rb_pair.h"

#define THREADS 256
#define SAMPLE 65536 /* objects of a side of a node that the plan looks at, about */

/*
 * Costs in box tests: of putting an object into a cell, and of looking at a cell
 * (measured).  Where boxes are the answer a test costs the least.
 */
#ifndef RB_COST_INCIDENCE
#define RB_COST_INCIDENCE 60.0
#endif
#ifndef RB_COST_INCIDENCE_BOX
#define RB_COST_INCIDENCE_BOX 250.0
#endif
#ifndef RB_COST_CELL
#define RB_COST_CELL 2000.0
#endif

#define CROWDED ((rb_count) 1 << 20) /* red times blue that may deserve a grid */
#define CROWD ((rb_count) 1 << 28)   /* in all of them; less is done without */
#define COARSER 8                    /* times the cost of an incidence when there were too many */

/* ---- looking at the objects of a chunk ---- */

typedef struct rb_grid_args
{
	rb_side side[2];
	rb_node *nodes;
	const rb_chunk *chunks;
	const uint32_t *above[2];
	rb_count *count;
	const rb_count *start;
	uint32_t *entry[2];
	uint32_t nnodes;
	bool self;
} rb_grid_args;

/* object t of a chunk: its index, and where it starts in the cell above */
static __device__ __forceinline__ uint32_t
chunk_entry(const rb_grid_args *args, const rb_chunk *c, uint32_t t)
{
	const uint32_t *above = args->above[c->side_number & 1];

	return above != NULL ? above[c->begin + t] : (c->begin + t) | RB_STARTS_ALL << RB_INDEX_BITS;
}

static __device__ __forceinline__ void
entry_box(const rb_side *side, uint32_t entry, double lo[3], double hi[3])
{
	rb_kind_box(side->kind, side->coords, entry & RB_INDEX_MASK, lo, hi);
}

/* ---- chunks of the top ---- */

static __global__ void
top_chunks_kernel(rb_chunk *chunks, uint32_t nred, uint32_t nblue)
{
	const uint32_t red_chunks = (nred + RB_CHUNK - 1) / RB_CHUNK;
	const uint32_t all = red_chunks + (nblue + RB_CHUNK - 1) / RB_CHUNK;
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;

	if (i < all)
	{
		uint32_t side = i >= red_chunks;
		uint32_t number = side ? i - red_chunks : i;
		uint32_t n = side ? nblue : nred;
		rb_chunk c;

		c.node = 0;
		c.begin = number * RB_CHUNK;
		c.n = n - c.begin < RB_CHUNK ? n - c.begin : RB_CHUNK;
		c.side_number = side | number << 1;
		chunks[i] = c;
	}
}

/* ---- bounds ---- */

static __global__ void
__launch_bounds__(THREADS) bounds_kernel(const rb_grid_args args)
{
	__shared__ double least[THREADS / 32][6];
	const rb_chunk c = args.chunks[blockIdx.x];
	const uint32_t side = c.side_number & 1;
	double v[6];

	for (int k = 0; k < 6; k++)
		v[k] = INFINITY;
	for (uint32_t t = threadIdx.x; t < c.n; t += THREADS)
	{
		double lo[3], hi[3];

		entry_box(&args.side[side], chunk_entry(&args, &c, t), lo, hi);
		for (int a = 0; a < 3; a++)
		{
			v[a] = lo[a] < v[a] ? lo[a] : v[a];
			v[3 + a] = -hi[a] < v[3 + a] ? -hi[a] : v[3 + a];
		}
	}
	for (int k = 0; k < 6; k++)
		for (int d = 16; d > 0; d /= 2)
		{
			double other = __shfl_down_sync(~0u, v[k], d);

			v[k] = other < v[k] ? other : v[k];
		}
	if ((threadIdx.x & 31) == 0)
		for (int k = 0; k < 6; k++)
			least[threadIdx.x / 32][k] = v[k];
	__syncthreads();
	if (threadIdx.x < 6)
	{
		double x = least[0][threadIdx.x];

		for (int w = 1; w < THREADS / 32; w++)
			x = least[w][threadIdx.x] < x ? least[w][threadIdx.x] : x;
		atomicMin(&args.nodes[c.node].key[side][threadIdx.x], rb_key_of(x));
	}
}

/* the region of each node's grid, from its bounds */
static __global__ void
__launch_bounds__(THREADS) region_kernel(rb_node *nodes, uint32_t nnodes, bool self)
{
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
	rb_node *node = &nodes[i];
	uint32_t shrunk = 0;

	if (i >= nnodes)
		return;
	for (int a = 0; a < 3; a++)
	{
		const rb_count *red = node->key[0], *blue = node->key[self ? 0 : 1];
		double lo = rb_max(rb_key_value(red[a]), rb_key_value(blue[a]));
		double hi = -rb_max(rb_key_value(red[3 + a]), rb_key_value(blue[3 + a]));
		double was = 0.5 * node->cell_hi[a] - 0.5 * node->cell_lo[a];

		node->meet_lo[a] = lo;
		node->meet_hi[a] = hi;
		lo = rb_max(lo, node->cell_lo[a]);
		hi = rb_min(hi, node->cell_hi[a]);
		hi = rb_max(lo, hi); /* the cell's box is rounded; it only guides */
		node->lo[a] = lo;
		node->hi[a] = hi;
		shrunk |= 0.5 * hi - 0.5 * lo < 0.5 * was;
	}
	node->shrunk = shrunk;
}

/* ---- plan ---- */

/*
 * sum[0] objects looked at, sum[1] those that matter, then of their extents, in
 * widths of the region: x, y, z, xy, xz, yz, xyz.
 */
static __global__ void
__launch_bounds__(THREADS) moments_kernel(const rb_grid_args args)
{
	__shared__ double sums[THREADS / 32][9];
	__shared__ double lo[3], hi[3], meet_lo[3], meet_hi[3];
	const rb_chunk c = args.chunks[blockIdx.x];
	const uint32_t side = c.side_number & 1;
	rb_node *node = &args.nodes[c.node];
	double s[9];

	if ((c.side_number >> 1) % (node->count[side] / SAMPLE + 1) != 0)
		return;
	if (threadIdx.x < 3)
	{
		lo[threadIdx.x] = node->lo[threadIdx.x];
		hi[threadIdx.x] = node->hi[threadIdx.x];
		meet_lo[threadIdx.x] = node->meet_lo[threadIdx.x];
		meet_hi[threadIdx.x] = node->meet_hi[threadIdx.x];
	}
	__syncthreads();
	for (int k = 0; k < 9; k++)
		s[k] = 0;
	for (uint32_t t = threadIdx.x; t < c.n; t += THREADS)
	{
		double blo[3], bhi[3], e[3];

		entry_box(&args.side[side], chunk_entry(&args, &c, t), blo, bhi);
		s[0] += 1;
		if (!rb_boxes_overlap(blo, bhi, meet_lo, meet_hi))
			continue;
		for (int a = 0; a < 3; a++)
		{
			double width = 0.5 * hi[a] - 0.5 * lo[a];
			double x = 0.5 * rb_min(bhi[a], hi[a]) - 0.5 * rb_max(blo[a], lo[a]);

			e[a] = x > 0 && width > 0 ? rb_min(x / width, 1) : 0;
		}
		s[1] += 1;
		s[2] += e[0];
		s[3] += e[1];
		s[4] += e[2];
		s[5] += e[0] * e[1];
		s[6] += e[0] * e[2];
		s[7] += e[1] * e[2];
		s[8] += e[0] * e[1] * e[2];
	}
	for (int k = 0; k < 9; k++)
		for (int d = 16; d > 0; d /= 2)
			s[k] += __shfl_down_sync(~0u, s[k], d);
	if ((threadIdx.x & 31) == 0)
		for (int k = 0; k < 9; k++)
			sums[threadIdx.x / 32][k] = s[k];
	__syncthreads();
	if (threadIdx.x < 9)
	{
		double x = 0;

		for (int w = 0; w < THREADS / 32; w++)
			x += sums[w][threadIdx.x];
		atomicAdd(&node->sum[side][threadIdx.x], x);
	}
}

typedef struct rb_estimate
{
	double n; /* objects that matter */
	double mean[7];
} rb_estimate;

static __device__ void
estimate_of(const rb_node *node, int side, bool self, rb_estimate *e)
{
	const double *s = node->sum[self ? 0 : side];

	e->n = s[0] > 0 ? node->count[self ? 0 : side] * (s[1] / s[0]) : 0;
	for (int k = 0; k < 7; k++)
		e->mean[k] = s[1] > 0 ? s[2 + k] / s[1] : 0;
}

static __device__ double
incidences_of(const rb_estimate *e, const double n[3])
{
	const double *m = e->mean;

	return e->n * (1 + n[0] * m[0] + n[1] * m[1] + n[2] * m[2] + n[0] * n[1] * m[3] +
				   n[0] * n[2] * m[4] + n[1] * n[2] * m[5] + n[0] * n[1] * n[2] * m[6]);
}

static __device__ double
plan_cost(const rb_estimate e[2], const double n[3], double incidence_cost)
{
	double cells = n[0] * n[1] * n[2];
	double red = incidences_of(&e[0], n), blue = incidences_of(&e[1], n);

	return (red + blue) * incidence_cost + red * blue / cells + cells * RB_COST_CELL;
}

/*
 * Axes are refined one at a time, always the one where that costs least: flat
 * or long objects get flat or long cells.  resolution > 0: by decree, so many
 * cells along the longest side.
 */
static __device__ void
plan_node(const rb_node *node, bool self, uint32_t resolution, double incidence_cost,
		  double max_cells, uint32_t cells[3])
{
	double n[3] = {1, 1, 1};
	double width[3];
	rb_estimate e[2];
	double cost, longest = 0;

	for (int a = 0; a < 3; a++)
	{
		width[a] = 0.5 * node->hi[a] - 0.5 * node->lo[a];
		longest = rb_max(longest, width[a]);
	}
	if (resolution > 0)
	{
		for (double r = resolution;; r = floor(r * 0.9))
		{
			for (int a = 0; a < 3; a++)
				n[a] = longest > 0 ? rb_max(ceil(r * (width[a] / longest)), 1) : 1;
			if (r <= 1 || n[0] * n[1] * n[2] <= max_cells)
				break;
		}
		for (int a = 0; a < 3; a++)
			cells[a] = (uint32_t) n[a];
		return;
	}

	estimate_of(node, 0, self, &e[0]);
	estimate_of(node, 1, self, &e[1]);
	cost = plan_cost(e, n, incidence_cost);
	for (;;)
	{
		int best = -1;
		double best_slope = 0, best_cost = 0, best_n = 0;

		for (int a = 0; a < 3; a++)
		{
			double old = n[a], c, slope;

			if (!(width[a] > 0))
				continue;
			n[a] = floor(old * 1.12) + 1;
			if (n[0] * n[1] * n[2] <= max_cells)
			{
				c = plan_cost(e, n, incidence_cost);
				slope = (c - cost) / (n[a] / old - 1); /* steps differ in size */
				if (best < 0 || slope < best_slope)
				{
					best = a;
					best_slope = slope;
					best_cost = c;
					best_n = n[a];
				}
			}
			n[a] = old;
		}
		if (best < 0 || best_cost >= cost)
			break;
		n[best] = best_n;
		cost = best_cost;
	}
	for (int a = 0; a < 3; a++)
		cells[a] = (uint32_t) n[a];
}

/* a grid for each node; cells[i]: how many cells it has */
static __global__ void
__launch_bounds__(THREADS)
	plan_kernel(rb_node *nodes, uint32_t nnodes, bool self, uint32_t resolution,
				double incidence_cost, double max_cells, rb_count *cells, rb_totals *totals)
{
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
	rb_node *node = &nodes[i];
	uint32_t n[3];

	if (i >= nnodes)
		return;
	for (int a = 0; a < 3; a++)
		if (!(node->meet_lo[a] <= node->meet_hi[a]))
		{
			cells[i] = 0; /* nothing meets */
			return;
		}
	plan_node(node, self, resolution, incidence_cost,
			  rb_min(max_cells, 64 + 0.5 * ((double) node->count[0] + node->count[1])), n);
	rb_grid_init(&node->grid, node->lo, node->hi, n);
	cells[i] = (rb_count) node->grid.n[0] * node->grid.n[1] * node->grid.n[2];
	atomicAdd(&totals->cells, cells[i]);
}

static __global__ void
__launch_bounds__(THREADS) first_kernel(rb_node *nodes, uint32_t nnodes, const rb_count *first)
{
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;

	if (i < nnodes)
		nodes[i].first = first[i];
}

/* ---- count and fill ---- */

/*
 * The two halves of a cell's 64 bits count red and blue.  Filling takes the
 * counts back to zero: each incidence goes to start + (what the count was) - 1.  A
 * cell whose other colour is missing was set to zero before it was summed up, so it
 * has no room.
 */
template <bool FILL>
static __device__ __forceinline__ void
put(const rb_grid_args *args, uint32_t side, rb_count cell, uint32_t index, uint32_t starts)
{
	uint32_t *count = (uint32_t *) (args->count + cell) + side;

	if (!FILL)
		atomicAdd(count, 1u);
	else
	{
		const rb_count start = args->start[cell];

		if (args->start[cell + 1] != start)
		{
			uint32_t at = (uint32_t) (start >> (32 * side)) + atomicSub(count, 1u) - 1;

			args->entry[side][at] = index | starts << RB_INDEX_BITS;
		}
	}
}

template <bool FILL>
static __global__ void
__launch_bounds__(THREADS) scatter_kernel(const rb_grid_args args)
{
	__shared__ rb_grid grid;
	__shared__ double meet_lo[3], meet_hi[3];
	__shared__ rb_count first;
	const rb_chunk c = args.chunks[blockIdx.x];
	const uint32_t side = c.side_number & 1;
	const uint32_t lane = threadIdx.x & 31;

	if (threadIdx.x == 0)
	{
		const rb_node *node = &args.nodes[c.node];

		grid = node->grid;
		first = node->first;
		for (int a = 0; a < 3; a++)
		{
			meet_lo[a] = node->meet_lo[a];
			meet_hi[a] = node->meet_hi[a];
		}
	}
	__syncthreads();
	for (uint32_t base = 0; base < c.n; base += THREADS)
	{
		const uint32_t t = base + threadIdx.x;
		uint32_t c0[3] = {0, 0, 0}, c1[3] = {0, 0, 0};
		uint32_t entry = 0;
		rb_count n = 0;
		unsigned big;

		if (t < c.n)
		{
			double lo[3], hi[3];

			entry = chunk_entry(&args, &c, t);
			entry_box(&args.side[side], entry, lo, hi);
			if (rb_boxes_overlap(lo, hi, meet_lo, meet_hi))
			{
				n = 1;
				for (int a = 0; a < 3; a++)
				{
					c0[a] = rb_grid_cell(&grid, a, lo[a]);
					c1[a] = rb_grid_cell(&grid, a, hi[a]);
					n *= c1[a] - c0[a] + 1;
				}
			}
		}
		if (n > 0 && n <= 64)
			for (uint32_t z = c0[2]; z <= c1[2]; z++)
				for (uint32_t y = c0[1]; y <= c1[1]; y++)
					for (uint32_t x = c0[0]; x <= c1[0]; x++)
						put<FILL>(&args, side, first + rb_grid_number(&grid, x, y, z),
								  entry & RB_INDEX_MASK,
								  entry >> RB_INDEX_BITS &
									  ((x == c0[0]) | (y == c0[1]) << 1 | (z == c0[2]) << 2));

		/* the large ones by all lanes, one after the other */
		for (big = __ballot_sync(~0u, n > 64); big != 0; big &= big - 1)
		{
			int from = __ffs(big) - 1;
			uint32_t e = __shfl_sync(~0u, entry, from);
			uint32_t b0[3], w[3];
			rb_count all = __shfl_sync(~0u, n, from);

			for (int a = 0; a < 3; a++)
			{
				b0[a] = __shfl_sync(~0u, c0[a], from);
				w[a] = __shfl_sync(~0u, c1[a], from) - b0[a] + 1;
			}
			for (rb_count i = lane; i < all; i += 32)
			{
				rb_count row = i / w[0];
				uint32_t x = (uint32_t) (i - row * w[0]), y = (uint32_t) (row % w[1]),
						 z = (uint32_t) (row / w[1]);

				put<FILL>(&args, side,
						  first + rb_grid_number(&grid, b0[0] + x, b0[1] + y, b0[2] + z),
						  e & RB_INDEX_MASK,
						  e >> RB_INDEX_BITS & ((x == 0) | (y == 0) << 1 | (z == 0) << 2));
			}
		}
	}
}

/* ---- cells and work items ---- */

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
		uint32_t r = 0, b = 0, number = 0, mine = 0;
		rb_count start = 0, at;

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
			number = args.nnodes > 1 ? node_of_cell(args.nodes, args.nnodes, cell) : 0;
			if (refine && is_crowded(&args.nodes[number], (rb_count) r * b))
				make_node(&args.nodes[number], cell - args.nodes[number].first, start, r, b,
						  args.self, next_nodes, next_chunks, totals);
			else
				mine = (uint32_t) items_of(r, b, args.self);
		}
		at = rb_block_reserve(mine, &totals->made_items);
		if (mine > 0)
		{
			const uint32_t red0 = (uint32_t) start,
						   blue0 = args.self ? red0 : (uint32_t) (start >> 32);
			const rb_node *node = &args.nodes[number];
			rb_item item;

			item_frame(node, cell - node->first, &item.frame);
			item.unused = 0;
			for (uint32_t i = 0; i < r; i += RB_TILE_F)
				for (uint32_t j = args.self ? i : 0; j < b; j += RB_TILE_F)
				{
					item.red = red0 + i;
					item.blue = blue0 + j;
					item.n = (r - i < RB_TILE_F ? r - i : RB_TILE_F) |
							 (b - j < RB_TILE_F ? b - j : RB_TILE_F) << 16;
					items[at++] = item;
				}
		}
	}
}

/* ---- the host's part ---- */

static uint32_t
blocks_for(rb_count n, uint32_t most)
{
	rb_count blocks = (n + THREADS - 1) / THREADS;

	return (uint32_t) (blocks < 1 ? 1 : blocks < most ? blocks : most);
}

rb_status
rb_level_top(rb_run *run, const rb_side side[2], bool self, rb_level *level)
{
	uint32_t nblue = self ? 0 : side[1].n;
	rb_node node;

	memset(level, 0, sizeof(*level));
	memset(&node, 0, sizeof(node));
	memset(node.key, 0xff, sizeof(node.key));
	for (int a = 0; a < 3; a++)
	{
		node.cell_lo[a] = -INFINITY;
		node.cell_hi[a] = INFINITY;
	}
	node.count[0] = side[0].n;
	node.count[1] = nblue;
	node.tests = (rb_count) side[0].n * (self ? side[0].n : nblue);
	level->nnodes = 1;
	level->nchunks = (side[0].n + RB_CHUNK - 1) / RB_CHUNK + (nblue + RB_CHUNK - 1) / RB_CHUNK;
	RB_TRY(rb_device_alloc(run, (void **) &level->nodes, sizeof(rb_node)));
	RB_TRY(rb_device_alloc(run, (void **) &level->chunks, level->nchunks * sizeof(rb_chunk)));
	run->lane->report->node = node;
	RB_CUDA(run, cudaMemcpyAsync(level->nodes, &run->lane->report->node, sizeof(rb_node),
								 cudaMemcpyHostToDevice, run->lane->compute));
	top_chunks_kernel<<<blocks_for(level->nchunks, UINT32_MAX), THREADS, 0, run->lane->compute>>>(
		level->chunks, side[0].n, nblue);
	RB_LAUNCHED(run, "top_chunks_kernel");
	return RB_OK;
}

void
rb_level_free(rb_run *run, rb_level *level)
{
	rb_device_free(run, (void **) &level->nodes);
	rb_device_free(run, (void **) &level->chunks);
	rb_device_free(run, (void **) &level->count);
	rb_device_free(run, (void **) &level->start);
	rb_device_free(run, (void **) &level->entry[0]);
	rb_device_free(run, (void **) &level->entry[1]);
	rb_device_free(run, (void **) &level->items);
}

/* the totals so far, in the report */
static rb_status
totals_read(rb_run *run, const rb_totals *totals)
{
	RB_CUDA(run, cudaMemcpyAsync(&run->lane->report->totals, totals, sizeof(rb_totals),
								 cudaMemcpyDeviceToHost, run->lane->compute));
	return rb_sync(run);
}

/* out[0 .. n] from in[0 .. n - 1]; in has room for one more */
static rb_status
sums(rb_run *run, rb_count *in, rb_count *out, rb_count n)
{
	void *scratch;
	size_t bytes = 0;

	RB_CUDA(run, rb_scan_bytes(n + 1, &bytes));
	RB_TRY(rb_device_alloc(run, &scratch, bytes));
	RB_CUDA(run, cudaMemsetAsync(in + n, 0, sizeof(rb_count), run->lane->compute));
	RB_CUDA(run, rb_scan(scratch, bytes, in, out, n + 1, run->lane->compute));
	rb_device_free(run, &scratch);
	return RB_OK;
}

/* plan and count, coarser and coarser until the incidences fit into memory */
static rb_status
level_count(rb_run *run, rb_level *level, rb_grid_args *args, rb_totals *totals, rb_count *ncells)
{
	cudaStream_t stream = run->lane->compute;
	const rb_totals *seen = &run->lane->report->totals;
	const uint32_t node_blocks = blocks_for(level->nnodes, UINT32_MAX);
	double cost = rb_boxes_decide(args->side[0].kind, args->side[1].kind) ? RB_COST_INCIDENCE_BOX
																		  : RB_COST_INCIDENCE;
	uint32_t resolution = run->top ? run->ctx->grid_resolution : 0;
	rb_count *node_cells, *node_first;

	RB_TRY(rb_device_alloc(run, (void **) &node_cells, (level->nnodes + 1) * sizeof(rb_count)));
	RB_TRY(rb_device_alloc(run, (void **) &node_first, (level->nnodes + 1) * sizeof(rb_count)));
	for (;; cost *= COARSER, resolution = 0)
	{
		/* a third of what is left for the cells, another for the incidences */
		uint64_t share = (run->budget - run->used) / 3;
		double max_cells = (double) (share / (2 * sizeof(rb_count)) / level->nnodes);

		if (max_cells > (1 << 26))
			max_cells = 1 << 26;
		RB_CUDA(run, cudaMemsetAsync(totals, 0, sizeof(rb_totals), stream));
		plan_kernel<<<node_blocks, THREADS, 0, stream>>>(level->nodes, level->nnodes, args->self,
														 resolution, cost, max_cells, node_cells,
														 totals);
		RB_LAUNCHED(run, "plan_kernel");
		RB_TRY(sums(run, node_cells, node_first, level->nnodes));
		first_kernel<<<node_blocks, THREADS, 0, stream>>>(level->nodes, level->nnodes, node_first);
		RB_LAUNCHED(run, "first_kernel");
		RB_CUDA(run, cudaMemcpyAsync(&run->lane->report->node, level->nodes, sizeof(rb_node),
									 cudaMemcpyDeviceToHost, stream));
		RB_TRY(totals_read(run, totals));
		*ncells = seen->cells;
		RB_TRY(rb_mark(run, RB_PART_PLAN));
		if (*ncells == 0)
			break;

		RB_TRY(rb_device_alloc(run, (void **) &level->count, (*ncells + 1) * sizeof(rb_count)));
		args->count = level->count;
		RB_CUDA(run, cudaMemsetAsync(level->count, 0, *ncells * sizeof(rb_count), stream));
		scatter_kernel<false><<<level->nchunks, THREADS, 0, stream>>>(*args);
		RB_LAUNCHED(run, "scatter_kernel");
		cells_kernel<<<blocks_for(*ncells, 16 * run->card->sms), THREADS, 0, stream>>>(
			*args, *ncells, totals);
		RB_LAUNCHED(run, "cells_kernel");
		RB_TRY(totals_read(run, totals));
		if (seen->incidences[0] < UINT32_MAX && seen->incidences[1] < UINT32_MAX &&
			(seen->incidences[0] + seen->incidences[1]) * sizeof(uint32_t) <= share)
			break;
		if (cost > 1e15)
			return RB_DEVICE_FULL;
		rb_device_free(run, (void **) &level->count);
	}
	rb_device_free(run, (void **) &node_cells);
	rb_device_free(run, (void **) &node_first);
	return RB_OK;
}

rb_status
rb_level_fill(rb_run *run, const rb_side side[2], bool self, rb_level *level, rb_level *next)
{
	cudaStream_t stream = run->lane->compute;
	rb_stats *stats = &run->ctx->stats;
	rb_totals *totals;
	rb_totals seen;
	rb_count ncells = 0;
	rb_grid_args args;
	uint32_t cell_blocks;
	bool refine;

	memset(next, 0, sizeof(*next));
	memset(&args, 0, sizeof(args));
	args.side[0] = side[0];
	args.side[1] = side[self ? 0 : 1];
	args.nodes = level->nodes;
	args.nnodes = level->nnodes;
	args.chunks = level->chunks;
	args.above[0] = level->above[0];
	args.above[1] = level->above[1];
	args.self = self;

	RB_TRY(rb_device_alloc(run, (void **) &totals, sizeof(rb_totals)));
	bounds_kernel<<<level->nchunks, THREADS, 0, stream>>>(args);
	RB_LAUNCHED(run, "bounds_kernel");
	region_kernel<<<blocks_for(level->nnodes, UINT32_MAX), THREADS, 0, stream>>>(
		level->nodes, level->nnodes, self);
	RB_LAUNCHED(run, "region_kernel");
	moments_kernel<<<level->nchunks, THREADS, 0, stream>>>(args);
	RB_LAUNCHED(run, "moments_kernel");
	RB_TRY(level_count(run, level, &args, totals, &ncells));
	seen = run->lane->report->totals;
	if (run->top)
		memcpy(stats->resolution, run->lane->report->node.grid.n, sizeof(stats->resolution));
	run->top = false;
	if (ncells == 0 || seen.incidences[0] == 0)
	{
		rb_device_free(run, (void **) &totals);
		return rb_mark(run, RB_PART_MAP);
	}
	stats->cells += ncells;
	stats->stage[RB_STAGE_GRID].count += seen.incidences[0] + seen.incidences[1];

	/* a few crowded cells are joined faster than they are cut */
	refine = seen.crowded_tests > CROWD;
	level->nitems = seen.items + (refine ? 0 : seen.crowded_items);
	level->item_tests = seen.item_tests + (refine ? 0 : seen.crowded_tests);
	RB_TRY(rb_device_alloc(run, (void **) &level->start, (ncells + 1) * sizeof(rb_count)));
	RB_TRY(sums(run, level->count, level->start, ncells));
	args.start = level->start;
	for (int s = 0; s < (self ? 1 : 2); s++)
	{
		RB_TRY(rb_device_alloc(run, (void **) &level->entry[s],
							   seen.incidences[s] * sizeof(uint32_t)));
		args.entry[s] = level->entry[s];
	}
	RB_TRY(rb_device_alloc(run, (void **) &level->items, level->nitems * sizeof(rb_item)));
	if (refine)
	{
		next->nnodes = (uint32_t) seen.crowded;
		next->nchunks = (uint32_t) seen.crowded_chunks;
		RB_TRY(rb_device_alloc(run, (void **) &next->nodes, seen.crowded * sizeof(rb_node)));
		RB_TRY(
			rb_device_alloc(run, (void **) &next->chunks, seen.crowded_chunks * sizeof(rb_chunk)));
	}
	scatter_kernel<true><<<level->nchunks, THREADS, 0, stream>>>(args);
	RB_LAUNCHED(run, "scatter_kernel");
	RB_TRY(rb_mark(run, RB_PART_MAP));
	cell_blocks = blocks_for(ncells, 16 * run->card->sms);
	items_kernel<<<cell_blocks, THREADS, 0, stream>>>(args, ncells, refine, level->items,
													  next->nodes, next->chunks, totals);
	RB_LAUNCHED(run, "items_kernel");
	rb_device_free(run, (void **) &totals);
	rb_device_free(run, (void **) &level->count);
	rb_device_free(run, (void **) &level->start);
	rb_device_free(run, (void **) &level->chunks);
	next->above[0] = level->entry[0];
	next->above[1] = level->entry[1];
	return rb_mark(run, RB_PART_SCHEDULE);
}
