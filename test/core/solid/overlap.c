/*
 * overlap.c
 *	  Tests the measures of overlaps against rationals.
 *
 * The reference of tetrahedra clips them (overlap_reference.h); that of bodies of cells adds up common cells. Nearly all pairs are degenerate: corners on small lattices, common faces and edges, equal solids.
 */
#include "core/join/join.h"
#include "core/solid/solid.h"
#include <math.h>
#include <string.h>

#include "check.h"
#include "is_nearest.h"
#include "core/exact/orient.h"
#include "overlap_reference.h"

#include <gmp.h>
#include <stdlib.h>

static rb_memory *memory;
static rb_context ctx;

/* Makes an outward tetrahedron of lattice points, moved and scaled. Returns false if it is flat. */
static bool
make_tetrahedron(double *t, int most, const double *scale, const double *from)
{
	static const int corner[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 0, 3}};
	double p[4][3];
	int side;

	for (int i = 0; i < 4; i++)
		for (int a = 0; a < 3; a++)
			p[i][a] = fma(scale[a], check_below(most + 1), from[a]);
	side = rb_orient3d(p[0], p[1], p[2], p[3]);
	for (int i = 0; i < 4 && side != 0; i++)
	{
		const int first = check_below(3);

		for (int k = 0; k < 3; k++)
			memcpy(t + 9 * i + 3 * k, p[corner[i][(first + (side > 0 ? k : 2 - k)) % 3]],
				   3 * sizeof *t);
	}
	return side != 0;
}

#define MOST_ROWS 12

/* Rows that are tetrahedra */
typedef struct side
{
	rb_set set;
	double outward[MOST_ROWS][36]; /* As the reference wants them */
	double coords[MOST_ROWS * 36];
	uint32_t row_of[MOST_ROWS * 4];
} side;

/* The tested result: a table of rows by rows */
typedef struct table
{
	rb_overlap overlap[MOST_ROWS][MOST_ROWS];
	int count[MOST_ROWS][MOST_ROWS];
	pthread_mutex_t lock;
	rb_status answer; /* Status returned by the callback */
} table;

static rb_status
put_rows(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	table *t = user;

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < n; i++)
	{
		memcpy(&t->overlap[rows[i].red][rows[i].blue], payload + RB_OVERLAP_WORDS * i,
			   sizeof(rb_overlap));
		t->count[rows[i].red][rows[i].blue]++;
	}
	pthread_mutex_unlock(&t->lock);
	return t->answer;
}

static rb_contact_faces counted_faces; /* Faces that count in `ask` */

static rb_status
ask(const side *red, const side *blue, table *t)
{
	const rb_job job = {.red = &red->set,
						.blue = &blue->set,
						.predicate = RB_OVERLAP,
						.contact = counted_faces,
						.depth = true};
	const rb_row_sink sink = {.put = put_rows, .user = t};

	memset(t->count, 0, sizeof t->count);
	return rb_compose_overlaps(&ctx, &rb_backend_cpu, &job, &sink);
}

/* Makes a set of the tetrahedra, with some of their faces turned over. */
static void
make_side(side *s)
{
	for (int i = 0; i < MOST_ROWS * 4; i++)
	{
		double *t = s->coords + 9 * i;
		const bool turn = check_below(2) == 0;

		memcpy(t, s->outward[i / 4] + 9 * (i % 4), 9 * sizeof *t);
		s->row_of[i] = (uint32_t) i / 4;
		for (int a = 0; turn && a < 3; a++)
		{
			const double x = t[a];

			t[a] = t[3 + a];
			t[3 + a] = x;
		}
	}
	s->set = (rb_set){.kind = RB_TRIANGLE3,
					  .nparts = MOST_ROWS * 4,
					  .nrows = MOST_ROWS,
					  .coords = s->coords,
					  .row_of = s->row_of};
}

/* Computes the overlaps of the rows of one side, for all pairs in the order of rows. */
static rb_status
ask_self(const side *solids, double least, table *t)
{
	const rb_job job = {
		.red = &solids->set, .predicate = RB_OVERLAP, .min_volume = least, .depth = true};
	const rb_row_sink sink = {.put = put_rows, .user = t};

	memset(t->count, 0, sizeof t->count);
	return rb_compose_overlaps(&ctx, &rb_backend_cpu, &job, &sink);
}

static bool
is_same(const rb_overlap *a, const rb_overlap *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

/* Compares the area that two tetrahedra share, with faces that count, with the reference. */
static void
compare_areas(const double *red, const double *blue, const rb_overlap *o, int count,
			  rb_contact_faces contact)
{
	mpf_t area[2];

	mpf_init2(area[0], AREA_BITS);
	mpf_init2(area[1], AREA_BITS);
	add_common_areas(area, red, blue);
	if (count == 0)
		CHECK(mpf_sgn(area[0]) == 0 && mpf_sgn(area[1]) == 0, "no result");
	else
	{
		if (contact == RB_FACES_BOTH)
			mpf_add(area[0], area[0], area[1]);
		CHECK(mpf_sgn(area[contact == RB_FACES_FLUSH]) == 0
				  ? o->contact_area == 0
				  : is_nearest_area(o->contact_area, area[contact == RB_FACES_FLUSH]),
			  "area %a, not %a", o->contact_area, mpf_get_d(area[contact == RB_FACES_FLUSH]));
	}
	mpf_clears(area[0], area[1], NULL);
}

/* Compares the depth of two tetrahedra whose interiors meet with the reference. */
static void
compare_depth(const double *red, const double *blue, double depth)
{
	mpq_t square;

	mpq_init(square);
	find_square_of_depth(square, red, blue);
	CHECK(is_nearest_root(depth, square) || (depth == 0x1p-1074 && mpq_get_d(square) == 0),
		  "depth %a, not %a", depth, sqrt(mpq_get_d(square)));
	mpq_clear(square);
}

/* Compares the overlap of two tetrahedra with the reference. Returns true if the interiors meet. */
static bool
compare_with_reference(const double *red, const double *blue, const rb_overlap *o, int count)
{
	mpq_t volume, moment[3], x;
	bool meet;

	mpq_init(volume);
	mpq_init(x);
	for (int a = 0; a < 3; a++)
		mpq_init(moment[a]);
	add_faces_inside(volume, moment, red, blue, false);
	add_faces_inside(volume, moment, blue, red, true);
	meet = mpq_sgn(volume) != 0;
	if (count == 1 && meet)
		compare_depth(red, blue, o->depth);
	else if (count == 1)
		CHECK(o->depth == 0, "depth %a, not 0", o->depth);
	if (!meet)
		CHECK(count == 0 || (o->volume == 0 && isnan(o->centroid[0])), "volume %a, not 0",
			  o->volume);
	else
	{
		mpq_set_ui(x, 1, 6);
		mpq_mul(x, x, volume);
		CHECK(count == 1, "no result");
		CHECK(is_nearest_above_zero(o->volume, x), "volume %a, not %a", o->volume, mpq_get_d(x));
		for (int a = 0; a < 3; a++)
		{
			mpq_div(x, moment[a], volume);
			mpq_div_2exp(x, x, 2);
			CHECK(is_nearest(o->centroid[a], x), "centroid %a, not %a", o->centroid[a],
				  mpq_get_d(x));
		}
	}
	mpq_clear(volume);
	mpq_clear(x);
	for (int a = 0; a < 3; a++)
		mpq_clear(moment[a]);
	return meet;
}

/* Compares the decision whether the exact volume reaches `least` with the reference. */
static void
compare_with_least(const double *red, const double *blue, double least, bool reaches)
{
	mpq_t volume, moment[3], x;

	mpq_inits(volume, moment[0], moment[1], moment[2], x, NULL);
	add_faces_inside(volume, moment, red, blue, false);
	add_faces_inside(volume, moment, blue, red, true);
	mpq_set_d(x, least);
	mpq_set_ui(moment[0], 6, 1);
	mpq_mul(x, x, moment[0]);
	CHECK(reaches == (mpq_cmp(volume, x) >= 0), "the volume is nearly %a", least);
	mpq_clears(volume, moment[0], moment[1], moment[2], x, NULL);
}

/* Compares many pairs of tetrahedra, most of them degenerate, with the reference. */
static void
tetrahedra(void)
{
	static const double froms[][3] = {{0, 0, 0}, {391777.123, 5820111.456, 34.5}, {-1, -1, -1}};
	static side red, blue;
	static table t, swapped;
	const long rounds = 6 + check_rounds(42);
	long meet = 0, touch = 0, apart = 0;

	pthread_mutex_init(&t.lock, NULL);
	pthread_mutex_init(&swapped.lock, NULL);
	for (long round = 0; round < rounds; round++)
	{
		const int size = (int) (round % 6), most = 2 + check_below(2);
		const double *from = froms[size == 1 || size == 2 ? size : 0];
		const double s = size == 1 ? 0.1 : size == 3 ? 0x1p-498 * 1.1 : size == 4 ? 0x1p300 / 3 : 1;
		const double scale[3] = {s, s, size == 5 ? s * 0x1p-40 : s};

		for (int i = 0; i < MOST_ROWS; i++)
		{
			while (!make_tetrahedron(red.outward[i], most, scale, from))
				;
			while (!make_tetrahedron(blue.outward[i], most, scale, from))
				;
			if (check_below(50) == 0)
				memcpy(blue.outward[i], red.outward[i], sizeof red.outward[i]);
		}
		make_side(&red);
		make_side(&blue);
		ctx.threads = 1 + check_below(3);
		counted_faces = (rb_contact_faces) check_below(3);
		CHECK(ask(&red, &blue, &t) == RB_OK, "%s", ctx.error.text);
		ctx.threads = 1 + check_below(7);
		CHECK(ask(&blue, &red, &swapped) == RB_OK, "%s", ctx.error.text);
		for (int r = 0; r < MOST_ROWS; r++)
			for (int b = 0; b < MOST_ROWS; b++)
			{
				const bool met = compare_with_reference(red.outward[r], blue.outward[b],
														&t.overlap[r][b], t.count[r][b]);

				compare_areas(red.outward[r], blue.outward[b], &t.overlap[r][b], t.count[r][b],
							  counted_faces);
				CHECK(t.count[r][b] == swapped.count[b][r] &&
						  (t.count[r][b] == 0 || is_same(&t.overlap[r][b], &swapped.overlap[b][r])),
					  "swapped");
				meet += met;
				touch += !met && t.count[r][b] > 0;
				apart += !met && t.count[r][b] == 0;
			}
	}
	ctx.threads = 1;
	counted_faces = RB_FACES_BOTH;
	CHECK(meet > 20 * rounds && touch > rounds && apart > 20 * rounds,
		  "%ld pairs meet, %ld touch, %ld do not", meet, touch, apart);
}

/* ---- bodies of cells ---- */

#define CELLS 3
#define MOST_CELL_FACES (CELLS * CELLS * CELLS * 12)
#define CELL_ROWS 5

/* Cells of size 2 on a lattice that begins at `from` */
typedef struct cells
{
	bool at[CELLS][CELLS][CELLS];
	int from[3];
} cells;

static bool
is_cell(const cells *c, const int at[3])
{
	for (int a = 0; a < 3; a++)
		if (at[a] < 0 || at[a] >= CELLS)
			return false;
	return c->at[at[0]][at[1]][at[2]];
}

/* Chooses cells so that at least one exists. */
static void
choose_cells(cells *c)
{
	const int dense = 1 + check_below(4);

	for (int i = 0; i < CELLS * CELLS * CELLS; i++)
		c->at[i / 9][i / 3 % 3][i % 3] = check_below(5) < dense;
	c->at[1][1][1] = true;
	for (int a = 0; a < 3; a++)
		c->from[a] = check_below(3);
}

/* An affine map with integer coefficients */
typedef struct affine
{
	double to[3][3];
	double offset[3];
	double determinant;
} affine;

static void
choose_map(affine *m)
{
	do
	{
		for (int i = 0; i < 9; i++)
			m->to[i / 3][i % 3] = check_below(5) - 2;
		m->determinant = 0;
		for (int i = 0; i < 3; i++)
			m->determinant += m->to[0][i] * (m->to[1][(i + 1) % 3] * m->to[2][(i + 2) % 3] -
											 m->to[1][(i + 2) % 3] * m->to[2][(i + 1) % 3]);
	} while (m->determinant == 0);
	for (int a = 0; a < 3; a++)
		m->offset[a] = check_below(2) ? 0x1p40 : 0;
}

/* Writes the outer faces of cells, turned either way. Returns the number of triangles. */
static uint32_t
write_faces(double *t, const cells *c, const affine *m)
{
	uint32_t n = 0;

	for (int i = 0; i < CELLS * CELLS * CELLS * 6; i++)
	{
		const int at[3] = {i / 54, i / 18 % 3, i / 6 % 3}, axis = i % 6 / 2, up = i % 2;
		const int u = (axis + 1) % 3, v = (axis + 2) % 3, skip = check_below(2);
		int other[3] = {at[0], at[1], at[2]};
		double corner[4][3];

		other[axis] += up ? 1 : -1;
		if (!is_cell(c, at) || is_cell(c, other))
			continue;
		for (int k = 0; k < 4; k++)
		{
			double p[3];

			p[axis] = c->from[axis] + 2 * (at[axis] + up);
			p[u] = c->from[u] + 2 * (at[u] + (k == 1 || k == 2));
			p[v] = c->from[v] + 2 * (at[v] + (k >= 2));
			for (int a = 0; a < 3; a++)
				corner[k][a] =
					m->offset[a] + m->to[a][0] * p[0] + m->to[a][1] * p[1] + m->to[a][2] * p[2];
		}
		for (int h = 0; h < 2; h++, n++)
			for (int k = 0; k < 3; k++)
				memcpy(t + 9 * n + 3 * k, corner[(skip + 2 * h + k) % 4], 3 * sizeof *t);
	}
	return n;
}

typedef struct cell_side
{
	rb_set set;
	cells of[CELL_ROWS];
	double coords[CELL_ROWS * MOST_CELL_FACES * 9];
	uint32_t row_of[CELL_ROWS * MOST_CELL_FACES];
} cell_side;

static void
make_cell_side(cell_side *s, const affine *m)
{
	uint32_t n = 0;

	for (uint32_t row = 0; row < CELL_ROWS; row++)
	{
		const uint32_t from = n;

		choose_cells(&s->of[row]);
		n += write_faces(s->coords + 9 * n, &s->of[row], m);
		for (uint32_t i = from; i < n; i++)
			s->row_of[i] = row;
	}
	s->set = (rb_set){.kind = RB_TRIANGLE3,
					  .nparts = n,
					  .nrows = CELL_ROWS,
					  .coords = s->coords,
					  .row_of = s->row_of};
}

/* Sums the volume that two bodies of cells share, and its moment times two, on the lattice. */
static void
share_cells(const cells *red, const cells *blue, double *volume, double moment[3])
{
	*volume = moment[0] = moment[1] = moment[2] = 0;
	for (int i = 0; i < 27 * 27; i++)
	{
		const int r[3] = {i / 27 / 9, i / 27 / 3 % 3, i / 27 % 3},
				  b[3] = {i % 27 / 9, i % 27 / 3 % 3, i % 3};
		int low[3], high[3], size = is_cell(red, r) && is_cell(blue, b);

		for (int a = 0; a < 3; a++)
		{
			const int x = red->from[a] + 2 * r[a], y = blue->from[a] + 2 * b[a];

			low[a] = x > y ? x : y;
			high[a] = (x < y ? x : y) + 2;
			size *= high[a] > low[a] ? high[a] - low[a] : 0;
		}
		*volume += size;
		for (int a = 0; a < 3; a++)
			moment[a] += size * (low[a] + high[a]);
	}
}

/* Sums the areas in common on the lattice, of the faces across each axis that count. */
static void
share_cell_faces(const cells *red, const cells *blue, rb_contact_faces contact, double area[3])
{
	area[0] = area[1] = area[2] = 0;
	for (int i = 0; i < 27 * 6 * 27 * 2; i++)
	{
		const int r[3] = {i / 324 / 9, i / 324 / 3 % 3, i / 324 % 3};
		const int b[3] = {i % 54 / 2 / 9, i % 54 / 2 / 3 % 3, i % 54 / 2 % 3};
		const int face = i / 54 % 6, axis = face / 2, up = face % 2, blue_up = i % 2;
		int next_red[3], next_blue[3], size = 1;

		memcpy(next_red, r, sizeof r);
		memcpy(next_blue, b, sizeof b);
		next_red[axis] += up ? 1 : -1;
		next_blue[axis] += blue_up ? 1 : -1;
		if (!is_cell(red, r) || is_cell(red, next_red) || !is_cell(blue, b) ||
			is_cell(blue, next_blue) ||
			red->from[axis] + 2 * (r[axis] + up) != blue->from[axis] + 2 * (b[axis] + blue_up) ||
			(contact == RB_FACES_AGAINST && up == blue_up) ||
			(contact == RB_FACES_FLUSH && up != blue_up))
			continue;
		for (int a = 0; a < 3; a++)
		{
			const int x = red->from[a] + 2 * r[a], y = blue->from[a] + 2 * b[a];

			if (a != axis)
				size *= abs(x - y) < 2 ? 2 - abs(x - y) : 0;
		}
		area[axis] += size;
	}
}

/* Compares the area that two bodies of cells share. */
static void
compare_areas_of_cells(const cells *red, const cells *blue, const affine *m, const rb_overlap *o,
					   int count, rb_contact_faces contact)
{
	double area[3];
	mpf_t sum, root;

	share_cell_faces(red, blue, contact, area);
	mpf_init2(sum, AREA_BITS);
	mpf_init2(root, AREA_BITS);
	for (int a = 0; a < 3; a++)
	{
		double square = 0;

		for (int i = 0; i < 3; i++)
		{
			const int j = (i + 1) % 3, k = (i + 2) % 3, u = (a + 1) % 3, v = (a + 2) % 3;
			const double n = m->to[j][u] * m->to[k][v] - m->to[k][u] * m->to[j][v];

			square += n * n;
		}
		mpf_set_d(root, area[a] * area[a] * square);
		mpf_sqrt(root, root);
		mpf_add(sum, sum, root);
	}
	if (count == 0)
		CHECK(mpf_sgn(sum) == 0, "no result");
	else
		CHECK(mpf_sgn(sum) == 0 ? o->contact_area == 0 : is_nearest_area(o->contact_area, sum),
			  "area %a, not %a", o->contact_area, mpf_get_d(sum));
	mpf_clears(sum, root, NULL);
}

/* ---- depth of bodies of cells ---- */

#define UNITS 9 /* The lattice has cells of size 2 from 0 to 2, so units from 0 to 8 */

/* Returns true if a unit of the lattice is in a cell. */
static bool
is_unit(const cells *c, const int at[3])
{
	int cell[3];

	for (int a = 0; a < 3; a++)
	{
		if (at[a] < c->from[a])
			return false;
		cell[a] = (at[a] - c->from[a]) / 2;
	}
	return is_cell(c, cell);
}

/* Adds a unit, and those connected with it, to a part, and finds the extents of the part. */
static void
fill_part(bool todo[UNITS][UNITS][UNITS], const int at[3], int low[3], int high[3])
{
	for (int a = 0; a < 3; a++)
		if (at[a] < 0 || at[a] >= UNITS)
			return;
	if (!todo[at[0]][at[1]][at[2]])
		return;
	todo[at[0]][at[1]][at[2]] = false;
	for (int i = 0; i < 6; i++)
	{
		int to[3] = {at[0], at[1], at[2]};

		low[i / 2] = at[i / 2] < low[i / 2] ? at[i / 2] : low[i / 2];
		high[i / 2] = at[i / 2] + 1 > high[i / 2] ? at[i / 2] + 1 : high[i / 2];
		to[i / 2] += i % 2 == 0 ? -1 : 1;
		fill_part(todo, to, low, high);
	}
}

/* Compares the depth of two bodies of cells. */
static void
compare_depth_of_cells(const cells *red, const cells *blue, const affine *m, double depth)
{
	bool todo[UNITS][UNITS][UNITS];
	mpq_t square, of, x;

	mpq_inits(square, of, x, NULL);
	for (int i = 0; i < UNITS * UNITS * UNITS; i++)
	{
		const int at[3] = {i / 81, i / 9 % 9, i % 9};

		todo[at[0]][at[1]][at[2]] = is_unit(red, at) && is_unit(blue, at);
	}
	for (int i = 0; i < UNITS * UNITS * UNITS; i++)
	{
		const int at[3] = {i / 81, i / 9 % 9, i % 9};
		int low[3] = {UNITS, UNITS, UNITS}, high[3] = {0, 0, 0};
		mpq_t least;

		if (!todo[at[0]][at[1]][at[2]])
			continue;
		fill_part(todo, at, low, high);
		mpq_init(least);
		for (int a = 0; a < 3; a++)
		{
			double n = 0;

			for (int j = 0; j < 3; j++)
			{
				const int k = (j + 1) % 3, l = (j + 2) % 3, u = (a + 1) % 3, v = (a + 2) % 3;
				const double c = m->to[k][u] * m->to[l][v] - m->to[l][u] * m->to[k][v];

				n += c * c;
			}
			mpq_set_d(x, (high[a] - low[a]) * m->determinant);
			mpq_mul(x, x, x);
			mpq_set_d(of, n);
			mpq_div(x, x, of);
			if (a == 0 || mpq_cmp(x, least) < 0)
				mpq_set(least, x);
		}
		if (mpq_cmp(least, square) > 0)
			mpq_set(square, least);
		mpq_clear(least);
	}
	CHECK(is_nearest_root(depth, square), "depth %a, not %a", depth, sqrt(mpq_get_d(square)));
	mpq_clears(square, of, x, NULL);
}

/* Compares bodies of cells, with common faces, edges of four faces and cavities. */
static void
bodies_of_cells(void)
{
	static cell_side red, blue;
	static table t;
	const long rounds = check_rounds(80);
	long meet = 0;

	pthread_mutex_init(&t.lock, NULL);
	for (long round = 0; round < rounds; round++)
	{
		affine m;

		counted_faces = (rb_contact_faces) check_below(3);
		choose_map(&m);
		make_cell_side(&red, &m);
		make_cell_side(&blue, &m);
		ctx.threads = 1 + check_below(3);
		{
			const rb_job job = {.red = &red.set,
								.blue = &blue.set,
								.predicate = RB_OVERLAP,
								.contact = counted_faces,
								.depth = true};
			const rb_row_sink sink = {.put = put_rows, .user = &t};

			memset(t.count, 0, sizeof t.count);
			CHECK(rb_compose_overlaps(&ctx, &rb_backend_cpu, &job, &sink) == RB_OK, "%s",
				  ctx.error.text);
		}
		for (int r = 0; r < CELL_ROWS; r++)
			for (int b = 0; b < CELL_ROWS; b++)
			{
				const rb_overlap *o = &t.overlap[r][b];
				double volume, moment[3];
				mpq_t x, y;

				compare_areas_of_cells(&red.of[r], &blue.of[b], &m, o, t.count[r][b],
									   counted_faces);
				share_cells(&red.of[r], &blue.of[b], &volume, moment);
				if (volume == 0)
				{
					CHECK(t.count[r][b] == 0 || o->volume == 0, "volume %a, not 0", o->volume);
					continue;
				}
				meet++;
				if (t.count[r][b] == 1)
					compare_depth_of_cells(&red.of[r], &blue.of[b], &m, o->depth);
				CHECK(t.count[r][b] == 1 && o->volume == volume * fabs(m.determinant),
					  "volume %a, not %a", o->volume, volume * fabs(m.determinant));
				mpq_init(x);
				mpq_init(y);
				for (int a = 0; a < 3; a++)
				{
					mpq_set_d(x, m.to[a][0] * moment[0] + m.to[a][1] * moment[1] +
									 m.to[a][2] * moment[2]);
					mpq_set_d(y, 2 * volume);
					mpq_div(x, x, y);
					mpq_set_d(y, m.offset[a]);
					mpq_add(x, x, y);
					CHECK(is_nearest(o->centroid[a], x), "centroid %a, not %a", o->centroid[a],
						  mpq_get_d(x));
				}
				mpq_clear(x);
				mpq_clear(y);
			}
	}
	ctx.threads = 1;
	counted_faces = RB_FACES_BOTH;
	CHECK(meet > rounds, "%ld pairs meet", meet);
}

/* ---- other cases ---- */

/* Compares tetrahedra whose extents along the axes differ extremely: double-double is not enough. */
static void
far_exponents(void)
{
	static const double from[3] = {0, 0, 0}, scale[3] = {0x1p260, 0x1p-260, 1};
	static side red, blue;
	static table t;

	pthread_mutex_init(&t.lock, NULL);
	for (long round = 0; round < check_rounds(10); round++)
	{
		while (!make_tetrahedron(red.outward[0], 2, scale, from))
			;
		while (!make_tetrahedron(blue.outward[0], 2, scale, from))
			;
		for (int i = 1; i < MOST_ROWS; i++)
		{
			/* Other rows are far away. */
			const double away[2][3] = {{0, 0, 100 * i}, {0, 0, -100 * i}};

			while (!make_tetrahedron(red.outward[i], 1, scale, away[0]))
				;
			while (!make_tetrahedron(blue.outward[i], 1, scale, away[1]))
				;
		}
		make_side(&red);
		make_side(&blue);
		CHECK(ask(&red, &blue, &t) == RB_OK, "%s", ctx.error.text);
		compare_with_reference(red.outward[0], blue.outward[0], &t.overlap[0][0], t.count[0][0]);
	}
}

/* Compares the depths of tetrahedra with coordinates up to the largest double. */
static void
depth_of_large_coordinates(void)
{
	static const double sizes[] = {1e300, 0x1.fffffffffffffp1022, 0x1.fffffffffffffp1023, 0x1p1022};
	static side red, blue;
	static table t;
	const long rounds = 4 + check_rounds(16);
	long meet = 0;

	pthread_mutex_init(&t.lock, NULL);
	for (long round = 0; round < rounds; round++)
	{
		const double s = sizes[round % 4];
		const double scale[3] = {s, s, s}, from[3] = {-s, -s, s > 0x1p1022 ? -s : 0};

		for (int i = 0; i < MOST_ROWS; i++)
		{
			while (!make_tetrahedron(red.outward[i], 2, scale, from))
				;
			while (!make_tetrahedron(blue.outward[i], 2, scale, from))
				;
		}
		make_side(&red);
		make_side(&blue);
		CHECK(ask(&red, &blue, &t) == RB_OK, "%s", ctx.error.text);
		for (int i = 0; i < MOST_ROWS * MOST_ROWS; i++)
		{
			const rb_overlap *o = &t.overlap[i / MOST_ROWS][i % MOST_ROWS];

			if (t.count[i / MOST_ROWS][i % MOST_ROWS] == 0 || o->volume == 0)
				continue;
			compare_depth(red.outward[i / MOST_ROWS], blue.outward[i % MOST_ROWS], o->depth);
			meet++;
		}
	}
	CHECK(meet > 20 * rounds, "%ld pairs meet", meet);
}

#define MOST_BOXES 60

/* The volumes that one solid shares with the rows of the other side */
typedef struct many_overlaps
{
	double volume[MOST_BOXES];
	pthread_mutex_t lock;
} many_overlaps;

static rb_status
put_many(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	many_overlaps *m = user;

	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < n; i++)
		memcpy(&m->volume[rows[i].blue], payload + RB_OVERLAP_WORDS * i, sizeof(double));
	pthread_mutex_unlock(&m->lock);
	return RB_OK;
}

#define FACETS 40 /* Squares along each side of a divided cube */

/* Writes the sides of a box, each divided into n by n squares of two triangles. Returns their number. */
static uint32_t
write_divided_box(double *t, const double *low, const double *high, int n)
{
	uint32_t count = 0;

	for (int i = 0; i < 6 * n * n; i++)
	{
		const int axis = i / (2 * n * n), up = i / (n * n) % 2, u = (axis + 1) % 3,
				  v = (axis + 2) % 3;
		double corner[4][3];

		for (int k = 0; k < 4; k++)
		{
			corner[k][axis] = up ? high[axis] : low[axis];
			corner[k][u] = low[u] + (high[u] - low[u]) / n * (i % n + (k == 1 || k == 2));
			corner[k][v] = low[v] + (high[v] - low[v]) / n * (i / n % n + (k >= 2));
		}
		for (int h = 0; h < 2; h++, count++)
			for (int k = 0; k < 3; k++)
				memcpy(t + 9 * count + 3 * k, corner[(2 * h + k) % 4], 3 * sizeof *t);
	}
	return count;
}

/* Compares boxes inside, outside and across a cube of many facets, which has a cubic cavity. */
static void
many_facets(void)
{
	static const double ends[4][3] = {{0, 0, 0}, {40, 40, 40}, {10, 10, 10}, {30, 30, 30}};
	static double cube[2 * FACETS * FACETS * 12 * 9], boxes[MOST_BOXES * 12 * 9];
	static double low[MOST_BOXES][3], high[MOST_BOXES][3];
	static uint32_t row_of[MOST_BOXES * 12], same_row[2 * FACETS * FACETS * 12];
	const int n = check_rounds(FACETS) < 8 ? 8 : FACETS;
	const uint32_t outer = write_divided_box(cube, ends[0], ends[1], n);
	const rb_set red = {.kind = RB_TRIANGLE3,
						.nparts = outer + write_divided_box(cube + 9 * outer, ends[2], ends[3], n),
						.nrows = 1,
						.coords = cube,
						.row_of = same_row};
	const rb_set blue = {.kind = RB_TRIANGLE3,
						 .nparts = MOST_BOXES * 12,
						 .nrows = MOST_BOXES,
						 .coords = boxes,
						 .row_of = row_of};
	const rb_job job = {.red = &red, .blue = &blue, .predicate = RB_OVERLAP, .depth = true};
	static many_overlaps m;
	const rb_row_sink sink = {.put = put_many, .user = &m};
	long whole = 0, partial = 0, apart = 0;

	for (int i = 0; i < MOST_BOXES; i++)
	{
		for (int a = 0; a < 3; a++)
		{
			low[i][a] = check_below(100) * 0.5 - 5;
			high[i][a] = low[i][a] + 0.5 * (1 + check_below(12));
		}
		for (uint32_t k = 0; k < 12; k++)
			row_of[12 * i + (int) k] = (uint32_t) i;
		write_divided_box(boxes + 108 * i, low[i], high[i], 1);
	}
	pthread_mutex_init(&m.lock, NULL);
	memset(m.volume, 0, sizeof m.volume);
	CHECK(rb_compose_overlaps(&ctx, &rb_backend_cpu, &job, &sink) == RB_OK, "%s", ctx.error.text);
	for (int i = 0; i < MOST_BOXES; i++)
	{
		double size = 1, share[2] = {1, 1};

		for (int a = 0; a < 3; a++)
		{
			size *= high[i][a] - low[i][a];
			for (int k = 0; k < 2; k++)
				share[k] *=
					fmax(0, fmin(high[i][a], ends[2 * k + 1][a]) - fmax(low[i][a], ends[2 * k][a]));
		}
		share[0] -= share[1];
		CHECK(m.volume[i] == share[0], "volume %g, not %g", m.volume[i], share[0]);
		whole += share[0] == size;
		partial += share[0] > 0 && share[0] < size;
		apart += share[0] == 0;
	}
	CHECK(whole > 0 && partial > 0 && apart > 0, "%ld boxes inside, %ld across, %ld outside", whole,
		  partial, apart);
}

/* Compares the overlaps within a set, and those with a least volume, with the overlaps of two equal sets. */
static void
self_and_least(void)
{
	static const double from[3] = {0, 0, 0}, scale[3] = {1, 0.1, 1};
	static side solids;
	static table all, own, large;
	const long rounds = check_rounds(100);
	long meet = 0, equal = 0, left_out = 0;

	pthread_mutex_init(&all.lock, NULL);
	pthread_mutex_init(&own.lock, NULL);
	pthread_mutex_init(&large.lock, NULL);
	for (long round = 0; round < rounds; round++)
	{
		double least = 0x1p-1074;

		for (int i = 0; i < MOST_ROWS; i++)
		{
			while (!make_tetrahedron(solids.outward[i], 2 + check_below(2), scale, from))
				;
			if (i > 0 && check_below(5) == 0)
				memcpy(solids.outward[i], solids.outward[i - 1], sizeof solids.outward[i]);
		}
		make_side(&solids);
		ctx.threads = 1 + check_below(3);
		CHECK(ask(&solids, &solids, &all) == RB_OK, "%s", ctx.error.text);
		CHECK(ask_self(&solids, 0, &own) == RB_OK, "%s", ctx.error.text);
		for (int r = 0; r < MOST_ROWS; r++)
			for (int b = 0; b < MOST_ROWS; b++)
			{
				CHECK(own.count[r][b] == (r < b ? all.count[r][b] : 0) &&
						  (own.count[r][b] == 0 || is_same(&own.overlap[r][b], &all.overlap[r][b])),
					  "rows %d and %d", r, b);
				if (own.count[r][b] > 0 && own.overlap[r][b].volume > 0 && check_below(5) == 0)
					least = own.overlap[r][b].volume;
			}
		CHECK(ask_self(&solids, least, &large) == RB_OK, "%s", ctx.error.text);
		for (int r = 0; r < MOST_ROWS; r++)
			for (int b = r + 1; b < MOST_ROWS; b++)
			{
				const double volume = own.count[r][b] > 0 ? own.overlap[r][b].volume : 0;

				/* Equal volumes may have been rounded up to the least one. */
				CHECK(volume == least || large.count[r][b] == (volume > least),
					  "volume %a, least %a, %d", volume, least, large.count[r][b]);
				if (volume == least)
					compare_with_least(solids.outward[r], solids.outward[b], least,
									   large.count[r][b] > 0);
				meet += volume > least;
				equal += volume == least;
				left_out += volume > 0 && volume < least;
			}
	}
	ctx.threads = 1;
	CHECK(meet > rounds && equal > 0 && left_out > 0, "%ld volumes above, %ld equal, %ld below",
		  meet, equal, left_out);
}

/* Tests refused allocations and stops. */
static void
little_memory_and_stop(void)
{
	static const double from[3] = {0, 0, 0}, scale[3] = {1, 1, 1};
	static side red, blue;
	static table t;
	uint64_t limit = 64;
	int refused = 0;
	rb_status status;

	pthread_mutex_init(&t.lock, NULL);
	for (int i = 0; i < MOST_ROWS; i++)
	{
		while (!make_tetrahedron(red.outward[i], 3, scale, from))
			;
		while (!make_tetrahedron(blue.outward[i], 3, scale, from))
			;
	}
	make_side(&red);
	make_side(&blue);
	rb_context_stop(&ctx);
	CHECK(ask(&red, &blue, &t) == RB_STOPPED && rb_memory_used(memory) == 0, "not stopped");
	rb_context_init(&ctx, memory);
	t.answer = RB_STOPPED;
	CHECK(ask(&red, &blue, &t) == RB_STOPPED && rb_memory_used(memory) == 0, "not stopped");
	t.answer = RB_OK;
	do
	{
		rb_memory *little = rb_memory_create(limit);

		rb_context_init(&ctx, little);
		ctx.threads = 2;
		status = ask(&red, &blue, &t);
		CHECK(status == RB_OK || status == RB_OVER_BUDGET, "%d bytes: status %d", (int) limit,
			  (int) status);
		CHECK(rb_memory_used(little) == 0, "%d bytes: memory is left", (int) limit);
		rb_memory_destroy(little);
		refused += status != RB_OK;
		limit += limit / 7;
	} while (status != RB_OK && limit < 1u << 30);
	CHECK(status == RB_OK && refused > 10, "status %d after %d", (int) status, refused);
	rb_context_init(&ctx, memory);
}

int
main(void)
{
	memory = rb_memory_create(UINT64_MAX);
	rb_context_init(&ctx, memory);
	prepare();
	CHECK_RUN(tetrahedra);
	CHECK_RUN(bodies_of_cells);
	CHECK_RUN(far_exponents);
	CHECK_RUN(depth_of_large_coordinates);
	CHECK_RUN(many_facets);
	CHECK_RUN(self_and_least);
	CHECK_RUN(little_memory_and_stop);
	CHECK(rb_memory_used(memory) == 0, "left behind");
	rb_memory_destroy(memory);
	return check_done();
}
