/*
 * vec.h
 *	  Defines arrays that grow: their elements, their number and their capacity.
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
#ifndef RB_BASE_VEC_H
#define RB_BASE_VEC_H

#include "core/base/base.h"

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

#endif /* RB_BASE_VEC_H */
