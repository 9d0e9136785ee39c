/*
 * open.c
 *	  What is open, a join or a mesh, is closed before its process ends; what is idle goes.
 *
 * A process that exits need not reset the memory context that a run is in (a function may be
 * called where no transaction's end cleans up), so what is still open is closed
 * before shared memory is left, which the worker and a taker's thread use, and before
 * the C library's exit handlers run: they are to find no thread but this one.
 *
 * What the core keeps for the next join (memory.c) is offered to the kernel when nothing is
 * open, and is gone when nothing was for ten seconds, whatever else the session does meanwhile.
 * The server has no hook in a session that waits for its client, but it has timeouts.  Their
 * handlers run in a signal, so this one does nothing but unmap, and nothing if memory is just
 * being taken or given.  An ERROR disarms all timeouts: the end of each (sub)transaction sees
 * to it that there is one.
 */
#include "pg/base/rb_pg.h"

#include "access/xact.h"
#include "storage/ipc.h"
#include "utils/timeout.h"

#define RB_IDLE_MS 10000
#define RB_IDLE_BYTES (UINT64CONST(1) << 20) /* so little may stay */

static dlist_head all_open = DLIST_STATIC_INIT(all_open);

/* ---- open ---- */

static void
close_at_exit(int code, Datum arg)
{
	while (!dlist_is_empty(&all_open))
	{
		rb_open *open = dlist_head_element(rb_open, node, &all_open);

		open->close(open->arg);
	}
}

void
rb_open_begin(rb_open *open, void (*close)(void *), void *arg)
{
	static bool registered = false;

	if (!registered)
		before_shmem_exit(close_at_exit, 0);
	registered = true;
	open->close = close;
	open->arg = arg;
	dlist_push_head(&all_open, &open->node);
}

void
rb_open_end(rb_open *open)
{
	if (open->node.next != NULL)
		dlist_delete(&open->node);
	open->node.next = NULL;
}

/* ---- idle memory ---- */

static bool idle_registered = false;
static TimeoutId idle_timeout;

/* in a signal: who is open needs what he finds, and its end sets the clock anew */
static void
drop_idle(void)
{
	if (dlist_is_empty(&all_open))
		(void) rb_memory_drop_idle();
}

/* in ten seconds; sooner, where the clock runs already and is not to be set anew */
static void
watch_idle(bool anew)
{
	if (rb_memory_idle() <= RB_IDLE_BYTES)
		return;
	if (!idle_registered)
		idle_timeout = RegisterTimeout(USER_TIMEOUT, drop_idle);
	idle_registered = true;
	if (anew || !get_timeout_active(idle_timeout))
		enable_timeout_after(idle_timeout, RB_IDLE_MS);
}

static void
watch_at_end(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		watch_idle(false);
}

static void
watch_at_end_of_sub(SubXactEvent event, SubTransactionId sub, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		watch_idle(false);
}

void
rb_open_install(void)
{
	RegisterXactCallback(watch_at_end, NULL);
	RegisterSubXactCallback(watch_at_end_of_sub, NULL);
}

void
rb_open_ended(void)
{
	if (!dlist_is_empty(&all_open))
		return;
	rb_memory_offer_idle();
	watch_idle(true);
}
