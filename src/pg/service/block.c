/*
 * block.c
 *	  The block through which sessions and the worker find each other.
 *
 * A few kilobytes of the server's shared memory.  Where the library is preloaded they
 * are asked for; where it is not they come out of the slack that every server has
 * (contrib/pg_prewarm lives on that as well), and where there is no slack there is no worker.
 * It holds nothing that somebody could be made to wait for (rb_service.h).
 */
#include "pg/service/rb_service.h"

#include "core/out/rb_services.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#define NAME_LENGTH 48 /* of PostgreSQL's index of shared memory */

static shmem_request_hook_type previous_request;

static void
request_memory(void)
{
	if (previous_request != NULL)
		previous_request();
	RequestAddinShmemSpace(MAXALIGN(sizeof(rb_service_block)));
}

void
rb_service_request_memory(void)
{
	rb_install_shmem_request(previous_request, request_memory);
}

/* everything whose layout the two processes must agree on */
static uint32
layout(void)
{
	const rb_abi abi = RB_ABI;
	uint32 hash = RB_PROTOCOL;

	for (size_t i = 0; i < lengthof(abi.size); i++)
		hash = hash * 16777619u ^ abi.size[i];
	hash = hash * 16777619u ^ abi.version;
	hash = hash * 16777619u ^ (uint32) sizeof(rb_service_block);
	return hash * 16777619u ^ (uint32) sizeof(rb_request);
}

const char *
rb_service_name(void)
{
	static char name[NAME_LENGTH];

	if (name[0] == '\0')
		snprintf(name, sizeof name, "redblue %s %08x", RB_VERSION, layout());
	return name;
}

/* raises an error where there is no room for it */
static rb_service_block *
find_or_make(void)
{
	rb_service_block *block;
	bool found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	block = ShmemInitStruct(rb_service_name(), sizeof *block, &found);
	if (!found)
		memset(block, 0, sizeof *block);
	LWLockRelease(AddinShmemInitLock);
	return block;
}

/*
 * That there is no room is no reason to fail, so the error is caught without a
 * subtransaction.  ShmemInitStruct raises it when it has let go of all but the lock that
 * was taken here.
 */
rb_service_block *
rb_service_find(void)
{
	static rb_service_block *volatile block;
	static volatile bool tried;
	MemoryContext context = CurrentMemoryContext;

	if (tried || !IsUnderPostmaster)
		return block;
	tried = true;
	PG_TRY();
	{
		block = find_or_make();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
		/* the error has reset the count that LWLockRelease takes one from */
		HOLD_INTERRUPTS();
		LWLockRelease(AddinShmemInitLock);
	}
	PG_END_TRY();
	return block;
}

/* ---- the worker's word ---- */

static uint64 my_word; /* as it runs; 0: this process is no worker */

uint32
rb_service_enter(uint32 number)
{
	rb_service_block *block = rb_service_find();
	uint64 word = rb_acquire(&block->worker);

	if (number == 0)
	{
		/* started with the server, by nobody */
		if (RB_WORKER_STATE(word) != RB_WORKER_NONE)
			return 0;
		number = RB_WORKER_NUMBER(word) + 1;
	}
	else if (RB_WORKER_STATE(word) != RB_WORKER_STARTING || RB_WORKER_NUMBER(word) != number)
		return 0;
	my_word = RB_WORKER_WORD(number, MyProcPid, RB_WORKER_RUNNING);
	if (!rb_claim(&block->worker, &word, my_word))
		return 0;
	/* a post that came before this has not woken us, but is seen now: see rb_service_wake */
	rb_release(&block->latch, MyLatch);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return number;
}

void
rb_service_wake(rb_service_block *block)
{
	Latch *latch;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	latch = rb_acquire(&block->latch);
	if (latch != NULL)
		SetLatch(latch);
}

void
rb_service_leave(rb_worker_state state)
{
	rb_service_block *block = rb_service_find();
	uint64 word = rb_acquire(&block->worker);
	uint64 next = state == RB_WORKER_NONE
					  ? RB_WORKER_WORD(RB_WORKER_NUMBER(my_word), 0, state)
					  : RB_WORKER_WORD(RB_WORKER_NUMBER(my_word), RB_WORKER_PID(my_word), state);

	/* two threads may want it at once; what is no more does not become anything else */
	while (RB_SAME_WORKER(word, my_word) && !rb_claim(&block->worker, &word, next))
		;
}

/* ---- the device, as the worker has found it ---- */

rb_device_state
rb_service_device(rb_service_block *block, uint64 worker, char *text, size_t size)
{
	uint64 word = rb_acquire(&block->device);
	char copy[sizeof block->device_text];

	text[0] = '\0';
	if (word >> 3 != RB_WORKER_NUMBER(worker))
		return RB_DEVICE_UNKNOWN;
	memcpy(copy, block->device_text, sizeof copy);
	copy[sizeof copy - 1] = '\0';
	/* another worker is at it: what it will find is not known */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (rb_load(&block->device) != word)
		return RB_DEVICE_UNKNOWN;
	strlcpy(text, copy, size);
	return (rb_device_state) (word & 7);
}

void
rb_service_set_device(rb_service_block *block, rb_device_state state, const char *text)
{
	uint64 number = RB_WORKER_NUMBER(my_word);

	if (strcmp(block->device_text, text) != 0)
	{
		/* whoever reads the text that was there will see that it has changed */
		rb_release(&block->device, number << 3 | RB_DEVICE_OPENING);
		__atomic_thread_fence(__ATOMIC_RELEASE);
		strlcpy(block->device_text, text, sizeof block->device_text);
	}
	rb_release(&block->device, number << 3 | state);
}
