/*
 * transport.c
 *	  Transfers sets and blocks of ids through the ring of a request.
 *
 * Each direction has one writer and one reader. The bytes of the sides pass through a ring with two
 * counters: bytes sent and bytes received. After all of them have arrived, the same memory is a
 * ring of blocks of ids in the other direction, as in parallel_queue.c: the word of a slot gives
 * the block it holds, or 0 if the slot may be filled again.
 *
 * Aggregates of rows are also returned as bytes, instead of blocks of ids.
 *
 * The lengths of a side's arrays are known before the first byte arrives, so the arrays are
 * transferred as they are, one after another. If there are many bytes, the ring is divided into
 * lanes, and each lane transfers its part of every array: one thread copies a few gigabytes per
 * second, and a device reads many times faster.
 *
 * No function of PostgreSQL is called here, because threads use these functions.
 */
#include "pg/worker/protocol.h"

/*
 * Fraction 1/n of a lane that is published at once, so that both processes can copy at the same
 * time
 */
#define STEPS 8
#define ALIGNED 64 /* Alignment of a lane's part of an array: a cache line */

/* ---- sides ---- */

static void
announce_rows(rb_sent_rows *rows, const rb_set *set)
{
	rows->nparts = set->nparts;
	rows->nrows = set->nrows;
	rows->has_row_of = set->row_of != NULL;
	rows->has_ids = set->ids != NULL;
	rows->first_id = set->first_id;
}

void
rb_sent_side_of(rb_sent_side *sent, const rb_set *set, const rb_to_keep *keep)
{
	memset(sent, 0, sizeof *sent);
	sent->kind = set->kind;
	sent->nparts = set->nparts;
	sent->nrows = set->nrows;
	sent->skipped = set->skipped;
	sent->srid = set->srid;
	if (!set->elsewhere)
		announce_rows(&sent->rows, set);
	else if (set->view == NULL)
	{
		sent->from = RB_FROM_CACHED;
		sent->number = set->number;
	}
	else
	{
		sent->from = RB_FROM_DELTA;
		sent->number = set->view->kept->number;
		sent->ncuts = set->view->ncuts;
		announce_rows(&sent->rows, set->view->fresh);
	}
	if (keep != NULL)
		sent->keep = *keep;
}

int
rb_side_arrays(const rb_sent_side *sent, const rb_cut *cuts, const rb_set *rows, const void *card,
			   rb_bytes *arrays)
{
	const rb_sent_rows *r = &sent->rows;
	int n = 0;

	StaticAssertStmt(2 * RB_SIDE_ARRAYS + 1 <= RB_SENT_ARRAYS, "two sides, and numbers");
	if (sent->from == RB_FROM_DELTA)
		arrays[n++] = (rb_bytes){(char *) cuts, ((size_t) sent->ncuts + 1) * sizeof *cuts};
	if (sent->from != RB_FROM_CACHED)
	{
		arrays[n++] =
			(rb_bytes){(char *) rows->coords,
					   (size_t) r->nparts * (size_t) rb_kind_width(sent->kind) * sizeof(double)};
		if (r->has_row_of)
			arrays[n++] =
				(rb_bytes){(char *) rows->row_of, (size_t) r->nparts * sizeof *rows->row_of};
		if (r->has_ids)
			arrays[n++] = (rb_bytes){(char *) rows->ids, (size_t) r->nrows * sizeof *rows->ids};
	}
	if (sent->keep.card_bytes > 0)
		arrays[n++] = (rb_bytes){(char *) card, sent->keep.card_bytes};
	return n;
}

int
rb_number_array(const rb_request_args *asked, const uint32_t *number, rb_bytes *array)
{
	const rb_sent_side *side = &asked->side[asked->job.of == RB_OF_BLUE ? asked->sides - 1 : 0];

	if (!asked->has_number)
		return 0;
	*array = (rb_bytes){(char *) number, (size_t) side->nrows * sizeof *number};
	return 1;
}

size_t
rb_bytes_left(const rb_bytes *arrays, int n)
{
	size_t left = 0;

	for (int i = 0; i < n; i++)
		left += arrays[i].left;
	return left;
}

/* ---- lanes ---- */

rb_lane
rb_lane_there(rb_request *request, uint32 lane)
{
	const size_t size = RB_SENT_BYTES / request->asked.lanes;

	return (rb_lane){&request->there[lane], request->ring.bytes + lane * size, size};
}

rb_lane
rb_lane_back(rb_request *request)
{
	return (rb_lane){&request->back, request->ring.bytes, RB_SENT_BYTES};
}

/* Returns the offset at which the part of a lane begins. */
static size_t
part_begin(const rb_request_args *asked, uint32 lane, size_t bytes)
{
	return lane == asked->lanes ? bytes : bytes / asked->lanes / ALIGNED * ALIGNED * lane;
}

void
rb_lane_part(const rb_request_args *asked, uint32 lane, const rb_bytes *arrays, int n,
			 rb_bytes *part)
{
	for (int i = 0; i < n; i++)
	{
		const size_t from = part_begin(asked, lane, arrays[i].left);

		part[i].at = arrays[i].at + from;
		part[i].left = part_begin(asked, lane + 1, arrays[i].left) - from;
	}
}

/* Moves at most `most` bytes between arrays and the lane, from position `at` of the lane. */
static size_t
move_bytes(const rb_lane *lane, rb_bytes *arrays, int n, uint64 at, size_t most, bool into_ring)
{
	size_t moved = 0;

	most = Min(most, lane->size / STEPS);
	for (int i = 0; i < n; i++)
		while (arrays[i].left > 0 && moved < most)
		{
			size_t place = (size_t) ((at + moved) % lane->size);
			size_t step = Min(arrays[i].left, Min(most - moved, lane->size - place));

			if (into_ring)
				memcpy(lane->ring + place, arrays[i].at, step);
			else
				memcpy(arrays[i].at, lane->ring + place, step);
			arrays[i].at += step;
			arrays[i].left -= step;
			moved += step;
		}
	return moved;
}

size_t
rb_bytes_write(const rb_lane *lane, rb_bytes *arrays, int n)
{
	uint64 sent = lane->way->sent.n;
	size_t room = lane->size - (size_t) (sent - rb_acquire(&lane->way->received.n));
	size_t moved = move_bytes(lane, arrays, n, sent, room, true);

	rb_release(&lane->way->sent.n, sent + moved);
	return moved;
}

size_t
rb_bytes_read(const rb_lane *lane, rb_bytes *arrays, int n)
{
	uint64 received = lane->way->received.n;
	size_t there = (size_t) (rb_acquire(&lane->way->sent.n) - received);
	size_t moved = move_bytes(lane, arrays, n, received, there, false);

	rb_release(&lane->way->received.n, received + moved);
	return moved;
}

/* ---- blocks of ids ---- */

bool
rb_ids_write(rb_request *request, uint64 number, const rb_block *block)
{
	size_t slot = number % RB_SENT_BLOCKS;

	if (rb_acquire(&request->block[slot]) != 0)
		return false;
	request->pairs[slot] = (uint32) block->n;
	memcpy(request->ring.ids[slot].red, block->red, block->n * sizeof *block->red);
	memcpy(request->ring.ids[slot].blue, block->blue, block->n * sizeof *block->blue);
	if (block->payload != NULL)
		memcpy(request->ring.ids[slot].payload, block->payload,
			   block->n * block->words * sizeof *block->payload);
	rb_release(&request->block[slot], number + 1);
	return true;
}

bool
rb_ids_read(rb_request *request, uint64 number, rb_block *block)
{
	size_t slot = number % RB_SENT_BLOCKS;

	if (rb_acquire(&request->block[slot]) != number + 1)
		return false;
	block->red = request->ring.ids[slot].red;
	block->blue = request->ring.ids[slot].blue;
	block->words = (size_t) rb_payload_words(request->asked.job.predicate);
	block->payload = block->words > 0 ? request->ring.ids[slot].payload : NULL;
	block->n = request->pairs[slot];
	return true;
}

void
rb_ids_give_back(rb_request *request, uint64 number)
{
	rb_release(&request->block[number % RB_SENT_BLOCKS], 0);
}
