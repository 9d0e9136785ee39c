/*
 * request.c
 *	  One request in the worker: rows come, the join runs, blocks of ids leave.
 *
 *		wait for the device -> wait at the gate -> sides -> join -> the end
 *
 * All of it is done by a thread of the request, which calls no function of PostgreSQL and
 * blocks all signals.  So a session that is slow, stopped or gone keeps nobody
 * else waiting.
 *
 * The gate.  A device has memory for one large join, and two at once are no faster than one
 * after the other; small ones keep it busy only together.  So joins run together as long
 * as they are small together, and a larger one waits until it is alone: with its rows
 * still in the session, so that they are not in memory twice while nothing is done
 * with them.  Who waits for its own session opens the gate for the next one.  And a join
 * for which the device was full all the same is tried again when another one has ended.
 *
 * The segment is touched under a lock of this process only: it may be taken away while
 * the thread runs, when the worker must end and a driver does not come back.
 */
#include "pg/service/rb_service.h"

#include "core/base/rb_parallel.h"
#include "core/set/rb_set.h"

#include <stdlib.h>

#define STACK ((size_t) 1 << 20)
#define WAIT_MS 20
/* parts of joins that may run together */
#define TOGETHER_PARTS (UINT64CONST(1) << 20)
/* so long a join waits for its session before it opens the gate for others */
#define PATIENCE_MS 50
/* and so long, when the device is full, for joins that wait for theirs */
#define ROOM_MS 2000
/* a driver may take so long to find its devices */
#define OPEN_MS 15000

struct rb_served
{
	rb_request *request; /* NULL: taken away */
	pthread_mutex_t lock;
	pthread_t thread;
	int stop;  /* the worker wants it to end */
	int ended; /* the thread is through with it */
	bool device_failed;
	bool at_gate;      /* it is counted there */
	rb_served *behind; /* who waits after it */
	uint64 parts;

	/* the thread's */
	rb_asked asked; /* as it was read once */
	const rb_backend *backend;
	rb_memory *memory;
	rb_context ctx;
	const rb_set *set[2];
	uint32_t *number;
	uint64 blocks; /* put */
};

/* ---- the gate ---- */

static struct
{
	pthread_mutex_t lock;
	int joins; /* that are in, */
	uint64 parts;
	rb_served *first; /* and those who wait, in the order in which they came */
	int on_device;    /* joins that run, whether they are still counted at the gate or not */
	uint64 ended;     /* how many have run */
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void
gate_queue(rb_served *s)
{
	rb_served **last = &gate.first;

	pthread_mutex_lock(&gate.lock);
	while (*last != NULL)
		last = &(*last)->behind;
	s->behind = NULL;
	*last = s;
	pthread_mutex_unlock(&gate.lock);
}

/* its lock is held */
static void
leave_queue(rb_served *s)
{
	rb_served **at = &gate.first;

	while (*at != NULL && *at != s)
		at = &(*at)->behind;
	if (*at != NULL)
		*at = s->behind;
}

static void
gate_give_up(rb_served *s)
{
	pthread_mutex_lock(&gate.lock);
	leave_queue(s);
	pthread_mutex_unlock(&gate.lock);
}

static bool
gate_enter(rb_served *s)
{
	bool open;

	pthread_mutex_lock(&gate.lock);
	open = gate.first == s && (gate.joins == 0 || gate.parts + s->parts <= TOGETHER_PARTS);
	if (open)
	{
		leave_queue(s);
		gate.joins++;
		gate.parts += s->parts;
		s->at_gate = true;
	}
	pthread_mutex_unlock(&gate.lock);
	return open;
}

static void
gate_leave(rb_served *s)
{
	if (!s->at_gate)
		return;
	s->at_gate = false;
	pthread_mutex_lock(&gate.lock);
	gate.joins--;
	gate.parts -= s->parts;
	pthread_mutex_unlock(&gate.lock);
}

static uint64
device_enter(void)
{
	uint64 ended;

	pthread_mutex_lock(&gate.lock);
	gate.on_device++;
	ended = gate.ended;
	pthread_mutex_unlock(&gate.lock);
	return ended;
}

static void
device_leave(void)
{
	pthread_mutex_lock(&gate.lock);
	gate.on_device--;
	gate.ended++;
	pthread_mutex_unlock(&gate.lock);
}

/* ---- the segment ---- */

/* it, until done_with; NULL when it was taken away */
static rb_request *
use(rb_served *s)
{
	pthread_mutex_lock(&s->lock);
	return s->request;
}

static void
done_with(rb_served *s)
{
	pthread_mutex_unlock(&s->lock);
}

/* does the session want no more, or the worker end? */
static bool
stopped(rb_served *s)
{
	rb_request *request = use(s);
	bool stop = request == NULL || rb_acquire(&request->stop) != 0;

	done_with(s);
	return stop || rb_acquire(&s->stop) != 0;
}

static void
tell_progress(rb_served *s)
{
	rb_request *request = use(s);

	if (request != NULL)
	{
		rb_store(&request->stage, rb_load(&s->ctx.stage));
		rb_store(&request->done, rb_load(&s->ctx.done));
		rb_store(&request->total, rb_load(&s->ctx.total));
	}
	done_with(s);
}

static void
tell_end(rb_served *s, rb_status status)
{
	rb_request *request = use(s);

	if (request != NULL)
	{
		request->status = status;
		request->blocks = s->blocks;
		request->error = s->ctx.error;
		request->error.status = status;
		request->stats = s->ctx.stats;
		rb_release(&request->ended, 1);
	}
	done_with(s);
}

/* while the session is waited for, others need not wait */
static void
wait_for_session(rb_served *s, int *idle, double *since)
{
	if (*idle == 0)
		*since = rb_now_ms();
	else if (s->at_gate && rb_now_ms() - *since > PATIENCE_MS)
		gate_leave(s);
	rb_nap(idle);
}

/* ---- its steps ---- */

static rb_status
fail(rb_served *s, rb_status status, const char *text)
{
	return rb_fail(&s->ctx, status, 0, 0, text);
}

static rb_status
wait_for_device(rb_served *s)
{
	const double until = rb_now_ms() + OPEN_MS;
	char text[sizeof s->ctx.error.text];
	rb_device_state state;
	int idle = 0;

	while ((state = rb_device_begun(&s->backend, text, sizeof text)) == RB_DEVICE_OPENING ||
		   state == RB_DEVICE_UNKNOWN)
	{
		if (stopped(s))
			return RB_STOPPED;
		if (rb_now_ms() > until)
			return fail(s, RB_NO_DEVICE, "opening the GPU takes too long");
		rb_nap(&idle);
	}
	return state == RB_DEVICE_FOUND ? RB_OK : fail(s, RB_NO_DEVICE, text);
}

static rb_status
wait_at_gate(rb_served *s)
{
	int idle = 0;

	gate_queue(s);
	while (!gate_enter(s))
	{
		if (stopped(s))
		{
			gate_give_up(s);
			return RB_STOPPED;
		}
		rb_nap(&idle);
	}
	return RB_OK;
}

/* the arrays of a set that is announced so, not filled */
static rb_status
make_set(rb_served *s, const rb_sent_side *side, const rb_set **set)
{
	rb_set made = {.kind = side->kind,
				   .nparts = side->nparts,
				   .nrows = side->nrows,
				   .first_id = side->first_id,
				   .skipped = side->skipped,
				   .srid = side->srid};
	rb_error error;
	rb_status status;

	status = rb_array(&s->ctx, (void **) &made.coords, Max(side->nparts, 1),
					  (size_t) rb_kind_width(side->kind) * sizeof(double));
	if (status == RB_OK && side->has_row_of)
		status = rb_array(&s->ctx, (void **) &made.row_of, Max(side->nparts, 1), sizeof(uint32));
	if (status == RB_OK && side->has_ids)
		status = rb_array(&s->ctx, (void **) &made.ids, Max(side->nrows, 1), sizeof(int64));
	if (status != RB_OK)
		return status; /* what there is goes with the memory */
	status = rb_set_own(s->memory, &made, set, &error);
	return status == RB_OK ? RB_OK : rb_fail(&s->ctx, status, error.need, error.limit, NULL);
}

/* all bytes of the arrays, from the session or to it */
static rb_status
move_arrays(rb_served *s, rb_bytes *arrays, int n, bool back)
{
	double since = 0;
	int idle = 0;

	while (rb_bytes_left(arrays, n) > 0)
	{
		size_t moved = 0;
		rb_request *request;

		if (stopped(s))
			return RB_STOPPED;
		request = use(s);
		if (request != NULL)
			moved = back ? rb_bytes_put(request, &request->back, arrays, n)
						 : rb_bytes_take(request, &request->there, arrays, n);
		done_with(s);
		if (moved > 0)
			idle = 0;
		else
			wait_for_session(s, &idle, &since);
	}
	return RB_OK;
}

static rb_status
take_number(rb_served *s)
{
	rb_bytes array;
	rb_status status;

	if (rb_number_array(&s->asked, NULL, &array) == 0)
		return RB_OK;
	status = rb_array(&s->ctx, (void **) &s->number, array.left, 1);
	array.at = (char *) s->number;
	return status == RB_OK ? move_arrays(s, &array, 1, false) : status;
}

static rb_status
take_sides(rb_served *s)
{
	rb_status status = RB_OK;

	for (int i = 0; i < s->asked.sides && status == RB_OK; i++)
	{
		rb_bytes arrays[RB_SIDE_ARRAYS];

		status = make_set(s, &s->asked.side[i], &s->set[i]);
		if (status == RB_OK)
			status =
				move_arrays(s, arrays, rb_side_arrays(&s->asked.side[i], s->set[i], arrays), false);
	}
	return status == RB_OK ? take_number(s) : status;
}

/* what the join has to tell of each row */
static rb_status
put_answer(rb_served *s, const rb_stream *stream)
{
	const rb_sent_side *side = &s->asked.side[s->asked.of == RB_OF_BLUE ? s->asked.sides - 1 : 0];
	const uint32_t *words = rb_stream_words(stream);
	rb_bytes arrays[3];
	rb_request *request;
	rb_groups groups;
	uint64 n[3] = {0, 0, 0};

	if (rb_stream_groups(stream, &groups))
	{
		n[1] = (uint64) groups.n + 1;
		n[2] = groups.start[groups.n];
	}
	else if (words != NULL)
		n[0] = s->asked.answer == RB_HITS ? ((uint64) side->nrows + 31) / 32 : side->nrows;
	else
		return RB_OK;
	arrays[0] = (rb_bytes){(char *) words, n[0] * sizeof *words};
	arrays[1] = (rb_bytes){(char *) groups.start, n[1] * sizeof *groups.start};
	arrays[2] = (rb_bytes){(char *) groups.member, n[2] * sizeof *groups.member};
	request = use(s);
	if (request != NULL)
	{
		request->words = n[0];
		request->starts = n[1];
		request->members = n[2];
		rb_release(&request->answered, 1);
	}
	done_with(s);
	return move_arrays(s, arrays, 3, true);
}

static rb_status
put_ids(rb_served *s, const rb_block *block)
{
	double since = 0;
	int idle = 0;

	for (;;)
	{
		rb_request *request = use(s);
		bool put = request != NULL && rb_ids_put(request, s->blocks, block);

		done_with(s);
		if (put)
		{
			s->blocks++;
			return RB_OK;
		}
		if (stopped(s))
			return RB_STOPPED;
		wait_for_session(s, &idle, &since);
	}
}

/* RB_END where it came to its end */
static rb_status
join_once(rb_served *s)
{
	rb_job job = {.red = s->set[0],
				  .blue = s->set[1],
				  .answer = s->asked.answer,
				  .of = s->asked.of,
				  .predicate = s->asked.predicate,
				  .whole = s->asked.whole,
				  .number = s->number,
				  .numbers = s->asked.numbers};
	rb_stream *stream = NULL;
	rb_block block;
	rb_status status = rb_stream_open(&s->ctx, s->backend, &job, &stream);

	while (status == RB_OK)
	{
		if (stopped(s))
			status = RB_STOPPED;
		else
			status = rb_stream_next(stream, WAIT_MS, &block);
		tell_progress(s);
		if (status == RB_OK && block.n > 0)
			status = put_ids(s, &block);
	}
	if (status == RB_END)
	{
		status = put_answer(s, stream);
		status = status == RB_OK ? RB_END : status;
	}
	rb_stream_close(stream);
	return status;
}

/*
 * The device was full: until a join has ended that ran beside this one, which began when so
 * many had ended.  False where there is none, or all that run wait for their sessions.
 */
static bool
wait_for_room(rb_served *s, uint64 ended)
{
	const double until = rb_now_ms() + ROOM_MS;
	int idle = 0;

	gate_leave(s);
	for (;;)
	{
		bool room, none, busy;

		pthread_mutex_lock(&gate.lock);
		room = gate.ended > ended + 1; /* one of them is this one */
		none = gate.on_device == 0;
		busy = gate.joins > 0;
		pthread_mutex_unlock(&gate.lock);
		if (room)
			return wait_at_gate(s) == RB_OK;
		if (none || (!busy && rb_now_ms() > until) || stopped(s))
			return false;
		rb_nap(&idle);
	}
}

static rb_status
join(rb_served *s)
{
	const rb_stats before = s->ctx.stats;

	for (;;)
	{
		uint64 ended = device_enter();
		rb_status status = join_once(s);

		device_leave();
		if (status != RB_DEVICE_FULL || s->blocks > 0 || !wait_for_room(s, ended))
			return status;
		rb_forget_failure(&s->ctx);
		s->ctx.stats = before;
	}
}

static rb_status
run(rb_served *s)
{
	rb_status status = wait_for_device(s);

	if (status == RB_OK)
		status = wait_at_gate(s);
	if (status == RB_OK)
		status = take_sides(s);
	if (status == RB_OK)
		status = join(s);
	return status;
}

static void *
serve(void *arg)
{
	rb_served *s = arg;
	rb_status status = run(s);

	s->device_failed = status == RB_DEVICE_FAILED;
	/* before anybody hears of it: whoever asks again needs another process */
	if (s->device_failed)
		rb_service_leave(RB_WORKER_LEAVING);
	/* it is the worker that wants to end: the session has not asked for that */
	if (status == RB_STOPPED && rb_acquire(&s->stop) != 0)
		status = RB_GONE;
	gate_leave(s);
	rb_set_release(&s->set[0]);
	rb_set_release(&s->set[1]);
	rb_memory_destroy(s->memory);
	tell_end(s, status);
	rb_release(&s->ended, 1);
	return NULL;
}

/* ---- what the process's main thread calls ---- */

static void
refuse(rb_request *request, rb_status status, uint64 need)
{
	request->status = status;
	request->error = (rb_error){status, need, 0, ""};
	rb_release(&request->ended, 1);
}

/*
 * What was asked is read once: what it says is believed, but it must not change while it
 * is used.
 */
rb_served *
rb_serve(rb_request *request)
{
	rb_served *s = calloc(1, sizeof *s);

	rb_release(&request->taken, 1);
	if (s == NULL || (s->memory = rb_memory_create(request->asked.memory_limit)) == NULL)
	{
		free(s);
		refuse(request, RB_OUT_OF_MEMORY, sizeof *s);
		return NULL;
	}
	pthread_mutex_init(&s->lock, NULL);
	s->request = request;
	s->asked = request->asked;
	for (int i = 0; i < s->asked.sides; i++)
		s->parts += s->asked.side[i].nparts;
	rb_context_init(&s->ctx, s->memory);
	s->ctx.stage = RB_STAGE_UPLOAD;
	s->ctx.threads = s->asked.threads;
	s->ctx.grid_resolution = s->asked.grid_resolution;
	s->ctx.filters = s->asked.filters;
	s->ctx.gpu_memory_limit = s->asked.gpu_memory_limit;
	if (rb_thread_start(&s->thread, STACK, serve, s) != 0)
	{
		rb_memory_destroy(s->memory);
		free(s);
		refuse(request, RB_NO_THREAD, 0);
		return NULL;
	}
	return s;
}

bool
rb_served_ended(const rb_served *s, bool *device_failed)
{
	if (rb_acquire(&s->ended) == 0)
		return false;
	*device_failed = s->device_failed;
	return true;
}

void
rb_served_stop(rb_served *s)
{
	rb_release(&s->stop, 1);
}

void
rb_served_abandon(rb_served *s)
{
	pthread_mutex_lock(&s->lock);
	s->request = NULL;
	pthread_mutex_unlock(&s->lock);
}

void
rb_served_free(rb_served *s)
{
	pthread_join(s->thread, NULL);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
