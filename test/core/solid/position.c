/*
 * position.c
 *	  Tests the positions of points, lines, surfaces and solids relative to solids, with solids made
 *	  of unit cubes.
 *
 * If the cubes of a grid are known, so is the position of each point: inside if all cubes around it
 * are filled, outside if none is, and otherwise on the boundary. An object is clipped by all planes
 * of the grid, and one point of each piece is tested. Coordinates of objects are multiples of one
 * half, so pieces other than points are much larger than the rounding errors here. Finally an
 * integer matrix shears everything, so that nothing is parallel to an axis.
 */
#include "check.h"
#include "core/base/redblue.h"
#include "core/solid/solid.h"
#include "core/set/set.h"

#include <math.h>
#include <string.h>

/* Bits for the parts of an object that exist: inside, outside, on the boundary */
#define SOME_INSIDE 1u
#define SOME_OUTSIDE 2u
#define SOME_ON 4u

#define GRID 3
#define CELLS (GRID * GRID * GRID)
#define MOST 64 /* Maximum number of corners of a clipped polygon */
#define SMALL 1e-9

static rb_memory *memory;

/* ---- cubes ---- */

typedef struct cubes
{
	bool filled[GRID][GRID][GRID];
} cubes;

static bool
is_filled(const cubes *c, int x, int y, int z)
{
	return x >= 0 && y >= 0 && z >= 0 && x < GRID && y < GRID && z < GRID && c->filled[x][y][z];
}

static int
count_cubes(const cubes *c)
{
	const bool *at = &c->filled[0][0][0];
	int n = 0;

	for (int i = 0; i < CELLS; i++)
		n += at[i];
	return n;
}

static void
random_cubes(cubes *c)
{
	const uint64_t share = 1 + check_below(9);

	do
		for (int i = 0; i < CELLS; i++)
			(&c->filled[0][0][0])[i] = (uint64_t) check_below(10) < share;
	while (count_cubes(c) == 0);
}

static unsigned
what_is(const cubes *c, const double p[3])
{
	int around = 0, filled = 0;

	for (int i = 0; i < 8; i++)
	{
		int cell[3];
		bool there = true;

		for (int a = 0; a < 3; a++)
		{
			const double near = nearbyint(p[a]);

			cell[a] = (int) floor(p[a]);
			if (fabs(p[a] - near) < SMALL)
				cell[a] = (int) near - (i >> a & 1);
			else if (i >> a & 1)
				there = false;
		}
		if (!there)
			continue;
		around++;
		filled += is_filled(c, cell[0], cell[1], cell[2]);
	}
	return filled == around ? SOME_INSIDE : filled == 0 ? SOME_OUTSIDE : SOME_ON;
}

/* ---- objects, divided into pieces ---- */

typedef struct polygon
{
	double at[MOST][3];
	int n;
} polygon;

/* Clips a polygon to coordinates up to x (sign 1) or from x on (-1). */
static void
clip(const polygon *from, int axis, double x, int sign, polygon *to)
{
	to->n = 0;
	for (int i = 0; i < from->n; i++)
	{
		const double *p = from->at[i], *q = from->at[(i + 1) % from->n];
		const double dp = sign * (p[axis] - x), dq = sign * (q[axis] - x);

		if (dp <= SMALL)
			memcpy(to->at[to->n++], p, sizeof to->at[0]);
		if ((dp < -SMALL && dq > SMALL) || (dp > SMALL && dq < -SMALL))
		{
			for (int a = 0; a < 3; a++)
				to->at[to->n][a] = p[a] + (q[a] - p[a]) * dp / (dp - dq);
			to->at[to->n++][axis] = x;
		}
	}
}

static double
distance_of(const double *p, const double *q)
{
	return sqrt((p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1]) +
				(p[2] - q[2]) * (p[2] - q[2]));
}

/* Returns the size of a polygon in this number of dimensions. */
static double
size_of(const polygon *g, int dimensions)
{
	double area[3] = {0, 0, 0}, length = 0;

	if (dimensions == 0)
		return 1;
	for (int i = 1; i < g->n; i++)
	{
		const double *p = g->at[i], *q = g->at[(i + 1) % g->n];

		for (int a = 0; a < 3; a++)
		{
			const int b = (a + 1) % 3, c = (a + 2) % 3;

			area[a] += (p[b] - g->at[0][b]) * (q[c] - g->at[0][c]) -
					   (p[c] - g->at[0][c]) * (q[b] - g->at[0][b]);
		}
		length = fmax(length, distance_of(g->at[0], p));
	}
	return dimensions == 1 ? length : fabs(area[0]) + fabs(area[1]) + fabs(area[2]);
}

static unsigned
pieces_are(const cubes *c, const polygon *g, int dimensions, int axis, int plane)
{
	double middle[3] = {0, 0, 0};
	polygon half;
	unsigned some = 0;

	if (g->n == 0 || size_of(g, dimensions) < SMALL)
		return 0;
	if (axis == 3)
	{
		for (int i = 0; i < g->n; i++)
			for (int a = 0; a < 3; a++)
				middle[a] += g->at[i][a] / g->n;
		return what_is(c, middle);
	}
	if (plane > GRID)
		return pieces_are(c, g, dimensions, axis + 1, 0);
	for (int sign = 1; sign >= -1; sign -= 2)
	{
		clip(g, axis, plane, sign, &half);
		some |= sign == 1 ? pieces_are(c, &half, dimensions, axis + 1, 0)
						  : pieces_are(c, &half, dimensions, axis, plane + 1);
	}
	return some;
}

/* Computes the position of a point, a segment, or a triangle that may have no area. */
static unsigned
truth_of(const cubes *c, const double *points, int n)
{
	polygon g = {.n = n};
	int dimensions = 0;

	memcpy(g.at, points, (size_t) n * sizeof g.at[0]);
	for (int k = n - 1; k > 0 && dimensions == 0; k--)
		if (size_of(&g, k) > SMALL)
			dimensions = k;
	if (dimensions == 1 && n == 3)
	{
		/* Longest side of the triangle */
		int best = 0;

		for (int i = 1; i < 3; i++)
			if (distance_of(g.at[i], g.at[(i + 1) % 3]) >
				distance_of(g.at[best], g.at[(best + 1) % 3]))
				best = i;
		memcpy(g.at[0], points + 3 * best, sizeof g.at[0]);
		memcpy(g.at[1], points + 3 * ((best + 1) % 3), sizeof g.at[0]);
	}
	g.n = dimensions + 1;
	return pieces_are(c, &g, dimensions, 0, 0);
}

static int
position_of(unsigned some)
{
	if ((some & SOME_INSIDE) == 0)
		return some & SOME_OUTSIDE ? RB_LIES_OUTSIDE : RB_LIES_ON;
	return some & SOME_OUTSIDE ? RB_LIES_CROSSING : RB_LIES_INSIDE;
}

/* ---- sets ---- */

/* Transformation to the final coordinates: an integer matrix and a translation, both exact */
typedef struct placing
{
	double by[3][3];
	double add[3];
} placing;

static placing
random_placing(void)
{
	static const double scales[] = {1, 0x1p-40, 0x1p200, 0x1p-300};
	placing p;
	double det;

	do
	{
		for (int i = 0; i < 9; i++)
			p.by[i / 3][i % 3] = (double) check_below(7) - 3;
		det = 0;
		for (int a = 0; a < 3; a++)
			det += p.by[0][a] * (p.by[1][(a + 1) % 3] * p.by[2][(a + 2) % 3] -
								 p.by[1][(a + 2) % 3] * p.by[2][(a + 1) % 3]);
	} while (det == 0);
	if (check_below(3) == 0)
		memcpy(p.by, (double[3][3]){{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, sizeof p.by);
	for (int a = 0; a < 3; a++)
		p.add[a] = check_below(2) ? 0 : a == 1 ? 5400000 : 500000;
	if (p.add[0] == 0 && p.add[1] == 0 && p.add[2] == 0)
	{
		const double scale = scales[check_below(4)];

		for (int i = 0; i < 9; i++)
			p.by[i / 3][i % 3] *= scale;
	}
	return p;
}

static void
put_point(const placing *by, const double *p, double *to)
{
	for (int a = 0; a < 3; a++)
		to[a] = by->by[a][0] * p[0] + by->by[a][1] * p[1] + by->by[a][2] * p[2] + by->add[a];
}

static void
add_part(rb_builder *b, const placing *by, const double *points)
{
	rb_error error;
	double *to;

	CHECK(rb_builder_reserve(b, 1, &error) == RB_OK, "no room");
	to = b->coords + (size_t) b->nparts * (size_t) b->width;
	for (int i = 0; i < b->width / 3; i++)
		put_point(by, points + 3 * i, to + 3 * i);
	b->nparts++;
}

/* Adds the faces between filled and empty cubes, each as two triangles. */
static void
add_cubes(rb_builder *b, const placing *by, const cubes *c)
{
	for (int i = 0; i < CELLS * 6; i++)
	{
		const int cell[3] = {i / 6 % GRID, i / 6 / GRID % GRID, i / 6 / GRID / GRID};
		const int axis = i % 3, side = i % 6 / 3, u = (axis + 1) % 3, v = (axis + 2) % 3;
		const int turn = (int) check_below(2);
		int next[3] = {cell[0], cell[1], cell[2]};
		double corner[4][3], t[9];

		next[axis] += side ? 1 : -1;
		if (!is_filled(c, cell[0], cell[1], cell[2]) || is_filled(c, next[0], next[1], next[2]))
			continue;
		for (int k = 0; k < 4; k++)
		{
			for (int a = 0; a < 3; a++)
				corner[k][a] = cell[a];
			corner[k][axis] += side;
			corner[k][side ? u : v] += k == 1 || k == 2;
			corner[k][side ? v : u] += k == 2 || k == 3;
		}
		for (int k = 0; k < 2; k++)
		{
			memcpy(t, corner[turn], sizeof corner[0]);
			memcpy(t + 3, corner[(turn + 1 + k) % 4], sizeof corner[0]);
			memcpy(t + 6, corner[(turn + 2 + k) % 4], sizeof corner[0]);
			add_part(b, by, t);
		}
	}
}

static const rb_set *
finish(rb_builder *b)
{
	const rb_set *set = NULL;
	rb_error error;

	CHECK(rb_builder_finish(b, &set, &error) == RB_OK, "no set");
	rb_builder_free(b);
	return set;
}

static void
end_row(rb_builder *b, int64_t id)
{
	rb_error error;

	CHECK(rb_builder_end_row(b, id, &error) == RB_OK, "no row");
}

static const rb_set *
solid_of(const placing *by, const cubes *c)
{
	rb_builder b;

	rb_builder_init(&b, memory, RB_TRIANGLE3);
	add_cubes(&b, by, c);
	end_row(&b, 1);
	return finish(&b);
}

/* Returns random points with multiples of one half, mostly on planes of the grid. */
static void
random_points(double *points, int n)
{
	const uint64_t finest = 1 + check_below(2);
	const int plane = check_below(3) == 0 ? (int) check_below(3) : -1;
	const double at = (double) check_below(GRID + 1);

	/* Half of the objects are small. */
	const bool small = check_below(2) == 0;

	for (int i = 0; i < 3 * n; i++)
		if (i % 3 == plane)
			points[i] = at;
		else if (small && i >= 3)
			points[i] = points[i % 3] + ((double) check_below(3) - 1) / 2;
		else
			points[i] =
				((double) check_below((GRID + 2) * finest + 1) - (double) finest) / (double) finest;
	if (check_below(8) == 0 && n > 1)
		memcpy(points, points + 3, 3 * sizeof *points);
}

static int
ask(const rb_set *red, rb_placed *red_known, const rb_set *blue, rb_placed *blue_known)
{
	rb_context ctx;
	int position = -1;
	rb_status status;

	rb_context_init(&ctx, memory);
	ctx.threads = 1 + (int) check_below(2);
	status = rb_position_test(&ctx, red, red_known, blue, blue_known, &position);
	CHECK(status == RB_OK, "status %d: %s", status, ctx.error.text);
	return position;
}

/* ---- tests ---- */

static const rb_kind kinds[] = {RB_POINT3, RB_SEGMENT3, RB_TRIANGLE3};

/* Tests objects of a few parts, against the same solids repeatedly. */
static void
against_cubes(void)
{
	long seen[3][5];

	memset(seen, 0, sizeof seen);
	for (long round = 0; round < check_rounds(300); round++)
	{
		const placing by = random_placing();
		rb_placed known = {.boxed = false};
		const rb_set *solid;
		cubes c;

		random_cubes(&c);
		solid = solid_of(&by, &c);
		for (int i = 0; i < 40; i++)
		{
			const int kind = i % 3, corners = kind + 1;
			const uint32_t n = 1 + (uint32_t) check_below(3);
			rb_placed of_object = {.boxed = false};
			const rb_set *object;
			unsigned some = 0;
			rb_builder b;
			int answer, wanted;

			rb_builder_init(&b, memory, kinds[kind]);
			b.many_points = true;
			for (uint32_t k = 0; k < n; k++)
			{
				double points[9];

				random_points(points, corners);
				/* Two coincident triangles form a closed surface, which is a different case. */
				some |= truth_of(&c, points, corners);
				add_part(&b, &by, points);
			}
			end_row(&b, 7);
			object = finish(&b);
			answer = ask(object, &of_object, solid, &known);
			wanted = position_of(some);
			if (of_object.sorted && !of_object.open)
				continue;
			CHECK(answer == wanted, "kind %d, %u parts: %d, and not %d", kind, n, answer, wanted);
			seen[kind][wanted]++;
			rb_position_forget(memory, &of_object);
			rb_set_release(&object);
		}
		rb_position_forget(memory, &known);
		rb_set_release(&solid);
	}
	for (int kind = 0; kind < 3; kind++)
		for (int k = 0; k < RB_LIES_EQUAL; k++)
			CHECK(seen[kind][k] > 0, "kind %d, position %d: %ld", kind, k, seen[kind][k]);
}

static int
truth_of_solids(const cubes *red, const cubes *blue)
{
	const bool *r = &red->filled[0][0][0], *b = &blue->filled[0][0][0];
	int both = 0, alone = 0, blue_alone = 0;

	for (int i = 0; i < CELLS; i++)
	{
		both += r[i] && b[i];
		alone += r[i] && !b[i];
		blue_alone += !r[i] && b[i];
	}
	if (both == 0)
		return RB_LIES_OUTSIDE;
	return alone > 0 ? RB_LIES_CROSSING : blue_alone > 0 ? RB_LIES_INSIDE : RB_LIES_EQUAL;
}

static void
solids_in_solids(void)
{
	long seen[5] = {0, 0, 0, 0, 0};

	for (long round = 0; round < check_rounds(300); round++)
	{
		const placing by = random_placing();
		rb_placed known[2] = {{.boxed = false}, {.boxed = false}};
		const rb_set *set[2];
		cubes c[2];
		int answer, wanted;

		random_cubes(&c[0]);
		random_cubes(&c[1]);
		if (round % 3 == 0)
			c[1] = c[0];
		if (round % 3 == 1)
			for (int i = 0; i < CELLS; i++)
				(&c[1].filled[0][0][0])[i] |= (&c[0].filled[0][0][0])[i];
		/* The complement in the grid */
		if (round % 6 == 5 && count_cubes(&c[0]) < CELLS)
			for (int i = 0; i < CELLS; i++)
				(&c[1].filled[0][0][0])[i] = !(&c[0].filled[0][0][0])[i];
		for (int i = 0; i < 2; i++)
			set[i] = solid_of(&by, &c[i]);
		answer = ask(set[0], &known[0], set[1], &known[1]);
		wanted = truth_of_solids(&c[0], &c[1]);
		CHECK(answer == wanted, "%d, and not %d", answer, wanted);
		seen[wanted]++;
		for (int i = 0; i < 2; i++)
		{
			rb_position_forget(memory, &known[i]);
			rb_set_release(&set[i]);
		}
	}
	CHECK(seen[RB_LIES_INSIDE] > 0 && seen[RB_LIES_CROSSING] > 0 && seen[RB_LIES_OUTSIDE] > 0 &&
			  seen[RB_LIES_EQUAL] > 0,
		  "not all positions");
}

/* Returns one row as a set of its own. */
static const rb_set *
one_row(const rb_set *set, uint32_t row)
{
	rb_builder b;
	const size_t width = (size_t) rb_kind_width(set->kind);
	static const placing same = {.by = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

	rb_builder_init(&b, memory, set->kind);
	b.many_points = true;
	for (uint32_t i = 0; i < set->nparts; i++)
		if ((set->row_of != NULL ? set->row_of[i] : i) == row)
			add_part(&b, &same, set->coords + i * width);
	end_row(&b, 1);
	return finish(&b);
}

/* Tests that all rows at once give the same results as each pair of rows. */
static void
all_as_one(void)
{
	long reported = 0;

	for (long round = 0; round < check_rounds(60); round++)
	{
		const placing by = random_placing();
		const rb_kind kind = kinds[round % 3];
		const uint32_t nred = 1 + (uint32_t) check_below(12), nblue = 1 + (uint32_t) check_below(5);
		const rb_set *red, *blue;
		int answer[12][5];
		rb_stream *stream;
		rb_block block;
		rb_context ctx;
		rb_status status;
		rb_builder b;

		rb_builder_init(&b, memory, kind);
		b.many_points = true;
		for (uint32_t i = 0; i < nred; i++)
		{
			cubes c;

			if (kind == RB_TRIANGLE3 && check_below(3) == 0)
			{
				random_cubes(&c);
				add_cubes(&b, &by, &c);
			}
			else
				for (uint64_t k = check_below(2); k < 2; k++)
				{
					double points[9];

					random_points(points, rb_kind_points(kind));
					for (int m = 0; m < 9; m++)
						points[m] += (double) (i % 3) * 4;
					add_part(&b, &by, points);
				}
			end_row(&b, 100 + i);
		}
		red = finish(&b);
		rb_builder_init(&b, memory, RB_TRIANGLE3);
		for (uint32_t i = 0; i < nblue; i++)
		{
			cubes c;

			random_cubes(&c);
			add_cubes(&b, &by, &c);
			end_row(&b, 200 + i);
		}
		blue = finish(&b);
		for (uint32_t i = 0; i < nred; i++)
			for (uint32_t k = 0; k < nblue; k++)
				answer[i][k] = RB_LIES_OUTSIDE;
		rb_context_init(&ctx, memory);
		ctx.threads = 1 + (int) (round % 2);
		{
			const rb_job job = {.red = red, .blue = blue, .predicate = RB_POSITION};

			status = rb_stream_open(&ctx, &rb_backend_cpu, &job, &stream);
			while (status == RB_OK)
			{
				status = rb_stream_next(stream, 100, &block);
				for (size_t i = 0; i < block.n && status == RB_OK; i++, reported++)
					answer[block.red[i] - 100][block.blue[i] - 200] = (int) block.payload[i];
			}
			CHECK(status == RB_END, "status %d: %s", status, ctx.error.text);
			rb_stream_close(stream);
		}
		for (uint32_t i = 0; i < nred; i++)
			for (uint32_t k = 0; k < nblue; k++)
			{
				rb_placed known[2] = {{.boxed = false}, {.boxed = false}};
				const rb_set *r = one_row(red, i), *s = one_row(blue, k);
				const int single = ask(r, &known[0], s, &known[1]);

				CHECK(answer[i][k] == single, "row %u in solid %u: %d, and alone %d", i, k,
					  answer[i][k], single);
				rb_position_forget(memory, &known[0]);
				rb_position_forget(memory, &known[1]);
				rb_set_release(&r);
				rb_set_release(&s);
			}
		rb_set_release(&red);
		rb_set_release(&blue);
	}
	CHECK(reported > 0, "no row was reported");
}

/*
 * Tests that an invalid solid is reported by its id, and that a row with nothing near it is not
 * checked.
 */
static void
no_solids(void)
{
	static const placing same = {.by = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
	static const double open[] = {0, 0, 0, 3, 0, 0, 0, 3, 3};
	cubes c;
	double point[] = {0.5, 0.5, 0.5};

	memset(&c, 1, sizeof c);
	for (int far = 0; far < 2; far++)
	{
		placing there = same;
		const rb_set *red, *blue;
		rb_stream *stream;
		rb_block block;
		rb_context ctx;
		rb_status status;
		rb_builder b;

		there.add[0] = far ? 100 : 0;
		rb_builder_init(&b, memory, RB_POINT3);
		add_part(&b, &same, point);
		end_row(&b, 5);
		red = finish(&b);
		rb_builder_init(&b, memory, RB_TRIANGLE3);
		add_cubes(&b, &same, &c);
		end_row(&b, 41);
		add_part(&b, &there, open);
		end_row(&b, 43);
		blue = finish(&b);
		rb_context_init(&ctx, memory);
		{
			const rb_job job = {.red = red, .blue = blue, .predicate = RB_POSITION};
			long n = 0;

			status = rb_stream_open(&ctx, &rb_backend_cpu, &job, &stream);
			while (status == RB_OK)
			{
				status = rb_stream_next(stream, 100, &block);
				n += status == RB_OK ? (long) block.n : 0;
			}
			if (far)
				CHECK(status == RB_END && n == 1, "status %d, %ld pairs", status, n);
			else
				CHECK(status == RB_BAD_SOLID &&
						  (ctx.error.limit & RB_SOLID_SIDE) == RB_SOLID_OF_BLUE &&
						  ctx.error.need == 43,
					  "status %d, row %lu", status, (unsigned long) ctx.error.need);
			rb_stream_close(stream);
		}
		rb_set_release(&red);
		rb_set_release(&blue);
	}
}

int
main(void)
{
	memory = rb_memory_create(UINT64_C(1) << 30);
	CHECK_RUN(against_cubes);
	CHECK_RUN(solids_in_solids);
	CHECK_RUN(all_as_one);
	CHECK_RUN(no_solids);
	CHECK(rb_memory_used(memory) == 0, "%lu bytes are left",
		  (unsigned long) rb_memory_used(memory));
	rb_memory_destroy(memory);
	return check_done();
}
