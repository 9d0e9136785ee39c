/*
 * parallel.c
 *	  Implements team, task, loop and wait (parallel.h) on pthreads or on OpenMP.
 *
 * The implementation on pthreads:
 *
 *		spawn --> newest <-> ... <-> oldest --> taken by a thread that is idle, or that
 *		          (one list, one lock)           waits for this task's group or an enclosing one
 *
 * Tasks are few and long (a hundred microseconds and more), so one lock for all is enough. The
 * newest task is taken first: depth-first execution limits the unfinished groups, and the arrays
 * they hold, to one path of the tree per thread. Tasks are allocated from an arena that is created
 * with the team.
 *
 * Each thread sleeps on its own condition variable. A new task wakes one sleeper that may execute
 * it; a thread that takes a task wakes the next sleeper if there are more tasks. Progress does not
 * depend on wake-ups: when the owner of a group waits for it, it executes all tasks of the group
 * that no other thread has taken, and sleeps only while others execute the rest.
 *
 * There are no thread-local variables. In a library opened by dlopen they are allocated on first
 * use, and the C library ends the process if that allocation fails. Each piece of work therefore
 * receives its thread as an argument.
 */
#define _GNU_SOURCE
#include "core/base/parallel.h"
#include "core/base/atomic.h"
#include "core/base/base.h"

#include <fenv.h>
#include <signal.h>
#include <string.h>

/* ---- threads ---- */

/*
 * Size of the guard area in bytes: more than the largest stack frame (100 kB, in grid_build.c), so
 * that no overflow skips the area
 */
#define GUARD ((size_t) 1 << 17)

int
rb_thread_start(pthread_t *thread, size_t stack, void *(*body)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int rc;

	rc = pthread_attr_init(&attr);
	if (rc != 0)
		return rc;
	pthread_attr_setstacksize(&attr, stack);
	pthread_attr_setguardsize(&attr, GUARD);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(thread, &attr, body, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return rc;
}

/* ---- loop, on top of tasks ---- */

static rb_context *context_of_team(const rb_thread *me);

typedef struct rb_pieces
{
	rb_work work;
	void *arg;
	uint64_t n;
	uint64_t grain;
	uint64_t next; /* first element that no thread has taken */
} rb_pieces;

/* Executes pieces of a loop on one thread until none are left. */
static void
execute_loop_pieces(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_pieces *p = arg;
	rb_context *ctx = context_of_team(me);

	(void) from, (void) to;
	while (!rb_should_stop(ctx))
	{
		uint64_t i = rb_add(&p->next, p->grain);

		if (i >= p->n)
			break;
		p->work(me, p->arg, i, p->n - i < p->grain ? p->n : i + p->grain);
	}
}

/*
 * Executes the pieces of a loop: spawns a task for each further thread, executes pieces itself, and
 * waits.
 */
static void
distribute_loop_pieces(rb_thread *me, rb_pieces *p)
{
	uint64_t pieces = p->n / p->grain + (p->n % p->grain != 0);
	uint64_t threads = (uint64_t) rb_team_threads(me);
	rb_group group;

	rb_group_open(me, &group);
	for (uint64_t i = 1; i < threads && i < pieces; i++)
		rb_group_spawn(me, execute_loop_pieces, p, 0, 0);
	execute_loop_pieces(me, p, 0, 0);
	rb_group_wait(me);
}

/* ---- a loop with an optional team ---- */

rb_status
rb_each(rb_context *ctx, rb_thread *team, uint64_t n, uint64_t grain, rb_work work, void *arg)
{
	rb_status status = RB_OK;

	if (n > 0 && team != NULL)
		status = rb_loop(team, n, grain, work, arg);
	for (uint64_t i = 0; i < n && team == NULL && status == RB_OK; i += grain)
	{
		work(NULL, arg, i, n - i < grain ? n : i + grain);
		status = rb_should_stop(ctx) ? RB_STOPPED : RB_OK;
	}
	return status == RB_STOPPED ? rb_why_stopped(ctx) : status;
}

/* Number of ranges of the memory to be filled that each thread takes */
#define FILL_TURNS 8

/* Arguments of a range of several pieces; a requested stop takes effect after each piece */
typedef struct rb_fill_range
{
	rb_context *ctx;
	uint64_t grain;
	rb_work work;
	void *arg;
} rb_fill_range;

/* Executes a range of a fill loop piece by piece on one thread, until a stop is requested. */
static void
execute_fill_range(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const rb_fill_range *s = arg;

	for (uint64_t i = from; i < to && !rb_should_stop(s->ctx); i += s->grain)
		s->work(me, s->arg, i, to - i < s->grain ? to : i + s->grain);
}

rb_status
rb_each_fill(rb_context *ctx, rb_thread *team, uint64_t n, uint64_t grain, rb_work work, void *arg)
{
	const uint64_t pieces = n / grain / (FILL_TURNS * rb_each_threads(team));
	rb_fill_range s = {ctx, grain, work, arg};

	return rb_each(ctx, team, n, grain * (pieces > 0 ? pieces : 1), execute_fill_range, &s);
}

#ifndef RB_OPENMP

/* ---- pthreads ---- */

#define TASKS RB_SIZE(1024, 3)

/*
 * Pieces of work nest at most 65 deep (DEPTH in cpu_join.c), with frames of 8 kB each, plus the
 * largest frame. Frames of the sanitizers are several times as large.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#define STACK ((size_t) 8 << 20)
#else
#define STACK ((size_t) 1 << 20)
#endif

typedef struct rb_team rb_team;

struct rb_thread
{
	rb_team *team;
	int number;
	pthread_t id;
	pthread_cond_t called;
	bool asleep;         /* true until another thread wakes it */
	rb_group *awaits;    /* while asleep: the awaited group, or NULL if the thread is idle */
	rb_group *innermost; /* group of the current work, or the group that it opened last */
};

typedef struct rb_task
{
	struct rb_task *newer;
	struct rb_task *older; /* next older task, or next free task */
	rb_work work;
	void *arg;
	uint64_t from;
	uint64_t to;
	rb_group *group;
} rb_task;

struct rb_team
{
	rb_context *ctx;
	pthread_mutex_t lock;
	int threads;
	int asleep; /* number of sleeping threads */
	bool closing;
	rb_task *newest;
	rb_task *free;
	rb_task task[TASKS];
	rb_thread thread[]; /* one for each of `threads` */
};

static rb_context *
context_of_team(const rb_thread *me)
{
	return me->team->ctx;
}

/* The functions from here to the public operations require the team's lock. */

/* Returns true if a thread that waits for `awaits` may execute tasks of `group`. */
static bool
can_execute_task(const rb_group *awaits, const rb_group *group)
{
	if (awaits == NULL)
		return true;
	while (group->depth > awaits->depth)
		group = group->parent;
	return group == awaits;
}

/* Wakes a sleeping thread of the team. The caller holds the team's lock. */
static void
wake_thread(rb_thread *sleeper)
{
	sleeper->asleep = false;
	sleeper->team->asleep--;
	pthread_cond_signal(&sleeper->called);
}

/*
 * Wakes a sleeper that may execute the newest task, if any; prefers an idle thread to one that
 * waits for a group.
 */
static void
wake_sleeping_thread(rb_team *team)
{
	rb_thread *found = NULL;

	if (team->asleep == 0 || team->newest == NULL)
		return;
	for (int t = 0; t < team->threads; t++)
	{
		rb_thread *thread = &team->thread[t];

		if (!thread->asleep || !can_execute_task(thread->awaits, team->newest->group))
			continue;
		found = thread;
		if (thread->awaits == NULL)
			break;
	}
	if (found != NULL)
		wake_thread(found);
}

/* Puts the thread to sleep until another one wakes it. The caller holds the team's lock. */
static void
sleep_until_called(rb_thread *me, rb_group *awaits)
{
	rb_team *team = me->team;

	me->awaits = awaits;
	me->asleep = true;
	team->asleep++;
	while (me->asleep)
		pthread_cond_wait(&me->called, &team->lock);
}

/*
 * Executes the newest task that is allowed while waiting for `awaits`. Returns false if there is
 * none.
 */
static bool
execute_task(rb_thread *me, rb_group *awaits)
{
	rb_team *team = me->team;
	rb_task *task = team->newest;
	rb_group *outer = me->innermost;
	rb_task mine;

	while (task != NULL && !can_execute_task(awaits, task->group))
		task = task->older;
	if (task == NULL)
		return false;
	mine = *task;
	if (mine.newer != NULL)
		mine.newer->older = mine.older;
	else
		team->newest = mine.older;
	if (mine.older != NULL)
		mine.older->newer = mine.newer;
	task->older = team->free;
	team->free = task;
	wake_sleeping_thread(team);
	pthread_mutex_unlock(&team->lock);

	me->innermost = mine.group;
	mine.work(me, mine.arg, mine.from, mine.to);
	me->innermost = outer;

	pthread_mutex_lock(&team->lock);
	if (--mine.group->pending == 0)
	{
		rb_thread *owner = mine.group->owner;

		if (owner->asleep && owner->awaits == mine.group)
			wake_thread(owner);
	}
	return true;
}

/* ---- public operations ---- */

void
rb_group_open(rb_thread *me, rb_group *group)
{
	group->parent = me->innermost;
	group->owner = me;
	group->depth = group->parent != NULL ? group->parent->depth + 1 : 0;
	group->pending = 0;
	me->innermost = group;
}

void
rb_group_spawn(rb_thread *me, rb_work work, void *arg, uint64_t from, uint64_t to)
{
	rb_team *team = me->team;
	rb_task *task = NULL;

	if (team->threads > 1)
	{
		pthread_mutex_lock(&team->lock);
		task = team->free;
		if (task != NULL)
		{
			team->free = task->older;
			*task = (rb_task){NULL, team->newest, work, arg, from, to, me->innermost};
			if (task->older != NULL)
				task->older->newer = task;
			team->newest = task;
			me->innermost->pending++;
			wake_sleeping_thread(team);
		}
		pthread_mutex_unlock(&team->lock);
	}
	if (task == NULL)
		work(me, arg, from, to);
}

void
rb_group_wait(rb_thread *me)
{
	rb_team *team = me->team;
	rb_group *group = me->innermost;

	if (team->threads > 1)
	{
		pthread_mutex_lock(&team->lock);
		while (group->pending > 0)
			if (!execute_task(me, group))
				sleep_until_called(me, group);
		pthread_mutex_unlock(&team->lock);
	}
	me->innermost = group->parent;
}

rb_status
rb_loop(rb_thread *me, uint64_t n, uint64_t grain, rb_work work, void *arg)
{
	rb_pieces pieces = {work, arg, n, grain, 0};

	distribute_loop_pieces(me, &pieces);
	return rb_should_stop(me->team->ctx) ? RB_STOPPED : RB_OK;
}

/* Executes tasks of the team until it closes. */
static void *
run_team_thread(void *arg)
{
	rb_thread *me = arg;
	rb_team *team = me->team;

	/* Error bounds hold only for rounding to nearest and gradual underflow. */
	fesetenv(FE_DFL_ENV);
	pthread_mutex_lock(&team->lock);
	while (!team->closing)
		if (!execute_task(me, NULL))
			sleep_until_called(me, NULL);
	pthread_mutex_unlock(&team->lock);
	return NULL;
}

/* Starts a thread of the team. Returns false if the budget or the system refuses it. */
static bool
start_team_thread(rb_thread *thread)
{
	rb_memory *memory = thread->team->ctx->memory;
	rb_error error;

	if (rb_memory_charge(memory, STACK, &error) != RB_OK)
		return false;
	if (rb_thread_start(&thread->id, STACK, run_team_thread, thread) == 0)
		return true;
	rb_memory_refund(memory, STACK);
	return false;
}

rb_status
rb_team_open(rb_context *ctx, int want, rb_thread **me)
{
	rb_team *team = NULL;

	want = want > 1 ? want : 1;
	*me = NULL;
	RB_TRY(rb_array(ctx, (void **) &team, 1, sizeof(rb_team) + (size_t) want * sizeof(rb_thread)));
	memset(team, 0, sizeof(rb_team) + (size_t) want * sizeof(rb_thread));
	team->ctx = ctx;
	pthread_mutex_init(&team->lock, NULL);
	for (int i = 0; i < TASKS; i++)
	{
		team->task[i].older = team->free;
		team->free = &team->task[i];
	}
	/* Hold the lock so that no new thread looks for tasks before the team is complete. */
	pthread_mutex_lock(&team->lock);
	for (int t = 0; t < want; t++)
	{
		rb_thread *thread = &team->thread[t];

		thread->team = team;
		thread->number = t;
		pthread_cond_init(&thread->called, NULL);
		if (t > 0 && !start_team_thread(thread))
		{
			pthread_cond_destroy(&thread->called);
			break;
		}
		team->threads = t + 1;
	}
	pthread_mutex_unlock(&team->lock);
	*me = &team->thread[0];
	return RB_OK;
}

void
rb_team_close(rb_thread **me)
{
	rb_team *team;
	rb_memory *memory;

	if (*me == NULL)
		return;
	team = (*me)->team;
	memory = team->ctx->memory;
	pthread_mutex_lock(&team->lock);
	team->closing = true;
	for (int t = 1; t < team->threads; t++)
		if (team->thread[t].asleep)
			wake_thread(&team->thread[t]);
	pthread_mutex_unlock(&team->lock);
	for (int t = 1; t < team->threads; t++)
	{
		pthread_join(team->thread[t].id, NULL);
		rb_memory_refund(memory, STACK);
	}
	for (int t = 0; t < team->threads; t++)
		pthread_cond_destroy(&team->thread[t].called);
	pthread_mutex_destroy(&team->lock);
	RB_FREE(memory, team);
	*me = NULL;
}

#else /* RB_OPENMP */

/* ---- OpenMP ---- */

/*
 * The outermost loop opens the parallel region; spawned work becomes OpenMP tasks. To wait for a
 * group is to wait for the child tasks of this task, which have waited for their own.
 */
#include <omp.h>

typedef struct rb_team rb_team;

struct rb_thread
{
	rb_team *team;
	int number;
};

struct rb_team
{
	rb_context *ctx;
	int threads;
	rb_thread thread[]; /* one for each of `threads` */
};

static rb_context *
context_of_team(const rb_thread *me)
{
	return me->team->ctx;
}

void
rb_group_open(rb_thread *me, rb_group *group)
{
	memset(group, 0, sizeof(*group));
	group->owner = me;
}

void
rb_group_spawn(rb_thread *me, rb_work work, void *arg, uint64_t from, uint64_t to)
{
	rb_team *team = me->team;

#pragma omp task firstprivate(team, work, arg, from, to)
	work(&team->thread[omp_get_thread_num()], arg, from, to);
}

void
rb_group_wait(rb_thread *me)
{
	(void) me;
#pragma omp taskwait
}

rb_status
rb_loop(rb_thread *me, uint64_t n, uint64_t grain, rb_work work, void *arg)
{
	rb_pieces pieces = {work, arg, n, grain, 0};
	rb_team *team = me->team;

	if (team->threads == 1 || omp_in_parallel())
		distribute_loop_pieces(me, &pieces);
	else
	{
#pragma omp parallel num_threads(team->threads)
#pragma omp single
		distribute_loop_pieces(&team->thread[omp_get_thread_num()], &pieces);
	}
	return rb_should_stop(team->ctx) ? RB_STOPPED : RB_OK;
}

rb_status
rb_team_open(rb_context *ctx, int want, rb_thread **me)
{
	rb_team *team = NULL;

	want = want > 1 ? want : 1;
	*me = NULL;
	RB_TRY(rb_array(ctx, (void **) &team, 1, sizeof(rb_team) + (size_t) want * sizeof(rb_thread)));
	team->ctx = ctx;
	team->threads = want;
	for (int t = 0; t < want; t++)
		team->thread[t] = (rb_thread){team, t};
	*me = &team->thread[0];
	return RB_OK;
}

void
rb_team_close(rb_thread **me)
{
	rb_team *team;

	if (*me == NULL)
		return;
	team = (*me)->team;
	RB_FREE(team->ctx->memory, team);
	*me = NULL;
}

#endif

/* ---- both ---- */

int
rb_team_threads(const rb_thread *me)
{
	return me->team->threads;
}

int
rb_thread_number(const rb_thread *me)
{
	return me->number;
}
