/*
 * simple_ring.c
 *	  Compares the test of rows whose rings are simple and apart with the sweep, on rings of which many are
 *	  degenerate.
 */
#include "core/plane/plane.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "build_polygons.h"
#include "fixtures.h"

#define MOST_POINTS 24

/* Number of rows that are valid by the sweep, and of those that the test finds */
typedef struct row_counts
{
	long valid;
	long found;
} row_counts;

/*
 * Compares the test of the row under construction with the sweep; `all` if the row is small enough to be
 * decided unless its rings touch.
 */
static void
compare_row(bool all, row_counts *counts)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	rb_polygon_sweep sweep = {.root = 0};
	rb_polygon_place fault = {.fault = RB_POLYGON_GOOD};
	rb_ring_list near = {0};
	rb_rings rings;
	rb_thread *team;
	const rb_set *set;
	bool valid, found;

	end_row(1);
	set = end_polygons();
	CHECK(rb_team_open(&ctx, 1, &team) == RB_OK, "no team");
	CHECK(rb_rings_open(&ctx, team, set, &rings) == RB_OK, "%s", ctx.error.text);
	CHECK(rb_sweep_polygon(&sweep, &ctx, &rings, 0, &fault) == RB_OK, "%s", ctx.error.text);
	valid = fault.fault == RB_POLYGON_GOOD && sweep.misplaced == UINT32_MAX;
	CHECK(rb_find_simple_rings(&ctx, &env, &rings, 0, &near, &found) == RB_OK, "%s",
		  ctx.error.text);
	CHECK((valid && sweep.touches.n == 0) || !found,
		  "%u rings with fault %d, misplaced %u, touches %zu are valid", rings.nrings,
		  (int) fault.fault, sweep.misplaced, sweep.touches.n);
	CHECK(!all || found == (valid && sweep.touches.n == 0), "%u valid rings are not found",
		  rings.nrings);
	counts->valid += valid;
	counts->found += found;
	rb_vec_free(memory, &near);
	rb_sweep_close(memory, &sweep);
	rb_rings_close(memory, &rings);
	rb_team_close(&team);
	rb_set_release(&set);
}

/* Compares a row of one ring of n points. */
static void
compare_ring(const double *xy, uint32_t n, bool all, row_counts *counts)
{
	add_ring(true, xy, n);
	compare_row(all, counts);
}

/* Returns true if no two consecutive points of a ring are equal, as in a set. */
static bool
has_edges(const double *xy, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
	{
		const double *next = xy + 2 * ((i + 1) % n);

		if (xy[2 * i] == next[0] && xy[2 * i + 1] == next[1])
			return false;
	}
	return true;
}

/* Points of a small lattice: spikes, overlaps, rings that touch themselves */
static void
lattices(void)
{
	row_counts counts = {0, 0};

	for (long i = 0; i < check_rounds(300000); i++)
	{
		const uint32_t n = 3 + (uint32_t) check_below(6);
		const int size = 2 + check_below(4);
		double xy[2 * MOST_POINTS];

		for (uint32_t k = 0; k < 2 * n; k++)
			xy[k] = check_below(size);
		if (has_edges(xy, n))
			compare_ring(xy, n, true, &counts);
	}
	CHECK(counts.valid > 1000 && counts.found > counts.valid / 2, "%ld of %ld valid rows",
		  counts.found, counts.valid);
}

/* Stars, some of whose points are moved onto other ones or onto lattice points */
static void
stars(void)
{
	row_counts counts = {0, 0};

	for (long i = 0; i < check_rounds(30000); i++)
	{
		const uint32_t n = 5 + (uint32_t) check_below(MOST_POINTS - 5);
		double xy[2 * MOST_POINTS];

		for (uint32_t k = 0; k < n; k++)
		{
			const double angle = 6.2831853 * (k + random_unit()) / n;
			const double r = 8 + 4 * random_unit();

			xy[2 * k] = r * cos(angle);
			xy[2 * k + 1] = r * sin(angle);
		}
		if (i % 3 == 1)
			for (uint32_t k = 0; k < 2 * n; k++)
				xy[k] = floor(xy[k]);
		if (i % 3 == 2)
			memcpy(xy, xy + 2 * (2 + check_below((int) n - 3)), 2 * sizeof *xy);
		if (has_edges(xy, n))
			compare_ring(xy, n, false, &counts);
	}
	CHECK(counts.valid > 100 && counts.found > 0, "%ld of %ld valid rows", counts.found,
		  counts.valid);
}

/* A long ring, which stays within the limits or exceeds them, with a fault at its end or without one */
static void
long_rings(void)
{
	const uint32_t n = 40000;
	row_counts counts = {0, 0};
	double *xy = calloc(2 * (size_t) n, sizeof *xy);

	for (int bad = 0; bad < 2; bad++)
		for (uint32_t size = 8; size <= n; size *= 2)
		{
			for (uint32_t k = 0; k < size; k++)
			{
				const double angle = 6.2831853 * k / size;

				xy[2 * k] = cos(angle);
				xy[2 * k + 1] = sin(angle);
			}
			if (bad)
				xy[2 * (size - 1)] = -2;
			compare_ring(xy, size, false, &counts);
		}
	free(xy);
	CHECK(counts.valid > 0 && counts.found > 0, "%ld of %ld valid rows", counts.found,
		  counts.valid);
}

/* Adds a triangle or square on a lattice. */
static void
add_small_ring(bool shell, int range, int size)
{
	const double x = check_below(range), y = check_below(range), a = 1 + check_below(size),
				 b = 1 + check_below(size);
	const double xy[] = {x, y, x + a, y, x + a, y + b, x, y + b};

	add_ring(shell, xy, 3 + (uint32_t) check_below(2));
}

/* Shells and holes that nest, overlap, touch, or lie apart; more of them than rows without a tree have */
static void
rows_of_rings(void)
{
	row_counts counts = {0, 0};

	for (long i = 0; i < check_rounds(200000); i++)
	{
		const int n = i % 8 == 0 ? 20 + check_below(10) : 1 + check_below(5);
		const int range = i % 8 == 0 ? 400 : 12;

		for (int k = 0; k < n; k++)
			if (i % 2 == 0 && k == 0)
				add_square(true, -1, -1, range + 10);
			else
				add_small_ring(k == 0 || check_below(2) == 0, range, 6);
		compare_row(true, &counts);
	}
	CHECK(counts.valid > 100 && counts.found > counts.valid / 2, "%ld of %ld valid rows",
		  counts.found, counts.valid);
}

/* A ring in a ring, again and again: a hole in its shell, and a shell in that hole, unless one is left out */
static void
nested_rings(void)
{
	row_counts counts = {0, 0};

	for (int n = 1; n < 16; n++)
		for (int out = 0; out <= n; out++)
		{
			for (int k = 0; k < n; k++)
				if (k != out || k == 0)
					add_square(k % 2 == 0, k, k, 100 - 2 * k);
			compare_row(true, &counts);
		}
	CHECK(counts.valid > 15 && counts.found == counts.valid, "%ld of %ld valid rows", counts.found,
		  counts.valid);
}

/* A spiral around islands, and islands around a spiral, which are left to the sweep */
static void
spirals(void)
{
	row_counts counts = {0, 0};
	double xy[2 * 400];

	for (uint32_t k = 0; k < 200; k++)
	{
		const double angle = 0.3 * k;

		xy[2 * k] = (10 + k) * cos(angle);
		xy[2 * k + 1] = (10 + k) * sin(angle);
		xy[2 * (399 - k)] = (10.5 + k) * cos(angle);
		xy[2 * (399 - k) + 1] = (10.5 + k) * sin(angle);
	}
	for (int islands = 0; islands < 40; islands++)
	{
		add_ring(true, xy, 400);
		for (int k = 0; k < islands; k++)
			add_square(true, -4 + k % 8, -4 + k / 8, 0.5);
		compare_row(false, &counts);
	}
	CHECK(counts.valid == 40, "%ld valid rows", counts.valid);
}

int
main(void)
{
	memory = rb_memory_create(UINT64_MAX);
	rb_context_init(&ctx, memory);
	rb_builder_init(&builder, memory, RB_EDGE2);
	CHECK_RUN(lattices);
	CHECK_RUN(stars);
	CHECK_RUN(long_rings);
	CHECK_RUN(rows_of_rings);
	CHECK_RUN(nested_rings);
	CHECK_RUN(spirals);
	rb_builder_free(&builder);
	CHECK(rb_memory_used(memory) == 0, "left behind");
	rb_memory_destroy(memory);
	return check_done();
}
