/*
 * device.c
 *	  Decides whether rounds of refinement run on threads of this process or on a device.
 *
 * As for joins (placement.c), the worker opens the device for all sessions. The thread that refines
 * asks the worker for rounds, through a request that stays open until that thread has finished. The
 * request is opened by the main thread of this process once the initial tetrahedra are known. The
 * thread itself runs the rounds that the worker cannot, unless redblue.backend requires a device.
 *
 * Meshes of solids are small and numerous: each is built by one thread of this process. The device
 * would have to process them one after the other, and each of them would take longer than on a CPU.
 */
#include "pg/mesh/meshing.h"

#include "core/base/base.h"
#include "refine/refining.h"

#include <math.h>

/* ---- estimate of the work ---- */

/* Measured number of tetrahedra that refinement produces per initial one, without a volume bound */
#define TETS_OF_ONE 3.0
/* Measured mean volume of tetrahedra, relative to their volume bound */
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
max_volume_of_region(const rb_refine_options *o, int64 region)
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
 * Estimates the final number of tetrahedra. Volume bounds determine it directly; each point with a
 * size is assumed to stand for an equal share of the whole volume, as if such points were evenly
 * distributed.
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
		const double most = Min(o->max_volume, max_volume_of_region(o, t->region[i]));

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

/* ---- rounds on the worker ---- */

/* Implements the refine callback of a backend; ctx is the context of a run. */
static rb_status
refine_on_worker(rb_context *ctx, rb_refining *refining, size_t size)
{
	rb_meshing_run *run = (rb_meshing_run *) ((char *) ctx - offsetof(rb_meshing_run, ctx));
	rb_status status = rb_remote_refine(run->placement.remote, refining);

	(void) size;
	/* This process still has the mesh, so its own threads can finish in any case. */
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
	if (!call->by_solid || rb_setting_backend == RB_CHOOSE_CUDA)
		rb_placement_prepare(call->function, call->source, call->sides);
}

/* Opens a request to the worker. Returns false if that fails. */
static bool
open_on_worker(rb_meshing_run *run)
{
	static const rb_backend of_worker = {.name = "cuda", .refine = refine_on_worker};
	const rb_job job = {.red = NULL};
	rb_submission order = {.ask = RB_ASK_REFINE, .device = RB_ON_DEVICE, .job = &job};
	const int threads = run->ctx.threads;
	bool opened;

	/* Open the request with the number of threads that will copy the mesh. */
	run->ctx.threads = run->options.threads;
	opened = rb_placement_submit(&run->placement, &order);
	run->ctx.threads = threads;
	if (opened)
		run->options.backend = &of_worker;
	return opened;
}

static void
open_here(rb_meshing_run *run)
{
	const rb_backend *backend;

	rb_placement_choose_here(&run->placement);
	backend = run->placement.backend;
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
	run->options.backend_only = run->placement.demanded;
	if (rb_placement_wants_refinement(&run->placement, run->expected, run->options.threads) &&
		!open_on_worker(run))
		open_here(run);
	run->ms[RB_MESH_REFINE] += rb_now_ms() - start;
}

void
rb_meshing_device_end(rb_meshing_run *run)
{
	rb_placement_stop(&run->placement);
	run->options.backend = NULL;
}

/* ---- report ---- */

/*
 * Completes the report line of refinement with the device and its time, or with the reason why
 * rounds ran on the CPU.
 */
void
rb_meshing_device_report(const rb_meshing_run *run, rb_report_line *line)
{
	const rb_stats *stats = &run->ctx.stats;
	const rb_refine_report *r = &run->one.refined;
	const char *note = run->placement.note[0] != '\0' ? run->placement.note : stats->note;
	const char *threads = rb_count_text((uint64) run->options.threads, "thread");
	double ms = 0;

	line->device = threads;
	if (r->device_rounds == 0)
	{
		if (note[0] != '\0')
			line->device = psprintf("%s; no GPU used: %.160s", threads, note);
		return;
	}
	for (int i = 0; i < RB_REFINE_STEPS; i++)
		ms += r->device_ms[i];
	line->detail = psprintf("%s; on the GPU: %.3f ms, %llu MB", line->detail, ms,
							(unsigned long long) ((r->device_bytes + (1 << 20) - 1) >> 20));
	line->backend = "cuda";
	if (r->device_rounds < r->rounds && note[0] == '\0')
		line->device = psprintf("%s; %u small rounds by %s", stats->device,
								r->rounds - r->device_rounds, threads);
	else if (r->device_rounds < r->rounds)
		line->device = psprintf("%s; %u rounds by %s: %.100s", stats->device,
								r->rounds - r->device_rounds, threads, note);
	else if (note[0] != '\0')
		line->device = psprintf("%s; opened by this session: %.100s", stats->device, note);
	else
		line->device = stats->device;
}
