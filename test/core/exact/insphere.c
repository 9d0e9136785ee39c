/*
 * insphere.c
 *	  Tests sphere predicates: insphere by each step alone and by every set of steps, and ties by
 *	  number against points that are actually lifted.
 */
#include <gmp.h>
#include <string.h>

#include "check.h"
#include "naive.h"
#include "points.h"
#include "spheres.h"
#include "core/exact/insphere.h"
#include "mesh/mesh.h"

static const uint32_t steps[3] = {RB_FILTER_SIGNS, RB_FILTER_INTERVAL, RB_EXACT_INTEGER};

static rb_exact_env
env_of(int mask, bool exact)
{
	rb_exact_env env = {.filters = 0, .exact = exact};

	for (int i = 0; i < 3; i++)
		if ((mask & (1 << i)) != 0)
			env.filters |= steps[i];
	return env;
}

static bool
right(int sign, int truth)
{
	return sign == truth || sign == RB_UNSURE;
}

/* ---- five points near one sphere ---- */

static long step_sure[3][SPHERE_FAMILIES + POINTS_FAMILIES];
static long zeros[SPHERE_FAMILIES + POINTS_FAMILIES];
static long tried[SPHERE_FAMILIES + POINTS_FAMILIES];

static void
check_insphere(int family, const double *p)
{
	const double *q[5];
	int truth = rb_gmp_insphere(p, p + 3, p + 6, p + 9, p + 12);
	int sign[4];
	bool odd = false;

	for (int i = 0; i < 5; i++)
		q[i] = p + 3 * i;
	if (check_below(16) == 0)
		CHECK(naive_insphere(q[0], q[1], q[2], q[3], q[4]) == truth, "rationals, family %d",
			  family);
	sign[0] = rb_insphere_filter(q[0], q[1], q[2], q[3], q[4]);
	sign[1] = rb_insphere_interval(q[0], q[1], q[2], q[3], q[4]);
	sign[2] = rb_insphere_integer(q[0], q[1], q[2], q[3], q[4]);
	sign[3] = rb_insphere_filter_fine(q[0], q[1], q[2], q[3], q[4]);
	for (int i = 0; i < 4; i++)
	{
		CHECK(right(sign[i], truth), "step %d of family %d: %d, not %d", i, family, sign[i], truth);
		if (i < 3)
			step_sure[i][family] += sign[i] != RB_UNSURE;
	}
	CHECK(!rb_insphere_flat(q[0], q[1], q[2], q[3], q[4]) || truth == 0, "not flat, family %d",
		  family);
	tried[family]++;
	zeros[family] += truth == 0;

	for (int mask = 0; mask < 8; mask++)
	{
		rb_exact_env env = env_of(mask, true), filters = env_of(mask, false);
		int got = rb_insphere_at(&env, q[0], q[1], q[2], q[3], q[4]);
		int unsure = rb_insphere_at(&filters, q[0], q[1], q[2], q[3], q[4]);

		CHECK(got == truth, "mask %d of family %d: %d, not %d", mask, family, got, truth);
		CHECK(right(unsure, truth), "mask %d of family %d: %d, not %d", mask, family, unsure,
			  truth);
		CHECK(mask != 0 || env.gmp == 1, "all steps off, and GMP not asked");
		CHECK(env.integer + env.gmp <= 1, "one sign, counted twice");
		CHECK(filters.integer + filters.gmp == 0, "exact without leave");
	}
	CHECK(rb_insphere(q[0], q[1], q[2], q[3], q[4]) == truth, "family %d", family);

	/* Any order of the five points */
	for (int i = 4; i > 0; i--)
	{
		int k = check_below(i + 1);
		const double *swap = q[i];

		q[i] = q[k];
		q[k] = swap;
		odd ^= k != i;
	}
	CHECK(rb_insphere(q[0], q[1], q[2], q[3], q[4]) == (odd ? -truth : truth),
		  "another order, family %d", family);
}

static void
insphere_by_every_step(void)
{
	long rounds = check_rounds(3000);
	double p[15];

	for (int family = 0; family < POINTS_FAMILIES; family++)
		for (long i = 0; i < rounds / 4; i++)
		{
			points_make(family, 5, 3, p);
			check_insphere(SPHERE_FAMILIES + family, p);
		}
	for (int family = 0; family < SPHERE_FAMILIES; family++)
		for (long i = 0; i < rounds; i++)
		{
			sphere_make(family, p);
			check_insphere(family, p);
		}
}

/*
 * Checks that each step decides the cases it is made for, so that the preceding test is meaningful.
 */
static void
every_step_decides(void)
{
	long n = tried[0];
	long rounds = check_rounds(5000);

	if (n < 300)
		return;
	for (int family = 0; family < SPHERE_FAMILIES; family++)
	{
		long zero = zeros[family] * 4 / n, whole = step_sure[2][family] * 4 / n;

		if (family == SPHERE_MIRRORED || family == SPHERE_WIDE || family == SPHERE_UTM)
			CHECK(zero >= 2 && whole >= 2, "family %d: %ld zeros, %ld by integers, of %ld", family,
				  zeros[family], step_sure[2][family], n);
		if (family == SPHERE_FAR)
			CHECK(step_sure[1][family] > n / 2, "intervals: %ld", step_sure[1][family]);
	}
	for (long i = 0; i < rounds; i++)
	{
		double p[15];

		for (int k = 0; k < 15; k++)
			p[k] = points_unit() + (i % 2 == 0 ? 0 : 1e5);
		CHECK(rb_insphere_filter(p, p + 3, p + 6, p + 9, p + 12) != RB_UNSURE, "filter");
		for (int k = 0; k < 3; k++)
			p[k] *= 1e5;
		CHECK(rb_insphere_filter_fine(p, p + 3, p + 6, p + 9, p + 12) != RB_UNSURE, "filter, fine");
	}
}

/* Tests cases that need bounds to the last bit, and products that leave the range of doubles. */
static void
filters_know_their_error(void)
{
	long rounds = check_rounds(60000);
	long sure = 0;

	for (long i = 0; i < rounds; i++)
	{
		/*
		 * 2^-220 .. 2^-150 and 2^190 .. 2^215: degree 5 reaches the ends of the exponent range
		 * there.
		 */
		int size[3], base = i % 3 == 0   ? 0
							: i % 3 == 1 ? -220 + check_below(70)
										 : 190 + check_below(25);
		double p[15];
		int got[2], truth;

		sphere_make(i % 2 == 0 ? SPHERE_UNIT : SPHERE_NEIGHBOUR, p);
		for (int k = 0; k < 3; k++)
			size[k] = base + (check_below(4) == 0 ? check_below(600) - 300 : 0);
		/* Products that underflow and are later multiplied by something large */
		if (i % 7 == 0)
			for (int k = 0, large = check_below(4); k < 3; k++)
				size[k] = k == large ? check_below(100) : -525 - check_below(15);
		for (int k = 0; k < 15; k++)
		{
			double x = ldexp(p[k], size[k % 3]);

			p[k] = isfinite(x) ? x : p[k];
		}
		got[0] = rb_insphere_filter(p, p + 3, p + 6, p + 9, p + 12);
		got[1] = rb_insphere_filter_fine(p, p + 3, p + 6, p + 9, p + 12);
		if (got[0] == RB_UNSURE && got[1] == RB_UNSURE)
			continue;
		sure++;
		truth = rb_gmp_insphere(p, p + 3, p + 6, p + 9, p + 12);
		CHECK(right(got[0], truth) && right(got[1], truth), "%d, %d, not %d", got[0], got[1],
			  truth);
	}
	CHECK(rounds < 1000 || sure > rounds / 100, "only %ld of %ld", sure, rounds);
}

/* ---- ties ---- */

__extension__ typedef __int128 wide;

/*
 * Computes the same determinant with points that are actually lifted: |p|^2 2^64 + 2^(12 rank).
 * Minors of these coordinates are below 2^9, so each rank outweighs the lower ones.
 */
static int
lifted(const double *p, const uint32_t *v)
{
	static const int others[4][3] = {{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}};
	long n[4][3];
	wide lift[5], det = 0;

	for (int i = 0; i < 5; i++)
	{
		int rank = 0;

		for (int k = 0; k < 5; k++)
			rank += v[k] < v[i];
		lift[i] = (wide) 1 << 12 * rank;
	}
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 3; k++)
			n[i][k] = (long) p[3 * i + k] - (long) p[12 + k];
	for (int i = 0; i < 4; i++)
	{
		const long *f = n[others[i][0]], *g = n[others[i][1]], *h = n[others[i][2]];
		long minor = (f[1] * g[2] - f[2] * g[1]) * h[0] + (f[2] * g[0] - f[0] * g[2]) * h[1] +
					 (f[0] * g[1] - f[1] * g[0]) * h[2];
		long norm = n[i][0] * n[i][0] + n[i][1] * n[i][1] + n[i][2] * n[i][2];
		wide term = (((wide) norm << 64) + lift[i] - lift[4]) * minor;

		det += i % 2 == 0 ? term : -term;
	}
	return (det > 0) - (det < 0);
}

static void
ties_are_broken_by_number(void)
{
	long rounds = check_rounds(40000);
	long ties = 0, flat = 0;

	for (long r = 0; r < rounds; r++)
	{
		int range = 2 + check_below(3);
		double p[15];
		uint32_t v[5];
		const double *q[5];
		rb_exact_env env = env_of(check_below(8), true), filters = env_of(check_below(8), false);
		rb_mesh m = {.env = env_of(check_below(8), true)};
		int truth, sign, i;
		bool odd = false;

		for (i = 0; i < 15; i++)
			p[i] = check_below(range);
		for (i = 0; i < 5; i++)
		{
			v[i] = (uint32_t) check_below(1000) * 5 + (uint32_t) i;
			q[i] = p + 3 * i;
		}
		truth = lifted(p, v);
		sign = rb_insphere_at(&env, q[0], q[1], q[2], q[3], q[4]);
		if (sign == 0)
		{
			int unsure = rb_insphere_ties(&filters, q, v);

			ties++;
			CHECK(right(unsure, truth), "%d, not %d", unsure, truth);
			sign = rb_insphere_ties(&env, q, v);
		}
		CHECK(sign == truth, "%d, not %d", sign, truth);
		if (truth == 0)
		{
			flat++;
			for (i = 0; i < 5; i++)
				CHECK(rb_orient3d(q[i == 0 ? 4 : 0], q[i == 1 ? 4 : 1], q[i == 2 ? 4 : 2],
								  q[i == 3 ? 4 : 3]) == 0,
					  "0, but not in one plane");
		}

		/* Points keep their numbers in another order. */
		for (i = 4; i > 0; i--)
		{
			int k = check_below(i + 1);
			const double *swap = q[i];
			uint32_t number = v[i];

			q[i] = q[k];
			q[k] = swap;
			v[i] = v[k];
			v[k] = number;
			odd ^= k != i;
		}
		sign = rb_insphere_at(&env, q[0], q[1], q[2], q[3], q[4]);
		if (sign == 0)
			sign = rb_insphere_ties(&env, q, v);
		CHECK(sign == (odd ? -truth : truth), "another order");

		/* Insphere by number: the points of the mesh are stored in the order of their numbers. */
		m.points = p;
		m.npoints = 5;
		for (i = 0; i < 5; i++)
			v[i] = (uint32_t) ((q[i] - p) / 3);
		odd = false;
		for (i = 0; i < 5; i++)
			for (int k = 0; k < i; k++)
				odd ^= v[k] > v[i];
		truth = lifted(p, (const uint32_t[5]){0, 1, 2, 3, 4});
		CHECK(rb_mesh_insphere(&m, v[0], v[1], v[2], v[3], v[4]) == (odd ? -truth : truth), "mesh");
	}
	CHECK(rounds < 1000 || (ties > rounds / 10 && flat > rounds / 100 && ties > flat),
		  "%ld ties, %ld of them flat, of %ld", ties, flat, rounds);
}

int
main(void)
{
	CHECK_RUN(insphere_by_every_step);
	CHECK_RUN(every_step_decides);
	CHECK_RUN(filters_know_their_error);
	CHECK_RUN(ties_are_broken_by_number);
	return check_done();
}
