/*
 * background.c
 *	  Runs long work of the core on a helper thread, while the main thread serves interrupts.
 */
#include "pg/base/background.h"

#include "core/base/parallel.h"
#include "miscadmin.h"

#include <time.h>

#define STACK ((size_t) 8 << 20)
/*
 * Waits grow from FIRST to LONGEST, so that waiting for short work does not take much longer than
 * the work itself.
 */
#define FIRST_NAP_NS (20 * 1000)
#define LONGEST_NAP_NS (5 * 1000 * 1000)

static void *
work_in_thread(void *arg)
{
	rb_background *a = arg;

	a->status = a->work(a->arg);
	rb_release(&a->done, 1);
	return NULL;
}

rb_status
rb_background_run(rb_background *a)
{
	struct timespec nap = {0, FIRST_NAP_NS};
	bool interrupted = false;

	a->done = 0;
	if (rb_thread_start(&a->thread, STACK, work_in_thread, a) != 0)
		return RB_NO_THREAD;
	a->working = true;
	while (rb_acquire(&a->done) == 0)
	{
		if (!interrupted && rb_is_interrupted())
		{
			interrupted = true;
			rb_context_stop(a->ctx);
		}
		nanosleep(&nap, NULL);
		nap.tv_nsec = Min(nap.tv_nsec + nap.tv_nsec / 4, LONGEST_NAP_NS);
	}
	pthread_join(a->thread, NULL);
	a->working = false;
	if (interrupted)
		rb_rethrow_error();
	return a->status;
}

rb_status
rb_background_try(rb_background *a)
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
	return rb_background_run(a);
}

void
rb_background_end(rb_background *a)
{
	if (!a->working)
		return;
	rb_context_stop(a->ctx);
	pthread_join(a->thread, NULL);
	a->working = false;
}
