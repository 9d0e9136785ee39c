/*
 * solid_boolean.c
 *	  Tests the boundaries of intersections, unions and differences of solids.
 *
 * Each boundary is read back as a polyhedral surface, as users read it. It must be a valid solid,
 * turned outward, and contain the points that the operation selects by the sides of a rational
 * reference. Volumes are compared with the exact measures of the solids and of their overlap.
 */
#include "core/join/join.h"
#include "core/set/face.h"
#include "core/set/set.h"
#include "core/solid/solid.h"
#include "mesh/solid_boolean.h"

#include "naive_solid.h"
#include "solids.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static rb_memory *memory;
static rb_context ctx;

static const char *const operation_name[] = {"intersection", "union", "difference",
											 "symmetric difference"};

/* ---- input ---- */

/* Two solids as a set of two rows */
typedef struct pair
{
	solid solid[2];
	double coords[2 * 9 * SOLID_MOST];
	uint32_t row_of[2 * SOLID_MOST];
	rb_set faces;
} pair;

static pair both;
static long filled; /* Results that are not empty */

/* Makes the set of both solids. */
static void
join_solids(void)
{
	uint32_t n = 0;

	for (int s = 0; s < 2; s++)
		for (int i = 0; i < both.solid[s].n; i++)
		{
			memcpy(both.coords + 9 * (size_t) n, both.solid[s].t + 9 * i, 9 * sizeof(double));
			both.row_of[n++] = (uint32_t) s;
		}
	both.faces = (rb_set){.kind = RB_TRIANGLE3,
						  .nparts = n,
						  .nrows = 2,
						  .coords = both.coords,
						  .row_of = both.row_of};
}

/* Returns one of the solids as a set of one row. */
static rb_set
set_of_solid(int s)
{
	static uint32_t zeros[SOLID_MOST];

	return (rb_set){.kind = RB_TRIANGLE3,
					.nparts = (uint32_t) both.solid[s].n,
					.nrows = 1,
					.coords = both.solid[s].t,
					.row_of = zeros};
}

/* ---- reading a boundary ---- */

typedef struct bytes
{
	uint8_t *at;
	size_t n, cap;
} bytes;

static void
put_bytes(bytes *b, const void *from, size_t n)
{
	while (b->n + n > b->cap)
	{
		b->cap = 2 * b->cap + 4096;
		b->at = realloc(b->at, b->cap);
	}
	memcpy(b->at + b->n, from, n);
	b->n += n;
}

static void
put_number(bytes *b, uint32_t x)
{
	put_bytes(b, &x, sizeof x);
}

static void
put_header(bytes *b, uint32_t type, uint32_t count)
{
	const uint16_t one = 1;

	put_bytes(b, &one, 1);
	put_number(b, 0x80000000u | type);
	put_number(b, count);
}

/* Writes a boundary as EWKB. */
static void
write_boundary(const rb_solid_boundary *r, bytes *b)
{
	b->n = 0;
	put_header(b, 15, r->npolygons);
	for (uint32_t i = 0; i < r->npolygons; i++)
	{
		put_header(b, 3, r->ring_of[i + 1] - r->ring_of[i]);
		for (uint32_t k = r->ring_of[i]; k < r->ring_of[i + 1]; k++)
		{
			const uint32_t from = r->corner_of[k], to = r->corner_of[k + 1];

			put_number(b, to - from + 1);
			for (uint32_t c = from; c <= to; c++)
				put_bytes(b, r->points + 3 * (size_t) r->corners[c < to ? c : from],
						  3 * sizeof(double));
		}
	}
}

static bytes wkb;

/* Reads a boundary as a set of triangles of one row; returns false if it cannot be read. */
static bool
read_boundary(const rb_solid_boundary *r, rb_builder *b, rb_set *set)
{
	rb_geometry_info info;
	rb_error error = {.status = RB_OK};
	rb_geometry_fault fault;
	uint32_t *zeros;

	write_boundary(r, &wkb);
	rb_builder_init(b, memory, RB_TRIANGLE3);
	fault = rb_geometry_read_ewkb(b, wkb.at, wkb.n, &info, &error);
	CHECK(fault == RB_GEOMETRY_OK, "fault %d", fault);
	zeros = calloc(b->nparts + 1, sizeof *zeros);
	*set = (rb_set){.kind = RB_TRIANGLE3,
					.nparts = b->nparts,
					.nrows = 1,
					.coords = b->coords,
					.row_of = zeros};
	return fault == RB_GEOMETRY_OK;
}

/* ---- checks ---- */

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

/* Checks that the triangles are a valid solid, turned outward. */
static void
check_solid(const rb_set *set)
{
	rb_solid_report report;
	rb_fans fans;
	static const uint32_t no_bad_rows[1] = {0};

	CHECK(rb_solid_check_faces(&ctx, set->coords, set->nparts, NULL, &report) == RB_OK, "status");
	CHECK(report.fault == RB_SOLID_GOOD && report.closed && report.oriented, "fault %d",
		  report.fault);
	CHECK(is_valid(set), "the boundary crosses itself");
	CHECK(rb_fans_find(&ctx, set, no_bad_rows, &fans) == RB_OK, "status");
	CHECK(rb_fans_find_inner(&ctx, &rb_backend_cpu, &fans, NULL) == RB_OK, "status");
	for (uint32_t i = 0; i < set->nparts; i++)
		CHECK(fans.sheet[i] == RB_NO_SHEET || !rb_points_inward(&fans, i),
			  "triangle %u points inward", i);
	rb_fans_free(memory, &fans);
}

/* Returns true if the operation selects a place on the given sides of the solids. */
static bool
is_selected(int operation, bool a, bool b)
{
	switch (operation)
	{
		case RB_SOLID_INTERSECTION:
			return a && b;
		case RB_SOLID_UNION:
			return a || b;
		case RB_SOLID_DIFFERENCE:
			return a && !b;
		default:
			return a != b;
	}
}

/* Checks that random points are inside or outside as the operation says. */
static void
check_points(const rb_set *set, int operation, int n)
{
	naive_point p;

	naive_point_init(&p);
	for (int i = 0; i < n; i++)
	{
		const solid *of = &both.solid[check_below(2)];
		double at[3];
		int side[2];

		/* A point off the lattice is far from all faces compared with rounding. */
		for (int a = 0; a < 3; a++)
			at[a] = solid_coordinate(of, a,
									 of->low[a] - 1 +
										 check_below(2 + (int) (of->high[a] - of->low[a])) +
										 (1 + check_below(1000)) / 1001.7);
		naive_point_set(&p, at);
		for (int s = 0; s < 2; s++)
			side[s] = naive_side(&p, both.solid[s].t, both.solid[s].n);
		if (side[0] == 0 || side[1] == 0)
			continue;
		CHECK((naive_side(&p, set->coords, (int) set->nparts) > 0) ==
				  is_selected(operation, side[0] > 0, side[1] > 0),
			  "%s: wrong side of %g %g %g", operation_name[operation], at[0], at[1], at[2]);
	}
	naive_point_clear(&p);
}

/* Measures the volume of a set of one row. */
static double
measure(const rb_set *set)
{
	rb_measures measures;

	if (set->nparts == 0)
		return 0;
	CHECK(rb_solid_measure(&ctx, set, &measures) == RB_OK, "the boundary is no solid");
	return measures.volume;
}

/* Combines both solids in all ways, and checks the results. */
static void
check_all_operations(bool exact, double tolerance, int points)
{
	const rb_set a = set_of_solid(0), b = set_of_solid(1);
	const double va = measure(&a), vb = measure(&b);
	rb_overlap overlap;
	double wanted[4];

	join_solids();
	CHECK(rb_overlap_measure(&ctx, &a, &b, false, &overlap) == RB_OK, "status");
	wanted[RB_SOLID_INTERSECTION] = overlap.volume;
	wanted[RB_SOLID_UNION] = va + vb - overlap.volume;
	wanted[RB_SOLID_DIFFERENCE] = va - overlap.volume;
	wanted[RB_SOLID_SYMDIFFERENCE] = va + vb - 2 * overlap.volume;
	for (int operation = 0; operation < 4; operation++)
	{
		rb_solid_boundary result;
		rb_flaw flaw;
		rb_builder builder;
		rb_set set;
		const rb_status status = rb_solid_combine(&ctx, &rb_backend_cpu, &both.faces,
												  (rb_solid_operation) operation, &result, &flaw);
		long before = check_failures;

		CHECK(status == RB_OK, "status %d, flaw %d", status, flaw.kind);
		if (status != RB_OK)
			continue;
		if (result.npolygons > 0)
		{
			double volume;

			filled++;
			if (read_boundary(&result, &builder, &set))
			{
				check_solid(&set);
				check_points(&set, operation, points);
				volume = measure(&set);
				CHECK(exact ? volume == wanted[operation]
							: fabs(volume - wanted[operation]) <= tolerance * (va + vb),
					  "volume %.17g, not %.17g", volume, wanted[operation]);
			}
			free((void *) set.row_of);
			rb_builder_free(&builder);
		}
		else
			CHECK(exact ? wanted[operation] == 0 : wanted[operation] <= tolerance * (va + vb),
				  "nothing is left of %.17g", wanted[operation]);
		if (check_failures != before)
			printf("# %s of %s and %s, size %d\n", operation_name[operation],
				   solid_name[both.solid[0].family], solid_name[both.solid[1].family],
				   both.solid[0].size);
		rb_solid_boundary_free(memory, &result);
	}
}

/* Returns true if all coordinates of a family's combinations are multiples of the lattice. */
static bool
is_of_cells(const solid *s)
{
	return s->family == SOLID_BOX || s->family == SOLID_NESTED || s->family == SOLID_TWO ||
		   s->family == SOLID_VOXELS;
}

/* Makes two solids of the same size, the second one moved by a step of the lattice. */
static void
make_any_pair(int size, int red, int blue)
{
	solid *a = &both.solid[0], *b = &both.solid[1];

	solid_make(a, red, size);
	solid_make(b, blue, size);
	for (int k = 0; k < 3; k++)
	{
		const int step = check_below(5) - 2;

		for (int i = 0; i < 3 * b->n; i++)
			b->t[3 * i + k] =
				solid_coordinate(a, k, rint((b->t[3 * i + k] - b->origin[k]) / b->scale[k]) + step);
		b->low[k] += step;
		b->high[k] += step;
		b->origin[k] = a->origin[k];
		b->scale[k] = a->scale[k];
	}
}

/* Makes two valid solids. */
static void
make_pair(int size, int red, int blue)
{
	rb_set a, b;

	do
	{
		make_any_pair(size, red, blue);
		a = set_of_solid(0);
		b = set_of_solid(1);
	} while (!is_valid(&a) || !is_valid(&b));
}

static void
random_pairs_of_one_size(int size, long rounds)
{
	for (long i = 0; i < rounds; i++)
	{
		bool exact;

		make_pair(size, check_below(SOLID_CRUMPLED), check_below(SOLID_CRUMPLED));
		exact = size == SIZE_PLAIN && is_of_cells(&both.solid[0]) && is_of_cells(&both.solid[1]);
		check_all_operations(exact, size == SIZE_POWER ? INFINITY : 1e-6,
							 size != SIZE_POWER && i % 8 == 0 ? 8 : 0);
	}
}

static void
pairs_on_a_lattice(void)
{
	random_pairs_of_one_size(SIZE_PLAIN, check_rounds(400));
}

static void
pairs_at_large_coordinates(void)
{
	random_pairs_of_one_size(SIZE_UTM, check_rounds(200));
}

static void
pairs_of_small_solids(void)
{
	random_pairs_of_one_size(SIZE_SMALL, check_rounds(100));
}

/*
 * Rounding moves points by more than some solids are thick, so only the validity of results is
 * checked.
 */
static void
pairs_scaled_by_axis(void)
{
	const long rounds = check_rounds(100);

	filled = 0;
	random_pairs_of_one_size(SIZE_POWER, rounds);
	CHECK(filled >= 2 * rounds, "%ld of %ld results are not empty", filled, 4 * rounds);
}

/* ---- known results ---- */

/* Combines two boxes and returns the result. */
static rb_solid_boundary
combine_boxes(const double *a, const double *b, rb_solid_operation operation)
{
	rb_solid_boundary result;
	rb_flaw flaw;

	for (int s = 0; s < 2; s++)
	{
		both.solid[s].n = 0;
		solid_box(&both.solid[s], s == 0 ? a : b, (s == 0 ? a : b) + 3, false);
	}
	join_solids();
	CHECK(rb_solid_combine(&ctx, &rb_backend_cpu, &both.faces, operation, &result, &flaw) == RB_OK,
		  "status");
	return result;
}

static void
coplanar_faces_are_merged(void)
{
	const double a[6] = {0, 0, 0, 2, 2, 2}, b[6] = {2, 0, 0, 3, 2, 2},
				 c[6] = {0.5, 0.5, 1, 1, 1, 3};
	const double d[6] = {0.5, 0.5, 0.5, 1, 1, 1};
	rb_solid_boundary r;

	r = combine_boxes(a, b, RB_SOLID_UNION);
	CHECK(r.npolygons == 6 && r.npoints == 8, "two boxes: %u polygons, %u points", r.npolygons,
		  r.npoints);
	rb_solid_boundary_free(memory, &r);
	r = combine_boxes(a, b, RB_SOLID_INTERSECTION);
	CHECK(r.npolygons == 0, "touching boxes: %u polygons", r.npolygons);
	rb_solid_boundary_free(memory, &r);
	r = combine_boxes(a, a, RB_SOLID_UNION);
	CHECK(r.npolygons == 6 && r.npoints == 8, "equal boxes: %u polygons", r.npolygons);
	rb_solid_boundary_free(memory, &r);
	r = combine_boxes(a, a, RB_SOLID_DIFFERENCE);
	CHECK(r.npolygons == 0, "nothing: %u polygons", r.npolygons);
	rb_solid_boundary_free(memory, &r);
	/* A box on top: its base is a hole of the other box's top. */
	r = combine_boxes(a, c, RB_SOLID_UNION);
	CHECK(r.npolygons == 11 && r.npoints == 16 && r.ring_of[11] == 12,
		  "a box in a box's top: %u polygons, %u points", r.npolygons, r.npoints);
	rb_solid_boundary_free(memory, &r);
	r = combine_boxes(a, d, RB_SOLID_DIFFERENCE);
	CHECK(r.npolygons == 12 && r.npoints == 16, "a cavity: %u polygons", r.npolygons);
	rb_solid_boundary_free(memory, &r);
	r = combine_boxes(d, a, RB_SOLID_DIFFERENCE);
	CHECK(r.npolygons == 0, "a box in a box is gone: %u polygons", r.npolygons);
	rb_solid_boundary_free(memory, &r);
}

/* Returns true if two results are equal. */
static bool
are_boundaries_equal(const rb_solid_boundary *a, const rb_solid_boundary *b)
{
	const uint32_t rings = a->ring_of[a->npolygons], corners = a->corner_of[rings];

	return a->npolygons == b->npolygons && a->npoints == b->npoints &&
		   memcmp(a->points, b->points, 3 * sizeof(double) * a->npoints) == 0 &&
		   memcmp(a->ring_of, b->ring_of, (a->npolygons + 1) * sizeof(uint32_t)) == 0 &&
		   memcmp(a->corner_of, b->corner_of, (rings + 1) * sizeof(uint32_t)) == 0 &&
		   memcmp(a->corners, b->corners, corners * sizeof(uint32_t)) == 0;
}

static void
threads_do_not_change_results(void)
{
	for (long i = check_rounds(20); i > 0; i--)
	{
		rb_solid_boundary one, many;
		rb_flaw flaw;

		make_pair(SIZE_UTM, SOLID_VOXELS, SOLID_STAR);
		join_solids();
		ctx.threads = 1;
		CHECK(rb_solid_combine(&ctx, &rb_backend_cpu, &both.faces, RB_SOLID_UNION, &one, &flaw) ==
				  RB_OK,
			  "status");
		ctx.threads = 7;
		CHECK(rb_solid_combine(&ctx, &rb_backend_cpu, &both.faces, RB_SOLID_UNION, &many, &flaw) ==
				  RB_OK,
			  "status");
		CHECK(are_boundaries_equal(&one, &many), "results differ");
		rb_solid_boundary_free(memory, &one);
		rb_solid_boundary_free(memory, &many);
	}
	ctx.threads = 2;
}

static void
stops_and_runs_out_of_memory(void)
{
	rb_solid_boundary r;
	rb_flaw flaw;
	bool done = false;

	make_pair(SIZE_PLAIN, SOLID_VOXELS, SOLID_VOXELS);
	join_solids();
	rb_context_stop(&ctx);
	CHECK(rb_solid_combine(&ctx, &rb_backend_cpu, &both.faces, RB_SOLID_UNION, &r, &flaw) ==
			  RB_STOPPED,
		  "not stopped");
	rb_context_init(&ctx, memory);
	ctx.threads = 2;
	CHECK(r.points == NULL, "a result remains");
	for (uint64_t limit = 1024; !done; limit *= 2)
	{
		rb_memory *small = rb_memory_create(limit);
		rb_context little;
		rb_status status;

		rb_context_init(&little, small);
		little.threads = 1;
		status = rb_solid_combine(&little, &rb_backend_cpu, &both.faces, RB_SOLID_UNION, &r, &flaw);
		CHECK(status == RB_OK || status == RB_OVER_BUDGET, "status %d", status);
		done = status == RB_OK;
		rb_solid_boundary_free(small, &r);
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
	CHECK_RUN(coplanar_faces_are_merged);
	CHECK_RUN(pairs_on_a_lattice);
	CHECK_RUN(pairs_at_large_coordinates);
	CHECK_RUN(pairs_of_small_solids);
	CHECK_RUN(pairs_scaled_by_axis);
	CHECK_RUN(threads_do_not_change_results);
	CHECK_RUN(stops_and_runs_out_of_memory);
	free(wkb.at);
	CHECK(rb_memory_used(memory) == 0, "memory remains");
	rb_memory_destroy(memory);
	return check_done();
}
