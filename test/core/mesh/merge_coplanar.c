/*
 * merge_coplanar.c
 *	  Tests that coplanar polygons are merged into one facet, that the mesh represents the same
 *	  solid, and that its faces are attributed to the polygons that contain them.
 */
#include "check_tets.h"
#include "fixtures.h"
#include "core/base/base.h"
#include "mesh/weld.h"
#include "weld_rows.h"

#include <math.h>
#include <string.h>

/* ---- input ---- */

/* Adds a lattice square from p along two axes, as two triangles with one of the two diagonals. */
static void
add_square(const double *p, int u, int v, bool other)
{
	double q[4][3];

	for (int i = 0; i < 4; i++)
	{
		memcpy(q[i], p, sizeof q[i]);
		q[i][u] += i == 1 || i == 2;
		q[i][v] += i >= 2;
	}
	add_triangle(q[other], q[1 + other], q[2 + other]);
	add_triangle(q[other], q[2 + other], q[(3 + other) % 4]);
}

/* ---- meshing ---- */

static bool
weld(bool merge)
{
	rb_context ctx = context(1);
	rb_status status = rb_weld(&ctx, &it.in, &welded, &flaw);

	CHECK(status == RB_OK, "weld: status %d, flaw %d", status, flaw.kind);
	if (status == RB_OK)
		status = rb_weld_validate(&ctx, &rb_backend_cpu, &welded, &flaw);
	CHECK(status == RB_OK, "validate: status %d, flaw %d of %u and %u", status, flaw.kind, flaw.a,
		  flaw.b);
	if (status == RB_OK && merge)
	{
		status = rb_weld_merge(&ctx, &welded, (rb_merging){.kind = RB_MERGE_COPLANAR});
		CHECK(status == RB_OK, "merge: status %d", status);
	}
	return status == RB_OK;
}

/* Checks the numbers of facets, polygons and segments. */
static void
expect(uint32_t nfacets, uint32_t npolygons, uint32_t nsegments)
{
	if (weld(true))
	{
		CHECK(welded.plc.nfacets == nfacets && welded.npolygons == npolygons &&
				  welded.plc.nsegments == nsegments,
			  "%u facets of %u polygons, %u segments", welded.plc.nfacets, welded.npolygons,
			  welded.plc.nsegments);
		CHECK((welded.polygon_of != NULL) == (nfacets < npolygons), "polygons");
		for (uint32_t i = 1; i < welded.plc.ntriangles; i++)
			CHECK(welded.plc.facet_of[i - 1] <= welded.plc.facet_of[i], "triangle %u", i);
	}
	done();
}

static bool
mesh(int threads, rb_keep keep, rb_tets *t)
{
	rb_context ctx = context(threads);
	const rb_status status = rb_tetrahedralize(&ctx, &welded.plc, keep, t, &flaw);

	CHECK(status == RB_OK, "status %d, flaw %d of %u and %u", status, flaw.kind, flaw.a, flaw.b);
	return status == RB_OK;
}

static void
check(const rb_tets *t, rb_keep keep)
{
	(void) check_tets(memory, "mesh", &welded.plc, keep, t, RB_FAULT_KINDS);
}

/* ---- merging ---- */

static const double top[4][3] = {{0, 0, 0}, {2, 0, 0}, {2, 2, 0}, {0, 2, 0}};

static void
pairs(void)
{
	/* A square of two triangles, oriented equally or not */
	for (int turn = 0; turn < 2; turn++)
	{
		clear();
		add_triangle(top[0], top[1], top[2]);
		add_triangle(top[0], top[2 + turn], top[3 - turn]);
		expect(1, 2, 0);
		CHECK(weld(true), "weld");
		/* The two traverse their common edge in opposite directions. */
		for (int i = 0; i < 3; i++)
			for (int k = 0; k < 3; k++)
				CHECK(welded.plc.triangles[0][i] != welded.plc.triangles[1][k] ||
						  welded.plc.triangles[0][(i + 1) % 3] !=
							  welded.plc.triangles[1][(k + 1) % 3],
					  "turned the other way");
		done();
	}
	/* The smallest possible bend separates them. */
	clear();
	add_triangle(top[0], top[1], top[2]);
	add_triangle(top[0], top[2], P(0, 2, 0x1p-1074));
	expect(2, 2, 0);
	/* A tilted plane at large coordinates */
	clear();
	add_triangle(P(500000, 6000000, 1), P(500003, 6000000, 2), P(500003, 6000006, 4));
	add_triangle(P(500000, 6000000, 1), P(500003, 6000006, 4), P(500000, 6000006, 3));
	expect(1, 2, 0);
	/* Polygons that touch only in a point stay separate. */
	clear();
	add_triangle(P(0, 0, 0), P(1, 0, 0), P(0, 1, 0));
	add_triangle(P(0, 0, 0), P(-1, 0, 0), P(0, -1, 0));
	expect(2, 2, 0);
	/* A third triangle at the edge keeps it. */
	clear();
	add_triangle(top[0], top[1], top[2]);
	add_triangle(top[0], top[2], top[3]);
	add_triangle(top[0], top[2], P(1, 1, 5));
	expect(3, 3, 0);
	/* Polygons, one of them bent */
	clear();
	add_quad(top[0], top[1], top[2], top[3]);
	add_quad(top[1], P(4, 0, 0), P(4, 2, 0), top[2]);
	expect(1, 2, 0);
	clear();
	add_quad(top[0], top[1], top[2], top[3]);
	add_quad(top[1], P(4, 0, 0), P(4, 2, 1e-9), top[2]);
	expect(2, 2, 0);
}

static void
attributes(void)
{
	/* Ids that are unique per row do not separate polygons; ids shared by several rows do. */
	clear();
	for (int x = 0; x < 4; x++)
		add_square(P(x, 0, 0), 0, 1, x % 2);
	for (uint32_t i = 0; i < it.facets.nrows; i++)
		it.ids[i] = 100 - i;
	it.facets.ids = it.ids;
	expect(1, 8, 0);
	for (uint32_t i = 0; i < it.facets.nrows; i++)
		it.ids[i] = i < 4 ? 17 : -17;
	expect(2, 8, 0);
	/* A given segment separates polygons, becomes their boundary, and is not listed again. */
	it.facets.ids = NULL;
	add_segment(P(2, 1, 0), P(2, 0, 0));
	expect(2, 8, 0);
	/*
	 * A segment on a part of their common line does not separate them: it then lies inside one
	 * facet.
	 */
	clear();
	for (int x = 0; x < 4; x++)
		for (int y = 0; y < 2; y++)
			add_square(P(x, y, 0), 0, 1, x % 2);
	add_segment(P(2, 1, 0), P(2, 0, 0));
	expect(1, 16, 1);
	/* Crossing facets: the end of a wall on the floor is a boundary of the floor. */
	it.lines.nparts = it.lines.nrows = 0;
	add_square(P(2, 0, 0), 1, 2, false);
	expect(2, 18, 0);
	/*
	 * The ends of two walls, above and below, are boundaries, too. A wall that extends around the
	 * end of that line has no boundary there.
	 */
	add_square(P(2, 0, -1), 1, 2, false);
	expect(3, 20, 0);
	add_square(P(2, -1, 0), 1, 2, true);
	add_square(P(2, -1, -1), 1, 2, true);
	expect(2, 24, 1);
	CHECK(weld(true) && welded.segment_row[0] == RB_NONE, "it is made");
	done();
}

/* Tests two facets with a hole each, and one that touches itself in a point. */
static void
holes(void)
{
	rb_tets t;

	clear();
	for (int x = 0; x < 3; x++)
		for (int y = 0; y < 3; y++)
			for (int z = 0; z < 2 && (x != 1 || y != 1); z++)
				add_square(P(x, y, z), 0, 1, (x + y) % 2);
	for (int i = 0; i < 3; i++)
		for (int side = 0; side < 2; side++)
		{
			add_square(P(i, 3 * side, 0), 0, 2, i % 2);
			add_square(P(3 * side, i, 0), 1, 2, i % 2);
		}
	for (int side = 1; side < 3; side++)
	{
		add_square(P(1, side, 0), 0, 2, false);
		add_square(P(side, 1, 0), 1, 2, true);
	}
	expect(10, 64, 0);
	if (weld(true) && mesh(1, RB_KEEP_INSIDE, &t))
	{
		CHECK(t.npoints == welded.plc.npoints && t.nregions == 1, "%u points", t.npoints);
		check(&t, RB_KEEP_INSIDE);
		rb_tets_free(memory, &t);
	}
	done();
	/* A ring of squares that closes only at a corner */
	clear();
	for (int x = 0; x < 3; x++)
		for (int y = 0; y < 3; y++)
			if ((x != 1 || y != 1) && (x != 0 || y != 0))
				add_square(P(x, y, 0), 0, 1, (x + y) % 2);
	add_triangle(P(0, 0, 5), P(1, 1, 4), P(7, 1, 6));
	expect(2, 15, 0);
	if (weld(true) && mesh(1, RB_KEEP_HULL, &t))
	{
		check(&t, RB_KEEP_HULL);
		rb_tets_free(memory, &t);
	}
	done();
}

/* Tests fans whose diagonals meet at small angles. */
static void
prisms(void)
{
	for (int n = 8; n <= 128; n *= 4)
	{
		double p[2][128][3];
		rb_tets t;

		for (int i = 0; i < n; i++)
			for (int z = 0; z < 2; z++)
			{
				p[z][i][0] = cos(2 * M_PI * i / n);
				p[z][i][1] = sin(2 * M_PI * i / n);
				p[z][i][2] = z;
			}
		clear();
		for (int i = 1; i + 1 < n; i++)
			for (int z = 0; z < 2; z++)
				add_triangle(p[z][0], p[z][i], p[z][i + 1]);
		for (int i = 0; i < n; i++)
		{
			add_triangle(p[0][i], p[0][(i + 1) % n], p[1][(i + 1) % n]);
			add_triangle(p[0][i], p[1][(i + 1) % n], p[1][i]);
		}
		if (weld(true) && mesh(1, RB_KEEP_INSIDE, &t))
		{
			CHECK(t.npoints == 2 * (uint32_t) n, "%u points for %d corners", t.npoints, 2 * n);
			check(&t, RB_KEEP_INSIDE);
			rb_tets_free(memory, &t);
		}
		done();
	}
}

/* ---- cells of a lattice, transformed ---- */

#define SIDE 5 /* With a margin */

static int label[SIDE][SIDE][SIDE];
static int part[SIDE][SIDE][SIDE]; /* Number of each connected component */
static int cells[SIDE * SIDE * SIDE];
static int nparts;
static double matrix[3][3], offset[3];

static void
spread(int x, int y, int z, int number)
{
	if (part[x][y][z] >= 0)
		return;
	part[x][y][z] = number;
	cells[number]++;
	for (int k = 0; k < 3; k++)
		for (int step = -1; step < 2; step += 2)
		{
			const int to[3] = {x + (k == 0) * step, y + (k == 1) * step, z + (k == 2) * step};

			if (to[k] >= 0 && to[k] < SIDE && label[to[0]][to[1]][to[2]] == label[x][y][z])
				spread(to[0], to[1], to[2], number);
		}
}

static double
determinant(void)
{
	double sum = 0;

	for (int k = 0; k < 3; k++)
	{
		const int i = (k + 1) % 3, j = (k + 2) % 3;

		sum += matrix[0][k] * (matrix[1][i] * matrix[2][j] - matrix[1][j] * matrix[2][i]);
	}
	return sum;
}

static void
place(const double *p, double *to)
{
	for (int i = 0; i < 3; i++)
		to[i] = matrix[i][0] * p[0] + matrix[i][1] * p[1] + matrix[i][2] * p[2] + offset[i];
}

/*
 * Adds a square between cells of two labels, as one polygon or as two triangles with random
 * orientation.
 */
static void
add_wall(const double *p, int u, int v)
{
	const bool quad = check_below(4) == 0;
	double q[4][3];

	for (int i = 0; i < 4; i++)
	{
		double r[3] = {p[0], p[1], p[2]};

		r[u] += i == 1 || i == 2;
		r[v] += i >= 2;
		place(r, q[i]);
	}
	if (quad)
		add_quad(q[0], q[1], q[2], q[3]);
	else
		for (int i = 0, other = check_below(2); i < 2; i++)
		{
			const int a = other, b = (1 + other + i) % 4, c = (2 + other + i) % 4;
			const bool turn = check_below(2) != 0;

			add_triangle(q[a], q[turn ? c : b], q[turn ? b : c]);
		}
}

static void
make_cells(int labels)
{
	clear();
	memset(label, 0, sizeof label);
	memset(part, 0xff, sizeof part);
	memset(cells, 0, sizeof cells);
	for (int x = 1; x < SIDE - 1; x++)
		for (int y = 1; y < SIDE - 1; y++)
			for (int z = 1; z < SIDE - 1; z++)
				label[x][y][z] = check_below(labels);
	nparts = 0;
	for (int x = 0; x < SIDE; x++)
		for (int y = 0; y < SIDE; y++)
			for (int z = 0; z < SIDE; z++)
				if (part[x][y][z] < 0)
					spread(x, y, z, nparts++);
	do
		for (int i = 0; i < 9; i++)
			matrix[i / 3][i % 3] = (double) check_below(9) - 4;
	while (determinant() == 0);
	for (int k = 0; k < 3; k++)
		offset[k] = check_below(2) == 0 ? 0 : k == 0 ? 500000 : k == 1 ? 6000000 : 300;
	for (int x = 1; x < SIDE; x++)
		for (int y = 1; y < SIDE; y++)
			for (int z = 1; z < SIDE; z++)
				for (int k = 0; k < 3; k++)
					if (label[x][y][z] != label[x - (k == 0)][y - (k == 1)][z - (k == 2)])
						add_wall(P(x, y, z), (k + 1) % 3, (k + 2) % 3);
}

static int
compare(const void *a, const void *b)
{
	const double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

/*
 * Computes six times the volume of each region, in order. The result is exact if all coordinates
 * are integers.
 */
static uint32_t
volumes_of(const rb_tets *t, double *volumes)
{
	memset(volumes, 0, (t->nregions + 1) * sizeof *volumes);
	for (uint32_t i = 0; i < t->ntets; i++)
	{
		double u[3][3];

		for (int k = 0; k < 3; k++)
			for (int j = 0; j < 3; j++)
				u[k][j] = t->points[3 * (size_t) t->tets[i][k + 1] + j] -
						  t->points[3 * (size_t) t->tets[i][0] + j];
		volumes[t->region[i] - 1] += u[0][0] * (u[1][1] * u[2][2] - u[1][2] * u[2][1]) +
									 u[0][1] * (u[1][2] * u[2][0] - u[1][0] * u[2][2]) +
									 u[0][2] * (u[1][0] * u[2][1] - u[1][1] * u[2][0]);
	}
	qsort(volumes, t->nregions, sizeof *volumes, compare);
	return t->nregions;
}

/*
 * Returns true if three times the centroid of a face lies in three times the triangle, for integer
 * coordinates.
 */
static bool
centroid_in(const rb_tets *t, const uint32_t *face, const uint32_t *triangle)
{
	double c[3], p[3][3], normal[3] = {0, 0, 0};
	bool in = true;

	for (int j = 0; j < 3; j++)
	{
		const double o = t->points[3 * (size_t) triangle[0] + j];

		c[j] = 0;
		for (int k = 0; k < 3; k++)
		{
			c[j] += t->points[3 * (size_t) face[k] + j] - o;
			p[k][j] = 3 * (t->points[3 * (size_t) triangle[k] + j] - o);
		}
	}
	for (int pass = 0; pass < 2; pass++)
		for (int k = 0; k < 3; k++)
		{
			const double *a = p[k], *b = p[(k + 1) % 3], *d = pass == 0 ? p[(k + 2) % 3] : c;
			double x[3], dot = 0;

			for (int j = 0; j < 3; j++)
			{
				const int m = (j + 1) % 3, n = (j + 2) % 3;

				x[j] = (b[m] - a[m]) * (d[n] - a[n]) - (b[n] - a[n]) * (d[m] - a[m]);
				dot += x[j] * normal[j];
			}
			if (pass == 0)
				memcpy(normal, x, sizeof x);
			in = in && (pass == 0 || dot >= 0);
		}
	return in;
}

static void
check_names(const rb_tets *merged, const rb_tets *named)
{
	for (uint32_t i = 0; i < named->nfaces; i++)
	{
		uint32_t lowest = RB_NONE;
		const uint32_t *v = named->faces[i];

		if (v[0] >= welded.plc.npoints || v[1] >= welded.plc.npoints || v[2] >= welded.plc.npoints)
			continue;
		for (uint32_t k = 0; k < welded.plc.ntriangles; k++)
		{
			const uint32_t polygon =
				welded.polygon_of != NULL ? welded.polygon_of[k] : welded.plc.facet_of[k];

			if (welded.plc.facet_of[k] == merged->face_facet[i] && polygon < lowest &&
				centroid_in(named, v, welded.plc.triangles[k]))
				lowest = polygon;
		}
		CHECK(named->face_facet[i] == lowest, "face %u: polygon %u, not %u", i,
			  named->face_facet[i], lowest);
	}
}

/* Checks that every merged polygon is found again on the faces of the mesh. */
static void
check_found_again(const rb_tets *merged, const rb_tets *named)
{
	rb_context ctx = context(1);
	uint32_t *facet = calloc(welded.npolygons + 1, sizeof *facet);
	uint32_t *at = calloc(welded.npolygons + 1, sizeof *at);
	uint32_t n = 0;
	const rb_status status =
		rb_merge_by_faces(&ctx, named->points, named->npoints, (const uint32_t(*)[3]) named->faces,
						  named->nfaces, (const uint32_t(*)[2]) named->edges, named->nedges,
						  named->face_facet, welded.npolygons, false, facet, &n);

	CHECK(status == RB_OK, "status %d", status);
	for (uint32_t i = 0; i < named->nfaces && status == RB_OK; i++)
	{
		const uint32_t f = facet[named->face_facet[i]];

		CHECK(f < n, "facet %u", f);
		CHECK(at[f] == 0 || at[f] == merged->face_facet[i] + 1, "face %u: united", i);
		at[f] = merged->face_facet[i] + 1;
	}
	free(facet);
	free(at);
}

/*
 * Checks that a mesh of the polygons is also a mesh of the facets, with more segments than
 * necessary.
 */
static void
check_unmerged(void)
{
	rb_context ctx = context(1);
	uint32_t *facet = calloc(welded.npolygons + 1, sizeof *facet);
	rb_welded merged = welded;
	rb_tets t;

	for (uint32_t i = 0; i < welded.plc.ntriangles; i++)
		facet[welded.polygon_of != NULL ? welded.polygon_of[i] : welded.plc.facet_of[i]] =
			welded.plc.facet_of[i];
	CHECK(rb_weld_plc(&ctx, &welded.plc, &merged) == RB_OK, "no copy");
	CHECK(rb_weld_unmerge(&ctx, &welded) == RB_OK && welded.polygon_of == NULL &&
			  welded.plc.nfacets == welded.npolygons,
		  "not apart");
	for (uint32_t i = 1; i < welded.plc.ntriangles; i++)
		CHECK(welded.plc.facet_of[i - 1] <= welded.plc.facet_of[i], "triangle %u", i);
	if (rb_tetrahedralize(&ctx, &welded.plc, RB_KEEP_INSIDE, &t, &flaw) == RB_OK)
	{
		check(&t, RB_KEEP_INSIDE);
		for (uint32_t i = 0; i < t.nfaces; i++)
			t.face_facet[i] = facet[t.face_facet[i]];
		for (uint32_t i = 0; i < t.npoints; i++)
			if (t.kind[i] == RB_VERTEX_ON_FACET)
				t.parent[i] = facet[t.parent[i]];
		rb_welded_free(memory, &welded);
		welded = merged;
		check(&t, RB_KEEP_INSIDE);
		rb_tets_free(memory, &t);
	}
	else
		rb_welded_free(memory, &merged);
	free(facet);
}

static void
copy_faces(const rb_tets *from, rb_tets *to)
{
	*to = *from;
	to->face_facet = malloc((from->nfaces + 1) * sizeof *to->face_facet);
	memcpy(to->face_facet, from->face_facet, from->nfaces * sizeof *to->face_facet);
}

static void
cells_of_a_lattice(void)
{
	const long rounds = check_rounds(150);
	static double volumes[SIDE * SIDE * SIDE], right[SIDE * SIDE * SIDE];
	long exact = 0, refused = 0;

	for (long round = 0; round < rounds; round++)
	{
		rb_tets t, merged;
		rb_context ctx = context(1 + (int) (round % 3));
		rb_status status = RB_OK;
		uint32_t n = 0;

		make_cells(2 + check_below(3));
		if (it.facets.nparts == 0)
			continue;
		for (int i = 1; i < nparts; i++)
			right[n++] = 6 * cells[i] * fabs(determinant());
		qsort(right, n, sizeof *right, compare);
		if (weld(true))
			status = rb_tetrahedralize(&ctx, &welded.plc, RB_KEEP_INSIDE, &t, &flaw);
		/* In strongly sheared cells, rounding may leave no position for necessary points. */
		CHECK(status == RB_OK || (status == RB_BAD_PLC && ++refused * 50 <= rounds),
			  "status %d, flaw %d, %ld refused", status, flaw.kind, refused);
		if (status == RB_OK)
		{
			const rb_polygons polygons = rb_weld_polygons(&welded);
			const bool whole = t.npoints == welded.plc.npoints;

			check(&t, RB_KEEP_INSIDE);
			CHECK(volumes_of(&t, volumes) == n, "%u regions, not %u", t.nregions, n);
			for (uint32_t i = 0; i < n && i < t.nregions; i++)
				CHECK(whole ? volumes[i] == right[i]
							: fabs(volumes[i] - right[i]) <= 1e-6 * right[i],
					  "region %u: %.17g, not %.17g", i, volumes[i], right[i]);
			exact += whole;
			copy_faces(&t, &merged);
			CHECK(rb_label_polygons(&ctx, &polygons, &t) == RB_OK, "no names");
			check_names(&merged, &t);
			check_found_again(&merged, &t);
			free(merged.face_facet);
			rb_tets_free(memory, &t);
			check_unmerged();
		}
		done();
	}
	CHECK(exact > rounds / 4, "only %ld without a point", exact);
}

/* Tests that the result is the same for any number of threads. */
static void
threads(void)
{
	rb_tets t[3];
	const int many[3] = {1, 2, 7};

	clear();
	for (int x = 0; x < 8; x++)
		for (int y = 0; y < 8; y++)
			for (int side = 0; side < 2; side++)
			{
				add_square(P(x, y, 8 * side), 0, 1, (x ^ y) & 1);
				add_square(P(x, 8 * side, y), 0, 2, (x ^ y) & 1);
				add_square(P(8 * side, x, y), 1, 2, (x ^ y) & 1);
			}
	expect(6, 768, 0);
	for (int i = 0; i < 3; i++)
	{
		rb_context ctx = context(many[i]);
		rb_polygons polygons;

		if (!weld(true) || !mesh(many[i], RB_KEEP_INSIDE, &t[i]))
			return;
		polygons = rb_weld_polygons(&welded);
		CHECK(rb_label_polygons(&ctx, &polygons, &t[i]) == RB_OK, "no names");
		CHECK(t[i].npoints == welded.plc.npoints && t[i].ntets == t[0].ntets &&
				  t[i].nfaces == t[0].nfaces &&
				  memcmp(t[i].tets, t[0].tets, t[0].ntets * sizeof *t[0].tets) == 0 &&
				  memcmp(t[i].faces, t[0].faces, t[0].nfaces * sizeof *t[0].faces) == 0 &&
				  memcmp(t[i].face_facet, t[0].face_facet, t[0].nfaces * sizeof(uint32_t)) == 0,
			  "another mesh on %d threads", many[i]);
		rb_welded_free(memory, &welded);
	}
	for (int i = 0; i < 3; i++)
		rb_tets_free(memory, &t[i]);
	CHECK(rb_memory_used(memory) == 0, "%lu bytes left", (unsigned long) rb_memory_used(memory));
}

static rb_status
merge(rb_context *ctx)
{
	return rb_weld_merge(ctx, &welded, (rb_merging){.kind = RB_MERGE_COPLANAR});
}

static void
limits(void)
{
	clear();
	for (int x = 0; x < 8; x++)
		for (int y = 0; y < 8; y++)
			add_square(P(x, y, 0), 0, 1, (x ^ y) & 1);
	try_limits(1000, 8, merge);
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 30);
	CHECK_RUN(pairs);
	CHECK_RUN(attributes);
	CHECK_RUN(holes);
	CHECK_RUN(prisms);
	CHECK_RUN(cells_of_a_lattice);
	CHECK_RUN(threads);
	CHECK_RUN(limits);
	rb_memory_destroy(memory);
	return check_done();
}
