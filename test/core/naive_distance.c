/*
 * naive_distance.c
 *	  Computes the distance of two convex hulls on rationals (naive.h).
 *
 * This is the minimum of a convex function over two simplices, computed without geometry. For each
 * choice of some vertices of either hull, the minimum over the flats that they span satisfies a
 * linear system, the normal equations. If the system has one solution, without a negative weight,
 * it gives the distance of two points of the hulls. The smallest such distance is that of the
 * hulls, because among the nearest pairs of points there is one that is unique in its flats.
 */
#include "naive.h"

#define MOST 4 /* Unknowns */

typedef struct room
{
	mpq_t p[2][3][3];
	mpq_t w[MOST][3];
	mpq_t m[MOST][MOST + 1];
	mpq_t r[3];
	mpq_t sum, f, t;
} room;

static void
visit(room *x, void (*what)(mpq_t))
{
	for (int i = 0; i < 18; i++)
		what(x->p[i / 9][i / 3 % 3][i % 3]);
	for (int i = 0; i < MOST * 3; i++)
		what(x->w[i / 3][i % 3]);
	for (int i = 0; i < MOST * (MOST + 1); i++)
		what(x->m[i / (MOST + 1)][i % (MOST + 1)]);
	for (int i = 0; i < 3; i++)
		what(x->r[i]);
	what(x->sum);
	what(x->f);
	what(x->t);
}

static void
init(mpq_t q)
{
	mpq_init(q);
}

static void
clear(mpq_t q)
{
	mpq_clear(q);
}

static void
dot(room *x, mpq_t r, mpq_t *u, mpq_t *v)
{
	mpq_mul(r, u[0], v[0]);
	for (int a = 1; a < 3; a++)
	{
		mpq_mul(x->t, u[a], v[a]);
		mpq_add(r, r, x->t);
	}
}

/*
 * Reduces m, k rows of k + 1 numbers, to the identity and the solution. Returns false unless there
 * is exactly one.
 */
static bool
solve(room *x, int k)
{
	for (int i = 0; i < k; i++)
	{
		int pivot = i;

		while (pivot < k && mpq_sgn(x->m[pivot][i]) == 0)
			pivot++;
		if (pivot == k)
			return false;
		for (int j = 0; j <= k; j++)
			mpq_swap(x->m[pivot][j], x->m[i][j]);
		for (int j = k; j >= i; j--)
			mpq_div(x->m[i][j], x->m[i][j], x->m[i][i]);
		for (int row = 0; row < k; row++)
		{
			if (row == i || mpq_sgn(x->m[row][i]) == 0)
				continue;
			mpq_set(x->f, x->m[row][i]);
			for (int j = i; j <= k; j++)
			{
				mpq_mul(x->t, x->f, x->m[i][j]);
				mpq_sub(x->m[row][j], x->m[row][j], x->t);
			}
		}
	}
	return true;
}

/*
 * Computes the squared distance of the flats of the vertices in two masks. Returns true if it is
 * the distance of two points of the hulls.
 */
static bool
of_flats(room *x, const unsigned mask[2], mpq_t square)
{
	int k = 0, of[MOST], first[2];

	for (int side = 0; side < 2; side++)
	{
		first[side] = -1;
		for (int i = 0; i < 3; i++)
		{
			if ((mask[side] >> i & 1) == 0)
				continue;
			if (first[side] < 0)
			{
				first[side] = i;
				continue;
			}
			for (int a = 0; a < 3; a++)
			{
				mpq_sub(x->w[k][a], x->p[side][i][a], x->p[side][first[side]][a]);
				if (side == 1)
					mpq_neg(x->w[k][a], x->w[k][a]);
			}
			of[k++] = side;
		}
	}
	if (k > 3)
		return false;
	for (int a = 0; a < 3; a++)
		mpq_sub(x->r[a], x->p[0][first[0]][a], x->p[1][first[1]][a]);
	for (int i = 0; i < k; i++)
	{
		for (int j = 0; j < k; j++)
			dot(x, x->m[i][j], x->w[i], x->w[j]);
		dot(x, x->m[i][k], x->w[i], x->r);
		mpq_neg(x->m[i][k], x->m[i][k]);
	}
	if (!solve(x, k))
		return false;
	for (int side = 0; side < 2; side++)
	{
		mpq_set_ui(x->sum, 0, 1);
		for (int i = 0; i < k; i++)
		{
			if (of[i] != side)
				continue;
			if (mpq_sgn(x->m[i][k]) < 0)
				return false;
			mpq_add(x->sum, x->sum, x->m[i][k]);
		}
		if (mpq_cmp_ui(x->sum, 1, 1) > 0)
			return false;
	}
	for (int i = 0; i < k; i++)
		for (int a = 0; a < 3; a++)
		{
			mpq_mul(x->t, x->m[i][k], x->w[i][a]);
			mpq_add(x->r[a], x->r[a], x->t);
		}
	dot(x, square, x->r, x->r);
	return true;
}

void
naive_distance_square(mpq_t square, const double *p, int np, const double *q, int nq, int dims)
{
	room x;
	mpq_t other;
	bool any = false;

	visit(&x, init);
	mpq_init(other);
	for (int i = 0; i < np; i++)
		for (int a = 0; a < dims; a++)
			mpq_set_d(x.p[0][i][a], p[dims * i + a]);
	for (int i = 0; i < nq; i++)
		for (int a = 0; a < dims; a++)
			mpq_set_d(x.p[1][i][a], q[dims * i + a]);
	for (unsigned red = 1; red < 1u << np; red++)
		for (unsigned blue = 1; blue < 1u << nq; blue++)
		{
			unsigned mask[2] = {red, blue};

			if (of_flats(&x, mask, other) && (!any || mpq_cmp(other, square) < 0))
			{
				mpq_set(square, other);
				any = true;
			}
		}
	mpq_clear(other);
	visit(&x, clear);
}
