/*
 * check.c
 *	  Tests the mesh checker with valid meshes, and with one fault at a time.
 *
 * The mesh is a grid of cubes, each of which consists of six tetrahedra around its diagonal (Kuhn's
 * subdivision). It is Delaunay, because all vertices of a cube lie on one sphere. Its PLC is two
 * boxes that share a wall, with a segment in the first one.
 */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "check.h"
#include "core/base/redblue.h"
#include "mesh/check/check.h"

#define MORE 16 /* Rows that a test may add */

typedef struct model
{
	rb_plc plc;
	double plc_points[40][3];
	uint32_t triangles[60][3];
	uint32_t facet_of[60];
	uint32_t plc_segments[4][2];
	rb_seed seeds[2];
	rb_check_input in;
	double (*points)[3];
	uint8_t *kind;
	uint32_t *parent;
	uint32_t (*tets)[4];
	int64_t *region;
	uint32_t (*faces)[3];
	uint32_t *face_facet;
	uint32_t (*edges)[2];
	uint32_t *edge_segment;
	uint32_t segments[60][2];
	/* Grid dimensions */
	uint32_t n[3];
	uint32_t *number; /* Point at each position of the grid */
} model;

static rb_context context;
static rb_check_report report;

static void
allocate(model *m, uint32_t npoints, uint32_t ntets, uint32_t nfaces, uint32_t nedges)
{
	m->points = malloc((npoints + MORE) * sizeof(*m->points));
	m->kind = malloc(npoints + MORE);
	m->parent = malloc((npoints + MORE) * sizeof(uint32_t));
	m->tets = malloc((ntets + MORE) * sizeof(*m->tets));
	m->region = malloc((ntets + MORE) * sizeof(int64_t));
	m->faces = malloc((nfaces + MORE) * sizeof(*m->faces));
	m->face_facet = malloc((nfaces + MORE) * sizeof(uint32_t));
	m->edges = malloc((nedges + MORE) * sizeof(*m->edges));
	m->edge_segment = malloc((nedges + MORE) * sizeof(uint32_t));
}

/* Sets the pointers of the input after any change of the model. */
static bool
wire(model *m)
{
	m->plc.points = &m->plc_points[0][0];
	m->plc.triangles = (const uint32_t(*)[3]) m->triangles;
	m->plc.facet_of = m->facet_of;
	m->plc.segments = (const uint32_t(*)[2]) m->plc_segments;
	m->plc.seeds = m->seeds;
	m->in.points = &m->points[0][0];
	m->in.kind = m->kind;
	m->in.parent = m->parent;
	m->in.tets = (const uint32_t(*)[4]) m->tets;
	m->in.region = m->region;
	m->in.faces = (const uint32_t(*)[3]) m->faces;
	m->in.face_facet = m->face_facet;
	m->in.edges = (const uint32_t(*)[2]) m->edges;
	m->in.edge_segment = m->edge_segment;
	m->in.segments = (const uint32_t(*)[2]) m->segments;
	m->in.plc = &m->plc;
	m->in.most = 20;
	return true;
}

static void
drop(model *m)
{
	free(m->points);
	free(m->kind);
	free(m->parent);
	free(m->tets);
	free(m->region);
	free(m->faces);
	free(m->face_facet);
	free(m->edges);
	free(m->edge_segment);
	free(m->number);
}

static uint32_t
place(const model *m, uint32_t x, uint32_t y, uint32_t z)
{
	return x + (m->n[0] + 1) * (y + (m->n[1] + 1) * z);
}

static uint32_t
at(const model *m, uint32_t x, uint32_t y, uint32_t z)
{
	return m->number[place(m, x, y, z)];
}

static void
add_segment(model *m, uint32_t a, uint32_t b)
{
	for (uint32_t s = 0; s < m->in.nsegments; s++)
		if ((m->segments[s][0] == a && m->segments[s][1] == b) ||
			(m->segments[s][0] == b && m->segments[s][1] == a))
			return;
	m->segments[m->in.nsegments][0] = a;
	m->segments[m->in.nsegments++][1] = b;
}

/* Adds a rectangle abcd to the PLC. */
static void
add_facet(model *m, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	const uint32_t v[6] = {a, b, c, a, c, d};

	memcpy(m->triangles[m->plc.ntriangles], v, sizeof(v));
	m->facet_of[m->plc.ntriangles++] = m->plc.nfacets;
	m->facet_of[m->plc.ntriangles++] = m->plc.nfacets++;
	add_segment(m, a, b);
	add_segment(m, b, c);
	add_segment(m, c, d);
	add_segment(m, d, a);
}

static uint32_t
add_corner(model *m, double x, double y, double z)
{
	double *p = m->plc_points[m->plc.npoints];

	p[0] = x;
	p[1] = y;
	p[2] = z;
	return m->plc.npoints++;
}

/* Returns true if p is in the box of a and b. */
static bool
between(const double *p, const double *a, const double *b)
{
	for (int i = 0; i < 3; i++)
		if (p[i] < fmin(a[i], b[i]) || p[i] > fmax(a[i], b[i]))
			return false;
	return true;
}

static uint32_t
facet_at(const model *m, const double *p)
{
	for (uint32_t f = 0; f < m->plc.nfacets; f++)
		if (between(p, m->plc_points[m->triangles[2 * f][0]],
					m->plc_points[m->triangles[2 * f][2]]))
			return f;
	return RB_NONE;
}

static uint32_t
segment_at(const model *m, const double *p)
{
	for (uint32_t s = 0; s < m->in.nsegments; s++)
		if (between(p, m->plc_points[m->segments[s][0]], m->plc_points[m->segments[s][1]]))
			return s;
	return RB_NONE;
}

/* Adds the points, tetrahedra, faces and edges of a grid that contains the existing PLC. */
static void
fill_grid(model *m, uint32_t nx, uint32_t ny, uint32_t nz)
{
	static const uint8_t orders[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1},
										 {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
	uint32_t npoints = (nx + 1) * (ny + 1) * (nz + 1), ncubes = nx * ny * nz;
	uint32_t next = m->plc.npoints;

	m->n[0] = nx;
	m->n[1] = ny;
	m->n[2] = nz;
	m->number = malloc(npoints * sizeof(uint32_t));
	allocate(m, npoints, 6 * ncubes, 24 * ncubes, 36 * ncubes);
	memset(m->number, 0xff, npoints * sizeof(uint32_t));
	for (uint32_t i = 0; i < m->plc.npoints; i++)
	{
		const double *p = m->plc_points[i];

		memcpy(m->points[i], p, sizeof(m->points[i]));
		m->kind[i] = RB_VERTEX_INPUT;
		m->parent[i] = RB_NONE;
		m->number[place(m, (uint32_t) p[0], (uint32_t) p[1], (uint32_t) p[2])] = i;
	}
	for (uint32_t z = 0; z <= nz; z++)
		for (uint32_t y = 0; y <= ny; y++)
			for (uint32_t x = 0; x <= nx; x++)
			{
				double p[3] = {x, y, z};
				uint32_t s = segment_at(m, p), f = facet_at(m, p);

				if (at(m, x, y, z) != RB_NONE)
					continue;
				memcpy(m->points[next], p, sizeof(p));
				m->kind[next] = s != RB_NONE   ? RB_VERTEX_ON_SEGMENT
								: f != RB_NONE ? RB_VERTEX_ON_FACET
											   : RB_VERTEX_INSIDE;
				m->parent[next] = s != RB_NONE ? s : f;
				m->number[place(m, x, y, z)] = next++;
			}
	m->in.npoints = next;
	for (uint32_t c = 0; c < 6 * ncubes; c++)
	{
		uint32_t w[3] = {c / 6 % nx, c / 6 / nx % ny, c / 6 / nx / ny};
		uint32_t *v = m->tets[m->in.ntets], x;

		m->region[m->in.ntets++] = w[0] < nx / 2 ? 1 : 2;
		v[0] = at(m, w[0], w[1], w[2]);
		for (int i = 0; i < 3; i++)
		{
			w[orders[c % 6][i]]++;
			v[i + 1] = at(m, w[0], w[1], w[2]);
		}
		if (c % 6 > 2)
			x = v[1], v[1] = v[2], v[2] = x;
		for (int i = 0; i < 4; i++)
		{
			double middle[3] = {0, 0, 0};
			uint32_t f, k = m->in.nfaces, *u = m->faces[k], there = 0;

			for (int j = 0, l = 0; j < 4; j++)
				if (j != i)
				{
					u[l++] = v[j];
					for (int a = 0; a < 3; a++)
						middle[a] += m->points[v[j]][a] / 3;
				}
			for (int a = 0; a < 3; a++)
				if (fabs(middle[a] - rint(middle[a])) < 1e-9)
					middle[a] = rint(middle[a]);
			f = facet_at(m, middle);
			for (int j = 0; f != RB_NONE && j < 3; j++)
				there += facet_at(m, m->points[u[j]]) != RB_NONE;
			/* A face inside a wall occurs twice; keep the first one. */
			for (uint32_t o = 0; there == 3 && o < k; o++)
				if (m->face_facet[o] == f)
				{
					int same = 0;

					for (int j = 0; j < 9; j++)
						same += u[j / 3] == m->faces[o][j % 3];
					if (same == 3)
						there = 0;
				}
			if (there == 3)
				m->face_facet[m->in.nfaces++] = f;
		}
	}
	for (uint32_t s = 0; s < m->in.nsegments; s++)
	{
		const double *a = m->plc_points[m->segments[s][0]], *b = m->plc_points[m->segments[s][1]];
		uint32_t w[3] = {(uint32_t) a[0], (uint32_t) a[1], (uint32_t) a[2]};
		int axis = a[0] != b[0] ? 0 : a[1] != b[1] ? 1 : 2;

		while (w[axis] != (uint32_t) b[axis])
		{
			m->edges[m->in.nedges][0] = at(m, w[0], w[1], w[2]);
			w[axis] += a[axis] < b[axis] ? 1u : UINT32_MAX;
			m->edges[m->in.nedges][1] = at(m, w[0], w[1], w[2]);
			m->edge_segment[m->in.nedges++] = s;
		}
	}
}

#define WALL 0 /* Facet number of the wall */

/* Builds two adjacent boxes, with a segment in the first one if there is room. */
static model
two_boxes(uint32_t nx, uint32_t ny, uint32_t nz)
{
	model m = {.plc.npoints = 0};
	uint32_t v[3][4];

	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t j = 0; j < 4; j++)
			v[i][j] = add_corner(&m, i * nx / 2, j == 1 || j == 2 ? ny : 0, j > 1 ? nz : 0);
	if (nx >= 8)
	{
		uint32_t a = add_corner(&m, 1, 1, 1), b = add_corner(&m, 3, 1, 1);

		m.plc_segments[m.plc.nsegments][0] = a;
		m.plc_segments[m.plc.nsegments++][1] = b;
		add_segment(&m, a, b);
	}
	add_facet(&m, v[1][0], v[1][1], v[1][2], v[1][3]);
	add_facet(&m, v[0][0], v[0][1], v[0][2], v[0][3]);
	add_facet(&m, v[2][0], v[2][1], v[2][2], v[2][3]);
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t j = 0; j < 4; j++)
			add_facet(&m, v[i][j], v[i][(j + 1) % 4], v[i + 1][(j + 1) % 4], v[i + 1][j]);
	fill_grid(&m, nx, ny, nz);
	return m;
}

static void
add_box(model *m, double from, double to)
{
	uint32_t v[8];

	for (int i = 0; i < 8; i++)
		v[i] = add_corner(m, i & 1 ? to : from, i & 2 ? to : from, i & 4 ? to : from);
	add_facet(m, v[0], v[2], v[3], v[1]);
	add_facet(m, v[4], v[5], v[7], v[6]);
	add_facet(m, v[0], v[1], v[5], v[4]);
	add_facet(m, v[2], v[6], v[7], v[3]);
	add_facet(m, v[0], v[4], v[6], v[2]);
	add_facet(m, v[1], v[3], v[7], v[5]);
}

/* Runs the checker, and leaves its result in `report`. */
static void
judge(model *m)
{
	rb_status status;

	rb_check_report_free(context.memory, &report);
	status = rb_check_mesh(&context, &m->in, &report);
	CHECK(status == RB_OK, "%s", rb_status_text(status));
}

static void
tell(const char *name)
{
	for (uint32_t i = 0; i < report.nlist && i < 12; i++)
		printf("#   %s: %s: %u %u %u %g\n", name, rb_fault_text(report.list[i].kind),
			   report.list[i].a, report.list[i].b, report.list[i].c, report.list[i].amount);
}

static void
good(model *m, const char *name)
{
	judge(m);
	CHECK(report.faults == 0, "%s has %d faults", name, (int) report.faults);
	CHECK(report.manifold && 2 * report.euler == report.euler_boundary, "%s: %d %d", name,
		  (int) report.euler, (int) report.euler_boundary);
	tell(name);
}

/*
 * Checks that there are faults of the first kind, and none except those of the kinds listed up to
 * RB_FAULT_KINDS.
 */
static void
expect(model *m, const char *name, ...)
{
	bool may[RB_FAULT_KINDS] = {false};
	rb_fault_kind first = RB_FAULT_KINDS;
	uint64_t sum = 0;
	va_list list;
	int before = (int) check_failures;

	va_start(list, name);
	for (;;)
	{
		int kind = va_arg(list, int);

		if (kind == RB_FAULT_KINDS)
			break;
		may[kind] = true;
		if (first == RB_FAULT_KINDS)
			first = (rb_fault_kind) kind;
	}
	va_end(list);
	judge(m);
	CHECK(report.count[first] > 0, "%s: not found", name);
	for (int i = 0; i < RB_FAULT_KINDS; i++)
	{
		CHECK(may[i] || report.count[i] == 0, "%s: %s", name, rb_fault_text((rb_fault_kind) i));
		sum += report.count[i];
	}
	CHECK(sum == report.faults, "%s", name);
	for (uint32_t i = 1; i < report.nlist; i++)
		CHECK(report.list[i].kind >= report.list[i - 1].kind, "%s", name);
	if (check_failures != before)
		tell(name);
	drop(m);
}

#define EXPECT(m, ...) expect(&(m), __VA_ARGS__, RB_FAULT_KINDS)

/* Returns a new mesh. */
static model
fresh(void)
{
	model m = two_boxes(8, 4, 4);

	return m;
}

/* Expands to a declaration, so that others can follow */
#define FRESH()        \
	model m = fresh(); \
	bool wired __attribute__((unused)) = wire(&m)

static uint32_t
face_of(const model *m, uint32_t facet)
{
	uint32_t f = 0;

	while (m->face_facet[f] != facet)
		f++;
	return f;
}

/* Returns a tetrahedron all of whose vertices are interior points. */
static uint32_t
inner_tet(const model *m)
{
	for (uint32_t t = 0;; t++)
	{
		int n = 0;

		for (int i = 0; i < 4; i++)
			n += m->kind[m->tets[t][i]] == RB_VERTEX_INSIDE;
		if (n == 4)
			return t;
	}
}

static void
add_point(model *m, double x, double y, double z)
{
	uint32_t i = m->in.npoints++;

	m->points[i][0] = x;
	m->points[i][1] = y;
	m->points[i][2] = z;
	m->kind[i] = RB_VERTEX_INSIDE;
	m->parent[i] = RB_NONE;
}

static void
add_tet(model *m, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	uint32_t v[4] = {a, b, c, d};

	m->region[m->in.ntets] = 1;
	memcpy(m->tets[m->in.ntets++], v, sizeof(v));
}

static void
remove_edge(model *m, uint32_t e)
{
	m->in.nedges--;
	memmove(m->edges[e], m->edges[e + 1], (m->in.nedges - e) * sizeof(*m->edges));
	memmove(m->edge_segment + e, m->edge_segment + e + 1, (m->in.nedges - e) * sizeof(uint32_t));
}

static void
remove_face(model *m, uint32_t f)
{
	m->in.nfaces--;
	memmove(m->faces[f], m->faces[f + 1], (m->in.nfaces - f) * sizeof(*m->faces));
	memmove(m->face_facet + f, m->face_facet + f + 1, (m->in.nfaces - f) * sizeof(uint32_t));
}

/* ---- valid meshes ---- */

static void
right_meshes(void)
{
	static const uint32_t sizes[][3] = {{2, 1, 1}, {4, 2, 3}, {8, 4, 4}, {10, 7, 5}};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		model m = two_boxes(sizes[i][0], sizes[i][1], sizes[i][2]);

		wire(&m);
		good(&m, "boxes");
		CHECK(report.volume == (double) sizes[i][0] * sizes[i][1] * sizes[i][2], "%g",
			  report.volume);
		CHECK(report.euler == 1, "%d", (int) report.euler);
		CHECK(report.unused_inputs + report.outside_edges + report.outside_faces == 0, "!");
		m.in.keep = RB_KEEP_HULL;
		good(&m, "boxes to the hull");
		m.in.plc = NULL;
		m.in.nfacets = m.plc.nfacets;
		good(&m, "boxes for themselves");
		m.in.segments = NULL;
		good(&m, "boxes without segments");
		drop(&m);
	}
}

static void
any_order(void)
{
	FRESH();

	for (uint32_t i = m.in.ntets; i-- > 1;)
	{
		uint32_t j = (uint32_t) check_below((int) i + 1), x[4];
		int64_t r = m.region[i];

		memcpy(x, m.tets[i], sizeof(x));
		memcpy(m.tets[i], m.tets[j], sizeof(x));
		memcpy(m.tets[j], x, sizeof(x));
		m.region[i] = m.region[j];
		m.region[j] = r;
		x[0] = m.tets[i][0];
		m.tets[i][0] = m.tets[i][1];
		m.tets[i][1] = m.tets[i][2];
		m.tets[i][2] = x[0];
	}
	for (uint32_t i = m.in.nfaces; i-- > 1;)
	{
		uint32_t j = (uint32_t) check_below((int) i + 1), x[3], f = m.face_facet[i];

		memcpy(x, m.faces[i], sizeof(x));
		memcpy(m.faces[i], m.faces[j], sizeof(x));
		memcpy(m.faces[j], x, sizeof(x));
		m.face_facet[i] = m.face_facet[j];
		m.face_facet[j] = f;
	}
	for (uint32_t i = 0; i < m.in.nedges; i += 2)
	{
		uint32_t x = m.edges[i][0];

		m.edges[i][0] = m.edges[i][1];
		m.edges[i][1] = x;
	}
	good(&m, "any order");
	drop(&m);
}

/*
 * Tests rotated, moved and rounded meshes, whose points no longer lie exactly on their segments and
 * facets.
 */
static void
rounded(void)
{
	static const double sizes[] = {1e-290, 1e-6, 1e-3, 1, 1e3, 1e300};
	static const double turn[3][3] = {
		{2. / 3, -1. / 3, 2. / 3}, {2. / 3, 2. / 3, -1. / 3}, {-1. / 3, 2. / 3, 2. / 3}};

	for (int i = 0; i < 12; i++)
	{
		double size = sizes[i % 6];
		double offset[3] = {0, 0, 0};
		FRESH();

		/* Millimeters in national grid coordinates */
		if (i >= 6 && size >= 1e-3 && size < 1e100)
		{
			offset[0] = 432100.001;
			offset[1] = 5678900.123;
			offset[2] = 98.7;
		}
		for (uint32_t p = 0; p < m.in.npoints; p++)
		{
			double q[3];

			memcpy(q, m.points[p], sizeof(q));
			for (int j = 0; j < 3; j++)
				m.points[p][j] =
					offset[j] + size * (turn[j][0] * q[0] + turn[j][1] * q[1] + turn[j][2] * q[2]);
			if (p < m.plc.npoints)
				memcpy(m.plc_points[p], m.points[p], sizeof(q));
		}
		judge(&m);
		/* The vertices of a cube no longer lie on one sphere. */
		CHECK(report.faults == report.count[RB_FAULT_NOT_DELAUNAY], "%g at %g: %d faults", size,
			  offset[1], (int) report.faults);
		if (report.faults > report.count[RB_FAULT_NOT_DELAUNAY])
			tell("rounded");
		if (size == 1e300)
			CHECK(report.volume == HUGE_VAL, "%g", report.volume);
		else
			CHECK(fabs(report.volume - 128 * size * size * size) <= 1e-5 * 128 * size * size * size,
				  "%g", report.volume);
		drop(&m);
	}
}

/* Tests that a segment and a facet outside the mesh are not reported as missing. */
static void
outside(void)
{
	model wide = {.plc.npoints = 0};
	uint32_t a;

	add_box(&wide, 0, 3);
	a = add_corner(&wide, 4, 4, 4);
	add_corner(&wide, 5, 4, 4);
	add_corner(&wide, 5, 5, 4);
	add_corner(&wide, 4, 5, 4);
	wide.plc_segments[0][0] = 7;
	wide.plc_segments[0][1] = a;
	/* The given segments come first. */
	memmove(wide.segments[1], wide.segments[0], wide.in.nsegments * sizeof(wide.segments[0]));
	wide.in.nsegments++;
	wide.plc.nsegments = 1;
	wide.segments[0][0] = 7;
	wide.segments[0][1] = a;
	wide.plc.npoints = 8;
	{
		/* The grid does not include what is outside. */
		uint32_t keep[2] = {wide.segments[0][0], wide.segments[0][1]};

		wide.segments[0][0] = wide.segments[0][1] = 0;
		fill_grid(&wide, 3, 3, 3);
		memcpy(wide.segments[0], keep, sizeof(keep));
	}
	/* Increase all numbers from 8 on by four. */
	for (uint32_t i = wide.in.npoints; i-- > 8;)
	{
		memcpy(wide.points[i + 4], wide.points[i], sizeof(wide.points[i]));
		wide.kind[i + 4] = wide.kind[i];
		wide.parent[i + 4] = wide.parent[i];
	}
	for (uint32_t i = 8; i < 12; i++)
	{
		memcpy(wide.points[i], wide.plc_points[i], sizeof(wide.points[i]));
		wide.kind[i] = RB_VERTEX_INPUT;
		wide.parent[i] = RB_NONE;
	}
	wide.in.npoints += 4;
	for (uint32_t i = 0; i < 4 * wide.in.ntets; i++)
		wide.tets[i / 4][i % 4] += wide.tets[i / 4][i % 4] >= 8 ? 4 : 0;
	for (uint32_t i = 0; i < 3 * wide.in.nfaces; i++)
		wide.faces[i / 3][i % 3] += wide.faces[i / 3][i % 3] >= 8 ? 4 : 0;
	for (uint32_t i = 0; i < 2 * wide.in.nedges; i++)
		wide.edges[i / 2][i % 2] += wide.edges[i / 2][i % 2] >= 8 ? 4 : 0;
	wide.plc.npoints = 12;
	add_facet(&wide, 8, 9, 10, 11);
	wire(&wide);
	for (uint32_t i = 0; i < wide.in.ntets; i++)
		wide.region[i] = 1;
	good(&wide, "outside");
	CHECK(report.unused_inputs == 4, "%u", report.unused_inputs);
	CHECK(report.outside_facets == 1, "%u", report.outside_facets);
	/* Faces and edges that are listed there count as outside, too. */
	wide.edges[wide.in.nedges][0] = 7;
	wide.edges[wide.in.nedges][1] = 8;
	wide.edge_segment[wide.in.nedges++] = 0;
	for (uint32_t i = 0; i < 4; i++)
	{
		wide.edges[wide.in.nedges][0] = 8 + i;
		wide.edges[wide.in.nedges][1] = 8 + (i + 1) % 4;
		wide.edge_segment[wide.in.nedges++] = wide.in.nsegments - 4 + i;
	}
	memcpy(wide.faces[wide.in.nfaces], wide.triangles[12], 24);
	wide.face_facet[wide.in.nfaces++] = 6;
	wide.face_facet[wide.in.nfaces++] = 6;
	good(&wide, "outside, with its faces");
	CHECK(report.outside_faces == 2 && report.outside_edges == 5, "%u %u", report.outside_faces,
		  report.outside_edges);
	/* Inside the mesh it is a fault. */
	wide.plc_segments[0][1] = wide.segments[0][1] = at(&wide, 1, 1, 1) + 4;
	for (uint32_t e = 0; e < wide.in.nedges; e++)
		if (wide.edge_segment[e] == 0)
			wide.edges[e][1] = wide.segments[0][1];
	EXPECT(wide, "an edge that is missing", RB_FAULT_EDGE_NOT_IN_MESH);
}

/* ---- one fault at a time ---- */

static void
points(void)
{
	{
		FRESH();
		m.points[at(&m, 6, 2, 2)][1] = NAN;
		EXPECT(m, "nan", RB_FAULT_POINT_NOT_FINITE);
	}
	{
		FRESH();
		m.points[at(&m, 4, 2, 2)][1] = INFINITY;
		EXPECT(m, "infinite, on a facet", RB_FAULT_POINT_NOT_FINITE);
	}
	{
		FRESH();
		m.points[at(&m, 2, 1, 1)][1] = -INFINITY;
		EXPECT(m, "infinite, on a segment", RB_FAULT_POINT_NOT_FINITE);
	}
	{
		FRESH();
		m.points[0][1] = NAN;
		EXPECT(m, "nan, of the input", RB_FAULT_POINT_NOT_FINITE);
	}
	{
		FRESH();
		add_point(&m, 6, 2, 2);
		EXPECT(m, "two in one place", RB_FAULT_POINTS_EQUAL, RB_FAULT_POINT_UNUSED);
	}
	{
		FRESH();
		m.kind[at(&m, 6, 2, 2)] = 9;
		EXPECT(m, "no kind", RB_FAULT_POINT_KIND);
	}
	{
		FRESH();
		m.kind[at(&m, 6, 2, 2)] = RB_VERTEX_INPUT;
		EXPECT(m, "more input than there is", RB_FAULT_POINT_KIND);
	}
	{
		FRESH();
		m.kind[3] = RB_VERTEX_INSIDE;
		EXPECT(m, "input as added", RB_FAULT_POINT_KIND);
	}
	{
		FRESH();
		m.parent[at(&m, 2, 1, 1)] = 1000;
		EXPECT(m, "no such segment", RB_FAULT_POINT_PARENT);
	}
	{
		FRESH();
		m.parent[at(&m, 4, 2, 2)] = 11;
		EXPECT(m, "no such facet", RB_FAULT_POINT_PARENT);
	}
	{
		FRESH();
		m.parent[at(&m, 6, 2, 2)] = 0;
		EXPECT(m, "a parent inside", RB_FAULT_POINT_PARENT);
	}
	{
		FRESH();
		add_point(&m, 6.5, 2, 2);
		EXPECT(m, "unused", RB_FAULT_POINT_UNUSED);
	}
	{
		model m = two_boxes(2, 1, 1);

		wire(&m);
		m.plc.npoints++;
		EXPECT(m, "input missing", RB_FAULT_INPUT_MISSING);
	}
	{
		FRESH();
		m.plc_points[2][0] = 0x1p-1000;
		EXPECT(m, "input moved", RB_FAULT_INPUT_MOVED);
	}
	{
		FRESH();
		m.plc_points[0][0] = -0.0;
		EXPECT(m, "input of another zero", RB_FAULT_INPUT_MOVED);
	}
}

static void
tetrahedra(void)
{
	{
		FRESH();
		m.tets[inner_tet(&m)][2] = 1000000;
		EXPECT(m, "corner out of range", RB_FAULT_TET_NUMBER, RB_FAULT_BOUNDARY);
	}
	{
		FRESH();
		uint32_t *v = m.tets[inner_tet(&m)];

		v[2] = v[3];
		EXPECT(m, "corners equal", RB_FAULT_TET_CORNERS, RB_FAULT_BOUNDARY);
	}
	{
		FRESH();
		m.points[at(&m, 6, 2, 2)][0] += 1;
		EXPECT(m, "flat", RB_FAULT_TET_FLAT, RB_FAULT_POINTS_EQUAL, RB_FAULT_TET_INVERTED,
			   RB_FAULT_NOT_DELAUNAY);
	}
	{
		FRESH();
		uint32_t *v = m.tets[inner_tet(&m)], x = v[1];

		v[1] = v[2];
		v[2] = x;
		EXPECT(m, "inverted", RB_FAULT_TET_INVERTED);
	}
	{
		FRESH();
		uint32_t t = inner_tet(&m);

		add_tet(&m, m.tets[t][1], m.tets[t][2], m.tets[t][0], m.tets[t][3]);
		EXPECT(m, "twice", RB_FAULT_TET_TWICE);
	}
	{
		FRESH();
		uint32_t t = inner_tet(&m);

		add_point(&m, 2.5, 2.3, 2.2);
		add_tet(&m, m.tets[t][0], m.tets[t][1], m.tets[t][2], m.in.npoints - 1);
		EXPECT(m, "three at a face", RB_FAULT_SHARED, RB_FAULT_BOUNDARY, RB_FAULT_TET_INVERTED);
	}
	{
		FRESH();
		/* A face of the end x = 0, and an interior point */
		uint32_t f = face_of(&m, 1), p = at(&m, 3, 2, 2), *v = m.faces[f];

		if (rb_orient3d(m.points[v[0]], m.points[v[1]], m.points[v[2]], m.points[p]) > 0)
			add_tet(&m, v[0], v[1], v[2], p);
		else
			add_tet(&m, v[0], v[2], v[1], p);
		EXPECT(m, "both on one side", RB_FAULT_SAME_SIDE, RB_FAULT_BOUNDARY);
	}
	{
		FRESH();
		m.points[at(&m, 6, 2, 2)][0] += 0x1p-40;
		EXPECT(m, "not Delaunay", RB_FAULT_NOT_DELAUNAY);
	}
	{
		FRESH();
		m.region[inner_tet(&m)] = 77;
		EXPECT(m, "region", RB_FAULT_REGIONS);
	}
	{
		FRESH();
		memcpy(m.tets[inner_tet(&m)], m.tets[m.in.ntets - 1], sizeof(m.tets[0]));
		m.in.region = NULL;
		m.in.ntets--;
		EXPECT(m, "one missing inside", RB_FAULT_BOUNDARY);
	}
	{
		FRESH();
		m.in.ntets--;
		EXPECT(m, "one missing at the boundary", RB_FAULT_BOUNDARY, RB_FAULT_EDGE_NOT_IN_MESH);
	}
	for (int self = 0; self < 2; self++)
	{
		FRESH();
		m.in.ntets--;
		m.in.keep = RB_KEEP_HULL;
		if (self)
		{
			m.in.plc = NULL;
			m.in.nfacets = m.plc.nfacets;
		}
		EXPECT(m, "not convex", RB_FAULT_NOT_CONVEX);
	}
}

static void
euler(void)
{
	/* Two cubes of twelve tetrahedra around the same point */
	static const uint8_t square[6][4] = {{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4},
										 {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};
	model m = {.plc.npoints = 0};

	allocate(&m, 17, 24, 0, 0);
	add_point(&m, 0, 0, 0);
	for (int i = 0; i < 16; i++)
	{
		double s = i < 8 ? 1 : 2;

		add_point(&m, i & 1 ? s : -s, i & 2 ? s : -s, i & 4 ? s : -s);
	}
	for (uint32_t i = 0; i < 12; i++)
	{
		const uint8_t *q = square[i % 6];
		uint32_t base = i < 6 ? 1 : 9;

		add_tet(&m, 0, base + q[0], base + q[1], base + q[2]);
		add_tet(&m, 0, base + q[0], base + q[2], base + q[3]);
	}
	wire(&m);
	m.in.plc = NULL;
	m.in.keep = RB_KEEP_HULL;
	m.in.npoints = 9;
	m.in.ntets = 12;
	good(&m, "a cube around a point");
	m.in.npoints = 17;
	m.in.ntets = 24;
	EXPECT(m, "two cubes around a point", RB_FAULT_EULER);
}

static void
cavity(void)
{
	for (int hole = 0; hole < 2; hole++)
	{
		model m = {.plc.npoints = 0};
		uint32_t n = 0;

		add_box(&m, 0, 3);
		add_box(&m, 1, 2);
		fill_grid(&m, 3, 3, 3);
		wire(&m);
		for (uint32_t i = 0; i < m.in.ntets; i++)
			m.region[i] = i / 6 == 13 ? 2 : 1;
		good(&m, "a box in a box");
		for (uint32_t i = 0; i < m.in.ntets; i++)
			if (i / 6 != 13)
			{
				m.region[n] = 1;
				memcpy(m.tets[n++], m.tets[i], sizeof(m.tets[i]));
			}
		m.in.ntets = n;
		if (hole)
		{
			m.plc.nseeds = 1;
			m.seeds[0].hole = true;
			good(&m, "a box with a hole");
			CHECK(report.euler == 2 && report.volume == 26, "%d", (int) report.euler);
			m.in.keep = RB_KEEP_HULL;
			good(&m, "a hull with a hole");
			drop(&m);
		}
		else
			EXPECT(m, "cavity", RB_FAULT_CAVITY);
	}
}

static void
faces(void)
{
	{
		FRESH();
		m.faces[face_of(&m, WALL)][1] = RB_NONE;
		EXPECT(m, "corner out of range", RB_FAULT_FACE_NUMBER, RB_FAULT_REGIONS);
	}
	{
		FRESH();
		uint32_t *v = m.faces[face_of(&m, WALL)];

		v[0] = v[2];
		EXPECT(m, "corners equal", RB_FAULT_FACE_CORNERS, RB_FAULT_REGIONS);
	}
	{
		FRESH();
		m.face_facet[face_of(&m, WALL)] = 11;
		EXPECT(m, "no such facet", RB_FAULT_FACE_FACET, RB_FAULT_FACET_TILING);
	}
	{
		FRESH();
		m.face_facet[face_of(&m, WALL)] = 1;
		EXPECT(m, "another facet", RB_FAULT_FACET_CORNER, RB_FAULT_FACET_TILING,
			   RB_FAULT_FACE_FLAT);
	}
	{
		FRESH();
		uint32_t f = face_of(&m, WALL), *v = m.faces[m.in.nfaces];

		v[0] = m.faces[f][2];
		v[1] = m.faces[f][1];
		v[2] = m.faces[f][0];
		m.face_facet[m.in.nfaces++] = WALL;
		EXPECT(m, "twice", RB_FAULT_FACE_TWICE);
	}
	for (int self = 0; self < 2; self++)
	{
		FRESH();
		uint32_t a = at(&m, 4, 1, 1), b = at(&m, 4, 2, 1), c = at(&m, 4, 2, 2), d = at(&m, 4, 1, 2);
		uint32_t n = 0;

		for (uint32_t f = 0; f < m.in.nfaces; f++)
		{
			int in = 0;

			for (int i = 0; i < 3; i++)
				in += m.faces[f][i] == a || m.faces[f][i] == b || m.faces[f][i] == c ||
					  m.faces[f][i] == d;
			if (in == 3)
			{
				uint32_t v[2][3] = {{a, b, d}, {b, c, d}};

				memcpy(m.faces[f], v[n++ % 2], sizeof(v[0]));
			}
		}
		CHECK(n == 2, "%u", n);
		m.in.region = NULL;
		if (self)
		{
			m.in.plc = NULL;
			m.in.nfacets = m.plc.nfacets;
		}
		EXPECT(m, "the other diagonal", RB_FAULT_FACE_NOT_IN_MESH);
	}
}

static void
facets(void)
{
	{
		FRESH();
		while (m.face_facet[0] == WALL || face_of(&m, WALL) < m.in.nfaces)
		{
			remove_face(&m, face_of(&m, WALL));
			/* An entry of the wall beyond the list, at which the search ends */
			m.face_facet[m.in.nfaces] = WALL;
		}
		m.in.region = NULL;
		EXPECT(m, "facet missing", RB_FAULT_FACET_MISSING);
	}
	{
		FRESH();
		m.parent[at(&m, 4, 2, 2)] = 1;
		EXPECT(m, "point of another facet", RB_FAULT_FACET_CORNER, RB_FAULT_FACET_POINT);
	}
	{
		FRESH();
		m.kind[at(&m, 4, 2, 2)] = RB_VERTEX_INSIDE;
		m.parent[at(&m, 4, 2, 2)] = RB_NONE;
		EXPECT(m, "point inside", RB_FAULT_FACET_CORNER);
	}
	for (int self = 0; self < 2; self++)
	{
		FRESH();
		remove_face(&m, face_of(&m, WALL));
		m.in.region = NULL;
		if (self)
		{
			m.in.plc = NULL;
			m.in.nfacets = m.plc.nfacets;
		}
		EXPECT(m, "a gap", RB_FAULT_FACET_TILING);
	}
	{
		FRESH();
		uint32_t v[3] = {at(&m, 4, 1, 1), at(&m, 4, 2, 1), at(&m, 4, 3, 1)};

		memcpy(m.faces[m.in.nfaces], v, sizeof(v));
		m.face_facet[m.in.nfaces++] = WALL;
		EXPECT(m, "no area", RB_FAULT_FACE_FLAT, RB_FAULT_FACET_TILING, RB_FAULT_FACE_NOT_IN_MESH);
	}
	{
		FRESH();
		m.points[at(&m, 4, 2, 2)][1] += 1.25;
		EXPECT(m, "folded", RB_FAULT_FACET_FOLDED, RB_FAULT_SAME_SIDE, RB_FAULT_FACE_FLAT,
			   RB_FAULT_TET_FLAT, RB_FAULT_TET_INVERTED, RB_FAULT_NOT_DELAUNAY);
	}
	{
		FRESH();
		m.plc_points[0][1] -= 1e-6;
		EXPECT(m, "area", RB_FAULT_FACET_AREA, RB_FAULT_INPUT_MOVED, RB_FAULT_FACET_FAR,
			   RB_FAULT_VOLUME);
	}
	{
		FRESH();
		m.points[at(&m, 4, 2, 2)][0] += 1e-6;
		EXPECT(m, "off the facet", RB_FAULT_FACET_FAR, RB_FAULT_NOT_DELAUNAY, RB_FAULT_VOLUME);
	}
	{
		FRESH();
		m.points[at(&m, 4, 2, 2)][0] += 1e-10;
		EXPECT(m, "off the facet by more than rounding explains", RB_FAULT_FACET_FAR,
			   RB_FAULT_NOT_DELAUNAY, RB_FAULT_VOLUME);
	}
	{
		FRESH();
		m.kind[at(&m, 6, 2, 2)] = RB_VERTEX_ON_FACET;
		m.parent[at(&m, 6, 2, 2)] = WALL;
		EXPECT(m, "point on no face", RB_FAULT_FACET_POINT);
	}
	{
		/* The diagonal of the wall is now its boundary, and lies on no segment. */
		FRESH();
		m.plc.ntriangles--;
		EXPECT(m, "a facet of one triangle", RB_FAULT_SEGMENT_LIST, RB_FAULT_FACET_CORNER);
	}
	{
		/* The facet of the PLC has an additional closed surface. */
		static const uint32_t more[4][3] = {{0, 2, 12}, {2, 0, 13}, {0, 12, 13}, {2, 13, 12}};
		FRESH();

		for (int i = 0; i < 4; i++)
		{
			m.facet_of[m.plc.ntriangles] = m.plc.nfacets - 1;
			memcpy(m.triangles[m.plc.ntriangles++], more[i], sizeof(more[i]));
		}
		EXPECT(m, "Euler's number of a facet", RB_FAULT_FACET_EULER);
	}
}

static void
edges(void)
{
	/* Edges 0 and 1 belong to segment 0, from point 12 to 13. */
	{
		FRESH();
		m.edges[0][0] = m.in.npoints;
		EXPECT(m, "end out of range", RB_FAULT_EDGE_NUMBER);
	}
	{
		FRESH();
		m.edges[0][0] = m.edges[0][1];
		EXPECT(m, "ends equal", RB_FAULT_EDGE_CORNERS);
	}
	{
		FRESH();
		m.edge_segment[0] = m.in.nsegments;
		EXPECT(m, "no such segment", RB_FAULT_EDGE_SEGMENT, RB_FAULT_SEGMENT_PATH);
	}
	{
		FRESH();
		m.edges[m.in.nedges][0] = m.edges[0][1];
		m.edges[m.in.nedges][1] = m.edges[0][0];
		m.edge_segment[m.in.nedges++] = 0;
		EXPECT(m, "twice", RB_FAULT_EDGE_TWICE);
	}
	{
		FRESH();
		m.edges[0][1] = m.edges[1][1];
		remove_edge(&m, 1);
		EXPECT(m, "no edge", RB_FAULT_EDGE_NOT_IN_MESH, RB_FAULT_SEGMENT_LOOSE);
	}
	{
		FRESH();
		m.edge_segment[5] = m.edge_segment[40];
		EXPECT(m, "another segment", RB_FAULT_SEGMENT_PATH, RB_FAULT_FACET_TILING);
	}
	{
		FRESH();
		m.segments[0][1] = 3;
		EXPECT(m, "another list", RB_FAULT_SEGMENT_LIST);
	}
	{
		FRESH();
		m.segments[0][1] = RB_NONE;
		EXPECT(m, "list out of range", RB_FAULT_SEGMENT_LIST);
	}
	{
		FRESH();
		m.segments[0][0] = RB_NONE;
		EXPECT(m, "list out of range at its first end", RB_FAULT_SEGMENT_LIST);
	}
	{
		FRESH();
		m.in.nsegments--;
		EXPECT(m, "a shorter list", RB_FAULT_SEGMENT_LIST, RB_FAULT_EDGE_SEGMENT,
			   RB_FAULT_POINT_PARENT);
	}
	for (int self = 0; self < 2; self++)
	{
		FRESH();
		remove_edge(&m, 0);
		remove_edge(&m, 0);
		if (self)
			m.in.plc = NULL;
		m.in.nfacets = m.plc.nfacets;
		EXPECT(m, "segment missing", RB_FAULT_SEGMENT_MISSING);
	}
	{
		FRESH();
		remove_edge(&m, 1);
		EXPECT(m, "half of it missing", RB_FAULT_SEGMENT_PATH);
	}
	{
		FRESH();
		m.edges[m.in.nedges][0] = at(&m, 2, 1, 1);
		m.edges[m.in.nedges][1] = at(&m, 2, 2, 1);
		m.edge_segment[m.in.nedges++] = 0;
		EXPECT(m, "a branch", RB_FAULT_SEGMENT_PATH);
	}
	{
		FRESH();
		for (uint32_t i = 0; i < 4; i++)
		{
			m.edges[m.in.nedges + i][0] = at(&m, 6 + (i == 1 || i == 2), 1 + (i > 1), 1);
			m.edges[m.in.nedges + i][1] = at(&m, 6 + (i < 2), 1 + (i == 1 || i == 2), 1);
			m.edge_segment[m.in.nedges + i] = 0;
		}
		m.in.nedges += 4;
		EXPECT(m, "a ring besides", RB_FAULT_SEGMENT_PATH);
	}
	{
		FRESH();
		m.kind[at(&m, 2, 1, 1)] = RB_VERTEX_INSIDE;
		m.parent[at(&m, 2, 1, 1)] = RB_NONE;
		EXPECT(m, "through a point inside", RB_FAULT_SEGMENT_POINT);
	}
	{
		FRESH();
		m.parent[at(&m, 2, 1, 1)] = 1;
		EXPECT(m, "through a point of another segment", RB_FAULT_SEGMENT_POINT);
	}
	{
		FRESH();
		m.points[at(&m, 2, 1, 1)][0] += 1.5;
		EXPECT(m, "back", RB_FAULT_SEGMENT_ORDER, RB_FAULT_SAME_SIDE, RB_FAULT_TET_FLAT,
			   RB_FAULT_TET_INVERTED, RB_FAULT_NOT_DELAUNAY);
	}
	{
		FRESH();
		m.points[at(&m, 2, 1, 1)][1] += 1e-7;
		EXPECT(m, "off the segment", RB_FAULT_SEGMENT_FAR, RB_FAULT_NOT_DELAUNAY);
	}
	{
		FRESH();
		m.kind[at(&m, 6, 2, 2)] = RB_VERTEX_ON_SEGMENT;
		m.parent[at(&m, 6, 2, 2)] = 0;
		EXPECT(m, "on no edge", RB_FAULT_SEGMENT_LOOSE);
	}
}

/* ---- random data ---- */

static uint32_t
any_number(uint32_t n)
{
	switch (check_below(6))
	{
		case 0:
			return (uint32_t) check_random();
		case 1:
			return RB_NONE - (uint32_t) check_below(3);
		default:
			return (uint32_t) check_below((int) n + 2);
	}
}

static void
garbage(void)
{
	for (long round = 0; round < check_rounds(2000); round++)
	{
		model m = two_boxes(4, 2, 2);
		int changes = 1 + check_below(round % 10 == 0 ? 500 : 4);

		wire(&m);
		for (int i = 0; i < changes; i++)
		{
			uint32_t p = (uint32_t) check_below((int) m.in.npoints);
			uint32_t t = (uint32_t) check_below((int) m.in.ntets);
			uint32_t f = (uint32_t) check_below((int) m.in.nfaces);
			uint32_t e = (uint32_t) check_below((int) m.in.nedges);

			switch (check_below(10))
			{
				case 0:
					m.points[p][check_below(3)] = check_below(2) ? NAN : check_below(5);
					break;
				case 1:
					m.kind[p] = (uint8_t) check_below(6);
					break;
				case 2:
					m.parent[p] = any_number(m.in.nsegments);
					break;
				case 3:
				case 4:
					m.tets[t][check_below(4)] = any_number(m.in.npoints);
					break;
				case 5:
					m.faces[f][check_below(3)] = any_number(m.in.npoints);
					break;
				case 6:
					m.face_facet[f] = any_number(m.plc.nfacets);
					break;
				case 7:
					m.edges[e][check_below(2)] = any_number(m.in.npoints);
					break;
				case 8:
					m.edge_segment[e] = any_number(m.in.nsegments);
					break;
				default:
					m.segments[check_below((int) m.in.nsegments)][check_below(2)] =
						any_number(m.in.npoints);
			}
		}
		m.in.keep = check_below(2) ? RB_KEEP_HULL : RB_KEEP_INSIDE;
		if (check_below(4) == 0)
		{
			m.in.plc = NULL;
			m.in.nfacets = m.plc.nfacets;
		}
		m.in.most = (uint32_t) check_below(4);
		judge(&m);
		for (int i = 0; i < RB_FAULT_KINDS; i++)
		{
			uint64_t listed = 0;

			for (uint32_t j = 0; j < report.nlist; j++)
				listed += report.list[j].kind == (rb_fault_kind) i;
			CHECK(listed == (report.count[i] < m.in.most ? report.count[i] : m.in.most), "%d", i);
		}
		drop(&m);
	}
}

static void
nothing(void)
{
	model m = {.plc.npoints = 0};

	allocate(&m, 0, 0, 0, 0);
	wire(&m);
	judge(&m);
	CHECK(report.faults == 0, "%d", (int) report.faults);
	m.in.plc = NULL;
	judge(&m);
	CHECK(report.faults == 0, "%d", (int) report.faults);
	drop(&m);
}

static void
limits(void)
{
	FRESH();
	rb_memory *memory = rb_memory_create(UINT64_MAX);
	uint64_t steps = 0, limit = 0;
	rb_status status = RB_OVER_BUDGET;

	m.tets[10][0] = m.tets[10][1];
	for (; status == RB_OVER_BUDGET && steps < 100000; steps++)
	{
		rb_context ctx;
		rb_check_report r;

		rb_memory_set_limit(memory, limit);
		rb_context_init(&ctx, memory);
		status = rb_check_mesh(&ctx, &m.in, &r);
		CHECK(status == RB_OK || (status == RB_OVER_BUDGET && r.list == NULL), "%s",
			  rb_status_text(status));
		rb_check_report_free(memory, &r);
		CHECK(rb_memory_used(memory) == 0, "%d bytes", (int) rb_memory_used(memory));
		limit += 997;
	}
	CHECK(status == RB_OK && steps > 50, "%d", (int) steps);
	rb_memory_destroy(memory);
	rb_context_stop(&context);
	CHECK(rb_check_mesh(&context, &m.in, &report) == RB_STOPPED, "it goes on");
	rb_context_init(&context, context.memory);
	drop(&m);
}

int
main(void)
{
	rb_context_init(&context, rb_memory_create(UINT64_MAX));
	CHECK_RUN(right_meshes);
	CHECK_RUN(any_order);
	CHECK_RUN(rounded);
	CHECK_RUN(outside);
	CHECK_RUN(points);
	CHECK_RUN(tetrahedra);
	CHECK_RUN(euler);
	CHECK_RUN(cavity);
	CHECK_RUN(faces);
	CHECK_RUN(facets);
	CHECK_RUN(edges);
	CHECK_RUN(garbage);
	CHECK_RUN(nothing);
	CHECK_RUN(limits);
	rb_check_report_free(context.memory, &report);
	CHECK(rb_memory_used(context.memory) == 0, "%d bytes", (int) rb_memory_used(context.memory));
	rb_memory_destroy(context.memory);
	return check_done();
}
