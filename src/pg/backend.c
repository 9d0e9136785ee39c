/*
 * backend.c
 *	  Which backend computes the next join.
 *
 * The CUDA backend is a file of its own, redblue_cuda.so, that lies beside this
 * library and is opened on first use, so never in the postmaster, whose children
 * could not use a device that it had touched.  A machine without the file, the
 * driver or the device answers from the CPU.
 *
 * All signals are blocked while foreign code may start threads, so that none of
 * these threads ever takes a signal that is meant for the backend.
 */
#include "rb_pg.h"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#define RB_CUDA_FILE "redblue_cuda.so"
#define RB_CUDA_SYMBOL "rb_cuda_backend"

typedef const rb_backend *(*cuda_entry)(void);

static bool module_tried;
static const rb_backend *module_backend;
static char module_fault[256];

/* open the module once in the life of the process */
static void
open_module(void)
{
	Dl_info self;
	char path[MAXPGPATH];
	const char *slash;
	void *handle;
	cuda_entry entry;

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
	{
		snprintf(module_fault, sizeof module_fault, "%s is not installed", RB_CUDA_FILE);
		return;
	}
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL)
	{
		snprintf(module_fault, sizeof module_fault, "%s", dlerror());
		return;
	}
	entry = (cuda_entry) dlsym(handle, RB_CUDA_SYMBOL);
	if (entry == NULL)
		snprintf(module_fault, sizeof module_fault, "%s has no function %s", RB_CUDA_FILE,
				 RB_CUDA_SYMBOL);
	else
	{
		const rb_backend *backend = entry();

		if (backend != NULL && backend->abi == RB_BACKEND_ABI)
		{
			module_backend = backend;
			return;
		}
		snprintf(module_fault, sizeof module_fault,
				 "%s is of another version of redblue (interface %u, needed is %u)", RB_CUDA_FILE,
				 backend == NULL ? 0 : backend->abi, RB_BACKEND_ABI);
	}
	dlclose(handle);
}

const rb_backend *
rb_backend_cuda(char *text, size_t size)
{
	const rb_backend *usable = NULL;
	sigset_t all;
	sigset_t before;

	text[0] = '\0';
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!module_tried)
		open_module();
	if (module_backend == NULL)
		snprintf(text, size, "%s", module_fault);
	else if (module_backend->probe(text, size) == RB_OK)
		usable = module_backend;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return usable;
}

const rb_backend *
rb_backend_choose(const char *function, char *note, size_t size)
{
	const rb_backend *cuda;

	note[0] = '\0';
	if (rb_setting_backend == RB_CHOOSE_CPU)
		return &rb_backend_cpu;
	cuda = rb_backend_cuda(note, size);
	if (cuda != NULL)
	{
		note[0] = '\0';
		return cuda;
	}
	if (rb_setting_backend == RB_CHOOSE_CUDA)
	{
		rb_error error = {RB_NO_DEVICE, 0, 0, ""};

		strlcpy(error.text, note, sizeof error.text);
		rb_raise(function, RB_NO_DEVICE, &error);
	}
	ereport(DEBUG1, (errmsg_internal("%s: no GPU is used: %s", function, note)));
	return &rb_backend_cpu;
}
