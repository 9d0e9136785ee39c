/*
 * plan.cu
 *	  Chooses the number of cells of a grid along each axis.
 *
 * The approach is that of Lo, Lee, Chung, Chung: Optimizing Pairwise Box Intersection Checking on
 * GPUs for Large-Scale Simulations, 2013: cells of a size that balances the box tests they cause
 * against the incidences they avoid.
 *
 * Unlike the paper, the plan needs no loop over a sample. An object of extents x, y, z (relative to
 * the widths of the region) falls into (x nx + 1)(y ny + 1)(z nz + 1) cells of a grid nx, ny, nz on
 * average. Expanded, the mean over many objects is a polynomial in nx, ny, nz whose coefficients
 * are seven means, computed once.
 */
#include "level.cuh"

/* Approximate numbers of objects that the plan samples: per side of a node, and per chunk */
#define SAMPLE 65536
#define CHUNK_SAMPLE THREADS

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

static __device__ void
estimate_of(const rb_node *node, int side, bool self, rb_estimate *e)
{
	const double *s = node->sum[self ? 0 : side];

	e->n = (float) (s[0] > 0 ? node->count[self ? 0 : side] * (s[1] / s[0]) : 0);
	for (int k = 0; k < 7; k++)
		e->mean[k] = (float) (s[1] > 0 ? s[2 + k] / s[1] : 0);
}

static __device__ __forceinline__ float
incidences_of(const rb_estimate *e, float x, float y, float z)
{
	const float *m = e->mean;

	return e->n *
		   (1 + x * (m[0] + y * (m[3] + z * m[6])) + y * (m[1] + z * m[5]) + z * (m[2] + x * m[4]));
}

static __device__ __forceinline__ float
plan_cost(const rb_estimate e[2], float x, float y, float z, float incidence_cost)
{
	const float cells = x * y * z;
	const float red = incidences_of(&e[0], x, y, z), blue = incidences_of(&e[1], x, y, z);

	return (red + blue) * incidence_cost + __fdividef(red * blue, cells) +
		   cells * (float) RB_COST_CELL;
}

/* Uses the given number of cells along the longest side, without estimating costs. */
static __device__ void
plan_resolution(const double width[3], uint32_t resolution, double max_cells, float n[3])
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
 * Refines one axis at a time, always the one with the lowest cost, so that flat or long objects get
 * flat or long cells.
 */
static __device__ void
plan_node(const double width[3], const rb_estimate e[2], float incidence_cost, double max_cells,
		  float n[3])
{
	/*
	 * Leave a margin for rounding in the product of three floats, because memory cannot hold more
	 * cells.
	 */
	const float most = (float) max_cells * 0.999999f;
	float cost = plan_cost(e, n[0], n[1], n[2], incidence_cost);

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
			const float c = plan_cost(e, x, y, z, incidence_cost);
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
	max_cells = rb_most_cells((double) node->count[0] + node->count[1], max_cells);
	estimate_of(node, 0, self, &e[0]);
	estimate_of(node, 1, self, &e[1]);
	if (resolution > 0)
		plan_resolution(width, resolution, max_cells, n);
	else
		plan_node(width, e, (float) incidence_cost, max_cells, n);
	for (int a = 0; a < 3; a++)
		grid[a] = (uint32_t) n[a];
	rb_grid_init(&node->grid, node->lo, node->hi, grid);
	all = (rb_count) node->grid.n[0] * node->grid.n[1] * node->grid.n[2];
	if (cells != NULL)
		cells[i] = all;
	atomicAdd(&totals->cells, all);
	atomicAdd(&totals->expected, (rb_count) (incidences_of(&e[0], n[0], n[1], n[2]) +
											 (self ? 0 : incidences_of(&e[1], n[0], n[1], n[2]))));
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
	plan_kernel<<<blocks_for(args->nnodes, UINT32_MAX), THREADS, 0, run->queue->compute>>>(
		args->nodes, args->nnodes, args->self, resolution, incidence_cost, max_cells, cells,
		totals);
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
