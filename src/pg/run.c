/*
 * run.c
 *	  One call's join: open (read the sides, start), next batch, close.
 *
 * Everything that a join holds, memory of the core and threads alike, hangs on an
 * rb_run, which lives in a memory context.  When that context goes, be it at the
 * end of the query or because of an ERROR, a cancel or the end of the session,
 * its callback closes the run: first the stream, which waits for its threads,
 * then the memory.  So no path out of here leaks.
 *
 * A process that exits need not reset the context that a run is in (a function may be
 * called where no transaction's end cleans up), so what is still open is closed
 * before the C library's exit handlers run: they are to find no thread but this one.
 * And a session that idles gives back what the core keeps for its next join.
 *
 * rb_run_next waits in slices of 20 ms and looks for interrupts between them.
 */
#include "rb_pg.h"

#include "access/relation.h"
#include "access/xact.h"
#include "executor/spi.h"
#include "storage/ipc.h"
#include "utils/memutils.h"

#include <time.h>

#define RB_WAIT_MS 20
#define RB_IDLE_BYTES (UINT64CONST(4) << 20) /* kept from one transaction to the next */

static dlist_head open_runs = DLIST_STATIC_INIT(open_runs);

double
rb_clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

static void
close_at_end(void *run)
{
	rb_run_close(run);
}

static void
close_at_exit(int code, Datum arg)
{
	while (!dlist_is_empty(&open_runs))
		rb_run_close(dlist_head_element(rb_run, node, &open_runs));
}

static void
note_open(rb_run *run)
{
	static bool registered = false;

	if (!registered)
		on_proc_exit(close_at_exit, 0);
	registered = true;
	dlist_push_head(&open_runs, &run->node);
}

/* whatever the event: the runs of a transaction are closed when it has ended */
static void
trim_at_end(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE ||
		event == XACT_EVENT_PARALLEL_COMMIT || event == XACT_EVENT_PARALLEL_ABORT)
		rb_memory_trim(RB_IDLE_BYTES);
}

void
rb_run_install(void)
{
	RegisterXactCallback(trim_at_end, NULL);
}

static void
reading_context(void *arg)
{
	const rb_source *source = arg;

	/* a SELECT that is run tells itself what it is */
	if (OidIsValid(source->heap))
		errcontext("reading the %s side of %s: %s", source->side, source->function, source->sql);
	else
		errcontext("reading the %s side of %s", source->side, source->function);
}

/* runs one SELECT, read-only, as the caller, on the snapshot of the statement around it */
static void
run_select(const rb_source *source, DestReceiver *receiver)
{
	SPIExecuteOptions options;
	int rc;

	memset(&options, 0, sizeof options);
	options.read_only = true;
	options.must_return_tuples = true;
	options.dest = receiver;
	rc = SPI_execute_extended(source->sql, &options);
	if (rc < 0)
		elog(ERROR, "%s: SPI_execute_extended: %s", source->function, SPI_result_code_string(rc));
}

/*
 * A text that claims to read runs as in a read-only transaction, so that no function
 * in it writes either.  (Read-only SPI looks at the text alone.)  No subtransaction is
 * needed: nobody catches an error without one of his own, whose end sets the mode back.
 */
static void
run_query(const rb_source *source, DestReceiver *receiver)
{
	bool before = XactReadOnly;

	PG_TRY();
	{
		XactReadOnly = true;
		run_select(source, receiver);
	}
	PG_FINALLY();
	{
		XactReadOnly = before;
	}
	PG_END_TRY();
}

static void
read_side(rb_run *run, int side, const rb_source *source)
{
	rb_builder *builder = &run->builder[side];
	ErrorContextCallback context;
	DestReceiver *receiver;

	context.callback = reading_context;
	context.arg = unconstify(rb_source *, source);
	context.previous = error_context_stack;
	error_context_stack = &context;

	rb_builder_init(builder, run->memory, source->kind);
	receiver = rb_receiver_create(source, builder, &run->space);
	if (OidIsValid(source->heap))
		run->workers[side] = rb_read_table(source, receiver, builder, &run->space);
	else if (source->query)
		run_query(source, receiver);
	else
		run_select(source, receiver);
	rb_builder_set(builder, &run->objects[side]);
	/* until here no function in a view could change it under us */
	if (source->rel != NULL)
		relation_close(source->rel, NoLock);

	error_context_stack = context.previous;
}

/* Most ids come from a sequence and were written in its order: then they need no look-up. */
static bool
is_counted_up(const rb_builder *builder)
{
	uint64 wrong = 0;

	for (uint32_t i = 0; i < builder->nrows; i++)
		wrong |= (uint64) builder->ids[i] - (uint64) builder->ids[0] - i;
	return wrong == 0;
}

static void
read_sides(rb_run *run, const rb_source *source)
{
	double start = rb_clock_ms();
	uint64 rows = 0;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "%s: SPI_connect failed", run->join->function);
	for (int i = 0; i < rb_join_sides(run->join); i++)
	{
		read_side(run, i, &source[i]);
		rows += run->objects[i].nrows;
		run->skipped += run->builder[i].skipped;
		run->counted_up[i] = is_counted_up(&run->builder[i]);
	}
	SPI_finish();
	/* a side without rows says nothing of its dimensions */
	for (int i = 0; i < rb_join_sides(run->join); i++)
		if (run->space.dims == 2)
			run->objects[i].kind = RB_BOX2;
	run->ctx.stats.stage[RB_STAGE_READ].count = rows;
	run->ctx.stats.stage[RB_STAGE_READ].ms = rb_clock_ms() - start;
}

rb_run *
rb_run_open(const rb_join *join, const rb_source *source, MemoryContext context)
{
	rb_run *run = MemoryContextAllocZero(context, sizeof *run);
	uint64 limit = (uint64) rb_setting_memory_limit * 1024;
	rb_status status;

	run->join = join;
	run->user = GetUserId();
	run->at_end.func = close_at_end;
	run->at_end.arg = run;
	note_open(run);
	MemoryContextRegisterResetCallback(context, &run->at_end);

	run->backend = rb_backend_choose(join->function, run->note, sizeof run->note);
	run->memory = rb_memory_open(join->function, limit);
	rb_context_init(&run->ctx, run->memory);
	run->ctx.grid_resolution = (uint32_t) rb_setting_grid_resolution;
	run->ctx.gpu_memory_limit = (uint64) rb_setting_gpu_memory_limit * 1024;

	read_sides(run, source);

	run->ctx.threads = rb_threads((uint64) run->objects[0].nparts + run->objects[1].nparts);
	run->job.count_only = join->count;
	run->job.red = &run->objects[0];
	run->job.blue = rb_join_sides(join) == 2 ? &run->objects[1] : NULL;
	status = rb_stream_open(&run->ctx, run->backend, &run->job, &run->stream);
	if (status != RB_OK)
		rb_raise(join->function, status, &run->ctx.error);
	return run;
}

/* the ids of one side of the pairs; row is where the row number lies in the first of them */
static void
fetch_ids(const rb_run *run, int side, const uint32_t *row, int n, int64 *to)
{
	const int64_t *ids = run->builder[side].ids;

	if (run->counted_up[side])
	{
		int64 first = ids[0];

		for (int i = 0; i < n; i++)
			to[i] = first + (int64) row[2 * i];
	}
	else
		for (int i = 0; i < n; i++)
			to[i] = ids[row[2 * i]];
}

void
rb_run_ids(const rb_run *run, const rb_pair *pairs, int n, int64 *red, int64 *blue)
{
	if (n == 0)
		return;
	fetch_ids(run, 0, &pairs->red, n, red);
	fetch_ids(run, run->job.blue == NULL ? 0 : 1, &pairs->blue, n, blue);
}

bool
rb_run_next(rb_run *run, rb_batch *batch)
{
	for (;;)
	{
		rb_status status;

		CHECK_FOR_INTERRUPTS();
		status = rb_stream_next(run->stream, RB_WAIT_MS, batch);
		if (status == RB_END)
		{
			rb_last_run_set(run);
			return false;
		}
		if (status != RB_OK)
			rb_raise(run->join->function, status, &run->ctx.error);
		if (batch->n > 0)
			return true;
	}
}

void
rb_run_close(rb_run *run)
{
	if (run->node.next != NULL)
		dlist_delete(&run->node);
	run->node.next = NULL;
	rb_stream_close(run->stream);
	run->stream = NULL;
	if (run->memory != NULL)
	{
		rb_builder_free(&run->builder[0]);
		rb_builder_free(&run->builder[1]);
		rb_memory_destroy(run->memory);
		run->memory = NULL;
	}
	/* closed after the transaction: trim_at_end came too early */
	if (!IsTransactionState())
		rb_memory_trim(RB_IDLE_BYTES);
}
