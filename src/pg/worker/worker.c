/*
 * worker.c
 *	  Implements the worker: the one process that has the device open and runs joins for all
 *	  sessions.
 *
 * It is started by the first session that needs it (session.c), or with the server if the library
 * is preloaded. It is not restarted automatically after its end; the next session that needs it
 * starts it. It ends when no request has arrived for redblue.worker_idle, when the device has
 * failed so that only a new process can open it, and on a shutdown request.
 *
 * Its main thread does all work that depends on PostgreSQL: latches, segments, signals,
 * pg_stat_activity. Each request has a thread of its own (serve.c), and so has opening the device.
 *
 * Sides that sessions cache here (side_store.c) are lost when the process ends. Memory left by
 * joins is offered to the kernel as soon as no join runs, and freed after ten seconds without one.
 *
 * On exit the worker stops all requests and waits briefly for them. A request that does not end
 * (because of a driver that hangs) is abandoned: it loses its segment, and the process ends without
 * the C library's exit handlers, which could wait for its thread.
 */
#include "pg/worker/protocol.h"

#include "lib/stringinfo.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/ps_status.h"

#include <signal.h>
#include <unistd.h>

#define RB_BUSY_MS 20
#define RB_OPENING_MS 5
#define RB_WARM_MS 250
#define RB_IDLE_MS 10000
#define RB_IDLE_BYTES (UINT64CONST(1) << 20) /* Idle memory that may be retained, in bytes */
#define RB_STOP_MS 500                       /* Time for requests to stop, in ms */
/*
 * Time for requests to end after the device has failed, in ms; sessions that submit a request
 * meanwhile wait longer (session.c)
 */
#define RB_LEAVING_MS 2000
#define RB_WORKER_NAME "redblue worker"

/* A request that is being served */
typedef struct rb_serving
{
	dlist_node node;
	dsm_segment *segment;
	rb_request *request;
	rb_served *served;
	rb_request_args asked;
} rb_serving;

static rb_service_block *block;
static uint32 my_number; /* Number of this worker */
static dlist_head serving = DLIST_STATIC_INIT(serving);
static rb_device_state device_state; /* State of the device as last published */

/* ---- starting the worker ---- */

void
rb_worker_describe(BackgroundWorker *worker, uint32 number)
{
	memset(worker, 0, sizeof *worker);
	worker->bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker->bgw_start_time = BgWorkerStart_ConsistentState;
	worker->bgw_restart_time = BGW_NEVER_RESTART;
	snprintf(worker->bgw_library_name, sizeof worker->bgw_library_name, "redblue");
	snprintf(worker->bgw_function_name, sizeof worker->bgw_function_name, "redblue_worker_main");
	snprintf(worker->bgw_name, sizeof worker->bgw_name, RB_WORKER_NAME);
	snprintf(worker->bgw_type, sizeof worker->bgw_type, RB_WORKER_NAME);
	/* The library that the worker loads may be a different build by then. */
	snprintf(worker->bgw_extra, sizeof worker->bgw_extra, "%s", rb_service_name());
	worker->bgw_main_arg = UInt32GetDatum(number);
}

/*
 * Registers the worker with the server if the library is preloaded and the plugin for the device is
 * installed.
 */
void
rb_service_install(void)
{
	BackgroundWorker worker;
	char why_not[100];

	if (!process_shared_preload_libraries_in_progress)
		return;
	rb_service_request_memory();
	if (!rb_device_installed(why_not, sizeof why_not))
		return;
	rb_worker_describe(&worker, 0);
	RegisterBackgroundWorker(&worker);
}

/* ---- end of the worker ---- */

/*
 * Detaches the segments of finished requests. If wait_ms > 0, waits up to that time until all have
 * finished.
 */
static void
reap_served_requests(double wait_ms)
{
	const double until = rb_now_ms() + wait_ms;
	dlist_mutable_iter iter;

	do
	{
		dlist_foreach_modify(iter, &serving)
		{
			rb_serving *s = dlist_container(rb_serving, node, iter.cur);

			if (!rb_served_ended(s->served))
				continue;
			rb_served_free(s->served);
			dlist_delete(&s->node);
			dsm_detach(s->segment);
			pfree(s);
		}
		if (wait_ms == 0 || dlist_is_empty(&serving))
			return;
		pg_usleep(2000);
	} while (rb_now_ms() < until);
}

/* Asks the threads of all requests to stop, without waiting for them. */
static void
stop_all_served_requests(void)
{
	dlist_iter iter;

	dlist_foreach(iter, &serving)
		rb_served_stop(dlist_container(rb_serving, node, iter.cur)->served);
}

/*
 * Stops and abandons all requests when the worker process exits, whatever the reason, before their
 * segments are detached.
 */
static void
abandon_requests_at_exit(int code, Datum arg)
{
	dlist_iter iter;

	rb_store_close();
	rb_service_leave(RB_WORKER_NONE);
	stop_all_served_requests();
	reap_served_requests(RB_STOP_MS);
	dlist_foreach(iter, &serving)
		rb_served_abandon(dlist_container(rb_serving, node, iter.cur)->served);
}

/*
 * Ends the process at once, so that no exit handler of a driver waits for one of its own threads.
 */
static void
end_worker_process(int code, Datum arg)
{
	_exit(code);
}

/* ---- requests ---- */

/* Takes the message of a mailbox slot and serves it; returns false if there is none. */
static bool
serve_post_of_mailbox(rb_post *post)
{
	uint64 word = rb_acquire(&post->word);
	char why_not[200];
	dsm_handle handle;
	rb_serving *s;

	if (RB_POST_STATE(word) != RB_POST_SENT ||
		!rb_claim(&post->word, &word, word - RB_POST_SENT + RB_POST_TAKEN))
		return false;
	handle = post->handle;
	word = word - RB_POST_SENT + RB_POST_TAKEN;
	(void) rb_claim(&post->word, &word, word - RB_POST_TAKEN + 4);
	s = MemoryContextAllocZero(TopMemoryContext, sizeof *s);
	s->segment = rb_segment_attach(handle, why_not, sizeof why_not);
	if (s->segment == NULL)
	{
		/* The session gets no reply and runs the join itself. */
		if (why_not[0] != '\0')
			ereport(LOG, (errmsg("redblue: could not accept a request: %s", why_not)));
		pfree(s);
		return true;
	}
	s->request = dsm_segment_address(s->segment);
	s->asked = s->request->asked;
	s->asked.function[sizeof s->asked.function - 1] = '\0';
	if (rb_asks_for_device(&s->asked))
		rb_device_begin();
	s->served = rb_serve(s->request, my_number);
	if (s->served == NULL)
	{
		dsm_detach(s->segment);
		pfree(s);
		return true;
	}
	dlist_push_tail(&serving, &s->node);
	return true;
}

/* Frees the slots that a worker had taken when it died. */
static void
free_posts_of_dead_worker(void)
{
	for (int i = 0; i < RB_POSTS; i++)
	{
		uint64 word = rb_acquire(&block->post[i].word);

		if (RB_POST_STATE(word) == RB_POST_TAKEN)
			(void) rb_claim(&block->post[i].word, &word, word - RB_POST_TAKEN + 4);
	}
}

/* Opens the device if a session wants it, and publishes its state if that has changed. */
static void
publish_state_of_device(void)
{
	const rb_backend *backend;
	char text[sizeof block->device_text];
	rb_device_state state;

	if (rb_acquire(&block->device_wanted) == my_number)
		rb_device_begin();
	state = rb_device_begun(&backend, text, sizeof text);
	/* The device closes by itself after a period without use. */
	if (state == RB_DEVICE_FOUND && backend->warm(0))
		state = RB_DEVICE_WARM;
	if (state != device_state)
		rb_service_set_device(block, state, text);
	device_state = state;
}

/* Updates the entry in pg_stat_activity. */
static void
report_worker_activity(void)
{
	static int before_n = -1;
	static int before_client = 0;
	static char before_function[NAMEDATALEN];
	rb_serving *first =
		dlist_is_empty(&serving) ? NULL : dlist_head_element(rb_serving, node, &serving);
	int n = 0;
	dlist_iter iter;
	StringInfoData text;

	dlist_foreach(iter, &serving) n++;
	if (n == before_n && (first == NULL || (first->asked.client == before_client &&
											strcmp(first->asked.function, before_function) == 0)))
		return;
	before_n = n;
	before_client = first == NULL ? 0 : first->asked.client;
	strlcpy(before_function, first == NULL ? "" : first->asked.function, sizeof before_function);
	if (first == NULL)
	{
		pgstat_report_activity(STATE_IDLE, "");
		set_ps_display("idle");
		return;
	}
	initStringInfo(&text);
	appendStringInfo(&text, "%s for process %d", first->asked.function, first->asked.client);
	if (n > 1)
		appendStringInfo(&text, ", and %d more", n - 1);
	pgstat_report_activity(STATE_RUNNING, text.data);
	set_ps_display(text.data);
	pfree(text.data);
}

/* ---- main loop ---- */

/*
 * Passes the limits of the settings for cached sides, in memory and on devices, to the worker's
 * store; called by the main loop.
 */
static void
apply_limits_to_store(void)
{
	rb_store_set_limits((uint64) rb_setting_cache_memory * 1024, rb_settings_get().gpu_cache_limit);
}

/* Returns idle memory to the system; no request has been served since `idle_since`. */
static void
give_back_idle_memory(double idle_since)
{
	static double offered; /* Idle period in which memory was already offered to the kernel */

	if (offered != idle_since)
		rb_memory_offer_idle();
	offered = idle_since;
	if (rb_now_ms() - idle_since >= RB_IDLE_MS)
		(void) rb_memory_drop_idle();
}

/* Returns how long the main loop may wait for a latch, in milliseconds. */
static long
wait_ms_of_main_loop(double idle_since, bool leaving)
{
	double left;

	if (!dlist_is_empty(&serving) || leaving)
		return RB_BUSY_MS;
	/* A session may be waiting for the device to open. */
	if (device_state == RB_DEVICE_OPENING)
		return RB_OPENING_MS;
	if (device_state == RB_DEVICE_WARM)
		return RB_WARM_MS;
	left = idle_since + rb_setting_worker_idle * 1000.0 - rb_now_ms();
	if (rb_memory_idle() > RB_IDLE_BYTES)
		left = Min(left, Max(idle_since + RB_IDLE_MS - rb_now_ms(), RB_WARM_MS));
	return (long) Max(0, Min(left, 60000)) + 1;
}

/* Serves requests until shutdown, until no request came for the set time, or the device failed. */
static void
serve_posts_until_idle(void)
{
	double idle_since = rb_now_ms();
	double leaving_since = 0;

	while (!ShutdownRequestPending)
	{
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
			apply_limits_to_store();
		}
		publish_state_of_device();
		for (int i = 0; i < RB_POSTS && leaving_since == 0; i++)
			if (serve_post_of_mailbox(&block->post[i]))
				idle_since = rb_now_ms();
		reap_served_requests(0);
		report_worker_activity();
		if (rb_served_device_failed() && leaving_since == 0)
			leaving_since = rb_now_ms();
		if (leaving_since > 0 &&
			(dlist_is_empty(&serving) || rb_now_ms() - leaving_since > RB_LEAVING_MS))
			return;
		/*
		 * The worker is not idle while the device opens, because a session may be waiting for it;
		 * load_backend.c limits the time.
		 */
		if (!dlist_is_empty(&serving) || device_state == RB_DEVICE_OPENING)
			idle_since = rb_now_ms();
		else if (rb_now_ms() - idle_since >= rb_setting_worker_idle * 1000.0)
			return;
		else
			give_back_idle_memory(idle_since);
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 wait_ms_of_main_loop(idle_since, leaving_since > 0), PG_WAIT_EXTENSION);
	}
}

pg_noreturn extern PGDLLEXPORT void redblue_worker_main(Datum arg);

void
redblue_worker_main(Datum arg)
{
	on_proc_exit(end_worker_process, 0);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGINT, PG_SIG_IGN);
	BackgroundWorkerUnblockSignals();
	if (strcmp(MyBgworkerEntry->bgw_extra, rb_service_name()) != 0)
		ereport(LOG,
				(errmsg("redblue: the library was replaced; sessions that use the old build get "
						"no background worker")));
	else if ((block = rb_service_find()) != NULL)
	{
		BackgroundWorkerInitializeConnection(NULL, NULL, 0);
		my_number = rb_service_enter(DatumGetUInt32(arg));
		if (my_number != 0)
		{
			before_shmem_exit(abandon_requests_at_exit, 0);
			rb_store_open(block, my_number);
			apply_limits_to_store();
			free_posts_of_dead_worker();
			if (DatumGetUInt32(arg) == 0)
				rb_release(&block->device_wanted, my_number);
			serve_posts_until_idle();
		}
	}
	if (rb_served_device_failed())
		ereport(LOG, (errmsg("redblue: the GPU failed, so the background worker exits")));
	proc_exit(rb_served_device_failed() ? 1 : 0);
}
