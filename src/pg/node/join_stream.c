/*
 * join_stream.c
 *	  Joins the sets of both inputs in threads and returns pairs of rows.
 *
 * Up to four joins run one after the other: geometries with Z in space, geometries without Z in the
 * plane, and geometries with Z against those without, in either direction. For redblue_inside there
 * are three joins, of triangles, points and segments with solids.
 *
 * A large join runs in the worker if that has a device (placement.c).
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

static bool
is_running(const rb_geometry_join *j)
{
	return j->placement.stream != NULL || j->placement.remote != NULL;
}

/* Ends the join of the current two sets, whether or not all of its pairs have been read. */
void
rb_join_end_stream(rb_geometry_join *j)
{
	if (!is_running(j))
		return;
	rb_placement_stop(&j->placement);
	note_statistics(j);
	j->block.n = j->next = 0;
}

/* Starts the join in the worker, or in this process. */
static void
start_join(rb_geometry_join *j, uint64 parts)
{
	rb_submission order = {.device = RB_ON_DEVICE, .job = &j->job};
	rb_status status;

	rb_placement_begin(&j->placement, &j->job);
	if (j->asked != RB_ASKED_INSIDE)
	{
		if (rb_placement_wants_join(&j->placement, parts) &&
			rb_placement_submit(&j->placement, &order))
			return;
		rb_placement_choose_here(&j->placement);
	}
	status = rb_placement_run_here(&j->placement);
	if (status != RB_OK)
		raise_failure(j, status);
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
	rb_status status = rb_placement_next(&j->placement, WAIT, &j->block);

	j->next = 0;
	if (status == RB_OK)
		return true;
	j->block.n = 0;
	if (status == RB_END)
		return false;
	if (rb_placement_can_take_over(&j->placement, status))
		status = rb_placement_take_over(&j->placement);
	if (status != RB_OK)
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
		if (!is_running(j) && !open_turn(j))
			return false;
		if (!next_block(j))
			rb_join_end_stream(j);
	}
}

uint64
rb_join_count_pairs(rb_geometry_join *j)
{
	/* These predicates are decided by the payload of each pair. */
	const bool each = j->asked == RB_ASKED_CROSSES || j->asked == RB_ASKED_INSIDE;
	const uint64 before = j->stats.stage[RB_STAGE_EMIT].count;
	uint64 outer, inner, pairs = 0;

	j->counting = !each;
	while (rb_join_next_pair(j, &outer, &inner))
		pairs++;
	j->counting = false;
	return each ? pairs : j->stats.stage[RB_STAGE_EMIT].count - before;
}
