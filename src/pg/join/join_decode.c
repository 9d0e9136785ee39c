/*
 * join_decode.c
 *	  The geometries of an input are decoded by a thread of their own, while more rows are read.
 *
 *		rows -> [ batch being filled ]    [ batch being decoded ] -> sets
 *				 the backend			   the thread
 *
 * The thread takes only what is plain: a geometry in the form that this library reads by itself, without a fault, that
 * is read once and is not kept aside.  It stops at any other, and the backend takes that one and the rest of the batch
 * (rb_join_side_add), as it does where there is no thread: so each side sees its rows in their order, and whatever may
 * raise an error or calls PostgreSQL is done by the backend.  Where many are not plain the thread is given up.
 */
#include "pg/join/rb_geometry_join.h"

#include "core/base/rb_atomic.h"
#include "core/base/rb_parallel.h"

#include <pthread.h>

#define BATCH_BYTES (256 * 1024)
/* so many batches with something that is not plain, and the backend does it all by itself */
#define MOST_BROKEN 4
/* faces may be cut into triangles there */
#define STACK ((size_t) 1 << 20)

/* in front of each geometry; both are multiples of 8 bytes */
typedef struct record
{
	rb_join_place place;
	uint64 bytes; /* of the geometry, with its header, rounded up */
} record;

typedef struct batch
{
	char *bytes; /* BATCH_BYTES */
	Size end;    /* of those that are filled */
	Size at;     /* up to here they are decoded */
} batch;

struct rb_decoding
{
	rb_join_side *side;
	rb_memory *memory;
	bool timed;
	double ms; /* of the thread */

	batch batch[2];
	int filling;
	int broken;    /* batches that were not plain */
	bool given_up; /* there is no thread, nor will there be one */

	bool started;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	batch *due;   /* the thread's; NULL: it is idle */
	uint32 leave; /* the thread is to end, whatever there is left */
};

/* ---- the thread ---- */

static void
decode_batch(rb_decoding *d, batch *b)
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

static void *
decode_all(void *arg)
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
		decode_batch(d, d->due);
		pthread_mutex_lock(&d->lock);
		d->due = NULL;
		pthread_cond_signal(&d->changed);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

/* ---- the backend ---- */

static bool
start_thread(rb_decoding *d)
{
	if (d->started)
		return true;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->changed, NULL);
	d->started = rb_thread_start(&d->thread, STACK, decode_all, d) == 0;
	if (!d->started)
	{
		pthread_cond_destroy(&d->changed);
		pthread_mutex_destroy(&d->lock);
	}
	return d->started;
}

static void
end_thread(rb_decoding *d)
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

/* what the thread has left of a batch */
static void
decode_rest(rb_decoding *d, batch *b)
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
 * The batch that the thread had is decoded, and the thread idle.  It needs no longer than for one geometry once an
 * interrupt is pending, so this waits without looking for one.
 */
static void
finish_other(rb_decoding *d)
{
	batch *other = &d->batch[1 - d->filling];

	if (!d->started)
		return;
	pthread_mutex_lock(&d->lock);
	while (d->due != NULL)
		pthread_cond_wait(&d->changed, &d->lock);
	pthread_mutex_unlock(&d->lock);
	CHECK_FOR_INTERRUPTS();
	if (other->at == other->end)
		return;
	decode_rest(d, other);
	if (++d->broken >= MOST_BROKEN)
	{
		d->given_up = true;
		end_thread(d);
	}
}

/* the batch that was filled is the thread's; the other one is free */
static void
hand_over(rb_decoding *d)
{
	finish_other(d);
	if (d->given_up || !start_thread(d))
	{
		d->given_up = true;
		decode_rest(d, &d->batch[d->filling]);
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
rb_join_decode_put(rb_decoding *d, struct varlena *geometry, const rb_join_place *place)
{
	const Size size = VARSIZE_ANY(geometry);
	const Size bytes = TYPEALIGN(8, size);
	batch *b = &d->batch[d->filling];
	record *r;

	/* a large one is not copied */
	if (!d->given_up && sizeof *r + bytes > BATCH_BYTES / 8)
		rb_join_decode_flush(d);
	else if (!d->given_up && b->end + sizeof *r + bytes > BATCH_BYTES)
		hand_over(d);
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

/* all that were put are decoded; few of them are not worth the thread */
void
rb_join_decode_flush(rb_decoding *d)
{
	batch *b;

	finish_other(d);
	b = &d->batch[d->filling];
	decode_rest(d, b);
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
	end_thread(d);
	d->given_up = true;
	for (int i = 0; i < 2; i++)
		rb_free(d->memory, (void **) &d->batch[i].bytes);
}
