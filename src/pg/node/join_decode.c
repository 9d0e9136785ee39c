/*
 * join_decode.c
 *	  Decodes the geometries of an input on a helper thread, while the backend reads more rows.
 *
 *	rows -> [ batch being filled ]    [ batch being decoded ] -> sets
 *			 by the backend			   by the thread
 *
 * The thread handles only plain geometries: those in the format that this library reads itself,
 * without a fault, that are read once and are not saved for later. It stops at any other geometry.
 * The backend then handles that one and the rest of the batch (rb_join_side_add), as it does
 * without a thread. Each side therefore receives its rows in order, and everything that may raise
 * an error or call PostgreSQL runs in the backend. If many geometries are not plain, the thread is
 * ended.
 */
#include "pg/node/node.h"

#include "core/base/atomic.h"
#include "core/base/parallel.h"

#include <pthread.h>

#define BATCH_BYTES (256 * 1024)
/*
 * Number of batches with geometries that are not plain, after which the backend decodes everything
 */
#define MOST_BROKEN 4
/* Stack size of the thread in bytes; faces may be triangulated on this stack */
#define STACK ((size_t) 1 << 20)

/* Header of each geometry in a batch. Header and geometry are multiples of 8 bytes long. */
typedef struct record
{
	rb_join_place place;
	uint64 bytes; /* Bytes of the geometry with its header, rounded up */
} record;

typedef struct geometry_batch
{
	char *bytes; /* Buffer of BATCH_BYTES bytes */
	Size end;    /* End of the filled bytes */
	Size at;     /* End of the decoded bytes */
} geometry_batch;

struct rb_decoding
{
	rb_join_side *side;
	rb_memory *memory;
	bool timed;
	double ms; /* Time of the helper thread */

	geometry_batch batch[2];
	int filling;
	int broken;    /* Number of batches with geometries that are not plain */
	bool given_up; /* True if there is no thread and none will be started */

	bool started;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	geometry_batch *due; /* Batch for the thread, or NULL if the thread is idle */
	uint32 leave;        /* Nonzero to make the thread exit, even with work left */
};

/* ---- the thread ---- */

/* Decodes the geometries of a batch until one is left to the main thread. */
static void
decode_batch_partly(rb_decoding *d, geometry_batch *b)
{
	const double start = d->timed ? rb_now_ms() : 0;

	while (b->at < b->end && rb_load(&d->leave) == 0)
	{
		record *r = (record *) (b->bytes + b->at);

		if (!rb_join_side_add_plain(d->side, (struct varlena *) (r + 1), &r->place))
			break;
		b->at += sizeof *r + r->bytes;
	}
	if (d->timed)
		d->ms += rb_now_ms() - start;
}

/* Decodes batches until the main thread ends the helper thread. */
static void *
decode_batches_in_thread(void *arg)
{
	rb_decoding *d = arg;

	pthread_mutex_lock(&d->lock);
	for (;;)
	{
		while (d->due == NULL && rb_load(&d->leave) == 0)
			pthread_cond_wait(&d->changed, &d->lock);
		if (rb_load(&d->leave) != 0)
			break;
		pthread_mutex_unlock(&d->lock);
		decode_batch_partly(d, d->due);
		pthread_mutex_lock(&d->lock);
		d->due = NULL;
		pthread_cond_signal(&d->changed);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

/* ---- the backend ---- */

/* Starts the helper thread. Returns false if that fails. */
static bool
start_decoding_thread(rb_decoding *d)
{
	if (d->started)
		return true;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->changed, NULL);
	d->started = rb_thread_start(&d->thread, STACK, decode_batches_in_thread, d) == 0;
	if (!d->started)
	{
		pthread_cond_destroy(&d->changed);
		pthread_mutex_destroy(&d->lock);
	}
	return d->started;
}

/* Ends the helper thread. */
static void
end_decoding_thread(rb_decoding *d)
{
	if (!d->started)
		return;
	pthread_mutex_lock(&d->lock);
	rb_store(&d->leave, 1);
	pthread_cond_signal(&d->changed);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->thread, NULL);
	pthread_cond_destroy(&d->changed);
	pthread_mutex_destroy(&d->lock);
	d->started = false;
	d->leave = 0;
	d->due = NULL;
}

/* Decodes what the thread has left of a batch. */
static void
decode_rest_of_batch(rb_decoding *d, geometry_batch *b)
{
	while (b->at < b->end)
	{
		record *r = (record *) (b->bytes + b->at);

		CHECK_FOR_INTERRUPTS();
		b->at += sizeof *r + r->bytes;
		rb_join_side_add(d->side, (struct varlena *) (r + 1), &r->place);
	}
}

/*
 * Waits until the thread is idle, and decodes the rest of its batch. Does not check for interrupts
 * while waiting, because the thread finishes at most one geometry once an interrupt is pending.
 */
static void
finish_batch_of_thread(rb_decoding *d)
{
	geometry_batch *other = &d->batch[1 - d->filling];

	if (!d->started)
		return;
	pthread_mutex_lock(&d->lock);
	while (d->due != NULL)
		pthread_cond_wait(&d->changed, &d->lock);
	pthread_mutex_unlock(&d->lock);
	CHECK_FOR_INTERRUPTS();
	if (other->at == other->end)
		return;
	decode_rest_of_batch(d, other);
	if (++d->broken >= MOST_BROKEN)
	{
		d->given_up = true;
		end_decoding_thread(d);
	}
}

/* Passes the filled batch to the thread, after the other batch is decoded and free. */
static void
submit_batch_to_thread(rb_decoding *d)
{
	finish_batch_of_thread(d);
	if (d->given_up || !start_decoding_thread(d))
	{
		d->given_up = true;
		decode_rest_of_batch(d, &d->batch[d->filling]);
		return;
	}
	pthread_mutex_lock(&d->lock);
	d->due = &d->batch[d->filling];
	pthread_cond_signal(&d->changed);
	pthread_mutex_unlock(&d->lock);
	d->filling = 1 - d->filling;
	d->batch[d->filling].end = d->batch[d->filling].at = 0;
}

rb_decoding *
rb_join_decode_begin(rb_join_side *side, rb_memory *memory, int threads, bool timed)
{
	rb_decoding *d = palloc0(sizeof *d);
	rb_error error;

	d->side = side;
	d->memory = memory;
	d->timed = timed;
	d->given_up = threads < 2;
	for (int i = 0; i < 2 && !d->given_up; i++)
		d->given_up = rb_resize(memory, (void **) &d->batch[i].bytes, BATCH_BYTES, &error) != RB_OK;
	return d;
}

void
rb_join_decode_write(rb_decoding *d, struct varlena *geometry, const rb_join_place *place)
{
	const Size size = VARSIZE_ANY(geometry);
	const Size bytes = TYPEALIGN(8, size);
	geometry_batch *b = &d->batch[d->filling];
	record *r;

	/* Do not copy large geometries. Decode everything written so far, to keep the order. */
	if (!d->given_up && sizeof *r + bytes > BATCH_BYTES / 8)
		rb_join_decode_flush(d);
	else if (!d->given_up && b->end + sizeof *r + bytes > BATCH_BYTES)
		submit_batch_to_thread(d);
	if (d->given_up || sizeof *r + bytes > BATCH_BYTES / 8)
	{
		rb_join_side_add(d->side, geometry, place);
		return;
	}
	b = &d->batch[d->filling];
	r = (record *) (b->bytes + b->end);
	r->place = *place;
	r->bytes = bytes;
	memcpy(r + 1, geometry, size);
	b->end += sizeof *r + bytes;
}

/* Decodes all geometries written so far. A partial batch is decoded without the thread. */
void
rb_join_decode_flush(rb_decoding *d)
{
	geometry_batch *b;

	finish_batch_of_thread(d);
	b = &d->batch[d->filling];
	decode_rest_of_batch(d, b);
	b->end = b->at = 0;
}

double
rb_join_decode_ms(const rb_decoding *d)
{
	return d->ms;
}

void
rb_join_decode_end(rb_decoding *d)
{
	if (d == NULL)
		return;
	end_decoding_thread(d);
	d->given_up = true;
	for (int i = 0; i < 2; i++)
		rb_free(d->memory, (void **) &d->batch[i].bytes);
}
