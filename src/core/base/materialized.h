/*
 * materialized.h
 *	  Declares the functions that evaluate predicates on whole rows by running several joins.
 *
 * A backend evaluates predicates on two parts. A predicate on whole rows, such as the nearest rows
 * or the position relative to a solid, has a function of its own. It runs the joins it needs on the
 * backend and writes pairs of rows to a sink. stream.c calls it in place of the backend's join.
 */
#ifndef RB_BASE_MATERIALIZED_H
#define RB_BASE_MATERIALIZED_H

#include "core/base/redblue.h"

/*
 * Receiver of pairs of rows with rb_payload_words(predicate) payload words each. put may be called
 * from several threads at once and copies its input. Any status except RB_OK ends the join with
 * that status.
 */
typedef struct rb_row_sink
{
	rb_status (*put)(void *user, const rb_pair *rows, const uint64_t *payload, size_t n);
	void *user;
} rb_row_sink;

/*
 * Declares the functions that evaluate predicates on rows. The coordinates of both sets are
 * materialized. The functions return RB_STOPPED soon after rb_should_stop returns true.
 */
#define RB_COMPOSED_FUNCTION(predicate, red, blue, function)                                 \
	extern rb_status function(rb_context *ctx, const rb_backend *backend, const rb_job *job, \
							  const rb_row_sink *sink);
RB_COMPOSED_LIST(RB_COMPOSED_FUNCTION)
#undef RB_COMPOSED_FUNCTION

#endif /* RB_BASE_MATERIALIZED_H */
