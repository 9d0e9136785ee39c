/*
 * execution.c
 *	  Runs the join of one call: open (read the sides, start), next block, close.
 *
 * Everything that a join holds, core memory and threads alike, belongs to an rb_join_run, which
 * lives in a memory context. When that context is reset or deleted, at the end of the query or
 * because of an ERROR, a cancel or the end of the session, its callback closes the run: first the
 * stream, which waits for its threads, then the memory. No exit path leaks.
 *
 * A process that exits need not reset the memory context of a run; cleanup.c closes the run in that
 * case.
 *
 * A join runs in the worker or in this process (placement.c). It also runs in the worker if the
 * worker caches a side or is to cache one. If this process must then run the join, the sides are
 * still in memory, or are read again with the snapshot of the first read.
 *
 * rb_run_next waits in slices of 20 ms and checks for interrupts between them.
 */
#include "pg/exec/exec.h"
#include "pg/spill/spill.h"

#include "core/set/set.h"
#include "core/solid/solid.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#define RB_WAIT_MS 20

/* Closes an execution that its caller has not closed, when its memory context ends. */
static void
close_run_at_end(void *run)
{
	rb_run_close(run);
}

/* ---- failures ---- */

/* Returns true if a row of either side has several parts. */
static bool
has_rows_of_several_parts(const rb_join_run *run)
{
	for (int i = 0; i < rb_join_sides(run->join); i++)
		if (run->side[i].parts != run->side[i].rows)
			return true;
	return false;
}

/* Returns true if the call names a column that groups rows into solids. */
static bool
has_object_column(const rb_join_run *run, rb_solid_side of)
{
	const int side =
		of == RB_SOLID_OF_RED || of == RB_SOLID_OF_FIRST ? 0 : rb_join_sides(run->join) - 1;

	return run->call.source[side].object_name != NULL;
}

/*
 * Returns the failure of the join, with an estimate of the memory needed. An estimate is known when
 * the sides are read. If that much memory was available, the need was larger: the error then
 * reports one and a half times the amount held when memory ran out. If pairs of rows are remembered
 * (row_pairs.c), their number is unknown and their table doubles when it grows: the error then
 * reports twice the amount.
 */
rb_error
rb_run_error(const rb_join_run *run)
{
	rb_error error = run->ctx.error;

	/* If the call already groups rows into solids, do not suggest it. */
	if (error.status == RB_BAD_SOLID &&
		has_object_column(run, (rb_solid_side) (error.limit & RB_SOLID_SIDE)))
		error.limit &= ~(uint64) RB_SOLID_TOGETHER;
	/* An error with a text already states the amount. */
	if (error.status != RB_OVER_BUDGET || error.text[0] != '\0')
		return error;
	if (run->need <= error.limit && !has_rows_of_several_parts(run))
		error.need += error.need / 2;
	error.need = Max(error.need, run->need);
	if (has_rows_of_several_parts(run))
		error.need *= 2;
	return error;
}

/* Raises the failure of the join as an ERROR. */
pg_noreturn static void
raise_run_failure(const rb_join_run *run, rb_status status)
{
	rb_error error = rb_run_error(run);

	rb_raise(run->join->function, status, &error);
}

/* ---- inputs that do not fit in memory ---- */

/* Fraction 1/n of the memory limit that threads may use for their workspaces */
#define THREADS_SHARE 4
/*
 * Minimum memory in addition to that of one thread, in bytes. With a lower limit, as in tests, a
 * join that does not fit raises an error instead of spilling.
 */
#define LEAST_ROOM (UINT64CONST(8) << 20)

/*
 * Returns true if the join can be run tile by tile. It cannot if rows have data other than parts
 * and ids (solids, extra columns), if invalid polygons must be found in all tiles, or if it ranks
 * rows, which may be in any tile.
 */
static bool
can_join_tile_by_tile(const rb_join *join, const rb_call_args *call, uint64 limit)
{
	if (rb_join_has_solids(join) || rb_join_has_polygons(join) || rb_join_is_ranked(join) ||
		rb_join_is_within_rows(join) || limit < rb_need_of_join_on(1, 0) + LEAST_ROOM)
		return false;
	for (int i = 0; i < rb_join_sides(join); i++)
		if (call->source[i].count_faces || call->source[i].polygons ||
			call->source[i].beside != NULL)
			return false;
	return true;
}

/* Replaces the sides with those of the next tile. Callable from any thread. */
static rb_status
load_sides_of_next_tile(rb_join_run *run)
{
	const double start = rb_now_ms();
	const rb_set *set[2] = {NULL, NULL};
	rb_status status;

	rb_placement_stop(&run->placement);
	rb_stats_add(&run->before, &run->ctx.stats);
	memset(&run->ctx.stats, 0, sizeof run->ctx.stats);
	for (int i = 0; i < 2; i++)
		rb_set_release(&run->side[i].set);
	status = rb_spill_next(run->spill, set, &run->tile);
	run->tiles = run->spill->joined;
	run->spilled = run->spill->bytes;
	/* A self join may have two sides, with different rows of its only table. */
	for (int i = 0; i < 2; i++)
		run->side[i].set = set[i];
	run->job.red = set[0];
	run->job.blue = set[1];
	run->job.tile = run->tile;
	run->ctx.stats.stage[RB_STAGE_READ].ms = rb_now_ms() - start;
	if (status == RB_END)
	{
		run->ctx.stats = run->before;
		memset(&run->before, 0, sizeof run->before);
	}
	return status;
}

/*
 * Replaces the sides with those of the next tile, and splits the tile if it does not fit in memory.
 */
static rb_status
load_sides_of_tile_that_fits(rb_join_run *run)
{
	rb_status status;

	do
		status = load_sides_of_next_tile(run);
	while (status == RB_OVER_BUDGET && rb_spill_cut_again(run->spill));
	rb_spill_report_blocks(run->spill);
	return status;
}

/* Partitions the spilled rows into tiles, and reads the first one. */
static void
cut_spilled_rows_into_tiles(rb_join_run *run)
{
	const uint64 limit = rb_memory_limit(run->memory);
	const rb_kind kind[2] = {run->side[0].kind, run->side[1].kind};
	rb_status status;

	while (run->ctx.threads > 1 && rb_need_of_join_on(run->ctx.threads, 0) > limit / THREADS_SHARE)
		run->ctx.threads--;
	rb_spill_cut(run->spill, kind, run->side[0].srid, &run->call.tile);
	status = load_sides_of_tile_that_fits(run);
	if (status != RB_OK)
		raise_run_failure(run, status);
}

/* ---- open, next, close ---- */

/* Reads the sides into sets and records their statistics. */
static void
read_sides_of_run(rb_join_run *run)
{
	const double start = rb_now_ms();
	const int sides = rb_join_sides(run->join);
	uint64 rows = 0;

	rb_read_sides(run->call.source, sides, run->memory, run->spill, run->side);
	for (int i = 0; i < sides; i++)
	{
		rb_side_data *side = &run->side[i];

		if (side->set != NULL)
		{
			side->parts = side->set->nparts;
			side->skipped = side->set->skipped;
		}
		rows += side->rows;
		run->parts += side->parts;
		run->skipped += side->skipped;
	}
	run->ctx.threads = rb_threads(run->parts);
	if (rb_spill_has_begun(run->spill))
		cut_spilled_rows_into_tiles(run);
	run->ctx.stats.stage[RB_STAGE_READ].count = rows;
	run->ctx.stats.stage[RB_STAGE_READ].ms = rb_now_ms() - start;
}

/* ---- rows that are not solids ---- */

/*
 * A row that cannot become triangles (for example, because a face crosses itself) is not in the set
 * of its side. If each row gets a report, the reports of these rows follow those of the set.
 */
#define REFUSED_BLOCK 64 /* Number of reports per block */

struct rb_refused_rows
{
	uint32 next;
	int64 red[REFUSED_BLOCK];
	int64 blue[REFUSED_BLOCK];
	uint64 payload[REFUSED_BLOCK * RB_VALIDITY_WORDS];
};

/*
 * Returns the next block of reports. If only their number is needed, counts all of them at once and
 * returns false.
 */
static bool
next_block_of_refused_rows(rb_join_run *run, rb_block *block)
{
	struct rb_refused_rows *rows = run->refused;
	const rb_side_data *side = &run->side[0];
	const uint32 n = Min(side->nrefused - rows->next, REFUSED_BLOCK);

	if (n == 0)
		return false;
	if (run->job.answer != RB_PAIRS)
	{
		run->ctx.stats.stage[RB_STAGE_EMIT].count += side->nrefused;
		rows->next = side->nrefused;
		return false;
	}
	for (uint32 i = 0; i < n; i++)
	{
		const rb_refusal *refusal = &side->refused[rows->next + i];
		rb_solid_report report;

		rb_solid_of_refusal(&report, refusal, run->call.source[0].face_tolerance);
		rb_solid_to_words(&report, rows->payload + (size_t) i * RB_VALIDITY_WORDS);
		rows->red[i] = rows->blue[i] = refusal->id;
	}
	rows->next += n;
	run->ctx.stats.stage[RB_STAGE_EMIT].count += n;
	*block = (rb_block){.red = rows->red,
						.blue = rows->blue,
						.payload = rows->payload,
						.words = RB_VALIDITY_WORDS,
						.n = n};
	return true;
}

/* ---- remote sides ---- */

/*
 * Returns the identity of the active snapshot, to detect that a side cannot be read again as it
 * was.
 */
static rb_moment
identify_active_snapshot(void)
{
	Snapshot snapshot = GetActiveSnapshot();

	return (rb_moment){snapshot->xmin, snapshot->xmax, snapshot->xcnt, snapshot->curcid};
}

/* Returns true if the worker holds neither side of the execution. */
static bool
are_sides_in_this_process(const rb_join_run *run)
{
	return !run->side[0].set->elsewhere &&
		   (run->side[1].set == NULL || !run->side[1].set->elsewhere);
}

/* Replaces the set of a side with a local one, and remembers the first set. */
static void
replace_set_of_side(rb_join_run *run, int i, const rb_set *set)
{
	const rb_set *before = run->side[i].set;

	/* Pointers to the first set remain valid; both sets have the same rows. */
	run->elsewhere[i] = before;
	run->side[i].set = set;
	run->side[i].keep = NULL;
	if (run->job.red == before)
		run->job.red = set;
	if (run->job.blue == before)
		run->job.blue = set;
}

/* Raises the ERROR that a cached table was evicted during the join. */
pg_noreturn static void
raise_evicted_table(rb_join_run *run)
{
	CHECK_FOR_INTERRUPTS();
	ereport(ERROR, (errcode(ERRCODE_OPERATOR_INTERVENTION),
					errmsg("%s: the cached copy of a table was evicted during the join",
						   run->join->function),
					errdetail("The table or the snapshot has changed, so the rows cannot be "
							  "read again."),
					errhint("Run the query again.")));
}

void
rb_run_need_rows(rb_join_run *run, int i)
{
	const rb_moment now = identify_active_snapshot();
	const rb_set *before = run->side[i].set;
	const rb_set *set;

	if (!before->elsewhere)
		return;
	if (memcmp(&now, &run->moment, sizeof now) != 0 ||
		!rb_side_cache_is_same_table(run->side[i].look))
		raise_evicted_table(run);
	/* Return the memory that was charged for the remote set. */
	if (before->view != NULL)
		rb_view_uncount(run->memory, before);
	else
		rb_memory_refund(run->memory, rb_side_cache_entry_bytes(run->side[i].look));
	set = rb_read_side_again(&run->call.source[i], run->memory, &run->side[i]);
	if (set->nrows != before->nrows || set->nparts != before->nparts)
	{
		rb_set_release(&set);
		raise_evicted_table(run);
	}
	replace_set_of_side(run, i, set);
}

/* Materializes delta sets, as work of a helper thread. */
static rb_status
materialize_sides(void *arg)
{
	rb_join_run *run = arg;

	for (int i = 0; i < 2; i++)
	{
		RB_TRY(rb_set_materialize(&run->ctx, run->side[i].set));
		RB_TRY(rb_set_materialize_ids(&run->ctx, run->side[i].set));
	}
	return RB_OK;
}

void
rb_run_bring_sides(rb_join_run *run, rb_helper *helper)
{
	bool views = false;
	rb_status status;

	for (int i = 0; i < 2; i++)
	{
		rb_run_need_rows(run, i);
		run->side[i].keep = NULL;
		views = views || run->side[i].set->view != NULL;
	}
	helper->ctx = &run->ctx;
	helper->work = materialize_sides;
	helper->arg = run;
	status = views ? rb_helper_run(helper) : materialize_sides(run);
	if (status != RB_OK)
		raise_run_failure(run, status);
}

void
rb_run_ensure_ids(rb_join_run *run, int i)
{
	const rb_set *set = run->side[i].set;

	if (!set->elsewhere || set->composed_ids)
		return;
	/* If cached ids are consecutive, they are known without a request. */
	if (set->view != NULL && set->view->kept->composed_ids)
	{
		rb_status status = rb_set_materialize_ids(&run->ctx, set);

		if (status != RB_OK)
			raise_run_failure(run, status);
		return;
	}
	if (!rb_worker_ids(run->join->function, &run->ctx, set, run->placement.note,
					   sizeof run->placement.note))
	{
		rb_forget_failure(&run->ctx);
		rb_run_need_rows(run, i);
	}
}

rb_join_run *
rb_run_read(const rb_join *join, const rb_call_args *call, MemoryContext context, bool by_tiles)
{
	rb_join_run *run = MemoryContextAllocZero(context, sizeof *run);
	rb_progress_entry *around;
	uint64 limit = (uint64) rb_setting_memory_limit * 1024;

	run->join = join;
	run->call = *call;
	run->moment = identify_active_snapshot();
	run->user = GetUserId();
	rb_cleanup_register(&run->open, context, close_run_at_end, run);

	rb_placement_prepare(join->function, call->source, rb_join_sides(join));
	rb_memory_set_idle(limit);
	run->memory = rb_memory_open(join->function, limit);
	rb_settings_apply(&run->ctx, run->memory);
	run->progress = rb_progress_begin(join->function);
	rb_placement_init(&run->placement, join->function, context, &run->ctx, run->progress);
	if (by_tiles && can_join_tile_by_tile(join, call, limit))
	{
		const char *const name[2] = {call->source[0].side, call->source[1].side};

		run->spill = rb_spill_create(join->function, &run->ctx, rb_join_sides(join), name,
									 rb_join_has_distance(join) ? call->distance : 0, context);
	}

	around = rb_progress_reading(run->progress);
	read_sides_of_run(run);
	if (join->predicate == RB_VALIDITY && run->side[0].nrefused > 0)
		run->refused = MemoryContextAllocZero(context, sizeof *run->refused);
	rb_progress_reading(around);
	return run;
}

rb_job
rb_run_job(const rb_join_run *run)
{
	rb_job job;

	memset(&job, 0, sizeof job);
	job.red = run->side[0].set;
	job.blue = run->side[1].set;
	job.predicate = run->join->predicate;
	job.within_rows = rb_join_is_within_rows(run->join);
	job.distance = run->call.distance;
	job.nearest = run->call.nearest;
	job.contact = run->call.contact;
	job.depth = run->call.depth;
	job.min_volume = run->call.min_volume;
	job.frame = run->call.frame;
	job.flat = run->call.flat;
	job.skip_bad = run->call.skip_bad;
	job.by_object = run->call.source[0].object_name != NULL;
	job.tile = rb_spill_has_begun(run->spill) ? run->tile : run->call.tile;
	return job;
}

/*
 * Sends the join to the worker. Returns false and writes the reason to run->placement.note if this
 * process must run it.
 */
static bool
submit_join_to_worker(rb_join_run *run, rb_device_choice device)
{
	rb_submission order = {.device = device, .job = &run->job};
	rb_side_data *red = &run->side[0];
	rb_side_data *blue = &run->side[1];
	bool opened;

	/* Do not cache a slice of a side. */
	if (run->job.red == red->set)
	{
		order.keep[0] = red->keep;
		order.card[0] = red->card;
	}
	if (run->job.blue != NULL && run->job.blue == blue->set)
	{
		order.keep[1] = blue->keep;
		order.card[1] = blue->card;
	}
	opened = rb_placement_submit(&run->placement, &order);
	for (int i = 0; i < 2; i++)
		if (order.keep[i] != NULL)
		{
			if (!order.keep[i]->renewed)
				rb_side_cache_note_sent(run->side[i].look, opened ? NULL : run->placement.note);
			run->side[i].keep = NULL;
		}
	return opened;
}

void
rb_run_start(rb_join_run *run, const rb_job *job)
{
	bool kept =
		!are_sides_in_this_process(run) || run->side[0].keep != NULL || run->side[1].keep != NULL;
	rb_device_choice device = RB_ON_PROCESSOR;
	rb_status status;

	rb_placement_begin(&run->placement, &run->job);
	run->job = *job;
	run->need = rb_memory_used(run->memory) + rb_need_of_join(run->parts);
	/* Consecutive ids are dropped once all are read, but they needed memory until then. */
	for (int i = 0; i < rb_join_sides(run->join); i++)
		if (run->side[i].set->ids == NULL)
			run->need += run->side[i].set->nrows * sizeof(int64);
	/*
	 * Solid checks run in this process, and a search for the first rows in a tree runs only on the
	 * CPU.
	 */
	if (!rb_join_is_local(run->join) && rb_placement_wants_join(&run->placement, run->parts))
		device = are_sides_in_this_process(run) || run->placement.demanded
					 ? RB_ON_DEVICE
					 : RB_ON_DEVICE_OR_PROCESSOR;
	if (kept || device != RB_ON_PROCESSOR)
	{
		char why_processor[sizeof run->placement.note];

		strlcpy(why_processor, run->placement.note, sizeof why_processor);
		if (submit_join_to_worker(run, device))
			return;
		kept = !are_sides_in_this_process(run);
		for (int i = 0; i < rb_join_sides(run->join); i++)
			rb_run_need_rows(run, i);
		/*
		 * If the cache entry was evicted or the worker that held it ended, the current worker can
		 * still get the rows.
		 */
		if (kept && device != RB_ON_PROCESSOR && submit_join_to_worker(run, device))
		{
			strlcpy(run->placement.note, why_processor, sizeof why_processor);
			return;
		}
		if (device != RB_ON_PROCESSOR)
			rb_placement_choose_here(&run->placement);
	}
	status = rb_placement_run_here(&run->placement);
	if (status != RB_OK)
		raise_run_failure(run, status);
}

/* ---- next, close ---- */

rb_status
rb_run_wait(rb_join_run *run, int wait_ms, rb_block *block)
{
	rb_placement *placement = &run->placement;
	rb_status status = rb_placement_next(placement, wait_ms, block);

	if (rb_placement_can_take_over(placement, status) && are_sides_in_this_process(run))
		status = rb_placement_take_over(placement);
	if (status == RB_END && run->refused != NULL && next_block_of_refused_rows(run, block))
		status = RB_OK;
	if (status == RB_END && run->here)
	{
		status = load_sides_of_next_tile(run);
		if (status == RB_OK)
			status = rb_placement_run_here(placement);
	}
	return status;
}

/* Notes for each side whether the worker had no room to cache it. */
static void
note_sides_not_cached(rb_join_run *run)
{
	const rb_remote *remote = run->placement.remote;

	for (int i = 0; i < rb_join_sides(run->join) && remote != NULL; i++)
		if (rb_remote_not_kept(remote, i) > 0)
			rb_side_cache_note_no_room(run->side[i].look, rb_remote_not_kept(remote, i));
}

/* Starts the join of the next tile. Returns false if there is none. */
static bool
start_join_of_next_tile(rb_join_run *run)
{
	rb_status status;
	rb_job job;

	if (!rb_spill_has_begun(run->spill))
		return false;
	status = load_sides_of_tile_that_fits(run);
	if (status == RB_END)
		return false;
	if (status != RB_OK)
		raise_run_failure(run, status);
	job = run->job;
	rb_run_start(run, &job);
	return true;
}

/* Spills the sides, which fit in memory alone but not together with their join. */
static void
spill_sets_of_sides(rb_join_run *run)
{
	rb_spill_begin(run->spill);
	for (int i = 0; i < rb_join_sides(run->join); i++)
	{
		rb_side_data *side = &run->side[i];

		rb_run_need_rows(run, i);
		side->kind = side->set->kind;
		side->srid = side->set->srid;
		if (rb_set_materialize(&run->ctx, side->set) != RB_OK ||
			rb_set_materialize_ids(&run->ctx, side->set) != RB_OK)
			raise_run_failure(run, run->ctx.error.status);
		rb_spill_set(run->spill, i, side->set);
		rb_set_release(&side->set);
		rb_set_release(&run->elsewhere[i]);
	}
}

/*
 * Restarts a join that needs more memory than estimated, in tiles or in smaller tiles. Returns
 * false if pairs have been returned already, or if the join cannot be restarted.
 */
static bool
restart_join_in_tiles(rb_join_run *run, rb_status status)
{
	rb_job job;

	if (status != RB_OVER_BUDGET || run->placement.handed_out || run->spill == NULL || run->here ||
		(run->job.answer != RB_PAIRS && run->job.answer != RB_COUNT))
		return false;
	rb_placement_stop(&run->placement);
	rb_forget_failure(&run->ctx);
	if (rb_spill_has_begun(run->spill))
		return rb_spill_cut_again(run->spill) && start_join_of_next_tile(run);
	spill_sets_of_sides(run);
	cut_spilled_rows_into_tiles(run);
	job = run->job;
	rb_run_start(run, &job);
	return true;
}

bool
rb_run_next(rb_join_run *run, rb_block *block)
{
	for (;;)
	{
		rb_status status;

		CHECK_FOR_INTERRUPTS();
		status = rb_run_wait(run, RB_WAIT_MS, block);
		if (rb_placement_can_take_over(&run->placement, status) && !are_sides_in_this_process(run))
		{
			for (int i = 0; i < rb_join_sides(run->join); i++)
				rb_run_need_rows(run, i);
			status = rb_placement_take_over(&run->placement);
		}
		if (status == RB_END)
		{
			note_sides_not_cached(run);
			if (start_join_of_next_tile(run))
				continue;
			rb_run_report_skipped(run);
			return false;
		}
		if (status != RB_OK && !restart_join_in_tiles(run, status))
		{
			if (status != RB_OVER_BUDGET || !run->may_give_up)
				raise_run_failure(run, status);
			rb_placement_stop(&run->placement);
			rb_forget_join(&run->ctx);
			run->gave_up = true;
			return false;
		}
		if (status == RB_OK && block->n > 0)
			return true;
	}
}

void
rb_run_stay_here(rb_join_run *run)
{
	if (!rb_spill_has_begun(run->spill))
		return;
	run->here = true;
	if (run->placement.remote == NULL)
		return;
	rb_placement_stop(&run->placement);
	rb_placement_choose_here(&run->placement);
	if (rb_placement_run_here(&run->placement) != RB_OK)
		raise_run_failure(run, run->ctx.error.status);
}

void
rb_run_close(rb_join_run *run)
{
	rb_cleanup_unregister(&run->open);
	if (run->stop_reader != NULL)
		run->stop_reader(run->reader);
	run->stop_reader = NULL;
	rb_placement_stop(&run->placement);
	rb_progress_end(&run->progress);
	if (run->memory != NULL)
	{
		for (int i = 0; i < 2; i++)
		{
			rb_set_release(&run->side[i].set);
			rb_set_release(&run->elsewhere[i]);
		}
		rb_spill_report_blocks(run->spill);
		rb_spill_close(run->spill);
		run->spill = NULL;
		rb_memory_destroy(run->memory);
		run->memory = NULL;
	}
	rb_cleanup_release_idle();
}
