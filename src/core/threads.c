/*
 * threads.c
 *	  How many threads the system lets us have.
 *
 * The OpenMP runtime ends the process when it gets fewer threads than it wants,
 * so whoever opens a team asks before: as many threads as wished for are made,
 * held at a gate until all are there or one was refused, and let go.
 */
#include "rb_core.h"

#include <pthread.h>

static void *
pass_gate(void *gate)
{
	pthread_mutex_lock(gate);
	pthread_mutex_unlock(gate);
	return NULL;
}

rb_status
rb_count_threads(rb_context *ctx, int *have)
{
	const int want = ctx->threads > 0 ? ctx->threads : 1;
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	pthread_t *thread = NULL;
	rb_status status = rb_array(ctx, (void **) &thread, (size_t) want, sizeof(pthread_t));

	if (status != RB_OK)
		return status;
	pthread_mutex_lock(&gate);
	for (*have = 1; *have < want; ++*have)
		if (pthread_create(&thread[*have], NULL, pass_gate, &gate) != 0)
			break;
	pthread_mutex_unlock(&gate);
	for (int t = 1; t < *have; t++)
		pthread_join(thread[t], NULL);
	rb_free(ctx->memory, (void **) &thread);
	return RB_OK;
}
