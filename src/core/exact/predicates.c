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
#include "core/exact/bignum.h"

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

/*
 * ---- signs for all finite doubles by exact numbers ----
 *
 * A determinant is a sum of products of differences of coordinates.
 */

/* insphere has degree 5: the product of |p|^2 and a determinant of three rows */
_Static_assert(RB_NUMBER_DEGREE(2, 2) + RB_NUMBER_DEGREE(3, 3) <= RB_NUMBER_WORDS &&
				   RB_NUMBER_DEGREE(5, 8) + 1 <= RB_NUMBER_WORDS,
			   "room for insphere");

/*
 * Computes the exact difference of a point and the origin of a determinant, in the given number of
 * dimensions.
 */
static void
subtract_points_exactly(rb_number *diff, const double *p, const double *origin, int dims)
{
	for (int a = 0; a < dims; a++)
		rb_number_difference(&diff[a], p[a], origin[a]);
}

/*
 * Computes the determinant of the rows u, v, w, to which orient3d and insphere of any doubles are
 * reduced.
 */
static void
compute_predicate_det3(rb_number *det, const rb_number *u, const rb_number *v, const rb_number *w)
{
	rb_number minor[3];

	rb_number_det2(&minor[0], &u[1], &u[2], &v[1], &v[2]);
	rb_number_det2(&minor[1], &u[2], &u[0], &v[2], &v[0]);
	rb_number_det2(&minor[2], &u[0], &u[1], &v[0], &v[1]);
	rb_number_dot3(det, minor, w);
}

int
rb_gmp_orient2d(double ax, double ay, double bx, double by, double cx, double cy)
{
	const double a[2] = {ax, ay}, b[2] = {bx, by}, c[2] = {cx, cy};
	rb_number det;

	rb_number_orient2d(&det, a, b, c);
	return det.sign;
}

int
rb_gmp_orient3d(const double *a, const double *b, const double *c, const double *d)
{
	rb_number det;

	rb_number_orient3d(&det, a, b, c, d);
	return det.sign;
}

/*
 * Computes the determinant of the points lifted to the paraboloid: the rows (p - d, |p - d|^2) for
 * p = a, b, c, expanded along the last column.
 */
int
rb_gmp_incircle(const double *a, const double *b, const double *c, const double *d)
{
	const double *const p[3] = {a, b, c};
	rb_number diff[3][2], det, norm, minor, term;

	for (int i = 0; i < 3; i++)
		subtract_points_exactly(diff[i], p[i], d, 2);
	rb_number_of(&det, 0);
	for (int i = 0; i < 3; i++)
	{
		const rb_number *u = diff[(i + 1) % 3];
		const rb_number *v = diff[(i + 2) % 3];

		rb_number_mul(&norm, &diff[i][0], &diff[i][0]);
		rb_number_mul(&term, &diff[i][1], &diff[i][1]);
		rb_number_add(&norm, &norm, &term);
		rb_number_det2(&minor, &u[0], &u[1], &v[0], &v[1]);
		rb_number_mul(&term, &minor, &norm);
		rb_number_add(&det, &det, &term);
	}
	return det.sign;
}

/*
 * Computes the determinant of the rows (p - e, |p - e|^2) for p = a, b, c, d, expanded along the
 * last column: with D(ijk) the determinant of three rows, -|a|^2 D(bcd) + |b|^2 D(acd) - |c|^2
 * D(abd) + |d|^2 D(abc). It is negative if e is inside and orient3d(a, b, c, d) is positive, so the
 * opposite sign is returned.
 */
int
rb_gmp_insphere(const double *a, const double *b, const double *c, const double *d, const double *e)
{
	const double *const p[4] = {a, b, c, d};
	static const int rest[4][3] = {{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}};
	rb_number diff[4][3], det, norm, minor, term;

	for (int i = 0; i < 4; i++)
		subtract_points_exactly(diff[i], p[i], e, 3);
	rb_number_of(&det, 0);
	for (int i = 0; i < 4; i++)
	{
		rb_number_dot3(&norm, diff[i], diff[i]);
		compute_predicate_det3(&minor, diff[rest[i][0]], diff[rest[i][1]], diff[rest[i][2]]);
		rb_number_mul(&term, &minor, &norm);
		if (i % 2 == 0)
			rb_number_add(&det, &det, &term);
		else
			rb_number_sub(&det, &det, &term);
	}
	return det.sign;
}
