/*
 * polygon_overlaps.c
 *	  Tests the common areas of polygons against rationals.
 *
 * The reference cuts the plane at the x of all vertices and of all crossings of red and blue edges. In each slab, the edges that
 * cross it are in a fixed order, and the area between two of them is the width of the slab times their distance in its middle.
 * Nearly all pairs are degenerate: corners on small lattices, common borders, holes that fit, equal polygons.
 */
#include "core/plane/plane.h"

#include <gmp.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "fixtures.h"
#include "is_nearest.h"

#define MOST_EDGES 96
#define ROWS 10

static rb_memory *memory;
static rb_context ctx;

/* ---- polygons ---- */

/* A polygon: rings of points, each without the repeated last one */
typedef struct polygon
{
	int nrings;
	int n[12];      /* Points of each ring */
	bool shell[12]; /* True if the ring begins a polygon */
	double at[MOST_EDGES][2];
} polygon;

typedef struct side
{
	polygon of[ROWS];
	int n;
	const rb_set *set;
} side;

/* Returns the number of points of a polygon. */
static int
points_of(const polygon *p)
{
	int n = 0;

	for (int k = 0; k < p->nrings; k++)
		n += p->n[k];
	return n;
}

/* Starts a ring. */
static void
begin_ring(polygon *p, bool shell)
{
	p->shell[p->nrings] = shell;
	p->n[p->nrings++] = 0;
}

static void
add_point(polygon *p, double x, double y)
{
	double *to = p->at[points_of(p)];

	to[0] = x;
	to[1] = y;
	p->n[p->nrings - 1]++;
}

/* Adds the four corners of a rectangle, in either direction. */
static void
add_rectangle(polygon *p, bool shell, double lx, double ly, double hx, double hy)
{
	const bool turned = check_below(2) == 0;

	begin_ring(p, shell);
	add_point(p, lx, ly);
	add_point(p, turned ? lx : hx, turned ? hy : ly);
	add_point(p, hx, hy);
	add_point(p, turned ? hx : lx, turned ? ly : hy);
}

/* Adds the edges of a polygon to the row under construction, as the reader of geometries does. */
static void
build_polygon(rb_builder *b, const polygon *p, int64_t id)
{
	rb_error error;
	int first = 0;

	for (int k = 0; k < p->nrings; k++)
	{
		const int marks = p->shell[k] ? RB_MARKS_OF_SHELL : RB_MARKS_OF_HOLE;

		rb_builder_reserve(b, (size_t) (p->n[k] + marks), &error);
		for (int i = 0; i < marks + p->n[k]; i++)
		{
			const int from = i < marks ? 0 : i - marks, to = i < marks ? 0 : (from + 1) % p->n[k];
			double *e = b->coords + 4 * (size_t) b->nparts++;

			memcpy(e, p->at[first + from], 2 * sizeof *e);
			memcpy(e + 2, p->at[first + to], 2 * sizeof *e);
			if (i >= marks && rb_is_mark(e))
				b->nparts--;
		}
		first += p->n[k];
	}
	rb_builder_end_row(b, id, &error);
}

static const rb_set *
build_polygons(const polygon *p, int n)
{
	const rb_set *set = NULL;
	rb_builder b;
	rb_error error;

	rb_builder_init(&b, memory, RB_EDGE2);
	for (int i = 0; i < n; i++)
		build_polygon(&b, &p[i], 100 + i);
	CHECK(rb_builder_finish(&b, &set, &error) == RB_OK, "no set");
	rb_builder_free(&b);
	return set;
}

/* Returns true if a polygon is valid. */
static bool
is_valid(const polygon *p)
{
	const rb_set *set = build_polygons(p, 1);
	double area;
	const rb_status status = rb_area_measure(&ctx, set, set, &area);

	CHECK(status == RB_OK || status == RB_BAD_POLYGON, "status %d: %s", (int) status,
		  ctx.error.text);
	rb_set_release(&set);
	rb_context_init(&ctx, memory);
	return status == RB_OK;
}

/* ---- the reference ---- */

/* Sets y to that of an edge at x. */
static void
height_at(mpq_t y, const double *e, const mpq_t x)
{
	mpq_t a, b, c;

	mpq_inits(a, b, c, NULL);
	mpq_set_d(a, e[0]);
	mpq_set_d(b, e[2]);
	mpq_sub(c, x, a);
	mpq_sub(b, b, a);
	mpq_div(c, c, b);
	mpq_set_d(a, e[1]);
	mpq_set_d(b, e[3]);
	mpq_sub(b, b, a);
	mpq_mul(b, b, c);
	mpq_add(y, a, b);
	mpq_clears(a, b, c, NULL);
}

/* Lists the edges of a polygon. */
static int
list_edges(const polygon *p, double e[][4])
{
	int n = 0, first = 0;

	for (int k = 0; k < p->nrings; k++)
	{
		for (int i = 0; i < p->n[k]; i++, n++)
		{
			memcpy(e[n], p->at[first + i], 2 * sizeof(double));
			memcpy(e[n] + 2, p->at[first + (i + 1) % p->n[k]], 2 * sizeof(double));
		}
		first += p->n[k];
	}
	return n;
}

static int
compare_rationals(const void *a, const void *b)
{
	return mpq_cmp(*(const mpq_t *) a, *(const mpq_t *) b);
}

/* Adds the x where the lines of two edges cross, if both edges reach it. */
static int
add_crossing(mpq_t *x, const double *e, const double *h)
{
	const int o[4] = {rb_orient2d(e, e + 2, h), rb_orient2d(e, e + 2, h + 2),
					  rb_orient2d(h, h + 2, e), rb_orient2d(h, h + 2, e + 2)};
	mpq_t v[6], t, d;

	if (o[0] * o[1] >= 0 || o[2] * o[3] >= 0)
		return 0;
	mpq_inits(t, d, NULL);
	for (int k = 0; k < 6; k++)
		mpq_init(v[k]);
	for (int k = 0; k < 2; k++)
	{
		const double *from[3] = {e + 2, h + 2, h}, *to[3] = {e, h, e};

		for (int i = 0; i < 3; i++)
		{
			mpq_set_d(v[2 * i + k], from[i][k]);
			mpq_set_d(t, to[i][k]);
			mpq_sub(v[2 * i + k], v[2 * i + k], t);
		}
	}
	/* x = e_x + (w x h) / (d x h) d_x */
	mpq_mul(t, v[4], v[3]);
	mpq_mul(d, v[5], v[2]);
	mpq_sub(t, t, d);
	mpq_mul(*x, v[0], v[3]);
	mpq_mul(d, v[1], v[2]);
	mpq_sub(d, *x, d);
	mpq_div(t, t, d);
	mpq_mul(t, t, v[0]);
	mpq_set_d(d, e[0]);
	mpq_add(*x, d, t);
	for (int k = 0; k < 6; k++)
		mpq_clear(v[k]);
	mpq_clears(t, d, NULL);
	return 1;
}

typedef struct height
{
	mpq_t y;
	int side;
} height;

static int
compare_heights(const void *a, const void *b)
{
	return mpq_cmp(((const height *) a)->y, ((const height *) b)->y);
}

static mpq_t cuts[2 * MOST_EDGES + MOST_EDGES * MOST_EDGES];
static height heights[2 * MOST_EDGES];

/* Computes the common area of two polygons. */
static void
find_area(mpq_t area, const polygon *red, const polygon *blue)
{
	static double e[2][MOST_EDGES][4];
	const int n[2] = {list_edges(red, e[0]), list_edges(blue, e[1])};
	mpq_t middle, width;
	int ncuts = 0;

	mpq_inits(middle, width, NULL);
	mpq_set_ui(area, 0, 1);
	for (int s = 0; s < 2; s++)
		for (int i = 0; i < n[s]; i++)
			mpq_set_d(cuts[ncuts++], e[s][i][0]);
	for (int i = 0; i < n[0]; i++)
		for (int k = 0; k < n[1]; k++)
			ncuts += add_crossing(&cuts[ncuts], e[0][i], e[1][k]);
	qsort(cuts, (size_t) ncuts, sizeof *cuts, compare_rationals);
	for (int c = 1; c < ncuts; c++)
	{
		bool in[2] = {false, false};
		int m = 0;

		if (mpq_equal(cuts[c], cuts[c - 1]))
			continue;
		mpq_sub(width, cuts[c], cuts[c - 1]);
		mpq_add(middle, cuts[c], cuts[c - 1]);
		mpq_div_2exp(middle, middle, 1);
		for (int s = 0; s < 2; s++)
			for (int i = 0; i < n[s]; i++)
			{
				const double *x = e[s][i];
				mpq_t low, high;

				mpq_inits(low, high, NULL);
				mpq_set_d(low, x[0] < x[2] ? x[0] : x[2]);
				mpq_set_d(high, x[0] < x[2] ? x[2] : x[0]);
				if (mpq_cmp(low, middle) < 0 && mpq_cmp(high, middle) > 0)
				{
					height_at(heights[m].y, x, middle);
					heights[m++].side = s;
				}
				mpq_clears(low, high, NULL);
			}
		qsort(heights, (size_t) m, sizeof *heights, compare_heights);
		for (int i = 0; i < m; i++)
		{
			if (i > 0 && in[0] && in[1])
			{
				mpq_t gap;

				mpq_init(gap);
				mpq_sub(gap, heights[i].y, heights[i - 1].y);
				mpq_mul(gap, gap, width);
				mpq_add(area, area, gap);
				mpq_clear(gap);
			}
			in[heights[i].side] = !in[heights[i].side];
		}
	}
	mpq_clears(middle, width, NULL);
}

/* ---- joins ---- */

typedef struct areas
{
	double of[ROWS][ROWS];
	pthread_mutex_t lock;
	int twice;
} areas;

static rb_status
put_area(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	areas *a = user;

	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < n; i++)
	{
		a->twice += a->of[rows[i].red][rows[i].blue] != 0;
		memcpy(&a->of[rows[i].red][rows[i].blue], &payload[i], sizeof payload[i]);
	}
	pthread_mutex_unlock(&a->lock);
	return RB_OK;
}

static rb_status
join_areas(areas *a, const rb_set *red, const rb_set *blue, int threads)
{
	const rb_job job = {.red = red, .blue = blue, .predicate = RB_AREA};
	const rb_row_sink sink = {put_area, a};
	rb_status status;

	memset(a->of, 0, sizeof a->of);
	a->twice = 0;
	pthread_mutex_init(&a->lock, NULL);
	ctx.threads = threads;
	status = rb_compose_areas(&ctx, &rb_backend_cpu, &job, &sink);
	pthread_mutex_destroy(&a->lock);
	CHECK(a->twice == 0, "a pair was found twice");
	return status;
}

/* Prints a polygon in the format of WKT. */
static void
print_polygon(const polygon *p)
{
	int first = 0;

	printf("#");
	for (int k = 0; k < p->nrings; k++)
	{
		printf(" %s(", p->shell[k] ? "shell" : "hole");
		for (int i = 0; i < p->n[k]; i++)
			printf("%s%.17g %.17g", i > 0 ? ", " : "", p->at[first + i][0], p->at[first + i][1]);
		printf(")");
		first += p->n[k];
	}
	printf("\n");
}

/* Compares all pairs of two sides with the reference, and joins with each other. */
static void
compare_sides(const side *red, const side *blue)
{
	static areas one, other;
	const rb_set *sets[2] = {build_polygons(red->of, red->n), build_polygons(blue->of, blue->n)};
	const int threads[] = {2, 7};
	mpq_t area;

	mpq_init(area);
	CHECK(join_areas(&one, sets[0], sets[1], 1) == RB_OK, "%s", ctx.error.text);
	for (int r = 0; r < red->n; r++)
		for (int b = 0; b < blue->n; b++)
		{
			const long before = check_failures;

			find_area(area, &red->of[r], &blue->of[b]);
			CHECK((mpq_sgn(area) > 0) == (one.of[r][b] != 0), "area %g instead of %.17g",
				  one.of[r][b], mpq_get_d(area));
			CHECK(mpq_sgn(area) == 0 || is_nearest_above_zero(one.of[r][b], area),
				  "%.17g instead of %.17g", one.of[r][b], mpq_get_d(area));
			if (check_failures > before && before < 3)
			{
				print_polygon(&red->of[r]);
				print_polygon(&blue->of[b]);
			}
		}
	for (int i = 0; i < 2; i++)
	{
		CHECK(join_areas(&other, sets[0], sets[1], threads[i]) == RB_OK, "%s", ctx.error.text);
		CHECK(memcmp(one.of, other.of, sizeof one.of) == 0, "other areas on %d threads",
			  threads[i]);
	}
	CHECK(join_areas(&other, sets[1], sets[0], 2) == RB_OK, "%s", ctx.error.text);
	for (int r = 0; r < red->n; r++)
		for (int b = 0; b < blue->n; b++)
			CHECK(one.of[r][b] == other.of[b][r], "%g and %g", one.of[r][b], other.of[b][r]);
	/* A self join finds each pair once, and so does a join of the set with itself. */
	CHECK(join_areas(&one, sets[0], sets[0], 1) == RB_OK, "%s", ctx.error.text);
	CHECK(join_areas(&other, sets[0], NULL, 2) == RB_OK, "%s", ctx.error.text);
	for (int r = 0; r < red->n; r++)
		for (int b = 0; b < red->n; b++)
			CHECK(other.of[r][b] == (r < b ? one.of[r][b] : 0), "%g and %g", one.of[r][b],
				  other.of[r][b]);
	rb_set_release(&sets[0]);
	rb_set_release(&sets[1]);
	mpq_clear(area);
	ctx.threads = 1;
}

/* ---- families ---- */

/* How lattice points become coordinates */
typedef struct placement
{
	double scale[2];
	double origin[2];
	double shear;
} placement;

static void
place(polygon *p, const placement *to)
{
	for (int i = 0; i < points_of(p); i++)
	{
		p->at[i][0] = to->origin[0] + to->scale[0] * (p->at[i][0] + to->shear * p->at[i][1]);
		p->at[i][1] = to->origin[1] + to->scale[1] * p->at[i][1];
	}
}

/* A few points on a lattice */
static void
make_lattice_polygon(polygon *p, int size)
{
	const int n = 3 + check_below(4);

	begin_ring(p, true);
	for (int i = 0; i < n; i++)
		add_point(p, check_below(size + 1), check_below(size + 1));
}

/* Rectangles with a hole, which may touch the border, and a rectangle in the hole */
static void
make_frame(polygon *p, int size)
{
	int x[4], y[4];

	for (int k = 0; k < 4; k++)
	{
		x[k] = check_below(size + 1);
		y[k] = check_below(size + 1);
	}
	add_rectangle(p, true, x[0], y[0], x[0] + 4, y[0] + 4);
	if (check_below(3) == 0)
		return;
	if (check_below(2) == 0)
	{
		begin_ring(p, false);
		add_point(p, x[0] + check_below(3), y[0] + check_below(2) + 1);
		add_point(p, x[0] + 2 + check_below(3), y[0] + 2);
		add_point(p, x[0] + 1 + check_below(3), y[0] + 3);
	}
	else
	{
		add_rectangle(p, false, x[0] + 1, y[0] + 1, x[0] + 3, y[0] + 3);
		if (check_below(2) == 0)
			add_rectangle(p, true, x[0] + 1.5, y[0] + 1.5, x[0] + 2.5, y[0] + 2.5);
		else if (check_below(2) == 0)
		{
			/* It touches the hole in four points. */
			begin_ring(p, true);
			add_point(p, x[0] + 2, y[0] + 1);
			add_point(p, x[0] + 3, y[0] + 2);
			add_point(p, x[0] + 2, y[0] + 3);
			add_point(p, x[0] + 1, y[0] + 2);
		}
	}
}

/* Cells of a grid that share corners at most */
static void
make_cells(polygon *p, int size)
{
	const int parity = check_below(2);

	for (int i = 0; i < 9; i++)
		if ((i + parity) % 2 == 0 && check_below(3) > 0)
			add_rectangle(p, true, i % 3 + size / 2, i / 3, i % 3 + size / 2 + 1, i / 3 + 1);
	if (p->nrings == 0)
		add_rectangle(p, true, 0, 0, 1, 1);
}

/* A star around a point, on a lattice or not */
static void
make_star(polygon *p, int size)
{
	const int n = 5 + check_below(20);
	const double x = check_below(size), y = check_below(size), a = random_unit();

	begin_ring(p, true);
	for (int i = 0; i < n; i++)
	{
		const double angle = 6.2831853 * (i + a) / n, r = size * (0.2 + 0.6 * random_unit());

		add_point(p, x + r * cos(angle), y + r * sin(angle));
	}
	if (check_below(2) == 0)
		for (int i = 0; i < n; i++)
			for (int k = 0; k < 2; k++)
				p->at[i][k] = floor(p->at[i][k]);
}

/* A comb with teeth */
static void
make_comb(polygon *p, int size)
{
	const int n = 2 + check_below(5), turned = check_below(2);

	begin_ring(p, true);
	add_point(p, 0, 0);
	for (int i = 0; i < n; i++)
	{
		add_point(p, 2 * i, size);
		add_point(p, 2 * i + 1, size);
		add_point(p, 2 * i + 1, 1);
		add_point(p, 2 * i + 2, 1);
	}
	add_point(p, 2 * n, 0);
	if (turned)
		for (int i = 0; i < points_of(p); i++)
		{
			const double x = p->at[i][0];

			p->at[i][0] = p->at[i][1];
			p->at[i][1] = x;
		}
}

/* Makes a valid polygon. */
static void
make_polygon(polygon *p, int family, int size, const placement *to)
{
	do
	{
		memset(p, 0, sizeof *p);
		switch (family < 0 ? check_below(5) : family)
		{
			case 0:
				make_lattice_polygon(p, size);
				break;
			case 1:
				make_frame(p, size);
				break;
			case 2:
				make_cells(p, size);
				break;
			case 3:
				make_star(p, size);
				break;
			default:
				make_comb(p, size);
		}
		place(p, to);
	} while (!is_valid(p));
}

static void
compare_families(long rounds, int size, const placement *to)
{
	static side red, blue;

	for (long i = 0; i < rounds; i++)
	{
		red.n = blue.n = ROWS;
		for (int k = 0; k < ROWS; k++)
		{
			make_polygon(&red.of[k], (int) (i % 6) - 1, size, to);
			make_polygon(&blue.of[k], i % 2 == 0 ? (int) (i % 6) - 1 : -1, size, to);
		}
		blue.of[0] = red.of[0];
		compare_sides(&red, &blue);
	}
}

static void
lattices(void)
{
	const placement unit = {{1, 1}, {0, 0}, 0};

	compare_families(check_rounds(120), 3, &unit);
	compare_families(check_rounds(60), 6, &unit);
}

static void
rounded_coordinates(void)
{
	const placement utm = {{0.001, 0.001}, {412345.678, 5312345.678}, 0.37};
	const placement tenths = {{0.1, 0.1}, {0, 0}, 0.3};
	const placement thin = {{1, 0x1p-40}, {0.1, 0.3}, 0.7};

	compare_families(check_rounds(60), 5, &utm);
	compare_families(check_rounds(60), 4, &tenths);
	compare_families(check_rounds(60), 4, &thin);
}

static void
far_exponents(void)
{
	const placement tiny = {{1e-160, 1e-160}, {0, 0}, 0.1};
	const placement least = {{0x1p-1074, 0x1p-1074}, {0, 0}, 0};
	const placement huge = {{1e150, 1e154}, {0, 0}, 0.1};
	const placement large = {{1e154, 1e153}, {-3e154, 0}, 0.1};
	const placement mixed = {{1e200, 1e-210}, {0, 0}, 0};

	compare_families(check_rounds(30), 4, &tiny);
	compare_families(check_rounds(30), 4, &least);
	compare_families(check_rounds(30), 4, &huge);
	compare_families(check_rounds(30), 4, &large);
	compare_families(check_rounds(30), 4, &mixed);
}

/* Areas in the middle of two doubles, and next to it */
static void
ties(void)
{
	static side red, blue;

	for (long i = 0; i < check_rounds(100); i++)
	{
		const double a = 94906267 + 2 * check_below(50), b = 94906265 + 2 * check_below(50);
		const double more = check_below(2) == 0 ? 0 : 0x1p-40;

		memset(&red, 0, sizeof red);
		memset(&blue, 0, sizeof blue);
		red.n = blue.n = 2;
		add_rectangle(&red.of[0], true, 0, 0, a, b);
		add_rectangle(&red.of[1], true, -1, -2, a, b + more);
		add_rectangle(&blue.of[0], true, 0, 0, a + 1, b + 7);
		/* A triangle, and one whose edges cross the rectangle at points that are no doubles */
		begin_ring(&blue.of[1], true);
		add_point(&blue.of[1], 0, 0);
		add_point(&blue.of[1], 3 * a, b);
		add_point(&blue.of[1], 0, b);
		compare_sides(&red, &blue);
	}
}

/* ---- order ---- */

#define SQUARES 60

/* Pairs of ids in the order in which they arrive */
typedef struct arrivals
{
	const rb_set *side[2];
	int64_t id[SQUARES * SQUARES][2];
	size_t n;
} arrivals;

static rb_status
put_arrival(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	arrivals *a = user;

	(void) payload;
	for (size_t i = 0; i < n; i++)
	{
		a->id[a->n][0] = a->side[0]->ids[rows[i].red];
		a->id[a->n++][1] = a->side[1]->ids[rows[i].blue];
	}
	return RB_OK;
}

/* Builds overlapping squares along a line, whose ids do not have the order of the rows. */
static const rb_set *
build_squares(int64_t first)
{
	const rb_set *set = NULL;
	rb_builder b;
	rb_error error;

	rb_builder_init(&b, memory, RB_EDGE2);
	for (int i = 0; i < SQUARES; i++)
	{
		const int k = i * 37 % SQUARES;
		polygon p = {.nrings = 0};

		add_rectangle(&p, true, k, 0, k + 4.5, 4.5);
		build_polygon(&b, &p, first + (k * 23 % SQUARES));
	}
	CHECK(rb_builder_finish(&b, &set, &error) == RB_OK, "no set");
	rb_builder_free(&b);
	return set;
}

/* Pairs arrive by the id of red, then by that of blue, on any number of threads. */
static void
order_of_pairs(void)
{
	static arrivals a;
	const rb_set *sets[2] = {build_squares(-20), build_squares(1000)};

	for (int self = 0; self < 2; self++)
		for (int threads = 1; threads <= 7; threads += 3)
		{
			const rb_job job = {
				.red = sets[0], .blue = self == 1 ? NULL : sets[1], .predicate = RB_AREA};
			const rb_row_sink sink = {put_arrival, &a};

			a.n = 0;
			a.side[0] = sets[0];
			a.side[1] = self == 1 ? sets[0] : sets[1];
			ctx.threads = threads;
			CHECK(rb_compose_areas(&ctx, &rb_backend_cpu, &job, &sink) == RB_OK, "%s",
				  ctx.error.text);
			CHECK(a.n > 3 * SQUARES, "%zu pairs", a.n);
			for (size_t i = 0; i < a.n; i++)
			{
				const int64_t *x = a.id[i], *y = a.id[i > 0 ? i - 1 : 0];

				CHECK(i == 0 || y[0] < x[0] || (y[0] == x[0] && y[1] < x[1]),
					  "(%d, %d) after (%d, %d)", (int) x[0], (int) x[1], (int) y[0], (int) y[1]);
				CHECK(self == 0 || x[0] < x[1], "(%d, %d)", (int) x[0], (int) x[1]);
			}
		}
	ctx.threads = 1;
	rb_set_release(&sets[0]);
	rb_set_release(&sets[1]);
}

/* ---- stops and memory ---- */

#define STRIPS 100 /* Strips of each side, each of which overlaps all of the other side */

/* Builds strips along an axis. */
static const rb_set *
build_strips(int axis)
{
	const rb_set *set = NULL;
	rb_builder b;
	rb_error error;

	rb_builder_init(&b, memory, RB_EDGE2);
	for (int i = 0; i < STRIPS; i++)
	{
		polygon p = {.nrings = 0};

		if (axis == 0)
			add_rectangle(&p, true, 0, i, STRIPS, i + 1);
		else
			add_rectangle(&p, true, i, 0, i + 1, STRIPS);
		build_polygon(&b, &p, i);
	}
	CHECK(rb_builder_finish(&b, &set, &error) == RB_OK, "no set");
	rb_builder_free(&b);
	return set;
}

/* Counts rows, and requests a stop. */
static rb_status
put_and_stop(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	(void) rows;
	(void) payload;
	*(size_t *) user += n;
	rb_context_stop(&ctx);
	return RB_OK;
}

/* After a stop, few rows follow. */
static void
stop_between_rows(void)
{
	const rb_set *sets[2] = {build_strips(0), build_strips(1)};
	const rb_job job = {.red = sets[0], .blue = sets[1], .predicate = RB_AREA};
	size_t rows = 0;
	const rb_row_sink sink = {put_and_stop, &rows};

	CHECK(rb_compose_areas(&ctx, &rb_backend_cpu, &job, &sink) == RB_STOPPED, "not stopped");
	CHECK(rows > 0 && rows < 2000, "%zu rows after a stop", rows);
	rb_context_init(&ctx, memory);
	rb_set_release(&sets[0]);
	rb_set_release(&sets[1]);
}

static void
little_memory_and_stop(void)
{
	static polygon red[ROWS], blue[ROWS];
	const placement unit = {{1, 1}, {0, 0}, 0.1};
	static areas a;
	rb_status status;
	size_t limit = 1 << 10;
	int refused = 0;

	for (int i = 0; i < ROWS; i++)
	{
		make_polygon(&red[i], -1, 5, &unit);
		make_polygon(&blue[i], -1, 5, &unit);
	}
	do
	{
		rb_memory *little = rb_memory_create(limit);
		const rb_set *sets[2] = {build_polygons(red, ROWS), build_polygons(blue, ROWS)};

		rb_context_init(&ctx, little);
		status = join_areas(&a, sets[0], sets[1], 2);
		CHECK(status == RB_OK || status == RB_OVER_BUDGET, "%d bytes: status %d", (int) limit,
			  (int) status);
		CHECK(rb_memory_used(little) == 0, "%d bytes: memory is left", (int) limit);
		rb_memory_destroy(little);
		refused += status != RB_OK;
		limit += limit / 7;
		rb_set_release(&sets[0]);
		rb_set_release(&sets[1]);
	} while (status != RB_OK && limit < 1u << 30);
	CHECK(status == RB_OK && refused > 10, "status %d after %d", (int) status, refused);
	rb_context_init(&ctx, memory);
	for (int i = 0; i < 2; i++)
	{
		const rb_set *set = build_polygons(red, ROWS);
		const uint64_t used = rb_memory_used(memory);

		rb_context_stop(&ctx);
		CHECK(join_areas(&a, set, i == 0 ? set : NULL, 2) == RB_STOPPED, "not stopped");
		CHECK(rb_memory_used(memory) == used, "memory is left");
		rb_set_release(&set);
		rb_context_init(&ctx, memory);
	}
}

int
main(void)
{
	for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
		mpq_init(cuts[i]);
	for (size_t i = 0; i < sizeof heights / sizeof *heights; i++)
		mpq_init(heights[i].y);
	memory = rb_memory_create(UINT64_MAX);
	rb_context_init(&ctx, memory);
	CHECK_RUN(lattices);
	CHECK_RUN(rounded_coordinates);
	CHECK_RUN(far_exponents);
	CHECK_RUN(ties);
	CHECK_RUN(order_of_pairs);
	CHECK_RUN(stop_between_rows);
	CHECK_RUN(little_memory_and_stop);
	CHECK(rb_memory_used(memory) == 0, "left behind");
	rb_memory_destroy(memory);
	return check_done();
}
