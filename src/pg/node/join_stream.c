/*
 * join_stream.c
 *	  Joins the sets of both inputs in threads and returns pairs of rows.
 *
 * Up to four joins run one after the other: geometries with Z in space, geometries without Z in the
 * plane, and geometries with Z against those without, in either direction. For redblue_inside there
 * are three joins, of triangles, points and segments with solids.
 *
 * A large join runs in the worker if that has a device (as execution.c does for functions). Work
 * that the worker cannot do is done in this process, if no pair has been returned yet and
 * redblue.backend does not require a device.
 */
#include "pg/exec/exec.h"
#include "pg/node/geometry_join.h"

#include <float.h>

#define WAIT 20 /* Maximum time to wait for a block, in ms */

/* Combinations of sets, in the order in which they are joined */
static const rb_lie turns[][2] = {{RB_IN_SPACE, RB_IN_SPACE},
								  {RB_IN_PLANE, RB_IN_PLANE},
								  {RB_FLATTENED, RB_IN_PLANE},
								  {RB_IN_PLANE, RB_FLATTENED}};

/* Returns the input whose geometries are tested for lying in solids. */
static int
placed_input(const rb_geometry_join *j)
{
	return j->in[0].side.role == RB_ROLE_PLACED ? 0 : 1;
}

pg_noreturn static void
raise_failure(rb_geometry_join *j, rb_status status)
{
	const rb_error *error = &j->ctx.error;
	const int placed = placed_input(j);
	const bool is_first = (error->limit & RB_SOLID_SIDE) == RB_SOLID_OF_RED;

	if (status == RB_BAD_SOLID)
		rb_raise_no_solid(
			j->function, is_first,
			rb_join_side_row(&j->in[is_first ? placed : 1 - placed].side, error->need),
			error->text);
	rb_raise(j->function, status, error);
}

/* Adds the statistics of a finished join to those of the node. */
static void
note_statistics(rb_geometry_join *j)
{
	rb_stats_add(&j->stats, &j->ctx.stats);
	j->joins++;
}

/* Ends the join of the current two sets, whether or not all of its pairs have been read. */
void
rb_join_end_stream(rb_geometry_join *j)
{
	if (j->stream == NULL && j->remote == NULL)
		return;
	rb_stream_close(j->stream);
	j->stream = NULL;
	rb_remote_close(j->remote);
	j->remote = NULL;
	note_statistics(j);
	j->block.n = j->next = 0;
}

static void
join_here(rb_geometry_join *j, const rb_backend *backend)
{
	rb_status status = rb_stream_open(&j->ctx, backend, &j->job, &j->stream);

	if (status != RB_OK)
		raise_failure(j, status);
}

/* Starts the join in the worker, or in this process. */
static void
start_join(rb_geometry_join *j, uint64 parts)
{
	const rb_submission order = {.function = j->function, .device = RB_ON_DEVICE, .job = &j->job};

	j->handed_out = false;
	if (j->asked == RB_ASKED_INSIDE)
	{
		join_here(j, &rb_backend_cpu);
		return;
	}
	if (rb_backend_is_remote(parts, j->ctx.threads, j->note, sizeof j->note) &&
		rb_remote_open(&j->remote, j->context, &j->ctx, &order, j->progress, j->note,
					   sizeof j->note))
		return;
	join_here(j, rb_backend_here(j->function, j->note));
}

/* Runs the join in this process if the worker could not. Returns false if that is not allowed. */
static bool
run_locally(rb_geometry_join *j, rb_status status)
{
	const rb_error *error = &j->ctx.error;

	if (j->remote == NULL || !rb_is_left_to_us(status) || j->handed_out ||
		rb_setting_backend == RB_CHOOSE_CUDA)
		return false;
	strlcpy(j->note, error->text[0] == '\0' ? rb_status_text(error->status) : error->text,
			sizeof j->note);
	rb_remote_close(j->remote);
	j->remote = NULL;
	rb_forget_failure(&j->ctx);
	memset(&j->ctx.stats, 0, sizeof j->ctx.stats);
	join_here(j, &rb_backend_cpu);
	return true;
}

/* Starts the join of the next two sets that both have rows. Returns false if there are no more. */
static bool
open_turn(rb_geometry_join *j)
{
	for (; !j->no_pairs && j->turn < (int) lengthof(turns); j->turn++)
	{
		const rb_set *red, *blue;

		if (j->asked == RB_ASKED_INSIDE)
		{
			red = j->turn < RB_LIES ? j->in[placed_input(j)].side.set[j->turn] : NULL;
			blue = j->in[1 - placed_input(j)].side.set[RB_AT_TRIANGLES];
		}
		else
		{
			red = j->in[0].side.set[turns[j->turn][0]];
			blue = j->in[1].side.set[turns[j->turn][1]];
		}
		if (red == NULL || blue == NULL)
			continue;
		j->turn++;
		memset(&j->job, 0, sizeof j->job);
		j->job.red = red;
		j->job.blue = blue;
		j->job.predicate = j->asked == RB_ASKED_CROSSES   ? RB_CONTACT
						   : j->asked == RB_ASKED_DWITHIN ? RB_WITHIN
						   : j->asked == RB_ASKED_INSIDE  ? RB_POSITION
														  : RB_MEET;
		j->job.answer = j->counting ? RB_COUNT : RB_PAIRS;
		/* Clamp an infinite distance: objects more than DBL_MAX apart never match. */
		j->job.distance = Min(j->reach, DBL_MAX);
		rb_settings_apply(&j->ctx, j->memory);
		j->ctx.threads = rb_threads((uint64) red->nparts + blue->nparts);
		j->block.n = j->next = 0;
		start_join(j, (uint64) red->nparts + blue->nparts);
		return true;
	}
	return false;
}

/* Reads the next block, which may be empty. Returns false after the last block of the two sets. */
static bool
next_block(rb_geometry_join *j)
{
	rb_status status = j->remote != NULL ? rb_remote_next(j->remote, WAIT, &j->block)
										 : rb_stream_next(j->stream, WAIT, &j->block);

	j->next = 0;
	rb_progress_note(j->progress, rb_load(&j->ctx.stage), rb_load(&j->ctx.done),
					 rb_load(&j->ctx.total));
	if (status == RB_OK)
	{
		j->handed_out |= j->block.n > 0;
		return true;
	}
	j->block.n = 0;
	if (status == RB_END)
	{
		if (j->remote != NULL && rb_remote_note(j->remote)[0] != '\0')
			strlcpy(j->note, rb_remote_note(j->remote), sizeof j->note);
		return false;
	}
	if (!run_locally(j, status))
		raise_failure(j, status);
	return true;
}

/* Returns the next pair of rows of the inputs. Returns false after the last one. */
bool
rb_join_next_pair(rb_geometry_join *j, uint64 *outer, uint64 *inner)
{
	for (;;)
	{
		while (j->next < j->block.n)
		{
			const size_t i = j->next++;

			if (j->asked == RB_ASKED_CROSSES && !RB_PAYLOAD_CROSSES(j->block.payload[i]))
				continue;
			if (j->asked == RB_ASKED_INSIDE && j->block.payload[i] != RB_LIES_INSIDE)
				continue;
			*outer = (uint64) j->block.red[i];
			*inner = (uint64) j->block.blue[i];
			if (j->asked == RB_ASKED_INSIDE && placed_input(j) == 1)
			{
				*outer = (uint64) j->block.blue[i];
				*inner = (uint64) j->block.red[i];
			}
			return true;
		}
		CHECK_FOR_INTERRUPTS();
		if (j->stream == NULL && j->remote == NULL && !open_turn(j))
			return false;
		if (!next_block(j))
			rb_join_end_stream(j);
	}
}

uint64
rb_join_count_pairs(rb_geometry_join *j)
{
	const uint64 before = j->stats.stage[RB_STAGE_EMIT].count;
	uint64 outer, inner;

	j->counting = true;
	while (rb_join_next_pair(j, &outer, &inner))
		;
	j->counting = false;
	return j->stats.stage[RB_STAGE_EMIT].count - before;
}
