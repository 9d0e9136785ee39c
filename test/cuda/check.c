/*
 * check.c
 *	  Compares the device with the CPU: equal pairs, and an equal number of candidates if the
 *	  device compares exact boxes.
 *
 *	  check [OFF-FILE...]		each file with itself, and with its predecessor
 *
 * Results are compared by number and fingerprint. If they differ and are few, the first pairs that
 * only one side has are printed. Tests of the CPU backend compare it with brute force.
 * RB_TEST_SCALE multiplies the numbers of random rounds.
 */
#include "fixtures.h"
#include "gpu.h"
#include "input.h"
#include "points.h"

#include <float.h>
#include <math.h>

#define SHOWN 20000000 /* Maximum number of pairs that are stored and compared one by one */

static const rb_backend *gpu;

/* ---- comparing ---- */

static void
show_difference(const rb_set *red, const rb_set *blue, const gpu_setting *set)
{
	static gpu_answer a[2];
	size_t n[2], i = 0, j = 0;
	int shown = 0;

	for (int k = 0; k < 2; k++)
	{
		a[k].room = SHOWN;
		a[k].kept = malloc(SHOWN * sizeof(rb_pair));
		if (a[k].kept == NULL)
			return;
		gpu_join(k ? gpu : &rb_backend_cpu, red, blue, set, &a[k]);
		n[k] = a[k].pairs < SHOWN ? a[k].pairs : SHOWN;
		qsort(a[k].kept, n[k], sizeof(rb_pair), compare_pairs);
	}
	while ((i < n[0] || j < n[1]) && shown < 5)
	{
		int c = i == n[0] ? 1 : j == n[1] ? -1 : compare_pairs(&a[0].kept[i], &a[1].kept[j]);

		if (c == 0)
			i++, j++;
		else
		{
			const rb_pair *p = c < 0 ? &a[0].kept[i++] : &a[1].kept[j++];
			const rb_set *of[2] = {red, blue ? blue : red};
			const uint32_t at[2] = {rb_pair_red(*p), p->blue};

			printf("# only %s: %u %u, payload %u\n", c < 0 ? "cpu" : "gpu", at[0], at[1],
				   rb_pair_payload(*p));
			for (int s = 0; s < 2; s++)
				for (int k = 0, w = rb_kind_width(of[s]->kind); k < w; k++)
					printf("# %a%s", of[s]->coords[(size_t) w * at[s] + k], k < w - 1 ? "" : "\n");
			shown++;
		}
	}
	for (int k = 0; k < 2; k++)
	{
		free(a[k].kept);
		memset(&a[k], 0, sizeof(a[k]));
	}
}

static uint64_t pairs_seen, candidates_seen;

/* Compares the CPU's result with plain settings with the device's result with the given ones. */
static void
agree_under(const rb_set *red, const rb_set *blue, const gpu_setting *set, const gpu_answer *want,
			const char *what)
{
	gpu_answer got = {0};

	gpu_join(gpu, red, blue, set, &got);
	CHECK(got.status == RB_OK, "%s: %s, %s", what, rb_status_text(got.status), got.error.text);
	CHECK(got.pairs == want->pairs, "%s: %lu pairs, not %lu", what, (unsigned long) got.pairs,
		  (unsigned long) want->pairs);
	CHECK(set->count_only || got.fingerprint == want->fingerprint, "%s: other pairs", what);
	CHECK(got.stats.hits == want->stats.hits, "%s: %lu hits, not %lu", what,
		  (unsigned long) got.stats.hits, (unsigned long) want->stats.hits);
	/* For triangles, the device compares extents along more directions, with few bits (kdop.h). */
	if (red->kind == RB_TRIANGLE3 && (blue == NULL || blue->kind == RB_TRIANGLE3))
		CHECK(got.stats.stage[RB_STAGE_CANDIDATES].count >= want->pairs,
			  "%s: %lu candidates, but %lu pairs", what,
			  (unsigned long) got.stats.stage[RB_STAGE_CANDIDATES].count,
			  (unsigned long) want->pairs);
	else
		CHECK(got.stats.stage[RB_STAGE_CANDIDATES].count ==
				  want->stats.stage[RB_STAGE_CANDIDATES].count,
			  "%s: %lu candidates, not %lu", what,
			  (unsigned long) got.stats.stage[RB_STAGE_CANDIDATES].count,
			  (unsigned long) want->stats.stage[RB_STAGE_CANDIDATES].count);
	if (got.status == RB_OK && !set->count_only && got.fingerprint != want->fingerprint)
		show_difference(red, blue, set);
	pairs_seen += got.pairs;
	candidates_seen += got.stats.stage[RB_STAGE_CANDIDATES].count;
	if (getenv("RB_TEST_VERBOSE") != NULL)
		printf("# %s: %u x %u, %lu candidates, %lu float, %lu double, %lu exact (%lu gmp), %lu "
			   "pairs, %u x %u x %u, %lu cells, cpu %.1f ms, gpu %.1f ms\n",
			   what, red->nparts, blue ? blue->nparts : 0,
			   (unsigned long) got.stats.stage[RB_STAGE_CANDIDATES].count,
			   (unsigned long) got.stats.stage[RB_STAGE_FLOAT].count,
			   (unsigned long) got.stats.stage[RB_STAGE_DOUBLE].count,
			   (unsigned long) got.stats.stage[RB_STAGE_EXACT].count,
			   (unsigned long) got.stats.exact_gmp, (unsigned long) got.pairs,
			   got.stats.resolution[0], got.stats.resolution[1], got.stats.resolution[2],
			   (unsigned long) got.stats.cells, want->ms, got.ms);
}

/* ---- counts and hits ---- */

/*
 * Runs a job to its end. Counts pairs into `words`, or copies counts to them, or matched rows as 0
 * or 1.
 */
static void
words_of(const rb_backend *backend, const rb_job *job, const gpu_setting *set, uint32_t rows,
		 uint32_t *words, uint64_t *emitted, const char *what)
{
	rb_memory *memory = rb_memory_create((uint64_t) 100 << 30);
	rb_stream *stream = NULL;
	rb_context ctx;
	rb_block block;
	rb_status status;
	const uint32_t *got;

	rb_context_init(&ctx, memory);
	ctx.threads = set->threads > 0 ? set->threads : (int) sysconf(_SC_NPROCESSORS_ONLN);
	ctx.settings.grid_resolution = set->resolution;
	ctx.filters = set->filters;
	ctx.settings.gpu_memory_limit = set->gpu_memory;
	memset(words, 0, rows * sizeof(uint32_t));
	status = rb_stream_open(&ctx, backend, job, &stream);
	while (status == RB_OK && (status = rb_stream_next(stream, 20, &block)) == RB_OK)
		for (size_t i = 0; i < block.n; i++)
		{
			if (job->of != RB_OF_BLUE)
				words[block.red[i]]++;
			if (job->of != RB_OF_RED)
				words[block.blue[i]]++;
		}
	CHECK(status == RB_END, "%s: %s, %s", what, rb_status_text(status), ctx.error.text);
	got = status == RB_END ? rb_stream_words(stream) : NULL;
	for (uint32_t i = 0; i < rows && got != NULL; i++)
		words[i] = job->answer == RB_HITS ? got[i / 32] >> i % 32 & 1 : got[i];
	*emitted = ctx.stats.stage[RB_STAGE_EMIT].count;
	rb_stream_close(stream);
	rb_memory_destroy(memory);
}

/* Checks that counts and matched rows of the device agree with the CPU's pairs. */
static void
words_agree(const rb_set *red, const rb_set *blue, const gpu_setting *set, const char *what)
{
	rb_job job = {.red = red, .blue = blue};
	const uint32_t most = 1 + (blue != NULL && blue->nrows > red->nrows ? blue->nrows : red->nrows);
	uint32_t *want = malloc(most * sizeof(uint32_t)), *got = malloc(most * sizeof(uint32_t));

	for (int of = RB_OF_RED; of <= (blue != NULL ? RB_OF_BLUE : RB_OF_BOTH); of++)
	{
		const uint32_t rows = of == RB_OF_BLUE && blue != NULL ? blue->nrows : red->nrows;
		uint64_t pairs, emitted, hit = 0, counts = 0, marks = 0;

		job.of = (rb_result_side) of;
		job.answer = RB_PAIRS;
		words_of(&rb_backend_cpu, &job, &gpu_plain, rows, want, &pairs, what);
		job.answer = RB_COUNTS;
		words_of(gpu, &job, set, rows, got, &emitted, what);
		for (uint32_t i = 0; i < rows; i++)
			counts += got[i] != want[i];
		CHECK(counts == 0, "%s, of %d: %lu counts of %u rows differ", what, of,
			  (unsigned long) counts, rows);
		CHECK(emitted == pairs, "%s, of %d: %lu counted, not %lu", what, of,
			  (unsigned long) emitted, (unsigned long) pairs);
		job.answer = RB_HITS;
		words_of(gpu, &job, set, rows, got, &emitted, what);
		for (uint32_t i = 0; i < rows; i++)
		{
			marks += got[i] != (want[i] > 0);
			hit += want[i] > 0;
		}
		CHECK(marks == 0, "%s, of %d: %lu marks of %u rows differ", what, of, (unsigned long) marks,
			  rows);
		CHECK(emitted == hit, "%s, of %d: %lu hit, not %lu", what, of, (unsigned long) emitted,
			  (unsigned long) hit);
	}
	free(want);
	free(got);
}

/*
 * Compares with all settings if there are few pairs, otherwise with the plain one. Returns the
 * number of signs for which the CPU used GMP.
 */
static uint64_t
agree_on(const rb_set *red, const rb_set *blue, bool many, const gpu_setting *question,
		 const char *what)
{
	static const struct
	{
		const char *name;
		gpu_setting set;
	} settings[] = {
		{"plain", {.filters = RB_FILTER_ALL}},
		{"count only", {.filters = RB_FILTER_ALL, .count_only = true}},
		{"groups", {.filters = RB_FILTER_ALL, .records = true}},
		{"one cell", {.filters = RB_FILTER_ALL, .resolution = 1}},
		{"resolution 37", {.filters = RB_FILTER_ALL, .resolution = 37}},
		{"24 MB", {.filters = RB_FILTER_ALL, .gpu_memory = (uint64_t) 24 << 20}},
		{"no float", {.filters = RB_FILTER_ALL & ~RB_FILTER_FLOAT}},
		{"no filter", {.filters = RB_EXACT_INTEGER | RB_EXACT_EXPANSION}},
		{"no integers", {.filters = RB_FILTER_ALL & ~RB_EXACT_INTEGER}},
		{"expansions, 24 MB",
		 {.filters = RB_FILTER_FLOAT | RB_EXACT_EXPANSION, .gpu_memory = (uint64_t) 24 << 20}},
		{"float and gmp", {.filters = RB_FILTER_FLOAT}},
	};
	gpu_setting plain = *question;
	gpu_answer want = {0};
	char name[120];

	plain.filters = RB_FILTER_ALL;
	gpu_join(&rb_backend_cpu, red, blue, &plain, &want);
	CHECK(want.status == RB_OK, "%s: cpu: %s", what, rb_status_text(want.status));
	for (int i = 0; i < (many ? 1 : (int) (sizeof(settings) / sizeof(settings[0]))); i++)
	{
		gpu_setting set = settings[i].set;

		/* Distances by GMP alone only for few pairs */
		if (question->predicate == RB_WITHIN && (set.filters & RB_FILTER_SIGNS) == 0 &&
			want.stats.stage[RB_STAGE_CANDIDATES].count > 20000)
			continue;
		set.predicate = question->predicate;
		set.distance = question->distance;
		set.within_rows = question->within_rows;
		snprintf(name, sizeof(name), "%s, %s", what, settings[i].name);
		agree_under(red, blue, &set, &want, name);
		/*
		 * Only once, and not for millions of pairs, because the CPU takes a long time for all three
		 * sides
		 */
		if (i == 0 && want.pairs < 2000000 && question->predicate == RB_MEET)
			words_agree(red, blue, &set, name);
	}
	return want.stats.exact_gmp;
}

/* Returns about a tenth of an edge length, or some number for data without edges. */
static double
near_distance(const rb_set *o)
{
	const int width = rb_kind_width(o->kind), dims = rb_kind_dims(o->kind);
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < o->nparts; i += 1 + o->nparts / 100, n++)
		for (int a = 0; a < dims; a++)
			sum +=
				fabs(o->coords[(size_t) i * width + a] - o->coords[(size_t) i * width + dims + a]);
	return n > 0 && sum > 0 && sum < DBL_MAX ? 0.1 * sum / n : 0.25;
}

/* Compares all predicates that these kinds support. */
static void
agree(const rb_set *red, const rb_set *blue, bool many, const char *what)
{
	const rb_kind blue_kind = blue != NULL ? blue->kind : red->kind;
	gpu_setting question = gpu_plain;
	rb_set few[2] = {*red, blue != NULL ? *blue : *red};
	char name[100];

	/* If double arithmetic is not sufficient, a distance takes milliseconds. */
	if (agree_on(red, blue, many, &question, what) > 500)
		for (int s = 0; s < 2; s++)
			if (few[s].row_of == NULL && few[s].nparts > 60)
				few[s].nparts = few[s].nrows = 60;
	question.predicate = RB_CONTACT;
	snprintf(name, sizeof(name), "%s, contacts", what);
	if (rb_leaf_exists(RB_CONTACT, red->kind, blue_kind))
		agree_on(red, blue, many, &question, name);
	question.predicate = RB_WITHIN;
	if (rb_leaf_exists(RB_WITHIN, red->kind, blue_kind))
		for (int k = 0; k < 4; k++)
		{
			const double distance[] = {0, near_distance(red), 0x1p-1060, 1e300};

			/* All pairs, none of which float arithmetic decides */
			if (k == 3 && (double) few[0].nparts * few[1].nparts > 1e6)
				break;
			question.distance = distance[k];
			snprintf(name, sizeof(name), "%s, within %g", what, question.distance);
			agree_on(&few[0], blue != NULL ? &few[1] : NULL, many || k > 1, &question, name);
		}
	if (blue != NULL || red->kind != RB_TRIANGLE3)
		return;
	question.predicate = RB_SELF_INTERSECT;
	snprintf(name, sizeof(name), "%s, self-intersections", what);
	agree_on(red, NULL, many, &question, name);
	question.within_rows = true;
	snprintf(name, sizeof(name), "%s, within rows", what);
	if (red->row_of != NULL)
		agree_on(red, NULL, many, &question, name);
}

static void
both(const rb_set *red, const rb_set *blue, bool many, const char *what)
{
	char name[80];

	agree(red, blue, many, what);
	snprintf(name, sizeof(name), "%s, self", what);
	agree(red, NULL, many, name);
}

/* ---- soups ---- */

static rb_set
soup_of(rb_kind kind, uint32_t n)
{
	rb_set o = {.kind = kind, .nparts = n, .nrows = n, .coords = malloc((size_t) (n + 1) * 72)};

	return o;
}

static rb_set
soup(uint32_t n)
{
	return soup_of(RB_TRIANGLE3, n);
}

static void
scatter(rb_set *o, uint32_t from, uint32_t to, double spread, double size, double x, double y,
		double z)
{
	const double at[3] = {x, y, z};
	double *c = (double *) o->coords;

	for (uint32_t i = from; i < to; i++)
	{
		double centre[3];

		for (int a = 0; a < 3; a++)
			centre[a] = at[a] + spread * random_signed();
		for (int k = 0; k < 9; k++)
			c[9 * (size_t) i + k] = centre[k % 3] + size * random_signed();
	}
}

/* Groups parts into rows of 1 .. most parts. */
static void
group(rb_set *o, int most)
{
	o->row_of = random_rows(o->nparts, most, &o->nrows);
}

/* ---- cases ---- */

static void
clean_soups(void)
{
	static const uint32_t sizes[][2] = {{1, 1}, {3, 50}, {1000, 1500}, {40000, 30000}};
	static const double size[] = {0.5, 0.3, 0.15, 0.04};

	for (int k = 0; k < 4; k++)
	{
		rb_set r = soup(sizes[k][0]), b = soup(sizes[k][1]);

		scatter(&r, 0, r.nparts, 1, size[k], 0, 0, 0);
		scatter(&b, 0, b.nparts, 1, size[k], 0, 0, 0);
		both(&r, &b, false, "soup");
		free_side(&r);
		free_side(&b);
	}
}

static void
disjoint_and_empty(void)
{
	rb_set r = soup(1000), b = soup(1000);

	scatter(&r, 0, 1000, 1, 0.1, 0, 0, 0);
	scatter(&b, 0, 1000, 1, 0.1, 5, 0, 0);
	agree(&r, &b, false, "disjoint");
	scatter(&b, 0, 1000, 1, 0.1, 2.05, 0, 0);
	agree(&r, &b, false, "barely");
	b.nparts = 0;
	agree(&r, &b, false, "empty");
	free_side(&r);
	free_side(&b);
}

static void
families(void)
{
	for (int family = 0; family < POINTS_FAMILIES; family++)
	{
		rb_set r = soup(600), b = soup(500);

		for (int i = 0; i < 600; i++)
			points_make(family, 3, 3, (double *) r.coords + 9 * i);
		for (int i = 0; i < 500; i++)
			points_make(family, 3, 3, (double *) b.coords + 9 * i);
		both(&r, &b, false, points_family_name[family]);
		free_side(&r);
		free_side(&b);
	}
}

static void
lattices(void)
{
	static const double scales[] = {1, 0.1, 0x1p-1072, 0x1p1018, 0x1p-400, 1e300};

	for (int k = 0; k < 6; k++)
		for (int side = 5; side <= 40; side += 35)
		{
			rb_set r = soup(side * 20), b = soup(side * 18);

			for (size_t i = 0; i < 9 * (size_t) r.nparts; i++)
				((double *) r.coords)[i] = scales[k] * (check_below(side) - side / 2);
			for (size_t i = 0; i < 9 * (size_t) b.nparts; i++)
				((double *) b.coords)[i] = scales[k] * (check_below(side) - side / 2);
			both(&r, &b, false, "lattice");
			free_side(&r);
			free_side(&b);
		}
}

static void
rows_of_many_parts(void)
{
	rb_set r = soup(9000), b = soup(7000);

	scatter(&r, 0, r.nparts, 1, 0.1, 0, 0, 0);
	scatter(&b, 0, b.nparts, 1, 0.1, 0, 0, 0);
	group(&r, 5);
	both(&r, &b, false, "rows of parts");
	group(&b, 300);
	both(&b, &r, false, "rows of many parts");
	free_side(&r);
	free_side(&b);
}

/*
 * Dense clusters at a distance of 1e9, outliers in between at every scale, a mesh that shrinks
 * toward a point
 */
static void
clusters(void)
{
	rb_set r = soup(200000), b = soup(200000);

	for (int s = 0; s < 2; s++)
	{
		rb_set *m = s ? &b : &r;

		scatter(m, 0, 90000, 1, 0.02, 0, 0, 0);
		scatter(m, 90000, 180000, 1, 0.02, 1e9, 1e9, -1e9);
		for (uint32_t i = 180000; i < 180020; i++)
			scatter(m, i, i + 1, 0, 0.5, pow(3, i - 180000), 0, 0);
		for (uint32_t i = 180020; i < 200000; i++)
		{
			double scale = pow(0.5, (i - 180020) / 1000);

			scatter(m, i, i + 1, scale, scale * 0.1, -1e9, 0, 0);
		}
	}
	both(&r, &b, false, "clusters");
	free_side(&r);
	free_side(&b);
}

/* Giants that cover everything, needles along each axis, points */
static void
mixed_sizes(void)
{
	rb_set r = soup(60000), b = soup(60000);

	for (int s = 0; s < 2; s++)
	{
		rb_set *m = s ? &b : &r;
		double *c = (double *) m->coords;

		scatter(m, 0, m->nparts, 1, 0.01, 0, 0, 0);
		scatter(m, 30000, 30040, 0, 1, 0, 0, 0);
		scatter(m, 100, 103, 0, 1e6, 0, 0, 0);
		for (uint32_t i = 59000; i < 60000; i++)
		{
			double *t = c + 9 * (size_t) i;
			int axis = check_below(3);

			for (int k = 0; k < 9; k++)
				t[k] = k < 3 ? random_signed() : t[k % 3];
			if (i % 3 > 0)
				t[axis] = -1, t[3 + axis] = 1;
		}
	}
	both(&r, &b, false, "mixed sizes");
	free_side(&r);
	free_side(&b);
}

static void
one_giant(void)
{
	rb_set r = soup(1), b = soup(1000000);

	scatter(&r, 0, 1, 0, 2, 0, 0, 0);
	scatter(&b, 0, b.nparts, 1, 0.005, 0, 0, 0);
	agree(&r, &b, true, "giant red");
	agree(&b, &r, true, "giant blue");
	free_side(&r);
	free_side(&b);
}

static void
identical(void)
{
	rb_set r = soup(6000), b = soup(4000);

	for (size_t i = 0; i < 9 * (size_t) r.nparts; i++)
		((double *) r.coords)[i] = i % 9 % 4 == 0;
	memcpy((double *) b.coords, r.coords, (size_t) b.nparts * 72);
	both(&r, &b, false, "identical");
	free_side(&r);
	free_side(&b);
}

/* Slivers, walls that nearly touch, shared corners: a mesh with itself */
static void
volumetric(void)
{
	static const char *const args[][2] = {
		{"18 1 0.2", "18 2 0.2 0.31 0.17 0.23"},
		{"18 1 0", "18 2 0 0.5 0.25 0"},
		{"18 1 0", "18 2 0 1 2 3"},
		{"18 1 1e-9", "18 2 1e-9 0.5 0.25 0"},
		{"18 1 0.2 0 0 0 10 500000 4650000 120", "18 2 0.2 0.31 0.17 0.23 10 500000 4650000 120"},
	};

	for (size_t k = 0; k < sizeof(args) / sizeof(args[0]); k++)
	{
		rb_set r = gpu_volmesh(args[k][0]), b = gpu_volmesh(args[k][1]);

		both(&r, &b, k > 0, args[k][1]);
		free_side(&r);
		free_side(&b);
	}
}

/* At least 1e8 candidates, clean and degenerate */
static void
large(void)
{
	static const char *const args[][2] = {
		{"60 1 0.2", "60 2 0.2 0.31 0.17 0.23"},
		{"40 1 0", "40 2 0 0.5 0.25 0"},
	};

	for (int k = 0; k < 2; k++)
	{
		rb_set r = gpu_volmesh(args[k][0]), b = gpu_volmesh(args[k][1]);
		static const gpu_setting tight = {.filters = RB_FILTER_ALL,
										  .gpu_memory = (uint64_t) 150 << 20};
		gpu_answer want = {0};

		both(&r, &b, true, args[k][1]);
		gpu_join(&rb_backend_cpu, &r, &b, &gpu_plain, &want);
		agree_under(&r, &b, &tight, &want, "150 MB");
		gpu_join(&rb_backend_cpu, &r, NULL, &gpu_plain, &want);
		agree_under(&r, NULL, &tight, &want, "150 MB, self");
		free_side(&r);
		free_side(&b);
	}
	CHECK(check_rounds(1) > 1 || candidates_seen > 100000000, "%lu candidates in all",
		  (unsigned long) candidates_seen);
}

/* Many different small joins */
static void
random_joins(void)
{
	for (long i = check_rounds(150); i > 0; i--)
	{
		rb_set r = soup(1 + check_below(3000)), b = soup(1 + check_below(3000));
		double size = exp(-6 * fabs(random_signed()));
		bool flat = check_below(4) == 0;

		for (int s = 0; s < 2; s++)
		{
			rb_set *m = s ? &b : &r;
			double *c = (double *) m->coords;

			scatter(m, 0, m->nparts, 1, size, 0, 0, 0);
			for (size_t k = 0; k < 9 * (size_t) m->nparts; k++)
			{
				if (flat && k % 3 == 2)
					c[k] = 0.25;
				if (i % 3 == 0)
					c[k] = rint(c[k] * 64) / 64;
				if (i % 5 == 0)
					c[k] = (float) c[k];
			}
		}
		if (i % 7 == 0)
			group(&r, 3);
		agree(&r, i % 2 ? &b : NULL, true, "random");
		free_side(&r);
		free_side(&b);
	}
}

/*
 * Fills objects of any kind. Family -1 means small ones anywhere, others are those of points.h. In
 * boxes, low <= high.
 */
static void
fill(rb_set *o, int family, double size)
{
	const int dims = o->kind == RB_SEGMENT2 || o->kind == RB_BOX2 ? 2 : 3;
	const int points = rb_kind_width(o->kind) / dims;
	double *c = (double *) o->coords;

	for (uint32_t i = 0; i < o->nparts; i++, c += points * dims)
	{
		if (family >= 0)
			points_make(family, points, dims, c);
		else
		{
			double centre[3] = {random_signed(), random_signed(), random_signed()};

			for (int k = 0; k < points * dims; k++)
				c[k] = centre[k % dims] + size * random_signed();
		}
		if (o->kind == RB_BOX3 || o->kind == RB_BOX2)
			for (int a = 0; a < dims; a++)
				if (c[a] > c[dims + a])
				{
					double t = c[a];

					c[a] = c[dims + a];
					c[dims + a] = t;
				}
	}
}

/* Segments with triangles, segments in the plane, boxes: the same grid with another predicate */
static void
kinds(void)
{
	static const struct
	{
		rb_kind red, blue;
		const char *name;
	} pairs[] = {{RB_SEGMENT3, RB_TRIANGLE3, "segments, triangles"},
				 {RB_TRIANGLE3, RB_SEGMENT3, "triangles, segments"},
				 {RB_SEGMENT2, RB_SEGMENT2, "segments of the plane"},
				 {RB_BOX3, RB_BOX3, "boxes"},
				 {RB_BOX2, RB_BOX2, "boxes of the plane"}};

	for (size_t k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++)
		for (int family = -3; family < POINTS_FAMILIES; family++)
		{
			rb_set r = soup_of(pairs[k].red, family == -1 ? 200000 : 700);
			rb_set b = soup_of(pairs[k].blue, family == -1 ? 150000 : 600);

			fill(&r, family, family == -1 ? 0.01 : 0.2);
			fill(&b, family, family == -1 ? 0.01 : 0.2);
			if (family == -3)
				group(&r, 4);
			agree(&r, &b, family == -1, pairs[k].name);
			if (pairs[k].red == pairs[k].blue)
				agree(&r, NULL, family == -1, pairs[k].name);
			free_side(&r);
			free_side(&b);
		}
}

/* Divides space n - 1 times, mostly at corners of parts. */
static void
cut_space(rb_box *tile, int n, const rb_set *o)
{
	const int dims = rb_kind_dims(o->kind);

	tile[0] = (rb_box){dims, {-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}};
	for (int i = 1; i < n; i++)
	{
		rb_box *half = &tile[check_below(i)];
		const int axis = check_below(dims);
		double at =
			o->coords[(size_t) check_below((int) o->nparts) * rb_kind_width(o->kind) + axis];

		at = fmin(fmax(at, half->low[axis]), half->high[axis]);
		tile[i] = *half;
		half->high[axis] = at;
		tile[i].low[axis] = at;
	}
}

/* Checks that each pair of rows belongs to one tile, the same one as on the CPU. */
static void
tiles_agree(rb_job job, const char *what)
{
	const uint32_t rows = job.red->nrows;
	uint32_t *all = malloc((size_t) rows * sizeof(uint32_t)), *sum = calloc(rows, sizeof(uint32_t));
	uint32_t *want = malloc((size_t) rows * sizeof(uint32_t));
	uint32_t *got = malloc((size_t) rows * sizeof(uint32_t));
	uint64_t pairs, emitted, expected, in_tiles = 0;
	rb_box tile[6];
	const int n = 1 + check_below(6);

	cut_space(tile, n, job.red);
	job.of = job.blue == NULL ? RB_OF_BOTH : RB_OF_RED;
	job.answer = RB_PAIRS;
	words_of(&rb_backend_cpu, &job, &gpu_plain, rows, all, &pairs, what);
	for (int i = 0; i < n; i++)
	{
		const rb_result_form answers[] = {RB_PAIRS, RB_COUNTS, RB_COUNT, RB_HITS};

		job.tile = tile[i];
		job.answer = RB_PAIRS;
		words_of(&rb_backend_cpu, &job, &gpu_plain, rows, want, &expected, what);
		for (int k = 0; k < (job.predicate == RB_MEET ? 4 : 3); k++)
		{
			uint64_t differ = 0;

			job.answer = answers[k];
			words_of(gpu, &job, &gpu_plain, rows, got, &emitted, what);
			for (uint32_t r = 0; r < rows && answers[k] != RB_COUNT; r++)
				differ += answers[k] == RB_HITS ? got[r] != (want[r] > 0) : got[r] != want[r];
			CHECK(differ == 0, "%s, answer %d: %lu rows of %u differ", what, (int) answers[k],
				  (unsigned long) differ, rows);
			CHECK(answers[k] == RB_HITS || emitted == expected, "%s, answer %d: %lu, not %lu", what,
				  (int) answers[k], (unsigned long) emitted, (unsigned long) expected);
		}
		for (uint32_t r = 0; r < rows; r++)
			sum[r] += want[r];
		in_tiles += expected;
	}
	CHECK(in_tiles == pairs && memcmp(all, sum, rows * sizeof(uint32_t)) == 0,
		  "%s: %lu pairs in %d tiles, not %lu", what, (unsigned long) in_tiles, n,
		  (unsigned long) pairs);
	pairs_seen += pairs;
	free(all);
	free(sum);
	free(want);
	free(got);
}

static void
tiles(void)
{
	static const struct
	{
		rb_kind red, blue;
		rb_predicate predicate;
		const char *name;
	} asked[] = {{RB_TRIANGLE3, RB_TRIANGLE3, RB_MEET, "tiles, triangles"},
				 {RB_SEGMENT3, RB_TRIANGLE3, RB_MEET, "tiles, segments in space"},
				 {RB_SEGMENT2, RB_SEGMENT2, RB_MEET, "tiles, segments"},
				 {RB_BOX3, RB_BOX3, RB_MEET, "tiles, boxes"},
				 {RB_BOX2, RB_BOX2, RB_MEET, "tiles, boxes of the plane"},
				 {RB_TRIANGLE3, RB_TRIANGLE3, RB_CONTACT, "tiles, contacts"},
				 {RB_TRIANGLE3, RB_TRIANGLE3, RB_WITHIN, "tiles, within"},
				 {RB_SEGMENT2, RB_SEGMENT2, RB_WITHIN, "tiles, segments within"}};

	for (long i = check_rounds(64); i > 0; i--)
	{
		const size_t k = (size_t) i % (sizeof(asked) / sizeof(asked[0]));
		const bool large = i <= 8;
		rb_set r = soup_of(asked[k].red, large ? 100000 : 1 + (uint32_t) check_below(1500));
		rb_set b = soup_of(asked[k].blue, large ? 80000 : 1 + (uint32_t) check_below(1500));
		rb_job job = {.red = &r, .blue = &b, .predicate = asked[k].predicate};
		const int family = large || i % 3 > 0 ? -1 : i % 2 > 0 ? POINTS_LATTICE : POINTS_UTM;

		fill(&r, family, large ? 0.02 : 0.2);
		fill(&b, family, large ? 0.02 : 0.2);
		if (check_below(3) == 0)
			group(&r, 6);
		if (check_below(3) == 0)
			group(&b, 40);
		if (job.predicate == RB_WITHIN)
			job.distance = large ? 0.002 : 0.05;
		tiles_agree(job, asked[k].name);
		job.blue = NULL;
		if (asked[k].red == asked[k].blue)
			tiles_agree(job, asked[k].name);
		free_side(&r);
		free_side(&b);
	}
}

/*
 * Points as rays that extend above all triangles: many of them exactly below corners and edges, or
 * on them
 */
static void
under(void)
{
	for (int family = -2; family < POINTS_FAMILIES; family++)
	{
		rb_set r = soup_of(RB_SEGMENT3, family == -1 ? 100000 : 900);
		rb_set b = soup(family == -1 ? 50000 : 600);
		double *c = (double *) r.coords, top = -HUGE_VAL;
		gpu_setting question = {.predicate = RB_RAY_PARITY};

		fill(&r, family, family == -1 ? 0.02 : 0.5);
		fill(&b, family, family == -1 ? 0.02 : 0.5);
		for (size_t i = 0; i < (size_t) b.nparts * 3; i++)
			top = b.coords[3 * i + 2] > top ? b.coords[3 * i + 2] : top;
		for (uint32_t i = 0; i < r.nparts; i++, c += 6)
		{
			const double *t = b.coords + 9 * (size_t) check_below((int) b.nparts);

			for (int a = 0; a < 3; a++)
				switch (i % 5)
				{
					case 0: /* A corner, or below it */
						c[a] = a < 2 || i % 2 ? t[a] : c[a];
						break;
					case 1: /* On an edge, or below it */
						c[a] = a < 2 || i % 2 ? 0.5 * t[a] + 0.5 * t[3 + a] : c[a];
						break;
					default:
						break;
				}
			c[3] = c[0];
			c[4] = c[1];
			c[5] = top > c[2] ? top : c[2];
		}
		agree_on(&r, &b, family == -1, &question,
				 family < 0 ? "points under triangles" : points_family_name[family]);
		free_side(&r);
		free_side(&b);
	}
}

/* Compares each pair of boxes. */
static void
brute(const rb_set *r, const rb_set *b, gpu_answer *a)
{
	a->pairs = a->fingerprint = 0;
	for (uint32_t i = 0; i < r->nparts; i++)
		for (uint32_t j = b != NULL ? 0 : i + 1; j < (b != NULL ? b->nparts : r->nparts); j++)
		{
			double plo[3], phi[3], qlo[3], qhi[3];

			rb_kind_box(r->kind, r->coords, i, plo, phi);
			rb_kind_box(r->kind, (b != NULL ? b : r)->coords, j, qlo, qhi);
			if (!rb_boxes_overlap(plo, phi, qlo, qhi))
				continue;
			a->pairs++;
			a->fingerprint += gpu_mix(((uint64_t) i << 32 | j) + 0x9e3779b97f4a7c15u);
		}
}

/* Returns a coordinate for which many comparisons are close, equal, or equal only as floats. */
static double
close_number(int family)
{
	static const double zeros[] = {-0.0, 0.0, 4.9e-324, -4.9e-324, DBL_MIN, -DBL_MIN};
	double x = 0.5;

	switch (family)
	{
		case 0: /* A lattice: faces, edges and corners touch */
			return check_below(7);
		case 1: /* Equal as floats of a cell, but not as doubles */
			return check_below(4) / 4.0 + check_below(3) * 0x1p-50;
		case 2: /* Adjacent doubles */
			for (uint64_t i = check_below(5); i > 0; i--)
				x = nextafter(x, 1);
			return x;
		case 3:
			return zeros[check_below(6)];
		case 4: /* Sizes from 1e-6 to 1e6 */
			return exp(14 * random_signed()) * (check_below(2) ? 1 : -1);
		case 5: /* The limits of the range */
			return ldexp(random_signed(), 1023 - 40 * (int) check_below(2));
		default:
			return (float) random_signed();
	}
}

static void
close_boxes(void)
{
	static const rb_kind kind[] = {RB_BOX3, RB_BOX2};

	for (int k = 0; k < 2; k++)
		for (int family = 0; family < 7; family++)
		{
			rb_set o[2] = {soup_of(kind[k], 1500), soup_of(kind[k], 1300)};
			const int dims = kind[k] == RB_BOX3 ? 3 : 2;
			gpu_answer want = {0}, got = {0};

			for (int s = 0; s < 2; s++)
				for (uint32_t i = 0; i < o[s].nparts; i++)
				{
					double *c = (double *) o[s].coords + (size_t) 2 * dims * i;

					for (int a = 0; a < dims; a++)
					{
						double x = close_number(family), y = close_number(family);

						/* Wide lattice boxes would all meet. */
						if (family == 0)
							y = x + check_below(3);
						c[a] = y < x ? y : x;
						c[dims + a] = y < x ? x : y;
					}
				}
			for (int self = 0; self < 2; self++)
			{
				brute(&o[0], self ? NULL : &o[1], &want);
				gpu_join(gpu, &o[0], self ? NULL : &o[1], &gpu_plain, &got);
				CHECK(got.status == RB_OK && got.pairs == want.pairs &&
						  got.fingerprint == want.fingerprint,
					  "family %d, %dD, self %d: %lu pairs, not %lu", family, dims, self,
					  (unsigned long) got.pairs, (unsigned long) want.pairs);
				agree(&o[0], self ? NULL : &o[1], false, "close boxes");
			}
			free_side(&o[0]);
			free_side(&o[1]);
		}
}

/*
 * One cell with exactly the number of boxes that fills a tile, a strip, or two groups of strips, or
 * one more or less
 */
static void
full_tiles(void)
{
	static const rb_kind kind[] = {RB_BOX3, RB_BOX2, RB_SEGMENT3, RB_SEGMENT2};
	static const uint32_t size[] = {1, 31, 32, 33, 64, 65, 96, 223, 224, 225, 255, 256, 448, 449};
	const uint32_t sizes = sizeof(size) / sizeof(size[0]);

	for (int k = 0; k < 4; k++)
		for (uint32_t i = 0; i < sizes; i++)
		{
			rb_set r = soup_of(kind[k], size[i]);
			rb_set b = soup_of(kind[k], size[check_below((int) sizes)]);
			gpu_setting set = gpu_plain;
			gpu_answer want = {0};

			fill(&r, i % 3 == 0 ? POINTS_LATTICE : -1, i % 2 ? 0.2 : 2);
			fill(&b, i % 3 == 0 ? POINTS_LATTICE : -1, i % 2 ? 0.2 : 2);
			for (int how = 0; how < 3; how++)
			{
				set.resolution = 1;
				set.count_only = how == 1;
				set.records = how == 2;
				gpu_join(&rb_backend_cpu, &r, &b, &gpu_plain, &want);
				agree_under(&r, &b, &set, &want, "full tiles");
				gpu_join(&rb_backend_cpu, &r, NULL, &gpu_plain, &want);
				agree_under(&r, NULL, &set, &want, "full tiles, self");
			}
			free_side(&r);
			free_side(&b);
		}
}

/* Builds boxes from each center with this size along each axis. */
static void
cubes(rb_set *o, uint32_t from, uint32_t to, const double size[3])
{
	for (uint32_t i = from; i < to; i++)
		for (int a = 0; a < 3; a++)
		{
			double *c = (double *) o->coords + (size_t) 6 * i;
			const double at = size[a] < 1.5 ? random_signed() : -1;

			c[a] = at;
			c[3 + a] = at + size[a];
		}
}

/*
 * Tests lists of incidences, which are written while incidences are counted: more incidences than
 * expected for few objects; more than estimated from a sample, which does not contain the long
 * ones; and no list, because there is no memory.
 */
static void
short_lists(void)
{
	static const double wide[3] = {1.2, 1.2, 1.2}, half[3] = {0.4, 0.4, 0.4};
	static const double tiny[3] = {1e-4, 1e-4, 1e-4}, across[3] = {2, 1e-9, 1e-9};
	gpu_setting set = gpu_plain;
	gpu_answer want = {0};
	rb_set o = soup_of(RB_BOX3, 6000);

	set.resolution = 37;
	for (int k = 0; k < 2; k++)
	{
		cubes(&o, 0, o.nparts, k ? half : wide);
		gpu_join(&rb_backend_cpu, &o, NULL, &gpu_plain, &want);
		agree_under(&o, NULL, &set, &want, k ? "half boxes" : "wide boxes");
	}
	free_side(&o);
	o = soup_of(RB_BOX3, 2300000);
	cubes(&o, 0, o.nparts, tiny);
	cubes(&o, 1024, 1024 * 35, across);
	gpu_join(&rb_backend_cpu, &o, NULL, &gpu_plain, &want);
	agree_under(&o, NULL, &gpu_plain, &want, "long boxes");
	set = gpu_plain;
	set.gpu_memory = (uint64_t) 400 << 20;
	agree_under(&o, NULL, &set, &want, "long boxes, little memory");
	o.nparts = o.nrows = 500000;
	gpu_join(&rb_backend_cpu, &o, NULL, &gpu_plain, &want);
	agree_under(&o, NULL, &gpu_plain, &want, "fewer long boxes");
	set.gpu_memory = (uint64_t) 64 << 20;
	agree_under(&o, NULL, &set, &want, "fewer long boxes, little memory");
	free_side(&o);
}

/* One box that covers everything, crowds of equal boxes, tiny boxes far from each other */
static void
skewed_boxes(void)
{
	rb_set o = soup_of(RB_BOX3, 300000);
	double *c = (double *) o.coords;

	for (uint32_t i = 0; i < o.nparts; i++, c += 6)
		for (int a = 0; a < 3; a++)
		{
			double at = i % 3 == 0 ? random_signed() : 0.3 + 1e-4 * random_signed(),
				   size = i % 5 == 0 ? 1e-9 : 1e-5;

			if (i % 1000 == 1)
				at = 0.7;
			c[a] = at;
			c[3 + a] = at + size;
			if (i < 3)
			{
				c[a] = i == 2 && a > 0 ? at : -2;
				c[3 + a] = i == 2 && a > 0 ? at : 2;
			}
		}
	agree(&o, NULL, true, "skewed boxes");
	o.nparts = o.nrows = 100000;
	agree(&o, NULL, true, "skewed boxes, fewer");
	free_side(&o);
}

/* For the sanitizers, which are slow */
static void
small(void)
{
	rb_set r = soup(300), b = soup(200);
	gpu_answer want = {0};

	for (int k = 0; k < 2; k++)
	{
		if (k == 0)
			fill(&r, -1, 0.3), fill(&b, -1, 0.3);
		else
			fill(&r, POINTS_LATTICE, 0), fill(&b, POINTS_LATTICE, 0);
		gpu_join(&rb_backend_cpu, &r, &b, &gpu_plain, &want);
		agree_under(&r, &b, &gpu_plain, &want, "small");
		gpu_join(&rb_backend_cpu, &r, NULL, &gpu_plain, &want);
		agree_under(&r, NULL, &gpu_plain, &want, "small, self");
	}
	free_side(&r);
	free_side(&b);
	for (int k = 0; k < 2; k++)
	{
		r = soup_of(k ? RB_SEGMENT2 : RB_BOX3, 500);
		b = soup_of(r.kind, 400);
		fill(&r, -1, 0.2);
		fill(&b, -1, 0.2);
		gpu_join(&rb_backend_cpu, &r, &b, &gpu_plain, &want);
		agree_under(&r, &b, &gpu_plain, &want, "small, other kinds");
		gpu_join(&rb_backend_cpu, &r, NULL, &gpu_plain, &want);
		agree_under(&r, NULL, &gpu_plain, &want, "small, other kinds, self");
		free_side(&r);
		free_side(&b);
	}
}

/* ---- stopping, limits, sessions ---- */

typedef struct join_stopper
{
	rb_context *ctx;
	double at;
	int after_ms;
} join_stopper;

static void *
stop_later(void *arg)
{
	join_stopper *s = arg;
	struct timespec t = {0, s->after_ms * 1000000L};

	nanosleep(&t, NULL);
	s->at = rb_now_ms();
	rb_context_stop(s->ctx);
	return NULL;
}

/*
 * Checks that a self join of seconds stops within 200 ms after the request, and used little memory.
 */
static void
stop_join_after(const rb_set *r, bool count_only, uint32_t resolution, int after_ms)
{
	rb_memory *memory = rb_memory_create((uint64_t) 4 << 30);
	rb_context ctx;
	rb_job job = {.red = r, .blue = NULL, .answer = count_only ? RB_COUNT : RB_PAIRS};
	gpu_answer a = {0};
	rb_sink sink = {.put = gpu_put_nothing, .user = &a};
	join_stopper s = {&ctx, 0, after_ms};
	pthread_t thread;
	rb_status status;
	double late;

	rb_context_init(&ctx, memory);
	ctx.threads = 4;
	ctx.settings.grid_resolution = resolution;
	pthread_create(&thread, NULL, stop_later, &s);
	status = gpu->join(&ctx, &job, &sink);
	late = rb_now_ms() - s.at;
	pthread_join(thread, NULL);
	CHECK(status == RB_STOPPED, "%s %s", rb_status_text(status), ctx.error.text);
	CHECK(s.at > 0 && late < 200, "%.0f ms late, asked after %d ms", late, after_ms);
	CHECK(rb_memory_peak(memory) < (uint64_t) 64 << 20, "%lu bytes held",
		  (unsigned long) rb_memory_peak(memory));
	rb_memory_destroy(memory);
}

/* Everything meets everything: 8e10 pairs. */
static void
stops(void)
{
	static const int after[] = {1, 20, 60, 200, 500};
	rb_set r = soup(400000);

	scatter(&r, 0, r.nparts, 0, 1, 0, 0, 0);
	for (int k = 0; k < 5; k++)
		stop_join_after(&r, true, 0, after[k]);
	free_side(&r);
}

/* Stops while records come from the device. */
static void
box_stops(void)
{
	static const int after[] = {5, 50, 300};
	rb_set r = soup_of(RB_BOX3, 300000);

	memset((double *) r.coords, 0, (size_t) r.nparts * 48);
	for (int k = 0; k < 3; k++)
		stop_join_after(&r, false, 0, after[k]);
	free_side(&r);
}

/* Each of two million boxes in each of a million cells, because such a grid was requested. */
static void
grid_stops(void)
{
	static const int after[] = {5, 50, 300};
	static const double everywhere[] = {0, 0, 0, 1, 1, 1};
	rb_set r = soup_of(RB_BOX3, 2000000);

	for (uint32_t i = 0; i < r.nparts; i++)
		memcpy((double *) r.coords + (size_t) i * 6, everywhere, sizeof(everywhere));
	for (int k = 0; k < 3; k++)
		stop_join_after(&r, true, 1000, after[k]);
	free_side(&r);
}

static void
sink_stops(void)
{
	rb_set r = soup(20000);
	gpu_answer a = {0};

	scatter(&r, 0, r.nparts, 0, 1, 0, 0, 0);
	a.stop_after = 3000000;
	gpu_join(gpu, &r, NULL, &gpu_plain, &a);
	CHECK(a.status == RB_STOPPED && a.pairs >= 3000000, "%s after %lu pairs",
		  rb_status_text(a.status), (unsigned long) a.pairs);
	free_side(&r);
}

typedef struct session
{
	rb_set *r;
	rb_set *b;
	gpu_answer a;
} session;

static void *
run_session(void *arg)
{
	session *s = arg;

	for (int i = 0; i < 3; i++)
		gpu_join(gpu, s->r, s->b, &gpu_plain, &s->a);
	return NULL;
}

static void
sessions(void)
{
	rb_set r = soup(200000), b = soup(200000);
	session s[8];
	pthread_t thread[8];
	gpu_answer want = {0};

	scatter(&r, 0, r.nparts, 1, 0.02, 0, 0, 0);
	scatter(&b, 0, b.nparts, 1, 0.02, 0, 0, 0);
	gpu_join(&rb_backend_cpu, &r, &b, &gpu_plain, &want);
	memset(s, 0, sizeof(s));
	for (int i = 0; i < 8; i++)
	{
		s[i].r = &r;
		s[i].b = &b;
		pthread_create(&thread[i], NULL, run_session, &s[i]);
	}
	for (int i = 0; i < 8; i++)
	{
		pthread_join(thread[i], NULL);
		CHECK(s[i].a.status == RB_OK && s[i].a.fingerprint == want.fingerprint, "session %d: %s %s",
			  i, rb_status_text(s[i].a.status), s[i].a.error.text);
	}
	free_side(&r);
	free_side(&b);
}

/* A device that no join uses closes itself, and the next join opens it again. */
static void
closes_itself(void)
{
	rb_set r = soup(1000), b = soup(1000);
	const double end = rb_now_ms() + 10000;
	gpu_answer a = {0};
	char text[256];

	scatter(&r, 0, r.nparts, 1, 0.1, 0, 0, 0);
	scatter(&b, 0, b.nparts, 1, 0.1, 0, 0, 0);
	for (int round = 0; round < 2; round++)
	{
		agree(&r, &b, true, "open");
		gpu_join(gpu, &r, &b, &gpu_plain, &a);
		CHECK(gpu->warm(0), "closed while joins come");
		while (gpu->warm(0) && rb_now_ms() < end)
			usleep(20000);
		CHECK(!gpu->warm(0), "still open after seconds");
	}
	CHECK(gpu->probe(-1, text, sizeof(text)) == RB_NO_DEVICE && !gpu->warm(-1), "device -1");
	CHECK(gpu->probe(1000, text, sizeof(text)) == RB_NO_DEVICE && !gpu->warm(1000), "device 1000");
	free_side(&r);
	free_side(&b);
}

/* ---- copies of kept sets ---- */

static rb_memory *copies_memory;
static rb_cache *copies_cache;

/* Returns random triangles as a set with an owner. */
static const rb_set *
owned(uint32_t n, double size)
{
	rb_set s = soup(n);
	const rb_set *set = NULL;
	rb_builder b;
	rb_error error;

	scatter(&s, 0, n, 1, size, 0, 0, 0);
	rb_builder_init(&b, copies_memory, RB_TRIANGLE3);
	CHECK(rb_builder_reserve(&b, n, &error) == RB_OK, "reserve");
	for (uint32_t i = 0; i < n; i++)
	{
		memcpy(b.coords + 9 * (size_t) i, s.coords + 9 * (size_t) i, 9 * sizeof(double));
		b.nparts++;
		CHECK(rb_builder_end_row(&b, i, &error) == RB_OK, "row");
	}
	CHECK(rb_builder_finish(&b, &set, &error) == RB_OK, "set");
	free_side(&s);
	return set;
}

static const rb_set *
kept_as(uint64_t key, uint32_t n, double size)
{
	const rb_set *set = owned(n, size);
	rb_error error;

	CHECK(rb_cache_put(copies_cache, &key, sizeof key, set, "", 1, &error) == RB_OK, "put");
	return set;
}

static uint64_t
uploaded(const rb_set *red, const rb_set *blue, const gpu_answer *want)
{
	gpu_answer got = {0};

	gpu_join(gpu, red, blue, &gpu_plain, &got);
	CHECK(got.status == RB_OK && got.pairs == want->pairs && got.fingerprint == want->fingerprint,
		  "%s %s: %lu pairs, not %lu", rb_status_text(got.status), got.error.text,
		  (unsigned long) got.pairs, (unsigned long) want->pairs);
	pairs_seen += got.pairs;
	return got.stats.stage[RB_STAGE_UPLOAD].count;
}

/*
 * Returns a delta set in which some rows in the middle are replaced by new ones, in several places.
 */
static const rb_set *
view_of(const rb_set *kept, const rb_set *fresh, int places)
{
	rb_cut *cuts = calloc((size_t) 2 * places + 2, sizeof *cuts);
	rb_view what = {kept, fresh, cuts, 0, false};
	const uint32_t stride = kept->nparts / (uint32_t) places;
	const uint32_t share = fresh->nparts / (uint32_t) places;
	const rb_set *view = NULL;
	rb_error error;

	for (int i = 0; i < places; i++)
		for (int f = 0; f < 2; f++)
		{
			rb_cut *cut = &cuts[what.ncuts++];

			cut->fresh = f == 1;
			cut->from_row = cut->from_part = (uint32_t) i * (f == 1 ? share : stride);
			cut[1].row = cut[1].part = cut->part + (f == 1 ? share : stride - 1);
		}
	CHECK(rb_view_make(copies_memory, &what, 0, &view, &error) == RB_OK, "view");
	free(cuts);
	return view;
}

static void
views(const rb_set *a, const rb_set *b)
{
	static const int places[] = {1, 2, 7, 500};

	for (int k = 0; k < 4; k++)
	{
		const rb_set *fresh = owned(1000, 0.05);
		const rb_set *v = view_of(a, fresh, places[k]);
		const rb_set *w = view_of(a, fresh, places[k]);
		const rb_context zero = {0};
		rb_context ctx = zero;
		gpu_answer want = {0}, self = {0};
		uint64_t bytes;

		rb_context_init(&ctx, copies_memory);
		CHECK(rb_set_materialize(&ctx, w) == RB_OK, "put together here");
		gpu_join(&rb_backend_cpu, w, b, &gpu_plain, &want);
		gpu_join(&rb_backend_cpu, w, NULL, &gpu_plain, &self);
		bytes = uploaded(v, b, &want);
		CHECK(bytes < 200000 && v->coords == NULL, "put together there: %lu bytes",
			  (unsigned long) bytes);
		(void) uploaded(v, NULL, &self);
		rb_set_release(&v);
		rb_set_release(&w);
		rb_set_release(&fresh);
	}
}

static void *
run_copies(void *arg)
{
	session *s = arg;

	for (int i = 0; i < 20; i++)
		gpu_join(gpu, s->r, s->b, &gpu_plain, &s->a);
	return NULL;
}

static void
copies(void)
{
	gpu_answer want = {0}, self = {0};
	const rb_set *a, *b, *many[12];
	session s[8];
	pthread_t thread[8];
	uint64_t first, bytes = 0;

	copies_memory = rb_memory_create((uint64_t) 8 << 30);
	copies_cache = rb_cache_create((uint64_t) 2 << 30);
	gpu_cache_limit = UINT64_MAX;
	a = kept_as(1, 40000, 0.05);
	b = kept_as(2, 30000, 0.05);
	gpu_join(&rb_backend_cpu, a, b, &gpu_plain, &want);
	gpu_join(&rb_backend_cpu, a, NULL, &gpu_plain, &self);
	first = uploaded(a, b, &want);
	CHECK(first >= 70000 * 72, "brought over: %lu bytes", (unsigned long) first);
	for (int i = 0; i < 3; i++)
	{
		bytes += uploaded(a, b, &want);
		bytes += uploaded(a, NULL, &self);
	}
	CHECK(bytes == 0, "they are there: %lu bytes", (unsigned long) bytes);
	views(a, b);

	/* No memory for copies; then memory for some of many copies, a thousand times */
	gpu_cache_limit = 0;
	CHECK(uploaded(a, b, &want) == first, "no copies wanted");
	gpu_cache_limit = 100;
	CHECK(uploaded(a, b, &want) == 0, "what is there is used");
	gpu_cache_limit = (uint64_t) 3 * 5000 * 72 + 100;
	for (int i = 0; i < 12; i++)
		many[i] = kept_as(10 + (uint64_t) i, 5000, 0.05);
	for (int i = 0; i < 12; i++)
	{
		gpu_answer with = {0};

		gpu_join(&rb_backend_cpu, many[i], b, &gpu_plain, &with);
		for (int k = 0; k < 3; k++)
			(void) uploaded(many[i], b, &with);
	}
	for (int i = 0; i < 1000; i++)
	{
		gpu_answer got = {0};

		gpu_join(gpu, many[i % 12], many[(i * 7 + 3) % 12], &gpu_plain, &got);
		CHECK(got.status == RB_OK, "%s %s", rb_status_text(got.status), got.error.text);
	}

	/* Several joins with the same copies, and without copies at first */
	gpu_cache_limit = UINT64_MAX;
	gpu_join(&rb_backend_cpu, many[0], many[1], &gpu_plain, &want);
	memset(s, 0, sizeof(s));
	for (int i = 0; i < 8; i++)
	{
		s[i].r = (rb_set *) many[0];
		s[i].b = (rb_set *) many[1];
		pthread_create(&thread[i], NULL, run_copies, &s[i]);
	}
	for (int i = 0; i < 8; i++)
	{
		pthread_join(thread[i], NULL);
		CHECK(s[i].a.status == RB_OK && s[i].a.fingerprint == want.fingerprint, "session %d: %s %s",
			  i, rb_status_text(s[i].a.status), s[i].a.error.text);
	}
	gpu_cache_limit = 0;
	for (int i = 0; i < 12; i++)
		rb_set_release(&many[i]);
	rb_set_release(&a);
	rb_set_release(&b);
	rb_cache_destroy(copies_cache);
	CHECK(rb_memory_used(copies_memory) == 0, "memory left");
	rb_memory_destroy(copies_memory);
}

/* ---- files ---- */

static char **files;
static int nfiles;

static void
real_meshes(void)
{
	static const double none[3] = {0, 0, 0}, moved[3] = {1.5, 0.25, 0};
	rb_set before = {0};

	for (int i = 0; i < nfiles; i++)
	{
		rb_set o, shifted;

		if (!read_objects(files[i], RB_TRIANGLE3, none, &o) ||
			!read_objects(files[i], RB_TRIANGLE3, moved, &shifted))
		{
			CHECK(false, "%s: not read", files[i]);
			continue;
		}
		agree(&o, NULL, true, files[i]);
		agree(&o, &shifted, true, files[i]);
		if (before.nparts > 0)
			agree(&before, &o, true, files[i]);
		free((void *) shifted.coords);
		free((void *) before.coords);
		before = o;
	}
}

int
main(int argc, char **argv)
{
	const char *only = getenv("RB_TEST_ONLY");

	gpu = gpu_open();
	if (gpu == NULL)
		return 1;
	files = argv + 1;
	nfiles = argc - 1;
#define CASE(name)                                   \
	if (only == NULL || strstr(only, #name) != NULL) \
	CHECK_RUN(name)
	CASE(small);
	CASE(clean_soups);
	CASE(disjoint_and_empty);
	CASE(families);
	CASE(lattices);
	CASE(rows_of_many_parts);
	CASE(mixed_sizes);
	CASE(identical);
	CASE(random_joins);
	CASE(kinds);
	CASE(tiles);
	CASE(under);
	CASE(close_boxes);
	CASE(full_tiles);
	CASE(short_lists);
	CASE(skewed_boxes);
	CASE(clusters);
	CASE(one_giant);
	CASE(volumetric);
	CASE(sink_stops);
	CASE(box_stops);
	CASE(grid_stops);
	CASE(sessions);
	CASE(closes_itself);
	CASE(copies);
	CASE(stops);
	CASE(large);
	CASE(real_meshes);
	printf("# %lu candidates, %lu pairs compared\n", (unsigned long) candidates_seen,
		   (unsigned long) pairs_seen);
	return check_done();
}
