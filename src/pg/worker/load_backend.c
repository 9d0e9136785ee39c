/*
 * load_backend.c
 *	  Finds and opens the backend for a device, in any process.
 *
 * The CUDA backend is a separate plugin, redblue_cuda.so, in the directory of this library. It is
 * opened on first use and so never in the postmaster, whose children could not use a device that it
 * had initialized. A machine without the plugin, the driver or a device uses the CPU.
 *
 * The worker opens the device in a thread, because a driver may take a long time. A session opens
 * it only if it cannot get the worker. All signals are blocked while the driver may start threads,
 * so that none of these threads receives a signal meant for the process.
 */
#include "pg/worker/protocol.h"

#include "core/base/parallel.h"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#define RB_CUDA_FILE "redblue_cuda.so"
#define STACK ((size_t) 8 << 20) /* Stack size in bytes; a driver may need a deep stack */
#define OPEN_MS 15000 /* Time in ms after which a device that is not open yet counts as missing */

/*
 * Finds the path of the plugin, or the reason why there is none. The file may appear or disappear
 * during a session.
 */
static bool
find_plugin_file(char *path, size_t path_size, char *why_not, size_t size)
{
	Dl_info self;
	const char *slash;

	why_not[0] = '\0';
	if (dladdr((void *) &rb_device_here, &self) == 0 || self.dli_fname == NULL ||
		(slash = strrchr(self.dli_fname, '/')) == NULL)
	{
		snprintf(why_not, size, "the directory of %s could not be determined", RB_CUDA_FILE);
		return false;
	}
	snprintf(path, path_size, "%.*s/%s", (int) (slash - self.dli_fname), self.dli_fname,
			 RB_CUDA_FILE);
	if (access(path, F_OK) == 0)
		return true;
	snprintf(why_not, size, "%s is not installed", RB_CUDA_FILE);
	return false;
}

bool
rb_device_installed(char *why_not, size_t size)
{
	char path[MAXPGPATH];

	return find_plugin_file(path, sizeof path, why_not, size);
}

const rb_backend *
rb_device_here(char *text, size_t size)
{
	const rb_backend *usable = NULL;
	char path[MAXPGPATH];
	sigset_t all;
	sigset_t before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (find_plugin_file(path, sizeof path, text, size))
	{
		usable = rb_backend_open(path, text, size);
		if (usable != NULL)
			usable = rb_backend_multi_device(usable);
		if (usable != NULL && usable->probe(-1, text, size) != RB_OK)
			usable = NULL;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return usable;
}

/* ---- opening in a thread ---- */

static struct
{
	bool begun;
	double begun_ms;
	rb_device_state state; /* Written with release semantics after the other fields */
	const rb_backend *backend;
	char text[256];
} opening;

/*
 * Opens the CUDA backend in a thread of its own, since drivers may take seconds, and publishes the
 * outcome.
 */
static void *
open_plugin_in_thread(void *arg)
{
	opening.backend = rb_device_here(opening.text, sizeof opening.text);
	rb_release(&opening.state, opening.backend != NULL ? RB_DEVICE_FOUND : RB_DEVICE_NONE);
	return NULL;
}

void
rb_device_begin(void)
{
	pthread_t thread;

	if (opening.begun)
		return;
	opening.begun = true;
	opening.begun_ms = rb_now_ms();
	rb_release(&opening.state, RB_DEVICE_OPENING);
	if (rb_thread_start(&thread, STACK, open_plugin_in_thread, NULL) == 0)
		pthread_detach(thread);
	else
	{
		snprintf(opening.text, sizeof opening.text, "could not create a thread to open the GPU");
		rb_release(&opening.state, RB_DEVICE_NONE);
	}
}

rb_device_state
rb_device_begun(const rb_backend **backend, char *text, size_t size)
{
	rb_device_state state = rb_acquire(&opening.state);

	text[0] = '\0';
	*backend = NULL;
	if (state >= RB_DEVICE_NONE)
	{
		snprintf(text, size, "%s", opening.text);
		*backend = opening.backend;
	}
	else if (state == RB_DEVICE_OPENING && rb_now_ms() - opening.begun_ms > OPEN_MS)
	{
		snprintf(text, size, "opening the GPU is taking too long");
		state = RB_DEVICE_NONE;
	}
	return state;
}
