/*
 * distance.c
 *	  Tests distances against rationals (naive_distance.c): the predicate within D, the nearest
 *	  double, the order of two pairs, and padded boxes.
 *
 * RB_TEST_SCALE=3 runs three times as many cases.
 */
#include "fixtures.h"
#include "naive.h"
#include "points.h"
#include "scalar.h"
#include "core/base/redblue.h"
#include "core/join/simd.h"
#include "core/primitive/dispatch.h"

#include <math.h>
#include <string.h>

/*
 * Counters that show whether a family covers all cases: pairs, pairs that meet, distances of
 * exactly D, and the methods that found them
 */
static long pairs, meetings, exact_hits, by_gmp, proofs, in_lanes, not_in_lanes;

static void
families_are_hard(bool meet, bool hit)
{
	CHECK(pairs > 0, "no pair");
	CHECK(meetings < pairs, "all of %ld meet", pairs);
	CHECK(!meet || meetings > 0, "none of %ld meets", pairs);
	CHECK(!hit || exact_hits > 0, "none of %ld is at a distance that is a double", pairs);
	pairs = meetings = exact_hits = by_gmp = 0;
}

typedef struct pair
{
	rb_kind kind[2];
	double at[2][9];
	mpq_t square; /* Exact value */
} pair;

static void
print_pair(const pair *p)
{
	for (int side = 0; side < 2; side++)
	{
		printf("#   %s", side == 0 ? "red " : "blue");
		for (int i = 0; i < rb_kind_width(p->kind[side]); i++)
			printf(" %a", p->at[side][i]);
		printf("\n");
	}
}

/* Returns the sign of the exact square minus the square of number + half * ulp / 2. */
static int
truth_against(const mpq_t square, double number, int half)
{
	mpq_t x, y;
	int sign;

	mpq_inits(x, y, NULL);
	mpq_set_d(x, number);
	if (half != 0)
	{
		double other = nextafter(number, half > 0 ? INFINITY : 0);

		if (isinf(other))
		{
			/* Half an ulp of the largest double, 2^970 */
			mpz_ui_pow_ui(mpq_numref(y), 2, 970);
			mpq_add(x, x, y);
		}
		else
		{
			mpq_set_d(y, other);
			mpq_add(x, x, y);
			mpq_div_2exp(x, x, 1);
		}
	}
	mpq_mul(x, x, x);
	sign = mpq_cmp(square, x);
	mpq_clears(x, y, NULL);
	return (sign > 0) - (sign < 0);
}

static const uint32_t filter_sets[] = {RB_FILTER_ALL, RB_FILTER_ALL & ~RB_FILTER_SIGNS,
									   RB_FILTER_ALL & ~RB_FILTER_INTERVAL,
									   RB_FILTER_ALL & ~(RB_FILTER_SIGNS | RB_FILTER_INTERVAL), 0};
#define FILTER_SETS ((int) (sizeof filter_sets / sizeof filter_sets[0]))

static void
within_is_right(const pair *p, double distance)
{
	int truth, expect, answer;

	if (!(distance >= 0 && distance <= DBL_MAX))
		return;
	truth = truth_against(p->square, distance, 0) <= 0;
	expect = truth ? RB_WITHIN_OF(mpq_sgn(p->square) == 0) : 0;
	exact_hits += mpq_sgn(p->square) != 0 && truth_against(p->square, distance, 0) == 0;
	for (int i = 0; i < 2 * FILTER_SETS; i++)
	{
		rb_exact_env env = {
			.filters = filter_sets[i / 2], .exact = i % 2 == 0, .distance = distance};

		answer = rb_pair_decide(&env, RB_WITHIN, p->kind[0], p->kind[1], p->at[0], p->at[1]);
		CHECK(answer == expect || (!env.exact && answer == RB_UNSURE),
			  "%d, not %d, within %a, filters %x, exact %d", answer, expect, distance, env.filters,
			  env.exact);
		if (answer != expect && (env.exact || answer != RB_UNSURE) && check_failures <= 10)
			print_pair(p);
		by_gmp += i == 0 && env.gmp > 0;
	}
	/* A pair within D must pass the box test, whichever of the two boxes is padded. */
	if (truth)
		for (int side = 0; side < 2; side++)
		{
			double lo[2][3], hi[2][3];

			for (int k = 0; k < 2; k++)
				rb_kind_box(p->kind[k], p->at[k], 0, lo[k], hi[k]);
			rb_box_pad(lo[side], hi[side], distance);
			CHECK(rb_boxes_overlap(lo[0], hi[0], lo[1], hi[1]), "boxes lose it, within %a",
				  distance);
		}
}

/* Returns true if r is the double nearest to the exact distance. */
static bool
is_nearest(const mpq_t square, double r)
{
	uint64_t bits;
	int below, above;

	if (mpq_sgn(square) == 0 || r == 0)
		return mpq_sgn(square) == 0 && r == 0;
	memcpy(&bits, &r, sizeof bits);
	if (isinf(r))
		return truth_against(square, DBL_MAX, 1) >= 0;
	below = r == 0x1p-1074 ? 1 : truth_against(square, r, -1);
	above = truth_against(square, r, 1);
	return bits % 2 == 0 ? below >= 0 && above <= 0 : below > 0 && above < 0;
}

/* Checks that the bounds of the second step are valid, in both of its variants. */
static void
bracket_holds(const pair *p)
{
	rb_hulls h;
	rb_local_hulls a;
	rb_square_bounds c = {-1, RB_INFINITY};
	rb_feet f;
	rb_bracket b;
	mpq_t x, y;

	rb_pair_hulls(&h, p->kind[0], p->kind[1], p->at[0], p->at[1]);
	if (mpq_sgn(p->square) == 0 || !rb_apart_init(&a, &h))
		return;
	CHECK(rb_feet_find(&a, &c, &f) == RB_UNSURE, "sure of nothing");
	mpq_inits(x, y, NULL);
	for (int way = 0; way < 2; way++)
	{
		if (way == 0)
			rb_feet_bounds(&h, a.size, &f, &b);
		else if (f.proved)
			rb_feet_flats(&h, a.size, &f, &b);
		else
			break;
		proofs += way;
		for (int side = 0; side < 2; side++)
		{
			rb_double_double end = side == 0 ? b.lo : b.hi;

			mpq_set_d(x, end.high);
			mpq_set_d(y, end.low);
			mpq_add(x, x, y);
			mpq_set_d(y, b.error);
			if (side == 0)
				mpq_sub(x, x, y);
			else
				mpq_add(x, x, y);
			if (side == 0 && mpq_sgn(x) < 0)
				continue;
			mpq_mul(x, x, x);
			CHECK(side == 0 ? mpq_cmp(x, p->square) <= 0 : mpq_cmp(x, p->square) >= 0,
				  "bound %d of way %d does not hold", side, way);
		}
	}
	mpq_clears(x, y, NULL);
}

/* Builds the same pair with its sides exchanged and its corners in another order. */
static void
turned(const pair *p, pair *q)
{
	for (int side = 0; side < 2; side++)
	{
		int n = rb_kind_points(p->kind[side]), dims = rb_kind_dims(p->kind[side]);
		int turn = check_below(n), back = check_below(2);

		q->kind[1 - side] = p->kind[side];
		for (int i = 0; i < n; i++)
		{
			const int to = ((back ? n - 1 - i : i) + turn) % n;

			memcpy(q->at[1 - side] + dims * to, p->at[side] + dims * i,
				   (size_t) dims * sizeof(double));
		}
	}
	mpq_set(q->square, p->square);
}

/* Checks that the SIMD kernel computes the same double, or none. */
static void
lanes_agree(const pair *p, double r)
{
	const rb_kernel *kernel = rb_kernel_best();
	const rb_pair same[3] = {{0, 0}, {0, 0}, {0, 0}};
	double distance[3];

	if (p->kind[0] != RB_TRIANGLE3 || p->kind[1] != RB_TRIANGLE3 || r == 0 || kernel->apart == NULL)
		return;
	kernel->apart(p->at[0], p->at[1], same, 3, distance);
	for (int i = 0; i < 3; i++)
		CHECK(distance[i] == 0 || distance[i] == r, "%a, not %a, in lanes", distance[i], r);
	if (distance[0] != 0 && distance[0] != r && check_failures <= 10)
		print_pair(p);
	in_lanes += distance[0] == r;
	not_in_lanes += distance[0] == 0;
}

static void
all_questions(const pair *p)
{
	double r = distance_of(p->kind[0], p->kind[1], p->at[0], p->at[1]);
	bool right = is_nearest(p->square, r);

	CHECK(right, "%a is not the nearest double to %a", r, sqrt(mpq_get_d(p->square)));
	if (!right && check_failures <= 10)
		print_pair(p);
	for (int i = 0; i < 2 * FILTER_SETS; i++)
	{
		rb_exact_env env = {.filters = filter_sets[i / 2], .exact = i % 2 == 0};
		double other;
		int answer = rb_pair_distance(&env, p->kind[0], p->kind[1], p->at[0], p->at[1], &other);

		CHECK(answer == RB_YES ? other == r : !env.exact && answer == RB_UNSURE,
			  "%a, not %a, answer %d, filters %x, exact %d", other, r, answer, env.filters,
			  env.exact);
	}
	bracket_holds(p);
	lanes_agree(p, r);
	within_is_right(p, 0);
	within_is_right(p, r);
	within_is_right(p, nextafter(r, 0));
	within_is_right(p, nextafter(r, INFINITY));
	within_is_right(p, r * 0.5);
	within_is_right(p, r * 2);
	within_is_right(p, r * (1 + ldexp(points_unit(), -check_below(52))));
	within_is_right(p, r * (1 + ldexp(points_unit(), -35 - check_below(17))));
	if (check_below(20) == 0)
	{
		within_is_right(p, 0x1p-1074);
		within_is_right(p, DBL_MAX);
		within_is_right(p, ldexp(1, check_below(2090) - 1070));
	}
}

static pair last;

/* Compares the pair with itself after one coordinate is changed by a tiny amount. */
static void
order_with_neighbour(const pair *p)
{
	pair q = *p;
	double *x = &q.at[0][check_below(rb_kind_width(p->kind[0]))];
	int truth, order;

	*x = points_nudge(*x);
	mpq_init(q.square);
	naive_distance_square(q.square, q.at[0], rb_kind_points(q.kind[0]), q.at[1],
						  rb_kind_points(q.kind[1]), rb_kind_dims(q.kind[0]));
	truth = mpq_cmp(p->square, q.square);
	truth = (truth > 0) - (truth < 0);
	order = compare_distances(p->kind[0], p->kind[1], p->at[0], p->at[1], q.at[0], q.at[1]);
	CHECK(order == truth, "order %d, not %d", order, truth);
	order = compare_distances(p->kind[0], p->kind[1], q.at[0], q.at[1], p->at[0], p->at[1]);
	CHECK(order == -truth, "order %d, not %d", order, -truth);
	mpq_clear(q.square);
}

/* Runs all checks on a pair whose exact distance is not computed yet. */
static void
look_at(pair *p)
{
	int dims = rb_kind_dims(p->kind[0]);
	pair q;

	mpq_init(q.square);
	naive_distance_square(p->square, p->at[0], rb_kind_points(p->kind[0]), p->at[1],
						  rb_kind_points(p->kind[1]), dims);
	pairs++;
	meetings += mpq_sgn(p->square) == 0;
	all_questions(p);
	turned(p, &q);
	all_questions(&q);
	if (pairs % 2 == 0)
		order_with_neighbour(p);

	/* Check the order of this pair and the previous one, if that has the same kinds. */
	if (pairs > 1 && last.kind[0] == p->kind[0] && last.kind[1] == p->kind[1])
	{
		int truth = mpq_cmp(p->square, last.square);

		truth = (truth > 0) - (truth < 0);
		CHECK(compare_distances(p->kind[0], p->kind[1], last.at[0], last.at[1], p->at[0],
								p->at[1]) == -truth,
			  "not %d", -truth);
		CHECK(compare_distances(p->kind[0], p->kind[1], p->at[0], p->at[1], p->at[0], p->at[1]) ==
				  0,
			  "not its own equal");
	}
	for (int side = 0; side < 2; side++)
	{
		last.kind[side] = p->kind[side];
		memcpy(last.at[side], p->at[side], sizeof last.at[side]);
	}
	mpq_set(last.square, p->square);
	mpq_clear(q.square);
}

/* Chooses the kinds of a pair in space in turn; in the plane there is only one. */
static void
choose_kinds(pair *p, long round)
{
	static const rb_kind kinds[4][2] = {{RB_TRIANGLE3, RB_TRIANGLE3},
										{RB_SEGMENT3, RB_TRIANGLE3},
										{RB_TRIANGLE3, RB_SEGMENT3},
										{RB_SEGMENT2, RB_SEGMENT2}};
	const rb_kind *k = kinds[round % 8 < 5 ? 0 : round % 8 - 4];

	p->kind[0] = k[0];
	p->kind[1] = k[1];
}

/* Returns the coordinates of corner i of a side. */
static double *
corner(pair *p, int side, int i)
{
	return p->at[side] + rb_kind_dims(p->kind[side]) * i;
}

#define EACH_COORDINATE(p)                                        \
	for (int side = 0; side < 2; side++)                          \
		for (int i = 0; i < rb_kind_points((p)->kind[side]); i++) \
			for (int a = 0; a < rb_kind_dims((p)->kind[side]); a++)

/* ---- families ---- */

static void
grid(int side_length, bool flat, long rounds)
{
	pair p;

	mpq_init(p.square);
	for (long n = check_rounds(rounds / 3); n > 0; n--)
	{
		choose_kinds(&p, n);
		EACH_COORDINATE(&p)
		{
			corner(&p, side, i)[a] = check_below(side_length);
			if (flat && a == 2)
				corner(&p, side, i)[a] = side;
		}
		if (check_below(4) == 0)
			EACH_COORDINATE(&p)
			{
				corner(&p, side, i)[a] *= 0.1;
			}
		look_at(&p);
	}
	mpq_clear(p.square);
	families_are_hard(side_length < 10 && !flat, side_length < 10);
}

static void
grid_of_2(void)
{
	grid(2, false, 400);
}

static void
grid_of_4(void)
{
	grid(4, false, 1500);
}

static void
grid_of_30(void)
{
	grid(30, false, 600);
}

static void
two_parallel_planes(void)
{
	grid(6, true, 800);
}

/*
 * Tests triangles behind a plane whose normal has an integer length, and others in front of a
 * parallel plane. Some corners of each lie on the planes, so that the distance is often exactly an
 * integer.
 */
static void
whole_distances(void)
{
	static const int normal[][3] = {{3, 4, 0}, {1, 2, 2},  {2, 3, 6},   {0, 0, 1},
									{4, 4, 7}, {12, 0, 5}, {20, 21, 0}, {6, 6, 7}};
	static const double scale[] = {1, 0.125, 0x1p-20, 0x1p-480, 0x1p480, 0x1p-90, 0x1p101};
	pair p;

	mpq_init(p.square);
	for (long n = check_rounds(500); n > 0; n--)
	{
		const int *m = normal[check_below(8)];
		int u[3] = {m[1], -m[0], 0}, v[3] = {0, m[2], -m[1]};
		double size = scale[check_below(8) < 4 ? 0 : check_below(7)];
		double by[3];

		if (m[1] == 0)
		{
			u[0] = m[2], u[1] = 0, u[2] = -m[0];
			v[0] = 0, v[1] = 1, v[2] = 0;
		}
		choose_kinds(&p, n);
		for (int a = 0; a < 3; a++)
			by[a] = check_below(3) == 0 ? 1000 * check_below(1000) : 0;
		for (int side = 0; side < 2; side++)
			for (int i = 0; i < rb_kind_points(p.kind[side]); i++)
			{
				int s = check_below(5), t = check_below(5), h = check_below(2) ? check_below(4) : 0;

				h = side == 0 ? -h : 1 + h;
				for (int a = 0; a < rb_kind_dims(p.kind[side]); a++)
					corner(&p, side, i)[a] = size * (s * u[a] + t * v[a] + h * m[a] + by[a]);
			}
		look_at(&p);
	}
	mpq_clear(p.square);
	families_are_hard(false, true);
}

/* Tests pairs in general position, from touching to far apart, of many sizes. */
static void
random_pairs(void)
{
	static const double scale[] = {1, 1e-6, 1e6, 1e-150, 1e150, 1e-29, 1e30};
	pair p;

	mpq_init(p.square);
	for (long n = check_rounds(500); n > 0; n--)
	{
		double size = scale[check_below(7)];
		double away = ldexp(points_unit(), 2 - check_below(30));
		bool mixed = check_below(6) == 0;

		choose_kinds(&p, n);
		EACH_COORDINATE(&p)
		{
			corner(&p, side, i)[a] = size * (points_unit() + (side == 1 && a == 0 ? 2 + away : 0));
			if (mixed)
				corner(&p, side, i)[a] *= scale[check_below(7)];
		}
		look_at(&p);
	}
	mpq_clear(p.square);
	families_are_hard(false, false);
}

/*
 * Tests pairs whose blue object is red, or a part of it, slightly moved: parallel edges and faces,
 * rounded.
 */
static void
parallel_pairs(void)
{
	pair p;

	mpq_init(p.square);
	for (long n = check_rounds(330); n > 0; n--)
	{
		double by[3], offset = check_below(3) == 0 ? 6e6 : 0;
		int bits = check_below(40);

		choose_kinds(&p, n);
		for (int a = 0; a < 3; a++)
			by[a] = check_below(3) == 0 ? 0 : ldexp(points_unit(), -bits);
		for (int i = 0; i < rb_kind_points(p.kind[0]); i++)
			for (int a = 0; a < rb_kind_dims(p.kind[0]); a++)
				corner(&p, 0, i)[a] = points_unit() + offset;
		for (int i = 0; i < rb_kind_points(p.kind[1]); i++)
			for (int a = 0; a < rb_kind_dims(p.kind[1]); a++)
			{
				int from = check_below(8) == 0 ? 0 : i;

				if (from >= rb_kind_points(p.kind[0]))
					from = 0;
				corner(&p, 1, i)[a] = corner(&p, 0, from)[a] + by[a];
				if (check_below(10) == 0)
					corner(&p, 1, i)[a] = points_nudge(corner(&p, 1, i)[a]);
			}
		look_at(&p);
	}
	mpq_clear(p.square);
	families_are_hard(true, false);
}

/* Tests objects that have no area or length, or almost none. */
static void
needles_and_points(void)
{
	pair p;

	mpq_init(p.square);
	for (long n = check_rounds(500); n > 0; n--)
	{
		bool whole = check_below(2);

		choose_kinds(&p, n);
		for (int side = 0; side < 2; side++)
		{
			int dims = rb_kind_dims(p.kind[side]), points = rb_kind_points(p.kind[side]);
			int what = check_below(4);
			double *c = p.at[side];

			for (int i = 0; i < dims * points; i++)
				c[i] = whole ? check_below(5) : points_unit();
			if (what == 0)
				for (int i = dims; i < dims * points; i++)
					c[i] = c[i - dims]; /* A point */
			else if (points == 3 && what <= 2)
				for (int a = 0; a < dims; a++)
				{
					static const double parts[] = {0, 0.5, 1, 2, -0.5};
					double part = parts[check_below(5)];

					if (!whole)
						part = points_unit();
					if (a == 0)
						c[6] = part;
					else if (a == 1)
						c[7] = c[1] + c[6] * (c[4] - c[1]);
					else
					{
						c[8] = c[2] + c[6] * (c[5] - c[2]);
						c[6] = c[0] + c[6] * (c[3] - c[0]);
						if (what == 2)
							c[6] = points_nudge(c[6]);
					}
				}
		}
		look_at(&p);
	}
	mpq_clear(p.square);
	families_are_hard(true, true);
}

/* Tests millimeters at large map coordinates. */
static void
map_coordinates(void)
{
	pair p;

	mpq_init(p.square);
	for (long n = check_rounds(330); n > 0; n--)
	{
		static const double origin[3] = {391777.123, 5820111.456, 34.5};
		bool rounded = check_below(2);

		choose_kinds(&p, n);
		EACH_COORDINATE(&p)
		{
			double x = origin[a] + 0.001 * (check_below(9) + (side == 1 && a == 0 ? 5 : 0));

			corner(&p, side, i)[a] = rounded ? round(x * 1000) / 1000 : x;
		}
		look_at(&p);
	}
	mpq_clear(p.square);
	families_are_hard(true, false);
}

/* Tests pairs that are nearly in contact on edges or at corners. */
static void
near_contacts(void)
{
	pair p;

	mpq_init(p.square);
	for (long n = check_rounds(330); n > 0; n--)
	{
		double s = 0.25 * check_below(5), t = (1 - s) * 0.25 * check_below(5);
		double hair = ldexp(points_unit(), -check_below(60));

		p.kind[0] = n % 4 == 0 ? RB_SEGMENT3 : RB_TRIANGLE3;
		p.kind[1] = RB_TRIANGLE3;
		EACH_COORDINATE(&p)
		{
			corner(&p, side, i)[a] = points_unit();
		}
		for (int a = 0; a < 3; a++)
		{
			double *c = p.at[1];

			p.at[0][a] = c[a] + s * (c[3 + a] - c[a]) + t * (c[6 + a] - c[a]) + hair * (a == 1);
		}
		look_at(&p);
	}
	mpq_clear(p.square);
	families_are_hard(false, false);
}

/*
 * Tests two edges at a small angle whose lines are nearest at or near an end of one of them: in
 * doubles it is hard to decide on which side of the end.
 */
static void
nearly_parallel_edges(void)
{
	pair p;

	mpq_init(p.square);
	for (long n = check_rounds(270); n > 0; n--)
	{
		double angle = ldexp(1 + points_unit() / 2, -8 - check_below(14));
		double end = ldexp(points_unit(), -check_below(50)), height = ldexp(1, -check_below(8));
		double x[18] = {end,  0,          0,      1,   0,         0,      0.5, 0, -1,
						-0.5, -angle / 2, height, 0.5, angle / 2, height, 0,   0, 2};
		double u[3] = {1, 0, 0}, v[3] = {0, 1, 0}, w[3] = {0, 0, 1};

		/* Rotated about z, then about x, as exactly as doubles allow */
		if (check_below(3) > 0)
		{
			double s = points_unit(), t = points_unit();
			double cs = sqrt(1 - s * s), ct = sqrt(1 - t * t);

			u[0] = cs, u[1] = s * ct, u[2] = s * t;
			v[0] = -s, v[1] = cs * ct, v[2] = cs * t;
			w[1] = -t, w[2] = ct;
		}
		choose_kinds(&p, n);
		EACH_COORDINATE(&p)
		{
			const double *c = x + 9 * side + 3 * i;

			corner(&p, side, i)[a] = c[0] * u[a] + c[1] * v[a] + c[2] * w[a];
		}
		look_at(&p);
	}
	mpq_clear(p.square);
	families_are_hard(false, false);
}

/* Tests the hard cases of points.h: denormals, huge numbers, and random bits. */
static void
wild_exponents(void)
{
	pair p;

	mpq_init(p.square);
	for (int family = 0; family < POINTS_FAMILIES; family++)
		for (long n = check_rounds(20); n > 0; n--)
		{
			double x[18];
			int dims;

			choose_kinds(&p, n);
			dims = rb_kind_dims(p.kind[0]);
			points_make(family, 6, dims, x);
			for (int side = 0; side < 2; side++)
				memcpy(p.at[side], x + side * 3 * dims,
					   (size_t) rb_kind_width(p.kind[side]) * sizeof(double));
			look_at(&p);
		}
	mpq_clear(p.square);
	families_are_hard(true, false);
}

/*
 * Tests two points whose distance is a square root: midpoints between doubles, denormals, and
 * infinity.
 */
static void
roots(void)
{
	static const double x[] = {0x1p-1074, 0x1.8p-1073, 0x1p-1022, 1, 0x1p53 + 2, 0x1p1023, DBL_MAX};
	pair p;

	mpq_init(p.square);
	for (int i = 0; i < 7; i++)
		for (int j = 0; j < 7; j++)
			for (int k = 0; k < 4; k++)
			{
				memset(p.at, 0, sizeof p.at);
				p.kind[0] = p.kind[1] = RB_SEGMENT2;
				p.at[1][0] = p.at[1][2] = k % 2 ? -x[i] : x[i];
				p.at[1][1] = p.at[1][3] = k / 2 ? x[j] : 0;
				p.at[0][0] = p.at[0][2] = k % 2 && k / 2 ? x[i] : 0;
				look_at(&p);
				/* 2^53 + 1 is a midpoint. */
				p.at[1][0] = p.at[1][2] = 0x1p53;
				p.at[0][0] = p.at[0][2] = k % 2 ? -1 : -3;
				p.at[1][1] = p.at[1][3] = 0;
				look_at(&p);
			}
	mpq_clear(p.square);
	families_are_hard(false, true);
}

/* ---- single steps ---- */

/* Tests that GMP finds the same result, whatever the initial guess. */
static void
any_guess_will_do(void)
{
	for (long n = check_rounds(200); n > 0; n--)
	{
		rb_hulls h;
		rb_square square;
		double truth = -1;

		for (int i = 0; i < 18; i++)
			h.corner[i / 3][i % 3] = check_below(4) + (i >= 9 ? 3 : 0) * (i % 3 == 0);
		h.n[0] = h.n[1] = 3;
		for (int i = 0; i < 7 * 7; i++)
		{
			int of[2] = {i / 7, i % 7};
			double r;

			for (int side = 0; side < 2; side++)
			{
				h.guess[side].dim = of[side] / 3;
				h.guess[side].at = of[side] % 3;
			}
			if (h.guess[0].dim + h.guess[1].dim > 2)
				continue;
			r = rb_gmp_distance(&h, 0, HUGE_VAL);
			CHECK(truth < 0 || r == truth, "%a, not %a", r, truth);
			truth = r;
			CHECK(rb_gmp_distance_sign(&h, nextafter(r, INFINITY)) < 0, "above");
			CHECK(r == 0 || rb_gmp_distance_sign(&h, nextafter(r, 0)) > 0, "below");
			rb_gmp_square_of(&square, &h);
			CHECK(rb_gmp_square_order(&square, &h) == 0, "order");
		}
	}
}

/* Tests the error bounds of double-double arithmetic. */
static void
twofold_bounds(void)
{
	static const double bound[] = {0, 4, 8, 24, 4};
	mpq_t x, y, z, real, e;

	mpq_inits(x, y, z, real, e, NULL);
	for (long n = check_rounds(20000); n > 0; n--)
	{
		int what = check_below(5), close = check_below(3);
		double a = points_unit(), b = ldexp(points_unit(), -check_below(8));
		double c = close ? points_nudge(a) : points_unit();
		double d = close == 1 ? points_nudge(b) : ldexp(points_unit(), -check_below(8));
		rb_double_double p, q, r;

		p = rb_double_double_difference(a, ldexp(b, -40 - check_below(40)));
		q = rb_double_double_difference(check_below(2) ? c : -c, ldexp(d, -40 - check_below(40)));
		mpq_set_d(x, p.high);
		mpq_set_d(e, p.low);
		mpq_add(x, x, e);
		mpq_set_d(y, q.high);
		mpq_set_d(e, q.low);
		mpq_add(y, y, e);
		if (mpq_sgn(x) <= 0 || mpq_sgn(y) == 0)
			continue;
		switch (what)
		{
			case 0:
				r = rb_double_double_difference(a, b);
				mpq_set_d(real, a);
				mpq_set_d(e, b);
				mpq_sub(real, real, e);
				break;
			case 1:
				r = rb_double_double_sub(p, q);
				mpq_sub(real, x, y);
				break;
			case 2:
				r = rb_double_double_mul(p, q);
				mpq_mul(real, x, y);
				break;
			case 3:
				r = rb_double_double_div(p, q);
				mpq_div(real, x, y);
				break;
			default:
				/* For the root r of x, the error of r^2 is about twice that of r. */
				r = rb_double_double_sqrt(p);
				mpq_set(real, x);
				break;
		}
		mpq_set_d(z, r.high);
		mpq_set_d(e, r.low);
		mpq_add(z, z, e);
		if (what == 4)
			mpq_mul(z, z, z);
		mpq_sub(z, z, real);
		mpq_abs(z, z);
		mpq_set_d(e, bound[what] * (what == 4 ? 2 : 1) * RB_EPS_DOUBLE_DOUBLE);
		mpq_abs(real, real);
		mpq_mul(e, e, real);
		CHECK(mpq_cmp(z, e) <= 0, "operation %d: %g of %g", what, mpq_get_d(z), mpq_get_d(e));
		CHECK(r.high + r.low == r.high, "operation %d: high is not the rounded sum", what);
	}
	mpq_clears(x, y, z, real, e, NULL);
}

static void
padded_boxes(void)
{
	mpq_t x, y;

	mpq_inits(x, y, NULL);
	for (long n = check_rounds(3000); n > 0; n--)
	{
		double lo[3], hi[3], padded_lo[3], padded_hi[3], c[9];
		double distance = fabs(n % 3 == 0 ? points_any() : n % 3 == 1 ? points_special() : 0.1);

		if (n % 7 == 0)
			distance = 0;
		points_make(check_below(POINTS_FAMILIES), 3, 3, c);
		rb_points_box(c, 3, 3, lo, hi);
		memcpy(padded_lo, lo, sizeof lo);
		memcpy(padded_hi, hi, sizeof hi);
		rb_box_pad(padded_lo, padded_hi, distance);
		for (int a = 0; a < 3; a++)
			for (int side = 0; side < 2; side++)
			{
				double from = side == 0 ? -lo[a] : hi[a];
				double to = side == 0 ? -padded_lo[a] : padded_hi[a];

				mpq_set_d(x, from);
				mpq_set_d(y, distance);
				mpq_add(x, x, y);
				CHECK(isfinite(to), "%a by %a is %a", from, distance, to);
				mpq_set_d(y, to);
				CHECK(to == DBL_MAX || mpq_cmp(y, x) >= 0, "%a by %a is %a", from, distance, to);
				CHECK(distance > 0 || to == from, "moved by 0");
				/* It is not much larger than necessary. */
				mpq_set_d(y, nextafter(nextafter(nextafter(to, -DBL_MAX), -DBL_MAX), -DBL_MAX));
				CHECK(distance == 0 || mpq_cmp(y, x) < 0, "%a by %a is %a, too far", from, distance,
					  to);
			}
	}
	mpq_clears(x, y, NULL);
	{
		double lo[3], hi[3], other[3] = {0, 0, 0};

		rb_box_empty(lo, hi);
		rb_box_pad(lo, hi, DBL_MAX);
		CHECK(!rb_boxes_overlap(lo, hi, other, other), "an empty box holds something");
	}
}

/* ---- GMP's allocator ---- */

static void
gmp_stays_off_the_heap(void)
{
	count_gmp_allocations();
	for (int family = 0; family <= POINTS_FAMILIES; family++)
		for (long n = check_rounds(50); n > 0; n--)
		{
			rb_hulls h[2];
			rb_square square;

			for (int k = 0; k < 2; k++)
			{
				if (family < POINTS_FAMILIES)
					points_make(family, 6, 3, h[k].corner[0]);
				else /* The longest possible numbers */
					for (int i = 0; i < 18; i++)
					{
						double x = check_below(2) ? 0x1.fffffffffffffp1023 : 0x1p-1074;

						h[k].corner[i / 3][i % 3] = check_below(2) ? -x : x;
					}
				for (int side = 0; side < 2; side++)
				{
					h[k].n[side] = 2 + check_below(2);
					h[k].guess[side].dim = h[k].guess[side].at = check_below(2);
				}
			}
			rb_gmp_distance(&h[0], 0, HUGE_VAL);
			rb_gmp_distance_sign(&h[0], points_special() < 0 ? 0x1p-1074 : DBL_MAX);
			rb_gmp_square_of(&square, &h[0]);
			rb_gmp_square_order(&square, &h[1]);
		}
	CHECK(gmp_allocations == 0, "%ld allocations", gmp_allocations);
	uncount_gmp_allocations();
}

/* Checks that all families used the SIMD kernel, too, and that some pairs were too hard for it. */
static void
lanes_were_asked(void)
{
	CHECK(rb_kernel_best()->apart == NULL || (in_lanes > 50 && not_in_lanes > 50),
		  "%ld found, %ld not", in_lanes, not_in_lanes);
}

int
main(void)
{
	mpq_init(last.square);
	CHECK_RUN(grid_of_2);
	CHECK_RUN(grid_of_4);
	CHECK_RUN(grid_of_30);
	CHECK_RUN(two_parallel_planes);
	CHECK_RUN(whole_distances);
	CHECK_RUN(random_pairs);
	CHECK_RUN(parallel_pairs);
	CHECK_RUN(needles_and_points);
	CHECK_RUN(map_coordinates);
	CHECK_RUN(near_contacts);
	CHECK_RUN(nearly_parallel_edges);
	CHECK_RUN(wild_exponents);
	CHECK_RUN(roots);
	CHECK_RUN(lanes_were_asked);
	CHECK_RUN(any_guess_will_do);
	CHECK_RUN(twofold_bounds);
	CHECK_RUN(padded_boxes);
	mpq_clear(last.square);
	CHECK_RUN(gmp_stays_off_the_heap);
	return check_done();
}
