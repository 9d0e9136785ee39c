/*
 * stream.c
 *	  Tests the stream between a backend and its reader.
 *
 * A backend made for the test writes from many threads. The reader is fast, slow, leaves early, or
 * receives an error. The test also checks what the stream guarantees to every backend about
 * signals, rounding modes and stacks.
 */
#define _GNU_SOURCE
#include "fixtures.h"
#include "core/base/redblue.h"

#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- a backend of a few threads that writes what the test requests ---- */

#define HANDS 5

static struct
{
	uint32_t each;       /* Pairs of a thread: (thread, 0), (thread, 1), ... */
	uint32_t batch;      /* Maximum number of pairs per write */
	uint32_t fail_after; /* Pairs after which thread 0 fails with RB_DEVICE_FAILED; 0 if never */
	long pause;          /* Pause after each write */
	rb_context *ctx;
	const rb_sink *sink;
	uint32_t put[HANDS]; /* Pairs that the sink accepted */
	rb_status status[HANDS];
	bool signals_blocked;
	bool rounds_to_nearest;
} stub;

static void *
hand(void *arg)
{
	uint32_t t = (uint32_t) (uintptr_t) arg;
	rb_pair *pairs = malloc(stub.batch * sizeof(rb_pair));
	uint32_t random = t + 1;

	while (stub.put[t] < stub.each && stub.status[t] == RB_OK)
	{
		uint32_t n;

		random = random * 1664525 + 1013904223;
		n = 1 + (random >> 8) % stub.batch;
		n = n < stub.each - stub.put[t] ? n : stub.each - stub.put[t];
		for (uint32_t i = 0; i < n; i++)
			pairs[i] = (rb_pair){t, stub.put[t] + i};
		stub.status[t] = stub.sink->put(stub.sink->user, pairs, n);
		stub.put[t] += stub.status[t] == RB_OK ? n : 0;
		if (stub.pause > 0)
			sleep_us(stub.pause);
		if (t == 0 && stub.fail_after > 0 && stub.put[t] >= stub.fail_after)
			stub.status[t] = rb_fail(stub.ctx, RB_DEVICE_FAILED, 0, 0, "for the test");
	}
	free(pairs);
	return NULL;
}

static rb_status
stub_join(rb_context *ctx, const rb_job *job, const rb_sink *sink)
{
	pthread_t thread[HANDS];
	rb_status status = RB_OK;
	sigset_t mask;
	volatile double one = 1, tiny = 0x1p-60;

	(void) job;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	stub.signals_blocked = sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM) &&
						   sigismember(&mask, SIGALRM) && sigismember(&mask, SIGUSR1);
	stub.rounds_to_nearest = fegetround() == FE_TONEAREST && one + tiny == 1 && one - tiny == 1;
	stub.ctx = ctx;
	stub.sink = sink;
	for (uintptr_t t = 0; t < HANDS; t++)
	{
		stub.put[t] = 0;
		stub.status[t] = RB_OK;
		pthread_create(&thread[t], NULL, hand, (void *) t);
	}
	for (int t = 0; t < HANDS; t++)
		pthread_join(thread[t], NULL);
	for (int t = 0; t < HANDS; t++)
		if (stub.status[t] != RB_OK && (status == RB_OK || status == RB_STOPPED))
			status = stub.status[t];
	return status;
}

static const rb_backend stub_backend = {
	.name = "stub", .probe = stub_probe, .join = stub_join, .warm = stub_warm};

/* A run with HANDS red rows and many blue ones. `group` is the number of parts of a blue row. */
typedef struct run
{
	rb_memory *memory;
	rb_context ctx;
	rb_set red, blue;
	rb_job job;
	rb_stream *stream;
	uint32_t group;
	uint8_t *seen;
	uint64_t n;
} run;

static void
start_job(run *r, uint32_t each, uint32_t batch, uint32_t group, rb_job job)
{
	static const double nothing[9];

	memset(r, 0, sizeof(*r));
	stub.each = each;
	stub.batch = batch;
	r->memory = rb_memory_create((uint64_t) 1 << 30);
	rb_context_init(&r->ctx, r->memory);
	r->group = group;
	r->red = (rb_set){.kind = RB_TRIANGLE3, .nparts = HANDS, .nrows = HANDS, .coords = nothing};
	r->blue = (rb_set){.kind = RB_TRIANGLE3,
					   .nparts = each,
					   .nrows = (each + group - 1) / group,
					   .coords = nothing};
	if (group > 1)
	{
		uint32_t *row_of = malloc(each * sizeof(uint32_t));

		for (uint32_t i = 0; i < each; i++)
			row_of[i] = i / group;
		r->blue.row_of = row_of;
	}
	r->job = job;
	r->job.red = &r->red;
	r->job.blue = &r->blue;
	r->seen = calloc(HANDS, each);
	CHECK(rb_stream_open(&r->ctx, &stub_backend, &r->job, &r->stream) == RB_OK, "open");
}

static void
start(run *r, uint32_t each, uint32_t batch, uint32_t group, bool count_only)
{
	start_job(r, each, batch, group, (rb_job){.answer = count_only ? RB_COUNT : RB_PAIRS});
}

static void
take(run *r, const rb_block *block)
{
	for (size_t i = 0; i < block->n; i++)
	{
		rb_pair p = {(uint32_t) block->red[i], (uint32_t) block->blue[i]};

		CHECK(p.red < HANDS && p.blue < r->blue.nrows, "pair (%u, %u)", p.red, p.blue);
		if (p.red < HANDS && p.blue < r->blue.nrows)
			CHECK(r->seen[(size_t) p.red * r->blue.nrows + p.blue]++ == 0, "(%u, %u) again", p.red,
				  p.blue);
	}
	/* The whole block belongs to the caller, with some room in front of it. */
	if (block->n > 0)
	{
		memset(block->red - 1, 0xff, (block->n + 1) * sizeof(int64_t));
		memset(block->blue - 1, 0xff, (block->n + 1) * sizeof(int64_t));
	}
	r->n += block->n;
}

static void
finish(run *r)
{
	rb_stream_close(r->stream);
	CHECK(rb_memory_used(r->memory) == 0, "memory left");
	rb_memory_destroy(r->memory);
	free((void *) r->blue.row_of);
	free(r->seen);
}

#ifdef RB_SMALL
#define EACH 3000
#else
#define EACH 300000
#endif

/* ---- cases ---- */

static void
all_arrive(void)
{
	static const struct
	{
		uint32_t batch, group;
		int wait;
		long pause; /* Pause of the reader after every batch */
	} way[] = {{1, 1, 10, 0},     {4096, 1, 10, 0}, {100000, 1, 0, 0}, {4096, 1, 0, 300},
			   {100000, 1, 1, 0}, {77, 7, 10, 0},   {4096, 50, 1, 300}};

	stub.fail_after = 0;
	for (size_t k = 0; k < sizeof(way) / sizeof(way[0]); k++)
	{
		run r;
		rb_block block;
		rb_status status;

		start(&r, EACH, way[k].batch, way[k].group, false);
		while ((status = rb_stream_next(r.stream, way[k].wait, &block)) == RB_OK)
		{
			take(&r, &block);
			if (way[k].pause > 0)
				sleep_us(way[k].pause);
		}
		CHECK(status == RB_END, "way %zu: %s", k, rb_status_text(status));
		CHECK(r.n == (uint64_t) HANDS * r.blue.nrows, "way %zu: %lu pairs", k, (unsigned long) r.n);
		CHECK(rb_stream_next(r.stream, 0, &block) == RB_END && block.n == 0, "the end stays");
		CHECK(r.ctx.stats.stage[RB_STAGE_EMIT].count == r.n, "counted %lu",
			  (unsigned long) r.ctx.stats.stage[RB_STAGE_EMIT].count);
		finish(&r);
	}
}

/*
 * Tests that all blocks except the last are full, however slow the join is and however few pairs
 * there are.
 */
static void
full_blocks(void)
{
	static const struct
	{
		uint32_t each, batch;
		int wait;
		long pause; /* Pause of the join after every batch */
	} way[] = {{EACH, 4096, 0, 300}, {EACH, 5, 0, 0}, {EACH, 77, 10, 0}, {1, 1, 0, 0}};

	stub.fail_after = 0;
	for (size_t k = 0; k < sizeof(way) / sizeof(way[0]); k++)
	{
		run r;
		rb_block block;
		rb_status status;
		size_t last = 0, most = 0;

		stub.pause = way[k].pause;
		start_job(&r, way[k].each, way[k].batch, 1, (rb_job){.answer = RB_PAIRS, .whole = true});
		while ((status = rb_stream_next(r.stream, way[k].wait, &block)) == RB_OK)
			if (block.n > 0)
			{
				CHECK(last == most, "%zu pairs, then %zu more", last, block.n);
				last = block.n;
				most = last > most ? last : most;
				take(&r, &block);
			}
		CHECK(status == RB_END, "way %zu: %s", k, rb_status_text(status));
		CHECK(r.n == (uint64_t) HANDS * way[k].each, "way %zu: %lu pairs", k, (unsigned long) r.n);
		stub.pause = 0;
		finish(&r);
	}
}

static void
counted_only(void)
{
	for (uint32_t group = 1; group < 10; group += 4)
	{
		run r;
		rb_block block;
		rb_status status;

		start(&r, EACH, 1000, group, true);
		while ((status = rb_stream_next(r.stream, 10, &block)) == RB_OK)
			CHECK(block.n == 0, "%zu pairs handed out", block.n);
		CHECK(status == RB_END, "%s", rb_status_text(status));
		CHECK(r.ctx.stats.stage[RB_STAGE_EMIT].count == (uint64_t) HANDS * r.blue.nrows,
			  "counted %lu", (unsigned long) r.ctx.stats.stage[RB_STAGE_EMIT].count);
		finish(&r);
	}
}

/* Tests closing after a number of batches, with the stream empty, full, or held by the reader. */
static void
closed_early(void)
{
	for (int batches = 0; batches < 12; batches++)
	{
		run r;
		rb_block block;
		double began;

		start(&r, 4 * EACH, 1000, batches % 3 == 0 ? 3 : 1, false);
		for (int i = 0; i < batches; i++)
			if (rb_stream_next(r.stream, 1000, &block) == RB_OK)
				take(&r, &block);
		if (batches % 2 == 0)
			sleep_us(3000);
		began = check_work_ms();
		rb_stream_close(r.stream);
		r.stream = NULL;
		CHECK(check_work_ms() - began < 2000, "closing took %g ms of work",
			  check_work_ms() - began);
		finish(&r);
	}
}

/*
 * Tests a stop requested by another thread while the reader holds a block: the next calls report
 * it.
 */
static void
stopped(void)
{
	run r;
	rb_block block;
	rb_status status;

	start(&r, 4 * EACH, 1000, 1, false);
	CHECK(rb_stream_next(r.stream, 1000, &block) == RB_OK, "a batch");
	take(&r, &block);
	sleep_us(5000);
	rb_context_stop(&r.ctx);
	while ((status = rb_stream_next(r.stream, 10, &block)) == RB_OK)
		take(&r, &block);
	CHECK(status == RB_STOPPED, "%s", rb_status_text(status));
	CHECK(rb_stream_next(r.stream, 10, &block) == RB_STOPPED && block.n == 0, "it stays stopped");
	finish(&r);
}

/*
 * Work that an interrupt stopped is done again if the interrupt does not end the statement. Its
 * stream was closed before the end, and must not leave the context stopped.
 */
static void
closed_and_started_again(void)
{
	run r;
	rb_block block;

	start(&r, 4 * EACH, 1000, 1, false);
	CHECK(rb_stream_next(r.stream, 1000, &block) == RB_OK, "a batch");
	rb_stream_close(r.stream);
	CHECK(!rb_should_stop(&r.ctx), "the context is stopped");
	CHECK(rb_stream_open(&r.ctx, &stub_backend, &r.job, &r.stream) == RB_OK, "open again");
	CHECK(rb_stream_next(r.stream, 1000, &block) == RB_OK && block.n > 0, "a batch again");
	rb_context_stop(&r.ctx);
	rb_stream_close(r.stream);
	r.stream = NULL;
	CHECK(rb_should_stop(&r.ctx), "a request to stop is lost");
	finish(&r);
}

static void
failure_in_the_middle(void)
{
	for (int slow = 0; slow < 2; slow++)
	{
		run r;
		rb_block block;
		rb_status status;

		stub.fail_after = EACH / 2;
		start(&r, EACH, 1000, 1, false);
		while ((status = rb_stream_next(r.stream, 10, &block)) == RB_OK)
		{
			take(&r, &block);
			if (slow)
				sleep_us(200);
		}
		CHECK(status == RB_DEVICE_FAILED, "%s", rb_status_text(status));
		CHECK(r.ctx.error.status == RB_DEVICE_FAILED &&
				  strcmp(r.ctx.error.text, "for the test") == 0,
			  "%s", r.ctx.error.text);
		stub.fail_after = 0;
		finish(&r);
	}
}

static void
signals_and_rounding(void)
{
	run r;
	rb_block block;
	sigset_t before = {0}, after = {0};

	pthread_sigmask(SIG_SETMASK, NULL, &before);
	fesetround(FE_UPWARD);
	start(&r, 10, 10, 1, false);
	CHECK(fegetround() == FE_UPWARD, "the caller's rounding is its own");
	fesetround(FE_TONEAREST);
	while (rb_stream_next(r.stream, 10, &block) == RB_OK)
		take(&r, &block);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	CHECK(memcmp(&before, &after, sizeof(before)) == 0, "the caller's signals are its own");
	CHECK(stub.signals_blocked, "signals reach the join");
	CHECK(stub.rounds_to_nearest, "the join does not round to nearest");
	finish(&r);
}

static void
no_stream(void)
{
	static const double nothing[9];
	rb_set o = {.kind = RB_TRIANGLE3, .nparts = 1, .nrows = 1, .coords = nothing};
	rb_job job = {.red = &o, .blue = &o, .answer = RB_PAIRS};
	rb_stream *stream = (rb_stream *) &job;

	for (uint64_t limit = 0; limit < 3000000; limit += 100000)
	{
		rb_memory *memory = rb_memory_create(limit);
		rb_context ctx;
		rb_status status;

		rb_context_init(&ctx, memory);
		status = rb_stream_open(&ctx, &stub_backend, &job, &stream);
		if (status == RB_OK)
		{
			rb_stream_close(stream);
			limit = 3000000;
		}
		else
			CHECK(status == RB_OVER_BUDGET && stream == NULL && ctx.error.limit == limit, "%s",
				  rb_status_text(status));
		CHECK(rb_memory_used(memory) == 0, "memory left");
		rb_memory_destroy(memory);
	}
	rb_stream_close(NULL);
	for (int side = 0; side < 2; side++)
	{
		rb_memory *memory = rb_memory_create((uint64_t) 1 << 30);
		rb_set many = {.kind = RB_TRIANGLE3,
					   .nparts = RB_MAX_OBJECTS + 1,
					   .nrows = RB_MAX_OBJECTS + 1,
					   .coords = nothing};
		rb_job large = {.red = side ? &o : &many, .blue = side ? &many : NULL, .answer = RB_PAIRS};
		rb_context ctx;

		rb_context_init(&ctx, memory);
		CHECK(rb_stream_open(&ctx, &stub_backend, &large, &stream) == RB_TOO_MANY_OBJECTS &&
				  stream == NULL && ctx.error.need == RB_MAX_OBJECTS + 1u,
			  "need %lu", (unsigned long) ctx.error.need);
		rb_memory_destroy(memory);
	}
}

/* ---- with the CPU backend ---- */

/*
 * Counts all pairs of n copies of a triangle, or of triangles at every scale. Stops after
 * `stop_after_ms` of work unless it is 0; took_ms is then the work until everything is closed.
 */
static uint64_t
count(double *t, uint32_t n, uint32_t resolution, double stop_after_ms, double *took_ms)
{
	rb_memory *memory = rb_memory_create((uint64_t) 2 << 30);
	rb_set o = {.kind = RB_TRIANGLE3, .nparts = n, .nrows = n, .coords = t};
	rb_job job = {.red = &o, .blue = &o, .answer = RB_COUNT};
	rb_context ctx;
	rb_stream *stream;
	rb_block block;
	rb_status status;
	uint64_t pairs;
	double began = check_work_ms();

	rb_context_init(&ctx, memory);
	ctx.threads = 2;
	ctx.settings.grid_resolution = resolution;
	status = rb_stream_open(&ctx, &rb_backend_cpu, &job, &stream);
	while (status == RB_OK && (status = rb_stream_next(stream, 5, &block)) == RB_OK)
		if (stop_after_ms > 0 && check_work_ms() - began > stop_after_ms)
			break;
	CHECK(status == (stop_after_ms > 0 ? RB_OK : RB_END), "%s", rb_status_text(status));
	began = check_work_ms();
	rb_stream_close(stream);
	*took_ms = check_work_ms() - began;
	pairs = ctx.stats.stage[RB_STAGE_EMIT].count;
	CHECK(rb_memory_used(memory) == 0, "memory left");
	rb_memory_destroy(memory);
	return pairs;
}

/* Tests giants that fill millions of cells each: a stop does not wait for the end of an object. */
static void
stopped_in_the_grid(void)
{
	uint32_t n = 3000;
	double *t = malloc((size_t) n * 72);
	stop_delay delay = {0};
	double ms;

	for (uint32_t i = 0; i < n; i++)
		for (int k = 0; k < 9; k++)
			t[9 * (size_t) i + k] = (k % 4 == 0 ? 1 : 0) + (double) check_below(1000) * 1e-6;
	do
		count(t, n, 250, 100, &ms);
	while (repeats_late_stop(&delay, ms, 2000));
	CHECK(delay.worst_ms < 2000, "stopping took %g ms of work", delay.worst_ms);
	free(t);
}

#define FAR 256 /* Number of pairs */

/* Writes all pairs of red with the first blue object that are within the distance, in one call. */
static rb_status
put_far(rb_context *ctx, const rb_job *job, const rb_sink *sink)
{
	rb_pair pairs[FAR];

	(void) ctx, (void) job;
	for (uint32_t i = 0; i < FAR; i++)
		pairs[i] = (rb_pair){i, 0};
	return sink->put(sink->user, pairs, FAR);
}

static double
tell_far(double *t, double stop_after_ms)
{
	static const rb_backend backend = {.name = "far", .join = put_far};
	rb_memory *memory = rb_memory_create((uint64_t) 2 << 30);
	rb_set red = {.kind = RB_TRIANGLE3, .nparts = FAR, .nrows = FAR, .coords = t};
	rb_set blue = {.kind = RB_TRIANGLE3, .nparts = 1, .nrows = 1, .coords = t + 9 * FAR};
	rb_job job = {.red = &red, .blue = &blue, .predicate = RB_WITHIN, .distance = DBL_MAX};
	rb_context ctx;
	rb_stream *stream;
	rb_block block;
	rb_status status;
	double began = check_work_ms();

	rb_context_init(&ctx, memory);
	status = rb_stream_open(&ctx, &backend, &job, &stream);
	while (status == RB_OK && check_work_ms() - began < stop_after_ms)
		status = rb_stream_next(stream, 1, &block);
	CHECK(status == RB_OK || status == RB_END, "%s", rb_status_text(status));
	if (status == RB_OK)
		began = check_work_ms();
	rb_stream_close(stream);
	rb_memory_destroy(memory);
	return check_work_ms() - began;
}

/*
 * Tests distances between numbers of very different size, which take a long time: a stop does not
 * wait for the end of a write.
 */
static void
stopped_in_distances(void)
{
	static double t[9 * (FAR + 1)];
	stop_delay delay = {0};
	double all;

	for (int i = 0; i < 9 * (FAR + 1); i++)
		t[i] = ldexp(1 + check_below(1000000) * 1e-6, check_below(2000) - 1000);
	all = tell_far(t, HUGE_VAL);
	while (repeats_late_stop(&delay, tell_far(t, all / 10), all / 2))
		;
	CHECK(delay.worst_ms < all / 2, "stopping took %g of %g ms of work", delay.worst_ms, all);
}

/* Tests deep recursion on small stacks, with a caller that rounds upward and flushes denormals. */
static void
small_stacks(void)
{
	uint32_t n = 6000;
	double *t = malloc((size_t) n * 72);
	pthread_attr_t attr, old;
	uint64_t want, got;
	double ms;

	for (uint32_t i = 0; i < n; i++)
	{
		double scale = ldexp(1, -check_below(900));

		for (int k = 0; k < 9; k++)
			t[9 * (size_t) i + k] = scale * check_below(1000) / 1000;
	}
	want = count(t, n, 0, 0, &ms);
	CHECK(want >= n, "%lu pairs", (unsigned long) want);
	pthread_getattr_default_np(&old);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 20);
	pthread_setattr_default_np(&attr);
	fesetround(FE_UPWARD);
	got = count(t, n, 0, 0, &ms);
	fesetround(FE_TONEAREST);
	pthread_setattr_default_np(&old);
	CHECK(got == want, "%lu pairs, not %lu", (unsigned long) got, (unsigned long) want);
	free(t);
}

/* ---- thread creation fails ---- */

/*
 * Runs a join of 16 threads as a user with a limited number of processes and threads. Returns its
 * status and, in the next byte, its number of threads.
 */
static int
join_within(rlim_t processes)
{
	int result = 0;
	pid_t child = fork();

	if (child == 0)
	{
		struct rlimit limit = {processes, processes};
		rb_memory *memory;
		rb_context ctx;
		rb_set o;
		rb_job job = {.red = &o, .blue = NULL, .answer = RB_COUNT};
		rb_stream *stream;
		rb_block block;
		rb_status status;
		double *t = malloc(5000 * 72);

		for (int i = 0; i < 45000; i++)
			t[i] = check_below(1000);
		o = (rb_set){.kind = RB_TRIANGLE3, .nparts = 5000, .nrows = 5000, .coords = t};
		/* The limit does not apply to root; another user has no process yet. */
		if ((geteuid() == 0 && setuid(54321) != 0) || setrlimit(RLIMIT_NPROC, &limit) != 0)
			_exit(255);
		memory = rb_memory_create((uint64_t) 1 << 30);
		rb_context_init(&ctx, memory);
		ctx.threads = 16;
		status = rb_stream_open(&ctx, &rb_backend_cpu, &job, &stream);
		while (status == RB_OK)
			status = rb_stream_next(stream, 100, &block);
		rb_stream_close(stream);
		if (rb_memory_used(memory) != 0)
			_exit(254);
		_exit((int) status | ctx.stats.threads << 3);
	}
	CHECK(child > 0 && waitpid(child, &result, 0) == child, "fork");
	CHECK(WIFEXITED(result) && WEXITSTATUS(result) < 254, "result %x", (unsigned) result);
	return WEXITSTATUS(result);
}

/*
 * Tests that fewer threads than requested only make the join slower, that no thread at all is an
 * error, and that the process never ends.
 */
static __attribute__((unused)) void
few_threads(void)
{
	/*
	 * Root's child runs only its main thread and those of the join; other users may have more
	 * processes.
	 */
	for (rlim_t processes = 1; processes <= 6; processes++)
	{
		int result = join_within(processes), status = result & 7, threads = result >> 3;

		if (geteuid() != 0)
			CHECK((status == RB_END && threads < 16) || status == RB_NO_THREAD, "status %d",
				  status);
		else if (processes == 1)
			CHECK(status == RB_NO_THREAD, "status %d", status);
		else
			CHECK(status == RB_END && threads == (int) processes - 1, "status %d, %d threads",
				  status, threads);
	}
}

int
main(void)
{
	CHECK_RUN(all_arrive);
	CHECK_RUN(full_blocks);
	CHECK_RUN(counted_only);
	CHECK_RUN(closed_early);
	CHECK_RUN(stopped);
	CHECK_RUN(closed_and_started_again);
	CHECK_RUN(failure_in_the_middle);
	CHECK_RUN(signals_and_rounding);
	CHECK_RUN(no_stream);
	CHECK_RUN(stopped_in_the_grid);
	CHECK_RUN(stopped_in_distances);
	CHECK_RUN(small_stacks);
#if !defined(RB_OPENMP) && \
	!defined(__SANITIZE_THREAD__) /* The sanitizers' runtimes need threads of their own */
	CHECK_RUN(few_threads);
#endif
	rb_memory_trim(0);
	return check_done();
}
