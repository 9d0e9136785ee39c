/*
 * solid_union.c
 *	  Tests unions of many solids: boxes with corners on a lattice, whose cells are counted.
 */
#include "mesh/solid_union.h"

#include "fixtures.h"

#include <string.h>

#define MOST_BOXES 24
#define LATTICE 7

static rb_memory *memory;

/* Boxes as a set of rows, and the cells of the lattice that they cover */
typedef struct boxes
{
	double coords[MOST_BOXES * 12 * 9];
	uint32_t row_of[MOST_BOXES * 12];
	bool covered[LATTICE][LATTICE][LATTICE];
	rb_set set;
} boxes;

static boxes some;

/* Appends a box as twelve triangles, and marks its cells. */
static void
append_box(const int *low, const int *high)
{
	static const int corner[12][3] = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6},
									  {0, 1, 5}, {0, 5, 4}, {2, 6, 7}, {2, 7, 3},
									  {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
	rb_set *set = &some.set;

	for (int i = 0; i < 12; i++)
	{
		for (int k = 0; k < 3; k++)
			for (int a = 0; a < 3; a++)
				some.coords[9 * (size_t) set->nparts + 3 * k + a] =
					corner[i][k] >> a & 1 ? high[a] : low[a];
		some.row_of[set->nparts++] = set->nrows;
	}
	set->nrows++;
	for (int x = low[0]; x < high[0]; x++)
		for (int y = low[1]; y < high[1]; y++)
			for (int z = low[2]; z < high[2]; z++)
				some.covered[x][y][z] = true;
}

/* Makes a set without boxes. */
static void
clear_boxes(void)
{
	memset(&some, 0, sizeof some);
	some.set = (rb_set){.kind = RB_TRIANGLE3, .coords = some.coords, .row_of = some.row_of};
}

/* Makes n random boxes. */
static void
make_boxes(int n)
{
	clear_boxes();
	for (int i = 0; i < n; i++)
	{
		int low[3], high[3];

		for (int a = 0; a < 3; a++)
		{
			low[a] = check_below(LATTICE);
			high[a] = low[a] + 1 + check_below(LATTICE - low[a]);
		}
		append_box(low, high);
	}
}

/* Returns the number of covered cells. */
static int
count_cells(void)
{
	int n = 0;

	for (int i = 0; i < LATTICE * LATTICE * LATTICE; i++)
		n += (&some.covered[0][0][0])[i];
	return n;
}

/* Returns the volume within a boundary on the lattice, by determinants that are exact. */
static double
volume_of_boundary(const rb_solid_boundary *b)
{
	double six = 0;

	for (uint32_t r = 0; b->npolygons > 0 && r < b->ring_of[b->npolygons]; r++)
	{
		const double *p = b->points + 3 * (size_t) b->corners[b->corner_of[r]];

		for (uint32_t i = b->corner_of[r] + 1; i + 1 < b->corner_of[r + 1]; i++)
		{
			const double *q = b->points + 3 * (size_t) b->corners[i];
			const double *s = b->points + 3 * (size_t) b->corners[i + 1];

			six += p[0] * (q[1] * s[2] - q[2] * s[1]) - p[1] * (q[0] * s[2] - q[2] * s[0]) +
				   p[2] * (q[0] * s[1] - q[1] * s[0]);
		}
	}
	return six / 6;
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

		make_boxes(n);
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

	clear_boxes();
	for (int z = 0; z < LATTICE; z++)
		append_box((const int[]){0, 0, z}, (const int[]){LATTICE, LATTICE, z + 1});
	CHECK(unite_boxes(1, &result) == RB_OK, "slices");
	CHECK(result.npolygons == 6 && result.npoints == 8, "%u polygons, %u points", result.npolygons,
		  result.npoints);
	CHECK(result.largest_move == 0, "moved by %g", result.largest_move);
	rb_solid_boundary_free(memory, &result);
}

/* Returns true if two boundaries are equal, bit for bit. */
static bool
same_boundaries(const rb_solid_boundary *a, const rb_solid_boundary *b)
{
	if (a->npoints != b->npoints || a->npolygons != b->npolygons ||
		memcmp(a->points, b->points, 3 * sizeof(double) * a->npoints) != 0 ||
		memcmp(a->ring_of, b->ring_of, (a->npolygons + 1) * sizeof *a->ring_of) != 0)
		return false;
	for (uint32_t r = 0; r <= a->ring_of[a->npolygons]; r++)
		if (a->corner_of[r] != b->corner_of[r])
			return false;
	return memcmp(a->corners, b->corners,
				  a->corner_of[a->ring_of[a->npolygons]] * sizeof *a->corners) == 0;
}

static void
several_threads(void)
{
	rb_solid_boundary one, several;

	make_boxes(MOST_BOXES);
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

	make_boxes(6);
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

	make_boxes(MOST_BOXES);
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
