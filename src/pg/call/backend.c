/*
 * backend.c
 *	  Which backend computes the next join.
 *
 * The CUDA backend is a file of its own, redblue_cuda.so, that lies beside this
 * library and is opened on first use, so never in the postmaster, whose children
 * could not use a device that it had touched.  A machine without the file, the
 * driver or the device answers from the CPU.  How it is opened, and when "auto"
 * takes it, is the core's business (backends.c).
 *
 * All signals are blocked while foreign code may start threads, so that none of
 * these threads ever takes a signal that is meant for the session.
 */
#include "pg/base/rb_pg.h"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#define RB_CUDA_FILE "redblue_cuda.so"

static bool module_tried;
static const rb_backend *module_backend;
static char module_fault[256];

/* it lies where this library does */
static void
find_module(void)
{
	Dl_info self;
	char path[MAXPGPATH];
	const char *slash;

	module_tried = true;
	if (dladdr((void *) &rb_backend_choose, &self) == 0 || self.dli_fname == NULL ||
		(slash = strrchr(self.dli_fname, '/')) == NULL)
	{
		snprintf(module_fault, sizeof module_fault, "the directory of %s is not known",
				 RB_CUDA_FILE);
		return;
	}
	snprintf(path, sizeof path, "%.*s/%s", (int) (slash - self.dli_fname), self.dli_fname,
			 RB_CUDA_FILE);
	if (access(path, F_OK) != 0)
		snprintf(module_fault, sizeof module_fault, "%s is not installed", RB_CUDA_FILE);
	else
		module_backend = rb_backend_open(path, module_fault, sizeof module_fault);
}

/* open the module once in the life of the process */
static void
open_module(void)
{
	sigset_t all;
	sigset_t before;

	if (module_tried)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	find_module();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

const rb_backend *
rb_backend_cuda(char *text, size_t size)
{
	const rb_backend *usable = NULL;
	sigset_t all;
	sigset_t before;

	text[0] = '\0';
	open_module();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (module_backend == NULL)
		snprintf(text, size, "%s", module_fault);
	else if (module_backend->probe(0, text, size) == RB_OK)
		usable = module_backend;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return usable;
}

const rb_backend *
rb_backend_choose(const char *function, char *note, size_t size)
{
	note[0] = '\0';
	if (rb_setting_backend == RB_CHOOSE_CPU)
		return &rb_backend_cpu;
	if (rb_setting_backend == RB_CHOOSE_CUDA)
	{
		const rb_backend *cuda = rb_backend_cuda(note, size);
		rb_error error = {RB_NO_DEVICE, 0, 0, ""};

		if (cuda == NULL)
		{
			strlcpy(error.text, note, sizeof error.text);
			rb_raise(function, RB_NO_DEVICE, &error);
		}
		note[0] = '\0';
		return cuda;
	}
	open_module();
	if (module_backend != NULL)
		return rb_backend_auto(module_backend);
	strlcpy(note, module_fault, size);
	return &rb_backend_cpu;
}
