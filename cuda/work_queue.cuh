/*
 * work_queue.cuh
 *	  Distributes work items to thread blocks, for triangles (triangle_join.cu) and for all other
 *	  kinds (box_join.cu).
 *
 * A block takes work items until none is left. Before it takes an item, it reserves space in the
 * pool for all output that the item can yield, and afterwards it returns what the item did not use.
 * A block that gets no space leaves the remaining items to the next launch. So no pair is lost or
 * reported twice.
 */
#ifndef RB_CUDA_WORK_QUEUE_CUH
#define RB_CUDA_WORK_QUEUE_CUH

#include "cuda.cuh"

/* Work items of a block, in shared memory */
typedef struct rb_claimed_items
{
	rb_count number; /* Index of the next item; nitems or more if no item is left */
	rb_count end;    /* End of the range of claimed items */
	uint32_t made;   /* Amount of the reservation that was used */
} rb_claimed_items;

/*
 * Claims the next items, if any are left; called by thread 0. While the block works, it holds a
 * reservation of `reserve` for each item.
 */
static __device__ void
claim_next_items(const rb_cells_args *args, rb_claimed_items *t, rb_count reserve, bool first)
{
	rb_launch_tally *tally = args->pool.tally;
	const rb_count more = first ? reserve * args->batch : t->made;
	/* Issue three reads at once, because each has the latency of several hundred tests. */
	const rb_count full = rb_peek(&tally->full);
	const uint32_t stop = rb_peek(args->stop);
	/* Top up the reservation by the amount that the last items used. */
	const rb_count reserved = more > 0 ? atomicAdd(&tally->reserved, more) + more : 0;

	t->number = args->nitems;
	if (reserved > args->pool.capacity)
		rb_poke(&tally->full, 1);
	/*
	 * If one block finds no space, the launch ends: the few blocks that could continue would be
	 * slow.
	 */
	else if (full == 0 && stop == 0)
		t->number = atomicAdd(args->next, (rb_count) args->batch);
	t->end = t->number + args->batch < args->nitems ? t->number + args->batch : args->nitems;
	if (t->number >= args->nitems)
		atomicAdd(&tally->reserved, ~(reserve * args->batch) + 1);
	t->made = 0;
}

/*
 * Ownership of pairs (grid.h), for 32 blue objects at once: word a is a bit set of the objects
 * that do not start in the cell on axis a. If the red object does not start there either, another
 * cell owns their pairs.
 */
#define RB_NO_ENTRY (RB_STARTS_ALL << RB_INDEX_BITS)

/*
 * Stores the ownership words of 32 objects. All lanes must call it; slots beyond the end pass
 * RB_NO_ENTRY.
 */
static __device__ __forceinline__ void
store_ownership_of_objects(uint32_t word[3], uint32_t entry)
{
	for (int a = 0; a < 3; a++)
	{
		const uint32_t missing = __ballot_sync(~0u, (entry >> (RB_INDEX_BITS + a) & 1) == 0);

		if ((threadIdx.x & 31) == 0)
			word[a] = missing;
	}
}

/* Returns a bit set of the blue objects whose pair with this red one is owned by another cell. */
static __device__ __forceinline__ uint32_t
pairs_owned_by_other_cells(const uint32_t word[3], uint32_t red_entry)
{
	uint32_t bits = 0;

	for (int a = 0; a < 3; a++)
		if ((red_entry >> (RB_INDEX_BITS + a) & 1) == 0)
			bits |= word[a];
	return bits;
}

#endif /* RB_CUDA_WORK_QUEUE_CUH */
