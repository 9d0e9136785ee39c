/*
 * gmp_predicates.c
 *	  Computes signs of determinants for all finite doubles by exact numbers (bignum.h).
 *
 * A determinant is a sum of products of differences of coordinates.
 */
#include "core/exact/gmp_exact.h"
#include "core/exact/bignum.h"

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
