/*
 * plan.cu
 *	  How many cells a grid gets along each axis.
 *
 * Lo, Lee, Chung, Chung: Optimizing Pairwise Box Intersection Checking on GPUs for
 * Large-Scale Simulations, 2013: cells so large that the box tests that they cause
 * and the incidences that they avoid are in balance.
 *
 * What is different: the plan needs no loop over a sample.  An object of extents x,
 * y, z (in widths of the region) falls into (x nx + 1)(y ny + 1)(z nz + 1) cells of a
 * grid nx, ny, nz on average; multiplied out, the mean over many objects is a
 * polynomial in nx, ny, nz whose coefficients are seven means, taken once.
 */
#include "level.cuh"

/* objects that the plan looks at, about: of a side of a node, and of a chunk where there are many nodes */
#define SAMPLE 65536
#define CHUNK_SAMPLE THREADS

/*
 * Costs in box tests: of putting an object into a cell, and of looking at a cell
 * (measured).  Where boxes are the answer a test costs the least; where a distance is
 * asked for, what follows a test the most.
 */
#ifndef RB_COST_INCIDENCE
#define RB_COST_INCIDENCE 60.0
#endif
#ifndef RB_COST_INCIDENCE_BOX
#define RB_COST_INCIDENCE_BOX 250.0
#endif
#ifndef RB_COST_INCIDENCE_NEAR
#define RB_COST_INCIDENCE_NEAR 30.0
#endif
#ifndef RB_COST_CELL
#define RB_COST_CELL 2000.0
#endif

/* ---- what is known of the objects ---- */

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
	const uint32_t step = args.nnodes > 1 ? (c.n + CHUNK_SAMPLE - 1) / CHUNK_SAMPLE : 1;
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
	for (uint32_t t = threadIdx.x * step; t < c.n; t += THREADS * step)
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

/* ---- the plan of a node ---- */

#define LANES 4 /* that make it: one for each axis, and a power of two */

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

/* so many cells along the longest side, and no costs */
static __device__ void
plan_resolution(const double width[3], uint32_t resolution, double max_cells, double n[3])
{
	const double longest = rb_max(rb_max(width[0], width[1]), width[2]);

	for (double r = resolution;; r = floor(r * 0.9))
	{
		for (int a = 0; a < 3; a++)
			n[a] = longest > 0 ? rb_max(ceil(r * (width[a] / longest)), 1) : 1;
		if (r <= 1 || n[0] * n[1] * n[2] <= max_cells)
			break;
	}
}

static __device__ __forceinline__ double
axis_of(const double x[3], int a)
{
	return a == 0 ? x[0] : a == 1 ? x[1] : x[2];
}

/*
 * Axes are refined one at a time, always the one where that costs least: flat
 * or long objects get flat or long cells.  Of the LANES of a node each looks at its axis, or at
 * the last one, and all come to the same.
 */
static __device__ void
plan_node(const double width[3], const rb_estimate e[2], double incidence_cost, double max_cells,
		  double n[3])
{
	const uint32_t lanes = ((1u << LANES) - 1) << (threadIdx.x & 31 & ~(LANES - 1));
	const int mine = (int) (threadIdx.x % LANES < 2 ? threadIdx.x % LANES : 2);
	const bool wide = axis_of(width, mine) > 0;
	double cost = plan_cost(e, n, incidence_cost);

	for (;;)
	{
		const double old = axis_of(n, mine), more = floor(old * 1.12) + 1;
		double m[3], c, slope, best_slope = INFINITY, best_cost = 0, best_n = 0;
		int best = -1;

		for (int a = 0; a < 3; a++)
			m[a] = a == mine ? more : n[a];
		c = plan_cost(e, m, incidence_cost);
		slope = (c - cost) / (more / old - 1); /* steps differ in size */
		if (!wide || m[0] * m[1] * m[2] > max_cells)
			slope = INFINITY;
		for (int a = 0; a < 3; a++)
		{
			const double s = __shfl_sync(lanes, slope, a, LANES);
			const double its_cost = __shfl_sync(lanes, c, a, LANES);
			const double its_n = __shfl_sync(lanes, more, a, LANES);

			if (s < best_slope)
			{
				best = a;
				best_slope = s;
				best_cost = its_cost;
				best_n = its_n;
			}
		}
		if (best < 0 || !(best_cost < cost))
			break;
		for (int a = 0; a < 3; a++)
			n[a] = a == best ? best_n : n[a];
		cost = best_cost;
	}
}

/* a grid for each node; cells[i], unless it is NULL: how many cells it has */
static __global__ void
__launch_bounds__(THREADS)
	plan_kernel(rb_node *nodes, uint32_t nnodes, bool self, uint32_t resolution,
				double incidence_cost, double max_cells, rb_count *cells, rb_totals *totals)
{
	const uint32_t i = (blockIdx.x * THREADS + threadIdx.x) / LANES;
	rb_node *node = &nodes[i];
	double n[3] = {1, 1, 1}, width[3];
	rb_count all;
	uint32_t grid[3] = {1, 1, 1};
	rb_estimate e[2];

	if (i >= nnodes)
		return;
	for (int a = 0; a < 3; a++)
	{
		if (!(node->meet_lo[a] <= node->meet_hi[a]))
		{
			/* nothing meets; the one cell is for those who do not know that yet */
			rb_grid_init(&node->grid, node->lo, node->hi, grid);
			if (cells != NULL)
				cells[i] = 0;
			return;
		}
		width[a] = 0.5 * node->hi[a] - 0.5 * node->lo[a];
	}
	max_cells = rb_most_cells((double) node->count[0] + node->count[1], max_cells);
	estimate_of(node, 0, self, &e[0]);
	estimate_of(node, 1, self, &e[1]);
	if (resolution > 0)
		plan_resolution(width, resolution, max_cells, n);
	else
		plan_node(width, e, incidence_cost, max_cells, n);
	if (threadIdx.x % LANES != 0)
		return;
	for (int a = 0; a < 3; a++)
		grid[a] = (uint32_t) n[a];
	rb_grid_init(&node->grid, node->lo, node->hi, grid);
	all = (rb_count) node->grid.n[0] * node->grid.n[1] * node->grid.n[2];
	if (cells != NULL)
		cells[i] = all;
	atomicAdd(&totals->cells, all);
	atomicAdd(&totals->expected,
			  (rb_count) (incidences_of(&e[0], n) + (self ? 0 : incidences_of(&e[1], n))));
}

static __global__ void
__launch_bounds__(THREADS) first_kernel(rb_node *nodes, uint32_t nnodes, const rb_count *first)
{
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;

	if (i < nnodes)
		nodes[i].first = first[i];
}

/* ---- launches ---- */

rb_status
rb_moments_launch(rb_device_run *run, const rb_grid_args *args, uint32_t nchunks)
{
	moments_kernel<<<nchunks, THREADS, 0, run->queue->compute>>>(*args);
	RB_LAUNCHED(run, "moments_kernel");
	return RB_OK;
}

double
rb_incidence_cost(rb_predicate predicate, const rb_device_set side[2])
{
	if (rb_faces_part(predicate, side[0].kind, side[1].kind))
		return RB_COST_INCIDENCE_NEAR;
	return rb_boxes_decide(predicate, side[0].kind, side[1].kind) ? RB_COST_INCIDENCE_BOX
																  : RB_COST_INCIDENCE;
}

rb_status
rb_plan_launch(rb_device_run *run, const rb_grid_args *args, uint32_t resolution,
			   double incidence_cost, double max_cells, rb_count *cells, rb_totals *totals)
{
	plan_kernel<<<blocks_for((rb_count) args->nnodes * LANES, UINT32_MAX), THREADS, 0,
				  run->queue->compute>>>(args->nodes, args->nnodes, args->self, resolution,
										 incidence_cost, max_cells, cells, totals);
	RB_LAUNCHED(run, "plan_kernel");
	return RB_OK;
}

rb_status
rb_first_launch(rb_device_run *run, const rb_grid_args *args, const rb_count *first)
{
	first_kernel<<<blocks_for(args->nnodes, UINT32_MAX), THREADS, 0, run->queue->compute>>>(
		args->nodes, args->nnodes, first);
	RB_LAUNCHED(run, "first_kernel");
	return RB_OK;
}
