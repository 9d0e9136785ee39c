/*
 * expansion.h
 *	  Computes exact signs by expansion arithmetic, in scratch memory of fixed size.
 *
 * An expansion is a sum of nonoverlapping doubles, smallest first, without zeros; the empty
 * expansion is 0. Sums and products of expansions are exact: the rounding error of an addition or a
 * multiplication of doubles is itself a double and becomes one more component. The sign of an
 * expansion is that of its last component. J. R. Shewchuk: Adaptive Precision Floating-Point
 * Arithmetic and Fast Robust Geometric Predicates, 1997.
 *
 * Adaptive stages are not needed: the input has failed the filters, and dropping zero components
 * keeps easy cases short. A difference has up to 2 components, a product of two differences 8, a
 * 2x2 minor 16, a minor times a difference 64, the determinant 192.
 *
 * The results are exact as long as no product over- or underflows. That holds if each coordinate is
 * 0 or 2^-300 <= |x| < 2^300: all coordinates are then multiples of 2^-352, and products of three
 * are multiples of 2^-1056, which is above the smallest denormal; and no value reaches 2^910.
 * rb_expansion_fits checks the range.
 *
 * The caller provides the scratch memory, `room`: on the host a few kilobytes of its stack, on a
 * device memory that the join allocates when a pair needs it. A kernel's own stack would be
 * reserved for every thread that the device can hold, for the lifetime of the process: at 3 kB each
 * that is most of a gigabyte.
 */
#ifndef RB_EXACT_EXPANSION_H
#define RB_EXACT_EXPANSION_H

#include "core/base/host_device.h"
#include "core/exact/integer.h"

#include <string.h>

/*
 * Number of threads of a warp. Their scratch memory is interleaved on a device, so that they read
 * one cache line together.
 */
#define RB_WARP 32
#ifdef __CUDA_ARCH__
#define RB_AT(i) ((i) *RB_WARP)
#else
#define RB_AT(i) (i)
#endif

/* Offsets of arrays in the scratch memory, in doubles */
enum
{
	RB_ROOM_DIFFERENCE = 0,
	RB_ROOM_MINOR = RB_ROOM_DIFFERENCE + 18,
	RB_ROOM_TERM = RB_ROOM_MINOR + 16,
	RB_ROOM_FIRST = RB_ROOM_TERM + 64,
	RB_ROOM_BOTH = RB_ROOM_FIRST + 64,
	RB_ROOM_LEFT = RB_ROOM_BOTH + 128, /* products in a minor */
	RB_ROOM_RIGHT = RB_ROOM_LEFT + 8,
	RB_ROOM_LOW = RB_ROOM_RIGHT + 8, /* partial products */
	RB_ROOM_HIGH = RB_ROOM_LOW + 32,
	RB_EXPANSION_ROOM = RB_ROOM_HIGH + 32
};

/*
 * Returns true if x is 0 or its exponent is in the range in which expansions of products are exact.
 */
RB_HOST_DEVICE bool
rb_expansion_fits(double x)
{
	int e = rb_exponent(x);

	return (e >= 1023 - 300 && e < 1023 + 300) || x == 0;
}

/* Computes s + r = a + b exactly; s is the rounded sum. */
RB_HOST_DEVICE void
rb_two_sum(double a, double b, double *s, double *r)
{
	double x = a + b;
	double v = x - a;

	*r = (a - (x - v)) + (b - v);
	*s = x;
}

/* Computes s + r = a + b exactly, where |a| >= |b| or a = 0; s is the rounded sum. */
RB_HOST_DEVICE void
rb_two_sum_ordered(double a, double b, double *s, double *r)
{
	double x = a + b;

	*r = b - (x - a);
	*s = x;
}

#if !defined(__CUDA_ARCH__) && !defined(__FP_FAST_FMA)
/* Splits a into the upper and the lower half of its digits (Veltkamp). */
RB_HOST_DEVICE void
rb_split(double a, double *high, double *low)
{
	double c = 134217729.0 * a; /* 2^27 + 1 */

	*high = c - (c - a);
	*low = a - *high;
}
#endif

/* Computes p + r = a * b exactly; p is the rounded product. */
RB_HOST_DEVICE void
rb_two_product(double a, double b, double *p, double *r)
{
#if defined(__CUDA_ARCH__)
	double x = __dmul_rn(a, b);

	*r = __fma_rn(a, b, -x);
	*p = x;
#elif defined(__FP_FAST_FMA)
	double x = a * b;

	*r = __builtin_fma(a, b, -x);
	*p = x;
#else
	/* Without the FMA instruction, fma() is a slow library call; Dekker's product is faster. */
	double x = a * b;
	double ah, al, bh, bl;

	rb_split(a, &ah, &al);
	rb_split(b, &bh, &bl);
	*r = al * bl - (((x - ah * bh) - al * bh) - ah * bl);
	*p = x;
#endif
}

/* Sets h = a - b; up to 2 components. Returns their number. */
RB_HOST_DEVICE int
rb_expansion_difference(double a, double b, double *h)
{
	double s, r;
	int n = 0;

	rb_two_sum(a, -b, &s, &r);
	if (r != 0)
		h[RB_AT(n++)] = r;
	if (s != 0)
		h[RB_AT(n++)] = s;
	return n;
}

/*
 * Sets h = e + f and returns the number of components, up to ne + nf. Merges by magnitude, carries
 * the sum upward and leaves the errors behind. h must be another array; if it is NULL, returns only
 * the sign of the sum.
 */
RB_HOST_DEVICE_CALL int
rb_expansion_sum(int ne, const double *e, int nf, const double *f, double *h)
{
	double q = 0;
	double last = 0;
	int i = 0, j = 0, n = 0;

	while (i < ne || j < nf)
	{
		double next;
		double r;

		if (j == nf || (i < ne && fabs(e[RB_AT(i)]) < fabs(f[RB_AT(j)])))
			next = e[RB_AT(i++)];
		else
			next = f[RB_AT(j++)];
		rb_two_sum(q, next, &q, &r);
		if (r != 0)
		{
			last = r;
			if (h != NULL)
				h[RB_AT(n++)] = r;
		}
	}
	if (q != 0)
	{
		last = q;
		if (h != NULL)
			h[RB_AT(n++)] = q;
	}
	return h != NULL ? n : (last > 0) - (last < 0);
}

/* Sets h = e * b; up to 2 n components. Returns their number. */
RB_HOST_DEVICE_CALL int
rb_expansion_scale(int n, const double *e, double b, double *h)
{
	double q = 0;
	int i, m = 0;

	for (i = 0; i < n; i++)
	{
		double p, t, s, r;

		rb_two_product(e[RB_AT(i)], b, &p, &t);
		rb_two_sum(q, t, &s, &r);
		if (r != 0)
			h[RB_AT(m++)] = r;
		rb_two_sum_ordered(p, s, &q, &r);
		if (r != 0)
			h[RB_AT(m++)] = r;
	}
	if (q != 0)
		h[RB_AT(m++)] = q;
	return m;
}

/* Sets h = e * f, where f has up to 2 components and e up to 16; up to 4 ne components. */
RB_HOST_DEVICE int
rb_expansion_times_difference(int ne, const double *e, int nf, const double *f, double *h,
							  double *room)
{
	double *low = room + RB_AT(RB_ROOM_LOW), *high = room + RB_AT(RB_ROOM_HIGH);
	int nlow, nhigh;

	if (nf == 0)
		return 0;
	if (nf == 1)
		return rb_expansion_scale(ne, e, f[0], h);
	nlow = rb_expansion_scale(ne, e, f[0], low);
	nhigh = rb_expansion_scale(ne, e, f[RB_AT(1)], high);
	return rb_expansion_sum(nlow, low, nhigh, high, h);
}

/* Sets h = p s - q r of differences; up to 16 components. */
RB_HOST_DEVICE int
rb_expansion_det2(int np, const double *p, int nq, const double *q, int nr, const double *r, int ns,
				  const double *s, double *h, double *room)
{
	double *left = room + RB_AT(RB_ROOM_LEFT), *right = room + RB_AT(RB_ROOM_RIGHT);
	int nleft = rb_expansion_times_difference(np, p, ns, s, left, room);
	int nright = rb_expansion_times_difference(nq, q, nr, r, right, room);
	int i;

	for (i = 0; i < nright; i++)
		right[RB_AT(i)] = -right[RB_AT(i)];
	return rb_expansion_sum(nleft, left, nright, right, h);
}

/*
 * Returns the sign of (b-a) x (c-a) . (d-a), or RB_UNSURE if a coordinate is out of range. room has
 * RB_EXPANSION_ROOM doubles, on a device RB_AT(RB_EXPANSION_ROOM).
 */
RB_HOST_DEVICE_CALL int
rb_orient3d_expansion(const double *a, const double *b, const double *c, const double *d,
					  double *room)
{
	/* differences by axis and point; the loop takes the axes cyclically */
	double *u[3][3];
	int n[3][3];
	double *minor = room + RB_AT(RB_ROOM_MINOR), *term = room + RB_AT(RB_ROOM_TERM);
	double *first = room + RB_AT(RB_ROOM_FIRST), *both = room + RB_AT(RB_ROOM_BOTH);
	int nminor, nterm, nfirst = 0, nboth = 0;
	int i;

	for (i = 0; i < 3; i++)
	{
		if (!(rb_expansion_fits(a[i]) && rb_expansion_fits(b[i]) && rb_expansion_fits(c[i]) &&
			  rb_expansion_fits(d[i])))
			return RB_UNSURE;
		u[i][0] = room + RB_AT(RB_ROOM_DIFFERENCE + 6 * i);
		u[i][1] = room + RB_AT(RB_ROOM_DIFFERENCE + 6 * i + 2);
		u[i][2] = room + RB_AT(RB_ROOM_DIFFERENCE + 6 * i + 4);
		n[i][0] = rb_expansion_difference(b[i], a[i], u[i][0]);
		n[i][1] = rb_expansion_difference(c[i], a[i], u[i][1]);
		n[i][2] = rb_expansion_difference(d[i], a[i], u[i][2]);
	}

	for (i = 0; i < 3; i++)
	{
		int y = i == 2 ? 0 : i + 1;
		int z = i == 0 ? 2 : i - 1;

		nminor = rb_expansion_det2(n[y][0], u[y][0], n[z][0], u[z][0], n[y][1], u[y][1], n[z][1],
								   u[z][1], minor, room);
		nterm = rb_expansion_times_difference(nminor, minor, n[i][2], u[i][2],
											  i == 0 ? first : term, room);
		if (i == 0)
			nfirst = nterm;
		else if (i == 1)
			nboth = rb_expansion_sum(nfirst, first, nterm, term, both);
	}
	return rb_expansion_sum(nboth, both, nterm, term, NULL);
}

/*
 * Returns the sign of (b-a) x (c-a), or RB_UNSURE if a coordinate is out of range. room is that of
 * rb_orient3d_expansion.
 */
RB_HOST_DEVICE_CALL int
rb_orient2d_expansion(double ax, double ay, double bx, double by, double cx, double cy,
					  double *room)
{
	double *ux = room + RB_AT(RB_ROOM_DIFFERENCE), *uy = room + RB_AT(RB_ROOM_DIFFERENCE + 2);
	double *vx = room + RB_AT(RB_ROOM_DIFFERENCE + 4), *vy = room + RB_AT(RB_ROOM_DIFFERENCE + 6);
	double *det = room + RB_AT(RB_ROOM_MINOR);
	int nux, nuy, nvx, nvy, n;

	if (!(rb_expansion_fits(ax) && rb_expansion_fits(ay) && rb_expansion_fits(bx) &&
		  rb_expansion_fits(by) && rb_expansion_fits(cx) && rb_expansion_fits(cy)))
		return RB_UNSURE;
	nux = rb_expansion_difference(bx, ax, ux);
	nuy = rb_expansion_difference(by, ay, uy);
	nvx = rb_expansion_difference(cx, ax, vx);
	nvy = rb_expansion_difference(cy, ay, vy);
	n = rb_expansion_det2(nux, ux, nuy, uy, nvx, vx, nvy, vy, det, room);
	return n == 0 ? 0 : det[RB_AT(n - 1)] > 0 ? 1 : -1;
}

/* ---- long accumulator ---- */

/*
 * Computes exact sums of products of doubles with Kulisch's long accumulator.
 *
 * A product of two doubles is an integer of 106 bits times a power of two, and all possible powers
 * span 4200 bits. The accumulator is one fixed-point number wide enough for all of them; adding a
 * product touches three words and the carries. Positive and negative terms are summed separately,
 * so that no borrow runs through all words at every change of sign.
 *
 * U. Kulisch: Computer Arithmetic and Validity, 2008.
 */

/*
 * Bit 0 represents 2^-2148; products end below bit 4197, and sums of 2^32 products below bit 4229.
 */
#define RB_ACCUMULATOR_WORDS 68

typedef struct rb_accumulator
{
	uint64_t plus[RB_ACCUMULATOR_WORDS];
	uint64_t minus[RB_ACCUMULATOR_WORDS];
} rb_accumulator;

/* Returns the mantissa of |x| = mantissa * 2^(shift - 1074), and sets *shift. */
static inline uint64_t
rb_accumulator_mantissa(double x, int *shift)
{
	uint64_t bits;
	int biased = rb_exponent(x);

	memcpy(&bits, &x, sizeof bits);
	bits &= ((uint64_t) 1 << 52) - 1;
	*shift = biased > 0 ? biased - 1 : 0;
	return biased > 0 ? bits | (uint64_t) 1 << 52 : bits;
}

/* Adds a * b to the sum. */
static inline void
rb_accumulator_add(rb_accumulator *sum, double a, double b)
{
	int a_shift, b_shift;
	rb_uint128 product =
		(rb_uint128) rb_accumulator_mantissa(a, &a_shift) * rb_accumulator_mantissa(b, &b_shift);
	uint64_t *to = (a < 0) == (b < 0) ? sum->plus : sum->minus;
	int shift = a_shift + b_shift;
	int bits = shift % 64;
	uint64_t word[3];
	uint64_t carry = 0;

	if (product == 0)
		return;
	to += shift / 64;
	word[0] = (uint64_t) product << bits;
	word[1] = (uint64_t) (product >> (64 - bits));
	word[2] = bits > 0 ? (uint64_t) (product >> 64) >> (64 - bits) : 0;
	for (int i = 0; i < 3 || carry != 0; i++)
	{
		rb_uint128 s = (rb_uint128) to[i] + (i < 3 ? word[i] : 0) + carry;

		to[i] = (uint64_t) s;
		carry = (uint64_t) (s >> 64);
	}
}

/* Compares two accumulators' words as unsigned integers: -1, 0 or 1. */
static inline int
rb_accumulator_compare_words(const uint64_t *a, const uint64_t *b)
{
	for (int i = RB_ACCUMULATOR_WORDS - 1; i >= 0; i--)
		if (a[i] != b[i])
			return a[i] > b[i] ? 1 : -1;
	return 0;
}

/* Returns the sign of the sum. */
static inline int
rb_accumulator_sign(const rb_accumulator *sum)
{
	return rb_accumulator_compare_words(sum->plus, sum->minus);
}

/* Computes the words of |sum|. */
static inline void
rb_accumulator_magnitude(const rb_accumulator *sum, uint64_t *to)
{
	bool negative = rb_accumulator_sign(sum) < 0;
	const uint64_t *larger = negative ? sum->minus : sum->plus;
	const uint64_t *smaller = negative ? sum->plus : sum->minus;
	uint64_t borrow = 0;

	for (int i = 0; i < RB_ACCUMULATOR_WORDS; i++)
	{
		rb_uint128 d = (rb_uint128) larger[i] - smaller[i] - borrow;

		to[i] = (uint64_t) d;
		borrow = (uint64_t) (d >> 64) & 1;
	}
}

/* Returns the sign of |a| - |b|. */
static inline int
rb_accumulator_compare(const rb_accumulator *a, const rb_accumulator *b)
{
	uint64_t x[RB_ACCUMULATOR_WORDS], y[RB_ACCUMULATOR_WORDS];

	rb_accumulator_magnitude(a, x);
	rb_accumulator_magnitude(b, y);
	return rb_accumulator_compare_words(x, y);
}

#endif /* RB_EXACT_EXPANSION_H */
