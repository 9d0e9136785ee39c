/*
 * hog.c
 *	  Simulates another user of the device: allocates its memory except for a given number of
 *	  megabytes, reports that, and holds the memory until its input ends.
 *
 *	  hog MEGABYTES_LEFT
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

int
main(int argc, char **argv)
{
	const size_t left = (size_t) (argc > 1 ? atoll(argv[1]) : 200) << 20;
	size_t step = (size_t) 1 << 30;
	size_t free_bytes, all_bytes;
	void *block;

	if (cudaMemGetInfo(&free_bytes, &all_bytes) != cudaSuccess)
	{
		fprintf(stderr, "hog: no device\n");
		return 1;
	}
	while (step >= (size_t) 2 << 20 && cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess)
		if (free_bytes < left + step || cudaMalloc(&block, step) != cudaSuccess)
		{
			cudaGetLastError();
			step /= 2;
		}
	printf("%zu MB left\n", free_bytes >> 20);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
