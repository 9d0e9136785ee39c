/*
 * facet_gap.c
 *	  Tests which two facets an error about a lack of doubles names: the gap is the smallest one near
 *	  the flaw, and splitting or another origin is the remedy where a mesh fails.
 */
#include "fixtures.h"
#include "core/primitive/distance.h"
#include "mesh/weld.h"
#include "weld_rows.h"

#include <math.h>
#include <string.h>

static rb_facet_gap gap;

/* Welds the current rows and finds the gap near a location. */
static void
find_gap(const double *at)
{
	rb_context ctx = context(1);

	CHECK(rb_weld(&ctx, &it.in, &welded, &flaw) == RB_OK, "flaw %d", flaw.kind);
	memcpy(flaw.at, at, sizeof flaw.at);
	CHECK(rb_weld_find_gap(&ctx, &welded, &flaw, &gap) == RB_OK, "status");
	CHECK(ctx.error.status == RB_OK, "error %d", ctx.error.status);
}

/* Tests facets that have no common corner, one, or two. */
static void
corners(void)
{
	clear();
	add_triangle(P(0, 0, 0), P(4, 0, 0), P(0, 4, 0));
	find_gap(P(1, 1, 0));
	CHECK(gap.polygon[0] == gap.polygon[1] && gap.spacing == 0x1p-52, "one facet");
	done();

	add_triangle(P(0, 0, .5), P(4, 0, .5), P(0, 4, .5));
	add_triangle(P(0, 0, 9), P(4, 0, 9), P(0, 4, 9.25));
	find_gap(P(1, 1, .25));
	CHECK(gap.polygon[0] == 0 && gap.polygon[1] == 1 && gap.gap == .5 && gap.spacing == 0x1p-52,
		  "parallel: facets %u and %u, %g", gap.polygon[0], gap.polygon[1], gap.gap);
	done();

	clear();
	add_triangle(P(9, 9, 9), P(8, 9, 9), P(9, 8, 9));
	add_triangle(P(0, 0, 0), P(4, 0, 0), P(0, 4, 0));
	add_triangle(P(0, 0, 0), P(4, 0, 0), P(0, 4, 0x1p-20));
	find_gap(P(1, 0, 0));
	CHECK(gap.polygon[0] == 1 && gap.polygon[1] == 2 && gap.gap < 0x1p-20 &&
			  gap.gap > 0x1p-20 * (1 - 0x1p-40),
		  "common edge: facets %u and %u, %g", gap.polygon[0], gap.polygon[1], gap.gap);
	done();

	clear();
	add_triangle(P(0, 0, 0), P(4, 0, 0), P(0, 4, 0));
	add_triangle(P(0, 0, 0), P(4, 0, .125), P(0, 4, .25));
	find_gap(P(1, 0, 0));
	CHECK(gap.polygon[1] == 1 && gap.gap > .124 && gap.gap < .125, "common corner: %g", gap.gap);
	done();
}

/* Compares with the distances of all pairs of triangles, if there are few. */
static void
all_pairs(void)
{
	const long rounds = check_rounds(400);

	check_state = 5;
	for (long round = 0; round < rounds; round++)
	{
		const uint32_t n = 2 + check_below(6);
		rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
		double least = INFINITY;

		clear();
		for (uint32_t i = 0; i < n; i++)
		{
			double p[3][3];

			/* Layers keep triangles apart. */
			for (int k = 0; k < 9; k++)
				p[k / 3][k % 3] = random_unit() + (k % 3 == 2 ? 1.5 * i : 0);
			add_triangle(p[0], p[1], p[2]);
		}
		find_gap(P(random_unit(), random_unit(), 1.5 * n * random_unit()));
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = i + 1; k < n; k++)
			{
				rb_hulls h = {.n = {3, 3}};
				double distance;

				memcpy(h.corner[0], it.triangles[i], sizeof it.triangles[i]);
				memcpy(h.corner[3], it.triangles[k], sizeof it.triangles[k]);
				CHECK(rb_hulls_distance(&env, &h, &distance) == RB_YES, "unsure");
				least = fmin(least, distance);
			}
		CHECK(gap.gap == least, "%g instead of %g", gap.gap, least);
		done();
	}
}

/* ---- facets between which doubles have no room ---- */

/* Adds two nearly parallel facets on a map, 8e-10 apart, moved by an offset. */
static void
add_close_facets(const double *offset)
{
	static const double p[8][3] = {
		{0x1.7e98110dd0d48p+18, 0x1.633b3cf6f546fp+22, 0x1.1087bea5f9617p+5},
		{0x1.7e98145dcfdaap+18, 0x1.633b4026849c2p+22, 0x1.18b8110015a82p+5},
		{0x1.7e9860d95da45p+18, 0x1.633b3fdfe0fe5p+22, 0x1.1cbbe25c57c1dp+5},
		{0x1.7e988cce3309fp+18, 0x1.633b3c84a95fp+22, 0x1.1706c9f3ddcf2p+5},
		{0x1.7e985b7d47757p+18, 0x1.633b3ab84677p+22, 0x1.0f7bf6e826c0fp+5},
		{0x1.7e97fe77d2bd9p+18, 0x1.633b3e11c9822p+22, 0x1.1227d742e9f0ap+5},
		{0x1.7e98559b856cp+18, 0x1.633b3fe1c78e4p+22, 0x1.1c0f8dc204d1ep+5},
		{0x1.7e986c4a29726p+18, 0x1.633b3ae790221p+22, 0x1.10fb26cea18e3p+5}};
	double q[8][3];

	for (int i = 0; i < 24; i++)
		q[i / 3][i % 3] = p[i / 3][i % 3] - offset[i % 3];
	clear();
	it.in.skip_flat = true;
	begin_row();
	it.nfaces = 1;
	for (int i = 1; i < 4; i++)
		put_triangle(q[0], q[i], q[i + 1]);
	add_triangle(q[5], q[6], q[7]);
}

/* Meshes the current rows, which do not cross. */
static rb_status
mesh_close_facets(bool split)
{
	rb_context ctx = context(1);
	rb_resplit *resplit = NULL;
	rb_split_done did;
	rb_tets tets;
	rb_status status = rb_weld(&ctx, &it.in, &welded, &flaw);

	CHECK(status == RB_OK && rb_weld_validate(&ctx, &rb_backend_cpu, &welded, &flaw) == RB_OK,
		  "the facets cross");
	for (bool raised = true; raised;)
	{
		if (split)
			status = rb_resplit_run(&ctx, &rb_backend_cpu, &resplit, &welded, &did, &flaw);
		CHECK(status == RB_OK && rb_weld_creases(&ctx, &welded) == RB_OK, "status %d", status);
		status = rb_tetrahedralize(&ctx, &welded.plc, RB_KEEP_HULL, &tets, &flaw);
		rb_forget_failure(&ctx);
		raised = status == RB_BAD_PLC && rb_resplit_raise(resplit, &flaw);
	}
	rb_resplit_free(memory, &resplit);
	CHECK(rb_weld_find_gap(&ctx, &welded, &flaw, &gap) == RB_OK, "gap");
	if (status == RB_OK)
		rb_tets_free(memory, &tets);
	done();
	return status;
}

/* Tests that a mesh that fails names its facets, and that both remedies of the hint help. */
static void
no_room(void)
{
	add_close_facets(P(0, 0, 0));
	CHECK(mesh_close_facets(false) == RB_BAD_PLC && flaw.kind == RB_FLAW_TOO_NEAR, "flaw %d",
		  flaw.kind);
	CHECK(gap.polygon[0] == 0 && gap.polygon[1] == 1 && gap.gap > 0 && gap.gap < 0x1p-26 &&
			  gap.spacing == 0x1p-30,
		  "facets %u and %u, gap %g, spacing %g", gap.polygon[0], gap.polygon[1], gap.gap,
		  gap.spacing);
	CHECK(mesh_close_facets(true) == RB_OK, "splitting does not help: flaw %d", flaw.kind);
	add_close_facets(P(391776, 5820110, 34));
	CHECK(mesh_close_facets(false) == RB_OK, "an offset does not help: flaw %d", flaw.kind);
}

/* Tests that a stop ends the search. */
static void
stop(void)
{
	rb_context ctx = context(1);

	clear();
	for (int i = 0; i < 2000; i++)
		add_triangle(P(i, 0, 0), P(i + .5, 0, 0), P(i, 1, 0));
	CHECK(rb_weld(&ctx, &it.in, &welded, &flaw) == RB_OK, "weld");
	rb_context_stop(&ctx);
	CHECK(rb_weld_find_gap(&ctx, &welded, &flaw, &gap) == RB_STOPPED, "no stop");
	done();
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 30);
	CHECK_RUN(corners);
	CHECK_RUN(all_pairs);
	CHECK_RUN(no_room);
	CHECK_RUN(stop);
	rb_memory_destroy(memory);
	return check_done();
}
