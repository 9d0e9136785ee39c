/*
 * cpu_join.c
 *	  Tests the join against brute force over all pairs and against itself with every setting, and
 *	  streams that are read slowly, stopped, or short of memory.
 */
#include "fixtures.h"
#include "core/base/redblue.h"

#include <math.h>
#include <string.h>

/* ---- triangle soups ---- */

typedef struct soup
{
	uint32_t n;
	uint32_t rows;
	double *t;
	uint32_t *row_of; /* row of each part; NULL if each row has one part */
} soup;

static soup
soup_new(uint32_t n)
{
	soup s = {n, n, malloc((size_t) (n + 1) * 72), NULL};

	return s;
}

static void
soup_free(soup *s)
{
	free(s->t);
	free(s->row_of);
	s->t = NULL;
	s->row_of = NULL;
}

/* Scatters triangles with corners within `size` of a center in [-1, 1]^3. */
static void
scatter(soup *s, uint32_t from, uint32_t to, double spread, double size, const double at[3])
{
	for (uint32_t i = from; i < to; i++)
	{
		double centre[3];

		for (int a = 0; a < 3; a++)
			centre[a] = at[a] + spread * random_signed();
		for (int k = 0; k < 9; k++)
			s->t[9 * (size_t) i + k] = centre[k % 3] + size * random_signed();
	}
}

static void
lattice(soup *s, int side, double scale)
{
	for (size_t i = 0; i < 9 * (size_t) s->n; i++)
		s->t[i] = scale * (check_below(side) - side / 2);
}

/* Groups the parts, in order, into rows of 1 to `most` parts. */
static void
group(soup *s, int most)
{
	s->row_of = random_rows(s->n, most, &s->rows);
}

/* ---- results ---- */

typedef struct answer
{
	rb_status status;
	pair_list list; /* Sorted pairs */
	rb_stats stats;
	rb_error error;
	uint64_t left; /* Bytes still allocated after closing the stream */
} answer;

typedef struct setting
{
	int threads;
	uint32_t resolution;
	uint32_t filters;
	uint64_t limit;
	size_t stop_after; /* Number of pairs after which to stop; 0 if never */
	bool slow;
	bool count_only;
} setting;

static const setting plain = {2, 0, RB_FILTER_ALL, (uint64_t) 4 << 30, 0, false, false};

static answer
join(const soup *red, const soup *blue, const setting *set)
{
	answer a = {0};
	rb_memory *memory = rb_memory_create(set->limit);
	rb_context ctx;
	rb_set ro = {.kind = RB_TRIANGLE3,
				 .nparts = red->n,
				 .nrows = red->rows,
				 .coords = red->t,
				 .row_of = red->row_of};
	rb_set bo = {0};
	rb_job job = {.red = &ro, .blue = NULL, .answer = set->count_only ? RB_COUNT : RB_PAIRS};
	rb_stream *stream;
	rb_block block;

	if (blue != NULL)
	{
		bo = (rb_set){.kind = RB_TRIANGLE3,
					  .nparts = blue->n,
					  .nrows = blue->rows,
					  .coords = blue->t,
					  .row_of = blue->row_of};
		job.blue = &bo;
	}
	rb_context_init(&ctx, memory);
	ctx.threads = set->threads;
	ctx.settings.grid_resolution = set->resolution;
	ctx.filters = set->filters;
	a.status = rb_stream_open(&ctx, &rb_backend_cpu, &job, &stream);
	while (a.status == RB_OK && (a.status = rb_stream_next(stream, 10, &block)) == RB_OK)
	{
		for (size_t i = 0; i < block.n; i++)
			append_pairs(&a.list, &(rb_pair){(uint32_t) block.red[i], (uint32_t) block.blue[i]}, 1);
		if (set->slow)
			nanosleep(&(struct timespec){0, 1000000}, NULL);
		if (set->stop_after > 0 && a.list.n >= set->stop_after)
			break;
	}
	rb_stream_close(stream);
	a.stats = ctx.stats;
	a.error = ctx.error;
	a.left = rb_memory_used(memory);
	rb_memory_destroy(memory);
	sort_pairs(&a.list);
	return a;
}

static answer
brute(const soup *red, const soup *blue)
{
	answer a = {0};
	const soup *b = blue != NULL ? blue : red;

	a.status = RB_END;
	for (uint32_t i = 0; i < red->n; i++)
		for (uint32_t j = blue != NULL ? 0 : i + 1; j < b->n; j++)
		{
			rb_pair rows = {red->row_of ? red->row_of[i] : i, b->row_of ? b->row_of[j] : j};

			if (blue == NULL && rows.red == rows.blue)
				continue;
			if (!rb_triangles_meet(red->t + 9 * (size_t) i, b->t + 9 * (size_t) j))
				continue;
			append_pairs(&a.list, &rows, 1);
		}
	sort_distinct_pairs(&a.list);
	return a;
}

static void
equal(const answer *got, const answer *want, const char *what)
{
	CHECK(got->status == RB_END, "%s: %s", what, rb_status_text(got->status));
	CHECK(got->list.n == want->list.n, "%s: %zu pairs, not %zu", what, got->list.n, want->list.n);
	CHECK(got->list.n != want->list.n || same_pairs(&got->list, &want->list), "%s: other pairs",
		  what);
	CHECK(got->left == 0, "%s: %lu bytes left", what, (unsigned long) got->left);
	CHECK(got->stats.stage[RB_STAGE_EMIT].count == got->list.n, "%s: counted %lu pairs", what,
		  (unsigned long) got->stats.stage[RB_STAGE_EMIT].count);
}

/* Compares brute force with the join under each setting. */
static void
agree(const soup *red, const soup *blue, bool expect_some)
{
	static const setting settings[] = {
		{1, 0, RB_FILTER_ALL, (uint64_t) 4 << 30, 0, false, false},
		{7, 0, RB_FILTER_ALL, (uint64_t) 4 << 30, 0, false, false},
		{2, 1, RB_FILTER_ALL, (uint64_t) 4 << 30, 0, false, false},
		{2, 7, RB_FILTER_ALL, (uint64_t) 4 << 30, 0, false, false},
		{2, 50, RB_FILTER_ALL, (uint64_t) 4 << 30, 0, false, false},
		{2, 0, RB_FILTER_ALL & ~RB_FILTER_SIGNS, (uint64_t) 4 << 30, 0, false, false},
		{2, 3, RB_FILTER_ALL & ~RB_FILTER_INTERVAL, (uint64_t) 4 << 30, 0, false, false},
		{2, 0, RB_EXACT_EXPANSION, (uint64_t) 4 << 30, 0, false, false},
		{2, 0, 0, (uint64_t) 4 << 30, 0, false, false},
	};
	answer want = brute(red, blue);
	uint64_t candidates = 0;

	CHECK(!expect_some || want.list.n > 0, "no pair meets");
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
	{
		answer got = join(red, blue, &settings[i]);
		char what[64];

		snprintf(what, sizeof(what), "setting %zu", i);
		equal(&got, &want, what);
		if (i == 0)
			candidates = got.stats.stage[RB_STAGE_CANDIDATES].count;
		CHECK(got.stats.stage[RB_STAGE_CANDIDATES].count == candidates,
			  "%s: %lu candidates, not %lu", what,
			  (unsigned long) got.stats.stage[RB_STAGE_CANDIDATES].count,
			  (unsigned long) candidates);
		free(got.list.pair);
	}
	if (blue != NULL)
	{
		answer back = join(blue, red, &plain);

		for (size_t i = 0; i < back.list.n; i++)
		{
			rb_pair p = back.list.pair[i];

			back.list.pair[i] = (rb_pair){p.blue, p.red};
		}
		sort_pairs(&back.list);
		equal(&back, &want, "swapped");
		free(back.list.pair);
	}
	free(want.list.pair);
}

static const double origin[3] = {0, 0, 0};

/* ---- cases ---- */

static void
clean_soups(void)
{
	static const uint32_t sizes[][2] = {{1, 1}, {3, 50}, {200, 200}, {1000, 1500}};

	for (int k = 0; k < 4; k++)
	{
		soup r = soup_new(sizes[k][0]), b = soup_new(sizes[k][1]);

		scatter(&r, 0, r.n, 1, 0.15, origin);
		scatter(&b, 0, b.n, 1, 0.15, origin);
		agree(&r, &b, k > 1);
		agree(&b, NULL, k > 1);
		soup_free(&r);
		soup_free(&b);
	}
}

/* Tests more than one tile per side of small triangles: several cells and several leaves. */
static void
many_small(void)
{
	soup r = soup_new(4500), b = soup_new(2500);

	scatter(&r, 0, r.n, 1, 0.04, origin);
	scatter(&b, 0, b.n, 1, 0.05, origin);
	agree(&r, &b, true);
	agree(&r, NULL, true);
	soup_free(&r);
	soup_free(&b);
}

static void
lattices(void)
{
	static const double scales[] = {1, 0.1, 0x1p-1072, 0x1p1018, 0x1p-400, 1e300};

	for (int k = 0; k < 6; k++)
	{
		soup r = soup_new(150), b = soup_new(130);

		lattice(&r, 5, scales[k]);
		lattice(&b, 5, scales[k]);
		agree(&r, &b, true);
		agree(&r, NULL, true);
		soup_free(&r);
		soup_free(&b);
	}
}

static void
rows_of_many_parts(void)
{
	soup r = soup_new(900), b = soup_new(700);

	scatter(&r, 0, r.n, 1, 0.2, origin);
	scatter(&b, 0, b.n, 1, 0.2, origin);
	group(&r, 5);
	agree(&r, &b, true);
	agree(&r, NULL, true);
	group(&b, 30);
	agree(&r, &b, true);
	soup_free(&r);
	soup_free(&b);
}

/* Tests dense clusters at a distance of 1e9, with outliers between them at every scale. */
static void
clusters(void)
{
	soup r = soup_new(3000), b = soup_new(3000);
	const double far[3] = {1e9, 1e9, -1e9};

	for (int s = 0; s < 2; s++)
	{
		soup *m = s ? &b : &r;

		scatter(m, 0, 1490, 1, 0.05, origin);
		scatter(m, 1490, 2980, 1, 0.05, far);
		for (uint32_t i = 2980; i < 3000; i++)
		{
			const double at[3] = {pow(3, i - 2980), 0, 0};

			scatter(m, i, i + 1, 0, 0.5, at);
		}
	}
	agree(&r, &b, true);
	agree(&r, NULL, true);
	soup_free(&r);
	soup_free(&b);
}

/* Tests giants that cover everything, needles along each axis, and points. */
static void
mixed_sizes(void)
{
	soup r = soup_new(2400), b = soup_new(2400);

	for (int s = 0; s < 2; s++)
	{
		soup *m = s ? &b : &r;

		scatter(m, 0, 2200, 1, 0.03, origin);
		scatter(m, 2200, 2220, 0, 1, origin);
		for (uint32_t i = 2220; i < 2400; i++)
		{
			double *t = m->t + 9 * (size_t) i;
			int axis = check_below(3);

			for (int k = 0; k < 9; k++)
				t[k] = k < 3 ? random_signed() : t[k % 3];
			if (i % 3 > 0)
				t[axis] = -1, t[3 + axis] = 1;
		}
	}
	agree(&r, &b, true);
	soup_free(&r);
	soup_free(&b);
}

/*
 * Tests 30,000 triangles in a row along an axis, or spread over a plane: the number of box tests
 * stays linear.
 */
static void
rows_and_plates(void)
{
	for (int axis = 0; axis < 3; axis++)
		for (int plate = 0; plate < 2; plate++)
		{
			soup r = soup_new(30000);
			answer a;

			for (uint32_t i = 0; i < r.n; i++)
				for (int k = 0; k < 9; k++)
				{
					double *x = &r.t[9 * (size_t) i + k];

					if (plate)
						*x =
							k % 3 == axis ? 0 : 2.0 * (k % 3 == (axis + 1) % 3 ? i % 200 : i / 200);
					else
						*x = k % 3 == axis ? 2.0 * i : 0;
					if (k % 3 == (axis + 2) % 3)
						*x += k < 3; /* A corner beside the line */
					else if (k % 3 != axis || !plate)
						*x += k >= 6;
				}
			a = join(&r, NULL, &plain);
			CHECK(a.status == RB_END && a.list.n == 0, "axis %d, plate %d: %zu pairs", axis, plate,
				  a.list.n);
			CHECK(a.stats.box_tests < 100 * (uint64_t) r.n, "axis %d, plate %d: %lu box tests",
				  axis, plate, (unsigned long) a.stats.box_tests);
			soup_free(&r);
		}
}

/* Tests sets in which every pair meets: no grid can help, and no pair may be lost. */
static void
identical(void)
{
	soup r = soup_new(5000), b = soup_new(3000);
	answer a;

	for (uint32_t i = 0; i < r.n; i++)
		for (int k = 0; k < 9; k++)
			r.t[9 * (size_t) i + k] = k % 4 == 0;
	memcpy(b.t, r.t, (size_t) b.n * 72);
	a = join(&r, &b, &plain);
	CHECK(a.status == RB_END && a.list.n == (size_t) r.n * b.n, "%zu pairs", a.list.n);
	for (size_t i = 0; i < a.list.n; i++)
		if (a.list.pair[i].red != i / b.n || a.list.pair[i].blue != i % b.n)
		{
			CHECK(false, "pair %zu is (%u, %u)", i, a.list.pair[i].red, a.list.pair[i].blue);
			break;
		}
	free(a.list.pair);
	a = join(&r, NULL, &plain);
	CHECK(a.status == RB_END && a.list.n == (size_t) r.n * (r.n - 1) / 2, "%zu pairs", a.list.n);
	free(a.list.pair);
	soup_free(&r);
	soup_free(&b);
}

static void
nothing_in_common(void)
{
	soup r = soup_new(1000), b = soup_new(1000), none = soup_new(0);
	const double away[3] = {10, 0, 0};
	answer a;

	scatter(&r, 0, r.n, 1, 0.1, origin);
	scatter(&b, 0, b.n, 1, 0.1, away);
	a = join(&r, &b, &plain);
	CHECK(a.status == RB_END && a.list.n == 0, "%zu pairs, %s", a.list.n, rb_status_text(a.status));
	CHECK(a.stats.stage[RB_STAGE_CANDIDATES].count == 0, "candidates");
	a = join(&r, &none, &plain);
	CHECK(a.status == RB_END && a.list.n == 0, "blue empty: %zu pairs", a.list.n);
	a = join(&none, &r, &plain);
	CHECK(a.status == RB_END && a.list.n == 0, "red empty: %zu pairs", a.list.n);
	a = join(&none, NULL, &plain);
	CHECK(a.status == RB_END && a.list.n == 0, "empty self: %zu pairs", a.list.n);
	soup_free(&r);
	soup_free(&b);
	soup_free(&none);
}

static void
counting(void)
{
	soup r = soup_new(2000), b = soup_new(2000);
	setting set = plain;
	answer a, c;

	scatter(&r, 0, r.n, 1, 0.1, origin);
	scatter(&b, 0, b.n, 1, 0.1, origin);
	for (int multi = 0; multi < 2; multi++)
	{
		if (multi)
			group(&r, 10);
		set.count_only = false;
		a = join(&r, &b, &set);
		set.count_only = true;
		c = join(&r, &b, &set);
		CHECK(c.status == RB_END && c.list.n == 0, "%zu pairs handed out", c.list.n);
		CHECK(c.stats.stage[RB_STAGE_EMIT].count == a.list.n && a.list.n > 0,
			  "%lu counted, not %zu", (unsigned long) c.stats.stage[RB_STAGE_EMIT].count, a.list.n);
		free(a.list.pair);
	}
	soup_free(&r);
	soup_free(&b);
}

/* Tests 2.5e7 pairs: stopped at once, stopped in the middle, read slowly. */
static void
stopping(void)
{
	soup r = soup_new(5000), b = soup_new(5000);
	setting set = plain;
	stop_delay delay = {0};
	double began;
	answer a;

	lattice(&r, 2, 1);
	lattice(&b, 2, 1);
	set.filters = 0; /* GMP for every sign: the slowest setting */
	set.stop_after = 1;
	do
	{
		began = check_work_ms();
		a = join(&r, &b, &set);
		CHECK(a.status == RB_OK, "%s", rb_status_text(a.status));
		CHECK(a.left == 0, "%lu bytes left", (unsigned long) a.left);
		free(a.list.pair);
	} while (repeats_late_stop(&delay, check_work_ms() - began, 2000));
	CHECK(delay.worst_ms < 2000, "took %g ms of work to stop", delay.worst_ms);

	set.filters = RB_FILTER_ALL;
	set.stop_after = 200000;
	set.slow = true;
	a = join(&r, &b, &set);
	CHECK(a.status == RB_OK && a.left == 0, "%s", rb_status_text(a.status));
	free(a.list.pair);
	soup_free(&r);
	soup_free(&b);
}

/* Tests memory limits: each gives a result or an error with numbers, and nothing is left behind. */
static void
starving(void)
{
	soup r = soup_new(20000), b = soup_new(20000);
	answer want;
	bool failed = false, worked = false;

	scatter(&r, 0, r.n, 1, 0.03, origin);
	scatter(&b, 0, b.n, 1, 0.03, origin);
	want = join(&r, &b, &plain);
	for (uint64_t limit = 1000; limit < (uint64_t) 1 << 26; limit += limit / 3)
	{
		setting set = plain;
		answer a;

		set.limit = limit;
		a = join(&r, &b, &set);
		CHECK(a.left == 0, "%lu bytes left", (unsigned long) a.left);
		if (a.status == RB_END)
		{
			worked = true;
			equal(&a, &want, "small limit");
		}
		else
		{
			failed = true;
			CHECK(a.status == RB_OVER_BUDGET && a.error.limit == limit && a.error.need > limit,
				  "%s: need %lu, limit %lu", rb_status_text(a.status), (unsigned long) a.error.need,
				  (unsigned long) a.error.limit);
		}
		free(a.list.pair);
	}
	CHECK(failed && worked, "failed %d, worked %d", failed, worked);
	free(want.list.pair);
	soup_free(&r);
	soup_free(&b);
}

/* Stretches the triangles from one end of space to the other along some axis. */
static void
stretch(soup *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		for (int k = 0; k < 3; k++)
			s->t[9 * (size_t) i + 3 * (size_t) k + i % 3] = k == 0 ? -1 : 1;
}

/* Returns approximately the smallest memory limit that suffices. */
static uint64_t
least_limit(const soup *red, const soup *blue)
{
	setting set = plain;

	for (set.limit = 1 << 18;; set.limit += set.limit / 8)
	{
		answer a = join(red, blue, &set);

		free(a.list.pair);
		if (a.status == RB_END)
			return set.limit;
		CHECK(set.limit < plain.limit, "no limit is enough");
	}
}

/*
 * Tests objects that lie in many cells each, without memory for that: what suffices for small
 * objects suffices for them.
 */
static void
no_room_for_cells(void)
{
	soup r = soup_new(20000), b = soup_new(20000);

	scatter(&r, 0, r.n, 1, 0.004, origin);
	scatter(&b, 0, b.n, 1, 0.004, origin);
	for (int self = 0; self < 2; self++)
	{
		const soup *blue = self ? NULL : &b;
		soup long_r = soup_new(r.n), long_b = soup_new(b.n);
		setting set = plain;
		answer want;

		set.limit = least_limit(&r, blue);
		memcpy(long_r.t, r.t, (size_t) r.n * 72);
		memcpy(long_b.t, b.t, (size_t) b.n * 72);
		stretch(&long_r);
		stretch(&long_b);
		want = join(&long_r, self ? NULL : &long_b, &plain);
		CHECK(want.list.n > 1000, "%zu pairs", want.list.n);
		for (set.threads = 1; set.threads < 3; set.threads++)
		{
			answer a = join(&long_r, self ? NULL : &long_b, &set);

			equal(&a, &want, self ? "a mesh with itself" : "two meshes");
			free(a.list.pair);
		}
		free(want.list.pair);
		soup_free(&long_r);
		soup_free(&long_b);
	}
	soup_free(&r);
	soup_free(&b);
}

int
main(void)
{
	CHECK_RUN(clean_soups);
	CHECK_RUN(many_small);
	CHECK_RUN(lattices);
	CHECK_RUN(rows_of_many_parts);
	CHECK_RUN(clusters);
	CHECK_RUN(mixed_sizes);
	CHECK_RUN(rows_and_plates);
	CHECK_RUN(identical);
	CHECK_RUN(nothing_in_common);
	CHECK_RUN(counting);
	CHECK_RUN(stopping);
	CHECK_RUN(starving);
	CHECK_RUN(no_room_for_cells);
	rb_memory_trim(0);
	return check_done();
}
