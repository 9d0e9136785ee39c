/*
 * pair_coding.c
 *	  Converts groups of pairs back to pairs (pair_coding.h).
 *
 * A bus transfers more pairs in this form than one thread can decode, so all threads share the
 * records of a piece. Each thread passes on its pairs when its buffer is full. One thread first
 * lists the records, because the start of a record is known only from the one before it.
 */
#include "core/base/base.h"
#include "core/exec/pair_coding.h"

#include <string.h>

#define MAX_THREADS 8 /* Sufficient to keep up with any bus */

/* Writes a decoded pair; with `order`, the smaller index first, as a self join needs it. */
static inline void
write_decoded_pair(rb_pair *out, uint32_t red, uint32_t blue, bool order)
{
	bool turn = order && blue < red;

	out->red = turn ? blue : red;
	out->blue = turn ? red : blue;
}

/* Writes all pairs of a complete record to `out`, which has room for record->pairs pairs. */
static void
rb_record_pairs(const rb_record *record, rb_pair *out)
{
	const uint32_t *red = (const uint32_t *) (record + 1);
	const uint32_t *blue = record->form & RB_RECORD_SAME ? red : red + record->red;
	const void *data = blue + record->blue;
	const bool order = (record->form & RB_RECORD_ORDER) != 0;

	if (record->form & RB_RECORD_BITS)
	{
		const uint32_t *word = data;

		for (uint32_t i = 0; i < record->red; i++)
			for (uint32_t first = 0; first < record->blue; first += 32)
				for (uint32_t bits = *word++; bits != 0; bits &= bits - 1)
					write_decoded_pair(out++, red[i], blue[first + (uint32_t) __builtin_ctz(bits)],
									   order);
	}
	else
	{
		const uint8_t *count = data;
		const uint8_t *number = count + record->red;

		for (uint32_t i = 0; i < record->red; i++)
			for (uint32_t k = count[i]; k > 0; k--)
				write_decoded_pair(out++, red[i], blue[*number++], order);
	}
}

/* Lists the complete records among n bytes, and saves an incomplete last one in r->cut. */
static rb_status
list_complete_records(rb_context *ctx, rb_record_reader *r, const char *from, size_t n)
{
	r->nstarts = 0;
	while (n > 0)
	{
		const rb_record *record = (const rb_record *) from;

		if (record->bytes > n)
		{
			memcpy(r->cut, from, n);
			r->have = n;
			break;
		}
		if (r->nstarts == r->starts_cap)
		{
			size_t cap = r->starts_cap > 0 ? 2 * r->starts_cap : 1024;
			RB_TRY(
				rb_resize(ctx->memory, (void **) &r->start, cap * sizeof(*r->start), &ctx->error));
			r->starts_cap = cap;
		}
		r->start[r->nstarts++] = record;
		from += record->bytes;
		n -= record->bytes;
	}
	return RB_OK;
}

/* The records of a piece, and the progress of the threads */
typedef struct rb_record_decoding
{
	rb_context *ctx;
	const rb_record_reader *r;
	const rb_sink *sink;
	size_t next;
	int status; /* An error returned by the sink, or RB_OK */
} rb_record_decoding;

/* Decodes records on one thread, with a buffer of its own; a few records are taken at a time. */
static void
decode_records_piece(rb_thread *me, void *arg, uint64_t share, uint64_t end)
{
	rb_record_decoding *p = arg;
	const rb_record_reader *r = p->r;
	rb_pair *pairs = r->pairs + share * RB_RECORD_PAIRS;
	size_t n = 0;
	rb_status status = RB_OK;

	(void) me, (void) end;
	while (status == RB_OK)
	{
		size_t i = rb_add(&p->next, 8);
		size_t stop = i + 8 < r->nstarts ? i + 8 : r->nstarts;

		if (i >= r->nstarts)
			break;
		if (rb_should_stop(p->ctx))
			return;
		for (; i < stop && status == RB_OK; i++)
		{
			if (RB_RECORD_PAIRS - n < r->start[i]->pairs)
			{
				status = p->sink->put(p->sink->user, pairs, n);
				n = 0;
			}
			rb_record_pairs(r->start[i], pairs + n);
			n += r->start[i]->pairs;
		}
	}
	if (status == RB_OK && n > 0)
		status = p->sink->put(p->sink->user, pairs, n);
	if (status != RB_OK)
		rb_store(&p->status, (int) status);
}

/* Opens the team and the buffers that decode records; done once, before the first records. */
static rb_status
open_record_reader(rb_context *ctx, rb_record_reader *r)
{
	if (r->me == NULL)
		RB_TRY(rb_team_open(ctx, ctx->threads < MAX_THREADS ? ctx->threads : MAX_THREADS, &r->me));
	RB_TRY(rb_array(ctx, (void **) &r->cut, 1, RB_RECORD_MAX_BYTES));
	return RB_ALLOCATE(ctx, r->pairs, (size_t) rb_team_threads(r->me) * RB_RECORD_PAIRS);
}

rb_status
rb_records_decode(rb_context *ctx, rb_record_reader *r, const void *bytes, size_t n,
				  const rb_sink *sink)
{
	rb_record_decoding putting = {ctx, r, sink, 0, RB_OK};
	const char *from = bytes;
	rb_status status = RB_OK;

	if (r->pairs == NULL)
		RB_TRY(open_record_reader(ctx, r));
	if (r->have > 0)
	{
		/* Complete the record that was cut. */
		const rb_record *record = (const rb_record *) r->cut;
		size_t rest = record->bytes - r->have, take = rest < n ? rest : n;

		memcpy(r->cut + r->have, from, take);
		r->have += take;
		from += take;
		n -= take;
		if (take < rest)
			return RB_OK;
		r->have = 0;
		rb_record_pairs(record, r->pairs);
		status = sink->put(sink->user, r->pairs, record->pairs);
	}
	if (status == RB_OK)
		status = list_complete_records(ctx, r, from, n);
	if (status == RB_OK)
		status = rb_loop(r->me, r->nstarts < 64 ? 1 : (uint64_t) rb_team_threads(r->me), 1,
						 decode_records_piece, &putting);
	return rb_loop_failure(putting.status, status);
}

void
rb_record_reader_free(rb_context *ctx, rb_record_reader *r)
{
	rb_team_close(&r->me);
	RB_FREE(ctx->memory, r->cut);
	RB_FREE(ctx->memory, r->start);
	RB_FREE(ctx->memory, r->pairs);
}
