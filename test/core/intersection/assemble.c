/*
 * assemble.c
 *	  Tests the geometry of intersections: known results, and random parts against an exact
 *	  reference.
 *
 * The reference implementation (`twin`) uses only fractions. It clips each red part by the bounds
 * of each blue one, clips the resulting pieces by each other, and thereby has all points where
 * anything begins or ends. The tested result is mapped from doubles back to these points, and then
 * it is checked that it contains the whole intersection exactly once.
 */
#include "check.h"
#include "fixtures.h"
#include "core/base/base.h"
#include "core/intersection/intersection.h"

#include <gmp.h>
#include <math.h>
#include <pthread.h>
#include <unistd.h>

#define MOST 4096

static rb_memory *memory;

static struct
{
	double coords[2][9 * MOST];
	rb_curve_parts side[2];
} it;

static void
clear(void)
{
	for (int i = 0; i < 2; i++)
		it.side[i] = (rb_curve_parts){RB_TRIANGLE3, 0, it.coords[i]};
}

static void
add(int side, const double *coords)
{
	const int width = rb_kind_width(it.side[side].kind);

	memcpy(it.coords[side] + (size_t) width * it.side[side].n++, coords,
		   (size_t) width * sizeof *coords);
}

static void
triangle(int side, const double *a, const double *b, const double *c)
{
	double t[9];

	memcpy(t, a, 3 * sizeof *a);
	memcpy(t + 3, b, 3 * sizeof *a);
	memcpy(t + 6, c, 3 * sizeof *a);
	add(side, t);
}

#define P(...) ((const double[]){__VA_ARGS__})

/* Adds the segments of a path in the plane, given by its vertices. */
#define PATH2(side, ...) add_path2(side, P(__VA_ARGS__), sizeof(P(__VA_ARGS__)) / sizeof(double))

static void
add_path2(int side, const double *at, size_t n)
{
	for (size_t i = 0; i + 4 <= n; i += 2)
		add(side, at + i);
}

/*
 * Adds a quad, given by its vertices in order. Its diagonal starts at the first vertex, or at the
 * second if `other`.
 */
static void
quad(int side, bool other, const double *a, const double *b, const double *c, const double *d)
{
	if (other)
	{
		triangle(side, b, c, d);
		triangle(side, b, d, a);
		return;
	}
	triangle(side, a, b, c);
	triangle(side, a, c, d);
}

/* Adds a box whose faces are oriented outward. */
static void
cube(int side, bool other, double x, double y, double z, double s, double t, double u)
{
	double p[8][3];

	for (int i = 0; i < 8; i++)
	{
		p[i][0] = x + (i & 1 ? s : 0);
		p[i][1] = y + (i & 2 ? t : 0);
		p[i][2] = z + (i & 4 ? u : 0);
	}
	quad(side, other, p[0], p[2], p[3], p[1]);
	quad(side, other, p[4], p[5], p[7], p[6]);
	quad(side, other, p[0], p[1], p[5], p[4]);
	quad(side, other, p[2], p[6], p[7], p[3]);
	quad(side, other, p[0], p[4], p[6], p[2]);
	quad(side, other, p[1], p[3], p[7], p[5]);
}

/* ---- results ---- */

typedef struct made
{
	rb_context ctx;
	rb_curve *curve;
	rb_intersection shape;
	rb_status status;
} made;

/*
 * Computes the intersection of all pairs, in an order that depends on `order`; some pairs are added
 * twice. With order 3, adds all pairs with overlapping boxes.
 */
static void
make(made *m, rb_memory *of, uint32_t order, bool swapped)
{
	const rb_curve_parts *red = &it.side[swapped], *blue = &it.side[!swapped];
	const uint32_t n = red->n * blue->n;
	uint32_t step = 1;

	memset(m, 0, sizeof *m);
	rb_context_init(&m->ctx, of);
	m->status = rb_curve_open(&m->ctx, red, blue, &m->curve);
	/* A step that is coprime to n visits all pairs. */
	for (step = order; step > 1; step--)
	{
		uint32_t a = n, b = step;

		while (b != 0)
		{
			const uint32_t r = a % b;

			a = b;
			b = r;
		}
		if (a == 1)
			break;
	}
	if (step == 0)
		step = 1;
	if (order == 3 && m->status == RB_OK)
		m->status = rb_curve_add_all(m->curve);
	for (uint32_t i = 0; i < n && m->status == RB_OK && order != 3; i++)
	{
		const uint32_t k = (uint32_t) (((uint64_t) i * step + order) % n);

		m->status = rb_curve_add(m->curve, k / blue->n, k % blue->n);
		if (order > 2 && i % order == 1 && m->status == RB_OK) /* Add the pair again */
			m->status = rb_curve_add(m->curve, k / blue->n, k % blue->n);
	}
	if (m->status == RB_OK)
		m->status = rb_curve_finish(m->curve, &m->shape);
}

static void
drop(made *m)
{
	rb_curve_close(&m->curve);
}

static const char *
payload(const rb_intersection *s)
{
	static char text[4000];
	size_t n = 0;

#define TELL(...)              \
	if (n < sizeof text - 100) \
	n += (size_t) snprintf(text + n, 100, __VA_ARGS__)
	for (uint32_t i = 0; i < s->npoints; i++)
	{
		TELL(" point %g %g %g", s->points[3 * i], s->points[3 * i + 1], s->points[3 * i + 2]);
	}
	for (uint32_t i = 0; i < s->nlines; i++)
	{
		TELL(" line");
		for (uint32_t k = s->line[i]; k < s->line[i + 1]; k++)
		{
			TELL(" (%g %g %g)", s->line_corners[3 * k], s->line_corners[3 * k + 1],
				 s->line_corners[3 * k + 2]);
		}
	}
	for (uint32_t i = 0; i < s->nrings; i++)
	{
		TELL(" ring");
		for (uint32_t k = s->ring[i]; k < s->ring[i + 1]; k++)
		{
			TELL(" (%g %g %g)", s->ring_corners[3 * k], s->ring_corners[3 * k + 1],
				 s->ring_corners[3 * k + 2]);
		}
	}
	text[n] = 0;
	return text;
}

/* Checks the numbers of points, lines, polygons, rings, and vertices of lines and of rings. */
static void
expect(const char *what, uint32_t points, uint32_t lines, uint32_t polygons, uint32_t rings,
	   uint32_t line_corners, uint32_t ring_corners)
{
	for (uint32_t order = 0; order < 8; order++)
	{
		made m;
		rb_intersection *s = &m.shape;

		make(&m, memory, order, order % 2 == 1);
		CHECK(m.status == RB_OK, "%s: status %d", what, m.status);
		if (m.status == RB_OK)
			CHECK(s->npoints == points && s->nlines == lines && s->npolygons == polygons &&
					  s->nrings == rings && s->line[s->nlines] == line_corners &&
					  s->ring[s->nrings] == ring_corners,
				  "%s, order %u: %s", what, order, payload(s));
		drop(&m);
	}
}

static bool
same_doubles(const double *a, const double *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

static bool
same_bytes(const void *a, const void *b, size_t n)
{
	return n == 0 || memcmp(a, b, n) == 0;
}

/* Compares everything except polygons, which may be oriented the other way. */
static bool
same_lines(const rb_intersection *s, const rb_intersection *t)
{
	return s->npoints == t->npoints && s->nlines == t->nlines && s->npolygons == t->npolygons &&
		   s->nrings == t->nrings && s->ring[s->nrings] == t->ring[t->nrings] &&
		   same_bytes(s->line, t->line, (s->nlines + 1) * sizeof *s->line) &&
		   same_bytes(s->points, t->points, s->npoints * 3 * sizeof(double)) &&
		   same_bytes(s->line_corners, t->line_corners, 3 * s->line[s->nlines] * sizeof(double));
}

static bool
same_shape(const rb_intersection *s, const rb_intersection *t)
{
	return same_lines(s, t) &&
		   same_bytes(s->polygon, t->polygon, (s->npolygons + 1) * sizeof *s->polygon) &&
		   same_bytes(s->ring, t->ring, (s->nrings + 1) * sizeof *s->ring) &&
		   same_bytes(s->ring_corners, t->ring_corners, 3 * s->ring[s->nrings] * sizeof(double));
}

/* ---- known results ---- */

static void
cubes(void)
{
	made m;

	clear();
	cube(0, false, 0, 0, 0, 2, 2, 2);
	cube(1, true, 1, 1, 1, 2, 2, 2);
	expect("cube through cube", 0, 1, 0, 0, 7, 0);
	make(&m, memory, 0, false);
	CHECK(same_doubles(m.shape.line_corners,
					   P(1, 1, 2, 1, 2, 2, 1, 2, 1, 2, 2, 1, 2, 1, 1, 2, 1, 2, 1, 1, 2), 21),
		  "%s", payload(&m.shape));
	drop(&m);

	for (int other = 0; other < 2; other++)
	{
		clear();
		cube(0, false, 0, 0, 0, 1, 1, 1);
		cube(1, other, 1, 0, 0, 1, 1, 1);
		expect("a common face", 0, 0, 1, 1, 0, 5);
		make(&m, memory, 0, false);
		/* It is oriented like red's face: counterclockwise seen from the inside of blue. */
		CHECK(
			same_doubles(m.shape.ring_corners, P(1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 0, 0), 15),
			"%s", payload(&m.shape));
		drop(&m);
		make(&m, memory, 0, true);
		CHECK(
			same_doubles(m.shape.ring_corners, P(1, 0, 0, 1, 0, 1, 1, 1, 1, 1, 1, 0, 1, 0, 0), 15),
			"%s", payload(&m.shape));
		drop(&m);
	}
	clear();
	cube(0, false, 0, 0, 0, 4, 4, 4);
	cube(1, true, 4, 1, 1, 2, 2, 2);
	expect("a face in a face", 0, 0, 1, 1, 0, 5);
	clear();
	cube(0, false, 0, 0, 0, 4, 4, 4);
	cube(1, true, 4, 4, 1, 2, 2, 2);
	expect("a common edge", 0, 1, 0, 0, 2, 0);
	clear();
	cube(0, false, 0, 0, 0, 4, 4, 4);
	cube(1, true, 4, 4, 4, 2, 2, 2);
	expect("a common corner", 1, 0, 0, 0, 0, 0);
	clear();
	cube(0, false, 0, 0, 0, 4, 4, 4);
	cube(1, true, 1, 1, 3, 2, 2, 2);
	expect("a tower through a roof", 0, 1, 0, 0, 5, 0);
	clear();
	cube(0, false, 0, 0, 0, 4, 4, 4);
	cube(1, true, 0, 0, 0, 4, 4, 4);
	expect("the same cube", 0, 0, 6, 6, 0, 30);
	/*
	 * One box stands on top of the other, and their walls are flush: a floor, and a part of a wall.
	 */
	clear();
	cube(0, false, 0, 0, 0, 4, 4, 4);
	cube(1, true, 0, 1, 2, 2, 2, 2);
	expect("inside, at a wall and the roof", 0, 0, 2, 2, 0, 10);
	clear();
	cube(0, false, 0, 0, 0, 4, 4, 4);
	cube(1, true, 0, 1, 2, 2, 2, 4);
	expect("at a wall, through the roof", 0, 1, 1, 1, 4, 5);
	/* Blue consists of two boxes that share a wall, and red's face touches both. */
	clear();
	cube(0, false, 0, 0, 0, 4, 4, 4);
	cube(1, true, 4, 0, 0, 2, 2, 4);
	cube(1, false, 4, 2, 0, 2, 2, 4);
	expect("two in a row", 0, 0, 1, 1, 0, 5);
	clear();
	cube(0, false, 0, 0, 0, 4, 4, 4);
	cube(1, true, 4, 0, 0, 2, 3, 4);
	cube(1, false, 4, 2, 0, 2, 2, 4);
	expect("two that overlap", 0, 0, 1, 1, 0, 5);
}

/* Adds an n-sided tube between two heights. */
static void
tube(int side, int n, double r, double low, double high)
{
	for (int i = 0; i < n; i++)
	{
		const double a = 2 * M_PI * i / n, b = 2 * M_PI * ((i + 1) % n) / n;

		quad(side, i % 2 == 1, P(r * cos(a), r * sin(a), low), P(r * cos(b), r * sin(b), low),
			 P(r * cos(b), r * sin(b), high), P(r * cos(a), r * sin(a), high));
	}
}

static void
rings(void)
{
	clear();
	tube(0, 16, 1, -1, 1);
	quad(1, false, P(-3, -3, .3), P(3, -3, .3), P(3, 3, .3), P(-3, 3, .3));
	expect("a tube through a plane", 0, 1, 0, 0, 17, 0);
	clear();
	tube(0, 16, 1, -1, 1);
	quad(1, false, P(-3, -3, -.25), P(3, -3, .125), P(3, 3, .375), P(-3, 3, 0));
	expect("a tube through a tilted plane", 0, 1, 0, 0, 17, 0);
	clear();
	tube(0, 16, 1, -1, 1);
	quad(1, false, P(-3, -3, .3), P(.1, -3, .3), P(.1, 3, .3), P(-3, 3, .3));
	{
		made m;

		make(&m, memory, 0, false);
		CHECK(m.shape.nlines == 1 && m.shape.npoints == 0 && m.shape.line[1] == 11,
			  "half a ring: %s", payload(&m.shape));
		drop(&m);
	}
	clear();
	tube(0, 8, 1, -1, 1);
	tube(0, 8, 2, -1, 1);
	quad(1, false, P(-3, -3, .3), P(3, -3, .3), P(3, 3, .3), P(-3, 3, .3));
	quad(1, true, P(-3, -3, .6), P(3, -3, .6), P(3, 3, .6), P(-3, 3, .6));
	expect("four rings", 0, 4, 0, 0, 36, 0);
}

static void
junctions(void)
{
	/* Three walls that share an edge pass through a floor. */
	clear();
	quad(0, false, P(0, 0, -1), P(0, 0, 1), P(4, 0, 1), P(4, 0, -1));
	quad(0, true, P(0, 0, -1), P(0, 0, 1), P(-3, 3, 1), P(-3, 3, -1));
	quad(0, false, P(0, 0, -1), P(0, 0, 1), P(-3, -2, 1), P(-3, -2, -1));
	quad(1, false, P(-9, -9, 0), P(9, -9, 0), P(9, 9, 0), P(-9, 9, 0));
	expect("three walls", 0, 3, 0, 0, 6, 0);
	/* Two of these walls */
	it.side[0].n = 4;
	expect("two walls", 0, 1, 0, 0, 3, 0);
	/* Two walls in one plane */
	clear();
	quad(0, false, P(0, 0, -1), P(0, 0, 1), P(4, 4, 1), P(4, 4, -1));
	quad(0, true, P(0, 0, -1), P(0, 0, 1), P(-3, -3, 1), P(-3, -3, -1));
	quad(1, false, P(-9, -8, 0), P(9, -9, 0), P(9, 9, 0), P(-9, 9, 0));
	expect("one wall in two parts", 0, 1, 0, 0, 2, 0);
	/* A third wall ends where these two meet: the point is a vertex of a line, but not an end. */
	quad(0, true, P(0, 0, -1), P(0, 0, 1), P(-3, 3, 1), P(-3, 3, -1));
	expect("and a third one", 0, 2, 0, 0, 5, 0);
	/* A third wall that ends in the middle of another */
	clear();
	quad(0, false, P(-4, -4, -1), P(-4, -4, 1), P(4, 4, 1), P(4, 4, -1));
	quad(0, true, P(1, 1, -1), P(1, 1, 1), P(-3, 3, 1), P(-3, 3, -1));
	quad(1, false, P(-9, -8, 0), P(9, -9, 0), P(9, 9, 0), P(-9, 9, 0));
	expect("in the middle", 0, 2, 0, 0, 5, 0);
	/* A third wall in the middle, where no vertex is exactly representable */
	clear();
	triangle(0, P(-4, -4, -1), P(-4, -4, 1), P(5, 5, .1));
	triangle(0, P(1, 1, -1), P(1.5, 1.5, 1), P(-3, 4, .1));
	triangle(1, P(-9, -8, .2), P(9, -9, .1), P(0, 19, .05));
	expect("somewhere in the middle", 0, 2, 0, 0, 5, 0);
	/* Four walls, of which two and two are coplanar: two lines that cross */
	clear();
	quad(0, false, P(0, 0, -1), P(0, 0, 1), P(4, 0, 1), P(4, 0, -1));
	quad(0, true, P(0, 0, -1), P(0, 0, 1), P(-4, 0, 1), P(-4, 0, -1));
	quad(0, false, P(0, 0, -1), P(0, 0, 1), P(0, 4, 1), P(0, 4, -1));
	quad(0, true, P(0, 0, -1), P(0, 0, 1), P(0, -4, 1), P(0, -4, -1));
	quad(1, false, P(-9, -8, 0), P(9, -9, 0), P(9, 9, 0), P(-9, 9, 0));
	expect("a cross", 0, 2, 0, 0, 4, 0);
}

static double
length_of_lines(const rb_intersection *s)
{
	double sum = 0;

	for (uint32_t i = 0; i < s->nlines; i++)
		for (uint32_t k = s->line[i]; k + 1 < s->line[i + 1]; k++)
		{
			double square = 0;

			for (int j = 0; j < 3; j++)
				square += pow(s->line_corners[3 * k + 3 + j] - s->line_corners[3 * k + j], 2);
			sum += sqrt(square);
		}
	return sum;
}

static void
wall(double a, double b, double c, double d)
{
	quad(0, check_below(2) == 0, P(a, b, -1), P(a, b, 1), P(c, d, 1), P(c, d, -1));
}

/*
 * Tests a U-shape with two walls in its middle, seen from all sides: the vertices in the middle
 * must be in order.
 */
static void
in_order(void)
{
	for (int i = 0; i < 8; i++)
	{
		const int f = i & 1 ? -1 : 1, g = i & 2 ? -1 : 1;
		made m;

#define WALL(a, b, c, d) i & 4 ? wall(g *b, f *a, g *d, f *c) : wall(f *a, g *b, f *c, g *d)
		clear();
		WALL(0, 0, 0, 5);
		WALL(9, 0, 9, 5);
		WALL(0, 0, 3, 0);
		WALL(6, 0, 9, 0);
		WALL(3, 0, 6, 0);
		WALL(3, 0, 3, -2);
		WALL(6, 0, 6, -4);
		quad(1, false, P(-19, -19, 0), P(19, -19, 0), P(19, 19, 0), P(-19, 19, 0));
		expect("a U", 0, 3, 0, 0, 10, 0);
		make(&m, memory, (uint32_t) i, false);
		CHECK(length_of_lines(&m.shape) == 25, "%s", payload(&m.shape));
		drop(&m);
	}
}

/* Tests coordinates that are coarse on one axis, and not on the others. */
static void
coarse(void)
{
	const double x = 0x1p52, z = 0x1p53;
	made m;

	/*
	 * The line from (x, 0) to (x + 10, -9), in three parts; the ends of the middle part have the
	 * same x.
	 */
	for (int way = -1; way < 2; way += 2)
	{
		clear();
		quad(0, false, P(x, 0, -1), P(x + 10, way * -9, -1), P(x + 10, way * -9, 1), P(x, 0, 1));
		quad(1, false, P(x - 9, way * -9, 0), P(x + 90, way * -9, 0), P(x + 90, way * -4.25, 0),
			 P(x - 9, way * -4.25, 0));
		quad(1, true, P(x - 9, way * -4.25, 0), P(x + 90, way * -4.25, 0),
			 P(x + 90, way * -4.125, 0), P(x - 9, way * -4.125, 0));
		quad(1, false, P(x - 9, way * -4.125, 0), P(x + 90, way * -4.125, 0), P(x + 90, 0, 0),
			 P(x - 9, 0, 0));
		expect("three parts", 0, 1, 0, 0, 2, 0);
		/* Without the middle part */
		memmove(it.coords[1] + 18, it.coords[1] + 36, 18 * sizeof(double));
		it.side[1].n = 4;
		expect("two parts", 0, 2, 0, 0, 4, 0);
	}
	/* Two lines that have the same ends after rounding */
	clear();
	triangle(0, P(x, 0, -1), P(x + 1, 0, 3), P(x, 2, 1));
	triangle(0, P(x, 0, 0), P(x, 1, 0), P(x, 0, 9));
	quad(1, false, P(x - 9, -9, 0), P(x + 9, -9, 0), P(x + 9, 9, 0), P(x - 9, 9, 0));
	expect("two that are one", 0, 1, 0, 0, 2, 0);
	/* A polygon that has no area after rounding */
	clear();
	triangle(0, P(z, -8, 0), P(z + 2, 24, 0), P(z - 2, 24, 0));
	triangle(1, P(z, 8, 0), P(z + 2, -24, 0), P(z - 2, -24, 0));
	expect("a needle", 0, 1, 0, 0, 2, 0);
	make(&m, memory, 0, false);
	CHECK(same_doubles(m.shape.line_corners, P(z, -8, 0, z, 8, 0), 6), "%s", payload(&m.shape));
	drop(&m);
}

static void
points(void)
{
	/* An apex on a face, on its edge, on its vertex, and on a vertex shared by several faces */
	for (int i = 0; i < 4; i++)
	{
		const double x = i == 0 ? 1 : i == 1 ? 2 : 0, y = i == 0 ? 1 : i == 1 ? 2 : 0;

		clear();
		for (int k = 0; k < 5; k++)
			triangle(0, P(x, y, 0), P(x + k, 1 - k, 3), P(x - k, k * k, 3));
		quad(1, false, P(0, 0, 0), P(4, 0, 0), P(4, 4, 0), P(0, 4, 0));
		if (i == 3)
			quad(1, true, P(0, 0, 0), P(-4, 0, 0), P(-4, -4, 0), P(0, -4, 0));
		expect("an apex", 1, 0, 0, 0, 0, 0);
	}
	/* An apex on a line of the intersection: the point is already part of the line. */
	clear();
	triangle(0, P(1, 1, 0), P(2, 1, 3), P(2, 2, 3));
	triangle(0, P(0, 0, -1), P(0, 0, 1), P(4, 4, 0));
	triangle(1, P(0, -3, 0), P(5, -1, 0), P(1, 9, 0));
	{
		made m;

		make(&m, memory, 0, false);
		CHECK(m.shape.nlines == 1 && m.shape.npoints == 0 && m.shape.line[1] == 2, "%s",
			  payload(&m.shape));
		drop(&m);
	}
	/* An apex on a polygon of the intersection */
	clear();
	triangle(0, P(1, 1, 0), P(2, 1, 3), P(2, 2, 3));
	triangle(0, P(0, 0, 0), P(9, 0, 0), P(0, 9, 0));
	triangle(1, P(-1, -1, 0), P(5, -1, 0), P(-1, 9, 0));
	expect("on a polygon", 0, 0, 1, 1, 0, 4);
	/* A point in the plane and in the box of a polygon, where two edges cross */
	clear();
	triangle(0, P(0, 0, 0), P(8, 0, 0), P(0, 8, 0));
	triangle(1, P(0, 0, 0), P(8, 0, 0), P(0, 8, 0));
	triangle(0, P(7, 7, -1), P(8, 7, 1), P(9, 7, -1));
	triangle(1, P(7.5, 6, 0), P(7.5, 8, 0), P(5, 7, 5));
	expect("beside a polygon", 1, 0, 1, 1, 0, 4);
	/* Lines through a surface: one point each, also where two triangles meet */
	clear();
	it.side[0].kind = RB_SEGMENT3;
	add(0, P(1, 1, -1, 1, 1, 1));
	add(0, P(2, 2, -1, 2, 2, 1));
	add(0, P(3, 1, -1, 3, 1, 2));
	add(0, P(3, 1, -1, 3, 1, 2));
	quad(1, false, P(0, 0, 0), P(4, 0, 0), P(4, 4, 0), P(0, 4, 0));
	expect("drill holes", 3, 0, 0, 0, 0, 0);
	/* Lines along a surface, and beyond its edge */
	clear();
	it.side[0].kind = RB_SEGMENT3;
	add(0, P(-1, 1, 0, 2, 1, 0));
	add(0, P(2, 1, 0, 3, 3, 0));
	add(0, P(3, 3, 0, 3, 3, 5));
	quad(1, false, P(0, 0, 0), P(4, 0, 0), P(4, 4, 0), P(0, 4, 0));
	expect("along a surface", 0, 1, 0, 0, 3, 0);
}

static void
clear2(void)
{
	clear();
	it.side[0].kind = it.side[1].kind = RB_SEGMENT2;
}

static void
flat_lines(void)
{
	clear2();
	add(0, P(0, 0, 10, 5));
	add(1, P(2, 1, 4, 2));
	add(1, P(4, 2, 8, 4));
	add(1, P(6, 3, 12, 6));
	add(1, P(1, 9, 1, -9));
	add(1, P(5, 9, 5, -9));
	expect("on one line", 1, 1, 0, 0, 2, 0);
	/* A street and a river: points where they cross, only once where one of them has a vertex */
	clear2();
	PATH2(0, 0, 0, 5, 5, 9, 0);
	PATH2(1, 0, 5, 5, 5, 9, 9, 9, -9);
	expect("a corner on a corner", 2, 0, 0, 0, 0, 0);
	/* Rings of two parcels with a common border that is divided in different places */
	clear2();
	PATH2(0, 0, 0, 4, 0, 4, 2, 4, 6, 0, 0);
	PATH2(1, 9, 9, 4, 8, 4, 3, 4, 1, 9, 9);
	expect("a common border", 0, 1, 0, 0, 2, 0);
}

/* ---- polygons ---- */

static void
in_plane(const int *to, int sign, double a, double b, double *at)
{
	at[0] = at[1] = at[2] = 0;
	at[to[0]] = sign * a;
	at[to[1]] = b;
}

/* Adds a polygon, given by its vertices in order, in the plane of two axes. */
static void
flat(int side, const int *to, int sign, int n, const double *x)
{
	double p[4][3];

	for (int i = 0; i < n; i++)
		in_plane(to, sign, x[2 * i], x[2 * i + 1], p[i]);
	if (n == 3)
		triangle(side, p[0], p[1], p[2]);
	else
		quad(side, check_below(2) == 0, p[0], p[1], p[2], p[3]);
}

/*
 * Builds a frame in which two triangles touch the middle of an edge with one vertex each: three
 * holes that touch.
 */
static void
frame(const int *to, int sign)
{
	flat(0, to, sign, 4, P(0, -2, 9, -2, 9, 0, 0, 0));
	flat(0, to, sign, 3, P(3, 0, 4, 3, 2, 3));
	flat(0, to, sign, 3, P(6, 0, 7, 3, 5, 3));
	flat(0, to, sign, 4, P(0, 3, 9, 3, 9, 4, 0, 4));
	flat(0, to, sign, 4, P(-2, -2, 0, -2, 0, 4, -2, 4));
	flat(0, to, sign, 4, P(9, -2, 11, -2, 11, 4, 9, 4));
	flat(1, to, sign, 3, P(-50, -50, 60, -50, 0, 90));
}

static void
touching_holes(void)
{
	static const int planes[3][2] = {{0, 1}, {0, 2}, {1, 2}};

	for (int sign = -1; sign < 2; sign += 2)
	{
		for (int i = 0; i < 3; i++)
		{
			clear();
			frame(planes[i], sign);
			expect("holes that touch", 0, 0, 1, 4, 0, 20);
		}
		/* Two frames in planes that have the edge in common */
		clear();
		frame(planes[0], sign);
		frame(planes[1], sign);
		expect("in two planes", 0, 0, 2, 8, 0, 40);
	}
}

/*
 * Tests lines and planes that differ by less than the last bit of their largest coordinates, but by
 * more than that of small ones.
 */
static void
nearly_one(void)
{
	clear();
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < 2; i++)
		{
			const double z = 3.125 + i * 0x1p-40;

			quad(side, side > 0, P(500000, 5000000, z), P(500010, 5000000, z + 5),
				 P(500010, 5000010, z + 5), P(500000, 5000010, z));
		}
	expect("two faces, one above the other", 0, 0, 2, 2, 0, 10);
	clear();
	for (int side = 0; side < 2; side++)
	{
		it.side[side].kind = RB_SEGMENT2;
		for (int i = 0; i < 2; i++)
			add(side, P(1e16, i, 1e16 + 2, i + 2));
	}
	expect("two lines side by side", 0, 2, 0, 0, 4, 0);
}

/* ---- cells of a plane: counting the intersection of two sets of cells ---- */

#define CELLS 6

static bool cell[2][CELLS + 2][CELLS + 2]; /* With a margin */

static void
put_cells(int side)
{
	for (int x = 1; x <= CELLS; x++)
		for (int y = 1; y <= CELLS; y++)
		{
#define AT(x, y) P(x, y, 2 * (x) + 3 * (y))
			if (cell[side][x][y])
				quad(side, check_below(2) == 0, AT(x, y), AT(x + 1, y), AT(x + 1, y + 1),
					 AT(x, y + 1));
		}
}

static bool
both(int x, int y)
{
	return cell[0][x][y] && cell[1][x][y];
}

/* Counts the components of cells connected by edges, by flood filling. */
static int
components(void)
{
	bool seen[CELLS + 2][CELLS + 2] = {{false}};
	int stack[(CELLS + 2) * (CELLS + 2) * 4][2], count = 0;

	for (int i = 1; i <= CELLS; i++)
		for (int j = 1; j <= CELLS; j++)
		{
			int n = 0;

			if (seen[i][j] || !both(i, j))
				continue;
			count++;
			stack[n][0] = i;
			stack[n++][1] = j;
			while (n > 0)
			{
				const int x = stack[--n][0], y = stack[n][1];

				if (seen[x][y] || !both(x, y))
					continue;
				seen[x][y] = true;
				for (int k = 0; k < 4; k++)
				{
					stack[n][0] = x + (k == 0) - (k == 1);
					stack[n++][1] = y + (k == 2) - (k == 3);
				}
			}
		}
	return count;
}

static double
ring_area(const double *p, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i + 1 < n; i++)
		sum += p[3 * i] * p[3 * i + 4] - p[3 * i + 3] * p[3 * i + 1];
	return sum / 2;
}

static void
cells(void)
{
	const long rounds = check_rounds(400);
	long holes = 0, lone = 0, with_lines = 0;

	for (long round = 0; round < rounds; round++)
	{
		const int one_in = 2 + check_below(6);
		double area = 0, length = 0;
		int cells = 0, edges = 0, corners = 0;
		bool right = true;
		made m;

		memset(cell, 0, sizeof cell);
		for (int s = 0; s < 2; s++)
			for (int x = 1; x <= CELLS; x++)
				for (int y = 1; y <= CELLS; y++)
					cell[s][x][y] = check_below(one_in) != 0;
		if (round % 4 == 0) /* Few cells */
			for (int i = 0; i < 100; i++)
				cell[check_below(2)][1 + check_below(CELLS)][1 + check_below(CELLS)] = false;
		clear();
		put_cells(0);
		put_cells(1);
		if (it.side[0].n * it.side[1].n == 0)
			continue;
		for (int x = 1; x <= CELLS + 1; x++)
			for (int y = 1; y <= CELLS + 1; y++)
			{
				bool on[2] = {false, false}, covered = false;

				cells += both(x, y);
				/* Edges below and to the left of the cell */
				for (int k = 0; k < 2; k++)
				{
					const int i = x - (k == 0), j = y - (k == 1);
					const bool red = cell[0][x][y] || cell[0][i][j];
					const bool blue = cell[1][x][y] || cell[1][i][j];

					edges += red && blue && !both(x, y) && !both(i, j);
				}
				/* Vertex of the cell, and the four cells and four edges at it */
				for (int k = 0; k < 4; k++)
				{
					const int i = x - (k & 1), j = y - (k >> 1);

					on[0] |= cell[0][i][j];
					on[1] |= cell[1][i][j];
					covered |= both(i, j);
				}
				for (int k = 0; k < 4; k++)
				{
					/* Cells on both sides of an edge that ends here */
					const int a[4][4] = {{x, y, x - 1, y},
										 {x, y - 1, x - 1, y - 1},
										 {x, y, x, y - 1},
										 {x - 1, y, x - 1, y - 1}};
					const bool red = cell[0][a[k][0]][a[k][1]] || cell[0][a[k][2]][a[k][3]];
					const bool blue = cell[1][a[k][0]][a[k][1]] || cell[1][a[k][2]][a[k][3]];

					covered |= red && blue;
				}
				corners += on[0] && on[1] && !covered;
			}
		make(&m, memory, (uint32_t) check_below(50), false);
		CHECK(m.status == RB_OK, "status %d", m.status);
		if (m.status != RB_OK)
			continue;
		for (uint32_t i = 0; i < m.shape.npolygons; i++)
			for (uint32_t k = m.shape.polygon[i]; k < m.shape.polygon[i + 1]; k++)
			{
				const double *p = m.shape.ring_corners + 3 * (size_t) m.shape.ring[k];
				const double a = ring_area(p, m.shape.ring[k + 1] - m.shape.ring[k]);

				right &= (a > 0) == (k == m.shape.polygon[i]);
				area += a;
				holes += k > m.shape.polygon[i];
			}
		for (uint32_t i = 0; i < m.shape.nlines; i++)
			for (uint32_t k = m.shape.line[i]; k + 1 < m.shape.line[i + 1]; k++)
				length += fabs(m.shape.line_corners[3 * k] - m.shape.line_corners[3 * k + 3]) +
						  fabs(m.shape.line_corners[3 * k + 1] - m.shape.line_corners[3 * k + 4]);
		CHECK(right, "a hole is turned as an outer ring is: %s", payload(&m.shape));
		CHECK(area == cells, "area %g of %d", area, cells);
		CHECK(m.shape.npolygons == (uint32_t) components(), "%u polygons of %d", m.shape.npolygons,
			  components());
		CHECK(length == edges, "length %g of %d: %s", length, edges, payload(&m.shape));
		CHECK(m.shape.npoints == (uint32_t) corners, "%u points of %d", m.shape.npoints, corners);
		{
			made other;

			make(&other, memory, 1 + (uint32_t) check_below(50), false);
			CHECK(other.status == RB_OK && same_shape(&m.shape, &other.shape), "another order: %s",
				  payload(&other.shape));
			drop(&other);
		}
		lone += m.shape.npoints;
		with_lines += m.shape.nlines > 0;
		drop(&m);
	}
	CHECK(holes > rounds / 8 && lone > rounds / 40 && with_lines > rounds / 8,
		  "%ld holes, %ld points, %ld with lines", holes, lone, with_lines);
}

/* ---- fractions ---- */

typedef __int128 whole;

/* A fraction in lowest terms; bottom > 0 */
typedef struct fraction
{
	whole top, bottom;
} fraction;

static bool overflowed;

static whole
times(whole a, whole b)
{
	whole r;

	overflowed |= __builtin_mul_overflow(a, b, &r);
	return r;
}

static whole
plus(whole a, whole b)
{
	whole r;

	overflowed |= __builtin_add_overflow(a, b, &r);
	return r;
}

static fraction
lowest(whole top, whole bottom)
{
	whole a = top < 0 ? -top : top, b = bottom < 0 ? -bottom : bottom;

	while (b != 0)
	{
		const whole r = a % b;

		a = b;
		b = r;
	}
	if (bottom < 0)
		a = -a;
	if (a == 0)
	{
		overflowed = true;
		return (fraction){0, 1};
	}
	return (fraction){top / a, bottom / a};
}

static fraction
f_add(fraction a, fraction b)
{
	return lowest(plus(times(a.top, b.bottom), times(b.top, a.bottom)), times(a.bottom, b.bottom));
}

static fraction
f_mul(fraction a, fraction b)
{
	const fraction x = lowest(a.top, b.bottom), y = lowest(b.top, a.bottom);

	return (fraction){times(x.top, y.top), times(x.bottom, y.bottom)};
}

static fraction
f_sub(fraction a, fraction b)
{
	b.top = -b.top;
	return f_add(a, b);
}

static int
f_sign(fraction a)
{
	return (a.top > 0) - (a.top < 0);
}

typedef struct place
{
	fraction at[3];
} place;

static bool
same_place(const place *a, const place *b)
{
	for (int k = 0; k < 3; k++)
		if (a->at[k].top != b->at[k].top || a->at[k].bottom != b->at[k].bottom)
			return false;
	return true;
}

static place
minus(place a, place b)
{
	for (int k = 0; k < 3; k++)
		a.at[k] = f_sub(a.at[k], b.at[k]);
	return a;
}

static fraction
dot(place a, place b)
{
	fraction sum = {0, 1};

	for (int k = 0; k < 3; k++)
		sum = f_add(sum, f_mul(a.at[k], b.at[k]));
	return sum;
}

static place
cross(place a, place b)
{
	place r;

	for (int k = 0; k < 3; k++)
		r.at[k] = f_sub(f_mul(a.at[(k + 1) % 3], b.at[(k + 2) % 3]),
						f_mul(a.at[(k + 2) % 3], b.at[(k + 1) % 3]));
	return r;
}

static bool
is_zero(place a)
{
	return f_sign(a.at[0]) == 0 && f_sign(a.at[1]) == 0 && f_sign(a.at[2]) == 0;
}

/* Returns the same direction with the smallest possible integer coordinates. */
static place
direction(place a)
{
	whole all = 1, common = 0;

	for (int k = 0; k < 3; k++)
		all = times(all, lowest(a.at[k].bottom, all).top);
	for (int k = 0; k < 3; k++)
	{
		whole x = times(a.at[k].top, all / a.at[k].bottom), b = common;

		for (x = x < 0 ? -x : x; b != 0;)
		{
			const whole r = x % b;

			x = b;
			b = r;
		}
		common = x;
	}
	for (int k = 0; k < 3 && common != 0; k++)
		a.at[k] = (fraction){times(a.at[k].top, all / a.at[k].bottom) / common, 1};
	return a;
}

/* Returns (1 - t) a + t b. */
static place
mix(place a, place b, fraction t)
{
	for (int k = 0; k < 3; k++)
		a.at[k] = f_add(a.at[k], f_mul(t, f_sub(b.at[k], a.at[k])));
	return a;
}

/* ---- convex sets: their vertices in order, and their bounds ---- */

typedef struct bound
{
	place normal;
	fraction at_least;
} bound;

typedef struct convex
{
	place corner[24];
	bound bounds[24];
	int n, nbounds, dimension;
} convex;

static void
put_bound(convex *c, place normal, place through, bool both_sides)
{
	bound *b = &c->bounds[c->nbounds++];

	b->normal = normal = direction(normal);
	b->at_least = dot(normal, through);
	if (!both_sides)
		return;
	for (int k = 0; k < 3; k++)
		normal.at[k].top = -normal.at[k].top;
	put_bound(c, normal, through, false);
}

static bool
within(const convex *c, place x)
{
	for (int i = 0; i < c->nbounds; i++)
		if (f_sign(f_sub(dot(c->bounds[i].normal, x), c->bounds[i].at_least)) < 0)
			return false;
	return true;
}

/* Removes vertices that are duplicates or lie between others, and computes the bounds. */
static void
settle(convex *c)
{
	int n = 0;

	for (int i = 0; i < c->n; i++)
	{
		bool there = false;

		for (int k = 0; k < n; k++)
			there |= same_place(&c->corner[i], &c->corner[k]);
		if (!there)
			c->corner[n++] = c->corner[i];
	}
	c->n = n;
	/* If all are collinear, keep only the ends. */
	for (int i = 0; i < c->n && c->n >= 3;)
	{
		const place a = c->corner[(i + c->n - 1) % c->n], b = c->corner[i],
					d = c->corner[(i + 1) % c->n];

		if (!is_zero(cross(minus(b, a), minus(d, b))))
		{
			i++;
			continue;
		}
		/* Drop the middle one of three collinear vertices. */
		{
			const int drop = f_sign(dot(minus(b, a), minus(d, b))) > 0   ? i
							 : f_sign(dot(minus(a, b), minus(d, a))) > 0 ? (i + c->n - 1) % c->n
																		 : (i + 1) % c->n;

			for (int k = drop; k + 1 < c->n; k++)
				c->corner[k] = c->corner[k + 1];
			c->n--;
			i = 0;
		}
	}
	c->nbounds = 0;
	c->dimension = c->n >= 3 ? 2 : c->n - 1;
	for (int k = 0; k < 3 && c->dimension < 2 && c->n > 0; k++)
	{
		place axis = {{{k == 0, 1}, {k == 1, 1}, {k == 2, 1}}};

		if (c->dimension == 1)
			axis = cross(axis, minus(c->corner[1], c->corner[0]));
		put_bound(c, axis, c->corner[0], true);
	}
	if (c->dimension == 1)
	{
		put_bound(c, minus(c->corner[1], c->corner[0]), c->corner[0], false);
		put_bound(c, minus(c->corner[0], c->corner[1]), c->corner[1], false);
	}
	if (c->dimension == 2)
	{
		const place normal =
			cross(minus(c->corner[1], c->corner[0]), minus(c->corner[2], c->corner[0]));

		put_bound(c, normal, c->corner[0], true);
		for (int i = 0; i < c->n; i++)
			put_bound(c, cross(normal, minus(c->corner[(i + 1) % c->n], c->corner[i])),
					  c->corner[i], false);
	}
}

static void
cut_by(convex *c, const bound *b)
{
	place kept[24];
	int n = 0;

	for (int i = 0; i < c->n; i++)
	{
		const place p = c->corner[i], q = c->corner[(i + 1) % c->n];
		const fraction fp = f_sub(dot(b->normal, p), b->at_least);
		const fraction fq = f_sub(dot(b->normal, q), b->at_least);

		if (f_sign(fp) >= 0)
			kept[n++] = p;
		if (f_sign(fp) * f_sign(fq) < 0)
		{
			const fraction d = f_sub(fp, fq);

			kept[n++] = mix(p, q, f_mul(fp, lowest(d.bottom, d.top)));
		}
	}
	memcpy(c->corner, kept, (size_t) n * sizeof *kept);
	c->n = n;
}

/* Computes the intersection of two convex sets. Returns false if it is empty. */
static bool
in_both(const convex *a, const convex *b, convex *c)
{
	*c = *a;
	for (int i = 0; i < b->nbounds && c->n > 0; i++)
		cut_by(c, &b->bounds[i]);
	settle(c);
	return c->n > 0;
}

/* ---- reference implementation ---- */

#define PIECES 400
#define PLACES 40000

static struct
{
	convex part[2][64];
	convex piece[PIECES];
	int npieces;
	place place[PLACES];  /* Points where anything may begin or end */
	double at[PLACES][3]; /* Coordinates of these points, rounded */
	int nplaces;
	double shift[3];
	double scale[3]; /* Powers of two */
	bool full;
} twin;

/* Returns the double nearest to scale x + shift. */
static double
nearest(fraction x, double scale, double shift)
{
	mpq_t exact, near, apart, apart2;
	mpz_t z;
	double down, best;
	const unsigned __int128 top = (unsigned __int128) (x.top < 0 ? -x.top : x.top);
	const unsigned __int128 bottom = (unsigned __int128) x.bottom;

	mpq_inits(exact, near, apart, apart2, NULL);
	mpz_init(z);
	mpz_import(mpq_numref(exact), 1, -1, sizeof top, 0, 0, &top);
	mpz_import(mpq_denref(exact), 1, -1, sizeof bottom, 0, 0, &bottom);
	mpq_canonicalize(exact);
	if (x.top < 0)
		mpq_neg(exact, exact);
	mpq_set_d(near, scale);
	mpq_mul(exact, exact, near);
	mpq_set_d(near, shift);
	mpq_add(exact, exact, near);
	best = down = mpq_get_d(exact);
	for (int i = 0; i < 2; i++)
	{
		const double other = nextafter(down, i == 0 ? -INFINITY : INFINITY);
		int order;

		mpq_set_d(near, best);
		mpq_sub(apart, exact, near);
		mpq_abs(apart, apart);
		mpq_set_d(near, other);
		mpq_sub(apart2, exact, near);
		mpq_abs(apart2, apart2);
		order = mpq_cmp(apart2, apart);
		if (order < 0)
			best = other;
		else if (order == 0)
		{
			uint64_t bits;

			memcpy(&bits, &best, sizeof bits);
			best = bits & 1 ? other : best;
		}
	}
	mpq_clears(exact, near, apart, apart2, NULL);
	mpz_clear(z);
	return best;
}

static void
put_places(const convex *c)
{
	for (int i = 0; i < c->n; i++)
	{
		int k = 0;

		while (k < twin.nplaces && !same_place(&twin.place[k], &c->corner[i]))
			k++;
		if (k < twin.nplaces)
			continue;
		if (k == PLACES)
		{
			twin.full = true;
			return;
		}
		twin.place[twin.nplaces++] = c->corner[i];
		for (int j = 0; j < 3; j++)
			twin.at[k][j] = nearest(c->corner[i].at[j], twin.scale[j], twin.shift[j]);
	}
}

/* Computes the reference. Parts have integer coordinates before they are scaled and shifted. */
static void
make_twin(void)
{
	twin.npieces = twin.nplaces = 0;
	twin.full = overflowed = false;
	for (int s = 0; s < 2; s++)
		for (uint32_t i = 0; i < it.side[s].n; i++)
		{
			convex *c = &twin.part[s][i];
			const int dims = rb_kind_dims(it.side[s].kind);

			c->n = rb_kind_points(it.side[s].kind);
			for (int k = 0; k < c->n; k++)
				for (int j = 0; j < 3; j++)
				{
					const double x = j < dims ? it.coords[s][(size_t) i * (size_t) (dims * c->n) +
															 (size_t) (dims * k + j)]
											  : 0;

					c->corner[k].at[j] = (fraction){(whole) x, 1};
				}
			settle(c);
		}
	for (uint32_t i = 0; i < it.side[0].n; i++)
		for (uint32_t k = 0; k < it.side[1].n && twin.npieces < PIECES; k++)
			twin.npieces += in_both(&twin.part[0][i], &twin.part[1][k], &twin.piece[twin.npieces]);
	twin.full |= twin.npieces == PIECES;
	for (int i = 0; i < twin.npieces; i++)
	{
		put_places(&twin.piece[i]);
		for (int k = 0; k < i; k++)
		{
			convex both_of;

			if (in_both(&twin.piece[i], &twin.piece[k], &both_of))
				put_places(&both_of);
		}
	}
	/* Scale and shift the coordinates that the core receives. */
	for (int s = 0; s < 2; s++)
	{
		const int dims = rb_kind_dims(it.side[s].kind);
		const uint32_t width = (uint32_t) rb_kind_width(it.side[s].kind);

		for (uint32_t i = 0; i < it.side[s].n * width; i++)
		{
			const uint32_t k = i % (uint32_t) dims;

			it.coords[s][i] = twin.scale[k] * it.coords[s][i] + twin.shift[k];
			if (it.coords[s][i] == 0 && check_below(2) == 0)
				it.coords[s][i] = -0.0;
		}
	}
}

/* ---- the tested result, as fractions ---- */

static struct
{
	place point[PLACES];
	int npoints;
	place line[PLACES]; /* Straight intervals of lines: two points each */
	int nstretches;
	place ring[PLACES]; /* Edges of rings */
	int ring_of[PLACES];
	place normal[PLACES]; /* Normals of the polygons */
	int nedges;
	int npolygons;
} out;

static const place *
place_at(const double *at)
{
	for (int i = 0; i < twin.nplaces; i++)
		if (same_doubles(twin.at[i], at, 3))
			return &twin.place[i];
	CHECK(false, "%.17g %.17g %.17g is no place where anything ends", at[0], at[1], at[2]);
	return NULL;
}

static bool
take_back(const rb_intersection *s)
{
	const place *p, *q;

	out.npoints = out.nstretches = out.nedges = out.npolygons = 0;
	for (uint32_t i = 0; i < s->npoints; i++)
	{
		if ((p = place_at(s->points + 3 * i)) == NULL)
			return false;
		out.point[out.npoints++] = *p;
	}
	for (uint32_t i = 0; i < s->nlines; i++)
		for (uint32_t k = s->line[i]; k + 1 < s->line[i + 1]; k++)
		{
			if ((p = place_at(s->line_corners + 3 * k)) == NULL ||
				(q = place_at(s->line_corners + 3 * k + 3)) == NULL)
				return false;
			out.line[2 * out.nstretches] = *p;
			out.line[2 * out.nstretches++ + 1] = *q;
		}
	for (uint32_t i = 0; i < s->npolygons; i++)
		for (uint32_t r = s->polygon[i]; r < s->polygon[i + 1]; r++)
			for (uint32_t k = s->ring[r]; k + 1 < s->ring[r + 1]; k++)
			{
				if ((p = place_at(s->ring_corners + 3 * k)) == NULL ||
					(q = place_at(s->ring_corners + 3 * k + 3)) == NULL)
					return false;
				out.ring[2 * out.nedges] = *p;
				out.ring[2 * out.nedges + 1] = *q;
				out.ring_of[out.nedges++] = (int) i;
			}
	out.npolygons = (int) s->npolygons;
	/* The sum of the cross products of its vertices is normal to the plane of a polygon. */
	for (int i = 0; i < out.npolygons; i++)
		out.normal[i] = (place){{{0, 1}, {0, 1}, {0, 1}}};
	for (int i = 0; i < out.nedges; i++)
	{
		place *n = &out.normal[out.ring_of[i]];
		const place x = cross(out.ring[2 * i], out.ring[2 * i + 1]);

		for (int k = 0; k < 3; k++)
			n->at[k] = f_add(n->at[k], x.at[k]);
	}
	for (int i = 0; i < out.npolygons; i++)
		out.normal[i] = direction(out.normal[i]);
	return true;
}

static bool
on_stretch(const place *ends, place x)
{
	const place a = minus(x, ends[0]), b = minus(ends[1], x);

	return is_zero(cross(a, b)) && f_sign(dot(a, b)) >= 0;
}

/* Returns 1 if the point is inside the polygon, 0 if it is on its edge, and -1 if it is outside. */
static int
in_polygon(int polygon, place x)
{
	const place n = out.normal[polygon];
	const int axis = f_sign(n.at[0]) != 0 ? 0 : f_sign(n.at[1]) != 0 ? 1 : 2;
	const int u = (axis + 1) % 3, v = (axis + 2) % 3;
	bool inside = false, looked = false;

	for (int i = 0; i < out.nedges; i++)
	{
		const place *p = &out.ring[2 * i], *q = p + 1;

		if (out.ring_of[i] != polygon)
			continue;
		if (!looked && f_sign(dot(n, minus(x, *p))) != 0)
			return -1;
		looked = true;
		if (on_stretch(p, x))
			return 0;
		if ((f_sign(f_sub(p->at[v], x.at[v])) > 0) != (f_sign(f_sub(q->at[v], x.at[v])) > 0))
		{
			const place a = minus(*q, *p), b = minus(x, *p);
			const int turn = f_sign(f_sub(f_mul(a.at[u], b.at[v]), f_mul(a.at[v], b.at[u])));

			inside ^= (turn > 0) == (f_sign(a.at[v]) > 0);
		}
	}
	return inside ? 1 : -1;
}

/*
 * Counts the polygons around a point, the polygons at whose edge it lies, and the lines and points
 * there.
 */
static void
find_place(place x, int *around, int *at_edge, int *lines, int *points_there)
{
	*around = *at_edge = *lines = *points_there = 0;
	for (int i = 0; i < out.npolygons; i++)
	{
		const int in = in_polygon(i, x);

		*around += in > 0;
		*at_edge += in == 0;
	}
	for (int i = 0; i < out.nstretches; i++)
		*lines += on_stretch(&out.line[2 * i], x);
	for (int i = 0; i < out.npoints; i++)
		*points_there += same_place(&out.point[i], &x);
}

static int pieces_there[3];

static void
find_pieces(place x)
{
	pieces_there[0] = pieces_there[1] = pieces_there[2] = 0;
	for (int i = 0; i < twin.npieces; i++)
		if (within(&twin.piece[i], x))
			pieces_there[twin.piece[i].dimension]++;
}

/* Finds the midpoints of the intervals into which all points on a line segment divide it. */
static int
middles(place a, place b, place *to)
{
	static fraction t[PLACES];
	const place ab = minus(b, a);
	const fraction square = dot(ab, ab);
	int n = 0, m = 0;

	for (int i = 0; i < twin.nplaces; i++)
		if (is_zero(cross(ab, minus(twin.place[i], a))))
		{
			const fraction along = dot(minus(twin.place[i], a), ab);
			fraction x = f_mul(along, lowest(square.bottom, square.top));
			int k = n;

			if (f_sign(x) < 0 || f_sign(f_sub(x, (fraction){1, 1})) > 0)
				continue;
			for (; k > 0 && f_sign(f_sub(t[k - 1], x)) > 0; k--)
				t[k] = t[k - 1];
			t[k] = x;
			n++;
		}
	for (int i = 0; i + 1 < n; i++)
		to[m++] = mix(a, b, f_mul(f_add(t[i], t[i + 1]), (fraction){1, 2}));
	return m;
}

static long seen_polygons, seen_lines, seen_points, seen_bends, too_large;

/* Checks that the result contains the whole intersection exactly once, and nothing else. */
static void
all_and_once(const char *text)
{
	static place x[PLACES];
	int around, at_edge, lines, dots;

	for (int i = 0; i < twin.npieces && !overflowed; i++)
	{
		const convex *c = &twin.piece[i];

		for (int k = 0; k < c->n && c->dimension > 0; k++)
		{
			const int n = middles(c->corner[k], c->corner[(k + 1) % c->n], x);

			for (int j = 0; j < n; j++)
			{
				find_place(x[j], &around, &at_edge, &lines, &dots);
				CHECK(
					overflowed || (lines == (around + at_edge == 0) && dots == 0),
					"the middle of a side of piece %d of dimension %d: in %d polygons, at the edge of "
					"%d, on %d lines, %d points:%s",
					i, c->dimension, around, at_edge, lines, dots, text);
			}
		}
		for (int k = 0; k < 6 && c->dimension == 2; k++)
		{
			/* A random point in the interior */
			place p = mix(c->corner[0], c->corner[1], (fraction){1 + check_below(96), 97});

			for (int j = 2; j < c->n; j++)
				p = mix(p, c->corner[j], (fraction){1 + check_below(88), 89});
			find_place(p, &around, &at_edge, &lines, &dots);
			if (at_edge == 0 && !overflowed)
			{
				int same_plane = 0;

				for (int j = 0; j < out.npolygons; j++)
					same_plane +=
						in_polygon(j, p) > 0 && is_zero(cross(out.normal[j], c->bounds[0].normal));
				CHECK(same_plane == 1, "inside of piece %d: in %d polygons:%s", i, same_plane,
					  text);
			}
		}
		if (c->dimension == 0)
		{
			find_place(c->corner[0], &around, &at_edge, &lines, &dots);
			CHECK(overflowed || dots == (around + at_edge + lines == 0),
				  "a point: in %d polygons, on %d lines, %d points:%s", around + at_edge, lines,
				  dots, text);
		}
	}
	for (int i = 0; i < out.npoints; i++)
	{
		find_pieces(out.point[i]);
		CHECK(overflowed || (pieces_there[0] > 0 && pieces_there[1] + pieces_there[2] == 0),
			  "a point on %d pieces, %d segments, %d polygons:%s", pieces_there[0], pieces_there[1],
			  pieces_there[2], text);
	}
	for (int i = 0; i < out.nstretches; i++)
	{
		const int n = middles(out.line[2 * i], out.line[2 * i + 1], x);

		for (int j = 0; j < n; j++)
		{
			find_pieces(x[j]);
			CHECK(overflowed || (pieces_there[1] > 0 && pieces_there[2] == 0),
				  "a line on %d segments, %d polygons:%s", pieces_there[1], pieces_there[2], text);
		}
	}
	/*
	 * Along the edges of polygons and slightly to both sides of them, there is a piece inside and
	 * none outside.
	 */
	for (int i = 0; i < out.nedges; i++)
	{
		const int n = middles(out.ring[2 * i], out.ring[2 * i + 1], x);
		const place normal = out.normal[out.ring_of[i]];
		const place across = direction(cross(normal, minus(out.ring[2 * i + 1], out.ring[2 * i])));
		const fraction size = dot(across, across);

		for (int j = 0; j < n && j < 3; j++)
			for (int side = -1; side < 2; side++)
			{
				const fraction step = {side, times(plus(size.top / size.bottom, 1), 1000)};
				bool there = false;
				place p = x[j];

				for (int k = 0; k < 3; k++)
					p.at[k] = f_add(p.at[k], f_mul(step, across.at[k]));
				for (int k = 0; k < twin.npieces; k++)
					there |= twin.piece[k].dimension == 2 &&
							 is_zero(cross(normal, twin.piece[k].bounds[0].normal)) &&
							 within(&twin.piece[k], p);
				CHECK(overflowed || there == (in_polygon(out.ring_of[i], p) >= 0),
					  "beside edge %d, side %d: %d, in the polygon: %d:%s", i, side, there,
					  in_polygon(out.ring_of[i], p), text);
			}
	}
}

typedef struct run_end
{
	place at, way;
	bool ends; /* True if the line ends there, too */
} run_end;

/* Checks that lines are as few and as straight as possible. */
static void
few_and_straight(const rb_intersection *s, const char *text)
{
	static run_end e[4 * PLACES];
	int n = 0, around, at_edge, lines, dots;

	for (uint32_t i = 0; i < s->nlines; i++)
	{
		const uint32_t first = s->line[i], last = s->line[i + 1] - 1;
		const bool closed =
			same_doubles(s->line_corners + 3 * first, s->line_corners + 3 * last, 3);

		CHECK(last > first, "a line of one corner");
		for (uint32_t k = first; k <= last; k++)
		{
			const uint32_t before = k > first ? k - 1 : closed ? last - 1 : RB_MAX_OBJECTS;
			const uint32_t after = k < last ? k + 1 : closed ? first + 1 : RB_MAX_OBJECTS;
			const place *x = place_at(s->line_corners + 3 * k);
			const place *a =
				before == RB_MAX_OBJECTS ? NULL : place_at(s->line_corners + 3 * before);
			const place *b = after == RB_MAX_OBJECTS ? NULL : place_at(s->line_corners + 3 * after);

			if (closed && k == last)
				continue;
			if (a != NULL && b != NULL && on_stretch((place[]){*a, *b}, *x))
				continue; /* The line goes straight on */
			if (a != NULL)
				e[n++] = (run_end){*x, minus(*a, *x), b == NULL};
			if (b != NULL)
				e[n++] = (run_end){*x, minus(*b, *x), a == NULL};
			seen_bends += a != NULL && b != NULL && !closed;
		}
	}
	for (int i = 0; i < n; i++)
	{
		int there = 0;

		for (int k = 0; k < n; k++)
		{
			if (!same_place(&e[i].at, &e[k].at))
				continue;
			there++;
			CHECK(k == i || !is_zero(cross(e[i].way, e[k].way)) ||
					  f_sign(dot(e[i].way, e[k].way)) > 0,
				  "it could go straight on:%s", text);
		}
		if (there == 2)
			CHECK(!e[i].ends, "two ends are not one:%s", text);
		/* This is not guaranteed at polygons. */
		find_place(e[i].at, &around, &at_edge, &lines, &dots);
		for (int k = 0; k < out.nstretches && at_edge == 0; k++)
			CHECK(same_place(&e[i].at, &out.line[2 * k]) ||
					  same_place(&e[i].at, &out.line[2 * k + 1]) ||
					  !on_stretch(&out.line[2 * k], e[i].at),
				  "no corner where another one ends:%s", text);
	}
}

/* ---- random triangles ---- */

static void
look_at_soup(long round)
{
	made m, other;

	make_twin();
	too_large += overflowed || twin.full;
	if (overflowed || twin.full || it.side[0].n * it.side[1].n == 0)
		return;
	make(&m, memory, 0, false);
	CHECK(m.status == RB_OK, "round %ld: status %d", round, m.status);
	if (m.status == RB_OK && take_back(&m.shape))
	{
		all_and_once(payload(&m.shape));
		few_and_straight(&m.shape, payload(&m.shape));
		too_large += overflowed;
		seen_polygons += m.shape.npolygons;
		seen_lines += m.shape.nlines;
		seen_points += m.shape.npoints;
	}
	for (int i = 0; i < 4 && m.status == RB_OK; i++)
	{
		const rb_intersection *s = &m.shape, *t = &other.shape;
		bool same;

		make(&other, memory, i == 0 ? 3 : 1 + (uint32_t) check_below(100), i % 2 == 1);
		same = i % 2 == 0 ? same_shape(s, t) : same_lines(s, t);
		CHECK(same, "round %ld, order %d:%s", round, i, payload(s));
		if (!same)
			CHECK(false, "and:%s", payload(t));
		drop(&other);
	}
	drop(&m);
}

static void
new_soup(void)
{
	clear();
	twin.scale[0] = twin.scale[1] = twin.scale[2] = 1;
	memset(twin.shift, 0, sizeof twin.shift);
	seen_polygons = seen_lines = seen_points = seen_bends = too_large = 0;
}

static void
random_parts(int side, rb_kind kind, int n, int size, int flat)
{
	it.side[side].kind = kind;
	for (int i = 0; i < n; i++)
	{
		double x[9];

		for (int k = 0; k < rb_kind_width(kind); k++)
			x[k] = check_below(size);
		for (int k = 2; k < 9 && kind != RB_SEGMENT2; k += 3)
			x[k] = check_below(8) < flat ? 1 : x[k];
		add(side, x);
	}
}

static void
soups(void)
{
	const long rounds = check_rounds(1500);

	new_soup();
	for (long round = 0; round < rounds; round++)
	{
		const int size = round % 3 == 0 ? 3 : round % 3 == 1 ? 4 : 7;

		clear();
		random_parts(0, RB_TRIANGLE3, 1 + check_below(5), size, (int) (round % 9));
		random_parts(1, RB_TRIANGLE3, 1 + check_below(5), size, (int) (round % 9));
		look_at_soup(round);
	}
	CHECK(seen_polygons > rounds / 4 && seen_lines > rounds / 2 && seen_points > rounds / 20 &&
			  seen_bends > rounds / 20,
		  "%ld polygons, %ld lines, %ld points, %ld bends", seen_polygons, seen_lines, seen_points,
		  seen_bends);
	CHECK(too_large <= rounds / 5 + 3, "%ld rounds were too large for the twin", too_large);
}

static void
line_soups(void)
{
	const long rounds = check_rounds(1500);

	new_soup();
	for (long round = 0; round < rounds; round++)
	{
		const bool flat = round % 2 == 0;
		const int size = 3 + check_below(4);

		clear();
		random_parts(0, flat ? RB_SEGMENT2 : RB_SEGMENT3, 1 + check_below(8), size,
					 (int) (round % 9));
		random_parts(1,
					 flat             ? RB_SEGMENT2
					 : round % 4 == 1 ? RB_SEGMENT3
									  : RB_TRIANGLE3,
					 1 + check_below(8), size, (int) (round % 9));
		look_at_soup(round);
	}
	CHECK(seen_polygons == 0 && seen_lines > rounds / 4 && seen_points > rounds,
		  "%ld polygons, %ld lines, %ld points", seen_polygons, seen_lines, seen_points);
	CHECK(too_large <= rounds / 5 + 3, "%ld rounds were too large for the twin", too_large);
}

/*
 * Tests random triangles far from the origin, in steps of 1 / 1024. Every vertex must still be the
 * nearest double.
 */
static void
far_away(void)
{
	const long rounds = check_rounds(300);

	new_soup();
	twin.scale[0] = twin.scale[1] = twin.scale[2] = 0x1p-10;
	twin.shift[0] = 85432.125;
	twin.shift[1] = 446789.5;
	twin.shift[2] = -3.25;
	for (long round = 0; round < rounds; round++)
	{
		clear();
		random_parts(0, RB_TRIANGLE3, 1 + check_below(4), 9, (int) (round % 9));
		random_parts(1, RB_TRIANGLE3, 1 + check_below(4), 9, (int) (round % 9));
		look_at_soup(round);
	}
	CHECK(seen_lines > rounds / 3, "%ld lines", seen_lines);
	CHECK(too_large <= rounds / 4 + 3, "%ld rounds were too large for the twin", too_large);
}

/*
 * Tests long and thin triangles, for which filters are useless, with coordinates so small or large
 * that other code paths are taken.
 */
static void
needles(void)
{
	const long rounds = check_rounds(500);

	new_soup();
	for (long round = 0; round < rounds; round++)
	{
		static const int power[8][3] = {{30, 0, -20},       {0, -50, 0},         {-40, 40, 0},
										{300, 290, 300},    {-330, -300, -310},  {0, 0, 200},
										{1000, 1020, 1010}, {-1000, -990, -1000}};

		for (int k = 0; k < 3; k++)
			twin.scale[k] = ldexp(1, power[round % 8][k]);
		clear();
		random_parts(0, RB_TRIANGLE3, 1 + check_below(4), 5, (int) (round % 9));
		random_parts(1, round % 7 == 0 ? RB_SEGMENT3 : RB_TRIANGLE3, 1 + check_below(4), 5,
					 (int) (round % 9));
		look_at_soup(round);
	}
	CHECK(seen_lines > rounds / 3 && seen_polygons > rounds / 9, "%ld lines, %ld polygons",
		  seen_lines, seen_polygons);
	CHECK(too_large <= rounds / 5 + 3, "%ld rounds were too large for the twin", too_large);
}

/*
 * Tests faces whose edges nearly coincide: the gap between them has no area after rounding and
 * touches the adjacent face.
 */
static void
slivers(void)
{
	const long rounds = check_rounds(3000);
	long lines = 0;

	for (long round = 0; round < rounds; round++)
	{
		made m, other;

		double p[8][3] = {{0}};
		const double t = (1 + check_below(8)) / 3.0, u = t + (1 + check_below(8)) / 7.0;

		clear();
		/* An edge of the second face lies along one of the first, as far as doubles allow. */
		for (int k = 0; k < 2; k++)
		{
			p[0][k] = 1 + check_below(100) / 100.0;
			p[1][k] = 3 + check_below(100) / 100.0;
			p[4][k] = p[0][k] + (p[1][k] - p[0][k]) * t;
			p[5][k] = p[0][k] + (p[1][k] - p[0][k]) * u;
			for (int i = 2; i < 8; i += i == 3 ? 3 : 1)
				p[i][k] = (i % 4 == 2 ? 3 : 1) + (k == 0 ? -1 : 1) + check_below(100) / 100.0;
		}
		quad(0, check_below(2) == 0, p[0], p[1], p[2], p[3]);
		quad(1, check_below(2) == 0, p[4], p[5], p[6], p[7]);
		make(&m, memory, 0, false);
		make(&other, memory, 3, true);
		CHECK(m.status == RB_OK && other.status == RB_OK && same_lines(&m.shape, &other.shape),
			  "round %ld:%s", round, payload(&m.shape));
		lines += m.shape.nlines;
		drop(&m);
		drop(&other);
	}
	CHECK(lines == 0, "%ld lines", lines);
}

/*
 * Tests surfaces of unit squares: the faces of random cubes, so that nearly everything is
 * degenerate.
 */
static void
blocks(void)
{
	const long rounds = check_rounds(60);

	new_soup();
	for (long round = 0; round < rounds; round++)
	{
		clear();
		for (int s = 0; s < 2; s++)
			for (int i = 0; i < 1 + (int) (round % 2); i++)
				cube(s, check_below(2) == 0, check_below(3), check_below(3), check_below(3),
					 1 + check_below(3), 1 + check_below(3), 1 + check_below(3));
		look_at_soup(round);
	}
	CHECK(seen_polygons > rounds / 3 && seen_lines > rounds / 3,
		  "%ld polygons, %ld lines, %ld points", seen_polygons, seen_lines, seen_points);
	CHECK(too_large <= rounds / 5 + 3, "%ld rounds were too large for the twin", too_large);
}

/* ---- many parts, reuse, memory limits, stops ---- */

#define HILLS 8
#define STEPS 10 /* Steps of a hill */

static double *hills; /* Squares of a surface, of two triangles each, and those of a plane */

static void
make_hills(double height, rb_curve_parts *red, rb_curve_parts *blue)
{
	const int n = HILLS * STEPS;
	uint32_t at = 0;

	hills = malloc((size_t) n * n * 4 * 9 * sizeof(double));
	for (int side = 0; side < 2; side++)
		for (int x = 0; x < n; x++)
			for (int y = 0; y < n; y++)
				for (int t = 0; t < 6; t++)
				{
					static const int corner[6][2] = {{0, 0}, {1, 0}, {1, 1},
													 {0, 0}, {1, 1}, {0, 1}};
					const double px = x + corner[t][0] + (side ? .25 : 0),
								 py = y + corner[t][1] + (side ? .125 : 0);

					hills[at++] = px;
					hills[at++] = py;
					hills[at++] = side ? height : sin(M_PI * px / STEPS) * sin(M_PI * py / STEPS);
				}
	*red = (rb_curve_parts){RB_TRIANGLE3, (uint32_t) (2 * n * n), hills};
	*blue = (rb_curve_parts){RB_TRIANGLE3, (uint32_t) (2 * n * n), hills + at / 2};
}

/* Adds the pairs of overlapping squares. */
static rb_status
add_hills(rb_curve *c)
{
	const int n = HILLS * STEPS;
	rb_status status = RB_OK;

	for (int i = 0; i < n * n; i++)
		for (int k = 0; k < 16 && status == RB_OK; k++)
		{
			const int x = i / n - (k >> 2 & 1), y = i % n - (k >> 3);

			if (x >= 0 && y >= 0)
				status = rb_curve_add(c, (uint32_t) (2 * i + (k & 1)),
									  (uint32_t) (2 * (x * n + y) + (k >> 1 & 1)));
		}
	return status;
}

static void
many(void)
{
	rb_curve_parts red, blue;
	rb_context ctx;
	rb_curve *c = NULL;
	rb_intersection s;
	uint32_t closed = 0;

	rb_context_init(&ctx, memory);
	make_hills(.5, &red, &blue);
	CHECK(rb_curve_open(&ctx, &red, &blue, &c) == RB_OK && add_hills(c) == RB_OK &&
			  rb_curve_finish(c, &s) == RB_OK,
		  "hills");
	for (uint32_t i = 0; i < s.nlines; i++)
		closed += same_doubles(s.line_corners + 3 * s.line[i],
							   s.line_corners + 3 * (s.line[i + 1] - 1), 3);
	CHECK(s.nlines == HILLS * HILLS / 2 && closed == s.nlines && s.npoints == 0 && s.npolygons == 0,
		  "%u lines, %u of them closed, %u points, %u polygons", s.nlines, closed, s.npoints,
		  s.npolygons);
	/* The plane against itself: the intersection is a single polygon. */
	rb_curve_again(c, &blue, &blue);
	CHECK(rb_curve_add_all(c) == RB_OK && rb_curve_finish(c, &s) == RB_OK, "plane");
	CHECK(s.npolygons == 1 && s.nrings == 1 && s.ring[1] == 5 && s.nlines == 0 && s.npoints == 0,
		  "%u polygons, %u rings, %u corners, %u lines, %u points", s.npolygons, s.nrings,
		  s.ring[s.nrings], s.nlines, s.npoints);
	/* Earlier contents must leave nothing behind. */
	clear();
	cube(0, false, 0, 0, 0, 2, 2, 2);
	cube(1, true, 1, 1, 1, 2, 2, 2);
	rb_curve_again(c, &it.side[0], &it.side[1]);
	for (uint32_t i = 0; i < 144; i++)
		CHECK(rb_curve_add(c, i / 12, i % 12) == RB_OK, "pair %u", i);
	CHECK(rb_curve_finish(c, &s) == RB_OK && s.nlines == 1 && s.line[1] == 7 && s.npolygons == 0 &&
			  s.npoints == 0,
		  "%s", payload(&s));
	/* Many small intersections need no more memory than one. */
	{
		const uint64_t used = rb_memory_used(memory);

		for (int i = 0; i < 500; i++)
		{
			for (uint32_t k = 0; k < 9 * it.side[0].n; k++)
				it.coords[0][k] += .001;
			rb_curve_again(c, &it.side[0], &it.side[1]);
			for (uint32_t k = 0; k < 144; k++)
				CHECK(rb_curve_add(c, k / 12, k % 12) == RB_OK, "pair %u", k);
			CHECK(rb_curve_finish(c, &s) == RB_OK && s.nlines == 1, "%s", payload(&s));
		}
		CHECK(rb_memory_used(memory) == used, "%lu bytes more",
			  (unsigned long) (rb_memory_used(memory) - used));
	}
	/* No pairs at all */
	rb_curve_again(c, &it.side[0], &it.side[1]);
	CHECK(rb_curve_finish(c, &s) == RB_OK && s.nlines + s.npolygons + s.npoints + s.nrings == 0,
		  "%s", payload(&s));
	rb_curve_close(&c);
	CHECK(c == NULL, "closed");
	free(hills);
}

/*
 * Tests every memory limit: the request is rejected, or the result is the same, and no memory
 * leaks.
 */
static void
limits(void)
{
	made whole;
	long refused = 0;
	bool done = false;

	clear();
	for (int s = 0; s < 2; s++)
		for (int i = 0; i < 3; i++)
			cube(s, i % 2 == s, i, i % 2 + s, 2 * i % 3, 2, 2, 2 + s);
	make(&whole, memory, 0, false);
	CHECK(whole.status == RB_OK && whole.shape.npolygons > 0 && whole.shape.nlines > 0, "%s",
		  payload(&whole.shape));
	for (uint64_t limit = 100; !done; limit += limit / 16 + 100)
	{
		rb_memory *small = rb_memory_create(limit);
		made m;

		make(&m, small, 0, false);
		done = m.status == RB_OK;
		refused += !done;
		CHECK(done || (m.status == RB_OVER_BUDGET && m.ctx.error.status == RB_OVER_BUDGET),
			  "status %d", m.status);
		if (done)
			CHECK(m.shape.nlines == whole.shape.nlines &&
					  m.shape.npolygons == whole.shape.npolygons,
				  "%s", payload(&m.shape));
		drop(&m);
		CHECK(rb_memory_used(small) == 0, "%lu bytes are left",
			  (unsigned long) rb_memory_used(small));
		rb_memory_destroy(small);
	}
	CHECK(refused > 30, "%ld refusals", refused);
	drop(&whole);
}

static void *
stop_later(void *arg)
{
	usleep(3000);
	rb_context_stop(arg);
	return NULL;
}

static void
stopped(void)
{
	rb_curve_parts red, blue;
	rb_intersection s;
	stop_delay delay = {0};
	bool again;

	make_hills(.5, &red, &blue);
	/*
	 * Stop before the start, before the end, and in the middle of each of the two phases. A phase
	 * that ends before the other thread has asked for the stop is repeated.
	 */
	for (int when = 0; when < 4; when += !again)
	{
		rb_context ctx;
		rb_curve *c = NULL;
		rb_status status;
		pthread_t thread;

		rb_context_init(&ctx, memory);
		CHECK(rb_curve_open(&ctx, &blue, &blue, &c) == RB_OK, "open");
		if (when == 0)
			rb_context_stop(&ctx);
		if (when == 2)
			pthread_create(&thread, NULL, stop_later, &ctx);
		status = when == 2 ? rb_curve_add_all(c) : add_hills(c);
		if (when == 1)
			rb_context_stop(&ctx);
		if (when == 3)
			pthread_create(&thread, NULL, stop_later, &ctx);
		if (status == RB_OK)
			status = rb_curve_finish(c, &s);
		again = repeats_late_stop(&delay, status == RB_OK ? INFINITY : 0, 1);
		CHECK(again || status == RB_STOPPED, "%d: status %d", when, status);
		if (when >= 2)
			pthread_join(thread, NULL);
		rb_curve_close(&c);
	}
	free(hills);
	CHECK(rb_memory_used(memory) == 0, "%lu bytes are left",
		  (unsigned long) rb_memory_used(memory));
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 30);
	CHECK_RUN(cubes);
	CHECK_RUN(rings);
	CHECK_RUN(junctions);
	CHECK_RUN(in_order);
	CHECK_RUN(coarse);
	CHECK_RUN(points);
	CHECK_RUN(flat_lines);
	CHECK_RUN(touching_holes);
	CHECK_RUN(nearly_one);
	CHECK_RUN(cells);
	CHECK_RUN(soups);
	CHECK_RUN(line_soups);
	CHECK_RUN(far_away);
	CHECK_RUN(needles);
	CHECK_RUN(slivers);
	CHECK_RUN(blocks);
	CHECK_RUN(many);
	CHECK_RUN(limits);
	CHECK_RUN(stopped);
	rb_memory_destroy(memory);
	return check_done();
}
