/*
 * gmp_signs.c
 *	  Signs of determinants for any finite doubles, by GMP's integers.
 *
 * In units of the smallest power of two at hand all coordinates are integers
 * (rb_big.h); a determinant is sums and products of them.  Insphere has degree 5.
 */
#include "core/exact/rb_gmp.h"

#define RB_BIG_LIMBS 176
#include "core/exact/rb_big.h"

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
