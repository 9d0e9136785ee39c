/*
 * base.h
 *	  Provides what any file of the core may need: sizes, a clock, arrays, early returns, a test for
 *	  finite numbers.
 */
#ifndef RB_BASE_BASE_H
#define RB_BASE_BASE_H

#include "core/base/redblue.h"

#include <string.h>
#include <time.h>

/*
 * Selects the sizes of tiles, batches and slots. In a test build with RB_SMALL they are so small
 * that a few hundred objects cross every boundary that otherwise takes millions.
 */
#ifdef RB_SMALL
#define RB_SIZE(usual, small) (small)
#else
#define RB_SIZE(usual, small) (usual)
#endif

/* Evaluates a call that returns a status, and returns that status if it is not RB_OK. */
#define RB_TRY(call)                      \
	do                                    \
	{                                     \
		rb_status rb_try_status = (call); \
		if (rb_try_status != RB_OK)       \
			return rb_try_status;         \
	} while (0)

/* Resizes an array, a pointer to its elements, to n elements (rb_array). */
#define RB_ALLOCATE(ctx, array, n) rb_array(ctx, (void **) &(array), n, sizeof *(array))

/* Grows an array with room for `cap` elements to at least `need` elements (rb_array_grow). */
#define RB_GROW(ctx, array, cap, need) \
	rb_array_grow(ctx, (void **) &(array), &(cap), need, sizeof *(array))

/* Makes room for at least n elements in an array, whose content may be lost (rb_array_renew). */
#define RB_RENEW(ctx, array, cap, n) \
	rb_array_renew(ctx, (void **) &(array), &(cap), n, sizeof *(array))

/* Frees an array and sets the pointer to NULL. */
#define RB_FREE(memory, array) rb_free(memory, (void **) &(array))

/*
 * Frees arrays as soon as the block of this declaration ends, in whichever way, so that a function
 * with scratch memory can use RB_TRY. The arguments are the addresses of pointers that at that time
 * are NULL or point to arrays of `memory`: the block may free them earlier, or keep one for its
 * caller by setting the pointer to NULL.
 *
 *		uint32_t *order = NULL, *count = NULL;
 *		RB_FREE_AT_END(ctx->memory, &order, &count);
 */
#define RB_FREE_AT_END(memory, ...)                                                          \
	__attribute__((cleanup(rb_free_arrays), unused)) const rb_arrays_to_free rb_to_free_ = { \
		memory, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *), (void *[]){__VA_ARGS__}}

#ifdef __cplusplus
extern "C"
{
#endif

typedef struct rb_arrays_to_free
{
	rb_memory *memory;
	size_t n;
	void *const *array; /* Addresses of the pointers */
} rb_arrays_to_free;

/* Frees the arrays of the list, at the end of a block with RB_FREE_AT_END. */
static inline void
rb_free_arrays(const rb_arrays_to_free *all)
{
	for (size_t i = 0; i < all->n; i++)
		rb_free(all->memory, (void **) all->array[i]);
}

/* Returns the time of a monotonic clock in milliseconds, for stage times. */
static inline double
rb_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

/*
 * Returns true if the context should stop. Polls only in each interval-th iteration i of a loop,
 * the last one of the interval.
 */
static inline bool
rb_stop_due(const rb_context *ctx, uint64_t i, uint64_t interval)
{
	return i % interval == interval - 1 && rb_should_stop(ctx);
}

/* Resizes an array to n elements and records a failure in the context (rb_resize and rb_fail). */
static inline rb_status
rb_array(rb_context *ctx, void **block, size_t n, size_t element)
{
	rb_error error;
	rb_status status;

	if (n > SIZE_MAX / element)
		return rb_fail(ctx, RB_OVER_BUDGET, UINT64_MAX, rb_memory_limit(ctx->memory), NULL);
	status = rb_resize(ctx->memory, block, n * element, &error);
	if (status != RB_OK)
		return rb_fail(ctx, error.status, error.need, error.limit, NULL);
	return RB_OK;
}

/* Grows an array of *cap elements to at least `need` elements, and by at least half. */
static inline rb_status
rb_array_grow(rb_context *ctx, void **block, size_t *cap, size_t need, size_t element)
{
	size_t more = *cap + *cap / 2 + 64;
	rb_status status;

	if (need <= *cap)
		return RB_OK;
	if (more < need)
		more = need;
	status = rb_array(ctx, block, more, element);
	if (status == RB_OK)
		*cap = more;
	return status;
}

/*
 * Makes room for at least n elements in an array with room for *cap. The old content is freed before
 * new memory is allocated.
 */
static inline rb_status
rb_array_renew(rb_context *ctx, void **block, size_t *cap, size_t n, size_t element)
{
	if (n <= *cap)
		return RB_OK;
	rb_free(ctx->memory, block);
	*cap = 0;
	RB_TRY(rb_array(ctx, block, n, element));
	*cap = n;
	return RB_OK;
}

/* ---- arrays that grow ---- */

/*
 * Defines arrays that grow: their elements, their number and their capacity.
 *
 *		typedef RB_VEC(edge) edge_vec;			or a field or variable: RB_VEC(edge) edges;
 *
 *		RB_TRY(rb_vec_reserve(ctx, &v, 2));		room for two more elements
 *		v.at[v.n++] = a;
 *		v.at[v.n++] = b;
 *		RB_TRY(rb_vec_append(ctx, &v, c));		reserves and appends
 *		rb_vec_free(ctx->memory, &v);
 *
 * An array of zeros is empty. Arguments that are pointers to arrays are evaluated several times.
 */

#define RB_VEC(type) \
	struct           \
	{                \
		type *at;    \
		size_t n;    \
		size_t cap;  \
	}

/* Makes room for `more` elements beyond the current ones. */
#define rb_vec_reserve(ctx, v, more) \
	rb_array_grow(ctx, (void **) &(v)->at, &(v)->cap, (v)->n + (more), sizeof *(v)->at)

/* Appends one element. */
#define rb_vec_append(ctx, v, ...)                                    \
	__extension__({                                                   \
		const rb_status rb_vec_status_ = rb_vec_reserve(ctx, (v), 1); \
		if (rb_vec_status_ == RB_OK)                                  \
			(v)->at[(v)->n++] = (__VA_ARGS__);                        \
		rb_vec_status_;                                               \
	})

#define rb_vec_clear(v) ((void) ((v)->n = 0))

/* Frees the elements; the array is empty then. */
#define rb_vec_free(memory, v) (rb_free(memory, (void **) &(v)->at), (void) ((v)->n = (v)->cap = 0))

/* ---- numbers ---- */

/*
 * Returns true if all numbers are finite. x - x is +0 for a finite x and NaN otherwise: no branch,
 * no call.
 */
static inline bool
rb_all_finite(const double *x, int n)
{
	uint64_t bad = 0;

	for (int i = 0; i < n; i++)
	{
		double zero = x[i] - x[i];
		uint64_t bits;

		memcpy(&bits, &zero, sizeof(bits));
		bad |= bits;
	}
	return bad == 0;
}

#ifdef __cplusplus
}
#endif

#endif /* RB_BASE_BASE_H */
