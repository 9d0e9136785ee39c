/*
 * aggregate.c
 *	  Tests that counts, matched rows and groups agree with the pairs of the same join, for every
 *	  kind, with rows of several parts and rows that share a number, on one thread and on several.
 *
 * RB_TEST_SCALE multiplies the number of rounds.
 */
#include "fixtures.h"
#include "core/base/base.h"
#include "core/exec/row_pairs.h"

#include <stdlib.h>
#include <string.h>

#ifdef RB_SMALL
#define MOST 120
#else
#define MOST 1500
#endif

typedef struct side
{
	rb_set set;
	uint32_t *number; /* Number of each row, in order of first appearance, from 0 */
	uint32_t numbers;
} side;

/* Builds a side, occasionally on a grid, so that exact signs are needed. */
static side
make_side(rb_kind kind, uint32_t n, double size, bool lattice, int parts)
{
	const int width = rb_kind_width(kind), dims = rb_kind_dims(kind), points = rb_kind_points(kind);
	double *c = malloc(((size_t) n + 1) * width * sizeof(double));
	side s = {{.kind = kind, .nparts = n, .coords = c}, NULL, 0};

	for (uint32_t i = 0; i < n; i++)
	{
		for (int a = 0; a < dims; a++)
		{
			double centre = random_signed();

			for (int k = 0; k < points; k++)
			{
				double x = centre + size * random_signed();

				c[(size_t) i * width + k * dims + a] = lattice ? rint(x * 8) / 8 : x;
			}
		}
		order_box(kind, c + (size_t) i * width);
	}
	s.set.row_of = random_rows(n, parts, &s.set.nrows);
	return s;
}

/* Assigns numbers to the rows: only a few, or almost as many as there are rows. */
static void
number_rows(side *s)
{
	uint32_t *of = malloc(((size_t) s->set.nrows + 1) * sizeof(uint32_t));
	uint32_t most = 1 + check_below(s->set.nrows + 1);

	s->number = malloc(((size_t) s->set.nrows + 1) * sizeof(uint32_t));
	s->numbers = 0;
	for (uint32_t i = 0; i < most; i++)
		of[i] = UINT32_MAX;
	for (uint32_t i = 0; i < s->set.nrows; i++)
	{
		uint32_t k = check_below(most);

		if (of[k] == UINT32_MAX)
			of[k] = s->numbers++;
		s->number[i] = of[k];
	}
	free(of);
}

static void
side_free(side *s)
{
	free_side(&s->set);
	free(s->number);
}

/* ---- running a job ---- */

typedef struct run
{
	rb_memory *memory;
	rb_context ctx;
	rb_stream *stream;
	rb_status status;
	uint64_t n;
	rb_pair *pair;
} run;

static void
run_job(run *r, const rb_job *job, int threads, uint64_t limit)
{
	rb_block block;
	uint64_t room = 0;

	memset(r, 0, sizeof(*r));
	r->memory = rb_memory_create(limit);
	rb_context_init(&r->ctx, r->memory);
	r->ctx.threads = threads;
	r->status = rb_stream_open(&r->ctx, &rb_backend_cpu, job, &r->stream);
	while (r->status == RB_OK && (r->status = rb_stream_next(r->stream, 10, &block)) == RB_OK)
	{
		if (r->n + block.n > room)
		{
			room = 2 * (r->n + block.n);
			r->pair = realloc(r->pair, room * sizeof(rb_pair));
		}
		for (size_t i = 0; i < block.n; i++)
			r->pair[r->n++] = (rb_pair){(uint32_t) block.red[i], (uint32_t) block.blue[i]};
	}
}

static void
run_free(run *r)
{
	rb_stream_close(r->stream);
	CHECK(rb_memory_used(r->memory) == 0, "memory left");
	rb_memory_destroy(r->memory);
	free(r->pair);
}

static uint64_t
emitted(const run *r)
{
	return r->ctx.stats.stage[RB_STAGE_EMIT].count;
}

/* ---- expected results ---- */

static int
by_number(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *) x, b = *(const uint32_t *) y;

	return (a > b) - (a < b);
}

static void
check_counts(const rb_job *job, const run *pairs, uint32_t rows, int threads)
{
	rb_job asked = *job;
	uint32_t *want = calloc((size_t) rows + 1, sizeof(uint32_t));
	uint64_t hit = 0, differ = 0;
	run r;

	for (uint64_t i = 0; i < pairs->n; i++)
	{
		if (job->of != RB_OF_BLUE)
			want[pairs->pair[i].red]++;
		if (job->of != RB_OF_RED)
			want[pairs->pair[i].blue]++;
	}
	asked.answer = RB_COUNTS;
	run_job(&r, &asked, threads, (uint64_t) 1 << 30);
	CHECK(r.status == RB_END && r.n == 0, "counts: %s", rb_status_text(r.status));
	for (uint32_t i = 0; i < rows; i++)
		differ += rb_stream_words(r.stream)[i] != want[i];
	CHECK(differ == 0, "%lu of %u counts are wrong", (unsigned long) differ, rows);
	CHECK(emitted(&r) == pairs->n, "%lu counted, not %lu", (unsigned long) emitted(&r),
		  (unsigned long) pairs->n);
	run_free(&r);

	asked.answer = RB_HITS;
	run_job(&r, &asked, threads, (uint64_t) 1 << 30);
	CHECK(r.status == RB_END && r.n == 0, "hits: %s", rb_status_text(r.status));
	differ = 0;
	for (uint32_t i = 0; i < rows; i++)
	{
		differ += (rb_stream_words(r.stream)[i / 32] >> i % 32 & 1) != (want[i] > 0);
		hit += want[i] > 0;
	}
	CHECK(differ == 0, "%lu of %u marks are wrong", (unsigned long) differ, rows);
	CHECK(emitted(&r) == hit, "%lu hit, not %lu", (unsigned long) emitted(&r), (unsigned long) hit);
	CHECK(r.ctx.stats.hits <= pairs->ctx.stats.hits &&
			  r.ctx.stats.stage[RB_STAGE_EXACT].count <=
				  pairs->ctx.stats.stage[RB_STAGE_EXACT].count,
		  "marks took more work than pairs");
	run_free(&r);
	free(want);
}

/* Returns the members of a group, sorted. */
static uint64_t
wanted_members(const rb_job *job, const run *pairs, uint32_t group, uint32_t *out)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < pairs->n; i++)
	{
		const rb_pair p = pairs->pair[i];

		if (job->of != RB_OF_BLUE && (job->number ? job->number[p.red] : p.red) == group)
			out[n++] = p.blue;
		if (job->of != RB_OF_RED && (job->number ? job->number[p.blue] : p.blue) == group)
			out[n++] = p.red;
	}
	qsort(out, n, sizeof(uint32_t), by_number);
	return n;
}

static void
check_groups(const rb_job *job, const run *pairs, uint32_t rows, int threads)
{
	uint32_t groups = job->number ? job->numbers : rows;
	uint32_t *want = malloc((2 * (size_t) pairs->n + 1) * sizeof(uint32_t));
	rb_job asked = *job;
	rb_groups g;
	run r;

	asked.answer = RB_GROUPS;
	run_job(&r, &asked, threads, (uint64_t) 1 << 30);
	CHECK(r.status == RB_END && r.n == 0, "groups: %s", rb_status_text(r.status));
	CHECK(rb_stream_groups(r.stream, &g) && g.n == groups, "no groups");
	CHECK(rb_stream_words(r.stream) == NULL, "groups and counts");
	CHECK(emitted(&r) == pairs->n, "%lu grouped", (unsigned long) emitted(&r));
	CHECK(g.start[0] == 0 && g.start[groups] == (job->of == RB_OF_BOTH ? 2 : 1) * pairs->n,
		  "%lu members", (unsigned long) g.start[groups]);
	/* Each group requires a search of all pairs, so check only some of them. */
	for (int k = 0; k < 40 && groups > 0; k++)
	{
		uint32_t group = check_below(groups);
		uint64_t n = wanted_members(job, pairs, group, want);

		CHECK(g.start[group + 1] - g.start[group] == n &&
				  (n == 0 || memcmp(g.member + g.start[group], want, n * sizeof(uint32_t)) == 0),
			  "group %u of %u: other members", group, groups);
	}
	run_free(&r);
	free(want);
}

static void
check_all(side *red, side *blue, int threads)
{
	rb_job job = {.red = &red->set, .blue = blue != NULL ? &blue->set : NULL};
	run pairs;

	run_job(&pairs, &job, threads, (uint64_t) 1 << 30);
	CHECK(pairs.status == RB_END, "%s", rb_status_text(pairs.status));
	for (int of = RB_OF_RED; of <= (blue != NULL ? RB_OF_BLUE : RB_OF_BOTH); of++)
	{
		side *s = of == RB_OF_BLUE && blue != NULL ? blue : red;

		job.of = (rb_result_side) of;
		check_counts(&job, &pairs, s->set.nrows, threads);
		check_groups(&job, &pairs, s->set.nrows, threads);
		number_rows(s);
		job.number = s->number;
		job.numbers = s->numbers;
		check_groups(&job, &pairs, s->set.nrows, threads);
		job.number = NULL;
		free(s->number);
		s->number = NULL;
	}
	run_free(&pairs);
}

/* ---- cases ---- */

static const struct
{
	rb_kind red, blue;
	bool self;
} kinds[] = {{RB_TRIANGLE3, RB_TRIANGLE3, true}, {RB_SEGMENT3, RB_TRIANGLE3, false},
			 {RB_TRIANGLE3, RB_SEGMENT3, false}, {RB_SEGMENT2, RB_SEGMENT2, true},
			 {RB_BOX3, RB_BOX3, true},           {RB_BOX2, RB_BOX2, true}};

static void
as_the_pairs(void)
{
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (int round = 0; round < check_rounds(6); round++)
		{
			bool lattice = round % 2 == 1;
			int parts = round % 3 == 2 ? 7 : 1;
			double size = round < 3 ? 0.1 : 0.4;
			side r = make_side(kinds[k].red, (uint32_t) check_below(MOST), size, lattice, parts);
			side b = make_side(kinds[k].blue, (uint32_t) check_below(MOST), size, lattice,
							   round % 4 == 3 ? 5 : 1);

			check_all(&r, &b, 1 + round % 4);
			if (kinds[k].self)
				check_all(&r, NULL, 4 - round % 4);
			side_free(&r);
			side_free(&b);
		}
}

/* Tests a group with more members than insertion sort handles, which contains all rows. */
static void
crowd(void)
{
	side r = make_side(RB_BOX2, MOST, 5, false, 1), b = make_side(RB_BOX2, MOST, 5, false, 1);

	check_all(&r, &b, 3);
	check_all(&r, NULL, 3);
	side_free(&r);
	side_free(&b);
}

/*
 * Tests that counts are returned if groups do not fit in memory, unless the job requires groups, and
 * that an error is reported if the join does not fit either.
 */
static void
without_room(void)
{
	side r = make_side(RB_BOX2, MOST, 5, false, 1), b = make_side(RB_BOX2, MOST, 5, false, 1);
	rb_job job = {.red = &r.set, .blue = &b.set};
	bool grouped = false, counted = false;
	run pairs;

	run_job(&pairs, &job, 2, (uint64_t) 1 << 30);
	job.answer = RB_GROUPS;
	for (uint64_t limit = (uint64_t) 1 << 20; !grouped; limit += limit / 8)
	{
		rb_groups g;
		run s;

		run_job(&s, &job, 2, limit);
		if (s.status == RB_END && rb_stream_groups(s.stream, &g))
			grouped = true;
		else if (s.status == RB_END)
		{
			uint64_t sum = 0;

			for (uint32_t i = 0; i < r.set.nrows; i++)
				sum += rb_stream_words(s.stream)[i];
			CHECK(sum == pairs.n, "%lu counted, not %lu", (unsigned long) sum,
				  (unsigned long) pairs.n);
			counted = true;
		}
		else
			CHECK(s.status == RB_OVER_BUDGET, "%s", rb_status_text(s.status));
		run_free(&s);
		job.whole = true;
		run_job(&s, &job, 2, limit);
		CHECK(s.status == RB_END ? rb_stream_groups(s.stream, &g) : s.status == RB_OVER_BUDGET,
			  "groups or an error: %s", rb_status_text(s.status));
		run_free(&s);
		job.whole = false;
	}
	/* In the small build, the pairs need less memory than the join. */
	CHECK(counted || MOST < 1000, "never counted instead");
	run_free(&pairs);
	side_free(&r);
	side_free(&b);
}

/* Tests the words of a device: counts or bits of parts become those of their rows. */
static void
words_of_a_device(void)
{
	side r = make_side(RB_BOX2, 100, 1, false, 6);
	rb_memory *memory = rb_memory_create((uint64_t) 1 << 30);
	rb_context ctx;
	rb_job job = {.red = &r.set, .answer = RB_HITS, .of = RB_OF_BOTH};
	rb_aggregate a;
	uint32_t bits[2] = {1u << 3 | 1u << 31, 1u << 2};
	uint32_t counts[5] = {4, 0, 2, 1, 3};

	rb_context_init(&ctx, memory);
	CHECK(rb_aggregate_init(&a, &ctx, &job) == RB_OK && rb_aggregate_begin(&a) == RB_OK, "begin");
	rb_aggregate_add_words(&a, bits, 1, 2);
	for (uint32_t row = 0; row < r.set.nrows; row++)
	{
		bool want = row == r.set.row_of[35] || row == r.set.row_of[63] || row == r.set.row_of[66];

		CHECK((a.word[row / 32] >> row % 32 & 1) == want, "row %u", row);
	}
	rb_aggregate_free(&a);
	free((void *) r.set.row_of);
	r.set.row_of = NULL;
	r.set.nrows = 100;
	job.answer = RB_COUNTS;
	CHECK(rb_aggregate_init(&a, &ctx, &job) == RB_OK && rb_aggregate_begin(&a) == RB_OK, "begin");
	rb_aggregate_add_words(&a, counts, 50, 3);
	rb_aggregate_add_words(&a, counts + 3, 60, 1);
	rb_aggregate_add_words(&a, counts + 4, 61, 1);
	CHECK(rb_aggregate_added(&a) == 5, "each pair is in two rows, wherever pieces end");
	rb_aggregate_add(&a, &(rb_pair){52, 53}, 1);
	CHECK(a.word[50] == 4 && a.word[51] == 0 && a.word[52] == 3 && a.word[53] == 1, "counts");
	rb_aggregate_free(&a);
	rb_memory_destroy(memory);
	side_free(&r);
}

/*
 * Tests that results for both sides are available only in a self join, and that a stop is noticed
 * while pairs are grouped.
 */
static void
refused_and_stopped(void)
{
	side r = make_side(RB_BOX2, MOST, 5, false, 1), b = make_side(RB_BOX2, 10, 5, false, 1);
	rb_job job = {.red = &r.set, .blue = &b.set, .answer = RB_COUNTS, .of = RB_OF_BOTH};
	rb_pair pair = {0, 1};
	rb_grouped groups = {0};
	run s;

	run_job(&s, &job, 1, (uint64_t) 1 << 30);
	CHECK(s.status == RB_UNSUPPORTED && s.stream == NULL, "%s", rb_status_text(s.status));
	job.of = RB_OF_RED;
	rb_forget_failure(&s.ctx);
	rb_context_stop(&s.ctx);
	CHECK(rb_groups_build(&s.ctx, &job, &pair, 1, &groups) == RB_STOPPED && groups.start == NULL &&
			  groups.member == NULL,
		  "stopped");
	run_free(&s);
	side_free(&r);
	side_free(&b);
}

int
main(void)
{
	CHECK_RUN(as_the_pairs);
	CHECK_RUN(crowd);
	CHECK_RUN(without_room);
	CHECK_RUN(words_of_a_device);
	CHECK_RUN(refused_and_stopped);
	rb_memory_trim(0);
	return check_done();
}
