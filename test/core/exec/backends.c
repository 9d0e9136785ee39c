/*
 * backends.c
 *	  Tests the registry of backends: which library is used, and which work is left to the CPU.
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
	CHECK(strncmp(text, "it has interface ", 17) == 0, "%s", text);
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

/* ---- small work stays on the CPU ---- */

static void
devices_pay_for_large_work(void)
{
	char text[100];

	CHECK(!rb_device_pays(1000, 1, false, text, sizeof text), "1000 parts, cold");
	CHECK(strcmp(text, "the number of parts, 1000, is too small for a GPU") == 0, "%s", text);
	CHECK(!rb_device_pays(10, 1, true, text, sizeof text), "10 parts, warm");
	CHECK(strcmp(text, "the number of parts, 10, is too small for a GPU") == 0, "%s", text);
	CHECK(rb_device_pays(1000, 1, true, text, sizeof text) && text[0] == '\0', "%s", text);
	CHECK(!rb_device_pays(1000, 16, true, text, sizeof text), "16 threads");
	CHECK(rb_device_pays(1000000, 1, false, text, sizeof text) && text[0] == '\0', "%s", text);
	CHECK(!rb_device_pays_refining(10000, 1, true, text, sizeof text), "10000 tetrahedra");
	CHECK(strcmp(text, "the expected number of tetrahedra, 10000, is too small for a GPU") == 0,
		  "%s", text);
	CHECK(rb_device_pays_refining(50000, 1, true, text, sizeof text) && text[0] == '\0', "%s",
		  text);
	CHECK(!rb_device_pays_refining(50000, 8, true, text, sizeof text), "8 threads");
	CHECK(!rb_device_pays_refining(50000, 1, false, text, sizeof text), "a cold device");
}

int
main(void)
{
	CHECK_RUN(abi_is_compared);
	CHECK_RUN(files_that_are_none);
	CHECK_RUN(services_are_complete);
	CHECK_RUN(devices_pay_for_large_work);
	return check_done();
}
