/*
 * cleanup.h
 *	  Declares the cleanup after calls: of their memory, and of everything that must not outlive
 *	  them (cleanup.c).
 */
#ifndef RB_PG_BASE_CLEANUP_H
#define RB_PG_BASE_CLEANUP_H

#include "pg/base/pg.h"

/*
 * Creates a memory context for a call, because the surrounding contexts may live for many calls, and
 * returns the caller's context. rb_call_leave deletes the new context; after an ERROR, it is deleted
 * with the surrounding one.
 */
extern MemoryContext rb_call_enter(void);
/* Ends a call begun by rb_call_enter; `caller` is the memory context that it returned. */
extern void rb_call_leave(MemoryContext caller);

/*
 * A registered cleanup. Each owner of core memory or threads registers one. It is closed at the end
 * of its memory context or when the process exits, by its close function, which calls
 * rb_cleanup_unregister.
 */
typedef struct rb_cleanup
{
	dlist_node node; /* In the list of all registered cleanups */
	MemoryContextCallback at_end;
	void (*close)(void *);
	void *arg;
} rb_cleanup;

/*
 * Calls close(arg) when the memory context is reset or deleted, after an ERROR, too. `open` must
 * live in that context.
 */
extern void rb_cleanup_register(rb_cleanup *open, MemoryContext context, void (*close)(void *),
								void *arg);

/* Unregisters the cleanup. May be called twice; the second call does nothing. */
extern void rb_cleanup_unregister(rb_cleanup *open);

/* Releases idle resources after the last owner has freed its memory. */
extern void rb_cleanup_release_idle(void);

/* Installs the callback for the end of each transaction. Called when the library is loaded. */
extern void rb_cleanup_install(void);

#endif /* RB_PG_BASE_CLEANUP_H */
