/*
 * merge_nearly_flat.c
 *	  Tests that facets are merged within a tolerance, from the largest triangle on, and that meshes of
 *	  merged facets stay within it.
 */
#include "check_tets.h"
#include "fixtures.h"
#include "core/base/base.h"
#include "mesh/volumes.h"
#include "mesh/weld.h"
#include "refine/refine.h"
#include "weld_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double zero[3] = {0, 0, 0};

/* Tangent of one degree, rounded; the tolerance of a seed with a longest side of 1 */
#define TANGENT 0.017455064928217585

static rb_status
merge_at(rb_context *ctx, double degrees)
{
	const rb_merging how = {degrees > 0 ? RB_MERGE_NEARLY_FLAT : RB_MERGE_COPLANAR, degrees};

	return rb_weld_merge(ctx, &welded, how);
}

/* Welds and merges the rows, and returns the number of facets. */
static uint32_t
merged_at(double degrees)
{
	rb_context ctx = context(1);
	rb_status status = rb_weld(&ctx, &it.in, &welded, &flaw);

	CHECK(status == RB_OK, "weld: status %d, flaw %d", status, flaw.kind);
	status = merge_at(&ctx, degrees);
	CHECK(status == RB_OK, "merge: status %d", status);
	return welded.plc.nfacets;
}

static uint32_t
count_at(double degrees)
{
	const uint32_t n = merged_at(degrees);

	done();
	return n;
}

/* Adds two triangles over the base from 0 to 1; the second one rises to a height. */
static void
add_ramp(double length, double rise)
{
	clear();
	add_triangle(zero, P(1, 0, 0), P(0, 1, 0));
	add_triangle(P(1, 0, 0), P(length, length, rise), P(0, 1, 0));
}

/* ---- which facets are merged ---- */

static void
angles(void)
{
	double slope;

	add_ramp(0.75, 0.001);
	CHECK(count_at(0) == 2 && count_at(0.05) == 2 && count_at(1) == 1, "a small bend");
	/* The height of the far corner above the base edge, as a slope */
	slope = 0.25 * sqrt(2);
	add_ramp(0.75, slope * TANGENT * (1 + 1e-12));
	CHECK(count_at(1) == 2, "above one degree");
	add_ramp(0.75, slope * TANGENT * (1 - 1e-12));
	CHECK(count_at(1) == 1, "below one degree");
	/* The corner is within the angle, but too far from the plane. */
	clear();
	add_triangle(zero, P(1, 0, 0), P(0, 1, 0));
	add_triangle(P(1, 0, 0), P(0.51, 3, 0.0128), P(0, 1, 0));
	CHECK(count_at(1) == 1, "grows from the larger triangle");
	/* Triangles folded back on each other are never merged, whatever their orientation. */
	for (int i = 0; i < 2; i++)
	{
		clear();
		add_triangle(zero, P(1, 0, 0), P(0.3, 1, 0));
		if (i == 0)
			add_triangle(zero, P(1, 0, 0), P(0.7, 0.9, 1e-4));
		else
			add_triangle(P(1, 0, 0), zero, P(0.7, 0.9, 1e-4));
		CHECK(count_at(10) == 2, "folded %d", i);
	}
	/* Triangles of opposite orientation are merged and turned. */
	clear();
	add_triangle(zero, P(1, 0, 0), P(0, 1, 0));
	add_triangle(P(0, 1, 0), P(0.75, 0.75, 0.001), P(1, 0, 0));
	CHECK(merged_at(1) == 1 && welded.plc.tolerance != NULL, "turned");
	done();
}

/* A scale by a power of two changes nothing, as long as squared areas neither overflow nor underflow. */
static void
scales(void)
{
	static const int exponents[] = {0, -1000, -500, -200, 200, 500, 900};

	for (int i = 0; i < (int) (sizeof exponents / sizeof *exponents); i++)
		for (int k = 0; k < 2; k++)
		{
			const double one = ldexp(1, exponents[i]),
						 rise = 0.25 * sqrt(2) * TANGENT * (k == 0 ? 1 - 1e-12 : 1 + 1e-12);

			clear();
			add_triangle(zero, P(one, 0, 0), P(0, one, 0));
			add_triangle(P(one, 0, 0), P(0.75 * one, 0.75 * one, rise * one), P(0, one, 0));
			CHECK(exponents[i] < -200 || exponents[i] > 200 || count_at(1) == 1u + (uint32_t) k,
				  "2^%d, %d", exponents[i], k);
			(void) count_at(1);
		}
}

/* A chain of strips, each of which is nearly flat with the next, is not followed around. */
static void
chains(void)
{
	const int n = 64;
	uint32_t facets;

	clear();
	for (int i = 0; i < n; i++)
	{
		const double a = i * M_PI / n, b = (i + 1) * M_PI / n;

		add_quad(P(cos(a), sin(a), 0), P(cos(b), sin(b), 0), P(cos(b), sin(b), 1),
				 P(cos(a), sin(a), 1));
	}
	facets = count_at(3);
	CHECK(facets > 12 && facets < 64, "%u facets", facets);
	CHECK(count_at(0.1) == 64, "strips at an angle of 2.8 degrees");
}

static void
barriers(void)
{
	/* A given segment keeps its edge, and so does a third triangle. */
	add_ramp(0.75, 0.001);
	add_segment(P(1, 0, 0), P(0, 1, 0));
	CHECK(count_at(1) == 2, "segment");
	add_ramp(0.75, 0.001);
	add_triangle(P(1, 0, 0), P(0, 1, 0), P(0, 0, 5));
	CHECK(count_at(1) == 3, "third triangle");
	/* Rows of different groups are kept apart. */
	add_ramp(0.75, 0.001);
	add_triangle(P(5, 0, 0), P(6, 0, 0), P(5, 1, 0));
	it.ids[0] = 1;
	it.ids[1] = it.ids[2] = 2;
	it.facets.ids = it.ids;
	CHECK(count_at(1) == 3, "groups");
}

/* A bent polygon is flat to within the tolerance; merging can be undone in two steps. */
static void
undone(void)
{
	rb_context ctx = context(1);

	clear();
	add_quad(zero, P(1, 0, 0), P(1, 1, 0.001), P(0, 1, 0));
	add_triangle(P(1, 0, 0), P(2, 0, 0), P(1, 1, 0.001));
	add_triangle(P(2, 0, 0), P(2, 1, 0), P(1, 1, 0.001));
	add_triangle(P(0, 1, 0), P(0, 0, 0), P(-1, 0, 0));
	CHECK(merged_at(1) == 1, "all");
	CHECK(rb_weld_creases(&ctx, &welded) == RB_OK && welded.plc.nsegments == 0, "no creases");
	CHECK(welded.plc.tolerance[0] > 0.01 && welded.farthest >= 0.0005 &&
			  welded.farthest <= welded.plc.tolerance[0] / 2,
		  "farthest %g", welded.farthest);
	CHECK(rb_weld_is_merged(&welded) && rb_weld_unmerge(&ctx, &welded) == RB_OK, "unmerge");
	CHECK(welded.plc.nfacets == 4 && welded.plc.tolerance == NULL, "%u facets", welded.plc.nfacets);
	CHECK(rb_weld_creases(&ctx, &welded) == RB_OK && welded.plc.nsegments == 1, "a crease");
	CHECK(rb_weld_unmerge(&ctx, &welded) == RB_OK && !rb_weld_is_merged(&welded), "unmerge again");
	CHECK(welded.plc.nfacets == welded.npolygons, "polygons");
	done();
}

static void
none(void)
{
	rb_context ctx = context(1);

	add_ramp(1, 0);
	CHECK(rb_weld(&ctx, &it.in, &welded, &flaw) == RB_OK, "weld");
	CHECK(rb_weld_merge(&ctx, &welded, (rb_merging){.kind = RB_MERGE_NONE}) == RB_OK &&
			  welded.plc.nfacets == 2,
		  "%u facets", welded.plc.nfacets);
	done();
}

/* ---- meshes ---- */

/* Height of the upper side of a slab, bent by up to a fraction of its size */
static double
height(int x, int y, double bend)
{
	return 1 + bend * (((x * 7 + y * 13) % 5) - 2);
}

/* Adds a slab whose upper side is a bent lattice of n by n squares. */
static void
add_slab(int n, double bend)
{
	clear();
	for (int x = 0; x < n; x++)
		for (int y = 0; y < n; y++)
			for (int k = 0; k < 2; k++)
			{
				const int u = x + 1, v = y + 1, w = x + (k == 0), z = y + (k != 0);

				if (k == 0)
				{
					add_triangle(P(x, y, height(x, y, bend)), P(w, z, height(w, z, bend)),
								 P(u, v, height(u, v, bend)));
					add_triangle(P(x, y, 0), P(u, v, 0), P(w, z, 0));
				}
				else
				{
					add_triangle(P(x, y, height(x, y, bend)), P(u, v, height(u, v, bend)),
								 P(w, z, height(w, z, bend)));
					add_triangle(P(x, y, 0), P(w, z, 0), P(u, v, 0));
				}
			}
	for (int i = 0; i < n; i++)
	{
		const int j = i + 1;

		add_quad(P(i, 0, 0), P(j, 0, 0), P(j, 0, height(j, 0, bend)), P(i, 0, height(i, 0, bend)));
		add_quad(P(j, n, 0), P(i, n, 0), P(i, n, height(i, n, bend)), P(j, n, height(j, n, bend)));
		add_quad(P(0, j, 0), P(0, i, 0), P(0, i, height(0, i, bend)), P(0, j, height(0, j, bend)));
		add_quad(P(n, i, 0), P(n, j, 0), P(n, j, height(n, j, bend)), P(n, i, height(n, i, bend)));
	}
}

/* Meshes and refines the slab, and returns the number of points. */
static uint32_t
mesh_slab(int threads, double degrees, bool refine, rb_tets *t)
{
	rb_context ctx = context(threads);
	const rb_refine_options o = {
		.radius_edge = 2, .max_volume = 0.1, .threads = threads, .max_points = 20000};
	rb_refine_report report;
	rb_volumes_input in;
	uint32_t n = 0;

	(void) merged_at(degrees);
	CHECK(rb_weld_creases(&ctx, &welded) == RB_OK, "creases");
	CHECK(rb_tetrahedralize(&ctx, &welded.plc, RB_KEEP_INSIDE, t, &flaw) == RB_OK, "flaw %d",
		  flaw.kind);
	CHECK(!refine || rb_refine(&ctx, &o, t, &report) == RB_OK, "refine");
	rb_volumes_of_plc(&welded.plc, t, &in);
	CHECK(rb_volumes_check(&ctx, &in, &flaw) == RB_OK, "flaw %d: %g > %g", flaw.kind, flaw.amount,
		  flaw.limit);
	(void) check_tets(memory, "slab", &welded.plc, RB_KEEP_INSIDE, t, RB_FAULT_KINDS);
	n = t->npoints;
	rb_welded_free(memory, &welded);
	return n;
}

static void
slabs(void)
{
	rb_tets t[2];
	uint32_t n[2];

	add_slab(6, 1e-4);
	n[0] = mesh_slab(1, 0, true, &t[0]);
	rb_tets_free(memory, &t[0]);
	n[1] = mesh_slab(1, 0.1, true, &t[0]);
	CHECK(n[1] <= n[0], "%u points, %u without merging", n[1], n[0]);
	(void) mesh_slab(7, 0.1, true, &t[1]);
	CHECK(t[0].npoints == t[1].npoints && t[0].ntets == t[1].ntets &&
			  memcmp(t[0].points, t[1].points, 3 * sizeof(double) * t[0].npoints) == 0 &&
			  memcmp(t[0].tets, t[1].tets, sizeof *t[0].tets * t[0].ntets) == 0,
		  "another mesh on 7 threads");
	rb_tets_free(memory, &t[0]);
	rb_tets_free(memory, &t[1]);
	CHECK(rb_memory_used(memory) == 0, "%lu bytes left", (unsigned long) rb_memory_used(memory));
}

/*
 * Tests that the mesh of a convex body is refined although it does not remain convex: the top is four
 * triangles that form one facet, and refinement flips the edges between them.
 */
static void
tent(void)
{
	const double middle[3] = {1.6, 1.8, 1.00002};
	rb_tets t;

	clear();
	for (int i = 0; i < 4; i++)
	{
		const int j = (i + 1) % 4;
		const double x = i == 1 || i == 2 ? 4 : 0, y = i >= 2 ? 4 : 0;
		const double u = j == 1 || j == 2 ? 4 : 0, v = j >= 2 ? 4 : 0;

		add_triangle(P(x, y, 1), P(u, v, 1), P(middle[0], middle[1], middle[2]));
		add_quad(P(x, y, 0), P(u, v, 0), P(u, v, 1), P(x, y, 1));
	}
	add_quad(P(0, 4, 0), P(4, 4, 0), P(4, 0, 0), P(0, 0, 0));
	CHECK(mesh_slab(1, 0.1, true, &t) > 20, "%u points", t.npoints);
	rb_tets_free(memory, &t);
}

static rb_status
merge(rb_context *ctx)
{
	return merge_at(ctx, 1);
}

static void
limits(void)
{
	add_slab(6, 1e-4);
	try_limits(1000, 8, merge);
}

/*
 * Makes a flat lattice of n by n squares the rows, so small that each of its triangles is compared with
 * the plane of the seed exactly, which takes long. The caller frees the arrays.
 */
static void
make_lattice(uint32_t n, double (**coords)[9], uint32_t **row)
{
	const double one = 0x1p-250;
	uint32_t k = 0;

	*coords = malloc(2 * (size_t) n * n * sizeof **coords);
	*row = malloc(2 * (size_t) n * n * sizeof **row);
	for (uint32_t i = 0; i < n * n; i++)
		for (uint32_t half = 0; half < 2; half++)
		{
			const double x = one * (i % n), y = one * (i / n);
			const double t[9] = {
				x, y, 0, x + one, half == 0 ? y : y + one, 0, half == 0 ? x + one : x, y + one, 0};

			memcpy((*coords)[k], t, sizeof t);
			(*row)[k] = k;
			k++;
		}
	clear();
	it.facets.coords = (*coords)[0];
	it.facets.row_of = *row;
	it.facets.face_of = NULL;
	it.facets.nparts = it.facets.nrows = k;
}

/* A stop takes effect soon, also within a facet of many triangles. */
static void
stops(void)
{
	const long n = check_rounds(8);
	double(*coords)[9];
	uint32_t *row;
	stop_delay delay = {0};
	double whole = 0;
	long stopped = 0;
	bool again;

	make_lattice(400, &coords, &row);
	for (long k = 0; k <= n; k += !again)
	{
		rb_context ctx = context(1);
		double start, late;
		rb_status status = rb_weld(&ctx, &it.in, &welded, &flaw);
		stopper s;

		CHECK(status == RB_OK, "weld: status %d", status);
		start = thread_work_ms();
		stop_after(&s, &ctx, k == 0 ? 1e9 : whole * ((double) k - 0.5) / (double) n);
		status = merge_at(&ctx, 1);
		late = stop_done(&s);
		whole = k == 0 ? thread_work_ms() - start : whole;
		again = repeats_late_stop(&delay, late, 50);
		stopped += status == RB_STOPPED;
		if (k == n && stopped == 0 && whole > 1)
		{
			/* The whole work was measured too long, so that all stops came too late. */
			whole /= 2;
			again = true;
		}
		CHECK(status == RB_OK || (late >= 0 && status == RB_STOPPED), "status %d", status);
		CHECK(k > 0 || welded.plc.nfacets == 1, "%u facets", welded.plc.nfacets);
		rb_welded_free(memory, &welded);
		CHECK(rb_memory_used(memory) == 0, "%lu bytes left",
			  (unsigned long) rb_memory_used(memory));
	}
	printf("# %.0f ms, %ld of %ld stopped, at most %.1f ms late\n", whole, stopped, n,
		   delay.worst_ms);
	CHECK(stopped > 0 && delay.worst_ms < 50, "%ld stopped, %g ms late", stopped, delay.worst_ms);
	free(coords);
	free(row);
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 30);
	CHECK_RUN(angles);
	CHECK_RUN(scales);
	CHECK_RUN(chains);
	CHECK_RUN(barriers);
	CHECK_RUN(undone);
	CHECK_RUN(none);
	CHECK_RUN(slabs);
	CHECK_RUN(tent);
	CHECK_RUN(limits);
	CHECK_RUN(stops);
	rb_memory_destroy(memory);
	return check_done();
}
