/*
 * test_triangle.c
 *	  Triangle against triangle: the decision tree on exact signs, against a naive
 *	  twin that knows no case at all.
 *
 * The twin: two convex hulls meet when the origin is in the hull of all
 * differences a - b, and then, after Caratheodory, in the hull of at most four
 * affinely independent ones.  It tries all subsets and solves for the weights in
 * rationals.
 */
#include "check.h"
#include "redblue.h"

#include <gmp.h>
#include <math.h>
#include <string.h>

/* weights of the k differences whose sum is 1 and that add up to the origin: unique and none negative? */
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
			inside = false; /* affinely dependent: some smaller subset will do */
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

static bool
naive_meet(const double *r, const double *b)
{
	mpq_t d[9][3], x;
	bool found = false;

	mpq_init(x);
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			for (int a = 0; a < 3; a++)
			{
				mpq_init(d[3 * i + j][a]);
				mpq_set_d(d[3 * i + j][a], r[3 * i + a]);
				mpq_set_d(x, b[3 * j + a]);
				mpq_sub(d[3 * i + j][a], d[3 * i + j][a], x);
			}
	for (int mask = 1; mask < 512 && !found; mask++)
	{
		int pick[9], k = 0;

		for (int i = 0; i < 9; i++)
			if (mask >> i & 1)
				pick[k++] = i;
		if (k <= 4)
			found = origin_in_simplex(pick, k, d);
	}
	for (int i = 0; i < 9; i++)
		for (int a = 0; a < 3; a++)
			mpq_clear(d[i][a]);
	mpq_clear(x);
	return found;
}

static double
unit(void)
{
	return (double) (int64_t) (check_random() >> 11) / 4503599627370496.0 - 1.0;
}

static long yes, no;

/* the pair, swapped, with corners rotated and reversed: one answer, the twin's */
static void
both(const double *r, const double *b)
{
	bool truth = naive_meet(r, b);
	double p[9], q[9];
	int turn = check_below(3), back = check_below(2);

	for (int i = 0; i < 3; i++)
		for (int a = 0; a < 3; a++)
		{
			p[3 * i + a] = r[3 * ((i + turn) % 3) + a];
			q[3 * i + a] = b[3 * (back ? 2 - i : i) + a];
		}
	CHECK(rb_triangles_meet(r, b) == truth,
		  "truth %d: %.17g %.17g %.17g, %.17g %.17g %.17g, %.17g %.17g %.17g and "
		  "%.17g %.17g %.17g, %.17g %.17g %.17g, %.17g %.17g %.17g",
		  truth, r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], b[0], b[1], b[2], b[3],
		  b[4], b[5], b[6], b[7], b[8]);
	CHECK(rb_triangles_meet(b, r) == truth, "swapped, truth %d", truth);
	CHECK(rb_triangles_meet(p, q) == truth, "corners permuted, truth %d", truth);
	CHECK(rb_triangles_meet(q, p) == truth, "both, truth %d", truth);
	if (truth)
		yes++;
	else
		no++;
}

/* a family must show both answers, or it proves nothing */
static void
both_answers(void)
{
	CHECK(yes > 0 && no > 0, "%ld pairs meet, %ld do not", yes, no);
	yes = no = 0;
}

static void
random_triangles(void)
{
	for (long n = check_rounds(150); n > 0; n--)
	{
		double t[18];

		for (int i = 0; i < 18; i++)
			t[i] = unit();
		both(t, t + 9);
	}
	both_answers();
}

/* every kind of touching, coplanar, collinear and point triangles, at several scales */
static void
lattice(int side, int flat, long rounds)
{
	static const double scale[] = {1, 0x1p-1074, 0x1p1000, 0.1, 0x1p-540, 1e-3};

	for (long n = check_rounds(rounds); n > 0; n--)
	{
		double t[18];
		double s = scale[check_below(6)];

		for (int i = 0; i < 18; i++)
			t[i] = s * check_below(i % 3 == 2 && flat ? 1 : side);
		if (check_below(3) == 0) /* some other axis is the flat one */
			for (int i = 0; i < 6; i++)
			{
				double x = t[3 * i];

				t[3 * i] = t[3 * i + 2];
				t[3 * i + 2] = x;
			}
		both(t, t + 9);
	}
	both_answers();
}

static void
lattice_of_2(void)
{
	lattice(2, 0, 500);
}

static void
lattice_of_3(void)
{
	lattice(3, 0, 500);
}

static void
lattice_of_5(void)
{
	lattice(5, 0, 300);
}

static void
lattice_flat(void)
{
	lattice(4, 1, 500);
}

/* both triangles without area, on few lines */
static void
slivers(void)
{
	for (long n = check_rounds(500); n > 0; n--)
	{
		double t[18];

		for (int s = 0; s < 2; s++)
		{
			int dir[3], from[3];

			for (int a = 0; a < 3; a++)
			{
				dir[a] = check_below(3) - 1;
				from[a] = check_below(3);
			}
			for (int i = 0; i < 3; i++)
			{
				int at = check_below(5) - 2;

				for (int a = 0; a < 3; a++)
					t[9 * s + 3 * i + a] = from[a] + at * dir[a];
			}
			if (s == 1 && check_below(2)) /* or one sliver, one triangle */
				t[9 + check_below(9)] += 1;
		}
		both(t, t + 9);
	}
	both_answers();
}

/* a corner rounded onto the other's plane, edge or corner, and ulps beside it */
static void
near_contacts(void)
{
	static const double offset[][3] = {{0, 0, 0}, {500000, 5400000, 300}, {4e6, 6e5, 4.9e6}};

	for (long n = check_rounds(400); n > 0; n--)
	{
		const double *o = offset[check_below(3)];
		double t[18], w[3], sum = 0;
		int zero = check_below(4);

		for (int i = 0; i < 18; i++)
			t[i] = o[i % 3] + unit() * (check_below(2) ? 1 : 0.01);
		for (int i = 0; i < 3; i++)
		{
			w[i] = i < zero ? 0 : check_below(2) ? 1 : fabs(unit());
			sum += w[i];
		}
		if (sum == 0)
			sum = w[0] = 1;
		for (int a = 0; a < 3; a++)
		{
			t[9 + a] = (w[0] * t[a] + w[1] * t[3 + a] + w[2] * t[6 + a]) / sum;
			for (int k = check_below(3); k > 0; k--)
				t[9 + a] = nextafter(t[9 + a], check_below(2) ? HUGE_VAL : -HUGE_VAL);
		}
		both(t, t + 9);
	}
	both_answers();
}

/* any finite bit patterns, with corners shared now and then */
static void
wild_exponents(void)
{
	for (long n = check_rounds(150); n > 0; n--)
	{
		double t[18];

		for (int i = 0; i < 18; i++)
			do
			{
				uint64_t bits = check_random();

				memcpy(&t[i], &bits, 8);
				if (check_below(3) == 0)
					t[i] = unit();
			} while (!isfinite(t[i]));
		for (int i = 0; i < 3; i++)
			if (check_below(3) == 0)
				memcpy(t + 9 + 3 * i, t + 3 * check_below(3), 24);
		both(t, t + 9);
	}
	both_answers();
}

int
main(void)
{
	CHECK_RUN(random_triangles);
	CHECK_RUN(lattice_of_2);
	CHECK_RUN(lattice_of_3);
	CHECK_RUN(lattice_of_5);
	CHECK_RUN(lattice_flat);
	CHECK_RUN(slivers);
	CHECK_RUN(near_contacts);
	CHECK_RUN(wild_exponents);
	return check_done();
}
