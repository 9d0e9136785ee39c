/*
 * simple_ring.c
 *	  Compares the test of simple rings with the sweep, on rings of which many are degenerate.
 */
#include "core/plane/plane.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "build_polygons.h"
#include "fixtures.h"

#define MOST_POINTS 24

/* Number of rings that are simple by the sweep, and of those that the test finds */
typedef struct ring_counts
{
	long simple;
	long found;
} ring_counts;

/* Compares the test of a ring of n points with the sweep; `all` if the ring is small enough to be decided. */
static void
compare_ring(const double *xy, uint32_t n, bool all, ring_counts *counts)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	rb_polygon_sweep sweep = {.root = 0};
	rb_polygon_place fault = {.fault = RB_POLYGON_GOOD};
	rb_rings rings;
	rb_thread *team;
	const rb_set *set;
	bool simple, found;

	add_ring(true, xy, n);
	end_row(1);
	set = end_polygons();
	CHECK(rb_team_open(&ctx, 1, &team) == RB_OK, "no team");
	CHECK(rb_rings_open(&ctx, team, set, &rings) == RB_OK, "%s", ctx.error.text);
	CHECK(rb_sweep_polygon(&sweep, &ctx, &rings, 0, &fault) == RB_OK, "%s", ctx.error.text);
	simple = fault.fault == RB_POLYGON_GOOD;
	found = rb_is_ring_simple(&env, &rings, &rings.ring[0]);
	CHECK(simple || !found, "a ring of %u points with fault %d is simple", n, (int) fault.fault);
	CHECK(!all || found == simple, "a simple ring of %u points is not found", n);
	counts->simple += simple;
	counts->found += found;
	rb_sweep_close(memory, &sweep);
	rb_rings_close(memory, &rings);
	rb_team_close(&team);
	rb_set_release(&set);
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
	ring_counts counts = {0, 0};

	for (long i = 0; i < check_rounds(300000); i++)
	{
		const uint32_t n = 3 + (uint32_t) check_below(6);
		const int size = 2 + check_below(4);
		double xy[2 * MOST_POINTS];

		for (uint32_t k = 0; k < 2 * n; k++)
			xy[k] = check_below(size);
		if (has_edges(xy, n))
			compare_ring(xy, n, n < 6, &counts);
	}
	CHECK(counts.simple > 1000 && counts.found > counts.simple / 2, "%ld of %ld simple rings",
		  counts.found, counts.simple);
}

/* Stars, some of whose points are moved onto other ones or onto lattice points */
static void
stars(void)
{
	ring_counts counts = {0, 0};

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
	CHECK(counts.simple > 100 && counts.found > 0, "%ld of %ld simple rings", counts.found,
		  counts.simple);
}

/* A long ring, which stays within the limits or exceeds them, with a fault at its end or without one */
static void
long_rings(void)
{
	const uint32_t n = 40000;
	ring_counts counts = {0, 0};
	double *xy = calloc(2 * (size_t) n, sizeof *xy);

	for (int bad = 0; bad < 2; bad++)
		for (uint32_t size = 10; size <= n; size *= 2)
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
	CHECK(counts.simple > 0 && counts.found > 0, "%ld of %ld simple rings", counts.found,
		  counts.simple);
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
	rb_builder_free(&builder);
	CHECK(rb_memory_used(memory) == 0, "left behind");
	rb_memory_destroy(memory);
	return check_done();
}
