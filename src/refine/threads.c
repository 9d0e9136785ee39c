/*
 * threads.c
 *	  What a mesh is made of, piece by piece, on threads: where there are enough of them.
 *
 * What is done with each piece does not depend on who does it, nor when: so the bits are the same with any number of
 * threads, and with none.
 */
#include "refine/rb_refining.h"

/* so many cells are worth it that threads are started */
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
