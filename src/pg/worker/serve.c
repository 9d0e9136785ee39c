/*
 * serve.c
 *	  Serves one request in the worker: receives rows, runs the join and returns blocks of ids; or
 *	  receives a mesh and returns it refined.
 *
 *	cached sides are held, or gone -> wait for the device -> wait at the gate -> sides -> join -> end
 *										 (not if the CPU runs the join)
 *
 * A side may be cached here (side_store.c), or consist of cuts of a cached side with new rows in
 * between. A side that is sent may be cached afterwards. Requests that only concern the cache end
 * without a join and do not wait for others.
 *
 * A thread of the request does all of this. It calls no function of PostgreSQL and blocks all
 * signals. So a session that is slow, stopped or gone does not delay other sessions.
 *
 * The gate limits concurrent joins. A device has memory for one large join, and two large joins at
 * once are no faster than one after the other; small joins use the device fully only if they run
 * concurrently. So joins run together as long as their total size is small, and a larger join waits
 * until it is alone. Meanwhile its rows stay in the session, so that they do not occupy memory
 * twice. A join that waits for its own session opens the gate for the next one. A join that
 * nevertheless finds the device full is repeated when another one has ended. If the session leaves
 * the choice to the worker, the CPU runs the join if no device can.
 *
 * The contents of a request are checked as far as wrong values could make this process access
 * invalid memory.
 *
 * The segment is accessed only under a lock of this process, because it may be taken away while the
 * thread runs, if the worker must end and a driver call does not return.
 */
#include "pg/worker/protocol.h"

#include "core/base/parallel.h"
#include "core/set/set.h"

#include <stdlib.h>

#define STACK ((size_t) 1 << 20)
#define WAIT_MS 20
/* Maximum total of parts of joins that run together */
#define TOGETHER_PARTS (UINT64CONST(1) << 20)
/* Time that a join waits for its session before it opens the gate, in ms */
#define PATIENCE_MS 50
/* Time to wait on a full device for joins that wait for their sessions, in ms */
#define ROOM_MS 5000

struct rb_served
{
	rb_request *request; /* NULL once the segment was taken away */
	/* Held for reading while the segment is used, for writing to take it away */
	pthread_rwlock_t lock;
	pthread_t thread;
	int stop;          /* Set if the worker wants the request to end */
	int ended;         /* Set when the thread has finished */
	bool at_gate;      /* The request is counted at the gate */
	rb_served *behind; /* Next request in the queue */
	uint64 parts;

	/* Fields used only by the request's thread */
	rb_request_args asked; /* Copy of the arguments, which were read once */
	const rb_backend *backend;
	rb_memory *memory;
	rb_context ctx;
	const rb_set *kept[2]; /* Cached sides, until they become sides or parts of sides */
	const rb_set *set[2];
	uint32_t *number;
	uint64 not_kept[2];
	uint64 blocks;       /* Number of blocks written */
	bool aggregate_sent; /* The aggregate, or a part of it, was written */
	char note[200];      /* Reason why the device was not used, or an empty string */
};

static int device_failed; /* Set if the device failed a request */

/* ---- the gate ---- */

static struct
{
	pthread_mutex_t lock;
	int joins; /* Number of admitted joins, followed by the total of their parts */
	uint64 parts;
	rb_served *first; /* Queue of waiting requests, in order of arrival */
	int on_device;    /* Joins that run on the device, even if they have already left the gate */
	uint64 ended;     /* Number of joins that have ended on the device */
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Appends a request to the queue at the gate. */
static void
queue_at_gate(rb_served *s)
{
	rb_served **last = &gate.first;

	pthread_mutex_lock(&gate.lock);
	while (*last != NULL)
		last = &(*last)->behind;
	s->behind = NULL;
	*last = s;
	pthread_mutex_unlock(&gate.lock);
}

/* Removes a request from the queue. The caller holds the lock. */
static void
leave_queue_at_gate(rb_served *s)
{
	rb_served **at = &gate.first;

	while (*at != NULL && *at != s)
		at = &(*at)->behind;
	if (*at != NULL)
		*at = s->behind;
}

/* Removes a stopped request from the queue at the gate, before it was admitted. */
static void
give_up_gate(rb_served *s)
{
	pthread_mutex_lock(&gate.lock);
	leave_queue_at_gate(s);
	pthread_mutex_unlock(&gate.lock);
}

/* Lets a request through the gate if it is first and there is room. Returns true if so. */
static bool
enter_gate(rb_served *s)
{
	bool open;

	pthread_mutex_lock(&gate.lock);
	open = gate.first == s && (gate.joins == 0 || gate.parts + s->parts <= TOGETHER_PARTS);
	if (open)
	{
		leave_queue_at_gate(s);
		gate.joins++;
		gate.parts += s->parts;
		s->at_gate = true;
	}
	pthread_mutex_unlock(&gate.lock);
	return open;
}

/*
 * Leaves the gate. Idempotent; does nothing if the request was not admitted. Callable from any
 * thread of the request.
 */
static void
leave_gate(rb_served *s)
{
	pthread_mutex_lock(&gate.lock);
	if (s->at_gate)
	{
		gate.joins--;
		gate.parts -= s->parts;
	}
	s->at_gate = false;
	pthread_mutex_unlock(&gate.lock);
}

/* Counts one more join on the device. Returns the number of joins that have ended on it. */
static uint64
enter_device(void)
{
	uint64 ended;

	pthread_mutex_lock(&gate.lock);
	gate.on_device++;
	ended = gate.ended;
	pthread_mutex_unlock(&gate.lock);
	return ended;
}

/*
 * Records that a join on the device has ended, for requests that wait until a join frees device
 * memory.
 */
static void
leave_device(void)
{
	pthread_mutex_lock(&gate.lock);
	gate.on_device--;
	gate.ended++;
	pthread_mutex_unlock(&gate.lock);
}

/* ---- the segment ---- */

/* Locks the segment until unlock_served and returns the request, or NULL if it was taken away. */
static rb_request *
lock_served(rb_served *s)
{
	pthread_rwlock_rdlock(&s->lock);
	return s->request;
}

/* Unlocks the segment that lock_served has locked, even if the request was taken away. */
static void
unlock_served(rb_served *s)
{
	pthread_rwlock_unlock(&s->lock);
}

/* Returns true if the session no longer needs the request or if the worker is ending. */
static bool
is_served_request_stopped(rb_served *s)
{
	rb_request *request = lock_served(s);
	bool stop = request == NULL || rb_acquire(&request->stop) != 0;

	unlock_served(s);
	return stop || rb_acquire(&s->stop) != 0;
}

/* Copies stage and progress to the request. */
static void
publish_progress_of_request(rb_served *s)
{
	rb_request *request = lock_served(s);

	if (request != NULL)
	{
		rb_store(&request->stage, rb_load(&s->ctx.stage));
		rb_store(&request->done, rb_load(&s->ctx.done));
		rb_store(&request->total, rb_load(&s->ctx.total));
	}
	unlock_served(s);
}

/* Reports that all cached sides of the request were found and are held. */
static void
report_cached_sides_found(rb_served *s)
{
	rb_request *request = lock_served(s);

	if (request != NULL)
		rb_release(&request->found, 1);
	unlock_served(s);
}

/* Copies the note to the request. */
static void
report_note_of_request(rb_served *s)
{
	rb_request *request = lock_served(s);

	if (request != NULL)
		memcpy(request->note, s->note, sizeof request->note);
	unlock_served(s);
}

/* Copies status, error and statistics to the request. */
static void
report_end_of_request(rb_served *s, rb_status status)
{
	rb_request *request = lock_served(s);

	if (request != NULL)
	{
		request->status = status;
		request->blocks = s->blocks;
		request->error = s->ctx.error;
		request->error.status = status;
		request->stats = s->ctx.stats;
		memcpy(request->not_kept, s->not_kept, sizeof s->not_kept);
		memcpy(request->note, s->note, sizeof request->note);
		rb_release(&request->ended, 1);
	}
	unlock_served(s);
}

/*
 * Backs off while waiting for the session; leaves the gate after a while, so that others need not
 * wait.
 */
static void
wait_for_reading_session(rb_served *s, int *idle, double *since)
{
	if (*idle == 0)
		*since = rb_now_ms();
	else if (rb_now_ms() - *since > PATIENCE_MS)
		leave_gate(s);
	rb_wait_backoff(idle, RB_LONGEST_US);
}

/* ---- steps of a request ---- */

/* Records the failure of a request, which report_end_of_request sends to the session. */
static rb_status
fail_served_request(rb_served *s, rb_status status, const char *text)
{
	return rb_fail(&s->ctx, status, 0, 0, text);
}

/* Fails a request whose arguments no session would send. */
static rb_status
refuse_unsound_request(rb_served *s)
{
	return fail_served_request(s, RB_UNSUPPORTED, "the request is inconsistent");
}

/* Waits, before a request is served, until the device is open or has failed to open. */
static rb_status
wait_for_device_of_request(rb_served *s)
{
	char text[sizeof s->ctx.error.text];
	rb_device_state state;
	int idle = 0;

	while ((state = rb_device_begun(&s->backend, text, sizeof text)) == RB_DEVICE_OPENING ||
		   state == RB_DEVICE_UNKNOWN)
	{
		if (is_served_request_stopped(s))
			return RB_STOPPED;
		rb_wait_backoff(&idle, RB_LONGEST_US);
	}
	return state == RB_DEVICE_FOUND ? RB_OK : fail_served_request(s, RB_NO_DEVICE, text);
}

/* Waits at the gate until the request may join. */
static rb_status
wait_at_gate(rb_served *s)
{
	int idle = 0;

	queue_at_gate(s);
	while (!enter_gate(s))
	{
		if (is_served_request_stopped(s))
		{
			give_up_gate(s);
			return RB_STOPPED;
		}
		rb_wait_backoff(&idle, RB_LONGEST_US);
	}
	return RB_OK;
}

/* Takes references to the cached sides before waiting for anything. */
static rb_status
hold_cached_sides_of_request(rb_served *s)
{
	/* A join counts as a use of the side; other requests do not. */
	const bool hit = s->asked.ask == RB_ASK_JOIN;

	for (int i = 0; i < s->asked.sides && s->asked.ask < RB_ASK_DROP; i++)
	{
		const rb_sent_side *side = &s->asked.side[i];

		if (side->from == RB_FROM_ROWS)
			continue;
		s->kept[i] = rb_store_use(side->number, hit);
		if (s->kept[i] == NULL)
			return fail_served_request(s, RB_GONE, "the cached table was evicted");
	}
	report_cached_sides_found(s);
	return RB_OK;
}

/* ---- sides ---- */

/* Allocates, in the worker, the arrays for the rows of a side that a request sends. */
static rb_status
allocate_side_of_request(rb_served *s, const rb_sent_side *side, const rb_set **set)
{
	const rb_sent_rows *rows = &side->rows;
	rb_set made = {.kind = side->kind,
				   .nparts = rows->nparts,
				   .nrows = rows->nrows,
				   .first_id = rows->first_id,
				   .skipped = side->from == RB_FROM_ROWS ? side->skipped : 0,
				   .srid = side->srid};
	rb_error error;
	rb_status status;

	/* After a failure, the memory account frees what was allocated. */
	if (rows->nparts > RB_MAX_OBJECTS)
		return rb_fail(&s->ctx, RB_TOO_MANY_OBJECTS, rows->nparts, RB_MAX_OBJECTS, NULL);
	/* A slice of rows with several parts may contain rows without any part. */
	if (rows->has_row_of ? rows->nrows > RB_MAX_OBJECTS : rows->nrows != rows->nparts)
		return refuse_unsound_request(s);
	RB_TRY(rb_array(&s->ctx, (void **) &made.coords, Max(rows->nparts, 1),
					(size_t) rb_kind_width(side->kind) * sizeof(double)));
	if (rows->has_row_of)
		RB_TRY(rb_array(&s->ctx, (void **) &made.row_of, Max(rows->nparts, 1), sizeof(uint32)));
	if (rows->has_ids)
		RB_TRY(rb_array(&s->ctx, (void **) &made.ids, Max(rows->nrows, 1), sizeof(int64)));
	status = rb_set_own(s->memory, &made, set, &error);
	return status == RB_OK ? RB_OK : rb_fail(&s->ctx, status, error.need, error.limit, NULL);
}

/*
 * Returns true if the row indices of the parts that a request has sent are ascending and within
 * range.
 */
static bool
are_rows_of_request_sound(const rb_set *set)
{
	uint32_t wrong = 0;

	if (set->row_of == NULL || set->nparts == 0)
		return true;
	for (uint32_t i = 1; i < set->nparts; i++)
		wrong |= set->row_of[i] < set->row_of[i - 1];
	return wrong == 0 && set->row_of[set->nparts - 1] < set->nrows;
}

/*
 * Returns true if the rows and parts of a cut that a request has sent exist and the parts belong
 * to the rows.
 */
static bool
is_cut_of_request_sound(const rb_cut *cut, const rb_set *from)
{
	const uint64 row = cut->from_row;
	const uint64 part = cut->from_part;
	const uint64 rows = (uint64) cut[1].row - cut->row;
	const uint64 parts = (uint64) cut[1].part - cut->part;

	if (cut[1].row < cut->row || cut[1].part < cut->part || row + rows > from->nrows ||
		part + parts > from->nparts)
		return false;
	if (from->row_of == NULL)
		return row == part && rows == parts;
	return parts == 0 || (from->row_of[part] >= row && from->row_of[part + parts - 1] < row + rows);
}

/* Returns true if the cuts of the delta set that a request has sent are valid. */
static bool
is_delta_set_of_request_sound(const rb_view *view)
{
	const rb_cut *cuts = view->cuts;

	if (view->kept->kind != view->fresh->kind || cuts[0].row != 0 || cuts[0].part != 0 ||
		cuts[view->ncuts].part > RB_MAX_OBJECTS)
		return false;
	for (uint32 i = 0; i < view->ncuts; i++)
		if (!is_cut_of_request_sound(&cuts[i], cuts[i].fresh ? view->fresh : view->kept))
			return false;
	return true;
}

/* Builds the side from the received rows and the cached side. */
static rb_status
build_served_side(rb_served *s, int i, const rb_set **rows, const rb_cut *cuts)
{
	const rb_sent_side *side = &s->asked.side[i];
	const rb_set **kept = &s->kept[i];
	rb_status status = RB_OK;

	if (side->from == RB_FROM_DELTA)
	{
		const rb_view view = {*kept, *rows, cuts, side->ncuts, false};
		rb_error error;

		if (!is_delta_set_of_request_sound(&view))
			return refuse_unsound_request(s);
		status = rb_view_make(s->memory, &view, side->skipped, &s->set[i], &error);
		if (status != RB_OK)
			return rb_fail(&s->ctx, status, error.need, error.limit, NULL);
		rb_set_release(rows); /* The delta set holds references to both. */
		rb_set_release(kept);
	}
	else
	{
		const rb_set **whole = side->from == RB_FROM_CACHED ? kept : rows;
		rb_error error;

		/* A cached side counts against the memory limit as if it had been sent. */
		if (whole == kept && s->asked.ask == RB_ASK_JOIN)
			status = rb_memory_charge(s->memory, rb_set_bytes(*kept), &error);
		if (status != RB_OK)
			return rb_fail(&s->ctx, status, error.need, error.limit, NULL);
		s->set[i] = *whole;
		*whole = NULL;
	}
	if (s->set[i]->kind != side->kind || s->set[i]->nparts != side->nparts ||
		s->set[i]->nrows != side->nrows)
		status = refuse_unsound_request(s);
	return status;
}

/* Returns true if side i of a request is cached under the same key as its first side. */
static bool
is_side_of_request_repeated(const rb_served *s, int i)
{
	const rb_to_keep *keep = &s->asked.side[i].keep;
	const rb_to_keep *first = &s->asked.side[0].keep;

	return i > 0 && s->set[0]->number != 0 && first->card_bytes > 0 &&
		   memcmp(keep->key, first->key, sizeof keep->key) == 0;
}

/*
 * Caches a side of the served request beyond its end: materializes it and gives it a number, by
 * which the device caches its copy, too. If it does not fit into the cache, a join continues without
 * caching it.
 */
static rb_status
cache_side_of_request(rb_served *s, int i, const void *card)
{
	const rb_to_keep *keep = &s->asked.side[i].keep;
	const rb_set *set = s->set[i];
	rb_error error;
	rb_status status;

	if (keep->renewed)
	{
		(void) rb_store_set_manifest(s->asked.side[i].number, keep, card);
		return RB_OK;
	}
	if (is_side_of_request_repeated(s, i) || set->number != 0)
		return RB_OK;
	status = rb_set_materialize(&s->ctx, set);
	if (status == RB_OK)
		status = rb_set_materialize_ids(&s->ctx, set);
	if (status == RB_OK)
	{
		status = rb_store_put(keep, card, set, &error);
		if (status != RB_OK)
			(void) rb_fail(&s->ctx, status, error.need, error.limit, NULL);
	}
	/*
	 * Charge the memory of the set again, which the join still holds, because its account has just
	 * released it.
	 */
	if (status == RB_OK)
		(void) rb_memory_charge(s->memory, rb_set_bytes(set), NULL);
	else if (s->asked.ask == RB_ASK_JOIN)
	{
		s->not_kept[i] = rb_set_bytes(set) + keep->card_bytes;
		rb_forget_failure(&s->ctx);
		status = RB_OK;
	}
	return status;
}

typedef struct rb_moving
{
	rb_served *s;
	const rb_bytes *arrays;
	int n;
	uint32 stopped;
} rb_moving;

/* Receives the bytes of one lane; runs on a thread of the team. */
static void
receive_lane_of_session_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_moving *m = arg;
	rb_bytes part[RB_SENT_ARRAYS];
	double since = 0;
	int idle = 0;

	(void) me, (void) to;
	rb_lane_part(&m->s->asked, (uint32) from, m->arrays, m->n, part);
	while (rb_bytes_left(part, m->n) > 0)
	{
		size_t moved = 0;
		rb_request *request;

		if (is_served_request_stopped(m->s))
		{
			rb_release(&m->stopped, 1);
			return;
		}
		request = lock_served(m->s);
		if (request != NULL)
		{
			const rb_lane lane = rb_lane_there(request, (uint32) from);

			moved = rb_bytes_read(&lane, part, m->n);
		}
		unlock_served(m->s);
		if (moved > 0)
			idle = 0;
		else
			wait_for_reading_session(m->s, &idle, &since);
	}
}

/* Receives all bytes of the arrays from the session. */
static rb_status
receive_arrays_of_session(rb_served *s, const rb_bytes *arrays, int n)
{
	const uint32 lanes = rb_lanes_of(&s->asked, arrays, n);
	rb_moving moving = {s, arrays, n, 0};
	rb_thread *me;
	rb_status status;

	if (rb_bytes_left(arrays, n) == 0)
		return RB_OK;
	RB_TRY(rb_team_open(&s->ctx, (int) lanes, &me));
	status = rb_loop(me, lanes, 1, receive_lane_of_session_piece, &moving);
	rb_team_close(&me);
	return moving.stopped != 0 ? RB_STOPPED : status;
}

/*
 * Sends a header and arrays as the worker's reply to a request, until all bytes are in its lanes.
 */
static rb_status
send_reply_of_request(rb_served *s, void *header, size_t size, const rb_bytes *arrays, int n)
{
	rb_bytes all[1 + RB_SENT_ARRAYS] = {{header, size}};
	double since = 0;
	int idle = 0;

	memcpy(all + 1, arrays, (size_t) n * sizeof *arrays);
	while (rb_bytes_left(all, n + 1) > 0)
	{
		size_t moved = 0;
		rb_request *request;

		if (is_served_request_stopped(s))
			return RB_STOPPED;
		request = lock_served(s);
		if (request != NULL)
		{
			const rb_lane lane = rb_lane_back(request);

			moved = rb_bytes_write(&lane, all, n + 1);
		}
		unlock_served(s);
		if (moved > 0)
			idle = 0;
		else
			wait_for_reading_session(s, &idle, &since);
	}
	return RB_OK;
}

/* Receives a side from the session, or takes it from the cache. */
static rb_status
receive_side_of_session(rb_served *s, int i)
{
	const rb_sent_side *side = &s->asked.side[i];
	const rb_set *rows = NULL;
	rb_cut *cuts = NULL;
	void *card = NULL;
	rb_bytes arrays[RB_SIDE_ARRAYS];
	rb_status status = RB_OK;

	if (side->from == RB_FROM_DELTA)
		status = rb_array(&s->ctx, (void **) &cuts, (size_t) side->ncuts + 1, sizeof *cuts);
	if (status == RB_OK && side->from != RB_FROM_CACHED)
		status = allocate_side_of_request(s, side, &rows);
	if (status == RB_OK && side->keep.card_bytes > 0)
		status = rb_array(&s->ctx, &card, side->keep.card_bytes, 1);
	if (status == RB_OK)
		status =
			receive_arrays_of_session(s, arrays, rb_side_arrays(side, cuts, rows, card, arrays));
	if (status == RB_OK && rows != NULL && !are_rows_of_request_sound(rows))
		status = refuse_unsound_request(s);
	if (status == RB_OK)
		status = build_served_side(s, i, &rows, cuts);
	if (status == RB_OK && card != NULL)
		status = cache_side_of_request(s, i, card);
	rb_set_release(&rows);
	rb_free(s->memory, (void **) &cuts);
	rb_free(s->memory, &card);
	return status;
}

/* Receives the group numbers of the rows from a request, and checks them. */
static rb_status
receive_group_numbers_of_request(rb_served *s)
{
	rb_bytes array;
	size_t n;

	if (rb_number_array(&s->asked, NULL, &array) == 0)
		return RB_OK;
	n = array.left / sizeof *s->number;
	RB_TRY(rb_array(&s->ctx, (void **) &s->number, array.left, 1));
	array.at = (char *) s->number;
	RB_TRY(receive_arrays_of_session(s, &array, 1));
	for (size_t i = 0; i < n; i++)
		if (s->number[i] >= s->asked.job.numbers)
			return refuse_unsound_request(s);
	return RB_OK;
}

/* Receives the sets of all sides of the request, then the group numbers of their rows. */
static rb_status
receive_sides_of_session(rb_served *s)
{
	for (int i = 0; i < s->asked.sides; i++)
		RB_TRY(receive_side_of_session(s, i));
	return receive_group_numbers_of_request(s);
}

/* ---- the join ---- */

/*
 * Computes the number of members of each group for the reply to a request. The session gets only
 * these numbers if it has no memory for the members themselves.
 */
static rb_status
compute_group_sizes_for_session(rb_served *s, const rb_groups *groups, const uint32_t **words)
{
	uint32_t *counts = NULL;

	RB_TRY(rb_array(&s->ctx, (void **) &counts, Max(groups->n, 1), sizeof *counts));
	for (uint32 i = 0; i < groups->n; i++)
		counts[i] = (uint32_t) (groups->start[i + 1] - groups->start[i]);
	*words = counts;
	return RB_OK;
}

/* Sends the aggregate of the join, if there is one. */
static rb_status
write_aggregate_to_session(rb_served *s, const rb_stream *stream)
{
	const rb_sent_side *side =
		&s->asked.side[s->asked.job.of == RB_OF_BLUE ? s->asked.sides - 1 : 0];
	const uint32_t *words = rb_stream_words(stream);
	rb_sent_reply n = {0, 0, 0, 0};
	rb_bytes arrays[3];
	rb_groups groups = {NULL, NULL, 0};

	if (rb_stream_groups(stream, &groups))
	{
		n.starts = (uint64) groups.n + 1;
		n.members = groups.start[groups.n];
		if (n.starts * sizeof *groups.start + n.members * sizeof *groups.member >
			s->asked.aggregate_limit)
		{
			RB_TRY(compute_group_sizes_for_session(s, &groups, &words));
			n = (rb_sent_reply){.words = groups.n};
		}
	}
	else if (words != NULL)
		n.words = s->asked.job.answer == RB_HITS ? ((uint64) side->nrows + 31) / 32 : side->nrows;
	else
		return RB_OK;
	arrays[0] = (rb_bytes){(char *) words, n.words * sizeof *words};
	arrays[1] = (rb_bytes){(char *) groups.start, n.starts * sizeof *groups.start};
	arrays[2] = (rb_bytes){(char *) groups.member, n.members * sizeof *groups.member};
	s->aggregate_sent = true;
	return send_reply_of_request(s, &n, sizeof n, arrays, 3);
}

/* Writes the ids of a block to the session, as fast as it reads them. */
static rb_status
write_ids_to_session(rb_served *s, const rb_block *block)
{
	double since = 0;
	int idle = 0;

	for (;;)
	{
		rb_request *request = lock_served(s);
		bool put;

		/*
		 * The numbers of invalid solids are final before the first pair; the join still changes all
		 * other statistics.
		 */
		if (request != NULL && s->blocks == 0)
		{
			request->stats.bad_solids = s->ctx.stats.bad_solids;
			memcpy(request->stats.bad_because, s->ctx.stats.bad_because,
				   sizeof request->stats.bad_because);
		}
		put = request != NULL && rb_ids_write(request, s->blocks, block);
		unlock_served(s);
		if (put)
		{
			s->blocks++;
			return RB_OK;
		}
		if (is_served_request_stopped(s))
			return RB_STOPPED;
		wait_for_reading_session(s, &idle, &since);
	}
}

/* Runs the join once; returns RB_END if it was completed. */
static rb_status
run_served_join_once(rb_served *s, void *arg)
{
	rb_job job = s->asked.job;
	rb_stream *stream = NULL;
	rb_block block;
	rb_status status;

	job.red = s->set[0];
	job.blue = s->set[1];
	job.number = s->number;
	status = rb_stream_open(&s->ctx, s->backend, &job, &stream);

	while (status == RB_OK)
	{
		if (is_served_request_stopped(s))
			status = RB_STOPPED;
		else
			status = rb_stream_next(stream, WAIT_MS, &block);
		publish_progress_of_request(s);
		if (status == RB_OK && block.n > 0)
			status = write_ids_to_session(s, &block);
	}
	if (status == RB_END)
	{
		status = write_aggregate_to_session(s, stream);
		status = status == RB_OK ? RB_END : status;
	}
	rb_stream_close(stream);
	return status;
}

/*
 * Waits with a request at a full device until another join that ran at the same time has ended.
 * `ended` is the number of joins that had ended when this one began. Returns false if no other
 * join runs, or if all others wait for their sessions.
 */
static bool
wait_at_full_device(rb_served *s, uint64 ended)
{
	const double until = rb_now_ms() + ROOM_MS;
	int idle = 0;

	leave_gate(s);
	for (;;)
	{
		bool room, none, busy;

		pthread_mutex_lock(&gate.lock);
		room = gate.ended > ended + 1; /* One of these is this join itself. */
		none = gate.on_device == 0;
		busy = gate.joins > 0;
		pthread_mutex_unlock(&gate.lock);
		if (room)
			return wait_at_gate(s) == RB_OK;
		if (none || (!busy && rb_now_ms() > until) || is_served_request_stopped(s))
			return false;
		rb_wait_backoff(&idle, RB_LONGEST_US);
	}
}

/*
 * Returns true if no request to this worker can use the device any more. The status alone does not
 * show this if the join was stopped or had failed for another reason first.
 */
static bool
has_device_failed_for_worker(const rb_served *s, rb_status status)
{
	char text[sizeof s->ctx.error.text];

	return status == RB_DEVICE_FAILED || s->ctx.error.status == RB_DEVICE_FAILED ||
		   (status == RB_NO_DEVICE && s->backend->probe(-1, text, sizeof text) != RB_OK);
}

/*
 * Marks the device as failed. Must be called before a session learns of the failure, because a
 * session that tries again needs another process.
 */
static void
mark_device_failed(void)
{
	rb_release(&device_failed, 1);
	rb_service_leave(RB_WORKER_LEAVING);
}

/*
 * Returns true if the worker may run the join of a request on the CPU, because no device can and
 * nothing has been sent yet.
 */
static bool
may_request_use_processor(const rb_served *s, rb_status status)
{
	return s->asked.device == RB_ON_DEVICE_OR_PROCESSOR && s->blocks == 0 && !s->aggregate_sent &&
		   rb_is_device_failure(status);
}

/* Notes why the device cannot be used, and selects the CPU of the worker for the request. */
static void
serve_request_on_processor(rb_served *s)
{
	const rb_error *error = &s->ctx.error;
	const char *why = error->text[0] != '\0' ? error->text : rb_status_text(error->status);

	strncpy(s->note, why, sizeof s->note - 1);
	rb_forget_failure(&s->ctx);
	s->backend = &rb_backend_cpu;
	leave_gate(s);
	report_note_of_request(s);
}

/*
 * Runs the join or refinement of a request on the device. If the device was full, waits until
 * another join has ended and runs it again.
 */
static rb_status
run_work_on_device(rb_served *s, rb_status (*once)(rb_served *s, void *arg), void *arg)
{
	const rb_stats before = s->ctx.stats;

	for (;;)
	{
		uint64 ended = enter_device();
		rb_status status = once(s, arg);

		leave_device();
		if (has_device_failed_for_worker(s, status))
			mark_device_failed();
		if (status != RB_DEVICE_FULL || s->blocks > 0 || !wait_at_full_device(s, ended))
			return status;
		rb_forget_failure(&s->ctx);
		s->ctx.stats = before;
	}
}

/* Joins on the device, and on the CPU if the device fails. */
static rb_status
run_served_join(rb_served *s)
{
	const rb_stats before = s->ctx.stats;
	rb_status status;

	if (s->backend == &rb_backend_cpu)
		return run_served_join_once(s, NULL);
	status = run_work_on_device(s, run_served_join_once, NULL);
	if (!may_request_use_processor(s, status))
		return status;
	serve_request_on_processor(s);
	s->ctx.stats = before;
	return run_served_join_once(s, NULL);
}

/* ---- kinds of requests ---- */

/* Serves a join: waits for the device, receives the sides, joins. */
static rb_status
serve_join_request(rb_served *s)
{
	s->backend = &rb_backend_cpu;
	if (s->asked.device != RB_ON_PROCESSOR)
	{
		const rb_status status = wait_for_device_of_request(s);

		if (status == RB_OK)
			RB_TRY(wait_at_gate(s));
		else if (may_request_use_processor(s, status))
			serve_request_on_processor(s);
		else
			return status;
	}
	RB_TRY(receive_sides_of_session(s));
	return run_served_join(s);
}

/* ---- rounds of a refinement ---- */

/* Stack size for a thread that calls the driver, in bytes */
#define DEVICE_STACK ((size_t) 8 << 20)

typedef struct rb_rounds
{
	rb_served *s;
	rb_refining r;
	rb_refine_options options;
	rb_refine_report report;
	rb_status status;
	uint32 done;
} rb_rounds;

/* Runs the rounds of refinement of one request in a thread, while another one waits for them. */
static void *
run_rounds_of_request_thread(void *arg)
{
	rb_rounds *rounds = arg;
	rb_served *s = rounds->s;

	rounds->status = s->backend->refine(&s->ctx, &rounds->r, sizeof rounds->r);
	rb_release(&rounds->done, 1);
	return NULL;
}

/*
 * Runs the rounds in a thread, and meanwhile checks whether the session has stopped the request. If
 * the device cannot run them, the session does, because it has the mesh.
 */
static rb_status
run_rounds_once(rb_served *s, void *arg)
{
	rb_rounds *rounds = arg;
	pthread_t thread;
	int idle = 0;

	rounds->done = 0;
	if (rb_thread_start(&thread, DEVICE_STACK, run_rounds_of_request_thread, rounds) != 0)
		return fail_served_request(s, RB_NO_THREAD, "could not create a thread for the GPU");
	while (rb_acquire(&rounds->done) == 0)
	{
		if (is_served_request_stopped(s))
			rb_context_stop(&s->ctx);
		publish_progress_of_request(s);
		rb_wait_backoff(&idle, RB_LONGEST_US);
	}
	pthread_join(thread, NULL);
	return rounds->status;
}

/* Sends a refined mesh to the session. */
static rb_status
write_mesh_to_session(rb_served *s, rb_refining *r)
{
	rb_sent_refining sent;
	rb_bytes arrays[RB_SENT_ARRAYS];

	rb_sent_refining_of(&sent, r);
	(void) s->backend->probe(s->ctx.device, sent.device, sizeof sent.device);
	return send_reply_of_request(s, &sent, sizeof sent, arrays,
								 rb_refining_arrays(&sent, r, true, arrays));
}

/*
 * Receives a mesh, refines it and returns it. The mesh is in this process only during its rounds.
 */
static rb_status
serve_one_refinement(rb_served *s, const rb_sent_refining *sent)
{
	rb_rounds rounds = {.s = s};
	rb_bytes arrays[RB_SENT_ARRAYS];
	rb_status status;

	/* Count the mesh at the gate as a join of as many parts as it has tetrahedra. */
	s->parts = sent->ncells;
	RB_TRY(wait_at_gate(s));
	status = rb_refining_alloc(&s->ctx, sent, &rounds.options, &rounds.report, &rounds.r);
	if (status == RB_OK)
		status = receive_arrays_of_session(s, arrays,
										   rb_refining_arrays(sent, &rounds.r, false, arrays));
	if (status == RB_OK && !rb_refining_is_sound(sent, &rounds.r))
		status = refuse_unsound_request(s);
	if (status == RB_OK)
		status = run_work_on_device(s, run_rounds_once, &rounds);
	leave_gate(s);
	if (status == RB_OK)
		status = write_mesh_to_session(s, &rounds.r);
	rb_refining_free(&rounds.r);
	return status;
}

/* Refines meshes until the session ends the request, which is reported as RB_STOPPED. */
static rb_status
serve_refine_request(rb_served *s)
{
	RB_TRY(wait_for_device_of_request(s));
	if (s->backend->refine == NULL)
		return fail_served_request(s, RB_NO_DEVICE, "the GPU backend cannot refine meshes");
	for (;;)
	{
		rb_sent_refining sent;
		const rb_bytes header = {(char *) &sent, sizeof sent};

		RB_TRY(receive_arrays_of_session(s, &header, 1));
		RB_TRY(serve_one_refinement(s, &sent));
	}
}

/* Serves the request to cache a side: receives it, which also puts it into the cache. */
static rb_status
serve_cache_request(rb_served *s)
{
	RB_TRY(receive_sides_of_session(s));
	return RB_END;
}

/* Sends n bytes to the session and ends the request. */
static rb_status
send_bytes_to_session(rb_served *s, void *bytes, size_t n)
{
	rb_sent_reply header = {.bytes = n};
	const rb_bytes array = {bytes, n};

	RB_TRY(send_reply_of_request(s, &header, sizeof header, &array, 1));
	return RB_END;
}

/* Sends the manifest of a cached side. */
static rb_status
serve_manifest_request(rb_served *s)
{
	const size_t n = s->asked.card_bytes;
	void *card = rb_store_manifest(s->asked.side[0].number, s->asked.card_from, n);
	rb_status status;

	if (card == NULL)
		return fail_served_request(s, RB_GONE, "the cached table was evicted");
	status = send_bytes_to_session(s, card, n);
	free(card);
	return status;
}

/* Sends the ids of a set. */
static rb_status
serve_ids_request(rb_served *s)
{
	const rb_set *set;
	int64_t *ids = NULL;

	RB_TRY(receive_sides_of_session(s));
	set = s->set[0];
	RB_TRY(rb_set_materialize_ids(&s->ctx, set));
	if (set->ids != NULL)
		return send_bytes_to_session(s, (void *) set->ids, (size_t) set->nrows * sizeof *ids);
	RB_TRY(rb_array(&s->ctx, (void **) &ids, Max(set->nrows, 1), sizeof *ids));
	for (uint32 i = 0; i < set->nrows; i++)
		ids[i] = (int64_t) ((uint64_t) set->first_id + i);
	return send_bytes_to_session(s, ids, (size_t) set->nrows * sizeof *ids);
}

/* Returns true if all enumeration values and counts are valid. */
static bool
are_request_arguments_sound(const rb_request_args *asked)
{
	bool sound = (asked->sides >= 1 || asked->ask == RB_ASK_REFINE) && asked->lanes >= 1 &&
				 asked->lanes <= RB_LANES && (unsigned) asked->device <= RB_ON_DEVICE &&
				 (unsigned) asked->job.answer <= RB_GROUPS &&
				 (unsigned) asked->job.of <= RB_OF_BOTH;

	for (int i = 0; i < asked->sides; i++)
		sound &= (unsigned) asked->side[i].kind < RB_KINDS &&
				 (unsigned) asked->side[i].from <= RB_FROM_DELTA;
	return sound;
}

/* Checks a request and serves it by its kind. */
static rb_status
dispatch_request(rb_served *s)
{
	if (!are_request_arguments_sound(&s->asked))
		return refuse_unsound_request(s);
	RB_TRY(hold_cached_sides_of_request(s));
	switch (s->asked.ask)
	{
		case RB_ASK_JOIN:
			return serve_join_request(s);
		case RB_ASK_KEEP:
			return serve_cache_request(s);
		case RB_ASK_CARD:
			return serve_manifest_request(s);
		case RB_ASK_IDS:
			return serve_ids_request(s);
		case RB_ASK_REFINE:
			return serve_refine_request(s);
		default:
			return refuse_unsound_request(s);
	}
}

/* Releases the sides. Device copies of sides that are no longer cached will be evicted. */
static void
release_sides_of_request(rb_served *s)
{
	for (int i = 0; i < s->asked.sides; i++)
	{
		const uint64 number = s->set[i] != NULL ? s->set[i]->number : 0;

		rb_set_release(&s->set[i]);
		rb_set_release(&s->kept[i]);
		rb_store_was_used(number);
		if (s->asked.side[i].from != RB_FROM_ROWS)
			rb_store_was_used(s->asked.side[i].number);
	}
}

/* Publishes the device at the end of a request, if it has not failed. */
static void
publish_device_of_request(void)
{
	const rb_backend *device;
	char text[200];

	if (rb_device_begun(&device, text, sizeof text) == RB_DEVICE_FOUND &&
		!rb_acquire(&device_failed))
		rb_store_note_device(device);
}

/*
 * Serves one request of a session, from its checks to the report of its end; body of the request's
 * thread.
 */
static void *
run_request_thread(void *arg)
{
	rb_served *s = arg;
	rb_status status = dispatch_request(s);
	const bool on_device = rb_asks_for_device(&s->asked);

	/* The worker is ending; the session did not stop the request. */
	if (status == RB_STOPPED && rb_acquire(&s->stop) != 0)
		status = RB_GONE;
	leave_gate(s);
	release_sides_of_request(s);
	rb_memory_destroy(s->memory);
	/*
	 * A request for the device ends after the list is updated. Other requests end first, so that a
	 * driver that hangs does not delay them.
	 */
	if (on_device)
		publish_device_of_request();
	report_end_of_request(s, status);
	if (!on_device)
		publish_device_of_request();
	rb_release(&s->ended, 1);
	return NULL;
}

/* ---- functions called by the main thread ---- */

/*
 * Ends with an error a request that the worker cannot begin to serve because it has no memory or no
 * thread for it.
 */
static void
fail_request_before_serving(rb_request *request, rb_status status, uint64 need)
{
	request->status = status;
	request->error = (rb_error){status, need, 0, ""};
	rb_release(&request->ended, 1);
}

/*
 * Evicts a side at once, without memory or a thread, because the session wants memory to be freed.
 */
static void
serve_evict_request(rb_request *request)
{
	rb_store_drop(request->asked.side[0].number);
	rb_memory_trim(0);
	request->status = RB_END;
	rb_release(&request->found, 1);
	rb_release(&request->ended, 1);
}

/*
 * Starts the thread of a request. The arguments are copied once, because they must not change while
 * they are used.
 */
rb_served *
rb_serve(rb_request *request, uint32 number)
{
	static uint64 most_idle = 0;
	rb_served *s;

	rb_release(&request->taken, number);
	if (request->asked.ask == RB_ASK_DROP)
	{
		serve_evict_request(request);
		return NULL;
	}
	s = calloc(1, sizeof *s);
	if (s == NULL || (s->memory = rb_memory_create(request->asked.memory_limit)) == NULL)
	{
		free(s);
		fail_request_before_serving(request, RB_OUT_OF_MEMORY, sizeof *s);
		return NULL;
	}
	pthread_rwlock_init(&s->lock, NULL);
	s->request = request;
	s->asked = request->asked;
	if (s->asked.sides < 0 || s->asked.sides > 2)
		s->asked.sides = 0;
	for (int i = 0; i < s->asked.sides; i++)
		s->parts += s->asked.side[i].nparts;
	rb_context_init(&s->ctx, s->memory);
	s->ctx.stage = RB_STAGE_UPLOAD;
	s->ctx.threads = Max(s->asked.threads, 1);
	s->ctx.settings = s->asked.settings;
	s->ctx.settings.gpu_cache_limit = rb_store_device_limit();
	/* Keep the device open as long as the worker runs. */
	s->ctx.settings.device_idle_ms = rb_setting_worker_idle * 1000.0;
	/* Let the idle memory of this join stay for the next one. */
	if (s->asked.memory_limit > most_idle)
		rb_memory_set_idle(most_idle = s->asked.memory_limit);
	if (rb_thread_start(&s->thread, STACK, run_request_thread, s) != 0)
	{
		rb_memory_destroy(s->memory);
		free(s);
		fail_request_before_serving(request, RB_NO_THREAD, 0);
		return NULL;
	}
	return s;
}

bool
rb_served_ended(const rb_served *s)
{
	return rb_acquire(&s->ended) != 0;
}

bool
rb_served_device_failed(void)
{
	return rb_acquire(&device_failed) != 0;
}

void
rb_served_stop(rb_served *s)
{
	rb_release(&s->stop, 1);
}

void
rb_served_abandon(rb_served *s)
{
	pthread_rwlock_wrlock(&s->lock);
	s->request = NULL;
	pthread_rwlock_unlock(&s->lock);
}

void
rb_served_free(rb_served *s)
{
	pthread_join(s->thread, NULL);
	pthread_rwlock_destroy(&s->lock);
	free(s);
}
