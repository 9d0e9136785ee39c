/*
 * kd_tiles.c
 *	  Tests tiles of about equal cost: they must fill space, contain all pairs, and cost about the
 *	  same.
 */
#include "fixtures.h"
#include "../bench/workload.h"
#include "core/join/join.h"
#include "core/primitive/reference_point.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define MOST 5000 /* Maximum number of tiles in a case */

static rb_memory *memory;
static rb_kd_tile tile[MOST];

/* ---- boxes ---- */

static rb_set
boxes_of(int dims, uint32_t n)
{
	rb_set s = {.kind = dims == 2 ? RB_BOX2 : RB_BOX3, .nparts = n, .nrows = n};

	s.coords = malloc((n + 1) * 2 * (size_t) dims * sizeof(double));
	return s;
}

typedef enum shape
{
	UNIFORM,
	LATTICE, /* Many equal coordinates */
	CLUSTER,
	FLAT, /* Large along x and y */
	POINTS,
	SHAPES
} shape;

static rb_set
random_boxes(int dims, uint32_t n, shape shape)
{
	rb_set s = boxes_of(dims, n);
	double *x = (double *) s.coords;

	for (uint32_t i = 0; i < n; i++, x += 2 * dims)
		for (int a = 0; a < dims; a++)
		{
			const double size = shape == POINTS ? 0 : shape == FLAT && a < 2 ? 0.4 : 0.03;

			x[a] = shape == LATTICE   ? check_below(6)
				   : shape == CLUSTER ? pow(random_unit(), 4)
									  : random_unit();
			x[dims + a] = x[a] + (shape == LATTICE ? check_below(3) : size * random_unit());
		}
	return s;
}

/* Returns every k-th box. */
static rb_set
some_of(const rb_set *all, uint32_t k)
{
	const size_t width = (size_t) rb_kind_width(all->kind);
	rb_set s = boxes_of(rb_kind_dims(all->kind), all->nrows / k);

	for (uint32_t i = 0; i < s.nrows; i++)
		memcpy((double *) s.coords + i * width,
			   all->coords + (i * (size_t) k + (size_t) check_below((int) k)) * width,
			   width * sizeof(double));
	return s;
}

/* ---- properties of tiles ---- */

static rb_status
cut(const rb_kd_job *job)
{
	rb_context ctx;
	rb_status status;

	rb_context_init(&ctx, memory);
	ctx.threads = 2;
	status = rb_kd_tiles(&ctx, job, tile);
	CHECK(rb_memory_used(memory) == 0, "%llu bytes are left",
		  (unsigned long long) rb_memory_used(memory));
	return status;
}

/* Returns the number of tiles that contain a point. */
static int
tiles_at(uint32_t n, int dims, const double x[3], uint32_t *where)
{
	int found = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		bool in = true;

		for (int a = 0; a < dims; a++)
			in &= tile[i].low[a] <= x[a] && x[a] < tile[i].high[a];
		found += in;
		*where = in ? i : *where;
	}
	return found;
}

/*
 * Checks that each point is in exactly one tile: random points, tile corners and points next to
 * them, and the limits of space.
 */
static void
check_space(uint32_t n, int dims)
{
	const double places[] = {-DBL_MAX, -1, 0, 0x1p-1074, 1, 5, DBL_MAX};
	uint32_t where = 0;

	for (long i = 0; i < check_rounds(3000); i++)
	{
		double x[3] = {0, 0, 0};

		for (int a = 0; a < dims; a++)
		{
			const rb_kd_tile *t = &tile[check_below((int) n)];

			x[a] = check_below(2) ? t->low[a] : t->high[a];
			switch (check_below(5))
			{
				case 0:
					x[a] = nextafter(x[a], -INFINITY);
					break;
				case 1:
					x[a] = 3 * random_unit() - 1;
					break;
				case 2:
					x[a] = places[check_below(7)];
					break;
			}
			if (isinf(x[a]))
				x[a] = x[a] > 0 ? DBL_MAX : -DBL_MAX;
		}
		CHECK(tiles_at(n, dims, x, &where) == 1, "(%g, %g, %g) is in %d of %u tiles", x[0], x[1],
			  x[2], tiles_at(n, dims, x, &where), n);
	}
}

typedef struct counts
{
	const rb_set *red;
	const rb_set *blue;
	double distance;
	uint32_t n;
	double *rows; /* Number in each tile */
	double *pairs;
} counts;

static const double *
row_box(const rb_set *s, uint32_t i, double low[3], double reach[3], double distance)
{
	const int dims = rb_kind_dims(s->kind);
	const double *x = s->coords + (size_t) i * 2 * (size_t) dims;

	for (int a = 0; a < dims; a++)
	{
		low[a] = x[a];
		reach[a] = rb_reach_up(x[dims + a], distance);
	}
	return x;
}

/* Checks that a pair has one tile, which contains both rows. */
static rb_status
put(void *user, const rb_pair *pairs, size_t n)
{
	counts *c = user;
	const int dims = rb_kind_dims(c->red->kind);

	for (size_t i = 0; i < n; i++)
	{
		double low[2][3], reach[2][3], at[3];
		uint32_t where = 0;
		int found;

		row_box(c->red, pairs[i].red, low[0], reach[0], c->distance);
		row_box(c->blue, pairs[i].blue, low[1], reach[1], c->distance);
		for (int a = 0; a < dims; a++)
			at[a] = fmax(low[0][a], low[1][a]);
		found = tiles_at(c->n, dims, at, &where);
		CHECK(found == 1, "a pair is in %d tiles", found);
		c->pairs[where]++;
		for (int k = 0; k < 2; k++)
			CHECK(rb_tile_meets(dims, low[k], reach[k], tile[where].low, tile[where].high),
				  "a row of a pair is not in its tile");
	}
	return RB_OK;
}

static void
count_rows(counts *c, const rb_set *s)
{
	for (uint32_t i = 0; i < s->nrows; i++)
	{
		double low[3], reach[3];

		row_box(s, i, low, reach, c->distance);
		for (uint32_t k = 0; k < c->n; k++)
			c->rows[k] +=
				rb_tile_meets(rb_kind_dims(s->kind), low, reach, tile[k].low, tile[k].high);
	}
}

/* Returns the cost of the heaviest tile divided by the mean, and the sum of all costs. */
static double
balance(const rb_set *red, const rb_set *blue, uint32_t n, double *sum)
{
	counts c = {red, blue != NULL ? blue : red, 0,
				n,   calloc(n, sizeof(double)), calloc(n, sizeof(double))};
	rb_job job = {.red = red, .blue = blue, .predicate = RB_MEET};
	rb_sink sink = {.put = put, .user = &c};
	double worst = 0;
	rb_context ctx;

	rb_context_init(&ctx, memory);
	ctx.threads = 1;
	CHECK(rb_backend_cpu.join(&ctx, &job, &sink) == RB_OK, "no join");
	count_rows(&c, red);
	if (blue != NULL)
		count_rows(&c, blue);
	*sum = 0;
	for (uint32_t i = 0; i < n; i++)
	{
		const double cost = c.rows[i] + RB_TILE_PAIR_COST * c.pairs[i];

		*sum += cost;
		worst = fmax(worst, cost);
	}
	free(c.rows);
	free(c.pairs);
	return *sum > 0 ? worst * n / *sum : 1;
}

static double
estimated(uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += tile[i].cost;
	return sum;
}

/* ---- cases ---- */

static void
random_tilings(void)
{
	static const uint32_t numbers[] = {1, 2, 3, 5, 16, 37, 200};

	for (long i = 0; i < check_rounds(120); i++)
	{
		const int dims = 2 + check_below(2);
		const shape s = (shape) check_below(SHAPES);
		rb_set red = random_boxes(dims, (uint32_t) check_below(300), s);
		rb_set blue = random_boxes(dims, (uint32_t) check_below(300), s);
		const bool self = check_below(2) != 0;
		rb_kd_job job = {.sample = {&red, self ? NULL : &blue}, .rows = {red.nrows, blue.nrows}};
		double sum;

		job.n = numbers[check_below(7)];
		CHECK(cut(&job) == RB_OK, "refused");
		check_space(job.n, dims);
		(void) balance(&red, self ? NULL : &blue, job.n, &sum);
		CHECK(fabs(sum - estimated(job.n)) <= 1e-9 * sum, "of all rows %g are estimated, not %g",
			  estimated(job.n), sum);
		free_side(&red);
		free_side(&blue);
	}
}

/* Tests that pairs within a distance, by their boxes, are in one tile, and so are their rows. */
static void
within_a_distance(void)
{
	for (long i = 0; i < check_rounds(40); i++)
	{
		const int dims = 2 + check_below(2);
		rb_set red = random_boxes(dims, 120, UNIFORM);
		rb_set blue = random_boxes(dims, 120, POINTS);
		const double distance = 0.2 * random_unit();
		rb_kd_job job = {{&red, &blue}, {120, 120}, false, distance, 9};
		counts c = {&red, &blue, distance, 9, calloc(9, sizeof(double)), calloc(9, sizeof(double))};

		CHECK(cut(&job) == RB_OK, "refused");
		for (uint32_t r = 0; r < red.nrows; r++)
			for (uint32_t b = 0; b < blue.nrows; b++)
			{
				const double *x = red.coords + r * 2 * (size_t) dims;
				const double *y = blue.coords + b * 2 * (size_t) dims;
				const rb_pair pair = {r, b};
				bool near = true;

				for (int a = 0; a < dims; a++)
					near &= x[a] - y[dims + a] <= distance && y[a] - x[dims + a] <= distance;
				if (near)
					(void) put(&c, &pair, 1);
			}
		free(c.rows);
		free(c.pairs);
		free_side(&red);
		free_side(&blue);
	}
}

static void
balanced(const char *text, uint32_t of, bool self)
{
	rb_set red, blue = {0};
	rb_set sample[2];
	double sum, worst;
	char second[100];
	rb_kd_job job = {.n = 16, .self = self};

	CHECK(workload_named(text, RB_BOX3, &red), "no workload %s", text);
	snprintf(second, sizeof(second), "%.*s2", (int) strlen(text) - 1, text);
	if (!self)
		CHECK(workload_named(second, RB_BOX3, &blue), "no workload %s", second);
	sample[0] = some_of(&red, of);
	sample[1] = some_of(self ? &red : &blue, of);
	for (int k = 0; k < 2; k++)
	{
		job.sample[k] = &sample[k];
		job.rows[k] = red.nrows;
	}
	CHECK(cut(&job) == RB_OK, "refused");
	worst = balance(&red, self ? NULL : &blue, job.n, &sum);
	printf("# %s%s, a sample of one in %u: heaviest / mean %.3f, estimated / true %.3f\n", text,
		   self ? " with itself" : "", of, worst, estimated(job.n) / sum);
	CHECK(worst <= 1.2, "%g", worst);
	CHECK(estimated(job.n) > 0.6 * sum && estimated(job.n) < 1.6 * sum, "%g for %g",
		  estimated(job.n), sum);
	free_side(&red);
	free_side(&blue);
	free_side(&sample[0]);
	free_side(&sample[1]);
}

static void
balanced_workloads(void)
{
	balanced("uniform,200000,1", 1, false);
	balanced("uniform,200000,1", 10, false);
	balanced("uniform,200000,1", 10, true);
	balanced("gauss,200000,1", 1, false);
	balanced("gauss,200000,1", 10, false);
	balanced("gauss,200000,1", 10, true);
	balanced("gauss,200000,1", 40, true);
	balanced("doc:1,100000,1", 4, false);
}

/* Tests that the number of tiles is as requested even if there is nothing to cut. */
static void
nothing_to_cut(void)
{
	static const uint32_t numbers[] = {1, 2, 3, 16, 1000, 4096};
	static const double places[] = {0, 1, -7, 1e300, -DBL_MAX, DBL_MAX, 0x1p-1074};

	for (int dims = 2; dims <= 3; dims++)
		for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++)
			for (uint32_t rows = 0; rows <= 40; rows = rows * 3 + 1)
				for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
				{
					rb_set red = boxes_of(dims, rows), none = boxes_of(dims, 0);
					rb_kd_job job = {{&red, &none}, {rows, 0}, false, 0, numbers[i]};

					for (uint32_t k = 0; k < rows * 2 * (uint32_t) dims; k++)
						((double *) red.coords)[k] = places[p];
					CHECK(cut(&job) == RB_OK, "refused");
					if (numbers[i] <= 16)
						check_space(numbers[i], dims);
					job.sample[1] = NULL;
					CHECK(cut(&job) == RB_OK, "refused");
					free_side(&red);
					free_side(&none);
				}
}

/* Tests one box that covers all of space, and small boxes. */
static void
large_and_small(void)
{
	rb_set red = random_boxes(3, 500, UNIFORM);
	rb_kd_job job = {.sample = {&red, NULL}, .rows = {500, 0}, .n = 64};
	double *x = (double *) red.coords;
	double sum;

	for (int a = 0; a < 3; a++)
	{
		x[a] = -DBL_MAX;
		x[3 + a] = DBL_MAX;
	}
	CHECK(cut(&job) == RB_OK, "refused");
	check_space(64, 3);
	CHECK(balance(&red, NULL, 64, &sum) < 1.5, "%g", balance(&red, NULL, 64, &sum));
	free_side(&red);
}

static void
same_each_time(void)
{
	static rb_kd_tile first[64];
	rb_set red = random_boxes(3, 20000, CLUSTER), blue = random_boxes(3, 30000, UNIFORM);
	rb_kd_job job = {{&red, &blue}, {1e9, 1e8}, false, 0, 64};

	CHECK(cut(&job) == RB_OK, "refused");
	memcpy(first, tile, sizeof(first));
	CHECK(cut(&job) == RB_OK, "refused");
	CHECK(memcmp(first, tile, sizeof(first)) == 0, "other tiles");
	free_side(&red);
	free_side(&blue);
}

/* Tests that cuts have few digits if there is a choice. */
static void
short_numbers(void)
{
	rb_set red = boxes_of(2, 2);
	const double x[] = {0.3, 0.3, 1.1, 1.1, 1234.567, 0.3, 1235.1, 1.1};
	rb_kd_job job = {.sample = {&red, NULL}, .rows = {2, 0}, .n = 2};

	memcpy((double *) red.coords, x, sizeof(x));
	CHECK(cut(&job) == RB_OK, "refused");
	CHECK(tile[0].high[0] == 1024 && tile[1].low[0] == 1024, "cut at %.17g", tile[0].high[0]);
	CHECK(tile[0].cost == 1 && tile[1].cost == 1, "%g and %g", tile[0].cost, tile[1].cost);
	free_side(&red);
}

static void
rounded_up(void)
{
	for (long i = 0; i < check_rounds(100000); i++)
	{
		const double x = (random_unit() - 0.5) * ldexp(1, check_below(80) - 40);
		const double d = random_unit() * ldexp(1, check_below(80) - 40);
		const double sum = rb_reach_up(x, d);

		CHECK((long double) sum >= (long double) x + (long double) d || sum > x + d,
			  "%a + %a is %a", x, d, sum);
	}
	CHECK(rb_reach_up(DBL_MAX, DBL_MAX) == DBL_MAX && rb_reach_up(3, 0) == 3, "not at the ends");
}

static void
stop_and_memory(void)
{
	rb_set red = random_boxes(3, 50000, UNIFORM);
	rb_kd_job job = {.sample = {&red, NULL}, .rows = {50000, 0}, .n = 256};
	rb_context ctx;

	rb_context_init(&ctx, memory);
	rb_context_stop(&ctx);
	CHECK(rb_kd_tiles(&ctx, &job, tile) == RB_STOPPED, "it did not stop");
	CHECK(rb_memory_used(memory) == 0, "memory is left");
	for (uint64_t limit = 1 << 16; limit < 1 << 26; limit += limit / 3)
	{
		rb_status status;

		rb_memory_set_limit(memory, limit);
		rb_context_init(&ctx, memory);
		status = rb_kd_tiles(&ctx, &job, tile);
		CHECK(status == RB_OK || status == RB_OVER_BUDGET, "%s", rb_status_text(status));
		CHECK(rb_memory_used(memory) == 0, "memory is left");
	}
	rb_memory_set_limit(memory, UINT64_C(1) << 32);
	free_side(&red);
}

int
main(void)
{
	memory = rb_memory_create(UINT64_C(1) << 32);
	CHECK_RUN(random_tilings);
	CHECK_RUN(within_a_distance);
	CHECK_RUN(balanced_workloads);
	CHECK_RUN(nothing_to_cut);
	CHECK_RUN(large_and_small);
	CHECK_RUN(same_each_time);
	CHECK_RUN(short_numbers);
	CHECK_RUN(rounded_up);
	CHECK_RUN(stop_and_memory);
	rb_memory_destroy(memory);
	return check_done();
}
