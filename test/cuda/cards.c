/*
 * cards.c
 *	  Compares several devices that share a join with one of them: pairs and speed.
 *
 *	  cards check [FILLED]		small loads of all kinds: the CPU, one device, each of the others, two,
 *							three, ... of them; FILLED is the number of a device whose memory another
 *							process uses
 *	  cards bench [N [BOXES]]	two volume meshes of 12 N^3 triangles (168), and boxes of the workload
 *							gauss (10^7), with copies of both sides on each device; 1, 2, ...
 *							devices in turn
 *
 * If there is only one device, check uses it as three: each thread has a queue of its own on it.
 *
 * check compares number and fingerprint of pairs, counts and matched rows; bench compares the
 * number of pairs, and their fingerprint once. The columns of bench are milliseconds of a join that
 * only counts, and of one whose sink reads each pair: the median of five rounds, followed by the
 * ratio of its rate to that of one device. A second table has the rates at which the devices copy
 * to pinned memory of the host, alone and while a thread per device reads what has arrived.
 */
#include "check.h"
#include "gpu.h"
#include "workload.h"

#include <cuda_runtime_api.h>

#define ROUNDS 5
#define TURNS 16

static const rb_backend *gpu;   /* The backend with a single device */
static const rb_backend *cards; /* The backend with all its devices */
static rb_backend eager;        /* The backend with a single device that shares small joins, too */
static int devices;
static bool alone;        /* True if the only device is used as several */
static int unusable = -1; /* Number of the device that fails or has no free memory, or -1 */
static bool failing;      /* True if the unusable device fails */
static uint64_t numbers = 1000;

/* ---- one device as several ---- */

#define AS_MANY 3

static int
many_devices(void)
{
	return AS_MANY;
}

static rb_status
many_probe(int device, char *text, size_t size)
{
	return gpu->probe(device < AS_MANY ? 0 : device, text, size);
}

/* Joins on a device, or fails if the device is to fail: after the join if that only counts pairs. */
static rb_status
join_or_fail(rb_context *ctx, const rb_job *job, const rb_sink *sink)
{
	const int device = ctx->device;
	const bool fails = failing && device == unusable;
	rb_status status = RB_OK;

	if (alone)
		ctx->device = 0;
	if (!fails || job->answer == RB_COUNT)
		status = gpu->join(ctx, job, sink);
	ctx->device = device;
	return fails ? rb_fail(ctx, RB_NO_DEVICE, 0, 0, "the device fails in this test") : status;
}

static bool
many_warm(int device)
{
	(void) device;
	return gpu->warm(0);
}

static rb_status
many_open(rb_context *ctx)
{
	const int device = ctx->device;
	rb_status status;

	ctx->device = 0;
	status = gpu->open(ctx);
	ctx->device = device;
	return status;
}

/* ---- loads ---- */

static void
free_set(rb_set *o)
{
	free((void *) o->coords);
	free((void *) o->row_of);
}

/* Groups parts into rows of `each` parts. */
static void
make_rows(rb_set *o, uint32_t each)
{
	uint32_t *row_of = malloc(o->nparts * sizeof(uint32_t));

	for (uint32_t i = 0; i < o->nparts; i++)
		row_of[i] = i / each;
	o->row_of = row_of;
	o->nrows = row_of[o->nparts - 1] + 1;
}

typedef struct making
{
	char args[100];
	rb_set made;
} making;

static void *
make_mesh(void *arg)
{
	making *m = arg;

	m->made = gpu_volmesh(m->args);
	return NULL;
}

/* Generates two meshes concurrently, because large ones take some time. */
static void
make_meshes(rb_set *red, const char *red_args, rb_set *blue, const char *blue_args)
{
	making m[2];
	pthread_t thread;

	snprintf(m[0].args, sizeof(m[0].args), "%s", red_args);
	snprintf(m[1].args, sizeof(m[1].args), "%s", blue_args);
	if (pthread_create(&thread, NULL, make_mesh, &m[0]) != 0)
		exit(2);
	make_mesh(&m[1]);
	pthread_join(thread, NULL);
	*red = m[0].made;
	*blue = m[1].made;
}

typedef struct filling
{
	const workload *w;
	double *coords;
	uint64_t from, to;
} filling;

static void *
fill_boxes(void *arg)
{
	const filling *f = arg;

	workload_fill(f->w, f->from, f->to - f->from, f->coords + 6 * f->from);
	return NULL;
}

static rb_set
make_boxes(const char *name, uint64_t n, int seed)
{
	char text[100];
	filling f[TURNS];
	pthread_t thread[TURNS];
	workload w;
	rb_set o = {.kind = RB_BOX3};
	double *coords = malloc(n * 6 * sizeof(double));

	snprintf(text, sizeof(text), "%s,%lu,%d", name, (unsigned long) n, seed);
	if (coords == NULL || !workload_parse(text, RB_BOX3, &w))
		exit(2);
	for (int i = 0; i < TURNS; i++)
	{
		f[i] = (filling){&w, coords, n * (uint64_t) i / TURNS, n * (uint64_t) (i + 1) / TURNS};
		pthread_create(&thread[i], NULL, fill_boxes, &f[i]);
	}
	for (int i = 0; i < TURNS; i++)
		pthread_join(thread[i], NULL);
	o.nparts = o.nrows = (uint32_t) n;
	o.coords = coords;
	return o;
}

/* ---- check ---- */

/* Lists the masks to be tested: each usable device alone, and the first 2, 3, ... */
static int
masks(uint32_t mask[2 * RB_MAX_DEVICES])
{
	int n = 0;

	for (int i = 0; i < devices; i++)
		if (i != unusable)
			mask[n++] = 1u << i;
	for (int i = 2; i <= devices; i++)
		mask[n++] = (1u << i) - 1;
	return n;
}

static int
shares_of(const rb_stats *stats)
{
	int n = 0;

	for (int i = 0; i < RB_MAX_DEVICES; i++)
		n += (int) stats->card[i].shares;
	return n;
}

static void
pairs_agree(const char *name, const rb_set *red, const rb_set *blue, const gpu_setting *set)
{
	uint32_t mask[2 * RB_MAX_DEVICES];
	const int n = masks(mask);
	gpu_answer want = {0}, got = {0};

	gpu_join(&rb_backend_cpu, red, blue, set, &want);
	CHECK(want.status == RB_OK && want.pairs > 1000, "%s: %s, %lu pairs", name,
		  rb_status_text(want.status), (unsigned long) want.pairs);
	for (int i = 0; i < n; i++)
	{
		const int shared = __builtin_popcount(mask[i]);

		gpu_cards = mask[i];
		gpu_join(cards, red, blue, set, &got);
		CHECK(got.status == RB_OK && got.pairs == want.pairs &&
				  (set->count_only || got.fingerprint == want.fingerprint),
			  "%s, cards %x: %s %s, %lu pairs, not %lu", name, mask[i], rb_status_text(got.status),
			  got.error.text, (unsigned long) got.pairs, (unsigned long) want.pairs);
		/*
		 * For triangles, a device compares extents with few bits, which depend on the positions of
		 * cells.
		 */
		CHECK(red->kind == RB_TRIANGLE3 || got.stats.stage[RB_STAGE_CANDIDATES].count ==
											   want.stats.stage[RB_STAGE_CANDIDATES].count,
			  "%s, cards %x: %lu candidates, not %lu", name, mask[i],
			  (unsigned long) got.stats.stage[RB_STAGE_CANDIDATES].count,
			  (unsigned long) want.stats.stage[RB_STAGE_CANDIDATES].count);
		CHECK(shares_of(&got.stats) == (shared > 1 ? shared : 0), "%s, cards %x: %d shares", name,
			  mask[i], shares_of(&got.stats));
		CHECK(got.stats.hits == got.pairs, "%s: %lu hits", name, (unsigned long) got.stats.hits);
		if (set->count_only || set->distance > 0)
			continue;
		got.stop_after = 100;
		gpu_join(cards, red, blue, set, &got);
		CHECK(got.status == RB_STOPPED, "%s, cards %x: stopped: %s", name, mask[i],
			  rb_status_text(got.status));
		got.stop_after = 0;
	}
}

/* Returns a sum over counts, matched rows and pairs of rows, which are read through a stream. */
static uint64_t
rows_of(const rb_backend *backend, const rb_job *job, uint64_t *emitted)
{
	const rb_set *of = job->of == RB_OF_BLUE && job->blue != NULL ? job->blue : job->red;
	rb_memory *memory = rb_memory_create((uint64_t) 100 << 30);
	rb_stream *stream = NULL;
	uint64_t sum = 0;
	rb_context ctx;
	rb_block block;
	rb_status status;

	rb_context_init(&ctx, memory);
	ctx.threads = (int) sysconf(_SC_NPROCESSORS_ONLN);
	ctx.settings.devices = gpu_cards;
	ctx.settings.only_devices = true;
	status = rb_stream_open(&ctx, backend, job, &stream);
	while (status == RB_OK && (status = rb_stream_next(stream, 20, &block)) == RB_OK)
		for (size_t i = 0; i < block.n; i++)
			sum +=
				gpu_mix((uint64_t) block.red[i] << 32 | (uint64_t) block.blue[i]) +
				(block.payload != NULL ? gpu_mix(block.payload[i] + (uint64_t) block.red[i]) : 0);
	CHECK(status == RB_END, "%s, %s", rb_status_text(status), ctx.error.text);
	if (status == RB_END && rb_stream_words(stream) != NULL)
		for (uint32_t i = 0; i < (job->answer == RB_HITS ? (of->nrows + 31) / 32 : of->nrows); i++)
			sum += gpu_mix((uint64_t) i << 32 | rb_stream_words(stream)[i]);
	*emitted = ctx.stats.stage[RB_STAGE_EMIT].count;
	rb_stream_close(stream);
	rb_memory_destroy(memory);
	return sum;
}

static void
rows_agree(const char *name, const rb_set *red, const rb_set *blue, rb_predicate predicate,
		   double distance)
{
	static const rb_result_form answers[] = {RB_PAIRS, RB_COUNT, RB_COUNTS, RB_HITS};
	uint32_t mask[2 * RB_MAX_DEVICES];
	const int n = masks(mask);

	for (int k = 0; k < (predicate == RB_MEET ? 4 : 3); k++)
	{
		const rb_job job = {.red = red,
							.blue = blue,
							.predicate = predicate,
							.distance = distance,
							.answer = answers[k],
							.of = blue == NULL ? RB_OF_BOTH
								  : k % 2      ? RB_OF_BLUE
											   : RB_OF_RED};
		uint64_t emitted[2];
		const uint64_t want = rows_of(&rb_backend_cpu, &job, &emitted[0]);

		CHECK(emitted[0] > 500, "%s: %lu rows", name, (unsigned long) emitted[0]);
		for (int i = 0; i < n; i++)
		{
			gpu_cards = mask[i];
			CHECK(rows_of(cards, &job, &emitted[1]) == want && emitted[1] == emitted[0],
				  "%s, answer %d, cards %x: %lu, not %lu", name, k, mask[i],
				  (unsigned long) emitted[1], (unsigned long) emitted[0]);
		}
	}
}

static void
meshes(void)
{
	static const struct
	{
		const char *name, *red, *blue;
	} load[] = {{"volmesh", "30 1 0.2", "30 2 0.2 0.31 0.17 0.23"},
				{"lattices", "24 1 0", "24 2 0 0 0.5 0.25"},
				{"one lattice", "24 1 0", "24 2 0"},
				{"UTM", "20 1 0.2 0 0 0 0 500000 4650000 120",
				 "20 2 0.2 0.31 0.17 0.23 0 500000 4650000 120"}};

	for (size_t i = 0; i < sizeof(load) / sizeof(load[0]); i++)
	{
		gpu_setting set = gpu_plain;
		rb_set red, blue;
		char name[100];

		make_meshes(&red, load[i].red, &blue, load[i].blue);
		pairs_agree(load[i].name, &red, &blue, &set);
		snprintf(name, sizeof(name), "%s, itself", load[i].name);
		pairs_agree(name, &red, NULL, &set);
		set.count_only = true;
		snprintf(name, sizeof(name), "%s, number", load[i].name);
		pairs_agree(name, &red, &blue, &set);
		set.count_only = false;
		set.predicate = RB_CONTACT;
		snprintf(name, sizeof(name), "%s, contacts", load[i].name);
		pairs_agree(name, &red, &blue, &set);
		set.predicate = RB_WITHIN;
		set.distance = 0.003;
		snprintf(name, sizeof(name), "%s, within", load[i].name);
		if (i < 3)
			pairs_agree(name, &red, &blue, &set);
		set = gpu_plain;
		set.filters = 0;
		snprintf(name, sizeof(name), "%s, exact", load[i].name);
		if (i == 1)
			pairs_agree(name, &red, &blue, &set);
		free_set(&red);
		free_set(&blue);
	}
}

static void
boxes(void)
{
	static const char *const names[] = {"uniform", "gauss", "doct3:1"};

	for (size_t i = 0; i < 3; i++)
	{
		rb_set red = make_boxes(names[i], 200000, 1), blue = make_boxes(names[i], 150000, 2);
		gpu_setting set = gpu_plain;

		pairs_agree(names[i], &red, &blue, &set);
		pairs_agree(names[i], &red, NULL, &set);
		set.count_only = true;
		pairs_agree(names[i], &red, NULL, &set);
		/* In portions, because the device has little memory */
		set = gpu_plain;
		set.gpu_memory = (uint64_t) 40 << 20;
		pairs_agree(names[i], &red, &blue, &set);
		pairs_agree(names[i], &red, NULL, &set);
		free_set(&red);
		free_set(&blue);
	}
}

static void
rows(void)
{
	for (uint32_t each = 1; each < 20; each += 11)
	{
		rb_set red, blue, box = make_boxes("gauss", 100000, 1),
						  others = make_boxes("gauss", 90000, 2);

		make_meshes(&red, "18 1 0.2", &blue, "18 2 0.2 0.31 0.17 0.23");
		if (each > 1)
		{
			make_rows(&red, each);
			make_rows(&blue, each / 2);
			make_rows(&box, each);
			make_rows(&others, each);
		}
		rows_agree("rows of triangles", &red, &blue, RB_MEET, 0);
		rows_agree("rows of triangles, one table", &red, NULL, RB_MEET, 0);
		rows_agree("contacts of rows", &red, &blue, RB_CONTACT, 0);
		rows_agree("distances of rows", &red, &blue, RB_WITHIN, 0.004);
		rows_agree("rows of boxes", &box, &others, RB_MEET, 0);
		rows_agree("rows of boxes, one table", &box, NULL, RB_MEET, 0);
		free_set(&red);
		free_set(&blue);
		free_set(&box);
		free_set(&others);
	}
}

/* Tests copies on each device, and their removal from all of them. */
static void
kept(void)
{
	gpu_setting set = gpu_plain;
	rb_set red, blue;
	uint64_t bytes;

	make_meshes(&red, "20 1 0.2", &blue, "20 2 0.2 0.31 0.17 0.23");
	red.number = ++numbers;
	blue.number = ++numbers;
	bytes = (uint64_t) red.nparts * 72;
	gpu_cache_limit = UINT64_MAX;
	pairs_agree("kept", &red, &blue, &set);
	pairs_agree("kept, again", &red, &blue, &set);
	bytes *= (uint64_t) gpu->devices();
	CHECK(cards->copy_bytes(red.number, false) == bytes, "%lu bytes of copies",
		  (unsigned long) cards->copy_bytes(red.number, false));
	CHECK(cards->copy_bytes(red.number, true) == 0 && cards->copy_bytes(red.number, false) == 0,
		  "copies that were given up");
	cards->copy_bytes(blue.number, true);
	gpu_cache_limit = 0;
	free_set(&red);
	free_set(&blue);
}

/* Lets each device fail in turn: the others do its partitions. */
static void
devices_that_fail(void)
{
	failing = true;
	for (unusable = 0; unusable < devices; unusable++)
	{
		gpu_setting set = gpu_plain;
		rb_set red, blue, box = make_boxes("gauss", 100000, 1);

		make_meshes(&red, "24 1 0.2", &blue, "24 2 0.2 0.31 0.17 0.23");
		pairs_agree("a device fails", &red, &blue, &set);
		pairs_agree("a device fails, boxes", &box, NULL, &set);
		rows_agree("a device fails, rows", &red, &blue, RB_MEET, 0);
		set.count_only = true;
		pairs_agree("a device fails after counting", &red, &blue, &set);
		free_set(&red);
		free_set(&blue);
		free_set(&box);
	}
	unusable = -1;
	failing = false;
}

static void
devices_that_are_not_there(void)
{
	rb_set red = gpu_volmesh("9 1 0.2");
	gpu_answer got = {0};

	gpu_cards = 1u << 15 | 1u;
	gpu_join(cards, &red, NULL, &gpu_plain, &got);
	CHECK(got.status == RB_NO_DEVICE &&
			  strstr(got.error.text, "CUDA device 15 does not exist") != NULL,
		  "%s: %s", rb_status_text(got.status), got.error.text);
	gpu_cards = 0;
	free_set(&red);
}

/* ---- bench ---- */

static int failed = 0;

static int
by_size(const void *x, const void *y)
{
	double a = *(const double *) x, b = *(const double *) y;

	return a < b ? -1 : a > b;
}

static double
median(double *x)
{
	qsort(x, ROUNDS, sizeof(double), by_size);
	return x[ROUNDS / 2];
}

static void
measure(const char *name, const rb_set *red, const rb_set *blue, bool pairs)
{
	double ms[RB_MAX_DEVICES + 1][2][ROUNDS], one[2] = {0, 0};
	gpu_setting counted = gpu_plain;
	uint64_t found = 0, fingerprint = 0;
	gpu_answer a = {0};

	gpu_cache_limit = (uint64_t) 40 << 30;
	counted.count_only = true;
	/*
	 * Opens all devices and copies both sides to them. A device without them would leave its
	 * partition to others.
	 */
	for (int i = 0; i < devices; i++)
	{
		gpu_cards = 1u << i;
		gpu_join(cards, red, blue, &counted, &a);
	}
	for (int round = -2; round < ROUNDS; round++)
		for (int n = 1; n <= devices; n++)
			for (int k = 0; k < (pairs ? 2 : 1); k++)
			{
				gpu_setting set = gpu_plain;

				set.count_only = k == 0;
				set.no_sink = k == 1 && round != -1;
				gpu_cards = (1u << n) - 1;
				gpu_join(cards, red, blue, &set, &a);
				if (round == -2 && n == 1 && k == 0)
					found = a.pairs;
				if (round == -1 && n == 1 && k == 1)
					fingerprint = a.fingerprint;
				if (a.status != RB_OK || a.pairs != found ||
					(round == -1 && k == 1 && a.fingerprint != fingerprint))
				{
					printf("not ok %s, %d cards: %s %s, %lu pairs, not %lu\n", name, n,
						   rb_status_text(a.status), a.error.text, (unsigned long) a.pairs,
						   (unsigned long) found);
					failed = 1;
					return;
				}
				if (round >= 0)
					ms[n][k][round] = a.ms;
				if (round == -2 || round == ROUNDS - 1)
				{
					fprintf(stderr, "%s, %d cards, %s, round %d: %.2f ms:", name, n,
							k == 0 ? "number" : "pairs", round, a.ms);
					for (int s = RB_STAGE_UPLOAD; s <= RB_STAGE_DOWNLOAD; s++)
						fprintf(stderr, " %s %.2f", rb_stage_name(s), a.stats.stage[s].ms);
					fprintf(stderr, "; plan %.2f map %.2f schedule %.2f", a.stats.grid_ms[0],
							a.stats.grid_ms[1], a.stats.grid_ms[2]);
					for (int i = 0; i < RB_MAX_DEVICES; i++)
						if (a.stats.card[i].shares > 0)
							fprintf(stderr, "; card %d: %u shares, %.2f ms, %lu hits", i,
									a.stats.card[i].shares, a.stats.card[i].ms,
									(unsigned long) a.stats.card[i].hits);
					fprintf(stderr, "\n");
				}
			}
	for (int n = 1; n <= devices; n++)
	{
		printf("| %s | %u x %u | %lu | %d |", name, red->nparts, blue ? blue->nparts : red->nparts,
			   (unsigned long) found, n);
		for (int k = 0; k < 2; k++)
			if (k == 0 || pairs)
			{
				const double t = median(ms[n][k]);

				if (n == 1)
					one[k] = t;
				printf(" %.2f | %.2f |", t, one[k] / t);
			}
			else
				printf(" | |");
		printf("\n");
	}
	fflush(stdout);
	gpu_cache_limit = 0;
}

/* ---- the buses ---- */

#define COPIED ((size_t) 1 << 28) /* Bytes of a copy */
#define COPIES 24

typedef struct copying
{
	int device;
	bool reads; /* True if the thread also reads what arrives */
	void *from;
	char *to[2];
	cudaStream_t stream;
	pthread_t thread;
	uint64_t sum;
	bool failed;
} copying;

/* Sums the words of a copy. */
static uint64_t
sum_words(const char *bytes)
{
	const uint64_t *words = (const uint64_t *) bytes;
	uint64_t sum = 0;

	for (size_t i = 0; i < COPIED / sizeof(*words); i++)
		sum += words[i];
	return sum;
}

/* Copies to two buffers of the host in turn; while one is filled, the thread reads the other. */
static void *
copy_to_host(void *arg)
{
	copying *c = arg;

	c->failed = cudaSetDevice(c->device) != cudaSuccess;
	for (int i = 0; i < COPIES && !c->failed; i++)
	{
		c->failed = cudaMemcpyAsync(c->to[i % 2], c->from, COPIED, cudaMemcpyDeviceToHost,
									c->stream) != cudaSuccess;
		if (c->reads && i > 0)
			c->sum += sum_words(c->to[(i - 1) % 2]);
		c->failed |= cudaStreamSynchronize(c->stream) != cudaSuccess;
	}
	return NULL;
}

/* Prints how many gigabytes per second arrive in the host's memory from 1, 2, ... devices. */
static void
measure_copies_to_host(void)
{
	copying c[RB_MAX_DEVICES];
	double one[2] = {0, 0};

	memset(c, 0, sizeof(c));
	for (int i = 0; i < devices; i++)
	{
		c[i].device = i;
		if (cudaSetDevice(i) != cudaSuccess || cudaMalloc(&c[i].from, COPIED) != cudaSuccess ||
			cudaMemset(c[i].from, i, COPIED) != cudaSuccess ||
			cudaMallocHost((void **) &c[i].to[0], COPIED) != cudaSuccess ||
			cudaMallocHost((void **) &c[i].to[1], COPIED) != cudaSuccess ||
			cudaStreamCreate(&c[i].stream) != cudaSuccess)
		{
			printf("# no memory for the copies\n");
			return;
		}
	}
	printf("| cards | copied, GB/s | times | copied and read, GB/s | times |\n");
	printf("|---:|---:|---:|---:|---:|\n");
	for (int n = 1; n <= devices; n++)
	{
		printf("| %d |", n);
		for (int reads = 0; reads < 2; reads++)
		{
			const double began = rb_now_ms();
			double rate;

			for (int i = 0; i < n; i++)
			{
				c[i].reads = reads;
				CHECK(pthread_create(&c[i].thread, NULL, copy_to_host, &c[i]) == 0, "a thread");
			}
			for (int i = 0; i < n; i++)
			{
				pthread_join(c[i].thread, NULL);
				CHECK(!c[i].failed, "device %d: the copy failed", i);
			}
			rate = 1e-6 * (double) n * COPIES * COPIED / (rb_now_ms() - began);
			if (n == 1)
				one[reads] = rate;
			printf(" %.1f | %.2f |", rate, rate / one[reads]);
		}
		printf("\n");
	}
	for (int i = 0; i < devices; i++)
	{
		(void) cudaSetDevice(i);
		(void) cudaStreamDestroy(c[i].stream);
		(void) cudaFreeHost(c[i].to[0]);
		(void) cudaFreeHost(c[i].to[1]);
		(void) cudaFree(c[i].from);
	}
}

/* Removes the copies, to make room for the next ones. */
static void
forget(rb_set *o)
{
	cards->copy_bytes(o->number, true);
	free_set(o);
}

static void
bench(int n, uint64_t nboxes)
{
	const double began = rb_now_ms();
	char red_args[100], blue_args[100], name[100];
	rb_set red, blue;

	printf("| load | objects | pairs | cards | number, ms | times | pairs, ms | times |\n");
	printf("|---|---:|---:|---:|---:|---:|---:|---:|\n");
	red = make_boxes("gauss", nboxes, 1);
	red.number = ++numbers;
	measure("boxes, gauss, themselves", &red, NULL, false);
	forget(&red);
	red = make_boxes("uniform", nboxes, 1);
	blue = make_boxes("uniform", nboxes, 2);
	red.number = ++numbers;
	blue.number = ++numbers;
	measure("boxes, uniform", &red, &blue, true);
	forget(&red);
	forget(&blue);
	for (int size = n / 2; size <= n; size += n - n / 2)
	{
		snprintf(red_args, sizeof(red_args), "%d 1 0.2", size);
		snprintf(blue_args, sizeof(blue_args), "%d 2 0.2 0.31 0.17 0.23", size);
		make_meshes(&red, red_args, &blue, blue_args);
		fprintf(stderr, "meshes are there after %.1f s\n", (rb_now_ms() - began) / 1000);
		red.number = ++numbers;
		blue.number = ++numbers;
		snprintf(name, sizeof(name), "volmesh %d", size);
		measure(name, &red, &blue, true);
		forget(&red);
		forget(&blue);
	}
	measure_copies_to_host();
	fprintf(stderr, "all took %.1f s\n", (rb_now_ms() - began) / 1000);
}

int
main(int argc, char **argv)
{
	const bool times = argc > 1 && strcmp(argv[1], "bench") == 0;
	char text[200];

	gpu = gpu_open();
	if (gpu == NULL)
		return 1;
	/* Small joins are shared, too. */
	eager = *gpu;
	eager.share_parts = times ? gpu->share_parts : 1000;
	alone = !times && gpu->devices() == 1;
	if (alone)
	{
		eager.devices = many_devices;
		eager.probe = many_probe;
		eager.warm = many_warm;
		eager.open = many_open;
	}
	if (!times)
		eager.join = join_or_fail;
	cards = rb_backend_multi_device(&eager);
	devices = cards->devices();
	cards->probe(-1, text, sizeof(text));
	printf("# %d devices: %s\n", devices, text);
	if (times)
	{
		bench(argc > 2 ? atoi(argv[2]) : 168, argc > 3 ? strtoull(argv[3], NULL, 10) : 10000000);
		return failed;
	}
	unusable = argc > 2 ? atoi(argv[2]) : -1;
	CHECK_RUN(devices_that_are_not_there);
	CHECK_RUN(meshes);
	CHECK_RUN(boxes);
	CHECK_RUN(rows);
	if (unusable < 0)
	{
		CHECK_RUN(kept);
		CHECK_RUN(devices_that_fail);
	}
	return check_done();
}
