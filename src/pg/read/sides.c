/*
 * sides.c
 *	  The sides of a join are read: sources in, sets out.
 *
 *		a plain table		page by page, past the executor		readers.c, heap.c
 *		anything else		its SELECT, read-only				receiver.c at its end
 *
 * All sides are read in one space: geometries of one SRID, boxes of one number of
 * dimensions.  So none becomes a set before the last is read: a side without rows says
 * nothing of its dimensions, and takes those of the others.
 */
#include "pg/base/rb_pg.h"

#include "access/relation.h"
#include "access/xact.h"
#include "executor/spi.h"

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

/* the rows of a source into a builder; how many workers helped */
static int
read_side(const rb_source *source, rb_memory *memory, const rb_need *need, rb_builder *builder,
		  rb_space *space)
{
	ErrorContextCallback context;
	DestReceiver *receiver;
	int workers = 0;

	context.callback = reading_context;
	context.arg = unconstify(rb_source *, source);
	context.previous = error_context_stack;
	error_context_stack = &context;

	rb_builder_init(builder, memory, source->kind);
	receiver = rb_receiver_create(source, builder, space);
	rb_receiver_needs(receiver, need);
	if (OidIsValid(source->heap))
		workers = rb_read_table(source, receiver, builder, space);
	else if (source->query)
		run_query(source, receiver);
	else
		run_select(source, receiver);
	/* until here no function in a view could change it under us */
	if (source->rel != NULL)
		relation_close(source->rel, NoLock);

	error_context_stack = context.previous;
	rb_builder_trim(builder);
	return workers;
}

static const rb_set *
finish_side(const rb_source *source, rb_builder *builder, const rb_space *space)
{
	const rb_set *set;
	rb_error error;
	rb_status status;

	if (space->dims == 2)
		rb_builder_set_kind(builder, RB_BOX2);
	builder->srid = space->srid_known ? space->srid : 0;
	status = rb_builder_finish(builder, &set, &error);
	if (status != RB_OK)
		rb_raise(source->function, status, &error);
	return set;
}

void
rb_read_sides(const rb_source *source, int n, rb_memory *memory, const rb_set **set, int *workers)
{
	rb_builder builder[2];
	rb_space space;
	rb_need need;

	memset(&space, 0, sizeof space);
	rb_need_begin(&need, source, n);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "%s: SPI_connect failed", source->function);
	for (int i = 0; i < n; i++)
	{
		workers[i] = read_side(&source[i], memory, &need, &builder[i], &space);
		rb_need_next(&need, &builder[i]);
	}
	SPI_finish();
	for (int i = 0; i < n; i++)
		set[i] = finish_side(&source[i], &builder[i], &space);
}
