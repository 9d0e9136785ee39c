/*
 * test_backends.c
 *	  Tests the registry of backends: which library is used, and what "auto" does with a device that
 *	  is slow, absent, full, or fails during a join. The device is a stub.
 */
#include "check.h"
#include "core/join/join.h"
#include "core/exec/plugin.h"

#include <pthread.h>
#include <string.h>

/* ---- libraries ---- */

static void
abi_is_compared(void)
{
	static const rb_abi ours = RB_ABI;
	const size_t sizes = sizeof(ours.size) / sizeof(ours.size[0]);
	char text[100];
	rb_abi theirs;

	CHECK(rb_abi_fits(&ours, text, sizeof(text)), "%s", text);
	theirs = ours;
	theirs.version--;
	theirs.size[0] = 1; /* Nothing else is compared for another version */
	CHECK(!rb_abi_fits(&theirs, text, sizeof(text)), "another version");
	CHECK(strncmp(text, "interface ", 10) == 0, "%s", text);
	for (size_t i = 0; i < sizes; i++)
	{
		CHECK(ours.size[i] > 0, "size %zu", i);
		theirs = ours;
		theirs.size[i] += 8;
		text[0] = '\0';
		CHECK(!rb_abi_fits(&theirs, text, sizeof(text)), "size %zu", i);
		CHECK(strncmp(text, "its rb_", 7) == 0, "%s", text);
	}
	theirs = ours;
	theirs.size[6] += 8;
	rb_abi_fits(&theirs, text, sizeof(text));
	CHECK(strncmp(text, "its rb_context has ", 19) == 0, "%s", text);
}

static void *
open_nothing(void *arg)
{
	char fault[256] = "";

	for (int i = 0; i < 100; i++)
		if (rb_backend_open(arg, fault, sizeof(fault)) != NULL || fault[0] == '\0')
			return arg;
	return NULL;
}

static void
files_that_are_none(void)
{
	static char path[] = "/nowhere/redblue_stub.so";
	char fault[256] = "", again[256] = "", *endless;
	pthread_t thread[4];

	CHECK(rb_backend_open(path, fault, sizeof(fault)) == NULL, "a file that is not there");
	CHECK(strstr(fault, path) != NULL, "%s", fault);
	CHECK(rb_backend_open(path, again, sizeof(again)) == NULL, "asked again");
	CHECK(strcmp(fault, again) == 0, "%s", again);
	/* A library that is not a backend */
	CHECK(rb_backend_open("libm.so.6", fault, sizeof(fault)) == NULL, "libm");
	CHECK(strcmp(fault, "libm.so.6 has no function rb_cuda_backend") == 0, "%s", fault);
	endless = malloc(5000);
	memset(endless, 'x', 4999);
	endless[4999] = '\0';
	CHECK(rb_backend_open(endless, fault, sizeof(fault)) == NULL, "a path without end");
	CHECK(strstr(fault, "longer") != NULL, "%s", fault);
	free(endless);
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, open_nothing, path);
	for (int i = 0; i < 4; i++)
	{
		void *wrong;

		pthread_join(thread[i], &wrong);
		CHECK(wrong == NULL, "thread %d", i);
	}
}

static void
services_are_complete(void)
{
	void *const *function = (void *const *) &rb_core_services;

	for (size_t i = 0; i < sizeof(rb_services) / sizeof(void *); i++)
		CHECK(function[i] != NULL, "function %zu", i);
}

/* ---- a stub device ---- */

static struct
{
	bool warm;
	rb_status probe;
	rb_status join; /* Status of a join; the error has the text "for the test" */
	uint64_t put;   /* Number of pairs (0, 0) before the failure */
	bool asked;     /* True if a stop is requested in the meantime */
	int device;     /* Device for which it was called */
	int probes;
	int joins;
} stub;

static rb_status
stub_probe(int device, char *text, size_t size)
{
	stub.device = device;
	stub.probes++;
	snprintf(text, size, "%s", stub.probe == RB_OK ? "a stub" : "no stub today");
	return stub.probe;
}

static rb_status
stub_join(rb_context *ctx, const rb_job *job, const rb_sink *sink)
{
	static const rb_pair nothing;

	(void) job;
	stub.joins++;
	snprintf(ctx->stats.device, sizeof(ctx->stats.device), "a stub");
	ctx->stats.record_bytes = 12345;
	for (uint64_t i = 0; i < stub.put; i++)
	{
		ctx->stats.hits++;
		sink->put(sink->user, &nothing, 1);
	}
	if (stub.asked)
		rb_context_stop(ctx);
	return stub.join == RB_OK ? RB_OK : rb_fail(ctx, stub.join, 1, 2, "for the test");
}

static bool
stub_warm(int device)
{
	stub.device = device;
	return stub.warm;
}

static const rb_backend stub_backend = {
	.name = "stub", .probe = stub_probe, .join = stub_join, .warm = stub_warm};

/* ---- joins ---- */

#define MOST 1200

typedef struct join
{
	rb_memory *memory;
	rb_context ctx;
	uint64_t pairs;
	rb_status status;
} join;

static rb_status
count(void *user, const rb_pair *pairs, size_t n)
{
	(void) pairs;
	rb_add((uint64_t *) user, n);
	return RB_OK;
}

/* Joins n boxes in a row, each of which meets the next. */
static void
run(join *j, uint32_t n)
{
	static double coords[MOST * 4];
	rb_set red = {.kind = RB_BOX2, .nparts = n, .nrows = n, .coords = coords};
	rb_job job = {.red = &red};
	rb_sink sink = {.put = count, .user = &j->pairs};

	for (uint32_t i = 0; i < n; i++)
	{
		coords[4 * i] = i;
		coords[4 * i + 1] = 0;
		coords[4 * i + 2] = i + 1;
		coords[4 * i + 3] = 1;
	}
	stub.probes = stub.joins = 0;
	memset(j, 0, sizeof(*j));
	j->memory = rb_memory_create((uint64_t) 1 << 28);
	rb_context_init(&j->ctx, j->memory);
	j->ctx.device = 3;
	j->status = rb_backend_auto(&stub_backend)->join(&j->ctx, &job, &sink);
	CHECK(stub.device == 3, "device %d", stub.device);
	CHECK(rb_memory_used(j->memory) == 0, "memory left");
	rb_memory_destroy(j->memory);
}

static void
by_cpu(const join *j, uint32_t n, const char *note)
{
	CHECK(j->status == RB_OK && j->pairs == n - 1, "%s, %lu pairs", rb_status_text(j->status),
		  (unsigned long) j->pairs);
	CHECK(strcmp(j->ctx.stats.backend, "cpu") == 0, "%s", j->ctx.stats.backend);
	CHECK(strcmp(j->ctx.stats.note, note) == 0, "%s", j->ctx.stats.note);
	CHECK(j->ctx.stats.device[0] == '\0' && j->ctx.stats.record_bytes == 0,
		  "what the device counted is left");
	CHECK(j->ctx.error.status == RB_OK && j->ctx.error.text[0] == '\0', "%s", j->ctx.error.text);
	CHECK(!rb_should_stop(&j->ctx), "a failure that was forgotten");
}

static void
small_joins_stay(void)
{
	join j;

	memset(&stub, 0, sizeof(stub));
	run(&j, 1000);
	by_cpu(&j, 1000, "1000 parts are too few for a GPU");
	CHECK(stub.probes == 0 && stub.joins == 0, "a cold device was asked");
	stub.warm = true;
	run(&j, 10);
	by_cpu(&j, 10, "10 parts are too few for a GPU");
	CHECK(stub.joins == 0, "a warm device was asked");
}

static void
large_joins_go(void)
{
	join j;

	memset(&stub, 0, sizeof(stub));
	stub.warm = true;
	stub.put = 7;
	run(&j, 1000);
	CHECK(j.status == RB_OK && j.pairs == 7 && stub.joins == 1, "%lu pairs, %d joins",
		  (unsigned long) j.pairs, stub.joins);
	CHECK(strcmp(j.ctx.stats.backend, "stub") == 0, "%s", j.ctx.stats.backend);
	CHECK(j.ctx.stats.note[0] == '\0', "%s", j.ctx.stats.note);
}

static void
no_device(void)
{
	join j;

	memset(&stub, 0, sizeof(stub));
	stub.warm = true;
	stub.probe = RB_NO_DEVICE;
	run(&j, 1000);
	by_cpu(&j, 1000, "no stub today");
	CHECK(stub.probes == 1 && stub.joins == 0, "%d joins", stub.joins);
}

static void
device_fails_at_once(void)
{
	static const rb_status failure[] = {RB_NO_DEVICE, RB_DEVICE_FULL, RB_DEVICE_FAILED};
	join j;

	for (int i = 0; i < 3; i++)
	{
		memset(&stub, 0, sizeof(stub));
		stub.warm = true;
		stub.join = failure[i];
		run(&j, 1000);
		by_cpu(&j, 1000, "for the test");
		CHECK(stub.joins == 1, "%d joins", stub.joins);
	}
}

/* Tests a failure after a pair was returned: another attempt would return pairs twice. */
static void
device_fails_later(void)
{
	join j;

	memset(&stub, 0, sizeof(stub));
	stub.warm = true;
	stub.join = RB_DEVICE_FAILED;
	stub.put = 1;
	run(&j, 1000);
	CHECK(j.status == RB_DEVICE_FAILED && j.pairs == 1, "%s, %lu pairs", rb_status_text(j.status),
		  (unsigned long) j.pairs);
	CHECK(j.ctx.error.status == RB_DEVICE_FAILED && strcmp(j.ctx.error.text, "for the test") == 0,
		  "%s", j.ctx.error.text);
	CHECK(strcmp(j.ctx.stats.backend, "stub") == 0, "%s", j.ctx.stats.backend);
}

/* Tests failures that the CPU could not avoid either. */
static void
other_failures_stay(void)
{
	static const rb_status failure[] = {RB_OVER_BUDGET, RB_OUT_OF_MEMORY, RB_STOPPED};
	join j;

	for (int i = 0; i < 3; i++)
	{
		memset(&stub, 0, sizeof(stub));
		stub.warm = true;
		stub.join = failure[i];
		run(&j, 1000);
		CHECK(j.status == failure[i] && j.pairs == 0, "%s, %lu pairs", rb_status_text(j.status),
			  (unsigned long) j.pairs);
	}
}

/* Tests that the failure of the device is forgotten, but a request to stop is not. */
static void
a_stop_is_kept(void)
{
	join j;

	memset(&stub, 0, sizeof(stub));
	stub.warm = true;
	stub.join = RB_DEVICE_FULL;
	stub.asked = true;
	run(&j, 1000);
	CHECK(j.status == RB_STOPPED, "%s", rb_status_text(j.status));
	CHECK(rb_should_stop(&j.ctx), "the wish is gone");
	CHECK(j.ctx.error.status != RB_DEVICE_FULL, "the failure is still there");
}

int
main(void)
{
	CHECK_RUN(abi_is_compared);
	CHECK_RUN(files_that_are_none);
	CHECK_RUN(services_are_complete);
	CHECK_RUN(small_joins_stay);
	CHECK_RUN(large_joins_go);
	CHECK_RUN(no_device);
	CHECK_RUN(device_fails_at_once);
	CHECK_RUN(device_fails_later);
	CHECK_RUN(other_failures_stay);
	CHECK_RUN(a_stop_is_kept);
	return check_done();
}
