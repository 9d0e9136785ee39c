/*
 * integer.h
 *	  Computes exact signs by fixed-width integers.
 *
 * Real degenerate data (shared walls, lattices, coordinates of one magnitude) has a coarse common
 * grid: along one axis all coordinates of the few points are multiples of one power of two, which
 * is at most 2^60 times smaller than the largest coordinate. The coordinates are then 60-bit
 * integers in that unit, and the determinant is an integer of 192 bits. Orient3d is homogeneous in
 * each axis, so each axis has its own unit.
 *
 * Coordinates are converted, not their differences, so a difference may need 54 bits.
 *
 * The cost is a few dozen multiplications, without loops and with no data-dependent branch except
 * the range checks. Doubles have 53 bits, so the coordinates fit whenever their magnitudes, zeros
 * aside, lie within a factor of 2^7, and often beyond.
 */
#ifndef RB_EXACT_INTEGER_H
#define RB_EXACT_INTEGER_H

#include "core/base/host_device.h"

__extension__ typedef unsigned __int128 rb_uint128;

__extension__ typedef __int128 rb_int128;

/* Returns the biased exponent of a double: 0 for zero and denormals, 2047 for infinity and NaN. */
RB_HOST_DEVICE int
rb_exponent(double x)
{
	union
	{
		double d;
		uint64_t u;
	} v;

	v.d = x;
	return (int) (v.u >> 52) & 0x7ff;
}

/* Returns 2^(biased - 1023), for 1 <= biased <= 2046. */
RB_HOST_DEVICE double
rb_power(int biased)
{
	union
	{
		double d;
		uint64_t u;
	} v;

	v.u = (uint64_t) biased << 52;
	return v.d;
}

/*
 * Computes a unit for numbers up to `largest` in magnitude: multiplied by scale they are below
 * 2^60, and unit = 1 / scale. Returns false if these are not normal doubles.
 */
RB_HOST_DEVICE bool
rb_integer_unit(double largest, double *scale, double *unit)
{
	int e = rb_exponent(largest);

	if (e < 60 || e > 2046)
		return false;
	*scale = rb_power(2105 - e);
	*unit = rb_power(e - 59);
	return true;
}

/*
 * Converts x to a unit of rb_integer_unit. Returns false if x is not an integer multiple of it.
 * Multiplying back tests this: n has at most 53 significant bits, so n * unit is exact. The test
 * also detects an x so small that x
 * * scale underflowed.
 */
RB_HOST_DEVICE bool
rb_integer_of(double x, double scale, double unit, int64_t *n)
{
	*n = (int64_t) (x * scale);
	return (double) *n * unit == x;
}

/* Returns the number that is larger in magnitude. */
RB_HOST_DEVICE double
rb_larger(double x, double y)
{
	return fabs(x) > fabs(y) ? x : y;
}

/*
 * Computes b - a, c - a, d - a along one axis, below 2^61 in magnitude. Returns false if there is
 * no common unit.
 */
RB_HOST_DEVICE bool
rb_integer_axis3(double a, double b, double c, double d, int64_t *u, int64_t *v, int64_t *w)
{
	double scale, unit;
	int64_t p, q, r, s;

	if (!rb_integer_unit(rb_larger(rb_larger(a, b), rb_larger(c, d)), &scale, &unit))
		return false;
	if (!(rb_integer_of(a, scale, unit, &p) && rb_integer_of(b, scale, unit, &q) &&
		  rb_integer_of(c, scale, unit, &r) && rb_integer_of(d, scale, unit, &s)))
		return false;
	*u = q - p;
	*v = r - p;
	*w = s - p;
	return true;
}

/* Computes b - a and c - a along one axis. Returns false if there is no common unit. */
RB_HOST_DEVICE bool
rb_integer_axis2(double a, double b, double c, int64_t *u, int64_t *v)
{
	double scale, unit;
	int64_t p, q, r;

	if (!rb_integer_unit(rb_larger(a, rb_larger(b, c)), &scale, &unit))
		return false;
	if (!(rb_integer_of(a, scale, unit, &p) && rb_integer_of(b, scale, unit, &q) &&
		  rb_integer_of(c, scale, unit, &r)))
		return false;
	*u = q - p;
	*v = r - p;
	return true;
}

/* Returns p s - q r, below 2^123 in magnitude. */
RB_HOST_DEVICE rb_int128
rb_integer_det2(int64_t p, int64_t q, int64_t r, int64_t s)
{
	return (rb_int128) p * s - (rb_int128) q * r;
}

/*
 * Adds m * z to (high * 2^64 + low). With m = h 2^64 + l, |h| < 2^60, 0 <= l < 2^64 and |z| < 2^61,
 * three such terms stay below 2^123 in high and below 3 * 2^125 < 2^127 in low.
 */
RB_HOST_DEVICE void
rb_integer_add_product(rb_int128 m, int64_t z, rb_int128 *high, rb_int128 *low)
{
	int64_t h = (int64_t) (m >> 64);
	uint64_t l = (uint64_t) m;

	*high += (rb_int128) h * z;
	*low += (rb_int128) l * z;
}

/* Returns the sign of (b-a) x (c-a) . (d-a), or RB_UNSURE if an axis has no common unit. */
RB_HOST_DEVICE int
rb_orient3d_integer(const double *a, const double *b, const double *c, const double *d)
{
	int64_t u[3], v[3], w[3];
	rb_int128 high = 0, low = 0;
	int i;

	for (i = 0; i < 3; i++)
		if (!rb_integer_axis3(a[i], b[i], c[i], d[i], &u[i], &v[i], &w[i]))
			return RB_UNSURE;

	rb_integer_add_product(rb_integer_det2(u[1], u[2], v[1], v[2]), w[0], &high, &low);
	rb_integer_add_product(rb_integer_det2(u[2], u[0], v[2], v[0]), w[1], &high, &low);
	rb_integer_add_product(rb_integer_det2(u[0], u[1], v[0], v[1]), w[2], &high, &low);

	high += low >> 64;
	if (high != 0)
		return high > 0 ? 1 : -1;
	return (uint64_t) low != 0;
}

/* Returns the sign of (b-a) x (c-a), or RB_UNSURE if an axis has no common unit. */
RB_HOST_DEVICE int
rb_orient2d_integer(double ax, double ay, double bx, double by, double cx, double cy)
{
	int64_t ux, uy, vx, vy;
	rb_int128 det;

	if (!rb_integer_axis2(ax, bx, cx, &ux, &vx) || !rb_integer_axis2(ay, by, cy, &uy, &vy))
		return RB_UNSURE;
	det = rb_integer_det2(ux, uy, vx, vy);
	return (det > 0) - (det < 0);
}

#ifndef __CUDACC__

/* A 256-bit integer high * 2^128 + low in two's complement, with the sign of high */
typedef struct rb_int256
{
	rb_int128 high;
	unsigned __int128 low;
} rb_int256;

/* Adds a * b to the sum, where |a| < 2^124 and 0 <= b < 2^124. */
static inline void
rb_int256_add_product(rb_int256 *sum, rb_int128 a, rb_int128 b)
{
	typedef unsigned __int128 u128;
	u128 x = a < 0 ? -(u128) a : (u128) a, y = (u128) b;
	uint64_t x0 = (uint64_t) x, x1 = (uint64_t) (x >> 64);
	uint64_t y0 = (uint64_t) y, y1 = (uint64_t) (y >> 64);
	u128 low = (u128) x0 * y0;
	u128 middle = (u128) x1 * y0 + (low >> 64); /* below 2^124 + 2^64 */
	u128 high = (u128) x1 * y1;
	u128 other = (u128) x0 * y1 + (uint64_t) middle;

	low = (u128) (uint64_t) low | other << 64;
	high += (middle >> 64) + (other >> 64);
	if (a < 0)
	{
		high = ~high + (low == 0);
		low = -low;
	}
	sum->low += low;
	sum->high = (rb_int128) ((u128) sum->high + high + (sum->low < low));
}

/*
 * Returns the sign of the determinant of the rows (x[i], y[i], x[i]^2 + y[i]^2), converted to
 * integers, or RB_UNSURE if there is no common unit. Both axes share the unit, because the norm
 * mixes them. Below 2^60, minors and norms are below 2^121, and the sum of three products is below
 * 2^244.
 */
static inline int
rb_incircle_integer(const double *x, const double *y)
{
	double largest = 0, scale, unit;
	int64_t p[3], q[3];
	rb_int256 sum = {0, 0};

	for (int i = 0; i < 3; i++)
		largest = rb_larger(largest, rb_larger(x[i], y[i]));
	if (!rb_integer_unit(largest, &scale, &unit))
		return RB_UNSURE;
	for (int i = 0; i < 3; i++)
		if (!rb_integer_of(x[i], scale, unit, &p[i]) || !rb_integer_of(y[i], scale, unit, &q[i]))
			return RB_UNSURE;
	for (int i = 0; i < 3; i++)
	{
		int j = i == 2 ? 0 : i + 1;
		int k = i == 0 ? 2 : i - 1;

		rb_int256_add_product(&sum, rb_integer_det2(p[j], q[j], p[k], q[k]),
							  (rb_int128) p[i] * p[i] + (rb_int128) q[i] * q[i]);
	}
	if (sum.high < 0)
		return -1;
	return sum.high > 0 || sum.low > 0;
}

#endif

#endif /* RB_EXACT_INTEGER_H */
