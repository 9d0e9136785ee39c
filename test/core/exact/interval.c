/*
 * interval.c
 *	  Tests that every interval operation contains the true result, and not much more.
 *
 * Bounds are compared as rationals. Operands are drawn from families biased to special values.
 * Excessive width is checked, too, because the whole line contains everything.
 *
 * To compile by hand:
 *
 *	gcc -std=gnu99 -O2 -ffp-contract=off -Isrc -Itest/core
 *	test/core/exact/interval.c test/core/naive.c -lgmp -lm
 */
#include <gmp.h>

#include "check.h"
#include "points.h"
#include "core/exact/interval.h"

/* Returns true if lo <= x <= hi. Bounds may be infinite, but not NaN. */
static bool
contains(double lo, double hi, mpq_t x)
{
	mpq_t bound;
	bool inside = true;

	if (isnan(lo) || isnan(hi))
		return false;
	mpq_init(bound);
	if (!isinf(lo))
	{
		mpq_set_d(bound, lo);
		inside = mpq_cmp(bound, x) <= 0;
	}
	else
		inside = lo < 0;
	if (!isinf(hi))
	{
		mpq_set_d(bound, hi);
		inside = inside && mpq_cmp(bound, x) >= 0;
	}
	else
		inside = inside && hi > 0;
	mpq_clear(bound);
	return inside;
}

/* Returns a number from a family of hard cases. */
static double
number(void)
{
	return points_coordinate(check_below(POINTS_FAMILIES), check_below(3),
							 check_below(2000) - 1000);
}

static rb_interval
interval(void)
{
	rb_interval r;
	double x = number();
	double y = check_below(3) ? number() : check_below(2) ? x : points_nudge(x);

	r.lo = rb_min(x, y);
	r.hi = rb_max(x, y);
	return r;
}

enum
{
	ADD,
	SUB,
	MUL
};

/* Checks x op y for the ends of both operands, which bound all other results. */
static void
check_ends(int op, const double *a, const double *b, double lo, double hi, const char *what)
{
	mpq_t x;
	mpq_t y;
	int i;

	mpq_init(x);
	mpq_init(y);
	CHECK(lo <= hi, "%s: [%g, %g]", what, lo, hi);
	for (i = 0; i < 4; i++)
	{
		mpq_set_d(x, a[i & 1]);
		mpq_set_d(y, b[i >> 1]);
		if (op == ADD)
			mpq_add(x, x, y);
		else if (op == SUB)
			mpq_sub(x, x, y);
		else
			mpq_mul(x, x, y);
		CHECK(contains(lo, hi, x), "%s: %a op %a is not in [%a, %a]", what, a[i & 1], b[i >> 1], lo,
			  hi);
	}
	mpq_clear(x);
	mpq_clear(y);
}

static void
operations_contain(void)
{
	long rounds = check_rounds(60000);
	long i;

	for (i = 0; i < rounds; i++)
	{
		rb_interval a = interval();
		rb_interval b = interval();
		double as[2] = {a.lo, a.hi};
		double bs[2] = {b.lo, b.hi};
		rb_interval r;

		r = rb_interval_add(a, b);
		check_ends(ADD, as, bs, r.lo, r.hi, "add");
		r = rb_interval_sub(a, b);
		check_ends(SUB, as, bs, r.lo, r.hi, "sub");
		r = rb_interval_mul(a, b);
		check_ends(MUL, as, bs, r.lo, r.hi, "mul");
		r = rb_interval_difference(a.lo, b.lo);
		as[1] = a.lo;
		bs[1] = b.lo;
		check_ends(SUB, as, bs, r.lo, r.hi, "difference");
	}
}

/* Tests that an operation on numbers widens the rounded result by at most a few ulps. */
static void
results_are_narrow(void)
{
	long rounds = check_rounds(100000);
	long i;

	for (i = 0; i < rounds; i++)
	{
		double x = number();
		double y = number();
		double exact[3] = {x + y, x - y, x * y};
		rb_interval r[3];
		int j;

		r[0] = rb_interval_add(rb_interval_of(x), rb_interval_of(y));
		r[1] = rb_interval_sub(rb_interval_of(x), rb_interval_of(y));
		r[2] = rb_interval_mul(rb_interval_of(x), rb_interval_of(y));
		for (j = 0; j < 3; j++)
			if (isfinite(exact[j]) && fabs(exact[j]) < 0x1p1000)
				CHECK(r[j].hi - r[j].lo <= 0x1p-50 * fabs(exact[j]) + 0x1p-1073,
					  "operation %d of %a and %a: [%a, %a]", j, x, y, r[j].lo, r[j].hi);
	}
}

/* Tests that exact zeros stay [0, 0]: shared vertices have sign 0, not RB_UNSURE. */
static void
exact_zeros_stay(void)
{
	long rounds = check_rounds(20000);
	long i;

	for (i = 0; i < rounds; i++)
	{
		double x = number();
		rb_interval zero = rb_interval_of(check_below(2) ? 0.0 : -0.0);

		CHECK(rb_interval_sign(rb_interval_difference(x, x)) == 0, "%a", x);
		CHECK(rb_interval_sign(rb_interval_sub(rb_interval_of(x), rb_interval_of(x))) == 0, "%a",
			  x);
		CHECK(rb_interval_sign(rb_interval_mul(rb_interval_of(x), zero)) == 0, "%a", x);
		CHECK(rb_interval_sign(rb_interval_mul(zero, interval())) == 0, "0 * interval");
		CHECK(rb_interval_sign(rb_interval_add(zero, zero)) == 0, "0 + 0");
	}
}

/* Tests infinite bounds and overflow: they never give a NaN or a wrong sign. */
static void
infinities_stay_harmless(void)
{
	static const double bounds[] = {-INFINITY, -DBL_MAX, -1, 0, 1, DBL_MAX, INFINITY};
	int i;
	int j;
	int k;
	int l;
	int op;

	for (i = 0; i < 7; i++)
		for (j = i; j < 7; j++)
			for (k = 0; k < 7; k++)
				for (l = k; l < 7; l++)
					for (op = ADD; op <= MUL; op++)
					{
						rb_interval a = {bounds[i], bounds[j]};
						rb_interval b = {bounds[k], bounds[l]};
						rb_interval r;

						/* Skip intervals of a single infinity, which contain no real number. */
						if ((i == j && isinf(bounds[i])) || (k == l && isinf(bounds[k])))
							continue;
						r = op == ADD   ? rb_interval_add(a, b)
							: op == SUB ? rb_interval_sub(a, b)
										: rb_interval_mul(a, b);
						CHECK(r.lo <= r.hi, "[%g, %g] %d [%g, %g]: [%g, %g]", a.lo, a.hi, op, b.lo,
							  b.hi, r.lo, r.hi);
						if (op == ADD && (isinf(a.lo) || isinf(b.lo)))
							CHECK(r.lo == -INFINITY, "lower bound");
						if (op == ADD && (isinf(a.hi) || isinf(b.hi)))
							CHECK(r.hi == INFINITY, "upper bound");
						if (op == MUL && a.lo < 0 && a.hi > 0 && isinf(b.hi))
							CHECK(r.lo == -INFINITY && r.hi == INFINITY, "product");
					}
	CHECK(rb_interval_of(NAN).lo == -INFINITY && rb_interval_of(NAN).hi == INFINITY, "NaN");
	CHECK(rb_interval_sign(rb_interval_line()) == RB_UNSURE, "whole line");
}

int
main(void)
{
	CHECK_RUN(operations_contain);
	CHECK_RUN(results_are_narrow);
	CHECK_RUN(exact_zeros_stay);
	CHECK_RUN(infinities_stay_harmless);
	return check_done();
}
