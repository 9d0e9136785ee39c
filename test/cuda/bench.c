/*
 * bench.c
 *	  Measures the speed of the device and of its bus, as one table.
 *
 *	  bench [N [NAME...]]	volmesh N, 84 by default; only the loads with these names
 *
 * Each load: two joins to warm up, then the median of ten. Times of stages are CUDA events in the
 * backend. "total" is the whole call by the host's clock, from coordinates in pinned memory to
 * pairs in pinned memory (the sink does nothing). "resident" is total minus the upload, for a join
 * that only counts, so that only counts are downloaded. The exit status is 1 if a count is not the
 * known one.
 */
#include "gpu_bench.h"
#include "input.h"

#define ROUNDS 10

static int failed = 0;
static char **names; /* Names of the requested loads, ended by NULL; empty for all loads */

static bool
wanted(const char *name)
{
	bool is = names[0] == NULL;

	for (char **n = names; *n != NULL; n++)
		is |= strcmp(*n, name) == 0;
	return is;
}

static void
copy_speed(void)
{
	const size_t bytes = (size_t) 1 << 30;
	void *host, *a, *b;
	cudaEvent_t e[4];
	float ms[3];

	if (cudaHostAlloc(&host, bytes, cudaHostAllocPortable) != cudaSuccess ||
		cudaMalloc(&a, bytes) != cudaSuccess || cudaMalloc(&b, bytes) != cudaSuccess)
	{
		fprintf(stderr, "no memory for the copies\n");
		exit(2);
	}
	memset(host, 1, bytes);
	for (int i = 0; i < 4; i++)
		cudaEventCreate(&e[i]);
	for (int round = 0; round < 3; round++)
	{
		cudaEventRecord(e[0], NULL);
		cudaMemcpyAsync(a, host, bytes, cudaMemcpyHostToDevice, NULL);
		cudaEventRecord(e[1], NULL);
		cudaMemcpyAsync(host, a, bytes, cudaMemcpyDeviceToHost, NULL);
		cudaEventRecord(e[2], NULL);
		cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice, NULL);
		cudaEventRecord(e[3], NULL);
		cudaEventSynchronize(e[3]);
		for (int i = 0; i < 3; i++)
			cudaEventElapsedTime(&ms[i], e[i], e[i + 1]);
	}
	printf("copies: to the device %.1f GB/s, from it %.1f GB/s, on it %.0f GB/s read + written\n\n",
		   bytes / ms[0] / 1e6, bytes / ms[1] / 1e6, 2 * bytes / ms[2] / 1e6);
	cudaFree(a);
	cudaFree(b);
	cudaFreeHost(host);
}

static void
head(void)
{
	printf(
		"| load | triangles | candidates | pairs | upload | grid | boxes | float | double | exact "
		"| download | resident | total | ns/cand. |\n");
	printf("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
}

static void
measure_on(const rb_backend *gpu, rb_predicate predicate, double distance, const char *name,
		   const rb_set *red, const rb_set *blue, uint64_t pairs)
{
	static const int shown[] = {RB_STAGE_UPLOAD,  RB_STAGE_GRID,   RB_STAGE_CANDIDATES,
								RB_STAGE_FLOAT,   RB_STAGE_DOUBLE, RB_STAGE_EXACT,
								RB_STAGE_DOWNLOAD};
	gpu_setting set = {
		.filters = RB_FILTER_ALL, .no_sink = true, .predicate = predicate, .distance = distance};
	double stage[RB_STAGES][ROUNDS], total[ROUNDS], resident[ROUNDS], warm;
	gpu_answer a = {0};

	for (int i = -2; i < ROUNDS; i++)
	{
		set.count_only = true;
		gpu_join(gpu, red, blue, &set, &a);
		if (i >= 0)
			resident[i] = a.ms - a.stats.stage[RB_STAGE_UPLOAD].ms;
		set.count_only = false;
		gpu_join(gpu, red, blue, &set, &a);
		if (a.status != RB_OK || (pairs > 0 && a.pairs != pairs))
		{
			printf("%s: %s %s, %lu pairs\n", name, rb_status_text(a.status), a.error.text,
				   (unsigned long) a.pairs);
			failed = 1;
			return;
		}
		if (i < 0)
			continue;
		total[i] = a.ms;
		for (int s = 0; s < RB_STAGES; s++)
			stage[s][i] = a.stats.stage[s].ms;
	}
	printf("| %s | %u x %u | %lu | %lu ", name, red->nparts, blue ? blue->nparts : red->nparts,
		   (unsigned long) a.stats.stage[RB_STAGE_CANDIDATES].count, (unsigned long) a.pairs);
	for (size_t k = 0; k < sizeof(shown) / sizeof(shown[0]); k++)
		printf("| %.2f ", gpu_median(stage[shown[k]], ROUNDS));
	warm = gpu_median(resident, ROUNDS);
	printf("| %.2f | %.2f | %.4f |\n", warm, gpu_median(total, ROUNDS),
		   warm * 1e6 / (double) a.stats.stage[RB_STAGE_CANDIDATES].count);
	fprintf(
		stderr,
		"%s: grid %u x %u x %u, %lu cells, %lu incidences, %lu box tests, %lu double, %lu exact "
		"(%lu integer, %lu expansion, %lu gmp), spread of total %.2f to %.2f\n",
		name, a.stats.resolution[0], a.stats.resolution[1], a.stats.resolution[2],
		(unsigned long) a.stats.cells, (unsigned long) a.stats.stage[RB_STAGE_GRID].count,
		(unsigned long) a.stats.box_tests, (unsigned long) a.stats.stage[RB_STAGE_DOUBLE].count,
		(unsigned long) a.stats.stage[RB_STAGE_EXACT].count, (unsigned long) a.stats.exact_integer,
		(unsigned long) a.stats.exact_expansion, (unsigned long) a.stats.exact_gmp, total[0],
		total[ROUNDS - 1]);
	fflush(stdout);
}

/* Returns a tenth of the mean edge length, from a sample. */
static double
near_distance(const rb_set *o)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < o->nparts; i += 1 + o->nparts / 10000, n++)
	{
		const double *p = o->coords + (size_t) i * 9;

		sum += sqrt((p[3] - p[0]) * (p[3] - p[0]) + (p[4] - p[1]) * (p[4] - p[1]) +
					(p[5] - p[2]) * (p[5] - p[2]));
	}
	return 0.1 * sum / n;
}

/* Measures pairs, their contacts, and pairs within a distance. */
static void
measure(const rb_backend *gpu, const char *name, const rb_set *red, const rb_set *blue,
		uint64_t pairs)
{
	const double distance = near_distance(red);
	char contacts[100];

	measure_on(gpu, RB_MEET, 0, name, red, blue, pairs);
	snprintf(contacts, sizeof(contacts), "%s, contacts", name);
	measure_on(gpu, RB_CONTACT, 0, contacts, red, blue, pairs);
	snprintf(contacts, sizeof(contacts), "%s, within %.3g", name, distance);
	measure_on(gpu, RB_WITHIN, distance, contacts, red, blue, 0);
}

/* Arguments of volmesh are N, the seed, and those of the load. */
static void
volmesh(const rb_backend *gpu, int n, const char *name, const char *red, const char *blue,
		uint64_t pairs, bool pinned)
{
	char args[200];
	rb_set r, b;

	if (!wanted(name))
		return;
	snprintf(args, sizeof(args), "%d 1 %s", n, red);
	r = gpu_volmesh(args);
	snprintf(args, sizeof(args), "%d 2 %s", n, blue);
	b = gpu_volmesh(args);
	if (pinned)
	{
		gpu_pin(&r);
		gpu_pin(&b);
	}
	measure(gpu, name, &r, &b, pairs);
	if (pinned)
	{
		cudaFreeHost((void *) r.coords);
		cudaFreeHost((void *) b.coords);
	}
	else
	{
		free((void *) r.coords);
		free((void *) b.coords);
	}
}

/* Two meshes of the data directory, if it exists */
static void
meshes(const rb_backend *gpu, const char *name, const char *red, const char *blue, uint64_t pairs)
{
	static const double none[3] = {0, 0, 0};
	const char *data = gpu_data_dir();
	char path[2][1000];
	rb_set r, b;

	if (!wanted(name))
		return;
	snprintf(path[0], sizeof(path[0]), "%s/%s", data, red);
	snprintf(path[1], sizeof(path[1]), "%s/%s", data, blue);
	if (access(path[0], R_OK) != 0 || access(path[1], R_OK) != 0)
	{
		fprintf(stderr, "%s: no %s, left out\n", name, path[0]);
		return;
	}
	if (!read_objects(path[0], RB_TRIANGLE3, none, &r) ||
		!read_objects(path[1], RB_TRIANGLE3, none, &b))
		exit(2);
	gpu_pin(&r);
	gpu_pin(&b);
	measure(gpu, name, &r, &b, pairs);
	cudaFreeHost((void *) r.coords);
	cudaFreeHost((void *) b.coords);
}

int
main(int argc, char **argv)
{
	const rb_backend *gpu = gpu_open();
	int n = argc > 1 ? atoi(argv[1]) : 84;
	double began;
	gpu_answer a = {0};
	rb_set r;

	names = argv + (argc > 1 ? 2 : 1);
	if (gpu == NULL)
		return 1;
	r = gpu_volmesh("9 1 0.2");
	began = rb_now_ms();
	gpu_join(gpu, &r, NULL, &gpu_plain, &a);
	printf("first call %.0f ms\n", rb_now_ms() - began);
	copy_speed();
	head();
	volmesh(gpu, n, "clean", "0.2", "0.2 0.31 0.17 0.23", n == 84 ? 88365482 : 0, true);
	volmesh(gpu, n, "pageable", "0.2", "0.2 0.31 0.17 0.23", n == 84 ? 88365482 : 0, false);
	volmesh(gpu, n, "lattice", "0", "0 0.5 0.25 0", 0, true);
	volmesh(gpu, n, "UTM", "0.2 0 0 0 0 500000 4650000 120",
			"0.2 0.31 0.17 0.23 0 500000 4650000 120", 0, true);
	meshes(gpu, "delft_tin_model", "city/delft_tin.off.xz", "city/delft_model.off.xz", 400896);
	volmesh(gpu, 30, "300K", "0.2", "0.2 0.31 0.17 0.23", 0, true);
	volmesh(gpu, 18, "72K", "0.2", "0.2 0.31 0.17 0.23", 838640, true);
	volmesh(gpu, 9, "10K", "0.2", "0.2 0.31 0.17 0.23", 0, true);
	volmesh(gpu, 9, "10K, pageable", "0.2", "0.2 0.31 0.17 0.23", 0, false);
	return failed;
}
