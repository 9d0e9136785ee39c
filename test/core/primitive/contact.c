/*
 * contact.c
 *	  Tests how two objects meet, and self-intersections of meshes: the decision trees on exact
 *	  signs, against reference versions without case distinctions (naive_hulls_contact).
 */
#include "check.h"
#include "naive.h"
#include "points.h"
#include "core/base/redblue.h"
#include "core/primitive/dispatch.h"

#include <math.h>
#include <string.h>

/* Every step of the cascade enabled, and each one disabled */
static const uint32_t filters[] = {RB_FILTER_ALL,
								   RB_FILTER_ALL & ~RB_FILTER_SIGNS,
								   RB_FILTER_ALL & ~RB_FILTER_INTERVAL,
								   RB_FILTER_ALL & ~RB_EXACT_INTEGER,
								   RB_FILTER_ALL & ~RB_EXACT_EXPANSION,
								   0};

static const int orders[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};

/* Number of correct results, by kind of pair and result without RB_YES */
static long seen[5][16];

enum
{
	TRIANGLES,
	SELF,
	SEGMENT_TRIANGLE,
	SEGMENTS2,
	SEGMENTS3
};

static int
answer_of(naive_contact c)
{
	return c.meets ? RB_CONTACT_OF(c.dimension, c.crosses) : 0;
}

static void
print_points(const double *p, int n, int dims)
{
	for (int i = 0; i < n; i++)
		printf("%s%.17g", i == 0 ? "# " : i % dims == 0 ? ", " : " ", p[i]);
	printf("\n");
}

/* Tests one leaf. Only without exact signs may it be undecided. */
static void
leaf(const char *what, rb_predicate predicate, rb_kind red, rb_kind blue, const double *r,
	 const double *b, int truth)
{
	rb_exact_env env = {.filters = filters[check_below(4) ? 0 : check_below(6)],
						.exact = check_below(8) != 0};
	int answer = rb_pair_decide(&env, predicate, red, blue, r, b);
	bool good = answer == truth || (!env.exact && answer == RB_UNSURE);

	CHECK(good, "%s: %d, truth %d, filters %x", what, answer, truth, env.filters);
	if (!good && check_failures < 10)
	{
		print_points(r, rb_kind_width(red), rb_kind_dims(red));
		print_points(b, rb_kind_width(blue), rb_kind_dims(blue));
	}
}

static void
permuted(const double *t, const int order[3], double *p)
{
	for (int i = 0; i < 9; i++)
		p[i] = t[3 * order[i / 3] + i % 3];
}

/* Signs that an earlier stage has proved; here some of the true ones. */
static void
known_signs(const double *plane, const double *t, int s[3])
{
	for (int i = 0; i < 3; i++)
		s[i] = check_below(2) ? RB_UNSURE : rb_orient3d(plane, plane + 3, plane + 6, t + 3 * i);
}

/* Tests two triangles, with some or all orders of their vertices. */
static void
triangles(const double *r, const double *b, bool all)
{
	bool more;
	int truth = answer_of(naive_triangles_contact(r, b, &more));
	int self = more ? truth : 0;

	seen[TRIANGLES][truth >> 1 | (truth == 0) << 3]++;
	seen[SELF][self >> 1 | (self == 0) << 3]++;
	for (int i = 0; i < (all ? 72 : 2); i++)
	{
		rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
		int turn = all ? i : check_below(72);
		double p[9], q[9];
		int sb[3], sr[3], answer;

		permuted(turn % 2 ? b : r, orders[turn / 2 % 6], p);
		permuted(turn % 2 ? r : b, orders[turn / 12], q);
		leaf("triangles", RB_CONTACT, RB_TRIANGLE3, RB_TRIANGLE3, p, q, truth);
		leaf("self", RB_SELF_INTERSECT, RB_TRIANGLE3, RB_TRIANGLE3, p, q, self);
		if (i % 8 != 0)
			continue;
		known_signs(p, q, sb);
		known_signs(q, p, sr);
		answer = rb_triangle_contact(&env, p, q, sb, sr);
		CHECK(answer == truth, "with known signs: %d, truth %d", answer, truth);
	}
}

static void
segment_and_triangle(const double *ab, const double *t)
{
	int truth = answer_of(naive_hulls_contact(ab, 2, t, 3, 3));
	double ba[6], p[9];

	seen[SEGMENT_TRIANGLE][truth >> 1 | (truth == 0) << 3]++;
	memcpy(ba, ab + 3, 24);
	memcpy(ba + 3, ab, 24);
	permuted(t, orders[check_below(6)], p);
	leaf("segment", RB_CONTACT, RB_SEGMENT3, RB_TRIANGLE3, ab, t, truth);
	leaf("turned", RB_CONTACT, RB_SEGMENT3, RB_TRIANGLE3, ba, p, truth);
	leaf("swapped", RB_CONTACT, RB_TRIANGLE3, RB_SEGMENT3, p, ba, truth);
}

static void
segments2(const double *pq, const double *st)
{
	int truth = answer_of(naive_hulls_contact(pq, 2, st, 2, 2));
	const double qp[4] = {pq[2], pq[3], pq[0], pq[1]};
	const double ts[4] = {st[2], st[3], st[0], st[1]};

	seen[SEGMENTS2][truth >> 1 | (truth == 0) << 3]++;
	leaf("segments", RB_CONTACT, RB_SEGMENT2, RB_SEGMENT2, pq, st, truth);
	leaf("turned", RB_CONTACT, RB_SEGMENT2, RB_SEGMENT2, qp, st, truth);
	leaf("both turned", RB_CONTACT, RB_SEGMENT2, RB_SEGMENT2, qp, ts, truth);
	leaf("swapped", RB_CONTACT, RB_SEGMENT2, RB_SEGMENT2, st, qp, truth);
}

static void
segments3(const double *pq, const double *st)
{
	rb_exact_env env = {.filters = filters[check_below(6)], .exact = true};
	int truth = answer_of(naive_hulls_contact(pq, 2, st, 2, 3));

	seen[SEGMENTS3][truth >> 1 | (truth == 0) << 3]++;
	CHECK(rb_segments_contact3(&env, pq, st) == truth, "segments of space, truth %d", truth);
	CHECK(rb_segments_contact3(&env, st, pq) == truth, "swapped, truth %d", truth);
}

/* Tests the same eighteen coordinates as every kind of pair. */
static void
all_kinds(const double *t, long round)
{
	triangles(t, t + 9, round % 32 == 0);
	if (round % 2 == 0)
		segment_and_triangle(t, t + 9);
	if (round % 4 == 0)
		segments2(t, t + 9);
	if (round % 8 == 0)
		segments3(t, t + 9);
}

/*
 * Checks that a family produced these results; otherwise it proves nothing. Bit d represents
 * dimension d, bit 4 + d dimension d with crossing, and bit 3 no contact.
 */
static void
was_seen(int kind, unsigned answers)
{
	if (check_rounds(1000) < 1000) /* Too few rounds for rare results */
		return;
	CHECK(!(answers & 8) || seen[kind][8] > 0, "kind %d: all meet", kind);
	for (int k = 0; k < 3; k++)
		for (int crosses = 0; crosses < 2; crosses++)
			CHECK(!(answers >> (4 * crosses + k) & 1) || seen[kind][k | crosses << 2] > 0,
				  "kind %d: no pair of dimension %d, crosses %d", kind, k, crosses);
}

static void
forget(void)
{
	if (getenv("RB_TEST_VERBOSE") != NULL)
		for (int k = 0; k < 5; k++)
			printf("# kind %d: none %ld, dimensions %ld %ld %ld, crossing %ld %ld %ld\n", k,
				   seen[k][8], seen[k][0], seen[k][1], seen[k][2], seen[k][4], seen[k][5],
				   seen[k][6]);
	memset(seen, 0, sizeof seen);
}

/* Tests the two references against each other, which have only their idea in common. */
static void
twins_agree(void)
{
	for (long n = check_rounds(1500); n > 0; n--)
	{
		int np = 1 + check_below(3), nq = 1 + check_below(3), dims = 2 + check_below(2);
		int family = check_below(3) ? POINTS_LATTICE : check_below(POINTS_FAMILIES);
		double t[18];
		naive_contact one, two;

		points_make(family, 6, 3, t);
		one = naive_hulls_contact(t, np, t + 9, nq, dims);
		two = naive_hulls_contact_by_subsets(t, np, t + 9, nq, dims);
		CHECK(answer_of(one) == answer_of(two), "%d and %d points in %d dimensions: %d, %d", np, nq,
			  dims, answer_of(one), answer_of(two));
		CHECK(one.meets == naive_hulls_meet(t, np, t + 9, nq, dims), "do they meet?");
	}
}

/* Tests every kind of contact with few coordinates, in space or in some plane. */
static void
lattice(int side, int flat, long rounds)
{
	static const double scale[] = {1, 0x1p-1074, 0x1p1000, 0.1, 0x1p-540, 1e-3};

	for (long n = check_rounds(rounds); n > 0; n--)
	{
		double s = scale[check_below(2) ? 0 : check_below(6)];
		int axis = check_below(3), slope = check_below(3) - 1;
		double t[18];

		for (int i = 0; i < 18; i++)
			t[i] = s * (check_below(side) - side / 2);
		/* A plane that contains an axis direction, or does not */
		for (int i = 0; i < 6 && flat; i++)
			t[3 * i + axis] = slope * t[3 * i + (axis + 1) % 3];
		all_kinds(t, n);
	}
	was_seen(TRIANGLES, flat ? 0x7b : 0x3b);
	was_seen(SELF, flat ? 0x6a : 0x3b);
	was_seen(SEGMENT_TRIANGLE, 0x3b);
	was_seen(SEGMENTS2, 0x39);
	was_seen(SEGMENTS3, 0x19);
	forget();
}

static void
lattice_of_2(void)
{
	lattice(2, 0, 10000);
}

static void
lattice_of_3(void)
{
	lattice(3, 0, 15000);
}

static void
lattice_of_5(void)
{
	lattice(5, 0, 12000);
}

static void
lattice_flat(void)
{
	lattice(4, 1, 15000);
}

static void
lattice_flat_of_5(void)
{
	lattice(5, 1, 15000);
}

/*
 * Tests a triangle and its neighbors in a mesh: common vertices, common edges, duplicates, folded
 * pairs.
 */
static void
neighbours(void)
{
	for (long n = check_rounds(20000); n > 0; n--)
	{
		int side = 2 + check_below(4), common = 1 + check_below(3), flat = check_below(3);
		double t[18];

		for (int i = 0; i < 18; i++)
			t[i] = check_below(side) - 1;
		for (int i = 0; i < 6 && flat == 0; i++)
			t[3 * i + 2] = t[3 * i] + t[3 * i + 1];
		memcpy(t + 9, t, (size_t) common * 24);
		if (flat == 1) /* The last vertex is coplanar with the others, on either side */
			for (int a = 0; a < 3; a++)
				t[15 + a] = t[a] + (check_below(7) - 3) * 0.5 * (t[3 + a] - t[a]) +
							0.25 * (t[6 + a] - t[a]);
		all_kinds(t, n);
	}
	was_seen(TRIANGLES, 0x73);
	was_seen(SELF, 0x6a);
	forget();
}

/*
 * Tests needles and points on few lines, with common ends or ends inside each other, also against
 * triangles.
 */
static void
needles(void)
{
	for (long n = check_rounds(20000); n > 0; n--)
	{
		int dir[3] = {0}, from[3] = {0}, span = 2 + check_below(4);
		double t[18];

		for (int s = 0; s < 2; s++)
		{
			for (int a = 0; a < 3; a++)
				if (s == 0 || check_below(3) == 0)
				{
					dir[a] = check_below(3) - 1;
					from[a] = check_below(3);
				}
			for (int i = 0; i < 3; i++)
			{
				int at = check_below(span) - span / 2;

				for (int a = 0; a < 3; a++)
					t[9 * s + 3 * i + a] = from[a] + at * dir[a];
			}
		}
		if (check_below(2)) /* One of them is a triangle */
			t[9 + check_below(9)] += check_below(3) - 1;
		if (check_below(4) == 0)
			memcpy(t + 9 + 3 * check_below(3), t + 3 * check_below(3), 24);
		all_kinds(t, n);
	}
	was_seen(TRIANGLES, 0x3b);
	was_seen(SELF, 0x3b);
	was_seen(SEGMENT_TRIANGLE, 0x3b);
	forget();
}

/*
 * Tests what the reference defines for triangles without area, as users of a mesh see them. Each
 * vertex is a letter: five points of one line, and two beside it.
 */
static void
meshes_with_needles(void)
{
	static const struct
	{
		const char *red, *blue;
		int answer;
	} c[] = {
		{"acx", "acx", RB_CONTACT_OF(2, 1)}, /* A duplicate */
		{"acx", "xca", RB_CONTACT_OF(2, 1)},
		{"abc", "cab", RB_CONTACT_OF(1, 1)}, /* A duplicate without area */
		{"aab", "bba", RB_CONTACT_OF(1, 1)},
		{"aaa", "aaa", RB_CONTACT_OF(0, 1)},
		{"abc", "acx", 0}, /* A needle along an edge, including its ends */
		{"acc", "acx", 0},
		{"aaa", "acx", 0},
		{"abc", "adc", 0},                   /* Two needles */
		{"acd", "acx", 0},                   /* Needle extends beyond a common edge */
		{"acd", "ace", RB_CONTACT_OF(1, 1)}, /* Both extend beyond it */
		{"bcd", "bca", 0},                   /* In opposite directions */
		{"abd", "acx", RB_CONTACT_OF(1, 0)}, /* A common vertex and a part of an edge */
		{"aab", "aac", RB_CONTACT_OF(1, 1)},
		{"aab", "aax", 0},
		{"bbb", "acx", RB_CONTACT_OF(0, 0)}, /* A point in an edge */
		{"bbb", "acc", RB_CONTACT_OF(0, 1)}, /* A point in a segment */
		{"acx", "acy", 0},                   /* A common edge in one plane */
		{"acx", "bdy", RB_CONTACT_OF(1, 0)},
		{"bcx", "adx", RB_CONTACT_OF(2, 1)}, /* A folded pair */
	};
	/* a b c d e lie on a line, x to its left, y to its right. */
	static const double slant[][3] = {{0, 0, 0},  {1, 2, -1}, {2, 4, -2}, {3, 6, -3},
									  {4, 8, -4}, {1, 5, 0},  {2, 1, -3}};

	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++)
	{
		double t[18];

		for (int k = 0; k < 6; k++)
		{
			char letter = k < 3 ? c[i].red[k] : c[i].blue[k - 3];

			memcpy(t + 3 * k, slant[letter == 'x' ? 5 : letter == 'y' ? 6 : letter - 'a'], 24);
		}
		leaf(c[i].red, RB_SELF_INTERSECT, RB_TRIANGLE3, RB_TRIANGLE3, t, t + 9, c[i].answer);
		triangles(t, t + 9, true);
	}
	forget();
}

/*
 * Tests a vertex rounded onto the other triangle's plane, edge or vertex, or moved from there by a
 * few ulps.
 */
static void
near_contacts(void)
{
	static const double offset[][3] = {{0, 0, 0}, {500000, 5400000, 300}, {4e6, 6e5, 4.9e6}};

	for (long n = check_rounds(15000); n > 0; n--)
	{
		const double *o = offset[check_below(3)];
		int corners = 1 + check_below(2), shared = check_below(4);
		double t[18];

		for (int i = 0; i < 18; i++)
			t[i] = o[i % 3] + points_unit() * (check_below(2) ? 1 : 0.01);
		for (int k = 0; k < corners; k++)
		{
			int zero = check_below(4);
			double w[3], sum = 0;

			for (int i = 0; i < 3; i++)
				sum += w[i] = i < zero ? 0 : check_below(2) ? 1 : fabs(points_unit());
			if (sum == 0)
				sum = w[0] = 1;
			for (int a = 0; a < 3; a++)
			{
				double x = (w[0] * t[a] + w[1] * t[3 + a] + w[2] * t[6 + a]) / sum;

				t[9 + 3 * k + a] = check_below(2) ? x : points_nudge(x);
			}
		}
		if (shared == 0) /* With a common vertex, too */
			memcpy(t + 15, t + 3 * check_below(3), 24);
		all_kinds(t, n);
	}
	was_seen(TRIANGLES, 0x29);
	was_seen(SELF, 0x28);
	was_seen(SEGMENT_TRIANGLE, 0x19);
	forget();
}

/*
 * Tests all families of points.h, including denormals, huge numbers and random exponents,
 * occasionally with common vertices.
 */
static void
any_points(void)
{
	for (long n = check_rounds(6000); n > 0; n--)
	{
		double t[18];

		points_make((int) (n % POINTS_FAMILIES), 6, 3, t);
		for (int i = 0; i < 3; i++)
			if (check_below(5) == 0)
				memcpy(t + 9 + 3 * i, t + 3 * check_below(3), 24);
		all_kinds(t, n);
	}
	was_seen(TRIANGLES, 0x7b);
	was_seen(SEGMENT_TRIANGLE, 0x3b);
	was_seen(SEGMENTS2, 0x39);
	forget();
}

/*
 * Tests faces of cubes divided into tetrahedra, slightly moved or not: the typical contents of a
 * volume mesh.
 */
static void
volume_meshes(void)
{
	static const double offset[] = {0, 391777.125, 1e-6};

	for (long n = check_rounds(20000); n > 0; n--)
	{
		double jitter = check_below(2) ? 0 : 0x1p-20, o = offset[check_below(3)];
		double t[18], d[2][2][2][3];

		for (int i = 0; i < 24; i++)
			(&d[0][0][0][0])[i] = jitter * points_unit();
		for (int s = 0; s < 2; s++)
		{
			int at[3], way[3] = {0, 1, 2}, corner = 0;

			for (int a = 0; a < 3; a++)
			{
				int other = check_below(3), axis = way[a];

				way[a] = way[other];
				way[other] = axis;
				at[a] = check_below(2);
			}
			/* Three of the vertices from one end of the cube's diagonal to the other */
			for (int step = 0, skip = check_below(4); step < 4; step++)
			{
				int c[3] = {at[0], at[1], at[2]};

				for (int k = 0; k < step; k++)
					c[way[k]]++;
				if (step == skip)
					continue;
				for (int a = 0; a < 3; a++)
					t[9 * s + 3 * corner + a] =
						o + c[a] + d[c[0] & 1][c[1] & 1][c[2] & 1][a] + 0.25 * s * (n % 2);
				corner++;
			}
		}
		all_kinds(t, n);
	}
	was_seen(TRIANGLES, 0x6b);
	was_seen(SELF, 0x6b);
	forget();
}

/*
 * Tests that a pair without contact is rejected by its planes, and that the reference agrees with
 * rb_triangles_meet.
 */
static void
far_and_plain(void)
{
	for (long n = check_rounds(3000); n > 0; n--)
	{
		double t[18];

		points_make(POINTS_UNIFORM, 6, 3, t);
		all_kinds(t, n);
		CHECK(rb_triangles_meet(t, t + 9) == naive_hulls_contact(t, 3, t + 9, 3, 3).meets,
			  "do they meet?");
	}
	was_seen(TRIANGLES, 0x28);
	was_seen(SEGMENT_TRIANGLE, 0x18);
	was_seen(SEGMENTS2, 0x18);
	forget();
}

int
main(void)
{
	CHECK_RUN(twins_agree);
	CHECK_RUN(meshes_with_needles);
	CHECK_RUN(far_and_plain);
	CHECK_RUN(lattice_of_2);
	CHECK_RUN(lattice_of_3);
	CHECK_RUN(lattice_of_5);
	CHECK_RUN(lattice_flat);
	CHECK_RUN(lattice_flat_of_5);
	CHECK_RUN(neighbours);
	CHECK_RUN(needles);
	CHECK_RUN(near_contacts);
	CHECK_RUN(any_points);
	CHECK_RUN(volume_meshes);
	return check_done();
}
