/*
 * parallel.h
 *	  Runs work on several threads, with four operations: team, task, loop, wait.
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
 * A piece of work is a range of something shared; tasks and pieces of loops need no other
 * description.
 *
 * Guarantees: a thread that the system refuses makes the team smaller and is not an error. Between
 * opening and closing a team nothing is allocated and nothing can fail: where there is no room for
 * another task, the spawning thread executes it immediately. While a thread waits for a group, it
 * executes only tasks of that group and of groups nested in it, so the depth of its stack is
 * bounded by the nesting of groups. All threads of the team have ended when rb_team_close returns.
 *
 * There are two implementations (parallel.c). The default uses pthreads. It is the only one
 * suitable for a server, because the OpenMP runtime ends the process when it is refused a thread or
 * memory. OpenMP (make PARALLEL=openmp) is for programs that use the core as a library and already
 * have an OpenMP team.
 */
#ifndef RB_BASE_PARALLEL_H
#define RB_BASE_PARALLEL_H

#include "core/base/redblue.h"

#include <pthread.h>

#ifdef __cplusplus
extern "C"
{
#endif

/* A thread of a team; the thread that opens the team has number 0 */
typedef struct rb_thread rb_thread;

/* A function that processes the range [from, to) of the work described by arg */
typedef void (*rb_work)(rb_thread *me, void *arg, uint64_t from, uint64_t to);

/* ---- team ---- */

/*
 * Opens a team of at most `want` threads, including the caller, for this context. Returns a memory
 * error if there is no room for the team's own few kilobytes. If threads cannot be created, the
 * team is smaller.
 */
extern rb_status rb_team_open(rb_context *ctx, int want, rb_thread **me);
/* Closes a team and sets *me to NULL, which it may already be. */
extern void rb_team_close(rb_thread **me);
/* Returns the number of threads of the team. */
extern int rb_team_threads(const rb_thread *me);

/* Returns the number of this thread within its team, from 0. */
extern int rb_thread_number(const rb_thread *me);

/* ---- loop ---- */

/*
 * Executes work on all of [0, n), in pieces of `grain` elements, the last one shorter. Each piece
 * is executed by the next free thread. Returns when all pieces are done, or RB_STOPPED if the
 * context was stopped, in which case some pieces may not have been started. The outermost operation
 * is always a loop, if only of one piece.
 */
extern rb_status rb_loop(rb_thread *me, uint64_t n, uint64_t grain, rb_work work, void *arg);

/*
 * Records the status of a piece of a loop in *first, which is RB_OK until a piece fails, and then
 * remains the status of the first piece that did. RB_STOPPED gives way to another failure.
 */
static inline void
rb_keep_failure(int *first, rb_status status)
{
	int ok = RB_OK, stopped = RB_STOPPED;

	/* Another thread that stops because this one failed may be the first to arrive here. */
	if (status != RB_OK && !rb_store_if(first, &ok, (int) status) && status != RB_STOPPED)
		rb_store_if(first, &stopped, (int) status);
}

/* Returns the first failure of the pieces of a loop, or else the status of the loop itself. */
static inline rb_status
rb_loop_failure(int first, rb_status status)
{
	return first != RB_OK ? (rb_status) first : status;
}

/* ---- a loop with an optional team ---- */

/*
 * Returns the number of threads that have work in a loop over n in pieces of `grain`, at most those
 * of the context. Starting a thread takes longer than many small loops.
 */
static inline int
rb_threads_for(const rb_context *ctx, uint64_t n, uint64_t grain)
{
	const uint64_t pieces = n / grain + (n % grain != 0);

	return ctx->threads > 1 && pieces < (uint64_t) ctx->threads ? (int) pieces : ctx->threads;
}

/* Runs a loop like rb_loop, on a team of its own of at most `threads` threads. */
static inline rb_status
rb_team_loop(rb_context *ctx, int threads, uint64_t n, uint64_t grain, rb_work work, void *arg)
{
	rb_thread *me;
	rb_status status = rb_team_open(ctx, threads, &me);

	if (status == RB_OK)
	{
		status = rb_loop(me, n, grain, work, arg);
		rb_team_close(&me);
	}
	return status;
}

/*
 * Runs a loop like rb_loop, or on this thread alone if team is NULL because the work is too small
 * for a team; then `me` is NULL, too. Returns RB_STOPPED or the failure of any thread
 * (rb_why_stopped).
 */
extern rb_status rb_each(rb_context *ctx, rb_thread *team, uint64_t n, uint64_t grain, rb_work work,
						 void *arg);

/*
 * Runs a loop like rb_each for work that fills new memory. Each thread takes a large range at a
 * time, but the work is still called for at most `grain` elements. If several threads start on one
 * huge page, each of them clears the whole page, and all but one of these clears are wasted.
 */
extern rb_status rb_each_fill(rb_context *ctx, rb_thread *team, uint64_t n, uint64_t grain,
							  rb_work work, void *arg);

/* Returns the number of threads of a team, or 1 without a team. */
static inline uint32_t
rb_each_threads(const rb_thread *team)
{
	return team != NULL ? (uint32_t) rb_team_threads(team) : 1;
}

/* Returns the number of a thread in its team, or 0 without a team. */
static inline uint32_t
rb_each_thread(const rb_thread *me)
{
	return me != NULL ? (uint32_t) rb_thread_number(me) : 0;
}

/* ---- tasks ---- */

/* Tasks that a piece of work spawns and waits for; allocated on its stack */
typedef struct rb_group
{
	struct rb_group *parent; /* enclosing group, or NULL */
	rb_thread *owner;
	uint32_t depth;
	uint32_t pending; /* tasks that were spawned and are not done */
} rb_group;

/* Opens a group of tasks; groups nest. */
extern void rb_group_open(rb_thread *me, rb_group *group);

/* Adds a task for a range to the group that this piece of work opened last. */
extern void rb_group_spawn(rb_thread *me, rb_work work, void *arg, uint64_t from, uint64_t to);

/* Waits for the tasks of the group that this piece of work opened last, and closes it. */
extern void rb_group_wait(rb_thread *me);

/* ---- a thread for other purposes ---- */

/*
 * Starts a thread with a stack of `stack` bytes. All signals are blocked in it, so that the
 * caller's thread receives them. Returns 0 or the errno of the failure.
 */
extern int rb_thread_start(pthread_t *thread, size_t stack, void *(*body)(void *), void *arg);

#ifdef __cplusplus
}
#endif

#endif /* RB_BASE_PARALLEL_H */
