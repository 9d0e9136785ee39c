/*
 * polygon.c
 *	  Tests the triangulation of faces of any shape against its definition.
 *
 * A face on a small integer grid is triangulated. Then it is checked, in integers, that the
 * triangles cover the interior of the rings exactly once and nothing else, that each of their edges
 * belongs to a ring or is shared by two of them, and that each inner edge is that of the
 * constrained Delaunay triangulation, with ties broken by the rule. Only one triangulation has
 * these properties. The reference is therefore not another algorithm, but the definition.
 */
#include "check.h"
#include "core/base/redblue.h"
#include "core/exact/gmp_exact.h"

#include <gmp.h>
#include <math.h>
#include <string.h>
#include <time.h>

#define MOST 400000

static rb_memory *memory;
static rb_builder b;
static rb_geometry_info info;
static rb_error error;

/* ---- a polygon and its serialized bytes ---- */

static struct
{
	double at[MOST][3];
	uint32_t n;
	uint32_t ring[MOST]; /* End of each ring */
	uint32_t nrings;
} face;

static uint8_t bytes[(size_t) MOST * 48 + 64];
static size_t len;

static void
put(const void *from, size_t n)
{
	memcpy(bytes + len, from, n);
	len += n;
}

static void
put_word(uint32_t w)
{
	put(&w, sizeof w);
}

/* Writes a serialized POLYGON Z. Every ring is closed by its first corner. */
static void
write_polygon(void)
{
	static const uint8_t head[4] = {0, 0, 0, 0x41};
	uint32_t start = 0;

	len = 0;
	put(head, 4);
	put_word(3);
	put_word(face.nrings);
	for (uint32_t r = 0; r < face.nrings; r++)
	{
		put_word(face.ring[r] - start + 1);
		start = face.ring[r];
	}
	if (face.nrings % 2 == 1)
		put_word(0);
	start = 0;
	for (uint32_t r = 0; r < face.nrings; r++)
	{
		put(face.at[start], (size_t) (face.ring[r] - start) * sizeof face.at[0]);
		put(face.at[start], sizeof face.at[0]);
		start = face.ring[r];
	}
}

static void
clear(void)
{
	face.n = face.nrings = 0;
}

static void
corner(double x, double y, double z)
{
	face.at[face.n][0] = x;
	face.at[face.n][1] = y;
	face.at[face.n++][2] = z;
}

static void
end_ring(void)
{
	face.ring[face.nrings++] = face.n;
}

/* Adds a ring of the given coordinates, three for each corner. */
#define RING(...)                           \
	add_ring((const double[]){__VA_ARGS__}, \
			 sizeof((const double[]){__VA_ARGS__}) / (3 * sizeof(double)))

static void
add_ring(const double *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		corner(at[3 * i], at[3 * i + 1], at[3 * i + 2]);
	end_ring();
}

static rb_geometry_fault
read_face(void)
{
	write_polygon();
	b.nparts = 0;
	return rb_geometry_read_serialized(&b, bytes, len, &info, &error);
}

/* ---- the triangles as a sorted set, each starting at its smallest corner ---- */

typedef struct triangle
{
	double at[3][3];
} triangle;

static int
compare(const void *p, const void *q)
{
	return memcmp(p, q, sizeof(triangle));
}

static triangle *
sorted(bool turned)
{
	triangle *t = malloc(((size_t) b.nparts + 1) * sizeof *t);

	for (uint32_t i = 0; i < b.nparts; i++)
	{
		triangle from;
		int first = 0;

		memcpy(&from, b.coords + (size_t) i * 9, sizeof from);
		if (turned)
		{
			memcpy(from.at[1], b.coords + (size_t) i * 9 + 6, sizeof from.at[1]);
			memcpy(from.at[2], b.coords + (size_t) i * 9 + 3, sizeof from.at[1]);
		}
		for (int k = 1; k < 3; k++)
			if (memcmp(from.at[k], from.at[first], sizeof from.at[0]) < 0)
				first = k;
		for (int k = 0; k < 3; k++)
			memcpy(t[i].at[k], from.at[(first + k) % 3], sizeof from.at[0]);
	}
	qsort(t, b.nparts, sizeof *t, compare);
	return t;
}

/* ---- definition of the triangles ---- */

/*
 * Returns the orientation in x and y, which the maps of the tests preserve; z is small or follows a
 * plane.
 */
static int
side(const double *p, const double *q, const double *r)
{
	return rb_gmp_orient2d(p[0], p[1], q[0], q[1], r[0], r[1]);
}

static bool
below(const double *p, const double *q)
{
	return p[0] < q[0] || (p[0] == q[0] && p[1] < q[1]);
}

/* Returns twice the signed area, which is exact on a small grid. */
static double
area2(const double *p, const double *q, const double *r)
{
	return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]);
}

static double
face_area2(void)
{
	double sum = 0;
	uint32_t start = 0;

	for (uint32_t r = 0; r < face.nrings; r++)
	{
		double ring = 0;

		for (uint32_t i = start; i < face.ring[r]; i++)
			ring +=
				area2(face.at[start], face.at[i], face.at[i + 1 < face.ring[r] ? i + 1 : start]);
		sum += r == 0 ? fabs(ring) : -fabs(ring);
		start = face.ring[r];
	}
	return sum;
}

/* Counts the triangles that have the directed edge p q, and finds the corner opposite to it. */
static int
find_edge(const double *p, const double *q, const double **apex)
{
	int n = 0;

	for (uint32_t i = 0; i < b.nparts; i++)
		for (int k = 0; k < 3; k++)
		{
			const double *t = b.coords + (size_t) i * 9;

			if (memcmp(t + 3 * k, p, 24) == 0 && memcmp(t + (k + 1) % 3 * 3, q, 24) == 0 &&
				side(t, t + 3, t + 6) != 0)
			{
				*apex = t + (k + 2) % 3 * 3;
				n++;
			}
		}
	return n;
}

/* Returns true if the segment lies on an edge of a ring. */
static bool
on_ring(const double *p, const double *q)
{
	uint32_t start = 0;

	for (uint32_t r = 0; r < face.nrings; r++)
	{
		for (uint32_t i = start; i < face.ring[r]; i++)
		{
			const double *c = face.at[i], *d = face.at[i + 1 < face.ring[r] ? i + 1 : start];
			const double *lo = below(c, d) ? c : d, *hi = below(c, d) ? d : c;

			if (side(c, d, p) == 0 && side(c, d, q) == 0 && !below(p, lo) && !below(hi, p) &&
				!below(q, lo) && !below(hi, q))
				return true;
		}
		start = face.ring[r];
	}
	return false;
}

/* Applies the in-circle test. In a tie, the diagonal ends at the smallest of the four corners. */
static bool
in_circle(const double *p, const double *q, const double *r, const double *s)
{
	const double *four[4] = {p, q, r, s};
	int sign = rb_gmp_incircle(p, q, r, s);
	int least = 0;

	if (sign != 0)
		return sign > 0;
	for (int i = 1; i < 4; i++)
		if (below(four[i], four[least]))
			least = i;
	/* r is opposite to s across the edge p q. */
	return least >= 2;
}

/* Checks by definition that the current triangles are those of the face. */
static void
expect_defined(const char *what, int round, double wanted2)
{
	double sum = 0;
	double turn = 0;

	for (uint32_t i = 0; i < face.ring[0]; i++)
		turn += area2(face.at[0], face.at[i], face.at[i + 1 < face.ring[0] ? i + 1 : 0]);
	for (uint32_t i = 0; i < b.nparts; i++)
	{
		const double *t = b.coords + (size_t) i * 9;
		double a = area2(t, t + 3, t + 6);

		/* A triangle has the direction of the ring, or no area. */
		CHECK(a * turn >= 0, "%s %d: triangle %u is turned", what, round, i);
		CHECK(a != 0 || (memcmp(t + 3, t + 6, 24) == 0 && on_ring(t, t + 3)),
			  "%s %d: triangle %u has no area", what, round, i);
		sum += fabs(a);
		for (int k = 0; k < 3 && a != 0; k++)
		{
			const double *p = t + 3 * k, *q = t + (k + 1) % 3 * 3, *r = t + (k + 2) % 3 * 3;
			const double *apex = NULL;
			int same = find_edge(p, q, &apex);
			int twins = find_edge(q, p, &apex);
			bool ring = on_ring(p, q);

			CHECK(same == 1 && twins <= 1, "%s %d: an edge of %d and %d triangles", what, round,
				  same, twins);
			CHECK(twins == 1 || ring, "%s %d: an edge that is not shared", what, round);
			if (twins == 1 && !ring)
				CHECK(a > 0 ? !in_circle(p, q, r, apex) : !in_circle(q, p, r, apex),
					  "%s %d: an edge is not Delaunay", what, round);
		}
	}
	CHECK(sum == wanted2, "%s %d: area %g, not %g", what, round, sum / 2, wanted2 / 2);
}

/*
 * Checks that points are covered once if they are inside by the even-odd rule, and otherwise not at
 * all.
 */
static void
expect_covered(const char *what, int round, int size)
{
	for (int k = 0; k < 40; k++)
	{
		double p[2] = {check_below(size) + 0.3217, check_below(size) + 0.5713};
		uint32_t start = 0;
		int covered = 0;
		bool inside = false;

		for (uint32_t r = 0; r < face.nrings; r++)
		{
			for (uint32_t i = start; i < face.ring[r]; i++)
			{
				const double *c = face.at[i], *d = face.at[i + 1 < face.ring[r] ? i + 1 : start];

				if ((c[1] > p[1]) != (d[1] > p[1]) && (side(c, d, p) > 0) == (d[1] > c[1]))
					inside = !inside;
			}
			start = face.ring[r];
		}
		for (uint32_t i = 0; i < b.nparts; i++)
		{
			const double *t = b.coords + (size_t) i * 9;
			int turn = side(t, t + 3, t + 6);

			covered += turn != 0 && side(t, t + 3, p) == turn && side(t + 3, t + 6, p) == turn &&
					   side(t + 6, t, p) == turn;
		}
		CHECK(covered == inside, "%s %d: %d triangles over (%g %g)", what, round, covered, p[0],
			  p[1]);
	}
}

/* Returns true if the triangles with an area are the same in two sorted lists. */
static bool
have_same_areas(const triangle *s, const triangle *t, uint32_t n)
{
	uint32_t i = 0, j = 0;

	for (;; i++, j++)
	{
		while (i < n && side(s[i].at[0], s[i].at[1], s[i].at[2]) == 0)
			i++;
		while (j < n && side(t[j].at[0], t[j].at[1], t[j].at[2]) == 0)
			j++;
		if (i == n || j == n)
			return i == n && j == n;
		if (memcmp(&s[i], &t[j], sizeof *s) != 0)
			return false;
	}
}

/*
 * Checks that the triangles are the same for any first corner, any direction, and any order of the
 * holes.
 */
static void
expect_same_in_any_order(const char *what, int round)
{
	triangle *want = sorted(false);
	uint32_t parts = b.nparts;
	static double old[1000][3];
	uint32_t ends[1000];
	uint32_t order[1000];

	if (face.n > 1000 || face.nrings > 1000)
		return;
	memcpy(old, face.at, face.n * sizeof old[0]);
	memcpy(ends, face.ring, face.nrings * sizeof *ends);
	for (int k = 0; k < 6; k++)
	{
		bool back = k % 2 == 1;
		uint32_t n = 0;
		triangle *got;

		for (uint32_t r = 0; r < face.nrings; r++)
		{
			uint32_t j = r == 0 ? 0 : 1 + (uint32_t) check_below((int) r);

			order[r] = order[j];
			order[j] = r;
		}
		for (uint32_t r = 0; r < face.nrings; r++)
		{
			uint32_t start = order[r] == 0 ? 0 : ends[order[r] - 1];
			uint32_t m = ends[order[r]] - start;
			uint32_t first = (uint32_t) check_below((int) m);
			bool turned = r == 0 ? back : check_below(2) == 0;

			for (uint32_t i = 0; i < m; i++)
				memcpy(face.at[n++], old[start + (turned ? first + m - i : first + i) % m],
					   sizeof old[0]);
			face.ring[r] = n;
		}
		CHECK(read_face() == RB_GEOMETRY_OK && b.nparts == parts, "%s %d, order %d: %u parts", what,
			  round, k, b.nparts);
		got = sorted(back);
		/* Triangles without area may be edges in either direction, so they are not compared. */
		if (b.nparts == parts)
			CHECK(have_same_areas(want, got, parts), "%s %d, order %d: other triangles", what,
				  round, k);
		free(got);
	}
	memcpy(face.at, old, face.n * sizeof old[0]);
	memcpy(face.ring, ends, face.nrings * sizeof *ends);
	free(want);
}

static void
expect_face(const char *what, int round, double wanted2)
{
	rb_geometry_fault fault = read_face();

	CHECK(fault == RB_GEOMETRY_OK, "%s %d: fault %d at (%g %g %g)", what, round, fault,
		  info.at[0][0], info.at[0][1], info.at[0][2]);
	if (fault != RB_GEOMETRY_OK)
		return;
	expect_defined(what, round, wanted2);
	expect_same_in_any_order(what, round);
}

/* ---- random polygons: unions of grid cells ---- */

#define GRID 24

static bool cell[GRID + 2][GRID + 2];

static bool
is_free(int x, int y)
{
	return x >= 1 && y >= 1 && x <= GRID && y <= GRID;
}

/* Grows a connected region of cells whose corners do not touch. */
static void
grow_region(int cells)
{
	static int list[GRID * GRID][2];
	int n = 1;

	memset(cell, 0, sizeof cell);
	list[0][0] = list[0][1] = GRID / 2;
	cell[GRID / 2][GRID / 2] = true;
	for (int tries = 0; n < cells && tries < 20 * cells; tries++)
	{
		static const int step[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
		const int *from = list[check_below(n)];
		const int *by = step[check_below(4)];
		int x = from[0] + by[0], y = from[1] + by[1];

		if (!is_free(x, y) || cell[x][y])
			continue;
		cell[x][y] = true;
		list[n][0] = x;
		list[n++][1] = y;
	}
}

/*
 * Traces the rings of the region, with the interior to the left of their edges. Where two cells
 * touch at a corner, the ring stays with the same cell.
 */
static void
trace(double (*z)(double, double))
{
	static bool done[GRID + 2][GRID + 2];
	int pass, biggest = 0;

	memset(done, 0, sizeof done);
	clear();
	/* The outer ring starts at the leftmost and lowest cell. */
	for (pass = 0; pass < 2; pass++)
		for (int x = 1; x <= GRID; x++)
			for (int y = 1; y <= GRID; y++)
			{
				int px = x, py = y, dx = 1, dy = 0;

				/* A bottom edge, from (x, y) to the right */
				if (!cell[x][y] || cell[x][y - 1] || done[x][y])
					continue;
				if (pass == 0 && biggest++ > 0)
					continue;
				do
				{
					int lx, ly, rx, ry;

					if (dx == 1)
						done[px][py] = true;
					corner(px, py, z(px, py));
					px += dx;
					py += dy;
					/* The cells ahead, left and right */
					lx = px + (dx - dy - 1) / 2;
					ly = py + (dx + dy - 1) / 2;
					rx = px + (dx + dy - 1) / 2;
					ry = py + (dy - dx - 1) / 2;
					if (!cell[lx][ly])
					{
						int t = dx;

						dx = -dy;
						dy = t;
					}
					else if (cell[rx][ry])
					{
						int t = dx;

						dx = dy;
						dy = -t;
					}
				} while (px != x || py != y || dx != 1 || dy != 0);
				end_ring();
			}
}

static double
flat(double x, double y)
{
	(void) x;
	(void) y;
	return 7;
}

static double
nearly_flat(double x, double y)
{
	return 0.01 * x - 0.02 * y + 1e-6 * sin(x * 12.9898 + y * 78.233);
}

/*
 * Tests corners that are cocircular everywhere, long collinear runs, and rings that touch
 * themselves and others.
 */
static void
grids(void)
{
	for (int round = 0; round < check_rounds(400); round++)
	{
		int cells = 1 + check_below(round % 4 == 0 ? 150 : 25);
		double area = 0;

		grow_region(cells);
		trace(round % 2 == 0 ? flat : nearly_flat);
		for (int x = 1; x <= GRID; x++)
			for (int y = 1; y <= GRID; y++)
				area += 2 * cell[x][y];
		/* Keep only some of the corners in the middle of a run, and duplicate others. */
		if (round % 3 == 0)
		{
			uint32_t n = 0, start = 0;
			static double old[2000][3];

			memcpy(old, face.at, face.n * sizeof old[0]);
			for (uint32_t r = 0; r < face.nrings; r++)
			{
				uint32_t end = face.ring[r];

				for (uint32_t i = start; i < end; i++)
				{
					const double *p = old[i == start ? end - 1 : i - 1], *q = old[i],
								 *s = old[i + 1 < end ? i + 1 : start];

					/* A corner where two rings touch must stay in both. */
					if (side(p, q, s) == 0 && check_below(2) == 0)
						continue;
					for (int k = check_below(2); k >= 0; k--)
						memcpy(face.at[n++], q, sizeof face.at[0]);
				}
				start = end;
				face.ring[r] = n;
			}
			face.n = n;
		}
		expect_face("grid", round, area);
		expect_covered("grid", round, GRID + 2);
	}
}

/* ---- polygons of random points, made simple by 2-opt ---- */

static bool
meet(const double *p, const double *q, const double *r, const double *s)
{
	int a = side(p, q, r), c = side(p, q, s), d = side(r, s, p), e = side(r, s, q);

	if (a * c < 0 && d * e < 0)
		return true;
	return false;
}

static void
simple_polygons(void)
{
	for (int round = 0; round < check_rounds(600); round++)
	{
		uint32_t n = 4 + (uint32_t) check_below(round % 8 == 0 ? 60 : 12);
		int size = round % 3 == 0 ? 6 : round % 3 == 1 ? 30 : 1000000;
		bool crossed = true;

		clear();
		while (face.n < n)
		{
			double x = check_below(size), y = check_below(size);
			bool there = false;

			for (uint32_t i = 0; i < face.n; i++)
				there |= face.at[i][0] == x && face.at[i][1] == y;
			if (there && face.n >= 30)
				break;
			if (!there)
				corner(x, y, round % 2 ? nearly_flat(x / size, y / size) : 0);
		}
		n = face.n;
		for (int tries = 0; crossed && tries < 1000; tries++)
		{
			crossed = false;
			for (uint32_t i = 0; i < n && !crossed; i++)
				for (uint32_t j = i + 1; j < n && !crossed; j++)
					if (meet(face.at[i], face.at[(i + 1) % n], face.at[j], face.at[(j + 1) % n]))
					{
						crossed = true;
						for (uint32_t k = i + 1, l = j; k < l; k++, l--)
							for (int c = 0; c < 3; c++)
							{
								double t = face.at[k][c];

								face.at[k][c] = face.at[l][c];
								face.at[l][c] = t;
							}
					}
		}
		end_ring();
		if (crossed)
			continue;
		/* Corners on edges and overlaps may remain, so the area is known only on the large grid. */
		if (size == 1000000)
			expect_face("simple", round, face_area2());
		else
		{
			rb_geometry_fault fault = read_face();
			double sum = 0;

			if (fault != RB_GEOMETRY_OK)
				continue;
			for (uint32_t i = 0; i < b.nparts; i++)
			{
				const double *t = b.coords + (size_t) i * 9;

				sum += fabs(area2(t, t + 3, t + 6));
			}
			expect_defined("coincident", round, sum);
			expect_covered("coincident", round, size);
			if (face_area2() != 0)
				expect_same_in_any_order("coincident", round);
		}
	}
}

/* ---- inputs for which a quadratic step would take minutes ---- */

#define MANY 20000
#define TURN 6.283185307179586

static void
shape_of(int which)
{
	int n = MANY;

	clear();
	switch (which)
	{
		case 0: /* A circle */
			for (int i = 0; i < n; i++)
				corner(cos(TURN * i / n), sin(TURN * i / n), 0);
			break;
		case 1: /* A parabola */
			for (int i = 0; i < n; i++)
				corner(2.0 * i / n - 1, (2.0 * i / n - 1) * (2.0 * i / n - 1), 0);
			break;
		case 2: /* A comb with long teeth */
			for (int i = 0; i < n; i++)
				corner(i, i % 2 ? 1e6 + i % 7 : i % 5, 0);
			corner(n, -1, 0);
			corner(-1, -1, 0);
			break;
		case 3: /* A zigzag ribbon */
			for (int i = 0; i < n / 2; i++)
				corner(i, i % 2 ? n : i * 0.25, 0);
			for (int i = n / 2 - 1; i >= 0; i--)
				corner(i, (i % 2 ? n : i * 0.25) - 3, 0);
			break;
		case 4: /* A spiral */
			for (int i = 0; i < n / 2; i++)
				corner((1 + i * 0.01) * cos(i * 0.02), (1 + i * 0.01) * sin(i * 0.02), 0);
			for (int i = n / 2 - 1; i >= 0; i--)
				corner((2 + i * 0.01) * cos(i * 0.02), (2 + i * 0.01) * sin(i * 0.02), 0);
			break;
		case 5: /* A star of random rays */
			for (int i = 0; i < n; i++)
			{
				double r = 1 + check_below(1000000) * 1e-4;

				corner(r * cos(TURN * i / n), r * sin(TURN * i / n), 0);
			}
			break;
		case 6: /* A strip with all its corners on two lines */
			for (int i = 0; i < n; i++)
				corner(i, 0, 0);
			for (int i = n - 1; i >= 0; i--)
				corner(i, 1, 0);
			break;
		case 7: /* Petals around one corner */
			for (int i = 0; i < n / 3; i++)
			{
				corner(0, 0, 0);
				corner(1e3 * cos(6.0 * i / n), 1e3 * sin(6.0 * i / n), 0);
				corner(1e3 * cos(6.0 * (i + 0.5) / n), 1e3 * sin(6.0 * (i + 0.5) / n), 0);
			}
			break;
		default: /* A sieve */
			corner(-1, -1, 0);
			corner(1000, -1, 0);
			corner(1000, 1000, 0);
			corner(-1, 1000, 0);
			end_ring();
			for (int i = 0; i < n / 4; i++)
			{
				double x = i % 150 * 6, y = (double) (i / 150) * 6;

				corner(x, y, 0);
				corner(x, y + 3, 0);
				corner(x + 3, y + 3, 0);
				corner(x + 3, y, 0);
				end_ring();
			}
			return;
	}
	end_ring();
}

static void
large(void)
{
	for (int which = 0; which <= 8; which++)
	{
		struct timespec from, to;
		double sum = 0, want;
		double seconds;
		rb_geometry_fault fault;

		shape_of(which);
		want = face_area2();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
		fault = read_face();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
		seconds = (double) (to.tv_sec - from.tv_sec) + 1e-9 * (double) (to.tv_nsec - from.tv_nsec);
		CHECK(fault == RB_GEOMETRY_OK, "shape %d: fault %d", which, fault);
		for (uint32_t i = 0; i < b.nparts; i++)
		{
			const double *t = b.coords + (size_t) i * 9;

			sum += fabs(area2(t, t + 3, t + 6));
		}
		CHECK(fabs(sum - want) <= 1e-6 * want, "shape %d: area %g, not %g", which, sum / 2,
			  want / 2);
		/* A tenth of a second; Valgrind is 50 times slower, a quadratic step 1000 times */
		CHECK(seconds < 20, "shape %d: %g s", which, seconds);
		CHECK(which == 7 || b.nparts == face.n + 2 * (face.nrings - 1) - 2, "shape %d: %u parts",
			  which, b.nparts);
	}
}

/* ---- planes ---- */

/*
 * Tests that exchanging the axes of a face, or viewing it from the other side, gives the same
 * triangles.
 */
static void
planes(void)
{
	static const int order[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1},
									{1, 0, 2}, {0, 2, 1}, {2, 1, 0}};

	for (int round = 0; round < check_rounds(100); round++)
	{
		static double old[300][3];
		triangle *want = NULL;
		uint32_t parts = 0;
		uint32_t n = 5 + (uint32_t) check_below(40);

		/* No four corners are cocircular, so no tie depends on the axes. */
		clear();
		for (uint32_t i = 0; i < n; i++)
		{
			double r = 1 + check_below(1 << 20) * 0x1p-20;

			corner(r * cos(TURN * i / n), r * sin(TURN * i / n), 0.3 * r);
		}
		end_ring();
		memcpy(old, face.at, n * sizeof old[0]);
		for (int k = 0; k < 6; k++)
		{
			triangle *got;

			for (uint32_t i = 0; i < n; i++)
				for (int c = 0; c < 3; c++)
					face.at[i][order[k][c]] = old[i][c];
			CHECK(read_face() == RB_GEOMETRY_OK && (k == 0 || b.nparts == parts),
				  "round %d, axes %d: %u parts", round, k, b.nparts);
			for (uint32_t i = 0; i < 3 * b.nparts; i++)
			{
				double x[3];

				for (int c = 0; c < 3; c++)
					x[c] = b.coords[(size_t) i * 3 + (size_t) order[k][c]];
				memcpy(b.coords + (size_t) i * 3, x, sizeof x);
			}
			got = sorted(false);
			if (k == 0)
			{
				want = got;
				parts = b.nparts;
				continue;
			}
			CHECK(memcmp(want, got, parts * sizeof *got) == 0, "round %d, axes %d: others", round,
				  k);
			free(got);
		}
		free(want);
	}

	/*
	 * A plane with equal slopes along two axes: z is dropped before y, y before x. The diagonal of
	 * a square shows which one was dropped.
	 */
	for (int k = 0; k < 3; k++)
	{
		/* A square in the plane a + c = 0 of two axes a and c, extended along the third axis */
		static const int two[3][3] = {{0, 2, 1}, {1, 2, 0}, {0, 1, 2}};
		static const double at[5][3] = {{0, 0, 0}, {4, -4, 0}, {4, -4, 4}, {1, -1, 1}, {0, 0, 4}};

		clear();
		for (int i = 0; i < 5; i++)
		{
			double x[3];

			for (int c = 0; c < 3; c++)
				x[two[k][c]] = at[i][c];
			corner(x[0], x[1], x[2]);
		}
		end_ring();
		/* A corner above another along the dropped axis shows which axis it is. */
		corner(0, 0, 0);
		memcpy(face.at[5], face.at[3], sizeof face.at[3]);
		face.at[5][k == 2 ? 1 : 2] += 0.5;
		face.n = 6;
		memcpy(face.at[6], face.at[4], sizeof face.at[4]);
		memcpy(face.at[4], face.at[5], sizeof face.at[5]);
		memcpy(face.at[5], face.at[6], sizeof face.at[6]);
		face.ring[0] = 6;
		CHECK(read_face() != RB_GEOMETRY_OK, "plane %d", k);
		CHECK(info.axis == (k == 2 ? 1 : 2), "plane %d: axis %d is dropped", k, info.axis);
	}
}

/* ---- rejected faces ---- */

static void
expect_refused(const char *what, rb_geometry_fault want)
{
	rb_geometry_fault fault = read_face();

	CHECK(fault == want && b.nparts == 0 && info.face == 1, "%s: fault %d, %u parts, face %u", what,
		  fault, b.nparts, info.face);
}

static bool
is_at(int i, double x, double y, double z)
{
	return info.at[i][0] == x && info.at[i][1] == y && info.at[i][2] == z;
}

static void
square(double x, double y, double size)
{
	RING(x, y, 0, x + size, y, 0, x + size, y + size, 0, x, y + size, 0);
}

static void
refusals(void)
{
	/* Two edges cross. */
	clear();
	RING(0, 0, 0.1, 9, 9, 0.2, 9, 0, 0.3, 0, 8, 0.4, -5, 4, 0.5);
	expect_refused("crossing", RB_GEOMETRY_CROSSING);
	CHECK((is_at(0, 0, 0, 0.1) && is_at(1, 9, 9, 0.2) &&
		   (is_at(2, 0, 8, 0.4) || is_at(3, 0, 8, 0.4))) ||
			  (is_at(0, 9, 0, 0.3) && is_at(1, 0, 8, 0.4) &&
			   (is_at(2, 0, 0, 0.1) || is_at(3, 0, 0, 0.1))),
		  "(%g %g %g) to (%g %g %g)", info.at[0][0], info.at[0][1], info.at[0][2], info.at[1][0],
		  info.at[1][1], info.at[1][2]);
	CHECK(info.axis == 2, "axis %d", info.axis);

	/* A bow tie: it has no normal, but a crossing is still reported. */
	clear();
	RING(0, 5, 0, 4, 5, 4, 4, 5, 0, 0, 5, 4);
	expect_refused("bow tie", RB_GEOMETRY_CROSSING);
	CHECK(info.axis == 1, "axis %d", info.axis);

	/* One corner lies above another. */
	clear();
	RING(0, 0, 0, 9, 0, 0, 9, 9, 0, 4, 4, 0, 4, 4, 1, 0, 9, 0);
	expect_refused("above", RB_GEOMETRY_ABOVE);
	CHECK(is_at(0, 4, 4, 0) && is_at(1, 4, 4, 1), "(%g %g %g)", info.at[0][0], info.at[0][1],
		  info.at[0][2]);

	/*
	 * Holes: outside, partly outside, around the outer ring, nested, overlapping, and without area
	 */
	clear();
	square(0, 0, 9);
	square(1, 1, 1);
	square(20, 0, 2);
	expect_refused("hole outside", RB_GEOMETRY_HOLE_OUTSIDE);
	CHECK(info.hole == 2 && info.at[0][0] >= 20, "hole %u", info.hole);
	clear();
	square(0, 0, 9);
	square(-1, -1, 20);
	expect_refused("hole around", RB_GEOMETRY_HOLE_OUTSIDE);
	clear();
	square(0, 0, 9);
	square(9, 0, 9);
	expect_refused("hole beside", RB_GEOMETRY_HOLE_OUTSIDE);
	clear();
	square(0, 0, 9);
	square(1, 1, 7);
	square(2, 2, 2);
	expect_refused("hole in a hole", RB_GEOMETRY_HOLES);
	CHECK(info.hole + info.other == 3, "holes %u and %u", info.hole, info.other);
	clear();
	square(0, 0, 9);
	square(1, 1, 7);
	square(1, 1, 7);
	expect_refused("a hole twice", RB_GEOMETRY_HOLES);
	clear();
	square(0, 0, 9);
	square(5, 5, 9);
	expect_refused("hole across", RB_GEOMETRY_CROSSING);
	clear();
	square(0, 0, 9);
	RING(20, 1, 0, 21, 1, 0);
	expect_refused("edge outside", RB_GEOMETRY_HOLE_OUTSIDE);
	clear();
	square(0, 0, 9);
	square(1, 1, 7);
	RING(2, 2, 0, 3, 3, 0);
	expect_refused("edge in a hole", RB_GEOMETRY_HOLES);
	clear();
	square(0, 0, 9);
	RING(20, 1, 0);
	expect_refused("point outside", RB_GEOMETRY_HOLE_OUTSIDE);
	clear();
	square(0, 0, 9);
	square(1, 1, 7);
	RING(2, 2, 0);
	expect_refused("point in a hole", RB_GEOMETRY_HOLES);

	/* A corner farther from its plane than allowed, and by how much */
	for (int small = 0; small < 2; small++)
	{
		clear();
		for (int i = 0; i < (small ? 4 : 40); i++)
		{
			double a = TURN * i / (small ? 4 : 40);

			corner(1e6 + 10 * cos(a), 10 * sin(a), i == 2 ? 0.5 : 0);
		}
		end_ring();
		CHECK(read_face() == RB_GEOMETRY_OK, "without a tolerance");
		b.face_tolerance = 1;
		CHECK(read_face() == RB_GEOMETRY_OK, "flat enough");
		b.face_tolerance = 0.1;
		expect_refused("not flat", RB_GEOMETRY_NOT_FLAT);
		CHECK(info.distance > 0.1 && info.distance < 0.5, "distance %g", info.distance);
		b.face_tolerance = 0;
		expect_refused("not flat", RB_GEOMETRY_NOT_FLAT);
		for (uint32_t i = 0; i < face.n; i++)
			face.at[i][2] = 3;
		CHECK(read_face() == RB_GEOMETRY_OK, "flat");
		b.face_tolerance = -1;
	}

	/* A square, flat or with one corner as high as it is wide, of every representable size */
	for (int e = -1070; e <= 1023; e++)
	{
		const double half = ldexp(1, e);

		clear();
		corner(-half, -half, -half);
		corner(half, -half, -half);
		corner(half, half, -half);
		corner(-half, half, -half);
		end_ring();
		b.face_tolerance = 0;
		CHECK(read_face() == RB_GEOMETRY_OK, "2^%d: flat", e);
		face.at[2][2] = half;
		b.face_tolerance = half / 4;
		expect_refused("not flat", RB_GEOMETRY_NOT_FLAT);
		CHECK(fabs(info.distance / half - sqrt(1 / 6.0)) < 1 / 16.0, "2^%d: distance %g", e,
			  info.distance);
		b.face_tolerance = half / 2;
		CHECK(read_face() == RB_GEOMETRY_OK, "2^%d: flat enough", e);
		b.face_tolerance = -1;
	}

	/* A long and thin face */
	clear();
	RING(0, 0, 0, 1, 0, 0, 1, 1e-200, 0, 0, 1e-200, 0);
	b.face_tolerance = 0;
	CHECK(read_face() == RB_GEOMETRY_OK, "thin and flat");
	b.face_tolerance = -1;
}

/* ---- flatness: its definition in rational numbers ---- */

/*
 * Returns true if a corner is farther than t from the plane through the mean of the corners of the
 * outer ring. A corner that repeats the next one counts once.
 */
static bool
is_bent(const mpq_t t)
{
	mpq_t normal[3], mean[3], p[3], q[3], height, square, limit, product;
	unsigned long n = 0;
	bool bent = false;

	for (int k = 0; k < 3; k++)
		mpq_inits(normal[k], mean[k], p[k], q[k], NULL);
	mpq_inits(height, square, limit, product, NULL);
	for (uint32_t i = 0; i < face.ring[0]; i++)
	{
		const double *corner = face.at[i], *next = face.at[(i + 1) % face.ring[0]];

		if (corner[0] == next[0] && corner[1] == next[1] && corner[2] == next[2])
			continue;
		n++;
		for (int k = 0; k < 3; k++)
		{
			mpq_set_d(p[k], corner[k]);
			mpq_set_d(q[k], next[k]);
			mpq_add(mean[k], mean[k], p[k]);
		}
		for (int k = 0; k < 3; k++)
		{
			mpq_mul(product, p[(k + 1) % 3], q[(k + 2) % 3]);
			mpq_add(normal[k], normal[k], product);
			mpq_mul(product, p[(k + 2) % 3], q[(k + 1) % 3]);
			mpq_sub(normal[k], normal[k], product);
		}
	}
	for (int k = 0; k < 3; k++)
	{
		mpq_set_ui(product, n, 1);
		mpq_div(mean[k], mean[k], product);
		mpq_mul(product, normal[k], normal[k]);
		mpq_add(limit, limit, product);
	}
	mpq_mul(limit, limit, t);
	mpq_mul(limit, limit, t);
	for (uint32_t i = 0; i < face.n && !bent; i++)
	{
		mpq_set_ui(height, 0, 1);
		for (int k = 0; k < 3; k++)
		{
			mpq_set_d(p[k], face.at[i][k]);
			mpq_sub(p[k], p[k], mean[k]);
			mpq_mul(product, normal[k], p[k]);
			mpq_add(height, height, product);
		}
		mpq_mul(square, height, height);
		bent = mpq_cmp(square, limit) > 0;
	}
	for (int k = 0; k < 3; k++)
		mpq_clears(normal[k], mean[k], p[k], q[k], NULL);
	mpq_clears(height, square, limit, product, NULL);
	return bent;
}

/*
 * Sets t to the tolerance of the builder: a length, or a fraction of the longest side of the box.
 */
static void
set_tolerance(mpq_t t)
{
	mpq_t low, high, side, x;

	mpq_set_d(t, b.face_tolerance >= 0 ? b.face_tolerance : b.face_share);
	if (b.face_tolerance >= 0)
		return;
	mpq_inits(low, high, side, x, NULL);
	for (int k = 0; k < 3; k++)
	{
		for (uint32_t i = 0; i < face.n; i++)
		{
			mpq_set_d(x, face.at[i][k]);
			if (i == 0 || mpq_cmp(x, low) < 0)
				mpq_set(low, x);
			if (i == 0 || mpq_cmp(x, high) > 0)
				mpq_set(high, x);
		}
		mpq_sub(x, high, low);
		if (mpq_cmp(x, side) > 0)
			mpq_set(side, x);
	}
	mpq_mul(t, t, side);
	mpq_clears(low, high, side, x, NULL);
}

static void
expect_verdict(const char *what, double distance)
{
	mpq_t t;
	bool bent;

	mpq_init(t);
	set_tolerance(t);
	bent = is_bent(t);
	CHECK((read_face() == RB_GEOMETRY_NOT_FLAT) == bent,
		  "%s: %u corners at %.17g, distance %.17g, tolerance %.17g: bent is %d", what, face.n,
		  face.at[0][0], distance, b.face_tolerance >= 0 ? b.face_tolerance : b.face_share, bent);
	mpq_clear(t);
}

/* Tests the reported distance, and tolerances within a few ulps of it. */
static void
tolerances_near_the_distance(const char *what)
{
	double distance, t;

	b.face_tolerance = 0;
	expect_verdict(what, 0);
	if (read_face() != RB_GEOMETRY_NOT_FLAT)
		return;
	distance = t = info.distance;
	for (int i = 0; i < 4; i++)
		t = nextafter(t, 0);
	for (int i = 0; i < 9; i++, t = nextafter(t, INFINITY))
	{
		b.face_tolerance = t;
		expect_verdict(what, distance);
	}
	/*
	 * The distance is the nearest double: half an ulp less is too small a tolerance, half an ulp
	 * more is enough.
	 */
	for (int side = -1; side <= 1 && distance > 0x1p-1000 && distance < INFINITY; side += 2)
	{
		mpq_t exact, half;

		mpq_inits(exact, half, NULL);
		mpq_set_d(exact, distance);
		mpq_set_d(half, side > 0 ? nextafter(distance, INFINITY) : nextafter(distance, 0));
		mpq_add(exact, exact, half);
		mpq_div_2exp(exact, exact, 1);
		CHECK(is_bent(exact) == (side < 0), "%s: distance %.17g is not the nearest", what,
			  distance);
		mpq_clears(exact, half, NULL);
	}
	b.face_tolerance = -1;
	for (int i = 0; i < 5; i++)
	{
		b.face_share = distance / (1 + i * 3.0);
		for (int j = 0; j < 3; j++, b.face_share = nextafter(b.face_share, INFINITY))
			if (b.face_share > 0 && b.face_share < INFINITY)
				expect_verdict(what, distance);
	}
	b.face_share = 0;
}

static double
whole(int most)
{
	return (double) (check_random() % (2 * most + 1)) - most;
}

/*
 * Tests parallelograms and rings of more corners, in planes of small integers, some of them bent.
 */
static void
flatness(void)
{
	static const double scales[] = {1, 1, 1, 0x1p-1060, 0x1p-500, 1e-3, 1e5, 0x1p500, 0x1p1010};
	static const double origins[] = {0, 0, 500000, 5.3e6};

	for (int round = 0; round < check_rounds(3000); round++)
	{
		const double scale = scales[check_random() % 9];
		const double origin = scale == 1 || scale == 1e-3 ? origins[check_random() % 4] : 0;
		const bool bend = check_random() % 2;
		const int n = 4 + (int) (check_random() % 6);
		double u[3], v[3];

		clear();
		for (int k = 0; k < 3; k++)
		{
			u[k] = whole(9);
			v[k] = whole(9);
		}
		for (int i = 0; i < n; i++)
		{
			/* A convex ring: along a parabola, and back along its chord */
			const int a = i, c = i * (n - 1 - i);

			corner(origin + scale * (a * u[0] + c * v[0]), origin + scale * (a * u[1] + c * v[1]),
				   scale * (a * u[2] + c * v[2]));
			if (bend && check_random() % 3 == 0)
				face.at[face.n - 1][check_random() % 3] += scale * whole(2) * 0.125;
		}
		end_ring();
		tolerances_near_the_distance("small integers");
	}
	b.face_tolerance = -1;
	b.face_share = 0;
}

/* ---- degenerate faces ---- */

static double
covered2(void)
{
	double sum = 0;

	for (uint32_t i = 0; i < b.nparts; i++)
	{
		const double *t = b.coords + (size_t) i * 9;

		sum += fabs(area2(t, t + 3, t + 6));
	}
	return sum;
}

static void
expect_parts(const char *what, uint32_t parts, double wanted2)
{
	rb_geometry_fault fault = read_face();

	CHECK(fault == RB_GEOMETRY_OK && b.nparts == parts && covered2() == wanted2,
		  "%s: fault %d, %u parts, area %g", what, fault, b.nparts, covered2() / 2);
}

static void
rules(void)
{
	/* A face that is only a point, or only a line */
	clear();
	for (int i = 0; i < 6; i++)
		corner(1, 2, 3);
	end_ring();
	expect_parts("point", 1, 0);
	clear();
	for (int i = 0; i < 6; i++)
		corner(i, 2 * i, 3 * i);
	end_ring();
	expect_parts("line", 5, 0);

	/*
	 * A wall without width, up and down again, also by different corners: each interval appears
	 * once.
	 */
	clear();
	RING(1, 2, 0, 1, 2, 5, 1, 2, 0, 1, 2, 5);
	expect_parts("up and down twice", 1, 0);
	clear();
	RING(1, 2, 3, 1, 2, 5, 1, 2, 4, 1, 2, 0);
	expect_parts("up and down by other corners", 3, 0);
	CHECK(b.coords[2] == 0 && b.coords[5] == 3 && b.coords[8] == 3, "from the least corner on");
	clear();
	RING(0, 0, 0, 2, 2, 2);
	RING(5, 5, 5);
	RING(1, 1, 1, 2, 2, 2);
	RING(7, 7, 7, 6, 6, 6, 7, 7, 7);
	expect_parts("rings on a line", 4, 0);

	/* A keyhole, whose bridge is used twice */
	clear();
	RING(0, 0, 0, 9, 0, 0, 9, 9, 0, 0, 9, 0, 0, 0, 0, 3, 3, 0, 3, 6, 0, 6, 6, 0, 6, 3, 0, 3, 3, 0);
	expect_parts("keyhole", 8, 2 * (81 - 9));

	/* A spike outside remains as an edge; one inside is covered by the triangles. */
	clear();
	RING(0, 0, 0, 9, 0, 0, 9, 9, 0, 20, 20, 5, 9, 9, 0, 0, 9, 0);
	expect_parts("spike outside", 3, 2 * 81);
	clear();
	RING(0, 0, 0, 9, 0, 0, 9, 9, 0, 5, 5, 5, 9, 9, 0, 0, 9, 0);
	expect_parts("spike inside", 4, 2 * 81);

	/* A corner on an edge splits it. */
	clear();
	RING(0, 0, 0, 8, 0, 0, 8, 8, 0, 4, 0, 1, 0, 8, 0);
	expect_parts("corner on an edge", 2, 2 * 32);

	/* A figure eight through one corner: both halves are covered, although its normal is zero. */
	clear();
	RING(0, 0, 0, 4, 4, 0, 8, 8, 0, 8, 0, 0, 4, 4, 0, 0, 8, 0);
	expect_parts("eight", 2, 2 * 32);

	/* A hole equal to the face leaves only edges; holes that touch; a hole of a single point */
	clear();
	square(0, 0, 9);
	square(0, 0, 9);
	expect_parts("all hole", 4, 0);
	clear();
	square(0, 0, 9);
	square(0, 3, 3);
	square(3, 3, 3);
	square(6, 6, 3);
	CHECK(read_face() == RB_GEOMETRY_OK && covered2() == 2 * (81 - 27), "touching holes: %g",
		  covered2());
	clear();
	square(0, 0, 9);
	RING(3, 4, 5);
	expect_parts("point for a hole", 4, 2 * 81);
	clear();
	square(0, 0, 9);
	RING(3, 4, 5, 4, 4, 0);
	expect_parts("edge for a hole", 6, 2 * 81);
}

/* ---- a real city: closed polygons give closed triangles ---- */

/* Reads the rings of the next face of a POLYHEDRALSURFACE in text form: ((x y z,...),(...)),... */
static char *
next_face(char *at)
{
	int depth = 1;

	clear();
	while (*at != '\0' && *at != '(')
		at++;
	if (*at++ == '\0')
		return NULL;
	while (depth > 0 && *at != '\0')
	{
		if (*at == '(' || *at == ',')
			at++;
		else if (*at == ')')
		{
			/* The last corner repeats the first. */
			if (--depth == 0)
				return at + 1;
			at++;
		}
		else
		{
			for (int k = 0; k < 3; k++)
				face.at[face.n][k] = strtod(at, &at);
			face.n++;
			if (*at == ')')
			{
				face.n--;
				end_ring();
				depth++;
			}
		}
	}
	return at;
}

static int
twins_of(const double *p, const double *q)
{
	int n = 0;

	for (uint32_t i = 0; i < b.nparts; i++)
		for (int k = 0; k < 3; k++)
			n += memcmp(b.coords + (size_t) i * 9 + 3 * k, p, 24) == 0 &&
				 memcmp(b.coords + (size_t) i * 9 + (k + 1) % 3 * 3, q, 24) == 0;
	return n;
}

/*
 * Checks that each edge of a triangle is an edge of a ring in the same direction, or is shared by
 * two triangles in opposite directions.
 */
static void
city(void)
{
	const char *folder = getenv("REDBLUE_DATA");
	char command[1000];
	static char row[1 << 20];
	FILE *in;
	int faces = 0;
	uint32_t parts = 0;

	if (folder == NULL)
		return;
	snprintf(command, sizeof command, "xz -dc '%s/city/zurich_faces.csv.xz'", folder);
	in = popen(command, "r");
	while (in != NULL && fgets(row, sizeof row, in) != NULL)
	{
		char *at = strstr(row, "Z (");

		if (at == NULL)
			continue;
		at += 3;
		while ((at = next_face(at)) != NULL && face.n > 0)
		{
			uint32_t start = 0, own = 0;

			faces++;
			CHECK(read_face() == RB_GEOMETRY_OK, "face %d is refused", faces);
			for (uint32_t r = 0; r < face.nrings; start = face.ring[r++])
				for (uint32_t i = start; i < face.ring[r]; i++)
				{
					const double *p = face.at[i],
								 *q = face.at[i + 1 < face.ring[r] ? i + 1 : start];

					own += memcmp(p, q, 24) != 0;
					CHECK(memcmp(p, q, 24) == 0 || twins_of(p, q) == 1,
						  "face %d: an edge of its ring is in %d triangles", faces, twins_of(p, q));
				}
			for (uint32_t i = 0; i < 3 * b.nparts; i++)
			{
				const double *p = b.coords + (size_t) i * 3;
				const double *q = i % 3 == 2 ? p - 6 : p + 3;

				own -= twins_of(q, p) == 0;
				CHECK(twins_of(p, q) == 1 && twins_of(q, p) <= 1, "face %d: an edge of many",
					  faces);
			}
			CHECK(own == 0, "face %d: another border", faces);
			parts += b.nparts;
		}
	}
	CHECK(in != NULL && pclose(in) == 0, "%s", command);
	CHECK(faces == 2039 && parts == 5142, "%d faces, %u triangles", faces, parts);
}

/* ---- memory and stops ---- */

static int questions, yes;

static bool
stop_then(void)
{
	return ++questions == yes;
}

static void
stops(void)
{
	for (int which = 0; which <= 8; which++)
	{
		shape_of(which);
		b.should_stop = stop_then;
		questions = yes = 0;
		CHECK(read_face() == RB_GEOMETRY_OK && questions > 20, "shape %d: %d questions", which,
			  questions);
		for (int all = questions, k = 1; k <= all; k += 1 + all / 25)
		{
			questions = 0;
			yes = k;
			CHECK(read_face() == RB_GEOMETRY_STOPPED && b.nparts == 0 && questions == k,
				  "shape %d: stopped at %d, %d", which, k, questions);
		}
		b.should_stop = NULL;
		CHECK(read_face() == RB_GEOMETRY_OK, "shape %d, after a stop", which);
	}
}

/*
 * Tests many holes that use one edge: a stop is noticed within 4096 steps, however many holes there
 * are.
 */
static void
holes_on_one_edge(void)
{
	clear();
	square(0, 0, 9);
	for (int i = 0; i < 4000; i++)
	{
		corner(1, 1, 0);
		corner(2, 2, 0);
		end_ring();
	}
	b.should_stop = stop_then;
	questions = yes = 0;
	CHECK(read_face() == RB_GEOMETRY_OK && questions > 1000, "%d questions", questions);
	yes = questions / 2;
	questions = 0;
	CHECK(read_face() == RB_GEOMETRY_STOPPED && questions == yes, "stopped at %d", questions);
	b.should_stop = NULL;
}

/*
 * Tests that holes around a corner, and equally many single-point holes in it, do not take
 * quadratic time.
 */
static void
points_in_a_corner(void)
{
	int fewer = 0;

	for (int n = 1000; n <= 4000; n *= 4)
	{
		clear();
		square(-1e7, -1e7, 2e7);
		for (int i = 0; i < n; i++)
		{
			corner(0, 0, 0);
			corner(1e6 * cos(TURN * i / (n + 1)), 1e6 * sin(TURN * i / (n + 1)), 0);
			corner(1e6 * cos(TURN * (i + 1) / (n + 1)), 1e6 * sin(TURN * (i + 1) / (n + 1)), 0);
			end_ring();
			corner(0, 0, 0);
			end_ring();
		}
		b.should_stop = stop_then;
		questions = yes = 0;
		CHECK(read_face() == RB_GEOMETRY_OK, "%d holes", n);
		b.should_stop = NULL;
		if (n == 1000)
			fewer = questions;
	}
	CHECK(questions < 8 * fewer, "%d questions, then %d", fewer, questions);
}

static void
budgets(void)
{
	for (int which = 0; which <= 8; which += 4)
	{
		rb_memory *all = memory;
		uint64_t step = (uint64_t) 200 << 10;
		bool done = false;

		shape_of(which);
		rb_builder_free(&b);
		for (uint64_t limit = step; !done; limit += step)
		{
			rb_geometry_fault fault;

			memory = rb_memory_create(limit);
			rb_builder_init(&b, memory, RB_TRIANGLE3);
			fault = read_face();
			done = fault == RB_GEOMETRY_OK;
			CHECK(done || (fault == RB_GEOMETRY_NO_MEMORY && error.status == RB_OVER_BUDGET &&
						   error.need > limit && b.nparts == 0),
				  "limit %g: fault %d", (double) limit, fault);
			CHECK(rb_memory_peak(memory) <= limit, "over the limit");
			CHECK(limit < (uint64_t) 40 << 20, "needs more than 40 MB");
			done |= limit >= (uint64_t) 40 << 20;
			rb_builder_free(&b);
			CHECK(rb_memory_used(memory) == 0, "memory left");
			rb_memory_destroy(memory);
		}
		memory = all;
		rb_builder_init(&b, memory, RB_TRIANGLE3);
	}
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 30);
	rb_builder_init(&b, memory, RB_TRIANGLE3);
	CHECK_RUN(grids);
	CHECK_RUN(simple_polygons);
	CHECK_RUN(large);
	CHECK_RUN(planes);
	CHECK_RUN(refusals);
	CHECK_RUN(flatness);
	CHECK_RUN(rules);
	CHECK_RUN(city);
	CHECK_RUN(stops);
	CHECK_RUN(holes_on_one_edge);
	CHECK_RUN(points_in_a_corner);
	CHECK_RUN(budgets);
	rb_builder_free(&b);
	CHECK(rb_memory_used(memory) == 0, "memory left");
	rb_memory_destroy(memory);
	return check_done();
}
