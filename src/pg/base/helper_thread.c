/*
 * helper_thread.c
 *	  Runs long work of the core on a helper thread, while the main thread processes interrupts;
 *	  waits for other threads and processes.
 */
#include "pg/base/helper_thread.h"

#include "core/base/parallel.h"
#include "miscadmin.h"

#include <sched.h>
#include <time.h>

#define STACK ((size_t) 8 << 20)
#define LONGEST_US 5000 /* Longest wait between two checks for interrupts, in microseconds */

/*
 * The first waits only yield the processor. Later ones sleep, for a time that grows slowly, so that
 * waiting for short work does not take much longer than the work itself.
 */
#define YIELDS 16
#define CALLS_PER_STEP 8 /* Number of calls after which the time doubles */
#define FIRST_US 20
#define MAX_IDLE 120 /* Number of calls after which the time no longer grows */

void
rb_wait_backoff(int *idle, long longest_us)
{
	struct timespec t = {0, 0};
	long us = FIRST_US;

	if (*idle < MAX_IDLE)
		(*idle)++;
	if (*idle <= YIELDS)
	{
		sched_yield();
		return;
	}
	for (int i = YIELDS; i < *idle && us < longest_us; i += CALLS_PER_STEP)
		us *= 2;
	t.tv_nsec = Min(us, longest_us) * 1000;
	nanosleep(&t, NULL);
}

/* Runs the work on the helper thread and publishes its end. */
static void *
run_helper_work(void *arg)
{
	rb_helper *a = arg;

	a->status = a->work(a->arg);
	rb_release(&a->done, 1);
	return NULL;
}

/* Asks the work on the helper thread to stop, without waiting for its end. */
static void
stop_helper_work(rb_helper *a)
{
	rb_context_stop(a->ctx);
	if (a->stop != NULL)
		a->stop(a->arg);
}

rb_status
rb_helper_run(rb_helper *a)
{
	bool interrupted = false;
	int idle = 0;

	a->done = 0;
	if (rb_thread_start(&a->thread, STACK, run_helper_work, a) != 0)
		return RB_NO_THREAD;
	a->working = true;
	while (rb_acquire(&a->done) == 0)
	{
		if (!interrupted && rb_is_interrupted())
		{
			interrupted = true;
			stop_helper_work(a);
		}
		rb_wait_backoff(&idle, LONGEST_US);
		if (a->meanwhile != NULL)
			a->meanwhile(a->arg);
	}
	pthread_join(a->thread, NULL);
	a->working = false;
	if (interrupted)
		rb_rethrow_error();
	return a->status;
}

rb_status
rb_helper_try(rb_helper *a)
{
	rb_status status;

	a->ctx->asked = &InterruptPending;
	status = a->work(a->arg);
	a->ctx->asked = NULL;
	if (status != RB_STOPPED)
		return status;
	if (rb_is_interrupted())
		rb_rethrow_error();
	/* Discard the failure of threads that received the stop request. */
	rb_forget_failure(a->ctx);
	return rb_helper_run(a);
}

void
rb_helper_end(rb_helper *a)
{
	if (!a->working)
		return;
	stop_helper_work(a);
	pthread_join(a->thread, NULL);
	a->working = false;
}
