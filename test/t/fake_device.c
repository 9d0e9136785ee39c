/*
 * fake_device.c
 *	  Implements a redblue_cuda.so without a GPU, which behaves toward a server as a device may.
 *
 * It joins on the CPU, with a copy of the core in this file. The file named by the environment
 * variable REDBLUE_FAKE contains what else happens; it is read again each time:
 *
 *	none		there is no device
 *	open_ms N	opening takes this long
 *	join_ms N	a join takes this much longer, and notices a stop
 *	hang_ms N	a join takes this much longer, and ignores a stop
 *	awake 1		delays end, whatever was requested
 *	put_ms N	each batch of pairs takes this long
 *	fail N		the device fails permanently after this number of batches of pairs
 *	broken 1	the device fails permanently at the next batch of pairs, with put_ms also in joins that run
 *	full N		there is memory for this number of concurrent joins
 *	cards N		number of devices; each word above applies to all, and with the suffix _1 to the second one
 *	share N		joins with this number of parts per device are shared; read when the file is opened
 *
 * A refinement is treated like a join; for fail N, rounds are counted.
 *
 * It reports copies of cached sets, as a device would.
 *
 * Its actions are appended to the file with the suffix .log: the process that opened it, joined or
 * refined, and the number of concurrent joins, or dropped a copy; and the device that joins, if
 * there are several.
 */
#include "core/base/base.h"
#include "core/exec/plugin.h"
#include "refine/refining.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int joins[RB_MAX_DEVICES];
static int failed[RB_MAX_DEVICES];
static int found;

static long
asked_for(const char *what, long otherwise)
{
	const char *path = getenv("REDBLUE_FAKE");
	FILE *file = path != NULL ? fopen(path, "r") : NULL;
	char word[20];
	long number;
	long answer = otherwise;

	while (file != NULL && fscanf(file, "%19s %ld", word, &number) == 2)
		if (strcmp(word, what) == 0)
			answer = number;
	if (file != NULL)
		fclose(file);
	return answer;
}

/* Returns a parameter of one device, or else that of all. */
static long
asked_of(int device, const char *what, long otherwise)
{
	char word[20];

	snprintf(word, sizeof(word), "%s_%d", what, device);
	return asked_for(word, asked_for(what, otherwise));
}

static int
cards(void)
{
	return (int) asked_for("cards", 1);
}

static void
tell(const char *what, int number)
{
	char path[1000];
	FILE *file;

	snprintf(path, sizeof(path), "%s.log", getenv("REDBLUE_FAKE"));
	file = fopen(path, "a");
	if (file == NULL)
		return;
	fprintf(file, "%s %d %d\n", what, (int) getpid(), number);
	fclose(file);
}

static void
rest(rb_context *ctx, const char *what, bool hears)
{
	const double until = rb_now_ms() + (double) asked_of(ctx->device, what, 0);

	while (rb_now_ms() < until && !(hears && rb_should_stop(ctx)) && !asked_for("awake", 0))
		usleep(2000);
}

/* ---- copies of cached sets: only their sizes ---- */

#define COPIES 100

static pthread_mutex_t copies_lock = PTHREAD_MUTEX_INITIALIZER;
static struct
{
	uint64_t number; /* 0 if the entry is unused */
	uint64_t bytes;
} copies[COPIES];

static void
note_copy(const rb_context *ctx, const rb_set *side)
{
	const rb_set *set = side != NULL && side->view != NULL ? side->view->kept : side;
	int free_one = -1;

	if (set == NULL || set->number == 0 || ctx->settings.gpu_cache_limit == 0)
		return;
	pthread_mutex_lock(&copies_lock);
	for (int i = 0; i < COPIES; i++)
		if (copies[i].number == set->number)
		{
			free_one = -1;
			break;
		}
		else if (copies[i].number == 0 && free_one < 0)
			free_one = i;
	if (free_one >= 0)
	{
		copies[free_one].number = set->number;
		copies[free_one].bytes =
			(uint64_t) set->nparts * (uint64_t) rb_kind_width(set->kind) * sizeof(double);
	}
	pthread_mutex_unlock(&copies_lock);
}

static uint64_t
copy_bytes(uint64_t number, bool drop)
{
	uint64_t bytes = 0;

	pthread_mutex_lock(&copies_lock);
	for (int i = 0; i < COPIES; i++)
		if (number != 0 && copies[i].number == number)
		{
			if (drop)
			{
				copies[i].number = 0;
				tell("dropped", 0);
			}
			else
				bytes = copies[i].bytes;
		}
	pthread_mutex_unlock(&copies_lock);
	return bytes;
}

/* ---- what it does ---- */

static rb_status
probe(int device, char *text, size_t size)
{
	if (device >= cards())
	{
		snprintf(text, size, "no fake device %d: there are %d, counted from 0", device, cards());
		return RB_NO_DEVICE;
	}
	if (!rb_load(&found))
	{
		tell("found", 0);
		usleep((useconds_t) asked_for("open_ms", 0) * 1000);
	}
	if (rb_load(&failed[device]))
	{
		snprintf(text, size, "the fake device has failed before");
		return RB_NO_DEVICE;
	}
	if (asked_of(device, "none", 0))
	{
		snprintf(text, size, "no fake device today");
		return RB_NO_DEVICE;
	}
	rb_store(&found, 1);
	snprintf(text, size, "a fake device");
	return RB_OK;
}

static bool
warm(int device)
{
	(void) device;
	return rb_load(&found) != 0;
}

/* The caller's sink, and what happens before it */
typedef struct way
{
	rb_context *ctx;
	const rb_sink *sink;
	long fail;
	long put_ms;
	long batches;
} way;

static rb_status
put(void *user, const rb_pair *pairs, size_t n)
{
	way *w = user;
	const bool broken = w->put_ms > 0 && asked_of(w->ctx->device, "broken", 0) != 0;
	rb_status status;

	if (broken || (w->fail >= 0 && rb_add(&w->batches, 1) >= w->fail))
	{
		rb_store(&failed[w->ctx->device], 1);
		return rb_fail(w->ctx, RB_DEVICE_FAILED, 0, 0, "the fake device has failed");
	}
	status = w->sink->put(w->sink->user, pairs, n);
	if (w->put_ms > 0)
		usleep((useconds_t) w->put_ms * 1000);
	return status;
}

/* Begins a join or refinement while `now` run, and returns whether it may continue. */
static rb_status
begin(rb_context *ctx, int now, bool fails)
{
	if (rb_load(&failed[ctx->device]))
		return rb_fail(ctx, RB_NO_DEVICE, 0, 0, "the fake device has failed before");
	if (now > asked_of(ctx->device, "full", 1000))
		return rb_fail(ctx, RB_DEVICE_FULL, 0, 0, "the fake device is full");
	rest(ctx, "join_ms", true);
	rest(ctx, "hang_ms", false);
	if (fails)
	{
		rb_store(&failed[ctx->device], 1);
		return rb_fail(ctx, RB_DEVICE_FAILED, 0, 0, "the fake device has failed");
	}
	return rb_should_stop(ctx) ? RB_STOPPED : RB_OK;
}

static rb_status
run(rb_context *ctx, const rb_job *job, const rb_sink *sink, int now)
{
	way w = {ctx, sink, asked_of(ctx->device, "fail", -1), asked_of(ctx->device, "put_ms", 0), 0};
	rb_sink through = {.put = put, .user = &w};
	rb_status status = begin(ctx, now, w.fail == 0);

	if (status != RB_OK)
		return status;
	status = rb_backend_cpu.join(ctx, job, &through);
	return ctx->error.status != RB_OK ? ctx->error.status : status;
}

static rb_status
join(rb_context *ctx, const rb_job *job, const rb_sink *sink)
{
	const int now = rb_add(&joins[ctx->device], 1) + 1;
	rb_status status;

	tell("join", now);
	if (cards() > 1)
		tell("card", ctx->device);
	snprintf(ctx->stats.device, sizeof(ctx->stats.device), "a fake device");
	status = run(ctx, job, sink, now);
	if (status == RB_OK)
	{
		note_copy(ctx, job->red);
		note_copy(ctx, job->blue);
	}
	rb_add(&joins[ctx->device], -1);
	tell("joined", (int) status);
	return status;
}

static rb_status
refine(rb_context *ctx, rb_refining *refining, size_t size)
{
	const int now = rb_add(&joins[ctx->device], 1) + 1;
	const long fail = asked_of(ctx->device, "fail", -1);
	rb_status status;

	tell("refine", now);
	if (size != sizeof(*refining))
		status = rb_fail(ctx, RB_NO_DEVICE, 0, 0, "the fake device is of another version");
	else
		status = begin(ctx, now, fail >= 0 && refining->report->rounds >= (uint32_t) fail);
	if (status == RB_OK)
		status = rb_refining_rounds(refining);
	rb_add(&joins[ctx->device], -1);
	if (cards() > 1)
		tell("card", ctx->device);
	tell("refined", (int) status);
	return status;
}

extern __attribute__((visibility("default"))) const rb_backend *
rb_cuda_backend(const rb_services *services);

const rb_backend *
rb_cuda_backend(const rb_services *services)
{
	static rb_backend backend = {.abi = RB_ABI,
								 .name = "cuda",
								 .probe = probe,
								 .join = join,
								 .warm = warm,
								 .copy_bytes = copy_bytes,
								 .refine = refine,
								 .devices = cards};

	(void) services;
	backend.share_parts = (uint64_t) asked_for("share", 0);
	return &backend;
}
