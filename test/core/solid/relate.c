/*
 * relate.c
 *	  Tests the relations of solids against two references that do not use triangles.
 *
 * Cells: space is divided by the planes x = k, y = k, z = k, x - y = k, y - z = k, z - x = k into
 * tetrahedra, six for each cube (Freudenthal's triangulation). A solid is a union of these
 * tetrahedra, of cubes, or of tetrahedra or cubes two or three times as large, which are unions,
 * too. Relations are then set algebra, and two solids share a point if they have cells with a
 * common corner. A linear map with integer coefficients changes no relation and gives the planes
 * any orientation.
 *
 * Convex solids: their interiors are disjoint if the normal of a face, or the cross product of an
 * edge of each, separates them; this is computed in integers.
 */
#include <string.h>

#include "check.h"
#include "core/join/join.h"

#define N 6
#define CELLS (N * N * N * 6)
#define POINTS ((N + 1) * (N + 1) * (N + 1))
#define MOST_ROWS 24
#define NOTHING 99 /* Empty entry in a table of relations */

static rb_memory *memory;

typedef struct solid
{
	int n; /* Number of triangles */
	int cap;
	double *t;
	/* For unions of cells */
	bool cell[CELLS];
	bool corner[POINTS];
	/* For convex solids */
	int npoints;
	int64_t point[8][3];
	int nnormals;
	int64_t normal[12][3];
} solid;

static void
add_triangle(solid *s, const double *a, const double *b, const double *c)
{
	const double *corner[3] = {a, b, c};
	const int first = check_below(3), turned = check_below(2);

	if (s->n == s->cap)
	{
		s->cap = s->cap == 0 ? 64 : 2 * s->cap;
		s->t = realloc(s->t, (size_t) s->cap * 9 * sizeof(double));
		if (s->t == NULL)
			abort();
	}
	for (int i = 0; i < 3; i++)
		memcpy(s->t + 9 * s->n + 3 * i, corner[(first + (turned ? 3 - i : i)) % 3],
			   3 * sizeof(double));
	s->n++;
}

static void
add_quad(solid *s, const double *a, const double *b, const double *c, const double *d)
{
	const bool other = check_below(2);

	add_triangle(s, a, b, other ? d : c);
	add_triangle(s, c, d, other ? b : a);
}

static void
clear_solid(solid *s)
{
	double *t = s->t;
	const int cap = s->cap;

	memset(s, 0, sizeof *s);
	s->t = t;
	s->cap = cap;
}

/* ---- unions of cells ---- */

static const int order_of[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
								   {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/*
 * Cubes of `size`, `n` along each axis from `origin`, and which of them, or of their six
 * tetrahedra, are filled
 */
typedef struct pattern
{
	int size;
	int n;
	int origin[3];
	bool cubes;
	bool filled[CELLS];
} pattern;

/* Computes corner i, 0 .. 3, of a tetrahedron. */
static void
corner_of(const pattern *p, int cell, int i, int64_t *x)
{
	const int cube = cell / 6, at[3] = {cube % p->n, cube / p->n % p->n, cube / p->n / p->n};

	for (int a = 0; a < 3; a++)
		x[a] = p->origin[a] + (int64_t) at[a] * p->size;
	for (int k = 0; k < i; k++)
		x[order_of[cell % 6][k]] += p->size;
}

/*
 * Returns the tetrahedron that contains the point x / scale, which lies on no plane, or -1 if there
 * is none.
 */
static int
cell_at(const pattern *p, const int64_t *x, int64_t scale)
{
	int64_t rest[3];
	int at[3];

	for (int a = 0; a < 3; a++)
	{
		const int64_t y = x[a] - p->origin[a] * scale;

		if (y < 0 || y >= p->n * p->size * scale)
			return -1;
		at[a] = (int) (y / (p->size * scale));
		rest[a] = y % (p->size * scale);
	}
	for (int k = 0; k < 6; k++)
	{
		const int *o = order_of[k];

		if (rest[o[0]] > rest[o[1]] && rest[o[1]] > rest[o[2]])
			return ((at[2] * p->n + at[1]) * p->n + at[0]) * 6 + k;
	}
	abort();
}

static void
to_doubles(double *d, const int64_t *x)
{
	for (int a = 0; a < 3; a++)
		d[a] = (double) x[a];
}

/* Adds the side of a tetrahedron opposite to corner i, unless a filled cell lies behind it. */
static void
add_tetrahedron_side(solid *s, const pattern *p, int cell, int i)
{
	int64_t x[4][3], beyond[3];
	double d[3][3];
	int n = 0, other;

	for (int k = 0; k < 4; k++)
		corner_of(p, cell, k, x[k]);
	/* The center of the side, and a point slightly beyond it */
	for (int a = 0; a < 3; a++)
	{
		const int64_t sum = x[0][a] + x[1][a] + x[2][a] + x[3][a] - x[i][a];

		beyond[a] = 100 * sum + (sum - 3 * x[i][a]);
	}
	other = cell_at(p, beyond, 300);
	if (other >= 0 && p->filled[other])
		return;
	for (int k = 0; k < 4; k++)
		if (k != i)
			to_doubles(d[n++], x[k]);
	add_triangle(s, d[0], d[1], d[2]);
}

static void
add_cube_side(solid *s, const pattern *p, int cube, int axis, int up)
{
	const int at[3] = {cube % p->n, cube / p->n % p->n, cube / p->n / p->n};
	const int u = (axis + 1) % 3, v = (axis + 2) % 3, next = at[axis] + (up ? 1 : -1);
	const int step = axis == 0 ? 1 : axis == 1 ? p->n : p->n * p->n;
	double d[4][3];

	if (next >= 0 && next < p->n && p->filled[6 * (cube + (up ? step : -step))])
		return;
	for (int i = 0; i < 4; i++)
	{
		d[i][axis] = p->origin[axis] + p->size * (at[axis] + up);
		d[i][u] = p->origin[u] + p->size * (at[u] + (i == 1 || i == 2));
		d[i][v] = p->origin[v] + p->size * (at[v] + (i >= 2));
	}
	add_quad(s, d[0], d[1], d[2], d[3]);
}

/* Builds the boundary of a pattern, and its cells. */
static void
make_solid(solid *s, const pattern *p)
{
	const pattern all = {.size = 1, .n = N};

	clear_solid(s);
	for (int cell = 0; cell < p->n * p->n * p->n * 6; cell++)
	{
		if (!p->filled[cell])
			continue;
		if (!p->cubes)
			for (int i = 0; i < 4; i++)
				add_tetrahedron_side(s, p, cell, i);
		else if (cell % 6 == 0)
			for (int k = 0; k < 6; k++)
				add_cube_side(s, p, cell / 6, k / 2, k % 2);
	}
	for (int cell = 0; cell < CELLS; cell++)
	{
		int64_t x[4][3], sum[3] = {0, 0, 0};
		int in;

		for (int k = 0; k < 4; k++)
		{
			corner_of(&all, cell, k, x[k]);
			for (int a = 0; a < 3; a++)
				sum[a] += x[k][a];
		}
		in = cell_at(p, sum, 4);
		s->cell[cell] = in >= 0 && p->filled[in];
		for (int k = 0; k < 4 && s->cell[cell]; k++)
			s->corner[(x[k][2] * (N + 1) + x[k][1]) * (N + 1) + x[k][0]] = true;
	}
}

static int
truth_of_cells(const solid *r, const solid *b)
{
	bool red = false, blue = false, both = false, near = false;

	for (int i = 0; i < CELLS; i++)
	{
		red |= r->cell[i] && !b->cell[i];
		blue |= b->cell[i] && !r->cell[i];
		both |= r->cell[i] && b->cell[i];
	}
	for (int i = 0; i < POINTS; i++)
		near |= r->corner[i] && b->corner[i];
	if (!near)
		return NOTHING;
	if (!both)
		return RB_SOLIDS_TOUCH;
	return red && blue ? RB_SOLIDS_CROSS
		   : red       ? RB_RED_CONTAINS
		   : blue      ? RB_RED_INSIDE
					   : RB_SOLIDS_EQUAL;
}

static void
place_pattern(pattern *p, int size, bool cubes)
{
	memset(p, 0, sizeof *p);
	p->size = size;
	p->cubes = cubes;
	p->n = N / size;
	for (int a = 0; a < 3 && size > 1 && check_below(2); a++)
		p->n = N / size - 1;
	if (p->n == 0)
		p->n = 1;
	for (int a = 0; a < 3; a++)
		p->origin[a] = check_below(N - p->n * size + 1);
}

/* Fills a tetrahedron, or all six tetrahedra of its cube if the pattern consists of cubes. */
static void
fill(pattern *p, int cell, bool filled)
{
	if (!p->cubes)
		p->filled[cell] = filled;
	else
		for (int k = 0; k < 6; k++)
			p->filled[cell - cell % 6 + k] = filled;
}

/* Fills a pattern from the cells of a solid, or from their complement. */
static void
fill_as(pattern *p, const solid *s, bool complement)
{
	for (int cell = 0; cell < CELLS; cell++)
		p->filled[cell] = s->cell[cell] != complement;
}

static bool
whole_cubes(const solid *s)
{
	for (int cell = 0; cell < CELLS; cell++)
		if (s->cell[cell] != s->cell[cell - cell % 6])
			return false;
	return true;
}

static bool
is_empty(const pattern *p)
{
	for (int cell = 0; cell < CELLS; cell++)
		if (p->filled[cell])
			return false;
	return true;
}

/* Builds a union of cells. If another solid is given, it may be derived from that one. */
static void
make_cells(solid *s, bool cubes, const solid *other)
{
	static pattern p;
	const int cells = CELLS;

	do
	{
		const int family = check_below(other != NULL ? 8 : 4);

		place_pattern(&p, 1 + check_below(3), cubes || check_below(2));
		if (family == 0) /* One or a few cells */
			for (int k = 1 + check_below(3); k > 0; k--)
				fill(&p, check_below(p.n * p.n * p.n * 6), true);
		else if (family == 1) /* Nested shells */
		{
			const int center = check_below(2), thick = 1 + check_below(2);

			place_pattern(&p, 1, cubes || check_below(2));
			for (int cell = 0; cell < cells; cell++)
			{
				const int at[3] = {cell / 6 % N, cell / 6 / N % N, cell / 6 / N / N};
				int depth = N;

				for (int a = 0; a < 3; a++)
				{
					const int d = at[a] < N - 1 - at[a] ? at[a] : N - 1 - at[a];

					depth = d < depth ? d : depth;
				}
				fill(&p, cell, depth / thick % 2 == center);
			}
			if (check_below(2))
				fill(&p, check_below(cells), check_below(2));
		}
		else if (family < 4) /* Random cells */
		{
			const int some = 1 + check_below(9);

			for (int cell = 0; cell < p.n * p.n * p.n * 6; cell++)
				if (!p.cubes || cell % 6 == 0)
					fill(&p, cell, check_below(10) < some);
		}
		else
		{
			/* An equal solid or its complement, possibly with one cell more or less */
			place_pattern(&p, 1, whole_cubes(other) && (cubes || check_below(2)));
			fill_as(&p, other, family == 4 || family == 5);
			if (family % 2)
				fill(&p, check_below(cells), check_below(2));
		}
	} while (is_empty(&p));
	make_solid(s, &p);
}

/* ---- convex solids ---- */

static void
cross(int64_t *n, const int64_t *u, const int64_t *v)
{
	for (int a = 0; a < 3; a++)
		n[a] = u[(a + 1) % 3] * v[(a + 2) % 3] - u[(a + 2) % 3] * v[(a + 1) % 3];
}

static int64_t
dot(const int64_t *u, const int64_t *v)
{
	return u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
}

static void
add_face(solid *s, const int *corner, int n)
{
	int64_t u[3], v[3];
	double d[4][3];

	for (int a = 0; a < 3; a++)
	{
		u[a] = s->point[corner[1]][a] - s->point[corner[0]][a];
		v[a] = s->point[corner[2]][a] - s->point[corner[0]][a];
	}
	cross(s->normal[s->nnormals++], u, v);
	for (int i = 0; i < n; i++)
		to_doubles(d[i], s->point[corner[i]]);
	if (n == 3)
		add_triangle(s, d[0], d[1], d[2]);
	else
		add_quad(s, d[0], d[1], d[2], d[3]);
}

enum
{
	TETRAHEDRON,
	PARALLELEPIPED,
	OCTAHEDRON,
	WITHIN, /* A tetrahedron of corners of another solid, or of midpoints between two */
	SPIKE,  /* Like WITHIN, or any, with a corner in the center of a triangle of the other solid */
	LARGER, /* Another solid enlarged by two, from one of its corners */
	SAME,   /* A copy of another solid */
	CONVEX
};

static void
make_faces(solid *s)
{
	static const int tetrahedron[4][3] = {{0, 1, 2}, {0, 1, 3}, {0, 2, 3}, {1, 2, 3}};
	static const int box[6][4] = {{0, 1, 3, 2}, {4, 5, 7, 6}, {0, 1, 5, 4},
								  {2, 3, 7, 6}, {0, 2, 6, 4}, {1, 3, 7, 5}};

	for (int i = 0; i < 8; i++)
	{
		const int octahedron[3] = {i & 1, 2 + (i >> 1 & 1), 4 + (i >> 2)};

		if (s->npoints == 4 && i < 4)
			add_face(s, tetrahedron[i], 3);
		else if (s->npoints == 8 && i < 6)
			add_face(s, box[i], 4);
		else if (s->npoints == 6)
			add_face(s, octahedron, 3);
	}
}

/*
 * Computes points from three directions and a corner or the center. All coordinates are divisible
 * by 6.
 */
static void
make_points(solid *s, int family, int most)
{
	static const int npoints[] = {4, 8, 6};
	int64_t v[4][3], n[3];

	do
	{
		for (int i = 0; i < 4; i++)
			for (int a = 0; a < 3; a++)
				v[i][a] = 6 * check_below(most + 1) - (i < 3 ? 6 * (most / 2) : 0);
		/* Directions parallel to the axes in half of the cases */
		if (family == PARALLELEPIPED && check_below(2))
			for (int i = 0; i < 9; i++)
				v[i / 3][i % 3] *= i / 3 == i % 3;
		cross(n, v[0], v[1]);
	} while (dot(n, v[2]) == 0);
	s->npoints = npoints[family];
	for (int i = 0; i < s->npoints; i++)
		for (int a = 0; a < 3; a++)
			s->point[i][a] =
				v[3][a] + (family == TETRAHEDRON ? i < 3 ? v[i][a] : 0
						   : family == PARALLELEPIPED
							   ? (i & 1) * v[0][a] + (i >> 1 & 1) * v[1][a] + (i >> 2) * v[2][a]
						   : i % 2 ? -v[i / 2][a]
								   : v[i / 2][a]);
}

static void
make_within(solid *s, const solid *other, bool spike, int most)
{
	int64_t u[3][3], n[3];

	s->npoints = 4;
	do
	{
		const double *t = other->t + 9 * check_below(other->n);
		const bool any = check_below(2);

		for (int i = 0; i < 4; i++)
		{
			const int64_t *p = other->point[check_below(other->npoints)];
			const int64_t *q = other->point[check_below(other->npoints)];

			for (int a = 0; a < 3; a++)
				s->point[i][a] = spike && i == 3 ? (int64_t) (t[a] + t[3 + a] + t[6 + a]) / 3
								 : spike && any  ? 6 * check_below(most + 1)
												 : (p[a] + q[a]) / 2;
		}
		for (int i = 0; i < 9; i++)
			u[i / 3][i % 3] = s->point[i / 3][i % 3] - s->point[3][i % 3];
		cross(n, u[0], u[1]);
	} while (dot(n, u[2]) == 0);
}

static void
make_convex(solid *s, int most, const solid *other)
{
	const int family = check_below(other != NULL ? CONVEX : WITHIN);

	clear_solid(s);
	if (family < WITHIN)
		make_points(s, family, most);
	else if (family == WITHIN || family == SPIKE)
		make_within(s, other, family == SPIKE, most);
	else
	{
		const int64_t *from = other->point[check_below(other->npoints)];

		s->npoints = other->npoints;
		for (int i = 0; i < 3 * s->npoints; i++)
			s->point[i / 3][i % 3] =
				other->point[i / 3][i % 3] +
				(family == LARGER ? other->point[i / 3][i % 3] - from[i % 3] : 0);
	}
	make_faces(s);
}

static void
range_of(const solid *s, const int64_t *axis, int64_t range[2])
{
	range[0] = range[1] = dot(s->point[0], axis);
	for (int i = 1; i < s->npoints; i++)
	{
		const int64_t x = dot(s->point[i], axis);

		range[0] = x < range[0] ? x : range[0];
		range[1] = x > range[1] ? x : range[1];
	}
}

/*
 * Returns 1 if a plane with this normal separates the solids strictly, 0 if they share at most
 * boundary points, and -1 if it does not separate them.
 */
static int
separates(const solid *r, const solid *b, const int64_t *axis)
{
	int64_t x[2], y[2];

	range_of(r, axis, x);
	range_of(b, axis, y);
	if (x[1] < y[0] || y[1] < x[0])
		return 1;
	return (x[1] == y[0] || y[1] == x[0]) && x[0] != x[1] ? 0 : -1;
}

static bool
is_within(const solid *r, const solid *b)
{
	for (int i = 0; i < b->nnormals; i++)
	{
		int64_t x[2], y[2];

		range_of(r, b->normal[i], x);
		range_of(b, b->normal[i], y);
		if (x[0] < y[0] || x[1] > y[1])
			return false;
	}
	return true;
}

static int
truth_of_convex(const solid *r, const solid *b)
{
	int most = -1;

	for (int i = 0; i < r->nnormals + b->nnormals; i++)
	{
		const int how =
			separates(r, b, i < r->nnormals ? r->normal[i] : b->normal[i - r->nnormals]);

		most = how > most ? how : most;
	}
	for (int i = 0; i < r->npoints * r->npoints && most < 1; i++)
		for (int j = 0; j < b->npoints * b->npoints; j++)
		{
			int64_t u[3], v[3], n[3];
			int how;

			for (int a = 0; a < 3; a++)
			{
				u[a] = r->point[i / r->npoints][a] - r->point[i % r->npoints][a];
				v[a] = b->point[j / b->npoints][a] - b->point[j % b->npoints][a];
			}
			if (i / r->npoints >= i % r->npoints || j / b->npoints >= j % b->npoints)
				continue;
			cross(n, u, v);
			how = separates(r, b, n);
			most = how > most ? how : most;
		}
	if (most == 1)
		return NOTHING;
	if (most == 0)
		return RB_SOLIDS_TOUCH;
	return is_within(r, b)   ? is_within(b, r) ? RB_SOLIDS_EQUAL : RB_RED_INSIDE
		   : is_within(b, r) ? RB_RED_CONTAINS
							 : RB_SOLIDS_CROSS;
}

/* ---- sets ---- */

/* A transformation of integer coordinates */
typedef struct map
{
	double m[3][3];
	double scale[3];
	double origin[3];
} map;

enum
{
	MAP_PLAIN,
	MAP_UTM, /* For solids whose faces are parallel to the axes */
	MAP_SMALL,
	MAP_TURNED, /* A permutation of the axes, with reflections */
	MAP_LINEAR, /* Any matrix of small integers, moved far away, in other units */
	MAPS
};

static double
det_of(const map *m)
{
	double det = 0;

	for (int a = 0; a < 3; a++)
	{
		const int b = (a + 1) % 3, c = (a + 2) % 3;

		det += m->m[0][a] * (m->m[1][b] * m->m[2][c] - m->m[1][c] * m->m[2][b]);
	}
	return det;
}

static map
make_map(int kind)
{
	static const double utm[3] = {391777.123, 5820111.456, 34.5};
	static const double units[] = {1, 1, 1, 0x1p-60, 0x1p-60, 0x1p-350, 0x1p400};
	map m = {.m = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, .scale = {1, 1, 1}};

	for (int a = 0; a < 3; a++)
	{
		if (kind == MAP_UTM)
		{
			m.scale[a] = 0.1;
			m.origin[a] = utm[a];
		}
		else if (kind == MAP_SMALL)
			m.scale[a] = 1e-6;
		else if (kind == MAP_LINEAR)
		{
			m.scale[a] = units[check_below(7)];
			m.origin[a] = check_below(2) ? 0 : (check_below(2000) - 1000) * 0x1p30 * m.scale[a];
		}
	}
	if (kind == MAP_TURNED)
	{
		const int *o = order_of[check_below(6)];

		for (int a = 0; a < 3; a++)
			for (int b = 0; b < 3; b++)
				m.m[a][b] = o[a] != b ? 0 : check_below(2) ? 1 : -1;
	}
	if (kind == MAP_LINEAR)
		do
			for (int i = 0; i < 9; i++)
				m.m[i / 3][i % 3] = check_below(7) - 3;
		while (det_of(&m) == 0);
	return m;
}

typedef struct side
{
	rb_set set;
	double *coords;
	uint32_t *row_of;
	int64_t ids[MOST_ROWS];
} side;

static void
put_part(side *s, const map *m, const double *t, uint32_t row)
{
	double *to = s->coords + 9 * (size_t) s->set.nparts;

	for (int k = 0; k < 9; k++)
	{
		const double *p = t + 3 * (k / 3);
		double x = 0;

		for (int a = 0; a < 3; a++)
			x += m->m[k % 3][a] * p[a];
		to[k] = m->origin[k % 3] + m->scale[k % 3] * x;
		if (to[k] == 0 && check_below(2))
			to[k] = -to[k];
	}
	s->row_of[s->set.nparts++] = row;
}

/* Adds triangles without area: along an edge, and far out from a corner that is extreme. */
static void
put_needles(side *s, const map *m, const solid *from, uint32_t row)
{
	const double *t = from->t + 9 * check_below(from->n), *out = from->t;
	double needle[9];

	memcpy(needle, t, 6 * sizeof(double));
	memcpy(needle + 6, t + 3 * check_below(2), 3 * sizeof(double));
	put_part(s, m, needle, row);
	for (int i = 0; i < 3 * from->n; i++)
		if (from->t[3 * i] > out[0])
			out = from->t + 3 * i;
	for (int i = 0; i < 9; i++)
		needle[i] = out[i % 3] + (i == 3 ? 1 : i == 6 ? 3 : 0);
	put_part(s, m, needle, row);
}

static side
make_side(const solid *solids, int n, const map *m, bool needles)
{
	side s = {.set = {.kind = RB_TRIANGLE3, .nrows = (uint32_t) n}};
	size_t total = 0;

	for (int i = 0; i < n; i++)
		total += (size_t) solids[i].n + 2;
	s.coords = malloc(total * 9 * sizeof(double));
	s.row_of = malloc(total * sizeof(uint32_t));
	if (s.coords == NULL || s.row_of == NULL)
		abort();
	for (int i = 0; i < n; i++)
	{
		const solid *from = &solids[i];
		int *order = malloc((size_t) from->n * sizeof(int));

		if (needles && check_below(2))
			put_needles(&s, m, from, (uint32_t) i);
		for (int k = 0; k < from->n; k++)
		{
			const int j = check_below(k + 1);

			order[k] = order[j];
			order[j] = k;
		}
		for (int k = 0; k < from->n; k++)
			put_part(&s, m, from->t + 9 * order[k], (uint32_t) i);
		free(order);
	}
	s.set.coords = s.coords;
	s.set.row_of = s.row_of;
	return s;
}

static void
free_side(side *s)
{
	free(s->coords);
	free(s->row_of);
}

/* The tested result: a table of rows by rows */
typedef struct table
{
	uint64_t relation[MOST_ROWS][MOST_ROWS];
	int count[MOST_ROWS][MOST_ROWS];
	rb_status answer; /* Status returned by the callback */
} table;

static rb_status
put_rows(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	table *t = user;

	for (size_t i = 0; i < n; i++)
	{
		t->relation[rows[i].red][rows[i].blue] = payload[i];
		t->count[rows[i].red][rows[i].blue]++;
	}
	return t->answer;
}

static rb_status
ask(rb_context *ctx, const side *red, const side *blue, bool skip, table *t)
{
	const rb_job job = {
		.red = &red->set, .blue = &blue->set, .predicate = RB_RELATION, .skip_bad = skip};
	const rb_row_sink sink = {.put = put_rows, .user = t};

	memset(t->relation, 0, sizeof t->relation);
	memset(t->count, 0, sizeof t->count);
	return rb_compose_relations(ctx, &rb_backend_cpu, &job, &sink);
}

/* ---- cases ---- */

static solid reds[MOST_ROWS], blues[MOST_ROWS];

static void
compare(int nred, int nblue, int kind, int (*truth)(const solid *, const solid *), int *seen,
		const char *what)
{
	static table t;
	const map m = make_map(kind);
	const bool needles = check_below(3) == 0;
	side red = make_side(reds, nred, &m, needles), blue = make_side(blues, nblue, &m, needles);
	rb_context ctx;
	const uint64_t used = rb_memory_used(memory);
	rb_status status;

	rb_context_init(&ctx, memory);
	ctx.threads = 1 + check_below(3);
	t.answer = RB_OK;
	status = ask(&ctx, &red, &blue, false, &t);
	CHECK(status == RB_OK, "%s, map %d: status %d, %s", what, kind, (int) status, ctx.error.text);
	CHECK(rb_memory_used(memory) == used, "%s: memory is left", what);
	for (int i = 0; i < nred && status == RB_OK; i++)
		for (int j = 0; j < nblue; j++)
		{
			const int want = truth(&reds[i], &blues[j]);

			seen[want == NOTHING ? 5 : want]++;
			CHECK(t.count[i][j] == (want != NOTHING), "%s, map %d: row %d, %d: %d times, not %d",
				  what, kind, i, j, t.count[i][j], want);
			if (want != NOTHING && t.count[i][j] > 0)
				CHECK(t.relation[i][j] == (uint64_t) want,
					  "%s, map %d: row %d (%d), %d (%d): relation %d, not %d", what, kind, i,
					  reds[i].n, j, blues[j].n, (int) t.relation[i][j], want);
		}
	free_side(&red);
	free_side(&blue);
}

/* Checks that every relation occurred, if there was time for that. */
static void
check_seen(const int *seen, int least)
{
	if (getenv("RB_TEST_VERBOSE") != NULL)
		printf("# touch %d cross %d inside %d contains %d equal %d apart %d\n", seen[0], seen[1],
			   seen[2], seen[3], seen[4], seen[5]);
	for (int i = 0; i < 6 && check_rounds(100) >= 100; i++)
		CHECK(seen[i] >= least, "relation %d: %d times", i, seen[i]);
}

static void
unions_of_cells(void)
{
	int seen[6] = {0};

	for (long round = check_rounds(60); round > 0; round--)
	{
		const int kind = check_below(MAPS);
		const bool cubes = kind == MAP_UTM || kind == MAP_SMALL;
		const int n = 1 + check_below(6);

		for (int i = 0; i < n; i++)
			make_cells(&reds[i], cubes, NULL);
		for (int i = 0; i < n; i++)
			make_cells(&blues[i], cubes, &reds[check_below(n)]);
		compare(n, n, kind, truth_of_cells, seen, "cells");
	}
	check_seen(seen, 5);
}

static void
convex_solids(void)
{
	int seen[6] = {0};

	for (long round = check_rounds(80); round > 0; round--)
	{
		const int kind = check_below(2) ? MAP_LINEAR : MAP_PLAIN;
		const int most = 2 + check_below(5);

		for (int i = 0; i < 12; i++)
		{
			make_convex(&reds[i], most, NULL);
			make_convex(&blues[i], most, &reds[check_below(i + 1)]);
		}
		compare(12, 12, kind, truth_of_convex, seen, "convex");
	}
	check_seen(seen, 5);
}

/*
 * Tests a box deep inside another, which is inside a third; and the same boxes as shells of
 * alternating rows.
 */
static void
nested_deep(void)
{
	static pattern p;
	int seen[6] = {0};

	for (int i = 0; i < 6; i++)
		for (int blue = 0; blue < 2; blue++)
		{
			/*
			 * Rows 0 to 2 are cubes, rows 3 to 5 shells of all odd sizes, of all even sizes, or of
			 * both.
			 */
			place_pattern(&p, 1, true);
			for (int cell = 0; cell < CELLS; cell++)
			{
				int depth = N;

				for (int a = 0; a < 3; a++)
				{
					const int at = cell / 6 / (a == 0 ? 1 : a == 1 ? N : N * N) % N;
					const int d = at < N - 1 - at ? at : N - 1 - at;

					depth = d < depth ? d : depth;
				}
				p.filled[cell] = i < 3 ? depth >= i : i < 5 ? depth % 2 == i - 3 : depth != 1;
			}
			make_solid(blue ? &blues[i] : &reds[i], &p);
		}
	for (int kind = 0; kind < MAPS; kind++)
		compare(6, 6, kind, truth_of_cells, seen, "nested");
	for (int i = 0; i < 5; i++)
		CHECK(seen[i] > 0, "relation %d did not come up", i);
}

/* Tests rows that are not solids: they raise an error that names the first one, or are left out. */
static void
bad_solids(void)
{
	static table t;
	const map m = make_map(MAP_PLAIN);

	for (int kind = 0; kind < 2; kind++)
		for (int bad_side = 0; bad_side < 2; bad_side++)
		{
			solid *at = bad_side == 0 ? &reds[1] : &blues[1];
			side s[2];
			rb_context ctx;
			rb_status status;

			/* Equal rows */
			for (int i = 0; i < 3; i++)
			{
				static pattern p;

				place_pattern(&p, 1, true);
				fill(&p, 0, true);
				make_solid(&reds[i], &p);
				make_solid(&blues[i], &p);
			}
			if (kind == 0)
				at->n--; /* Not closed */
			else
				for (int i = 0; i < 12; i++) /* Two boxes that cross */
				{
					double p[3][3];

					for (int k = 0; k < 9; k++)
						p[k / 3][k % 3] = at->t[9 * i + k] + 0.5;
					add_triangle(at, p[0], p[1], p[2]);
				}
			s[0] = make_side(reds, 3, &m, false);
			s[1] = make_side(blues, 3, &m, false);
			for (int k = 0; k < 2; k++)
			{
				for (int i = 0; i < 3; i++)
					s[k].ids[i] = 100 * k + 10 + i;
				s[k].set.ids = s[k].ids;
			}
			t.answer = RB_OK;
			rb_context_init(&ctx, memory);
			status = ask(&ctx, &s[0], &s[1], false, &t);
			CHECK(status == RB_BAD_SOLID && ctx.error.need == (uint64_t) (100 * bad_side + 11) &&
					  ctx.error.limit == (bad_side == 0 ? RB_SOLID_OF_RED : RB_SOLID_OF_BLUE),
				  "status %d, id %d, side %d", (int) status, (int) ctx.error.need,
				  (int) ctx.error.limit);
			rb_context_init(&ctx, memory);
			status = ask(&ctx, &s[0], &s[1], true, &t);
			CHECK(status == RB_OK && ctx.stats.bad_solids == 1, "skipped: %d, %d", (int) status,
				  (int) ctx.stats.bad_solids);
			for (int i = 0; i < 3; i++)
				for (int j = 0; j < 3; j++)
				{
					const bool bad = (bad_side == 0 ? i : j) == 1;

					CHECK(t.count[i][j] == !bad && (bad || t.relation[i][j] == RB_SOLIDS_EQUAL),
						  "row %d, %d: %d times, %d", i, j, t.count[i][j], (int) t.relation[i][j]);
				}
			free_side(&s[0]);
			free_side(&s[1]);
		}
}

/* Tests stops before the start, by the consumer, and for lack of memory: nothing is left behind. */
static void
stopped(void)
{
	static table t;
	const map m = make_map(MAP_LINEAR);
	side red, blue;
	rb_context ctx;
	rb_status status;
	uint64_t limit = 1000;
	int refused = 0;

	for (int i = 0; i < 8; i++)
	{
		make_cells(&reds[i], false, NULL);
		make_cells(&blues[i], false, &reds[i]);
	}
	red = make_side(reds, 8, &m, false);
	blue = make_side(blues, 8, &m, false);
	t.answer = RB_OK;
	rb_context_init(&ctx, memory);
	rb_context_stop(&ctx);
	status = ask(&ctx, &red, &blue, false, &t);
	CHECK(status == RB_STOPPED && rb_memory_used(memory) == 0, "status %d", (int) status);
	rb_context_init(&ctx, memory);
	t.answer = RB_STOPPED;
	status = ask(&ctx, &red, &blue, false, &t);
	CHECK(status == RB_STOPPED && rb_memory_used(memory) == 0, "status %d", (int) status);
	t.answer = RB_OK;
	do
	{
		rb_memory *little = rb_memory_create(limit);

		rb_context_init(&ctx, little);
		ctx.threads = 2;
		status = ask(&ctx, &red, &blue, false, &t);
		CHECK(status == RB_OK || status == RB_OVER_BUDGET, "%d bytes: status %d", (int) limit,
			  (int) status);
		CHECK(rb_memory_used(little) == 0, "%d bytes: memory is left", (int) limit);
		rb_memory_destroy(little);
		refused += status != RB_OK;
		limit += limit / 7;
	} while (status != RB_OK && limit < 1u << 30);
	CHECK(status == RB_OK && refused > 10, "status %d after %d", (int) status, refused);
	free_side(&red);
	free_side(&blue);
}

/* Tests a stream, which passes results as blocks of ids. */
static void
through_a_stream(void)
{
	static table t;
	const map m = make_map(MAP_PLAIN);
	side red, blue;
	rb_context ctx;
	rb_stream *stream;
	rb_block block;
	rb_status status;
	rb_job job = {.predicate = RB_RELATION};
	long pairs = 0;

	for (int i = 0; i < 8; i++)
	{
		make_cells(&reds[i], false, NULL);
		make_cells(&blues[i], false, &reds[i]);
	}
	red = make_side(reds, 8, &m, false);
	blue = make_side(blues, 8, &m, false);
	red.set.first_id = 100;
	blue.set.first_id = 200;
	job.red = &red.set;
	job.blue = &blue.set;
	rb_context_init(&ctx, memory);
	t.answer = RB_OK;
	CHECK(ask(&ctx, &red, &blue, false, &t) == RB_OK, "%s", ctx.error.text);
	rb_context_init(&ctx, memory);
	status = rb_stream_open(&ctx, &rb_backend_cpu, &job, &stream);
	while (status == RB_OK && (status = rb_stream_next(stream, 20, &block)) == RB_OK)
		for (size_t i = 0; i < block.n; i++, pairs++)
		{
			const int r = (int) block.red[i] - 100, b = (int) block.blue[i] - 200;

			CHECK(r >= 0 && r < 8 && b >= 0 && b < 8 && t.count[r][b] == 1 &&
					  t.relation[r][b] == block.payload[i],
				  "row %d, %d: %d", r, b, (int) block.payload[i]);
			t.count[r & 7][b & 7] = 0;
		}
	CHECK(status == RB_END && pairs > 8, "status %d, %ld pairs", (int) status, pairs);
	for (int i = 0; i < 64; i++)
		CHECK(t.count[i / 8][i % 8] == 0, "row %d, %d is left", i / 8, i % 8);
	rb_stream_close(stream);
	free_side(&red);
	free_side(&blue);
}

/* Tests sides without rows. */
static void
nothing(void)
{
	static table t;
	static pattern p;
	const map m = make_map(MAP_PLAIN);
	side none = make_side(reds, 0, &m, false), some;
	rb_context ctx;

	place_pattern(&p, 1, true);
	fill(&p, 0, true);
	make_solid(&reds[0], &p);
	some = make_side(reds, 1, &m, false);
	for (int i = 0; i < 4; i++)
	{
		rb_context_init(&ctx, memory);
		CHECK(ask(&ctx, i & 1 ? &some : &none, i & 2 ? &some : &none, false, &t) == RB_OK &&
				  t.count[0][0] == (i == 3),
			  "%d: %d", i, t.count[0][0]);
	}
	free_side(&none);
	free_side(&some);
}

/* Tests that few threads are used for small solids, because starting threads takes longer. */
static void
few_threads(void)
{
	static table t;
	static pattern p;
	const map m = make_map(MAP_PLAIN);
	rb_context ctx;
	side some;

	place_pattern(&p, 1, true);
	fill(&p, 0, true);
	for (int i = 0; i < 8; i++)
		make_solid(&reds[i], &p);
	some = make_side(reds, 8, &m, false);
	rb_context_init(&ctx, memory);
	ctx.threads = 16;
	CHECK(some.set.nparts < 500 && ask(&ctx, &some, &some, false, &t) == RB_OK, "%u parts, %s",
		  some.set.nparts, ctx.error.text);
	CHECK(ctx.stats.threads == 1 && ctx.threads == 16, "%d threads of %d", (int) ctx.stats.threads,
		  ctx.threads);
	free_side(&some);
}

int
main(void)
{
	memory = rb_memory_create(UINT64_MAX);
	CHECK_RUN(unions_of_cells);
	CHECK_RUN(convex_solids);
	CHECK_RUN(nested_deep);
	CHECK_RUN(bad_solids);
	CHECK_RUN(stopped);
	CHECK_RUN(through_a_stream);
	CHECK_RUN(nothing);
	CHECK_RUN(few_threads);
	for (int i = 0; i < MOST_ROWS; i++)
	{
		free(reds[i].t);
		free(blues[i].t);
	}
	rb_memory_destroy(memory);
	return check_done();
}
