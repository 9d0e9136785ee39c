/*
 * weld.c
 *	  Tests that rows become a PLC, and that its flaws are found and named.
 */
#include "fixtures.h"
#include "core/base/base.h"
#include "core/intersection/intersection.h"
#include "mesh/weld.h"
#include "weld_rows.h"

#include <math.h>
#include <string.h>

/* ---- input ---- */

static void
add_point(double x, double y, double z)
{
	const double at[3] = {x, y, z};

	memcpy(it.points[it.lone.nparts], at, sizeof at);
	it.lone.nrows = ++it.lone.nparts;
}

/* Begins a new input with a horizontal square. */
static void
begin_with_floor(double size)
{
	clear();
	add_quad(P(0, 0, 0), P(size, 0, 0), P(size, size, 0), P(0, size, 0));
}

static const int sides[6][4] = {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4},
								{1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};

/*
 * Adds a cube: with a row of two triangles for each side (`quads`), a single row (`one`), or a row
 * for each triangle.
 */
static void
add_cube(double x, double y, double z, double size, bool quads, bool one)
{
	double c[8][3];

	for (int i = 0; i < 8; i++)
	{
		c[i][0] = x + size * (i % 4 == 1 || i % 4 == 2);
		c[i][1] = y + size * (i % 4 >= 2);
		c[i][2] = z + size * (i >= 4);
	}
	if (one)
		begin_row();
	for (int i = 0; i < 6; i++)
	{
		const double *p = c[sides[i][0]], *q = c[sides[i][1]], *r = c[sides[i][2]],
					 *s = c[sides[i][3]];

		if (one)
			add_face(p, q, r, s);
		else if (quads)
			add_quad(p, q, r, s);
		else
		{
			add_triangle(p, q, r);
			add_triangle(p, r, s);
		}
	}
}

/* ---- welding and validation ---- */

#define LIMIT 16

static rb_flaw flaws[LIMIT];
static uint32_t nflaws;
static bool more;

static rb_status
weld(void)
{
	rb_context ctx = context(1);

	return rb_weld(&ctx, &it.in, &welded, &flaw);
}

static bool
same_flaws(const rb_flaw *a, const rb_flaw *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (a[i].kind != b[i].kind || a[i].a != b[i].a || a[i].b != b[i].b ||
			memcmp(a[i].at, b[i].at, sizeof a[i].at) != 0)
			return false;
	return true;
}

/*
 * Validates with several numbers of threads, whose results must be equal. The welded PLC remains.
 */
static rb_status
validate(void)
{
	rb_status status = RB_OK;

	for (int threads = 1; threads <= 3; threads++)
	{
		rb_context ctx = context(threads);
		rb_flaw again[LIMIT];
		uint32_t n;
		bool m;

		status = rb_weld_validate(&ctx, &rb_backend_cpu, &welded, &flaw);
		CHECK(status == RB_OK || status == RB_BAD_PLC, "status %d", status);
		CHECK(rb_weld_find_all(&ctx, &rb_backend_cpu, &welded, again, LIMIT, &n, &m) == RB_OK,
			  "find all");
		CHECK((n > 0) == (status == RB_BAD_PLC), "%u flaws", n);
		if (n > 0)
			CHECK(same_flaws(again, &flaw, 1), "the first flaw is another one");
		if (threads > 1)
			CHECK(n == nflaws && m == more && same_flaws(again, flaws, n),
				  "threads change the flaws");
		memcpy(flaws, again, sizeof flaws);
		nflaws = n;
		more = m;
	}
	return status;
}

/* Welds and validates. There must be n flaws, the first of which must be this one. */
static void
expect(uint32_t n, rb_flaw_kind kind, uint32_t a, uint32_t b)
{
	rb_status status = weld();

	CHECK(status == RB_OK, "weld: status %d, flaw %d", status, flaw.kind);
	if (status == RB_OK)
		(void) validate();
	CHECK(nflaws == n, "%u flaws, not %u", nflaws, n);
	if (n > 0 && nflaws > 0)
		CHECK(flaw.kind == kind && flaw.a == a && flaw.b == b, "flaw %d of %u and %u, not %d %u %u",
			  flaw.kind, flaw.a, flaw.b, kind, a, b);
	if (nflaws != n)
		for (uint32_t i = 0; i < nflaws; i++)
			printf("# flaw %d of %u and %u at %g %g %g\n", flaws[i].kind, flaws[i].a, flaws[i].b,
				   flaws[i].at[0], flaws[i].at[1], flaws[i].at[2]);
	done();
}

static bool
is_at(const double *at, double x, double y, double z)
{
	return at[0] == x && at[1] == y && at[2] == z;
}

/* ---- cases ---- */

static void
cubes(void)
{
	for (int form = 0; form < 3; form++)
	{
		const uint32_t nfacets = form == 0 ? 12 : 6;

		clear();
		add_cube(0, 0, 0, 1, form == 1, form == 2);
		if (form == 0)
			it.facets.face_of = NULL;
		CHECK(weld() == RB_OK, "form %d", form);
		CHECK(welded.plc.npoints == 8 && welded.plc.ntriangles == 12 &&
				  welded.plc.nfacets == nfacets && welded.plc.nsegments == 0,
			  "form %d: %u points, %u triangles, %u facets", form, welded.plc.npoints,
			  welded.plc.ntriangles, welded.plc.nfacets);
		for (uint32_t i = 0; i < 12; i++)
		{
			const uint32_t f = form == 0 ? i : i / 2;

			CHECK(welded.plc.facet_of[i] == f, "triangle %u is of facet %u", i,
				  welded.plc.facet_of[i]);
			CHECK(welded.facet_row[f] == (form == 2 ? 0 : f), "row %u", welded.facet_row[f]);
			CHECK(welded.facet_face[f] == (form == 2 ? f : 0), "face %u", welded.facet_face[f]);
			for (int k = 0; k < 3; k++)
				CHECK(memcmp(welded.plc.points + 3 * welded.plc.triangles[i][k],
							 it.triangles[i] + 3 * k, 24) == 0,
					  "triangle %u, corner %d", i, k);
		}
		/* Points are numbered in input order. */
		CHECK(welded.plc.triangles[0][0] == 0 && welded.plc.triangles[0][1] == 1 &&
				  welded.plc.triangles[0][2] == 2,
			  "order");
		done();
		expect(0, 0, 0, 0);
	}
}

/* Tests a row of triangles without polygons: face_of is NULL, and there are several parts. */
static void
faces_of_rows(void)
{
	clear();
	add_cube(0, 0, 0, 1, false, true);
	it.facets.face_of = NULL;
	CHECK(weld() == RB_OK && welded.plc.nfacets == 12, "%u facets", welded.plc.nfacets);
	for (uint32_t i = 0; i < welded.plc.nfacets; i++)
		CHECK(welded.facet_row[i] == 0 && welded.facet_face[i] == i, "facet %u: %u %u", i,
			  welded.facet_row[i], welded.facet_face[i]);
	done();
}

static void
three_sides(void)
{
	rb_context ctx = context(1);

	clear();
	add_cube(0, 0, 0, 1, true, false);
	add_segment(P(0, 0, 0), P(1, 0, 0)); /* On a boundary */
	add_segment(P(0, 0, 0), P(1, 1, 1)); /* New */
	add_segment(P(1, 1, 1), P(0, 0, 0)); /* The first segment, reversed */
	add_segment(P(3, 0, 0), P(3, 0, 0)); /* No length */
	add_segment(P(0, 0, 0), P(1, 1, 0)); /* A diagonal of a side, which is not a segment yet */
	add_segment(P(1, 0, 1), P(1, 0, 0)); /* On a boundary, reversed */
	add_point(0, 0, 1);                  /* A vertex */
	add_point(4, 4, 4);
	add_point(3, 0, -0.0); /* The end of the segment without length */
	add_point(4, 4, 4);
	it.in.nseeds = 1;
	it.in.seeds = &(const rb_seed){.at = {.5, .25, .125}, .region = 7};
	CHECK(weld() == RB_OK, "weld");
	CHECK(welded.plc.nsegments == 4 && welded.same_segments == 1, "%u segments",
		  welded.plc.nsegments);
	CHECK(rb_weld_merge(&ctx, &welded, (rb_merging){.kind = RB_MERGE_COPLANAR}) == RB_OK, "merge");
	CHECK(welded.plc.npoints == 10, "%u points", welded.plc.npoints);
	CHECK(welded.plc.nsegments == 2 && welded.same_segments == 3 && welded.no_length == 1 &&
			  welded.same_points == 3,
		  "%u segments, %d same, %d without length, %d points the same", welded.plc.nsegments,
		  (int) welded.same_segments, (int) welded.no_length, (int) welded.same_points);
	CHECK(welded.segment_row[0] == 1 && welded.segment_row[1] == 4, "rows %u %u",
		  welded.segment_row[0], welded.segment_row[1]);
	CHECK(is_at(welded.plc.points + 3 * welded.plc.segments[0][1], 1, 1, 1), "end");
	CHECK(welded.point_side[7] == RB_WELD_FACETS && welded.point_side[8] == RB_WELD_SEGMENTS &&
			  welded.point_row[8] == 3 && welded.point_side[9] == RB_WELD_POINTS &&
			  welded.point_row[9] == 1 && welded.point_row[0] == 0,
		  "whose points are");
	CHECK(welded.plc.nseeds == 1 && welded.plc.seeds != it.in.seeds &&
			  welded.plc.seeds[0].region == 7,
		  "seeds");
	done();
	expect(0, 0, 0, 0);
	/* Only one kind of input */
	for (int side = 0; side < 3; side++)
	{
		if (side != 0)
			it.in.facets = NULL;
		it.in.segments = side == 1 ? &it.lines : NULL;
		it.in.points = side == 2 ? &it.lone : NULL;
		expect(0, 0, 0, 0);
		it.in.facets = &it.facets;
	}
	clear();
	expect(0, 0, 0, 0);
}

static void
minus_zero(void)
{
	clear();
	add_triangle(P(-0.0, 0, 0), P(1, 0, 0), P(0, 1, 0));
	add_triangle(P(0, -0.0, -0.0), P(0, 1, -0.0), P(0, 0, 1));
	CHECK(weld() == RB_OK && welded.plc.npoints == 4, "%u points", welded.plc.npoints);
	CHECK(signbit(welded.plc.points[0]) && !signbit(welded.plc.points[1]), "the first is not kept");
	done();
	expect(0, 0, 0, 0);
}

/* Welds and checks that nothing meets, and that the mesh has one region of the given volume. */
static void
expect_solid(const char *what, double volume, uint32_t triangles)
{
	rb_context ctx = context(1);
	rb_tets tets;
	double sum = 0;
	rb_status status = weld();

	CHECK(status == RB_OK && welded.plc.ntriangles == triangles, "%s: flaw %d, %u triangles", what,
		  flaw.kind, welded.plc.ntriangles);
	status = rb_weld_validate(&ctx, &rb_backend_cpu, &welded, &flaw);
	CHECK(status == RB_OK, "%s: flaw %d of %u and %u", what, flaw.kind, flaw.a, flaw.b);
	if (status == RB_OK)
		status = rb_tetrahedralize(&ctx, &welded.plc, RB_KEEP_INSIDE, &tets, &flaw);
	CHECK(status == RB_OK, "%s: flaw %d", what, flaw.kind);
	if (status == RB_OK)
	{
		CHECK(tets.nregions == 1, "%s: %u regions", what, tets.nregions);
		for (uint32_t i = 0; i < tets.ntets; i++)
		{
			const double *p[4];

			for (int k = 0; k < 4; k++)
				p[k] = tets.points + 3 * (size_t) tets.tets[i][k];
			for (int k = 0; k < 3; k++)
			{
				const int m = (k + 1) % 3, n = (k + 2) % 3;

				sum += (p[1][k] - p[0][k]) *
					   ((p[2][m] - p[0][m]) * (p[3][n] - p[0][n]) -
						(p[2][n] - p[0][n]) * (p[3][m] - p[0][m])) /
					   6;
			}
		}
		CHECK(fabs(fabs(sum) - volume) < 1e-12, "%s: volume %g", what, sum);
		rb_tets_free(memory, &tets);
	}
	done();
}

/*
 * Tests that a closed surface stays closed if triangles without area are dropped: their middle
 * corners split the longest edges of the neighbors.
 */
static void
middle_corners(void)
{
	static const double a[3] = {0, 0, 0}, b[3] = {8, 4, 0}, c[3] = {0, 8, 0}, d[3] = {0, 0, 6};
	static const double m[3][3] = {{2, 1, 0}, {4, 2, 0}, {6, 3, 0}};

	for (int order = 0; order < 4; order++)
	{
		clear();
		it.in.skip_flat = order % 2 == 0;
		it.in.distance = order % 2 == 0 ? 0 : 1e-3;
		/* Edge ab of facet abc is divided into four parts, and that of facet abd is not. */
		add_triangle(a, m[0], c);
		add_triangle(m[0], m[1], c);
		add_triangle(m[1], m[2], c);
		add_triangle(m[2], b, c);
		add_triangle(a, b, d);
		add_triangle(b, c, d);
		add_triangle(c, a, d);
		if (order / 2 == 0)
		{
			add_triangle(a, m[1], b);
			add_triangle(m[1], a, m[0]);
			add_triangle(b, m[1], m[2]);
		}
		else
		{
			add_triangle(a, b, m[2]);
			add_triangle(m[0], a, m[2]);
			add_triangle(m[1], b, a);
			add_triangle(m[1], m[0], m[2]);
		}
		expect_solid("a tetrahedron", 64, 10);
		/* Segments on the edge: one of two parts exists. */
		add_segment(b, a);
		add_segment(m[0], m[1]);
		CHECK(weld() == RB_OK && welded.plc.nsegments == 4 && welded.same_segments == 1,
			  "%u segments", welded.plc.nsegments);
		for (uint32_t i = 0; i < welded.plc.nsegments; i++)
			CHECK(welded.segment_row[i] < 2, "segment %u is of row %u", i, welded.segment_row[i]);
		done();
		expect_solid("a tetrahedron with segments", 64, 10);
	}
	/* A polygon of several triangles, whose inner edge is divided, too, and equal corners */
	clear();
	it.in.skip_flat = true;
	add_cube(0, 0, 0, 1, true, false);
	add_triangle(P(0, 0, 0), P(1, 1, 0), P(.5, .5, 0));
	add_triangle(P(0, 0, 0), P(1, 0, 1), P(.5, 0, .5));
	add_triangle(P(0, 0, 0), P(1, 1, 0), P(1, 1, 0));
	expect_solid("a cube", 1, 16);
}

static void
no_area(void)
{
	clear();
	add_cube(0, 0, 0, 1, true, false);
	add_triangle(P(2, 2, 2), P(3, 3, 3), P(5, 5, 5));
	CHECK(weld() == RB_BAD_PLC && flaw.kind == RB_FLAW_FACET_AREA && flaw.a == 6 && flaw.b == 0,
		  "flaw %d of %u, %u", flaw.kind, flaw.a, flaw.b);
	done();
	it.in.skip_flat = true;
	CHECK(weld() == RB_OK && welded.no_area == 1 && welded.plc.nfacets == 6 &&
			  welded.plc.npoints == 11,
		  "%u facets", welded.plc.nfacets);
	done();
	/* Two equal corners; a spike of a polygon; nearly collinear corners, which are valid */
	clear();
	add_triangle(P(2, 2, 2), P(3, 3, 4), P(2, 2, 2));
	CHECK(weld() == RB_BAD_PLC && flaw.kind == RB_FLAW_FACET_AREA && flaw.a == 0, "equal corners");
	clear();
	add_triangle(P(.1, .1, .1), P(.3, .3, .3), P(.5, .5, nextafter(.5, 1)));
	begin_row();
	add_face(P(0, 0, 9), P(1, 0, 9), P(1, 1, 9), P(0, 1, 9));
	it.nfaces++;
	put_triangle(P(3, 0, 9), P(4, 0, 9), P(4, 1, 9));
	put_triangle(P(4, 1, 9), P(5, 1, 9), P(5, 1, 9));
	CHECK(weld() == RB_BAD_PLC && flaw.kind == RB_FLAW_FACET_AREA && flaw.a == 1 && flaw.b == 1 &&
			  is_at(flaw.at, 4, 1, 9),
		  "a spike: flaw %d, %u %u", flaw.kind, flaw.a, flaw.b);
	done();
}

static void
folded(void)
{
	/* Two overlapping triangles that traverse their common edge in the same direction */
	clear();
	begin_row();
	it.nfaces = 1;
	put_triangle(P(0, 0, 0), P(4, 0, 0), P(0, 4, 0));
	put_triangle(P(0, 0, 0), P(4, 0, 0), P(1, 1, 0));
	CHECK(weld() == RB_BAD_PLC && flaw.kind == RB_FLAW_FACET_FOLDED && flaw.a == 0 &&
			  is_at(flaw.at, 2, 0, 0),
		  "flaw %d", flaw.kind);
	done();
	/* If they traverse it in opposite directions, geometry decides. */
	clear();
	begin_row();
	it.nfaces = 1;
	put_triangle(P(0, 0, 0), P(4, 0, 0), P(0, 4, 0));
	put_triangle(P(4, 0, 0), P(0, 0, 0), P(1, 1, 0));
	expect(1, RB_FLAW_FACET_FOLDED, 0, 0);
	/* An edge used three times, in a polygon of many triangles */
	clear();
	begin_row();
	it.nfaces = 1;
	for (int i = 0; i < 40; i++)
		put_triangle(P(0, 0, 0), P(cos(.1 * i), sin(.1 * i), 0),
					 P(cos(.1 * (i + 1)), sin(.1 * (i + 1)), 0));
	expect(0, 0, 0, 0);
	put_triangle(P(0, 0, 0), P(cos(.1 * 7), sin(.1 * 7), 0), P(0, 0, 1));
	CHECK(weld() == RB_BAD_PLC && flaw.kind == RB_FLAW_FACET_FOLDED, "flaw %d", flaw.kind);
	done();
}

/* Tests two facets with every possible flaw. */
static void
two_facets(void)
{
	/* They cross: one flaw, although four pairs of triangles cross. */
	begin_with_floor(4);
	add_quad(P(1, 2, -1), P(3, 2, -1), P(3, 2, 1), P(1, 2, 1));
	expect(1, RB_FLAW_FACETS_CROSS, 0, 1);
	/* One stands on the other: both of its lower vertices are flaws. */
	begin_with_floor(4);
	add_quad(P(1, 2, 0), P(3, 1, 0), P(3, 1, 1), P(1, 2, 1));
	expect(2, RB_FLAW_POINT_IN_FACET, 4, 0);
	CHECK(is_at(flaws[0].at, 1, 2, 0) && is_at(flaws[1].at, 3, 1, 0), "places");
	/* A vertex on an edge: the T-junction of a nonconforming mesh */
	clear();
	add_triangle(P(0, 0, 0), P(4, 0, 0), P(0, 4, 0));
	add_triangle(P(0, 0, 0), P(2, 0, 0), P(0, -3, 0));
	add_triangle(P(2, 0, 0), P(4, 0, 0), P(2, -3, 0));
	expect(1, RB_FLAW_POINT_IN_FACET, 3, 0);
	/* Only their edges cross. */
	clear();
	add_triangle(P(0, 0, 0), P(4, 0, 0), P(0, -4, 0));
	add_triangle(P(2, 0, -1), P(2, 0, 1), P(2, 4, 0));
	expect(1, RB_FLAW_FACETS_CROSS, 0, 1);
	CHECK(is_at(flaws[0].at, 2, 0, 0), "at %g %g %g", flaws[0].at[0], flaws[0].at[1],
		  flaws[0].at[2]);
	/* They overlap, with and without common vertices. */
	clear();
	add_triangle(P(0, 0, 0), P(4, 0, 0), P(0, 4, 0));
	add_triangle(P(0, 0, 0), P(4, 0, 0), P(4, 4, 0));
	expect(1, RB_FLAW_FACETS_OVERLAP, 0, 1);
	begin_with_floor(4);
	add_quad(P(1, 1, 0), P(5, 1, 0), P(5, 5, 0), P(1, 5, 0));
	expect(3, RB_FLAW_FACETS_OVERLAP, 0, 1);
	/* A facet twice, once reversed; and quads that share a triangle */
	clear();
	add_triangle(P(0, 0, 0), P(4, 0, 0), P(0, 4, 0));
	add_triangle(P(0, 0, 0), P(0, 4, 0), P(4, 0, 0));
	expect(1, RB_FLAW_FACETS_EQUAL, 0, 1);
	begin_with_floor(4);
	add_quad(P(0, 0, 0), P(4, 0, 0), P(4, 4, 0), P(0, 5, 0));
	expect(1, RB_FLAW_FACETS_EQUAL, 0, 1);
	/* Adjacent facets, coplanar or not; facets that share only a vertex */
	begin_with_floor(4);
	add_quad(P(4, 0, 0), P(9, 0, 0), P(9, 4, 0), P(4, 4, 0));
	add_quad(P(4, 0, 0), P(4, 4, 0), P(4, 4, 5), P(4, 0, 5));
	add_triangle(P(0, 0, 0), P(-1, 0, 0), P(0, -1, 0));
	expect(0, 0, 0, 0);
}

static void
segments_and_points(void)
{
	/* A segment through a facet, along it, from its vertex along it, and ending on it */
	begin_with_floor(4);
	add_segment(P(1, 2, -1), P(1, 2, 1));
	expect(1, RB_FLAW_SEGMENT_FACET, 0, 0);
	CHECK(is_at(flaws[0].at, 1, 2, 0), "place");
	begin_with_floor(4);
	add_segment(P(-1, 2, 0), P(5, 3, 0));
	expect(1, RB_FLAW_SEGMENT_FACET, 0, 0);
	begin_with_floor(4);
	add_segment(P(4, 0, 0), P(2, 3, 0));
	expect(1, RB_FLAW_SEGMENT_FACET, 0, 0);
	begin_with_floor(4);
	add_segment(P(2, 1, 0), P(2, 1, 5));
	add_segment(P(0, 0, 0), P(0, 0, 5)); /* A valid segment */
	add_segment(P(0, 0, 5), P(2, 1, 5));
	expect(1, RB_FLAW_POINT_IN_FACET, 4, 0);
	/* A vertex of the facet inside a segment */
	clear();
	add_triangle(P(0, 0, 0), P(4, 0, 0), P(0, 4, 0));
	add_segment(P(0, 0, -1), P(0, 0, 1));
	expect(1, RB_FLAW_POINT_ON_SEGMENT, 0, 0);
	/* Two segments that cross, touch, overlap, or share an end */
	clear();
	add_segment(P(0, 0, 0), P(2, 2, 0));
	add_segment(P(0, 2, 0), P(2, 0, 0));
	expect(1, RB_FLAW_SEGMENTS_CROSS, 0, 1);
	CHECK(is_at(flaws[0].at, 1, 1, 0), "place");
	clear();
	add_segment(P(0, 0, 0), P(2, 2, 0));
	add_segment(P(1, 1, 0), P(2, 0, 0));
	expect(1, RB_FLAW_POINT_ON_SEGMENT, 2, 0);
	clear();
	add_segment(P(0, 0, 0), P(3, 3, 0));
	add_segment(P(1, 1, 0), P(5, 5, 0));
	expect(2, RB_FLAW_POINT_ON_SEGMENT, 2, 0);
	clear();
	add_segment(P(0, 0, 0), P(3, 3, 0));
	add_segment(P(3, 3, 0), P(5, 5, 0));
	add_segment(P(3, 3, 0), P(3, 3, 1));
	expect(0, 0, 0, 0);
	/* Points in a facet, on its inner diagonal, on its boundary, on a segment, and isolated */
	begin_with_floor(4);
	add_segment(P(0, 0, 5), P(4, 4, 5));
	add_point(1, 2, 0);
	add_point(3, 3, 0);
	add_point(4, 1, 0);
	add_point(1, 1, 5);
	add_point(1, 2, nextafter(0, 1));
	add_point(0, 0, 0);
	expect(4, RB_FLAW_POINT_IN_FACET, 6, 0);
	CHECK(flaws[1].a == 7 && flaws[2].a == 8 && flaws[3].kind == RB_FLAW_POINT_ON_SEGMENT &&
			  flaws[3].a == 9 && flaws[3].b == 0,
		  "%u %u %u", flaws[1].a, flaws[2].a, flaws[3].a);
}

/*
 * Tests a cube with a diagonal wall: it is valid along the diagonals of the sides' triangles, and
 * otherwise not.
 */
static void
walls(void)
{
	clear();
	add_cube(0, 0, 0, 1, true, false);
	/* The triangles of the sides have the diagonals 0-2 below and 4-6 above. */
	add_quad(P(0, 0, 0), P(1, 1, 0), P(1, 1, 1), P(0, 0, 1));
	expect(0, 0, 0, 0);
	clear();
	add_cube(0, 0, 0, 1, true, false);
	add_quad(P(1, 0, 0), P(0, 1, 0), P(0, 1, 1), P(1, 0, 1));
	expect(2, RB_FLAW_FACETS_CROSS, 0, 6);
}

/* Tests more flaws than are requested. */
static void
many(void)
{
	clear();
	for (int i = 0; i < 12; i++)
	{
		add_quad(P(0, i, -20), P(20, i, -20), P(20, i, 20), P(0, i, 20));
		add_quad(P(1, -1, i), P(19, -1, i), P(19, 19, i), P(1, 19, i));
	}
	expect(LIMIT, RB_FLAW_FACETS_CROSS, 0, 1);
	CHECK(more, "there are 144");
	for (uint32_t i = 0; i < LIMIT; i++)
		CHECK(flaws[i].a == 2 * (i / 12) + (i >= 12 ? -1 : 0) * 1 && flaws[i].b > flaws[i].a,
			  "flaw %u: %u and %u", i, flaws[i].a, flaws[i].b);
}

static rb_status
validate_once(rb_context *ctx)
{
	return rb_weld_validate(ctx, &rb_backend_cpu, &welded, &flaw);
}

/* Tests memory limits and stops: nothing is left behind. */
static void
limits(void)
{
	clear();
	for (int i = 0; i < 60; i++)
		add_cube(2 * i, 0, 0, 1, true, false);
	add_segment(P(-5, 0, 0), P(-5, 0, 9));
	try_limits(1000, 4, validate_once);
	for (int part = 0; part < 2; part++)
	{
		rb_context ctx = context(1);
		rb_status status;

		if (part == 1)
			CHECK(weld() == RB_OK, "weld");
		rb_context_stop(&ctx);
		status = part == 0 ? rb_weld(&ctx, &it.in, &welded, &flaw) : validate_once(&ctx);
		CHECK(status == RB_STOPPED, "part %d: status %d", part, status);
		done();
	}
}

static bool
has_area(const double *t)
{
	for (int k = 0; k < 3; k++)
	{
		const int u = (k + 1) % 3, v = (k + 2) % 3;
		const double a[2] = {t[u], t[v]}, b[2] = {t[3 + u], t[3 + v]}, c[2] = {t[6 + u], t[6 + v]};

		if (rb_orient2d(a, b, c) != 0)
			return true;
	}
	return false;
}

/*
 * Tests the intersection points of two triangles: the same doubles for any order of the arguments.
 */
static void
meetings(void)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	long rounds = check_rounds(3000);

	for (long round = 0; round < rounds; round++)
	{
		double t[3][9], p[3], q[3];
		rb_meet at[RB_MEET_POINTS], back[RB_MEET_POINTS];
		const int size = round % 3 == 0 ? 3 : round % 3 == 1 ? 10 : 1 << 20;
		int n, m;

		for (int i = 0; i < 27; i++)
			t[i / 9][i % 9] = check_below(size);
		if (!has_area(t[0]) || !has_area(t[1]))
			continue;
		n = rb_meet_points(&env, t[0], t[1], at);
		m = rb_meet_points(&env, t[1], t[0], back);
		CHECK(n == m && n <= 6, "%d points, the other way %d", n, m);
		CHECK((n > 0) == rb_triangles_meet(t[0], t[1]), "%d points", n);
		for (int i = 0; i < n; i++)
		{
			bool there = false;

			for (int j = 0; j < m; j++)
				there |= memcmp(at[i].at, back[j].at, sizeof at->at) == 0 &&
						 at[i].on_red == back[j].on_blue && at[i].on_blue == back[j].on_red;
			CHECK(there, "a point is another one, the other way");
			for (int k = 0; k < 3; k++)
				CHECK(at[i].at[k] >= 0 && at[i].at[k] < size, "outside");
		}
		if (rb_meet_planes(t[0], t[1], t[2], p))
			CHECK(rb_meet_planes(t[2], t[0], t[1], q) && memcmp(p, q, sizeof p) == 0,
				  "three planes: %g %g %g and %g %g %g", p[0], p[1], p[2], q[0], q[1], q[2]);
	}
	/* Known points */
	{
		const double flat[9] = {0, 0, 0, 3, 0, 0, 0, 3, 0}, up[9] = {1, -1, -1, 1, 3, -1, 1, 1, 2},
					 wall[9] = {0, .5, 0, 1, .5, 0, 1, .5, 1};
		double p[3];

		CHECK(rb_meet_planes(flat, up, wall, p) && is_at(p, 1, .5, 0), "%g %g %g", p[0], p[1],
			  p[2]);
	}
}

/* ---- splitting ---- */

static double
area_of_facet(const rb_welded *w, uint32_t facet)
{
	double sum = 0;

	for (uint32_t i = 0; i < w->plc.ntriangles; i++)
	{
		const double *p[3], *a;
		double u[3], v[3];

		if (w->plc.facet_of[i] != facet)
			continue;
		for (int k = 0; k < 3; k++)
			p[k] = w->plc.points + 3 * (size_t) w->plc.triangles[i][k];
		a = p[0];
		for (int k = 0; k < 3; k++)
		{
			u[k] = p[1][k] - a[k];
			v[k] = p[2][k] - a[k];
		}
		sum += sqrt(pow(u[1] * v[2] - u[2] * v[1], 2) + pow(u[2] * v[0] - u[0] * v[2], 2) +
					pow(u[0] * v[1] - u[1] * v[0], 2)) /
			   2;
	}
	return sum;
}

static rb_split_done did;

/*
 * Welds and splits. Checks the numbers of new points and segments, and that areas are preserved.
 * The welded PLC remains.
 */
static void
expect_split(uint32_t points, uint32_t segments, uint32_t dropped)
{
	rb_status status = weld();
	static double before[MOST];
	const uint32_t nfacets = welded.plc.nfacets;
	const uint32_t npoints = welded.plc.npoints;
	rb_context ctx = context(2);
	double *old = NULL;

	CHECK(status == RB_OK, "weld: status %d, flaw %d", status, flaw.kind);
	if (status != RB_OK)
		return;
	for (uint32_t i = 0; i < nfacets; i++)
		before[i] = area_of_facet(&welded, i);
	old = malloc(24 * (size_t) npoints);
	memcpy(old, welded.plc.points, 24 * (size_t) npoints);
	status = split_welded(&ctx, &did);
	CHECK(status == RB_OK, "split: status %d, flaw %d of %u and %u at %g %g %g, %u rounds", status,
		  flaw.kind, flaw.a, flaw.b, flaw.at[0], flaw.at[1], flaw.at[2], did.rounds);
	CHECK(memcmp(old, welded.plc.points, 24 * (size_t) npoints) == 0, "points have moved");
	free(old);
	CHECK(validate() == RB_OK, "it is not sound");
	if (points != RB_NONE)
		CHECK(did.points == points && did.segments == segments && did.dropped == dropped,
			  "%u points, %u segments, %u dropped, %u rounds", did.points, did.segments,
			  did.dropped, did.rounds);
	CHECK(welded.plc.npoints == npoints + did.points, "%u points", welded.plc.npoints);
	for (uint32_t i = npoints; i < welded.plc.npoints; i++)
		CHECK(welded.point_side[i] == RB_WELD_SPLIT && welded.point_row[i] == RB_NONE, "whose");
	if (dropped == 0)
	{
		CHECK(welded.plc.nfacets == nfacets, "%u facets, not %u", welded.plc.nfacets, nfacets);
		for (uint32_t i = 0; i < nfacets; i++)
			CHECK(fabs(area_of_facet(&welded, i) - before[i]) <= 1e-6 * before[i],
				  "facet %u: area %g, not %g", i, area_of_facet(&welded, i), before[i]);
	}
	for (uint32_t i = 0; i < welded.plc.ntriangles; i++)
		CHECK(welded.plc.facet_of[i] < welded.plc.nfacets &&
				  (i == 0 || welded.plc.facet_of[i] >= welded.plc.facet_of[i - 1]),
			  "facet %u of triangle %u", welded.plc.facet_of[i], i);
}

static void
splits(void)
{
	/* Nothing to split */
	clear();
	add_cube(0, 0, 0, 1, true, false);
	expect_split(0, 0, 0);
	CHECK(did.rounds == 0, "%u rounds", did.rounds);
	done();
	/* Two triangles that cross */
	clear();
	add_triangle(P(0, 0, 0), P(8, 0, 0), P(0, 8, 0));
	add_triangle(P(1, 1, -4), P(1, 1, 4), P(3, 3, 0));
	expect_split(1, 1, 0);
	done();
	/*
	 * A wall on a floor, a T-junction, a segment through a facet, one ending on it, and a point on
	 * it
	 */
	begin_with_floor(8);
	add_quad(P(1, 4, 0), P(6, 2, 0), P(6, 2, 1), P(1, 4, 1));
	add_segment(P(4, 6, -1), P(4, 6, 1));
	add_segment(P(6, 6, 0), P(6, 6, 3));
	add_point(1, 7, 0);
	add_point(6, 6, 1);
	add_triangle(P(0, 0, 0), P(3, 0, 0), P(0, 0, 3));
	expect_split(RB_NONE, 0, 0);
	CHECK(welded.plc.nsegments >= 4, "%u segments", welded.plc.nsegments);
	done();
	/* Segments that cross and overlap */
	clear();
	add_segment(P(0, 0, 0), P(4, 4, 0));
	add_segment(P(0, 4, 0), P(4, 0, 0));
	add_segment(P(1, 1, 0), P(6, 6, 0));
	expect_split(1, 0, 0);
	CHECK(welded.plc.nsegments == 6, "%u segments", welded.plc.nsegments);
	CHECK(welded.segment_row[0] == 0 && welded.segment_row[5] == 2, "rows");
	done();
	/* A duplicate facet, and two that overlap */
	begin_with_floor(8);
	add_quad(P(0, 0, 0), P(8, 0, 0), P(8, 8, 0), P(0, 8, 0));
	expect_split(0, 0, 2);
	CHECK(welded.plc.nfacets == 1, "%u facets", welded.plc.nfacets);
	done();
	begin_with_floor(8);
	add_quad(P(4, 3, 0), P(12, 3, 0), P(12, 11, 0), P(4, 11, 0));
	add_quad(P(2, 5, -1), P(11, 5, -1), P(11, 5, 1), P(2, 5, 1));
	expect_split(RB_NONE, 0, 1);
	CHECK(fabs(area_of_facet(&welded, 0) + area_of_facet(&welded, 1) - (64 + 64 - 20)) < 1e-9,
		  "areas %g %g", area_of_facet(&welded, 0), area_of_facet(&welded, 1));
	done();
	/* Three planes through a point, and boxes that intersect */
	clear();
	add_quad(P(-3, -3, 0), P(4, -3, 0), P(4, 4, 0), P(-3, 4, 0));
	add_quad(P(0, -3, -3), P(0, 4, -3), P(0, 4, 4), P(0, -3, 4));
	add_quad(P(-3, 0, -3), P(4, 0, -3), P(4, 0, 4), P(-3, 0, 4));
	expect_split(RB_NONE, 0, 0);
	done();
	clear();
	add_cube(0, 0, 0, 1, true, false);
	add_cube(.3, .4, .7, 1, true, false);
	add_cube(.6, -.3, .2, 1, true, false);
	expect_split(RB_NONE, 0, 0);
	done();
	clear();
	add_cube(0, 0, 0, 1, true, false);
	add_cube(1, .5, .25, 1, true, false); /* Two cubes that share a part of a side */
	expect_split(RB_NONE, 0, 1);
	done();
}

static void
ball_point(double x, int i, int j, int m, double *to)
{
	const double u = 2 * M_PI * (i % m) / m, v = M_PI * j / m;

	to[0] = x + (j % m == 0 ? 0 : sin(v) * cos(u));
	to[1] = j % m == 0 ? 0 : sin(v) * sin(u);
	to[2] = cos(v);
}

/* Tests two balls, which are mirror images except for rounding: edges of both nearly cross. */
static void
balls(void)
{
	const int m = 24;

	clear();
	for (int ball = 0; ball < 2; ball++)
		for (int i = 0; i < m; i++)
			for (int j = 0; j < m; j++)
			{
				double p[4][3];

				for (int k = 0; k < 4; k++)
					ball_point(.7 * ball, i + (k == 1 || k == 2), j + (k >= 2), m, p[k]);
				if (j < m - 1)
					add_triangle(p[0], p[3], p[2]);
				if (j > 0)
					add_triangle(p[0], p[2], p[1]);
			}
	expect_split(RB_NONE, 0, 0);
	/* They meet in one closed line. */
	CHECK(did.points == did.segments && did.points > 0, "%u points, %u segments", did.points,
		  did.segments);
	done();
}

/* Tests random triangles whose coordinates are not small integers. */
static void
random_splits(void)
{
	long rounds = check_rounds(30);

	for (long round = 0; round < rounds; round++)
	{
		clear();
		for (int i = 0; i < 12; i++)
		{
			double p[3][3];

			for (int k = 0; k < 9; k++)
				p[k / 3][k % 3] = round % 2 == 0 ? (double) (check_random() >> 11) * 0x1p-53
												 : 1e6 + check_below(1000) * .001;
			if (i % 4 == 3)
				add_segment(p[0], p[1]);
			else
				add_triangle(p[0], p[1], p[2]);
		}
		expect_split(RB_NONE, 0, 0);
		done();
	}
}

/* Tests many triangles in a small space, whose intersection lines cross in each of them. */
static void
dense_splits(void)
{
	long rounds = check_rounds(3);

	for (long round = 0; round < rounds; round++)
	{
		clear();
		for (int i = 0; i < 40; i++)
		{
			double p[3][3];

			for (int k = 0; k < 9; k++)
				p[k / 3][k % 3] = round % 3 == 0 ? (double) (check_random() >> 11) * 0x1p-53
												 : check_below(round % 3 == 1 ? 1000 : 12);
			if (has_area((const double *) p))
				add_triangle(p[0], p[1], p[2]);
		}
		/* On a grid of 12, some triangles may overlap. */
		expect_split(RB_NONE, 0, round % 3 == 2);
		done();
	}
}

/* Tests many triangles with edges along one line: one round cuts all of them where they end. */
static void
edges_in_line(void)
{
	const int n = 24;

	clear();
	for (int i = 0; i < n; i++)
	{
		const double from = -7 * i, to = 5 * i + 1, at[2] = {i % 5 - 2, (double) (i + 1)};

		add_triangle(P(from, 3 * from, 2 * from), P(to, 3 * to, 2 * to), P(i, at[0], at[1]));
	}
	expect_split(0, 0, 0);
	CHECK(did.rounds == 1, "%u rounds", did.rounds);
	/* A triangle's edge from -7 i to 5 i + 1 has two ends of each of the i triangles before it. */
	CHECK(welded.plc.ntriangles == (uint32_t) (n * n), "%u triangles", welded.plc.ntriangles);
	done();
}

static rb_status
split(rb_context *ctx)
{
	return split_welded(ctx, &did);
}

/* Tests memory limits and stops while splitting: the PLC stays consistent. */
static void
split_limits(void)
{
	rb_context ctx = context(1);

	clear();
	for (int i = 0; i < 20; i++)
		add_cube(.6 * i, .3 * i, .1 * i, 1, true, false);
	try_limits(50000, 8, split);
	CHECK(weld() == RB_OK, "weld");
	rb_context_stop(&ctx);
	CHECK(split(&ctx) == RB_STOPPED, "no stop");
	done();
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 30);
	CHECK_RUN(cubes);
	CHECK_RUN(faces_of_rows);
	CHECK_RUN(three_sides);
	CHECK_RUN(minus_zero);
	CHECK_RUN(no_area);
	CHECK_RUN(middle_corners);
	CHECK_RUN(folded);
	CHECK_RUN(two_facets);
	CHECK_RUN(segments_and_points);
	CHECK_RUN(walls);
	CHECK_RUN(many);
	CHECK_RUN(limits);
	CHECK_RUN(meetings);
	CHECK_RUN(splits);
	CHECK_RUN(edges_in_line);
	CHECK_RUN(balls);
	CHECK_RUN(random_splits);
	CHECK_RUN(dense_splits);
	CHECK_RUN(split_limits);
	rb_memory_destroy(memory);
	return check_done();
}
