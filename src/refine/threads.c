/*
 * threads.c
 *	  Runs loops over the items of a mesh on threads, if there are enough items.
 *
 * The work on an item depends neither on the thread nor on the time of its execution. So the result
 * is bitwise identical for any number of threads.
 */
#include "refine/refining.h"

/* Minimum number of cells for which threads are started */
#define TEAM_FROM RB_SIZE(1 << 15, 300)

rb_status
rb_refining_team(rb_refining *r, uint64_t cells, rb_thread **team)
{
	*team = NULL;
	if (cells < TEAM_FROM || r->options->threads < 2)
		return RB_OK;
	return rb_team_open(r->ctx, r->options->threads, team);
}

rb_status
rb_refining_each(rb_refining *r, rb_thread *team, uint64_t n, uint64_t grain, rb_work work,
				 void *arg)
{
	return rb_each(r->ctx, team, n, grain, work, arg);
}

rb_status
rb_refining_fill(rb_refining *r, rb_thread *team, uint64_t n, uint64_t grain, rb_work work,
				 void *arg)
{
	return rb_each_fill(r->ctx, team, n, grain, work, arg);
}
