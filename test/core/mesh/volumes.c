/*
 * volumes.c
 *	  Tests that a mesh is wrong if the faces on a facet do not cover it exactly once, even where
 *	  this changes no volume.
 */
#include "check.h"
#include "fixtures.h"
#include "mesh/volumes.h"

#include <math.h>
#include <string.h>

#define CORNERS 13
#define FACETS 7
#define LONE 6 /* the last facet, inside the cube, away from its sides */

static rb_memory *memory;
static double points[CORNERS][3];
static uint32_t triangles[2 * FACETS][3], facet_of[2 * FACETS];

/*
 * Builds a cube with a square inside, turned if `turn` is set, so that its facets are flat only up
 * to rounding.
 */
static rb_plc
cube(bool turn)
{
	static const double at[CORNERS][3] = {
		{0, 0, 0},       {2, 0, 0},    {2, 2, 0},          {0, 2, 0},    {0, 0, 2},
		{2, 0, 2},       {2, 2, 2},    {0, 2, 2},          {1, .5, .25}, {1.25, .5, .25},
		{1.25, .75, .5}, {1, .75, .5}, {.125, .125, 1.125}};
	static const uint8_t quads[FACETS][4] = {{0, 3, 2, 1},  {4, 5, 6, 7}, {0, 1, 5, 4},
											 {1, 2, 6, 5},  {2, 3, 7, 6}, {3, 0, 4, 7},
											 {8, 9, 10, 11}};

	for (int i = 0; i < CORNERS; i++)
	{
		const double x = at[i][0], y = at[i][1], z = at[i][2];
		const double turned[3] = {.36 * x + .48 * y - .8 * z, -.8 * x + .6 * y,
								  .48 * x + .64 * y + .6 * z};

		memcpy(points[i], turn ? turned : at[i], sizeof points[i]);
	}
	for (uint32_t f = 0; f < FACETS; f++)
		for (uint32_t k = 0; k < 2; k++)
		{
			triangles[2 * f + k][0] = quads[f][0];
			triangles[2 * f + k][1] = quads[f][k + 1];
			triangles[2 * f + k][2] = quads[f][k + 2];
			facet_of[2 * f + k] = f;
		}
	return (rb_plc){.npoints = CORNERS,
					.ntriangles = 2 * FACETS,
					.nfacets = FACETS,
					.points = points[0],
					.triangles = (const uint32_t(*)[3]) triangles,
					.facet_of = facet_of};
}

/* Compares a mesh whose faces are n of the given ones. */
static rb_status
compare(const rb_plc *plc, const rb_tets *tets, const uint32_t (*faces)[3], const uint32_t *facet,
		uint32_t n, rb_flaw *flaw)
{
	rb_volumes_input in;
	rb_context ctx;

	rb_context_init(&ctx, memory);
	rb_volumes_of_plc(plc, tets, &in);
	in.faces = faces;
	in.face_facet = facet;
	in.nfaces = n;
	memset(flaw, 0, sizeof *flaw);
	return rb_volumes_check(&ctx, &in, flaw);
}

/* Returns true if the flaw is that the facet is not covered once. */
static bool
is_of_facet(rb_status status, const rb_flaw *flaw, uint32_t facet)
{
	return status == RB_BAD_PLC && flaw->kind == RB_FLAW_NOT_RECOVERED && flaw->a == facet &&
		   flaw->b == RB_NONE;
}

static void
areas(void)
{
	for (int turn = 0; turn < 2; turn++)
	{
		const rb_plc plc = cube(turn);
		uint32_t faces[64][3], facet[64];
		rb_context ctx;
		rb_tets tets;
		rb_flaw flaw;
		uint32_t n;

		rb_context_init(&ctx, memory);
		CHECK(rb_tetrahedralize(&ctx, &plc, RB_KEEP_INSIDE, &tets, &flaw) == RB_OK, "flaw %d",
			  flaw.kind);
		n = tets.nfaces;
		CHECK(n >= 2 * FACETS && n < 64, "%u faces", n);
		memcpy(faces, tets.faces, n * sizeof *faces);
		memcpy(facet, tets.face_facet, n * sizeof *facet);
		CHECK(compare(&plc, &tets, (const uint32_t(*)[3]) faces, facet, n, &flaw) == RB_OK,
			  "the mesh: flaw %d of %u, %g", flaw.kind, flaw.a, flaw.amount);
		/* A face twice */
		for (uint32_t f = 0; f < n; f++)
		{
			memcpy(faces[n], faces[f], sizeof faces[f]);
			facet[n] = facet[f];
			CHECK(
				is_of_facet(compare(&plc, &tets, (const uint32_t(*)[3]) faces, facet, n + 1, &flaw),
							&flaw, facet[f]),
				"face %u twice: flaw %d of %u", f, flaw.kind, flaw.a);
		}
		/* One face less, on a facet with the same region on both sides */
		for (uint32_t f = 0; f < n; f++)
		{
			const uint32_t last = n - 1, was = facet[f];

			if (was != LONE)
				continue;
			memcpy(faces[f], tets.faces[last], sizeof faces[f]);
			facet[f] = tets.face_facet[last];
			CHECK(
				is_of_facet(compare(&plc, &tets, (const uint32_t(*)[3]) faces, facet, last, &flaw),
							&flaw, was),
				"face %u is missing: flaw %d of %u", f, flaw.kind, flaw.a);
			memcpy(faces[f], tets.faces[f], sizeof faces[f]);
			facet[f] = was;
		}
		/* A face with the smallest difference: another corner, one rounding away */
		points[8][0] = nextafter(points[8][0], 9);
		CHECK(compare(&plc, &tets, (const uint32_t(*)[3]) faces, facet, n, &flaw) ==
				  (turn ? RB_OK : RB_BAD_PLC),
			  "one rounding: flaw %d of %u", flaw.kind, flaw.a);
		rb_tets_free(memory, &tets);
	}
	CHECK(rb_memory_used(memory) == 0, "%lu bytes left", (unsigned long) rb_memory_used(memory));
}

int
main(void)
{
	memory = rb_memory_create(UINT64_MAX);
	CHECK_RUN(areas);
	rb_memory_destroy(memory);
	return check_done();
}
