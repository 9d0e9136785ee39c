/*
 * background.h
 *	  Declares long work of the core on a helper thread, while this thread serves interrupts
 *	  (background.c).
 */
#ifndef RB_PG_BASE_BACKGROUND_H
#define RB_PG_BASE_BACKGROUND_H

#include "pg/base/pg.h"

#include <pthread.h>

typedef struct rb_background
{
	rb_context *ctx; /* Context of the work, which polls it for a stop request */
	rb_status (*work)(void *);
	void *arg;
	rb_status status;
	bool working;
	uint32 done;
	pthread_t thread;
} rb_background;

/*
 * Runs work(arg) on a helper thread and rethrows an error that interrupted it. The caller sets ctx,
 * work and arg.
 */
extern rb_status rb_background_run(rb_background *aside);

/*
 * Runs work(arg) on this thread, for work that is usually short. If an interrupt is pending, the
 * work stops; unless the interrupt ends the statement, it is restarted on a helper thread.
 */
extern rb_status rb_background_try(rb_background *aside);

/* Stops the work and joins its thread. For cleanup when the process exits during the work. */
extern void rb_background_end(rb_background *aside);

#endif /* RB_PG_BASE_BACKGROUND_H */
