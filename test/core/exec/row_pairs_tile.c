/*
 * row_pairs_tile.c
 *	  Tests the pairs of a tile: however space is cut, each pair belongs to exactly one tile, the
 *	  one that contains its reference point. This also holds if rows that cannot have pairs in a
 *	  tile are dropped while they are read.
 *
 * RB_TEST_SCALE multiplies the number of rounds.
 */
#include "fixtures.h"
#include "core/base/base.h"
#include "core/primitive/reference_point.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef RB_SMALL
#define MOST 60
#else
#define MOST 400
#endif

static rb_memory *memory;
static long pairs_seen, tiles_seen, left_out;

/* ---- sides ---- */

enum
{
	UNIFORM,
	LATTICE, /* Coincident corners, and therefore cuts; zeros of both signs */
	UTM,
	FLAT, /* No extent along an axis, or none at all */
	FAMILIES
};

static double
coordinate(int family, int axis, double centre, double size)
{
	double x = centre + size * random_signed();

	switch (family)
	{
		case LATTICE:
			x = rint(x * 6) / 2;
			return x == 0 && check_below(2) == 0 ? -x : x;
		case UTM:
			return rint((axis == 0 ? 500000 : axis == 1 ? 5400000 : 300) * 1000 + x * 40000) / 1000;
		case FLAT:
			return axis == 1 ? 1 : rint(x * 4);
		default:
			return x;
	}
}

static void
fill_part(double *c, rb_kind kind, int family, const double *centre, double size)
{
	const int dims = rb_kind_dims(kind);

	for (int k = 0; k < rb_kind_points(kind); k++)
		for (int a = 0; a < dims; a++)
			c[k * dims + a] = coordinate(family, a, centre[a], size);
	order_box(kind, c);
}

/* Builds rows of one part, or of up to `parts` parts, which lie near one position or anywhere. */
static rb_set
make_side(rb_kind kind, uint32_t n, int family, int parts)
{
	const int width = rb_kind_width(kind);
	double *c = malloc(((size_t) n + 1) * (size_t) width * sizeof(double));
	uint32_t *row_of = parts > 1 ? malloc(((size_t) n + 1) * sizeof(uint32_t)) : NULL;
	const double size = 0.02 + 0.3 * fabs(random_signed());
	rb_set s = {.kind = kind, .nparts = n, .nrows = n, .coords = c, .row_of = row_of};
	double centre[3] = {0, 0, 0};
	uint32_t row = 0;

	for (uint32_t i = 0, left = 0; i < n; i++)
	{
		if (left == 0 || check_below(8) == 0)
			for (int a = 0; a < 3; a++)
				centre[a] = random_signed();
		if (left == 0)
			left = 1 + (uint32_t) check_below(parts);
		fill_part(c + (size_t) i * (size_t) width, kind, family, centre, size);
		if (row_of != NULL)
			row_of[i] = row;
		row += --left == 0;
		s.nrows = left == 0 ? row : row + 1;
	}
	return s;
}

/* Builds cubes: solids of twelve triangles. */
static rb_set
make_solids(uint32_t n)
{
	static const int corner[12][3] = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6},
									  {0, 1, 4}, {1, 5, 4}, {2, 6, 3}, {3, 6, 7},
									  {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
	double *c = malloc((size_t) n * 12 * 9 * sizeof(double));
	uint32_t *row_of = malloc((size_t) n * 12 * sizeof(uint32_t));

	for (uint32_t i = 0; i < n; i++)
	{
		double low[3], edge = 1 + check_below(5);

		for (int a = 0; a < 3; a++)
			low[a] = check_below(12) - 6;
		for (uint32_t t = 0; t < 12; t++)
		{
			row_of[12 * i + t] = i;
			for (int k = 0; k < 3; k++)
				for (int a = 0; a < 3; a++)
					c[((size_t) 12 * i + t) * 9 + (size_t) (3 * k + a)] =
						low[a] + ((corner[t][k] >> a & 1) != 0 ? edge : 0);
		}
	}
	return (rb_set){
		.kind = RB_TRIANGLE3, .nparts = 12 * n, .nrows = n, .coords = c, .row_of = row_of};
}

/* Computes the lower corner of the box of each row. */
static double *
make_lows(const rb_set *s)
{
	double *low = malloc(((size_t) s->nrows + 1) * 3 * sizeof(double));

	for (uint32_t i = 0; i < 3 * s->nrows; i++)
		low[i] = INFINITY;
	for (uint32_t i = 0; i < s->nparts; i++)
		for (int k = 0; k < rb_kind_points(s->kind); k++)
			for (int a = 0; a < rb_kind_dims(s->kind); a++)
			{
				const double x = s->coords[(size_t) i * (size_t) rb_kind_width(s->kind) +
										   (size_t) (k * rb_kind_dims(s->kind) + a)];
				double *at = &low[3 * row_of_part(s, i) + (uint32_t) a];

				*at = x < *at ? x : *at;
			}
	return low;
}

/*
 * Returns the rows that a tile needs, selected by a builder, in one of the ways in which rows
 * arrive.
 */
static const rb_set *
rows_for(const rb_set *s, const rb_box *tile, double distance)
{
	const size_t width = (size_t) rb_kind_width(s->kind);
	const bool append = check_below(2) == 0;
	int64_t *ids = malloc(((size_t) s->nrows + 1) * sizeof *ids);
	uint32_t *ends = malloc(((size_t) s->nrows + 1) * sizeof *ends);
	const rb_set *set = NULL;
	rb_builder b;
	rb_error error;
	rb_status status = RB_OK;

	rb_builder_init(&b, memory, s->kind);
	b.tile = *tile;
	b.distance = distance;
	for (uint32_t i = 0; i < s->nparts; i++)
	{
		ids[row_of_part(s, i)] = row_of_part(s, i);
		ends[row_of_part(s, i)] = i + 1;
	}
	if (append)
		status = rb_builder_append(&b, s->coords, s->nparts, ids, s->row_of == NULL ? NULL : ends,
								   s->nrows, &error);
	for (uint32_t i = 0; i < s->nparts && !append && status == RB_OK; i++)
	{
		status = rb_builder_reserve(&b, 1, &error);
		memcpy(b.coords + b.nparts++ * width, s->coords + i * width, width * sizeof(double));
		if (i + 1 == ends[row_of_part(s, i)])
			status = rb_builder_end_row(&b, ids[row_of_part(s, i)], &error);
	}
	CHECK(status == RB_OK && b.nrows + b.outside == s->nrows, "%u of %u rows", b.nrows, s->nrows);
	left_out += (long) b.outside;
	CHECK(rb_builder_finish(&b, &set, &error) == RB_OK, "no set");
	rb_builder_free(&b);
	free(ids);
	free(ends);
	return set;
}

/* ---- results ---- */

typedef struct answer
{
	size_t n;
	size_t room;
	struct
	{
		uint32_t red;
		uint32_t blue;
		uint64_t payload[4];
	} * pair;
	uint64_t count;
} answer;

static int
by_pair(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(((answer *) 0)->pair[0]));
}

static void
ask(const rb_job *job, answer *got)
{
	rb_context ctx;
	rb_stream *stream;
	rb_block block;
	rb_status status;

	got->n = 0;
	rb_context_init(&ctx, memory);
	ctx.threads = 1 + check_below(3);
	status = rb_stream_open(&ctx, &rb_backend_cpu, job, &stream);
	while (status == RB_OK && (status = rb_stream_next(stream, 10, &block)) == RB_OK)
		for (size_t i = 0; i < block.n; i++)
		{
			if (got->n == got->room)
			{
				got->room = 2 * got->room + 64;
				got->pair = realloc(got->pair, got->room * sizeof *got->pair);
			}
			memset(&got->pair[got->n], 0, sizeof *got->pair);
			/* In a self join, either id may come first. */
			got->pair[got->n].red = (uint32_t) block.red[i];
			got->pair[got->n].blue = (uint32_t) block.blue[i];
			if (job->blue == NULL && !job->within_rows && block.red[i] > block.blue[i])
			{
				got->pair[got->n].red = (uint32_t) block.blue[i];
				got->pair[got->n].blue = (uint32_t) block.red[i];
			}
			if (job->within_rows)
			{
				got->pair[got->n].blue = got->pair[got->n].red;
				got->pair[got->n].payload[1] = (uint64_t) block.blue[i];
			}
			for (size_t k = 0; block.payload != NULL && k < block.words; k++)
				got->pair[got->n].payload[job->within_rows ? 0 : k] =
					block.payload[i * block.words + k];
			got->n++;
		}
	CHECK(status == RB_END, "%s", rb_status_text(status));
	got->count = ctx.stats.stage[RB_STAGE_EMIT].count;
	rb_stream_close(stream);
	if (got->n > 0)
		qsort(got->pair, got->n, sizeof *got->pair, by_pair);
}

/* Selects the pairs whose reference point is in the tile. */
static void
choose(const answer *all, const rb_box *tile, const double *red, const double *blue, answer *of)
{
	of->n = 0;
	of->pair = realloc(of->pair, (all->n + 1) * sizeof *of->pair);
	for (size_t i = 0; i < all->n; i++)
	{
		bool in = true;

		for (int a = 0; a < tile->dims; a++)
		{
			const double r = red[3 * all->pair[i].red + (uint32_t) a];
			const double b = blue[3 * all->pair[i].blue + (uint32_t) a];
			const double at = r > b ? r : b;

			in &= tile->low[a] <= at && at < tile->high[a];
		}
		if (in)
			of->pair[of->n++] = all->pair[i];
	}
}

static void
compare(const char *what, const answer *want, const answer *got)
{
	CHECK(want->n == got->n &&
			  (want->n == 0 || memcmp(want->pair, got->pair, want->n * sizeof *want->pair) == 0),
		  "%s: %zu pairs, not %zu", what, got->n, want->n);
}

/* Checks that counts, hits and groups agree with the pairs. */
static void
check_answers(rb_job job, const answer *want)
{
	const rb_result_form asked[] = {RB_COUNT, RB_COUNTS, RB_HITS, RB_GROUPS};
	const rb_set *side = job.red;
	uint32_t *count = calloc((size_t) side->nrows + 1, sizeof *count);

	for (size_t i = 0; i < want->n; i++)
	{
		count[want->pair[i].red]++;
		if (job.blue == NULL)
			count[want->pair[i].blue]++;
	}
	job.of = job.blue == NULL ? RB_OF_BOTH : RB_OF_RED;
	/* If pairs have a payload, rows are only counted. */
	for (int k = 0; k < (job.predicate == RB_MEET ? 4 : 2); k++)
	{
		rb_context ctx;
		rb_stream *stream;
		rb_block block;
		rb_groups groups;
		rb_status status;
		uint64_t hit = 0;

		job.answer = asked[k];
		rb_context_init(&ctx, memory);
		ctx.threads = 1 + check_below(3);
		status = rb_stream_open(&ctx, &rb_backend_cpu, &job, &stream);
		while (status == RB_OK)
			status = rb_stream_next(stream, 10, &block);
		CHECK(status == RB_END, "%s", rb_status_text(status));
		for (uint32_t i = 0; i < side->nrows; i++)
			hit += count[i] > 0;
		CHECK(ctx.stats.stage[RB_STAGE_EMIT].count == (asked[k] == RB_HITS ? hit : want->n),
			  "answer %d: %lu, not %zu", k, (unsigned long) ctx.stats.stage[RB_STAGE_EMIT].count,
			  want->n);
		for (uint32_t i = 0; i < side->nrows; i++)
			if (asked[k] == RB_COUNTS)
				CHECK(rb_stream_words(stream)[i] == count[i], "row %u", i);
			else if (asked[k] == RB_HITS)
				CHECK((rb_stream_words(stream)[i / 32] >> i % 32 & 1) == (count[i] > 0), "row %u",
					  i);
			else if (asked[k] == RB_GROUPS && rb_stream_groups(stream, &groups))
				CHECK(groups.start[i + 1] - groups.start[i] == count[i], "row %u", i);
		rb_stream_close(stream);
	}
	free(count);
}

/* ---- tilings ---- */

/* Cuts space into n tiles, at a corner of a row or anywhere. */
static uint32_t
cut_space(rb_box *tile, uint32_t n, int dims, const double *low, uint32_t rows)
{
	tile[0] = (rb_box){dims, {-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}};
	for (uint32_t i = 1; i < n; i++)
	{
		rb_box *half = &tile[check_below((int) i)];
		const int axis = check_below(dims);
		double at = rows > 0 ? low[3 * (uint32_t) check_below((int) rows) + (uint32_t) axis]
							 : random_signed();

		if (check_below(4) == 0)
			at += 0.1 * random_signed();
		if (at == 0 && check_below(2) == 0)
			at = -at;
		tile[i] = *half;
		/* A cut beyond the ends makes one of the two tiles empty. */
		at = at > half->low[axis] ? at : half->low[axis];
		at = at < half->high[axis] ? at : half->high[axis];
		half->high[axis] = at;
		tile[i].low[axis] = at;
	}
	return n;
}

static void
check_tiling(rb_job job)
{
	const rb_set *blue = job.blue != NULL ? job.blue : job.red;
	const int dims = rb_kind_dims(job.red->kind);
	double *low[2] = {make_lows(job.red), make_lows(blue)};
	answer all = {0}, want = {0}, got = {0};
	rb_box tile[9];
	const uint32_t n = cut_space(tile, 1 + (uint32_t) check_below(9), dims, low[check_below(2)],
								 job.red->nrows < blue->nrows ? job.red->nrows : blue->nrows);
	size_t sum = 0;

	ask(&job, &all);
	pairs_seen += (long) all.n;
	for (uint32_t i = 0; i < n; i++)
	{
		rb_job part = job;
		const rb_set *red_rows, *blue_rows = NULL;

		job.tile = tile[i];
		choose(&all, &tile[i], low[0], low[1], &want);
		sum += want.n;
		ask(&job, &got);
		compare("all rows", &want, &got);
		CHECK(got.count == want.n, "%lu emitted, not %zu", (unsigned long) got.count, want.n);
		if (job.predicate == RB_MEET || job.predicate == RB_WITHIN)
			check_answers(job, &want);
		red_rows = rows_for(job.red, &tile[i], job.distance);
		if (job.blue != NULL)
			blue_rows = rows_for(job.blue, &tile[i], job.distance);
		part.red = red_rows;
		part.blue = blue_rows;
		part.tile = tile[i];
		ask(&part, &got);
		compare("rows for the tile", &want, &got);
		rb_set_release(&red_rows);
		rb_set_release(&blue_rows);
		tiles_seen++;
	}
	CHECK(sum == all.n, "%zu pairs in %u tiles, not %zu", sum, n, all.n);
	free(low[0]);
	free(low[1]);
	free(all.pair);
	free(want.pair);
	free(got.pair);
}

/* ---- cases ---- */

static const struct
{
	rb_predicate predicate;
	rb_kind kind[2];
} asked[] = {{RB_MEET, {RB_TRIANGLE3, RB_TRIANGLE3}},
			 {RB_MEET, {RB_SEGMENT3, RB_TRIANGLE3}},
			 {RB_MEET, {RB_SEGMENT2, RB_SEGMENT2}},
			 {RB_MEET, {RB_BOX3, RB_BOX3}},
			 {RB_MEET, {RB_BOX2, RB_BOX2}},
			 {RB_CONTACT, {RB_TRIANGLE3, RB_TRIANGLE3}},
			 {RB_CONTACT, {RB_SEGMENT2, RB_SEGMENT2}},
			 {RB_WITHIN, {RB_TRIANGLE3, RB_TRIANGLE3}},
			 {RB_WITHIN, {RB_SEGMENT3, RB_TRIANGLE3}},
			 {RB_WITHIN, {RB_SEGMENT2, RB_SEGMENT2}},
			 {RB_SELF_INTERSECT, {RB_TRIANGLE3, RB_TRIANGLE3}}};

static void
each_pair_is_of_one_tile(void)
{
	const long rounds = check_rounds(330);

	for (long round = 0; round < rounds; round++)
	{
		const size_t k = (size_t) round % (sizeof asked / sizeof asked[0]);
		const int family = check_below(FAMILIES);
		const bool self = asked[k].predicate == RB_SELF_INTERSECT ||
						  (asked[k].kind[0] == asked[k].kind[1] && check_below(3) == 0);
		rb_set side[2];
		rb_job job = {.red = &side[0], .predicate = asked[k].predicate};

		for (int i = 0; i < 2; i++)
			side[i] = make_side(asked[k].kind[i], (uint32_t) check_below(MOST), family,
								check_below(2) == 0 ? 1 : 7);
		job.blue = self ? NULL : &side[1];
		if (asked[k].predicate == RB_WITHIN)
			job.distance = family == UTM ? check_below(3) : 0.25 * check_below(3);
		check_tiling(job);
		if (self && asked[k].predicate == RB_SELF_INTERSECT)
		{
			job.within_rows = true;
			check_tiling(job);
		}
		free_side(&side[0]);
		free_side(&side[1]);
	}
	CHECK(pairs_seen > 1000 && left_out > 1000, "%ld pairs, %ld rows left out", pairs_seen,
		  left_out);
	printf("# %ld pairs, %ld tiles, %ld rows left out\n", pairs_seen, tiles_seen, left_out);
}

static void
solids(void)
{
	static const rb_predicate of_solids[] = {RB_RELATION, RB_INSIDE, RB_RAY_PARITY};

	pairs_seen = 0;
	for (long round = 0; round < check_rounds(45); round++)
	{
		const rb_predicate predicate = of_solids[round % 3];
		rb_set solid = make_solids(2 + (uint32_t) check_below(30));
		rb_set other = predicate == RB_RELATION ? make_solids(2 + (uint32_t) check_below(30))
					   : predicate == RB_INSIDE
						   ? make_side(RB_SEGMENT3, 80, LATTICE, 1 + 2 * check_below(2))
						   : make_side(RB_POINT3, 80, LATTICE, 1);
		const rb_job job = {.red = &other, .blue = &solid, .predicate = predicate};

		check_tiling(job);
		free_side(&solid);
		free_side(&other);
	}
	CHECK(pairs_seen > check_rounds(100), "%ld pairs", pairs_seen);
}

/* Tests rows that touch the ends of a tile, and rows within a distance of it, rounded up. */
static void
ends_are_half_open(void)
{
	const double low[2] = {0, 0}, high[2] = {1, 1};
	const double zero[2] = {-0.0, 0.0};
	const rb_box tile = {2, {1, 0, 0}, {2, 1, 0}};

	CHECK(rb_tile_meets(2, low, high, (double[]){1, 1}, (double[]){2, 2}), "it ends in it");
	CHECK(!rb_tile_meets(2, low, high, (double[]){-1, -1}, (double[]){0, 9}),
		  "it begins behind it");
	CHECK(rb_tile_meets(2, zero, high, (double[]){0.0, -0.0}, (double[]){0x1p-1074, 1}),
		  "one zero");
	CHECK(rb_tile_owns(2, &tile, (double[]){1, 0}, low) &&
			  rb_tile_owns(2, &tile, low, (double[]){1, -0.0}) &&
			  !rb_tile_owns(2, &tile, low, (double[]){2, 0}) && !rb_tile_owns(2, &tile, low, low) &&
			  !rb_tile_owns(2, &tile, (double[]){1, 1}, low),
		  "half open");
	CHECK(rb_reach_up(0.1, 0.2) >= 0.30000000000000004 && rb_reach_up(1, 0x1p-60) > 1,
		  "rounded up");
}

/* Tests that a lack of memory is reported, and that a join that is stopped stops. */
static void
failures(void)
{
	rb_set side = make_side(RB_TRIANGLE3, MOST, UNIFORM, 5);
	const rb_box tile = {3, {-INFINITY, -INFINITY, -INFINITY}, {0, INFINITY, INFINITY}};
	const rb_job job = {.red = &side, .predicate = RB_MEET, .tile = tile};

	check_join_budgets(&job, 1 << 12, 8);
	free_side(&side);
}

int
main(void)
{
	memory = rb_memory_create(UINT64_C(1) << 30);
	CHECK_RUN(ends_are_half_open);
	CHECK_RUN(each_pair_is_of_one_tile);
	CHECK_RUN(solids);
	CHECK_RUN(failures);
	rb_memory_destroy(memory);
	return check_done();
}
