/*
 * join_stream.c
 *	  The sets of both inputs are joined, in threads, and pairs of rows come out.
 *
 * Up to four joins one after the other: in space what has Z, in the plane what has none, and what has Z with what has none.
 * Of geometries in bodies there are three, of triangles, points and segments.
 *
 * A large one is the worker's, where that has a device (as run.c has it for functions); what it cannot do is done here, as
 * long as no pair was handed out and redblue.backend leaves the choice.
 */
#include "pg/join/rb_geometry_join.h"

#include <float.h>

#define WAIT 20 /* ms */

/* what is joined with what, one after the other */
static const rb_lie turns[][2] = {{RB_IN_SPACE, RB_IN_SPACE},
								  {RB_IN_PLANE, RB_IN_PLANE},
								  {RB_FLATTENED, RB_IN_PLANE},
								  {RB_IN_PLANE, RB_FLATTENED}};

/* which input has the geometries that lie in bodies */
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
	const bool is_first = (error->limit & RB_BODY_SIDE) == RB_BODY_OF_RED;

	if (status == RB_BAD_BODY)
		rb_raise_no_body(j->function, is_first,
						 rb_join_side_row(&j->in[is_first ? placed : 1 - placed].side, error->need),
						 error->text);
	rb_raise(j->function, status, error);
}

/* the statistics of a join that ends are added to the node's */
static void
note_statistics(rb_geometry_join *j)
{
	rb_stats_add(&j->stats, &j->ctx.stats);
	j->joins++;
}

/* what is asked of two sets is over, or nobody wants more of it */
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

/* the worker's, or one of this process */
static void
start_join(rb_geometry_join *j, uint64 parts)
{
	const rb_order order = {.function = j->function, .device = RB_ON_DEVICE, .job = &j->job};

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

/* the worker could not; true: this process does it instead */
static bool
take_over(rb_geometry_join *j, rb_status status)
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

/* the next two sets that both have rows; false: there are no more */
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
		/* what is farther apart than any double can say is never near */
		j->job.distance = Min(j->reach, DBL_MAX);
		rb_context_init(&j->ctx, j->memory);
		j->ctx.threads = rb_threads((uint64) red->nparts + blue->nparts);
		j->ctx.grid_resolution = (uint32_t) rb_setting_grid_resolution;
		j->ctx.gpu_memory_limit = (uint64) rb_setting_gpu_memory_limit * 1024;
		j->ctx.cards = rb_setting_cards;
		j->ctx.only_cards = rb_setting_backend == RB_CHOOSE_CUDA;
		j->block.n = j->next = 0;
		start_join(j, (uint64) red->nparts + blue->nparts);
		return true;
	}
	return false;
}

/* the next block, which may be empty; false: there are no more of these two sets */
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
	if (!take_over(j, status))
		raise_failure(j, status);
	return true;
}

/* the next pair of rows of the inputs; false: there are no more */
bool
rb_join_next_pair(rb_geometry_join *j, uint64 *outer, uint64 *inner)
{
	for (;;)
	{
		while (j->next < j->block.n)
		{
			const size_t i = j->next++;

			if (j->asked == RB_ASKED_CROSSES && !RB_TOLD_CROSSES(j->block.told[i]))
				continue;
			if (j->asked == RB_ASKED_INSIDE && j->block.told[i] != RB_LIES_INSIDE)
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
