/*
 * helper_thread.h
 *	  Declares long work of the core on a helper thread, while this thread processes interrupts, and
 *	  the wait for other threads and processes (helper_thread.c).
 */
#ifndef RB_PG_BASE_HELPER_THREAD_H
#define RB_PG_BASE_HELPER_THREAD_H

#include "pg/base/pg.h"

#include <pthread.h>

/*
 * Waits a moment before the next check of a word that another thread or process sets. Each call
 * without progress in between waits longer, up to longest_us microseconds. *idle counts these calls
 * and starts at 0. Callable from any thread.
 */
extern void rb_wait_backoff(int *idle, long longest_us);

typedef struct rb_helper
{
	rb_context *ctx; /* Context of the work, which polls it for a stop request */
	rb_status (*work)(void *);
	void *arg;
	/* Called repeatedly on the main thread while the helper thread works, or NULL */
	void (*meanwhile)(void *);
	/* Stops work that does not poll ctx, or NULL */
	void (*stop)(void *);
	rb_status status;
	bool working;
	uint32 done;
	pthread_t thread;
} rb_helper;

/*
 * Runs work(arg) on a helper thread and rethrows an error that interrupted it. The caller sets ctx,
 * work and arg, and the callbacks if there are any.
 */
extern rb_status rb_helper_run(rb_helper *a);

/*
 * Runs work(arg) on this thread, for work that is usually short. If an interrupt is pending, the
 * work stops; unless the interrupt ends the statement, it is restarted on a helper thread.
 */
extern rb_status rb_helper_try(rb_helper *a);

/* Stops the work and joins its thread. For cleanup when the process exits during the work. */
extern void rb_helper_end(rb_helper *a);

#endif /* RB_PG_BASE_HELPER_THREAD_H */
