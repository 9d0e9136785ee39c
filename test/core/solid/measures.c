/*
 * measures.c
 *	  Tests the measures of solids against rationals.
 *
 * The reference uses other formulas: with the projection of each outward face to the xy plane, the
 * volume is the sum of signed columns below faces, and first moments are integrals over columns. The
 * area is summed in 8,000 bits. A result is right if the exact value is between the midpoints of the
 * result and its neighbors, or on a midpoint and the result is even.
 */
#include "core/base/redblue.h"
#include "core/solid/solid.h"
#include "core/join/join.h"
#include "core/set/set.h"
#include "fixtures.h"
#include "is_nearest.h"
#include "points.h"
#include "solids.h"

#include <gmp.h>
#include <stdlib.h>

#define AREA_BITS 8000
#define MOST_SOLIDS 40

static rb_memory *memory;
static rb_context ctx;

/* ---- reference ---- */

typedef struct reference
{
	mpq_t volume;
	mpq_t moment[3];
	mpf_t area;
} reference;

static void
begin_reference(reference *r)
{
	mpq_init(r->volume);
	for (int a = 0; a < 3; a++)
		mpq_init(r->moment[a]);
	mpf_init2(r->area, AREA_BITS);
}

static void
end_reference(reference *r)
{
	mpq_clear(r->volume);
	for (int a = 0; a < 3; a++)
		mpq_clear(r->moment[a]);
	mpf_clear(r->area);
}

/* Adds a * b * c to the sum; c is divided by `by`. */
static void
add_product(mpq_t sum, const mpq_t a, const mpq_t b, const mpq_t c, unsigned by)
{
	mpq_t x, y;

	mpq_init(x);
	mpq_init(y);
	mpq_mul(x, a, b);
	mpq_mul(x, x, c);
	mpq_set_ui(y, by, 1);
	mpq_div(x, x, y);
	mpq_add(sum, sum, x);
	mpq_clear(x);
	mpq_clear(y);
}

/* Adds an outward triangle. */
static void
add_reference(reference *r, const double *t)
{
	mpq_t p[9], n[3], x, y, one;
	mpf_t square;

	mpq_init(x);
	mpq_init(y);
	mpq_init(one);
	mpq_set_ui(one, 1, 1);
	mpf_init2(square, AREA_BITS);
	for (int i = 0; i < 9; i++)
	{
		mpq_init(p[i]);
		mpq_set_d(p[i], t[i]);
	}
	/* Components of the normal: products of sums over the projected edges */
	for (int a = 0; a < 3; a++)
	{
		const int u = (a + 1) % 3, v = (a + 2) % 3;

		mpq_init(n[a]);
		for (int i = 0; i < 3; i++)
		{
			const int j = (i + 1) % 3;

			mpq_mul(x, p[3 * i + u], p[3 * j + v]);
			mpq_mul(y, p[3 * j + u], p[3 * i + v]);
			mpq_sub(x, x, y);
			mpq_add(n[a], n[a], x);
		}
	}
	/* The column below the face has the volume n_z / 2 * (z1 + z2 + z3) / 3. */
	for (int i = 0; i < 3; i++)
		add_product(r->volume, n[2], p[3 * i + 2], one, 6);
	/*
	 * The integral of f g over a triangle is its area / 12 times (sum of f * sum of g + sum of f g).
	 * The moments are the integrals of x z, y z and z z / 2.
	 */
	for (int a = 0; a < 3; a++)
		for (int i = 0; i < 3; i++)
			for (int j = 0; j < 3; j++)
				for (int k = 0; k < (i == j ? 2 : 1); k++)
					add_product(r->moment[a], n[2], p[3 * i + a], p[3 * j + 2], a == 2 ? 48 : 24);
	mpq_set_ui(x, 0, 1);
	for (int a = 0; a < 3; a++)
		add_product(x, n[a], n[a], one, 4);
	mpf_set_q(square, x);
	mpf_sqrt(square, square);
	mpf_add(r->area, r->area, square);
	for (int i = 0; i < 9; i++)
		mpq_clear(p[i]);
	for (int a = 0; a < 3; a++)
		mpq_clear(n[a]);
	mpq_clear(x);
	mpq_clear(y);
	mpq_clear(one);
	mpf_clear(square);
}

/* ---- comparison ---- */

/* Checks the measures of the outward triangles. */
static void
compare_measures(const double *outward, uint32_t n, const rb_measures *m, const char *what)
{
	reference r;
	mpq_t x;
	double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};

	begin_reference(&r);
	mpq_init(x);
	for (uint32_t i = 0; i < n; i++)
		add_reference(&r, outward + 9 * (size_t) i);
	for (uint32_t i = 0; i < 9 * n; i++)
	{
		low[i % 3] = fmin(low[i % 3], outward[i]);
		high[i % 3] = fmax(high[i % 3], outward[i]);
	}
	CHECK(is_nearest_above_zero(m->volume, r.volume), "%s: volume %a, not %a", what, m->volume,
		  mpq_get_d(r.volume));
	mpq_set_f(x, r.area);
	CHECK(is_nearest_above_zero(m->area, x), "%s: area %a, not %a", what, m->area, mpq_get_d(x));
	for (int a = 0; a < 3; a++)
	{
		mpq_div(x, r.moment[a], r.volume);
		CHECK(is_nearest(m->centroid[a], x), "%s: centroid %d %a, not %a", what, a, m->centroid[a],
			  mpq_get_d(x));
		CHECK(m->low[a] == low[a] && m->high[a] == high[a], "%s: box %d", what, a);
	}
	mpq_clear(x);
	end_reference(&r);
}

/* Turns some triangles over, and starts each at a random corner. */
static void
turn_some(double *t, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
	{
		double *p = t + 9 * (size_t) i, copy[9];
		const int first = check_below(3), step = 1 + check_below(2);

		memcpy(copy, p, sizeof copy);
		for (int k = 0; k < 3; k++)
			memcpy(p + 3 * k, copy + 3 * ((first + k * step) % 3), 3 * sizeof *p);
	}
}

static rb_set
set_of(double *triangles, uint32_t n, uint32_t *rows, uint32_t nrows)
{
	return (rb_set){
		.kind = RB_TRIANGLE3, .nparts = n, .nrows = nrows, .coords = triangles, .row_of = rows};
}

/* Measures one solid, given by outward triangles, and compares the results. */
static rb_status
measure_one(const double *outward, uint32_t n, const char *what)
{
	double *t = malloc(n * 9 * sizeof *t);
	uint32_t *rows = calloc(n, sizeof *rows);
	rb_measures m;
	rb_set set;
	double area;
	rb_status status;

	memcpy(t, outward, n * 9 * sizeof *t);
	turn_some(t, n);
	set = set_of(t, n, rows, 1);
	status = rb_solid_measure(&ctx, &set, &m);
	if (status == RB_OK)
	{
		compare_measures(outward, n, &m, what);
		CHECK(rb_surface_area(&ctx, t, n, &area) == RB_OK && area == m.area, "area of the surface");
	}
	free(t);
	free(rows);
	return status;
}

/* ---- cases ---- */

/* Random solids in all families, scaled so that results underflow and overflow, too. */
static void
random_solids(void)
{
	static const int powers[] = {0, 0, 0, -498, 498, -360, -350, 335, 341, 342, -600, 980};
	static solid s;
	char what[100];
	rb_status status;
	long good = 0;
	bool several;

	for (long round = 0; round < check_rounds(4000); round++)
	{
		const int power = powers[check_below(sizeof powers / sizeof powers[0])];

		solid_make(&s, check_below(SOLID_CRUMPLED), check_below(SIZES));
		solid_shuffle(&s);
		if (s.n > 60 && check_below(10) > 0)
			continue;
		for (int i = 0; i < 9 * s.n; i++)
			s.t[i] = ldexp(s.t[i], power) + (check_below(2) ? 0 : -0.0);
		snprintf(what, sizeof what, "%s of size %d, times 2^%d", solid_name[s.family], s.size,
				 power);
		status = measure_one(s.t, (uint32_t) s.n, what);
		several = s.family >= SOLID_NESTED;
		/* Boxes that share a part of an edge or face are invalid. */
		CHECK(status == RB_OK || (several && status == RB_BAD_SOLID), "%s: %s", what,
			  ctx.error.text);
		good += several && status == RB_OK;
		rb_forget_failure(&ctx);
	}
	CHECK(good > 20, "%ld solids of several boxes", good);
}

/* Tetrahedra of points of all kinds, with and without many zero bits. */
static void
random_tetrahedra(void)
{
	long positive = 0;

	for (long round = 0; round < check_rounds(8000); round++)
	{
		static const int corner[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 0, 3}};
		const int family = check_below(POINTS_FAMILIES);
		double p[4][3], t[36];
		int side;

		points_make(family, 4, 3, p[0]);
		side = rb_orient3d(p[0], p[1], p[2], p[3]);
		if (side == 0)
			continue;
		for (int i = 0; i < 4; i++)
			for (int k = 0; k < 3; k++)
				memcpy(t + 9 * i + 3 * k, p[corner[i][side > 0 ? k : 2 - k]], 3 * sizeof *t);
		positive++;
		CHECK(measure_one(t, 4, points_family_name[family]) == RB_OK, "%s: %s",
			  points_family_name[family], ctx.error.text);
	}
	CHECK(positive > 100, "%ld tetrahedra", positive);
}

/* Boxes whose volumes and areas are often exactly between two doubles. */
static void
ties(void)
{
	long midpoints = 0;

	for (long round = 0; round < check_rounds(4000); round++)
	{
		const int bits = 18 + check_below(12);
		double lo[3] = {0, 0, 0}, hi[3];
		mpq_t x, y;
		double d;
		static solid s;

		for (int a = 0; a < 3; a++)
			hi[a] = (1 << bits) + check_below(64);
		s.n = 0;
		solid_box(&s, lo, hi, false);
		CHECK(measure_one(s.t, (uint32_t) s.n, "box") == RB_OK, "%s", ctx.error.text);
		mpq_init(x);
		mpq_init(y);
		mpq_set_d(x, hi[0] * hi[1]);
		mpq_set_d(y, hi[2]);
		mpq_mul(x, x, y);
		d = mpq_get_d(x);
		set_midpoint(y, d, HUGE_VAL);
		midpoints += mpq_equal(x, y);
		mpq_clear(x);
		mpq_clear(y);
	}
	CHECK(midpoints > 0, "no volume is between two doubles");
}

/*
 * A box whose area is exactly between two doubles, with a tiny pyramid on it that adds an irrational
 * area far below the precision of the first sum.
 */
static void
almost_ties(void)
{
	for (int power = -1000; power < 0; power += 37)
	{
		double lo[3] = {0, 0, 0}, hi[3] = {134217729, 134217730, 0}, tiny = ldexp(1, power);
		static solid s;

		/* The area of the box is 4 modulo 8, and between 2^55 and 2^56. */
		for (hi[2] = 4; hi[2] < 16; hi[2] += 4)
		{
			const double top[4][3] = {{-3 * tiny, 1, 1},
									  {-2 * tiny, 1, 1 + 0x1p-52},
									  {-tiny, 1 + 0x1p-52, 1},
									  {-5 * tiny, 1, 1}};
			double p[4][3];

			s.n = 0;
			solid_box(&s, lo, hi, false);
			/* A second component of the solid, next to the box */
			memcpy(p, top, sizeof p);
			p[3][1] = 1 - 0x1p-53;
			if (rb_orient3d(p[0], p[1], p[2], p[3]) < 0)
			{
				double swap[3];

				memcpy(swap, p[0], sizeof swap);
				memcpy(p[0], p[1], sizeof swap);
				memcpy(p[1], swap, sizeof swap);
			}
			solid_triangle(&s, p[0], p[2], p[1]);
			solid_triangle(&s, p[0], p[1], p[3]);
			solid_triangle(&s, p[1], p[2], p[3]);
			solid_triangle(&s, p[2], p[0], p[3]);
			CHECK(measure_one(s.t, (uint32_t) s.n, "box and splinter") == RB_OK, "%s",
				  ctx.error.text);
		}
	}
}

/* Triangles without area do not count, wherever they are. */
static void
needles(void)
{
	static solid s;
	int closed = 0;

	for (long round = 0; round < check_rounds(2000); round++)
	{
		static double outward[9 * SOLID_MOST];
		static uint32_t rows[SOLID_MOST];
		rb_measures m;
		rb_set set;
		int n;

		solid_make(&s, check_below(SOLID_VOXELS), check_below(2) ? SIZE_PLAIN : SIZE_POWER);
		n = s.n;
		memcpy(outward, s.t, sizeof outward);
		solid_add_needles(&s);
		solid_shuffle(&s);
		turn_some(s.t, (uint32_t) s.n);
		set = set_of(s.t, (uint32_t) s.n, rows, 1);
		/* A needle may cross the solid. */
		if (rb_solid_measure(&ctx, &set, &m) != RB_OK)
		{
			rb_forget_failure(&ctx);
			continue;
		}
		compare_measures(outward, (uint32_t) n, &m, solid_name[s.family]);
		closed += s.n > n;
	}
	CHECK(closed > 0, "no solid with needles");
}

/* ---- rows, threads ---- */

typedef struct results
{
	rb_measures m[MOST_SOLIDS];
	bool seen[MOST_SOLIDS];
	int n;
	pthread_mutex_t lock;
} results;

static rb_status
put_results(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	results *r = user;

	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < n; i++)
	{
		memcpy(&r->m[rows[i].red], payload + i * RB_MEASURES_WORDS, sizeof r->m[0]);
		CHECK(rows[i].red == rows[i].blue && !r->seen[rows[i].red], "row %u", rows[i].red);
		r->seen[rows[i].red] = true;
		r->n++;
	}
	pthread_mutex_unlock(&r->lock);
	return RB_OK;
}

/* Appends a sphere of 2 (bands - 1) * sectors triangles with its center at x. */
static uint32_t
make_sphere(double *t, double x, int bands, int sectors)
{
	uint32_t n = 0;

	for (int i = 0; i < bands; i++)
		for (int j = 0; j < sectors; j++)
		{
			double p[4][3];

			for (int k = 0; k < 4; k++)
			{
				const int band = i + (k == 1 || k == 2), sector = (j + (k >= 2)) % sectors;
				const double polar = M_PI * band / bands, around = 2 * M_PI * sector / sectors;
				const double radius = band == 0 || band == bands ? 0 : sin(polar);

				p[k][0] = x + radius * cos(around);
				p[k][1] = radius * sin(around);
				p[k][2] = cos(polar);
			}
			for (int half = 0; half < 2; half++)
			{
				const int corner[2][3] = {{0, 1, 2}, {0, 2, 3}};

				if ((i == 0 && half == 1) || (i == bands - 1 && half == 0))
					continue;
				for (int k = 0; k < 3; k++)
					memcpy(t + 9 * (size_t) n + 3 * k, p[corner[half][k]], 3 * sizeof *t);
				n++;
			}
		}
	return n;
}

/* Spheres, small and large, some of them not closed: the same bits on any number of threads. */
static void
rows_and_threads(void)
{
	static const int threads[] = {1, 2, 7};
	const uint32_t most = 60000;
	double *outward = malloc(most * 9 * sizeof *outward), *t = malloc(most * 9 * sizeof *t);
	uint32_t *rows = malloc(most * sizeof *rows), first[MOST_SOLIDS + 1], n = 0;
	static results r[3];

	for (uint32_t i = 0; i < MOST_SOLIDS; i++)
	{
		uint32_t more;

		first[i] = n;
		/* One row is large enough that all threads share it. */
		more = make_sphere(outward + 9 * (size_t) n, 3 * i, i == 5 ? 101 : 4 + (int) i % 9,
						   i == 5 ? 100 : 5 + (int) i % 7);
		more -= i == 7 || i == 11;
		for (uint32_t k = 0; k < more; k++)
			rows[n++] = i;
	}
	first[MOST_SOLIDS] = n;
	memcpy(t, outward, n * 9 * sizeof *t);
	turn_some(t, n);
	for (int k = 0; k < 3; k++)
	{
		const rb_set set = set_of(t, n, rows, MOST_SOLIDS);
		const rb_job job = {.red = &set, .predicate = RB_MEASURES, .skip_bad = true};
		const rb_row_sink sink = {.put = put_results, .user = &r[k]};

		pthread_mutex_init(&r[k].lock, NULL);
		ctx.threads = threads[k];
		ctx.stats.bad_solids = 0;
		CHECK(rb_compose_measures(&ctx, &rb_backend_cpu, &job, &sink) == RB_OK, "%s",
			  ctx.error.text);
		CHECK(r[k].n == MOST_SOLIDS - 2 && !r[k].seen[7] && !r[k].seen[11], "%d rows", r[k].n);
		CHECK(ctx.stats.bad_solids == 2, "%d bad solids", (int) ctx.stats.bad_solids);
		CHECK(memcmp(r[k].m, r[0].m, sizeof r[0].m) == 0, "%d threads", threads[k]);
		pthread_mutex_destroy(&r[k].lock);
	}
	ctx.threads = 2;
	for (uint32_t i = 0; i < MOST_SOLIDS; i++)
		if (r[0].seen[i])
			compare_measures(outward + 9 * (size_t) first[i], first[i + 1] - first[i], &r[0].m[i],
							 "sphere");
	/* Without skipping, the first bad row is an error. */
	{
		const rb_set set = set_of(t, n, rows, MOST_SOLIDS);
		const rb_job job = {.red = &set, .predicate = RB_MEASURES};
		const rb_row_sink sink = {.put = put_results, .user = &r[0]};

		CHECK(rb_compose_measures(&ctx, &rb_backend_cpu, &job, &sink) == RB_BAD_SOLID &&
				  ctx.error.need == 7,
			  "%s", ctx.error.text);
		rb_forget_failure(&ctx);
	}
	free(outward);
	free(t);
	free(rows);
}

/* Surfaces that are not closed, and planar ones */
static void
areas_of_surfaces(void)
{
	const double t[18] = {0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2};
	double area;

	CHECK(rb_surface_area(&ctx, t, 2, &area) == RB_OK && area == 6, "area %a", area);
	CHECK(rb_surface_area(&ctx, t + 9, 1, &area) == RB_OK && area == 0, "area %a", area);
	CHECK(rb_surface_area(&ctx, t, 0, &area) == RB_OK && area == 0, "area %a", area);
}

static void
little_memory_and_stop(void)
{
	double *t = malloc(9 * 20000 * sizeof *t);
	const uint32_t n = make_sphere(t, 0, 71, 70);
	uint32_t *rows = calloc(n, sizeof *rows);
	const rb_set set = set_of(t, n, rows, 1);
	const rb_job job = {.red = &set, .predicate = RB_MEASURES};

	check_join_budgets(&job, 1 << 14, 3);
	check_join_closed_early(&job, memory, 20);
	free(t);
	free(rows);
}

int
main(void)
{
	memory = rb_memory_create(UINT64_MAX);
	rb_context_init(&ctx, memory);
	ctx.threads = 2;
	CHECK_RUN(random_solids);
	CHECK_RUN(random_tetrahedra);
	CHECK_RUN(ties);
	CHECK_RUN(almost_ties);
	CHECK_RUN(needles);
	CHECK_RUN(rows_and_threads);
	CHECK_RUN(areas_of_surfaces);
	CHECK_RUN(little_memory_and_stop);
	CHECK(rb_memory_used(memory) == 0, "left behind");
	rb_memory_destroy(memory);
	return check_done();
}
