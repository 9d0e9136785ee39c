/*
 * rb_services.h
 *	  What a backend in a file of its own gets of the core, and what it must agree on.
 *
 * Such a file is compiled apart and opened at run time (backends.c).  It links nothing
 * of the core: when it is opened it is handed a table of the functions that it may
 * call.  So there is one budget of memory, one lock of errors and one arithmetic in a
 * process, whoever finds the pairs.
 *
 *		core  -- rb_core_services -->  rb_cuda_backend()  -- rb_backend -->  core
 *
 * The two sides share structs by value of their layout.  Each writes down its version
 * and the sizes of these structs, RB_ABI, and the file is used where all are equal.
 */
#ifndef RB_SERVICES_H
#define RB_SERVICES_H

#include "core/base/rb_parallel.h"
#include "core/out/rb_records.h"
#include "core/base/redblue.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* the functions of these names; each is described where it is declared */
typedef struct rb_services
{
	/* redblue.h */
	rb_status (*fail)(rb_context *ctx, rb_status status, uint64_t need, uint64_t limit,
					  const char *text);
	uint64_t (*memory_limit)(const rb_memory *memory);
	rb_status (*resize)(rb_memory *memory, void **block, size_t bytes, rb_error *error);
	void (*free)(rb_memory *memory, void **block);
	rb_status (*set_compose)(rb_context *ctx, const rb_set *set);
	/* rb_parallel.h */
	rb_status (*team_open)(rb_context *ctx, int want, rb_thread **me);
	void (*team_close)(rb_thread **me);
	rb_status (*loop)(rb_thread *me, uint64_t n, uint64_t grain, rb_work work, void *arg);
	int (*thread_start)(pthread_t *thread, size_t stack, void *(*body)(void *), void *arg);
	/* rb_join.h */
	rb_status (*decide_pairs)(rb_context *ctx, const rb_job *job, rb_pair *pairs, size_t n,
							  size_t *kept);
	/* rb_gmp.h */
	int (*gmp_orient3d)(const double *a, const double *b, const double *c, const double *d);
	int (*gmp_insphere)(const double *a, const double *b, const double *c, const double *d,
						const double *e);
} rb_services;

extern const rb_services rb_core_services;

/* what is named in rb_abi_fits, in that order */
#define RB_ABI                                                                                  \
	{                                                                                           \
		RB_BACKEND_ABI,                                                                         \
		{                                                                                       \
			sizeof(rb_pair), sizeof(rb_set), sizeof(rb_job), sizeof(rb_sink), sizeof(rb_error), \
				sizeof(rb_stats), sizeof(rb_context), sizeof(rb_record_reader),                 \
				sizeof(rb_services), sizeof(rb_backend)                                         \
		}                                                                                       \
	}

/* may this library and one that has written that down work together?  What differs goes to text. */
extern bool rb_abi_fits(const rb_abi *abi, char *text, size_t size);

/* the one symbol of a backend's file */
#define RB_BACKEND_SYMBOL "rb_cuda_backend"
typedef const rb_backend *(*rb_backend_entry)(const rb_services *services);

#ifdef __cplusplus
}
#endif

#endif /* RB_SERVICES_H */
