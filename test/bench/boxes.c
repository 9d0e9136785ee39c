/*
 * boxes.c
 *	  Prints the workloads of workload.h as CSV, and the checksums of pairs of numbers.
 *
 *	boxes WORKLOAD N SEED		rows "id,lx,ly,lz,hx,hy,hz", or "id,ax,ay,bx,by" of a map
 *	boxes --sum					reads rows "i,j" and prints "count mix ij"
 *	boxes --sum-self			also exchanges i and j of a row if i is the larger one
 */
#include "workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 4096

static int
generate(const char *name, const char *n, const char *seed)
{
	static double coords[CHUNK * 6];
	char text[200];
	workload w;

	snprintf(text, sizeof(text), "%s,%s,%s", name, n, seed);
	if (!workload_parse(text, RB_BOX3, &w))
		return 1;
	for (uint64_t i = 0; i < w.n; i++)
	{
		const int width = w.kind == RB_SEGMENT2 ? 4 : 6;

		if (i % CHUNK == 0)
			workload_fill(&w, i, w.n - i < CHUNK ? w.n - i : CHUNK, coords);
		printf("%" PRIu64, i);
		for (int k = 0; k < width; k++)
			printf(",%.17g", coords[i % CHUNK * (uint64_t) width + (uint64_t) k]);
		putchar('\n');
	}
	return 0;
}

static int
sum(bool self)
{
	pair_sums s = {0, 0, 0, 0};
	rb_pair pair;

	while (scanf("%" SCNu32 ",%" SCNu32, &pair.red, &pair.blue) == 2)
		pair_sums_add(&s, &pair, 1, self);
	printf("%" PRIu64 " %016" PRIx64 " %" PRIu64 "\n", s.n, s.mix, s.ij);
	return !feof(stdin);
}

int
main(int argc, char **argv)
{
	int rc = 1;

	if (argc == 2 && strncmp(argv[1], "--sum", 5) == 0)
		rc = sum(strcmp(argv[1], "--sum-self") == 0);
	else if (argc == 4)
		rc = generate(argv[1], argv[2], argv[3]);
	if (rc != 0)
		fprintf(stderr, "usage: boxes WORKLOAD N SEED | boxes --sum | boxes --sum-self\n");
	return rc;
}
