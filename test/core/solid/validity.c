/*
 * validity.c
 *	  Tests which triangles bound a solid, against their definition in rational arithmetic.
 */
#include "solids.h"
#include "check.h"
#include "fixtures.h"
#include "naive.h"
#include "naive_solid.h"
#include "points.h"
#include "core/solid/solid.h"

static rb_memory *memory;
static rb_context ctx;

static rb_solid_report
check_solid(const solid *s)
{
	rb_solid_report report;
	rb_status status = rb_solid_check_faces(&ctx, s->t, (uint32_t) s->n, NULL, &report);

	CHECK(status == RB_OK, "status %d", (int) status);
	CHECK(report.triangles == (uint32_t) s->n, "%s", solid_name[s->family]);
	return report;
}

static bool
same_point(const double *p, const double *q)
{
	return p[0] == q[0] && p[1] == q[1] && p[2] == q[2];
}

static bool has_area[SOLID_MOST];

static void
find_areas(const solid *s)
{
	for (int i = 0; i < s->n; i++)
	{
		const double *t = s->t + 9 * i;

		/* Any point is in the plane of a triangle without area. */
		has_area[i] = false;
		for (int a = 0; a < 3 && !has_area[i]; a++)
		{
			double x[3] = {t[0], t[1], t[2]};

			x[a] += 1e6;
			has_area[i] = naive_orient3d(t, t + 3, t + 6, x) != 0;
		}
	}
}

/* Counts how often triangles run from p to q, with or without triangles that have no area. */
static int
count_edge(const solid *s, const double *p, const double *q, bool all)
{
	int uses = 0;

	for (int i = 0; i < s->n; i++)
	{
		const double *t = s->t + 9 * i;

		for (int k = 0; k < 3 && (all || has_area[i]); k++)
			uses += same_point(t + 3 * k, p) && same_point(t + 3 * ((k + 1) % 3), q);
	}
	return uses;
}

/*
 * Returns true if every edge is used an even number of times and, if `directions`, equally often in
 * both directions.
 */
static bool
edges_even(const solid *s, bool all, bool directions)
{
	for (int i = 0; i < 3 * s->n; i++)
	{
		const double *p = s->t + 3 * i, *q = s->t + 3 * (i / 3 * 3 + (i + 1) % 3);
		int there, back;

		if (same_point(p, q))
			continue;
		there = count_edge(s, p, q, all);
		back = count_edge(s, q, p, all);
		if (directions ? there != back : (there + back) % 2 == 1)
			return false;
	}
	return true;
}

/* Computes the winding number on one side of the center of triangle i, in rationals. */
static int
winding(const solid *s, int i, int side)
{
	naive_point p;
	const double *t = s->t + 9 * i;
	mpq_t x[9], y, third;
	int number = 0;

	naive_point_init(&p);
	mpq_inits(y, third, NULL);
	mpq_set_si(third, 1, 3);
	for (int k = 0; k < 9; k++)
	{
		mpq_init(x[k]);
		mpq_set_d(x[k], t[k]);
	}
	for (int a = 0; a < 3; a++)
	{
		int u = (a + 1) % 3, v = (a + 2) % 3;
		mpq_t e[4];

		for (int k = 0; k < 3; k++)
			mpq_add(p.at[a], p.at[a], x[3 * k + a]);
		mpq_mul(p.at[a], p.at[a], third);
		for (int k = 0; k < 4; k++)
			mpq_init(e[k]);
		mpq_sub(e[0], x[3 + u], x[u]);
		mpq_sub(e[1], x[6 + v], x[v]);
		mpq_sub(e[2], x[3 + v], x[v]);
		mpq_sub(e[3], x[6 + u], x[u]);
		mpq_mul(e[0], e[0], e[1]);
		mpq_mul(e[2], e[2], e[3]);
		mpq_sub(e[0], e[0], e[2]);
		mpq_div_2exp(e[0], e[0], 200);
		if (side < 0)
			mpq_neg(e[0], e[0]);
		mpq_add(p.at[a], p.at[a], e[0]);
		for (int k = 0; k < 4; k++)
			mpq_clear(e[k]);
	}
	naive_point_nudge(&p, 900);
	for (int k = 0; k < s->n; k++)
		if (naive_below(&p, s->t + 9 * k))
			number += naive_orient2d(s->t + 9 * k, s->t + 9 * k + 3, s->t + 9 * k + 6);
	for (int k = 0; k < 9; k++)
		mpq_clear(x[k]);
	mpq_clears(y, third, NULL);
	naive_point_clear(&p);
	return number;
}

/* Checks winding numbers next to some of the triangles. */
static bool
is_outward(const solid *s)
{
	for (int i = 0; i < 4; i++)
	{
		int number = winding(s, check_below(s->n), i % 2 ? 1 : -1);

		if (number != 0 && number != 1)
			return false;
	}
	return true;
}

static void
turn_triangle(double *t)
{
	double swap[3];

	memcpy(swap, t, sizeof swap);
	memcpy(t, t + 3, sizeof swap);
	memcpy(t + 3, swap, sizeof swap);
}

/* Checks the report against a count of edges, and winding numbers next to triangles. */
static void
check_report(const solid *s, const char *what)
{
	rb_solid_report report = check_solid(s);
	bool real, all, closed, balanced;

	find_areas(s);
	real = edges_even(s, false, false);
	all = edges_even(s, true, false);
	closed = real || all;
	balanced = closed && edges_even(s, !real, true);

	CHECK(report.closed == closed, "%s, %s: closed %d", solid_name[s->family], what, report.closed);
	CHECK((report.fault == RB_SOLID_TURNED) == (closed && !balanced), "%s, %s: fault %d",
		  solid_name[s->family], what, (int) report.fault);
	CHECK(report.oriented == (report.fault == RB_SOLID_GOOD), "%s, %s", solid_name[s->family],
		  what);
	if (report.fault == RB_SOLID_OPEN || report.fault == RB_SOLID_TURNED)
	{
		const double *p = report.edge, *q = p + 3;
		int there = count_edge(s, p, q, !real && all), back = count_edge(s, q, p, !real && all);
		bool has[2] = {false, false};

		CHECK(report.fault == RB_SOLID_OPEN ? (there + back) % 2 == 1 : there != back,
			  "%s, %s: no fault at the edge", solid_name[s->family], what);
		for (int k = 0; k < 3; k++)
		{
			has[0] |= same_point(s->t + 9 * report.triangle + 3 * k, p);
			has[1] |= same_point(s->t + 9 * report.triangle + 3 * k, q);
		}
		CHECK(has[0] && has[1], "%s, %s: another triangle's edge", solid_name[s->family], what);
		CHECK((int) report.uses == count_edge(s, p, q, true) + count_edge(s, q, p, true), "%s, %s",
			  solid_name[s->family], what);
	}
	if (report.oriented && s->sound)
		CHECK(is_outward(s), "%s, %s: oriented", solid_name[s->family], what);
	if (report.fault == RB_SOLID_INWARD)
	{
		int a = winding(s, (int) report.triangle, 1), b = winding(s, (int) report.triangle, -1);

		CHECK(a < 0 || a > 1 || b < 0 || b > 1, "%s, %s: nothing wrong at the triangle",
			  solid_name[s->family], what);
	}
}

static void
add_triangle(solid *s, const double *a, const double *b, const double *c)
{
	double *t = s->t + 9 * s->n++;

	memcpy(t, a, 3 * sizeof *t);
	memcpy(t + 3, b, 3 * sizeof *t);
	memcpy(t + 6, c, 3 * sizeof *t);
}

static void
solids_that_are_good_or_not(void)
{
	long rounds = check_rounds(3);
	static solid s, changed;

	for (int family = 0; family < SOLID_FAMILIES; family++)
		for (int size = 0; size < SIZES; size++)
			for (long i = 0; i < rounds; i++)
			{
				rb_solid_report report;
				int which;
				double *t, middle[3];

				solid_make(&s, family, size);
				report = check_solid(&s);
				CHECK(report.closed, "%s: not closed", solid_name[family]);
				CHECK(!s.sound || (report.oriented && report.fault == RB_SOLID_GOOD),
					  "%s: fault %d", solid_name[family], (int) report.fault);
				check_report(&s, "as made");
				which = check_below(s.n);
				t = changed.t + 9 * which;

				changed = s;
				turn_triangle(t);
				report = check_solid(&changed);
				CHECK(!s.sound || (report.closed && !report.oriented), "%s: turned",
					  solid_name[family]);
				check_report(&changed, "one turned");

				changed = s;
				memcpy(t, changed.t + 9 * --changed.n, 9 * sizeof *t);
				report = check_solid(&changed);
				CHECK(!s.sound || (!report.closed && report.fault == RB_SOLID_OPEN), "%s: one less",
					  solid_name[family]);
				check_report(&changed, "one less");

				changed = s;
				for (int k = 0; k < changed.n; k++)
					turn_triangle(changed.t + 9 * k);
				solid_shuffle(&changed);
				report = check_solid(&changed);
				CHECK(!s.sound || (report.closed && report.fault == RB_SOLID_INWARD),
					  "%s: inside out", solid_name[family]);
				check_report(&changed, "inside out");

				/* One box of several */
				if (family == SOLID_NESTED || family == SOLID_TWO)
				{
					changed = s;
					for (int k = 0; k < 12; k++)
						turn_triangle(changed.t + 9 * (12 * (s.n / 12 - 1) + k));
					solid_shuffle(&changed);
					report = check_solid(&changed);
					CHECK(report.closed && !report.oriented, "%s: one box", solid_name[family]);
					check_report(&changed, "one box turned");
				}

				/* A solid inside a solid, which is not a cavity */
				if (family == SOLID_NESTED)
				{
					changed = s;
					changed.n = 24;
					for (int k = 12; k < 24; k++)
						turn_triangle(changed.t + 9 * k);
					solid_shuffle(&changed);
					report = check_solid(&changed);
					CHECK(report.fault == RB_SOLID_INWARD, "no cavity: fault %d",
						  (int) report.fault);
					check_report(&changed, "no cavity");
				}

				/* Triangles without area change nothing. */
				changed = s;
				add_triangle(&changed, t, t + 3, t);
				add_triangle(&changed, t, t, t);
				memcpy(middle, t, sizeof middle);
				middle[check_below(3)] += 1;
				add_triangle(&changed, t, middle, middle);
				report = check_solid(&changed);
				CHECK(report.closed && report.oriented == check_solid(&s).oriented &&
						  report.flat == check_solid(&s).flat + 3,
					  "%s: needles", solid_name[family]);

				/*
				 * A vertex on an edge, and a triangle without area between the two sides of the
				 * edge
				 */
				if (size != SIZE_PLAIN || !s.sound)
					continue;
				changed = s;
				for (int a = 0; a < 3; a++)
					middle[a] = (t[a] + t[3 + a]) / 2;
				add_triangle(&changed, middle, t + 3, t + 6);
				memcpy(t + 3, middle, sizeof middle);
				report = check_solid(&changed);
				CHECK(!report.closed && report.fault == RB_SOLID_OPEN, "%s: a corner on an edge",
					  solid_name[family]);
				check_report(&changed, "a corner on an edge");
				add_triangle(&changed, t, changed.t + 9 * (changed.n - 1) + 3, middle);
				report = check_solid(&changed);
				CHECK(report.closed && report.oriented && report.flat == 1, "%s: filled",
					  solid_name[family]);
				check_report(&changed, "filled");
				/*
				 * A triangle without area that has no vertex on the edge, which makes no difference
				 */
				changed = s;
				add_triangle(&changed, t, middle, t + 3);
				report = check_solid(&changed);
				CHECK(report.closed && report.oriented, "%s: of no use", solid_name[family]);
			}
	s.n = 0;
	CHECK(check_solid(&s).fault == RB_SOLID_FLAT, "nothing");
	add_triangle(&s, s.t, s.t, s.t);
	CHECK(check_solid(&s).fault == RB_SOLID_FLAT && !check_solid(&s).closed, "a point");
}

/* Adds a tetrahedron around a center, with normals that point outward or inward. */
static void
put_tetrahedron(double *t, const double *centre, double size, bool outward)
{
	static const int corner[4][3] = {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
	static const int face[4][3] = {{0, 1, 2}, {0, 3, 1}, {0, 2, 3}, {1, 3, 2}};

	for (int f = 0; f < 4; f++)
	{
		for (int k = 0; k < 3; k++)
			for (int a = 0; a < 3; a++)
				t[9 * f + 3 * k + a] = centre[a] + size * corner[face[f][k]][a];
		if (!outward)
			turn_triangle(t + 9 * f);
	}
}

static void
shells_in_shells(int sites, int shells)
{
	static double t[36 * 20000];
	const int n = sites * shells;
	rb_solid_report report;

	for (int i = 0; i < n; i++)
	{
		int site = i / shells, shell = i % shells;
		double centre[3] = {site % 100 * 4 - 20, site / 100 * 4, 1};

		put_tetrahedron(t + 36 * (size_t) i, centre, 1 / (double) (UINT64_C(1) << shell),
						shell % 2 == 0);
	}
	CHECK(rb_solid_check_faces(&ctx, t, (uint32_t) (4 * n), NULL, &report) == RB_OK, "status");
	CHECK(report.closed && report.oriented, "shells: fault %d at triangle %u", (int) report.fault,
		  report.triangle);
	for (int round = 0; round < 3; round++)
	{
		uint32_t turned = (uint32_t) check_below(n);

		for (int f = 0; f < 4; f++)
			turn_triangle(t + 36 * (size_t) turned + 9 * f);
		CHECK(rb_solid_check_faces(&ctx, t, (uint32_t) (4 * n), NULL, &report) == RB_OK, "status");
		CHECK(report.fault == RB_SOLID_INWARD && report.triangle / 4 / shells == turned / shells,
			  "shell %u is turned, fault %d at triangle %u", turned, (int) report.fault,
			  report.triangle);
		for (int f = 0; f < 4; f++)
			turn_triangle(t + 36 * (size_t) turned + 9 * f);
	}
}

/* Returns the work to check a solid of stacked blocks, in adjacent or separated columns, in ms. */
static double
measure_blocks(int separated)
{
	enum
	{
		EACH = 10
	};
	static const uint8_t corner[12][3] = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6},
										  {0, 1, 5}, {0, 5, 4}, {2, 6, 7}, {2, 7, 3},
										  {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
	static double t[9 * 12 * EACH * EACH * EACH];
	const double apart = separated ? 10 : 1, began = check_work_ms();
	rb_solid_report report;
	uint32_t n = 0;

	for (int i = 0; i < EACH * EACH * EACH; i++)
		for (int k = 0; k < 12; k++, n++)
			for (int c = 0; c < 3; c++)
			{
				t[9 * n + 3 * c] = apart * (i % EACH) + (corner[k][c] & 1);
				t[9 * n + 3 * c + 1] = apart * (i / EACH % EACH) + (corner[k][c] >> 1 & 1);
				t[9 * n + 3 * c + 2] = i / EACH / EACH + (corner[k][c] >> 2);
			}
	CHECK(rb_solid_check_faces(&ctx, t, n, NULL, &report) == RB_OK && report.closed &&
			  report.oriented,
		  "%d", (int) report.fault);
	return check_work_ms() - began;
}

/*
 * Tests that each of many groups of triangles considers only few columns besides its own. In
 * adjacent columns there are six times as many groups, and the work is eight times as much; it was
 * thirty times as much when more columns were considered.
 */
static void
blocks(void)
{
	double work[2];

	CHECK(work_is_bounded(measure_blocks, 15, 0, work), "%g ms, %g where they are apart", work[0],
		  work[1]);
}

/* Tests very many shells: their total time is no more than the sum of what each should take. */
static void
pieces(void)
{
	const double began = check_work_ms();
	double work;

	shells_in_shells(5, 30);
	shells_in_shells(10000, 2);
	work = check_work_ms() - began;
	CHECK(work < 20000, "%g ms", work);
}

/* Tests a call without memory, and one that is asked to stop before it begins. */
static void
refused_and_stopped(void)
{
	enum
	{
		MANY = 5000
	};
	static solid s;
	static double t[9 * MANY];
	rb_memory *little = rb_memory_create(100);
	rb_context other;
	rb_solid_report report;

	solid_make(&s, SOLID_BOX, SIZE_PLAIN);
	rb_context_init(&other, little);
	CHECK(rb_solid_check_faces(&other, s.t, (uint32_t) s.n, NULL, &report) == RB_OVER_BUDGET,
		  "no memory");
	CHECK(rb_memory_used(little) == 0, "left behind");
	rb_memory_destroy(little);
	for (int k = 0; k < 9 * MANY; k++)
		t[k] = check_below(1000);
	rb_context_init(&other, memory);
	rb_context_stop(&other);
	CHECK(rb_solid_check_faces(&other, t, MANY, NULL, &report) == RB_STOPPED, "stopped");
}

int
main(void)
{
	memory = rb_memory_create(UINT64_MAX);
	rb_context_init(&ctx, memory);
	CHECK_RUN(solids_that_are_good_or_not);
	CHECK_RUN(pieces);
	CHECK_RUN(blocks);
	CHECK_RUN(refused_and_stopped);
	CHECK(rb_memory_used(memory) == 0, "left behind");
	rb_memory_destroy(memory);
	return check_done();
}
