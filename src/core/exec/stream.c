/*
 * stream.c
 *	  Runs a join in threads of its own and returns its pairs in blocks of ids.
 *
 *	   producer thread                              ring of slots           caller's thread
 *	   backend->join -> put -> rows, unique -> ids -> [ filling ] [ full ]* -> rb_stream_next
 *	                                   |
 *	                                   +-> aggregates (aggregate.c) -> rb_stream_words, _groups
 *
 * The backend pushes pairs from any number of threads. The caller pulls them when it is ready, and
 * may leave between two calls, even by longjmp. The ring is bounded: if the caller is slow, the
 * join waits, so a result of any size needs the same memory.
 *
 * There is only one caller thread and there may be many pairs, so all work is done before the
 * caller receives them. A thread that has pairs reserves positions in a slot under the lock, and
 * looks up the ids without it. So several threads write to one slot at the same time. A slot is
 * ready when all reserved positions have been written.
 *
 * The payload of a pair takes the same path, in a column of its own. The payload of rows with
 * several parts is complete only when the join has ended, so these rows are returned last. The
 * predicates that are composed of several joins (join.h) produce pairs of rows directly.
 *
 * All signals are blocked in the producer and in every thread that it creates, because they belong
 * to the caller. The threads of a backend end with its join, so none outlives the stream.
 *
 * If no thread can be created for the join, it does not run. In the caller's thread, it could
 * neither wait for the caller nor receive a cancellation request.
 */
#include "core/base/parallel.h"
#include "core/base/sort.h"
#include "core/join/join.h"
#include "core/join/simd.h"
#include "core/solid/solid.h"
#include "core/exec/row_pairs.h"
#include "core/primitive/dispatch.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <string.h>

/*
 * Stack size in bytes. A backend may recurse deeply, for example in a driver that compiles code;
 * untouched pages use only address space.
 */
#define STACK ((size_t) 8 << 20)

#define SLOTS RB_SIZE(16, 2)
#define SLOT_PAIRS RB_SIZE(RB_BLOCK, 41)
_Static_assert(SLOT_PAIRS >= RB_VALIDITY_WORDS, "a slot has room for the words of one row");
#define FRONT 8 /* Free entries before each column: room for the caller, and a cache line */
#define UNIQUE_PAIRS RB_SIZE(1024, 5) /* Number of pairs made distinct at a time */
/* Number of expensive pairs, of up to a millisecond each, between checks for cancellation */
#define DEAR_PAIRS 32

typedef struct slot
{
	int64_t *red;
	int64_t *blue;
	uint64_t *payload; /* stream.words payload words for each pair; NULL if there is no payload */
	size_t given;      /* Number of positions reserved by threads */
	size_t written;    /* Number of reserved positions that have been written */
} slot;

struct rb_stream
{
	rb_context *ctx;
	const rb_backend *backend;
	rb_job job;
	rb_aggregate aggregate;
	rb_unique unique;
	rb_rays rays;       /* RB_RAY_PARITY: rays that replace the points */
	rb_in_tile in_tile; /* Valid if the job has a tile */
	/*
	 * RB_RAY_PARITY: bitmap of blue rows that are not valid solids; no point is reported inside
	 * these
	 */
	uint32_t *bad_solids;
	pthread_mutex_t unique_lock;
	pthread_t thread;
	bool started;
	bool tiled;

	pthread_mutex_t lock;
	pthread_cond_t can_read; /* The oldest slot became ready, or the join ended */
	pthread_cond_t can_put;  /* A slot became free, or the stream is closing */
	int64_t *ids;            /* Columns of all slots */
	size_t words;            /* Payload words per pair */
	size_t slot_pairs;
	slot slots[SLOTS];
	unsigned head; /* Slot being filled */
	unsigned tail; /* Oldest slot that the caller has not given back */
	bool out;      /* True if the caller holds slot `tail` */
	bool ended;
	bool closing;
	rb_status status; /* Status of the join, once it has ended */
	uint64_t emitted;
};

/* Returns the slot of the ring for a running number, which may exceed the number of slots. */
static inline slot *
slot_of_stream(rb_stream *s, unsigned number)
{
	return &s->slots[number % SLOTS];
}

/*
 * Opens the next slot of the ring for pairs of the join, so that the reader may take the previous
 * one. The lock is held, and a slot must be free.
 */
static void
advance_ring_head(rb_stream *s)
{
	slot *head = slot_of_stream(s, ++s->head);

	head->given = head->written = 0;
}

/*
 * Reserves positions for n pairs, or for as many as fit in one slot; waits while no slot is free.
 */
static rb_status
reserve_positions_in_ring(rb_stream *s, size_t n, slot **to, size_t *at, size_t *taken)
{
	rb_status status = RB_OK;

	*taken = 0;
	pthread_mutex_lock(&s->lock);
	while (*taken == 0 && status == RB_OK)
	{
		slot *head = slot_of_stream(s, s->head);
		size_t room = s->slot_pairs - head->given;

		if (s->closing || rb_should_stop(s->ctx))
			status = RB_STOPPED;
		else if (room > 0)
		{
			*to = head;
			*at = head->given;
			*taken = n < room ? n : room;
			head->given += *taken;
		}
		else if (s->head - s->tail == SLOTS - 1)
			pthread_cond_wait(&s->can_put, &s->lock);
		else
			advance_ring_head(s);
	}
	pthread_mutex_unlock(&s->lock);
	return status;
}

/* Returns true if the oldest slot is completely written and will receive no more pairs. */
static bool
is_oldest_slot_ready(const rb_stream *s)
{
	const slot *oldest = &s->slots[s->tail % SLOTS];

	return oldest->written == oldest->given &&
		   (s->tail != s->head || oldest->given == s->slot_pairs);
}

/* Adds n pairs to those written to a slot, and wakes the reader if a block is ready. */
static void
count_pairs_written_to_slot(rb_stream *s, slot *to, size_t n)
{
	pthread_mutex_lock(&s->lock);
	to->written += n;
	if (is_oldest_slot_ready(s))
		pthread_cond_signal(&s->can_read);
	pthread_mutex_unlock(&s->lock);
}

/* Looks up the ids of one side of n pairs of rows; `row` points to that side in the first pair. */
static void
fetch_ids_of_row_pairs(const rb_set *set, const uint32_t *row, size_t n, int64_t *to)
{
	if (set->ids == NULL)
		for (size_t i = 0; i < n; i++)
			to[i] = (int64_t) ((uint64_t) set->first_id +
							   row[2 * i]); /* Unsigned, because ids may wrap */
	else
		for (size_t i = 0; i < n; i++)
			to[i] = set->ids[row[2 * i]];
}

/*
 * Returns the number of the part within its row, counted from 0, to identify the parts of a
 * streamed pair.
 */
static uint32_t
number_of_part_in_row(const rb_set *set, uint32_t part)
{
	return part - (uint32_t) rb_numbers_lower_bound(set->row_of, part, set->row_of[part]);
}

/* Writes the row id and the part numbers of n pairs for a job within rows. */
static void
fetch_parts_within_rows(const rb_set *set, const rb_pair *parts, size_t n, int64_t *id,
						int64_t *numbers)
{
	for (size_t i = 0; i < n; i++)
	{
		const uint32_t row = set->row_of[parts[i].red];

		fetch_ids_of_row_pairs(set, &row, 1, &id[i]);
		numbers[i] = (int64_t) ((uint64_t) (number_of_part_in_row(set, parts[i].red) + 1) << 32 |
								(number_of_part_in_row(set, parts[i].blue) + 1));
	}
}

/* Exchanges the ids of each of n pairs whose first id is the larger one. */
static void
put_smaller_ids_first(int64_t *first, int64_t *second, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (first[i] > second[i])
		{
			const int64_t id = first[i];

			first[i] = second[i];
			second[i] = id;
		}
}

/* Writes pairs of rows to the ring, as ids. */
static rb_status
push_row_pairs_to_ring(rb_stream *s, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	rb_status status = RB_OK;

	while (n > 0 && status == RB_OK)
	{
		slot *to = NULL;
		size_t at = 0;
		size_t taken = 0;

		status = reserve_positions_in_ring(s, n, &to, &at, &taken);
		if (status != RB_OK)
			break;
		if (s->job.within_rows)
			fetch_parts_within_rows(s->job.red, rows, taken, to->red + at, to->blue + at);
		else
		{
			fetch_ids_of_row_pairs(s->job.red, &rows->red, taken, to->red + at);
			fetch_ids_of_row_pairs(rb_job_blue(&s->job), &rows->blue, taken, to->blue + at);
			if (s->job.predicate == RB_OVERLAP && s->job.blue == NULL)
				put_smaller_ids_first(to->red + at, to->blue + at, taken);
		}
		if (to->payload != NULL)
		{
			memcpy(to->payload + at * s->words, payload, taken * s->words * sizeof *payload);
			payload += taken * s->words;
		}
		count_pairs_written_to_slot(s, to, taken);
		rows += taken;
		n -= taken;
	}
	return status;
}

/*
 * Counts pairs of rows and passes them to the ring or to the aggregate; all pairs of rows pass
 * through this function.
 */
static rb_status
emit_row_pairs(rb_stream *s, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	rb_status status = RB_OK;

	if (s->job.answer == RB_PAIRS)
		status = push_row_pairs_to_ring(s, rows, payload, n);
	else
		status = rb_aggregate_add(&s->aggregate, rows, n);
	if (status == RB_OK)
		rb_add(&s->emitted, n);
	return status;
}

/*
 * Converts pairs of parts to pairs of rows. The hash table has a lock of its own, so that the
 * reader does not wait while it grows.
 */
static rb_status
convert_to_row_pairs(rb_stream *s, const rb_pair *parts, const uint64_t *payload, size_t n,
					 rb_pair *rows, uint64_t *row_payload, size_t *kept)
{
	rb_status status;

	pthread_mutex_lock(&s->unique_lock);
	status = rb_unique_rows(&s->unique, parts, payload, n, rows, row_payload, kept);
	pthread_mutex_unlock(&s->unique_lock);
	return status;
}

/*
 * Replaces the payload of n RB_WITHIN pairs of parts by their distances, if the caller needs them.
 * Distances of triangles are first computed by a vectorized kernel, where it succeeds.
 */
static rb_status
compute_pair_distances(const rb_stream *s, const rb_pair *parts, size_t n, uint64_t *payload)
{
	const rb_set *red = s->job.red, *blue = rb_job_blue(&s->job);
	const size_t red_width = (size_t) rb_kind_width(red->kind);
	const size_t blue_width = (size_t) rb_kind_width(blue->kind);
	rb_exact_env env = {.filters = s->ctx->filters, .exact = true};
	const rb_kernel *kernel = rb_kernel_best();
	rb_pair apart[UNIQUE_PAIRS];
	uint32_t at[UNIQUE_PAIRS], m = 0;
	double distance[UNIQUE_PAIRS];

	for (size_t i = 0; i < n; i++)
		if (payload[i] == RB_PAYLOAD(RB_WITHIN_OF(1)) || s->job.answer != RB_PAIRS)
			payload[i] = 0;
		else
		{
			at[m] = (uint32_t) i;
			distance[m] = 0;
			apart[m++] = parts[i];
		}
	if (red->kind == RB_TRIANGLE3 && blue->kind == RB_TRIANGLE3 && kernel->apart != NULL &&
		(env.filters & RB_FILTER_INTERVAL) != 0)
		kernel->apart(red->coords, blue->coords, apart, m, distance);
	for (uint32_t i = 0; i < m; i++)
	{
		if (rb_stop_due(s->ctx, i, DEAR_PAIRS))
			return RB_STOPPED;
		if (distance[i] == 0)
			(void) rb_pair_apart(&env, red->kind, blue->kind,
								 red->coords + apart[i].red * red_width,
								 blue->coords + apart[i].blue * blue_width, &distance[i]);
		memcpy(&payload[at[i]], &distance[i], sizeof payload[0]);
	}
	return RB_OK;
}

/*
 * Returns true if the row of blue is a valid solid and its box contains the ray's start
 * (RB_RAY_PARITY).
 */
static bool
is_ray_within_solid_box(const rb_stream *s, rb_pair parts)
{
	const uint32_t solid = rb_row_of(s->job.blue, parts.blue);

	return !rb_is_marked(s->bad_solids, solid) && rb_ray_counts(&s->rays, parts.red, solid);
}

/* Receives pairs from the backend's threads if the predicate has a payload. */
static rb_status
receive_part_pairs_with_payload(void *user, const rb_pair *pairs, size_t n)
{
	rb_stream *s = user;

	if (pairs == NULL)
		return emit_row_pairs(s, NULL, NULL, n);
	while (n > 0)
	{
		rb_pair parts[UNIQUE_PAIRS], rows[UNIQUE_PAIRS];
		uint64_t payload[UNIQUE_PAIRS], row_payload[UNIQUE_PAIRS];
		size_t taken = n < UNIQUE_PAIRS ? n : UNIQUE_PAIRS;
		size_t kept = 0, good = 0;

		for (size_t i = 0; i < taken; i++)
		{
			const rb_pair p = {rb_pair_red(pairs[i]), pairs[i].blue};

			if (s->job.predicate == RB_RAY_PARITY && !is_ray_within_solid_box(s, p))
				continue;
			parts[good] = p;
			payload[good++] = rb_pair_payload(pairs[i]);
		}
		if (s->job.predicate == RB_WITHIN)
			RB_TRY(compute_pair_distances(s, parts, good, payload));
		if (s->unique.needed)
		{
			RB_TRY(convert_to_row_pairs(s, parts, payload, good, rows, row_payload, &kept));
			RB_TRY(emit_row_pairs(s, rows, row_payload, kept));
		}
		else
			RB_TRY(emit_row_pairs(s, parts, payload, good));
		pairs += taken;
		n -= taken;
	}
	return rb_should_stop(s->ctx) ? RB_STOPPED : RB_OK;
}

/* Emits the merged pairs of rows when the backend has finished. */
static rb_status
emit_merged_row_pairs(rb_stream *s)
{
	rb_pair rows[UNIQUE_PAIRS];
	uint64_t payload[UNIQUE_PAIRS];
	rb_status status = RB_OK;
	size_t at = 0;
	size_t n;

	while (status == RB_OK && s->unique.merges &&
		   (n = rb_unique_merged(&s->unique, &at, rows, payload, UNIQUE_PAIRS)) > 0)
		status = rb_should_stop(s->ctx) ? RB_STOPPED : emit_row_pairs(s, rows, payload, n);
	return status;
}

/* Receives pairs from the backend's threads if the predicate has no payload. */
static rb_status
receive_pairs_of_parts(void *user, const rb_pair *pairs, size_t n)
{
	rb_stream *s = user;

	/* Marking is idempotent, so duplicates need not be removed. */
	if (s->job.answer == RB_HITS)
	{
		rb_aggregate_mark(&s->aggregate, pairs, n);
		return rb_should_stop(s->ctx) ? RB_STOPPED : RB_OK;
	}
	if (!s->unique.needed)
		RB_TRY(emit_row_pairs(s, pairs, NULL, n));
	while (s->unique.needed && n > 0)
	{
		rb_pair rows[UNIQUE_PAIRS];
		size_t taken = n < UNIQUE_PAIRS ? n : UNIQUE_PAIRS;
		size_t kept = 0;

		RB_TRY(convert_to_row_pairs(s, pairs, NULL, taken, rows, NULL, &kept));
		RB_TRY(emit_row_pairs(s, rows, NULL, kept));
		pairs += taken;
		n -= taken;
	}
	return rb_should_stop(s->ctx) ? RB_STOPPED : RB_OK;
}

/* ---- jobs with a tile ---- */

/* Drops pairs of rows outside the tile and passes the others on. */
static rb_status
receive_row_pairs_in_tile(void *user, const rb_pair *pairs, size_t n)
{
	rb_stream *s = user;
	const rb_set *red = s->job.red, *blue = rb_job_blue(&s->job);
	rb_status status = RB_OK;

	while (n > 0 && status == RB_OK)
	{
		const size_t taken = n < UNIQUE_PAIRS ? n : UNIQUE_PAIRS;
		rb_pair mine[UNIQUE_PAIRS];
		size_t kept = 0;

		for (size_t i = 0; i < taken; i++)
		{
			mine[kept] = pairs[i];
			kept += rb_in_tile_owns(&s->in_tile, rb_row_of(red, rb_pair_red(pairs[i])),
									rb_row_of(blue, pairs[i].blue));
		}
		status =
			(rb_predicate_has_payload(s->job.predicate) ? receive_part_pairs_with_payload
														: receive_pairs_of_parts)(s, mine, kept);
		pairs += taken;
		n -= taken;
	}
	return status;
}

/* ---- predicates composed of several joins ---- */

/* Returns true if the predicate on these kinds is composed of joins on parts of other kinds. */
static bool
is_composed_job(const rb_job *job)
{
	return rb_composed_exists(job->predicate, job->red->kind, rb_job_blue(job)->kind);
}

/* Receives pairs of rows from a composed join, and drops pairs that another tile owns. */
static rb_status
receive_composed_row_pairs(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	const size_t words = (size_t) rb_payload_words(((rb_stream *) user)->job.predicate);
	rb_stream *s = user;
	rb_status status = RB_OK;

	if (!s->tiled)
		status = emit_row_pairs(s, rows, payload, n);
	/* Pairs of the same row arrive together, and there are few per row. */
	for (size_t i = 0; s->tiled && i < n && status == RB_OK; i++)
		if (rb_in_tile_owns(&s->in_tile, rows[i].red, rows[i].blue))
			status = emit_row_pairs(s, &rows[i], payload + i * words, 1);
	return rb_should_stop(s->ctx) && status == RB_OK ? RB_STOPPED : status;
}

#define COMPOSED_TRY(of, red, blue, function) \
	if (s->job.predicate == (of))             \
		return function(s->ctx, s->backend, &s->job, &sink);

/* Runs the composed join of the job's predicate and kinds, which delivers pairs of rows. */
static rb_status
join_by_composition(rb_stream *s)
{
	const rb_row_sink sink = {.put = receive_composed_row_pairs, .user = s};

	RB_COMPOSED_LIST(COMPOSED_TRY)
	return RB_UNSUPPORTED;
}

/* ---- the join ---- */

/* Materializes the ids unless only the number of pairs is requested. */
static rb_status
materialize_job_ids(rb_stream *s)
{
	rb_status status = RB_OK;

	if (s->job.answer != RB_COUNT)
		status = rb_set_materialize_ids(s->ctx, s->job.red);
	if (s->job.answer != RB_COUNT && s->job.blue != NULL && status == RB_OK)
		status = rb_set_materialize_ids(s->ctx, s->job.blue);
	return status;
}

/*
 * Materializes the coordinates if this file needs them, for distances, solids or tiles, regardless
 * of where the pairs are found.
 */
static rb_status
materialize_job_coordinates(rb_stream *s)
{
	rb_status status = RB_OK;

	if (!s->tiled && !is_composed_job(&s->job) && s->job.predicate != RB_RAY_PARITY &&
		(s->job.predicate != RB_WITHIN || s->job.answer != RB_PAIRS))
		return RB_OK;
	status = rb_set_materialize(s->ctx, s->job.red);
	if (s->job.blue != NULL && status == RB_OK)
		status = rb_set_materialize(s->ctx, s->job.blue);
	return status;
}

/*
 * Receives counts or bits of matched rows that a device has computed, and adds them to the
 * aggregate.
 */
static rb_status
receive_words_of_aggregate(void *user, const uint32_t *words, size_t first, size_t n)
{
	rb_stream *s = user;

	rb_aggregate_add_words(&s->aggregate, words, first, n);
	return rb_should_stop(s->ctx) ? RB_STOPPED : RB_OK;
}

/*
 * Prepares the tile test. The backend does not receive the tile if its parts are not those of the
 * rows, as with composed predicates and RB_RAY_PARITY.
 */
static rb_status
prepare_tile_of_stream(rb_stream *s)
{
	rb_status status;

	if (!s->tiled)
		return RB_OK;
	status = rb_in_tile_build(s->ctx, &s->job, &s->in_tile);
	if (is_composed_job(&s->job) || s->job.predicate == RB_RAY_PARITY)
		s->job.tile.dims = 0;
	return status;
}

/* Checks the solids, then replaces the points by rays (RB_RAY_PARITY). */
static rb_status
prepare_rays_of_points(rb_stream *s)
{
	if (s->job.predicate != RB_RAY_PARITY)
		return RB_OK;
	RB_TRY(rb_solids_check(s->ctx, s->backend, s->job.blue, s->job.skip_bad, RB_SOLID_OF_SOLIDS,
						   &s->bad_solids));
	RB_TRY(rb_rays_build(s->ctx, s->backend, s->job.red, s->job.blue, &s->rays));
	rb_set_release(&s->job.red);
	s->job.red = rb_set_hold(s->rays.set);
	return RB_OK;
}

/* Prepares the sets of the job, joins them, and finishes the aggregate. */
static rb_status
run_join_of_stream(rb_stream *s)
{
	rb_sink sink = {.put = rb_predicate_has_payload(s->job.predicate)
							   ? receive_part_pairs_with_payload
							   : receive_pairs_of_parts,
					.user = s};
	rb_status status = RB_OK;

	RB_TRY(materialize_job_ids(s));
	RB_TRY(materialize_job_coordinates(s));
	RB_TRY(prepare_tile_of_stream(s));
	RB_TRY(prepare_rays_of_points(s));
	RB_TRY(rb_aggregate_begin(&s->aggregate));
	if (s->tiled)
		sink.put = receive_row_pairs_in_tile;
	if (!s->tiled && (s->job.answer == RB_COUNTS || s->job.answer == RB_HITS))
		sink.put_words = receive_words_of_aggregate;
	if (!s->tiled && s->job.answer == RB_HITS)
		sink.marks = s->aggregate.word;
	sink.again = s->job.answer == RB_HITS && !rb_predicate_has_payload(s->job.predicate);
	if (is_composed_job(&s->job))
		status = join_by_composition(s);
	/* Rows with one part each have no pairs within them. */
	else if (!(s->job.within_rows && s->job.red->row_of == NULL))
		status = s->backend->join(s->ctx, &s->job, &sink);
	if (status == RB_OK)
		status = emit_merged_row_pairs(s);
	if (status == RB_OK)
		status = rb_aggregate_end(&s->aggregate);
	s->emitted += rb_aggregate_added(&s->aggregate);
	if (status == RB_OK && s->job.answer == RB_HITS)
		s->emitted = rb_aggregate_marked(&s->aggregate);
	return status;
}

/* Runs the join of a stream and records its status for the reader. */
static void *
run_producer_thread(void *arg)
{
	rb_stream *s = arg;
	rb_status status;

	/* Error bounds require rounding to nearest and gradual underflow. */
	fesetenv(FE_DFL_ENV);
	status = run_join_of_stream(s);
	/* This thread may have stopped because another one failed. */
	if (status == RB_STOPPED)
		status = rb_why_stopped(s->ctx);

	pthread_mutex_lock(&s->lock);
	s->status = status;
	s->ctx->stats.stage[RB_STAGE_EMIT].count = s->emitted;
	s->ended = true;
	pthread_cond_signal(&s->can_read);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* Allocates the ring of slots for ids and payloads. */
static rb_status
allocate_stream_slots(rb_stream *s)
{
	const size_t column = FRONT + SLOT_PAIRS;
	size_t columns;

	s->words = (size_t) rb_payload_words(s->job.predicate);
	s->slot_pairs = s->words > 1 ? SLOT_PAIRS / s->words : SLOT_PAIRS;
	columns = s->words > 0 ? 3 : 2;
	RB_TRY(RB_ALLOCATE(s->ctx, s->ids, columns * SLOTS * column));
	for (size_t i = 0; i < SLOTS; i++)
	{
		s->slots[i].red = s->ids + columns * i * column + FRONT;
		s->slots[i].blue = s->slots[i].red + column;
		if (columns == 3)
			s->slots[i].payload = (uint64_t *) (s->slots[i].blue + column);
	}
	return RB_OK;
}

rb_status
rb_stream_open(rb_context *ctx, const rb_backend *backend, const rb_job *job, rb_stream **stream)
{
	rb_stream *s = NULL;
	rb_status status;
	pthread_condattr_t attr;

	const rb_set *blue = job->blue != NULL ? job->blue : job->red;

	*stream = NULL;
	if (!rb_leaf_exists(job->predicate, rb_kind_as_joined(job->predicate, job->red->kind),
						blue->kind) &&
		!rb_composed_exists(job->predicate, job->red->kind, blue->kind))
		return rb_fail(ctx, RB_UNSUPPORTED, 0, 0, NULL);
	if (job->red->nparts > RB_MAX_OBJECTS || blue->nparts > RB_MAX_OBJECTS)
		return rb_fail(ctx, RB_TOO_MANY_OBJECTS,
					   blue->nparts > job->red->nparts ? blue->nparts : job->red->nparts,
					   RB_MAX_OBJECTS, NULL);

	RB_TRY(RB_ALLOCATE(ctx, s, 1));
	memset(s, 0, sizeof(*s));
	s->ctx = ctx;
	s->backend = backend;
	s->job = *job;
	s->tiled = job->tile.dims != 0;
	rb_set_hold(s->job.red);
	rb_set_hold(s->job.blue);
	rb_unique_init(&s->unique, ctx, &s->job);
	status = rb_aggregate_init(&s->aggregate, ctx, &s->job);
	if (status == RB_OK)
		status = allocate_stream_slots(s);
	if (status != RB_OK)
	{
		rb_aggregate_free(&s->aggregate);
		rb_set_release(&s->job.red);
		rb_set_release(&s->job.blue);
		RB_FREE(ctx->memory, s);
		return status;
	}
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->unique_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->can_read, &attr);
	pthread_cond_init(&s->can_put, &attr);
	pthread_condattr_destroy(&attr);

	strncpy(ctx->stats.backend, backend->name, sizeof(ctx->stats.backend) - 1);
	if (rb_thread_start(&s->thread, STACK, run_producer_thread, s) != 0)
	{
		rb_stream_close(s);
		return rb_fail(ctx, RB_NO_THREAD, 0, 0, NULL);
	}
	s->started = true;
	*stream = s;
	return RB_OK;
}

/* Waits until the oldest slot is ready. Returns RB_OK if the time expires. */
static rb_status
wait_for_oldest_slot(rb_stream *s, int wait_ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long) wait_ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (!is_oldest_slot_ready(s) && !s->ended)
		if (pthread_cond_timedwait(&s->can_read, &s->lock, &until) == ETIMEDOUT)
			break;
	/* If no slot is full, return the partial one once its writers have finished. */
	if (s->tail == s->head && slot_of_stream(s, s->tail)->given > 0 &&
		(is_oldest_slot_ready(s) || (s->ended ? s->status == RB_OK : !s->job.whole)))
		advance_ring_head(s);
	if (s->tail != s->head && is_oldest_slot_ready(s))
		return RB_OK;
	return !s->ended ? RB_OK : s->status == RB_OK ? RB_END : s->status;
}

rb_status
rb_stream_next(rb_stream *s, int wait_ms, rb_block *block)
{
	rb_status status;

	*block = (rb_block){.n = 0};
	pthread_mutex_lock(&s->lock);
	/* The caller has finished with the last slot. */
	if (s->out)
	{
		s->out = false;
		s->tail++;
		pthread_cond_broadcast(&s->can_put);
	}
	status = wait_for_oldest_slot(s, wait_ms);
	if (s->tail != s->head && is_oldest_slot_ready(s))
	{
		const slot *oldest = slot_of_stream(s, s->tail);

		*block = (rb_block){oldest->red, oldest->blue, oldest->payload, s->words, oldest->written};
		s->out = true;
	}
	pthread_mutex_unlock(&s->lock);
	return status;
}

/*
 * Returns the words, which are complete only for a caller that has waited for the end (atomic.h).
 */
const uint32_t *
rb_stream_words(const rb_stream *s)
{
	return s->aggregate.word;
}

bool
rb_stream_groups(const rb_stream *s, rb_groups *groups)
{
	const rb_grouped *made = &s->aggregate.groups;

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
			rb_or(&ctx->stop, RB_STOP_CLOSING);
		s->closing = true;
		pthread_cond_broadcast(&s->can_put);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->thread, NULL);
		/* The caller may start the work again, as it does after an interrupt without effect. */
		rb_and(&ctx->stop, ~RB_STOP_CLOSING);
	}
	pthread_cond_destroy(&s->can_read);
	pthread_cond_destroy(&s->can_put);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->unique_lock);
	rb_unique_free(&s->unique);
	rb_aggregate_free(&s->aggregate);
	rb_set_release(&s->job.red);
	rb_set_release(&s->job.blue);
	rb_rays_free(ctx, &s->rays);
	rb_in_tile_free(ctx, &s->in_tile);
	RB_FREE(ctx->memory, s->bad_solids);
	RB_FREE(ctx->memory, s->ids);
	RB_FREE(ctx->memory, s);
}
