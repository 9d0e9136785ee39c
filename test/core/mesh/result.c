/*
 * result.c
 *	  Tests that rb_tets_connect finds in a mesh what rb_tetrahedralize knew of it.
 */
#include "check.h"
#include "core/base/base.h"
#include "mesh/tetrahedralize.h"

#include <math.h>
#include <string.h>

static rb_context ctx;

/*
 * Two rooms with a common wall, a line in the first, an isolated facet in the second; and random
 * points
 */
#define CORNERS 17
#define LOOSE 200

static const double corner[CORNERS][3] = {{0, 0, 0},   {0, 4, 0}, {0, 4, 3}, {0, 0, 3}, {5, 0, 0},
										  {5, 4, 0},   {5, 4, 3}, {5, 0, 3}, {9, 0, 0}, {9, 4, 0},
										  {9, 4, 3},   {9, 0, 3}, {1, 1, 1}, {4, 3, 2}, {6, 1, 1},
										  {8, 1, 1.5}, {7, 3, 2}};

static const uint32_t square[11][4] = {{0, 1, 2, 3},  {4, 5, 6, 7}, {8, 9, 10, 11}, {0, 1, 5, 4},
									   {4, 5, 9, 8},  {0, 4, 7, 3}, {4, 8, 11, 7},  {1, 2, 6, 5},
									   {5, 6, 10, 9}, {2, 3, 7, 6}, {6, 7, 11, 10}};

static uint64_t seed = 1;

static double
random_below(double most)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double) (seed >> 11) * 0x1p-53 * most;
}

static void
compare(bool points, rb_keep keep)
{
	double p[CORNERS + LOOSE][3];
	uint32_t triangles[23][3], facet_of[23], segments[1][2] = {{12, 13}}, n = 0;
	rb_plc plc = {.npoints = 17,
				  .ntriangles = 23,
				  .nfacets = 12,
				  .nsegments = 1,
				  .points = p[0],
				  .triangles = (const uint32_t(*)[3]) triangles,
				  .facet_of = facet_of,
				  .segments = (const uint32_t(*)[2]) segments};
	rb_tets tets;
	rb_flaw flaw;
	rb_status status;
	uint32_t *neighbours, *facets;
	uint64_t used;

	memcpy(p, corner, sizeof(corner));
	for (uint32_t i = 0; i < 11; i++)
		for (uint32_t k = 0; k < 2; k++)
		{
			triangles[n][0] = square[i][0];
			triangles[n][1] = square[i][1 + k];
			triangles[n][2] = square[i][2 + k];
			facet_of[n++] = i;
		}
	triangles[n][0] = 14, triangles[n][1] = 15, triangles[n][2] = 16;
	facet_of[n] = 11;
	if (points)
		for (; plc.npoints < 17 + LOOSE; plc.npoints++)
			for (int j = 0; j < 3; j++)
				p[plc.npoints][j] = 0.01 + random_below(j == 0 ? 8.9 : j == 1 ? 3.9 : 2.9);
	status = rb_tetrahedralize(&ctx, &plc, keep, &tets, &flaw);
	CHECK(status == RB_OK && tets.ntets > 12 && tets.nedges > 20, "%s", rb_status_text(status));
	if (status != RB_OK)
		return;
	neighbours = tets.neighbours;
	facets = tets.segment_facet;
	status = rb_tets_connect(&ctx, plc.nfacets, &tets);
	CHECK(status == RB_OK, "%s", rb_status_text(status));
	CHECK(memcmp(neighbours, tets.neighbours, tets.ntets * sizeof(uint32_t[4])) == 0, "neighbours");
	CHECK(memcmp(facets, tets.segment_facet, tets.nsegments * sizeof(uint32_t)) == 0, "facets");
	rb_free(ctx.memory, (void **) &tets.neighbours);
	rb_free(ctx.memory, (void **) &tets.segment_facet);

	/* A failure leaves nothing behind. */
	used = rb_memory_used(ctx.memory);
	memcpy(tets.tets[1], tets.tets[0], sizeof(tets.tets[0]));
	memcpy(tets.tets[2], tets.tets[0], sizeof(tets.tets[0]));
	status = rb_tets_connect(&ctx, plc.nfacets, &tets);
	CHECK(status == RB_BAD_PLC, "three tetrahedra on a face: %s", rb_status_text(status));
	CHECK(tets.neighbours == NULL && tets.segment_facet == NULL, "something is left");
	rb_context_stop(&ctx);
	CHECK(rb_tets_connect(&ctx, plc.nfacets, &tets) == RB_STOPPED, "it goes on");
	CHECK(rb_memory_used(ctx.memory) == used, "%d bytes", (int) rb_memory_used(ctx.memory));
	rb_context_init(&ctx, ctx.memory);
	tets.neighbours = neighbours;
	tets.segment_facet = facets;
	rb_tets_free(ctx.memory, &tets);
}

static void
rooms(void)
{
	compare(false, RB_KEEP_INSIDE);
	compare(false, RB_KEEP_HULL);
}

static void
rooms_with_points(void)
{
	for (int i = 0; i < 20; i++)
		compare(true, i % 2 == 0 ? RB_KEEP_INSIDE : RB_KEEP_HULL);
}

/* Tests many tetrahedra around one point, whose bucket is sorted by another method. */
static void
fan(void)
{
	enum
	{
		N = 2000
	};
	double p[N + 2][3];
	rb_plc plc = {.npoints = N + 2, .points = p[0]};
	rb_tets tets;
	rb_flaw flaw;
	rb_status status;
	uint32_t *neighbours;

	for (uint32_t i = 0; i < N; i++)
		for (int j = 0; j < 3; j++)
			p[i + 2][j] = j == 2 ? 0 : cos(i * 2 * M_PI / N + j * M_PI / 2) * 10;
	p[0][0] = p[0][1] = p[1][0] = p[1][1] = 0;
	p[0][2] = 0.5;
	p[1][2] = -0.5;
	status = rb_tetrahedralize(&ctx, &plc, RB_KEEP_HULL, &tets, &flaw);
	CHECK(status == RB_OK && tets.ntets >= N, "%s", rb_status_text(status));
	if (status != RB_OK)
		return;
	neighbours = tets.neighbours;
	rb_free(ctx.memory, (void **) &tets.segment_facet);
	status = rb_tets_connect(&ctx, 0, &tets);
	CHECK(status == RB_OK, "%s", rb_status_text(status));
	CHECK(memcmp(neighbours, tets.neighbours, tets.ntets * sizeof(uint32_t[4])) == 0, "neighbours");
	rb_free(ctx.memory, (void **) &neighbours);
	rb_tets_free(ctx.memory, &tets);
}

int
main(void)
{
	rb_context_init(&ctx, rb_memory_create(UINT64_MAX));
	CHECK_RUN(rooms);
	CHECK_RUN(rooms_with_points);
	CHECK_RUN(fan);
	CHECK(rb_memory_used(ctx.memory) == 0, "%d bytes", (int) rb_memory_used(ctx.memory));
	rb_memory_destroy(ctx.memory);
	return check_done();
}
