/*
 * naive.c
 *	  Implements predicates on rationals in the most straightforward way (naive.h).
 */
#include "naive.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/*
 * Computes the determinant of the rows `row` .. n - 1 of m, restricted to the columns in `columns`.
 */
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
 * Returns the sign of the determinant of the n rows p[i] - origin. If lifted, each row has an
 * additional column, the sum of its squares.
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

/*
 * Two convex hulls meet if the origin is in the hull of all differences p - q. By Caratheodory's
 * theorem it is then in the hull of at most four affinely independent ones. All subsets are tried,
 * and the weights are computed in rationals.
 */

/*
 * Returns true if the k differences have unique weights that sum to 1 and give the origin, none of
 * which is negative.
 */
static bool
origin_in_simplex(const int *pick, int k, mpq_t (*d)[3])
{
	mpq_t m[4][5], f, t;
	bool inside = true;
	int row = 0;

	mpq_inits(f, t, NULL);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j <= k; j++)
		{
			mpq_init(m[i][j]);
			if (j == k)
				mpq_set_si(m[i][j], i == 3, 1);
			else if (i == 3)
				mpq_set_si(m[i][j], 1, 1);
			else
				mpq_set(m[i][j], d[pick[j]][i]);
		}
	for (int j = 0; j < k && inside; j++)
	{
		int pivot = row;

		while (pivot < 4 && mpq_sgn(m[pivot][j]) == 0)
			pivot++;
		if (pivot == 4)
		{
			inside = false; /* Affinely dependent: a smaller subset suffices */
			break;
		}
		for (int x = 0; x <= k; x++)
			mpq_swap(m[pivot][x], m[row][x]);
		for (int i = 0; i < 4; i++)
			if (i != row && mpq_sgn(m[i][j]) != 0)
			{
				mpq_div(f, m[i][j], m[row][j]);
				for (int x = j; x <= k; x++)
				{
					mpq_mul(t, f, m[row][x]);
					mpq_sub(m[i][x], m[i][x], t);
				}
			}
		row++;
	}
	for (int i = 0; i < 4 && inside; i++)
		if (i >= k)
			inside = mpq_sgn(m[i][k]) == 0;
		else
			inside = mpq_sgn(m[i][k]) * mpq_sgn(m[i][i]) >= 0;
	for (int i = 0; i < 4; i++)
		for (int j = 0; j <= k; j++)
			mpq_clear(m[i][j]);
	mpq_clears(f, t, NULL);
	return inside;
}

bool
naive_hulls_meet_by_subsets(const double *p, int np, const double *q, int nq, int dims)
{
	mpq_t d[9][3], x;
	int n = np * nq;
	bool found = false;

	mpq_init(x);
	for (int i = 0; i < n; i++)
		for (int a = 0; a < 3; a++)
		{
			mpq_init(d[i][a]);
			if (a >= dims)
				continue;
			mpq_set_d(d[i][a], p[dims * (i / nq) + a]);
			mpq_set_d(x, q[dims * (i % nq) + a]);
			mpq_sub(d[i][a], d[i][a], x);
		}
	for (int mask = 1; mask < 1 << n && !found; mask++)
	{
		int pick[9], k = 0;

		for (int i = 0; i < n; i++)
			if (mask >> i & 1)
				pick[k++] = i;
		if (k <= 4)
			found = origin_in_simplex(pick, k, d);
	}
	for (int i = 0; i < n; i++)
		for (int a = 0; a < 3; a++)
			mpq_clear(d[i][a]);
	mpq_clear(x);
	return found;
}

/*
 * How two hulls meet. The weights for which both hulls give the same point form a polytope. Its
 * vertices are the solutions in which as many weights as possible are 0, that is, those of each set
 * of weights that determines them. The intersection of the hulls is the hull of the points of these
 * vertices. A point is in a relative interior if all weights are positive. All can be positive if
 * each is positive at some vertex, because they then are positive at the mean of the vertices.
 */

/*
 * Solves for weights of the k columns with m a = last column, and stores them there. Returns true
 * if they are unique and none is negative.
 */
static bool
solved(int rows, int k, mpq_t (*m)[7])
{
	mpq_t f, t;
	bool good = true;

	mpq_inits(f, t, NULL);
	for (int j = 0; j < k && good; j++)
	{
		int pivot = j;

		while (pivot < rows && mpq_sgn(m[pivot][j]) == 0)
			pivot++;
		good = pivot < rows;
		if (!good)
			break;
		for (int x = 0; x <= k; x++)
			mpq_swap(m[pivot][x], m[j][x]);
		for (int i = 0; i < rows; i++)
			if (i != j && mpq_sgn(m[i][j]) != 0)
			{
				mpq_div(f, m[i][j], m[j][j]);
				for (int x = j; x <= k; x++)
				{
					mpq_mul(t, f, m[j][x]);
					mpq_sub(m[i][x], m[i][x], t);
				}
			}
	}
	for (int i = 0; i < rows && good; i++)
		if (i >= k)
			good = mpq_sgn(m[i][k]) == 0;
		else
		{
			mpq_div(m[i][k], m[i][k], m[i][i]);
			good = mpq_sgn(m[i][k]) >= 0;
		}
	mpq_clears(f, t, NULL);
	return good;
}

/* Returns the rank of n rows of four numbers, which are overwritten. */
static int
rank_of_rows(int n, mpq_t (*row)[4])
{
	mpq_t f, t;
	int rank = 0;

	mpq_inits(f, t, NULL);
	for (int c = 0; c < 4; c++)
	{
		int pivot = rank;

		while (pivot < n && mpq_sgn(row[pivot][c]) == 0)
			pivot++;
		if (pivot == n)
			continue;
		for (int x = 0; x < 4; x++)
			mpq_swap(row[pivot][x], row[rank][x]);
		for (int i = rank + 1; i < n; i++)
		{
			mpq_div(f, row[i][c], row[rank][c]);
			for (int x = 0; x < 4; x++)
			{
				mpq_mul(t, f, row[rank][x]);
				mpq_sub(row[i][x], row[i][x], t);
			}
		}
		rank++;
	}
	mpq_clears(f, t, NULL);
	return rank;
}

naive_contact
naive_hulls_contact_by_subsets(const double *p, int np, const double *q, int nq, int dims)
{
	naive_contact contact = {false, -1, false};
	mpq_t m[5][7], corner[64][4], x, t;
	int n = np + nq, found = 0;
	unsigned positive = 0;

	mpq_inits(x, t, NULL);
	for (int i = 0; i < 35; i++)
		mpq_init(m[i / 7][i % 7]);
	for (int i = 0; i < 256; i++)
		mpq_init(corner[i / 4][i % 4]);
	for (int mask = 1; mask < 1 << n; mask++)
	{
		int pick[6], k = 0;

		for (int i = 0; i < n; i++)
			if (mask >> i & 1)
				pick[k++] = i;
		for (int j = 0; j <= k; j++)
			for (int i = 0; i < 2 + dims; i++)
				if (j == k)
					mpq_set_si(m[i][j], i < 2, 1);
				else if (i < 2)
					mpq_set_si(m[i][j], (pick[j] < np) == (i == 0), 1);
				else
					mpq_set_d(m[i][j], pick[j] < np ? p[dims * pick[j] + i - 2]
													: -q[dims * (pick[j] - np) + i - 2]);
		if (k > 2 + dims || !solved(2 + dims, k, m))
			continue;
		mpq_set_si(corner[found][3], 1, 1);
		for (int j = 0; j < k; j++)
		{
			if (mpq_sgn(m[j][k]) > 0)
				positive |= 1u << pick[j];
			for (int a = 0; a < dims && pick[j] < np; a++)
			{
				mpq_set_d(x, p[dims * pick[j] + a]);
				mpq_mul(t, x, m[j][k]);
				mpq_add(corner[found][a], corner[found][a], t);
			}
		}
		found++;
	}
	contact.meets = found > 0;
	contact.dimension = rank_of_rows(found, corner) - 1;
	contact.crosses = positive == (1u << n) - 1;
	for (int i = 0; i < 35; i++)
		mpq_clear(m[i / 7][i % 7]);
	for (int i = 0; i < 256; i++)
		mpq_clear(corner[i / 4][i % 4]);
	mpq_clears(x, t, NULL);
	return contact;
}

/*
 * Returns true if d is the double nearest to x. If x is a midpoint up to its last bits, d must be
 * the even one.
 */
bool
naive_is_nearest(double d, const mpf_t x)
{
	mpf_t middle, y, tiny;
	bool nearest = true;

	mpf_init2(middle, mpf_get_prec(x));
	mpf_init2(y, mpf_get_prec(x));
	mpf_init2(tiny, mpf_get_prec(x));
	for (int up = 0; up < 2; up++)
	{
		int sign;

		mpf_set_d(middle, d);
		mpf_set_d(y, nextafter(d, up ? INFINITY : -INFINITY));
		mpf_add(middle, middle, y);
		mpf_div_2exp(middle, middle, 1);
		mpf_sub(y, x, middle);
		mpf_abs(tiny, y);
		mpf_mul_2exp(tiny, tiny, mpf_get_prec(x) / 2);
		mpf_abs(middle, middle);
		sign = mpf_cmp(tiny, middle) < 0 ? 0 : mpf_sgn(y);
		if (sign == 0)
		{
			uint64_t bits;

			memcpy(&bits, &d, sizeof bits);
			nearest &= (bits & 1) == 0;
		}
		else
			nearest &= up ? sign < 0 : sign > 0;
	}
	mpf_clears(middle, y, tiny, NULL);
	return nearest;
}
