/*
 * split_faults.c
 *	  Tests doubled vertices along faults in a grid of cubes: which vertices are doubled, that each
 *	  tetrahedron keeps its place, and that faults separate their sides.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "mesh/formats.h"
#include "mesh/tet.h"

#define N 4 /* cubes along each axis */
#define M (N + 1)

static rb_context context;

/* A grid of N^3 cubes of six tetrahedra each */
typedef struct grid
{
	rb_mesh_rows rows;
	double points[M * M * M][3];
	uint32_t tets[6 * N * N * N][4];
	int64_t region[6 * N * N * N];
	uint32_t faces[2000][3];
	int64_t facet[2000];
} grid;

static uint32_t
vertex(int x, int y, int z)
{
	return (uint32_t) (x + M * (y + M * z));
}

static grid *
make_grid(void)
{
	static const uint8_t corners[6][4] = {{0, 1, 3, 7}, {0, 2, 6, 7}, {0, 4, 5, 7},
										  {0, 3, 2, 7}, {0, 6, 4, 7}, {0, 5, 1, 7}};
	grid *g = calloc(1, sizeof *g);

	for (int i = 0; i < M * M * M; i++)
	{
		g->points[i][0] = i % M;
		g->points[i][1] = i / M % M;
		g->points[i][2] = i / M / M;
	}
	for (int i = 0; i < 6 * N * N * N; i++)
	{
		const int c = i / 6, x = c % N, y = c / N % N, z = c / N / N;

		for (int k = 0; k < 4; k++)
		{
			const int b = corners[i % 6][k];

			g->tets[i][k] = vertex(x + (b & 1), y + (b >> 1 & 1), z + (b >> 2));
		}
		g->region[i] = 1;
	}
	g->rows = (rb_mesh_rows){.npoints = M * M * M,
							 .ntets = 6 * N * N * N,
							 .points = &g->points[0][0],
							 .tets = (const uint32_t(*)[4]) g->tets,
							 .region = g->region,
							 .faces = (const uint32_t(*)[3]) g->faces,
							 .facet = g->facet};
	return g;
}

/* Adds the faces of squares [a, b) x [c, d) in the plane where coordinate `axis` is 2, as one facet. */
static void
add_fault(grid *g, int axis, int a, int b, int c, int d, int64_t facet)
{
	for (int i = a; i < b; i++)
		for (int j = c; j < d; j++)
			for (int half = 0; half < 2; half++)
			{
				static const int at[2][3][2] = {{{0, 0}, {1, 0}, {1, 1}}, {{0, 0}, {1, 1}, {0, 1}}};
				uint32_t *face = g->faces[g->rows.nfaces];

				for (int k = 0; k < 3; k++)
				{
					int p[3];

					p[axis] = 2;
					p[(axis + 1) % 3] = i + at[half][k][0];
					p[(axis + 2) % 3] = j + at[half][k][1];
					face[k] = vertex(p[0], p[1], p[2]);
				}
				g->facet[g->rows.nfaces++] = facet;
			}
}

/* Returns the number of faces that two tetrahedra share, and whose vertices are coplanar at z = 2. */
static int
count_connections(const rb_mesh_rows *r, int axis, double low, double high)
{
	int n = 0;

	for (uint32_t a = 0; a < r->ntets; a++)
		for (uint32_t b = a + 1; b < r->ntets; b++)
		{
			int same = 0, plane = 0, inside = 0;

			for (int k = 0; k < 16; k++)
				if (r->tets[a][k / 4] == r->tets[b][k % 4])
				{
					const double *p = r->points + 3 * (size_t) r->tets[a][k / 4];

					same++;
					plane += p[axis] == 2;
					inside += p[(axis + 1) % 3] >= low && p[(axis + 1) % 3] <= high &&
							  p[(axis + 2) % 3] >= low && p[(axis + 2) % 3] <= high;
				}
			n += same == 3 && plane == 3 && inside == 3;
		}
	return n;
}

/* Splits the grid, and checks the number of new vertices and of faces. */
static void
check_split(grid *g, uint32_t doubled, uint32_t faces, const char *what)
{
	rb_mesh_split s;
	rb_mesh_rows r;
	rb_status status = rb_mesh_split_faults(&context, &g->rows, &s, &r);

	CHECK(status == RB_OK, "%s", rb_status_text(status));
	CHECK(s.doubled == doubled && r.npoints == g->rows.npoints + doubled, "%s: %u doubled", what,
		  s.doubled);
	CHECK(r.nfaces == faces, "%s: %u faces", what, r.nfaces);
	CHECK(r.ntets == g->rows.ntets, "%s", what);
	for (uint32_t i = 0; i < r.ntets; i++)
		for (int k = 0; k < 4; k++)
			CHECK(memcmp(r.points + 3 * (size_t) r.tets[i][k], g->points[g->tets[i][k]],
						 3 * sizeof(double)) == 0,
				  "%s: corner %d of %u", what, k, i);
	/* Each face is a face of a tetrahedron. */
	for (uint32_t i = 0; i < r.nfaces; i++)
	{
		bool found = false;

		for (uint32_t t = 0; t < r.ntets && !found; t++)
		{
			int same = 0;

			for (int k = 0; k < 12; k++)
				same += r.tets[t][k / 3] == r.faces[i][k % 3];
			found = same == 3;
		}
		CHECK(found, "%s: face %u", what, i);
	}
	rb_mesh_split_free(context.memory, &s);
}

static void
faults(void)
{
	grid *g = make_grid();
	rb_mesh_split s;
	rb_mesh_rows r;

	check_split(g, 0, 0, "no fault");
	add_fault(g, 2, 1, 2, 1, 2, 7);
	check_split(g, 0, 2, "a square without inner vertices");
	g->rows.nfaces = 0;
	add_fault(g, 2, 1, 3, 1, 3, 7);
	check_split(g, 1, 8 + 6, "inside");
	CHECK(rb_mesh_split_faults(&context, &g->rows, &s, &r) == RB_OK, "!");
	CHECK(s.origin[0] == vertex(2, 2, 2) && r.facet[8] == 7, "!");
	rb_mesh_split_free(context.memory, &s);
	g->rows.nfaces = 0;
	add_fault(g, 2, 0, 3, 1, 3, 7);
	check_split(g, 3, 12 + 11, "to the boundary");
	g->rows.nfaces = 0;
	add_fault(g, 2, 0, N, 0, N, 7);
	check_split(g, M * M, 4 * N * N, "across");
	CHECK(count_connections(&g->rows, 2, 0, N) == 2 * N * N, "!");
	CHECK(rb_mesh_split_faults(&context, &g->rows, &s, &r) == RB_OK, "!");
	CHECK(count_connections(&r, 2, 0, N) == 0, "connected");
	rb_mesh_split_free(context.memory, &s);
	/* Two faults that cross: three new vertices for each on the common line */
	add_fault(g, 0, 0, N, 0, N, 8);
	check_split(g, 2 * M * (M - 1) + 3 * M, 8 * N * N, "crossing");
	free(g);
}

/* Faces between regions are no faults, and a fault that ends there keeps its vertices. */
static void
regions(void)
{
	grid *g = make_grid();
	int64_t label_of[4 * N * N];
	const rb_mesh_labels labels = {label_of, 1, (const int64_t[]){3}, (const char *const[]){"f"}};
	rb_mesh_split s;
	rb_mesh_rows r;

	for (uint32_t i = 0; i < g->rows.ntets; i++)
		g->region[i] = i / 6 % N >= 2 ? 2 : 1;
	add_fault(g, 0, 0, N, 0, N, 8);
	check_split(g, 0, 2 * N * N, "regions");
	add_fault(g, 2, 0, 2, 0, N, 7);
	check_split(g, 2 * M, 2 * N * N + 4 * N + 4 * N, "up to a region");
	for (uint32_t i = 0; i < g->rows.nfaces; i++)
		label_of[i] = i < 2 * N * N ? RB_MESH_NO_LABEL : 3;
	g->rows.facet_labels = &labels;
	CHECK(rb_mesh_split_faults(&context, &g->rows, &s, &r) == RB_OK, "!");
	CHECK(r.facet_labels->of[0] == RB_MESH_NO_LABEL && r.facet_labels->of[r.nfaces - 1] == 3, "!");
	rb_mesh_split_free(context.memory, &s);
	free(g);
}

/* Two tetrahedra that share a vertex only keep it, also if a fault ends at it. */
static void
touching(void)
{
	grid *g = make_grid();
	uint32_t kept = 0;
	rb_mesh_split s;
	rb_mesh_rows r;

	/* Keep the cubes with x, y, z < 2, and the cube at (2, 2, 2). */
	for (uint32_t i = 0; i < g->rows.ntets; i++)
	{
		const uint32_t c = i / 6, x = c % N, y = c / N % N, z = c / N / N;

		if ((x < 2 && y < 2 && z < 2) || (x == 2 && y == 2 && z == 2))
			memcpy(g->tets[kept++], g->tets[i], sizeof g->tets[i]);
	}
	g->rows.ntets = kept;
	for (int j = 0; j < 2; j++)
	{
		/* The triangles of the plane x = y */
		const uint32_t square[4] = {vertex(j, j, 0), vertex(j + 1, j + 1, 0), vertex(j, j, 1),
									vertex(j + 1, j + 1, 1)};
		const uint32_t up = (uint32_t) (M * M);

		for (uint32_t z = 0; z < 2; z++)
			for (int half = 0; half < 2; half++)
			{
				uint32_t *face = g->faces[g->rows.nfaces++];

				face[0] = square[0] + z * up;
				face[1] = square[half == 0 ? 1 : 3] + z * up;
				face[2] = square[half == 0 ? 3 : 2] + z * up;
			}
	}
	CHECK(rb_mesh_split_faults(&context, &g->rows, &s, &r) == RB_OK, "!");
	CHECK(s.doubled == 9, "%u", s.doubled);
	for (uint32_t i = kept - 6; i < kept; i++)
		CHECK(memcmp(r.tets[i], g->tets[i], sizeof r.tets[i]) == 0, "tetrahedron %u", i);
	rb_mesh_split_free(context.memory, &s);
	free(g);
}

static void
refusals(void)
{
	grid *g = make_grid();
	rb_memory *memory = rb_memory_create(UINT64_MAX);
	rb_status status = RB_OVER_BUDGET;
	rb_context ctx;
	rb_mesh_split s;
	rb_mesh_rows r;

	add_fault(g, 2, 0, N, 0, N, 7);
	for (uint64_t limit = 0; status == RB_OVER_BUDGET; limit += 999)
	{
		rb_memory_set_limit(memory, limit);
		rb_context_init(&ctx, memory);
		status = rb_mesh_split_faults(&ctx, &g->rows, &s, &r);
		CHECK(status == RB_OK || status == RB_OVER_BUDGET, "%s", rb_status_text(status));
		rb_mesh_split_free(memory, &s);
		CHECK(rb_memory_used(memory) == 0, "%d bytes", (int) rb_memory_used(memory));
	}
	CHECK(status == RB_OK, "%s", rb_status_text(status));
	rb_context_init(&ctx, memory);
	rb_context_stop(&ctx);
	CHECK(rb_mesh_split_faults(&ctx, &g->rows, &s, &r) == RB_STOPPED, "it goes on");
	rb_mesh_split_free(memory, &s);
	rb_memory_destroy(memory);
	free(g);
}

int
main(void)
{
	rb_context_init(&context, rb_memory_create(UINT64_MAX));
	CHECK_RUN(faults);
	CHECK_RUN(regions);
	CHECK_RUN(touching);
	CHECK_RUN(refusals);
	CHECK(rb_memory_used(context.memory) == 0, "%d bytes", (int) rb_memory_used(context.memory));
	rb_memory_destroy(context.memory);
	return check_done();
}
