/*
 * estimate.c
 *	  Tests estimates of the number of pairs from samples, against the pairs that the join finds.
 */
#include "fixtures.h"
#include "../bench/workload.h"
#include "core/base/base.h"

#include <math.h>
#include <string.h>

#define SAMPLE 1536

static rb_memory *memory;

/* ---- sets, samples, joins ---- */

static rb_set
all_of(rb_kind kind, uint32_t n)
{
	rb_set s = {.kind = kind, .nparts = n, .nrows = n};

	s.coords = malloc((n + 1) * sizeof(double) * (size_t) rb_kind_width(kind));
	return s;
}

/* Samples about n rows of one part, whose ids are their numbers. */
static rb_set
sample_of(const rb_set *s, uint32_t n, uint32_t seed)
{
	const size_t width = (size_t) rb_kind_width(s->kind);
	rb_set sample;
	double *coords;
	int64_t *ids;

	n = n < s->nrows ? n : s->nrows;
	sample = all_of(s->kind, n);
	coords = (double *) sample.coords;
	ids = malloc((n + 1) * sizeof(*ids));
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t from = (uint32_t) ((uint64_t) i * s->nrows / n);
		uint32_t end = (uint32_t) ((uint64_t) (i + 1) * s->nrows / n);
		uint32_t row = from + (i * 2654435761u + seed * 40503u) % (end - from);

		memcpy(coords + i * width, s->coords + row * width, width * sizeof(double));
		ids[i] = row;
	}
	sample.ids = ids;
	return sample;
}

static rb_status
put(void *user, const rb_pair *pairs, size_t n)
{
	(void) user, (void) pairs, (void) n;
	return RB_OK;
}

/* Returns the number of pairs of parts. */
static double
joined(const rb_set *red, const rb_set *blue)
{
	rb_sink sink = {.put = put};
	rb_job job = {.red = red, .blue = blue, .predicate = RB_MEET};
	rb_context ctx;

	rb_context_init(&ctx, memory);
	ctx.threads = 2;
	CHECK(rb_backend_cpu.join(&ctx, &job, &sink) == RB_OK, "join");
	return (double) ctx.stats.hits;
}

static double
estimated(const rb_set *red, const rb_set *blue, double nred, double nblue, bool self)
{
	rb_samples what = {{red, blue}, {nred, nblue}, self, RB_MEET, 0};
	uint64_t used = rb_memory_used(memory);
	double pairs = -1, again = -1;
	rb_context ctx;

	rb_context_init(&ctx, memory);
	CHECK(rb_estimate_pairs(&ctx, &what, &pairs) == RB_OK, "estimate");
	CHECK(rb_estimate_pairs(&ctx, &what, &again) == RB_OK && pairs == again, "%g, then %g", pairs,
		  again);
	CHECK(rb_memory_used(memory) == used, "memory left");
	CHECK(pairs >= 0 && pairs <= nred * nblue, "%g pairs of %g x %g", pairs, nred, nblue);
	return pairs;
}

/* Checks that estimates from samples with several seeds are within a factor of the true number. */
static void
check_factor(const char *name, const rb_set *red, const rb_set *blue, double factor)
{
	const rb_set *other = blue != NULL ? blue : red;
	double truth = joined(red, blue);

	CHECK(truth > 0, "%s: nothing to estimate", name);
	for (uint32_t seed = 1; seed <= 5; seed++)
	{
		rb_set r = sample_of(red, SAMPLE, seed), b = sample_of(other, SAMPLE, seed + 100);
		double pairs = estimated(&r, &b, red->nrows, other->nrows, blue == NULL);

		CHECK(pairs <= factor * truth && truth <= factor * pairs, "%s: %g, there are %g", name,
			  pairs, truth);
		free_side(&r);
		free_side(&b);
	}
}

/* ---- boxes, lines ---- */

static void
workloads(void)
{
	static const struct
	{
		const char *name;
		double factor;
	} loads[] = {{"uniform,100000", 3}, {"gauss,100000", 3},  {"doc:0.01,50000", 3},
				 {"doc:10,20000", 2},   {"doct3:1,50000", 3}, {"map,100000", 10}};

	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
	{
		rb_set set[2];

		for (int k = 0; k < 2; k++)
		{
			char text[100];

			snprintf(text, sizeof(text), "%s,%d", loads[i].name, k + 1);
			CHECK(workload_named(text, RB_BOX3, &set[k]), "%s", text);
		}
		check_factor(loads[i].name, &set[0], &set[1], loads[i].factor);
		/*
		 * Adjacent segments of a line are rarely in the same sample, so only boxes are joined with
		 * themselves.
		 */
		if (set[0].kind == RB_BOX3)
			check_factor(loads[i].name, &set[0], NULL, loads[i].factor);
		free((void *) set[0].coords);
		free((void *) set[1].coords);
	}
}

/* ---- surfaces: n x n squares of two triangles ---- */

static void
surface_point(int shape, double u, double v, double p[3])
{
	p[0] = u;
	p[1] = v;
	p[2] = shape == 0 ? 0.1 * sin(9 * u) * cos(7 * v) : 0.13 * cos(8 * u + 3 * v);
}

static rb_set
surface(int shape, int n)
{
	rb_set s = all_of(RB_TRIANGLE3, 2 * (uint32_t) (n * n));
	double *to = (double *) s.coords;

	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
		{
			double p[4][3];

			for (int k = 0; k < 4; k++)
				surface_point(shape, (double) (i + k % 2) / n, (double) (j + k / 2) / n, p[k]);
			memcpy(to, p[0], sizeof(p[0]));
			memcpy(to + 3, p[1], sizeof(p[0]));
			memcpy(to + 6, p[2], sizeof(p[0]));
			memcpy(to + 9, p[1], sizeof(p[0]));
			memcpy(to + 12, p[3], sizeof(p[0]));
			memcpy(to + 15, p[2], sizeof(p[0]));
			to += 18;
		}
	return s;
}

static void
surfaces(void)
{
	rb_set fine = surface(0, 200), coarse = surface(1, 30);

	check_factor("surfaces", &fine, &coarse, 5);
	check_factor("surfaces, swapped", &coarse, &fine, 5);
	free_side(&fine);
	free_side(&coarse);
}

/* ---- samples that contain every row ---- */

static void
whole(void)
{
	for (uint32_t n = 1; n <= 300; n += 23)
	{
		char text[100];
		rb_set set[2];

		for (int k = 0; k < 2; k++)
		{
			snprintf(text, sizeof(text), "doc:100,%u,%d", n, k + 1);
			CHECK(workload_named(text, RB_BOX3, &set[k]), "%s", text);
		}
		CHECK(estimated(&set[0], &set[1], n, n, false) == joined(&set[0], &set[1]), "%s", text);
		CHECK(estimated(&set[0], &set[0], n, n, true) == joined(&set[0], NULL), "%s, self", text);
		free((void *) set[0].coords);
		free((void *) set[1].coords);
	}
}

/* ---- rows of several parts ---- */

/* Tests that pairs of rows are estimated, with combs whose teeth each meet many of another. */
static void
rows_of_parts(void)
{
	const uint32_t rows = 100, teeth = 20;
	rb_set s[2];

	for (int k = 0; k < 2; k++)
	{
		uint32_t *row_of = malloc(rows * teeth * sizeof(*row_of));
		double *to;

		s[k] = all_of(RB_SEGMENT2, rows * teeth);
		to = (double *) s[k].coords;
		for (uint32_t i = 0; i < rows * teeth; i++, to += 4)
		{
			double along = (i % teeth) / (double) teeth, at = 10.0 * (i / teeth);

			row_of[i] = i / teeth;
			to[0] = k == 0 ? at + along : at;
			to[1] = k == 0 ? 0 : along;
			to[2] = k == 0 ? at + along : at + 1;
			to[3] = k == 0 ? 1 : along;
		}
		s[k].row_of = row_of;
		s[k].nrows = rows;
	}
	CHECK(estimated(&s[0], &s[1], rows, rows, false) == rows, "%g",
		  estimated(&s[0], &s[1], rows, rows, false));
	/* Pretend there are more rows: the sample is not the whole. */
	CHECK(fabs(estimated(&s[0], &s[1], 10 * rows, 10 * rows, false) - 100.0 * rows) < 500, "%g",
		  estimated(&s[0], &s[1], 10 * rows, 10 * rows, false));
	CHECK(joined(&s[0], &s[1]) > 100.0 * rows, "parts");
	free_side(&s[0]);
	free_side(&s[1]);
}

/* ---- odd data ---- */

static rb_set
boxes(uint32_t n, double from, double step, double size)
{
	rb_set s = all_of(RB_BOX3, n);
	double *to = (double *) s.coords;

	for (uint32_t i = 0; i < n; i++)
		for (int k = 0; k < 6; k++)
			*to++ = from + step * i + (k < 3 ? 0 : size);
	return s;
}

static void
odd_data(void)
{
	static const double from[] = {0, 1e308, -1e308, 5e-324, 1e15, -1e-300};
	static const double size[] = {0, 1e300, 1e307, 5e-324, 1e-3, 1e-310};

	for (int i = 0; i < 6; i++)
		for (int j = 0; j < 6; j++)
		{
			rb_set same = boxes(2000, from[i], 0, size[j]),
				   other = boxes(3000, from[i], 0, size[j]);
			rb_set away = boxes(3000, 0.5 * from[i] + 3e307, 1e299, 1e290);
			rb_set none = boxes(0, 0, 0, 0);

			/* Everything meets everything. */
			CHECK(estimated(&same, &other, 1e6, 2e6, false) > 1.9e12, "%g %g", from[i], size[j]);
			CHECK(estimated(&same, &same, 2000, 2000, true) > 1.9e6, "%g %g", from[i], size[j]);
			CHECK(estimated(&same, &away, 1e6, 1e6, false) < 1e12, "%g %g", from[i], size[j]);
			CHECK(estimated(&same, &none, 1e6, 0, false) == 0, "no rows");
			free_side(&same);
			free_side(&other);
			free_side(&away);
			free_side(&none);
		}
}

/* Tests sets far from each other: no pairs, however many rows. */
static void
apart(void)
{
	rb_set here, there;
	double *x;

	CHECK(workload_named("uniform,2000,1", RB_BOX3, &here) &&
			  workload_named("uniform,2000,2", RB_BOX3, &there),
		  "workload");
	x = (double *) there.coords;
	for (uint32_t i = 0; i < 6 * there.nparts; i++)
		x[i] += 20500;
	CHECK(estimated(&here, &there, 1e6, 1e6, false) < 1, "%g",
		  estimated(&here, &there, 1e6, 1e6, false));
	free((void *) here.coords);
	free((void *) there.coords);
}

/* ---- errors ---- */

static void
refusals(void)
{
	rb_set s = boxes(2000, 0, 1, 0.5), t = all_of(RB_TRIANGLE3, 0);
	rb_samples what = {{&s, &s}, {2000, 2000}, false, RB_MEET, 0};
	rb_context ctx;
	double pairs;
	int refused = 0;

	for (uint64_t limit = 0; limit < 1200000; limit += 40000)
	{
		rb_memory *small = rb_memory_create(limit);
		rb_status status;

		rb_context_init(&ctx, small);
		status = rb_estimate_pairs(&ctx, &what, &pairs);
		CHECK(status == RB_OK || status == RB_OVER_BUDGET, "%d", (int) status);
		refused += status != RB_OK;
		CHECK(rb_memory_used(small) == 0, "memory left");
		rb_memory_destroy(small);
	}
	CHECK(refused > 3 && refused < 30, "%d refusals", refused);
	what.sample[1] = &t;
	rb_context_init(&ctx, memory);
	CHECK(rb_estimate_pairs(&ctx, &what, &pairs) == RB_UNSUPPORTED, "boxes and triangles");
	free_side(&s);
	free_side(&t);
}

int
main(void)
{
	memory = rb_memory_create(UINT64_MAX);
	CHECK_RUN(whole);
	CHECK_RUN(workloads);
	CHECK_RUN(surfaces);
	CHECK_RUN(rows_of_parts);
	CHECK_RUN(odd_data);
	CHECK_RUN(apart);
	CHECK_RUN(refusals);
	rb_memory_destroy(memory);
	return check_done();
}
