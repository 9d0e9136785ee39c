/*
 * rb_parallel.h
 *	  Work on several threads, in four verbs: team, task, loop, wait.
 *
 *		rb_team_open(ctx, 8, &me)
 *		rb_loop(me, n, grain, work, arg)		pieces of [0, n) on all threads
 *			within a piece:
 *			rb_group_open(me, &group)
 *			rb_group_spawn(me, work, arg, from, to)		on some thread, now or later
 *			rb_group_spawn(...)
 *			rb_group_wait(me)
 *		rb_team_close(&me)
 *
 * A piece of work is a range of something shared: that is all that a task and a
 * piece of a loop have to know.
 *
 * Promises: a thread that the system refuses makes the team smaller and is no error.
 * Nothing is allocated and nothing can fail between opening and closing: where there
 * is no room for one more task, whoever spawns it does it at once.  While a thread
 * waits for a group it does work of that group and of groups within it only, so its
 * stack is as deep as groups are nested, whatever there is to do.  No thread of the
 * team lives when rb_team_close returns.
 *
 * There are two implementations (parallel.c).  Threads of our own are the usual one, and
 * the only one in a server, for the OpenMP runtime ends the process when it is refused a
 * thread or memory.  OpenMP (make PARALLEL=openmp) is for programs that use core as a
 * library and have a team of their own already.
 */
#ifndef RB_PARALLEL_H
#define RB_PARALLEL_H

#include "core/base/redblue.h"

#include <pthread.h>

#ifdef __cplusplus
extern "C"
{
#endif

/* one thread of a team; whoever opens the team is number 0 */
typedef struct rb_thread rb_thread;

/* does [from, to) of what arg says */
typedef void (*rb_work)(rb_thread *me, void *arg, uint64_t from, uint64_t to);

/* ---- team ---- */

/*
 * At most `want` threads, the caller among them, for this context until the team is
 * closed.  The memory error where the budget or the system has no room for the team's
 * own few kilobytes; fewer threads where there is none for a thread.
 */
extern rb_status rb_team_open(rb_context *ctx, int want, rb_thread **me);
extern void rb_team_close(rb_thread **me); /* leaves NULL; NULL is allowed */
extern int rb_team_threads(const rb_thread *me);
extern int rb_thread_number(const rb_thread *me);

/* ---- loop ---- */

/*
 * Work on all of [0, n), in pieces of `grain`, the last one shorter; each is taken by
 * whichever thread is free.  Returns when all are done; or RB_STOPPED, when the
 * context was stopped, and then some may not have been begun.  The outermost verb
 * is always a loop, be it of one piece.
 */
extern rb_status rb_loop(rb_thread *me, uint64_t n, uint64_t grain, rb_work work, void *arg);

/* ---- a loop where there may be no team ---- */

/*
 * The same; on this thread alone where team is NULL, for the work was not worth one: then there is no `me` either.
 * RB_STOPPED, or what has failed on a thread (rb_why_stopped).
 */
extern rb_status rb_each(rb_context *ctx, rb_thread *team, uint64_t n, uint64_t grain, rb_work work,
						 void *arg);

/*
 * The same, for work that fills new memory: each thread takes much at a time, though the work is still called for no more
 * than a grain.  Where several begin on one huge page each of them clears all of it, and all but one in vain.
 */
extern rb_status rb_each_fill(rb_context *ctx, rb_thread *team, uint64_t n, uint64_t grain,
							  rb_work work, void *arg);

/* how many threads there are, and which of them this one is */
static inline uint32_t
rb_each_threads(const rb_thread *team)
{
	return team != NULL ? (uint32_t) rb_team_threads(team) : 1;
}

static inline uint32_t
rb_each_thread(const rb_thread *me)
{
	return me != NULL ? (uint32_t) rb_thread_number(me) : 0;
}

/* ---- tasks ---- */

/* tasks that one piece of work spawns and waits for; lives on its stack */
typedef struct rb_group
{
	struct rb_group *parent; /* that this one is within, or NULL */
	rb_thread *owner;
	uint32_t depth;
	uint32_t pending; /* tasks that were spawned and are not done */
} rb_group;

/* groups nest: the other two mean the group that this piece of work opened last */
extern void rb_group_open(rb_thread *me, rb_group *group);
extern void rb_group_spawn(rb_thread *me, rb_work work, void *arg, uint64_t from, uint64_t to);
extern void rb_group_wait(rb_thread *me);

/* ---- a thread for another purpose ---- */

/*
 * Starts a thread on a stack of that size, with all signals blocked: they are the
 * caller's.  Returns 0, or the errno of the system's refusal.
 */
extern int rb_thread_start(pthread_t *thread, size_t stack, void *(*body)(void *), void *arg);

#ifdef __cplusplus
}
#endif

#endif /* RB_PARALLEL_H */
