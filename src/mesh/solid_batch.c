/*
 * solid_batch.c
 *	  Combines rows of two sets of solids, many at a time on several threads.
 *
 *		blue solids of a task	-> their union			solid_boolean.c
 *		red solid, union		-> boundary				solid_boolean.c
 *		boundary				-> triangles -> volume	core/solid/measures.c
 *
 * A task is the work of one thread, with a context of its own, because the joins and sums within it
 * count their work in their context. If there are fewer tasks than threads, the remaining threads
 * are divided among the tasks. A result does not depend on the number of threads.
 */
#include "core/base/parallel.h"
#include "core/set/set.h"
#include "core/solid/solid.h"
#include "mesh/solid_boolean.h"

rb_status
rb_solid_batch_open(rb_context *ctx, const rb_set *red, const rb_set *blue,
					rb_solid_operation operation, rb_solid_batch *batch)
{
	*batch = (rb_solid_batch){.ctx = ctx, .side = {red, blue}, .operation = operation};
	for (int i = 0; i < 2; i++)
	{
		RB_TRY(RB_ALLOCATE(ctx, batch->start[i], (size_t) batch->side[i]->nrows + 1));
		RB_TRY(rb_row_starts(ctx, batch->side[i], batch->start[i]));
	}
	RB_TRY(RB_ALLOCATE(ctx, batch->each, (size_t) ctx->threads));
	for (int i = 0; i < ctx->threads; i++)
	{
		rb_context_init(&batch->each[i], ctx->memory);
		batch->each[i].settings = ctx->settings;
		batch->each[i].filters = ctx->filters;
	}
	batch->threads = ctx->threads;
	return RB_OK;
}

void
rb_solid_batch_close(rb_solid_batch *batch)
{
	if (batch->ctx == NULL)
		return;
	RB_FREE(batch->ctx->memory, batch->start[0]);
	RB_FREE(batch->ctx->memory, batch->start[1]);
	RB_FREE(batch->ctx->memory, batch->each);
	batch->threads = 0;
}

void
rb_solid_batch_stop(rb_solid_batch *batch)
{
	for (int i = 0; i < batch->threads; i++)
		rb_context_stop(&batch->each[i]);
}

/* Returns the triangles of a row of a side. */
static rb_solid_triangles
triangles_of_row(const rb_solid_batch *batch, int side, uint32_t row)
{
	const uint32_t first = batch->start[side][row];

	return (rb_solid_triangles){batch->side[side]->coords + 9 * (size_t) first,
								batch->start[side][row + 1] - first};
}

uint64_t
rb_solid_task_size(const rb_solid_batch *batch, const rb_solid_task *task)
{
	uint64_t n = triangles_of_row(batch, 0, task->red).n;

	for (uint32_t i = 0; i < task->nblue; i++)
		n += triangles_of_row(batch, 1, task->blue[i]).n;
	return n;
}

/* ---- one task ---- */

/* Fails because a builder had no room. */
static rb_status
fail_of_builder(rb_context *ctx, const rb_error *error)
{
	return rb_fail(ctx, error->status, error->need, error->limit, NULL);
}

/* Copies the blue solids of a task to a builder, as rows that are numbered from 0. */
static rb_status
copy_blue_rows(const rb_solid_batch *batch, rb_context *ctx, const rb_solid_task *task,
			   rb_builder *b)
{
	for (uint32_t i = 0; i < task->nblue; i++)
	{
		const rb_solid_triangles solid = triangles_of_row(batch, 1, task->blue[i]);
		const int64_t id = i;
		rb_error error;

		if (rb_builder_append(b, solid.coords, solid.n, &id, &solid.n, 1, &error) != RB_OK)
			return fail_of_builder(ctx, &error);
	}
	return RB_OK;
}

/* Makes a set of all rows of a builder, which are known to be valid solids. */
static rb_status
finish_valid_solids(rb_context *ctx, rb_builder *b, const rb_set **set)
{
	rb_error error;

	if (rb_builder_finish(b, set, &error) != RB_OK)
		return fail_of_builder(ctx, &error);
	rb_set_learn(*set, RB_KNOWN_SOLIDS);
	return RB_OK;
}

/* Makes a set of the blue solids of a task. */
static rb_status
collect_blue_rows(const rb_solid_batch *batch, rb_context *ctx, const rb_solid_task *task,
				  const rb_set **set)
{
	rb_builder b;
	rb_status status;

	rb_builder_init(&b, ctx->memory, RB_TRIANGLE3);
	status = copy_blue_rows(batch, ctx, task, &b);
	if (status == RB_OK)
		status = finish_valid_solids(ctx, &b, set);
	rb_builder_free(&b);
	return status;
}

/* Divides the boundary of a union, or of a result, into triangles of a set of one row. */
static rb_status
divide_to_solid(rb_context *ctx, const rb_solid_boundary *boundary, const rb_set **set,
				rb_flaw *flaw)
{
	rb_builder b;
	rb_error error;
	rb_status status;

	rb_builder_init(&b, ctx->memory, RB_TRIANGLE3);
	status = rb_solid_boundary_divide(ctx, boundary, &b, flaw);
	if (status == RB_OK && rb_builder_end_row(&b, 0, &error) != RB_OK)
		status = fail_of_builder(ctx, &error);
	if (status == RB_OK)
		status = finish_valid_solids(ctx, &b, set);
	rb_builder_free(&b);
	return status;
}

/* Computes the union of the blue solids of a task as a set of one row. */
static rb_status
unite_blue_rows(const rb_solid_batch *batch, rb_context *ctx, rb_solid_task *task,
				const rb_set **united)
{
	const rb_set *solids = NULL;
	rb_solid_boundary boundary = {0};
	rb_status status = collect_blue_rows(batch, ctx, task, &solids);

	if (status == RB_OK)
		status = rb_solid_unite(ctx, &rb_backend_cpu, solids, &boundary, &task->flaw);
	rb_set_release(&solids);
	if (status == RB_OK)
		status = divide_to_solid(ctx, &boundary, united, &task->flaw);
	rb_solid_boundary_free(ctx->memory, &boundary);
	return status;
}

/* Computes the boundary of a task. */
static rb_status
combine_rows(const rb_solid_batch *batch, rb_context *ctx, rb_solid_task *task)
{
	rb_solid_triangles solid[2] = {triangles_of_row(batch, 0, task->red)};
	const rb_set *united = NULL;
	rb_status status = RB_OK;

	if (task->nblue > 1)
		status = unite_blue_rows(batch, ctx, task, &united);
	/* Without a blue solid, the result is the union of the red one with itself. */
	if (united != NULL)
		solid[1] = (rb_solid_triangles){united->coords, united->nparts};
	else
		solid[1] = task->nblue == 0 ? solid[0] : triangles_of_row(batch, 1, task->blue[0]);
	if (status == RB_OK)
		status = rb_solid_combine_two(ctx, &rb_backend_cpu, solid,
									  task->nblue == 0 ? RB_SOLID_UNION : batch->operation,
									  &task->boundary, &task->flaw);
	rb_set_release(&united);
	return status;
}

/* Measures the volume within the boundary of a task. */
static rb_status
measure_result(rb_context *ctx, rb_solid_task *task)
{
	const rb_set *solid = NULL;
	rb_measures measures;
	rb_status status;

	task->volume = 0;
	if (task->boundary.npolygons == 0)
		return RB_OK;
	status = divide_to_solid(ctx, &task->boundary, &solid, &task->flaw);
	if (status == RB_OK)
		status = rb_solid_measure(ctx, solid, &measures);
	if (status == RB_OK)
		task->volume = measures.volume;
	rb_set_release(&solid);
	return status;
}

/* Computes the result of a task. */
static rb_status
run_task(const rb_solid_batch *batch, rb_context *ctx, rb_solid_task *task)
{
	rb_status status;

	memset(&task->boundary, 0, sizeof task->boundary);
	status = combine_rows(batch, ctx, task);
	if (status == RB_OK)
		status = measure_result(ctx, task);
	task->uncut = status == RB_BAD_PLC;
	if (!task->uncut)
		return status;
	rb_solid_boundary_free(ctx->memory, &task->boundary);
	rb_forget_failure(ctx);
	return RB_OK;
}

/* ---- all tasks ---- */

/* Computes the results of a range of tasks. */
static void
run_tasks_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_solid_batch *batch = arg;
	rb_context *ctx = &batch->each[rb_thread_number(me)];

	for (uint64_t i = from; i < to && !rb_should_stop(batch->ctx); i++)
	{
		const rb_status status = run_task(batch, ctx, &batch->tasks[i]);

		rb_keep_failure(&batch->status, status);
		if (status != RB_OK && status != RB_STOPPED)
		{
			(void) rb_fail(batch->ctx, status, ctx->error.need, ctx->error.limit, ctx->error.text);
			rb_solid_batch_stop(batch);
		}
		rb_progress(batch->ctx, RB_STAGE_EMIT, rb_add(&batch->done, 1) + 1, 0);
	}
}

rb_status
rb_solid_batch_run(rb_solid_batch *batch, rb_solid_task *tasks, uint32_t n)
{
	const int threads = (int) rb_min((uint64_t) n, (uint64_t) batch->threads);
	rb_status status;

	if (n == 0)
		return RB_OK;
	batch->tasks = tasks;
	batch->status = RB_OK;
	for (uint32_t i = 0; i < n; i++)
		memset(&tasks[i].boundary, 0, sizeof tasks[i].boundary);
	for (int i = 0; i < threads; i++)
		batch->each[i].threads = batch->threads / threads;
	status = rb_team_loop(batch->ctx, threads, n, 1, run_tasks_piece, batch);
	return rb_loop_failure(batch->status, status);
}
