/*
 * weld_near.c
 *	  Tests that points nearer than a distance are joined: groups, wide groups, ties, and what becomes
 *	  of facets.
 */
#include "fixtures.h"
#include "core/base/base.h"
#include "mesh/weld.h"
#include "weld_rows.h"

#include <math.h>
#include <string.h>

/* Joins points on a line and compares what they become. */
static void
expect_line(const double *x, uint32_t n, double distance, const uint32_t *wanted, uint32_t split)
{
	rb_context ctx = context(2);
	double points[16][3];
	uint32_t to[16];
	rb_near_report report;

	for (uint32_t i = 0; i < n; i++)
	{
		points[i][0] = x[i];
		points[i][1] = 3;
		points[i][2] = -2;
	}
	CHECK(rb_weld_near(&ctx, points[0], n, distance, to, &report) == RB_OK, "status");
	CHECK(memcmp(to, wanted, n * sizeof *to) == 0, "%u %u %u %u", to[0], to[1], to[2], to[3]);
	CHECK(report.split == split, "%u groups split", report.split);
	CHECK(rb_memory_used(memory) == 0, "bytes left");
}

static void
groups(void)
{
	/* The distance itself is near enough, and the next double is not. */
	expect_line((const double[]){0, 1, 5}, 3, 1, (const uint32_t[]){0, 0, 2}, 0);
	expect_line((const double[]){0, 1 + 0x1p-52, 5}, 3, 1, (const uint32_t[]){0, 1, 2}, 0);
	/* A chain that is not wider than twice the distance becomes its first point. */
	expect_line((const double[]){2, 1, 0, 9}, 4, 1, (const uint32_t[]){0, 0, 0, 3}, 0);
	expect_line((const double[]){1, 2, 0, 9}, 4, 1, (const uint32_t[]){0, 0, 0, 3}, 0);
	/* A wider one is split by the nearest kept point, ties going to the lower number. */
	expect_line((const double[]){0, 1, 2, 3, 4}, 5, 1, (const uint32_t[]){0, 0, 2, 2, 4}, 1);
	expect_line((const double[]){0, 0.9, 1.5, 2.3}, 4, 1, (const uint32_t[]){0, 2, 2, 2}, 1);
	/* Small and large distances */
	expect_line((const double[]){0, 0x1p-1074, 1}, 3, 0x1p-1074, (const uint32_t[]){0, 0, 2}, 0);
	expect_line((const double[]){-1e308, 1e308, 0}, 3, 1e307, (const uint32_t[]){0, 1, 2}, 0);
	/* Twice the distance is not a double. */
	expect_line((const double[]){-1e308, 1e308, 0}, 3, 1.1e308, (const uint32_t[]){0, 0, 0}, 0);
	expect_line((const double[]){-1.2e308, 1e308, -1e308, 0}, 4, 1.05e308,
				(const uint32_t[]){0, 1, 0, 1}, 1);
}

static rb_status
weld_at(double distance)
{
	rb_context ctx = context(1);

	it.in.distance = distance;
	return rb_weld(&ctx, &it.in, &welded, &flaw);
}

static void
facets(void)
{
	clear();
	add_triangle(P(0, 0, 0), P(1, 0, 0), P(0, 1, 0));
	add_triangle(P(1, 1e-4, 0), P(1, 1, 0), P(1e-4, 1, 1e-4));
	/* A double of the second one, and a triangle that loses its area */
	add_triangle(P(1, 1, 1e-4), P(1e-4, 1, 0), P(1, 0, 1e-4));
	add_triangle(P(0, 0, 0), P(1e-4, 0, 1e-4), P(0.5, -1, 0));
	/* A polygon that exists as two triangles */
	add_triangle(P(3, 0, 0), P(4, 0, 0), P(4, 1, 0));
	add_triangle(P(3, 0, 0), P(4, 1, 0), P(3, 1, 0));
	add_quad(P(3, 0, 0), P(4, 0, 1e-4), P(4, 1, 0), P(3, 1, 0));
	add_segment(P(0, 0, 0), P(1e-4, 0, 0));
	CHECK(weld_at(1e-3) == RB_OK, "flaw %d", flaw.kind);
	CHECK(welded.plc.npoints == 9 && welded.plc.nfacets == 4 && welded.plc.nsegments == 0,
		  "%u points, %u facets", welded.plc.npoints, welded.plc.nfacets);
	CHECK(welded.same_facets == 2 && welded.no_area == 1 && welded.no_length == 1, "dropped");
	CHECK(welded.near.moved > 4 && welded.near.move > 1e-4 && welded.near.move < 3e-4, "moved %g",
		  welded.near.move);
	/* The corners of the first row stay. */
	CHECK(memcmp(welded.plc.points, it.triangles[0], sizeof it.triangles[0]) == 0, "first row");
	for (uint32_t t = 0; t < welded.plc.ntriangles; t++)
		for (int k = 0; k < 3; k++)
			CHECK(welded.plc.triangles[t][k] < welded.plc.npoints, "triangle %u", t);
	done();
	CHECK(weld_at(0) == RB_OK && welded.plc.nfacets == 7 && welded.near.moved == 0, "exactly");
	done();
}

static rb_status
nothing(rb_context *ctx)
{
	(void) ctx;
	return RB_OK;
}

static void
limits(void)
{
	clear();
	for (int i = 0; i < 200; i++)
		add_triangle(P(i, 0, 0), P(i + 1 + 1e-4 * (i % 3), 0, 0), P(i, 1, 1e-4 * (i % 2)));
	it.in.distance = 1e-2;
	try_limits(1000, 8, nothing);
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 30);
	CHECK_RUN(groups);
	CHECK_RUN(facets);
	CHECK_RUN(limits);
	rb_memory_destroy(memory);
	return check_done();
}
