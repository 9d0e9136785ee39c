/*
 * meshing_run.c
 *	  Runs the work of one call: reads the sides, works in a helper thread while the main thread
 *	  waits, and reports.
 *
 * The core knows nothing about interrupts, and a single step may take a long time. So it works in a
 * thread of its own (helper_thread.c). All resources belong to the run, which is closed at the end
 * of its memory context, or by cleanup.c when the process exits: the thread is stopped and joined,
 * then the memory is freed.
 */
#include "pg/mesh/meshing.h"

#include "access/htup_details.h"
#include "lib/stringinfo.h"
#include "utils/memutils.h"

#include <math.h>

/*
 * Approximate bytes per tetrahedron during construction, and tetrahedra per point; used in messages
 * about memory
 */
#define TET_BYTES 200
#define TETS_OF_POINT 7

/* ---- opening and closing ---- */

/* Ends the helper thread and frees the memory of a run. */
static void
close_run(void *arg)
{
	rb_meshing_run *run = arg;

	rb_cleanup_unregister(&run->open);
	rb_helper_end(&run->background);
	rb_placement_stop(&run->placement);
	rb_progress_end(&run->progress);
	if (run->memory != NULL)
	{
		for (int i = 0; i < RB_MESH_SIDES; i++)
			rb_set_release(&run->side[i].set);
		rb_memory_destroy(run->memory);
		run->memory = NULL;
	}
	rb_cleanup_release_idle();
}

rb_meshing_run *
rb_meshing_open(const rb_meshing_call *call, MemoryContext context)
{
	rb_meshing_run *run = MemoryContextAllocZero(context, sizeof *run);
	const uint64 limit = (uint64) rb_setting_memory_limit * 1024;

	run->call = call;
	rb_cleanup_register(&run->open, context, close_run, run);
	rb_memory_set_idle(limit);
	run->memory = rb_memory_open(call->function, limit);
	rb_settings_apply(&run->ctx, run->memory);
	run->ctx.settings.grid_resolution = 0; /* The setting is for joins that the user calls. */
	run->progress = rb_progress_begin(call->function);
	rb_placement_init(&run->placement, call->function, context, &run->ctx, run->progress);
	run->part = run->parts = &run->one;
	run->nparts = 1;
	run->options = call->options;
	return run;
}

/* ---- reading ---- */

/* Adds a seed of a region or hole for each point of a side that the run has read. */
static void
add_seeds_of_read_side(rb_meshing_run *run, rb_meshing_side side)
{
	const rb_set *set = rb_meshing_set(run, side);

	for (uint32 i = 0; set != NULL && i < set->nparts; i++)
	{
		rb_seed *seed = &run->seeds[run->nseeds++];

		memcpy(seed->at, set->coords + 3 * (size_t) i, sizeof seed->at);
		seed->hole = side == RB_MESH_HOLES;
		if (!seed->hole)
			seed->region = rb_meshing_id(run, side, set->row_of == NULL ? i : set->row_of[i]);
	}
}

void
rb_meshing_read(rb_meshing_run *run)
{
	const double start = rb_now_ms();
	rb_progress_entry *around = rb_progress_reading(run->progress);
	const rb_set *regions;
	const rb_set *holes;
	uint64 seeds;
	uint64 parts = 0;

	rb_read_sides(run->call->source, run->call->sides, run->memory, NULL, run->side);
	rb_progress_reading(around);
	regions = rb_meshing_set(run, RB_MESH_REGIONS);
	holes = rb_meshing_set(run, RB_MESH_HOLES);
	seeds = (regions == NULL ? 0 : regions->nparts) + (holes == NULL ? 0 : holes->nparts);
	run->seeds = MemoryContextAllocHuge(GetMemoryChunkContext(run), (seeds + 1) * sizeof(rb_seed));
	add_seeds_of_read_side(run, RB_MESH_REGIONS);
	add_seeds_of_read_side(run, RB_MESH_HOLES);
	for (int i = 0; i < run->call->sides; i++)
		parts += run->side[i].set->nparts;
	run->ctx.threads = rb_threads(parts);
	run->ms[RB_STAGE_READ] = rb_now_ms() - start;
}

/* ---- the thread ---- */

/* Runs the current step of the meshing run, as work of the helper thread. */
static rb_status
run_meshing_work(void *arg)
{
	rb_meshing_run *run = arg;

	return run->work(run);
}

/*
 * Estimates the number of points. A closed surface of triangles has half as many points as
 * triangles.
 */
static uint64
expected_points_of_meshing_run(const rb_meshing_run *run)
{
	uint64 n = 0;

	if (run->part->is_welded)
		return run->part->welded.plc.npoints;
	for (int i = 0; i < run->call->sides; i++)
		if (run->side[i].set != NULL)
			n += run->side[i].set->nparts / (run->call->source[i].kind == RB_TRIANGLE3 ? 2 : 1);
	return n;
}

/*
 * Raises a failure. If memory ran out, estimates the need from the memory in use and the number of
 * points.
 */
pg_noreturn static void
raise_meshing_failure(rb_meshing_run *run, rb_status status)
{
	rb_error error = run->ctx.error;

	if (status == RB_BAD_PLC)
		rb_meshing_raise_flaw(run);
	if (error.status != status)
		error = (rb_error){status, 0, 0, ""};
	if (status == RB_OVER_BUDGET && !run->call->repair)
		error.need = Max(error.need + error.need / 2,
						 rb_memory_used(run->memory) +
							 expected_points_of_meshing_run(run) * TETS_OF_POINT * TET_BYTES);
	rb_raise_of(run->call->function, run->call->repair ? RB_REPAIR_WHAT : RB_MESH_WHAT, status,
				&error);
}

/*
 * Returns the stage of the meshing run, for progress reports. During meshing this is the stage of
 * the core, which is more detailed. While the core runs a join, it is the run's own stage.
 */
static int
current_meshing_stage(const rb_meshing_run *run)
{
	const int stage = rb_load(&run->ctx.stage);

	return stage >= RB_STAGE_MESH_POINTS && stage <= RB_STAGE_MESH_REFINE ? stage
																		  : rb_load(&run->stage);
}

/* Reports the progress of the run while the helper thread works. */
static void
report_meshing_progress(void *arg)
{
	rb_meshing_run *run = arg;

	rb_progress_note(run->progress, current_meshing_stage(run), rb_load(&run->ctx.done),
					 rb_load(&run->ctx.total));
}

void
rb_meshing_work(rb_meshing_run *run, rb_status (*work)(rb_meshing_run *run))
{
	rb_helper *b = &run->background;
	rb_status status;

	run->work = work;
	b->ctx = &run->ctx;
	b->work = run_meshing_work;
	b->arg = run;
	b->meanwhile = report_meshing_progress;
	status = rb_helper_run(b);
	if (status != RB_OK)
		raise_meshing_failure(run, status);
}

void
rb_meshing_stage(rb_meshing_run *run, int stage, double *start)
{
	const double now = rb_now_ms();

	if (*start != 0)
		run->ms[rb_load(&run->stage)] += now - *start;
	*start = now;
	rb_progress(&run->ctx, RB_STAGE_READ, 0, 0);
	rb_store(&run->stage, stage);
}

/* ---- report ---- */

/* Number of ids in a list such as "17, 18, 230, and 5 more" */
#define LISTED 10

typedef struct id_list
{
	StringInfoData text;
	uint32 n;
} id_list;

/* Adds the id of a solid to the list for a notice, which shows only the first ones. */
static void
add_solid_to_notice(id_list *solids, int64 solid)
{
	if (solids->n == 0)
		initStringInfo(&solids->text);
	if (solids->n++ < LISTED)
		appendStringInfo(&solids->text, "%s" INT64_FORMAT, solids->n > 1 ? ", " : "", solid);
}

/*
 * Returns the text of the list of solids in a notice of the run, with the number of those left
 * out.
 */
static const char *
text_of_solids_in_notice(id_list *solids)
{
	if (solids->n > LISTED)
		appendStringInfo(&solids->text, ", and %u more", solids->n - LISTED);
	return solids->text.data;
}

/* Returns a sentence about the points that moved, or "" if none did. */
static const char *
moves_text(const rb_split_done *split)
{
	if (split->level == 0)
		return "";
	return psprintf(
		"  Where facets still crossed after rounding, or could not be meshed, input points "
		"were moved to a grid.  Moved points: %u; largest move: %.3g; widest grid spacing: "
		"%.3g (level %u).",
		split->moved, split->largest_move, split->grid, split->level);
}

void
rb_meshing_notices(const rb_meshing_run *run)
{
	const char *function = run->call->function;
	rb_split_done split = {.points = 0};
	uint64 bad = 0;
	uint64 full = 0;
	uint64 outside = 0;
	uint64 no_area = 0;
	uint64 unmerged = 0;
	uint64 same_facets = 0;
	rb_near_report near = {0, 0, 0};
	const char *no_rows =
		run->empty ? "  The mesh has no rows, and the tables created for it were dropped." : "";
	id_list empty = {.n = 0};
	id_list skipped = {.n = 0};
	rb_reasons why;
	bool facets = false;

	for (uint32 i = 0; i < run->nparts; i++)
	{
		const rb_meshing_part *part = &run->parts[i];

		split.points += part->split.points;
		split.segments += part->split.segments;
		split.dropped += part->split.dropped;
		split.moved += part->split.moved;
		split.level = Max(split.level, part->split.level);
		split.grid = Max(split.grid, part->split.grid);
		split.largest_move = Max(split.largest_move, part->split.largest_move);
		bad += part->refined.bad;
		full += part->refined.bad_because[RB_BAD_FULL];
		outside += part->tets.outside_seeds;
		no_area += part->welded.no_area;
		same_facets += part->welded.same_facets;
		near.moved += part->welded.near.moved;
		near.split += part->welded.near.split;
		near.move = Max(near.move, part->welded.near.move);
		unmerged += part->unmerged;
		facets |= part->welded.plc.nfacets > 0;
		if (part->tets.ntets == 0 && part->tets.npoints > 0)
			add_solid_to_notice(&empty, part->solid);
	}
	memset(&why, 0, sizeof why);
	if (run->empty && empty.n == 0 && run->nskipped == 0)
		ereport(NOTICE, (errmsg("%s: the mesh has no tetrahedra", function),
						 errdetail("The input is empty.%s", no_rows)));
	for (uint32 i = 0; i < run->nskipped; i++)
	{
		add_solid_to_notice(&skipped, run->skipped[i].solid);
		rb_reasons_add(&why, run->skipped[i].reason, 1);
	}
	if (split.points + split.segments + split.dropped + split.level > 0)
		ereport(NOTICE,
				(errmsg("%s: facets and segments were split where they cross", function),
				 errdetail("Added points: %u; added lines: %u; duplicate triangles "
						   "removed: %u.%s",
						   split.points, split.segments, split.dropped, moves_text(&split))));
	if (near.moved + same_facets > 0)
		ereport(
			NOTICE,
			(errmsg_plural("%s: joined %u vertex with another",
						   "%s: joined %u vertices with others", near.moved, function, near.moved),
			 errdetail("Largest move: %g; groups that were too wide for one vertex: %u; duplicate "
					   "facets removed: " UINT64_FORMAT ".",
					   near.move, near.split, same_facets)));
	if (unmerged > 0)
		ereport(NOTICE,
				(errmsg("%s: only exactly coplanar facets were merged", function),
				 errdetail("No mesh was found that stays within the tolerance of facets that are "
						   "merged at an angle of %g degrees.",
						   run->call->merge.degrees),
				 errhint("Use a smaller angle for merge.")));
	if (no_area > 0)
		ereport(NOTICE, (errmsg_plural("%s: ignored " UINT64_FORMAT " triangle without area",
									   "%s: ignored " UINT64_FORMAT " triangles without area",
									   no_area, function, no_area),
						 errdetail_plural("Its vertices are points of the mesh.",
										  "Their vertices are points of the mesh.", no_area)));
	if (skipped.n > 0 && rb_setting_skip_notice)
		ereport(NOTICE,
				(errmsg_plural("%s: could not mesh %u solid", "%s: could not mesh %u solids",
							   skipped.n, function, skipped.n),
				 errdetail("Skipped: %s.  Reasons: %s.%s", text_of_solids_in_notice(&skipped),
						   rb_reasons_text(&why), no_rows),
				 errhint("Run SELECT * FROM redblue_last_skipped(); to list them with their "
						 "faults.  Run SET redblue.skip_notice = off; to disable this notice.")));
	if (full > 0)
		ereport(NOTICE,
				(errmsg("%s: refinement stopped at max_points = " UINT64_FORMAT, function,
						run->options.max_points),
				 errdetail("Tetrahedra that are still bad: " UINT64_FORMAT
						   ", of which " UINT64_FORMAT " because of max_points.",
						   bad, full),
				 run->call->by_solid
					 ? errhint("Increase max_points, which applies to each solid separately.")
					 : errhint("Increase max_points; call the function without facets, points and "
							   "segments to refine the mesh further.")));
	if (empty.n > 0 && run->call->by_solid)
		ereport(NOTICE,
				(errmsg_plural("%s: %u solid has no tetrahedra", "%s: %u solids have no tetrahedra",
							   empty.n, function, empty.n),
				 errdetail("Solids whose facets do not enclose a volume: %s.%s",
						   text_of_solids_in_notice(&empty), no_rows),
				 errhint("Use keep => 'hull' to keep all tetrahedra up to the convex hull.")));
	else if (empty.n > 0 && run->call->keep == RB_KEEP_INSIDE)
		ereport(NOTICE,
				(errmsg("%s: the mesh has no tetrahedra", function),
				 errdetail("%s%s",
						   facets ? "The facets do not enclose a volume, or all of it is a hole."
								  : "Without facets, no volume is enclosed.",
						   no_rows),
				 errhint("Use keep => 'hull' to keep all tetrahedra up to the convex hull.")));
	else if (outside > 0)
		ereport(
			NOTICE,
			(errmsg_plural("%s: " UINT64_FORMAT " point of regions or holes lies outside the mesh",
						   "%s: " UINT64_FORMAT " points of regions or holes lie outside the mesh",
						   outside, function, outside),
			 errdetail("Facets do not enclose such a point, or the point lies on a facet.")));
}

rb_meshing_sums
rb_meshing_sum(const rb_meshing_run *run)
{
	/* Divide times by the number of threads that meshed solids at once. */
	const int share = run->call->by_solid ? run->ctx.threads : 1;
	rb_meshing_sums s;

	memset(&s, 0, sizeof s);
	s.min_dihedral = NAN;
	for (uint32 i = 0; i < run->nparts; i++)
	{
		const rb_meshing_part *part = &run->parts[i];
		const rb_welded *w = &part->welded;
		const rb_tets *t = &part->tets;
		const rb_refine_report *r = &part->refined;

		s.polygons += w->npolygons;
		s.facets += w->plc.nfacets;
		s.triangles += w->plc.ntriangles;
		s.segments += w->plc.nsegments;
		s.same_points += w->same_points;
		s.same_segments += w->same_segments;
		s.points += w->plc.npoints;
		s.crossings += part->split.points;
		s.farthest = Max(s.farthest, w->farthest);
		for (uint32 f = 0; f < w->plc.nfacets && w->plc.tolerance != NULL; f++)
			s.tolerance = Max(s.tolerance, w->plc.tolerance[f]);
		s.vertices += t->npoints;
		s.edges += t->nedges;
		s.faces += t->nfaces;
		s.regions += t->nregions;
		s.tets += t->ntets;
		s.ms_points += t->ms_points / share;
		s.ms_segments += t->ms_segments / share;
		s.ms_facets += t->ms_facets / share;
		s.ms_regions += t->ms_regions / share;
		for (uint32 v = part->names != NULL ? part->names->npoints : w->plc.npoints; v < t->npoints;
			 v++)
			s.added[t->kind[v]]++;
		for (int k = 0; k < RB_VERTEX_KINDS; k++)
			s.refined += r->added[k];
		for (int k = 0; k < RB_BAD_REASONS; k++)
			s.because[k] += r->bad_because[k];
		s.bad += r->bad;
		s.slivers.before += r->slivers.before;
		s.slivers.flips += r->slivers.flips;
		s.slivers.moved += r->slivers.moved;
		s.slivers.added += r->slivers.added;
		s.not_delaunay += r->slivers.not_delaunay;
		if (t->ntets > 0 && !(s.min_dihedral <= r->min_dihedral))
			s.min_dihedral = r->min_dihedral;
		s.tried += r->tried;
		s.rounds = Max(s.rounds, r->rounds);
	}
	return s;
}

Datum
rb_meshing_counts_row(FunctionCallInfo fcinfo, const uint64 *counts, int ncounts, const double *ms,
					  int nms)
{
	Datum *values = palloc((Size) (ncounts + nms) * sizeof *values);
	bool *nulls = palloc0((Size) (ncounts + nms) * sizeof *nulls);
	TupleDesc desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	for (int i = 0; i < ncounts; i++)
		values[i] = Int64GetDatum((int64) counts[i]);
	for (int i = 0; i < nms; i++)
	{
		nulls[ncounts + i] = isnan(ms[i]);
		values[ncounts + i] = Float8GetDatum(rint(ms[i] * 1000) / 1000);
	}
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

rb_report_line *
rb_meshing_report_stage(rb_report *report, const rb_meshing_run *run, int stage, uint64 count,
						const char *detail)
{
	return rb_report_add(report, rb_progress_stage_name(stage), count, run->ms[stage], detail);
}

/*
 * Describes how many facets merging of coplanar or nearly flat polygons has left, for the report of
 * a mesh built from rows.
 */
static const char *
describe_merging(const rb_meshing_run *run, const rb_meshing_sums *s)
{
	if (s->tolerance > 0)
		return psprintf("facets after merging nearly flat ones: %llu; largest distance of a vertex "
						"from the plane of its facet: %g; largest tolerance of a facet: %g",
						(unsigned long long) s->facets, s->farthest, s->tolerance);
	return s->facets < s->polygons && run->call->merge.kind != RB_MERGE_NONE
			   ? psprintf("facets after merging coplanar ones: %llu",
						  (unsigned long long) s->facets)
			   : "";
}

/* Reports how a mesh was built from rows. */
static void
report_making(const rb_meshing_run *run, const rb_meshing_sums *s, rb_report *report)
{
	rb_meshing_report_stage(
		report, run, RB_MESH_WELD, s->points,
		psprintf("%s of %s, %s; duplicate points: %llu, duplicate segments: %llu",
				 rb_count_text(s->polygons, "facet"), rb_count_text(s->triangles, "triangle"),
				 rb_count_text(s->segments, "segment"), (unsigned long long) s->same_points,
				 (unsigned long long) s->same_segments));
	rb_meshing_report_stage(report, run, RB_MESH_VALIDATE, s->triangles, "");
	rb_report_add(report, "points", s->vertices, s->ms_points, "");
	rb_report_add(report, "segments", s->edges, s->ms_segments, "");
	rb_report_add(report, "facets", s->faces, s->ms_facets, describe_merging(run, s));
	rb_report_add(report, "regions", s->regions, s->ms_regions, "");
}

/*
 * Completes the line about refinement in the report of a run with the device and its time, or with
 * the reason why rounds ran on the CPU.
 */
static void
add_device_to_meshing_report(const rb_meshing_run *run, rb_report_line *line)
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
		line->device =
			psprintf("%s; %s by %s", stats->device,
					 rb_count_text(r->rounds - r->device_rounds, "small round"), threads);
	else if (r->device_rounds < r->rounds)
		line->device =
			psprintf("%s; %s by %s: %.100s", stats->device,
					 rb_count_text(r->rounds - r->device_rounds, "round"), threads, note);
	else if (note[0] != '\0')
		line->device = psprintf("%s; opened by this session: %.100s", stats->device, note);
	else
		line->device = stats->device;
}

/* Adds the lines about refinement to the report. */
static void
report_refinement(const rb_meshing_run *run, const rb_meshing_sums *s, rb_report *report)
{
	rb_report_line *line = rb_meshing_report_stage(
		report, run, RB_MESH_REFINE, s->refined,
		psprintf("rounds: %llu, cavities tried: %llu, remaining bad tetrahedra: %llu",
				 (unsigned long long) s->rounds, (unsigned long long) s->tried,
				 (unsigned long long) s->bad));

	if (s->slivers.before > 0)
		line->detail = psprintf(
			"%s; slivers: %llu; to remove them, flips: %llu, moved vertices: %llu, added vertices: "
			"%llu; faces that are not Delaunay: %llu",
			line->detail, (unsigned long long) s->slivers.before,
			(unsigned long long) s->slivers.flips, (unsigned long long) s->slivers.moved,
			(unsigned long long) s->slivers.added, (unsigned long long) s->not_delaunay);
	if (!run->call->by_solid)
		add_device_to_meshing_report(run, line);
}

void
rb_meshing_report(const rb_meshing_run *run, uint64 rows, double ms)
{
	const rb_meshing_sums s = rb_meshing_sum(run);
	const rb_meshing_names *loaded = run->one.names;
	rb_report report = {.backend = "cpu",
						.device = rb_count_text((uint64) run->ctx.threads, "thread")};
	uint64 read = 0;

	for (int i = 0; i < run->call->sides; i++)
		read += run->side[i].rows;
	rb_report_add(&report, "read", read, run->ms[RB_STAGE_READ], "");
	if (loaded != NULL)
	{
		rb_meshing_report_stage(&report, run, RB_MESH_LOAD, loaded->npoints, "");
		rb_meshing_report_stage(&report, run, RB_MESH_CHECK, loaded->npoints, "");
	}
	else
		report_making(run, &s, &report);
	if (run->call->refine)
		report_refinement(run, &s, &report);
	rb_report_add(&report, rb_progress_stage_name(RB_MESH_FILL), rows, ms,
				  psprintf("tetrahedra: %llu, peak memory: %llu kB", (unsigned long long) s.tets,
						   (unsigned long long) (rb_memory_peak(run->memory) >> 10)));
	rb_last_report_set(&report, GetUserId());
	rb_last_skipped_set(run->skipped, run->nskipped);
}
