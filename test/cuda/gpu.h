/*
 * gpu.h
 *	  Provides what programs that need a GPU share: the backend from its file, meshes in memory,
 *	  and a join whose result is a fingerprint.
 */
#ifndef RB_TEST_GPU_H
#define RB_TEST_GPU_H

#include "core/join/join.h"
#include "core/exec/pair_coding.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Opens the backend. If there is no file or no device, prints the reason to stderr and returns
 * NULL.
 */
static inline const rb_backend *
gpu_open(void)
{
	const char *path = getenv("RB_CUDA_FILE") ? getenv("RB_CUDA_FILE") : "./redblue_cuda.so";
	char text[256];
	const rb_backend *backend = rb_backend_open(path, text, sizeof(text));

	if (backend == NULL || backend->probe(0, text, sizeof(text)) != RB_OK)
	{
		fprintf(stderr, "%s: %s\n", path, text);
		return NULL;
	}
	fprintf(stderr, "device: %s\n", text);
	return backend;
}

/* ---- answers ---- */

/*
 * Sum over pairs and their payload, independent of their order, but different if a pair is missing,
 * repeated or wrong
 */
typedef struct gpu_answer
{
	rb_status status;
	uint64_t pairs;
	uint64_t fingerprint;
	uint64_t puts;
	uint64_t stop_after; /* Number of pairs after which the sink stops the join; 0 if never */
	rb_pair *kept;       /* Stored pairs; used if room > 0 */
	uint64_t room;
	pthread_mutex_t lock;
	double ms;
	rb_stats stats;
	rb_error error;
} gpu_answer;

static inline uint64_t
gpu_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static inline rb_status
gpu_put(void *user, const rb_pair *pairs, size_t n)
{
	gpu_answer *a = user;
	uint64_t sum = 0;
	bool stop;

	for (size_t i = 0; i < n && pairs != NULL; i++)
		sum += gpu_mix(((uint64_t) pairs[i].red << 32 | pairs[i].blue) + 0x9e3779b97f4a7c15u);
	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < n && pairs != NULL && a->pairs + i < a->room; i++)
		a->kept[a->pairs + i] = pairs[i];
	a->pairs += n;
	a->fingerprint += sum;
	a->puts++;
	stop = a->stop_after > 0 && a->pairs >= a->stop_after;
	pthread_mutex_unlock(&a->lock);
	return stop ? RB_STOPPED : RB_OK;
}

/* Accepts pairs without reading them. */
static inline rb_status
gpu_put_nothing(void *user, const rb_pair *pairs, size_t n)
{
	gpu_answer *a = user;

	(void) pairs;
	rb_add(&a->pairs, n);
	return RB_OK;
}

typedef struct gpu_setting
{
	int threads;
	uint32_t resolution;
	uint32_t filters;
	uint64_t gpu_memory;
	bool count_only;
	bool no_sink;
	rb_predicate predicate;
	double distance;
	bool within_rows;
	bool records; /* True if the sink receives pairs of boxes in groups */
} gpu_setting;

/* Sink that decodes groups */
typedef struct gpu_groups
{
	rb_context *ctx;
	rb_record_reader reader;
	rb_sink sink; /* Sink that receives their pairs */
} gpu_groups;

static inline rb_status
gpu_groups_put(void *user, const rb_pair *pairs, size_t n)
{
	gpu_groups *g = user;

	return g->sink.put(g->sink.user, pairs, n);
}

static inline rb_status
gpu_groups_put_records(void *user, const void *bytes, size_t n)
{
	gpu_groups *g = user;

	return rb_records_decode(g->ctx, &g->reader, bytes, n, &g->sink);
}

/* Limit for copies of cached sets (rb_context) */
static uint64_t gpu_cache_limit;
/* Bit mask of the devices that may be used (rb_context); 0 for all */
static uint32_t gpu_cards;

static const gpu_setting gpu_plain = {.filters = RB_FILTER_ALL};

static inline void
gpu_join(const rb_backend *backend, const rb_set *red, const rb_set *blue, const gpu_setting *set,
		 gpu_answer *a)
{
	rb_memory *memory = rb_memory_create((uint64_t) 100 << 30);
	rb_context ctx;
	rb_job job = {.red = red,
				  .blue = blue,
				  .answer = set->count_only ? RB_COUNT : RB_PAIRS,
				  .predicate = set->predicate,
				  .distance = set->distance,
				  .within_rows = set->within_rows};
	rb_sink sink = {.put = set->no_sink ? gpu_put_nothing : gpu_put, .user = a};
	gpu_groups groups = {.ctx = &ctx, .sink = sink};

	if (set->records)
		sink = (rb_sink){
			.put = gpu_groups_put, .put_records = gpu_groups_put_records, .user = &groups};
	rb_context_init(&ctx, memory);
	ctx.threads = set->threads > 0 ? set->threads : (int) sysconf(_SC_NPROCESSORS_ONLN);
	ctx.settings.grid_resolution = set->resolution;
	ctx.filters = set->filters;
	ctx.settings.gpu_memory_limit = set->gpu_memory;
	ctx.settings.gpu_cache_limit = gpu_cache_limit;
	ctx.settings.devices = gpu_cards;
	ctx.settings.only_devices = true;
	ctx.settings.device_idle_ms = gpu_cache_limit > 0 ? 60000 : 0;
	pthread_mutex_init(&a->lock, NULL);
	a->pairs = a->fingerprint = a->puts = 0;
	a->ms = rb_now_ms();
	a->status = backend->join(&ctx, &job, &sink);
	a->ms = rb_now_ms() - a->ms;
	a->stats = ctx.stats;
	a->error = ctx.error;
	rb_record_reader_free(&ctx, &groups.reader);
	rb_memory_destroy(memory);
}

/* ---- meshes ---- */

/*
 * Returns the triangles that build/volmesh writes for these arguments. Frees nothing; exits after a
 * failure.
 */
static inline rb_set
gpu_volmesh(const char *arguments)
{
	char command[300];
	rb_set o = {.kind = RB_TRIANGLE3, .nparts = 0, .nrows = 0, .coords = NULL};
	size_t room = 0, got = 0;
	double *coords = NULL;
	FILE *in;

	snprintf(command, sizeof(command), "build/volmesh %s --f64", arguments);
	in = popen(command, "r");
	while (in != NULL)
	{
		size_t n;

		if (got == room)
		{
			room = room > 0 ? 2 * room : 9 * 65536;
			coords = realloc(coords, room * sizeof(double));
			if (coords == NULL)
				break;
		}
		n = fread(coords + got, sizeof(double), room - got, in);
		if (n == 0)
			break;
		got += n;
	}
	if (in == NULL || coords == NULL || pclose(in) != 0 || got == 0 || got % 9 != 0)
	{
		fprintf(stderr, "%s: failed\n", command);
		exit(2);
	}
	o.nparts = o.nrows = (uint32_t) (got / 9);
	o.coords = coords;
	return o;
}

#endif /* RB_TEST_GPU_H */
