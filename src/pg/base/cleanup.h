/*
 * cleanup.h
 *	  Declares cleanup before the process ends (cleanup.c).
 */
#ifndef RB_PG_BASE_CLEANUP_H
#define RB_PG_BASE_CLEANUP_H

#include "pg/base/pg.h"

/*
 * A registered cleanup. Each owner of core memory or threads registers one. When the process exits,
 * the remaining ones are closed by their close functions, which call rb_cleanup_unregister.
 */
typedef struct rb_cleanup
{
	dlist_node node; /* In the list of all registered cleanups */
	void (*close)(void *);
	void *arg;
} rb_cleanup;

extern void rb_cleanup_register(rb_cleanup *open, void (*close)(void *), void *arg);

/* Unregisters the cleanup. May be called twice; the second call does nothing. */
extern void rb_cleanup_unregister(rb_cleanup *open);

/* Releases idle resources after the last owner has freed its memory. */
extern void rb_cleanup_release_idle(void);

/* Installs the callback for the end of each transaction. Called when the library is loaded. */
extern void rb_cleanup_install(void);

#endif /* RB_PG_BASE_CLEANUP_H */
