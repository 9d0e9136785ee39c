/*
 * kept_thread.c
 *	  Implements kept threads (kept_thread.h): a list of idle threads under one lock.
 *
 *		start -> idle thread of the device, else any idle one, else a new one
 *		thread: run the work -> mark it as ended -> wait in the list for the next
 *
 * An entry of the list lies on the stack of its thread, so nothing is allocated. The threads are
 * detached: the end of a thread is not awaited, only that of its work.
 */
#include "core/exec/kept_thread.h"
#include "core/base/parallel.h"

#include <unistd.h>

/* Stack size of a thread in bytes; a driver may recurse deeply */
#define STACK ((size_t) 8 << 20)

/* An idle thread; lies on its stack */
typedef struct idle_thread
{
	struct idle_thread *next;
	pthread_cond_t called;
	rb_kept_work *work; /* Work that the thread is called for, or NULL while it is idle */
	int device;         /* Device of its last work */
} idle_thread;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static idle_thread *idle; /* Most recently used first */
static int nidle;
static pid_t process; /* Process that the idle threads belong to: fork does not copy them */

/* Waits in the list of idle threads. Returns the next work. The caller holds the lock. */
static rb_kept_work *
wait_for_work(int device)
{
	idle_thread me = {.next = idle, .called = PTHREAD_COND_INITIALIZER, .device = device};

	idle = &me;
	nidle++;
	while (me.work == NULL)
		pthread_cond_wait(&me.called, &lock);
	pthread_cond_destroy(&me.called);
	return me.work;
}

/* Runs works until there are enough idle threads. */
static void *
run_kept_thread(void *arg)
{
	rb_kept_work *work = arg;

	while (work != NULL)
	{
		const int device = work->device;

		work->run(work->arg);
		pthread_mutex_lock(&lock);
		/* From here on the owner may free the work. */
		work->ended = true;
		pthread_cond_broadcast(&ended);
		work = nidle < RB_KEPT_THREADS ? wait_for_work(device) : NULL;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

/*
 * Gives the work to an idle thread, if possible to one that last worked for its device. Returns
 * false if no thread is idle. The caller holds the lock.
 */
static bool
call_idle_thread(rb_kept_work *work)
{
	idle_thread **found = &idle;
	idle_thread *thread;

	if (process != getpid())
	{
		process = getpid();
		idle = NULL;
		nidle = 0;
	}
	for (idle_thread **at = &idle; *at != NULL; at = &(*at)->next)
		if ((*at)->device == work->device)
		{
			found = at;
			break;
		}
	thread = *found;
	if (thread == NULL)
		return false;
	*found = thread->next;
	nidle--;
	thread->work = work;
	pthread_cond_signal(&thread->called);
	return true;
}

bool
rb_kept_thread_start(rb_kept_work *work)
{
	pthread_t thread;
	bool started;

	work->ended = false;
	pthread_mutex_lock(&lock);
	started = call_idle_thread(work);
	pthread_mutex_unlock(&lock);
	if (!started && rb_thread_start(&thread, STACK, run_kept_thread, work) == 0)
	{
		pthread_detach(thread);
		started = true;
	}
	return started;
}

void
rb_kept_thread_wait(rb_kept_work *work)
{
	pthread_mutex_lock(&lock);
	while (!work->ended)
		pthread_cond_wait(&ended, &lock);
	pthread_mutex_unlock(&lock);
}
