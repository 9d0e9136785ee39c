/*
 * cpu_join_kinds.c
 *	  Tests the join of every kind against brute force: boxes and segments use the same grid as
 *	  triangles and differ only in the test of a pair.
 */
#include "fixtures.h"
#include "core/base/redblue.h"
#include "core/primitive/box.h"
#include "core/join/cpu_backend.h"
#include "core/primitive/triangle.h"

#include <math.h>
#include <string.h>

typedef struct set
{
	rb_set o;
	double *c;
	uint32_t *row_of;
} set;

/*
 * Builds n objects. If side > 0, corners lie on a lattice of that side; otherwise objects are
 * random, of the given size.
 */
static set
make(rb_kind kind, uint32_t n, int side, double size, int most_parts)
{
	set s;
	int width = rb_kind_width(kind);
	int dims = rb_kind_dims(kind);
	uint32_t nrows;

	s.c = malloc((size_t) (n + 1) * (size_t) width * 8);
	for (uint32_t i = 0; i < n; i++)
	{
		double *p = s.c + (size_t) i * width;
		double centre[3] = {random_signed(), random_signed(), random_signed()};
		double scale = check_below(20) == 0 ? 20 * size : size; /* A few large ones */

		for (int k = 0; k < width; k++)
			p[k] = side > 0 ? check_below(side) : centre[k % dims] + scale * random_signed();
		order_box(kind, p);
	}
	s.row_of = random_rows(n, most_parts, &nrows);
	s.o = (rb_set){.kind = kind, .nparts = n, .nrows = nrows, .coords = s.c, .row_of = s.row_of};
	return s;
}

static bool
meet(const set *r, uint32_t i, const set *b, uint32_t j)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	const double *p = r->c + (size_t) i * rb_kind_width(r->o.kind);
	const double *q = b->c + (size_t) j * rb_kind_width(b->o.kind);
	int dims = r->o.kind == RB_BOX2 ? 2 : 3;

	switch (r->o.kind)
	{
		case RB_TRIANGLE3:
			return rb_segment_triangle(&env, q, p);
		case RB_SEGMENT3:
			return rb_segment_triangle(&env, p, q);
		case RB_SEGMENT2:
			return rb_segments_meet2(&env, p, p + 2, q, q + 2);
		default:
			for (int a = 0; a < dims; a++)
				if (p[a] > q[dims + a] || q[a] > p[dims + a])
					return false;
			return true;
	}
}

/* Compares the join with brute force. Returns the incidences of the planned grid. */
static uint64_t
agree(const set *r, const set *b)
{
	uint64_t incidences = 0;

	static const int resolution[] = {0, 1, 40};
	const set *other = b != NULL ? b : r;
	pair_list want = {0};

	for (uint32_t i = 0; i < r->o.nparts; i++)
		for (uint32_t j = b != NULL ? 0 : i + 1; j < other->o.nparts; j++)
		{
			rb_pair rows = {row_of_part(&r->o, i), row_of_part(&other->o, j)};

			if ((b != NULL || rows.red != rows.blue) && meet(r, i, other, j))
				append_pairs(&want, &rows, 1);
		}
	sort_distinct_pairs(&want);
	CHECK(want.n > 0, "no pair meets");
	for (int s = 0; s < 3; s++)
	{
		rb_memory *memory = rb_memory_create((uint64_t) 1 << 32);
		rb_context ctx;
		rb_job job = {.red = &r->o, .blue = b != NULL ? &b->o : NULL, .answer = RB_PAIRS};
		rb_stream *stream;
		pair_list got = {0};
		rb_status status;

		rb_context_init(&ctx, memory);
		ctx.threads = 2;
		ctx.settings.grid_resolution = resolution[s];
		status = rb_stream_open(&ctx, &rb_backend_cpu, &job, &stream);
		if (status == RB_OK)
			status = read_pairs(&got, stream, 10);
		rb_stream_close(stream);
		CHECK(status == RB_END && got.n == want.n, "%s, %zu pairs, not %zu", rb_status_text(status),
			  got.n, want.n);
		sort_pairs(&got);
		CHECK(got.n != want.n || same_pairs(&got, &want), "other pairs");
		CHECK(rb_memory_used(memory) == 0, "memory left");
		if (s == 0)
			incidences = ctx.stats.stage[RB_STAGE_GRID].count;
		free(got.pair);
		rb_memory_destroy(memory);
	}
	free(want.pair);
	return incidences;
}

static void
try(rb_kind red, rb_kind blue)
{
	static const struct
	{
		uint32_t n;
		int side;
		double size;
		int parts;
	} family[] = {
		{300, 4, 0, 1}, {2500, 0, 0.03, 1}, {800, 0, 0.1, 6}, {500, 3, 0, 3}, {40, 0, 1, 1}};

	for (int f = 0; f < 5; f++)
	{
		set r = make(red, family[f].n, family[f].side, family[f].size, family[f].parts);
		set b = make(blue, family[f].n, family[f].side, family[f].size, family[f].parts);

		agree(&r, &b);
		if (red == blue)
			agree(&r, NULL);
		free_side(&r.o);
		free_side(&b.o);
	}
}

/*
 * Tests a few objects against many, most of which are dropped early. The few are at corners of the
 * others, an adjacent double away from them, at -0, with one that covers everything, or all in one
 * corner of space.
 */
static void
sparse(rb_kind red, rb_kind blue)
{
	for (int round = 0; round < 6; round++)
	{
		const int n = 3000;
		set many = make(red, n, 0, 0.001, 1);
		set few = make(blue, 40, 0, 0, 1);
		int width = rb_kind_width(blue), from = rb_kind_width(red);
		int dims = rb_kind_dims(red);
		uint64_t incidences;

		for (int k = 0; k < n * from && round % 2 == 0; k++)
			many.c[k] = rint(many.c[k] * 1024) / 1024;
		for (uint32_t i = 0; i < few.o.nparts; i++)
		{
			double *p = few.c + (size_t) i * (size_t) width;
			const double *q = many.c + (size_t) check_below(n) * (size_t) from;
			int corner = check_below(from / dims) * dims;
			int how = check_below(3);

			while (round % 3 == 1 && (q[0] < 0.5 || q[1] < 0.5))
				q = many.c + (size_t) check_below(n) * (size_t) from;
			for (int k = 0; k < width; k++)
			{
				double x = q[corner + k % dims];

				/* The first point is near that corner, the others further out. */
				x = how == 0 ? x : nextafter(x, how == 1 ? 9 : -9);
				p[k] = k < dims ? x : x + 0.001 * (1 + check_below(4));
				if (p[k] == 0 && check_below(2))
					p[k] = -p[k];
				if (i == 0 && round == 2)
					p[k] = (k < dims ? -2 : 2) * (k / dims == 2 && k % dims == 0 ? -1 : 1);
			}
		}
		incidences = agree(&many, &few);
		/* Without an object that covers everything, most of the many are in no grid at all. */
		CHECK(round == 2 || incidences < 1500, "%lu incidences", (unsigned long) incidences);
		agree(&few, &many);
		free_side(&many.o);
		free_side(&few.o);
	}
}

static void
sparse_segments_and_triangles(void)
{
	sparse(RB_SEGMENT3, RB_TRIANGLE3);
	sparse(RB_TRIANGLE3, RB_SEGMENT3);
}

static void
sparse_segments_of_the_plane(void)
{
	sparse(RB_SEGMENT2, RB_SEGMENT2);
}

static void
sparse_boxes(void)
{
	sparse(RB_BOX3, RB_BOX3);
	sparse(RB_BOX2, RB_BOX2);
}

/* Tests that an occupancy bitmap contains a box if and only if some cell of it is marked. */
static void
occupancy(void)
{
	const long rounds = check_rounds(300);
	long held = 0, not = 0;

	for (long round = 0; round < rounds; round++)
	{
		const uint32_t n[3] = {1 + (uint32_t) check_below(200), 1 + (uint32_t) check_below(30),
							   1 + (uint32_t) check_below(5)};
		const double lo[3] = {-1, -1, -1}, hi[3] = {1, 1, 1};
		rb_occupancy s;
		bool *cell;
		size_t words;

		rb_grid_init(&s.grid, lo, hi, n);
		words = rb_occupancy_words(&s.grid);
		s.word = calloc(words, sizeof(uint64_t));
		cell = calloc(words * 64, sizeof(bool));
		for (int i = 0; i < 60; i++)
		{
			double from[3], to[3], size = i % 10 == 0 ? 1 : 0.02;
			rb_range r;
			bool mark = i < 20, any = false;

			for (int a = 0; a < 3; a++)
			{
				from[a] = 1.2 * random_signed();
				to[a] = from[a] + size * fabs(random_signed());
			}
			for (int a = 0; a < 3; a++)
			{
				r.c0[a] = rb_grid_cell(&s.grid, a, from[a]);
				r.c1[a] = rb_grid_cell(&s.grid, a, to[a]);
			}
			if (mark)
				rb_occupancy_mark(&s, &r);
			for (uint32_t z = rb_grid_cell(&s.grid, 2, from[2]);
				 z <= rb_grid_cell(&s.grid, 2, to[2]); z++)
				for (uint32_t y = rb_grid_cell(&s.grid, 1, from[1]);
					 y <= rb_grid_cell(&s.grid, 1, to[1]); y++)
					for (uint32_t x = rb_grid_cell(&s.grid, 0, from[0]);
						 x <= rb_grid_cell(&s.grid, 0, to[0]); x++)
					{
						bool *it = &cell[rb_grid_number(&s.grid, x, y, z)];

						any |= *it;
						*it |= mark;
					}
			if (mark)
				continue;
			CHECK(rb_occupancy_holds(&s, &r) == any, "%d", any);
			held += any;
			not += !any;
		}
		for (size_t i = 0; i < words * 64; i++)
			CHECK((s.word[i / 64] >> i % 64 & 1) == cell[i], "cell %zu", i);
		free(s.word);
		free(cell);
	}
	CHECK(held > rounds && not > rounds, "%ld held, %ld not", held, not );
}

static void
segments_and_triangles(void)
{
	try(RB_SEGMENT3, RB_TRIANGLE3);
}

static void
triangles_and_segments(void)
{
	try(RB_TRIANGLE3, RB_SEGMENT3);
}

static void
segments_of_the_plane(void)
{
	try(RB_SEGMENT2, RB_SEGMENT2);
}

static void
boxes_of_space(void)
{
	try(RB_BOX3, RB_BOX3);
}

static void
boxes_of_the_plane(void)
{
	try(RB_BOX2, RB_BOX2);
}

int
main(void)
{
	CHECK_RUN(segments_and_triangles);
	CHECK_RUN(triangles_and_segments);
	CHECK_RUN(segments_of_the_plane);
	CHECK_RUN(boxes_of_space);
	CHECK_RUN(boxes_of_the_plane);
	CHECK_RUN(occupancy);
	CHECK_RUN(sparse_segments_and_triangles);
	CHECK_RUN(sparse_segments_of_the_plane);
	CHECK_RUN(sparse_boxes);
	return check_done();
}
