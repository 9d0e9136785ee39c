/*
 * test_told.c
 *	  What a join tells of its pairs besides: contacts, self-intersections, distances.  Against
 *	  the leaf asked of every pair of parts, and merged in a table of rows by rows.
 */
#include "check.h"
#include "core/base/redblue.h"
#include "core/shape/rb_pair.h"

#include <math.h>
#include <string.h>

typedef struct side
{
	rb_set set;
	double *coords;
	uint32_t *row_of;
} side;

static double
unit(void)
{
	return (double) (check_random() >> 11) * 0x1p-53;
}

/* lattice > 0: whole numbers below it; rows of 1 .. most parts */
static side
make(rb_kind kind, uint32_t n, int lattice, double size, int most)
{
	const int width = rb_kind_width(kind), dims = rb_kind_dims(kind);
	side s = {{.kind = kind, .nparts = n, .nrows = n},
			  malloc((size_t) n * (size_t) width * sizeof(double)),
			  malloc(n * sizeof(uint32_t))};
	uint32_t row = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		double at[3];

		for (int a = 0; a < 3; a++)
			at[a] = unit();
		for (int k = 0; k < width; k++)
			s.coords[(size_t) i * (size_t) width + (size_t) k] =
				lattice > 0 ? check_below(lattice) : at[k % dims] + size * unit();
	}
	s.set.coords = s.coords;
	if (most > 1)
	{
		for (uint32_t i = 0; i < n; row++)
			for (int k = 1 + check_below(most); k > 0 && i < n; k--)
				s.row_of[i++] = row;
		s.set.row_of = s.row_of;
		s.set.nrows = row;
	}
	return s;
}

static void
drop(side *s)
{
	free(s->coords);
	free(s->row_of);
}

static uint32_t
row_of(const rb_set *set, uint32_t part)
{
	return set->row_of != NULL ? set->row_of[part] : part;
}

#define NONE UINT64_MAX

static uint64_t
merged(rb_predicate predicate, uint64_t a, uint64_t b)
{
	if (a == NONE)
		return b;
	if (predicate == RB_WITHIN)
		return a < b ? a : b;
	return (RB_TOLD_DIMENSION(a) > RB_TOLD_DIMENSION(b) ? a & 3 : b & 3) | ((a | b) & 4);
}

/* by row and row what is told; within rows by part and part */
static uint64_t *
expect(const rb_job *job, uint32_t *width, size_t *pairs)
{
	const rb_set *r = job->red, *b = job->blue != NULL ? job->blue : r;
	const int rw = rb_kind_width(r->kind), bw = rb_kind_width(b->kind);
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true, .distance = job->distance};
	const uint32_t rows = job->within_rows ? r->nparts : r->nrows;
	uint64_t *table;

	*width = job->within_rows ? b->nparts : b->nrows;
	table = malloc((size_t) rows * *width * sizeof *table);
	memset(table, 0xff, (size_t) rows * *width * sizeof *table);
	*pairs = 0;
	for (uint32_t i = 0; i < r->nparts; i++)
		for (uint32_t j = job->blue != NULL ? 0 : i + 1; j < b->nparts; j++)
		{
			const double *p = r->coords + (size_t) i * (size_t) rw;
			const double *q = b->coords + (size_t) j * (size_t) bw;
			const uint32_t x = row_of(r, i), y = row_of(b, j);
			uint64_t *at = job->within_rows ? &table[(size_t) i * *width + j]
											: &table[(size_t) x * *width + y];
			uint64_t told;
			double distance;
			int answer;

			if (job->blue == NULL && (x == y) != job->within_rows)
				continue;
			answer = rb_pair_decide(&env, job->predicate, r->kind, b->kind, p, q);
			if (!RB_IS_YES(answer))
				continue;
			told = RB_TOLD(answer);
			if (job->predicate == RB_WITHIN)
			{
				distance = rb_distance(r->kind, b->kind, p, q);
				memcpy(&told, &distance, sizeof told);
			}
			*pairs += *at == NONE;
			*at = merged(job->predicate, *at, told);
		}
	return table;
}

static uint32_t
part_of(const rb_set *set, uint32_t row, uint32_t number)
{
	uint32_t part = 0;

	while (set->row_of[part] != row)
		part++;
	return part + number - 1;
}

static void
agree(const rb_job *job, const char *what)
{
	static const uint32_t filters[] = {RB_FILTER_ALL, RB_EXACT_INTEGER | RB_EXACT_EXPANSION};
	static const uint32_t resolution[] = {0, 1, 17};
	uint32_t width;
	size_t pairs;
	uint64_t *want = expect(job, &width, &pairs);

	CHECK(pairs > 0, "%s: none", what);
	for (int k = 0; k < 6; k++)
	{
		rb_memory *memory = rb_memory_create((uint64_t) 1 << 32);
		rb_context ctx;
		rb_stream *stream;
		rb_block block;
		rb_status status;
		size_t n = 0, wrong = 0;

		rb_context_init(&ctx, memory);
		ctx.threads = 2;
		ctx.grid_resolution = resolution[k % 3];
		ctx.filters = filters[k / 3];
		status = rb_stream_open(&ctx, &rb_backend_cpu, job, &stream);
		while (status == RB_OK && (status = rb_stream_next(stream, 10, &block)) == RB_OK)
			for (size_t i = 0; i < block.n; i++, n++)
			{
				uint32_t x = (uint32_t) block.red[i], y = (uint32_t) block.blue[i];

				if (job->within_rows)
				{
					y = part_of(job->red, (uint32_t) block.red[i], (uint32_t) block.blue[i]);
					x = part_of(job->red, (uint32_t) block.red[i],
								(uint32_t) (block.blue[i] >> 32));
				}
				wrong += want[(size_t) x * width + y] != block.told[i];
			}
		rb_stream_close(stream);
		CHECK(status == RB_END && n == pairs && wrong == 0,
			  "%s, way %d: %s, %zu pairs, not %zu, %zu wrong", what, k, rb_status_text(status), n,
			  pairs, wrong);
		if (status == RB_END)
		{
			rb_job count = *job;

			rb_context_init(&ctx, memory);
			ctx.threads = 2;
			count.answer = RB_COUNT;
			status = rb_stream_open(&ctx, &rb_backend_cpu, &count, &stream);
			while (status == RB_OK && (status = rb_stream_next(stream, 10, &block)) == RB_OK)
				;
			CHECK(status == RB_END && ctx.stats.stage[RB_STAGE_EMIT].count == pairs,
				  "%s: %lu counted, not %zu", what,
				  (unsigned long) ctx.stats.stage[RB_STAGE_EMIT].count, pairs);
			rb_stream_close(stream);
		}
		CHECK(rb_memory_used(memory) == 0, "%s: memory left", what);
		rb_memory_destroy(memory);
	}
	free(want);
}

static const struct
{
	uint32_t n;
	int lattice;
	double size;
	int parts;
} family[] = {{70, 4, 0, 1}, {450, 0, 0.08, 1}, {150, 0, 0.2, 6}, {80, 3, 0, 3}};

#define FAMILIES (int) (sizeof family / sizeof family[0])

/* RB_TEST_SCALE=8 takes eight times as many pairs */
static uint32_t
objects(int f)
{
	const double scale = (double) check_rounds(100) / 100;

	return (uint32_t) (scale > 1 ? sqrt(scale) * family[f].n : family[f].n);
}

static void
try(rb_predicate predicate, rb_kind red, rb_kind blue)
{
	for (int f = 0; f < FAMILIES; f++)
	{
		side r = make(red, objects(f), family[f].lattice, family[f].size, family[f].parts);
		side b = make(blue, objects(f), family[f].lattice, family[f].size, family[f].parts);
		rb_job job = {.red = &r.set, .blue = &b.set, .predicate = predicate};

		for (int d = 0; d < (predicate == RB_WITHIN ? 3 : 1); d++)
		{
			job.distance = predicate != RB_WITHIN ? 0 : d == 0 ? 0 : d == 1 ? 0.02 : 1;
			if (d == 2 && family[f].lattice == 0)
				continue; /* everything is near everything */
			job.blue = &b.set;
			agree(&job, "two sets");
			job.blue = NULL;
			if (red == blue)
				agree(&job, "one set");
		}
		drop(&r);
		drop(&b);
	}
}

static void
contacts(void)
{
	try(RB_CONTACT, RB_TRIANGLE3, RB_TRIANGLE3);
	try(RB_CONTACT, RB_SEGMENT3, RB_TRIANGLE3);
	try(RB_CONTACT, RB_TRIANGLE3, RB_SEGMENT3);
	try(RB_CONTACT, RB_SEGMENT2, RB_SEGMENT2);
}

static void
distances(void)
{
	try(RB_WITHIN, RB_TRIANGLE3, RB_TRIANGLE3);
	try(RB_WITHIN, RB_SEGMENT3, RB_TRIANGLE3);
	try(RB_WITHIN, RB_TRIANGLE3, RB_SEGMENT3);
	try(RB_WITHIN, RB_SEGMENT2, RB_SEGMENT2);
}

static void
self_intersections(void)
{
	for (int f = 0; f < FAMILIES; f++)
	{
		side r = make(RB_TRIANGLE3, objects(f), family[f].lattice, family[f].size, family[f].parts);
		rb_job job = {.red = &r.set, .predicate = RB_SELF_INTERSECT};

		agree(&job, "a mesh");
		drop(&r);
	}
}

static void
within_rows(void)
{
	side r = make(RB_TRIANGLE3, 800, 4, 0, 9);
	rb_job job = {.red = &r.set, .predicate = RB_SELF_INTERSECT, .within_rows = true};

	agree(&job, "within rows");
	job.predicate = RB_CONTACT;
	agree(&job, "contacts within rows");
	drop(&r);
}

int
main(void)
{
	CHECK_RUN(contacts);
	CHECK_RUN(distances);
	CHECK_RUN(self_intersections);
	CHECK_RUN(within_rows);
	return check_done();
}
