/*
 * naive.c
 *	  Predicates on rationals, in the most obvious way: see naive.h.
 */
#include "naive.h"

/* det = determinant of the rows `row` .. n - 1 of m, restricted to the columns in `columns` */
static void
det_of(mpq_t det, int n, mpq_t *m, int row, unsigned columns)
{
	mpq_t minor;
	int sign = 1;
	int c;

	if (row == n)
	{
		mpq_set_ui(det, 1, 1);
		return;
	}
	mpq_init(minor);
	mpq_set_ui(det, 0, 1);
	for (c = 0; c < n; c++)
	{
		if ((columns & (1u << c)) == 0)
			continue;
		det_of(minor, n, m, row + 1, columns & ~(1u << c));
		mpq_mul(minor, minor, m[row * n + c]);
		if (sign > 0)
			mpq_add(det, det, minor);
		else
			mpq_sub(det, det, minor);
		sign = -sign;
	}
	mpq_clear(minor);
}

int
naive_det_sign(int n, mpq_t *m)
{
	mpq_t det;
	int sign;

	mpq_init(det);
	det_of(det, n, m, 0, (1u << n) - 1);
	sign = mpq_sgn(det);
	mpq_clear(det);
	return sign;
}

/*
 * Sign of the determinant of the n rows p[i] - origin; if lifted, each row has
 * one column more, the sum of its squares.
 */
static int
sign_of_rows(int n, int dim, const double *const *p, const double *origin, int lifted)
{
	mpq_t m[16];
	mpq_t x;
	int sign;
	int i;
	int axis;

	mpq_init(x);
	for (i = 0; i < n * n; i++)
		mpq_init(m[i]);
	for (i = 0; i < n; i++)
		for (axis = 0; axis < dim; axis++)
		{
			mpq_t *cell = &m[i * n + axis];

			mpq_set_d(*cell, p[i][axis]);
			mpq_set_d(x, origin[axis]);
			mpq_sub(*cell, *cell, x);
			if (lifted)
			{
				mpq_mul(x, *cell, *cell);
				mpq_add(m[i * n + dim], m[i * n + dim], x);
			}
		}
	sign = naive_det_sign(n, m);
	for (i = 0; i < n * n; i++)
		mpq_clear(m[i]);
	mpq_clear(x);
	return sign;
}

int
naive_orient2d(const double *a, const double *b, const double *c)
{
	const double *p[2] = {b, c};

	return sign_of_rows(2, 2, p, a, 0);
}

int
naive_orient3d(const double *a, const double *b, const double *c, const double *d)
{
	const double *p[3] = {b, c, d};

	return sign_of_rows(3, 3, p, a, 0);
}

int
naive_incircle(const double *a, const double *b, const double *c, const double *d)
{
	const double *p[3] = {a, b, c};

	return sign_of_rows(3, 2, p, d, 1);
}

int
naive_insphere(const double *a, const double *b, const double *c, const double *d, const double *e)
{
	const double *p[4] = {a, b, c, d};

	return -sign_of_rows(4, 3, p, e, 1);
}
