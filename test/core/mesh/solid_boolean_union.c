/*
 * solid_boolean_union.c
 *	  Tests unions of many solids: boxes with corners on a lattice, whose cells are counted.
 */
#include "mesh/solid_boolean.h"

#include "lattice_boxes.h"

static rb_memory *memory;

static boxes some;

/* Returns the number of covered cells. */
static int
count_cells(void)
{
	int n = 0;

	for (int i = 0; i < LATTICE * LATTICE * LATTICE; i++)
		n += (&some.covered[0][0][0])[i];
	return n;
}

/* Unites the boxes. */
static rb_status
unite_boxes(int threads, rb_solid_boundary *to)
{
	rb_context ctx;
	rb_flaw flaw;

	rb_context_init(&ctx, memory);
	ctx.threads = threads;
	return rb_solid_unite(&ctx, &rb_backend_cpu, &some.set, to, &flaw);
}

/* ---- cases ---- */

static void
any_number_of_boxes(void)
{
	const long rounds = check_rounds(100);

	for (long i = 0; i < rounds; i++)
	{
		rb_solid_boundary result;
		const int n = i < 6 ? (int) i : check_below(MOST_BOXES + 1);

		make_boxes(&some, n);
		CHECK(unite_boxes(1, &result) == RB_OK, "%d boxes", n);
		CHECK(volume_of_boundary(&result) == count_cells(), "%d boxes: %g, not %d", n,
			  volume_of_boundary(&result), count_cells());
		rb_solid_boundary_free(memory, &result);
		CHECK(rb_memory_used(memory) == 0, "memory is left");
	}
}

/* Slices of a box become the box again. */
static void
slices_of_a_box(void)
{
	rb_solid_boundary result;

	clear_boxes(&some);
	for (int z = 0; z < LATTICE; z++)
		append_box(&some, (const int[]){0, 0, z}, (const int[]){LATTICE, LATTICE, z + 1});
	CHECK(unite_boxes(1, &result) == RB_OK, "slices");
	CHECK(result.npolygons == 6 && result.npoints == 8, "%u polygons, %u points", result.npolygons,
		  result.npoints);
	CHECK(result.largest_move == 0, "moved by %g", result.largest_move);
	rb_solid_boundary_free(memory, &result);
}

static void
several_threads(void)
{
	rb_solid_boundary one, several;

	make_boxes(&some, MOST_BOXES);
	CHECK(unite_boxes(1, &one) == RB_OK && unite_boxes(4, &several) == RB_OK, "status");
	CHECK(same_boundaries(&one, &several), "results differ");
	rb_solid_boundary_free(memory, &one);
	rb_solid_boundary_free(memory, &several);
}

/* A union that fails for lack of memory leaves nothing, and one that fits succeeds. */
static void
little_memory(void)
{
	const uint64_t limit = rb_memory_limit(memory);
	rb_status status = RB_OVER_BUDGET;
	int failures = 0;

	make_boxes(&some, 6);
	for (uint64_t most = 1024; status == RB_OVER_BUDGET; most += most / 4)
	{
		rb_solid_boundary result;

		rb_memory_set_limit(memory, most);
		status = unite_boxes(1, &result);
		failures += status == RB_OVER_BUDGET;
		CHECK(status == RB_OK || status == RB_OVER_BUDGET, "status %d", status);
		if (status == RB_OK)
			rb_solid_boundary_free(memory, &result);
		CHECK(rb_memory_used(memory) == 0, "memory is left");
	}
	CHECK(failures > 5, "only %d failures", failures);
	rb_memory_set_limit(memory, limit);
}

static void
stopped(void)
{
	rb_solid_boundary result;
	rb_context ctx;
	rb_flaw flaw;

	make_boxes(&some, MOST_BOXES);
	rb_context_init(&ctx, memory);
	rb_context_stop(&ctx);
	CHECK(rb_solid_unite(&ctx, &rb_backend_cpu, &some.set, &result, &flaw) == RB_STOPPED,
		  "not stopped");
	CHECK(rb_memory_used(memory) == 0, "memory is left");
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 30);
	CHECK_RUN(any_number_of_boxes);
	CHECK_RUN(slices_of_a_box);
	CHECK_RUN(several_threads);
	CHECK_RUN(little_memory);
	CHECK_RUN(stopped);
	rb_memory_destroy(memory);
	return check_done();
}
