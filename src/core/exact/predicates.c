/*
 * predicates.c
 *	  Exact signs for single use: the SQL functions redblue_orient2d, orient3d,
 *	  incircle and insphere.
 *
 * The orientations are rb_orient.h's cascade.  Incircle and insphere follow the
 * same idea with fewer steps: doubles with a semi-static bound, integers (incircle),
 * intervals, GMP.
 *
 *	  incircle(a, b, c, d): 1 when d lies inside the circle through a, b, c,
 *		  -1 outside, 0 on it, provided that orient2d(a, b, c) = 1; the opposite
 *		  when it is -1.
 *	  insphere(a, b, c, d, e): 1 when e lies inside the sphere through a, b, c, d,
 *		  -1 outside, 0 on it, provided that orient3d(a, b, c, d) = 1; the opposite
 *		  when it is -1.
 */
#include "core/exact/rb_gmp.h"
#include "core/exact/rb_interval.h"
#include "core/exact/rb_orient.h"
#include "core/base/redblue.h"

/*
 * Semi-static bounds as in rb_orient.h.  A term of incircle is rounded at most 11
 * times (squares: 2 differences twice in one rounding each, product, sum: 4;
 * minor: 2 differences, product, sum: 4; product 1; sums 2), of insphere 16 times
 * (norm: 2 + 1 + 2; 2x2 minor: 4; times a difference: 2; two sums; product 1;
 * two sums), and a bit more covers the roundings of the bound.
 *
 * The bounds hold while nothing under- or overflows for good.  If the largest
 * difference is in [2^-100, 2^100], no product overflows, and what underflows is
 * off by 2^-1075, times at most three further differences and a few such terms:
 * below 2^-760.  RB_LIFTED_FLOOR outweighs it and is small against the
 * determinants of such points, 2^-500 and more.  Other points go to the next
 * step.
 */
#define RB_INCIRCLE_BOUND (13 * 0x1p-53)
#define RB_INSPHERE_BOUND (18 * 0x1p-53)
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

/* real corners of one circle (a wall's rectangle) differ by numbers of few digits: exactly, then */
static int
incircle_integer(const double *const *p, const double *d)
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
		sign = incircle_integer(p, d);
	if (sign == RB_UNSURE)
		sign = incircle_interval(p, d);
	return sign == RB_UNSURE ? rb_gmp_incircle(a, b, c, d) : sign;
}

/* ---- insphere ---- */

/* of four rows: the one left out in the expansion by the last column, and the others */
static const int others[4][3] = {{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}};

static int
insphere_filter(const double *const *p, const double *e)
{
	double u[4][3];
	double largest = 0;
	double term[4];
	double size[4];
	double det, bound;
	int i, axis;

	for (i = 0; i < 4; i++)
		for (axis = 0; axis < 3; axis++)
		{
			u[i][axis] = p[i][axis] - e[axis];
			largest = rb_max(largest, fabs(u[i][axis]));
		}
	if (!(largest >= RB_LIFTED_SMALLEST && largest <= RB_LIFTED_LARGEST))
		return RB_UNSURE;
	for (i = 0; i < 4; i++)
	{
		const double *f = u[others[i][0]];
		const double *g = u[others[i][1]];
		const double *h = u[others[i][2]];
		double norm = u[i][0] * u[i][0] + u[i][1] * u[i][1] + u[i][2] * u[i][2];
		double m = f[1] * g[2], n = f[2] * g[1], q = f[2] * g[0], r = f[0] * g[2], s = f[0] * g[1],
			   t = f[1] * g[0];

		term[i] = norm * ((m - n) * h[0] + (q - r) * h[1] + (s - t) * h[2]);
		size[i] = norm * ((fabs(m) + fabs(n)) * fabs(h[0]) + (fabs(q) + fabs(r)) * fabs(h[1]) +
						  (fabs(s) + fabs(t)) * fabs(h[2]));
	}
	det = (term[0] - term[1]) + (term[2] - term[3]);
	bound = RB_INSPHERE_BOUND * ((size[0] + size[1]) + (size[2] + size[3])) + RB_LIFTED_FLOOR;
	if (det > bound)
		return 1;
	if (-det > bound)
		return -1;
	return RB_UNSURE;
}

static int
insphere_interval(const double *const *p, const double *e)
{
	rb_interval u[4][3];
	rb_interval det = rb_interval_of(0);
	int i, axis;

	for (i = 0; i < 4; i++)
		for (axis = 0; axis < 3; axis++)
			u[i][axis] = rb_interval_difference(p[i][axis], e[axis]);
	for (i = 0; i < 4; i++)
	{
		const rb_interval *f = u[others[i][0]];
		const rb_interval *g = u[others[i][1]];
		const rb_interval *h = u[others[i][2]];
		rb_interval norm = rb_interval_mul(u[i][0], u[i][0]);
		rb_interval minor = rb_interval_mul(rb_interval_det2(f[1], f[2], g[1], g[2]), h[0]);
		rb_interval term;

		for (axis = 1; axis < 3; axis++)
			norm = rb_interval_add(norm, rb_interval_mul(u[i][axis], u[i][axis]));
		minor =
			rb_interval_add(minor, rb_interval_mul(rb_interval_det2(f[2], f[0], g[2], g[0]), h[1]));
		minor =
			rb_interval_add(minor, rb_interval_mul(rb_interval_det2(f[0], f[1], g[0], g[1]), h[2]));
		term = rb_interval_mul(norm, minor);
		det = i % 2 == 0 ? rb_interval_add(det, term) : rb_interval_sub(det, term);
	}
	return rb_interval_sign(det);
}

int
rb_insphere(const double a[3], const double b[3], const double c[3], const double d[3],
			const double e[3])
{
	const double *const p[4] = {a, b, c, d};
	int sign = insphere_filter(p, e);

	if (sign == RB_UNSURE)
		sign = insphere_interval(p, e);
	return sign == RB_UNSURE ? rb_gmp_insphere(a, b, c, d, e) : sign;
}
