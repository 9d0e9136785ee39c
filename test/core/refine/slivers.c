/*
 * slivers.c
 *	  Tests the removal of slivers: meshes of models are refined with and without it, and compared.
 *	  All guarantees but the Delaunay property must hold afterwards, by rb_check_mesh, and the faces
 *	  without it must be as many as reported.
 */
#define _GNU_SOURCE
#pragma GCC diagnostic ignored "-Wunused-function" /* Models that are not used here */
#include "plc_models.h"
#include "refine/angles.h"
#include "refine/refining.h"

/* ---- models ---- */

static void
cloud_in_box(void)
{
	box(-2, -2, -2, 4, 4, 4);
	check_state = 31;
	for (int i = 0; i < 400; i++)
		(void) at(points_unit(), points_unit(), points_unit());
}

static void
shaken_grid(void)
{
	cells = 3;
	shake = .25;
	cells_of_grid();
}

static void
narrow_wedge(void)
{
	angle = M_PI / 180;
	wedge();
}

/*
 * Builds a torus of quadrilaterals, which are flat up to rounding. Its tetrahedralization contains
 * flat tetrahedra with two faces on a facet, inside or outside of the torus.
 */
static void
fine_torus(void)
{
	torus_of(32, 16);
}

typedef struct sliver_model
{
	void (*model)(void);
	const char *name;
	rb_keep keep;
	double max_volume;
	double below_10; /* Maximum share of tetrahedra below 10 degrees after the removal */
	double least;    /* Minimum angle after the removal of those below 5 degrees */
} sliver_model;

static const sliver_model sliver_models[] = {
	{cube, "cube", RB_KEEP_INSIDE, 2e-4, 0, 0},
	{shaken_grid, "shaken grid", RB_KEEP_INSIDE, .01, .005, 0},
	{nested, "nested", RB_KEEP_INSIDE, INFINITY, .005, 0},
	{torus, "torus", RB_KEEP_INSIDE, INFINITY, .05, 0},
	{cloud_in_box, "cloud in box", RB_KEEP_INSIDE, .05, .002, 0},
	{cloud_in_box, "hull of cloud in box", RB_KEEP_HULL, .05, .002, 0},
	{cube_with_walls, "cube with walls", RB_KEEP_INSIDE, 2e-3, .005, 0},
	{layers, "layers", RB_KEEP_HULL, INFINITY, .1, 0},
	{segments_only, "segments", RB_KEEP_HULL, INFINITY, .05, 0},
	{narrow_wedge, "wedge of one degree", RB_KEEP_INSIDE, INFINITY, 1, 0},
	{fine_torus, "fine torus", RB_KEEP_INSIDE, INFINITY, 0, 5},
	{fine_torus, "hull of fine torus", RB_KEEP_HULL, INFINITY, .05, 4},
};

#define SLIVER_MODELS (sizeof sliver_models / sizeof sliver_models[0])

static rb_refine_options
sliver_options(const sliver_model *model, double degrees)
{
	return (rb_refine_options){.radius_edge = 2,
							   .max_volume = model->max_volume,
							   .min_dihedral = degrees,
							   .max_points = 30000,
							   .threads = 1};
}

/* ---- measures ---- */

typedef struct angles
{
	double least;
	uint64_t below_5, below_10;
	uint64_t large_ratio; /* Tetrahedra beyond radius_edge */
	uint64_t not_delaunay;
} angles;

static angles
measure_angles(const rb_refine_options *o, const rb_tets *t)
{
	angles a = {.least = 180};

	for (uint32_t i = 0; i < t->ntets; i++)
	{
		const double *p[4];
		rb_tet_quality q;

		for (int k = 0; k < 4; k++)
			p[k] = t->points + 3 * (size_t) t->tets[i][k];
		rb_tet_measure(p[0], p[1], p[2], p[3], &q);
		a.least = fmin(a.least, q.min_dihedral);
		a.below_5 += q.min_dihedral < 5;
		a.below_10 += q.min_dihedral < 10;
		a.large_ratio += q.radius_edge > o->radius_edge * (1 + 1e-9);
	}
	return a;
}

/*
 * Checks the angles of random tetrahedra against rb_tet_measure, which computes them by another
 * method.
 */
static void
angles_agree(void)
{
	check_state = 5;
	for (long i = 0; i < check_rounds(100000); i++)
	{
		double p[4][3], flat = i % 3 == 0 ? 1e-6 : 1;
		rb_tet_quality q;
		uint32_t e = 9;
		double measure;

		for (int k = 0; k < 4; k++)
			for (int j = 0; j < 3; j++)
				p[k][j] = points_unit() * (j == 2 ? flat : 1);
		rb_tet_measure(p[0], p[1], p[2], p[3], &q);
		measure = rb_tet_angle(p[0], p[1], p[2], p[3], &e);
		CHECK(fabs(2 * asin(sqrt(measure / 2)) * (180 / M_PI) - q.min_dihedral) <= 1e-9,
			  "%g, not %g degrees", 2 * asin(sqrt(measure / 2)) * (180 / M_PI), q.min_dihedral);
		CHECK(e < 6, "edge %u", e);
	}
	for (double degrees = 0; degrees <= 90; degrees += .5)
		CHECK(fabs(rb_angle_measure(degrees) - (1 - cos(degrees * (M_PI / 180)))) < 1e-15, "%g",
			  degrees);
	CHECK(rb_tet_angle((double[]){0, 0, 0}, (double[]){0, 0, 0}, (double[]){1, 0, 0},
					   (double[]){0, 1, 0}, NULL) == 0,
		  "no angle of a degenerate tetrahedron");
}

/* ---- refinement ---- */

static rb_status
refine(const rb_plc *from, rb_keep keep, const rb_refine_options *o, rb_tets *t,
	   rb_refine_report *report)
{
	rb_context ctx;
	rb_status status = make(from, keep, 1, t);

	CHECK(status == RB_OK, "status %d", status);
	rb_context_init(&ctx, memory);
	status = rb_refine(&ctx, o, t, report);
	CHECK(status == RB_OK, "refined with status %d", status);
	return status;
}

/* Returns the number of faces that are not Delaunay, by the check. */
static uint64_t
count_faults(const rb_plc *from, rb_keep keep, const rb_tets *t, bool not_delaunay,
			 uint64_t *faults)
{
	rb_check_input in = check_input_of_tets(from, keep, t);
	rb_check_report report;
	rb_context ctx;
	uint64_t n = 0;

	rb_context_init(&ctx, memory);
	in.not_delaunay = not_delaunay;
	*faults = UINT64_MAX;
	if (rb_check_mesh(&ctx, &in, &report) == RB_OK)
	{
		*faults = report.faults;
		n = report.count[RB_FAULT_NOT_DELAUNAY];
		rb_check_report_free(memory, &report);
	}
	return n;
}

/* Checks that exactly the tetrahedra at faces that are not Delaunay are marked. */
static void
check_marks(const char *name, const rb_plc *from, rb_keep keep, const rb_tets *t)
{
	uint8_t *expected = calloc(t->ntets + (size_t) 1, 1), *marks = calloc(t->ntets + (size_t) 1, 1);
	rb_check_input in = check_input_of_tets(from, keep, t);
	rb_check_report report;
	rb_context ctx;

	rb_context_init(&ctx, memory);
	in.most = UINT32_MAX;
	CHECK(rb_check_mesh(&ctx, &in, &report) == RB_OK, "%s: no report", name);
	for (uint32_t i = 0; i < report.nlist; i++)
		if (report.list[i].kind == RB_FAULT_NOT_DELAUNAY)
			expected[report.list[i].a] = expected[report.list[i].b] = 1;
	CHECK((report.count[RB_FAULT_NOT_DELAUNAY] > 0) == (t->not_delaunay != NULL), "%s: marks",
		  name);
	rb_check_report_free(memory, &report);
	if (t->not_delaunay != NULL)
	{
		memcpy(marks, t->not_delaunay, t->ntets);
		CHECK(memcmp(expected, marks, t->ntets) == 0, "%s: other tetrahedra are marked", name);
		in.tet_not_delaunay = marks;
		CHECK(rb_check_mesh(&ctx, &in, &report) == RB_OK && report.faults == 0,
			  "%s: %lu faults at marks", name, (unsigned long) report.faults);
		rb_check_report_free(memory, &report);
		/* A face is allowed only if both tetrahedra are marked. */
		*(uint8_t *) memchr(marks, 1, t->ntets) = 0;
		CHECK(rb_check_mesh(&ctx, &in, &report) == RB_OK && report.faults > 0 &&
				  report.faults == report.count[RB_FAULT_NOT_DELAUNAY],
			  "%s: %lu faults without a mark", name, (unsigned long) report.faults);
		rb_check_report_free(memory, &report);
	}
	free(expected);
	free(marks);
}

/*
 * Returns a hash of faces or edges with their facets or segments, which does not depend on order.
 */
static uint64_t
hash_items(const uint32_t *v, int corners, const uint32_t *of, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t h = of[i];

		/* The smallest corner first, then the largest one */
		for (uint32_t k = 0, last = 0; (int) k < corners; k++)
		{
			uint32_t next = UINT32_MAX;

			for (int j = 0; j < corners; j++)
			{
				const uint32_t w = v[(size_t) i * (size_t) corners + (size_t) j];

				next = (k == 0 || w > last) && w < next ? w : next;
			}
			last = next;
			h = (h ^ next) * 0x9e3779b97f4a7c15u;
			h ^= h >> 29;
		}
		sum += h;
	}
	return sum;
}

/* Returns true if the vertices on the surface and the edges of segments are the same. */
static bool
same_vertices_and_edges(const rb_tets *a, const rb_tets *b)
{
	for (uint32_t i = 0; i < a->npoints; i++)
		if (a->kind[i] != b->kind[i] || a->parent[i] != b->parent[i] ||
			(a->kind[i] != RB_VERTEX_INSIDE &&
			 memcmp(a->points + 3 * (size_t) i, b->points + 3 * (size_t) i, sizeof(double[3])) !=
				 0))
			return false;
	return a->nedges == b->nedges && hash_items(a->edges[0], 2, a->edge_segment, a->nedges) ==
										 hash_items(b->edges[0], 2, b->edge_segment, b->nedges);
}

/* Returns true if each facet has the same number of faces. */
static bool
same_number_of_faces(const rb_tets *a, const rb_tets *b)
{
	return a->nfaces == b->nfaces &&
		   memcmp(a->face_facet, b->face_facet, a->nfaces * sizeof *a->face_facet) == 0;
}

/* Returns true if the faces of all facets are the same. */
static bool
same_faces(const rb_tets *a, const rb_tets *b)
{
	return a->nfaces == b->nfaces && hash_items(a->faces[0], 3, a->face_facet, a->nfaces) ==
										 hash_items(b->faces[0], 3, b->face_facet, b->nfaces);
}

/* Compares the mesh of a model with and without the removal. */
static void
compare_model(const sliver_model *model, double degrees)
{
	const rb_refine_options with = sliver_options(model, degrees),
							without = sliver_options(model, 0);
	rb_refine_report plain, report;
	uint64_t faults, because = 0, allowed;
	angles before, after;
	rb_tets t, u;
	rb_plc from;

	(void) build(model->model, model->name, AS_IT_IS);
	from = plc();
	if (refine(&from, model->keep, &without, &t, &plain) != RB_OK ||
		refine(&from, model->keep, &with, &u, &report) != RB_OK)
		return;
	before = measure_angles(&without, &t);
	after = measure_angles(&with, &u);
	after.not_delaunay = count_faults(&from, model->keep, &u, false, &faults);
	printf(
		"# %s, %g degrees: %u points, %u tets, least %.3g, below 10: %lu; then %u, %u, %.3g, %lu\n",
		model->name, degrees, t.npoints, t.ntets, before.least, (unsigned long) before.below_10,
		u.npoints, u.ntets, after.least, (unsigned long) after.below_10);
	CHECK(faults == after.not_delaunay, "%s: %lu faults, %lu not Delaunay", model->name,
		  (unsigned long) faults, (unsigned long) after.not_delaunay);
	CHECK(report.slivers.not_delaunay == after.not_delaunay, "%s: %lu not Delaunay, not %lu",
		  model->name, (unsigned long) report.slivers.not_delaunay,
		  (unsigned long) after.not_delaunay);
	(void) count_faults(&from, model->keep, &u, true, &faults);
	CHECK(faults == 0, "%s: %lu faults that are allowed", model->name, (unsigned long) faults);
	check_marks(model->name, &from, model->keep, &u);
	CHECK(t.not_delaunay == NULL, "%s: marks without removal", model->name);
	/* Flat regions between the torus and its hull are gone. */
	if (model->model != fine_torus || model->keep == RB_KEEP_INSIDE)
		look(model->name, &from, &u);
	CHECK(same_vertices_and_edges(&t, &u), "%s: the surface changed", model->name);
	CHECK(same_number_of_faces(&t, &u), "%s: other numbers of faces", model->name);
	CHECK(u.npoints == t.npoints + report.slivers.added, "%s: %u points", model->name, u.npoints);
	allowed = t.npoints + t.npoints / 10;
	CHECK(u.npoints <= allowed, "%s: %u points", model->name, u.npoints);
	CHECK(fabs(report.min_dihedral - after.least) < 1e-6 &&
			  fabs(plain.min_dihedral - before.least) < 1e-6,
		  "%s: %g and %g degrees", model->name, plain.min_dihedral, report.min_dihedral);
	CHECK(after.least >= fmin(before.least, degrees) * (1 - 1e-9), "%s: from %g to %g degrees",
		  model->name, before.least, after.least);
	CHECK(after.least >= model->least, "%s: %g degrees", model->name, after.least);
	CHECK(after.large_ratio <= before.large_ratio, "%s: %lu of a large ratio", model->name,
		  (unsigned long) after.large_ratio);
	if (degrees == 10)
		CHECK((double) after.below_10 <= model->below_10 * u.ntets, "%s: %lu below 10 degrees",
			  model->name, (unsigned long) after.below_10);
	for (int k = 0; k < RB_BAD_REASONS; k++)
		because += report.bad_because[k];
	CHECK(because == report.bad, "%s: %lu bad, %lu because", model->name,
		  (unsigned long) report.bad, (unsigned long) because);
	CHECK(report.bad >= (degrees == 10 ? after.below_10 : after.below_5),
		  "%s: %lu bad, %lu slivers", model->name, (unsigned long) report.bad,
		  (unsigned long) after.below_10);
	CHECK(report.slivers.before >= before.below_5, "%s: %lu slivers before", model->name,
		  (unsigned long) report.slivers.before);
	rb_tets_free(memory, &t);
	rb_tets_free(memory, &u);
}

static void
models_compared(void)
{
	for (size_t i = 0; i < SLIVER_MODELS; i++)
	{
		compare_model(&sliver_models[i], 10);
		compare_model(&sliver_models[i], 5);
	}
}

/* The mesh is the same on any number of threads, also if these share the work. */
static void
same_on_threads(void)
{
	static const struct
	{
		size_t model;
		double max_volume;
		uint32_t least; /* Minimum number of tetrahedra, which makes threads start */
	} sizes[] = {{4, .05, 1}, {4, .0025, RB_TEAM_FROM + 1}, {SLIVER_MODELS - 1, INFINITY, 1}};

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
	{
		const sliver_model *model = &sliver_models[sizes[i].model];
		rb_refine_options o = sliver_options(model, 10);
		rb_refine_report first, report;
		rb_tets t, u;
		rb_plc from;

		(void) build(model->model, model->name, AS_IT_IS);
		from = plc();
		o.max_volume = sizes[i].max_volume;
		o.threads = 1;
		if (refine(&from, model->keep, &o, &t, &first) != RB_OK)
			return;
		printf("# %u tets, %lu slivers\n", t.ntets, (unsigned long) first.slivers.before);
		CHECK(t.ntets >= sizes[i].least, "only %u tets", t.ntets);
		CHECK(first.slivers.flips > 0 && first.slivers.moved > 0, "%lu flips, %lu moved",
			  (unsigned long) first.slivers.flips, (unsigned long) first.slivers.moved);
		for (int threads = 2; threads <= 7; threads += 5)
		{
			o.threads = threads;
			if (refine(&from, model->keep, &o, &u, &report) != RB_OK)
				break;
			CHECK(same(&t, &u) && memcmp(t.points, u.points, t.npoints * sizeof(double[3])) == 0,
				  "%d threads", threads);
			CHECK(t.not_delaunay != NULL && u.not_delaunay != NULL &&
					  memcmp(t.not_delaunay, u.not_delaunay, t.ntets) == 0,
				  "other marks by %d threads", threads);
			CHECK(memcmp(&first.slivers, &report.slivers, sizeof first.slivers) == 0 &&
					  first.bad == report.bad && first.min_dihedral == report.min_dihedral,
				  "another report by %d threads", threads);
			rb_tets_free(memory, &u);
		}
		rb_tets_free(memory, &t);
	}
}

/* Vertices of a mesh that was refined before stay where they are. */
static void
vertices_kept(void)
{
	const sliver_model *model = &sliver_models[4];
	const rb_refine_options with = sliver_options(model, 40), without = sliver_options(model, 0);
	rb_refine_report report;
	uint64_t faults;
	rb_context ctx;
	double *before;
	uint32_t n;
	rb_tets t;
	rb_plc from;

	(void) build(model->model, model->name, AS_IT_IS);
	from = plc();
	if (refine(&from, model->keep, &without, &t, &report) != RB_OK)
		return;
	n = t.npoints;
	CHECK(report.added[RB_VERTEX_INSIDE] > 100, "%lu vertices inside",
		  (unsigned long) report.added[RB_VERTEX_INSIDE]);
	before = malloc(n * sizeof(double[3]));
	memcpy(before, t.points, n * sizeof(double[3]));
	rb_context_init(&ctx, memory);
	CHECK(rb_refine(&ctx, &with, &t, &report) == RB_OK, "refined again");
	CHECK(report.slivers.flips > 0, "no flips");
	CHECK(memcmp(before, t.points, n * sizeof(double[3])) == 0, "vertices moved");
	(void) count_faults(&from, model->keep, &t, true, &faults);
	CHECK(faults == 0, "%lu faults", (unsigned long) faults);
	free(before);
	rb_tets_free(memory, &t);
}

/* Returns true if the first vertices of a mesh are those of another one. */
static bool
begins_with_vertices(const rb_tets *t, const rb_tets *old)
{
	return t->npoints >= old->npoints &&
		   memcmp(t->points, old->points, old->npoints * sizeof(double[3])) == 0;
}

/*
 * A mesh that is not Delaunay becomes so before it is refined further: by flips, or by building it
 * again. The result has the old vertices, and is the same on any number of threads.
 */
static void
refined_again(void)
{
	static const size_t which[] = {1, 3, 4, 5, 6, 8, SLIVER_MODELS - 2, SLIVER_MODELS - 1};

	for (size_t i = 0; i < sizeof which / sizeof which[0]; i++)
	{
		const sliver_model *model = &sliver_models[which[i]];
		rb_refine_options with = sliver_options(model, 10), again = sliver_options(model, 0);
		rb_tets first = {0}, t, once = {0};
		rb_plc from;

		(void) build(model->model, model->name, AS_IT_IS);
		from = plc();
		again.not_delaunay = true;
		for (int threads = 1; threads <= 7; threads += 3)
		{
			rb_refine_report report;
			uint64_t faults;
			rb_context ctx;

			if (refine(&from, model->keep, &with, &t, &report) != RB_OK)
				return;
			CHECK(t.not_delaunay != NULL, "%s: Delaunay", model->name);
			rb_context_init(&ctx, memory);
			ctx.threads = again.threads = threads;
			if (threads == 1)
				once = t;
			if (threads == 1 && refine(&from, model->keep, &with, &t, &report) != RB_OK)
				return;
			CHECK(rb_refine(&ctx, &again, &t, &report) == RB_OK && !report.not_rebuilt,
				  "%s: not refined again", model->name);
			(void) count_faults(&from, model->keep, &t, false, &faults);
			CHECK(faults == 0 && t.not_delaunay == NULL, "%s: %lu faults", model->name,
				  (unsigned long) faults);
			CHECK(begins_with_vertices(&t, &once), "%s: other vertices", model->name);
			CHECK(threads == 1 || (same(&first, &t) && begins_with_vertices(&t, &first)),
				  "%s: another mesh on %d threads", model->name, threads);
			if (threads == 1)
				first = t;
			else
				rb_tets_free(memory, &t);
		}
		printf("# %s: %u points, then %u\n", model->name, once.npoints, first.npoints);
		rb_tets_free(memory, &once);
		rb_tets_free(memory, &first);
	}
}

/*
 * Three tetrahedra around a long segment are no Delaunay mesh: without the segment, there would be
 * two, on both sides of the triangle around it. So the segment must be split.
 */
static void
built_again(void)
{
	static const double points[5][3] = {
		{0, 0, -4}, {0, 0, 4}, {1, 0, 0}, {-.5, .9, 0}, {-.5, -.9, 0}};
	static const uint32_t tets[3][4] = {{0, 2, 3, 1}, {0, 3, 4, 1}, {0, 4, 2, 1}};

	for (int keep_surface = 0; keep_surface < 2; keep_surface++)
	{
		rb_refine_options o = {
			.radius_edge = INFINITY, .max_volume = INFINITY, .threads = 1, .not_delaunay = true};
		rb_tets t = {.npoints = 5, .ntets = 3, .nedges = 1, .nsegments = 1, .nregions = 1};
		rb_refine_report report;
		rb_context ctx;
		rb_status status;

		rb_context_init(&ctx, memory);
		o.keep_surface = keep_surface;
		if (RB_ALLOCATE(&ctx, t.points, 15) != RB_OK || RB_ALLOCATE(&ctx, t.kind, 5) != RB_OK ||
			RB_ALLOCATE(&ctx, t.parent, 5) != RB_OK || RB_ALLOCATE(&ctx, t.tets, 3) != RB_OK ||
			RB_ALLOCATE(&ctx, t.region, 3) != RB_OK || RB_ALLOCATE(&ctx, t.edges, 1) != RB_OK ||
			RB_ALLOCATE(&ctx, t.edge_segment, 1) != RB_OK ||
			RB_ALLOCATE(&ctx, t.segments, 1) != RB_OK)
			abort();
		memcpy(t.points, points, sizeof points);
		memset(t.kind, RB_VERTEX_INPUT, 5);
		memset(t.parent, 0xff, 5 * sizeof *t.parent);
		memcpy(t.tets, tets, sizeof tets);
		memset(t.region, 0, 3 * sizeof *t.region);
		t.edges[0][0] = t.segments[0][0] = 0;
		t.edges[0][1] = t.segments[0][1] = 1;
		t.edge_segment[0] = 0;
		CHECK(rb_tets_connect(&ctx, 0, &t) == RB_OK, "not connected");
		status = rb_refine(&ctx, &o, &t, &report);
		CHECK(status == (keep_surface ? RB_BAD_PLC : RB_OK) && report.not_rebuilt == keep_surface,
			  "surface kept: %d, status %d", keep_surface, status);
		CHECK(t.npoints == (keep_surface ? 5 : 6), "%u points", t.npoints);
		CHECK(keep_surface || report.added[RB_VERTEX_ON_SEGMENT] == 1, "not on the segment");
		rb_tets_free(memory, &t);
		CHECK(rb_memory_used(memory) == 0, "%lu bytes are left",
			  (unsigned long) rb_memory_used(memory));
	}
}

/* The faces of flat facets are other ones afterwards, unless the surface must be kept. */
static void
surface_kept(void)
{
	const sliver_model *model = &sliver_models[SLIVER_MODELS - 1];
	rb_plc from;

	(void) build(model->model, model->name, AS_IT_IS);
	from = plc();
	for (int keep_surface = 0; keep_surface < 2; keep_surface++)
	{
		rb_refine_options o = sliver_options(model, 0);
		rb_refine_report plain, report;
		rb_tets t, u;

		o.keep_surface = keep_surface;
		if (refine(&from, model->keep, &o, &t, &plain) != RB_OK)
			return;
		o.min_dihedral = 5;
		if (refine(&from, model->keep, &o, &u, &report) != RB_OK)
			return;
		CHECK(report.slivers.flips > 0, "no flips");
		CHECK(same_faces(&t, &u) == o.keep_surface, "surface kept: %d", o.keep_surface);
		rb_tets_free(memory, &t);
		rb_tets_free(memory, &u);
	}
}

/* No vertex is added on the surface or beyond the maximum number. */
static void
limits_kept(void)
{
	const sliver_model *model = &sliver_models[4];
	rb_refine_options o = sliver_options(model, 15);
	rb_refine_report report;
	rb_tets t;
	rb_plc from;

	(void) build(model->model, model->name, AS_IT_IS);
	from = plc();
	o.max_points = from.npoints + 1;
	o.keep_surface = true;
	(void) refine(&from, model->keep, &o, &t, &report);
	CHECK(t.npoints <= from.npoints + 1, "%u points", t.npoints);
	CHECK(report.added[RB_VERTEX_INSIDE] == t.npoints - from.npoints, "points on the surface");
	rb_tets_free(memory, &t);
}

static void
stopped(void)
{
	const sliver_model *model = &sliver_models[4];
	const rb_refine_options o = sliver_options(model, 10);
	const long n = check_rounds(8);
	stop_delay delay = {0};
	double whole = 0;
	bool again;
	rb_tets t, before;
	rb_plc from;

	(void) build(model->model, model->name, AS_IT_IS);
	from = plc();
	(void) make(&from, model->keep, 1, &before);
	(void) make(&from, model->keep, 1, &t);
	for (long k = -1; k < n; k += !again)
	{
		const uint64_t used = rb_memory_used(memory);
		double start = thread_work_ms(), late;
		rb_refine_report report;
		rb_context ctx;
		rb_status status;
		stopper s;

		rb_context_init(&ctx, memory);
		/* Most stops come after the rounds. */
		stop_after(&s, &ctx, k < 0 ? 1e9 : whole * (1 - (double) k / (double) (2 * n)));
		status = rb_refine(&ctx, &o, &t, &report);
		late = stop_done(&s);
		CHECK(status == RB_OK || (late >= 0 && status == RB_STOPPED), "status %d", status);
		again = repeats_late_stop(&delay, late, fmax(50, whole / 4));
		CHECK(delay.worst_ms < fmax(50, whole / 4), "%g ms late", delay.worst_ms);
		if (status == RB_OK)
		{
			if (k < 0)
				whole = thread_work_ms() - start;
			rb_tets_free(memory, &t);
			(void) make(&from, model->keep, 1, &t);
		}
		CHECK(same(&before, &t), "changed");
		CHECK(rb_memory_used(memory) == used, "bytes are left");
	}
	rb_tets_free(memory, &t);
	rb_tets_free(memory, &before);
}

/* Each refused allocation ends with an error and leaves the mesh as it was. */
static void
budgets(void)
{
	const sliver_model *model = &sliver_models[4];
	const rb_refine_options o = sliver_options(model, 10);
	rb_memory *little = rb_memory_create((uint64_t) 1 << 33);
	rb_status status = RB_OVER_BUDGET;
	long refused = 0;
	rb_tets t, before;
	rb_context ctx;
	rb_plc from;

	(void) build(model->model, model->name, AS_IT_IS);
	from = plc();
	rb_context_init(&ctx, little);
	if (make(&from, model->keep, 1, &before) != RB_OK ||
		rb_tetrahedralize(&ctx, &from, model->keep, &t, &flaw) != RB_OK)
		abort();
	for (double more = 1000; status == RB_OVER_BUDGET; more *= 1.03)
	{
		const uint64_t used = rb_memory_used(little);
		rb_refine_report report;

		rb_memory_set_limit(little, used + (uint64_t) more);
		rb_context_init(&ctx, little);
		status = rb_refine(&ctx, &o, &t, &report);
		CHECK(status == RB_OK || (status == RB_OVER_BUDGET && ctx.error.need > 0), "%s",
			  rb_status_text(status));
		if (status == RB_OK)
			break;
		refused++;
		CHECK(same(&before, &t), "changed");
		CHECK(rb_memory_used(little) == used, "bytes are left");
	}
	printf("# %ld budgets\n", refused);
	rb_tets_free(little, &t);
	rb_tets_free(memory, &before);
	CHECK(rb_memory_used(little) == 0, "bytes are left");
	rb_memory_destroy(little);
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 33);
	alarm(600); /* A hang counts as a failure */
	CHECK_RUN(angles_agree);
	CHECK_RUN(models_compared);
	CHECK_RUN(same_on_threads);
	CHECK_RUN(vertices_kept);
	CHECK_RUN(refined_again);
	CHECK_RUN(built_again);
	CHECK_RUN(surface_kept);
	CHECK_RUN(limits_kept);
	CHECK_RUN(stopped);
	CHECK_RUN(budgets);
	CHECK(rb_memory_used(memory) == 0, "bytes are left");
	rb_memory_destroy(memory);
	return check_done();
}
