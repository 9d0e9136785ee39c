/*
 * tetrahedralize.c
 *	  Tests that PLCs become constrained Delaunay tetrahedralizations, which rb_check_mesh checks;
 *	  that flaws of a PLC are reported; that stops are noticed; and that a lack of memory is
 *	  handled.
 *
 * Most models are meshed in several ways: as they are, rotated so that facets are flat only up to
 * rounding, and at large map coordinates.
 */
#define _GNU_SOURCE
#include "plc_models.h"
#include "mesh/weld.h"

typedef struct result
{
	rb_status status;
	uint32_t ntets, nregions, added, outside_seeds;
	double volume;
} result;

/* Meshes the model twice, with different numbers of threads, and checks the result. */
static result
mesh(const char *name, rb_keep keep)
{
	const rb_plc from = plc();
	rb_tets one, two;
	result r = {0};

	r.status = make(&from, keep, 1, &one);
	if (r.status == RB_OK)
	{
		rb_status again = make(&from, keep, 3, &two);

		CHECK(again == RB_OK && same(&one, &two) &&
				  memcmp(one.points, two.points, one.npoints * sizeof(double[3])) == 0,
			  "%s: not the same twice", name);
		rb_tets_free(memory, &two);
		look(name, &from, &one);
		r.volume = check(name, &from, keep, &one);
		r.ntets = one.ntets;
		r.nregions = one.nregions;
		r.outside_seeds = one.outside_seeds;
		r.added = one.npoints - from.npoints;
		rb_tets_free(memory, &one);
	}
	CHECK(rb_memory_used(memory) == 0, "%s: %lu bytes are left", name,
		  (unsigned long) rb_memory_used(memory));
	return r;
}

static const char *
flaw_text(void)
{
	static char text[200];

	snprintf(text, sizeof text, "flaw %d of %u and %u at %.17g %.17g %.17g", flaw.kind, flaw.a,
			 flaw.b, flaw.at[0], flaw.at[1], flaw.at[2]);
	return text;
}

/*
 * Checks the enclosed volume and the number of regions; any value is accepted if they are negative.
 */
static void
expect(const char *name, double volume, int regions)
{
	for (int keep = 0; keep < 2; keep++)
	{
		result r = mesh(name, (rb_keep) keep);

		CHECK(r.status == RB_OK, "%s: status %d, %s", name, r.status, flaw_text());
		if (r.status != RB_OK || keep != RB_KEEP_INSIDE)
			continue;
		CHECK(volume < 0 || fabs(r.volume - volume) <= 1e-12 * volume,
			  "%s: volume %.17g, not %.17g", name, r.volume, volume);
		CHECK(regions < 0 || r.nregions == (uint32_t) regions, "%s: %u regions, not %d", name,
			  r.nregions, regions);
	}
}

/*
 * Tests a model that is rebuilt for each way of moving it. Skips those in which rounding makes it
 * intersect itself.
 */
static void
expect_moved(void (*model)(void), const char *name, double volume, int regions)
{
	static int turn;

	turn++;
	for (int way = 0; way < WAYS; way++)
	{
		char text[100];

		/* Use only one of the ways if time is limited. */
		if (way != AS_IT_IS && check_rounds(100) < 100 && way != 1 + turn % (WAYS - 1))
			continue;
		if (!build(model, name, way))
			continue;
		snprintf(text, sizeof text, "%s, %s", name, way_name[way]);
		expect(text, way == AS_IT_IS ? volume : -1, regions);
	}
}

/* Builds a cube whose sides are two triangles each, one of which is oriented the other way. */
static void
cube_turned_partly(void)
{
	uint32_t v[8];

	box_corners(v, 0, 0, 0, 1, 1, 1);
	for (int i = 0; i < 6; i++)
	{
		const uint8_t *s = box_sides[i];

		facet(v[s[0]], v[s[1]], v[s[2]]);
		part(v[s[0]], v[s[3]], v[s[2]]);
	}
}

static void
cubes(void)
{
	expect_moved(cube, "cube", 1, 1);
	expect_moved(cube_of_triangles, "cube of triangles", 1, 1);
	expect_moved(cube_turned_partly, "cube turned partly", 1, 1);
	expect_moved(nested, "nested", 1331, 5);
	for (cells = 1; cells < 5; cells += 3)
		for (shake = 0; shake < 1; shake += .11)
		{
			expect_moved(cells_of_grid, "grid", shake == 0 ? pow(cells, 3) : -1,
						 cells * cells * cells);
			if (shake > .2)
				break;
		}
	shake = 0;
	expect_moved(edges_with_points, "edges with points", 1, 1);
	expect_moved(frame, "frame", 32, 1);
	expect_moved(hanging, "hanging", 64, 1);
}

static void
cubes_with_walls(void)
{
	for (walls = 0; walls < 64; walls++)
	{
		rb_plc from;

		clear();
		cube_with_walls();
		from = plc();
		if (!valid(&from))
			continue;
		expect_moved(cube_with_walls, "cube with walls", 1, -1);
	}
}

static void
shapes(void)
{
	static const double angles[] = {1, .1, M_PI / 180, 1e-4, M_PI / 180 * 1e-3, 1e-7};

	clear();
	torus();
	expect_moved(torus, "torus", closed_volume(), 1);
	for (int i = 0; i < 6; i++)
	{
		angle = angles[i];
		clear();
		wedge();
		expect_moved(wedge, "wedge", closed_volume(), 1);
		expect_moved(fan, "fan", -1, -1);
	}
	clear();
	needles();
	expect_moved(needles, "needles", closed_volume(), 6);
	for (angle = -.5; angle < -.04; angle += .05)
	{
		clear();
		schoenhardt();
		expect_moved(schoenhardt, "schoenhardt", closed_volume(), 1);
	}
	expect_moved(chazelle, "chazelle", 8 * 8 * 56, 1);
	expect_moved(layers, "layers", -1, -1);
}

static void
lattices(void)
{
	expect_moved(lattice_in_box, "lattice in a box", 216, 1);
	expect_moved(squares_in_lattice, "squares", -1, -1);
	expect_moved(slanted_in_lattice, "slanted squares", -1, -1);
	expect_moved(floor_of_quads, "floor", -1, -1);
}

static void
clouds(void)
{
	expect_moved(facet_in_cloud, "facet in a cloud", 0, 0);
	expect_moved(random_rectangles, "rectangles", 0, 0);
	expect_moved(segments_only, "segments", 0, 0);
	expect_moved(points_only, "points", 0, 0);
}

static void
nearly_flat(void)
{
	static const double bends[] = {1e-15, 1e-12, 1e-9, 1e-6};

	for (int i = 0; i < 4; i++)
	{
		bend = bends[i];
		expect_moved(bent, "bent", 0, 0);
		expect_moved(sheets, "sheets", 0, 0);
	}
}

/* ---- random models ---- */

/*
 * Families besides those of points.h, whose points are never adjacent doubles, so that every
 * failure counts
 */
enum
{
	INTEGERS = POINTS_FAMILIES,
	ROOM,
	FLAT_ROOM,
	UTM_MILLIS,
	CROWDS,
	ALL_FAMILIES
};

static const char *
family_name(int family)
{
	static const char *const own[] = {"integers", "room", "flat room", "UTM in mm", "crowds"};

	return family < POINTS_FAMILIES ? points_family_name[family] : own[family - POINTS_FAMILIES];
}

static bool
no_area(const double *p, const double *q, const double *r)
{
	bool none = true;

	for (int i = 0; i < 3; i++)
		none = none && (q[i] - p[i]) * (r[(i + 1) % 3] - p[(i + 1) % 3]) ==
						   (r[i] - p[i]) * (q[(i + 1) % 3] - p[(i + 1) % 3]);
	return none;
}

/*
 * Builds a few vertices, with random facets and segments among them, most of which do not cross
 * others.
 */
static void
random_model(int family)
{
	double p[40][3];
	uint32_t v[40];
	int n = 5 + check_below(20), facets = check_below(8), segments = check_below(6);
	rb_plc from;

	clear();
	if (family < POINTS_FAMILIES)
		points_make(family, n, 3, p[0]);
	for (int i = 0; i < n; i++)
	{
		for (int k = 0; k < 3 && family >= POINTS_FAMILIES; k++)
			p[i][k] = family == INTEGERS    ? check_below(7)
					  : family == ROOM      ? points_unit()
					  : family == FLAT_ROOM ? points_unit() * (k == 2 ? 1e-6 : 1)
					  : family == UTM_MILLIS
						  ? round(1000 * (391777 + 5428334 * (k == 1) + 10 * points_unit())) / 1000
						  : check_below(3) + 1e-7 * points_unit();
		v[i] = at(p[i][0], p[i][1], p[i][2]);
	}
	for (int i = 0; i < facets; i++)
	{
		uint32_t a = v[check_below(n)], b = v[check_below(n)], c = v[check_below(n)];

		if (a == b || b == c || c == a || no_area(it.points[a], it.points[b], it.points[c]))
			continue;
		facet(a, b, c);
		from = plc();
		if (check_below(100) > 0 && !valid(&from))
			it.nfacets--, it.ntriangles--;
	}
	for (int i = 0; i < segments; i++)
	{
		uint32_t a = v[check_below(n)], b = v[check_below(n)];

		if (a == b)
			continue;
		segment(a, b);
		from = plc();
		if (check_below(100) > 0 && !valid(&from))
			it.nsegments--;
	}
}

static void
print_model(void)
{
	for (uint32_t i = 0; i < it.npoints; i++)
		printf("# at(%.17g, %.17g, %.17g);\n", it.points[i][0], it.points[i][1], it.points[i][2]);
	for (uint32_t i = 0; i < it.ntriangles; i++)
		printf("# facet(%u, %u, %u);\n", it.triangles[i][0], it.triangles[i][1],
			   it.triangles[i][2]);
	for (uint32_t i = 0; i < it.nsegments; i++)
		printf("# segment(%u, %u);\n", it.segments[i][0], it.segments[i][1]);
}

/*
 * Tests coordinates of any size: there may be very many points, and a stop must take effect in
 * time.
 */
static void
anything_wild(int family)
{
	const rb_plc from = plc();
	stop_delay delay = {0};
	bool again;

	do
	{
		rb_context ctx;
		rb_tets tets;
		rb_status status;
		stopper s;
		double late;

		rb_context_init(&ctx, memory);
		stop_after(&s, &ctx, 30);
		status = rb_tetrahedralize(&ctx, &from, RB_KEEP_HULL, &tets, &flaw);
		late = stop_done(&s);
		again = repeats_late_stop(&delay, late, 200);
		CHECK(status == RB_OK || status == RB_BAD_PLC || (late >= 0 && status == RB_STOPPED),
			  "%s: %d", points_family_name[family], status);
		rb_tets_free(memory, &tets);
		CHECK(rb_memory_used(memory) == 0, "%lu bytes are left",
			  (unsigned long) rb_memory_used(memory));
	} while (again);
	CHECK(delay.worst_ms < 200, "%s: %g ms late", points_family_name[family], delay.worst_ms);
}

/*
 * Tests that a mesh exists if the joins find no fault, unless doubles are too coarse, because many
 * of these points are adjacent doubles; this exception does not apply to the families of this file.
 * Also tests that no flaw is reported for a valid PLC.
 */
static void
anything(void)
{
	const char *only = getenv("RB_TEST_ONLY"); /* Number that a failure printed */

	for (int family = 0; family < ALL_FAMILIES; family++)
	{
		bool own = family >= POINTS_FAMILIES;
		bool wild = !own && family != POINTS_UNIFORM && family != POINTS_LATTICE &&
					family != POINTS_DECIMAL && family != POINTS_UTM && family != POINTS_ECEF;
		long count[2][2] = {{0, 0}, {0, 0}};

		for (long i = 0, n = check_rounds(wild ? 10 : own ? 100 : 60); i < n; i++)
		{
			long number = family * 1000000 + i, failures = check_failures;
			rb_plc from;
			result r;
			bool ok;

			if (only != NULL && atol(only) != number)
				continue;
			check_state = (uint64_t) number;
			random_model(family);
			from = plc();
			ok = valid(&from);
			if (wild)
			{
				anything_wild(family);
				continue;
			}
			forgive_flat = !own;
			r = mesh("anything", i % 2 ? RB_KEEP_HULL : RB_KEEP_INSIDE);
			forgive_flat = false;
			count[ok][r.status == RB_OK]++;
			CHECK(r.status == RB_OK || r.status == RB_BAD_PLC, "status %d", r.status);
			CHECK(ok || r.status != RB_OK || family != INTEGERS, "crosses itself, and is meshed");
			CHECK(!ok || r.status == RB_OK || flaw.kind == RB_FLAW_NO_VOLUME ||
					  ((!own || family == CROWDS) &&
					   (flaw.kind == RB_FLAW_TOO_NEAR || flaw.kind == RB_FLAW_NOT_RECOVERED)),
				  "nothing crosses, but: %s", flaw_text());
			if (check_failures > failures && check_failures < 10)
			{
				printf("# number %ld\n", number);
				print_model();
			}
		}
		if (!wild)
			printf("# %s: %ld meshed, %ld refused; crossing: %ld meshed, %ld refused\n",
				   family_name(family), count[1][1], count[1][0], count[0][1], count[0][0]);
	}
}

/* ---- facets that doubles hardly resolve ---- */

/*
 * Builds a tilted grid of triangles that is one facet, with points near it, at coordinates so large
 * that rounding bends the facet by as much as some points are above it.
 */
static void
grid_near_points(uint64_t seed)
{
	static const double far[3] = {401179776, 5959793920, 34.5};
	const double x[3] = {.36, .48, .8}, y[3] = {-.8, .6, 0}, z[3] = {-.48, -.64, .6};
	uint32_t v[7][7];
	int n, m;

	clear();
	check_state = seed;
	n = 2 + check_below(5);
	m = 2 + check_below(5);
	for (int i = 0; i <= n; i++)
		for (int j = 0; j <= m; j++)
		{
			double p[3];

			for (int k = 0; k < 3; k++)
				p[k] = far[k] + .05 * (i * x[k] + j * y[k]);
			v[i][j] = at(p[0], p[1], p[2]);
		}
	it.nfacets = 1;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < m; j++)
		{
			part(v[i][j], v[i + 1][j], v[i + 1][j + 1]);
			part(v[i][j], v[i + 1][j + 1], v[i][j + 1]);
		}
	for (int i = 0; i < 25; i++)
	{
		const double a = .05 * n * fabs(points_unit()), b = .05 * m * fabs(points_unit());
		const double h = .1 * pow(10, -6 * fabs(points_unit())) * (check_below(2) ? 1 : -1);
		double p[3];

		for (int k = 0; k < 3; k++)
			p[k] = far[k] + a * x[k] + b * y[k] + h * z[k];
		(void) at(p[0], p[1], p[2]);
	}
}

/* Tests that recovery goes on as long as a facet needs few points, although not fewer each round. */
static void
hardly_resolved(void)
{
	static const uint64_t seeds[] = {9, 11, 20, 31, 43, 52, 56, 72, 89, 103, 132, 150};

	for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
	{
		rb_plc from;
		result r;

		grid_near_points(seeds[i]);
		from = plc();
		CHECK(valid(&from), "seed %lu crosses itself", (unsigned long) seeds[i]);
		crease();
		r = mesh("grid near points", RB_KEEP_HULL);
		CHECK(r.status == RB_OK, "seed %lu: status %d, %s", (unsigned long) seeds[i], r.status,
			  flaw_text());
	}
}

/* ---- invalid PLCs ---- */

static void
refused(const char *name, rb_flaw_kind kind, uint32_t a, uint32_t b)
{
	for (int keep = 0; keep < 2; keep++)
	{
		result r = mesh(name, (rb_keep) keep);

		CHECK(r.status == RB_BAD_PLC && flaw.kind == kind && flaw.a == a && flaw.b == b,
			  "%s: status %d, %s", name, r.status, flaw_text());
	}
}

/* Checks that a PLC that was not validated by the joins gives some flaw. */
static void
refused_somehow(const char *name)
{
	rb_plc from = plc();

	CHECK(!valid(&from), "%s: nothing is wrong with it", name);
	for (int keep = 0; keep < 2; keep++)
	{
		result r = mesh(name, (rb_keep) keep);

		CHECK(r.status == RB_BAD_PLC, "%s: status %d, %u added", name, r.status, r.added);
	}
}

static void
some_points(void)
{
	check_state = 20;
	for (int i = 0; i < 50; i++)
		(void) at(5 * points_unit(), 5 * points_unit(), 5 * points_unit());
}

static void
refusals(void)
{
	/* No points, few points, collinear points, coplanar points */
	clear();
	refused("nothing", RB_FLAW_NO_VOLUME, RB_NONE, RB_NONE);
	for (int n = 1; n < 4; n++)
	{
		clear();
		for (int i = 0; i < n; i++)
			(void) at(i, i * i, i * i * i);
		refused("few points", RB_FLAW_NO_VOLUME, RB_NONE, RB_NONE);
	}
	clear();
	for (int i = 0; i < 100; i++)
		segment(at(i, 2 * i, 3 * i), at(i + 1, 2 * (i + 1), 3 * (i + 1)));
	refused("a line", RB_FLAW_NO_VOLUME, RB_NONE, RB_NONE);
	clear();
	quad(at(0, 0, 0), at(1, 0, 1), at(1, 1, 2), at(0, 1, 1));
	(void) at(5, 7, 12);
	refused("a plane", RB_FLAW_NO_VOLUME, RB_NONE, RB_NONE);
	/* Facets without area, folded, duplicate, and overlapping ones */
	clear();
	cube();
	facet(at(0, 0, 0), at(2, 2, 2), at(3, 3, 3));
	refused_somehow("no area");
	clear();
	cube();
	it.nfacets++;
	part(at(4, 0, 0), at(5, 0, 0), at(4, 1, 0));
	part(at(4, 0, 0), at(5, 0, 0), at(4.25, .25, 0));
	refused("folded", RB_FLAW_FACET_FOLDED, 6, RB_NONE);
	part(at(4, 0, 0), at(5, 0, 0), at(4, -2, 0));
	refused("an edge in three", RB_FLAW_FACET_FOLDED, 6, RB_NONE);
	clear();
	cube();
	facet(at(4, 0, 0), at(5, 0, 0), at(4, 1, 0));
	facet(at(4, 0, 0), at(4, 1, 0), at(5, 0, 0));
	refused("twice", RB_FLAW_FACETS_OVERLAP, 6, 7);
	clear();
	cube();
	quad(at(4, 0, 0), at(5, 0, 0), at(5, 1, 0), at(4, 1, 0));
	facet(at(4, 0, 0), at(5, 0, 0), at(5, 1, 0));
	refused_somehow("a triangle on a square");
	clear();
	some_points();
	facet(at(0, 0, 0), at(2, 0, 0), at(0, 2, 0));
	facet(at(0, 0, 0), at(2, 0, 0), at(1, 1, 0));
	refused_somehow("a triangle on a triangle");
	clear();
	quad(at(0, 0, 0), at(4, 0, 0), at(4, 4, 0), at(0, 4, 0));
	quad(at(1, 1, 0), at(5, 1, 0), at(5, 5, 0), at(1, 5, 0));
	some_points();
	refused_somehow("squares on each other");
	/* Facets and segments that cross */
	clear();
	facet(at(-3, -3, 0), at(3, -3, 0), at(0, 3, 0));
	facet(at(-1, 0, -1), at(1, 0, -1), at(0, 0, 3));
	refused_somehow("facets that cross");
	some_points();
	refused_somehow("facets that cross, and points");
	for (int i = 0; i < 6; i++)
		facet(at(-3 + i, -3, i), at(3, -3 + i, -i), at(i, 3, i + 1));
	refused_somehow("many facets that cross");
	clear();
	facet(at(-3, -3, 0), at(3, -3, 0), at(0, 3, 0));
	segment(at(0, 0, -4), at(0, 0, 5));
	refused_somehow("a segment through a facet");
	some_points();
	refused_somehow("a segment through a facet, and points");
	clear();
	some_points();
	segment(at(0, 0, 0), at(2, 2, 0));
	segment(at(0, 2, 0), at(2, 0, 0));
	refused_somehow("segments that cross");
	clear();
	some_points();
	segment(at(0, 0, 0), at(.7, .2, .1));
	segment(at(.7 / 3, .2 / 3, 0), at(.3, .2, .1));
	segment(at(0, 0, 0), at(1.4, .4, .2));
	refused_somehow("segments on each other");
	/* Isolated points */
	clear();
	cube();
	(void) at(.5, .25, 1);
	refused_somehow("a point in a side");
	clear();
	cube();
	(void) at(.5, .5, 1);
	refused_somehow("a point on a diagonal");
	clear();
	cube();
	(void) at(.5, 0, 1);
	refused_somehow("a point on an edge");
	clear();
	some_points();
	segment(at(0, 0, 0), at(3, 6, 9));
	(void) at(1, 2, 3);
	refused("a point on a segment", RB_FLAW_POINT_ON_SEGMENT, 52, 0);
	/* A duplicate segment, and one that is a boundary */
	clear();
	some_points();
	segment(at(0, 0, 0), at(3, 6, 9));
	segment(at(3, 6, 9), at(0, 0, 0));
	refused("a segment twice", RB_FLAW_SEGMENTS_CROSS, 0, 1);
	/*
	 * One of two equal points is in no tetrahedron: no segment ends there, and no facet has it as a
	 * vertex.
	 */
	clear();
	some_points();
	segment(at(3, 6, 9), 0);
	memcpy(it.points[it.npoints], it.points[it.npoints - 1], sizeof it.points[0]);
	segment(it.npoints++, 1);
	for (int keep = 0; keep < 2; keep++)
	{
		result r = mesh("a point twice", (rb_keep) keep);

		CHECK(r.status == RB_BAD_PLC && flaw.kind == RB_FLAW_TOO_NEAR &&
				  (flaw.a == it.npoints - 1 || flaw.a == it.npoints - 2),
			  "a point twice: status %d, %s", r.status, flaw_text());
	}
}

/* ---- stops and memory limits ---- */

static void
large_cloud(void)
{
	check_state = 21;
	rectangles();
	for (long i = 0, n = check_rounds(20000); i < n && i < 50000; i++)
		(void) at(points_unit(), points_unit(), points_unit());
}

static void
large_grid(void)
{
	cells = (int) cbrt(fmin(5000, (double) check_rounds(3000))) + 2;
	shake = .2;
	cells_of_grid();
}

static void
thin_squares(void)
{
	const int n = (int) sqrt(fmin(20000, (double) check_rounds(2000)));

	check_state = 22;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			quad(at(i, j, 0), at(i + 1, j, 0), at(i + 1, j + 1, 0), at(i, j + 1, 0));
	for (long i = 0, many = check_rounds(4000); i < many && i < 15000; i++)
		(void) at(n * fabs(points_unit()), n * fabs(points_unit()), .01 + .1 * fabs(points_unit()));
}

static void (*const large_models[])(void) = {large_cloud, large_grid, thin_squares};

static void
stops(void)
{
	for (size_t i = 0; i < sizeof large_models / sizeof large_models[0]; i++)
	{
		stop_delay delay = {0};
		double whole = 0;
		long n = check_rounds(12), stopped = 0;
		bool again;
		rb_plc from;

		clear();
		large_models[i]();
		from = plc();
		for (long k = 0; k <= n; k += !again)
		{
			rb_context ctx;
			rb_tets tets;
			rb_status status;
			stopper s;
			double start = thread_work_ms(), late;

			rb_context_init(&ctx, memory);
			stop_after(&s, &ctx, k == 0 ? 1e9 : whole * (double) k / (double) n);
			status = rb_tetrahedralize(&ctx, &from, RB_KEEP_HULL, &tets, &flaw);
			late = stop_done(&s);
			whole = k == 0 ? thread_work_ms() - start : whole;
			again = repeats_late_stop(&delay, late, fmax(50, whole / 4));
			stopped += status == RB_STOPPED;
			CHECK(status == RB_OK || (late >= 0 && status == RB_STOPPED), "model %zu: %d, %s", i,
				  status, flaw_text());
			rb_tets_free(memory, &tets);
			CHECK(rb_memory_used(memory) == 0, "model %zu: %lu bytes are left", i,
				  (unsigned long) rb_memory_used(memory));
		}
		printf("# model %zu: %.0f ms, %ld of %ld stopped, at most %.1f ms late\n", i, whole,
			   stopped, n, delay.worst_ms);
		CHECK(delay.worst_ms < fmax(50, whole / 4), "model %zu: %g ms late", i, delay.worst_ms);
	}
}

static void
budgets(void)
{
	static void (*const models[])(void) = {cube, edges_with_points, hanging,       chazelle,
										   bent, random_rectangles, lattice_in_box};
	double step = 1 + .06 / fmin(1, (double) check_rounds(1000) / 1000);

	bend = 1e-9;
	for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
	{
		rb_status status = RB_OVER_BUDGET;
		rb_plc from;
		long refused = 0;

		clear();
		models[i]();
		from = plc();
		for (double limit = 100; status == RB_OVER_BUDGET; limit *= step)
		{
			rb_memory *little = rb_memory_create((uint64_t) limit);
			rb_context ctx;
			rb_tets tets;

			rb_context_init(&ctx, little);
			status = rb_tetrahedralize(&ctx, &from, RB_KEEP_INSIDE, &tets, &flaw);
			CHECK(status == RB_OK || (status == RB_OVER_BUDGET && ctx.error.need > 0), "%s",
				  rb_status_text(status));
			CHECK(status == RB_OK || (tets.points == NULL && rb_memory_used(little) == 0),
				  "%lu bytes are left", (unsigned long) rb_memory_used(little));
			rb_tets_free(little, &tets);
			CHECK(rb_memory_used(little) == 0, "%lu bytes are left",
				  (unsigned long) rb_memory_used(little));
			rb_memory_destroy(little);
			refused++;
		}
		printf("# model %zu: %ld budgets\n", i, refused);
	}
}

/* ---- large models on several threads ---- */

static void
on_threads(void)
{
	const long n = check_rounds(24);
	double whole = 0;
	long stopped = 0, refused = 0;
	rb_tets one, other;
	rb_plc from;

	clear();
	large_cloud();
	from = plc();
	if (make(&from, RB_KEEP_HULL, 1, &one) != RB_OK)
	{
		CHECK(false, "%s", flaw_text());
		return;
	}
	for (int threads = 2; threads <= 9; threads += 3)
	{
		const double start = thread_work_ms();

		CHECK(make(&from, RB_KEEP_HULL, threads, &other) == RB_OK && same(&one, &other),
			  "%d threads: not the same", threads);
		whole = thread_work_ms() - start;
		rb_tets_free(memory, &other);
	}
	rb_tets_free(memory, &one);
	/* Stopped at any time, and with less and less memory: nothing is left behind. */
	for (long k = 0; k < 2 * n; k++)
	{
		const bool little = k >= n;
		rb_memory *room =
			rb_memory_create(little ? ((uint64_t) (k - n) << 20) : (uint64_t) 1 << 33);
		rb_context ctx;
		rb_status status;
		stopper s;

		rb_context_init(&ctx, room);
		ctx.threads = 4;
		stop_after(&s, &ctx, little ? 1e9 : whole * (double) k / (double) n);
		status = rb_tetrahedralize(&ctx, &from, RB_KEEP_HULL, &other, &flaw);
		(void) stop_done(&s);
		stopped += status == RB_STOPPED;
		refused += status == RB_OVER_BUDGET;
		CHECK(status == RB_OK || status == (little ? RB_OVER_BUDGET : RB_STOPPED), "%s",
			  rb_status_text(status));
		rb_tets_free(room, &other);
		CHECK(rb_memory_used(room) == 0, "%lu bytes are left",
			  (unsigned long) rb_memory_used(room));
		rb_memory_destroy(room);
	}
	printf("# %.0f ms, %ld stopped, %ld refused of %ld each\n", whole, stopped, refused, n);
}

/*
 * Tests two points at one position: which of them is reported does not depend on the order of
 * threads.
 */
static void
twice_on_threads(void)
{
	rb_flaw first;
	rb_tets tets;
	rb_plc from;

	clear();
	large_cloud();
	for (uint32_t i = 0; i < 50; i++)
		memcpy(it.points[it.npoints - 1 - i], it.points[it.npoints / 2 - 7 * i],
			   sizeof it.points[0]);
	from = plc();
	CHECK(make(&from, RB_KEEP_HULL, 1, &tets) == RB_BAD_PLC, "two at one place");
	first = flaw;
	for (int i = 0; i < 4; i++)
		CHECK(make(&from, RB_KEEP_HULL, 2 + i, &tets) == RB_BAD_PLC &&
				  memcmp(&first, &flaw, sizeof flaw) == 0,
			  "%s", flaw_text());
}

/* ---- transformed models ---- */

/* Tests that multiplication by a power of two only scales the mesh. */
static void
scaled(void)
{
	static void (*const models[])(void) = {
		cube,  nested, schoenhardt,        hanging,          chazelle,
		torus, bent,   squares_in_lattice, random_rectangles};
	static const int powers[] = {-900, -333, -20, 1, 70, 600};

	angle = -.4;
	bend = 1e-9;
	for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
	{
		rb_tets one, other;
		rb_plc from;

		clear();
		models[i]();
		from = plc();
		CHECK(make(&from, RB_KEEP_HULL, 1, &one) == RB_OK, "model %zu: %s", i, flaw_text());
		for (size_t k = 0; k < sizeof powers / sizeof powers[0]; k++)
		{
			clear();
			models[i]();
			for (uint32_t v = 0; v < it.npoints; v++)
				for (int a = 0; a < 3; a++)
					it.points[v][a] = ldexp(it.points[v][a], powers[k]);
			CHECK(make(&from, RB_KEEP_HULL, 1, &other) == RB_OK, "model %zu, 2^%d: %s", i,
				  powers[k], flaw_text());
			CHECK(same(&one, &other), "model %zu, 2^%d", i, powers[k]);
			for (uint32_t v = 0; v < 3 * one.npoints && v < 3 * other.npoints; v++)
				CHECK(other.points[v] == ldexp(one.points[v], powers[k]),
					  "model %zu, 2^%d: coordinate %u", i, powers[k], v);
			rb_tets_free(memory, &other);
		}
		rb_tets_free(memory, &one);
	}
}

static int
by_corners(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(uint32_t[4]));
}

static void
sort_corners(rb_tets *t)
{
	for (uint32_t i = 0; i < t->ntets; i++)
		for (int k = 1; k < 4; k++)
			for (int j = k; j > 0 && t->tets[i][j - 1] > t->tets[i][j]; j--)
			{
				uint32_t swap = t->tets[i][j];

				t->tets[i][j] = t->tets[i][j - 1];
				t->tets[i][j - 1] = swap;
			}
	if (t->ntets > 0)
		qsort(t->tets, t->ntets, sizeof(uint32_t[4]), by_corners);
}

/* Tests permuted and reversed axes: if no point is added, the tetrahedra are the same. */
static void
permuted(void)
{
	static void (*const models[])(void) = {
		cube,           cube_of_triangles, cells_of_grid,     nested,
		lattice_in_box, points_only,       squares_in_lattice};
	long looked = 0;

	cells = 3;
	shake = 0;
	for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
	{
		rb_tets one, other;
		rb_plc from;

		clear();
		models[i]();
		from = plc();
		CHECK(make(&from, RB_KEEP_HULL, 1, &one) == RB_OK, "model %zu: %s", i, flaw_text());
		sort_corners(&one);
		for (int way = 1; way < 12; way++)
		{
			for (uint32_t v = 0; v < it.npoints; v++)
			{
				double *p = it.points[v], x = p[0];

				p[0] = way % 2 ? p[1] : -p[2];
				p[1] = way % 2 ? x : p[1];
				p[2] = way % 2 ? p[2] : x;
			}
			CHECK(make(&from, RB_KEEP_HULL, 1, &other) == RB_OK, "model %zu: %s", i, flaw_text());
			sort_corners(&other);
			if (one.npoints == from.npoints)
			{
				looked++;
				CHECK(other.ntets == one.ntets && other.npoints == one.npoints &&
						  memcmp(one.tets, other.tets, one.ntets * sizeof *one.tets) == 0,
					  "model %zu, way %d: other tetrahedra", i, way);
			}
			rb_tets_free(memory, &other);
		}
		rb_tets_free(memory, &one);
	}
	CHECK(looked >= 50, "only %ld", looked);
}

/* ---- seeds ---- */

static void
seeds(void)
{
	result r;

	/*
	 * Two cubes in a cube, one of them a hole, the other with a region number; a seed outside, and
	 * a second seed in a region
	 */
	clear();
	box(0, 0, 0, 9, 9, 9);
	box(1, 1, 1, 2, 2, 2);
	box(5, 5, 5, 3, 3, 3);
	seed(2, 2, 2, 0, true);
	seed(6, 6, 6, -7, false);
	seed(7, 6, 6, 8, false);
	seed(-1, 2, 2, 5, false);
	r = mesh("seeds", RB_KEEP_INSIDE);
	CHECK(r.status == RB_OK && r.volume == 721 && r.nregions == 2 && r.outside_seeds == 1,
		  "%d: %g in %u, %u outside", r.status, r.volume, r.nregions, r.outside_seeds);
	/* Everything is removed. */
	clear();
	cube();
	seed(.5, .25, .75, 0, true);
	for (int keep = 0; keep < 2; keep++)
	{
		r = mesh("an empty cube", (rb_keep) keep);
		CHECK(r.status == RB_OK && r.ntets == 0 && r.nregions == 0, "%d: %u", r.status, r.ntets);
	}
	/*
	 * On a facet shared by two regions, on a vertex, on an edge, on the hull: some region, or
	 * outside
	 */
	clear();
	cells = 2;
	shake = 0;
	cells_of_grid();
	seed(1, .5, .5, 100, false);
	seed(1, 1, 1, 101, false);
	seed(1, 1, .5, 102, false);
	seed(0, .5, .5, 103, false);
	seed(0, 0, 0, 104, false);
	seed(1e300, 0, 0, 105, false);
	r = mesh("seeds on facets", RB_KEEP_INSIDE);
	CHECK(r.status == RB_OK && r.volume == 8 && r.nregions == 8, "%d: %g in %u", r.status, r.volume,
		  r.nregions);
	/* Many region numbers, which regions without a seed must not get */
	clear();
	cells_of_grid();
	for (int i = 0; i < SEEDS; i++)
		seed(-1, 0, 0, i + 1, false);
	r = mesh("many seeds", RB_KEEP_HULL);
	CHECK(r.status == RB_OK && r.nregions == 8 && r.outside_seeds == SEEDS, "%d: %u", r.status,
		  r.nregions);
}

/* ---- a join that fails while its results are processed ---- */

static int looked_at;

static rb_status
fail_when_looked_at(rb_context *ctx, const rb_job *job, const rb_sink *sink)
{
	rb_status status = RB_OK;

	for (uint32_t i = 1; i < 200 && i < job->red->nparts && status == RB_OK; i++)
		status = sink->put(sink->user, &(rb_pair){0, i}, 1);
	while (status == RB_OK && rb_load(&looked_at) == 0)
		usleep(1000);
	return status != RB_OK ? status : rb_fail(ctx, RB_OUT_OF_MEMORY, 1, 1, NULL);
}

static rb_status
look_until_it_fails(void *user, rb_meeting meeting)
{
	(void) meeting;
	rb_store(&looked_at, 1);
	while (!rb_should_stop(user))
		usleep(1000);
	return RB_OK;
}

static void
fails_late(void)
{
	const rb_backend backend = {.name = "fails", .join = fail_when_looked_at};
	rb_context ctx;
	rb_parts parts;
	rb_status status;
	rb_plc from;

	clear();
	large_cloud();
	from = plc();
	rb_context_init(&ctx, memory);
	status = rb_parts_build(&ctx, &from, &parts);
	CHECK(status == RB_OK && parts.n > 1000, "%d: %u", status, parts.n);
	status = rb_parts_join(&ctx, &backend, &parts, look_until_it_fails, &ctx);
	CHECK(status == RB_OUT_OF_MEMORY, "the status is not that of the thread that failed, but %d",
		  status);
	rb_parts_free(memory, &parts);
	CHECK(rb_memory_used(memory) == 0, "%lu bytes are left",
		  (unsigned long) rb_memory_used(memory));
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 33);
	alarm(600); /* A hang counts as a failure */
	CHECK_RUN(cubes);
	CHECK_RUN(cubes_with_walls);
	CHECK_RUN(shapes);
	CHECK_RUN(lattices);
	CHECK_RUN(clouds);
	CHECK_RUN(nearly_flat);
	CHECK_RUN(scaled);
	CHECK_RUN(permuted);
	CHECK_RUN(seeds);
	CHECK_RUN(refusals);
	CHECK_RUN(stops);
	CHECK_RUN(budgets);
	CHECK_RUN(on_threads);
	CHECK_RUN(twice_on_threads);
	CHECK_RUN(fails_late);
	CHECK_RUN(hardly_resolved);
	CHECK_RUN(anything);
	rb_memory_destroy(memory);
	return check_done();
}
