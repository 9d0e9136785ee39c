/*
 * delaunay.c
 *	  Tests Delaunay tetrahedralizations of random and hard point sets.
 *
 * Checks every link, every orientation and every sphere; that the tetrahedra do not depend on the
 * order of the points and equal those found by testing all quadruples; and the edges and faces
 * against complete lists.
 */
#include "check.h"
#include "points.h"
#include "mesh/mesh.h"

#include <stdbool.h>

#define MOST 4000

static double xyz[MOST * 3];
static uint32_t npoints;

/* ---- points ---- */

static void
add(double x, double y, double z)
{
	if (npoints < MOST)
	{
		xyz[3 * npoints] = x;
		xyz[3 * npoints + 1] = y;
		xyz[3 * npoints + 2] = z;
		npoints++;
	}
}

static int
by_place(const void *a, const void *b)
{
	const double *p = a, *q = b;

	for (int i = 0; i < 3; i++)
		if (p[i] != q[i])
			return p[i] < q[i] ? -1 : 1;
	return 0;
}

/* Removes duplicate points and shuffles the rest. */
static void
mix(void)
{
	uint32_t n = 0;

	qsort(xyz, npoints, 3 * sizeof(double), by_place);
	for (uint32_t i = 0; i < npoints; i++)
		if (n == 0 || by_place(xyz + 3 * i, xyz + 3 * (n - 1)) != 0)
			memmove(xyz + 3 * n++, xyz + 3 * i, 3 * sizeof(double));
	npoints = n;
	for (uint32_t i = n; i > 1; i--)
	{
		int j = check_below((int) i);
		double p[3];

		memcpy(p, xyz + 3 * (i - 1), sizeof(p));
		memcpy(xyz + 3 * (i - 1), xyz + 3 * j, sizeof(p));
		memcpy(xyz + 3 * j, p, sizeof(p));
	}
}

enum
{
	UNIFORM,
	GRID,
	SPHERE,
	SHEET,
	CLUSTERS,
	HUGE_ONES,
	TINY_ONES,
	UTM,
	NEIGHBOURS,
	LINES,
	PARABOLA,
	DECADES,
	OWN
};

static const char *const own_name[] = {"uniform",      "grid",  "sphere",   "sheet",
									   "clusters",     "1e300", "1e-300",   "UTM",
									   "neighbouring", "lines", "parabola", "decades"};

static const char *
name_of(int family)
{
	return family < OWN ? own_name[family] : points_family_name[family - OWN];
}

/* Builds about n points of a family: one of this file, or one of points.h. */
static void
make(int family, int n)
{
	int side;

	n = n < MOST ? n : MOST;
	side = (int) ceil(cbrt((double) n));
	npoints = 0;
	switch (family)
	{
		case GRID:
			for (int i = 0; i < side * side * side; i++)
				add(i % side, i / side % side, i / (side * side));
			break;
		case SPHERE: /* The origin, and integer points at distance 15, 21 or 35 from it */
		{
			static const int squares[] = {225, 441, 1225};
			int square = squares[check_below(3)];

			for (int x = -35; x <= 35; x++)
				for (int y = -35; y <= 35; y++)
					for (int z = -35; z <= 35; z++)
						if (x * x + y * y + z * z == square && check_below(300) < n)
							add(x, y, z);
			if (check_below(2))
				add(0, 0, 0);
			add(40, 0, 0);
		}
		break;
		case SHEET: /* Coplanar points, some of them on a lattice, and a few other points */
			for (int i = 0; i < n; i++)
			{
				double x = check_below(2) ? check_below(8) : 8 * points_unit();
				double y = check_below(8);

				add(x, y, check_below(20) == 0 ? points_unit() : 0);
			}
			add(1, 1, 1);
			break;
		case CLUSTERS:
			for (int i = 0; i < n; i++)
			{
				double size = ldexp(1, -10 * check_below(4));
				double at = check_below(3);

				add(at + size * points_unit(), at * at + size * points_unit(),
					size * points_unit());
			}
			break;
		case UTM:
			for (int i = 0; i < n; i++)
				add(391777.123 + 100 * points_unit(), 5820111.456 + 100 * points_unit(),
					34.5 + points_unit());
			break;
		case NEIGHBOURS:
			for (int i = 0; i < n; i++)
			{
				double at = check_below(3);

				add(points_nudge(at), points_nudge(at / 3), points_nudge(1 - at));
			}
			add(5, 0, 0);
			break;
		case LINES:
			for (int i = 0; i < n; i++)
			{
				int t = check_below(n);

				switch (check_below(4))
				{
					case 0:
						add(t, 0, 0);
						break;
					case 1:
						add(0, t, 1);
						break;
					case 2:
						add(t, t, t);
						break;
					default:
						add(t, 2 * t, 3 * t);
						break;
				}
			}
			break;
		case PARABOLA: /* Every two points are connected by an edge */
			for (int i = 0; i < n && i < 60; i++)
				add(i, i * i, i * i * i);
			break;
		case DECADES:
			for (int i = 0; i < n; i++)
			{
				double size = ldexp(1, -check_below(900));

				add(size * points_unit(), size * points_unit(), size * points_unit());
			}
			break;
		default:
			npoints = (uint32_t) n;
			for (int i = 0; family < OWN && i < 3 * n; i++)
				xyz[i] = points_unit() * (family == HUGE_ONES   ? 1.7e308
										  : family == TINY_ONES ? 1e-300
																: 1);
			if (family >= OWN)
				points_make(family - OWN, (int) npoints, 3, xyz);
			break;
	}
	mix();
}

/* ---- checks ---- */

static rb_memory *memory;
static rb_context ctx;

typedef struct list
{
	uint32_t (*at)[4];
	uint32_t n;
} list;

static int
by_words(const void *a, const void *b)
{
	return memcmp(a, b, 4 * sizeof(uint32_t));
}

static void
sort_corners(uint32_t *v, int n)
{
	for (int i = 1; i < n; i++)
		for (int j = i; j > 0 && v[j] < v[j - 1]; j--)
		{
			uint32_t swap = v[j];

			v[j] = v[j - 1];
			v[j - 1] = swap;
		}
}

static list
list_of(uint32_t most)
{
	return (list){malloc((most + 1) * sizeof(uint32_t[4])), 0};
}

static void
put(list *l, uint32_t a, uint32_t b, uint32_t c, uint32_t d, int n)
{
	uint32_t *v = l->at[l->n++];

	v[0] = a;
	v[1] = b;
	v[2] = c;
	v[3] = d;
	sort_corners(v, n);
}

static void
sort_list(list *l)
{
	uint32_t n = 0;

	qsort(l->at, l->n, sizeof(l->at[0]), by_words);
	for (uint32_t i = 0; i < l->n; i++)
		if (n == 0 || by_words(l->at[i], l->at[n - 1]) != 0)
			memmove(l->at[n++], l->at[i], sizeof(l->at[0]));
	l->n = n;
}

static bool
has(const list *l, uint32_t a, uint32_t b, uint32_t c, uint32_t d, int n)
{
	uint32_t v[4] = {a, b, c, d};

	sort_corners(v, n);
	return bsearch(v, l->at, l->n, sizeof(l->at[0]), by_words) != NULL;
}

/* Lists all tetrahedra except ghosts, or all of their edges or faces. */
static list
list_mesh(const rb_mesh *m, int n)
{
	list l = list_of(6 * m->ntets);

	for (uint32_t t = 0; t < m->ntets; t++)
	{
		const uint32_t *v = m->tets[t].v;

		if (rb_tet_dead(m, t) || rb_tet_ghost(&m->tets[t]))
			continue;
		if (n == 4)
			put(&l, v[0], v[1], v[2], v[3], 4);
		for (int i = 0; i < 4; i++)
		{
			const uint8_t *f = rb_face_corners[i];

			if (n == 3)
				put(&l, v[f[0]], v[f[1]], v[f[2]], 0, 3);
			for (int j = 0; n == 2 && j < i; j++)
				put(&l, v[i], v[j], 0, 0, 2);
		}
	}
	sort_list(&l);
	return l;
}

/* Counts all edges, including those of ghosts. */
static uint32_t
count_edges(const rb_mesh *m)
{
	list l = list_of(6 * m->ntets);
	uint32_t n;

	for (uint32_t t = 0; t < m->ntets; t++)
		for (int i = 0; i < 4 && !rb_tet_dead(m, t); i++)
			for (int j = 0; j < i; j++)
				put(&l, m->tets[t].v[i], m->tets[t].v[j], 0, 0, 2);
	sort_list(&l);
	n = l.n;
	free(l.at);
	return n;
}

static void
check_mesh(rb_mesh *m, const char *name)
{
	uint32_t alive = 0, vertices = 1, edges;

	for (uint32_t t = 0; t < m->ntets; t++)
	{
		const rb_tet *tet = &m->tets[t];
		uint32_t ghost = rb_tet_corner(tet, RB_GHOST);

		CHECK(m->bits[t] == 0, "%s: bits %x of %u", name, m->bits[t], t);
		if (rb_tet_dead(m, t))
			continue;
		alive++;
		if (ghost == 4)
			CHECK(rb_mesh_orient(m, tet->v[0], tet->v[1], tet->v[2], tet->v[3]) == 1,
				  "%s: tetrahedron %u is not positive", name, t);
		else
		{
			/* A positive (ghost, f0, f1, f2) is an odd permutation of (f0, f1, f2, ghost). */
			const uint8_t *f = rb_face_corners[ghost];
			uint32_t inner = rb_face_tet(tet->n[ghost]);
			uint32_t below = m->tets[inner].v[rb_face_corner(tet->n[ghost])];

			CHECK(below != RB_GHOST, "%s: a ghost's face %u is not of the hull", name, t);
			if (below != RB_GHOST)
				CHECK(rb_mesh_orient(m, tet->v[f[0]], tet->v[f[2]], tet->v[f[1]], below) == -1,
					  "%s: ghost %u sees the inside", name, t);
		}
		for (uint32_t i = 0; i < 4; i++)
		{
			rb_tet_face g = tet->n[i];
			const rb_tet *next = &m->tets[rb_face_tet(g)];
			uint32_t opposite = next->v[rb_face_corner(g)];
			uint32_t common = 0;

			CHECK(rb_face_tet(g) < m->ntets && next->v[0] != RB_DEAD, "%s: %u leads away", name,
				  rb_face_of(t, i));
			CHECK(next->n[rb_face_corner(g)] == rb_face_of(t, i), "%s: link of %u", name,
				  rb_face_of(t, i));
			for (uint32_t j = 0; j < 4; j++)
				if (j != i)
					common += rb_tet_corner(next, tet->v[j]) < 4;
			CHECK(common == 3 && rb_tet_corner(tet, opposite) == 4, "%s: corners across %u", name,
				  rb_face_of(t, i));
			if (opposite != RB_GHOST)
				CHECK(!rb_mesh_conflict(m, t, opposite), "%s: %u is in the sphere of %u", name,
					  opposite, t);
		}
	}
	CHECK(alive == m->nalive, "%s: %u are alive, not %u", name, alive, m->nalive);
	for (uint32_t v = 0; v < m->npoints; v++)
	{
		uint32_t t = m->tet_of[v];

		CHECK(t < m->ntets && !rb_tet_dead(m, t) && rb_tet_corner(&m->tets[t], v) < 4,
			  "%s: point %u is not in tetrahedron %u", name, v, t);
		vertices += t < m->ntets;
	}
	edges = count_edges(m);
	CHECK(edges == vertices + alive, "%s: Euler: %u vertices, %u edges, %u tetrahedra", name,
		  vertices, edges, alive);
}

static void
same_lists(const list *a, const list *b, const char *name)
{
	CHECK(a->n == b->n && memcmp(a->at, b->at, a->n * sizeof(a->at[0])) == 0,
		  "%s: %u tetrahedra, or %u others", name, a->n, b->n);
}

/* Inserts all points at once. Returns false if they are coplanar. */
static bool
all_at_once(rb_mesh *m, uint32_t n)
{
	bool flat;

	CHECK(rb_mesh_init(m, &ctx, xyz, n) == RB_OK, "init");
	CHECK(rb_mesh_delaunay(m, &flat) == RB_OK, "delaunay");
	if (flat)
	{
		CHECK(m->nalive == 0, "%u tetrahedra of a flat set", m->nalive);
		for (uint32_t i = 3; i < n; i++)
			CHECK(rb_mesh_orient(m, 0, 1, 2, i) == 0, "it is not flat");
	}
	return !flat;
}

/*
 * Builds about n points of a family, at most `most`, and their mesh. Returns false, without a mesh,
 * if they are coplanar.
 */
static bool
make_mesh(rb_mesh *m, int family, int n, uint32_t most)
{
	make(family, n);
	npoints = npoints < most ? npoints : most;
	if (all_at_once(m, npoints))
		return true;
	rb_mesh_free(m);
	return false;
}

/* Inserts some points at once, and the others one by one in the order of their numbers. */
static bool
one_by_one(rb_mesh *m, uint32_t n)
{
	uint32_t first = 4 + (uint32_t) check_below((int) n);

	for (first = first < n ? first : n; !all_at_once(m, first); first++)
	{
		rb_mesh_free(m);
		if (first == n)
			return false;
	}
	for (uint32_t i = first; i < n; i++)
	{
		uint32_t v, same;

		CHECK(rb_mesh_add_point(m, xyz + 3 * i, &v) == RB_OK && v == i, "point %u is %u", i, v);
		CHECK(rb_mesh_insert(m, v, check_below(2) ? m->recent : m->tet_of[0], &same) == RB_OK &&
				  same == RB_NONE,
			  "insert");
	}
	return true;
}

static void
check_points(const char *name)
{
	rb_mesh m, n;
	list a, b;

	if (!all_at_once(&m, npoints))
	{
		rb_mesh_free(&m);
		return;
	}
	check_mesh(&m, name);
	/* Without filters: all signs are computed exactly. */
	if (npoints < 300)
	{
		ctx.filters = RB_FILTER_ALL & ~RB_FILTER_SIGNS;
		CHECK(all_at_once(&n, npoints), "%s: flat or not?", name);
		ctx.filters = RB_FILTER_ALL;
		CHECK(n.ntets == m.ntets && memcmp(n.tets, m.tets, m.ntets * sizeof(rb_tet)) == 0,
			  "%s: exact signs make another mesh", name);
		rb_mesh_free(&n);
	}
	if (one_by_one(&n, npoints))
	{
		check_mesh(&n, name);
		a = list_mesh(&m, 4);
		b = list_mesh(&n, 4);
		same_lists(&a, &b, name);
		free(a.at);
		free(b.at);
		rb_mesh_free(&n);
	}
	else
		CHECK(false, "%s: flat or not?", name);
	rb_mesh_free(&m);
}

/* ---- cases ---- */

static void
families(void)
{
	for (long round = 0; round < check_rounds(6); round++)
		for (int family = 0; family < OWN + POINTS_FAMILIES; family++)
		{
			/* Use fewer points if GMP must compute all signs. */
			bool slow = family == HUGE_ONES || family == TINY_ONES || family >= OWN;

			make(family, 4 + check_below(slow ? 60 : 600));
			check_points(name_of(family));
		}
}

static void
many(void)
{
	static const int of[] = {UNIFORM, GRID, SHEET, CLUSTERS, UTM};

	for (int i = 0; i < 5; i++)
	{
		make(of[i], (int) check_rounds(3800));
		check_points(name_of(of[i]));
	}
}

/* Tests against all quadruples. */
static void
against_all(void)
{
	for (long round = 0; round < check_rounds(40); round++)
		for (int family = 0; family < OWN + POINTS_FAMILIES; family++)
		{
			rb_mesh m;
			list a, b;

			if (!make_mesh(&m, family, 4 + check_below(8), 14))
				continue;
			a = list_mesh(&m, 4);
			b = list_of(1001);
			for (uint32_t i = 0; i < npoints; i++)
				for (uint32_t j = 0; j < i; j++)
					for (uint32_t k = 0; k < j; k++)
						for (uint32_t l = 0; l < k; l++)
						{
							int side = rb_mesh_orient(&m, i, j, k, l);
							bool empty = side != 0;

							for (uint32_t v = 0; v < npoints && empty; v++)
								if (v != i && v != j && v != k && v != l)
									empty = side > 0 ? rb_mesh_insphere(&m, i, j, k, l, v) < 0
													 : rb_mesh_insphere(&m, j, i, k, l, v) < 0;
							if (empty)
								put(&b, i, j, k, l, 4);
						}
			sort_list(&b);
			same_lists(&a, &b, name_of(family));
			free(a.at);
			free(b.at);
			rb_mesh_free(&m);
		}
}

static bool
between(const double *a, const double *b, const double *x)
{
	for (int i = 0; i < 3; i++)
		if (x[i] < fmin(a[i], b[i]) || x[i] > fmax(a[i], b[i]))
			return false;
	for (int i = 0; i < 3; i++)
	{
		int j = (i + 1) % 3;
		const double p[2] = {a[i], a[j]}, q[2] = {b[i], b[j]}, r[2] = {x[i], x[j]};

		if (rb_orient2d(p, q, r) != 0)
			return false;
	}
	return by_place(a, x) != 0 && by_place(b, x) != 0;
}

static void
edges_and_faces(void)
{
	for (long round = 0; round < check_rounds(4); round++)
		for (int family = 0; family < OWN + POINTS_FAMILIES; family++)
		{
			rb_mesh m;
			list edges, faces;

			if (!make_mesh(&m, family, 5 + check_below(25), 40))
				continue;
			edges = list_mesh(&m, 2);
			faces = list_mesh(&m, 3);
			for (uint32_t a = 0; a < npoints; a++)
				for (uint32_t b = 0; b < npoints; b++)
				{
					uint32_t t, hit;
					bool found;
					uint32_t v[4];

					if (a == b)
						continue;
					found = rb_mesh_find_edge(&m, a, b, &t, &hit);
					CHECK(found == has(&edges, a, b, 0, 0, 2), "%s: edge %u %u", name_of(family), a,
						  b);
					CHECK(rb_tet_corner(&m.tets[t], a) < 4 && !rb_tet_ghost(&m.tets[t]),
						  "%s: %u is not in %u", name_of(family), a, t);
					if (found)
						CHECK(rb_tet_corner(&m.tets[t], b) < 4 && hit == RB_NONE, "%s: %u",
							  name_of(family), b);
					else if (hit != RB_NONE)
						CHECK(between(xyz + 3 * a, xyz + 3 * b, xyz + 3 * hit) &&
								  has(&edges, a, hit, 0, 0, 2) &&
								  rb_tet_corner(&m.tets[t], hit) < 4,
							  "%s: %u is not on %u %u", name_of(family), hit, a, b);
					else
					{
						uint32_t zeros = 0;

						for (int i = 0; i < 4; i++)
						{
							int side;

							memcpy(v, m.tets[t].v, sizeof(v));
							v[i] = b;
							side = rb_mesh_orient(&m, v[0], v[1], v[2], v[3]);
							if (m.tets[t].v[i] == a)
								CHECK(side < 0, "%s: %u %u ends in %u", name_of(family), a, b, t);
							else
								CHECK(side >= 0, "%s: %u %u leaves %u elsewhere", name_of(family),
									  a, b, t);
							zeros += side == 0;
						}
						CHECK(zeros < 2, "%s: %u %u hits a point", name_of(family), a, b);
					}
					for (uint32_t c = 0; c < npoints; c++)
					{
						rb_tet_face f = 0;

						if (c == a || c == b)
							continue;
						found = rb_mesh_find_face(&m, a, b, c, &f);
						CHECK(found == has(&faces, a, b, c, 0, 3), "%s: face %u %u %u",
							  name_of(family), a, b, c);
						if (found)
						{
							const rb_tet *tet = &m.tets[rb_face_tet(f)];
							uint32_t other = tet->v[rb_face_corner(f)];

							CHECK(rb_tet_corner(tet, a) < 4 && rb_tet_corner(tet, b) < 4 &&
									  rb_tet_corner(tet, c) < 4 && other != a && other != b &&
									  other != c,
								  "%s: face %u is not %u %u %u", name_of(family), f, a, b, c);
						}
					}
				}
			free(edges.at);
			free(faces.at);
			rb_mesh_free(&m);
		}
}

static void
flat_sets(void)
{
	for (long round = 0; round < check_rounds(200); round++)
	{
		rb_mesh m;
		int n = check_below(30);

		npoints = 0;
		for (int i = 0; i < n; i++)
		{
			int x = check_below(9), y = check_below(9);

			switch (round % 3)
			{
				case 0:
					add(x, y, 3);
					break;
				case 1:
					add(x, 2 * x, -x);
					break;
				default:
					add(x, y, x + 2 * y);
					break;
			}
		}
		mix();
		CHECK(!all_at_once(&m, npoints), "%u points are flat", npoints);
		rb_mesh_free(&m);
		add(0, 0, 7);
		add(1, 5, 7.5);
		mix();
		if (npoints > 8 && round % 3 != 1)
			check_points("one above a plane");
	}
}

/* Tests point location, and that an existing point is not inserted again. */
static void
places(void)
{
	for (long round = 0; round < check_rounds(30); round++)
		for (int family = 0; family < OWN; family++)
		{
			rb_mesh m;
			uint32_t before;

			if (!make_mesh(&m, family, 10 + check_below(60), MOST))
				continue;
			before = m.nalive;
			for (int i = 0; i < 40; i++)
			{
				double at[3];
				uint32_t v, t;
				const uint32_t *c;

				for (int j = 0; j < 3; j++)
					at[j] = xyz[3 * check_below((int) npoints) + j];
				CHECK(rb_mesh_add_point(&m, at, &v) == RB_OK, "add");
				t = rb_mesh_locate(&m, at, i % 2 ? m.recent : 0);
				c = m.tets[t].v;
				if (rb_tet_ghost(&m.tets[t]))
					CHECK(rb_mesh_conflict(&m, t, v), "%s: not beyond %u", name_of(family), t);
				else
					CHECK(rb_mesh_orient(&m, v, c[1], c[2], c[3]) >= 0 &&
							  rb_mesh_orient(&m, c[0], v, c[2], c[3]) >= 0 &&
							  rb_mesh_orient(&m, c[0], c[1], v, c[3]) >= 0 &&
							  rb_mesh_orient(&m, c[0], c[1], c[2], v) >= 0,
						  "%s: not in %u", name_of(family), t);
			}
			/* Insert the first points again: their duplicates are found. */
			for (uint32_t i = 0; i < npoints; i++)
			{
				uint32_t v, same;

				CHECK(rb_mesh_add_point(&m, xyz + 3 * i, &v) == RB_OK, "add");
				CHECK(rb_mesh_insert(&m, v, m.recent, &same) == RB_OK && same == i, "%s: %u is %u",
					  name_of(family), same, i);
				CHECK(m.tet_of[v] == RB_NONE, "it has a tetrahedron");
			}
			CHECK(m.nalive == before, "%s: there are more", name_of(family));
			rb_mesh_free(&m);
		}
}

static void
stopped(void)
{
	rb_mesh m;
	bool flat;
	uint64_t used = rb_memory_used(memory);
	rb_context asked;

	rb_context_init(&asked, memory);
	make(UNIFORM, 500);
	CHECK(rb_mesh_init(&m, &asked, xyz, npoints) == RB_OK, "init");
	rb_context_stop(&asked);
	CHECK(rb_mesh_delaunay(&m, &flat) == RB_STOPPED, "it went on");
	CHECK(m.nalive == 0, "there are tetrahedra");
	rb_mesh_free(&m);
	CHECK(rb_memory_used(memory) == used, "%lu bytes are left",
		  (unsigned long) (rb_memory_used(memory) - used));
}

/* Tests every memory limit from none to enough: the mesh is complete, or the error is clean. */
static void
over_budget(void)
{
	rb_memory *little = rb_memory_create(0);
	int refused = 0;
	uint64_t limit = 0;
	bool done = false;

	make(UNIFORM, (int) check_rounds(1500));
	for (; !done; limit += 1000 + limit / 100)
	{
		rb_context poor;
		rb_mesh m;
		bool flat;
		rb_status status;

		rb_memory_set_limit(little, limit);
		rb_context_init(&poor, little);
		status = rb_mesh_init(&m, &poor, xyz, npoints);
		if (status == RB_OK)
		{
			status = rb_mesh_delaunay(&m, &flat);
			if (status != RB_OK)
				CHECK(m.nalive == 0, "there are tetrahedra");
			rb_mesh_free(&m);
		}
		CHECK(status == RB_OK || (status == RB_OVER_BUDGET && poor.error.status == status), "%s",
			  rb_status_text(status));
		CHECK(rb_memory_used(little) == 0, "%lu bytes are left",
			  (unsigned long) rb_memory_used(little));
		refused += status != RB_OK;
		done = status == RB_OK;
	}
	CHECK(refused > 3, "%d times only", refused);

	/* Insert one more point into a mesh: it is inserted, or nothing has changed. */
	for (uint64_t more = 0; more < 200000; more += 10000)
	{
		rb_context poor;
		rb_mesh m;
		bool flat;
		rb_status status = RB_OK;
		uint32_t v, same;

		make(SPHERE, 300);
		rb_memory_set_limit(little, (uint64_t) 1 << 30);
		rb_context_init(&poor, little);
		CHECK(rb_mesh_init(&m, &poor, xyz, npoints) == RB_OK, "init");
		CHECK(rb_mesh_delaunay(&m, &flat) == RB_OK, "delaunay");
		rb_memory_set_limit(little, rb_memory_used(little) + more);
		for (int i = 0; i < 400 && status == RB_OK; i++)
		{
			double at[3] = {30 * points_unit(), 30 * points_unit(), 30 * points_unit()};

			status = rb_mesh_add_point(&m, at, &v);
			if (status == RB_OK)
			{
				status = rb_mesh_insert(&m, v, m.recent, &same);
				if (status != RB_OK)
					m.npoints--;
			}
		}
		check_mesh(&m, "short of memory");
		rb_mesh_free(&m);
		CHECK(rb_memory_used(little) == 0, "bytes are left");
	}
	rb_memory_destroy(little);
}

static void
nothing_is_left(void)
{
	CHECK(rb_memory_used(memory) == 0, "%lu bytes", (unsigned long) rb_memory_used(memory));
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 32);
	rb_context_init(&ctx, memory);
	CHECK_RUN(against_all);
	CHECK_RUN(families);
	CHECK_RUN(many);
	CHECK_RUN(edges_and_faces);
	CHECK_RUN(flat_sets);
	CHECK_RUN(places);
	CHECK_RUN(stopped);
	CHECK_RUN(over_budget);
	CHECK_RUN(nothing_is_left);
	rb_memory_destroy(memory);
	return check_done();
}
