/*
 * session.c
 *	  Implements a session's side of the worker: starts it, submits requests, waits for results, and
 *	  leaves.
 *
 * Requests are joins, whose results arrive block by block; rounds of a mesh refinement, several
 * times per request; and short requests about cached sides, which the session waits for: to read a
 * page manifest or ids, to cache a side, or to evict one.
 *
 * Failure to get a result from the worker (no process slot, no shared memory, no reply, its end) is
 * not an error here: the function returns the reason as text, and the session runs the join itself.
 * Every wait handles interrupts and ends if the worker is gone.
 */
#include "pg/base/cleanup.h"
#include "pg/worker/protocol.h"

#include "core/base/parallel.h"
#include "core/set/set.h"
#include "postmaster/bgworker.h"
#include "utils/memutils.h"

#include <errno.h>
#include <signal.h>

/*
 * Time for a worker to start, including the end of a leaving one, in ms. A virtual machine may
 * stop any process for seconds, which must not make a session give up.
 */
#define RB_START_MS 15000
#define RB_DEAD_MS 10000  /* Time after which a starting worker counts as lost, in ms */
#define RB_ANSWER_MS 5000 /* Time for the worker to take a mailbox message, in ms */
/* Time for the worker to open the device if a session only asks about it, in ms */
#define RB_OPEN_MS 20000
#define RB_AGAIN 2 /* Number of workers that may end before one takes the message */

/* Age at which a starting worker is lost if the session that starts it has died, in ms */
#define RB_STARTER_MS 1000
#define RB_FAILED_MS 60000 /* Time after a failed start before this session tries again, in ms */

/* Minimum size of sides that are sent in several lanes */
#define RB_LANES_BYTES ((size_t) 16 << 20)

/* A message to the worker: the part that is still to be sent, by lane */
typedef struct rb_outgoing
{
	rb_bytes part[RB_LANES][RB_SENT_ARRAYS];
	int n;
	uint32 lanes;
	uint64 bytes; /* Size of the whole message */
} rb_outgoing;

struct rb_remote
{
	rb_service_block *block;
	dsm_segment *segment;
	rb_request *request;
	uint64 worker; /* Word of the worker that the request was submitted to */
	int post;      /* Mailbox slot, or -1 if not submitted */
	uint64 post_word;
	rb_context *ctx;
	rb_progress_entry *progress;
	rb_request_args asked; /* Copy of the arguments, because the worker could change the original */
	rb_outgoing message;
	rb_helper sending; /* Sends the message of the sides */
	uint64 next;       /* Number of the next block */
	bool out;          /* The caller holds the previous block */
	bool ended;        /* True if the statistics have been copied to ctx */
	char note[200];
	uint64 not_kept[2];
	/* Header of the reply in bytes, and its arrays in memory of ctx */
	rb_sent_reply reply;
	uint32_t *words;
	uint64_t *start;
	uint32_t *member;
	/* Buffer of the caller for the reply to other requests, with its size in bytes, or NULL */
	char *into;
	size_t into_size;
	/* The header and the arrays, with the bytes still to come */
	rb_bytes header;
	rb_bytes arrays[RB_REPLY_ARRAYS];
};

/* ---- starting the worker ---- */

static BackgroundWorkerHandle *started; /* Handle of the worker that this session has started */
static uint64 started_word;             /* Worker word when this session started it */
static double failed_ms;                /* Time when a start failed, or 0 */

/*
 * Sets the worker word back to "none" after a failed start, unless another session has changed it.
 */
static void
give_up_start_of_worker(rb_service_block *block, uint64 word)
{
	(void) rb_claim(&block->worker, &word,
					RB_WORKER_WORD(RB_WORKER_NUMBER(word), 0, RB_WORKER_NONE));
}

/*
 * Returns true if the worker process from which a session waits for a reply is gone. It may have
 * ended without changing its state in shared memory, if something else failed while it exited.
 */
static bool
is_worker_dead_for_session(uint64 word)
{
	return RB_WORKER_PID(word) == 0 || (kill(RB_WORKER_PID(word), 0) != 0 && errno == ESRCH);
}

/* Returns true if the start has failed or if the session that starts the worker is gone. */
static bool
is_start_of_worker_lost(rb_service_block *block, uint64 word)
{
	const double ms = rb_now_ms() - block->starting_ms;
	pid_t pid;

	if (started != NULL && word == started_word &&
		GetBackgroundWorkerPid(started, &pid) == BGWH_STOPPED)
		return true;
	return ms > RB_DEAD_MS || (ms > RB_STARTER_MS && is_worker_dead_for_session(word));
}

#define RB_NOT_STARTED "the background worker did not start; see the server log"

/* Asks the postmaster to start the worker, without waiting for it. */
static bool
start_worker(rb_service_block *block, uint64 word, char *why_not, size_t size)
{
	uint64 mine = RB_WORKER_WORD(RB_WORKER_NUMBER(word) + 1, MyProcPid, RB_WORKER_STARTING);
	BackgroundWorker worker;
	MemoryContext context;
	bool registered;

	if (failed_ms != 0 && rb_now_ms() - failed_ms < RB_FAILED_MS)
	{
		snprintf(why_not, size, RB_NOT_STARTED);
		return false;
	}
	/* Set the time first, because other sessions read it after the claim. */
	block->starting_ms = rb_now_ms();
	if (!rb_claim(&block->worker, &word, mine))
		return true; /* Another session starts it. */
	rb_worker_describe(&worker, RB_WORKER_NUMBER(mine));
	context = MemoryContextSwitchTo(TopMemoryContext);
	if (started != NULL)
		pfree(started);
	started = NULL;
	registered = RegisterDynamicBackgroundWorker(&worker, &started);
	MemoryContextSwitchTo(context);
	started_word = mine;
	if (registered)
		return true;
	give_up_start_of_worker(block, mine);
	snprintf(why_not, size,
			 "no background worker is available: all %d of max_worker_processes are in use",
			 max_worker_processes);
	return false;
}

/*
 * Starts the worker unless it runs or is starting. Returns false and stores the reason if that is
 * impossible.
 */
static bool
ensure_worker(rb_service_block *block, char *why_not, size_t size)
{
	uint64 word;

	why_not[0] = '\0';
	if (block == NULL)
	{
		snprintf(why_not, size, "no background worker is available: %s",
				 IsUnderPostmaster ? "there is not enough shared memory"
								   : "the server runs in single-user mode");
		return false;
	}
	word = rb_acquire(&block->worker);
	switch (RB_WORKER_STATE(word))
	{
		case RB_WORKER_STARTING:
			if (!is_start_of_worker_lost(block, word))
				return true;
			if (word != started_word)
				return start_worker(block, word, why_not, size);
			give_up_start_of_worker(block, word);
			started_word = 0;
			failed_ms = rb_now_ms();
			snprintf(why_not, size, RB_NOT_STARTED);
			return false;
		case RB_WORKER_NONE:
			return start_worker(block, word, why_not, size);
		default:
			return !is_worker_dead_for_session(word) || start_worker(block, word, why_not, size);
	}
}

/*
 * Asks the worker to open the device, unless it has reported its state already. A starting worker
 * reads the request when it runs, and is woken in case it has read it too early.
 */
static void
ask_worker_for_device(rb_service_block *block, uint64 word)
{
	const bool there =
		RB_WORKER_STATE(word) == RB_WORKER_STARTING || RB_WORKER_STATE(word) == RB_WORKER_RUNNING;

	if (!there || rb_acquire(&block->device) >> 3 == RB_WORKER_NUMBER(word))
		return;
	rb_release(&block->device_wanted, RB_WORKER_NUMBER(word));
	rb_service_wake(block);
}

void
rb_worker_call(void)
{
	rb_service_block *block = rb_service_find();
	char why_not[200];

	if (ensure_worker(block, why_not, sizeof why_not))
		ask_worker_for_device(block, rb_acquire(&block->worker));
}

/*
 * Waits until the worker runs and returns its word. Returns 0 and stores the reason if it does not
 * run.
 */
static uint64
wait_for_worker(rb_service_block *block, char *why_not, size_t size)
{
	const double until = rb_now_ms() + RB_START_MS;
	int idle = 0;

	while (ensure_worker(block, why_not, size))
	{
		uint64 word = rb_acquire(&block->worker);

		if (RB_WORKER_STATE(word) == RB_WORKER_RUNNING)
			return word;
		if (rb_now_ms() > until)
		{
			snprintf(why_not, size, "the background worker %s",
					 RB_WORKER_STATE(word) == RB_WORKER_LEAVING ? "is exiting"
																: "did not start in time");
			return 0;
		}
		CHECK_FOR_INTERRUPTS();
		rb_wait_backoff(&idle, RB_LONGEST_US);
	}
	return 0;
}

rb_device_news
rb_worker_device(bool wait, char *text, size_t size)
{
	const double until = rb_now_ms() + RB_OPEN_MS;
	rb_service_block *block = rb_service_find();
	int idle = 0;

	text[0] = '\0';
	for (;;)
	{
		uint64 word = wait            ? wait_for_worker(block, text, size)
					  : block != NULL ? rb_acquire(&block->worker)
									  : 0;
		rb_device_state state;

		if (word == 0 || RB_WORKER_STATE(word) != RB_WORKER_RUNNING)
			return RB_DEVICE_NO_NEWS;
		state = rb_service_device(block, word, text, size);
		if (state >= RB_DEVICE_NONE)
			return state == RB_DEVICE_NONE   ? RB_DEVICE_IS_NOT
				   : state == RB_DEVICE_WARM ? RB_DEVICE_IS_OPEN
											 : RB_DEVICE_IS_THERE;
		if (!wait || rb_now_ms() > until)
		{
			snprintf(text, size, "the background worker does not respond");
			return RB_DEVICE_NO_NEWS;
		}
		ask_worker_for_device(block, word);
		CHECK_FOR_INTERRUPTS();
		rb_wait_backoff(&idle, RB_LONGEST_US);
	}
}

/* ---- submitting a request ---- */

/* Writes the segment's handle into a mailbox slot; returns false if no slot is free. */
static bool
post_request_to_mailbox(rb_remote *r)
{
	for (int i = 0; i < RB_POSTS; i++)
	{
		int n = (MyProcPid + i) % RB_POSTS;
		rb_post *p = &r->block->post[n];
		uint64 word = rb_acquire(&p->word);

		if (RB_POST_STATE(word) != RB_POST_FREE ||
			!rb_claim(&p->word, &word, word + RB_POST_CLAIMED))
			continue;
		p->handle = dsm_segment_handle(r->segment);
		r->post = n;
		r->post_word = word + RB_POST_SENT;
		rb_release(&p->word, r->post_word);
		rb_service_wake(r->block);
		return true;
	}
	return false;
}

/* Withdraws the message; returns false if the worker has already taken it. */
static bool
withdraw_request_from_mailbox(rb_remote *r)
{
	uint64 word = r->post_word;

	return r->post >= 0 && rb_claim(&r->block->post[r->post].word, &word, word - RB_POST_SENT + 4);
}

/* Returns true if the worker that has the request was replaced or its process has ended. */
static bool
is_worker_of_request_gone(const rb_remote *r)
{
	uint64 word = rb_acquire(&r->block->worker);

	return !RB_SAME_WORKER(word, r->worker) || is_worker_dead_for_session(word);
}

/* Returns true if the worker has ended or accepts no new requests because it is leaving. */
static bool
has_worker_stopped_accepting(const rb_remote *r)
{
	return is_worker_of_request_gone(r) ||
		   RB_WORKER_STATE(rb_acquire(&r->block->worker)) == RB_WORKER_LEAVING;
}

/*
 * Waits until a worker has taken the request. Returns false and stores the reason if none does. A
 * worker that ends earlier leaves the message to the next one. If two workers overlap, either of
 * them may take it; the request records which one did.
 */
static bool
wait_until_request_taken(rb_remote *r, char *why_not, size_t size)
{
	double until = rb_now_ms() + RB_ANSWER_MS;
	uint32 taken;
	int again = 0;
	int idle = 0;

	while ((taken = rb_acquire(&r->request->taken)) == 0)
	{
		CHECK_FOR_INTERRUPTS();
		if (has_worker_stopped_accepting(r) && again++ < RB_AGAIN)
		{
			uint64 word = wait_for_worker(r->block, why_not, size);

			if (word == 0)
				return false;
			r->worker = word;
			until = rb_now_ms() + RB_ANSWER_MS;
			continue;
		}
		if (has_worker_stopped_accepting(r))
			snprintf(why_not, size, "the background worker has exited");
		else if (rb_now_ms() > until)
			snprintf(why_not, size, "the background worker does not respond");
		else
		{
			if (r->post < 0)
				(void) post_request_to_mailbox(r);
			rb_wait_backoff(&idle, RB_LONGEST_US);
			continue;
		}
		return false;
	}
	if (taken != RB_WORKER_NUMBER(r->worker))
	{
		r->worker = rb_acquire(&r->block->worker);
		/* The worker that took the request is gone by now. */
		if (taken != RB_WORKER_NUMBER(r->worker))
			r->worker = RB_WORKER_WORD(taken, 0, RB_WORKER_NONE);
	}
	return true;
}

/* Lists the arrays of one side that this session must send. */
static int
list_arrays_of_side(const rb_request_args *asked, const rb_submission *order, int i,
					rb_bytes *arrays)
{
	const rb_set *set = i == 0 ? order->job->red : order->job->blue;
	const rb_view *view = set->elsewhere ? set->view : NULL;

	return rb_side_arrays(&asked->side[i], view != NULL ? view->cuts : NULL,
						  view != NULL ? view->fresh : set, order->card[i], arrays);
}

/* Lists the arrays of all sides. */
static int
list_arrays_of_sides(const rb_request_args *asked, const rb_submission *order, rb_bytes *arrays)
{
	int n = 0;

	for (int i = 0; i < asked->sides; i++)
		n += list_arrays_of_side(asked, order, i, arrays + n);
	return n + rb_number_array(asked, order->job->number, arrays + n);
}

/* Fills a request from a submission. */
static void
fill_request_of_submission(rb_request *request, const rb_context *ctx, const rb_submission *order)
{
	rb_request_args *asked = &request->asked;
	const rb_job *job = order->job;
	rb_bytes arrays[RB_SENT_ARRAYS];
	int n;

	memset(request, 0, offsetof(rb_request, ring));
	request->stage = RB_STAGE_UPLOAD;
	asked->ask = order->ask;
	asked->client = MyProcPid;
	strlcpy(asked->function, order->function, sizeof asked->function);
	asked->device = order->device;
	asked->job = *job;
	asked->job.red = asked->job.blue = NULL;
	asked->job.number = NULL;
	asked->has_number = job->number != NULL;
	asked->settings = ctx->settings;
	asked->threads = ctx->threads;
	asked->memory_limit = rb_memory_limit(ctx->memory);
	asked->aggregate_limit =
		asked->memory_limit - Min(asked->memory_limit, rb_memory_used(ctx->memory));
	asked->card_from = order->card_from;
	asked->card_bytes = order->card_bytes;
	if (job->red != NULL)
		rb_sent_side_of(&asked->side[asked->sides++], job->red, order->keep[0]);
	if (job->blue != NULL)
		rb_sent_side_of(&asked->side[asked->sides++], job->blue, order->keep[1]);
	n = list_arrays_of_sides(asked, order, arrays);
	asked->lanes = 1;
	/* The size of a mesh is not known yet, but lanes cost no extra time for small ones. */
	if (order->ask == RB_ASK_REFINE || rb_bytes_left(arrays, n) >= RB_LANES_BYTES)
		asked->lanes = (uint32) Max(1, Min(RB_LANES, ctx->threads));
}

/* ---- sending a message; calls no function of PostgreSQL, because a thread may run this ---- */

/* Returns true if the worker no longer reads from the ring. */
static bool
is_reading_by_worker_over(const rb_remote *r)
{
	return rb_acquire(&r->request->ended) != 0 || is_worker_of_request_gone(r);
}

/* Reports how many bytes were sent as progress. */
static void
note_bytes_sent(rb_remote *r)
{
	uint64 sent = 0;

	for (uint32 lane = 0; lane < r->message.lanes; lane++)
		sent += rb_load(&r->request->there[lane].sent.n);
	rb_progress(r->ctx, RB_STAGE_UPLOAD, sent, r->message.bytes);
	rb_progress_note(r->progress, RB_STAGE_UPLOAD, sent, r->message.bytes);
}

/*
 * Sends the lanes first, first + step, ... in turn. The worker receives one array after the other,
 * each through all lanes, so a lane that waited for the end of another one would wait forever.
 */
static void
write_lanes_to_worker(rb_remote *r, uint32 first, uint32 step)
{
	int idle = 0;

	while (!is_reading_by_worker_over(r) && !rb_should_stop(r->ctx))
	{
		size_t left = 0, moved = 0;

		for (uint32 k = first; k < r->message.lanes; k += step)
		{
			const rb_lane lane = rb_lane_there(r->request, k);

			moved += rb_bytes_write(&lane, r->message.part[k], r->message.n);
			left += rb_bytes_left(r->message.part[k], r->message.n);
		}
		if (first == 0 && r->request->asked.ask != RB_ASK_REFINE)
			note_bytes_sent(r);
		if (left == 0)
			return;
		if (moved > 0)
			idle = 0;
		else
			rb_wait_backoff(&idle, RB_LONGEST_US);
	}
}

/* Sends every t-th lane on one of t threads, as a piece of a loop over the threads. */
static void
write_lanes_to_worker_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	(void) to;
	write_lanes_to_worker(arg, (uint32) from, (uint32) rb_team_threads(me));
}

/*
 * Sends the rest of the message as fast as the worker takes it. The worker may wait for other joins
 * first. If it ends before it has taken all bytes, its error is read as the reply. Without memory
 * for a team, this thread sends all lanes.
 */
static rb_status
send_request_to_worker(void *arg)
{
	rb_remote *r = arg;
	rb_thread *me;
	rb_status status;

	if (rb_team_open(r->ctx, (int) r->message.lanes, &me) != RB_OK)
	{
		rb_forget_failure(r->ctx);
		write_lanes_to_worker(r, 0, 1);
		return rb_should_stop(r->ctx) ? RB_STOPPED : RB_OK;
	}
	status = rb_loop(me, (uint64_t) rb_team_threads(me), 1, write_lanes_to_worker_piece, r);
	rb_team_close(&me);
	return status;
}

/* Sets the arrays that the session sends with a request and divides them among lanes. */
static void
set_arrays_to_submit(rb_remote *r, const rb_bytes *arrays, int n)
{
	rb_outgoing *m = &r->message;

	m->n = n;
	m->bytes = rb_bytes_left(arrays, n);
	m->lanes = rb_lanes_of(&r->request->asked, arrays, n);
	for (uint32 lane = 0; lane < m->lanes; lane++)
		rb_lane_part(&r->request->asked, lane, arrays, n, m->part[lane]);
}

/*
 * Sends the sides, and processes interrupts meanwhile. Returns false and stores the reason if that
 * fails.
 */
static bool
send_sides_to_worker(rb_remote *r, const rb_submission *order, char *why_not, size_t size)
{
	rb_bytes arrays[RB_SENT_ARRAYS];
	rb_status status;

	set_arrays_to_submit(r, arrays, list_arrays_of_sides(&r->request->asked, order, arrays));
	if (r->message.bytes == 0)
		return true;
	r->sending = (rb_helper){.ctx = r->ctx, .work = send_request_to_worker, .arg = r};
	while ((status = rb_helper_try(&r->sending)) == RB_NO_THREAD)
	{
		/* This process sends the rest itself, from one interrupt to the next. */
		rb_forget_failure(r->ctx);
		CHECK_FOR_INTERRUPTS();
	}
	if (status == RB_OK)
		return true;
	snprintf(why_not, size, "%s", rb_status_text(status));
	rb_forget_failure(r->ctx);
	return false;
}

/* ---- opening a request ---- */

/*
 * Waits until the worker has found the cached sides. Returns false and stores the reason if it has
 * not.
 */
static bool
wait_until_sides_found(rb_remote *r, char *why_not, size_t size)
{
	int idle = 0;

	while (rb_acquire(&r->request->found) == 0)
	{
		CHECK_FOR_INTERRUPTS();
		if (rb_acquire(&r->request->ended) != 0)
		{
			/* The worker's own error is returned as the reply. */
			if (rb_acquire(&r->request->found) != 0 || r->request->status != RB_GONE)
				return true;
			strlcpy(why_not, r->request->error.text, size);
			return false;
		}
		if (is_worker_of_request_gone(r))
		{
			snprintf(why_not, size, "the background worker has exited");
			return false;
		}
		rb_wait_backoff(&idle, RB_LONGEST_US);
	}
	return true;
}

bool
rb_remote_open(rb_remote **remote, MemoryContext context, rb_context *ctx,
			   const rb_submission *order, rb_progress_entry *progress, char *why_not, size_t size)
{
	rb_remote *r = MemoryContextAllocZero(context, sizeof *r);
	char reason[200];

	r->block = rb_service_find();
	r->post = -1;
	r->ctx = ctx;
	r->progress = progress;
	r->header = (rb_bytes){(char *) &r->reply, sizeof r->reply};
	*remote = r; /* From here on the caller must close the request in any case. */
	r->worker = wait_for_worker(r->block, why_not, size);
	if (r->worker != 0 && (r->segment = rb_segment_create(reason, sizeof reason)) == NULL)
		snprintf(why_not, size, "could not allocate shared memory for the request: %s", reason);
	if (r->segment != NULL)
	{
		r->request = dsm_segment_address(r->segment);
		fill_request_of_submission(r->request, ctx, order);
		r->asked = r->request->asked;
		if (wait_until_request_taken(r, why_not, size) &&
			wait_until_sides_found(r, why_not, size) &&
			(order->ask == RB_ASK_REFINE || send_sides_to_worker(r, order, why_not, size)))
			return true;
	}
	rb_remote_close(r);
	*remote = NULL;
	return false;
}

/* ---- the reply; calls no function of PostgreSQL, because a thread may run this ---- */

/* Replaces the error of a request with the error that the worker has exited. */
static rb_status
fail_with_worker_gone(rb_remote *r)
{
	rb_forget_failure(r->ctx);
	return rb_fail(r->ctx, RB_GONE, 0, 0, "the background worker has exited");
}

/*
 * Copies statistics, errors and notes of an ended request to the session's context, as a local
 * join would have left them.
 */
static rb_status
take_result_in_session(rb_remote *r)
{
	const rb_request *request = r->request;
	const rb_stats before = r->ctx->stats;

	if (!r->ended)
	{
		r->ctx->stats = request->stats;
		r->ctx->stats.stage[RB_STAGE_READ] = before.stage[RB_STAGE_READ];
		/*
		 * Keep ctx->error after RB_END, because the next join with this context may be a local one.
		 */
		if (request->status != RB_END)
			r->ctx->error = request->error;
		memcpy(r->not_kept, request->not_kept, sizeof r->not_kept);
		memcpy(r->note, request->note, sizeof r->note);
		r->note[sizeof r->note - 1] = '\0';
		r->ended = true;
	}
	return request->status == RB_GONE ? fail_with_worker_gone(r) : request->status;
}

/*
 * Adds the pairs of a block that the session has received to its statistics, because a join that a
 * LIMIT ends early reports nothing else.
 */
static void
note_pairs_in_session(rb_remote *r, size_t n)
{
	rb_stats *stats = &r->ctx->stats;

	/* The worker's note, if there is one, was written before the first block. */
	if (r->asked.device == RB_ON_PROCESSOR || r->request->note[0] != '\0')
		strlcpy(stats->backend, "cpu", sizeof stats->backend);
	else if (stats->device[0] == '\0')
	{
		strlcpy(stats->backend, "cuda", sizeof stats->backend);
		(void) rb_service_device(r->block, r->worker, stats->device, sizeof stats->device);
	}
	/* The numbers of invalid solids were written before the first block, too. */
	stats->bad_solids = r->request->stats.bad_solids;
	memcpy(stats->bad_because, r->request->stats.bad_because, sizeof stats->bad_because);
	stats->stage[RB_STAGE_EMIT].count += n;
}

/* Fails because the worker's reply is missing, cut or inconsistent. */
static rb_status
fail_with_bad_reply(rb_remote *r)
{
	return rb_fail(r->ctx, RB_BAD_REPLY, 0, 0, NULL);
}

/* Allocates, in the session, the arrays of the worker's reply, whose header has arrived. */
static rb_status
allocate_reply_in_session(rb_remote *r)
{
	const rb_sent_reply *n = &r->reply;

	if (!rb_reply_is_sound(&r->asked, n, r->into_size))
		return fail_with_bad_reply(r);
	if (r->into != NULL)
	{
		r->arrays[3] = (rb_bytes){r->into, r->into_size};
		return RB_OK;
	}
	RB_TRY(rb_array(r->ctx, (void **) &r->words, Max(n->words, 1), sizeof *r->words));
	RB_TRY(rb_array(r->ctx, (void **) &r->start, Max(n->starts, 1), sizeof *r->start));
	RB_TRY(rb_array(r->ctx, (void **) &r->member, Max(n->members, 1), sizeof *r->member));
	r->arrays[0] = (rb_bytes){(char *) r->words, n->words * sizeof *r->words};
	r->arrays[1] = (rb_bytes){(char *) r->start, n->starts * sizeof *r->start};
	r->arrays[2] = (rb_bytes){(char *) r->member, n->members * sizeof *r->member};
	return RB_OK;
}

/* Reads what has arrived of a reply in bytes. Sets *moved to false if nothing has. */
static rb_status
read_reply_bytes(rb_remote *r, bool *moved)
{
	const rb_lane back = rb_lane_back(r->request);

	if (r->header.left == 0)
	{
		*moved = rb_bytes_read(&back, r->arrays, RB_REPLY_ARRAYS) > 0;
		return RB_OK;
	}
	*moved = rb_bytes_read(&back, &r->header, 1) > 0;
	return r->header.left == 0 ? allocate_reply_in_session(r) : RB_OK;
}

/* Returns RB_OK while the request may send data, otherwise the result with which it ended. */
static rb_status
check_request_end(rb_remote *r, bool ended, bool lost)
{
	if (ended)
		return take_result_in_session(r);
	return lost && rb_acquire(&r->request->ended) == 0 ? fail_with_worker_gone(r) : RB_OK;
}

/*
 * Returns true if the session has received a reply in bytes that is missing, is cut, or has groups
 * beyond its members.
 */
static bool
has_session_bad_reply(const rb_remote *r)
{
	if (r->header.left == sizeof r->reply && !rb_expects_reply(&r->asked))
		return false;
	return r->header.left > 0 || rb_bytes_left(r->arrays, RB_REPLY_ARRAYS) > 0 ||
		   !rb_groups_are_sound(&r->reply, r->start);
}

/* Reads what has arrived; sets *idle to 0 if anything has. */
static rb_status
read_reply_of_worker(rb_remote *r, rb_block *block, int *idle)
{
	/* Check for the end before reading: all data are written before the end is reported. */
	const bool ended = rb_acquire(&r->request->ended) != 0;
	const bool lost = is_worker_of_request_gone(r);
	rb_status status = RB_OK;
	bool moved;

	if (rb_acquire(&r->request->back.sent.n) > 0)
		status = read_reply_bytes(r, &moved);
	else if ((moved = rb_ids_read(r->request, r->next, block)))
	{
		r->out = true;
		note_pairs_in_session(r, block->n);
	}
	if (moved)
		*idle = 0;
	if (status != RB_OK || moved)
		return status;
	status = check_request_end(r, ended, lost);
	return status == RB_END && has_session_bad_reply(r) ? fail_with_bad_reply(r) : status;
}

rb_status
rb_remote_next(rb_remote *r, int wait_ms, rb_block *block)
{
	const double until = rb_now_ms() + wait_ms;
	rb_status status;
	int idle = 0;

	if (r->out)
		rb_ids_give_back(r->request, r->next++);
	r->out = false;
	*block = (rb_block){.n = 0};
	while ((status = read_reply_of_worker(r, block, &idle)) == RB_OK && block->n == 0 &&
		   rb_now_ms() < until)
		rb_wait_backoff(&idle, RB_LONGEST_US);
	rb_progress(r->ctx, (rb_stage) rb_load(&r->request->stage), rb_load(&r->request->done),
				rb_load(&r->request->total));
	return status;
}

const uint32_t *
rb_remote_words(const rb_remote *r)
{
	return r->header.left == 0 && r->reply.starts == 0 ? r->words : NULL;
}

bool
rb_remote_groups(const rb_remote *r, rb_groups *groups)
{
	const bool grouped = r->reply.starts > 0;

	*groups = (rb_groups){r->start, r->member, grouped ? (uint32) (r->reply.starts - 1) : 0};
	return grouped;
}

const char *
rb_remote_note(const rb_remote *r)
{
	return r->note;
}

uint64
rb_remote_not_kept(const rb_remote *r, int side)
{
	return r->not_kept[side];
}

/* ---- rounds of a mesh refinement; threads also call these functions ---- */

/* Sends a mesh. If it does not arrive, the failure is reported when the reply is read. */
static rb_status
write_mesh_to_worker(rb_remote *r, rb_refining *refining)
{
	rb_sent_refining sent;
	rb_bytes arrays[RB_SENT_ARRAYS] = {{(char *) &sent, sizeof sent}};

	rb_sent_refining_of(&sent, refining);
	set_arrays_to_submit(r, arrays, 1 + rb_refining_arrays(&sent, refining, false, arrays + 1));
	return send_request_to_worker(r);
}

/* Receives all bytes of the arrays from the worker. */
static rb_status
read_arrays_of_reply(rb_remote *r, rb_bytes *arrays, int n)
{
	const rb_lane back = rb_lane_back(r->request);
	int idle = 0;

	while (rb_bytes_left(arrays, n) > 0)
	{
		const bool ended = rb_acquire(&r->request->ended) != 0;
		const bool lost = is_worker_of_request_gone(r);
		/* Keep the statistics, because they record where other rounds ran. */
		const rb_stats before = r->ctx->stats;
		rb_status status;

		if (rb_bytes_read(&back, arrays, n) > 0)
		{
			idle = 0;
			continue;
		}
		if (rb_should_stop(r->ctx))
			return RB_STOPPED;
		status = check_request_end(r, ended, lost);
		r->ctx->stats = before;
		if (status == RB_END)
			return fail_with_bad_reply(r);
		if (status != RB_OK)
			return status;
		rb_progress(r->ctx, RB_STAGE_MESH_REFINE, rb_load(&r->request->done),
					rb_load(&r->request->total));
		rb_wait_backoff(&idle, RB_LONGEST_US);
	}
	return RB_OK;
}

rb_status
rb_remote_refine(rb_remote *r, struct rb_refining *refining)
{
	rb_stats *stats = &r->ctx->stats;
	rb_sent_refining sent;
	rb_bytes arrays[RB_SENT_ARRAYS] = {{(char *) &sent, sizeof sent}};
	rb_refining fresh;
	rb_status status;

	RB_TRY(write_mesh_to_worker(r, refining));
	RB_TRY(read_arrays_of_reply(r, arrays, 1));
	status = rb_refined_alloc(r->ctx, &sent, &fresh);
	if (status == RB_OK)
		status = read_arrays_of_reply(r, arrays, rb_refining_arrays(&sent, &fresh, true, arrays));
	if (status == RB_OK)
	{
		rb_refined_swap(&sent, &fresh, refining);
		strlcpy(stats->backend, "cuda", sizeof stats->backend);
		strlcpy(stats->device, sent.device, sizeof stats->device);
	}
	rb_refining_free(&fresh);
	return status;
}

/* ---- leaving the worker ---- */

void
rb_remote_close(rb_remote *r)
{
	if (r == NULL || r->segment == NULL)
		return;
	rb_release(&r->request->stop, 1);
	(void) withdraw_request_from_mailbox(r);
	rb_helper_end(&r->sending);
	rb_free(r->ctx->memory, (void **) &r->words);
	rb_free(r->ctx->memory, (void **) &r->start);
	rb_free(r->ctx->memory, (void **) &r->member);
	dsm_detach(r->segment);
	r->segment = NULL;
	r->request = NULL;
}

/* ---- other requests, which the session waits for ---- */

#define RB_NEXT_MS 20

/*
 * Waits in a session until the worker has ended a request. Returns false and stores the reason if
 * the request failed.
 */
static bool
wait_for_end_of_request(rb_remote *r, char *why_not, size_t size)
{
	for (;;)
	{
		rb_block block;
		rb_status status;

		CHECK_FOR_INTERRUPTS();
		status = rb_remote_next(r, RB_NEXT_MS, &block);
		if (status == RB_END)
			return true;
		if (status == RB_OK)
			continue;
		snprintf(why_not, size, "%s",
				 r->ctx->error.text[0] != '\0' ? r->ctx->error.text : rb_status_text(status));
		return false;
	}
}

/* A request whose end the session waits for */
typedef struct rb_awaited
{
	rb_remote *remote;
	rb_cleanup open;
} rb_awaited;

/* Closes the request that this session awaits. */
static void
close_awaited_request(void *arg)
{
	rb_awaited *awaited = arg;

	rb_cleanup_unregister(&awaited->open);
	rb_remote_close(awaited->remote);
	awaited->remote = NULL;
}

/*
 * Submits a request and waits for its end. The reply is stored in `into`, a buffer of into_size
 * bytes. If the process exits meanwhile, the request is closed before the join that needs it, whose
 * memory it uses.
 */
static bool
run_request(rb_context *ctx, const rb_submission *order, void *into, size_t into_size,
			char *why_not, size_t size)
{
	rb_awaited *awaited = palloc0(sizeof *awaited);
	volatile bool done = false;

	rb_cleanup_register(&awaited->open, CurrentMemoryContext, close_awaited_request, awaited);
	PG_TRY();
	{
		done =
			rb_remote_open(&awaited->remote, CurrentMemoryContext, ctx, order, NULL, why_not, size);
		if (done)
		{
			awaited->remote->into = into;
			awaited->remote->into_size = into_size;
			done = wait_for_end_of_request(awaited->remote, why_not, size);
		}
	}
	PG_CATCH();
	{
		close_awaited_request(awaited);
		PG_RE_THROW();
	}
	PG_END_TRY();
	close_awaited_request(awaited);
	return done;
}

/* Returns the memory account for requests that return no data. */
static rb_memory *
memory_of_dataless_requests(void)
{
	static rb_memory *memory;

	if (memory == NULL)
		memory = rb_memory_create(0);
	if (memory != NULL)
		rb_memory_set_limit(memory, (uint64) rb_setting_memory_limit * 1024);
	return memory;
}

/* Submits a request that only needs the number of a cached side. */
static bool
run_side_request(rb_submission *order, uint64 number, rb_kind kind, void *into, size_t into_size)
{
	const rb_set set = {.kind = kind, .number = number, .elsewhere = true};
	const rb_job job = {.red = &set};
	char why_not[200];
	rb_context ctx;

	if (memory_of_dataless_requests() == NULL)
		return false;
	rb_context_init(&ctx, memory_of_dataless_requests());
	order->job = &job;
	return run_request(&ctx, order, into, into_size, why_not, sizeof why_not);
}

bool
rb_worker_card(const char *function, const rb_stored *stored, uint64 from, void *to, size_t bytes)
{
	rb_submission order = {
		.function = function, .ask = RB_ASK_CARD, .card_from = from, .card_bytes = bytes};

	return run_side_request(&order, stored->number, stored->kind, to, bytes);
}

bool
rb_worker_drop(const char *function, uint64 number)
{
	rb_submission order = {.function = function, .ask = RB_ASK_DROP};

	return run_side_request(&order, number, RB_TRIANGLE3, NULL, 0);
}

bool
rb_worker_ids(const char *function, rb_context *ctx, const rb_set *set, char *why_not, size_t size)
{
	const rb_job job = {.red = set};
	const rb_submission order = {.function = function, .ask = RB_ASK_IDS, .job = &job};
	int64_t *ids = NULL;

	if (rb_array(ctx, (void **) &ids, Max(set->nrows, 1), sizeof *ids) != RB_OK)
	{
		snprintf(why_not, size, "%s", rb_status_text(ctx->error.status));
		return false;
	}
	/* After a failure, ids are freed with the memory account. */
	if (!run_request(ctx, &order, ids, (size_t) set->nrows * sizeof *ids, why_not, size))
		return false;
	rb_set_writable(set)->ids = ids;
	rb_set_writable(set)->composed_ids = true;
	return true;
}

bool
rb_worker_keep(const char *function, rb_context *ctx, const rb_set *set, const rb_to_keep *keep,
			   const void *card, char *why_not, size_t size)
{
	const rb_job job = {.red = set};
	const rb_submission order = {.function = function,
								 .ask = RB_ASK_KEEP,
								 .job = &job,
								 .keep = {keep, NULL},
								 .card = {card, NULL}};

	return run_request(ctx, &order, NULL, 0, why_not, size);
}
