/*
 * registry.c
 *	  Implements the block through which sessions and the worker find each other, redblue_progress,
 *	  which shows the joins listed in it, and the segment of each request.
 *
 * The block takes a few kilobytes of the server's shared memory. If the library is preloaded, they
 * are requested at startup; otherwise they come from the reserve that every server has
 * (contrib/pg_prewarm also uses it), and without a reserve there is no worker. The block holds no
 * lock that a process could be forced to wait for (protocol.h).
 */
#include "pg/worker/protocol.h"

#include "core/exec/plugin.h"
#include "catalog/pg_authid.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/tuplestore.h"

#define NAME_LENGTH 48 /* Maximum length of a name in PostgreSQL's shared memory index */

static shmem_request_hook_type previous_request;

/*
 * Requests shared memory for the block through which sessions find the worker when the server
 * starts, as the shmem_request hook.
 */
static void
request_memory_of_registry(void)
{
	if (previous_request != NULL)
		previous_request();
	RequestAddinShmemSpace(MAXALIGN(sizeof(rb_service_block)));
}

void
rb_service_request_memory(void)
{
	rb_install_shmem_request(previous_request, request_memory_of_registry);
}

/* Returns a hash of all layouts that the two processes must agree on. */
static uint32
hash_shared_layouts(void)
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
		snprintf(name, sizeof name, "redblue %s %08x", RB_VERSION, hash_shared_layouts());
	return name;
}

/* Finds or creates the block; raises an error if there is no space for it. */
static rb_service_block *
find_or_make_shared_block(void)
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
 * Lack of space is not a reason to fail, so the error is caught without a subtransaction. When
 * ShmemInitStruct raises it, it has released everything except the lock that was taken here.
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
		block = find_or_make_shared_block();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
		/* The error has reset the interrupt holdoff count that LWLockRelease decrements. */
		HOLD_INTERRUPTS();
		LWLockRelease(AddinShmemInitLock);
	}
	PG_END_TRY();
	return block;
}

/* ---- the worker word ---- */

static uint64 my_word; /* Word of this process as a running worker, or 0 if it is not a worker */

uint32
rb_service_enter(uint32 number)
{
	rb_service_block *block = rb_service_find();
	uint64 word = rb_acquire(&block->worker);

	if (number == 0)
	{
		/* Started with the server, not by a session */
		if (RB_WORKER_STATE(word) != RB_WORKER_NONE)
			return 0;
		number = RB_WORKER_NUMBER(word) + 1;
	}
	else if (RB_WORKER_STATE(word) != RB_WORKER_STARTING || RB_WORKER_NUMBER(word) != number)
		return 0;
	my_word = RB_WORKER_WORD(number, MyProcPid, RB_WORKER_RUNNING);
	if (!rb_claim(&block->worker, &word, my_word))
		return 0;
	/*
	 * Publish the latch before the mailbox is read: a message sent earlier could not wake this
	 * process, but is seen now (rb_service_wake).
	 */
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

	/* Two threads may try this at once; retry unless the worker has already ended. */
	while (RB_SAME_WORKER(word, my_word) && !rb_claim(&block->worker, &word, next))
		;
}

/* ---- the state of the device, as published by the worker ---- */

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
	/* If another worker has begun to write, the state is unknown. */
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
		/* Change the word first, so that a process that reads the old text notices the change. */
		rb_release(&block->device, number << 3 | RB_DEVICE_OPENING);
		__atomic_thread_fence(__ATOMIC_RELEASE);
		strlcpy(block->device_text, text, sizeof block->device_text);
	}
	rb_release(&block->device, number << 3 | state);
}

/*
 * ---- progress ----
 *
 * Each open join has an entry in the shared block, which its process claims, writes and releases. A
 * reader that finds an entry being changed skips it. If all entries are in use, or if there is no
 * block, the join is not listed but runs normally.
 */

static rb_progress_entry *reading; /* Entry of the join whose sides are being read */

const char *
rb_progress_stage_name(int stage)
{
	static const char *const of_meshes[] = {"weld",  "validate", "tetrahedralize", "refine", "load",
											"check", "fill"};

	StaticAssertStmt(lengthof(of_meshes) == RB_MESH_STAGES - RB_MESH_WELD, "each has a name");
	return stage >= RB_MESH_WELD && stage < RB_MESH_STAGES ? of_meshes[stage - RB_MESH_WELD]
														   : rb_stage_name((rb_stage) stage);
}

rb_progress_entry *
rb_progress_begin(const char *function)
{
	rb_service_block *block = rb_service_find();

	for (int i = 0; block != NULL && i < RB_PROGRESS; i++)
	{
		rb_progress_entry *e = &block->progress[(MyProcPid + i) % RB_PROGRESS];
		int32 none = 0;

		if (rb_load(&e->pid) != 0 || !rb_claim(&e->pid, &none, MyProcPid))
			continue;
		rb_release(&e->change, e->change | 1);
		__atomic_thread_fence(__ATOMIC_RELEASE);
		e->role = GetSessionUserId();
		e->stage = RB_STAGE_READ;
		e->done = e->total = 0;
		strlcpy(e->function, function, sizeof e->function);
		rb_release(&e->change, e->change + 1);
		return e;
	}
	return NULL;
}

void
rb_progress_note(rb_progress_entry *e, int stage, uint64 done, uint64 total)
{
	if (e == NULL)
		return;
	rb_store(&e->stage, stage);
	rb_store(&e->done, done);
	rb_store(&e->total, total);
}

rb_progress_entry *
rb_progress_reading(rb_progress_entry *e)
{
	rb_progress_entry *before = reading;

	reading = e;
	return before;
}

void
rb_progress_read(uint64 done, uint64 total)
{
	rb_progress_note(reading, RB_STAGE_READ, done, total);
}

void
rb_progress_end(rb_progress_entry **e)
{
	if (*e == NULL)
		return;
	if (reading == *e)
		reading = NULL;
	rb_release(&(*e)->change, (*e)->change | 1);
	rb_release(&(*e)->pid, 0);
	*e = NULL;
}

/* Copies an entry; returns false if it is unused or being changed. */
static bool
copy_entry_of_progress(rb_progress_entry *e, rb_progress_entry *copy)
{
	uint32 before = rb_acquire(&e->change);

	memcpy(copy, e, sizeof *copy);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	copy->function[sizeof copy->function - 1] = '\0';
	/* The version is 0 if the entry was claimed for the first time and is still empty. */
	return copy->pid != 0 && before != 0 && (before & 1) == 0 && rb_load(&e->change) == before;
}

/* Applies the visibility rule of pg_stat_activity. */
static bool
may_see_progress_entry(Oid role)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
		   has_privs_of_role(GetUserId(), role);
}

PG_FUNCTION_INFO_V1(redblue_progress);

Datum
redblue_progress(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	rb_service_block *block = rb_service_find();

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; block != NULL && i < RB_PROGRESS; i++)
	{
		rb_progress_entry e;
		Datum values[5];
		bool nulls[5] = {false};

		if (!copy_entry_of_progress(&block->progress[i], &e) || !may_see_progress_entry(e.role))
			continue;
		values[0] = Int32GetDatum(e.pid);
		values[1] = CStringGetTextDatum(e.function);
		values[2] = CStringGetTextDatum(rb_progress_stage_name(e.stage));
		values[3] = Int64GetDatum((int64) e.done);
		values[4] = Int64GetDatum((int64) e.total);
		nulls[4] = e.total == 0;
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* ---- segments of requests ---- */

/*
 * Failure to create or attach a segment is not an error. PostgreSQL raises one if it cannot create
 * a segment (/dev/shm is full, too many files are open). At that point it holds no lock, and its
 * resources belong to the current resource owner. A resource owner is therefore created for this
 * one call, and releasing it has the same effect as the end of a transaction. A segment that was
 * created lives until it is detached.
 */

/* doc/reference.md states how many joins fit into the shared memory of a container. */
StaticAssertDecl(sizeof(rb_request) <= 1600000, "a request takes about 1.5 MB of shared memory");

/* Creates a segment if handle is DSM_HANDLE_INVALID, or attaches that one. */
static dsm_segment *
get_request_segment(dsm_handle handle, char *why_not, size_t size)
{
	const bool make = handle == DSM_HANDLE_INVALID;
	dsm_segment *segment =
		make ? dsm_create(sizeof(rb_request), DSM_CREATE_NULL_IF_MAXSEGMENTS) : dsm_attach(handle);

	if (segment != NULL)
		dsm_pin_mapping(segment);
	else
		strlcpy(why_not, make ? "too many segments are in use" : "", size);
	return segment;
}

/* Attaches to a segment, or returns NULL and stores the reason. */
static dsm_segment *
try_request_segment(dsm_handle handle, char *why_not, size_t size)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner before = CurrentResourceOwner;
	ResourceOwner owner = ResourceOwnerCreate(before, "redblue request");
	const bool top = before == NULL; /* True between transactions and in the worker */
	dsm_segment *volatile segment = NULL;

	CurrentResourceOwner = owner;
	PG_TRY();
	{
		segment = get_request_segment(handle, why_not, size);
	}
	PG_CATCH();
	{
		ErrorData *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		snprintf(why_not, size, "%s", error->message);
		FreeErrorData(error);
	}
	PG_END_TRY();
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_BEFORE_LOCKS, segment != NULL, top);
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_LOCKS, segment != NULL, top);
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_AFTER_LOCKS, segment != NULL, top);
	CurrentResourceOwner = before;
	ResourceOwnerDelete(owner);
	return segment;
}

dsm_segment *
rb_segment_create(char *why_not, size_t size)
{
	return try_request_segment(DSM_HANDLE_INVALID, why_not, size);
}

dsm_segment *
rb_segment_attach(dsm_handle handle, char *why_not, size_t size)
{
	return try_request_segment(handle, why_not, size);
}
