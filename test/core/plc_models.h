/*
 * plc_models.h
 *	  Defines PLCs (piecewise linear complexes) for tests, and checks of their tetrahedralizations.
 *
 * A model is a few lines that define vertices by their coordinates: at, facet, quad, segment, seed.
 * There is one current model, `it`. Its mesh is checked by rb_check_mesh, and by independent checks
 * in this file.
 */
#ifndef PLC_MODELS_H
#define PLC_MODELS_H

#include "check_tets.h"
#include "fixtures.h"
#include "points.h"
#include "core/base/base.h"
#include "mesh/weld.h"

#include <unistd.h>

static rb_memory *memory;

/* ---- models ---- */

#define MOST 60000
#define PLACES ((uint32_t) 1 << 17)
#define SEEDS 4096

static struct
{
	double points[MOST][3];
	uint32_t triangles[MOST][3];
	uint32_t facet_of[MOST];
	uint32_t segments[MOST][2];
	rb_seed seeds[SEEDS];
	uint32_t place[PLACES]; /* Point + 1 */
	uint32_t npoints, ntriangles, nfacets, nsegments, nseeds;
} it;

static void
clear(void)
{
	memset(it.place, 0, sizeof it.place);
	it.npoints = it.ntriangles = it.nfacets = it.nsegments = it.nseeds = 0;
}

/* Returns the point at these coordinates, which is added if it is new. */
static uint32_t
at(double x, double y, double z)
{
	const double p[3] = {x + 0.0, y + 0.0, z + 0.0}; /* No -0 */
	uint64_t h = 0;
	uint32_t place;

	for (int k = 0; k < 3; k++)
	{
		uint64_t bits;

		memcpy(&bits, &p[k], 8);
		h = (h ^ bits) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	place = (uint32_t) h & (PLACES - 1);
	while (it.place[place] != 0)
	{
		if (memcmp(it.points[it.place[place] - 1], p, sizeof p) == 0)
			return it.place[place] - 1;
		place = (place + 1) & (PLACES - 1);
	}
	if (it.npoints == MOST)
		abort();
	memcpy(it.points[it.npoints], p, sizeof p);
	it.place[place] = ++it.npoints;
	return it.npoints - 1;
}

/* Adds a triangle to the last facet. */
static void
part(uint32_t a, uint32_t b, uint32_t c)
{
	if (it.ntriangles == MOST)
		abort();
	it.triangles[it.ntriangles][0] = a;
	it.triangles[it.ntriangles][1] = b;
	it.triangles[it.ntriangles][2] = c;
	it.facet_of[it.ntriangles++] = it.nfacets - 1;
}

static void
facet(uint32_t a, uint32_t b, uint32_t c)
{
	it.nfacets++;
	part(a, b, c);
}

static void
quad(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	facet(a, b, c);
	part(a, c, d);
}

static void
polygon(int n, const uint32_t *v)
{
	facet(v[0], v[1], v[2]);
	for (int i = 3; i < n; i++)
		part(v[0], v[i - 1], v[i]);
}

static void
segment(uint32_t a, uint32_t b)
{
	it.segments[it.nsegments][0] = a;
	it.segments[it.nsegments++][1] = b;
}

static void
seed(double x, double y, double z, int64_t region, bool hole)
{
	it.seeds[it.nseeds++] = (rb_seed){{x, y, z}, region, hole};
}

static rb_plc
plc(void)
{
	return (rb_plc){.npoints = it.npoints,
					.ntriangles = it.ntriangles,
					.nfacets = it.nfacets,
					.nsegments = it.nsegments,
					.nseeds = it.nseeds,
					.points = it.points[0],
					.triangles = (const uint32_t(*)[3]) it.triangles,
					.facet_of = it.facet_of,
					.segments = (const uint32_t(*)[2]) it.segments,
					.seeds = it.seeds};
}

/* ---- ways to move a model ---- */

enum
{
	AS_IT_IS,
	TURNED,
	MAPPED,
	MILLIMETRES,
	FLATTENED,
	WAYS
};

static const char *const way_name[WAYS] = {"as it is", "turned", "on a map", "in millimetres",
										   "flattened"};

static void
move_point(double *p, int way)
{
	const double x = p[0], y = p[1], z = p[2];
	const double turned[3] = {.36 * x + .48 * y - .8 * z, -.8 * x + .6 * y,
							  .48 * x + .64 * y + .6 * z};

	if (way == TURNED || way == MAPPED || way == MILLIMETRES)
		memcpy(p, turned, sizeof turned);
	if (way == MAPPED || way == MILLIMETRES)
	{
		p[0] += 391777.125;
		p[1] += 5820111.25;
		p[2] += 34.5;
	}
	for (int k = 0; k < 3 && way == MILLIMETRES; k++)
		p[k] = round(p[k] * 1000) / 1000;
	if (way == FLATTENED)
		p[2] *= 1e-7;
}

/* Moves the model. Returns false if moved points coincide. */
static bool
move(int way)
{
	uint32_t n = it.npoints;

	memset(it.place, 0, sizeof it.place);
	it.npoints = 0;
	for (uint32_t i = 0; i < n; i++)
	{
		double p[3];

		memcpy(p, it.points[i], sizeof p);
		move_point(p, way);
		if (at(p[0], p[1], p[2]) != i)
			return false;
	}
	for (uint32_t i = 0; i < it.nseeds; i++)
		move_point(it.seeds[i].at, way);
	return true;
}

/* ---- meshing and checks ---- */

static rb_flaw flaw;

static rb_status
make(const rb_plc *from, rb_keep keep, int threads, rb_tets *tets)
{
	rb_context ctx;
	rb_status status;

	rb_context_init(&ctx, memory);
	ctx.threads = threads;
	status = rb_tetrahedralize(&ctx, from, keep, tets, &flaw);
	CHECK(status == RB_OK || ctx.error.status == status, "status %d, error %d", status,
		  ctx.error.status);
	CHECK((status == RB_BAD_PLC) == (flaw.kind != RB_FLAW_NONE), "status %d, flaw %d", status,
		  flaw.kind);
	return status;
}

static bool
same(const rb_tets *a, const rb_tets *b)
{
#define SAME(array, n) (memcmp(a->array, b->array, (size_t) (n) * sizeof *a->array) == 0)
	return a->npoints == b->npoints && a->ntets == b->ntets && a->nfaces == b->nfaces &&
		   a->nedges == b->nedges && a->nsegments == b->nsegments && a->nregions == b->nregions &&
		   a->outside_seeds == b->outside_seeds && SAME(kind, a->npoints) &&
		   SAME(parent, a->npoints) && SAME(tets, a->ntets) && SAME(neighbours, 4 * a->ntets) &&
		   SAME(region, a->ntets) && SAME(faces, a->nfaces) && SAME(face_facet, a->nfaces) &&
		   SAME(edges, a->nedges) && SAME(edge_segment, a->nedges) &&
		   (a->nsegments == 0 ||
			(SAME(segments, a->nsegments) && SAME(segment_facet, a->nsegments)));
}

/* Checks what rb_check_mesh does not: neighbors, regions, order, and the facet of each segment. */
static void
look(const char *name, const rb_plc *from, const rb_tets *t)
{
	uint32_t nregions = 0;
	bool *used = calloc((size_t) t->nregions + 1, 1);

	CHECK(memcmp(t->points, from->points, from->npoints * sizeof(double[3])) == 0, "%s: moved",
		  name);
	for (uint32_t i = 0; i < t->ntets; i++)
		for (uint32_t k = 0; k < 4; k++)
		{
			uint32_t n = t->neighbours[4 * (size_t) i + k];
			int back = -1, common = 0;

			if (n == RB_NONE)
				continue;
			for (int j = 0; j < 4 && n < t->ntets; j++)
			{
				back = t->neighbours[4 * (size_t) n + (size_t) j] == i ? j : back;
				for (uint32_t l = 0; l < 4; l++)
					common += l != k && t->tets[n][j] == t->tets[i][l];
			}
			CHECK(n < t->ntets && common == 3 && back >= 0, "%s: neighbour %u of %u", name, k, i);
		}
	for (uint32_t i = 0; i < t->ntets && from->nseeds == 0; i++)
	{
		if (t->region[i] < 1 || t->region[i] > t->nregions)
		{
			CHECK(false, "%s: region %ld", name, (long) t->region[i]);
			break;
		}
		nregions += !used[t->region[i]];
		used[t->region[i]] = true;
	}
	CHECK(from->nseeds > 0 || nregions == t->nregions, "%s: %u regions, not %u", name, nregions,
		  t->nregions);
	for (uint32_t i = 1; i < t->nfaces; i++)
		CHECK(t->face_facet[i - 1] <= t->face_facet[i], "%s: face %u", name, i);
	for (uint32_t i = 1; i < t->nedges; i++)
		CHECK(t->edge_segment[i - 1] <= t->edge_segment[i], "%s: edge %u", name, i);
	for (uint32_t i = 0; i < t->nsegments; i++)
	{
		uint32_t f = t->segment_facet[i];
		bool has = false;

		CHECK(i < from->nsegments || f != RB_NONE, "%s: segment %u", name, i);
		for (uint32_t k = 0; f != RB_NONE && f < from->nfacets && k < from->ntriangles; k++)
			for (int j = 0; j < 3 && from->facet_of[k] == f; j++)
			{
				uint32_t a = from->triangles[k][j], b = from->triangles[k][(j + 1) % 3];

				has = has || (a == t->segments[i][0] && b == t->segments[i][1]) ||
					  (b == t->segments[i][0] && a == t->segments[i][1]);
			}
		CHECK(f == RB_NONE || has, "%s: segment %u is not of facet %u", name, i, f);
	}
	free(used);
}

/* Tolerate flat faces: facets as small as doubles allow may be flat along a rounded normal */
static bool forgive_flat;

/* Checks the mesh and returns its volume. */
static double
check(const char *name, const rb_plc *from, rb_keep keep, const rb_tets *t)
{
	return check_tets(memory, name, from, keep, t,
					  forgive_flat ? RB_FAULT_FACE_FLAT : RB_FAULT_KINDS);
}

/* Returns true if no facets or segments cross, according to the joins. */
static bool
valid(const rb_plc *from)
{
	const rb_welded welded = {.plc = *from};
	rb_context ctx;
	rb_flaw found;

	rb_context_init(&ctx, memory);
	return rb_weld_validate(&ctx, &rb_backend_cpu, &welded, &found) == RB_OK;
}

/* Turns edges along which facets bend into segments, as meshing of rows does. */
static void
crease(void)
{
	rb_welded welded = {.plc = plc()};
	rb_context ctx;
	rb_status status;
	uint32_t(*segments)[2] = NULL;

	rb_context_init(&ctx, memory);
	status = rb_array(&ctx, (void **) &segments, (size_t) it.nsegments + 1, sizeof *segments);
	if (status == RB_OK)
		status = rb_array(&ctx, (void **) &welded.segment_row, (size_t) it.nsegments + 1,
						  sizeof *welded.segment_row);
	if (status == RB_OK)
	{
		memcpy(segments, it.segments, it.nsegments * sizeof *segments);
		welded.plc.segments = (const uint32_t(*)[2]) segments;
		status = rb_weld_creases(&ctx, &welded);
		segments = (uint32_t(*)[2]) welded.plc.segments;
	}
	CHECK(status == RB_OK, "creases: %d", status);
	if (welded.plc.nsegments > MOST)
		abort();
	memcpy(it.segments, segments, welded.plc.nsegments * sizeof *segments);
	it.nsegments = welded.plc.nsegments;
	rb_free(memory, (void **) &segments);
	rb_free(memory, (void **) &welded.segment_row);
}

/* Builds a model and moves it. Returns false if rounding makes it intersect itself. */
static bool
build(void (*model)(void), const char *name, int way)
{
	rb_plc from;

	clear();
	model();
	if (!move(way))
		return false;
	from = plc();
	if (way == AS_IT_IS || valid(&from))
	{
		crease();
		return true;
	}
	printf("# %s, %s: crosses itself\n", name, way_name[way]);
	return false;
}

/* ---- small models ---- */

static void
box_corners(uint32_t *v, double x, double y, double z, double dx, double dy, double dz)
{
	for (int i = 0; i < 8; i++)
		v[i] =
			at(i % 4 == 1 || i % 4 == 2 ? x + dx : x, i % 4 >= 2 ? y + dy : y, i >= 4 ? z + dz : z);
}

static const uint8_t box_sides[6][4] = {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4},
										{1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};

static void
box(double x, double y, double z, double dx, double dy, double dz)
{
	uint32_t v[8];

	box_corners(v, x, y, z, dx, dy, dz);
	for (int i = 0; i < 6; i++)
		quad(v[box_sides[i][0]], v[box_sides[i][1]], v[box_sides[i][2]], v[box_sides[i][3]]);
}

static void
cube(void)
{
	box(0, 0, 0, 1, 1, 1);
}

static void
cube_of_triangles(void)
{
	uint32_t v[8];

	box_corners(v, 0, 0, 0, 1, 1, 1);
	for (int i = 0; i < 6; i++)
	{
		const uint8_t *s = box_sides[i];

		facet(v[s[0]], v[s[1]], v[s[2]]);
		facet(v[s[0]], v[s[2]], v[s[3]]);
	}
}

/* Bits that select facets inside the cube and segments on diagonals of its sides */
static int walls;

static void
cube_with_walls(void)
{
	uint32_t v[8];

	box_corners(v, 0, 0, 0, 1, 1, 1);
	for (int i = 0; i < 6; i++)
		quad(v[box_sides[i][0]], v[box_sides[i][1]], v[box_sides[i][2]], v[box_sides[i][3]]);
	if (walls & 1)
		quad(v[0], v[2], v[6], v[4]);
	if (walls & 2)
		quad(v[3], v[2], v[5], v[4]);
	if (walls & 4)
		quad(v[0], v[1], v[6], v[7]);
	if (walls & 8)
		segment(v[0], v[5]);
	if (walls & 16)
		segment(v[1], v[3]);
	if (walls & 32)
		segment(v[1], v[7]);
}

/*
 * Cells of a grid that share their sides. Vertices are moved by up to `shake`; sides are then
 * triangles.
 */
static int cells = 3;
static double shake;

static uint32_t
grid_point(int i, int j, int k)
{
	uint64_t h = (uint64_t) (i * 10007 + j * 101 + k) * 0x9e3779b97f4a7c15u;

	h ^= h >> 31;
	h *= 0xbf58476d1ce4e5b9u;
	return at(i + shake * ((double) (h & 0xffff) / 32768 - 1),
			  j + shake * ((double) (h >> 16 & 0xffff) / 32768 - 1),
			  k + shake * ((double) (h >> 32 & 0xffff) / 32768 - 1));
}

static void
grid_side(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	if (shake == 0)
		quad(a, b, c, d);
	else
	{
		facet(a, b, c);
		facet(a, c, d);
	}
}

static void
cells_of_grid(void)
{
	for (int i = 0; i <= cells; i++)
		for (int j = 0; j <= cells; j++)
			for (int k = 0; k <= cells; k++)
			{
				if (i < cells && j < cells)
					grid_side(grid_point(i, j, k), grid_point(i + 1, j, k),
							  grid_point(i + 1, j + 1, k), grid_point(i, j + 1, k));
				if (j < cells && k < cells)
					grid_side(grid_point(i, j, k), grid_point(i, j + 1, k),
							  grid_point(i, j + 1, k + 1), grid_point(i, j, k + 1));
				if (k < cells && i < cells)
					grid_side(grid_point(i, j, k), grid_point(i, j, k + 1),
							  grid_point(i + 1, j, k + 1), grid_point(i + 1, j, k));
			}
}

static void
nested(void)
{
	for (int i = 0; i < 5; i++)
		box(i, i, i, 11 - 2 * i, 11 - 2 * i, 11 - 2 * i);
}

/*
 * Builds a torus of n by m quads, at most 32 by 16. Except for rounding, its vertices lie on planes
 * and circles.
 */
static void
torus_of(int n, int m)
{
	uint32_t v[100][40];

	for (int i = 0; i < n; i++)
		for (int j = 0; j < m; j++)
		{
			double r = 3 + cos(j * 2 * M_PI / m);

			v[i][j] =
				at(r * cos(i * 2 * M_PI / n), r * sin(i * 2 * M_PI / n), sin(j * 2 * M_PI / m));
		}
	for (int i = 0; i < n; i++)
		for (int j = 0; j < m; j++)
			quad(v[i][j], v[(i + 1) % n][j], v[(i + 1) % n][(j + 1) % m], v[i][(j + 1) % m]);
}

static void
torus(void)
{
	torus_of(12, 7);
}

/* Returns the volume enclosed by a consistently oriented surface. */
__attribute__((unused)) static double
closed_volume(void)
{
	double sum = 0;

	for (uint32_t t = 0; t < it.ntriangles; t++)
	{
		const double *a = it.points[it.triangles[t][0]], *b = it.points[it.triangles[t][1]],
					 *c = it.points[it.triangles[t][2]];

		sum += a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
			   a[2] * (b[0] * c[1] - b[1] * c[0]);
	}
	return fabs(sum) / 6;
}

static double angle;

/* Builds a wedge with quadrilateral sides, so that there are several facets to recover. */
static void
wedge(void)
{
	double c = cos(angle), s = sin(angle);
	uint32_t p[3] = {at(0, 0, 0), at(10, 0, 0), at(10 * c, 10 * s, 0)};
	uint32_t q[3] = {at(0, 0, 7), at(10, 0, 7), at(10 * c, 10 * s, 7)};

	facet(p[0], p[2], p[1]);
	facet(q[0], q[1], q[2]);
	for (int i = 0; i < 3; i++)
		quad(p[i], p[(i + 1) % 3], q[(i + 1) % 3], q[i]);
}

/* Builds several facets that share a line at small angles. */
static void
fan(void)
{
	for (int i = 0; i < 9; i++)
		quad(at(0, 0, 0), at(0, 0, 3), at(5 * cos(i * angle), 5 * sin(i * angle), 3 + i),
			 at(5 * cos(i * angle), 5 * sin(i * angle), i));
}

/* Builds prisms of n sides, alternately flat as coins and thin as needles. */
static void
needles(void)
{
	for (int k = 0; k < 6; k++)
	{
		int n = 3 + 2 * k;
		double r = k % 2 ? .001 : 3, h = k % 2 ? 40 : .002;
		uint32_t low[16], high[16];

		for (int i = 0; i < n; i++)
		{
			double x = r * cos(i * 2 * M_PI / n), y = r * sin(i * 2 * M_PI / n);

			low[i] = at(10 * k + x, y, 0);
			high[n - 1 - i] = at(10 * k + x, y, h);
		}
		polygon(n, low);
		polygon(n, high);
		for (int i = 0; i < n; i++)
			quad(low[i], high[n - 1 - i], high[n - 1 - (i + 1) % n], low[(i + 1) % n]);
	}
}

static void
schoenhardt(void)
{
	uint32_t low[3], high[3];

	for (int i = 0; i < 3; i++)
	{
		low[i] = at(cos(i * 2 * M_PI / 3), sin(i * 2 * M_PI / 3), 0);
		high[i] = at(cos(i * 2 * M_PI / 3 + angle), sin(i * 2 * M_PI / 3 + angle), 1);
	}
	facet(low[0], low[2], low[1]);
	facet(high[0], high[1], high[2]);
	for (int i = 0; i < 3; i++)
	{
		facet(low[i], low[(i + 1) % 3], high[(i + 1) % 3]);
		facet(low[i], high[(i + 1) % 3], high[i]);
	}
}

/* Builds facets above and below a saddle z = xy, which nearly touch at each crossing. */
static void
chazelle(void)
{
	const int n = 6;

	box(-1, -1, -10, n + 2, n + 2, n * n + 20);
	for (int i = 0; i <= n; i++)
	{
		quad(at(i, 0, .01), at(i, n, i * n + .01), at(i, n, n * n + 5), at(i, 0, n * n + 5));
		quad(at(0, i, -.01), at(n, i, i * n - .01), at(n, i, -5), at(0, i, -5));
	}
}

/* Adds lattice points in a box, including its vertices, so that all points are cospherical. */
static void
lattice_in_box(void)
{
	const int n = 6;

	box(0, 0, 0, n, n, n);
	for (int i = 1; i < n; i++)
		for (int j = 1; j < n; j++)
			for (int k = 1; k < n; k++)
				(void) at(i, j, k);
}

static void
lattice_points(int n)
{
	for (int i = 0; i <= n; i++)
		for (int j = 0; j <= n; j++)
			for (int k = 0; k <= n; k++)
				(void) at(i, j, k);
}

/* Builds lattice points and unit squares between them, some of which are split into triangles. */
static void
squares_in_lattice(void)
{
	const int n = 5;

	check_state = 11;
	lattice_points(n);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			for (int k = 0; k < n; k++)
			{
				uint32_t v[8];

				box_corners(v, i, j, k, 1, 1, 1);
				for (int s = 0; s < 6; s += 2) /* Each side belongs to one cell */
					if (check_below(4) == 0)
					{
						const uint8_t *c = box_sides[s == 4 ? 5 : s];
						int turn = check_below(2);

						quad(v[c[turn]], v[c[turn + 1]], v[c[(turn + 2) % 4]],
							 v[c[(turn + 3) % 4]]);
					}
			}
}

/* Builds only slanted squares, which share no plane with the lattice. */
static void
slanted_in_lattice(void)
{
	const int n = 5;

	check_state = 12;
	lattice_points(n);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			for (int k = 0; k < n; k++)
			{
				uint32_t v[8];

				box_corners(v, i, j, k, 1, 1, 1);
				switch ((i + j + k) % 2 ? 9 : check_below(4))
				{
					case 0:
						quad(v[0], v[2], v[6], v[4]);
						break;
					case 1:
						quad(v[3], v[2], v[5], v[4]);
						break;
					case 2:
						facet(v[0], v[2], v[5]);
						break;
					default:
						break;
				}
			}
}

/* Builds a floor of many coplanar quads, with points above and below it. */
static void
floor_of_quads(void)
{
	const int n = 9;

	check_state = 13;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			quad(at(i, j, 0), at(i + 1, j, 0), at(i + 1, j + 1, 0), at(i, j + 1, 0));
	for (int i = 0; i < 300; i++)
		(void) at(n * points_unit(), n * points_unit(), points_unit());
}

/* Builds one large facet of two triangles among points, some of which are very near to it. */
static void
facet_in_cloud(void)
{
	check_state = 14;
	quad(at(-1, -1, .25), at(1, -1, .25), at(1, 1, .25), at(-1, 1, .25));
	for (int i = 0; i < 800; i++)
		(void) at(points_unit(), points_unit(), points_unit());
}

/* Builds rectangles of any orientation that do not meet. */
static void
rectangles(void)
{
	double centre[150][4];
	int n = 0;

	for (int tries = 0; tries < 2000 && n < 150; tries++)
	{
		double c[3], u[3], v[3], w[3], r = .05 + .4 * fabs(points_unit()), x, y, length = 0;
		bool free = true;
		uint32_t p[4];

		for (int k = 0; k < 3; k++)
			c[k] = 2 * points_unit();
		for (int i = 0; i < n && free; i++)
			free = hypot(hypot(c[0] - centre[i][0], c[1] - centre[i][1]), c[2] - centre[i][2]) >
				   r + centre[i][3];
		if (!free)
			continue;
		memcpy(centre[n], c, sizeof c);
		centre[n++][3] = r;
		for (int k = 0; k < 3; k++)
			u[k] = points_unit(), w[k] = points_unit();
		v[0] = u[1] * w[2] - u[2] * w[1];
		v[1] = u[2] * w[0] - u[0] * w[2];
		v[2] = u[0] * w[1] - u[1] * w[0];
		for (int k = 0; k < 3; k++)
			length += u[k] * u[k];
		x = .7 * r / sqrt(length);
		length = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
		y = .7 * r / sqrt(length);
		for (int i = 0; i < 4; i++)
		{
			double s = i == 1 || i == 2 ? x : -x, t = i >= 2 ? y : -y;

			p[i] = at(c[0] + s * u[0] + t * v[0], c[1] + s * u[1] + t * v[1],
					  c[2] + s * u[2] + t * v[2]);
		}
		quad(p[0], p[1], p[2], p[3]);
	}
}

static void
random_rectangles(void)
{
	check_state = 15;
	rectangles();
}

/* Builds layers between surfaces that coincide in places, where only one surface is kept. */
static void
layers(void)
{
	enum
	{
		N = 9,
		LAYERS = 4
	};
	uint32_t v[LAYERS][N + 1][N + 1];

	check_state = 16;
	for (int i = 0; i <= N; i++)
		for (int j = 0; j <= N; j++)
		{
			double z = .3 * sin(i * .7) + .2 * cos(j * .9);

			for (int l = 0; l < LAYERS; l++)
			{
				if (l > 0 && check_below(3) > 0)
					z += .02 + .5 * fabs(points_unit());
				v[l][i][j] = at(i, j, z);
			}
		}
	for (int l = 0; l < LAYERS; l++)
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++)
				for (int h = 0; h < 2; h++)
				{
					uint32_t t[3] = {v[l][i][j], v[l][i + 1][j + h], v[l][i + 1 - h][j + 1]};
					bool there = false;

					for (int m = 0; m < l; m++)
						there = there || (v[m][i][j] == t[0] && v[m][i + 1][j + h] == t[1] &&
										  v[m][i + 1 - h][j + 1] == t[2]);
					if (!there)
						facet(t[0], t[1], t[2]);
				}
}

/*
 * Builds facets and segments that hang from others into the interior, and some that are isolated.
 */
static void
hanging(void)
{
	uint32_t v[8];

	box(0, 0, 0, 4, 4, 4);
	box_corners(v, 0, 0, 0, 4, 4, 4);
	facet(v[0], v[1], at(2, 1, 1));
	facet(v[0], v[6], at(3, 1, 2));
	facet(at(3, 1, 2), v[6], at(3, 2, 1));
	segment(v[4], at(1, 1, 3));
	segment(at(1, 1, 3), at(1.5, 1, 3));
	segment(at(2, 1, 1), at(2, .5, 1));
	segment(at(5, 5, 5), at(5, 7, 5));
	facet(at(1, 2.5, 1), at(1, 3, 1), at(1, 3, 2));
	quad(v[6], v[7], at(0, 9, 4), at(4, 9, 4));
	(void) at(.5, 2, 3);
	(void) at(-3, 2, 3);
}

/*
 * Builds a square with a square hole, given as triangles. It is the top or the bottom of a frame.
 */
static void
holed(double z, bool up)
{
	static const double to[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};

	it.nfacets++;
	for (int i = 0; i < 4; i++)
	{
		const double *p = to[i], *q = to[(i + 1) % 4];
		uint32_t a = at(3 * p[0], 3 * p[1], z), b = at(3 * q[0], 3 * q[1], z),
				 c = at(q[0], q[1], z), d = at(p[0], p[1], z);

		part(a, up ? b : c, up ? c : b);
		part(a, up ? c : d, up ? d : c);
	}
}

static void
frame(void)
{
	static const double to[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};

	holed(0, false);
	holed(1, true);
	for (int i = 0; i < 4; i++)
		for (int s = 1; s <= 3; s += 2)
		{
			const double *p = to[i], *q = to[(i + 1) % 4];
			uint32_t a = at(s * p[0], s * p[1], 0), b = at(s * q[0], s * q[1], 0),
					 c = at(s * q[0], s * q[1], 1), d = at(s * p[0], s * p[1], 1);

			if (s == 1)
				quad(a, d, c, b);
			else
				quad(a, b, c, d);
		}
}

/*
 * Builds a cube whose lower edges are divided into several segments, and with a vertex inside a
 * facet.
 */
static void
edges_with_points(void)
{
	const int n = 5;
	uint32_t v[8], ring[4 * 5];

	box_corners(v, 0, 0, 0, 1, 1, 1);
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < n; k++)
		{
			const double *p = it.points[v[i]], *q = it.points[v[(i + 1) % 4]];

			ring[n * i + k] = at(p[0] + (q[0] - p[0]) * k / n, p[1] + (q[1] - p[1]) * k / n, 0);
		}
	it.nfacets++;
	for (int i = 0; i < 4 * n; i++)
		part(at(.5, .375, 0), ring[(i + 1) % (4 * n)], ring[i]);
	quad(v[4], v[5], v[6], v[7]);
	for (int i = 0; i < 4; i++)
	{
		it.nfacets++;
		part(v[i + 4], ring[(n * i + n) % (4 * n)], v[(i + 1) % 4 + 4]);
		for (int k = 0; k < n; k++)
			part(v[i + 4], ring[n * i + k], ring[(n * i + k + 1) % (4 * n)]);
	}
}

static double bend;

/* Builds quads whose fourth vertex lies slightly off their plane, with points nearby. */
static void
bent(void)
{
	const int n = 5;

	check_state = 17;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
		{
			double z[4];

			for (int k = 0; k < 4; k++)
				z[k] = ((i + (k == 1 || k == 2)) * 7 + (j + (k >= 2)) * 3) % 5 * bend;
			quad(at(i, j, z[0]), at(i + 1, j, z[1]), at(i + 1, j + 1, z[2]), at(i, j + 1, z[3]));
		}
	for (int i = 0; i < 100; i++)
		(void) at(n * points_unit(), n * points_unit(), points_unit() + (i % 2 ? 1.1 : -1.1));
}

/* Builds two floors at the distance `bend`. */
static void
sheets(void)
{
	const int n = 4;

	for (int s = 0; s < 2; s++)
		for (int i = 0; i < n; i++)
			for (int j = 0; j < n; j++)
				quad(at(i + .3 * s, j + .2 * s, s * bend), at(i + 1 + .3 * s, j + .2 * s, s * bend),
					 at(i + 1 + .3 * s, j + 1 + .2 * s, s * bend),
					 at(i + .3 * s, j + 1 + .2 * s, s * bend));
}

static void
segments_only(void)
{
	check_state = 18;
	for (int i = 0; i < 60; i++)
	{
		double p[3] = {points_unit(), points_unit(), points_unit()};

		segment(at(p[0], p[1], p[2]),
				at(p[0] + points_unit(), p[1] + points_unit(), p[2] + points_unit()));
	}
	for (int i = 0; i < 20; i++)
		segment(at(5, 5, 5), at(5 + points_unit(), 5 + points_unit(), 5 + points_unit()));
}

static void
points_only(void)
{
	check_state = 19;
	for (int i = 0; i < 200; i++)
		(void) at(check_below(6), check_below(6), points_unit());
}

#endif /* PLC_MODELS_H */
