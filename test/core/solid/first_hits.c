/*
 * first_hits.c
 *	  Tests the first hits of lines against all pairs in rationals: order, ties, fractions, points,
 *	  lines of several segments, numbers of threads, the number of pairs examined, stops, and errors.
 */
#include "fixtures.h"
#include "is_nearest.h"
#include "naive_solid.h"
#include "core/base/base.h"
#include "core/join/join.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

/* ---- sets ---- */

/* Families of coordinates */
enum
{
	LATTICE,  /* Small integers, with needles, points and duplicates */
	AXES,     /* As LATTICE, with segments along axes, whose lengths are integers */
	UNIT,     /* Any doubles */
	MAP,      /* Map coordinates */
	DENORMAL, /* Multiples of the smallest double */
	LARGE,    /* Near the largest double */
	FAMILIES
};

static double
coordinate(int family, int axis)
{
	static const double origin[3] = {431250.25, 5412800.5, 312};

	switch (family)
	{
		case UNIT:
			return random_unit();
		case MAP:
			return origin[axis] + 0.01 * check_below(300);
		case DENORMAL:
			return 0x1p-1074 * check_below(5);
		case LARGE:
			return 1.7e308 * random_signed();
		default:
			return check_below(4);
	}
}

static rb_set
make_side(int family, rb_kind kind, uint32_t n, bool rows, bool ids)
{
	const uint32_t points = kind == RB_SEGMENT3 ? 2 : 3, width = 3 * points;
	double *coords = malloc(n * width * sizeof *coords);
	rb_set set = {.kind = kind, .coords = coords, .nparts = n, .nrows = n};

	for (uint32_t i = 0; i < n; i++)
	{
		double *p = coords + (size_t) i * width;

		for (uint32_t k = 0; k < width; k++)
			p[k] = coordinate(family, (int) k % 3);
		if (kind == RB_SEGMENT3 && i > 0 && check_below(3) > 0)
			memcpy(p, p - 3, 3 * sizeof *p);
		if (kind == RB_SEGMENT3 && family == AXES)
		{
			const int axis = check_below(3);

			for (int k = 0; k < 3; k++)
				p[3 + k] = k == axis ? p[3 + k] : p[k];
		}
		if (family != UNIT && check_below(6) == 0)
			memcpy(p + 3 * (1 + check_below((int) points - 1)), p, 3 * sizeof *p);
		if (kind == RB_TRIANGLE3 && i > 0 && check_below(6) == 0)
			memcpy(p, p - 9, 9 * sizeof *p);
	}
	if (rows)
		set.row_of = random_rows(n, 4, &set.nrows);
	if (ids)
	{
		int64_t *id = malloc(set.nrows * sizeof *id);

		for (uint32_t i = 0; i < set.nrows; i++)
			id[i] = check_below((int) set.nrows) - (int) set.nrows / 2;
		set.ids = id;
	}
	return set;
}

static int64_t
id_of(const rb_set *set, uint32_t row)
{
	return set->ids != NULL ? set->ids[row] : (int64_t) row;
}

/* ---- the search ---- */

typedef struct row_hit
{
	rb_pair rows;
	double value[RB_FIRST_HITS_WORDS];
} row_hit;

typedef struct found
{
	pthread_mutex_t lock;
	row_hit *hits;
	size_t n;
	size_t room;
	rb_context *stop; /* Context that the sink stops; may be NULL */
} found;

static rb_status
put(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	found *f = user;

	pthread_mutex_lock(&f->lock);
	if (f->n + n > f->room)
	{
		f->room = 2 * (f->n + n);
		f->hits = realloc(f->hits, f->room * sizeof *f->hits);
	}
	for (size_t i = 0; i < n; i++)
	{
		f->hits[f->n].rows = rows[i];
		memcpy(f->hits[f->n++].value, payload + i * RB_FIRST_HITS_WORDS, sizeof f->hits[0].value);
	}
	pthread_mutex_unlock(&f->lock);
	if (f->stop != NULL)
		rb_context_stop(f->stop);
	return RB_OK;
}

static rb_status
search(const rb_set *red, const rb_set *blue, uint32_t k, int threads, rb_context *ctx,
	   rb_memory *memory, found *f)
{
	const rb_job job = {.red = red, .blue = blue, .predicate = RB_FIRST_HITS, .nearest = k};
	const rb_row_sink sink = {.put = put, .user = f};

	rb_context_init(ctx, memory);
	ctx->threads = threads;
	pthread_mutex_init(&f->lock, NULL);
	return rb_compose_first_hits(ctx, &rb_backend_cpu, &job, &sink);
}

/* ---- all pairs ---- */

/* First hit of one row in rationals */
typedef struct truth
{
	bool meets;
	uint32_t anchor; /* Segment and parameter of the anchor */
	mpq_t t;
	naive_point point;
} truth;

/* Finds the first parameter at which a segment meets a triangle. */
static bool
first_parameter(mpq_t t, naive_point *point, const double *s, const double *triangle)
{
	mpq_t event[17];
	naive_point p;
	bool any = false;
	int n;

	n = naive_events(s, s + 3, triangle, event);
	mpq_init(event[n++]);
	naive_point_init(&p);
	for (int i = 0; i < n; i++)
	{
		naive_point_between(&p, s, s + 3, event[i]);
		if ((!any || mpq_cmp(event[i], t) < 0) && naive_on(&p, triangle))
		{
			any = true;
			mpq_set(t, event[i]);
			for (int k = 0; k < 3; k++)
				mpq_set(point->at[k], p.at[k]);
		}
	}
	for (int i = 0; i < n; i++)
		mpq_clear(event[i]);
	naive_point_clear(&p);
	return any;
}

static bool
is_point(const double *s)
{
	return s[0] == s[3] && s[1] == s[4] && s[2] == s[5];
}

/* Moves a location to its anchor. */
static void
move_to_anchor(const double *line, uint32_t n, uint32_t *segment, mpq_t t)
{
	uint32_t j = *segment, last = UINT32_MAX;
	const bool zero = is_point(line + 6 * j);

	if (!zero && mpq_cmp_ui(t, 1, 1) < 0)
		return;
	for (uint32_t i = 0; i < n; i++)
		if (!is_point(line + 6 * i))
			last = i;
	for (j = zero ? j : j + 1; j < n && is_point(line + 6 * j); j++)
		;
	*segment = j < n ? j : last == UINT32_MAX ? 0 : last;
	mpq_set_ui(t, j < n || last == UINT32_MAX ? 0 : 1, 1);
}

static long ties, coordinates, fractions;

/* Compares the hits of one line with all pairs. */
static void
check_line(const rb_set *red, const rb_set *blue, uint32_t row, uint32_t first, uint32_t n,
		   uint32_t k, int family, const row_hit *hits, size_t nhits)
{
	const double *line = red->coords + 6 * (size_t) first;
	truth *of = calloc(blue->nrows, sizeof *of);
	mpq_t t, sum, total, length;
	naive_point p;
	size_t rank = 0;

	naive_point_init(&p);
	mpq_inits(t, sum, total, length, NULL);
	for (uint32_t b = 0; b < blue->nrows; b++)
	{
		mpq_init(of[b].t);
		naive_point_init(&of[b].point);
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t b = 0; b < blue->nparts; b++)
		{
			truth *to = &of[row_of_part(blue, b)];
			uint32_t anchor = i;

			if (!first_parameter(t, &p, line + 6 * i, blue->coords + 9 * (size_t) b))
				continue;
			move_to_anchor(line, n, &anchor, t);
			if (to->meets &&
				(anchor > to->anchor || (anchor == to->anchor && mpq_cmp(t, to->t) >= 0)))
				continue;
			to->meets = true;
			to->anchor = anchor;
			mpq_set(to->t, t);
			for (int x = 0; x < 3; x++)
				mpq_set(to->point.at[x], p.at[x]);
		}
	for (; rank < k; rank++)
	{
		uint32_t best = UINT32_MAX;
		bool good;

		for (uint32_t b = 0; b < blue->nrows; b++)
		{
			int order = 0;

			if (!of[b].meets)
				continue;
			if (best != UINT32_MAX)
			{
				order = (of[b].anchor > of[best].anchor) - (of[b].anchor < of[best].anchor);
				order = order != 0 ? order : mpq_cmp(of[b].t, of[best].t);
				ties += order == 0;
				order = order != 0 ? order
								   : (id_of(blue, b) > id_of(blue, best)) -
										 (id_of(blue, b) < id_of(blue, best));
			}
			if (best == UINT32_MAX || order < 0)
				best = b;
		}
		if (best == UINT32_MAX)
			break;
		good = rank < nhits && hits[rank].rows.red == row && hits[rank].rows.blue == best;
		CHECK(good, "family %d, k %u, line %u of %u segments, hit %zu: row %u, not %u", family, k,
			  row, n, rank, rank < nhits ? hits[rank].rows.blue : UINT32_MAX, best);
		if (!good)
			break;
		for (int x = 0; x < 3; x++, coordinates++)
			CHECK(is_nearest(hits[rank].value[1 + x], of[best].point.at[x]),
				  "family %d, line %u, hit %zu: coordinate %d is %.17g", family, row, rank, x,
				  hits[rank].value[1 + x]);
		if (n == 1 || family == AXES)
		{
			mpq_set_ui(total, 0, 1);
			for (uint32_t i = 0; i < n && n > 1; i++)
			{
				double d = 0;

				for (int x = 0; x < 3; x++)
					d += fabs(line[6 * i + 3 + (uint32_t) x] - line[6 * i + (uint32_t) x]);
				mpq_set_d(length, d);
				if (i == of[best].anchor)
				{
					mpq_mul(t, of[best].t, length);
					mpq_add(sum, total, t);
				}
				mpq_add(total, total, length);
			}
			if (n == 1)
				mpq_set(sum, of[best].t);
			else if (mpq_sgn(total) != 0)
				mpq_div(sum, sum, total);
			CHECK(is_nearest(hits[rank].value[0], sum),
				  "family %d, line %u, hit %zu: fraction %.17g", family, row, rank,
				  hits[rank].value[0]);
			fractions++;
		}
		of[best].meets = false;
	}
	CHECK(nhits == rank, "family %d, k %u, line %u: %zu hits, not %zu", family, k, row, nhits,
		  rank);
	for (uint32_t b = 0; b < blue->nrows; b++)
	{
		mpq_clear(of[b].t);
		naive_point_clear(&of[b].point);
	}
	mpq_clears(t, sum, total, length, NULL);
	naive_point_clear(&p);
	free(of);
}

/* Orders hits by their lines; the hits of one line stay in order, because they are adjacent. */
static int
by_line(const void *p, const void *q)
{
	const row_hit *const *a = p, *const *b = q;

	if ((*a)->rows.red != (*b)->rows.red)
		return (*a)->rows.red < (*b)->rows.red ? -1 : 1;
	return (*a > *b) - (*a < *b);
}

static row_hit *
sort_hits(const found *f)
{
	const row_hit **order = malloc((f->n + 1) * sizeof *order);
	row_hit *sorted = malloc((f->n + 1) * sizeof *sorted);

	for (size_t i = 0; i < f->n; i++)
		order[i] = &f->hits[i];
	qsort(order, f->n, sizeof *order, by_line);
	for (size_t i = 0; i < f->n; i++)
		sorted[i] = *order[i];
	free(order);
	return sorted;
}

static void
against_rationals(void)
{
	static const int threads[] = {1, 2, 7};

	for (long round = check_rounds(20); round > 0; round--)
		for (int family = 0; family < FAMILIES; family++)
		{
			rb_set red = make_side(family, RB_SEGMENT3, 24, check_below(2), false);
			rb_set blue = make_side(family, RB_TRIANGLE3, 30, check_below(2), check_below(3) > 0);
			const uint32_t k = check_below(2) ? 1 : 1 + (uint32_t) check_below(40);
			row_hit *sorted[3];
			size_t n[3];

			for (int i = 0; i < 3; i++)
			{
				rb_memory *memory = rb_memory_create((uint64_t) 1 << 30);
				found f = {.n = 0};
				rb_context ctx;

				CHECK(search(&red, &blue, k, threads[i], &ctx, memory, &f) == RB_OK, "%s",
					  ctx.error.text);
				CHECK(rb_memory_used(memory) == 0, "memory left");
				rb_memory_destroy(memory);
				sorted[i] = sort_hits(&f);
				n[i] = f.n;
				free(f.hits);
				CHECK(n[i] == n[0] && memcmp(sorted[i], sorted[0], n[0] * sizeof *sorted[0]) == 0,
					  "%d threads: other hits", threads[i]);
			}
			for (uint32_t part = 0, at = 0; part < red.nparts;)
			{
				const uint32_t row = row_of_part(&red, part);
				uint32_t end = part;
				size_t nhits = 0;

				while (end < red.nparts && row_of_part(&red, end) == row)
					end++;
				while (at + nhits < n[0] && sorted[0][at + nhits].rows.red == row)
					nhits++;
				check_line(&red, &blue, row, part, end - part, k, family, sorted[0] + at, nhits);
				at += (uint32_t) nhits;
				part = end;
			}
			for (int i = 0; i < 3; i++)
				free(sorted[i]);
			free_side(&red);
			free_side(&blue);
		}
	CHECK(ties > 0 && coordinates > 0 && fractions > 0, "%ld ties, %ld coordinates, %ld fractions",
		  ties, coordinates, fractions);
}

/* ---- early stop ---- */

/* Builds n parallel unit squares of two triangles, and one line that pierces all of them. */
static rb_set
stack_of_squares(uint32_t n)
{
	rb_set set = {.kind = RB_TRIANGLE3, .nparts = n, .nrows = n};
	double *coords = calloc((size_t) n * 9, sizeof *coords);

	for (uint32_t i = 0; i < n; i++)
	{
		double *p = coords + 9 * (size_t) i;

		p[3] = p[7] = 4;
		p[2] = p[5] = p[8] = i;
	}
	set.coords = coords;
	return set;
}

static void
few_looks(void)
{
	const uint32_t n = 20000;
	const double line[12] = {1, 1, -1, 1, 1, 30000, 1, 1, 30000, 1, 1, -1};
	rb_set blue = stack_of_squares(n), red = {.kind = RB_SEGMENT3, .coords = line};

	for (uint32_t lines = 1; lines <= 2; lines++)
		for (uint32_t k = 1; k < 2000; k *= 10)
		{
			rb_memory *memory = rb_memory_create((uint64_t) 1 << 30);
			found f = {.n = 0};
			rb_context ctx;

			red.nparts = red.nrows = lines;
			CHECK(search(&red, &blue, k, 1, &ctx, memory, &f) == RB_OK && f.n == lines * k, "%zu",
				  f.n);
			CHECK(ctx.stats.stage[RB_STAGE_CANDIDATES].count <= lines * (2 * k + 8) &&
					  ctx.stats.box_tests < lines * (10 * k + 200),
				  "k %u: %lu looks, %lu boxes", k,
				  (unsigned long) ctx.stats.stage[RB_STAGE_CANDIDATES].count,
				  (unsigned long) ctx.stats.box_tests);
			CHECK(f.hits[0].rows.blue == 0 && f.hits[0].value[3] == 0, "another first hit");
			rb_memory_destroy(memory);
			free(f.hits);
		}
	free_side(&blue);
}

/* ---- stops and errors ---- */

static void
stops(void)
{
	rb_set red = make_side(UNIT, RB_SEGMENT3, 20000, false, false);
	rb_set blue = make_side(UNIT, RB_TRIANGLE3, 300, false, false);
	rb_memory *memory = rb_memory_create((uint64_t) 1 << 30);
	rb_context ctx;
	found f = {.stop = &ctx};
	rb_status status = search(&red, &blue, 300, 2, &ctx, memory, &f);

	CHECK(status == RB_STOPPED && ctx.error.status == RB_OK, "%s", rb_status_text(status));
	CHECK(rb_memory_used(memory) == 0, "memory left");
	rb_memory_destroy(memory);
	free(f.hits);
	free_side(&red);
	free_side(&blue);
}

static void
refusals(void)
{
	rb_set red = make_side(UNIT, RB_SEGMENT3, 2000, true, false);
	rb_set blue = make_side(UNIT, RB_TRIANGLE3, 3000, false, true);
	int failed = 0, done = 0;

	for (uint64_t limit = 1 << 14; limit < (uint64_t) 1 << 26; limit *= 2)
	{
		rb_memory *memory = rb_memory_create(limit);
		found f = {.n = 0};
		rb_context ctx;
		rb_status status = search(&red, &blue, 3, 1, &ctx, memory, &f);

		CHECK(status == RB_OVER_BUDGET || status == RB_OK, "%s", rb_status_text(status));
		CHECK(rb_memory_used(memory) == 0 && rb_memory_peak(memory) <= limit, "memory");
		failed += status == RB_OVER_BUDGET;
		done += status == RB_OK;
		rb_memory_destroy(memory);
		free(f.hits);
	}
	CHECK(failed > 1 && done > 1, "%d failed, %d done", failed, done);
	free_side(&red);
	free_side(&blue);
}

int
main(void)
{
	CHECK_RUN(against_rationals);
	CHECK_RUN(few_looks);
	CHECK_RUN(stops);
	CHECK_RUN(refusals);
	return check_done();
}
