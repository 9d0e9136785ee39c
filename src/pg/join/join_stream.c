/*
 * join_stream.c
 *	  The sets of both inputs are joined, in threads, and pairs of rows come out.
 *
 * Up to four joins one after the other: in space what has Z, in the plane what has none, and what has Z with what has none.
 */
#include "pg/join/rb_geometry_join.h"

#include <float.h>

#define WAIT 20 /* ms */

/* what is joined with what, one after the other */
static const rb_lie turns[][2] = {{RB_IN_SPACE, RB_IN_SPACE},
								  {RB_IN_PLANE, RB_IN_PLANE},
								  {RB_FLATTENED, RB_IN_PLANE},
								  {RB_IN_PLANE, RB_FLATTENED}};

/* the statistics of a join that ends are added to the node's; of the grid the last ones stay */
static void
note_statistics(rb_geometry_join *j)
{
	rb_stats *sum = &j->stats;
	rb_stats one = j->ctx.stats;

	for (int i = 0; i < RB_STAGES; i++)
	{
		one.stage[i].count += sum->stage[i].count;
		one.stage[i].ms += sum->stage[i].ms;
	}
	one.cells += sum->cells;
	one.box_tests += sum->box_tests;
	one.redundant_tests += sum->redundant_tests;
	one.hits += sum->hits;
	one.exact_integer += sum->exact_integer;
	one.exact_expansion += sum->exact_expansion;
	one.exact_gmp += sum->exact_gmp;
	*sum = one;
	j->joins++;
}

/* what is asked of two sets is over, or nobody wants more of it */
void
rb_join_end_stream(rb_geometry_join *j)
{
	if (j->stream == NULL)
		return;
	rb_stream_close(j->stream);
	j->stream = NULL;
	note_statistics(j);
	j->block.n = j->next = 0;
}

/* the next two sets that both have rows; false: there are no more */
static bool
open_turn(rb_geometry_join *j)
{
	for (; !j->no_pairs && j->turn < (int) lengthof(turns); j->turn++)
	{
		const rb_set *red = j->in[0].side.set[turns[j->turn][0]];
		const rb_set *blue = j->in[1].side.set[turns[j->turn][1]];
		rb_status status;

		if (red == NULL || blue == NULL)
			continue;
		j->turn++;
		memset(&j->job, 0, sizeof j->job);
		j->job.red = red;
		j->job.blue = blue;
		j->job.predicate = j->asked == RB_ASKED_CROSSES   ? RB_CONTACT
						   : j->asked == RB_ASKED_DWITHIN ? RB_WITHIN
														  : RB_MEET;
		/* what is farther apart than any double can say is never near */
		j->job.distance = Min(j->reach, DBL_MAX);
		rb_context_init(&j->ctx, j->memory);
		j->ctx.threads = rb_threads((uint64) red->nparts + blue->nparts);
		j->ctx.grid_resolution = (uint32_t) rb_setting_grid_resolution;
		status = rb_stream_open(&j->ctx, &rb_backend_cpu, &j->job, &j->stream);
		if (status != RB_OK)
			rb_raise(j->function, status, &j->ctx.error);
		j->block.n = j->next = 0;
		return true;
	}
	return false;
}

/* the next pair of rows of the inputs; false: there are no more */
bool
rb_join_next_pair(rb_geometry_join *j, uint64 *outer, uint64 *inner)
{
	for (;;)
	{
		rb_status status;

		while (j->next < j->block.n)
		{
			const size_t i = j->next++;

			if (j->asked == RB_ASKED_CROSSES && !RB_TOLD_CROSSES(j->block.told[i]))
				continue;
			*outer = (uint64) j->block.red[i];
			*inner = (uint64) j->block.blue[i];
			return true;
		}
		CHECK_FOR_INTERRUPTS();
		if (j->stream == NULL && !open_turn(j))
			return false;
		status = rb_stream_next(j->stream, WAIT, &j->block);
		j->next = 0;
		if (status == RB_END)
		{
			rb_join_end_stream(j);
		}
		else if (status != RB_OK)
			rb_raise(j->function, status, &j->ctx.error);
	}
}
