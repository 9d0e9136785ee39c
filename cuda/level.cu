/*
 * level.cu
 *	  Builds the levels of grids: the host's part.
 *
 * A level is a list of nodes, each a set of red and blue objects with a grid of its own. The cells
 * of all grids are numbered consecutively. The top level has one node, which holds all objects.
 * Cells in which red count times blue count is large become the nodes of the next level, whether
 * one or ten thousand, and all nodes are processed in the same few launches. So clusters that are
 * tiny compared with their distance, or surfaces that leave most cells empty, cost one more pass
 * instead of a quadratic number of tests.
 */
#include "level.cuh"

#include <string.h>

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
nodes_make(rb_device_run *run, rb_level *level)
{
	RB_TRY(rb_device_alloc(run, (void **) &level->nodes,
						   level->nnodes * sizeof(rb_node) + sizeof(rb_totals)));
	level->totals = (rb_totals *) (level->nodes + level->nnodes);
	return rb_device_alloc(run, (void **) &level->chunks, level->nchunks * sizeof(rb_node_chunk));
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
	node.count[0] = n[0];
	node.count[1] = n[1];
	node.tests = (rb_count) n[0] * n[self ? 0 : 1];
	level->nnodes = 1;
	level->nchunks = (n[0] + RB_CHUNK - 1) / RB_CHUNK + (n[1] + RB_CHUNK - 1) / RB_CHUNK;
	RB_TRY(nodes_make(run, level));
	top_kernel<<<blocks_for(level->nchunks, UINT32_MAX), THREADS, 0, run->queue->compute>>>(
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

/* ---- plan, count, fill ---- */

static __global__ void
tell_kernel(const rb_node *first, const rb_totals *totals, rb_mailbox *mailbox)
{
	mailbox->totals = *totals;
	for (int a = 0; a < 3; a++)
		mailbox->resolution[a] = first->grid.n[a];
}

/* Copies the current totals to the mailbox. */
static rb_status
report_totals(rb_device_run *run, const rb_level *level)
{
	tell_kernel<<<1, 1, 0, run->queue->compute>>>(level->nodes, level->totals, run->queue->mailbox);
	RB_LAUNCHED(run, "tell_kernel");
	return RB_OK;
}

/* Computes the prefix sums out[0 .. n] of in[0 .. n - 1]; in[n] must be 0. */
static rb_status
prefix_sums(rb_device_run *run, rb_count *in, rb_count *out, rb_count n)
{
	void *scratch;
	size_t bytes = 0;

	RB_CUDA(run, rb_scan_bytes(n + 1, &bytes));
	RB_TRY(rb_device_alloc(run, &scratch, bytes));
	RB_CUDA(run, rb_scan(scratch, bytes, in, out, n + 1, run->queue->compute));
	rb_device_free(run, &scratch);
	return RB_OK;
}

/*
 * Allocates a list for `capacity` incidences. Allocates none if memory is scarce. A list that is
 * too short costs time but does no harm.
 */
static rb_status
places_make(rb_device_run *run, rb_count ncells, rb_count capacity, uint64_t share,
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
level_count(rb_device_run *run, rb_level *level, rb_grid_args *args, rb_count *ncells)
{
	cudaStream_t stream = run->queue->compute;
	const rb_totals *seen = &run->queue->mailbox->totals;
	double cost = rb_incidence_cost(run->job->predicate, args->side);
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
		RB_TRY(rb_plan_launch(run, args, resolution, cost, max_cells, node_cells, level->totals));
		RB_TRY(prefix_sums(run, node_cells, node_first, level->nnodes));
		RB_TRY(rb_first_launch(run, args, node_first));
		RB_TRY(report_totals(run, level));
		RB_TRY(rb_sync(run));
		*ncells = seen->cells;
		RB_TRY(rb_mark(run, RB_STEP_PLAN));
		if (*ncells == 0)
			break;

		RB_TRY(rb_device_alloc(run, (void **) &level->count, (*ncells + 1) * sizeof(rb_count)));
		args->count = level->count;
		RB_CUDA(run, cudaMemsetAsync(level->count, 0, (*ncells + 1) * sizeof(rb_count), stream));
		/* Allow an eighth more incidences than the plan expects. */
		RB_TRY(places_make(run, *ncells, seen->expected + seen->expected / 8 + 4096, share,
						   level->totals, &args->places));
		RB_TRY(rb_count_launch(run, args, level->nchunks));
		RB_TRY(rb_cell_totals_launch(run, args, *ncells, level->totals));
		RB_TRY(report_totals(run, level));
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
entries_make(rb_device_run *run, rb_level *level, rb_grid_args *args, rb_count nred, rb_count nblue)
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
level_at_once(rb_device_run *run, rb_level *level, rb_grid_args *args, rb_count *ncells, bool *done)
{
	cudaStream_t stream = run->queue->compute;
	const rb_totals *seen = &run->queue->mailbox->totals;
	const rb_count objects = (rb_count) args->side[0].n + (args->self ? 0 : args->side[1].n);
	const rb_count places = FEW_PLACES(objects);
	const uint64_t share = (run->budget - run->used) / 3;
	const double max_cells = rb_most_cells((double) objects, 1 << 26);
	const rb_count most = (rb_count) max_cells;

	*done = false;
	if (!run->top || level->nnodes != 1 || objects > RB_FEW_OBJECTS ||
		places * (sizeof(uint32_t) + sizeof(uint2)) + most * 2 * sizeof(rb_count) > share / 2)
		return RB_OK;
	RB_TRY(rb_plan_launch(run, args, run->ctx->settings.grid_resolution,
						  rb_incidence_cost(run->job->predicate, args->side), max_cells, NULL,
						  level->totals));
	RB_TRY(rb_mark(run, RB_STEP_PLAN));
	RB_TRY(rb_device_alloc(run, (void **) &level->count, (most + 1) * sizeof(rb_count)));
	args->count = level->count;
	RB_CUDA(run, cudaMemsetAsync(level->count, 0, (most + 1) * sizeof(rb_count), stream));
	RB_TRY(places_make(run, most, places, share, level->totals, &args->places));
	RB_TRY(rb_count_launch(run, args, level->nchunks));
	RB_TRY(rb_cell_totals_launch(run, args, 0, level->totals));
	RB_TRY(report_totals(run, level));
	RB_CUDA(run, cudaEventRecord(run->queue->done, stream));
	/* The device keeps working while the host waits for the totals. */
	RB_TRY(rb_device_alloc(run, (void **) &level->start, (most + 1) * sizeof(rb_count)));
	RB_TRY(prefix_sums(run, level->count, level->start, most));
	args->start = level->start;
	RB_TRY(entries_make(run, level, args, places, places));
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

/* Loads the kernels that are queued behind counting and filling, which may take long. */
static rb_status
kernels_load(rb_device_run *run)
{
	/* Bit of run->device->tried; joins use the other bits */
	const uint32_t levels = (uint32_t) 1 << 31;
	rb_count *two;

	if (rb_load(&run->device->tried) & levels)
		return RB_OK;
	RB_TRY(rb_fill_load(run));
	RB_TRY(rb_items_load(run));
	RB_TRY(rb_kernel_load(run, (const void *) tell_kernel));
	/* Load CUB's kernels, which have no name here, by computing one sum. */
	RB_TRY(rb_device_alloc(run, (void **) &two, 4 * sizeof(rb_count)));
	RB_CUDA(run, cudaMemsetAsync(two, 0, 4 * sizeof(rb_count), run->queue->compute));
	RB_TRY(prefix_sums(run, two, two + 2, 1));
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

	RB_TRY(kernels_load(run));
	RB_TRY(rb_bounds_launch(run, &args, level->nchunks));
	RB_TRY(rb_moments_launch(run, &args, level->nchunks));
	RB_TRY(level_at_once(run, level, &args, &ncells, &filled));
	if (!filled)
		RB_TRY(level_count(run, level, &args, &ncells));
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
		RB_TRY(prefix_sums(run, level->count, level->start, ncells));
		args.start = level->start;
		RB_TRY(entries_make(run, level, &args, seen.incidences[0], seen.incidences[1]));
	}
	RB_TRY(rb_device_alloc(run, (void **) &level->items, level->nitems * sizeof(rb_item)));
	if (refine)
	{
		next->nnodes = (uint32_t) seen.crowded;
		next->nchunks = (uint32_t) seen.crowded_chunks;
		RB_TRY(nodes_make(run, next));
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
	 * If everything was launched at once, memory is plentiful, and join_items frees these arrays
	 * after its own launch.
	 */
	if (!filled)
		rb_level_spent(run, level);
	next->above[0] = level->entry[0];
	next->above[1] = level->entry[1];
	return rb_mark(run, RB_STEP_SCHEDULE);
}
