/*
 * backend.c
 *	  Chooses the backend, and the process, for the next join or mesh refinement.
 *
 *	redblue.backend		where a device plugin is installed			where none is installed
 *	cpu					this process, on the CPU					this process, on the CPU
 *	auto				the worker if the join is large enough;		this process, on the CPU
 *						this process, on the CPU, if the worker
 *						is unavailable
 *	cuda				the worker; this process opens the device	an error
 *						only if the worker is unavailable
 *
 * The worker opens a device once for all sessions, so that no session pays for it. If no device
 * plugin is installed, no process is started.
 */
#include "pg/exec/exec.h"
#include "pg/worker/worker.h"

#include "storage/bufmgr.h"
#include "utils/rel.h"

/*
 * Approximate size of a table row per part, in bytes: a row of nine numbers, an id and its header
 * is larger
 */
#define RB_BYTES_PER_PART 80

/* Estimates the number of parts before anything is read. */
static double
expected_parts(const rb_source *source)
{
	if (source->rel == NULL || !OidIsValid(source->heap))
		return source->rows;
	return (double) RelationGetNumberOfBlocks(source->rel) * BLCKSZ / RB_BYTES_PER_PART;
}

pg_noreturn static void
raise_no_device(const char *function, const char *text)
{
	rb_error error = {RB_NO_DEVICE, 0, 0, ""};

	strlcpy(error.text, text, sizeof error.text);
	rb_raise(function, RB_NO_DEVICE, &error);
}

void
rb_backend_prepare(const char *function, const rb_source *source, int sides)
{
	const bool demanded = rb_setting_backend == RB_CHOOSE_CUDA;
	char text[200];
	double parts = 0;

	if (rb_setting_backend == RB_CHOOSE_CPU)
		return;
	if (!rb_device_installed(text, sizeof text))
	{
		if (demanded)
			raise_no_device(function, text);
		return;
	}
	/* From the second call on, it is known before anything is read if there is no device. */
	if (demanded && rb_worker_device(false, text, sizeof text) == RB_DEVICE_IS_NOT)
		raise_no_device(function, text);
	for (int i = 0; i < sides; i++)
		parts += expected_parts(&source[i]);
	parts = Min(parts, 4e9);
	if (demanded ||
		rb_device_pays((uint64) parts, rb_threads((uint64) parts), false, text, sizeof text))
		rb_worker_call();
}

typedef bool (*rb_pays)(uint64_t n, int threads, bool warm, char *text, size_t size);

static bool
is_remote(rb_pays pays, uint64 n, int threads, char *note, size_t size)
{
	rb_device_news news;

	note[0] = '\0';
	if (rb_setting_backend == RB_CHOOSE_CPU || !rb_device_installed(note, size))
		return false;
	if (rb_setting_backend == RB_CHOOSE_CUDA)
		return true;
	news = rb_worker_device(false, note, size);
	if (news == RB_DEVICE_IS_NOT)
		return false;
	return pays(n, threads, news == RB_DEVICE_IS_OPEN, note, size);
}

bool
rb_backend_is_remote(uint64 parts, int threads, char *note, size_t size)
{
	return is_remote(rb_device_pays, parts, threads, note, size);
}

bool
rb_backend_refines(uint64 tets, int threads, char *note, size_t size)
{
	return is_remote(rb_device_pays_refining, tets, threads, note, size);
}

const rb_backend *
rb_backend_here(const char *function, const char *reason)
{
	const rb_backend *device;
	char text[256];

	if (rb_setting_backend != RB_CHOOSE_CUDA)
		return &rb_backend_cpu;
	ereport(DEBUG1,
			(errmsg_internal("%s: this session opens the GPU itself: %s", function, reason)));
	device = rb_device_here(text, sizeof text);
	if (device == NULL)
		raise_no_device(function, text);
	return device;
}

bool
rb_backend_device(char *text, size_t size)
{
	char why_not[200];
	rb_device_news news;

	if (!rb_device_installed(text, size))
		return false;
	news = rb_worker_device(true, why_not, sizeof why_not);
	if (news == RB_DEVICE_NO_NEWS && rb_setting_backend == RB_CHOOSE_CUDA)
		return rb_device_here(text, size) != NULL;
	if (news == RB_DEVICE_NO_NEWS)
		snprintf(text, size, "not checked: %s", why_not);
	else
		strlcpy(text, why_not, size);
	return news >= RB_DEVICE_IS_THERE;
}
