/*
 * predicates.c
 *	  Computes exact signs for single use: the SQL functions redblue_orient2d, orient3d, incircle
 *	  and insphere.
 *
 * The orientations use the cascade of orient.h, and insphere that of insphere.h. Incircle
 * uses a cascade of its own: doubles with a semi-static bound, integers, intervals, GMP.
 *
 *	  incircle(a, b, c, d): 1 if d lies inside the circle through a, b, c,
 *		  -1 if outside, 0 if on it, provided that orient2d(a, b, c) = 1; the
 *		  opposite if it is -1.
 */
#include "core/exact/gmp_exact.h"
#include "core/exact/insphere.h"
#include "core/exact/interval.h"
#include "core/exact/orient.h"
#include "core/base/redblue.h"

/*
 * The semi-static bound is derived as in orient.h. A term of incircle is rounded at most 11 times
 * (squared length: a difference, which is a factor twice, product, sum: 4; minor: 2 differences,
 * product, sum: 4; product 1; sums 2); a slightly larger factor covers the roundings of the bound.
 *
 * The bound holds as long as over- and underflow are harmless. If the largest difference is in
 * [2^-100, 2^100], no product overflows, and an underflowed value is off by 2^-1075, times at most
 * three further differences and a few such terms: below 2^-760. RB_LIFTED_FLOOR outweighs that and
 * is small compared to the determinants of such points, 2^-500 and more. Other points are passed to
 * the next step.
 */
#define RB_INCIRCLE_BOUND (13 * 0x1p-53)
#define RB_LIFTED_FLOOR 0x1p-740
#define RB_LIFTED_SMALLEST 0x1p-100
#define RB_LIFTED_LARGEST 0x1p100

static const rb_exact_env every_step = {.filters = RB_FILTER_ALL, .exact = true};

int
rb_orient2d(const double a[2], const double b[2], const double c[2])
{
	rb_exact_env env = every_step;

	return rb_orient2d_at(&env, a[0], a[1], b[0], b[1], c[0], c[1]);
}

int
rb_orient3d(const double a[3], const double b[3], const double c[3], const double d[3])
{
	rb_exact_env env = every_step;

	return rb_orient3d_at(&env, a, b, c, d);
}

/* ---- incircle ---- */

/* Returns the sign of incircle by doubles with an error bound, or RB_UNSURE. */
static int
incircle_filter(const double *const *p, const double *d)
{
	double x[3], y[3];
	double largest = 0;
	double det = 0;
	double bound = 0;
	int i;

	for (i = 0; i < 3; i++)
	{
		x[i] = p[i][0] - d[0];
		y[i] = p[i][1] - d[1];
		largest = rb_max(largest, rb_max(fabs(x[i]), fabs(y[i])));
	}
	if (!(largest >= RB_LIFTED_SMALLEST && largest <= RB_LIFTED_LARGEST))
		return RB_UNSURE;
	for (i = 0; i < 3; i++)
	{
		int j = i == 2 ? 0 : i + 1;
		int k = i == 0 ? 2 : i - 1;
		double left = x[j] * y[k];
		double right = y[j] * x[k];
		double norm = x[i] * x[i] + y[i] * y[i];

		det += norm * (left - right);
		bound += norm * (fabs(left) + fabs(right));
	}
	bound = RB_INCIRCLE_BOUND * bound + RB_LIFTED_FLOOR;
	if (det > bound)
		return 1;
	if (-det > bound)
		return -1;
	return RB_UNSURE;
}

/*
 * Computes incircle for single use if all differences of coordinates are exact doubles, else
 * returns RB_UNSURE. Typical vertices on one circle, such as those of a wall's rectangle, have
 * differences with few digits.
 */
static int
incircle_by_exact_differences(const double *const *p, const double *d)
{
	double x[3], y[3];

	for (int i = 0; i < 3; i++)
	{
		double rest_x, rest_y;

		rb_two_sum(p[i][0], -d[0], &x[i], &rest_x);
		rb_two_sum(p[i][1], -d[1], &y[i], &rest_y);
		if (rest_x != 0 || rest_y != 0)
			return RB_UNSURE;
	}
	return rb_incircle_integer(x, y);
}

/* Returns the sign of incircle by interval arithmetic, or RB_UNSURE. */
static int
incircle_interval(const double *const *p, const double *d)
{
	rb_interval x[3], y[3], det;
	int i;

	for (i = 0; i < 3; i++)
	{
		x[i] = rb_interval_difference(p[i][0], d[0]);
		y[i] = rb_interval_difference(p[i][1], d[1]);
	}
	det = rb_interval_of(0);
	for (i = 0; i < 3; i++)
	{
		int j = i == 2 ? 0 : i + 1;
		int k = i == 0 ? 2 : i - 1;
		rb_interval norm =
			rb_interval_add(rb_interval_mul(x[i], x[i]), rb_interval_mul(y[i], y[i]));

		det = rb_interval_add(det, rb_interval_mul(norm, rb_interval_det2(x[j], y[j], x[k], y[k])));
	}
	return rb_interval_sign(det);
}

int
rb_incircle(const double a[2], const double b[2], const double c[2], const double d[2])
{
	const double *const p[3] = {a, b, c};
	int sign = incircle_filter(p, d);

	if (sign == RB_UNSURE)
		sign = incircle_by_exact_differences(p, d);
	if (sign == RB_UNSURE)
		sign = incircle_interval(p, d);
	return sign == RB_UNSURE ? rb_gmp_incircle(a, b, c, d) : sign;
}

int
rb_insphere(const double a[3], const double b[3], const double c[3], const double d[3],
			const double e[3])
{
	rb_exact_env env = every_step;

	return rb_insphere_at(&env, a, b, c, d, e);
}
