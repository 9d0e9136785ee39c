/*
 * is_nearest.h
 *	  Tests whether a double is the one nearest to a rational number.
 */
#ifndef IS_NEAREST_H
#define IS_NEAREST_H

#include <gmp.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Returns true if d is the double nearest to x, whose midpoints with its neighbors are finite. */
__attribute__((unused)) static bool
is_nearest(double d, const mpq_t x)
{
	mpq_t m, y;
	uint64_t bits;
	bool even, good = true;

	mpq_init(m);
	mpq_init(y);
	memcpy(&bits, &d, sizeof bits);
	even = bits % 2 == 0;
	for (int way = -1; way <= 1; way += 2)
	{
		int order;

		mpq_set_d(m, d);
		mpq_set_d(y, nextafter(d, way * HUGE_VAL));
		mpq_add(m, m, y);
		mpq_div_2exp(m, m, 1);
		order = way * mpq_cmp(m, x);
		good = good && (order > 0 || (order == 0 && even));
	}
	mpq_clear(m);
	mpq_clear(y);
	return good;
}

#endif /* IS_NEAREST_H */
