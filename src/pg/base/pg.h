/*
 * pg.h
 *	  Declares what all files of the PostgreSQL layer share: settings and errors.
 *
 *	join_functions.c   an SQL function
 *	join_arguments.c   its arguments -> sources
 *	sides.c            sources -> SELECT (or heap.c, for plain tables) -> receiver.c -> rb_builder
 *	                   -> rb_set
 *	execution.c        sets -> rb_stream -> blocks of ids
 *	cursor.c           blocks of ids, or aggregates of them -> rows, which join_functions.c returns
 *	                   as a set or a number, and function_scan.c as a scan in FROM
 *
 * Each folder declares the rest in a header of its own: spill/spill.h, worker/worker.h,
 * read/read.h, exec/exec.h, func/func.h, plan/plan.h, scalar/scalar.h, node/node.h and
 * mesh/meshing.h. A header of base that few files need is named after the file that defines it.
 *
 * Only src/pg depends on PostgreSQL. PostgreSQL functions are called only from the main thread of
 * the process.
 */
#ifndef RB_PG_BASE_PG_H
#define RB_PG_BASE_PG_H

#include "postgres.h"

#include "fmgr.h"
#include "pg/base/compat.h"
#include "access/htup.h"
#include "access/tupdesc.h"
#include "lib/ilist.h"
#include "nodes/primnodes.h"
#include "storage/lockdefs.h"
#include "tcop/dest.h"
#include "utils/relcache.h"

#include "core/base/base.h"
#include "core/base/redblue.h"

/* ---- settings.c ---- */

typedef enum rb_backend_choice
{
	RB_CHOOSE_AUTO,
	RB_CHOOSE_CPU,
	RB_CHOOSE_CUDA
} rb_backend_choice;

typedef enum rb_cache_choice
{
	RB_CACHE_AUTO,
	RB_CACHE_ON,
	RB_CACHE_OFF
} rb_cache_choice;

extern int rb_setting_backend;
extern int rb_setting_memory_limit; /* Limit in kB */
extern int rb_setting_worker_idle;  /* Idle time in seconds */
extern bool rb_setting_custom_scan;
extern bool rb_setting_join;
extern bool rb_setting_replace_postgis;
extern bool rb_setting_duplicate_notice;
extern bool rb_setting_skip_notice;
extern int rb_setting_cache;
extern int rb_setting_cache_memory; /* Capacity in kB */

/*
 * Raises an error for invalid values that the session set before the library was loaded. Called at
 * load time.
 */
extern void rb_settings_check(void);

/* Defines the settings. Called after rb_settings_check. */
extern void rb_settings_define(void);

/* Returns "auto", "cpu" or "cuda". */
extern const char *rb_setting_backend_name(void);

/* Returns the settings that the core uses. */
extern rb_join_settings rb_settings_get(void);

/* Initializes a context with these settings. */
extern void rb_settings_apply(rb_context *ctx, rb_memory *memory);

/*
 * Returns the number of threads for a join of `parts` parts, by the setting redblue.threads or
 * automatically (settings.c).
 */
extern int rb_threads(uint64 parts);

/* ---- error.c: conversion of a status into an ERROR, texts of messages ---- */

/* Returns a count with its noun, as in "1 thread" and "2 threads". */
extern char *rb_count_text(uint64 n, const char *noun);

/*
 * Raises the ERROR of a failed status, with the details in `error`. `function` begins the message.
 */
pg_noreturn extern void rb_raise(const char *function, rb_status status, const rb_error *error);

/* Returns the coordinates of a point in the format of ST_AsText, with all their digits. */
extern const char *rb_point_text(const double *at);

/* Raises the error for an operation other than a join, such as a "mesh". */
pg_noreturn extern void rb_raise_of(const char *function, const char *what, rb_status status,
									const rb_error *error);

/*
 * Processes interrupts during long work of the core and returns true if one raised an error.
 *
 * An error such as a cancel must not jump through the frames of the core. It is therefore caught
 * here; true makes the core stop, and rb_rethrow_error rethrows the error after the core has returned.
 */
extern bool rb_is_interrupted(void);
pg_noreturn extern void rb_rethrow_error(void);

/* Creates a memory account, or raises an out-of-memory error. */
extern rb_memory *rb_memory_open(const char *function, uint64 limit);

#endif /* RB_PG_BASE_PG_H */
