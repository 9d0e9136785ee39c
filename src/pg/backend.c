/*
 * backend.c
 *	  Which backend computes the next join.
 *
 * The CUDA backend is a file of its own, redblue_cuda.so, that lies beside this
 * library and is opened on first use, so never in the postmaster, whose children
 * could not use a device that it had touched.  A machine without the file, the
 * driver or the device answers from the CPU.
 *
 * "auto" decides when the size of the join is known, in the thread that joins: a
 * device takes a quarter of a second to wake up, and then some tenths of a
 * millisecond for however little.  Whatever keeps the device from it (no driver,
 * a device that failed, no memory left by other sessions), the processor does it
 * instead, as long as no pair was handed out, and redblue_last_run tells why.
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

static void
find_module(void)
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

/* ---- auto ---- */

/* measured: a part on one core, until the first pair from a device, and until that on later calls */
#define RB_CPU_MS_PER_PART 0.005
#define RB_COLD_MS 250.0
#define RB_WARM_MS 0.4

/* the device cannot be had, and it has handed nothing out */
static bool
is_left_to_cpu(const rb_context *ctx, rb_status status)
{
	return (status == RB_NO_DEVICE || status == RB_DEVICE_FULL || status == RB_DEVICE_FAILED) &&
		   ctx->stats.hits == 0;
}

static rb_status
auto_join(rb_context *ctx, const rb_job *job, const rb_sink *sink)
{
	const uint64 parts = (uint64) job->red->nparts + (job->blue != NULL ? job->blue->nparts : 0);
	const double cpu_ms = RB_CPU_MS_PER_PART * (double) parts / ctx->threads;
	rb_stats before = ctx->stats;
	char note[sizeof ctx->stats.note];

	if (cpu_ms < (module_backend->warm(ctx->device) ? RB_WARM_MS : RB_COLD_MS))
		snprintf(note, sizeof note, "the processor is faster with %llu parts",
				 (unsigned long long) parts);
	else if (module_backend->probe(ctx->device, note, sizeof note) == RB_OK)
	{
		rb_status status;

		strlcpy(ctx->stats.backend, module_backend->name, sizeof ctx->stats.backend);
		status = module_backend->join(ctx, job, sink);
		if (!is_left_to_cpu(ctx, status))
			return status;
		strlcpy(note, ctx->error.text, sizeof note);
		rb_forget_failure(ctx);
	}
	ctx->stats = before;
	strlcpy(ctx->stats.backend, rb_backend_cpu.name, sizeof ctx->stats.backend);
	strlcpy(ctx->stats.note, note, sizeof ctx->stats.note);
	return rb_backend_cpu.join(ctx, job, sink);
}

static rb_status
auto_probe(int device, char *text, size_t size)
{
	strlcpy(text, "", size);
	return RB_OK;
}

static bool
auto_warm(int device)
{
	return true;
}

static const rb_backend backend_auto = {RB_BACKEND_ABI, "auto", auto_probe, auto_join, auto_warm};

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
		return &backend_auto;
	strlcpy(note, module_fault, size);
	return &rb_backend_cpu;
}
