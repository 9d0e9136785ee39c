/*
 * system_failures.c
 *	  Tests failures of the system: each call of malloc, mmap, related functions and pthread_create
 *	  in the whole process fails in turn, once or from then on. Every run returns the correct pairs
 *	  or reports what failed, and leaves nothing behind.
 *
 * The functions below replace those of the C library. Sanitizers have their own replacements; in
 * their builds the linker redirects only the calls of the project's files (--wrap), so allocations
 * by libraries do not fail.
 */
#define _GNU_SOURCE
#include "fixtures.h"
#include "core/join/join.h"
#include "core/primitive/dispatch.h"
#include "core/exec/pair_coding.h"
#include "core/solid/solid.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef RB_OPENMP

int
main(void)
{
	printf("ok 1 # skip the OpenMP runtime ends a process that is refused anything\n");
	return 0;
}

#else

/* ---- functions that fail ---- */

enum
{
	HEAP,
	MAP,
	THREAD,
	SORTS
};

static int armed;           /* Nonzero if calls are counted and one of them fails */
static long until;          /* Number of calls that succeed first */
static long calls;          /* Calls since it was armed */
static long refused[SORTS]; /* Failures since it was armed */
static bool for_good;       /* True if all later calls fail, too */
static long mapped;         /* Bytes mapped and not yet unmapped */

static bool
refuse(int sort)
{
	long call;

	if (!rb_load(&armed))
		return false;
	call = rb_add(&calls, 1);
	if (call != until && !(for_good && call > until))
		return false;
	rb_add(&refused[sort], 1);
	errno = sort == THREAD ? EAGAIN : ENOMEM;
	return true;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MINE(name) __wrap_##name
#define LIBC(name, libc) __real_##name
#else
#define MINE(name) name
#define LIBC(name, libc) libc
#endif

extern void *LIBC(malloc, __libc_malloc)(size_t);
extern void *LIBC(calloc, __libc_calloc)(size_t, size_t);
extern void *LIBC(realloc, __libc_realloc)(void *, size_t);
extern void *LIBC(aligned_alloc, __libc_memalign)(size_t, size_t);

#pragma GCC visibility push(default) /* Lets libraries call these, too */
extern void *MINE(malloc)(size_t);
extern void *MINE(calloc)(size_t, size_t);
extern void *MINE(realloc)(void *, size_t);
extern void *MINE(aligned_alloc)(size_t, size_t);
extern void *MINE(mmap)(void *, size_t, int, int, int, off_t);
extern int MINE(munmap)(void *, size_t);
extern void *MINE(mremap)(void *, size_t, size_t, int, ...);
extern int MINE(pthread_create)(pthread_t *, const pthread_attr_t *, void *(*) (void *), void *);
#pragma GCC visibility pop

void *
MINE(malloc)(size_t size)
{
	return refuse(HEAP) ? NULL : LIBC(malloc, __libc_malloc)(size);
}

void *
MINE(calloc)(size_t n, size_t size)
{
	return refuse(HEAP) ? NULL : LIBC(calloc, __libc_calloc)(n, size);
}

void *
MINE(realloc)(void *old, size_t size)
{
	return refuse(HEAP) ? NULL : LIBC(realloc, __libc_realloc)(old, size);
}

void *
MINE(aligned_alloc)(size_t align, size_t size)
{
	return refuse(HEAP) ? NULL : LIBC(aligned_alloc, __libc_memalign)(align, size);
}

void *
MINE(mmap)(void *at, size_t size, int access, int flags, int fd, off_t offset)
{
	if (refuse(MAP))
		return MAP_FAILED;
	at = (void *) syscall(SYS_mmap, at, size, access, flags, fd, offset);
	if (at != MAP_FAILED)
		rb_add(&mapped, (long) size);
	return at;
}

int
MINE(munmap)(void *at, size_t size)
{
	rb_add(&mapped, -(long) size);
	return (int) syscall(SYS_munmap, at, size);
}

void *
MINE(mremap)(void *at, size_t old, size_t size, int flags, ...)
{
	if (refuse(MAP))
		return MAP_FAILED;
	/* The system may fail, too: several mappings cannot be remapped as one. */
	at = (void *) syscall(SYS_mremap, at, old, size, flags);
	if (at != MAP_FAILED)
		rb_add(&mapped, (long) size - (long) old);
	return at;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
extern int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*) (void *), void *);
#define real_create __real_pthread_create
#else
static int (*real_create)(pthread_t *, const pthread_attr_t *, void *(*) (void *), void *);
#endif

int
MINE(pthread_create)(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *),
					 void *arg)
{
	return refuse(THREAD) ? EAGAIN : real_create(thread, attr, body, arg);
}

/* ---- scenes ---- */

#define THREADS 4

typedef struct answer
{
	rb_status status;
	rb_error error;
	uint64_t n;
	uint64_t sum;
} answer;

static uint64_t
mix(uint64_t red, uint64_t blue)
{
	uint64_t x = red << 32 | blue;

	x = (x + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
	return x ^ x >> 31;
}

static rb_status
add(void *user, const rb_pair *pairs, size_t n)
{
	answer *a = user;
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += mix(pairs[i].red, pairs[i].blue);
	rb_add(&a->n, n);
	rb_add(&a->sum, sum);
	return RB_OK;
}

typedef struct scene
{
	const char *name;
	answer (*run)(rb_memory *memory, const struct scene *scene);
	rb_kind red_kind;
	rb_kind blue_kind;
	uint32_t red_n;  /* Number of objects */
	uint32_t blue_n; /* Number of blue objects; 0 for a self join of red */
	double size;     /* Size of an object; the space is 2 wide */
	double crowd;    /* Share of the objects in one corner, recursively */
	uint32_t parts;  /* Maximum number of parts in a row */
	rb_result_form answer;
} scene;

/* Sides of the current scene */
static rb_set sides[2];

static void
make_side(const scene *s, int side, rb_kind kind, uint32_t n)
{
	int width = rb_kind_width(kind), dims = rb_kind_dims(kind);
	double *c = malloc(((size_t) n + 1) * (size_t) width * sizeof(double));

	for (uint32_t i = 0; i < n; i++)
	{
		double *p = c + (size_t) i * (size_t) width;
		double scale = 1, centre[3];

		while (s->crowd > 0 && scale > 1e-9 && random_signed() < 2 * s->crowd - 1)
			scale /= 64;
		for (int a = 0; a < dims; a++)
			centre[a] = scale * random_signed();
		for (int k = 0; k < width; k++)
			p[k] = centre[k % dims] + scale * s->size * random_signed();
		for (int a = 0; a < dims && (kind == RB_BOX3 || kind == RB_BOX2); a++)
			p[dims + a] = p[a] + scale * s->size;
	}
	sides[side] = (rb_set){.kind = kind, .nparts = n, .coords = c};
	sides[side].row_of = random_rows(n, (int) s->parts, &sides[side].nrows);
}

/* Passes the sides through builders: rows of one part at once, the others one by one. */
static rb_status
build(rb_memory *memory, const rb_set *from, rb_builder *b, const rb_set **to, rb_error *error)
{
	const size_t width = (size_t) rb_kind_width(from->kind);
	int64_t ids[100];

	rb_builder_init(b, memory, from->kind);
	for (uint32_t i = 0; i < from->nparts;)
	{
		rb_status status;

		if (from->row_of == NULL)
		{
			uint32_t n = from->nparts - i < 100 ? from->nparts - i : 100;

			for (uint32_t k = 0; k < n; k++)
				ids[k] = i + k;

			status = rb_builder_append(b, from->coords + i * width, n, ids, NULL, n, error);
			i += n;
		}
		else
		{
			uint32_t row = from->row_of[i];

			status = RB_OK;
			for (; status == RB_OK && i < from->nparts && from->row_of[i] == row; i++)
			{
				status = rb_builder_reserve(b, 1, error);
				if (status == RB_OK)
					memcpy(b->coords + b->nparts++ * width, from->coords + i * width,
						   width * sizeof(double));
			}
			if (status == RB_OK)
				status = rb_builder_end_row(b, row, error);
		}
		if (status != RB_OK)
			return status;
	}
	return rb_builder_finish(b, to, error);
}

/*
 * Adds the count of each row. Groups, which may be refused and then become counts, are added in the
 * same way.
 */
static void
add_answer(answer *a, const rb_stream *stream, const scene *s, uint32_t rows)
{
	const uint32_t *word = rb_stream_words(stream);
	rb_groups groups;

	for (uint32_t i = 0; i < rows && word != NULL; i++)
		if (s->answer != RB_HITS)
			add(a, &(rb_pair){i, word[i]}, 1);
		else if (i % 32 == 0)
			add(a, &(rb_pair){i, word[i / 32]}, 1);
	for (uint32_t i = 0; rb_stream_groups(stream, &groups) && i < rows; i++)
		add(a, &(rb_pair){i, (uint32_t) (groups.start[i + 1] - groups.start[i])}, 1);
}

/*
 * Devices that only do what the CPU does: two have a partition each, and two more could replace
 * them.
 */
static rb_status
stub_join(rb_context *ctx, const rb_job *job, const rb_sink *sink)
{
	return rb_backend_cpu.join(ctx, job, sink);
}

static int
stub_devices(void)
{
	return 4;
}

static rb_backend stub = {.name = "stub",
						  .probe = stub_probe,
						  .join = stub_join,
						  .warm = stub_warm,
						  .devices = stub_devices};

static answer
run_join_by(const rb_backend *backend, rb_memory *memory, const scene *s)
{
	answer a = {RB_OK, {0}, 0, 0};
	rb_builder b[2] = {0};
	const rb_set *o[2] = {NULL, NULL};
	rb_job job = {.answer = s->answer, .of = s->blue_n > 0 ? RB_OF_RED : RB_OF_BOTH};
	rb_context ctx;
	rb_stream *stream = NULL;
	rb_block block;

	rb_context_init(&ctx, memory);
	ctx.threads = THREADS;
	a.status = build(memory, &sides[0], &b[0], &o[0], &a.error);
	if (a.status == RB_OK && s->blue_n > 0)
		a.status = build(memory, &sides[1], &b[1], &o[1], &a.error);
	if (a.status == RB_OK)
	{
		job.red = o[0];
		job.blue = o[1];
		a.status = rb_stream_open(&ctx, backend, &job, &stream);
		while (a.status == RB_OK && (a.status = rb_stream_next(stream, 100, &block)) == RB_OK)
			for (size_t i = 0; i < block.n; i++)
				add(&a, &(rb_pair){(uint32_t) block.red[i], (uint32_t) block.blue[i]}, 1);
		if (a.status == RB_END)
		{
			add_answer(&a, stream, s, job.red->nrows);
			a.status = RB_OK;
		}
		rb_stream_close(stream);
		a.error = ctx.error;
		if (s->answer != RB_PAIRS)
			a.n = ctx.stats.stage[RB_STAGE_EMIT].count;
	}
	for (int side = 0; side < 2; side++)
	{
		rb_set_release(&o[side]);
		rb_builder_free(&b[side]);
	}
	return a;
}

static answer
run_join(rb_memory *memory, const scene *s)
{
	return run_join_by(&rb_backend_cpu, memory, s);
}

static answer
run_shared(rb_memory *memory, const scene *s)
{
	stub.share_parts = ((uint64_t) sides[0].nparts + sides[1].nparts) / 2;
	return run_join_by(rb_backend_multi_device(&stub), memory, s);
}

/* Decides every pair of a red and a blue object. */
static answer
run_decide(rb_memory *memory, const scene *s)
{
	answer a = {RB_OK, {0}, 0, 0};
	rb_context ctx;
	rb_pair *pairs = NULL;
	size_t n = (size_t) sides[0].nparts * sides[1].nparts, kept = 0;

	(void) s;
	rb_context_init(&ctx, memory);
	ctx.threads = THREADS;
	a.status = rb_array(&ctx, (void **) &pairs, n, sizeof(rb_pair));
	if (a.status == RB_OK)
	{
		for (size_t i = 0; i < n; i++)
			pairs[i] =
				(rb_pair){(uint32_t) (i / sides[1].nparts), (uint32_t) (i % sides[1].nparts)};
		a.status =
			rb_decide_pairs(&ctx, &(rb_job){.red = &sides[0], .blue = &sides[1]}, pairs, n, &kept);
		add(&a, pairs, kept);
	}
	a.error = ctx.error;
	rb_free(memory, (void **) &pairs);
	return a;
}

/* A record of eight red objects, each of which meets two of six blue ones, as lists */
#define RECORDS 3000
#define RECORD_BYTES 96

static answer
run_records(rb_memory *memory, const scene *s)
{
	static char bytes[RECORDS * RECORD_BYTES];
	const rb_record record = {RECORD_BYTES, 16, 8, 6, 0};
	answer a = {RB_OK, {0}, 0, 0};
	rb_sink sink = {.put = add, .user = &a};
	rb_record_reader reader;
	rb_context ctx;

	(void) s;
	rb_context_init(&ctx, memory);
	ctx.threads = THREADS;
	memset(&reader, 0, sizeof(reader));
	for (uint32_t k = 0; k < RECORDS; k++)
	{
		char *to = bytes + k * RECORD_BYTES;
		uint32_t index[8 + 6];
		uint8_t count[8], number[16];

		for (uint32_t i = 0; i < 14; i++)
			index[i] = k * 14 + i;
		memset(count, 2, sizeof(count));
		for (uint32_t i = 0; i < 16; i++)
			number[i] = (uint8_t) (i % 6);
		memcpy(to, &record, sizeof(record));
		memcpy(to + 16, index, sizeof(index));
		memcpy(to + 72, count, sizeof(count));
		memcpy(to + 80, number, sizeof(number));
	}
	/* Pieces whose ends split records */
	for (size_t at = 0, n; at < sizeof(bytes) && a.status == RB_OK; at += n)
	{
		n = sizeof(bytes) - at < 100000 ? sizeof(bytes) - at : 100000;
		a.status = rb_records_decode(&ctx, &reader, bytes + at, n, &sink);
	}
	a.error = ctx.error;
	rb_record_reader_free(&ctx, &reader);
	return a;
}

/* Writes the triangles of a box. */
static void
write_box(double *t, const double *low, const double *high)
{
	/* Corners, with bit a set on the high side along axis a */
	static const uint8_t faces[12][3] = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6},
										 {0, 1, 4}, {1, 5, 4}, {2, 6, 3}, {3, 6, 7},
										 {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};

	for (int i = 0; i < 36; i++)
		for (int a = 0; a < 3; a++)
			*t++ = (faces[i / 3][i % 3] >> a & 1 ? high : low)[a];
}

/* Adds rows with their payload. */
static rb_status
add_measures(answer *a, const rb_pair *rows, const uint64_t *payload, size_t n, size_t words)
{
	for (size_t i = 0; i < n * words; i++)
		add(a,
			&(rb_pair){rows[i / words].red + 100 * (uint32_t) (i % words),
					   (uint32_t) mix(rows[i / words].blue, payload[i])},
			1);
	return RB_OK;
}

static rb_status
add_cuboids(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	return add_measures(user, rows, payload, n, RB_CUBOID_WORDS);
}

static rb_status
add_overlaps(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	return add_measures(user, rows, payload, n, RB_OVERLAP_WORDS);
}

/* Measures boxes of the red side as blocks in the others, which are solids, and the overlaps of these. */
static answer
run_solids(rb_memory *memory, const scene *s)
{
	static double coords[9 * 12 * 8];
	static uint32_t row_of[12 * 8];
	const uint32_t n = sides[0].nparts / 2;
	const rb_set blocks = {
		.kind = RB_BOX3, .nparts = n, .nrows = n, .coords = sides[0].coords + 6 * n};
	const rb_set solids = {
		.kind = RB_TRIANGLE3, .nparts = 12 * n, .nrows = n, .coords = coords, .row_of = row_of};
	const rb_job share = {.red = &blocks, .blue = &solids, .predicate = RB_CUBOID};
	const rb_job overlap = {.red = &solids, .predicate = RB_OVERLAP, .depth = true};
	answer a = {RB_OK, {0}, 0, 0};
	rb_context ctx;

	(void) s;
	for (uint32_t i = 0; i < n; i++)
		write_box(coords + 108 * i, sides[0].coords + 6 * i, sides[0].coords + 6 * i + 3);
	for (uint32_t i = 0; i < 12 * n; i++)
		row_of[i] = i / 12;
	rb_context_init(&ctx, memory);
	ctx.threads = THREADS;
	a.status = rb_compose_cuboids(&ctx, &rb_backend_cpu, &share,
								  &(rb_row_sink){.put = add_cuboids, .user = &a});
	if (a.status == RB_OK)
		a.status = rb_compose_overlaps(&ctx, &rb_backend_cpu, &overlap,
									   &(rb_row_sink){.put = add_overlaps, .user = &a});
	a.error = ctx.error;
	return a;
}

#define MANY RB_SIZE(30000, 1500)
#define SOME RB_SIZE(3000, 400)

static const scene scenes[] = {
	{"triangles", run_join, RB_TRIANGLE3, RB_TRIANGLE3, MANY, MANY, 0.1, 0, 1, RB_PAIRS},
	{"a few among many", run_join, RB_TRIANGLE3, RB_TRIANGLE3, 100, MANY, 0.2, 0, 1, RB_PAIRS},
	{"crowds within crowds", run_join, RB_TRIANGLE3, RB_TRIANGLE3, MANY, MANY, 0.1, 0.9, 1,
	 RB_PAIRS},
	{"rows of parts", run_join, RB_TRIANGLE3, RB_SEGMENT3, SOME, MANY, 0.2, 0, 20, RB_PAIRS},
	{"a map with itself", run_join, RB_SEGMENT2, RB_SEGMENT2, MANY, 0, 0.05, 0.3, 1, RB_PAIRS},
	{"boxes in a heap", run_join, RB_BOX3, RB_BOX3, SOME, 0, 1, 0, 1, RB_PAIRS},
	{"boxes counted", run_join, RB_BOX2, RB_BOX2, MANY, SOME, 0.03, 0.8, 1, RB_COUNT},
	{"counts", run_join, RB_BOX3, RB_BOX3, SOME, MANY, 0.1, 0, 1, RB_COUNTS},
	{"counts of rows of parts", run_join, RB_BOX2, RB_BOX2, SOME, SOME, 0.05, 0, 5, RB_COUNTS},
	{"hits", run_join, RB_TRIANGLE3, RB_TRIANGLE3, SOME, 0, 0.2, 0, 3, RB_HITS},
	{"groups", run_join, RB_BOX2, RB_BOX2, SOME, 0, 0.1, 0, 1, RB_GROUPS},
	{"two devices of four", run_shared, RB_BOX3, RB_BOX3, SOME, SOME, 0.1, 0, 1, RB_PAIRS},
	{"pairs to decide", run_decide, RB_TRIANGLE3, RB_TRIANGLE3, 100, 100, 0.5, 0, 1, RB_PAIRS},
	{"solids", run_solids, RB_BOX3, RB_BOX3, 16, 1, 1.5, 0, 1, RB_PAIRS},
	{"records", run_records, RB_BOX3, RB_BOX3, 1, 1, 1, 0, 1, RB_PAIRS},
};

/* Runs the scene with call number k failing. Returns false if there were fewer calls. */
static bool
run_refused(const scene *s, const answer *truth, long k, bool from_then_on, long total[SORTS])
{
	rb_memory *memory = NULL;
	answer a = {RB_OUT_OF_MEMORY, {RB_OUT_OF_MEMORY, 1, 0, ""}, 0, 0};
	long before, hits;

	/* No block may be reused from an earlier run. */
	rb_memory_trim(0);
	before = rb_load(&mapped);
	memset(refused, 0, sizeof(refused));
	calls = 0;
	until = k;
	for_good = from_then_on;
	rb_store(&armed, 1);
	memory = rb_memory_create((uint64_t) 1 << 32);
	if (memory != NULL)
		a = s->run(memory, s);
	rb_store(&armed, 0);

	hits = refused[HEAP] + refused[MAP] + refused[THREAD];
	if (a.status == RB_OK)
		CHECK(a.n == truth->n && a.sum == truth->sum, "%s, call %ld: %lu pairs, not %lu", s->name,
			  k, (unsigned long) a.n, (unsigned long) truth->n);
	else
		CHECK(hits > 0 && a.status == a.error.status &&
				  ((a.status == RB_OUT_OF_MEMORY && a.error.need > 0) || a.status == RB_NO_THREAD),
			  "%s, call %ld: %s, need %lu", s->name, k, rb_status_text(a.status),
			  (unsigned long) a.error.need);
	/* A failed thread must not be reported as lack of memory, nor the reverse. */
	CHECK(a.status != RB_NO_THREAD || refused[THREAD] > 0, "%s, call %ld: no thread", s->name, k);
	CHECK(a.status != RB_OUT_OF_MEMORY || refused[HEAP] + refused[MAP] > 0,
		  "%s, call %ld: no memory", s->name, k);
	if (memory != NULL)
		CHECK(rb_memory_used(memory) == 0, "%s, call %ld: %lu bytes in use", s->name, k,
			  (unsigned long) rb_memory_used(memory));
	rb_memory_destroy(memory);
	rb_memory_trim(0);
	CHECK(rb_load(&mapped) == before, "%s, call %ld: %ld bytes mapped", s->name, k,
		  rb_load(&mapped) - before);
	for (int sort = 0; sort < SORTS; sort++)
		total[sort] += refused[sort];
	return hits > 0;
}

static const scene *at_hand;

/* Reduces large sides according to the number of rounds. */
static uint32_t
objects(uint32_t n)
{
	return n < SOME ? n : (uint32_t) check_rounds(n);
}

static void
every_call_in_turn(void)
{
	const scene *s = at_hand;
	rb_memory *memory = rb_memory_create((uint64_t) 1 << 32);
	answer truth = s->run(memory, s);
	long total[SORTS] = {0};

	CHECK(truth.status == RB_OK && truth.n > 0, "%s: %s, %lu pairs", s->name,
		  rb_status_text(truth.status), (unsigned long) truth.n);
	rb_memory_destroy(memory);
	for (int from_then_on = 0; from_then_on < 2; from_then_on++)
	{
		long k = 0;

		/* Threads make calls in any order, so several consecutive runs must succeed. */
		for (int whole = 0; whole < 3; k++)
			whole = run_refused(s, &truth, k, from_then_on == 1, total) ? 0 : whole + 1;
		printf("# %s: %ld runs\n", s->name, k);
	}
	printf("# %s: %lu pairs; refused %ld blocks, %ld maps, %ld threads\n", s->name,
		   (unsigned long) truth.n, total[HEAP], total[MAP], total[THREAD]);
	CHECK(total[HEAP] + total[MAP] > 0 && total[THREAD] > 0, "nothing was refused");
}

int
main(void)
{
#ifndef real_create
	real_create = dlsym(RTLD_NEXT, "pthread_create");
#endif
	alarm(600); /* A run that hangs counts as a failure */
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
	{
		at_hand = &scenes[i];
		make_side(at_hand, 0, at_hand->red_kind, objects(at_hand->red_n));
		make_side(at_hand, 1, at_hand->blue_kind, objects(at_hand->blue_n));
		check_run(every_call_in_turn, at_hand->name);
		for (int side = 0; side < 2; side++)
		{
			free((void *) sides[side].coords);
			free((void *) sides[side].row_of);
		}
	}
	return check_done();
}

#endif
