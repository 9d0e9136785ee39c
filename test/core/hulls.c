/*
 * hulls.c
 *	  Do two convex hulls meet?  A twin of the core's tests of pairs that knows no
 *	  geometry (naive.h).
 *
 * They do when there are weights: a_i, b_j >= 0, the a's adding up to 1 and so the b's,
 * with sum a_i p_i = sum b_j q_j.  That is a system of linear equations and
 * inequalities, and there are two old ways through it: Gauss for the equations, which
 * leaves each weight as a linear function of a few free ones, and Fourier and Motzkin
 * for the inequalities, which add up a lower and an upper bound of a variable until
 * none is left.  No point, no rank and no degenerate position is special.
 *
 * The numbers are integers (each axis in units of its smallest power of two) and stay
 * so: Bareiss's divisions go without a remainder.  They live for ever and grow to
 * what was needed, for a fuzzer asks a thousand times a second.  One thread only.
 */
#include "naive.h"

#include <assert.h>
#include <math.h>

#define POINTS 6
#define EQUATIONS 5 /* two sums, three axes */
#define BOUNDS 1000 /* inequalities at once; 100 where the free weights are three */

static struct
{
	bool made;
	mpz_t a[EQUATIONS][POINTS + 1];     /* coefficients of the weights = last column */
	mpz_t bound[2][BOUNDS][POINTS + 1]; /* coefficients, then a constant: the sum is >= 0 */
	mpz_t t, u;
} room;

static void
make_room(void)
{
	if (room.made)
		return;
	room.made = true;
	for (int i = 0; i < EQUATIONS; i++)
		for (int j = 0; j <= POINTS; j++)
			mpz_init(room.a[i][j]);
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < BOUNDS; i++)
			for (int j = 0; j <= POINTS; j++)
				mpz_init(room.bound[k][i][j]);
	mpz_inits(room.t, room.u, NULL);
}

/* x = mantissa * 2^exponent, the mantissa odd or 0 */
static double
split(double x, int *exponent)
{
	double mantissa = ldexp(frexp(x, exponent), 53);

	*exponent -= 53;
	while (mantissa != 0 && fmod(mantissa, 2) == 0)
	{
		mantissa /= 2;
		++*exponent;
	}
	return mantissa;
}

/* one equation of an axis: the a's against the b's */
static void
axis_row(mpz_t *row, const double *p, int np, const double *q, int nq, int dims, int axis)
{
	int unit = 10000, exponent;

	for (int i = 0; i < np + nq; i++)
		if (split(i < np ? p[dims * i + axis] : q[dims * (i - np) + axis], &exponent) != 0)
			unit = exponent < unit ? exponent : unit;
	for (int i = 0; i < np + nq; i++)
	{
		double x = i < np ? p[dims * i + axis] : -q[dims * (i - np) + axis];

		mpz_set_d(row[i], split(x, &exponent));
		if (x != 0)
			mpz_mul_2exp(row[i], row[i], (mp_bitcnt_t) (exponent - unit));
	}
	mpz_set_si(row[np + nq], 0);
}

/*
 * Gauss and Jordan: pivot[r] is the weight that only equation r has, with one factor in
 * all of them, which is returned in the order of the equations; free ones have none.
 * False: a contradiction.
 */
static bool
solve(int equations, int n, int pivot[EQUATIONS], int *rank, mpz_t factor)
{
	mpz_t(*a)[POINTS + 1] = room.a;
	int r = 0;

	mpz_set_si(factor, 1);
	for (int e = 0; e < equations; e++)
	{
		int c = 0;

		while (c < n && mpz_sgn(a[e][c]) == 0)
			c++;
		if (c == n)
		{
			if (mpz_sgn(a[e][n]) != 0)
				return false;
			continue;
		}
		for (int j = 0; j <= n; j++)
			mpz_swap(a[e][j], a[r][j]);
		for (int i = 0; i < equations; i++)
		{
			if (i == r || (i > r && i <= e)) /* those between are empty */
				continue;
			mpz_set(room.t, a[i][c]);
			for (int j = 0; j <= n; j++)
			{
				mpz_mul(a[i][j], a[i][j], a[r][c]);
				mpz_submul(a[i][j], room.t, a[r][j]);
				mpz_divexact(a[i][j], a[i][j], factor);
			}
		}
		mpz_set(factor, a[r][c]);
		pivot[r++] = c;
	}
	*rank = r;
	return true;
}

/* are there free weights for which all m bounds hold?  Fourier and Motzkin. */
static bool
all_hold(int m, int n)
{
	int from = 0;

	for (int k = 0; k < n; k++)
	{
		mpz_t(*old)[POINTS + 1] = room.bound[from];
		mpz_t(*new)[POINTS + 1] = room.bound[1 - from];
		int count = 0;

		for (int i = 0; i < m; i++)
			for (int j = 0; j < m; j++)
			{
				int si = mpz_sgn(old[i][k]), sj = mpz_sgn(old[j][k]);

				/* those without it stay; each from below with each from above */
				if (!(si == 0 && j == i) && !(si > 0 && sj < 0))
					continue;
				assert(count < BOUNDS);
				for (int l = k + 1; l <= n; l++)
					if (si == 0)
						mpz_set(new[count][l], old[i][l]);
					else
					{
						mpz_mul(new[count][l], old[j][l], old[i][k]);
						mpz_submul(new[count][l], old[i][l], old[j][k]);
					}
				count++;
			}
		m = count;
		from = 1 - from;
	}
	for (int i = 0; i < m; i++)
		if (mpz_sgn(room.bound[from][i][n]) < 0)
			return false;
	return true;
}

/* all of p below all of q along an axis, or above: that needs no arithmetic */
static bool
apart(const double *p, int np, const double *q, int nq, int dims)
{
	for (int a = 0; a < dims; a++)
	{
		double plo = p[a], phi = p[a], qlo = q[a], qhi = q[a];

		for (int i = 1; i < np; i++)
		{
			plo = fmin(plo, p[dims * i + a]);
			phi = fmax(phi, p[dims * i + a]);
		}
		for (int i = 1; i < nq; i++)
		{
			qlo = fmin(qlo, q[dims * i + a]);
			qhi = fmax(qhi, q[dims * i + a]);
		}
		if (phi < qlo || qhi < plo)
			return true;
	}
	return false;
}

bool
naive_hulls_meet(const double *p, int np, const double *q, int nq, int dims)
{
	int n = np + nq, pivot[EQUATIONS], rank, nfree = 0, m = 0;
	bool bound[POINTS] = {false};
	int free_weight[POINTS];

	assert(n <= POINTS && dims <= 3);
	if (apart(p, np, q, nq, dims))
		return false;
	make_room();
	for (int side = 0; side < 2; side++)
		for (int i = 0; i <= n; i++)
			mpz_set_si(room.a[side][i], i == n || (i < np) == (side == 0));
	for (int a = 0; a < dims; a++)
		axis_row(room.a[2 + a], p, np, q, nq, dims, a);
	if (!solve(2 + dims, n, pivot, &rank, room.u))
		return false;

	for (int r = 0; r < rank; r++)
		bound[pivot[r]] = true;
	for (int i = 0; i < n; i++)
		if (!bound[i])
			free_weight[nfree++] = i;
	/* factor * weight = last column - the free ones' share, and the factor is made positive */
	for (int r = 0; r < rank; r++, m++)
	{
		int sign = mpz_sgn(room.u);

		for (int k = 0; k < nfree; k++)
			mpz_mul_si(room.bound[0][m][k], room.a[r][free_weight[k]], -sign);
		mpz_mul_si(room.bound[0][m][nfree], room.a[r][n], sign);
	}
	for (int k = 0; k < nfree; k++, m++)
		for (int l = 0; l <= nfree; l++)
			mpz_set_si(room.bound[0][m][l], l == k);
	return all_hold(m, nfree);
}
