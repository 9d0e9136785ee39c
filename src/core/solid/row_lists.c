/*
 * row_lists.c
 *	  Collects pairs of parts from several threads and sorts them.
 */
#include "core/base/sort.h"
#include "core/solid/relate.h"

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

/* Rows of the red and blue parts, or NULL if a part is its own row */
typedef struct row_maps
{
	const uint32_t *red;
	const uint32_t *blue;
} row_maps;

static uint64_t
rows_of_pair(const void *element, const void *arg)
{
	const row_maps *of = arg;
	const rb_pair pair = *(const rb_pair *) element;
	const uint32_t red = rb_pair_red(pair);

	return (uint64_t) (of->red != NULL ? of->red[red] : red) << 32 |
		   (of->blue != NULL ? of->blue[pair.blue] : pair.blue);
}

rb_status
rb_notes_sort(rb_notes *notes, const uint32_t *red_of, const uint32_t *blue_of)
{
	const row_maps of = {red_of, blue_of};
	rb_pair *other = NULL;
	rb_status status;

	if (notes->n < 2)
		return RB_OK;
	RB_TRY(RB_ALLOCATE(notes->ctx, other, notes->cap));
	status = rb_radix_sort(notes->ctx, (void **) &notes->at, (void **) &other, notes->n,
						   sizeof *notes->at, 8, rows_of_pair, &of);
	RB_FREE(notes->ctx->memory, other);
	return status;
}
