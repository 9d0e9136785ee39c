/*
 * row_pairs.c
 *	  Tests the payload of pairs: contacts, self-intersections and distances. The reference
 *	  evaluates every pair of parts with the leaf and merges the results in a table of rows by rows.
 */
#include "fixtures.h"
#include "scalar.h"
#include "core/base/redblue.h"
#include "core/primitive/dispatch.h"

#include <math.h>
#include <string.h>

typedef struct side
{
	rb_set set;
	double *coords; /* Coordinates of the set */
} side;

/*
 * Builds a side with rows of 1 to `most` parts. If lattice > 0, coordinates are integers below it.
 */
static side
make(rb_kind kind, uint32_t n, int lattice, double size, int most)
{
	const int width = rb_kind_width(kind), dims = rb_kind_dims(kind);
	side s = {{.kind = kind, .nparts = n, .nrows = n},
			  malloc((size_t) n * (size_t) width * sizeof(double))};

	for (uint32_t i = 0; i < n; i++)
	{
		double at[3];

		for (int a = 0; a < 3; a++)
			at[a] = random_unit();
		for (int k = 0; k < width; k++)
			s.coords[(size_t) i * (size_t) width + (size_t) k] =
				lattice > 0 ? check_below(lattice) : at[k % dims] + size * random_unit();
	}
	s.set.coords = s.coords;
	s.set.row_of = random_rows(n, most, &s.set.nrows);
	return s;
}

#define NONE UINT64_MAX

static uint64_t
merged(rb_predicate predicate, uint64_t a, uint64_t b)
{
	if (a == NONE)
		return b;
	if (predicate == RB_WITHIN)
		return a < b ? a : b;
	return (RB_PAYLOAD_DIMENSION(a) > RB_PAYLOAD_DIMENSION(b) ? a & 3 : b & 3) | ((a | b) & 4);
}

/* Returns the expected payload for each pair of rows, or for each pair of parts within rows. */
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
			const uint32_t x = row_of_part(r, i), y = row_of_part(b, j);
			uint64_t *at = job->within_rows ? &table[(size_t) i * *width + j]
											: &table[(size_t) x * *width + y];
			uint64_t payload;
			double distance;
			int answer;

			if (job->blue == NULL && (x == y) != job->within_rows)
				continue;
			answer = rb_pair_decide(&env, job->predicate, r->kind, b->kind, p, q);
			if (!RB_IS_YES(answer))
				continue;
			payload = RB_PAYLOAD(answer);
			if (job->predicate == RB_WITHIN)
			{
				distance = distance_of(r->kind, b->kind, p, q);
				memcpy(&payload, &distance, sizeof payload);
			}
			*pairs += *at == NONE;
			*at = merged(job->predicate, *at, payload);
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
		ctx.settings.grid_resolution = resolution[k % 3];
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
				wrong += want[(size_t) x * width + y] != block.payload[i];
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

/*
 * Returns the number of objects; RB_TEST_SCALE=8 gives eight times as many pairs, and 0.1 half of
 * them.
 */
static uint32_t
objects(int f)
{
	const double scale = fmax((double) check_rounds(100) / 100, 0.5);

	return (uint32_t) (sqrt(scale) * family[f].n);
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
				continue; /* Everything is near everything */
			job.blue = &b.set;
			agree(&job, "two sets");
			job.blue = NULL;
			if (red == blue)
				agree(&job, "one set");
		}
		free_side(&r.set);
		free_side(&b.set);
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
		free_side(&r.set);
	}
}

/* ---- stars: many triangles around a vertex or an edge ---- */

/* Rotates the vertices of a triangle, and sometimes reverses them. */
static void
shuffle(double *t)
{
	double old[9];
	const int first = check_below(3), step = 1 + check_below(2);

	memcpy(old, t, sizeof old);
	for (int i = 0; i < 3; i++)
		memcpy(t + 3 * i, old + 3 * ((first + i * step) % 3), 3 * sizeof(double));
}

/*
 * Builds triangles most of which contain one or both of two hubs. With a lattice, coordinates are
 * integers below it around the hub, so that many triangles are degenerate, equal or overlapping;
 * otherwise they are arbitrary.
 */
static side
make_stars(uint32_t n, int lattice, double far, double size)
{
	side s = make(RB_TRIANGLE3, n, 2, 0, 40);
	const double hub[2][3] = {{far, 2 * far, -far}, {far, 2 * far + 2 * size, -far + size}};

	for (uint32_t i = 0; i < n; i++)
	{
		double *t = s.coords + (size_t) i * 9;
		const int how = check_below(8);

		for (int k = 0; k < 9; k++)
			t[k] = hub[0][k % 3] + size * (lattice > 0 ? check_below(2 * lattice + 1) - lattice
													   : 4 * random_unit() - 2);
		if (how < 5)
			memcpy(t, hub[how == 0], sizeof hub[0]);
		if (how >= 5 && how < 7)
			memcpy(t, hub, sizeof hub);
		shuffle(t);
	}
	return s;
}

static void
stars(void)
{
	static const struct
	{
		uint32_t n;
		int lattice;
		double far;
		double size;
	} f[] = {{300, 2, 0, 1},        {500, 40, 0, 1},          {400, 0, 0, 1},
			 {400, 0, 5e6, 10},     {400, 3, 5e6, 0x1p-20},   {300, 3, 0, 0x1p-1070},
			 {300, 4, 0, 0x1p+990}, {300, 0, 1e-300, 1e-301}, {400, 1, 4.5e5, 0.1}};

	for (size_t i = 0; i < sizeof f / sizeof f[0]; i++)
		for (int within = 0; within < 2; within++)
		{
			side s = make_stars(f[i].n, f[i].lattice, f[i].far, f[i].size);
			rb_job job = {
				.red = &s.set, .predicate = RB_SELF_INTERSECT, .within_rows = within == 1};
			char what[64];

			snprintf(what, sizeof what, "star %zu, within %d", i, within);
			agree(&job, what);
			if (within == 0)
			{
				free((void *) s.set.row_of);
				s.set.row_of = NULL;
				s.set.nrows = s.set.nparts;
				agree(&job, what);
			}
			free_side(&s.set);
		}
}

/*
 * Builds a closed fan of n triangles around a vertex, or of half-planes around an edge, which do
 * not meet otherwise.
 */
static side
make_fan(uint32_t n, bool edge, double far, double height)
{
	side s = make(RB_TRIANGLE3, n, 2, 0, 1);

	for (uint32_t i = 0; i < n; i++)
	{
		double *t = s.coords + (size_t) i * 9;
		const double turn = 6.283185307179586 / n;
		const double here = turn * i, next = turn * ((i + 1) % n);
		const double at[9] = {far,
							  far,
							  0,
							  edge ? far : far + 1e6 * cos(here),
							  edge ? far : far + 1e6 * sin(here),
							  edge ? 1 : height,
							  far + 1e6 * cos(next),
							  far + 1e6 * sin(next),
							  height};

		memcpy(t, at, sizeof at);
		shuffle(t);
	}
	return s;
}

/*
 * Tests that the work for a fan grows with the number of its triangles, not with that of their
 * pairs.
 */
static void
fans(void)
{
	for (int way = 0; way < 8; way++)
	{
		const uint32_t n = way < 4 ? 1000 : 6000;
		side s = make_fan(n, way % 4 == 3, way % 4 == 1 ? 5e6 + 0.125 : 0, way % 4 == 2 ? 3e5 : 0);
		rb_job job = {.red = &s.set, .predicate = RB_SELF_INTERSECT, .answer = RB_COUNT};
		rb_memory *memory = rb_memory_create((uint64_t) 1 << 32);
		rb_context ctx;
		rb_stream *stream;
		rb_block block;
		rb_status status;
		uint64_t candidates;

		rb_context_init(&ctx, memory);
		ctx.threads = 2;
		status = rb_stream_open(&ctx, &rb_backend_cpu, &job, &stream);
		while (status == RB_OK && (status = rb_stream_next(stream, 10, &block)) == RB_OK)
			;
		rb_stream_close(stream);
		candidates = ctx.stats.stage[RB_STAGE_CANDIDATES].count;
		CHECK(status == RB_END && ctx.stats.stage[RB_STAGE_EMIT].count == 0,
			  "fan %d: %s, %lu pairs", way, rb_status_text(status),
			  (unsigned long) ctx.stats.stage[RB_STAGE_EMIT].count);
		CHECK(candidates < 20 * (uint64_t) n, "fan %d of %u: %lu candidates", way, n,
			  (unsigned long) candidates);
		rb_memory_destroy(memory);
		free_side(&s.set);
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
	free_side(&r.set);
}

int
main(void)
{
	CHECK_RUN(contacts);
	CHECK_RUN(distances);
	CHECK_RUN(self_intersections);
	CHECK_RUN(stars);
	CHECK_RUN(fans);
	CHECK_RUN(within_rows);
	return check_done();
}
