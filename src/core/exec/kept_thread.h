/*
 * kept_thread.h
 *	  Runs work on threads that stay alive between works.
 *
 * To create a thread, to end it, and to bind it to a device take a large part of a millisecond
 * together, about a tenth of a join of ten million boxes on four devices. So a thread that has done
 * its work waits for the next one. A thread that last worked for the same device is preferred.
 *
 * A process keeps at most RB_KEPT_THREADS idle threads; they end with the process. All signals are
 * blocked in them.
 */
#ifndef RB_EXEC_KEPT_THREAD_H
#define RB_EXEC_KEPT_THREAD_H

#include "core/base/redblue.h"

/* Largest number of idle threads of a process */
#define RB_KEPT_THREADS RB_MAX_DEVICES

/* A piece of work for a kept thread; the caller owns it until rb_kept_thread_wait returns */
typedef struct rb_kept_work
{
	void (*run)(void *arg);
	void *arg;
	int device; /* Number of the device that the work is for */
	bool ended; /* True when `run` has returned; guarded by the lock of kept_thread.c */
} rb_kept_work;

/*
 * Starts the work on an idle thread, or on a new one if none is idle. Returns false if no thread
 * can be created.
 */
extern bool rb_kept_thread_start(rb_kept_work *work);

/* Waits until work that was started has ended. */
extern void rb_kept_thread_wait(rb_kept_work *work);

#endif
