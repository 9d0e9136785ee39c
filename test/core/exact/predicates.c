/*
 * predicates.c
 *	  Tests every predicate of the core, by every method, against rationals.
 *
 * To compile by hand:
 *
 *	gcc -std=gnu99 -O2 -ffp-contract=off -Isrc -Itest/core
 *	test/core/exact/predicates.c test/core/naive.c $(find src/core -name '*.c') -lgmp -lm -lpthread
 */
#include <pthread.h>
#include <string.h>
#include <gmp.h>

#include "fixtures.h"
#include "naive.h"
#include "points.h"
#include "core/exact/gmp_exact.h"
#include "core/exact/orient.h"
#include "core/base/redblue.h"

/*
 * Number of cases that each step decided, over all families: a step that never decides is not
 * tested
 */
static long filter_sure[POINTS_FAMILIES];
static long interval_sure[POINTS_FAMILIES];
static long integer_sure[POINTS_FAMILIES];
static long expansion_sure[POINTS_FAMILIES];
static double room[RB_EXPANSION_ROOM];
static long zeros[POINTS_FAMILIES];
static long tried[POINTS_FAMILIES];

static bool
right(int sign, int truth)
{
	return sign == truth || sign == RB_UNSURE;
}

static const uint32_t steps[4] = {RB_FILTER_SIGNS, RB_FILTER_INTERVAL, RB_EXACT_INTEGER,
								  RB_EXACT_EXPANSION};

static rb_exact_env
env_of(int mask, bool exact)
{
	rb_exact_env env = {.filters = 0, .exact = exact};
	int i;

	for (i = 0; i < 4; i++)
		if ((mask & (1 << i)) != 0)
			env.filters |= steps[i];
	return env;
}

#define FORMAT3 "%.17g %.17g %.17g"
#define POINT3(p) (p)[0], (p)[1], (p)[2]

static void
check_orient3d(int family, const double *p)
{
	const double *a = p;
	const double *b = p + 3;
	const double *c = p + 6;
	const double *d = p + 9;
	int truth = naive_orient3d(a, b, c, d);
	int sign[5];
	int mask;
	int i;

	sign[0] = rb_orient3d_filter(a, b, c, d);
	sign[1] = rb_orient3d_interval(a, b, c, d);
	sign[2] = rb_orient3d_integer(a, b, c, d);
	sign[3] = rb_orient3d_expansion(a, b, c, d, room);
	sign[4] = rb_gmp_orient3d(a, b, c, d);
	for (i = 0; i < 5; i++)
		CHECK(right(sign[i], truth),
			  "step %d says %d, not %d: %s: " FORMAT3 ", " FORMAT3 ", " FORMAT3 ", " FORMAT3, i,
			  sign[i], truth, points_family_name[family], POINT3(a), POINT3(b), POINT3(c),
			  POINT3(d));
	CHECK(sign[4] != RB_UNSURE, "%s", points_family_name[family]);

	tried[family]++;
	filter_sure[family] += sign[0] != RB_UNSURE;
	interval_sure[family] += sign[1] != RB_UNSURE;
	integer_sure[family] += sign[2] != RB_UNSURE;
	expansion_sure[family] += sign[3] != RB_UNSURE;
	zeros[family] += truth == 0;

	for (mask = 0; mask < 16; mask++)
	{
		rb_exact_env env = env_of(mask, true);
		rb_exact_env filters = env_of(mask, false);
		int got = rb_orient3d_at(&env, a, b, c, d);
		int unsure = rb_orient3d_at(&filters, a, b, c, d);

		CHECK(got == truth, "mask %d: %d, not %d", mask, got, truth);
		CHECK(right(unsure, truth), "mask %d: %d, not %d", mask, unsure, truth);
		CHECK(mask != 0 || env.gmp == 1, "all steps off, and GMP not asked");
		CHECK(env.integer + env.expansion + env.gmp <= 1, "one sign, counted twice");
		CHECK(filters.integer + filters.expansion + filters.gmp == 0, "exact without leave");
	}
	CHECK(rb_orient3d(a, b, c, d) == truth, "%s", points_family_name[family]);
	CHECK(rb_orient3d(b, a, c, d) == -truth, "%s", points_family_name[family]);
	CHECK(rb_orient3d(a, c, d, b) == truth, "%s", points_family_name[family]);
	CHECK(rb_orient3d(d, c, b, a) == truth, "%s", points_family_name[family]);
}

/* Calls a check with that many random groups of n points from each family. */
static void
check_families(int n, int dims, long rounds, void (*check)(int family, const double *p))
{
	double p[15];

	for (int family = 0; family < POINTS_FAMILIES; family++)
		for (long i = 0; i < rounds; i++)
		{
			points_make(family, n, dims, p);
			check(family, p);
		}
}

static void
orient3d_against_rationals(void)
{
	check_families(4, 3, check_rounds(600), check_orient3d);
}

/*
 * Checks that each step decides the cases it is made for, so that the preceding test is meaningful.
 */
static void
every_step_decides(void)
{
	long n = tried[POINTS_UNIFORM];
	long rounds = check_rounds(2000);
	long sure[2] = {0, 0};
	long i;
	int j;

	/* Points in general position: filters decide practically all of them. */
	for (i = 0; i < rounds; i++)
	{
		double p[12];

		for (j = 0; j < 12; j++)
			p[j] = points_unit();
		sure[0] += rb_orient3d_filter(p, p + 3, p + 6, p + 9) != RB_UNSURE;
		sure[1] += rb_orient3d_interval(p, p + 3, p + 6, p + 9) != RB_UNSURE;
	}
	CHECK(sure[0] == rounds, "filter: %ld of %ld", sure[0], rounds);
	CHECK(sure[1] == rounds, "interval: %ld of %ld", sure[1], rounds);

	/* A third of these are exactly degenerate; percentages need enough cases. */
	if (n < 300)
		return;
	CHECK(integer_sure[POINTS_LATTICE] > n * 3 / 4, "integers: %ld", integer_sure[POINTS_LATTICE]);
	CHECK(integer_sure[POINTS_UTM] == n, "integers: %ld", integer_sure[POINTS_UTM]);
	CHECK(integer_sure[POINTS_ECEF] == n, "integers: %ld", integer_sure[POINTS_ECEF]);
	CHECK(expansion_sure[POINTS_UNIFORM] == n, "expansions: %ld", expansion_sure[POINTS_UNIFORM]);
	CHECK(expansion_sure[POINTS_DECIMAL] > n * 3 / 4, "expansions: %ld",
		  expansion_sure[POINTS_DECIMAL]);
	CHECK(zeros[POINTS_LATTICE] > n / 5, "zeros: %ld", zeros[POINTS_LATTICE]);
	CHECK(zeros[POINTS_BITS] > 0, "zeros: %ld", zeros[POINTS_BITS]);
}

static void
orient2d_against_rationals(void)
{
	long rounds = check_rounds(600);
	int family;
	long i;
	int mask;
	int j;

	for (family = 0; family < POINTS_FAMILIES; family++)
		for (i = 0; i < rounds; i++)
		{
			double p[6];
			int truth;
			int sign[5];

			points_make(family, 3, 2, p);
			truth = naive_orient2d(p, p + 2, p + 4);
			sign[0] = rb_orient2d_filter(p[0], p[1], p[2], p[3], p[4], p[5]);
			sign[1] = rb_orient2d_interval(p[0], p[1], p[2], p[3], p[4], p[5]);
			sign[2] = rb_orient2d_integer(p[0], p[1], p[2], p[3], p[4], p[5]);
			sign[3] = rb_orient2d_expansion(p[0], p[1], p[2], p[3], p[4], p[5], room);
			sign[4] = rb_gmp_orient2d(p[0], p[1], p[2], p[3], p[4], p[5]);
			for (j = 0; j < 5; j++)
				CHECK(right(sign[j], truth),
					  "step %d says %d, not %d: %s: %.17g %.17g, %.17g %.17g, %.17g %.17g", j,
					  sign[j], truth, points_family_name[family], p[0], p[1], p[2], p[3], p[4],
					  p[5]);
			CHECK(sign[4] != RB_UNSURE, "%s", points_family_name[family]);
			for (mask = 0; mask < 16; mask++)
			{
				rb_exact_env env = env_of(mask, true);
				rb_exact_env filters = env_of(mask, false);
				int got = rb_orient2d_at(&env, p[0], p[1], p[2], p[3], p[4], p[5]);
				int unsure = rb_orient2d_at(&filters, p[0], p[1], p[2], p[3], p[4], p[5]);

				CHECK(got == truth, "mask %d: %d, not %d", mask, got, truth);
				CHECK(right(unsure, truth), "mask %d: %d, not %d", mask, unsure, truth);
			}
			CHECK(rb_orient2d(p, p + 2, p + 4) == truth, "%s", points_family_name[family]);
			CHECK(rb_orient2d(p + 2, p, p + 4) == -truth, "%s", points_family_name[family]);
		}
}

static long sums[3]; /* Number of negative, zero and positive signs */

static void
check_incircle(int family, const double *p)
{
	const int truth = naive_incircle(p, p + 2, p + 4, p + 6);

	sums[truth + 1]++;
	CHECK(rb_incircle(p, p + 2, p + 4, p + 6) == truth,
		  "not %d: %s: %.17g %.17g, %.17g %.17g, %.17g %.17g, %.17g %.17g", truth,
		  points_family_name[family], p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]);
	CHECK(rb_gmp_incircle(p, p + 2, p + 4, p + 6) == truth, "GMP, not %d: %s", truth,
		  points_family_name[family]);
	CHECK(rb_incircle(p + 2, p, p + 4, p + 6) == -truth, "%s", points_family_name[family]);
}

static void
check_insphere(int family, const double *p)
{
	const int truth = naive_insphere(p, p + 3, p + 6, p + 9, p + 12);

	sums[truth + 1]++;
	CHECK(rb_insphere(p, p + 3, p + 6, p + 9, p + 12) == truth,
		  "not %d: %s: " FORMAT3 ", " FORMAT3 ", " FORMAT3 ", " FORMAT3 ", " FORMAT3, truth,
		  points_family_name[family], POINT3(p), POINT3(p + 3), POINT3(p + 6), POINT3(p + 9),
		  POINT3(p + 12));
	CHECK(rb_gmp_insphere(p, p + 3, p + 6, p + 9, p + 12) == truth, "GMP, not %d: %s", truth,
		  points_family_name[family]);
	CHECK(rb_insphere(p + 3, p, p + 6, p + 9, p + 12) == -truth, "%s", points_family_name[family]);
}

/* Also checks that each sign occurs. */
static void
check_signs(int n, int dims, long rounds, void (*check)(int family, const double *p))
{
	memset(sums, 0, sizeof sums);
	check_families(n, dims, rounds, check);
	for (int i = 0; i < 3 && rounds >= 100; i++)
		CHECK(sums[i] > rounds / 10, "hardly any sign %d", i - 1);
}

static void
incircle_against_rationals(void)
{
	check_signs(4, 2, check_rounds(400), check_incircle);
}

static void
insphere_against_rationals(void)
{
	check_signs(5, 3, check_rounds(200), check_insphere);
}

/*
 * Tests cases that need the error bounds to the last bit: points rounded onto a line, plane, circle
 * or sphere, thousands of each. GMP provides the correct sign.
 */
static void
filters_know_their_error(void)
{
	long rounds = check_rounds(100000);
	long unsure = 0;
	long i;

	for (i = 0; i < rounds; i++)
	{
		double p[15];
		double s = points_unit();
		double t = points_unit();
		double r;
		int j;

		for (j = 0; j < 15; j++)
			p[j] = points_unit();
		for (j = 0; j < 2; j++)
			p[4 + j] = p[j] + s * (p[2 + j] - p[j]);
		j = rb_orient2d_filter(p[0], p[1], p[2], p[3], p[4], p[5]);
		unsure += j == RB_UNSURE;
		CHECK(right(j, rb_gmp_orient2d(p[0], p[1], p[2], p[3], p[4], p[5])), "orient2d");

		for (j = 0; j < 3; j++)
			p[9 + j] = p[j] + s * (p[3 + j] - p[j]) + t * (p[6 + j] - p[j]);
		j = rb_orient3d_filter(p, p + 3, p + 6, p + 9);
		unsure += j == RB_UNSURE;
		CHECK(right(j, rb_gmp_orient3d(p, p + 3, p + 6, p + 9)), "orient3d");

		/* The rational parametrization of the unit circle, and of the sphere */
		for (j = 0; j < 4; j++)
		{
			s = points_unit();
			r = 1 + s * s;
			p[2 * j] = (1 - s * s) / r;
			p[2 * j + 1] = 2 * s / r;
		}
		CHECK(rb_incircle(p, p + 2, p + 4, p + 6) == rb_gmp_incircle(p, p + 2, p + 4, p + 6),
			  "incircle");
		if (i % 4 != 0)
			continue;
		for (j = 0; j < 5; j++)
		{
			s = points_unit();
			t = points_unit();
			r = 1 + s * s + t * t;
			p[3 * j] = 2 * s / r;
			p[3 * j + 1] = 2 * t / r;
			p[3 * j + 2] = (1 - s * s - t * t) / r;
		}
		CHECK(rb_insphere(p, p + 3, p + 6, p + 9, p + 12) ==
				  rb_gmp_insphere(p, p + 3, p + 6, p + 9, p + 12),
			  "insphere");
	}
	CHECK(rounds < 1000 || unsure > rounds / 4, "only %ld of %ld are left undecided", unsure,
		  rounds);
}

/* Tests the meaning of the signs with figures instead of determinants. */
static void
signs_mean_what_they_say(void)
{
	const double o[3] = {0, 0, 0};
	const double x[3] = {1, 0, 0};
	const double y[3] = {0, 1, 0};
	const double z[3] = {0, 0, 1};
	const double in[3] = {0.3, 0.3, 0.3};
	const double out[3] = {1, 1, 1.0000000000000002};
	const double on[3] = {1, 1, 1};
	const double out2[3] = {1, 1.0000000000000002, 0};

	CHECK(rb_orient2d(o, x, y) == 1, "left turn");
	CHECK(rb_orient2d(o, y, x) == -1, "right turn");
	CHECK(rb_orient3d(o, x, y, z) == 1, "counterclockwise seen from z");
	CHECK(rb_orient3d(o, y, x, z) == -1, "clockwise seen from z");
	CHECK(rb_incircle(o, x, y, in) == 1, "inside");
	CHECK(rb_incircle(o, x, y, on) == 0, "on");
	CHECK(rb_incircle(o, x, y, out2) == -1, "outside");
	CHECK(rb_incircle(o, y, x, in) == -1, "inside, clockwise");
	CHECK(rb_insphere(o, x, y, z, in) == 1, "inside");
	CHECK(rb_insphere(o, x, y, z, on) == 0, "on");
	CHECK(rb_insphere(o, x, y, z, out) == -1, "outside");
	CHECK(rb_insphere(o, y, x, z, in) == -1, "inside, negative orientation");
}

/* Tests inside and outside by the distance to a known center, without any determinant. */
static void
insphere_agrees_with_distance(void)
{
	static const int on[9][3] = {{1, 2, 2},   {-1, 2, 2}, {2, -1, 2}, {2, 2, -1}, {-2, -2, 1},
								 {-2, 1, -2}, {3, 0, 0},  {0, -3, 0}, {0, 0, 3}};
	long rounds = check_rounds(3000);
	long r;

	for (r = 0; r < rounds; r++)
	{
		double centre[3];
		double p[15];
		double distance = 0;
		int unit = check_below(600) - 300;
		int i;
		int axis;

		for (axis = 0; axis < 3; axis++)
		{
			int moved = check_below(9) - 4;

			centre[axis] = check_below(2001) - 1000;
			for (i = 0; i < 4; i++)
				p[i * 3 + axis] = centre[axis];
			p[12 + axis] = ldexp(centre[axis] + moved, unit);
			distance += moved * moved;
		}
		for (i = 0; i < 4; i++)
		{
			int which = check_below(9);

			for (axis = 0; axis < 3; axis++)
				p[i * 3 + axis] = ldexp(p[i * 3 + axis] + on[which][axis], unit);
		}
		CHECK(rb_insphere(p, p + 3, p + 6, p + 9, p + 12) ==
				  rb_orient3d(p, p + 3, p + 6, p + 9) * ((distance < 9) - (distance > 9)),
			  "distance^2 %g of 9, unit 2^%d", distance, unit);
	}
}

/* Tests that -0.0 is treated as 0 in every position. */
static void
negative_zero_is_zero(void)
{
	long rounds = check_rounds(3000);
	long r;

	for (r = 0; r < rounds; r++)
	{
		double p[15];
		double q[15];
		int i;

		for (i = 0; i < 15; i++)
		{
			p[i] = check_below(3) - 1;
			q[i] = p[i] == 0 && check_below(2) ? -0.0 : p[i];
		}
		for (i = 0; i < 16; i++)
		{
			rb_exact_env env = env_of(i, true);

			CHECK(rb_orient3d_at(&env, p, p + 3, p + 6, p + 9) ==
					  rb_orient3d_at(&env, q, q + 3, q + 6, q + 9),
				  "mask %d", i);
		}
		CHECK(rb_orient2d(p, p + 2, p + 4) == rb_orient2d(q, q + 2, q + 4), "orient2d");
		CHECK(rb_incircle(p, p + 2, p + 4, p + 6) == rb_incircle(q, q + 2, q + 4, q + 6),
			  "incircle");
		CHECK(rb_insphere(p, p + 3, p + 6, p + 9, p + 12) ==
				  rb_insphere(q, q + 3, q + 6, q + 9, q + 12),
			  "insphere");
	}
}

/* Tests that scaling a figure changes no sign; for orientations, each axis has its own scale. */
static void
scale_changes_nothing(void)
{
	long rounds = check_rounds(3000);
	long r;

	for (r = 0; r < rounds; r++)
	{
		static const int families[3] = {POINTS_LATTICE, POINTS_DECIMAL, POINTS_UTM};
		double p[12];
		double q[12];
		int i;
		int shift[3];

		for (i = 0; i < 3; i++)
			shift[i] = check_below(1900) - 950;
		points_make(families[check_below(3)], 4, 3, p);
		for (i = 0; i < 12; i++)
			q[i] = ldexp(p[i], shift[i % 3]);
		/* Only if the scaling itself was exact */
		for (i = 0; i < 12; i++)
			if (ldexp(q[i], -shift[i % 3]) != p[i])
				break;
		if (i == 12)
			CHECK(rb_orient3d(p, p + 3, p + 6, p + 9) == rb_orient3d(q, q + 3, q + 6, q + 9),
				  "2^%d 2^%d 2^%d", shift[0], shift[1], shift[2]);
	}
}

/* ---- GMP's allocator ---- */

static void
gmp_stays_off_the_heap(void)
{
	long rounds = check_rounds(300);
	long r;
	int family;

	count_gmp_allocations();
	for (family = 0; family < POINTS_FAMILIES; family++)
		for (r = 0; r < rounds; r++)
		{
			double p[15];

			points_make(family, 5, 3, p);
			rb_gmp_orient2d(p[0], p[1], p[2], p[3], p[4], p[5]);
			rb_gmp_orient3d(p, p + 3, p + 6, p + 9);
			rb_gmp_incircle(p, p + 2, p + 4, p + 6);
			rb_gmp_insphere(p, p + 3, p + 6, p + 9, p + 12);
		}
	/* The longest possible numbers: the largest and smallest exponents together */
	for (r = 0; r < rounds; r++)
	{
		double p[15];
		int i;

		for (i = 0; i < 15; i++)
		{
			p[i] = check_below(2) ? 0x1.fffffffffffffp1023 : 0x0.0000000000001p-1022;
			if (check_below(2))
				p[i] = -p[i];
		}
		rb_gmp_orient2d(p[0], p[1], p[2], p[3], p[4], p[5]);
		rb_gmp_orient3d(p, p + 3, p + 6, p + 9);
		rb_gmp_incircle(p, p + 2, p + 4, p + 6);
		rb_gmp_insphere(p, p + 3, p + 6, p + 9, p + 12);
	}
	CHECK(gmp_allocations == 0, "%ld allocations", gmp_allocations);
	uncount_gmp_allocations();
}

/* Tests the largest and smallest exponents together, which give the longest numbers. */
static void
longest_numbers(void)
{
	long rounds = check_rounds(100);
	long r;

	for (r = 0; r < rounds; r++)
	{
		double p[15];
		int i;

		for (i = 0; i < 15; i++)
		{
			static const double values[5] = {0x1.fffffffffffffp1023, 0x0.0000000000001p-1022,
											 0x1p1023, 1, 0x0.fffffffffffffp-1022};

			p[i] = values[check_below(5)];
			if (check_below(2))
				p[i] = -p[i];
		}
		CHECK(rb_gmp_orient3d(p, p + 3, p + 6, p + 9) == naive_orient3d(p, p + 3, p + 6, p + 9),
			  "orient3d");
		CHECK(rb_gmp_insphere(p, p + 3, p + 6, p + 9, p + 12) ==
				  naive_insphere(p, p + 3, p + 6, p + 9, p + 12),
			  "insphere");
		CHECK(rb_gmp_incircle(p, p + 2, p + 4, p + 6) == naive_incircle(p, p + 2, p + 4, p + 6),
			  "incircle");
	}
}

/* ---- threads ---- */

#define SETS 500

static double shared_points[SETS][15];
static int shared_truth[SETS][3];

static void *
thread_main(void *wrong)
{
	long *count = wrong;
	int round;
	int i;

	for (round = 0; round < 4; round++)
		for (i = 0; i < SETS; i++)
		{
			const double *p = shared_points[i];
			rb_exact_env env = {.filters = 0, .exact = true};

			*count += rb_orient3d(p, p + 3, p + 6, p + 9) != shared_truth[i][0];
			*count += rb_orient3d_at(&env, p, p + 3, p + 6, p + 9) != shared_truth[i][0];
			*count += rb_incircle(p, p + 2, p + 4, p + 6) != shared_truth[i][1];
			*count += rb_insphere(p, p + 3, p + 6, p + 9, p + 12) != shared_truth[i][2];
		}
	return NULL;
}

static void
eight_threads_agree(void)
{
	pthread_t thread[8];
	long wrong[8] = {0};
	int i;

	for (i = 0; i < SETS; i++)
	{
		double *p = shared_points[i];

		points_make(i % POINTS_FAMILIES, 5, 3, p);
		shared_truth[i][0] = naive_orient3d(p, p + 3, p + 6, p + 9);
		shared_truth[i][1] = naive_incircle(p, p + 2, p + 4, p + 6);
		shared_truth[i][2] = naive_insphere(p, p + 3, p + 6, p + 9, p + 12);
	}
	for (i = 0; i < 8; i++)
		if (pthread_create(&thread[i], NULL, thread_main, &wrong[i]) != 0)
			exit(1);
	for (i = 0; i < 8; i++)
	{
		pthread_join(thread[i], NULL);
		CHECK(wrong[i] == 0, "thread %d: %ld wrong", i, wrong[i]);
	}
}

int
main(void)
{
	CHECK_RUN(orient3d_against_rationals);
	CHECK_RUN(every_step_decides);
	CHECK_RUN(orient2d_against_rationals);
	CHECK_RUN(incircle_against_rationals);
	CHECK_RUN(insphere_against_rationals);
	CHECK_RUN(filters_know_their_error);
	CHECK_RUN(signs_mean_what_they_say);
	CHECK_RUN(insphere_agrees_with_distance);
	CHECK_RUN(negative_zero_is_zero);
	CHECK_RUN(scale_changes_nothing);
	CHECK_RUN(gmp_stays_off_the_heap);
	CHECK_RUN(longest_numbers);
	CHECK_RUN(eight_threads_agree);
	return check_done();
}
