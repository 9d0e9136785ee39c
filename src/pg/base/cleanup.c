/*
 * cleanup.c
 *	  Closes joins and meshes with their memory context, or before their process ends, and frees
 *	  idle memory.
 *
 * A process that exits need not reset the memory context of a run, because a function may be called
 * where no end of a transaction cleans up. Everything that is still open is therefore closed before
 * the process detaches from shared memory, which the worker and a reader thread use, and before the
 * exit handlers of the C library run, which must find no other thread.
 *
 * Memory that the core keeps for the next join (memory.c) is offered to the kernel when nothing is
 * open, and is freed after nothing was open for ten seconds, whatever else the session does. The
 * server has no hook in a session that waits for its client, but it has timeouts. Their handlers
 * run inside a signal handler, so the handler here only unmaps memory, and does nothing if an
 * allocation or a release is in progress. An ERROR disarms all timeouts; the end of each
 * transaction and the abort of each subtransaction therefore enable the timeout again.
 */
#include "pg/base/cleanup.h"

#include "access/xact.h"
#include "storage/ipc.h"
#include "utils/memutils.h"
#include "utils/timeout.h"

#define RB_IDLE_MS 10000
#define RB_IDLE_BYTES (UINT64CONST(1) << 20) /* Idle bytes that need not be freed */

static dlist_head all_open = DLIST_STATIC_INIT(all_open);

/* ---- the memory of a call ---- */

MemoryContext
rb_call_enter(void)
{
	return MemoryContextSwitchTo(
		AllocSetContextCreate(CurrentMemoryContext, "redblue call", ALLOCSET_DEFAULT_SIZES));
}

void
rb_call_leave(MemoryContext caller)
{
	MemoryContextDelete(MemoryContextSwitchTo(caller));
}

/* ---- open joins and meshes ---- */

/* Closes all registered joins and meshes before the process ends. */
static void
close_all_registered_at_exit(int code, Datum arg)
{
	while (!dlist_is_empty(&all_open))
	{
		rb_cleanup *open = dlist_head_element(rb_cleanup, node, &all_open);

		open->close(open->arg);
	}
}

void
rb_cleanup_register(rb_cleanup *open, MemoryContext context, void (*close)(void *), void *arg)
{
	static bool registered = false;

	if (!registered)
		before_shmem_exit(close_all_registered_at_exit, 0);
	registered = true;
	open->close = close;
	open->arg = arg;
	dlist_push_head(&all_open, &open->node);
	open->at_end.func = close;
	open->at_end.arg = arg;
	MemoryContextRegisterResetCallback(context, &open->at_end);
}

void
rb_cleanup_unregister(rb_cleanup *open)
{
	if (open->node.next != NULL)
		dlist_delete(&open->node);
	open->node.next = NULL;
}

/* ---- idle memory ---- */

static bool idle_registered = false;
static TimeoutId idle_timeout;

/*
 * Frees idle memory, inside a signal handler. Does nothing while a join or mesh is open, because it
 * may use the memory; the timeout is set again when it is closed.
 */
static void
drop_idle_memory(void)
{
	if (dlist_is_empty(&all_open))
		(void) rb_memory_drop_idle();
}

/* Starts the timeout. With `restart`, restarts a timeout that is already active. */
static void
start_idle_memory_timeout(bool restart)
{
	if (rb_memory_idle() <= RB_IDLE_BYTES)
		return;
	if (!idle_registered)
		idle_timeout = RegisterTimeout(USER_TIMEOUT, drop_idle_memory);
	idle_registered = true;
	if (restart || !get_timeout_active(idle_timeout))
		enable_timeout_after(idle_timeout, RB_IDLE_MS);
}

/* Starts the timeout for idle memory at the end of a transaction, unless it is active. */
static void
watch_idle_at_transaction_end(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		start_idle_memory_timeout(false);
}

/* Starts the timeout for idle memory when a subtransaction aborts, unless it is active. */
static void
watch_idle_at_sub_end(SubXactEvent event, SubTransactionId sub, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		start_idle_memory_timeout(false);
}

void
rb_cleanup_install(void)
{
	RegisterXactCallback(watch_idle_at_transaction_end, NULL);
	RegisterSubXactCallback(watch_idle_at_sub_end, NULL);
}

void
rb_cleanup_release_idle(void)
{
	if (!dlist_is_empty(&all_open))
		return;
	rb_memory_offer_idle();
	start_idle_memory_timeout(true);
}
