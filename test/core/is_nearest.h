/*
 * is_nearest.h
 *	  Tests whether a double is the one nearest to a rational number.
 */
#ifndef IS_NEAREST_H
#define IS_NEAREST_H

#include <float.h>
#include <gmp.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Sets the midpoint of x and its neighbor toward `to`, also if that is infinite. */
__attribute__((unused)) static void
set_midpoint(mpq_t m, double x, double to)
{
	const double next = nextafter(x, to);
	mpq_t y;

	mpq_init(y);
	mpq_set_d(m, x);
	if (isfinite(next))
		mpq_set_d(y, next);
	else
	{
		mpq_set_si(y, next > 0 ? 1 : -1, 1);
		mpq_mul_2exp(y, y, 1024);
	}
	mpq_add(m, m, y);
	mpq_div_2exp(m, m, 1);
	mpq_clear(y);
}

/* Returns true if d is the double nearest to x, ties to even; `positive` excludes 0. */
__attribute__((unused)) static bool
is_nearest_of(double d, const mpq_t x, bool positive)
{
	mpq_t m;
	uint64_t bits;
	int below, above;
	bool even;

	if (isnan(d) || (d == 0 && (positive || signbit(d))))
		return false;
	mpq_init(m);
	if (isinf(d))
	{
		set_midpoint(m, d > 0 ? DBL_MAX : -DBL_MAX, d);
		below = mpq_cmp(x, m);
		mpq_clear(m);
		return d > 0 && below >= 0;
	}
	memcpy(&bits, &d, sizeof bits);
	even = bits % 2 == 0;
	set_midpoint(m, d, -HUGE_VAL);
	below = mpq_cmp(x, m);
	if (positive && d == 0x1p-1074)
		below = mpq_sgn(x);
	set_midpoint(m, d, HUGE_VAL);
	above = mpq_cmp(m, x);
	mpq_clear(m);
	return below >= 0 && above >= 0 && (even || (below > 0 && above > 0));
}

/* Returns true if d is the double nearest to x. */
__attribute__((unused)) static bool
is_nearest(double d, const mpq_t x)
{
	return is_nearest_of(d, x, false);
}

/* Returns true if d is the double above 0 that is nearest to x > 0. */
__attribute__((unused)) static bool
is_nearest_above_zero(double d, const mpq_t x)
{
	return is_nearest_of(d, x, true);
}

#endif /* IS_NEAREST_H */
