/*
 * test_interval.c
 *	  Every interval operation contains the real result, and not much more.
 *
 * Bounds are compared as rationals.  Operands are drawn from families biased to
 * special values.  That an interval may be too wide is checked too: the whole
 * line contains everything.
 *
 * By hand: gcc -std=gnu99 -O2 -ffp-contract=off -Isrc/core -Itest/core
 *	test/core/test_interval.c test/core/naive.c -lgmp -lm
 */
#include <string.h>
#include <gmp.h>

#include "check.h"
#include "points.h"
#include "rb_interval.h"

/* is lo <= x <= hi?  Bounds may be infinite, never NaN */
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

/* any number that hurts */
static double
number(void)
{
	return points_coordinate(check_below(POINTS_FAMILIES), check_below(3),
							 check_below(2000) - 1000);
}

static float
number_f(void)
{
	static const float special[] = {
		0, 0x1p-149f, 0x1.fffffcp-127f, 0x1p-126f,      0x1p-125f, 0x1p-75f, 1, 0x1.000002p0f,
		3, 0x1p24f,   0x1p63f,          0x1.fffffep127f};
	uint32_t bits = (uint32_t) check_random();
	float x;

	switch (check_below(3))
	{
		case 0:
			x = special[check_below(sizeof special / sizeof special[0])];
			return check_below(2) ? x : -x;
		case 1:
			return (float) points_unit();
		default:
			memcpy(&x, &bits, sizeof x);
			return isfinite(x) ? x : 1;
	}
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

static rb_interval_f
interval_f(void)
{
	rb_interval_f r;
	float x = number_f();
	float y = check_below(2) ? number_f() : x;

	r.lo = rb_min_f(x, y);
	r.hi = rb_max_f(x, y);
	return r;
}

enum
{
	ADD,
	SUB,
	MUL
};

/* x op y for the ends of both operands; they bound all other results */
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
double_operations_contain(void)
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
		r = rb_interval_neg(a);
		CHECK(r.lo == -a.hi && r.hi == -a.lo, "neg");
	}
}

static void
float_operations_contain(void)
{
	long rounds = check_rounds(60000);
	long i;

	for (i = 0; i < rounds; i++)
	{
		rb_interval_f a = interval_f();
		rb_interval_f b = interval_f();
		double as[2] = {a.lo, a.hi};
		double bs[2] = {b.lo, b.hi};
		rb_interval_f r;

		r = rb_interval_f_add(a, b);
		check_ends(ADD, as, bs, r.lo, r.hi, "add");
		r = rb_interval_f_sub(a, b);
		check_ends(SUB, as, bs, r.lo, r.hi, "sub");
		r = rb_interval_f_mul(a, b);
		check_ends(MUL, as, bs, r.lo, r.hi, "mul");
		r = rb_interval_f_neg(a);
		CHECK(r.lo == -a.hi && r.hi == -a.lo, "neg");
	}
}

static void
double_to_float_contains(void)
{
	long rounds = check_rounds(60000);
	long i;

	for (i = 0; i < rounds; i++)
	{
		double x[2] = {number(), 0};
		double origin[2] = {check_below(2) ? number() : points_nudge(x[0]), 0};
		rb_interval_f r;

		if (check_below(3) == 0)
			x[0] = check_below(2) ? (double) number_f() : points_nudge((double) number_f());
		x[1] = x[0];
		origin[1] = origin[0];
		r = rb_interval_f_of_difference(x[0], origin[0]);
		check_ends(SUB, x, origin, r.lo, r.hi, "difference");
		origin[0] = origin[1] = 0;
		r = rb_interval_f_of(x[0]);
		check_ends(SUB, x, origin, r.lo, r.hi, "float of double");
		if ((double) (float) x[0] == x[0])
			CHECK(r.lo == r.hi, "%a is a float, and became [%a, %a]", x[0], (double) r.lo,
				  (double) r.hi);
		else if (fabs(x[0]) < FLT_MAX)
			CHECK(nextafterf(nextafterf(nextafterf(r.lo, INFINITY), INFINITY), INFINITY) >= r.hi,
				  "%a became as wide as [%a, %a]", x[0], (double) r.lo, (double) r.hi);
	}
}

/* one operation on numbers costs a few neighbours of the rounded result at most */
static void
results_are_narrow(void)
{
	long rounds = check_rounds(100000);
	long i;

	for (i = 0; i < rounds; i++)
	{
		double x = number();
		double y = number();
		float u = number_f();
		float v = number_f();
		double exact[3] = {x + y, x - y, x * y};
		float exact_f[3] = {u + v, u - v, u * v};
		rb_interval r[4];
		rb_interval_f s[3];
		int j;

		r[0] = rb_interval_add(rb_interval_of(x), rb_interval_of(y));
		r[1] = rb_interval_sub(rb_interval_of(x), rb_interval_of(y));
		r[2] = rb_interval_mul(rb_interval_of(x), rb_interval_of(y));
		for (j = 0; j < 3; j++)
			if (isfinite(exact[j]) && fabs(exact[j]) < 0x1p1000)
				CHECK(r[j].hi - r[j].lo <= 0x1p-50 * fabs(exact[j]) + 0x1p-1073,
					  "operation %d of %a and %a: [%a, %a]", j, x, y, r[j].lo, r[j].hi);
		s[0] = rb_interval_f_add(rb_interval_f_of(u), rb_interval_f_of(v));
		s[1] = rb_interval_f_sub(rb_interval_f_of(u), rb_interval_f_of(v));
		s[2] = rb_interval_f_mul(rb_interval_f_of(u), rb_interval_f_of(v));
		for (j = 0; j < 3; j++)
			if (fabsf(exact_f[j]) < 0x1p120f)
				CHECK(s[j].hi - s[j].lo <= 0x1p-21f * fabsf(exact_f[j]) + 0x1p-148f,
					  "operation %d of %a and %a: [%a, %a]", j, (double) u, (double) v,
					  (double) s[j].lo, (double) s[j].hi);
	}
}

/* what is zero for certain stays [0, 0]: shared vertices have sign 0, not RB_UNSURE */
static void
exact_zeros_stay(void)
{
	long rounds = check_rounds(20000);
	long i;

	for (i = 0; i < rounds; i++)
	{
		double x = number();
		float u = number_f();
		rb_interval zero = rb_interval_of(check_below(2) ? 0.0 : -0.0);
		rb_interval_f zero_f = rb_interval_f_of(check_below(2) ? 0.0 : -0.0);

		CHECK(rb_interval_sign(rb_interval_difference(x, x)) == 0, "%a", x);
		CHECK(rb_interval_sign(rb_interval_sub(rb_interval_of(x), rb_interval_of(x))) == 0, "%a",
			  x);
		CHECK(rb_interval_sign(rb_interval_mul(rb_interval_of(x), zero)) == 0, "%a", x);
		CHECK(rb_interval_sign(rb_interval_mul(zero, interval())) == 0, "0 * interval");
		CHECK(rb_interval_sign(rb_interval_add(zero, zero)) == 0, "0 + 0");
		CHECK(rb_interval_f_sign(rb_interval_f_of_difference(x, x)) == 0, "%a", x);
		CHECK(rb_interval_f_sign(rb_interval_f_mul(rb_interval_f_of(u), zero_f)) == 0, "%a",
			  (double) u);
		CHECK(rb_interval_f_sign(rb_interval_f_sub(rb_interval_f_of(u), rb_interval_f_of(u))) == 0,
			  "%a", (double) u);
	}
}

/* infinite bounds, and all that overflow brings: never a NaN, never a sign made up */
static void
infinities_stay_harmless(void)
{
	static const double bounds[] = {-INFINITY, -DBL_MAX, -1, 0, 1, DBL_MAX, INFINITY};
	static const float bounds_f[] = {-INFINITY, -FLT_MAX, -1, 0, 1, FLT_MAX, INFINITY};
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
						rb_interval_f c = {bounds_f[i], bounds_f[j]};
						rb_interval_f d = {bounds_f[k], bounds_f[l]};
						rb_interval r;
						rb_interval_f s;

						/* a lone infinity stands for no real number: leave it out */
						if ((i == j && isinf(bounds[i])) || (k == l && isinf(bounds[k])))
							continue;
						r = op == ADD   ? rb_interval_add(a, b)
							: op == SUB ? rb_interval_sub(a, b)
										: rb_interval_mul(a, b);
						s = op == ADD   ? rb_interval_f_add(c, d)
							: op == SUB ? rb_interval_f_sub(c, d)
										: rb_interval_f_mul(c, d);
						CHECK(r.lo <= r.hi, "[%g, %g] %d [%g, %g]: [%g, %g]", a.lo, a.hi, op, b.lo,
							  b.hi, r.lo, r.hi);
						CHECK(s.lo <= s.hi, "[%g, %g] %d [%g, %g]: [%g, %g]", a.lo, a.hi, op, b.lo,
							  b.hi, (double) s.lo, (double) s.hi);
						if (op == ADD && (isinf(a.lo) || isinf(b.lo)))
							CHECK(r.lo == -INFINITY && s.lo == -INFINITY, "lower bound");
						if (op == ADD && (isinf(a.hi) || isinf(b.hi)))
							CHECK(r.hi == INFINITY && s.hi == INFINITY, "upper bound");
						if (op == MUL && a.lo < 0 && a.hi > 0 && isinf(b.hi))
							CHECK(r.lo == -INFINITY && r.hi == INFINITY && s.lo == -INFINITY &&
									  s.hi == INFINITY,
								  "product");
					}
	CHECK(rb_interval_of(NAN).lo == -INFINITY && rb_interval_of(NAN).hi == INFINITY, "NaN");
	CHECK(rb_interval_f_of(NAN).lo == -INFINITY && rb_interval_f_of(NAN).hi == INFINITY, "NaN");
	CHECK(rb_interval_sign(rb_interval_line()) == RB_UNSURE, "whole line");
	CHECK(rb_interval_f_sign(rb_interval_f_line()) == RB_UNSURE, "whole line");
}

int
main(void)
{
	CHECK_RUN(double_operations_contain);
	CHECK_RUN(float_operations_contain);
	CHECK_RUN(double_to_float_contains);
	CHECK_RUN(results_are_narrow);
	CHECK_RUN(exact_zeros_stay);
	CHECK_RUN(infinities_stay_harmless);
	return check_done();
}
