/*
 * gpu_bench.h
 *	  Provides what the two programs with tables of times share: pinned memory, medians, the
 *	  location of data.
 */
#ifndef RB_TEST_GPU_BENCH_H
#define RB_TEST_GPU_BENCH_H

#include "gpu.h"

#include <cuda_runtime_api.h>

static inline const char *
gpu_data_dir(void)
{
	return getenv("REDBLUE_DATA") ? getenv("REDBLUE_DATA") : "../shared/data";
}

/*
 * Moves coordinates from malloc to pinned memory, where a reader of tables would have written them.
 */
static inline void
gpu_pin(rb_set *o)
{
	size_t bytes = (size_t) o->nparts * rb_kind_width(o->kind) * sizeof(double);
	void *p;

	if (cudaHostAlloc(&p, bytes, cudaHostAllocPortable) != cudaSuccess)
	{
		fprintf(stderr, "cudaHostAlloc failed\n");
		exit(2);
	}
	memcpy(p, o->coords, bytes);
	free((void *) o->coords);
	o->coords = p;
}

static inline int
gpu_by_size(const void *x, const void *y)
{
	double a = *(const double *) x, b = *(const double *) y;

	return a < b ? -1 : a > b;
}

static inline double
gpu_median(double *x, int n)
{
	qsort(x, (size_t) n, sizeof(double), gpu_by_size);
	return 0.5 * (x[(n - 1) / 2] + x[n / 2]);
}

#endif /* RB_TEST_GPU_BENCH_H */
