/*
 * solid_rows.c
 *	  Returns the intersection of each pair of solids, or the difference of each red solid and all
 *	  blue ones that meet it, as geometries with their volumes.
 *
 *		check of all solids					core/solid/validity_rows.c
 *			-> pairs whose interiors meet	a join for RB_RELATION, of row numbers
 *			-> tasks, ordered by ids
 *			-> their results, some tasks at a time on several threads		mesh/solid_batch.c
 *
 * A difference subtracts the union of the blue solids, united in the order of their ids. The order of the
 * rows of a table may differ from one call to the next, but neither the geometries nor their order
 * depends on it, unless ids repeat.
 *
 * The solids are checked before the join because the join has row numbers in place of ids, which
 * its error would name. The sets remember that they were found valid.
 */
#include "pg/exec/exec.h"

#include "core/base/sort.h"
#include "core/join/join.h"
#include "core/solid/solid.h"
#include "mesh/solid_boolean.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/*
 * Numbers of tasks and triangles of a batch for each thread. The first one limits what a cursor that
 * reads few rows computes needlessly, the second one, what the results of a batch occupy.
 */
#define TASKS_PER_THREAD 32
#define TRIANGLES_PER_THREAD 65536

/* Triangles that are as much work as one that is only read and joined, in a task */
#define WORK_OF_TRIANGLE 32

typedef struct rb_solid_rows
{
	rb_join_run *run;
	rb_context ctx; /* Context of checks and operations */
	rb_helper aside;
	MemoryContext row; /* Holds the values of the last output row */
	bool differences;
	const rb_set *set[2];
	rb_set numbered[2]; /* The sets with row numbers as ids */
	uint32_t *bad;      /* Bitmap of red rows that are no valid solids; NULL if not needed */

	rb_pair *pair;   /* Rows whose interiors meet, ordered by their ids */
	size_t pair_cap; /* Capacity in bytes */
	size_t npairs;
	size_t next_pair;
	uint32_t *blue; /* Blue row of each pair */
	uint32_t *red;  /* Red rows of differences, ordered by their ids */
	uint32 nred;
	uint32 next_red;

	rb_solid_batch batch;
	rb_solid_task *task; /* The current tasks */
	uint32 tasks_cap;
	uint32 ntasks;
	uint32 next_task; /* Next task to be returned */
	uint64 emitted;
} rb_solid_rows;

/* ---- errors and threads ---- */

void
rb_raise_uncut_solids(const char *function, const char *which, const rb_flaw *flaw)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("%s: could not cut the faces of %s where they cross", function, which),
			 errdetail("Reason: %s near %s.", rb_flaw_name(flaw->kind), rb_point_text(flaw->at)),
			 errhint("Please report this as a bug.")));
	pg_unreachable();
}

/* Stops the threads of the current tasks. */
static void
stop_solid_tasks(void *arg)
{
	rb_solid_batch_stop(&((rb_solid_rows *) arg)->batch);
}

/* Stops the helper thread and ends the operations, before the execution and its sets are closed. */
static void
end_solid_rows(void *arg)
{
	rb_solid_rows *s = arg;

	rb_helper_end(&s->aside);
	rb_solid_batch_close(&s->batch);
}

/* Runs work of the core on the helper thread. */
static rb_status
run_solid_work(rb_solid_rows *s, rb_status (*work)(void *), rb_context *ctx)
{
	s->aside.ctx = ctx;
	s->aside.work = work;
	s->aside.arg = s;
	s->aside.stop = stop_solid_tasks;
	return rb_helper_run(&s->aside);
}

/* Raises a failure of the work as an ERROR. */
static void
raise_solid_failure(const rb_solid_rows *s, rb_status status)
{
	if (status != RB_OK)
		rb_raise_of(s->run->join->function, "combination", status, &s->ctx.error);
}

/* ---- before the operations ---- */

/*
 * Checks the solids, as work of the helper thread. If invalid ones are skipped, only differences
 * need the check, because the join checks both sides, too.
 */
static rb_status
check_solids_of_sides(void *arg)
{
	rb_solid_rows *s = arg;
	rb_join_run *run = s->run;
	const bool skip = run->call.skip_bad;

	for (int i = 0; i < 2; i++)
	{
		uint32_t *bad = NULL;
		RB_FREE_AT_END(run->memory, &bad);

		if (skip && (i == 1 || !s->differences))
			continue;
		RB_TRY(rb_solids_check(skip ? &s->ctx : &run->ctx, &rb_backend_cpu, s->set[i], skip,
							   i == 0 ? RB_SOLID_OF_RED : RB_SOLID_OF_BLUE, &bad));
		if (skip)
		{
			s->bad = bad;
			bad = NULL;
		}
	}
	return RB_OK;
}

/* Checks the solids of both sides. */
static void
check_solids(rb_solid_rows *s)
{
	rb_join_run *run = s->run;
	const rb_status status =
		run_solid_work(s, check_solids_of_sides, run->call.skip_bad ? &s->ctx : &run->ctx);
	rb_error error;

	if (status == RB_OK)
		return;
	error = run->call.skip_bad ? s->ctx.error : rb_run_error(run);
	rb_raise(run->join->function, status, &error);
}

/* Appends the pairs of a block whose interiors meet. */
static void
append_solid_pairs(rb_solid_rows *s, const rb_block *block)
{
	const size_t need = (s->npairs + block->n) * sizeof *s->pair;

	if (need > s->pair_cap)
	{
		rb_error error;
		rb_status status;

		s->pair_cap = Max(need, 2 * s->pair_cap);
		status = rb_resize(s->run->memory, (void **) &s->pair, s->pair_cap, &error);
		if (status != RB_OK)
			rb_raise(s->run->join->function, status, &error);
	}
	for (size_t i = 0; i < block->n; i++)
		if (block->payload[i] != RB_SOLIDS_TOUCH)
			s->pair[s->npairs++] = (rb_pair){(uint32) block->red[i], (uint32) block->blue[i]};
}

/* Joins the solids by their row numbers. */
static void
join_solids(rb_solid_rows *s)
{
	rb_job job = rb_run_job(s->run);
	rb_block block;

	for (int i = 0; i < 2; i++)
	{
		s->numbered[i] = *s->set[i];
		s->numbered[i].ids = NULL;
		s->numbered[i].first_id = 0;
		s->numbered[i].composed_ids = false;
		s->numbered[i].view = NULL;
		s->numbered[i].number = 0;
	}
	job.red = &s->numbered[0];
	job.blue = &s->numbered[1];
	rb_run_start(s->run, &job);
	while (rb_run_next(s->run, &block))
		append_solid_pairs(s, &block);
}

/* Compares rows of a set by their ids, then by their numbers. */
static int
compare_row_ids(const rb_set *set, uint32 a, uint32 b)
{
	const int64 x = rb_id_of(set, a), y = rb_id_of(set, b);

	return x != y ? (x > y) - (x < y) : (a > b) - (a < b);
}

/* Orders red rows by their ids. `arg` is the red set. */
static int
by_id_of_row(const void *a, const void *b, const void *arg)
{
	return compare_row_ids(arg, *(const uint32_t *) a, *(const uint32_t *) b);
}

/* Orders pairs by the ids of red, then by those of blue. `arg` is the array of both sets. */
static int
by_ids_of_pair(const void *a, const void *b, const void *arg)
{
	const rb_set *const *set = arg;
	const rb_pair *p = a, *q = b;
	const int order = compare_row_ids(set[0], p->red, q->red);

	return order != 0 ? order : compare_row_ids(set[1], p->blue, q->blue);
}

/* Orders the pairs, and the red rows of differences, as work of the helper thread. */
static rb_status
order_solid_pairs(void *arg)
{
	rb_solid_rows *s = arg;

	RB_TRY(rb_sort(&s->ctx, s->pair, s->npairs, sizeof *s->pair, by_ids_of_pair, s->set));
	RB_TRY(RB_ALLOCATE(&s->ctx, s->blue, s->npairs + 1));
	for (size_t i = 0; i < s->npairs; i++)
		s->blue[i] = s->pair[i].blue;
	if (!s->differences)
		return RB_OK;
	RB_TRY(RB_ALLOCATE(&s->ctx, s->red, (size_t) s->set[0]->nrows + 1));
	for (uint32 row = 0; row < s->set[0]->nrows; row++)
		if (s->bad == NULL || !rb_is_marked(s->bad, row))
			s->red[s->nred++] = row;
	return rb_sort(&s->ctx, s->red, s->nred, sizeof *s->red, by_id_of_row, s->set[0]);
}

/* Prepares the operations, whose context then has as many threads as they are worth. */
static void
open_solid_batch(rb_solid_rows *s)
{
	s->ctx.threads = rb_threads((s->run->parts + s->npairs) * WORK_OF_TRIANGLE);
	raise_solid_failure(
		s, rb_solid_batch_open(&s->ctx, s->set[0], s->set[1],
							   s->differences ? RB_SOLID_DIFFERENCE : RB_SOLID_INTERSECTION,
							   &s->batch));
	s->tasks_cap = (uint32) s->ctx.threads * TASKS_PER_THREAD;
	raise_solid_failure(s, RB_ALLOCATE(&s->ctx, s->task, s->tasks_cap));
}

void
rb_solid_rows_open(rb_cursor *rows, MemoryContext context)
{
	rb_solid_rows *s = MemoryContextAllocZero(context, sizeof *s);
	rb_join_run *run = rows->run;

	rows->solids = s;
	s->run = run;
	s->differences = rows->result == RB_RESULT_SOLID_DIFFERENCES;
	s->row = AllocSetContextCreate(context, "redblue solid", ALLOCSET_DEFAULT_SIZES);
	run->stop_reader = end_solid_rows;
	run->reader = s;
	rb_run_bring_sides(run, &s->aside);
	rb_settings_apply(&s->ctx, run->memory);
	s->ctx.threads = run->ctx.threads;
	for (int i = 0; i < 2; i++)
		s->set[i] = run->side[i].set;
	check_solids(s);
	join_solids(s);
	raise_solid_failure(s, run_solid_work(s, order_solid_pairs, &s->ctx));
	open_solid_batch(s);
}

/* ---- batches ---- */

/* Makes the next task. Returns false if there is none. */
static bool
make_next_task(rb_solid_rows *s, rb_solid_task *task)
{
	if (s->differences ? s->next_red == s->nred : s->next_pair == s->npairs)
		return false;
	memset(task, 0, sizeof *task);
	task->blue = s->blue + s->next_pair;
	if (!s->differences)
	{
		task->red = s->pair[s->next_pair++].red;
		task->nblue = 1;
		return true;
	}
	task->red = s->red[s->next_red++];
	for (; s->next_pair < s->npairs && s->pair[s->next_pair].red == task->red; s->next_pair++)
		task->nblue++;
	return true;
}

/* Computes the results of the current tasks, as work of the helper thread. */
static rb_status
run_solid_tasks(void *arg)
{
	rb_solid_rows *s = arg;

	return rb_solid_batch_run(&s->batch, s->task, s->ntasks);
}

/* Computes the results of the next tasks. Returns false if there are none. */
static bool
run_next_batch(rb_solid_rows *s)
{
	const double start = rb_now_ms();
	const uint32 threads = (uint32) s->ctx.threads;
	uint64 size = 0;

	s->next_task = s->ntasks = 0;
	while (s->ntasks < s->tasks_cap &&
		   (s->ntasks < threads || size < (uint64) threads * TRIANGLES_PER_THREAD) &&
		   make_next_task(s, &s->task[s->ntasks]))
		size += rb_solid_task_size(&s->batch, &s->task[s->ntasks++]);
	if (s->ntasks == 0)
		return false;
	raise_solid_failure(s, run_solid_work(s, run_solid_tasks, &s->ctx));
	s->run->emit_ms += rb_now_ms() - start;
	return true;
}

/* Raises the error that the faces of the solids of a task could not be cut. */
pg_noreturn static void
raise_uncut_task(const rb_solid_rows *s, const rb_solid_task *task)
{
	const long long red = rb_id_of(s->set[0], task->red);

	rb_raise_uncut_solids(s->run->join->function,
						  task->nblue == 1
							  ? psprintf("id %lld of red and id %lld of blue", red,
										 (long long) rb_id_of(s->set[1], task->blue[0]))
							  : psprintf("id %lld of red and %u solids of blue", red, task->nblue),
						  &task->flaw);
}

bool
rb_solid_rows_next(rb_cursor *rows, Datum *values)
{
	rb_solid_rows *s = rows->solids;
	const rb_set *red = s->set[0], *blue = s->set[1];
	rb_solid_task *task;
	MemoryContext old;

	CHECK_FOR_INTERRUPTS();
	if (s->next_task == s->ntasks && !run_next_batch(s))
		return false;
	task = &s->task[s->next_task++];
	if (task->uncut)
		raise_uncut_task(s, task);
	MemoryContextReset(s->row);
	old = MemoryContextSwitchTo(s->row);
	*values++ = Int64GetDatum(rb_id_of(red, task->red));
	if (!s->differences)
		*values++ = Int64GetDatum(rb_id_of(blue, task->blue[0]));
	*values++ = rb_write_solid(&task->boundary, rows->run->join->function,
							   red->srid != 0 ? red->srid : blue->srid);
	*values = Float8GetDatum(task->volume);
	MemoryContextSwitchTo(old);
	rb_solid_boundary_free(rows->run->memory, &task->boundary);
	rows->run->ctx.stats.stage[RB_STAGE_EMIT].count = ++s->emitted;
	return true;
}
