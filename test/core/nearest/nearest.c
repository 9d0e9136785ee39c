/*
 * nearest.c
 *	  Tests the k nearest rows against all pairs in rationals (naive_distance.c) and, for larger
 *	  sets, against all pairs sorted by the leaf; also ties, ids, distance limits, the number of
 *	  pairs examined, stops, and errors.
 */
#include "fixtures.h"
#include "naive.h"
#include "scalar.h"
#include "core/base/base.h"
#include "core/join/join.h"
#include "core/primitive/dispatch.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* ---- sets ---- */

typedef struct side
{
	rb_set set;
	double *coords;
	uint32_t *row_of;
	int64_t *ids;
} side;

static side
empty(uint32_t n)
{
	side s = {{.kind = RB_TRIANGLE3, .nparts = n, .nrows = n},
			  malloc(n * 9 * sizeof(double)),
			  NULL,
			  NULL};

	s.set.coords = s.coords;
	return s;
}

/* Groups the parts into rows of 1 to `most` parts. */
static void
group(side *s, int most)
{
	s->set.row_of = s->row_of = random_rows(s->set.nparts, most, &s->set.nrows);
}

/* Gives the rows ids from a small set, in any order, of both signs. */
static void
name(side *s)
{
	s->ids = malloc(s->set.nrows * sizeof *s->ids);
	for (uint32_t i = 0; i < s->set.nrows; i++)
		s->ids[i] = ((int64_t) check_below((int) s->set.nrows) - s->set.nrows / 2) *
					(check_below(2) ? 1 : INT64_C(123456789012));
	s->set.ids = s->ids;
}

static void
drop(side *s)
{
	free(s->coords);
	free(s->row_of);
	free(s->ids);
}

static int64_t
id_of(const rb_set *set, uint32_t row)
{
	return set->ids != NULL ? set->ids[row] : (int64_t) ((uint64_t) set->first_id + row);
}

/* ---- families ---- */

typedef struct family
{
	const char *name;
	double (*coordinate)(int axis, int corner, const double *at);
	bool flat; /* True if some triangles are needles or points */
} family;

static double
grid3(int axis, int corner, const double *at)
{
	(void) axis, (void) corner, (void) at;
	return check_below(3);
}

/*
 * Returns coordinates in two layers, so that most distances are integers, and none is 0 except
 * within a side.
 */
static double
grid_far(int axis, int corner, const double *at)
{
	(void) corner;
	return axis == 2 ? (at[3] > 0 ? 4 : 0) : check_below(4);
}

static double
small(int axis, int corner, const double *at)
{
	(void) corner;
	return at[axis] + 0.1 * random_unit();
}

static double
large(int axis, int corner, const double *at)
{
	(void) corner;
	return at[axis] + random_unit();
}

static double
map(int axis, int corner, const double *at)
{
	static const double origin[3] = {431250.25, 5412800.5, 312};

	(void) corner;
	return origin[axis] + floor(at[axis] * 3000) * 0.01 + 0.01 * check_below(200);
}

static double
millionth(int axis, int corner, const double *at)
{
	return 1e-6 * small(axis, corner, at);
}

static double
least(int axis, int corner, const double *at)
{
	return 1e-300 * small(axis, corner, at);
}

static double
denormal(int axis, int corner, const double *at)
{
	(void) corner;
	return 0x1p-1074 * (floor(20 * at[axis]) + check_below(9));
}

static double
largest(int axis, int corner, const double *at)
{
	return 1e300 * small(axis, corner, at);
}

static double
wild(int axis, int corner, const double *at)
{
	(void) axis, (void) corner;
	return ldexp(2 * random_unit() - 1, (int) (600 * at[axis]) - 300 + check_below(9));
}

static const family families[] = {
	{"grid of 3", grid3, true}, {"two layers", grid_far, true}, {"small", small, false},
	{"large", large, false},    {"needles", small, true},       {"map", map, true},
	{"1e-6", millionth, false}, {"1e-300", least, false},       {"denormal", denormal, true},
	{"1e300", largest, false},  {"any exponent", wild, false},
};

#define FAMILIES (int) (sizeof families / sizeof families[0])

static side
make(const family *f, uint32_t n, bool blue)
{
	side s = empty(n);

	for (uint32_t i = 0; i < n; i++)
	{
		double at[4] = {random_unit(), random_unit(), random_unit(), blue},
			   *p = s.coords + 9 * (size_t) i;

		for (int k = 0; k < 9; k++)
			p[k] = f->coordinate(k % 3, k / 3, at);
		if (f->flat && check_below(3) == 0)
			memcpy(p + 3 * (1 + check_below(2)), p, 3 * sizeof *p);
		/* Occasionally duplicate a triangle. */
		if (i > 0 && check_below(8) == 0)
			memcpy(p, p - 9, 9 * sizeof *p);
	}
	return s;
}

/* ---- the join ---- */

#define MOST_PAIRS (1 << 16)

typedef struct found
{
	pthread_mutex_t lock;
	rb_pair *pair;
	double *distance;
	size_t n;
	size_t torn; /* Rows that came in more than one piece */
	uint8_t *seen;
	rb_status answer;
	rb_context *stop; /* Context to be stopped after the first pairs; may be NULL */
} found;

static rb_status
put(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	found *f = user;

	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < n && f->pair != NULL; i++)
	{
		if (i == 0 || rows[i].red != rows[i - 1].red)
			f->torn += f->seen[rows[i].red]++;
		f->pair[f->n] = rows[i];
		memcpy(&f->distance[f->n++], &payload[i], sizeof *payload);
	}
	pthread_mutex_unlock(&f->lock);
	if (f->stop != NULL)
		rb_context_stop(f->stop);
	return f->answer;
}

static rb_status
run(const rb_job *job, rb_context *ctx, found *f)
{
	const rb_row_sink sink = {.put = put, .user = f};

	pthread_mutex_init(&f->lock, NULL);
	return rb_compose_nearest(ctx, &rb_backend_cpu, job, &sink);
}

/* ---- all pairs ---- */

/* Exact squares of the distances of two rows, and their nearest parts */
typedef struct truth
{
	const rb_set *red;
	const rb_set *blue;
	mpq_t *square; /* squared distances; NULL if not computed */
	rb_pair *parts;
} truth;

static const double *
part(const rb_set *set, uint32_t i)
{
	return set->coords + 9 * (size_t) i;
}

static int
compare_parts(const truth *t, rb_pair x, rb_pair y)
{
	return compare_distances(RB_TRIANGLE3, RB_TRIANGLE3, part(t->red, x.red), part(t->blue, x.blue),
							 part(t->red, y.red), part(t->blue, y.blue));
}

static truth
measure(const rb_set *red, const rb_set *blue, bool rationals)
{
	const size_t n = (size_t) red->nrows * blue->nrows;
	truth t = {red, blue, rationals ? malloc(n * sizeof(mpq_t)) : NULL,
			   malloc(n * sizeof(rb_pair))};
	bool *any = calloc(n, 1);
	mpq_t square;

	mpq_init(square);
	for (size_t i = 0; i < n && rationals; i++)
		mpq_init(t.square[i]);
	for (uint32_t r = 0; r < red->nparts; r++)
		for (uint32_t b = 0; b < blue->nparts; b++)
		{
			const size_t at = (size_t) row_of_part(red, r) * blue->nrows + row_of_part(blue, b);
			const rb_pair parts = {r, b};
			bool nearer = !any[at];

			if (rationals)
			{
				naive_distance_square(square, part(red, r), 3, part(blue, b), 3, 3);
				nearer = nearer || mpq_cmp(square, t.square[at]) < 0;
			}
			else
				nearer = nearer || compare_parts(&t, parts, t.parts[at]) < 0;
			if (!nearer)
				continue;
			any[at] = true;
			t.parts[at] = parts;
			if (rationals)
				mpq_set(t.square[at], square);
		}
	mpq_clear(square);
	free(any);
	return t;
}

static void
forget(truth *t)
{
	for (size_t i = 0; i < (size_t) t->red->nrows * t->blue->nrows && t->square != NULL; i++)
		mpq_clear(t->square[i]);
	free(t->square);
	free(t->parts);
}

/* Returns true if blue row x comes before y in the result of this red row. */
static bool
is_before(const truth *t, uint32_t red, uint32_t x, uint32_t y)
{
	const size_t base = (size_t) red * t->blue->nrows;
	int sign = t->square != NULL ? mpq_cmp(t->square[base + x], t->square[base + y])
								 : compare_parts(t, t->parts[base + x], t->parts[base + y]);

	if (sign != 0)
		return sign < 0;
	if (id_of(t->blue, x) != id_of(t->blue, y))
		return id_of(t->blue, x) < id_of(t->blue, y);
	return x < y;
}

static bool
is_within(const truth *t, size_t at, double distance)
{
	mpq_t d;
	bool within;

	if (isinf(distance))
		return true;
	if (t->square == NULL)
	{
		rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true, .distance = distance};

		return rb_pair_decide(&env, RB_WITHIN, RB_TRIANGLE3, RB_TRIANGLE3,
							  part(t->red, t->parts[at].red),
							  part(t->blue, t->parts[at].blue)) != 0;
	}
	mpq_init(d);
	mpq_set_d(d, distance);
	mpq_mul(d, d, d);
	within = mpq_cmp(t->square[at], d) <= 0;
	mpq_clear(d);
	return within;
}

static long ties, limits, payload_pairs;

/* Sorts all blue rows of each red row. */
static uint32_t *
sort_rows(const truth *t)
{
	const uint32_t n = t->blue->nrows;
	uint32_t *order = malloc((size_t) t->red->nrows * n * sizeof *order);

	for (uint32_t red = 0; red < t->red->nrows; red++)
	{
		uint32_t *of = order + (size_t) red * n;

		for (uint32_t i = 0; i < n; i++)
		{
			uint32_t lo = 0, hi = i;

			while (lo < hi)
			{
				const uint32_t middle = (lo + hi) / 2;

				if (is_before(t, red, i, of[middle]))
					hi = middle;
				else
					lo = middle + 1;
			}
			memmove(of + lo + 1, of + lo, (i - lo) * sizeof *of);
			of[lo] = i;
		}
	}
	return order;
}

static void
agree(const truth *t, const uint32_t *order, uint32_t k, double distance, uint32_t filters,
	  int threads, const char *what)
{
	rb_memory *memory = rb_memory_create((uint64_t) 1 << 30);
	rb_job job = {.red = t->red,
				  .blue = t->blue,
				  .predicate = RB_NEAREST,
				  .nearest = k,
				  .distance = distance};
	found f = {.pair = malloc(MOST_PAIRS * sizeof(rb_pair)),
			   .distance = malloc(MOST_PAIRS * sizeof(double)),
			   .seen = calloc(t->red->nrows, 1)};
	rb_context ctx;
	rb_status status;
	size_t *start = malloc((t->red->nrows + 1) * sizeof *start), expected = 0, wrong = 0, bits = 0;

	rb_context_init(&ctx, memory);
	ctx.threads = threads;
	ctx.filters = filters;
	status = run(&job, &ctx, &f);
	CHECK(status == RB_OK && f.torn == 0, "%s, k %u: %s, %zu rows torn", what, k,
		  rb_status_text(status), f.torn);
	for (uint32_t r = 0; r < t->red->nrows; r++)
		start[r] = SIZE_MAX;
	for (size_t i = f.n; i > 0; i--)
		start[f.pair[i - 1].red] = i - 1;
	for (uint32_t r = 0; r < t->red->nrows; r++)
		for (uint32_t i = 0; i < k && i < t->blue->nrows; i++)
		{
			const uint32_t blue = order[(size_t) r * t->blue->nrows + i];
			const size_t at = (size_t) r * t->blue->nrows + blue, is = start[r] + i;
			double truly;

			if (!is_within(t, at, distance))
			{
				limits++;
				break;
			}
			expected++;
			if (start[r] == SIZE_MAX || is >= f.n || f.pair[is].red != r || f.pair[is].blue != blue)
			{
				wrong++;
				continue;
			}
			truly = distance_of(RB_TRIANGLE3, RB_TRIANGLE3, part(t->red, t->parts[at].red),
								part(t->blue, t->parts[at].blue));
			bits += truly != f.distance[is];
			ties += i > 0 && f.distance[is] == f.distance[is - 1];
		}
	CHECK(wrong == 0 && bits == 0 && f.n == expected,
		  "%s, k %u, distance %g, filters %x: %zu of %zu wrong, %zu distances, %zu payload", what,
		  k, distance, filters, wrong, expected, bits, f.n);
	CHECK(rb_memory_used(memory) == 0, "%s: memory left", what);
	payload_pairs += (long) f.n;
	rb_memory_destroy(memory);
	free(f.pair);
	free(f.distance);
	free(f.seen);
	free(start);
}

static void
try(const family *f, uint32_t nred, uint32_t nblue, bool rationals, int parts)
{
	side red = make(f, nred, false), blue = make(f, nblue, true);
	uint32_t *order;
	truth t;

	if (parts & 1)
		group(&red, 3);
	if (parts & 2)
		group(&blue, 4);
	if (check_below(3) > 0)
		name(&blue);
	else if (check_below(2) == 0)
		blue.set.first_id = INT64_MAX - check_below((int) blue.set.nrows);
	t = measure(&red.set, &blue.set, rationals);
	order = sort_rows(&t);
	for (int i = 0; i < 7; i++)
	{
		static const uint32_t filters[] = {RB_FILTER_ALL, RB_FILTER_ALL & ~RB_FILTER_SIGNS,
										   RB_FILTER_ALL & ~RB_FILTER_INTERVAL, 0};
		const uint32_t n = blue.set.nrows, r = (uint32_t) check_below((int) red.set.nrows);
		const uint32_t k = i == 0   ? 1
						   : i == 1 ? n
						   : i == 2 ? n + 10
									: 1 + (uint32_t) check_below(9);
		const size_t at = (size_t) r * n + order[(size_t) r * n + (k - 1 < n ? k - 1 : n - 1)];
		double distance = INFINITY;

		/* A distance that occurs, and the next smaller double */
		if (i > 2)
			distance = distance_of(RB_TRIANGLE3, RB_TRIANGLE3, part(&red.set, t.parts[at].red),
								   part(&blue.set, t.parts[at].blue));
		if (i == 5 && distance > 0)
			distance = nextafter(distance, 0);
		if (i == 6)
			distance = 0;
		agree(&t, order, k, distance, filters[check_below(2) ? 0 : check_below(4)],
			  1 + check_below(3), f->name);
	}
	free(order);
	forget(&t);
	drop(&red);
	drop(&blue);
}

static void
against_rationals(void)
{
	for (int f = 0; f < FAMILIES; f++)
		for (long n = check_rounds(4); n > 0; n--)
			try(&families[f], 4, 12, true, (int) n % 4);
	CHECK(ties > 0 && limits > 0 && payload_pairs > 0, "%ld ties, %ld limits", ties, limits);
}

static void
against_the_leaf(void)
{
	for (int f = 0; f < FAMILIES; f++)
		for (long n = check_rounds(4); n > 0; n--)
			try(&families[f], 9, f < 7 ? 80 : 26, false, (int) n % 4);
}

/* ---- ids ---- */

/*
 * Tests rows at one position: those with the smallest ids are returned, and rows with the same id
 * in order of their numbers.
 */
static void
one_place(void)
{
	for (int touching = 0; touching < 2; touching++)
	{
		side red = empty(3), blue = empty(500);
		uint32_t *order;
		truth t;

		for (uint32_t i = 0; i < 500; i++)
			for (int k = 0; k < 9; k++)
				blue.coords[9 * i + (uint32_t) k] = k % 4 == 0;
		for (uint32_t i = 0; i < 3; i++)
			for (int k = 0; k < 9; k++)
				red.coords[9 * i + (uint32_t) k] = (k % 4 == 0) + (touching ? 0 : 3 + i);
		name(&blue);
		t = measure(&red.set, &blue.set, false);
		order = sort_rows(&t);
		agree(&t, order, 1, INFINITY, RB_FILTER_ALL, 1, "one place");
		agree(&t, order, 7, touching ? 0 : 100, RB_FILTER_ALL, 1, "one place");
		agree(&t, order, 500, INFINITY, RB_FILTER_ALL, 2, "one place");
		free(order);
		forget(&t);
		drop(&red);
		drop(&blue);
	}
}

/* ---- all blue rows at one distance ---- */

/*
 * Builds large red triangles below small blue ones in a parallel plane. If `oblique`, the planes
 * are perpendicular to no axis.
 */
static void
plates(side *red, side *blue, bool oblique)
{
	side *s[2] = {red, blue};

	for (int which = 0; which < 2; which++)
		for (uint32_t i = 0; i < s[which]->set.nparts; i++)
			for (int k = 0; k < 3; k++)
			{
				double *p = s[which]->coords + 9 * (size_t) i + 3 * (size_t) k;
				const double size = which == 0 ? 4096 : 1;

				p[0] = which == 0 ? -1024 - check_below(9) : check_below(64);
				p[1] = which == 0 ? -1024 - check_below(9) : check_below(64);
				p[0] += k == 1 ? size : 0;
				p[1] += k == 2 ? size : 0;
				p[2] = 5 * which + (oblique ? p[0] - 2 * p[1] : 0);
			}
}

/* Builds points on a sphere around coincident red ones. */
static void
sphere(side *red, side *blue)
{
	uint32_t n = 0;

	memset(red->coords, 0, red->set.nparts * 9 * sizeof(double));
	for (int x = -65; x <= 65; x++)
		for (int y = -65; y <= 65; y++)
			for (int z = -65; z <= 65; z++)
				if (x * x + y * y + z * z == 65 * 65 && n < blue->set.nparts)
				{
					for (int k = 0; k < 9; k++)
						blue->coords[9 * (size_t) n + (size_t) k] = k % 3 == 0   ? x
																	: k % 3 == 1 ? y
																				 : z;
					n++;
				}
	for (; n < blue->set.nparts; n++)
		memcpy(blue->coords + 9 * (size_t) n, blue->coords + 9 * (n % 100),
			   9 * sizeof *blue->coords);
}

/*
 * Builds copies of one blue triangle next to various red ones. If `skew`, none of its corners is a
 * corner of its box.
 */
static void
alike(side *red, side *blue, bool skew)
{
	for (uint32_t i = 0; i < red->set.nparts * 9; i++)
		red->coords[i] = check_below(40);
	for (uint32_t i = 0; i < blue->set.nparts; i++)
	{
		const double t[9] = {100, 7, 0, 130, skew ? 19 : 0, 3, 117, 0, skew ? 29 : 0};

		memcpy(blue->coords + 9 * (size_t) i, t, sizeof t);
	}
}

/* Builds a fan around the corner that is nearest to every red triangle. */
static void
fan(side *red, side *blue)
{
	for (uint32_t i = 0; i < red->set.nparts * 9; i++)
		red->coords[i] = i % 3 == 0 ? -check_below(40) : check_below(5);
	for (uint32_t i = 0; i < blue->set.nparts * 9; i++)
		blue->coords[i] = i % 9 < 3 ? 2 : i % 3 == 0 ? 100 + check_below(5) : check_below(40);
}

static void
fill(int how, side *red, side *blue)
{
	if (how < 2)
		plates(red, blue, how == 1);
	else if (how == 2)
		sphere(red, blue);
	else if (how < 5)
		alike(red, blue, how == 4);
	else
		fan(red, blue);
}

static void
one_distance(void)
{
	for (int how = 0; how < 6; how++)
		for (int scaled = 0; scaled < 4; scaled++)
		{
			static const double scale[] = {1, 0x1p-1074, 0x1p+1000, 1e-3};
			side red = empty(6), blue = empty(120);
			uint32_t *order;
			truth t;

			fill(how, &red, &blue);
			for (uint32_t i = 0; i < 6 * 9; i++)
				red.coords[i] *= scale[scaled];
			for (uint32_t i = 0; i < 120 * 9; i++)
				blue.coords[i] *= scale[scaled];
			if (scaled > 0)
				name(&blue);
			if (scaled == 2)
				group(&blue, 3);
			if (scaled == 3)
				group(&red, 2);
			t = measure(&red.set, &blue.set, false);
			order = sort_rows(&t);
			for (uint32_t k = 1; k < 200; k = 3 * k + 1)
				agree(&t, order, k, INFINITY, RB_FILTER_ALL, 1, "one distance");
			agree(&t, order, 5, INFINITY, 0, 1, "one distance");
			free(order);
			forget(&t);
			drop(&red);
			drop(&blue);
		}
}

/* ---- number of pairs examined ---- */

/* Returns the pairs of parts examined for each red part, and stores the number of boxes. */
static double
looks(const rb_set *red, const rb_set *blue, uint32_t k, double *boxes, rb_context *ctx)
{
	rb_memory *memory = rb_memory_create((uint64_t) 1 << 30);
	rb_job job = {
		.red = red, .blue = blue, .predicate = RB_NEAREST, .nearest = k, .distance = INFINITY};
	found f = {0};

	rb_context_init(ctx, memory);
	ctx->threads = 2;
	CHECK(run(&job, ctx, &f) == RB_OK, "it fails");
	rb_memory_destroy(memory);
	*boxes = (double) ctx->stats.box_tests / red->nparts;
	return (double) ctx->stats.stage[RB_STAGE_CANDIDATES].count / red->nparts;
}

/* Tests a dense cluster of any size in a wide, thin cloud of large triangles. */
static void
few_looks(void)
{
	static const double sizes[] = {1, 1e-6, 1e-12, 1e-300, 1e300};
	const uint32_t n = 10000;

	for (int s = 0; s < 5; s++)
	{
		side red = empty(n), blue = empty(n);
		double found, boxes;
		rb_context ctx;

		for (int which = 0; which < 2; which++)
			for (uint32_t i = 0; i < n; i++)
			{
				double *p = (which == 0 ? red : blue).coords + 9 * (size_t) i;
				const bool wide = i % 100 == 0 && s < 3, scaled = s >= 3;
				const double size = wide ? 1 : sizes[s];
				double at[3] = {size * random_unit(), size * random_unit(), size * random_unit()};

				for (int k = 0; k < 9; k++)
					p[k] = at[k % 3] + (scaled ? sizes[s] : size) * 0.01 * random_unit();
			}
		found = looks(&red.set, &blue.set, 3, &boxes, &ctx);
		CHECK(found < 30 && boxes < 300, "%g looks, %g boxes a row at size %g", found, boxes,
			  sizes[s]);
		drop(&red);
		drop(&blue);
	}
}

/*
 * Tests that ties are broken without examining most of the rows at that distance. If boxes cannot
 * decide, all of them are examined, but each pair takes at most one exact comparison.
 */
static void
few_looks_at_ties(void)
{
	for (int how = 0; how < 6; how++)
		for (int i = 0; i < 3; i++)
		{
			const uint32_t k = i == 0 ? 1 : i == 1 ? 4 : 3000;
			const uint32_t n = k == 3000 ? 1 : 20;
			side red = empty(n), blue = empty(3000);
			double found, boxes;
			rb_context ctx;

			fill(how, &red, &blue);
			found = looks(&red.set, &blue.set, k, &boxes, &ctx);
			if (k < 3000 && how != 1 && how != 5)
				CHECK(found < 100 && boxes < 2000, "ties %d, k %u: %g looks, %g boxes a row", how,
					  k, found, boxes);
			CHECK(ctx.stats.exact_gmp < n * (1.2 * found + 200),
				  "ties %d, k %u: %lu exact comparisons", how, k,
				  (unsigned long) ctx.stats.exact_gmp);
			drop(&red);
			drop(&blue);
		}
}

/*
 * Tests rows of thousands of parts: each blue part examines only the red parts near it, not all of
 * them.
 */
static void
few_looks_of_parts(void)
{
	side red = make(&families[2], 20000, false), blue = make(&families[2], 20000, true);
	double found, boxes;
	rb_context ctx;

	red.row_of = malloc(20000 * sizeof(uint32_t));
	for (uint32_t i = 0; i < 20000; i++)
		red.row_of[i] = i / 10000;
	red.set.row_of = red.row_of;
	red.set.nrows = 2;
	found = looks(&red.set, &blue.set, 20000, &boxes, &ctx);
	CHECK(found < 60 && boxes < 1200, "%g looks, %g boxes a part", found, boxes);
	drop(&red);
	drop(&blue);
}

/* ---- stops and errors ---- */

/* A stop after some time, and the work of all threads until then */
typedef struct timed_stop
{
	rb_context *ctx;
	int after_ms;
	double work_ms;
} timed_stop;

static void *
stop_and_note(void *arg)
{
	timed_stop *s = arg;

	usleep((useconds_t) s->after_ms * 1000);
	rb_context_stop(s->ctx);
	s->work_ms = check_work_ms();
	return NULL;
}

static void
stops(void)
{
	const uint32_t n = 100000;
	side red = make(&families[2], n, false), blue = make(&families[2], n, true);
	stop_delay delay = {0};
	bool again;

	red.row_of = calloc(n, sizeof(uint32_t));
	for (int i = 0; i < 6; i += !again)
	{
		static const int after_ms[] = {2, 20, 150};
		rb_memory *memory = rb_memory_create((uint64_t) 1 << 30);
		rb_job job = {.red = &red.set,
					  .blue = &blue.set,
					  .predicate = RB_NEAREST,
					  .nearest = n,
					  .distance = INFINITY};
		rb_context ctx;
		found f = {0};
		timed_stop s = {&ctx, after_ms[i % 3], 0};
		pthread_t other;
		rb_status status;

		/* One row of all parts, or one row for each part */
		red.set.row_of = i < 3 ? red.row_of : NULL;
		red.set.nrows = i < 3 ? 1 : n;
		rb_context_init(&ctx, memory);
		ctx.threads = 2;
		ctx.filters = i == 2 ? 0 : RB_FILTER_ALL;
		pthread_create(&other, NULL, stop_and_note, &s);
		status = run(&job, &ctx, &f);
		pthread_join(other, NULL);
		/* A run that ended before the stop, because the other thread was late, is repeated. */
		again = repeats_late_stop(
			&delay, status == RB_STOPPED ? check_work_ms() - s.work_ms : INFINITY, 600);
		CHECK((status == RB_STOPPED || status == RB_OK) && ctx.error.status == RB_OK, "%d: %s", i,
			  rb_status_text(status));
		CHECK(rb_memory_used(memory) == 0, "memory left");
		rb_memory_destroy(memory);
	}
	/* Time of both threads; without stop checks it would be seconds */
	CHECK(delay.worst_ms < 600, "%g ms of work", delay.worst_ms);
	drop(&red);
	drop(&blue);
}

static void
refusals(void)
{
	side red = make(&families[2], 3000, false), blue = make(&families[2], 30000, true);
	rb_job job = {.red = &red.set,
				  .blue = &blue.set,
				  .predicate = RB_NEAREST,
				  .nearest = 30000,
				  .distance = INFINITY};
	rb_set none = {.kind = RB_TRIANGLE3};
	int failed = 0;

	name(&blue);
	group(&red, 9);
	for (uint64_t limit = 1 << 14; limit < (uint64_t) 1 << 24; limit += limit / 2)
	{
		rb_memory *memory = rb_memory_create(limit);
		rb_context ctx;
		found f = {.answer = RB_END};
		rb_status status;

		rb_context_init(&ctx, memory);
		ctx.threads = 1;
		status = run(&job, &ctx, &f);
		CHECK(status == RB_OVER_BUDGET || status == RB_END, "%s", rb_status_text(status));
		CHECK(status != RB_OVER_BUDGET || ctx.error.limit == limit, "another limit");
		CHECK(rb_memory_used(memory) == 0, "memory left");
		CHECK(rb_memory_peak(memory) <= limit, "too much");
		failed += status == RB_OVER_BUDGET;
		rb_memory_destroy(memory);
	}
	CHECK(failed > 3 && failed < 17, "%d failed", failed);

	/* One side is empty */
	for (int i = 0; i < 2; i++)
	{
		rb_memory *memory = rb_memory_create(1 << 24);
		rb_context ctx;
		found f = {.answer = RB_END};

		job.red = i == 0 ? &none : &red.set;
		job.blue = i == 0 ? &blue.set : &none;
		rb_context_init(&ctx, memory);
		CHECK(run(&job, &ctx, &f) == RB_OK, "an empty side");
		rb_memory_destroy(memory);
	}
	drop(&red);
	drop(&blue);
}

int
main(void)
{
	CHECK_RUN(against_rationals);
	CHECK_RUN(against_the_leaf);
	CHECK_RUN(one_place);
	CHECK_RUN(one_distance);
	CHECK_RUN(few_looks);
	CHECK_RUN(few_looks_of_parts);
	CHECK_RUN(few_looks_at_ties);
	CHECK_RUN(stops);
	CHECK_RUN(refusals);
	return check_done();
}
