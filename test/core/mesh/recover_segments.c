/*
 * recover_segments.c
 *	  Tests that segments that are nearly parallel and very close do not cause many points.
 */
#include "check_tets.h"
#include "fixtures.h"
#include "mesh/weld.h"

#include <math.h>
#include <string.h>

#define NEEDLES 50

static rb_memory *memory;
static double points[3 * NEEDLES][3];
static uint32_t triangles[NEEDLES][3], facet_of[NEEDLES];
static uint32_t segments[2 * NEEDLES][2];

static double
random_sign(void)
{
	return check_random() * 0x1p-63 - 1;
}

/* Returns the PLC of the first n needles, or of n segments. */
static rb_plc
plc(uint32_t npoints, uint32_t ntriangles, uint32_t nsegments)
{
	return (rb_plc){.npoints = npoints,
					.ntriangles = ntriangles,
					.nfacets = ntriangles,
					.nsegments = nsegments,
					.points = (const double *) points,
					.triangles = (const uint32_t(*)[3]) triangles,
					.facet_of = facet_of,
					.segments = (const uint32_t(*)[2]) segments};
}

/* Meshes a PLC in which nothing meets, and checks that the mesh has at most `most` points. */
static void
expect_few(const char *name, rb_plc *from, uint32_t most)
{
	const rb_welded welded = {.plc = *from};
	rb_status status;
	rb_context ctx;
	rb_tets tets, again;
	rb_flaw flaw;

	rb_context_init(&ctx, memory);
	if (rb_weld_validate(&ctx, &rb_backend_cpu, &welded, &flaw) != RB_OK)
		return;
	rb_context_init(&ctx, memory);
	from->max_points = most;
	status = rb_tetrahedralize(&ctx, from, RB_KEEP_HULL, &tets, &flaw);
	CHECK(status == RB_OK, "%s: status %d, flaw %d", name, status, flaw.kind);
	if (status != RB_OK)
		return;
	check_tets(memory, name, from, RB_KEEP_HULL, &tets, RB_FAULT_KINDS);
	ctx.threads = 3;
	CHECK(rb_tetrahedralize(&ctx, from, RB_KEEP_HULL, &again, &flaw) == RB_OK &&
			  again.npoints == tets.npoints &&
			  memcmp(again.points, tets.points, 24 * (size_t) tets.npoints) == 0,
		  "%s: not the same twice", name);
	rb_tets_free(memory, &again);
	rb_tets_free(memory, &tets);
}

/* Tests triangles with two long sides and a short one, which all pass near one place. */
static void
needles(void)
{
	const long rounds = check_rounds(60);

	for (long round = 0; round < rounds; round++)
	{
		const uint32_t n = 3 + (uint32_t) check_below(8);
		const double width = pow(10, -3 - (double) check_below(5));
		rb_plc from = plc(3 * n, n, 0);
		char name[100];

		snprintf(name, sizeof name, "%u needles, %g wide", n, width);
		for (uint32_t i = 0; i < n; i++)
		{
			double(*p)[3] = points + 3 * (size_t) i;

			for (int k = 0; k < 3; k++)
			{
				p[0][k] = random_sign();
				p[1][k] = .1 * random_sign() - p[0][k];
				p[2][k] = p[1][k] + width * random_sign();
				triangles[i][k] = 3 * i + (uint32_t) k;
			}
			facet_of[i] = i;
		}
		expect_few(name, &from, 60 * n);
	}
}

/* Tests a bundle of segments that are nearly parallel. */
static void
bundles(void)
{
	const long rounds = check_rounds(60);

	for (long round = 0; round < rounds; round++)
	{
		const uint32_t n = 2 + (uint32_t) check_below(7);
		const double width = pow(10, -3 - (double) check_below(5));
		rb_plc from = plc(2 * n + 2, 0, n);
		char name[100];

		snprintf(name, sizeof name, "%u segments, %g apart", n, width);
		for (uint32_t i = 0; i < 2 * n; i++)
		{
			const double along = (i % 2 == 0 ? 1 : -1) * (1 + .3 * random_sign());

			for (int k = 0; k < 3; k++)
				points[i][k] = (k + 1) * along + width * random_sign();
			segments[i / 2][i % 2] = i;
		}
		for (uint32_t i = 0; i < 2; i++)
			for (int k = 0; k < 3; k++)
				points[2 * n + i][k] = (i == 0 ? 1 : -1) * (k == 0 ? 5 : 1);
		expect_few(name, &from, 40 * n);
	}
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 30);
	CHECK_RUN(needles);
	CHECK_RUN(bundles);
	rb_memory_destroy(memory);
	return check_done();
}
