/*
 * gmp_signs.c
 *	  Signs of determinants for any finite doubles, by GMP's integers.
 *
 * Idea: a double is an integer times a power of two.  In units of the smallest
 * power at hand all coordinates are integers, of 2099 bits at worst; the rest is
 * sums and products, and the sign at the end is exact by construction.
 *
 * GMP's functions for numbers of growing size (mpz, mpq) ask its process-wide
 * allocator for memory, and another extension in the same server may have set
 * that to palloc, which no thread of ours may call.  So we stay on the mpn layer:
 * plain functions on limbs that lie on our stack.  mpn_mul takes its scratch
 * space from the stack at the sizes met here (170 limbs at most; the heap comes
 * into play from thousands on).  A test watches that.
 *
 * Sizes, in limbs of 64 bits: coordinate 33; difference 33; of degree k in the
 * differences: 33 k and a few bits, and a product is first written with the sum of
 * its factors' limbs.  Insphere has degree 5.
 */
#include <string.h>
#include <gmp.h>

#include "core/exact/rb_gmp.h"
#include "core/base/rb_hd.h"

#define LIMBS 176
#define LIMB_BITS 64

#if GMP_NUMB_BITS != 64
#error "gmp_signs.c needs GMP with 64-bit limbs"
#endif

/* sign and magnitude; n limbs without leading zeros, n = 0 for zero */
typedef struct big
{
	int sign; /* 1 or -1; of no meaning when n is 0 */
	mp_size_t n;
	mp_limb_t limb[LIMBS];
} big;

/* x = mantissa * 2^exponent, mantissa below 2^53 */
static void
decompose(double x, uint64_t *mantissa, int *exponent)
{
	uint64_t bits;
	int biased;

	memcpy(&bits, &x, sizeof bits);
	biased = (int) (bits >> 52) & 0x7ff;
	*mantissa = bits & (((uint64_t) 1 << 52) - 1);
	if (biased == 0)
		biased = 1;
	else
		*mantissa |= (uint64_t) 1 << 52;
	*exponent = biased - 1075;
}

/* the largest exponent such that x, y, ... (zeros aside) are multiples of 2^exponent */
static int
common_exponent(int so_far, double x)
{
	uint64_t mantissa;
	int exponent;

	if (x == 0)
		return so_far;
	decompose(x, &mantissa, &exponent);
	exponent += __builtin_ctzll(mantissa);
	return exponent < so_far ? exponent : so_far;
}

#define NO_EXPONENT 2000 /* above that of any double */

/* r = x / 2^unit, which is whole */
static void
big_of(big *r, double x, int unit)
{
	uint64_t mantissa;
	int exponent;
	int zeros;
	int shift;
	mp_size_t word;

	r->n = 0;
	r->sign = 1;
	if (x == 0)
		return;
	r->sign = x < 0 ? -1 : 1;
	decompose(x, &mantissa, &exponent);
	zeros = __builtin_ctzll(mantissa);
	mantissa >>= zeros;
	shift = exponent + zeros - unit;
	word = shift / LIMB_BITS;
	shift %= LIMB_BITS;
	memset(r->limb, 0, (size_t) word * sizeof(mp_limb_t));
	r->limb[word] = (mp_limb_t) mantissa << shift;
	r->n = word + 1;
	if (shift != 0 && (mantissa >> (LIMB_BITS - shift)) != 0)
		r->limb[r->n++] = (mp_limb_t) mantissa >> (LIMB_BITS - shift);
}

/* r = a + sign * b; r may be a or b */
static void
big_add_signed(big *r, const big *a, const big *b, int sign)
{
	const big *larger = a;
	const big *smaller = b;
	int a_sign = a->sign;
	int b_sign = b->sign * sign;
	int r_sign;
	mp_size_t n;

	if (a->n < b->n || (a->n == b->n && a->n > 0 && mpn_cmp(a->limb, b->limb, a->n) < 0))
	{
		larger = b;
		smaller = a;
	}
	r_sign = larger == a ? a_sign : b_sign;
	n = larger->n;
	if (smaller->n == 0)
	{
		if (r != larger)
			memcpy(r->limb, larger->limb, (size_t) n * sizeof(mp_limb_t));
	}
	else if (a_sign == b_sign)
	{
		mp_limb_t carry = mpn_add(r->limb, larger->limb, n, smaller->limb, smaller->n);

		if (carry != 0)
			r->limb[n++] = carry;
	}
	else
	{
		mpn_sub(r->limb, larger->limb, n, smaller->limb, smaller->n);
		while (n > 0 && r->limb[n - 1] == 0)
			n--;
	}
	r->n = n;
	r->sign = r_sign;
}

static void
big_add(big *r, const big *a, const big *b)
{
	big_add_signed(r, a, b, 1);
}

static void
big_sub(big *r, const big *a, const big *b)
{
	big_add_signed(r, a, b, -1);
}

/* r = a * b; r must be neither */
static void
big_mul(big *r, const big *a, const big *b)
{
	r->sign = a->sign * b->sign;
	r->n = 0;
	if (a->n == 0 || b->n == 0)
		return;
	if (a->n >= b->n)
		mpn_mul(r->limb, a->limb, a->n, b->limb, b->n);
	else
		mpn_mul(r->limb, b->limb, b->n, a->limb, a->n);
	r->n = a->n + b->n;
	if (r->limb[r->n - 1] == 0)
		r->n--;
}

static int
big_sign(const big *a)
{
	return a->n == 0 ? 0 : a->sign;
}

/* r = p s - q r */
static void
big_det2(big *det, const big *p, const big *q, const big *r, const big *s)
{
	big other;

	big_mul(det, p, s);
	big_mul(&other, q, r);
	big_sub(det, det, &other);
}

/* determinant of the rows u, v, w */
static void
big_det3(big *det, const big *u, const big *v, const big *w)
{
	big minor, term;

	big_det2(&minor, &u[1], &u[2], &v[1], &v[2]);
	big_mul(det, &minor, &w[0]);
	big_det2(&minor, &u[2], &u[0], &v[2], &v[0]);
	big_mul(&term, &minor, &w[1]);
	big_add(det, det, &term);
	big_det2(&minor, &u[0], &u[1], &v[0], &v[1]);
	big_mul(&term, &minor, &w[2]);
	big_add(det, det, &term);
}

/*
 * diff[i] = p[i][axis] - origin[axis] for n points, in units of 2^unit
 */
static void
differences(big *diff, size_t stride, int n, const double *const *p, const double *origin, int axis,
			int unit)
{
	big o, x;
	int i;

	big_of(&o, origin[axis], unit);
	for (i = 0; i < n; i++)
	{
		big_of(&x, p[i][axis], unit);
		big_sub(&diff[(size_t) i * stride], &x, &o);
	}
}

int
rb_gmp_orient2d(double ax, double ay, double bx, double by, double cx, double cy)
{
	const double a[2] = {ax, ay};
	const double b[2] = {bx, by};
	const double c[2] = {cx, cy};
	const double *const p[2] = {b, c};
	big diff[2][2];
	big det;
	int axis;

	/* homogeneous in each axis: each has a unit of its own */
	for (axis = 0; axis < 2; axis++)
	{
		int unit = NO_EXPONENT;

		unit = common_exponent(unit, a[axis]);
		unit = common_exponent(unit, b[axis]);
		unit = common_exponent(unit, c[axis]);
		differences(&diff[0][axis], 2, 2, p, a, axis, unit);
	}
	big_det2(&det, &diff[0][0], &diff[0][1], &diff[1][0], &diff[1][1]);
	return big_sign(&det);
}

int
rb_gmp_orient3d(const double *a, const double *b, const double *c, const double *d)
{
	const double *const p[3] = {b, c, d};
	big diff[3][3];
	big det;
	int axis;

	for (axis = 0; axis < 3; axis++)
	{
		int unit = NO_EXPONENT;

		unit = common_exponent(unit, a[axis]);
		unit = common_exponent(unit, b[axis]);
		unit = common_exponent(unit, c[axis]);
		unit = common_exponent(unit, d[axis]);
		differences(&diff[0][axis], 3, 3, p, a, axis, unit);
	}
	big_det3(&det, diff[0], diff[1], diff[2]);
	return big_sign(&det);
}

/* r = sum of squares of n numbers */
static void
big_norm(big *r, const big *x, int n)
{
	big square;
	int i;

	big_mul(r, &x[0], &x[0]);
	for (i = 1; i < n; i++)
	{
		big_mul(&square, &x[i], &x[i]);
		big_add(r, r, &square);
	}
}

/*
 * Lifted to the paraboloid: the determinant of the rows (p - d, |p - d|^2), p = a,
 * b, c, expanded by its last column.
 */
int
rb_gmp_incircle(const double *a, const double *b, const double *c, const double *d)
{
	const double *const p[3] = {a, b, c};
	big diff[3][2];
	big det, norm, minor, term;
	int unit = NO_EXPONENT;
	int axis, i;

	/* a circle ties the axes together: one unit */
	for (axis = 0; axis < 2; axis++)
	{
		unit = common_exponent(unit, d[axis]);
		for (i = 0; i < 3; i++)
			unit = common_exponent(unit, p[i][axis]);
	}
	for (axis = 0; axis < 2; axis++)
		differences(&diff[0][axis], 2, 3, p, d, axis, unit);

	det.n = 0;
	det.sign = 1;
	for (i = 0; i < 3; i++)
	{
		const big *u = diff[(i + 1) % 3];
		const big *v = diff[(i + 2) % 3];

		big_norm(&norm, diff[i], 2);
		big_det2(&minor, &u[0], &u[1], &v[0], &v[1]);
		big_mul(&term, &minor, &norm);
		big_add(&det, &det, &term);
	}
	return big_sign(&det);
}

/*
 * The determinant of the rows (p - e, |p - e|^2), p = a, b, c, d, expanded by its
 * last column: with D(ijk) that of three rows, -|a|^2 D(bcd) + |b|^2 D(acd) -
 * |c|^2 D(abd) + |d|^2 D(abc).  It is negative when e is inside and orient3d(a,
 * b, c, d) positive, so the opposite is returned.
 */
int
rb_gmp_insphere(const double *a, const double *b, const double *c, const double *d, const double *e)
{
	const double *const p[4] = {a, b, c, d};
	static const int rest[4][3] = {{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}};
	big diff[4][3];
	big det, norm, minor, term;
	int unit = NO_EXPONENT;
	int axis, i;

	for (axis = 0; axis < 3; axis++)
	{
		unit = common_exponent(unit, e[axis]);
		for (i = 0; i < 4; i++)
			unit = common_exponent(unit, p[i][axis]);
	}
	for (axis = 0; axis < 3; axis++)
		differences(&diff[0][axis], 3, 4, p, e, axis, unit);

	det.n = 0;
	det.sign = 1;
	for (i = 0; i < 4; i++)
	{
		big_norm(&norm, diff[i], 3);
		big_det3(&minor, diff[rest[i][0]], diff[rest[i][1]], diff[rest[i][2]]);
		big_mul(&term, &minor, &norm);
		big_add_signed(&det, &det, &term, i % 2 == 0 ? 1 : -1);
	}
	return big_sign(&det);
}
