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
/* so often each thread takes a piece of what is to be filled */
#define FILL_TURNS 8

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
	rb_status status = RB_OK;

	if (n > 0 && team != NULL)
		status = rb_loop(team, n, grain, work, arg);
	for (uint64_t i = 0; i < n && team == NULL && status == RB_OK; i += grain)
	{
		work(NULL, arg, i, n - i < grain ? n : i + grain);
		status = rb_should_stop(r->ctx) ? RB_STOPPED : RB_OK;
	}
	return status == RB_STOPPED ? rb_why_stopped(r->ctx) : status;
}

/* several pieces of a loop at once, which is heard when it is to stop all the same */
typedef struct stretch
{
	const rb_refining *r;
	uint64_t grain;
	rb_work work;
	void *arg;
} stretch;

static void
do_stretch(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const stretch *s = arg;

	for (uint64_t i = from; i < to && !rb_should_stop(s->r->ctx); i += s->grain)
		s->work(me, s->arg, i, to - i < s->grain ? to : i + s->grain);
}

rb_status
rb_refining_fill(rb_refining *r, rb_thread *team, uint64_t n, uint64_t grain, rb_work work,
				 void *arg)
{
	const uint64_t pieces = n / grain / (FILL_TURNS * rb_refining_threads(team));
	stretch s = {r, grain, work, arg};

	return rb_refining_each(r, team, n, grain * (pieces > 0 ? pieces : 1), do_stretch, &s);
}
