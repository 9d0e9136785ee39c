/*
 * plugin.h
 *	  Defines the interface between the core and a backend in a separate library file.
 *
 * Such a file is compiled separately and opened at run time (backends.c). It does not link against
 * the core. When it is opened, it receives a table of the functions that it may call. So a process
 * has one memory budget, one error lock and one implementation of the arithmetic, whichever backend
 * finds the pairs.
 *
 *		core  -- rb_core_services -->  rb_cuda_backend()  -- rb_backend -->  core
 *
 * Both sides share structs and must agree on their layout. Each side records its version and the
 * sizes of these structs in RB_ABI, and the file is used only if all of them are equal.
 */
#ifndef RB_EXEC_PLUGIN_H
#define RB_EXEC_PLUGIN_H

#include "core/base/parallel.h"
#include "core/exec/pair_coding.h"
#include "core/base/redblue.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Table of core functions; each is documented at its declaration */
typedef struct rb_services
{
	/* Declared in redblue.h */
	rb_status (*fail)(rb_context *ctx, rb_status status, uint64_t need, uint64_t limit,
					  const char *text);
	uint64_t (*memory_limit)(const rb_memory *memory);
	rb_status (*resize)(rb_memory *memory, void **block, size_t bytes, rb_error *error);
	void (*free)(rb_memory *memory, void **block);
	rb_status (*set_compose)(rb_context *ctx, const rb_set *set);
	/* Declared in parallel.h */
	rb_status (*team_open)(rb_context *ctx, int want, rb_thread **me);
	void (*team_close)(rb_thread **me);
	rb_status (*loop)(rb_thread *me, uint64_t n, uint64_t grain, rb_work work, void *arg);
	int (*thread_start)(pthread_t *thread, size_t stack, void *(*body)(void *), void *arg);
	/* Declared in join.h */
	rb_status (*decide_pairs)(rb_context *ctx, const rb_job *job, rb_pair *pairs, size_t n,
							  size_t *kept);
	/* Declared in gmp_exact.h */
	int (*gmp_orient3d)(const double *a, const double *b, const double *c, const double *d);
	int (*gmp_insphere)(const double *a, const double *b, const double *c, const double *d,
						const double *e);
} rb_services;

extern const rb_services rb_core_services;

/* Version and struct sizes, in the order of the names in rb_abi_fits */
#define RB_ABI                                                                                  \
	{                                                                                           \
		RB_BACKEND_ABI,                                                                         \
		{                                                                                       \
			sizeof(rb_pair), sizeof(rb_set), sizeof(rb_job), sizeof(rb_sink), sizeof(rb_error), \
				sizeof(rb_stats), sizeof(rb_context), sizeof(rb_record_reader),                 \
				sizeof(rb_services), sizeof(rb_backend)                                         \
		}                                                                                       \
	}

/*
 * Returns true if a library with this ABI record is compatible with this one; otherwise writes the
 * difference to `text`.
 */
extern bool rb_abi_fits(const rb_abi *abi, char *text, size_t size);

/* The only symbol that a backend file exports */
#define RB_BACKEND_SYMBOL "rb_cuda_backend"
typedef const rb_backend *(*rb_backend_entry)(const rb_services *services);

#ifdef __cplusplus
}
#endif

#endif /* RB_EXEC_PLUGIN_H */
