/*
 * test_cdt.c
 *	  PLCs that are made here become constrained Delaunay tetrahedralizations, which rb_check_mesh
 *	  looks at; what is wrong with a PLC is said; a stop is heard, and memory that is not there
 *	  is done without.
 *
 * A model is a few lines that name corners by where they are.  Most are meshed several ways: as they
 * are, turned so that nothing is flat but up to rounding, and where maps have their origin.
 */
#define _GNU_SOURCE
#include "check.h"
#include "points.h"
#include "core/base/rb_base.h"
#include "mesh/rb_check.h"
#include "mesh/rb_weld.h"

#include <pthread.h>
#include <time.h>
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
	uint32_t place[PLACES]; /* point + 1 */
	uint32_t npoints, ntriangles, nfacets, nsegments, nseeds;
} it;

static void
clear(void)
{
	memset(it.place, 0, sizeof it.place);
	it.npoints = it.ntriangles = it.nfacets = it.nsegments = it.nseeds = 0;
}

/* the point there, which is new or was there already */
static uint32_t
at(double x, double y, double z)
{
	const double p[3] = {x + 0.0, y + 0.0, z + 0.0}; /* no -0 */
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

/* a triangle of the facet at hand, which is the last one */
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

/* moved points may meet: then false */
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

/* ---- what becomes of it ---- */

static rb_flaw flaw;

/* asks to stop after a while, and knows how much the other thread had worked by then */
typedef struct stopper
{
	rb_context *ctx;
	double after_ms;
	clockid_t clock; /* of the thread that is to stop */
	double worked_ms;
	int asked, leave;
	pthread_t thread;
} stopper;

static double
read_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

static void *
stop_later(void *arg)
{
	stopper *s = arg;

	while (!rb_load(&s->leave) && read_ms(s->clock) < s->after_ms)
		usleep(200);
	s->worked_ms = read_ms(s->clock);
	if (!rb_load(&s->leave))
	{
		rb_store(&s->asked, 1);
		rb_context_stop(s->ctx);
	}
	return NULL;
}

/* after so much work of this thread from now on */
static void
stop_after(stopper *s, rb_context *ctx, double ms)
{
	*s = (stopper){.ctx = ctx};
	pthread_getcpuclockid(pthread_self(), &s->clock);
	s->after_ms = read_ms(s->clock) + ms;
	pthread_create(&s->thread, NULL, stop_later, s);
}

/* how long this thread has worked on since it was asked to stop; < 0: it was not */
static double
stop_done(stopper *s)
{
	double now = read_ms(s->clock);

	rb_store(&s->leave, 1);
	pthread_join(s->thread, NULL);
	return rb_load(&s->asked) ? now - s->worked_ms : -1;
}

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

/* what the checker does not ask: neighbours, regions, order, which facet a segment is of */
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

/* of facets as small as doubles allow a face may be flat, seen along a normal that is rounded */
static bool forgive_flat;

/* the volume of what is there */
static double
check(const char *name, const rb_plc *from, rb_keep keep, const rb_tets *t)
{
	rb_check_input in = {.npoints = t->npoints,
						 .ntets = t->ntets,
						 .nfaces = t->nfaces,
						 .nedges = t->nedges,
						 .nsegments = t->nsegments,
						 .points = t->points,
						 .kind = t->kind,
						 .parent = t->parent,
						 .tets = (const uint32_t(*)[4]) t->tets,
						 .region = t->region,
						 .faces = (const uint32_t(*)[3]) t->faces,
						 .face_facet = t->face_facet,
						 .edges = (const uint32_t(*)[2]) t->edges,
						 .edge_segment = t->edge_segment,
						 .segments = (const uint32_t(*)[2]) t->segments,
						 .plc = from,
						 .keep = keep,
						 .most = 2};
	rb_check_report report;
	rb_context ctx;
	rb_status status;
	double volume;

	rb_context_init(&ctx, memory);
	status = rb_check_mesh(&ctx, &in, &report);
	CHECK(status == RB_OK, "%s: the checker says %d", name, status);
	CHECK(report.faults == (forgive_flat ? report.count[RB_FAULT_FACE_FLAT] : 0), "%s: %lu faults",
		  name, (unsigned long) report.faults);
	for (uint32_t i = 0; i < report.nlist && !forgive_flat; i++)
		printf("# %s: %s: %u %u %u, %g\n", name, rb_fault_text(report.list[i].kind),
			   report.list[i].a, report.list[i].b, report.list[i].c, report.list[i].amount);
	volume = report.volume;
	rb_check_report_free(memory, &report);
	return volume;
}

/* nothing crosses, as far as the joins see */
static bool
valid(const rb_plc *from)
{
	const rb_welded welded = {.plc = *from};
	rb_context ctx;
	rb_flaw found;

	rb_context_init(&ctx, memory);
	return rb_weld_validate(&ctx, &rb_backend_cpu, &welded, &found) == RB_OK;
}

typedef struct result
{
	rb_status status;
	uint32_t ntets, nregions, added, outside_seeds;
	double volume;
} result;

/* meshed twice, by different numbers of threads, and looked at */
static result
mesh(const char *name, rb_keep keep)
{
	const rb_plc from = plc();
	rb_tets one, two;
	result r = {0};

	r.status = make(&from, keep, 1, &one);
	if (r.status == RB_OK)
	{
		rb_status again = make(&from, keep, 3, &two);

		CHECK(again == RB_OK && same(&one, &two) &&
				  memcmp(one.points, two.points, one.npoints * sizeof(double[3])) == 0,
			  "%s: not the same twice", name);
		rb_tets_free(memory, &two);
		look(name, &from, &one);
		r.volume = check(name, &from, keep, &one);
		r.ntets = one.ntets;
		r.nregions = one.nregions;
		r.outside_seeds = one.outside_seeds;
		r.added = one.npoints - from.npoints;
		rb_tets_free(memory, &one);
	}
	CHECK(rb_memory_used(memory) == 0, "%s: %lu bytes are left", name,
		  (unsigned long) rb_memory_used(memory));
	return r;
}

static const char *
flaw_text(void)
{
	static char text[200];

	snprintf(text, sizeof text, "flaw %d of %u and %u at %.17g %.17g %.17g", flaw.kind, flaw.a,
			 flaw.b, flaw.at[0], flaw.at[1], flaw.at[2]);
	return text;
}

/* inside there is this volume, in so many regions; < 0: any */
static void
expect(const char *name, double volume, int regions)
{
	for (int keep = 0; keep < 2; keep++)
	{
		result r = mesh(name, (rb_keep) keep);

		CHECK(r.status == RB_OK, "%s: status %d, %s", name, r.status, flaw_text());
		if (r.status != RB_OK || keep != RB_KEEP_INSIDE)
			continue;
		CHECK(volume < 0 || fabs(r.volume - volume) <= 1e-12 * volume,
			  "%s: volume %.17g, not %.17g", name, r.volume, volume);
		CHECK(regions < 0 || r.nregions == (uint32_t) regions, "%s: %u regions, not %d", name,
			  r.nregions, regions);
	}
}

/* a model, made again for each way that it is moved; where rounding makes it cross itself it is left out */
static void
expect_moved(void (*model)(void), const char *name, double volume, int regions)
{
	static int turn;

	turn++;
	for (int way = 0; way < WAYS; way++)
	{
		char text[100];
		rb_plc from;

		/* where time is short, only one of the ways */
		if (way != AS_IT_IS && check_rounds(100) < 100 && way != 1 + turn % (WAYS - 1))
			continue;
		clear();
		model();
		if (!move(way))
			continue;
		from = plc();
		snprintf(text, sizeof text, "%s, %s", name, way_name[way]);
		if (way != AS_IT_IS && !valid(&from))
		{
			printf("# %s: crosses itself\n", text);
			continue;
		}
		expect(text, way == AS_IT_IS ? volume : -1, regions);
	}
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

/* a side in three of the seven ways that it could be given: by either diagonal, and a wall along each */
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

/* cells of a grid that share their sides; corners are moved by up to `shake`, then sides are triangles */
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

static double closed_volume(void);

/* of quads, which are flat but for rounding */
static void
torus(void)
{
	enum
	{
		N = 12,
		M = 7
	};
	uint32_t v[N][M];

	for (int i = 0; i < N; i++)
		for (int j = 0; j < M; j++)
		{
			double r = 3 + cos(j * 2 * M_PI / M);

			v[i][j] =
				at(r * cos(i * 2 * M_PI / N), r * sin(i * 2 * M_PI / N), sin(j * 2 * M_PI / M));
		}
	for (int i = 0; i < N; i++)
		for (int j = 0; j < M; j++)
			quad(v[i][j], v[(i + 1) % N][j], v[(i + 1) % N][(j + 1) % M], v[i][(j + 1) % M]);
}

/* of a surface whose triangles are turned alike */
static double
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

/* a wedge, whose sides are cut in several quads so that there is something to cut */
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

/* several walls that stand on one line, at small angles */
static void
fan(void)
{
	for (int i = 0; i < 9; i++)
		quad(at(0, 0, 0), at(0, 0, 3), at(5 * cos(i * angle), 5 * sin(i * angle), 3 + i),
			 at(5 * cos(i * angle), 5 * sin(i * angle), i));
}

/* prisms of n sides, thin as needles or flat as coins, turned against each other */
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

/* walls above and below a saddle z = xy, nearly touching each other at each crossing */
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

/* lattice points in a box, its corners among them: everything is cospherical */
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

/* lattice points, and unit squares between them, straight and slanted, some of triangles */
static void
squares_in_lattice(void)
{
	const int n = 5;

	check_state = 11;
	for (int i = 0; i <= n; i++)
		for (int j = 0; j <= n; j++)
			for (int k = 0; k <= n; k++)
				(void) at(i, j, k);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			for (int k = 0; k < n; k++)
			{
				uint32_t v[8];

				box_corners(v, i, j, k, 1, 1, 1);
				for (int s = 0; s < 6; s += 2) /* each side is one cell's */
					if (check_below(4) == 0)
					{
						const uint8_t *c = box_sides[s == 4 ? 5 : s];
						int turn = check_below(2);

						quad(v[c[turn]], v[c[turn + 1]], v[c[(turn + 2) % 4]],
							 v[c[(turn + 3) % 4]]);
					}
			}
}

/* slanted squares only, which share no plane with the lattice's */
static void
slanted_in_lattice(void)
{
	const int n = 5;

	check_state = 12;
	for (int i = 0; i <= n; i++)
		for (int j = 0; j <= n; j++)
			for (int k = 0; k <= n; k++)
				(void) at(i, j, k);
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

/* a floor of many quads in one plane, points above and below */
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

/* one large facet of two triangles among points; in the box's middle, too near for comfort */
static void
facet_in_cloud(void)
{
	check_state = 14;
	quad(at(-1, -1, .25), at(1, -1, .25), at(1, 1, .25), at(-1, 1, .25));
	for (int i = 0; i < 800; i++)
		(void) at(points_unit(), points_unit(), points_unit());
}

/* rectangles, none of which meet, in any direction */
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

/* layers between surfaces which coincide here and there: there is one surface then */
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

/* facets and segments that hang from others into the room, and some that nothing holds */
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

/* a square with a square hole in it, given as triangles; of a frame it is the top and the bottom */
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

/* edges of a cube, cut in several; and a corner inside a facet, which its triangles share */
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

/* quads whose fourth corner is a little off their plane, points near by */
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

/* two floors so near to each other */
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

static void
cubes(void)
{
	expect_moved(cube, "cube", 1, 1);
	expect_moved(cube_of_triangles, "cube of triangles", 1, 1);
	expect_moved(nested, "nested", 1331, 5);
	for (cells = 1; cells < 5; cells += 3)
		for (shake = 0; shake < 1; shake += .11)
		{
			expect_moved(cells_of_grid, "grid", shake == 0 ? pow(cells, 3) : -1,
						 cells * cells * cells);
			if (shake > .2)
				break;
		}
	shake = 0;
	expect_moved(edges_with_points, "edges with points", 1, 1);
	expect_moved(frame, "frame", 32, 1);
	expect_moved(hanging, "hanging", 64, 1);
}

static void
cubes_with_walls(void)
{
	for (walls = 0; walls < 64; walls++)
	{
		rb_plc from;

		clear();
		cube_with_walls();
		from = plc();
		if (!valid(&from))
			continue;
		expect_moved(cube_with_walls, "cube with walls", 1, -1);
	}
}

static void
shapes(void)
{
	static const double angles[] = {1, .1, M_PI / 180, 1e-4, M_PI / 180 * 1e-3, 1e-7};

	clear();
	torus();
	expect_moved(torus, "torus", closed_volume(), 1);
	for (int i = 0; i < 6; i++)
	{
		angle = angles[i];
		clear();
		wedge();
		expect_moved(wedge, "wedge", closed_volume(), 1);
		expect_moved(fan, "fan", -1, -1);
	}
	clear();
	needles();
	expect_moved(needles, "needles", closed_volume(), 6);
	for (angle = -.5; angle < -.04; angle += .05)
	{
		clear();
		schoenhardt();
		expect_moved(schoenhardt, "schoenhardt", closed_volume(), 1);
	}
	expect_moved(chazelle, "chazelle", 8 * 8 * 56, 1);
	expect_moved(layers, "layers", -1, -1);
}

static void
lattices(void)
{
	expect_moved(lattice_in_box, "lattice in a box", 216, 1);
	expect_moved(squares_in_lattice, "squares", -1, -1);
	expect_moved(slanted_in_lattice, "slanted squares", -1, -1);
	expect_moved(floor_of_quads, "floor", -1, -1);
}

static void
clouds(void)
{
	expect_moved(facet_in_cloud, "facet in a cloud", 0, 0);
	expect_moved(random_rectangles, "rectangles", 0, 0);
	expect_moved(segments_only, "segments", 0, 0);
	expect_moved(points_only, "points", 0, 0);
}

static void
nearly_flat(void)
{
	static const double bends[] = {1e-15, 1e-12, 1e-9, 1e-6};

	for (int i = 0; i < 4; i++)
	{
		bend = bends[i];
		expect_moved(bent, "bent", 0, 0);
		expect_moved(sheets, "sheets", 0, 0);
	}
}

/* ---- anything ---- */

/* families besides those of points.h: no points of theirs are next to each other, so there is no excuse */
enum
{
	INTEGERS = POINTS_FAMILIES,
	ROOM,
	FLAT_ROOM,
	UTM_MILLIS,
	CROWDS,
	ALL_FAMILIES
};

static const char *
family_name(int family)
{
	static const char *const own[] = {"integers", "room", "flat room", "UTM in mm", "crowds"};

	return family < POINTS_FAMILIES ? points_family_name[family] : own[family - POINTS_FAMILIES];
}

static bool
no_area(const double *p, const double *q, const double *r)
{
	bool none = true;

	for (int i = 0; i < 3; i++)
		none = none && (q[i] - p[i]) * (r[(i + 1) % 3] - p[(i + 1) % 3]) ==
						   (r[i] - p[i]) * (q[(i + 1) % 3] - p[(i + 1) % 3]);
	return none;
}

/* a few corners, and facets and segments among them at random, most of which do not cross others */
static void
random_model(int family)
{
	double p[40][3];
	uint32_t v[40];
	int n = 5 + check_below(20), facets = check_below(8), segments = check_below(6);
	rb_plc from;

	clear();
	if (family < POINTS_FAMILIES)
		points_make(family, n, 3, p[0]);
	for (int i = 0; i < n; i++)
	{
		for (int k = 0; k < 3 && family >= POINTS_FAMILIES; k++)
			p[i][k] = family == INTEGERS    ? check_below(7)
					  : family == ROOM      ? points_unit()
					  : family == FLAT_ROOM ? points_unit() * (k == 2 ? 1e-6 : 1)
					  : family == UTM_MILLIS
						  ? round(1000 * (391777 + 5428334 * (k == 1) + 10 * points_unit())) / 1000
						  : check_below(3) + 1e-7 * points_unit();
		v[i] = at(p[i][0], p[i][1], p[i][2]);
	}
	for (int i = 0; i < facets; i++)
	{
		uint32_t a = v[check_below(n)], b = v[check_below(n)], c = v[check_below(n)];

		if (a == b || b == c || c == a || no_area(it.points[a], it.points[b], it.points[c]))
			continue;
		facet(a, b, c);
		from = plc();
		if (check_below(100) > 0 && !valid(&from))
			it.nfacets--, it.ntriangles--;
	}
	for (int i = 0; i < segments; i++)
	{
		uint32_t a = v[check_below(n)], b = v[check_below(n)];

		if (a == b)
			continue;
		segment(a, b);
		from = plc();
		if (check_below(100) > 0 && !valid(&from))
			it.nsegments--;
	}
}

static void
print_model(void)
{
	for (uint32_t i = 0; i < it.npoints; i++)
		printf("# at(%.17g, %.17g, %.17g);\n", it.points[i][0], it.points[i][1], it.points[i][2]);
	for (uint32_t i = 0; i < it.ntriangles; i++)
		printf("# facet(%u, %u, %u);\n", it.triangles[i][0], it.triangles[i][1],
			   it.triangles[i][2]);
	for (uint32_t i = 0; i < it.nsegments; i++)
		printf("# segment(%u, %u);\n", it.segments[i][0], it.segments[i][1]);
}

/* coordinates of any size: there may be very many points, and whatever comes has to come in time */
static void
anything_wild(int family)
{
	const rb_plc from = plc();
	rb_context ctx;
	rb_tets tets;
	rb_status status;
	stopper s;
	double late;

	rb_context_init(&ctx, memory);
	stop_after(&s, &ctx, 30);
	status = rb_tetrahedralize(&ctx, &from, RB_KEEP_HULL, &tets, &flaw);
	late = stop_done(&s);
	CHECK(status == RB_OK || status == RB_BAD_PLC || (late >= 0 && status == RB_STOPPED), "%s: %d",
		  points_family_name[family], status);
	CHECK(late < 200, "%s: %g ms late", points_family_name[family], late);
	rb_tets_free(memory, &tets);
	CHECK(rb_memory_used(memory) == 0, "%lu bytes are left",
		  (unsigned long) rb_memory_used(memory));
}

/*
 * Where the joins see nothing wrong there is a mesh, or doubles are too coarse: many of these points are next to each
 * other.  Not so in families of our own.  And no flaw is told of what has none.
 */
static void
anything(void)
{
	const char *only = getenv("RB_TEST_ONLY"); /* a number that a failure told */

	for (int family = 0; family < ALL_FAMILIES; family++)
	{
		bool own = family >= POINTS_FAMILIES;
		bool wild = !own && family != POINTS_UNIFORM && family != POINTS_LATTICE &&
					family != POINTS_DECIMAL && family != POINTS_UTM && family != POINTS_ECEF;
		long count[2][2] = {{0, 0}, {0, 0}};

		for (long i = 0, n = check_rounds(wild ? 10 : own ? 100 : 60); i < n; i++)
		{
			long number = family * 1000000 + i, failures = check_failures;
			rb_plc from;
			result r;
			bool ok;

			if (only != NULL && atol(only) != number)
				continue;
			check_state = (uint64_t) number;
			random_model(family);
			from = plc();
			ok = valid(&from);
			if (wild)
			{
				anything_wild(family);
				continue;
			}
			forgive_flat = !own;
			r = mesh("anything", i % 2 ? RB_KEEP_HULL : RB_KEEP_INSIDE);
			forgive_flat = false;
			count[ok][r.status == RB_OK]++;
			CHECK(r.status == RB_OK || r.status == RB_BAD_PLC, "status %d", r.status);
			CHECK(ok || r.status != RB_OK || family != INTEGERS, "crosses itself, and is meshed");
			CHECK(!ok || r.status == RB_OK || flaw.kind == RB_FLAW_NO_VOLUME ||
					  ((!own || family == CROWDS) &&
					   (flaw.kind == RB_FLAW_TOO_NEAR || flaw.kind == RB_FLAW_NOT_RECOVERED)),
				  "nothing crosses, but: %s", flaw_text());
			if (check_failures > failures && check_failures < 10)
			{
				printf("# number %ld\n", number);
				print_model();
			}
		}
		if (!wild)
			printf("# %s: %ld meshed, %ld refused; crossing: %ld meshed, %ld refused\n",
				   family_name(family), count[1][1], count[1][0], count[0][1], count[0][0]);
	}
}

/* ---- refusals ---- */

static void
refused(const char *name, rb_flaw_kind kind, uint32_t a, uint32_t b)
{
	for (int keep = 0; keep < 2; keep++)
	{
		result r = mesh(name, (rb_keep) keep);

		CHECK(r.status == RB_BAD_PLC && flaw.kind == kind && flaw.a == a && flaw.b == b,
			  "%s: status %d, %s", name, r.status, flaw_text());
	}
}

/* what was not looked at by the joins ends with a flaw, whichever */
static void
refused_somehow(const char *name)
{
	rb_plc from = plc();

	CHECK(!valid(&from), "%s: nothing is wrong with it", name);
	for (int keep = 0; keep < 2; keep++)
	{
		result r = mesh(name, (rb_keep) keep);

		CHECK(r.status == RB_BAD_PLC, "%s: status %d, %u added", name, r.status, r.added);
	}
}

static void
some_points(void)
{
	check_state = 20;
	for (int i = 0; i < 50; i++)
		(void) at(5 * points_unit(), 5 * points_unit(), 5 * points_unit());
}

static void
refusals(void)
{
	/* nothing, few points, points in a line, in a plane */
	clear();
	refused("nothing", RB_FLAW_NO_VOLUME, RB_NONE, RB_NONE);
	for (int n = 1; n < 4; n++)
	{
		clear();
		for (int i = 0; i < n; i++)
			(void) at(i, i * i, i * i * i);
		refused("few points", RB_FLAW_NO_VOLUME, RB_NONE, RB_NONE);
	}
	clear();
	for (int i = 0; i < 100; i++)
		segment(at(i, 2 * i, 3 * i), at(i + 1, 2 * (i + 1), 3 * (i + 1)));
	refused("a line", RB_FLAW_NO_VOLUME, RB_NONE, RB_NONE);
	clear();
	quad(at(0, 0, 0), at(1, 0, 1), at(1, 1, 2), at(0, 1, 1));
	(void) at(5, 7, 12);
	refused("a plane", RB_FLAW_NO_VOLUME, RB_NONE, RB_NONE);
	/* facets without area, folded ones, the same ones, overlapping ones */
	clear();
	cube();
	facet(at(0, 0, 0), at(2, 2, 2), at(3, 3, 3));
	refused_somehow("no area");
	clear();
	cube();
	it.nfacets++;
	part(at(4, 0, 0), at(5, 0, 0), at(4, 1, 0));
	part(at(4, 0, 0), at(5, 0, 0), at(4.25, .25, 0));
	refused("folded", RB_FLAW_FACET_FOLDED, 6, RB_NONE);
	part(at(4, 0, 0), at(5, 0, 0), at(4, -2, 0));
	refused("an edge in three", RB_FLAW_FACET_FOLDED, 6, RB_NONE);
	clear();
	cube();
	facet(at(4, 0, 0), at(5, 0, 0), at(4, 1, 0));
	facet(at(4, 0, 0), at(4, 1, 0), at(5, 0, 0));
	refused("twice", RB_FLAW_FACETS_OVERLAP, 6, 7);
	clear();
	cube();
	quad(at(4, 0, 0), at(5, 0, 0), at(5, 1, 0), at(4, 1, 0));
	facet(at(4, 0, 0), at(5, 0, 0), at(5, 1, 0));
	refused_somehow("a triangle on a square");
	clear();
	some_points();
	facet(at(0, 0, 0), at(2, 0, 0), at(0, 2, 0));
	facet(at(0, 0, 0), at(2, 0, 0), at(1, 1, 0));
	refused_somehow("a triangle on a triangle");
	clear();
	quad(at(0, 0, 0), at(4, 0, 0), at(4, 4, 0), at(0, 4, 0));
	quad(at(1, 1, 0), at(5, 1, 0), at(5, 5, 0), at(1, 5, 0));
	some_points();
	refused_somehow("squares on each other");
	/* across each other */
	clear();
	facet(at(-3, -3, 0), at(3, -3, 0), at(0, 3, 0));
	facet(at(-1, 0, -1), at(1, 0, -1), at(0, 0, 3));
	refused_somehow("facets that cross");
	some_points();
	refused_somehow("facets that cross, and points");
	for (int i = 0; i < 6; i++)
		facet(at(-3 + i, -3, i), at(3, -3 + i, -i), at(i, 3, i + 1));
	refused_somehow("many facets that cross");
	clear();
	facet(at(-3, -3, 0), at(3, -3, 0), at(0, 3, 0));
	segment(at(0, 0, -4), at(0, 0, 5));
	refused_somehow("a segment through a facet");
	some_points();
	refused_somehow("a segment through a facet, and points");
	clear();
	some_points();
	segment(at(0, 0, 0), at(2, 2, 0));
	segment(at(0, 2, 0), at(2, 0, 0));
	refused_somehow("segments that cross");
	clear();
	some_points();
	segment(at(0, 0, 0), at(.7, .2, .1));
	segment(at(.7 / 3, .2 / 3, 0), at(.3, .2, .1));
	segment(at(0, 0, 0), at(1.4, .4, .2));
	refused_somehow("segments on each other");
	/* points */
	clear();
	cube();
	(void) at(.5, .25, 1);
	refused_somehow("a point in a side");
	clear();
	cube();
	(void) at(.5, .5, 1);
	refused_somehow("a point on a diagonal");
	clear();
	cube();
	(void) at(.5, 0, 1);
	refused_somehow("a point on an edge");
	clear();
	some_points();
	segment(at(0, 0, 0), at(3, 6, 9));
	(void) at(1, 2, 3);
	refused("a point on a segment", RB_FLAW_POINT_ON_SEGMENT, 52, 0);
	/* the same segment twice, and what is a boundary */
	clear();
	some_points();
	segment(at(0, 0, 0), at(3, 6, 9));
	segment(at(3, 6, 9), at(0, 0, 0));
	refused("a segment twice", RB_FLAW_SEGMENTS_CROSS, 0, 1);
}

/* ---- stops, and memory ---- */

static void
large_cloud(void)
{
	check_state = 21;
	rectangles();
	for (long i = 0, n = check_rounds(20000); i < n && i < 50000; i++)
		(void) at(points_unit(), points_unit(), points_unit());
}

static void
large_grid(void)
{
	cells = (int) cbrt(fmin(5000, (double) check_rounds(3000))) + 2;
	shake = .2;
	cells_of_grid();
}

static void
thin_squares(void)
{
	const int n = (int) sqrt(fmin(20000, (double) check_rounds(2000)));

	check_state = 22;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			quad(at(i, j, 0), at(i + 1, j, 0), at(i + 1, j + 1, 0), at(i, j + 1, 0));
	for (long i = 0, many = check_rounds(4000); i < many && i < 15000; i++)
		(void) at(n * fabs(points_unit()), n * fabs(points_unit()), .01 + .1 * fabs(points_unit()));
}

static void (*const large_models[])(void) = {large_cloud, large_grid, thin_squares};

static void
stops(void)
{
	for (size_t i = 0; i < sizeof large_models / sizeof large_models[0]; i++)
	{
		double whole = 0, worst = 0;
		long n = check_rounds(12), stopped = 0;
		rb_plc from;

		clear();
		large_models[i]();
		from = plc();
		for (long k = 0; k <= n; k++)
		{
			rb_context ctx;
			rb_tets tets;
			rb_status status;
			stopper s;
			double start = read_ms(CLOCK_THREAD_CPUTIME_ID), late;

			rb_context_init(&ctx, memory);
			stop_after(&s, &ctx, k == 0 ? 1e9 : whole * (double) k / (double) n);
			status = rb_tetrahedralize(&ctx, &from, RB_KEEP_HULL, &tets, &flaw);
			late = stop_done(&s);
			whole = k == 0 ? read_ms(CLOCK_THREAD_CPUTIME_ID) - start : whole;
			worst = fmax(worst, late);
			stopped += status == RB_STOPPED;
			CHECK(status == RB_OK || (late >= 0 && status == RB_STOPPED), "model %zu: %d, %s", i,
				  status, flaw_text());
			rb_tets_free(memory, &tets);
			CHECK(rb_memory_used(memory) == 0, "model %zu: %lu bytes are left", i,
				  (unsigned long) rb_memory_used(memory));
		}
		printf("# model %zu: %.0f ms, %ld of %ld stopped, at most %.1f ms late\n", i, whole,
			   stopped, n, worst);
		CHECK(worst < fmax(50, whole / 4), "model %zu: %g ms late", i, worst);
	}
}

static void
budgets(void)
{
	static void (*const models[])(void) = {cube, edges_with_points, hanging,       chazelle,
										   bent, random_rectangles, lattice_in_box};
	double step = 1 + .06 / fmin(1, (double) check_rounds(1000) / 1000);

	bend = 1e-9;
	for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
	{
		rb_status status = RB_OVER_BUDGET;
		rb_plc from;
		long refused = 0;

		clear();
		models[i]();
		from = plc();
		for (double limit = 100; status == RB_OVER_BUDGET; limit *= step)
		{
			rb_memory *little = rb_memory_create((uint64_t) limit);
			rb_context ctx;
			rb_tets tets;

			rb_context_init(&ctx, little);
			status = rb_tetrahedralize(&ctx, &from, RB_KEEP_INSIDE, &tets, &flaw);
			CHECK(status == RB_OK || (status == RB_OVER_BUDGET && ctx.error.need > 0), "%s",
				  rb_status_text(status));
			CHECK(status == RB_OK || (tets.points == NULL && rb_memory_used(little) == 0),
				  "%lu bytes are left", (unsigned long) rb_memory_used(little));
			rb_tets_free(little, &tets);
			CHECK(rb_memory_used(little) == 0, "%lu bytes are left",
				  (unsigned long) rb_memory_used(little));
			rb_memory_destroy(little);
			refused++;
		}
		printf("# model %zu: %ld budgets\n", i, refused);
	}
}

/* ---- the same, elsewhere ---- */

/* multiplied by a power of two, all is as it was, but that many times as large */
static void
scaled(void)
{
	static void (*const models[])(void) = {
		cube,  nested, schoenhardt,        hanging,          chazelle,
		torus, bent,   squares_in_lattice, random_rectangles};
	static const int powers[] = {-900, -333, -20, 1, 70, 600};

	angle = -.4;
	bend = 1e-9;
	for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
	{
		rb_tets one, other;
		rb_plc from;

		clear();
		models[i]();
		from = plc();
		CHECK(make(&from, RB_KEEP_HULL, 1, &one) == RB_OK, "model %zu: %s", i, flaw_text());
		for (size_t k = 0; k < sizeof powers / sizeof powers[0]; k++)
		{
			clear();
			models[i]();
			for (uint32_t v = 0; v < it.npoints; v++)
				for (int a = 0; a < 3; a++)
					it.points[v][a] = ldexp(it.points[v][a], powers[k]);
			CHECK(make(&from, RB_KEEP_HULL, 1, &other) == RB_OK, "model %zu, 2^%d: %s", i,
				  powers[k], flaw_text());
			CHECK(same(&one, &other), "model %zu, 2^%d", i, powers[k]);
			for (uint32_t v = 0; v < 3 * one.npoints && v < 3 * other.npoints; v++)
				CHECK(other.points[v] == ldexp(one.points[v], powers[k]),
					  "model %zu, 2^%d: coordinate %u", i, powers[k], v);
			rb_tets_free(memory, &other);
		}
		rb_tets_free(memory, &one);
	}
}

static int
by_corners(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(uint32_t[4]));
}

static void
sort_corners(rb_tets *t)
{
	for (uint32_t i = 0; i < t->ntets; i++)
		for (int k = 1; k < 4; k++)
			for (int j = k; j > 0 && t->tets[i][j - 1] > t->tets[i][j]; j--)
			{
				uint32_t swap = t->tets[i][j];

				t->tets[i][j] = t->tets[i][j - 1];
				t->tets[i][j - 1] = swap;
			}
	if (t->ntets > 0)
		qsort(t->tets, t->ntets, sizeof(uint32_t[4]), by_corners);
}

/* axes take each other's places, some are turned over: where no point is added, these are the same tetrahedra */
static void
permuted(void)
{
	static void (*const models[])(void) = {
		cube,           cube_of_triangles, cells_of_grid,     nested,
		lattice_in_box, points_only,       squares_in_lattice};
	long looked = 0;

	cells = 3;
	shake = 0;
	for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
	{
		rb_tets one, other;
		rb_plc from;

		clear();
		models[i]();
		from = plc();
		CHECK(make(&from, RB_KEEP_HULL, 1, &one) == RB_OK, "model %zu: %s", i, flaw_text());
		sort_corners(&one);
		for (int way = 1; way < 12; way++)
		{
			for (uint32_t v = 0; v < it.npoints; v++)
			{
				double *p = it.points[v], x = p[0];

				p[0] = way % 2 ? p[1] : -p[2];
				p[1] = way % 2 ? x : p[1];
				p[2] = way % 2 ? p[2] : x;
			}
			CHECK(make(&from, RB_KEEP_HULL, 1, &other) == RB_OK, "model %zu: %s", i, flaw_text());
			sort_corners(&other);
			if (one.npoints == from.npoints)
			{
				looked++;
				CHECK(other.ntets == one.ntets && other.npoints == one.npoints &&
						  memcmp(one.tets, other.tets, one.ntets * sizeof *one.tets) == 0,
					  "model %zu, way %d: other tetrahedra", i, way);
			}
			rb_tets_free(memory, &other);
		}
		rb_tets_free(memory, &one);
	}
	CHECK(looked >= 50, "only %ld", looked);
}

/* ---- seeds ---- */

static void
seeds(void)
{
	result r;

	/* two cubes in a cube, one of them a hole, the other named; one outside, one that comes too late */
	clear();
	box(0, 0, 0, 9, 9, 9);
	box(1, 1, 1, 2, 2, 2);
	box(5, 5, 5, 3, 3, 3);
	seed(2, 2, 2, 0, true);
	seed(6, 6, 6, -7, false);
	seed(7, 6, 6, 8, false);
	seed(-1, 2, 2, 5, false);
	r = mesh("seeds", RB_KEEP_INSIDE);
	CHECK(r.status == RB_OK && r.volume == 721 && r.nregions == 2 && r.outside_seeds == 1,
		  "%d: %g in %u, %u outside", r.status, r.volume, r.nregions, r.outside_seeds);
	/* all is dropped */
	clear();
	cube();
	seed(.5, .25, .75, 0, true);
	for (int keep = 0; keep < 2; keep++)
	{
		r = mesh("an empty cube", (rb_keep) keep);
		CHECK(r.status == RB_OK && r.ntets == 0 && r.nregions == 0, "%d: %u", r.status, r.ntets);
	}
	/* on a facet that two regions share, on a corner, on an edge, on the hull: some region, or outside */
	clear();
	cells = 2;
	shake = 0;
	cells_of_grid();
	seed(1, .5, .5, 100, false);
	seed(1, 1, 1, 101, false);
	seed(1, 1, .5, 102, false);
	seed(0, .5, .5, 103, false);
	seed(0, 0, 0, 104, false);
	seed(1e300, 0, 0, 105, false);
	r = mesh("seeds on facets", RB_KEEP_INSIDE);
	CHECK(r.status == RB_OK && r.volume == 8 && r.nregions == 8, "%d: %g in %u", r.status, r.volume,
		  r.nregions);
	/* many names, which the regions without one must not get */
	clear();
	cells_of_grid();
	for (int i = 0; i < SEEDS; i++)
		seed(-1, 0, 0, i + 1, false);
	r = mesh("many seeds", RB_KEEP_HULL);
	CHECK(r.status == RB_OK && r.nregions == 8 && r.outside_seeds == SEEDS, "%d: %u", r.status,
		  r.nregions);
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 33);
	alarm(600); /* what hangs is a failure */
	CHECK_RUN(cubes);
	CHECK_RUN(cubes_with_walls);
	CHECK_RUN(shapes);
	CHECK_RUN(lattices);
	CHECK_RUN(clouds);
	CHECK_RUN(nearly_flat);
	CHECK_RUN(scaled);
	CHECK_RUN(permuted);
	CHECK_RUN(seeds);
	CHECK_RUN(refusals);
	CHECK_RUN(stops);
	CHECK_RUN(budgets);
	CHECK_RUN(anything);
	rb_memory_destroy(memory);
	return check_done();
}
