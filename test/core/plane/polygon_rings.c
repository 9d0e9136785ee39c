/*
 * polygon_rings.c
 *	  Tests the rings of rows; the trees of long rings and of rows with many rings: areas that are known, and the
 *	  work to find them.
 */
#include "core/plane/plane.h"

#include <math.h>
#include <string.h>

#include "build_polygons.h"
#include "check.h"
#include "fixtures.h"

/* Areas or lengths by row of red, and their number */
typedef struct measures
{
	double *of;
	size_t n;
} measures;

static rb_status
put_measure(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	measures *m = user;

	for (size_t i = 0; i < n; i++)
		memcpy(&m->of[rows[i].red], &payload[i], sizeof payload[i]);
	m->n += n;
	return RB_OK;
}

/* Joins two sets, one of them of a single row, and releases them. Returns the work in ms. */
static double
measure_sets(measures *m, const rb_set *red, const rb_set *blue)
{
	const bool lines = red->kind == RB_SEGMENT2;
	const rb_job job = {.red = red, .blue = blue, .predicate = lines ? RB_LENGTH : RB_AREA};
	const rb_row_sink sink = {put_measure, m};
	const double began = thread_work_ms();
	double work;

	m->of = calloc(red->nrows + 1, sizeof *m->of);
	m->n = 0;
	CHECK((lines ? rb_compose_lengths : rb_compose_areas)(&ctx, &rb_backend_cpu, &job, &sink) ==
			  RB_OK,
		  "%s", ctx.error.text);
	work = thread_work_ms() - began;
	rb_set_release(&red);
	rb_set_release(&blue);
	return work;
}

/* Squares of size 0.5: in the holes of a lattice, halfway across their right side, and apart from them */
static const rb_set *
build_squares_at_holes(int n)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < n; k++)
			for (int at = 0; at < 3; at++)
			{
				add_square(true, 2 * i + 0.25 + 0.5 * at, 2 * k + 0.25, 0.5);
				end_row((i * n + k) * 3 + at);
			}
	return end_polygons();
}

/* A square with n * n holes of size 1 */
static const rb_set *
build_lattice_of_holes(int n)
{
	add_square(true, -1, -1, 2 * n + 1);
	for (int i = 0; i < n; i++)
		for (int k = 0; k < n; k++)
			add_square(false, 2 * i, 2 * k, 1);
	end_row(1);
	return end_polygons();
}

static double
measure_many_holes(int size)
{
	const int n = (int) sqrt((double) check_rounds(10000)), side = size == 1 ? n / 3 : n;
	measures m;
	const double work =
		measure_sets(&m, build_squares_at_holes(side), build_lattice_of_holes(side));

	CHECK(m.n == (size_t) (side * side * 2), "%zu squares of %d", m.n, side * side * 2);
	for (int i = 0; i < 3 * side * side; i++)
		CHECK(m.of[i] == 0.125 * (i % 3), "%g in square %d", m.of[i], i);
	free(m.of);
	return work;
}

/* A ninth of the holes and squares takes a ninth of the work, unless all holes are scanned. */
static void
many_holes(void)
{
	double work[2];

	CHECK(work_is_bounded(measure_many_holes, 24, 10, work), "%g ms instead of %g", work[0],
		  9 * work[1]);
}

/* Adds a comb with n teeth of width 1 and the given height; teeth of odd number are gaps. */
static void
add_comb(int n, double height)
{
	double *xy = malloc(8 * (size_t) (n + 1) * sizeof *xy);
	uint32_t k = 0;

	for (int i = n - 1; i >= 0; i--)
	{
		const double at[4][2] = {
			{2 * i + 1, 0}, {2 * i + 1, height}, {2 * i, height}, {2 * i, i > 0 ? 0 : -1}};

		memcpy(xy + 2 * k, at, sizeof at);
		k += 4;
	}
	xy[2 * k] = 2 * n - 1;
	xy[2 * k + 1] = -1;
	add_ring(true, xy, k + 1);
	free(xy);
}

/* Squares in and between the teeth of a comb, all of which a ray passes */
static double
measure_long_rings(int size)
{
	const int n = (int) check_rounds(20000), teeth = size == 1 ? n / 8 : n;
	const rb_set *comb;
	double work;
	measures m;

	add_comb(teeth, 1000);
	end_row(1);
	comb = end_polygons();
	for (int i = 0; i < teeth; i++)
	{
		add_square(true, 2 * i + 0.75 + 0.25 * (i % 2), 500, 0.5);
		end_row(i);
	}
	work = measure_sets(&m, end_polygons(), comb);
	for (int i = 0; i < teeth; i++)
		CHECK(m.of[i] == (i % 2 == 1 ? 0 : 0.125), "%g in square %d", m.of[i], i);
	free(m.of);
	return work;
}

static void
long_rings(void)
{
	double work[2];

	CHECK(work_is_bounded(measure_long_rings, 24, 10, work), "%g ms instead of %g", work[0],
		  8 * work[1]);
}

/* A line that passes many polygons */
static double
measure_long_lines(int size)
{
	const int n = (int) check_rounds(20000), squares = size == 1 ? n / 8 : n;
	const rb_set *line = NULL, *far;
	double work;
	rb_builder b;
	rb_error error;
	measures m;

	rb_builder_init(&b, memory, RB_SEGMENT2);
	CHECK(rb_builder_reserve(&b, (size_t) squares * 8, &error) == RB_OK, "no memory");
	for (int i = 0; i < squares * 8; i++)
	{
		const double e[4] = {0.25 * i, 0.5, 0.25 * (i + 1), 0.5};

		memcpy(b.coords + 4 * (size_t) b.nparts++, e, sizeof e);
	}
	CHECK(rb_builder_end_row(&b, 1, &error) == RB_OK &&
			  rb_builder_finish(&b, &line, &error) == RB_OK,
		  "no set");
	rb_builder_free(&b);
	for (int i = 0; i < squares; i++)
	{
		add_square(true, 2 * i + 0.125, 0, 1);
		end_row(i);
	}
	far = end_polygons();
	work = measure_sets(&m, line, far);
	CHECK(m.n == (size_t) squares && m.of[0] == 1, "%zu lengths, %g", m.n, m.of[0]);
	free(m.of);
	return work;
}

/* A line is measured with few of its segments in each polygon. */
static void
long_lines(void)
{
	double work[2];

	CHECK(work_is_bounded(measure_long_lines, 24, 10, work), "%g ms instead of %g", work[0],
		  8 * work[1]);
}

/* ---- rings of rows ---- */

#define MOST_RINGS 40 /* Maximum number of rings of a row */

/* A ring to be built */
typedef struct ring_plan
{
	uint32_t edges;
	bool shell;
} ring_plan;

/* Plans the rings of a row, and returns their number, which is 0 for some rows. */
static uint32_t
plan_rings_of_row(uint32_t row, ring_plan *ring)
{
	const uint32_t n = row % 7 == 3 ? 0 : row % 50 == 0 ? MOST_RINGS : row % 4 + 1;

	for (uint32_t k = 0; k < n; k++)
		ring[k] = (ring_plan){3 + (row * 31 + k * 17) % (row % 11 == 0 ? 700 : 20), k % 3 == 0};
	return n;
}

/* Rows of rings with random points; a row without rings has only marks. */
static const rb_set *
build_various_rows(uint32_t rows)
{
	double *xy = malloc(2 * 1000 * sizeof *xy);

	for (uint32_t row = 0; row < rows; row++)
	{
		ring_plan ring[MOST_RINGS];
		const uint32_t n = plan_rings_of_row(row, ring);

		for (uint32_t k = 0; k < rb_max(n, 1); k++)
		{
			for (uint32_t i = 0; i < 2 * 1000; i++)
				xy[i] = row + random_signed();
			add_ring(n == 0 || ring[k].shell, xy, n == 0 ? 0 : ring[k].edges);
		}
		end_row(row);
	}
	free(xy);
	return end_polygons();
}

/* Compares the rings of a set with their plan, and the boxes of rows with those of their edges. */
static void
check_rings_of_set(const rb_set *set, const rb_rings *r, rb_thread *team)
{
	uint32_t *start = malloc(((size_t) set->nrows + 1) * sizeof *start);
	double *box = malloc(((size_t) set->nrows + 1) * 6 * sizeof *box);
	uint32_t all = 0;

	CHECK(rb_row_boxes(&ctx, team, set, start, box) == RB_OK, "no boxes");
	for (uint32_t row = 0; row < set->nrows; row++)
	{
		ring_plan ring[MOST_RINGS];
		const uint32_t n = plan_rings_of_row(row, ring), first = all;
		uint32_t shell = first, at = r->row_start[row];

		CHECK(r->row_ring[row] == first, "row %u starts with ring %u", row, r->row_ring[row]);
		for (uint32_t k = 0; k < n; k++, all++)
		{
			const rb_ring *g = &r->ring[all];

			at += ring[k].shell ? RB_MARKS_OF_SHELL : RB_MARKS_OF_HOLE;
			shell = ring[k].shell ? all : shell;
			CHECK(g->start == at && g->end == at + ring[k].edges && g->shell == shell,
				  "ring %u of row %u: %u to %u, shell %u", k, row, g->start, g->end, g->shell);
			for (; at < g->end; at++)
				CHECK(r->ring_of[at] == all, "edge %u is on ring %u", at, r->ring_of[at]);
		}
		for (int k = 0; k < 6; k++)
			CHECK(r->row_box[6 * row + k] == box[6 * row + k], "number %d of the box of row %u", k,
				  row);
	}
	CHECK(r->nrings == all && r->row_ring[set->nrows] == all, "%u rings of %u", r->nrings, all);
	free(start);
	free(box);
}

/* The rings of all rows are those that the rows were built from, on any number of threads. */
static void
rings_of_rows(void)
{
	const rb_set *set = build_various_rows((uint32_t) check_rounds(2000) + 60);
	const int threads[] = {1, 2, 7};

	for (int i = 0; i < 3; i++)
	{
		rb_thread *team;
		rb_rings r;

		ctx.threads = threads[i];
		CHECK(rb_team_open(&ctx, threads[i], &team) == RB_OK, "no team");
		CHECK(rb_rings_open(&ctx, team, set, &r) == RB_OK, "no rings");
		check_rings_of_set(set, &r, team);
		rb_rings_close(memory, &r);
		rb_team_close(&team);
	}
	ctx.threads = 1;
	rb_set_release(&set);
}

int
main(void)
{
	memory = rb_memory_create(UINT64_MAX);
	rb_context_init(&ctx, memory);
	rb_builder_init(&builder, memory, RB_EDGE2);
	CHECK_RUN(rings_of_rows);
	CHECK_RUN(many_holes);
	CHECK_RUN(long_rings);
	CHECK_RUN(long_lines);
	rb_builder_free(&builder);
	CHECK(rb_memory_used(memory) == 0, "left behind");
	rb_memory_destroy(memory);
	return check_done();
}
