/*
 * cpu_join_random.c
 *	  Tests the join of random hard sets, of every kind, against all pairs.
 *
 * A set is drawn from a family. The family determines where the objects are (uniform, clusters,
 * nested clusters at all scales, a lattice, the cell boundaries of a grid plus or minus an ulp),
 * how large they are (equal, at all scales, some giants), what they are (fat, needles, plates,
 * points, fans around shared corners, copies of each other), and their magnitude (denormals, the
 * largest float8, a large offset, a factor for each axis). Families are mixed within a set and
 * across the two sides.
 *
 * In the build with RB_SMALL, these few hundred objects create grids within grids and fill every
 * buffer many times. RB_TEST_SEED=n runs only round n.
 */
#include "fixtures.h"
#include "core/primitive/triangle.h"
#include "core/base/redblue.h"

#include <math.h>
#include <string.h>

#define MOST 2600

typedef struct set
{
	rb_set o;
	double *c;
	uint32_t *row_of;
	double (*box)[6];
} set;

/* Returns a random power of two in 2^-most .. 1. */
static double
any_scale(int most)
{
	return ldexp(1, -check_below(most + 1));
}

static int
dims_of(rb_kind kind)
{
	return kind == RB_SEGMENT2 || kind == RB_BOX2 ? 2 : 3;
}

/* ---- families ---- */

typedef struct family
{
	int place;
	int size;
	int shape;
	int cells; /* Cells of the grid whose boundaries are hit */
	int nests;
	int up;
	bool pure; /* True if all corners lie where `place` requires */
	double slope;
	double largest;
	double centre[4][3];
	double pool[40][3]; /* Shared corners */
} family;

enum
{
	UNIFORM,
	CLUSTERS,
	NESTED,
	LATTICE,
	BOUNDARIES,
	LINE,
	SLOPE,  /* Nearly in one plane or on one line, steep or flat */
	DEPTHS, /* Around the origin, very large, or so small that products vanish */
	PLACES
};
enum
{
	ALIKE,
	ALL_SIZES,
	GIANTS,
	ZERO,
	SIZES
};
enum
{
	FAT,
	NEEDLE,
	PLATE,
	FAN,
	COPY,
	SHAPES
};

static void
draw_family(family *f)
{
	f->place = check_below(PLACES);
	f->size = check_below(SIZES);
	f->shape = check_below(SHAPES);
	f->cells = 1 + check_below(check_below(2) ? 8 : 70);
	f->nests = check_below(4) == 0 ? 900 : 5 + check_below(50);
	f->largest = any_scale(7);
	f->up = check_below(3);
	f->pure = check_below(2) == 0;
	f->slope = check_below(2) ? 1 : 1 / any_scale(25);
	for (int i = 0; i < 4; i++)
		for (int a = 0; a < 3; a++)
			f->centre[i][a] = random_signed();
	for (int i = 0; i < 40; i++)
		for (int a = 0; a < 3; a++)
			f->pool[i][a] = random_signed();
}

static double
place(const family *f, int axis, double nest, int cluster)
{
	double x;

	switch (f->place)
	{
		case CLUSTERS:
			return f->centre[cluster][axis] + 0.01 * random_signed();
		case NESTED:
			return f->nests > 60 ? nest * random_signed()
								 : f->centre[0][axis] + nest * random_signed();
		case LATTICE:
			return (check_below(7) - 3) / 4.0;
		case BOUNDARIES:
			x = (2.0 * check_below(f->cells + 1) - f->cells) / f->cells;
			switch (check_below(4))
			{
				case 0:
					return nextafter(x, 2);
				case 1:
					return nextafter(x, -2);
				default:
					return x;
			}
		case LINE:
			return nest;
		case DEPTHS:
			return 0;
		default:
			return random_signed();
	}
}

static double
size_of(const family *f)
{
	switch (f->size)
	{
		case ALL_SIZES:
			return f->largest * any_scale(20);
		case GIANTS:
			return check_below(30) == 0 ? 2 : f->largest / 16;
		case ZERO:
			return check_below(3) == 0 ? f->largest : 0;
		default:
			return f->largest / 4;
	}
}

static void
draw_object(const family *f, rb_kind kind, double *p)
{
	int dims = dims_of(kind);
	int corners = rb_kind_width(kind) / dims;
	double nest = f->place == LINE ? random_signed() : any_scale(f->nests);
	int cluster = check_below(4);
	double size = size_of(f);
	int thin = check_below(3);
	double centre[3], extent[3];
	if (f->place == NESTED)
		size *= nest;
	if (f->place == DEPTHS)
		size = ldexp(1, check_below(3) == 0 ? check_below(100) : -525 - check_below(25));
	for (int a = 0; a < 3; a++)
	{
		centre[a] = place(f, a, nest, cluster);
		extent[a] = size;
		if (f->shape == NEEDLE)
			extent[a] = a == thin ? 2 * f->largest : size / 64;
		if (f->shape == PLATE)
			extent[a] = a == thin ? 0 : size;
	}
	for (int k = 0; k < corners; k++)
	{
		int shared = check_below(40);

		for (int a = 0; a < dims; a++)
			if (f->shape == FAN && check_below(3) > 0)
				p[k * dims + a] = f->pool[shared][a];
			else if (f->place == LATTICE || f->place == BOUNDARIES)
				p[k * dims + a] = size == 0 ? centre[a]
								  : f->pure || check_below(3) > 0
									  ? place(f, a, nest, cluster)
									  : centre[a] + extent[a] * random_signed();
			else
				p[k * dims + a] = centre[a] + extent[a] * random_signed();
		if (f->place == DEPTHS && k == 1 && size > 1) /* An edge through the origin */
			for (int a = 0; a < dims; a++)
				p[k * dims + a] = -p[a];
		if (f->place == SLOPE)
			p[k * dims + f->up % dims] = f->slope * (0.3 * p[k * dims + (f->up + 1) % dims] +
													 0.7 * p[k * dims + (f->up + 2) % dims]);
	}
}

/* Transformation of all coordinates of both sets */
typedef struct magnitude
{
	double factor[3];
	double offset[3];
	int special; /* One coordinate in this many has a special value; 0 if none */
} magnitude;

static void
draw_magnitude(magnitude *m)
{
	static const int powers[] = {-1072, -1060, -1030, -700, -538, -530, -357, -350, -345,
								 341,   -340,  299,   301,  340,  511,  1000, 1021, 1022};
	int common = check_below(3) == 0 ? powers[check_below(18)] : 0;

	for (int a = 0; a < 3; a++)
	{
		m->factor[a] = ldexp(1, common);
		m->offset[a] = 0;
	}
	switch (check_below(6))
	{
		case 0: /* One axis has a very different scale, or is flat */
			m->factor[check_below(3)] = check_below(2) ? 0 : ldexp(1, powers[check_below(18)]);
			break;
		case 1:
			for (int a = 0; a < 3; a++)
				m->offset[a] = (1 << check_below(30)) * random_signed() * m->factor[a];
			break;
		case 2:
			for (int a = 0; a < 3; a++)
				m->factor[a] = ldexp(m->factor[a], -check_below(40));
			break;
		case 3: /* Lattices whose coordinates are exact, but whose products are not */
			for (int a = 0; a < 3; a++)
				m->factor[a] *= 1 + ldexp(check_below(1 << 20), -20);
			break;
	}
	m->special = check_below(5) == 0 ? 20 + check_below(2000) : 0;
}

static const double specials[] = {0.0,      -0.0,      0x1p-1074, -0x1p-1074, DBL_MIN,
								  -DBL_MIN, DBL_MAX,   -DBL_MAX,  0x1p300,    -0x1p301,
								  0x1p1023, -0x1p1023, 1,         0x1p-538};

static void
find_boxes(set *s)
{
	int width = rb_kind_width(s->o.kind), dims = dims_of(s->o.kind);

	s->box = malloc((size_t) s->o.nparts * sizeof(*s->box) + 1);
	for (uint32_t i = 0; i < s->o.nparts; i++)
	{
		const double *p = s->c + (size_t) i * width;

		for (int a = 0; a < 3; a++)
		{
			double lo = HUGE_VAL, hi = -HUGE_VAL;

			for (int k = a; k < width && a < dims; k += dims)
			{
				lo = p[k] < lo ? p[k] : lo;
				hi = p[k] > hi ? p[k] : hi;
			}
			s->box[i][a] = a < dims ? lo : 0;
			s->box[i][3 + a] = a < dims ? hi : 0;
		}
	}
}

static set
draw_set(rb_kind kind, uint32_t n, const family *f, int families, const magnitude *m, bool rows)
{
	int width = rb_kind_width(kind), dims = dims_of(kind);
	set s = {.o = {.kind = kind, .nparts = n, .nrows = n}};

	s.c = malloc((size_t) n * (size_t) width * 8 + 1);
	for (uint32_t i = 0; i < n; i++)
	{
		double *p = s.c + (size_t) i * width;
		const family *g = f + check_below(families);

		draw_object(g, kind, p);
		for (int k = 0; k < width; k++)
		{
			p[k] = p[k] * m->factor[k % dims] + m->offset[k % dims];
			if (m->special > 0 && check_below(m->special) == 0)
				p[k] = specials[check_below(sizeof(specials) / sizeof(specials[0]))];
			p[k] = p[k] != p[k] ? 0 : p[k] > DBL_MAX ? DBL_MAX : p[k] < -DBL_MAX ? -DBL_MAX : p[k];
		}
		if (g->shape == COPY && i > 0 && check_below(3) > 0)
			memcpy(p, s.c + (size_t) check_below((int) i) * width, (size_t) width * 8);
		order_box(kind, p);
	}
	if (rows)
		s.row_of = random_rows(n, 1 + check_below(12), &s.o.nrows);
	s.o.coords = s.c;
	s.o.row_of = s.row_of;
	find_boxes(&s);
	return s;
}

static void
drop(set *s)
{
	free(s->c);
	free(s->row_of);
	free(s->box);
}

/* ---- results ---- */

static bool
boxes_meet(const double *p, const double *q)
{
	return p[0] <= q[3] && q[0] <= p[3] && p[1] <= q[4] && q[1] <= p[4] && p[2] <= q[5] &&
		   q[2] <= p[5];
}

static bool
meet(const set *r, uint32_t i, const set *b, uint32_t j)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	const double *p = r->c + (size_t) i * rb_kind_width(r->o.kind);
	const double *q = b->c + (size_t) j * rb_kind_width(b->o.kind);

	switch (r->o.kind)
	{
		case RB_TRIANGLE3:
			return b->o.kind == RB_TRIANGLE3 ? rb_triangles_meet(p, q)
											 : rb_segment_triangle(&env, q, p);
		case RB_SEGMENT3:
			return rb_segment_triangle(&env, p, q);
		case RB_SEGMENT2:
			return rb_segments_meet2(&env, p, p + 2, q, q + 2);
		default:
			return true;
	}
}

typedef struct answer
{
	pair_list list;
	uint64_t candidates;
	uint64_t hits;
} answer;

static answer
all_pairs(const set *r, const set *b)
{
	const set *other = b != NULL ? b : r;
	answer a = {0};

	for (uint32_t i = 0; i < r->o.nparts; i++)
		for (uint32_t j = b != NULL ? 0 : i + 1; j < other->o.nparts; j++)
		{
			rb_pair rows = {row_of_part(&r->o, i), row_of_part(&other->o, j)};

			if (!boxes_meet(r->box[i], other->box[j]) || (b == NULL && rows.red == rows.blue))
				continue;
			a.candidates++;
			if (!meet(r, i, other, j))
				continue;
			a.hits++;
			append_pairs(&a.list, &rows, 1);
		}
	sort_distinct_pairs(&a.list);
	return a;
}

static void
one_join(const set *r, const set *b, const answer *want, long seed)
{
	static const uint32_t masks[] = {0, RB_FILTER_SIGNS, RB_EXACT_EXPANSION,
									 RB_FILTER_ALL & ~RB_FILTER_SIGNS};
	rb_memory *memory = rb_memory_create((uint64_t) 1 << 32);
	rb_job job = {.red = &r->o,
				  .blue = b != NULL ? &b->o : NULL,
				  .answer = check_below(10) == 0 ? RB_COUNT : RB_PAIRS};
	rb_context ctx;
	rb_stream *stream;
	rb_status status;
	pair_list got = {0};
	int wait = check_below(3);

	rb_context_init(&ctx, memory);
	ctx.threads = 1 + check_below(4);
	ctx.settings.grid_resolution = check_below(3) == 0 ? 1 + (uint32_t) check_below(60) : 0;
	if (check_below(4) == 0)
		ctx.filters = masks[check_below(4)];
	status = rb_stream_open(&ctx, &rb_backend_cpu, &job, &stream);
	if (status == RB_OK)
		status = read_pairs(&got, stream, wait);
	rb_stream_close(stream);
	sort_pairs(&got);
	CHECK(status == RB_END, "round %ld: %s", seed, rb_status_text(status));
	CHECK(ctx.stats.stage[RB_STAGE_EMIT].count == want->list.n, "round %ld: counted %lu, not %zu",
		  seed, (unsigned long) ctx.stats.stage[RB_STAGE_EMIT].count, want->list.n);
	CHECK(ctx.stats.stage[RB_STAGE_CANDIDATES].count == want->candidates,
		  "round %ld: %lu candidates, not %lu", seed,
		  (unsigned long) ctx.stats.stage[RB_STAGE_CANDIDATES].count,
		  (unsigned long) want->candidates);
	CHECK(ctx.stats.hits == want->hits, "round %ld: %lu hits, not %lu", seed,
		  (unsigned long) ctx.stats.hits, (unsigned long) want->hits);
	CHECK(job.answer == RB_COUNT ? got.n == 0 : same_pairs(&got, &want->list),
		  "round %ld: %zu pairs, not %zu, or other ones", seed, got.n, want->list.n);
	CHECK(rb_memory_used(memory) == 0, "round %ld: memory left", seed);
	free(got.pair);
	rb_memory_destroy(memory);
}

/* ---- crowded sets: the work stays proportional, and the result is correct ---- */

/* Builds a triangle with corners within e of c on each axis. */
static void
corners(double *t, const double c[3], const double e[3])
{
	for (int k = 0; k < 9; k++)
		t[k] = c[k % 3] + e[k % 3] * random_signed();
}

enum
{
	SCALES,      /* Equally many at every power of two, around the origin */
	MANY_SCALES, /* Like SCALES, down to the smallest numbers */
	GIANT,       /* Dense cluster below a giant that keeps the region wide */
	CROSSED,     /* Red needles along x, blue ones along y */
	PLATES,      /* As wide as the region, and thin */
	HIDDEN,      /* Long needles that a sample of fixed step misses */
	TINY,        /* Near the smallest numbers */
	LAYER,       /* One axis of denormals */
	CROWDS
};

static set
crowd(int which, uint32_t n, int side)
{
	set s = {.o = {.kind = RB_TRIANGLE3, .nparts = n, .nrows = n}, .c = malloc((size_t) n * 72)};
	double h = 0.5 * pow(n, -1 / 3.0);

	for (uint32_t i = 0; i < n; i++)
	{
		double c[3] = {random_signed(), random_signed(), random_signed()}, e[3] = {h, h, h};
		double scale = which == SCALES        ? any_scale(40)
					   : which == MANY_SCALES ? any_scale(900)
					   : which == GIANT       ? (i < 3 ? 1e9 : 1e-3)
											  : 1;
		int axis = which == CROSSED ? side : which == PLATES ? 2 : check_below(3);

		if (which == CROSSED || (which == HIDDEN && i % (n / 1024 + 1) != (n / 1024 + 1) / 2))
		{
			e[0] = e[1] = e[2] = 1.0 / n;
			e[axis] = 1;
		}
		if (which == PLATES)
			e[0] = e[1] = 1, c[0] = c[1] = 0, e[2] = 0.3 / n;
		if (which == LAYER)
			c[2] *= 1e-309, e[2] = 1e-312;
		if (which == GIANT && i < 3)
			e[0] = e[1] = e[2] = 1;
		if (which == SCALES || which == MANY_SCALES)
			e[0] = e[1] = e[2] = 3 * h;
		corners(s.c + 9 * (size_t) i, c, e);
		for (int k = 0; k < 9; k++)
			s.c[9 * (size_t) i + k] *= which == TINY ? 0x1p-1040 : scale;
	}
	s.o.coords = s.c;
	return s;
}

#ifndef RB_SMALL /* Skip these checks in the small build, whose sizes differ */
static rb_stats
count_only(const set *r, const set *b, uint32_t resolution)
{
	rb_memory *memory = rb_memory_create((uint64_t) 1 << 32);
	rb_job job = {.red = &r->o, .blue = &b->o, .answer = RB_COUNT};
	rb_context ctx;
	rb_stream *stream;
	rb_block block;
	rb_status status;

	rb_context_init(&ctx, memory);
	ctx.threads = 2;
	ctx.settings.grid_resolution = resolution;
	status = rb_stream_open(&ctx, &rb_backend_cpu, &job, &stream);
	while (status == RB_OK)
		status = rb_stream_next(stream, 100, &block);
	rb_stream_close(stream);
	CHECK(status == RB_END, "%s", rb_status_text(status));
	rb_memory_destroy(memory);
	return ctx.stats;
}

/*
 * Tests the number of box tests and incidences per object and candidate. All pairs would be tens of
 * thousands.
 */
static void
crowds_cost(void)
{
	/*
	 * Twice the observed values. Threads fill a cell in any order, so the sample that determines
	 * its cuts differs between runs, and the cost varies by a factor of 1.5. All pairs would be
	 * 50000.
	 */
	static const double most[CROWDS] = {600, 1400, 400, 20, 20, 400, 400, 100};

	for (int which = 0; which < CROWDS; which++)
	{
		uint32_t n = 100000;
		set r, b;
		rb_stats stats;
		double made, given;

		check_state = (uint64_t) which + 1;
		r = crowd(which, n, 0);
		b = crowd(which, n, 1);
		stats = count_only(&r, &b, 0);
		made = (double) stats.box_tests + (double) stats.stage[RB_STAGE_GRID].count;
		given = 2.0 * n + (double) stats.stage[RB_STAGE_CANDIDATES].count;

		CHECK(made < most[which] * given, "crowd %d: %g times the input", which, made / given);
		if (getenv("RB_TEST_VERBOSE"))
			printf("# crowd %d: %g\n", which, made / given);
		drop(&r);
		drop(&b);
	}
}
#endif

static void
crowds_meet(void)
{
	for (int which = 0; which < CROWDS; which++)
	{
		set r, b;
		answer want;

		check_state = (uint64_t) which + 1;
		r = crowd(which, 1500, 0);
		b = crowd(which, 1500, 1);
		find_boxes(&r);
		find_boxes(&b);
		want = all_pairs(&r, &b);
		CHECK(want.list.n > 0 || which == LAYER || which == TINY, "crowd %d: no pair", which);
		one_join(&r, &b, &want, which);
		free(want.list.pair);
		want = all_pairs(&r, NULL);
		one_join(&r, NULL, &want, which);
		free(want.list.pair);
		drop(&r);
		drop(&b);
	}
}

/* ---- random sets ---- */

/* Runs one round with up to `most` objects on each side. Returns the number of pairs. */
static size_t
one_round(long seed, int most)
{
	static const rb_kind kinds[][2] = {{RB_TRIANGLE3, RB_TRIANGLE3}, {RB_TRIANGLE3, RB_TRIANGLE3},
									   {RB_TRIANGLE3, RB_TRIANGLE3}, {RB_SEGMENT3, RB_TRIANGLE3},
									   {RB_TRIANGLE3, RB_SEGMENT3},  {RB_SEGMENT2, RB_SEGMENT2},
									   {RB_BOX3, RB_BOX3},           {RB_BOX2, RB_BOX2}};
	int k = check_below(8);
	int families = 1 + check_below(3);
	family f[3];
	magnitude m;
	set r, b;
	answer want;
	size_t n;

	for (int i = 0; i < 3; i++)
		draw_family(&f[i]);
	draw_magnitude(&m);
	r = draw_set(kinds[k][0], 1 + (uint32_t) check_below(most), f, families, &m,
				 check_below(4) == 0);
	if (check_below(2))
		draw_family(&f[0]);
	b = draw_set(kinds[k][1], 1 + (uint32_t) check_below(most), f, families, &m,
				 check_below(4) == 0);
	want = all_pairs(&r, &b);
	n = want.list.n;
	one_join(&r, &b, &want, seed);
	one_join(&r, &b, &want, seed);
	free(want.list.pair);
	if (kinds[k][0] == kinds[k][1])
	{
		want = all_pairs(&r, NULL);
		n += want.list.n;
		one_join(&r, NULL, &want, seed);
		free(want.list.pair);
	}
	drop(&r);
	drop(&b);
	return n;
}

static void
rounds(long n, long first, int most)
{
	const char *only = getenv("RB_TEST_SEED");
	size_t pairs = 0;
	long with = 0;

	n = check_rounds(n);
	for (long round = 0; round < n; round++)
	{
		long seed = only != NULL ? atol(only) : first + round;
		size_t k;

		check_state = (uint64_t) seed * 0x2545f4914f6cdd1du;
		k = one_round(seed, most);
		pairs += k;
		with += k > 0;
		if (only != NULL)
			break;
	}
	CHECK(only != NULL || with > n / 2, "only %ld of %ld rounds have pairs", with, n);
	printf("# %ld rounds, %ld with pairs, %zu pairs\n", n, with, pairs);
}

/*
 * Tests cases in which the error bounds of the vector stages need their last terms: products that
 * overflow individually, products and normals that lose bits to underflow, and touching triangles
 * whose products are not exact.
 */
static void
bounds(void)
{
	static const struct
	{
		int place, power;
	} where[] = {{SLOPE, 0},      {SLOPE, 341}, {SLOPE, 340},    {SLOPE, -357}, {LATTICE, -345},
				 {LATTICE, -350}, {LATTICE, 0}, {LATTICE, -530}, {DEPTHS, 0},   {DEPTHS, -8}};
	long n = check_rounds(20);

	for (int w = 0; w < (int) (sizeof(where) / sizeof(where[0])); w++)
		for (long round = 0; round < n; round++)
		{
			family f[1];
			magnitude m = {{0}, {0}, 0};
			set r, b;
			answer want;

			check_state = (uint64_t) (w * 1000 + round + 1) * 0x2545f4914f6cdd1du;
			draw_family(f);
			f->place = where[w].place;
			f->size = ALIKE;
			f->shape = FAT;
			f->largest = 4;
			f->slope = 1;
			f->pure = true;
			for (int a = 0; a < 3; a++)
				m.factor[a] = ldexp(1 + ldexp(check_below(1 << 20), -20), where[w].power);
			r = draw_set(RB_TRIANGLE3, 60, f, 1, &m, false);
			b = draw_set(RB_TRIANGLE3, 60, f, 1, &m, false);
			want = all_pairs(&r, &b);
			one_join(&r, &b, &want, w * 1000 + round);
			free(want.list.pair);
			drop(&r);
			drop(&b);
		}
}

static void
small_sets(void)
{
	rounds(300, 0, 60);
}

static void
hundreds(void)
{
	rounds(60, 1000000, 400);
}

/* Tests sets that may exceed one tile of the usual build. */
static void
thousands(void)
{
	rounds(4, 2000000, MOST);
}

int
main(void)
{
	CHECK_RUN(crowds_meet);
#ifndef RB_SMALL
	CHECK_RUN(crowds_cost);
#endif
	CHECK_RUN(bounds);
	CHECK_RUN(small_sets);
	CHECK_RUN(hundreds);
	CHECK_RUN(thousands);
	rb_memory_trim(0);
	return check_done();
}
