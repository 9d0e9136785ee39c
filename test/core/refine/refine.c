/*
 * refine.c
 *	  Tests refinement: refined meshes are checked like new ones, by rb_check_mesh, and by their
 *	  volume, their report and their number of bad tetrahedra.
 *
 * Most models are refined in several ways, in the ways in which tetrahedralize.c meshes them. A limit on
 * the number of points ends what would take too long: near some of these angles, millions of points
 * would be needed.
 */
#define _GNU_SOURCE
#include "plc_models.h"
#include "mesh/volumes.h"
#include "refine/refining.h"

/* Maximum number of points in a mesh if time is not limited */
#define MOST_POINTS 60000
/* Number of random PLCs */
#define ANY_COMPLEXES 150

static uint64_t
most_points(void)
{
	double n = fmin(MOST_POINTS, (double) check_rounds(MOST_POINTS / 10));

	return (uint64_t) fmax(n, 1500);
}

/* ---- options ---- */

static rb_refine_options
by_ratio(double ratio)
{
	return (rb_refine_options){
		.radius_edge = ratio, .max_volume = INFINITY, .max_points = most_points(), .threads = 2};
}

static rb_refine_options
by_volume(double volume)
{
	rb_refine_options o = by_ratio(INFINITY);

	o.max_volume = volume;
	return o;
}

/* Returns the maximum volume of a tetrahedron of this region with this centroid. */
static double
volume_allowed(const rb_refine_options *o, int64_t region, const double *at)
{
	double volume = o->max_volume, nearest = INFINITY, there = INFINITY;

	for (uint32_t i = 0; i < o->nregion_volumes; i++)
		if (o->region_volumes[i].region == region)
			volume = fmin(volume, o->region_volumes[i].volume);
	for (uint32_t i = 0; i < o->nsizes; i++)
	{
		double d2 = 0;

		for (int k = 0; k < 3; k++)
			d2 += (o->sizes[i].at[k] - at[k]) * (o->sizes[i].at[k] - at[k]);
		if (d2 < nearest || (d2 == nearest && o->sizes[i].volume < there))
		{
			nearest = d2;
			there = o->sizes[i].volume;
		}
	}
	return fmin(volume, there);
}

typedef struct figures
{
	/* Counts of certainly bad tetrahedra, and of those that may be bad depending on rounding */
	uint64_t surely, maybe;
	uint64_t large; /* Tetrahedra that are certainly too large */
} figures;

static figures
measure(const rb_refine_options *o, const rb_tets *t)
{
	figures f = {0};

	for (uint32_t i = 0; i < t->ntets; i++)
	{
		const double *p[4];
		double middle[3], longest = 0, allowed, e;
		rb_tet_quality q;

		for (int k = 0; k < 4; k++)
			p[k] = t->points + 3 * (size_t) t->tets[i][k];
		for (int k = 0; k < 3; k++)
			middle[k] = .25 * p[0][k] + .25 * p[1][k] + .25 * p[2][k] + .25 * p[3][k];
		for (int k = 0; k < 4; k++)
			for (int j = 0; j < k; j++)
				longest = fmax(
					longest, hypot(hypot(p[k][0] - p[j][0], p[k][1] - p[j][1]), p[k][2] - p[j][2]));
		rb_tet_measure(p[0], p[1], p[2], p[3], &q);
		allowed = volume_allowed(o, t->region[i], middle);
		/* Rounding decides whether the volume of a flat tetrahedron exceeds its bound. */
		e = 1e-9 + 1e-14 * longest * longest * longest / q.volume;
		f.large += q.volume > allowed * (1 + e);
		f.surely += q.volume > allowed * (1 + e) || q.radius_edge > o->radius_edge * (1 + 1e-8);
		f.maybe += q.volume > allowed * (1 - e) || !(q.radius_edge < o->radius_edge * (1 - 1e-8));
	}
	return f;
}

/* ---- refinement and checks ---- */

static rb_status
refine(const rb_refine_options *o, rb_tets *t, rb_refine_report *report)
{
	rb_context ctx;
	rb_status status;

	rb_context_init(&ctx, memory);
	status = rb_refine(&ctx, o, t, report);
	CHECK(status == RB_OK || ctx.error.status == status, "status %d, error %d", status,
		  ctx.error.status);
	return status;
}

static bool
same_points(const rb_tets *a, const rb_tets *b)
{
	return same(a, b) && memcmp(a->points, b->points, a->npoints * sizeof(double[3])) == 0;
}

static bool
same_report(const rb_refine_report *a, const rb_refine_report *b)
{
	return memcmp(a->added, b->added, sizeof a->added) == 0 && a->bad == b->bad &&
		   memcmp(a->bad_because, b->bad_because, sizeof a->bad_because) == 0 &&
		   a->rounds == b->rounds && a->tried == b->tried;
}

/* Returns how much the rounding of points on the boundary may change a volume. */
static double
volume_rounds(const rb_plc *from, double volume)
{
	double low[3] = {0}, high[3] = {0}, most = 0, across = 0;

	for (uint32_t i = 0; i < from->npoints; i++)
		for (int k = 0; k < 3; k++)
		{
			double x = from->points[3 * (size_t) i + (size_t) k];

			low[k] = i == 0 ? x : fmin(low[k], x);
			high[k] = i == 0 ? x : fmax(high[k], x);
			most = fmax(most, fabs(x));
		}
	for (int k = 0; k < 3; k++)
		across = fmax(across, high[k] - low[k]);
	return 1e-12 * volume + 20 * most * 0x1p-52 * across * across;
}

/*
 * Checks everything that is guaranteed of a refined mesh, which had `before` points, whatever the
 * options.
 */
static void
look_refined(const char *name, const rb_plc *from, rb_keep keep, const rb_refine_options *o,
			 uint32_t before, double volume, const rb_tets *t, const rb_refine_report *report)
{
	uint64_t added[RB_VERTEX_KINDS] = {0}, because = 0;
	figures f = measure(o, t);
	double now = check(name, from, keep, t);

	look(name, from, t);
	CHECK(fabs(now - volume) <= volume_rounds(from, volume), "%s: volume %.17g, not %.17g", name,
		  now, volume);
	for (uint32_t i = before; i < t->npoints; i++)
		added[t->kind[i] < RB_VERTEX_KINDS ? t->kind[i] : RB_VERTEX_INPUT]++;
	for (int k = 0; k < RB_VERTEX_KINDS; k++)
		CHECK(added[k] == report->added[k], "%s: %lu points of kind %d, not %lu", name,
			  (unsigned long) added[k], k, (unsigned long) report->added[k]);
	CHECK(added[RB_VERTEX_INPUT] == 0, "%s: input is added", name);
	CHECK(!o->keep_surface || added[RB_VERTEX_INSIDE] == t->npoints - before,
		  "%s: points on the surface", name);
	for (int k = 0; k < RB_BAD_REASONS; k++)
		because += report->bad_because[k];
	CHECK(because == report->bad, "%s: %lu bad, and %lu reasons", name, (unsigned long) report->bad,
		  (unsigned long) because);
	CHECK(f.surely <= report->bad && report->bad <= f.maybe, "%s: %lu to %lu bad, not %lu", name,
		  (unsigned long) f.surely, (unsigned long) f.maybe, (unsigned long) report->bad);
	CHECK(o->max_points == 0 || t->npoints <= o->max_points || t->npoints == before,
		  "%s: %u points", name, t->npoints);
	/* Points that must be inserted jointly may exceed the limit. */
	CHECK(report->bad_because[RB_BAD_FULL] == 0 || o->max_points > 0, "%s: full with %u points",
		  name, t->npoints);
	CHECK(o->keep_surface || report->bad_because[RB_BAD_SURFACE] == 0, "%s: not by the surface",
		  name);
}

/* Meshes, refines and checks the model. *report describes the refinement. */
static rb_status
refined(const char *name, rb_keep keep, const rb_refine_options *o, rb_refine_report *report)
{
	const rb_plc from = plc();
	rb_status status;
	rb_tets t;

	memset(report, 0, sizeof *report);
	status = make(&from, keep, 1, &t);
	CHECK(status == RB_OK, "%s: status %d", name, status);
	if (status == RB_OK)
	{
		uint32_t before = t.npoints;
		double volume = check(name, &from, keep, &t);

		status = refine(o, &t, report);
		CHECK(status == RB_OK, "%s: refined with status %d", name, status);
		if (status == RB_OK)
			look_refined(name, &from, keep, o, before, volume, &t, report);
		rb_tets_free(memory, &t);
	}
	CHECK(rb_memory_used(memory) == 0, "%s: %lu bytes are left", name,
		  (unsigned long) rb_memory_used(memory));
	return status;
}

/* ---- models ---- */

static void
boxes_at_edge(void)
{
	box(0, 0, 0, 1, 1, 1);
	box(1, 1, 0, 1, 1, 1);
}

static void
boxes_at_corner(void)
{
	box(0, 0, 0, 1, 1, 1);
	box(1, 1, 1, 1, 1, 1);
}

static void
boxes_at_side(void)
{
	box(0, 0, 0, 1, 1, 1);
	quad(at(1, 0, 0), at(3, 0, 0), at(3, 0, 1), at(1, 0, 1));
	quad(at(1, 1, 0), at(3, 1, 0), at(3, 1, 1), at(1, 1, 1));
	quad(at(1, 0, 0), at(3, 0, 0), at(3, 1, 0), at(1, 1, 0));
	quad(at(1, 0, 1), at(3, 0, 1), at(3, 1, 1), at(1, 1, 1));
	quad(at(3, 0, 0), at(3, 1, 0), at(3, 1, 1), at(3, 0, 1));
}

/* Builds pages that share an edge, in a box. */
static void
book(void)
{
	box(-2, -2, -1, 4, 4, 4);
	for (int i = 0; i < 9; i++)
		quad(at(0, 0, 0), at(0, 0, 2), at(cos(i * .6), sin(i * .6), 2 - .05 * i),
			 at(cos(i * .6), sin(i * .6), -.05 * i));
}

static void
thin_gap(void)
{
	box(0, 0, 0, 1, 1, 1);
	for (int i = 0; i < 2; i++)
		quad(at(.48, .48, .5 + .001 * i), at(.5, .48, .5 + .001 * i), at(.5, .5, .5 + .001 * i),
			 at(.48, .5, .5 + .001 * i));
}

static void
cloud(void)
{
	check_state = 31;
	for (int i = 0; i < 300; i++)
		(void) at(points_unit(), points_unit(), points_unit());
}

static void
cloud_in_box(void)
{
	box(-2, -2, -2, 4, 4, 4);
	cloud();
}

static void
one_tetrahedron(void)
{
	uint32_t v[4] = {at(0, 0, 0), at(1, 0, 0), at(0, 1, 0), at(0, 0, 1)};

	facet(v[0], v[2], v[1]);
	facet(v[0], v[1], v[3]);
	facet(v[1], v[2], v[3]);
	facet(v[2], v[0], v[3]);
}

/* Builds spikes that share one end. */
static void
spikes(void)
{
	box(-2, -2, -2, 4, 4, 4);
	for (int i = 0; i < 20; i++)
		segment(at(0, 0, 0), at(cos(i * .1), sin(i * .1), .5 * cos(i)));
}

static void
degree(void)
{
	angle = M_PI / 180;
	wedge();
}

static void
degree_fan(void)
{
	angle = M_PI / 60;
	fan();
}

static void
grid(void)
{
	cells = 3;
	shake = 0;
	cells_of_grid();
}

static void
shaken_grid(void)
{
	cells = 3;
	shake = .25;
	cells_of_grid();
}

static void
walls_across(void)
{
	walls = 1;
	cube_with_walls();
}

static void
segment_across(void)
{
	walls = 32;
	cube_with_walls();
}

static void
twisted(void)
{
	angle = -.4;
	schoenhardt();
}

static void
slightly_bent(void)
{
	bend = 1e-9;
	bent();
}

static void
near_sheets(void)
{
	bend = .01;
	sheets();
}

/* Selects the diagonal of a cube's top along which it bends by `bend` */
static int diagonal;

static void
bent_top(void)
{
	uint32_t v[8];

	box_corners(v, 0, 0, 0, 1, 1, 1);
	for (int i = 0; i < 6; i++)
		if (!(it.points[v[box_sides[i][0]]][2] == 1 && it.points[v[box_sides[i][1]]][2] == 1 &&
			  it.points[v[box_sides[i][2]]][2] == 1))
			quad(v[box_sides[i][0]], v[box_sides[i][1]], v[box_sides[i][2]], v[box_sides[i][3]]);
		else
			quad(v[box_sides[i][diagonal]], v[box_sides[i][diagonal + 1]],
				 v[box_sides[i][diagonal + 2]], v[box_sides[i][(diagonal + 3) % 4]]);
	for (uint32_t i = 0; i < it.npoints; i++)
		if (it.points[i][0] == 1 && it.points[i][1] == 1 && it.points[i][2] == 1)
			it.points[i][2] += bend;
}

typedef struct named
{
	void (*model)(void);
	const char *name;
	bool even_hull; /* True if points added on the planes of its hull lie on them exactly */
} named;

static const named models[] = {
	{cube, "cube", true},
	{cube_of_triangles, "cube of triangles", true},
	{one_tetrahedron, "tetrahedron", true},
	{walls_across, "walls across", true},
	{segment_across, "segment across", true},
	{grid, "grid", true},
	{shaken_grid, "shaken grid", false},
	{nested, "nested", true},
	{boxes_at_edge, "boxes at an edge", true},
	{boxes_at_corner, "boxes at a corner", true},
	{boxes_at_side, "boxes at a side", true},
	{book, "book", true},
	{hanging, "hanging", false},
	{frame, "frame", true},
	{edges_with_points, "edges with points", true},
	{degree, "wedge", false},
	{degree_fan, "fan", false},
	{thin_gap, "thin gap", true},
	{near_sheets, "sheets", false},
	{cloud, "cloud", false},
	{cloud_in_box, "cloud in a box", true},
	{spikes, "spikes", true},
	{torus, "torus", false},
	{needles, "needles", false},
	{twisted, "schoenhardt", true},
	{chazelle, "chazelle", true},
	{layers, "layers", false},
	{lattice_in_box, "lattice in a box", true},
	{squares_in_lattice, "squares", true},
	{slanted_in_lattice, "slanted squares", true},
	{floor_of_quads, "floor", false},
	{facet_in_cloud, "facet in a cloud", false},
	{random_rectangles, "rectangles", false},
	{segments_only, "segments", false},
	{points_only, "points", false},
	{slightly_bent, "bent", false},
};

#define MODELS (sizeof models / sizeof models[0])

/* Returns true if a model is skipped because time is limited: only one of `of` is tested. */
static bool
left_out(size_t number, size_t of)
{
	return check_rounds(100) < 100 && number % of != 0;
}

/* Returns true if the model can be moved in this way. */
static bool
may_move(const named *m, int way)
{
	/* Rounding to millimeters bends polygons by more than doubles need. */
	if (way == MILLIMETRES)
	{
		clear();
		m->model();
		return it.ntriangles == it.nfacets;
	}
	return true;
}

static void
all_models(void)
{
	const char *only = getenv("RB_TEST_ONLY"); /* Name of the only model to test */
	size_t number = 0;

	for (size_t i = 0; i < MODELS; i++)
		for (int way = 0; way < WAYS; way++)
		{
			char text[100];

			if (only != NULL && strcmp(only, models[i].name) != 0)
				continue;
			/*
			 * Test the model as it is and in two of the other ways, which differ from model to
			 * model.
			 */
			if (way != AS_IT_IS && only == NULL && (i + (size_t) way) % 2 != 0)
				continue;
			if (left_out(number++, 3))
				continue;
			if (!may_move(&models[i], way) || !build(models[i].model, models[i].name, way))
				continue;
			for (int k = 0; k < 4; k++)
			{
				rb_refine_options o = by_ratio(k % 2 ? 1.4 : 2);
				rb_refine_report report;
				double start = rb_now_ms();

				if (k >= 2 && (way != AS_IT_IS || !models[i].even_hull))
					continue;
				if (way != AS_IT_IS && only == NULL && k != (int) (number % 2))
					continue;
				snprintf(text, sizeof text, "%s, %s, %s, %g", models[i].name, way_name[way],
						 k < 2 ? "inside" : "hull", o.radius_edge);
				(void) refined(text, (rb_keep) (k / 2), &o, &report);
				if (only != NULL)
					printf("# %s: %lu bad, %lu by input, %lu full, %u rounds, %.0f ms\n", text,
						   (unsigned long) report.bad,
						   (unsigned long) report.bad_because[RB_BAD_INPUT],
						   (unsigned long) report.bad_because[RB_BAD_FULL], report.rounds,
						   rb_now_ms() - start);
			}
		}
}

/* ---- points stay on their facets and segments ---- */

/* Returns the distance of a point from the plane of a triangle, or from the line if c is NULL. */
static double
distance_from(const double *a, const double *b, const double *c, const double *at)
{
	rb_double_double u[3], v[3], d[3], n[3];

	for (int k = 0; k < 3; k++)
	{
		u[k] = rb_double_double_difference(b[k], a[k]);
		v[k] = rb_double_double_difference(c == NULL ? at[k] : c[k], a[k]);
		d[k] = rb_double_double_difference(at[k], a[k]);
	}
	rb_double_double_cross(u, v, n);
	if (c == NULL)
		return sqrt(rb_double_double_dot(n, n).high / rb_double_double_dot(u, u).high);
	return fabs(rb_double_double_dot(d, n).high) / sqrt(rb_double_double_dot(n, n).high);
}

/*
 * Returns the largest distance of an added point from the triangle that is its facet, or from its
 * segment, in rounding errors of the largest coordinate.
 */
static double
farthest_from_facets(const rb_plc *from, const rb_tets *t, rb_vertex_kind kind)
{
	double far = 0, largest = 0;

	for (uint32_t i = 0; i < 3 * from->npoints; i++)
		largest = fmax(largest, fabs(from->points[i]));
	for (uint32_t i = from->npoints; i < t->npoints; i++)
	{
		const double *p = from->points, *at = t->points + 3 * (size_t) i;
		const uint32_t *v;
		uint32_t parent = t->parent[i];

		if (t->kind[i] != kind)
			continue;
		if (kind == RB_VERTEX_ON_SEGMENT)
		{
			v = t->segments[parent];
			far = fmax(far, distance_from(p + 3 * (size_t) v[0], p + 3 * (size_t) v[1], NULL, at));
			continue;
		}
		v = from->triangles[parent];
		far = fmax(far, distance_from(p + 3 * (size_t) v[0], p + 3 * (size_t) v[1],
									  p + 3 * (size_t) v[2], at));
	}
	return far / (0x1p-53 * largest);
}

/*
 * Tests that points stay on facets and segments, however many rounds there were: the errors of the
 * points from which a point is computed do not add up.
 */
static void
points_on_facets(void)
{
	static const named of_triangles[] = {{cube_of_triangles, "cube of triangles", true},
										 {shaken_grid, "shaken grid", false},
										 {layers, "layers", false},
										 {segments_only, "segments", false}};
	double facets = 0, segments = 0;

	for (size_t i = 0; i < sizeof of_triangles / sizeof of_triangles[0]; i++)
		for (int way = AS_IT_IS; way <= MAPPED; way++)
		{
			rb_refine_options o = by_ratio(1.2);
			rb_refine_report report;
			rb_plc from;
			rb_tets t;

			o.max_points = 6000;
			if (!build(of_triangles[i].model, of_triangles[i].name, way))
				continue;
			from = plc();
			CHECK(from.ntriangles == from.nfacets, "%u triangles", from.ntriangles);
			if (make(&from, RB_KEEP_HULL, 1, &t) != RB_OK)
				continue;
			if (refine(&o, &t, &report) == RB_OK)
			{
				const double f = farthest_from_facets(&from, &t, RB_VERTEX_ON_FACET);
				const double s = farthest_from_facets(&from, &t, RB_VERTEX_ON_SEGMENT);

				/*
				 * Rounding a point moves it by up to sqrt(3), and rounding the normal of a plane
				 * tilts it by up to 2 at the other end of the model (measure.h).
				 */
				CHECK(f <= 4, "%s, %s: %g off facets", of_triangles[i].name, way_name[way], f);
				CHECK(s <= 1.7321, "%s, %s: %g off segments", of_triangles[i].name, way_name[way],
					  s);
				facets = fmax(facets, f);
				segments = fmax(segments, s);
			}
			rb_tets_free(memory, &t);
		}
	CHECK(facets > 0 && segments > 0, "%g off facets, %g off segments", facets, segments);
}

/* ---- hulls whose points lie on their planes except for rounding ---- */

/* Builds the vertices of a box and points inside it, on its faces and along its edges. */
static void
points_of_box(void)
{
	const double side[3] = {3, 2, 1};

	check_state = 43;
	for (int i = 0; i < 8; i++)
		(void) at(i % 2 ? side[0] : 0, i / 2 % 2 ? side[1] : 0, i / 4 ? side[2] : 0);
	for (int i = 0; i < 260; i++)
	{
		double p[3];

		for (int k = 0; k < 3; k++)
			p[k] = side[k] * (.5 + .5 * points_unit());
		for (int k = 0; k < 3 && i < 200; k++)
			if (i % 3 == k || (i >= 160 && (i + 1) % 3 == k))
				p[k] = check_below(2) * side[k];
		(void) at(p[0], p[1], p[2]);
	}
}

static void
small_lattice(void)
{
	lattice_points(3);
}

static void
middle_lattice(void)
{
	lattice_points(6);
}

static void
large_lattice(void)
{
	lattice_points(11);
}

static void
flat_lattice(void)
{
	for (int i = 0; i < 60; i++)
		for (int j = 0; j < 5; j++)
			(void) at(i % 5, (i / 5) * .37, j * .11);
}

/* Builds a prism each of whose sides is a lattice. */
static void
cylinder_of_points(void)
{
	for (int i = 0; i < 12; i++)
		for (int j = 0; j < 12; j++)
			(void) at(cos(M_PI * i / 6), sin(M_PI * i / 6), .25 * j);
}

/* Builds facets and segments on the faces and edges of a lattice, and from there into it. */
static void
lattice_with_input(void)
{
	lattice_points(5);
	for (int i = 0; i < 4; i++)
	{
		quad(at(0, i, 1), at(0, i + 1, 1), at(0, i + 1, 2), at(0, i, 2));
		quad(at(i, 2, 3), at(i + 1, 2, 3), at(i + 1, 2, 4), at(i, 2, 4));
		quad(at(3, 0, i), at(4, 0, i), at(4, 1, i), at(3, 1, i));
	}
	for (int i = 1; i < 4; i++)
	{
		segment(at(0, 0, i), at(0, 0, i + 1));
		segment(at(5, i, i), at(5, i + 1, i + 1));
		segment(at(5, i, 5), at(4, i, 5));
	}
}

static const named rounded[] = {{points_of_box, "points of a box", true},
								{small_lattice, "small lattice", true},
								{middle_lattice, "lattice", true},
								{large_lattice, "large lattice", true},
								{flat_lattice, "flat lattice", true},
								{cylinder_of_points, "cylinder", true},
								{lattice_with_input, "lattice with input", true}};

/* Refines and checks a hull with rounded points. Returns the number of points. */
static uint32_t
look_rounded(const char *name, const rb_plc *from, int threads, rb_tets *t)
{
	const uint32_t before = t->npoints;
	const double volume = check(name, from, RB_KEEP_HULL, t);
	rb_refine_options o = by_ratio(2);
	rb_refine_report report;
	rb_status status;

	o.threads = threads;
	o.max_points = 5000;
	status = refine(&o, t, &report);
	CHECK(status == RB_OK, "%s: status %d", name, status);
	if (status == RB_OK)
		look_refined(name, from, RB_KEEP_HULL, &o, before, volume, t, &report);
	CHECK(report.bad_because[RB_BAD_FULL] == 0, "%s: full", name);
	CHECK(report.bad * 20 <= t->ntets, "%s: %lu of %u bad", name, (unsigned long) report.bad,
		  t->ntets);
	return t->npoints;
}

/*
 * Tests that refinement ends as with exact coordinates, with about as many points, and that
 * refining again adds few points.
 */
static void
rounded_hulls(void)
{
	for (size_t i = 0; i < sizeof rounded / sizeof rounded[0]; i++)
	{
		uint32_t exact = 0;

		for (int way = AS_IT_IS; way <= MAPPED; way++)
		{
			rb_tets t, by_three;
			rb_plc from;
			uint32_t n, more;
			char name[100];

			snprintf(name, sizeof name, "%s, %s", rounded[i].name, way_name[way]);
			if (!build(rounded[i].model, rounded[i].name, way))
				continue;
			from = plc();
			if (make(&from, RB_KEEP_HULL, 1, &t) != RB_OK ||
				make(&from, RB_KEEP_HULL, 1, &by_three) != RB_OK)
				abort();
			n = look_rounded(name, &from, 1, &t);
			(void) look_rounded(name, &from, 3, &by_three);
			CHECK(same_points(&t, &by_three), "%s: not the same by three threads", name);
			if (way == AS_IT_IS)
				exact = n;
			CHECK(n <= exact + exact / 4, "%s: %u points, not %u", name, n, exact);
			more = look_rounded(name, &from, 2, &t) - n;
			printf("# %s: %u points, %u, %u\n", name, from.npoints, n, n + more);
			CHECK(more <= 10 + n / 20, "%s: %u points more", name, more);
			rb_tets_free(memory, &t);
			rb_tets_free(memory, &by_three);
			CHECK(rb_memory_used(memory) == 0, "%s: %lu bytes are left", name,
				  (unsigned long) rb_memory_used(memory));
		}
	}
}

/*
 * Refines tori of quads, some of which lie on the hull, flat only up to rounding. The layer between
 * such a quad and its facet of the hull consists of tetrahedra so flat that their circumspheres
 * contain points far away. Nevertheless, all vertices must stay, and the faces of each quad tile it.
 */
static void
quads_on_hull(void)
{
	static const int size[][2] = {{36, 12}, {40, 12}, {50, 16}, {60, 20}, {60, 24}, {100, 40}};

	for (size_t i = 0; i < sizeof size / sizeof size[0]; i++)
	{
		rb_refine_options o = by_ratio(2);
		rb_refine_report report;
		rb_plc from;
		rb_tets t;
		char name[100];

		o.max_points = 0;
		snprintf(name, sizeof name, "torus of %d by %d quads", size[i][0], size[i][1]);
		clear();
		torus_of(size[i][0], size[i][1]);
		from = plc();
		for (int keep = 0; keep < 2; keep++)
		{
			const rb_keep kept = keep == 0 ? RB_KEEP_HULL : RB_KEEP_INSIDE;

			/* A region between a quad and the hull may vanish, so their number is not compared. */
			if (make(&from, kept, 1, &t) != RB_OK)
				abort();
			memset(&report, 0, sizeof report);
			CHECK(refine(&o, &t, &report) == RB_OK, "%s: lost a vertex: %d", name, report.lost.any);
			(void) check(name, &from, kept, &t);
			CHECK(keep != 0 || report.added[RB_VERTEX_ON_HULL] > 0, "%s: no hull", name);
			rb_tets_free(memory, &t);
		}
	}
}

/*
 * Builds triangles on the hull of two sheared boxes: (2, 8, 7) and the faces of the boxes lie in
 * planes up to rounding, so that the hull leaves a triangle along an edge inside of it.
 */
static void
triangles_on_hull(void)
{
	static const double corner[][3] = {{-0.10592294960998477, 1, 0},
									   {1.8940770503900153, 1, 0},
									   {-0.21184589921996955, 2, 0},
									   {0.35832195638712855, 1.2898225143813438, 7},
									   {2.3583219563871283, 1.2898225143813438, 7},
									   {2.2523990067771438, 2.2898225143813438, 7},
									   {0.2523990067771438, 2.2898225143813438, 7},
									   {2.146476057167159, 3.2898225143813438, 7},
									   {0.146476057167159, 3.2898225143813438, 7}};

	for (size_t i = 0; i < sizeof corner / sizeof corner[0]; i++)
		(void) at(corner[i][0], corner[i][1], corner[i][2]);
	facet(0, 6, 5);
	facet(0, 2, 6);
	facet(0, 3, 4);
	facet(2, 8, 7);
	facet(2, 6, 7);
}

/*
 * Tests that a vertex on an edge at which the hull leaves a facet lies on this facet if the edge is
 * inside of it.
 */
static void
edges_of_hull_in_facets(void)
{
	rb_refine_options o = by_ratio(2);
	rb_refine_report report;

	o.max_points = 3000;
	if (build(triangles_on_hull, "triangles on the hull", AS_IT_IS))
		(void) refined("triangles on the hull", RB_KEEP_HULL, &o, &report);
}

/*
 * Builds a mesh whose subsegments have been split as far as each can be split alone. Returns false
 * if that fails.
 */
static bool
split_alone(rb_refining *r, rb_context *ctx, const rb_refine_options *o, rb_refine_report *report,
			const rb_plc *from)
{
	rb_tets t;
	bool good = rb_tetrahedralize(ctx, from, RB_KEEP_HULL, &t, &flaw) == RB_OK;

	memset(r, 0, sizeof *r);
	memset(report, 0, sizeof *report);
	r->ctx = ctx;
	r->options = o;
	r->report = report;
	r->protect = true;
	good = good && rb_refining_import(r, &t) == RB_OK && rb_refining_rounds(r) == RB_OK;
	rb_tets_free(ctx->memory, &t);
	return good;
}

/* Removes a vertex from the cells of a refined mesh, and requires that this is found. */
static void
lost_vertices(void)
{
	rb_refine_options o = by_volume(.05);
	rb_refine_report report;
	rb_context ctx;
	rb_refining r;
	rb_plc from;
	rb_tets t;

	(void) build(cloud, "cloud", AS_IT_IS);
	from = plc();
	rb_context_init(&ctx, memory);
	if (make(&from, RB_KEEP_HULL, 1, &t) != RB_OK || !split_alone(&r, &ctx, &o, &report, &from))
		abort();
	CHECK(r.nsites > t.npoints, "nothing is added");
	CHECK(rb_refining_check_vertices(&r, &t) == RB_OK && !report.lost.any, "a vertex is lost");
	for (uint32_t v = 0; v < r.nsites; v += r.nsites - 1)
	{
		rb_refining without = r;

		without.mesh.cells = malloc(r.ncells * sizeof(rb_cell));
		memcpy(without.mesh.cells, r.mesh.cells, r.ncells * sizeof(rb_cell));
		for (uint32_t i = 0; i < r.ncells; i++)
			for (int k = 0; k < 4; k++)
				if (without.mesh.cells[i].v[k] == v)
					without.mesh.cells[i].v[0] = RB_DEAD;
		report.lost.any = false;
		CHECK(rb_refining_check_vertices(&without, &t) == RB_BAD_PLC && report.lost.any &&
				  memcmp(report.lost.at, r.mesh.sites[v].at, sizeof report.lost.at) == 0,
			  "vertex %u is lost, but not reported", v);
		rb_forget_failure(&ctx);
		free(without.mesh.cells);
	}
	rb_refining_free(&r);
	rb_tets_free(memory, &t);
}

/* ---- random PLCs ---- */

/*
 * Builds a random complex from some triangles and edges of a tetrahedralization of a few points.
 * They meet at any angle, at edges and vertices, and nothing crosses. Some PLCs also have the
 * facets of a part of the tetrahedra as solids.
 */
static void
any_complex(uint64_t number)
{
	int n = 5 + check_below(12);
	double flat = check_below(3) == 0 ? pow(10, -3 * fabs(points_unit())) : 1;
	bool solids = check_below(2) == 0, chosen[MOST / 100];
	rb_plc from;
	rb_tets t;

	clear();
	for (int i = 0; i < n; i++)
	{
		double p[3] = {points_unit(), points_unit(), flat * points_unit()};

		/* Move points near a vertex, or nearly onto a grid. */
		for (int k = 0; k < 3 && number % 3 == 1 && i % 2 == 0; k++)
			p[k] *= .01;
		for (int k = 0; k < 3 && number % 3 == 2; k++)
			p[k] = check_below(3) + 1e-5 * p[k];
		(void) at(p[0], p[1], p[2]);
	}
	from = plc();
	if (make(&from, RB_KEEP_HULL, 1, &t) != RB_OK)
		return;
	for (uint32_t i = 0; i < t.ntets; i++)
		chosen[i] = check_below(2) == 0;
	for (uint32_t i = 0; i < t.ntets; i++)
		for (uint32_t k = 0; k < 4; k++)
		{
			uint32_t beyond = t.neighbours[4 * (size_t) i + k];
			const uint32_t *v = t.tets[i];

			if (beyond != RB_NONE && beyond < i)
				continue;
			if (solids ? chosen[i] != (beyond != RB_NONE && chosen[beyond]) : check_below(2) == 0)
				facet(v[rb_cell_face_corner(k, 0)], v[rb_cell_face_corner(k, 1)],
					  v[rb_cell_face_corner(k, 2)]);
		}
	/* Each edge belongs to several tetrahedra. */
	for (uint32_t i = 0; i < t.ntets; i += 7)
	{
		uint32_t a = t.tets[i][0], b = t.tets[i][1];
		bool known = false;

		for (uint32_t s = 0; s < it.nsegments; s++)
			known = known || (it.segments[s][0] == a && it.segments[s][1] == b) ||
					(it.segments[s][1] == a && it.segments[s][0] == b);
		if (!known)
			segment(a, b);
	}
	rb_tets_free(memory, &t);
}

static void
any_plcs(void)
{
	/* Seeds that once gave wrong results */
	static const long wrong[] = {83, 1163, 2450, 2580};
	const long n = check_rounds(ANY_COMPLEXES);

	for (long k = 0; k < n + 4; k++)
	{
		const long i = k < n ? k : wrong[k - n];
		rb_refine_options o;
		rb_refine_report report;
		char text[100];

		check_state = 1000 + (uint64_t) i;
		any_complex((uint64_t) i);
		o = by_ratio(i % 2 ? 1.4 : 2);
		o.max_points = 500;
		if (i % 4 >= 2)
			o.max_volume = 1e-3;
		snprintf(text, sizeof text, "complex %ld", i);
		if (it.nfacets >= 4)
			(void) refined(text, RB_KEEP_INSIDE, &o, &report);
	}
}

/* ---- identical results ---- */

static void
same_bits(void)
{
	static const int threads[] = {1, 2, 5, 2};

	for (size_t i = 0; i < MODELS; i++)
	{
		const rb_keep keep = i % 3 == 2 ? RB_KEEP_HULL : RB_KEEP_INSIDE;
		rb_refine_options o = by_ratio(2);
		rb_refine_report report, first;
		rb_tets t, one;
		rb_plc from;

		if (left_out(i, 3))
			continue;
		o.max_points /= 2;
		(void) build(models[i].model, models[i].name, AS_IT_IS);
		from = plc();
		memset(&one, 0, sizeof one);
		for (int k = 0; k < 4; k++)
		{
			o.threads = threads[k];
			if (make(&from, keep, 1, k == 0 ? &one : &t) != RB_OK ||
				refine(&o, k == 0 ? &one : &t, k == 0 ? &first : &report) != RB_OK)
			{
				CHECK(false, "%s: not made", models[i].name);
				break;
			}
			if (k == 0)
				continue;
			CHECK(same_points(&one, &t), "%s: not the same by %d threads", models[i].name,
				  o.threads);
			CHECK(same_report(&first, &report), "%s: another report by %d threads", models[i].name,
				  o.threads);
			rb_tets_free(memory, &t);
		}
		rb_tets_free(memory, &one);
		CHECK(rb_memory_used(memory) == 0, "%s: %lu bytes are left", models[i].name,
			  (unsigned long) rb_memory_used(memory));
	}
}

/* Tests meshes so large that conversion is parallel, too, and works in blocks. */
static void
same_bits_of_many(void)
{
	static const named large[] = {{cloud_in_box, "cloud in a box", true},
								  {shaken_grid, "shaken grid", false},
								  {layers, "layers", false},
								  {cloud, "cloud", false}};
	static const int threads[] = {1, 2, 5};

	for (size_t i = 0; i < sizeof large / sizeof large[0]; i++)
	{
		const rb_keep keep = i < 2 ? RB_KEEP_INSIDE : RB_KEEP_HULL;
		rb_refine_report report, first;
		rb_tets t, one;
		rb_plc from;

		if (left_out(i, 2))
			continue;
		(void) build(large[i].model, large[i].name, AS_IT_IS);
		from = plc();
		memset(&one, 0, sizeof one);
		for (int k = 0; k < 3; k++)
		{
			rb_tets *to = k == 0 ? &one : &t;
			rb_refine_options coarse, fine = by_ratio(1.4);
			double volume;
			rb_status status = make(&from, keep, 1, to);

			if (status == RB_OK)
			{
				volume = check(large[i].name, &from, keep, to);
				coarse = by_volume(volume / 20000);
				coarse.radius_edge = 2;
				coarse.max_points = 9000;
				fine.max_points = 10000;
				coarse.threads = fine.threads = threads[k];
				status = refine(&coarse, to, k == 0 ? &first : &report);
			}
			/* From here on the mesh is large at the start, too. */
			if (status == RB_OK)
			{
				CHECK(to->ntets > 1 << 15, "%s: only %u tetrahedra", large[i].name, to->ntets);
				status = refine(&fine, to, k == 0 ? &first : &report);
			}
			CHECK(status == RB_OK, "%s: status %d", large[i].name, status);
			if (status != RB_OK)
				break;
			if (k == 0)
			{
				look(large[i].name, &from, &one);
				continue;
			}
			CHECK(same_points(&one, &t), "%s: not the same by %d threads", large[i].name,
				  threads[k]);
			CHECK(same_report(&first, &report), "%s: another report by %d threads", large[i].name,
				  threads[k]);
			rb_tets_free(memory, &t);
		}
		rb_tets_free(memory, &one);
		CHECK(rb_memory_used(memory) == 0, "%s: %lu bytes are left", large[i].name,
			  (unsigned long) rb_memory_used(memory));
	}
}

/* ---- repeated refinement ---- */

/* Refines with the first options, then with the second, and checks the mesh after each step. */
static void
in_two_steps(const named *m, rb_keep keep, rb_refine_options *first, rb_refine_options *second)
{
	rb_refine_report report;
	rb_plc from;
	rb_tets t;

	(void) build(m->model, m->name, AS_IT_IS);
	from = plc();
	if (make(&from, keep, 1, &t) == RB_OK)
	{
		double volume = check(m->name, &from, keep, &t);

		for (int k = 0; k < 2; k++)
		{
			const rb_refine_options *o = k == 0 ? first : second;
			uint32_t before = t.npoints;
			rb_status status = refine(o, &t, &report);

			CHECK(status == RB_OK, "%s, step %d: status %d", m->name, k, status);
			if (status == RB_OK)
				look_refined(m->name, &from, keep, o, before, volume, &t, &report);
		}
	}
	rb_tets_free(memory, &t);
	CHECK(rb_memory_used(memory) == 0, "%s: %lu bytes are left", m->name,
		  (unsigned long) rb_memory_used(memory));
}

static void
steps(void)
{
	for (size_t i = 0; i < MODELS; i++)
	{
		rb_refine_options coarse = by_ratio(2), fine = by_ratio(1.4), half = by_ratio(2),
						  kept = by_ratio(2);

		if (left_out(i, 4))
			continue;
		half.max_points = fine.max_points / 4;
		kept.keep_surface = true;
		if (i % 3 == 0)
			in_two_steps(&models[i], RB_KEEP_INSIDE, &coarse, &fine);
		else if (i % 3 == 1)
			in_two_steps(&models[i], RB_KEEP_INSIDE, &half, &coarse);
		else
			in_two_steps(&models[i], RB_KEEP_INSIDE, &kept, &coarse);
	}
}

/* ---- limits ---- */

/*
 * Tests limits on the number of points below the number needed: the limit is reached and reported
 * as the reason for bad tetrahedra.
 */
static void
limits(void)
{
	for (size_t i = 0; i < MODELS; i++)
	{
		rb_refine_options o = by_ratio(2);
		rb_refine_report report;
		uint32_t n, wanted;

		if (left_out(i, 3))
			continue;
		(void) build(models[i].model, models[i].name, AS_IT_IS);
		n = it.npoints;
		if (refined(models[i].name, RB_KEEP_INSIDE, &o, &report) != RB_OK)
			continue;
		wanted = 0;
		for (int k = 0; k < RB_VERTEX_KINDS; k++)
			wanted += (uint32_t) report.added[k];
		for (int k = 0; k < 3; k++)
		{
			uint32_t got = 0;

			/* No point, one point, half of them */
			o.max_points = k == 0 ? 1 : n + (k == 1 ? 1 : wanted / 2);
			if (refined(models[i].name, RB_KEEP_INSIDE, &o, &report) != RB_OK || wanted < 4)
				continue;
			for (int j = 0; j < RB_VERTEX_KINDS; j++)
				got += (uint32_t) report.added[j];
			CHECK(k == 2 || got <= 1, "%s: %u added", models[i].name, got);
			/*
			 * Subsegments that can only be split jointly may exceed the limit, but only by a few
			 * points.
			 */
			CHECK(report.bad == 0 || report.bad_because[RB_BAD_FULL] > 0 || got + 8 > wanted / 2,
				  "%s: %u of %u added, but is not full", models[i].name, got, wanted);
		}
	}
}

/* Multiplies all points of a mesh by 2^exponent. */
static void
scale_points(rb_tets *t, int exponent)
{
	for (size_t i = 0; i < 3 * (size_t) t->npoints; i++)
		t->points[i] = ldexp(t->points[i], exponent);
}

/*
 * Tests meshes of extreme size: they are refined like those of ordinary size, unless doubles cannot
 * hold the added points. Then no point is added, and all that is bad is too fine.
 */
static void
magnitudes(void)
{
	static const int exponents[] = {-1010, -700, -330, -200, -90, 90, 200, 330, 700, 1000};

	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < sizeof exponents / sizeof exponents[0]; k++)
		{
			const int e = exponents[k];
			rb_refine_options o = by_ratio(1.5);
			rb_size size = {.at = {ldexp(1, e), ldexp(1, e), 0}, .volume = INFINITY};
			rb_region_volume region = {.region = 1, .volume = INFINITY};
			rb_refine_report first, report;
			rb_plc from;
			rb_tets one, t;
			uint32_t n;

			o.min_dihedral = 5;
			(void) build(models[i].model, models[i].name, AS_IT_IS);
			from = plc();
			if (make(&from, RB_KEEP_INSIDE, 1, &one) != RB_OK)
				continue;
			n = one.npoints;
			o.max_points = n + 50;
			/* The volume of a larger or smaller tetrahedron is not a double. */
			if (abs(e) <= 330)
				o.max_volume = 0.03;
			else
				o.radius_edge = 0.8;
			CHECK(refine(&o, &one, &first) == RB_OK && one.npoints > n, "%s", models[i].name);
			(void) make(&from, RB_KEEP_INSIDE, 1, &t);
			scale_points(&t, e);
			o.max_volume = ldexp(o.max_volume, 3 * e);
			o.sizes = &size;
			o.nsizes = 1;
			o.region_volumes = &region;
			o.nregion_volumes = 1;
			CHECK(refine(&o, &t, &report) == RB_OK, "%s, 2^%d", models[i].name, e);
			scale_points(&t, -e);
			if (e < -1000 && t.npoints == n)
				CHECK(report.bad > 0 && report.bad == report.bad_because[RB_BAD_TOO_FINE],
					  "%s, 2^%d: %lu bad", models[i].name, e, (unsigned long) report.bad);
			else
				CHECK(same_points(&one, &t) && same_report(&first, &report) &&
						  first.min_dihedral == report.min_dihedral,
					  "%s, 2^%d: %u of %u points, %lu of %lu bad, %g degrees", models[i].name, e,
					  t.npoints, one.npoints, (unsigned long) report.bad, (unsigned long) first.bad,
					  report.min_dihedral);
			rb_tets_free(memory, &one);
			rb_tets_free(memory, &t);
		}
}

/* Tests volume bounds: every tetrahedron is smaller, except for those reported as bad. */
static void
volumes(void)
{
	static const double shares[] = {1. / 50, 1. / 700, 1. / 3000};

	for (size_t i = 0; i < MODELS; i++)
		for (int k = 0; k < 3; k++)
		{
			rb_refine_options o;
			rb_refine_report report;
			rb_plc from;
			rb_tets t;
			double volume;

			if (left_out(i + (size_t) k, 4) || (k == 2 && i >= 12))
				continue;
			(void) build(models[i].model, models[i].name, AS_IT_IS);
			from = plc();
			if (make(&from, RB_KEEP_INSIDE, 1, &t) != RB_OK)
				continue;
			volume = check(models[i].name, &from, RB_KEEP_INSIDE, &t);
			rb_tets_free(memory, &t);
			if (volume == 0)
				continue;
			o = by_volume(volume * shares[k]);
			if (k == 1)
				o.radius_edge = 2;
			(void) refined(models[i].name, RB_KEEP_INSIDE, &o, &report);
			/* These models have no thin parts, so refinement succeeds. */
			if (i < 3)
				CHECK(report.bad == 0, "%s: %lu bad", models[i].name, (unsigned long) report.bad);
		}
}

static void
region_volumes(void)
{
	const rb_region_volume of[] = {{-7, .5}, {3, 10}, {9, .002}};

	for (int k = 0; k < 4; k++)
	{
		rb_refine_options o = by_ratio(k % 2 ? 2 : INFINITY);
		rb_refine_report report;

		clear();
		box(0, 0, 0, 9, 9, 9);
		box(1, 1, 1, 2, 2, 2);
		box(5, 5, 5, 3, 3, 3);
		seed(.5, .5, .5, 3, false);
		seed(2, 2, 2, k < 2 ? 8 : 3, k < 2);
		seed(6, 6, 6, -7, false);
		o.region_volumes = of;
		o.nregion_volumes = 3;
		o.max_volume = k % 2 ? 4 : INFINITY;
		(void) refined("region volumes", RB_KEEP_INSIDE, &o, &report);
		CHECK(report.bad == 0, "%lu bad", (unsigned long) report.bad);
	}
}

static void
sizes(void)
{
	static rb_size s[200];

	for (int k = 0; k < 8; k++)
	{
		rb_refine_options o = by_ratio(k % 2 ? 2 : INFINITY);
		rb_refine_report report;
		uint32_t n = k == 0 ? 1 : k < 4 ? 20 : 200;

		check_state = 41 + (uint64_t) k;
		for (uint32_t i = 0; i < n; i++)
		{
			for (int j = 0; j < 3; j++)
				/* Points far away, in a plane, in few positions, and near the model */
				s[i].at[j] = k == 3             ? 1e6 * points_unit()
							 : k == 4 && j == 2 ? .25
							 : k == 5           ? check_below(3)
												: .5 + points_unit();
			s[i].volume = i % 5 == 0 && k != 1 ? 1e-3 : .05;
		}
		o.sizes = s;
		o.nsizes = n;
		o.max_volume = k == 6 ? .01 : INFINITY;
		clear();
		if (k == 7)
			cloud_in_box();
		else
			cube();
		(void) refined("sizes", k == 2 ? RB_KEEP_HULL : RB_KEEP_INSIDE, &o, &report);
		CHECK(k == 7 || report.bad == 0, "%d: %lu bad", k, (unsigned long) report.bad);
	}
}

/* Tests that the surface is preserved; look_refined checks that no point is on it. */
static void
surfaces_kept(void)
{
	uint64_t inside = 0;

	for (size_t i = 0; i < MODELS; i++)
		for (int k = 0; k < 3; k++)
		{
			rb_refine_options o = by_ratio(k == 1 ? INFINITY : 2);
			rb_refine_report report;

			if (left_out(i + (size_t) k, 5))
				continue;
			(void) build(models[i].model, models[i].name, AS_IT_IS);
			o.keep_surface = true;
			if (k == 1)
				o.max_volume = .01;
			(void) refined(models[i].name, k == 2 ? RB_KEEP_HULL : RB_KEEP_INSIDE, &o, &report);
			inside += report.added[RB_VERTEX_INSIDE];
		}
	CHECK(inside > 100, "only %lu points", (unsigned long) inside);
}

/*
 * Tests that refinement without criteria changes nothing, except perhaps the order of faces and
 * edges.
 */
static void
nothing(void)
{
	for (size_t i = 0; i < MODELS; i++)
		for (int keep = 0; keep < 2; keep++)
		{
			rb_refine_options o = by_ratio(INFINITY);
			rb_refine_report report, again;
			rb_tets one, t;
			rb_plc from;

			/* Rounding decides whether the flat tetrahedra of a torus have a radius at all. */
			if (models[i].model == torus)
				continue;
			if (left_out(i, 3) || (keep == RB_KEEP_HULL && !models[i].even_hull))
				continue;
			(void) build(models[i].model, models[i].name, AS_IT_IS);
			from = plc();
			o.max_points = keep == 0 ? 0 : MOST_POINTS;
			if (make(&from, (rb_keep) keep, 1, &one) != RB_OK)
				continue;
			if (make(&from, (rb_keep) keep, 1, &t) == RB_OK && refine(&o, &t, &report) == RB_OK)
			{
				look_refined(models[i].name, &from, (rb_keep) keep, &o, one.npoints,
							 check(models[i].name, &from, (rb_keep) keep, &one), &t, &report);
				CHECK(t.npoints == one.npoints && t.ntets == one.ntets && t.nfaces == one.nfaces &&
						  t.nedges == one.nedges,
					  "%s: %u points, %u tetrahedra", models[i].name, t.npoints, t.ntets);
				CHECK(t.ntets == one.ntets &&
						  memcmp(t.tets, one.tets, t.ntets * sizeof *t.tets) == 0,
					  "%s: other tetrahedra", models[i].name);
				CHECK(report.bad == 0, "%s: %lu bad", models[i].name, (unsigned long) report.bad);
				/* A refined mesh does not change, bit for bit, when it is refined again. */
				rb_tets_free(memory, &one);
				(void) make(&from, (rb_keep) keep, 1, &one);
				(void) refine(&o, &one, &again);
				(void) refine(&o, &one, &again);
				CHECK(same_points(&one, &t) && same_report(&report, &again), "%s: changed",
					  models[i].name);
			}
			rb_tets_free(memory, &t);
			rb_tets_free(memory, &one);
		}
}

/* ---- stops and memory limits ---- */

static void
turned_lattice(void)
{
	lattice_points(8);
	(void) move(TURNED);
}

static const named to_stop[] = {{cloud_in_box, "cloud in a box", false},
								{turned_lattice, "turned lattice", false},
								{random_rectangles, "rectangles", false},
								{shaken_grid, "shaken grid", false},
								{degree_fan, "fan", false}};

#define TO_STOP (sizeof to_stop / sizeof to_stop[0])

static void
stops(void)
{
	for (size_t i = 0; i < TO_STOP; i++)
		for (int threads = 1; threads < 4; threads += 2)
		{
			rb_refine_options o = by_ratio(1.4);
			stop_delay delay = {0};
			double whole = 0;
			long n = check_rounds(5), stopped = 0;
			bool again;
			rb_tets before, t;
			rb_plc from;

			o.threads = threads;
			(void) build(to_stop[i].model, to_stop[i].name, AS_IT_IS);
			from = plc();
			if (make(&from, RB_KEEP_HULL, 1, &before) != RB_OK)
				continue;
			(void) make(&from, RB_KEEP_HULL, 1, &t);
			for (long k = -1; k <= n; k += !again)
			{
				const uint64_t used = rb_memory_used(memory);
				rb_refine_report report;
				rb_context ctx;
				rb_status status;
				stopper s;
				double start = thread_work_ms(), late;

				rb_context_init(&ctx, memory);
				if (k == 0)
					rb_context_stop(&ctx);
				stop_after(&s, &ctx, k < 1 ? 1e9 : whole * (double) (k - 1) / (double) n);
				status = rb_refine(&ctx, &o, &t, &report);
				late = stop_done(&s);
				again = repeats_late_stop(&delay, late, fmax(50, whole / 4));
				stopped += status == RB_STOPPED;
				CHECK(k == 0 ? status == RB_STOPPED
							 : status == RB_OK || (late >= 0 && status == RB_STOPPED),
					  "%s, %ld: status %d", to_stop[i].name, k, status);
				if (status == RB_OK)
				{
					if (k == -1)
						whole = thread_work_ms() - start;
					rb_tets_free(memory, &t);
					(void) make(&from, RB_KEEP_HULL, 1, &t);
				}
				CHECK(same_points(&before, &t), "%s: changed", to_stop[i].name);
				CHECK(rb_memory_used(memory) == used, "%s: %lu bytes are left", to_stop[i].name,
					  (unsigned long) (rb_memory_used(memory) - used));
			}
			printf("# %s, %d threads: %.0f ms, %ld of %ld stopped, at most %.1f ms late\n",
				   to_stop[i].name, threads, whole, stopped, n + 1, delay.worst_ms);
			CHECK(delay.worst_ms < fmax(50, whole / 4), "%s: %g ms late", to_stop[i].name,
				  delay.worst_ms);
			rb_tets_free(memory, &t);
			rb_tets_free(memory, &before);
		}
}

static void
budgets(void)
{
	double step = 1 + .1 / fmin(1, (double) check_rounds(1000) / 1000);

	for (size_t i = 0; i < TO_STOP; i++)
	{
		rb_refine_options o = by_ratio(2);
		rb_status status = RB_OVER_BUDGET;
		rb_memory *little = rb_memory_create((uint64_t) 1 << 33);
		long refused = 0;
		rb_tets before, t;
		rb_context ctx;
		rb_plc from;
		rb_keep keep;

		o.max_points = 3000;
		(void) build(to_stop[i].model, to_stop[i].name, AS_IT_IS);
		from = plc();
		keep = from.nfacets > 0 ? RB_KEEP_INSIDE : RB_KEEP_HULL;
		rb_context_init(&ctx, little);
		if (make(&from, keep, 1, &before) != RB_OK ||
			rb_tetrahedralize(&ctx, &from, keep, &t, &flaw) != RB_OK)
			abort();
		for (double more = 100; status == RB_OVER_BUDGET; more *= step)
		{
			const uint64_t used = rb_memory_used(little);
			rb_refine_report report;

			rb_memory_set_limit(little, used + (uint64_t) more);
			rb_context_init(&ctx, little);
			status = rb_refine(&ctx, &o, &t, &report);
			CHECK(status == RB_OK || (status == RB_OVER_BUDGET && ctx.error.need > 0), "%s: %s",
				  to_stop[i].name, rb_status_text(status));
			if (status == RB_OK)
				break;
			CHECK(same_points(&before, &t), "%s: changed", to_stop[i].name);
			CHECK(rb_memory_used(little) == used, "%s: %lu bytes are left", to_stop[i].name,
				  (unsigned long) (rb_memory_used(little) - used));
			refused++;
		}
		printf("# %s: %ld budgets\n", to_stop[i].name, refused);
		rb_tets_free(little, &t);
		rb_tets_free(memory, &before);
		CHECK(rb_memory_used(little) == 0, "%s: %lu bytes are left", to_stop[i].name,
			  (unsigned long) rb_memory_used(little));
		rb_memory_destroy(little);
	}
}

/* ---- refinement by a device ---- */

/* Result of the fake device at its nth call, from 1 on, and the number of calls */
static rb_status fails_with;
static int fails_at, times_asked;

static rb_status
rounds_elsewhere(rb_context *ctx, rb_refining *r, size_t size)
{
	CHECK(size == sizeof *r, "%zu bytes", size);
	times_asked++;
	if (times_asked == fails_at)
		return rb_fail(ctx, fails_with, 0, 0, "it is asked too often");
	return rb_refining_rounds(r);
}

/*
 * Tests that a device does what threads do, leaves the rest to threads, or determines the result.
 */
static void
devices(void)
{
	static const rb_status status[] = {RB_NO_DEVICE, RB_DEVICE_FULL, RB_DEVICE_FAILED,
									   RB_OVER_BUDGET};
	const rb_backend ours = {.name = "ours", .refine = rounds_elsewhere};

	for (size_t i = 0; i < TO_STOP; i++)
	{
		rb_refine_options o = by_ratio(1.4);
		rb_refine_report report, first;
		rb_tets before, one, t;
		rb_plc from;
		int most = 0;

		(void) build(to_stop[i].model, to_stop[i].name, AS_IT_IS);
		from = plc();
		if (make(&from, RB_KEEP_HULL, 1, &before) != RB_OK ||
			make(&from, RB_KEEP_HULL, 1, &one) != RB_OK || refine(&o, &one, &first) != RB_OK)
		{
			CHECK(false, "%s: not made", to_stop[i].name);
			continue;
		}
		CHECK(first.device_rounds == 0, "%u rounds", first.device_rounds);
		o.backend = &ours;
		for (int at = 0; at <= most + 1 && at < 4; at++)
			for (int k = 0; k < 8; k++)
			{
				rb_context ctx;
				rb_status outcome;
				bool failed;

				o.backend_only = k >= 4;
				o.backend_always = k % 2 != 0;
				fails_with = status[k % 4];
				fails_at = at;
				times_asked = 0;
				(void) make(&from, RB_KEEP_HULL, 1, &t);
				rb_context_init(&ctx, memory);
				outcome = rb_refine(&ctx, &o, &t, &report);
				failed = at > 0 && times_asked >= at;
				if (failed && (k >= 4 || fails_with == RB_OVER_BUDGET))
				{
					CHECK(outcome == fails_with && ctx.error.status == fails_with &&
							  same_points(&before, &t),
						  "%s, %d, %d: status %d", to_stop[i].name, at, k, outcome);
					CHECK(strcmp(ctx.error.text, "it is asked too often") == 0, "%s",
						  ctx.error.text);
				}
				else
				{
					CHECK(outcome == RB_OK && same_points(&one, &t) && same_report(&first, &report),
						  "%s, %d, %d: status %d, or other bits", to_stop[i].name, at, k, outcome);
					CHECK(report.device_rounds <= report.rounds &&
							  (report.device_rounds == 0) ==
								  ((failed && at == 1) || first.rounds == 0),
						  "%u of %u rounds", report.device_rounds, report.rounds);
					CHECK((ctx.stats.note[0] != '\0') == failed && (!failed || times_asked == at),
						  "asked %d times: %s", times_asked, ctx.stats.note);
				}
				if (at == 0 && times_asked > most)
					most = times_asked;
				rb_tets_free(memory, &t);
			}
		printf("# %s: asked %d times\n", to_stop[i].name, most);
		rb_tets_free(memory, &one);
		rb_tets_free(memory, &before);
	}
}

/* ---- joint insertion ---- */

/* ---- convex boundaries ---- */

static void
cloud_with_hole(void)
{
	cloud();
	box(-.25, -.25, -.25, .5, .5, .5);
	seed(0, 0, 0, 0, true);
}

/*
 * Tests where a boundary counts as convex, and that a point on it which moves inward by more than
 * rounding explains is found.
 */
static void
convexity(void)
{
	static const struct
	{
		void (*model)(void);
		const char *name;
		rb_convexity convex;
	} cases[] = {{cube, "cube", RB_CONVEX},
				 {cloud, "cloud", RB_CONVEX},
				 {boxes_at_edge, "boxes at an edge", RB_CONVEX},
				 {torus, "torus", RB_CONVEX},
				 {cloud_with_hole, "cloud with a hole", RB_CONVEX_OFF_FACETS}};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
	{
		rb_refine_options o = by_volume(.05);
		rb_refine_report report;
		rb_context ctx;
		rb_refining r;
		rb_plc from;
		uint32_t dents = 0;

		if (!build(cases[i].model, cases[i].name, TURNED))
			continue;
		from = plc();
		rb_context_init(&ctx, memory);
		CHECK(split_alone(&r, &ctx, &o, &report, &from), "%s: not refined", cases[i].name);
		CHECK(rb_refining_find_convexity(&r) == RB_OK, "%s: not tested", cases[i].name);
		CHECK(r.convex == cases[i].convex, "%s: convexity %d", cases[i].name, r.convex);
		CHECK(rb_refining_check_convexity(&r) == RB_OK, "%s: not convex", cases[i].name);
		for (uint32_t v = from.npoints; v < r.nsites && dents < 5; v++)
			if (r.mesh.kind[v] == RB_VERTEX_ON_FACET && r.mesh.parent[v] >= r.nfacets)
			{
				double *at = r.mesh.sites[v].at, was[3];

				/* The models contain the origin or lie on one side of the hull's planes. */
				memcpy(was, at, sizeof was);
				for (int step = 0; step < 2; step++)
				{
					for (int k = 0; k < 3; k++)
						at[k] = was[k] * (1 - (step == 0 ? 0x1p-52 : 0x1p-40));
					rb_forget_failure(&ctx);
					CHECK(rb_refining_check_convexity(&r) == (step == 0 ? RB_OK : RB_BAD_PLC),
						  "%s: step %d", cases[i].name, step);
				}
				CHECK(report.reflex.depth > report.reflex.limit && report.reflex.limit > 0,
					  "%s: %g of %g", cases[i].name, report.reflex.depth, report.reflex.limit);
				memcpy(at, was, sizeof was);
				dents++;
			}
		CHECK((dents > 0) == (cases[i].model != cube), "%s: %u dents", cases[i].name, dents);
		rb_forget_failure(&ctx);
		rb_refining_free(&r);
	}
}

typedef rb_status (*inserting)(rb_refining *r, bool *any);

/*
 * Tests joint insertion with slightly more memory each time, stopped at the start, and stopped
 * while it works.
 */
static void
insert_stuck(const named *model, inserting insert, const char *how, int *inserted)
{
	double step = 1 + .5 / fmin(1, (double) check_rounds(1000) / 1000), more = 100, whole = 0;
	rb_refine_options o = by_ratio(2);
	long tries = 0, n = check_rounds(3);
	rb_status status = RB_OVER_BUDGET;
	stop_delay delay = {0};
	bool again = false;
	rb_plc from;

	o.threads = 1;
	(void) build(model->model, model->name, AS_IT_IS);
	from = plc();
	for (long k = -1; k <= n; k += status != RB_OVER_BUDGET && !again)
	{
		rb_memory *little = rb_memory_create((uint64_t) 1 << 33);
		double start, late = 0;
		bool any = false;
		rb_refine_report report;
		rb_context ctx;
		rb_refining r;
		uint64_t used;
		uint32_t blocked;
		stopper s;

		rb_context_init(&ctx, little);
		if (!split_alone(&r, &ctx, &o, &report, &from))
		{
			CHECK(false, "%s: not made", model->name);
			k = n;
		}
		blocked = r.nblocked;
		used = rb_memory_used(little);
		if (blocked == 0)
			k = n;
		else if (k == -1)
		{
			rb_memory_set_limit(little, used + (uint64_t) more);
			more *= step;
			tries++;
		}
		start = thread_work_ms();
		if (k == 0)
			rb_context_stop(&ctx);
		else if (k > 0 && blocked > 0)
			stop_after(&s, &ctx, whole * (double) (k - 1) / (double) n);
		status = blocked > 0 ? insert(&r, &any) : RB_OK;
		if (k > 0 && blocked > 0)
		{
			late = stop_done(&s);
			CHECK(status == RB_OK || (late >= 0 && status == RB_STOPPED), "%s, %s: status %d",
				  model->name, how, status);
			again = repeats_late_stop(&delay, late, fmax(50, whole / 4));
			CHECK(delay.worst_ms < fmax(50, whole / 4), "%s, %s: %g ms late", model->name, how,
				  delay.worst_ms);
		}
		else if (k == 0)
			CHECK(status == RB_STOPPED || blocked == 0, "%s, %s: status %d", model->name, how,
				  status);
		else if (blocked > 0)
		{
			CHECK(status == RB_OK || (status == RB_OVER_BUDGET && ctx.error.need > 0), "%s, %s: %s",
				  model->name, how, rb_status_text(status));
			whole = thread_work_ms() - start;
			if (status == RB_OK && any)
				++*inserted;
		}
		rb_refining_free(&r);
		CHECK(rb_memory_used(little) == 0, "%s, %s: %lu bytes are left", model->name, how,
			  (unsigned long) rb_memory_used(little));
		rb_memory_destroy(little);
	}
	if (tries > 0)
		printf("# %s, %s: %ld budgets, %.1f ms\n", model->name, how, tries, whole);
}

static void
inserted_together(void)
{
	static const named blocked[] = {{nested, "nested", false},
									{hanging, "hanging", false},
									{needles, "needles", false},
									{torus, "torus", false},
									{slightly_bent, "bent", false}};
	int together = 0, rebuilt = 0;

	for (size_t i = 0; i < sizeof blocked / sizeof blocked[0]; i++)
	{
		insert_stuck(&blocked[i], rb_refining_insert_jointly, "together", &together);
		insert_stuck(&blocked[i], rb_refining_rebuild, "rebuilt", &rebuilt);
	}
	CHECK(together > 0 && rebuilt > 0, "%d together, %d rebuilt", together, rebuilt);
}

/* Builds pairs of nearly parallel segments, each pair different. No two segments share a vertex. */
static void
beside(void)
{
	cube();
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
		{
			double x = .2 + .3 * i, y = .2 + .3 * k, tilt = .03 * (i - k), far = .004 + .002 * i;

			segment(at(x, y, .1), at(x + tilt, y - tilt, .9));
			segment(at(x + far, y, .11), at(x + far + tilt, y - tilt, .91));
		}
}

/*
 * Checks that the radius of each new site is the distance to the nearest older site that shares an
 * edge with it.
 */
static void
near_when_it_came(const rb_refining *r, uint32_t before, uint32_t *looked)
{
	double *nearest = malloc((r->nsites + 1) * sizeof *nearest);

	if (nearest == NULL)
		abort();
	for (uint32_t i = 0; i < r->nsites; i++)
		nearest[i] = INFINITY;
	for (uint32_t i = 0; i < r->ncells; i++)
	{
		const rb_cell *c = &r->mesh.cells[i];

		for (uint32_t e = 0; e < 6 && c->v[0] != RB_DEAD && !rb_cell_ghost(c); e++)
		{
			uint32_t u = c->v[rb_cell_edge_from(e)], v = c->v[rb_cell_edge_to(e)];
			uint32_t last = u > v ? u : v;

			nearest[last] =
				fmin(nearest[last], rb_distance2(rb_site_at(&r->mesh, u), rb_site_at(&r->mesh, v)));
		}
	}
	for (uint32_t i = before; i < r->nsites; i++, ++*looked)
		CHECK(r->mesh.sites[i].radius == sqrt(nearest[i]), "site %u: radius %.17g, but %.17g away",
			  i, r->mesh.sites[i].radius, sqrt(nearest[i]));
	free(nearest);
}

/*
 * Tests that, without small angles, radii state the distance at insertion, whatever is inserted
 * jointly. Otherwise an edge that is short because of a neighboring new point would be attributed
 * to the input.
 */
static void
radii_of_many(void)
{
	static const inserting ways[] = {rb_refining_insert_jointly, rb_refining_rebuild};
	uint32_t looked[2] = {0, 0};
	rb_refine_options o = by_ratio(2);
	rb_plc from;

	o.threads = 1;
	if (!build(beside, "beside", AS_IT_IS))
		return;
	from = plc();
	for (int k = 0; k < 2; k++)
	{
		rb_refine_report report;
		rb_context ctx;
		rb_refining r;
		bool any = false;
		uint32_t before;

		rb_context_init(&ctx, memory);
		if (!split_alone(&r, &ctx, &o, &report, &from))
			CHECK(false, "not made");
		before = r.nsites;
		CHECK(ways[k](&r, &any) == RB_OK && any, "%d: nothing was inserted", k);
		near_when_it_came(&r, before, &looked[k]);
		rb_refining_free(&r);
	}
	CHECK(looked[0] > 0 && looked[1] > 0, "%u together, %u rebuilt", looked[0], looked[1]);
}

/*
 * Tests that a reused slot makes an old entry stale. The slot now holds a ghost, one of whose
 * vertices is at infinity, and whose hash equals that of the old entry by chance, as happens once
 * in half a million cases.
 */
static void
used_again(void)
{
	rb_site *sites = calloc(4, sizeof *sites);
	rb_cell *cells = calloc(1, sizeof *cells);
	rb_cells m;

	if (sites == NULL || cells == NULL)
		abort();
	memset(&m, 0, sizeof m);
	m.sites = sites;
	m.cells = cells;
	for (uint32_t i = 0; i < 3; i++)
		sites[i].at[i] = 1;
	cells[0] = (rb_cell){.v = {RB_GHOST, 0, 2, 1}, .bits = RB_CELL_WALL(0) | RB_CELL_SEGMENT(3)};
	for (uint32_t part = 0; part < 4; part++)
		for (int what = 0; what < 3; what++)
		{
			rb_refine_candidate cand;

			/* Skip parts without the vertex at infinity, for which the hash is conclusive. */
			if (what == RB_SPLIT_WALL ? part == 0 : part == 3)
				continue;
			memset(&cand, 0, sizeof cand);
			cand.entry = rb_entry_make(&m, 0, part, (rb_what) what, false);
			rb_candidate_build(&m, &cand, 0);
			CHECK(cand.verdict == RB_STALE, "what %d, part %u: verdict %u", what, part,
				  cand.verdict);
		}
	free(sites);
	free(cells);
}

/* ---- flat tetrahedra ---- */

/*
 * Builds a torus of quads, whose vertices lie on circles. Rounding bends the quads into flat
 * tetrahedra, none of which is bad.
 */
static void
torus_of_quads(void)
{
	torus_of(32, 16);
}

/* Checks that the measures of a tetrahedron do not depend on the order of its vertices. */
static void
measured_alike(const char *name, const double (*p)[3], double ratio)
{
	double least = INFINITY, most = 0, flattest = INFINITY, thickest = 0;

	for (int i = 0; i < 4 * 4 * 4; i++)
	{
		int a = i % 4, b = i / 4 % 4, c = i / 16, d = 6 - a - b - c;
		rb_tet_quality q;

		if (a == b || a == c || b == c)
			continue;
		rb_tet_measure(p[a], p[b], p[c], p[d], &q);
		least = fmin(least, q.radius_edge);
		most = fmax(most, q.radius_edge);
		flattest = fmin(flattest, q.volume);
		thickest = fmax(thickest, q.volume);
	}
	CHECK(flattest > 0 && thickest < flattest * (1 + 1e-9), "%s: volumes of %g to %g", name,
		  flattest, thickest);
	CHECK(most < least * (1 + 1e-9), "%s: ratios of %.17g to %.17g", name, least, most);
	CHECK(fabs(least - ratio) < 1e-9 * ratio, "%s: %.17g, not %.17g", name, least, ratio);
}

static void
flat_ones(void)
{
	/*
	 * Vertices of a square in the circle around (0, 0, 1) of radius 1, one of them raised by 2^-52
	 */
	const double square[4][3] = {{1, 0, 1}, {0, 1, 1}, {-1, 0, 1}, {0, -1, 1 + 0x1p-52}};
	/*
	 * Four points of a circle of radius 1/2 in a slanted plane: rounding changes their sphere, but
	 * there is still one.
	 */
	const double slanted[4][3] = {{2.5062601150455674, 1.9526762917570255, 0.9369017223427007},
								  {2.7996004139600124, 1.7251502189751635, 0.633533625300218},
								  {3.4427597584706593, 1.8606193461758729, 0.8141591282344971},
								  {3.2630387586905525, 2.2551309861885693, 1.3401746482514258}};

	measured_alike("square", square, sqrt(.5));
	measured_alike("slanted", slanted, 3.6574910947608745);
	if (!build(torus_of_quads, "torus of quads", AS_IT_IS))
		return;
	for (int k = 0; k < 2; k++)
	{
		rb_refine_options o = by_ratio(k == 0 ? 2 : 1.4);
		rb_refine_report report;

		CHECK(refined("torus of quads", RB_KEEP_INSIDE, &o, &report) == RB_OK, "not refined");
		CHECK(report.bad == 0, "torus of quads: %lu bad", (unsigned long) report.bad);
	}
}

/*
 * Tests that a wedge of one degree, whose two sides face each other everywhere, is refined, but not
 * endlessly.
 */
static void
flat_wedge(void)
{
	if (!build(degree, "wedge", AS_IT_IS))
		return;
	for (int k = 0; k < 2; k++)
	{
		rb_refine_options o = by_ratio(k == 0 ? 2 : 1.4);
		rb_refine_report report;

		CHECK(refined("wedge", RB_KEEP_INSIDE, &o, &report) == RB_OK, "not refined");
		CHECK(report.bad <= (k == 0 ? 100 : 140), "wedge: %lu bad", (unsigned long) report.bad);
	}
}

/*
 * Tests that the mesh has the volume enclosed by the triangles of a bent facet, refined or not, and
 * that a mesh with another volume is reported.
 */
static void
bends(void)
{
	static const double steps[] = {.1, .002, 1e-6, 1e-9};
	int reported = 0;

	for (int s = 0; s < 4; s++)
		for (diagonal = 0; diagonal < 2; diagonal++)
		{
			rb_refine_options o[2] = {by_ratio(2), by_volume(.01)};
			rb_tets t;
			rb_plc from;

			bend = steps[s];
			clear();
			bent_top();
			from = plc();
			/*
			 * A facet that bends without a crease is invalid (plc.h): refinement changes its
			 * shape.
			 */
			if (make(&from, RB_KEEP_INSIDE, 1, &t) == RB_OK)
			{
				rb_refine_report report;
				rb_context ctx;
				rb_volumes_input in;
				rb_flaw found = {.kind = RB_FLAW_NONE};
				rb_status status;

				CHECK(refine(&o[1], &t, &report) == RB_OK, "not refined");
				rb_context_init(&ctx, memory);
				rb_volumes_of_plc(&from, &t, &in);
				status = rb_volumes_check(&ctx, &in, &found);
				CHECK(status == (found.kind == RB_FLAW_NONE ? RB_OK : RB_BAD_PLC), "status %d",
					  status);
				reported += found.kind == RB_FLAW_VOLUME || found.kind == RB_FLAW_OFF_FACET;
				rb_tets_free(memory, &t);
			}
			crease();
			CHECK(it.nsegments == from.nsegments + 1, "%u creases", it.nsegments - from.nsegments);
			for (int k = 0; k < 2; k++)
			{
				rb_refine_report report;
				double volume;

				CHECK(refined("bent top", RB_KEEP_INSIDE, &o[k], &report) == RB_OK, "not refined");
				from = plc();
				if (make(&from, RB_KEEP_INSIDE, 1, &t) != RB_OK)
					continue;
				CHECK(refine(&o[k], &t, &report) == RB_OK, "not refined");
				volume = check("bent top", &from, RB_KEEP_INSIDE, &t);
				CHECK(fabs(volume - 1 - bend / 6) <= 1e-14 || fabs(volume - 1 - bend / 3) <= 1e-14,
					  "volume %.17g", volume);
				rb_tets_free(memory, &t);
			}
		}
	CHECK(reported == 8, "%d of 8 wrong meshes were reported", reported);
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 33);
	alarm(600); /* A hang counts as a failure */
	CHECK_RUN(used_again);
	CHECK_RUN(all_models);
	CHECK_RUN(points_on_facets);
	CHECK_RUN(rounded_hulls);
	CHECK_RUN(quads_on_hull);
	CHECK_RUN(edges_of_hull_in_facets);
	CHECK_RUN(lost_vertices);
	CHECK_RUN(any_plcs);
	CHECK_RUN(same_bits);
	CHECK_RUN(same_bits_of_many);
	CHECK_RUN(steps);
	CHECK_RUN(limits);
	CHECK_RUN(magnitudes);
	CHECK_RUN(volumes);
	CHECK_RUN(region_volumes);
	CHECK_RUN(sizes);
	CHECK_RUN(surfaces_kept);
	CHECK_RUN(nothing);
	CHECK_RUN(stops);
	CHECK_RUN(budgets);
	CHECK_RUN(devices);
	CHECK_RUN(convexity);
	CHECK_RUN(inserted_together);
	CHECK_RUN(radii_of_many);
	CHECK_RUN(flat_ones);
	CHECK_RUN(flat_wedge);
	CHECK_RUN(bends);
	CHECK(rb_memory_used(memory) == 0, "bytes are left");
	rb_memory_destroy(memory);
	return check_done();
}
