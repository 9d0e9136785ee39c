/*
 * line_intervals.c
 *	  Tests which intervals of a line lie in a solid, against rational arithmetic.
 *
 * The reference for a line finds, as rationals, all points at which it can change sides, and the
 * side of the midpoint between two of them by a ray in a random direction. Lengths, and fractions
 * of lines with several directions, are computed with floats of 2000 bits.
 */
#include "solids.h"
#include "fixtures.h"
#include "naive.h"
#include "naive_solid.h"
#include "points.h"
#include "core/solid/solid.h"
#include "core/primitive/ray.h"
#include "core/primitive/box.h"

#include <time.h>

#define MOST_SEGMENTS 8
#define MOST_PLACES 2000
#define FLOAT_BITS 2000

static rb_memory *memory;
static rb_context ctx;

/* ---- reference ---- */

/* An interval of the line, or a piece of one, on one or several segments */
typedef struct truth
{
	int first; /* Segment */
	int last;
	mpq_t from; /* Parameters on the segments */
	mpq_t to;
	int side; /* 1 if inside, 0 if on the boundary */
} truth;

static truth truths[MOST_PLACES];
static int ntruths;

static int
compare_places(const void *p, const void *q)
{
	return mpq_cmp(*(const mpq_t *) p, *(const mpq_t *) q);
}

static const double *
segment_of(const double *segments, int i)
{
	return segments + 6 * i;
}

static bool
is_point(const double *segment)
{
	return memcmp(segment, segment + 3, 3 * sizeof(double)) == 0;
}

/* Finds the intervals of the line inside and on the boundary, joining consecutive ones. */
static void
find_truth(const solid *s, const double *segments, int n)
{
	static mpq_t places[MOST_PLACES];
	bool goes_on = false;

	for (int i = 0; i < ntruths; i++)
		mpq_clears(truths[i].from, truths[i].to, NULL);
	ntruths = 0;
	for (int k = 0; k < n; k++)
	{
		const double *a = segment_of(segments, k), *b = a + 3;
		int nplaces = 2;

		if (k > 0 && memcmp(a - 3, a, 3 * sizeof(double)) != 0)
			goes_on = false;
		if (is_point(a))
			continue;
		mpq_init(places[0]);
		mpq_init(places[1]);
		mpq_set_ui(places[1], 1, 1);
		for (int i = 0; i < s->n; i++)
		{
			mpq_t found[16];
			int m = naive_events(a, b, s->t + 9 * i, found);

			for (int j = 0; j < m; j++)
			{
				naive_point p;

				naive_point_init(&p);
				naive_point_between(&p, a, b, found[j]);
				if (nplaces < MOST_PLACES && naive_on(&p, s->t + 9 * i))
				{
					mpq_init(places[nplaces]);
					mpq_set(places[nplaces++], found[j]);
				}
				naive_point_clear(&p);
				mpq_clear(found[j]);
			}
		}
		qsort(places, (size_t) nplaces, sizeof places[0], compare_places);
		for (int i = 1; i < nplaces; i++)
		{
			naive_point p;
			mpq_t middle;
			int side;
			truth *last = ntruths > 0 ? &truths[ntruths - 1] : NULL;

			if (mpq_equal(places[i - 1], places[i]))
				continue;
			mpq_init(middle);
			naive_point_init(&p);
			mpq_add(middle, places[i - 1], places[i]);
			mpq_div_2exp(middle, middle, 1);
			naive_point_between(&p, a, b, middle);
			side = naive_side(&p, s->t, s->n);
			mpq_clear(middle);
			naive_point_clear(&p);
			if (side < 0)
				goes_on = false;
			else if (goes_on && last->side == side)
			{
				last->last = k;
				mpq_set(last->to, places[i]);
			}
			else
			{
				truth *x = &truths[ntruths++];

				mpq_inits(x->from, x->to, NULL);
				x->first = x->last = k;
				x->side = side;
				mpq_set(x->from, places[i - 1]);
				mpq_set(x->to, places[i]);
				goes_on = true;
			}
		}
		for (int i = 0; i < nplaces; i++)
			mpq_clear(places[i]);
	}
}

static void
length_of(mpf_t length, const double *segment)
{
	mpf_t d;

	mpf_init2(d, FLOAT_BITS);
	mpf_set_ui(length, 0);
	for (int a = 0; a < 3; a++)
	{
		mpf_t x;

		mpf_init2(x, FLOAT_BITS);
		mpf_set_d(d, segment[3 + a]);
		mpf_set_d(x, segment[a]);
		mpf_sub(d, d, x);
		mpf_mul(d, d, d);
		mpf_add(length, length, d);
		mpf_clear(x);
	}
	mpf_sqrt(length, length);
	mpf_clear(d);
}

/* Computes the length of the line from its start to a point of segment k. */
static void
distance_to(mpf_t distance, const double *segments, int k, const mpq_t t)
{
	mpf_t l, x;

	mpf_init2(l, FLOAT_BITS);
	mpf_init2(x, FLOAT_BITS);
	mpf_set_ui(distance, 0);
	for (int i = 0; i <= k; i++)
	{
		length_of(l, segment_of(segments, i));
		if (i == k)
		{
			mpf_set_q(x, t);
			mpf_mul(l, l, x);
		}
		mpf_add(distance, distance, l);
	}
	mpf_clears(l, x, NULL);
}

static bool
is_within_an_ulp(double d, const mpf_t x)
{
	mpf_t y, ulp;
	bool within;

	mpf_init2(y, FLOAT_BITS);
	mpf_init2(ulp, FLOAT_BITS);
	mpf_set_d(y, d);
	mpf_sub(y, y, x);
	mpf_abs(y, y);
	mpf_set_d(ulp, nextafter(d, INFINITY) - d);
	within = mpf_cmp(y, ulp) < 0;
	mpf_clears(y, ulp, NULL);
	return within;
}

/* ---- tested code ---- */

static rb_pair meet[MOST_SEGMENTS * SOLID_MOST];
static uint8_t inside[MOST_SEGMENTS];

/* Collects all triangles whose boxes the box of the segment meets, or sometimes all triangles. */
static size_t
collect_pairs(const solid *s, const double *segments, int n)
{
	bool all = check_below(4) == 0;
	size_t found = 0;

	for (int k = 0; k < n; k++)
		for (int i = 0; i < s->n; i++)
			if (all || rb_point_boxes_meet(segment_of(segments, k), 2, s->t + 9 * i, 3, 3))
				meet[found++] = (rb_pair){(uint32_t) k, (uint32_t) i};
	return found;
}

static bool
moved_inside(const solid *s, const double *p)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	bool in = false;

	for (int i = 0; i < s->n; i++)
	{
		const double *t = s->t + 9 * i;
		int answer;

		if (fmax(fmax(t[2], t[5]), t[8]) < p[2])
			continue;
		answer = rb_ray_crossing(&env, p, t);
		in ^= answer != 0 && (RB_PAYLOAD(answer) & 1) != 0;
	}
	return in;
}

static rb_line_intervals got, rest;

static void
ask(const solid *s, const double *segments, int n, rb_line_intervals *out, bool complement)
{
	rb_line line = {.segments = segments,
					.nsegments = (uint32_t) n,
					.inside = inside,
					.triangles = s->t,
					.meet = meet};
	rb_status status;

	for (int k = 0; k < n; k++)
		inside[k] = moved_inside(s, segment_of(segments, k)) != complement;
	line.nmeet = collect_pairs(s, segments, n);
	status = rb_line_measure(&ctx, segments, (uint32_t) n, out);
	if (status == RB_OK)
		status = rb_solid_intervals(&ctx, &line, out);
	CHECK(status == RB_OK, "status %d", (int) status);
}

static void
tell(const solid *s, const double *segments, int n)
{
	printf("# %s, size %d, %d triangles; line", solid_name[s->family], s->size, s->n);
	for (int k = 0; k < n; k++)
		for (int i = 0; i < 6; i++)
			printf(" %.17g", segments[6 * k + i]);
	printf("\n#  got");
	for (size_t i = 0; i < got.n; i++)
		printf(" [%.17g %.17g]%s", got.at[i].from, got.at[i].to, got.at[i].on_boundary ? "b" : "");
	printf("\n#  truth");
	for (int i = 0; i < ntruths; i++)
		printf(" [%d:%.17g %d:%.17g]%s", truths[i].first, mpq_get_d(truths[i].from), truths[i].last,
			   mpq_get_d(truths[i].to), truths[i].side == 0 ? "b" : "");
	printf("\n");
}

static long inside_seen, boundary_seen, over_corners;

static void
check_line(const solid *s, const double *segments, int n)
{
	mpf_t total, from, to;
	mpq_t one;
	bool right;

	find_truth(s, segments, n);
	ask(s, segments, n, &got, false);
	right = (int) got.n == ntruths;
	CHECK(right, "%d stretches, not %d", (int) got.n, ntruths);
	mpf_init2(total, FLOAT_BITS);
	mpf_init2(from, FLOAT_BITS);
	mpf_init2(to, FLOAT_BITS);
	mpq_init(one);
	mpq_set_ui(one, 1, 1);
	distance_to(total, segments, n - 1, one);
	for (int i = 0; i < ntruths && right; i++)
	{
		const rb_line_interval *g = &got.at[i];
		const truth *x = &truths[i];

		right = g->on_boundary == (x->side == 0);
		CHECK(right, "stretch %d: on the boundary %d", i, g->on_boundary);
		distance_to(from, segments, x->first, x->from);
		distance_to(to, segments, x->last, x->to);
		inside_seen += x->side;
		boundary_seen += !x->side;
		over_corners += x->first < x->last;
		{
			mpf_t length;

			mpf_init2(length, FLOAT_BITS);
			mpf_sub(length, to, from);
			CHECK(is_within_an_ulp(g->length, length), "length %.17g, not %.17g", g->length,
				  mpf_get_d(length));
			mpf_clear(length);
		}
		mpf_div(from, from, total);
		mpf_div(to, to, total);
		CHECK(naive_is_nearest(g->from, from), "from %.17g, not %.17g", g->from, mpf_get_d(from));
		CHECK(naive_is_nearest(g->to, to), "to %.17g, not %.17g", g->to, mpf_get_d(to));
	}
	if (!right)
		tell(s, segments, n);
	mpf_clears(total, from, to, NULL);
	mpq_clear(one);
}

/*
 * Checks that the intervals of a line and those of its complement form the whole line, with the
 * boundary counted twice.
 */
static void
check_complement(const solid *s, const double *segments, int n)
{
	size_t i = 0, j = 0;
	double at = 0, sum = 0, whole = 0;

	ask(s, segments, n, &got, false);
	ask(s, segments, n, &rest, true);
	while (i < got.n || j < rest.n)
	{
		const rb_line_interval *g = i < got.n ? &got.at[i] : NULL,
							   *r = j < rest.n ? &rest.at[j] : NULL;
		bool both = g != NULL && r != NULL && g->on_boundary && r->on_boundary && g->from == at &&
					r->from == at && g->to == r->to;
		/* If two intervals begin here, one of them was shortened by rounding and ends here. */
		const rb_line_interval *x =
			g != NULL && g->from == at && (r == NULL || r->from != at || g->to <= r->to) ? g : r;

		CHECK(x != NULL && x->from == at && x->to >= at, "a gap at %.17g", at);
		if (x == NULL || x->from != at)
			break;
		CHECK(x->on_boundary == both, "boundary on one side only at %.17g", at);
		i += x == g;
		j += x == r || both;
		at = x->to;
		sum += x->length;
	}
	for (int k = 0; k < n; k++)
	{
		const double *p = segment_of(segments, k);

		whole += sqrt((p[3] - p[0]) * (p[3] - p[0]) + (p[4] - p[1]) * (p[4] - p[1]) +
					  (p[5] - p[2]) * (p[5] - p[2]));
	}
	CHECK(at == 1, "ends at %.17g", at);
	CHECK(fabs(sum - whole) <= 1e-13 * whole, "%.17g of %.17g", sum, whole);
}

/* ---- lines ---- */

/* Builds a segment between two special points, along an edge, or beyond it. */
static void
make_segment(const solid *s, double *segment)
{
	solid_point(s, segment);
	solid_point(s, segment + 3);
	switch (check_below(6))
	{
		case 0: /* Along an axis */
		{
			int axis = check_below(3);

			for (int a = 0; a < 3; a++)
				if (a != axis)
					segment[3 + a] = segment[a];
			break;
		}
		case 1: /* An edge, and a part of its line */
		{
			const double *t = s->t + 9 * check_below(s->n);
			int c = check_below(3);
			double f = check_below(3) * 0.5 - 0.5, g = check_below(4) * 0.5;

			for (int a = 0; a < 3; a++)
			{
				double p = t[3 * c + a], q = t[3 * ((c + 1) % 3) + a];

				segment[a] = p + f * (q - p);
				segment[3 + a] = q + g * (q - p);
			}
			break;
		}
		case 2: /* In the plane of a triangle, from a corner or an edge */
		{
			const double *t = s->t + 9 * check_below(s->n);
			int f = check_below(4) - 1, g = check_below(4) - 1;

			for (int a = 0; a < 3; a++)
				segment[3 + a] = segment[a] =
					t[a] + 0.5 * f * (t[3 + a] - t[a]) + 0.5 * g * (t[6 + a] - t[a]);
			f = check_below(6) - 3;
			g = check_below(6) - 3;
			for (int a = 0; a < 3; a++)
				segment[3 + a] += f * (t[3 + a] - t[a]) + g * (t[6 + a] - t[a]);
			break;
		}
		case 3: /* Along a diagonal */
		{
			double way = 1 + check_below(6);
			int sign[3];

			for (int a = 0; a < 3; a++)
				sign[a] = check_below(3) - 1;
			for (int a = 0; a < 3; a++)
				segment[3 + a] = segment[a] + way * sign[a] * s->scale[a];
			break;
		}
		default:
			break;
	}
}

static void
segments_of_solids(void)
{
	long rounds = check_rounds(3);

	inside_seen = boundary_seen = 0;
	for (int family = 0; family < SOLID_FAMILIES; family++)
		for (int size = 0; size < SIZES; size++)
			for (long i = 0; i < rounds; i++)
			{
				static solid s;

				solid_make(&s, family, size);
				solid_add_needles(&s);
				for (int j = 0; j < 12; j++)
				{
					double segment[6];

					make_segment(&s, segment);
					if (is_point(segment))
						continue;
					check_line(&s, segment, 1);
					check_complement(&s, segment, 1);
				}
			}
	CHECK(inside_seen > 30 * rounds && boundary_seen > 20 * rounds,
		  "%ld inside, %ld on the boundary", inside_seen, boundary_seen);
}

static void
lines_that_turn(void)
{
	long rounds = check_rounds(2);

	over_corners = 0;
	for (int family = 0; family < SOLID_FAMILIES; family++)
		for (int size = 0; size < SIZES; size++)
			for (long i = 0; i < rounds; i++)
			{
				static solid s;

				solid_make(&s, family, size);
				solid_add_needles(&s);
				for (int j = 0; j < 5; j++)
				{
					double segments[6 * MOST_SEGMENTS];
					int n = 2 + check_below(MOST_SEGMENTS - 1);
					bool some = false;

					for (int k = 0; k < n; k++)
					{
						double *a = segments + 6 * k;

						make_segment(&s, a);
						if (k > 0 && check_below(6) > 0)
							memcpy(a, a - 3, 3 * sizeof(double));
						if (check_below(8) == 0)
							memcpy(a + 3, a, 3 * sizeof(double));
						some |= !is_point(a);
					}
					if (!some)
						continue;
					check_line(&s, segments, n);
					check_complement(&s, segments, n);
				}
			}
	CHECK(over_corners > 10 * rounds, "%ld", over_corners);
}

static void
lines_that_are_points(void)
{
	long rounds = check_rounds(40);
	long seen[3] = {0, 0, 0};

	for (int family = 0; family < SOLID_FAMILIES; family++)
		for (long i = 0; i < rounds; i++)
		{
			static solid s;
			double segments[12];
			naive_point p;
			int side, n = 1 + check_below(2);

			solid_make(&s, family, check_below(SIZES));
			solid_add_needles(&s);
			solid_point(&s, segments);
			for (int k = 1; k < 4; k++)
				memcpy(segments + 3 * k, segments, 3 * sizeof(double));
			naive_point_init(&p);
			naive_point_set(&p, segments);
			side = naive_side(&p, s.t, s.n);
			naive_point_clear(&p);
			ask(&s, segments, n, &got, false);
			seen[side + 1]++;
			CHECK(got.n == (side >= 0), "%s: %d stretches, side %d", solid_name[family],
				  (int) got.n, side);
			if (got.n == 1)
				CHECK(got.at[0].on_boundary == (side == 0) && got.at[0].from == 0 &&
						  got.at[0].to == 1 && got.at[0].length == 0,
					  "side %d", side);
		}
	CHECK(seen[0] > rounds && seen[1] > rounds && seen[2] > rounds / 8, "%ld %ld %ld", seen[0],
		  seen[1], seen[2]);
}

/* ---- points of any size ---- */

/*
 * Tests coordinates of any kind: positions and lengths are the nearest doubles, whether they were
 * computed approximately or exactly.
 */
static void
places_of_any_size(void)
{
	long rounds = check_rounds(250);
	long nearly = 0, exactly = 0;

	for (int family = 0; family < POINTS_FAMILIES; family++)
		for (long i = 0; i < rounds; i++)
		{
			double p[15];
			rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
			rb_location place[2];
			rb_line_crossing crossing;

			points_make(family, 5, 3, p);
			/* Through the triangle, or in its plane */
			if (check_below(2))
				for (int a = 0; a < 3; a++)
				{
					double x = (p[6 + a] + p[9 + a] + p[12 + a]) / 3 - p[a];

					p[3 + a] = isfinite(p[a] + 2 * x) ? p[a] + 2 * x : p[3 + a];
				}
			else if (check_below(3) == 0)
				p[2] = p[5] = p[8] = p[11] = p[14];
			if (is_point(p))
				continue;
			crossing = rb_segment_crosses(&env, p, p + 6, place);
			for (int k = 0; k < (int) crossing; k++)
			{
				rb_number n, d, ratio;

				rb_location_ratio(&place[k], &n, &d);
				rb_number_div(&ratio, &n, &d, 3);
				CHECK(place[k].t == rb_number_round(&ratio), "%s: %.17g, not %.17g",
					  points_family_name[family], place[k].t, rb_number_round(&ratio));
				CHECK(place[k].t >= 0 && place[k].t <= 1 && d.sign > 0, "%s: %.17g",
					  points_family_name[family], place[k].t);
				if (place[k].error > 0)
					*(isfinite(place[k].error) ? &nearly : &exactly) += 1;
			}
			if (crossing != RB_CROSSES_NOT)
			{
				rb_location from = crossing == RB_OVERLAPS ? place[0] : rb_location_start(p);
				rb_number length;
				double truth,
					got_it = rb_locations_distance(&from, &place[crossing == RB_OVERLAPS]);

				rb_locations_length(&length, &from, &place[crossing == RB_OVERLAPS], 8);
				truth = rb_number_round(&length);
				CHECK(got_it == truth || got_it == nextafter(truth, 0) ||
						  got_it == nextafter(truth, INFINITY),
					  "%s: %.17g long, not %.17g", points_family_name[family], got_it, truth);
			}
		}
	CHECK(nearly > 5 * rounds / 4 && exactly > rounds / 4, "%ld nearly, %ld exactly", nearly,
		  exactly);
}

/*
 * Tests the largest and smallest exponents together: numbers are as long as possible, and no heap
 * memory is used.
 */
static void
longest_numbers(void)
{
	long rounds = check_rounds(300);
	long crossings = 0;

	count_gmp_allocations();
	for (long i = 0; i < rounds; i++)
	{
		static const double values[6] = {0x1.fffffffffffffp1023, 0x0.0000000000001p-1022, 0x1p1000,
										 0x1.0000000000001p1,    0x0.fffffffffffffp-1022, 0};
		double p[24];
		rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
		rb_location place[2] = {{.segment = p, .triangle = p + 6, .of = RB_PLACE_PLANE},
								{.segment = p, .triangle = p + 15, .of = RB_PLACE_PLANE}};
		rb_number n, d, length;

		for (int k = 0; k < 24; k++)
			p[k] = values[check_below(6)] * (check_below(2) ? 1 : -1);
		if (is_point(p))
			continue;
		rb_location_ratio(&place[0], &n, &d);
		if (d.sign == 0)
			continue;
		rb_location_ratio(&place[1], &n, &d);
		if (d.sign == 0)
			continue;
		/* Ratios can have any size here, because these points need not lie on the segment. */
		crossings += rb_location_compare(&place[0], &place[1]) != 0;
		for (int words = RB_MEASURE_WORDS; words <= 96; words *= 2)
			rb_locations_length(&length, &place[0], &place[1], words);
		crossings += rb_segment_crosses(&env, p, p + 6, place) != RB_CROSSES_NOT;
	}
	CHECK(gmp_allocations == 0, "%ld allocations", gmp_allocations);
	CHECK(crossings > rounds / 4, "%ld", crossings);
	uncount_gmp_allocations();
}

/* Returns the fraction of a line at the start of its segment i. */
static double
fraction_at(const double *segments, int n, int i)
{
	rb_number before = {.sign = 0}, total = {.sign = 0}, length;
	rb_location place = rb_location_start(segment_of(segments, i));
	double fraction = NAN;

	for (int k = 0; k < n; k++)
	{
		if (k == i)
			rb_number_copy(&before, &total);
		rb_segment_length(&length, segment_of(segments, k), RB_MEASURE_WORDS);
		rb_number_add(&total, &total, &length);
	}
	CHECK(rb_line_fraction(&ctx, segments, (uint32_t) n, (uint32_t) i, &place, &before, &total,
						   &fraction) == RB_OK,
		  "failed");
	return fraction;
}

static void
put_segment(double *segments, int *n, double x, double y, double z)
{
	double *s = segments + 6 * (*n)++;

	memset(s, 0, 3 * sizeof *s);
	s[3] = x;
	s[4] = y;
	s[5] = z;
}

/*
 * Tests fractions that are midpoints between two doubles, (2^54 - k) / 2^54 for odd k, as sums of
 * rational lengths, of multiples of the square root of 2, and of both; and fractions that miss a
 * midpoint by 2^-300.
 */
static void
fractions_in_the_middle(void)
{
	const double big = 0x1p53;

	for (int round = 0; round < 200; round++)
	{
		double k = 1 + 2 * check_below(500);
		double down = 1 - (k + 1) * 0x1p-54, up = 1 - (k - 1) * 0x1p-54;
		double even = fmod((k + 1) / 2, 2) == 0 ? down : up;
		double segments[6 * 6], miss = check_below(2) ? 0x1p-130 : 0;
		int n = 0, kinds = check_below(3), at;
		bool first = check_below(2);
		double got_at, want;

		for (int kind = 0; kind < 2; kind++)
			if (kinds == 2 || kinds == kind)
			{
				put_segment(segments, &n, big, kind * big, first ? miss : 0);
				put_segment(segments, &n, big - k, kind * (big - k), 0);
			}
		at = n;
		for (int kind = 0; kind < 2; kind++)
			if (kinds == 2 || kinds == kind)
				put_segment(segments, &n, k, kind * k, first ? 0 : miss);
		got_at = fraction_at(segments, n, at);
		want = miss == 0 ? even : first ? up : down;
		CHECK(got_at == want, "k %g, kinds %d, miss %g: %.17g, not %.17g", k, kinds, miss, got_at,
			  want);
	}
}

/*
 * Tests a fraction of half a line plus 2^-53 of its other half, minus 2^-6288 of it, which is not a
 * midpoint. The normal of the plane is 2^2044 (1, 0, 2^-4192) except for y, and the direction of
 * the segment is 2^1022 (1, 0, +-2^-2096).
 */
static void
fraction_next_to_the_middle(void)
{
	for (int sign = -1; sign <= 1; sign++)
	{
		const double x = 0x1p1022, z = sign * 0x1p-1074, far = 0x1p1022, tiny = 0x1p-1074;
		const double triangle[9] = {0, 0, 0, tiny, far, 0, 0, tiny, far};
		const double segments[12] = {0, 0, 0, x, 0, z, -0x1p-53 * x, 0, 0, x - 0x1p-53 * x, 0, z};
		rb_location place = {.segment = segments + 6, .triangle = triangle, .of = RB_PLACE_PLANE};
		rb_number before, total;
		double fraction = NAN, want = sign < 0 ? 0.5 + 0x1p-53 : 0.5;

		rb_segment_length(&before, segments, RB_MEASURE_WORDS);
		rb_segment_length(&total, segments + 6, RB_MEASURE_WORDS);
		rb_number_add(&total, &total, &before);
		CHECK(rb_line_fraction(&ctx, segments, 2, 1, &place, &before, &total, &fraction) == RB_OK,
			  "failed");
		CHECK(fraction == want, "%d: %a, not %a", sign, fraction, want);
	}
}

/* Tests a call that is stopped, and one without memory. */
static void
refusals(void)
{
	static solid s;
	rb_memory *little = rb_memory_create(100);
	rb_context other;
	rb_line_intervals none = {0};
	double segment[6] = {-1, 0.25, 0.5, 9, 0.25, 0.5};
	rb_line line = {
		.segments = segment, .nsegments = 1, .inside = inside, .triangles = s.t, .meet = meet};

	solid_make(&s, SOLID_BOX, SIZE_PLAIN);
	rb_context_init(&other, little);
	line.nmeet = collect_pairs(&s, segment, 1);
	inside[0] = 0;
	CHECK(rb_line_measure(&other, segment, 1, &none) == RB_OK,
		  "a segment's length is not asked for");
	CHECK(rb_solid_intervals(&other, &line, &none) == RB_OVER_BUDGET, "stretches");
	rb_line_intervals_free(little, &none);
	CHECK(rb_memory_used(little) == 0, "left behind");
	rb_memory_destroy(little);
}

/*
 * Tests a line of many segments that meets many solids: the time of a solid must not depend on the
 * whole line.
 */
static void
long_line(void)
{
	enum
	{
		MANY = 100000,
		SOLIDS = 6000
	};
	static double segments[6 * MANY];
	static uint8_t starts[MANY];
	/* Two walls of a solid that the line passes through */
	double t[18] = {0.25, -1, -1, 0.25, 2, -1, 0.25, -1, 2, 0.5, -1, -1, 0.5, 2, -1, 0.5, -1, 2};
	rb_pair pairs[2] = {{0, 0}, {0, 1}};
	rb_line line = {.segments = segments,
					.nsegments = MANY,
					.inside = starts,
					.triangles = t,
					.meet = pairs,
					.nmeet = 2};
	struct timespec from, to;
	double seconds;
	long wrong = 0;

	for (int i = 0; i < MANY; i++)
	{
		segments[6 * i] = i;
		segments[6 * i + 3] = i + 1;
	}
	CHECK(rb_line_measure(&ctx, segments, MANY, &got) == RB_OK, "measured");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	for (int i = 0; i < SOLIDS; i++)
	{
		wrong += rb_solid_intervals(&ctx, &line, &got) != RB_OK || got.n != 1 ||
				 got.at[0].length != 0.25 || got.at[0].from != (0.25 + pairs[0].red) / MANY;
		/* The next solid is a few segments further on. */
		for (int k = 0; k < 18; k += 3)
			t[k] += MANY / SOLIDS;
		pairs[0].red = pairs[1].red += MANY / SOLIDS;
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	seconds = (double) (to.tv_sec - from.tv_sec) + 1e-9 * (double) (to.tv_nsec - from.tv_nsec);
	CHECK(wrong == 0, "%ld wrong", wrong);
	/* A few milliseconds; Valgrind is 50 times slower, traversing the whole line 1000 times */
	CHECK(seconds < 8, "%g s", seconds);
}

/* Tests calls that are asked to stop before they begin: they stop and leave nothing behind. */
static void
stopped(void)
{
	enum
	{
		MANY = 5000
	};
	static double t[9 * MANY], segments[6 * MANY];
	static rb_pair pairs[MANY];
	static uint8_t sides[MANY];
	rb_context other;
	rb_line_intervals none = {0};
	rb_line line = {.segments = segments, .inside = sides, .triangles = t, .meet = pairs};

	for (int i = 0; i < MANY; i++)
	{
		for (int k = 0; k < 9; k++)
			t[9 * i + k] = check_below(1000);
		for (int k = 0; k < 6; k++)
			segments[6 * i + k] = i + k / 3;
		pairs[i].blue = (uint32_t) i;
	}
	rb_context_init(&other, memory);
	rb_context_stop(&other);
	line.nsegments = MANY;
	CHECK(rb_line_measure(&other, segments, MANY, &none) == RB_STOPPED, "a long line's length");
	line.nsegments = 1;
	CHECK(rb_line_measure(&other, segments, 1, &none) == RB_OK, "a short one's");
	line.nmeet = MANY;
	CHECK(rb_solid_intervals(&other, &line, &none) == RB_STOPPED, "many triangles");
	rb_line_intervals_free(memory, &none);
}

int
main(void)
{
	memory = rb_memory_create(UINT64_MAX);
	rb_context_init(&ctx, memory);
	CHECK_RUN(segments_of_solids);
	CHECK_RUN(lines_that_turn);
	CHECK_RUN(lines_that_are_points);
	CHECK_RUN(fractions_in_the_middle);
	CHECK_RUN(fraction_next_to_the_middle);
	CHECK_RUN(places_of_any_size);
	CHECK_RUN(longest_numbers);
	CHECK_RUN(refusals);
	CHECK_RUN(long_line);
	CHECK_RUN(stopped);
	rb_line_intervals_free(memory, &got);
	rb_line_intervals_free(memory, &rest);
	rb_memory_destroy(memory);
	return check_done();
}
