/*
 * lines_in_polygons.c
 *	  Tests the lengths of lines in polygons against rationals.
 *
 * The reference cuts each segment where it meets the lines of all edges, and tests the middle of each piece. Nearly all pairs are
 * degenerate: lines through vertices, along edges, in holes, ends on the border.
 */
#include "core/plane/plane.h"

#include <gmp.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "fixtures.h"
#include "is_nearest.h"
#include "naive.h"

#define ROWS 8
#define MOST_POINTS 24

static rb_memory *memory;
static rb_context ctx;

/* A polygon of at most two rings, or a line */
typedef struct shape
{
	int n[2];
	double at[2][MOST_POINTS][2];
} shape;

/* Appends the parts of a shape to the row under construction. */
static void
add_parts(rb_builder *b, const shape *s, int64_t id)
{
	rb_error error;

	for (int k = 0; k < 2 && s->n[k] > 0; k++)
	{
		const bool ring = b->kind == RB_EDGE2;
		const int marks = !ring ? 0 : k == 0 ? RB_MARKS_OF_SHELL : RB_MARKS_OF_HOLE;

		rb_builder_reserve(b, MOST_POINTS + RB_MARKS_OF_SHELL, &error);
		for (int i = 0; i < marks + s->n[k] - !ring; i++)
		{
			const int from = i < marks ? 0 : i - marks, to = i < marks ? 0 : (from + 1) % s->n[k];
			double *e = b->coords + 4 * (size_t) b->nparts++;

			memcpy(e, s->at[k][from], 2 * sizeof *e);
			memcpy(e + 2, s->at[k][to], 2 * sizeof *e);
			if (ring && i >= marks && rb_is_mark(e))
				b->nparts--;
		}
	}
	rb_builder_end_row(b, id, &error);
}

static const rb_set *
build_shapes(rb_kind kind, const shape *s, int n)
{
	const rb_set *set = NULL;
	rb_builder b;
	rb_error error;

	rb_builder_init(&b, memory, kind);
	for (int i = 0; i < n; i++)
		add_parts(&b, &s[i], 100 + i);
	CHECK(rb_builder_finish(&b, &set, &error) == RB_OK, "no set");
	rb_builder_free(&b);
	return set;
}

/* ---- the reference ---- */

static int
compare_rationals(const void *a, const void *b)
{
	return mpq_cmp(*(const mpq_t *) a, *(const mpq_t *) b);
}

/* Sets r to (b - a) x (p - a), where a and b are doubles. */
static void
find_turn(mpq_t r, const double *a, const double *b, mpq_t *p)
{
	mpq_t x, y, z;

	mpq_inits(x, y, z, NULL);
	for (int k = 0; k < 2; k++)
	{
		mpq_set_d(x, b[k]);
		mpq_set_d(y, a[k]);
		mpq_sub(x, x, y);
		mpq_set_d(y, a[1 - k]);
		mpq_sub(y, p[1 - k], y);
		mpq_mul(x, x, y);
		if (k == 0)
			mpq_set(z, x);
	}
	mpq_sub(r, z, x);
	mpq_clears(x, y, z, NULL);
}

/* Returns true if p is in the closed polygon. */
static bool
is_inside(const shape *s, mpq_t *p)
{
	mpq_t turn, low, high;
	bool inside = false, on = false;

	mpq_inits(turn, low, high, NULL);
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < s->n[k]; i++)
		{
			const double *a = s->at[k][i], *b = s->at[k][(i + 1) % s->n[k]];
			bool within = true;
			int below[2];

			find_turn(turn, a, b, p);
			for (int c = 0; c < 2; c++)
			{
				mpq_set_d(low, fmin(a[c], b[c]));
				mpq_set_d(high, fmax(a[c], b[c]));
				within = within && mpq_cmp(p[c], low) >= 0 && mpq_cmp(p[c], high) <= 0;
			}
			on = on || (within && mpq_sgn(turn) == 0);
			mpq_set_d(low, a[1]);
			mpq_set_d(high, b[1]);
			below[0] = mpq_cmp(low, p[1]) <= 0;
			below[1] = mpq_cmp(high, p[1]) <= 0;
			if (below[0] != below[1] && (mpq_sgn(turn) > 0) == (below[0] == 1))
				inside = !inside;
		}
	mpq_clears(turn, low, high, NULL);
	return inside || on;
}

static mpq_t cuts[4 * MOST_POINTS + 2];

/* Computes the share of a segment. */
static void
find_share(mpq_t share, const double *u, const double *v, const shape *s)
{
	mpq_t p[2], d[2], x, y;
	int n = 0;

	mpq_inits(p[0], p[1], d[0], d[1], x, y, NULL);
	mpq_set_ui(cuts[n++], 0, 1);
	mpq_set_ui(cuts[n++], 1, 1);
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < s->n[k]; i++)
		{
			const double *a = s->at[k][i], *b = s->at[k][(i + 1) % s->n[k]];
			const int c = u[0] == v[0];

			/* Where the line of the edge meets the segment, and the projection of the vertex */
			mpq_set_d(p[0], u[0]);
			mpq_set_d(p[1], u[1]);
			find_turn(x, a, b, p);
			mpq_set_d(p[0], v[0]);
			mpq_set_d(p[1], v[1]);
			find_turn(y, a, b, p);
			if (!mpq_equal(x, y))
			{
				mpq_sub(y, x, y);
				mpq_div(cuts[n++], x, y);
			}
			mpq_set_d(x, a[c]);
			mpq_set_d(y, u[c]);
			mpq_sub(x, x, y);
			mpq_set_d(d[0], v[c]);
			mpq_sub(d[0], d[0], y);
			mpq_div(cuts[n++], x, d[0]);
		}
	qsort(cuts, (size_t) n, sizeof *cuts, compare_rationals);
	mpq_set_ui(share, 0, 1);
	for (int k = 0; k < 2; k++)
	{
		mpq_set_d(d[k], v[k]);
		mpq_set_d(x, u[k]);
		mpq_sub(d[k], d[k], x);
	}
	for (int i = 1; i < n; i++)
	{
		if (mpq_sgn(cuts[i - 1]) < 0 || mpq_cmp_ui(cuts[i], 1, 1) > 0 ||
			mpq_equal(cuts[i], cuts[i - 1]))
			continue;
		mpq_add(y, cuts[i], cuts[i - 1]);
		mpq_div_2exp(y, y, 1);
		for (int k = 0; k < 2; k++)
		{
			mpq_mul(x, d[k], y);
			mpq_set_d(p[k], u[k]);
			mpq_add(p[k], p[k], x);
		}
		if (!is_inside(s, p))
			continue;
		mpq_sub(x, cuts[i], cuts[i - 1]);
		mpq_add(share, share, x);
	}
	mpq_clears(p[0], p[1], d[0], d[1], x, y, NULL);
}

/* Returns true if a rational is a square, and sets it to its root. */
static bool
find_rational_root(mpq_t x)
{
	if (!mpz_perfect_square_p(mpq_numref(x)) || !mpz_perfect_square_p(mpq_denref(x)))
		return false;
	mpz_sqrt(mpq_numref(x), mpq_numref(x));
	mpz_sqrt(mpq_denref(x), mpq_denref(x));
	return true;
}

/*
 * Computes the length of a line in a polygon, to thousands of bits. Returns true if it is rational, and
 * sets *exact.
 */
static bool
find_length(mpf_t length, mpq_t exact, const shape *line, const shape *s)
{
	mpq_t share, square, x;
	mpf_t root, f;
	bool rational = true;

	mpq_inits(share, square, x, NULL);
	mpf_init2(root, 8192);
	mpf_init2(f, 8192);
	mpf_set_ui(length, 0);
	mpq_set_ui(exact, 0, 1);
	for (int i = 0; i + 1 < line->n[0]; i++)
	{
		const double *u = line->at[0][i], *v = line->at[0][i + 1];

		if (u[0] == v[0] && u[1] == v[1])
			continue;
		find_share(share, u, v, s);
		mpq_set_ui(square, 0, 1);
		for (int k = 0; k < 2; k++)
		{
			mpq_t y;

			mpq_init(y);
			mpq_set_d(x, v[k]);
			mpq_set_d(y, u[k]);
			mpq_sub(x, x, y);
			mpq_mul(x, x, x);
			mpq_add(square, square, x);
			mpq_clear(y);
		}
		mpf_set_q(root, square);
		mpf_sqrt(root, root);
		mpf_set_q(f, share);
		mpf_mul(f, f, root);
		mpf_add(length, length, f);
		if (mpq_sgn(share) == 0)
			continue;
		rational = rational && find_rational_root(square);
		mpq_mul(square, square, share);
		mpq_add(exact, exact, square);
	}
	mpq_clears(share, square, x, NULL);
	mpf_clear(root);
	mpf_clear(f);
	return rational;
}

/* ---- joins ---- */

typedef struct lengths
{
	double of[ROWS][ROWS];
	pthread_mutex_t lock;
} lengths;

static rb_status
put_length(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	lengths *a = user;

	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < n; i++)
		memcpy(&a->of[rows[i].red][rows[i].blue], &payload[i], sizeof payload[i]);
	pthread_mutex_unlock(&a->lock);
	return RB_OK;
}

static rb_status
join_lengths(lengths *a, const rb_set *lines, const rb_set *polygons, int threads)
{
	const rb_job job = {.red = lines, .blue = polygons, .predicate = RB_LENGTH};
	const rb_row_sink sink = {put_length, a};
	rb_status status;

	memset(a->of, 0, sizeof a->of);
	pthread_mutex_init(&a->lock, NULL);
	ctx.threads = threads;
	status = rb_compose_lengths(&ctx, &rb_backend_cpu, &job, &sink);
	pthread_mutex_destroy(&a->lock);
	ctx.threads = 1;
	return status;
}

/* Makes a polygon, until it is valid. */
static void
make_polygon(shape *s, int size, double scale)
{
	bool good;

	do
	{
		const rb_set *set;
		double area;

		memset(s, 0, sizeof *s);
		if (check_below(3) == 0)
		{
			const double x = check_below(size), y = check_below(size);
			const double frame[4][2] = {{x, y}, {x + 3, y}, {x + 3, y + 3}, {x, y + 3}};

			s->n[0] = 4;
			memcpy(s->at[0], frame, sizeof frame);
			s->n[1] = 3;
			for (int i = 0; i < 3; i++)
			{
				s->at[1][i][0] = x + check_below(4);
				s->at[1][i][1] = y + check_below(4);
			}
		}
		else
		{
			s->n[0] = 3 + check_below(5);
			for (int i = 0; i < s->n[0]; i++)
				for (int k = 0; k < 2; k++)
					s->at[0][i][k] = check_below(size + 3);
		}
		for (int k = 0; k < 2; k++)
			for (int i = 0; i < s->n[k]; i++)
				for (int c = 0; c < 2; c++)
					s->at[k][i][c] *= scale;
		set = build_shapes(RB_EDGE2, s, 1);
		good = rb_area_measure(&ctx, set, set, &area) == RB_OK;
		rb_set_release(&set);
		rb_context_init(&ctx, memory);
	} while (!good);
}

static void
compare_lengths(long rounds, int size, double scale)
{
	static shape lines[ROWS], polygons[ROWS];
	static lengths one, other;
	mpf_t length;
	mpq_t exact;

	mpf_init2(length, 8192);
	mpq_init(exact);
	for (long round = 0; round < rounds; round++)
	{
		const rb_set *sets[2];

		memset(lines, 0, sizeof lines);
		for (int i = 0; i < ROWS; i++)
		{
			make_polygon(&polygons[i], size, scale);
			lines[i].n[0] = 2 + check_below(6);
			for (int k = 0; k < lines[i].n[0]; k++)
				for (int c = 0; c < 2; c++)
					lines[i].at[0][k][c] = scale * check_below(size + 3);
		}
		/* A line along a border */
		memcpy(lines[0].at[0], polygons[0].at[0], sizeof lines[0].at[0]);
		lines[0].n[0] = polygons[0].n[0];
		sets[0] = build_shapes(RB_SEGMENT2, lines, ROWS);
		sets[1] = build_shapes(RB_EDGE2, polygons, ROWS);
		CHECK(join_lengths(&one, sets[0], sets[1], 1) == RB_OK, "%s", ctx.error.text);
		CHECK(join_lengths(&other, sets[0], sets[1], 7) == RB_OK, "%s", ctx.error.text);
		CHECK(memcmp(one.of, other.of, sizeof one.of) == 0, "other lengths on 7 threads");
		for (int i = 0; i < ROWS; i++)
			for (int k = 0; k < ROWS; k++)
			{
				const bool rational = find_length(length, exact, &lines[i], &polygons[k]);

				CHECK((mpf_sgn(length) > 0) == (one.of[i][k] != 0), "%.17g instead of %.17g",
					  one.of[i][k], mpf_get_d(length));
				/* A rational length may be in the middle of two doubles. */
				CHECK(mpf_sgn(length) == 0 || (rational ? is_nearest_above_zero(one.of[i][k], exact)
														: naive_is_nearest(one.of[i][k], length)),
					  "%.17g instead of %.17g", one.of[i][k], mpf_get_d(length));
			}
		rb_set_release(&sets[0]);
		rb_set_release(&sets[1]);
	}
	mpf_clear(length);
	mpq_clear(exact);
}

static void
lattices(void)
{
	compare_lengths(check_rounds(60), 3, 1);
	compare_lengths(check_rounds(30), 7, 1);
}

static void
rounded_coordinates(void)
{
	compare_lengths(check_rounds(30), 5, 0.1);
	compare_lengths(check_rounds(30), 5, 1e-160);
	compare_lengths(check_rounds(30), 5, 1e200);
}

static void
little_memory_and_stop(void)
{
	static shape polygons[ROWS];
	static lengths a;
	rb_status status;
	size_t limit = 1 << 10;

	for (int i = 0; i < ROWS; i++)
		make_polygon(&polygons[i], 4, 1);
	do
	{
		rb_memory *little = rb_memory_create(limit);
		const rb_set *sets[2] = {build_shapes(RB_SEGMENT2, polygons, ROWS),
								 build_shapes(RB_EDGE2, polygons, ROWS)};

		rb_context_init(&ctx, little);
		status = join_lengths(&a, sets[0], sets[1], 2);
		CHECK(status == RB_OK || status == RB_OVER_BUDGET, "status %d", (int) status);
		CHECK(rb_memory_used(little) == 0, "memory is left");
		rb_memory_destroy(little);
		rb_context_init(&ctx, memory);
		rb_context_stop(&ctx);
		CHECK(join_lengths(&a, sets[0], sets[1], 2) == RB_STOPPED, "not stopped");
		rb_context_init(&ctx, memory);
		rb_set_release(&sets[0]);
		rb_set_release(&sets[1]);
		limit += limit / 5;
	} while (status != RB_OK && limit < 1u << 30);
	CHECK(status == RB_OK, "status %d", (int) status);
}

int
main(void)
{
	for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
		mpq_init(cuts[i]);
	memory = rb_memory_create(UINT64_MAX);
	rb_context_init(&ctx, memory);
	CHECK_RUN(lattices);
	CHECK_RUN(rounded_coordinates);
	CHECK_RUN(little_memory_and_stop);
	CHECK(rb_memory_used(memory) == 0, "left behind");
	rb_memory_destroy(memory);
	return check_done();
}
