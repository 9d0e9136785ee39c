/*
 * stream.c
 *	  A join in threads of its own; its pairs come out in blocks of ids.
 *
 *	   producer thread                       ring of slots              caller's thread
 *	   backend->join -> put -> rows, unique -> [ filling ] [ ready ]* -> ids -> rb_stream_next
 *	                                   |
 *	                                   +-> counts, marks, groups (answer.c) -> rb_stream_words, _groups
 *
 * The backend pushes pairs from as many threads as it likes; the caller pulls
 * them when it has time, and may leave between two pulls, by longjmp too.  The
 * ring is bounded: when the caller is slow the join waits, so an answer of any
 * size needs the same memory.
 *
 * All signals are blocked in the producer and in every thread that it makes: they are
 * the caller's.  A backend's threads end with its join: none outlives the stream.
 *
 * A join that gets no thread of its own does not run.  In the caller's it could not
 * wait for the caller, nor hear that it is to stop.
 */
#include "core/base/rb_base.h"
#include "core/out/rb_answer.h"
#include "core/out/rb_unique.h"
#include "core/base/rb_parallel.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <string.h>

/* a backend may go deep, as a driver that compiles does; what is not touched is only address space */
#define STACK ((size_t) 8 << 20)

#define SLOTS RB_SIZE(8, 2)
#define SLOT_PAIRS RB_SIZE(32768, 7)
#define UNIQUE_PAIRS RB_SIZE(1024, 5) /* made unique at once */

struct rb_stream
{
	rb_context *ctx;
	const rb_backend *backend;
	rb_job job;
	rb_answers answers;
	rb_unique unique;
	pthread_mutex_t unique_lock;
	pthread_t thread;
	bool started;

	pthread_mutex_t lock;
	pthread_cond_t can_take; /* a slot became ready, or the join ended */
	pthread_cond_t can_put;  /* a slot became free, or the stream is closing */
	rb_pair *pairs;          /* SLOTS * SLOT_PAIRS */
	size_t fill[SLOTS];
	unsigned head; /* slot being filled */
	unsigned tail; /* oldest slot not yet given back by the caller */
	bool out;      /* the caller holds slot tail */
	bool ended;
	bool closing;
	rb_status status; /* of the join, once ended */
	uint64_t emitted;

	/* the caller's: what it has not seen of its slot, and the block that it sees */
	const rb_pair *rest;
	size_t nrest;
	double ms; /* that making blocks took, to be added to the statistics when the join has ended */
	int64_t red[RB_BLOCK];
	int64_t blue[RB_BLOCK];
};

static inline rb_pair *
slot_pairs(rb_stream *s, unsigned slot)
{
	return s->pairs + (size_t) (slot % SLOTS) * SLOT_PAIRS;
}

/* pairs of rows into the ring; waits while it is full */
static rb_status
push(rb_stream *s, const rb_pair *rows, size_t n)
{
	rb_status status = RB_OK;

	pthread_mutex_lock(&s->lock);
	while (n > 0)
	{
		unsigned slot = s->head;
		size_t room = SLOT_PAIRS - s->fill[slot % SLOTS];
		size_t taken = n < room ? n : room;

		if (s->closing || rb_should_stop(s->ctx))
		{
			status = RB_STOPPED;
			break;
		}
		if (room > 0)
		{
			memcpy(slot_pairs(s, slot) + s->fill[slot % SLOTS], rows, taken * sizeof(rb_pair));
			s->fill[slot % SLOTS] += taken;
			rows += taken;
			n -= taken;
		}
		else if (s->head - s->tail == SLOTS - 1)
			pthread_cond_wait(&s->can_put, &s->lock);
		else
		{
			s->head++;
			s->fill[s->head % SLOTS] = 0;
			pthread_cond_signal(&s->can_take);
		}
	}
	pthread_mutex_unlock(&s->lock);
	return status;
}

/* the one place where pairs of rows are counted, on their way to the caller or to nobody */
static rb_status
emit(rb_stream *s, const rb_pair *rows, size_t n)
{
	rb_status status = RB_OK;

	if (s->job.answer == RB_PAIRS)
		status = push(s, rows, n);
	else
		status = rb_answers_add(&s->answers, rows, n);
	if (status == RB_OK)
		rb_add(&s->emitted, n);
	return status;
}

/* called by the backend's threads */
static rb_status
put(void *user, const rb_pair *pairs, size_t n)
{
	rb_stream *s = user;
	rb_status status = RB_OK;

	/* a row may be marked any number of times: no pair needs to be known from another */
	if (s->job.answer == RB_HITS)
	{
		rb_answers_mark(&s->answers, pairs, n);
		return rb_should_stop(s->ctx) ? RB_STOPPED : RB_OK;
	}
	if (!s->unique.needed)
		status = emit(s, pairs, n);

	/* the set of rows has a lock of its own: when it grows, the reader is not to wait */
	while (s->unique.needed && n > 0 && status == RB_OK)
	{
		rb_pair rows[UNIQUE_PAIRS];
		size_t taken = n < UNIQUE_PAIRS ? n : UNIQUE_PAIRS;
		size_t kept = 0;

		pthread_mutex_lock(&s->unique_lock);
		status = rb_unique_rows(&s->unique, pairs, taken, rows, &kept);
		pthread_mutex_unlock(&s->unique_lock);
		if (status == RB_OK)
			status = emit(s, rows, kept);
		pairs += taken;
		n -= taken;
	}
	return rb_should_stop(s->ctx) && status == RB_OK ? RB_STOPPED : status;
}

static rb_status
put_words(void *user, const uint32_t *words, size_t first, size_t n)
{
	rb_stream *s = user;

	rb_answers_add_words(&s->answers, words, first, n);
	return rb_should_stop(s->ctx) ? RB_STOPPED : RB_OK;
}

static rb_status
join(rb_stream *s)
{
	rb_sink sink = {.put = put, .user = s};
	rb_status status = rb_answers_begin(&s->answers);

	if (s->job.answer == RB_COUNTS || s->job.answer == RB_HITS)
		sink.put_words = put_words;
	if (s->job.answer == RB_HITS)
		sink.marks = s->answers.word;
	if (status == RB_OK)
		status = s->backend->join(s->ctx, &s->job, &sink);
	if (status == RB_OK)
		status = rb_answers_end(&s->answers);
	s->emitted += rb_answers_added(&s->answers);
	if (status == RB_OK && s->job.answer == RB_HITS)
		s->emitted = rb_answers_marked(&s->answers);
	return status;
}

static void *
produce(void *arg)
{
	rb_stream *s = arg;
	rb_status status;

	/* error bounds hold for rounding to nearest and gradual underflow only */
	fesetenv(FE_DFL_ENV);
	status = join(s);

	pthread_mutex_lock(&s->lock);
	s->status = status;
	s->ctx->stats.stage[RB_STAGE_EMIT].count = s->emitted;
	s->ended = true;
	pthread_cond_signal(&s->can_take);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

rb_status
rb_stream_open(rb_context *ctx, const rb_backend *backend, const rb_job *job, rb_stream **stream)
{
	rb_stream *s = NULL;
	rb_status status;
	pthread_condattr_t attr;

	const rb_set *blue = job->blue != NULL ? job->blue : job->red;

	*stream = NULL;
	if (!rb_leaf_exists(job->predicate, job->red->kind, blue->kind))
		return rb_fail(ctx, RB_UNSUPPORTED, 0, 0, NULL);
	if (job->red->nparts > RB_MAX_OBJECTS || blue->nparts > RB_MAX_OBJECTS)
		return rb_fail(ctx, RB_TOO_MANY_OBJECTS,
					   blue->nparts > job->red->nparts ? blue->nparts : job->red->nparts,
					   RB_MAX_OBJECTS, NULL);

	status = rb_array(ctx, (void **) &s, 1, sizeof(rb_stream));
	if (status != RB_OK)
		return status;
	memset(s, 0, sizeof(*s));
	s->ctx = ctx;
	s->backend = backend;
	s->job = *job;
	rb_set_hold(s->job.red);
	rb_set_hold(s->job.blue);
	rb_unique_init(&s->unique, ctx, &s->job);
	status = rb_answers_init(&s->answers, ctx, &s->job);
	if (status == RB_OK)
		status = rb_array(ctx, (void **) &s->pairs, (size_t) SLOTS * SLOT_PAIRS, sizeof(rb_pair));
	if (status != RB_OK)
	{
		rb_answers_free(&s->answers);
		rb_set_release(&s->job.red);
		rb_set_release(&s->job.blue);
		rb_free(ctx->memory, (void **) &s);
		return status;
	}
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->unique_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->can_take, &attr);
	pthread_cond_init(&s->can_put, &attr);
	pthread_condattr_destroy(&attr);

	strncpy(ctx->stats.backend, backend->name, sizeof(ctx->stats.backend) - 1);
	if (rb_thread_start(&s->thread, STACK, produce, s) != 0)
	{
		rb_stream_close(s);
		return rb_fail(ctx, RB_NO_THREAD, 0, 0, NULL);
	}
	s->started = true;
	*stream = s;
	return RB_OK;
}

/* the join has ended, nobody else writes to the statistics */
static void
report_time(rb_stream *s)
{
	s->ctx->stats.stage[RB_STAGE_EMIT].ms += s->ms;
	s->ms = 0;
}

/* the next slot for the caller, who is through with the last one; none within the time is RB_OK, too */
static rb_status
next_slot(rb_stream *s, int wait_ms)
{
	rb_status status = RB_OK;
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long) wait_ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;

	pthread_mutex_lock(&s->lock);
	if (s->out)
	{
		s->out = false;
		s->tail++;
		pthread_cond_broadcast(&s->can_put);
	}
	while (s->tail == s->head && !s->ended)
		if (pthread_cond_timedwait(&s->can_take, &s->lock, &until) == ETIMEDOUT)
			break;
	if (s->tail != s->head || (s->fill[s->tail % SLOTS] > 0 && s->status == RB_OK))
	{
		/* a full slot; or, when there is none, what the slot being filled has so far */
		if (s->tail == s->head)
		{
			s->head++;
			s->fill[s->head % SLOTS] = 0;
		}
		s->rest = slot_pairs(s, s->tail);
		s->nrest = s->fill[s->tail % SLOTS];
		s->out = true;
	}
	else if (s->ended)
	{
		status = s->status == RB_OK ? RB_END : s->status;
		report_time(s);
	}
	pthread_mutex_unlock(&s->lock);
	return status;
}

/* the ids of one side of n pairs of rows; row points at that side in the first of them */
static void
fetch_ids(const rb_set *set, const uint32_t *row, size_t n, int64_t *to)
{
	if (set->ids == NULL)
		for (size_t i = 0; i < n; i++)
			to[i] = (int64_t) ((uint64_t) set->first_id + row[2 * i]); /* they may wrap */
	else
		for (size_t i = 0; i < n; i++)
			to[i] = set->ids[row[2 * i]];
}

rb_status
rb_stream_next(rb_stream *s, int wait_ms, rb_block *block)
{
	rb_status status = RB_OK;
	size_t n;

	if (s->nrest == 0)
		status = next_slot(s, wait_ms);
	n = s->nrest < RB_BLOCK ? s->nrest : RB_BLOCK;
	if (n > 0)
	{
		double start = rb_now_ms();

		fetch_ids(s->job.red, &s->rest->red, n, s->red);
		fetch_ids(s->job.blue != NULL ? s->job.blue : s->job.red, &s->rest->blue, n, s->blue);
		s->ms += rb_now_ms() - start;
		s->rest += n;
		s->nrest -= n;
	}
	*block = (rb_block){s->red, s->blue, n};
	return status;
}

/* only who waited for the end sees what all threads wrote (rb_atomic.h) */
const uint32_t *
rb_stream_words(const rb_stream *s)
{
	return s->answers.word;
}

bool
rb_stream_groups(const rb_stream *s, rb_groups *groups)
{
	const rb_grouped *made = &s->answers.groups;

	*groups = (rb_groups){made->start, made->member, made->n};
	return made->start != NULL;
}

void
rb_stream_close(rb_stream *s)
{
	rb_context *ctx;

	if (s == NULL)
		return;
	ctx = s->ctx;
	if (s->started)
	{
		pthread_mutex_lock(&s->lock);
		if (!s->ended)
			rb_context_stop(ctx);
		s->closing = true;
		pthread_cond_broadcast(&s->can_put);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->thread, NULL);
		report_time(s);
	}
	pthread_cond_destroy(&s->can_take);
	pthread_cond_destroy(&s->can_put);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->unique_lock);
	rb_unique_free(&s->unique);
	rb_answers_free(&s->answers);
	rb_set_release(&s->job.red);
	rb_set_release(&s->job.blue);
	rb_free(ctx->memory, (void **) &s->pairs);
	rb_free(ctx->memory, (void **) &s);
}
