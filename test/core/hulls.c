/*
 * hulls.c
 *	  Determines whether and how two convex hulls meet: a reference for the core's tests of pairs
 *	  that uses no geometry (naive.h).
 *
 * They meet if there are weights a_i, b_j >= 0, where the a's sum to 1 and so do the b's, with sum
 * a_i p_i = sum b_j q_j. That is a system of linear equations and inequalities, which two classical
 * methods solve. Gaussian elimination solves the equations, which leaves each weight as a linear
 * function of a few free ones. Fourier-Motzkin elimination solves the inequalities, by adding a
 * lower and an upper bound of a variable until none is left. No point, no rank and no degenerate
 * position is special.
 *
 * All numbers are integers (each axis in units of its smallest power of two) and remain so, because
 * Bareiss's divisions have no remainder. They are never freed and grow as needed, because a fuzzer
 * calls these functions a thousand times per second. Only one thread may use them.
 */
#include "naive.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>

#define POINTS 6
#define EQUATIONS 5 /* Two sums, three axes */
#define CORNERS 20  /* Maximum number of corners of a polytope of weights: 6 over 3 */
#define BOUNDS 1000 /* Maximum number of inequalities; 100 for three free weights */

static struct
{
	bool made;
	mpz_t a[EQUATIONS][POINTS + 1];     /* Coefficients of the weights = last column */
	mpz_t bound[2][BOUNDS][POINTS + 1]; /* Coefficients, then a constant: the sum is >= 0 */
	/* Coordinates in units of the axis; those of blue are negated */
	mpz_t point[3][POINTS + 1];
	/* Vertices of the intersection: coordinates and their common denominator */
	mpz_t corner[CORNERS][4];
	mpz_t minor[POINTS + 1]; /* Free weights of a vertex and their common denominator */
	mpz_t weight[POINTS];
	mpz_t basis[4][4];
	mpz_t t, u, v;
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
	for (int i = 0; i < 3; i++)
		for (int j = 0; j <= POINTS; j++)
			mpz_init(room.point[i][j]);
	for (int i = 0; i < CORNERS; i++)
		for (int j = 0; j < 4; j++)
			mpz_init(room.corner[i][j]);
	for (int j = 0; j < POINTS; j++)
		mpz_init(room.weight[j]);
	for (int j = 0; j <= POINTS; j++)
		mpz_init(room.minor[j]);
	for (int i = 0; i < 16; i++)
		mpz_init(room.basis[i / 4][i % 4]);
	mpz_inits(room.t, room.u, room.v, NULL);
}

/* Splits x into mantissa * 2^exponent, where the mantissa is odd or 0. */
static double
split(double x, int *exponent)
{
	int64_t mantissa = (int64_t) ldexp(frexp(x, exponent), 53);
	int zeros = mantissa != 0 ? __builtin_ctzll((uint64_t) mantissa) : 0;

	*exponent += zeros - 53;
	return ldexp((double) mantissa, -zeros);
}

/* Builds the equation of one axis: the a's equal the b's. */
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
 * Solves the equations by Gauss-Jordan elimination. pivot[r] is the weight that occurs only in
 * equation r, with a factor common to all equations, which is returned; free weights have no
 * equation. Returns false if the equations contradict each other.
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
			if (i == r || (i > r && i <= e)) /* The rows between are empty */
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

/*
 * Returns true if there are free weights for which all m bounds hold, by Fourier-Motzkin
 * elimination.
 */
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

				/*
				 * Keep bounds without the variable; combine each lower bound with each upper one.
				 */
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

/*
 * Returns true if all of p lies below or above all of q along an axis, which needs no arithmetic.
 */
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

/*
 * Expresses the weights as bounds, each a function of nfree free weights: bound k is weight
 * which[k], multiplied by the factor for weights that are not free. Returns -1 if there is no
 * solution.
 */
static int
bounds_of(const double *p, int np, const double *q, int nq, int dims, int which[POINTS])
{
	int n = np + nq, pivot[EQUATIONS], rank, nfree = 0, m = 0;
	bool bound[POINTS] = {false};
	int free_weight[POINTS];

	assert(n <= POINTS && dims <= 3);
	make_room();
	for (int side = 0; side < 2; side++)
		for (int i = 0; i <= n; i++)
			mpz_set_si(room.a[side][i], i == n || (i < np) == (side == 0));
	for (int a = 0; a < dims; a++)
	{
		axis_row(room.a[2 + a], p, np, q, nq, dims, a);
		for (int i = 0; i < n; i++)
			mpz_set(room.point[a][i], room.a[2 + a][i]);
	}
	if (!solve(2 + dims, n, pivot, &rank, room.u))
		return -1;

	for (int r = 0; r < rank; r++)
		bound[pivot[r]] = true;
	for (int i = 0; i < n; i++)
		if (!bound[i])
			free_weight[nfree++] = i;
	/* factor * weight = last column - free weights' terms, and the factor is made positive. */
	for (int r = 0; r < rank; r++, m++)
	{
		int sign = mpz_sgn(room.u);

		which[m] = pivot[r];
		for (int k = 0; k < nfree; k++)
			mpz_mul_si(room.bound[0][m][k], room.a[r][free_weight[k]], -sign);
		mpz_mul_si(room.bound[0][m][nfree], room.a[r][n], sign);
	}
	for (int k = 0; k < nfree; k++, m++)
	{
		which[m] = free_weight[k];
		for (int l = 0; l <= nfree; l++)
			mpz_set_si(room.bound[0][m][l], l == k);
	}
	mpz_abs(room.u, room.u);
	return nfree;
}

bool
naive_hulls_meet(const double *p, int np, const double *q, int nq, int dims)
{
	int which[POINTS], nfree;

	if (apart(p, np, q, nq, dims))
		return false;
	nfree = bounds_of(p, np, q, nq, dims, which);
	return nfree >= 0 && all_hold(np + nq, nfree);
}

/* ---- how they meet: naive.c explains the method ---- */

/* Computes the determinant of the rows of bounds, restricted to the columns in `columns`. */
static void
minor_of(mpz_t det, const int *row, int n, int columns)
{
	mpz_t part;
	int sign = 1;

	if (n == 0)
	{
		mpz_set_si(det, 1);
		return;
	}
	mpz_init(part);
	mpz_set_si(det, 0);
	for (int c = 0; columns >> c != 0; c++)
	{
		if ((columns >> c & 1) == 0)
			continue;
		if (mpz_sgn(room.bound[0][row[0]][c]) != 0)
		{
			minor_of(part, row + 1, n - 1, columns & ~(1 << c));
			mpz_mul(part, part, room.bound[0][row[0]][c]);
			if (sign > 0)
				mpz_add(det, det, part);
			else
				mpz_sub(det, det, part);
		}
		sign = -sign;
	}
	mpz_clear(part);
}

/*
 * Computes the vertex where the bounds of `mask` are 0, if it exists and all other bounds hold: its
 * free weights are quotients of minors. Stores the weights times room.t in room.weight.
 */
static bool
corner_at(int mask, int n, int nfree, const int which[POINTS])
{
	int row[POINTS], k = 0;

	for (int i = 0; i < n; i++)
		if (mask >> i & 1)
			row[k++] = i;
	for (int c = 0; c <= nfree; c++)
	{
		minor_of(room.minor[c], row, nfree, ((1 << (nfree + 1)) - 1) & ~(1 << c));
		if (c % 2 != nfree % 2)
			mpz_neg(room.minor[c], room.minor[c]);
	}
	if (mpz_sgn(room.minor[nfree]) == 0)
		return false;
	if (mpz_sgn(room.minor[nfree]) < 0)
		for (int c = 0; c <= nfree; c++)
			mpz_neg(room.minor[c], room.minor[c]);
	for (int i = 0; i < n; i++)
	{
		mpz_t *w = &room.weight[which[i]];

		mpz_set_si(*w, 0);
		for (int c = 0; c <= nfree; c++)
			mpz_addmul(*w, room.bound[0][i][c], room.minor[c]);
		if (mpz_sgn(*w) < 0)
			return false;
		if (i >= n - nfree)
			mpz_mul(*w, *w, room.u);
	}
	mpz_mul(room.t, room.minor[nfree], room.u);
	return true;
}

/* Adds a row. Returns true if it is independent of the `rank` rows before it. */
static bool
is_new(mpz_t row[4], int rank)
{
	mpz_t *last = room.basis[rank < 4 ? rank : 3];

	if (rank == 4)
		return false;
	for (int x = 0; x < 4; x++)
		mpz_set(last[x], row[x]);
	for (int i = 0; i < rank; i++)
	{
		int c = 0;

		while (mpz_sgn(room.basis[i][c]) == 0)
			c++;
		mpz_set(room.v, last[c]);
		for (int x = 0; x < 4; x++)
		{
			mpz_mul(last[x], last[x], room.basis[i][c]);
			mpz_submul(last[x], room.v, room.basis[i][x]);
		}
	}
	for (int x = 0; x < 4; x++)
		if (mpz_sgn(last[x]) != 0)
			return true;
	return false;
}

/* Stores the vertices of the intersection in room.corner and returns their number. */
static int
corners_of(const double *p, int np, const double *q, int nq, int dims, naive_contact *contact)
{
	int which[POINTS], nfree, n = np + nq, found = 0, rank = 0;
	unsigned positive = 0;

	*contact = (naive_contact){false, -1, false};
	if (apart(p, np, q, nq, dims))
		return 0;
	nfree = bounds_of(p, np, q, nq, dims, which);
	for (int mask = 0; nfree >= 0 && mask < 1 << n; mask++)
	{
		if (__builtin_popcount((unsigned) mask) != nfree || !corner_at(mask, n, nfree, which))
			continue;
		assert(found < CORNERS);
		mpz_set(room.corner[found][3], room.t);
		for (int a = 0; a < 3; a++)
		{
			mpz_set_si(room.corner[found][a], 0);
			for (int i = 0; i < np && a < dims; i++)
				mpz_addmul(room.corner[found][a], room.weight[i], room.point[a][i]);
		}
		for (int i = 0; i < n; i++)
			if (mpz_sgn(room.weight[i]) > 0)
				positive |= 1u << i;
		rank += is_new(room.corner[found], rank);
		found++;
	}
	contact->meets = found > 0;
	contact->dimension = rank - 1;
	contact->crosses = positive == (1u << n) - 1;
	return found;
}

naive_contact
naive_hulls_contact(const double *p, int np, const double *q, int nq, int dims)
{
	naive_contact contact;

	corners_of(p, np, q, nq, dims, &contact);
	return contact;
}

/* Returns true if a vertex of the intersection lies on the segment between points x and y. */
static bool
is_between(mpz_t corner[4], int x, int y)
{
	mpz_t d[3], e[3], de, ee;
	bool good = true, point = true;

	mpz_inits(de, ee, NULL);
	for (int a = 0; a < 3; a++)
	{
		mpz_init_set(d[a], corner[a]);
		mpz_submul(d[a], corner[3], room.point[a][x]);
		mpz_init(e[a]);
		mpz_sub(e[a], room.point[a][y], room.point[a][x]);
		mpz_addmul(de, d[a], e[a]);
		mpz_addmul(ee, e[a], e[a]);
		point = point && mpz_sgn(d[a]) == 0;
	}
	for (int a = 0; a < 3; a++)
	{
		int b = (a + 1) % 3;

		mpz_mul(room.t, d[a], e[b]);
		mpz_submul(room.t, d[b], e[a]);
		good = good && mpz_sgn(room.t) == 0;
	}
	mpz_mul(ee, ee, corner[3]);
	good = good && mpz_sgn(de) >= 0 && mpz_cmp(de, ee) <= 0 && (point || mpz_sgn(ee) != 0);
	for (int a = 0; a < 3; a++)
		mpz_clears(d[a], e[a], NULL);
	mpz_clears(de, ee, NULL);
	return good;
}

static bool
same_point(const double *p, const double *q)
{
	return p[0] == q[0] && p[1] == q[1] && p[2] == q[2];
}

naive_contact
naive_triangles_contact(const double *p, const double *q, bool *self)
{
	naive_contact contact;
	int n = corners_of(p, 3, q, 3, 3, &contact);
	int common[3], ncommon = 0, also = 0;

	for (int i = 0; i < 3; i++)
	{
		bool of_q = false, of_p = false, seen = false;

		for (int j = 0; j < 3; j++)
		{
			of_q = of_q || same_point(p + 3 * i, q + 3 * j);
			of_p = of_p || same_point(q + 3 * i, p + 3 * j);
		}
		for (int k = 0; k < ncommon; k++)
			seen = seen || same_point(p + 3 * common[k], p + 3 * i);
		if (of_q && !seen)
			common[ncommon++] = i;
		also += of_q + of_p;
	}
	*self = contact.meets && (also == 6 || ncommon == 0);
	for (int i = 0; i < n && !*self; i++)
		*self = !is_between(room.corner[i], common[0], common[ncommon - 1]);
	return contact;
}
