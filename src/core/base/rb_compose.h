/*
 * rb_compose.h
 *	  Answers about rows that are put together out of several joins.
 *
 * A backend answers of two parts.  What is asked of whole rows, the nearest ones or what lies
 * in a body, has a function of its own, which runs whatever joins it needs on that backend and puts
 * pairs of rows into a sink.  stream.c calls it in the place of a backend's join.
 */
#ifndef RB_COMPOSE_H
#define RB_COMPOSE_H

#include "core/base/redblue.h"

/*
 * Where pairs of rows go, with rb_told_words(predicate) words of each.  put may be called from
 * several threads at once; it copies.  Any other answer than RB_OK ends the join with that status.
 */
typedef struct rb_row_sink
{
	rb_status (*put)(void *user, const rb_pair *rows, const uint64_t *told, size_t n);
	void *user;
} rb_row_sink;

/* the sets have their coordinates; returns RB_STOPPED soon after rb_should_stop says so */
typedef rb_status (*rb_composed)(rb_context *ctx, const rb_backend *backend, const rb_job *job,
								 const rb_row_sink *sink);

#define RB_COMPOSED_FUNCTION(predicate, red, blue, function)                                 \
	extern rb_status function(rb_context *ctx, const rb_backend *backend, const rb_job *job, \
							  const rb_row_sink *sink);
RB_COMPOSED_LIST(RB_COMPOSED_FUNCTION)
#undef RB_COMPOSED_FUNCTION

#endif /* RB_COMPOSE_H */
