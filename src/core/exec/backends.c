/*
 * backends.c
 *	  Loads backends from library files, and estimates whether a device is faster than the CPU.
 *
 * A device backend is in a separate file, so that a machine without the device's libraries does not
 * need them. The file is opened on first use and stays open. It is used only if it was compiled
 * with the same structs as this library (plugin.h).
 *
 * A device takes a quarter of a second to initialize, and then several tenths of a millisecond for
 * even the smallest join. So setting redblue.backend to auto leaves small work to the CPU.
 */
#include "core/exact/gmp_exact.h"
#include "core/join/join.h"
#include "core/exec/plugin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- functions for a backend file, and the ABI check ---- */

const rb_services rb_core_services = {
	.fail = rb_fail,
	.memory_limit = rb_memory_limit,
	.resize = rb_resize,
	.free = rb_free,
	.set_compose = rb_set_materialize,
	.team_open = rb_team_open,
	.team_close = rb_team_close,
	.loop = rb_loop,
	.thread_start = rb_thread_start,
	.decide_pairs = rb_decide_pairs,
	.gmp_orient3d = rb_gmp_orient3d,
	.gmp_insphere = rb_gmp_insphere,
};

bool
rb_abi_fits(const rb_abi *abi, char *text, size_t size)
{
	static const rb_abi ours = RB_ABI;
	static const char *const name[] = {"rb_pair",     "rb_set",    "rb_job",     "rb_sink",
									   "rb_error",    "rb_stats",  "rb_context", "rb_record_reader",
									   "rb_services", "rb_backend"};
	const size_t sizes = sizeof(name) / sizeof(name[0]);

	_Static_assert(sizeof(rb_abi) == sizeof(ours.version) + sizeof(ours.size),
				   "a version and sizes, nothing between");
	_Static_assert(sizeof(name) / sizeof(name[0]) == sizeof(ours.size) / sizeof(ours.size[0]),
				   "a name for each size");
	/* If the version differs, nothing is known about the other fields, not even their offsets. */
	if (abi->version != ours.version)
	{
		snprintf(text, size, "it has interface %u, but %u is required", abi->version, ours.version);
		return false;
	}
	for (size_t i = 0; i < sizes; i++)
		if (abi->size[i] != ours.size[i])
		{
			snprintf(text, size, "its %s has %u bytes, but %u are required", name[i], abi->size[i],
					 ours.size[i]);
			return false;
		}
	return true;
}

/* ---- loading a backend file ---- */

/*
 * Loads the backend of a library and checks its ABI. Returns NULL and writes the fault on failure.
 */
static const rb_backend *
open_backend_library(const char *path, char *fault, size_t size)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	const rb_backend *backend = NULL;
	rb_backend_entry entry;
	void *handle;
	char text[100];

	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL)
	{
		snprintf(fault, size, "%s", dlerror());
		return NULL;
	}
	*(void **) &entry = dlsym(handle, RB_BACKEND_SYMBOL);
	if (entry == NULL)
		snprintf(fault, size, "%s has no function %s", name, RB_BACKEND_SYMBOL);
	else if ((backend = entry(&rb_core_services)) == NULL)
		snprintf(fault, size, "%s has no backend", name);
	else if (rb_abi_fits(&backend->abi, text, sizeof(text)))
		return backend;
	else
		snprintf(fault, size, "%s belongs to another version of redblue: %s", name, text);
	dlclose(handle);
	return NULL;
}

const rb_backend *
rb_backend_open(const char *path, char *fault, size_t size)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static char known[1024]; /* Path of the last attempt; the result follows */
	static const rb_backend *backend;
	static char why_not[256];
	const rb_backend *answer;

	if (strlen(path) >= sizeof(known))
	{
		snprintf(fault, size, "the path of a backend is longer than %zu bytes", sizeof(known) - 1);
		return NULL;
	}
	pthread_mutex_lock(&lock);
	if (strcmp(path, known) != 0)
	{
		snprintf(known, sizeof(known), "%s", path);
		why_not[0] = '\0';
		backend = open_backend_library(path, why_not, sizeof(why_not));
	}
	answer = backend;
	snprintf(fault, size, "%s", why_not);
	pthread_mutex_unlock(&lock);
	return answer;
}

/* ---- choice between device and CPU ---- */

/*
 * Measured times in ms: for one part on one core, and until the first pair from a device, in the
 * first call and in later calls
 */
#define CPU_MS_PER_PART 0.005
#define COLD_MS 250.0
#define WARM_MS 0.4

/*
 * Measured with 10^4 to 10^6 tetrahedra: the number of tetrahedra that one core creates per
 * millisecond, the fraction of a core that each additional thread contributes, the number that a
 * device (an H200) creates per millisecond, and the time for the rounds and for transferring the
 * mesh in both directions, however small it is. So an open device pays off from 16,000 tetrahedra
 * with one thread, and from 76,000 with eight.
 */
#define CPU_TETS_PER_MS 300.0
#define CPU_THREAD_WORTH 0.4
#define DEVICE_TETS_PER_MS 4500.0
#define DEVICE_ROUNDS_MS 50.0

bool
rb_device_pays_refining(uint64_t tets, int threads, bool warm, char *text, size_t size)
{
	const double cores = 1 + CPU_THREAD_WORTH * (threads - 1);
	const double cpu_ms = (double) tets / (CPU_TETS_PER_MS * cores);
	const double device_ms =
		(double) tets / DEVICE_TETS_PER_MS + DEVICE_ROUNDS_MS + (warm ? 0 : COLD_MS);
	const bool pays = cpu_ms >= device_ms;

	text[0] = '\0';
	if (!pays)
		snprintf(text, size, "the expected number of tetrahedra, %llu, is too small for a GPU",
				 (unsigned long long) tets);
	return pays;
}

bool
rb_device_pays(uint64_t parts, int threads, bool warm, char *text, size_t size)
{
	const double cpu_ms = CPU_MS_PER_PART * (double) parts / threads;
	const bool pays = cpu_ms >= (warm ? WARM_MS : COLD_MS);

	text[0] = '\0';
	if (!pays)
		snprintf(text, size, "the number of parts, %llu, is too small for a GPU",
				 (unsigned long long) parts);
	return pays;
}
