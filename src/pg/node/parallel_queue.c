/*
 * parallel_queue.c
 *	  Passes pairs to parallel workers through a ring buffer in shared memory that one thread fills.
 *
 *    leader's process                 shared memory             leader, workers
 *    rb_stream -> pump thread -> [full][full][free]... -> rb_pair_queue_read
 *
 * Workers never join; they only take blocks of ids. The pump is a thread of the leader, separate
 * from its plan, because the leader may be busy elsewhere or may be waiting for the very workers
 * that wait for pairs.
 *
 * There is one producer and there are many consumers, but no lock, because a process may be killed
 * at any point. Block i lies in slot i % RB_SLOTS. A consumer claims the next block number and
 * waits until the slot holds that block. The producer waits until the consumer of block i -
 * RB_SLOTS has freed the slot of block i. The field slot.block expresses both states: it is i + 1
 * once block i is available, and 0 after the block has been copied out. Waiting processes sleep for
 * 0.2 ms at most at a time; consumers check for interrupts in between.
 *
 * The status of the join follows the last block. Every participant that reaches the end checks it,
 * so a failed join is never mistaken for one that found no more pairs.
 */
#include "pg/base/helper_thread.h"
#include "pg/node/node.h"
#include "pg/spill/spill.h"
#include "core/base/parallel.h"

#define RB_SLOTS 64
#define RB_LONGEST_US 200 /* Longest wait of either side, in microseconds */
#define RB_PUMP_STACK ((size_t) 256 << 10)
#define RB_NOT_ENDED UINT64_MAX

typedef struct rb_slot
{
	uint64 block;
	uint32 n;
	int64 red[RB_QUEUE_PAIRS];
	int64 blue[RB_QUEUE_PAIRS];
	uint64 payload[RB_QUEUE_PAIRS];
} rb_slot;

struct rb_pair_queue
{
	uint64 claimed; /* Number of blocks that consumers have taken or are waiting for */
	uint64 end;     /* Number of blocks, or RB_NOT_ENDED if not known yet */
	rb_error error; /* Error of the join, valid once `end` is set */
	rb_slot slots[RB_SLOTS];
};

struct rb_pump
{
	rb_join_run *run;
	rb_pair_queue *share;
	pthread_t thread;
	bool started;
	int stop;
	MemoryContextCallback at_end;
};

Size
rb_pair_queue_size(void)
{
	return sizeof(rb_pair_queue);
}

void
rb_pair_queue_init(rb_pair_queue *share)
{
	memset(share, 0, sizeof *share);
	share->end = RB_NOT_ENDED;
}

/* ---- producer: the pump thread, which calls no PostgreSQL function ---- */

/* Returns true if the leader no longer needs the pairs that the pump thread writes. */
static bool
is_pump_stopped(const rb_pump *pump)
{
	return rb_acquire(&pump->stop) != 0;
}

/*
 * Returns the number of pairs that fit in a slot of the shared ring if each has a payload of
 * `words` words.
 */
static size_t
pairs_per_shared_slot(size_t words)
{
	return words > 1 ? RB_QUEUE_PAIRS / words : RB_QUEUE_PAIRS;
}

/* Copies pairs of a block into the next slot of the ring. Returns false if the pump was stopped. */
static bool
copy_pairs_to_ring_slot(rb_pump *pump, const rb_block *block, size_t from, uint64 *blocks)
{
	const size_t n = Min(block->n - from, pairs_per_shared_slot(block->words));
	rb_slot *slot = &pump->share->slots[*blocks % RB_SLOTS];
	int idle = 0;

	while (rb_acquire(&slot->block) != 0)
	{
		if (is_pump_stopped(pump))
			return false;
		rb_wait_backoff(&idle, RB_LONGEST_US);
	}
	slot->n = (uint32) n;
	memcpy(slot->red, block->red + from, n * sizeof *block->red);
	memcpy(slot->blue, block->blue + from, n * sizeof *block->blue);
	if (block->payload != NULL)
		memcpy(slot->payload, block->payload + from * block->words,
			   n * block->words * sizeof *block->payload);
	(*blocks)++;
	rb_release(&slot->block, *blocks);
	return true;
}

/*
 * Writes a block of pairs to as many slots of the ring as it needs. Returns false if the pump was
 * stopped.
 */
static bool
write_block_to_ring(rb_pump *pump, const rb_block *block, uint64 *blocks)
{
	for (size_t i = 0; i < block->n; i += pairs_per_shared_slot(block->words))
		if (!copy_pairs_to_ring_slot(pump, block, i, blocks))
			return false;
	return true;
}

/* Writes blocks of pairs to the ring until the join ends or the pump is stopped. */
static void *
run_pump_thread(void *arg)
{
	rb_pump *pump = arg;
	rb_pair_queue *share = pump->share;
	uint64 blocks = 0;
	rb_status status = RB_OK;
	rb_block block;

	while (status == RB_OK && !is_pump_stopped(pump))
	{
		status = rb_run_wait(pump->run, 20, &block);
		if (status == RB_OK && !write_block_to_ring(pump, &block, &blocks))
			break;
	}
	if (status == RB_OK)
		status = RB_STOPPED;
	if (status != RB_END)
		share->error = rb_run_error(pump->run);
	share->error.status = status;
	rb_release(&share->end, blocks);
	return NULL;
}

/* ---- start and stop of the pump, in the leader's main thread ---- */

/* Stops the pump thread before its execution closes or its memory context is reset. */
static void
stop_pump_at_end(void *pump)
{
	rb_pump_stop(pump);
}

/*
 * Starts the pump in the current memory context, which must be that of the run. The queue must
 * outlive the pump.
 */
rb_pump *
rb_pump_start(rb_join_run *run, rb_pair_queue *share)
{
	rb_pump *pump = palloc0(sizeof *pump);

	rb_run_stay_here(run);
	pump->run = run;
	pump->share = share;
	if (rb_thread_start(&pump->thread, RB_PUMP_STACK, run_pump_thread, pump) != 0)
	{
		rb_error error = {RB_NO_THREAD, 0, 0, ""};

		rb_raise(run->join->function, RB_NO_THREAD, &error);
	}
	pump->started = true;
	run->stop_reader = stop_pump_at_end;
	run->reader = pump;
	/* Callbacks run in reverse order, so that of the pump runs before that of the run. */
	pump->at_end.func = stop_pump_at_end;
	pump->at_end.arg = pump;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &pump->at_end);
	return pump;
}

/*
 * Stops the pump. Afterwards the ring receives no more pairs, and the thread no longer accesses the
 * run or the queue.
 */
void
rb_pump_stop(rb_pump *pump)
{
	if (!pump->started)
		return;
	rb_release(&pump->stop, 1);
	pthread_join(pump->thread, NULL);
	pump->started = false;
	rb_spill_report_blocks(pump->run->spill);
}

/* ---- consumers ---- */

/*
 * Copies the next block out of the ring, with n = 0 at the end. Raises the error of a failed join.
 */
void
rb_pair_queue_read(rb_pair_queue *share, const char *function, rb_block *to)
{
	uint64 block = rb_add(&share->claimed, 1);
	rb_slot *slot = &share->slots[block % RB_SLOTS];
	int idle = 0;

	to->n = 0;
	while (rb_acquire(&slot->block) != block + 1)
	{
		if (rb_acquire(&share->end) <= block)
		{
			/* RB_STOPPED means that the leader needs no more pairs. */
			if (share->error.status != RB_END && share->error.status != RB_STOPPED)
				rb_raise(function, share->error.status, &share->error);
			return;
		}
		CHECK_FOR_INTERRUPTS();
		rb_wait_backoff(&idle, RB_LONGEST_US);
	}
	to->n = slot->n;
	memcpy(to->red, slot->red, to->n * sizeof *to->red);
	memcpy(to->blue, slot->blue, to->n * sizeof *to->blue);
	if (to->payload != NULL)
		memcpy(to->payload, slot->payload, to->n * to->words * sizeof *to->payload);
	rb_release(&slot->block, 0);
}
