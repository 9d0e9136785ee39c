/*
 * placement.c
 *	  Decides where a join or a mesh refinement runs, and runs it there: in the worker, on a device
 *	  of this process, or on the CPU.
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
 *
 * Work that the worker accepted but cannot do is done in this process, if no pair has been returned
 * yet and redblue.backend does not require a device.
 *
 * Joins of functions (execution.c), joins of the plan node (join_scan.c) and refinement
 * (refine_function.c) use this file. Where a join runs within a process, serve.c decides in the
 * worker, and multi_device.c if there are several devices.
 */
#include "pg/exec/exec.h"

#include "storage/bufmgr.h"
#include "utils/rel.h"

/*
 * Approximate size of a table row per part, in bytes: a row of nine numbers, an id and its header
 * is larger
 */
#define RB_BYTES_PER_PART 80

/*
 * Estimates the number of parts of a side, to choose before anything is read whether the worker or
 * this process joins.
 */
static double
estimate_parts_before_reading(const rb_source *source)
{
	if (source->rel == NULL || !OidIsValid(source->heap))
		return source->rows;
	return (double) RelationGetNumberOfBlocks(source->rel) * BLCKSZ / RB_BYTES_PER_PART;
}

/* Raises the ERROR that a join requires a device and none is usable, with the reason. */
pg_noreturn static void
raise_no_device_for_join(const char *function, const char *text)
{
	rb_error error = {RB_NO_DEVICE, 0, 0, ""};

	strlcpy(error.text, text, sizeof error.text);
	rb_raise(function, RB_NO_DEVICE, &error);
}

void
rb_placement_prepare(const char *function, const rb_source *source, int sides)
{
	const bool demanded = rb_setting_backend == RB_CHOOSE_CUDA;
	char text[200];
	double parts = 0;

	if (rb_setting_backend == RB_CHOOSE_CPU)
		return;
	if (!rb_device_installed(text, sizeof text))
	{
		if (demanded)
			raise_no_device_for_join(function, text);
		return;
	}
	/* From the second call on, it is known before anything is read if there is no device. */
	if (demanded && rb_worker_device(false, text, sizeof text) == RB_DEVICE_IS_NOT)
		raise_no_device_for_join(function, text);
	for (int i = 0; i < sides; i++)
		parts += estimate_parts_before_reading(&source[i]);
	parts = Min(parts, 4e9);
	if (demanded ||
		rb_device_pays((uint64) parts, rb_threads((uint64) parts), false, text, sizeof text))
		rb_worker_call();
}

/* ---- choice of the process ---- */

typedef bool (*rb_pays)(uint64_t n, int threads, bool warm, char *text, size_t size);

/* Returns true if the worker should do the work; otherwise sets placement->note to the reason. */
static bool
should_use_worker(rb_placement *placement, rb_pays pays, uint64 n, int threads)
{
	char *note = placement->note;
	const size_t size = sizeof placement->note;
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
rb_placement_wants_join(rb_placement *placement, uint64 parts)
{
	return should_use_worker(placement, rb_device_pays, parts, placement->ctx->threads);
}

bool
rb_placement_wants_refinement(rb_placement *placement, uint64 tets, int threads)
{
	return should_use_worker(placement, rb_device_pays_refining, tets, threads);
}

/* ---- the work, in either process ---- */

void
rb_placement_init(rb_placement *placement, const char *function, MemoryContext context,
				  rb_context *ctx, rb_progress_entry *progress)
{
	memset(placement, 0, sizeof *placement);
	placement->function = function;
	placement->context = context;
	placement->ctx = ctx;
	placement->progress = progress;
	placement->backend = &rb_backend_cpu;
	placement->demanded = rb_setting_backend == RB_CHOOSE_CUDA;
}

void
rb_placement_begin(rb_placement *placement, const rb_job *job)
{
	rb_placement_stop(placement);
	placement->job = job;
	placement->handed_out = false;
	placement->backend = &rb_backend_cpu;
	placement->demanded = rb_setting_backend == RB_CHOOSE_CUDA;
}

bool
rb_placement_submit(rb_placement *placement, rb_submission *order)
{
	static const rb_backend of_worker = {.name = "cuda"};
	char why_not[sizeof placement->note];

	order->function = placement->function;
	if (order->device != RB_ON_PROCESSOR)
		placement->backend = &of_worker;
	if (rb_remote_open(&placement->remote, placement->context, placement->ctx, order,
					   placement->progress, why_not, sizeof why_not))
		return true;
	strlcpy(placement->note, why_not, sizeof placement->note);
	return false;
}

void
rb_placement_choose_here(rb_placement *placement)
{
	char text[256];

	placement->backend = &rb_backend_cpu;
	if (!placement->demanded)
		return;
	ereport(DEBUG1, (errmsg_internal("%s: this session opens the GPU itself: %s",
									 placement->function, placement->note)));
	placement->backend = rb_device_here(text, sizeof text);
	if (placement->backend == NULL)
		raise_no_device_for_join(placement->function, text);
}

rb_status
rb_placement_run_here(rb_placement *placement)
{
	return rb_stream_open(placement->ctx, placement->backend, placement->job, &placement->stream);
}

bool
rb_placement_can_take_over(const rb_placement *placement, rb_status status)
{
	return placement->remote != NULL && placement->stream == NULL && !placement->handed_out &&
		   !placement->demanded && rb_is_left_to_us(status);
}

void
rb_forget_join(rb_context *ctx)
{
	const rb_stats before = ctx->stats;

	rb_forget_failure(ctx);
	memset(&ctx->stats, 0, sizeof ctx->stats);
	ctx->stats.stage[RB_STAGE_READ] = before.stage[RB_STAGE_READ];
}

rb_status
rb_placement_take_over(rb_placement *placement)
{
	rb_context *ctx = placement->ctx;
	const rb_error *error = &ctx->error;

	strlcpy(placement->note, error->text[0] == '\0' ? rb_status_text(error->status) : error->text,
			sizeof placement->note);
	rb_forget_join(ctx);
	placement->backend = &rb_backend_cpu;
	return rb_placement_run_here(placement);
}

rb_status
rb_placement_next(rb_placement *placement, int wait_ms, rb_block *block)
{
	rb_status status = placement->stream != NULL
						   ? rb_stream_next(placement->stream, wait_ms, block)
						   : rb_remote_next(placement->remote, wait_ms, block);

	if (status == RB_OK && block->n > 0)
		placement->handed_out = true;
	if (status == RB_END && placement->stream == NULL &&
		rb_remote_note(placement->remote)[0] != '\0')
		strlcpy(placement->note, rb_remote_note(placement->remote), sizeof placement->note);
	rb_progress_note(placement->progress, rb_load(&placement->ctx->stage),
					 rb_load(&placement->ctx->done), rb_load(&placement->ctx->total));
	return status;
}

const uint32_t *
rb_placement_words(const rb_placement *placement)
{
	return placement->stream != NULL ? rb_stream_words(placement->stream)
									 : rb_remote_words(placement->remote);
}

bool
rb_placement_groups(const rb_placement *placement, rb_groups *groups)
{
	return placement->stream != NULL ? rb_stream_groups(placement->stream, groups)
									 : rb_remote_groups(placement->remote, groups);
}

void
rb_placement_stop(rb_placement *placement)
{
	rb_stream_close(placement->stream);
	placement->stream = NULL;
	rb_remote_close(placement->remote);
	placement->remote = NULL;
}
