/*
 * row_lists.c
 *	  Collects pairs of parts from several threads and sorts them.
 *
 * The two sort keys are small integers, so the pairs are sorted by counting sort: first by the
 * second key, then stably by the first key.
 */
#include "core/solid/relate.h"

#define CHECK_INTERVAL 65536 /* Number of pairs between checks for cancellation */

void
rb_notes_open(rb_notes *notes, rb_context *ctx)
{
	*notes = (rb_notes){.ctx = ctx};
	pthread_mutex_init(&notes->lock, NULL);
}

void
rb_notes_close(rb_notes *notes)
{
	pthread_mutex_destroy(&notes->lock);
	RB_FREE(notes->ctx->memory, notes->at);
	notes->n = notes->cap = 0;
}

rb_status
rb_notes_add(rb_notes *notes, const rb_pair *pairs, size_t n)
{
	rb_status status = RB_OK;

	if (n == 0)
		return RB_OK;
	pthread_mutex_lock(&notes->lock);
	if (notes->n + n > notes->cap)
	{
		const size_t cap = 2 * notes->cap > notes->n + n ? 2 * notes->cap : notes->n + n;

		status = RB_ALLOCATE(notes->ctx, notes->at, cap);
		if (status == RB_OK)
			notes->cap = cap;
	}
	if (status == RB_OK)
	{
		memcpy(notes->at + notes->n, pairs, n * sizeof *pairs);
		notes->n += n;
	}
	pthread_mutex_unlock(&notes->lock);
	return status;
}

static inline uint32_t
key_of(rb_pair pair, bool red, const uint32_t *of)
{
	const uint32_t part = red ? rb_pair_red(pair) : pair.blue;

	return of != NULL ? of[part] : part;
}

/* Performs one pass of a counting sort. */
static rb_status
sort_by(rb_notes *notes, rb_pair *to, bool red, const uint32_t *of, uint32_t nkeys)
{
	size_t *place = NULL, sum = 0;
	rb_status status = RB_OK;

	RB_TRY(RB_ALLOCATE(notes->ctx, place, (size_t) nkeys + 1));
	memset(place, 0, nkeys * sizeof *place);
	for (size_t i = 0; i < notes->n && (i % CHECK_INTERVAL != 0 || !rb_should_stop(notes->ctx));
		 i++)
		place[key_of(notes->at[i], red, of)]++;
	for (uint32_t k = 0; k < nkeys; k++)
	{
		const size_t count = place[k];

		place[k] = sum;
		sum += count;
	}
	for (size_t i = 0; i < notes->n && status == RB_OK; i++)
		if (i % CHECK_INTERVAL == 0 && rb_should_stop(notes->ctx))
			status = RB_STOPPED; /* The counting loop may have ended early */
		else
			to[place[key_of(notes->at[i], red, of)]++] = notes->at[i];
	RB_FREE(notes->ctx->memory, place);
	return status;
}

rb_status
rb_notes_sort(rb_notes *notes, const uint32_t *red_of, uint32_t nred, const uint32_t *blue_of,
			  uint32_t nblue)
{
	rb_pair *other = NULL;
	rb_status status = RB_OK;

	for (int red = 0; red < 2 && status == RB_OK && notes->n > 1; red++)
	{
		rb_pair *swap;

		if (other == NULL)
			status = RB_ALLOCATE(notes->ctx, other, notes->cap);
		if (status == RB_OK)
			status = sort_by(notes, other, red == 1, red == 1 ? red_of : blue_of,
							 red == 1 ? nred : nblue);
		swap = notes->at;
		notes->at = other;
		other = swap;
	}
	RB_FREE(notes->ctx->memory, other);
	return status;
}
