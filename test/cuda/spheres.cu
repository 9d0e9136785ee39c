/*
 * spheres.cu
 *	  Compares the signs of insphere on the device with those of GMP on the host.
 *
 * insphere.h is compiled for the device from the host's source, before any
 * kernel of the backend uses them. Each step alone and each cascade is evaluated for the same
 * points on both:
 *
 *   - A sign is GMP's, or RB_UNSURE.   - Unless intervals differ, whose rounding is tighter on the
 * device, it equals the host's in each
 *	step: a fused multiply-add would show.
 *   - The device is unsure only if the host must use GMP.
 *
 * For each family, the program prints how many points are on the sphere, how many the device leaves
 * undecided, and how many million signs per second a cascade computes, from points in memory to
 * signs in memory.
 */
#include <pthread.h>
#include <unistd.h>

#include <cuda_runtime.h>

#include "spheres.h" /* Includes points.h and check.h */
#include "core/exact/insphere.h"

#define THREADS 128
#define BLOCKS_PER_SM 4 /* Few blocks, because each thread needs memory for expansions */
#define TIMES 10
#define FAMILIES (SPHERE_FAMILIES + POINTS_FAMILIES)

enum
{
	INSPHERE_FILTER,
	INSPHERE_FINE,
	INSPHERE_INTEGER,
	INSPHERE_INTERVAL,
	INSPHERE_FILTERS, /* Cascade without exact steps */
	INSPHERE,
	TIES,
	STEPS
};

static const char *const step_name[] = {"insphere, filter",
										"insphere, finer filter",
										"insphere, integers",
										"insphere, intervals",
										"insphere, filters",
										"insphere",
										"ties"};

/* Returns true if a step has no intervals. */
static bool
same_everywhere(int step)
{
	return step == INSPHERE_FILTER || step == INSPHERE_FINE || step == INSPHERE_INTEGER;
}

typedef struct tuple
{
	double p[15]; /* Five points */
	uint32_t v[5];
} tuple;

RB_HOST_DEVICE int
sign_of(int step, rb_exact_env *env, const tuple *t)
{
	const double *a = t->p, *b = a + 3, *c = a + 6, *d = a + 9, *e = a + 12;
	const double *q[5];

	q[0] = a;
	q[1] = b;
	q[2] = c;
	q[3] = d;
	q[4] = e;
	env->exact = step != INSPHERE_FILTERS;
	switch (step)
	{
		case INSPHERE_FILTER:
			return rb_insphere_filter(a, b, c, d, e);
		case INSPHERE_FINE:
			return rb_insphere_filter_fine(a, b, c, d, e);
		case INSPHERE_INTEGER:
			return rb_insphere_integer(a, b, c, d, e);
		case INSPHERE_INTERVAL:
			return rb_insphere_interval(a, b, c, d, e);
		case INSPHERE_FILTERS:
		case INSPHERE:
			return rb_insphere_at(env, a, b, c, d, e);
		default:
			return rb_insphere_ties(env, q, t->v);
	}
}

/* ---- the device ---- */

template <int STEP>
static __global__ void
__launch_bounds__(THREADS)
	sign_kernel(const tuple *tuples, uint32_t n, double *room, signed char *signs)
{
	const uint32_t thread = blockIdx.x * THREADS + threadIdx.x;
	rb_exact_env env = {RB_FILTER_ALL, true, 0, 0, 0, NULL, 0};

	env.room = room + (size_t) (thread / RB_WARP) * RB_WARP * RB_EXPANSION_ROOM + thread % RB_WARP;
	for (uint32_t i = thread; i < n; i += gridDim.x * THREADS)
		signs[i] = (signed char) sign_of(STEP, &env, &tuples[i]);
}

static uint32_t ntuples;
static tuple *tuples, *device_tuples;
static signed char *got, *device_signs;
static double *device_room;
static int blocks;

#define CUDA(call) (check_cuda(call, #call))

static void
check_cuda(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	printf("Bail out! %s: %s\n", what, cudaGetErrorString(error));
	exit(1);
}

/* Returns million signs per second; the first launch is not counted. */
template <int STEP>
static double
launch(void)
{
	cudaEvent_t start, end;
	float ms = 0;

	CUDA(cudaMemset(device_signs, 99, ntuples));
	CUDA(cudaEventCreate(&start));
	CUDA(cudaEventCreate(&end));
	for (int i = 0; i <= TIMES; i++)
	{
		if (i == 1)
			CUDA(cudaEventRecord(start));
		sign_kernel<STEP><<<blocks, THREADS>>>(device_tuples, ntuples, device_room, device_signs);
		CUDA(cudaGetLastError());
	}
	CUDA(cudaEventRecord(end));
	CUDA(cudaEventSynchronize(end));
	CUDA(cudaEventElapsedTime(&ms, start, end));
	CUDA(cudaEventDestroy(start));
	CUDA(cudaEventDestroy(end));
	CUDA(cudaMemcpy(got, device_signs, ntuples, cudaMemcpyDeviceToHost));
	return (double) ntuples * TIMES / (1000 * (double) ms);
}

static double (*const launches[STEPS])(void) = {launch<INSPHERE_FILTER>,
												launch<INSPHERE_FINE>,
												launch<INSPHERE_INTEGER>,
												launch<INSPHERE_INTERVAL>,
												launch<INSPHERE_FILTERS>,
												launch<INSPHERE>,
												launch<TIES>};

/* ---- the host ---- */

static signed char *want[STEPS]; /* RB_UNSURE also where GMP was used */
static signed char *truth[2];    /* By GMP alone: insphere, ties */
static uint32_t next_tuple;

static int
truth_of(int step)
{
	return step < TIES ? 0 : 1;
}

static void *
ask_host(void *arg)
{
	const uint32_t chunk = 256;
	uint32_t from;

	while ((from = __atomic_fetch_add(&next_tuple, chunk, __ATOMIC_RELAXED)) < ntuples)
		for (uint32_t i = from; i < from + chunk && i < ntuples; i++)
		{
			rb_exact_env gmp = {0, true, 0, 0, 0, NULL, 0};

			truth[0][i] = (signed char) sign_of(INSPHERE, &gmp, &tuples[i]);
			truth[1][i] = (signed char) sign_of(TIES, &gmp, &tuples[i]);
			for (int step = 0; step < STEPS; step++)
			{
				rb_exact_env env = {RB_FILTER_ALL, true, 0, 0, 0, NULL, 0};
				int sign = sign_of(step, &env, &tuples[i]);

				want[step][i] = (signed char) (env.gmp > 0 ? RB_UNSURE : sign);
			}
		}
	return arg;
}

static void
ask_threads(void)
{
	pthread_t thread[64];
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	int started = 0;

	next_tuple = 0;
	while (started < 64 && started < n - 1 &&
		   pthread_create(&thread[started], NULL, ask_host, NULL) == 0)
		started++;
	ask_host(NULL);
	while (started > 0)
		pthread_join(thread[--started], NULL);
}

/* ---- both ---- */

static long signs_compared;

static void
compare_family(int family)
{
	const char *name = family < SPHERE_FAMILIES ? sphere_family_name[family]
												: points_family_name[family - SPHERE_FAMILIES];
	double rate[STEPS];
	long unsure[STEPS] = {0}, zeros[2] = {0};

	for (uint32_t i = 0; i < ntuples; i++)
	{
		if (family < SPHERE_FAMILIES)
			sphere_make(family, tuples[i].p);
		else
			points_make(family - SPHERE_FAMILIES, 5, 3, tuples[i].p);
		for (int k = 0; k < 5; k++)
			tuples[i].v[k] = (uint32_t) check_below(1000) * 5 + (uint32_t) k;
	}
	CUDA(cudaMemcpy(device_tuples, tuples, ntuples * sizeof *tuples, cudaMemcpyHostToDevice));
	ask_threads();
	for (int t = 0; t < 2; t++)
		for (uint32_t i = 0; i < ntuples; i++)
			zeros[t] += truth[t][i] == 0;
	for (int step = 0; step < STEPS; step++)
	{
		rate[step] = launches[step]();
		for (uint32_t i = 0; i < ntuples; i++)
		{
			int right = truth[truth_of(step)][i];

			CHECK(got[i] == right || got[i] == RB_UNSURE, "%s, %s, %u: %d, not %d", step_name[step],
				  name, i, got[i], right);
			CHECK(got[i] == want[step][i] || (!same_everywhere(step) && want[step][i] == RB_UNSURE),
				  "%s, %s, %u: %d, and %d on the host", step_name[step], name, i, got[i],
				  want[step][i]);
			unsure[step] += got[i] == RB_UNSURE;
			signs_compared++;
		}
	}
	printf("# %-16s %8ld %8ld %8ld %6.0f %8ld %6.0f\n", name, zeros[0], unsure[INSPHERE_FILTERS],
		   unsure[INSPHERE], rate[INSPHERE], unsure[TIES], rate[TIES]);
}

static void
spheres(void)
{
	printf("# %u of each        zero  filters   unsure    M/s   unsure    M/s\n"
		   "#                  insphere ......................... ties ........\n",
		   ntuples);
	for (int family = 0; family < FAMILIES; family++)
		compare_family(family);
}

static void *
array_of(size_t size)
{
	void *array = malloc(size);

	if (array == NULL)
	{
		printf("Bail out! out of memory\n");
		exit(1);
	}
	return array;
}

int
main(void)
{
	cudaDeviceProp device;

	CUDA(cudaGetDeviceProperties(&device, 0));
	blocks = device.multiProcessorCount * BLOCKS_PER_SM;
	ntuples = (uint32_t) check_rounds(1 << 18);
	tuples = (tuple *) array_of(ntuples * sizeof *tuples);
	got = (signed char *) array_of(ntuples);
	for (int step = 0; step < STEPS; step++)
		want[step] = (signed char *) array_of(ntuples);
	for (int t = 0; t < 2; t++)
		truth[t] = (signed char *) array_of(ntuples);
	CUDA(cudaMalloc(&device_tuples, ntuples * sizeof *tuples));
	CUDA(cudaMalloc(&device_signs, ntuples));
	CUDA(cudaMalloc(&device_room, (size_t) blocks * THREADS * RB_EXPANSION_ROOM * sizeof(double)));
	CHECK_RUN(spheres);
	printf("# %ld signs compared on %s\n", signs_compared, device.name);
	return check_done();
}
