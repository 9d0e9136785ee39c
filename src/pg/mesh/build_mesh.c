/*
 * build_mesh.c
 *	  Builds the mesh of a call: welds the rows, tetrahedralizes, and refines. Builds a separate mesh
 *	  for each of many solids, given by the rows of facets.
 *
 * Several threads process the solids in the order of their ids, one thread per solid, each with a
 * context of its own, so that a flaw in one solid does not make the others fail. The error reported
 * is that of the failed solid with the smallest id: solids after one that failed are skipped, but
 * those before it are still processed.
 */
#include "pg/mesh/meshing.h"

#include "core/base/parallel.h"
#include "core/set/set.h"
#include "core/solid/solid.h"
#include "utils/memutils.h"

/* ---- one mesh ---- */

/*
 * Begins a stage. Only the time is recorded for a solid, since several threads work on solids at
 * once.
 */
static void
begin_meshing_stage(rb_meshing_run *run, rb_meshing_part *part, int ends, int begins, double *start)
{
	if (part == &run->one)
		rb_meshing_stage(run, begins, start);
	else
	{
		const double now = rb_now_ms();

		part->ms[ends] += *start == 0 ? 0 : now - *start;
		*start = now;
	}
}

/* Welds a part with a context that need not be the run's. */
static rb_status
weld_part(rb_meshing_run *run, rb_context *ctx, rb_meshing_part *part, const rb_set *facets)
{
	const rb_weld_input in = {.facets = facets,
							  .segments = rb_meshing_set(run, RB_MESH_SEGMENTS),
							  .points = rb_meshing_set(run, RB_MESH_POINTS),
							  .seeds = run->seeds,
							  .nseeds = run->nseeds,
							  .skip_flat = run->call->split,
							  .distance = run->call->weld};

	RB_TRY(rb_weld(ctx, &in, &part->welded, &part->flaw));
	part->is_welded = true;
	return run->call->split ? rb_resplit_run(ctx, &rb_backend_cpu, &part->resplit, &part->welded,
											 &part->split, &part->flaw)
							: RB_OK;
}

/*
 * Returns RB_BAD_PLC if the mesh does not match its facets, which is never the fault of the rows.
 */
static rb_status
check_part_volumes(rb_context *ctx, rb_meshing_part *part)
{
	rb_volumes_input in;

	rb_volumes_of_plc(&part->welded.plc, &part->tets, &in);
	return rb_volumes_check(ctx, &in, &part->flaw);
}

/*
 * Returns true if the flaw is one of the finished mesh, which its volumes reveal, and not of the
 * PLC.
 */
static inline bool
is_mesh_wrong(const rb_flaw *flaw)
{
	return flaw->kind == RB_FLAW_OFF_FACET || flaw->kind == RB_FLAW_VOLUME;
}

/* Undoes the last kind of merging before another attempt. */
static rb_status
unmerge_part(rb_context *ctx, rb_meshing_part *part)
{
	rb_forget_failure(ctx);
	memset(&part->flaw, 0, sizeof part->flaw);
	rb_tets_free(ctx->memory, &part->tets);
	part->unmerged |= part->welded.plc.tolerance != NULL;
	RB_TRY(rb_weld_unmerge(ctx, &part->welded));
	return rb_weld_creases(ctx, &part->welded);
}

/*
 * Tetrahedralizes a part. If a facet of several polygons cannot be recovered, it tries again with
 * only exactly coplanar polygons merged, and then with the polygons as separate facets: then points
 * are added, and rounded, at other locations.
 */
static rb_status
tetrahedralize_part(const rb_meshing_run *run, rb_context *ctx, rb_meshing_part *part)
{
	for (;;)
	{
		const bool near = part->welded.plc.tolerance != NULL;
		rb_status status =
			rb_tetrahedralize(ctx, &part->welded.plc, run->call->keep, &part->tets, &part->flaw);

		if (status == RB_OK)
			status = check_part_volumes(ctx, part);
		if (status != RB_BAD_PLC || !rb_weld_is_merged(&part->welded) ||
			part->flaw.kind == RB_FLAW_NO_VOLUME || (is_mesh_wrong(&part->flaw) && !near))
			return status;
		RB_TRY(unmerge_part(ctx, part));
	}
}

/*
 * Replaces the merged facets that the faces of the built mesh refer to by the polygons that were
 * merged into them.
 */
static rb_status
label_faces_by_polygon(rb_context *ctx, rb_meshing_part *part)
{
	rb_polygons polygons;

	if (part->names == NULL)
		polygons = rb_weld_polygons(&part->welded);
	else
	{
		polygons = part->names->polygons;
		/* The points of the mesh begin with the original points. */
		polygons.points = part->tets.points;
	}
	return rb_label_polygons(ctx, &polygons, &part->tets);
}

/*
 * Refines a mesh; if it cannot be built again, its hull does not stay convex or a vertex is lost,
 * that is a flaw.
 */
static rb_status
refine_tets_of_part(rb_meshing_run *run, rb_context *ctx, rb_meshing_part *part)
{
	const rb_reflex_edge *reflex = &part->refined.reflex;
	rb_status status = rb_refine(ctx, &run->options, &part->tets, &part->refined);

	if (status == RB_BAD_PLC && part->refined.not_rebuilt)
		part->flaw = (rb_flaw){.kind = RB_FLAW_NOT_REBUILT};
	else if (status == RB_BAD_PLC && part->refined.lost.any)
	{
		part->flaw = (rb_flaw){.kind = RB_FLAW_LOST_POINT};
		memcpy(part->flaw.at, part->refined.lost.at, sizeof part->flaw.at);
	}
	else if (status == RB_BAD_PLC)
	{
		part->flaw =
			(rb_flaw){.kind = RB_FLAW_NOT_CONVEX, .amount = reflex->depth, .limit = reflex->limit};
		memcpy(part->flaw.at, reflex->at, sizeof part->flaw.at);
	}
	return status;
}

/*
 * Refines a mesh built from rows, and checks the volumes it encloses afterwards. If points leave the
 * tolerance of their facets, it starts again with only exactly coplanar polygons merged.
 */
static rb_status
refine_built_part(rb_meshing_run *run, rb_context *ctx, rb_meshing_part *part)
{
	rb_status status = refine_tets_of_part(run, ctx, part);

	if (status == RB_OK)
		status = check_part_volumes(ctx, part);
	if (status != RB_BAD_PLC || part->welded.plc.tolerance == NULL)
		return status;
	RB_TRY(unmerge_part(ctx, part));
	RB_TRY(tetrahedralize_part(run, ctx, part));
	memset(&part->refined, 0, sizeof part->refined);
	RB_TRY(refine_tets_of_part(run, ctx, part));
	return check_part_volumes(ctx, part);
}

/*
 * Refines the mesh of one part of a call, whether built from rows or continued, and checks the
 * volumes it encloses afterwards.
 */
static rb_status
refine_mesh_of_part(rb_meshing_run *run, rb_context *ctx, rb_meshing_part *part)
{
	rb_volumes_surface kept = {0};
	rb_volumes_input in;
	rb_status status;

	if (part->names == NULL)
		return refine_built_part(run, ctx, part);
	status = rb_volumes_copy_surface(ctx, &part->tets, &kept);
	if (status == RB_OK)
		status = refine_tets_of_part(run, ctx, part);
	if (status == RB_OK)
	{
		rb_volumes_of_surface(&kept, &part->tets, &in);
		status = rb_volumes_check(ctx, &in, &part->flaw);
	}
	rb_volumes_surface_free(ctx->memory, &kept);
	return status;
}

/* Finds the facets between which doubles leave no room, if that is the flaw; returns RB_BAD_PLC. */
static rb_status
find_gap_at_flaw(rb_context *ctx, rb_meshing_part *part)
{
	const rb_flaw *flaw = &part->flaw;

	if (flaw->kind != RB_FLAW_TOO_NEAR && flaw->kind != RB_FLAW_NOT_RECOVERED)
		return RB_BAD_PLC;
	rb_forget_failure(ctx);
	RB_TRY(rb_weld_find_gap(ctx, &part->welded, flaw, &part->gap));
	return rb_fail(ctx, RB_BAD_PLC, flaw->a, flaw->b, NULL);
}

/*
 * Builds the mesh of a part. If facets were split and the mesh fails where they are too near, splits
 * them again with coarser coordinates.
 */
static rb_status
build_split_part(const rb_meshing_run *run, rb_context *ctx, rb_meshing_part *part)
{
	rb_status status = rb_weld_creases(ctx, &part->welded);

	if (status == RB_OK)
		status = tetrahedralize_part(run, ctx, part);
	while (status == RB_BAD_PLC && rb_resplit_raise(part->resplit, &part->flaw))
	{
		rb_forget_failure(ctx);
		rb_tets_free(ctx->memory, &part->tets);
		memset(&part->flaw, 0, sizeof part->flaw);
		part->unmerged = false;
		status = rb_resplit_run(ctx, &rb_backend_cpu, &part->resplit, &part->welded, &part->split,
								&part->flaw);
		if (status == RB_OK)
			status = rb_weld_merge(ctx, &part->welded, run->call->merge);
		if (status == RB_OK)
			status = rb_weld_creases(ctx, &part->welded);
		if (status == RB_OK)
			status = tetrahedralize_part(run, ctx, part);
	}
	rb_resplit_free(ctx->memory, &part->resplit);
	return status == RB_BAD_PLC ? find_gap_at_flaw(ctx, part) : status;
}

/*
 * Tetrahedralizes a welded part with a context that need not be the run's. Stores the time of each
 * stage in part->ms.
 */
static rb_status
tetrahedralize_welded_part(rb_meshing_run *run, rb_context *ctx, rb_meshing_part *part)
{
	double start = 0;
	rb_status status = RB_OK;

	begin_meshing_stage(run, part, RB_MESH_WELD, RB_MESH_VALIDATE, &start);
	/* A PLC that was split has been validated already. */
	if (!run->call->split)
		status = rb_weld_validate(ctx, &rb_backend_cpu, &part->welded, &part->flaw);
	if (status == RB_OK)
		status = rb_weld_merge(ctx, &part->welded, run->call->merge);
	begin_meshing_stage(run, part, RB_MESH_VALIDATE, RB_MESH_TETRAHEDRALIZE, &start);
	if (status == RB_OK)
		status = build_split_part(run, ctx, part);
	begin_meshing_stage(run, part, RB_MESH_TETRAHEDRALIZE, RB_MESH_REFINE, &start);
	/* If the call has one mesh only, a separate work function refines it. */
	if (status == RB_OK && run->call->by_solid && run->call->refine)
		status = refine_mesh_of_part(run, ctx, part);
	if (status == RB_OK && (run->call->by_solid || !run->call->refine))
		status = label_faces_by_polygon(ctx, part);
	begin_meshing_stage(run, part, RB_MESH_REFINE, RB_MESH_FILL, &start);
	return status;
}

rb_status
rb_meshing_weld(rb_meshing_run *run)
{
	double start = 0;
	rb_status status;

	rb_meshing_stage(run, RB_MESH_WELD, &start);
	status = weld_part(run, &run->ctx, run->part, rb_meshing_set(run, RB_MESH_FACETS));
	rb_meshing_stage(run, RB_MESH_WELD, &start);
	return status;
}

rb_status
rb_meshing_fill_plc(rb_meshing_run *run)
{
	return tetrahedralize_welded_part(run, &run->ctx, run->part);
}

rb_status
rb_meshing_finish_plc(rb_meshing_run *run)
{
	rb_status status;

	RB_TRY(rb_weld_merge(&run->ctx, &run->part->welded, run->call->merge));
	if (!run->call->split)
		return rb_weld_creases(&run->ctx, &run->part->welded);
	/*
	 * Build a mesh, because how far the points of split facets move may depend on it. It is not an
	 * error if there is none.
	 */
	status = build_split_part(run, &run->ctx, run->part);
	rb_tets_free(run->ctx.memory, &run->part->tets);
	if (status != RB_BAD_PLC)
		return status;
	rb_forget_failure(&run->ctx);
	return RB_OK;
}

rb_status
rb_meshing_refine(rb_meshing_run *run)
{
	double start = 0;
	rb_status status;

	rb_meshing_stage(run, RB_MESH_REFINE, &start);
	status = refine_mesh_of_part(run, &run->ctx, run->part);
	if (status == RB_OK)
		status = label_faces_by_polygon(&run->ctx, run->part);
	rb_meshing_stage(run, RB_MESH_FILL, &start);
	return status;
}

rb_status
rb_meshing_make(rb_meshing_run *run)
{
	RB_TRY(rb_meshing_weld(run));
	return rb_meshing_fill_plc(run);
}

/* Repairs a part with a context that need not be the run's. */
static rb_status
repair_part(rb_meshing_run *run, rb_context *ctx, rb_meshing_part *part, const rb_set *facets)
{
	const rb_status status = rb_surface_repair(ctx, &rb_backend_cpu, facets, &run->call->repairing,
											   &part->repaired, &part->welded, &part->flaw);

	part->is_welded = status == RB_BAD_PLC;
	return status;
}

rb_status
rb_meshing_repair(rb_meshing_run *run)
{
	double start = 0;
	rb_status status;

	rb_meshing_stage(run, RB_MESH_WELD, &start);
	status = repair_part(run, &run->ctx, run->part, rb_meshing_set(run, RB_MESH_FACETS));
	rb_meshing_stage(run, RB_MESH_FILL, &start);
	return status;
}

/* ---- a mesh for each solid ---- */

typedef struct rb_meshing_threads
{
	rb_meshing_run *run;
	rb_context *ctx; /* Contexts, one for each thread */
	int n;
	uint32 nsolids;
	uint32 *row;   /* Rows of facets, ordered by solid */
	uint32 *start; /* Start of each solid in row, plus the end */
	uint32 *part;  /* First triangle of each row, plus the end */
	uint32 failed; /* First solid that failed; accessed by several threads */
	uint64 done;   /* Solids processed; accessed by several threads */
} rb_meshing_threads;

/* Asks all threads that build the meshes of solids to stop. */
static void
stop_meshing_threads(void *arg)
{
	const rb_meshing_run *run = arg;

	for (int i = 0; i < run->threads->n; i++)
		rb_context_stop(&run->threads->ctx[i]);
}

/* ---- rows of each solid ---- */

typedef struct of_solid
{
	int64 solid;
	uint32 row;
} of_solid;

/* Orders the rows of a side by the solid to which they belong, then by row number. */
static int
compare_rows_of_solid(const void *a, const void *b)
{
	const of_solid *x = a;
	const of_solid *y = b;

	if (x->solid != y->solid)
		return x->solid < y->solid ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/*
 * Sorts the rows of a side by the solid to which they belong. Within a solid, refused rows come
 * last.
 */
static of_solid *
sort_rows_by_solid(rb_meshing_run *run, const rb_set *set, const rb_side_data *side)
{
	const int64 *solid = (const int64 *) run->call->number[RB_MESH_SOLID].words;
	of_solid *all = rb_meshing_array(run, (size_t) set->nrows + side->nrefused, sizeof *all);
	bool ascend = side->nrefused == 0;

	for (uint32 i = 0; i < set->nrows; i++)
	{
		all[i] = (of_solid){solid[i], i};
		ascend &= i == 0 || solid[i - 1] <= solid[i];
	}
	for (uint32 i = 0; i < side->nrefused; i++)
		all[set->nrows + i] = (of_solid){side->refused[i].id, set->nrows + i};
	if (!ascend)
		qsort(all, set->nrows + side->nrefused, sizeof *all, compare_rows_of_solid);
	CHECK_FOR_INTERRUPTS();
	return all;
}

/* Finds the solids. */
static void
find_solids_to_mesh(rb_meshing_run *run)
{
	const rb_set *set = rb_meshing_set(run, RB_MESH_FACETS);
	const rb_side_data *side = &run->side[run->call->at[RB_MESH_FACETS]];
	rb_meshing_threads *t = MemoryContextAllocZero(GetMemoryChunkContext(run), sizeof *t);
	const size_t most = (size_t) set->nrows + side->nrefused;
	of_solid *all = sort_rows_by_solid(run, set, side);
	uint32 rows = 0;

	t->run = run;
	t->row = rb_meshing_array(run, set->nrows, sizeof *t->row);
	t->start = rb_meshing_array(run, most + 1, sizeof *t->start);
	t->part = rb_meshing_array(run, (size_t) set->nrows + 1, sizeof *t->part);
	t->failed = RB_NONE;
	(void) rb_row_starts(NULL, set, t->part);
	for (size_t i = 0; i < most; i++)
		t->nsolids += i == 0 || all[i - 1].solid != all[i].solid;
	run->parts = rb_meshing_array(run, t->nsolids, sizeof *run->parts);
	memset(run->parts, 0, (size_t) t->nsolids * sizeof *run->parts);
	t->nsolids = 0;
	for (size_t i = 0; i < most; i++)
	{
		rb_meshing_part *part;

		if (i == 0 || all[i - 1].solid != all[i].solid)
			t->start[t->nsolids++] = rows;
		part = &run->parts[t->nsolids - 1];
		part->solid = all[i].solid;
		if (all[i].row < set->nrows)
			t->row[rows++] = all[i].row;
		else if (part->unread.fault == RB_GEOMETRY_OK)
			part->unread = side->refused[all[i].row - set->nrows];
	}
	t->start[t->nsolids] = rows;
	rb_free(run->memory, (void **) &all);
	run->nparts = t->nsolids;

	t->n = (int) Min((uint32) run->options.threads, Max(t->nsolids, 1));
	run->options.threads = Max(run->options.threads / t->n, 1);
	run->ctx.threads = t->n;
	t->ctx = rb_meshing_array(run, (size_t) t->n, sizeof *t->ctx);
	for (int i = 0; i < t->n; i++)
		rb_context_init(&t->ctx[i], run->memory);
	run->threads = t;
	run->background.stop = stop_meshing_threads;
}

/* ---- one solid ---- */

/* Copies the triangles of one solid to arrays of its own, with its rows numbered from 0. */
static rb_status
copy_triangles_of_solid(rb_context *ctx, const rb_meshing_threads *t, uint32 solid, rb_set *to,
						void **blocks)
{
	const rb_set *set = rb_meshing_set(t->run, RB_MESH_FACETS);
	const uint32 *row = t->row + t->start[solid];
	const uint32 nrows = t->start[solid + 1] - t->start[solid];
	uint32 n = 0;

	memset(to, 0, sizeof *to);
	to->kind = set->kind;
	to->nrows = nrows;
	for (uint32 i = 0; i < nrows; i++)
		to->nparts += t->part[row[i] + 1] - t->part[row[i]];
	RB_TRY(rb_array(ctx, &blocks[0], to->nparts, 9 * sizeof(double)));
	RB_TRY(rb_array(ctx, &blocks[1], to->nparts, sizeof(uint32)));
	if (set->face_of != NULL)
		RB_TRY(rb_array(ctx, &blocks[2], to->nparts, sizeof(uint32)));
	if (set->ids != NULL)
		RB_TRY(rb_array(ctx, &blocks[3], nrows, sizeof(int64_t)));
	for (uint32 i = 0; i < nrows; i++)
	{
		const uint32 first = t->part[row[i]];
		const uint32 some = t->part[row[i] + 1] - first;

		memcpy((double *) blocks[0] + 9 * (size_t) n, set->coords + 9 * (size_t) first,
			   some * 9 * sizeof(double));
		for (uint32 k = 0; k < some; k++)
			((uint32 *) blocks[1])[n + k] = i;
		if (set->face_of != NULL)
			memcpy((uint32 *) blocks[2] + n, set->face_of + first, some * sizeof(uint32));
		if (set->ids != NULL)
			((int64_t *) blocks[3])[i] = set->ids[row[i]];
		n += some;
	}
	to->coords = blocks[0];
	to->row_of = blocks[1];
	to->face_of = blocks[2];
	to->ids = blocks[3];
	return RB_OK;
}

/* Translates the row numbers of one solid back to row numbers of the whole set. */
static void
translate_rows(const rb_meshing_threads *t, uint32 solid, rb_meshing_part *part)
{
	const uint32 *row = t->row + t->start[solid];
	rb_welded *w = &part->welded;

	if (!part->is_welded && !t->run->call->repair)
	{
		part->flaw.a =
			part->flaw.a < t->start[solid + 1] - t->start[solid] ? row[part->flaw.a] : RB_NONE;
		return;
	}
	for (size_t i = 0; i < part->repaired.faces.n; i++)
		if (part->repaired.faces.at[i].row != RB_NONE)
			part->repaired.faces.at[i].row = row[part->repaired.faces.at[i].row];
	for (uint32 i = 0; i < w->npolygons; i++)
		w->facet_row[i] = row[w->facet_row[i]];
	for (uint32 i = 0; i < w->plc.npoints; i++)
		if (w->point_side[i] == RB_WELD_FACETS)
			w->point_row[i] = row[w->point_row[i]];
}

/* Builds the mesh of one solid, or repairs it. */
static rb_status
mesh_solid(rb_context *ctx, const rb_meshing_threads *t, uint32 solid, rb_meshing_part *part)
{
	const double start = rb_now_ms();
	void *blocks[4] = {NULL, NULL, NULL, NULL};
	rb_set set;
	rb_status status = copy_triangles_of_solid(ctx, t, solid, &set, blocks);

	if (status == RB_OK)
		status = t->run->call->repair ? repair_part(t->run, ctx, part, &set)
									  : weld_part(t->run, ctx, part, &set);
	for (int i = 0; i < 4; i++)
		rb_free(ctx->memory, &blocks[i]);
	part->ms[RB_MESH_WELD] = rb_now_ms() - start;
	/* This is not a flaw, but the solid has more points than max_points allows. */
	if (status == RB_OK && t->run->options.max_points > 0 &&
		part->welded.plc.npoints > t->run->options.max_points)
		status = RB_BAD_PLC;
	else if (status == RB_OK && !t->run->call->repair)
		status = tetrahedralize_welded_part(t->run, ctx, part);
	rb_resplit_free(ctx->memory, &part->resplit);
	/* Splitting starts from the rows again, so they are translated at the end. */
	if (status == RB_OK || status == RB_BAD_PLC)
		translate_rows(t, solid, part);
	return status;
}

/* ---- all solids ---- */

/* Records a failure of the run, and stops the other threads. */
static void
fail_meshes_of_solids(const rb_meshing_threads *t, rb_status status, const rb_error *error)
{
	if (error->status == status)
		(void) rb_fail(&t->run->ctx, status, error->need, error->limit, error->text);
	else
		(void) rb_fail(&t->run->ctx, status, 0, 0, NULL);
	stop_meshing_threads(t->run);
}

/*
 * Records the first solid that cannot be meshed: solids after it need not be built for the error.
 */
static void
record_failed_solid(rb_meshing_threads *t, uint32 solid)
{
	uint32 was = rb_load(&t->failed);

	while (solid < was && !rb_claim(&t->failed, &was, solid))
		;
}

/* Builds the meshes of a range of solids. */
static void
make_meshes_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_meshing_threads *t = arg;
	rb_context *ctx = &t->ctx[rb_thread_number(me)];

	for (uint64 i = from; i < to; i++)
	{
		rb_meshing_part *part = &t->run->parts[i];

		if (rb_should_stop(&t->run->ctx) || (!t->run->call->skip_bad && i > rb_load(&t->failed)))
			return;
		part->status = part->unread.fault != RB_GEOMETRY_OK ? RB_BAD_PLC
															: mesh_solid(ctx, t, (uint32) i, part);
		if (part->status == RB_BAD_PLC)
		{
			rb_forget_failure(ctx);
			if (!t->run->call->skip_bad)
				record_failed_solid(t, (uint32) i);
		}
		else if (part->status != RB_OK)
		{
			if (part->status != RB_STOPPED)
				fail_meshes_of_solids(t, part->status, &ctx->error);
			return;
		}
		rb_progress(&t->run->ctx, RB_STAGE_READ, rb_add(&t->done, 1), t->nsolids);
	}
}

/* Meshes each solid. A work function. */
static rb_status
mesh_solids(rb_meshing_run *run)
{
	rb_meshing_threads *t = run->threads;
	double start = 0;
	rb_thread *me;
	rb_status status;

	rb_meshing_stage(run, RB_MESH_TETRAHEDRALIZE, &start);
	status = rb_team_open(&run->ctx, t->n, &me);
	if (status == RB_OK)
	{
		status = rb_loop(me, t->nsolids, 1, make_meshes_piece, t);
		rb_team_close(&me);
	}
	rb_store(&run->stage, RB_MESH_FILL);
	return run->ctx.error.status != RB_OK ? run->ctx.error.status : status;
}

/*
 * Raises the error that no mesh can be built for one of several solids, with the reason, the id of
 * the solid, and a hint on how to skip it.
 */
pg_noreturn static void
raise_flaw_of_solid(rb_meshing_run *run, uint32 solid)
{
	rb_meshing_call *call = palloc(sizeof *call);
	MemoryContext context = CurrentMemoryContext;

	*call = *run->call;
	call->function =
		psprintf("%s: solid " INT64_FORMAT, run->call->function, run->parts[solid].solid);
	run->part = &run->parts[solid];
	run->call = call;
	if (run->part->flaw.kind == RB_FLAW_NONE)
		rb_meshing_check_max_points(run, run->part->welded.plc.npoints);
	PG_TRY();
	{
		rb_meshing_raise_flaw(run);
	}
	PG_CATCH();
	{
		ErrorData *flaw;

		MemoryContextSwitchTo(context);
		flaw = CopyErrorData();
		FlushErrorState();
		if (flaw->hint != NULL)
			flaw->hint = psprintf("%s  Use on_bad => 'skip' to skip such solids.", flaw->hint);
		ReThrowError(flaw);
	}
	PG_END_TRY();
	pg_unreachable();
}

/* Describes why no mesh is built for a solid one of whose rows could not be read. */
static void
describe_unreadable_solid(const rb_meshing_run *run, const rb_refusal *unread, rb_skipped_solid *to)
{
	const rb_source *source = &run->call->source[run->call->at[RB_MESH_FACETS]];
	rb_solid_report report;
	char reason[RB_SOLID_REASON];

	rb_solid_of_refusal(&report, unread, source->face_tolerance);
	rb_solid_reason(&report, reason);
	to->message = pstrdup(reason);
}

/*
 * Describes why a solid could not be meshed, in the words of the error that meshing it alone would
 * raise.
 */
static void
describe_flaw_of_solid(rb_meshing_run *run, rb_meshing_part *part, rb_skipped_solid *to)
{
	const char *function = run->call->function;
	MemoryContext context = CurrentMemoryContext;
	ErrorData *error = NULL;

	run->part = part;
	PG_TRY();
	{
		if (part->flaw.kind == RB_FLAW_NONE)
			rb_meshing_check_max_points(run, part->welded.plc.npoints);
		rb_meshing_raise_flaw(run);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	/* The message begins with the function and a colon. */
	to->message = error->message + strlen(function) + 2;
	to->detail = error->detail;
}

/* Moves the skipped solids to a list of their own, and frees the memory of their parts. */
static void
list_skipped_solids(rb_meshing_run *run)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(run));
	uint32 kept = 0;

	for (uint32 i = 0; i < run->nparts; i++)
		run->nskipped += run->parts[i].status != RB_OK;
	run->skipped =
		MemoryContextAllocHuge(CurrentMemoryContext, Max(run->nskipped, 1) * sizeof *run->skipped);
	run->nskipped = 0;
	for (uint32 i = 0; i < run->nparts; i++)
	{
		rb_meshing_part *part = &run->parts[i];
		rb_skipped_solid *to = &run->skipped[run->nskipped];

		CHECK_FOR_INTERRUPTS();
		if (part->status == RB_OK)
		{
			run->parts[kept++] = *part;
			continue;
		}
		*to = (rb_skipped_solid){.solid = part->solid, .reason = rb_meshing_flaw_name(part)};
		if (part->unread.fault != RB_GEOMETRY_OK)
			describe_unreadable_solid(run, &part->unread, to);
		else
			describe_flaw_of_solid(run, part, to);
		rb_welded_free(run->memory, &part->welded);
		run->nskipped++;
	}
	run->nparts = kept;
	MemoryContextSwitchTo(old);
}

/* Reports the solids that could not be meshed. */
static void
report_unmeshed_solids(rb_meshing_run *run)
{
	if (run->threads->failed != RB_NONE)
		raise_flaw_of_solid(run, run->threads->failed);
	for (int s = 0; s < RB_MESH_STAGES; s++)
		for (uint32 i = 0; i < run->nparts; i++)
			run->ms[s] += run->parts[i].ms[s] / run->threads->n;
	list_skipped_solids(run);
}

void
rb_meshing_make_solids(rb_meshing_run *run)
{
	find_solids_to_mesh(run);
	rb_meshing_work(run, mesh_solids);
	report_unmeshed_solids(run);
}
