/*
 * surface_repair.c
 *	  Tests the repair of surfaces: solids are damaged, repaired, and checked.
 *
 * The result must be closed, turned outward and without crossings, by the checks of solids, and it
 * must have the volume of the solid. What is reported about each face is compared with the damage.
 */
#include "core/join/join.h"
#include "core/solid/solid.h"
#include "mesh/surface_repair.h"

#include "naive.h"
#include "naive_solid.h"
#include "solids.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static rb_memory *memory;
static rb_context ctx;

#define MOST 1024

/* Faces with ids, each a row, and what the repair must report about each */
typedef struct damaged
{
	uint32_t n;
	double t[9 * MOST];
	int64_t id[MOST];
	uint32_t change[MOST];
} damaged;

static damaged faces, other;
static solid sound;
static uint32_t fill_holes; /* options of all repairs */
static bool keep_turned;

/* ---- input ---- */

/* Adds a face with the next id. */
static void
add_face(const double *t, uint32_t change)
{
	memcpy(faces.t + 9 * (size_t) faces.n, t, 9 * sizeof(double));
	faces.id[faces.n] = faces.n + 1;
	faces.change[faces.n++] = change;
}

/* Adds a triangle of three corners. */
static void
add_triangle(const double *a, const double *b, const double *c)
{
	double t[9];

	memcpy(t, a, 3 * sizeof(double));
	memcpy(t + 3, b, 3 * sizeof(double));
	memcpy(t + 6, c, 3 * sizeof(double));
	add_face(t, 0);
}

/* Adds the faces of a solid. */
static void
add_solid(const solid *s)
{
	for (int i = 0; i < s->n; i++)
		add_face(s->t + 9 * (size_t) i, 0);
}

/* Adds a box. */
static void
add_box(const double *box)
{
	sound.n = 0;
	solid_box(&sound, box, box + 3, false);
	add_solid(&sound);
}

/* Turns a face. */
static void
turn_face(uint32_t i)
{
	double *t = faces.t + 9 * (size_t) i, b[3];

	memcpy(b, t + 3, sizeof b);
	memcpy(t + 3, t + 6, sizeof b);
	memcpy(t + 6, b, sizeof b);
	faces.change[i] ^= RB_REPAIR_TURNED;
}

/* Removes the face at a position. */
static void
remove_face(uint32_t i)
{
	faces.n--;
	memmove(faces.t + 9 * (size_t) i, faces.t + 9 * (size_t) (i + 1),
			9 * sizeof(double) * (faces.n - i));
}

/* Puts the rows in a random order; each keeps its id. */
static void
shuffle_rows(damaged *d)
{
	for (uint32_t i = d->n; i > 1; i--)
	{
		const uint32_t k = (uint32_t) check_below((int) i);
		double t[9];
		const int64_t id = d->id[i - 1];
		const uint32_t change = d->change[i - 1];

		memcpy(t, d->t + 9 * (size_t) (i - 1), sizeof t);
		memcpy(d->t + 9 * (size_t) (i - 1), d->t + 9 * (size_t) k, sizeof t);
		memcpy(d->t + 9 * (size_t) k, t, sizeof t);
		d->id[i - 1] = d->id[k];
		d->change[i - 1] = d->change[k];
		d->id[k] = id;
		d->change[k] = change;
	}
}

/* Returns the rows of faces as a set. */
static rb_set
set_of_faces(const damaged *d)
{
	return (rb_set){
		.kind = RB_TRIANGLE3, .nparts = d->n, .nrows = d->n, .coords = d->t, .ids = d->id};
}

/* Repairs faces. */
static rb_repaired
repair(const damaged *d, double weld, bool split)
{
	const rb_repair_options how = {
		.weld = weld, .split = split, .orient = !keep_turned, .fill_holes = fill_holes};
	const rb_set set = set_of_faces(d);
	rb_repaired r;
	rb_welded welded;
	rb_flaw flaw;
	const rb_status status =
		rb_surface_repair(&ctx, &rb_backend_cpu, &set, &how, &r, &welded, &flaw);

	CHECK(status == RB_OK, "status %d, flaw %d", status, flaw.kind);
	return r;
}

/* ---- checks ---- */

/* Copies the faces that remain into a set of one row. */
static rb_set
set_of_result(const rb_repaired *r)
{
	double *coords = malloc(9 * sizeof(double) * (r->kept + 1));
	uint32_t *zeros = calloc(r->kept + 1, sizeof *zeros);

	for (uint32_t i = 0; i < r->kept; i++)
	{
		CHECK((r->faces.at[i].change & RB_REPAIR_DROPPED) == 0, "face %u was dropped", i);
		memcpy(coords + 9 * (size_t) i, r->faces.at[i].corners, 9 * sizeof(double));
	}
	for (size_t i = r->kept; i < r->faces.n; i++)
		CHECK((r->faces.at[i].change & RB_REPAIR_DROPPED) != 0, "face %zu was not dropped", i);
	return (rb_set){
		.kind = RB_TRIANGLE3, .nparts = r->kept, .nrows = 1, .coords = coords, .row_of = zeros};
}

static void
free_result_set(rb_set *set)
{
	free((void *) set->coords);
	free((void *) set->row_of);
}

/* Returns true if a set of one row is a valid solid. */
static bool
is_valid(const rb_set *set)
{
	uint32_t *bad = NULL;
	bool valid;

	CHECK(rb_solids_check(&ctx, &rb_backend_cpu, set, true, RB_SOLID_OF_SOLIDS, &bad) == RB_OK,
		  "status");
	valid = (bad[0] & 1) == 0;
	rb_free(memory, (void **) &bad);
	return valid;
}

/* Returns the number of edges that an odd number of triangles have, by comparing all sides. */
static uint32_t
count_odd_edges(const rb_set *set)
{
	const uint32_t n = 3 * set->nparts;
	uint32_t odd = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t uses = 0, first = i;

		for (uint32_t k = 0; k < n; k++)
		{
			const double *a = set->coords + 3 * (size_t) i,
						 *b = set->coords + 3 * (size_t) (i - i % 3 + (i + 1) % 3);
			const double *c = set->coords + 3 * (size_t) k,
						 *d = set->coords + 3 * (size_t) (k - k % 3 + (k + 1) % 3);

			if ((rb_points_equal(a, c) && rb_points_equal(b, d)) ||
				(rb_points_equal(a, d) && rb_points_equal(b, c)))
			{
				uses++;
				first = k < first ? k : first;
			}
		}
		odd += first == i && uses % 2 == 1;
	}
	return odd;
}

/* Checks that the result is a valid solid, turned outward, and returns its volume. */
static double
check_solid(const rb_repaired *r)
{
	rb_set set = set_of_result(r);
	rb_solid_report report;
	rb_measures measures = {.volume = 0};

	CHECK(r->open_edges == 0 && count_odd_edges(&set) == 0, "%u open edges", r->open_edges);
	CHECK(rb_solid_check_faces(&ctx, set.coords, set.nparts, NULL, &report) == RB_OK, "status");
	CHECK(report.fault == RB_SOLID_GOOD && report.closed && report.oriented, "fault %d",
		  report.fault);
	CHECK(is_valid(&set), "the surface crosses itself");
	if (report.closed && set.nparts > 0)
		CHECK(rb_solid_measure(&ctx, &set, &measures) == RB_OK, "no measures");
	free_result_set(&set);
	return measures.volume;
}

/* Checks that the report about each face is what the damage was; pieces are not expected. */
static void
check_report(const damaged *d, const rb_repaired *r)
{
	CHECK(r->faces.n == d->n, "%zu rows about %u faces", r->faces.n, d->n);
	for (size_t i = 0; i < r->faces.n; i++)
	{
		const rb_repaired_face *f = &r->faces.at[i];

		CHECK((f->change & ~RB_REPAIR_MOVED) == d->change[f->row], "face %lld: change %u, not %u",
			  (long long) d->id[f->row], f->change, d->change[f->row]);
		CHECK((f->move > 0) == ((f->change & RB_REPAIR_MOVED) != 0), "move %g", f->move);
	}
}

/* Returns true if the results of the same faces in two orders are equal. */
static bool
are_results_equal(const damaged *d, const rb_repaired *a, const damaged *e, const rb_repaired *b)
{
	bool equal = a->faces.n == b->faces.n && a->kept == b->kept && a->move == b->move &&
				 a->open_edges == b->open_edges;

	for (size_t i = 0; i < a->faces.n && equal; i++)
		equal = memcmp(a->faces.at[i].corners, b->faces.at[i].corners,
					   sizeof a->faces.at[i].corners) == 0 &&
				a->faces.at[i].move == b->faces.at[i].move &&
				a->faces.at[i].change == b->faces.at[i].change &&
				(a->faces.at[i].row == RB_NONE
					 ? b->faces.at[i].row == RB_NONE
					 : d->id[a->faces.at[i].row] == e->id[b->faces.at[i].row]);
	return equal;
}

/* Makes a valid solid, and returns its volume. */
static double
make_sound(int size)
{
	static uint32_t zeros[SOLID_MOST];
	rb_measures measures;
	rb_set set;

	do
	{
		solid_make(&sound, check_below(SOLID_CRUMPLED), size);
		set = (rb_set){.kind = RB_TRIANGLE3,
					   .nparts = (uint32_t) sound.n,
					   .nrows = 1,
					   .coords = sound.t,
					   .row_of = zeros};
	} while (!is_valid(&set));
	CHECK(rb_solid_measure(&ctx, &set, &measures) == RB_OK, "no measures");
	return measures.volume;
}

/* ---- random damage ---- */

/* Turns some faces, doubles others, and adds faces without area. */
static void
damage_faces(bool flat)
{
	const uint32_t n = faces.n;

	for (uint32_t i = 0; i < n; i++)
		if (check_below(4) == 0)
			turn_face(i);
	for (int i = check_below(4); i > 0 && faces.n < MOST - 8; i--)
	{
		const uint32_t k = (uint32_t) check_below((int) n);
		double t[9];

		memcpy(t, faces.t + 9 * (size_t) k, sizeof t);
		add_face(t, RB_REPAIR_DOUBLED);
		if (check_below(2))
		{
			turn_face(faces.n - 1);
			faces.change[faces.n - 1] = RB_REPAIR_DOUBLED;
		}
		if (flat && check_below(2))
		{
			memcpy(t + 3, t, 3 * sizeof(double));
			add_face(t, RB_REPAIR_NO_AREA);
		}
	}
}

static void
damaged_solids(void)
{
	for (long i = check_rounds(600); i > 0; i--)
	{
		const int size = check_below(SIZES);
		const double volume = make_sound(size);
		rb_repaired r;

		faces.n = 0;
		add_solid(&sound);
		damage_faces(true);
		shuffle_rows(&faces);
		r = repair(&faces, 0, check_below(2) != 0);
		check_report(&faces, &r);
		CHECK(check_solid(&r) == volume, "another volume");
		CHECK(r.move == 0, "move %g", r.move);
		rb_repaired_free(memory, &r);
	}
}

/* Corners that rounding moved apart become one. */
static void
solids_with_gaps(void)
{
	for (long i = check_rounds(300); i > 0; i--)
	{
		const double volume = make_sound(SIZE_PLAIN);
		rb_repaired r;

		faces.n = 0;
		add_solid(&sound);
		damage_faces(false);
		for (uint32_t k = 0; k < 9 * faces.n; k++)
			faces.t[k] += (check_below(201) - 100) * 1e-6;
		r = repair(&faces, 0.001, true);
		CHECK(fabs(check_solid(&r) - volume) < 0.01 * volume, "another volume");
		CHECK(r.move > 0 && r.move < 0.0004, "move %g", r.move);
		rb_repaired_free(memory, &r);
	}
}

/* Checks that random points are inside as often as they were before, modulo two. */
static void
check_sides(const rb_repaired *r, const solid *s)
{
	rb_set set = set_of_result(r);
	naive_point p;

	naive_point_init(&p);
	for (int i = 0; i < 4; i++)
	{
		double at[3];
		int before, after;

		for (int a = 0; a < 3; a++)
			at[a] = solid_coordinate(s, a,
									 s->low[a] + check_below(1 + (int) (s->high[a] - s->low[a])) +
										 (1 + check_below(1000)) / 1001.7);
		naive_point_set(&p, at);
		before = naive_side(&p, s->t, s->n);
		after = naive_side(&p, set.coords, (int) set.nparts);
		CHECK(before == after, "side %d, not %d", after, before);
	}
	naive_point_clear(&p);
	free_result_set(&set);
}

/* Surfaces that cross themselves become solids with the same inside. */
static void
crossing_surfaces(void)
{
	for (long i = check_rounds(60); i > 0; i--)
	{
		const int size = check_below(2) ? SIZE_PLAIN : SIZE_UTM;
		rb_repaired r;

		solid_make(&sound, SOLID_CRUMPLED, size);
		faces.n = 0;
		add_solid(&sound);
		for (uint32_t k = 0; k < faces.n; k++)
			if (check_below(3) == 0)
				turn_face(k);
		r = repair(&faces, 0, true);
		/* Nothing remains of a solid that was crumpled into a plane. */
		if (r.kept > 0)
			(void) check_solid(&r);
		check_sides(&r, &sound);
		rb_repaired_free(memory, &r);
	}
}

/* The result depends neither on threads nor on the order of rows. */
static void
threads_and_order_do_not_matter(void)
{
	for (long i = check_rounds(40); i > 0; i--)
	{
		rb_repaired one, two, seven;

		solid_make(&sound, check_below(SOLID_FAMILIES), check_below(SIZES));
		faces.n = 0;
		add_solid(&sound);
		damage_faces(true);
		fill_holes = i % 2 ? 12 : 0;
		for (int k = check_below(4); fill_holes > 0 && k >= 0; k--)
			remove_face((uint32_t) check_below((int) faces.n));
		other = faces;
		shuffle_rows(&other);
		ctx.threads = 1;
		one = repair(&faces, check_below(2) * 0.01, true);
		ctx.threads = 2;
		two = repair(&faces, 0, true);
		ctx.threads = 7;
		seven = repair(&other, 0, true);
		CHECK(are_results_equal(&faces, &two, &other, &seven), "results differ");
		rb_repaired_free(memory, &two);
		ctx.threads = 1;
		two = repair(&other, 0, true);
		CHECK(are_results_equal(&other, &two, &other, &seven), "results differ by thread");
		ctx.threads = 2;
		fill_holes = 0;
		rb_repaired_free(memory, &one);
		rb_repaired_free(memory, &two);
		rb_repaired_free(memory, &seven);
	}
}

/* ---- known results ---- */

/* Counts rows with one of these bits. */
static uint32_t
count_changes(const rb_repaired *r, uint32_t change)
{
	uint32_t n = 0;

	for (size_t i = 0; i < r->faces.n; i++)
		n += (r->faces.at[i].change & change) != 0;
	return n;
}

static void
boxes(void)
{
	const double a[6] = {0, 0, 0, 2, 2, 2}, b[6] = {2, 0, 0, 3, 2, 2}, c[6] = {1, 1, 1, 3, 3, 3},
				 d[6] = {0.5, 0.5, 0.5, 1, 1, 1}, e[6] = {2, 0.5, 0.5, 3, 1, 1};
	const double far[3] = {5, 5, 5}, low[3] = {2, 2, 0}, high[3] = {2, 2, 2};
	rb_repaired r;

	/* The wall between two boxes is dropped, whichever diagonals it has. */
	for (int i = 0; i < 8; i++)
	{
		faces.n = 0;
		add_box(a);
		add_box(b);
		r = repair(&faces, 0, true);
		CHECK(check_solid(&r) == 12, "volume");
		CHECK(count_changes(&r, RB_REPAIR_DROPPED) >= 4, "no wall was dropped");
		rb_repaired_free(memory, &r);
	}
	/* A face that is entered twice is needed, even if it is next to that wall. */
	for (uint32_t i = 0; i < 12; i++)
	{
		faces.n = 0;
		add_box(a);
		add_box(b);
		add_triangle(faces.t + 9 * (size_t) i, faces.t + 9 * (size_t) i + 3,
					 faces.t + 9 * (size_t) i + 6);
		if (faces.t[9 * i] + faces.t[9 * i + 3] + faces.t[9 * i + 6] == 6)
			continue; /* It is a third copy of the wall. */
		r = repair(&faces, 0, true);
		CHECK(check_solid(&r) == 12, "face %u: volume", i);
		rb_repaired_free(memory, &r);
	}
	/* A part of a face is shared. */
	faces.n = 0;
	add_box(a);
	add_box(e);
	r = repair(&faces, 0, true);
	CHECK(check_solid(&r) == 8.25, "volume");
	rb_repaired_free(memory, &r);
	/* The box that two boxes share is outside. */
	faces.n = 0;
	add_box(a);
	add_box(c);
	r = repair(&faces, 0, true);
	CHECK(check_solid(&r) == 14, "volume");
	CHECK(count_changes(&r, RB_REPAIR_SPLIT) > 12, "not split");
	rb_repaired_free(memory, &r);
	/* A box within a box is a cavity. */
	faces.n = 0;
	add_box(a);
	add_box(d);
	r = repair(&faces, 0, true);
	CHECK(check_solid(&r) == 7.875, "volume");
	CHECK(count_changes(&r, RB_REPAIR_TURNED) == 12, "not turned");
	rb_repaired_free(memory, &r);
	/* A box that was entered twice is one box, whichever diagonals it has. */
	for (int i = 0; i < 8; i++)
	{
		faces.n = 0;
		add_box(a);
		add_box(a);
		r = repair(&faces, 0, true);
		CHECK(check_solid(&r) == 8, "volume");
		rb_repaired_free(memory, &r);
	}
	/* A triangle at an edge of a box does not keep it from being turned. */
	faces.n = 0;
	add_box(a);
	for (uint32_t i = 0; i < faces.n; i++)
		turn_face(i);
	add_triangle(low, high, far);
	r = repair(&faces, 0, true);
	CHECK(count_changes(&r, RB_REPAIR_TURNED) == 12, "not turned");
	CHECK(r.open_edges == 3 && count_changes(&r, RB_REPAIR_OPEN) == 3, "%u open edges",
		  r.open_edges);
	rb_repaired_free(memory, &r);
	/* Without a triangle the others agree with most of them. */
	faces.n = 0;
	add_box(a);
	faces.n--;
	turn_face(3);
	r = repair(&faces, 0, true);
	CHECK(r.open_edges == 3 && count_changes(&r, RB_REPAIR_TURNED) == 1 &&
			  r.faces.at[3].change == RB_REPAIR_TURNED,
		  "%u open edges, turned %u", r.open_edges, count_changes(&r, RB_REPAIR_TURNED));
	rb_repaired_free(memory, &r);
	faces.n = 0;
	r = repair(&faces, 0, true);
	CHECK(r.faces.n == 0 && r.kept == 0, "faces of nothing");
	rb_repaired_free(memory, &r);
}

/* A triangle without area leaves no crack: its middle corner splits the neighbor. */
static void
triangle_without_area(void)
{
	const double p[6][3] = {{0, 0, 0}, {2, 1, 0}, {8, 4, 0}, {0, 8, 0}, {0, 0, 6}};
	rb_repaired r;

	faces.n = 0;
	add_triangle(p[0], p[3], p[2]);
	add_triangle(p[0], p[2], p[1]);
	add_triangle(p[0], p[1], p[4]);
	add_triangle(p[1], p[2], p[4]);
	add_triangle(p[2], p[3], p[4]);
	add_triangle(p[3], p[0], p[4]);
	r = repair(&faces, 0, false);
	CHECK(check_solid(&r) == 64, "volume");
	CHECK(count_changes(&r, RB_REPAIR_NO_AREA) == 1 && count_changes(&r, RB_REPAIR_SPLIT) == 2,
		  "no area: %u, split: %u", count_changes(&r, RB_REPAIR_NO_AREA),
		  count_changes(&r, RB_REPAIR_SPLIT));
	rb_repaired_free(memory, &r);
}

/* ---- holes ---- */

/* Removes the faces with all corners at the given height. */
static void
remove_level(double z)
{
	for (uint32_t i = faces.n; i-- > 0;)
		if (faces.t[9 * i + 2] == z && faces.t[9 * i + 5] == z && faces.t[9 * i + 8] == z)
			remove_face(i);
}

/* Adds a tiny tetrahedron around a point. */
static void
add_thorn(double x, double y, double z, double size)
{
	const double p[4][3] = {{x, y, z + size},
							{x - size, y, z - size},
							{x + size, y, z - size},
							{x, y + size, z - size}};

	add_triangle(p[0], p[1], p[2]);
	add_triangle(p[0], p[2], p[3]);
	add_triangle(p[0], p[3], p[1]);
	add_triangle(p[1], p[3], p[2]);
}

/* Returns true if the boxes of two triangles are apart. */
static bool
are_boxes_apart(const double *p, const double *q)
{
	bool apart = false;

	for (int a = 0; a < 3; a++)
		apart |= fmax(p[a], fmax(p[3 + a], p[6 + a])) < fmin(q[a], fmin(q[3 + a], q[6 + a])) ||
				 fmax(q[a], fmax(q[3 + a], q[6 + a])) < fmin(p[a], fmin(p[3 + a], p[6 + a]));
	return apart;
}

/*
 * Checks the faces that were added, by rational numbers: they have an area, and meet no other face
 * but in common corners and edges. Checks that the numbers of open edges before and after fit those of
 * triangles.
 */
static void
check_filled(const rb_repaired *r, uint32_t before)
{
	rb_set result = set_of_result(r);
	const uint32_t added = count_changes(r, RB_REPAIR_FILLED);

	CHECK(count_odd_edges(&result) == r->open_edges, "%u open edges", r->open_edges);
	CHECK(before - r->open_edges == added + 2 * r->holes[RB_HOLE_FILLED],
		  "%u of %u edges open, %u holes filled with %u faces", r->open_edges, before,
		  r->holes[RB_HOLE_FILLED], added);
	CHECK((r->holes[RB_HOLE_LARGE] + r->holes[RB_HOLE_FLAT] + r->holes[RB_HOLE_BLOCKED] > 0) ==
			  (r->open_edges > 0),
		  "%u open edges", r->open_edges);
	for (uint32_t i = 0; i < r->kept; i++)
	{
		const double *t = result.coords + 9 * (size_t) i;

		CHECK(((r->faces.at[i].change & RB_REPAIR_FILLED) != 0) == (r->faces.at[i].row == RB_NONE),
			  "row %u, change %u", r->faces.at[i].row, r->faces.at[i].change);
		for (uint32_t k = 0; r->faces.at[i].row == RB_NONE && k < r->kept; k++)
		{
			bool self;

			if (k == i || are_boxes_apart(t, result.coords + 9 * (size_t) k))
				continue;
			(void) naive_triangles_contact(t, result.coords + 9 * (size_t) k, &self);
			CHECK(!self, "added face %u meets face %u", i, k);
		}
		if (r->faces.at[i].row == RB_NONE)
			CHECK(naive_hulls_contact(t, 3, t, 3, 3).dimension == 2, "face %u has no area", i);
	}
	free_result_set(&result);
}

/* Repairs faces from which some are missing, and checks what was added. */
static rb_repaired
fill(uint32_t most, bool split)
{
	rb_repaired r = repair(&faces, 0, split);
	const uint32_t before = r.open_edges;

	rb_repaired_free(memory, &r);
	fill_holes = most;
	r = repair(&faces, 0, split);
	fill_holes = 0;
	check_filled(&r, before);
	return r;
}

static void
holes_of_boxes(void)
{
	const double a[6] = {0, 0, 0, 2, 2, 2};
	rb_repaired r;

	/* Each two faces: holes with a common corner or edge, or far from each other. */
	for (uint32_t i = 0; i < 12; i++)
		for (uint32_t k = 0; k <= i; k++)
		{
			double volume;

			faces.n = 0;
			add_box(a);
			remove_face(i);
			if (k < i)
				remove_face(k);
			keep_turned = check_below(2) != 0;
			r = fill(4, true);
			keep_turned = false;
			volume = check_solid(&r);
			CHECK(r.kept == 12 && (volume == 8 || (r.holes[RB_HOLE_FILLED] == 1 && k < i)),
				  "%u faces, volume %g", r.kept, volume);
			rb_repaired_free(memory, &r);
		}
	/* Two opposite faces, at most three edges, then four. */
	for (uint32_t most = 3; most <= 4; most++)
	{
		faces.n = 0;
		add_box(a);
		remove_level(0);
		remove_level(2);
		r = fill(most, true);
		CHECK(r.holes[RB_HOLE_FILLED] == 2 * (most - 3) && r.holes[RB_HOLE_LARGE] == 2 * (4 - most),
			  "%u filled, %u too large", r.holes[RB_HOLE_FILLED], r.holes[RB_HOLE_LARGE]);
		CHECK(count_changes(&r, RB_REPAIR_LARGE_HOLE) == (most == 3 ? 8 : 0), "%u marked",
			  count_changes(&r, RB_REPAIR_LARGE_HOLE));
		if (most == 4)
			CHECK(check_solid(&r) == 8, "volume");
		rb_repaired_free(memory, &r);
	}
	/* A thorn meets both triangulations of a square. */
	faces.n = 0;
	add_box(a);
	remove_level(2);
	add_thorn(1, 1, 2, 0.25);
	r = fill(4, true);
	CHECK(r.holes[RB_HOLE_BLOCKED] == 1 && r.open_edges == 4 &&
			  count_changes(&r, RB_REPAIR_BLOCKED_HOLE) == 4,
		  "%u blocked, %u open edges", r.holes[RB_HOLE_BLOCKED], r.open_edges);
	rb_repaired_free(memory, &r);
	/* A face has a hole of three edges around it, which only its copy would fill. */
	faces.n = 0;
	add_triangle(a, a + 3, a + 1);
	r = fill(4, true);
	CHECK(r.kept == 1 && r.holes[RB_HOLE_BLOCKED] == 1, "%u faces", r.kept);
	rb_repaired_free(memory, &r);
}

/* One of the two triangulations of a hole of four edges meets a thorn: the other is found. */
static void
blocked_diagonals(void)
{
	const double p[6][3] = {{0, 0, 0}, {2, 0, 1}, {2, 2, 0}, {0, 2, 1}, {1, 1, -4}};

	for (int i = 0; i < 3; i++)
	{
		rb_repaired r;
		double volume;

		faces.n = 0;
		for (int k = 0; k < 4; k++)
			add_triangle(p[4], p[(k + 1) % 4], p[k]);
		if (i < 2)
			add_thorn(1, 1, i, 0.125);
		r = fill(4, true);
		volume = check_solid(&r);
		CHECK(r.kept == (i < 2 ? 10 : 6), "%u faces", r.kept);
		/* The hollow below the diagonal from 1 to 3 has a third of the area times the height. */
		if (i == 0)
			CHECK(volume > 6, "volume %g", volume);
		if (i == 1)
			CHECK(volume < 6, "volume %g", volume);
		rb_repaired_free(memory, &r);
	}
}

/* Corners on an edge of a hole are corners of triangles; if all are on one line, it stays open. */
static void
collinear_corners(void)
{
	const double a[6] = {0, 0, 0, 2, 2, 2};

	for (int split = 0; split < 2; split++)
	{
		rb_repaired r;

		/* Only one of the two faces at the edge from (0, 0, 2) to (2, 0, 2) has its middle. */
		faces.n = 0;
		add_box(a);
		for (uint32_t i = faces.n; i-- > 0;)
		{
			const double *t = faces.t + 9 * (size_t) i;
			double mid[3];

			for (int k = 0; k < 3; k++)
			{
				const double *from = t + 3 * k, *to = t + 3 * ((k + 1) % 3),
							 *third = t + 3 * ((k + 2) % 3);

				if (from[1] != 0 || from[2] != 2 || to[1] != 0 || to[2] != 2 || third[2] == 2)
					continue;
				for (int x = 0; x < 3; x++)
					mid[x] = (from[x] + to[x]) / 2;
				add_triangle(from, mid, third);
				add_triangle(mid, to, third);
				remove_face(i);
				break;
			}
		}
		CHECK(faces.n == 13, "%u faces", faces.n);
		r = fill(10, split != 0);
		CHECK(r.holes[RB_HOLE_FLAT] == (split ? 0 : 1) &&
				  count_changes(&r, RB_REPAIR_FLAT_HOLE) == (split ? 0 : 3),
			  "%u flat holes", r.holes[RB_HOLE_FLAT]);
		if (split)
			CHECK(check_solid(&r) == 8, "volume");
		rb_repaired_free(memory, &r);
		/* Without the face beyond that edge the hole has five corners, three of them on a line. */
		remove_level(2);
		r = fill(10, split != 0);
		CHECK(check_solid(&r) == 8 && r.holes[RB_HOLE_FILLED] == 1 &&
				  count_changes(&r, RB_REPAIR_FILLED) == 3,
			  "%u holes", r.holes[RB_HOLE_FILLED]);
		rb_repaired_free(memory, &r);
	}
}

/* Missing faces of solids are replaced where they are far from each other. */
static void
solids_with_holes(void)
{
	for (long i = check_rounds(300); i > 0; i--)
	{
		const double volume = make_sound(check_below(SIZES));
		const int holes = 1 + check_below(sound.n > 4 ? 4 : 3);
		const bool keep = check_below(2) != 0;
		bool apart = true;
		double removed[4][9];
		rb_repaired r;

		faces.n = 0;
		add_solid(&sound);
		for (int k = 0; k < holes; k++)
		{
			const uint32_t at = (uint32_t) check_below((int) faces.n);

			memcpy(removed[k], faces.t + 9 * (size_t) at, sizeof removed[k]);
			for (int other_hole = 0; other_hole < k; other_hole++)
				for (int x = 0; x < 9; x++)
					apart &= !rb_points_equal(removed[k] + 3 * (x / 3),
											  removed[other_hole] + 3 * (x % 3));
			remove_face(at);
		}
		shuffle_rows(&faces);
		keep_turned = keep;
		r = fill((uint32_t) (3 + check_below(12)), check_below(2) != 0);
		keep_turned = false;
		if (apart)
			CHECK(check_solid(&r) == volume && r.holes[RB_HOLE_FILLED] == (uint32_t) holes,
				  "another volume, or %u holes", r.holes[RB_HOLE_FILLED]);
		else if (r.open_edges == 0 && !keep)
			(void) check_solid(&r);
		rb_repaired_free(memory, &r);
	}
}

/* The jagged rim of a prism is a hole that is not flat. */
static void
jagged_rims(void)
{
	uint32_t open = 0;

	for (long i = check_rounds(200); i > 0; i--)
	{
		const int n = 3 + check_below(40);
		const int height = check_below(3);
		double p[2][43][3];
		rb_repaired r;

		for (int k = 0; k < n; k++)
		{
			const double radius = 16 + check_below(1 + 8 * height);

			for (int top = 0; top < 2; top++)
			{
				p[top][k][0] = floor(64 * radius * cos(2 * M_PI * k / n));
				p[top][k][1] = floor(64 * radius * sin(2 * M_PI * k / n));
				p[top][k][2] = top == 0 ? -4096 : check_below(1 + 512 * height);
			}
		}
		faces.n = 0;
		for (int k = 0; k < n; k++)
		{
			const int next = (k + 1) % n;

			add_triangle(p[0][k], p[0][next], p[1][k]);
			add_triangle(p[0][next], p[1][next], p[1][k]);
		}
		for (int k = 2; k < n; k++)
			add_triangle(p[0][0], p[0][k], p[0][k - 1]);
		r = fill(43, true);
		open += r.open_edges > 0;
		if (r.open_edges == 0)
			(void) check_solid(&r);
		rb_repaired_free(memory, &r);
	}
	CHECK(open == 0, "%u holes stay open", open);
}

/* Triangles at the edges of a random loop, which may be knotted or cross what fills it */
static void
tangled_loops(void)
{
	uint32_t filled = 0, blocked = 0;

	for (long i = check_rounds(600); i > 0; i--)
	{
		const int n = 4 + check_below(9), size = 4 + check_below(60);
		double p[12][3], q[3];
		rb_repaired r;

		for (int k = 0; k < n; k++)
			for (int a = 0; a < 3; a++)
				p[k][a] = check_below(size);
		faces.n = 0;
		for (int k = 0; k < n; k++)
		{
			for (int a = 0; a < 3; a++)
				q[a] = (p[k][a] + p[(k + 1) % n][a]) / 2 + check_below(16) / 64.0;
			add_triangle(p[k], p[(k + 1) % n], q);
		}
		keep_turned = true;
		r = fill((uint32_t) (3 + check_below(2 * n)), false);
		keep_turned = false;
		filled += r.holes[RB_HOLE_FILLED];
		blocked += r.holes[RB_HOLE_BLOCKED];
		rb_repaired_free(memory, &r);
	}
	CHECK(filled > 0 && blocked > 0, "%u holes filled, %u blocked", filled, blocked);
}

static void
moebius_strip(void)
{
	const int n = 9;
	double p[9][2][3];
	rb_repaired r;

	faces.n = 0;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < 2; k++)
		{
			const double turn = 2 * M_PI * i / n, w = k == 0 ? -1 : 1;

			p[i][k][0] = (4 + w * cos(turn / 2)) * cos(turn);
			p[i][k][1] = (4 + w * cos(turn / 2)) * sin(turn);
			p[i][k][2] = w * sin(turn / 2);
		}
	for (int i = 0; i < n; i++)
	{
		const int next = (i + 1) % n, flip = i + 1 == n;

		add_triangle(p[i][0], p[next][flip], p[i][1]);
		add_triangle(p[i][1], p[next][flip], p[next][!flip]);
	}
	r = repair(&faces, 0, true);
	CHECK(r.kept == 18 && count_changes(&r, RB_REPAIR_ONE_SIDED) == 18 &&
			  count_changes(&r, RB_REPAIR_TURNED) == 0 && r.open_edges == 18,
		  "one-sided %u, open %u", count_changes(&r, RB_REPAIR_ONE_SIDED), r.open_edges);
	rb_repaired_free(memory, &r);
}

static void
stops_and_runs_out_of_memory(void)
{
	const rb_repair_options how = {.weld = 0.001, .split = true, .orient = true, .fill_holes = 100};
	rb_repaired r;
	rb_welded welded;
	rb_flaw flaw;
	rb_set set;
	bool done = false;

	solid_make(&sound, SOLID_CRUMPLED, SIZE_PLAIN);
	faces.n = 0;
	add_solid(&sound);
	for (uint32_t i = 0; i < 4; i++)
		remove_face(7 * i);
	set = set_of_faces(&faces);
	rb_context_stop(&ctx);
	CHECK(rb_surface_repair(&ctx, &rb_backend_cpu, &set, &how, &r, &welded, &flaw) == RB_STOPPED,
		  "not stopped");
	rb_context_init(&ctx, memory);
	ctx.threads = 2;
	CHECK(r.faces.at == NULL, "a result remains");
	for (uint64_t limit = 1024; !done; limit *= 2)
	{
		rb_memory *small = rb_memory_create(limit);
		rb_context little;
		rb_status status;

		rb_context_init(&little, small);
		little.threads = 1;
		status = rb_surface_repair(&little, &rb_backend_cpu, &set, &how, &r, &welded, &flaw);
		CHECK(status == RB_OK || status == RB_OVER_BUDGET, "status %d", status);
		done = status == RB_OK;
		rb_repaired_free(small, &r);
		CHECK(rb_memory_used(small) == 0, "memory remains after limit %llu",
			  (unsigned long long) limit);
		rb_memory_destroy(small);
	}
}

int
main(void)
{
	memory = rb_memory_create(UINT64_MAX);
	rb_context_init(&ctx, memory);
	ctx.threads = 2;
	CHECK_RUN(boxes);
	CHECK_RUN(triangle_without_area);
	CHECK_RUN(moebius_strip);
	CHECK_RUN(damaged_solids);
	CHECK_RUN(solids_with_gaps);
	CHECK_RUN(crossing_surfaces);
	CHECK_RUN(threads_and_order_do_not_matter);
	CHECK_RUN(holes_of_boxes);
	CHECK_RUN(blocked_diagonals);
	CHECK_RUN(collinear_corners);
	CHECK_RUN(solids_with_holes);
	CHECK_RUN(jagged_rims);
	CHECK_RUN(tangled_loops);
	CHECK_RUN(stops_and_runs_out_of_memory);
	CHECK(rb_memory_used(memory) == 0, "memory remains");
	rb_memory_destroy(memory);
	return check_done();
}
