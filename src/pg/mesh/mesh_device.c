/*
 * mesh_device.c
 *	  Where rounds of refinement run: here, in threads, or on a device, by the worker.
 *
 * As for joins (backend.c), the worker has the device open for all sessions, and is asked for rounds
 * by the thread that refines: the request stays open until that one has come to its end.  It is opened here,
 * in the process's first thread, when the tetrahedra to begin with are known.  What the worker cannot do the
 * thread does itself, unless redblue.backend demands a device.
 *
 * Meshes of bodies are small, and there are many: each is made by one of our threads.  The device would
 * have to take them one by one, and each costs it more than a processor.
 */
#include "pg/mesh/rb_meshing.h"

#include "core/base/rb_base.h"
#include "refine/rb_refining.h"

#include <math.h>

/* ---- is it worth it? ---- */

/* measured: refinement makes so many tetrahedra of one, where no volume is asked for; ... */
#define TETS_OF_ONE 3.0
/* ... and where one is, they come to this share of it */
#define SHARE_OF_VOLUME 0.5

static double
volume_of(const rb_tets *t, uint32 tet)
{
	const double *a = t->points + 3 * (size_t) t->tets[tet][0];
	double d[3][3];

	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
			d[i][k] = t->points[3 * (size_t) t->tets[tet][i + 1] + k] - a[k];
	return fabs(d[0][0] * (d[1][1] * d[2][2] - d[1][2] * d[2][1]) -
				d[0][1] * (d[1][0] * d[2][2] - d[1][2] * d[2][0]) +
				d[0][2] * (d[1][0] * d[2][1] - d[1][1] * d[2][0])) /
		   6;
}

static double
most_of_region(const rb_refine_options *o, int64 region)
{
	uint32 from = 0;
	uint32 to = o->nregion_volumes;

	while (from < to)
	{
		const uint32 middle = (from + to) / 2;

		if (o->region_volumes[middle].region < region)
			from = middle + 1;
		else
			to = middle;
	}
	return from < o->nregion_volumes && o->region_volumes[from].region == region
			   ? o->region_volumes[from].volume
			   : INFINITY;
}

/*
 * How many there will be, about.  A volume asked for tells it; points with sizes are taken to have a share of the
 * whole each, as if they were spread evenly.
 */
rb_status
rb_meshing_expect(rb_meshing_run *run)
{
	const rb_refine_options *o = &run->options;
	const rb_tets *t = &run->one.tets;
	double n = 0;
	double whole = 0;

	for (uint32 i = 0; i < t->ntets; i++)
	{
		const double volume = volume_of(t, i);
		const double most = Min(o->max_volume, most_of_region(o, t->region[i]));

		if ((i & 0xffff) == 0xffff && rb_should_stop(&run->ctx))
			return RB_STOPPED;
		whole += volume;
		n += Max(o->radius_edge < INFINITY ? TETS_OF_ONE : 1, volume / (SHARE_OF_VOLUME * most));
	}
	for (uint32 i = 0; i < o->nsizes; i++)
		n += whole / o->nsizes / (SHARE_OF_VOLUME * o->sizes[i].volume);
	if (o->max_points > 0)
		n = Min(n, 7.0 * (double) o->max_points);
	run->expected = (uint64) Min(n, 4e9);
	return RB_OK;
}

/* ---- by the worker ---- */

/* as the refine of a backend; the context is that of a run */
static rb_status
refine_there(rb_context *ctx, rb_refining *refining, size_t size)
{
	rb_meshing_run *run = (rb_meshing_run *) ((char *) ctx - offsetof(rb_meshing_run, ctx));
	rb_status status = rb_remote_refine(run->remote, refining);

	(void) size;
	/* this process has the mesh: whatever it was, threads here may come to an end */
	if (rb_is_left_to_us(status) && !run->options.backend_only)
	{
		char why[sizeof ctx->error.text];

		strlcpy(why, ctx->error.text[0] != '\0' ? ctx->error.text : rb_status_text(status),
				sizeof why);
		rb_forget_failure(ctx);
		return rb_fail(ctx, RB_NO_DEVICE, 0, 0, why);
	}
	return status;
}

void
rb_meshing_device_prepare(const rb_meshing_call *call)
{
	if (!call->by_body || rb_setting_backend == RB_CHOOSE_CUDA)
		rb_backend_prepare(call->function, call->source, call->sides);
}

/* false and why not, in run->note */
static bool
ask_worker(rb_meshing_run *run)
{
	static const rb_backend of_worker = {.name = "cuda", .refine = refine_there};
	const rb_job job = {.red = NULL};
	const rb_order order = {
		.function = run->call->function, .ask = RB_ASK_REFINE, .device = RB_ON_DEVICE, .job = &job};
	const int threads = run->ctx.threads;
	bool opened;

	/* those that will copy the mesh */
	run->ctx.threads = run->options.threads;
	opened = rb_remote_open(&run->remote, GetMemoryChunkContext(run), &run->ctx, &order,
							run->progress, run->note, sizeof run->note);
	run->ctx.threads = threads;
	if (opened)
		run->options.backend = &of_worker;
	return opened;
}

static void
open_here(rb_meshing_run *run)
{
	const rb_backend *backend = rb_backend_here(run->call->function, run->note);

	if (backend == &rb_backend_cpu)
		return;
	run->options.backend = backend;
	(void) backend->probe(run->ctx.device, run->ctx.stats.device, sizeof run->ctx.stats.device);
}

void
rb_meshing_device_begin(rb_meshing_run *run)
{
	const double start = rb_now_ms();

	if (rb_setting_backend == RB_CHOOSE_CPU)
		return;
	run->options.backend_only = rb_setting_backend == RB_CHOOSE_CUDA;
	if (rb_backend_refines(run->expected, run->options.threads, run->note, sizeof run->note) &&
		!ask_worker(run))
		open_here(run);
	run->ms[RB_MESH_REFINE] += rb_now_ms() - start;
}

void
rb_meshing_device_end(rb_meshing_run *run)
{
	rb_remote_close(run->remote);
	run->remote = NULL;
	run->options.backend = NULL;
}

/* ---- what of it is told ---- */

/* in the line of this stage: the device and its time, or why it is the processor, or from when on */
void
rb_meshing_device_report(const rb_meshing_run *run, rb_last_line *line)
{
	const rb_stats *stats = &run->ctx.stats;
	const rb_refine_report *r = &run->one.refined;
	const char *note = run->note[0] != '\0' ? run->note : stats->note;
	const char *threads = rb_count_text((uint64) run->options.threads, "thread");
	const size_t said = strlen(line->detail);
	double ms = 0;

	for (int i = 0; i < RB_REFINE_STEPS; i++)
		ms += r->device_ms[i];
	if (r->device_rounds > 0)
		snprintf(line->detail + said, sizeof line->detail - said, "; on the GPU: %.3f ms, %llu MB",
				 ms, (unsigned long long) ((r->device_bytes + (1 << 20) - 1) >> 20));
	line->backend = r->device_rounds > 0 ? "cuda" : "cpu";
	if (r->device_rounds == 0 && note[0] == '\0')
		snprintf(line->device, sizeof line->device, "%s", threads);
	else if (r->device_rounds == 0)
		snprintf(line->device, sizeof line->device, "%s; no GPU used: %.160s", threads, note);
	else if (r->device_rounds < r->rounds && note[0] == '\0')
		snprintf(line->device, sizeof line->device, "%s; %u rounds, of few cells, by %s",
				 stats->device, r->rounds - r->device_rounds, threads);
	else if (r->device_rounds < r->rounds)
		snprintf(line->device, sizeof line->device, "%s; %u rounds by %s: %.100s", stats->device,
				 r->rounds - r->device_rounds, threads, note);
	else if (note[0] != '\0')
		snprintf(line->device, sizeof line->device, "%s; opened by this session: %.100s",
				 stats->device, note);
	else
		snprintf(line->device, sizeof line->device, "%s", stats->device);
}
