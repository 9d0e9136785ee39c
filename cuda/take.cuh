/*
 * take.cuh
 *	  How a block of threads comes by work: the same for triangles (cells.cu) and for
 *	  everything else (boxes.cu).
 *
 * A block takes one work item after the other until there are none.  Before it
 * takes one it reserves room in the pool for all that an item can ever give, and
 * gives back what the item did not use; a block that gets no room leaves the rest to
 * the next launch.  So nothing is ever lost or done twice.
 */
#ifndef RB_TAKE_CUH
#define RB_TAKE_CUH

#include "rb_cuda.cuh"

/* in shared memory: what a block works on */
typedef struct rb_taken
{
	rb_count number; /* of the next item; at the end or beyond: no more */
	rb_count end;    /* of those that were taken */
	uint32_t made;   /* of what was reserved for them */
} rb_taken;

/*
 * Thread 0: the next items, or none.  The block holds a reservation of `reserve` for
 * each while it works.
 */
static __device__ void
items_take(const rb_cells_args *args, rb_taken *t, rb_count reserve, bool first)
{
	rb_tally *tally = args->pool.tally;
	const rb_count more = first ? reserve * args->batch : t->made;
	/* three questions at once: each answer takes as long as some hundred tests */
	const rb_count full = rb_peek(&tally->full);
	const uint32_t stop = rb_peek(args->stop);
	/* top the reservation up by what the last items used of it */
	const rb_count reserved = more > 0 ? atomicAdd(&tally->reserved, more) + more : 0;

	t->number = args->nitems;
	if (reserved > args->pool.capacity)
		rb_poke(&tally->full, 1);
	/* when one block finds no room the launch ends: a few that go on would be slow */
	else if (full == 0 && stop == 0)
		t->number = atomicAdd(args->next, (rb_count) args->batch);
	t->end = t->number + args->batch < args->nitems ? t->number + args->batch : args->nitems;
	if (t->number >= args->nitems)
		atomicAdd(&tally->reserved, ~(reserve * args->batch) + 1);
	t->made = 0;
}

/*
 * Who owns a pair (rb_grid.h), for 32 blue objects at once: word a has the bits of
 * those that do not start in the cell on axis a.  A red object that does not start
 * there either leaves their pairs to another cell.
 */
#define RB_NO_ENTRY (RB_STARTS_ALL << RB_INDEX_BITS)

/* all lanes of a warp; slots beyond the end have RB_NO_ENTRY */
static __device__ __forceinline__ void
elsewhere_store(uint32_t word[3], uint32_t entry)
{
	for (int a = 0; a < 3; a++)
	{
		const uint32_t missing = __ballot_sync(~0u, (entry >> (RB_INDEX_BITS + a) & 1) == 0);

		if ((threadIdx.x & 31) == 0)
			word[a] = missing;
	}
}

/* the blue ones whose pair with this red one belongs elsewhere */
static __device__ __forceinline__ uint32_t
elsewhere(const uint32_t word[3], uint32_t red_entry)
{
	uint32_t bits = 0;

	for (int a = 0; a < 3; a++)
		if ((red_entry >> (RB_INDEX_BITS + a) & 1) == 0)
			bits |= word[a];
	return bits;
}

#endif /* RB_TAKE_CUH */
