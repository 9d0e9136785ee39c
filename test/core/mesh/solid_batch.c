/*
 * solid_batch.c
 *	  Tests batches of operations on solids: boxes with corners on a lattice, whose cells are counted,
 *	  and boxes that are turned.
 */
#include "mesh/solid_boolean.h"

#include "lattice_boxes.h"

#define MOST_TASKS (MOST_BOXES * MOST_BOXES)

static rb_memory *memory;
static boxes side[2];
static uint32_t blue_rows[MOST_TASKS * MOST_BOXES];
static rb_solid_task tasks[MOST_TASKS];

/* Makes a task for a red row and n random blue rows, which may repeat. */
static void
make_task(uint32_t number, uint32_t red, uint32_t n)
{
	uint32_t *blue = blue_rows + (size_t) number * MOST_BOXES;

	for (uint32_t i = 0; i < n; i++)
		blue[i] = (uint32_t) check_below((int) side[1].set.nrows);
	tasks[number] = (rb_solid_task){.red = red, .nblue = n, .blue = blue};
}

/* Runs n tasks on some threads. */
static rb_status
run_tasks(rb_solid_operation operation, int threads, uint32_t n)
{
	rb_context ctx;
	rb_solid_batch batch;
	rb_status status;

	rb_context_init(&ctx, memory);
	ctx.threads = threads;
	status = rb_solid_batch_open(&ctx, &side[0].set, &side[1].set, operation, &batch);
	if (status == RB_OK)
		status = rb_solid_batch_run(&batch, tasks, n);
	rb_solid_batch_close(&batch);
	return status;
}

/* Frees the results of n tasks. */
static void
free_results(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		rb_solid_boundary_free(memory, &tasks[i].boundary);
	CHECK(rb_memory_used(memory) == 0, "memory is left");
}

/* Returns true if a box covers a cell. */
static bool
covers(const boxes *b, uint32_t row, const int *cell)
{
	for (int a = 0; a < 3; a++)
		if (cell[a] < b->low[row][a] || cell[a] >= b->high[row][a])
			return false;
	return true;
}

/* Returns the number of cells of a task's result. */
static int
count_task_cells(const rb_solid_task *task, rb_solid_operation operation)
{
	int n = 0;

	for (int i = 0; i < LATTICE * LATTICE * LATTICE; i++)
	{
		const int cell[3] = {i % LATTICE, i / LATTICE % LATTICE, i / LATTICE / LATTICE};
		bool in = false;

		for (uint32_t k = 0; k < task->nblue; k++)
			in = in || covers(&side[1], task->blue[k], cell);
		n += covers(&side[0], task->red, cell) && in == (operation == RB_SOLID_INTERSECTION);
	}
	return n;
}

/* Runs n tasks, and compares the volumes with numbers of cells. */
static void
check_tasks(rb_solid_operation operation, int threads, uint32_t n)
{
	CHECK(run_tasks(operation, threads, n) == RB_OK, "%u tasks", n);
	for (uint32_t i = 0; i < n; i++)
	{
		const int cells = count_task_cells(&tasks[i], operation);

		CHECK(!tasks[i].uncut, "task %u", i);
		CHECK(tasks[i].volume == cells, "task %u with %u solids: %g, not %d", i, tasks[i].nblue,
			  tasks[i].volume, cells);
		CHECK(volume_of_boundary(&tasks[i].boundary) == cells, "task %u: boundary of %g, not %d", i,
			  volume_of_boundary(&tasks[i].boundary), cells);
		CHECK(tasks[i].nblue > 0 || tasks[i].boundary.npolygons == 6, "task %u: %u polygons", i,
			  tasks[i].boundary.npolygons);
	}
	free_results(n);
}

/* ---- cases ---- */

static void
boxes_on_a_lattice(void)
{
	const long rounds = check_rounds(40);

	for (long i = 0; i < rounds; i++)
	{
		const uint32_t n = (uint32_t) check_below(60);

		make_boxes(&side[0], 1 + check_below(MOST_BOXES));
		make_boxes(&side[1], 1 + check_below(MOST_BOXES));
		for (uint32_t k = 0; k < n; k++)
			make_task(k, (uint32_t) check_below((int) side[0].set.nrows),
					  (uint32_t) check_below(k % 2 == 0 ? 3 : MOST_BOXES + 1));
		check_tasks(RB_SOLID_DIFFERENCE, 1 + check_below(4), n);
		for (uint32_t k = 0; k < n; k++)
			make_task(k, (uint32_t) check_below((int) side[0].set.nrows),
					  (uint32_t) (1 + check_below(MOST_BOXES)));
		check_tasks(RB_SOLID_INTERSECTION, 1 + check_below(4), n);
	}
}

/* A task of one blue solid has the boundary of rb_solid_combine_two. */
static void
same_as_one_operation(void)
{
	const uint32_t n = 50;
	rb_context ctx;

	rb_context_init(&ctx, memory);
	make_boxes(&side[0], MOST_BOXES);
	make_boxes(&side[1], MOST_BOXES);
	for (uint32_t i = 0; i < n; i++)
		make_task(i, i % MOST_BOXES, 1);
	CHECK(run_tasks(RB_SOLID_INTERSECTION, 2, n) == RB_OK, "status");
	for (uint32_t i = 0; i < n; i++)
	{
		const rb_solid_triangles solid[2] = {
			{side[0].coords + 108 * (size_t) tasks[i].red, 12},
			{side[1].coords + 108 * (size_t) tasks[i].blue[0], 12}};
		rb_solid_boundary alone;
		rb_flaw flaw;

		CHECK(rb_solid_combine_two(&ctx, &rb_backend_cpu, solid, RB_SOLID_INTERSECTION, &alone,
								   &flaw) == RB_OK &&
				  (alone.npolygons == 0 ? tasks[i].boundary.npolygons == 0
										: same_boundaries(&alone, &tasks[i].boundary)),
			  "task %u", i);
		rb_solid_boundary_free(memory, &alone);
	}
	free_results(n);
}

/* Shears and turns all boxes, so that corners of results are not doubles. */
static void
turn_boxes(boxes *b, double by)
{
	for (uint32_t i = 0; i < 3 * b->set.nparts; i++)
	{
		double *p = b->coords + 3 * (size_t) i;
		const double x = p[0], y = p[1], z = p[2];

		p[0] = 0.9 * x - 0.3 * y + by;
		p[1] = 0.3 * x + 0.9 * y - 0.1 * z;
		p[2] = 0.2 * x + 0.1 * y + 0.8 * z;
	}
}

/* Results have equal bits on any number of threads, also with fewer tasks than threads. */
static void
several_threads(void)
{
	static rb_solid_task one[MOST_TASKS];

	for (uint32_t n = 1; n <= 21; n += 10)
	{
		make_boxes(&side[0], MOST_BOXES);
		make_boxes(&side[1], MOST_BOXES);
		turn_boxes(&side[0], 0.1);
		for (uint32_t i = 0; i < n; i++)
			make_task(i, i % MOST_BOXES, 1 + i % 5);
		CHECK(run_tasks(RB_SOLID_DIFFERENCE, 1, n) == RB_OK, "one thread");
		memcpy(one, tasks, sizeof one);
		for (int threads = 2; threads <= 7; threads += 5)
		{
			CHECK(run_tasks(RB_SOLID_DIFFERENCE, threads, n) == RB_OK, "%d threads", threads);
			for (uint32_t i = 0; i < n; i++)
			{
				CHECK(tasks[i].volume == one[i].volume &&
						  (one[i].volume == 0 ||
						   same_boundaries(&tasks[i].boundary, &one[i].boundary)),
					  "task %u on %d threads", i, threads);
				rb_solid_boundary_free(memory, &tasks[i].boundary);
			}
		}
		memcpy(tasks, one, sizeof one);
		free_results(n);
	}
}

/* A batch that fails for lack of memory reports it, and one that fits succeeds. */
static void
little_memory(void)
{
	const uint64_t limit = rb_memory_limit(memory);
	const uint32_t n = 4;
	rb_status status = RB_OVER_BUDGET;
	int failures = 0;

	make_boxes(&side[0], 6);
	make_boxes(&side[1], 6);
	for (uint64_t most = 1024; status == RB_OVER_BUDGET; most += most / 4)
	{
		for (uint32_t i = 0; i < n; i++)
			make_task(i, i, 3);
		rb_memory_set_limit(memory, most);
		status = run_tasks(RB_SOLID_DIFFERENCE, 2, n);
		failures += status == RB_OVER_BUDGET;
		CHECK(status == RB_OK || status == RB_OVER_BUDGET, "status %d", status);
		free_results(n);
	}
	CHECK(failures > 5, "only %d failures", failures);
	rb_memory_set_limit(memory, limit);
}

static void
stopped(void)
{
	for (int both = 0; both < 2; both++)
	{
		rb_solid_batch batch;
		rb_context ctx;

		rb_context_init(&ctx, memory);
		make_boxes(&side[0], MOST_BOXES);
		make_boxes(&side[1], MOST_BOXES);
		make_task(0, 0, MOST_BOXES);
		CHECK(rb_solid_batch_open(&ctx, &side[0].set, &side[1].set, RB_SOLID_DIFFERENCE, &batch) ==
				  RB_OK,
			  "opened");
		rb_solid_batch_stop(&batch);
		if (both)
			rb_context_stop(&ctx);
		CHECK(rb_solid_batch_run(&batch, tasks, 1) == RB_STOPPED, "not stopped");
		rb_solid_batch_close(&batch);
		free_results(1);
	}
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 30);
	CHECK_RUN(boxes_on_a_lattice);
	CHECK_RUN(same_as_one_operation);
	CHECK_RUN(several_threads);
	CHECK_RUN(little_memory);
	CHECK_RUN(stopped);
	rb_memory_destroy(memory);
	return check_done();
}
