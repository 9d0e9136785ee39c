/*
 * sections.c
 *	  Tests sections of solids and surfaces by planes against rationals.
 *
 * A solid is a random set of tetrahedra of a small grid, so that its section is the union of those
 * of the tetrahedra. Grids of integers have planes through their corners, edges and faces.
 */
#include "fixtures.h"
#include "is_nearest.h"
#include "core/base/base.h"
#include "core/join/join.h"
#include "core/solid/solid.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#define SIDE 4 /* Vertices of the grid along each axis */
#define VERTICES (SIDE * SIDE * SIDE)
#define CELLS ((SIDE - 1) * (SIDE - 1) * (SIDE - 1))
#define TETS (6 * CELLS)

/* ---- solids ---- */

/* Families of grids */
enum
{
	LATTICE, /* Even integers */
	TILTED,  /* A linear map of even integers */
	MAP,     /* Map coordinates */
	ANY,     /* Any doubles */
	FAMILIES
};

typedef struct solid
{
	double at[VERTICES][3];
	int tet[TETS][4]; /* Its tetrahedra, turned alike */
	int ntets;
	double *triangles;
	uint32_t n;
} solid;

static int
vertex(int x, int y, int z)
{
	return (x * SIDE + y) * SIDE + z;
}

static void
make_grid(solid *s, int family)
{
	static const double origin[3] = {431250.25, 5412800.5, 312};
	int map[9];

	for (int i = 0; i < 9; i++)
		map[i] = (i % 4 == 0 ? 4 : 0) + check_below(3) - 1;
	for (int i = 0; i < VERTICES; i++)
	{
		const double x[3] = {2 * (i / SIDE / SIDE), 2 * (i / SIDE % SIDE), 2 * (i % SIDE)};

		for (int k = 0; k < 3; k++)
			switch (family)
			{
				case TILTED:
					s->at[i][k] = map[3 * k] * x[0] + map[3 * k + 1] * x[1] + map[3 * k + 2] * x[2];
					break;
				case MAP:
					s->at[i][k] = origin[k] + x[k] * 0.5;
					break;
				case ANY:
					s->at[i][k] = x[k] + 0.15 * random_signed();
					break;
				default:
					s->at[i][k] = x[k];
			}
	}
}

static double
volume(const solid *s, const int *t)
{
	return rb_orient3d(s->at[t[0]], s->at[t[1]], s->at[t[2]], s->at[t[3]]);
}

/* Appends a triangle, or two that meet in the middle of a side and one without area beside them. */
static void
add_triangle(solid *s, const double *a, const double *b, const double *c, bool divided)
{
	double m[3];
	const double *corner[3][3] = {{a, b, c}, {m, b, c}, {b, a, m}};

	for (int k = 0; k < 3; k++)
		m[k] = (a[k] + b[k]) / 2;
	if (divided)
		corner[0][1] = m;
	for (int i = 0; i < (divided ? 3 : 1); i++, s->n++)
		for (int k = 0; k < 3; k++)
			memcpy(s->triangles + 9 * s->n + 3 * k, corner[i][k], sizeof m);
}

/* Chooses tetrahedra, and makes the triangles that only one of them has. */
static void
make_solid(solid *s, int family, int dense, bool divide)
{
	static const int order[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1},
									{0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
	const bool inward = check_below(2), by_cells = check_below(2);
	bool kept = false, divided[VERTICES][VERTICES] = {{false}};

	make_grid(s, family);
	s->ntets = 0;
	s->n = 0;
	for (int cell = 0; cell < CELLS; cell++)
		for (int i = 0; i < 6; i++)
		{
			int x[3] = {cell % (SIDE - 1), cell / (SIDE - 1) % (SIDE - 1),
						cell / (SIDE - 1) / (SIDE - 1)};
			int *t = s->tet[s->ntets];

			if (i == 0 || !by_cells)
				kept = check_below(10) < dense;
			if (!kept)
				continue;
			t[0] = vertex(x[0], x[1], x[2]);
			for (int k = 0; k < 3; k++)
			{
				x[order[i][k]]++;
				t[1 + k] = vertex(x[0], x[1], x[2]);
			}
			if (volume(s, t) < 0)
			{
				const int swap = t[0];

				t[0] = t[1];
				t[1] = swap;
			}
			s->ntets++;
		}
	s->triangles = malloc((size_t) (s->ntets * 12 + 1) * 9 * sizeof(double));
	for (int i = 0; i < s->ntets; i++)
		for (int f = 0; f < 4; f++)
		{
			/* The face opposite to vertex f, seen from outside */
			const int *t = s->tet[i];
			const int a = t[(f + 1) % 4], b = t[(f + (f % 2 ? 2 : 3)) % 4],
					  c = t[(f + (f % 2 ? 3 : 2)) % 4];
			bool shared = false;

			for (int j = 0; j < s->ntets && !shared; j++)
				if (j != i)
				{
					int same = 0;

					for (int k = 0; k < 4; k++)
						same += s->tet[j][k] == a || s->tet[j][k] == b || s->tet[j][k] == c;
					shared = same == 3;
				}
			if (shared)
				continue;
			/* An edge is divided in one of its triangles. */
			shared = !divide || check_below(8) > 0 || divided[a][b] || divided[b][a];
			divided[a][b] |= !shared;
			add_triangle(s, s->at[inward ? b : a], s->at[inward ? a : b], s->at[c], !shared);
		}
}

/* ---- planes ---- */

/* A plane in rationals */
typedef struct truth
{
	mpq_t normal[3];
	const double *point;
	int drop;
} truth;

static void
make_plane(double *p, rb_kind kind, const solid *s, int family)
{
	do
	{
		for (int i = 0; i < 3; i++)
			memcpy(p + 3 * i, s->at[check_below(VERTICES)], 3 * sizeof *p);
		if (kind == RB_PLANE3)
			for (int k = 0; k < 3; k++)
			{
				p[k] = (p[k] + p[6 + k]) / 2;
				p[3 + k] = check_below(4) ? check_below(5) - 2 : 0.0;
				if (family == ANY && check_below(2))
					p[3 + k] = random_signed();
			}
		else if (check_below(3) == 0)
			for (int k = 0; k < 9; k++)
				p[k] += random_signed();
	} while (kind == RB_PLANE3
				 ? p[3] == 0 && p[4] == 0 && p[5] == 0
				 : rb_orient2d(p, p + 3, p + 6) == 0 && rb_orient2d(p + 1, p + 4, p + 7) == 0 &&
					   rb_orient2d((double[]){p[0], p[2]}, (double[]){p[3], p[5]},
								   (double[]){p[6], p[8]}) == 0);
}

static void
open_truth(truth *t, rb_kind kind, const double *p)
{
	mpq_t u[3], v[3], x;

	mpq_init(x);
	t->point = p;
	t->drop = 0;
	for (int k = 0; k < 3; k++)
	{
		mpq_inits(t->normal[k], u[k], v[k], NULL);
		mpq_set_d(x, p[k]);
		mpq_set_d(u[k], p[3 + k]);
		if (kind == RB_PLANE3)
			mpq_set(t->normal[k], u[k]);
		else
		{
			mpq_sub(u[k], u[k], x);
			mpq_set_d(v[k], p[6 + k]);
			mpq_sub(v[k], v[k], x);
		}
	}
	for (int k = 0; k < 3; k++)
	{
		if (kind == RB_TRIANGLE3)
		{
			mpq_mul(t->normal[k], u[(k + 1) % 3], v[(k + 2) % 3]);
			mpq_mul(x, u[(k + 2) % 3], v[(k + 1) % 3]);
			mpq_sub(t->normal[k], t->normal[k], x);
		}
		if (fabs(mpq_get_d(t->normal[k])) > fabs(mpq_get_d(t->normal[t->drop])))
			t->drop = k;
	}
	for (int k = 0; k < 3; k++)
		mpq_clears(u[k], v[k], NULL);
	mpq_clear(x);
}

static void
close_truth(truth *t)
{
	for (int k = 0; k < 3; k++)
		mpq_clear(t->normal[k]);
}

/* Sets h to the height of a point, times the length of the normal. */
static void
height(mpq_t h, const truth *t, const double *p)
{
	mpq_t x, y;

	mpq_inits(x, y, NULL);
	mpq_set_ui(h, 0, 1);
	for (int k = 0; k < 3; k++)
	{
		mpq_set_d(x, p[k]);
		mpq_set_d(y, t->point[k]);
		mpq_sub(x, x, y);
		mpq_mul(x, x, t->normal[k]);
		mpq_add(h, h, x);
	}
	mpq_clears(x, y, NULL);
}

static int
sign_of(const truth *t, const double *p)
{
	mpq_t h;
	int sign;

	mpq_init(h);
	height(h, t, p);
	sign = mpq_sgn(h);
	mpq_clear(h);
	return sign;
}

/* Sets x to the point where an edge meets the plane. */
static void
meet(mpq_t x[3], const truth *t, const double *below, const double *above)
{
	mpq_t h[2], y;

	mpq_inits(h[0], h[1], y, NULL);
	height(h[0], t, below);
	height(h[1], t, above);
	mpq_sub(y, h[1], h[0]);
	mpq_div(h[0], h[0], y);
	mpq_neg(h[0], h[0]);
	for (int k = 0; k < 3; k++)
	{
		mpq_set_d(x[k], below[k]);
		mpq_set_d(y, above[k]);
		mpq_sub(y, y, x[k]);
		mpq_mul(y, y, h[0]);
		mpq_add(x[k], x[k], y);
	}
	mpq_clears(h[0], h[1], y, NULL);
}

/* Adds twice the area of a triangle of points in the projection, without sign. */
static void
add_area(mpq_t sum, const truth *t, mpq_t p[3], mpq_t q[3], mpq_t r[3])
{
	const int a = (t->drop + 1) % 3, b = (t->drop + 2) % 3;
	mpq_t u, v, x;

	mpq_inits(u, v, x, NULL);
	mpq_sub(u, q[a], p[a]);
	mpq_sub(v, r[b], p[b]);
	mpq_mul(x, u, v);
	mpq_sub(u, q[b], p[b]);
	mpq_sub(v, r[a], p[a]);
	mpq_mul(u, u, v);
	mpq_sub(x, x, u);
	mpq_abs(x, x);
	mpq_add(sum, sum, x);
	mpq_clears(u, v, x, NULL);
}

/* Adds twice the area of the section of a tetrahedron, in the projection. */
static void
add_tet_area(mpq_t sum, const truth *t, const solid *s, const int *tet)
{
	const double *side[2][4];
	int n[2] = {0, 0};
	mpq_t x[4][3];

	for (int i = 0; i < 4; i++)
	{
		const int above = sign_of(t, s->at[tet[i]]) >= 0;

		side[above][n[above]++] = s->at[tet[i]];
	}
	if (n[0] == 0 || n[1] == 0)
		return;
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 3; k++)
			mpq_init(x[i][k]);
	if (n[0] == 2)
		for (int i = 0; i < 4; i++)
			meet(x[i], t, side[0][i / 2], side[1][i == 1 || i == 2]);
	else
		for (int i = 0; i < 3; i++)
			meet(x[i], t, side[0][n[0] == 1 ? 0 : i], side[1][n[0] == 1 ? i : 0]);
	add_area(sum, t, x[0], x[1], x[2]);
	if (n[0] == 2)
		add_area(sum, t, x[0], x[2], x[3]);
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 3; k++)
			mpq_clear(x[i][k]);
}

/* Returns true if an area is the double nearest to a sum of doubled projected areas. */
static bool
is_area(double area, const mpq_t sum, const truth *t)
{
	mpq_t square, x, y;
	bool good;

	mpq_inits(square, x, y, NULL);
	for (int k = 0; k < 3; k++)
	{
		mpq_mul(x, t->normal[k], t->normal[k]);
		mpq_add(square, square, x);
	}
	mpq_div(square, square, t->normal[t->drop]);
	mpq_div(square, square, t->normal[t->drop]);
	mpq_mul(square, square, sum);
	mpq_mul(square, square, sum);
	mpq_div_2exp(square, square, 2);
	set_midpoint(x, area, 0);
	set_midpoint(y, area, HUGE_VAL);
	mpq_mul(x, x, x);
	mpq_mul(y, y, y);
	good = area > 0 && mpq_cmp(x, square) <= 0 && mpq_cmp(square, y) <= 0;
	mpq_clears(square, x, y, NULL);
	return good;
}

/* Returns true if the point just below the plane at rational x is inside the tetrahedron. */
static bool
is_in_tet(const truth *t, const solid *s, const int *tet, mpq_t x[3])
{
	bool inside = true;
	mpq_t u[3], v[3], n[3], sum, y;

	mpq_inits(sum, y, NULL);
	for (int k = 0; k < 3; k++)
		mpq_inits(u[k], v[k], n[k], NULL);
	for (int f = 0; f < 4 && inside; f++)
	{
		const double *a = s->at[tet[f]], *b = s->at[tet[(f + 1) % 4]], *c = s->at[tet[(f + 2) % 4]];
		const double *d = s->at[tet[(f + 3) % 4]];
		const int side = rb_orient3d(a, b, c, d);
		int sign;

		for (int k = 0; k < 3; k++)
		{
			mpq_set_d(y, a[k]);
			mpq_set_d(u[k], b[k]);
			mpq_sub(u[k], u[k], y);
			mpq_set_d(v[k], c[k]);
			mpq_sub(v[k], v[k], y);
		}
		mpq_set_ui(sum, 0, 1);
		for (int k = 0; k < 3; k++)
		{
			mpq_mul(n[k], u[(k + 1) % 3], v[(k + 2) % 3]);
			mpq_mul(y, u[(k + 2) % 3], v[(k + 1) % 3]);
			mpq_sub(n[k], n[k], y);
			mpq_set_d(y, a[k]);
			mpq_sub(y, x[k], y);
			mpq_mul(y, y, n[k]);
			mpq_add(sum, sum, y);
		}
		sign = mpq_sgn(sum);
		if (sign == 0)
		{
			for (int k = 0; k < 3; k++)
			{
				mpq_mul(y, n[k], t->normal[k]);
				mpq_sub(sum, sum, y);
			}
			sign = mpq_sgn(sum);
		}
		inside = sign == side;
	}
	mpq_clears(sum, y, NULL);
	for (int k = 0; k < 3; k++)
		mpq_clears(u[k], v[k], n[k], NULL);
	return inside;
}

/* ---- the call ---- */

typedef struct record
{
	rb_pair rows;
	uint64_t mark;
	double value[3];
} record;

typedef struct found
{
	pthread_mutex_t lock;
	record *at;
	size_t n;
	size_t room;
	rb_context *stop; /* Context that the sink stops; may be NULL */
} found;

static rb_status
put(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	found *f = user;

	pthread_mutex_lock(&f->lock);
	if (f->n + n > f->room)
	{
		f->room = 2 * (f->n + n);
		f->at = realloc(f->at, f->room * sizeof *f->at);
	}
	for (size_t i = 0; i < n; i++, f->n++)
	{
		f->at[f->n].rows = rows[i];
		f->at[f->n].mark = payload[i * RB_SECTION_WORDS];
		memcpy(f->at[f->n].value, payload + i * RB_SECTION_WORDS + 1, sizeof f->at[0].value);
	}
	pthread_mutex_unlock(&f->lock);
	if (f->stop != NULL)
		rb_context_stop(f->stop);
	return RB_OK;
}

static rb_status
cut(const rb_set *solids, const rb_set *planes, bool flat, int threads, rb_context *ctx,
	rb_memory *memory, found *f)
{
	const rb_job job = {.red = solids, .blue = planes, .predicate = RB_SECTION, .flat = flat};
	const rb_row_sink sink = {.put = put, .user = f};

	rb_context_init(ctx, memory);
	ctx->threads = threads;
	pthread_mutex_init(&f->lock, NULL);
	return rb_compose_sections(ctx, &rb_backend_cpu, &job, &sink);
}

static int
by_rows(const void *p, const void *q)
{
	const record *const *a = p, *const *b = q;

	if ((*a)->rows.blue != (*b)->rows.blue)
		return (*a)->rows.blue < (*b)->rows.blue ? -1 : 1;
	if ((*a)->rows.red != (*b)->rows.red)
		return (*a)->rows.red < (*b)->rows.red ? -1 : 1;
	return (*a > *b) - (*a < *b);
}

/* Sorts records by their rows; those of one section are in order. */
static record *
sort_records(const found *f)
{
	const record **order = malloc((f->n + 1) * sizeof *order);
	record *sorted = malloc((f->n + 1) * sizeof *sorted);

	for (size_t i = 0; i < f->n; i++)
		order[i] = &f->at[i];
	qsort(order, f->n, sizeof *order, by_rows);
	for (size_t i = 0; i < f->n; i++)
		sorted[i] = *order[i];
	free(order);
	return sorted;
}

/* Computes the sections on 1, 2 and 7 threads, which must agree. */
static record *
cut_alike(const rb_set *solids, const rb_set *planes, bool flat, size_t *n)
{
	static const int threads[] = {1, 2, 7};
	record *first = NULL;

	for (int i = 0; i < 3; i++)
	{
		rb_memory *memory = rb_memory_create((uint64_t) 1 << 30);
		found f = {.n = 0};
		rb_context ctx;
		rb_status status = cut(solids, planes, flat, threads[i], &ctx, memory, &f);
		record *sorted;

		CHECK(status == RB_OK, "%s: %s", rb_status_text(status), ctx.error.text);
		CHECK(rb_memory_used(memory) == 0, "memory left");
		rb_memory_destroy(memory);
		for (size_t k = 1; k < f.n; k++)
			CHECK(f.at[k - 1].mark == RB_SECTION_END ||
					  memcmp(&f.at[k - 1].rows, &f.at[k].rows, sizeof f.at[k].rows) == 0,
				  "records of two sections are mixed");
		sorted = sort_records(&f);
		free(f.at);
		if (i == 0)
		{
			first = sorted;
			*n = f.n;
			continue;
		}
		CHECK(f.n == *n && memcmp(sorted, first, *n * sizeof *first) == 0,
			  "%d threads: other sections", threads[i]);
		free(sorted);
	}
	return first;
}

/* ---- sections of solids ---- */

static long holes, polygons, areas, samples, empty;

/* Returns true if a point is one of the nearest doubles of a node of a surface. */
static bool
is_node(const truth *t, const double *triangles, uint32_t n, const double *at)
{
	bool found = false;
	mpq_t x[3];

	for (int k = 0; k < 3; k++)
		mpq_init(x[k]);
	for (uint32_t i = 0; i < 3 * n && !found; i++)
	{
		const double *p = triangles + 3 * i, *q = triangles + 3 * (i % 3 == 2 ? i - 2 : i + 1);
		const int p_sign = sign_of(t, p), q_sign = sign_of(t, q);
		bool near = true;

		for (int k = 0; k < 3; k++)
			near = near && at[k] >= fmin(p[k], q[k]) && at[k] <= fmax(p[k], q[k]);
		if (!near || (p_sign < 0) == (q_sign < 0))
			continue;
		meet(x, t, p_sign < 0 ? p : q, p_sign < 0 ? q : p);
		found = true;
		for (int k = 0; k < 3; k++)
			found = found && is_nearest(at[k], x[k]);
	}
	for (int k = 0; k < 3; k++)
		mpq_clear(x[k]);
	return found;
}

/* Checks rings: closed, with three different points, turned by the plane. Returns their area. */
static double
check_rings(const record *r, size_t n, const truth *t)
{
	const int a = (t->drop + 1) % 3, b = (t->drop + 2) % 3;
	const int turn = mpq_sgn(t->normal[t->drop]);
	double sum = 0;

	for (size_t i = 0, k; i < n; i = k)
	{
		double area = 0;

		CHECK(r[i].mark == RB_SECTION_RING || r[i].mark == RB_SECTION_POLYGON, "mark %lu",
			  (unsigned long) r[i].mark);
		CHECK(i > 0 || r[i].mark == RB_SECTION_POLYGON, "a hole comes first");
		for (k = i + 1; k < n && r[k].mark == RB_SECTION_CONTINUES; k++)
		{
			area += (r[k - 1].value[a] - r[i].value[a]) * (r[k].value[b] - r[i].value[b]) -
					(r[k - 1].value[b] - r[i].value[b]) * (r[k].value[a] - r[i].value[a]);
			CHECK(memcmp(r[k - 1].value, r[k].value, sizeof r[k].value) != 0, "a point twice");
		}
		CHECK(k - i > 3 && memcmp(r[i].value, r[k - 1].value, sizeof r[i].value) == 0,
			  "a ring of %zu points is not closed", k - i);
		area *= turn;
		CHECK((area > 0) == (r[i].mark == RB_SECTION_POLYGON), "ring area %g", area);
		sum += area / 2;
		holes += r[i].mark == RB_SECTION_RING;
		polygons += r[i].mark == RB_SECTION_POLYGON;
	}
	return sum;
}

/* Returns the number of polygons around a point, or -1 if it is near a ring. */
static int
polygons_around(const record *r, size_t n, const truth *t, double u, double v)
{
	const int a = (t->drop + 1) % 3, b = (t->drop + 2) % 3;
	int around = 0;
	bool inside = false;

	for (size_t i = 0; i <= n; i++)
	{
		double p[2], q[2], cross;

		if (i == n || r[i].mark == RB_SECTION_POLYGON)
		{
			around += inside;
			inside = false;
		}
		if (i == n || r[i].mark != RB_SECTION_CONTINUES)
			continue;
		p[0] = r[i - 1].value[a] - u;
		p[1] = r[i - 1].value[b] - v;
		q[0] = r[i].value[a] - u;
		q[1] = r[i].value[b] - v;
		cross = p[0] * q[1] - p[1] * q[0];
		if (fabs(cross) < 1e-6)
			return -1;
		if ((p[1] > 0) != (q[1] > 0) && (cross > 0) == (q[1] > 0))
			inside = !inside;
	}
	return around;
}

/* Compares random points of the plane with all tetrahedra. */
static void
check_samples(const record *r, size_t n, const truth *t, const solid *s)
{
	const int a = (t->drop + 1) % 3, b = (t->drop + 2) % 3;
	mpq_t x[3], y;

	mpq_init(y);
	for (int k = 0; k < 3; k++)
		mpq_init(x[k]);
	for (int i = 0; i < 12; i++)
	{
		const double *p = s->at[check_below(VERTICES)];
		const double at[2] = {p[a] + 1.7 * random_signed(), p[b] + 1.7 * random_signed()};
		const int around = polygons_around(r, n, t, at[0], at[1]);
		bool inside = false;

		if (around < 0)
			continue;
		mpq_set_d(x[a], at[0]);
		mpq_set_d(x[b], at[1]);
		mpq_set_ui(x[t->drop], 0, 1);
		for (int k = 0; k < 2; k++)
		{
			const int axis = k == 0 ? a : b;

			mpq_set_d(y, t->point[axis]);
			mpq_sub(y, x[axis], y);
			mpq_mul(y, y, t->normal[axis]);
			mpq_sub(x[t->drop], x[t->drop], y);
		}
		mpq_div(x[t->drop], x[t->drop], t->normal[t->drop]);
		mpq_set_d(y, t->point[t->drop]);
		mpq_add(x[t->drop], x[t->drop], y);
		for (int k = 0; k < s->ntets && !inside; k++)
			inside = is_in_tet(t, s, s->tet[k], x);
		CHECK(around == (int) inside, "%d polygons around a point that is %s", around,
			  inside ? "inside" : "outside");
		samples++;
	}
	mpq_clear(y);
	for (int k = 0; k < 3; k++)
		mpq_clear(x[k]);
}

/* Compares a section with all tetrahedra; n is 0 if there is none. */
static void
check_section(const record *r, size_t n, const truth *t, const solid *s, int family)
{
	mpq_t sum;

	mpq_init(sum);
	for (int i = 0; i < s->ntets; i++)
		add_tet_area(sum, t, s, s->tet[i]);
	CHECK((n == 0) == (mpq_sgn(sum) == 0), "family %d: %zu records, area %g", family, n,
		  mpq_get_d(sum));
	empty += n == 0;
	if (n > 0 && mpq_sgn(sum) != 0)
	{
		const double area = r[n - 1].value[0];
		const double scale = mpq_get_d(t->normal[t->drop]);
		double length = 0, found;

		for (int k = 0; k < 3; k++)
			length += mpq_get_d(t->normal[k]) * mpq_get_d(t->normal[k]);
		CHECK(r[n - 1].mark == RB_SECTION_END, "no end");
		CHECK(is_area(area, sum, t), "family %d: area %.17g, not %.17g", family, area,
			  mpq_get_d(sum) / 2 * sqrt(length) / fabs(scale));
		areas++;
		found = check_rings(r, n - 1, t) * sqrt(length) / fabs(scale);
		CHECK(fabs(found - area) <= (family == MAP ? 1e-5 : 1e-9) * (1 + area),
			  "family %d: rings of %.17g, area %.17g", family, found, area);
		for (size_t i = 0; i + 1 < n; i++)
			CHECK(is_node(t, s->triangles, s->n, r[i].value), "family %d: a point is no node",
				  family);
	}
	check_samples(r, n > 0 ? n - 1 : 0, t, s);
	mpq_clear(sum);
}

/* Puts the triangles of several solids into one set. */
static rb_set
set_of_solids(const solid *s, uint32_t n)
{
	rb_set set = {.kind = RB_TRIANGLE3, .nrows = n};
	uint32_t parts = 0;
	double *coords;
	uint32_t *row_of;

	for (uint32_t i = 0; i < n; i++)
		parts += s[i].n;
	coords = malloc((size_t) parts * 9 * sizeof *coords);
	row_of = malloc((size_t) parts * sizeof *row_of);
	for (uint32_t i = 0; i < n; i++)
	{
		memcpy(coords + 9 * (size_t) set.nparts, s[i].triangles,
			   (size_t) s[i].n * 9 * sizeof *coords);
		for (uint32_t k = 0; k < s[i].n; k++)
			row_of[set.nparts++] = i;
	}
	set.coords = coords;
	set.row_of = row_of;
	return set;
}

static rb_set
set_of_planes(rb_kind kind, uint32_t n, const solid *s, int family)
{
	const uint32_t width = (uint32_t) rb_kind_width(kind);
	double *coords = malloc((size_t) (n * width + 9) * sizeof *coords);

	for (uint32_t i = 0; i < n; i++)
	{
		double p[9];

		make_plane(p, kind, s, family);
		memcpy(coords + (size_t) i * width, p, width * sizeof *p);
	}
	return (rb_set){.kind = kind, .coords = coords, .nparts = n, .nrows = n};
}

/* Calls a function for the records of each section, also for those without records. */
#define FOR_EACH_SECTION(solids, planes, r, all, first, n)                                \
	for (size_t plane_ = 0, at_ = 0, first, n; plane_ < (planes)->nrows; plane_++)        \
		for (size_t row_ = 0;                                                             \
			 row_ < (solids)->nrows &&                                                    \
			 (first = at_, n = count_records(r, all, at_, row_, plane_), at_ += n, true); \
			 row_++)

static size_t
count_records(const record *r, size_t all, size_t at, size_t row, size_t plane)
{
	size_t n = 0;

	while (at + n < all && r[at + n].rows.red == row && r[at + n].rows.blue == plane)
		n++;
	return n;
}

static void
against_rationals(void)
{
	for (long round = check_rounds(12); round > 0; round--)
		for (int family = 0; family < FAMILIES; family++)
		{
			const rb_kind kind = check_below(2) ? RB_TRIANGLE3 : RB_PLANE3;
			solid *s = malloc(3 * sizeof *s);
			rb_set solids, planes;
			record *r;
			size_t all = 0;

			for (int i = 0; i < 3; i++)
				do
					make_solid(&s[i], family, 2 + 3 * i, false);
				while (s[i].n == 0);
			solids = set_of_solids(s, 3);
			planes = set_of_planes(kind, 10, &s[0], family);
			r = cut_alike(&solids, &planes, false, &all);
			FOR_EACH_SECTION(&solids, &planes, r, all, first, n)
			{
				truth t;

				open_truth(&t, kind, planes.coords + plane_ * (size_t) rb_kind_width(kind));
				check_section(r + first, n, &t, &s[row_], family);
				close_truth(&t);
			}
			free(r);
			for (int i = 0; i < 3; i++)
				free(s[i].triangles);
			free(s);
			free_side(&solids);
			free_side(&planes);
		}
	CHECK(holes > 0 && polygons > holes && areas > 0 && samples > 0 && empty > 0,
		  "%ld holes, %ld polygons, %ld areas, %ld samples, %ld empty", holes, polygons, areas,
		  samples, empty);
}

/* ---- coordinates in the plane ---- */

static long flattened;

/* Returns true if a double is the one nearest to x / sqrt(square). */
static bool
is_nearest_over_root(double d, const mpq_t x, const mpq_t square)
{
	mpq_t y[3];
	bool good;

	mpq_inits(y[0], y[1], y[2], NULL);
	mpq_mul(y[0], x, x);
	mpq_div(y[0], y[0], square);
	set_midpoint(y[1], fabs(d), 0);
	set_midpoint(y[2], fabs(d), HUGE_VAL);
	mpq_mul(y[1], y[1], y[1]);
	mpq_mul(y[2], y[2], y[2]);
	good = d == 0 ? mpq_sgn(x) == 0 && !signbit(d)
				  : (mpq_sgn(x) > 0) == (d > 0) && mpq_cmp(y[1], y[0]) <= 0 &&
						mpq_cmp(y[0], y[2]) <= 0;
	mpq_clears(y[0], y[1], y[2], NULL);
	return good;
}

/* Checks u and v of a point that is exact in space. */
static void
check_flat_point(const truth *t, const double *at, const double *uv)
{
	mpq_t u[3], v[3], from, sum, square, x;

	mpq_inits(from, sum, square, x, NULL);
	for (int k = 0; k < 3; k++)
		mpq_inits(u[k], v[k], NULL);
	if (mpq_sgn(t->normal[0]) == 0 && mpq_sgn(t->normal[1]) == 0)
		mpq_set_ui(u[0], 1, 1);
	else
	{
		mpq_neg(u[0], t->normal[1]);
		mpq_set(u[1], t->normal[0]);
	}
	for (int k = 0; k < 3; k++)
	{
		mpq_mul(v[k], t->normal[(k + 1) % 3], u[(k + 2) % 3]);
		mpq_mul(x, t->normal[(k + 2) % 3], u[(k + 1) % 3]);
		mpq_sub(v[k], v[k], x);
	}
	for (int i = 0; i < 2; i++)
	{
		mpq_set_ui(sum, 0, 1);
		mpq_set_ui(square, 0, 1);
		for (int k = 0; k < 3; k++)
		{
			mpq_set_d(x, at[k]);
			mpq_set_d(from, t->point[k]);
			mpq_sub(x, x, from);
			mpq_mul(x, x, i == 0 ? u[k] : v[k]);
			mpq_add(sum, sum, x);
			mpq_mul(x, i == 0 ? u[k] : v[k], i == 0 ? u[k] : v[k]);
			mpq_add(square, square, x);
		}
		CHECK(is_nearest_over_root(uv[i], sum, square), "coordinate %d of (%g %g %g) is %.17g", i,
			  at[0], at[1], at[2], uv[i]);
	}
	flattened++;
	mpq_clears(from, sum, square, x, NULL);
	for (int k = 0; k < 3; k++)
		mpq_clears(u[k], v[k], NULL);
}

static void
flat_coordinates(void)
{
	for (long round = check_rounds(40); round > 0; round--)
	{
		const rb_kind kind = check_below(2) ? RB_TRIANGLE3 : RB_PLANE3;
		solid s;
		rb_set solids, planes;
		record *space, *flat;
		size_t n = 0, m = 0;

		do
			make_solid(&s, check_below(2) ? LATTICE : TILTED, 4, false);
		while (s.n == 0);
		solids = set_of_solids(&s, 1);
		planes = set_of_planes(kind, 4, &s, LATTICE);
		space = cut_alike(&solids, &planes, false, &n);
		flat = cut_alike(&solids, &planes, true, &m);
		CHECK(n == m, "%zu records, %zu in the plane", n, m);
		for (size_t i = 0; i < n && n == m; i++)
		{
			truth t;
			mpq_t h;

			CHECK(space[i].mark == flat[i].mark, "another mark");
			if (space[i].mark == RB_SECTION_END)
			{
				CHECK(space[i].value[0] == flat[i].value[0], "another area");
				continue;
			}
			CHECK(flat[i].value[2] == 0, "a third coordinate");
			open_truth(&t, kind, planes.coords + space[i].rows.blue * (size_t) rb_kind_width(kind));
			mpq_init(h);
			height(h, &t, space[i].value);
			/* The point in space is exact if it is a corner, or if it is short. */
			if (mpq_sgn(h) == 0 && space[i].value[0] * 64 == floor(space[i].value[0] * 64) &&
				space[i].value[1] * 64 == floor(space[i].value[1] * 64) &&
				space[i].value[2] * 64 == floor(space[i].value[2] * 64))
				check_flat_point(&t, space[i].value, flat[i].value);
			mpq_clear(h);
			close_truth(&t);
		}
		free(space);
		free(flat);
		free(s.triangles);
		free_side(&solids);
		free_side(&planes);
	}
	CHECK(flattened > 0, "no point");
}

/* ---- surfaces that are not closed ---- */

static long lines, loops;

/* Returns the distance of two points. */
static double
distance(const double *p, const double *q)
{
	return sqrt((p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1]) +
				(p[2] - q[2]) * (p[2] - q[2]));
}

/* Sets the ends of the cut of a triangle, as the nearest doubles. Returns false if it has no length. */
static bool
cut_of_triangle(double ends[6], const truth *t, const double *p)
{
	mpq_t x[3];
	int n = 0;

	for (int k = 0; k < 3; k++)
		mpq_init(x[k]);
	for (int i = 0; i < 9; i += 3)
	{
		const double *a = p + i, *b = p + (i + 3) % 9;

		if ((sign_of(t, a) < 0) == (sign_of(t, b) < 0))
			continue;
		meet(x, t, sign_of(t, a) < 0 ? a : b, sign_of(t, a) < 0 ? b : a);
		for (int k = 0; k < 3; k++)
			ends[3 * n + k] = mpq_get_d(x[k]);
		n++;
	}
	for (int k = 0; k < 3; k++)
		mpq_clear(x[k]);
	return n == 2 && distance(ends, ends + 3) > 1e-9;
}

/* Compares lines with the cuts of all triangles: lengths, and the middle of each cut. */
static void
check_lines(const record *r, size_t n, const truth *t, const solid *s)
{
	double wanted = 0, got = 0, (*cuts)[6] = malloc((s->n + 1) * sizeof *cuts);
	uint32_t ncuts = 0;

	for (uint32_t i = 0; i < s->n; i++)
	{
		double *c = cuts[ncuts];
		bool again = false;

		if (!cut_of_triangle(c, t, s->triangles + 9 * (size_t) i))
			continue;
		for (uint32_t k = 0; k < ncuts && !again; k++)
			again = (distance(c, cuts[k]) < 1e-9 && distance(c + 3, cuts[k] + 3) < 1e-9) ||
					(distance(c, cuts[k] + 3) < 1e-9 && distance(c + 3, cuts[k]) < 1e-9);
		if (again)
			continue;
		wanted += distance(c, c + 3);
		ncuts++;
	}
	for (uint32_t i = 0; i < ncuts; i++)
	{
		double least = HUGE_VAL, middle[3];

		for (int k = 0; k < 3; k++)
			middle[k] = (cuts[i][k] + cuts[i][3 + k]) / 2;
		for (size_t j = 1; j < n; j++)
			if (r[j].mark == RB_SECTION_CONTINUES)
			{
				const double d = distance(r[j - 1].value, middle) + distance(middle, r[j].value) -
								 distance(r[j - 1].value, r[j].value);

				least = d < least ? d : least;
			}
		CHECK(least < 1e-9, "the cut of a triangle is %g from all lines", least);
	}
	for (size_t i = 0, k; i < n; i = k)
	{
		CHECK(r[i].mark == RB_SECTION_LINE, "mark %lu", (unsigned long) r[i].mark);
		for (k = i + 1; k < n && r[k].mark == RB_SECTION_CONTINUES; k++)
		{
			got += distance(r[k - 1].value, r[k].value);
			CHECK(is_node(t, s->triangles, s->n, r[k].value), "a point is no node");
		}
		CHECK(k - i > 1, "a line of one point");
		lines++;
		loops += memcmp(r[i].value, r[k - 1].value, sizeof r[i].value) == 0;
	}
	CHECK(fabs(got - wanted) < 1e-6, "lines of %g, cuts of %g", got, wanted);
	free(cuts);
}

static void
open_surfaces(void)
{
	for (long round = check_rounds(60); round > 0; round--)
	{
		const rb_kind kind = check_below(2) ? RB_TRIANGLE3 : RB_PLANE3;
		const int family = check_below(2) ? LATTICE : ANY;
		solid s;
		rb_set solids, planes;
		record *r;
		size_t all = 0;

		do
			make_solid(&s, family, 4, family == LATTICE && check_below(2));
		while (s.n == 0);
		/* The first triangle is missing, and more are. */
		s.n--;
		memmove(s.triangles, s.triangles + 9, (size_t) s.n * 9 * sizeof(double));
		s.n -= s.n * (uint32_t) check_below(3) / 3;
		solids = set_of_solids(&s, 1);
		planes = set_of_planes(kind, 6, &s, family);
		r = cut_alike(&solids, &planes, false, &all);
		FOR_EACH_SECTION(&solids, &planes, r, all, first, n)
		{
			truth t;

			open_truth(&t, kind, planes.coords + plane_ * (size_t) rb_kind_width(kind));
			CHECK(n == 0 ||
					  (r[first + n - 1].mark == RB_SECTION_END && r[first + n - 1].value[0] == 0),
				  "an area");
			/* Cuts of triangles without area in the plane overlap each other. */
			if (family == ANY)
				check_lines(r + first, n > 0 ? n - 1 : 0, &t, &s);
			close_truth(&t);
		}
		free(r);
		free(s.triangles);
		free_side(&solids);
		free_side(&planes);
	}
	CHECK(lines > 0 && loops > 0, "%ld lines, %ld loops", lines, loops);
}

/* ---- work, stops and errors ---- */

/* Builds a stack of n cubes of side 1, one row each, from 2 i to 2 i + 1 along x. */
static rb_set
stack_of_cubes(uint32_t n)
{
	static const int corner[12][3] = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6},
									  {0, 1, 4}, {1, 5, 4}, {2, 6, 3}, {3, 6, 7},
									  {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
	double *coords = malloc((size_t) n * 108 * sizeof *coords);
	uint32_t *row_of = malloc((size_t) n * 12 * sizeof *row_of);

	for (uint32_t i = 0; i < 12 * n; i++)
	{
		row_of[i] = i / 12;
		for (int k = 0; k < 3; k++)
		{
			const int c = corner[i % 12][k];
			double *p = coords + 9 * (size_t) i + 3 * k;

			p[0] = 2.0 * (i / 12) + (c & 1);
			p[1] = c >> 1 & 1;
			p[2] = c >> 2;
		}
	}
	return (rb_set){
		.kind = RB_TRIANGLE3, .coords = coords, .row_of = row_of, .nparts = 12 * n, .nrows = n};
}

/* A face in the plane belongs to the section if the solid is below it. */
static void
faces_in_plane(void)
{
	const double points[] = {0, 0, 0,  0, 0, 1, 0, 0, 1,  0, 0, 1,   0, 0, 0,
							 0, 0, -1, 0, 0, 1, 0, 0, -2, 5, 5, 0.5, 0, 0, 3};
	const rb_set cube = stack_of_cubes(1);
	rb_set planes = {.kind = RB_PLANE3, .coords = points, .nparts = 5, .nrows = 5};
	size_t n = 0;
	record *r = cut_alike(&cube, &planes, false, &n);
	int found[5] = {0};

	for (size_t i = 0; i < n; i++)
		if (r[i].mark == RB_SECTION_END)
		{
			CHECK(r[i].value[0] == 1, "area %g", r[i].value[0]);
			found[r[i].rows.blue]++;
		}
	/* The bottom from above, the top, the bottom from below, the top from below, the middle */
	CHECK(found[0] == 0 && found[1] == 1 && found[2] == 1 && found[3] == 0 && found[4] == 1,
		  "sections %d %d %d %d %d", found[0], found[1], found[2], found[3], found[4]);
	CHECK(n == 18, "%zu records", n);
	free(r);
	free((void *) cube.coords);
	free((void *) cube.row_of);
}

/* Writes the cube of side 2 r around a point, turned inward if it bounds a cavity. */
static void
write_cube(double *p, const double center[3], double r, bool inward)
{
	const rb_set cube = stack_of_cubes(1);

	for (int i = 0; i < 36; i++)
	{
		/* Turning a triangle exchanges its last corners. */
		const int from = inward && i % 3 > 0 ? i / 3 * 3 + 3 - i % 3 : i;

		for (int k = 0; k < 3; k++)
			p[3 * i + k] = center[k] + r * (2 * cube.coords[3 * from + k] - 1);
	}
	free((void *) cube.coords);
	free((void *) cube.row_of);
}

/* Each hole belongs to the polygon around it, however many there are. */
static void
nested_rings(void)
{
	enum
	{
		SHELLS = 8,
		STACKS = 3
	};
	static const double points[6] = {0, 0, 0.25, 0x1p-10, -0x1p-11, 1};
	double *coords = malloc((size_t) STACKS * SHELLS * 108 * sizeof *coords);
	uint32_t *row_of = calloc((size_t) STACKS * SHELLS * 12, sizeof *row_of);
	rb_set solids = {.kind = RB_TRIANGLE3,
					 .coords = coords,
					 .row_of = row_of,
					 .nparts = STACKS * SHELLS * 12,
					 .nrows = 1};
	const rb_set planes = {.kind = RB_PLANE3, .coords = points, .nparts = 1, .nrows = 1};
	int found = 0;
	size_t n = 0;
	record *r;

	/* The cubes of each stack are shuffled. */
	for (int i = 0; i < STACKS * SHELLS; i++)
	{
		const int shell = i * 3 % SHELLS;
		const double center[3] = {40 * (i / SHELLS), 7 * (i / SHELLS), 0};

		write_cube(coords + 108 * i, center, 2 + 2 * shell, (SHELLS - 1 - shell) % 2 == 1);
	}
	r = cut_alike(&solids, &planes, false, &n);
	for (size_t i = 0, polygon = 0; i < n; i++)
	{
		if (r[i].mark == RB_SECTION_POLYGON)
			polygon = i;
		if (r[i].mark != RB_SECTION_RING)
			continue;
		/* The lowest corners of a polygon and of its only hole differ by one step. */
		CHECK(r[i].value[0] - r[polygon].value[0] == 2 && r[i].value[1] - r[polygon].value[1] == 2,
			  "hole at (%g %g), polygon at (%g %g)", r[i].value[0], r[i].value[1],
			  r[polygon].value[0], r[polygon].value[1]);
		found++;
	}
	CHECK(found == STACKS * SHELLS / 2, "%d holes", found);
	free(r);
	free_side(&solids);
}

static void
few_looks(void)
{
	/* The second plane misses all cubes: what remains is the work of checking them. */
	static const double plane[2][6] = {{4000.5, 0.5, 0.5, 1, 0.25, 0.125},
									   {-1, 0.5, 0.5, 1, 0.25, 0.125}};
	rb_set solids = stack_of_cubes(5000);
	uint64_t looks[2], boxes[2];

	for (int i = 0; i < 2; i++)
	{
		const rb_set planes = {.kind = RB_PLANE3, .coords = plane[i], .nparts = 1, .nrows = 1};
		rb_memory *memory = rb_memory_create((uint64_t) 1 << 30);
		found f = {.n = 0};
		rb_context ctx;

		CHECK(cut(&solids, &planes, false, 1, &ctx, memory, &f) == RB_OK, "%s", ctx.error.text);
		CHECK(f.n == (i == 0 ? 6 : 0), "%zu records", f.n);
		looks[i] = ctx.stats.stage[RB_STAGE_CANDIDATES].count;
		boxes[i] = ctx.stats.box_tests;
		rb_memory_destroy(memory);
		free(f.at);
	}
	CHECK(looks[0] - looks[1] <= 60 && boxes[0] - boxes[1] < 400, "%lu looks, %lu boxes",
		  (unsigned long) (looks[0] - looks[1]), (unsigned long) (boxes[0] - boxes[1]));
	free_side(&solids);
}

static rb_set
many_planes(uint32_t n)
{
	double *coords = malloc((size_t) n * 6 * sizeof *coords);

	for (uint32_t i = 0; i < n; i++)
	{
		const double p[6] = {0.5 + i % 100, 0.5, 0.5, 0.01 * i, 1 + i % 3, 2};

		memcpy(coords + 6 * (size_t) i, p, sizeof p);
	}
	return (rb_set){.kind = RB_PLANE3, .coords = coords, .nparts = n, .nrows = n};
}

static void
stops(void)
{
	rb_set solids = stack_of_cubes(300), planes = many_planes(3000);
	rb_memory *memory = rb_memory_create((uint64_t) 1 << 30);
	rb_context ctx;
	found f = {.stop = &ctx};
	rb_status status = cut(&solids, &planes, false, 2, &ctx, memory, &f);

	CHECK(status == RB_STOPPED && ctx.error.status == RB_OK, "%s", rb_status_text(status));
	CHECK(rb_memory_used(memory) == 0, "memory left");
	rb_memory_destroy(memory);
	free(f.at);
	free_side(&solids);
	free_side(&planes);
}

static void
refusals(void)
{
	static const double line[9] = {0, 0, 0, 1, 1, 1, 3, 3, 3}, zero[6] = {1, 2, 3, 0, 0, -0.0};
	static const int64_t id = -7;
	rb_set solids = stack_of_cubes(300), planes = many_planes(20);
	const rb_set no_plane[2] = {
		{.kind = RB_TRIANGLE3, .coords = line, .nparts = 1, .nrows = 1, .ids = &id},
		{.kind = RB_PLANE3, .coords = zero, .nparts = 1, .nrows = 1, .ids = &id}};
	int failed = 0, done = 0;

	for (uint64_t limit = 1 << 14; limit < (uint64_t) 1 << 26; limit *= 2)
	{
		rb_memory *memory = rb_memory_create(limit);
		found f = {.n = 0};
		rb_context ctx;
		rb_status status = cut(&solids, &planes, false, 1, &ctx, memory, &f);

		CHECK(status == RB_OVER_BUDGET || status == RB_OK, "%s", rb_status_text(status));
		CHECK(rb_memory_used(memory) == 0 && rb_memory_peak(memory) <= limit, "memory");
		failed += status == RB_OVER_BUDGET;
		done += status == RB_OK;
		rb_memory_destroy(memory);
		free(f.at);
	}
	CHECK(failed > 1 && done > 1, "%d failed, %d done", failed, done);
	for (int i = 0; i < 2; i++)
	{
		rb_memory *memory = rb_memory_create((uint64_t) 1 << 30);
		found f = {.n = 0};
		rb_context ctx;
		rb_status status = cut(&solids, &no_plane[i], false, 1, &ctx, memory, &f);

		CHECK(status == RB_BAD_PLANE && (int64_t) ctx.error.need == id && f.n == 0, "%s",
			  rb_status_text(status));
		rb_memory_destroy(memory);
	}
	free_side(&solids);
	free_side(&planes);
}

int
main(void)
{
	CHECK_RUN(against_rationals);
	CHECK_RUN(flat_coordinates);
	CHECK_RUN(open_surfaces);
	CHECK_RUN(faces_in_plane);
	CHECK_RUN(nested_rings);
	CHECK_RUN(few_looks);
	CHECK_RUN(stops);
	CHECK_RUN(refusals);
	return check_done();
}
