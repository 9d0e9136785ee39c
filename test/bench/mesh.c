/*
 * mesh.c
 *	  Measures the time of a Delaunay tetrahedralization of n points: uniform ones, or those of a
 *	  grid, where eight points lie on each sphere.
 *
 *	  build/mesh-bench [n [rounds [grid]]]
 */
#include "core/base/base.h"
#include "mesh/mesh.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int
main(int argc, char **argv)
{
	uint32_t n = argc > 1 ? (uint32_t) atol(argv[1]) : 1000000;
	int rounds = argc > 2 ? atoi(argv[2]) : 3;
	double *points = malloc((size_t) n * 3 * sizeof(double));
	bool grid = argc > 3 && strcmp(argv[3], "grid") == 0;
	size_t side = (size_t) ceil(cbrt((double) n));
	uint64_t state = 1;

	if (points == NULL)
		return 1;
	for (size_t i = 0; i < 3 * (size_t) n; i++)
	{
		state = state * 6364136223846793005u + 1442695040888963407u;
		points[i] = (double) (state >> 11) * 0x1p-53;
	}
	for (size_t i = 0; grid && i < n; i++)
	{
		points[3 * i] = (double) (i % side);
		points[3 * i + 1] = (double) (i / side % side);
		points[3 * i + 2] = (double) (i / (side * side));
	}
	while (rounds-- > 0)
	{
		rb_memory *memory = rb_memory_create(UINT64_MAX);
		rb_context ctx;
		rb_mesh m;
		bool flat;
		double start = rb_now_ms();
		rb_status status;

		rb_context_init(&ctx, memory);
		status = rb_mesh_init(&m, &ctx, points, n);
		if (status == RB_OK)
			status = rb_mesh_delaunay(&m, &flat);
		if (status != RB_OK)
		{
			printf("%s\n", rb_status_text(status));
			return 1;
		}
		printf("%u points, %u tetrahedra with ghosts, %.0f ms, %.0f MB at most\n", n, m.nalive,
			   rb_now_ms() - start, (double) rb_memory_peak(memory) / 1e6);
		rb_mesh_free(&m);
		rb_memory_destroy(memory);
	}
	free(points);
	return 0;
}
