/*
 * k_best.c
 *	  Keeps the best k rows found so far in a heap with the worst at the top.
 *
 * Rows with several parts are offered more than once; only a nearer part changes the row's
 * candidate, which can then only sink in the heap. A row that was removed may be offered again with
 * a nearer part; it was worse than k rows before and must now be better than one of them.
 *
 * k may be a million, and each comparison may be one of rational numbers, so all loops poll for a
 * stop.
 */
#include "core/nearest/nearest.h"

rb_status
rb_best_init(rb_best *b, rb_distance_state *asker, uint32_t k)
{
	const uint32_t rows = asker->blue->nrows;
	rb_status status = RB_ALLOCATE(asker->ctx, b->place, rows);

	b->asker = asker;
	b->k = k;
	if (status == RB_OK)
		memset(b->place, 0, (size_t) rows * sizeof *b->place);
	return status;
}

void
rb_best_free(rb_best *b)
{
	RB_FREE(b->asker->ctx->memory, b->heap);
	RB_FREE(b->asker->ctx->memory, b->place);
}

static uint32_t *
position_of(const rb_best *b, const rb_candidate *c)
{
	return &b->place[rb_row_of(b->asker->blue, c->blue)];
}

static void
write_candidate(rb_best *b, uint32_t at, const rb_candidate *c)
{
	b->heap[at] = *c;
	*position_of(b, c) = at + 1;
}

/* Moves a candidate up from a free position of the heap. */
static void
move_up(rb_best *b, uint32_t at, rb_candidate *c)
{
	while (at > 0 && !rb_should_stop(b->asker->ctx))
	{
		const uint32_t above = (at - 1) / 2;

		if (rb_candidate_order(b->asker, &b->heap[above], c) >= 0)
			break;
		write_candidate(b, at, &b->heap[above]);
		at = above;
	}
	write_candidate(b, at, c);
}

/* Moves a candidate down from a free position of the heap. */
static void
move_down(rb_best *b, uint32_t at, uint32_t n, rb_candidate *c)
{
	while (2 * (uint64_t) at + 1 < n && !rb_should_stop(b->asker->ctx))
	{
		uint32_t below = 2 * at + 1;

		if (below + 1 < n && rb_candidate_order(b->asker, &b->heap[below], &b->heap[below + 1]) < 0)
			below++;
		if (rb_candidate_order(b->asker, c, &b->heap[below]) >= 0)
			break;
		write_candidate(b, at, &b->heap[below]);
		at = below;
	}
	write_candidate(b, at, c);
}

static rb_status
grow_heap(rb_best *b)
{
	const uint32_t twice = b->cap > 0 ? 2 * b->cap : 16;
	const uint32_t cap = twice < b->k ? twice : b->k;
	rb_status status = RB_ALLOCATE(b->asker->ctx, b->heap, cap);

	if (status == RB_OK)
		b->cap = cap;
	return status;
}

rb_status
rb_best_offer(rb_best *b, rb_candidate *c, double distance)
{
	rb_candidate *same = (rb_candidate *) rb_best_of(b, rb_row_of(b->asker->blue, c->blue));
	rb_candidate *worst = rb_best_full(b) ? &b->heap[0] : NULL;

	if (same != NULL)
	{
		if (rb_candidate_compare(b->asker, c, same) < 0)
			move_down(b, (uint32_t) (same - b->heap), b->n, c);
		return RB_OK;
	}
	if (worst != NULL && rb_candidate_order(b->asker, c, worst) >= 0)
		return RB_OK;
	if (!rb_candidate_within(b->asker, c, distance))
		return RB_OK;
	if (worst != NULL)
	{
		*position_of(b, worst) = 0;
		move_down(b, 0, b->n, c);
		return RB_OK;
	}
	if (b->n == b->cap)
	{
		rb_status status = grow_heap(b);

		if (status != RB_OK)
			return status;
	}
	move_up(b, b->n++, c);
	return RB_OK;
}

void
rb_best_sort(rb_best *b)
{
	for (uint32_t n = b->n; n > 1 && !rb_should_stop(b->asker->ctx); n--)
	{
		rb_candidate worst = b->heap[0], last = b->heap[n - 1];

		move_down(b, 0, n - 1, &last);
		b->heap[n - 1] = worst;
	}
}

void
rb_best_clear(rb_best *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		*position_of(b, &b->heap[i]) = 0;
	b->n = 0;
	b->asker->labels = 0;
}
