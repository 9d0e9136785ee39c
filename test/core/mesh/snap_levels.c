/*
 * snap_levels.c
 *	  Tests that splitting ends with a PLC in which nothing crosses, even if rounding makes pieces
 *	  cross again: corners move by at most a stated distance, and only where they must.
 */
#include "fixtures.h"
#include "core/base/base.h"
#include "mesh/weld.h"
#include "weld_rows.h"

#include <math.h>
#include <string.h>

static rb_split_done did;

/* Returns the distance from a point to the nearest point of the PLC. */
static double
distance_to_plc(const double *p)
{
	double nearest = INFINITY;

	for (uint32_t i = 0; i < welded.plc.npoints; i++)
	{
		const double *q = welded.plc.points + 3 * (size_t) i;

		nearest = fmin(nearest, hypot(hypot(p[0] - q[0], p[1] - q[1]), p[2] - q[2]));
	}
	return nearest;
}

/*
 * Splits the current rows and checks that nothing meets, that every corner is within the stated
 * distance of a point, and that the result is the same on several threads. The PLC remains.
 */
static void
expect_sound(const char *what)
{
	rb_context ctx = context(1), other = context(3);
	rb_split_done again;
	rb_welded first;
	rb_flaw found;
	double farthest = 0;

	CHECK(rb_weld(&other, &it.in, &welded, &flaw) == RB_OK && split_welded(&other, &again) == RB_OK,
		  "%s: three threads, flaw %d", what, flaw.kind);
	first = welded;
	CHECK(rb_weld(&ctx, &it.in, &welded, &flaw) == RB_OK && split_welded(&ctx, &did) == RB_OK,
		  "%s: flaw %d", what, flaw.kind);
	CHECK(rb_weld_validate(&ctx, &rb_backend_cpu, &welded, &found) == RB_OK,
		  "%s: it is not sound, flaw %d", what, found.kind);
	CHECK(first.plc.npoints == welded.plc.npoints &&
			  first.plc.ntriangles == welded.plc.ntriangles && again.level == did.level &&
			  memcmp(first.plc.points, welded.plc.points, 24 * (size_t) first.plc.npoints) == 0 &&
			  memcmp(first.plc.triangles, welded.plc.triangles,
					 12 * (size_t) first.plc.ntriangles) == 0,
		  "%s: the result depends on threads", what);
	rb_welded_free(memory, &first);
	for (uint32_t i = 0; i < 3 * it.in.facets->nparts; i++)
		farthest = fmax(farthest, distance_to_plc(it.in.facets->coords + 3 * (size_t) i));
	CHECK(farthest <= did.largest_move, "%s: a corner moved by %g, more than %g", what, farthest,
		  did.largest_move);
	CHECK(did.largest_move <= (did.aligned > 0 ? 4.8661 : .8661) * did.grid,
		  "%s: %g is more than the grid %g explains", what, did.largest_move, did.grid);
	CHECK((did.level > 0) == (did.grid > 0) && (did.level > 0 || did.moved == 0),
		  "%s: level %u, grid %g, %u moved", what, did.level, did.grid, did.moved);
}

/* Tests points that doubles cannot distinguish: their triangles are snapped to a grid. */
static void
too_near(void)
{
	clear();
	add_triangle(P(1, 1, 0), P(0x1.0000000000002p+1, 1, 0x1.0000000000002p+1), P(0, 0, 2));
	add_triangle(P(0x1.0000000000004p+0, 0, 0), P(0x1.0000000000003p+1, 1, 2),
				 P(1, 2, 0x1.0000000000001p+1));
	expect_sound("points one rounding apart");
	CHECK(did.level > 0 && did.largest_move > 0 && did.largest_move < 1e-13 && did.moved > 0,
		  "level %u, %u moved by %g", did.level, did.moved, did.largest_move);
	done();
}

/* Tests that nothing moves if it can be split without. */
static void
nothing_moves(void)
{
	clear();
	add_triangle(P(0, 0, 0), P(8, 0, 0), P(0, 8, 0));
	add_triangle(P(1, 1, -4), P(1, 1, 4), P(3, 3, 0));
	expect_sound("two triangles");
	CHECK(did.level == 0 && did.moved == 0 && did.largest_move == 0 && did.points == 1, "level %u",
		  did.level);
	done();
}

/* Adds thin triangles that overlap in one tilted plane, up to rounding, moved by an offset. */
static void
add_slivers(int n, double size, const double *offset)
{
	const double a = 2 * M_PI * check_random() * 0x1p-64, b = 3 * check_random() * 0x1p-64;
	const double u[3] = {cos(a), sin(a) * cos(b), sin(a) * sin(b)};
	const double v[3] = {-sin(a), cos(a) * cos(b), cos(a) * sin(b)};

	for (int i = 0; i < n; i++)
	{
		double p[3][3], at[2], way[2];
		const double height = pow(10, -16. * check_random() * 0x1p-64);

		for (int k = 0; k < 2; k++)
		{
			at[k] = check_random() * 0x1p-65 - .25;
			way[k] = check_random() * 0x1p-63 - 1;
		}
		for (int c = 0; c < 3; c++)
		{
			const double along = c == 0 ? -1 : c == 1 ? 1 : check_random() * 0x1p-64 - .5;
			const double x = at[0] + along * way[0] - (c == 2 ? height * way[1] : 0);
			const double y = at[1] + along * way[1] + (c == 2 ? height * way[0] : 0);

			for (int k = 0; k < 3; k++)
				p[c][k] = offset[k] + size * (u[k] * x + v[k] * y);
		}
		add_triangle(p[0], p[1], p[2]);
	}
}

static void
slivers(void)
{
	static const double here[3] = {0, 0, 0}, utm[3] = {391777.125, 5820111.25, 34.5};
	const long rounds = check_rounds(40);
	uint32_t moved = 0;

	for (long round = 0; round < rounds; round++)
	{
		clear();
		it.in.skip_flat = true;
		add_slivers(3 + (int) check_below(8), round % 2 == 0 ? 1 : 10, round % 2 == 0 ? here : utm);
		expect_sound(round % 2 == 0 ? "slivers" : "slivers on a map");
		moved += did.moved;
		done();
	}
	CHECK(moved > 0 || rounds < 4, "nothing had to move");
}

/* Tests triangles near the limits of doubles, and of very different sizes. */
static void
magnitudes(void)
{
	const long rounds = check_rounds(30);

	for (long round = 0; round < rounds; round++)
	{
		const int power = (int) check_below(1990) - 990;

		clear();
		it.in.skip_flat = true;
		for (int i = 0; i < 8; i++)
		{
			double p[3][3];

			for (int k = 0; k < 9; k++)
				p[k / 3][k % 3] = ldexp(check_random() * 0x1p-63 - 1,
										round % 2 == 0 ? power : (int) check_below(1990) - 990);
			add_triangle(p[0], p[1], p[2]);
		}
		expect_sound("magnitudes");
		done();
	}
}

static rb_status
split(rb_context *ctx)
{
	return split_welded(ctx, &did);
}

/* Tests memory limits and stops while corners move. */
static void
limits(void)
{
	static const double here[3] = {0, 0, 0};
	rb_context ctx = context(1);

	clear();
	it.in.skip_flat = true;
	add_slivers(6, 1, here);
	add_triangle(P(1, 1, 0), P(0x1.0000000000002p+1, 1, 0x1.0000000000002p+1), P(0, 0, 2));
	add_triangle(P(0x1.0000000000004p+0, 0, 0), P(0x1.0000000000003p+1, 1, 2),
				 P(1, 2, 0x1.0000000000001p+1));
	try_limits(30000, 8, split);
	CHECK(rb_weld(&ctx, &it.in, &welded, &flaw) == RB_OK, "weld");
	rb_context_stop(&ctx);
	CHECK(split(&ctx) == RB_STOPPED, "no stop");
	done();
}

/* Tests that a flaw of a mesh raises inputs near it, until all their corners are one point. */
static void
raised(void)
{
	rb_context ctx = context(1);
	rb_resplit *resplit = NULL;
	uint32_t rounds = 0;
	double before = 0;

	clear();
	add_triangle(P(0, 0, 0), P(1 / 3., 0, .1), P(0, 1 / 3., .7));
	add_triangle(P(.1, .1, -1), P(.1, .1, 1), P(1 / 7., 1 / 7., 0));
	add_triangle(P(100.3, .1, -1), P(100.3, .1, 1), P(101.7, 1 / 7., 0));
	CHECK(rb_weld(&ctx, &it.in, &welded, &flaw) == RB_OK, "weld");
	CHECK(!rb_resplit_raise(resplit, &flaw), "nothing was split");
	CHECK(rb_resplit_run(&ctx, &rb_backend_cpu, &resplit, &welded, &did, &flaw) == RB_OK, "split");
	CHECK(did.level == 0 && welded.plc.max_points > 0, "level %u", did.level);
	flaw = (rb_flaw){.kind = RB_FLAW_TOO_NEAR, .at = {.1, .1, .2}};
	while (rb_resplit_raise(resplit, &flaw) && rounds < 100)
	{
		const rb_status status =
			rb_resplit_run(&ctx, &rb_backend_cpu, &resplit, &welded, &did, &flaw);

		CHECK(status == RB_OK && did.largest_move >= before &&
				  (rounds > 10 || did.largest_move < 1e-2),
			  "status %d, moved by %g", status, did.largest_move);
		before = did.largest_move;
		if (++rounds == 1)
			CHECK(did.moved <= 6, "%u points moved, also far from the flaw", did.moved);
		flaw = (rb_flaw){.kind = RB_FLAW_TOO_NEAR, .at = {.1, .1, .2}};
	}
	CHECK(rounds > 5 && rounds < 100, "%u rounds", rounds);
	flaw.kind = RB_FLAW_NO_VOLUME;
	CHECK(!rb_resplit_raise(resplit, &flaw), "moving points does not help");
	rb_resplit_free(memory, &resplit);
	CHECK(resplit == NULL, "not freed");
	done();
}

/*
 * Splits the current rows and meshes them, with coarser grids as long as the mesh fails. Returns the
 * number of vertices.
 */
static uint32_t
mesh_of_split(const char *what)
{
	rb_context ctx = context(1);
	rb_resplit *resplit = NULL;
	rb_tets tets;
	uint32_t n = 0;
	rb_status status = rb_weld(&ctx, &it.in, &welded, &flaw);

	for (int tries = 0; tries < 100; tries++)
	{
		if (status == RB_OK)
			status = rb_resplit_run(&ctx, &rb_backend_cpu, &resplit, &welded, &did, &flaw);
		if (status == RB_OK)
			status = rb_weld_merge(&ctx, &welded, (rb_merging){RB_MERGE_COPLANAR, 0});
		if (status == RB_OK)
			status = rb_weld_creases(&ctx, &welded);
		if (status == RB_OK)
			status = rb_tetrahedralize(&ctx, &welded.plc, RB_KEEP_HULL, &tets, &flaw);
		if (status != RB_BAD_PLC || !rb_resplit_raise(resplit, &flaw))
			break;
		rb_forget_failure(&ctx);
		status = RB_OK;
	}
	CHECK(status == RB_OK, "%s: status %d, flaw %d, level %u", what, status, flaw.kind, did.level);
	if (status == RB_OK)
	{
		n = tets.npoints;
		rb_tets_free(memory, &tets);
	}
	rb_resplit_free(memory, &resplit);
	return n;
}

/* Returns a random number between -1 and 1. */
static double
random_coordinate(void)
{
	return check_random() * 0x1p-63 - 1;
}

/* Tests triangles that nearly share an edge: their edges get into one line. */
static void
fans(void)
{
	const double axis[3] = {.3, .8, -.52};

	for (int n = 6; n <= 18; n += 4)
	{
		uint32_t vertices;

		clear();
		it.in.skip_flat = true;
		for (int i = 0; i < n; i++)
		{
			double p[3][3];

			for (int c = 0; c < 3; c++)
			{
				const double along = (c == 0 ? -1 : 1) + .3 * random_coordinate();

				for (int k = 0; k < 3; k++)
					p[c][k] = c == 2 ? random_coordinate()
									 : along * axis[k] + 1e-11 * random_coordinate();
			}
			add_triangle(p[0], p[1], p[2]);
		}
		vertices = mesh_of_split("fan");
		CHECK(vertices < 50 * (uint32_t) n && did.largest_move < 1e-5 && did.aligned > 0,
			  "fan of %d: %u vertices, moved by %g", n, vertices, did.largest_move);
		done();
	}
}

/* Tests triangles that nearly coincide: their corners get into one plane. */
static void
near_parallel(void)
{
	check_state = 1;
	for (int round = 0; round < 3; round++)
	{
		uint32_t vertices;

		clear();
		it.in.skip_flat = true;
		for (int i = 0; i < 24; i++)
		{
			double p[3][3];

			for (int c = 0; c < 3; c++)
			{
				const double x = random_coordinate(), y = random_coordinate();

				p[c][0] = .36 * x - .8 * y;
				p[c][1] = .48 * x + .6 * y + 1e-8 * random_coordinate();
				p[c][2] = .8 * x;
			}
			add_triangle(p[0], p[1], p[2]);
		}
		vertices = mesh_of_split("nearly parallel");
		CHECK(vertices > 0 && vertices < 2000 && did.largest_move < 1e-5 && did.aligned > 0,
			  "round %d: %u vertices, moved by %g", round, vertices, did.largest_move);
		done();
	}
}

/* Tests that thin parts of triangles in one plane are dropped, so that corners hardly move. */
static void
thin_parts(void)
{
	static const double here[3] = {0, 0, 0};
	const int rounds = 12;
	int little = 0;

	for (int round = 0; round < rounds; round++)
	{
		clear();
		it.in.skip_flat = true;
		add_slivers(10, 1, here);
		(void) mesh_of_split("slivers in one plane");
		little += did.largest_move < 1e-9;
		done();
	}
	CHECK(little >= rounds - 1, "%d of %d moved by at most 1e-9", little, rounds);
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 30);
	CHECK_RUN(too_near);
	CHECK_RUN(nothing_moves);
	CHECK_RUN(slivers);
	CHECK_RUN(magnitudes);
	CHECK_RUN(limits);
	CHECK_RUN(raised);
	CHECK_RUN(fans);
	CHECK_RUN(near_parallel);
	CHECK_RUN(thin_parts);
	rb_memory_destroy(memory);
	return check_done();
}
