/*
 * triangle.c
 *	  Tests triangles against triangles and segments, and segments against segments in the plane:
 *	  the decision trees on exact signs, against a reference without case distinctions
 *	  (naive_hulls_meet).
 */
#include "fixtures.h"
#include "naive.h"
#include "core/base/redblue.h"
#include "core/primitive/triangle.h"

#include <math.h>
#include <string.h>

static long yes, no;

/*
 * Tests a pair, exchanged and with rotated and reversed vertices: there is one result, that of the
 * reference.
 */
static void
both(const double *r, const double *b)
{
	bool truth = naive_hulls_meet(r, 3, b, 3, 3);
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
		  truth, r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], b[0], b[1], b[2], b[3], b[4],
		  b[5], b[6], b[7], b[8]);
	CHECK(rb_triangles_meet(b, r) == truth, "swapped, truth %d", truth);
	CHECK(rb_triangles_meet(p, q) == truth, "corners permuted, truth %d", truth);
	CHECK(rb_triangles_meet(q, p) == truth, "both, truth %d", truth);
	if (truth)
		yes++;
	else
		no++;
}

/* Checks that a family produced both results; otherwise it proves nothing. */
static void
both_answers(void)
{
	CHECK(yes > 0 && no > 0, "%ld pairs meet, %ld do not", yes, no);
	yes = no = 0;
}

/* Tests the references against each other; they have no step in common. */
static void
twins_agree(void)
{
	static const double scale[] = {1, 0x1p-1074, 0x1p1000, 0.1};

	for (long n = check_rounds(1500); n > 0; n--)
	{
		int np = 1 + check_below(3), nq = 1 + check_below(3), dims = 2 + check_below(2);
		int side = 2 + check_below(4), way = check_below(4);
		double t[18];
		bool truth;

		for (int i = 0; i < 18; i++)
		{
			t[i] = scale[n % 4] * (check_below(side) - side / 2);
			if (way == 1)
				t[i] = random_signed();
			else if (way == 2)
				t[i] = ldexp(random_signed(), check_below(2000) - 1000);
		}
		if (way == 3) /* A point of one in the other, or slightly beside it */
			for (int a = 0; a < dims; a++)
				t[9 + a] = (t[a] + 2 * t[dims * (np - 1) + a]) / 3;
		truth = naive_hulls_meet_by_subsets(t, np, t + 9, nq, dims);
		CHECK(naive_hulls_meet(t, np, t + 9, nq, dims) == truth,
			  "%d and %d points in %d dimensions, way %d: truth %d", np, nq, dims, way, truth);
		if (truth)
			yes++;
		else
			no++;
	}
	both_answers();
}

static void
random_triangles(void)
{
	for (long n = check_rounds(150); n > 0; n--)
	{
		double t[18];

		for (int i = 0; i < 18; i++)
			t[i] = random_signed();
		both(t, t + 9);
	}
	both_answers();
}

/*
 * Tests every kind of contact, and coplanar, collinear and point-like triangles, at several scales.
 */
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
		if (check_below(3) == 0) /* Another axis is the flat one */
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

/* Tests two triangles without area, on few lines. */
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
			if (s == 1 && check_below(2)) /* A needle and a triangle */
				t[9 + check_below(9)] += 1;
		}
		both(t, t + 9);
	}
	both_answers();
}

/* Tests a vertex rounded onto the other triangle's plane, edge or vertex, and ulps beside it. */
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
			t[i] = o[i % 3] + random_signed() * (check_below(2) ? 1 : 0.01);
		for (int i = 0; i < 3; i++)
		{
			w[i] = i < zero ? 0 : check_below(2) ? 1 : fabs(random_signed());
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

/* Tests any finite bit patterns, occasionally with common vertices. */
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
					t[i] = random_signed();
			} while (!isfinite(t[i]));
		for (int i = 0; i < 3; i++)
			if (check_below(3) == 0)
				memcpy(t + 9 + 3 * i, t + 3 * check_below(3), 24);
		both(t, t + 9);
	}
	both_answers();
}

/* Tests segments against triangles, and against each other in the plane. */
static void
segment_one(const double *seg, const double *tri, const double *st)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	double back[6] = {seg[3], seg[4], seg[5], seg[0], seg[1], seg[2]};
	bool truth = naive_hulls_meet(seg, 2, tri, 3, 3);
	bool truth2 = naive_hulls_meet(seg, 2, st, 2, 2);

	CHECK(rb_segment_triangle(&env, seg, tri) == truth, "segment and triangle, truth %d", truth);
	CHECK(rb_segment_triangle(&env, back, tri) == truth, "turned, truth %d", truth);
	CHECK(rb_segments_meet2(&env, seg, seg + 2, st, st + 2) == truth2, "segments, truth %d",
		  truth2);
	CHECK(rb_segments_meet2(&env, st + 2, st, seg, seg + 2) == truth2, "turned, truth %d", truth2);
	if (truth)
		yes++;
	else
		no++;
}

static void
segments_on_lattices(void)
{
	static const double scale[] = {1, 0x1p-1074, 0x1p1000, 0.1};

	for (long n = check_rounds(3000); n > 0; n--)
	{
		double t[19];
		double s = scale[check_below(4)];
		int side = 2 + check_below(3);

		for (int i = 0; i < 19; i++)
			t[i] = s * check_below(i % 3 == 2 && n % 2 ? 1 : side);
		segment_one(t, t + 6, t + 15);
	}
	both_answers();
}

static void
segments_near_contacts(void)
{
	for (long n = check_rounds(1000); n > 0; n--)
	{
		double t[19], w[3] = {fabs(random_signed()), fabs(random_signed()), 0};

		for (int i = 0; i < 19; i++)
			t[i] = 5e5 * (n % 2) + random_signed();
		w[2] = check_below(2) * fabs(random_signed());
		for (int a = 0; a < 3; a++)
			t[a] = (w[0] * t[6 + a] + w[1] * t[9 + a] + w[2] * t[12 + a]) / (w[0] + w[1] + w[2]);
		t[check_below(3)] += check_below(3) * 0x1p-40;
		segment_one(t, t + 6, t + 15);
	}
	both_answers();
}

int
main(void)
{
	CHECK_RUN(twins_agree);
	CHECK_RUN(random_triangles);
	CHECK_RUN(lattice_of_2);
	CHECK_RUN(lattice_of_3);
	CHECK_RUN(lattice_of_5);
	CHECK_RUN(lattice_flat);
	CHECK_RUN(slivers);
	CHECK_RUN(near_contacts);
	CHECK_RUN(wild_exponents);
	CHECK_RUN(segments_on_lattices);
	CHECK_RUN(segments_near_contacts);
	return check_done();
}
