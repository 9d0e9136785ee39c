/*
 * level.cu
 *	  Builds the levels of grids: finds the region and the number of cells of each grid, and runs
 *	  all steps on the host.
 *
 * A level is a list of nodes, each a set of red and blue objects with a grid of its own. The cells
 * of all grids are numbered consecutively. The top level has one node, which holds all objects.
 * Cells in which red count times blue count is large become the nodes of the next level, whether
 * one or ten thousand, and all nodes are processed in the same few launches. So clusters that are
 * tiny compared with their distance, or surfaces that leave most cells empty, cost one more pass
 * instead of a quadratic number of tests.
 *
 * Region: a grid covers only the intersection of both sides' bounds, because objects outside it
 * cannot be in a pair. Bounds are minima of lo and of -hi, stored as bits that have the order of
 * the doubles, so that one kind of atomic operation finds both.
 *
 * Plan: the approach is that of Lo, Lee, Chung, Chung: Optimizing Pairwise Box Intersection
 * Checking on GPUs for Large-Scale Simulations, 2013: cells of a size that balances the box tests
 * they cause against the incidences they avoid. Unlike the paper, the plan needs no loop over a
 * sample. An object of extents x, y, z (relative to the widths of the region) falls into (x nx +
 * 1)(y ny + 1) (z nz + 1) cells of a grid nx, ny, nz on average. Expanded, the mean over many
 * objects is a polynomial in nx, ny, nz whose coefficients are seven means, computed once.
 */
#include "level.cuh"
#include "core/primitive/reference_point.h"

#include <cub/device/device_scan.cuh>
#include <string.h>

/* Approximate numbers of objects that the plan samples: per side of a node, and per chunk */
#define SAMPLE 65536
#define CHUNK_SAMPLE THREADS

#define COARSER 8 /* Factor applied to the cost of an incidence after a grid had too many of them */

/* Capacity of the incidence list for an input that is small enough not to wait for the plan */
#define FEW_PLACES(objects) (2 * (objects) + ((rb_count) 1 << 20))

/* ---- the top ---- */

/* Initializes the only node and its chunks, and clears the totals. */
static __global__ void
top_kernel(rb_node *to, const __grid_constant__ rb_node node, rb_node_chunk *chunks,
		   rb_totals *totals)
{
	const uint32_t nred = node.count[0], nblue = node.count[1];
	const uint32_t red_chunks = (nred + RB_CHUNK - 1) / RB_CHUNK;
	const uint32_t all = red_chunks + (nblue + RB_CHUNK - 1) / RB_CHUNK;
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;

	if (i == 0)
	{
		*to = node;
		memset(totals, 0, sizeof(*totals));
	}
	if (i < all)
	{
		uint32_t side = i >= red_chunks;
		uint32_t number = side ? i - red_chunks : i;
		uint32_t n = side ? nblue : nred;
		rb_node_chunk c;

		c.node = 0;
		c.begin = number * RB_CHUNK;
		c.n = n - c.begin < RB_CHUNK ? n - c.begin : RB_CHUNK;
		c.side_number = side | number << 1;
		chunks[i] = c;
	}
}

/* Allocates the nodes of a level, followed by its totals, and its chunks. */
static rb_status
make_nodes_of_level(rb_device_run *run, rb_level *level)
{
	RB_TRY(rb_device_alloc(run, (void **) &level->nodes,
						   level->nnodes * sizeof(rb_node) + sizeof(rb_totals)));
	level->totals = (rb_totals *) (level->nodes + level->nnodes);
	return rb_device_alloc(run, (void **) &level->chunks, level->nchunks * sizeof(rb_node_chunk));
}

/* Sets the bounds of a side of a node to the known bounds of its parts, padded. */
static void
set_known_bounds(const rb_device_set *side, rb_count key[6])
{
	double lo[3], hi[3];

	for (int a = 0; a < 3; a++)
	{
		lo[a] = side->bounds[a];
		hi[a] = -side->bounds[3 + a];
	}
	/* Padding is monotone: the padded bounds are the bounds of the padded boxes. */
	rb_kind_pad(side->kind, side->pad, lo, hi);
	for (int a = 0; a < 3; a++)
	{
		key[a] = rb_key_of(lo[a]);
		key[3 + a] = rb_key_of(-hi[a]);
	}
}

rb_status
rb_level_top(rb_device_run *run, const rb_device_set side[2], bool self, rb_level *level)
{
	uint32_t n[2] = {side[0].n, self ? 0 : side[1].n};
	rb_node node;

	memset(level, 0, sizeof(*level));
	if (n[0] == 0 || (!self && n[1] == 0))
		return RB_OK;
	memset(&node, 0, sizeof(node));
	memset(node.key, 0xff, sizeof(node.key));
	for (int a = 0; a < 3; a++)
	{
		node.cell_lo[a] = -INFINITY;
		node.cell_hi[a] = INFINITY;
	}
	for (int s = 0; s < (self ? 1 : 2); s++)
		if (side[s].bounds != NULL)
			set_known_bounds(&side[s], node.key[s]);
	node.count[0] = n[0];
	node.count[1] = n[1];
	node.tests = (rb_count) n[0] * n[self ? 0 : 1];
	level->nnodes = 1;
	level->nchunks = (n[0] + RB_CHUNK - 1) / RB_CHUNK + (n[1] + RB_CHUNK - 1) / RB_CHUNK;
	RB_TRY(make_nodes_of_level(run, level));
	top_kernel<<<grid_blocks_for(level->nchunks, UINT32_MAX), THREADS, 0, run->queue->compute>>>(
		level->nodes, node, level->chunks, level->totals);
	RB_LAUNCHED(run, "top_kernel");
	return RB_OK;
}

void
rb_level_spent(rb_device_run *run, rb_level *level)
{
	rb_device_free(run, (void **) &level->chunks);
	rb_device_free(run, (void **) &level->count);
	rb_device_free(run, (void **) &level->start);
}

void
rb_level_free(rb_device_run *run, rb_level *level)
{
	rb_level_spent(run, level);
	rb_device_free(run, (void **) &level->nodes);
	rb_device_free(run, (void **) &level->entry[0]);
	rb_device_free(run, (void **) &level->entry[1]);
	rb_device_free(run, (void **) &level->items);
}

/* ---- the region of a grid ---- */

/* Box outside of which no pair is reported, if the job asks for the pairs of one tile */
typedef struct rb_clip
{
	double lo[3];
	double hi[3];
} rb_clip;

/* Computes the bounds of the objects of each node, for each side. */
static __global__ void
__launch_bounds__(THREADS, RB_BOUNDS_BLOCKS)
	bounds_kernel(const __grid_constant__ rb_grid_args args, const rb_turns turns)
{
	const rb_count first = (rb_count) blockIdx.x * turns.step;
	uint32_t node = 0, side = 0;
	double v[6];

	for (rb_count u = first; u < turns.units; u = next_turn_of_block(&turns, u))
	{
		const rb_node_chunk c = args.chunks[u / UNITS];
		const uint32_t t = (uint32_t) (u % UNITS) * THREADS + threadIdx.x;

		if (u == first || c.node != node || (c.side_number & 1) != side)
		{
			if (u > first)
				rb_combine_bounds(args.nodes[node].key[side], v);
			node = c.node;
			side = c.side_number & 1;
#pragma unroll
			for (int k = 0; k < 6; k++)
				v[k] = INFINITY;
		}
		if (t < c.n)
		{
			double lo[3], hi[3];

			box_of_entry(&args.side[side], entry_of_chunk_object(&args, &c, t), lo, hi);
#pragma unroll
			for (int a = 0; a < 3; a++)
			{
				v[a] = lo[a] < v[a] ? lo[a] : v[a];
				v[3 + a] = -hi[a] < v[3 + a] ? -hi[a] : v[3 + a];
			}
		}
	}
	if (first < turns.units)
		rb_combine_bounds(args.nodes[node].key[side], v);
}

/* Computes the region of each node's grid from its bounds. */
static __global__ void
__launch_bounds__(THREADS)
	region_kernel(rb_node *nodes, uint32_t nnodes, bool self, const rb_clip clip)
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
		const double was = 0.5 * node->cell_hi[a] - 0.5 * node->cell_lo[a];

		lo = rb_max(lo, clip.lo[a]);
		hi = rb_min(hi, clip.hi[a]);
		node->meet_lo[a] = lo;
		node->meet_hi[a] = hi;
		lo = rb_max(lo, node->cell_lo[a]);
		hi = rb_min(hi, node->cell_hi[a]);
		hi = rb_max(lo, hi); /* The cell's box is rounded; it only guides the grid. */
		node->lo[a] = lo;
		node->hi[a] = hi;
		shrunk |= 0.5 * hi - 0.5 * lo < 0.5 * was;
	}
	node->shrunk = shrunk;
}

/* Computes the bounds and the grid region of each node. */
static rb_status
launch_bounds_of_nodes(rb_device_run *run, const rb_grid_args *args, uint32_t nchunks)
{
	cudaStream_t stream = run->queue->compute;
	const rb_turns turns = divide_units_to_turns(run, args, nchunks, RB_BOUNDS_BLOCKS);
	rb_clip clip;

	for (int a = 0; a < 3; a++)
	{
		clip.lo[a] = -HUGE_VAL;
		clip.hi[a] = HUGE_VAL;
	}
	rb_tile_clip(run->job, clip.lo, clip.hi);
	/* The host has set known bounds of the top's node. */
	if (args->above[0] != NULL || args->side[0].bounds == NULL || args->side[1].bounds == NULL)
	{
		bounds_kernel<<<turns.blocks, THREADS, 0, stream>>>(*args, turns);
		RB_LAUNCHED(run, "bounds_kernel");
	}
	region_kernel<<<grid_blocks_for(args->nnodes, UINT32_MAX), THREADS, 0, stream>>>(
		args->nodes, args->nnodes, args->self, clip);
	RB_LAUNCHED(run, "region_kernel");
	return RB_OK;
}

/* ---- statistics of the objects ---- */

/*
 * Computes sum[0], the objects sampled; sum[1], the objects overlapping the region; and then the
 * sums of their extents, relative to the widths of the region: x, y, z, xy, xz, yz, xyz.
 */
static __global__ void
__launch_bounds__(THREADS) moments_kernel(const rb_grid_args args)
{
	__shared__ double sums[THREADS / 32][9];
	__shared__ double lo[3], hi[3], meet_lo[3], meet_hi[3];
	const rb_node_chunk c = args.chunks[blockIdx.x];
	const uint32_t side = c.side_number & 1;
	const uint32_t step = (c.n + CHUNK_SAMPLE - 1) / CHUNK_SAMPLE;
	rb_node *node = &args.nodes[c.node];
	double s[9];

	if ((c.side_number >> 1) % (node->count[side] / (SAMPLE / CHUNK_SAMPLE * RB_CHUNK) + 1) != 0)
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
	/*
	 * Shift the sample by an offset that varies. With a fixed stride, every sample could hit the
	 * same face of each tetrahedron.
	 */
	for (uint32_t t = threadIdx.x * step + threadIdx.x % step; t < c.n; t += THREADS * step)
	{
		double blo[3], bhi[3], e[3];

		box_of_entry(&args.side[side], entry_of_chunk_object(&args, &c, t), blo, bhi);
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

/*
 * Statistics of one side of a node. They are floats, because planning a node is a sequential chain
 * of steps on one thread, and a relative error of 1e-7 in a cost does not matter.
 */
typedef struct rb_estimate
{
	float n; /* Estimated number of objects that overlap the region */
	float mean[7];
} rb_estimate;

/* ---- the plan of a node ---- */

/* Estimates number and mean extents of a side's objects in a node from its sample. */
static __device__ void
estimate_of_node_side(const rb_node *node, int side, bool self, rb_estimate *e)
{
	const double *s = node->sum[self ? 0 : side];

	e->n = (float) (s[0] > 0 ? node->count[self ? 0 : side] * (s[1] / s[0]) : 0);
	for (int k = 0; k < 7; k++)
		e->mean[k] = (float) (s[1] > 0 ? s[2 + k] / s[1] : 0);
}

/* Estimates how many cells of a grid of x by y by z cells the objects of one side enter, in all. */
static __device__ __forceinline__ float
incidences_of_node_side(const rb_estimate *e, float x, float y, float z)
{
	const float *m = e->mean;

	return e->n *
		   (1 + x * (m[0] + y * (m[3] + z * m[6])) + y * (m[1] + z * m[5]) + z * (m[2] + x * m[4]));
}

/* Returns the estimated cost of a grid of x by y by z cells, in box tests. */
static __device__ __forceinline__ float
cost_of_node_plan(const rb_estimate e[2], float x, float y, float z, float incidence_cost)
{
	const float cells = x * y * z;
	const float red = incidences_of_node_side(&e[0], x, y, z),
				blue = incidences_of_node_side(&e[1], x, y, z);

	return (red + blue) * incidence_cost + __fdividef(red * blue, cells) +
		   cells * (float) RB_COST_CELL;
}

/*
 * Chooses the number of cells of a node's grid along each axis from a given number along the
 * longest one, without estimating costs.
 */
static __device__ void
plan_grid_by_resolution(const double width[3], uint32_t resolution, double max_cells, float n[3])
{
	const double longest = rb_max(rb_max(width[0], width[1]), width[2]);

	for (double r = resolution;; r = floor(r * 0.9))
	{
		double all = 1;

		for (int a = 0; a < 3; a++)
		{
			const double cells = longest > 0 ? rb_max(ceil(r * (width[a] / longest)), 1) : 1;

			n[a] = __double2float_rd(cells);
			all *= cells;
		}
		if (r <= 1 || all <= max_cells)
			break;
	}
}

/*
 * Refines one axis at a time, always the one along which the cost drops fastest, so that flat or
 * long objects get flat or long cells.
 */
static __device__ void
plan_grid_of_node(const double width[3], const rb_estimate e[2], float incidence_cost,
				  double max_cells, float n[3])
{
	/*
	 * Leave a margin for rounding in the product of three floats, because memory cannot hold more
	 * cells.
	 */
	const float most = (float) max_cells * 0.999999f;
	float cost = cost_of_node_plan(e, n[0], n[1], n[2], incidence_cost);

	for (;;)
	{
		float best_slope = INFINITY, best_cost = INFINITY, best_n = 0;
		int best = -1;

#pragma unroll
		for (int a = 0; a < 3; a++)
		{
			const float more = floorf(n[a] * 1.12f) + 1;
			const float x = a == 0 ? more : n[0], y = a == 1 ? more : n[1];
			const float z = a == 2 ? more : n[2];
			const float c = cost_of_node_plan(e, x, y, z, incidence_cost);
			const float slope =
				__fdividef((c - cost) * n[a],
						   more - n[a]); /* Divide by the step, because steps differ in size. */

			if (slope < best_slope && width[a] > 0 && x * y * z <= most)
			{
				best = a;
				best_slope = slope;
				best_cost = c;
				best_n = more;
			}
		}
		if (!(best_cost < cost))
			break;
#pragma unroll
		for (int a = 0; a < 3; a++)
			n[a] = a == best ? best_n : n[a];
		cost = best_cost;
	}
}

/*
 * Returns the maximum number of cells of a grid for `objects` objects, if memory allows max_cells.
 */
RB_HOST_DEVICE double
most_cells_of_level(double objects, double max_cells)
{
	return rb_min(max_cells, 64 + 0.5 * objects);
}

/* Plans a grid for each node. Stores its number of cells in cells[i], unless cells is NULL. */
static __global__ void
__launch_bounds__(THREADS)
	plan_kernel(rb_node *nodes, uint32_t nnodes, bool self, uint32_t resolution,
				double incidence_cost, double max_cells, rb_count *cells, rb_totals *totals)
{
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
	rb_node *node = &nodes[i];
	double width[3];
	float n[3] = {1, 1, 1};
	rb_count all;
	uint32_t grid[3] = {1, 1, 1};
	rb_estimate e[2];

	if (i >= nnodes)
		return;
	for (int a = 0; a < 3; a++)
	{
		if (!(node->meet_lo[a] <= node->meet_hi[a]))
		{
			/*
			 * The sides do not meet. Keep one cell for kernels that are launched before the host
			 * knows this.
			 */
			rb_grid_init(&node->grid, node->lo, node->hi, grid);
			if (cells != NULL)
				cells[i] = 0;
			return;
		}
		width[a] = 0.5 * node->hi[a] - 0.5 * node->lo[a];
	}
	max_cells = most_cells_of_level((double) node->count[0] + node->count[1], max_cells);
	estimate_of_node_side(node, 0, self, &e[0]);
	estimate_of_node_side(node, 1, self, &e[1]);
	if (resolution > 0)
		plan_grid_by_resolution(width, resolution, max_cells, n);
	else
		plan_grid_of_node(width, e, (float) incidence_cost, max_cells, n);
	for (int a = 0; a < 3; a++)
		grid[a] = (uint32_t) n[a];
	rb_grid_init(&node->grid, node->lo, node->hi, grid);
	all = (rb_count) node->grid.n[0] * node->grid.n[1] * node->grid.n[2];
	if (cells != NULL)
		cells[i] = all;
	atomicAdd(&totals->cells, all);
	atomicAdd(&totals->expected,
			  (rb_count) (incidences_of_node_side(&e[0], n[0], n[1], n[2]) +
						  (self ? 0 : incidences_of_node_side(&e[1], n[0], n[1], n[2]))));
}

/* Stores the index of each node's first cell. */
static __global__ void
__launch_bounds__(THREADS) first_kernel(rb_node *nodes, uint32_t nnodes, const rb_count *first)
{
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;

	if (i < nnodes)
		nodes[i].first = first[i];
}

/* Computes the object statistics that the plan needs. */
static rb_status
launch_moments_of_nodes(rb_device_run *run, const rb_grid_args *args, uint32_t nchunks)
{
	moments_kernel<<<nchunks, THREADS, 0, run->queue->compute>>>(*args);
	RB_LAUNCHED(run, "moments_kernel");
	return RB_OK;
}

/* Returns the cost of assigning an object of these sides to a cell, in box tests. */
static double
cost_of_grid_incidence(rb_predicate predicate, const rb_device_set side[2])
{
	if (rb_faces_part(predicate, side[0].kind, side[1].kind))
		return RB_COST_INCIDENCE_NEAR;
	return rb_boxes_decide(predicate, side[0].kind, side[1].kind) ? RB_COST_INCIDENCE_BOX
																  : RB_COST_INCIDENCE;
}

/*
 * Plans a grid for each node. Stores its number of cells in cells[i], unless cells is NULL, and
 * adds all of them to totals->cells.
 */
static rb_status
launch_plan_of_nodes(rb_device_run *run, const rb_grid_args *args, uint32_t resolution,
					 double incidence_cost, double max_cells, rb_count *cells, rb_totals *totals)
{
	plan_kernel<<<grid_blocks_for(args->nnodes, UINT32_MAX), THREADS, 0, run->queue->compute>>>(
		args->nodes, args->nnodes, args->self, resolution, incidence_cost, max_cells, cells,
		totals);
	RB_LAUNCHED(run, "plan_kernel");
	return RB_OK;
}

/* Stores the index of each node's first cell. */
static rb_status
launch_first_cells_of_nodes(rb_device_run *run, const rb_grid_args *args, const rb_count *first)
{
	first_kernel<<<grid_blocks_for(args->nnodes, UINT32_MAX), THREADS, 0, run->queue->compute>>>(
		args->nodes, args->nnodes, first);
	RB_LAUNCHED(run, "first_kernel");
	return RB_OK;
}

/* ---- plan, count, fill ---- */

/*
 * Writes the totals of a level and the resolution of its first node to the mailbox that the host
 * reads.
 */
static __global__ void
report_totals_kernel(const rb_node *first, const rb_totals *totals, rb_mailbox *mailbox)
{
	mailbox->totals = *totals;
	for (int a = 0; a < 3; a++)
		mailbox->resolution[a] = first->grid.n[a];
}

/* Copies the current totals to the mailbox. */
static rb_status
report_totals_of_level(rb_device_run *run, const rb_level *level)
{
	report_totals_kernel<<<1, 1, 0, run->queue->compute>>>(level->nodes, level->totals,
														   run->queue->mailbox);
	RB_LAUNCHED(run, "report_totals_kernel");
	return RB_OK;
}

/* Computes the prefix sums out[0 .. n] of in[0 .. n - 1]; in[n] must be 0. */
static rb_status
compute_prefix_sums(rb_device_run *run, rb_count *in, rb_count *out, rb_count n)
{
	void *scratch;
	size_t bytes = 0;

	RB_CUDA(run, cub::DeviceScan::ExclusiveSum((void *) NULL, bytes, (const rb_count *) NULL,
											   (rb_count *) NULL, (long long) (n + 1)));
	RB_TRY(rb_device_alloc(run, &scratch, bytes));
	RB_CUDA(run, cub::DeviceScan::ExclusiveSum(scratch, bytes, (const rb_count *) in, out,
											   (long long) (n + 1), run->queue->compute));
	rb_device_free(run, &scratch);
	return RB_OK;
}

/*
 * Allocates a list for `capacity` incidences. Allocates none if memory is scarce. A list that is
 * too short costs time but does no harm.
 */
static rb_status
make_incidence_list(rb_device_run *run, rb_count ncells, rb_count capacity, uint64_t share,
					rb_totals *totals, rb_incidences *places)
{
	const uint64_t bytes = capacity * (sizeof(uint32_t) + sizeof(uint2));

	memset(places, 0, sizeof(*places));
	/*
	 * Cell numbers and positions have 32 bits; the margin keeps positions beyond the end from
	 * overflowing.
	 */
	if (ncells > UINT32_MAX || capacity > UINT32_MAX - 65536 || bytes > share / 2)
		return RB_OK;
	RB_TRY(rb_device_alloc(run, (void **) &places->entry, bytes));
	places->cell = (uint32_t *) (places->entry + capacity);
	places->n = &totals->placed;
	places->capacity = (uint32_t) capacity;
	return RB_OK;
}

/* Plans the grids and counts, coarsening the grids until the incidences fit in memory. */
static rb_status
count_level(rb_device_run *run, rb_level *level, rb_grid_args *args, rb_count *ncells)
{
	cudaStream_t stream = run->queue->compute;
	const rb_totals *seen = &run->queue->mailbox->totals;
	double cost = cost_of_grid_incidence(run->job->predicate, args->side);
	uint32_t resolution = run->top ? run->ctx->settings.grid_resolution : 0;
	rb_count *node_cells, *node_first;

	RB_TRY(rb_device_alloc(run, (void **) &node_cells, (level->nnodes + 1) * sizeof(rb_count)));
	RB_TRY(rb_device_alloc(run, (void **) &node_first, (level->nnodes + 1) * sizeof(rb_count)));
	for (;; cost *= COARSER, resolution = 0)
	{
		/* Use one third of the remaining memory for the cells and another for the incidences. */
		uint64_t share = (run->budget - run->used) / 3;
		double max_cells = (double) (share / (2 * sizeof(rb_count)) / level->nnodes);

		if (max_cells > (1 << 26))
			max_cells = 1 << 26;
		RB_CUDA(run, cudaMemsetAsync(level->totals, 0, sizeof(rb_totals), stream));
		RB_CUDA(run, cudaMemsetAsync(node_cells + level->nnodes, 0, sizeof(rb_count), stream));
		RB_TRY(launch_plan_of_nodes(run, args, resolution, cost, max_cells, node_cells,
									level->totals));
		RB_TRY(compute_prefix_sums(run, node_cells, node_first, level->nnodes));
		RB_TRY(launch_first_cells_of_nodes(run, args, node_first));
		RB_TRY(report_totals_of_level(run, level));
		RB_TRY(rb_sync(run));
		*ncells = seen->cells;
		RB_TRY(rb_mark(run, RB_STEP_PLAN));
		if (*ncells == 0)
			break;

		RB_TRY(rb_device_alloc(run, (void **) &level->count, (*ncells + 1) * sizeof(rb_count)));
		args->count = level->count;
		RB_CUDA(run, cudaMemsetAsync(level->count, 0, (*ncells + 1) * sizeof(rb_count), stream));
		/* Allow an eighth more incidences than the plan expects. */
		RB_TRY(make_incidence_list(run, *ncells, seen->expected + seen->expected / 8 + 4096, share,
								   level->totals, &args->places));
		RB_TRY(rb_count_launch(run, args, level->nchunks));
		RB_TRY(rb_cell_totals_launch(run, args, *ncells, level->totals));
		RB_TRY(report_totals_of_level(run, level));
		RB_TRY(rb_sync(run));
		if (seen->incidences[0] < UINT32_MAX && seen->incidences[1] < UINT32_MAX &&
			(seen->incidences[0] + seen->incidences[1]) * sizeof(uint32_t) <= share)
			break;
		if (cost > 1e15)
			return RB_DEVICE_FULL;
		rb_device_free(run, (void **) &level->count);
		rb_device_free(run, (void **) &args->places.entry);
	}
	rb_device_free(run, (void **) &node_cells);
	rb_device_free(run, (void **) &node_first);
	return RB_OK;
}

/* Allocates the entries of the cells, nred of red and nblue of blue. */
static rb_status
make_entries_of_level(rb_device_run *run, rb_level *level, rb_grid_args *args, rb_count nred,
					  rb_count nblue)
{
	for (int s = 0; s < (args->self ? 1 : 2); s++)
	{
		RB_TRY(rb_device_alloc(run, (void **) &level->entry[s],
							   (s == 0 ? nred : nblue) * sizeof(uint32_t)));
		args->entry[s] = level->entry[s];
	}
	return RB_OK;
}

/*
 * Plans, counts and fills before the host reads any result. For few objects, memory for the worst
 * case is affordable. If the incidences exceed it, *done is false and everything is freed again.
 */
static rb_status
build_level_at_once(rb_device_run *run, rb_level *level, rb_grid_args *args, rb_count *ncells,
					bool *done)
{
	cudaStream_t stream = run->queue->compute;
	const rb_totals *seen = &run->queue->mailbox->totals;
	const rb_count objects = (rb_count) args->side[0].n + (args->self ? 0 : args->side[1].n);
	const rb_count places = FEW_PLACES(objects);
	const uint64_t share = (run->budget - run->used) / 3;
	const double max_cells = most_cells_of_level((double) objects, 1 << 26);
	const rb_count most = (rb_count) max_cells;

	*done = false;
	if (!run->top || level->nnodes != 1 || objects > RB_FEW_OBJECTS ||
		places * (sizeof(uint32_t) + sizeof(uint2)) + most * 2 * sizeof(rb_count) > share / 2)
		return RB_OK;
	RB_TRY(launch_plan_of_nodes(run, args, run->ctx->settings.grid_resolution,
								cost_of_grid_incidence(run->job->predicate, args->side), max_cells,
								NULL, level->totals));
	RB_TRY(rb_mark(run, RB_STEP_PLAN));
	RB_TRY(rb_device_alloc(run, (void **) &level->count, (most + 1) * sizeof(rb_count)));
	args->count = level->count;
	RB_CUDA(run, cudaMemsetAsync(level->count, 0, (most + 1) * sizeof(rb_count), stream));
	RB_TRY(make_incidence_list(run, most, places, share, level->totals, &args->places));
	RB_TRY(rb_count_launch(run, args, level->nchunks));
	RB_TRY(rb_cell_totals_launch(run, args, 0, level->totals));
	RB_TRY(report_totals_of_level(run, level));
	RB_CUDA(run, cudaEventRecord(run->queue->done, stream));
	/* The device keeps working while the host waits for the totals. */
	RB_TRY(rb_device_alloc(run, (void **) &level->start, (most + 1) * sizeof(rb_count)));
	RB_TRY(compute_prefix_sums(run, level->count, level->start, most));
	args->start = level->start;
	RB_TRY(make_entries_of_level(run, level, args, places, places));
	RB_TRY(rb_fill_early(run, args));
	RB_TRY(rb_wait(run, run->queue->done));
	*ncells = seen->cells;
	*done = seen->placed <= args->places.capacity;
	if (!*done)
	{
		rb_device_free(run, (void **) &level->count);
		rb_device_free(run, (void **) &level->start);
		rb_device_free(run, (void **) &level->entry[0]);
		rb_device_free(run, (void **) &level->entry[1]);
		rb_device_free(run, (void **) &args->places.entry);
		memset(&args->places, 0, sizeof(args->places));
	}
	return RB_OK;
}

/* Loads the kernels that are queued behind counting and filling, which may take a long time. */
static rb_status
load_kernels_of_level(rb_device_run *run)
{
	/* Bit of run->device->tried; joins use the other bits */
	const uint32_t levels = (uint32_t) 1 << 31;
	rb_count *two;

	if (rb_load(&run->device->tried) & levels)
		return RB_OK;
	RB_TRY(rb_fill_load(run));
	RB_TRY(rb_items_load(run));
	RB_TRY(rb_kernel_load(run, (const void *) report_totals_kernel));
	/* Load CUB's kernels, which have no name here, by computing one sum. */
	RB_TRY(rb_device_alloc(run, (void **) &two, 4 * sizeof(rb_count)));
	RB_CUDA(run, cudaMemsetAsync(two, 0, 4 * sizeof(rb_count), run->queue->compute));
	RB_TRY(compute_prefix_sums(run, two, two + 2, 1));
	rb_device_free(run, (void **) &two);
	rb_store(&run->device->tried, rb_load(&run->device->tried) | levels);
	return RB_OK;
}

rb_status
rb_level_fill(rb_device_run *run, const rb_device_set side[2], bool self, rb_level *level,
			  rb_level *next)
{
	rb_stats *stats = &run->ctx->stats;
	rb_totals seen;
	rb_cell_items *many = NULL;
	rb_count ncells = 0;
	rb_grid_args args;
	bool refine, filled;

	memset(next, 0, sizeof(*next));
	memset(&args, 0, sizeof(args));
	args.side[0] = side[0];
	args.side[1] = side[self ? 0 : 1];
	args.nodes = level->nodes;
	args.nnodes = level->nnodes;
	args.chunks = level->chunks;
	args.above[0] = level->above[0];
	args.above[1] = level->above[1];
	args.stop = run->queue->stop;
	args.self = self;
	/* Objects of deeper levels have already been tested against the partition. */
	if (level->above[0] == NULL)
		args.share = run->job->share;

	RB_TRY(load_kernels_of_level(run));
	RB_TRY(launch_bounds_of_nodes(run, &args, level->nchunks));
	RB_TRY(launch_moments_of_nodes(run, &args, level->nchunks));
	RB_TRY(build_level_at_once(run, level, &args, &ncells, &filled));
	if (!filled)
		RB_TRY(count_level(run, level, &args, &ncells));
	seen = run->queue->mailbox->totals;
	if (run->top)
		memcpy(stats->resolution, run->queue->mailbox->resolution, sizeof(stats->resolution));
	run->top = false;
	if (ncells == 0 || seen.incidences[0] == 0)
	{
		rb_device_free(run, (void **) &args.places.entry);
		return rb_mark(run, RB_STEP_MAP);
	}
	stats->cells += ncells;
	stats->stage[RB_STAGE_GRID].count += seen.incidences[0] + seen.incidences[1];

	/* A few crowded cells are joined faster than they are refined. */
	refine = seen.crowded_tests > RB_CROWD;
	level->nitems = seen.items + (refine ? 0 : seen.crowded_items);
	level->item_tests = seen.item_tests + (refine ? 0 : seen.crowded_tests);
	if (!filled)
	{
		RB_TRY(rb_device_alloc(run, (void **) &level->start, (ncells + 1) * sizeof(rb_count)));
		RB_TRY(compute_prefix_sums(run, level->count, level->start, ncells));
		args.start = level->start;
		RB_TRY(make_entries_of_level(run, level, &args, seen.incidences[0], seen.incidences[1]));
	}
	RB_TRY(rb_device_alloc(run, (void **) &level->items, level->nitems * sizeof(rb_item)));
	if (refine)
	{
		next->nnodes = (uint32_t) seen.crowded;
		next->nchunks = (uint32_t) seen.crowded_chunks;
		RB_TRY(make_nodes_of_level(run, next));
	}
	if (!filled)
		RB_TRY(rb_fill_launch(run, &args, level->nchunks,
							  seen.placed <= args.places.capacity ? seen.placed : 0));
	rb_device_free(run, (void **) &args.places.entry);
	RB_TRY(rb_mark(run, RB_STEP_MAP));
	if (seen.many > 0)
		RB_TRY(rb_device_alloc(run, (void **) &many, seen.many * sizeof(rb_cell_items)));
	RB_TRY(rb_items_launch(run, &args, ncells, refine, level->items, level->nitems, many,
						   next->nodes, next->chunks, level->totals));
	rb_device_free(run, (void **) &many);
	/*
	 * If everything was launched at once, memory is plentiful, and join_items_of_level frees these
	 * arrays after its own launch.
	 */
	if (!filled)
		rb_level_spent(run, level);
	next->above[0] = level->entry[0];
	next->above[1] = level->entry[1];
	return rb_mark(run, RB_STEP_SCHEDULE);
}
